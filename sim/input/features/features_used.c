/* A row for each list: its names, what of it a scenario uses, which keys ask for that.
 *
 * ASSUMES: modules of recomputation are the framework's own where they have our names. That one
 * recomputes experts' activations alone and ours all of them is told apart by whether a model has
 * experts: of its dense layers, too, if it has any.
 */
#include "input/features/features_used.h"

#include "base/arena.h"
#include "input/layout.h"
#include "input/job/parallel_order.h"
#include "input/scenario.h"

static const char *const parallel_keys[PARALLEL_FEATURES] = {
    "parallel.dp", "parallel.tp", "parallel.sequence_parallel", "parallel.cp", "parallel.pp",
    "parallel.ep", "parallel.etp"};

static const char *const zero_keys[ZERO_FEATURES] = {
    "parallel.zero", "parallel.zero",       "parallel.zero",
    "parallel.zero", "parallel.zero",       "parallel.zero",
    "parallel.zero", "parallel.zero_group", "parallel.zero_local_group"};

/* Where two keys ask for it together, the other one. */
static const char *const zero_others[ZERO_FEATURES] = {[HAS_ZERO_2_PP] = "parallel.pp",
                                                       [HAS_ZERO_3_PP] = "parallel.pp",
                                                       [HAS_ZERO_3_EP] = "parallel.ep"};

static const char *const overlap_keys[OVERLAP_FEATURES] = {"software",
                                                           "software.overlap.tp_backward",
                                                           "software.overlap.tp_pieces",
                                                           "software.overlap.dp_gradients",
                                                           "software.overlap.dp_parameters",
                                                           "software.overlap.p2p",
                                                           "parallel.overlap_experts"};

static const char *const option_keys[OPTION_FEATURES] = {"software",
                                                         "parallel.microbatch_group",
                                                         "parallel.deferred_heads",
                                                         "offload.optimizer",
                                                         "offload.activation_layers",
                                                         "optimizer.moments",
                                                         "routing.capacity_factor",
                                                         "routing.redundant_experts",
                                                         "lora",
                                                         "parallel.order",
                                                         "parallel.order"};

static uint32_t bit_if(bool is_used, uint32_t index)
{
    return is_used ? 1u << index : 0;
}

static uint32_t architectures_used(const struct scenario *scenario)
{
    return 1u << scenario->gpu.architecture;
}

static uint32_t parallel_used(const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    return bit_if(parallel->tp > 1, HAS_TP) |
           bit_if(parallel->is_sequence_parallel, HAS_SEQUENCE_PARALLEL) |
           bit_if(parallel->cp > 1, HAS_CP) | bit_if(parallel->pp > 1, HAS_PP) |
           bit_if(parallel->ep > 1, HAS_EP) |
           bit_if(scenario->model.experts > 0 && parallel->etp != parallel->tp, HAS_ETP);
}

/* Of one replica there is nothing to share out. */
static uint32_t zero_used(const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    const int64_t copies = parallel->cp * parallel->dp;
    if (copies == 1 || parallel->zero == 0) {
        return 0;
    }
    const bool is_fsdp = parallel->zero == 3;
    return 1u << (HAS_ZERO_0 + (uint32_t)parallel->zero) |
           bit_if(parallel->zero == 2 && parallel->pp > 1, HAS_ZERO_2_PP) |
           bit_if(is_fsdp && parallel->pp > 1, HAS_ZERO_3_PP) |
           bit_if(is_fsdp && parallel->ep > 1, HAS_ZERO_3_EP) |
           bit_if(parallel->zero_group < copies, HAS_GROUPS) |
           bit_if(parallel->has_quantized_weights || parallel->has_local_weights ||
                      parallel->has_quantized_gradients,
                  HAS_PLUS_PLUS);
}

/* A file of orders is its writer's affair. */
static uint32_t schedules_used(const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    return bit_if(parallel->pp > 1 && parallel->schedule != SCHEDULE_FILE, parallel->schedule);
}

/* Chunks but for the first and the last have as many layers each. */
static bool has_even_middle(const struct parallel *parallel, int64_t pieces)
{
    for (int64_t i = 2; i + 1 < pieces; i++) {
        if (parallel->layers_per_chunk[i] != parallel->layers_per_chunk[1]) {
            return false;
        }
    }
    return true;
}

