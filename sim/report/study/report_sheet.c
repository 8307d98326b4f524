/* A report from top to bottom, a function for each part. */
#include "report/study/report_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/version.h"
#include "report/against_sheet.h"
#include "report/html/chart.h"
#include "report/hangs.h"
#include "report/numbers.h"
#include "report/points.h"
#include "report/study/report_words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { LACKING_NAMED = 6, KEY_DIGITS = 8, CHART_ROWS = 16 };

static bool has_days(const struct reported *reported)
{
    return !is_absent(reported->best->row->wall_clock_days);
}

static bool has_bands(const struct reported *reported)
{
    return against_are_known(reported->against, reported->count);
}

/* ---- the head --------------------------------------------------------------------------- */

static void add_head(const struct reported *reported, struct sheet *sheet)
{
    const struct store_study_row *study = reported->study;
    const uint32_t good = reported->count + reported->left_out;
    struct sheet *object = sheet_object(sheet, "study");
    sheet_text(sheet, "version", stoker_version());
    sheet_text(object, "key", study->key);
    sheet_text(object, "title", study->title);
    sheet_text(object, "kind", study->kind);
    sheet_text(object, "build", study->build);
    sheet_integer(object, "points", study->points);
    sheet_integer(object, "points_of", study->point_count);
    sheet_integer(object, "with_result", good);
    sheet_title(sheet, study->title);
    sheet_answer(sheet, report_answer(sheet_arena(sheet), reported));
    if (study->points < study->point_count) {
        sheet_say(sheet, "Not whole: %" PRId64 " of its %" PRId64 " points are stored.\n",
                  study->points, study->point_count);
    }
}

/* ---- the ranking -------------------------------------------------------------------------- */

static void add_chart(const struct reported *reported, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    if (reported->count < 2 || !has_bands(reported)) {
        return;
    }
    struct chart *chart = chart_new(
        arena, arena_printf(arena, "Tokens per second against %s; the line is the 80 %% band",
                            reported->base->row->label));
    chart->unit = " x";
    chart->reference = 1;
    for (uint32_t i = 0; i < reported->count && i < CHART_ROWS; i++) {
        const struct against *against = &reported->against[i];
        const bool is_base = &reported->points[i] == reported->base;
        if (is_absent(against->speed_up)) {
            continue;
        }
        const bool has_band = !is_base && !is_absent(against->factor);
        struct chart_row *row =
            chart_row(chart, reported->points[i].row->label,
                      is_base ? "1" : arena_printf(arena, "%.2f x", against->speed_up),
                      is_base ? "held against" : against_range(arena, against));
        row->is_reference = is_base;
        chart_dot(chart, against->speed_up, has_band ? against->speed_up / against->factor : ABSENT,
                  has_band ? against->speed_up * against->factor : ABSENT);
    }
    sheet_chart(sheet, chart);
}

