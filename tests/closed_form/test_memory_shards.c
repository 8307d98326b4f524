/* Memory of FSDP2 and of torch.distributed.pipelining, worked out by hand from their code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "input/job/lora.h"
#include "plan/loss.h"
#include "plan/memory/memory.h"
#include "support/assert_close.h"
#include "support/memory_case.h"

/* Of Llama-3 8B: h, V; parameters of a layer, of embedding and head with the final norm. */
static const double HIDDEN = 4096, VOCAB = 128256;
static const double LAYER_8B = 218112000.0;
static const double TABLE_8B = 4096.0 * 128256;
static const double ENDS_8B = 2 * 4096.0 * 128256 + 4096;
static const double LAYER_70B = 855654400.0;

/* ---- gradients of a pipeline ----------------------------------------------------- */

/* 70B over 4 stages, dp 8, zero 3: stage 1 has n = 20 layers of 855,654,400 parameters. Summed in
 * fp32 and freed, a shard stays, 4 n / 8, and beside it
 *   1F1B, 16 microbatches       4 n from the first backward pass to the last
 *   1F1B, one microbatch        nothing: its backward pass reduces layer by layer
 *   interleaved by two, 4       4 n / 2: all of the second chunk's backward passes come before the
 *                               first of the first chunk's
 * where buffers of gradients would have 4 n each time. */
static void whole_gradients_live_from_first_to_last_backward(void **state)
{
    (void)state;
    static const struct {
        struct memory_cut cut;
        double whole; /* of n */
    } rows[] = {
        {{1, 4, 8, 3, 1, 16}, 1.0},
        {{1, 4, 8, 3, 1, 1}, 0.0},
        {{1, 4, 8, 3, 2, 4}, 0.5},
    };
    const double n = 20 * LAYER_70B;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct memory_case c;
        memory_case_llama(&c, llama3_70b, 8192);
        memory_case_cut(&c, rows[i].cut);
        assert_close(memory_case_use(&c, 1).gradients_bytes, 4 * n, 1e-14);
        c.scenario.software.memory.frees_gradients = true;
        const double bytes = memory_case_use(&c, 1).gradients_bytes;
        assert_close(bytes, 4 * n * (0.125 + rows[i].whole), 1e-14);
        c.scenario.parallel.zero = 1; /* whose gradients lie in buffers */
        assert_close(memory_case_use(&c, 1).gradients_bytes, 4 * n, 1e-14);
    }
}

/* ---- what is gathered ------------------------------------------------------------ */

/* 8B on 64 ranks: the root, embedding and head of 525,336,576 parameters each and the norm's 4,096,
 * is there beside two layers, 2 bytes of each; copied out of the gather's buffer, its bytes twice;
 * layers in fp8 if they are gathered so. Gradients of a unit are no buffer then: a layer that goes
 * backward has 2 + 4 bytes of each parameter, and 2 of the head's. */
static void the_root_stays_gathered(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    memory_case_cut(&c, (struct memory_cut){1, 1, 64, 3, 1, 1});
    c.scenario.recompute.kind = RECOMPUTE_FULL;
    c.scenario.software.loss.kind = LOSS_CUT; /* fullest while it goes backward */
    const double working = memory_case_activations(&c, 0).working_bytes;
    c.scenario.software.fsdp_keeps_root = true;
    assert_close(memory_case_use(&c, 0).buffers_bytes, 2 * (ENDS_8B + 2 * LAYER_8B), 1e-15);
    assert_close(memory_case_activations(&c, 0).working_bytes - working,
                 6 * LAYER_8B + 2 * TABLE_8B, 1e-14);
    c.scenario.software.fsdp_gather_passes = 2;
    assert_close(memory_case_use(&c, 0).buffers_bytes, 2 * (2 * ENDS_8B + 2 * LAYER_8B), 1e-15);
    c.scenario.precision = PRECISION_FP8;
    c.scenario.software.low.recipe = RECIPE_CURRENT;
    c.scenario.software.low.gathers_parameters = true;
    assert_close(memory_case_use(&c, 0).buffers_bytes, 2 * 2 * ENDS_8B + 2 * LAYER_8B, 1e-15);
    c.scenario.parallel.reshard = RESHARD_STEP; /* all layers, less the 64th that is its own */
    assert_close(memory_case_use(&c, 0).buffers_bytes,
                 (2 * ENDS_8B + 32 * LAYER_8B) * 63 / 64 + 2 * ENDS_8B, 1e-14);
    c.scenario.software.memory.has_weights_beside_master = false;
    assert_close(memory_case_use(&c, 0).buffers_bytes, 2 * 2 * ENDS_8B + 32 * LAYER_8B, 1e-14);
}

