/* Rows first, then how texts and patterns are filled in. Cost is linear in text and layers. */
#include "input/formats/hf_hybrids.h"

#include "base/arena.h"
#include "input/formats/hf_reading.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ------------------------------------------------------------------------------- */

#define STATE_TENSORS(heads, dim, groups, state)           \
    "    - {name: z, heads: " heads ", dim: " dim "}\n"    \
    "    - {name: x, heads: " heads ", dim: " dim "}\n"    \
    "    - {name: B, heads: " groups ", dim: " state "}\n" \
    "    - {name: C, heads: " groups ", dim: " state "}\n" \
    "    - {name: dt, heads: " heads ", dim: 1}\n"         \
    "    - {name: state, heads: " heads ", dim: " dim "}\n"
#define CONVOLUTION(width, has_bias)                                                             \
    "?" has_bias " - {operator: convolution, name: convolution, reads: [x, B, C], width: " width \
    ", bias: true}\n"                                                                            \
    "!" has_bias " - {operator: convolution, name: convolution, reads: [x, B, C], width: " width \
    "}\n"
#define STATE_IN \
    "    - {operator: projection, name: in, reads: [input], writes: [z, x, B, C, dt]}\n"
#define STATE_SCAN(chunk)                                                 \
    "    - {operator: scan, name: scan, rule: state-space, chunk: " chunk \
    ", head_parameters: 3, reads: [C, B, x, dt], writes: [state]}\n"
#define STATE_NORM \
    "    - {operator: norm, name: gated norm, reads: [state, z], gated: true, each_head: true}\n"
#define STATE_OUT "    - {operator: projection, name: out, reads: [state], writes: [output]}\n"

#define ATTENTION_TENSORS(heads, kv, dim, value)        \
    "    - {name: q, heads: " heads ", dim: " dim "}\n" \
    "    - {name: k, heads: " kv ", dim: " dim "}\n"    \
    "    - {name: v, heads: " kv ", dim: " value "}\n"  \
    "    - {name: context, heads: " heads ", dim: " value "}\n"
#define ATTENTION_QKV "    - {operator: projection, name: qkv, reads: [input], writes: [q, k, v]}\n"
#define QK_NORM "    - {operator: norm, name: qk norm, reads: [q, k]}\n"
#define ATTENTION_ROTARY "    - {operator: rotary, name: rotary, reads: [q, k]}\n"
#define ATTENTION_CORE(more) \
    "    - {operator: attention, name: core, reads: [q, k, v], writes: [context]" more "}\n"
#define ATTENTION_OUT \
    "    - {operator: projection, name: projection, reads: [context], writes: [output]}\n"

static const char letters_text[] = "- name: mamba2\n  tensors:\n" STATE_TENSORS(
    "$mamba_num_heads", "$mamba_head_dim", "$n_groups",
    "$ssm_state_size") "  operators:\n" STATE_IN CONVOLUTION("$conv_kernel", "use_conv_bias")
    STATE_SCAN("$chunk_size") STATE_NORM STATE_OUT;

static const char listed_text[] = "- name: mamba2\n  tensors:\n" STATE_TENSORS(
    "$mamba_n_heads", "$mamba_d_head", "$mamba_n_groups",
    "$mamba_d_state") "  operators:\n" STATE_IN CONVOLUTION("$mamba_d_conv", "mamba_conv_bias")
    STATE_SCAN("$mamba_chunk_size") STATE_NORM STATE_OUT;

static const char parallel_text[] = "- name: attention and mamba2\n  tensors:\n" ATTENTION_TENSORS(
    "$num_attention_heads", "$num_key_value_heads", "$head_dim", "$head_dim")
    STATE_TENSORS("$mamba_n_heads", "$mamba_d_head", "$mamba_n_groups",
                  "$mamba_d_state") "  operators:\n" ATTENTION_QKV STATE_IN ATTENTION_ROTARY
        CONVOLUTION("$mamba_d_conv", "mamba_conv_bias") ATTENTION_CORE("")
            STATE_SCAN("$mamba_chunk_size") "?mamba_rms_norm" STATE_NORM
                                            "!mamba_rms_norm - {operator: gate, name: gate, reads: "
                                            "[state, z]}\n" STATE_OUT ATTENTION_OUT;

