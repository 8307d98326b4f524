/* A model's shapes: the table of its keys, and what they must be to each other. Bounds are there
 * to catch slips (a parameter count for a layer count) and to keep products of shapes far below
 * 2^63.
 */
#include "input/model.h"

static const char *const mlp_names[] = {"gelu", "swiglu"};
static const char *const norm_names[] = {"layernorm", "rmsnorm"};
static const char *const position_names[] = {"learned", "rotary", "alibi", "none"};

enum {
    LAYERS_MAX = 10 * 1000,
    WIDTH_MAX = 1000 * 1000,
    HEAD_DIM_MAX = 100 * 1000,
    VOCAB_MAX = 100 * 1000 * 1000,
    EXPERTS_MAX = 10 * 1000,
    MTP_MAX = 100,
    POSITIONS_MAX = 1000 * 1000 * 1000,
};

static const double PARAMETERS_MAX = 1e17;

static const struct place *key_value_place(const struct doc_map *map, const char *key)
{
    const struct doc_node *node = doc_find(map->node, key);
    return node != NULL ? &node->place : &map->node->place;
}

/* ---- heads ----------------------------------------------------------------------- */

/* Heads share keys and values evenly. */
static bool check_kv_heads(const struct doc_map *map, int64_t heads, int64_t kv_heads)
{
    if (heads % kv_heads == 0) {
        return true;
    }
    return diag_add(map->diag, DIAG_INPUT, key_value_place(map, "kv_heads"),
                    "kv_heads %lld does not divide heads %lld", (long long)kv_heads,
                    (long long)heads);
}

/* Without a head_dim heads share hidden. */
static bool settle_head_dim(const struct doc_map *map, int64_t hidden, int64_t heads,
                            int64_t *head_dim)
{
    if (*head_dim == 0 && hidden % heads != 0) {
        diag_add(map->diag, DIAG_INPUT, key_value_place(map, "heads"),
                 "heads %lld does not divide hidden %lld", (long long)heads, (long long)hidden);
        diag_help(map->diag, "give head_dim when it is not hidden / heads");
        return false;
    }
    *head_dim = *head_dim > 0 ? *head_dim : hidden / heads;
    return true;
}

static bool has_latent(const void *object)
{
    return ((const struct model *)object)->latent.kv_rank > 0;
}

static bool check_heads(const struct doc_map *map, struct model *model)
{
    return has_latent(model) ||
           (check_kv_heads(map, model->heads, model->kv_heads) &&
            settle_head_dim(map, model->hidden, model->heads, &model->head_dim));
}

/* ---- experts --------------------------------------------------------------------- */

static bool check_groups(const struct doc_map *map, const struct model *model)
{
    const long long groups = model->expert_groups;
    const long long limit = model->group_limit;
    if (groups == 0) {
        return true;
    }
    if (model->experts % model->expert_groups != 0) {
        return diag_add(map->diag, DIAG_INPUT, key_value_place(map, "expert_groups"),
                        "expert_groups %lld does not divide experts %lld", groups,
                        (long long)model->experts);
    }
    if (limit > groups) {
        return diag_add(map->diag, DIAG_INPUT, key_value_place(map, "group_limit"),
                        "group_limit %lld is more than expert_groups %lld", limit, groups);
    }
    const long long offered = limit * (model->experts / groups);
    if (offered < model->experts_per_token) {
        diag_add(map->diag, DIAG_INPUT, key_value_place(map, "group_limit"),
                 "group_limit %lld offers %lld experts; a token goes to %lld", limit, offered,
                 (long long)model->experts_per_token);
        diag_help(map->diag, "raise group_limit, or lower experts_per_token");
        return false;
    }
    return true;
}

/* A pattern with layers of experts belongs to a model with experts. */
static bool check_pattern(const struct doc_map *map, const struct model *model)
{
    const struct layer_pattern *pattern = model->pattern;
    bool has_experts = false;
    for (uint32_t i = 0; pattern != NULL && i < pattern->type_count; i++) {
        has_experts = pattern->types[i].has_experts || has_experts;
    }
    if (pattern == NULL || has_experts == (model->experts > 0)) {
        return true;
    }
    diag_add(map->diag, DIAG_INPUT, key_value_place(map, has_experts ? "layer_types" : "experts"),
             has_experts ? "layers with experts in a model without experts"
                         : "experts %lld, which no layer type has",
             (long long)model->experts);
    diag_help(map->diag, has_experts ? "say how many: experts: 8"
                                     : "write mlp: experts for the layers that have them");
    return false;
}

