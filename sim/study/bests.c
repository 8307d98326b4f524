/* Layouts are found by study/best; which of their axes tell winners apart is read off their keys.
 */
#include "study/bests.h"

#include "bands/memory_errors.h"
#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "run/duration.h"
#include "study/search/search_space.h"

#include <inttypes.h>
#include <string.h>

/* ---- searching ------------------------------------------------------------------------------ */

/* The key that a search sets itself and "path=value" does, too; NULL: there is none. */
static const char *searched_key(const char *set)
{
    for (uint32_t axis = 0; axis < SEARCH_AXIS_COUNT_; axis++) {
        const size_t length = strlen(search_axis_paths[axis]);
        if (strncmp(set, search_axis_paths[axis], length) == 0 &&
            (set[length] == '=' || set[length] == '.')) {
            return search_axis_paths[axis];
        }
    }
    return NULL;
}

/* The layout found goes before what a value sets of it, so that all such values would be one. */
static bool check_values(const struct study *values, const struct study_base *base,
                         struct diag *diag)
{
    for (uint32_t i = 0; i < values->count; i++) {
        const struct study_point *point = &values->points[i];
        for (uint32_t s = base->set_count; s < point->set_count; s++) {
            const char *key = searched_key(point->sets[s]);
            if (key != NULL) {
                diag_add(diag, DIAG_USAGE, NULL,
                         "--best finds '%s' itself, so it cannot be swept, too (%s)", key,
                         point->label);
                diag_help(diag,
                          "leave it out, or sweep it without --best; search: {%s: [...]} "
                          "says what may be found",
                          key);
                return false;
            }
        }
    }
    return true;
}

bool bests_find(struct arena *arena, const struct best_request *request,
                struct best_layout *layouts, struct diag *diag)
{
    if (request->values->count > BESTS_MAX) {
        diag_add(diag, DIAG_USAGE, NULL, "--best searches at each of %" PRIu32 " values",
                 request->values->count);
        diag_help(diag, "ask for at most %d", BESTS_MAX);
        return false;
    }
    return check_values(request->values, request->base, diag) &&
           best_find(arena, request, layouts, diag);
}

bool bests_study(struct arena *arena, const struct best_request *request, struct bests *bests,
                 struct study *study, struct diag *diag)
{
    const uint32_t count = bests->values.count;
    bests->by = request->by;
    bests->number_of = arena_array(arena, (size_t)count * count, sizeof *bests->number_of);
    return best_study(arena, request, bests->layouts, study, bests->number_of, diag);
}

double bests_over(const struct best_layout *layout)
{
    return memory_over(layout->near.memory_bytes, layout->limit_bytes);
}

/* ---- in what winners differ ----------------------------------------------------------------- */

/* What is said of the axis; "": it follows from others. */
static const char *said(const struct best_layout *layout, uint32_t axis)
{
    return layout->sets.of[axis] != NULL ? layout->sets.of[axis] : "";
}

static bool tells_apart(const struct bests *bests, uint32_t axis)
{
    const char *first = NULL;
    for (uint32_t i = 0; i < bests->values.count; i++) {
        const struct best_layout *layout = &bests->layouts[i];
        if (layout->is_found && first != NULL && strcmp(said(layout, axis), first) != 0) {
            return true;
        }
        first = layout->is_found ? said(layout, axis) : first;
    }
    return false;
}

const char *bests_words(struct arena *arena, const struct bests *bests,
                        const struct best_layout *layout, bool differ)
{
    const char *text = "";
    for (uint32_t axis = 0; axis < SEARCH_AXIS_COUNT_; axis++) {
        const bool differs = tells_apart(bests, axis);
        if (differs != differ || (!differs && layout->sets.of[axis] == NULL)) {
            continue;
        }
        text = arena_printf(arena, "%s%s%s %s", text, text[0] != '\0' ? ", " : "",
                            search_axis_word(search_axis_paths[axis]), layout->sets.values[axis]);
    }
    return text[0] != '\0' ? text : "the same for all";
}

const struct store_row *bests_row(const struct bests *bests, uint32_t i, uint32_t k)
{
    const uint32_t number = bests->number_of[i * bests->values.count + k];
    if (number >= bests->row_count) {
        return NULL;
    }
    const struct store_row *row = &bests->rows[number];
    return store_row_is_good(row) ? row : NULL;
}

/* What is least where it is best. */
static double value_of(const struct bests *bests, const struct store_row *row)
{
    switch (bests->by) {
    case SEARCH_BY_DAYS:
        return row->wall_clock_days;
    case SEARCH_BY_COST:
        return row->cost_usd;
    case SEARCH_BY_ENERGY:
        return row->energy_kwh;
    default:
        return row->step_s / row->tokens_per_step;
    }
}

double bests_share_of_steps(const struct bests *bests, const struct store_row *row)
{
    return bests->by == SEARCH_BY_DAYS ? duration_share_of_steps(row->account_s) : 1;
}

double bests_regret(const struct bests *bests, uint32_t i, uint32_t k)
{
    const struct store_row *own = bests_row(bests, i, i);
    const struct store_row *other = bests_row(bests, i, k);
    return own != NULL && other != NULL
               ? units_difference(value_of(bests, other) / value_of(bests, own), 1)
               : ABSENT;
}

struct near_points bests_near(struct arena *arena, const struct bests *bests)
{
    struct study_point *made = arena_array(arena, bests->values.count, sizeof *made);
    struct near_point *items = arena_array(arena, bests->values.count, sizeof *items);
    struct near_points found = {.items = items};
    for (uint32_t i = 0; i < bests->values.count; i++) {
        const struct best_near *near = &bests->layouts[i].near;
        const struct best_layout layout = {.is_found = near->is_found, .sets = near->sets};
        if (near->is_found) {
            struct study_point *point = &made[found.count];
            items[found.count++] = (struct near_point){point, bests_over(&bests->layouts[i])};
            best_lay_out(arena, &bests->values.points[i], &layout, point);
            point->label = arena_printf(arena, "%s with %s", point->label, near->label);
        }
    }
    return found;
}

const struct store_row *bests_winners(struct arena *arena, const struct bests *bests,
                                      const struct against *against, struct against **held,
                                      uint32_t *count)
{
    struct store_row *rows = arena_array(arena, bests->values.count + 1u, sizeof *rows);
    *held = arena_array(arena, bests->values.count + 1u, sizeof **held);
    *count = 0;
    for (uint32_t i = 0; i < bests->values.count; i++) {
        const struct store_row *row = bests_row(bests, i, i);
        if (row != NULL) {
            (*held)[*count] = against[row - bests->rows];
            rows[(*count)++] = *row;
        }
    }
    return rows;
}

uint32_t bests_first(const struct bests *bests)
{
    uint32_t first = 0;
    while (first + 1 < bests->values.count && bests_row(bests, first, first) == NULL) {
        first++;
    }
    return first;
}
