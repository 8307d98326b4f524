/* Two steps: a plan counts ports, links and switches of a fabric for a pair of switches, and the
 * cheapest plan is written down line by line. Counts are integers; a port that is split counts as
 * a whole one until its last part is taken.
 */
#include "input/network/network_bill.h"

#include "base/arena.h"
#include "base/check.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ROUNDING 1e-9

static int64_t divide_up(int64_t a, int64_t b)
{
    sim_assert(b > 0);
    return (a + b - 1) / b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t whole_up(double value)
{
    return (int64_t)ceil(value - ROUNDING * fabs(value));
}

/* ---- switches ----------------------------------------------------------------------- */

/* Links between two ends: one of a rate, or several of the fastest port that both have. */
struct lanes {
    double bytes_per_s;
    int64_t count;
};

static struct lanes lanes_of(double bytes_per_s, double port_bytes_per_s)
{
    const double rate = fmin(bytes_per_s, port_bytes_per_s);
    return (struct lanes){rate, whole_up(bytes_per_s / rate)};
}

/* Ports of such a rate into which one is split; 0: it is slower itself. */
static int64_t parts_of_port(const struct network_part *part, double bytes_per_s)
{
    const double times = part->bytes_per_s / bytes_per_s * (1 + ROUNDING);
    return times < 1 ? 0 : least((int64_t)times, part->split);
}

static int64_t radix(const struct network_part *part, double bytes_per_s)
{
    return part->ports * parts_of_port(part, bytes_per_s);
}

/* Whether it has so many ports down and up at once. */
static bool holds(const struct network_part *part, int64_t down, double down_bytes_per_s,
                  int64_t up, double up_bytes_per_s)
{
    const int64_t each_down = parts_of_port(part, down_bytes_per_s);
    const int64_t each_up = parts_of_port(part, up_bytes_per_s);
    return (down == 0 || each_down > 0) && (up == 0 || each_up > 0) &&
           (down == 0 ? 0 : divide_up(down, each_down)) + (up == 0 ? 0 : divide_up(up, each_up)) <=
               part->ports;
}

/* ---- plans -------------------------------------------------------------------------- */

enum link_class { LINK_OF_NODES, LINK_TO_SPINE, LINK_TO_CORE, LINK_GLOBAL, LINK_CLASS_COUNT_ };
static const char *const link_names[LINK_CLASS_COUNT_] = {"node to leaf", "leaf to spine",
                                                          "spine to core", "between groups"};

struct plan {
    const struct network_part *leaf, *above; /* above: of spines and cores */
    int64_t leaves, spines, cores;
    int64_t links[LINK_CLASS_COUNT_];
    double link_bytes_per_s[LINK_CLASS_COUNT_];
    const char *lacks; /* why it cannot be built; NULL */
};

/* Of one plane; `cluster` is the order's with rates of that, NICs are ports. */
struct planner {
    struct arena *arena;
    const struct network_order *order;
    const struct cluster *cluster;
    int64_t nodes, planes;
    int64_t ports; /* of a NIC on a plane, each on a leaf of its own */
};

static bool lack(const struct planner *planner, struct plan *plan, const char *what, int64_t ports,
                 double bytes_per_s)
{
    plan->lacks = arena_printf(planner->arena, "%s of %" PRId64 " ports of %.4g Gbps", what, ports,
                               bytes_per_s * 8e-9);
    return false;
}

/* ---- leaves ------------------------------------------------------------------------- */

/* Of a leaf group. */
struct group {
    int64_t boxes;    /* switches */
    int64_t box_down; /* NICs of one, where all are alike */
    int64_t up;       /* links of one */
    int64_t links;    /* up, of all of them */
    int64_t down;     /* NICs of all of them */
};

static int64_t rails_of(const struct cluster *cluster)
{
    const bool is_rail =
        cluster->fabric_kind == FABRIC_RAIL || cluster->fabric_kind == FABRIC_RAIL_ONLY;
    return is_rail ? least(cluster->nics_per_node, cluster->gpus_per_node) : 1;
}

static struct lanes uplink_of(const struct cluster *cluster, const struct plan *plan)
{
    return lanes_of(cluster->uplink_bytes_per_s,
                    fmin(plan->leaf->bytes_per_s, plan->above->bytes_per_s));
}

/* `nodes` of them, on leaves that hold as many rails as they can, or of which each rail takes
 * several. */
static bool plan_group(const struct planner *planner, int64_t nodes, bool has_up, struct plan *plan,
                       struct group *group)
{
    const struct cluster *cluster = planner->cluster;
    const int64_t rails = rails_of(cluster);
    const struct lanes up = uplink_of(cluster, plan);
    const double nic = cluster->nic_bytes_per_s;
    const int64_t down = nodes * cluster->nics_per_node / rails;
    const int64_t links =
        has_up ? up.count * whole_up((double)down * nic /
                                     (cluster->oversubscription * cluster->uplink_bytes_per_s))
               : 0;
    const int64_t ports = planner->ports;
    *group = (struct group){.links = ports * rails * links, .down = ports * rails * down};
    int64_t held = rails; /* rails of a switch */
    while (held > 0 && !holds(plan->leaf, held * down, nic, held * links, up.bytes_per_s)) {
        held--;
    }
    if (held > 0) {
        group->boxes = ports * divide_up(rails, held);
        group->box_down = held * down;
        group->up = held * links;
        return true;
    }
    int64_t parts = 2; /* switches of a rail */
    while (parts <= down && !holds(plan->leaf, divide_up(down, parts), nic, divide_up(links, parts),
                                   up.bytes_per_s)) {
        parts++;
    }
    group->boxes = ports * rails * parts;
    group->box_down = divide_up(down, parts);
    group->up = divide_up(links, parts);
    return parts <= down || lack(planner, plan, "a leaf", down + links, nic);
}

/* ---- spines and cores --------------------------------------------------------------- */

/* Leaf groups of a cluster, all alike but the last. */
struct groups {
    struct group full, last;
    int64_t count; /* the last one, too */
};

/* Of leaves with `up` links each, or with as many as they ask for. */
static int64_t links_of(const struct groups *groups, int64_t first, int64_t count, int64_t up)
{
    const bool has_last = first + count == groups->count;
    const int64_t full = up > groups->full.up ? groups->full.boxes * up : groups->full.links;
    return (count - has_last) * full +
           (has_last ? most(groups->last.links, full * groups->last.down / groups->full.down) : 0);
}

static int64_t boxes_of(const struct groups *groups, int64_t first, int64_t count)
{
    const bool has_last = first + count == groups->count;
    return (count - has_last) * groups->full.boxes + (has_last ? groups->last.boxes : 0);
}

static bool plan_groups(const struct planner *planner, bool has_up, struct plan *plan,
                        struct groups *groups)
{
    const int64_t each = least(planner->cluster->nodes_per_leaf, planner->nodes);
    groups->count = divide_up(planner->nodes, each);
    const int64_t left = planner->nodes - (groups->count - 1) * each;
    if (!plan_group(planner, each, has_up, plan, &groups->full) ||
        !plan_group(planner, left, has_up, plan, &groups->last)) {
        return false;
    }
    plan->leaves = boxes_of(groups, 0, groups->count);
    plan->links[LINK_OF_NODES] = planner->nodes * planner->cluster->nics_per_node * planner->ports;
    plan->link_bytes_per_s[LINK_OF_NODES] = planner->cluster->nic_bytes_per_s;
    return true;
}

/* Spines above some groups, from which `share` of what comes from below goes further up: the least
 * to each of which a leaf has as many links as to the others. It may have more than it asks for,
 * where it has the ports. */
static bool plan_spines(const struct planner *planner, const struct groups *groups, int64_t first,
                        int64_t count, double share, struct plan *plan)
{
    const struct group *full = &groups->full;
    const double rate = plan->link_bytes_per_s[LINK_TO_SPINE];
    const int64_t ports = radix(plan->above, rate);
    const int64_t asked = links_of(groups, first, count, 0);
    const int64_t out = whole_up((double)asked * share);
    if (ports == 0) {
        return lack(planner, plan, "a spine", 2, rate);
    }
    for (int64_t spines = divide_up(asked + out, ports); spines <= full->box_down + full->up;
         spines++) {
        const int64_t up = divide_up(full->up, spines) * spines;
        const int64_t links = links_of(groups, first, count, up);
        if (spines * ports >= links + out &&
            holds(plan->leaf, full->box_down, planner->cluster->nic_bytes_per_s, up, rate)) {
            plan->spines += spines;
            plan->links[LINK_TO_SPINE] += links;
            plan->links[LINK_TO_CORE] += out;
            return true;
        }
    }
    const int64_t spines = most(full->up, 1);
    return lack(planner, plan, "a spine",
                most(boxes_of(groups, first, count), divide_up(asked, spines)) +
                    divide_up(out, spines),
                rate);
}

/* Pods of so many groups, whose spines are joined by cores. */
static bool plan_pods(const struct planner *planner, const struct groups *groups, int64_t each,
                      double share, struct plan *plan)
{
    const double rate = plan->link_bytes_per_s[LINK_TO_SPINE];
    for (int64_t first = 0; first < groups->count; first += each) {
        if (!plan_spines(planner, groups, first, least(each, groups->count - first), share, plan)) {
            return false;
        }
    }
    const int64_t pods = divide_up(groups->count, each);
    const int64_t ports = radix(plan->above, rate);
    plan->link_bytes_per_s[LINK_TO_CORE] = rate;
    plan->cores = divide_up(plan->links[LINK_TO_CORE], ports);
    return pods <= ports || lack(planner, plan, "a core", pods, rate);
}

/* Two levels, or three where the file says so or no spine has a port for each leaf. */
static bool plan_tree(const struct planner *planner, const struct groups *groups, struct plan *plan)
{
    const struct cluster *cluster = planner->cluster;
    const int64_t pod = cluster->leaves_per_pod;
    if (pod > 0 && groups->count > pod) {
        return plan_pods(planner, groups, pod, 1 / cluster->pod_oversubscription, plan);
    }
    const int64_t ports = radix(plan->above, plan->link_bytes_per_s[LINK_TO_SPINE]);
    if (plan_spines(planner, groups, 0, groups->count, 0, plan)) {
        return true;
    }
    if (pod > 0 || ports < 2) {
        return false;
    }
    const int64_t each = ports / 2 / groups->full.boxes;
    if (each == 0) {
        return false;
    }
    plan->lacks = NULL;
    return plan_pods(planner, groups, each, 1, plan);
}

/* Every pair of groups is joined. */
static bool plan_dragonfly(const struct planner *planner, const struct groups *groups,
                           struct plan *plan)
{
    const struct cluster *cluster = planner->cluster;
    const int64_t each = cluster->leaves_per_group;
    const int64_t count = divide_up(groups->count, each);
    const double share = count > 1 ? 1 / cluster->global_oversubscription : 0;
    for (int64_t first = 0; first < groups->count; first += each) {
        if (!plan_spines(planner, groups, first, least(each, groups->count - first), share, plan)) {
            return false;
        }
    }
    const int64_t ends = most(plan->links[LINK_TO_CORE], count * (count - 1));
    plan->links[LINK_TO_CORE] = 0;
    plan->links[LINK_GLOBAL] = divide_up(ends, 2);
    plan->link_bytes_per_s[LINK_GLOBAL] = plan->link_bytes_per_s[LINK_TO_SPINE];
    return true;
}

/* As hw/topology_tree draws it, but for rails that one switch holds. */
static bool has_spines(const struct planner *planner)
{
    const struct cluster *cluster = planner->cluster;
    return planner->nodes > cluster->nodes_per_leaf || rails_of(cluster) > 1;
}

static bool plan_levels(const struct planner *planner, struct plan *plan)
{
    struct groups groups = {.count = 0};
    const int64_t nics = planner->nodes * planner->cluster->nics_per_node;
    const bool is_one = planner->nodes <= planner->cluster->nodes_per_leaf &&
                        nics <= radix(plan->leaf, planner->cluster->nic_bytes_per_s);
    const bool has_up = has_spines(planner) && !is_one;
    if (!plan_groups(planner, has_up, plan, &groups)) {
        return false;
    }
    const bool is_several = groups.count == 1 && groups.full.boxes > planner->ports;
    if (!has_up && is_several) { /* a leaf of several switches has to be joined, too */
        if (!plan_groups(planner, true, plan, &groups)) {
            return false;
        }
    } else if (!has_up) {
        return true;
    }
    plan->link_bytes_per_s[LINK_TO_SPINE] = uplink_of(planner->cluster, plan).bytes_per_s;
    return planner->cluster->fabric_kind == FABRIC_DRAGONFLY
               ? plan_dragonfly(planner, &groups, plan)
               : plan_tree(planner, &groups, plan);
}

static bool plan_rail_only(const struct planner *planner, struct plan *plan)
{
    struct group group;
    const int64_t rails = rails_of(planner->cluster) * planner->ports;
    if (!plan_group(planner, planner->nodes, false, plan, &group)) {
        return false;
    }
    plan->leaves = group.boxes;
    plan->links[LINK_OF_NODES] = group.down;
    plan->link_bytes_per_s[LINK_OF_NODES] = planner->cluster->nic_bytes_per_s;
    return group.boxes <= rails || lack(planner, plan, "the switch of a rail", group.down / rails,
                                        planner->cluster->nic_bytes_per_s);
}

/* ---- tori and listed fabrics -------------------------------------------------------- */

static bool plan_torus(const struct planner *planner, struct plan *plan)
{
    const struct cluster *cluster = planner->cluster;
    const struct lanes lane = lanes_of(cluster->torus_link_bytes_per_s, plan->leaf->bytes_per_s);
    int64_t ends = 0; /* of a router */
    for (uint32_t d = 0; d < TORUS_DIMENSIONS_MAX; d++) {
        const int64_t along = cluster->dimensions[d];
        ends += (along > 2 ? 2 : along == 2 ? 1 : 0) * lane.count;
    }
    const int64_t nics = cluster->nics_per_node;
    int64_t held = planner->nodes; /* routers of a switch */
    held = least(held, radix(plan->leaf, cluster->nic_bytes_per_s));
    while (held > 0 && !holds(plan->leaf, held * nics, cluster->nic_bytes_per_s, held * ends,
                              lane.bytes_per_s)) {
        held--;
    }
    if (held == 0) {
        return lack(planner, plan, "a router", nics + ends, cluster->nic_bytes_per_s);
    }
    plan->leaves = divide_up(planner->nodes, held);
    plan->links[LINK_OF_NODES] = planner->nodes * nics;
    plan->link_bytes_per_s[LINK_OF_NODES] = cluster->nic_bytes_per_s;
    plan->links[LINK_GLOBAL] = planner->nodes * ends / 2;
    plan->link_bytes_per_s[LINK_GLOBAL] = lane.bytes_per_s;
    return true;
}

/* Ports that NICs take on a listed switch. */
static int64_t nics_on(const struct cluster *cluster, uint32_t number)
{
    int64_t nics = 0;
    for (uint32_t i = 0; i < cluster->port_count; i++) {
        const struct cluster_port *port = &cluster->ports[i];
        if (port->switch_number == number) {
            nics += (port->node_last - port->node_first + 1) *
                    (port->nic < 0 ? cluster->nics_per_node : 1);
        }
    }
    return nics;
}

/* Links of one rate only, as switches of a tier have. */
static int64_t links_on(const struct cluster *cluster, uint32_t number, const struct plan *plan,
                        double *bytes_per_s)
{
    int64_t links = 0;
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        const struct cluster_link *link = &cluster->links[i];
        const struct lanes lane = lanes_of(link->bytes_per_s, plan->leaf->bytes_per_s);
        if (link->from == number || link->to == number) {
            links += link->count * lane.count;
            *bytes_per_s = fmax(*bytes_per_s, lane.bytes_per_s);
        }
    }
    return links;
}

