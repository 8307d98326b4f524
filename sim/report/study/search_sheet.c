/* The counts and the certificate, a table of the best, and what misses nearly. */
#include "report/study/search_sheet.h"

#include "bands/memory_errors.h"
#include "base/absent.h"
#include "base/arena.h"
#include "base/check.h"
#include "input/scenario.h"
#include "report/banded.h"
#include "report/hangs.h"
#include "report/near.h"
#include "report/numbers.h"
#include "report/points.h"
#include "report/study/required.h"
#include "study/search/search_software.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- nothing was found ----------------------------------------------------------------------- */

/* What would be best of what misses nearly, in the help of a message that nothing fits. */
static void help_near(struct arena *arena, const struct search_shown *shown, struct diag *diag)
{
    const struct search_near *near = &shown->result->near;
    if (near->count == 0) {
        return;
    }
    const struct search_found *best = &near->found[0];
    const double limit_bytes = shown->space->base->gpu.memory_bytes;
    diag_help(
        diag, "but for memory the best were %s, %.4g %s: %.1f of %.1f GB, over %s",
        search_layout_label(arena, shown->space, &best->layout), best->value,
        search_by_units[shown->by], best->memory_bytes / 1e9, limit_bytes / 1e9,
        near_words(arena, shown->memory_errors, memory_over(best->memory_bytes, limit_bytes)));
}

bool search_tell_nothing(struct arena *arena, const struct search_shown *shown, struct diag *diag)
{
    const struct scenario *base = shown->space->base;
    const struct search_result *result = shown->result;
    if (result->is_ended) {
        return diag_add(diag, DIAG_FAILURE, NULL,
                        "interrupted before a layout that fits was found");
    }
    if (result->failure != NULL) {
        return diag_add(diag, DIAG_FAILURE, NULL, "no layout was simulated: %s", result->failure);
    }
    if (result->counts.layouts == 0) {
        diag_add(diag, DIAG_INFEASIBLE, NULL,
                 "no layout of the space has sizes that go together on %lld GPUs",
                 (long long)base->gpus);
        diag_help(diag,
                  "widen the axes of search:; degrees must divide the GPUs, and "
                  "data-parallel replicas times batch.micro the batch of %lld",
                  (long long)base->batch.global);
        return false;
    }
    if (result->counts.missed > 0) { /* of parts that others searched */
        return diag_add(diag, DIAG_INFEASIBLE, NULL,
                        "none of %" PRIu64 " layouts that fit meets %s", result->counts.missed,
                        shown->required);
    }
    if (shown->required != NULL && result->counts.by_bound > 0) {
        return diag_add(diag, DIAG_INFEASIBLE, NULL,
                        "no layout meets %s: all that may fit are left out by their bound",
                        shown->required);
    }
    diag_add(diag, DIAG_INFEASIBLE, NULL, "none of %" PRIu64 " layouts fits into memory%s",
             result->counts.layouts, near_margin_clause(arena, base->memory_margin));
    diag_help(diag, "the nearest is %s: %s",
              search_layout_label(arena, shown->space, &result->nearest),
              search_lack(arena, shown->space, &result->nearest));
    help_near(arena, shown, diag);
    return false;
}

/* ---- what is said ---------------------------------------------------------------- */

