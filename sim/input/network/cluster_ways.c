/* Does an explicit fabric hold together? Each NIC of each node hangs on one switch, each can
 * reach the others, and no route comes back to where it was.
 *
 * Searches repeat over the list of links until nothing changes: fabrics that are listed by hand are
 * small, and the reader bounds them.
 */
#include "input/network/cluster_explicit.h"

#include "base/arena.h"

#include <string.h>

/* What is worked on here. */
struct ways {
    struct arena *arena;
    struct doc_map *section;
    struct cluster *cluster;
};

static bool complain(const struct ways *ways, const struct place *place, const char *text)
{
    ways->section->is_bad = true;
    return diag_add(ways->section->diag, DIAG_INPUT, place, "%s", text);
}

static const char *name_of(const struct ways *ways, uint32_t number)
{
    return ways->cluster->switches[number].name;
}

/* ---- every NIC hangs on one switch -------------------------------------------------- */

#define NOWHERE UINT32_MAX

static int64_t attached_nodes(const struct cluster *cluster)
{
    int64_t nodes = 0;
    for (uint32_t i = 0; i < cluster->port_count; i++) {
        const int64_t last = cluster->ports[i].node_last;
        nodes = last + 1 > nodes ? last + 1 : nodes;
    }
    return nodes;
}

static bool hang(struct ways *ways, uint32_t *where, const struct cluster_port *port)
{
    const int64_t nics = ways->cluster->nics_per_node;
    const int64_t nic_first = port->nic >= 0 ? port->nic : 0;
    const int64_t nic_last = port->nic >= 0 ? port->nic : nics - 1;
    for (int64_t node = port->node_first; node <= port->node_last; node++) {
        for (int64_t nic = nic_first; nic <= nic_last; nic++) {
            uint32_t *own = &where[node * nics + nic];
            if (*own != NOWHERE) {
                return complain(
                    ways, &ways->cluster->switches[port->switch_number].place,
                    arena_printf(ways->arena,
                                 "NIC %lld of node %lld hangs on '%.60s' and on '%.60s'",
                                 (long long)nic, (long long)node, name_of(ways, *own),
                                 name_of(ways, port->switch_number)));
            }
            *own = port->switch_number;
        }
    }
    return true;
}

/* `where` a NIC hangs: [node * nics + nic]; NULL when it is not so of all. */
static const uint32_t *hang_all(struct ways *ways, int64_t nodes)
{
    const struct cluster *cluster = ways->cluster;
    const int64_t nics = cluster->nics_per_node;
    const int64_t wide = nics > cluster->gpus_per_node ? nics / cluster->gpus_per_node : 1;
    const size_t count = (size_t)(nodes * nics);
    uint32_t *where = arena_array(ways->arena, count, sizeof *where);
    memset(where, 0xff, count * sizeof *where);
    for (uint32_t i = 0; i < cluster->port_count; i++) {
        if (!hang(ways, where, &cluster->ports[i])) {
            return NULL;
        }
    }
    for (int64_t i = 0; i < nodes * nics; i++) {
        const int64_t nic = i % nics;
        const bool is_loose = where[i] == NOWHERE;
        if (is_loose || where[i] != where[i - nic % wide]) {
            complain(
                ways, &cluster->fabric_place,
                arena_printf(ways->arena, "NIC %lld of node %lld hangs on %s", (long long)nic,
                             (long long)(i / nics),
                             is_loose ? "no switch" : "another switch than its GPU's other NICs"));
            return NULL;
        }
    }
    return where;
}

/* ---- ways --------------------------------------------------------------------------- */

/* Hops of each switch to `to`; NOWHERE where there is no way. Repeats over the links until
 * nothing changes, which for these sizes is as good as a queue. */
static bool relax(const struct cluster_link *link, uint32_t *hops)
{
    const uint32_t a = hops[link->from];
    const uint32_t b = hops[link->to];
    if (a != NOWHERE && a + 1 < b) {
        hops[link->to] = a + 1;
        return true;
    }
    if (b != NOWHERE && b + 1 < a) {
        hops[link->from] = b + 1;
        return true;
    }
    return false;
}

static void measure(const struct cluster *cluster, uint32_t to, uint32_t *hops)
{
    memset(hops, 0xff, cluster->switch_count * sizeof *hops);
    hops[to] = 0;
    for (bool is_changing = true; is_changing;) {
        is_changing = false;
        for (uint32_t i = 0; i < cluster->link_count; i++) {
            is_changing = relax(&cluster->links[i], hops) || is_changing;
        }
        for (uint32_t i = cluster->link_count; i > 0; i--) { /* chains that are listed backwards */
            is_changing = relax(&cluster->links[i - 1], hops) || is_changing;
        }
    }
}

/* Links go both ways, so all reach all when all reach node 0's; with PXN, NIC by NIC. */
static bool check_reach(struct ways *ways, const uint32_t *where, int64_t nodes)
{
    const struct cluster *cluster = ways->cluster;
    const int64_t nics = cluster->nics_per_node;
    uint32_t *hops = arena_array(ways->arena, cluster->switch_count, sizeof *hops);
    uint32_t centre = NOWHERE;
    for (int64_t nic = 0; nic < nics; nic++) {
        const int64_t like = cluster_uses_pxn(cluster) ? nic : 0;
        if (where[like] != centre) {
            centre = where[like];
            measure(cluster, centre, hops);
        }
        for (int64_t node = 0; node < nodes; node++) {
            const uint32_t own = where[node * nics + nic];
            if (hops[own] == NOWHERE) {
                return complain(
                    ways, &cluster->switches[own].place,
                    arena_printf(ways->arena,
                                 "NIC %lld of node %lld on switch '%.60s' cannot reach NIC %lld of "
                                 "node 0 on switch '%.60s'",
                                 (long long)nic, (long long)node, name_of(ways, own),
                                 (long long)like, name_of(ways, centre)));
            }
        }
    }
    return true;
}

