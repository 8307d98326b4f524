/* What is left of axes is in the order of the space. */
#include "input/features/features_used.h"
#include "input/job/parallel_order.h"
#include "input/layout.h"
#include "input/scenario.h"
#include "study/search/search_space.h"

#include "base/arena.h"

#include <string.h>

/* Of an axis with a choice of values so many are tried. */
enum { KEPT_OF_CHUNKS = 3, KEPT_OF_MICRO = 3 };

double search_space_lines(const struct search_space *space)
{
    double lines = 1;
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        const bool is_within = i == SEARCH_RECOMPUTE || i == SEARCH_OFFLOAD_LAYERS;
        lines *= is_within ? 1 : space->axes[i].count;
    }
    return lines;
}

struct search_values search_axis_dividing(struct arena *arena, const struct search_space *space,
                                          enum search_axis axis)
{
    const struct search_values *all = &space->axes[axis];
    struct search_values found = {.items = arena_array(arena, all->count, sizeof *found.items)};
    for (uint32_t i = 0; i < all->count; i++) {
        if (space->base->gpus % (int64_t)all->items[i] == 0) {
            found.items[found.count++] = all->items[i];
        }
    }
    return found;
}

uint32_t search_family_count(const struct search_space *space)
{
    static const enum search_axis degrees[] = {SEARCH_TP, SEARCH_CP, SEARCH_PP};
    uint64_t count = (uint64_t)space->axes[SEARCH_EP].count * space->axes[SEARCH_ETP].count *
                     space->axes[SEARCH_CP_TYPE].count * space->axes[SEARCH_ZERO_GROUP].count *
                     space->axes[SEARCH_ORDER].count * space->axes[SEARCH_MICRO].count * 2;
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++) {
        const struct search_values *values = &space->axes[degrees[i]];
        uint32_t dividing = 0;
        for (uint32_t k = 0; k < values->count; k++) {
            dividing += space->base->gpus % (int64_t)values->items[k] == 0;
        }
        count *= dividing;
    }
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

static void keep_first(struct search_values *values, uint32_t most)
{
    values->count = values->count < most ? values->count : most;
}

/* Of the values those of `wanted`; where there are none, the first. */
static void keep_of(struct arena *arena, struct search_values *values, const double *wanted,
                    uint32_t wanted_count)
{
    double *items = arena_array(arena, values->count + 1u, sizeof *items);
    uint32_t count = 0;
    for (uint32_t i = 0; i < values->count; i++) {
        bool is_wanted = false;
        for (uint32_t k = 0; k < wanted_count; k++) {
            is_wanted =
                is_wanted || (values->items[i] >= wanted[k] && values->items[i] <= wanted[k]);
        }
        if (is_wanted) {
            items[count++] = values->items[i];
        }
    }
    if (count == 0) {
        keep_first(values, 1);
        return;
    }
    values->items = items;
    values->count = count;
}

/* None, whole and the first of modules; or the first, whatever it is. */
static void keep_recomputes(struct arena *arena, struct search_space *part)
{
    struct recompute *items = arena_array(arena, part->recompute_count + 1u, sizeof *items);
    uint32_t count = 0;
    bool has[RECOMPUTE_COUNT_] = {false};
    for (uint32_t i = 0; i < part->recompute_count; i++) {
        const struct recompute *one = &part->recomputes[i];
        if (!has[one->kind] && one->layers == 0) {
            has[one->kind] = true;
            items[count++] = *one;
        }
    }
    if (count == 0 && part->recompute_count > 0) {
        items[count++] = part->recomputes[0];
    }
    part->has_every_count = part->has_every_count && count == 0;
    part->recomputes = items;
    part->recompute_count = count;
    part->axes[SEARCH_RECOMPUTE].count = count + (part->has_every_count ? 1 : 0);
}

struct search_space search_space_part(struct arena *arena, const struct search_space *space)
{
    static const double schedules[] = {SCHEDULE_1F1B, SCHEDULE_INTERLEAVED};
    static const double zeros[] = {1, 3};
    static const double cut[] = {1};
    struct search_space part = *space;
    keep_of(arena, &part.axes[SEARCH_SCHEDULE], schedules, 2);
    keep_of(arena, &part.axes[SEARCH_ZERO], zeros, 2);
    keep_of(arena, &part.axes[SEARCH_SEQUENCE_PARALLEL], cut, 1);
    keep_first(&part.axes[SEARCH_VIRTUAL_STAGES], KEPT_OF_CHUNKS);
    keep_first(&part.axes[SEARCH_MICRO], KEPT_OF_MICRO);
    for (uint32_t i = SEARCH_STAYING; i < SEARCH_AXIS_COUNT_; i++) {
        keep_first(&part.axes[i], 1);
    }
    keep_recomputes(arena, &part);
    return part;
}

