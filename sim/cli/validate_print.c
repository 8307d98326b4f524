/* Prints what a validation found: first the rows that were asked for, then
 * summaries by source, GPU, framework and other classes.
 */
#include "base/arena.h"
#include "report/listing.h"
#include "cli/validate.h"
#include "base/version.h"
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORST = 10 };

/* ---- as tables -------------------------------------------------------------------------- */

static void add_number(struct listing *listing, const char *format, double value) PRINTF_LIKE(2, 0);

static void add_number(struct listing *listing, const char *format, double value)
{
    listing_number(listing, value, arena_printf(listing->arena, format, value));
}

static void open_listing(struct listing *listing, const struct validation *validation,
                         const struct listing_column *columns, uint32_t count)
{
    listing_init(listing, validation->options.cli->arena, "stoker.validate/1", "rows");
    for (uint32_t i = 0; i < count; i++) {
        listing_column(listing, columns[i].key, columns[i].head, columns[i].is_number);
    }
}

static const char *remark(struct arena *arena, const struct validated_row *row)
{
    if (row->status != ROW_OK) {
        return arena_printf(arena, "%s: %s", row_status_names[row->status], row->reason);
    }
    const char *text =
        row->suspect[0] != '\0' ? arena_printf(arena, "suspect: %s", row->suspect) : "";
    return row->fits
               ? text
               : arena_printf(arena, "%s%smemory is short", text, text[0] != '\0' ? "; " : "");
}

/* A blank when there is no such number. */
static void add_if(struct listing *listing, bool has_number, const char *format, double value)
{
    listing_number(listing, value, has_number ? arena_printf(listing->arena, format, value) : "-");
}

static void add_row(struct listing *listing, const struct validated_row *row)
{
    const bool is_predicted = row->status == ROW_OK;
    const bool is_compared = is_predicted && row->measured_s > 0;
    listing_text(listing, row->id);
    listing_text(listing, row->gpu);
    add_if(listing, is_predicted, "%.0f", (double)row->gpus);
    add_if(listing, row->measured_s > 0, "%.4g", row->measured_s);
    add_if(listing, is_predicted, "%.4g", row->predicted_s);
    add_if(listing, is_compared, "%+.1f", 100.0 * row->error);
    listing_text(listing, is_predicted
                              ? arena_printf(listing->arena, "%s %.1f %%", row->largest_cause,
                                             100.0 * row->largest_share)
                              : "");
    listing_text(listing, remark(listing->arena, row));
}

static void print_rows(const struct validation *validation, const struct validated_row *rows,
                       uint32_t count, FILE *out)
{
    static const struct listing_column columns[] = {
        {"id", "row", false},
        {"gpu", "GPU", false},
        {"gpus", "GPUs", true},
        {"measured", "measured s", true},
        {"predicted", "predicted s", true},
        {"error", "error %", true},
        {"cause", "largest cause beside compute", false},
        {"remark", "", false},
    };
    struct listing listing;
    open_listing(&listing, validation, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < count; i++) {
        add_row(&listing, &rows[i]);
    }
    listing_print(&listing, false, out);
    fputs("\n", out);
}

static void add_score(struct listing *listing, const struct score *score)
{
    listing_count(listing, score->rows);
    listing_count(listing, score->votes);
    add_number(listing, "%.1f", 100.0 * score->mean);
    add_number(listing, "%.1f", 100.0 * score->median);
    add_number(listing, "%.1f", 100.0 * score->p90);
    add_number(listing, "%+.1f", 100.0 * score->bias);
}

#define SCORE_HEADS                                                                 \
    {"rows", "rows", true}, {"votes", "votes", true}, {"mean_ape", "mean %", true}, \
        {"median_ape", "median %", true}, {"p90_ape", "p90 %", true},               \
    {                                                                               \
        "bias", "bias %", true                                                      \
    }

static const char *const grouping_heads[SCORE_GROUPING_COUNT_] = {
    "by source", "by GPU", "by framework and year", "by scale", "by model", "by blanks"};

static void print_groups(const struct validation *validation, enum score_grouping grouping,
                         FILE *out)
{
    const struct listing_column columns[] = {
        {"name", grouping_heads[grouping], false}, SCORE_HEADS, {"rank", "rank corr.", true}};
    struct listing listing;
    open_listing(&listing, validation, columns, grouping == SCORE_BY_SOURCE ? 8 : 7);
    uint32_t count = 0;
    const struct score_group *groups =
        score_groups(listing.arena, validation->scored, validation->scored_count, grouping, &count);
    for (uint32_t i = 0; i < count; i++) {
        listing_text(&listing, groups[i].name);
        add_score(&listing, &groups[i].score);
        if (grouping == SCORE_BY_SOURCE) {
            add_if(&listing, groups[i].has_rank, "%.2f", groups[i].rank);
        }
    }
    listing_print(&listing, false, out);
    fputs("\n", out);
}

