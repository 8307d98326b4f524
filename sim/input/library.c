/* Reads a collective library: general costs first, then what an architecture says
 * otherwise, then what was fitted, then what a calibration file put on top. All four are
 * read by the same function, each over what is there already.
 */
#include "input/library.h"

#include "input/doc/section.h"

#include "base/arena.h"

#include <math.h>
#include <string.h>

const char *const library_algorithm_names[LIBRARY_ALGORITHM_COUNT] = {
    "ring",      "multi-rail-ring", "tree", "halving-doubling", "hierarchical", "nvls",
    "nvls-tree", "sharp",           "pat",  "direct",
};
const char *const library_protocol_names[LIBRARY_PROTOCOL_COUNT] = {"LL", "LL128", "Simple"};

static const char *const link_keys[LIBRARY_LINK_COUNT_] = {"nvlink", "pcie", "network"};
static const char *const fill_keys[LIBRARY_LINK_COUNT_] = {"nvlink_fill", "pcie_fill",
                                                           "network_fill"};

static const double LATENCY_MAX_S = 1.0;
static const double EFFICIENCY_MIN = 1e-4;
static const double EFFICIENCY_MAX = 1.0; /* more would be faster than the simulated links */
static const double RATE_MIN = 1e3;       /* bytes/s */
static const double RATE_MAX = 1e15;

enum library_span library_span_of(uint32_t nodes)
{
    return nodes == 1 ? SPAN_ONE_NODE : nodes == 2 ? SPAN_TWO_NODES : SPAN_MANY_NODES;
}

/* ---- a cost ---- */

static void cost_init(struct library_cost *cost)
{
    *cost = (struct library_cost){0};
    for (uint32_t i = 0; i < SPAN_COUNT_; i++) {
        cost->efficiency[i] = 1.0;
        cost->maximum_bytes_per_s[i] = HUGE_VAL;
        cost->channel_maximum_bytes_per_s[i] = HUGE_VAL;
    }
}

struct spans_kind {
    enum dimension dimension;
    double min, max;
};

/* One value for all, or one each; true when there is one. */
static bool read_spans(struct doc_map *map, const char *key, const struct spans_kind *kind,
                       double values[SPAN_COUNT_])
{
    const struct doc_node *node = doc_take(map, key);
    if (node == NULL) {
        return false;
    }
    const bool is_list = node->kind == DOC_SEQUENCE;
    if (is_list && doc_child_count(node) != SPAN_COUNT_) {
        diag_add(map->diag, DIAG_INPUT, &node->place, "'%s' is one value or three", key);
        diag_help(map->diag, "three: on one node, on two, on more");
        map->is_bad = true;
        return false;
    }
    const struct doc_node *item = is_list ? node->child : node;
    for (uint32_t i = 0; i < SPAN_COUNT_; i++) {
        if (!doc_node_quantity(item, kind->dimension, kind->min, kind->max, &values[i],
                               map->diag)) {
            map->is_bad = true;
            return false;
        }
        item = is_list ? item->next : item;
    }
    return true;
}

static void read_cost(struct doc_map *map, struct library_cost *cost)
{
    static const struct spans_kind fraction = {DIM_FRACTION, EFFICIENCY_MIN, EFFICIENCY_MAX};
    static const struct spans_kind rate = {DIM_BYTES_PER_S, RATE_MIN, RATE_MAX};
    static const struct spans_kind latency = {DIM_SECONDS, 0.0, LATENCY_MAX_S};
    cost->is_offered = read_spans(map, "base", &latency, cost->base_s) || cost->is_offered;
    (void)read_spans(map, "launch", &latency, cost->launch_s);
    for (uint32_t link = 0; link < LIBRARY_LINK_COUNT_; link++) {
        (void)read_spans(map, link_keys[link], &latency, cost->round_s[link]);
        doc_get_quantity(map, fill_keys[link], DIM_SECONDS, 0.0, LATENCY_MAX_S,
                         &cost->fill_s[link]);
    }
    doc_get_quantity(map, "fill_half", DIM_BYTES, 1.0, 1e15, &cost->fill_half_bytes);
    doc_get_quantity(map, "per_rank", DIM_SECONDS, 0.0, LATENCY_MAX_S, &cost->rank_s);
    (void)read_spans(map, "efficiency", &fraction, cost->efficiency);
    (void)read_spans(map, "maximum", &rate, cost->maximum_bytes_per_s);
    (void)read_spans(map, "maximum_per_channel", &rate, cost->channel_maximum_bytes_per_s);
}

