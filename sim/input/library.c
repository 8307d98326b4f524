/* A collective library: the table of its keys. General costs are read first, then what an
 * architecture says otherwise, then what was fitted, then what a calibration file put on top: each
 * over what is there already.
 */
#include "input/library.h"

#include "base/arena.h"

#include <math.h>
#include <string.h>

/* What lies over the general costs, in the order in which it is read. */
static const char *const layer_names[] = {"architectures", "fitted", "calibrated"};

#define LATENCY_MAX_S 1.0
#define EFFICIENCY_MIN 1e-4
#define EFFICIENCY_MAX 1.0 /* more would be faster than the simulated links */
#define RATE_MIN 1e3       /* bytes/s */
#define RATE_MAX 1e15
#define BYTES_MAX 1e18

enum library_span library_span_of(uint32_t nodes)
{
    return nodes == 1 ? SPAN_ONE_NODE : nodes == 2 ? SPAN_TWO_NODES : SPAN_MANY_NODES;
}

/* ---- keys that are more than a value ---- */

/* One value for all, or one each; true when there is one. */
static bool read_spans(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *map = reader->map;
    void *member = (char *)reader->object + row->offset;
    double *values = member;
    const struct doc_node *node = doc_take(map, schema_key(row));
    if (node == NULL) {
        return false;
    }
    const bool is_list = node->kind == DOC_SEQUENCE;
    if (is_list && doc_child_count(node) != SPAN_COUNT_) {
        diag_add(map->diag, DIAG_INPUT, &node->place, "'%s' is one value or three",
                 schema_key(row));
        diag_help(map->diag, "three: on one node, on two, on more");
        map->is_bad = true;
        return false;
    }
    const struct doc_node *item = is_list ? node->child : node;
    for (uint32_t i = 0; i < SPAN_COUNT_; i++) {
        if (!doc_node_quantity(item, row->dimension, row->least, row->most, &values[i],
                               map->diag)) {
            map->is_bad = true;
            return false;
        }
        item = is_list ? item->next : item;
    }
    return true;
}

static void read_by_nodes(const struct schema_reader *reader, const struct schema_row *row)
{
    (void)read_spans(reader, row);
}

/* A cost with a base is offered. */
static void read_base(const struct schema_reader *reader, const struct schema_row *row)
{
    char *base = (char *)reader->object + row->offset;
    struct library_cost *cost =
        (struct library_cost *)(base - offsetof(struct library_cost, base_s));
    cost->is_offered = read_spans(reader, row) || cost->is_offered;
}

/* Of all algorithms; one of them may have its own. */
static void read_launch(const struct schema_reader *reader, const struct schema_row *row)
{
    char *architectures = (char *)reader->object + offsetof(struct library, architectures);
    struct library_architecture *architecture = (struct library_architecture *)architectures;
    double launch_s = 0.0;
    if (!doc_get_quantity(reader->map, schema_key(row), row->dimension, row->least, row->most,
                          &launch_s)) {
        return;
    }
    for (uint32_t a = 0; a < ALGORITHM_COUNT_; a++) {
        for (uint32_t p = 0; p < PROTOCOL_COUNT_; p++) {
            for (uint32_t i = 0; i < SPAN_COUNT_; i++) {
                architecture->costs[a][p].launch_s[i] = launch_s;
            }
        }
    }
}

static void read_correction(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *map = reader->map;
    struct library_correction *correction =
        &((struct library *)reader->object)->tree_corrections[reader->index];
    const struct doc_node *list = doc_take(map, row->names[reader->index]);
    const uint32_t count = list != NULL ? doc_child_count(list) : 0;
    if (list != NULL && (list->kind != DOC_SEQUENCE || count > LIBRARY_CORRECTION_MAX)) {
        diag_add(map->diag, DIAG_INPUT, &list->place, "a correction is a list of at most %d",
                 LIBRARY_CORRECTION_MAX);
        diag_help(map->diag, "factors of the tree's bandwidth at `from`, twice that, ...");
        map->is_bad = true;
        return;
    }
    const struct doc_node *item = count > 0 ? list->child : NULL;
    for (; item != NULL; item = item->next) {
        double *factor = &correction->factors[correction->count++];
        if (!doc_node_quantity(item, DIM_FRACTION, EFFICIENCY_MIN, 1.0, factor, map->diag)) {
            map->is_bad = true;
        }
    }
}

