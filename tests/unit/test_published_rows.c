/* What the rules of tests/published/rules.yaml make of a published run. */
#include "measured/published/published_rows.h"
#include "measured/published/published_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "input/scenario.h"
#include "support/assert_close.h"

static const char columns[] =
    "id,source,framework,framework_year,model_name,family,layers,hidden,ffn_hidden,heads,kv_heads,"
    "vocab,"
    "gated_ffn,tied_embeddings,experts,experts_per_token,expert_ffn_hidden,shared_experts,seq_len,"
    "gpu,gpus,gpus_per_node,precision,tp,pp,pp_schedule,virtual_pp,zero_stage,cp,ep,moe_dispatcher,"
    "micro_batch,global_batch_sequences,recompute,flash_attention,notes,release,overlap_experts,"
    "recompute_modules";

/* A row of a model of experts on GB200, with so many layers, stages, chunks of a stage, and so
 * large groups. */
static const char *row_of(struct arena *arena, int layers, int pp, int chunks, int ep,
                          const char *dispatcher, const char *notes)
{
    return arena_printf(
        arena,
        "row,test,megatron,2026,published,llama,%d,4096,12288,32,8,32000,1,0,64,8,1536,0,"
        "4096,GB200,256,4,bf16,1,%d,%s,%d,1,1,%d,%s,1,1024,none,1,%s,,,",
        layers, pp, chunks > 1 ? "interleaved" : "1f1b", chunks, ep, dispatcher, notes);
}

static const struct scenario *resolved(struct arena *arena, const char *row)
{
    char path[] = "/tmp/stoker-rows-XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "%s\n%s\n", columns, row) > 0);
    assert_int_equal(fclose(file), 0);
    struct diag *diag = diag_new(arena);
    const struct published_table *table = published_load(arena, path, diag);
    unlink(path);
    assert_non_null(table);
    struct published_scenario made;
    const struct catalogue catalogue = {.directories = {"."}, .count = 1};
    const struct published_base base = {.catalogue = &catalogue};
    struct published_table runs = *table;
    runs.rules = published_rules_load(arena, &catalogue, diag);
    assert_non_null(runs.rules);
    const struct scenario *scenario = published_resolve(arena, &runs, 0, &base, &made, diag);
    if (scenario == NULL) {
        diag_print(diag, stderr);
        print_message("%s\n", made.skipped != NULL ? made.skipped : "");
    }
    assert_non_null(scenario);
    return scenario;
}

/* Groups of 32 do not divide a rack of 72: the third would lie in two. Such jobs take 64 of 72. */
static void groups_of_a_power_of_two_do_not_lie_across_racks(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario = resolved(arena, row_of(arena, 64, 4, 1, 32, "", ""));
    const struct cluster *cluster = &scenario->cluster;
    assert_int_equal(cluster->gpus_per_node * cluster->domain_nodes, 64);
    arena_free(arena);
}

/* DeepSeek-V3's 61 layers on 16 chunks: Megatron-Bridge lays out 15 x 4 and 1 beside the loss
 * ("Et*4|(t*4|)*14tmL"). Qwen3-235B's 94 with embedding and loss are 96 = 24 x 4. */
static void layers_that_do_not_divide_leave_the_last_stage_lighter(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario = resolved(arena, row_of(arena, 61, 4, 4, 32, "", ""));
    for (int i = 0; i < 16; i++) {
        assert_int_equal(scenario->parallel.layers_per_chunk[i], i < 15 ? 4 : 1);
    }
    scenario = resolved(arena, row_of(arena, 94, 8, 3, 32, "", ""));
    for (int i = 0; i < 24; i++) {
        assert_int_equal(scenario->parallel.layers_per_chunk[i], i == 0 || i == 23 ? 3 : 4);
    }
    arena_free(arena);
}

static void dispatchers_and_overlap_are_those_of_the_row(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario = resolved(arena, row_of(arena, 64, 1, 1, 8, "alltoall", ""));
    assert_int_equal(scenario->software.exchange, EXCHANGE_COPIES);
    assert_false(scenario->parallel.overlaps_experts);
    scenario = resolved(arena, row_of(arena, 64, 1, 1, 8, "", "")); /* what is commonest */
    assert_int_equal(scenario->software.exchange, EXCHANGE_TOKENS);
    assert_false(scenario->parallel.overlaps_experts);
    scenario = resolved(arena, row_of(arena, 64, 1, 1, 8, "deepep", "EP overlap enabled"));
    assert_int_equal(scenario->software.exchange, EXCHANGE_TOKENS);
    assert_true(scenario->parallel.overlaps_experts);
    arena_free(arena);
}

/* A row of Qwen3 30B on H100 with what it says of a release, its exchange, and its modules. */
static const char *qwen_of(struct arena *arena, const char *recompute, const char *stated)
{
    return arena_printf(arena,
                        "row,Megatron-Bridge,megatron,2026,Qwen3-30B-A3B,moe,48,2048,,32,4,151936,"
                        "1,0,128,8,768,0,4096,H100-80GB-SXM,16,8,bf16,1,1,,1,1,1,8,"
                        "alltoall,1,512,%s,1,%s",
                        recompute, stated);
}

