/* FLOPs and parameters of the catalogue's models against the published numbers and formulas, to
 * the last digit where they are exact. Per token; GPU rates are peaks of dense products.
 *
 * A model is read from the catalogue and, where the published number is of a variant, changed by
 * an assignment as `--set model.KEY=VALUE` would.
 */
#include "base/arena.h"
#include "plan/cost.h"
#include "input/catalogue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/fixture.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- building blocks ------------------------------------------------------------- */

/* MHA with n d = h: 8 h^2; GELU 4 h f; core 4 n d s, a causal mask skips half. h 12288, s 2048. */
static void a_gpt_layer_has_the_flops_of_its_blocks(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model model = fixture_model(arena, "gpt3-175b", NULL);
    const struct layer_flop flop = cost_layer_flop(&model, model_layer(&model, 0), 2048);
    const double h = 12288.0;
    assert_close(flop.attention_linear, 8.0 * h * h, 0.0);
    assert_close(flop.mlp, 4.0 * h * 49152.0, 0.0);
    assert_close(flop.core_full, 4.0 * h * 2048.0, 0.0);
    assert_close(flop.core_causal, 2.0 * h * 2048.0, 0.0);
    assert_close(flop.experts + flop.shared + flop.router + flop.mtp, 0.0, 0.0);
    arena_free(arena);
}

/* GQA: 2 h d (n + 2 kv) + 2 n d h; SwiGLU 6 h f. h 4096, n 32, kv 8, d 128, f 14336. */
static void a_llama_layer_has_the_flops_of_its_blocks(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model model = fixture_model(arena, "llama3-8b", NULL);
    const struct layer_flop flop = cost_layer_flop(&model, model_layer(&model, 0), 8192);
    assert_close(flop.attention_linear, 2.0 * 4096 * 128 * 48 + 2.0 * 32 * 128 * 4096, 0.0);
    assert_close(flop.mlp, 6.0 * 4096 * 14336, 0.0);
    arena_free(arena);
}

/* MLA: 2 [h q_r + q_r n (d_n + d_r) + h (kv_r + d_r) + kv_r n (d_n + d_v) + n d_v h]; core 2 n
 * (d_n + d_r + d_v) s, half of it causal; experts 6 h f_e k, shared 6 h f_e, router 2 h E. h 7168,
 * n 128, q_r 1536, kv_r 512, d 128 + 64, d_v 128, f_e 2048, k 8, E 256. */
static void a_deepseek_layer_has_the_flops_of_its_blocks(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model model = fixture_model(arena, "deepseek-v3", NULL);
    const struct layer_kind *kind = model_layer(&model, 60);
    const struct layer_flop flop = cost_layer_flop(&model, kind, 4096);
    const double h = 7168;
    const double weights =
        h * 1536 + 1536.0 * 128 * 192 + h * 576 + 512.0 * 128 * 256 + 128.0 * 128 * h;
    assert_true(kind->has_experts && kind->head_dim == 192 && kind->value_dim == 128);
    assert_close(flop.attention_linear, 2 * weights, 0.0);
    assert_close(flop.core_full, 2.0 * 128 * (192 + 128) * 4096, 0.0);
    assert_close(flop.core_causal, 128.0 * (192 + 128) * 4096, 0.0);
    assert_close(flop.experts, 6 * h * 2048 * 8, 0.0);
    assert_close(flop.shared, 6 * h * 2048, 0.0);
    assert_close(flop.router, 2 * h * 256, 0.0);
    assert_close(flop.mlp, 0.0, 0.0);
    arena_free(arena);
}

/* A sequence of 8,000 tokens holds two documents of 1,000 and two of 3,000: 2,000 in the mean, with
 * a standard deviation of 1,000. Their tokens see 2 (1000 x 1000 / 2 + 3000 x 3000 / 2) / 8000 =
 * 1,250 keys in the mean, half of 2,000 x (1 + 0.5 x 0.5). Without the triangle all 2,500. */
static void tokens_see_half_of_their_own_document(void **state)
{
    (void)state;
    struct layer_kind kind = {.is_causal = true, .document = 2500};
    assert_close(cost_mean_keys(&kind, 8000),
                 2.0 * (1000.0 * 1000.0 + 3000.0 * 3000.0) / 2.0 / 8000.0, 0.0);
    assert_int_equal(cost_reach(&kind, 8000), 2500);
    assert_int_equal(cost_reach(&kind, 2000), 2000); /* a document is no longer than the sequence */
    assert_close(cost_mean_keys(&kind, 2000), 1000.0, 0.0);
    kind.window = 2500; /* as long as the document: none */
    assert_close(cost_mean_keys(&kind, 8000), 1250.0, 0.0);
    kind.window = 1;
    assert_close(cost_mean_keys(&kind, 8000), 1.0, 0.0);
    kind = (struct layer_kind){.document = 2500};
    assert_close(cost_mean_keys(&kind, 8000), 2500.0, 0.0);
}

