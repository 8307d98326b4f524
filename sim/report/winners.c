/* One pass finds the best, a second one its equals: to be equal is not transitive, so all are held
 * against the best alone.
 */
#include "report/winners.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/points.h"
#include "run/duration.h"

#include <math.h>
#include <string.h>

/* So many equals are named. */
enum { EQUALS_NAMED = 3 };

/* Peaks are datasheets': two that differ do so by more. */
#define PEAK_RELATIVE 1e-9

/* ---- by what --------------------------------------------------------------------------------- */

struct judges judges_of(const struct candidates *candidates)
{
    bool has_runs = true;
    bool has_prices = true;
    bool is_same_run = true;
    for (uint32_t i = 0; i < candidates->count; i++) {
        const struct store_row *row = candidates->items[i].row;
        const double tokens = candidates->items[0].row->run_tokens;
        has_runs = has_runs && !is_absent(row->wall_clock_days);
        has_prices = has_prices && !is_absent(row->cost_usd) && row->cost_usd > 0;
        is_same_run = is_same_run && !(row->run_tokens < tokens) && !(row->run_tokens > tokens);
    }
    const char *names[] = {"tokens_per_s_per_gpu", NULL};
    if (has_runs && is_same_run) {
        names[0] = has_prices ? "cost_usd" : "days";
        names[1] = has_prices ? "days" : NULL;
    } else if (has_runs && has_prices) {
        names[0] = "usd_per_million_tokens";
    }
    struct judges judges = {.count = 0};
    for (uint32_t i = 0; i < sizeof names / sizeof *names && names[i] != NULL; i++) {
        judges.items[judges.count++] = store_metric_find(names[i]);
    }
    return judges;
}

bool peaks_differ(const struct store_row *const *rows, uint32_t count)
{
    double peak = ABSENT;
    for (uint32_t i = 0; i < count; i++) {
        const double own = store_row_is_good(rows[i]) ? rows[i]->peak_flop_per_s : ABSENT;
        if (!is_absent(peak) && !is_absent(own) && fabs(own / peak - 1) > PEAK_RELATIVE) {
            return true;
        }
        peak = is_absent(own) ? peak : own;
    }
    return false;
}

bool metric_is_of_peak(const struct figure_metric *metric)
{
    return strcmp(metric->name, "mfu") == 0 || strcmp(metric->name, "hfu") == 0;
}

static bool are_across_peaks(struct arena *arena, const struct candidates *candidates)
{
    const struct store_row **rows = arena_array(arena, candidates->count + 1u, sizeof *rows);
    for (uint32_t i = 0; i < candidates->count; i++) {
        rows[i] = candidates->items[i].row;
    }
    return peaks_differ(rows, candidates->count);
}

struct judges judges_asked(struct arena *arena, const struct candidates *candidates,
                           const struct figure_metric *metric)
{
    struct judges judges = {.items = {metric}, .count = 1};
    const struct judges own = judges_of(candidates);
    const bool compares = !metric_is_of_peak(metric) || !are_across_peaks(arena, candidates);
    for (uint32_t i = 0; !compares && i < own.count; i++) {
        judges.items[judges.count++] = own.items[i];
    }
    return judges;
}

/* ---- who ------------------------------------------------------------------------------------- */

static double value_of(const struct figure_metric *metric, const struct candidate *candidate)
{
    return store_metric_value(metric, candidate->row);
}

/* The part of a value that hangs on steps: of days not the queue, nor what is planned. */
static double share_of_steps(const struct figure_metric *metric, const struct candidate *candidate)
{
    return strcmp(metric->name, "days") == 0 ? duration_share_of_steps(candidate->row->account_s)
                                             : 1;
}

/* Steps that are the same differ by nothing, and what is made of them by what it says. */
static double resolution_of(const struct figure_metric *metric, const struct candidate *a,
                            const struct candidate *b)
{
    const double of_steps = a->is_as_base && b->is_as_base ? 0 : fmax(a->resolution, b->resolution);
    return of_steps * fmin(share_of_steps(metric, a), share_of_steps(metric, b));
}

