/* A measured curve is opened with a fabric of its own and the GPUs that took
 * part. Predictions and errors are then computed as often as a calibration
 * asks, each time with the library that it hands in.
 */
#include "measured/curves.h"

#include "base/arena.h"
#include "base/check.h"
#include "hw/fabric.h"
#include "input/collectives.h"
#include "input/network/nic.h"
#include "bands/quantile.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- opening ---------------------------------------------------------------------------- */

static uint32_t name_index(const char *const *names, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (names[i] != NULL && strcasecmp(names[i], name) == 0) {
            return i;
        }
    }
    return COLLECTIVE_ANY;
}

/* An algorithm or protocol that a measurement names must be one of ours. */
static bool read_name(const char *name, const char *const *names, uint32_t count,
                      const struct measurement *measurement, uint32_t *number, struct diag *diag)
{
    *number = name == NULL ? COLLECTIVE_ANY : name_index(names, count, name);
    if (name == NULL || *number != COLLECTIVE_ANY) {
        return true;
    }
    diag_add(diag, DIAG_INPUT, &measurement->place, "%s: there is no '%s'", measurement->id, name);
    diag_help_nearest(diag, diag_nearest(name, names, count), NULL);
    return false;
}

/* Cluster and GPU of a measurement, read afresh: a list has tens of them. */
static const struct cluster *open_cluster(const struct curves_setting *setting,
                                          const struct measurement *measurement, const char *name,
                                          struct gpu *gpu, struct diag *diag)
{
    struct assumptions assumptions;
    assumptions_init(&assumptions, setting->arena);
    const struct doc_node reference = {
        .kind = DOC_SCALAR, .text = name, .place = measurement->place};
    struct doc_node *node =
        catalogue_open(setting->arena, setting->catalogue, CATALOGUE_CLUSTER, &reference, diag);
    struct cluster *cluster = arena_alloc(setting->arena, sizeof *cluster);
    if (node == NULL || !nic_settle(setting->arena, setting->catalogue, node, diag) ||
        !cluster_read(node, cluster, &assumptions, diag)) {
        return NULL;
    }
    const struct doc_node *gpu_reference = doc_find(node, "gpu");
    if (gpu_reference == NULL) {
        diag_add(diag, DIAG_INPUT, &cluster->place, "cluster %s names no GPU", cluster->name);
        return NULL;
    }
    const struct doc_node *gpu_node =
        catalogue_open(setting->arena, setting->catalogue, CATALOGUE_GPU, gpu_reference, diag);
    return gpu_node != NULL && gpu_read(gpu_node, gpu, &assumptions, diag) ? cluster : NULL;
}

/* The first GPUs of each node, the first nodes one more where they do not divide. */
static uint32_t *pick_gpus(struct arena *arena, const struct measurement *measurement,
                           const struct cluster *cluster, uint32_t *count)
{
    const int64_t nodes = measurement->nodes;
    uint32_t *gpus = arena_array(arena, (size_t)measurement->gpus, sizeof *gpus);
    *count = 0;
    for (int64_t node = 0; node < nodes; node++) {
        const int64_t members =
            measurement->gpus / nodes + (node < measurement->gpus % nodes ? 1 : 0);
        for (int64_t i = 0; i < members; i++) {
            gpus[(*count)++] = (uint32_t)(node * cluster->gpus_per_node + i);
        }
    }
    if (strcmp(measurement->operation, "send") == 0 && *count > 2) {
        gpus[1] = (uint32_t)(nodes > 1 ? cluster->gpus_per_node : 1);
        *count = 2;
    }
    return gpus;
}

static bool check_size(const struct measurement *measurement, const struct cluster *cluster,
                       struct diag *diag)
{
    const int64_t per_node = (measurement->gpus + measurement->nodes - 1) / measurement->nodes;
    if (measurement->gpus < 2) {
        return diag_add(diag, DIAG_INPUT, &measurement->place, "%s: a group of one GPU",
                        measurement->id);
    }
    const int64_t nodes_max = cluster_nodes_max(cluster);
    if (nodes_max > 0 && measurement->nodes > nodes_max) {
        diag_add(diag, DIAG_INPUT, &measurement->place, "%s: %lld nodes, and %s has %lld",
                 measurement->id, (long long)measurement->nodes, cluster->name,
                 (long long)nodes_max);
        diag_help(diag, "name the cluster that it was measured on");
        return false;
    }
    if (per_node > cluster->gpus_per_node) {
        diag_add(diag, DIAG_INPUT, &measurement->place,
                 "%s: %lld GPUs on %lld nodes, but %s has %lld a node", measurement->id,
                 (long long)measurement->gpus, (long long)measurement->nodes, cluster->name,
                 (long long)cluster->gpus_per_node);
        diag_help(diag, "say how many nodes it ran on (nodes)");
        return false;
    }
    return true;
}

