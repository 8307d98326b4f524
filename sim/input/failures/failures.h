/* What breaks, how often, and what falls with it: models/failures/NAME.yaml.
 *
 *     failures: llama3-2024
 *     title: Interruptions of Llama 3 405B
 *     source: https://...
 *     counts: interruptions             # of jobs; or hardware: whatever broke, whoever used it
 *     classes:
 *     - name: faulty_gpu
 *       rate: {count: 148, gpus: 16384, days: 54}    # in the unit of the source
 *       of: gpu                         # with what it grows
 *       takes: node                     # what is away with it
 *       effect: kills
 *       detected: crash
 *       repair: {mean: 6.5 days, law: lognormal, median: 0.7 days}
 *
 * A repair may have stages, tried until one helps, and a class components that are worse:
 *
 *       repair: [{takes: 15 min, helps: 50 %}, {takes: 1 days, helps: 80 %}, {takes: 21 days}]
 *       returns_bad: 10 %               # of nodes come back unrepaired
 *       fails_again: 6 h                # and fail so long after
 *       bad: {share: 2 %, times: 20, retired_after: 3}
 *
 * A source counts something in some unit; what is kept of it is the rate of one component:
 *
 *     {count: 148, gpus: 16384, days: 54}          / GPUs (or their nodes) / days
 *     {count: 35, components: 2304, days: 54}      the same, of components of any kind
 *     {per_1000_node_days: 3.79, gpus_per_node: 8}
 *     {mttf: 50700 h}                          of one component
 *     {mttf: 7.9 h, gpus: 1024}                of so many together
 *
 * Interruptions of jobs and failures of hardware are two counts that differ by a factor (retries,
 * software, what fails without a job): one file has one of them.
 *
 * Here is what files say, in SI units and for one component; what it means for a run of some size
 * is run/failing's affair.
 */
#ifndef INPUT_FAILURES_FAILURES_H
#define INPUT_FAILURES_FAILURES_H

#include "input/catalogue.h"
#include "input/failures/law.h"

#define FAILURE_FACTOR_MAX 100 /* by which rates may be off */

enum failure_count { FAILURE_INTERRUPTIONS, FAILURE_HARDWARE, FAILURE_COUNT_COUNT_ };

/* With what a rate grows. */
enum failure_component {
    FAILURE_OF_GPU,
    FAILURE_OF_NODE,
    FAILURE_OF_NIC,
    FAILURE_OF_LEAF,
    FAILURE_OF_NVLINK_DOMAIN, /* a rack of trays; a node where it is one */
    FAILURE_OF_POWER_DOMAIN,
    FAILURE_OF_JOB, /* as often whatever its size */
    FAILURE_COMPONENT_COUNT_
};

enum failure_victim {
    FAILURE_TAKES_PROCESS, /* no node is away */
    FAILURE_TAKES_GPU,     /* with its node: a node is repaired as one */
    FAILURE_TAKES_NODE,
    FAILURE_TAKES_LEAF, /* the nodes below a leaf switch */
    FAILURE_TAKES_NVLINK_DOMAIN,
    FAILURE_TAKES_POWER_DOMAIN,
    FAILURE_TAKES_FILE_SYSTEM,
    FAILURE_VICTIM_COUNT_
};

enum failure_effect {
    FAILURE_KILLS,    /* the job ends, and goes on from a checkpoint */
    FAILURE_SLOWS,    /* a GPU computes slower until it is taken out, or well again */
    FAILURE_DEGRADES, /* a link of one carries less, until the same */
    FAILURE_STOPS,    /* everything waits until it is repaired, nothing is lost */
    FAILURE_CORRUPTS, /* nothing is seen until the next check */
    FAILURE_EFFECT_COUNT_
};

enum failure_detection {
    DETECTED_CRASH,
    DETECTED_HANG,
    DETECTED_SLOW,
    DETECTED_CORRUPTION,
    DETECTION_COUNT_
};

/* What time does to a component's rate. */
enum failure_ageing {
    AGEING_NONE,     /* constant */
    AGEING_RENEWED,  /* Weibull; what fails is replaced by a new one */
    AGEING_REPAIRED, /* Weibull; it goes on as old as it was */
    AGEING_COUNT_
};

extern const char *const failure_count_names[FAILURE_COUNT_COUNT_];
extern const char *const failure_component_names[FAILURE_COMPONENT_COUNT_];
extern const char *const failure_victim_names[FAILURE_VICTIM_COUNT_];
extern const char *const failure_effect_names[FAILURE_EFFECT_COUNT_];
extern const char *const failure_detection_names[DETECTION_COUNT_];
extern const char *const failure_ageing_names[AGEING_COUNT_];

/* One of the ways of a repair, tried one after the other until one helps; the last always does. */
struct repair_stage {
    struct law takes;
    double helps; /* share of what comes to it */
};

struct failure_kind {
    const char *name;
    struct place place;
    double rate_per_s; /* of one component; of Weibull: 1 / its mean time to the first failure */
    uint32_t of;       /* enum failure_component */
    uint32_t ageing;   /* enum failure_ageing */
    double shape;      /* of Weibull */
    double age_s;      /* repaired: of each component when the run begins */
    uint32_t takes;    /* enum failure_victim */
    uint32_t effect;   /* enum failure_effect */
    double speed;      /* slows: of the GPU, as a share of the others'; else 1 */
    double nic;        /* degrades: of its NIC's bandwidth; else 1 */
    double scale_up;   /* degrades: of its scale-up port's */
    uint32_t detected; /* enum failure_detection */
    struct law repair; /* of the nodes; stops: how long all wait */
    struct repair_stage *stages; /* in its place; NULL: repair is all of it */
    uint32_t stage_count;
    double returns_bad;     /* share of the nodes that come back as broken as they went, */
    struct law fails_again; /* and fail so long after that */
    bool has_bad;
    double bad_share; /* of components, that fail bad_times as often as the others */
    double bad_times;
    int64_t bad_retired_after; /* failures of one, then it is as the others; 0: never */
};

struct failures {
    const char *name; /* NULL: nothing fails */
    const char *title;
    uint32_t counts;     /* enum failure_count */
    double rates_within; /* a factor: how far off all rates may be; 0: nobody says */
    struct failure_kind *kinds;
    uint32_t kind_count;
};

/* The name that `failures: true` stands for. */
#define FAILURES_DEFAULT "llama3-2024"

/* Keys of a file, and of one of its classes. */
extern const struct schema failures_schema;
extern const struct schema failure_kind_keys;

/* What it points to is the assumptions' arena's. */
MUST_USE bool failures_read(const struct doc_node *node, struct failures *failures,
                            struct assumptions *assumptions, struct diag *diag);

#endif
