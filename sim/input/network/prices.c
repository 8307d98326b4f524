/* One list of parts of all sorts: keys that a sort does not have are refused of it.
 */
#include "input/network/prices.h"

#include "base/arena.h"
#include "input/doc/provenance.h"

#include <string.h>

enum { PARTS_MAX = 256, PORTS_MAX = 4096, SPLIT_MAX = 64 };
#define RATE_MIN 1e3 /* bytes/s */
#define RATE_MAX 1e15
#define USD_MAX 1e9
#define WATT_MAX 1e6
#define METRES_MAX 1e5

const char *const network_part_names[PART_COUNT_] = {"nic", "link", "switch"};

/* Of NICs that have none. */
static const char KIND_OF_NONE[] = "roce";

bool network_part_is_for(const struct network_part *part, const char *nic_kind)
{
    const char *kind = nic_kind[0] != '\0' ? nic_kind : KIND_OF_NONE;
    for (uint32_t i = 0; i < part->kind_count; i++) {
        if (strcmp(part->kinds[i], kind) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- the tables --------------------------------------------------------------------- */

static bool is_link(const void *part)
{
    return ((const struct network_part *)part)->part == PART_LINK;
}

static bool is_switch(const void *part)
{
    return ((const struct network_part *)part)->part == PART_SWITCH;
}

static const struct schema_refusal *but_of_link(const void *part)
{
    static const struct schema_refusal refusal = {"of what is no link", "write part: link"};
    return is_link(part) ? NULL : &refusal;
}

static const struct schema_refusal *but_of_switch(const void *part)
{
    static const struct schema_refusal refusal = {"of what is no switch", "write part: switch"};
    return is_switch(part) ? NULL : &refusal;
}

static schema_read_function read_kinds, read_parts;

#define SCHEMA_OBJECT struct network_part
#include "input/schema/rows.h"

static const struct schema_row part_rows[] = {
    {CHOICE("part", part, network_part_names, PART_COUNT_, "What it is."), .is_required = true},
    {TEXT("name", name, "What its vendor calls it."), .is_required = true},
    {CUSTOM(
         "kinds", read_kinds,
         "Of NICs whose network it is for, as topologies/nics has them: [ndr, roce]; of roce are "
         "NICs without a kind."),
     .is_required = true},
    {QUANTITY("rate", bytes_per_s, DIM_LINK_BYTES_PER_S, RATE_MIN, RATE_MAX, "Of a port, one way."),
     .is_required = true},
    {QUANTITY("price", usd, DIM_USD, 0.0, USD_MAX,
              "Of one; of a link's one end, a transceiver, and 0 USD of copper, which has none."),
     .is_required = true},
    {QUANTITY("power", power_w, DIM_WATT, 0.0, WATT_MAX,
              "What one draws: of a switch without optics, of a link's one end."),
     .is_required = true},
    {QUANTITY("cable", cable_usd, DIM_USD, 0.0, USD_MAX, "Price of a link's cable."),
     .is_required = true, .applies = is_link, .refuses = but_of_link},
    {QUANTITY("reach", reach_m, DIM_METRE, 0.0, METRES_MAX, "How long a link may be."),
     .is_required = true, .applies = is_link, .refuses = but_of_link},
    {COUNT("ports", ports, 1, PORTS_MAX, "Of a switch, at its rate."), .is_required = true,
     .applies = is_switch, .refuses = but_of_switch},
    {COUNT("split", split, 1, SPLIT_MAX,
           "Into how many slower ports, at most, each of a switch's may be split."),
     .standard = "1", .refuses = but_of_switch},
    {TEXT("date", date, "When it cost so much: 2026-11."), .is_required = true},
};
const struct schema price_list_part_keys = SCHEMA_OF("part", "prices.parts.", part_rows);

#undef SCHEMA_OBJECT
#define SCHEMA_OBJECT struct price_list

static const struct schema_row rows[] = {
    {TEXT("prices", name, "Its name, which is that of its file, too."), .is_required = true},
    {TEXT("title", title, "What people call it."), AS(const char *, name)},
    {QUANTITY("spares", spares, DIM_FRACTION, 0.0, 1.0,
              "More of each part that is bought with it, rounded up."),
     .standard = "0 %"},
    {SECTION("lengths", "How long links are."), .is_required = true},
    {QUANTITY("lengths.rack", rack_m, DIM_METRE, 0.0, METRES_MAX,
              "From a node to a switch in its rack: of trees, dragonflies and tori."),
     .is_required = true},
    {QUANTITY("lengths.row", row_m, DIM_METRE, 0.0, METRES_MAX,
              "From a node to a switch of its row: of rails, and of listed fabrics."),
     .is_required = true},
    {QUANTITY("lengths.hall", hall_m, DIM_METRE, 0.0, METRES_MAX, "From switch to switch."),
     .is_required = true},
    {CUSTOM("parts", read_parts,
            "What can be bought: {part: switch, name: QM9700, kinds: [ndr], rate: 400 Gbps, ports: "
            "64, split: 2, price: 35000 USD, power: 747 W, date: 2026-11}."),
     .is_required = true, .inner = &price_list_part_keys},
};
const struct schema price_list_schema = SCHEMA_OF("prices", "prices.", rows);

/* ---- reading ------------------------------------------------------------------------ */

static void read_kinds(const struct schema_reader *reader, const struct schema_row *row)
{
    struct network_part *part = reader->object;
    struct doc_map *map = reader->map;
    if (!schema_require(reader, row)) {
        return;
    }
    const struct doc_node *list = doc_take(map, schema_key(row));
    const uint32_t count = list->kind == DOC_SEQUENCE ? doc_child_count(list) : 0;
    bool is_good = count > 0 && count <= PART_KINDS_MAX;
    const struct doc_node *item = is_good ? list->child : NULL;
    for (; item != NULL; item = item->next) {
        is_good = is_good && item->kind == DOC_SCALAR;
        part->kinds[part->kind_count++] = item->kind == DOC_SCALAR ? item->text : "";
    }
    if (!is_good) {
        diag_add(map->diag, DIAG_INPUT, &list->place, "'kinds' must be a list of 1 to %d kinds",
                 PART_KINDS_MAX);
        diag_help(map->diag, "write it like [ndr, roce]: `stoker list nics`");
        map->is_bad = true;
    }
}

/* What was assumed of it is recorded under its name. */
static bool read_part(const struct schema_reader *reader, const struct doc_node *entry,
                      struct network_part *part)
{
    struct arena *arena = reader->assumptions->arena;
    struct doc_map map;
    *part = (struct network_part){.name = "", .split = 1, .date = ""};
    if (!doc_map_open(&map, entry, reader->map->diag)) {
        return false;
    }
    const char *name = doc_find_text(entry, "name");
    const char *prefix =
        arena_printf(arena, "%s%s", reader->path, name != NULL ? name : schema_key(part_rows));
    assumptions_take(reader->assumptions, &map, prefix);
    schema_read(&price_list_part_keys, &map, part, reader->assumptions);
    return doc_finish(&map);
}

static void read_parts(const struct schema_reader *reader, const struct schema_row *row)
{
    struct price_list *prices = reader->object;
    struct doc_map *map = reader->map;
    if (!schema_require(reader, row)) {
        return;
    }
    const struct doc_node *list = doc_take(map, schema_key(row));
    const uint32_t count = list->kind == DOC_SEQUENCE ? doc_child_count(list) : 0;
    if (count == 0 || count > PARTS_MAX) {
        diag_add(map->diag, DIAG_INPUT, &list->place, "parts must be a list of 1 to %d", PARTS_MAX);
        diag_help(map->diag, "`stoker show " PRICES_DEFAULT "` has some");
        map->is_bad = true;
        return;
    }
    struct network_part *parts = arena_array(reader->assumptions->arena, count, sizeof *parts);
    bool is_good = true;
    for (const struct doc_node *entry = list->child; entry != NULL; entry = entry->next) {
        is_good = read_part(reader, entry, &parts[prices->part_count++]) && is_good;
    }
    prices->parts = parts;
    map->is_bad = map->is_bad || !is_good;
}

bool price_list_read(const struct doc_node *node, struct price_list *list,
                     struct assumptions *assumptions, struct diag *diag)
{
    *list = (struct price_list){.name = "inline", .title = ""};
    return schema_read_document(&price_list_schema, node, list, assumptions, diag);
}

static bool read_object(const struct doc_node *node, void *object, struct assumptions *assumptions,
                        struct diag *diag)
{
    return price_list_read(node, object, assumptions, diag);
}
const struct doc_reader price_list_reader = {sizeof(struct price_list), read_object};

const struct price_list *price_list_open(struct arena *arena, const struct catalogue *catalogue,
                                         const char *name, struct diag *diag)
{
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = name};
    const struct doc_node *node =
        catalogue_open(arena, catalogue, CATALOGUE_PRICES, &reference, diag);
    struct price_list *list = arena_alloc(arena, sizeof *list);
    struct assumptions unused;
    assumptions_init(&unused, arena);
    return node != NULL && doc_files_read(&price_list_reader, node, list, &unused, diag) ? list
                                                                                         : NULL;
}
