/* A link is found by its kind and a GPU that hangs on it, so it goes where that GPU goes. The
 * lowest GPU of a link goes to the lowest GPU of another, since all that hangs on a link moves
 * together or changes places on it.
 */
#include "hw/fabric_turn.h"

#include "base/arena.h"
#include "base/check.h"

/* ---- units -------------------------------------------------------------------------- */

static uint32_t per_node(const struct fabric *fabric)
{
    return (uint32_t)fabric->cluster->gpus_per_node;
}

/* GPUs of a domain, of a leaf group, of a pod; each at most all of the fabric, in whole units. */
static uint32_t domain_gpus(const struct fabric *fabric)
{
    return per_node(fabric) * (uint32_t)fabric->cluster->domain_nodes;
}

static uint64_t leaf_gpus(const struct fabric *fabric)
{
    return (uint64_t)per_node(fabric) * (uint64_t)fabric->cluster->nodes_per_leaf;
}

/* GPUs of a pod; 0 where all lie in one. */
static uint64_t pod_gpus(const struct fabric *fabric)
{
    return leaf_gpus(fabric) * (uint64_t)fabric->cluster->leaves_per_pod;
}

static bool is_rail(const struct fabric *fabric)
{
    return fabric->cluster->fabric_kind == FABRIC_RAIL ||
           fabric->cluster->fabric_kind == FABRIC_RAIL_ONLY;
}

static bool has_levels(const struct fabric *fabric)
{
    return (is_rail(fabric) || fabric->cluster->fabric_kind == FABRIC_TREE) &&
           fabric->cluster->routing == ROUTING_ADAPTIVE && fabric->lanes_in == 1 &&
           fabric->cluster->nodes_per_leaf > 0 && fabric->gpus % per_node(fabric) == 0;
}

static uint32_t sharing(const struct fabric *fabric)
{
    return per_node(fabric) / fabric->ports_per_node;
}

/* ---- which turns there are ------------------------------------------------------------ */

struct fabric_turns fabric_turns_none(const struct fabric *fabric)
{
    struct fabric_turns turns = {.fabric = fabric};
    for (uint32_t level = 0; level < TURN_LEVELS; level++) {
        turns.at[level] = (struct fabric_turn){1, 1, NULL};
    }
    return turns;
}

static uint64_t common_multiple(uint64_t a, uint64_t b)
{
    uint64_t multiple = a;
    while (multiple % b != 0) { /* at most b rounds */
        multiple += a;
    }
    return multiple;
}

/* Units of which each block is whole, and which change places under the same switches. */
static uint64_t outer_unit(const struct fabric *fabric, uint32_t around)
{
    const uint64_t leaf = leaf_gpus(fabric);
    const uint64_t pod = pod_gpus(fabric);
    const uint32_t domain = domain_gpus(fabric);
    if (leaf % around == 0 || fabric->gpus <= leaf) {
        return domain;
    }
    if (pod == 0 || pod % around == 0 || fabric->gpus <= pod) {
        return common_multiple(leaf, domain);
    }
    return common_multiple(pod, domain);
}

uint32_t fabric_turns_outer(const struct fabric *fabric, uint32_t around, uint32_t step)
{
    sim_assert(fabric->gpus % around == 0 && around % step == 0);
    if (!has_levels(fabric)) {
        return around;
    }
    const uint64_t unit = outer_unit(fabric, around);
    if (around % unit != 0) {
        return around;
    }
    const uint64_t by = common_multiple(unit, step);
    return around % by == 0 ? (uint32_t)by : around;
}

/* The least common multiple of both of which blocks and switches are whole; 0 if none. */
static uint64_t unit_below(uint64_t unit, uint32_t step, uint32_t around, uint64_t apart)
{
    const uint64_t by = common_multiple(unit, step);
    return around % by == 0 && apart % by == 0 ? by : 0;
}

