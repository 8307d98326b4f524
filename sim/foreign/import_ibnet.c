/* `ibnetdiscover` as a cluster: nodes, NICs and their rate, leaves, and what up-links leave of it.
 *
 *     Switch  65 "S-b1"        # "MF0;leaf1:MQM9700/U1" enhanced port 0 lid 1 lmc 0
 *     [1]     "H-0100"[1](0100)       # "n1 mlx5_0" lid 1 4xNDR
 *     [33]    "S-a1"[1]               # "MF0;spine1:MQM9700/U1" lid 9 4xNDR
 *
 * A switch with hosts is a leaf, what leaves are joined with a spine, and what is joined with
 * spines alone a core. A node is the first word of its adapters' names; nodes that have fewer ports
 * than most serve something else and are left out. Where the ports of a node lie on as many leaves
 * the fabric is rails, where they lie on one a tree; a pod is the leaves that a spine joins.
 *
 * ASSUMES: leaves are alike: the means of all are taken.
 */
#include "foreign/import.h"

#include "base/arena.h"
#include "input/doc/name_table.h"

#include <inttypes.h>
#include <string.h>

enum { PORTS_OF_NODE_MAX = 64 };
static const double GBPS = 1e9 / 8;

enum level { LEVEL_CORE, LEVEL_SPINE, LEVEL_LEAF };

struct ib_switch {
    enum level level;
    double host_rate, up_rate, spine_down_rate; /* sums of its ports, by where they lead */
};

struct ib_link {
    uint32_t from, to;
    double rate;
};

struct ib_port { /* of a NIC */
    uint32_t node, leaf;
    double rate;
};

struct ibnet {
    struct importer *importer;
    struct name_table switch_names, node_names;
    struct ib_link *links;
    uint32_t link_count;
    size_t link_capacity;
    struct ib_port *ports;
    uint32_t port_count;
    size_t port_capacity;
    uint32_t open; /* the switch whose ports are read; NAME_NONE: another device's */
    struct ib_switch *switches;
    int64_t nics;  /* of a node, as most have */
    int64_t nodes; /* that have so many */
    bool is_rail;
    bool is_bad;
};

static bool report(struct ibnet *net, const char *at, const char *message, const char *help)
{
    const struct place place = text_file_place(&net->importer->file, at);
    net->is_bad = true;
    diag_add(net->importer->diag, DIAG_INPUT, &place, "%s", message);
    diag_help(net->importer->diag, "%s", help);
    return false;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* What stands between the first two quotes at or behind `at`; empty: nothing does. */
static struct text_span quoted(struct text_span line, const char *at)
{
    const char *begin = memchr(at, '"', (size_t)(line.end - at));
    const char *end = begin != NULL ? memchr(begin + 1, '"', (size_t)(line.end - begin - 1)) : NULL;
    return end != NULL ? (struct text_span){begin + 1, end} : (struct text_span){at, at};
}

/* "4xNDR": lanes times the rate of one, bytes/s; 0: it is none. */
static double rate_of(struct text_span word)
{
    static const struct {
        const char *name;
        double gbps; /* of a lane */
    } lanes[] = {{"SDR", 2.5}, {"DDR", 5},  {"QDR", 10},  {"FDR10", 10}, {"FDR", 14},
                 {"EDR", 25},  {"HDR", 50}, {"NDR", 100}, {"XDR", 200}};
    const char *x = memchr(word.begin, 'x', text_span_length(word));
    int64_t width = 0;
    if (x == NULL || !text_span_count((struct text_span){word.begin, x}, &width) || width > 12) {
        return 0;
    }
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++) {
        if (text_span_is((struct text_span){x + 1, word.end}, lanes[i].name)) {
            return (double)width * lanes[i].gbps * GBPS;
        }
    }
    return 0;
}

/* The last word of the line is the rate. */
static double line_rate(struct text_span line)
{
    const char *begin = line.end;
    while (begin > line.begin && begin[-1] != ' ' && begin[-1] != '\t') {
        begin--;
    }
    return rate_of((struct text_span){begin, line.end});
}

static uint32_t index_of(struct name_table *names, struct arena *arena, struct text_span name)
{
    bool is_new = false;
    return name_table_add(names, text_span_copy(arena, name), &is_new);
}

