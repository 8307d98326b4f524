/* The table of pipeline schedules, with a row for each kind, and what follows
 * from a row alone. Generators of orders are in schedule_orders*.c.
 */
#include "plan/schedule/schedule.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/ledger.h"
#include "input/job/parallel.h"
#include "plan/schedule/schedule_rows.h"
#include "input/layout.h"

#include <math.h>

uint32_t schedule_group(const struct schedule_shape *shape)
{
    return shape->group > 0 ? shape->group : shape->stages;
}

/* ---- which shapes can be ----------------------------------------------------------------- */

static bool has_one_chunk(const struct schedule_shape *shape)
{
    return shape->chunks == 1;
}

/* A group that is smaller than the pipeline would wait for itself. */
static bool has_full_groups(const struct schedule_shape *shape)
{
    const uint32_t group = schedule_group(shape);
    const uint32_t left = shape->microbatches % group;
    return group >= shape->stages && group <= shape->microbatches &&
           (left == 0 || left >= shape->stages);
}

static bool has_two_chunks(const struct schedule_shape *shape)
{
    return shape->chunks == 2;
}

static bool has_both_ways_filled(const struct schedule_shape *shape)
{
    return shape->chunks == 2 && shape->stages % 2 == 0 && shape->microbatches % 2 == 0 &&
           shape->microbatches >= 2 * shape->stages;
}

static bool has_its_vee_filled(const struct schedule_shape *shape)
{
    return shape->chunks == 2 && shape->microbatches >= 2 * shape->stages;
}

static bool has_its_file(const struct schedule_shape *shape)
{
    const struct schedule_file *file = shape->file;
    return file != NULL && file->stages == shape->stages && file->chunks == shape->chunks &&
           file->microbatches == shape->microbatches;
}

/* ---- bubbles by closed form ---------------------------------------------------------------- */

/* Terms of the formulas below. */
#define STAGES LEDGER_TERM(stages, "stages")
#define FORWARD LEDGER_TERM(costs->forward, "F")
#define BACKWARD LEDGER_TERM(costs->backward, "B")
#define WEIGHTS LEDGER_TERM(costs->weights, "W")
#define PAIR LEDGER_TERM(costs->pair, "FB")

/* Of a stage. DualPipe halves the microbatches over its two chunks. */
static double work_of(const struct schedule_shape *shape, const struct schedule_costs *costs,
                      struct ledger *ledger)
{
    const double chunks = shape->kind == SCHEDULE_DUALPIPE ? 1.0 : (double)shape->chunks;
    const double microbatches = (double)shape->microbatches;
    return LEDGER_SUM(ledger, "work of a stage", "",
                      chunks * microbatches * (costs->forward + costs->backward + costs->weights),
                      LEDGER_TERM(chunks, "chunks"), LEDGER_TERM(microbatches, "microbatches"),
                      FORWARD, BACKWARD, WEIGHTS);
}

/* p - 1 chunks' worth is idle (Narayanan et al. 2021, section 2.2: (p-1)(t_f+t_b), by v for
 * chunks that are v times smaller), whatever the size of groups. */
static double idle_of_loop(const struct schedule_shape *shape, const struct schedule_costs *costs,
                           struct ledger *ledger)
{
    const double stages = (double)shape->stages;
    return LEDGER_SUM(ledger, "idle of a stage", "",
                      (stages - 1) * (costs->forward + costs->backward + costs->weights), STAGES,
                      FORWARD, BACKWARD, WEIGHTS);
}

/* Qi et al. 2023, table 1; with fewer microbatches than stages W fills less. */
static double idle_of_zb_h1(const struct schedule_shape *shape, const struct schedule_costs *costs,
                            struct ledger *ledger)
{
    const double stages = (double)shape->stages;
    if (shape->microbatches < shape->stages) {
        return (double)NAN;
    }
    return LEDGER_SUM(ledger, "idle of a stage", "",
                      (stages - 1) * (costs->forward + costs->backward - costs->weights), STAGES,
                      FORWARD, BACKWARD, WEIGHTS);
}

static double idle_of_zb_h2(const struct schedule_shape *shape, const struct schedule_costs *costs,
                            struct ledger *ledger)
{
    const double stages = (double)shape->stages;
    if (shape->microbatches < 2 * shape->stages - 1) {
        return (double)NAN;
    }
    return LEDGER_SUM(ledger, "idle of a stage", "",
                      (stages - 1) * (costs->forward + costs->backward - 2 * costs->weights),
                      STAGES, FORWARD, BACKWARD, WEIGHTS);
}