static void add_baseline(struct listing *listing, const char *name, uint32_t constants,
                         const struct score *score)
{
    listing_text(listing, name);
    add_if(listing, constants > 0, "%.0f", (double)constants);
    add_score(listing, score);
    add_number(listing, "%.1f", 100.0 * score->macro);
}

static void print_overall(const struct validation *validation, FILE *out)
{
    static const struct listing_column columns[] = {{"name", "all scored rows", false},
                                                    {"constants", "constants", true},
                                                    SCORE_HEADS,
                                                    {"macro_mape", "macro %", true}};
    struct listing listing;
    open_listing(&listing, validation, columns, sizeof columns / sizeof *columns);
    struct arena *arena = listing.arena;
    const struct score score = score_rows(arena, validation->scored, validation->scored_count);
    add_baseline(&listing, "stoker", 0, &score);
    for (uint32_t i = 0; i < BASELINE_COUNT_; i++) {
        const struct baseline baseline =
            score_baseline(arena, validation->scored, validation->scored_count, i);
        add_baseline(&listing, baseline_titles[i], baseline.constants, &baseline.score);
    }
    if (validation->suspect_count > 0) {
        const struct score suspects =
            score_rows(arena, validation->suspect, validation->suspect_count);
        add_baseline(&listing, "suspect rows, not scored", 0, &suspects);
    }
    listing_print(&listing, false, out);
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

static void print_worst(const struct validation *validation, FILE *out)
{
    struct arena *arena = validation->options.cli->arena;
    const uint32_t count = validation->scored_count;
    struct validated_row *rows = arena_array(arena, count, sizeof *rows);
    memcpy(rows, validation->scored, count * sizeof *rows);
    qsort(rows, count, sizeof *rows, compare_errors);
    fputs("The worst:\n", out);
    print_rows(validation, rows, count < WORST ? count : WORST, out);
}

/* Reasons, each once with the number of its rows. */
static void print_reasons(const struct validation *validation, const char *title, bool of_suspects,
                          FILE *out)
{
    struct arena *arena = validation->options.cli->arena;
    const char **reasons = arena_array(arena, validation->row_count, sizeof *reasons);
    uint32_t *counts = arena_array(arena, validation->row_count, sizeof *counts);
    uint32_t found = 0, all = 0;
    for (uint32_t i = 0; i < validation->row_count; i++) {
        const struct validated_row *row = &validation->rows[i];
        const char *reason = of_suspects ? row->suspect : row->reason;
        if (of_suspects ? reason[0] == '\0' || row->status != ROW_OK : row->status == ROW_OK) {
            continue;
        }
        uint32_t k = 0;
        while (k < found && strcmp(reasons[k], reason) != 0) {
            k++;
        }
        reasons[k] = reason;
        found += k == found ? 1 : 0;
        counts[k]++;
        all++;
    }
    if (all > 0) {
        fprintf(out, "%s: %u\n", title, all);
    }
    for (uint32_t i = 0; i < found; i++) {
        fprintf(out, "  %4u  %s\n", counts[i], reasons[i]);
    }
}

void validate_print_text(const struct validation *validation, FILE *out)
{
    if (!validation->only_summary) {
        print_rows(validation, validation->rows, validation->row_count, out);
    }
    fprintf(out, "%u rows: %u scored, %u skipped, %u suspect\n", validation->row_count,
            validation->scored_count, validation->skipped_count, validation->suspect_count);
    print_reasons(validation, "Skipped", false, out);
    print_reasons(validation, "Suspect", true, out);
    if (validation->scored_count == 0) {
        return;
    }
    fputs("\n", out);
    for (uint32_t i = 0; i < SCORE_GROUPING_COUNT_; i++) {
        print_groups(validation, i, out);
    }
    print_worst(validation, out);
    print_overall(validation, out);
    fputs("\nErrors are of step times. A vote is one configuration of one source, the mean of its "
          "rows; macro: the mean\nof sources' means; rank: Spearman's, of GPU-seconds per token. "
          "Baselines: model FLOPs at a share of\nthe peak that was fitted to these rows; stoker's "
          "constants are those of its catalogue.\n",
          out);
}