/* ---- the loss -------------------------------------------------------------------- */

/* Logits returned in fp32, of which nothing stays but the log-softmax: 4 bytes and at most 12, not
 * 6 and 14; over a vocabulary that DTensor cuts 16 as before. Other kinds have no eager copy. */
static void fp32_logits_leave_no_others(void **state)
{
    (void)state;
    static const struct {
        struct loss_way loss;
        bool is_parallel;
        double kept, most;
    } rows[] = {
        {{.kind = LOSS_EAGER}, false, 6, 14},
        {{.kind = LOSS_EAGER, .has_fp32_logits = true}, false, 4, 12},
        {{.kind = LOSS_EAGER, .has_fp32_logits = true}, true, 4, 16},
        {{.kind = LOSS_RECOMPUTED, .has_fp32_logits = true}, false, 2, 4},
        /* As XLA fuses it: the logits, and their gradient beside them. */
        {{.kind = LOSS_EAGER, .fuses_fp32 = true}, false, 2, 4},
        {{.kind = LOSS_CHUNKED, .fuses_fp32 = true, .chunk = 8192}, false, 0, 14},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct loss_size size = {8192, 128256, 4096, 2.0, rows[i].is_parallel};
        const struct loss_bytes of = loss_bytes_of(&rows[i].loss, &size, 0.0, NULL);
        assert_close(of.kept, rows[i].kept * 8192 * VOCAB, 1e-15);
        assert_close(of.kept + of.turning, rows[i].most * 8192 * VOCAB, 1e-15);
    }
    assert_close(loss_logit_bytes(&rows[0].loss, 2.0), 2.0, 0.0);
    assert_close(loss_logit_bytes(&rows[1].loss, 2.0), 4.0, 0.0);
    assert_close(loss_logit_bytes(&rows[3].loss, 2.0), 2.0, 0.0);
}

/* Free blocks of what a layer needed are too small for it: that comes on top, the MLP's gate, up
 * and product, 3 f, and what it reads, h, 2 bytes each. */
static void the_loss_comes_on_top_of_a_layers_needs(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    c.scenario.software.loss.kind = LOSS_EAGER;
    assert_close(memory_case_use(&c, 0).temporary_bytes, 0.0, 0.0);
    c.scenario.software.memory.is_loss_apart = true;
    const struct memory_use use = memory_case_use(&c, 0);
    assert_int_equal(use.moment, MEMORY_AT_LOSS);
    assert_close(use.temporary_bytes, 8192.0 * 2 * (3 * 14336 + HIDDEN), 1e-15);
}

/* ---- between stages -------------------------------------------------------------- */

/* 8B over 4 stages, 8 microbatches of 8,192 tokens, a hidden tensor x = 8,192 h 2 B, fully
 * recomputed: a layer keeps x, a stage of eight 8 x a microbatch in flight. Buffers of all
 * microbatches for what comes hold the first layers' inputs, and for the gradients; what goes, and
 * the gradients of what came, stay until the step ends.
 *   stage 0, backward of the fifth, when the eighth has gone forward: 4 in flight, 8 buffers for
 *            gradients, 8 returned
 *   stage 3, loss of the last: 8 buffers, one of them the layer's input, 7 gradients; logits of 8
 *            microbatches, 2 bytes each or 4
 * Without, two tensors that are sent or received are on top of what goes backward. */