/* [PORT] "S-guid"[port] # "name" lid N RATE: of the switch that is open. */
static void read_port(struct ibnet *net, struct text_span line)
{
    struct arena *arena = net->importer->arena;
    const struct text_span peer = quoted(line, line.begin);
    const char *comment = memchr(peer.end, '#', (size_t)(line.end - peer.end));
    const double rate = line_rate(line);
    if (text_span_length(peer) < 3 || comment == NULL) {
        return;
    }
    if (rate <= 0) {
        report(net, line.begin, "this port does not end with its rate",
               "like 4xNDR: ibnetdiscover of infiniband-diags writes it");
        return;
    }
    if (peer.begin[0] == 'S') {
        const uint32_t to = index_of(&net->switch_names, arena, peer);
        net->links = arena_grow(arena, net->links, &net->link_capacity, (size_t)net->link_count + 1,
                                sizeof *net->links);
        net->links[net->link_count++] = (struct ib_link){net->open, to, rate};
        return;
    }
    const struct text_span name = quoted(line, comment);
    const char *at = name.begin;
    const struct text_span node = text_word(&at, name.end);
    if (peer.begin[0] == 'H' && text_span_length(node) > 0 &&
        text_span_find(name, "Aggregation") == NULL) { /* SHARP's own node in a switch */
        net->ports = arena_grow(arena, net->ports, &net->port_capacity, (size_t)net->port_count + 1,
                                sizeof *net->ports);
        net->ports[net->port_count++] =
            (struct ib_port){index_of(&net->node_names, arena, node), net->open, rate};
    }
}

static void read_all(struct ibnet *net)
{
    net->open = NAME_NONE;
    for (const char *next = net->importer->file.text; next != NULL && !net->is_bad;) {
        const struct text_span line = text_bare(text_line(next, &next));
        const char *at = line.begin;
        const struct text_span word = text_word(&at, line.end);
        if (text_span_is(word, "Switch")) {
            const struct text_span name = quoted(line, at);
            net->open = text_span_length(name) > 0
                            ? index_of(&net->switch_names, net->importer->arena, name)
                            : NAME_NONE;
        } else if (text_span_length(word) > 0 && word.begin[0] != '[' && word.begin[0] != '#') {
            net->open = NAME_NONE; /* Ca, Rt, or the ids of the next device */
        } else if (net->open != NAME_NONE && text_span_length(word) > 0 && word.begin[0] == '[') {
            read_port(net, line);
        }
    }
}

/* ---- facts ------------------------------------------------------------------------------ */

