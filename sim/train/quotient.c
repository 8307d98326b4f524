/* Ranks are GPUs here, so a turn of ranks is one of GPUs. The outer turn moves the digit of the
 * data-parallel axis, which must be the slowest of a stage: then what lies below it moves in whole
 * blocks. By how many replicas at least, follows from how experts and shards are laid over them.
 */
#include "train/quotient.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/scenario.h"

#include <stdlib.h>
#include <string.h>

/* ---- what a turn would tear apart ------------------------------------------------------- */

bool quotient_fills_in_order(const uint32_t *gpu_of_rank, uint32_t ranks)
{
    uint32_t rank = 0;
    while (gpu_of_rank != NULL && rank < ranks && gpu_of_rank[rank] == rank) {
        rank++;
    }
    return gpu_of_rank == NULL || rank == ranks;
}

static bool is_regular(const struct fabric *fabric, const struct scenario *scenario,
                       const struct group_layout *layout, const uint32_t *gpu_of_rank)
{
    const uint32_t ranks = mesh_size(layout->mesh);
    return scenario->neighbour_count == 0 && layout->mesh->holders == 1 &&
           layout->local_ranks == 0 && fabric->gpus == ranks &&
           quotient_fills_in_order(gpu_of_rank, ranks);
}

/* ---- outer ------------------------------------------------------------------------------ */

/* Of the stage's axes the data-parallel one is the slowest. */
static bool has_slow_replicas(const struct mesh *mesh)
{
    bool is_past = false;
    for (uint32_t i = 0; i < AXIS_COUNT_; i++) {
        if (is_past && mesh->order[i] != AXIS_PP) {
            return false;
        }
        is_past = is_past || mesh->order[i] == AXIS_DP;
    }
    return true;
}

/* Ranks from a replica to the next. */
static uint32_t replica_stride(const struct mesh *mesh)
{
    const struct mesh_place next = {.dp = 1};
    return mesh->dp > 1 ? mesh_rank(mesh, &next) : mesh_size(mesh);
}

/* Whether experts' groups and shards come onto others of their kind after `replicas` replicas. */
static bool keeps_groups(const struct group_layout *layout, uint32_t replicas)
{
    const struct mesh *mesh = layout->mesh;
    const uint32_t holders = mesh_holders(mesh, MESH_DATA);
    const uint32_t shards = mesh_shards(mesh, MESH_DATA);
    if (shards != holders && mesh->cp * replicas % shards != 0) {
        return false;
    }
    if (!layout->has_experts) {
        return true;
    }
    const uint32_t places = mesh->tp * mesh->cp * replicas;
    const uint32_t block = mesh->ep * mesh->etp;
    const uint32_t expert_shards = mesh_shards(mesh, MESH_EXPERT_DATA);
    return places % block == 0 && (expert_shards == mesh_holders(mesh, MESH_EXPERT_DATA) ||
                                   places / block % expert_shards == 0);
}

/* The least number of GPUs, in whole replicas, that takes groups onto others of their kind. */
static uint32_t least_step(const struct group_layout *layout, uint32_t around)
{
    const uint32_t stride = replica_stride(layout->mesh);
    const uint32_t all = around / stride;
    uint32_t replicas = 1;
    while (replicas < all && (all % replicas != 0 || !keeps_groups(layout, replicas))) {
        replicas++;
    }
    return stride * replicas;
}

/* The first level of a stage that lies across pods, or leaf groups, in its own way: a middle one,
 * for the sends of one unit do not stand for those of all. Returns its units; `around` if none. */
static uint32_t add_parted(struct arena *arena, const struct fabric *fabric, uint32_t around,
                           uint32_t step, struct fabric_turns *turns)
{
    const struct fabric_cut cut = fabric_turns_parted(fabric, around, step);
    if (cut.by < around) {
        turns->at[1] =
            (struct fabric_turn){cut.by, around, fabric_kinds_parted(arena, fabric, around, cut)};
    }
    return cut.by;
}

/* What is turned on one level consists of units, which are turned on the next: a leaf of nodes. */
static void add_outer(struct arena *arena, const struct fabric *fabric,
                      const struct group_layout *layout, struct fabric_turns *turns)
{
    const struct mesh *mesh = layout->mesh;
    if (mesh->dp == 1 || !has_slow_replicas(mesh)) {
        return;
    }
    uint32_t around = replica_stride(mesh) * mesh->dp;
    for (uint32_t level = 0; level < TURN_LEVEL_INNER; level++) {
        const uint32_t step = least_step(layout, around);
        uint32_t by = fabric_turns_outer(fabric, around, step);
        if (by < around) {
            turns->at[level] = (struct fabric_turn){by, around, NULL};
        } else if (level == 0) {
            by = add_parted(arena, fabric, around, step, turns);
            level = 1;
        }
        if (by == around) {
            return;
        }
        around = by;
    }
}