typedef struct library_cost cost_table[LIBRARY_ALGORITHM_COUNT][LIBRARY_PROTOCOL_COUNT];

/* The algorithms of a section; `shapes` NULL: it has costs only. */
static void read_algorithms(struct doc_map *section, const char *prefix, cost_table costs,
                            struct library_shape *shapes, struct assumptions *assumptions)
{
    for (uint32_t a = 0; a < LIBRARY_ALGORITHM_COUNT; a++) {
        struct doc_map algorithm;
        section_open(&algorithm, section, library_algorithm_names[a], prefix, assumptions);
        if (shapes != NULL) {
            shapes[a] = (struct library_shape){algorithm.node != NULL, a};
            doc_get_bool(&algorithm, "automatic", &shapes[a].is_automatic);
            doc_get_choice(&algorithm, "like", library_algorithm_names, LIBRARY_ALGORITHM_COUNT,
                           &shapes[a].like);
        }
        const char *name =
            arena_printf(assumptions->arena, "%s.%s", prefix, library_algorithm_names[a]);
        for (uint32_t p = 0; p < LIBRARY_PROTOCOL_COUNT; p++) {
            struct doc_map cost;
            section_open(&cost, &algorithm, library_protocol_names[p], name, assumptions);
            read_cost(&cost, &costs[a][p]);
            section_close(&cost, &algorithm);
        }
        section_close(&algorithm, section);
    }
}

/* ---- sections ---- */

static void read_general(struct doc_map *map, struct library *library,
                         struct assumptions *assumptions)
{
    cost_table costs;
    for (uint32_t a = 0; a < LIBRARY_ALGORITHM_COUNT; a++) {
        for (uint32_t p = 0; p < LIBRARY_PROTOCOL_COUNT; p++) {
            cost_init(&costs[a][p]);
        }
    }
    struct doc_map section;
    section_need(&section, map, "algorithms", "library", assumptions);
    read_algorithms(&section, "library.algorithms", costs, library->shapes, assumptions);
    section_close(&section, map);
    for (uint32_t i = 0; i < GPU_ARCHITECTURE_COUNT_; i++) {
        struct library_architecture *architecture = &library->architectures[i];
        *architecture = (struct library_architecture){.channels = 1, .plateau = 1.0};
        memcpy(architecture->costs, costs, sizeof costs);
    }
}

/* Of all algorithms; one of them may have its own. */
static void read_launch(struct doc_map *entry, cost_table costs)
{
    double launch_s = 0.0;
    if (!doc_get_quantity(entry, "launch", DIM_SECONDS, 0.0, LATENCY_MAX_S, &launch_s)) {
        return;
    }
    for (uint32_t a = 0; a < LIBRARY_ALGORITHM_COUNT; a++) {
        for (uint32_t p = 0; p < LIBRARY_PROTOCOL_COUNT; p++) {
            for (uint32_t i = 0; i < SPAN_COUNT_; i++) {
                costs[a][p].launch_s[i] = launch_s;
            }
        }
    }
}

/* `name` is architectures, fitted or calibrated: a mapping of architectures. */
static void read_architectures(struct doc_map *map, const char *name, struct library *library,
                               struct assumptions *assumptions)
{
    struct doc_map section;
    section_open(&section, map, name, "library", assumptions);
    const char *prefix = arena_printf(assumptions->arena, "library.%s", name);
    for (uint32_t i = 0; i < GPU_ARCHITECTURE_COUNT_; i++) {
        struct library_architecture *architecture = &library->architectures[i];
        struct doc_map entry;
        section_open(&entry, &section, gpu_architecture_names[i], prefix, assumptions);
        read_launch(&entry, architecture->costs);
        doc_get_count(&entry, "channels", 1, 1024, &architecture->channels);
        doc_get_quantity(&entry, "plateau", DIM_COUNT, 1.0, 100.0, &architecture->plateau);
        const char *inner =
            arena_printf(assumptions->arena, "%s.%s", prefix, gpu_architecture_names[i]);
        struct doc_map sizes;
        section_open(&sizes, &entry, "sizes", inner, assumptions);
        section_need_quantity(&sizes, "from", DIM_BYTES, 0.0, 1e18,
                              &architecture->fitted_from_bytes);
        section_need_quantity(&sizes, "to", DIM_BYTES, 1.0, 1e18, &architecture->fitted_to_bytes);
        section_close(&sizes, &entry);
        read_algorithms(&entry, inner, architecture->costs, NULL, assumptions);
        section_close(&entry, &section);
    }
    section_close(&section, map);
}

