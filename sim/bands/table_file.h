/* A CSV file that holds one struct a line: its columns are the rows of one table, by which it is
 * read and written.
 *
 *     static const struct table_column columns[] = {
 *         {TABLE_QUOTED("id", struct memory_error, id)},
 *         {TABLE_NUMBER("measured_gb", struct memory_error, measured_bytes, 1e-9, 1e6, "%.4f"),
 *          .unit = 1e9, .what = "size in GB"},
 *     };
 *
 * A value that is wrong is told with its place, with what it should be, and with the file's remedy.
 * What a column's number is in the struct is `unit` times what the file has. A member of the wrong
 * type does not compile.
 */
#ifndef BANDS_TABLE_FILE_H
#define BANDS_TABLE_FILE_H

#include "bands/published_table.h"

#include <stddef.h>

enum table_kind {
    TABLE_TEXT_KIND,   /* const char * */
    TABLE_NUMBER_KIND, /* double, from `least` to `most` in the file */
    TABLE_COUNT_KIND,  /* int64_t, likewise */
    TABLE_RATIO_KIND,  /* double: the logarithm of what the file has */
    TABLE_WORD_KIND,   /* uint32_t: the number of a word */
    TABLE_SWITCH_KIND  /* bool: the second word */
};

struct table_column {
    const char *name;
    enum table_kind kind;
    size_t offset;
    bool is_quoted; /* as it is written */
    double least, most;
    const char *format; /* of a number as it is written */
    double unit;        /* 0: 1 */
    bool is_optional;   /* blank stands for `blank`, and is written for it */
    double blank;
    const char *what;         /* a value that is wrong is no such; NULL: "number from `least` on" */
    const char *const *words; /* NULL: `word` has them */
    uint32_t word_count;
    const char *(*word)(uint32_t number); /* up to `word_count`, or to what `words_end` points at */
    const uint32_t *words_end;
    const char *wrong; /* of a word: "kind '%s' is none of a model" */
};

#define TABLE_MEMBER(type_, object_, member_) \
    _Generic(((object_ *)NULL)->member_, type_ : offsetof(object_, member_))
#define TABLE_COLUMN(name_, kind_, type_, object_, member_) \
    .name = (name_), .kind = (kind_), .offset = TABLE_MEMBER(type_, object_, member_)
#define TABLE_TEXT(name_, object_, member_) \
    TABLE_COLUMN(name_, TABLE_TEXT_KIND, const char *, object_, member_)
#define TABLE_QUOTED(name_, object_, member_) TABLE_TEXT(name_, object_, member_), .is_quoted = true
#define TABLE_NUMBER(name_, object_, member_, least_, most_, format_) \
    TABLE_COLUMN(name_, TABLE_NUMBER_KIND, double, object_, member_), \
        .least = (least_), .most = (most_), .format = (format_)
#define TABLE_COUNT(name_, object_, member_, least_, most_)                              \
    TABLE_COLUMN(name_, TABLE_COUNT_KIND, int64_t, object_, member_), .least = (least_), \
                                                                      .most = (most_)
#define TABLE_RATIO(name_, object_, member_, format_) \
    TABLE_COLUMN(name_, TABLE_RATIO_KIND, double, object_, member_), .format = (format_)
#define TABLE_SWITCH(name_, object_, member_, words_)                                  \
    TABLE_COLUMN(name_, TABLE_SWITCH_KIND, bool, object_, member_), .words = (words_), \
                                                                    .word_count = 2

/* What the file's lines are. */
struct table_file {
    const struct table_column *columns;
    uint32_t column_count;
    size_t item_bytes;
    const char *remedy; /* where a value is wrong; NULL: none */
};
#define TABLE_FILE(object_, columns_)                                             \
    .columns = (columns_), .column_count = sizeof(columns_) / sizeof *(columns_), \
    .item_bytes = sizeof(object_)

/* The items of a file, and its table, of which they borrow; NULL, with a message, when it cannot be
 * read or anything in it is wrong. */
MUST_USE const struct published_table *table_file_read(struct arena *arena, const char *path,
                                                       const struct table_file *file, void **items,
                                                       struct diag *diag);

/* Its first line and one for each item, in the columns' order. */
void table_file_write(const struct table_file *file, const void *items, uint32_t count, FILE *out);

/* The same, to the place of a whole file. False with a DIAG_FAILURE. */
MUST_USE bool table_file_save(struct arena *arena, const char *path, const struct table_file *file,
                              const void *items, uint32_t count, struct diag *diag);

/* A file of the catalogue that a prediction does without where it is not there or wrong. */
struct catalogue;
struct catalogue_wish {
    const char *name;   /* "models/memory.csv" */
    const char *lost;   /* what there is not without it: "error of memory" */
    const char *remedy; /* behind the reason; NULL: none */
    bool (*read)(struct arena *arena, const char *path, void *into, struct diag *diag);
};

/* Of the first catalogue directory that has it. Else false and why; one that the system does not
 * let us read is a DIAG_FAILURE, too. */
MUST_USE bool catalogue_wish_load(struct arena *arena, const struct catalogue *catalogue,
                                  const struct catalogue_wish *wish, void *into,
                                  const char **reason, struct diag *diag);

#endif
