/* Reading goes in four steps: which part is the decoder, and of which family (hf_decoder.c), all
 * fields of the family's row (hf_fields.c), whether the file has keys that were not understood
 * (hf_keys.c), then the keys of a model file in their order. Which layers have what is
 * hf_layers.c's. Cost is linear in the file.
 */
#include "input/formats/hf_config.h"

#include "base/arena.h"
#include "input/formats/hf_reading.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the file ----------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text);
    const size_t end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* `path` beside the file of `place`, or NULL when there is no such file. */
static const char *beside(struct arena *arena, struct doc_files *files, const struct place *place,
                          const char *path)
{
    const char *slash = place->file != NULL && place->line > 0 ? strrchr(place->file, '/') : NULL;
    if (slash == NULL || path[0] == '/') {
        return NULL;
    }
    const char *found =
        arena_printf(arena, "%.*s/%s", (int)(slash - place->file), place->file, path);
    return doc_files_exist(files, found) ? found : NULL;
}

const char *hf_config_path(struct arena *arena, struct doc_files *files, const struct place *place,
                           const char *text)
{
    if (ends_with(text, ".json")) {
        const char *found = beside(arena, files, place, text);
        return found != NULL ? found : text;
    }
    if (strchr(text, '/') == NULL) {
        return NULL; /* a name of the catalogue */
    }
    const char *inside =
        arena_printf(arena, "%s%sconfig.json", text, ends_with(text, "/") ? "" : "/");
    const char *found = beside(arena, files, place, inside);
    if (found != NULL) {
        return found;
    }
    return doc_files_exist(files, inside) || ends_with(text, "/") ? inside : NULL;
}

/* The folder that config.json lies in, or the file's own name. */
static const char *name_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    if (strcmp(base, "config.json") != 0) {
        return arena_strndup(arena, base, strlen(base) - (ends_with(base, ".json") ? 5 : 0));
    }
    const char *end = slash;
    while (end != NULL && end > path && end[-1] == '/') {
        end--;
    }
    const char *begin = end;
    while (begin != NULL && begin > path && begin[-1] != '/') {
        begin--;
    }
    const size_t length = end != NULL ? (size_t)(end - begin) : 0;
    const bool is_named = length > 0 && begin[length - 1] != '.';
    return is_named ? arena_strndup(arena, begin, length) : "config";
}

/* ---- the result --------------------------------------------------------------------- */

static struct doc_node *put_text(struct hf_reading *reading, const char *key, const char *text,
                                 const struct place *place)
{
    struct doc_node *node = arena_alloc(reading->arena, sizeof *node);
    *node = (struct doc_node){
        .kind = DOC_SCALAR, .text = text, .key = key, .place = *place, .key_place = *place};
    *reading->end = node;
    reading->end = &node->next;
    return node;
}

void hf_put_count(struct hf_reading *reading, const char *key, int64_t count,
                  const struct place *place)
{
    put_text(reading, key, arena_printf(reading->arena, "%" PRId64, count), place);
}

void hf_put_bool(struct hf_reading *reading, const char *key, bool value)
{
    put_text(reading, key, value ? "true" : "false", &reading->config->place);
}

static void put_field(struct hf_reading *reading, const char *key, enum hf_field field)
{
    hf_put_count(reading, key, reading->values[field], reading->places[field]);
}

/* ---- MPT: attention in a mapping of its own, the MLP's width as a ratio ------------- */

static bool is_true(const struct doc_node *mapping, const char *key)
{
    const char *text = doc_find_text(mapping, key);
    return text != NULL && strcmp(text, "true") == 0;
}

static void read_mpt_width(struct hf_reading *reading)
{
    const struct doc_node *node = doc_find(reading->config, "expansion_ratio");
    double ratio = 4.0;
    if (node != NULL) {
        reading->is_bad =
            !doc_node_quantity(node, DIM_COUNT, 0.01, 1000.0, &ratio, reading->diag) ||
            reading->is_bad;
        reading->places[HF_FFN] = &node->place;
    }
    reading->values[HF_FFN] = (int64_t)round(ratio * (double)reading->values[HF_HIDDEN]);
}

