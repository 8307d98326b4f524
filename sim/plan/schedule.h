/* Pipeline schedules: in which order a stage computes its microbatches.
 *
 * A stage holds `chunks` model chunks (virtual stages); chunk c of stage s is
 * piece c*stages + s of the model. An action is the forward or backward of one
 * microbatch through one chunk. The order of actions of a stage is fixed
 * beforehand; when each runs is found by simulation, from what it waits for:
 * F(piece, m) waits for F(piece-1, m), B(piece, m) for B(piece+1, m).
 *
 *   GPipe        all forwards, then all backwards (Huang et al. 2019)
 *   1F1B         stage s starts with min(m, p-1-s) forwards, then one forward, one
 *                backward, then the backwards left (Narayanan et al. 2021, figure 4)
 *   interleaved  warm-up of 2(p-1-s) + (v-1)p forwards; microbatches go in groups
 *                of p through each chunk in turn (same, figure 4 bottom; Megatron-LM
 *                schedules.py); needs m % p == 0
 *
 * GPipe and 1F1B have one chunk per stage. Backwards go through the chunks in
 * the opposite order and through the microbatches in the same one. A shape that
 * breaks these rules is a bug of the caller: spec/feasible refuses a user's.
 */
#ifndef PLAN_SCHEDULE_H
#define PLAN_SCHEDULE_H

#include "spec/scenario.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;

struct schedule_action {
    bool is_backward;
    uint16_t chunk;      /* on this stage */
    uint32_t microbatch; /* from 0 */
};

struct schedule_shape {
    enum schedule_kind kind;
    uint32_t stages;       /* p */
    uint32_t chunks;       /* v */
    uint32_t microbatches; /* m */
};

/* The action at `position` (0 to 2 * chunks * microbatches - 1) of a stage's order. */
struct schedule_action schedule_action_at(const struct schedule_shape *shape, uint32_t stage,
                                          uint64_t position);

/* The 2 * chunks * microbatches actions of `stage`, from the arena. */
struct schedule_action *schedule_actions(struct arena *arena, const struct schedule_shape *shape,
                                         uint32_t stage);

/* Largest number of (chunk, microbatch) forwards alive on `stage` at once
 * (forward begun, backward not ended). Counted from the order itself. */
uint32_t schedule_live_chunks(struct arena *arena, const struct schedule_shape *shape,
                              uint32_t stage);

/* The same by closed form (oracle): GPipe m*v; 1F1B min(m, p-s);
 * interleaved min(m*v, 2(p-1-s) + (v-1)p + 1). */
uint32_t schedule_live_chunks_formula(const struct schedule_shape *shape, uint32_t stage);

/* Largest sum of layers over the live (chunk, microbatch) pairs of `stage`, for
 * stages whose chunks differ. `layers_per_chunk` has stages * chunks counts in
 * model order (spec/scenario.h). Exact; costs O(stages * chunks), not O(m). */
int64_t schedule_live_layers(const struct schedule_shape *shape, uint32_t stage,
                             const int64_t *layers_per_chunk);

/* Largest number of microbatches alive in one chunk of `stage`; same cost. */
int64_t schedule_live_microbatches(const struct schedule_shape *shape, uint32_t stage,
                                   uint32_t chunk);

/* True when every order is complete, each backward follows its forward, and
 * the stages together cannot deadlock (executed once). */
bool schedule_is_sound(struct arena *arena, const struct schedule_shape *shape);

/* The same of orders from elsewhere: orders[stage] has 2 * chunks * microbatches actions. */
bool schedule_orders_are_sound(struct arena *arena, const struct schedule_shape *shape,
                               const struct schedule_action *const *orders);

/* Makespan in units of one chunk's forward f and backward b with free sends:
 * GPipe, 1F1B: (m+p-1)(f+b); interleaved: v*m*(f+b) + (p-1)(f+b). */
double schedule_makespan_formula(const struct schedule_shape *shape, double forward,
                                 double backward);

#endif
