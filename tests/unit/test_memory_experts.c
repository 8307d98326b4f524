/* Memory of a GPU with experts and with context parallelism. */
#include "plan/memory/memory.h"

#include "plan/routing.h"
#include "support/memory_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/assert_close.h"

/* Mixtral 8x7B: 8 experts of 176,160,768 in each of 32 layers, 1,605,636,096 besides. */
static const double EXPERTS = 32.0 * 8.0 * 176160768.0;
static const double OTHERS = 46702792704.0 - 32.0 * 8.0 * 176160768.0;

static void mixtral(struct memory_case *c)
{
    memory_case_llama(c, llama3_8b, 4096); /* the same shapes but for vocabulary and experts */
    c->scenario.model.vocab = 32000;
    c->scenario.model.experts = 8;
    c->scenario.model.experts_per_token = 2;
    c->scenario.model.expert_hidden = 14336;
    model_finish(&c->scenario.model);
}

/* oracles.md 2.3: 8h + 4nd + 4 kv d + k (4h + 6 f_e) + 4E + 4n bytes a token = 32768 + 16384 +
 * 4096 + 2 (16384 + 86016) + 32 + 128. Selective: without the norms' outputs (4h) and the SwiGLU
 * product (2 k f_e). */
static void a_layer_with_experts_keeps_the_derived_bytes(void **state)
{
    (void)state;
    struct memory_case c;
    mixtral(&c);
    assert_close(memory_case_layer_bytes(&c), 4096.0 * 258208.0, 1e-15);
    c.scenario.recompute.kind = RECOMPUTE_SELECTIVE;
    assert_close(memory_case_layer_bytes(&c), 4096.0 * (258208.0 - 16384.0 - 57344.0), 1e-15);
}

/* With a capacity of 1.25 each expert has 1.25 times the mean of rows, cut or padded, however
 * popular it is: of the 2 (16384 + 86016) bytes of copies a quarter more. */
static void a_capacity_holds_as_many_rows_whatever_the_router(void **state)
{
    (void)state;
    struct memory_case c;
    mixtral(&c);
    c.scenario.parallel.ep = 8;
    c.scenario.routing.capacity_factor = 1.25;
    assert_close(memory_case_layer_bytes(&c), 4096.0 * 258208.0, 1e-15); /* nothing is padded */
    c.scenario.routing.pads = true;
    assert_close(memory_case_layer_bytes(&c), 4096.0 * (258208.0 + 51200.0), 1e-15);
    c.scenario.routing.kind = ROUTING_LOGNORMAL;
    c.scenario.routing.spread = 0.5;
    assert_close(memory_case_layer_bytes(&c), 4096.0 * (258208.0 + 51200.0), 1e-15);
    c.scenario.routing.capacity_factor = 0;
    assert_true(memory_case_layer_bytes(&c) > 4096.0 * (258208.0 + 0.1 * 204800.0));
}

/* Eight experts and a copy of the first on three ranks: seven of 1/8 and two of 1/16, the heaviest
 * first, three a rank. The first gets three of 1/8, the others two and one of 1/16: 3/8 of the rows
 * is 9/8 of the mean, though the router is even; so the step is timed, too. */
static void copies_of_experts_leave_ranks_uneven(void **state)
{
    (void)state;
    struct memory_case c;
    mixtral(&c);
    c.scenario.parallel.ep = 3;
    c.scenario.routing.redundant_experts = 1;
    assert_close(memory_case_layer_bytes(&c), 4096.0 * (258208.0 + 0.125 * 204800.0), 1e-15);
    const struct routing_job job = routing_job_of(&c.scenario);
    assert_close(routing_of(&job).hottest_rank, 1.125, 1e-15);
}

/* Shared experts add 6 f_shared: one of 14336. */
static void a_shared_expert_keeps_what_an_mlp_keeps(void **state)
{
    (void)state;
    struct memory_case c;
    mixtral(&c);
    c.scenario.model.shared_experts = 1;
    model_finish(&c.scenario.model);
    assert_close(memory_case_layer_bytes(&c), 4096.0 * (258208.0 + 86016.0), 1e-15);
}

