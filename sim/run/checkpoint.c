/* What a checkpoint costs is the difference of two simulated steps; how long it takes until it is
 * in the file system, flows of the engine; how often one is written, a division.
 */
#include "run/checkpoint.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/scenario.h"
#include "plan/checkpoint_roles.h"
#include "plan/memory/memory.h"
#include "plan/mesh.h"
#include "run/storage.h"
#include "hw/checkpoint_place.h"

#include <math.h>

double checkpoint_busiest_bytes(struct arena *arena, const struct scenario *scenario, double bytes)
{
    const struct memory_job memory = memory_job_of(scenario);
    const struct checkpoint_roles roles = checkpoint_roles_of(arena, &memory);
    double most = 0;
    for (uint32_t i = 0; i < roles.count; i++) {
        most = fmax(most, roles.items[i].share * bytes);
    }
    return most;
}

/* All that writes moves its part that way, with nothing else under way, once it is agreed on. */
static double moving_s(struct arena *arena, const struct scenario *scenario, double bytes,
                       enum storage_way way)
{
    const struct memory_job memory = memory_job_of(scenario);
    const struct checkpoint_roles roles = checkpoint_roles_of(arena, &memory);
    double *role_bytes = arena_array(arena, roles.count, sizeof *role_bytes);
    for (uint32_t i = 0; i < roles.count; i++) {
        role_bytes[i] = roles.items[i].share * bytes;
    }
    const struct storage_move move = {scenario, way, roles.of_rank, role_bytes, 0, NULL};
    sim_time end;
    storage_run(arena, &move, 1, &end);
    return checkpoint_agreed_s(&scenario->software, way, scenario->gpus) + sim_time_to_s(end);
}

double checkpoint_persist_s(struct arena *arena, const struct scenario *scenario, double bytes)
{
    const struct checkpoint_place *place = checkpoint_place_of(&scenario->checkpoint);
    return place->is_flushed ? moving_s(arena, scenario, bytes, place->flush) : 0;
}

double checkpoint_peer_s(struct arena *arena, const struct scenario *scenario, double bytes)
{
    return moving_s(arena, scenario, bytes, STORAGE_FLUSH_PEER);
}

double checkpoint_drain_s(struct arena *arena, const struct scenario *scenario, double bytes)
{
    sim_assert(scenario->checkpoint.target != CHECKPOINT_SHARED);
    return moving_s(arena, scenario, bytes, checkpoint_place_of(&scenario->checkpoint)->drain);
}

/* ---- reading --------------------------------------------------------------------------------- */

static double *held_by_stage(struct arena *arena, const struct scenario *scenario)
{
    const struct memory_job memory = memory_job_of(scenario);
    const uint32_t stages = (uint32_t)scenario->parallel.pp;
    double *held_bytes = arena_array(arena, stages, sizeof *held_bytes);
    for (uint32_t stage = 0; stage < stages; stage++) {
        held_bytes[stage] = checkpoint_held_bytes(&memory, stage);
    }
    return held_bytes;
}

/* Each rank reads all that it holds, from a file system or from its node's drives. */
static double read_files_s(struct arena *arena, const struct scenario *scenario,
                           enum storage_way way)
{
    const struct mesh mesh = mesh_of(&scenario->parallel);
    uint32_t *stage_of = arena_array(arena, mesh_size(&mesh), sizeof *stage_of);
    for (uint32_t rank = 0; rank < mesh_size(&mesh); rank++) {
        stage_of[rank] = mesh_stage_of(&mesh, rank);
    }
    const struct storage_move read = {scenario, way, stage_of, held_by_stage(arena, scenario),
                                      0,        NULL};
    sim_time end;
    storage_run(arena, &read, 1, &end);
    return sim_time_to_s(end);
}

/* Each rank has back what it wrote from its host, and what others wrote of what it holds from
 * another's. Where a node was lost, its ranks have all from the peer: kinds of ranks are roles, and
 * once more those of the lost node. */