/* Returns the word for positions: alibi unless the file says otherwise. */
static const char *read_mpt(struct hf_reading *reading)
{
    read_mpt_width(reading);
    const struct doc_node *attention = doc_find(reading->config, "attn_config");
    if (attention == NULL || attention->kind != DOC_MAPPING) {
        return "alibi";
    }
    const char *type = doc_find_text(attention, "attn_type");
    const struct doc_node *kv = doc_find(attention, "kv_n_heads");
    if (type != NULL && strcmp(type, "multiquery_attention") == 0) {
        reading->values[HF_KV_HEADS] = 1;
    } else if (kv != NULL && kv->kind != DOC_NULL) {
        reading->is_bad =
            !doc_node_count(kv, 1, HF_VALUE_MAX, &reading->values[HF_KV_HEADS], reading->diag) ||
            reading->is_bad;
    }
    if (is_true(attention, "qk_ln")) {
        diag_add(reading->diag, DIAG_NOTE, &attention->place,
                 "the norms of queries and keys (qk_ln) are left out");
    }
    if (is_true(attention, "rope")) {
        return "rotary";
    }
    const char *alibi = doc_find_text(attention, "alibi");
    return alibi == NULL || strcmp(alibi, "true") == 0 ? "alibi" : "learned";
}

/* ---- keys of a model file ----------------------------------------------------------- */

/* _name_or_path as a title, when it says anything. */
static void put_head(struct hf_reading *reading, const char *path)
{
    const char *name = name_of(reading->arena, path);
    const char *own = doc_find_text(reading->root, "_name_or_path");
    const char *title = own != NULL && own[0] != '\0' ? own : name;
    const struct place *place = &reading->root->place;
    put_text(reading, "model", name, place);
    put_text(reading, "title", title, place);
    put_text(reading, "source",
             arena_printf(reading->arena, "Hugging Face config.json of %s, model_type %s", title,
                          reading->type),
             place);
}

static void put_shapes(struct hf_reading *reading)
{
    put_field(reading, "layers", HF_LAYERS);
    put_field(reading, "hidden", HF_HIDDEN);
    put_field(reading, "ffn_hidden", HF_FFN);
    put_field(reading, "heads", HF_HEADS);
    if (reading->values[HF_KV_HEADS] > 0) {
        put_field(reading, "kv_heads", HF_KV_HEADS);
    }
    if (reading->values[HF_HEAD_DIM] > 0) {
        put_field(reading, "head_dim", HF_HEAD_DIM);
    }
    put_field(reading, "vocab", HF_VOCAB);
    put_field(reading, "max_positions", HF_POSITIONS);
}

static void put_biases(struct hf_reading *reading)
{
    const struct hf_family *family = reading->family;
    const bool qkv = hf_switch_value(reading, &family->qkv_biases);
    const bool projection = hf_switch_value(reading, &family->projection_biases);
    const bool mlp = hf_switch_value(reading, &family->mlp_biases);
    const bool all = qkv && projection && mlp;
    hf_put_bool(reading, "biases", all);
    if (!all && qkv) {
        hf_put_bool(reading, "qkv_biases", true);
    }
    if (!all && projection) {
        hf_put_bool(reading, "projection_biases", true);
    }
    if (!all && mlp) {
        hf_put_bool(reading, "mlp_biases", true);
    }
    if (strcmp(family->norm, "layernorm") == 0 && !hf_switch_value(reading, &family->norm_biases)) {
        hf_put_bool(reading, "norm_biases", false);
    }
    const struct doc_node *node = doc_find(reading->config, "attention_bias");
    if (qkv && node != NULL && reading->values[HF_KV_RANK] > 0) {
        reading->is_bad = true;
        diag_add(reading->diag, DIAG_INPUT, &node->place,
                 "biases of latent attention have no place in a model file");
        diag_help(reading->diag, "set attention_bias to false");
    }
}

