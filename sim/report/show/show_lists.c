/* A table each, with the key of its array. */
#include "report/show/show_lists.h"

#include "report/builds.h"
#include "report/plot/plot.h"
#include "store/store_metrics.h"

#include <inttypes.h>

/* ---- the results file ------------------------------------------------------------------ */

/* Only as much as tells builds apart. */
static void say_build(struct sheet *table, const char *build)
{
    sheet_say(table, "%.*s", BUILDS_DIGITS, build);
}

static void add_study_build(struct sheet *in, const char *key, const void *record)
{
    (void)key;
    say_build(in, ((const struct store_study_row *)record)->build);
}

static void add_run_build(struct sheet *in, const char *key, const void *record)
{
    (void)key;
    say_build(in, ((const struct store_row *)record)->build);
}

/* A column that says nothing is not shown. */
static bool have_failed(const struct store_study_row *rows, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && rows[i].failed == 0) {
        i++;
    }
    return i < count;
}

struct sheet *list_add_studies(struct sheet *sheet, const char *key,
                               const struct store_study_row *rows, uint32_t count)
{
    const struct field fields[] = {
        {"key", FIELD_AT(struct store_study_row, key), FIELD_LEFT("study")},
        {"kind", FIELD_AT(struct store_study_row, kind), FIELD_LEFT("kind")},
        {"points", FIELD_AT(struct store_study_row, points), FIELD_COUNT("points")},
        {"failed", FIELD_AT(struct store_study_row, failed),
         FIELD_COUNT(have_failed(rows, count) ? "failed" : NULL)},
        {"build", FIELD_AT(struct store_study_row, build)},
        {NULL, .add = add_study_build, FIELD_LEFT("build")},
        {"title", FIELD_AT(struct store_study_row, title), FIELD_LEFT("title")},
    };
    struct sheet *table = sheet_table(sheet, key, FIELD_LIST(fields));
    sheet_rows(table, rows, count, sizeof *rows);
    return table;
}

struct sheet *list_add_runs(struct sheet *sheet, const char *key, const struct store_row *rows,
                            uint32_t count)
{
    static const struct field fields[] = {
        {"key", FIELD_AT(struct store_row, key), FIELD_LEFT("run")},
        {"gpus", FIELD_AT(struct store_row, gpus), FIELD_COUNT("GPUs")},
        {"cluster", FIELD_AT(struct store_row, cluster), FIELD_LEFT("cluster")},
        {"step_s", FIELD_AT(struct store_row, step_s), FIELD_RIGHT("step s", "%.3f", 1)},
        {"mfu", FIELD_AT(struct store_row, mfu), FIELD_RIGHT("MFU %", "%.1f", 100)},
        {"days", FIELD_AT(struct store_row, wall_clock_days), FIELD_RIGHT("days", "%.1f", 1)},
        {"fits", FIELD_AT(struct store_row, memory_fits), FIELD_LEFT("fits")},
        {"build", FIELD_AT(struct store_row, build)},
        {NULL, .add = add_run_build, FIELD_LEFT("build")},
        {"title", FIELD_AT(struct store_row, title), FIELD_LEFT("title")},
    };
    struct sheet *table = sheet_table(sheet, key, FIELD_LIST(fields));
    sheet_rows(table, rows, count, sizeof *rows);
    return table;
}

/* ---- our own words --------------------------------------------------------------------- */

struct sheet *list_add_metrics(struct sheet *sheet, const char *key)
{
    static const struct field fields[] = {
        {"name", FIELD_AT(struct figure_metric, name), FIELD_LEFT("name")},
        {"title", FIELD_AT(struct figure_metric, title), FIELD_LEFT("title")},
    };
    struct sheet *table = sheet_table(sheet, key, FIELD_LIST(fields));
    sheet_rows(table, store_metric_table, store_metric_count, sizeof *store_metric_table);
    return table;
}

static const struct field title_fields[] = {
    {"name", FIELD_LEFT("name")},
    {"title", FIELD_LEFT("title")},
};

struct sheet *list_add_causes(struct sheet *sheet, const char *key)
{
    struct sheet *table = sheet_table(sheet, key, FIELD_LIST(title_fields));
    for (uint32_t i = 0; i < CAUSE_COUNT_; i++) {
        sheet_text(table, NULL, cause_names[i]);
        sheet_text(table, NULL, cause_titles[i]);
    }
    return table;
}

struct sheet *list_add_plots(struct sheet *sheet, const char *key)
{
    uint32_t count = 0;
    const char *const *names = plot_kinds(&count);
    struct sheet *table = sheet_table(sheet, key, FIELD_LIST(title_fields));
    for (uint32_t i = 0; i < count; i++) {
        sheet_text(table, NULL, names[i]);
        sheet_text(table, NULL, plot_kind_title(i));
    }
    return table;
}
