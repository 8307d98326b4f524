/* What breaks during a run, and when.
 *
 * A *class* is a kind of failure: of GPUs, of cables, of the software. Its clock says at which
 * instants one of its components fails; what that costs is the run's affair (run/history). Instants
 * are drawn by hashes of (seed, class, repetition, ordinal): another class, or another policy of
 * recovery, moves none of them, so two policies can be held against each other under the same
 * failures.
 *
 * Three meanings of "Weibull" are told apart, because they count differently
 * (Rigdon, Basu 2000, Statistical Methods for the Reliability of Repairable Systems, chapter 2):
 *
 *   renewed    a component that fails is replaced by a new one
 *   repaired   it goes on as old as it was: the power law process,
 *              failures until t = components ((t + age) / scale)^shape, less those of its age
 *   of the job the job as one thing, as good as new whenever it starts again
 *
 * With shape 1 they are the same, and exponential: `constant`.
 *
 * Cost: O(failures), not O(components). The first failures of a population are drawn as order
 * statistics (of N exponential ones, the next lies an exponential of mean 1/(N - i) behind:
 * Renyi 1953), and only those that were replaced are remembered.
 */
#ifndef RUN_FAILURE_H
#define RUN_FAILURE_H

#include "input/failures/failures.h"
#include "run/law.h"

#include <stdbool.h>

struct arena;

enum failure_clock_kind { CLOCK_CONSTANT, CLOCK_RENEWED, CLOCK_REPAIRED, CLOCK_OF_JOB };

/* Constant: `rate_per_s` of all components together. Else Weibull; of the job: components 1. */
struct failure_clock {
    enum failure_clock_kind kind;
    double rate_per_s;
    double components, scale_s, shape;
    double age_s; /* repaired: of each component when the run begins */
};

struct failure_class {
    const char *name;
    struct failure_clock clock;
    enum failure_effect effect;
    bool rests;          /* its clock stands while the job does: calendar time otherwise */
    uint32_t nodes;      /* that fall out with it; 0: a process died, or what broke is not a node */
    uint32_t nodes_last; /* with the last of its domains, */
    uint32_t domains;    /* of which there are so many, each as likely; 0 and 1: one */
    bool are_repaired_as_one;
    bool heals;           /* slows: its repair ends it, and nobody restarts; no node is away */
    uint32_t level;       /* which checkpoints are lost with it: run/history */
    struct law detection; /* until somebody knows; slow: until it is taken out */
    struct law restart;   /* of the job; each attempt draws anew */
    struct law repair;    /* of the nodes; stops: how long */
};

/* What a draw of a class is for. Of nodes: DRAW_REPAIR and those after it. */
enum failure_draw {
    DRAW_CLOCK,
    DRAW_DETECTION,
    DRAW_RESTART,
    DRAW_REPAIR,
    DRAW_PLACE = 1 << 30,
    DRAW_DOMAIN,
    DRAW_PEER, /* whether it is next to one that failed before */
    DRAW_SHARE /* whether it is of a component that the job has */
};

/* The instants of one class in one repetition, one after the other. */
struct failure_times {
    const struct failure_class *of;
    struct rng_key key;
    sim_time next;      /* INT64_MAX: none any more */
    uint64_t ordinal;   /* of the next one */
    sim_time rested_ns; /* by so much later than drawn */
    double hazard;      /* constant, repaired: sum of unit exponentials until the next */
    uint64_t draws;     /* renewed: taken so far */
    double first_s;     /* renewed: the next of those that are as old as the run */
    uint64_t first_count;
    struct time_heap *replaced; /* renewed: when those that are newer fail */
    double horizon_s;
};

/* The first instant. Memory is the arena's. What lies behind the horizon may be left out. */
void failure_times_begin(struct failure_times *times, struct arena *arena,
                         const struct failure_class *of, struct rng_key key, sim_time horizon);

/* The next one. */
void failure_times_advance(struct failure_times *times, struct arena *arena);

/* Nothing failed meanwhile: all later instants come by so much later. */
void failure_times_rest(struct failure_times *times, sim_time rested_ns);

/* Of the job: it has started again, as good as new. */
void failure_times_renew(struct failure_times *times, sim_time now);

/* Nodes that fall out with a failure. */
uint32_t failure_nodes(const struct failure_times *times, uint64_t ordinal);

/* Draws of one failure: `use` an enum failure_draw, from DRAW_REPAIR on any number. */
struct rng_key failure_key(const struct failure_times *times, uint64_t ordinal, uint64_t use);

#endif
