/* Hugging Face's config.json as a model: shapes by the parameters of public checkpoints, the
 * meaning of missing and null keys, and what a model file cannot say. Wrong files and their
 * messages are in tests/bad_input/hf_*. */
#include "input/formats/hf_config.h"

#include "base/arena.h"
#include "plan/cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct doc_node *convert(struct arena *arena, const char *json, struct diag *diag)
{
    const struct doc_node *root = doc_parse(arena, "config.json", json, strlen(json), diag);
    return root != NULL ? hf_config_read(arena, root, "models/tiny/config.json", diag) : NULL;
}

static struct parameter_count count_of(struct arena *arena, const char *json)
{
    struct diag *diag = diag_new(arena);
    const struct doc_node *node = convert(arena, json, diag);
    struct assumptions assumptions;
    struct model model = {0};
    assumptions_init(&assumptions, arena);
    const bool is_read = node != NULL && model_read(node, &model, &assumptions, diag);
    if (!is_read) {
        diag_print(diag, stderr);
    }
    assert_true(is_read);
    return cost_parameters(&model);
}

/* What a config becomes, as one line of YAML. */
static const char *text_of(struct arena *arena, const char *json)
{
    struct diag *diag = diag_new(arena);
    const struct doc_node *node = convert(arena, json, diag);
    if (node == NULL) {
        diag_print(diag, stderr);
    }
    assert_non_null(node);
    return doc_to_text(arena, node);
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        print_error("%s\nhas no '%s'\n", text, part);
    }
    assert_non_null(strstr(text, part));
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part) != NULL) {
        print_error("%s\nhas '%s'\n", text, part);
    }
    assert_null(strstr(text, part));
}

/* All that is printed, notes included. */
static char *messages_of(struct arena *arena, const char *json)
{
    struct diag *diag = diag_new(arena);
    const struct doc_node *node = convert(arena, json, diag);
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *out = open_memstream(&text, &size_bytes);
    assert_non_null(out);
    diag_print(diag, out);
    fclose(out);
    char *kept = arena_strdup(arena, text);
    free(text);
    assert_true((node == NULL) == diag_has_error(diag));
    return kept;
}

/* ---- parameters --------------------------------------------------------------------- */

/* Totals of the checkpoints on the hub, less what the note says a model file leaves out:
 *   gemma-2-9b     9,241,705,984 less 2 of 4 norms: 2 * 42 * 3584
 *   Qwen1.5-MoE    14,315,784,192 less 24 gates of the shared expert of 2048 each
 *   OLMo-7B        6,888,095,744 and 2 * 32 + 1 norms of 4096, which have no weights there
 *   OLMo-2-7B      7,298,617,344 less 2 * 32 norms over 4096 instead of 128
 * A file with nothing but a model_type is the class's defaults: for most classes the first
 * model of the family. */
