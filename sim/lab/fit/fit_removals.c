/* Reads the list of removals from the file of the constants, and finds for
 * each which constants then have no effect, so that the fit that follows
 * leaves them alone.
 */
#include "lab/fit/fit_removals.h"

#include "base/arena.h"
#include "input/doc/doc.h"
#include "lab/fit/fit_constants.h"
#include "measured/published/published_rows.h"

#include <string.h>

enum { LIST_MAX = PUBLISHED_FOR_ALL_MAX };

struct removal_reading {
    struct arena *arena;
    struct diag *diag;
    struct fit_plan *plan;
};

bool fit_texts_read(struct arena *arena, struct doc_map *map, const char *key,
                    const char *const **texts, uint32_t *count)
{
    const struct doc_node *node = doc_take(map, key);
    *count = 0;
    if (node == NULL) {
        return true;
    }
    const uint32_t all = node->kind == DOC_SEQUENCE ? doc_child_count(node) : 0;
    const char **list = arena_array(arena, (size_t)all + 1, sizeof *list);
    bool is_good = all > 0 && all <= LIST_MAX;
    for (const struct doc_node *child = node->child; is_good && child != NULL;
         child = child->next) {
        is_good = child->kind == DOC_SCALAR;
        list[(*count)++] = child->text;
    }
    *texts = list;
    if (!is_good) {
        map->is_bad = true;
        diag_add(map->diag, DIAG_INPUT, &node->place, "'%s' must be a list of 1 to %d texts", key,
                 LIST_MAX);
    }
    return is_good;
}

/* ---- constants that are idle ------------------------------------------------------------ */

static void mark_set(const struct fit_plan *plan, const char *assignment, bool *is_idle)
{
    const size_t length = strcspn(assignment, "=");
    for (uint32_t k = 0; k < plan->count; k++) {
        const char *key = plan->constants[k].key;
        is_idle[k] = is_idle[k] || (strlen(key) == length && strncmp(key, assignment, length) == 0);
    }
}

static bool mark_effect(const struct removal_reading *reading, const struct doc_node *place,
                        const char *effect, bool *is_idle)
{
    const struct fit_plan *plan = reading->plan;
    for (uint32_t e = 0; e < plan->effect_count; e++) {
        if (strcmp(plan->effects[e], effect) != 0) {
            continue;
        }
        for (uint32_t k = 0; k < plan->count; k++) {
            is_idle[k] = is_idle[k] || plan->constants[k].effect == e;
        }
        return true;
    }
    diag_add(reading->diag, DIAG_INPUT, &place->place, "no constant has the effect '%s'", effect);
    diag_help_nearest(reading->diag, diag_nearest(effect, plan->effects, plan->effect_count), NULL);
    return false;
}

static bool read_idle(const struct removal_reading *reading, struct doc_map *map,
                      struct fit_removal *removal)
{
    bool *is_idle = arena_array(reading->arena, reading->plan->count, sizeof *is_idle);
    const char *const *effects;
    uint32_t count;
    bool is_good = fit_texts_read(reading->arena, map, "idle", &effects, &count);
    for (uint32_t i = 0; is_good && i < count; i++) {
        is_good = mark_effect(reading, map->node, effects[i], is_idle);
    }
    for (uint32_t i = 0; is_good && i < removal->set_count; i++) {
        mark_set(reading->plan, removal->sets[i], is_idle);
    }
    removal->is_idle = is_idle;
    return is_good;
}

/* ---- all of them ------------------------------------------------------------------------ */

static bool check_sets(const struct removal_reading *reading, const struct fit_removal *removal)
{
    for (uint32_t i = 0; i < removal->set_count; i++) {
        if (strchr(removal->sets[i], '=') == NULL) {
            diag_add(reading->diag, DIAG_INPUT, &removal->place, "'%s' is not KEY=VALUE",
                     removal->sets[i]);
            return false;
        }
    }
    return true;
}

/* Assignments or rules, one of both. */
static bool read_what(const struct removal_reading *reading, struct doc_map *map,
                      struct fit_removal *removal)
{
    struct arena *arena = reading->arena;
    const bool has_rules = doc_find(map->node, "rules") != NULL;
    if (has_rules == (doc_find(map->node, "set") != NULL)) {
        map->is_bad = true;
        diag_add(reading->diag, DIAG_INPUT, &map->node->place,
                 "an ablation has 'set' or 'rules', one of both");
        diag_help(reading->diag, "write set: ['software.jitter.spread=0 %%'], or rules: [recipe]");
        return false;
    }
    return has_rules ? fit_texts_read(arena, map, "rules", &removal->rules, &removal->rule_count) &&
                           (doc_find(map->node, "columns") == NULL ||
                            doc_get_bool(map, "columns", &removal->has_columns))
                     : fit_texts_read(arena, map, "set", &removal->sets, &removal->set_count);
}

static bool read_removal(const struct removal_reading *reading, const struct doc_node *node,
                         struct fit_removal *removal)
{
    struct doc_map map;
    if (!doc_map_open(&map, node, reading->diag)) {
        return false;
    }
    removal->place = node->place;
    bool is_good = doc_require(&map, "name") && doc_get_text(&map, "name", &removal->name);
    is_good = read_what(reading, &map, removal) && is_good;
    is_good =
        fit_texts_read(reading->arena, &map, "files", &removal->files, &removal->file_count) &&
        is_good;
    is_good = is_good && check_sets(reading, removal) && read_idle(reading, &map, removal);
    is_good =
        doc_require(&map, "source") && doc_get_text(&map, "source", &removal->source) && is_good;
    doc_take(&map, "note");
    return is_good && doc_finish(&map);
}

bool fit_removals_read(struct arena *arena, const struct doc_node *node, struct fit_plan *plan,
                       struct diag *diag)
{
    const struct removal_reading reading = {arena, diag, plan};
    const uint32_t count = node->kind == DOC_SEQUENCE ? doc_child_count(node) : 0;
    if (count == 0 || count > FIT_CONSTANTS_MAX) {
        return diag_add(diag, DIAG_INPUT, &node->place,
                        "'ablations' must be a list of 1 to %d mappings", FIT_CONSTANTS_MAX);
    }
    struct fit_removal *list = arena_array(arena, count, sizeof *list);
    bool is_good = true;
    for (const struct doc_node *item = node->child; item != NULL; item = item->next) {
        is_good = read_removal(&reading, item, &list[plan->removal_count++]) && is_good;
    }
    plan->removals = list;
    return is_good;
}

bool fit_removal_is_of(const struct fit_removal *removal, const char *software, const char *gpu)
{
    for (uint32_t i = 0; i < removal->file_count; i++) {
        if (strcmp(removal->files[i], software) == 0 || strcmp(removal->files[i], gpu) == 0) {
            return true;
        }
    }
    return removal->file_count == 0;
}
