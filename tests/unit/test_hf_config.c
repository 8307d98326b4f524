/* Hugging Face's config.json as a model: shapes by the parameters of public checkpoints, the
 * meaning of missing and null keys, and what a model file cannot say. Wrong files and their
 * messages are in tests/bad_input/hf_*. */
#include "input/formats/hf_config.h"

#include "base/arena.h"
#include "input/formats/hf_types.h"
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
 * Types of tests/unit/data/import/hf_types.txt (tests/cli/import_hf.bats) are not repeated. */
struct checkpoint {
    const char *type;
    int layers, hidden, heads, kv_heads, head_dim, ffn, vocab, positions; /* 0: not in the file */
    const char *more;                                                     /* keys, with ', ' */
    int64_t total;
};

#define EXPERTS_OF_V2                                                                        \
    ", 'n_routed_experts': 64, 'num_experts_per_tok': 6, 'moe_intermediate_size': 1408, "    \
    "'n_shared_experts': 2, 'first_k_dense_replace': 1, 'moe_layer_freq': 1, 'n_group': 1, " \
    "'topk_group': 1, 'q_lora_rank': null, 'kv_lora_rank': 512, 'qk_nope_head_dim': 128, "   \
    "'qk_rope_head_dim': 64, 'v_head_dim': 128"
#define EXPERTS_OF_V3                                                                             \
    ", 'n_routed_experts': 256, 'num_experts_per_tok': 8, 'moe_intermediate_size': 2048, "        \
    "'n_shared_experts': 1, 'first_k_dense_replace': 3, 'n_group': 8, 'topk_group': 4, "          \
    "'q_lora_rank': 1536, 'kv_lora_rank': 512, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, " \
    "'v_head_dim': 128"
#define EXPERTS_OF_QWEN3                                                             \
    ", 'num_experts': 128, 'num_experts_per_tok': 8, 'moe_intermediate_size': 768, " \
    "'mlp_only_layers': [], 'dtype': 'bfloat16'"