static bool check_experts(const struct doc_map *map, const struct model *model)
{
    const double experts = (double)model->layers * (double)(model->experts + model->shared_experts);
    const double parameters = experts * 3.0 * (double)model->hidden * (double)model->expert_hidden;
    if (parameters > PARAMETERS_MAX) {
        return diag_add(map->diag, DIAG_INPUT, key_value_place(map, "experts"),
                        "%.3g experts in %lld layers have %.3g parameters; at most %.0g are read",
                        experts, (long long)model->layers, parameters, PARAMETERS_MAX);
    }
    if (model->experts_per_token > model->experts) {
        return diag_add(map->diag, DIAG_INPUT, key_value_place(map, "experts_per_token"),
                        "experts_per_token %lld is more than experts %lld",
                        (long long)model->experts_per_token, (long long)model->experts);
    }
    if (model->experts > 0 && model->dense_layers >= model->layers) {
        diag_add(map->diag, DIAG_INPUT, key_value_place(map, "dense_layers"),
                 "dense_layers %lld leaves none of %lld layers for experts",
                 (long long)model->dense_layers, (long long)model->layers);
        diag_help(map->diag, "a dense model has experts: 0");
        return false;
    }
    if (model->experts > 0 && model->expert_every > model->layers - model->dense_layers) {
        diag_add(map->diag, DIAG_INPUT, key_value_place(map, "expert_every"),
                 "expert_every %lld leaves none of %lld layers with experts",
                 (long long)model->expert_every, (long long)(model->layers - model->dense_layers));
        diag_help(map->diag, "a dense model has experts: 0");
        return false;
    }
    return check_groups(map, model);
}

/* ---- the head --------------------------------------------------------------------- */

/* What only a head can do. */
static bool check_head(const struct doc_map *map, const struct model *model)
{
    const bool has_mtp = model->mtp_layers > 0;
    if (!model->is_headless || (!has_mtp && !model->has_tied_embeddings)) {
        return true;
    }
    const char *key = has_mtp ? "mtp_layers" : "tied_embeddings";
    const struct doc_node *node = doc_find(map->node, key);
    diag_add(map->diag, DIAG_INPUT, node != NULL ? &node->place : &model->place,
             "%s beside lm_head: false", key);
    diag_help(map->diag,
              has_mtp ? "multi-token prediction ends with a head: write mtp_layers: 0"
                      : "there is no output matrix to be tied: write tied_embeddings: false");
    return false;
}

/* ---- the whole ------------------------------------------------------------------- */

/* Of its operators, far more than they are. */
static double mixer_size(const struct layer_kind *kind)
{
    double parameters = 0;
    for (uint32_t i = 0; kind->mixer != NULL && i < kind->mixer->operator_count; i++) {
        const struct mixer_operator *op = &kind->mixer->operators[i];
        parameters += (double)mixer_list_width(kind->mixer, &op->reads) *
                      (double)(1 + mixer_list_width(kind->mixer, &op->writes) + op->width);
    }
    return parameters;
}

/* So that counts stay far below 2^63. Largest of a layer's products, in doubles. */
static bool check_size(const struct doc_map *map, const struct model *model)
{
    double parameters = (double)model->vocab * (double)model->hidden;
    for (uint32_t i = 0; i < model->kind_count; i++) {
        const struct layer_kind *kind = &model->kinds[i];
        const struct latent *latent = &kind->latent;
        const double heads = (double)kind->heads * (double)(kind->head_dim + kind->value_dim);
        const double inner = (double)(kind->hidden + latent->q_rank + latent->kv_rank);
        const double layer = inner * (2.0 * heads + (double)(latent->kv_rank + latent->q_rank)) +
                             3.0 * (double)kind->hidden * (double)kind->ffn_hidden +
                             3.0 * (double)kind->hidden * (double)model->shared_hidden;
        parameters += (double)kind->layers * (layer + mixer_size(kind));
    }
    if (parameters > PARAMETERS_MAX) {
        return diag_add(map->diag, DIAG_INPUT, &model->place,
                        "the model has about %.2g parameters; at most %.0g are read", parameters,
                        PARAMETERS_MAX);
    }
    return true;
}

