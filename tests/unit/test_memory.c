/* Memory of a GPU: against ZeRO, Korthikanti et al., Megatron-LM's own report
 * (oracles.md 2.1 to 2.3). */
#include "plan/cost.h"
#include "plan/memory/memory_parameters.h"
#include "plan/memory/memory.h"

#include "support/memory_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/assert_close.h"

static const double GB = 1e9;

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- bytes per parameter ----------------------------------------------- */

static double state_sum(enum precision precision, enum state_format gradients, int64_t zero,
                        int64_t dp)
{
    const struct optimizer optimizer = {gradients, STATE_FP32,     STATE_FP32,
                                        true,      OPTIMIZER_ADAM, {0}};
    const struct memory_state whole = memory_state_whole(precision, &optimizer);
    const struct memory_state of = memory_state_sharded(&whole, zero, dp);
    return of.weights + of.gradients + of.optimizer;
}

static double state_of(enum state_format gradients, int64_t zero, int64_t dp)
{
    return state_sum(PRECISION_BF16, gradients, zero, dp);
}

static void zero_stages_have_the_published_bytes(void **state)
{
    (void)state;
    /* ZeRO, figure 1: 7.5e9 parameters, 64 ranks, fp16 gradients: 120 / 31.4 /
     * 16.6 / 1.9 GB; 16, 4+12/64, 2+14/64, 16/64 bytes a parameter. */
    static const double expected[] = {120.0, 31.40625, 16.640625, 1.875};
    for (int64_t zero = 0; zero <= 3; zero++) {
        assert_close(7.5e9 * state_of(STATE_FP16, zero, 64), expected[zero] * GB, 1e-15);
    }
}

static void megatron_keeps_18_bytes_or_6_and_12_sharded(void **state)
{
    (void)state;
    assert_close(state_of(STATE_FP32, 0, 1), 18.0, 1e-15);
    assert_close(state_of(STATE_FP32, 0, 16), 18.0, 1e-15);
    assert_close(state_of(STATE_FP32, 1, 16), 6.0 + 12.0 / 16, 1e-15);
    assert_close(state_of(STATE_BF16, 0, 1), 16.0, 1e-15);
}

static void fp32_keeps_16_bytes(void **state)
{
    (void)state;
    static const enum precision single[] = {PRECISION_FP32, PRECISION_TF32};
    for (size_t i = 0; i < LENGTH(single); i++) {
        assert_close(state_sum(single[i], STATE_FP32, 0, 8), 16.0, 1e-15);
        assert_close(state_sum(single[i], STATE_FP32, 1, 8), 8.0 + 1.0, 1e-15);
        assert_close(state_sum(single[i], STATE_FP32, 3, 8), 2.0, 1e-15);
    }
}

/* ---- activations of a layer -------------------------------------------- */

struct layer_case {
    int64_t tp;
    bool is_sequence_parallel;
    enum recompute_kind recompute;
    double bytes;
};

static void a_layer_of_gpt3_keeps_the_published_bytes(void **state)
{
    (void)state;
    /* Korthikanti et al., table 2, sbh = 25,165,824, 5ns/h = 80:
     * sbh(34+80), sbh(10+24/8+80/8), sbh(34/8+80/8), sbh(10+24/8), 34sbh/8, 2sbh, 2sbh/8. */
    static const struct layer_case cases[] = {
        {1, false, RECOMPUTE_NONE, 2868903936.0},    {8, false, RECOMPUTE_NONE, 578813952.0},
        {8, true, RECOMPUTE_NONE, 358612992.0},      {8, false, RECOMPUTE_SELECTIVE, 327155712.0},
        {8, true, RECOMPUTE_SELECTIVE, 106954752.0}, {8, false, RECOMPUTE_FULL, 50331648.0},
        {8, true, RECOMPUTE_FULL, 50331648.0 / 8},
    };
    struct memory_case c;
    memory_case_init(&c, memory_case_gpt3(), 2048);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        c.scenario.parallel.tp = cases[i].tp;
        c.scenario.parallel.is_sequence_parallel = cases[i].is_sequence_parallel;
        c.scenario.recompute.kind = cases[i].recompute;
        assert_close(memory_case_layer_bytes(&c), cases[i].bytes, 1e-15);
    }
}

