/* A sheet: what follows from a file, as named figures and small tables.
 *
 * It is printed below the file, as comments, so that the whole stays YAML; in
 * JSON it is one object. A figure has the same name in both, with its unit
 * where it has one; the number is in SI, the text for people.
 *
 *     show_sheet_number(&sheet, "tokens_per_step", 16777216, "16,777,216");
 *     struct listing *table = show_sheet_table(&sheet, "memory_by_stage");
 *     listing_column(table, "total_bytes", "total GB", true);
 *     listing_number(table, 61.8e9, "61.80");
 */
#ifndef REPORT_SHOW_SHOW_SHEET_H
#define REPORT_SHOW_SHOW_SHEET_H

#include "report/listing.h"
#include "base/json.h"

#include "base/units.h"

#define SHEET_TABLES_MAX 6

struct show_sheet_figure {
    const char *name;
    const char *text;
    double number;
    bool is_number;
};

struct show_sheet {
    struct arena *arena;
    struct show_sheet_figure *figures; /* printed first */
    size_t figure_count;
    size_t figure_capacity;
    struct listing tables[SHEET_TABLES_MAX];
    uint32_t table_count;
};

void show_sheet_init(struct show_sheet *sheet, struct arena *arena);

/* Names are static texts. */
void show_sheet_text(struct show_sheet *sheet, const char *name, const char *text);
void show_sheet_number(struct show_sheet *sheet, const char *name, double number, const char *text);
void show_sheet_count(struct show_sheet *sheet, const char *name, int64_t count);
void show_sheet_quantity(struct show_sheet *sheet, const char *name, double value,
                         enum dimension dimension);
/* "3200 Gbps = 400 GB/s": bits and bytes, one way. */
void show_sheet_rate(struct show_sheet *sheet, const char *name, double bytes_per_s);

/* The next table; it stays where it is. */
struct listing *show_sheet_table(struct show_sheet *sheet, const char *name);

void show_sheet_print(const struct show_sheet *sheet, FILE *out);
/* The object "derived". */
void show_sheet_json(const struct show_sheet *sheet, struct json *json);

#endif
