/* Tables of measured runs, predicted and sorted by what may be scored: all that is said of them,
 * and the lab writes, comes of it.
 *
 *     struct validated validated;
 *     if (validated_open(arena, &files, &validated, diag) &&
 *         validated_predict(arena, &asked, &validated, diag)) {
 *         validated_warn(&validated, diag);
 *         validated_score(arena, catalogue, &validated, diag);
 *     }
 */
#ifndef MEASURED_VALIDATED_H
#define MEASURED_VALIDATED_H

#include "base/shard.h"
#include "measured/validate.h"

/* The arena's. */
struct validated {
    const struct published_table *const *tables; /* of each file */
    uint32_t table_count;
    bool is_given;              /* predictions were given */
    struct validated_row *rows; /* of all tables */
    uint32_t row_count;
    struct validated_row *scored;  /* of these; no suspects */
    struct validated_row *suspect; /* predicted and measured all the same */
    uint32_t scored_count, suspect_count, skipped_count;
    struct band_votes bands; /* the catalogue's */
    const char *no_bands;    /* why it has none; NULL */
};

/* False, with a message: there is no column of numbers of that name. Of NULL: true. */
MUST_USE bool validated_check_column(const char *column, struct diag *diag);

struct validated_files {
    const struct catalogue *catalogue;
    const char *const *paths;
    uint32_t count;
    bool are_typed; /* rows are read as whoever types a scenario says them */
};
MUST_USE bool validated_open(struct arena *arena, const struct validated_files *files,
                             struct validated *validated, struct diag *diag);

struct validated_asked {
    struct validate_request request; /* but for its rows */
    const char *wanted;              /* only rows whose id or source has that in it; NULL: all */
    struct shard shard;              /* of these */
};

/* How many rows are wanted. */
uint32_t validated_count_wanted(const struct validated *validated, const char *wanted);

/* That none is; returns false. */
bool validated_refuse_nothing(const struct validated *validated, const char *wanted,
                              struct diag *diag);

/* False, with a message: no row is wanted. */
MUST_USE bool validated_predict(struct arena *arena, const struct validated_asked *asked,
                                struct validated *validated, struct diag *diag);

/* What a user can put right; what was wrong with a line itself is told already. */
void validated_warn(const struct validated *validated, struct diag *diag);

/* Puts the catalogue's bands around the rows, and sorts them. */
void validated_score(struct arena *arena, const struct catalogue *catalogue,
                     struct validated *validated, struct diag *diag);

/* False, with a message each: rows were not predicted for no fault of their own. A file of errors
 * or a plot without them is not to be written. */
MUST_USE bool validated_check_failed(const struct validated *validated, struct diag *diag);

#endif
