/* Memory against worked numbers of the literature and of other programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/loss.h"
#include "plan/memory/memory.h"
#include "plan/memory/memory_allocator.h"
#include "plan/memory/memory_megatron.h"
#include "support/assert_close.h"
#include "plan/checkpoint_roles.h"
#include "support/memory_case.h"

static const double GB = 1e9;
static const int64_t MIB = 1048576;

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- states ---------------------------------------------------------------------- */

/* Bytes a parameter, all on one rank and sharded by ZeRO 1 over d = 16:
 *   bf16 weights, fp32 gradients, fp32 master and moments (Megatron)   18    6 + 12/d
 *   fp32 all                                                           16    8 +  8/d
 *   fp16 gradients (ZeRO paper)                                        16    4 + 12/d
 *   bf16 moments                                                       14    6 +  8/d
 *   8-bit moments, one fp32 scale for 2048 values             10 + 2 (1 + 4/2048) */
static void recipes_keep_the_published_bytes_a_parameter(void **state)
{
    (void)state;
    static const struct {
        enum precision precision;
        struct optimizer optimizer;
        double whole, sharded;
    } cases[] = {
        {PRECISION_BF16,
         {STATE_FP32, STATE_FP32, STATE_FP32, true, OPTIMIZER_ADAM, {0}},
         18,
         6 + 12.0 / 16},
        {PRECISION_FP32,
         {STATE_FP32, STATE_FP32, STATE_FP32, true, OPTIMIZER_ADAM, {0}},
         16,
         8 + 8.0 / 16},
        {PRECISION_FP16,
         {STATE_FP16, STATE_FP32, STATE_FP32, true, OPTIMIZER_ADAM, {0}},
         16,
         4 + 12.0 / 16},
        {PRECISION_BF16,
         {STATE_FP32, STATE_FP32, STATE_BF16, true, OPTIMIZER_ADAM, {0}},
         14,
         6 + 8.0 / 16},
        {PRECISION_BF16,
         {STATE_BF16, STATE_NONE, STATE_BF16, true, OPTIMIZER_ADAM, {0}},
         8,
         4 + 4.0 / 16},
        {PRECISION_BF16,
         {STATE_FP32, STATE_FP32, STATE_INT8, true, OPTIMIZER_ADAM, {0}},
         12 + 1.0 / 256,
         6 + (6 + 1.0 / 256) / 16},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct memory_state whole =
            memory_state_whole(cases[i].precision, &cases[i].optimizer);
        const struct memory_state part = memory_state_sharded(&whole, 1, 16);
        assert_close(whole.weights + whole.gradients + whole.optimizer, cases[i].whole, 1e-14);
        assert_close(part.weights + part.gradients + part.optimizer, cases[i].sharded, 1e-14);
    }
}

/* ZeRO, figure 1: 7.5e9 parameters on 64 ranks: 120, 31.4, 16.6, 1.9 GB. */
static void the_zero_papers_table(void **state)
{
    (void)state;
    static const double published[] = {120, 31.4, 16.6, 1.9};
    const struct optimizer optimizer = {STATE_FP16, STATE_FP32,     STATE_FP32,
                                        true,       OPTIMIZER_ADAM, {0}};
    const struct memory_state whole = memory_state_whole(PRECISION_FP16, &optimizer);
    for (int64_t zero = 0; zero <= 3; zero++) {
        const struct memory_state of = memory_state_sharded(&whole, zero, 64);
        const double gb = 7.5e9 * (of.weights + of.gradients + of.optimizer) / GB;
        assert_close(gb, published[zero], 0.05 / published[zero]); /* printed to 0.1 */
    }
}

/* ---- Megatron-LM's report ------------------------------------------------------------ */

