/* The share of measured peaks that would have fit, or not, says how near is near. */
#include "report/near.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/sheet.h"

#include <inttypes.h>
#include <math.h>

const char *near_words(struct arena *arena, const struct memory_errors *errors, double over)
{
    if (!memory_errors_are_near(errors, over)) {
        return NULL;
    }
    const double below = memory_errors_share(errors, over);
    return arena_printf(arena,
                        "by %.2g %%, less than the error of memory: of %" PRIu32
                        " measured peaks, off by %.1f %% in the median, %.0f %% lay so far %s "
                        "their prediction",
                        100 * fabs(over), errors->count, 100 * errors->median,
                        100 * (over > 0 ? below : 1.0 - below), over > 0 ? "below" : "above");
}

void near_add_errors(const struct memory_errors *errors, struct sheet *sheet)
{
    static const struct field fields[] = {
        {"peaks", FIELD_AT(struct memory_errors, count)},
        {"median", FIELD_AT(struct memory_errors, median)},
        {"predicted_over_measured_p10", FIELD_AT(struct memory_errors, low)},
        {"predicted_over_measured_p90", FIELD_AT(struct memory_errors, high)},
    };
    if (errors == NULL) {
        sheet_null_as(sheet, "memory_error", NULL);
    } else {
        sheet_members(sheet_object(sheet, "memory_error"), FIELD_LIST(fields), errors);
    }
}

double near_margin_costs(double best, double within)
{
    return is_absent(best) || is_absent(within) ? 0 : 1 - within / best;
}

const char *near_margin_words(struct arena *arena, double best, double within)
{
    const double costs = near_margin_costs(best, within);
    return costs > 0 ? arena_printf(arena, "without that the best were %.2g %% better", 100 * costs)
                     : "which costs nothing";
}

const char *near_margin_clause(struct arena *arena, double memory_margin)
{
    return memory_margin > 0 ? arena_printf(arena, " with %.2g %% of it left free (memory.margin)",
                                            100 * memory_margin)
                             : "";
}

/* ---- near misses ------------------------------------------------------------------------- */

static void add_miss(const struct memory_errors *errors, const struct near_miss *miss,
                     struct sheet *misses)
{
    const double over = memory_over(miss->memory_bytes, miss->limit_bytes);
    struct sheet *object = sheet_object(misses, NULL);
    if (miss->at != NULL) {
        sheet_text(object, "at", miss->at);
    }
    sheet_text(object, "layout", miss->layout);
    sheet_texts(object, "set", miss->sets, miss->set_count);
    sheet_number(object, "value", miss->value);
    sheet_number(object, "step_time_s", miss->step_s);
    sheet_number(object, "gain", miss->gain);
    sheet_number(object, "memory_peak_bytes", miss->memory_bytes);
    sheet_number(object, "memory_limit_bytes", miss->limit_bytes);
    sheet_number(object, "over", over);
    sheet_number(object, "peaks_so_far_below", memory_errors_share(errors, over));
    sheet_bool(object, "is_certified", miss->is_certified);
}

static void show_miss(const struct memory_errors *errors, const struct near_miss *miss,
                      struct sheet *table)
{
    struct arena *arena = sheet_arena(table);
    const double over = memory_over(miss->memory_bytes, miss->limit_bytes);
    const char *gain =
        is_absent(miss->gain) ? "nothing fits" : arena_printf(arena, "%.3g x", miss->gain);
    sheet_text(table, NULL, miss->at);
    sheet_text(table, NULL, miss->layout);
    sheet_text(
        table, NULL,
        arena_printf(arena, "%.1f of %.1f", miss->memory_bytes / 1e9, miss->limit_bytes / 1e9));
    sheet_number(table, NULL, over);
    sheet_number(table, NULL, memory_errors_share(errors, over));
    sheet_number(table, NULL, miss->step_s);
    sheet_text(table, NULL, gain);
}

void near_add(const struct memory_errors *errors, const struct near_miss *misses, uint32_t count,
              struct sheet *sheet)
{
    struct sheet *list = sheet_array(sheet, "near_misses");
    if (count == 0) {
        return;
    }
    const struct field fields[] = {
        {NULL, FIELD_LEFT(misses[0].at != NULL ? "better, but for memory" : NULL)},
        {NULL, FIELD_LEFT(misses[0].at != NULL ? "layout" : "better, but for memory")},
        {NULL, FIELD_COUNT("GB")},
        {NULL, FIELD_RIGHT("over %", "%.1f", 100)},
        {NULL, FIELD_RIGHT("peaks %", "%.0f", 100)},
        {NULL, FIELD_RIGHT("step s", "%.3f", 1)},
        {NULL, FIELD_COUNT("gain")},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    bool are_certified = true;
    for (uint32_t i = 0; i < count; i++) {
        are_certified = are_certified && misses[i].is_certified;
        add_miss(errors, &misses[i], list);
        show_miss(errors, &misses[i], table);
    }
    sheet_say(sheet,
              "over a GPU's memory by less than the error of memory, %.1f %%, or under it by less "
              "than the margin; peaks %%: of the %" PRIu32
              " measured ones, how many would have fit where so much was predicted\n",
              100 * errors->near, errors->count);
    if (!are_certified) {
        sheet_say(sheet, "not all near misses were tried: others may be better still\n");
    }
}