/* How often the protocol Simple pays what the others pay once. */
static void read_simple(struct doc_map *map, struct library *library,
                        struct assumptions *assumptions)
{
    struct doc_map section;
    section_open(&section, map, "simple", "library", assumptions);
    doc_get_quantity(&section, "overheads", DIM_COUNT, 1.0, 100.0, &library->simple_overheads);
    doc_get_quantity(&section, "latencies", DIM_COUNT, 1.0, 100.0, &library->simple_latencies);
    section_close(&section, map);
}

/* Absent: its rounds have no message in them, and all of it is added. */
static void read_measured(struct doc_map *map, struct library *library,
                          struct assumptions *assumptions)
{
    struct doc_map section;
    section_open(&section, map, "measured", "library", assumptions);
    doc_get_quantity(&section, "nic_latency", DIM_SECONDS, 0.0, LATENCY_MAX_S,
                     &library->measured_message_s);
    section_close(&section, map);
}

static void read_correction(struct doc_map *map, struct library *library,
                            struct assumptions *assumptions)
{
    struct doc_map section;
    section_open(&section, map, "tree_correction", "library", assumptions);
    section_need_quantity(&section, "from", DIM_BYTES, 1.0, 1e18,
                          &library->tree_correction_from_bytes);
    for (uint32_t p = 0; p < LIBRARY_PROTOCOL_COUNT; p++) {
        const struct doc_node *list = doc_take(&section, library_protocol_names[p]);
        const uint32_t count = list != NULL ? doc_child_count(list) : 0;
        if (list != NULL && (list->kind != DOC_SEQUENCE || count > LIBRARY_CORRECTION_MAX)) {
            diag_add(map->diag, DIAG_INPUT, &list->place, "a correction is a list of at most %d",
                     LIBRARY_CORRECTION_MAX);
            diag_help(map->diag, "factors of the tree's bandwidth at `from`, twice that, ...");
            section.is_bad = true;
            continue;
        }
        const struct doc_node *item = count > 0 ? list->child : NULL;
        for (uint32_t i = 0; item != NULL; i++, item = item->next) {
            library->tree_correction[p][i] = 1.0;
            if (!doc_node_quantity(item, DIM_FRACTION, EFFICIENCY_MIN, 1.0,
                                   &library->tree_correction[p][i], map->diag)) {
                section.is_bad = true;
            }
        }
        library->tree_correction_count[p] = count;
    }
    section_close(&section, map);
}

/* A fill needs the size at which it is half there. */
static bool check_fills(const struct library *library, struct diag *diag)
{
    for (uint32_t i = 0; i < GPU_ARCHITECTURE_COUNT_; i++) {
        for (uint32_t a = 0; a < LIBRARY_ALGORITHM_COUNT; a++) {
            for (uint32_t p = 0; p < LIBRARY_PROTOCOL_COUNT; p++) {
                const struct library_cost *cost = &library->architectures[i].costs[a][p];
                const bool has_fill = cost->fill_s[LIBRARY_SCALE_UP] > 0.0 ||
                                      cost->fill_s[LIBRARY_PCIE] > 0.0 ||
                                      cost->fill_s[LIBRARY_NETWORK] > 0.0;
                if (has_fill && !(cost->fill_half_bytes > 0.0)) {
                    diag_add(diag, DIAG_INPUT, &library->place, "%s %s has a fill but no fill_half",
                             library_algorithm_names[a], library_protocol_names[p]);
                    return false;
                }
            }
        }
    }
    return true;
}

