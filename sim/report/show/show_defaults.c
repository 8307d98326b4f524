/* A row gives a key's place in struct scenario. It yields a default when the
 * document lacks the key; a row marked `is_adjusted` also when the document has
 * it and the readers took another value than the one written.
 */
#include "report/show/show_defaults.h"

#include "base/arena.h"
#include "input/scenario_keys.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum value_kind {
    VALUE_COUNT,
    VALUE_QUANTITY,
    VALUE_BOOL,
    VALUE_CHOICE,
    VALUE_TEXT,
    VALUE_FIXED,  /* the text in `names` */
    VALUE_NONE,   /* there is no default: the note says why */
    VALUE_SCHEMA, /* the rows of a schema stand here */
};

/* When a row counts at all. */
enum when {
    ALWAYS,
    WITH_LEAVES, /* of fabrics */
    WITH_PODS,
    WITH_GROUPS,
    WITH_SWITCHES,
};

struct row {
    const char *path;
    const char *const *names;
    const char *note;
    size_t offset; /* in struct scenario */
    const struct schema *schema;
    enum value_kind kind;
    enum dimension dimension;
    enum when when;
    bool is_adjusted;
    bool is_optional; /* zero or "" stands for "none" */
};

/* Spelled as the readers in input/ spell them, which keep theirs to themselves. */
static const char *const nobody[] = {"[]"};

/* The rows of a schema, whose object lies there in struct scenario. */
#define SCHEMA(schema_, offset_) .kind = VALUE_SCHEMA, .schema = (schema_), .offset = (offset_)
#define AT(member) .offset = offsetof(struct scenario, member)
#define COUNT(path_, member) .path = (path_), .kind = VALUE_COUNT, AT(member)
#define BOOL(path_, member) .path = (path_), .kind = VALUE_BOOL, AT(member)
#define TEXT(path_, member) .path = (path_), .kind = VALUE_TEXT, AT(member)
#define CHOICE(path_, member, names_) \
    .path = (path_), .kind = VALUE_CHOICE, AT(member), .names = (names_)
#define FIXED(path_, text) .path = (path_), .kind = VALUE_FIXED, .names = text
#define NONE(path_, note_) .path = (path_), .kind = VALUE_NONE, .note = (note_)
#define QUANTITY(path_, member, dimension_) \
    .path = (path_), .kind = VALUE_QUANTITY, AT(member), .dimension = (dimension_)
