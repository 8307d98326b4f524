/* Independent checks all run, so a user sees every size that does not fit.
 * Choices are found by trying candidates outwards from the one that failed,
 * over a bounded distance: the rules stay in one predicate each, and no
 * second formula has to agree with them.
 *
 * Products cannot overflow: each factor is at most 10^6, and at most three
 * are multiplied; a fourth only after the three were found to divide the GPUs.
 */
#include "input/feasible.h"

#include <math.h>

#include "input/feasible_choices.h"
#include "input/feasible_model.h"
#include "input/feasible_schedule.h"
#include "input/layout.h"
#include "input/scenario.h"

#include "base/arena.h"

/* GPUs of one copy of the model: its data-parallel replicas are whole ones. */
static int64_t replica_gpus(const struct parallel *parallel)
{
    return parallel->tp * parallel->cp * parallel->pp;
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

/* ---- checks ---- */

/* More GPUs than the cluster has nodes for; of a rail-only fabric, than a rail joins. */
static void report_few_nodes(const struct layout *layout)
{
    const struct cluster *cluster = &layout->scenario->cluster;
    const long long gpus = (long long)layout->scenario->gpus;
    const int64_t nodes = cluster_nodes_max(cluster);
    const long long most = (long long)(nodes * cluster->gpus_per_node);
    if (cluster->fabric_kind == FABRIC_RAIL_ONLY && nodes == cluster->nodes_per_leaf) {
        diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, NULL, "gpus"),
                 "gpus %lld cannot all reach each other: a rail of cluster %s joins %lld nodes",
                 gpus, cluster->name, (long long)nodes);
        diag_help(layout->diag,
                  "gpus may be at most %lld; or raise nodes_per_leaf, or use kind rail", most);
        return;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, NULL, "gpus"),
             "gpus %lld needs more than the %lld nodes of cluster %s", gpus, (long long)nodes,
             cluster->name);
    diag_help(layout->diag, "gpus may be at most %lld", most);
}

/* Writing and reading take a server's time, in counted shares of its faster way (hw/fabric). */
static bool check_storage(const struct layout *layout)
{
    static const double apart = 1e6;
    const double write = layout->scenario->cluster.storage_write_bytes_per_s;
    const double read = layout->scenario->cluster.storage_read_bytes_per_s;
    if (fmax(write, read) <= apart * fmin(write, read)) {
        return true;
    }
    diag_add(layout->diag, DIAG_INPUT, feasible_place(layout, "cluster", "storage"),
             "the storage writes %g GB/s and reads %g GB/s, more than %g times apart", write / 1e9,
             read / 1e9, apart);
    diag_help(layout->diag, "are both in one unit?");
    return false;
}

static bool check_nodes(const struct layout *layout)
{
    struct scenario *scenario = layout->scenario;
    const struct cluster *cluster = &scenario->cluster;
    const long long gpus = (long long)scenario->gpus;
    if (scenario->gpus > cluster->gpus_per_node && scenario->gpus % cluster->gpus_per_node != 0) {
        diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, NULL, "gpus"),
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
    cluster_provision(&scenario->cluster, scenario->nodes);
    return check_storage(layout);
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
    diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "parallel", "dp"),
             "%s x dp %lld = %lld, but gpus is %lld", replica_text(layout), (long long)parallel->dp,
             (long long)product, (long long)scenario->gpus);
    if (scenario->gpus % replica == 0) {
        diag_help(layout->diag, "dp may be %lld (or auto)", (long long)(scenario->gpus / replica));
    } else if (product <= SCENARIO_GPUS_MAX && gpus_fill_nodes(scenario, product)) {
        diag_help(layout->diag, "gpus may be %lld", (long long)product);
    }
    return false;
}