static void megatrons_own_report_to_the_byte(void **state)
{
    (void)state;
    /* GPT-3, t 8, p 8, b 1, m 64: 12 h^2 12 / 8 + 51200 h / 8 + (96 4h + 2h) / 8 parameters;
     * 18 bytes of each, or 6 + 12/16 with dp 16; activations (34 sbh 96 + 8sb 8 + sbh 8) / 8. */
    struct memory_case c;
    memory_case_init(&c, memory_case_gpt3(), 2048);
    memory_case_cut(&c, (struct memory_cut){8, 8, 16, 0, 1, 64});
    const struct model *model = &c.scenario.model;
    const struct parallel *parallel = &c.scenario.parallel;
    c.scenario.parallel.is_sequence_parallel = true;
    assert_close(memory_megatron_parameters(model, parallel).dense, 2797145088.0, 1e-15);
    assert_close(memory_megatron_states(model, parallel), 50348611584.0, 1e-15);
    assert_close(memory_megatron_activations(model, parallel, &c.scenario.batch), 10292838400.0,
                 1e-15);
    c.scenario.parallel.zero = 1;
    assert_close(memory_megatron_states(model, parallel), 18880729344.0, 1e-15);
    const struct memory_job job = memory_job_of(&c.scenario);
    assert_close(memory_megatron_bytes(&job), 18880729344.0 + 10292838400.0, 1e-15);
}

/* The formula that Megatron's unit test expects, dense (6 + 12/16) + experts (6 + 12/4) where
 * 16 ranks hold the same dense parameters and 4 the same experts. */
static void megatrons_unit_test_of_experts(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 4096);
    c.scenario.model.experts = 8;
    c.scenario.model.experts_per_token = 2;
    c.scenario.model.expert_hidden = 14336;
    model_finish(&c.scenario.model);
    memory_case_cut(&c, (struct memory_cut){1, 1, 16, 1, 1, 1});
    c.scenario.parallel.ep = 4;
    const struct memory_megatron_parameters of =
        memory_megatron_parameters(&c.scenario.model, &c.scenario.parallel);
    assert_close(of.experts, 32.0 * 8 * 176160768.0 / 4, 1e-15);
    assert_close(memory_megatron_states(&c.scenario.model, &c.scenario.parallel),
                 of.dense * (6 + 12.0 / 16) + of.experts * (6 + 12.0 / 4), 1e-15);
}

/* ---- activations ------------------------------------------------------------------------- */

struct korthikanti {
    int64_t layers, hidden, heads, tp, pp, chunks, micro;
};

static void build(struct memory_case *c, const struct korthikanti *shape)
{
    struct model model = memory_case_gpt3();
    model.layers = shape->layers;
    model.hidden = shape->hidden;
    model.ffn_hidden = 4 * shape->hidden;
    model.heads = model.kv_heads = shape->heads;
    model.head_dim = shape->hidden / shape->heads;
    memory_case_init(c, model, 2048);
    c->scenario.batch.micro = shape->micro;
    memory_case_cut(c,
                    (struct memory_cut){shape->tp, shape->pp, 1, 0, shape->chunks, 4 * shape->pp});
    c->scenario.parallel.is_sequence_parallel = true;
    c->scenario.recompute.kind = RECOMPUTE_SELECTIVE;
}

/* Korthikanti et al. 2022, section 4.2.3: the first stage holds L sbh 34 / t, interleaved
 * (1 + (p-1)/(pv)) of it; the embedding's mask is sbh p / t more, of as many microbatches as are
 * in flight in its chunk; the head at p = 1 4sbh (1 + V/h) / t, of which ours counts 6 bytes of a
 * logit where they count 4. Table 3's models: 22B, 175B, 530B, 1T. */
static void first_stages_of_korthikantis_models(void **state)
{
    (void)state;
    static const struct korthikanti shapes[] = {
        {48, 6144, 64, 8, 1, 1, 4},
        {96, 12288, 96, 8, 8, 3, 1},
        {105, 20480, 128, 8, 35, 3, 1},
        {128, 25600, 160, 8, 64, 1, 1},
    };
    for (size_t i = 0; i < LENGTH(shapes); i++) {
        struct memory_case c;
        build(&c, &shapes[i]);
        const double sbh = 2048.0 * (double)(shapes[i].micro * shapes[i].hidden);
        const double p = (double)shapes[i].pp, v = (double)shapes[i].chunks;
        const double more = shapes[i].chunks > 1 ? 1 + (p - 1) / (p * v) : 1;
        const double expected = (double)shapes[i].layers * 34 * sbh / 8 * more;
        const struct memory_activations of = memory_case_activations(&c, 0);
        assert_close(of.kept_bytes, expected, 1e-12);
    }
}