static double read_memory_s(struct arena *arena, const struct scenario *scenario, bool lost_node)
{
    const struct memory_job memory = memory_job_of(scenario);
    const struct checkpoint_roles roles = checkpoint_roles_of(arena, &memory);
    const double *held_bytes = held_by_stage(arena, scenario);
    const double bytes = memory_checkpoint_bytes(&memory, NULL);
    uint32_t *kind_of = arena_array(arena, (size_t)scenario->gpus, sizeof *kind_of);
    double *own = arena_array(arena, (size_t)roles.count * 2, sizeof *own);
    double *others = arena_array(arena, (size_t)roles.count * 2, sizeof *others);
    for (uint32_t i = 0; i < roles.count; i++) {
        const double held = held_bytes[roles.items[i].stage];
        own[i] = fmin(roles.items[i].share * bytes, held);
        others[i] = held - own[i];
        others[roles.count + i] = held;
    }
    uint32_t most = 0;
    for (uint32_t rank = 0; rank < (uint32_t)scenario->gpus; rank++) {
        const uint32_t role = roles.of_rank[rank];
        most = others[roles.count + role] > others[roles.count + roles.of_rank[most]] ? rank : most;
        kind_of[rank] = role;
    }
    const uint32_t per_node = (uint32_t)scenario->cluster.gpus_per_node;
    for (uint32_t i = 0; lost_node && i < per_node; i++) {
        const uint32_t rank = most / per_node * per_node + i;
        kind_of[rank] += rank < (uint32_t)scenario->gpus ? roles.count : 0;
    }
    const struct storage_move reads[] = {{scenario, STORAGE_COPY, kind_of, own, 0, NULL},
                                         {scenario, STORAGE_READ_PEER, kind_of, others, 0, NULL}};
    sim_time ends[2];
    storage_run(arena, reads, scenario->gpus > scenario->cluster.gpus_per_node ? 2 : 1, ends);
    return sim_time_to_s(ends[0] > ends[1] ? ends[0] : ends[1]);
}

double checkpoint_restore_s(struct arena *arena, const struct scenario *scenario,
                            enum checkpoint_target from, uint32_t level)
{
    switch (from) {
    case CHECKPOINT_LOCAL:
        return read_files_s(arena, scenario, STORAGE_READ_LOCAL);
    case CHECKPOINT_MEMORY:
    case CHECKPOINT_PEER:
        return read_memory_s(arena, scenario, level > 0);
    case CHECKPOINT_SHARED:
    case CHECKPOINT_TARGET_COUNT_:
        break;
    }
    return read_files_s(arena, scenario, STORAGE_READ);
}

/* ---- tiers ----------------------------------------------------------------------------------- */

static void add_reads(struct arena *arena, const struct scenario *scenario,
                      enum checkpoint_target place, struct checkpoint_tier *tier)
{
    for (uint32_t level = 0; level < HISTORY_LEVELS && level <= tier->survives; level++) {
        const bool is_as_before = level > 0 && place != CHECKPOINT_PEER;
        tier->read_s[level] = is_as_before ? tier->read_s[level - 1]
                                           : checkpoint_restore_s(arena, scenario, place, level);
    }
}

/* What lies on nodes' drives or in memory is gone with a node, or with its peer; what went on to
 * the file system is not. */
uint32_t checkpoint_tiers(struct arena *arena, const struct scenario *scenario,
                          struct checkpoint_tier tiers[HISTORY_TIERS_MAX])
{
    const struct checkpoint *plan = &scenario->checkpoint;
    const uint32_t count = plan->is_enabled ? checkpoint_tier_count(plan) : 0;
    const enum checkpoint_target places[HISTORY_TIERS_MAX] = {
        (enum checkpoint_target)plan->target, count == 3 ? CHECKPOINT_PEER : CHECKPOINT_SHARED,
        CHECKPOINT_SHARED};
    for (uint32_t i = 0; i < count; i++) {
        tiers[i] = (struct checkpoint_tier){
            .place = checkpoint_place_at(places[i]),
            .every = (uint32_t)checkpoint_tier_every(plan, i),
            .survives = checkpoint_place_at(places[i])->survives,
        };
        if (!scenario->recovery.has_restart) {
            add_reads(arena, scenario, places[i], &tiers[i]);
        }
    }
    return count;
}

void checkpoint_read_s(const struct checkpoint_tier *tiers, uint32_t count,
                       double read_s[HISTORY_LEVELS])
{
    for (uint32_t level = 0; level < HISTORY_LEVELS; level++) {
        read_s[level] = 0;
        for (uint32_t i = count; i-- > 0;) {
            read_s[level] = level <= tiers[i].survives ? tiers[i].read_s[level] : read_s[level];
        }
    }
}

