/* Each peak, each source, and all of them. */
#include "report/measured/memory_sheet.h"

#include "bands/quantile.h"
#include "base/arena.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static double error_of(const struct memory_error *peak)
{
    return peak->predicted_bytes / peak->measured_bytes - 1.0;
}

static void add_rows(struct sheet *sheet, const struct memory_errors *errors)
{
    static const struct field fields[] = {
        {"id", FIELD_LEFT("peak of")},
        {"source", FIELD_LEFT(NULL)},
        {"measured_bytes", FIELD_RIGHT("measured GB", "%.1f", 1e-9)},
        {"predicted_bytes", FIELD_RIGHT("predicted GB", "%.1f", 1e-9)},
        {"error", FIELD_RIGHT("error %", "%+.1f", 100)},
    };
    struct sheet *table = sheet_table(sheet, "rows", FIELD_LIST(fields));
    for (uint32_t i = 0; i < errors->count; i++) {
        const struct memory_error *peak = &errors->items[i];
        sheet_text(table, NULL, peak->id);
        sheet_text(table, NULL, peak->source);
        sheet_number(table, NULL, peak->measured_bytes);
        sheet_number(table, NULL, peak->predicted_bytes);
        sheet_number(table, NULL, error_of(peak));
    }
}

/* The median error of a source's peaks, whose first is number `first`; counts them. */
static double median_of_source(struct arena *arena, const struct memory_errors *errors,
                               uint32_t first, uint32_t *count)
{
    double *sizes = arena_array(arena, errors->count, sizeof *sizes);
    *count = 0;
    for (uint32_t i = first; i < errors->count; i++) {
        if (strcmp(errors->items[i].source, errors->items[first].source) == 0) {
            sizes[(*count)++] = fabs(error_of(&errors->items[i]));
        }
    }
    return quantile_of(sizes, *count, 0.5);
}

static bool is_first_of_source(const struct memory_errors *errors, uint32_t number)
{
    uint32_t i = 0;
    while (strcmp(errors->items[i].source, errors->items[number].source) != 0) {
        i++;
    }
    return i == number;
}

static void add_sources(struct sheet *sheet, const struct memory_errors *errors)
{
    static const struct field fields[] = {
        {"source", FIELD_LEFT("source")},
        {"peaks", FIELD_RIGHT("peaks", "%.0f", 1)},
        {"median", FIELD_RIGHT("median error %", "%.1f", 100)},
    };
    struct sheet *table = sheet_table(sheet, "sources", FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < errors->count; i++) {
        if (!is_first_of_source(errors, i)) {
            continue;
        }
        uint32_t count = 0;
        const double median = median_of_source(sheet_arena(sheet), errors, i, &count);
        sheet_text(table, NULL, errors->items[i].source);
        sheet_number(table, NULL, (double)count);
        sheet_number(table, NULL, median);
    }
}

static void add_summary(struct sheet *sheet, const struct memory_errors *errors)
{
    struct sheet *summary = sheet_object(sheet, "summary");
    sheet_integer(summary, "peaks", errors->count);
    sheet_number(summary, "median", errors->median);
    sheet_number(summary, "predicted_over_measured_p10", errors->low);
    sheet_number(summary, "predicted_over_measured_p90", errors->high);
    sheet_say(sheet,
              "\n%" PRIu32 " peaks: the error of memory, their median, is %.1f %%; predicted over "
              "measured %.2f to %.2f (p10 to p90)\n",
              errors->count, 100 * errors->median, errors->low, errors->high);
    if (errors->near < errors->median) {
        sheet_say(sheet, "it counts as %.0f %%: beyond, nothing is near\n", 100 * errors->near);
    }
}

void memory_errors_add(const struct memory_errors *errors, struct sheet *sheet)
{
    add_rows(sheet, errors);
    add_sources(sheet, errors);
    add_summary(sheet, errors);
}
