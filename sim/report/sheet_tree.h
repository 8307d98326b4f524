/* The tree of a sheet (report/sheet.h), for its printers alone.
 *
 * A node is a value, or holds nodes, in a list; what is said is a node that JSON passes over. A
 * row of a table is an object that holds the cells with a key, as JSON wants them; beside it stand
 * all cells by column, as the text wants them. Printers walk with a stack whose depth the writer of
 * JSON bounds.
 */
#ifndef REPORT_SHEET_TREE_H
#define REPORT_SHEET_TREE_H

#include "base/json.h"
#include "report/sheet.h"

/* What is said is letters, or a part of a document (sheet_heading and its kin). */
enum sheet_role {
    ROLE_LETTERS,
    ROLE_TITLE,
    ROLE_ANSWER,
    ROLE_HEADING,
    ROLE_ITEM,
    ROLE_VERBATIM,
    ROLE_CHART
};

enum sheet_kind { SHEET_NOTHING, SHEET_VALUE, SHEET_SAID, SHEET_OBJECT, SHEET_ARRAY, SHEET_TABLE };

struct sheet {
    enum sheet_kind kind;
    enum sheet_role role; /* of what is said */
    struct field_value value;
    const char *key;   /* NULL in arrays, and where JSON has none */
    const char *shown; /* in the text; NULL: by the field */
    sheet_make *make;  /* makes a text's value, or what is shown of a number; or NULL */
    const void *record;
    const char *title;         /* of what is verbatim; NULL */
    const struct chart *chart; /* likewise */
    bool is_range;             /* of a cell: it is these two numbers */
    double low, high;
    bool is_caption; /* of a row: it names those that follow, in the text alone */
    struct sheet *next;

    struct arena *arena; /* of what holds others, as all below */
    struct sheet *first, *last;
    const struct field *fields; /* of a table, and of its rows */
    uint32_t field_count;
    uint32_t filled;      /* columns of the last row */
    struct sheet **cells; /* of a row, by column */
    size_t page_width;    /* of the root; 0: unbound */
};

bool sheet_holds_others(const struct sheet *sheet);

/* The text of a value that is a text, made now where it is made when it is printed. */
const char *sheet_text_value(const struct sheet *node);

/* A cell as people read it; "" of one that was not filled. */
const char *sheet_cell_text(const struct field *field, struct arena *arena,
                            const struct sheet *cell);

/* What all rows say alike of the columns that may be left out for it: "GPUs 2048, memory 77.1 GB";
 * NULL: nothing. is_hidden[field_count]: of these and of columns that are for programs. */
const char *sheet_common_columns(const struct sheet *table, bool *is_hidden);

/* The table with each field that is sized resolved, by the numbers of its cells (printers/sized.h).
 * It shares all else. */
struct sheet sheet_sized(const struct sheet *table);

/* The table as CSV (report/sheet.h). */
void sheet_print_csv(const struct sheet *table, FILE *out);

/* A table that stands in the text: of none that nothing stands in but a sentence. */
bool sheet_is_shown_table(const struct sheet *node);

/* Where a walk is: what holds others, from the root down, and what comes next in each. */
struct sheet_walk {
    const struct sheet *holders[JSON_DEPTH_MAX];
    const struct sheet *next[JSON_DEPTH_MAX];
    uint32_t depth;
};

void sheet_enter(struct sheet_walk *walk, const struct sheet *holder);

/* The next node; NULL, once, at the end of each holder. */
const struct sheet *sheet_step(struct sheet_walk *walk);

/* The text; as comments of a file, where each table begins with "#". */
void sheet_print_text(const struct sheet *sheet, bool is_comment, FILE *out);

#endif
