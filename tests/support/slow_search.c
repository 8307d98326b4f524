/* A number of the product of all axes is in mixed radix: its digits are values of the axes. */
#include "support/slow_search.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/diag.h"
#include "input/features/features_used.h"
#include "input/layout.h"
#include "input/scenario.h"
#include "plan/memory/memory.h"
#include "study/search/search_memory.h"
#include "study/search/search_stages.h"
#include "support/assert_close.h"
#include "train/bound/bound.h"
#include "train/step.h"

#include <stdio.h>
#include <string.h>

/* What the search leaves out by must be no more than plan/memory counts, of the layout and of all
 * in its line; and not far less: what is far less leaves out nothing. */
static void check_memory(struct slow_search *slow, struct arena *arena,
                         const struct scenario *scenario, uint32_t recompute, double total_bytes)
{
    const struct search_shape *shape = search_shape_new(arena, &slow->space, scenario);
    const struct search_crowd *crowd = search_crowd_new(arena, scenario);
    const struct search_stock stock = search_stock_of(scenario);
    const struct search_held held = search_held_of(arena, scenario, shape, crowd, &stock);
    const struct recompute *is = &scenario->recompute;
    const int64_t offloaded = scenario->offload.activation_layers;
    const struct search_choice choice = {
        .plain = recompute,
        .full_layers = is->kind != RECOMPUTE_FULL ? 0
                       : is->layers > 0           ? is->layers
                                                  : INT64_MAX,
        .offloaded_layers = offloaded,
    };
    const double least = search_least_bytes(&held, &choice);
    assert_true(least <= total_bytes);
    assert_true(search_least_of_line(&held, offloaded) <= least);
    /* Each layer counts, so without its first a stage that is all of the model needs less. */
    assert_true(scenario->parallel.pp > 1 ||
                search_least_of_line(&held, 1) < search_least_of_line(&held, 0));
    slow->memory += (uint64_t)(1000.0 * least / total_bytes);
}

static int64_t etp_of(const struct relayout *layout)
{
    return layout->etp > 0 ? layout->etp : layout->tp;
}

bool slow_search_is_same(const struct relayout *a, const struct relayout *b)
{
    return (a->cp == 1 || a->context == b->context) && a->reshard == b->reshard &&
           a->overlap == b->overlap && a->order == b->order && a->zero_group == b->zero_group &&
           a->microbatch_group == b->microbatch_group && a->ends[0] == b->ends[0] &&
           a->ends[1] == b->ends[1] && a->tp == b->tp && a->cp == b->cp && a->pp == b->pp &&
           a->ep == b->ep && etp_of(a) == etp_of(b) && a->virtual_stages == b->virtual_stages &&
           a->schedule == b->schedule && a->zero == b->zero && a->micro == b->micro &&
           (a->tp == 1 || a->is_sequence_parallel == b->is_sequence_parallel) &&
           a->recompute.kind == b->recompute.kind && a->recompute.modules == b->recompute.modules &&
           a->recompute.layers == b->recompute.layers &&
           a->offload.activation_layers == b->offload.activation_layers &&
           memcmp(&a->offload.optimizer, &b->offload.optimizer, sizeof a->offload.optimizer) == 0;
}

static sim_time simulated_ns(struct arena *arena, const struct scenario *scenario)
{
    struct step_result step;
    step_simulate(arena, scenario, &(struct step_request){.folds = true}, &step);
    return step.step_ns;
}

/* A step that the search simulated, or else one that is simulated here. That both are the same is
 * what test_evaluate is about. */
static sim_time step_ns_of(struct slow_search *slow, struct arena *arena,
                           const struct relayout *layout, const struct scenario *scenario)
{
    for (uint32_t i = 0; slow->found != NULL && i < slow->found->found_count; i++) {
        if (slow_search_is_same(&slow->found->found[i].layout, layout)) {
            slow->known++;
            return sim_time_from_s(slow->found->found[i].step_s);
        }
    }
    return simulated_ns(arena, scenario);
}