static bool plan_explicit(const struct planner *planner, struct plan *plan)
{
    const struct cluster *cluster = planner->cluster;
    for (uint32_t i = 0; i < cluster->switch_count; i++) {
        double up = 0;
        const int64_t nics = nics_on(cluster, i);
        const int64_t links = links_on(cluster, i, plan, &up);
        if (!holds(plan->leaf, nics, cluster->nic_bytes_per_s, links, up)) {
            return lack(planner, plan,
                        arena_printf(planner->arena, "switch '%s'", cluster->switches[i].name),
                        nics + links, nics > 0 ? cluster->nic_bytes_per_s : up);
        }
        plan->links[LINK_OF_NODES] += nics;
        plan->links[LINK_GLOBAL] += links;
        plan->link_bytes_per_s[LINK_GLOBAL] = fmax(plan->link_bytes_per_s[LINK_GLOBAL], up);
    }
    plan->links[LINK_GLOBAL] /= 2;
    plan->leaves = (int64_t)cluster->switch_count;
    plan->link_bytes_per_s[LINK_OF_NODES] = cluster->nic_bytes_per_s;
    return true;
}

typedef bool plan_function(const struct planner *planner, struct plan *plan);
static plan_function *const plan_of[FABRIC_KIND_COUNT_] = {
    [FABRIC_RAIL] = plan_levels, [FABRIC_RAIL_ONLY] = plan_rail_only,
    [FABRIC_TREE] = plan_levels, [FABRIC_DRAGONFLY] = plan_levels,
    [FABRIC_TORUS] = plan_torus, [FABRIC_EXPLICIT] = plan_explicit,
};