static double idle_of_zb_v(const struct schedule_shape *shape, const struct schedule_costs *costs,
                           struct ledger *ledger)
{
    (void)costs;
    (void)ledger;
    return shape->microbatches < 2 * shape->stages - 1 ? (double)NAN : 0.0;
}

/* The bubble of a turning point, FB + (B + W) - 3 W: DualPipe's README, with B the whole
 * backward. */
static double idle_of_dualpipe(const struct schedule_shape *shape,
                               const struct schedule_costs *costs, struct ledger *ledger)
{
    const double stages = (double)shape->stages;
    return LEDGER_SUM(ledger, "idle of a stage", "",
                      (stages / 2 - 1) * (costs->pair + costs->backward - 2 * costs->weights),
                      STAGES, PAIR, BACKWARD, WEIGHTS);
}

static double idle_of_dualpipev(const struct schedule_shape *shape,
                                const struct schedule_costs *costs, struct ledger *ledger)
{
    const double stages = (double)shape->stages;
    return LEDGER_SUM(ledger, "idle of a stage", "",
                      (stages - 1) * (costs->pair + costs->backward - 2 * costs->weights), STAGES,
                      PAIR, BACKWARD, WEIGHTS);
}

#undef STAGES
#undef FORWARD
#undef BACKWARD
#undef WEIGHTS
#undef PAIR

/* ---- the table ----------------------------------------------------------------------------- */

static const struct schedule_row rows[SCHEDULE_COUNT_] = {
    [SCHEDULE_GPIPE] = {schedule_generate_gpipe, WAY_LOOP, false, has_one_chunk, idle_of_loop},
    [SCHEDULE_1F1B] = {schedule_generate_1f1b, WAY_LOOP, false, has_one_chunk, idle_of_loop},
    [SCHEDULE_INTERLEAVED] = {schedule_generate_interleaved, WAY_LOOP, false, has_full_groups,
                              idle_of_loop},
    [SCHEDULE_ZB_H1] = {schedule_generate_zb_h1, WAY_LOOP, true, has_one_chunk, idle_of_zb_h1},
    [SCHEDULE_ZB_H2] = {schedule_generate_zb_h2, WAY_LOOP, true, has_one_chunk, idle_of_zb_h2},
    [SCHEDULE_ZB_V] = {schedule_generate_zb_v, WAY_VEE, true, has_two_chunks, idle_of_zb_v},
    [SCHEDULE_DUALPIPE] = {schedule_generate_dualpipe, WAY_DUAL, true, has_both_ways_filled,
                           idle_of_dualpipe},
    [SCHEDULE_DUALPIPEV] = {schedule_generate_dualpipev, WAY_VEE, true, has_its_vee_filled,
                            idle_of_dualpipev},
    [SCHEDULE_FILE] = {NULL, WAY_FILE, true, has_its_file, NULL},
};

bool schedule_is_possible(const struct schedule_shape *shape)
{
    sim_assert(shape->kind < SCHEDULE_COUNT_);
    return shape->stages > 0 && shape->chunks > 0 && shape->microbatches > 0 &&
           shape->chunks <= UINT16_MAX && rows[shape->kind].is_possible(shape);
}

const struct schedule_row *schedule_row_of(const struct schedule_shape *shape)
{
    sim_assert(schedule_is_possible(shape));
    return &rows[shape->kind];
}

bool schedule_splits_weights(enum schedule_kind kind)
{
    sim_assert(kind < SCHEDULE_COUNT_);
    return rows[kind].splits_weights;
}

struct schedule_shape schedule_shape_of(const struct parallel *parallel, const struct batch *batch)
{
    const enum schedule_kind kind = (enum schedule_kind)parallel->schedule;
    const bool alternates = kind == SCHEDULE_1F1B || kind == SCHEDULE_INTERLEAVED;
    return (struct schedule_shape){
        .kind = kind,
        .stages = (uint32_t)parallel->pp,
        .chunks = (uint32_t)parallel->virtual_stages,
        .microbatches = (uint32_t)batch->microbatches,
        .file = parallel->schedule_file,
        .group = (uint32_t)parallel->microbatch_group,
        .pairs = parallel->overlaps_experts && alternates,
    };
}

/* By closed form; NaN: there is none. */
static double idle_of(const struct schedule_shape *shape, const struct schedule_costs *costs,
                      struct ledger *ledger)
{
    const struct schedule_row *row = schedule_row_of(shape);
    return row->idle == NULL || shape->pairs ? (double)NAN : row->idle(shape, costs, ledger);
}

