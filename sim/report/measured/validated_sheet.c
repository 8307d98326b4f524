/* What `stoker validate` says of measured runs: the rows, then how far the predictions are off,
 * over all rows and in groups. Fractions are per cent in the text.
 */
#include "report/measured/validated_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "input/doc/name_table.h"
#include "measured/ratios.h"
#include "measured/score.h"
#include "report/picture/plot_parity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

enum { WORST = 10 };

/* ---- rows ------------------------------------------------------------------------------- */

static void add_gpus(struct sheet *in, const char *key, const void *record)
{
    const struct validated_row *row = record;
    sheet_number(in, key, row->status == ROW_OK ? (double)row->gpus : ABSENT);
}

static void add_is_scored(struct sheet *in, const char *key, const void *record)
{
    sheet_bool(in, key, score_is_scored(record));
}

static void add_fits(struct sheet *in, const char *key, const void *record)
{
    const struct validated_row *row = record;
    if (row->is_simulated) {
        sheet_bool(in, key, row->fits);
    } else {
        sheet_text(in, key, NULL);
    }
}

static void say_cause(struct sheet *in, const char *key, const void *record)
{
    const struct validated_row *row = record;
    (void)key;
    if (row->is_simulated) {
        sheet_say(in, "%s %.1f %%", row->largest_cause, 100.0 * row->largest_share);
    } else {
        sheet_say(in, "%s", "");
    }
}

static void say_remark(struct sheet *in, const char *key, const void *record)
{
    const struct validated_row *row = record;
    const bool is_suspect = row->suspect[0] != '\0';
    const bool is_short = row->is_simulated && !row->fits;
    (void)key;
    if (row->status != ROW_OK) {
        sheet_say(in, "%s: %s", row_status_names[row->status], row->reason);
    } else {
        sheet_say(in, "%s%s%s%s", is_suspect ? "suspect: " : "", row->suspect,
                  is_suspect && is_short ? "; " : "", is_short ? "memory is short" : "");
    }
}

#define ROW(member) FIELD_AT(struct validated_row, member)

static const struct field row_fields[] = {
    {"id", ROW(id), FIELD_LEFT("row")},
    {"config_key", ROW(config_key)},
    {"source", ROW(source)},
    {"status", ROW(status), FIELD_NAMES(row_status_names)},
    {"reason", ROW(reason), .is_said = true},
    {NULL, ROW(gpu), FIELD_LEFT("GPU")},
    {NULL, FIELD_RIGHT("GPUs", "%.0f", 1), .add = add_gpus},
    {NULL, ROW(measured_s), FIELD_RIGHT("measured s", "%.4g", 1)},
    {"predicted_step_s", ROW(predicted_s), FIELD_RIGHT("predicted s", "%.4g", 1)},
    {"measured_step_s", ROW(measured_s)},
    {"error", ROW(error), FIELD_RIGHT("error %", "%+.1f", 100)},
    {NULL, FIELD_LEFT("largest cause beside compute"), .add = say_cause},
    {NULL, FIELD_LEFT(""), .add = say_remark},
    {"is_scored", .add = add_is_scored},
    {"suspect", ROW(suspect), .is_said = true},
    {"filled", ROW(filled), .is_said = true},
    {"fitted", ROW(fitted), .is_said = true},
    {"software", ROW(software), .is_said = true},
    {"gpu", ROW(gpu_file), .is_said = true},
    {"gpus", .add = add_gpus},
    {"fits", .add = add_fits},
    {"compute_share", ROW(compute_share)},
    {"largest_cause", ROW(largest_cause), .is_said = true},
    {"largest_share", ROW(largest_share)},
    {"band.step_p10_s", ROW(step_p10_s)},
    {"band.step_p90_s", ROW(step_p90_s)},
};

static struct sheet *add_rows(struct sheet *in, const char *key, const struct validated_row *rows,
                              uint32_t count)
{
    struct sheet *table = sheet_table(in, key, row_fields, LENGTH(row_fields));
    sheet_rows(table, rows, count, sizeof *rows);
    return table;
}

/* By falling error; the order of the rows decides ties. */
static int compare_errors(const void *a, const void *b)
{
    const struct validated_row *left = a;
    const struct validated_row *right = b;
    const double x = fabs(left->error);
    const double y = fabs(right->error);
    if (x < y || x > y) {
        return x < y ? 1 : -1;
    }
    return (left->row > right->row) - (left->row < right->row);
}

static void add_worst(struct sheet *in, const struct validated *validated)
{
    const uint32_t count = validated->scored_count;
    struct validated_row *rows = arena_array(sheet_arena(in), count, sizeof *rows);
    memcpy(rows, validated->scored, count * sizeof *rows);
    qsort(rows, count, sizeof *rows, compare_errors);
    sheet_caption(add_rows(in, NULL, rows, count < WORST ? count : WORST), "\nThe worst:\n");
}

