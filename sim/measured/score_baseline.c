/* With t the time at the peak and x = 1 / efficiency, the mean over votes of |x t/m - 1| is a sum
 * of weights w t/m times |x - m/t|: least at the weighted median of m/t, where w is 1 / rows of the
 * vote.
 */
#include "base/arena.h"
#include "measured/score.h"

#include <stdlib.h>
#include <string.h>

const char *const baseline_titles[BASELINE_COUNT_] = {
    "one efficiency for all",
    "one per GPU and precision",
    "one per GPU, framework, year and precision",
};

struct point {
    uint32_t row;
    double slowness; /* measured over the time at the peak: 1 / its own efficiency */
    double weight;
};

static int compare_points(const void *a, const void *b)
{
    const struct point *left = a;
    const struct point *right = b;
    if (left->slowness < right->slowness || left->slowness > right->slowness) {
        return left->slowness < right->slowness ? -1 : 1;
    }
    return (left->row > right->row) - (left->row < right->row);
}

static double weighted_median(struct point *points, uint32_t count)
{
    qsort(points, count, sizeof *points, compare_points);
    double all = 0;
    for (uint32_t i = 0; i < count; i++) {
        all += points[i].weight;
    }
    double below = points[0].weight;
    uint32_t i = 0;
    while (i + 1 < count && 2.0 * below < all) {
        below += points[++i].weight;
    }
    return points[i].slowness;
}

static bool is_alike(const struct validated_row *a, const struct validated_row *b,
                     enum baseline_kind kind)
{
    const bool is_hardware = strcmp(a->gpu, b->gpu) == 0 && strcmp(a->precision, b->precision) == 0;
    const bool is_software = strcmp(a->framework, b->framework) == 0 &&
                             strcmp(a->framework_year, b->framework_year) == 0;
    return kind == BASELINE_ONE || (is_hardware && (kind == BASELINE_HARDWARE || is_software));
}

static double peak_time(const struct validated_row *row)
{
    return row->model_flop_per_gpu / row->peak_flop_per_s;
}

struct fitting {
    struct validated_row *rows;
    uint32_t count;
    enum baseline_kind kind;
    struct votes votes;
    struct point *points; /* room for all rows */
};

/* Predicts all rows that are like `first` with the efficiency that suits them. */
static void fit_class(const struct fitting *fitting, uint32_t first)
{
    struct point *points = fitting->points;
    uint32_t found = 0;
    for (uint32_t i = first; i < fitting->count; i++) {
        const struct validated_row *row = &fitting->rows[i];
        if (is_alike(row, &fitting->rows[first], fitting->kind)) {
            const double slowness = row->measured_s / peak_time(row);
            const uint32_t rows_of_vote = fitting->votes.size[fitting->votes.vote[i]];
            points[found++] = (struct point){i, slowness, 1.0 / (slowness * rows_of_vote)};
        }
    }
    const double slowness = weighted_median(points, found);
    for (uint32_t i = 0; i < found; i++) {
        struct validated_row *row = &fitting->rows[points[i].row];
        row->predicted_s = slowness * peak_time(row);
        row->error = row->predicted_s / row->measured_s - 1.0;
    }
}

struct baseline score_baseline(struct arena *arena, const struct validated_row *rows,
                               uint32_t count, enum baseline_kind kind)
{
    const struct fitting fitting = {
        .rows = arena_array(arena, count, sizeof *rows),
        .count = count,
        .kind = kind,
        .votes = votes_of_rows(arena, rows, count),
        .points = arena_array(arena, count, sizeof *fitting.points),
    };
    struct baseline baseline = {0};
    for (uint32_t i = 0; i < count; i++) {
        fitting.rows[i] = rows[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0;
        while (k < i && !is_alike(&rows[k], &rows[i], kind)) {
            k++;
        }
        if (k == i) { /* the first of its class */
            fit_class(&fitting, i);
            baseline.constants++;
        }
    }
    baseline.score = score_rows(arena, fitting.rows, count);
    return baseline;
}
