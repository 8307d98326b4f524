/* Kinds of layers of a model, and which layer is of which.
 *
 * In model order come the blocks' layers, then the decoder's, then those of multi-token
 * prediction. A decoder's layer is told apart by two questions: has it experts, has its
 * attention a window? Both have closed forms, so that no list of layers is kept. Or a pattern has
 * a letter for each layer. Cost O(kinds).
 */
#include "input/model.h"

#include "base/check.h"

/* ---- which layers of the decoder ------------------------------------------------------- */

/* Of the first `count` layers of the decoder: how many have experts. */
static int64_t expert_layers_before(const struct model *model, int64_t count)
{
    const int64_t after_dense = count - model->dense_layers;
    return model->experts > 0 && after_dense > 0 ? after_dense / model->expert_every : 0;
}

static bool decoder_has_experts(const struct model *model, int64_t layer)
{
    return expert_layers_before(model, layer + 1) > expert_layers_before(model, layer);
}

static bool decoder_has_window(const struct model *model, int64_t layer)
{
    if (model->window == 0) {
        return false;
    }
    return model->full_every > 0 ? (layer + 1) % model->full_every != 0
                                 : layer % model->window_every == 0;
}

/* Experts and window, or the pattern's letter. */
static uint32_t type_of(const struct model *model, int64_t layer)
{
    const struct layer_pattern *pattern = model->pattern;
    if (pattern == NULL) {
        return (uint32_t)decoder_has_experts(model, layer) << 1 |
               (uint32_t)decoder_has_window(model, layer);
    }
    uint32_t type = 0;
    while (pattern->types[type].letter[0] != pattern->letters[layer]) {
        type++;
        sim_assert(type < pattern->type_count);
    }
    return type;
}

/* ---- branches ----------------------------------------------------------------------------- */

bool layer_mixes(const struct layer_kind *kind)
{
    return kind->branches != LAYER_MLP;
}

bool layer_has_mlp(const struct layer_kind *kind)
{
    return kind->branches != LAYER_MIXER;
}

bool layer_is_dense(const struct layer_kind *kind)
{
    return layer_has_mlp(kind) && !kind->has_experts;
}

bool layer_attends(const struct layer_kind *kind)
{
    return layer_mixes(kind) && (kind->mixer == NULL || kind->mixer->attention != NULL);
}

bool layer_scans(const struct layer_kind *kind)
{
    return layer_mixes(kind) && kind->mixer != NULL && kind->mixer->scan != NULL;
}

bool layer_chooses(const struct layer_kind *kind)
{
    return layer_mixes(kind) && kind->has_index;
}

bool model_has(const struct model *model, bool (*is)(const struct layer_kind *kind))
{
    uint32_t i = 0;
    while (i < model->kind_count && !is(&model->kinds[i])) {
        i++;
    }
    return i < model->kind_count;
}

int64_t layer_kv_dim(const struct layer_kind *kind)
{
    return kind->head_dim + (kind->shares_values ? 0 : kind->value_dim);
}

/* ---- kinds -------------------------------------------------------------------------------- */

static struct layer_kind plain_kind(const struct model *model, bool has_experts, bool has_window)
{
    static const char *const names[2][2] = {{"dense", "dense, window"},
                                            {"experts", "experts, window"}};
    return (struct layer_kind){
        .name = names[has_experts][has_window],
        .hidden = model->hidden,
        .heads = model->heads,
        .kv_heads = model->kv_heads,
        .head_dim = model->head_dim,
        .value_dim = model->latent.kv_rank > 0 ? model->latent.value_dim : model->head_dim,
        .latent = model->latent,
        .window = has_window ? model->window : 0,
        .is_causal = !model->is_bidirectional,
        .mlp = model->mlp,
        .ffn_hidden = model->ffn_hidden,
        .has_experts = has_experts,
    };
}

/* Its heads and dims are those of its attention, else of its scan. */
static void take_mixer(struct layer_kind *kind, const struct mixer *mixer)
{
    const struct mixer_operator *op = mixer->attention != NULL ? mixer->attention : mixer->scan;
    sim_assert(op != NULL); /* mixer_read refuses one without */
    const struct mixer_tensor *query = mixer_read(mixer, op, 0);
    const struct mixer_tensor *key = mixer_read(mixer, op, 1);
    const struct mixer_tensor *value = mixer_read(mixer, op, 2);
    kind->mixer = mixer;
    kind->heads = op == mixer->attention ? query->heads : value->heads;
    kind->kv_heads = key->heads;
    kind->head_dim = key->dim;
    kind->shares_values = mixer_shares_values(mixer);
    kind->value_dim = kind->shares_values ? mixer->tensors[op->writes.tensors[0]].dim : value->dim;
    kind->latent = (struct latent){0};
    kind->has_index = mixer->index != NULL;
    kind->window = kind->has_index ? mixer_chosen(mixer) : op->window;
    kind->is_causal = !op->is_bidirectional;
}

static struct layer_kind decoder_kind(const struct model *model, uint32_t type)
{
    if (model->pattern == NULL) {
        return plain_kind(model, type >> 1 != 0, (type & 1) != 0);
    }
    const struct layer_type *of = &model->pattern->types[type];
    struct layer_kind kind = plain_kind(model, of->has_experts, false);
    kind.name = of->name;
    kind.branches = of->branches;
    if (of->mixer != NULL) {
        take_mixer(&kind, of->mixer);
    }
    return kind;
}

