/* The switches, links and routes of an explicit fabric: the tables of their keys, and whether they
 * fit together as far as one line tells; input/cluster_ways looks at the whole.
 */
#include "input/network/cluster_explicit.h"

#include "base/arena.h"
#include "base/check.h"

#include <string.h>

enum {
    LINKS_MAX = 8192,
    ROUTES_MAX = 8192,
    RANGES_MAX = 4096, /* in one list */
};
#define LINK_MIN 1e3 /* bytes/s */
#define LINK_MAX 1e15

/* A list that is being read. */
struct list {
    const struct schema_reader *reader;
    const struct schema *keys; /* of an entry */
    struct cluster *cluster;
    struct arena *arena;
    size_t port_capacity;
};

struct range {
    int64_t first, last; /* both included */
};

struct ranges {
    struct range *items;
    uint32_t count; /* 0 when absent or bad */
};

/* What one of them says, of whichever list. */
struct entry {
    const struct list *list;
    struct cluster_switch own;
    struct ranges nodes, nics;
    struct cluster_link link;
    struct cluster_route route;
};

static bool complain(const struct list *list, const struct place *place, const char *text)
{
    list->reader->map->is_bad = true;
    return diag_add(list->reader->map->diag, DIAG_INPUT, place, "%s", text);
}

/* The switch of that name; the count of switches when there is none. */
static uint32_t find_switch(const struct cluster *cluster, const char *name)
{
    uint32_t number = 0;
    while (number < cluster->switch_count && strcmp(cluster->switches[number].name, name) != 0) {
        number++;
    }
    return number;
}

/* ---- ranges ------------------------------------------------------------------------- */

/* Digits of a number up to `most`; NULL, or what follows them. */
static const char *scan_number(const char *text, int64_t most, int64_t *value)
{
    if (*text < '0' || *text > '9') {
        return NULL;
    }
    for (*value = 0; *text >= '0' && *text <= '9'; text++) {
        *value = *value * 10 + (*text - '0');
        if (*value > most) {
            return NULL;
        }
    }
    return text;
}

/* "0-31,40": the next range of the text, behind a comma unless it is the first. */
static const char *scan_range(const char *text, bool is_first, int64_t most, struct range *range)
{
    if (!is_first && *text++ != ',') {
        return NULL;
    }
    text += strspn(text, " ");
    text = scan_number(text, most, &range->first);
    range->last = range->first;
    if (text != NULL && *text == '-') {
        text = scan_number(text + 1, most, &range->last);
    }
    return text == NULL || range->last < range->first ? NULL : text + strspn(text, " ");
}

/* All of a text, each up to `most`; false when it is none. */
static bool scan_ranges(struct arena *arena, const char *text, int64_t most, struct ranges *ranges)
{
    size_t capacity = 0;
    while (text != NULL && (*text != '\0' || ranges->count == 0)) {
        struct range range = {0, 0};
        text =
            ranges->count < RANGES_MAX ? scan_range(text, ranges->count == 0, most, &range) : NULL;
        if (text != NULL) {
            ranges->items = arena_grow(arena, ranges->items, &capacity, (size_t)ranges->count + 1,
                                       sizeof range);
            ranges->items[ranges->count++] = range;
        }
    }
    return text != NULL;
}

static void read_ranges(const struct schema_reader *reader, const struct schema_row *row,
                        int64_t most, struct ranges *ranges)
{
    struct doc_map *map = reader->map;
    const struct doc_node *node = doc_take(map, schema_key(row));
    const char *text = node != NULL && node->kind == DOC_SCALAR ? node->text : NULL;
    if (node != NULL && !scan_ranges(reader->assumptions->arena, text, most, ranges)) {
        diag_add(map->diag, DIAG_INPUT, &node->place,
                 "'%s' must be numbers up to %lld and runs of them, such as 0-15,20",
                 schema_key(row), (long long)most);
        map->is_bad = true;
        ranges->count = 0;
    }
}

static void read_nodes(const struct schema_reader *reader, const struct schema_row *row)
{
    struct entry *entry = reader->object;
    read_ranges(reader, row, EXPLICIT_NODES_MAX - 1, &entry->nodes);
}

static void read_nics(const struct schema_reader *reader, const struct schema_row *row)
{
    struct entry *entry = reader->object;
    read_ranges(reader, row, entry->list->cluster->nics_per_node - 1, &entry->nics);
}

/* ---- the tables --------------------------------------------------------------------- */

