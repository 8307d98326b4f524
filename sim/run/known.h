/* A cache of what runs have in common that differ in their policy alone, each simulated once: the
 * usual step, what it waits for its loaders, the steps of all regimes (run/regime) and what
 * checkpoints cost.
 *
 *     struct run_known *known = run_known_new();
 *     for (...each policy...) {
 *         struct run_request request = {.folds = true, .build = "", .known = known};
 *         run_predict(arena, scenario of the policy, &request, &result);
 *     }
 *     run_known_free(known);
 *
 * A policy is what is written below run.checkpoint and run.recovery, and how many histories are
 * drawn. All else is that of the first scenario, which outlives what is known, as do results of the
 * others: their steps are its. What comes out is what run_predict gives without it, to the byte,
 * but for what the engine took.
 */
#ifndef RUN_KNOWN_H
#define RUN_KNOWN_H

#include "run/checkpoint.h"
#include "run/loading.h"

struct run_known;

struct run_known *run_known_new(void);
void run_known_free(struct run_known *known); /* NULL is allowed */

/* The usual step with its loaders; false: it is not known yet. */
bool run_known_step(const struct run_known *known, struct step_result *step,
                    struct loading *loading);

/* Where to simulate the step that is to be known, and what came of it. */
struct arena *run_known_arena(struct run_known *known);
void run_known_add_step(struct run_known *known, const struct step_result *step,
                        const struct loading *loading);

/* Steps that were simulated: the usual one and those of other regimes. */
size_t run_known_count(const struct run_known *known);

struct regime_memo *run_known_regimes(struct run_known *known);

/* As checkpoint_cost_of (run/checkpoint), or what was found the last time. */
void run_known_cost(struct run_known *known, struct arena *arena, const struct regime_basis *basis,
                    double bytes, struct checkpoint_cost *cost);

#endif