/* s b V (2 + 4) bytes: of Llama-3 8B's logits at 32,768 tokens the fp32 part is 15.7 GiB. */
static void logits_of_a_long_sequence(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 32768);
    const double logits = memory_case_use(&c, 0).logits_bytes;
    assert_close(logits * 4 / 6 / (double)(1024 * MIB), 15.65625, 1e-14);
    /* Software that copies more often: 14 bytes, the rest only at the loss; or whose gradient
     * stands beside the logits, 4. */
    c.scenario.software.loss.kind = LOSS_EAGER;
    const struct memory_use use = memory_case_use(&c, 0);
    assert_int_equal(use.moment, MEMORY_AT_LOSS);
    assert_close(use.logits_bytes, logits * 14 / 6, 1e-14);
    assert_close(use.temporary_bytes, 0.0, 0.0);
    c.scenario.software.loss.kind = LOSS_RECOMPUTED;
    assert_close(memory_case_use(&c, 0).logits_bytes, logits * 4 / 6, 1e-14);
}

/* The same by chunks: 32,768 tokens, V 128,256, h 4,096, 2 bytes. chunked: 256 tokens at once, 14
 * bytes of each logit, 256 x 128,256 x 14 = 459.7 MB, and of all tokens at once it would be 58.8
 * GB. linear: ceil(V/h) is 32, so 1,024 tokens, 2 bytes of each, 262.7 MB, the head's gradient
 * V h x 2 = 1,050.7 MB, and of hidden states 32,768 h x 2 = 268.4 MB. cut: nothing. */
static void chunks_of_a_loss_hold_a_chunk(void **state)
{
    (void)state;
    static const double V = 128256, H = 4096, TOKENS = 32768;
    const struct {
        struct loss_way loss;
        double bytes;
    } rows[] = {
        {{.kind = LOSS_CHUNKED}, 256 * V * 14},
        {{.kind = LOSS_CHUNKED, .chunk = 512}, 512 * V * 14},
        {{.kind = LOSS_CHUNKED, .chunk = 1000000}, TOKENS * V * 14},
        {{.kind = LOSS_LINEAR}, 1024 * V * 2 + V * H * 2 + TOKENS * H * 2},
        {{.kind = LOSS_LINEAR, .chunk = 4096}, 4096 * V * 2 + V * H * 2 + TOKENS * H * 2},
        {{.kind = LOSS_CUT}, 0},
        {{.kind = LOSS_FUSED}, TOKENS * V * 2},
        {{.kind = LOSS_EAGER_HALF}, TOKENS * V * 6},
    };
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 32768);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        c.scenario.software.loss = rows[i].loss;
        const struct memory_job job = memory_job_of(&c.scenario);
        const struct loss_size size = {32768, 128256, 4096, 2.0, false};
        const struct loss_bytes of = loss_bytes_of(&job.software->loss, &size, V * H, NULL);
        assert_close(of.kept + of.turning, rows[i].bytes, 1e-14);
        const struct memory_use use = memory_case_use(&c, 0);
        assert_true(use.moment != MEMORY_AT_LOSS || fabs(use.logits_bytes - rows[i].bytes) < 1);
    }
}

/* tp 4 pads the vocabulary to 128,512 and keeps a quarter of the logits on each rank, 6 bytes each;
 * gathered, all of them. */
static void a_gathered_vocabulary_is_whole(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 32768);
    const double whole = 32768.0 * 128512 * 6;
    memory_case_cut(&c, (struct memory_cut){4, 1, 1, 0, 1, 1});
    assert_close(memory_case_use(&c, 0).logits_bytes, whole / 4, 1e-14);
    c.scenario.software.loss.gathers_vocabulary = true;
    assert_close(memory_case_use(&c, 0).logits_bytes, whole, 1e-14);
}

/* The loss of DTensor over a vocabulary that is cut: its backward pass, without the logits, has
 * four tensors of 4 bytes, 16 of each logit, where a whole vocabulary has 14 (2 + 12). */
static void dtensor_cuts_the_loss_and_holds_more_of_it(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 32768);
    memory_case_cut(&c, (struct memory_cut){4, 1, 1, 0, 1, 1});
    c.scenario.software.loss.kind = LOSS_EAGER;
    const double share = 32768.0 * 128512 / 4;
    assert_close(memory_case_use(&c, 0).logits_bytes, share * 14, 1e-14);
    c.scenario.software.keeps_gathered = true;
    assert_close(memory_case_use(&c, 0).logits_bytes, share * 16, 1e-14);
    c.scenario.software.loss.gathers_vocabulary = true;
    assert_close(memory_case_use(&c, 0).logits_bytes, 4 * share * 14, 1e-14);
}