static void core_attention_of_mt_nlg_adds_64_sbh(void **state)
{
    (void)state;
    /* 530B: h 20480, n 128, s 2048: 5ns/h = 64 (Korthikanti et al., section 5). */
    struct memory_case c;
    struct model model = memory_case_gpt3();
    model.hidden = 20480;
    model.ffn_hidden = INT64_C(4) * 20480;
    model.heads = model.kv_heads = 128;
    model.head_dim = 160;
    memory_case_init(&c, model, 2048);
    assert_close(memory_case_layer_bytes(&c), (34.0 + 64.0) * 2048 * 20480, 1e-15);
}

static void a_token_of_llama3_keeps_the_derived_bytes(void **state)
{
    (void)state;
    /* 8h + 4nd + 4*kv*d + 6f + 4n; 8B: 32768 + 16384 + 4096 + 86016 + 128. */
    static const struct {
        const struct llama_shape *shape;
        double bytes;
    } cases[] = {{&llama3_8b, 139392}, {&llama3_70b, 274688}, {&llama3_405b, 520704}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct memory_case c;
        memory_case_llama(&c, *cases[i].shape, 8192);
        assert_close(memory_case_layer_bytes(&c) / 8192, cases[i].bytes, 1e-15);
        c.scenario.parallel.tp = 8;
        c.scenario.parallel.is_sequence_parallel = true;
        assert_close(memory_case_layer_bytes(&c) / 8192, cases[i].bytes / 8, 1e-15);
        /* Without sequence parallelism the 8h of the norms stay whole. */
        c.scenario.parallel.is_sequence_parallel = false;
        const double norms = 8.0 * (double)cases[i].shape->hidden;
        assert_close(memory_case_layer_bytes(&c) / 8192, norms + (cases[i].bytes - norms) / 8,
                     1e-15);
    }
}

static void more_tp_ranks_than_kv_heads_share_none(void **state)
{
    (void)state;
    /* 70B, tp 16, 8 kv heads: each rank has one, as with tp 8, and half of the rest:
     * (274,688 - 4*8*128) / 16 + 4*128. */
    struct memory_case c;
    memory_case_llama(&c, llama3_70b, 8192);
    c.scenario.parallel.tp = 16;
    c.scenario.parallel.is_sequence_parallel = true;
    assert_close(memory_case_layer_bytes(&c) / 8192, (274688.0 - 4096.0) / 16 + 512.0, 1e-15);
}

static void attention_in_fp8_keeps_queries_keys_and_values_in_bytes(void **state)
{
    (void)state;
    /* 8B: 32 heads of 128 and 2 x 8 of keys and values are 6144 values a token, of 2 bytes, or of 1
     * where the backward pass reads fp8. */
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    c.scenario.precision = PRECISION_FP8;
    c.scenario.software.low = (struct low_precision){.is_known = true, .attends = true};
    const double half = memory_case_layer_bytes(&c);
    c.scenario.software.low.attends_backward = true;
    assert_close(half - memory_case_layer_bytes(&c), 8192.0 * 6144, 1e-12);
}

static void fused_attention_keeps_no_scores(void **state)
{
    (void)state;
    /* As with selective recomputation, but for 4 bytes of log-sum-exp a head. */
    struct memory_case c;
    memory_case_init(&c, memory_case_gpt3(), 2048);
    c.scenario.software.attention = ATTENTION_FA2;
    assert_close(memory_case_layer_bytes(&c), 34.0 * 2048 * 12288 + 4.0 * 96 * 2048, 1e-15);
}

