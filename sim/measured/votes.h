/* Votes: which rows count how much, and the score, as shared/validation/README.md defines it.
 *
 * A vote is one (source, config_key): the mean of its rows' absolute relative errors, and of the
 * signed ones. A configuration is one config_key, whichever the sources: halves of a
 * cross-validation are sets of configurations. Votes, sources and configurations are numbered by
 * first appearance. Quantiles lie between order statistics as a straight line: of 1, 2, 3, 4 and 10
 * the p90 is 4 + 0.6 (10 - 4).
 */
#ifndef MEASURED_VOTES_H
#define MEASURED_VOTES_H

#include <stdbool.h>
#include <stdint.h>

struct arena;

struct votes {
    uint32_t row_count;
    const uint32_t *vote; /* [rows] */
    uint32_t vote_count, source_count, config_count;
    const uint32_t *size, *source, *config; /* [votes] rows, source, configuration */
    const char *const *source_names;        /* [sources] */
    const char *const *config_names;        /* [configurations] */
};

struct vote_names {
    const char *source, *config_key;
};

struct votes votes_of(struct arena *arena, const struct vote_names *rows, uint32_t count);

/* Fills weight [rows]: 0 outside `is_in` [votes] (NULL: all are in); the rest adds up to the
 * number of votes that are in. With balance 0 each vote weighs 1, with 1 each source the same. */
void votes_weights(const struct votes *votes, const bool *is_in, double balance, double *weight);

/* The mean of a figure [rows] over each vote's rows: [votes]. */
double *votes_mean(struct arena *arena, const struct votes *votes, const double *figure);

/* Of votes' errors; ABSENT when there are none. */
struct score {
    uint32_t rows, votes, sources;
    double mean, median, p90; /* of absolute errors */
    double macro;             /* mean of sources' means of them */
    double bias;              /* mean of signed errors */
};

/* Of the votes that are in. `error` [rows] is predicted / measured - 1. */
struct score votes_score(struct arena *arena, const struct votes *votes, const bool *is_in,
                         const double *error);

/* is_in [votes] for one half of the configurations, chosen by a hash of seed and repeat. */
void votes_half(struct arena *arena, const struct votes *votes, uint64_t seed, uint32_t repeat,
                bool *is_in);

#endif
