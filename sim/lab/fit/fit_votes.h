/* Votes: which rows count how much, and the score.
 *
 * A vote is one (source, config_key): the mean of its rows' absolute relative errors. A
 * configuration is one config_key, whichever the sources: halves of a cross-validation are sets
 * of configurations. Votes, sources and configurations are numbered by first appearance.
 */
#ifndef LAB_FIT_FIT_VOTES_H
#define LAB_FIT_FIT_VOTES_H

#include <stdbool.h>
#include <stdint.h>

struct arena;

struct fit_votes {
    uint32_t row_count;
    const uint32_t *vote; /* [rows] */
    uint32_t vote_count, source_count, config_count;
    const uint32_t *size, *source, *config; /* [votes] rows, source, configuration */
    const char *const *source_names;        /* [sources] */
    const char *const *config_names;        /* [configurations] */
};

struct fit_row_names {
    const char *source, *config_key;
};

struct fit_votes fit_votes_of(struct arena *arena, const struct fit_row_names *rows,
                              uint32_t count);

/* Fills weight [rows]: 0 outside `is_in` [votes] (NULL: all are in); the rest adds up to the
 * number of votes that are in. With balance 0 each vote weighs 1, with 1 each source the same. */
void fit_votes_weights(const struct fit_votes *votes, const bool *is_in, double balance,
                       double *weight);

struct fit_score {
    uint32_t votes;
    double mean, macro, median, p90; /* of votes' absolute errors; macro: mean of sources' means */
    double bias;                     /* mean of votes' signed errors */
};

/* `error` [rows] is predicted / measured - 1. */
struct fit_score fit_votes_score(struct arena *arena, const struct fit_votes *votes,
                                 const bool *is_in, const double *error);

/* is_in [votes] for one half of the configurations, chosen by a hash of seed and repeat. */
void fit_votes_half(struct arena *arena, const struct fit_votes *votes, uint64_t seed,
                    uint32_t repeat, bool *is_in);

#endif