static bool is_even(const struct parallel *parallel, int64_t pieces)
{
    const int64_t *layers = parallel->layers_per_chunk;
    return has_even_middle(parallel, pieces) &&
           (pieces < 2 || (layers[0] == layers[1] && layers[pieces - 1] == layers[0]));
}

/* The embedding and the loss each take a layer's place, or none. */
static bool is_of_slots(const struct parallel *parallel, int64_t pieces)
{
    const int64_t *layers = parallel->layers_per_chunk;
    const int64_t middle = pieces > 2 ? layers[1] : layers[0] > layers[1] ? layers[0] : layers[1];
    const int64_t first = middle - layers[0];
    const int64_t last = middle - layers[pieces - 1];
    return has_even_middle(parallel, pieces) && first >= 0 && first <= 1 && last >= 0 && last <= 1;
}

/* Uneven layers may be said in several ways: one that the software has, or else the least. */
static uint32_t stages_used(const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    const uint32_t has = scenario->software.has.lists[FEATURES_STAGES];
    const int64_t pieces = layout_pieces(parallel);
    if (parallel->pp == 1 || is_even(parallel, pieces)) {
        return 0;
    }
    const bool is_of_ends = parallel->virtual_stages == 1 && has_even_middle(parallel, pieces);
    const uint32_t ways = 1u << HAS_ANY | bit_if(is_of_ends, HAS_FIRST_LAST) |
                          bit_if(is_of_slots(parallel, pieces), HAS_SLOTS);
    const uint32_t best = (ways & has) != 0 ? ways & has : ways;
    return best & (~best + 1u);
}

static const char *stages_key(const struct scenario *scenario, uint32_t index)
{
    (void)index;
    for (uint32_t i = 0; i < LAYOUT_STAGE_KEYS; i++) {
        if (doc_find(scenario->document, layout_stage_keys[i]) != NULL) {
            return layout_stage_keys[i];
        }
    }
    return scenario->parallel.virtual_stages > 1 ? "parallel.virtual_stages" : "parallel.pp";
}

static uint32_t context_used(const struct scenario *scenario)
{
    return bit_if(scenario->parallel.cp > 1, scenario->parallel.context);
}

uint32_t features_of_recompute(const struct model *model, const struct recompute *recompute)
{
    const uint32_t activation = 1u << RECOMPUTE_ACTIVATION;
    if (recompute->kind != RECOMPUTE_SELECTIVE) {
        return bit_if(recompute->kind == RECOMPUTE_FULL,
                      recompute->layers > 0 ? HAS_LAYERS : HAS_FULL);
    }
    const bool is_of_experts = model->experts > 0 && (recompute->modules & activation) != 0;
    return is_of_experts ? (recompute->modules & ~activation) | 1u << HAS_EXPERT_ACTIVATION
                         : recompute->modules;
}

static uint32_t recompute_used(const struct scenario *scenario)
{
    return features_of_recompute(&scenario->model, &scenario->recompute);
}

static uint32_t precisions_used(const struct scenario *scenario)
{
    return 1u << scenario->precision;
}

static uint32_t recipes_used(const struct scenario *scenario)
{
    return bit_if(scenario->precision == PRECISION_FP8, scenario->software.low.recipe);
}

static uint32_t graphs_used(const struct scenario *scenario)
{
    return scenario->software.graphs & ~(1u << GRAPH_NONE);
}

/* Where there is what would be overlapped. */
static uint32_t overlaps_used(const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    const struct software *software = &scenario->software;
    const bool has_tp = parallel->tp > 1;
    const bool has_copies = parallel->cp * parallel->dp > 1;
    return bit_if(has_tp && software->overlaps_tp_backward, HAS_TP_BACKWARD) |
           bit_if(has_tp && software->tp_pieces > 1, HAS_TP_PIECES) |
           bit_if(has_copies && software->overlaps_dp_gradients, HAS_DP_GRADIENTS) |
           bit_if(has_copies && parallel->zero > 0 && software->overlaps_dp_parameters,
                  HAS_DP_PARAMETERS) |
           bit_if(parallel->pp > 1 && software->overlaps_p2p, HAS_P2P) |
           bit_if(parallel->ep > 1 && parallel->overlaps_experts, HAS_EXPERTS);
}

/* An order that lays out ranks as the usual one does asks for nothing. */
uint32_t features_of_order(const struct parallel *parallel, bool has_experts)
{
    if (parallel_orders_agree(parallel, has_experts, parallel->order, parallel_order_usual)) {
        return 0;
    }
    return 1u << (parallel_orders_agree(parallel, has_experts, parallel->order,
                                        parallel_order_pp_before_dp)
                      ? HAS_PP_BEFORE_DP
                      : HAS_ANY_ORDER);
}