static const char delta_text[] =
    "- name: delta\n  tensors:\n"
    "    - {name: q, heads: $linear_num_key_heads, dim: $linear_key_head_dim}\n"
    "    - {name: k, heads: $linear_num_key_heads, dim: $linear_key_head_dim}\n"
    "    - {name: v, heads: $linear_num_value_heads, dim: $linear_value_head_dim}\n"
    "    - {name: z, heads: $linear_num_value_heads, dim: $linear_value_head_dim}\n"
    "    - {name: beta, heads: $linear_num_value_heads, dim: 1}\n"
    "    - {name: decay, heads: $linear_num_value_heads, dim: 1}\n"
    "    - {name: state, heads: $linear_num_value_heads, dim: $linear_value_head_dim}\n"
    "  operators:\n"
    "    - {operator: projection, name: qkvz, reads: [input], writes: [q, k, v, z]}\n"
    "    - {operator: projection, name: gates, reads: [input], writes: [beta, decay]}\n"
    "    - {operator: convolution, name: convolution, reads: [q, k, v], width: "
    "$linear_conv_kernel_dim}\n"
    "    - {operator: norm, name: l2 norm, reads: [q, k], learned: false}\n"
    "    - {operator: scan, name: scan, rule: delta, chunk: 64, head_parameters: 2, "
    "reads: [q, k, v, decay, beta], writes: [state]}\n"
    "    - {operator: norm, name: gated norm, reads: [state, z], gated: true}\n" STATE_OUT
    "- name: gated attention\n  tensors:\n"
    "    - {name: gate, heads: $num_attention_heads, dim: $head_dim}\n" ATTENTION_TENSORS(
        "$num_attention_heads", "$num_key_value_heads", "$head_dim",
        "$head_dim") "  operators:\n"
                     "    - {operator: projection, name: qkv, reads: [input], writes: [q, gate, k, "
                     "v]}\n" QK_NORM ATTENTION_ROTARY ATTENTION_CORE(
                         "") "    - {operator: gate, name: gate, reads: [context, "
                             "gate]}\n" ATTENTION_OUT;

#define WIDE "$linear_attn_config.num_heads, dim: $linear_attn_config.head_dim}\n"
static const char wide_text[] =
    "- name: delta\n  tensors:\n"
    "    - {name: q, heads: " WIDE "    - {name: k, heads: " WIDE "    - {name: v, heads: " WIDE
    "    - {name: decay low, dim: $linear_attn_config.head_dim}\n"
    "    - {name: decay, heads: " WIDE
    "    - {name: beta, heads: $linear_attn_config.num_heads, dim: 1}\n"
    "    - {name: gate low, dim: $linear_attn_config.head_dim}\n"
    "    - {name: gate, heads: " WIDE "    - {name: state, heads: " WIDE
    "  operators:\n" ATTENTION_QKV
    "    - {operator: projection, name: decay down, reads: [input], writes: [decay low]}\n"
    "    - {operator: projection, name: decay up, reads: [decay low], writes: [decay]}\n"
    "    - {operator: projection, name: beta, reads: [input], writes: [beta]}\n"
    "    - {operator: projection, name: gate down, reads: [input], writes: [gate low]}\n"
    "    - {operator: projection, name: gate up, reads: [gate low], writes: [gate]}\n"
    "    - {operator: convolution, name: convolution, reads: [q, k, v], width: "
    "$linear_attn_config.short_conv_kernel_size}\n"
    "    - {operator: norm, name: l2 norm, reads: [q, k], learned: false}\n"
    "    - {operator: scan, name: scan, rule: delta, chunk: 64, head_parameters: "
    "$linear_attn_config.head_dim+1, reads: [q, k, v, decay, beta], writes: [state]}\n"
    "    - {operator: norm, name: gated norm, reads: [state, gate], gated: true}\n" STATE_OUT;

