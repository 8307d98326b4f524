/* Reads a model's shapes. Bounds are there to catch slips (a parameter count
 * for a layer count) and to keep products of shapes far below 2^63.
 */
#include "input/model.h"

#include "input/doc/section.h"

static const char *const mlp_names[] = {"gelu", "swiglu"};
static const char *const norm_names[] = {"layernorm", "rmsnorm"};
static const char *const position_names[] = {"learned", "rotary", "alibi"};

/* ---- DEFAULTS of a model file; kv_heads and head_dim follow from the rest -------- */
static const struct model model_defaults = {
    .mlp = MLP_GELU,
    .norm = NORM_LAYERNORM,
    .positions = POSITION_LEARNED,
    .expert_every = 1,
    .window_every = 1,
};

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
    const struct doc_node *node = map->node == NULL ? NULL : doc_find(map->node, key);
    return node != NULL ? &node->place : &map->node->place;
}

/* A key that means nothing here: `why` says it after the key. */
static void refuse(struct doc_map *map, const char *key, const char *why, const char *help)
{
    const struct doc_node *node = doc_take(map, key);
    if (node != NULL) {
        diag_add(map->diag, DIAG_INPUT, &node->place, "%s %s", key, why);
        diag_help(map->diag, "%s", help);
        map->is_bad = true;
    }
}

static void read_shapes(struct doc_map *map, struct model *model)
{
    section_need_count(map, "layers", 1, LAYERS_MAX, &model->layers);
    section_need_count(map, "hidden", 1, WIDTH_MAX, &model->hidden);
    section_need_count(map, "ffn_hidden", 1, WIDTH_MAX, &model->ffn_hidden);
    section_need_count(map, "heads", 1, WIDTH_MAX, &model->heads);
    section_need_count(map, "vocab", 1, VOCAB_MAX, &model->vocab);
    section_need_count(map, "max_positions", 1, POSITIONS_MAX, &model->max_positions);
    doc_get_count(map, "mtp_layers", 0, MTP_MAX, &model->mtp_layers);
    model->heads_place = *key_value_place(map, "heads");
}

static void read_norm_biases(struct doc_map *map, struct model *model)
{
    bool has_biases = true;
    if (model->norm == NORM_LAYERNORM) {
        doc_get_bool(map, "norm_biases", &has_biases);
    } else {
        refuse(map, "norm_biases", "with rmsnorm, which has none", "leave it out");
    }
    model->has_bare_norms = !has_biases;
}

static void read_kinds(struct doc_map *map, struct model *model)
{
    doc_get_choice(map, "mlp", mlp_names, 2, &model->mlp);
    doc_get_choice(map, "norm", norm_names, 2, &model->norm);
    read_norm_biases(map, model);
    doc_get_choice(map, "positions", position_names, 3, &model->positions);
    doc_get_bool(map, "biases", &model->has_biases);
    model->has_qkv_biases = model->has_projection_biases = model->has_mlp_biases =
        model->has_biases;
    doc_get_bool(map, "qkv_biases", &model->has_qkv_biases);
    doc_get_bool(map, "projection_biases", &model->has_projection_biases);
    doc_get_bool(map, "mlp_biases", &model->has_mlp_biases);
    model->has_biases =
        model->has_qkv_biases && model->has_projection_biases && model->has_mlp_biases;
    doc_get_bool(map, "tied_embeddings", &model->has_tied_embeddings);
    doc_get_bool(map, "embedding_norm", &model->has_embedding_norm);
    doc_get_bool(map, "dropout", &model->has_dropout);
    doc_get_quantity(map, "advertised_parameters", DIM_COUNT, 1.0, 1e18,
                     &model->advertised_parameters);
}

/* ---- attention ------------------------------------------------------------------- */