double schedule_time_formula(const struct schedule_shape *shape, const struct schedule_costs *costs)
{
    return work_of(shape, costs, NULL) + idle_of(shape, costs, NULL);
}

/* The closed form is of the time from a stage's first action to its last; but stages begin one
 * after the other, and all meet for the gradients' norm. */
static bool is_of_spans(enum schedule_kind kind)
{
    return kind == SCHEDULE_ZB_H2 || kind == SCHEDULE_ZB_V;
}

static double longest_path_idle(struct arena *arena, const struct schedule_shape *shape,
                                const struct schedule_costs *costs, struct ledger *ledger)
{
    const struct schedule_order *orders = schedule_orders(arena, shape);
    const double idle = schedule_evaluate(arena, shape, orders, costs).idle;
    ledger_say(ledger, "idle of a stage", "", idle,
               shape->pairs               ? "longest path of the pairs"
               : is_of_spans(shape->kind) ? "longest path of the orders: stages begin and end "
                                            "apart, and meet then"
                                          : "longest path of the orders");
    return idle;
}

double schedule_bubble(struct arena *arena, const struct schedule_shape *shape,
                       struct ledger *ledger)
{
    /* A pair takes as long as its two. */
    static const struct schedule_costs even = {
        .forward = 1, .backward = 1, .weights = 1, .pair = 3};
    const double work = work_of(shape, &even, ledger);
    ledger_remark(ledger, "F = B = W");
    double idle = is_of_spans(shape->kind) ? (double)NAN : idle_of(shape, &even, ledger);
    if (isnan(idle)) {
        idle = longest_path_idle(arena, shape, &even, ledger);
    }
    return LEDGER_SUM(ledger, "bubble / work by formula", "ratio", idle / work,
                      LEDGER_TERM(idle, ""), LEDGER_TERM(work, ""));
}

/* ---- the order ----------------------------------------------------------------------------- */

void schedule_write(struct schedule_writer *writer, enum schedule_operation operation,
                    uint32_t chunk, uint32_t microbatch)
{
    sim_assert(writer->count < writer->capacity);
    writer->actions[writer->count++] = (struct schedule_action){
        .operation = (uint8_t)operation, .chunk = (uint16_t)chunk, .microbatch = microbatch};
}

void schedule_write_pair(struct schedule_writer *writer, uint32_t chunk, uint32_t microbatch,
                         uint32_t backward_chunk, uint32_t backward_microbatch)
{
    schedule_write(writer, SCHEDULE_PAIR, chunk, microbatch);
    struct schedule_action *action = &writer->actions[writer->count - 1];
    action->backward_chunk = (uint16_t)backward_chunk;
    action->backward_microbatch = backward_microbatch;
}

/* Both were next to each other, so neither waits for the other: the forward not for a backward,
 * and the backward, which came first, not for the forward. */
static struct schedule_order pair_up(struct arena *arena, const struct schedule_order *order)
{
    struct schedule_action *actions = arena_array(arena, order->count + 1, sizeof *actions);
    struct schedule_order paired = {actions, 0};
    for (uint64_t i = 0; i < order->count; i++) {
        struct schedule_action action = order->actions[i];
        const bool is_followed =
            i + 1 < order->count && order->actions[i + 1].operation == SCHEDULE_FORWARD;
        if (action.operation == SCHEDULE_BACKWARD && is_followed) {
            const struct schedule_action back = action;
            action = order->actions[++i];
            action.operation = SCHEDULE_PAIR;
            action.backward_chunk = back.chunk;
            action.backward_microbatch = back.microbatch;
        }
        actions[paired.count++] = action;
    }
    return paired;
}

struct schedule_order schedule_order(struct arena *arena, const struct schedule_shape *shape,
                                     uint32_t stage)
{
    const struct schedule_row *row = schedule_row_of(shape);
    sim_assert(stage < shape->stages);
    if (row->generate == NULL) {
        return shape->file->orders[stage];
    }
    struct schedule_writer writer = {
        .arena = arena,
        .capacity = (row->splits_weights ? 3u : 2u) * (uint64_t)shape->chunks * shape->microbatches,
    };
    writer.actions = arena_room(arena, writer.capacity, sizeof *writer.actions);
    row->generate(&writer, shape, stage);
    const struct schedule_order order = {writer.actions, writer.count};
    return shape->pairs ? pair_up(arena, &order) : order;
}

const struct schedule_order *schedule_orders(struct arena *arena,
                                             const struct schedule_shape *shape)
{
    struct schedule_order *orders = arena_array(arena, shape->stages, sizeof *orders);
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        orders[stage] = schedule_order(arena, shape, stage);
    }
    return orders;
}