/* The switch that `at` must send by to `to`, or NOWHERE: any nearer one. */
static uint32_t forced_via(const struct cluster *cluster, uint32_t at, uint32_t to)
{
    for (uint32_t i = 0; i < cluster->route_count; i++) {
        if (cluster->routes[i].at == at && cluster->routes[i].to == to) {
            return cluster->routes[i].via;
        }
    }
    return NOWHERE;
}

/* Marks as good, again and again, each switch whose next hops to `to` are all good; what is
 * left then comes back to itself. */
static void find_good(const struct cluster *cluster, uint32_t to, const uint32_t *hops, bool *good,
                      bool *waits)
{
    memset(good, 0, cluster->switch_count * sizeof *good);
    good[to] = true;
    for (bool is_changing = true; is_changing;) {
        is_changing = false;
        memset(waits, 0, cluster->switch_count * sizeof *waits);
        for (uint32_t i = 0; i < 2 * cluster->link_count; i++) {
            const struct cluster_link *link = &cluster->links[i / 2];
            const uint32_t at = i % 2 == 0 ? link->from : link->to;
            const uint32_t next = i % 2 == 0 ? link->to : link->from;
            const bool is_nearer = hops[next] != NOWHERE && hops[next] + 1 == hops[at];
            waits[at] = waits[at] || (is_nearer && !good[next]);
        }
        for (uint32_t i = 0; i < cluster->route_count; i++) {
            if (cluster->routes[i].to == to) {
                waits[cluster->routes[i].at] = !good[cluster->routes[i].via];
            }
        }
        for (uint32_t at = 0; at < cluster->switch_count; at++) {
            if (!good[at] && !waits[at] && hops[at] != NOWHERE) {
                good[at] = true;
                is_changing = true;
            }
        }
    }
}

/* The switches that the loop passes, from the one of the route on. */
static const char *loop_text(const struct ways *ways, const struct cluster_route *route,
                             const uint32_t *hops, const bool *good)
{
    const struct cluster *cluster = ways->cluster;
    const char *text = name_of(ways, route->at);
    uint32_t at = route->at;
    for (uint32_t i = 0; i < cluster->switch_count; i++) {
        uint32_t next = forced_via(cluster, at, route->to);
        for (uint32_t k = 0; next == NOWHERE && k < 2 * cluster->link_count; k++) {
            const struct cluster_link *link = &cluster->links[k / 2];
            const uint32_t other = k % 2 == 0 ? link->to : link->from;
            if ((k % 2 == 0 ? link->from : link->to) == at && hops[other] + 1 == hops[at] &&
                !good[other]) {
                next = other;
            }
        }
        if (i < 8) {
            text = arena_printf(ways->arena, "%s, %.60s", text, name_of(ways, next));
        }
        if (next == route->at) {
            break;
        }
        at = next;
    }
    return text;
}

/* A loop takes a route that does not lead nearer. */
static bool has_detour(const struct cluster *cluster, uint32_t to, const uint32_t *hops)
{
    for (uint32_t i = 0; i < cluster->route_count; i++) {
        const struct cluster_route *route = &cluster->routes[i];
        if (route->to == to && hops[route->via] >= hops[route->at]) {
            return true;
        }
    }
    return false;
}

static void check_loops(struct ways *ways)
{
    const struct cluster *cluster = ways->cluster;
    const size_t switches = cluster->switch_count;
    uint32_t *hops = arena_array(ways->arena, switches, sizeof *hops);
    bool *good = arena_array(ways->arena, switches, sizeof *good);
    bool *waits = arena_array(ways->arena, switches, sizeof *waits);
    bool *seen = arena_array(ways->arena, switches, sizeof *seen);
    for (uint32_t i = 0; i < cluster->route_count; i++) {
        const struct cluster_route *route = &cluster->routes[i];
        if (seen[route->to]) {
            continue;
        }
        seen[route->to] = true;
        measure(cluster, route->to, hops);
        if (!has_detour(cluster, route->to, hops)) {
            continue;
        }
        find_good(cluster, route->to, hops, good, waits);
        for (uint32_t k = i; k < cluster->route_count; k++) {
            const struct cluster_route *other = &cluster->routes[k];
            if (other->to == route->to && hops[other->at] != NOWHERE && !good[other->at]) {
                complain(ways, &other->place,
                         arena_printf(ways->arena, "the route to '%.60s' goes in a loop: %s",
                                      name_of(ways, other->to),
                                      loop_text(ways, other, hops, good)));
                return;
            }
        }
    }
}

/* ---- all of it ---------------------------------------------------------------------- */

void cluster_ways_check(struct arena *arena, struct doc_map *section, struct cluster *cluster)
{
    struct ways ways = {.arena = arena, .section = section, .cluster = cluster};
    const int64_t attached = attached_nodes(cluster);
    if (attached == 0) {
        complain(&ways, &cluster->fabric_place, "no node hangs on any switch");
        diag_help(section->diag, "write it like {name: leaf0, nodes: 0-15}");
        return;
    }
    if (cluster->nodes_max > attached) {
        complain(&ways, &cluster->fabric_place,
                 arena_printf(arena, "nodes is %lld, but only %lld hang on switches",
                              (long long)cluster->nodes_max, (long long)attached));
        return;
    }
    cluster->nodes_max = cluster->nodes_max > 0 ? cluster->nodes_max : attached;
    const uint32_t *where = hang_all(&ways, attached);
    if (where != NULL && check_reach(&ways, where, attached)) {
        check_loops(&ways);
    }
}