static void add_document(const struct search_shown *shown, struct sheet *sheet)
{
    static const struct field counts[] = {
        {"counts.layouts", FIELD_AT(struct search_result, counts.layouts)},
        {"counts.memory_of_line", FIELD_AT(struct search_result, counts.by_line)},
        {"counts.memory", FIELD_AT(struct search_result, counts.by_memory)},
        {"counts.memory_counted", FIELD_AT(struct search_result, counts.by_count)},
        {"counts.bound", FIELD_AT(struct search_result, counts.by_bound)},
        {"counts.missed", FIELD_AT(struct search_result, counts.missed)},
        {"counts.simulated", FIELD_AT(struct search_result, counts.simulated)},
        {"counts.failed", FIELD_AT(struct search_result, counts.failed)},
        {"counts.lacking", FIELD_AT(struct search_result, lacking.layouts)},
        {"families", FIELD_AT(struct search_result, families)},
    };
    static const struct field near[] = {
        {"near.layouts", FIELD_AT(struct search_result, near.counts.layouts)},
        {"near.memory_counted", FIELD_AT(struct search_result, near.counts.by_count)},
        {"near.bound", FIELD_AT(struct search_result, near.counts.by_bound)},
        {"near.simulated", FIELD_AT(struct search_result, near.counts.simulated)},
        {"near.failed", FIELD_AT(struct search_result, near.counts.failed)},
        {"near.is_certified", FIELD_AT(struct search_result, near.is_certified)},
    };
    const struct search_result *result = shown->result;
    struct sheet *object = sheet_object(sheet, "search");
    sheet_text(object, "by", search_by_names[shown->by]);
    sheet_text(object, "unit", search_by_units[shown->by]);
    sheet_number(object, "gap_asked", shown->gap);
    sheet_members(object, FIELD_LIST(counts), result);
    sheet_number(object, "best", result->best);
    sheet_number(object, "least_left", result->least);
    sheet_number(object, "gap", result->gap);
    sheet_bool(object, "is_certified", result->is_certified);
    sheet_bool(object, "is_interrupted", result->is_ended);
    sheet_number(object, "host_s", shown->host_s);
    sheet_text(object, "left_out",
               search_software_left_out(sheet_arena(sheet), shown->space, result));
    sheet_text(object, "fixed", search_space_staying(sheet_arena(sheet), shown->space));
    near_add_errors(shown->memory_errors, object);
    if (shown->memory_errors != NULL) {
        sheet_members(object, FIELD_LIST(near), result);
    }
}

/* What is left free, and what that costs. */
static void say_margin(const struct search_shown *shown, struct sheet *sheet)
{
    const struct search_result *result = shown->result;
    const struct scenario *base = shown->space->base;
    const double within = search_near_within(&result->near, base->gpu.memory_bytes);
    sheet_number(sheet, "memory_margin", base->memory_margin);
    sheet_number(sheet, "margin_costs", near_margin_costs(result->best, within));
    if (base->memory_margin > 0) {
        sheet_say(sheet, "%.2g %% of a GPU's memory is left free (memory.margin), %s\n",
                  100 * base->memory_margin,
                  near_margin_words(sheet_arena(sheet), result->best, within));
    }
}

/* What misses nearly, and whether the best fits hardly. */
static void add_near(const struct search_shown *shown, struct sheet *sheet)
{
    const struct search_result *result = shown->result;
    struct arena *arena = sheet_arena(sheet);
    const double limit_bytes = shown->space->base->gpu.memory_bytes;
    uint32_t count = 0;
    const struct search_found *chosen = search_choose_near(arena, &result->near, &count);
    struct near_miss *misses = arena_array(arena, count + 1u, sizeof *misses);
    for (uint32_t i = 0; i < count; i++) {
        struct search_sets *sets = arena_alloc(arena, sizeof *sets);
        *sets = search_layout_sets(arena, &chosen[i].layout);
        misses[i] = (struct near_miss){
            .layout = search_layout_label(arena, shown->space, &chosen[i].layout),
            .sets = sets->items,
            .set_count = sets->count,
            .value = chosen[i].value,
            .step_s = chosen[i].step_s,
            .gain = result->best / chosen[i].value,
            .memory_bytes = chosen[i].memory_bytes,
            .limit_bytes = limit_bytes,
            .is_certified = result->near.is_certified,
        };
    }
    const double over = memory_over(shown->chosen[0].memory_bytes, limit_bytes);
    const bool is_near = memory_errors_are_near(shown->memory_errors, over);
    sheet_bool(sheet, "best_fits_within_memory_error", is_near);
    if (is_near) {
        sheet_say(sheet, "the best fits by %.2g %%, less than the error of memory, %.1f %%\n",
                  -100 * over, 100 * shown->memory_errors->near);
    }
    say_margin(shown, sheet);
    near_add(shown->memory_errors, misses, count, sheet);
}

/* What all the layouts shown have in common, of what was searched. */
static void say_common(const struct search_shown *shown, const struct shown_points *points,
                       struct sheet *sheet)
{
    const struct study_point *first = &points->study->points[0];
    struct arena *arena = sheet_arena(sheet);
    const struct relayout *layout = &shown->chosen[0].layout;
    const char *text = NULL;
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        bool is_column = search_axis_is_fixed(shown->space, (enum search_axis)i);
        for (uint32_t k = 0; k < first->axis_count; k++) {
            is_column = is_column || strcmp(first->axes[k], search_axis_paths[i]) == 0;
        }
        is_column = is_column || search_layout_set(arena, layout, (enum search_axis)i) == NULL;
        if (!is_column) {
            const char *value = search_layout_value(arena, layout, (enum search_axis)i);
            text =
                arena_printf(arena, "%s%s%s %s", text != NULL ? text : "", text != NULL ? ", " : "",
                             search_axis_word(search_axis_paths[i]), value);
        }
    }
    if (text != NULL) {
        sheet_say(sheet, "all: %s\n", text);
    }
}