/* ---- the schedule's microbatches in flight ------------------------------------------------- */

/* In layers of the first stage, p = 4, m = 8, 32 layers: GPipe 8 microbatches of 8 layers; 1F1B 4;
 * interleaved with 2 chunks of 4 layers 2*3 + 4 + 1 = 11 chunks; ZB-H1 4, ZB-H2 7 until the input
 * gradients; DualPipe 5 of 8 layers, DualPipeV 9 of 4. */
static void layers_in_flight_by_schedule(void **state)
{
    (void)state;
    static const struct {
        enum schedule_kind kind;
        int64_t chunks, layers;
    } cases[] = {
        {SCHEDULE_GPIPE, 1, 64},     {SCHEDULE_1F1B, 1, 32},  {SCHEDULE_INTERLEAVED, 2, 44},
        {SCHEDULE_ZB_H1, 1, 32},     {SCHEDULE_ZB_H2, 1, 56}, {SCHEDULE_DUALPIPE, 2, 40},
        {SCHEDULE_DUALPIPEV, 2, 36},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct memory_case c;
        memory_case_llama(&c, llama3_8b, 8192);
        memory_case_cut(&c, (struct memory_cut){1, 4, 1, 0, cases[i].chunks, 8});
        c.scenario.parallel.schedule = cases[i].kind;
        if (cases[i].kind == SCHEDULE_DUALPIPE) {
            for (int64_t piece = 0; piece < 4; piece++) {
                c.layers[piece] = 8;
            }
        }
        const struct memory_activations of = memory_case_activations(&c, 0);
        assert_int_equal(of.layers_in_flight, cases[i].layers);
    }
}

/* Qi et al. 2023: of a GPT layer 34sbh live until the input gradients and 32sbh from there to the
 * weight gradients: 14 of inputs, 18 of gradients. p = 2, m = 4, ZB-H1 on the last stage. */
static void weight_gradients_keep_32_of_34_sbh(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_init(&c, memory_case_gpt3(), 2048);
    c.scenario.software.attention = ATTENTION_FA2;
    memory_case_cut(&c, (struct memory_cut){1, 2, 1, 0, 1, 4});
    const double one_f_one_b = memory_case_activations(&c, 1).kept_bytes;
    c.scenario.parallel.schedule = SCHEDULE_ZB_H1;
    const double sbh = 2048.0 * 12288;
    const double log_sum_exp = 4.0 * 96 * 2048;
    assert_close(one_f_one_b, 48 * (34 * sbh + log_sum_exp), 1e-12);
    /* One microbatch before its input gradients, one after them. */
    assert_close(memory_case_activations(&c, 1).kept_bytes,
                 48 * (34 * sbh + log_sum_exp + 32 * sbh), 1e-12);
}

/* ---- what training leaves out ------------------------------------------------------------ */

/* LoRA of rank 16 on all four products of Llama-3 8B: a layer has 16 (h + (n + 2kv) d) of QKV,
 * 16 (nd + h), 16 (h + 2f) and 16 (f + h); only these have gradients and states. */
static void lora_trains_its_own_matrices_only(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    const double frozen = memory_case_use(&c, 0).weights_bytes;
    c.scenario.lora.rank = 16;
    c.scenario.lora.targets = 15;
    const double h = 4096, f = 14336, qkv = (32 + 16) * 128;
    const double expected = 32 * 16 * ((h + qkv) + (h + h) + (h + 2 * f) + (f + h));
    const struct memory_use use = memory_case_use(&c, 0);
    assert_close(use.gradients_bytes, 4 * expected, 1e-14);
    assert_close(use.optimizer_bytes, 12 * expected, 1e-14);
    assert_close(use.weights_bytes, frozen + 2 * expected, 1e-14);
    /* Without a target the norms' outputs and the SwiGLU product need not be kept: 4h + 2f. */
    const double all = memory_case_layer_bytes(&c);
    c.scenario.lora.targets = 1u << LORA_PROJECTION;
    assert_close(all - memory_case_layer_bytes(&c), 8192 * (4 * h + 2 * f), 1e-12);
}

/* Half of the optimizer and the activations of 8 of 32 layers, with what they need to come back
 * for one layer and the next. */