struct fabric_cut fabric_turns_parted(const struct fabric *fabric, uint32_t around, uint32_t step)
{
    sim_assert(fabric->gpus % around == 0 && around % step == 0);
    const struct fabric_cut none = {around, 0};
    if (!has_levels(fabric)) {
        return none;
    }
    const uint64_t leaf = leaf_gpus(fabric);
    const uint64_t pod = pod_gpus(fabric);
    const uint32_t domain = domain_gpus(fabric);
    if (pod > 0 && fabric->gpus > pod) {
        const uint64_t by = unit_below(common_multiple(leaf, domain), step, around, pod);
        if (by > 0) {
            return (struct fabric_cut){(uint32_t)by, pod};
        }
    }
    if (fabric->gpus > leaf) {
        const uint64_t by = unit_below(domain, step, around, leaf);
        if (by > 0) {
            return (struct fabric_cut){(uint32_t)by, leaf};
        }
    }
    return none;
}

const struct fabric_kinds *fabric_kinds_parted(struct arena *arena, const struct fabric *fabric,
                                               uint32_t around, struct fabric_cut cut)
{
    const uint32_t units = around / cut.by;
    uint32_t *first = arena_array(arena, units, sizeof *first);
    bool *is_first = arena_array(arena, units, sizeof *is_first);
    is_first[0] = true;
    for (uint64_t gpu = cut.apart; gpu < fabric->gpus; gpu += cut.apart) {
        is_first[gpu % around / cut.by] = true;
    }
    for (uint32_t unit = 0; unit < units; unit++) {
        first[unit] = is_first[unit] ? unit : first[unit - 1];
    }
    return fabric_kinds_of(arena, first, units);
}

uint32_t fabric_turns_inner(const struct fabric *fabric, uint32_t around)
{
    sim_assert(per_node(fabric) % around == 0);
    const uint32_t by = sharing(fabric);
    const bool is_whole = per_node(fabric) % fabric->ports_per_node == 0;
    return has_levels(fabric) && is_whole && around % by == 0 ? by : around;
}

/* ---- units of a level ------------------------------------------------------------------- */

const struct fabric_kinds *fabric_kinds_of(struct arena *arena, const uint32_t *first,
                                           uint32_t units)
{
    struct fabric_kinds *kinds = arena_alloc(arena, sizeof *kinds);
    uint32_t *firsts = arena_array(arena, units, sizeof *firsts);
    uint32_t *kind = arena_array(arena, units, sizeof *kind);
    uint32_t *sizes = arena_array(arena, units, sizeof *sizes);
    for (uint32_t unit = 0; unit < units; unit++) {
        sim_assert(first[unit] <= unit && first[first[unit]] == first[unit]);
        if (first[unit] == unit) {
            kind[unit] = kinds->count;
            firsts[kinds->count++] = unit;
        }
        kind[unit] = kind[first[unit]];
        sizes[kind[unit]]++;
    }
    kinds->firsts = firsts;
    kinds->kind = kind;
    kinds->sizes = sizes;
    return kinds;
}

static bool is_turned(const struct fabric_turn *turn)
{
    return turn->by < turn->around;
}

static uint32_t unit_of(const struct fabric_turn *turn, uint32_t gpu)
{
    return gpu % turn->around / turn->by;
}

static uint32_t kind_count(const struct fabric_turn *turn)
{
    return turn->kinds != NULL ? turn->kinds->count : 1;
}

static uint32_t kind_of(const struct fabric_turn *turn, uint32_t unit)
{
    return turn->kinds != NULL ? turn->kinds->kind[unit] : 0;
}

static uint32_t first_of(const struct fabric_turn *turn, uint32_t kind)
{
    return turn->kinds != NULL ? turn->kinds->firsts[kind] : 0;
}

static uint32_t size_of(const struct fabric_turn *turn, uint32_t kind)
{
    return turn->kinds != NULL ? turn->kinds->sizes[kind] : turn->around / turn->by;
}

