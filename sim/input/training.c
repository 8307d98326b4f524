/* Reads what a scenario says of training. Every key stands alone, so a section
 * is a list of getters; the rules that tie them to the model follow below.
 */
#include "input/training.h"

#include "input/layout.h"
#include "input/scenario.h"
#include "input/doc/section.h"

#include "base/arena.h"

#include <string.h>

enum { LAYERS_MAX = 10 * 1000, RANK_MAX = 100 * 1000, COPIES_MAX = 4096 };

/* ---- reading ---- */

/* One of `names` as a bit. */
static bool name_bit(const struct doc_node *node, const char *const *names, uint32_t count,
                     uint32_t *bit)
{
    for (uint32_t i = 0; node->kind == DOC_SCALAR && i < count; i++) {
        if (strcmp(node->text, names[i]) == 0) {
            *bit = 1u << i;
            return true;
        }
    }
    return false;
}

/* "a, b, c" */
static const char *listed(struct arena *arena, const char *const *names, uint32_t count)
{
    const char *text = names[0];
    for (uint32_t i = 1; i < count; i++) {
        text = arena_printf(arena, "%s, %s", text, names[i]);
    }
    return text;
}

/* A list of names, each once: *mask is their bits. */
static bool read_names(struct doc_map *map, const char *key, const char *const *names,
                       uint32_t count, uint32_t *mask, struct arena *arena)
{
    const struct doc_node *list = doc_take(map, key);
    if (list == NULL) {
        return true;
    }
    uint32_t bits = 0;
    if (list->kind != DOC_SEQUENCE || list->child == NULL) {
        diag_add(map->diag, DIAG_INPUT, &list->place, "%s must be a list of names", key);
        diag_help(map->diag, "some of [%s]", listed(arena, names, count));
        map->is_bad = true;
        return false;
    }
    for (const struct doc_node *entry = list->child; entry != NULL; entry = entry->next) {
        uint32_t bit = 0;
        if (!name_bit(entry, names, count, &bit)) {
            diag_add(map->diag, DIAG_INPUT, &entry->place, "%s has no '%s'", key,
                     entry->kind == DOC_SCALAR ? entry->text : "list");
            diag_help(map->diag, "it may hold %s", listed(arena, names, count));
            map->is_bad = true;
            return false;
        }
        if ((bits & bit) != 0) {
            diag_add(map->diag, DIAG_INPUT, &entry->place, "'%s' is listed twice", entry->text);
            map->is_bad = true;
            return false;
        }
        bits |= bit;
    }
    *mask = bits;
    return true;
}

/* `recompute: full`, or {layers: 4}, or {modules: [...]}. */
static void read_recompute(struct doc_map *scenario_map, struct scenario *scenario)
{
    struct recompute *recompute = &scenario->recompute;
    const struct doc_node *node = doc_take(scenario_map, "recompute");
    struct doc_map map;
    if (node == NULL || node->kind == DOC_SCALAR) {
        doc_get_choice(scenario_map, "recompute", recompute_names, RECOMPUTE_COUNT_,
                       &recompute->kind);
        return;
    }
    section_open(&map, scenario_map, "recompute", "scenario", &scenario->assumptions);
    const bool has_layers = doc_get_count(&map, "layers", 1, LAYERS_MAX, &recompute->layers);
    read_names(&map, "modules", recompute_module_names, RECOMPUTE_MODULE_COUNT_,
               &recompute->modules, scenario->assumptions.arena);
    recompute->kind = has_layers ? RECOMPUTE_FULL : RECOMPUTE_SELECTIVE;
    section_close(&map, scenario_map);
    if (!map.is_bad && has_layers == (recompute->modules != 0)) {
        diag_add(map.diag, DIAG_INPUT, &node->place,
                 has_layers ? "recompute has both layers and modules"
                            : "recompute needs layers or modules");
        diag_help(map.diag, "write {layers: 4}, {modules: [core-attention]}, or one of none, "
                            "selective, full");
        scenario_map->is_bad = true;
    }
}

static const uint32_t gradient_formats[] = {STATE_FP32, STATE_BF16, STATE_FP16};
static const uint32_t master_formats[] = {STATE_NONE, STATE_FP32, STATE_BF16, STATE_FP16};
static const uint32_t moment_formats[] = {STATE_FP32, STATE_BF16, STATE_FP16, STATE_FP8,
                                          STATE_INT8};

enum { FORMATS_MAX = 5 };

static void read_format(struct doc_map *map, const char *key, const uint32_t *formats,
                        uint32_t count, uint32_t *format)
{
    const char *names[FORMATS_MAX];
    uint32_t choice = 0;
    sim_assert(count <= FORMATS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = state_names[formats[i]];
    }
    if (doc_get_choice(map, key, names, count, &choice)) {
        *format = formats[choice];
    }
}

