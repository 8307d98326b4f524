/* Reads a model's shapes. Bounds are there to catch slips (a parameter count
 * for a layer count) and to keep products of shapes far below 2^63.
 */
#include "spec/model.h"

#include "spec/section.h"

static const char *const mlp_names[] = {"gelu", "swiglu"};
static const char *const norm_names[] = {"layernorm", "rmsnorm"};
static const char *const position_names[] = {"learned", "rotary", "alibi"};

/* ---- DEFAULTS of a model file; kv_heads and head_dim follow from the rest ---- */
static const struct model model_defaults = {
    .mlp = MLP_GELU,
    .norm = NORM_LAYERNORM,
    .positions = POSITION_LEARNED,
};

enum {
    LAYERS_MAX = 10 * 1000,
    WIDTH_MAX = 1000 * 1000,
    HEAD_DIM_MAX = 100 * 1000,
    VOCAB_MAX = 100 * 1000 * 1000,
    EXPERTS_MAX = 10 * 1000,
    POSITIONS_MAX = 1000 * 1000 * 1000,
};

static const double PARAMETERS_MAX = 1e17;

static const struct place *key_value_place(const struct doc_map *map, const char *key)
{
    const struct doc_node *node = doc_find(map->node, key);
    return node != NULL ? &node->place : &map->node->place;
}

static void read_shapes(struct doc_map *map, struct model *model)
{
    section_need_count(map, "layers", 1, LAYERS_MAX, &model->layers);
    section_need_count(map, "hidden", 1, WIDTH_MAX, &model->hidden);
    section_need_count(map, "ffn_hidden", 1, WIDTH_MAX, &model->ffn_hidden);
    section_need_count(map, "heads", 1, WIDTH_MAX, &model->heads);
    section_need_count(map, "vocab", 1, VOCAB_MAX, &model->vocab);
    section_need_count(map, "max_positions", 1, POSITIONS_MAX, &model->max_positions);
    model->kv_heads = model->heads;
    doc_get_count(map, "kv_heads", 1, WIDTH_MAX, &model->kv_heads);
    doc_get_count(map, "head_dim", 1, HEAD_DIM_MAX, &model->head_dim);
    model->heads_place = *key_value_place(map, "heads");
}

static void read_kinds(struct doc_map *map, struct model *model)
{
    doc_get_choice(map, "mlp", mlp_names, 2, &model->mlp);
    doc_get_choice(map, "norm", norm_names, 2, &model->norm);
    doc_get_choice(map, "positions", position_names, 3, &model->positions);
    doc_get_bool(map, "biases", &model->has_biases);
    doc_get_bool(map, "tied_embeddings", &model->has_tied_embeddings);
    doc_get_bool(map, "embedding_norm", &model->has_embedding_norm);
    doc_get_bool(map, "dropout", &model->has_dropout);
    doc_get_quantity(map, "advertised_parameters", DIM_COUNT, 1.0, 1e18,
                     &model->advertised_parameters);
}

/* Without experts the other keys would mean nothing. */
static void read_experts(struct doc_map *map, struct model *model)
{
    static const char *const others[] = {"experts_per_token", "expert_hidden", "shared_experts",
                                         "dense_layers"};
    doc_get_count(map, "experts", 0, EXPERTS_MAX, &model->experts);
    if (model->experts == 0) {
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            const struct doc_node *node = doc_take(map, others[i]);
            if (node != NULL) {
                diag_add(map->diag, DIAG_INPUT, &node->place, "%s in a model without experts",
                         others[i]);
                diag_help(map->diag, "say how many: experts: 8");
                map->is_bad = true;
            }
        }
        return;
    }
    section_need_count(map, "experts_per_token", 1, EXPERTS_MAX, &model->experts_per_token);
    model->expert_hidden = model->ffn_hidden;
    doc_get_count(map, "expert_hidden", 1, WIDTH_MAX, &model->expert_hidden);
    doc_get_count(map, "shared_experts", 0, EXPERTS_MAX, &model->shared_experts);
    doc_get_count(map, "dense_layers", 0, LAYERS_MAX, &model->dense_layers);
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
    return true;
}

/* Heads share keys and values evenly; without a head_dim they share hidden. */
static bool check_heads(const struct doc_map *map, struct model *model)
{
    if (model->heads % model->kv_heads != 0) {
        diag_add(map->diag, DIAG_INPUT, key_value_place(map, "kv_heads"),
                 "kv_heads %lld does not divide heads %lld", (long long)model->kv_heads,
                 (long long)model->heads);
        return false;
    }
    if (model->head_dim == 0 && model->hidden % model->heads != 0) {
        diag_add(map->diag, DIAG_INPUT, &model->heads_place,
                 "heads %lld does not divide hidden %lld", (long long)model->heads,
                 (long long)model->hidden);
        diag_help(map->diag, "give head_dim when it is not hidden / heads");
        return false;
    }
    if (model->head_dim == 0) {
        model->head_dim = model->hidden / model->heads;
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
    read_experts(&map, model);
    return doc_finish(&map) && check_heads(&map, model) && check_experts(&map, model);
}

bool model_has_experts(const struct model *model, int64_t layer)
{
    return model->experts > 0 && layer >= model->dense_layers;
}

int64_t model_expert_layers(const struct model *model, int64_t first, int64_t count)
{
    const int64_t end = first + count;
    const int64_t from = first > model->dense_layers ? first : model->dense_layers;
    return model->experts > 0 && from < end ? end - from : 0;
}
