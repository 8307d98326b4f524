/* Independent checks all run, so a user sees every size that does not fit.
 * Choices are found by trying candidates outwards from the one that failed,
 * over a bounded distance: the rules stay in one predicate each, and no
 * second formula has to agree with them.
 *
 * Products cannot overflow: each factor is at most 10^6, and at most three
 * are multiplied; a fourth only after the three were found to divide the GPUs.
 */
#include "spec/feasible.h"

#include "spec/layout.h"
#include "spec/scenario.h"

#include "base/arena.h"

enum {
    CHOICES_EACH_WAY = 3,
    SEARCH_STEPS_MAX = 1 << 20, /* beyond this distance a choice is not near */
};

/* ---- what would fit ---- */

/* What is worked on here. */
struct layout {
    struct arena *arena;
    struct scenario *scenario;
    struct diag *diag;
};

/* Where a key was written; for one that was not, where it would stand. */
static const struct place *place_of(const struct layout *layout, const char *section,
                                    const char *key)
{
    const struct doc_node *root = layout->scenario->document;
    const struct doc_node *outer = section != NULL ? doc_find(root, section) : root;
    const struct doc_node *node = outer != NULL ? doc_find(outer, key) : NULL;
    if (node != NULL) {
        return &node->place;
    }
    return outer != NULL ? &outer->place : &root->place;
}

typedef bool fits_function(const struct scenario *scenario, int64_t candidate);

/* GPUs of one copy of the model: its data-parallel replicas are whole ones. */
static int64_t replica_gpus(const struct parallel *parallel)
{
    return parallel->tp * parallel->cp * parallel->pp;
}

static bool tp_fits(const struct scenario *scenario, int64_t tp)
{
    const struct model *model = &scenario->model;
    const bool shares_kv = model->kv_heads % tp == 0 || tp % model->kv_heads == 0;
    const bool cuts_experts = model->experts == 0 || model->expert_hidden % tp == 0;
    return model->heads % tp == 0 && shares_kv && model->ffn_hidden % tp == 0 && cuts_experts;
}

/* Each sequence is cut into 2 cp pieces, dealt in pairs so that causal attention is balanced;
 * sequence parallelism cuts what a rank has once more. */
static bool length_fits(const struct scenario *scenario, int64_t length)
{
    const struct parallel *parallel = &scenario->parallel;
    const int64_t pieces = parallel->cp > 1 ? 2 * parallel->cp : 1;
    const int64_t tp = parallel->is_sequence_parallel ? parallel->tp : 1;
    return length % pieces == 0 && length / parallel->cp % tp == 0;
}

static bool cp_fits(const struct scenario *scenario, int64_t cp)
{
    struct scenario changed = *scenario;
    changed.parallel.cp = cp;
    return length_fits(&changed, scenario->batch.sequence_length) &&
           scenario->gpus % replica_gpus(&changed.parallel) == 0;
}

/* dp is known. */
static bool ep_fits(const struct scenario *scenario, int64_t ep)
{
    const struct parallel *parallel = &scenario->parallel;
    const int64_t experts = scenario->model.experts;
    return ep == 1 || (experts > 0 && experts % ep == 0 && parallel->dp * parallel->cp % ep == 0);
}

static bool gpus_fill_nodes(const struct scenario *scenario, int64_t gpus)
{
    const int64_t node = scenario->cluster.gpus_per_node;
    const int64_t nodes_max = cluster_nodes_max(&scenario->cluster);
    return (gpus < node || gpus % node == 0) && (nodes_max == 0 || gpus <= nodes_max * node);
}

static bool gpus_fit(const struct scenario *scenario, int64_t gpus)
{
    const int64_t replica = replica_gpus(&scenario->parallel);
    return gpus % replica == 0 && gpus <= SCENARIO_GPUS_MAX && gpus_fill_nodes(scenario, gpus);
}

/* Every chunk but the first and the last has a layer. */
static bool chunks_fit(const struct scenario *scenario, int64_t chunks)
{
    return chunks == 1 || chunks <= scenario->model.layers + 2;
}

