/* What `stoker calibrate gemm` and `attention` share: both fit figures of a GPU's file to measured
 * kernels, section by section. */
#ifndef REPORT_MEASURED_KERNELS_SHEET_H
#define REPORT_MEASURED_KERNELS_SHEET_H

#include "measured/attention_groups.h"
#include "measured/kernel_fit.h"
#include "report/sheet.h"

/* How a row is told by: "forward 2048x2048x2048". */
typedef const char *kernels_row_text(struct arena *arena, const struct measured *row);

/* "#   worst: ...": the rows that are predicted worst; their relative errors are in `errors`. */
void kernels_say_worst(struct sheet *sheet, const struct measured_section *section,
                       const double *errors, kernels_row_text *text);

/* What was fitted, or is, for a section. */
struct kernels_verdict {
    bool is_met;
    const char *of; /* "products of h100-sxm5-80gb, section gemm, " */
    struct measured_errors errors;
};

/* False, with a message that has the figures of the first, when no section is any good. */
MUST_USE bool kernels_check(const struct kernels_verdict *verdicts, uint32_t count,
                            const char *help, struct diag *diag);

/* `fits[]`: each section as YAML of a GPU's file and how well it does; or how well the files do as
 * they are, where nothing is to be fitted. False as kernels_check. */
MUST_USE bool gemm_fits_add(const struct gemm_fits *fits, bool only_checks, struct sheet *sheet,
                            struct diag *diag);
MUST_USE bool attention_groups_add(const struct attention_groups *groups, bool only_checks,
                                   struct sheet *sheet, struct diag *diag);

#endif
