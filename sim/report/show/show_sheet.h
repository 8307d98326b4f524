/* What follows from a file, as named figures and small tables.
 *
 * It is printed below the file, as comments, so that the whole stays YAML; in
 * JSON it is one object. A figure has the same name in both, with its unit
 * where it has one; the number is in SI, the text for people.
 *
 *     show_sheet_number(&sheet, "tokens_per_step", 16777216, "16,777,216");
 *     struct sheet *table = show_sheet_table(&sheet, "memory_by_stage", FIELD_LIST(fields));
 *     sheet_number_as(table, NULL, 61.8e9, "61.80");
 */
#ifndef REPORT_SHOW_SHOW_SHEET_H
#define REPORT_SHOW_SHOW_SHEET_H

#include "report/sheet.h"

#include "base/units.h"

struct show_sheet {
    struct arena *arena;
    struct sheet *object; /* named "derived" */
    struct sheet *names;  /* the figures, as the text has them */
};

void show_sheet_init(struct show_sheet *show, struct sheet *in);

/* Names are static texts. */
void show_sheet_text(struct show_sheet *show, const char *name, const char *text);
void show_sheet_number(struct show_sheet *show, const char *name, double number, const char *text);
void show_sheet_count(struct show_sheet *show, const char *name, int64_t count);
void show_sheet_quantity(struct show_sheet *show, const char *name, double value,
                         enum dimension dimension);
/* "3200 Gbps = 400 GB/s": bits and bytes, one way. */
void show_sheet_rate(struct show_sheet *show, const char *name, double bytes_per_s);

/* The next table, under its name. */
struct sheet *show_sheet_table(struct show_sheet *show, const char *name,
                               const struct field *fields, uint32_t count);

#endif