static bool pp_fits(const struct scenario *scenario, int64_t pp)
{
    const struct parallel *parallel = &scenario->parallel;
    const bool is_scheduled = parallel->schedule != SCHEDULE_INTERLEAVED || pp >= 2;
    return is_scheduled && scenario->gpus % (parallel->tp * parallel->cp * pp) == 0 &&
           chunks_fit(scenario, pp * parallel->virtual_stages);
}

static bool virtual_stages_fit(const struct scenario *scenario, int64_t virtual_stages)
{
    return chunks_fit(scenario, scenario->parallel.pp * virtual_stages);
}

/* "2, 4 or 8": the nearest candidates on both sides of `wanted`; NULL when
 * there is none within SEARCH_STEPS_MAX. */
static const char *nearest_text(const struct layout *layout, int64_t wanted, fits_function *fits)
{
    int64_t found[2 * CHOICES_EACH_WAY];
    int64_t count = 0;
    const int64_t lowest = wanted > SEARCH_STEPS_MAX ? wanted - SEARCH_STEPS_MAX : 1;
    for (int64_t i = wanted; i >= lowest && count < CHOICES_EACH_WAY; i--) {
        if (fits(layout->scenario, i)) {
            found[count++] = i;
        }
    }
    for (int64_t i = 0; i < count / 2; i++) { /* found downwards, shown upwards */
        const int64_t kept = found[i];
        found[i] = found[count - 1 - i];
        found[count - 1 - i] = kept;
    }
    const int64_t count_max = count + CHOICES_EACH_WAY;
    for (int64_t i = wanted + 1; i <= wanted + SEARCH_STEPS_MAX && count < count_max; i++) {
        if (fits(layout->scenario, i)) {
            found[count++] = i;
        }
    }
    const char *text = NULL;
    for (int64_t i = 0; i < count; i++) {
        const char *between = i + 1 == count ? " or " : ", ";
        text = i == 0 ? arena_printf(layout->arena, "%lld", (long long)found[i])
                      : arena_printf(layout->arena, "%s%s%lld", text, between, (long long)found[i]);
    }
    return text;
}

static void help_with_choices(const struct layout *layout, const char *key, int64_t wanted,
                              fits_function *fits)
{
    const char *text = nearest_text(layout, wanted, fits);
    if (text != NULL) {
        diag_help(layout->diag, "%s may be %s", key, text);
    }
}

/* ---- checks ---- */

static bool check_tp(const struct layout *layout)
{
    const struct model *model = &layout->scenario->model;
    const int64_t tp = layout->scenario->parallel.tp;
    if (tp_fits(layout->scenario, tp)) {
        return true;
    }
    const char *what = "ffn_hidden";
    int64_t size = model->ffn_hidden;
    if (model->heads % tp != 0) {
        what = "heads";
        size = model->heads;
    } else if (model->kv_heads % tp != 0 && tp % model->kv_heads != 0) {
        what = "kv_heads";
        size = model->kv_heads;
    } else if (model->ffn_hidden % tp == 0) {
        what = "expert_hidden";
        size = model->expert_hidden;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, place_of(layout, "parallel", "tp"),
             "tp %lld does not divide %s %lld of model %s", (long long)tp, what, (long long)size,
             model->name);
    help_with_choices(layout, "tp", tp, tp_fits);
    return false;
}