static const struct row rows[] = {
    {SCHEMA(&scenario_schema, 0)},

    {SCHEMA(&model_schema, offsetof(struct scenario, model))},

    {TEXT("cluster.title", cluster.title)},
    {COUNT("cluster.nodes", cluster.nodes_max), .is_optional = true,
     .note = "as many as a scenario asks for"},
    {NONE("cluster.network", "a node's is nics.count x nics.bandwidth; or write it in its place")},
    {NONE("cluster.nics.bandwidth", "a NIC's is network / nics.count")},
    {BOOL("cluster.scale_up.multicast", cluster.has_multicast)},
    {COUNT("cluster.scale_up.domain_nodes", cluster.domain_nodes)},
    {QUANTITY("cluster.nics.round_latency", cluster.round_latency_s, DIM_SECONDS)},
    {CHOICE("cluster.fabric.routing", cluster.routing, routing_names)},
    {COUNT("cluster.fabric.ecmp_paths", cluster.ecmp_paths)},
    {BOOL("cluster.fabric.pxn", cluster.has_pxn)},
    {BOOL("cluster.fabric.in_network_reduction", cluster.has_in_network_reduction)},
    {QUANTITY("cluster.fabric.oversubscription", cluster.oversubscription, DIM_COUNT),
     .when = WITH_LEAVES},
    {QUANTITY("cluster.fabric.uplink", cluster.uplink_bytes_per_s, DIM_LINK_BYTES_PER_S),
     .note = "a NIC's", .when = WITH_LEAVES},
    {COUNT("cluster.fabric.leaves_per_pod", cluster.leaves_per_pod), .is_optional = true,
     .note = "no third level", .when = WITH_PODS},
    {QUANTITY("cluster.fabric.pod_oversubscription", cluster.pod_oversubscription, DIM_COUNT),
     .when = WITH_PODS},
    {QUANTITY("cluster.fabric.global_oversubscription", cluster.global_oversubscription, DIM_COUNT),
     .when = WITH_GROUPS},
    {FIXED("cluster.fabric.links", nobody), .when = WITH_SWITCHES},
    {FIXED("cluster.fabric.routes", nobody), .when = WITH_SWITCHES},
    {TEXT("cluster.collectives.library", cluster.library_name)},

    {SCHEMA(&software_schema, offsetof(struct scenario, software))},

    {SCHEMA(&gpu_schema, offsetof(struct scenario, gpu))},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* ---- values as YAML ---------------------------------------------------------- */

/* The fewest digits that read back as the same double; 17 always do. */
static const char *quantity_text(struct arena *arena, double value, enum dimension dimension)
{
    char text[64];
    char message[128];
    for (int digits = 1; digits <= 17; digits++) {
        double back = 0;
        units_format(value, dimension, digits, text, sizeof text);
        if (units_parse(text, dimension, &back, message, sizeof message) && !(back < value) &&
            !(back > value)) {
            break;
        }
    }
    return arena_strdup(arena, text);
}

static const char *plain_text(struct arena *arena, const char *text)
{
    const struct doc_node node = {.kind = DOC_SCALAR, .text = text};
    return doc_to_text(arena, &node);
}

/* NULL when the value stands for "none". */
static const char *value_text(struct arena *arena, const struct scenario *scenario,
                              const struct row *row)
{
    const void *member = (const char *)scenario + row->offset;
    switch (row->kind) {
    case VALUE_COUNT: {
        const int64_t count = *(const int64_t *)member;
        return row->is_optional && count == 0 ? NULL : arena_printf(arena, "%" PRId64, count);
    }
    case VALUE_QUANTITY: {
        const double value = *(const double *)member;
        return row->is_optional && !(value > 0) ? NULL
                                                : quantity_text(arena, value, row->dimension);
    }
    case VALUE_TEXT: {
        const char *text = *(const char *const *)member;
        return row->is_optional && text[0] == '\0' ? NULL : plain_text(arena, text);
    }
    case VALUE_BOOL:
        return *(const bool *)member ? "true" : "false";
    case VALUE_CHOICE:
        return row->names[*(const uint32_t *)member];
    case VALUE_NONE:
        return NULL;
    case VALUE_FIXED:
    case VALUE_SCHEMA:
    default:
        return row->names[0];
    }
}

/* ---- which of them ------------------------------------------------------------- */

static bool is_due(const struct scenario *scenario, enum when when)
{
    const uint32_t kind = scenario->cluster.fabric_kind;
    switch (when) {
    case WITH_LEAVES:
        return kind != FABRIC_TORUS && kind != FABRIC_EXPLICIT;
    case WITH_PODS:
        return kind == FABRIC_RAIL || kind == FABRIC_TREE;
    case WITH_GROUPS:
        return kind == FABRIC_DRAGONFLY;
    case WITH_SWITCHES:
        return kind == FABRIC_EXPLICIT;
    case ALWAYS:
    default:
        return true;
    }
}

static bool has_prefix(const char *path, const char *prefix)
{
    return strncmp(path, prefix, strlen(prefix)) == 0;
}

/* The key is there and means something else than it says. (A schedule may be written as a
 * mapping, and means that.) */
static bool is_overruled(const struct doc_node *written, const char *value)
{
    return written->kind == DOC_SCALAR && (value == NULL || strcmp(written->text, value) != 0);
}

/* What is being listed. */
struct defaults {
    struct arena *arena;
    const struct scenario *scenario;
    struct show_default *items;
    size_t capacity;
    uint32_t count;
};

/* The default of a key: where it is not written, or written and not what holds. */
static void add_default(struct defaults *defaults, const char *path, const char *value,
                        const char *note)
{
    const struct doc_node *written = doc_find(defaults->scenario->document, path);
    if (written == NULL || is_overruled(written, value)) {
        defaults->items = arena_grow(defaults->arena, defaults->items, &defaults->capacity,
                                     defaults->count + 1, sizeof *defaults->items);
        defaults->items[defaults->count++] =
            (struct show_default){path, value, note != NULL ? note : "", written != NULL};
    }
}

/* Whether a row of a schema stands in sections that are there and mean something. */
static bool is_reached(const struct schema *schema, const struct schema_row *row,
                       const void *object)
{
    const struct schema_row *around = schema_parent(schema, row);
    bool is_good = true;
    for (; around != NULL; around = schema_parent(schema, around)) {
        const bool *is_on = (const bool *)((const char *)object + around->offset);
        is_good =
            is_good && schema_applies(around, object) && (around->kind != SCHEMA_SWITCH || *is_on);
    }
    return is_good;
}

/* The defaults of a schema's keys. A section has none of its own, unless it means nothing
 * here, which its note explains, or is switched off. */
static void add_schema(struct defaults *defaults, const struct schema *schema, const void *object)
{
    struct arena *arena = defaults->arena;
    for (uint32_t i = 0; i < schema->count; i++) {
        const struct schema_row *row = &schema->rows[i];
        const char *path = arena_printf(arena, "%s%s", schema->prefix, row->path);
        const bool has_meaning = schema_applies(row, object);
        const bool is_section = row->kind == SCHEMA_SECTION;
        const bool has_default = row->standard != NULL || row->as > 0 || row->note != NULL;
        const bool is_written = doc_find(defaults->scenario->document, path) != NULL;
        const bool is_due = is_section ? !has_meaning || row->standard != NULL : has_meaning;
        if (has_default && is_due && is_reached(schema, row, object) &&
            (!is_written || row->is_settled)) {
            add_default(defaults, path, schema_value_text(arena, row, object), row->note);
        }
    }
}

struct show_default *show_defaults(struct arena *arena, const struct scenario *scenario,
                                   const char *prefix, uint32_t *count)
{
    struct defaults defaults = {.arena = arena, .scenario = scenario};
    for (uint32_t i = 0; i < ROW_COUNT; i++) {
        const struct row *row = &rows[i];
        if (row->kind == VALUE_SCHEMA) {
            if (has_prefix(row->schema->prefix, prefix)) {
                add_schema(&defaults, row->schema, (const char *)scenario + row->offset);
            }
            continue;
        }
        const bool is_written = doc_find(scenario->document, row->path) != NULL;
        if (has_prefix(row->path, prefix) && is_due(scenario, row->when) &&
            (!is_written || row->is_adjusted)) {
            add_default(&defaults, row->path, value_text(arena, scenario, row), row->note);
        }
    }
    *count = defaults.count;
    return defaults.items;
}