static const char windows_text[] = "- name: full\n  tensors:\n" ATTENTION_TENSORS(
    "$num_attention_heads", "$num_key_value_heads", "$head_dim",
    "$v_head_dim") "  operators:\n" ATTENTION_QKV ATTENTION_ROTARY ATTENTION_CORE("") ATTENTION_OUT
    "- name: window\n  tensors:\n" ATTENTION_TENSORS(
        "$swa_num_attention_heads", "$swa_num_key_value_heads", "$swa_head_dim",
        "$swa_v_head_dim") "  operators:\n" ATTENTION_QKV ATTENTION_ROTARY
        ATTENTION_CORE(", window: $sliding_window") ATTENTION_OUT;

static const char slid_text[] = "- name: window\n  tensors:\n" ATTENTION_TENSORS(
    "$num_attention_heads", "$num_key_value_heads", "$head_dim",
    "$head_dim") "  operators:\n" ATTENTION_QKV
    QK_NORM "    - {operator: norm, name: v norm, reads: [v], learned: false}\n" ATTENTION_ROTARY
        ATTENTION_CORE(", window: $sliding_window") ATTENTION_OUT
    "- name: full\n  tensors:\n"
    "    - {name: q, heads: $num_attention_heads, dim: $global_head_dim}\n"
    "?attention_k_eq_v - {name: k, heads: $num_global_key_value_heads, dim: $global_head_dim}\n"
    "!attention_k_eq_v - {name: k, heads: $num_key_value_heads, dim: $global_head_dim}\n"
    "!attention_k_eq_v - {name: v, heads: $num_key_value_heads, dim: $global_head_dim}\n"
    "    - {name: context, heads: $num_attention_heads, dim: $global_head_dim}\n"
    "  operators:\n"
    "?attention_k_eq_v - {operator: projection, name: qkv, reads: [input], writes: [q, k]}\n"
    "!attention_k_eq_v - {operator: projection, name: qkv, reads: [input], writes: [q, k, "
    "v]}\n" QK_NORM ATTENTION_ROTARY
    "?attention_k_eq_v - {operator: attention, name: core, reads: [q, k, k], writes: [context]}\n"
    "!attention_k_eq_v - {operator: attention, name: core, reads: [q, k, v], writes: "
    "[context]}\n" ATTENTION_OUT;

#define SHARED_RANK "$kv_lora_rank+qk_rope_head_dim"
static const char chosen_text[] =
    "- name: sparse attention\n  tensors:\n"
    "    - {name: q low, dim: $q_lora_rank}\n"
    "    - {name: kv low, dim: $kv_lora_rank}\n"
    "    - {name: k rope, dim: $qk_rope_head_dim}\n"
    "    - {name: index q, dim: $index_n_heads*index_head_dim}\n"
    "    - {name: index k, dim: $index_head_dim}\n"
    "    - {name: index weights, dim: $index_n_heads}\n"
    "    - {name: chosen, dim: $index_topk}\n"
    "    - {name: q nope, heads: $num_attention_heads, dim: $qk_nope_head_dim}\n"
    "    - {name: q rope, heads: $num_attention_heads, dim: $qk_rope_head_dim}\n"
    "    - {name: q latent, heads: $num_attention_heads, dim: $kv_lora_rank}\n"
    "    - {name: query, heads: $num_attention_heads, dim: " SHARED_RANK "}\n"
    "    - {name: kv, heads: 1, dim: " SHARED_RANK "}\n"
    "    - {name: latent context, heads: $num_attention_heads, dim: $kv_lora_rank}\n"
    "    - {name: context, heads: $num_attention_heads, dim: $v_head_dim}\n"
    "  operators:\n"
    "    - {operator: projection, name: q down, reads: [input], writes: [q low]}\n"
    "    - {operator: projection, name: kv down, reads: [input], writes: [kv low, k rope]}\n"
    "    - {operator: norm, name: latent norm, reads: [q low, kv low]}\n"
    "    - {operator: projection, name: index q, reads: [q low], writes: [index q]}\n"
    "    - {operator: projection, name: index k, reads: [input], writes: [index k]}\n"
    "    - {operator: projection, name: index weights, reads: [input], writes: [index weights]}\n"
    "    - {operator: norm, name: index norm, reads: [index k]}\n"
    "    - {operator: rotary, name: index rotary, reads: [index q, index k]}\n"
    "    - {operator: projection, name: q up, reads: [q low], writes: [q nope, q rope]}\n"
    "    - {operator: projection, name: k up, each_head: true, reads: [q nope], "
    "writes: [q latent]}\n"
    "    - {operator: rotary, name: rotary, reads: [q rope, k rope]}\n"
    "    - {operator: join, name: query layout, reads: [q latent, q rope], writes: [query]}\n"
    "    - {operator: join, name: key layout, reads: [kv low, k rope], writes: [kv]}\n"
    "    - {operator: index, name: index, reads: [index q, index k, index weights], "
    "writes: [chosen]}\n"
    "    - {operator: attention, name: core, reads: [query, kv, kv, chosen], "
    "writes: [latent context]}\n"
    "    - {operator: projection, name: v up, each_head: true, reads: [latent context], "
    "writes: [context]}\n" ATTENTION_OUT;

