/* Each row of each schema yields a default when the document lacks its key; a row that is settled
 * also when the document has it and the readers took another value than the one written.
 */
#include "report/show/show_defaults.h"

#include "base/arena.h"
#include "input/scenario.h"
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

/* Whether a row of a schema stands in sections that are there and mean something, and once. */
static bool is_reached(const struct schema *schema, const struct schema_row *row,
                       const void *object)
{
    const struct schema_row *around = schema_parent(schema, row);
    bool is_good = row->kind != SCHEMA_EACH;
    for (; around != NULL; around = schema_parent(schema, around)) {
        is_good = is_good && around->kind != SCHEMA_EACH && schema_applies(around, object) &&
                  (around->kind != SCHEMA_SWITCH ||
                   *(const bool *)((const char *)object + around->offset));
    }
    return is_good;
}

/* The default of a row's key. A section has none of its own, unless it means nothing here, which
 * its note explains, or is switched off. */
static void add_row(struct defaults *defaults, const struct schema_row *row, const char *path,
                    const void *object)
{
    const bool is_written = doc_find(defaults->scenario->document, path) != NULL;
    const bool has_meaning = row->applies == NULL || row->applies(object);
    const bool has_default =
        row->standard != NULL || row->as > 0 || row->note != NULL || row->is_settled;
    const bool is_due =
        row->kind == SCHEMA_SECTION ? !has_meaning || row->standard != NULL : has_meaning;
    const struct schema_refusal *refusal = row->refuses != NULL ? row->refuses(object) : NULL;
    if (!is_due || (is_written && !row->is_settled)) {
        return;
    }
    if (refusal != NULL) {
        add_default(defaults, path, NULL, refusal->why);
    } else if (has_default) {
        add_default(defaults, path, schema_value_text(defaults->arena, row, object), row->note);
    }
}

static void add_schema(struct defaults *defaults, const struct schema *schema, const void *object)
{
    for (uint32_t i = 0; i < schema->count; i++) {
        const struct schema_row *row = &schema->rows[i];
        if (is_reached(schema, row, object)) {
            add_row(defaults, row, arena_printf(defaults->arena, "%s%s", schema->prefix, row->path),
                    object);
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