/* Those that extend another are put over it before they are read, by library_open. */
static void refuse_extends(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct doc_node *extends = doc_take(reader->map, schema_key(row));
    if (extends != NULL) {
        diag_add(reader->map->diag, DIAG_INPUT, &extends->place,
                 "a library inside a file cannot extend another");
        diag_help(reader->map->diag, "put it into a file of its own and name that");
        reader->map->is_bad = true;
    }
}

/* Every architecture begins with the general costs. */
static bool spread_costs(const struct schema_reader *reader, const struct schema_row *row)
{
    struct library *library = reader->object;
    (void)row;
    for (uint32_t i = 0; i < GPU_ARCHITECTURE_COUNT_; i++) {
        for (uint32_t a = 0; a < ALGORITHM_COUNT_; a++) {
            memcpy(library->architectures[i].costs[a], library->shapes[a].costs,
                   sizeof library->shapes[a].costs);
        }
    }
    return true;
}

/* ---- the table ---- */

#define SCHEMA_OBJECT struct library
#include "input/schema/rows.h"

/* Members and texts that are put together take no parentheses.
 * NOLINTBEGIN(bugprone-macro-parentheses) */
#define BY_NODES(path_, member_, dimension_, least_, most_, help_) \
    QUANTITY(path_, member_[0], dimension_, least_, most_,         \
             help_ "; or a list of three: on one node (NVLink domain), on two, on more.")
#define LATENCY(path_, member_, help_) \
    BY_NODES(path_, member_, DIM_SECONDS, 0.0, LATENCY_MAX_S, help_), .read = read_by_nodes
#define FILL(path_, member_, help_) QUANTITY(path_, member_, DIM_SECONDS, 0.0, LATENCY_MAX_S, help_)

/* What an algorithm costs with a protocol, at a path and in a member. */
#define COSTS(at_, cost_)                                                                         \
    {BY_NODES(at_ ".base", cost_.base_s, DIM_SECONDS, 0.0, LATENCY_MAX_S,                         \
              "Of a collective (without a base the pair is not offered)"),                        \
     .read = read_base},                                                                          \
        {LATENCY(at_ ".launch", cost_.launch_s,                                                   \
                 "On top of base, in place of the architecture's launch")},                       \
        {LATENCY(at_ ".nvlink", cost_.round_s[LIBRARY_SCALE_UP],                                  \
                 "Of a round over NVLink or another scale-up network")},                          \
        {FILL(at_ ".nvlink_fill", cost_.fill_s[LIBRARY_SCALE_UP],                                 \
              "A round over NVLink takes up to this longer for large buffers: their pieces "      \
              "grow up to a limit, and a pipeline fills with one piece a round.")},               \
        {LATENCY(at_ ".pcie", cost_.round_s[LIBRARY_PCIE], "Of a round over PCIe")},              \
        {FILL(at_ ".pcie_fill", cost_.fill_s[LIBRARY_PCIE], "As nvlink_fill, over PCIe.")},       \
        {LATENCY(at_ ".network", cost_.round_s[LIBRARY_NETWORK], "Of a round between nodes")},    \
        {FILL(at_ ".network_fill", cost_.fill_s[LIBRARY_NETWORK],                                 \
              "As nvlink_fill, between nodes.")},                                                 \
        {QUANTITY(at_ ".fill_half", cost_.fill_half_bytes, DIM_BYTES, 1.0, 1e15,                  \
                  "The buffer at which rounds take half of a fill longer.")},                     \
        {QUANTITY(at_ ".piece", cost_.piece_bytes, DIM_BYTES, 0.0, BYTES_MAX,                     \
                  "What a node has whole before it sends it to the next: along a chain of nodes " \
                  "(a broadcast, a reduction to one rank) each waits for its first piece.")},     \
        {QUANTITY(at_ ".per_rank", cost_.rank_s, DIM_SECONDS, 0.0, LATENCY_MAX_S,                 \
                  "Of each rank: PAT has a linear part.")},                                       \
        {BY_NODES(at_ ".efficiency", cost_.efficiency, DIM_FRACTION, EFFICIENCY_MIN,              \
                  EFFICIENCY_MAX, "Of the route's capacity on an idle fabric"),                   \
         .read = read_by_nodes},                                                                  \
        {BY_NODES(at_ ".maximum", cost_.maximum_bytes_per_s, DIM_BYTES_PER_S, RATE_MIN, RATE_MAX, \
                  "Bus bandwidth at most"),                                                       \
         .read = read_by_nodes},                                                                  \
    {                                                                                             \
        BY_NODES(at_ ".maximum_per_channel", cost_.channel_maximum_bytes_per_s, DIM_BYTES_PER_S,  \
                 RATE_MIN, RATE_MAX,                                                              \
                 "Bus bandwidth at most of each of the architecture's channels"),                 \
            .read = read_by_nodes                                                                 \
    }

