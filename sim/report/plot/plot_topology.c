/* What is shown is chosen first, level by level; then every shown thing gets its place on its
 * level; then the links between shown things are drawn once for each pair.
 */
#include "report/plot/plot_topology.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/units.h"
#include "report/plot/plot_kinds.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEVELS = 4,     /* nodes, leaves, spines, cores */
    PER_LEVEL = 24, /* shown things of a level */
    PODS_SHOWN = 4,
    PLANES_SHOWN = 4, /* of a torus */
    SIDE_SHOWN = 8,   /* of a plane */
    WIDTH = 1200,
    LABEL_SIZE = 11,
    NO_SLOT = -1,
};

enum row_kind { ROW_NODE, ROW_SWITCH, ROW_LINK, ROW_GAP };

struct row {
    enum row_kind kind;
    double x, y, dx, dy; /* of a box: half its sides */
    uint32_t colour;
    const char *label;
};

static const uint32_t kind_colours[LINK_KIND_COUNT_] = {
    [LINK_NIC_OUT] = 0x999999, [LINK_LEAF_UP] = 0x0072b2,  [LINK_LEAF_DOWN] = 0x0072b2,
    [LINK_POD_UP] = 0xd55e00,  [LINK_POD_DOWN] = 0xd55e00, [LINK_GLOBAL] = 0x009e73,
    [LINK_TORUS] = 0x0072b2,   [LINK_TRUNK] = 0x0072b2,
};
#define NODE_COLOUR 0xe8e8e8
#define SWITCH_COLOUR 0xcfe3f2

/* One picture in the making. */
struct drawing {
    struct arena *arena;
    const struct fabric *fabric;
    struct row *rows;
    size_t row_count, row_capacity;
    double *node_x;       /* NO_SLOT: not shown */
    double *switch_x;     /* likewise */
    double slots[LEVELS]; /* places on each level, gaps included */
    double width;
    struct plot_key *keys;
    uint32_t key_count;
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

static uint32_t count_pods(const struct topology *topology)
{
    uint32_t pods = 1;
    for (uint32_t i = 0; i < topology->switch_count; i++) {
        pods = topology->switches[i].pod + 1 > pods ? topology->switches[i].pod + 1 : pods;
    }
    return pods;
}

/* A place for "..." when something was left out; nothing is then. */
static void close_gap(struct drawing *drawing, uint32_t level, bool *has_gap)
{
    if (*has_gap) {
        const double x = drawing->slots[level]++;
        add_row(drawing, &(struct row){.kind = ROW_GAP, .x = x, .y = level, .label = "..."});
    }
    *has_gap = false;
}

static double next_place(struct drawing *drawing, uint32_t level, bool *has_gap)
{
    close_gap(drawing, level, has_gap);
    return drawing->slots[level]++;
}

static uint32_t count_switches(const struct topology *topology, uint32_t level, uint32_t pod)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < topology->switch_count; i++) {
        count += topology->switches[i].level == level && topology->switches[i].pod == pod;
    }
    return count;
}

/* Of a pod that is shown, as many of the level as `most`. */
static void place_pod(struct drawing *drawing, uint32_t level, uint32_t pod, uint32_t most,
                      bool *has_gap)
{
    const struct topology *topology = &drawing->fabric->topology;
    const uint32_t count = count_switches(topology, level, pod);
    uint32_t index = 0;
    for (uint32_t i = 0; i < topology->switch_count; i++) {
        if (topology->switches[i].level != level || topology->switches[i].pod != pod) {
            continue;
        }
        if (is_shown(index++, count, most)) {
            drawing->switch_x[i] = next_place(drawing, level, has_gap);
        } else {
            *has_gap = true;
        }
    }
}

