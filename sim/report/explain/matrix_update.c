/* The products are told apart from the model's FLOPs, which alone MFU and TFLOP/s count. */
#include "report/explain/matrix_update.h"

#include "base/ledger.h"
#include "base/units.h"
#include "input/job/optimizer.h"
#include "report/sheet.h"
#include "run/result.h"
#include "train/program/program_matrices.h"

#include <inttypes.h>

void matrix_update_say(const struct result *result, struct sheet *sheet)
{
    const struct memory_job job = memory_job_of_states(result->scenario);
    if (!optimizer_has_matrices(job.optimizer)) {
        return;
    }
    const struct timing_runner runner = timing_runner_of(result->scenario);
    const struct matrix_products products = program_matrix_products(&runner, &job);
    const double step_s = units_seconds(result->step.step_ns);
    sheet_say(sheet,
              "of the optimizer products of %s %.4g s, %.1f %% of the step: %.1f TFLOP/s per GPU, "
              "beside the model's\n",
              job.optimizer->matrices.name, products.busy_s, 100 * products.busy_s / step_s,
              products.flop / step_s / 1e12);
}

void matrix_update_record(const struct scenario *scenario, struct ledger *ledger)
{
    const struct memory_job job = memory_job_of_states(scenario);
    const struct optimizer *optimizer = job.optimizer;
    if (!optimizer_has_matrices(optimizer)) {
        return;
    }
    const struct timing_runner runner = timing_runner_of(scenario);
    struct matrices own;
    program_updated_matrices(&job, 0, &own);
    double all = 0;
    for (uint32_t i = 0; i < own.count; i++) {
        const struct matrix *matrix = &own.items[i];
        const double flop = matrix_flop(&optimizer->matrices, matrix);
        all += LEDGER_SUM(ledger,
                          ledger_text(ledger, "%s, %" PRId64 " x %" PRId64,
                                      optimizer->matrices.name, matrix->rows, matrix->columns),
                          "GFLOP", (double)matrix->count * flop,
                          LEDGER_TERM(matrix->count, matrix->is_expert ? "of experts" : ""),
                          LEDGER_TERM(flop, "GFLOP"));
    }
    ledger_say(ledger, "products of matrices", "GFLOP", all,
               "stage 0, the busiest rank's; steps x (4 m m n + 2 m m m)");
    const struct matrix_products products = program_matrix_products(&runner, &job);
    ledger_say(
        ledger, "they take", "us", products.busy_s,
        ledger_text(ledger, "mean of stages; %.4g TFLOP of the mean GPU", products.flop / 1e12));
}
