/* What is shown is chosen from below: nodes on the same ports are one bundle, of bundles the first
 * and the last, of their leaves some, and so on up. Then each level is spread over the width; then
 * the links between shown things are drawn, once for each pair.
 */
#include "report/picture/plot_topology.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/check.h"
#include "report/plot/plot_kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEVELS = 4, /* nodes, leaves, spines, cores */
    BUNDLES_SHOWN = 6,
    LEAVES_SHOWN = 10,
    SWITCHES_SHOWN = 5, /* of a level above */
    PLANES_SHOWN = 2,   /* of a torus */
    SIDE_SHOWN = 8,     /* of a plane */
    WIDTH = 960,
    LABEL_SIZE = 11,
    TIERS_WIDTH = 250, /* right of the plot: what is said of each tier */
    LEVEL_HEIGHT = 140,
    TORUS_HEIGHT = 400,
    NO_SLOT = -1,
};
#define BOX_HEIGHT 0.15   /* half of it, in levels */
#define SPEED_HEIGHT 0.06 /* half of what is blank below a bandwidth, in levels */
#define USE_WIDTH 11.0    /* of lines, of a tier that is in use all the time */
#define LINE_WIDTH 1.2    /* of one that is not used, or where no run is known */
#define WHOLE 1e-3        /* so far from a whole number of NICs is one */
#define ALIKE 1e-6        /* ratios that differ by less are the same */

enum row_kind { ROW_NODE, ROW_SWITCH, ROW_LINK, ROW_GAP, ROW_SPEED };

struct row {
    enum row_kind kind;
    double x, y, dx, dy; /* of a box: half its sides */
    uint32_t colour;
    uint32_t tier; /* of a link: its kind */
    const char *label;
};

static const uint32_t kind_colours[LINK_KIND_COUNT_] = {
    [LINK_NIC_OUT] = 0x777777, [LINK_LEAF_UP] = 0x0072b2,  [LINK_LEAF_DOWN] = 0x0072b2,
    [LINK_POD_UP] = 0xd55e00,  [LINK_POD_DOWN] = 0xd55e00, [LINK_GLOBAL] = 0x009e73,
    [LINK_TORUS] = 0x0072b2,   [LINK_TRUNK] = 0x0072b2,
};
#define NODE_COLOUR 0xe8e8e8
#define SWITCH_COLOUR 0xcfe3f2

/* Nodes one after the other whose ports hang on the same switches. */
struct bundle {
    uint32_t first, count;
    double x; /* NO_SLOT: not shown */
};

/* All links of a kind, one way. */
struct tier {
    uint64_t count; /* NICs, and links of the topology */
    double bytes_per_s;
    double y;          /* where its words stand; ABSENT: it is not drawn */
    bool is_named;     /* one of its links has a label */
    double mean, most; /* its use in a step; ABSENT: no run is known */
};

/* One picture in the making. */
struct drawing {
    struct arena *arena;
    const struct fabric *fabric;
    struct row *rows;
    size_t row_count, row_capacity;
    struct bundle *bundles;
    uint32_t bundle_count;
    double *switch_x;     /* NO_SLOT: not shown */
    double slots[LEVELS]; /* places on each level, gaps included */
    double width;
    bool has_use;
    struct tier tiers[LINK_KIND_COUNT_];
};

static void add_row(struct drawing *drawing, const struct row *row)
{
    drawing->rows = arena_grow(drawing->arena, drawing->rows, &drawing->row_capacity,
                               drawing->row_count + 1, sizeof *drawing->rows);
    drawing->rows[drawing->row_count++] = *row;
}

/* ---- what is shown ------------------------------------------------------------------ */

/* The first ones and the last of `count`. */
static bool is_shown(uint32_t index, uint32_t count, uint32_t most)
{
    return count <= most || index + 1 < most || index + 1 == count;
}

/* Gives a level's things places in their order, `places` being where those that are shown have one
 * that is no place yet (0); of the others it is said how many there are, before the last. */
static void place_level(struct drawing *drawing, uint32_t level, double *const *places,
                        uint32_t count, uint32_t all)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i + 1 == count && all > count) {
            add_row(drawing, &(struct row){.kind = ROW_GAP,
                                           .x = drawing->slots[level]++,
                                           .y = level,
                                           .label = arena_printf(drawing->arena, "… %lu more",
                                                                 (unsigned long)(all - count))});
        }
        *places[i] = drawing->slots[level]++;
    }
}

