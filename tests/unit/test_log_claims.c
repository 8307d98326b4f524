/* What a log says of itself beside its steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "foreign/logs/log_claims.h"
#include "support/assert_close.h"

static struct log_claims claims_of(struct arena *arena, const char *text)
{
    const struct text_file file = {.path = "train.log", .text = text, .length = strlen(text)};
    return log_claims_of(arena, &file);
}

/* Of four lines the first quarter, one, is warm-up; the median of 380, 400, 420 is 400. */
static void the_trainers_own_figures_are_medians_without_warm_up(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct log_claims megatron =
        claims_of(arena, "iteration 1/ 9 | throughput per GPU (TFLOP/s/GPU): 100.0 | lm loss\n"
                         "iteration 2/ 9 | throughput per GPU (TFLOP/s/GPU): 420.0 | lm loss\n"
                         "iteration 3/ 9 | throughput per GPU (TFLOP/s/GPU): 380.0 | lm loss\n"
                         "iteration 4/ 9 | throughput per GPU (TFLOP/s/GPU): 400.0 | lm loss\n");
    assert_close(megatron.flop_per_s, 400e12, 1e-12);
    assert_close(megatron.mfu + 1, 1, 1e-12);
    assert_false(megatron.is_out_of_memory);
    const struct log_claims titan = claims_of(
        arena,
        "step:  1  loss: 8.0  tps: 5,123  tflops: 296.66  mfu: 30.00%\n"
        "step: 10  loss: 4.0  tps: 6,830  tflops: 395.55  mfu: 40.00%\n"
        "Finished saving the checkpoint (or staging if async is enabled)in 361.25 seconds.\n");
    assert_close(titan.flop_per_s, 395.55e12, 1e-12);
    assert_close(titan.mfu, 0.4, 1e-12);
    assert_close(titan.checkpoint_s, 361.25, 1e-12);
    assert_int_equal(titan.checkpoints, 1);
    assert_true(titan.has_step);
    arena_free(arena);
}

/* Per cent stand before the words in llm.c; 55.6 % are 0.556. */
static void a_figure_may_stand_before_its_words(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct log_claims claims = claims_of(
        arena, "step   10/19560 | loss 7.05 | 5110.20 ms | 55.6% bf16 MFU | 102600 tok/s\n");
    assert_close(claims.mfu, 0.556, 1e-12);
    arena_free(arena);
}

/* A line of each trainer's, and what it says, by hand. */
static void each_trainer_has_units_of_its_own(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        double flop_per_s, mfu, checkpoint_s;
    } cases[] = {
        {"completed step: 9, seconds: 5.7, TFLOP/s/device: 312.500, Tokens/s/device: 718", 312.5e12,
         0, 0},
        {"iteration: 9 / 20 | time_per_iteration_ms: 802 | model_tflops_per_gpu: 171.25", 171.25e12,
         0, 0},
        {"steps: 9 loss: 2.5 iter time (s): 4.1 TFLOPs: 142.75", 142.75e12, 0, 0},
        {"iteration 9/ 20 | lm loss: 2.5E+00 | TFLOPS per GPU: 120.50 |", 120.5e12, 0, 0},
        {"iter 9: loss 3.1415, time 135.12ms, mfu 38.25%", 0, 0.3825, 0},
        {"Train throughput/device/mfu: 0.4375", 0, 0.4375, 0},
        {"checkpoint save time (s): 12.5", 0, 0, 12.5},
        {"save-checkpoint time (s): 7.25", 0, 0, 7.25},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct log_claims claims = claims_of(arena, cases[i].line);
        assert_close(claims.flop_per_s + 1, cases[i].flop_per_s + 1, 1e-12);
        assert_close(claims.mfu + 1, cases[i].mfu + 1, 1e-12);
        assert_close(claims.checkpoint_s + 1, cases[i].checkpoint_s + 1, 1e-12);
    }
    arena_free(arena);
}

/* Words without a number, and what is no number, are no claims. */
static void memory_that_ran_out_has_a_place_and_noise_claims_nothing(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct log_claims claims =
        claims_of(arena, "tflops: none mfu: -\n  torch.OutOfMemoryError: CUDA out of memory.\n");
    assert_true(claims.is_out_of_memory);
    assert_int_equal(claims.out_of_memory.line, 2);
    assert_false(claims.has_step);
    assert_close(claims.flop_per_s + 1, 1, 1e-12);
    assert_close(claims.checkpoint_s + 1, 1, 1e-12);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_trainers_own_figures_are_medians_without_warm_up),
        cmocka_unit_test(a_figure_may_stand_before_its_words),
        cmocka_unit_test(each_trainer_has_units_of_its_own),
        cmocka_unit_test(memory_that_ran_out_has_a_place_and_noise_claims_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
