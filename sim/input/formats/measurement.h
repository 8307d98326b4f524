/* Measured collectives: how long an operation took for buffers of several sizes.
 *
 * Read from YAML, from what nccl-tests prints, or from the JSON that it writes
 * (input/formats/nccl_tests). Sizes count the whole buffer as nccl-tests does: each
 * rank's for an all-reduce, the gathered one for an all-gather, the one before
 * it is scattered for a reduce-scatter, all that a rank sends for an
 * all-to-all. Times are those of out-of-place operations.
 *
 *     measurements:
 *     - id: a100-8gpu                  # unique in the file
 *       operation: all-reduce
 *       cluster: a100-80gb-1600        # optional: topologies/
 *       gpus: 8
 *       nodes: 1
 *       library: NCCL 2.21             # optional, as are algorithm, protocol and note
 *       algorithm: ring                # NCCL's; only when it was forced, or is known otherwise
 *       protocol: simple
 *       source: https://...
 *       points:                        # rising sizes
 *       - {bytes: 32768, time: 43.83 us}
 */
#ifndef INPUT_FORMATS_MEASUREMENT_H
#define INPUT_FORMATS_MEASUREMENT_H

#include "input/doc/doc.h"

enum { MEASUREMENT_OPERATION_COUNT = 7, MEASUREMENT_GPUS_MAX = 1000 * 1000 };
extern const char *const measurement_operations[MEASUREMENT_OPERATION_COUNT];

struct measured_point {
    double bytes;
    double time_s;
};

struct measurement {
    const char *id;
    const char *operation; /* one of measurement_operations */
    const char *cluster;   /* name of a file in topologies/; NULL: not said */
    int64_t gpus;          /* of the group that ran the operation */
    int64_t nodes;         /* that they are on */
    const char *library;   /* "NCCL 2.27.7"; NULL: not said, as with the next three */
    const char *algorithm;
    const char *protocol;
    const char *note;
    const char *source;
    struct measured_point *points; /* sizes rise */
    uint32_t point_count;          /* at least one */
    size_t point_capacity;
    struct place place;
};

struct measurement_list {
    struct measurement *items; /* in the order of the file */
    uint32_t count;
    size_t capacity;
};

/* `name` is one of measurement_operations. */
bool measurement_is_operation(const char *name);

/* Bus bandwidth over algorithm bandwidth as nccl-tests defines them: 2(n-1)/n for an
 * all-reduce, (n-1)/n for all-gather, reduce-scatter and all-to-all, else 1. */
double measurement_bus_factor(const char *operation, int64_t gpus);

/* Appends to `list` what the YAML says. */
MUST_USE bool measurement_read(struct arena *arena, const struct doc_node *root,
                               struct measurement_list *list, struct diag *diag);

/* Appends what a file holds: our YAML, or nccl-tests' text or JSON; which, its content tells.
 * `path` must live as long as the diag. */
MUST_USE bool measurement_read_file(struct arena *arena, const char *path,
                                    struct measurement_list *list, struct diag *diag);

/* A new, empty element at the end. */
struct measurement *measurement_add(struct arena *arena, struct measurement_list *list);
void measurement_add_point(struct arena *arena, struct measurement *measurement,
                           struct measured_point point);

/* Whether the file is one of those formats, as far as its marks tell. */
bool measurement_is_file(const char *path);

#endif
