/* What a row's text alone can be wrong in. The first mistake is told: its remedy often changes the
 * others. */
#include "base/arena.h"
#include "spec/gpu.h"
#include "study/published_rows.h"

#include <string.h>

enum { COUNT_MAX = 1000000000 }; /* products of two do not overflow */

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

const char *const published_columns[PUBLISHED_COLUMN_COUNT] = {
    "id",
    "model_name",
    "framework",
    "gpu",
    "gpus",
    "precision",
    "tp",
    "pp",
    "seq_len",
    "global_batch_sequences",
    "measured_step_s",
};

/* Columns of counts, and the least that each may be. */
static const struct count_row {
    const char *column;
    int64_t least;
} counts[] = {
    {"framework_year", 1990},
    {"layers", 1},
    {"hidden", 1},
    {"ffn_hidden", 1},
    {"heads", 1},
    {"kv_heads", 1},
    {"vocab", 1},
    {"experts", 0},
    {"experts_per_token", 1},
    {"expert_ffn_hidden", 1},
    {"shared_experts", 0},
    {"seq_len", 1},
    {"gpus", 1},
    {"gpus_per_node", 1},
    {"tp", 1},
    {"pp", 1},
    {"virtual_pp", 1},
    {"dp", 1},
    {"cp", 1},
    {"ep", 1},
    {"micro_batch", 1},
    {"micro_num", 1},
    {"global_batch_sequences", 1},
    {"full_recompute_layers", 0},
    {"offload_layers", 0},
};

static const char *const amounts[] = {"inter_node_gbps_per_node", "measured_step_s",
                                      "measured_memory_gb"};

struct checked {
    struct arena *arena;
    const struct published_table *table;
    uint32_t row;
    struct published_wrong *wrong;
};

static const char *found(const struct checked *checked, const char *column, const char *help,
                         const char *why)
{
    *checked->wrong = (struct published_wrong){column, help};
    return why;
}

static struct text_span field(const struct checked *checked, const char *column)
{
    const char *text = published_text(checked->table, checked->row, column);
    return (struct text_span){text, text + strlen(text)};
}

/* ---- numbers ---------------------------------------------------------------------------- */

static const char *check_count(const struct checked *checked, const struct count_row *row)
{
    const struct text_span text = field(checked, row->column);
    int64_t value = 0;
    if (text_span_length(text) == 0 ||
        (text_span_count(text, &value) && value >= row->least && value <= COUNT_MAX)) {
        return NULL;
    }
    return found(checked, row->column,
                 arena_printf(checked->arena, "%s is a whole number from %lld on, or blank",
                              row->column, (long long)row->least),
                 arena_printf(checked->arena, "%s '%s'", row->column, text.begin));
}

static const char *check_amount(const struct checked *checked, const char *column)
{
    const struct text_span text = field(checked, column);
    double value = 0;
    if (text_span_length(text) == 0 ||
        (text_span_number(text, &value) && value > 1e-9 && value < 1e9)) {
        return NULL;
    }
    return found(checked, column,
                 arena_printf(checked->arena, "%s is a number above 0, without its unit", column),
                 arena_printf(checked->arena, "%s '%s'", column, text.begin));
}

static const char *check_numbers(const struct checked *checked)
{
    const char *why = NULL;
    for (size_t i = 0; why == NULL && i < LENGTH(counts); i++) {
        why = check_count(checked, &counts[i]);
    }
    for (size_t i = 0; why == NULL && i < LENGTH(amounts); i++) {
        why = check_amount(checked, amounts[i]);
    }
    const struct text_span group = field(checked, "zero_group");
    int64_t value = 0;
    if (why == NULL && text_span_length(group) > 0 && !text_span_is(group, "-1") &&
        !text_span_count(group, &value)) {
        why = found(checked, "zero_group", "a number of GPUs, or -1: all that hold the same",
                    arena_printf(checked->arena, "zero_group '%s'", group.begin));
    }
    return why;
}

/* ---- words and layout ------------------------------------------------------------------- */

static const char *check_precision(const struct checked *checked)
{
    const struct text_span text = field(checked, "precision");
    for (uint32_t i = 0; i < PRECISION_COUNT_; i++) {
        if (text_span_is(text, precision_names[i])) {
            return NULL;
        }
    }
    return found(checked, "precision", "fp32, tf32, fp16, bf16, fp8, mxfp8 or nvfp4",
                 arena_printf(checked->arena, "precision '%s' is not known", text.begin));
}

/* Blank: 1. In double: a product of wrong numbers may be any. */
static double factor(const struct checked *checked, const char *column)
{
    double value = 0;
    return published_number(checked->table, checked->row, column, &value) ? value : 1.0;
}

static const char *check_layout(const struct checked *checked)
{
    const double gpus = factor(checked, "gpus");
    const double replica = factor(checked, "tp") * factor(checked, "pp") * factor(checked, "cp");
    const bool has_dp = text_span_length(field(checked, "dp")) > 0;
    if (text_span_length(field(checked, "gpus")) == 0 ||
        (has_dp ? replica * factor(checked, "dp") > gpus - 0.5 &&
                      replica * factor(checked, "dp") < gpus + 0.5
                : (double)(int64_t)(gpus / replica) * replica > gpus - 0.5)) {
        return NULL;
    }
    const char *fits = replica <= gpus && (double)(int64_t)(gpus / replica) * replica > gpus - 0.5
                           ? arena_printf(checked->arena, "dp would be %.0f", gpus / replica)
                           : "tp x pp x cp x dp is the number of GPUs";
    return found(checked, has_dp ? "dp" : "gpus", fits,
                 arena_printf(checked->arena, "tp x pp x cp%s is %.0f, and there are %.0f GPUs",
                              has_dp ? " x dp" : "",
                              has_dp ? replica * factor(checked, "dp") : replica, gpus));
}

const char *published_check(struct arena *arena, const struct published_table *table, uint32_t row,
                            struct published_wrong *wrong)
{
    const struct checked checked = {arena, table, row, wrong};
    *wrong = (struct published_wrong){NULL, NULL};
    const struct published_problem *problem = &table->problems[row];
    if (problem->what != NULL) {
        return found(&checked, "", problem->help, problem->what);
    }
    const char *why = check_numbers(&checked);
    why = why != NULL ? why : check_precision(&checked);
    return why != NULL ? why : check_layout(&checked);
}