/* Gradients are kept as the framework does; what trains in fp32 needs no other master. */
static void read_optimizer(struct doc_map *scenario_map, struct scenario *scenario)
{
    static const uint32_t of_precision[PRECISION_COUNT_] = {
        [PRECISION_FP32] = STATE_FP32,  [PRECISION_TF32] = STATE_FP32,
        [PRECISION_FP16] = STATE_FP16,  [PRECISION_BF16] = STATE_BF16,
        [PRECISION_FP8] = STATE_BF16,   [PRECISION_MXFP8] = STATE_BF16,
        [PRECISION_NVFP4] = STATE_BF16,
    };
    struct optimizer *optimizer = &scenario->optimizer;
    struct doc_map map;
    optimizer->gradients = of_precision[scenario->software.gradient_precision];
    optimizer->master = precision_bytes(scenario->precision) == 4 ? STATE_NONE : STATE_FP32;
    section_open(&map, scenario_map, "optimizer", "scenario", &scenario->assumptions);
    read_format(&map, "gradients", gradient_formats, 3, &optimizer->gradients);
    read_format(&map, "master", master_formats, 4, &optimizer->master);
    read_format(&map, "moments", moment_formats, 5, &optimizer->moments);
    doc_get_bool(&map, "clip", &optimizer->clips);
    section_close(&map, scenario_map);
}

static void read_offload(struct doc_map *scenario_map, struct scenario *scenario)
{
    struct offload *offload = &scenario->offload;
    struct doc_map map;
    section_open(&map, scenario_map, "offload", "scenario", &scenario->assumptions);
    doc_get_quantity(&map, "optimizer", DIM_FRACTION, 0.0, 1.0, &offload->optimizer);
    doc_get_count(&map, "activation_layers", 0, LAYERS_MAX, &offload->activation_layers);
    section_close(&map, scenario_map);
}

static void read_routing(struct doc_map *scenario_map, struct scenario *scenario)
{
    struct routing *routing = &scenario->routing;
    struct doc_map map;
    section_open(&map, scenario_map, "routing", "scenario", &scenario->assumptions);
    doc_get_choice(&map, "distribution", token_routing_names, ROUTING_COUNT_, &routing->kind);
    const bool has_spread = doc_get_quantity(&map, "spread", DIM_COUNT, 0.0, 5.0, &routing->spread);
    doc_get_quantity(&map, "capacity_factor", DIM_COUNT, 0.01, 1e4, &routing->capacity_factor);
    doc_get_count(&map, "redundant_experts", 0, COPIES_MAX, &routing->redundant_experts);
    if (!map.is_bad && has_spread && routing->kind == ROUTING_EVEN) {
        diag_add(map.diag, DIAG_INPUT, &doc_take(&map, "spread")->place,
                 "routing that is even has no spread");
        diag_help(map.diag, "write distribution: lognormal, or leave spread out");
        map.is_bad = true;
    }
    section_close(&map, scenario_map);
    if (routing->kind == ROUTING_LOGNORMAL && !has_spread && !map.is_bad) {
        diag_add(scenario_map->diag, DIAG_INPUT, &map.node->place,
                 "routing that is lognormal needs a spread");
        diag_help(scenario_map->diag, "spread is the sigma of the experts' popularity, like 0.5");
        scenario_map->is_bad = true;
    }
}

static void read_lora(struct doc_map *scenario_map, struct scenario *scenario)
{
    struct lora *lora = &scenario->lora;
    const struct doc_node *node = doc_take(scenario_map, "lora");
    struct doc_map map;
    if (node != NULL && node->kind == DOC_SCALAR && strcmp(node->text, "off") == 0) {
        return;
    }
    if (!section_open(&map, scenario_map, "lora", "scenario", &scenario->assumptions)) {
        return;
    }
    lora->targets = 1u << LORA_QKV | 1u << LORA_PROJECTION | 1u << LORA_FC1 | 1u << LORA_FC2;
    section_need_count(&map, "rank", 1, RANK_MAX, &lora->rank);
    read_names(&map, "targets", lora_target_names, LORA_TARGET_COUNT_, &lora->targets,
               scenario->assumptions.arena);
    section_close(&map, scenario_map);
}

void training_read(struct doc_map *map, struct scenario *scenario)
{
    read_recompute(map, scenario);
    read_optimizer(map, scenario);
    read_offload(map, scenario);
    read_routing(map, scenario);
    read_lora(map, scenario);
}

/* ---- what follows ---- */

void training_settle(struct scenario *scenario)
{
    struct recompute *recompute = &scenario->recompute;
    if (recompute->kind != RECOMPUTE_SELECTIVE || recompute->modules != 0) {
        return;
    }
    const bool is_fused = scenario->software.attention != ATTENTION_UNFUSED;
    recompute->modules = is_fused ? 1u << RECOMPUTE_NORM | 1u << RECOMPUTE_ACTIVATION
                                  : 1u << RECOMPUTE_CORE_ATTENTION;
}

/* ---- checks ---- */

/* What is worked on here. */
struct check {
    const struct scenario *scenario;
    struct diag *diag;
};

/* Where a key was written. */
static const struct place *place_at(const struct check *check, const char *path)
{
    const struct doc_node *root = check->scenario->document;
    const struct doc_node *node = doc_find(root, path);
    return node != NULL ? &node->place : &root->place;
}

