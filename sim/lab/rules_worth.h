/* What each entry of tests/published/rules.yaml is worth: rows are predicted once more without it.
 *
 * An entry that only says what a column of the table means (its source is the table's README) is
 * counted and not left out: a row without its tp is another row. Of the others only rows are
 * simulated whose scenario is another without the entry, which is why an entry that a later one
 * undoes costs nothing.
 */
#ifndef LAB_RULES_WORTH_H
#define LAB_RULES_WORTH_H

#include "measured/validate.h"

struct rule_worth {
    const char *place; /* "rules.yaml:488" */
    const char *does;  /* its assignments */
    const char *source;
    uint32_t rows;    /* that it fits */
    uint32_t changed; /* of these, predicted otherwise without it */
    uint32_t lost;    /* of these, not predicted without it */
    double moved;     /* mean |predicted without / predicted - 1| of those changed; ABSENT: none */
    double mean_without; /* mean of votes without it, less that with it, over what is scored in
                            both; ABSENT: it changes none of them */
};

/* Of the rows, which were predicted, of any tables with the rules of one catalogue. Entries as they
 * stand in the file. */
struct rule_worth *rules_worth(struct arena *arena, const struct validated_row *rows,
                               uint32_t row_count, const struct validate_request *request,
                               uint32_t *count);

#endif