/* A replica's GPUs do not divide those of the job: dp is auto, or no dp would do. */
static bool report_replica(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    const char *key = parallel->pp > 1 ? "pp" : parallel->cp > 1 ? "cp" : "tp";
    diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "parallel", key),
             "%s = %lld does not divide gpus %lld", replica_text(layout),
             (long long)replica_gpus(parallel), (long long)scenario->gpus);
    if (feasible_nearest(layout, parallel->pp, feasible_pp_fits) != NULL) {
        feasible_help(layout, "pp", parallel->pp, feasible_pp_fits);
    } else if (parallel->cp > 1 &&
               feasible_nearest(layout, parallel->cp, feasible_cp_fits) != NULL) {
        feasible_help(layout, "cp", parallel->cp, feasible_cp_fits);
    } else {
        feasible_help(layout, "gpus", scenario->gpus, gpus_fit);
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

static bool check_batch(const struct layout *layout)
{
    struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    struct batch *batch = &scenario->batch;
    const int64_t together = parallel->dp * batch->micro;
    batch->microbatches = batch->global / together;
    if (batch->global % together == 0) {
        return feasible_microbatches(layout);
    }
    const bool in_tokens = doc_find(scenario->document, "batch.global_tokens") != NULL;
    diag_add(layout->diag, DIAG_INFEASIBLE,
             feasible_place(layout, "batch", in_tokens ? "global_tokens" : "global"),
             "global %lld is not a multiple of dp %lld x micro %lld = %lld",
             (long long)batch->global, (long long)parallel->dp, (long long)batch->micro,
             (long long)together);
    diag_help(layout->diag, "global may be %s sequences",
              layout_multiples(layout->arena, batch->global, feasible_batch_unit(scenario)));
    return false;
}

/* ---- all of them ---- */

/* What is worked out from a size that does not fit would be wrong advice, so
 * dp waits for the sizes it is worked out from, and the batch for dp. */
static bool check_each(const struct layout *layout)
{
    bool is_good = feasible_tp(layout);
    is_good = check_nodes(layout) && is_good;
    is_good = feasible_schedule(layout) && is_good;
    const bool has_replicas = is_good && check_dp(layout);
    is_good = (!has_replicas || feasible_experts(layout)) && is_good;
    is_good = (!has_replicas || feasible_sharding(layout)) && is_good;
    is_good = (!has_replicas || check_batch(layout)) && is_good;
    is_good = feasible_sequence(layout) && is_good;
    is_good = is_good && layout_place_layers(layout->arena, layout->scenario, layout->diag);
    return is_good && has_replicas;
}

/* The same, but for what else is wrong; first what does not go together most often. */
static bool check_whether(const struct layout *layout)
{
    return feasible_tp(layout) && check_nodes(layout) && feasible_schedule(layout) &&
           check_dp(layout) && check_batch(layout) && feasible_experts(layout) &&
           feasible_sharding(layout) && feasible_sequence(layout) &&
           layout_place_layers(layout->arena, layout->scenario, layout->diag);
}

static bool check_all(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    const bool is_good = diag_is_deaf(layout->diag) ? check_whether(layout) : check_each(layout);
    if (!is_good) {
        return false;
    }
    const struct parallel *parallel = &scenario->parallel;
    sim_assert(replica_gpus(parallel) * parallel->dp == scenario->gpus);
    sim_assert(parallel->tp * parallel->cp * parallel->dp % (parallel->ep * parallel->etp) == 0 ||
               scenario->model.experts == 0);
    sim_assert(parallel->cp * parallel->dp % parallel->zero_group == 0);
    sim_assert(scenario->batch.microbatches * scenario->batch.micro * parallel->dp ==
               scenario->batch.global);
    return true;
}

bool feasible_check(struct arena *arena, struct scenario *scenario, struct diag *diag)
{
    return check_all(&(struct layout){arena, scenario, diag, false});
}

bool feasible_check_quietly(struct arena *arena, struct scenario *scenario, struct diag *diag)
{
    return check_all(&(struct layout){arena, scenario, diag, true});
}

bool feasible_degrees(struct arena *arena, struct scenario *scenario, struct diag *diag)
{
    const struct layout layout = {arena, scenario, diag, true};
    return feasible_tp(&layout) && check_nodes(&layout) && check_dp(&layout) &&
           feasible_experts(&layout) && feasible_sharding(&layout);
}

bool feasible_cuts(struct arena *arena, struct scenario *scenario, struct diag *diag)
{
    return feasible_degrees(arena, scenario, diag) &&
           feasible_sequence(&(struct layout){arena, scenario, diag, true});
}

bool feasible_holds(const struct scenario *changed)
{
    struct scenario copy = *changed;
    struct arena *arena = arena_new();
    const struct layout layout = {arena, &copy, diag_new(arena), true};
    const struct parallel *parallel = &copy.parallel;
    const bool holds = replica_gpus(parallel) * parallel->dp == copy.gpus && feasible_tp(&layout) &&
                       feasible_schedule(&layout) && feasible_experts(&layout) &&
                       feasible_sharding(&layout) && check_batch(&layout) &&
                       feasible_sequence(&layout);
    arena_free(arena);
    return holds;
}