/* ---- blocks ---------------------------------------------------------------------- */

static bool check_block(const struct doc_map *map, struct layer_kind *kind)
{
    return check_kv_heads(map, kind->heads, kind->kv_heads) &&
           settle_head_dim(map, kind->hidden, kind->heads, &kind->head_dim);
}

#define SCHEMA_OBJECT struct layer_kind
#include "input/schema/rows.h"

static const struct schema_row block_rows[] = {
    {TEXT("name", name, "What its layers are called in tables."), .is_required = true},
    {COUNT("layers", layers, 1, LAYERS_MAX, "Layers of the block."), .is_required = true},
    {COUNT("hidden", hidden, 1, WIDTH_MAX, "Width of the hidden state."), .is_required = true},
    {COUNT("heads", heads, 1, WIDTH_MAX, "Attention heads."), .is_required = true},
    {COUNT("ffn_hidden", ffn_hidden, 1, WIDTH_MAX, "Inner width of the MLP."), .is_required = true},
    {COUNT("kv_heads", kv_heads, 1, WIDTH_MAX, "Heads of keys and values."), AS(int64_t, heads),
     .note = "as many as heads"},
    {COUNT("head_dim", head_dim, 1, HEAD_DIM_MAX, "Values of a head."), .note = "hidden / heads"},
    {COUNT("tokens", tokens, 1, POSITIONS_MAX, "Tokens of each sequence that it sees."),
     .is_optional = true, .note = "the scenario's sequence_length"},
    {BOOL("causal", is_causal, "A token sees only those before it."), .standard = "true"},
    {CHOICE("mlp", mlp, mlp_names, 2, "The MLP: two matrices (gelu) or three (swiglu)."),
     .note = "the model's"},
};
static const struct schema block_schema = SCHEMA_OF("block", "model.blocks.", block_rows);

static bool read_block(const struct schema_reader *reader, const struct doc_node *node)
{
    struct model *model = reader->object;
    struct doc_map map;
    if (!doc_map_open(&map, node, reader->map->diag)) {
        return false;
    }
    struct layer_kind kind = {.mlp = model->mlp};
    schema_read(&block_schema, &map, &kind, reader->assumptions);
    if (!doc_finish(&map) || !check_block(&map, &kind)) {
        return false;
    }
    kind.value_dim = kind.head_dim;
    model->kinds[model->block_kinds++] = kind;
    return true;
}

static void read_blocks(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *map = reader->map;
    struct model *model = reader->object;
    const struct doc_node *node = doc_take(map, schema_key(row));
    if (node == NULL) {
        return;
    }
    if (node->kind != DOC_SEQUENCE || doc_child_count(node) > LAYER_BLOCKS_MAX) {
        diag_add(map->diag, DIAG_INPUT, &node->place, "blocks is a list of at most %d mappings",
                 LAYER_BLOCKS_MAX);
        diag_help(map->diag, "write - {name: vision, layers: 24, hidden: 1024, heads: 16, "
                             "ffn_hidden: 4096}");
        map->is_bad = true;
        return;
    }
    for (const struct doc_node *block = node->child; block != NULL; block = block->next) {
        map->is_bad = !read_block(reader, block) || map->is_bad;
    }
    for (uint32_t i = 0; i < model->block_kinds; i++) {
        model->block_layers += model->kinds[i].layers;
    }
}

/* ---- keys that mean nothing beside others ------------------------------------------ */

static const struct schema_refusal *beside_rmsnorm(const void *object)
{
    static const struct schema_refusal refusal = {"with rmsnorm, which has none", "leave it out"};
    return ((const struct model *)object)->norm == NORM_RMSNORM ? &refusal : NULL;
}

static const struct schema_refusal *kv_heads_beside_latent(const void *object)
{
    static const struct schema_refusal refusal = {
        "beside latent: latent attention has as many as heads",
        "leave it out; latent: {kv_rank: 512, ...} says what is kept of a token"};
    return has_latent(object) ? &refusal : NULL;
}

