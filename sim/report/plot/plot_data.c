/* The tables of what can be plotted, and the CSV that gnuplot reads. Metrics
 * and causes are rows of a table each; an axis is numeric when all its values
 * are numbers, and otherwise one of words in order of first appearance.
 */
#include "report/plot/plot_data.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/printable.h"
#include "input/scenario_keys.h"
#include "store/store.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- metrics --------------------------------------------------------------- */

double plot_metric_value(const struct figure_metric *metric, const struct store_row *row)
{
    return store_metric_value(metric, row) * metric->factor;
}

const char *plot_mark(const struct store_row *row)
{
    if (row->status == POINT_OK && row->has_run) {
        return NULL;
    }
    if (row->status == POINT_FAILED) {
        return "failed";
    }
    if (strstr(row->message, "divide") != NULL) {
        return "does not divide";
    }
    const bool is_memory = (row->has_run && !row->memory_fits) ||
                           strstr(row->message, "memory") != NULL ||
                           strstr(row->message, "does not fit") != NULL;
    return is_memory ? "out of memory" : "not possible";
}

/* ---- axes ------------------------------------------------------------------ */

/* The axis' title and factor, as the key's row has them, else its path in the unit of its
 * dimension, which words have themselves. */
static void name_axis(struct arena *arena, const struct schema_row *key, struct plot_axis *axis)
{
    const bool is_named = key != NULL && key->axis.title != NULL;
    const bool has_unit = axis->is_numeric && key != NULL && key->kind == SCHEMA_QUANTITY;
    axis->title = is_named ? key->axis.title : axis->name != NULL ? axis->name : "";
    axis->factor = is_named ? key->axis.factor : 1;
    if (!is_named && has_unit) {
        const char *unit = units_unit(key->dimension, &axis->factor);
        axis->title =
            unit[0] != '\0' ? arena_printf(arena, "%s, %s", axis->name, unit) : axis->name;
    }
}

/* The number of a row's axis `name`, or STORE_AXES_MAX. */
static uint32_t axis_number(const struct store_row *row, const char *name)
{
    for (uint32_t i = 0; name != NULL && i < row->axis_count; i++) {
        if (strcmp(row->axes[i], name) == 0) {
            return i;
        }
    }
    return STORE_AXES_MAX;
}

static const char *text_of(const struct plot_axis *axis, const struct store_row *row)
{
    const uint32_t number = axis_number(row, axis->name);
    return number < STORE_AXES_MAX ? row->value_texts[number] : row->label;
}

static double value_of(const struct plot_axis *axis, const struct store_row *row)
{
    const uint32_t number = axis_number(row, axis->name);
    return number < STORE_AXES_MAX ? row->values[number] * axis->factor : 0;
}

/* An axis with a word on it is one of words. */
static bool has_numbers(const struct plot_axis *axis, const struct plot_item *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct store_row *row = items[i].row;
        const uint32_t number = axis_number(row, axis->name);
        if (number == STORE_AXES_MAX || is_absent(row->values[number])) {
            return false;
        }
    }
    return true;
}

static int compare_numbers(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Values that differ by rounding only (50 GB/s and 400 Gbps) are one. */
static bool is_next(double value, double last)
{
    return value - last > 1e-9 * (value < 0 ? -value : value);
}

static void collect_numbers(struct arena *arena, const struct plot_item *items, uint32_t count,
                            struct plot_axis *axis)
{
    double *values = arena_array(arena, count, sizeof *values);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = value_of(axis, items[i].row);
    }
    qsort(values, count, sizeof *values, compare_numbers);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || is_next(values[i], values[kept - 1])) {
            values[kept++] = values[i];
        }
    }
    const char **labels = arena_array(arena, kept, sizeof *labels);
    for (uint32_t i = 0; i < kept; i++) {
        labels[i] = arena_printf(arena, "%.6g", values[i]);
    }
    axis->count = kept;
    axis->values = values;
    axis->labels = labels;
}

/* Words are few; looking through all that were seen is fine. */
static void collect_words(struct arena *arena, const struct plot_item *items, uint32_t count,
                          struct plot_axis *axis)
{
    double *values = arena_array(arena, count, sizeof *values);
    const char **labels = arena_array(arena, count, sizeof *labels);
    axis->labels = labels;
    axis->values = values;
    for (uint32_t i = 0; i < count; i++) {
        if (plot_axis_index(axis, items[i].row) == axis->count) {
            values[axis->count] = axis->count;
            labels[axis->count++] = text_of(axis, items[i].row);
        }
    }
}

