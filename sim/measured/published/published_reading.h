/* A row of a table as rules see it, and what they make of it.
 *
 * First every field takes the words that the rules know (published_word), then blanks are filled,
 * then each rule that fits adds its assignments, in order, and at last the row those of its column
 * `set`. An assignment takes the place of earlier ones of its key and of the keys below it.
 *
 *     struct published_reading *reading = published_read(arena, table, row, rules);
 *     for (uint32_t i = 0; i < reading->set_count; i++) ... reading->sets[i]
 */
#ifndef MEASURED_PUBLISHED_PUBLISHED_READING_H
#define MEASURED_PUBLISHED_PUBLISHED_READING_H

#include "measured/published/published_rules.h"

enum { PUBLISHED_CAPTURES = 10 };

struct published_set {
    const char *text;                  /* "model.layers=61", as --set takes it */
    const struct published_rule *rule; /* NULL: the row says it itself */
    const struct place *place;         /* of a value that stands in the rule; else NULL */
};

struct published_reading {
    const char **fields; /* of each column of published_known; "" where blank */
    const char *captures[PUBLISHED_CAPTURES]; /* of the rule at hand; NULL: none */
    struct published_set *sets;
    uint32_t set_count;
    size_t set_capacity;
    const char *missing; /* the first column that a rule needs and that is blank; NULL: none */
    const char *filled;  /* blanks and guesses, as told: "micro_batch 1, ..." */
    bool *blank_fits, *rule_fits; /* of each entry, when its turn came */
    const struct published_rules *rules;
    struct arena *arena;
};

struct published_reading *published_read(struct arena *arena, const struct published_table *table,
                                         uint32_t row, const struct published_rules *rules);

/* What the row says in a column, or what is computed of that name; "" where blank. */
const char *published_read_text(const struct published_reading *reading, const char *column);

/* As a count; 0 where blank or below. */
int64_t published_read_count(const struct published_reading *reading, const char *column);

/* The value of the last assignment of a key; NULL when no rule sets it. */
const char *published_read_set(const struct published_reading *reading, const char *key);

#endif
