/* Each point's cell says its worst miss; below the table stand the best that meets all, or the
 * nearest miss with the limits that would do.
 */
#include "report/study/required.h"

#include "base/absent.h"
#include "base/arena.h"
#include "bands/memory_errors.h"
#include "report/near.h"

#include <inttypes.h>
#include <math.h>

#define LIMIT_DIGITS 4 /* of a limit that is proposed */

/* A value in the unit in which a limit is written: four digits, rounded away from `is_least`'s good
 * side, so that who requires this much admits the value. */
static const char *limit_text(struct arena *arena, const struct figure_metric *metric, double value,
                              bool is_least)
{
    const double shown = value * metric->measure.factor;
    const double digit =
        shown > 0 || shown < 0 ? pow(10, floor(log10(fabs(shown))) - (LIMIT_DIGITS - 1)) : 1;
    const double rounded = (is_least ? floor(shown / digit) : ceil(shown / digit)) * digit;
    return arena_printf(arena, "%.10g%s", rounded, metric->measure.unit);
}

const struct plot_limit *required_limits(const struct requirements *requirements,
                                         struct arena *arena)
{
    struct plot_limit *limits = arena_array(arena, requirements->count, sizeof *limits);
    for (uint32_t i = 0; i < requirements->count; i++) {
        const struct requirement *item = &requirements->items[i];
        limits[i] = (struct plot_limit){item->text, item->metric->name, item->limit};
    }
    return limits;
}

const char *required_head(const struct requirements *requirements)
{
    return requirements->count > 0 ? "meets" : NULL;
}

const char *required_cell(const struct requirements *requirements, const struct store_row *row,
                          struct arena *arena)
{
    if (requirements->count == 0 || !store_row_is_good(row)) {
        return NULL;
    }
    double miss = 0;
    const struct requirement *worst = requirements_worst(requirements, row, &miss);
    if (worst == NULL) {
        return "yes";
    }
    return is_absent(miss) ? arena_printf(arena, "no %s", worst->metric->name)
                           : arena_printf(arena, "%s %c%.3g %%", worst->metric->name,
                                          worst->is_least ? '-' : '+', 100 * miss);
}

void required_add_point(const struct requirements *requirements, struct sheet *point,
                        const struct store_row *row)
{
    if (requirements->count == 0) {
        return;
    }
    if (store_row_is_good(row)) {
        sheet_bool(point, "meets", requirements_are_met(requirements, row));
    } else {
        sheet_null_as(point, "meets", NULL);
    }
}

/* ---- all points ------------------------------------------------------------------------------ */

/* Of the points that meet all, those with the fewest GPUs. */
static struct candidates fewest_of(struct arena *arena, const struct candidates *met)
{
    struct candidate *items = arena_array(arena, met->count + 1u, sizeof *items);
    struct candidates fewest = {.items = items};
    for (uint32_t i = 0; i < met->count; i++) {
        const double gpus = met->items[i].row->gpus;
        const double held = fewest.count > 0 ? items[0].row->gpus : ABSENT;
        fewest.count = is_absent(held) || gpus < held ? 0 : fewest.count;
        if (is_absent(held) || gpus <= held) {
            items[fewest.count++] = met->items[i];
        }
    }
    return fewest;
}

static void say_met(const struct required *required, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct against_rows *points = required->points;
    const bool *misses =
        requirements_misses(required->requirements, points->rows, points->count, arena);
    const struct candidates all = against_candidates(arena, points, misses);
    const struct candidates *met = &all;
    const struct figure_metric *metric =
        required->judge != NULL ? required->judge : judges_of(met).items[0];
    const struct winners winners = winners_of(arena, met, metric);
    if (winners.best != NULL) {
        winners_add(&winners, sheet_object(sheet, "best_that_meets_all"));
        winners_say(&winners, " that meets all", sheet);
    }
    const struct candidates smallest = fewest_of(arena, met);
    const struct winners fewest = winners_of(arena, &smallest, metric);
    const struct store_row *row = fewest.best != NULL ? fewest.best : smallest.items[0].row;
    struct sheet *object = sheet_object(sheet, "fewest_gpus_that_meet_all");
    sheet_text(object, "label", row->label);
    sheet_integer(object, "gpus", (int64_t)row->gpus);
    sheet_say(sheet, "fewest GPUs that do: %.0f at %s\n", (double)row->gpus, row->label);
}

/* "days 12.11, 21 % above"; and in JSON. */
static const char *add_miss(const struct requirement *requirement, const struct store_row *row,
                            double miss, struct sheet *misses)
{
    struct arena *arena = sheet_arena(misses);
    const double value = requirement_metric_value(requirement->metric, row);
    struct sheet *object = sheet_object(misses, NULL);
    sheet_text(object, "metric", requirement->metric->name);
    sheet_number(object, "value", value);
    sheet_number(object, "limit", requirement->limit);
    sheet_number(object, "miss", miss);
    return arena_printf(arena, "%s %s, %.3g %% %s", requirement->metric->name,
                        limit_text(arena, requirement->metric, value, requirement->is_least),
                        100 * miss, requirement->is_least ? "below" : "above");
}

/* What the nearest misses, in words, and the limits that it would meet. */
struct remedy {
    const char *words, *limits;
};