static uint32_t options_used(const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    const struct optimizer *optimizer = &scenario->optimizer;
    return bit_if(parallel->schedule == SCHEDULE_INTERLEAVED &&
                      parallel->microbatch_group != parallel->pp,
                  HAS_MICROBATCH_GROUP) |
           bit_if(parallel->deferred_heads > 0, HAS_DEFERRED_HEADS) |
           bit_if(scenario->offload.optimizer > 0, HAS_OFFLOAD_OPTIMIZER) |
           bit_if(scenario->offload.activation_layers > 0, HAS_OFFLOAD_ACTIVATIONS) |
           bit_if(optimizer->moments != STATE_FP32 && optimizer->rule != OPTIMIZER_SGD,
                  HAS_LOW_MOMENTS) |
           bit_if(scenario->routing.capacity_factor > 0, HAS_CAPACITY) |
           bit_if(scenario->routing.redundant_experts > 0, HAS_REDUNDANT_EXPERTS) |
           bit_if(scenario->lora.is_enabled, HAS_LORA) |
           features_of_order(parallel, scenario->model.experts > 0);
}

/* ---- the table ------------------------------------------------------------------------------ */

struct list_row {
    const char *group;
    const char *word;
    const char *const *names;
    uint32_t count;
    const char *key;           /* that asks for all of them; NULL: each has its own */
    const char *const *keys;   /* theirs; NULL: `key_of` says */
    const char *const *others; /* beside these; NULL: none */
    uint32_t (*used)(const struct scenario *scenario);
    const char *(*key_of)(const struct scenario *scenario, uint32_t index);
};

static const struct list_row rows[FEATURE_LIST_COUNT_] = {
    [FEATURES_ARCHITECTURES] = {"architectures", "support of", gpu_architecture_names,
                                GPU_ARCHITECTURE_COUNT_, "software", NULL, NULL, architectures_used,
                                NULL},
    [FEATURES_PARALLEL] = {"parallel", "", parallel_feature_names, PARALLEL_FEATURES, NULL,
                           parallel_keys, NULL, parallel_used, NULL},
    [FEATURES_ZERO] = {"zero", "zero", zero_feature_names, ZERO_FEATURES, NULL, zero_keys,
                       zero_others, zero_used, NULL},
    [FEATURES_SCHEDULES] = {"schedules", "schedule", schedule_names, SCHEDULE_FILE,
                            "parallel.schedule", NULL, NULL, schedules_used, NULL},
    [FEATURES_STAGES] = {"stages", "stages", stage_feature_names, STAGE_FEATURES, NULL, NULL, NULL,
                         stages_used, stages_key},
    [FEATURES_CONTEXT] = {"context", "cp_type", context_names, CONTEXT_COUNT_, "parallel.cp_type",
                          NULL, NULL, context_used, NULL},
    [FEATURES_RECOMPUTE] = {"recompute", "recompute", recompute_feature_names, RECOMPUTE_FEATURES,
                            "recompute", NULL, NULL, recompute_used, NULL},
    [FEATURES_PRECISIONS] = {"precisions", "precision", precision_names, PRECISION_COUNT_,
                             "precision", NULL, NULL, precisions_used, NULL},
    [FEATURES_RECIPES] = {"recipes", "fp8 recipe", scaling_recipe_names, RECIPE_COUNT_,
                          "software.fp8.recipe", NULL, NULL, recipes_used, NULL},
    [FEATURES_GRAPHS] = {"graphs", "CUDA graph of", graph_part_names, GRAPH_PART_COUNT_,
                         "software.host.graphs", NULL, NULL, graphs_used, NULL},
    [FEATURES_OVERLAPS] = {"overlaps", "overlap of", overlap_feature_names, OVERLAP_FEATURES, NULL,
                           overlap_keys, NULL, overlaps_used, NULL},
    [FEATURES_OPTIONS] = {"options", "", option_feature_names, OPTION_FEATURES, NULL, option_keys,
                          NULL, options_used, NULL},
};

static const char *key_of(const struct list_row *row, const struct scenario *scenario,
                          uint32_t index)
{
    if (row->key != NULL) {
        return row->key;
    }
    return row->keys != NULL ? row->keys[index] : row->key_of(scenario, index);
}