static bool are_alike(const struct fabric *fabric, uint32_t one, uint32_t other)
{
    const uint32_t ports = fabric->ports_per_node;
    return memcmp(&fabric->topology.port_switch[(size_t)one * ports],
                  &fabric->topology.port_switch[(size_t)other * ports],
                  ports * sizeof *fabric->topology.port_switch) == 0;
}

static void place_bundles(struct drawing *drawing)
{
    const struct fabric *fabric = drawing->fabric;
    drawing->bundles = arena_array(drawing->arena, fabric->nodes, sizeof *drawing->bundles);
    for (uint32_t node = 0; node < fabric->nodes; node++) {
        if (node > 0 && are_alike(fabric, node - 1, node)) {
            drawing->bundles[drawing->bundle_count - 1].count++;
        } else {
            drawing->bundles[drawing->bundle_count++] =
                (struct bundle){.first = node, .count = 1, .x = NO_SLOT};
        }
    }
    double *places[BUNDLES_SHOWN];
    uint32_t count = 0;
    for (uint32_t i = 0; i < drawing->bundle_count; i++) {
        if (is_shown(i, drawing->bundle_count, BUNDLES_SHOWN)) {
            places[count++] = &drawing->bundles[i].x;
        }
    }
    place_level(drawing, 0, places, count, drawing->bundle_count);
}

/* The first so many that are marked and the last, of a level. */
static void place_switches(struct drawing *drawing, uint32_t level, const bool *marked,
                           uint32_t most)
{
    const struct topology *topology = &drawing->fabric->topology;
    double *places[LEAVES_SHOWN];
    uint32_t all = 0;
    uint32_t candidates = 0;
    for (uint32_t i = 0; i < topology->switch_count; i++) {
        const bool is_here = topology->switches[i].level == level;
        all += is_here;
        candidates += is_here && marked[i];
    }
    uint32_t index = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < topology->switch_count; i++) {
        if (topology->switches[i].level == level && marked[i] &&
            is_shown(index++, candidates, most)) {
            places[count++] = &drawing->switch_x[i];
        }
    }
    place_level(drawing, level, places, count, all);
}

/* Of each shown bundle as many leaves as there is room for. */
static void mark_leaves(const struct drawing *drawing, bool *marked)
{
    const struct fabric *fabric = drawing->fabric;
    sim_assert(drawing->bundles[0].x >= 0);
    uint32_t shown = 1;
    for (uint32_t i = 1; i < drawing->bundle_count; i++) {
        shown += drawing->bundles[i].x >= 0;
    }
    const uint32_t most = LEAVES_SHOWN / shown > 0 ? LEAVES_SHOWN / shown : 1;
    for (uint32_t i = 0; i < drawing->bundle_count; i++) {
        const struct bundle *bundle = &drawing->bundles[i];
        uint32_t *distinct = arena_array(drawing->arena, fabric->ports_per_node, sizeof *distinct);
        uint32_t count = 0;
        for (uint32_t port = 0; port < fabric->ports_per_node && bundle->x >= 0; port++) {
            const uint32_t to =
                fabric->topology.port_switch[(size_t)bundle->first * fabric->ports_per_node + port];
            uint32_t seen = 0;
            while (seen < count && distinct[seen] != to) {
                seen++;
            }
            distinct[seen] = to;
            count += seen == count;
        }
        for (uint32_t k = 0; k < count; k++) {
            marked[distinct[k]] = marked[distinct[k]] || is_shown(k, count, most);
        }
    }
}

/* Switches of the level above that shown ones are linked to. */
static void mark_above(const struct drawing *drawing, uint32_t level, bool *marked)
{
    const struct topology *topology = &drawing->fabric->topology;
    for (uint32_t i = 0; i < topology->link_count; i++) {
        const struct topology_link *link = &topology->links[i];
        if (drawing->switch_x[link->from] >= 0 && topology->switches[link->to].level == level) {
            marked[link->to] = true;
        }
    }
}

/* ---- levels ------------------------------------------------------------------------- */

/* Levels are spread over the whole width. */
static double spread_x(const struct drawing *drawing, uint32_t level, double slot)
{
    return (slot + 0.5) * drawing->width / drawing->slots[level];
}