static struct remedy add_nearest(const struct requirements *requirements,
                                 const struct store_row *row, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    struct sheet *object = sheet_object(sheet, "nearest_miss");
    sheet_text(object, "label", row->label);
    struct sheet *misses = sheet_array(object, "misses");
    struct remedy remedy = {"", ""};
    for (uint32_t i = 0; i < requirements->count; i++) {
        const struct requirement *requirement = &requirements->items[i];
        const struct figure_metric *metric = requirement->metric;
        const bool is_least = requirement->is_least;
        const double miss = requirement_miss(requirement, row);
        if (miss > 0) {
            const bool is_first = remedy.words[0] == '\0';
            remedy.words = arena_printf(arena, "%s%s%s", remedy.words, is_first ? "" : "; ",
                                        add_miss(requirement, row, miss, misses));
            remedy.limits = arena_printf(
                arena, "%s%s'%s%s%s'", remedy.limits, is_first ? "" : " and ", metric->name,
                is_least ? ">=" : "<=",
                limit_text(arena, metric, requirement_metric_value(metric, row), is_least));
        }
    }
    return remedy;
}

static void note_left_out(const struct required *required)
{
    if (required->near.left_out > 0) {
        diag_add(
            required->diag, DIAG_NOTE, NULL,
            "of the points that miss memory by less than its error, the %d nearest do not meet "
            "all even with enough of it; %" PRIu32 " others were not tried",
            NEAR_POINTS_MAX, required->near.left_out);
    }
}

/* "LABEL would meet all, but misses the memory: 85.7 of 85.5 GB, over by ..."; NULL: none would. */
static const char *add_but_for_memory(const struct required *required, struct sheet *sheet)
{
    const struct store_row *row =
        requirements_first_met(required->requirements, required->near.items, required->near.count);
    if (row == NULL) {
        note_left_out(required);
        return NULL;
    }
    const double over = memory_over(row->memory_peak_bytes, row->memory_limit_bytes);
    struct arena *arena = sheet_arena(sheet);
    struct sheet *object = sheet_object(sheet, "meets_all_but_for_memory");
    sheet_text(object, "label", row->label);
    sheet_number(object, "memory_peak_bytes", row->memory_peak_bytes);
    sheet_number(object, "memory_limit_bytes", row->memory_limit_bytes);
    sheet_number(object, "over", over);
    sheet_number(object, "peaks_so_far_below", memory_errors_share(required->errors, over));
    return arena_printf(arena, "%s would meet all, but needs %.1f of %.1f GB, over %s", row->label,
                        row->memory_peak_bytes / 1e9, row->memory_limit_bytes / 1e9,
                        near_words(arena, required->errors, over));
}

/* Where a point failed it might have met all: then this is no verdict. */
static void say_missed(const struct required *required, struct sheet *sheet)
{
    const struct requirements *requirements = required->requirements;
    const struct against_rows *points = required->points;
    const enum diag_kind kind = required->have_failed ? DIAG_WARNING : DIAG_INFEASIBLE;
    const struct store_row *row = requirements_nearest(requirements, points->rows, points->count);
    double miss = 0;
    const struct requirement *worst =
        row != NULL ? requirements_worst(requirements, row, &miss) : &requirements->items[0];
    diag_add(required->diag, kind, &worst->place, "no point meets %s",
             requirements_text(requirements, sheet_arena(sheet)));
    if (row == NULL) {
        diag_help(required->diag, "no point has all of these metrics: require fewer");
        return;
    }
    const struct remedy remedy = add_nearest(requirements, row, sheet);
    sheet_say(sheet, "nearest miss: %s: %s\n", row->label, remedy.words);
    diag_help(required->diag, "nearest is %s: %s; with %s instead it meets all", row->label,
              remedy.words, remedy.limits);
    const char *but = add_but_for_memory(required, sheet);
    if (but != NULL) {
        sheet_say(sheet, "%s\n", but);
        diag_help(required->diag, "%s", but);
    }
}

static void add_list(const struct required *required, struct sheet *sheet)
{
    const struct requirements *requirements = required->requirements;
    const struct against_rows *points = required->points;
    struct sheet *list = sheet_array(sheet, "requirements");
    for (uint32_t i = 0; i < requirements->count; i++) {
        const struct requirement *requirement = &requirements->items[i];
        int64_t met = 0;
        for (uint32_t k = 0; k < points->count; k++) {
            met += store_row_is_good(&points->rows[k]) &&
                   requirement_miss(requirement, &points->rows[k]) <= 0;
        }
        struct sheet *object = sheet_object(list, NULL);
        sheet_text(object, "text", requirement->text);
        sheet_text(object, "metric", requirement->metric->name);
        sheet_text(object, "relation", requirement->is_least ? ">=" : "<=");
        sheet_number(object, "limit", requirement->limit);
        sheet_integer(object, "points_that_meet", met);
    }
}

void required_add(const struct required *required, struct sheet *sheet)
{
    const struct requirements *requirements = required->requirements;
    const struct against_rows *points = required->points;
    if (requirements->count == 0) {
        return;
    }
    add_list(required, sheet);
    uint32_t good = 0;
    uint32_t met = 0;
    for (uint32_t i = 0; i < points->count; i++) {
        good += store_row_is_good(&points->rows[i]);
        met += requirements_are_met(requirements, &points->rows[i]);
    }
    if (good == 0) { /* that nothing fits is said by all of its points */
        const char *but = add_but_for_memory(required, sheet);
        if (but != NULL) {
            sheet_say(sheet, "\n%s\n", but);
        }
        return;
    }
    if (!requirements_check_known(requirements, points->rows, points->count, required->diag)) {
        return;
    }
    sheet_say(sheet, "\n%" PRIu32 " of %" PRIu32 " points meet %s\n", met, points->count,
              requirements_text(requirements, sheet_arena(sheet)));
    if (met > 0) {
        say_met(required, sheet);
    } else {
        say_missed(required, sheet);
    }
}
