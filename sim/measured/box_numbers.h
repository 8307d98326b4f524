/* Six numbers of a box, measured in ten minutes: what `stoker calibrate box` reads.
 *
 *     box: mine
 *     cluster: b200-3200              # what it is one of; its file names the GPU
 *     gemm_large: {m: 16384, n: 16384, k: 16384, dtype: bf16, time: 7.9 ms}
 *     gemm_small: {m: 4096, n: 2048, k: 1024, dtype: bf16, time: 21 us}
 *     attention: {kernel: cudnn, sequences: 2, heads: 32, kv_heads: 8, length: 8192, head_dim: 128,
 *                 causal: true, forward: 1.3 ms, backward: 3.6 ms}
 *     copy: {bytes: 4 GiB, time: 1.3 ms}
 *     all_reduce: {bytes: 4 GiB, gpus: 8, nodes: 1, time: 9 ms}
 *     step: {scenario: mine-step.yaml, time: 4.1 s}     # or {run: FILE.csv:ID}, or a log
 *
 * Any of them may be missing. Each moves one key, until it is predicted as it was measured
 * (measured/box_fit): the table `box_number_rows` has a row for each. What no such machine can do,
 * and what is no feature of the GPU, is refused at its place.
 *
 * Times are of one repetition: of so many in a row that the power limit acts, as it does in
 * training, the median.
 */
#ifndef MEASURED_BOX_NUMBERS_H
#define MEASURED_BOX_NUMBERS_H

#include "input/study/box.h"
#include "input/cluster.h"
#include "input/gpu.h"
#include "input/library.h"

enum box_number {
    BOX_GEMM_LARGE,
    BOX_GEMM_SMALL,
    BOX_ATTENTION_TIME,
    BOX_COPY,
    BOX_ALL_REDUCE,
    BOX_STEP,
    BOX_NUMBER_COUNT_
};

/* What all of them have. */
struct box_timed {
    bool is_given;
    double time_s;
    double spread; /* deviation of ln(rate) that one measurement leaves open */
};

struct box_gemm {
    struct box_timed of;
    int64_t m, n, k;
    uint32_t dtype; /* enum precision */
};

struct box_attention {
    struct box_timed of; /* its time: forward */
    uint32_t kernel;     /* enum attention_kind */
    int64_t sequences, heads, kv_heads, length, head_dim;
    bool is_causal;
    double backward_s; /* 0: not measured */
};

struct box_copy {
    struct box_timed of;
    double bytes; /* that are read, and written elsewhere */
};

struct box_all_reduce {
    struct box_timed of;
    double bytes; /* of each GPU's buffer */
    int64_t gpus, nodes;
};

struct box_step {
    struct box_timed of; /* 0 s: the run says it */
    const char *scenario, *run;
};

struct box_numbers {
    const char *name, *title;
    const char *source;                  /* NULL: not told */
    const char *cluster_name, *gpu_name; /* "": not told */
    struct box_gemm large, small;
    struct box_attention attention;
    struct box_copy copy;
    struct box_all_reduce all_reduce;
    struct box_step step;
    const struct doc_node *node; /* as written */
    /* What it is one of. */
    struct cluster *cluster; /* NULL: only the GPU is named */
    struct gpu *gpu;
    struct library *library; /* the cluster's; NULL without a cluster */
};

/* The keys of such a file; the object is a struct box_numbers. */
extern const struct schema box_number_keys;

/* Its key in the file, which rate it is of, and what the time of it moves. */
extern const struct box_number_row {
    const char *key;
    enum box_rate rate; /* BOX_RATE_COUNT_: of none, it is a step */
    bool is_whole;      /* after it the rate counts as measured */
    const char *moves;
} box_number_rows[BOX_NUMBER_COUNT_];

/* Whether the file has it. */
bool box_numbers_has(const struct box_numbers *numbers, enum box_number number);
const struct box_timed *box_numbers_timed(const struct box_numbers *numbers,
                                          enum box_number number);

/* Where a value of it is written: "gemm_large.time". */
const struct place *box_numbers_place(const struct box_numbers *numbers, const char *path);

/* False with a message at each place that is wrong: keys, files, and what cannot be. */
MUST_USE bool box_numbers_read(struct arena *arena, const char *path,
                               const struct catalogue *catalogue, struct box_numbers *numbers,
                               struct diag *diag);

#endif