/* The decoder's own word, then the whole model's, then the class's. */
static bool is_tied(struct hf_reading *reading)
{
    struct hf_switch tie = {"tie_word_embeddings", reading->family->is_tied};
    if (doc_find(reading->config, tie.key) == NULL && reading->config != reading->root) {
        const char *text = doc_find_text(reading->root, tie.key);
        tie.by_default = text != NULL ? strcmp(text, "true") == 0 : tie.by_default;
    }
    return hf_switch_value(reading, &tie);
}

static bool has_dropout(struct hf_reading *reading)
{
    const struct hf_family *family = reading->family;
    const struct doc_node *node =
        family->dropout_key != NULL ? doc_find(reading->config, family->dropout_key) : NULL;
    double rate = 0.0;
    if (node == NULL || node->kind == DOC_NULL) {
        return family->has_dropout;
    }
    reading->is_bad =
        !doc_node_quantity(node, DIM_COUNT, 0.0, 1.0, &rate, reading->diag) || reading->is_bad;
    return rate > 0.0;
}

static void put_latent(struct hf_reading *reading)
{
    if (reading->values[HF_KV_RANK] == 0) {
        return;
    }
    struct doc_node *latent = put_text(reading, "latent", NULL, reading->places[HF_KV_RANK]);
    struct doc_node **after = reading->end;
    latent->kind = DOC_MAPPING;
    reading->end = &latent->child;
    put_field(reading, "q_rank", HF_Q_RANK);
    put_field(reading, "kv_rank", HF_KV_RANK);
    put_field(reading, "nope_dim", HF_NOPE_DIM);
    put_field(reading, "rope_dim", HF_ROPE_DIM);
    put_field(reading, "value_dim", HF_VALUE_DIM);
    reading->end = after;
}

/* YaRN (arXiv 2309.00071, equation 22) scales by 0.1 ln(factor) + 1, or by two such that cancel
 * where they are the same (DeepSeek's mscale and mscale_all_dim), or as attention_factor says. */
static bool scales_rotary(const struct hf_reading *reading)
{
    const struct doc_node *scaling = doc_find(reading->config, "rope_scaling");
    if (scaling == NULL || scaling->kind != DOC_MAPPING) {
        scaling = doc_find(reading->config, "rope_parameters"); /* since transformers 5 */
    }
    if (scaling == NULL || scaling->kind != DOC_MAPPING) {
        return false;
    }
    const char *type = doc_find_text(scaling, "rope_type");
    type = type != NULL ? type : doc_find_text(scaling, "type");
    const char *factor = doc_find_text(scaling, "attention_factor");
    const char *scale = doc_find_text(scaling, "mscale");
    const char *of_all = doc_find_text(scaling, "mscale_all_dim");
    if (type == NULL || strcmp(type, "yarn") != 0) {
        return false;
    }
    return factor != NULL ? fabs(strtod(factor, NULL) - 1.0) > 0.0
                          : scale == NULL || of_all == NULL || strcmp(scale, of_all) != 0;
}

/* ---- the end of the model ------------------------------------------------------------ */

static bool ends_with_one_of(const char *text, const char *const *ends, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ends_with(text, ends[i])) {
            return true;
        }
    }
    return false;
}

/* Embeddings, classifiers and reward models have no matrix to the vocabulary: the class that
 * the weights were written by says so. */
static bool is_headless(const struct hf_reading *reading)
{
    static const char *const without[] = {"Model", "ForSequenceClassification",
                                          "ForTokenClassification", "ForRewardModel"};
    static const char *const with[] = {"LMHeadModel", "ChatGLMModel", "AquilaModel"};
    const struct doc_node *list = doc_find(reading->root, "architectures");
    if (list == NULL || list->kind != DOC_SEQUENCE || list->child == NULL ||
        list->child->kind != DOC_SCALAR || reading->config != reading->root) {
        return false;
    }
    const char *name = list->child->text;
    const bool is_without = ends_with_one_of(name, without, sizeof without / sizeof *without) &&
                            !ends_with_one_of(name, with, sizeof with / sizeof *with);
    if (is_without) {
        diag_add(reading->diag, DIAG_NOTE, &list->child->place,
                 "a %.*s has no matrix to the vocabulary; its own small head is left out",
                 HF_SHOWN_MAX, name);
    }
    return is_without;
}

