/* What a key of `run.recovery` says by more than a value, and what all of them say together.
 */
#include "input/failures/recovery.h"

#include "base/arena.h"
#include "input/scenario.h"

#include <math.h>
#include <string.h>

const char *const recovery_without_node_names[RECOVERY_WITHOUT_NODE_COUNT_] = {"wait", "elastic"};
const char *const recovery_spares_names[RECOVERY_SPARES_COUNT_] = {"beside", "end"};
const char *const recovery_slow_names[RECOVERY_SLOW_COUNT_] = {"replace", "endure"};
const char *const recovery_from_names[RECOVERY_FROM_COUNT_] = {"checkpoint", "replica"};
const char *const recovery_batch_names[RECOVERY_BATCH_COUNT_] = {"shrunk", "kept"};

enum { SPARES_MAX = 10 * 1000 * 1000 };

bool recovery_has_failures(const void *scenario)
{
    return ((const struct scenario *)scenario)->failures.name != NULL;
}

/* `true` and a name gave way to their file (input/resolve); false is left. */
void recovery_read_failures(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    struct doc_map *map = reader->map;
    const struct doc_node *node = doc_take(map, schema_key(row));
    if (node == NULL || node->kind != DOC_MAPPING) {
        bool is_asked = false;
        (void)doc_get_bool(map, schema_key(row), &is_asked);
        return;
    }
    if (!failures_read(node, &scenario->failures, reader->assumptions, map->diag)) {
        map->is_bad = true;
    }
}

/* "5 %" is a share of the job's nodes, a bare number is nodes. */
void recovery_read_spares(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *map = reader->map;
    struct recovery *recovery = &((struct scenario *)reader->object)->recovery;
    const struct doc_node *node = doc_take(map, schema_key(row));
    const struct doc_node standard = {.kind = DOC_SCALAR, .text = row->standard};
    if (node == NULL) {
        assumptions_add(
            reader->assumptions,
            &(struct assumption){.name = row->path, .value = row->standard, .reason = row->source});
    }
    node = node != NULL ? node : &standard;
    const bool is_share = node->kind == DOC_SCALAR && strchr(node->text, '%') != NULL;
    const bool is_good =
        is_share
            ? doc_node_quantity(node, DIM_FRACTION, 0.0, 1.0, &recovery->spares_share, map->diag)
            : doc_node_count(node, 0, SPARES_MAX, &recovery->spares, map->diag);
    map->is_bad = map->is_bad || !is_good;
}

/* What is stated has the read of the checkpoint in it: that is what logs show. */
void recovery_read_restart(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    scenario->recovery.has_restart = doc_take(reader->map, schema_key(row)) != NULL;
    law_read(reader, row);
}

/* Where it is not said all are hot. */
void recovery_read_hot_spares(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *map = reader->map;
    struct recovery *recovery = &((struct scenario *)reader->object)->recovery;
    recovery->hot_spares = -1;
    if (doc_find(map->node, schema_key(row)) != NULL) {
        (void)doc_get_count(map, schema_key(row), 0, SPARES_MAX, &recovery->hot_spares);
    }
}

bool recovery_has_cold_spares(const void *scenario)
{
    return ((const struct scenario *)scenario)->recovery.hot_spares >= 0;
}

bool recovery_is_wrong(const void *scenario)
{
    return ((const struct scenario *)scenario)->recovery.wrong_diagnosis > 0;
}

const struct schema_refusal *recovery_refuses_cold_start(const void *scenario)
{
    static const struct schema_refusal refusal = {
        "of spares that are all hot", "say run.recovery.hot_spares: 4, or leave it out"};
    return recovery_has_cold_spares(scenario) ? NULL : &refusal;
}

const struct schema_refusal *recovery_refuses_inspection(const void *scenario)
{
    static const struct schema_refusal refusal = {
        "of nodes that nobody blames", "say run.recovery.wrong_diagnosis: 10 %, or leave it out"};
    return recovery_is_wrong(scenario) ? NULL : &refusal;
}

const struct schema_refusal *recovery_refuses_parts(const void *scenario)
{
    static const struct schema_refusal refusal = {
        "beside restart, which is all of it",
        "leave run.recovery.restart out: it is then the start, the read and the warm-up"};
    return ((const struct scenario *)scenario)->recovery.has_restart ? &refusal : NULL;
}

static bool check_spares(const struct scenario *scenario, struct diag *diag)
{
    const int64_t most = cluster_nodes_max(&scenario->cluster);
    const int64_t spares = scenario->recovery.spares;
    if (most == 0 || scenario->nodes + spares <= most) {
        return true;
    }
    const struct doc_node *node = doc_find(scenario->document, "run.recovery.spares");
    diag_add(diag, DIAG_INPUT, node != NULL ? &node->place : &scenario->document->place,
             "%lld spares beside %lld nodes are more than the cluster's %lld", (long long)spares,
             (long long)scenario->nodes, (long long)most);
    diag_help(diag, "it has room for %lld: set run.recovery.spares to that, or cluster.nodes",
              (long long)(most - scenario->nodes));
    return false;
}