static bool report_unknown_axis(struct arena *arena, const struct store_row *row, const char *name,
                                struct diag *diag)
{
    diag_add(diag, DIAG_USAGE, NULL, "no point of this study has the axis '%s'", name);
    const char *known = "";
    for (uint32_t i = 0; i < row->axis_count; i++) {
        known = arena_printf(arena, "%s%s%s", known, i > 0 ? ", " : "", row->axes[i]);
    }
    if (known[0] != '\0') {
        diag_help(diag, "its axes are %s", known);
    }
    return false;
}

bool plot_axis_collect(struct arena *arena, const struct plot_item *items, uint32_t count,
                       const char *name, uint32_t fallback, struct plot_axis *axis,
                       struct diag *diag)
{
    sim_assert(count > 0);
    *axis = (struct plot_axis){.name = name, .factor = 1};
    bool is_known = name == NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct store_row *row = items[i].row;
        is_known = is_known || axis_number(row, name) < STORE_AXES_MAX;
        if (axis->name == NULL && fallback < row->axis_count) {
            axis->name = row->axes[fallback];
        }
    }
    if (!is_known) {
        return report_unknown_axis(arena, items[0].row, name, diag);
    }
    const struct schema_row *key = axis->name != NULL ? scenario_key_find(axis->name, NULL) : NULL;
    axis->is_numeric = has_numbers(axis, items, count);
    name_axis(arena, key, axis);
    if (!axis->is_numeric) {
        collect_words(arena, items, count, axis);
        return true;
    }
    collect_numbers(arena, items, count, axis);
    const double first = axis->values[0];
    const double last = axis->values[axis->count - 1];
    const bool is_named = key != NULL && key->axis.title != NULL;
    axis->is_log2 = first > 0 && (is_named ? key->axis.grows_by_factors : last >= 8 * first);
    return true;
}

uint32_t plot_axis_index(const struct plot_axis *axis, const struct store_row *row)
{
    if (axis->is_numeric) {
        const double value = value_of(axis, row);
        uint32_t i = 0;
        while (i + 1 < axis->count && is_next(value, axis->values[i])) {
            i++;
        }
        return i;
    }
    const char *text = text_of(axis, row);
    for (uint32_t i = 0; i < axis->count; i++) {
        if (strcmp(axis->labels[i], text) == 0) {
            return i;
        }
    }
    return axis->count;
}

/* The axes that are neither x nor y, each by its last word, with its value or without. */
static const char *other_axes(struct arena *arena, const struct store_row *row, const char *x,
                              const char *y, bool has_values)
{
    const char *text = "";
    for (uint32_t i = 0; i < row->axis_count; i++) {
        const char *name = row->axes[i];
        if ((x != NULL && strcmp(name, x) == 0) || (y != NULL && strcmp(name, y) == 0)) {
            continue;
        }
        const char *dot = strrchr(name, '.');
        text = arena_printf(arena, "%s%s%s%s%s", text, text[0] != '\0' ? ", " : "",
                            dot != NULL ? dot + 1 : name, has_values ? " " : "",
                            has_values ? row->value_texts[i] : "");
    }
    return text;
}

const char *plot_other_axes(struct arena *arena, const struct store_row *row, const char *x,
                            const char *y)
{
    return other_axes(arena, row, x, y, true);
}

const char *plot_other_names(struct arena *arena, const struct store_row *row, const char *x,
                             const char *y)
{
    return other_axes(arena, row, x, y, false);
}

/* ---- CSV ------------------------------------------------------------------- */

static void start_field(struct csv *csv)
{
    fputs(csv->has_field ? "," : "", csv->out);
    csv->has_field = true;
}

static void put_text(struct csv *csv, const char *text)
{
    start_field(csv);
    fputs(text[0] == '\0' ? "\"-" : "\"", csv->out);
    fputs(printable_is_formula(text) ? PRINTABLE_NO_FORMULA : "", csv->out);
    while (*text != '\0') {
        const size_t width = printable_width(text);
        if (*text == '"') {
            fputs("”", csv->out);
        } else if (*text == '\\') {
            fputs("∖", csv->out);
        } else {
            const bool is_shown = printable_is(text, width);
            fwrite(is_shown ? text : " ", 1, is_shown ? width : 1, csv->out);
        }
        text += width == 0 ? 1 : width;
    }
    fputc('"', csv->out);
}

void csv_names(struct csv *csv, const char *const *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        start_field(csv);
        fputs(names[i], csv->out);
    }
}

void csv_numbers(struct csv *csv, const double *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        start_field(csv);
        if (!is_absent(numbers[i])) {
            fprintf(csv->out, "%.10g", numbers[i]);
        }
    }
}

void csv_texts(struct csv *csv, const char *const *texts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        put_text(csv, texts[i]);
    }
}

void csv_row_end(struct csv *csv)
{
    fputc('\n', csv->out);
    csv->has_field = false;
}