static bool are_equal(double a, double b, double resolution)
{
    const bool is_exact = !(a < b) && !(a > b);
    return is_exact || (a > 0 && b > 0 && fabs(log(a / b)) <= resolution);
}

static const struct candidate *best_of(const struct candidates *candidates,
                                       const struct figure_metric *metric)
{
    const struct candidate *best = NULL;
    for (uint32_t i = 0; i < candidates->count; i++) {
        const struct candidate *candidate = &candidates->items[i];
        const double value = value_of(metric, candidate);
        const double held = best != NULL ? value_of(metric, best) : ABSENT;
        const bool is_better = metric->is_higher_better ? value > held : value < held;
        if (!is_absent(value) && (is_absent(held) || is_better)) {
            best = candidate;
        }
    }
    return best;
}

struct winners winners_of(struct arena *arena, const struct candidates *candidates,
                          const struct figure_metric *metric)
{
    const struct candidate *best = best_of(candidates, metric);
    struct winners winners = {.metric = metric, .best = best != NULL ? best->row : NULL};
    const struct store_row **equals = arena_array(arena, candidates->count + 1u, sizeof *equals);
    double resolution = 0;
    for (uint32_t i = 0; best != NULL && i < candidates->count; i++) {
        const struct candidate *other = &candidates->items[i];
        const double told = resolution_of(metric, best, other);
        if (other != best && !is_absent(value_of(metric, other)) &&
            are_equal(value_of(metric, best), value_of(metric, other), told)) {
            equals[winners.equal_count++] = other->row;
            resolution = fmax(resolution, told);
        }
    }
    winners.equals = equals;
    winners.resolution = expm1(resolution);
    winners.is_across_peaks = metric_is_of_peak(metric) && are_across_peaks(arena, candidates);
    return winners;
}

/* ---- in words -------------------------------------------------------------------------------- */

/* "; equal to 0.072 %: B; C; D and 4 more". */
static const char *equals_text(struct arena *arena, const struct winners *winners)
{
    const uint32_t count = winners->equal_count;
    const char *text = winners->resolution > 0
                           ? arena_printf(arena, "; equal to %.2g %%: ", 100 * winners->resolution)
                           : "; equal: ";
    for (uint32_t i = 0; i < count && i < EQUALS_NAMED; i++) {
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? "; " : "", winners->equals[i]->label);
    }
    return count > EQUALS_NAMED ? arena_printf(arena, "%s and %u more", text, count - EQUALS_NAMED)
                                : text;
}

const char *winners_text(struct arena *arena, const struct winners *winners, const char *which)
{
    const struct figure_metric *metric = winners->metric;
    if (winners->best == NULL) {
        return NULL;
    }
    return arena_printf(arena, "best %s%s: %s at %s%s%s", points_metric_head(metric), which,
                        points_metric(arena, metric, winners->best), winners->best->label,
                        winners->equal_count > 0 ? equals_text(arena, winners) : "",
                        winners->is_across_peaks ? " (of different peaks: it does not compare)"
                                                 : "");
}

void winners_say(const struct winners *winners, const char *which, struct sheet *sheet)
{
    const char *text = winners_text(sheet_arena(sheet), winners, which);
    if (text != NULL) {
        sheet_say(sheet, "%s\n", text);
    }
}

void winners_add(const struct winners *winners, struct sheet *object)
{
    struct arena *arena = sheet_arena(object);
    const char **labels = arena_array(arena, winners->equal_count + 1u, sizeof *labels);
    for (uint32_t i = 0; i < winners->equal_count; i++) {
        labels[i] = winners->equals[i]->label;
    }
    sheet_text(object, "label", winners->best->label);
    sheet_text(object, "metric", winners->metric->name);
    sheet_number(object, "value", store_metric_value(winners->metric, winners->best));
    sheet_texts(object, "equals", labels, winners->equal_count);
    sheet_number(object, "resolution", winners->resolution);
    sheet_bool(object, "compares", !winners->is_across_peaks);
}