static int64_t largest_chunk(const struct parallel *parallel)
{
    const int64_t pieces = layout_pieces(parallel);
    int64_t largest = 0;
    for (int64_t i = 0; i < pieces; i++) {
        const int64_t layers = parallel->layers_per_chunk[i];
        largest = layers > largest ? layers : largest;
    }
    return largest;
}

static int64_t largest_stage(const struct parallel *parallel)
{
    int64_t largest = 0;
    for (int64_t stage = 0; stage < parallel->pp; stage++) {
        int64_t layers = 0;
        for (int64_t chunk = 0; chunk < parallel->virtual_stages; chunk++) {
            layers += parallel->layers_per_chunk[layout_piece(parallel, stage, chunk)];
        }
        largest = layers > largest ? layers : largest;
    }
    return largest;
}

/* What a model must have for its module to be recomputed; NULL when it has it. */
static const char *missing_for(const struct model *model, enum recompute_module module)
{
    switch (module) {
    case RECOMPUTE_MOE:
        return model->experts == 0 ? "experts" : NULL;
    case RECOMPUTE_SHARED_EXPERTS:
        return model->shared_experts == 0 ? "shared experts" : NULL;
    case RECOMPUTE_MLA_UP:
        return model->latent.kv_rank == 0 ? "latent attention" : NULL;
    case RECOMPUTE_MLP:
        return model->experts > 0 && model->dense_layers == 0 && model->expert_every <= 1
                   ? "dense layers"
                   : NULL;
    case RECOMPUTE_CORE_ATTENTION:
    case RECOMPUTE_NORM:
    case RECOMPUTE_ACTIVATION:
    case RECOMPUTE_MODULE_COUNT_:
    default:
        return NULL;
    }
}

static bool check_recompute(const struct check *check)
{
    const struct scenario *scenario = check->scenario;
    const struct recompute *recompute = &scenario->recompute;
    const int64_t most = largest_chunk(&scenario->parallel);
    bool is_good = true;
    for (uint32_t i = 0; i < RECOMPUTE_MODULE_COUNT_; i++) {
        const char *missing = missing_for(&scenario->model, i);
        if ((recompute->modules & (1u << i)) != 0 && missing != NULL) {
            is_good = diag_add(check->diag, DIAG_INFEASIBLE, place_at(check, "recompute.modules"),
                               "module %s, but model %s has no %s", recompute_module_names[i],
                               scenario->model.name, missing);
        }
    }
    if (recompute->layers > most) {
        is_good = diag_add(check->diag, DIAG_INFEASIBLE, place_at(check, "recompute.layers"),
                           "%lld layers, but no chunk of the model has more than %lld",
                           (long long)recompute->layers, (long long)most);
        diag_help(check->diag, "layers counts those of each chunk; or write recompute: full");
    }
    return is_good;
}

static bool check_optimizer(const struct check *check)
{
    const struct scenario *scenario = check->scenario;
    if (precision_bytes(scenario->precision) != 4 || scenario->optimizer.master == STATE_NONE) {
        return true;
    }
    diag_add(check->diag, DIAG_INFEASIBLE, place_at(check, "optimizer.master"),
             "weights trained in %s are their own master", precision_names[scenario->precision]);
    diag_help(check->diag, "write master: none, or leave it out");
    return false;
}

static bool check_offload(const struct check *check)
{
    const struct scenario *scenario = check->scenario;
    const int64_t most = largest_stage(&scenario->parallel);
    if (scenario->offload.activation_layers <= most) {
        return true;
    }
    diag_add(check->diag, DIAG_INFEASIBLE, place_at(check, "offload.activation_layers"),
             "activation_layers %lld is more than the %lld layers of a stage",
             (long long)scenario->offload.activation_layers, (long long)most);
    diag_help(check->diag, "it may be at most %lld", (long long)most);
    return false;
}

static bool check_routing(const struct check *check)
{
    const struct scenario *scenario = check->scenario;
    if (scenario->model.experts > 0 || doc_find(scenario->document, "routing") == NULL) {
        return true;
    }
    return diag_add(check->diag, DIAG_INFEASIBLE, place_at(check, "routing"),
                    "routing is of experts, and model %s has none", scenario->model.name);
}

static bool check_lora(const struct check *check)
{
    const struct scenario *scenario = check->scenario;
    if (scenario->lora.rank <= scenario->model.hidden) {
        return true;
    }
    diag_add(check->diag, DIAG_INFEASIBLE, place_at(check, "lora.rank"),
             "rank %lld is more than hidden %lld of model %s", (long long)scenario->lora.rank,
             (long long)scenario->model.hidden, scenario->model.name);
    diag_help(check->diag, "ranks of 8 to 256 are usual");
    return false;
}

bool training_check(const struct scenario *scenario, struct diag *diag)
{
    const struct check check = {scenario, diag};
    bool is_good = check_recompute(&check);
    is_good = check_optimizer(&check) && is_good;
    is_good = check_offload(&check) && is_good;
    is_good = check_routing(&check) && is_good;
    return check_lora(&check) && is_good;
}
