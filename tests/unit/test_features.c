/* What a scenario asks for of its software, and what a release has of that (section has). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "input/features/features_used.h"
#include "input/scenario.h"
#include "support/assert_close.h"
#include "support/fixture.h"

struct asked {
    const char *sets[9];
    const char *lacking; /* by megatron-2024, "" where by nothing */
    const char *key;     /* that asks for the first */
};

/* Quickstart is Llama 3 8B, 32 layers, on 64 GPUs with tp 2, zero 1; Core 0.5 to 0.10 has stages
 * with other layers on the first and the last, two schedules, and of recomputation the core of
 * attention, MoE layers and whole ones. */
static void a_release_lacks_what_came_later(void **state)
{
    static const struct asked cases[] = {
        {{NULL}, "", NULL},
        {{"parallel.pp=2", "parallel.schedule=1f1b", "parallel.virtual_stages=1",
          "parallel.sequence_parallel=true"},
         "",
         NULL},
        {{"parallel.pp=2", "parallel.schedule=zb-h1"}, "schedule zb-h1", "parallel.schedule"},
        {{"parallel.zero=3"}, "zero 3", "parallel.zero"},
        {{"parallel.zero=3", "parallel.pp=2"}, "zero 3, 3-with-pp", "parallel.zero"},
        {{"parallel.zero=1", "parallel.zero_group=8"}, "", NULL},
        {{"recompute={modules: [core-attention]}"}, "", NULL},
        {{"recompute={modules: [norm, activation]}"}, "recompute norm, activation", "recompute"},
        {{"recompute={layers: 8}"}, "", NULL},
        /* 7 + 9 + 9 + 7 is of the ends, 7 + 9 + 8 + 8 of nothing that has a flag */
        {{"parallel.pp=4", "parallel.layers_per_stage=[7, 9, 9, 7]"}, "", NULL},
        {{"parallel.pp=4", "parallel.layers_per_stage=[7, 9, 8, 8]"},
         "stages any",
         "parallel.layers_per_stage"},
        {{"parallel.cp=2", "parallel.cp_type=all-gather"}, "", NULL},
        /* With pp 1 nothing lies otherwise; --use-tp-pp-dp-mapping is the one other order. */
        {{"parallel.order=tp-cp-ep-pp-dp"}, "", NULL},
        {{"parallel.pp=2", "parallel.order=tp-ep-cp-pp-dp"}, "", NULL},
        {{"parallel.pp=2", "parallel.order=dp-tp-ep-cp-pp"}, "any-order", "parallel.order"},
        {{"software=megatron-2023", "parallel.pp=2", "parallel.order=tp-cp-ep-pp-dp"},
         "pp-before-dp",
         "parallel.order"},
        {{"optimizer.moments=bf16"}, "low-moments", "optimizer.moments"},
        {{"offload.optimizer=1"}, "offload-optimizer", "offload.optimizer"},
        {{"software.has.schedules=[1f1b, zb-h1]", "parallel.pp=2", "parallel.schedule=zb-h1"},
         "",
         NULL},
        {{"software=megatron-2021", "parallel.sequence_parallel=true"},
         "support of hopper; sequence-parallel; zero 1",
         "software"},
        {{"software.overlap.tp_pieces=4", "parallel.ep=1"}, "", NULL},
        {{"software=megatron-2023", "software.overlap.dp_gradients=true"}, "", NULL},
        {{"software=megatron-2022", "gpu=a100-sxm4-80gb", "software.overlap.dp_gradients=true"},
         "overlap of dp-gradients",
         "software.overlap.dp_gradients"},
        {{"precision=fp8", "software.fp8.recipe=blockwise"},
         "fp8 recipe blockwise",
         "software.fp8.recipe"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *arena = arena_new();
        const struct scenario *scenario =
            fixture_file(arena, "scenarios/quickstart.yaml", cases[i].sets);
        struct feature lacking[FEATURES_MAX];
        const uint32_t count = features_lacking(scenario, lacking);
        assert_string_equal(features_words(arena, lacking, count), cases[i].lacking);
        if (count > 0) {
            assert_string_equal(lacking[0].key, cases[i].key);
        }
        arena_free(arena);
    }
}

/* Mixtral 8x7B on 64 GPUs: experts shared by one rank each where tp is 2 are etp (Core 0.10),
 * their activations a module that came with 0.12. */
static void experts_have_features_of_their_own(void **state)
{
    static const struct asked cases[] = {
        {{"software=megatron-2024", "parallel.tp=2", "parallel.pp=1", "parallel.ep=8",
          "parallel.etp=1", "parallel.schedule=1f1b", "parallel.virtual_stages=1",
          "parallel.sequence_parallel=true"},
         "",
         NULL},
        {{"software=megatron-2023", "parallel.tp=2", "parallel.pp=1", "parallel.ep=8",
          "parallel.etp=1", "parallel.schedule=1f1b", "parallel.virtual_stages=1",
          "parallel.sequence_parallel=true"},
         "etp",
         "parallel.etp"},
        {{"software=megatron-2024", "recompute={modules: [activation]}"},
         "recompute expert-activation",
         "recompute"},
        {{"software=megatron-2025", "recompute={modules: [activation]}"}, "", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *arena = arena_new();
        const struct scenario *scenario =
            fixture_file(arena, "scenarios/mixtral-8x7b-64.yaml", cases[i].sets);
        struct feature lacking[FEATURES_MAX];
        const uint32_t count = features_lacking(scenario, lacking);
        assert_string_equal(features_words(arena, lacking, count), cases[i].lacking);
        arena_free(arena);
    }
}

/* Of a change: what was lacking before is no reason. */
static void a_change_asks_for_what_it_adds(void **state)
{
    static const char *const before[] = {"parallel.zero=3", NULL};
    static const char *const more[] = {"parallel.zero=3", "batch.micro=2", NULL};
    static const char *const other[] = {"parallel.zero=3", "recompute={modules: [norm]}", NULL};
    (void)state;
    struct arena *arena = arena_new();
    const char *path = "scenarios/quickstart.yaml";
    const struct scenario *now = fixture_file(arena, path, before);
    const struct scenario *changed = fixture_file(arena, path, other);
    assert_true(features_hold_changed(now, fixture_file(arena, path, more)));
    assert_false(features_hold_changed(now, changed));
    const struct feature_set lacked = features_added(now, changed);
    assert_int_equal(lacked.lists[FEATURES_RECOMPUTE], 1u << RECOMPUTE_NORM);
    assert_int_equal(lacked.lists[FEATURES_ZERO], 0);
    arena_free(arena);
}

/* Core 0.10, of 2024, does not run on Blackwell; the oldest Megatron-LM that does and is no older
 * than the GPU is that of 2025. Hopper and Ampere keep what was usual. */
static void the_default_follows_the_gpu(void **state)
{
    static const struct {
        const char *set, *software;
    } cases[] = {
        {"cluster=h100-3200", "megatron-2024"},   {"cluster=a100-80gb-800", "megatron-2024"},
        {"cluster=h200-3200", "megatron-2024"},   {"cluster=b200-3200", "megatron-2025"},
        {"cluster=gb200-nvl72", "megatron-2025"}, {"gpu=b300-sxm", "megatron-2025"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *arena = arena_new();
        const struct fixture_source source = {
            .text = "model: llama3-8b\ncluster: h100-3200\ngpus: 72\nparallel: {tp: 1}\n"
                    "batch: {global: 72, micro: 1}\n",
            .sets = &cases[i].set,
            .set_count = 1};
        const struct scenario *scenario = fixture_scenario(arena, &source);
        assert_string_equal(scenario->software.name, cases[i].software);
        arena_free(arena);
    }
}

/* A profile that is like another says only what it has otherwise: of sections key by key, of lists
 * the whole. huggingface-2025 takes the host of torch-fsdp-2024, and norms that are not fused. */
static void a_profile_may_be_like_another(void **state)
{
    static const char *const plain[] = {"software=torch-fsdp-2024", NULL};
    static const char *const like[] = {"software=huggingface-2025", NULL};
    static const char *const own[] = {
        "software={software: ours, like: huggingface-2025, year: 2026, fusion: {norm: true}}",
        NULL};
    (void)state;
    struct arena *arena = arena_new();
    const char *path = "scenarios/quickstart.yaml";
    const struct software *torch = &fixture_file(arena, path, plain)->software;
    const struct software *trainer = &fixture_file(arena, path, like)->software;
    assert_string_equal(trainer->name, "huggingface-2025");
    assert_string_equal(trainer->framework, "huggingface");
    assert_true(!torch->is_measured && !trainer->is_measured);
    assert_close(trainer->host_per_step_s, torch->host_per_step_s, 1e-12);
    assert_true(torch->fuses_norm && !trainer->fuses_norm && trainer->fuses_softmax);
    assert_int_equal(trainer->rotary, ROTARY_EAGER);
    assert_int_equal(trainer->has.lists[FEATURES_RECOMPUTE],
                     1u << HAS_NO_RECOMPUTE | 1u << HAS_FULL);
    const struct software *ours = &fixture_file(arena, path, own)->software;
    assert_string_equal(ours->name, "ours");
    assert_int_equal(ours->year, 2026);
    assert_true(ours->fuses_norm && !ours->fuses_dropout_add);
    assert_string_equal(ours->framework, "huggingface");
    arena_free(arena);
}

/* Forks of 2023 without apex: a recipe sets the kernels of any profile. */
static void kernels_have_names(void **state)
{
    static const char *const plain[] = {"software=megatron-2023", NULL};
    static const char *const eager[] = {"software=megatron-2023", "recipe=kernels-eager", NULL};
    static const char *const te[] = {"software=huggingface-2025", "recipe=kernels-te", NULL};
    (void)state;
    struct arena *arena = arena_new();
    const char *path = "scenarios/quickstart.yaml";
    assert_true(fixture_file(arena, path, plain)->software.fuses_norm);
    const struct software *fork = &fixture_file(arena, path, eager)->software;
    assert_true(!fork->fuses_norm && !fork->fuses_bias_activation && !fork->fuses_dropout_add);
    assert_int_equal(fork->update, UPDATE_FOREACH);
    const struct software *fused = &fixture_file(arena, path, te)->software;
    assert_true(fused->fuses_norm && !fused->casts_norm && fused->update == UPDATE_FUSED);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_lacks_what_came_later),
        cmocka_unit_test(experts_have_features_of_their_own),
        cmocka_unit_test(a_change_asks_for_what_it_adds),
        cmocka_unit_test(the_default_follows_the_gpu),
        cmocka_unit_test(a_profile_may_be_like_another),
        cmocka_unit_test(kernels_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
