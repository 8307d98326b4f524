/* Steps that were simulated before.
 *
 * A fit predicts a row some fifty times, and each constant moves some rows only: an fp8 rate no
 * run in bf16, what an expert costs the host no dense model, the spread of GPUs nothing that the
 * engine runs. So a step is kept under a hash of all that it can hang on, and taken from there
 * when it comes again: the same to the nanosecond.
 *
 *     const uint64_t likeness = known_steps_likeness(scenario);
 *     if (!known_steps_find(steps, likeness, &step)) { simulate; step = known_step_of(&result); }
 *     known_step_add_jitter(scenario, &step);
 *
 * What a step hangs on is its resolved scenario but for its title, software.jitter and
 * gpu.speed_spread (which come after all else, train/jitter, and are added anew), and keys that its
 * kind cannot read: those of experts without experts, of fewer than 16 bits in 16 or more, of
 * products in another precision. Of scenarios with jobs beside them nothing is kept.
 */
#ifndef MEASURED_KNOWN_STEPS_H
#define MEASURED_KNOWN_STEPS_H

#include "train/metrics.h"

struct arena;
struct scenario;

/* Of a step before it waits for the slowest GPU. */
struct known_step {
    int64_t step_ns;
    int64_t gpu_ns[CAUSE_COUNT_];
    double flop_per_token_causal, peak_flop_per_s;
    bool fits; /* into memory */
};

struct known_entry {
    uint64_t likeness; /* 0: none */
    struct known_step step;
};

struct known_steps;
struct known_steps *known_steps_new(struct arena *arena);

/* 0: nothing may be kept of it. */
uint64_t known_steps_likeness(const struct scenario *scenario);

bool known_steps_find(const struct known_steps *steps, uint64_t likeness, struct known_step *step);

/* Once for each likeness; again, or of 0, it does nothing. */
void known_steps_add(struct known_steps *steps, uint64_t likeness, const struct known_step *step);

/* All of them by rising likeness. */
const struct known_entry *known_steps_list(struct arena *arena, const struct known_steps *steps,
                                           uint32_t *count);

struct known_step known_step_of(const struct scenario *scenario, const struct step_result *result);

/* The wait for the slowest GPU, as step_simulate adds it. */
void known_step_add_jitter(const struct scenario *scenario, struct known_step *step);

#endif