/* Keys that a query sees in the mean: window 128 of 4096: the first 128 see 1 ... 128, all others
 * 128: (128 x 129 / 2 + 3968 x 128) / 4096 = 126.015625. A window as long as the sequence is none.
 * Without a causal mask all 4096. */
static void a_window_shortens_the_mean_of_keys(void **state)
{
    (void)state;
    struct layer_kind kind = {.is_causal = true, .window = 128};
    assert_close(cost_mean_keys(&kind, 4096), 126.015625, 0.0);
    double sum = 0;
    for (int query = 1; query <= 4096; query++) {
        sum += query < 128 ? query : 128;
    }
    assert_close(cost_mean_keys(&kind, 4096), sum / 4096, 0.0);
    kind.window = 4096;
    assert_close(cost_mean_keys(&kind, 4096), 2048.0, 0.0);
    kind.is_causal = false;
    assert_close(cost_mean_keys(&kind, 4096), 4096.0, 0.0);
}

/* ---- worked numbers of whole models ---------------------------------------------- */

struct flop_case {
    const char *model, *set;
    int64_t length;
    double linear, logits, core_full, train_full, train_causal;
    double six_active; /* as rounded in the table */
};

static const struct flop_case flop_cases[] = {
    {"gpt3-175b", "vocab=51200", 2048, 347892350976, 1258291200, 9663676416, 1076442955776,
     1061947441152, 1.04770e12},
    {"llama3-8b", NULL, 8192, 13958643712, 1050673152, 4294967296, 57912852480, 51470401536,
     4.8182e10},
    {"llama3-70b", NULL, 8192, 136902082560, 2101346304, 21474836480, 481434796032, 449222541312,
     4.23322e11},
    {"llama3-405b", NULL, 8192, 803293102080, 4202692608, 67645734912, 2625424588800, 2523955986432,
     2.43512e12},
    {"llama3-405b", NULL, 131072, 803293102080, 4202692608, 1082331758592, 5669482659840,
     4045985021952, 2.43512e12},
    {"mixtral-8x7b", NULL, 4096, 25232932864, 262144000, 2147483648, 82927681536, 79706456064,
     7.7280e10},
    {"deepseek-v3", "mtp_layers=0", 4096, 71182974976, 1853358080, 20468203520, 280513609728,
     249811304448, 2.25314e11},
    {"gpt-oss-120b", NULL, 4096, 9077391360, 1158266880, 1245708288, 34444099584, 32630404608,
     3.4272e10},
};

/* Every integer is below 2^53, so that equality is exact. */
static void flops_per_token_agree_to_the_last_digit(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    for (size_t i = 0; i < LENGTH(flop_cases); i++) {
        const struct flop_case *c = &flop_cases[i];
        const struct model model = fixture_model(arena, c->model, c->set);
        const struct token_flop flop = cost_token_flop(&model, c->length);
        assert_close(flop.linear, c->linear, 0.0);
        assert_close(flop.logits, c->logits, 0.0);
        assert_close(flop.core_full, c->core_full, 0.0);
        assert_close(cost_train_flop_full(&flop), c->train_full, 0.0);
        assert_close(cost_train_flop_causal(&flop), c->train_causal, 0.0);
        assert_close(cost_train_flop(&model, c->length, 1, FLOP_CAUSAL), c->train_causal, 0.0);
        assert_close(cost_train_flop(&model, c->length, 1, FLOP_6ND), c->six_active, 2e-5);
    }
    arena_free(arena);
}

/* The router is beside the model's FLOPs: of DeepSeek-V3 58 layers x 7168 x 256 = 106,430,464
 * products a token, of gpt-oss 36 x 2880 x 128. */
static void the_router_is_counted_beside(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model deepseek = fixture_model(arena, "deepseek-v3", "mtp_layers=0");
    const struct model oss = fixture_model(arena, "gpt-oss-120b", NULL);
    assert_close(cost_token_flop(&deepseek, 4096).router, 2 * 106430464.0, 0.0);
    assert_close(cost_token_flop(&oss, 4096).router, 2.0 * 36 * 2880 * 128, 0.0);
    arena_free(arena);
}

