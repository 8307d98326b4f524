/* Measured products: a CSV whose first line names its columns.
 *
 *     gpu,dtype,layout,out,m,n,k,groups,tflop_per_s,source
 *     a100-pcie-80gb,bf16,NT,fp32,1536,5120,4096,1,194.844,https://...
 *
 * `gpu` is one of the catalogue, dtype a precision of input/gpu, layout what the product is in
 * training: TN or forward, NN or dgrad, NT or wgrad. m x k by k x n; `groups` of them (1) in one
 * launch. Either tflop_per_s or us says how fast. `out` is bf16 or fp32, the format of the
 * result (fp32 for weight gradients, else bf16); a weight gradient is added to what is there. The
 * last three and source may be missing.
 */
#ifndef MEASURED_GEMM_ROWS_H
#define MEASURED_GEMM_ROWS_H

#include "hw/kernel.h"
#include "measured/measured.h"

struct gemm_row {
    struct measured of; /* section: the precision whose constants it has (gemm_section) */
    enum precision precision;
    enum gemm_pass pass;
    struct gemm_size size;
    double bytes; /* of memory traffic */
    double measured_s;
};

struct gemm_rows {
    struct gemm_row *rows;
    uint32_t count;
};

/* False after a diagnosis of each bad line. */
MUST_USE bool gemm_rows_read(struct arena *arena, const char *path,
                             const struct catalogue *catalogue, struct gemm_rows *rows,
                             struct diag *diag);

#endif
