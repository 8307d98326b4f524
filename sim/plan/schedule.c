/* All three schedules are one order with another warm-up.
 *
 * A stage does n = m * v forwards and as many backwards. It starts with w
 * forwards, goes on with n - w pairs of a forward and a backward, and ends with
 * the w backwards left. The k-th forward of a stage is the same for all:
 * microbatches go in groups of p, and a group passes chunk 0, then chunk 1, ...
 *
 *     p = 2, v = 2:  k           0 1 2 3 4 5 6 7
 *                    chunk       0 0 1 1 0 0 1 1
 *                    microbatch  0 1 0 1 2 3 2 3
 *
 * The k-th backward is the k-th forward with the chunks mirrored. With v = 1
 * the groups leave no trace. A schedule is therefore a row with its w.
 *
 * Narayanan et al. 2021 (arXiv 2104.04473), section 2.2; the warm-up of the
 * interleaved one is that of Megatron-LM, schedules.py,
 * forward_backward_pipelining_with_interleaving.
 */
#include "plan/schedule.h"

#include "base/arena.h"
#include "base/check.h"

/* ---- the order --------------------------------------------------------- */

static uint64_t total_forwards(const struct schedule_shape *shape)
{
    return (uint64_t)shape->microbatches * shape->chunks;
}

static uint64_t gpipe_warm_up(const struct schedule_shape *shape, uint32_t stage)
{
    (void)stage;
    return total_forwards(shape);
}

static uint64_t one_forward_one_backward_warm_up(const struct schedule_shape *shape, uint32_t stage)
{
    return shape->stages - 1 - stage;
}

static uint64_t interleaved_warm_up(const struct schedule_shape *shape, uint32_t stage)
{
    const uint64_t earlier_chunks = shape->chunks - 1;
    return 2 * (uint64_t)(shape->stages - 1 - stage) + earlier_chunks * shape->stages;
}

struct schedule_row {
    uint64_t (*warm_up)(const struct schedule_shape *shape, uint32_t stage);
    bool has_chunks; /* more than one chunk per stage, in groups of p microbatches */
};

static const struct schedule_row rows[SCHEDULE_COUNT_] = {
    [SCHEDULE_GPIPE] = {gpipe_warm_up, false},
    [SCHEDULE_1F1B] = {one_forward_one_backward_warm_up, false},
    [SCHEDULE_INTERLEAVED] = {interleaved_warm_up, true},
};