/* Parts of a model add up to the whole, whatever its kinds of layers. */
static void modules_add_up_to_the_linear_part(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    for (size_t i = 0; i < LENGTH(flop_cases); i++) {
        const struct model model = fixture_model(arena, flop_cases[i].model, flop_cases[i].set);
        const struct layer_flop sum = cost_module_flop(&model, 4096);
        assert_close(sum.attention_linear + sum.mlp + sum.experts + sum.shared + sum.mtp,
                     cost_token_flop(&model, 4096).linear, 0.0);
    }
    arena_free(arena);
}

struct parameter_case {
    const char *model, *set;
    int64_t total, active;
};

/* Closed forms: Llama L [hd(n + 2 kv) + ndh + 3hf + 2h] + h + 2Vh; GPT 12Lh^2 + 13Lh + (V + s)h +
 * 2h; with experts 3hf becomes 3 h f_e (E + shared) + hE. */
static void parameters_agree_to_the_last_digit(void **state)
{
    (void)state;
    static const struct parameter_case cases[] = {
        {"gpt3-175b", NULL, 174604259328, 174604259328},
        {"gpt3-175b", "vocab=51200", 174615846912, 174615846912},
        {"llama3-8b", NULL, 8030261248, 8030261248},
        {"llama3-70b", NULL, 70553706496, 70553706496},
        {"llama3-405b", NULL, 405853388800, 405853388800},
        {"mixtral-8x7b", NULL, 46702792704, 12879925248},
        {"deepseek-v3", NULL, 671026419200, 37552297472},
        {"gpt-oss-120b", NULL, 116829156672, 5711982912},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct model model = fixture_model(arena, cases[i].model, cases[i].set);
        const struct parameter_count count = cost_parameters(&model);
        assert_int_equal(count.total, cases[i].total);
        assert_int_equal(count.active, cases[i].active);
    }
    arena_free(arena);
}

/* One layer of multi-token prediction: the last layer again (11,507,286,272), a projection 2h x h
 * and three norms of h = 7168: 11,610,068,224; with it 682,636,487,424. Without the input's
 * embedding a token meets 36,625,618,432; of gpt-oss 5,132,849,472. */
static void deepseek_v3_has_its_published_parts(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model model = fixture_model(arena, "deepseek-v3", NULL);
    const struct parameter_count count = cost_parameters(&model);
    const struct model oss = fixture_model(arena, "gpt-oss-120b", NULL);
    const struct parameter_count of_oss = cost_parameters(&oss);
    assert_int_equal(count.mtp, 11610068224);
    assert_int_equal(count.mtp, 11507286272 + 2 * 7168 * 7168 + 3 * 7168);
    assert_int_equal(count.total + count.mtp, 682636487424);
    assert_int_equal(count.active - count.embedding, 36625618432);
    assert_int_equal(of_oss.active - of_oss.embedding, 5132849472);
    arena_free(arena);
}

/* ---- conventions of papers ------------------------------------------------------- */

/* What Megatron-LM's num_floating_point_operations returned when it was run on these shapes
 * (training.py at d98e8a64), a token, vocabulary already a multiple of 128. */
static void megatrons_own_count_comes_out(void **state)
{
    (void)state;
    static const struct {
        const char *model, *set;
        int64_t length;
        double flop;
    } cases[] = {
        {"gpt3-175b", "vocab=51200", 2048, 1061947441152},
        {"llama3-8b", NULL, 8192, 51470401536},
        {"llama3-405b", NULL, 8192, 2523955986432},
        {"mixtral-8x7b", NULL, 4096, 79706456064},
        {"deepseek-v3", "mtp_layers=0", 4096, 249812054016},
        {"deepseek-v3", NULL, 4096, 259992950784},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct model model = fixture_model(arena, cases[i].model, cases[i].set);
        assert_close(cost_train_flop(&model, cases[i].length, 1, FLOP_MEGATRON), cases[i].flop,
                     0.0);
    }
    arena_free(arena);
}

/* A vocabulary of 50257 is padded to 50304 on one GPU and to 51200 on eight: 6 h more a row. */
static void megatrons_count_is_of_the_padded_vocabulary(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model model = fixture_model(arena, "gpt3-175b", NULL);
    const double ours = cost_train_flop(&model, 2048, 8, FLOP_CAUSAL);
    assert_close(cost_train_flop(&model, 2048, 8, FLOP_MEGATRON), 1061947441152, 0.0);
    assert_close(cost_train_flop(&model, 2048, 1, FLOP_MEGATRON) - ours, 6.0 * 12288 * 47, 1e-9);
    arena_free(arena);
}