/* Divided by c, everything (Llama 3 8B: 139,392 bytes a token). */
static void context_parallelism_divides_activations(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    const double whole = memory_case_use(&c, 0).activations_bytes;
    memory_case_context(&c, 4);
    assert_close(memory_case_layer_bytes(&c), 2048.0 * 139392.0, 1e-15);
    assert_close(memory_case_use(&c, 0).activations_bytes, whole / 4.0, 1e-15);
}

/* The test of Megatron-LM's own report: DP 16, and 4 copies of each expert:
 * dense (6 + 12/16) + experts (6 + 12/4). With ep 4 a GPU has a quarter of the experts. */
static void expert_states_are_sharded_over_fewer_ranks(void **state)
{
    (void)state;
    struct memory_case c;
    mixtral(&c);
    memory_case_cut(&c, (struct memory_cut){1, 1, 16, 1, 1, 1});
    c.scenario.parallel.ep = 4;
    assert_close(memory_case_expert_parameters(&c, 0), EXPERTS / 4.0, 1e-15);
    assert_close(memory_case_parameters(&c, 0), OTHERS + EXPERTS / 4.0, 1e-15);
    const struct memory_use use = memory_case_use(&c, 0);
    assert_close(use.weights_bytes + use.gradients_bytes + use.optimizer_bytes,
                 OTHERS * (6.0 + 12.0 / 16.0) + EXPERTS / 4.0 * (6.0 + 12.0 / 4.0), 1e-14);
}

/* Context ranks join the group that shards: cp 4 x dp 4 is as dp 16. */
static void context_ranks_share_the_optimizer(void **state)
{
    (void)state;
    struct memory_case c;
    mixtral(&c);
    memory_case_cut(&c, (struct memory_cut){1, 1, 4, 1, 1, 1});
    memory_case_context(&c, 4);
    c.scenario.parallel.ep = 8;
    assert_close(memory_case_use(&c, 0).optimizer_bytes,
                 12.0 * (OTHERS / 16.0 + EXPERTS / 8.0 / 2.0), 1e-14);
}

/* All ranks of a stage together hold each expert as often as there are expert groups. */
static void expert_ranks_together_hold_the_model_once(void **state)
{
    (void)state;
    struct memory_case c;
    mixtral(&c);
    for (int64_t ep = 1; ep <= 8; ep *= 2) {
        memory_case_cut(&c, (struct memory_cut){2, 4, 8, 1, 1, 4});
        c.scenario.parallel.ep = ep;
        double experts = 0;
        for (int64_t stage = 0; stage < 4; stage++) {
            experts += 2.0 * (double)ep * memory_case_expert_parameters(&c, stage);
        }
        assert_close(experts, EXPERTS, 1e-14);
    }
}

/* Two dense layers of 139,392 bytes a token, 30 with experts of 258,208, one microbatch; nothing
 * is recomputed; the final norm 4h. The loss holds 6 B of each of 32,000 logits beside them. */
static void dense_layers_and_experts_are_added_up(void **state)
{
    (void)state;
    struct memory_case c;
    mixtral(&c);
    c.scenario.model.dense_layers = 2;
    model_finish(&c.scenario.model);
    const struct memory_use use = memory_case_use(&c, 0);
    assert_close(use.activations_bytes, 4096.0 * (2 * 139392.0 + 30 * 258208.0 + 4 * 4096.0),
                 1e-11);
    assert_close(use.logits_bytes, 4096.0 * 6 * 32000, 1e-11);
    assert_close(memory_case_expert_parameters(&c, 0), EXPERTS * 30.0 / 32.0, 1e-15);
    memory_case_cut(&c, (struct memory_cut){1, 2, 1, 0, 1, 4});
    assert_close(memory_case_expert_parameters(&c, 0), EXPERTS * 14.0 / 32.0, 1e-15);
    const struct memory_activations of = memory_case_activations(&c, 0);
    assert_int_equal(of.layers_in_flight, 32);
    assert_close(of.kept_bytes, 4096.0 * 2 * (2 * 139392.0 + 14 * 258208.0), 1e-11);
}

/* FSDP over 8 ranks, each with all experts: the largest unit is a layer, 1,451,270,144 parameters,
 * another ahead; 2 bytes of both and 4 of the gradient. */