/* Reasons, each once with the number of its rows. */
static void say_reasons(struct sheet *in, const struct validated *validated, const char *title,
                        bool of_suspects)
{
    struct arena *arena = sheet_arena(in);
    struct name_table reasons;
    name_table_init(&reasons, arena);
    uint32_t *counts = arena_array(arena, validated->row_count, sizeof *counts);
    uint32_t all = 0;
    for (uint32_t i = 0; i < validated->row_count; i++) {
        const struct validated_row *row = &validated->rows[i];
        const bool is_predicted = row->status == ROW_OK;
        if (of_suspects ? is_predicted && row->suspect[0] != '\0' : !is_predicted) {
            counts[name_table_index(&reasons, of_suspects ? row->suspect : row->reason)]++;
            all++;
        }
    }
    if (all > 0) {
        sheet_say(in, "%s: %u\n", title, all);
    }
    for (uint32_t i = 0; i < reasons.count; i++) {
        sheet_say(in, "  %4u  %s\n", counts[i], reasons.names[i]);
    }
}

/* A wrong account of memory would hide behind such a guess. */
static void say_fitted(struct sheet *in, const struct validated *validated)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < validated->row_count; i++) {
        count += validated->rows[i].fitted[0] != '\0' ? 1 : 0;
    }
    if (count > 0) {
        sheet_say(in, "Not stated, and changed until the memory sufficed: %u\n", count);
    }
    for (uint32_t i = 0; i < validated->row_count; i++) {
        const struct validated_row *row = &validated->rows[i];
        if (row->fitted[0] != '\0') {
            sheet_say(in, "  %s: %s", row->id, row->fitted);
            sheet_say(in, row->measured_s > 0 ? ", error %+.1f %%\n" : "\n", 100 * row->error);
        }
    }
}

/* ---- scores ------------------------------------------------------------------------------ */

/* A line of a table of scores: stoker's, a baseline's. */
struct line {
    const char *name;
    double constants; /* ABSENT: not counted */
    struct score score;
};

#define SCORE_FIELDS(type)                                                                  \
    {"votes", FIELD_AT(type, score.votes), FIELD_RIGHT("votes", NULL, 1)},                  \
        {"mean_ape", FIELD_AT(type, score.mean), FIELD_RIGHT("mean %", "%.1f", 100)},       \
        {"macro_mape", FIELD_AT(type, score.macro)},                                        \
        {"median_ape", FIELD_AT(type, score.median), FIELD_RIGHT("median %", "%.1f", 100)}, \
        {"p90_ape", FIELD_AT(type, score.p90), FIELD_RIGHT("p90 %", "%.1f", 100)},          \
    {                                                                                       \
        "bias", FIELD_AT(type, score.bias), FIELD_RIGHT("bias %", "%+.1f", 100)             \
    }

static const struct field line_fields[] = {
    {"name", FIELD_AT(struct line, name), FIELD_LEFT("all scored rows")},
    {"constants", FIELD_AT(struct line, constants), FIELD_RIGHT("constants", NULL, 1)},
    {NULL, FIELD_AT(struct line, score.rows), FIELD_RIGHT("rows", NULL, 1)},
    SCORE_FIELDS(struct line),
    {NULL, FIELD_AT(struct line, score.macro), FIELD_RIGHT("macro %", "%.1f", 100)},
};
static const struct field group_fields[] = {
    {"name", FIELD_AT(struct score_group, name)},
    {"rows", FIELD_AT(struct score_group, score.rows), FIELD_RIGHT("rows", NULL, 1)},
    SCORE_FIELDS(struct score_group),
    {"rank_correlation", FIELD_AT(struct score_group, rank), FIELD_RIGHT("rank corr.", "%.2f", 1)},
};
static const struct field score_fields[] = {SCORE_FIELDS(struct line)};

static const char *const grouping_heads[SCORE_GROUPING_COUNT_] = {
    "by source", "by GPU", "by framework and year", "by scale", "by model", "by blanks"};

/* Sources alone have ranks to be shown: elsewhere they mix machines. */
static void add_groups(struct sheet *in, const struct validated *validated,
                       enum score_grouping grouping)
{
    struct arena *arena = sheet_arena(in);
    struct field *fields = arena_array(arena, LENGTH(group_fields), sizeof *fields);
    memcpy(fields, group_fields, sizeof group_fields);
    fields[0].head = grouping_heads[grouping];
    if (grouping != SCORE_BY_SOURCE) {
        fields[LENGTH(group_fields) - 1].head = NULL;
    }
    uint32_t count = 0;
    const struct score_group *groups =
        score_groups(arena, validated->scored, validated->scored_count, grouping, &count);
    struct sheet *table =
        sheet_table(in, score_grouping_names[grouping], fields, LENGTH(group_fields));
    sheet_caption(table, "\n");
    sheet_rows(table, groups, count, sizeof *groups);
}