static void read_latent(struct doc_map *map, struct model *model, struct assumptions *assumptions)
{
    struct doc_map section;
    struct latent *latent = &model->latent;
    if (!section_open(&section, map, "latent", "model", assumptions)) {
        return;
    }
    doc_get_count(&section, "q_rank", 0, WIDTH_MAX, &latent->q_rank);
    section_need_count(&section, "kv_rank", 1, WIDTH_MAX, &latent->kv_rank);
    section_need_count(&section, "nope_dim", 1, HEAD_DIM_MAX, &latent->nope_dim);
    section_need_count(&section, "rope_dim", 1, HEAD_DIM_MAX, &latent->rope_dim);
    section_need_count(&section, "value_dim", 1, HEAD_DIM_MAX, &latent->value_dim);
    section_close(&section, map);
    refuse(map, "kv_heads", "beside latent: latent attention has as many as heads",
           "leave it out; latent: {kv_rank: 512, ...} says what is kept of a token");
    refuse(map, "head_dim", "beside latent, which says it",
           "leave it out; queries and keys have nope_dim + rope_dim values a head");
    refuse(map, "qk_norm", "beside latent, which has norms of its own", "leave it out");
}

static void read_window(struct doc_map *map, struct model *model)
{
    static const char help[] = "say how many keys a query sees: window: 128";
    if (!doc_get_count(map, "window", 1, POSITIONS_MAX, &model->window)) {
        refuse(map, "window_every", "without window", help);
        refuse(map, "full_every", "without window", help);
    } else if (doc_get_count(map, "full_every", 2, LAYERS_MAX, &model->full_every)) {
        refuse(
            map, "window_every", "beside full_every, which says it the other way round",
            "keep one: window_every counts the layers with the window, full_every those without");
    } else {
        doc_get_count(map, "window_every", 1, LAYERS_MAX, &model->window_every);
    }
}

static void read_attention(struct doc_map *map, struct model *model,
                           struct assumptions *assumptions)
{
    bool is_causal = true;
    doc_get_bool(map, "causal", &is_causal);
    model->is_bidirectional = !is_causal;
    doc_get_bool(map, "sinks", &model->has_sinks);
    read_window(map, model);
    model->kv_heads = model->heads;
    if (doc_find(map->node, "latent") != NULL) {
        read_latent(map, model, assumptions);
        return;
    }
    (void)doc_take(map, "latent");
    doc_get_bool(map, "qk_norm", &model->has_qk_norm);
    doc_get_count(map, "kv_heads", 1, WIDTH_MAX, &model->kv_heads);
    doc_get_count(map, "head_dim", 1, HEAD_DIM_MAX, &model->head_dim);
}

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

static bool check_heads(const struct doc_map *map, struct model *model)
{
    return check_kv_heads(map, model->heads, model->kv_heads) &&
           (model->latent.kv_rank > 0 ||
            settle_head_dim(map, model->hidden, model->heads, &model->head_dim));
}

/* ---- experts --------------------------------------------------------------------- */

/* Without experts the other keys would mean nothing. */
static void refuse_experts(struct doc_map *map)
{
    static const char *const keys[] = {"experts_per_token", "expert_hidden", "shared_experts",
                                       "dense_layers",      "expert_every",  "shared_hidden",
                                       "router_biases",     "expert_groups", "group_limit"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        refuse(map, keys[i], "in a model without experts", "say how many: experts: 8");
    }
}

static void read_groups(struct doc_map *map, struct model *model)
{
    if (doc_get_count(map, "expert_groups", 1, EXPERTS_MAX, &model->expert_groups)) {
        section_need_count(map, "group_limit", 1, EXPERTS_MAX, &model->group_limit);
    } else {
        refuse(map, "group_limit", "without expert_groups",
               "say in how many groups the experts lie: expert_groups: 8");
    }
}