static const struct checkpoint checkpoints[] = {
    {"llama", 32, 4096, 32, 0, 0, 11008, 32000, 2048, "", 6738415616}, /* Llama 2 7B */
    {"llama", 80, 8192, 64, 8, 0, 28672, 128256, 8192,
     ", 'rms_norm_eps': 1e-05, 'torch_dtype': 'bfloat16', 'tie_word_embeddings': false",
     70553706496}, /* Llama 3 70B */
    {"mistral", 32, 4096, 32, 8, 0, 14336, 32000, 32768, ", 'sliding_window': 4096", 7241732096},
    {"mixtral", 32, 4096, 32, 8, 0, 14336, 32000, 32768,
     ", 'num_local_experts': 8, 'num_experts_per_tok': 2", 46702792704},
    {"gpt2", 12, 768, 12, 0, 0, 0, 50257, 1024, "", 124439808},
    {"gpt_neox", 44, 6144, 64, 0, 0, 24576, 50432, 2048, "", 20554567680}, /* 20B */
    {"gemma", 28, 3072, 16, 16, 256, 24576, 256000, 8192, "", 8537680896}, /* 7B */
    {"phi3", 32, 3072, 32, 32, 0, 8192, 32064, 4096, "", 3821079552},      /* Phi-3-mini */
    {"gpt_oss", 36, 2880, 64, 8, 64, 2880, 201088, 131072,
     ", 'sliding_window': 128, 'num_local_experts': 128, 'num_experts_per_tok': 4", 116829156672},
    {"gpt_oss", 24, 2880, 64, 8, 64, 2880, 201088, 131072,
     ", 'sliding_window': 128, 'num_local_experts': 32, 'experts_per_token': 4", 20914757184},
    {"qwen2_moe", 24, 2048, 16, 16, 0, 5632, 151936, 8192,
     ", 'num_experts': 60, 'num_experts_per_tok': 4, 'moe_intermediate_size': 1408, "
     "'shared_expert_intermediate_size': 5632, 'use_sliding_window': false",
     14315784192 - 24 * 2048},
    {"olmo", 32, 4096, 32, 0, 0, 11008, 50304, 2048, "", 6888095744 + 65 * 4096},
    {"olmo2", 32, 4096, 32, 0, 0, 11008, 100352, 4096, "", 7298617344 - 32 * 2 * (4096 - 128)},
    {"qwen2", 28, 3584, 28, 4, 0, 18944, 152064, 32768, "", 7615616512},   /* 7B */
    {"qwen3", 36, 4096, 32, 8, 128, 12288, 151936, 40960, "", 8190735360}, /* 8B */
    {"qwen3_moe", 48, 2048, 32, 4, 128, 6144, 151936, 40960, EXPERTS_OF_QWEN3,
     30532122624}, /* 30B-A3B */
    {"gemma2", 42, 3584, 16, 8, 256, 14336, 256000, 8192, ", 'sliding_window': 4096",
     9241705984 - 2 * 42 * 3584},
    {"deepseek_v2", 27, 2048, 16, 16, 0, 10944, 102400, 163840, EXPERTS_OF_V2,
     15706484224}, /* Lite */
    {"deepseek_v3", 61, 7168, 128, 128, 0, 18432, 129280, 163840, EXPERTS_OF_V3, 671026419200},
    {"mpt", 32, 4096, 32, 0, 0, 0, 50432, 0,
     ", 'max_seq_len': 2048, 'attn_config': {'alibi': true, 'attn_impl': 'torch'}",
     6649286656}, /* 7B */
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

static const char *number_of(struct arena *arena, const char *key, int value)
{
    return value > 0 ? arena_printf(arena, ", '%s': %d", key, value) : "";
}

/* A config.json of it, with `more` besides. */
static const char *config_of(struct arena *arena, const struct checkpoint *one, const char *more)
{
    const char *text = arena_printf(
        arena, "{'model_type': '%s'%s%s%s%s%s%s%s%s%s%s}", one->type,
        number_of(arena, "num_hidden_layers", one->layers),
        number_of(arena, "hidden_size", one->hidden),
        number_of(arena, "num_attention_heads", one->heads),
        number_of(arena, "num_key_value_heads", one->kv_heads),
        number_of(arena, "head_dim", one->head_dim),
        number_of(arena, "intermediate_size", one->ffn), number_of(arena, "vocab_size", one->vocab),
        number_of(arena, "max_position_embeddings", one->positions), one->more, more);
    return json_of(arena, text);
}

/* That of the first checkpoint of a type. */
static const char *config_with(struct arena *arena, const char *type, const char *more)
{
    for (size_t i = 0; i < sizeof checkpoints / sizeof *checkpoints; i++) {
        if (strcmp(checkpoints[i].type, type) == 0) {
            return config_of(arena, &checkpoints[i], more);
        }
    }
    fail_msg("there is no checkpoint of type %s", type);
    return NULL;
}

static void each_family_has_its_checkpoints_parameters(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof checkpoints / sizeof *checkpoints; i++) {
        const int64_t total = count_of(arena, config_of(arena, &checkpoints[i], "")).total;
        if (total != checkpoints[i].total) {
            print_error("%s: %lld, not %lld\n", checkpoints[i].type, (long long)total,
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
    assert_int_equal(count_of(arena, config_with(arena, "mixtral", "")).active, 12879925248);
    assert_int_equal(count_of(arena, config_with(arena, "deepseek_v3", "")).active, 37552297472);
    assert_int_equal(count_of(arena, config_with(arena, "gpt_oss", "")).active, 5711982912);
    arena_free(arena);
}

/* The hub's file of DeepSeek-V3 has a layer of multi-token prediction: 11,610,068,224 parameters
 * that the total leaves out, 682,636,487,424 with them. */
static void multi_token_prediction_is_taken_from_the_file(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct parameter_count count =
        count_of(arena, config_with(arena, "deepseek_v3", ", 'num_nextn_predict_layers': 1"));
    assert_int_equal(count.total + count.mtp, 682636487424);
    assert_int_equal(count_of(arena, config_with(arena, "deepseek_v3", "")).mtp, 0);
    arena_free(arena);
}

/* ---- missing and null keys ---------------------------------------------------------- */

/* Every row of the table, with nothing but its name, lacks its shapes, and says which: no number of
 * a class stands in for one. A window that is null is none; keys that are null are as many as
 * queries; GPT-2's MLP is four times as wide as hidden. */
static void a_shape_that_is_missing_is_an_error(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    uint32_t count = 0;
    for (const struct hf_type *type = hf_type_at(0); type != NULL; type = hf_type_at(++count)) {
        const char *json =
            arena_printf(arena, "{'model_type': '%s', 'text_config': {}}", type->type);
        const char *text = messages_of(arena, json_of(arena, json));
        assert_has(text, "error: ");
        assert_has(text, type->reason != NULL ? "cannot be read: it has " : "missing key '");
    }
    assert_true(count > 100);
    assert_has(text_of(arena, config_with(arena, "mistral", "")), "window: 4096");
    const struct checkpoint nulls = {
        "mistral", 32, 4096, 32, 0, 0, 14336, 32000, 32768, ", 'sliding_window': null", 0};
    assert_has(messages_of(arena, config_of(arena, &nulls, "")),
               "missing key 'num_key_value_heads'");
    const char *text = text_of(arena, config_of(arena, &nulls, ", 'num_key_value_heads': null"));
    assert_lacks(text, "window");
    assert_has(text, "kv_heads: 32");
    assert_has(text_of(arena, config_with(arena, "gpt2", ", 'n_inner': null")), "ffn_hidden: 3072");
    arena_free(arena);
}

/* Gemma 3 of 4B (its file has no heads and no vocabulary): 8, 4 and 262,208 of the class, told in
 * one note. */
static void what_files_of_a_type_leave_out_is_told(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *json =
        json_of(arena, "{'model_type': 'gemma3', 'text_config': {'model_type': 'gemma3_text', "
                       "'hidden_size': 2560, 'intermediate_size': 10240, 'num_hidden_layers': 34, "
                       "'sliding_window': 1024}, 'vision_config': {'hidden_size': 1152}}");
    assert_has(messages_of(arena, json),
               "not in the file, and taken as transformers does for a gemma3_text: "
               "num_attention_heads 8, num_key_value_heads 4, head_dim 256, vocab_size 262208, "
               "max_position_embeddings 131072, sliding_window_pattern 6");
    assert_int_equal(count_of(arena, json).total, 3880263168 - 2 * 34 * 2560);
    arena_free(arena);
}

/* Gemma, GPT-2 and MPT tie by default, Llama does not; the file's word goes before. */
static void tied_embeddings_are_the_familys_default(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_has(text_of(arena, config_with(arena, "qwen3", "")), "tied_embeddings: false");
    assert_has(text_of(arena, config_with(arena, "gemma", "")), "tied_embeddings: true");
    assert_has(text_of(arena, config_with(arena, "gpt2", "")), "tied_embeddings: true");
    assert_has(text_of(arena, config_with(arena, "mpt", "")), "tied_embeddings: true");
    assert_has(text_of(arena, config_with(arena, "qwen3", ", 'tie_word_embeddings': true")),
               "tied_embeddings: true");
    /* of a model that reads images: the decoder's word, then the whole model's */
    assert_has(text_of(arena, json_of(arena, "{'model_type': 'qwen3_vl', 'text_config': "
                                             "{'num_hidden_layers': 2, 'hidden_size': 64, "
                                             "'num_attention_heads': 4, 'num_key_value_heads': 2, "
                                             "'head_dim': 16, 'intermediate_size': 128, "
                                             "'vocab_size': 100, 'max_position_embeddings': 64}, "
                                             "'tie_word_embeddings': true}")),
               "tied_embeddings: true");
    arena_free(arena);
}

/* DeepSeek's class sets head_dim to the rotary part; a file that repeats it means nothing. */
static void head_dim_of_latent_attention_is_ignored(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *text = text_of(arena, config_with(arena, "deepseek_v3", ", 'head_dim': 64"));
    assert_lacks(text, "head_dim");
    assert_lacks(text, "kv_heads");
    assert_has(text, "latent: {q_rank: 1536, kv_rank: 512, nope_dim: 128, rope_dim: 64, "
                     "value_dim: 128}");
    assert_has(text, "expert_groups: 8, group_limit: 4");
    arena_free(arena);
}

/* ---- keys that are not understood ------------------------------------------------------ */

/* A number, a switch, a list and a mapping that a llama has not; those that are off, and what
 * changes no shape, are as if they were not there. */
static void what_looks_like_a_shape_is_refused_by_name(void **state)
{
    static const char *const wrong[] = {"'num_experts': 8",        "'gated_width': 3",
                                        "'use_output_gate': true", "'head_counts': [8, 16]",
                                        "'ffn_config': {'a': 1}",  "'sliding_window': 4096",
                                        "'layer_pattern': 'AAB'"};
    (void)state;
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *more = arena_printf(arena, ", %s", wrong[i]);
        const char *text = messages_of(arena, config_with(arena, "llama", more));
        assert_has(text, arena_printf(arena, "error: %.*s looks like a shape",
                                      (int)strcspn(wrong[i], ":"), wrong[i]));
    }
    assert_has(messages_of(arena, config_with(arena, "llama", ", 'mamba_d_state': 16")),
               "error: 'mamba_d_state' means state-space layers (Mamba), which a model file");
    const char *off = config_with(arena, "llama",
                                  ", 'num_experts': 0, 'ffn_config': {}, 'index_topk': null, "
                                  "'use_output_gate': false, 'head_counts': [], 'rope_theta': 1e4, "
                                  "'rope_scaling': {'factor': 8.0}, 'attention_multiplier': 0.1, "
                                  "'my_word': 'x', 'my_number': 3");
    assert_int_equal(count_of(arena, off).total, 6738415616);
    arena_free(arena);
}

/* A type that nobody knows, with all that a llama says; with a GELU it is no plain decoder. */
static void an_unknown_type_may_be_a_plain_decoder(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct checkpoint plain = {
        "newcomer", 32, 4096, 32, 32, 0, 11008, 32000, 2048, ", 'rms_norm_eps': 1e-5", 0};
    const char *silu = ", 'hidden_act': 'silu', 'tie_word_embeddings': false";
    assert_int_equal(count_of(arena, config_of(arena, &plain, silu)).total, 6738415616);
    assert_has(messages_of(arena, config_of(arena, &plain, silu)),
               "note: model_type 'newcomer' is not known: read as a plain decoder");
    assert_has(messages_of(arena, config_of(arena, &plain, ", 'hidden_act': 'silu'")),
               "no plain decoder: 'tie_word_embeddings' is missing");
    assert_has(messages_of(arena, config_of(arena, &plain, ", 'hidden_act': 'gelu'")),
               "no plain decoder: its activation is 'gelu'");
    arena_free(arena);
}

/* E5-Mistral, an embedding: 7,241,732,096 less an output matrix of 32000 x 4096. */
static void a_class_without_a_head_has_none(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *json = config_with(arena, "mistral", ", 'architectures': ['MistralModel']");
    assert_int_equal(count_of(arena, json).total, 7110660096);
    assert_has(messages_of(arena, json), "a MistralModel has no matrix to the vocabulary");
    json = config_with(arena, "mistral", ", 'architectures': ['MistralForCausalLM']");
    assert_int_equal(count_of(arena, json).total, 7241732096);
    arena_free(arena);
}

/* ---- which layers ------------------------------------------------------------------- */

/* gpt-oss: every second layer from the first on. Qwen has its window only when the switch is on;
 * without max_window_layers in the way (0) all layers have it. */
static void windows_follow_layer_types_and_switches(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_has(text_of(arena, config_with(arena, "gpt_oss", "")), "window: 128, window_every: 2");
    assert_lacks(text_of(arena, config_with(arena, "qwen2", ", 'sliding_window': 4096")), "window");
    const char *all = text_of(arena, config_with(arena, "qwen2",
                                                 ", 'use_sliding_window': true, 'sliding_window': "
                                                 "4096, 'max_window_layers': 0"));
    assert_has(all, "window: 4096");
    assert_lacks(all, "window_every");
    const struct checkpoint four = {
        "gemma2", 4, 256, 4, 4, 64, 512, 1000, 8192, ", 'sliding_window': 4096", 0};
    const char *third = text_of(arena, config_of(arena, &four,
                                                 ", 'layer_types': ['sliding_attention', "
                                                 "'full_attention', 'full_attention', "
                                                 "'sliding_attention']"));
    assert_has(third, "window: 4096, window_every: 3");
    arena_free(arena);
}

/* Embeddings of GTE and EmbeddingGemma: every token sees all. */
static void a_decoder_may_see_what_comes_after(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_lacks(text_of(arena, config_with(arena, "qwen2", ", 'is_causal': true")), "causal");
    assert_has(text_of(arena, config_with(arena, "qwen2", ", 'is_causal': false")),
               "causal: false");
    assert_has(text_of(arena, config_with(arena, "gemma", ", 'use_bidirectional_attention': true")),
               "causal: false");
    assert_lacks(
        text_of(arena, config_with(arena, "gemma", ", 'use_bidirectional_attention': 'vision'")),
        "causal");
    arena_free(arena);
}

/* Llama 4's small sister: experts in each layer, each of 8192, one of them shared. */
static const struct checkpoint llama4 = {
    "llama4_text",
    4,
    5120,
    40,
    8,
    128,
    0,
    202048,
    131072,
    ", 'intermediate_size': 8192, 'intermediate_size_mlp': 16384, 'num_local_experts': 16, "
    "'num_experts_per_tok': 1, 'interleave_moe_layer_step': 1, 'attention_chunk_size': 8192",
    0};

/* Gemma 3 has full attention in each sixth layer only, Llama 4 in each fourth (those without
 * rotary positions), whose chunks are as long as a window. */
static void full_attention_in_every_nth_layer_is_told(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct checkpoint gemma3 = {
        "gemma3_text", 12, 256, 4, 4, 64, 512, 1000, 8192, ", 'sliding_window': 4096", 0};
    const char *json = config_of(arena, &gemma3, "");
    assert_has(text_of(arena, json), "window: 4096, full_every: 6");
    assert_lacks(messages_of(arena, json), "taken as full");
    json = config_of(arena, &llama4, "");
    assert_has(text_of(arena, json), "window: 8192, full_every: 4");
    assert_lacks(messages_of(arena, json), "taken as full");
    assert_has(messages_of(arena, json), "attention in chunks is taken as a window");
    json = config_of(arena, &llama4, ", 'no_rope_layers': [1, 1, 0, 1]");
    assert_has(text_of(arena, json), "window: 8192, full_every: 3");
    arena_free(arena);
}

/* Full, window, full, full: neither every n-th layer has the window, nor all but every n-th. */
static void a_pattern_that_a_model_file_cannot_tell_is_noted(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct checkpoint four = {
        "gemma2", 4, 256, 4, 4, 64, 512, 1000, 8192, ", 'sliding_window': 4096", 0};
    const char *odd = config_of(arena, &four,
                                ", 'layer_types': ['full_attention', "
                                "'sliding_attention', 'full_attention', "
                                "'full_attention']");
    assert_lacks(text_of(arena, odd), "window");
    assert_has(messages_of(arena, odd), "in 1 of 4 a query sees at most 4096 keys");
    arena_free(arena);
}

/* MPT's norms have biases when no_bias is false. Others' layer norms always have them. */
static void norms_without_biases_are_told(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_has(text_of(arena, config_with(arena, "mpt", "")), "norm_biases: false");
    assert_lacks(text_of(arena, config_with(arena, "mpt", ", 'no_bias': false")), "norm_biases");
    assert_lacks(text_of(arena, config_with(arena, "gpt_neox", ", 'attention_bias': false")),
                 "norm_biases");
    arena_free(arena);
}

/* Layers 3, 5, 7 of 8 (from 0): two dense ones, then every second. */
static void experts_follow_lists_and_steps(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct checkpoint eight = {"qwen3_moe",
                                     8,
                                     2048,
                                     32,
                                     4,
                                     128,
                                     6144,
                                     151936,
                                     4096,
                                     ", 'num_experts_per_tok': 8, 'moe_intermediate_size': 768",
                                     0};
    const char *text = text_of(arena, config_of(arena, &eight,
                                                ", 'num_experts': 16, 'decoder_sparse_step': 2, "
                                                "'mlp_only_layers': [1]"));
    assert_has(text, "experts: 16, experts_per_token: 8, expert_hidden: 768, dense_layers: 2, "
                     "expert_every: 2");
    assert_has(text_of(arena, config_of(arena, &eight, ", 'num_local_experts': 64")),
               "experts: 64");
    assert_lacks(text_of(arena, config_of(arena, &eight, ", 'num_experts': 0")), "expert");
    arena_free(arena);
}

/* ---- models that read images -------------------------------------------------------- */

/* Older files of Qwen2-VL have the decoder's keys at the top; a text_config is the decoder of any
 * type, also of one that is known to have none, and its own type goes before the root's. */
static void the_decoder_is_found_and_the_rest_is_noted(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *inner = config_with(arena, "mistral", "");
    const char *nested = arena_printf(
        arena, "{\"model_type\": \"%s\", \"text_config\": %s, \"vision_config\": {\"a\": 1}}",
        "mistral3", inner);
    assert_int_equal(count_of(arena, nested).total, 7241732096);
    assert_has(messages_of(arena, nested),
               "note: of this mistral3 only the decoder is taken, not vision_config");
    nested = arena_printf(arena, "{\"model_type\": \"%s\", \"text_config\": %s}", "qwen3", inner);
    assert_int_equal(count_of(arena, nested).total, 7241732096);
    nested = arena_printf(arena, "{\"model_type\": \"%s\", \"llm_config\": %s}", "new_vl", inner);
    assert_int_equal(count_of(arena, nested).total, 7241732096);
    const struct checkpoint flat = {
        "qwen2_vl", 28, 3584, 28, 4, 0, 18944, 152064, 32768, ", 'vision_config': {}", 0};
    assert_int_equal(count_of(arena, config_of(arena, &flat, "")).total, 7615616512);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_family_has_its_checkpoints_parameters),
        cmocka_unit_test(active_parameters_are_those_of_the_cards),
        cmocka_unit_test(multi_token_prediction_is_taken_from_the_file),
        cmocka_unit_test(a_shape_that_is_missing_is_an_error),
        cmocka_unit_test(what_files_of_a_type_leave_out_is_told),
        cmocka_unit_test(tied_embeddings_are_the_familys_default),
        cmocka_unit_test(head_dim_of_latent_attention_is_ignored),
        cmocka_unit_test(what_looks_like_a_shape_is_refused_by_name),
        cmocka_unit_test(an_unknown_type_may_be_a_plain_decoder),
        cmocka_unit_test(a_class_without_a_head_has_none),
        cmocka_unit_test(a_decoder_may_see_what_comes_after),
        cmocka_unit_test(windows_follow_layer_types_and_switches),
        cmocka_unit_test(full_attention_in_every_nth_layer_is_told),
        cmocka_unit_test(a_pattern_that_a_model_file_cannot_tell_is_noted),
        cmocka_unit_test(norms_without_biases_are_told),
        cmocka_unit_test(experts_follow_lists_and_steps),
        cmocka_unit_test(the_decoder_is_found_and_the_rest_is_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