/* Stoker beside predictors that know nothing; JSON lists these apart. */
static void add_overall(struct sheet *summary, const struct validated *validated,
                        const struct line *own, const struct line *suspects)
{
    struct sheet *array = sheet_array(summary, "baselines");
    struct line lines[BASELINE_COUNT_ + 2] = {*own};
    const uint32_t baselines = !validated->is_given ? BASELINE_COUNT_ : 0;
    for (uint32_t i = 0; i < baselines; i++) {
        const struct baseline baseline =
            score_baseline(sheet_arena(summary), validated->scored, validated->scored_count, i);
        lines[i + 1] = (struct line){baseline_titles[i], baseline.constants, baseline.score};
        struct sheet *object = sheet_object(array, NULL);
        sheet_members(object, line_fields, 2, &lines[i + 1]);
        sheet_members(object, score_fields, LENGTH(score_fields), &lines[i + 1]);
    }
    if (validated->scored_count == 0) {
        return;
    }
    add_worst(summary, validated);
    lines[baselines + 1] = *suspects;
    struct sheet *table = sheet_table(summary, NULL, line_fields, LENGTH(line_fields));
    sheet_caption(table, "\n");
    sheet_rows(table, lines, baselines + (validated->suspect_count > 0 ? 2 : 1), sizeof *lines);
    sheet_say(summary,
              "\nErrors are of step times. A vote is one configuration of one source, the mean of "
              "its rows; macro: the mean\nof sources' means; rank: Spearman's, of GPU-seconds per "
              "token. Baselines: model FLOPs at a share of\nthe peak that was fitted to these "
              "rows; stoker's constants are those of its catalogue.\n");
}

/* How good the bands are: those of the catalogue by themselves, and around these predictions. */
static void add_bands(struct sheet *summary, const struct validated *validated)
{
    static const struct field fields[] = {
        {"votes", FIELD_AT(struct band_coverage, votes)},
        {"inside", FIELD_AT(struct band_coverage, inside)},
        {"log_width", FIELD_AT(struct band_coverage, width)},
    };
    struct arena *arena = sheet_arena(summary);
    const struct band_coverage known = band_measure(arena, &validated->bands);
    const struct band_coverage here =
        score_bands(arena, validated->scored, validated->scored_count);
    struct sheet *bands = sheet_object(summary, "bands");
    sheet_members(sheet_object(bands, "catalogue"), fields, LENGTH(fields), &known);
    sheet_members(sheet_object(bands, "rows"), fields, LENGTH(fields), &here);
    if (validated->no_bands != NULL) {
        sheet_say(summary, "no bands: %s\n", validated->no_bands);
    }
    if (known.votes > 0) {
        sheet_say(summary,
                  "\nBands: of %u votes of " BAND_FILE " and " BAND_TYPED_FILE
                  " %.0f %% lie in\nthe band "
                  "of the other sources, in the mean exp(%.2f) wide",
                  known.votes, 100 * known.inside, known.width);
        sheet_say(summary,
                  here.votes > 0 ? ";\nof these rows' %u votes %.0f %%, exp(%.2f) wide.\n" : ".\n",
                  here.votes, 100 * here.inside, here.width);
    }
}

void validated_add_summary(const struct validated *validated, struct sheet *sheet)
{
    static const struct field counts[] = {
        {"rows", FIELD_AT(struct validated, row_count)},
        {"scored", FIELD_AT(struct validated, scored_count)},
        {"skipped", FIELD_AT(struct validated, skipped_count)},
        {"suspect", FIELD_AT(struct validated, suspect_count)},
    };
    struct arena *arena = sheet_arena(sheet);
    const struct line own = {"stoker", ABSENT,
                             score_rows(arena, validated->scored, validated->scored_count)};
    const struct line suspects = {"suspect rows, not scored", ABSENT,
                                  score_rows(arena, validated->suspect, validated->suspect_count)};
    struct sheet *summary = sheet_object(sheet, "summary");
    sheet_say(summary, "%u rows: %u scored, %u skipped, %u suspect\n", validated->row_count,
              validated->scored_count, validated->skipped_count, validated->suspect_count);
    say_reasons(summary, validated, "Skipped", false);
    say_reasons(summary, validated, "Suspect", true);
    say_fitted(summary, validated);
    sheet_members(summary, counts, LENGTH(counts), validated);
    sheet_members(summary, score_fields, LENGTH(score_fields), &own);
    sheet_members(sheet_object(summary, "suspect_rows"), score_fields, LENGTH(score_fields),
                  &suspects);
    struct sheet *groups = sheet_object(summary, "groups");
    for (uint32_t i = 0; i < SCORE_GROUPING_COUNT_; i++) {
        add_groups(groups, validated, i);
    }
    add_overall(summary, validated, &own, &suspects);
    add_bands(summary, validated);
}