static const struct schema_refusal *head_dim_beside_latent(const void *object)
{
    static const struct schema_refusal refusal = {
        "beside latent, which says it",
        "leave it out; queries and keys have nope_dim + rope_dim values a head"};
    return has_latent(object) ? &refusal : NULL;
}

static const struct schema_refusal *qk_norm_beside_latent(const void *object)
{
    static const struct schema_refusal refusal = {"beside latent, which has norms of its own",
                                                  "leave it out"};
    return has_latent(object) ? &refusal : NULL;
}

static const struct schema_refusal *without_window(const void *object)
{
    static const struct schema_refusal refusal = {"without window",
                                                  "say how many keys a query sees: window: 128"};
    return ((const struct model *)object)->window == 0 ? &refusal : NULL;
}

static const struct schema_refusal *beside_pattern(const void *object)
{
    static const struct schema_refusal refusal = {"beside pattern, which says which layer is what",
                                                  "leave it out"};
    return ((const struct model *)object)->pattern != NULL ? &refusal : NULL;
}

static const struct schema_refusal *beside_full_every(const void *object)
{
    static const struct schema_refusal refusal = {
        "beside full_every, which says it the other way round",
        "keep one: window_every counts the layers with the window, full_every those without"};
    return ((const struct model *)object)->full_every > 0 ? &refusal : without_window(object);
}

static bool has_experts(const void *object)
{
    return ((const struct model *)object)->experts > 0;
}

static const struct schema_refusal *without_experts(const void *object)
{
    static const struct schema_refusal refusal = {"in a model without experts",
                                                  "say how many: experts: 8"};
    return has_experts(object) ? NULL : &refusal;
}

static const struct schema_refusal *where_pattern_says(const void *object)
{
    const struct schema_refusal *refusal = without_experts(object);
    return refusal != NULL ? refusal : beside_pattern(object);
}

static const struct schema_refusal *without_shared_experts(const void *object)
{
    static const struct schema_refusal refusal = {"without shared experts",
                                                  "say how many: shared_experts: 1"};
    const bool has_some = ((const struct model *)object)->shared_experts > 0;
    return has_some ? NULL : without_experts(object) != NULL ? without_experts(object) : &refusal;
}

static const struct schema_refusal *without_groups(const void *object)
{
    static const struct schema_refusal refusal = {
        "without expert_groups", "say in how many groups the experts lie: expert_groups: 8"};
    const bool has_some = ((const struct model *)object)->expert_groups > 0;
    return has_some ? NULL : without_experts(object) != NULL ? without_experts(object) : &refusal;
}

/* ---- the table --------------------------------------------------------------------- */

#undef SCHEMA_OBJECT
#define SCHEMA_OBJECT struct model