/* Of each level and pod as many as fit. */
static void place_switches(struct drawing *drawing)
{
    const struct topology *topology = &drawing->fabric->topology;
    const uint32_t pods = count_pods(topology);
    const uint32_t pods_shown = pods < PODS_SHOWN ? pods : PODS_SHOWN;
    for (uint32_t level = 1; level < LEVELS; level++) {
        const uint32_t most = level == LEVELS - 1 ? PER_LEVEL : PER_LEVEL / pods_shown;
        bool has_gap = false;
        for (uint32_t pod = 0; pod < pods; pod++) {
            if (is_shown(pod, pods, PODS_SHOWN)) {
                place_pod(drawing, level, pod, most, &has_gap);
            } else {
                has_gap = level < LEVELS - 1; /* cores are of no pod */
            }
        }
        close_gap(drawing, level, &has_gap);
    }
}

/* Nodes below shown leaves, as many below each as fit. */
static void place_nodes(struct drawing *drawing)
{
    const struct fabric *fabric = drawing->fabric;
    const uint32_t *port_switch = fabric->topology.port_switch;
    const uint32_t ports = fabric->ports_per_node;
    uint32_t *below = arena_array(drawing->arena, fabric->topology.switch_count, sizeof *below);
    uint32_t *done = arena_array(drawing->arena, fabric->topology.switch_count, sizeof *done);
    uint32_t leaves = 0;
    for (uint32_t node = 0; node < fabric->nodes; node++) {
        const uint32_t leaf = port_switch[(size_t)node * ports];
        leaves += drawing->switch_x[leaf] >= 0 && below[leaf] == 0;
        below[leaf]++;
    }
    const uint32_t most = leaves > 0 && PER_LEVEL / leaves > 2 ? PER_LEVEL / leaves : 2;
    bool has_gap = false;
    for (uint32_t node = 0; node < fabric->nodes; node++) {
        const uint32_t leaf = port_switch[(size_t)node * ports];
        if (drawing->switch_x[leaf] >= 0 && is_shown(done[leaf], below[leaf], most)) {
            drawing->node_x[node] = next_place(drawing, 0, &has_gap);
        } else {
            has_gap = true;
        }
        done[leaf]++;
    }
    close_gap(drawing, 0, &has_gap);
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
                                   .dx = room < 3 ? 0.44 * room : 1.3,
                                   .dy = 0.13,
                                   .colour = kind == ROW_NODE ? NODE_COLOUR : SWITCH_COLOUR,
                                   .label = label});
}

static void add_line(struct drawing *drawing, double x, double y, double to_x, double to_y,
                     uint32_t colour)
{
    add_row(drawing, &(struct row){.kind = ROW_LINK,
                                   .x = x,
                                   .y = y,
                                   .dx = to_x - x,
                                   .dy = to_y - y,
                                   .colour = colour,
                                   .label = ""});
}

static void draw_node_links(struct drawing *drawing)
{
    const struct fabric *fabric = drawing->fabric;
    for (uint32_t node = 0; node < fabric->nodes; node++) {
        if (drawing->node_x[node] < 0) {
            continue;
        }
        uint32_t last = UINT32_MAX;
        for (uint32_t port = 0; port < fabric->ports_per_node; port++) {
            const uint32_t to =
                fabric->topology.port_switch[(size_t)node * fabric->ports_per_node + port];
            if (to != last && drawing->switch_x[to] >= 0) {
                const uint32_t level = fabric->topology.switches[to].level;
                add_line(drawing, spread_x(drawing, 0, drawing->node_x[node]), 0,
                         spread_x(drawing, level, drawing->switch_x[to]), level,
                         kind_colours[LINK_NIC_OUT]);
            }
            last = to;
        }
    }
}

/* Parallel links follow one another out of a switch, and are one line. */
static void draw_switch_links(struct drawing *drawing)
{
    const struct topology *topology = &drawing->fabric->topology;
    for (uint32_t i = 0; i < topology->link_count; i += 2) { /* the way back is the same line */
        const struct topology_link *link = &topology->links[i];
        const bool is_again = i >= 2 && topology->links[i - 2].from == link->from &&
                              topology->links[i - 2].to == link->to;
        if (is_again || drawing->switch_x[link->from] < 0 || drawing->switch_x[link->to] < 0) {
            continue;
        }
        const uint32_t from = topology->switches[link->from].level;
        const uint32_t to = topology->switches[link->to].level;
        add_line(drawing, spread_x(drawing, from, drawing->switch_x[link->from]), from,
                 spread_x(drawing, to, drawing->switch_x[link->to]), to, kind_colours[link->kind]);
    }
}

