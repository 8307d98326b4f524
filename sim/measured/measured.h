/* The room measured: measured runs, kernels and collectives: read, predicted, scored.
 *
 * Invariant: A measured row is predicted as any scenario is, by the same functions: nothing here
 * knows a source by its name. What a row means beyond its words is data with a source
 * (tests/published/rules.yaml).
 *
 * Lives here: tables of runs and kernels, their scores, what `validate`, `calibrate
 * collectives|gemm|attention|memory|box` and anchors work with.
 * May come in: base, input, plan, hw, train, run, bands.
 *
 * Decided in one place each:
 *     what a row of a table of measured runs means           published/published_reading.c
 *     which measured step is an anchor                       anchoring.c
 *     how much of an anchor's error counts                   anchor.c
 *     which key a number of a box moves                      box_fit.c
 *     which steps need not be simulated again: the table of  known_steps.c
 *     how far off predictions are, over which votes          score.c
 */

/* Measured kernels: a CSV whose first line names its columns, a row a kernel.
 *
 * Products (measured/gemm_rows) and attention (measured/attention_fit) have columns of their own;
 * what they share is here: how fields are read and complained of, the GPU of a row, and how far
 * predictions are off over the rows of a section: those that a fit has one set of constants for.
 */
#ifndef MEASURED_MEASURED_H
#define MEASURED_MEASURED_H

#include "input/catalogue.h"
#include "input/gpu.h"
#include "bands/published_table.h"

/* What every row begins with. */
struct measured {
    const char *gpu_name;
    const struct gpu *gpu;
    const char *source; /* "": not told */
    uint32_t line;      /* of the file */
    uint32_t section;   /* by which the kind of kernel is divided beside GPUs */
};

/* ---- reading ---------------------------------------------------------------------------- */

struct measured_reader {
    struct arena *arena;
    const struct catalogue *catalogue;
    struct diag *diag;
    const struct published_table *table;
    uint32_t row;
    bool is_good;                /* the row at hand; a complaint says why not */
    const struct measured *last; /* of the row before, whose GPU it may have, too */
};

/* Reads a row into `row`, which begins with a struct measured. */
typedef void measured_read_row(struct measured_reader *reader, void *row);

/* Rows of `size` bytes; *count of them are good. False after a diagnosis of each bad line. */
MUST_USE bool measured_read(struct measured_reader *reader, const char *path,
                            measured_read_row *read_row, size_t size, void **rows, uint32_t *count);

/* Fields of the row at hand. What is wrong is complained of, and some value returned. */
const char *measured_text(const struct measured_reader *reader, const char *column);
double measured_positive(struct measured_reader *reader, const char *column, double most);
int64_t measured_count(struct measured_reader *reader, const char *column, double most);
/* Index of the text among names. */
uint32_t measured_name(struct measured_reader *reader, const char *column, const char *const *names,
                       uint32_t count, const char *wanted);
void measured_complain(struct measured_reader *reader, const char *column, const char *wanted);

/* ---- sections ----------------------------------------------------------------------------- */

struct measured_list {
    const void *rows;
    size_t size;
    uint32_t count;
};

struct measured_section {
    const struct measured **rows;
    uint32_t count;
};

/* The rows of a GPU and section, in their order. */
struct measured_section measured_select(struct arena *arena, struct measured_list list,
                                        const char *gpu_name, uint32_t section);

/* The sources of a section, each once: "a; b". */
const char *measured_sources(struct arena *arena, const struct measured_section *section);

/* Of relative errors of predicted times. */
struct measured_errors {
    uint32_t count;
    double median, p90, mean; /* without their signs */
    double bias;              /* mean with its sign */
    double worst;             /* with its sign */
    uint32_t worst_at;        /* its index */
};
struct measured_errors measured_errors_of(struct arena *arena, const double *errors,
                                          uint32_t count);

#endif
