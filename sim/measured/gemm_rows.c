/* Reads measured matrix products from a CSV and refuses, with line and column,
 * what it cannot use. Each row comes out with its sizes, its GPU and its time
 * in seconds.
 */
#include "measured/gemm_rows.h"

static void read_size(struct measured_reader *reader, struct gemm_row *row)
{
    static const char *const formats[] = {"bf16", "fp32"};
    const bool has_groups = measured_text(reader, "groups")[0] != '\0';
    const bool has_format = measured_text(reader, "out")[0] != '\0';
    row->size.m = measured_count(reader, "m", 1e7);
    row->size.n = measured_count(reader, "n", 1e7);
    row->size.k = measured_count(reader, "k", 1e7);
    row->size.count = has_groups ? measured_count(reader, "groups", 1e5) : 1;
    const bool is_wgrad = row->pass == GEMM_WGRAD;
    const bool is_fp32 = has_format ? measured_name(reader, "out", formats, 2, "bf16 or fp32") == 1
                                    : is_wgrad || precision_bytes(row->precision) == 4;
    const double result_bytes = (is_fp32 ? 4.0 : 2.0) * (is_wgrad ? 2.0 : 1.0); /* read, too */
    const double m = (double)row->size.m;
    const double n = (double)row->size.n;
    const double k = (double)row->size.k;
    row->bytes = (double)row->size.count *
                 ((m * k + k * n) * precision_operand_bytes(row->precision) + m * n * result_bytes);
}

static double read_time_s(struct measured_reader *reader, const struct gemm_size *size)
{
    const double flop =
        2.0 * (double)size->m * (double)size->n * (double)size->k * (double)size->count;
    const bool has_time = measured_text(reader, "us")[0] != '\0';
    return has_time ? measured_positive(reader, "us", 1e9) / 1e6
                    : flop / (measured_positive(reader, "tflop_per_s", 1e9) * 1e12);
}

static void read_row(struct measured_reader *reader, void *record)
{
    static const char *const layouts[] = {"TN", "NN", "NT", "forward", "dgrad", "wgrad"};
    struct gemm_row *row = record;
    row->precision =
        (enum precision)measured_name(reader, "dtype", precision_names, PRECISION_COUNT_,
                                      "fp32, tf32, fp16, bf16, fp8, mxfp8 or nvfp4");
    if (reader->is_good && !gpu_has_precision(row->of.gpu, row->precision)) {
        measured_complain(reader, "dtype", "one that this GPU multiplies in");
    }
    row->of.section = precision_is_low(row->precision) ? row->precision : PRECISION_BF16;
    row->pass = (enum gemm_pass)(
        measured_name(reader, "layout", layouts, 6, "TN, NN or NT (forward, dgrad or wgrad)") % 3);
    read_size(reader, row);
    row->measured_s = read_time_s(reader, &row->size);
}

bool gemm_rows_read(struct arena *arena, const char *path, const struct catalogue *catalogue,
                    struct gemm_rows *rows, struct diag *diag)
{
    struct measured_reader reader = {.arena = arena, .catalogue = catalogue, .diag = diag};
    void *items = NULL;
    const bool is_good =
        measured_read(&reader, path, read_row, sizeof *rows->rows, &items, &rows->count);
    rows->rows = items;
    return is_good;
}