static void draw_levels(struct drawing *drawing)
{
    const struct fabric *fabric = drawing->fabric;
    place_switches(drawing);
    place_nodes(drawing);
    drawing->width = 0;
    for (uint32_t level = 0; level < LEVELS; level++) {
        drawing->width =
            drawing->slots[level] > drawing->width ? drawing->slots[level] : drawing->width;
    }
    for (size_t i = 0; i < drawing->row_count; i++) { /* so far all of them are gaps */
        struct row *gap = &drawing->rows[i];
        sim_assert(gap->kind == ROW_GAP);
        gap->x = spread_x(drawing, (uint32_t)gap->y, gap->x);
    }
    draw_node_links(drawing);
    draw_switch_links(drawing);
    for (uint32_t node = 0; node < fabric->nodes; node++) {
        if (drawing->node_x[node] >= 0) {
            add_box(drawing, ROW_NODE, 0, drawing->node_x[node],
                    arena_printf(drawing->arena, "node %lu", (unsigned long)node));
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
    for (uint32_t i = 0; i < topology->link_count; i += 2) {
        const struct spot from = spot_of(topology, topology->links[i].from);
        const struct spot to = spot_of(topology, topology->links[i].to);
        const double steps = (from.x > to.x ? from.x - to.x : to.x - from.x) / 1.5 +
                             (from.y > to.y ? from.y - to.y : to.y - from.y) / 0.5;
        if (from.is_shown && to.is_shown && steps < 1.5) {
            add_line(drawing, from.x, from.y, to.x, to.y, kind_colours[LINK_TORUS]);
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

/* ---- keys --------------------------------------------------------------------------- */

/* Capacity of all links of a kind, and how many there are. */
struct tier {
    uint32_t count;
    double bytes_per_s;
};

static void add_key(struct drawing *drawing, const char *text, const char *style)
{
    drawing->keys[drawing->key_count++] = plot_key_of(drawing->arena, text, style);
}

/* "leaf up-link: 64 x 696 GB/s, 2:1": the last, what comes from below by what goes up. */
static void add_keys(struct drawing *drawing)
{
    const struct fabric *fabric = drawing->fabric;
    struct tier tiers[LINK_KIND_COUNT_] = {{0}};
    drawing->keys = arena_array(drawing->arena, LINK_KIND_COUNT_ + 1, sizeof *drawing->keys);
    for (uint32_t link = 0; link < fabric->link_count; link++) {
        struct tier *tier = &tiers[fabric_link_kind(fabric, link)];
        tier->count++;
        tier->bytes_per_s += (double)fabric_link_capacity(fabric, link);
    }
    const struct tier *below = NULL;
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        const struct tier *tier = &tiers[kind];
        const bool is_way_back = kind == LINK_LEAF_DOWN || kind == LINK_POD_DOWN;
        if (tier->count == 0 || kind_colours[kind] == 0 || is_way_back) {
            continue;
        }
        char each[64];
        units_format(tier->bytes_per_s / tier->count, DIM_BYTES_PER_S, 4, each, sizeof each);
        const bool is_up = kind == LINK_LEAF_UP || kind == LINK_POD_UP;
        const char *ratio =
            is_up && below != NULL
                ? arena_printf(drawing->arena, ", %.3g:1", below->bytes_per_s / tier->bytes_per_s)
                : "";
        add_key(drawing,
                arena_printf(drawing->arena, "%s: %lu x %s%s", link_titles[kind],
                             (unsigned long)tier->count, each, ratio),
                arena_printf(drawing->arena, "pt 5 ps 1.2 lc rgb '#%06lx'",
                             (unsigned long)kind_colours[kind]));
        below = tier;
    }
    if (fabric->topology.shape == SHAPE_GRID) {
        add_key(drawing, "links round the back and to other planes are not drawn",
                "pt 6 ps 0.8 lc rgb '#999999'");
    }
}

/* ---- files -------------------------------------------------------------------------- */

/* All of a name, or its last word, or nothing: what there is room for. */
static const char *fitting(const struct drawing *drawing, const struct row *row)
{
    const double room = 2 * row->dx * WIDTH / (drawing->width + 0.4) - 4;
    const char *last = strrchr(row->label, ' ');
    if (row->kind > ROW_SWITCH || plot_text_width(row->label, LABEL_SIZE) <= room) {
        return row->label;
    }
    last = last != NULL ? last + 1 : row->label;
    return plot_text_width(last, LABEL_SIZE) <= room ? last : "";
}

static void write_rows(struct plot_page *page, const struct drawing *drawing)
{
    static const char *const numbers[] = {"row_kind", "x", "y", "dx", "dy", "colour"};
    static const char *const texts[] = {"label", "shown"};
    PLOT_HEAD(page, numbers, texts);
    for (size_t i = 0; i < drawing->row_count; i++) {
        const struct row *row = &drawing->rows[i];
        plot_row(page, PLOT_NUMBERS(row->kind, row->x, row->y, row->dx, row->dy, row->colour),
                 PLOT_TEXTS(row->label, fitting(drawing, row)));
    }
}

static bool write_drawing(struct plot_page *page)
{
    const struct drawing *drawing = page->subject;
    const bool is_torus = drawing->fabric->topology.shape == SHAPE_GRID;
    double top = 1;
    for (size_t i = 0; i < drawing->row_count; i++) {
        top = drawing->rows[i].y > top ? drawing->rows[i].y : top;
    }
    page->frame = (struct plot_frame){.width = WIDTH,
                                      .plot_height = is_torus ? 480 : 90 + (uint32_t)(top * 140),
                                      .left = 8,
                                      .right = 8,
                                      .bottom = 4,
                                      .keys = drawing->keys,
                                      .key_count = drawing->key_count};
    write_rows(page, drawing);
    plot_script_begin(page, (uint32_t)drawing->row_count);
    fprintf(page->script,
            "unset border\nunset xtics\nunset ytics\nunset grid\nset key off\n"
            "set xrange [-0.2:%.10g]\nset yrange [-0.3:%.10g]\n",
            drawing->width + 0.2, top + 0.3);
    plot_script_end(
        page,
        "plot DATA using (column(1)==2 ? column(2) : NaN):3:4:5:6 with vectors nohead "
        "lw 0.6 lc rgb variable, \\\n"
        "     DATA using (column(1)<=1 ? column(2) : NaN):3:4:5:6 with boxxyerror "
        "fill solid 1 border rgb '#444444' lc rgb variable, \\\n"
        "     DATA using 2:3:(column(1)<=1 && shown[int($0)+1] ne '-' ? shown[int($0)+1] : '') "
        "with labels font 'DejaVu Sans,11', \\\n"
        "     DATA using 2:3:(column(1)==3 ? label[int($0)+1] : '') with labels");
    return true;
}

bool plot_topology(struct arena *arena, const struct fabric *fabric,
                   const struct plot_request *request, struct diag *diag)
{
    struct drawing drawing = {.arena = arena, .fabric = fabric};
    const struct topology *topology = &fabric->topology;
    drawing.node_x = arena_array(arena, fabric->nodes, sizeof *drawing.node_x);
    drawing.switch_x = arena_array(arena, topology->switch_count, sizeof *drawing.switch_x);
    for (uint32_t i = 0; i < fabric->nodes; i++) {
        drawing.node_x[i] = NO_SLOT;
    }
    for (uint32_t i = 0; i < topology->switch_count; i++) {
        drawing.switch_x[i] = NO_SLOT;
    }
    if (topology->shape == SHAPE_GRID) {
        draw_torus(&drawing);
    } else {
        draw_levels(&drawing);
    }
    add_keys(&drawing);
    struct plot_page page = {.arena = arena, .request = request, .subject = &drawing, .diag = diag};
    return plot_page_draw(&page, write_drawing);
}
