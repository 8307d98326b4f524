/* measured/known_steps: what a step hangs on, and that a known one is what would be simulated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "measured/known_steps.h"
#include "support/fixture.h"
#include "train/step.h"

/* Dense in bf16; mixture of experts in fp8; the same in mxfp8 on GB300, which has nvfp4. */
#define DENSE "scenarios/quickstart.yaml"
#define FP8 "scenarios/qwen3-30b-16.yaml"
#define MXFP8 "scenarios/gpt-oss-120b-64.yaml"

static const struct {
    const char *scenario, *set;
    bool is_idle; /* the key cannot move the step */
} cases[] = {
    {DENSE, "scenario=another title", true},
    {DENSE, "software.jitter.spread=3 %", true},
    {DENSE, "software.jitter.meeting=1 ms", false},
    {DENSE, "software.experts.launches=50", true},
    {DENSE, "software.experts.per_tensor=1 ms", true},
    {DENSE, "software.experts.synchronisation=1 ms", true},
    {DENSE, "software.experts.exchange=tokens", true},
    {DENSE, "software.experts.per_exchange=1 ms", true},
    {DENSE, "software.experts.per_rank=1 ms", true},
    {DENSE, "software.communication.experts=10 %", true},
    {DENSE, "software.communication.experts_network=10 %", true},
    {DENSE, "software.interference.experts=50 %", true},
    {DENSE, "software.interference.expert_sms=60", true},
    {DENSE, "software.fp8.recipe=current", true},
    {DENSE, "software.fp8.weights=stored", true},
    {DENSE, "software.fp8.column_rate=10 %", true},
    {DENSE, "software.fp8.amax=own", true},
    {DENSE, "software.fp8.keeps_inputs=true", true},
    {DENSE, "software.fp8.gathers_activations=true", true},
    {DENSE, "software.fp8.attention=true", true},
    {DENSE, "gpu.gemm_fp8.flop_per_joule=0.3 TFLOP", true},
    {DENSE, "gpu.gemm.flop_per_joule=0.3 TFLOP", false},
    {DENSE, "software.host.per_step=100 ms", false},
    {DENSE, "batch.micro=2", false},
    {FP8, "software.jitter.spread=3 %", true},
    {FP8, "software.experts.launches=50", false},
    {FP8, "software.communication.experts_network=10 %", false},
    {FP8, "software.fp8.recipe=delayed", false},
    {FP8, "gpu.gemm_fp8.flop_per_joule=0.3 TFLOP", false},
    {MXFP8, "gpu.gemm_nvfp4.sustained=0.1", true},
    {MXFP8, "gpu.gemm_mxfp8.sustained=0.1", false},
};

static const struct scenario *scenario_of(struct arena *arena, const char *path, const char *set)
{
    return fixture_scenario(
        arena,
        &(struct fixture_source){.path = path, .sets = &set, .set_count = set != NULL ? 1 : 0});
}

static struct step_result simulated(struct arena *arena, const struct scenario *scenario)
{
    struct step_result result;
    step_simulate(arena, scenario, &(struct step_request){.folds = true}, &result);
    return result;
}

/* An idle key leaves the likeness, and what is kept, with the jitter of the scenario at hand, is to
 * the nanosecond what the engine makes of it. Any other key makes another step. */
static void a_known_step_is_what_would_be_simulated(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *arena = arena_new();
        const struct scenario *first = scenario_of(arena, cases[i].scenario, NULL);
        const struct scenario *other = scenario_of(arena, cases[i].scenario, cases[i].set);
        struct known_steps *steps = known_steps_new(arena);
        const struct step_result before = simulated(arena, first);
        const struct step_result after = simulated(arena, other);
        const struct known_step kept = known_step_of(first, &before);
        struct known_step step;
        known_steps_add(steps, known_steps_likeness(first), &kept);
        print_message("%s %s\n", cases[i].scenario, cases[i].set);
        assert_int_equal(known_steps_find(steps, known_steps_likeness(other), &step),
                         cases[i].is_idle);
        if (cases[i].is_idle) {
            known_step_add_jitter(other, &step);
            assert_int_equal(step.step_ns, after.step_ns);
            assert_memory_equal(step.gpu_ns, after.gpu_ns, sizeof step.gpu_ns);
            assert_int_equal(step.fits, after.memory.fits);
        } else {
            assert_int_not_equal(before.step_ns, after.step_ns);
        }
        arena_free(arena);
    }
}

/* 3,000 are more than the table begins with; each comes back as it was put in first. */
static void steps_are_found_among_thousands(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct known_steps *steps = known_steps_new(arena);
    for (int64_t i = 1; i <= 3000; i++) {
        const uint64_t likeness = (uint64_t)i << 40 | 7; /* all begin at one slot */
        known_steps_add(steps, likeness, &(struct known_step){.step_ns = i});
        known_steps_add(steps, likeness, &(struct known_step){.step_ns = -1});
    }
    struct known_step step;
    for (int64_t i = 1; i <= 3000; i++) {
        assert_true(known_steps_find(steps, (uint64_t)i << 40 | 7, &step));
        assert_int_equal(step.step_ns, i);
    }
    assert_false(known_steps_find(steps, 8, &step));
    arena_free(arena);
}

static void nothing_is_kept_of_jobs_beside_one_another(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct known_steps *steps = known_steps_new(arena);
    struct known_step step = {.step_ns = 1};
    const uint64_t likeness =
        known_steps_likeness(scenario_of(arena, "scenarios/two-jobs.yaml", NULL));
    assert_int_equal(likeness, 0);
    known_steps_add(steps, likeness, &step);
    assert_false(known_steps_find(steps, likeness, &step));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_step_is_what_would_be_simulated),
        cmocka_unit_test(steps_are_found_among_thousands),
        cmocka_unit_test(nothing_is_kept_of_jobs_beside_one_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