/* ---- what a file has under a key ---------------------------------------------------------- */

static int64_t number_of(struct hf_reading *reading, const char *key)
{
    const struct doc_node *node = doc_find(reading->config, key);
    for (uint32_t i = 0; node == NULL && hf_alias(key, i) != NULL; i++) {
        node = doc_find(reading->config, hf_alias(key, i));
    }
    int64_t value = 0;
    if (node == NULL && !reading->is_bad) { /* the first, since texts ask more than once */
        reading->is_bad = true;
        diag_add(reading->diag, DIAG_INPUT, &reading->config->place, "missing key '%s'", key);
        diag_help(reading->diag, "a shape is taken from the file alone, never from a class's "
                                 "default: write it there");
    } else if (node != NULL && !reading->is_bad &&
               !doc_node_count(node, 1, HF_VALUE_MAX, &value, reading->diag)) {
        reading->is_bad = true;
    }
    return value;
}

/* With an element for each layer; NULL: there is none, or an error. */
static const struct doc_node *list_of(struct hf_reading *reading, const char *key)
{
    const struct doc_node *list = hf_find_list(reading, key);
    return list != NULL && hf_check_length(reading, list, key) ? list : NULL;
}

/* ---- patterns ------------------------------------------------------------------------------ */

static bool miss_pattern(struct hf_reading *reading, const char *key)
{
    if (!reading->is_bad) {
        diag_add(reading->diag, DIAG_INPUT, &reading->config->place,
                 "nothing says which layer is what");
        diag_help(reading->diag, "%s does", key);
    }
    reading->is_bad = true;
    return false;
}

/* The same in words, since transformers 5. */
static bool spell_blocks(struct hf_reading *reading, const struct hf_hybrid *hybrid,
                         const struct doc_node *list, char *letters)
{
    static const char *const words[HF_LETTERS_MAX] = {"mamba", "attention", "mlp", "moe"};
    int64_t layer = 0;
    for (const struct doc_node *node = list->child; node != NULL; node = node->next) {
        uint32_t which = 0;
        while (which < HF_LETTERS_MAX &&
               (node->text == NULL || strcmp(words[which], node->text) != 0)) {
            which++;
        }
        if (which == HF_LETTERS_MAX) {
            reading->is_bad = true;
            return diag_add(reading->diag, DIAG_INPUT, &node->place,
                            "a layer is 'mamba', 'attention', 'mlp' or 'moe' here");
        }
        letters[layer++] = hybrid->letters[which].letter;
    }
    return true;
}

/* M, * and - are the first three; E is experts alone. */
static bool spell_letters(struct hf_reading *reading, const struct hf_hybrid *hybrid, char *letters)
{
    static const char theirs[] = "M*-E";
    const struct doc_node *node = doc_find(reading->config, "hybrid_override_pattern");
    const struct doc_node *list = list_of(reading, "layers_block_type");
    if (list != NULL) {
        return spell_blocks(reading, hybrid, list, letters);
    }
    if (node == NULL || node->text == NULL) {
        return miss_pattern(reading, "hybrid_override_pattern");
    }
    const size_t layers = (size_t)reading->values[HF_LAYERS];
    for (size_t i = 0; i < layers || node->text[i] != '\0'; i++) {
        const char *found =
            i < layers && node->text[i] != '\0' ? strchr(theirs, node->text[i]) : NULL;
        if (found == NULL) {
            reading->is_bad = true;
            diag_add(reading->diag, DIAG_INPUT, &node->place,
                     "letter %zu of %zu layers is none of M, *, - and E", i + 1, layers);
            diag_help(reading->diag, "it has one for each of num_hidden_layers");
            return false;
        }
        letters[i] = hybrid->letters[found - theirs].letter;
    }
    return true;
}