static const struct {
    const char *json;
    int64_t total;
} checkpoints[] = {
    {"{'model_type': 'llama'}", 6738415616},   /* Llama 2 7B */
    {"{'model_type': 'mistral'}", 7241732096}, /* 7B */
    {"{'model_type': 'mixtral'}", 46702792704},
    {"{'model_type': 'gpt2'}", 124439808},
    {"{'model_type': 'gpt_neox'}", 20554567680}, /* 20B */
    {"{'model_type': 'gemma'}", 8537680896},     /* 7B */
    {"{'model_type': 'phi3'}", 3821079552},      /* Phi-3-mini */
    {"{'model_type': 'deepseek_v3'}", 671026419200},
    {"{'model_type': 'gpt_oss'}", 116829156672},
    {"{'model_type': 'gpt_oss', 'num_hidden_layers': 24, 'num_local_experts': 32}", 20914757184},
    {"{'model_type': 'qwen2_moe'}", 14315784192 - 24 * 2048},
    {"{'model_type': 'olmo'}", 6888095744 + 65 * 4096},
    {"{'model_type': 'olmo2', 'vocab_size': 100352}", 7298617344 - 32 * 2 * (4096 - 128)},
    {"{'model_type': 'llama', 'num_hidden_layers': 80, 'hidden_size': 8192,"
     " 'num_attention_heads': 64, 'num_key_value_heads': 8, 'intermediate_size': 28672,"
     " 'vocab_size': 128256, 'max_position_embeddings': 8192, 'rms_norm_eps': 1e-05,"
     " 'torch_dtype': 'bfloat16', 'tie_word_embeddings': false}",
     70553706496}, /* Llama 3 70B */
    {"{'model_type': 'qwen2', 'hidden_size': 3584, 'intermediate_size': 18944,"
     " 'num_hidden_layers': 28, 'num_attention_heads': 28, 'num_key_value_heads': 4,"
     " 'vocab_size': 152064}",
     7615616512}, /* Qwen2 7B */
    {"{'model_type': 'qwen3', 'hidden_size': 4096, 'intermediate_size': 12288,"
     " 'num_hidden_layers': 36, 'num_attention_heads': 32, 'num_key_value_heads': 8,"
     " 'head_dim': 128}",
     8190735360}, /* Qwen3 8B */
    {"{'model_type': 'qwen3_moe', 'num_hidden_layers': 48, 'head_dim': 128,"
     " 'mlp_only_layers': [], 'dtype': 'bfloat16'}",
     30532122624}, /* Qwen3 30B-A3B */
    {"{'model_type': 'gemma2', 'hidden_size': 3584, 'intermediate_size': 14336,"
     " 'num_hidden_layers': 42, 'num_attention_heads': 16, 'num_key_value_heads': 8}",
     9241705984 - 2 * 42 * 3584},
    {"{'model_type': 'deepseek_v2', 'hidden_size': 2048, 'num_hidden_layers': 27,"
     " 'num_attention_heads': 16, 'intermediate_size': 10944, 'moe_intermediate_size': 1408,"
     " 'q_lora_rank': null, 'first_k_dense_replace': 1, 'moe_layer_freq': 1,"
     " 'num_experts_per_tok': 6, 'n_group': 1, 'topk_group': 1, 'vocab_size': 102400}",
     15706484224}, /* DeepSeek-V2-Lite */
    {"{'model_type': 'kimi_k2', 'num_attention_heads': 64, 'n_routed_experts': 384,"
     " 'first_k_dense_replace': 1, 'n_group': 1, 'topk_group': 1, 'vocab_size': 163840}",
     1026408232448},
    {"{'model_type': 'mpt', 'd_model': 4096, 'n_heads': 32, 'n_layers': 32,"
     " 'vocab_size': 50432, 'attn_config': {'alibi': true, 'attn_impl': 'torch'}}",
     6649286656}, /* MPT 7B */
    {"{'model_type': 'llama4', 'text_config': {'num_local_experts': 128,"
     " 'interleave_moe_layer_step': 2, 'model_type': 'llama4_text'}}",
     400711848960}, /* Maverick's decoder */
};

/* JSON in C is easier to read with the other quotes. */
static const char *json_of(struct arena *arena, const char *text)
{
    char *json = arena_strdup(arena, text);
    for (char *at = json; *at != '\0'; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    return json;
}

static void each_family_has_its_checkpoints_parameters(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof checkpoints / sizeof *checkpoints; i++) {
        const int64_t total = count_of(arena, json_of(arena, checkpoints[i].json)).total;
        if (total != checkpoints[i].total) {
            print_error("%s: %lld, not %lld\n", checkpoints[i].json, (long long)total,
                        (long long)checkpoints[i].total);
        }
        assert_int_equal(total, checkpoints[i].total);
    }
    arena_free(arena);
}

/* Oracles 2.1: 12,879,925,248 of Mixtral's, 37,552,297,472 of DeepSeek-V3's (without MTP), and
 * 5,711,982,912 of gpt-oss-120b's parameters meet a token, both embeddings counted. */
static void active_parameters_are_those_of_the_cards(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_int_equal(count_of(arena, "{\"model_type\": \"mixtral\"}").active, 12879925248);
    assert_int_equal(count_of(arena, "{\"model_type\": \"deepseek_v3\"}").active, 37552297472);
    assert_int_equal(count_of(arena, "{\"model_type\": \"gpt_oss\"}").active, 5711982912);
    arena_free(arena);
}

/* The hub's file of DeepSeek-V3 has a layer of multi-token prediction: 11,610,068,224 parameters
 * that the total leaves out, 682,636,487,424 with them; the class has none by default. */