static void add_box(struct drawing *drawing, enum row_kind kind, uint32_t level, double slot,
                    const char *label)
{
    const double room = drawing->width / drawing->slots[level];
    add_row(drawing, &(struct row){.kind = kind,
                                   .x = spread_x(drawing, level, slot),
                                   .y = level,
                                   .dx = room < 2 ? 0.45 * room : 0.9,
                                   .dy = BOX_HEIGHT,
                                   .colour = kind == ROW_NODE ? NODE_COLOUR : SWITCH_COLOUR,
                                   .label = label});
}

/* "409.6 Tbps" */
static const char *rate_of(struct arena *arena, double bytes_per_s)
{
    static const struct {
        double below, unit_bits; /* bits/s */
        const char *name;
    } units[] = {{1e12, 1e9, "Gbps"}, {1e16, 1e12, "Tbps"}, {HUGE_VAL, 1e15, "Pbps"}};
    const double bits = 8 * bytes_per_s;
    uint32_t unit = 0;
    while (bits >= units[unit].below) {
        unit++;
    }
    return arena_printf(arena, "%.4g %s", bits / units[unit].unit_bits, units[unit].name);
}

/* "8 x 400 Gbps": so many NICs', or what it is. */
static const char *speed_of(struct arena *arena, const struct fabric *fabric, double bytes_per_s)
{
    const double nic = fabric->cluster->nic_bytes_per_s;
    const double count = bytes_per_s / nic;
    const double whole = round(count);
    return whole >= 1 && fabs(count - whole) < WHOLE
               ? arena_printf(arena, "%.0f x %.4g Gbps", whole, 8 * nic / 1e9)
               : rate_of(arena, bytes_per_s);
}

/* A port's NICs. */
static double port_bytes_per_s(const struct fabric *fabric)
{
    return fabric->cluster->nic_bytes_per_s * (double)fabric->cluster->nics_per_node /
           fabric->ports_per_node;
}

/* Of a link between switches: its capacity is what transfers reach. */
static double nominal_bytes_per_s(const struct fabric *fabric, const struct topology_link *link)
{
    return (double)link->capacity / fabric->cluster->nic_efficiency;
}

/* A place on a level. */
struct end {
    uint32_t level;
    double slot;
};

/* A line from (x, y) by (dx, dy). */
static void add_line(struct drawing *drawing, struct row line, uint32_t kind)
{
    line.kind = ROW_LINK;
    line.tier = kind;
    line.colour = kind_colours[kind];
    line.label = "";
    add_row(drawing, &line);
}

/* Beside the first link of its kind. */
static void name_tier(struct drawing *drawing, uint32_t kind, double x, double y,
                      double bytes_per_s)
{
    drawing->tiers[kind].is_named = true;
    add_row(drawing,
            &(struct row){.kind = ROW_SPEED,
                          .x = x,
                          .y = y,
                          .colour = kind_colours[kind],
                          .label = speed_of(drawing->arena, drawing->fabric, bytes_per_s)});
}

/* Its bandwidth is nominal. */
static void add_link(struct drawing *drawing, struct end from, struct end to, uint32_t kind,
                     double bytes_per_s)
{
    const double x = spread_x(drawing, from.level, from.slot);
    const double to_x = spread_x(drawing, to.level, to.slot);
    const double rise = (double)to.level - from.level;
    add_line(drawing, (struct row){.x = x, .y = from.level, .dx = to_x - x, .dy = rise}, kind);
    struct tier *tier = &drawing->tiers[kind];
    if (!tier->is_named) {
        tier->y = from.level + rise / 2;
        name_tier(drawing, kind, x + 0.5 * (to_x - x), tier->y, bytes_per_s);
    }
}

static void draw_node_links(struct drawing *drawing)
{
    const struct fabric *fabric = drawing->fabric;
    const uint32_t ports = fabric->ports_per_node;
    for (uint32_t i = 0; i < drawing->bundle_count; i++) {
        const struct bundle *bundle = &drawing->bundles[i];
        const uint32_t *switches = fabric->topology.port_switch + (size_t)bundle->first * ports;
        for (uint32_t port = 0; port < ports && bundle->x >= 0; port++) {
            const uint32_t to = switches[port];
            uint32_t equal = 0; /* ports there, those before this one first */
            uint32_t before = 0;
            for (uint32_t other = 0; other < ports; other++) {
                equal += switches[other] == to;
                before += other < port && switches[other] == to;
            }
            if (before == 0 && drawing->switch_x[to] >= 0) {
                add_link(drawing, (struct end){0, bundle->x},
                         (struct end){fabric->topology.switches[to].level, drawing->switch_x[to]},
                         LINK_NIC_OUT, port_bytes_per_s(fabric) * equal * bundle->count);
            }
        }
    }
}