/* A list of words, the first letter's and the second's; or every so many layers one is full. */
static bool spell_words(struct hf_reading *reading, const struct hf_hybrid *hybrid, char *letters)
{
    const struct hf_letter *own = hybrid->letters;
    const struct doc_node *list = list_of(reading, "layer_types");
    const int64_t layers = reading->values[HF_LAYERS];
    if (list == NULL && !reading->is_bad && hybrid == &hf_hybrid_delta) {
        const int64_t every = number_of(reading, "full_attention_interval");
        for (int64_t i = 0; i < layers && every > 0; i++) {
            letters[i] = hybrid->letters[(i + 1) % every == 0].letter;
        }
        return every > 0;
    }
    if (list == NULL) {
        return miss_pattern(reading, "layer_types");
    }
    int64_t layer = 0;
    for (const struct doc_node *node = list->child; node != NULL; node = node->next) {
        const char *text = node->text != NULL ? node->text : "";
        const bool is_second = strcmp(text, own[1].word) == 0;
        if (!is_second && strcmp(text, own[0].word) != 0) {
            reading->is_bad = true;
            return diag_add(reading->diag, DIAG_INPUT, &node->place, "a layer is '%s' or '%s' here",
                            own[0].word, own[1].word);
        }
        letters[layer++] = own[is_second].letter;
    }
    return true;
}

/* A list of layers, counted from 1, that have attention; the first ones are dense. */
static bool spell_numbers(struct hf_reading *reading, const struct hf_hybrid *hybrid, char *letters)
{
    const struct doc_node *list = doc_find(reading->config, "linear_attn_config.full_attn_layers");
    const int64_t layers = reading->values[HF_LAYERS];
    if (list == NULL || list->kind != DOC_SEQUENCE) {
        return miss_pattern(reading, "linear_attn_config.full_attn_layers");
    }
    for (int64_t i = 0; i < layers; i++) {
        letters[i] = hybrid->letters[i < reading->values[HF_DENSE_LAYERS] ? 2 : 0].letter;
    }
    for (const struct doc_node *node = list->child; node != NULL; node = node->next) {
        int64_t layer = 0;
        if (!doc_node_count(node, 1, layers, &layer, reading->diag)) {
            reading->is_bad = true;
            return false;
        }
        letters[layer - 1] =
            hybrid->letters[layer <= reading->values[HF_DENSE_LAYERS] ? 3 : 1].letter;
    }
    return true;
}

static bool spell_same(struct hf_reading *reading, const struct hf_hybrid *hybrid, char *letters)
{
    memset(letters, hybrid->letters[0].letter, (size_t)reading->values[HF_LAYERS]);
    return true;
}

/* Two lists of 0 and 1: windows, experts. */
static bool spell_flags(struct hf_reading *reading, const struct hf_hybrid *hybrid, char *letters)
{
    const struct doc_node *windows = list_of(reading, "hybrid_layer_pattern");
    const struct doc_node *experts = list_of(reading, "moe_layer_freq");
    if (windows == NULL || experts == NULL) {
        return miss_pattern(reading, "hybrid_layer_pattern, with moe_layer_freq,");
    }
    const struct doc_node *window = windows->child;
    const struct doc_node *expert = experts->child;
    for (int64_t i = 0; i < reading->values[HF_LAYERS]; i++) {
        int64_t flags[2] = {0, 0};
        if (!doc_node_count(window, 0, 1, &flags[0], reading->diag) ||
            !doc_node_count(expert, 0, 1, &flags[1], reading->diag)) {
            reading->is_bad = true;
            return false;
        }
        letters[i] = hybrid->letters[flags[0] + 2 * (1 - flags[1])].letter;
        window = window->next;
        expert = expert->next;
    }
    return true;
}