/* Costs of an algorithm that is like another are the other's, all fits included. */
static bool copy_likenesses(struct library *library, struct diag *diag)
{
    for (uint32_t a = 0; a < LIBRARY_ALGORITHM_COUNT; a++) {
        const uint32_t like = library->shapes[a].like;
        if (library->shapes[like].like != like) {
            diag_add(diag, DIAG_INPUT, &library->place, "%s is like %s, which is like another",
                     library_algorithm_names[a], library_algorithm_names[like]);
            return false;
        }
        for (uint32_t i = 0; i < GPU_ARCHITECTURE_COUNT_ && like != a; i++) {
            struct library_architecture *architecture = &library->architectures[i];
            memcpy(architecture->costs[a], architecture->costs[like],
                   sizeof architecture->costs[a]);
        }
    }
    return true;
}

bool library_read(const struct doc_node *node, struct library *library,
                  struct assumptions *assumptions, struct diag *diag)
{
    *library = (struct library){
        .name = "inline", .simple_overheads = 1.0, .simple_latencies = 1.0, .place = node->place};
    struct doc_map map;
    if (!doc_map_open(&map, node, diag)) {
        return false;
    }
    doc_get_text(&map, "library", &library->name);
    library->title = library->name;
    doc_get_text(&map, "title", &library->title);
    const struct doc_node *extends = doc_take(&map, "extends");
    assumptions_take(assumptions, &map, "library");
    if (extends != NULL) {
        diag_add(diag, DIAG_INPUT, &extends->place,
                 "a library inside a file cannot extend another");
        diag_help(diag, "put it into a file of its own and name that");
        map.is_bad = true;
    }
    doc_get_quantity(&map, "network_overhead", DIM_SECONDS, 0.0, LATENCY_MAX_S,
                     &library->network_overhead_s);
    read_measured(&map, library, assumptions);
    read_simple(&map, library, assumptions);
    doc_get_quantity(&map, "plateau_from", DIM_BYTES, 0.0, 1e18, &library->plateau_from_bytes);
    read_general(&map, library, assumptions);
    read_correction(&map, library, assumptions);
    read_architectures(&map, "architectures", library, assumptions);
    read_architectures(&map, "fitted", library, assumptions);
    read_architectures(&map, "calibrated", library, assumptions);
    return doc_finish(&map) && copy_likenesses(library, diag) && check_fills(library, diag);
}

/* ---- a file that extends another ---- */

/* Gives `target` the child `key` of `source`, if it has one, under `name`. */
static void take_child(struct arena *arena, struct doc_node *target, const struct doc_node *source,
                       const char *key, const char *name)
{
    const struct doc_node *child = doc_find(source, key);
    if (child == NULL) {
        return;
    }
    struct doc_node **link = doc_link(target, name);
    struct doc_node *copy = doc_copy(arena, child);
    copy->key = name;
    copy->next = *link != NULL ? (*link)->next : NULL;
    *link = copy;
}

/* An overlay holds nothing else. */
static bool check_overlay(const struct doc_node *overlay, struct diag *diag)
{
    struct doc_map map;
    if (!doc_map_open(&map, overlay, diag)) {
        return false;
    }
    static const char *const keys[] = {"library", "extends", "title",     "source",
                                       "note",    "fitted",  "provenance"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        doc_take(&map, keys[i]);
    }
    return doc_finish(&map);
}

/* ASSUMES: a library extends one that extends none: two layers of fits are enough. */
struct doc_node *library_open(struct arena *arena, const struct catalogue *catalogue,
                              const struct doc_node *reference, struct diag *diag)
{
    struct doc_node *root = catalogue_open(arena, catalogue, CATALOGUE_LIBRARY, reference, diag);
    const struct doc_node *extends = root != NULL ? doc_find(root, "extends") : NULL;
    if (extends == NULL) {
        return root;
    }
    if (!check_overlay(root, diag)) {
        return NULL;
    }
    struct doc_node *base = catalogue_open(arena, catalogue, CATALOGUE_LIBRARY, extends, diag);
    if (base == NULL) {
        return NULL;
    }
    if (doc_find(base, "extends") != NULL) {
        diag_add(diag, DIAG_INPUT, &extends->place, "'%s' extends another library itself",
                 extends->text != NULL ? extends->text : "it");
        diag_help(diag, "extend the library that it extends");
        return NULL;
    }
    take_child(arena, base, root, "library", "library");
    take_child(arena, base, root, "title", "title");
    take_child(arena, base, root, "source", "source");
    take_child(arena, base, root, "fitted", "calibrated");
    return base;
}
