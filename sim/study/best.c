/* One search after another, each in an arena of its own: only the winner is kept. */
#include "study/best.h"

#include "base/absent.h"
#include "base/arena.h"
#include "input/scenario.h"
#include "store/store.h"
#include "study/search/search_software.h"
#include "study/search/search_study.h"
#include "study/study.h"

#include <string.h>

static const char *kept(struct arena *arena, const char *text)
{
    return arena_printf(arena, "%s", text);
}

/* What a point's study has: the sets of the command line and its own values. */
static struct study_base base_at(const struct best_request *request,
                                 const struct study_point *point)
{
    struct study_base base = *request->base;
    base.sets = point->sets;
    base.set_count = point->set_count;
    return base;
}

static void keep_near(struct arena *arena, const struct search_space *space,
                      const struct search_near *near, struct best_near *best)
{
    if (near->count == 0) {
        return;
    }
    const struct search_found *found = &near->found[0];
    *best = (struct best_near){.is_found = true,
                               .is_certified = near->is_certified,
                               .label = search_layout_label(arena, space, &found->layout),
                               .value = found->value,
                               .step_s = found->step_s,
                               .memory_bytes = found->memory_bytes};
    best->sets = search_layout_sets(arena, &found->layout);
}

static void keep_best(struct arena *arena, const struct search_space *space,
                      const struct search_result *result, struct best_layout *best)
{
    best->counts = result->counts;
    best->left_out = search_software_left_out(arena, space, result);
    best->gap = result->gap;
    best->is_certified = result->is_certified;
    best->value = result->best;
    best->limit_bytes = space->base->gpu.memory_bytes;
    best->margin = space->base->memory_margin;
    best->within = search_near_within(&result->near, best->limit_bytes);
    keep_near(arena, space, &result->near, &best->near);
    const struct search_found *first = search_first(result);
    if (first == NULL) {
        best->lack = best->left_out != NULL ? best->left_out : "no layout is possible";
        if (result->counts.layouts > 0) {
            best->lack = arena_printf(arena, "the nearest is %s: %s",
                                      search_layout_label(arena, space, &result->nearest),
                                      search_lack(arena, space, &result->nearest));
        }
        return;
    }
    best->is_found = true;
    best->memory_bytes = first->memory_bytes;
    best->layout = first->layout;
    best->label = search_layout_label(arena, space, &first->layout);
    best->sets = search_layout_sets(arena, &first->layout);
}

/* What is looked through at a point. */
static bool read_space(struct arena *arena, const struct best_request *request,
                       const struct study_point *point, struct search_space *space,
                       struct diag *diag)
{
    const struct study_base base = base_at(request, point);
    const struct doc_node *document = NULL;
    if (!search_document(arena, request->document, &base, &document, diag)) {
        return false;
    }
    const struct scenario *scenario = search_base(arena, document, &base, diag);
    if (scenario == NULL || !search_check(scenario, request->by, diag)) {
        return false;
    }
    bool is_free[SEARCH_AXIS_COUNT_];
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        is_free[i] =
            search_axis_is_usual((enum search_axis)i) &&
            !(i >= SEARCH_STAYING && search_axis_is_written(scenario, (enum search_axis)i));
    }
    const bool is_good = request->is_usual
                             ? search_space_of_free(arena, document, scenario, is_free, space, diag)
                             : search_space_read(arena, document, scenario, space, diag);
    if (is_good && request->base->any_software) {
        search_software_lift(space);
    }
    return is_good;
}

/* What was found at the points in front of it. */
static uint32_t found_before(struct arena *arena, const struct best_layout *layouts, uint32_t point,
                             const struct relayout **found)
{
    struct relayout *list = arena_array(arena, point + 1u, sizeof *list);
    uint32_t count = 0;
    for (uint32_t i = 0; i < point; i++) {
        if (layouts[i].is_found) {
            list[count++] = layouts[i].layout;
        }
    }
    *found = list;
    return count;
}

/* The winner's words, or why there is none, are made in the outer arena; all else is forgotten.
 * False: nothing can be searched there. */
static bool search_at(struct arena *arena, const struct best_request *request, uint32_t number,
                      struct best_layout *layouts)
{
    const struct study_point *point = &request->values->points[number];
    struct best_layout *best = &layouts[number];
    struct arena *scratch = arena_new();
    struct diag *own = diag_new(scratch);
    struct search_space space;
    const bool is_good = read_space(scratch, request, point, &space, own);
    if (!is_good) {
        best->lack = arena_printf(arena, "nothing to search: %s", diag_first_error(own));
    } else {
        struct search_request search = {
            .space = &space,
            .by = request->by,
            .gap = request->gap,
            .near = request->near,
            .require = request->require,
            .jobs = request->jobs,
            .folds = request->folds,
            .only_best = true,
            .goes_on = request->goes_on,
            .context = request->context,
        };
        search.first_count = found_before(scratch, layouts, number, &search.first);
        struct search_result result;
        search_run(scratch, &search, &result);
        keep_best(arena, &space, &result, best);
    }
    arena_free(scratch);
    return is_good;
}

