/* Groups rows into votes and sources, and scores these. */
#include "measured/votes.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/rng.h"
#include "input/doc/name_table.h"
#include "bands/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct votes votes_of(struct arena *arena, const struct vote_names *rows, uint32_t count)
{
    struct name_table sources, configs;
    uint32_t *vote = arena_array(arena, count, sizeof *vote);
    uint32_t *size = arena_array(arena, count, sizeof *size);
    uint32_t *source = arena_array(arena, count, sizeof *source);
    uint32_t *config = arena_array(arena, count, sizeof *config);
    struct votes votes = {.row_count = count};
    name_table_init(&sources, arena);
    name_table_init(&configs, arena);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t of = name_table_index(&sources, rows[i].source);
        const uint32_t key = name_table_index(&configs, rows[i].config_key);
        uint32_t at = 0;
        while (at < votes.vote_count && (source[at] != of || config[at] != key)) {
            at++;
        }
        votes.vote_count += at == votes.vote_count;
        source[at] = of;
        config[at] = key;
        size[at]++;
        vote[i] = at;
    }
    votes.vote = vote;
    votes.size = size;
    votes.source = source;
    votes.config = config;
    votes.source_names = sources.names;
    votes.source_count = sources.count;
    votes.config_names = configs.names;
    votes.config_count = configs.count;
    return votes;
}

static bool is_counted(const bool *is_in, uint32_t vote)
{
    return is_in == NULL || is_in[vote];
}

/* Votes of a source that are in. */
static uint32_t votes_of_source(const struct votes *votes, const bool *is_in, uint32_t source)
{
    uint32_t count = 0;
    for (uint32_t v = 0; v < votes->vote_count; v++) {
        count += votes->source[v] == source && is_counted(is_in, v);
    }
    return count;
}

static uint32_t sources_of(const struct votes *votes, const bool *is_in)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < votes->source_count; s++) {
        count += votes_of_source(votes, is_in, s) > 0;
    }
    return count;
}

static uint32_t votes_in(const struct votes *votes, const bool *is_in)
{
    uint32_t count = 0;
    for (uint32_t v = 0; v < votes->vote_count; v++) {
        count += is_counted(is_in, v);
    }
    return count;
}

void votes_weights(const struct votes *votes, const bool *is_in, double balance, double *weight)
{
    const double all = votes_in(votes, is_in);
    const double sources = sources_of(votes, is_in);
    for (uint32_t i = 0; i < votes->row_count; i++) {
        const uint32_t v = votes->vote[i];
        if (!is_counted(is_in, v)) {
            weight[i] = 0;
            continue;
        }
        const double share = all / (sources * votes_of_source(votes, is_in, votes->source[v]));
        weight[i] = (1.0 - balance + balance * share) / votes->size[v];
    }
}

/* ---- score ------------------------------------------------------------------------------ */

double *votes_mean(struct arena *arena, const struct votes *votes, const double *figure)
{
    double *mean = arena_array(arena, votes->vote_count, sizeof *mean);
    for (uint32_t i = 0; i < votes->row_count; i++) {
        mean[votes->vote[i]] += figure[i];
    }
    for (uint32_t v = 0; v < votes->vote_count; v++) {
        mean[v] /= votes->size[v];
    }
    return mean;
}

/* The mean over sources of the mean over their votes. */
static double macro_of(const struct votes *votes, const bool *is_in, const double *absolute,
                       uint32_t sources)
{
    double total = 0;
    for (uint32_t s = 0; s < votes->source_count; s++) {
        const uint32_t count = votes_of_source(votes, is_in, s);
        double sum = 0;
        for (uint32_t v = 0; v < votes->vote_count; v++) {
            sum += votes->source[v] == s && is_counted(is_in, v) ? absolute[v] : 0;
        }
        total += count > 0 ? sum / count : 0;
    }
    return total / sources;
}

struct score votes_score(struct arena *arena, const struct votes *votes, const bool *is_in,
                         const double *error)
{
    struct score score = {.votes = votes_in(votes, is_in), .sources = sources_of(votes, is_in)};
    if (score.votes == 0) {
        score.mean = score.median = score.p90 = score.macro = score.bias = ABSENT;
        return score;
    }
    double *absolute = arena_array(arena, votes->row_count, sizeof *absolute);
    double *sorted = arena_array(arena, score.votes, sizeof *sorted);
    for (uint32_t i = 0; i < votes->row_count; i++) {
        absolute[i] = fabs(error[i]);
    }
    absolute = votes_mean(arena, votes, absolute);
    const double *own = votes_mean(arena, votes, error);
    uint32_t count = 0;
    for (uint32_t v = 0; v < votes->vote_count; v++) {
        if (is_counted(is_in, v)) {
            score.rows += votes->size[v];
            score.mean += absolute[v] / score.votes;
            score.bias += own[v] / score.votes;
            sorted[count++] = absolute[v];
        }
    }
    score.macro = macro_of(votes, is_in, absolute, score.sources);
    score.median = quantile_of(sorted, count, 0.5);
    score.p90 = quantile_of(sorted, count, 0.9);
    return score;
}

/* ---- halves ----------------------------------------------------------------------------- */

struct ticket {
    uint64_t drawn;
    uint32_t config;
};

static int compare_tickets(const void *left, const void *right)
{
    const struct ticket *a = left;
    const struct ticket *b = right;
    if (a->drawn != b->drawn) {
        return a->drawn < b->drawn ? -1 : 1;
    }
    return (a->config > b->config) - (a->config < b->config);
}

void votes_half(struct arena *arena, const struct votes *votes, uint64_t seed, uint32_t repeat,
                bool *is_in)
{
    struct ticket *tickets = arena_array(arena, votes->config_count, sizeof *tickets);
    bool *is_chosen = arena_array(arena, votes->config_count, sizeof *is_chosen);
    for (uint32_t i = 0; i < votes->config_count; i++) {
        const char *name = votes->config_names[i];
        const struct rng_key key = {.seed = seed,
                                    .stream = rng_stream("cross-validation"),
                                    .step = repeat,
                                    .operation = rng_hash_bytes(name, strlen(name), 0)};
        tickets[i] = (struct ticket){rng_bits(&key), i};
    }
    qsort(tickets, votes->config_count, sizeof *tickets, compare_tickets);
    for (uint32_t i = 0; i < votes->config_count / 2; i++) {
        is_chosen[tickets[i].config] = true;
    }
    for (uint32_t v = 0; v < votes->vote_count; v++) {
        is_in[v] = is_chosen[votes->config[v]];
    }
}
