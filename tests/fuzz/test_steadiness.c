/* Where the run that nothing perturbs tells that small differences do not grow in it, the members
 * of the ensemble do not differ (train/ensemble.h). The slow twin runs them all the same.
 *
 * Random layouts of a dense model and of a mixture of experts behind thin up-links, interleaved or
 * not, in some of which phases lock.
 *
 * Usage: test_steadiness [SEED [FIRST [COUNT]]]; without arguments seed 3, 160 layouts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

#include "base/arena.h"
#include "base/rng.h"
#include "input/scenario.h"
#include "support/dice.h"
#include "support/fixture.h"
#include "train/ensemble.h"
#include "train/fold.h"
#include "train/step.h"
#include "train/system.h"

/* The chunks of a stage: of 56 layers, or of 96, on 2 or 4 stages. */
static unsigned chunks_of(struct dice *dice, bool has_experts)
{
    static const unsigned of_mixtral[] = {7, 14};
    static const unsigned of_gpt3[] = {2, 3, 6, 12};
    const unsigned chunks = has_experts ? of_mixtral[roll(dice, 2)] : of_gpt3[roll(dice, 4)];
    return roll(dice, 4) > 0 ? chunks : 1;
}

/* Racks thinned 1:1 to 7:1, NICs of 25 to 400 Gbps, half of them without interference. */
static struct scenario *thin_scenario(struct arena *arena, uint64_t seed, uint64_t number)
{
    struct dice dice = {{.seed = seed, .stream = rng_stream("steady"), .rank = number}};
    const bool has_experts = roll(&dice, 2) > 0;
    const unsigned pp = 2u << roll(&dice, 2);
    const unsigned tp = 1u << roll(&dice, 4);
    const unsigned dp = 8u << roll(&dice, 2);
    const unsigned chunks = chunks_of(&dice, has_experts);
    const unsigned zero = (unsigned)roll(&dice, 2);
    const unsigned microbatches = pp * (1 + (unsigned)roll(&dice, 8));
    const char *text = arena_printf(
        arena,
        "scenario: thin\nmodel: %s\ncluster: h100-roce-24k\ngpus: %u\nsoftware: megatron-2024\n"
        "precision: bf16\nparallel: {tp: %u, pp: %u, dp: %u, ep: %u, zero: %u, schedule: %s, "
        "virtual_stages: %u, sequence_parallel: %s}\n"
        "batch: {global: %u, micro: 1, sequence_length: %u}\nrecompute: %s\n",
        has_experts ? "mixtral-8x22b" : "gpt3-175b", tp * pp * dp, tp, pp, dp,
        has_experts ? 8u : 1u, zero, chunks > 1 ? "interleaved" : "1f1b", chunks,
        tp > 1 ? "true" : "false", microbatches * dp, has_experts ? 4096u : 2048u,
        roll(&dice, 2) > 0 ? "full" : "none");
    struct scenario *scenario = fixture_scenario(arena, &(struct fixture_source){.text = text});
    scenario->cluster.oversubscription = 1 + (double)roll(&dice, 7);
    scenario->cluster.nic_bytes_per_s = (double)(25u << roll(&dice, 5)) * 1e9 / 8;
    if (roll(&dice, 2) > 0) {
        scenario->software.scale_up_interference = 0;
        scenario->software.network_interference = 0;
    }
    return scenario;
}

/* Of the layouts where flows slow others: how many are told to be steady, and of how many members
 * differ. */
struct counts {
    uint64_t contended, steady, differ;
    double least_gain; /* of those that differ */
};

static void look_at(const struct engine_system *system, const char *name, struct counts *counts)
{
    struct arena *arena = arena_new();
    struct engine_outcome outcome;
    const struct ensemble_member unperturbed = {1, 0};
    ensemble_run(arena, system, unperturbed, &(struct engine_options){.finds_steadiness = true},
                 &outcome);
    struct engine_outcome unknown = outcome;
    unknown.steadiness = (struct engine_steadiness){HUGE_VAL, HUGE_VAL};
    const bool is_contended = ensemble_is_needed(system, &unknown);
    const bool is_steady = is_contended && !ensemble_is_needed(system, &outcome);
    const bool differs =
        is_contended && ensemble_find(system, 1, &outcome, SIM_TIME_MAX).members > 1;
    if (differs) {
        counts->least_gain = fmin(counts->least_gain, outcome.steadiness.gain);
    }
    counts->contended += is_contended;
    counts->steady += is_steady;
    counts->differ += differs;
    if (is_steady && differs) {
        fprintf(stderr, "%s: gain %.1f, reach %.2f of the step\n", name, outcome.steadiness.gain,
                outcome.steadiness.reach_ns / (double)outcome.jobs[0].end);
    }
    assert_false(is_steady && differs);
    arena_free(arena);
}

static void members_of_a_steady_run_do_not_differ(void **state)
{
    const struct family *family = *state;
    struct counts counts = {.least_gain = HUGE_VAL};
    for (uint64_t i = 0; i < family->count; i++) {
        struct arena *arena = arena_new();
        const uint64_t number = family->first + i;
        struct step_system *system =
            step_system_of(arena, thin_scenario(arena, family->seed, number));
        look_at(&fold_system(arena, &system->engine)->engine,
                arena_printf(arena, "seed %llu number %llu", (unsigned long long)family->seed,
                             (unsigned long long)number),
                &counts);
        arena_free(arena);
    }
    printf("  %llu of %llu have contention; %llu are steady, %llu differ with a gain of at least "
           "%.1f\n",
           (unsigned long long)counts.contended, (unsigned long long)family->count,
           (unsigned long long)counts.steady, (unsigned long long)counts.differ, counts.least_gain);
    assert_true(counts.steady > 0 && counts.differ > 0); /* or nothing was tried */
}

int main(int count, char **arguments)
{
    struct family family = {.seed = count > 1 ? strtoull(arguments[1], NULL, 10) : 3,
                            .first = count > 2 ? strtoull(arguments[2], NULL, 10) : 0,
                            .count = count > 3 ? strtoull(arguments[3], NULL, 10) : 160};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(members_of_a_steady_run_do_not_differ, &family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
