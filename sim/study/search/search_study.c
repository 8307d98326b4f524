/* Axes of points are those that tell them apart, as many as the store has room for. */
#include "study/search/search_study.h"

#include "study/search/search_part.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/diag.h"
#include "input/doc/doc.h"
#include "input/scenario.h"
#include "input/scenario_load.h"
#include "input/study/auto_keys.h"
#include "plan/memory/memory.h"
#include "run/money.h"

#include <stdlib.h>
#include <string.h>

/* ---- where it begins ------------------------------------------------------------------------ */

static struct scenario *resolve_with(struct arena *arena, const struct doc_node *document,
                                     const struct study_base *base, const char *const *more,
                                     uint32_t more_count, struct diag *diag)
{
    const char **sets = arena_array(arena, base->set_count + more_count + 1u, sizeof *sets);
    for (uint32_t i = 0; i < base->set_count; i++) {
        sets[i] = base->sets[i];
    }
    for (uint32_t i = 0; i < more_count; i++) {
        sets[base->set_count + i] = more[i];
    }
    return scenario_resolve(arena, document, base->catalogue, sets, base->set_count + more_count,
                            diag);
}

/* Axes of which a plain layout says something. */
static const bool plain_axes[SEARCH_AXIS_COUNT_] = {
    [SEARCH_TP] = true,       [SEARCH_CP] = true,        [SEARCH_EP] = true,
    [SEARCH_PP] = true,       [SEARCH_MICRO] = true,     [SEARCH_VIRTUAL_STAGES] = true,
    [SEARCH_SCHEDULE] = true, [SEARCH_RECOMPUTE] = true, [SEARCH_ETP] = true,
};

/* What the scenario says of a key; NULL: nothing, or no word. */
static const char *said_of(const struct doc_node *document, const struct study_base *base,
                           const char *key)
{
    const char *set = doc_set_last(base->sets, base->set_count, key);
    return set != NULL ? set : doc_find_text(document, key);
}

/* The number that it says the key is; 0: none. */
static int64_t number_said(const struct doc_node *document, const struct study_base *base,
                           const char *key)
{
    const char *text = said_of(document, base, key);
    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

/* What is being begun with: a plain layout in the keys of these axes. */
struct plain {
    const struct doc_node *document;
    const struct study_base *base;
    const bool *is_free; /* [SEARCH_AXIS_COUNT_] */
    int64_t gpus;
};

/* What follows tp where it is not written has to follow it where it is. */
static int64_t plain_etp(const struct plain *plain, int64_t tp)
{
    if (said_of(plain->document, plain->base, search_axis_paths[SEARCH_ETP]) == NULL) {
        return 0;
    }
    const int64_t said = number_said(plain->document, plain->base, search_axis_paths[SEARCH_TP]);
    return plain->is_free[SEARCH_TP] || said <= 0 ? tp : said;
}

static struct scenario *resolve_plain(struct arena *arena, const struct plain *plain, int64_t tp,
                                      int64_t pp, struct diag *diag)
{
    const struct relayout layout = {.tp = tp,
                                    .cp = 1,
                                    .pp = pp,
                                    .ep = 1,
                                    .etp = plain_etp(plain, tp),
                                    .virtual_stages = 1,
                                    .schedule = SCHEDULE_1F1B,
                                    .zero = 1,
                                    .micro = 1,
                                    .recompute = {.kind = RECOMPUTE_NONE}};
    const char *sets[SEARCH_AXIS_COUNT_];
    uint32_t count = 0;
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        const char *set = search_layout_set(arena, &layout, (enum search_axis)i);
        if (plain->is_free[i] && set != NULL) {
            sets[count++] = set;
        }
    }
    return resolve_with(arena, plain->document, plain->base, sets, count, diag);
}

/* Degrees that stay are tried once. Where GPUs are no power of two, their odd part goes to stages:
 * batches and heads seldom have it. */
static struct scenario *find_plain(struct arena *arena, const struct plain *plain)
{
    const int64_t tp_most = plain->is_free[SEARCH_TP] ? 64 : 1;
    const int64_t pp_most = plain->is_free[SEARCH_PP] ? 256 : 1;
    struct scenario *scenario = NULL;
    for (int64_t tp = 1; tp <= tp_most && scenario == NULL; tp *= 2) {
        for (int64_t pp = 1; pp <= pp_most && scenario == NULL; pp++) {
            if (plain->gpus > 0 && plain->gpus % (tp * pp) == 0) {
                scenario = resolve_plain(arena, plain, tp, pp, diag_new(arena));
            }
        }
    }
    return scenario;
}

