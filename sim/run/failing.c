/* One class after the other; each says with what it grows and what it takes.
 */
#include "run/failing.h"

#include "base/arena.h"
#include "input/failures/recovery.h"
#include "input/failures/spot.h"
#include "input/scenario.h"
#include "plan/mesh.h"
#include "train/placement_segment.h"

#include <gsl/gsl_sf_gamma.h>

#include <math.h>

/* ---- what falls together -------------------------------------------------------------------- */

/* A job's nodes in groups of `nodes`. */
static struct failing_domains domains_of(const struct scenario *scenario, int64_t nodes)
{
    const int64_t all = scenario->nodes;
    if (nodes <= 0 || nodes >= all) {
        return (struct failing_domains){1, all, all};
    }
    const int64_t count = (all + nodes - 1) / nodes;
    return (struct failing_domains){count, nodes, all - (count - 1) * nodes};
}

/* What segments leave of an NVLink domain is idle, and the job's next nodes lie in the next one. */
static struct failing_domains nvlink_domains(const struct scenario *scenario)
{
    const struct mesh mesh = mesh_of(&scenario->parallel);
    const int64_t segment = placement_segment_nodes(&scenario->cluster, &mesh);
    return domains_of(scenario, scenario->cluster.domain_nodes / segment * segment);
}

static bool has_rails(const struct cluster *cluster)
{
    return cluster->fabric_kind == FABRIC_RAIL || cluster->fabric_kind == FABRIC_RAIL_ONLY;
}

static double components_of(const struct scenario *scenario, uint32_t of)
{
    const struct cluster *cluster = &scenario->cluster;
    const double per_leaf = has_rails(cluster) ? (double)cluster->nics_per_node : 1.0;
    switch ((enum failure_component)of) {
    case FAILURE_OF_GPU:
        return (double)scenario->gpus;
    case FAILURE_OF_NODE:
        return (double)scenario->nodes;
    case FAILURE_OF_NIC:
        return (double)(scenario->nodes * cluster->nics_per_node);
    case FAILURE_OF_LEAF:
        return per_leaf * (double)domains_of(scenario, cluster->nodes_per_leaf).count;
    case FAILURE_OF_NVLINK_DOMAIN:
        return (double)nvlink_domains(scenario).count;
    case FAILURE_OF_POWER_DOMAIN:
        return (double)domains_of(scenario, cluster->power_domain_nodes).count;
    case FAILURE_OF_JOB:
    case FAILURE_COMPONENT_COUNT_:
        break;
    }
    return 1.0;
}

/* One of them falls; no node is in one of none. */
struct failing_domains failing_victims(const struct scenario *scenario, uint32_t takes)
{
    switch ((enum failure_victim)takes) {
    case FAILURE_TAKES_GPU:
    case FAILURE_TAKES_NODE:
        return (struct failing_domains){1, 1, 1};
    case FAILURE_TAKES_LEAF:
        return domains_of(scenario, scenario->cluster.nodes_per_leaf);
    case FAILURE_TAKES_NVLINK_DOMAIN:
        return nvlink_domains(scenario);
    case FAILURE_TAKES_POWER_DOMAIN:
        return domains_of(scenario, scenario->cluster.power_domain_nodes);
    case FAILURE_TAKES_PROCESS:
    case FAILURE_TAKES_FILE_SYSTEM:
    case FAILURE_VICTIM_COUNT_:
        break;
    }
    return (struct failing_domains){1, 0, 0};
}

/* ---- classes --------------------------------------------------------------------------------- */

static struct failure_clock clock_of(const struct failure_kind *kind, double components)
{
    static const enum failure_clock_kind kinds[AGEING_COUNT_] = {
        [AGEING_NONE] = CLOCK_CONSTANT,
        [AGEING_RENEWED] = CLOCK_RENEWED,
        [AGEING_REPAIRED] = CLOCK_REPAIRED,
    };
    if (kind->ageing == AGEING_NONE) {
        const double bad = kind->has_bad ? round(kind->bad_share * components) : 0;
        return (struct failure_clock){.kind = CLOCK_CONSTANT,
                                      .rate_per_s = kind->rate_per_s * components,
                                      .components = components,
                                      .bad_count = (uint32_t)bad,
                                      .bad_times = kind->bad_times,
                                      .bad_retired_after = (uint32_t)kind->bad_retired_after};
    }
    return (struct failure_clock){
        .kind = kinds[kind->ageing],
        .components = components,
        .scale_s = 1.0 / kind->rate_per_s / gsl_sf_gamma(1.0 + 1.0 / kind->shape),
        .shape = kind->shape,
        .age_s = kind->age_s,
    };
}

uint32_t failing_level(uint32_t takes)
{
    static const uint32_t levels[FAILURE_VICTIM_COUNT_] = {
        [FAILURE_TAKES_GPU] = 1,          [FAILURE_TAKES_NODE] = 1,
        [FAILURE_TAKES_LEAF] = 2,         [FAILURE_TAKES_NVLINK_DOMAIN] = 2,
        [FAILURE_TAKES_POWER_DOMAIN] = 2, [FAILURE_TAKES_FILE_SYSTEM] = 3,
    };
    sim_assert(takes < sizeof levels / sizeof *levels);
    return levels[takes];
}

