/* The answer of a report, and its numbers. */
#include "report/study/report_words.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/against_sheet.h"
#include "report/hangs.h"
#include "report/numbers.h"
#include "report/points.h"

#include <string.h>

enum { CLOSE_NAMED = 4 };

const char *report_days(struct arena *arena, double days)
{
    return days < 99.95 ? arena_printf(arena, "%.1f", days) : number_grouped(arena, days);
}

const char *report_range(struct arena *arena, const struct reported_range *range,
                         const char *(*show)(struct arena *arena, double value))
{
    return is_absent(range->p10)
               ? NULL
               : arena_printf(arena, "%s to %s", show(arena, range->p10), show(arena, range->p90));
}

/* "447 days (80 % band 405 to 493)"; without a range "447 days". */
static const char *with_band(struct arena *arena, const char *value, const char *unit,
                             const char *range, const char *band)
{
    return range == NULL ? arena_printf(arena, "%s%s", value, unit)
                         : arena_printf(arena, "%s%s (%s%s)", value, unit, band, range);
}

const char *report_seconds(struct arena *arena, double seconds)
{
    return arena_printf(arena, "%.3g", seconds);
}

/* "447 days (80 % band 405 to 493), 54.9 M USD (49.8 M to 60.6 M)", of which `days` is the unit;
 * without a run "a step of 41.5 s (80 % band 37.6 to 45.8)". */
static const char *what_it_takes(struct arena *arena, const struct reported_point *point,
                                 const char *days)
{
    const struct store_row *row = point->row;
    static const char band[] = "80 % band ";
    if (is_absent(row->wall_clock_days)) {
        return with_band(arena,
                         arena_printf(arena, "a step of %s", report_seconds(arena, row->step_s)),
                         " s", report_range(arena, &point->step, report_seconds), band);
    }
    const char *told = with_band(arena, report_days(arena, row->wall_clock_days), days,
                                 report_range(arena, &point->days, report_days), band);
    if (is_absent(row->cost_usd)) {
        return told;
    }
    return arena_printf(arena, "%s, %s", told,
                        with_band(arena, number_short(arena, row->cost_usd), " USD",
                                  report_range(arena, &point->usd, number_short), ""));
}

static const char *headline(struct arena *arena, const struct reported *reported)
{
    const struct store_row *row = reported->best->row;
    if (reported->count + reported->left_out == 1) {
        return arena_printf(arena, "%s: %s.", row->label,
                            what_it_takes(arena, reported->best, " days"));
    }
    if (strcmp(reported->judge->name, "days") == 0) {
        return arena_printf(arena, "%s takes the fewest days: %s.", row->label,
                            what_it_takes(arena, reported->best, ""));
    }
    if (strcmp(reported->judge->name, "cost_usd") == 0) {
        return arena_printf(arena, "%s costs least: %s.", row->label,
                            what_it_takes(arena, reported->best, " days"));
    }
    return arena_printf(
        arena, "%s has the best %s: %s (%s).", row->label, points_metric_head(reported->judge),
        points_metric(arena, reported->judge, row), what_it_takes(arena, reported->best, " days"));
}

/* Which point is held against the best or the best against which, in one sentence; NULL: there is
 * one point. */
static const char *comparison(struct arena *arena, const struct reported *reported)
{
    const bool is_base = reported->best == reported->base;
    const uint32_t other = is_base ? 1 : (uint32_t)(reported->base - reported->points);
    if (reported->count < 2) {
        return NULL;
    }
    const struct against *against = is_base ? &reported->of_best[other] : &reported->against[0];
    if (is_absent(against->speed_up)) {
        return NULL;
    }
    const char *label = reported->points[other].row->label;
    const char *words = against_words(arena, against);
    return is_base ? arena_printf(arena, "The next, %s, trains %.2f x as fast%s.", label,
                                  against->speed_up, words)
                   : arena_printf(arena, "It trains %.2f x as fast as %s%s.", against->speed_up,
                                  label, words);
}