static bool is_powered(const struct failure_kind *kind)
{
    return kind->of == FAILURE_OF_POWER_DOMAIN || kind->takes == FAILURE_TAKES_POWER_DOMAIN;
}

/* Of NVLink domains every cluster has some, of power domains only what its file says. */
static bool check_domains(const struct scenario *scenario, struct diag *diag)
{
    bool is_good = true;
    for (uint32_t i = 0; i < scenario->failures.kind_count; i++) {
        const struct failure_kind *kind = &scenario->failures.kinds[i];
        if (is_powered(kind) && scenario->cluster.power_domain_nodes == 0) {
            diag_add(diag, DIAG_INPUT, &kind->place,
                     "class '%s' is of power domains, and cluster %s does not say how many nodes "
                     "one has",
                     kind->name, scenario->cluster.name);
            diag_help(diag, "set cluster.power_domain.nodes");
            is_good = false;
        }
    }
    return is_good;
}

/* Weights are checked when a checkpoint is written. */
static bool check_checks(const struct scenario *scenario, struct diag *diag)
{
    if (!scenario->recovery.has_checks || scenario->checkpoint.is_enabled) {
        return true;
    }
    const struct doc_node *node = doc_find(scenario->document, "run.recovery.check");
    diag_add(diag, DIAG_INPUT, node != NULL ? &node->place : &scenario->document->place,
             "run.recovery.check has no checkpoint to go back to");
    diag_help(diag, "write run.checkpoint: {every: 30 min}, or leave the check out");
    return false;
}

static void drop_assumptions(struct scenario *scenario)
{
    struct assumptions *assumptions = &scenario->assumptions;
    bool has_power = false;
    for (uint32_t i = 0; i < scenario->failures.kind_count; i++) {
        has_power = has_power || is_powered(&scenario->failures.kinds[i]);
    }
    if (!has_power) {
        assumptions_drop(assumptions, "cluster.power_domain");
    }
    if (!recovery_has_failures(scenario)) {
        const bool starts_anew = run_plan_has_restarts(scenario);
        assumptions_drop(assumptions, starts_anew ? "run.recovery.spares" : "run.recovery");
        assumptions_drop(assumptions, "run.recovery.detection");
        assumptions_drop(assumptions, "run.recovery.growth");
        return;
    }
    bool is_met[DETECTION_COUNT_] = {false};
    for (uint32_t i = 0; i < scenario->failures.kind_count; i++) {
        const struct failure_kind *kind = &scenario->failures.kinds[i];
        const bool is_checked = kind->effect == FAILURE_CORRUPTS && scenario->recovery.has_checks;
        is_met[kind->detected] = is_met[kind->detected] || !is_checked;
    }
    for (uint32_t i = 0; i < DETECTION_COUNT_; i++) {
        if (!is_met[i]) {
            assumptions_drop(assumptions,
                             arena_printf(assumptions->arena, "run.recovery.detection.%s",
                                          failure_detection_names[i]));
        }
    }
    if (scenario->recovery.without_node != RECOVERY_ELASTIC) {
        assumptions_drop(assumptions, "run.recovery.growth");
    }
}

int64_t recovery_spares(const struct scenario *scenario)
{
    return recovery_has_failures(scenario) ? scenario->recovery.spares : 0;
}

int64_t recovery_hot_spares(const struct scenario *scenario)
{
    const int64_t spares = recovery_spares(scenario);
    const int64_t hot = scenario->recovery.hot_spares;
    return hot >= 0 && hot < spares ? hot : spares;
}

/* A share of the nodes takes no more than the cluster has left. */
bool recovery_settle(struct scenario *scenario, struct diag *diag)
{
    struct recovery *recovery = &scenario->recovery;
    const int64_t most = cluster_nodes_max(&scenario->cluster);
    drop_assumptions(scenario);
    if (!recovery_has_failures(scenario)) {
        return true;
    }
    if (recovery->spares_share > 0) {
        const int64_t left = most > scenario->nodes ? most - scenario->nodes : 0;
        recovery->spares = (int64_t)ceil(recovery->spares_share * (double)scenario->nodes);
        recovery->spares = most > 0 && recovery->spares > left ? left : recovery->spares;
    }
    const bool has_spares = check_spares(scenario, diag) && check_domains(scenario, diag);
    return check_checks(scenario, diag) && has_spares;
}
