/* Idle GPUs are counted by train/placement; here they are held against the terms.
 */
#include "run/holding.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/failures/recovery.h"
#include "input/job/price.h"
#include "input/scenario.h"
#include "train/placement.h"

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* So many idle nodes are there at all times. */
static void add_spares(int64_t idle_nodes, struct holding *holding)
{
    const struct scenario *scenario = holding->scenario;
    const int64_t hot = recovery_hot_spares(scenario);
    holding->spares = most(recovery_spares(scenario), idle_nodes);
    holding->hot_spares =
        recovery_has_cold_spares(scenario) ? most(hot, idle_nodes) : holding->spares;
    holding->rented_hot = holding->hot_spares - idle_nodes;
    holding->rented_cold = holding->spares - holding->hot_spares;
    sim_assert(holding->rented_hot >= 0);
    sim_assert(holding->rented_cold >= 0);
}

struct holding holding_of(const struct scenario *scenario, const struct placement_use *use)
{
    const int64_t per_node = scenario->cluster.gpus_per_node;
    const int64_t whole = most(scenario->nodes * per_node, scenario->gpus);
    const bool is_paid = scenario->price.idle == IDLE_PAID;
    const int64_t beside = is_paid && use != NULL ? use->idle_gpus - (whole - scenario->gpus) : 0;
    struct holding holding = {
        .scenario = scenario,
        .gpus = (double)(is_paid ? whole + beside : scenario->gpus),
        .idle_nodes = beside > 0 ? beside / per_node : 0,
    };
    sim_assert(beside >= 0);
    holding.idle_gpus = holding.gpus - (double)scenario->gpus;
    holding.node_gpus = (double)(is_paid ? whole : scenario->gpus) / (double)scenario->nodes;
    add_spares(holding.idle_nodes, &holding);
    return holding;
}

struct holding holding_of_run(const struct scenario *scenario, const struct step_result *step,
                              const struct run_result *run)
{
    struct holding holding = holding_of(scenario, &step->placement);
    int64_t least = holding.idle_nodes;
    for (uint32_t i = 0; i < run->stage_count; i++) {
        const struct run_stage_use *stage = &run->stages[i];
        const int64_t idle = holding_of(stage->scenario, &stage->step->placement).idle_nodes;
        least = i == 0 || idle < least ? idle : least;
    }
    add_spares(least, &holding);
    return holding;
}

struct holding holding_of_stage(const struct run_stage_use *stage, const struct holding *run)
{
    struct holding holding = holding_of(stage->scenario, &stage->step->placement);
    holding.spares = run->spares;
    holding.hot_spares = run->hot_spares;
    holding.rented_hot = run->rented_hot;
    holding.rented_cold = run->rented_cold;
    return holding;
}

struct holding holding_placed(const struct scenario *scenario)
{
    struct arena *scratch = arena_new();
    struct placement placement;
    placement_choose(scratch, scenario, &placement);
    const struct holding holding = holding_of(scenario, &placement.use);
    arena_free(scratch);
    return holding;
}