/* ---- parts -------------------------------------------------------------------------- */

static bool is_rate(double a, double b)
{
    return fabs(a - b) <= ROUNDING * b;
}

/* The cheapest that is for this network and fits; NULL: there is none. */
static const struct network_part *find_nic(const struct network_order *order, const char *kind,
                                           double bytes_per_s)
{
    const struct network_part *best = NULL;
    for (uint32_t i = 0; i < order->prices->part_count; i++) {
        const struct network_part *part = &order->prices->parts[i];
        const bool fits = part->part == PART_NIC && is_rate(part->bytes_per_s, bytes_per_s) &&
                          (kind == NULL || network_part_is_for(part, kind));
        best = fits && (best == NULL || part->usd < best->usd) ? part : best;
    }
    return best;
}

static double link_usd(const struct network_part *link)
{
    return 2 * link->usd + link->cable_usd;
}

static const struct network_part *find_link(const struct network_order *order, double bytes_per_s,
                                            double length_m)
{
    const struct network_part *best = NULL;
    for (uint32_t i = 0; i < order->prices->part_count; i++) {
        const struct network_part *part = &order->prices->parts[i];
        const bool fits = part->part == PART_LINK && is_rate(part->bytes_per_s, bytes_per_s) &&
                          part->reach_m >= length_m &&
                          network_part_is_for(part, order->cluster->nic_kind);
        best = fits && (best == NULL || link_usd(part) < link_usd(best)) ? part : best;
    }
    return best;
}