/* ---- axes -------------------------------------------------------------------------------- */

bool search_axis_is_written(const struct scenario *scenario, enum search_axis axis)
{
    bool is_written = doc_find(scenario->document, search_axis_paths[axis]) != NULL;
    for (uint32_t i = 0; axis == SEARCH_LAYERS && i < LAYOUT_STAGE_KEYS; i++) {
        is_written = is_written || doc_find(scenario->document, layout_stage_keys[i]) != NULL;
    }
    return is_written;
}

bool search_axis_is_usual(enum search_axis axis)
{
    return axis < SEARCH_OFFLOAD_OPTIMIZER;
}

bool search_axis_is_fixed(const struct search_space *space, enum search_axis axis)
{
    const struct search_values *schedules = &space->axes[SEARCH_SCHEDULE];
    if (axis != SEARCH_VIRTUAL_STAGES || space->axes[axis].count != 1) {
        return space->axes[axis].count <= 1;
    }
    return schedules->count == 1;
}

struct search_sets search_layout_sets(struct arena *arena, const struct relayout *layout)
{
    struct search_sets sets = {.count = 0};
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        sets.values[i] = search_layout_value(arena, layout, (enum search_axis)i);
        sets.of[i] = search_layout_set(arena, layout, (enum search_axis)i);
        if (sets.of[i] != NULL) {
            sets.items[sets.count++] = sets.of[i];
        }
    }
    return sets;
}

/* ---- orders of the mesh ------------------------------------------------------------------- */

/* Each order once: digits of base AXIS_COUNT_ that all differ. */
static bool is_order(uint32_t number, uint8_t order[AXIS_COUNT_])
{
    uint32_t seen = 0;
    parallel_order_of(number, order);
    for (uint32_t i = 0; i < AXIS_COUNT_; i++) {
        seen |= 1u << order[i];
    }
    return seen == (1u << AXIS_COUNT_) - 1;
}

uint32_t search_orders_all(const struct scenario *base, double orders[SEARCH_ORDERS_MAX])
{
    const uint32_t own = parallel_order_number(base->parallel.order);
    uint32_t end = 1;
    for (uint32_t i = 0; i < AXIS_COUNT_; i++) {
        end *= AXIS_COUNT_;
    }
    uint32_t count = 0;
    orders[count++] = 0;
    for (uint32_t number = 1; number <= end; number++) {
        uint8_t order[AXIS_COUNT_];
        if (number != own && is_order(number, order)) {
            sim_assert(count < SEARCH_ORDERS_MAX);
            orders[count++] = number;
        }
    }
    return count;
}

static void order_of(const struct search_space *space, uint32_t index, uint8_t order[AXIS_COUNT_])
{
    const uint32_t number = (uint32_t)space->axes[SEARCH_ORDER].items[index];
    if (number > 0) {
        parallel_order_of(number, order);
    } else {
        memcpy(order, space->base->parallel.order, AXIS_COUNT_ * sizeof *order);
    }
}

static struct parallel sizes_of(const struct search_space *space, const struct relayout *layout)
{
    return (struct parallel){.tp = layout->tp,
                             .cp = layout->cp,
                             .ep = layout->ep,
                             .etp = layout->etp > 0 ? layout->etp : layout->tp,
                             .pp = layout->pp,
                             .dp = space->base->gpus / (layout->tp * layout->cp * layout->pp)};
}

void search_orders_new(const struct search_space *space, const struct relayout *layout,
                       bool is_new[])
{
    const bool has_experts = space->base->model.experts > 0;
    const struct parallel sizes = sizes_of(space, layout);
    uint8_t mine[AXIS_COUNT_], other[AXIS_COUNT_];
    for (uint32_t i = 0; i < space->axes[SEARCH_ORDER].count; i++) {
        order_of(space, i, mine);
        is_new[i] = true;
        for (uint32_t k = 0; k < i && is_new[i]; k++) {
            if (is_new[k]) { /* what agrees with another agrees with its first */
                order_of(space, k, other);
                is_new[i] = !parallel_orders_agree(&sizes, has_experts, mine, other);
            }
        }
    }
}

uint32_t search_order_uses(const struct search_space *space, const struct relayout *layout)
{
    struct parallel sizes = sizes_of(space, layout);
    if (layout->order > 0) {
        parallel_order_of(layout->order, sizes.order);
    } else {
        memcpy(sizes.order, space->base->parallel.order, sizeof sizes.order);
    }
    return features_of_order(&sizes, space->base->model.experts > 0);
}

const char *search_order_text(struct arena *arena, double value)
{
    uint8_t order[AXIS_COUNT_];
    parallel_order_of((uint32_t)value, order);
    return parallel_order_text(arena, order);
}