/* Parallel links follow one another out of a switch, and are one line. */
static void draw_switch_links(struct drawing *drawing)
{
    const struct topology *topology = &drawing->fabric->topology;
    for (uint32_t i = 0; i < topology->link_count; i += 2) { /* the way back is the same line */
        const struct topology_link *link = &topology->links[i];
        if (drawing->switch_x[link->from] < 0 || drawing->switch_x[link->to] < 0 ||
            (i >= 2 && topology->links[i - 2].from == link->from &&
             topology->links[i - 2].to == link->to)) {
            continue;
        }
        double bytes_per_s = 0;
        for (uint32_t k = i; k < topology->link_count && topology->links[k].from == link->from &&
                             topology->links[k].to == link->to;
             k += 2) {
            bytes_per_s += nominal_bytes_per_s(drawing->fabric, &topology->links[k]);
        }
        add_link(drawing,
                 (struct end){topology->switches[link->from].level, drawing->switch_x[link->from]},
                 (struct end){topology->switches[link->to].level, drawing->switch_x[link->to]},
                 link->kind, bytes_per_s);
    }
}

static const char *bundle_name(struct arena *arena, const struct bundle *bundle)
{
    const unsigned long first = bundle->first;
    return bundle->count == 1
               ? arena_printf(arena, "node %lu", first)
               : arena_printf(arena, "nodes %lu-%lu", first, first + bundle->count - 1);
}

static void draw_levels(struct drawing *drawing)
{
    const struct fabric *fabric = drawing->fabric;
    bool *marked = arena_array(drawing->arena, fabric->topology.switch_count, sizeof *marked);
    place_bundles(drawing);
    mark_leaves(drawing, marked);
    for (uint32_t level = 1; level < LEVELS; level++) {
        if (level > 1) {
            mark_above(drawing, level, marked);
        }
        place_switches(drawing, level, marked, level == 1 ? LEAVES_SHOWN : SWITCHES_SHOWN);
    }
    for (uint32_t level = 0; level < LEVELS; level++) {
        drawing->width = fmax(drawing->width, drawing->slots[level]);
    }
    for (size_t i = 0; i < drawing->row_count; i++) { /* so far all of them are gaps */
        struct row *gap = &drawing->rows[i];
        sim_assert(gap->kind == ROW_GAP);
        gap->x = spread_x(drawing, (uint32_t)gap->y, gap->x);
    }
    draw_node_links(drawing);
    draw_switch_links(drawing);
    for (uint32_t i = 0; i < drawing->bundle_count; i++) {
        if (drawing->bundles[i].x >= 0) {
            add_box(drawing, ROW_NODE, 0, drawing->bundles[i].x,
                    bundle_name(drawing->arena, &drawing->bundles[i]));
        }
    }
    for (uint32_t i = 0; i < fabric->topology.switch_count; i++) {
        if (drawing->switch_x[i] >= 0) {
            add_box(drawing, ROW_SWITCH, fabric->topology.switches[i].level, drawing->switch_x[i],
                    fabric_switch_name(drawing->arena, fabric, i));
        }
    }
}

/* ---- a torus ------------------------------------------------------------------------ */

struct spot {
    double x, y;
    bool is_shown;
};

/* Planes stand side by side. */
static struct spot spot_of(const struct topology *topology, uint32_t router)
{
    const uint32_t x = router % topology->grid[0];
    const uint32_t y = router / topology->grid[0] % topology->grid[1];
    const uint32_t z = router / topology->grid[0] / topology->grid[1];
    const uint32_t side = topology->grid[0] < SIDE_SHOWN ? topology->grid[0] : SIDE_SHOWN;
    return (struct spot){.x = 1.5 * (x + z * (side + 1.0)) + 1,
                         .y = y * 0.5,
                         .is_shown = x < SIDE_SHOWN && y < SIDE_SHOWN && z < PLANES_SHOWN};
}