static double length_m(const struct network_order *order, uint32_t link)
{
    const struct price_list *prices = order->prices;
    static const bool is_in_rack[FABRIC_KIND_COUNT_] = {
        [FABRIC_TREE] = true, [FABRIC_DRAGONFLY] = true, [FABRIC_TORUS] = true};
    return link != LINK_OF_NODES                     ? prices->hall_m
           : is_in_rack[order->cluster->fabric_kind] ? prices->rack_m
                                                     : prices->row_m;
}

/* ---- the bill ----------------------------------------------------------------------- */

static void add_line(const struct network_order *order, const struct network_line *told,
                     struct network_bill *bill)
{
    if (told->count == 0) {
        return;
    }
    sim_assert(bill->line_count < NETWORK_LINES_MAX);
    struct network_line *line = &bill->lines[bill->line_count++];
    *line = *told;
    line->spares = line->count > 0 ? whole_up((double)line->count * order->prices->spares) : 0;
    line->usd = (double)(line->count + line->spares) * line->each_usd;
    bill->usd += line->usd;
    bill->power_w += line->power_w;
}

static void add_switches(const struct network_order *order, const char *what,
                         const struct network_part *part, int64_t count, struct network_bill *bill)
{
    const struct network_line line = {.what = what,
                                      .part = part,
                                      .count = count,
                                      .each_usd = part->usd,
                                      .power_w = (double)count * part->power_w};
    add_line(order, &line, bill);
}