static void read_experts(struct doc_map *map, struct model *model)
{
    doc_get_count(map, "experts", 0, EXPERTS_MAX, &model->experts);
    if (model->experts == 0) {
        refuse_experts(map);
        return;
    }
    section_need_count(map, "experts_per_token", 1, EXPERTS_MAX, &model->experts_per_token);
    model->expert_hidden = model->ffn_hidden;
    doc_get_count(map, "expert_hidden", 1, WIDTH_MAX, &model->expert_hidden);
    doc_get_count(map, "shared_experts", 0, EXPERTS_MAX, &model->shared_experts);
    if (model->shared_experts > 0) {
        doc_get_count(map, "shared_hidden", 1, WIDTH_MAX, &model->shared_hidden);
    } else {
        refuse(map, "shared_hidden", "without shared experts", "say how many: shared_experts: 1");
    }
    doc_get_count(map, "dense_layers", 0, LAYERS_MAX, &model->dense_layers);
    doc_get_count(map, "expert_every", 1, LAYERS_MAX, &model->expert_every);
    doc_get_bool(map, "router_biases", &model->has_router_biases);
    read_groups(map, model);
}

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

/* ---- blocks ---------------------------------------------------------------------- */

static bool check_block(const struct doc_map *map, struct layer_kind *kind)
{
    return check_kv_heads(map, kind->heads, kind->kv_heads) &&
           settle_head_dim(map, kind->hidden, kind->heads, &kind->head_dim);
}

static bool read_block(const struct doc_node *node, struct model *model, struct diag *diag)
{
    struct doc_map map;
    if (!doc_map_open(&map, node, diag)) {
        return false;
    }
    struct layer_kind kind = {.name = "block", .is_causal = true, .mlp = model->mlp};
    doc_require(&map, "name");
    doc_get_text(&map, "name", &kind.name);
    section_need_count(&map, "layers", 1, LAYERS_MAX, &kind.layers);
    section_need_count(&map, "hidden", 1, WIDTH_MAX, &kind.hidden);
    section_need_count(&map, "heads", 1, WIDTH_MAX, &kind.heads);
    section_need_count(&map, "ffn_hidden", 1, WIDTH_MAX, &kind.ffn_hidden);
    kind.kv_heads = kind.heads;
    doc_get_count(&map, "kv_heads", 1, WIDTH_MAX, &kind.kv_heads);
    doc_get_count(&map, "head_dim", 1, HEAD_DIM_MAX, &kind.head_dim);
    doc_get_count(&map, "tokens", 1, POSITIONS_MAX, &kind.tokens);
    doc_get_bool(&map, "causal", &kind.is_causal);
    doc_get_choice(&map, "mlp", mlp_names, 2, &kind.mlp);
    if (!doc_finish(&map) || !check_block(&map, &kind)) {
        return false;
    }
    kind.value_dim = kind.head_dim;
    model->kinds[model->block_kinds++] = kind;
    return true;
}

static void read_blocks(struct doc_map *map, struct model *model)
{
    const struct doc_node *node = doc_take(map, "blocks");
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
        map->is_bad = !read_block(block, model, map->diag) || map->is_bad;
    }
    for (uint32_t i = 0; i < model->block_kinds; i++) {
        model->block_layers += model->kinds[i].layers;
    }
}

/* ---- the whole ------------------------------------------------------------------- */

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
        parameters += (double)kind->layers * layer;
    }
    if (parameters > PARAMETERS_MAX) {
        return diag_add(map->diag, DIAG_INPUT, &model->place,
                        "the model has about %.2g parameters; at most %.0g are read", parameters,
                        PARAMETERS_MAX);
    }
    return true;
}

bool model_read(const struct doc_node *node, struct model *model, struct assumptions *assumptions,
                struct diag *diag)
{
    *model = model_defaults;
    model->place = node->place;
    struct doc_map map;
    if (!doc_map_open(&map, node, diag)) {
        return false;
    }
    model->name = "inline";
    doc_get_text(&map, "model", &model->name);
    model->title = model->name;
    doc_get_text(&map, "title", &model->title);
    assumptions_take(assumptions, &map, "model");
    read_shapes(&map, model);
    read_kinds(&map, model);
    read_attention(&map, model, assumptions);
    read_experts(&map, model);
    read_blocks(&map, model);
    if (!doc_finish(&map) || !check_heads(&map, model) || !check_experts(&map, model)) {
        return false;
    }
    model->layers += model->block_layers;
    model_finish(model);
    return check_size(&map, model);
}