/* The i-th unit of a kind: a scan, since few are asked for. */
static uint32_t member_of(const struct fabric_turn *turn, uint32_t kind, uint32_t i)
{
    if (turn->kinds == NULL) {
        return i;
    }
    uint32_t unit = turn->kinds->firsts[kind];
    for (uint32_t left = i; left > 0; left--) {
        do {
            unit++;
        } while (turn->kinds->kind[unit] != kind);
    }
    return unit;
}

static bool is_in(const struct fabric_turns *turns, uint32_t set, uint32_t level)
{
    return (set >> level & 1U) != 0 && is_turned(&turns->at[level]);
}

uint32_t fabric_turns_further(const struct fabric_turns *turns)
{
    const struct fabric *fabric = turns->fabric;
    uint32_t level = 0;
    while (level < TURN_LEVEL_INNER && !is_turned(&turns->at[level])) {
        level++;
    }
    if (level == TURN_LEVEL_INNER || !has_levels(fabric)) {
        return fabric->gpus;
    }
    const uint64_t unit = outer_unit(fabric, fabric->gpus);
    const uint64_t by = common_multiple(unit, turns->at[level].around);
    return by < fabric->gpus ? (uint32_t)by : fabric->gpus;
}

uint32_t fabric_turns_size(const struct fabric_turns *turns, uint32_t set)
{
    uint32_t size = 1;
    for (uint32_t level = 0; level < TURN_LEVELS; level++) {
        size *= is_in(turns, set, level) ? turns->at[level].around / turns->at[level].by : 1;
    }
    return size;
}

bool fabric_turns_any(const struct fabric_turns *turns)
{
    return fabric_turns_size(turns, TURN_ALL) > 1;
}

/* ---- GPUs ------------------------------------------------------------------------------ */

uint32_t fabric_turns_between(const struct fabric_turns *turns, uint32_t a, uint32_t b)
{
    uint32_t set = 0;
    for (uint32_t level = 0; level < TURN_LEVELS; level++) {
        const struct fabric_turn *turn = &turns->at[level];
        set |= is_turned(turn) && unit_of(turn, a) != unit_of(turn, b) ? 1U << level : 0;
    }
    return set;
}

uint32_t fabric_turns_orbit(const struct fabric_turns *turns, uint32_t gpu, uint32_t set)
{
    uint32_t size = 1;
    for (uint32_t level = 0; level < TURN_LEVELS; level++) {
        const struct fabric_turn *turn = &turns->at[level];
        size *= is_in(turns, set, level) ? size_of(turn, kind_of(turn, unit_of(turn, gpu))) : 1;
    }
    return size;
}

uint32_t fabric_turns_gpu(const struct fabric_turns *turns, uint32_t gpu, uint32_t set)
{
    for (uint32_t level = 0; level < TURN_LEVELS; level++) {
        if (is_in(turns, set, level)) {
            const struct fabric_turn *turn = &turns->at[level];
            const uint32_t unit = unit_of(turn, gpu);
            gpu -= (unit - first_of(turn, kind_of(turn, unit))) * turn->by;
        }
    }
    return gpu;
}

/* What lies below a unit begins anew with it, and first units of each level begin with 0. */
uint32_t fabric_turns_next(const struct fabric_turns *turns, uint32_t gpu)
{
    gpu++;
    for (uint32_t level = TURN_LEVELS; level-- > 0;) {
        const struct fabric_turn *turn = &turns->at[level];
        const uint32_t units = turn->around / turn->by;
        uint32_t unit = unit_of(turn, gpu);
        const uint32_t place = gpu % turn->by;
        const uint32_t before = unit;
        while (unit < units && first_of(turn, kind_of(turn, unit)) != unit) {
            unit++;
        }
        gpu += unit > before ? (unit - before) * turn->by - place : 0;
    }
    return gpu;
}