static void what_is_offloaded_lies_on_the_host(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    const struct memory_use before = memory_case_use(&c, 0);
    c.scenario.offload.optimizer = 0.5;
    c.scenario.offload.activation_layers = 8;
    const struct memory_use after = memory_case_use(&c, 0);
    const double layer = 139392.0 * 8192;
    assert_close(after.optimizer_bytes, before.optimizer_bytes / 2, 1e-15);
    assert_close(before.activations_bytes - after.activations_bytes, 8 * layer, 1e-12);
    assert_close(after.host_bytes, before.optimizer_bytes / 2 + 8 * layer, 1e-12);
}

/* FSDP on 8 ranks that keeps weights until the step's end, or shards fp32 parameters only. */
static void resharding_and_the_masters_shard(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    memory_case_cut(&c, (struct memory_cut){1, 1, 8, 3, 1, 2});
    const double n = 8030261248.0;
    assert_close(memory_case_use(&c, 0).weights_bytes, 2 * n / 8, 1e-14);
    c.scenario.software.memory.has_weights_beside_master = false;
    struct memory_use use = memory_case_use(&c, 0);
    assert_close(use.weights_bytes, 4 * n / 8, 1e-14);
    assert_close(use.optimizer_bytes, 8 * n / 8, 1e-14);
    /* Nothing else is there to be saved: 4 + 8 bytes of a parameter (torch.distributed.checkpoint
     * of FSDP's state dicts, which hold fp32 shards of parameters and two moments), not 14. */
    for (uint8_t i = 0; i < AXIS_COUNT_; i++) {
        c.scenario.parallel.order[i] = i;
    }
    struct memory_job job = memory_job_of(&c.scenario);
    assert_close(memory_checkpoint_bytes(&job, NULL), 12 * n, 1e-14);
    assert_close(checkpoint_held_of(&job, 0).dense_bytes, 12 * n / 8, 1e-14);
    c.scenario.parallel.zero = 1; /* whose weights the forward pass reads */
    job = memory_job_of(&c.scenario);
    assert_close(memory_checkpoint_bytes(&job, NULL), 14 * n, 1e-14);
    c.scenario.parallel.zero = 3;
    c.scenario.parallel.reshard = RESHARD_STEP;
    use = memory_case_use(&c, 0);
    const double table = 128256.0 * 4096; /* the largest unit, whose gradient is not yet reduced */
    assert_close(use.buffers_bytes, 2 * n + 4 * table, 1e-14);
    /* Sharded within a group of 4 of the 8. */
    c.scenario.parallel.zero_group = 4;
    assert_close(memory_case_use(&c, 0).optimizer_bytes, 8 * n / 4, 1e-14);
}

/* 70B over 4 stages, dp 8: gradients are summed whole over microbatches, 4 bytes of each of a
 * stage's parameters, so ZeRO 2 needs what ZeRO 1 needs. FSDP keeps an eighth of the other states
 * and no gradient beside; kept until the step's end, weights are whole, too. Stage 1 has 20 layers
 * of 855,654,400, of which the largest unit and the one fetched ahead are one each. */
static void a_pipeline_keeps_whole_gradients(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_70b, 8192);
    memory_case_cut(&c, (struct memory_cut){1, 4, 8, 1, 1, 16});
    const double layer = 855654400.0;
    const double n = 20 * layer;
    const struct memory_use first = memory_case_use(&c, 1);
    c.scenario.parallel.zero = 2;
    const struct memory_use second = memory_case_use(&c, 1);
    assert_close(second.gradients_bytes, 4 * n, 1e-14);
    assert_close(second.total_bytes, first.total_bytes, 1e-15);
    c.scenario.parallel.zero = 3;
    const struct memory_use third = memory_case_use(&c, 1);
    assert_close(third.weights_bytes, 2 * n / 8, 1e-14);
    assert_close(third.gradients_bytes, 4 * n, 1e-14);
    assert_close(third.optimizer_bytes, 12 * n / 8, 1e-14);
    assert_close(third.buffers_bytes, 2 * 2 * layer, 1e-14);
    c.scenario.parallel.reshard = RESHARD_STEP;
    assert_close(memory_case_use(&c, 1).buffers_bytes, 2 * n * 7 / 8, 1e-14);
}