const struct scenario *search_base(struct arena *arena, const struct doc_node *document,
                                   const struct study_base *base, struct diag *diag)
{
    struct diag *own = diag_new(arena);
    const struct scenario *scenario = resolve_with(arena, document, base, NULL, 0, own);
    if (scenario != NULL) {
        return scenario;
    }
    const struct plain plain = {document, base, plain_axes,
                                diag_is_verdict(own) ? number_said(document, base, "gpus") : 0};
    scenario = find_plain(arena, &plain);
    return scenario != NULL ? scenario : resolve_with(arena, document, base, NULL, 0, diag);
}

const struct scenario *search_base_of_free(struct arena *arena, const struct doc_node *document,
                                           const struct study_base *base,
                                           const bool is_free[SEARCH_AXIS_COUNT_],
                                           struct diag *diag)
{
    const struct plain plain = {document, base, is_free, number_said(document, base, "gpus")};
    const struct scenario *scenario = find_plain(arena, &plain);
    return scenario != NULL ? scenario : resolve_plain(arena, &plain, 1, 1, diag);
}

bool search_check(const struct scenario *base, enum search_by by, struct diag *diag)
{
    if (base->ideal.pipeline) {
        diag_add(diag, DIAG_INPUT, &doc_find(base->document, "ideal.pipeline")->place,
                 "a search bounds steps by their pipeline, and ideal.pipeline leaves it out");
        diag_help(diag, "leave ideal.pipeline out of a search");
        return false;
    }
    if (by != SEARCH_BY_STEP && base->run_tokens <= 0) {
        diag_add(diag, DIAG_INPUT, NULL, "--by %s needs a run: nothing says for how many tokens",
                 search_by_names[by]);
        diag_help(diag, "write run: {tokens: 1T}, or --set run.tokens=1T");
        return false;
    }
    if (by != SEARCH_BY_STEP && base->step_time_s > 0) {
        diag_add(diag, DIAG_INPUT, &doc_find(base->document, "run.step_time")->place,
                 "by %s all layouts are the same: run.step_time states the step of each",
                 search_by_names[by]);
        diag_help(diag, "leave run.step_time out of a search, or search by step");
        return false;
    }
    if (base->plan.stage_count > 1) {
        diag_add(diag, DIAG_INPUT, &doc_find(base->document, "run.stages")->place,
                 "a search is for one layout of the whole run, and this one has stages");
        diag_help(diag, "search each stage: --set run.stages=[], with its keys by --set");
        return false;
    }
    if (by == SEARCH_BY_COST && !money_is_priced(base)) {
        diag_add(diag, DIAG_INPUT, NULL,
                 "--by cost needs a price: neither scenario nor GPU has one");
        diag_help(diag, "write price: {gpu_hour: 2.00 USD}");
        return false;
    }
    return true;
}

static bool is_inside(const char *set, const char *section)
{
    const size_t length = strlen(section);
    return strncmp(set, section, length) == 0 && (set[length] == '.' || set[length] == '=');
}

bool search_narrow(struct arena *arena, const struct doc_node *document,
                   const struct study_base *base, struct doc_node **changed, struct diag *diag)
{
    *changed = doc_copy(arena, document);
    bool is_good = true;
    for (uint32_t i = 0; i < base->set_count; i++) {
        if (is_inside(base->sets[i], "search")) {
            is_good = doc_set(arena, *changed, base->sets[i], diag) && is_good;
        }
    }
    return is_good;
}

static void warn_of_sets(const struct study_base *base, struct diag *diag)
{
    for (uint32_t i = 0; i < base->set_count; i++) {
        const char *set = base->sets[i];
        for (uint32_t k = 0; k < SEARCH_STAYING; k++) {
            if (is_inside(set, search_axis_paths[k])) {
                diag_add(diag, DIAG_WARNING, NULL,
                         "--set %s changes nothing: the search itself sets '%s'", set,
                         search_axis_paths[k]);
                diag_help(diag, "say --set search.%s", set);
            }
        }
    }
}

bool search_document(struct arena *arena, const struct doc_node *document,
                     const struct study_base *base, const struct doc_node **changed,
                     struct diag *diag)
{
    struct doc_node *copy = NULL;
    const bool is_good =
        search_narrow(arena, auto_keys_left_out(arena, document), base, &copy, diag);
    warn_of_sets(base, diag);
    *changed = copy;
    return is_good;
}

/* ---- points ---------------------------------------------------------------------------------- */

/* Whether the layouts differ there, other than by what follows from another axis. */
static bool tells_apart(struct arena *arena, enum search_axis axis,
                        const struct search_found *found, uint32_t count)
{
    const char *first = search_layout_value(arena, &found[0].layout, axis);
    bool is_said = false;
    bool differs = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct relayout *layout = &found[i].layout;
        is_said = is_said || search_layout_set(arena, layout, axis) != NULL;
        differs = differs || strcmp(first, search_layout_value(arena, layout, axis)) != 0;
    }
    return is_said && differs;
}

static double number_of(const char *text)
{
    char *end = NULL;
    const double number = strtod(text, &end);
    return end != text && *end == '\0' ? number : ABSENT;
}

