/* Reads the switches, links and routes of an explicit fabric and checks that they fit
 * together as far as one line tells; input/cluster_ways looks at the whole.
 */
#include "input/cluster_explicit.h"

#include "base/arena.h"
#include "base/check.h"

#include <stdlib.h>
#include <string.h>

enum {
    LINKS_MAX = 8192,
    ROUTES_MAX = 8192,
    RANGES_MAX = 4096, /* in one list */
};
static const double LINK_MIN = 1e3; /* bytes/s */
static const double LINK_MAX = 1e15;

/* What is worked on here. */
struct reader {
    struct arena *arena;
    struct doc_map *section;
    struct cluster *cluster;
    const char **names; /* of the switches, for messages */
    size_t port_capacity;
};

static bool complain(const struct reader *reader, const struct place *place, const char *text)
{
    reader->section->is_bad = true;
    return diag_add(reader->section->diag, DIAG_INPUT, place, "%s", text);
}

/* ---- lists of mappings -------------------------------------------------------------- */

/* The items under `key`, which may be absent; false when they are no list, or too many. */
static bool take_list(const struct reader *reader, const char *key, uint32_t most,
                      const struct doc_node **first, uint32_t *count)
{
    const struct doc_node *list = doc_take(reader->section, key);
    *first = NULL;
    *count = 0;
    if (list == NULL) {
        return true;
    }
    if (list->kind != DOC_SEQUENCE) {
        return complain(reader, &list->place,
                        arena_printf(reader->arena, "'%s' must be a list", key));
    }
    *count = doc_child_count(list);
    if (*count > most) {
        return complain(reader, &list->place,
                        arena_printf(reader->arena, "'%s' has %lu items; at most %lu are read", key,
                                     (unsigned long)*count, (unsigned long)most));
    }
    *first = list->child;
    return true;
}

static void close_item(const struct reader *reader, struct doc_map *map)
{
    if (!doc_finish(map)) {
        reader->section->is_bad = true;
    }
}

/* A switch by its name; false when there is none of that name. */
static bool take_switch(const struct reader *reader, struct doc_map *map, const char *key,
                        uint32_t *number)
{
    const char *name = NULL;
    doc_require(map, key);
    if (!doc_get_text(map, key, &name)) {
        return false;
    }
    const struct cluster *cluster = reader->cluster;
    for (uint32_t i = 0; i < cluster->switch_count; i++) {
        if (strcmp(cluster->switches[i].name, name) == 0) {
            *number = i;
            return true;
        }
    }
    const struct doc_node *node = doc_take(map, key);
    diag_add(map->diag, DIAG_INPUT, &node->place, "there is no switch '%.60s'", name);
    diag_help_nearest(map->diag, diag_nearest(name, reader->names, cluster->switch_count), NULL);
    map->is_bad = true;
    return false;
}

/* ---- ranges ------------------------------------------------------------------------- */

struct range {
    int64_t first, last; /* both included */
};

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

/* Reads all ranges under `key`; their number, 0 when absent or bad. */
static uint32_t take_ranges(const struct reader *reader, struct doc_map *map, const char *key,
                            int64_t most, struct range **ranges)
{
    const struct doc_node *node = doc_take(map, key);
    size_t capacity = 0;
    uint32_t count = 0;
    *ranges = NULL;
    if (node == NULL) {
        return 0;
    }
    const char *text = node->kind == DOC_SCALAR ? node->text : NULL;
    while (text != NULL && (*text != '\0' || count == 0)) {
        struct range range = {0, 0};
        text = count < RANGES_MAX ? scan_range(text, count == 0, most, &range) : NULL;
        if (text != NULL) {
            *ranges =
                arena_grow(reader->arena, *ranges, &capacity, (size_t)count + 1, sizeof range);
            (*ranges)[count++] = range;
        }
    }
    if (text == NULL) {
        diag_add(map->diag, DIAG_INPUT, &node->place,
                 "'%s' must be numbers up to %lld and runs of them, such as 0-15,20", key,
                 (long long)most);
        map->is_bad = true;
        return 0;
    }
    return count;
}

/* ---- switches ----------------------------------------------------------------------- */

static void add_port(struct reader *reader, const struct range *nodes, int64_t nic)
{
    struct cluster *cluster = reader->cluster;
    cluster->ports = arena_grow(reader->arena, cluster->ports, &reader->port_capacity,
                                (size_t)cluster->port_count + 1, sizeof *cluster->ports);
    cluster->ports[cluster->port_count++] =
        (struct cluster_port){cluster->switch_count, nodes->first, nodes->last, nic};
}

/* Every range of nodes with every NIC that is named. */
static void read_ports(struct reader *reader, struct doc_map *map)
{
    struct range *nodes = NULL;
    struct range *nics = NULL;
    const uint32_t node_ranges = take_ranges(reader, map, "nodes", EXPLICIT_NODES_MAX - 1, &nodes);
    const uint32_t nic_ranges =
        take_ranges(reader, map, "nics", reader->cluster->nics_per_node - 1, &nics);
    for (uint32_t i = 0; i < node_ranges; i++) {
        if (nic_ranges == 0) {
            add_port(reader, &nodes[i], -1);
        }
        for (uint32_t k = 0; k < nic_ranges; k++) {
            for (int64_t nic = nics[k].first; nic <= nics[k].last; nic++) {
                add_port(reader, &nodes[i], nic);
            }
        }
    }
}