static void check_shape(const struct schedule_shape *shape)
{
    sim_assert(shape->kind < SCHEDULE_COUNT_);
    sim_assert(shape->stages > 0 && shape->chunks > 0 && shape->microbatches > 0);
    sim_assert(shape->chunks <= UINT16_MAX);
    if (rows[shape->kind].has_chunks) {
        sim_assert(shape->microbatches % shape->stages == 0);
    } else {
        sim_assert(shape->chunks == 1);
    }
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t warm_up_of(const struct schedule_shape *shape, uint32_t stage)
{
    return smaller(total_forwards(shape), rows[shape->kind].warm_up(shape, stage));
}

/* The k-th forward, or the k-th backward, of any stage. */
static struct schedule_action action_of(const struct schedule_shape *shape, bool is_backward,
                                        uint64_t k)
{
    const uint64_t per_group = (uint64_t)shape->stages * shape->chunks;
    const uint64_t group = k / per_group;
    const uint64_t within = k % per_group;
    const uint64_t chunk = within / shape->stages;
    return (struct schedule_action){
        .is_backward = is_backward,
        .chunk = (uint16_t)(is_backward ? shape->chunks - 1 - chunk : chunk),
        .microbatch = (uint32_t)(group * shape->stages + within % shape->stages),
    };
}

/* Needs a checked shape. */
static struct schedule_action action_at(const struct schedule_shape *shape, uint64_t warm_up,
                                        uint64_t position)
{
    const uint64_t pairs = total_forwards(shape) - warm_up;
    if (position < warm_up) {
        return action_of(shape, false, position);
    }
    const uint64_t after = position - warm_up;
    if (after < 2 * pairs) {
        const bool is_backward = after % 2 == 1;
        return action_of(shape, is_backward, after / 2 + (is_backward ? 0 : warm_up));
    }
    return action_of(shape, true, after - pairs);
}

struct schedule_action schedule_action_at(const struct schedule_shape *shape, uint32_t stage,
                                          uint64_t position)
{
    check_shape(shape);
    sim_assert(stage < shape->stages);
    sim_assert(position < 2 * total_forwards(shape));
    return action_at(shape, warm_up_of(shape, stage), position);
}

struct schedule_action *schedule_actions(struct arena *arena, const struct schedule_shape *shape,
                                         uint32_t stage)
{
    check_shape(shape);
    sim_assert(stage < shape->stages);
    const uint64_t count = 2 * total_forwards(shape);
    const uint64_t warm_up = warm_up_of(shape, stage);
    struct schedule_action *actions = arena_array(arena, count, sizeof *actions);
    for (uint64_t i = 0; i < count; i++) {
        actions[i] = action_at(shape, warm_up, i);
    }
    return actions;
}

/* ---- what is alive at once --------------------------------------------- */

uint32_t schedule_live_chunks(struct arena *arena, const struct schedule_shape *shape,
                              uint32_t stage)
{
    const struct schedule_action *actions = schedule_actions(arena, shape, stage);
    uint32_t live = 0;
    uint32_t most = 0;
    for (uint64_t i = 0; i < 2 * total_forwards(shape); i++) {
        sim_assert(!actions[i].is_backward || live > 0);
        live = actions[i].is_backward ? live - 1 : live + 1;
        most = live > most ? live : most;
    }
    sim_assert(live == 0);
    return most;
}

uint32_t schedule_live_chunks_formula(const struct schedule_shape *shape, uint32_t stage)
{
    check_shape(shape);
    sim_assert(stage < shape->stages);
    return (uint32_t)smaller(total_forwards(shape), warm_up_of(shape, stage) + 1);
}

/* What a live (chunk, microbatch) pair weighs: the layers of its chunk, or,
 * without layers, 1 for one chunk and 0 for the others. */
struct weigher {
    const int64_t *layers_per_chunk; /* in model order, or NULL */
    uint32_t chunk;
};

static int64_t weight_of(const struct schedule_shape *shape, uint32_t stage,
                         const struct weigher *weigher, uint32_t chunk)
{
    if (weigher->layers_per_chunk == NULL) {
        return chunk == weigher->chunk ? 1 : 0;
    }
    return weigher->layers_per_chunk[(uint64_t)chunk * shape->stages + stage];
}

/* p * v pairs on, forwards and backwards are in the same chunks again, so what
 * is alive weighs the same: after one such period nothing heavier comes. */
static int64_t heaviest(const struct schedule_shape *shape, uint32_t stage,
                        const struct weigher *weigher)
{
    if (shape->chunks == 1) {
        const int64_t live = (int64_t)schedule_live_chunks_formula(shape, stage);
        return live * weight_of(shape, stage, weigher, 0);
    }
    const uint64_t warm_up = warm_up_of(shape, stage);
    const uint64_t period = 2 * (uint64_t)shape->stages * shape->chunks;
    const uint64_t count = smaller(2 * total_forwards(shape), warm_up + period);
    int64_t live = 0;
    int64_t most = 0;
    for (uint64_t i = 0; i < count; i++) {
        const struct schedule_action action = action_at(shape, warm_up, i);
        const int64_t weight = weight_of(shape, stage, weigher, action.chunk);
        live += action.is_backward ? -weight : weight;
        sim_assert(live >= 0);
        most = live > most ? live : most;
    }
    return most;
}

int64_t schedule_live_layers(const struct schedule_shape *shape, uint32_t stage,
                             const int64_t *layers_per_chunk)
{
    check_shape(shape);
    sim_assert(stage < shape->stages);
    sim_assert(layers_per_chunk != NULL);
    const struct weigher weigher = {.layers_per_chunk = layers_per_chunk};
    return heaviest(shape, stage, &weigher);
}

int64_t schedule_live_microbatches(const struct schedule_shape *shape, uint32_t stage,
                                   uint32_t chunk)
{
    check_shape(shape);
    sim_assert(stage < shape->stages);
    sim_assert(chunk < shape->chunks);
    const struct weigher weigher = {.chunk = chunk};
    return heaviest(shape, stage, &weigher);
}

/* ---- soundness --------------------------------------------------------- */

/* Each (chunk, microbatch) of a stage: forward once, then backward once. */
static bool is_complete(struct arena *arena, const struct schedule_shape *shape,
                        const struct schedule_action *order)
{
    enum { NOTHING, FORWARD, BOTH };
    const uint64_t forwards = total_forwards(shape);
    uint8_t *done = arena_array(arena, forwards, sizeof *done);
    for (uint64_t i = 0; i < 2 * forwards; i++) {
        const struct schedule_action *action = &order[i];
        if (action->chunk >= shape->chunks || action->microbatch >= shape->microbatches) {
            return false;
        }
        uint8_t *state = &done[(uint64_t)action->chunk * shape->microbatches + action->microbatch];
        if (*state != (action->is_backward ? FORWARD : NOTHING)) {
            return false;
        }
        ++*state;
    }
    /* 2n actions, none twice, of 2n possible ones: all are there. */
    return true;
}

/* What has been done so far. When an action becomes possible it stays so: if any
 * durations lead to a deadlock, all do, and time is not needed. */
struct execution {
    const struct schedule_shape *shape;
    const struct schedule_action *const *orders;
    uint64_t *next;   /* per stage: position in its order */
    bool *is_forward; /* per (piece, microbatch): went forward */
    bool *is_backward;
};

static struct execution execution_start(struct arena *arena, const struct schedule_shape *shape,
                                        const struct schedule_action *const *orders)
{
    const uint64_t count = total_forwards(shape) * shape->stages;
    return (struct execution){
        .shape = shape,
        .orders = orders,
        .next = arena_array(arena, shape->stages, sizeof(uint64_t)),
        .is_forward = arena_array(arena, count, sizeof(bool)),
        .is_backward = arena_array(arena, count, sizeof(bool)),
    };
}

static bool is_ready(const struct execution *execution, const struct schedule_action *action,
                     uint64_t piece)
{
    const struct schedule_shape *shape = execution->shape;
    const uint64_t last_piece = (uint64_t)shape->stages * shape->chunks - 1;
    const uint64_t at = piece * shape->microbatches + action->microbatch;
    if (action->is_backward) {
        return piece == last_piece || execution->is_backward[at + shape->microbatches];
    }
    return piece == 0 || execution->is_forward[at - shape->microbatches];
}

/* Does the stage's next action, if it has one that is ready. */
static bool advance_stage(struct execution *execution, uint32_t stage)
{
    const struct schedule_shape *shape = execution->shape;
    if (execution->next[stage] == 2 * total_forwards(shape)) {
        return false;
    }
    const struct schedule_action *action = &execution->orders[stage][execution->next[stage]];
    const uint64_t piece = (uint64_t)action->chunk * shape->stages + stage;
    if (!is_ready(execution, action, piece)) {
        return false;
    }
    bool *is_done = action->is_backward ? execution->is_backward : execution->is_forward;
    is_done[piece * shape->microbatches + action->microbatch] = true;
    execution->next[stage]++;
    return true;
}

/* Every pass but the last does an action, so there are at most as many as actions. */
static bool executes(struct arena *arena, const struct schedule_shape *shape,
                     const struct schedule_action *const *orders)
{
    struct execution execution = execution_start(arena, shape, orders);
    const uint64_t actions = 2 * total_forwards(shape) * shape->stages;
    uint64_t done = 0;
    while (done < actions) {
        const uint64_t done_before = done;
        for (uint32_t stage = 0; stage < shape->stages; stage++) {
            done += advance_stage(&execution, stage) ? 1 : 0;
        }
        if (done == done_before) {
            return false;
        }
    }
    return true;
}

bool schedule_orders_are_sound(struct arena *arena, const struct schedule_shape *shape,
                               const struct schedule_action *const *orders)
{
    check_shape(shape);
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        if (!is_complete(arena, shape, orders[stage])) {
            return false;
        }
    }
    return executes(arena, shape, orders);
}

bool schedule_is_sound(struct arena *arena, const struct schedule_shape *shape)
{
    check_shape(shape);
    const struct schedule_action **orders =
        arena_array(arena, shape->stages, sizeof(const struct schedule_action *));
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        orders[stage] = schedule_actions(arena, shape, stage);
    }
    return schedule_orders_are_sound(arena, shape, orders);
}

/* ---- closed form ------------------------------------------------------- */

/* Every schedule here idles p - 1 chunks' worth (Narayanan et al. 2021, section
 * 2.2: t_pb = (p-1)(t_f+t_b), by v for chunks that are v times smaller). */
double schedule_makespan_formula(const struct schedule_shape *shape, double forward,
                                 double backward)
{
    check_shape(shape);
    sim_assert(forward >= 0 && backward >= 0);
    const double slots = (double)total_forwards(shape) + (double)(shape->stages - 1);
    return slots * (forward + backward);
}