/* ---- ratios ------------------------------------------------------------------------------ */

#define RATIO(member) FIELD_AT(struct ratio, member)

static void add_first(struct sheet *in, const char *key, const void *record)
{
    sheet_text(in, key, ((const struct ratio *)record)->first->id);
}

static void add_second(struct sheet *in, const char *key, const void *record)
{
    sheet_text(in, key, ((const struct ratio *)record)->second->id);
}

static const struct field ratio_fields[] = {
    {"second", FIELD_LEFT("of"), .add = add_second},
    {"first", FIELD_LEFT("over"), .add = add_first},
    {"to", RATIO(to), FIELD_RIGHT("with", "%g", 1)},
    {"from", RATIO(from), FIELD_RIGHT("for", "%g", 1)},
    {"measured", RATIO(measured), FIELD_RIGHT("measured", "%.3f", 1)},
    {"predicted", RATIO(predicted), FIELD_RIGHT("predicted", "%.3f", 1)},
    {"error", RATIO(error), FIELD_RIGHT("error %", "%+.1f", 100)},
};
static const struct field ratio_score_fields[] = {
    {"pairs", FIELD_AT(struct ratio_score, pairs)},
    {"mean_ape", FIELD_AT(struct ratio_score, mean)},
    {"right_sign", FIELD_AT(struct ratio_score, right_sign)},
    {"slope", FIELD_AT(struct ratio_score, slope)},
};

void validated_add_ratios(const struct validated *validated, const char *column,
                          struct sheet *sheet)
{
    uint32_t count = 0;
    const struct ratio *ratios =
        ratios_of(sheet_arena(sheet), validated->scored, validated->scored_count, column, &count);
    const struct ratio_score score = ratios_score(ratios, count);
    struct sheet *object = sheet_object(sheet, "ratios");
    sheet_text(object, "column", column);
    sheet_members(object, ratio_score_fields, LENGTH(ratio_score_fields), &score);
    sheet_say(object, "\n%u pairs of rows differ in %s and in nothing else\n", count, column);
    struct sheet *table = sheet_table(object, "rows", ratio_fields, LENGTH(ratio_fields));
    sheet_rows(table, ratios, count, sizeof *ratios);
    if (count > 0) {
        sheet_say(object,
                  "The faster one is foretold in %.0f %%, the ratio missed by %.1f %% in the mean; "
                  "slope of logarithms %.2f\n",
                  100 * score.right_sign, 100 * score.mean, score.slope);
    }
}

void validated_add_rows(const struct validated *validated, struct sheet *sheet)
{
    add_rows(sheet, "rows", validated->rows, validated->row_count);
    sheet_say(sheet, "\n");
}

/* ---- the picture ------------------------------------------------------------------------- */

/* Each source of the rows once, with the score that the table by source has of it. */
static const struct parity_source *source_of(struct arena *arena, const struct validated *validated,
                                             struct parity_source *sources, const char *name)
{
    struct parity_source *source = sources;
    while (source->name != NULL && strcmp(source->name, name) != 0) {
        source++;
    }
    if (source->name != NULL) {
        return source;
    }
    source->name = name;
    uint32_t count = 0;
    const struct score_group *groups =
        score_groups(arena, validated->scored, validated->scored_count, SCORE_BY_SOURCE, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(groups[i].name, name) == 0) {
            source->runs = groups[i].score.rows;
            source->mean = groups[i].score.mean;
        }
    }
    return source;
}

bool validated_draw(struct arena *arena, const struct validated *validated, const char *path_base,
                    uint32_t size, struct diag *diag)
{
    struct parity_point *points = arena_array(arena, validated->row_count, sizeof *points);
    struct parity_source *sources =
        arena_array(arena, validated->row_count + (size_t)1, sizeof *sources);
    uint32_t count = 0;
    for (uint32_t i = 0; i < validated->row_count; i++) {
        const struct validated_row *row = &validated->rows[i];
        if (row->status == ROW_OK && row->measured_s > 0 && row->predicted_s > 0) {
            points[count++] =
                (struct parity_point){row->id, source_of(arena, validated, sources, row->source),
                                      row->suspect[0] != '\0', row->measured_s, row->predicted_s};
        }
    }
    const struct plot_request request = {.path_base = path_base, .size = size};
    return plot_parity(arena, points, count, &request, diag);
}
