/* How a model is trained: what a scenario says of recomputation, optimizer, offload, routing and
 * LoRA, and what holds where it says nothing. Wrong ones are in tests/bad_input. */
#include "base/arena.h"
#include "input/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "support/assert_close.h"
#include "support/fixture.h"

/* 24 layers of 16 heads, 2,048 tokens; learned positions. */
static const char tiny_text[] = "model: tiny\n"
                                "cluster: eights\n"
                                "gpus: 16\n"
                                "batch: {global: 64}\n";

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

static struct scenario *resolve(struct arena *arena, const char *const *sets, uint32_t set_count)
{
    return fixture_scenario(arena, &(struct fixture_source){.text = tiny_text,
                                                            .directory = "tests/unit/data",
                                                            .sets = sets,
                                                            .set_count = set_count});
}

/* What says nothing of training trains as Megatron-LM does: gradients as the software's, fp32
 * master weights and moments, clipping, even routing; experts are cut as tp cuts, states lie over
 * all cp x dp ranks. */
static void training_has_defaults(void **state)
{
    const struct scenario *scenario = resolve(*state, NULL, 0);
    const struct parallel *parallel = &scenario->parallel;
    assert_int_equal(parallel->etp, 1);
    assert_int_equal(parallel->zero_group, 16);
    assert_int_equal(parallel->reshard, RESHARD_FORWARD);
    assert_int_equal(parallel->context, CONTEXT_ALL_GATHER);
    for (uint8_t i = 0; i < AXIS_COUNT_; i++) {
        assert_int_equal(parallel->order[i], i);
    }
    assert_null(parallel->schedule_file);
    assert_int_equal(scenario->optimizer.gradients, STATE_FP32);
    assert_int_equal(scenario->optimizer.master, STATE_FP32);
    assert_int_equal(scenario->optimizer.moments, STATE_FP32);
    assert_true(scenario->optimizer.clips);
    assert_close(scenario->offload.optimizer, 0.0, 1e-12);
    assert_int_equal(scenario->routing.kind, ROUTING_EVEN);
    assert_close(scenario->routing.capacity_factor, 0.0, 1e-12);
    assert_int_equal(scenario->lora.rank, 0);
}

/* fp32 weights are their own master. */
static void fp32_has_no_second_master(void **state)
{
    const char *const sets[] = {"precision=fp32"};
    assert_int_equal(resolve(*state, sets, 1)->optimizer.master, STATE_NONE);
}

static void keys_of_training_are_read(void **state)
{
    const char *const sets[] = {
        "optimizer={gradients: bf16, master: none, moments: int8, clip: false}",
        "offload={optimizer: 50 %, activation_layers: 3}",
        "lora={rank: 8, targets: [fc2, qkv], dropout: 10 %}",
        "recompute={modules: [mlp, norm]}",
        "parallel={tp: 2, cp: 2, zero: 3, zero_group: 4, reshard: after-step, cp_type: ring}",
        "parallel.order=pp-dp-cp-tp-ep",
    };
    const struct scenario *scenario = resolve(*state, sets, 6);
    static const uint8_t order[] = {AXIS_PP, AXIS_DP, AXIS_CP, AXIS_TP, AXIS_EP};
    assert_int_equal(scenario->optimizer.gradients, STATE_BF16);
    assert_int_equal(scenario->optimizer.master, STATE_NONE);
    assert_int_equal(scenario->optimizer.moments, STATE_INT8);
    assert_false(scenario->optimizer.clips);
    assert_close(scenario->offload.optimizer, 0.5, 1e-12);
    assert_int_equal(scenario->offload.activation_layers, 3);
    assert_int_equal(scenario->lora.rank, 8);
    assert_int_equal(scenario->lora.targets, 1u << LORA_FC2 | 1u << LORA_QKV);
    assert_close(scenario->lora.dropout, 0.1, 1e-12);
    assert_int_equal(scenario->recompute.kind, RECOMPUTE_SELECTIVE);
    assert_int_equal(scenario->recompute.modules, 1u << RECOMPUTE_MLP | 1u << RECOMPUTE_NORM);
    assert_int_equal(scenario->parallel.zero_group, 4);
    assert_int_equal(scenario->parallel.reshard, RESHARD_STEP);
    assert_int_equal(scenario->parallel.context, CONTEXT_RING);
    assert_memory_equal(scenario->parallel.order, order, sizeof order);
}