/* The next set that is no price's; NULL: there is none. */
static const char *next_set(const struct study_point *point, uint32_t *at)
{
    while (*at < point->set_count && strncmp(point->sets[*at], "price.", strlen("price.")) == 0) {
        (*at)++;
    }
    return *at < point->set_count ? point->sets[(*at)++] : NULL;
}

static bool is_same_but_prices(const struct study_point *a, const struct study_point *b)
{
    uint32_t of_a = 0, of_b = 0;
    const char *one = next_set(a, &of_a), *other = next_set(b, &of_b);
    while (one != NULL && other != NULL && strcmp(one, other) == 0) {
        one = next_set(a, &of_a);
        other = next_set(b, &of_b);
    }
    return one == NULL && other == NULL && a->document == b->document;
}

/* A point before this one at which the same is found: of steps no price is a part. The point's own
 * number: there is none. */
static uint32_t same_before(const struct best_request *request, uint32_t number)
{
    const struct study_point *points = request->values->points;
    const bool is_of_steps = request->by == SEARCH_BY_STEP && request->require == NULL;
    uint32_t i = is_of_steps ? 0 : number;
    while (i < number && !is_same_but_prices(&points[i], &points[number])) {
        i++;
    }
    return i;
}

bool best_find(struct arena *arena, const struct best_request *request, struct best_layout *layouts,
               struct diag *diag)
{
    bool is_any_good = false;
    for (uint32_t i = 0; i < request->values->count; i++) {
        const struct study_point *point = &request->values->points[i];
        const uint32_t before = same_before(request, i);
        if (before < i) {
            layouts[i] = layouts[before];
            continue;
        }
        layouts[i] = (struct best_layout){.lack = "", .value = ABSENT};
        if (request->begins != NULL) {
            request->begins(request->context, point);
        }
        is_any_good = search_at(arena, request, i, layouts) || is_any_good;
    }
    /* messages point to what they are about: it has to last */
    struct search_space space;
    return is_any_good || read_space(arena, request, &request->values->points[0], &space, diag);
}

/* ---- all at all ----------------------------------------------------------------------------- */

void best_lay_out(struct arena *arena, const struct study_point *value,
                  const struct best_layout *layout, struct study_point *point)
{
    *point = *value;
    point->scenario = NULL;
    point->sets = arena_array(arena, value->set_count + layout->sets.count, sizeof *point->sets);
    memcpy(point->sets, value->sets, value->set_count * sizeof *point->sets);
    for (uint32_t i = 0; i < layout->sets.count; i++) {
        point->sets[point->set_count++] = layout->sets.items[i];
    }
}

static void fill_point(struct arena *arena, const struct study_point *value,
                       const struct study_point *winner, const struct best_layout *layout,
                       struct study_point *point)
{
    best_lay_out(arena, value, layout, point);
    point->label = value == winner
                       ? kept(arena, value->label)
                       : arena_printf(arena, "%s, layout of %s", value->label, winner->label);
    if (point->axis_count < STORE_AXES_MAX) {
        point->axes[point->axis_count] = "layout of";
        point->value_texts[point->axis_count] = winner->label;
        point->values[point->axis_count++] = ABSENT;
    }
}

bool best_study(struct arena *arena, const struct best_request *request,
                const struct best_layout *layouts, struct study *study, uint32_t *number_of,
                struct diag *diag)
{
    const struct study *values = request->values;
    const uint32_t count = values->count;
    *study = (struct study){.kind = "best"};
    study->points = arena_array(arena, (size_t)count * count + 1, sizeof *study->points);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < count; k++) {
            const bool is_there = layouts[k].is_found;
            number_of[i * count + k] = is_there ? study->count : STUDY_POINTS_MAX;
            if (is_there) {
                fill_point(arena, &values->points[i], &values->points[k], &layouts[k],
                           &study->points[study->count++]);
            }
        }
    }
    if (study->count == 0) {
        diag_add(diag, DIAG_INFEASIBLE, NULL, "no layout fits, at any of %u values", count);
        diag_help(diag, "at %s %s", values->points[0].label, layouts[0].lack);
        return false;
    }
    return study_of_points(arena, request->document, request->base, study, diag);
}