static void without_dropout_masks_and_the_dropped_copy_go(void **state)
{
    (void)state;
    /* Two residual masks (2sbh), and of 5ns/h the mask and the dropout's output: 2 stay. */
    struct memory_case c;
    memory_case_init(&c, memory_case_gpt3(), 2048);
    c.scenario.model.has_dropout = false;
    assert_close(memory_case_layer_bytes(&c), (32.0 + 32.0) * 2048 * 12288, 1e-15);
}

static void activations_scale_with_micro_and_fp32_doubles_all_but_masks(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_init(&c, memory_case_gpt3(), 2048);
    c.scenario.batch.micro = 4;
    assert_close(memory_case_layer_bytes(&c), 4 * 2868903936.0, 1e-15);
    /* 34 - 2 and 80 - 16 double. */
    c.scenario.precision = PRECISION_FP32;
    assert_close(memory_case_layer_bytes(&c), 4.0 * (2 * 32 + 2 + 2 * 64 + 16) * 2048 * 12288,
                 1e-15);
}

/* ---- a stage ----------------------------------------------------------- */

static void gpt3_on_8_by_8_agrees_with_megatrons_own_report(void **state)
{
    (void)state;
    /* Megatron-LM's theoretical_memory_usage.py, t 8, p 8, m 64, SP and selective:
     * 2,797,145,088 parameters on the largest shard, 10,292,838,400 B of activations.
     * Parameters: it leaves out positions (2048h) and biases (9h a layer, 7h of them cut by t),
     * and spreads the norms (4h a layer, 2h at the end) evenly over the stages.
     * Activations: it counts 8sbp/8 of token indices. What one layer recomputes, 80sbh/8, comes
     * on top. */
    struct memory_case c;
    memory_case_init(&c, memory_case_gpt3(), 2048);
    memory_case_cut(&c, (struct memory_cut){8, 8, 16, 1, 1, 64});
    c.scenario.parallel.is_sequence_parallel = true;
    c.scenario.recompute.kind = RECOMPUTE_SELECTIVE;
    const double h = 12288;
    const double parameters = memory_case_parameters(&c, 0);
    const double difference = 2048 * h + 12 * (6 * h + 7 * h / 8) - (96 * 4 * h + 2 * h) / 8;
    assert_close(parameters, 2797145088.0 + difference, 1e-12);
    const struct memory_use use = memory_case_use(&c, 0);
    assert_close(use.activations_bytes, 10292838400.0 - 8.0 * 2048, 1e-12);
    assert_close(memory_case_activations(&c, 0).recomputed_bytes, 80.0 * 2048 * h / 8, 1e-12);
    assert_close(use.weights_bytes + use.gradients_bytes + use.optimizer_bytes,
                 parameters * (6.0 + 12.0 / 16), 1e-12);
}

static void stages_together_hold_the_model_once(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    for (int64_t pp = 1; pp <= 32; pp *= 2) {
        memory_case_cut(&c, (struct memory_cut){1, pp, 1, 0, 1, pp});
        double sum = 0;
        for (int64_t stage = 0; stage < pp; stage++) {
            sum += memory_case_parameters(&c, stage);
        }
        assert_close(sum, 8030261248.0, 1e-14);
    }
}

/* Llama-3 8B without its head: V h = 128,256 x 4,096 parameters fewer, all on the last stage, whose
 * largest unit is then a layer (218,112,000 of 525,336,576); no logits; SGD keeps no moments. */
static void without_a_head_the_last_stage_holds_layers_alone(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    memory_case_cut(&c, (struct memory_cut){1, 4, 1, 0, 1, 4});
    const double first = memory_case_parameters(&c, 0);
    const double last = memory_case_parameters(&c, 3);
    const struct memory_split split = memory_job_of(&c.scenario).split;
    assert_close(memory_largest_unit(&split, 3), 128256.0 * 4096, 0.0);
    c.scenario.model.is_headless = true;
    assert_close(memory_case_parameters(&c, 0), first, 0.0);
    assert_close(memory_case_parameters(&c, 3), last - 128256.0 * 4096, 0.0);
    assert_close(memory_largest_unit(&split, 3), 218112000.0, 0.0);
    assert_close(memory_largest_unit(&split, 0), 128256.0 * 4096, 0.0);
    assert_close(memory_case_use(&c, 3).logits_bytes, 0.0, 0.0);
    const double adam = memory_case_use(&c, 3).optimizer_bytes;
    c.scenario.optimizer.rule = OPTIMIZER_SGD;
    assert_close(memory_case_use(&c, 3).optimizer_bytes, adam / 3, 1e-14);
}