/* A switch by its name. */
static void read_switch_name(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *map = reader->map;
    const struct entry *entry = reader->object;
    const struct cluster *cluster = entry->list->cluster;
    const char *name = NULL;
    if (!doc_require(map, schema_key(row)) || !doc_get_text(map, schema_key(row), &name)) {
        return;
    }
    const uint32_t number = find_switch(cluster, name);
    if (number < cluster->switch_count) {
        *(uint32_t *)((char *)reader->object + row->offset) = number;
        return;
    }
    const char **names = arena_array(entry->list->arena, cluster->switch_count, sizeof *names);
    for (uint32_t i = 0; i < cluster->switch_count; i++) {
        names[i] = cluster->switches[i].name;
    }
    diag_add(map->diag, DIAG_INPUT, &doc_take(map, schema_key(row))->place,
             "there is no switch '%.60s'", name);
    diag_help_nearest(map->diag, diag_nearest(name, names, cluster->switch_count), NULL);
    map->is_bad = true;
}

#define SCHEMA_OBJECT struct entry
#include "input/schema/rows.h"

#define SWITCH_NAME(path_, member_, help_)                                   \
    SCHEMA_ROW(path_, SCHEMA_TEXT, SCHEMA_MEMBER(uint32_t, member_), help_), \
        .is_required = true, .read = read_switch_name

static const struct schema_row switch_rows[] = {
    {TEXT("name", own.name, "What links and routes call it."), .is_required = true},
    {CUSTOM("nodes", read_nodes, "The nodes that hang on it, counted from 0: 0-15,20."),
     .note = "none"},
    {CUSTOM("nics", read_nics, "Which NICs of these nodes hang on it, counted from 0: 3."),
     .note = "all"},
};
static const struct schema_row link_rows[] = {
    {SWITCH_NAME("from", link.from, "A switch that it joins.")},
    {SWITCH_NAME("to", link.to, "The other.")},
    {QUANTITY("bandwidth", link.bytes_per_s, DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
              "Of one cable, one way."),
     .is_required = true},
    {COUNT("count", link.count, 1, EXPLICIT_CABLES_MAX, "Cables between the two."),
     .standard = "1"},
};
static const struct schema_row route_rows[] = {
    {SWITCH_NAME("at", route.at, "The switch that sends so.")},
    {SWITCH_NAME("to", route.to, "The switch that traffic goes to.")},
    {SWITCH_NAME("via", route.via, "The next switch on its way.")},
};

#define OF_FABRIC(list_, rows_) \
    SCHEMA_OF("cluster.fabric." list_, "cluster.fabric." list_ ".", rows_)
const struct schema explicit_lists[EXPLICIT_LIST_COUNT] = {
    [EXPLICIT_SWITCHES] = OF_FABRIC("switches", switch_rows),
    [EXPLICIT_LINKS] = OF_FABRIC("links", link_rows),
    [EXPLICIT_ROUTES] = OF_FABRIC("routes", route_rows),
};

/* Reads an entry's keys; false when one is wrong. */
static bool read_entry(const struct list *list, const struct doc_node *item, struct entry *entry)
{
    const struct schema_reader *reader = list->reader;
    *entry = (struct entry){.list = list, .own = {"", item->place}, .route.place = item->place};
    const bool is_good =
        schema_read_document(list->keys, item, entry, reader->assumptions, reader->map->diag);
    reader->map->is_bad = reader->map->is_bad || !is_good;
    return is_good;
}

/* ---- switches ----------------------------------------------------------------------- */

static void add_port(struct list *list, const struct range *nodes, int64_t nic)
{
    struct cluster *cluster = list->cluster;
    cluster->ports = arena_grow(list->arena, cluster->ports, &list->port_capacity,
                                (size_t)cluster->port_count + 1, sizeof *cluster->ports);
    cluster->ports[cluster->port_count++] =
        (struct cluster_port){cluster->switch_count, nodes->first, nodes->last, nic};
}

/* Every range of nodes with every NIC that is named. */
static void add_ports(struct list *list, const struct entry *entry)
{
    for (uint32_t i = 0; i < entry->nodes.count; i++) {
        if (entry->nics.count == 0) {
            add_port(list, &entry->nodes.items[i], -1);
        }
        for (uint32_t k = 0; k < entry->nics.count; k++) {
            const struct range *nics = &entry->nics.items[k];
            for (int64_t nic = nics->first; nic <= nics->last; nic++) {
                add_port(list, &entry->nodes.items[i], nic);
            }
        }
    }
}

