/* A list that is printed as a table or as JSON: columns once, cells row by row.
 *
 *     listing_init(&listing, arena, "stoker.list/1", "gpus");
 *     listing_column(&listing, "memory_bytes", "memory", true);
 *     listing_number(&listing, 80e9, "80 GB");
 *     listing_print(&listing, is_json, stdout);
 */
#ifndef REPORT_LISTING_H
#define REPORT_LISTING_H

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct arena;

#define LISTING_COLUMNS_MAX 12

struct listing_column {
    const char *key;  /* in JSON: SI, with its unit */
    const char *head; /* in the table */
    bool is_number;
};

struct listing_cell {
    const char *text;
    double number;
};

struct listing {
    struct arena *arena;
    const char *schema;
    const char *name; /* of the JSON array */
    struct listing_column columns[LISTING_COLUMNS_MAX];
    uint32_t column_count;
    struct listing_cell *cells;
    size_t cell_count;
    size_t cell_capacity;
};

void listing_init(struct listing *listing, struct arena *arena, const char *schema,
                  const char *name);
void listing_column(struct listing *listing, const char *key, const char *head, bool is_number);

/* The next cell; NULL is "". */
void listing_text(struct listing *listing, const char *text);
/* A number in SI, and as it is shown; ABSENT (base/absent.h) is null and "-". */
void listing_number(struct listing *listing, double number, const char *shown);
/* A count, shown with all its digits. */
void listing_count(struct listing *listing, int64_t count);

/* Whole rows only. */
void listing_print(const struct listing *listing, bool is_json, FILE *out);

#endif