/* How many ports most nodes have, and how many nodes. */
static void count_nodes(struct ibnet *net)
{
    int64_t having[PORTS_OF_NODE_MAX + 1] = {0};
    int64_t *own = arena_array(net->importer->arena, net->node_names.count, sizeof *own);
    for (uint32_t i = 0; i < net->port_count; i++) {
        own[net->ports[i].node]++;
    }
    for (uint32_t i = 0; i < net->node_names.count; i++) {
        having[own[i] < PORTS_OF_NODE_MAX ? own[i] : PORTS_OF_NODE_MAX]++;
    }
    for (int64_t ports = 1; ports <= PORTS_OF_NODE_MAX; ports++) {
        if (having[ports] >= net->nodes && having[ports] > 0) {
            net->nodes = having[ports];
            net->nics = ports;
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < net->port_count; i++) {
        if (own[net->ports[i].node] == net->nics) {
            net->ports[kept++] = net->ports[i];
        }
    }
    net->port_count = kept;
}

static void find_levels(struct ibnet *net)
{
    net->switches =
        arena_array(net->importer->arena, net->switch_names.count, sizeof *net->switches);
    for (uint32_t i = 0; i < net->port_count; i++) {
        struct ib_switch *leaf = &net->switches[net->ports[i].leaf];
        leaf->level = LEVEL_LEAF;
        leaf->host_rate += net->ports[i].rate;
    }
    for (uint32_t i = 0; i < net->link_count; i++) {
        const struct ib_link *link = &net->links[i];
        if (net->switches[link->from].level == LEVEL_LEAF &&
            net->switches[link->to].level != LEVEL_LEAF) {
            net->switches[link->to].level = LEVEL_SPINE;
        }
    }
    for (uint32_t i = 0; i < net->link_count; i++) {
        const struct ib_link *link = &net->links[i];
        struct ib_switch *from = &net->switches[link->from];
        const enum level to = net->switches[link->to].level;
        from->up_rate += to < from->level ? link->rate : 0;
        from->spine_down_rate += to > from->level ? link->rate : 0;
    }
}

/* Whether the NICs of node `number` lie on as many leaves; of one NIC: no. */
static bool has_leaf_each(const struct ibnet *net, uint32_t number)
{
    uint32_t seen[PORTS_OF_NODE_MAX];
    uint32_t count = 0;
    int64_t ports = 0;
    for (uint32_t i = 0; i < net->port_count && ports < PORTS_OF_NODE_MAX; i++) {
        if (net->ports[i].node != number) {
            continue;
        }
        uint32_t k = 0;
        while (k < count && seen[k] != net->ports[i].leaf) {
            k++;
        }
        seen[k] = net->ports[i].leaf;
        count += k == count;
        ports++;
    }
    return ports > 1 && count == ports;
}

/* Leaves that spine `number` joins. */
static uint32_t count_leaves_of(const struct ibnet *net, uint32_t number)
{
    bool *is_joined = arena_array(net->importer->arena, net->switch_names.count, sizeof *is_joined);
    uint32_t count = 0;
    for (uint32_t i = 0; i < net->link_count; i++) {
        const struct ib_link *link = &net->links[i];
        const uint32_t other = link->from == number ? link->to
                               : link->to == number ? link->from
                                                    : number;
        count += net->switches[other].level == LEVEL_LEAF && !is_joined[other];
        is_joined[other] = true;
    }
    return count;
}

/* Sums of one level. */
struct level_sum {
    uint32_t count;
    double down, up;
};

static struct level_sum sum_of(const struct ibnet *net, enum level level)
{
    struct level_sum sum = {0};
    for (uint32_t i = 0; i < net->switch_names.count; i++) {
        const struct ib_switch *one = &net->switches[i];
        if (one->level == level) {
            sum.count++;
            sum.down += level == LEVEL_LEAF ? one->host_rate : one->spine_down_rate;
            sum.up += one->up_rate;
        }
    }
    return sum;
}

static double ratio_of(const struct level_sum *sum)
{
    return sum->up > 0 && sum->down > sum->up ? sum->down / sum->up : 1;
}

static void print_fabric(const void *context, FILE *out)
{
    const struct ibnet *net = context;
    const struct level_sum leaves = sum_of(net, LEVEL_LEAF);
    const struct level_sum spines = sum_of(net, LEVEL_SPINE);
    /* On rails a leaf has one port of each of its nodes. */
    const int64_t groups = net->is_rail ? leaves.count / net->nics : leaves.count;
    const int64_t whole = groups > 0 ? groups : 1;
    fprintf(out, "  kind: %s\n  nodes_per_leaf: %" PRId64 "\n  oversubscription: %.10g\n",
            net->is_rail ? "rail" : "tree", (net->nodes + whole - 1) / whole, ratio_of(&leaves));
    if (spines.up <= 0) {
        return;
    }
    for (uint32_t i = 0; i < net->switch_names.count; i++) {
        if (net->switches[i].level == LEVEL_SPINE) {
            fprintf(out, "  leaves_per_pod: %" PRIu32 "\n  pod_oversubscription: %.10g\n",
                    count_leaves_of(net, i), ratio_of(&spines));
            return;
        }
    }
}

static bool check(struct ibnet *net)
{
    const struct place whole = {.file = net->importer->file.path};
    if (net->port_count == 0) {
        diag_add(net->importer->diag, DIAG_INPUT, &whole, "no switch in this file has a host");
        diag_help(net->importer->diag, "ibnetdiscover writes a block 'Switch ...' for each, with a "
                                       "line for each port");
        return false;
    }
    for (uint32_t i = 1; i < net->port_count; i++) {
        if (net->ports[i].rate != net->ports[0].rate) {
            diag_add(
                net->importer->diag, DIAG_WARNING, &whole,
                "ports of NICs run at %.6g and %.6g Gbps: a cable or a port is slow; the first "
                "counts",
                net->ports[0].rate / GBPS, net->ports[i].rate / GBPS);
            break;
        }
    }
    return true;
}

bool import_ibnet(struct importer *importer)
{
    struct ibnet *net = arena_alloc(importer->arena, sizeof *net);
    *net = (struct ibnet){.importer = importer};
    name_table_init(&net->switch_names, importer->arena);
    name_table_init(&net->node_names, importer->arena);
    read_all(net);
    if (net->is_bad) {
        return false;
    }
    const uint32_t all = net->node_names.count;
    count_nodes(net);
    if (!check(net)) {
        return false;
    }
    find_levels(net);
    net->is_rail = has_leaf_each(net, net->ports[0].node);
    struct import_cluster cluster = {.nodes = net->nodes};
    if (importer->gpus_per_node == 0) {
        return import_need(importer, "--gpus-per-node N", "the fabric's file does not say it");
    }
    if (!import_choose_gpu(importer, &(struct device_clues){.cpu = PLATFORM_X86}, &cluster)) {
        return false;
    }
    if ((int64_t)all > net->nodes) {
        import_comment(importer, &cluster,
                       arena_printf(importer->arena,
                                    "%" PRId64 " hosts with another number of ports are left out.",
                                    (int64_t)all - net->nodes));
    }
    cluster.gpus_per_node = importer->gpus_per_node;
    cluster.nics = net->nics;
    cluster.nic_bytes_per_s = net->ports[0].rate;
    cluster.nic_source = "ports of the fabric";
    cluster.print_fabric = print_fabric;
    cluster.fabric_context = net;
    cluster.fabric_source = "switches and links of the fabric";
    return import_cluster_print(importer, &cluster);
}
