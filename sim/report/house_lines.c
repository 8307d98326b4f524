/* Values are told by their keys where a line has to do, and in whole where there is room. */
#include "report/house_lines.h"

#include "base/arena.h"

#include <inttypes.h>
#include <string.h>

enum { LINE_WIDTH = 84 };

/* Files end so; the text of a stored run goes by its key. */
static bool is_file(const char *name)
{
    return name != NULL && (strchr(name, '.') != NULL || strchr(name, '/') != NULL);
}

const char *house_place(struct arena *arena, const struct house *house,
                        const struct house_value *value)
{
    const struct place *place = &value->place;
    return !is_file(place->file) || place->line == 0
               ? house->name
               : arena_printf(arena, "%s:%" PRIu32, place->file, place->line);
}

const char *house_line(struct arena *arena, const struct house *house)
{
    if (house->name == NULL) {
        return NULL;
    }
    const char *line = arena_printf(arena, "defaults of %.60s: %s", house->name,
                                    house->value_count == 0 ? "none of them holds here" : "");
    for (uint32_t i = 0; i < house->value_count; i++) {
        const char *longer =
            arena_printf(arena, "%s%s%s", line, i > 0 ? ", " : "", house->values[i].key);
        if (strlen(longer) > LINE_WIDTH && i > 0) {
            return arena_printf(arena, "%s and %" PRIu32 " more", line, house->value_count - i);
        }
        line = longer;
    }
    return line;
}

void house_add(const struct house *house, struct sheet *sheet)
{
    if (house->name == NULL) {
        return;
    }
    struct sheet *object = sheet_object(sheet, "house");
    sheet_text(object, "name", house->name);
    sheet_text(object, "title", house->title);
    struct sheet *values = sheet_array(object, "values");
    for (uint32_t i = 0; i < house->value_count; i++) {
        const struct house_value *value = &house->values[i];
        const bool has_place = is_file(value->place.file) && value->place.line > 0;
        struct sheet *entry = sheet_object(values, NULL);
        sheet_text(entry, "key", value->key);
        sheet_text(entry, "value", value->value);
        sheet_text(entry, "file", has_place ? value->place.file : NULL);
        if (has_place) {
            sheet_integer(entry, "line", value->place.line);
        } else {
            sheet_null_as(entry, "line", NULL);
        }
    }
}

void house_note(struct arena *arena, const struct house *house, struct diag *diag)
{
    const char *line = house_line(arena, house);
    if (line != NULL) {
        diag_add(diag, DIAG_NOTE, NULL, "%s", line);
    }
}