static void a_tied_head_is_a_copy_on_the_last_of_several_stages(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_init(&c, memory_case_gpt3(), 2048);
    assert_close(memory_case_parameters(&c, 0), 174615846912.0, 1e-14);
    memory_case_cut(&c, (struct memory_cut){1, 2, 1, 0, 1, 2});
    assert_close(memory_case_parameters(&c, 0) + memory_case_parameters(&c, 1),
                 174615846912.0 + 51200.0 * 12288, 1e-14);
}

static void an_embedding_norm_lies_on_the_first_stage(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_init(&c, memory_case_gpt3(), 2048);
    memory_case_cut(&c, (struct memory_cut){1, 2, 1, 0, 1, 2});
    const double first = memory_case_parameters(&c, 0);
    const double last = memory_case_parameters(&c, 1);
    c.scenario.model.has_embedding_norm = true;
    assert_close(memory_case_parameters(&c, 0), first + 2 * 12288, 1e-15);
    assert_close(memory_case_parameters(&c, 1), last, 1e-15);
}

static void the_first_stage_holds_a_model_of_layers_under_1f1b(void **state)
{
    (void)state;
    /* p in flight times L/p layers: L * 34sbh/t whatever p (Korthikanti et al.,
     * section 4.2.3), without the embedding's mask. */
    struct memory_case c;
    memory_case_init(&c, memory_case_gpt3(), 2048);
    c.scenario.parallel.is_sequence_parallel = true;
    c.scenario.recompute.kind = RECOMPUTE_SELECTIVE;
    c.scenario.model.has_dropout = false;
    const double sbh = 2048.0 * 12288;
    for (int64_t pp = 2; pp <= 32; pp *= 2) {
        memory_case_cut(&c, (struct memory_cut){8, pp, 1, 0, 1, 64});
        const struct memory_use use = memory_case_use(&c, 0);
        assert_close(use.activations_bytes, 96 * 32 * sbh / 8, 1e-14);
    }
}

static void interleaving_holds_more_by_the_known_factor(void **state)
{
    (void)state;
    /* 1 + (p-1)/(pv) (Korthikanti et al., section 4.2.3). */
    struct memory_case c;
    memory_case_init(&c, memory_case_gpt3(), 2048);
    c.scenario.model.has_dropout = false;
    const double sbh = 2048.0 * 12288;
    static const int64_t shapes[][2] = {{2, 2}, {4, 2}, {8, 2}, {8, 3}, {8, 12}, {16, 3}};
    for (size_t i = 0; i < LENGTH(shapes); i++) {
        const int64_t p = shapes[i][0];
        const int64_t v = shapes[i][1];
        memory_case_cut(&c, (struct memory_cut){1, p, 1, 0, v, 8 * p});
        const double factor = 1.0 + (double)(p - 1) / (double)(p * v);
        assert_close(memory_case_use(&c, 0).activations_bytes, 96 * factor * 64 * sbh, 1e-14);
    }
}

