/* Fits of the linear model to what came before, quarter by quarter.
 */
#include "lab/fit/backtest.h"

#include "base/absent.h"
#include "base/arena.h"
#include "bands/width.h"
#include "measured/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUARTERS = 4, MONTHS = 3, YEAR_DIGITS = 4 };

/* ---- when ------------------------------------------------------------------------------- */

int32_t backtest_quarter_of(const char *month)
{
    const long year = strtol(month, NULL, 10);
    const long number = strtol(month + YEAR_DIGITS + 1, NULL, 10);
    return (int32_t)(QUARTERS * year + (number - 1) / MONTHS);
}

const char *backtest_quarter_name(struct arena *arena, int32_t number)
{
    return arena_printf(arena, "%d Q%d", (int)number / QUARTERS, (int)number % QUARTERS + 1);
}

static const char *month_of(const struct validated_row *row)
{
    return published_text(row->table, row->row, "published");
}

static int32_t quarter_of(const struct validated_row *row)
{
    return backtest_quarter_of(month_of(row));
}

bool backtest_check(const struct fit_rows *rows, struct diag *diag)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct validated_row *row = &rows->rows[i];
        if (month_of(row)[0] == '\0') {
            const struct place place = published_place(row->table, row->row, "id");
            diag_add(diag, DIAG_INPUT, &place, "row '%s' does not say when it was published",
                     row->id);
            diag_help(diag, "column 'published' has the month, like 2025-06");
            return false;
        }
    }
    return true;
}

/* ---- what is fresh ---------------------------------------------------------------------- */

static bool is_repeated(const struct validated_row *row, const struct validated_row *earlier)
{
    static const char *const columns[] = {"model_name", "gpu", "precision"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (strcmp(published_text(row->table, row->row, columns[i]),
                   published_text(earlier->table, earlier->row, columns[i])) != 0) {
            return false;
        }
    }
    return row->gpus == earlier->gpus;
}

static bool is_fresh(const struct fit_rows *rows, uint32_t number)
{
    const struct validated_row *row = &rows->rows[number];
    for (uint32_t i = 0; i < rows->count; i++) {
        if (quarter_of(&rows->rows[i]) < quarter_of(row) && is_repeated(row, &rows->rows[i])) {
            return false;
        }
    }
    return true;
}

/* ---- one quarter ------------------------------------------------------------------------ */

struct tester {
    struct arena *arena;
    const struct fit_rows *rows;
    struct fit_problem problem; /* with votes that are of one quarter each */
    struct fit_system system;
    int32_t *quarter; /* [votes] */
    double *residual; /* [rows] as of the day, by sources other than the row's; ABSENT: not yet */
};

static struct tester tester_of(struct arena *arena, const struct fit *fit,
                               const struct fit_rows *rows)
{
    struct tester tester = {.arena = arena, .rows = rows, .problem = *fit->problem};
    struct vote_names *names = arena_array(arena, rows->count, sizeof *names);
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct validated_row *row = &rows->rows[i];
        names[i].source = row->source;
        names[i].config_key = arena_printf(arena, "%s|%d", row->config_key, (int)quarter_of(row));
    }
    tester.problem.votes = votes_of(arena, names, rows->count);
    tester.system = fit_system_of(arena, fit, NULL);
    tester.quarter = arena_array(arena, tester.problem.votes.vote_count, sizeof *tester.quarter);
    tester.residual = arena_array(arena, rows->count + (size_t)1, sizeof *tester.residual);
    for (uint32_t i = 0; i < rows->count; i++) {
        tester.quarter[tester.problem.votes.vote[i]] = quarter_of(&rows->rows[i]);
        tester.residual[i] = ABSENT;
    }
    return tester;
}

/* Residuals of all rows by the fit to the votes before a quarter, of all sources but one. */
static const double *residuals_before(const struct tester *tester, int32_t quarter, uint32_t source,
                                      uint32_t *before)
{
    const struct votes *votes = &tester->problem.votes;
    bool *is_in = arena_array(tester->arena, votes->vote_count, sizeof *is_in);
    *before = 0;
    for (uint32_t v = 0; v < votes->vote_count; v++) {
        is_in[v] = tester->quarter[v] < quarter && votes->source[v] != source;
        *before += is_in[v] ? 1 : 0;
    }
    return fit_refit(tester->arena, &tester->system, &tester->problem, is_in);
}

/* A row as predicted by a residual. */
static struct validated_row as_predicted(const struct validated_row *row, double residual)
{
    struct validated_row known = *row;
    known.predicted_s = row->measured_s * exp(residual);
    known.error = expm1(residual);
    known.step_p10_s = known.step_p90_s = ABSENT;
    return known;
}

/* Of rows up to a quarter that have no residual yet: each by the fit to what came before `known`,
 * without its own source. */
