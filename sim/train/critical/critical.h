/* What a step hangs on: its critical path (des/record), by what would make it shorter.
 *
 * The accounts say what each GPU did in the mean. They do not say what would help: with one GPU at
 * 85 % of its speed they say "compute", for that is what most GPUs do before they wait. The
 * path runs over the slow GPU, and says so.
 *
 * A part is a *resource*: kernels by cause, launches, what a slow GPU takes longer, what a
 * collective under way takes from kernels, and of transfers, by what they are for: their latencies,
 * the link that their bytes are bound by, and what others on their links cost them; and what the
 * host computes. To first order a resource that is x % faster makes the step shorter by x % of its
 * part, until another path is longer.
 *
 * The parts add up to the step to the nanosecond (asserted): the path of the run of the ensemble
 * that is the prediction (train/ensemble), of its folded system, then the wait for the slowest GPU
 * (train/jitter) and for data.
 *
 * ASSUMES: of several paths that are as long, one is told (des/record/engine_critical).
 */
#ifndef TRAIN_CRITICAL_CRITICAL_H
#define TRAIN_CRITICAL_CRITICAL_H

#include "train/fold.h"
#include "train/metrics.h"

struct step_system;

enum critical_kind {
    CRITICAL_KERNELS,      /* of a cause: compute, recompute, optimizer */
    CRITICAL_LAUNCH,       /* gaps between kernels */
    CRITICAL_SLOW_GPU,     /* what slower GPUs take longer than the others */
    CRITICAL_INTERFERENCE, /* what kernels lose to transfers for `cause` that end before them */
    CRITICAL_COVERED,      /* and to those that go on */
    CRITICAL_LATENCY,      /* of transfers for `cause` */
    CRITICAL_BYTES,        /* of these, over links of a kind */
    CRITICAL_HOST,         /* what the host computes, for `cause` */
    CRITICAL_CONTENTION,   /* of these, while others are on their links to the end */
    CRITICAL_HELD_UP,      /* of others, what transfers for `cause` cost them that end first */
    CRITICAL_WAIT,         /* after the run: for the slowest GPU, for data */
    CRITICAL_KIND_COUNT_
};

struct critical_part {
    enum critical_kind kind;
    enum cause cause;
    const char *link; /* CRITICAL_BYTES: its kind, "NIC out"; "" where the library binds, not it */
    int64_t ns;
};

struct critical {
    int64_t length_ns;
    struct critical_part *parts; /* the largest first, without those of 0 */
    uint32_t count;
    int64_t slow_gpu_ns; /* of length_ns, computing on GPUs that are slower than others */
    int64_t slow_rank;   /* the first of that on which most of it is; -1: none */
    double slow_speed;   /* of that */
    uint64_t legs;
};

struct engine_record;

/* Of a recorded run of the folded system. What is found is the arena's. */
void critical_find(struct arena *arena, const struct step_system *system,
                   const struct folded_system *folded, struct engine_record *record,
                   struct critical *critical);

/* With time after the run: the path goes on over it. Another one, in the arena's memory. */
const struct critical *critical_with(struct arena *arena, const struct critical *critical,
                                     enum cause cause, int64_t ns);

/* The same, up to a step of step_ns as the run has it, that waits for its loaders. Where that is
 * shorter than the path, this stays as it is: a step by itself reads what it needs at once; one of
 * many, whose loaders read ahead, may hide what comes after (train/loading/step_loaded). */
const struct critical *critical_up_to(struct arena *arena, const struct critical *critical,
                                      int64_t step_ns);

/* Of a step that waits for what it reads all along, over a link used for that share of it: reads
 * that follow one another are a chain as long as the step, whatever GPUs do meanwhile. */
const struct critical *critical_of_reading(struct arena *arena, int64_t step_ns, double share,
                                           const char *link);

/* So many times as long, each part in proportion: what an anchor does to the step. Another one, in
 * the arena's memory. */
const struct critical *critical_scaled(struct arena *arena, const struct critical *critical,
                                       int64_t length_ns);

/* "compute kernels", "TP communication, bytes over scale-up port out". */
const char *critical_title(struct arena *arena, const struct critical_part *part);

/* Of the path, all parts that are there for a cause: what transfers for it take, what they cost one
 * another, kernels, and other transfers. Those of all causes add up to the path. 0 of NULL. */
int64_t critical_of_cause(const struct critical *critical, enum cause cause);

/* "compute kernels", "TP communication": what a cause is called on the path, where nothing of it is
 * hidden; the accounts call theirs by cause_titles. */
const char *critical_cause_title(enum cause cause);

/* What bounds the step, in one phrase: the two largest causes, of which a slow GPU is one, with
 * their shares of the path, and each one's largest part: "compute kernels (78 %), then TP
 * communication (11 %, of it bytes over scale-up port out 9 %)". Of a cause that is one part, or
 * all but, that part stands for it: "DP communication, bytes over NIC out (95 %)". What a run, a
 * sweep, a search, a comparison or an explanation calls `bound by` is this. */
const char *critical_bound_by(struct arena *arena, const struct critical *critical);

#endif