static struct sheet *add_table(const struct shown_points *points, const struct hangs *hangs,
                               bool has_ratios, struct sheet *sheet)
{
    const struct study_point *first = &points->study->points[0];
    const uint32_t count = first->axis_count + points->columns.count + hangs->count + 4;
    struct field *fields = arena_array(sheet_arena(sheet), count, sizeof *fields);
    struct field *field = fields;
    *field++ = (struct field){FIELD_COUNT("rank")};
    for (uint32_t i = 0; i < first->axis_count; i++) {
        *field++ = (struct field){FIELD_COUNT(search_axis_word(first->axes[i])),
                                  .csv = first->axes[i], .is_common = true};
    }
    struct field *const metrics = field;
    field = shown_metric_heads(points, field);
    shown_metrics_tell(points, &points->of.rows[0], metrics);
    *field++ =
        (struct field){FIELD_LEFT(has_ratios ? "worse than the best" : NULL), .csv = "verdict"};
    *field++ = (struct field){FIELD_LEFT(required_head(points->requirements))};
    field = hangs_heads(sheet_arena(sheet), hangs, field);
    *field++ = (struct field){FIELD_LEFT(points_lack_head(points->of.rows, points->of.count))};
    return sheet_table(sheet, NULL, fields, count);
}

static void add_row(const struct shown_points *points, const struct hangs *hangs, uint32_t number,
                    struct sheet *table)
{
    struct arena *arena = sheet_arena(table);
    const struct store_row *row = &points->of.rows[number];
    sheet_integer(table, NULL, number + 1);
    for (uint32_t i = 0; i < row->axis_count; i++) {
        sheet_text(table, NULL, row->value_texts[i]);
    }
    shown_metric_cells(points, row, table);
    sheet_text(table, NULL, points->of.against[number].verdict);
    sheet_text(table, NULL, required_cell(points->requirements, row, arena));
    hangs_cells(hangs, row, table);
    sheet_text(table, NULL, points_reason(arena, row));
}

static void say_counts(const struct search_shown *shown, const char *left_out, struct sheet *sheet)
{
    const struct search_result *result = shown->result;
    const struct search_counts *counts = &result->counts;
    const char *missed = shown->required == NULL
                             ? ""
                             : arena_printf(sheet_arena(sheet), "%" PRIu64 " miss %s, ",
                                            counts->missed, shown->required);
    sheet_say(sheet,
              "\n%" PRIu64 " layouts: %" PRIu64 " do not fit (%" PRIu64 " with their line, %" PRIu64
              " by their own least, %" PRIu64 " as counted), %" PRIu64 " %s, %s%" PRIu64
              " simulated\n%s%s",
              counts->layouts, counts->by_line + counts->by_memory + counts->by_count,
              counts->by_line, counts->by_memory, counts->by_count, counts->by_bound,
              result->is_ended ? "not yet looked at" : "left out by their bound", missed,
              counts->simulated, left_out != NULL ? left_out : "", left_out != NULL ? "\n" : "");
}

/* "space", "part of the space that meets days <= 60". */
static const char *space_text(const struct search_shown *shown, struct arena *arena)
{
    const char *space = shown->is_part ? "part of the space" : "space";
    return shown->required == NULL
               ? space
               : arena_printf(arena, "%s that meets %s", space, shown->required);
}