int64_t checkpoint_drain_every(const struct checkpoint *plan)
{
    const int64_t each = plan->peer_every > 0 ? plan->peer_every : 1;
    return plan->drain_every > 0 ? plan->drain_every : each;
}

uint32_t checkpoint_tier_count(const struct checkpoint *plan)
{
    return plan->target == CHECKPOINT_SHARED ? 1 : plan->peer_every > 0 ? 3 : 2;
}

int64_t checkpoint_tier_every(const struct checkpoint *plan, uint32_t tier)
{
    const bool is_last = tier + 1 == checkpoint_tier_count(plan);
    return tier == 0 ? 1 : is_last ? checkpoint_drain_every(plan) : plan->peer_every;
}

int64_t checkpoint_moved(const struct checkpoint *plan, int64_t checkpoints)
{
    return checkpoints / checkpoint_drain_every(plan);
}

int64_t checkpoint_kept(const struct checkpoint *plan, int64_t checkpoints)
{
    const int64_t moved = checkpoint_moved(plan, checkpoints);
    return plan->keep > 0 && plan->keep < moved ? plan->keep : moved;
}

int64_t checkpoint_interval(const struct checkpoint *plan, double step_s)
{
    if (plan->every_steps > 0) {
        return plan->every_steps;
    }
    const int64_t every = (int64_t)(plan->every_s / step_s);
    return every < 1 ? 1 : every;
}

void checkpoint_count(const struct scenario *scenario, double step_s, struct ledger *ledger,
                      struct run_result *run)
{
    if (!scenario->checkpoint.is_enabled) {
        return;
    }
    const double every = (double)checkpoint_interval(&scenario->checkpoint, step_s);
    run->checkpoints =
        (int64_t)LEDGER_SUM(ledger, "checkpoints", "", floor((double)run->steps / every),
                            LEDGER_TERM(run->steps, "steps"), LEDGER_TERM(every, "steps"));
    const struct memory_job memory = memory_job_of(scenario);
    run->checkpoint_bytes = memory_checkpoint_bytes(&memory, ledger);
}

static bool is_copied_beside(const struct scenario *scenario)
{
    return scenario->checkpoint.mode == CHECKPOINT_ASYNC &&
           scenario->software.checkpoint_copy == COPY_BESIDE;
}

/* How much longer a step of the regime is. */
static int64_t longer_by_ns(const struct regime_basis *basis, const struct regime *regime)
{
    struct arena *scratch = arena_new();
    const int64_t step_ns = regime_step_ns(scratch, basis, regime);
    arena_free(scratch);
    return step_ns - basis->step_ns;
}

/* How much longer a step is that ends with a checkpoint, or beside which it is copied. */
static double blocking_s(const struct regime_basis *basis, double bytes)
{
    const struct scenario *scenario = basis->scenario;
    const bool is_async = scenario->checkpoint.mode == CHECKPOINT_ASYNC;
    const struct regime writing = {
        .checkpoint_bytes = bytes,
        .is_checkpoint_async = is_async,
        .is_copied_beside = is_copied_beside(scenario),
    };
    const int64_t longer_ns = longer_by_ns(basis, &writing);
    sim_assert(longer_ns >= 0 || writing.is_copied_beside || basis->loaders != NULL);
    const double written_s = longer_ns > 0 ? sim_time_to_s(longer_ns) : 0;
    return written_s + (is_async
                            ? 0
                            : checkpoint_agreed_s(&scenario->software,
                                                  checkpoint_place_of(&scenario->checkpoint)->write,
                                                  scenario->gpus));
}

/* From the end of the blocking part until one is where it goes: what is copied beside the step
 * after it goes on from there when it is copied. */
static double durable_s(struct arena *arena, const struct scenario *scenario, double bytes,
                        double block_s)
{
    const double copied_s =
        is_copied_beside(scenario) ? moving_s(arena, scenario, bytes, STORAGE_COPY) - block_s : 0;
    return fmax(copied_s, 0) + checkpoint_persist_s(arena, scenario, bytes);
}