#define ALGORITHM(path_, array_) \
    EACH(path_, array_, collective_algorithm_names, ALGORITHM_COUNT_, "An algorithm.")
#define PROTOCOL(path_, array_)                                     \
    EACH(path_, array_, collective_protocol_names, PROTOCOL_COUNT_, \
         "What it costs with a protocol.")
#define ARCHITECTURE "LAYER.ARCHITECTURE"
/* NOLINTEND(bugprone-macro-parentheses) */

static const struct schema_row rows[] = {
    {TEXT("library", name, "Its name, which is that of its file, too.")},
    {TEXT("title", title, "What people call it."), AS(const char *, name)},
    {CUSTOM("extends", refuse_extends,
            "Another library, under what this file holds as fitted, and it may hold nothing else: "
            "what `stoker calibrate` writes.")},
    {QUANTITY("network_overhead", network_overhead_s, DIM_SECONDS, 0.0, LATENCY_MAX_S,
              "A ring's round takes this long at least on several nodes."),
     .standard = "0 s"},
    {SECTION("measured", "Where the constants of rounds between nodes were measured.")},
    {QUANTITY("measured.nic_latency", measured_message_s, DIM_SECONDS, 0.0, LATENCY_MAX_S,
              "What these have in them of the NICs' latency, in place of which a round gets the "
              "cluster's."),
     .standard = "0 s"},
    {SECTION("simple", "What the protocol Simple pays so many times where others pay it once.")},
    {QUANTITY("simple.overheads", simple_overheads, DIM_COUNT, 1.0, 100.0,
              "Times the network_overhead."),
     .standard = "1"},
    {QUANTITY("simple.latencies", simple_latencies, DIM_COUNT, 1.0, 100.0,
              "Messages that a round between nodes is."),
     .standard = "1"},
    {QUANTITY("plateau_from", plateau_from_bytes, DIM_BYTES, 0.0, BYTES_MAX,
              "Bytes of a rank and channel where the plateau of an architecture begins."),
     .standard = "0 B"},

    {SECTION("algorithms", "What each algorithm costs with each protocol on any GPU."),
     .is_required = true, .check = spread_costs},
    {ALGORITHM("algorithms.ALGORITHM", shapes)},
    {BOOL("algorithms.ALGORITHM.automatic", shapes[0].is_automatic,
          "The library's own choice may fall on it."),
     .standard = "true"},
    {CHOICE("algorithms.ALGORITHM.like", shapes[0].like, collective_algorithm_names,
            ALGORITHM_COUNT_, "The algorithm whose costs it has, all fits included."),
     .note = "itself"},
    {PROTOCOL("algorithms.ALGORITHM.PROTOCOL", shapes[0].costs)},
    COSTS("algorithms.ALGORITHM.PROTOCOL", shapes[0].costs[0]),

    {SECTION("tree_correction", "Factors of the tree's bandwidth by size.")},
    {QUANTITY("tree_correction.from", tree_correction_from_bytes, DIM_BYTES, 1.0, BYTES_MAX,
              "The size of the first factor; the next are of twice that, four times, ..."),
     .is_required = true},
    {ONLY_EACH("tree_correction.PROTOCOL", collective_protocol_names, PROTOCOL_COUNT_,
               "The factors with this protocol: [1, 1, 0.9]."),
     .read = read_correction},

    {ONLY_EACH("LAYER", layer_names, sizeof layer_names / sizeof *layer_names,
               "What holds in place of the above: the library's own constants by architecture, "
               "over these what measurements say, over these the fitted of a file that extends "
               "this one.")},
    {EACH(ARCHITECTURE, architectures, gpu_architecture_names, GPU_ARCHITECTURE_COUNT_,
          "What holds on GPUs of an architecture.")},
    {QUANTITY(ARCHITECTURE ".launch", architectures[0].costs[0][0].launch_s[0], DIM_SECONDS, 0.0,
              LATENCY_MAX_S, "Any collective takes this much longer."),
     .read = read_launch},
    {COUNT(ARCHITECTURE ".channels", architectures[0].channels, 1, 1024,
           "Channels that a ring has on one node.")},
    {QUANTITY(ARCHITECTURE ".plateau", architectures[0].plateau, DIM_COUNT, 1.0, 100.0,
              "Latency of a long Simple ring all-reduce over nodes, as a factor.")},
    {SECTION(ARCHITECTURE ".sizes", "What was measured; the rest is extrapolated.")},
    {QUANTITY(ARCHITECTURE ".sizes.from", architectures[0].fitted_from_bytes, DIM_BYTES, 0.0,
              BYTES_MAX, "The smallest size."),
     .is_required = true},
    {QUANTITY(ARCHITECTURE ".sizes.to", architectures[0].fitted_to_bytes, DIM_BYTES, 1.0, BYTES_MAX,
              "The largest size."),
     .is_required = true},
    {CUSTOM(ARCHITECTURE ".choices", library_read_choices,
            "What the machine was seen to run, in place of what takes least time here: of a "
            "group's own GPUs and nodes, else of those on as many nodes (one, two, more); of "
            "several rows the fastest: [{operation: all-reduce, nodes: 8, gpus: 64, from: 1 MiB, "
            "algorithm: tree, protocol: Simple}]."),
     .standard = "[]", .inner = &library_choice_keys},
    {ALGORITHM(ARCHITECTURE ".ALGORITHM", architectures[0].costs)},
    {PROTOCOL(ARCHITECTURE ".ALGORITHM.PROTOCOL", architectures[0].costs[0])},
    COSTS(ARCHITECTURE ".ALGORITHM.PROTOCOL", architectures[0].costs[0][0]),
};
const struct schema library_schema = SCHEMA_OF("library", "library.", rows);

