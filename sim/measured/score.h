/* How good predictions of measured runs are: by votes (measured/votes), over all rows and in
 * groups.
 */
#ifndef MEASURED_SCORE_H
#define MEASURED_SCORE_H

#include "measured/validate.h"
#include "measured/votes.h"

/* Predicted, measured, not suspect. */
bool score_is_scored(const struct validated_row *row);

/* Votes of these rows, numbered as the rows come. */
struct votes votes_of_rows(struct arena *arena, const struct validated_row *rows, uint32_t count);

/* Of all these rows: the caller leaves out what is not to be scored. */
struct score score_rows(struct arena *arena, const struct validated_row *rows, uint32_t count);

/* Of rows, by votes: how many lie in their bands. Rows without one are left out. */
struct band_coverage score_bands(struct arena *arena, const struct validated_row *rows,
                                 uint32_t count);

/* Groups of rows, by what they have in common. */
enum score_grouping {
    SCORE_BY_SOURCE,
    SCORE_BY_GPU,
    SCORE_BY_FRAMEWORK, /* and year */
    SCORE_BY_SCALE,     /* GPUs: 1-8, 9-64, 65-512, 513+ */
    SCORE_BY_MODEL,     /* dense, or mixture of experts */
    SCORE_BY_BLANKS,    /* everything stated, or something filled */
    SCORE_GROUPING_COUNT_
};
extern const char *const score_grouping_names[SCORE_GROUPING_COUNT_];

struct score_group {
    const char *name;
    struct score score;
    struct band_coverage bands; /* of rows that have a band */
    double rank; /* Spearman, of predicted and measured GPU-seconds per token; ABSENT: fewer than
                    3 configurations, or all the same */
};

/* By name; scales from small to large. */
struct score_group *score_groups(struct arena *arena, const struct validated_row *rows,
                                 uint32_t count, enum score_grouping grouping,
                                 uint32_t *group_count);

/* Each vote with its mean measured / predicted, by source and configuration, for the bands of
 * bands/band. Rows are those that score_is_scored accepts. */
struct band_votes score_votes(struct arena *arena, const struct validated_row *rows,
                              uint32_t count);

/* Puts a band around each prediction, by votes of all sources but the row's. */
void score_put_bands(struct arena *arena, const struct band_votes *votes,
                     struct validated_row *rows, uint32_t count);

/* The same, by votes of all of these sources, the row's too. */
void score_put_bands_of(struct arena *arena, const struct band_votes *votes,
                        struct validated_row *rows, uint32_t count);

/* ---- predictors that know nothing ------------------------------------------------------- */

/* predicted = model FLOPs of a GPU / (efficiency * peak), one efficiency for all rows that are
 * alike; that with the least mean over votes, which is a weighted median. */
enum baseline_kind {
    BASELINE_ONE,      /* all are */
    BASELINE_HARDWARE, /* of one GPU and precision */
    BASELINE_SOFTWARE, /* of one GPU, framework, year and precision */
    BASELINE_COUNT_
};
extern const char *const baseline_titles[BASELINE_COUNT_];

struct baseline {
    uint32_t constants;
    struct score score; /* on the rows to which it was fitted */
};
struct baseline score_baseline(struct arena *arena, const struct validated_row *rows,
                               uint32_t count, enum baseline_kind kind);

#endif
