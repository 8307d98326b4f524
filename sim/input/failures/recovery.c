/* What a key of `run.recovery` says by more than a value, and what all of them say together.
 */
#include "input/failures/recovery.h"

#include "base/arena.h"
#include "base/units.h"
#include "input/scenario.h"

#include <math.h>
#include <string.h>

const char *const recovery_without_node_names[RECOVERY_WITHOUT_NODE_COUNT_] = {"wait", "elastic"};
const char *const recovery_spares_names[RECOVERY_SPARES_COUNT_] = {"beside", "end"};
const char *const recovery_slow_names[RECOVERY_SLOW_COUNT_] = {"replace", "endure"};
const char *const recovery_from_names[RECOVERY_FROM_COUNT_] = {"checkpoint", "replica"};
const char *const recovery_notice_names[RECOVERY_NOTICE_COUNT_] = {"checkpoint", "nothing"};
const char *const recovery_batch_names[RECOVERY_BATCH_COUNT_] = {"shrunk", "kept"};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { SPARES_MAX = 10 * 1000 * 1000 };

bool recovery_has_failures(const void *scenario)
{
    return ((const struct scenario *)scenario)->failures.name != NULL ||
           recovery_is_on_spot(scenario);
}

/* What a file of the catalogue holds; NULL: there is none. `true` and a name gave way to their file
 * (input/resolve); false is left. */
static const struct doc_node *take_file(const struct schema_reader *reader,
                                        const struct schema_row *row)
{
    const struct doc_node *node = doc_take(reader->map, schema_key(row));
    if (node != NULL && node->kind == DOC_MAPPING) {
        return node;
    }
    bool is_asked = false;
    (void)doc_get_bool(reader->map, schema_key(row), &is_asked);
    return NULL;
}