static struct failure_class class_of(const struct scenario *scenario,
                                     const struct failure_kind *kind)
{
    const struct failing_domains victims = failing_victims(scenario, kind->takes);
    const struct recovery *recovery = &scenario->recovery;
    const bool is_unseen = kind->effect == FAILURE_CORRUPTS && !recovery->has_checks;
    const enum failure_effect effect = is_unseen                          ? FAILURE_KILLS
                                       : kind->effect == FAILURE_DEGRADES ? FAILURE_SLOWS
                                                                          : kind->effect;
    return (struct failure_class){
        .name = kind->name,
        .clock = clock_of(kind, components_of(scenario, kind->of)),
        .effect = effect,
        .heals = effect == FAILURE_SLOWS && recovery->slow == RECOVERY_ENDURES,
        .nodes = (uint32_t)victims.nodes,
        .nodes_last = (uint32_t)victims.nodes_last,
        .domains = (uint32_t)victims.count,
        .are_repaired_as_one = failing_level(kind->takes) == 2,
        .is_of_nodes = kind->of != FAILURE_OF_JOB,
        .level = failing_level(kind->takes),
        .detection = recovery->detection[kind->detected],
        .restart = recovery->restart,
        .repair = kind->repair,
        .stages = kind->stages,
        .stage_count = kind->stage_count,
        .returns_bad = kind->returns_bad,
        .fails_again = kind->fails_again,
    };
}

/* Of nodes that are lent; whoever takes them says so, and nobody has to find out. */
static struct failure_class class_of_spot(const struct scenario *scenario)
{
    const struct spot_plan *spot = &scenario->spot;
    const double nodes = (double)scenario->nodes;
    return (struct failure_class){
        .name = SPOT_CLASS,
        .clock = {.kind = CLOCK_CONSTANT,
                  .rate_per_s = spot->rate_per_s * nodes / spot->together,
                  .components = nodes},
        .effect = FAILURE_KILLS,
        .nodes = 1,
        .nodes_last = 1,
        .domains = 1,
        .are_repaired_as_one = spot->back_together,
        .level = LEVEL_NODE,
        .detection = {LAW_FIXED, 0, 0},
        .restart = scenario->recovery.restart,
        .repair = spot->back,
        .takes_away = true,
        .notice_ns = sim_time_from_s(spot->notice_s),
        .together = spot->together,
    };
}

struct failure_class *failing_classes(struct arena *arena, const struct scenario *scenario,
                                      uint32_t *count)
{
    const struct failures *failures = &scenario->failures;
    const bool is_on_spot = recovery_is_on_spot(scenario);
    *count = failures->kind_count + (is_on_spot ? 1 : 0);
    struct failure_class *classes = *count > 0 ? arena_array(arena, *count, sizeof *classes) : NULL;
    for (uint32_t i = 0; i < failures->kind_count; i++) {
        classes[i] = class_of(scenario, &failures->kinds[i]);
    }
    if (is_on_spot) {
        classes[failures->kind_count] = class_of_spot(scenario);
    }
    return classes;
}

double *failing_shares(struct arena *arena, const struct scenario *whole,
                       const struct scenario *part)
{
    const struct failures *failures = &whole->failures;
    double *shares = arena_array(arena, failures->kind_count + 1, sizeof *shares);
    for (uint32_t i = 0; i < failures->kind_count; i++) {
        const uint32_t of = failures->kinds[i].of;
        shares[i] = fmin(components_of(part, of) / components_of(whole, of), 1.0);
    }
    shares[failures->kind_count] = fmin((double)part->nodes / (double)whole->nodes, 1.0);
    return shares;
}

static double rate_of(const struct failure_clock *clock)
{
    return clock->kind == CLOCK_CONSTANT
               ? clock->rate_per_s
               : clock->components / (clock->scale_s * gsl_sf_gamma(1.0 + 1.0 / clock->shape));
}

/* With those that fail again: each may, and so on. */
static double rate_again(const struct failure_class *class)
{
    return rate_of(&class->clock) / (class->nodes > 0 ? 1 - class->returns_bad : 1);
}

double failing_rate_per_s(const struct failure_class *classes, uint32_t count)
{
    double rate_per_s = 0;
    for (uint32_t i = 0; i < count; i++) {
        rate_per_s += rate_again(&classes[i]);
    }
    return rate_per_s;
}

/* Attempts of a restart before the one that mends it: of a share p that is wrong, p / (1 - p). */
static double in_vain(const struct scenario *scenario, const struct failure_class *class)
{
    const double wrong =
        class->nodes > 0 && !class->takes_away ? scenario->recovery.wrong_diagnosis : 0;
    return wrong / (1 - wrong);
}

double failing_start_s(const struct scenario *scenario)
{
    const struct recovery *recovery = &scenario->recovery;
    return recovery->has_restart
               ? 0
               : recovery->start_per_gpu_s * (double)scenario->gpus + recovery->warm_up_s;
}

struct interval_case failing_case(const struct scenario *scenario,
                                  const struct failure_class *classes, uint32_t count,
                                  const double *shares, const double read_s[HISTORY_LEVELS])
{
    double rate_per_s = 0;
    double detection = 0;
    double read = 0;
    const double start_s = failing_start_s(scenario);
    for (uint32_t i = 0; i < count; i++) {
        if (classes[i].effect == FAILURE_KILLS) {
            const double rate = rate_again(&classes[i]) * (shares != NULL ? shares[i] : 1);
            const double once = classes[i].detection.mean_s;
            const double more =
                once + scenario->recovery.restart.mean_s + start_s + read_s[classes[i].level];
            rate_per_s += rate;
            detection += rate * (once + in_vain(scenario, &classes[i]) * more);
            read += rate * read_s[classes[i].level];
        }
    }
    return (struct interval_case){
        .mtbf_s = rate_per_s > 0 ? 1.0 / rate_per_s : 0,
        .detection_s = rate_per_s > 0 ? detection / rate_per_s : 0,
        .restart = scenario->recovery.restart,
        .restart_more_s = start_s + (rate_per_s > 0 ? read / rate_per_s : 0),
    };
}
