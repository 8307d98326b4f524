/* The columns that a table of runs may have, and what may stand in each: one table, a row a column.
 *
 * A column or a word that is not in it is an error with its place: what is misspelt would otherwise
 * count as not stated, and be filled by a rule. So is an id that two rows share. Names that only
 * the catalogue can know (gpu, framework, model_name, precision) are text here; a row whose name
 * it lacks is skipped with the reason (measured/published/published_rows).
 *
 * A field may be blank: not stated. Numbers are decimal. Truth is one of 0, 1, true, false, yes
 * and no, in any case of letters.
 */
#ifndef MEASURED_PUBLISHED_PUBLISHED_COLUMNS_H
#define MEASURED_PUBLISHED_PUBLISHED_COLUMNS_H

#include "input/catalogue.h"
#include "bands/published_table.h"

enum published_kind {
    COLUMN_TEXT,  /* a name */
    COLUMN_PROSE, /* sentences */
    COLUMN_TRUTH,
    COLUMN_COUNT, /* whole, from `least` on */
    COLUMN_NUMBER,
    COLUMN_WORD,       /* one of the list */
    COLUMN_WORD_OR_NO, /* or what is not true */
    COLUMN_WORDS,      /* some of the list, joined by '+' */
    COLUMN_SETS,       /* assignments of keys of the scenario, separated by ';' */
    COLUMN_MONTH,      /* 2025-06 */
    COLUMN_KIND_COUNT_
};

/* What a column says. */
enum published_use {
    COLUMN_FEATURE, /* what was on */
    COLUMN_TYPED,   /* a setting that whoever types a scenario says, too */
    COLUMN_ASIDE,   /* no setting that a rule may ask for: who says it, what was measured, how many
                     * GPUs */
};

struct published_column {
    const char *name;
    uint32_t kind;            /* enum published_kind */
    int64_t least;            /* of counts */
    const char *const *words; /* `word_count` */
    uint32_t word_count;
    uint32_t use; /* enum published_use */
};
extern const struct published_column published_known[];
extern const uint32_t published_known_count;

/* NULL: there is none. */
const struct published_column *published_column_find(const char *name);
const char *published_column_nearest(struct arena *arena, const char *name);

/* What is wrong with "cluster.nics.count=4" as an assignment of a key, or NULL. */
const char *published_assignment_check(struct arena *arena, const char *assignment,
                                       const char **help);

/* The next of assignments separated by ';', without the blanks around it; NULL: there is none. *at
 * moves behind it. */
const char *published_assignment_next(struct arena *arena, const char **at);

/* "2025-06": such texts are in the order of their months. */
bool published_is_month(const char *text);

/* What is wrong with a field, or NULL; *help: what would be right. */
const char *published_field_check(struct arena *arena, const struct published_column *column,
                                  const char *text, const char **help);

/* A table of runs with the catalogue's rules: what is needed is there, all columns and words are
 * known, all ids differ. Rows with a problem (published_table.h) are not judged. NULL after a
 * diagnosis. */
MUST_USE const struct published_table *published_load_runs(struct arena *arena, const char *path,
                                                           const struct catalogue *catalogue,
                                                           struct diag *diag);

/* The same of a table that was read already. */
MUST_USE const struct published_table *published_check_runs(struct arena *arena,
                                                            const struct published_table *table,
                                                            const struct catalogue *catalogue,
                                                            struct diag *diag);

/* Whether a row says what was on, beyond what is typed: a feature or `set`. */
bool published_says_features(const struct published_table *table, uint32_t row);

/* The same table as whoever types a scenario knows it: model and shapes, machine, layout, batch,
 * precision, framework and year. Features, `set`, the release and all prose are blank. */
const struct published_table *published_as_typed(struct arena *arena,
                                                 const struct published_table *table);

/* A table of runs of which the peak of a GPU's memory was measured, in the place of a step. */
#define PUBLISHED_PEAK "measured_memory_gb"
MUST_USE const struct published_table *published_load_peaks(struct arena *arena, const char *path,
                                                            const struct catalogue *catalogue,
                                                            struct diag *diag);

enum published_truth { PUBLISHED_NOT_STATED, PUBLISHED_FALSE, PUBLISHED_TRUE };
/* False when it is no word for truth. */
bool published_truth_read(const char *text, enum published_truth *truth);
enum published_truth published_truth(const struct published_table *table, uint32_t row,
                                     const char *column);

#endif