static bool add_links(struct arena *arena, const struct network_order *order,
                      const struct plan *plan, uint32_t link, struct network_bill *bill)
{
    const int64_t count = plan->links[link];
    if (count == 0) {
        return true;
    }
    const double rate = plan->link_bytes_per_s[link];
    const double length = length_m(order, link);
    const struct network_part *part = find_link(order, rate, length);
    if (part == NULL) {
        const char *kind = order->cluster->nic_kind;
        bill->why =
            arena_printf(arena, "%s has no link of %.4g Gbps and %g m%s%s", order->prices->name,
                         rate * 8e-9, length, kind[0] != '\0' ? " for " : "", kind);
        bill->help = "add a part: link to the list, or say what the network costs as a share of "
                     "the GPUs: price.own.network: 20 %";
        return false;
    }
    const struct network_line ends = {.what = link_names[link],
                                      .part = part,
                                      .count = part->usd > 0 ? 2 * count : 0,
                                      .each_usd = part->usd,
                                      .power_w = 2 * (double)count * part->power_w};
    const struct network_line cables = {.what = link_names[link],
                                        .part = part,
                                        .is_cable = true,
                                        .count = count,
                                        .each_usd = part->cable_usd};
    add_line(order, &ends, bill);
    add_line(order, &cables, bill);
    return true;
}