static const struct schema_row rows[] = {
    {TEXT("model", name, "Its name, which is that of its file, too.")},
    {TEXT("title", title, "What people call it."), AS(const char *, name)},

    {COUNT("layers", layers, 1, LAYERS_MAX, "Layers of the decoder."), .is_required = true},
    {COUNT("hidden", hidden, 1, WIDTH_MAX, "Width of the hidden state."), .is_required = true},
    {COUNT("ffn_hidden", ffn_hidden, 1, WIDTH_MAX, "Inner width of the MLP."), .is_required = true},
    {COUNT("heads", heads, 1, WIDTH_MAX, "Attention heads, those of queries."),
     .is_required = true},
    {COUNT("vocab", vocab, 1, VOCAB_MAX, "Words of the vocabulary, as it is before padding."),
     .is_required = true},
    {COUNT("max_positions", max_positions, 1, POSITIONS_MAX, "Tokens of the longest sequence."),
     .is_required = true},

    {SECTION("latent", "Multi-head latent attention: what queries, keys and values are "
                       "compressed to (DeepSeek-V2, arXiv 2405.04434, section 2.1)."),
     .applies = has_latent, .note = "heads are not compressed"},
    {COUNT("latent.q_rank", latent.q_rank, 0, WIDTH_MAX,
           "Values that a token's queries are compressed to; 0: they are not."),
     .standard = "0"},
    {COUNT("latent.kv_rank", latent.kv_rank, 1, WIDTH_MAX,
           "Values that a token's keys and values are compressed to."),
     .is_required = true},
    {COUNT("latent.nope_dim", latent.nope_dim, 1, HEAD_DIM_MAX,
           "Values of a head's queries and keys without position."),
     .is_required = true},
    {COUNT("latent.rope_dim", latent.rope_dim, 1, HEAD_DIM_MAX,
           "Values of a head's queries and keys that rotate with the position."),
     .is_required = true},
    {COUNT("latent.value_dim", latent.value_dim, 1, HEAD_DIM_MAX, "Values of a head's values."),
     .is_required = true},
    {COUNT("kv_heads", kv_heads, 1, WIDTH_MAX, "Heads of keys and values."), AS(int64_t, heads),
     .note = "as many as heads", .refuses = kv_heads_beside_latent},
    {COUNT("head_dim", head_dim, 1, HEAD_DIM_MAX, "Values of a head."), .note = "hidden / heads",
     .refuses = head_dim_beside_latent},

    {CHOICE("mlp", mlp, mlp_names, 2, "The MLP: two matrices (gelu) or three (swiglu)."),
     .standard = "gelu"},
    {CHOICE("norm", norm, norm_names, 2, "The norms."), .standard = "layernorm"},
    {BOOL_UNLESS("norm_biases", has_bare_norms, "Whether layernorm has biases; MPT has none."),
     .refuses = beside_rmsnorm},
    {CHOICE("positions", positions, position_names, 4,
            "How a token's position is told: a learned table, rotation, alibi, or not at all."),
     .standard = "learned"},
    {BOOL("biases", has_biases, "Whether matrices have biases."), .standard = "false"},
    {BOOL("qkv_biases", has_qkv_biases, "Whether the product of queries, keys, values has one."),
     AS(bool, has_biases), .note = "as biases"},
    {BOOL("projection_biases", has_projection_biases,
          "Whether the product behind attention has one."),
     AS(bool, has_biases), .note = "as biases"},
    {BOOL("mlp_biases", has_mlp_biases, "Whether MLP and experts have them."), AS(bool, has_biases),
     .note = "as biases"},
    {BOOL("qk_norm", has_qk_norm, "A norm of head_dim for queries and one for keys, as Qwen3 has."),
     .standard = "false", .refuses = qk_norm_beside_latent},
    {BOOL_UNLESS("causal", is_bidirectional,
                 "A token sees only those before it; else all (BERT).")},
    {BOOL("sinks", has_sinks, "Attention sinks, one value a head, as gpt-oss has."),
     .standard = "false"},
    {BOOL("rotary_scaled", scales_rotary,
          "Cosines and sines are multiplied by a factor (YaRN's of attention, where it is not 1)."),
     .standard = "false"},
    {BOOL("mlp_clamped", clamps_mlp,
          "Gate and up of a SwiGLU are clamped before they are multiplied (gpt-oss's "
          "swiglu_limit)."),
     .standard = "false"},
    {CUSTOM("mixers", model_read_mixers,
            "What of a layer mixes tokens, as lists of operators with their widths."),
     .standard = "[]", .inner = &mixer_keys},
    {CUSTOM("layer_types", model_read_types,
            "Letters of pattern, each with its mixer (one of mixers, or attention, which heads and "
            "latent say, or none) and its mlp (dense, experts, none)."),
     .is_optional = true, .note = "layers have attention, and MLP or experts"},
    {CUSTOM("pattern", model_read_pattern,
            "The letter of each layer of the decoder, or of as many as divide it."),
     .is_optional = true, .note = "dense_layers, expert_every and windows say it"},
    {COUNT("window", window, 1, POSITIONS_MAX, "Keys that a query sees in layers with a window."),
     .is_optional = true, .note = "all keys are seen", .refuses = beside_pattern},
    {COUNT("full_every", full_every, 2, LAYERS_MAX,
           "Every so many layers one has no window: with 6 the sixth, the twelfth (Gemma 3)."),
     .is_optional = true, .note = "window_every says which layers have it",
     .refuses = without_window},
    {COUNT("window_every", window_every, 1, LAYERS_MAX,
           "Every so many layers one has the window: with 2 the first, the third."),
     .standard = "1", .refuses = beside_full_every},
    {COUNT("mtp_layers", mtp_layers, 0, MTP_MAX,
           "Multi-token prediction: so many layers behind the last, each with two norms, a "
           "projection and a layer of its own."),
     .standard = "0"},
    {CUSTOM("blocks", read_blocks,
            "Layers of another shape before the decoder's, as of a vision encoder."),
     .standard = "[]", .inner = &block_schema},
    {BOOL_UNLESS("lm_head", is_headless,
                 "Whether the model ends with a matrix to the vocabulary and the loss over it; a "
                 "classifier "
                 "or a reward model does not, and its own small head is left out.")},
    {BOOL("tied_embeddings", has_tied_embeddings, "The output matrix is the embedding."),
     .standard = "false"},
    {BOOL("embedding_norm", has_embedding_norm, "A norm behind the embedding."),
     .standard = "false"},
    {BOOL("dropout", has_dropout, "Dropout, whose masks activations pay for."),
     .standard = "false"},

    {COUNT("experts", experts, 0, EXPERTS_MAX, "Routed experts of each layer that has them."),
     .is_optional = true, .note = "every layer is dense"},
    {COUNT("experts_per_token", experts_per_token, 1, EXPERTS_MAX,
           "Routed experts that a token goes to."),
     .is_required = true, .applies = has_experts, .refuses = without_experts},
    {COUNT("expert_hidden", expert_hidden, 1, WIDTH_MAX, "Inner width of one expert."),
     AS(int64_t, ffn_hidden), .note = "ffn_hidden", .applies = has_experts,
     .refuses = without_experts},
    {COUNT("shared_experts", shared_experts, 0, EXPERTS_MAX,
           "Experts of expert_hidden that every token goes to."),
     .standard = "0", .applies = has_experts, .refuses = without_experts},
    {COUNT("dense_layers", dense_layers, 0, LAYERS_MAX,
           "The first layers, which have an MLP of ffn_hidden instead of experts."),
     .standard = "0", .applies = has_experts, .refuses = where_pattern_says},
    {COUNT("expert_every", expert_every, 1, LAYERS_MAX,
           "Of the layers behind these every so-manieth has experts: with 2 the second, the "
           "fourth."),
     .standard = "1", .applies = has_experts, .refuses = where_pattern_says},
    {COUNT("shared_hidden", shared_hidden, 1, WIDTH_MAX,
           "Inner width of all shared experts together."),
     .note = "shared_experts x expert_hidden", .applies = has_experts,
     .refuses = without_shared_experts},
    {BOOL("router_biases", has_router_biases,
          "One value an expert beside the router's matrix (DeepSeek's balancing, gpt-oss)."),
     .standard = "false", .applies = has_experts, .refuses = without_experts},
    {COUNT("expert_groups", expert_groups, 1, EXPERTS_MAX,
           "Node-limited routing: groups in which the experts lie."),
     .is_optional = true, .note = "routing is not limited", .applies = has_experts,
     .refuses = without_experts},
    {COUNT("group_limit", group_limit, 1, EXPERTS_MAX, "Groups that a token goes to at most."),
     .is_required = true, .applies = has_experts, .refuses = without_groups},

    {QUANTITY("advertised_parameters", advertised_parameters, DIM_COUNT, 1.0, 1e18,
              "What its makers say; shown beside what the shapes come to."),
     .is_optional = true, .note = "not stated"},
};
const struct schema model_schema = SCHEMA_OF("model", "model.", rows);

bool model_read(const struct doc_node *node, struct model *model, struct assumptions *assumptions,
                struct diag *diag)
{
    const struct doc_map map = {.node = node, .diag = diag};
    *model = (struct model){.name = "inline", .place = node->place};
    if (!schema_read_document(&model_schema, node, model, assumptions, diag) ||
        !check_heads(&map, model) || !check_head(&map, model) || !check_experts(&map, model) ||
        !check_pattern(&map, model)) {
        return false;
    }
    model->heads_place = *key_value_place(&map, "heads");
    model->has_biases =
        model->has_qkv_biases && model->has_projection_biases && model->has_mlp_biases;
    model->layers += model->block_layers;
    model_finish(model);
    return check_size(&map, model);
}

static bool read_object(const struct doc_node *node, void *object, struct assumptions *assumptions,
                        struct diag *diag)
{
    return model_read(node, object, assumptions, diag);
}
const struct doc_reader model_reader = {sizeof(struct model), read_object};