/* What says that layers have no index of their own: a word a layer, a letter, or a step. */
static const struct doc_node *find_shared(const struct doc_node *config)
{
    const struct doc_node *words = doc_find(config, "indexer_types");
    const bool is_list = words != NULL && words->kind == DOC_SEQUENCE;
    for (const struct doc_node *node = is_list ? words->child : NULL; node != NULL;
         node = node->next) {
        if (node->text == NULL || strcmp(node->text, "full") != 0) {
            return node;
        }
    }
    const struct doc_node *letters = doc_find(config, "index_topk_pattern");
    const struct doc_node *step = doc_find(config, "index_topk_freq");
    const bool is_shared =
        letters != NULL && letters->text != NULL && strchr(letters->text, 'S') != NULL;
    const bool is_rare = step != NULL && step->text != NULL && strcmp(step->text, "1") != 0;
    return is_shared ? letters : is_rare ? step : NULL;
}

/* All layers are alike but for their experts, which the first ones do not have. */
static bool spell_dense_first(struct hf_reading *reading, const struct hf_hybrid *hybrid,
                              char *letters)
{
    const struct doc_node *shared = find_shared(reading->config);
    if (shared != NULL) {
        reading->is_bad = true;
        diag_add(reading->diag, DIAG_INPUT, &shared->place,
                 "layers use the keys that the index of a layer before them chose, which a model "
                 "file does not have");
        diag_help(reading->diag, "without it every layer has an index of its own: more parameters "
                                 "and FLOPs than the model's");
        return false;
    }
    for (int64_t i = 0; i < reading->values[HF_LAYERS]; i++) {
        letters[i] = hybrid->letters[i < reading->values[HF_DENSE_LAYERS]].letter;
    }
    return true;
}

const struct hf_hybrid hf_hybrid_chosen = {
    chosen_text,
    {{'E', "sparse attention", "experts", NULL}, {'D', "sparse attention", "dense", NULL}},
    spell_dense_first};
const struct hf_hybrid hf_hybrid_slid = {
    slid_text,
    {{'W', "window", "experts", "sliding_attention"}, {'F', "full", "experts", "full_attention"}},
    spell_words};
const struct hf_hybrid hf_hybrid_letters = {letters_text,
                                            {{'M', "mamba2", "none", NULL},
                                             {'A', "attention", "none", NULL},
                                             {'D', "none", "dense", NULL},
                                             {'E', "none", "experts", NULL}},
                                            spell_letters};
const struct hf_hybrid hf_hybrid_delta = {delta_text,
                                          {{'L', "delta", "experts", "linear_attention"},
                                           {'F', "gated attention", "experts", "full_attention"}},
                                          spell_words};
const struct hf_hybrid hf_hybrid_wide = {wide_text,
                                         {{'K', "delta", "experts", NULL},
                                          {'A', "attention", "experts", NULL},
                                          {'D', "delta", "dense", NULL},
                                          {'B', "attention", "dense", NULL}},
                                         spell_numbers};
const struct hf_hybrid hf_hybrid_listed = {
    listed_text,
    {{'M', "mamba2", "experts", "mamba"}, {'A', "attention", "experts", "attention"}},
    spell_words};
const struct hf_hybrid hf_hybrid_parallel = {
    parallel_text, {{'H', "attention and mamba2", "dense", NULL}}, spell_same};
const struct hf_hybrid hf_hybrid_windows = {windows_text,
                                            {{'F', "full", "experts", NULL},
                                             {'W', "window", "experts", NULL},
                                             {'D', "full", "dense", NULL},
                                             {'X', "window", "dense", NULL}},
                                            spell_flags};

/* ---- filling in ------------------------------------------------------------------------------ */

struct text {
    char *text;
    size_t count, capacity;
};

static void append(struct hf_reading *reading, struct text *out, const char *from, size_t length)
{
    out->text = arena_grow(reading->arena, out->text, &out->capacity, out->count + length + 1, 1);
    memcpy(out->text + out->count, from, length);
    out->count += length;
    out->text[out->count] = '\0';
}

