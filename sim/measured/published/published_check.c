/* Checks what can be wrong in the text of a row by itself. The first mistake
 * is told and no other, because its remedy often changes the others.
 */
#include "base/arena.h"
#include "input/gpu.h"
#include "measured/published/published_columns.h"
#include "measured/published/published_rows.h"

#include <string.h>

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
    "measured_step_s", /* what was measured comes last */
};

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

/* ---- precision and layout --------------------------------------------------------------- */

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
    const char *why = check_precision(&checked);
    return why != NULL ? why : check_layout(&checked);
}