static void find_residuals(const struct tester *tester, int32_t known, int32_t quarter)
{
    const struct votes *votes = &tester->problem.votes;
    for (uint32_t s = 0; s < votes->source_count; s++) {
        const double *residual = NULL;
        for (uint32_t i = 0; i < tester->rows->count; i++) {
            const uint32_t vote = votes->vote[i];
            if (votes->source[vote] == s && tester->quarter[vote] <= quarter &&
                is_absent(tester->residual[i])) {
                uint32_t before;
                residual =
                    residual != NULL ? residual : residuals_before(tester, known, s, &before);
                tester->residual[i] = residual[i];
            }
        }
    }
}

/* The errors of the rows before a quarter, as bands have them. */
static struct band_votes votes_before(const struct tester *tester, int32_t quarter)
{
    struct validated_row *known =
        arena_array(tester->arena, tester->rows->count + (size_t)1, sizeof *known);
    uint32_t count = 0;
    for (uint32_t i = 0; i < tester->rows->count; i++) {
        if (tester->quarter[tester->problem.votes.vote[i]] < quarter) {
            known[count++] = as_predicted(&tester->rows->rows[i], tester->residual[i]);
        }
    }
    return score_votes(tester->arena, known, count);
}

/* By what was known, with widths of the regression and, beside them, of one constant. */
static void put_bands(const struct tester *tester, const struct backtest_quarter *quarter,
                      struct backtest *test)
{
    struct band_votes known = votes_before(tester, quarter->number);
    struct validated_row *rows = &test->rows[quarter->first_row];
    struct validated_row *plain = &test->plain[quarter->first_row];
    struct band_width width = width_fit(tester->arena, known.items, known.count, 0);
    known.width = &width;
    memcpy(plain, rows, quarter->rows * sizeof *plain);
    score_put_bands_of(tester->arena, &known, rows, quarter->rows);
    width = width_fit(tester->arena, known.items, known.count, WIDTH_CONSTANT);
    score_put_bands_of(tester->arena, &known, plain, quarter->rows);
}

static void test_quarter(const struct tester *tester, int32_t number, struct backtest *test)
{
    const struct votes *votes = &tester->problem.votes;
    struct backtest_quarter quarter = {.number = number, .first_row = test->row_count};
    const double *residual = residuals_before(tester, number, UINT32_MAX, &quarter.before);
    for (uint32_t i = 0; i < tester->rows->count; i++) {
        if (tester->quarter[votes->vote[i]] == number) {
            const bool is_new = is_fresh(tester->rows, i);
            test->is_fresh[test->row_count] = is_new;
            test->rows[test->row_count++] = as_predicted(&tester->rows->rows[i], residual[i]);
            quarter.rows++;
            quarter.fresh_rows += is_new ? 1 : 0;
        }
    }
    if (quarter.rows > 0) {
        put_bands(tester, &quarter, test);
        test->quarters[test->quarter_count++] = quarter;
        find_residuals(tester, number, number);
    }
}

/* ---- all of them ------------------------------------------------------------------------ */

struct backtest backtest_run(struct arena *arena, const struct fit *fit,
                             const struct fit_rows *rows, int32_t first)
{
    const struct tester tester = tester_of(arena, fit, rows);
    struct backtest test = {0};
    int32_t last = first;
    for (uint32_t v = 0; v < tester.problem.votes.vote_count; v++) {
        last = tester.quarter[v] > last ? tester.quarter[v] : last;
    }
    test.rows = arena_array(arena, rows->count + (size_t)1, sizeof *test.rows);
    test.plain = arena_array(arena, rows->count + (size_t)1, sizeof *test.plain);
    test.is_fresh = arena_array(arena, rows->count + (size_t)1, sizeof *test.is_fresh);
    test.quarters = arena_array(arena, (size_t)(last - first) + 1, sizeof *test.quarters);
    find_residuals(&tester, first, first - 1);
    for (int32_t number = first; number <= last; number++) {
        test_quarter(&tester, number, &test);
    }
    test.residual = tester.residual;
    return test;
}

static bool is_chosen(const struct backtest *test, uint32_t row, enum backtest_choice choice)
{
    return choice == BACKTEST_ALL || test->is_fresh[row] == (choice == BACKTEST_FRESH);
}

const struct validated_row *backtest_rows(struct arena *arena, const struct backtest *test,
                                          struct backtest_part part, uint32_t *count)
{
    const struct validated_row *rows = part.is_plain ? test->plain : test->rows;
    struct validated_row *chosen = arena_array(arena, test->row_count + (size_t)1, sizeof *chosen);
    *count = 0;
    for (uint32_t q = 0; q < test->quarter_count; q++) {
        const struct backtest_quarter *quarter = &test->quarters[q];
        for (uint32_t i = 0; i < quarter->rows; i++) {
            const uint32_t row = quarter->first_row + i;
            if (quarter->number >= part.first && quarter->number < part.end &&
                is_chosen(test, row, part.choice)) {
                chosen[(*count)++] = rows[row];
            }
        }
    }
    return chosen;
}