static void stages_keep_what_they_return(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    memory_case_cut(&c, (struct memory_cut){1, 4, 1, 0, 1, 8});
    c.scenario.recompute.kind = RECOMPUTE_FULL;
    c.scenario.software.loss.kind = LOSS_EAGER;
    const double x = 8192 * HIDDEN * 2;
    const struct memory_use before = memory_case_use(&c, 0);
    assert_close(before.activations_bytes, 4 * 8 * x, 1e-14);
    const struct memory_use last = memory_case_use(&c, 3);
    c.scenario.software.memory.keeps_stage_outputs = true;
    const struct memory_use first = memory_case_use(&c, 0);
    assert_int_equal(first.moment, MEMORY_AT_BACKWARD);
    assert_int_equal(first.microbatch, 4);
    assert_close(first.activations_bytes, (4 * 8 + 8 + 8) * x, 1e-14);
    assert_close(first.temporary_bytes, before.temporary_bytes - 2 * x, 1e-14);
    const struct memory_use use = memory_case_use(&c, 3);
    assert_int_equal(use.moment, MEMORY_AT_LOSS);
    assert_int_equal(use.microbatch, 7);
    assert_close(use.activations_bytes - last.activations_bytes, (8 - 1 + 7) * x, 1e-14);
    assert_close(use.logits_bytes, (14 + 8 * 2) * 8192 * VOCAB, 1e-14);
    c.scenario.software.loss.has_fp32_logits = true;
    assert_close(memory_case_use(&c, 3).logits_bytes, (12 + 8 * 4) * 8192 * VOCAB, 1e-14);
}

/* dualpipe over 2 stages, 8 microbatches, four from either end: a stage has both pieces, the first
 * of which sends x, and the second receives it. 4 + 4 buffers; in the last backward pass of the
 * first piece all have gone forward, 4 returned and 4 in their buffers, and all of the second have
 * gone backward: these buffers again, and 4 gradients. */
static void a_chunk_has_buffers_for_its_own_microbatches(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    memory_case_cut(&c, (struct memory_cut){1, 2, 1, 0, 2, 8});
    c.scenario.parallel.schedule = SCHEDULE_DUALPIPE;
    c.scenario.recompute.kind = RECOMPUTE_FULL;
    c.scenario.software.loss.kind = LOSS_CUT;
    const double x = 8192 * HIDDEN * 2;
    const struct memory_use before = memory_case_use(&c, 0);
    c.scenario.software.memory.keeps_stage_outputs = true;
    const struct memory_use use = memory_case_use(&c, 0);
    assert_true(use.chunk == 0 && use.microbatch == 3 && use.moment == before.moment);
    assert_close(use.activations_bytes - before.activations_bytes, (8 + 8) * x, 1e-14);
}

/* ---- frozen weights -------------------------------------------------------------- */

/* LoRA of rank 16 on qkv and proj of 70B, nvfp4: 4.5 bits a value, either way round. 80 layers of
 * 855,654,400 parameters are kept so, 1.125 B each; in 16 bits the two tables with the last norm,
 * and LoRA's own. Beside a bf16 copy 3.125 B each, all of them. */
static void frozen_weights_are_kept_as_they_are_multiplied(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_70b, 8192);
    c.scenario.precision = PRECISION_NVFP4;
    c.scenario.software.low.weights = WEIGHTS_STORED;
    c.scenario.lora = (struct lora){.rank = 16, .targets = 1u << LORA_QKV | 1u << LORA_PROJECTION};
    const double layers = 80 * LAYER_70B;
    const double ends = 2 * 8192.0 * 128256 + 8192;
    const double own = 80.0 * 16 * (8192 + 10240 + 8192 + 8192);
    assert_close(memory_case_use(&c, 0).weights_bytes, 3.125 * (layers + ends + own), 1e-14);
    c.scenario.software.low.stores_frozen = true;
    const double frozen = 1.125 * layers + 2 * (ends + own);
    assert_close(memory_case_use(&c, 0).weights_bytes, frozen, 1e-14);
    c.scenario.lora.rank = 0; /* nothing is frozen */
    assert_close(memory_case_use(&c, 0).weights_bytes, 3.125 * (layers + ends), 1e-14);
}

