/* Each row of each schema yields a default when the document lacks its key; a row that is settled
 * also when the document has it and the readers took another value than the one written.
 */
#include "report/show/show_defaults.h"

#include "base/arena.h"
#include "input/scenario_keys.h"

#include <string.h>

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
    for (const struct scenario_part *part = scenario_parts; part->schema != NULL; part++) {
        if (has_prefix(part->schema->prefix, prefix)) {
            add_schema(&defaults, part->schema, (const char *)scenario + part->offset);
        }
    }
    *count = defaults.count;
    return defaults.items;
}