/* One for each GPU, of what nodes are sold with; they draw what the cluster's own do. */
static bool take_off_nics(struct arena *arena, const struct network_order *order,
                          struct network_bill *bill)
{
    const double rate = order->nic_in_price_bytes_per_s;
    const struct network_part *own = rate > 0 ? find_nic(order, NULL, rate) : NULL;
    if (own != NULL) {
        const struct network_line line = {
            .what = "in the nodes' price", .part = own, .count = -bill->gpus, .each_usd = own->usd};
        add_line(order, &line, bill);
    } else if (rate > 0) {
        bill->why = arena_printf(arena, "%s has no NIC of %.4g Gbps, which the nodes' price has",
                                 order->prices->name, rate * 8e-9);
        bill->help = "add a part: nic to the list, or say price.own.nic: 400 Gbps";
    }
    return bill->why == NULL;
}

static bool write_down(struct arena *arena, const struct network_order *order,
                       const struct plan *plan, struct network_bill *bill)
{
    const struct cluster *cluster = order->cluster;
    const struct network_part *nic = find_nic(order, cluster->nic_kind, cluster->nic_bytes_per_s);
    const int64_t nics = bill->nodes * cluster->nics_per_node;
    const struct network_line line = {.what = "NIC",
                                      .part = nic,
                                      .count = nics,
                                      .each_usd = nic->usd,
                                      .power_w = (double)nics * nic->power_w};
    add_line(order, &line, bill);
    add_switches(order, "leaf", plan->leaf, plan->leaves, bill);
    add_switches(order, "spine", plan->above, plan->spines, bill);
    add_switches(order, "core", plan->above, plan->cores, bill);
    bill->leaves = plan->leaves;
    bill->spines = plan->spines;
    bill->cores = plan->cores;
    for (uint32_t link = 0; link < LINK_CLASS_COUNT_; link++) {
        if (!add_links(arena, order, plan, link, bill)) {
            return false;
        }
    }
    return take_off_nics(arena, order, bill);
}

/* Of one plane as many as of the others. */
static void multiply(int64_t planes, struct plan *plan)
{
    plan->leaves *= planes;
    plan->spines *= planes;
    plan->cores *= planes;
    for (uint32_t link = 0; link < LINK_CLASS_COUNT_; link++) {
        plan->links[link] *= planes;
    }
}

static bool try_pair(const struct planner *planner, const struct network_part *leaf,
                     const struct network_part *above, const char **lacks,
                     struct network_bill *bill)
{
    const struct network_bill empty = {.nodes = planner->nodes,
                                       .gpus = planner->nodes * planner->cluster->gpus_per_node};
    struct plan plan = {.leaf = leaf, .above = above};
    *bill = empty;
    if (!plan_of[planner->cluster->fabric_kind](planner, &plan)) {
        *lacks = plan.lacks;
        return false;
    }
    multiply(planner->planes, &plan);
    const bool is_good = write_down(planner->arena, planner->order, &plan, bill);
    bill->gpu_usd = bill->usd / (double)bill->gpus;
    return is_good;
}