/* ---- layers ---------------------------------------------------------------------- */

/* Every second product of q, k, v, o, gate, up, down, by order: q, v, gate, down; beside them the
 * layer's input and attention's output with its row sums of 4 bytes. Down's output nothing reads:
 * it is kept by whom the policy makes keep it, not where the graph says what is read. */
static void a_compiler_keeps_no_output_that_nothing_reads(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    c.scenario.recompute.kind = RECOMPUTE_SELECTIVE;
    c.scenario.software.memory.keeps_every_second_product = true;
    const double read = 8192.0 * (2 * (HIDDEN + 4096 + 1024 + 14336 + 4096) + 4 * 32);
    assert_close(memory_case_layer_bytes(&c), read, 1e-15);
    c.scenario.software.memory.repeats_kv = true; /* after the product */
    assert_close(memory_case_layer_bytes(&c), read, 1e-15);
    c.scenario.software.memory.keeps_unread_product = true;
    assert_close(memory_case_layer_bytes(&c), read + 8192 * 2 * HIDDEN, 1e-15);
}

/* 8B: the input, h, and where a policy saves them queries, h, and keys and values, 1,024 each. */
static void full_recomputation_may_keep_queries_keys_and_values(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    c.scenario.recompute.kind = RECOMPUTE_FULL;
    assert_close(memory_case_layer_bytes(&c), 8192 * 2 * HIDDEN, 1e-15);
    c.scenario.software.memory.keeps_qkv = true;
    assert_close(memory_case_layer_bytes(&c), 8192 * 2 * (2 * HIDDEN + 2 * 1024), 1e-15);
}

/* Eight heads of keys and values become 32: 24 x 128 x 2 values more of 2 bytes. Over cp 4, from
 * 2,048 tokens a rank, the others' three blocks and their gradients are so wide, too. */
static void repeated_keys_and_values_are_as_wide_as_queries(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    const double kept = memory_case_layer_bytes(&c);
    c.scenario.software.memory.repeats_kv = true;
    assert_close(memory_case_layer_bytes(&c) - kept, 8192.0 * 2 * 2 * 24 * 128, 1e-14);
    c.scenario.recompute.kind = RECOMPUTE_FULL;
    c.scenario.software.loss.kind = LOSS_CUT;
    memory_case_context(&c, 4);
    const double wide = memory_case_activations(&c, 0).working_bytes;
    c.scenario.software.memory.repeats_kv = false;
    const double narrow = memory_case_activations(&c, 0).working_bytes;
    assert_close(wide - narrow, 2 * 3 * 2048.0 * 2 * 2 * 24 * 128, 1e-13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_gradients_live_from_first_to_last_backward),
        cmocka_unit_test(the_root_stays_gathered),
        cmocka_unit_test(fp32_logits_leave_no_others),
        cmocka_unit_test(the_loss_comes_on_top_of_a_layers_needs),
        cmocka_unit_test(stages_keep_what_they_return),
        cmocka_unit_test(a_chunk_has_buffers_for_its_own_microbatches),
        cmocka_unit_test(frozen_weights_are_kept_as_they_are_multiplied),
        cmocka_unit_test(full_recomputation_may_keep_queries_keys_and_values),
        cmocka_unit_test(a_compiler_keeps_no_output_that_nothing_reads),
        cmocka_unit_test(repeated_keys_and_values_are_as_wide_as_queries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
