/* A figure is a member of the object, and a line of a table that only the text has. */
#include "report/show/show_sheet.h"

#include "base/arena.h"
#include "report/numbers.h"

void show_sheet_init(struct show_sheet *show, struct sheet *in)
{
    static const struct field fields[] = {{NULL, FIELD_LEFT("")}, {NULL, FIELD_LEFT("")}};
    struct sheet *object = sheet_object(in, "derived");
    *show =
        (struct show_sheet){sheet_arena(in), object, sheet_table(object, NULL, FIELD_LIST(fields))};
    sheet_caption(show->names, "");
}

static void add_line(struct show_sheet *show, const char *name, const char *text)
{
    sheet_text(show->names, NULL, name);
    sheet_text(show->names, NULL, text);
}

void show_sheet_text(struct show_sheet *show, const char *name, const char *text)
{
    sheet_text(show->object, name, text);
    add_line(show, name, text);
}

void show_sheet_number(struct show_sheet *show, const char *name, double number, const char *text)
{
    sheet_number(show->object, name, number);
    add_line(show, name, text);
}

void show_sheet_count(struct show_sheet *show, const char *name, int64_t count)
{
    show_sheet_number(show, name, (double)count, number_grouped(show->arena, (double)count));
}

void show_sheet_quantity(struct show_sheet *show, const char *name, double value,
                         enum dimension dimension)
{
    show_sheet_number(show, name, value, number_quantity(show->arena, value, dimension));
}

void show_sheet_rate(struct show_sheet *show, const char *name, double bytes_per_s)
{
    show_sheet_number(show, name, bytes_per_s,
                      arena_printf(show->arena, "%s = %s", number_gbps(show->arena, bytes_per_s),
                                   number_quantity(show->arena, bytes_per_s, DIM_BYTES_PER_S)));
}

struct sheet *show_sheet_table(struct show_sheet *show, const char *name,
                               const struct field *fields, uint32_t count)
{
    struct sheet *table = sheet_table(show->object, name, fields, count);
    sheet_caption(table, arena_printf(show->arena, "#\n# %s\n", name));
    return table;
}
