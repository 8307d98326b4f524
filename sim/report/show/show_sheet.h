/* A sheet: what follows from a file, as named figures and small tables.
 *
 * It is printed below the file, as comments, so that the whole stays YAML; in
 * JSON it is one object. A figure has the same name in both, with its unit
 * where it has one; the number is in SI, the text for people.
 *
 *     sheet_number(&sheet, "tokens_per_step", 16777216, "16,777,216");
 *     struct listing *table = sheet_table(&sheet, "memory_by_stage");
 *     listing_column(table, "total_bytes", "total GB", true);
 *     listing_number(table, 61.8e9, "61.80");
 */
#ifndef REPORT_SHOW_SHOW_SHEET_H
#define REPORT_SHOW_SHOW_SHEET_H

#include "report/listing.h"
#include "base/json.h"

#include "base/units.h"

#define SHEET_TABLES_MAX 6

struct sheet_figure {
    const char *name;
    const char *text;
    double number;
    bool is_number;
};

struct sheet {
    struct arena *arena;
    struct sheet_figure *figures; /* printed first */
    size_t figure_count;
    size_t figure_capacity;
    struct listing tables[SHEET_TABLES_MAX];
    uint32_t table_count;
};

void sheet_init(struct sheet *sheet, struct arena *arena);

/* Names are static texts. */
void sheet_text(struct sheet *sheet, const char *name, const char *text);
void sheet_number(struct sheet *sheet, const char *name, double number, const char *text);
void sheet_count(struct sheet *sheet, const char *name, int64_t count);
void sheet_quantity(struct sheet *sheet, const char *name, double value, enum dimension dimension);
/* "3200 Gbps = 400 GB/s": bits and bytes, one way. */
void sheet_rate(struct sheet *sheet, const char *name, double bytes_per_s);

/* The next table; it stays where it is. */
struct listing *sheet_table(struct sheet *sheet, const char *name);

void sheet_print(const struct sheet *sheet, FILE *out);
/* The object "derived". */
void sheet_json(const struct sheet *sheet, struct json *json);

#endif