/* Not with the margin; without it, or with so much more memory. */
static bool is_near(const struct slow_search *slow, const struct memory_verdict *verdict,
                    double margin)
{
    return verdict->worst.total_bytes > verdict->limit_bytes * (1 - margin) &&
           verdict->worst.total_bytes <= verdict->limit_bytes * (1.0 + slow->near) &&
           (verdict->host_limit_bytes <= 0 || verdict->host_bytes <= verdict->host_limit_bytes);
}

/* Simulated here, whatever the search did: in its own GPUs, into which it does not fit. */
static void try_near(struct slow_search *slow, struct arena *arena, const struct scenario *scenario)
{
    const double value = sim_time_to_s(simulated_ns(arena, scenario));
    slow->near_count++;
    slow->near_best =
        is_absent(slow->near_best) || value < slow->near_best ? value : slow->near_best;
}

/* What a layout is that fits. */
struct fitting {
    const struct relayout *layout;
    const struct scenario *scenario;
    sim_time step_ns;
    uint64_t matters[SEARCH_AXIS_COUNT_]; /* a bit of each axis; 0: the axis is nothing to it */
};

static void check_bound(struct slow_search *slow, struct arena *arena,
                        const struct fitting *fitting)
{
    const struct scenario *scenario = fitting->scenario;
    const struct bound bound = bound_step(scenario);
    if (bound.step_ns > fitting->step_ns) {
        const struct search_sets sets = search_layout_sets(arena, fitting->layout);
        for (uint32_t i = 0; i < sets.count; i++) {
            fprintf(stderr, "%s ", sets.items[i]);
        }
        fail_msg("model %s, %lld GPUs of %s, batch %lld: bound %lld ns over step %lld ns",
                 scenario->model.name, (long long)scenario->gpus, scenario->cluster.name,
                 (long long)scenario->batch.global, (long long)bound.step_ns,
                 (long long)fitting->step_ns);
    }
    slow->loose += (uint64_t)(1000.0 * (double)bound.step_ns / (double)fitting->step_ns);
}

static void count_fitting(struct slow_search *slow, const struct fitting *fitting)
{
    const double value = sim_time_to_s(fitting->step_ns);
    const bool is_better = is_absent(slow->best) || value < slow->best;
    const bool is_best = is_better || value <= slow->best;
    slow->fitting++;
    slow->best = is_better ? value : slow->best;
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        slow->fits[i] |= fitting->matters[i];
        slow->wins[i] = (is_better ? 0 : slow->wins[i]) | (is_best ? fitting->matters[i] : 0);
    }
}

/* ---- points ------------------------------------------------------------------------ */

/* A point of the product: of each axis the index of a value. */
struct point {
    uint32_t digits[SEARCH_AXIS_COUNT_];
};

static uint32_t digit_count(const struct search_space *space, enum search_axis axis)
{
    const bool has_counts = axis == SEARCH_RECOMPUTE && space->has_every_count;
    return has_counts ? space->recompute_count + (uint32_t)space->base->model.layers
                      : space->axes[axis].count;
}

uint64_t slow_search_product(const struct search_space *space)
{
    uint64_t product = 1;
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        product *= digit_count(space, (enum search_axis)i);
    }
    return product;
}

static struct point point_of(const struct search_space *space, uint64_t number)
{
    struct point point;
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        const uint32_t count = digit_count(space, (enum search_axis)i);
        point.digits[i] = (uint32_t)(number % count);
        number /= count;
    }
    return point;
}

static struct recompute recompute_of(const struct search_space *space, uint32_t digit)
{
    return digit < space->recompute_count
               ? space->recomputes[digit]
               : (struct recompute){.kind = RECOMPUTE_FULL,
                                    .layers = digit - space->recompute_count + 1};
}

static bool has_two_ways(uint32_t schedule)
{
    return schedule == SCHEDULE_ZB_V || schedule == SCHEDULE_DUALPIPE ||
           schedule == SCHEDULE_DUALPIPEV;
}