static void say_certificate(const struct search_shown *shown, struct sheet *sheet)
{
    const struct search_result *result = shown->result;
    const struct search_counts *counts = &result->counts;
    const char *unit = search_by_units[shown->by];
    const char *by = search_by_names[shown->by];
    const char *space = space_text(shown, sheet_arena(sheet));
    say_counts(shown, search_software_left_out(sheet_arena(sheet), shown->space, result), sheet);
    if (result->found_count == 0 && counts->missed > 0) {
        sheet_say(sheet, "%s: no layout that fits into memory meets %s\n",
                  result->is_certified ? "certificate" : "without a certificate", shown->required);
    } else if (result->found_count == 0) {
        sheet_say(sheet, "%s: no layout of this %s fits into memory\n",
                  result->is_certified ? "certificate" : "without a certificate", space);
    } else if (result->is_certified && result->gap <= 0) {
        sheet_say(sheet, "certificate: no layout of this %s has less than %.6g %s (%s)\n", space,
                  result->best, unit, by);
    } else {
        sheet_say(sheet,
                  "%s: no layout of this %s is better than %.6g %s (%s) by more than %.3g %%\n",
                  result->is_certified ? "certificate"
                  : result->is_ended   ? "so far"
                                       : "without a certificate",
                  space, result->best, unit, by, 100 * result->gap);
    }
    const char *staying = search_space_staying(sheet_arena(sheet), shown->space);
    if (staying != NULL) {
        sheet_say(sheet, "fixed, as search: names none of them: %s\n", staying);
    }
    if (counts->failed > 0) {
        sheet_say(sheet, "but for %" PRIu64 " that failed, any of which may be better: %s\n",
                  counts->failed, result->failure);
    }
}

/* Each point was simulated twice, here and for the store. */
static void check_points(const struct search_shown *shown, const struct against_rows *of)
{
    for (uint32_t i = 0; i < of->count; i++) {
        const struct store_row *row = &of->rows[i];
        const struct search_found *found = &shown->chosen[row->number];
        sim_assert(!store_row_is_good(row) || is_absent(found->step_s) ||
                   fabs(row->step_s - found->step_s) <= 1e-9 * row->step_s);
    }
}

/* ", 20 days"; "" without a run. */
static const char *days_text(struct arena *arena, const struct store_row *best,
                             const struct against *against)
{
    const double days = best->wall_clock_days;
    return is_absent(days)
               ? ""
               : arena_printf(arena, ", %s days", against_base_text(arena, against, days));
}

const char *search_answer(struct arena *arena, const struct search_shown *shown,
                          const struct shown_points *of)
{
    const struct search_result *result = shown->result;
    const struct store_row *best = of->of.count > 0 ? &of->of.rows[0] : NULL;
    if (result->found_count == 0 || best == NULL || !store_row_is_good(best)) {
        return NULL;
    }
    const char *proof =
        !result->is_certified ? "not proved to be the best"
        : result->gap > 0
            ? arena_printf(arena, "proved: none is better by more than %.3g %%", 100 * result->gap)
            : "proved: none is better";
    const struct against *base = &of->of.against[0];
    return arena_printf(arena, "The best of %s layouts takes %s a step, %s %% MFU%s (%s).",
                        number_grouped(arena, (double)result->counts.layouts),
                        against_base_duration(arena, base, best->step_s),
                        against_base_text(arena, base, 100 * best->mfu),
                        days_text(arena, best, base), proof);
}

void search_add(const struct search_shown *shown, const struct shown_points *of,
                struct sheet *sheet)
{
    check_points(shown, &of->of);
    const bool has_ratios = against_are_known(of->of.against, of->of.count);
    add_document(shown, sheet);
    say_common(shown, of, sheet);
    struct sheet *points = sheet_array(sheet, "points");
    const struct hangs hangs = hangs_of(sheet_arena(sheet), of->of.rows, of->of.count);
    struct sheet *table = add_table(of, &hangs, has_ratios, sheet);
    for (uint32_t i = 0; i < of->of.count; i++) {
        const struct store_row *row = &of->of.rows[i];
        struct sheet *point = points_add(points, row);
        const struct search_found *found = &shown->chosen[row->number];
        const struct study_point *asked = &of->study->points[row->number];
        required_add_point(of->requirements, point, row);
        sheet_number(point, "value", found->value);
        sheet_number(point, "least_value", found->least);
        sheet_texts(point, "set", asked->sets, asked->set_count);
        const bool is_of_top = i < shown->top && i < shown->chosen_count;
        sheet_bool(point, "is_of_top", is_of_top);
        against_add(point, &of->of.against[i]);
        if (is_of_top) {
            add_row(of, &hangs, i, table);
        }
    }
    hangs_say(&hangs, sheet);
    say_certificate(shown, sheet);
    add_near(shown, sheet);
    if (has_ratios) {
        against_say(sheet, of->of.against, of->of.count);
    }
}

void search_add_part(const struct search_shown *shown, const char *shard, const char *path,
                     struct sheet *sheet)
{
    sheet_text(sheet, "shard", shard);
    sheet_text(sheet, "found", path);
    add_document(shown, sheet);
    sheet_say(sheet, "part %s of the space: %s\n", shard, path);
    say_certificate(shown, sheet);
}