/* Those that the best is not told from; NULL: from all. */
static const char *close_calls(struct arena *arena, const struct reported *reported)
{
    const char *list = NULL;
    uint32_t found = 0;
    for (uint32_t i = 1; i < reported->count; i++) {
        const struct against *against = &reported->of_best[i];
        if (against_is_close(against) && ++found <= CLOSE_NAMED) {
            const char *one = arena_printf(arena, "%s (%.2f x)", reported->points[i].row->label,
                                           against->speed_up);
            list = list == NULL ? one : arena_printf(arena, "%s, %s", list, one);
        }
    }
    if (list == NULL) {
        return NULL;
    }
    return found <= CLOSE_NAMED ? arena_printf(arena, "Too close to it to call: %s.", list)
                                : arena_printf(arena, "Too close to it to call: %s and %u more.",
                                               list, found - CLOSE_NAMED);
}

/* Another point that costs less; NULL: the best does, or one has no price. */
static const char *cheaper(struct arena *arena, const struct reported *reported)
{
    const struct store_row *best = reported->best->row; /* the first of them */
    const struct store_row *least = points_cheapest(best, reported->count);
    return least == NULL || least == best
               ? NULL
               : arena_printf(arena, "%s costs least: %s USD, %s days.", least->label,
                              number_short(arena, least->cost_usd),
                              report_days(arena, least->wall_clock_days));
}

/* What the worth of a network or of a GPU comes to. */
static const char *worth(struct arena *arena, const struct reported *reported)
{
    const double usd = report_worth(reported, 0);
    if (reported->best == reported->base || is_absent(usd) || usd < 0.005) {
        return NULL;
    }
    return arena_printf(arena,
                        "A GPU-hour of it may cost %.2f USD more than one of %s until the same "
                        "tokens cost the same.",
                        usd, reported->base->row->label);
}

static const char *hanging(struct arena *arena, const struct reported *reported)
{
    const char *text = hangs_text(arena, reported->best->row);
    return text == NULL || text[0] == '\0' ? NULL
                                           : arena_printf(arena, "Its critical path: %s.", text);
}

/* Another point that takes fewer days than the cheapest, of offers; NULL: none does. */
static const char *sooner(struct arena *arena, const struct reported *reported)
{
    const struct store_row *best = reported->best->row; /* the first of them */
    const struct store_row *least = best;
    if (strcmp(reported->judge->name, "cost_usd") != 0) {
        return NULL;
    }
    for (uint32_t i = 1; i < reported->count; i++) {
        const struct store_row *row = reported->points[i].row;
        least = row->wall_clock_days < least->wall_clock_days ? row : least;
    }
    return least == best ? NULL
                         : arena_printf(arena, "%s takes the fewest days: %s, for %s USD.",
                                        least->label, report_days(arena, least->wall_clock_days),
                                        number_short(arena, least->cost_usd));
}

bool report_is_of_quote(const char *kind)
{
    return strcmp(kind, "quote") == 0;
}

/* What rows of a quote do not have: its file's deliveries, terms and draws. */
static const char of_quote[] =
    "These are the runs of a quote, one for each part of a delivery, as if each worked alone from "
    "now on: by when all is done, what is paid when and in what share of draws each offer wins is "
    "told by `stoker quote` of its file.";

const char *report_answer(struct arena *arena, const struct reported *reported)
{
    if (reported->best == NULL) {
        return arena_printf(arena, "None of %u points has a result. %s: %s.",
                            reported->lacking_count, reported->lacking[0]->label,
                            points_reason(arena, reported->lacking[0]));
    }
    const char *const compared = comparison(arena, reported);
    const char *answer = headline(arena, reported);
    answer = compared != NULL ? arena_printf(arena, "%s %s", answer, compared) : answer;
    const char *const more[] = {close_calls(arena, reported), cheaper(arena, reported),
                                worth(arena, reported), hanging(arena, reported),
                                sooner(arena, reported)};
    const char *second = NULL;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        second = more[i] == NULL  ? second
                 : second == NULL ? more[i]
                                  : arena_printf(arena, "%s %s", second, more[i]);
    }
    answer = second == NULL ? answer : arena_printf(arena, "%s\n%s", answer, second);
    return report_is_of_quote(reported->study->kind)
               ? arena_printf(arena, "%s\n%s", answer, of_quote)
               : answer;
}

double report_worth(const struct reported *reported, uint32_t point)
{
    return points_worth(reported->points[point].row, reported->base->row);
}