static void fsdp_gathers_a_layer_with_its_experts(void **state)
{
    (void)state;
    struct memory_case c;
    mixtral(&c);
    memory_case_cut(&c, (struct memory_cut){1, 1, 8, 3, 1, 1});
    assert_close(memory_case_use(&c, 0).buffers_bytes, (2 * 2 + 4) * 1451270144.0, 1e-14);
}

/* ---- laws ---------------------------------------------------------------------- */

static void memory_never_rises_with_ep(void **state)
{
    (void)state;
    for (int64_t zero = 0; zero <= 3; zero++) {
        struct memory_case c;
        mixtral(&c);
        memory_case_cut(&c, (struct memory_cut){1, 1, 8, zero, 1, 1});
        double before = memory_case_worst(&c);
        for (int64_t ep = 2; ep <= 8; ep *= 2) {
            c.scenario.parallel.ep = ep;
            assert_true(memory_case_worst(&c) <= before);
            before = memory_case_worst(&c);
        }
    }
}

static void memory_falls_with_cp(void **state)
{
    (void)state;
    for (uint32_t recompute = 0; recompute < RECOMPUTE_COUNT_; recompute++) {
        struct memory_case c;
        mixtral(&c);
        memory_case_cut(&c, (struct memory_cut){1, 2, 8, 1, 1, 4});
        c.scenario.recompute.kind = recompute;
        double before = memory_case_worst(&c);
        for (int64_t cp = 2; cp <= 16; cp *= 2) {
            memory_case_context(&c, cp);
            assert_true(memory_case_worst(&c) < before);
            before = memory_case_worst(&c);
        }
    }
}

static bool is_advised(const struct memory_case *c, const char *words)
{
    const struct memory_verdict verdict = memory_check(&c->scenario);
    char text[256];
    memory_explain(&c->scenario, &verdict, text, sizeof text);
    return strstr(text, words) != NULL;
}

/* The limit is what twice the ranks need: it is offered where the sizes divide. */
static void advice_may_be_more_expert_or_context_ranks(void **state)
{
    (void)state;
    struct memory_case c;
    mixtral(&c);
    memory_case_cut(&c, (struct memory_cut){1, 1, 8, 1, 1, 1});
    c.scenario.parallel.ep = 4;
    c.scenario.gpu.memory_bytes = memory_case_worst(&c);
    c.scenario.parallel.ep = 2;
    assert_true(is_advised(&c, "ep 4"));
    c.scenario.model.experts = 6;
    c.scenario.gpu.memory_bytes = memory_case_worst(&c) * 0.99;
    assert_false(is_advised(&c, "ep"));
    mixtral(&c);
    memory_case_cut(&c, (struct memory_cut){1, 1, 2, 1, 1, 4});
    memory_case_context(&c, 4);
    c.scenario.gpu.memory_bytes = memory_case_worst(&c);
    memory_case_cut(&c, (struct memory_cut){1, 1, 4, 1, 1, 2});
    memory_case_context(&c, 2);
    assert_true(is_advised(&c, "cp 4"));
    c.scenario.batch.sequence_length = 4100; /* 4 x 1025: not 8 pieces */
    assert_false(is_advised(&c, "cp 4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_with_experts_keeps_the_derived_bytes),
        cmocka_unit_test(a_capacity_holds_as_many_rows_whatever_the_router),
        cmocka_unit_test(copies_of_experts_leave_ranks_uneven),
        cmocka_unit_test(a_shared_expert_keeps_what_an_mlp_keeps),
        cmocka_unit_test(context_parallelism_divides_activations),
        cmocka_unit_test(expert_states_are_sharded_over_fewer_ranks),
        cmocka_unit_test(context_ranks_share_the_optimizer),
        cmocka_unit_test(expert_ranks_together_hold_the_model_once),
        cmocka_unit_test(dense_layers_and_experts_are_added_up),
        cmocka_unit_test(fsdp_gathers_a_layer_with_its_experts),
        cmocka_unit_test(memory_never_rises_with_ep),
        cmocka_unit_test(memory_falls_with_cp),
        cmocka_unit_test(advice_may_be_more_expert_or_context_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
