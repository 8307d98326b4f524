/* How far a predicted peak of a GPU's memory may be off: the errors among measured peaks.
 *
 * models/memory.csv of the catalogue holds one line for each published run of which a peak was
 * measured (tests/published/memory.csv, by `stoker calibrate memory`): whose it is, what was
 * measured and what is predicted of the same, all that is taken of the GPU or what the allocator
 * has reserved (measured/published/memory_rows).
 *
 * The *error of memory* is the median of |predicted / measured - 1|: half of the peaks are off by
 * less. A layout that is over a GPU's memory by at most that is a near miss: no prediction tells
 * whether it fits. Why the median: of the measured peaks one in four lay so far below its
 * prediction that at the median it would fit; by p90 of the errors, 17 %, none of those that their
 * sources state without reserve did. How likely a layout is to fit is told beside it, by
 * `memory_errors_share`.
 *
 * A plan's *class* is the peaks of its architecture that are cut as it is, by tensor, pipeline or
 * context parallelism or by none of them (FSDP alone); where there are fewer than
 * MEMORY_CLASS_MIN, those that are cut as it is; then all. Of a plan that is counted to fit, the
 * share of its class's peaks that would have fit, had they been counted so, says whether it fits
 * (MEMORY_SURE of them or more) or may not fit.
 *
 * ASSUMES: within a class each measured peak counts as much as another, whatever its framework: two
 * thirds of all are of one source, to which one constant was fitted, so that the error errs to the
 * small side.
 */
#ifndef BANDS_MEMORY_ERRORS_H
#define BANDS_MEMORY_ERRORS_H

#include "input/catalogue.h"
#include "run/result.h"

#define MEMORY_ERRORS_FILE "models/memory.csv"
#define MEMORY_ERRORS_MIN 10    /* fewer peaks tell nothing */
#define MEMORY_ERRORS_MOST 0.25 /* a larger error counts as that: beyond, nothing is near */
#define MEMORY_CLASS_MIN 5      /* fewer peaks are no class */
#define MEMORY_SURE 0.9         /* of a class's peaks: so many would have fit */

struct memory_error {
    const char *id, *source;
    const char *gpu, *software; /* catalogue files */
    const char *architecture;   /* "hopper" */
    bool is_cut;                /* by tensor, pipeline or context parallelism */
    double measured_bytes, predicted_bytes;
};

struct memory_errors {
    const struct memory_error *items;
    uint32_t count;
    const double *ratios; /* predicted over measured, rising */
    double median;        /* of |ratio - 1|, as measured */
    double near;          /* the error of memory: the median, at most MEMORY_ERRORS_MOST */
    double low, high;     /* p10 and p90 of the ratios */
    const char *like;     /* of a class: "hopper, cut by tp, pp or cp"; of all "" */
};

/* What the items say: fills in all but these, and `like` as of all. */
void memory_errors_sum(struct arena *arena, struct memory_errors *errors);

/* False with a DIAG_FAILURE. What stood at `path` is replaced when all is written. */
MUST_USE bool memory_errors_write(struct arena *arena, const struct memory_errors *errors,
                                  const char *path, struct diag *diag);

/* False, with a message, when the file is wrong. */
MUST_USE bool memory_errors_read(struct arena *arena, const char *path,
                                 struct memory_errors *errors, struct diag *diag);

/* Of the first catalogue directory that has the file. Else false and why; one that the system does
 * not let us read is a DIAG_FAILURE, too. */
MUST_USE bool memory_errors_load(struct arena *arena, const struct catalogue *catalogue,
                                 struct memory_errors *errors, const char **reason,
                                 struct diag *diag);

/* The same; NULL with a note where there are none: then nobody is near. */
const struct memory_errors *memory_errors_open(struct arena *arena,
                                               const struct catalogue *catalogue,
                                               struct diag *diag);

/* By how much of the GPU's memory a plan is over it; below 0: its room. */
double memory_over(double needed_bytes, double limit_bytes);

/* Whether that is less than the error of memory; never of NULL. */
bool memory_errors_are_near(const struct memory_errors *errors, double over);

/* Of measured peaks the share that would have been at most 1 where 1 + over was predicted: below
 * their prediction by at least so much. Of `over` below 0: the room that a plan has, and the share
 * that it held. */
double memory_errors_share(const struct memory_errors *errors, double over);

/* The class of plans of an architecture, cut or not. Memory is the arena's. */
struct memory_errors memory_errors_alike(struct arena *arena, const struct memory_errors *errors,
                                         const char *architecture, bool is_cut);
bool memory_is_cut(const struct scenario *scenario);

/* Whether what was counted of its GPU's memory holds. Of no errors: by the count alone. */
struct memory_doubt memory_doubt_of(struct arena *arena, const struct memory_errors *errors,
                                    const struct scenario *scenario,
                                    const struct memory_verdict *verdict);

/* The same of a result, by the catalogue's peaks. */
const struct memory_doubt *memory_doubt_new(struct arena *arena, const struct catalogue *catalogue,
                                            const struct result *result, struct diag *diag);

#endif