static void fill_point(struct arena *arena, const struct doc_node *document,
                       const struct study_base *base, const struct search_space *space,
                       const struct relayout *layout, struct study_point *point)
{
    point->document = document;
    point->label = search_layout_label(arena, space, layout);
    const struct search_sets sets = search_layout_sets(arena, layout);
    point->set_count = base->set_count + sets.count;
    point->sets = arena_array(arena, point->set_count, sizeof *point->sets);
    for (uint32_t i = 0; i < base->set_count; i++) {
        point->sets[i] = base->sets[i];
    }
    for (uint32_t i = 0; i < sets.count; i++) {
        point->sets[base->set_count + i] = sets.items[i];
    }
}

static void add_axis(struct arena *arena, enum search_axis axis, const struct relayout *layout,
                     struct study_point *point)
{
    const char *text = search_layout_value(arena, layout, axis);
    point->axes[point->axis_count] = search_axis_paths[axis];
    point->value_texts[point->axis_count] = text;
    point->values[point->axis_count++] = number_of(text);
}

bool search_study(struct arena *arena, const struct doc_node *document,
                  const struct study_base *base, const struct search_space *space,
                  const struct search_found *found, uint32_t count, struct study *study,
                  struct diag *diag)
{
    study->count = count;
    study->points = arena_array(arena, count, sizeof *study->points);
    uint32_t axis_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        study->points[i] = (struct study_point){.axis_count = 0};
        fill_point(arena, document, base, space, &found[i].layout, &study->points[i]);
    }
    for (uint32_t axis = 0; axis < SEARCH_AXIS_COUNT_ && axis_count < STORE_AXES_MAX; axis++) {
        if (!tells_apart(arena, (enum search_axis)axis, found, count)) {
            continue;
        }
        for (uint32_t i = 0; i < count; i++) {
            add_axis(arena, (enum search_axis)axis, &found[i].layout, &study->points[i]);
        }
        axis_count++;
    }
    study->kind = "search";
    return study_of_points(arena, document, base, study, diag);
}

/* ---- what is stored -------------------------------------------------------------------------- */

/* The best; where none meets what is required, those that miss least. */
static const struct search_found *best_of(struct arena *arena, const struct search_result *result,
                                          uint32_t top, uint32_t *count)
{
    if (result->found_count > 0) {
        return search_choose(arena, result, top, count);
    }
    *count = result->missed_count < top ? result->missed_count : top;
    return result->missed;
}

const struct search_found *search_stored(struct arena *arena, const struct search_result *result,
                                         uint32_t top, uint32_t *count)
{
    const struct search_found *best = best_of(arena, result, top, count);
    struct search_found *all =
        arena_array(arena, *count + (size_t)result->lost_count + 1, sizeof *all);
    memcpy(all, best, *count * sizeof *all);
    for (uint32_t i = 0; i < result->lost_count; i++) {
        all[*count + i] = (struct search_found){
            .layout = result->lost[i], .value = ABSENT, .least = ABSENT, .step_s = ABSENT};
    }
    return all;
}

enum { KEY_AT = 8, KEY_DIGITS = 8 };

void search_study_name(struct arena *arena, const struct search_request *request,
                       struct study *study)
{
    struct search_request of_what_fits = *request;
    of_what_fits.near = 0;
    const char *key = search_part_key(arena, &of_what_fits);
    memcpy(study->key + KEY_AT, key + KEY_AT, KEY_DIGITS);
}

void search_study_replace(struct arena *arena, struct store *store, const struct study *study,
                          struct diag *diag)
{
    uint32_t count = 0;
    const struct store_study_row *rows = store_studies(store, arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        const bool is_of_search = strcmp(rows[i].kind, study->kind) == 0 &&
                                  strcmp(rows[i].key + KEY_AT, study->key + KEY_AT) == 0;
        if (is_of_search && rows[i].failed > 0 && strcmp(rows[i].key, study->key) != 0 &&
            store_forget_study(store, rows[i].key, diag)) {
            diag_add(diag, DIAG_NOTE, NULL,
                     "study %.8s, of this search when it had lost %lld layout%s, is replaced",
                     rows[i].key, (long long)rows[i].failed, rows[i].failed == 1 ? "" : "s");
        }
    }
}

const char *search_lack(struct arena *arena, const struct search_space *space,
                        const struct relayout *layout)
{
    enum { TEXT_BYTES = 512 };
    struct relayout_frame frame;
    struct scenario *scenario = arena_alloc(arena, sizeof *scenario);
    relayout_frame_init(space->base, &frame);
    if (!scenario_relayout(arena, &frame, layout, scenario, diag_new(arena))) {
        return "";
    }
    const struct memory_verdict verdict = memory_check(scenario);
    char *text = arena_alloc(arena, TEXT_BYTES);
    memory_explain(scenario, &verdict, text, TEXT_BYTES);
    return text;
}