/* More GPUs than the cluster has nodes for; of a rail-only fabric, than a rail joins. */
static void report_few_nodes(const struct layout *layout)
{
    const struct cluster *cluster = &layout->scenario->cluster;
    const long long gpus = (long long)layout->scenario->gpus;
    const int64_t nodes = cluster_nodes_max(cluster);
    const long long most = (long long)(nodes * cluster->gpus_per_node);
    if (cluster->fabric_kind == FABRIC_RAIL_ONLY && nodes == cluster->nodes_per_leaf) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place_of(layout, NULL, "gpus"),
                 "gpus %lld cannot all reach each other: a rail of cluster %s joins %lld nodes",
                 gpus, cluster->name, (long long)nodes);
        diag_help(layout->diag,
                  "gpus may be at most %lld; or raise nodes_per_leaf, or use kind rail", most);
        return;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, place_of(layout, NULL, "gpus"),
             "gpus %lld needs more than the %lld nodes of cluster %s", gpus, (long long)nodes,
             cluster->name);
    diag_help(layout->diag, "gpus may be at most %lld", most);
}

static bool check_nodes(const struct layout *layout)
{
    struct scenario *scenario = layout->scenario;
    const struct cluster *cluster = &scenario->cluster;
    const long long gpus = (long long)scenario->gpus;
    if (scenario->gpus > cluster->gpus_per_node && scenario->gpus % cluster->gpus_per_node != 0) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place_of(layout, NULL, "gpus"),
                 "gpus %lld does not fill nodes of %lld", gpus, (long long)cluster->gpus_per_node);
        diag_help(layout->diag, "gpus may be %s",
                  layout_multiples(layout->arena, scenario->gpus, cluster->gpus_per_node));
        return false;
    }
    if (!gpus_fill_nodes(scenario, scenario->gpus)) {
        report_few_nodes(layout);
        return false;
    }
    scenario->nodes = (scenario->gpus + cluster->gpus_per_node - 1) / cluster->gpus_per_node;
    return true;
}

static bool check_chunks(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    const int64_t chunks = parallel->pp * parallel->virtual_stages;
    if (chunks_fit(scenario, chunks)) {
        return true;
    }
    const long long layers = (long long)scenario->model.layers;
    if (parallel->virtual_stages == 1) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place_of(layout, "parallel", "pp"),
                 "pp %lld is too many for %lld layers", (long long)parallel->pp, layers);
        help_with_choices(layout, "pp", parallel->pp, pp_fits);
        return false;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, place_of(layout, "parallel", "virtual_stages"),
             "pp %lld x virtual_stages %lld = %lld is too many for %lld layers",
             (long long)parallel->pp, (long long)parallel->virtual_stages, (long long)chunks,
             layers);
    help_with_choices(layout, "virtual_stages", parallel->virtual_stages, virtual_stages_fit);
    return false;
}

static bool check_schedule(const struct layout *layout)
{
    const struct parallel *parallel = &layout->scenario->parallel;
    if (parallel->zero == 3 && parallel->pp > 1) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place_of(layout, "parallel", "zero"),
                 "FSDP (zero 3) with pipeline stages (pp %lld) is not modelled",
                 (long long)parallel->pp);
        diag_help(layout->diag, "use zero 0, 1 or 2, or pp 1");
        return false;
    }
    const bool is_interleaved = parallel->schedule == SCHEDULE_INTERLEAVED;
    if (parallel->virtual_stages > 1 && !is_interleaved) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place_of(layout, "parallel", "virtual_stages"),
                 "schedule %s has one chunk per stage, not virtual_stages %lld",
                 schedule_names[parallel->schedule], (long long)parallel->virtual_stages);
        diag_help(layout->diag, "use schedule interleaved, or virtual_stages 1");
        return false;
    }
    if (is_interleaved && parallel->pp < 2) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place_of(layout, "parallel", "virtual_stages"),
                 "an interleaved schedule needs at least 2 stages, not pp 1");
        help_with_choices(layout, "pp", parallel->pp, pp_fits);
        return false;
    }
    return check_chunks(layout);
}

/* "tp 8 x pp 4": with cp between them where there is one. */
static const char *replica_text(const struct layout *layout)
{
    const struct parallel *parallel = &layout->scenario->parallel;
    const char *cp =
        parallel->cp > 1 ? arena_printf(layout->arena, "cp %lld x ", (long long)parallel->cp) : "";
    return arena_printf(layout->arena, "tp %lld x %spp %lld", (long long)parallel->tp, cp,
                        (long long)parallel->pp);
}

