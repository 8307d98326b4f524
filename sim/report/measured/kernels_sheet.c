/* The rows that a fit of kernels meets worst, and its end: which sections are good enough to give
 * out.
 */
#include "report/measured/kernels_sheet.h"

#include "base/arena.h"
#include "measured/fit_limit.h"

#include <math.h>
#include <stdlib.h>

enum { WORST_ROWS = 5 };

struct worst {
    const struct measured *row;
    double error;
};

static int compare_worst(const void *left, const void *right)
{
    const double a = fabs(((const struct worst *)left)->error);
    const double b = fabs(((const struct worst *)right)->error);
    return (a < b) - (a > b);
}

void kernels_say_worst(struct sheet *sheet, const struct measured_section *section,
                       const double *errors, kernels_row_text *text)
{
    struct arena *arena = sheet_arena(sheet);
    struct worst *all = arena_array(arena, section->count, sizeof *all);
    for (uint32_t i = 0; i < section->count; i++) {
        all[i] = (struct worst){section->rows[i], errors[i]};
    }
    qsort(all, section->count, sizeof *all, compare_worst);
    sheet_say(sheet, "#   worst:");
    for (uint32_t i = 0; i < section->count && i < WORST_ROWS; i++) {
        sheet_say(sheet, "%s %s %+.0f %%", i == 0 ? "" : ",", text(arena, all[i].row),
                  100.0 * all[i].error);
    }
    sheet_say(sheet, "\n");
}

bool kernels_check(const struct kernels_verdict *verdicts, uint32_t count, const char *help,
                   struct diag *diag)
{
    for (uint32_t i = 0; i < count; i++) {
        if (verdicts[i].is_met) {
            return true;
        }
    }
    diag_add(diag, DIAG_FAILURE, NULL,
             "nothing is fitted: the %u %s are off by %.1f %% in the median with the best figures, "
             "and the limit is %.0f %%",
             verdicts[0].errors.count, verdicts[0].of, 100.0 * verdicts[0].errors.median,
             100.0 * FIT_MEDIAN_MAX);
    diag_help(diag, "look at the worst ones: %s", help);
    return false;
}