static struct relayout layout_of(const struct search_space *space, const struct point *point)
{
    double at[SEARCH_AXIS_COUNT_] = {0};
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        at[i] = i == SEARCH_RECOMPUTE ? 0 : space->axes[i].items[point->digits[i]];
    }
    const uint32_t schedule = (uint32_t)at[SEARCH_SCHEDULE];
    return (struct relayout){
        .context = (uint32_t)at[SEARCH_CP_TYPE],
        .zero_group = (int64_t)at[SEARCH_ZERO_GROUP],
        .microbatch_group = (int64_t)at[SEARCH_MICROBATCH_GROUP],
        .reshard = (uint32_t)at[SEARCH_RESHARD],
        .overlap = (uint32_t)at[SEARCH_OVERLAP_EXPERTS],
        .order = (uint32_t)at[SEARCH_ORDER],
        .tp = (int64_t)at[SEARCH_TP],
        .cp = (int64_t)at[SEARCH_CP],
        .ep = (int64_t)at[SEARCH_EP],
        .etp = (int64_t)at[SEARCH_ETP],
        .pp = (int64_t)at[SEARCH_PP],
        .virtual_stages = schedule == SCHEDULE_INTERLEAVED ? (int64_t)at[SEARCH_VIRTUAL_STAGES]
                          : has_two_ways(schedule)         ? 2
                                                           : 1,
        .schedule = schedule,
        .zero = (int64_t)at[SEARCH_ZERO],
        .micro = (int64_t)at[SEARCH_MICRO],
        .is_sequence_parallel = at[SEARCH_SEQUENCE_PARALLEL] > 0,
        .recompute = recompute_of(space, point->digits[SEARCH_RECOMPUTE]),
        .offload = {at[SEARCH_OFFLOAD_OPTIMIZER], (int64_t)at[SEARCH_OFFLOAD_LAYERS]},
    };
}

/* Without a pipeline one schedule stands for all: 1f1b if it is among them, else the first. */
static bool is_idle(const struct search_space *space, const struct relayout *layout)
{
    const struct search_values *schedules = &space->axes[SEARCH_SCHEDULE];
    uint32_t one = (uint32_t)schedules->items[0];
    for (uint32_t i = 0; i < schedules->count; i++) {
        one = (uint32_t)schedules->items[i] == SCHEDULE_1F1B ? SCHEDULE_1F1B : one;
    }
    return layout->pp == 1 && layout->schedule != one;
}

/* Whether a layout would be another with another value of the axis. */
static bool matters(const struct relayout *layout, enum search_axis axis)
{
    const bool is_interleaved =
        layout->schedule == SCHEDULE_INTERLEAVED && layout->virtual_stages > 1;
    const bool is_plain =
        layout->schedule == SCHEDULE_1F1B || layout->schedule == SCHEDULE_INTERLEAVED;
    switch (axis) {
    case SEARCH_CP_TYPE:
        return layout->cp > 1;
    case SEARCH_SCHEDULE:
    case SEARCH_LAYERS:
        return layout->pp > 1;
    case SEARCH_VIRTUAL_STAGES:
    case SEARCH_MICROBATCH_GROUP:
        return is_interleaved;
    case SEARCH_RESHARD:
        return layout->zero == 3;
    case SEARCH_ZERO_GROUP:
        return layout->zero > 0;
    case SEARCH_OVERLAP_EXPERTS:
        return layout->ep > 1 && is_plain;
    case SEARCH_SEQUENCE_PARALLEL:
        return layout->tp > 1;
    default:
        return true;
    }
}

/* What does not matter to a layout is not said, whatever the axis has. */
static void leave_idle(struct relayout *layout)
{
    layout->context = matters(layout, SEARCH_CP_TYPE) ? layout->context : 0;
    layout->microbatch_group =
        matters(layout, SEARCH_MICROBATCH_GROUP) ? layout->microbatch_group : 0;
    layout->reshard = matters(layout, SEARCH_RESHARD) ? layout->reshard : 0;
    layout->overlap = matters(layout, SEARCH_OVERLAP_EXPERTS) ? layout->overlap : 0;
}

/* ---- all of them ------------------------------------------------------------------- */

/* What all points are tried with. */
struct trying {
    struct slow_search *slow;
    struct relayout_frame frame;
    struct search_stages *stages;
    struct scenario *again; /* that layouts are laid over, one after the other */
    bool is_simulated;
};

