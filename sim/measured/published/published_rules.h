/* What published runs mean beyond the words in their columns: tests/published/rules.yaml, checked.
 *
 * The head of that file tells its format. It is looked for in each directory of the catalogue, so
 * that an installed one has it, too. A mistake in it is told with its place and a remedy: a key, a
 * column, a word or a regular expression that cannot be, an entry that says nothing or does not say
 * where it has it from. What a row makes of it is measured/published/published_reading.
 *
 * No name of a model, a source or a release stands in the program: they are all in that file.
 */
#ifndef MEASURED_PUBLISHED_PUBLISHED_RULES_H
#define MEASURED_PUBLISHED_PUBLISHED_RULES_H

#include "input/catalogue.h"
#include "measured/published/published_columns.h"

/* Of columns and what is computed. */
#define PUBLISHED_NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789_"

#define PUBLISHED_RULES_FILE "tests/published/rules.yaml"

/* A word of a column, and what rules and keys call it. */
struct published_word {
    const char *column;
    const char *said, *meant;
};

/* 8, 25.11, v5.1: only versions with the same letter can be compared. */
struct published_version {
    char series; /* the letter; '\0': none */
    double number;
};

enum published_test {
    TEST_BLANK,
    TEST_STATED,
    TEST_NAME,      /* all of the text, or one of its joined words */
    TEST_BEGINNING, /* the same for its beginning */
    TEST_TRUTH,
    TEST_RANGE,
    TEST_PATTERN, /* a regular expression */
};

/* One of the things that a column may say. */
struct published_value {
    enum published_test test;
    const char *text;                  /* name, beginning or pattern */
    enum published_truth truth;        /* of TEST_TRUTH */
    struct published_version from, to; /* of TEST_RANGE, with both ends */
};

struct published_condition {
    const char *column;
    const struct published_column *known; /* NULL: it is computed */
    const struct published_value *values;
    uint32_t count; /* one of them is enough */
};

/* "cluster.nics.count=4", of a rule; a column and what it is taken to say, of what fills blanks. */
struct published_assignment {
    const char *key, *value;
    struct place place;
};

struct published_rule {
    struct place place;
    const struct published_condition *conditions; /* all of them */
    uint32_t condition_count;
    const struct published_assignment *assignments;
    uint32_t assignment_count;
    const char *const *needs; /* columns */
    uint32_t need_count;
    const char *guess; /* or NULL */
    const char *known; /* the month from which its source could be read, "2025-11"; NULL: always */
    const char *source;
};

struct published_rules {
    const char *path;
    struct catalogue catalogue; /* of the models whose features rules ask for */
    struct published_word *words;
    uint32_t word_count;
    const struct published_rule *blanks, *rules;
    uint32_t blank_count, rule_count;
    bool are_of_the_day; /* a row is read with what was known in the month of its publication */
};

/* It says what a column means, and nothing of runs. */
bool published_rule_is_meaning(const struct published_rule *rule);

/* Keys that rules set and all below them, and columns that they fill. */
struct published_keys {
    const char *const *keys;
    uint32_t count;
    bool has_columns; /* also where this only says what a column means */
};

/* Rules without what they say of these keys. *dropped: assignments left out. */
const struct published_rules *published_rules_without(struct arena *arena,
                                                      const struct published_rules *rules,
                                                      const struct published_keys *keys,
                                                      uint32_t *dropped);

/* The same, of which later a row has none. */
const struct published_rules *published_rules_of_the_day(struct arena *arena,
                                                         const struct published_rules *rules);

/* False: it is no version. */
bool published_version_read(struct text_span text, struct published_version *version);

/* NULL after a diagnosis. */
MUST_USE const struct published_rules *published_rules_load(struct arena *arena,
                                                            const struct catalogue *catalogue,
                                                            struct diag *diag);

#endif
