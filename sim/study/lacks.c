/* The features of one key are one warning: recompute may name several modules. */
#include "study/lacks.h"

#include "base/arena.h"
#include "base/diag.h"
#include "input/doc/doc.h"
#include "input/scenario.h"
#include "input/software.h"
#include "input/study/study_keys.h"

#include <inttypes.h>
#include <string.h>

/* Those that follow of the same list and key. */
static uint32_t of_one_key(const struct feature *lacking, uint32_t count)
{
    uint32_t same = 1;
    while (same < count && lacking[same].list == lacking[0].list &&
           strcmp(lacking[same].key, lacking[0].key) == 0) {
        same++;
    }
    return same;
}

static bool has_all(const struct software *software, const struct feature *lacking, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && features_have(software, &lacking[i])) {
        i++;
    }
    return i == count;
}

/* A profile of the catalogue; false where it cannot be read, which is not told here. */
static bool read_profile(struct arena *arena, const struct catalogue *catalogue, const char *name,
                         struct software *software)
{
    struct diag *unheard = diag_new(arena);
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = name};
    const struct doc_node *node =
        catalogue_open(arena, catalogue, CATALOGUE_SOFTWARE, &reference, unheard);
    struct assumptions assumptions;
    assumptions_init(&assumptions, arena);
    return node != NULL && software_read(node, software, &assumptions, unheard);
}

/* Nearer: no older than `year` and older than the other, or newer where both are older. */
static bool is_nearer(int64_t year, int64_t one, int64_t other)
{
    const bool is_later = one >= year;
    if (is_later != (other >= year)) {
        return is_later;
    }
    return is_later ? one < other : one > other;
}

const char *lacks_find(const struct lacks_setting *setting, const struct software *software,
                       const struct feature *lacking, uint32_t count)
{
    struct arena *arena = setting->arena;
    uint32_t name_count = 0;
    const char **names = catalogue_list(arena, setting->catalogue, "models/software", &name_count);
    const char *found = NULL;
    int64_t found_year = 0;
    for (uint32_t i = 0; i < name_count; i++) {
        struct software other;
        if (read_profile(arena, setting->catalogue, names[i], &other) &&
            strcmp(other.framework, software->framework) == 0 && has_all(&other, lacking, count) &&
            (found == NULL || is_nearer(software->year, other.year, found_year))) {
            found = names[i];
            found_year = other.year;
        }
    }
    return found;
}

/* Of a key that nobody wrote, the nearest that is there and holds it. */
static const struct place *place_of(struct arena *arena, const struct doc_node *document,
                                    const char *key)
{
    char *path = arena_strdup(arena, key);
    const struct doc_node *node = doc_find(document, path);
    while (node == NULL && strrchr(path, '.') != NULL) {
        *strrchr(path, '.') = '\0';
        node = doc_find(document, path);
    }
    return node != NULL ? &node->place : &document->place;
}

/* Which release has it, and how to say that one's own does. */
static void tell_remedy(const struct lacks_setting *setting, const struct software *software,
                        const struct feature *lacking, uint32_t count)
{
    const char *other = lacks_find(setting, software, lacking, count);
    if (other != NULL) {
        diag_help(setting->diag, "%s has: --set software=%s; where yours has it, say so in has.%s",
                  other, other, lacking->group);
    } else {
        diag_help(setting->diag,
                  "no profile of %s has; the prediction is of a release that would: where yours "
                  "does, say so in has.%s",
                  software->framework, lacking->group);
    }
}

static void warn(const struct lacks_setting *setting, const struct scenario *scenario,
                 const struct feature *lacking, uint32_t count)
{
    struct arena *arena = setting->arena;
    const struct software *software = &scenario->software;
    diag_add(setting->diag, DIAG_WARNING, place_of(arena, scenario->document, lacking->key),
             "software %s has no %s", software_with_release(arena, software),
             features_words(arena, lacking, count));
    tell_remedy(setting, software, lacking, count);
}

/* Of the features those that axes named in `search:` ask for, in front; how many. All, where none
 * is. `node` is the first such axis, or NULL. */
static uint32_t keep_named(struct arena *arena, const struct doc_node *document,
                           struct feature *lacking, uint32_t count, const struct doc_node **node)
{
    const struct doc_node *search = doc_find(document, "search");
    const struct doc_leaves leaves =
        search != NULL ? study_search_leaves(arena, search) : (struct doc_leaves){.count = 0};
    uint32_t kept = 0;
    *node = NULL;
    for (uint32_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < leaves.count && strcmp(leaves.items[k].path, lacking[i].key) != 0) {
            k++;
        }
        if (k < leaves.count) {
            *node = *node != NULL ? *node : leaves.items[k].node;
            lacking[kept++] = lacking[i];
        }
    }
    return kept > 0 ? kept : count;
}

