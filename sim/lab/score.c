/* Rows are sorted by source and configuration, so a vote is a run of rows and a source a run of
 * votes; sums are taken in that order, whatever the order of the rows was.
 */
#include "lab/score.h"

#include "base/arena.h"
#include "lab/quantile.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_CONFIGURATIONS_MIN = 3 };

bool score_is_scored(const struct validated_row *row)
{
    return row->status == ROW_OK && row->measured_s > 0 && row->suspect[0] == '\0';
}

/* ---- votes ------------------------------------------------------------------------------ */

struct vote {
    const char *source;
    uint32_t rows;
    double ape, error;
    double measured, predicted; /* GPU-seconds per token */
};

static int compare_rows(const void *a, const void *b)
{
    const struct validated_row *left = *(const struct validated_row *const *)a;
    const struct validated_row *right = *(const struct validated_row *const *)b;
    const int by_source = strcmp(left->source, right->source);
    const int by_key = by_source != 0 ? by_source : strcmp(left->config_key, right->config_key);
    return by_key != 0 ? by_key : (left->row > right->row) - (left->row < right->row);
}

static bool is_same_vote(const struct validated_row *a, const struct validated_row *b)
{
    return strcmp(a->source, b->source) == 0 && strcmp(a->config_key, b->config_key) == 0;
}

static const struct validated_row **sorted(struct arena *arena, const struct validated_row *rows,
                                           uint32_t count)
{
    const struct validated_row **order = arena_array(arena, count, sizeof *order);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = &rows[i];
    }
    qsort(order, count, sizeof *order, compare_rows);
    return order;
}

static struct vote *votes_of(struct arena *arena, const struct validated_row *rows, uint32_t count,
                             uint32_t *vote_count)
{
    const struct validated_row **order = sorted(arena, rows, count);
    struct vote *votes = arena_array(arena, count, sizeof *votes);
    *vote_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || !is_same_vote(order[i - 1], order[i])) {
            votes[(*vote_count)++].source = order[i]->source;
        }
        struct vote *vote = &votes[*vote_count - 1];
        vote->rows++;
        vote->ape += fabs(order[i]->error);
        vote->error += order[i]->error;
        vote->measured += order[i]->gpu_s_per_token;
        vote->predicted += order[i]->gpu_s_per_token * (1.0 + order[i]->error);
    }
    for (uint32_t i = 0; i < *vote_count; i++) {
        struct vote *vote = &votes[i];
        vote->ape /= vote->rows;
        vote->error /= vote->rows;
        vote->measured /= vote->rows;
        vote->predicted /= vote->rows;
    }
    return votes;
}

struct band_votes score_votes(struct arena *arena, const struct validated_row *rows, uint32_t count)
{
    const struct validated_row **order = sorted(arena, rows, count);
    struct band_vote *votes = arena_array(arena, count + (size_t)1, sizeof *votes);
    uint32_t vote_count = 0;
    for (uint32_t i = 0; i < count;) {
        const uint32_t first = i;
        double sum = 0;
        for (; i < count && is_same_vote(order[first], order[i]); i++) {
            sum += 1.0 / (1.0 + order[i]->error);
        }
        votes[vote_count++] =
            (struct band_vote){order[first]->source, order[first]->traits, sum / (i - first)};
    }
    return (struct band_votes){votes, vote_count};
}

/* The mean over sources of the mean over their votes. */
static double macro_of(const struct vote *votes, uint32_t count, uint32_t *sources)
{
    double total = 0;
    *sources = 0;
    for (uint32_t i = 0; i < count;) {
        const uint32_t first = i;
        double sum = 0;
        for (; i < count && strcmp(votes[i].source, votes[first].source) == 0; i++) {
            sum += votes[i].ape;
        }
        total += sum / (i - first);
        (*sources)++;
    }
    return *sources > 0 ? total / *sources : 0;
}

struct score score_rows(struct arena *arena, const struct validated_row *rows, uint32_t count)
{
    struct score score = {.rows = count};
    if (count == 0) {
        return score;
    }
    const struct vote *votes = votes_of(arena, rows, count, &score.votes);
    double *apes = arena_array(arena, score.votes, sizeof *apes);
    for (uint32_t i = 0; i < score.votes; i++) {
        apes[i] = votes[i].ape;
        score.mean_ape += votes[i].ape / score.votes;
        score.bias += votes[i].error / score.votes;
    }
    score.median_ape = quantile_of(apes, score.votes, 0.5);
    score.p90_ape = quantile_of(apes, score.votes, 0.9);
    score.macro_mape = macro_of(votes, score.votes, &score.sources);
    return score;
}