static void multi_token_prediction_is_taken_from_the_file(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct parameter_count count =
        count_of(arena, "{\"model_type\": \"deepseek_v3\", \"num_nextn_predict_layers\": 1}");
    assert_int_equal(count.total + count.mtp, 682636487424);
    assert_int_equal(count_of(arena, "{\"model_type\": \"deepseek_v3\"}").mtp, 0);
    arena_free(arena);
}

/* ---- missing and null keys ---------------------------------------------------------- */

/* Mistral's class has a window of 4096; null takes it away. Llama's has as many heads for keys
 * as for queries, Mistral's 8, and null is the former in both. */
static void null_is_not_the_same_as_missing(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_has(text_of(arena, "{\"model_type\": \"mistral\"}"), "window: 4096");
    const char *text = text_of(arena, "{\"model_type\": \"mistral\", \"sliding_window\": null, "
                                      "\"num_key_value_heads\": null}");
    assert_lacks(text, "window");
    assert_has(text, "kv_heads: 32");
    assert_has(text_of(arena, "{\"model_type\": \"gpt2\", \"n_embd\": 1600, \"n_inner\": null}"),
               "ffn_hidden: 6400");
    arena_free(arena);
}

/* Gemma, GPT-2 and MPT tie by default, Llama does not; the file's word goes before. */
static void tied_embeddings_are_the_familys_default(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_has(text_of(arena, "{\"model_type\": \"llama\"}"), "tied_embeddings: false");
    assert_has(text_of(arena, "{\"model_type\": \"gemma\"}"), "tied_embeddings: true");
    assert_has(text_of(arena, "{\"model_type\": \"gpt2\"}"), "tied_embeddings: true");
    assert_has(text_of(arena, "{\"model_type\": \"mpt\"}"), "tied_embeddings: true");
    assert_has(text_of(arena, "{\"model_type\": \"llama\", \"tie_word_embeddings\": true}"),
               "tied_embeddings: true");
    /* of a model that reads images: the decoder's word, then the whole model's */
    assert_has(text_of(arena, "{\"model_type\": \"qwen3_vl\", \"text_config\": {}, "
                              "\"tie_word_embeddings\": true}"),
               "tied_embeddings: true");
    arena_free(arena);
}

/* DeepSeek's class sets head_dim to the rotary part; a file that repeats it means nothing. */
static void head_dim_of_latent_attention_is_ignored(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *text = text_of(arena, "{\"model_type\": \"deepseek_v3\", \"head_dim\": 64}");
    assert_lacks(text, "head_dim");
    assert_lacks(text, "kv_heads");
    assert_has(text, "latent: {q_rank: 1536, kv_rank: 512, nope_dim: 128, rope_dim: 64, "
                     "value_dim: 128}");
    assert_has(text, "expert_groups: 8, group_limit: 4");
    arena_free(arena);
}

/* ---- which layers ------------------------------------------------------------------- */

/* gpt-oss: every second layer from the first on. Qwen has its window only when the switch is on;
 * without max_window_layers in the way (0) all layers have it. */
static void windows_follow_layer_types_and_switches(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_has(text_of(arena, "{\"model_type\": \"gpt_oss\"}"), "window: 128, window_every: 2");
    assert_lacks(text_of(arena, "{\"model_type\": \"qwen2\", \"sliding_window\": 4096}"), "window");
    const char *all = text_of(arena, "{\"model_type\": \"qwen2\", \"use_sliding_window\": true, "
                                     "\"max_window_layers\": 0}");
    assert_has(all, "window: 4096");
    assert_lacks(all, "window_every");
    const char *third =
        text_of(arena, "{\"model_type\": \"gemma2\", \"num_hidden_layers\": 4, \"layer_types\": "
                       "[\"sliding_attention\", \"full_attention\", \"full_attention\", "
                       "\"sliding_attention\"]}");
    assert_has(third, "window: 4096, window_every: 3");
    arena_free(arena);
}

/* Gemma 3 has full attention in each sixth layer only, Llama 4 in each fourth (those without
 * rotary positions), whose chunks are as long as a window. */