/* dp was given, and the product is another number of GPUs. */
static bool report_given_dp(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    const int64_t replica = replica_gpus(parallel);
    const int64_t product = replica * parallel->dp;
    diag_add(layout->diag, DIAG_INFEASIBLE, place_of(layout, "parallel", "dp"),
             "%s x dp %lld = %lld, but gpus is %lld", replica_text(layout), (long long)parallel->dp,
             (long long)product, (long long)scenario->gpus);
    if (scenario->gpus % replica == 0) {
        diag_help(layout->diag, "dp may be %lld (or auto)", (long long)(scenario->gpus / replica));
    } else if (product <= SCENARIO_GPUS_MAX && gpus_fill_nodes(scenario, product)) {
        diag_help(layout->diag, "gpus may be %lld", (long long)product);
    }
    return false;
}

/* dp is auto, or no dp would do. */
static bool report_replica(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    const char *key = parallel->pp > 1 ? "pp" : parallel->cp > 1 ? "cp" : "tp";
    diag_add(layout->diag, DIAG_INFEASIBLE, place_of(layout, "parallel", key),
             "%s = %lld does not divide gpus %lld", replica_text(layout),
             (long long)replica_gpus(parallel), (long long)scenario->gpus);
    if (nearest_text(layout, parallel->pp, pp_fits) != NULL) {
        help_with_choices(layout, "pp", parallel->pp, pp_fits);
    } else if (parallel->cp > 1 && nearest_text(layout, parallel->cp, cp_fits) != NULL) {
        help_with_choices(layout, "cp", parallel->cp, cp_fits);
    } else {
        help_with_choices(layout, "gpus", scenario->gpus, gpus_fit);
    }
    return false;
}

/* dp auto takes the GPUs that are left. */
static bool check_dp(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    struct parallel *parallel = &layout->scenario->parallel;
    const int64_t replica = replica_gpus(parallel);
    if (parallel->dp > 0 && replica <= SCENARIO_GPUS_MAX) {
        return parallel->dp * replica == scenario->gpus || report_given_dp(layout);
    }
    if (scenario->gpus % replica != 0) {
        return report_replica(layout);
    }
    parallel->dp = scenario->gpus / replica;
    return true;
}

/* Expert parallelism takes its ranks from the plane of context and data parallelism. */
static bool check_ep(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    const struct model *model = &scenario->model;
    if (ep_fits(scenario, parallel->ep)) {
        return true;
    }
    const struct place *place = place_of(layout, "parallel", "ep");
    const long long ep = (long long)parallel->ep;
    const long long experts = (long long)model->experts;
    if (model->experts == 0) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place, "ep %lld, but model %s has no experts", ep,
                 model->name);
    } else if (parallel->ep > model->experts) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place,
                 "ep %lld is more than the %lld experts of model %s", ep, experts, model->name);
    } else if (model->experts % parallel->ep != 0) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place,
                 "ep %lld does not divide the %lld experts of model %s", ep, experts, model->name);
    } else {
        diag_add(layout->diag, DIAG_INFEASIBLE, place,
                 "ep %lld does not divide cp %lld x dp %lld = %lld", ep, (long long)parallel->cp,
                 (long long)parallel->dp, (long long)(parallel->cp * parallel->dp));
    }
    help_with_choices(layout, "ep", parallel->ep, ep_fits);
    return false;
}