/* Of all pairs of switches the one that costs least. */
static bool try_all(const struct planner *planner, struct network_bill *bill)
{
    const struct price_list *prices = planner->order->prices;
    const char *kind = planner->cluster->nic_kind;
    const char *lacks = NULL;
    bool has_one = false;
    bill->about = "cluster.fabric";
    for (uint32_t i = 0; i < prices->part_count * prices->part_count; i++) {
        const struct network_part *leaf = &prices->parts[i / prices->part_count];
        const struct network_part *above = &prices->parts[i % prices->part_count];
        const bool is_pair = leaf->part == PART_SWITCH && above->part == PART_SWITCH &&
                             network_part_is_for(leaf, kind) && network_part_is_for(above, kind);
        struct network_bill own;
        if (!is_pair || !try_pair(planner, leaf, above, &lacks, &own)) {
            bill->why = is_pair && own.why != NULL ? own.why : bill->why;
            bill->help = is_pair && own.why != NULL ? own.help : bill->help;
        } else if (!has_one || own.usd < bill->usd) {
            *bill = own;
            has_one = true;
        }
    }
    if (has_one || bill->why != NULL) {
        return has_one;
    }
    bill->why = lacks != NULL
                    ? arena_printf(planner->arena, "no switch of %s makes %s", prices->name, lacks)
                    : arena_printf(planner->arena, "%s has no switch for NICs of kind %s",
                                   prices->name, kind[0] != '\0' ? kind : "roce");
    bill->help = lacks != NULL ? "use fewer nodes_per_leaf or nodes, a third level "
                                 "(leaves_per_pod), or add a part: switch with more ports"
                               : "add a part: switch to the list, or say what the network costs as "
                                 "a share of the GPUs: price.own.network: 20 %";
    return false;
}

/* A grid and a list are as large as they are; of rails that could be more, those that are there. */
static int64_t nodes_of(const struct network_order *order)
{
    const struct cluster *cluster = order->cluster;
    const bool is_whole =
        cluster->fabric_kind == FABRIC_TORUS || cluster->fabric_kind == FABRIC_EXPLICIT;
    return most(order->nodes, is_whole ? cluster_nodes_max(cluster) : cluster->nodes_max);
}

/* What is listed is as it is listed. */
static struct planner planner_of(struct arena *arena, const struct network_order *order,
                                 struct cluster *plane)
{
    const struct cluster *cluster = order->cluster;
    const bool is_listed = cluster->fabric_kind == FABRIC_EXPLICIT;
    const bool has_leaves = !is_listed && cluster->fabric_kind != FABRIC_TORUS;
    const struct planner planner = {.arena = arena,
                                    .order = order,
                                    .cluster = plane,
                                    .nodes = nodes_of(order),
                                    .planes = is_listed ? 1 : most(1, cluster->nic_planes),
                                    .ports = has_leaves ? most(1, cluster->bonded_ports) : 1};
    const double planes = (double)planner.planes;
    *plane = *cluster;
    plane->nic_bytes_per_s /= planes * (double)planner.ports;
    plane->torus_link_bytes_per_s /= planes;
    if (is_rate(cluster->uplink_bytes_per_s, cluster->nic_bytes_per_s)) {
        plane->uplink_bytes_per_s /= planes;
    }
    return planner;
}

bool network_bill_of(struct arena *arena, const struct network_order *order,
                     struct network_bill *bill)
{
    const struct cluster *cluster = order->cluster;
    *bill = (struct network_bill){.about = "cluster.nics"};
    if (find_nic(order, cluster->nic_kind, cluster->nic_bytes_per_s) == NULL) {
        const bool has_kind = cluster->nic_kind[0] != '\0';
        bill->why = arena_printf(arena, "%s has no NIC of %.4g Gbps%s%s", order->prices->name,
                                 cluster->nic_bytes_per_s * 8e-9, has_kind ? " of kind " : "",
                                 cluster->nic_kind);
        bill->help = "add a part: nic to the list, or say what the network costs as a share of the "
                     "GPUs: price.own.network: 20 %";
        return false;
    }
    struct cluster plane;
    const struct planner planner = planner_of(arena, order, &plane);
    return try_all(&planner, bill);
}