/* Links to neighbours in the plane; those round the back and to other planes are left out. */
static void draw_torus(struct drawing *drawing)
{
    const struct topology *topology = &drawing->fabric->topology;
    drawing->tiers[LINK_TORUS].y = 0.5;
    drawing->tiers[LINK_NIC_OUT].y = 1.5;
    for (uint32_t i = 0; i < topology->link_count; i += 2) {
        const struct spot from = spot_of(topology, topology->links[i].from);
        const struct spot to = spot_of(topology, topology->links[i].to);
        const double steps = (from.x > to.x ? from.x - to.x : to.x - from.x) / 1.5 +
                             (from.y > to.y ? from.y - to.y : to.y - from.y) / 0.5;
        if (from.is_shown && to.is_shown && steps < 1.5) {
            add_line(
                drawing,
                (struct row){.x = from.x, .y = from.y, .dx = to.x - from.x, .dy = to.y - from.y},
                LINK_TORUS);
            if (!drawing->tiers[LINK_TORUS].is_named) { /* below it: between boxes is no room */
                name_tier(drawing, LINK_TORUS, (from.x + to.x) / 2, from.y - 0.22,
                          nominal_bytes_per_s(drawing->fabric, &topology->links[i]));
            }
        }
    }
    for (uint32_t i = 0; i < topology->switch_count; i++) {
        const struct spot spot = spot_of(topology, i);
        if (!spot.is_shown) {
            continue;
        }
        drawing->width = spot.x + 1 > drawing->width ? spot.x + 1 : drawing->width;
        add_row(drawing,
                &(struct row){.kind = i < drawing->fabric->nodes ? ROW_NODE : ROW_SWITCH,
                              .x = spot.x,
                              .y = spot.y,
                              .dx = 0.5,
                              .dy = 0.12,
                              .colour = i < drawing->fabric->nodes ? NODE_COLOUR : 0xffffff,
                              .label = arena_printf(drawing->arena, "%lu", (unsigned long)i)});
    }
}

/* ---- tiers --------------------------------------------------------------------------- */

static void measure_tiers(struct drawing *drawing, const struct plot_topology_use *use)
{
    const struct fabric *fabric = drawing->fabric;
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        drawing->tiers[kind].y = ABSENT;
    }
    struct tier *nics = &drawing->tiers[LINK_NIC_OUT];
    nics->count = (uint64_t)fabric->nodes * (uint64_t)fabric->cluster->nics_per_node;
    nics->bytes_per_s = (double)nics->count * fabric->cluster->nic_bytes_per_s;
    for (uint32_t i = 0; i < fabric->topology.link_count; i += 2) { /* the next is the way back */
        const struct topology_link *link = &fabric->topology.links[i];
        drawing->tiers[link->kind].count++;
        drawing->tiers[link->kind].bytes_per_s += nominal_bytes_per_s(fabric, link);
    }
    uint32_t counts[LINK_KIND_COUNT_];
    fabric_count_links(fabric, counts);
    drawing->has_use = use != NULL;
    for (uint32_t i = 0; use != NULL && i < use->count; i++) {
        for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
            if (strcmp(use->links[i].kind, link_titles[kind]) == 0) {
                sim_assert(use->links[i].count == counts[kind]); /* the fabric that was simulated */
                drawing->tiers[kind].mean = use->links[i].utilisation_mean;
                drawing->tiers[kind].most = use->links[i].utilisation_max;
            }
        }
    }
}

/* What comes from below a full leaf, pod or group by what goes up from it: as the cluster has it.
 * Where a job does not fill them it has more above it than that. */
static const char *ratio_of(const struct drawing *drawing, uint32_t kind)
{
    const struct cluster *cluster = drawing->fabric->cluster;
    const struct tier *tiers = drawing->tiers;
    const double up = tiers[kind].bytes_per_s * (kind == LINK_GLOBAL ? 2 : 1); /* of both ends */
    double ratio = cluster->oversubscription;
    if (kind != LINK_LEAF_UP && kind != LINK_POD_UP && kind != LINK_GLOBAL) {
        return "";
    }
    if (kind == LINK_POD_UP) {
        ratio = cluster->pod_oversubscription;
    } else if (kind == LINK_GLOBAL) {
        ratio = cluster->global_oversubscription;
    }
    const double below = tiers[kind == LINK_LEAF_UP ? LINK_NIC_OUT : LINK_LEAF_UP].bytes_per_s;
    const bool is_full = fabs(below / up / ratio - 1) < ALIKE;
    return arena_printf(drawing->arena, "%s%.4g:1%s", ratio > 1 ? ", oversubscribed " : ", ", ratio,
                        is_full ? "" : " if full");
}