/* ---- groups ----------------------------------------------------------------------------- */

const char *const score_grouping_names[SCORE_GROUPING_COUNT_] = {"source", "gpu",   "framework",
                                                                 "scale",  "model", "blanks"};

static const struct scale_row {
    int64_t from;
    const char *name;
} scales[] = {{513, "513+ GPUs"}, {65, "65-512 GPUs"}, {9, "9-64 GPUs"}, {0, "1-8 GPUs"}};

static const char *scale_of(int64_t gpus)
{
    const struct scale_row *row = scales;
    while (gpus < row->from) {
        row++;
    }
    return row->name;
}

static const char *group_of(struct arena *arena, const struct validated_row *row,
                            enum score_grouping grouping)
{
    switch (grouping) {
    case SCORE_BY_SOURCE:
        return row->source;
    case SCORE_BY_GPU:
        return row->gpu;
    case SCORE_BY_FRAMEWORK:
        return arena_printf(arena, "%s%s%s", row->framework,
                            row->framework_year[0] != '\0' ? " " : "", row->framework_year);
    case SCORE_BY_SCALE:
        return scale_of(row->gpus);
    case SCORE_BY_MODEL:
        return row->is_mixture ? "mixture of experts" : "dense";
    default:
        return row->filled[0] != '\0' ? "something filled" : "everything stated";
    }
}

/* "1-8" < "9-64" < "65-512": by the number that a name begins with, then as text. */
static int compare_groups(const void *a, const void *b)
{
    const struct score_group *left = a;
    const struct score_group *right = b;
    const long x = strtol(left->name, NULL, 10);
    const long y = strtol(right->name, NULL, 10);
    return x != y ? (x > y) - (x < y) : strcmp(left->name, right->name);
}

static void rank_group(struct arena *arena, const struct validated_row *rows, uint32_t count,
                       struct score_group *group)
{
    uint32_t votes_count = 0;
    const struct vote *votes = votes_of(arena, rows, count, &votes_count);
    if (votes_count < RANK_CONFIGURATIONS_MIN) {
        return;
    }
    double *measured = arena_array(arena, votes_count, sizeof *measured);
    double *predicted = arena_array(arena, votes_count, sizeof *predicted);
    double *work = arena_array(arena, 2 * (size_t)votes_count, sizeof *work);
    for (uint32_t i = 0; i < votes_count; i++) {
        measured[i] = votes[i].measured;
        predicted[i] = votes[i].predicted;
    }
    group->rank = gsl_stats_spearman(measured, 1, predicted, 1, votes_count, work);
    group->has_rank = isfinite(group->rank); /* not when all are the same */
    group->rank = group->has_rank ? group->rank : 0;
}

/* The rows of the group `name`. */
static uint32_t select_rows(const struct validated_row *rows, const char *const *names,
                            uint32_t count, const char *name, struct validated_row *selected)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            selected[found++] = rows[i];
        }
    }
    return found;
}

/* Each name once; returns their number. */
static uint32_t distinct(const char *const *names, uint32_t count, const char **each)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0;
        while (k < found && strcmp(each[k], names[i]) != 0) {
            k++;
        }
        each[found] = k == found ? names[i] : each[found];
        found += k == found ? 1 : 0;
    }
    return found;
}

struct score_group *score_groups(struct arena *arena, const struct validated_row *rows,
                                 uint32_t count, enum score_grouping grouping,
                                 uint32_t *group_count)
{
    const char **names = arena_array(arena, count + (size_t)1, sizeof *names);
    const char **each = arena_array(arena, count + (size_t)1, sizeof *each);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = group_of(arena, &rows[i], grouping);
    }
    *group_count = distinct(names, count, each);
    struct score_group *groups = arena_array(arena, *group_count, sizeof *groups);
    struct validated_row *selected = arena_array(arena, count, sizeof *selected);
    for (uint32_t i = 0; i < *group_count; i++) {
        const uint32_t found = select_rows(rows, names, count, each[i], selected);
        groups[i] =
            (struct score_group){.name = each[i], .score = score_rows(arena, selected, found)};
        if (grouping == SCORE_BY_SOURCE) {
            rank_group(arena, selected, found, &groups[i]);
        }
    }
    qsort(groups, *group_count, sizeof *groups, compare_groups);
    return groups;
}
