/* Rows are sorted by source and configuration before anything is summed, so that a score is the
 * same to the last bit whatever the order of the rows was.
 */
#include "measured/score.h"

#include "base/absent.h"
#include "base/arena.h"
#include "input/doc/name_table.h"

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

struct votes votes_of_rows(struct arena *arena, const struct validated_row *rows, uint32_t count)
{
    struct vote_names *names = arena_array(arena, count, sizeof *names);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = (struct vote_names){rows[i].source, rows[i].config_key};
    }
    return votes_of(arena, names, count);
}

static int compare_rows(const void *a, const void *b)
{
    const struct validated_row *left = a;
    const struct validated_row *right = b;
    const int by_source = strcmp(left->source, right->source);
    const int by_key = by_source != 0 ? by_source : strcmp(left->config_key, right->config_key);
    return by_key != 0 ? by_key : (left->row > right->row) - (left->row < right->row);
}

static struct validated_row *sorted(struct arena *arena, const struct validated_row *rows,
                                    uint32_t count)
{
    struct validated_row *own = arena_array(arena, count, sizeof *own);
    for (uint32_t i = 0; i < count; i++) {
        own[i] = rows[i];
    }
    qsort(own, count, sizeof *own, compare_rows);
    return own;
}

struct band_votes score_votes(struct arena *arena, const struct validated_row *rows, uint32_t count)
{
    rows = sorted(arena, rows, count);
    const struct votes votes = votes_of_rows(arena, rows, count);
    struct band_vote *items = arena_array(arena, count + (size_t)1, sizeof *items);
    double *ratio = arena_array(arena, count, sizeof *ratio);
    for (uint32_t i = 0; i < count; i++) {
        ratio[i] = 1.0 / (1.0 + rows[i].error);
    }
    ratio = votes_mean(arena, &votes, ratio);
    for (uint32_t i = count; i > 0; i--) { /* the first row of a vote stands for it */
        const uint32_t vote = votes.vote[i - 1];
        items[vote] =
            (struct band_vote){rows[i - 1].id, rows[i - 1].source, rows[i - 1].traits, ratio[vote]};
    }
    return (struct band_votes){.items = items, .count = votes.vote_count};
}

static void put_band(struct validated_row *row, const struct band *band)
{
    row->step_p10_s = band->votes > 0 ? row->predicted_s * band->low : ABSENT;
    row->step_p90_s = band->votes > 0 ? row->predicted_s * band->high : ABSENT;
}

void score_put_bands_of(struct arena *arena, const struct band_votes *votes,
                        struct validated_row *rows, uint32_t count)
{
    static const struct band_burdens none = {0};
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].status == ROW_OK) {
            const struct band band = band_of(arena, votes, &rows[i].traits, &none);
            put_band(&rows[i], &band);
        }
    }
}

/* Rows of a source mostly follow each other. */
void score_put_bands(struct arena *arena, const struct band_votes *votes,
                     struct validated_row *rows, uint32_t count)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < count; i = end) {
        while (end < count && strcmp(rows[end].source, rows[i].source) == 0) {
            end++;
        }
        const struct band_votes others = band_votes_without(arena, votes, rows[i].source);
        score_put_bands_of(arena, &others, &rows[i], end - i);
    }
}

struct band_coverage score_bands(struct arena *arena, const struct validated_row *rows,
                                 uint32_t count)
{
    struct validated_row *own = arena_array(arena, count + (size_t)1, sizeof *own);
    double *inside = arena_array(arena, count + (size_t)1, sizeof *inside);
    double *width = arena_array(arena, count + (size_t)1, sizeof *width);
    double *scored = arena_array(arena, count + (size_t)1, sizeof *scored);
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct validated_row *row = &rows[i];
        if (!is_absent(row->step_p10_s)) {
            inside[found] =
                row->measured_s >= row->step_p10_s && row->measured_s <= row->step_p90_s;
            width[found] = log(row->step_p90_s / row->step_p10_s);
            scored[found] = band_score(width[found] / 2, log1p(row->error));
            own[found++] = *row;
        }
    }
    const struct votes votes = votes_of_rows(arena, own, found);
    const double *inside_mean = votes_mean(arena, &votes, inside);
    const double *width_mean = votes_mean(arena, &votes, width);
    const double *score_mean = votes_mean(arena, &votes, scored);
    struct band_coverage coverage = {.votes = votes.vote_count};
    for (uint32_t v = 0; v < votes.vote_count; v++) {
        coverage.inside += inside_mean[v] / votes.vote_count;
        coverage.width += width_mean[v] / votes.vote_count;
        coverage.score += score_mean[v] / votes.vote_count;
    }
    if (votes.vote_count == 0) {
        coverage.inside = coverage.width = coverage.score = ABSENT;
    }
    return coverage;
}

struct score score_rows(struct arena *arena, const struct validated_row *rows, uint32_t count)
{
    rows = sorted(arena, rows, count);
    const struct votes votes = votes_of_rows(arena, rows, count);
    double *error = arena_array(arena, count, sizeof *error);
    for (uint32_t i = 0; i < count; i++) {
        error[i] = rows[i].error;
    }
    return votes_score(arena, &votes, NULL, error);
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

/* Spearman's; not when all are the same. */
static double rank_of(struct arena *arena, const struct validated_row *rows, uint32_t count)
{
    rows = sorted(arena, rows, count);
    const struct votes votes = votes_of_rows(arena, rows, count);
    double *measured = arena_array(arena, count, sizeof *measured);
    double *predicted = arena_array(arena, count, sizeof *predicted);
    double *work = arena_array(arena, 2 * (size_t)count, sizeof *work);
    for (uint32_t i = 0; i < count; i++) {
        measured[i] = rows[i].gpu_s_per_token;
        predicted[i] = rows[i].gpu_s_per_token * (1.0 + rows[i].error);
    }
    const double rank =
        gsl_stats_spearman(votes_mean(arena, &votes, measured), 1,
                           votes_mean(arena, &votes, predicted), 1, votes.vote_count, work);
    return votes.vote_count >= RANK_CONFIGURATIONS_MIN && isfinite(rank) ? rank : ABSENT;
}

struct score_group *score_groups(struct arena *arena, const struct validated_row *rows,
                                 uint32_t count, enum score_grouping grouping,
                                 uint32_t *group_count)
{
    struct name_table names;
    name_table_init(&names, arena);
    uint32_t *group = arena_array(arena, count, sizeof *group);
    for (uint32_t i = 0; i < count; i++) {
        group[i] = name_table_index(&names, group_of(arena, &rows[i], grouping));
    }
    *group_count = names.count;
    struct score_group *groups = arena_array(arena, *group_count, sizeof *groups);
    struct validated_row *selected = arena_array(arena, count, sizeof *selected);
    for (uint32_t g = 0; g < *group_count; g++) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (group[i] == g) {
                selected[found++] = rows[i];
            }
        }
        groups[g] = (struct score_group){
            .name = names.names[g],
            .score = score_rows(arena, selected, found),
            .bands = score_bands(arena, selected, found),
            .rank = grouping == SCORE_BY_SOURCE ? rank_of(arena, selected, found) : ABSENT,
        };
    }
    qsort(groups, *group_count, sizeof *groups, compare_groups);
    return groups;
}