static bool check_batch(const struct layout *layout)
{
    struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    struct batch *batch = &scenario->batch;
    const int64_t together = parallel->dp * batch->micro;
    const bool is_interleaved = parallel->schedule == SCHEDULE_INTERLEAVED;
    const int64_t unit = is_interleaved ? together * parallel->pp : together;
    batch->microbatches = batch->global / together;
    if (batch->global % unit == 0) {
        return true;
    }
    const bool in_tokens = doc_find(scenario->document, "batch.global_tokens") != NULL;
    const struct place *place = place_of(layout, "batch", in_tokens ? "global_tokens" : "global");
    if (batch->global % together != 0) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place,
                 "global %lld is not a multiple of dp %lld x micro %lld = %lld",
                 (long long)batch->global, (long long)parallel->dp, (long long)batch->micro,
                 (long long)together);
    } else {
        diag_add(layout->diag, DIAG_INFEASIBLE, place,
                 "an interleaved schedule needs a multiple of pp %lld microbatches, not %lld",
                 (long long)parallel->pp, (long long)batch->microbatches);
    }
    diag_help(layout->diag, "global may be %s sequences",
              layout_multiples(layout->arena, batch->global, unit));
    return false;
}

/* What is wrong is the length, or the ranks it is split over: choices of both. */
static bool report_split(const struct layout *layout, const struct place *place)
{
    const struct parallel *parallel = &layout->scenario->parallel;
    const int64_t length = layout->scenario->batch.sequence_length;
    const bool is_cut = parallel->is_sequence_parallel && length % (2 * parallel->cp) == 0;
    diag_add(
        layout->diag, DIAG_INFEASIBLE, place, "cp %lld does not split sequence_length %lld into %s",
        (long long)parallel->cp, (long long)length,
        is_cut ? arena_printf(layout->arena, "parts that tp %lld divides", (long long)parallel->tp)
               : arena_printf(layout->arena, "2 x %lld equal pieces", (long long)parallel->cp));
    help_with_choices(layout, "sequence_length", length, length_fits);
    help_with_choices(layout, "cp", parallel->cp, cp_fits);
    return false;
}

static bool check_sequence(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    const struct model *model = &scenario->model;
    const int64_t length = scenario->batch.sequence_length;
    const struct place *place = place_of(layout, "batch", "sequence_length");
    bool is_good = true;
    if (parallel->cp > 1 && !length_fits(scenario, length)) {
        is_good = report_split(layout, place);
    } else if (parallel->is_sequence_parallel && length % parallel->tp != 0) {
        is_good = diag_add(layout->diag, DIAG_INFEASIBLE, place,
                           "sequence_parallel: tp %lld does not divide sequence_length %lld",
                           (long long)parallel->tp, (long long)length);
        diag_help(layout->diag, "sequence_length may be %s",
                  layout_multiples(layout->arena, length, parallel->tp));
    }
    if (model->positions == POSITION_LEARNED && length > model->max_positions) {
        is_good = diag_add(layout->diag, DIAG_INFEASIBLE, place,
                           "sequence_length %lld is longer than the %lld learned positions of %s",
                           (long long)length, (long long)model->max_positions, model->name);
        diag_help(layout->diag, "sequence_length may be at most %lld",
                  (long long)model->max_positions);
    }
    return is_good;
}

/* ---- all of them ---- */

/* What is worked out from a size that does not fit would be wrong advice, so
 * dp waits for the sizes it is worked out from, and the batch for dp. */
bool feasible_check(struct arena *arena, struct scenario *scenario, struct diag *diag)
{
    const struct layout layout = {arena, scenario, diag};
    bool is_good = check_tp(&layout);
    is_good = check_nodes(&layout) && is_good;
    is_good = check_schedule(&layout) && is_good;
    const bool has_replicas = is_good && check_dp(&layout);
    is_good = (!has_replicas || check_ep(&layout)) && is_good;
    is_good = (!has_replicas || check_batch(&layout)) && is_good;
    is_good = check_sequence(&layout) && is_good;
    is_good = is_good && layout_place_layers(arena, scenario, diag);
    if (!is_good || !has_replicas) {
        return false;
    }
    const struct parallel *parallel = &scenario->parallel;
    sim_assert(replica_gpus(parallel) * parallel->dp == scenario->gpus);
    sim_assert(parallel->cp * parallel->dp % parallel->ep == 0);
    sim_assert(scenario->batch.microbatches * scenario->batch.micro * parallel->dp ==
               scenario->batch.global);
    return true;
}