/* PaLM-540B: 238.3e3 tokens/s on 6144 TPU v4 of 275e12: 46.23 % with attention (published 46.2),
 * 45.73 % without (45.7). One layer norm a layer (parallel MLP), no biases: a norm of `rmsnorm`. */
static void palms_utilisation_comes_out(void **state)
{
    (void)state;
    struct model palm = {.layers = 118,
                         .hidden = 18432,
                         .ffn_hidden = 73728,
                         .heads = 48,
                         .kv_heads = 1,
                         .head_dim = 256,
                         .vocab = 256000,
                         .max_positions = 2048,
                         .mlp = MLP_SWIGLU,
                         .norm = NORM_RMSNORM,
                         .positions = POSITION_ROTARY,
                         .has_tied_embeddings = true};
    model_finish(&palm);
    const double per_s = 238.3e3 / (6144 * 275e12);
    assert_close((double)cost_parameters(&palm).total, 540.35e9, 1e-4);
    assert_close(per_s * cost_train_flop(&palm, 2048, 1, FLOP_PALM), 0.4623, 1e-4);
    assert_close(per_s * cost_train_flop(&palm, 2048, 1, FLOP_6ND), 0.4573, 1e-4);
}

/* llm-foundry counts 6 N + 12 L h s, PaLM's way. MPT-70B on H100 (989.5e12): 1007 tokens/s a GPU is
 * 41.25 % and 408 TFLOP/s; with everything recomputed 4/3 of it is executed, 55.0 %. */
static void llm_foundrys_utilisation_comes_out(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model model = fixture_model(arena, "mpt-70b", NULL);
    assert_int_equal(cost_parameters(&model).total, 64862437376);
    const double rate = 1007 * cost_train_flop(&model, 2048, 1, FLOP_PALM);
    assert_close(rate, 408.1e12, 2e-4);
    assert_close(rate / 989.5e12, 0.41245, 2e-5);
    assert_close(rate / 989.5e12 * 4 / 3, 0.5499, 1e-4);
    arena_free(arena);
}

/* Narayanan et al. 2021: eq. 3 with full recompute 96 B s L h^2 (1 + s/6h + V/16Lh) = 4.51097e18
 * for B 1536, without 3.38620e18; P = 12 L h^2 (1 + 13/12h + (V + s)/12Lh) leaves out the final
 * norm's 2h. 8 T P / (n X) with 300e9 tokens, 175e9 parameters, 1024 GPUs of 140e12: 33.9 days. */
static void the_megatron_papers_formulas_come_out(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model model = fixture_model(arena, "gpt3-175b", "vocab=51200");
    const struct token_flop flop = cost_token_flop(&model, 2048);
    const double tokens = 1536.0 * 2048;
    const double again = flop.linear + flop.core_full;
    assert_close(tokens * cost_train_flop_full(&flop), 3.38620e18, 2e-6);
    assert_close(tokens * (cost_train_flop_full(&flop) + again), 4.51097e18, 2e-6);
    assert_int_equal(cost_parameters(&model).total - INT64_C(2) * 12288, 174615822336);
    assert_close(8.0 * 300e9 * 175e9 / (1024 * 140e12) / 86400, 33.9, 1e-3);
    arena_free(arena);
}

/* Korthikanti et al. 2022: hardware over model FLOPs with selective recompute, as their table's
 * HFU over MFU, is (1 + s/3h + V/12hL) / (1 + s/6h + V/12hL): the core of attention is counted
 * half as much again, s/6h of 72 B L s h^2, three times what one more forward core costs. */
static void korthikantis_ratio_comes_out(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double ratio;
    } cases[] = {
        {"gpt-22b", 1.0519}, {"gpt3-175b", 1.0269}, {"gpt-530b", 1.0164}, {"gpt-1t", 1.0131}};
    struct arena *arena = arena_new();
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct model model = fixture_model(arena, cases[i].model, "vocab=51200");
        const struct token_flop flop = cost_token_flop(&model, 2048);
        const double model_flop = cost_train_flop_full(&flop);
        assert_close((model_flop + 3.0 * flop.core_full) / model_flop, cases[i].ratio, 1e-4);
    }
    arena_free(arena);
}

/* ---- anchors: throughput and FLOPs ----------------------------------------------- */