/* ---- the allocator --------------------------------------------------------------------------- */

/* No pipeline: FSDP of dp 8 keeps an eighth of the gradients' 4 bytes a parameter; with no_sync the
 * first microbatch leaves all of them on each rank. */
static void no_sync_keeps_whole_gradients(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    memory_case_cut(&c, (struct memory_cut){1, 1, 8, 3, 1, 4});
    const double shard = memory_case_use(&c, 0).gradients_bytes;
    c.scenario.software.fsdp_no_sync = NO_SYNC_REPLICAS;
    assert_close(memory_case_use(&c, 0).gradients_bytes, shard, 1e-15);
    c.scenario.software.fsdp_no_sync = NO_SYNC_ALL;
    assert_close(memory_case_use(&c, 0).gradients_bytes, 8 * shard, 1e-15);
}

/* Llama-3 8B, tp 4 with sequence parallelism, 8192 tokens: a layer keeps the outputs of two norms,
 * each 8192 x 4096 x 2 = 67,108,864 bytes, of which a rank has a quarter, or as DTensor gathered
 * them; of the head's final norm likewise. */
static void what_was_gathered_is_kept_whole(void **state)
{
    (void)state;
    struct memory_case c;
    memory_case_llama(&c, llama3_8b, 8192);
    memory_case_cut(&c, (struct memory_cut){4, 1, 2, 3, 1, 1});
    c.scenario.parallel.is_sequence_parallel = true;
    const struct memory_activations cut = memory_case_activations(&c, 0);
    c.scenario.software.keeps_gathered = true;
    const struct memory_activations whole = memory_case_activations(&c, 0);
    assert_close(whole.layer_bytes - cut.layer_bytes, 2 * 0.75 * 67108864.0, 1e-12);
    assert_close(whole.head_bytes - cut.head_bytes, 0.75 * 67108864.0, 1e-12);
}

static void sizes_round_as_pytorchs_allocator_rounds_them(void **state)
{
    (void)state;
    assert_int_equal(memory_block_bytes(1000), 1024);
    assert_int_equal(memory_segment_bytes(1000), 2 * MIB);
    assert_int_equal(memory_segment_bytes(MIB), 2 * MIB);
    assert_int_equal(memory_segment_bytes(MIB + 1), 20 * MIB);
    assert_int_equal(memory_segment_bytes(5 * MIB), 20 * MIB);
    assert_int_equal(memory_segment_bytes(10 * MIB), 10 * MIB);
    assert_int_equal(memory_segment_bytes(11 * MIB), 12 * MIB);
    /* Four of 5 MiB share a segment; the fifth opens another. */
    assert_int_equal(memory_reserved_bytes(5 * MIB, 4), 20 * MIB);
    assert_int_equal(memory_reserved_bytes(5 * MIB, 5), 40 * MIB);
    for (int64_t bytes = 1; bytes < 64 * MIB; bytes = bytes * 3 / 2 + 1) {
        assert_true(memory_reserved_bytes(bytes, 7) >= 7 * memory_block_bytes(bytes));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recipes_keep_the_published_bytes_a_parameter),
        cmocka_unit_test(the_zero_papers_table),
        cmocka_unit_test(megatrons_own_report_to_the_byte),
        cmocka_unit_test(megatrons_unit_test_of_experts),
        cmocka_unit_test(first_stages_of_korthikantis_models),
        cmocka_unit_test(logits_of_a_long_sequence),
        cmocka_unit_test(chunks_of_a_loss_hold_a_chunk),
        cmocka_unit_test(a_gathered_vocabulary_is_whole),
        cmocka_unit_test(dtensor_cuts_the_loss_and_holds_more_of_it),
        cmocka_unit_test(layers_in_flight_by_schedule),
        cmocka_unit_test(weight_gradients_keep_32_of_34_sbh),
        cmocka_unit_test(lora_trains_its_own_matrices_only),
        cmocka_unit_test(what_is_offloaded_lies_on_the_host),
        cmocka_unit_test(resharding_and_the_masters_shard),
        cmocka_unit_test(a_pipeline_keeps_whole_gradients),
        cmocka_unit_test(no_sync_keeps_whole_gradients),
        cmocka_unit_test(what_was_gathered_is_kept_whole),
        cmocka_unit_test(sizes_round_as_pytorchs_allocator_rounds_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
