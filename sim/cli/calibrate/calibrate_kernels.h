/* What `stoker calibrate gemm` and `attention` share: both fit figures of a GPU's file to measured
 * kernels, section by section. */
#ifndef CLI_CALIBRATE_CALIBRATE_KERNELS_H
#define CLI_CALIBRATE_CALIBRATE_KERNELS_H

#include "cli/calibrate.h"
#include "measured/measured.h"
#include "report/sheet.h"

/* How a row is told by: "forward 2048x2048x2048". */
typedef const char *kernels_row_text(struct arena *arena, const struct measured *row);

/* "#   worst: ...": the rows that are predicted worst; their relative errors are in `errors`. */
void kernels_say_worst(struct sheet *sheet, struct arena *arena,
                       const struct measured_section *section, const double *errors,
                       kernels_row_text *text);

/* What was fitted, or is, for a section. */
struct kernels_verdict {
    bool is_met;
    const char *of; /* "products of h100-sxm5-80gb, section gemm, " */
    struct measured_errors errors;
};

/* Exit status 1, with the figures of the first, when no section is any good. */
int kernels_status(const struct calibrator *calibrator, const struct kernels_verdict *verdicts,
                   uint32_t count, const char *help);

#endif
