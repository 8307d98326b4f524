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
 * Of a constant rate some components may be *bad*: they fail so many times as often, until they
 * have failed so often that they are retired. All are drawn together, at the rate of the begin;
 * which one it was is drawn then, and who replaced a bad one fails a bad one's share of the times:
 *
 *     the next is one of the bad   bad times / (bad times + components - bad)
 *     and retired: it fails        1 / times
 *
 * A component may *fail again*, some time after a repair that was none: such failures come beside
 * those of the clock and move none of them.
 *
 * Cost: O(failures), not O(components). The first failures of a population are drawn as order
 * statistics (of N exponential ones, the next lies an exponential of mean 1/(N - i) behind:
 * Renyi 1953), and only those that were replaced are remembered.
 */
#ifndef RUN_HISTORY_FAILURE_H
#define RUN_HISTORY_FAILURE_H

#include "input/failures/failures.h"
#include "run/history/again_heap.h"
#include "run/history/law.h"

#include <stdbool.h>

struct arena;

enum failure_clock_kind { CLOCK_CONSTANT, CLOCK_RENEWED, CLOCK_REPAIRED, CLOCK_OF_JOB };

/* Constant: `rate_per_s` of all components together. Else Weibull; of the job: components 1. */
struct failure_clock {
    enum failure_clock_kind kind;
    double rate_per_s;
    double components, scale_s, shape;
    double age_s; /* repaired: of each component when the run begins */
    /* Constant: so many of the components fail bad_times as often as the others; rate_per_s is that
     * of all when the run begins. 0: they are alike. */
    uint32_t bad_count;
    double bad_times;
    uint32_t bad_retired_after; /* failures of one, which is as the others then; 0: never */
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
    bool is_of_nodes; /* its components lie in nodes: those of nodes that are away do not fail */
    bool heals;       /* slows: its repair ends it, and nobody restarts; no node is away */
    uint32_t level;   /* which checkpoints are lost with it: run/history */
    struct law detection;              /* until somebody knows; slow: until it is taken out */
    struct law restart;                /* of the job; each attempt draws anew */
    struct law repair;                 /* of the nodes; stops: how long */
    const struct repair_stage *stages; /* in its place; stage_count 0: there are none */
    uint32_t stage_count;
    double returns_bad;     /* share of what is repaired that was not, */
    struct law fails_again; /* and fails so long after it came back */
    /* Kills: its nodes are taken away, and nobody repairs them; `repair` is until there are others
     * in their place, which is nobody's work. What is away is not taken again. */
    bool takes_away;
    sim_time notice_ns; /* takes away: they go so long after somebody was told */
    double together;    /* nodes at once, in the mean, by a geometric law; 0: `nodes`, always */
};

/* What a draw of a class is for. Of nodes: DRAW_REPAIR and those after it. */
enum failure_draw {
    DRAW_CLOCK,
    DRAW_DETECTION,
    DRAW_RESTART,
    DRAW_REPAIR,
    DRAW_COPIES = 1 << 28,    /* whether all copies of some states are gone */
    DRAW_DIAGNOSIS = 1 << 29, /* and those after it */
    DRAW_PLACE = 1 << 30,
    DRAW_DOMAIN,
    DRAW_PEER,  /* whether it is next to one that failed before */
    DRAW_SHARE, /* whether it is of a component that the job has */
    DRAW_BAD,
    DRAW_RETURN,
    DRAW_AGAIN,
    DRAW_COLD_START,
    DRAW_TOGETHER,
    DRAW_STAGE, /* of repairs, and those after it */
};

/* The instants of one class in one repetition, one after the other. */
struct failure_times {
    const struct failure_class *of;
    struct rng_key key;
    sim_time next;       /* INT64_MAX: none any more */
    uint64_t ordinal;    /* of the next one */
    sim_time clock_next; /* of those that the clock says */
    uint64_t clock_ordinal;
    struct again_heap again; /* those that fail again, each by rested_ns too early */
    uint32_t *bad_failures;  /* [bad_count] so far */
    sim_time rested_ns;      /* by so much later than drawn */
    double hazard;           /* constant, repaired: sum of unit exponentials until the next */
    uint64_t draws;          /* renewed: taken so far */
    double first_s;          /* renewed: the next of those that are as old as the run */
    uint64_t first_count;
    struct time_heap *replaced; /* renewed: when those that are newer fail */
    double horizon_s;
};

/* The first instant. Memory is the arena's. What lies behind the horizon may be left out. */
void failure_times_begin(struct failure_times *times, struct arena *arena,
                         const struct failure_class *of, struct rng_key key, sim_time horizon);

/* Goes on to the next failure. */
void failure_times_advance(struct failure_times *times, struct arena *arena);

/* What the failure of that number broke fails again then. */
void failure_times_again(struct failure_times *times, struct arena *arena, sim_time when,
                         uint64_t ordinal);

/* Nothing failed meanwhile: all later instants come by so much later. */
void failure_times_rest(struct failure_times *times, sim_time rested_ns);

/* Of the job: it has started again, as good as new. */
void failure_times_renew(struct failure_times *times, sim_time now);

/* Nodes that fall out with a failure. */
uint32_t failure_nodes(const struct failure_times *times, uint64_t ordinal);

/* Draws of one failure: `use` an enum failure_draw, from DRAW_REPAIR on any number. */
struct rng_key failure_key(const struct failure_times *times, uint64_t ordinal, uint64_t use);

/* ---- what becomes of nodes that broke ----
 *
 * A repair is one law, or stages that are tried until one helps (a reboot, a swap of parts, the
 * vendor): of stages of means t_i of which shares h_i help it takes
 *
 *     t_1 + (1 - h_1) (t_2 + (1 - h_2) (t_3 + ...))      in the mean
 *
 * Some nodes come back as broken as they went, and fail again soon.
 *
 * ASSUMES: a node that comes back unrepaired is one that the job takes, not one that stands by.
 */

/* How long the node of that number is away, among those that one failure took. */
sim_time failure_repair(const struct failure_times *times, uint64_t ordinal, uint32_t number);

/* False: it was mended. Else how long after it came back it fails again. */
bool failure_fails_again(const struct failure_times *times, uint64_t ordinal, sim_time *after);

/* Of a repair, in the mean. */
double failure_repair_mean_s(const struct failure_class *class);

#endif