/* By the launch scripts of 25.11 the exchange is overlapped, of 26.02 nothing is known; a row that
 * says itself how it exchanges tokens is believed. Of the modules the column's hold, and the notes'
 * where it is blank: "moe_act" is the activation, not the whole of "moe". */
static void what_a_row_states_goes_before_launch_scripts_and_notes(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario = resolved(arena, qwen_of(arena, "none", ",25.11,,"));
    assert_true(scenario->parallel.overlaps_experts);
    scenario = resolved(arena, qwen_of(arena, "none", ",25.11,0,"));
    assert_false(scenario->parallel.overlaps_experts);
    scenario = resolved(arena, qwen_of(arena, "none", ",26.02,1,"));
    assert_true(scenario->parallel.overlaps_experts);
    const char *note = "recompute_modules=[moe_act]";
    scenario = resolved(arena, qwen_of(arena, "selective", arena_printf(arena, "%s,,,", note)));
    assert_int_equal(scenario->recompute.modules, 1U << RECOMPUTE_ACTIVATION);
    scenario = resolved(
        arena, qwen_of(arena, "selective", arena_printf(arena, "%s,,,layernorm+core_attn", note)));
    assert_int_equal(scenario->recompute.modules,
                     1U << RECOMPUTE_NORM | 1U << RECOMPUTE_CORE_ATTENTION);
    arena_free(arena);
}

/* A row of GPT-3 5B whose recomputation is not stated. */
static const char *gpt_of(struct arena *arena, const char *source, const char *framework, int year,
                          const char *gpu, const char *precision)
{
    return arena_printf(arena,
                        "row,%s,%s,%d,GPT-3 5B,gpt,24,4096,16384,32,32,51200,0,1,,,,,2048,%s,64,8,"
                        "%s,1,1,,1,1,1,1,,4,256,,,,,,",
                        source, framework, year, gpu, precision);
}

/* paxml/paxml_mod_configs.py and configure.sh of NVIDIA/dgxc-benchmarking. */
static void what_launch_scripts_say_fills_the_columns(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario =
        resolved(arena, gpt_of(arena, "DGXC", "paxml", 2024, "H100-80GB-SXM", "bf16"));
    assert_int_equal(scenario->parallel.zero_group, 8);
    assert_int_equal(scenario->recompute.modules, 1u << RECOMPUTE_CORE_ATTENTION |
                                                      1u << RECOMPUTE_NORM |
                                                      1u << RECOMPUTE_ACTIVATION);
    assert_false(scenario->model.has_dropout);
    scenario = resolved(arena, gpt_of(arena, "DGXC", "megatron", 2024, "H100-80GB-SXM", "bf16"));
    assert_int_equal(scenario->recompute.modules, 0);
    assert_int_equal(scenario->batch.micro, 4);
    arena_free(arena);
}

static const struct scenario *resolved_as(struct arena *arena, const char *framework,
                                          const char *family, const char *ffn, const char *gpu)
{
    return resolved(arena, arena_printf(arena,
                                        "row,test,%s,2025,published,%s,32,4096,%s,32,8,32000,0,0,0,"
                                        ",,0,2048,%s,64,8,bf16,1,1,1f1b,1,1,1,1,,1,64,none,1,,,,",
                                        framework, family, ffn, gpu));
}

static void frameworks_have_more_than_one_name(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"NeMo", "megatron-2025"},         {"Megatron-LM", "megatron-2025"},
        {"FSDP", "torch-fsdp-2024"},       {"Composer", "llm-foundry-fsdp-2024"},
        {"torch-fsdp", "torch-fsdp-2024"}, {"meta-llama3", "meta-llama3-2024"},
        {"fms-fsdp", "fms-fsdp-2024"},     {"fms-fsdp-compiled", "fms-fsdp-compiled-2024"},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct scenario *scenario =
            resolved_as(arena, names[i][0], "gpt", "16384", "H100-80GB-SXM");
        assert_string_equal(scenario->software.name, names[i][1]);
    }
    arena_free(arena);
}

static void a_blank_family_follows_from_the_shapes(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *named = resolved_as(arena, "megatron", "gpt", "16384", "A800-80GB-SXM");
    const struct scenario *blank = resolved_as(arena, "megatron", "", "", "A800-80GB-SXM");
    assert_int_equal(blank->model.norm, named->model.norm);
    assert_int_equal(blank->model.positions, named->model.positions);
    assert_int_equal(blank->model.ffn_hidden, 4 * 4096);
    assert_close(blank->cluster.scale_up_bytes_per_s, 200e9, 1e-12);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_a_power_of_two_do_not_lie_across_racks),
        cmocka_unit_test(layers_that_do_not_divide_leave_the_last_stage_lighter),
        cmocka_unit_test(dispatchers_and_overlap_are_those_of_the_row),
        cmocka_unit_test(what_a_row_states_goes_before_launch_scripts_and_notes),
        cmocka_unit_test(what_launch_scripts_say_fills_the_columns),
        cmocka_unit_test(frameworks_have_more_than_one_name),
        cmocka_unit_test(a_blank_family_follows_from_the_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