uint32_t fabric_turns_number(const struct fabric_turns *turns, uint32_t gpu)
{
    uint32_t number = gpu;
    for (uint32_t level = 0; level < TURN_LEVELS; level++) {
        const struct fabric_turn *turn = &turns->at[level];
        if (is_turned(turn)) {
            const uint32_t unit = unit_of(turn, number);
            const uint32_t kind = kind_of(turn, unit);
            debug_assert(first_of(turn, kind) == unit);
            number =
                (number / turn->around * kind_count(turn) + kind) * turn->by + number % turn->by;
        }
    }
    return number;
}

/* ---- links ----------------------------------------------------------------------------- */

static uint32_t port_of(const struct fabric *fabric, uint32_t gpu)
{
    return fabric_node_of(fabric, gpu) * fabric->ports_per_node + fabric_port_of(fabric, gpu);
}

/* The link up from a switch that has one alone. */
static uint32_t up_from(const struct topology *topology, uint32_t at)
{
    const uint32_t link = topology->out_links[topology->out_first[at + 1] - 1];
    sim_assert(topology->switches[topology->links[link].to].level > topology->switches[at].level);
    return link;
}

/* Between switches: above the GPU's leaf, or above that leaf's spine. */
static uint32_t switch_link_of(const struct fabric *fabric, enum link_kind kind, uint32_t gpu)
{
    const struct topology *topology = &fabric->topology;
    uint32_t link = up_from(topology, topology->port_switch[port_of(fabric, gpu)]);
    if (kind == LINK_POD_UP || kind == LINK_POD_DOWN) {
        link = up_from(topology, topology->links[link].to);
    }
    const bool is_down = kind == LINK_LEAF_DOWN || kind == LINK_POD_DOWN;
    return fabric->first[LINK_SWITCH_FIRST_] + (is_down ? link ^ 1u : link);
}

static uint32_t link_of(const struct fabric *fabric, enum link_kind kind, uint32_t gpu)
{
    switch (kind) {
    case LINK_SCALE_UP_OUT:
    case LINK_SCALE_UP_IN:
    case LINK_HOST:
        return fabric->first[kind] + gpu;
    case LINK_NIC_OUT:
    case LINK_NIC_IN:
        return fabric->first[kind] + port_of(fabric, gpu);
    case LINK_STORAGE_NODE:
    case LINK_LOCAL:
    case LINK_LOCAL_READ:
        return fabric->first[kind] + fabric_node_of(fabric, gpu);
    case LINK_STORAGE:
    case LINK_STORAGE_READ:
    case LINK_STORAGE_BOTH:
        return fabric->first[kind];
    default:
        return switch_link_of(fabric, kind, gpu);
    }
}

/* The lowest GPU below a leaf or spine. Leaves are made group by group (hw/topology_tree). */
static uint32_t gpu_below(const struct fabric *fabric, uint32_t number)
{
    const struct topology_switch *at = &fabric->topology.switches[number];
    if (at->level == 2) {
        return (uint32_t)(at->pod * pod_gpus(fabric));
    }
    const uint32_t leaves = is_rail(fabric) ? fabric->ports_per_node : 1;
    sim_assert(at->level == 1);
    return (uint32_t)(at->number / leaves * leaf_gpus(fabric)) +
           at->number % leaves * sharing(fabric);
}

/* The lowest GPU that hangs on a link. */
static uint32_t gpu_on(const struct fabric *fabric, enum link_kind kind, uint32_t link)
{
    const uint32_t number =
        link - fabric->first[kind < LINK_SWITCH_FIRST_ ? kind : LINK_SWITCH_FIRST_];
    switch (kind) {
    case LINK_SCALE_UP_OUT:
    case LINK_SCALE_UP_IN:
    case LINK_HOST:
        return number;
    case LINK_NIC_OUT:
    case LINK_NIC_IN:
        return number / fabric->ports_per_node * per_node(fabric) +
               number % fabric->ports_per_node * sharing(fabric);
    case LINK_STORAGE_NODE:
    case LINK_LOCAL:
    case LINK_LOCAL_READ:
        return number * per_node(fabric);
    case LINK_STORAGE:
    case LINK_STORAGE_READ:
    case LINK_STORAGE_BOTH:
        return 0;
    case LINK_LEAF_UP:
    case LINK_POD_UP:
        return gpu_below(fabric, fabric->topology.links[number].from);
    default:
        return gpu_below(fabric, fabric->topology.links[number].to);
    }
}