static size_t key_length(const char *at)
{
    return strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789.");
}

/* "$key", "$key+1", "$key+other" or "$key*other" of `at`, which stands behind the sign; how long it
 * is. */
static size_t append_number(struct hf_reading *reading, struct text *out, const char *at)
{
    size_t length = key_length(at);
    int64_t value = number_of(reading, arena_strndup(reading->arena, at, length));
    const char sign = at[length];
    if (sign == '+' || sign == '*') {
        const char *other = at + length + 1;
        const size_t more = key_length(other);
        const bool is_one = more == 1 && *other == '1';
        const int64_t by =
            is_one ? 1 : number_of(reading, arena_strndup(reading->arena, other, more));
        value = sign == '+' ? value + by : value * by;
        length += 1 + more;
    }
    const char *text = arena_printf(reading->arena, "%" PRId64, value);
    append(reading, out, text, strlen(text));
    return length;
}

/* Whether a line is there, and where it goes on behind its switch. */
static bool takes_line(struct hf_reading *reading, const char **at)
{
    const char sign = **at;
    if (sign != '?' && sign != '!') {
        return true;
    }
    const size_t length = key_length(*at + 1);
    const struct hf_switch wanted = {arena_strndup(reading->arena, *at + 1, length), true};
    *at += 1 + length;
    return hf_switch_value(reading, &wanted) == (sign == '?');
}

static const char *fill_in(struct hf_reading *reading, const char *from)
{
    struct text out = {NULL, 0, 0};
    while (*from != '\0') {
        const bool is_switched = *from == '?' || *from == '!';
        const bool is_there = takes_line(reading, &from);
        const char *end = strchr(from, '\n') + 1;
        if (is_there && is_switched) {
            from += strspn(from, " ");
            append(reading, &out, "    ", 4);
        }
        while (is_there && from < end) {
            const size_t plain = strcspn(from, "$\n");
            append(reading, &out, from, plain + (from[plain] == '\n' ? 1 : 0));
            from += plain + 1;
            from += from[-1] == '$' ? append_number(reading, &out, from) : 0;
        }
        from = end;
    }
    return out.text;
}

/* Letters that no layer has are left out. */
static const char *types_text(struct hf_reading *reading, const struct hf_hybrid *hybrid,
                              const char *letters)
{
    const char *text = "{";
    for (uint32_t i = 0; i < HF_LETTERS_MAX && hybrid->letters[i].letter != 0; i++) {
        const struct hf_letter *own = &hybrid->letters[i];
        const bool has_experts = strcmp(own->mlp, "experts") == 0;
        const bool is_dense = has_experts && reading->values[HF_EXPERTS] == 0;
        if (strchr(letters, own->letter) != NULL) {
            text = arena_printf(reading->arena, "%s%s%c: {mixer: %s, mlp: %s}", text,
                                text[1] != '\0' ? ", " : "", own->letter, own->mixer,
                                is_dense ? "dense" : own->mlp);
        }
    }
    return arena_printf(reading->arena, "%s}", text);
}

static void put_tree(struct hf_reading *reading, const char *key, const char *text)
{
    struct doc_node *node =
        doc_parse(reading->arena, reading->config->place.file, text, strlen(text), reading->diag);
    sim_assert(node != NULL);
    node->key = key;
    node->key_place = reading->config->place;
    *reading->end = node;
    reading->end = &node->next;
}

void hf_put_hybrid(struct hf_reading *reading)
{
    const struct hf_hybrid *hybrid = reading->family->hybrid;
    if (hybrid == NULL || reading->is_bad) {
        return;
    }
    char *letters = arena_array(reading->arena, (size_t)reading->values[HF_LAYERS] + 1, 1);
    if (!hybrid->spell(reading, hybrid, letters)) {
        return;
    }
    const char *mixers = fill_in(reading, hybrid->mixers);
    if (!reading->is_bad) {
        put_tree(reading, "mixers", mixers);
        put_tree(reading, "layer_types", types_text(reading, hybrid, letters));
        put_tree(reading, "pattern", letters);
    }
}