/* ---- inner ------------------------------------------------------------------------------ */

/* Experts lie across tensor groups in ways of their own. */
static void add_inner(const struct fabric *fabric, const struct group_layout *layout,
                      struct fabric_turns *turns)
{
    const struct mesh *mesh = layout->mesh;
    const uint32_t per_node = (uint32_t)fabric->cluster->gpus_per_node;
    if (mesh->tp == 1 || mesh->order[0] != AXIS_TP || per_node % mesh->tp != 0 ||
        layout->has_experts) {
        return;
    }
    const uint32_t by = fabric_turns_inner(fabric, mesh->tp);
    if (by < mesh->tp) {
        turns->at[TURN_LEVEL_INNER] = (struct fabric_turn){by, mesh->tp, NULL};
    }
}

/* ---- GPUs that are not as the others --------------------------------------------------------- */

/* A GPU that is slow or whose links are, or one that writes other parts of a checkpoint than most
 * of its stage. */
struct odd_rank {
    uint32_t rank;
    uint32_t role; /* 0: as most */
    struct slow_rank slow;
};

struct odd_ranks {
    const struct odd_rank *items;
    uint32_t count;
};

/* One of them as seen from a level: its unit, and where it is but for the unit. */
struct slow_place {
    uint32_t unit, elsewhere, role;
    struct slow_rank slow;
};

/* The slow GPUs of a unit. */
struct slow_unit {
    const struct slow_place *places;
    uint32_t count;
};

static int compare_places(const void *left, const void *right)
{
    const struct slow_place *a = left;
    const struct slow_place *b = right;
    return a->unit != b->unit ? (a->unit > b->unit) - (a->unit < b->unit)
                              : (a->elsewhere > b->elsewhere) - (a->elsewhere < b->elsewhere);
}

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

static int compare_shares(const struct slow_rank *a, const struct slow_rank *b)
{
    const int speed = compare_numbers(a->speed, b->speed);
    const int nic = compare_numbers(a->nic, b->nic);
    return speed != 0 ? speed : nic != 0 ? nic : compare_numbers(a->scale_up, b->scale_up);
}

/* An order of units by their slow GPUs; 0 where these are the same. */
static int compare_contents(const struct slow_unit *a, const struct slow_unit *b)
{
    int order = (a->count > b->count) - (a->count < b->count);
    for (uint32_t i = 0; order == 0 && i < a->count; i++) {
        const struct slow_place *x = &a->places[i];
        const struct slow_place *y = &b->places[i];
        order = (x->elsewhere > y->elsewhere) - (x->elsewhere < y->elsewhere);
        order = order != 0 ? order : (x->role > y->role) - (x->role < y->role);
        order = order != 0 ? order : compare_shares(&x->slow, &y->slow);
    }
    return order;
}

/* Alike ones beside one another, in rising order. */
static int compare_units(const void *left, const void *right)
{
    const struct slow_unit *a = left;
    const struct slow_unit *b = right;
    const int order = compare_contents(a, b);
    return order != 0 ? order
                      : (a->places->unit > b->places->unit) - (a->places->unit < b->places->unit);
}

static uint32_t list_slow_units(struct arena *arena, const struct odd_ranks *odd,
                                const struct fabric_turn *turn, struct slow_unit *units)
{
    const uint32_t count = odd->count;
    struct slow_place *places = arena_array(arena, count, sizeof *places);
    for (uint32_t i = 0; i < count; i++) {
        const struct odd_rank *of = &odd->items[i];
        const uint32_t unit = of->rank % turn->around / turn->by;
        places[i] = (struct slow_place){unit, of->rank - unit * turn->by, of->role, of->slow};
    }
    qsort(places, count, sizeof *places, compare_places);
    uint32_t unit_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || places[i].unit != places[i - 1].unit) {
            units[unit_count++] = (struct slow_unit){&places[i], 0};
        }
        units[unit_count - 1].count++;
    }
    qsort(units, unit_count, sizeof *units, compare_units);
    return unit_count;
}

/* Of units of which is known the first one with the same slow GPUs, the first one of its kind that
 * has them. */
static void part_by_kinds(struct arena *arena, const struct fabric_kinds *kinds, uint32_t units,
                          uint32_t *first)
{
    uint32_t *known = arena_array(arena, units, sizeof *known); /* per first one: 1 + ours */
    for (uint32_t kind = 0; kind < kinds->count; kind++) {
        memset(known, 0, units * sizeof *known);
        for (uint32_t unit = kinds->firsts[kind]; unit < units; unit++) {
            if (kinds->kind[unit] == kind) {
                uint32_t *of = &known[first[unit]];
                *of = *of == 0 ? unit + 1 : *of;
                first[unit] = *of - 1;
            }
        }
    }
}

