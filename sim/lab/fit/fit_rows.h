/* Published rows as the problem of a fit: which rows count, which constants they use, and their
 * predictions by the simulator (measured/validate).
 *
 * Rows that are predicted, have a measured time and no reason to be suspect are fitted to; all
 * others are left out, and so are those whose source is not asked for. A row uses the constants of
 * its software profile's and its GPU's files. Rows come from one table or several, table after
 * table; an id stands for one row of them all.
 */
#ifndef LAB_FIT_FIT_ROWS_H
#define LAB_FIT_FIT_ROWS_H

#include "lab/fit/fit.h"
#include "measured/validate.h"

struct fit_rows {
    struct arena *arena;
    struct diag *diag;
    const struct published_table *const *tables;
    uint32_t table_count;
    const char *const *without; /* texts; a row whose source has one of them in it is left out */
    uint32_t without_count;
    const struct catalogue *catalogue;
    uint32_t jobs; /* processes; 0: as many as cores */
    const struct fit_plan *plan;
    const struct validated_row *rows; /* those fitted to, as the catalogue stands */
    const uint32_t *table_of;         /* [count] the table that a row is of */
    const uint32_t *twin;             /* [count] the first row with its scenario: itself, mostly */
    uint32_t count;
    struct known_steps *known; /* that were simulated for this fit */
    double *residual;          /* [count] as the catalogue stands */
    const char *const *unused; /* names of constants that no row uses; the plan loses them */
    uint32_t unused_count;
};

/* Predicts all rows as the catalogue stands. An error when a file of a constant does not exist, an
 * id comes twice, a text of `without` is in no source, or no row can be fitted to. */
MUST_USE bool fit_rows_open(struct fit_rows *rows, struct diag *diag);

/* predict, remove and is_used are these rows'; *rows must live as long. */
struct fit_problem fit_rows_problem(struct fit_rows *rows);

#endif