/* Adaptive routing needs but one link of all between two switches (hw/topology.h). */
static const char *count_of(const struct drawing *drawing, uint32_t kind)
{
    const unsigned long count = (unsigned long)drawing->tiers[kind].count;
    const bool is_bundle = drawing->fabric->cluster->routing == ROUTING_ADAPTIVE &&
                           kind != LINK_NIC_OUT && kind != LINK_TORUS;
    if (is_bundle) {
        return arena_printf(drawing->arena, "%ss: %lu bundle%s", link_titles[kind], count,
                            count == 1 ? "" : "s");
    }
    return arena_printf(drawing->arena, "%ss: %lu",
                        kind == LINK_NIC_OUT ? "NIC" : link_titles[kind], count);
}

#define TIER_LINES 3

/* "leaf up-links: 64 bundles", "57.6 Tbps, oversubscribed 2:1", "used 12 %, the busiest 40 %" */
static void write_tier(const struct plot_page *page, const struct drawing *drawing, uint32_t kind)
{
    const struct tier *tier = &drawing->tiers[kind];
    struct arena *arena = drawing->arena;
    const char *lines[TIER_LINES] = {
        count_of(drawing, kind),
        arena_printf(arena, "%s%s", rate_of(arena, tier->bytes_per_s), ratio_of(drawing, kind)),
        !drawing->has_use ? ""
                          : arena_printf(arena, "used %.1f %%, the busiest %.1f %%",
                                         100 * tier->mean, 100 * tier->most)};
    for (uint32_t line = 0; line < TIER_LINES; line++) {
        fprintf(page->script,
                "set label '%s' at graph 1, first %.6g left offset 0.5,%.3g%s textcolor rgb "
                "'#%06lx'\n",
                lines[line], tier->y, 1.2 * (1.0 - line), line == 0 ? "" : " font 'DejaVu Sans,12'",
                (unsigned long)(line == 0 ? kind_colours[kind] : 0x444444));
    }
}

/* ---- files -------------------------------------------------------------------------- */

/* All of a name, or what follows its first word, or nothing: what there is room for. Of a gap its
 * dots. */
static const char *fitting(const struct plot_page *page, const struct drawing *drawing,
                           const struct row *row)
{
    const double width = page->frame.width - page->frame.left - page->frame.right;
    const double room = (row->kind == ROW_GAP ? 1 : 2 * row->dx) * width / drawing->width - 4;
    const bool is_link = row->kind == ROW_LINK || row->kind == ROW_SPEED;
    if (is_link || plot_text_width(row->label, LABEL_SIZE) <= room) {
        return row->label;
    }
    if (row->kind == ROW_GAP) {
        return "…";
    }
    const char *space = strchr(row->label, ' ');
    const char *rest = space != NULL ? space + 1 : row->label;
    return plot_text_width(rest, LABEL_SIZE) <= room ? rest : "";
}

static void write_rows(struct plot_page *page, const struct drawing *drawing)
{
    static const char *const numbers[] = {"row_kind", "x", "y", "dx", "dy", "colour", "tier"};
    static const char *const texts[] = {"label", "shown"};
    const double pixels = page->frame.width - page->frame.left - page->frame.right;
    PLOT_HEAD(page, numbers, texts);
    for (size_t i = 0; i < drawing->row_count; i++) {
        const struct row *row = &drawing->rows[i];
        const bool is_speed = row->kind == ROW_SPEED;
        const double half = plot_text_width(row->label, LABEL_SIZE) / 2 / pixels * drawing->width;
        plot_row(page,
                 PLOT_NUMBERS(row->kind, is_speed ? fmax(row->x, half) : row->x, row->y,
                              is_speed ? half : row->dx, is_speed ? SPEED_HEIGHT : row->dy,
                              row->colour, row->tier),
                 PLOT_TEXTS(row->label, fitting(page, drawing, row)));
    }
}