/* Without a list selective recomputation drops what is large and cheap: beside a fused kernel
 * norms and activation, else the scores (Korthikanti et al. 2022). */
static void selective_recomputation_depends_on_the_kernel(void **state)
{
    const char *const fused[] = {"recompute=selective"};
    const char *const unfused[] = {"recompute=selective", "software.attention=unfused"};
    assert_int_equal(resolve(*state, fused, 1)->recompute.modules,
                     1u << RECOMPUTE_NORM | 1u << RECOMPUTE_ACTIVATION);
    assert_int_equal(resolve(*state, unfused, 2)->recompute.modules,
                     1u << RECOMPUTE_CORE_ATTENTION);
}

static void full_recomputation_may_stop_at_some_layers(void **state)
{
    const char *const sets[] = {"recompute={layers: 4}"};
    const struct scenario *scenario = resolve(*state, sets, 1);
    assert_int_equal(scenario->recompute.kind, RECOMPUTE_FULL);
    assert_int_equal(scenario->recompute.layers, 4);
}

/* int8 has an fp32 scale for each 2,048 values: 1 + 4/2048 bytes. */
static void state_formats_have_their_bytes(void **state)
{
    (void)state;
    assert_close(state_bytes(STATE_NONE), 0.0, 1e-12);
    assert_close(state_bytes(STATE_FP32), 4.0, 1e-12);
    assert_close(state_bytes(STATE_BF16), 2.0, 1e-12);
    assert_close(state_bytes(STATE_FP16), 2.0, 1e-12);
    assert_close(state_bytes(STATE_FP8), 1.0, 1e-12);
    assert_close(state_bytes(STATE_INT8), 1.001953125, 1e-12);
}

/* Experts of tp 2 may be whole on each rank: ep 8 x etp 1 divides tp 2 x dp 8 = 16, so that ep
 * may be all of dp. A copy of two of the six experts makes eight, one for each of eight ranks. */
static void expert_ranks_fold_over_tp(void **state)
{
    const char *const sets[] = {"model.experts=6", "model.experts_per_token=2",
                                "parallel={tp: 2, ep: 8, etp: 1, sequence_parallel: true}",
                                "routing={redundant_experts: 2}"};
    const struct scenario *scenario = resolve(*state, sets, 4);
    assert_int_equal(scenario->parallel.ep, 8);
    assert_int_equal(scenario->parallel.etp, 1);
}

/* How rows spread is read in full. */
static void routing_is_read(void **state)
{
    const char *const sets[] = {
        "model.experts=8", "model.experts_per_token=2",
        "routing={distribution: lognormal, spread: 0.5, capacity_factor: 1.25}"};
    const struct routing *routing = &resolve(*state, sets, 3)->routing;
    assert_int_equal(routing->kind, ROUTING_LOGNORMAL);
    assert_close(routing->spread, 0.5, 1e-12);
    assert_close(routing->capacity_factor, 1.25, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(training_has_defaults, setup, teardown),
        cmocka_unit_test_setup_teardown(fp32_has_no_second_master, setup, teardown),
        cmocka_unit_test_setup_teardown(keys_of_training_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(selective_recomputation_depends_on_the_kernel, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(full_recomputation_may_stop_at_some_layers, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(state_formats_have_their_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(expert_ranks_fold_over_tp, setup, teardown),
        cmocka_unit_test_setup_teardown(routing_is_read, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