static void put_end(struct hf_reading *reading)
{
    if (is_headless(reading)) {
        hf_put_bool(reading, "lm_head", false);
        hf_put_bool(reading, "tied_embeddings", false);
        return;
    }
    hf_put_bool(reading, "tied_embeddings", is_tied(reading));
    if (reading->values[HF_MTP] > 0) {
        put_field(reading, "mtp_layers", HF_MTP);
    }
}

/* ---- all keys -------------------------------------------------------------------------- */

static const char *positions_of(struct hf_reading *reading)
{
    const struct hf_family *family = reading->family;
    if (family->is_mpt) {
        return read_mpt(reading);
    }
    const bool is_alibi =
        family->alibi_from_hidden > 0 && reading->values[HF_HIDDEN] >= family->alibi_from_hidden;
    return is_alibi ? "alibi" : family->positions;
}

/* What a matrix has beside its products. */
static void put_switches(struct hf_reading *reading)
{
    const struct hf_family *family = reading->family;
    const struct hf_switch is_causal = {"is_causal", true};
    const bool sees_all = is_true(reading->config, "use_bidirectional_attention");
    hf_put_bool(reading, "dropout", has_dropout(reading));
    if (!hf_switch_value(reading, &is_causal) || sees_all) {
        hf_put_bool(reading, "causal", false);
    }
    if (hf_switch_value(reading, &family->qk_norm)) {
        hf_put_bool(reading, "qk_norm", true);
    }
    if (family->has_sinks) {
        hf_put_bool(reading, "sinks", true);
    }
    if (scales_rotary(reading)) {
        hf_put_bool(reading, "rotary_scaled", true);
    }
    if (family->clamps_mlp || doc_find_text(reading->config, "swiglu_limit") != NULL) {
        hf_put_bool(reading, "mlp_clamped", true);
    }
}

static void put_keys(struct hf_reading *reading, const char *path)
{
    const struct hf_family *family = reading->family;
    const char *positions = positions_of(reading);
    put_head(reading, path);
    put_shapes(reading);
    put_text(reading, "mlp", family->mlp, &reading->config->place);
    put_text(reading, "norm", family->norm, &reading->config->place);
    put_text(reading, "positions", positions, &reading->config->place);
    put_biases(reading);
    put_switches(reading);
    if (family->hybrid == NULL) {
        hf_put_window(reading);
    }
    put_latent(reading);
    hf_put_experts(reading);
    hf_put_hybrid(reading);
    put_end(reading);
}

static void put_note(struct hf_reading *reading)
{
    const struct hf_family *family = reading->family;
    if (family->note != NULL &&
        (family->note_switch.key == NULL || hf_switch_value(reading, &family->note_switch))) {
        diag_add(reading->diag, DIAG_NOTE, &reading->config->place, "%s: %s", reading->type,
                 family->note);
    }
}

struct doc_node *hf_config_read(struct arena *arena, const struct doc_node *root, const char *path,
                                struct diag *diag)
{
    if (root->kind != DOC_MAPPING) {
        diag_add(diag, DIAG_INPUT, &root->place, "this is no config.json of Hugging Face");
        diag_help(diag, "that is a JSON object: {\"model_type\": \"llama\", ...}");
        return NULL;
    }
    struct doc_node *result = arena_alloc(arena, sizeof *result);
    *result = (struct doc_node){.kind = DOC_MAPPING, .place = root->place};
    struct hf_reading reading = {.arena = arena, .diag = diag, .root = root, .config = root};
    reading.end = &result->child;
    if (!hf_find_decoder(&reading)) {
        return NULL;
    }
    hf_read_fields(&reading);
    hf_check_keys(&reading);
    if (reading.is_bad) {
        return NULL;
    }
    put_keys(&reading, path);
    put_note(&reading);
    return reading.is_bad ? NULL : result;
}