static bool fits_with(const struct memory_verdict *verdict, double margin)
{
    return verdict->fits && verdict->worst.total_bytes <= verdict->limit_bytes * (1 - margin);
}

static void try_scenario(struct trying *trying, struct arena *arena, struct fitting *fitting,
                         uint32_t recompute)
{
    struct slow_search *slow = trying->slow;
    const struct scenario *scenario = fitting->scenario;
    const struct memory_verdict verdict = memory_check(scenario);
    const double margin = scenario->memory_margin;
    slow->tried++;
    if (trying->is_simulated) {
        check_memory(slow, arena, scenario, recompute, verdict.worst.total_bytes);
        if (is_near(slow, &verdict, margin)) {
            try_near(slow, arena, scenario);
        }
    }
    if (fits_with(&verdict, margin)) {
        if (trying->is_simulated) {
            fitting->step_ns = step_ns_of(slow, arena, fitting->layout, scenario);
            check_bound(slow, arena, fitting);
        }
        count_fitting(slow, fitting);
    }
}

/* Laid over what another layout left, unheard, it is the same: told by nothing but pointers. */
static void check_again(const struct trying *trying, struct arena *arena,
                        const struct relayout *layout, const struct scenario *fresh)
{
    struct scenario *again = trying->again;
    struct diag *unheard = diag_new_deaf(arena);
    const bool is_possible = scenario_relayout_again(arena, &trying->frame, layout, again, unheard);
    assert_true(is_possible == (fresh != NULL));
    if (is_possible) {
        const size_t size = (size_t)layout_pieces(&fresh->parallel) * sizeof(int64_t);
        assert_memory_equal(again->parallel.layers_per_chunk, fresh->parallel.layers_per_chunk,
                            size);
        again->parallel.layers_per_chunk = fresh->parallel.layers_per_chunk;
        assert_memory_equal(again, fresh, sizeof *fresh);
    }
}

static void try_point(struct trying *trying, const struct point *point)
{
    const struct search_space *space = &trying->slow->space;
    struct relayout layout = layout_of(space, point);
    leave_idle(&layout);
    const bool is_balanced = space->axes[SEARCH_LAYERS].items[point->digits[SEARCH_LAYERS]] > 0;
    if ((is_balanced && !search_stages_balance(trying->stages, &layout)) ||
        is_idle(space, &layout)) {
        return;
    }
    struct arena *arena = arena_new();
    struct scenario scenario;
    struct feature_set lacked = {{0}};
    const bool is_possible =
        scenario_relayout(arena, &trying->frame, &layout, &scenario, diag_new(arena));
    check_again(trying, arena, &layout, is_possible ? &scenario : NULL);
    if (is_possible && features_hold(&scenario, &space->allowed, &lacked)) {
        struct fitting fitting = {.layout = &layout, .scenario = &scenario};
        for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
            const bool is_counted = point->digits[i] < 64 && matters(&layout, (enum search_axis)i);
            fitting.matters[i] = is_counted ? UINT64_C(1) << point->digits[i] : 0;
        }
        const uint32_t digit = point->digits[SEARCH_RECOMPUTE];
        try_scenario(trying, arena, &fitting, digit < space->recompute_count ? digit : 0);
    }
    arena_free(arena);
}

static void try_all(struct slow_search *slow, bool is_simulated)
{
    struct trying trying = {.slow = slow,
                            .stages = search_stages_new(slow->arena, slow->space.base),
                            .is_simulated = is_simulated};
    relayout_frame_init(slow->space.base, &trying.frame);
    trying.again = arena_alloc(slow->arena, sizeof *trying.again);
    *trying.again = *slow->space.base;
    slow->best = slow->near_best = ABSENT;
    const uint64_t product = slow_search_product(&slow->space);
    for (uint64_t i = 0; i < product; i++) {
        const struct point point = point_of(&slow->space, i);
        try_point(&trying, &point);
    }
}

void slow_search_run(struct slow_search *slow)
{
    try_all(slow, true);
}

void slow_search_weigh(struct slow_search *slow)
{
    try_all(slow, false);
}