static void add_decoder_kinds(struct model *model)
{
    const int64_t layers = model->layers - model->block_layers;
    bool is_known[DECODER_TYPES_MAX] = {false};
    for (int64_t layer = 0; layer < layers; layer++) {
        const uint32_t type = type_of(model, layer);
        uint32_t *kind = &model->decoder_kinds[type];
        if (!is_known[type]) {
            is_known[type] = true;
            *kind = model->kind_count++;
            model->kinds[*kind] = decoder_kind(model, type);
        }
        model->kinds[*kind].layers++;
    }
}

static void add_mtp_kind(struct model *model)
{
    struct layer_kind kind = *model_layer(model, model->layers - 1);
    kind.name = "mtp";
    kind.is_mtp = true;
    kind.layers = model->mtp_layers;
    model->mtp_kind = model->kind_count++;
    model->kinds[model->mtp_kind] = kind;
}

static void fill_defaults(struct model *model)
{
    if (model->has_biases) {
        model->has_qkv_biases = model->has_projection_biases = model->has_mlp_biases = true;
    }
    model->expert_every = model->expert_every > 0 ? model->expert_every : 1;
    model->window_every = model->window_every > 0 ? model->window_every : 1;
    if (model->shared_hidden == 0) {
        model->shared_hidden = model->shared_experts * model->expert_hidden;
    }
    if (model->latent.kv_rank > 0) {
        model->kv_heads = model->heads;
        model->head_dim = model->latent.nope_dim + model->latent.rope_dim;
    }
}

void model_finish(struct model *model)
{
    fill_defaults(model);
    model->block_layers = 0;
    for (uint32_t i = 0; i < model->block_kinds; i++) {
        model->block_layers += model->kinds[i].layers;
    }
    sim_assert(model->block_kinds <= LAYER_BLOCKS_MAX);
    sim_assert(model->layers > model->block_layers);
    model->kind_count = model->block_kinds;
    add_decoder_kinds(model);
    if (model->mtp_layers > 0) {
        add_mtp_kind(model);
    }
    sim_assert(model->kind_count <= LAYER_KINDS_MAX);
}

/* ---- layers in 16 bits ----------------------------------------------------------------------- */

static bool is_raised(const struct model *model, int64_t layer)
{
    const int64_t layers = model->layers - model->block_layers;
    return layer < model->high_first || layer >= layers - model->high_last;
}

void model_raise(struct model *model, int64_t first, int64_t last)
{
    static const char *const names[DECODER_TYPES_MAX] = {
        "dense, 16 bits", "dense, window, 16 bits", "experts, 16 bits", "experts, window, 16 bits"};
    const int64_t layers = model->layers - model->block_layers;
    bool is_known[DECODER_TYPES_MAX] = {false};
    sim_assert(first >= 0 && last >= 0 && first + last <= layers);
    model->high_first = first;
    model->high_last = last;
    for (int64_t layer = 0; layer < layers; layer++) {
        const uint32_t type = type_of(model, layer);
        struct layer_kind *low = &model->kinds[model->decoder_kinds[type]];
        uint32_t *kind = &model->high_kinds[type];
        if (!is_raised(model, layer)) {
            continue;
        }
        if (!is_known[type]) {
            is_known[type] = true;
            *kind = model->kind_count++;
            sim_assert(model->kind_count <= LAYER_KINDS_MAX);
            model->kinds[*kind] = *low;
            model->kinds[*kind].name =
                model->pattern != NULL ? model->pattern->types[type].high_name : names[type];
            model->kinds[*kind].is_high = true;
            model->kinds[*kind].layers = 0;
        }
        low->layers--;
        model->kinds[*kind].layers++;
    }
}

/* ---- questions ------------------------------------------------------------------------------ */

uint32_t model_kind(const struct model *model, int64_t layer)
{
    sim_assert(layer >= 0 && layer < model->layers);
    int64_t first = 0;
    for (uint32_t i = 0; i < model->block_kinds; i++) {
        first += model->kinds[i].layers;
        if (layer < first) {
            return i;
        }
    }
    const int64_t of_decoder = layer - first;
    const uint32_t type = type_of(model, of_decoder);
    return is_raised(model, of_decoder) ? model->high_kinds[type] : model->decoder_kinds[type];
}

uint32_t model_shown_kind(const struct model *model)
{
    for (uint32_t i = model->block_kinds; i < model->kind_count; i++) {
        if (model->pattern != NULL && layer_scans(&model->kinds[i]) && !model->kinds[i].is_mtp) {
            return i;
        }
    }
    return model_kind(model, model->layers - 1);
}

const struct layer_kind *model_layer(const struct model *model, int64_t layer)
{
    sim_assert(model->kind_count > 0);
    return &model->kinds[model_kind(model, layer)];
}

int64_t model_expert_layers(const struct model *model, int64_t first, int64_t count)
{
    const int64_t begin = first - model->block_layers;
    if (model->pattern != NULL) {
        int64_t found = 0;
        for (int64_t i = begin > 0 ? begin : 0; i < begin + count; i++) {
            found += model->pattern->types[type_of(model, i)].has_experts ? 1 : 0;
        }
        return found;
    }
    return expert_layers_before(model, begin + count) - expert_layers_before(model, begin);
}