/* Units change places that have slow GPUs at the same places, slow in the same way, or none: each
 * slow one comes onto another. */
static const struct fabric_kinds *kinds_of(struct arena *arena, const struct odd_ranks *odd,
                                           const struct fabric_turn *turn)
{
    const uint32_t count = turn->around / turn->by;
    uint32_t *first = arena_array(arena, count, sizeof *first);
    struct slow_unit *units = arena_array(arena, odd->count, sizeof *units);
    const uint32_t slow = list_slow_units(arena, odd, turn, units);
    for (uint32_t unit = 0; unit < count; unit++) {
        first[unit] = UINT32_MAX;
    }
    for (uint32_t i = 0, of = 0; i < slow; i++) {
        of = compare_contents(&units[of], &units[i]) == 0 ? of : i;
        first[units[i].places->unit] = units[of].places->unit;
    }
    uint32_t healthy = 0;
    while (healthy < count && first[healthy] != UINT32_MAX) {
        healthy++;
    }
    for (uint32_t unit = healthy; unit < count; unit++) {
        first[unit] = first[unit] == UINT32_MAX ? healthy : first[unit];
    }
    if (turn->kinds != NULL) {
        part_by_kinds(arena, turn->kinds, count, first);
    }
    return fabric_kinds_of(arena, first, count);
}

/* Of each stage the role that most of its ranks have. */
static const uint32_t *usual_roles(struct arena *arena, const struct mesh *mesh,
                                   const struct checkpoint_roles *roles)
{
    uint32_t *usual = arena_array(arena, mesh->pp, sizeof *usual);
    for (uint32_t stage = 0; stage < mesh->pp; stage++) {
        usual[stage] = roles->count;
    }
    for (uint32_t i = 0; i < roles->count; i++) {
        const struct checkpoint_role *role = &roles->items[i];
        const uint32_t best = usual[role->stage];
        if (best == roles->count || role->ranks > roles->items[best].ranks) {
            usual[role->stage] = i;
        }
    }
    return usual;
}

static struct slow_rank slow_of(const struct scenario *scenario, uint32_t rank)
{
    for (int64_t i = 0; i < scenario->slow_count; i++) {
        if (scenario->slow[i].rank == rank) {
            return scenario->slow[i];
        }
    }
    return (struct slow_rank){.rank = rank, .speed = 1, .nic = 1, .scale_up = 1};
}

static struct odd_ranks odd_ranks_of(struct arena *arena, const struct scenario *scenario,
                                     const struct mesh *mesh, const struct checkpoint_roles *roles)
{
    const uint32_t slow = (uint32_t)scenario->slow_count;
    if (roles == NULL || !checkpoint_roles_differ(roles)) {
        struct odd_rank *items = arena_array(arena, (size_t)slow + 1, sizeof *items);
        for (uint32_t i = 0; i < slow; i++) {
            items[i] = (struct odd_rank){(uint32_t)scenario->slow[i].rank, 0, scenario->slow[i]};
        }
        return (struct odd_ranks){items, slow};
    }
    const uint32_t *usual = usual_roles(arena, mesh, roles);
    const uint32_t ranks = mesh_size(mesh);
    struct odd_rank *items = arena_array(arena, ranks, sizeof *items);
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const uint32_t role = roles->of_rank[rank];
        const bool is_usual = role == usual[mesh_stage_of(mesh, rank)];
        const struct slow_rank of = slow_of(scenario, rank);
        if (!is_usual || of.speed < 1 || of.nic < 1 || of.scale_up < 1) {
            items[count++] = (struct odd_rank){rank, is_usual ? 0 : role + 1, of};
        }
    }
    return (struct odd_ranks){items, count};
}

struct fabric_turns quotient_turns(struct arena *arena, const struct fabric *fabric,
                                   const struct scenario *scenario,
                                   const struct group_layout *layout,
                                   const struct checkpoint_roles *writers,
                                   const uint32_t *gpu_of_rank)
{
    struct fabric_turns turns = fabric_turns_none(fabric);
    const bool has_peers = writers != NULL && scenario->checkpoint.target == CHECKPOINT_PEER;
    if (!has_peers && is_regular(fabric, scenario, layout, gpu_of_rank)) {
        add_outer(arena, fabric, layout, &turns);
        add_inner(fabric, layout, &turns);
        const struct odd_ranks odd = odd_ranks_of(arena, scenario, layout->mesh, writers);
        for (uint32_t i = 0; i < TURN_LEVELS && odd.count > 0; i++) {
            turns.at[i].kinds = kinds_of(arena, &odd, &turns.at[i]);
        }
    }
    return turns;
}