struct feature_set features_used(const struct scenario *scenario)
{
    struct feature_set used;
    for (uint32_t i = 0; i < FEATURE_LIST_COUNT_; i++) {
        used.lists[i] = rows[i].used(scenario);
    }
    return used;
}

/* A key that is free may ask for it, or may not. */
static bool is_of_free_keys(const struct list_row *row, const struct scenario *scenario,
                            uint32_t index, feature_key_function *is_free, const void *context)
{
    const char *other = row->others != NULL ? row->others[index] : NULL;
    return is_free == NULL || is_free(context, key_of(row, scenario, index)) ||
           (other != NULL && is_free(context, other));
}

struct feature_set features_allowed(const struct scenario *scenario, feature_key_function *is_free,
                                    const void *context)
{
    struct feature_set allowed = scenario->software.has;
    for (uint32_t i = 0; i < FEATURE_LIST_COUNT_; i++) {
        if (allowed.lists[i] == 0) {
            allowed.lists[i] = UINT32_MAX;
        }
        for (uint32_t k = 0; k < rows[i].count; k++) {
            if (!is_of_free_keys(&rows[i], scenario, k, is_free, context)) {
                allowed.lists[i] |= 1u << k;
            }
        }
    }
    return allowed;
}

struct feature_set features_all(void)
{
    struct feature_set all;
    for (uint32_t i = 0; i < FEATURE_LIST_COUNT_; i++) {
        all.lists[i] = UINT32_MAX;
    }
    return all;
}

bool features_hold(const struct scenario *scenario, const struct feature_set *allowed,
                   struct feature_set *lacked)
{
    uint32_t any = 0;
    for (uint32_t i = 0; i < FEATURE_LIST_COUNT_; i++) {
        const uint32_t lacks =
            allowed->lists[i] == UINT32_MAX ? 0 : rows[i].used(scenario) & ~allowed->lists[i];
        lacked->lists[i] |= lacks;
        any |= lacks;
    }
    return any == 0;
}

struct feature_set features_added(const struct scenario *now, const struct scenario *changed)
{
    const struct feature_set used = features_used(now);
    struct feature_set allowed = features_allowed(changed, NULL, NULL);
    struct feature_set lacked = {{0}};
    for (uint32_t i = 0; i < FEATURE_LIST_COUNT_; i++) {
        allowed.lists[i] |= used.lists[i];
    }
    (void)features_hold(changed, &allowed, &lacked);
    return lacked;
}

bool features_hold_changed(const struct scenario *now, const struct scenario *changed)
{
    const struct feature_set added = features_added(now, changed);
    uint32_t any = 0;
    for (uint32_t i = 0; i < FEATURE_LIST_COUNT_; i++) {
        any |= added.lists[i];
    }
    return any == 0;
}

bool features_have(const struct software *software, const struct feature *feature)
{
    return (software->has.lists[feature->list] & 1u << feature->index) != 0;
}

uint32_t features_of_set(const struct scenario *scenario, const struct feature_set *set,
                         struct feature features[FEATURES_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < FEATURE_LIST_COUNT_; i++) {
        const struct list_row *row = &rows[i];
        for (uint32_t k = 0; k < row->count; k++) {
            if ((set->lists[i] & 1u << k) != 0) {
                features[count++] = (struct feature){
                    (enum feature_list)i,    k, row->group, row->word, row->names[k],
                    key_of(row, scenario, k)};
            }
        }
    }
    return count;
}

uint32_t features_lacking(const struct scenario *scenario, struct feature lacking[FEATURES_MAX])
{
    const struct feature_set allowed = features_allowed(scenario, NULL, NULL);
    struct feature_set lacks = {{0}};
    (void)features_hold(scenario, &allowed, &lacks);
    return features_of_set(scenario, &lacks, lacking);
}

const char *features_words(struct arena *arena, const struct feature *features, uint32_t count)
{
    const char *words = "";
    for (uint32_t i = 0; i < count; i++) {
        const struct feature *feature = &features[i];
        const bool is_more = i > 0 && features[i - 1].list == feature->list;
        words = arena_printf(arena, "%s%s%s%s%s", words,
                             i == 0    ? ""
                             : is_more ? ", "
                                       : "; ",
                             is_more ? "" : feature->word,
                             is_more || feature->word[0] == '\0' ? "" : " ", feature->name);
    }
    return words;
}
