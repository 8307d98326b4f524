/* Memory of a GPU: laws that hold for every plan, the verdict, and the advice. */
#include "plan/memory/memory.h"

#include "base/arena.h"
#include "input/layout.h"
#include "support/memory_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/assert_close.h"

static const double GB = 1e9;

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- laws -------------------------------------------------------------- */

typedef void law_check(struct memory_case *c);

/* Every law on every kind of model, with and without sequence parallelism. */
static void for_all_cases(law_check *check)
{
    for (int i = 0; i < 16; i++) {
        struct memory_case c;
        if (i % 2 == 0) {
            memory_case_init(&c, memory_case_gpt3(), 2048);
        } else {
            memory_case_llama(&c, llama3_70b, 8192);
        }
        c.scenario.parallel.is_sequence_parallel = i / 2 % 2 == 1;
        c.scenario.recompute.kind = (uint32_t)(i / 4 % 3);
        check(&c);
    }
}

static void check_tp(struct memory_case *c)
{
    double before = 0;
    for (int64_t tp = 1; tp <= 8; tp *= 2) {
        memory_case_cut(c, (struct memory_cut){tp, 4, 2, 1, 1, 16});
        assert_true(tp == 1 || memory_case_worst(c) < before);
        before = memory_case_worst(c);
    }
}

static void check_pp(struct memory_case *c)
{
    double before = 0;
    for (int64_t pp = 1; pp <= 16; pp *= 2) {
        memory_case_cut(c, (struct memory_cut){2, pp, 2, 1, 1, 32});
        assert_true(pp == 1 || memory_case_worst(c) < before);
        before = memory_case_worst(c);
    }
}

static void check_zero(struct memory_case *c)
{
    for (int64_t dp = 1; dp <= 64; dp *= 8) {
        double before = 0;
        for (int64_t zero = 0; zero <= 3; zero++) {
            memory_case_cut(c, (struct memory_cut){2, 1, dp, zero, 1, 4});
            assert_true(zero == 0 || memory_case_worst(c) <= before);
            assert_true(zero == 0 || dp == 1 || memory_case_worst(c) < before);
            before = memory_case_worst(c);
        }
    }
}

static void check_dp(struct memory_case *c)
{
    for (int64_t zero = 0; zero <= 3; zero++) {
        double before = 0;
        for (int64_t dp = 2; dp <= 128; dp *= 2) {
            memory_case_cut(c, (struct memory_cut){2, 1, dp, zero, 1, 4});
            assert_true(dp == 2 || memory_case_worst(c) <= before);
            before = memory_case_worst(c);
        }
    }
}

static void check_recompute(struct memory_case *c)
{
    double before = 0;
    for (uint32_t recompute = 0; recompute < RECOMPUTE_COUNT_; recompute++) {
        memory_case_cut(c, (struct memory_cut){4, 4, 2, 1, 1, 16});
        c->scenario.recompute.kind = recompute;
        assert_true(recompute == 0 || memory_case_worst(c) < before);
        before = memory_case_worst(c);
    }
}

static void memory_falls_with_tp(void **state)
{
    (void)state;
    for_all_cases(check_tp);
}

static void memory_falls_with_pp(void **state)
{
    (void)state;
    for_all_cases(check_pp);
}

static void memory_falls_with_zero_and_never_rises_on_one_rank(void **state)
{
    (void)state;
    for_all_cases(check_zero);
}

static void memory_never_rises_with_dp(void **state)
{
    (void)state;
    for_all_cases(check_dp);
}

static void memory_falls_with_recomputation(void **state)
{
    (void)state;
    for_all_cases(check_recompute);
}

/* ---- verdict and explanation ------------------------------------------- */