/* Levels outside nodes whose units consist of whole ones of so many GPUs. */
static uint32_t levels_of(const struct fabric_turns *turns, uint64_t gpus)
{
    uint32_t set = 0;
    for (uint32_t level = 0; level < TURN_LEVEL_INNER; level++) {
        set |= turns->at[level].by % gpus == 0 ? 1U << level : 0;
    }
    return set;
}

/* Those of the levels that move a link, and not only what hangs on it. */
static uint32_t moving(const struct fabric_turns *turns, enum link_kind kind)
{
    const struct fabric *fabric = turns->fabric;
    switch (kind) {
    case LINK_STORAGE:
    case LINK_STORAGE_READ:
    case LINK_STORAGE_BOTH:
        return 0;
    case LINK_STORAGE_NODE:
    case LINK_LOCAL:
    case LINK_LOCAL_READ:
        return TURN_OUTER | TURN_MIDDLE;
    case LINK_LEAF_UP:
    case LINK_LEAF_DOWN:
        return levels_of(turns, leaf_gpus(fabric)) | (is_rail(fabric) ? TURN_INNER : 0);
    case LINK_POD_UP:
    case LINK_POD_DOWN:
        return levels_of(turns, pod_gpus(fabric));
    default:
        return TURN_ALL;
    }
}

uint32_t fabric_turns_links(const struct fabric_turns *turns, uint32_t link, uint32_t set)
{
    if (fabric_turns_size(turns, set) == 1) {
        return 1;
    }
    const enum link_kind kind = fabric_link_kind(turns->fabric, link);
    return fabric_turns_orbit(turns, gpu_on(turns->fabric, kind, link), set & moving(turns, kind));
}

uint32_t fabric_turns_link(const struct fabric_turns *turns, uint32_t link, uint32_t set)
{
    if (fabric_turns_size(turns, set) == 1) {
        return link;
    }
    const enum link_kind kind = fabric_link_kind(turns->fabric, link);
    const uint32_t gpu = gpu_on(turns->fabric, kind, link);
    return link_of(turns->fabric, kind, fabric_turns_gpu(turns, gpu, set & moving(turns, kind)));
}

uint32_t fabric_turns_nth(const struct fabric_turns *turns, uint32_t link, uint32_t i)
{
    if (i == 0) {
        return link;
    }
    const enum link_kind kind = fabric_link_kind(turns->fabric, link);
    const uint32_t set = moving(turns, kind);
    uint32_t gpu = gpu_on(turns->fabric, kind, link);
    for (uint32_t level = TURN_LEVELS; level-- > 0;) {
        if (is_in(turns, set, level)) {
            const struct fabric_turn *turn = &turns->at[level];
            const uint32_t unit = unit_of(turn, gpu);
            const uint32_t of = kind_of(turn, unit);
            gpu += (member_of(turn, of, i % size_of(turn, of)) - unit) * turn->by;
            i /= size_of(turn, of);
        }
    }
    return link_of(turns->fabric, kind, gpu);
}

uint32_t fabric_turns_beside(const struct fabric *fabric, uint32_t link, uint32_t gpus)
{
    const enum link_kind kind = fabric_link_kind(fabric, link);
    return link_of(fabric, kind, gpu_on(fabric, kind, link) + gpus);
}

/* ---- what a transfer puts on links ------------------------------------------------------- */

/* Turns brought the sends that were traced onto the others, so what is on all links of an orbit
 * together is known, and on each is the same. */