/* A switch with a mistake is kept all the same: else each link to it would be called wrong, too. */
static void read_switches(struct list *list, const struct doc_node *item, uint32_t count)
{
    struct cluster *cluster = list->cluster;
    cluster->switches = arena_array(list->arena, count, sizeof *cluster->switches);
    for (; item != NULL; item = item->next) {
        struct entry entry;
        (void)read_entry(list, item, &entry);
        if (find_switch(cluster, entry.own.name) < cluster->switch_count) {
            complain(list, &item->place,
                     arena_printf(list->arena, "there are two switches '%.60s'", entry.own.name));
        }
        add_ports(list, &entry);
        cluster->switches[cluster->switch_count++] = entry.own;
    }
}

/* ---- links and routes --------------------------------------------------------------- */

static bool joins(const struct cluster_link *link, uint32_t a, uint32_t b)
{
    return (link->from == a && link->to == b) || (link->from == b && link->to == a);
}

static bool are_joined(const struct cluster *cluster, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        if (joins(&cluster->links[i], a, b)) {
            return true;
        }
    }
    return false;
}

static void add_link(struct list *list, const struct cluster_link *link, const struct place *place)
{
    struct cluster *cluster = list->cluster;
    const char *from = cluster->switches[link->from].name;
    const char *to = cluster->switches[link->to].name;
    if (link->from == link->to) {
        complain(list, place,
                 arena_printf(list->arena, "a link from switch '%.60s' to itself", from));
    } else if (are_joined(cluster, link->from, link->to)) {
        complain(
            list, place,
            arena_printf(list->arena, "switches '%.60s' and '%.60s' are joined twice", from, to));
        diag_help(list->reader->map->diag, "several cables are one link with a count");
    } else {
        cluster->links[cluster->link_count++] = *link;
    }
}

static void read_links(struct list *list, const struct doc_node *item, uint32_t count)
{
    list->cluster->links = arena_array(list->arena, count, sizeof *list->cluster->links);
    for (; item != NULL; item = item->next) {
        struct entry entry;
        if (read_entry(list, item, &entry)) {
            add_link(list, &entry.link, &item->place);
        }
    }
}

static void add_route(struct list *list, const struct cluster_route *route)
{
    struct cluster *cluster = list->cluster;
    const char *at = cluster->switches[route->at].name;
    const char *to = cluster->switches[route->to].name;
    const char *via = cluster->switches[route->via].name;
    struct arena *arena = list->arena;
    if (route->at == route->to) {
        complain(list, &route->place,
                 arena_printf(arena, "a route from switch '%.60s' to itself", at));
        return;
    }
    if (!are_joined(cluster, route->at, route->via)) {
        complain(list, &route->place,
                 arena_printf(arena, "no link joins '%.60s' and '%.60s'", at, via));
        return;
    }
    for (uint32_t i = 0; i < cluster->route_count; i++) {
        if (cluster->routes[i].at == route->at && cluster->routes[i].to == route->to) {
            complain(list, &route->place,
                     arena_printf(arena, "a second route at '%.60s' to '%.60s'", at, to));
            return;
        }
    }
    cluster->routes[cluster->route_count++] = *route;
}

static void read_routes(struct list *list, const struct doc_node *item, uint32_t count)
{
    list->cluster->routes = arena_array(list->arena, count, sizeof *list->cluster->routes);
    for (; item != NULL; item = item->next) {
        struct entry entry;
        if (read_entry(list, item, &entry)) {
            add_route(list, &entry.route);
        }
    }
}

/* ---- all of it ---------------------------------------------------------------------- */

void cluster_explicit_read(const struct schema_reader *reader, const struct schema_row *row,
                           const struct doc_node *node)
{
    static const struct {
        uint32_t most;
        void (*read)(struct list *list, const struct doc_node *item, uint32_t count);
    } kinds[EXPLICIT_LIST_COUNT] = {
        [EXPLICIT_SWITCHES] = {EXPLICIT_SWITCHES_MAX, read_switches},
        [EXPLICIT_LINKS] = {LINKS_MAX, read_links},
        [EXPLICIT_ROUTES] = {ROUTES_MAX, read_routes},
    };
    const ptrdiff_t kind = row->inner - explicit_lists;
    struct arena *arena = reader->assumptions->arena;
    struct list list = {reader, row->inner, reader->object, arena, 0};
    const uint32_t count = doc_child_count(node);
    sim_assert(kind >= 0 && kind < EXPLICIT_LIST_COUNT);
    if (node->kind != DOC_SEQUENCE) {
        complain(&list, &node->place, arena_printf(arena, "'%s' must be a list", schema_key(row)));
    } else if (count > kinds[kind].most) {
        complain(&list, &node->place,
                 arena_printf(arena, "'%s' has %lu items; at most %lu are read", schema_key(row),
                              (unsigned long)count, (unsigned long)kinds[kind].most));
    } else {
        kinds[kind].read(&list, node->child, count);
    }
}