static void the_verdict_is_that_of_the_fullest_stage(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_70b, 8192);
    memory_case_cut(&c, (struct memory_cut){8, 4, 2, 1, 1, 16});
    const struct memory_verdict verdict = memory_check(&c.scenario);
    double most = 0;
    for (int64_t stage = 0; stage < 4; stage++) {
        const double total = memory_case_use(&c, stage).total_bytes;
        most = total > most ? total : most;
    }
    assert_int_equal(verdict.worst_stage, 0);
    assert_close(verdict.worst.total_bytes, most, 1e-15);
    assert_close(verdict.limit_bytes, 80 * GB, 1e-15);
    c.scenario.gpu.memory_bytes = most;
    assert_true(memory_check(&c.scenario).fits);
    for (int64_t stage = 0; stage < 8; stage++) { /* whichever is looked at first */
        assert_true(memory_fits(&c.scenario, stage));
    }
    c.scenario.gpu.memory_bytes = most * 0.999;
    assert_false(memory_check(&c.scenario).fits);
    for (int64_t stage = 0; stage < 8; stage++) {
        assert_false(memory_fits(&c.scenario, stage));
    }
}

static void an_explanation_names_the_largest_part_and_what_would_fit(void **state)
{
    (void)state;
    /* 8B, 8 GPUs, micro 4, ZeRO 1: weights 16.06 GB, gradients 32.12, optimizer 12.05;
     * activations 4*8192 tokens * (32*139392 + 6*128256 + 4*4096) B = 171.92 GB: 232.1 GB
     * in all. Other choices, states + activations:
     *   micro 2            60.2 + 86.0  = 146.2    full recomputation  60.2 + 38.7 = 98.9
     *   micro 1            60.2 + 43.0  = 103.2    zero 3: above 171.9 of activations
     *   tp 4 (dp 2)        24.1 + 69.2  = 93.2     pp 2, 4, 8: stage 0 holds 32 layers in
     *   tp 8 (dp 1)        18.1 + 52.0  = 70.1       flight always: 146 GB of them alone */
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    c.scenario.batch.micro = 4;
    memory_case_cut(&c, (struct memory_cut){1, 1, 8, 1, 1, 2});
    static const struct {
        double limit_gb;
        const char *text;
    } cases[] = {
        {69, "stage 0 needs 232 GB of 69.0 GB, the largest part activations (147 GB); "
             "no single change of micro, recompute, zero, tp or pp makes it fit"},
        {80, "stage 0 needs 232 GB of 80.0 GB, the largest part activations (147 GB); "
             "fits with tp 8"},
        {100, "stage 0 needs 232 GB of 100 GB, the largest part activations (147 GB); "
              "fits with recompute full or tp 4"},
        {110, "stage 0 needs 232 GB of 110 GB, the largest part activations (147 GB); "
              "fits with micro 1, recompute full or tp 4"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        c.scenario.gpu.memory_bytes = cases[i].limit_gb * GB;
        const struct memory_verdict verdict = memory_check(&c.scenario);
        char text[256];
        memory_explain(&c.scenario, &verdict, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

static void an_explanation_is_empty_when_it_fits_and_cut_when_long(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    c.scenario.gpu.memory_bytes = 1000 * GB;
    struct memory_verdict verdict = memory_check(&c.scenario);
    char text[16] = "old";
    memory_explain(&c.scenario, &verdict, text, sizeof text);
    assert_string_equal(text, "");
    c.scenario.gpu.memory_bytes = 1 * GB;
    verdict = memory_check(&c.scenario);
    memory_explain(&c.scenario, &verdict, text, sizeof text);
    assert_string_equal(text, "stage 0 needs 1");
}

/* What is named fits when it is done: the changes keep GPUs and global batch. */
static void changed_tp_and_pp_take_from_dp(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    memory_case_cut(&c, (struct memory_cut){1, 1, 8, 0, 1, 4});
    const double needed = memory_case_worst(&c);
    struct memory_case doubled;
    memory_case_llama(&doubled, llama3_8b, 8192);
    memory_case_cut(&doubled, (struct memory_cut){2, 1, 4, 0, 1, 8});
    const double tp2 = memory_case_worst(&doubled);
    memory_case_cut(&doubled, (struct memory_cut){1, 2, 4, 0, 1, 8});
    const double pp2 = memory_case_worst(&doubled);
    assert_true(tp2 < needed && pp2 < needed);
    const double enough = (tp2 > pp2 ? tp2 : pp2) * 1.0001;
    c.scenario.gpu.memory_bytes = enough;
    const struct memory_verdict verdict = memory_check(&c.scenario);
    char text[256];
    memory_explain(&c.scenario, &verdict, text, sizeof text);
    assert_non_null(strstr(text, "tp 2"));
    assert_non_null(strstr(text, "pp 2"));
    /* A node of one GPU has no second one for tp; 7 replicas cannot be halved. */
    c.scenario.cluster.gpus_per_node = 1;
    memory_explain(&c.scenario, &verdict, text, sizeof text);
    assert_null(strstr(text, "tp 2"));
    memory_case_cut(&c, (struct memory_cut){1, 1, 7, 0, 1, 4});
    memory_explain(&c.scenario, &verdict, text, sizeof text);
    assert_null(strstr(text, "pp 2"));
}

static bool is_advised(const struct memory_case *c, const char *words)
{
    const struct memory_verdict verdict = memory_check(&c->scenario);
    char text[512];
    memory_explain(&c->scenario, &verdict, text, sizeof text);
    return strstr(text, words) != NULL;
}

static void twice_the_stages_get_the_layers_that_spec_layout_gives_them(void **state)
{
    (void)state;
    /* 126 layers on 8 stages of 2 chunks: 7 8 ... 8 7, so that stage 0, which is
     * the fullest, has a layer less. The limit lies just above, then just below. */
    struct arena *arena = arena_new();
    struct memory_case c;
    struct memory_case doubled;
    memory_case_llama(&c, llama3_405b, 8192);
    memory_case_llama(&doubled, llama3_405b, 8192);
    memory_case_cut(&c, (struct memory_cut){8, 4, 2, 1, 2, 8});
    memory_case_cut(&doubled, (struct memory_cut){8, 8, 1, 1, 2, 16});
    doubled.scenario.parallel.layers_per_chunk = layout_distribute(arena, 126, 16);
    c.scenario.gpu.memory_bytes = memory_case_worst(&doubled) * 1.000001;
    assert_true(is_advised(&c, "pp 8"));
    c.scenario.gpu.memory_bytes = memory_case_worst(&doubled) * 0.999999;
    assert_false(is_advised(&c, "pp 8"));
    arena_free(arena);
}

static void advice_is_nothing_that_spec_refuses(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_70b, 8192);
    memory_case_cut(&c, (struct memory_cut){8, 1, 16, 2, 1, 8});
    c.scenario.gpu.memory_bytes = memory_case_worst(&c) * 0.99;
    assert_true(is_advised(&c, "zero 3"));
    /* Sequence parallelism: 8194 is a multiple of 2, not of 4. */
    memory_case_cut(&c, (struct memory_cut){2, 1, 16, 0, 1, 8});
    c.scenario.parallel.is_sequence_parallel = true;
    c.scenario.gpu.memory_bytes = memory_case_worst(&c) * 0.99;
    assert_true(is_advised(&c, "tp 4"));
    c.scenario.batch.sequence_length = 8194;
    assert_false(is_advised(&c, "tp 4"));
    /* 64 heads, 8 of keys and values, 28,672 of MLP: tp 12 has no whole share. */
    memory_case_cut(&c, (struct memory_cut){6, 1, 16, 0, 1, 8});
    c.scenario.cluster.gpus_per_node = 16;
    c.scenario.gpu.memory_bytes = memory_case_worst(&c) * 0.99;
    assert_false(is_advised(&c, "tp 12"));
    /* Five microbatches in groups of three leave two, as many as there are stages; ten one. */
    memory_case_llama(&c, llama3_70b, 8192);
    c.scenario.batch.micro = 2;
    memory_case_cut(&c, (struct memory_cut){8, 2, 1, 1, 2, 5});
    c.scenario.parallel.microbatch_group = 3;
    c.scenario.gpu.memory_bytes = memory_case_worst(&c) * 0.99;
    assert_true(is_advised(&c, "recompute selective"));
    assert_false(is_advised(&c, "micro 1"));
    c.scenario.parallel.microbatch_group = 5;
    assert_true(is_advised(&c, "micro 1"));
}

/* Just below what is needed, each single change that frees anything is named. */
static void advice_names_every_kind_of_change(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_70b, 8192);
    memory_case_cut(&c, (struct memory_cut){8, 4, 4, 1, 1, 16});
    c.scenario.parallel.schedule = SCHEDULE_ZB_H2;
    c.scenario.gpu.memory_bytes = memory_case_worst(&c) * 0.99;
    static const char *const words[] = {"zero 3", "sequence_parallel true", "schedule 1f1b",
                                        "moments bf16", "the optimizer offloaded"};
    for (size_t i = 0; i < LENGTH(words); i++) {
        assert_true(is_advised(&c, words[i]));
    }
    /* Of a hybrid, whose states are sharded over 4 of 16 ranks, and which gathers once a step. */
    memory_case_cut(&c, (struct memory_cut){8, 1, 16, 3, 1, 16});
    c.scenario.parallel.zero_group = 4;
    c.scenario.parallel.reshard = RESHARD_STEP;
    c.scenario.gpu.memory_bytes = memory_case_worst(&c) * 0.99;
    assert_true(is_advised(&c, "zero_group 16"));
    assert_true(is_advised(&c, "reshard after-forward"));
}

/* A host of half of what its eight GPUs put there holds nothing, however much the GPUs have. */
static void what_is_offloaded_must_fit_the_host(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_70b, 8192);
    memory_case_cut(&c, (struct memory_cut){8, 4, 4, 1, 1, 16});
    c.scenario.gpus = 128;
    c.scenario.cluster.gpus_per_node = 8;
    c.scenario.gpu.memory_bytes = 1000 * GB;
    c.scenario.offload.optimizer = 1.0;
    const struct memory_use use = memory_case_use(&c, 0);
    assert_true(use.host_bytes > GB);
    struct memory_verdict verdict = memory_check(&c.scenario);
    assert_true(verdict.fits);
    assert_true(verdict.host_bytes >= 8 * use.host_bytes);
    c.scenario.cluster.host_memory_bytes = verdict.host_bytes / 2;
    verdict = memory_check(&c.scenario);
    assert_true(verdict.fits_gpu);
    assert_false(verdict.fits);
    assert_false(memory_fits(&c.scenario, 0));
    char text[512];
    memory_explain(&c.scenario, &verdict, text, sizeof text);
    assert_non_null(strstr(text, "offload less"));
    c.scenario.cluster.host_memory_bytes = verdict.host_bytes;
    assert_true(memory_check(&c.scenario).fits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_falls_with_tp),
        cmocka_unit_test(memory_falls_with_pp),
        cmocka_unit_test(memory_falls_with_zero_and_never_rises_on_one_rank),
        cmocka_unit_test(memory_never_rises_with_dp),
        cmocka_unit_test(memory_falls_with_recomputation),
        cmocka_unit_test(the_verdict_is_that_of_the_fullest_stage),
        cmocka_unit_test(an_explanation_names_the_largest_part_and_what_would_fit),
        cmocka_unit_test(an_explanation_is_empty_when_it_fits_and_cut_when_long),
        cmocka_unit_test(changed_tp_and_pp_take_from_dp),
        cmocka_unit_test(twice_the_stages_get_the_layers_that_spec_layout_gives_them),
        cmocka_unit_test(advice_is_nothing_that_spec_refuses),
        cmocka_unit_test(advice_names_every_kind_of_change),
        cmocka_unit_test(what_is_offloaded_must_fit_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
