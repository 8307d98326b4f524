/* A schema as JSON Schema (https://json-schema.org, draft 2020-12), by which editors complete and
 * check YAML. It lets through all that stoker reads; bounds of quantities, which are texts with a
 * unit, stand in the description.
 */
#include "report/reference/reference_keys.h"

#include "base/arena.h"
#include "report/sheet.h"

#include <string.h>

struct level {
    struct sheet *root, *properties;
    const struct schema_row *row; /* whose they are; NULL: the file's */
};

enum { LEVELS_MAX = 8, LISTS_MAX = 16 };

static void put_names(struct sheet *object, const struct schema_row *row)
{
    struct sheet *names = sheet_array(object, "enum");
    for (uint32_t i = 0; i < row->name_count; i++) {
        if (row->among == 0 || (row->among & 1u << i) != 0) {
            sheet_text(names, NULL, row->names[i]);
        }
    }
}

static void put_types(struct sheet *object, const char *const *types, size_t count)
{
    if (count == 1) {
        sheet_text(object, "type", types[0]);
    } else {
        sheet_texts(object, "type", types, count);
    }
}

/* What may stand there, of a row without keys of its own. */
static void put_value(struct sheet *object, const struct schema_row *row)
{
    static const char *const whole[] = {"integer", "string"}; /* 16384, 16k */
    static const char *const quantity[] = {"string", "number"};
    static const char *const scalar[] = {"string"};
    static const char *const yes_no[] = {"boolean"};
    if (row->read != NULL) {
        return; /* which may take more than its kind */
    }
    switch (row->kind) {
    case SCHEMA_COUNT:
        put_types(object, whole, 2);
        sheet_number(object, "minimum", row->least);
        sheet_number(object, "maximum", row->most);
        break;
    case SCHEMA_QUANTITY:
        put_types(object, quantity, 2);
        break;
    case SCHEMA_BOOL:
        put_types(object, yes_no, 1);
        break;
    case SCHEMA_TEXT:
        put_types(object, scalar, 1);
        break;
    case SCHEMA_CHOICE:
        put_names(object, row);
        break;
    case SCHEMA_NAMES:
        sheet_text(object, "type", "array");
        put_names(sheet_object(object, "items"), row);
        break;
    case SCHEMA_SECTION:
    case SCHEMA_SWITCH:
    case SCHEMA_EACH:
    case SCHEMA_NODE:
    case SCHEMA_CUSTOM:
    case SCHEMA_KIND_COUNT_:
    default:
        break;
    }
}

static const char *description(struct arena *arena, const struct schema_row *row)
{
    const char *standard = reference_default(arena, row);
    const char *text = arena_printf(arena, "%s Value: %s", row->help, reference_value(arena, row));
    return standard != NULL ? arena_printf(arena, "%s. Default: %s", text, standard) : text;
}

/* A schema whose properties are to be put into `root`. */
struct work_item {
    struct sheet *root;
    const struct schema *schema;
};

struct work {
    struct work_item items[LISTS_MAX];
    uint32_t count;
};

static bool is_inside(const struct schema_row *row, const struct schema_row *section)
{
    const size_t length = section != NULL ? strlen(section->path) : 0;
    return section == NULL ||
           (strncmp(row->path, section->path, length) == 0 && row->path[length] == '.');
}

/* Where a key is told of; of many names, one for all of them. */
static struct sheet *property(struct arena *arena, const struct level *level,
                              const struct schema_row *row)
{
    if (row->kind != SCHEMA_EACH) {
        return sheet_object(level->properties, schema_key(row));
    }
    const char *names = row->names[0];
    for (uint32_t i = 1; i < row->name_count; i++) {
        names = arena_printf(arena, "%s|%s", names, row->names[i]);
    }
    return sheet_object(sheet_object(level->root, "patternProperties"),
                        arena_printf(arena, "^(%s)$", names));
}

/* The properties of a schema, in `root`; those of a list's entries are left to be done. */
static void put_schema(struct arena *arena, struct sheet *root, const struct schema *schema,
                       struct work *work)
{
    struct level levels[LEVELS_MAX] = {{root, sheet_object(root, "properties"), NULL}};
    uint32_t depth = 1;
    for (uint32_t i = 0; i < schema->count; i++) {
        const struct schema_row *row = &schema->rows[i];
        while (!is_inside(row, levels[depth - 1].row)) {
            depth--;
        }
        struct sheet *object = property(arena, &levels[depth - 1], row);
        sheet_text(object, "description", description(arena, row));
        if (row->inner != NULL && row->inner != schema) {
            sim_assert(work->count < LISTS_MAX);
            const bool is_list = row->kind != SCHEMA_CHOICE;
            struct sheet *entry = is_list ? sheet_object(object, "items") : object;
            work->items[work->count++] = (struct work_item){entry, row->inner};
        } else if (!schema_has_inner(schema, row)) {
            put_value(object, row);
        } else {
            sim_assert(depth < LEVELS_MAX);
            levels[depth++] = (struct level){object, sheet_object(object, "properties"), row};
        }
    }
}

void reference_json_schema(struct arena *arena, uint32_t page, FILE *out)
{
    const struct schema *schema = reference_file(page - 1);
    struct sheet *root = sheet_new(arena, NULL);
    sheet_text(root, "$schema", "https://json-schema.org/draft/2020-12/schema");
    sheet_text(root, "title", arena_printf(arena, "stoker: %s", schema->name));
    sheet_text(root, "type", "object");
    struct work work = {.items = {{root, schema}}, .count = 1};
    for (uint32_t i = 0; i < work.count; i++) {
        put_schema(arena, work.items[i].root, work.items[i].schema, &work);
    }
    sheet_print(root, true, out);
}