static void lay_out(struct plot_page *page, const struct drawing *drawing, double top)
{
    const bool is_torus = drawing->fabric->topology.shape == SHAPE_GRID;
    plot_add_note(page,
                  arena_printf(page->arena, "%lu nodes of %lu GPUs",
                               (unsigned long)drawing->fabric->nodes,
                               (unsigned long)(drawing->fabric->gpus / drawing->fabric->nodes)));
    if (drawing->has_use) {
        plot_add_note(page, "lines as wide as links are used in a step, in the mean");
    }
    if (is_torus) {
        plot_add_note(page, "links round the back and to other planes are not drawn");
    }
    plot_frame_set(page,
                   &(struct plot_frame){
                       .width = WIDTH,
                       .plot_height = is_torus ? TORUS_HEIGHT : 90 + (uint32_t)(top * LEVEL_HEIGHT),
                       .left = 8,
                       .right = TIERS_WIDTH,
                       .bottom = 4});
}

/* Lines of a tier are as wide as it is used. */
static const char *lines_command(const struct plot_page *page, const struct drawing *drawing)
{
    const char *plot = "plot ";
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        const struct tier *tier = &drawing->tiers[kind];
        if (!is_absent(tier->y)) {
            plot = arena_printf(page->arena,
                                "%sDATA using (column('row_kind') == %d && column('tier') == %lu "
                                "? column('x') : NaN):3:4:5 with vectors nohead lw %.3g dt 1 "
                                "lc rgb '#%06lx', \\\n     ",
                                plot, ROW_LINK, (unsigned long)kind,
                                LINE_WIDTH + USE_WIDTH * (drawing->has_use ? tier->mean : 0),
                                (unsigned long)kind_colours[kind]);
        }
    }
    return plot;
}

static bool write_drawing(struct plot_page *page)
{
    const struct drawing *drawing = page->subject;
    double top = 1;
    for (size_t i = 0; i < drawing->row_count; i++) {
        top = fmax(top, drawing->rows[i].y);
    }
    lay_out(page, drawing, top);
    write_rows(page, drawing);
    plot_script_begin(page, (uint32_t)drawing->row_count);
    fprintf(page->script,
            "unset border\nunset xtics\nunset ytics\nunset grid\nset key off\n"
            "set xrange [0:%.10g]\nset yrange [-0.3:%.10g]\n",
            drawing->width, top + 0.3);
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        if (!is_absent(drawing->tiers[kind].y) && drawing->tiers[kind].count > 0) {
            write_tier(page, drawing, kind);
        }
    }
    plot_script_end(
        page,
        arena_printf(
            page->arena,
            "%sDATA using (column(1)==%d ? column(2) : NaN):3:4:5 with boxxyerror fill solid 1 "
            "noborder lc rgb '#ffffff', \\\n"
            "     DATA using (column(1)<=1 ? column(2) : NaN):3:4:5:6 with boxxyerror "
            "fill solid 1 border rgb '#444444' lc rgb variable, \\\n"
            "     DATA using 2:3:(column(1)<=1 && shown[int($0)+1] ne '-' ? shown[int($0)+1] : '') "
            "with labels font 'DejaVu Sans,11', \\\n"
            "     DATA using 2:3:(column(1)==%d ? shown[int($0)+1] : '') with labels "
            "font 'DejaVu Sans,11' textcolor rgb '#555555', \\\n"
            "     DATA using 2:3:(column(1)==%d ? label[int($0)+1] : '') with labels "
            "font 'DejaVu Sans,11' textcolor rgb '#222222'",
            lines_command(page, drawing), ROW_SPEED, ROW_GAP, ROW_SPEED));
    return true;
}

bool plot_topology(struct arena *arena, const struct fabric *fabric,
                   const struct plot_topology_use *use, const struct plot_request *request,
                   struct diag *diag)
{
    struct drawing drawing = {.arena = arena, .fabric = fabric};
    const struct topology *topology = &fabric->topology;
    drawing.switch_x = arena_array(arena, topology->switch_count, sizeof *drawing.switch_x);
    for (uint32_t i = 0; i < topology->switch_count; i++) {
        drawing.switch_x[i] = NO_SLOT;
    }
    measure_tiers(&drawing, use);
    if (topology->shape == SHAPE_GRID) {
        draw_torus(&drawing);
    } else {
        draw_levels(&drawing);
    }
    struct plot_page page = {.arena = arena, .request = request, .subject = &drawing, .diag = diag};
    return plot_page_draw(&page, write_drawing);
}