static void gather_sends(const struct fabric_turns *turns, struct fabric *fabric, uint32_t set)
{
    const uint32_t sends = fabric_turns_size(turns, set);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < fabric->scratch_count; i++) {
        const uint32_t link = fabric->scratch_links[i];
        const uint32_t first = fabric_turns_link(turns, link, set);
        const uint64_t usage = fabric->scratch_usage[link];
        const bool is_new = first == link || fabric->scratch_usage[first] == 0;
        if (first != link) {
            fabric->scratch_usage[link] = 0;
            fabric->scratch_usage[first] += usage;
        }
        if (is_new) {
            fabric->scratch_links[kept++] = first;
        }
    }
    for (uint32_t i = 0; i < kept; i++) {
        const uint32_t link = fabric->scratch_links[i];
        const uint64_t all = fabric->scratch_usage[link] * sends;
        const uint32_t links = fabric_turns_links(turns, link, set);
        sim_assert(all % links == 0);
        fabric->scratch_usage[link] = all / links;
    }
    fabric->scratch_count = kept;
}

/* All links of an orbit were seen, with the same on each: the first one is kept. Usages are taken
 * off once all were compared. */
static void gather_links(const struct fabric_turns *turns, struct fabric *fabric, uint32_t set)
{
    const uint32_t seen = fabric->scratch_count;
    uint32_t kept = 0;
    uint64_t stands_for = 0;
    for (uint32_t i = 0; i < seen; i++) {
        const uint32_t link = fabric->scratch_links[i];
        const uint32_t first = fabric_turns_link(turns, link, set);
        sim_assert(fabric->scratch_usage[first] == fabric->scratch_usage[link]);
        if (first == link) {
            fabric->scratch_links[i] = fabric->scratch_links[kept];
            fabric->scratch_links[kept++] = link;
            stands_for += fabric_turns_links(turns, link, set);
        }
    }
    for (uint32_t i = kept; i < seen; i++) {
        fabric->scratch_usage[fabric->scratch_links[i]] = 0;
    }
    sim_assert(stands_for == seen);
    fabric->scratch_count = kept;
}

static struct fabric_turns without_kinds(const struct fabric_turns *turns)
{
    struct fabric_turns plain = *turns;
    for (uint32_t level = 0; level < TURN_LEVELS; level++) {
        plain.at[level].kinds = NULL;
    }
    return plain;
}

void fabric_turns_gather(const struct fabric_turns *turns, struct fabric *fabric, uint32_t set)
{
    const struct fabric_turns plain = without_kinds(turns);
    if (fabric_turns_size(&plain, set & ~(uint32_t)TURN_MIDDLE) > 1) {
        gather_sends(&plain, fabric, set & ~(uint32_t)TURN_MIDDLE);
    }
    if (fabric_turns_size(&plain, set & TURN_MIDDLE) > 1) {
        gather_links(&plain, fabric, set & TURN_MIDDLE);
    }
}

uint32_t fabric_turns_parts(const struct fabric_turns *turns, uint32_t link, uint32_t set)
{
    const uint32_t moved = set & moving(turns, fabric_link_kind(turns->fabric, link));
    uint32_t parts = 1;
    for (uint32_t level = 0; level < TURN_LEVELS; level++) {
        parts *= is_in(turns, moved, level) ? kind_count(&turns->at[level]) : 1;
    }
    return parts;
}

uint32_t fabric_turns_part(const struct fabric_turns *turns, uint32_t link, uint32_t set,
                           uint32_t i)
{
    if (i == 0) {
        return link;
    }
    const enum link_kind kind = fabric_link_kind(turns->fabric, link);
    const uint32_t moved = set & moving(turns, kind);
    uint32_t gpu = gpu_on(turns->fabric, kind, link);
    for (uint32_t level = TURN_LEVELS; level-- > 0;) {
        if (is_in(turns, moved, level)) {
            const struct fabric_turn *turn = &turns->at[level];
            gpu += first_of(turn, i % kind_count(turn)) * turn->by;
            i /= kind_count(turn);
        }
    }
    return link_of(turns->fabric, kind, gpu);
}