static void read_switch(struct reader *reader, const struct doc_node *item)
{
    struct cluster *cluster = reader->cluster;
    struct cluster_switch *own = &cluster->switches[cluster->switch_count];
    struct doc_map map;
    if (!doc_map_open(&map, item, reader->section->diag)) {
        reader->section->is_bad = true;
        return;
    }
    *own = (struct cluster_switch){"", item->place};
    doc_require(&map, "name");
    doc_get_text(&map, "name", &own->name);
    for (uint32_t i = 0; i < cluster->switch_count; i++) {
        if (strcmp(cluster->switches[i].name, own->name) == 0) {
            complain(reader, &item->place,
                     arena_printf(reader->arena, "there are two switches '%.60s'", own->name));
        }
    }
    read_ports(reader, &map);
    reader->names[cluster->switch_count++] = own->name;
    close_item(reader, &map);
}

static void read_switches(struct reader *reader)
{
    const struct doc_node *item = NULL;
    uint32_t count = 0;
    if (!take_list(reader, "switches", EXPLICIT_SWITCHES_MAX, &item, &count)) {
        return;
    }
    reader->names = arena_array(reader->arena, count, sizeof *reader->names);
    reader->cluster->switches =
        arena_array(reader->arena, count, sizeof *reader->cluster->switches);
    for (; item != NULL; item = item->next) {
        read_switch(reader, item);
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

static void read_link(struct reader *reader, const struct doc_node *item)
{
    struct cluster *cluster = reader->cluster;
    struct cluster_link link = {.count = 1};
    struct doc_map map;
    if (!doc_map_open(&map, item, reader->section->diag)) {
        reader->section->is_bad = true;
        return;
    }
    const bool has_from = take_switch(reader, &map, "from", &link.from);
    const bool has_to = take_switch(reader, &map, "to", &link.to);
    doc_require(&map, "bandwidth");
    doc_get_quantity(&map, "bandwidth", DIM_LINK_BYTES_PER_S, LINK_MIN, LINK_MAX,
                     &link.bytes_per_s);
    doc_get_count(&map, "count", 1, EXPLICIT_CABLES_MAX, &link.count);
    close_item(reader, &map);
    if (!has_from || !has_to || map.is_bad) {
        return;
    }
    sim_assert(reader->names != NULL); /* a switch of that name was found */
    if (link.from == link.to) {
        complain(reader, &item->place,
                 arena_printf(reader->arena, "a link from switch '%.60s' to itself",
                              reader->names[link.from]));
    } else if (are_joined(cluster, link.from, link.to)) {
        complain(reader, &item->place,
                 arena_printf(reader->arena, "switches '%.60s' and '%.60s' are joined twice",
                              reader->names[link.from], reader->names[link.to]));
        diag_help(reader->section->diag, "several cables are one link with a count");
    } else {
        cluster->links[cluster->link_count++] = link;
    }
}

static void read_links(struct reader *reader)
{
    const struct doc_node *item = NULL;
    uint32_t count = 0;
    if (take_list(reader, "links", LINKS_MAX, &item, &count)) {
        reader->cluster->links = arena_array(reader->arena, count, sizeof(struct cluster_link));
        for (; item != NULL; item = item->next) {
            read_link(reader, item);
        }
    }
}

static void check_route(struct reader *reader, const struct cluster_route *route)
{
    struct cluster *cluster = reader->cluster;
    const char *at = reader->names[route->at];
    const char *to = reader->names[route->to];
    const char *via = reader->names[route->via];
    struct arena *arena = reader->arena;
    if (route->at == route->to) {
        complain(reader, &route->place,
                 arena_printf(arena, "a route from switch '%.60s' to itself", at));
        return;
    }
    if (!are_joined(cluster, route->at, route->via)) {
        complain(reader, &route->place,
                 arena_printf(arena, "no link joins '%.60s' and '%.60s'", at, via));
        return;
    }
    for (uint32_t i = 0; i < cluster->route_count; i++) {
        if (cluster->routes[i].at == route->at && cluster->routes[i].to == route->to) {
            complain(reader, &route->place,
                     arena_printf(arena, "a second route at '%.60s' to '%.60s'", at, to));
            return;
        }
    }
    cluster->routes[cluster->route_count++] = *route;
}

static void read_route(struct reader *reader, const struct doc_node *item)
{
    struct cluster_route route = {.place = item->place};
    struct doc_map map;
    if (!doc_map_open(&map, item, reader->section->diag)) {
        reader->section->is_bad = true;
        return;
    }
    const bool has_at = take_switch(reader, &map, "at", &route.at);
    const bool has_to = take_switch(reader, &map, "to", &route.to);
    const bool has_via = take_switch(reader, &map, "via", &route.via);
    close_item(reader, &map);
    if (has_at && has_to && has_via) {
        check_route(reader, &route);
    }
}

static void read_routes(struct reader *reader)
{
    const struct doc_node *item = NULL;
    uint32_t count = 0;
    if (take_list(reader, "routes", ROUTES_MAX, &item, &count)) {
        reader->cluster->routes = arena_array(reader->arena, count, sizeof(struct cluster_route));
        for (; item != NULL; item = item->next) {
            read_route(reader, item);
        }
    }
}

/* ---- all of it ---------------------------------------------------------------------- */

void cluster_explicit_read(struct arena *arena, struct doc_map *section, struct cluster *cluster)
{
    struct reader reader = {.arena = arena, .section = section, .cluster = cluster};
    read_switches(&reader);
    read_links(&reader);
    read_routes(&reader);
    if (!section->is_bad) {
        cluster_ways_check(arena, section, cluster);
    }
}
