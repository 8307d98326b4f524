/* Reads measured matrix products from a CSV and refuses, with line and column,
 * what it cannot use. Each row comes out with its sizes, its GPU and its time
 * in seconds.
 */
#include "lab/gemm_rows.h"

#include "base/arena.h"
#include "base/check.h"
#include "lab/published/published_table.h"

#include <math.h>
#include <string.h>

struct row_reader {
    struct arena *arena;
    const struct catalogue *catalogue;
    const struct published_table *table;
    struct diag *diag;
    const struct gemm_rows *before; /* whose GPUs are known */
    uint32_t row;
    bool is_good;
};

static const char *text_of(const struct row_reader *reader, const char *column)
{
    return published_text(reader->table, reader->row, column);
}

static void complain(struct row_reader *reader, const char *column, const char *wanted)
{
    const struct place place = {.file = reader->table->path, .line = reader->row + 2};
    diag_add(reader->diag, DIAG_INPUT, &place, "%s is '%s', and should be %s", column,
             text_of(reader, column), wanted);
    reader->is_good = false;
}

static double read_positive(struct row_reader *reader, const char *column)
{
    double value = 0.0;
    if (!published_number(reader->table, reader->row, column, &value) ||
        !(value > 0.0 && value <= 1e9)) {
        complain(reader, column, "a number above 0");
        return 1.0;
    }
    return value;
}

static int64_t read_count(struct row_reader *reader, const char *column, double most)
{
    const double value = read_positive(reader, column);
    if (value != floor(value) || value > most) { /* what was written */
        complain(reader, column, "a whole number, and not that large");
        return 1;
    }
    return (int64_t)value;
}

/* Index of a column's text among names; complains when it is none of them. */
static uint32_t read_name(struct row_reader *reader, const char *column, const char *const *names,
                          uint32_t count, const char *wanted)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(text_of(reader, column), names[i]) == 0) {
            return i;
        }
    }
    complain(reader, column, wanted);
    return 0;
}

static const struct gpu *open_gpu(struct row_reader *reader, const char *name)
{
    for (uint32_t i = reader->before->count; i > 0; i--) {
        if (strcmp(reader->before->rows[i - 1].gpu_name, name) == 0) {
            return reader->before->rows[i - 1].gpu;
        }
    }
    const struct doc_node reference = {
        .kind = DOC_SCALAR,
        .text = name,
        .place = {.file = reader->table->path, .line = reader->row + 2}};
    const struct doc_node *node =
        catalogue_open(reader->arena, reader->catalogue, CATALOGUE_GPU, &reference, reader->diag);
    struct gpu *gpu = arena_alloc(reader->arena, sizeof *gpu);
    struct assumptions assumptions;
    assumptions_init(&assumptions, reader->arena);
    reader->is_good = node != NULL && gpu_read(node, gpu, &assumptions, reader->diag);
    return gpu;
}

static void read_size(struct row_reader *reader, struct gemm_row *row)
{
    static const char *const formats[] = {"bf16", "fp32"};
    const bool has_groups = text_of(reader, "groups")[0] != '\0';
    const bool has_format = text_of(reader, "out")[0] != '\0';
    row->size.m = read_count(reader, "m", 1e7);
    row->size.n = read_count(reader, "n", 1e7);
    row->size.k = read_count(reader, "k", 1e7);
    row->size.count = has_groups ? read_count(reader, "groups", 1e5) : 1;
    const bool is_wgrad = row->pass == GEMM_WGRAD;
    const bool is_fp32 = has_format ? read_name(reader, "out", formats, 2, "bf16 or fp32") == 1
                                    : is_wgrad || precision_bytes(row->precision) == 4;
    const double result_bytes = (is_fp32 ? 4.0 : 2.0) * (is_wgrad ? 2.0 : 1.0); /* read, too */
    const double m = (double)row->size.m;
    const double n = (double)row->size.n;
    const double k = (double)row->size.k;
    row->bytes = (double)row->size.count *
                 ((m * k + k * n) * precision_operand_bytes(row->precision) + m * n * result_bytes);
}

static double read_time_s(struct row_reader *reader, const struct gemm_size *size)
{
    const double flop =
        2.0 * (double)size->m * (double)size->n * (double)size->k * (double)size->count;
    const bool has_time = text_of(reader, "us")[0] != '\0';
    return has_time ? read_positive(reader, "us") / 1e6
                    : flop / (read_positive(reader, "tflop_per_s") * 1e12);
}

static struct gemm_row read_row(struct row_reader *reader)
{
    static const char *const layouts[] = {"TN", "NN", "NT", "forward", "dgrad", "wgrad"};
    struct gemm_row row = {.gpu_name = text_of(reader, "gpu"), .source = text_of(reader, "source")};
    if (row.gpu_name[0] == '\0') {
        complain(reader, "gpu", "a GPU of models/gpus");
        return row;
    }
    row.gpu = open_gpu(reader, row.gpu_name);
    if (!reader->is_good) {
        return row;
    }
    row.precision = (enum precision)read_name(reader, "dtype", precision_names, PRECISION_COUNT_,
                                              "fp32, tf32, fp16, bf16, fp8, mxfp8 or nvfp4");
    if (reader->is_good && !gpu_has_precision(row.gpu, row.precision)) {
        complain(reader, "dtype", "one that this GPU multiplies in");
    }
    row.pass = (enum gemm_pass)(
        read_name(reader, "layout", layouts, 6, "TN, NN or NT (forward, dgrad or wgrad)") % 3);
    read_size(reader, &row);
    row.measured_s = read_time_s(reader, &row.size);
    return row;
}

bool gemm_rows_read(struct arena *arena, const char *path, const struct catalogue *catalogue,
                    struct gemm_rows *rows, struct diag *diag)
{
    const struct published_table *table = published_load(arena, path, diag);
    if (table == NULL) {
        return false;
    }
    *rows =
        (struct gemm_rows){.rows = arena_array(arena, table->row_count + 1, sizeof *rows->rows)};
    struct row_reader reader = {
        .arena = arena, .catalogue = catalogue, .table = table, .diag = diag, .before = rows};
    bool is_good = true;
    for (; reader.row < table->row_count; reader.row++) {
        reader.is_good = true;
        const struct gemm_row row = read_row(&reader);
        if (reader.is_good) {
            rows->rows[rows->count++] = row;
        }
        is_good = is_good && reader.is_good;
    }
    if (table->row_count == 0) {
        const struct place place = {.file = path, .line = 1};
        diag_add(diag, DIAG_INPUT, &place, "there is no measurement in this file");
    }
    return is_good && rows->count > 0;
}