bool lacks_refuse(const struct lacks_setting *setting, const struct scenario *scenario,
                  const struct doc_node *document, const struct search_lacking *of)
{
    struct arena *arena = setting->arena;
    const struct software *software = &scenario->software;
    const struct doc_node *node = NULL;
    struct feature lacking[FEATURES_MAX];
    uint32_t count = features_of_set(scenario, &of->all, lacking);
    if (count == 0) { /* one lacks this, another that */
        count = features_of_set(scenario, &of->any, lacking);
    }
    count = keep_named(arena, document, lacking, count, &node);
    const char *other = lacks_find(setting, software, lacking, count);
    diag_add(setting->diag, DIAG_INFEASIBLE, node != NULL ? &node->place : NULL,
             "software %s has none of the layouts of this search: it lacks %s", software->name,
             features_words(arena, lacking, count));
    diag_help(setting->diag, "%s; widen search:, or look at them all the same: --any-software",
              other != NULL ? arena_printf(arena, "%s has: --set software=%s", other, other)
                            : arena_printf(arena, "no profile of %s has", software->framework));
    return false;
}

void lacks_warn(const struct lacks_setting *setting, const struct scenario *scenario)
{
    struct feature lacking[FEATURES_MAX];
    const uint32_t count = features_lacking(scenario, lacking);
    for (uint32_t i = 0; i < count;) {
        const uint32_t same = of_one_key(&lacking[i], count - i);
        warn(setting, scenario, &lacking[i], same);
        i += same;
    }
}

/* ---- points of a study ---------------------------------------------------------------------- */

/* What of one key points with the same software lack. */
struct shared_lack {
    uint64_t software;
    uint32_t list, bits;
};

enum { SHARED_LACKS_MAX = 100 }; /* of more nobody would read the rest */

struct telling {
    const struct lacks_setting *setting;
    const struct study *study;
    struct shared_lack told[SHARED_LACKS_MAX];
    uint32_t count;
};

static struct shared_lack shared_of(const struct study_point *point, const struct feature *lacking,
                                    uint32_t count)
{
    struct shared_lack shared = {.software = point->software, .list = lacking->list};
    for (uint32_t i = 0; i < count; i++) {
        shared.bits |= 1u << lacking[i].index;
    }
    return shared;
}

static bool has(const struct study_point *point, const struct shared_lack *shared)
{
    return point->software == shared->software &&
           (point->lacks.lists[shared->list] & shared->bits) == shared->bits;
}

static bool is_told(const struct telling *telling, const struct shared_lack *asked)
{
    uint32_t i = 0;
    while (i < telling->count &&
           (telling->told[i].software != asked->software || telling->told[i].list != asked->list ||
            telling->told[i].bits != asked->bits)) {
        i++;
    }
    return i < telling->count;
}

/* Whether all that the point lacks was told with others. */
static bool is_all_told(const struct telling *telling, const struct study_point *point)
{
    struct feature_set left = point->lacks;
    for (uint32_t i = 0; i < telling->count; i++) {
        const struct shared_lack *told = &telling->told[i];
        left.lists[told->list] &= has(point, told) ? ~told->bits : UINT32_MAX;
    }
    uint32_t any = 0;
    for (uint32_t i = 0; i < FEATURE_LIST_COUNT_; i++) {
        any |= left.lists[i];
    }
    return any == 0;
}

static void tell(struct telling *telling, const struct study_point *point,
                 const struct scenario *scenario, const struct feature *lacking, uint32_t count)
{
    const struct shared_lack shared = shared_of(point, lacking, count);
    if (telling->count == SHARED_LACKS_MAX || is_told(telling, &shared)) {
        return;
    }
    const struct study *study = telling->study;
    struct arena *arena = telling->setting->arena;
    uint32_t points = 0;
    for (uint32_t i = 0; i < study->count; i++) {
        points += has(&study->points[i], &shared);
    }
    telling->told[telling->count++] = shared;
    diag_add(telling->setting->diag, DIAG_WARNING, NULL,
             "software %s has no %s, which %" PRIu32 " of %" PRIu32 " points %s (%s; first '%s')",
             software_with_release(arena, &scenario->software),
             features_words(arena, lacking, count), points, study->count,
             points == 1 ? "asks for" : "ask for", lacking->key, point->label);
    tell_remedy(telling->setting, &scenario->software, lacking, count);
}

void lacks_warn_points(const struct lacks_setting *setting, const struct study *study)
{
    struct arena *arena = setting->arena;
    struct telling *telling = arena_alloc(arena, sizeof *telling);
    *telling = (struct telling){.setting = setting, .study = study};
    for (uint32_t i = 0; i < study->count && telling->count < SHARED_LACKS_MAX; i++) {
        const struct study_point *point = &study->points[i];
        const struct scenario *scenario =
            is_all_told(telling, point)
                ? NULL
                : study_point_resolve(point, arena, setting->catalogue, diag_new(arena));
        struct feature lacking[FEATURES_MAX];
        const uint32_t count = scenario != NULL ? features_lacking(scenario, lacking) : 0;
        for (uint32_t k = 0; k < count;) {
            const uint32_t same = of_one_key(&lacking[k], count - k);
            tell(telling, point, scenario, &lacking[k], same);
            k += same;
        }
    }
}