/* DeepSeek-V3 (arXiv 2505.09343, table 4): 15360 x 4096 tokens in 19.926 s on 2048 GPUs of 989e12:
 * 272.80e9 tokens a day, 432 TFLOP/s and 43.73 % with the full mask, 385 and 38.94 % causal; 180K
 * GPU-hours for 1e12 tokens. */
static void deepseeks_table_comes_out(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model model = fixture_model(arena, "deepseek-v3", "mtp_layers=0");
    const struct token_flop flop = cost_token_flop(&model, 4096);
    const double per_s = 15360.0 * 4096 / 19.926;
    const double full = per_s / 2048 * cost_train_flop_full(&flop);
    const double causal = per_s / 2048 * cost_train_flop_causal(&flop);
    assert_close(per_s * 86400, 272.80e9, 1e-4);
    assert_close(full, 432.47e12, 2e-5);
    assert_close(causal, 385.14e12, 2e-5);
    assert_close(full / 989e12, 0.4373, 1e-4);
    assert_close(causal / 989e12, 0.3894, 1e-4);
    assert_close(2048 * 1e12 / per_s / 3600, 180176, 1e-5);
    arena_free(arena);
}

/* Megatron-LM's table of Llama 3 in fp8 (examples/llama): tokens/s and TFLOP/s of a GPU are those
 * of the full mask: 57.9, 481.2 and 2647.6 GFLOP a token; the last is 0.85 % above ours. */
static void megatrons_llama_table_counts_the_full_mask(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double tokens_per_s, flop_per_s, tolerance;
    } cases[] = {{"llama3-8b", 13812, 800e12, 7e-4},
                 {"llama3-70b", 1621, 780e12, 7e-4},
                 {"llama3-405b", 315, 834e12, 9e-3}};
    struct arena *arena = arena_new();
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct model model = fixture_model(arena, cases[i].model, NULL);
        const struct token_flop flop = cost_token_flop(&model, 8192);
        assert_close(cases[i].flop_per_s / cases[i].tokens_per_s, cost_train_flop_full(&flop),
                     cases[i].tolerance);
    }
    arena_free(arena);
}

/* Llama 3 405B: 16,777,216 tokens a step; 8192 GPUs of 430 TFLOP/s take 12.02 s causal or 12.50 s
 * with the full mask, 16384 of 400 TFLOP/s 6.46 and 6.72 s. 6 N D of 15.6e12 tokens: 3.7988e25. */
static void llama3_405bs_steps_come_out(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model model = fixture_model(arena, "llama3-405b", NULL);
    const struct token_flop flop = cost_token_flop(&model, 8192);
    const double causal = 16777216.0 * cost_train_flop_causal(&flop);
    const double full = 16777216.0 * cost_train_flop_full(&flop);
    assert_close(causal / (8192 * 430e12), 12.02, 5e-4);
    assert_close(full / (8192 * 430e12), 12.50, 5e-4);
    assert_close(causal / (16384 * 400e12), 6.46, 1e-3);
    assert_close(full / (16384 * 400e12), 6.72, 1e-3);
    assert_close(15.6e12 * cost_train_flop(&model, 8192, 1, FLOP_6ND), 3.7988e25, 1e-5);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpt_layer_has_the_flops_of_its_blocks),
        cmocka_unit_test(a_llama_layer_has_the_flops_of_its_blocks),
        cmocka_unit_test(a_deepseek_layer_has_the_flops_of_its_blocks),
        cmocka_unit_test(tokens_see_half_of_their_own_document),
        cmocka_unit_test(a_window_shortens_the_mean_of_keys),
        cmocka_unit_test(flops_per_token_agree_to_the_last_digit),
        cmocka_unit_test(the_router_is_counted_beside),
        cmocka_unit_test(modules_add_up_to_the_linear_part),
        cmocka_unit_test(parameters_agree_to_the_last_digit),
        cmocka_unit_test(deepseek_v3_has_its_published_parts),
        cmocka_unit_test(megatrons_own_count_comes_out),
        cmocka_unit_test(megatrons_count_is_of_the_padded_vocabulary),
        cmocka_unit_test(palms_utilisation_comes_out),
        cmocka_unit_test(llm_foundrys_utilisation_comes_out),
        cmocka_unit_test(the_megatron_papers_formulas_come_out),
        cmocka_unit_test(korthikantis_ratio_comes_out),
        cmocka_unit_test(deepseeks_table_comes_out),
        cmocka_unit_test(megatrons_llama_table_counts_the_full_mask),
        cmocka_unit_test(llama3_405bs_steps_come_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