/* Columns of the ranking; those of days and money where there are any. */
static struct sheet *add_ranking_table(const struct reported *reported, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const bool days = has_days(reported);
    const bool usd = days && !is_absent(reported->best->row->cost_usd);
    const bool several = reported->count > 1;
    const bool bands = several && has_bands(reported);
    const bool has_ranges = !is_absent(days ? reported->best->days.p10 : reported->best->step.p10);
    const char *against = arena_printf(arena, "against %s", reported->base->row->label);
    const struct field fields[] = {
        {NULL, FIELD_LEFT("point")},
        {NULL, FIELD_RIGHT(days ? "days" : NULL, "%.1f", 1)},
        {NULL, FIELD_COUNT(has_ranges && days ? "80 % band" : NULL), .gives_way = 3},
        {NULL, FIELD_SIZED(usd ? "USD" : NULL)},
        {NULL, FIELD_RIGHT("step s", "%.4g", 1), .gives_way = days ? 2 : 0},
        {NULL, FIELD_COUNT(has_ranges && !days ? "80 % band" : NULL), .gives_way = 3},
        {NULL, FIELD_RIGHT("MFU %", "%.1f", 100), .gives_way = 5},
        {NULL, FIELD_RIGHT(days ? NULL : "tokens/s/GPU", "%.0f", 1)},
        {NULL, FIELD_RIGHT(days ? "GWh" : NULL, "%.3g", 1e-6), .gives_way = 8},
        {NULL, FIELD_COUNT(several ? against : NULL)},
        {NULL, FIELD_COUNT(bands ? "80 % band" : NULL)},
        {NULL, FIELD_LEFT(bands ? "call" : NULL)},
        {NULL, FIELD_RIGHT(several && usd ? "worth USD per GPU-h" : NULL, "%+.2f", 1),
         .gives_way = 7},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    return table;
}

static void add_ranking_row(const struct reported *reported, uint32_t i, struct sheet *table)
{
    struct arena *arena = sheet_arena(table);
    const struct reported_point *point = &reported->points[i];
    const struct store_row *row = point->row;
    const struct against *against = &reported->against[i];
    const bool is_base = point == reported->base;
    const bool has_run = !is_absent(row->wall_clock_days);
    sheet_text(table, NULL, row->label);
    sheet_number_as(table, NULL, row->wall_clock_days,
                    has_run ? report_days(arena, row->wall_clock_days) : NULL);
    sheet_text(table, NULL, report_range(arena, &point->days, report_days));
    sheet_number(table, NULL, row->cost_usd);
    sheet_number(table, NULL, row->step_s);
    sheet_text(table, NULL, report_range(arena, &point->step, report_seconds));
    sheet_number(table, NULL, row->mfu);
    sheet_number(table, NULL, row->tokens_per_s_per_gpu);
    sheet_number(table, NULL, row->energy_kwh);
    sheet_number_as(
        table, NULL, against->speed_up,
        is_absent(against->speed_up) ? NULL : arena_printf(arena, "%.2f x", against->speed_up));
    sheet_text(table, NULL, is_base ? NULL : against_range(arena, against));
    sheet_text(table, NULL, is_base ? NULL : against->verdict);
    sheet_number(table, NULL, is_base ? ABSENT : report_worth(reported, i));
}

static void say_lacking(const struct reported *reported, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    if (reported->lacking_count == 0 || reported->best == NULL) {
        return;
    }
    sheet_say(sheet, "\nWithout a result: %u of %u points.\n", reported->lacking_count,
              reported->lacking_count + reported->count + reported->left_out);
    for (uint32_t i = 0; i < reported->lacking_count && i < LACKING_NAMED; i++) {
        sheet_item(sheet, "%s: %s", reported->lacking[i]->label,
                   points_reason(arena, reported->lacking[i]));
    }
    if (reported->lacking_count > LACKING_NAMED) {
        sheet_item(sheet, "and %u more", reported->lacking_count - LACKING_NAMED);
    }
}

static void add_ranking(const struct reported *reported, struct sheet *sheet)
{
    add_chart(reported, sheet);
    struct sheet *table = add_ranking_table(reported, sheet);
    for (uint32_t i = 0; i < reported->count; i++) {
        add_ranking_row(reported, i, table);
    }
    if (reported->left_out > 0) {
        sheet_say(sheet, "and %u more of %u points, which are no better\n", reported->left_out,
                  reported->left_out + reported->count);
    }
    if (reported->count > 1 && !is_absent(report_worth(reported, 0))) {
        sheet_say(sheet,
                  "Worth: what a GPU-hour may cost more than one of %s until the same tokens cost "
                  "the same.\n",
                  reported->base->row->label);
    }
    if (reported->count > 1 && has_bands(reported)) {
        sheet_say(sheet, "\"clear\": the 80 %% band of the ratio does not reach 1; \"likely\": its "
                         "middle half does not.\n");
    }
    say_lacking(reported, sheet);
}

/* ---- to redo it --------------------------------------------------------------------------- */

static void add_redo(const struct report_redo *redo, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const char *lines = "";
    sheet_texts(sheet, "commands", redo->commands, redo->command_count);
    sheet_text(sheet, "scenario_text", redo->text);
    for (uint32_t i = 0; i < redo->command_count; i++) {
        lines = arena_printf(arena, "%s%s\n", lines, redo->commands[i]);
    }
    sheet_heading(sheet, "To redo it");
    sheet_verbatim(sheet, NULL, lines);
    if (redo->text != NULL) {
        sheet_verbatim(sheet, redo->name, redo->text);
    }
}

/* ---- for programs ------------------------------------------------------------------------- */

static void add_range(struct sheet *in, const char *key, const struct reported_range *range)
{
    struct sheet *object = sheet_object(in, key);
    sheet_number(object, "p10", range->p10);
    sheet_number(object, "p90", range->p90);
}

static void add_points(const struct reported *reported, struct sheet *sheet)
{
    struct sheet *array = sheet_array(sheet, "points");
    for (uint32_t i = 0; i < reported->count; i++) {
        const struct reported_point *point = &reported->points[i];
        struct sheet *object = points_add(array, point->row);
        struct sheet *bands = sheet_object(object, "bands");
        add_range(bands, "step_s", &point->step);
        add_range(bands, "days", &point->days);
        add_range(bands, "cost_usd", &point->usd);
        add_range(bands, "mfu", &point->mfu);
        struct sheet *against = sheet_object(object, "against");
        sheet_number(against, "speed_up", reported->against[i].speed_up);
        sheet_number(against, "worth_usd_per_gpu_hour", report_worth(reported, i));
        against_add(against, &reported->against[i]);
    }
    sheet_integer(sheet, "left_out", reported->left_out);
    struct sheet *lacking = sheet_array(sheet, "without_result");
    for (uint32_t i = 0; i < reported->lacking_count; i++) {
        struct sheet *object = sheet_object(lacking, NULL);
        sheet_text(object, "label", reported->lacking[i]->label);
        sheet_text(object, "reason", points_reason(sheet_arena(sheet), reported->lacking[i]));
    }
}

void report_add(const struct reported *reported, const struct report_redo *redo,
                struct sheet *sheet)
{
    add_head(reported, sheet);
    if (reported->best != NULL) {
        sheet_text(sheet, "against", reported->base->row->label);
        add_points(reported, sheet);
        add_ranking(reported, sheet);
        report_add_step(reported, sheet);
        report_add_trust(reported, sheet);
    } else {
        add_points(reported, sheet);
    }
    add_redo(redo, sheet);
}