static void the_last_stage_holds_the_logits(void **state)
{
    (void)state;
    /* 8B, s 32768: 2 + 4 bytes of 128256 logits a token; the fp32 part is 15.66 GiB
     * (ml-engineering: 15.7). The final norm's input and output add 4h a token. */
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 32768);
    const struct memory_use use = memory_case_use(&c, 0);
    assert_close(use.logits_bytes * 4 / 6 / (1 << 30), 15.65625, 1e-15);
    assert_close(use.activations_bytes, 32768.0 * (32 * 139392.0 + 4 * 4096.0), 1e-14);
    memory_case_cut(&c, (struct memory_cut){1, 4, 1, 0, 1, 8});
    assert_true(memory_case_use(&c, 0).logits_bytes <= 0);
    assert_close(memory_case_use(&c, 3).logits_bytes, use.logits_bytes, 1e-15);
    /* GPipe: the heads of all microbatches wait for their backward. */
    c.scenario.parallel.schedule = SCHEDULE_GPIPE;
    assert_close(memory_case_use(&c, 3).logits_bytes, 8 * use.logits_bytes, 1e-15);
}

static void full_recomputation_keeps_inputs_and_one_layer(void **state)
{
    (void)state;
    /* 8B, s 8192: 32 inputs of 2h. Fullest at the loss (6V + 4h a token); the layer that is
     * recomputed needs less: 139,392 - 2h. With a smaller vocabulary it is the other way round. */
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    c.scenario.recompute.kind = RECOMPUTE_FULL;
    const double input = 2.0 * 4096;
    assert_close(memory_case_use(&c, 0).activations_bytes, 8192.0 * (32 * input + 4 * 4096.0),
                 1e-14);
    assert_close(memory_case_use(&c, 0).logits_bytes, 8192.0 * 6 * 128256, 1e-14);
    assert_int_equal(memory_case_use(&c, 0).moment, MEMORY_AT_LOSS);
    c.scenario.model.vocab = 1280;
    assert_int_equal(memory_case_use(&c, 0).moment, MEMORY_AT_BACKWARD);
    assert_close(memory_case_use(&c, 0).activations_bytes, 8192.0 * 32 * input, 1e-14);
    assert_close(memory_case_activations(&c, 0).recomputed_bytes, 8192.0 * (139392.0 - input),
                 1e-14);
}

static void a_stage_without_layers_holds_only_its_edge(void **state)
{
    (void)state;
    /* 405B on 16 x 8 chunks: 0 1 ... 1 0 layers; stage 0 lacks its first chunk's.
     * In flight at most 2*15 + 7*16 + 1 = 143 chunks, some of them that first one. */
    struct memory_case c;
    memory_case_llama(&c, llama3_405b, 8192);
    memory_case_cut(&c, (struct memory_cut){8, 16, 4, 1, 8, 32});
    for (int64_t i = 0; i < 128; i++) {
        c.layers[i] = i == 0 || i == 127 ? 0 : 1;
    }
    c.scenario.parallel.is_sequence_parallel = true;
    const double layers = memory_case_use(&c, 0).activations_bytes / memory_case_layer_bytes(&c);
    assert_true(layers >= 112 && layers <= 143);
    /* Fewer than a stage with all its layers would have. */
    c.layers[0] = 1;
    assert_close(memory_case_use(&c, 0).activations_bytes, 143 * memory_case_layer_bytes(&c),
                 1e-14);
    /* One chunk a stage and nothing in it: no activations at all. */
    memory_case_cut(&c, (struct memory_cut){8, 16, 4, 1, 1, 32});
    c.layers[0] = 0;
    assert_true(memory_case_use(&c, 0).activations_bytes <= 0);
}

/* ---- buffers of sharding ----------------------------------------------- */

static void fsdp_gathers_units_and_zero2_a_bucket(void **state)
{
    (void)state;
    /* 8B, 64 ranks: largest unit the table, 128256*4096 = 525,336,576; one layer
     * ahead, 218,112,000. 2 bytes of both, and 4 of the table's gradient. */
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    memory_case_cut(&c, (struct memory_cut){1, 1, 64, 3, 1, 1});
    const double table = 525336576.0;
    const double layer = 218112000.0;
    assert_close(memory_case_use(&c, 0).buffers_bytes, 2 * (table + layer) + 4 * table, 1e-15);
    c.scenario.parallel.zero = 2;
    assert_close(memory_case_use(&c, 0).buffers_bytes, 160e6, 1e-15);
    c.scenario.parallel.zero = 1;
    assert_true(memory_case_use(&c, 0).buffers_bytes <= 0);
    /* With one rank nothing is sharded, so nothing is gathered. */
    memory_case_cut(&c, (struct memory_cut){1, 1, 1, 3, 1, 1});
    assert_true(memory_case_use(&c, 0).buffers_bytes <= 0);
}