/* What crosses the NICs of training makes steps longer, each by its part of the bytes. */
static void add_flush(const struct regime_basis *basis, double bytes, uint32_t tier, double takes_s,
                      struct checkpoint_cost *cost)
{
    const struct checkpoint *plan = &basis->scenario->checkpoint;
    const struct checkpoint_place *place = checkpoint_place_of(plan);
    const bool is_drained = tier > 0 && tier + 1 == checkpoint_tier_count(plan);
    const enum storage_way way = is_drained  ? place->drain
                                 : tier == 0 ? place->flush
                                             : STORAGE_FLUSH_PEER;
    if (!(takes_s > 0) || !fabric_storage_uses_nics(&basis->scenario->cluster, way)) {
        return;
    }
    struct checkpoint_flush *flush = &cost->flushes[tier];
    flush->steps = ceil(takes_s / sim_time_to_s(basis->step_ns));
    flush->bytes = bytes / flush->steps;
    const struct regime flushing = {.is_checkpoint_async = true,
                                    .flush_bytes = is_drained ? 0 : flush->bytes,
                                    .drain_bytes = is_drained ? flush->bytes : 0};
    const int64_t longer_ns = longer_by_ns(basis, &flushing);
    flush->longer_s = longer_ns > 0 ? sim_time_to_s(longer_ns) : 0;
}

void checkpoint_cost_of(struct arena *arena, const struct regime_basis *basis, double bytes,
                        struct checkpoint_cost *cost)
{
    *cost = (struct checkpoint_cost){.block_s = 0};
    if (!basis->scenario->checkpoint.is_enabled) {
        return;
    }
    cost->block_s = blocking_s(basis, bytes);
    if (basis->scenario->checkpoint.mode == CHECKPOINT_ASYNC) {
        cost->durable_s = durable_s(arena, basis->scenario, bytes, cost->block_s);
        add_flush(basis, bytes, 0, cost->durable_s, cost);
    }
    const uint32_t last = checkpoint_tier_count(&basis->scenario->checkpoint) - 1;
    double there_s = cost->durable_s; /* in the tiers so far */
    if (last == 2) {
        cost->peered_s = there_s + checkpoint_peer_s(arena, basis->scenario, bytes);
        add_flush(basis, bytes, 1, cost->peered_s - there_s, cost);
        there_s = cost->peered_s;
    }
    if (last > 0) {
        cost->drained_s = there_s + checkpoint_drain_s(arena, basis->scenario, bytes);
        add_flush(basis, bytes, last, cost->drained_s - there_s, cost);
    }
    if (basis->has_histories) {
        cost->tier_count = checkpoint_tiers(arena, basis->scenario, cost->tiers);
    }
}

/* How long the last of some checkpoints in a row blocks, each of the others for `each_s`, when one
 * that is moved for `move_s` is due again with it. */
static double last_wait_s(double move_s, double each_s, double between_s, double writes)
{
    return fmax(each_s, move_s - writes * between_s - (writes - 1) * each_s);
}

double checkpoint_wait_s(const struct scenario *scenario, double step_s,
                         const struct checkpoint_cost *cost)
{
    const struct checkpoint *plan = &scenario->checkpoint;
    if (!plan->is_enabled) {
        return 0;
    }
    const double steps = (double)checkpoint_interval(plan, step_s);
    const uint32_t count = checkpoint_tier_count(plan);
    double longer_s = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct checkpoint_flush *flush = &cost->flushes[i];
        const double every = (double)checkpoint_tier_every(plan, i);
        longer_s += fmin(flush->steps, every * steps) * flush->longer_s / every;
    }
    const double between_s = steps * step_s + longer_s;
    double mean_s = cost->block_s;
    for (uint32_t i = 0; i < count; i++) {
        const double every = (double)checkpoint_tier_every(plan, i);
        const double last_s =
            last_wait_s(checkpoint_there_s(cost, count, i), mean_s, between_s, every);
        mean_s = ((every - 1) * mean_s + last_s) / every;
    }
    return mean_s + longer_s;
}

double checkpoint_there_s(const struct checkpoint_cost *cost, uint32_t count, uint32_t tier)
{
    return tier == 0 ? cost->durable_s : tier + 1 < count ? cost->peered_s : cost->drained_s;
}

double checkpoint_safe_s(const struct checkpoint_cost *cost, uint32_t level)
{
    for (uint32_t i = 0; i < cost->tier_count; i++) {
        if (cost->tiers[i].survives >= level) {
            return cost->block_s + checkpoint_there_s(cost, cost->tier_count, i);
        }
    }
    return HUGE_VAL;
}