bool curve_open_on(struct arena *arena, const struct cluster *cluster, const struct gpu *gpu,
                   const struct library *library, struct curve *curve, struct diag *diag)
{
    const struct measurement *measurement = curve->measurement;
    uint32_t operation = 0;
    if (!read_name(measurement->operation, collective_operation_names, COLLECTIVE_OPERATION_COUNT_,
                   measurement, &operation, diag) ||
        !read_name(measurement->algorithm, collective_algorithm_names, ALGORITHM_ASKED_COUNT_,
                   measurement, &curve->forced.algorithm, diag) ||
        !read_name(measurement->protocol, collective_protocol_names, PROTOCOL_COUNT_, measurement,
                   &curve->forced.protocol, diag) ||
        !check_size(measurement, cluster, diag) ||
        !collectives_check(library, gpu->architecture, diag)) {
        return false;
    }
    curve->operation = (enum collective_operation)operation;
    struct fabric *fabric = arena_alloc(arena, sizeof *fabric);
    fabric_init(fabric, arena, cluster, gpu,
                (uint32_t)(measurement->nodes * cluster->gpus_per_node), 1);
    curve->setting = (struct transfer_setting){
        .arena = arena, .fabric = fabric, .library = library, .architecture = gpu->architecture};
    uint32_t count = 0;
    uint32_t *gpus = pick_gpus(arena, measurement, cluster, &count);
    group_shape_init(&curve->setting, gpus, count, &curve->shape);
    curve->shape.forced = curve->forced;
    curve->span = library_span_of(curve->shape.nodes);
    return true;
}

static bool curve_open(const struct curves_setting *setting, const struct measurement *measurement,
                       struct curve *curve, struct diag *diag)
{
    *curve = (struct curve){.measurement = measurement};
    const char *name =
        measurement->cluster != NULL ? measurement->cluster : setting->default_cluster;
    if (name == NULL) {
        curve->skipped = "no cluster";
        return true;
    }
    struct gpu gpu;
    const struct cluster *cluster = open_cluster(setting, measurement, name, &gpu, diag);
    return cluster != NULL &&
           curve_open_on(setting->arena, cluster, &gpu, setting->library, curve, diag);
}

struct curve *curves_open(const struct curves_setting *setting, const struct measurement_list *list,
                          struct diag *diag)
{
    struct curve *curves = arena_array(setting->arena, list->count, sizeof *curves);
    bool is_good = true;
    for (uint32_t i = 0; i < list->count; i++) {
        is_good = curve_open(setting, &list->items[i], &curves[i], diag) && is_good;
    }
    return is_good ? curves : NULL;
}

/* ---- prices ------------------------------------------------------------------------------ */

bool curve_price(const struct curve *curve, const struct library *library,
                 struct collective_choice pair, double bytes, double *time_s)
{
    sim_assert(curve->skipped == NULL);
    struct transfer_setting setting = curve->setting;
    setting.library = library;
    struct transfer_quote quote;
    const bool is_offered = transfer_price(&setting, &curve->shape, curve->operation, bytes,
                                           (enum collective_algorithm)pair.algorithm,
                                           (enum collective_protocol)pair.protocol, &quote);
    *time_s = is_offered ? quote.time_s : 0.0;
    return is_offered;
}

void curve_predict(const struct curve *curve, const struct library *library, double bytes,
                   struct transfer_quote *quote)
{
    sim_assert(curve->skipped == NULL);
    struct transfer_setting setting = curve->setting;
    setting.library = library;
    transfer_quote(&setting, &curve->shape, curve->operation, bytes, quote);
}

/* ---- errors ------------------------------------------------------------------------------- */

/* Appends the curve's errors to `values`. */
static void add_errors(const struct curve *curve, const struct library *library, double bytes_min,
                       double *values, struct curve_errors *errors)
{
    const struct measurement *measurement = curve->measurement;
    for (uint32_t i = 0; i < measurement->point_count; i++) {
        const struct measured_point *point = &measurement->points[i];
        if (point->bytes < bytes_min) {
            continue;
        }
        struct transfer_quote quote;
        curve_predict(curve, library, point->bytes, &quote);
        const double error = quote.time_s / point->time_s - 1.0;
        values[errors->count++] = fabs(error);
        if (fabs(error) > fabs(errors->worst)) {
            errors->worst = error;
            errors->worst_bytes = point->bytes;
        }
    }
}

struct curve_errors curve_errors_of(struct arena *arena, const struct curve *curve,
                                    const struct library *library, double bytes_min)
{
    return curves_errors_of(arena, curve, 1, library, bytes_min);
}

struct curve_errors curves_errors_of(struct arena *arena, const struct curve *curves,
                                     uint32_t count, const struct library *library,
                                     double bytes_min)
{
    struct curve_errors errors = {0};
    size_t points = 1;
    for (uint32_t i = 0; i < count; i++) {
        points += curves[i].measurement->point_count;
    }
    double *values = arena_array(arena, points, sizeof *values);
    for (uint32_t i = 0; i < count; i++) {
        if (curves[i].skipped == NULL) {
            add_errors(&curves[i], library, bytes_min, values, &errors);
        }
    }
    errors.median = quantile_of(values, errors.count, 0.5);
    errors.p90 = quantile_of(values, errors.count, 0.9);
    return errors;
}