void recovery_read_failures(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    struct doc_map *map = reader->map;
    const struct doc_node *node = take_file(reader, row);
    if (node != NULL && !failures_read(node, &scenario->failures, reader->assumptions, map->diag)) {
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

void recovery_read_spot(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    struct doc_map *map = reader->map;
    const struct doc_node *node = take_file(reader, row);
    if (node != NULL && !spot_read(node, &scenario->spot, reader->assumptions, map->diag)) {
        map->is_bad = true;
    }
}

bool recovery_is_on_spot(const void *scenario)
{
    return ((const struct scenario *)scenario)->spot.name != NULL;
}

const struct schema_refusal *recovery_refuses_notice(const void *scenario)
{
    static const struct schema_refusal refusal = {"of nodes that nobody takes away",
                                                  "write run.spot, or leave it out"};
    return recovery_is_on_spot(scenario) ? NULL : &refusal;
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

static bool check_spot_name(const struct scenario *scenario, struct diag *diag)
{
    for (uint32_t i = 0; i < scenario->failures.kind_count; i++) {
        const struct failure_kind *kind = &scenario->failures.kinds[i];
        if (strcmp(kind->name, SPOT_CLASS) == 0) {
            diag_add(diag, DIAG_INPUT, &kind->place,
                     "class '%s' of run.failures has the name of what run.spot takes", kind->name);
            diag_help(diag, "what is drawn for a class hangs on its name: give it another");
            return false;
        }
    }
    return true;
}

/* What is reserved or owned nobody takes away. */
static bool check_spot_terms(const struct scenario *scenario, const struct place *place,
                             struct diag *diag)
{
    const uint32_t terms = scenario->price.terms;
    if (terms == TERMS_RESERVED || terms == TERMS_OWN) {
        diag_add(diag, DIAG_INPUT, place, "run.spot takes nodes away that price.terms: %s keeps",
                 price_terms_names[terms]);
        diag_help(diag, "say price: {terms: spot, spot_gpu_hour: 1.20 USD}, or leave run.spot out");
        return false;
    }
    return true;
}

static bool check_spot(const struct scenario *scenario, struct diag *diag)
{
    const struct doc_node *node = doc_find(scenario->document, "run.spot");
    if (!recovery_is_on_spot(scenario) || node == NULL) {
        return true;
    }
    const bool has_name = check_spot_name(scenario, diag);
    return check_spot_terms(scenario, &node->place, diag) && has_name;
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
    const bool has_spares =
        check_spares(scenario, diag) && check_domains(scenario, diag) && check_spot(scenario, diag);
    return check_checks(scenario, diag) && has_spares;
}

/* Keys that mean nothing where nothing fails: all of them, or those that are not of a planned
 * restart. */
static void warn_of_idle_keys(const struct scenario *scenario, struct diag *diag)
{
    static const char *const of_failures[] = {
        "spares", "spares_at", "hot_spares", "cold_start", "hands", "wrong_diagnosis", "inspection",
        "from",   "slow",      "batch",      "growth",     "check", "without_node",    "detection"};
    const struct doc_node *section = doc_find(scenario->document, "run.recovery");
    const struct doc_node *idle = run_plan_has_restarts(scenario) ? NULL : section;
    for (size_t i = 0; section != NULL && idle == NULL && i < LENGTH(of_failures); i++) {
        idle = doc_find(section, of_failures[i]);
    }
    if (idle != NULL) {
        diag_add(diag, DIAG_WARNING, &idle->place,
                 "run.recovery%s%s means nothing: nothing fails in this run",
                 idle == section ? "" : ".", idle == section ? "" : idle->key);
        diag_help(diag, "say run.failures: true, or a name of `stoker list failures`");
    }
}

/* It is paid as if nobody took it. */
static void warn_of_rent(const struct scenario *scenario, struct diag *diag)
{
    const struct doc_node *node = doc_find(scenario->document, "run.spot");
    const bool is_paid = doc_find(scenario->document, "price") != NULL;
    if (recovery_is_on_spot(scenario) && scenario->price.terms == TERMS_RENT && is_paid) {
        diag_add(diag, DIAG_WARNING, &node->place,
                 "nodes on spot are paid as rented ones: price.terms is rent");
        diag_help(diag, "say price: {terms: spot, spot_gpu_hour: 1.20 USD}");
    }
}

/* How often they are taken follows from how many go at once. */
static void warn_of_together(const struct scenario *scenario, struct diag *diag)
{
    const double together = scenario->spot.together;
    if (!recovery_is_on_spot(scenario) || together <= (double)scenario->nodes) {
        return;
    }
    const struct doc_node *own = doc_find(scenario->document, "run.spot.together");
    const struct doc_node *node = own != NULL ? own : doc_find(scenario->document, "run.spot");
    diag_add(diag, DIAG_WARNING, &node->place,
             "%g nodes are taken at once in the mean, of a job of %lld: each is taken less often "
             "than the rate says",
             together, (long long)scenario->nodes);
    diag_help(diag, "run.spot.together may be at most the job's nodes: run.spot.together: %lld",
              (long long)scenario->nodes);
}

/* A check comes at the end of a checkpoint's interval. Intervals in steps (`every_steps`) are left
 * out: how long they are only a simulated step tells. */
static void warn_of_checks(const struct scenario *scenario, struct diag *diag)
{
    const struct recovery *recovery = &scenario->recovery;
    const double every_s = scenario->checkpoint.every_steps > 0 ? 0 : scenario->checkpoint.every_s;
    const struct doc_node *node = doc_find(scenario->document, "run.recovery.check.every");
    if (!recovery->has_checks || node == NULL || recovery->check_every_s >= every_s) {
        return;
    }
    char text[2][32];
    diag_add(diag, DIAG_WARNING, &node->place,
             "a check comes at the end of a checkpoint's interval: one each %s, not each %s",
             units_format_duration(every_s, text[0], sizeof text[0]),
             units_format_duration(recovery->check_every_s, text[1], sizeof text[1]));
    diag_help(diag, "checkpoint as often (run.checkpoint.every), or check less often");
}

void recovery_warn(const struct scenario *scenario, struct diag *diag)
{
    if (!recovery_has_failures(scenario)) {
        warn_of_idle_keys(scenario, diag);
    }
    warn_of_rent(scenario, diag);
    warn_of_together(scenario, diag);
    warn_of_checks(scenario, diag);
}