/* ---- all of it ---- */

/* A fill needs the size at which it is half there. */
static bool check_fills(const struct library *library, struct diag *diag)
{
    for (uint32_t i = 0; i < GPU_ARCHITECTURE_COUNT_; i++) {
        for (uint32_t a = 0; a < ALGORITHM_COUNT_; a++) {
            for (uint32_t p = 0; p < PROTOCOL_COUNT_; p++) {
                const struct library_cost *cost = &library->architectures[i].costs[a][p];
                const bool has_fill = cost->fill_s[LIBRARY_SCALE_UP] > 0.0 ||
                                      cost->fill_s[LIBRARY_PCIE] > 0.0 ||
                                      cost->fill_s[LIBRARY_NETWORK] > 0.0;
                if (has_fill && !(cost->fill_half_bytes > 0.0)) {
                    diag_add(diag, DIAG_INPUT, &library->place, "%s %s has a fill but no fill_half",
                             collective_algorithm_names[a], collective_protocol_names[p]);
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
    for (uint32_t a = 0; a < ALGORITHM_COUNT_; a++) {
        const uint32_t like = library->shapes[a].like;
        if (library->shapes[like].like != like) {
            diag_add(diag, DIAG_INPUT, &library->place, "%s is like %s, which is like another",
                     collective_algorithm_names[a], collective_algorithm_names[like]);
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

static void cost_init(struct library_cost *cost)
{
    *cost = (struct library_cost){0};
    for (uint32_t i = 0; i < SPAN_COUNT_; i++) {
        cost->efficiency[i] = 1.0;
        cost->maximum_bytes_per_s[i] = HUGE_VAL;
        cost->channel_maximum_bytes_per_s[i] = HUGE_VAL;
    }
}

/* What a library is before its file has said anything. */
static void library_init(struct library *library, const struct place *place)
{
    *library = (struct library){.name = "inline", .place = *place};
    for (uint32_t a = 0; a < ALGORITHM_COUNT_; a++) {
        library->shapes[a].like = a;
        for (uint32_t p = 0; p < PROTOCOL_COUNT_; p++) {
            cost_init(&library->shapes[a].costs[p]);
        }
    }
    for (uint32_t i = 0; i < GPU_ARCHITECTURE_COUNT_; i++) {
        library->architectures[i] = (struct library_architecture){.channels = 1, .plateau = 1.0};
    }
}

bool library_read(const struct doc_node *node, struct library *library,
                  struct assumptions *assumptions, struct diag *diag)
{
    library_init(library, &node->place);
    return schema_read_document(&library_schema, node, library, assumptions, diag) &&
           copy_likenesses(library, diag) && check_fills(library, diag);
}

static bool read_object(const struct doc_node *node, void *object, struct assumptions *assumptions,
                        struct diag *diag)
{
    return library_read(node, object, assumptions, diag);
}
const struct doc_reader library_reader = {sizeof(struct library), read_object};

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
    doc_own_children(arena, base);
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
