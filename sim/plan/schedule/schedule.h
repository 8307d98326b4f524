/* Pipeline schedules: in which order a stage computes its microbatches.
 *
 * A stage holds `chunks` model chunks (virtual stages); which piece of the model each is says
 * input/layout (loop, vee, dual). An action is the forward of one microbatch through one
 * chunk, its backward (input gradients B, weight gradients W, or both at once BW), or a forward
 * and a backward that overlap. The order of actions of a stage is fixed beforehand; when each
 * runs is found by simulation, from what it waits for: F waits for the F of the chunk before it
 * on the microbatch's way, B and BW for the B of the chunk after it, W for its own B.
 *
 *   gpipe        all forwards, then all backwards (Huang et al. 2019)
 *   1f1b         stage s starts with min(m, p-1-s) forwards, then one forward, one
 *                backward, then the backwards left (Narayanan et al. 2021, figure 4)
 *   interleaved  warm-up of 2(p-1-s) + (v-1)g forwards; microbatches go in groups
 *                of g through each chunk in turn (same, figure 4 bottom, with g = p; Megatron-LM
 *                schedules.py, get_schedule_table); needs p <= g <= m, and that the last group,
 *                which may be smaller, is none or at least p. g = m: breadth first
 *   zb-h1, zb-h2 1F1B with W apart, put where it fills bubbles; as much memory as 1F1B, or
 *                about twice (Qi et al. 2023, arXiv 2401.10241)
 *   zb-v         two chunks a stage, forth and back (Qi et al. 2024, arXiv 2405.15362)
 *   dualpipe     microbatches enter at both ends; forwards overlap backwards (DeepSeek-V3,
 *                arXiv 2412.19437, section 3.2.1); p even, m even, m >= 2p
 *   dualpipev    the same folded into a vee (deepseek-ai/DualPipe)
 *   file         orders are data (input/schedule_file.h)
 *
 * Where exchanges of experts overlap (parallel.overlaps_experts, of 1f1b and interleaved), each
 * backward is paired with the forward after it:
 *
 *     F0 F1 F2 B0 F3 B1 F4 B2 ...   becomes   F0 F1 F2 (F3+B0) (F4+B1) ... B2
 *
 * So one more microbatch is alive than without, but not one more of each layer (memory_live).
 * With 1f1b on several stages a pair waits for the pair of the stage after it, which waits for the
 * one before it here: a round takes two pairs; interleaved, whose stages lie two microbatches
 * apart, does not wait (Megatron-LM offers its overlap with interleaving only).
 *
 * A shape that breaks these rules is a bug of the caller: input/feasible refuses a user's.
 */
#ifndef PLAN_SCHEDULE_SCHEDULE_H
#define PLAN_SCHEDULE_SCHEDULE_H

#include "input/features/layout_words.h"
#include "input/job/batch.h"
#include "input/schedule_file.h"
#include "input/schedule_line.h"

#include <stdbool.h>
#include <stdint.h>

struct scenario;
struct arena;
struct ledger;

struct schedule_shape {
    enum schedule_kind kind;
    uint32_t stages;                  /* p */
    uint32_t chunks;                  /* v */
    uint32_t microbatches;            /* m */
    const struct schedule_file *file; /* of SCHEDULE_FILE */
    uint32_t group;                   /* g of SCHEDULE_INTERLEAVED; 0: as many as stages */
    bool pairs; /* SCHEDULE_1F1B, _INTERLEAVED: each backward beside the forward after it */
};

struct schedule_shape schedule_shape_of(const struct parallel *parallel, const struct batch *batch);

/* Whether the rules above hold: for tests, and for asserts. */
bool schedule_is_possible(const struct schedule_shape *shape);

/* Whether the kind keeps weight gradients apart from input gradients anywhere. */
bool schedule_splits_weights(enum schedule_kind kind);

/* The actions of `stage`, from the arena (of a file: the file's own). */
struct schedule_order schedule_order(struct arena *arena, const struct schedule_shape *shape,
                                     uint32_t stage);

/* ---- the way of a microbatch --------------------------------------------------------- */

struct schedule_place {
    uint32_t stage;
    uint32_t chunk;
};

/* Where a microbatch goes forward after `place`; false: there it meets the loss. */
bool schedule_next(const struct schedule_shape *shape, struct schedule_place place,
                   struct schedule_place *next);
/* Where it comes from; false: there it enters. */
bool schedule_previous(const struct schedule_shape *shape, struct schedule_place place,
                       struct schedule_place *previous);

/* ---- what is alive at once ------------------------------------------------------------- */

/* Largest sum of `weights[chunk]` over the live (chunk, microbatch) pairs of a stage: alive from
 * the forward until the backward of input gradients, and, `until_weights`, until that of
 * weight gradients. With all weights 1: how many. */
int64_t schedule_live(const struct schedule_shape *shape, const struct schedule_order *order,
                      const int64_t *weights, bool until_weights);

/* ---- one checker for all ------------------------------------------------------------- */

/* The orders of all stages, as schedule_order gives them. */
const struct schedule_order *schedule_orders(struct arena *arena,
                                             const struct schedule_shape *shape);

/* Slots and orders together: the pipeline as checkers see it. */
struct schedule_line schedule_line_of(struct arena *arena, const struct schedule_shape *shape,
                                      const struct schedule_order *orders);

/* Each action once, forwards before backwards, W after B, no deadlock. orders[stage].
 * `fault` may be NULL; its text is the arena's. */
bool schedule_check(struct arena *arena, const struct schedule_shape *shape,
                    const struct schedule_order *orders, struct schedule_fault *fault);

/* ---- times with free sends or pure latency: the oracle ---------------------------------- */

struct schedule_costs {
    double forward, backward, weights; /* of a chunk; BW costs backward + weights */
    double pair;                       /* of a forward beside a backward */
    double latency;                    /* of a message between stages; the local hop is free */
};

struct schedule_times {
    double makespan;
    double idle;        /* makespan - work, the same on every stage or the largest */
    double span;        /* last end - first start on a stage, the largest */
    double span_bubble; /* span - work, the largest */
};

/* Longest path over the orders; they must have been checked. */
struct schedule_times schedule_evaluate(struct arena *arena, const struct schedule_shape *shape,
                                        const struct schedule_order *orders,
                                        const struct schedule_costs *costs);

/* Makespan (gpipe, 1f1b, interleaved, zb-h1, dualpipe, dualpipev) or largest span (zb-h2, zb-v)
 * by the published closed form; NaN outside its range (zb-h2, zb-v: m >= 2p - 1) or without one,
 * and of pairs beside the schedule's own. */
double schedule_time_formula(const struct schedule_shape *shape,
                             const struct schedule_costs *costs);

/* The bubble over the work, with F = B = W: by that closed form of the makespan; where there is
 * none, by the longest path. Its sums are recorded. */
double schedule_bubble(struct arena *arena, const struct schedule_shape *shape,
                       struct ledger *ledger);

#endif