static void full_attention_in_every_nth_layer_is_told(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *gemma3 = "{\"model_type\": \"gemma3_text\"}";
    assert_has(text_of(arena, gemma3), "window: 4096, full_every: 6");
    assert_lacks(messages_of(arena, gemma3), "taken as full");
    const char *llama4 = "{\"model_type\": \"llama4_text\"}";
    assert_has(text_of(arena, llama4), "window: 8192, full_every: 4");
    assert_lacks(messages_of(arena, llama4), "taken as full");
    assert_has(messages_of(arena, llama4), "attention in chunks is taken as a window");
    const char *listed = "{\"model_type\": \"llama4_text\", \"num_hidden_layers\": 4, "
                         "\"no_rope_layers\": [1, 1, 0, 1]}";
    assert_has(text_of(arena, listed), "window: 8192, full_every: 3");
    arena_free(arena);
}

/* Full, window, full, full: neither every n-th layer has the window, nor all but every n-th. */
static void a_pattern_that_a_model_file_cannot_tell_is_noted(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *odd = "{\"model_type\": \"gemma2\", \"num_hidden_layers\": 4, \"layer_types\": "
                      "[\"full_attention\", \"sliding_attention\", \"full_attention\", "
                      "\"full_attention\"]}";
    assert_lacks(text_of(arena, odd), "window");
    assert_has(messages_of(arena, odd), "in 1 of 4 a query sees at most 4096 keys");
    arena_free(arena);
}

/* MPT's norms have biases when no_bias is false. Others' layer norms always have them. */
static void norms_without_biases_are_told(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_has(text_of(arena, "{\"model_type\": \"mpt\"}"), "norm_biases: false");
    assert_lacks(text_of(arena, "{\"model_type\": \"mpt\", \"no_bias\": false}"), "norm_biases");
    const char *neox = "{\"model_type\": \"gpt_neox\", \"attention_bias\": false}";
    assert_lacks(text_of(arena, neox), "norm_biases");
    arena_free(arena);
}

/* Layers 3, 5, 7 of 8 (from 0): two dense ones, then every second. */
static void experts_follow_lists_and_steps(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *text = text_of(arena, "{\"model_type\": \"qwen3_moe\", \"num_hidden_layers\": 8, "
                                      "\"num_experts\": 16, \"decoder_sparse_step\": 2, "
                                      "\"mlp_only_layers\": [1]}");
    assert_has(text, "experts: 16, experts_per_token: 8, expert_hidden: 768, dense_layers: 2, "
                     "expert_every: 2");
    assert_has(text_of(arena, "{\"model_type\": \"qwen3_moe\", \"num_local_experts\": 64}"),
               "experts: 64");
    assert_lacks(text_of(arena, "{\"model_type\": \"qwen3_moe\", \"num_experts\": 0}"), "expert");
    arena_free(arena);
}

/* ---- models that read images -------------------------------------------------------- */

/* Older files of Qwen2-VL have the decoder's keys at the top. */
static void the_decoder_is_found_and_the_rest_is_noted(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *nested = "{\"model_type\": \"mistral3\", \"text_config\": {\"model_type\": "
                         "\"mistral\", \"hidden_size\": 5120}, \"vision_config\": {}}";
    assert_has(text_of(arena, nested), "hidden: 5120");
    assert_has(messages_of(arena, nested),
               "note: of this mistral3 only the decoder is taken, not what reads images");
    const char *flat = "{\"model_type\": \"qwen2_vl\", \"hidden_size\": 3584, "
                       "\"num_attention_heads\": 28, \"vision_config\": {}}";
    assert_has(text_of(arena, flat), "hidden: 3584");
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_family_has_its_checkpoints_parameters),
        cmocka_unit_test(active_parameters_are_those_of_the_cards),
        cmocka_unit_test(multi_token_prediction_is_taken_from_the_file),
        cmocka_unit_test(null_is_not_the_same_as_missing),
        cmocka_unit_test(tied_embeddings_are_the_familys_default),
        cmocka_unit_test(head_dim_of_latent_attention_is_ignored),
        cmocka_unit_test(windows_follow_layer_types_and_switches),
        cmocka_unit_test(full_attention_in_every_nth_layer_is_told),
        cmocka_unit_test(a_pattern_that_a_model_file_cannot_tell_is_noted),
        cmocka_unit_test(norms_without_biases_are_told),
        cmocka_unit_test(experts_follow_lists_and_steps),
        cmocka_unit_test(the_decoder_is_found_and_the_rest_is_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