static void a_total_is_the_sum_of_its_parts(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    memory_case_cut(&c, (struct memory_cut){2, 2, 8, 2, 1, 8});
    c.scenario.software.memory.overhead_bytes = 3 * GB;
    const struct memory_use use = memory_case_use(&c, 1);
    assert_close(use.total_bytes,
                 use.weights_bytes + use.gradients_bytes + use.optimizer_bytes +
                     use.activations_bytes + use.logits_bytes + use.temporary_bytes +
                     use.buffers_bytes + 3 * GB,
                 1e-15);
}

static void a_checkpoint_is_14_bytes_a_parameter(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    assert_close(memory_case_checkpoint_bytes(&c), 14 * 8030261248.0, 1e-15);
    c.scenario.precision = PRECISION_FP32;
    assert_close(memory_case_checkpoint_bytes(&c), 12 * 8030261248.0, 1e-15);
}

/* An MTP layer, which the name of a model leaves out, is written too: 14 bytes for each of its
 * parameters, 2h * h of the projection and three norms more than the last layer's. */
static void a_checkpoint_has_the_layers_of_multi_token_prediction(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    const double without = memory_case_checkpoint_bytes(&c);
    struct model *model = &c.scenario.model;
    const double layer = (double)cost_layer(model, model_layer(model, 31)).total;
    model->mtp_layers = 1;
    model_finish(model);
    const double mtp = layer + (2.0 * 4096 + 3) * 4096;
    assert_close(memory_case_checkpoint_bytes(&c), without + 14 * mtp, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_stages_have_the_published_bytes),
        cmocka_unit_test(megatron_keeps_18_bytes_or_6_and_12_sharded),
        cmocka_unit_test(fp32_keeps_16_bytes),
        cmocka_unit_test(a_layer_of_gpt3_keeps_the_published_bytes),
        cmocka_unit_test(core_attention_of_mt_nlg_adds_64_sbh),
        cmocka_unit_test(a_token_of_llama3_keeps_the_derived_bytes),
        cmocka_unit_test(more_tp_ranks_than_kv_heads_share_none),
        cmocka_unit_test(attention_in_fp8_keeps_queries_keys_and_values_in_bytes),
        cmocka_unit_test(fused_attention_keeps_no_scores),
        cmocka_unit_test(without_dropout_masks_and_the_dropped_copy_go),
        cmocka_unit_test(activations_scale_with_micro_and_fp32_doubles_all_but_masks),
        cmocka_unit_test(gpt3_on_8_by_8_agrees_with_megatrons_own_report),
        cmocka_unit_test(stages_together_hold_the_model_once),
        cmocka_unit_test(without_a_head_the_last_stage_holds_layers_alone),
        cmocka_unit_test(a_tied_head_is_a_copy_on_the_last_of_several_stages),
        cmocka_unit_test(an_embedding_norm_lies_on_the_first_stage),
        cmocka_unit_test(the_first_stage_holds_a_model_of_layers_under_1f1b),
        cmocka_unit_test(interleaving_holds_more_by_the_known_factor),
        cmocka_unit_test(the_last_stage_holds_the_logits),
        cmocka_unit_test(full_recomputation_keeps_inputs_and_one_layer),
        cmocka_unit_test(a_stage_without_layers_holds_only_its_edge),
        cmocka_unit_test(fsdp_gathers_units_and_zero2_a_bucket),
        cmocka_unit_test(a_total_is_the_sum_of_its_parts),
        cmocka_unit_test(a_checkpoint_is_14_bytes_a_parameter),
        cmocka_unit_test(a_checkpoint_has_the_layers_of_multi_token_prediction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
