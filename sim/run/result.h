/* What a prediction says: the step (train/metrics), the whole run, and how far runs that are alike
 * lie from it.
 *
 * Plain data, filled by run/run; the band by who has measured runs (bands/band).
 */
#ifndef RUN_RESULT_H
#define RUN_RESULT_H

#include "plan/cost.h"
#include "run/account.h"
#include "run/component.h"
#include "train/metrics.h"

#include <stddef.h>

struct repetition; /* run/history/repetitions */

/* A figure over many histories. */
struct run_spread {
    double mean, error; /* standard error of the mean */
    double p5, p50, p95;
};

/* How far off what a run is made of may be: standard deviations of logarithms; 0: it is exact. */
struct run_deviations {
    double step;
    double rates;         /* of failures, */
    const char *no_rates; /* why that is not known; NULL: it is, or nothing fails */
};

struct run_range {
    double p10, p90;
};

/* How far off a run may be (run/draws). */
struct run_draws {
    bool are_asked;
    uint32_t count; /* 0: nothing fails, and all follows from the step */
    struct run_deviations of;
    struct run_range days, cost_usd, energy_kwh, goodput; /* cost_usd ABSENT: no price */
    double of_step, of_rates,
        of_histories;  /* of what makes a draw long or short; their sum is 1, or
                                             * 0 where nothing is uncertain */
    double unfinished; /* share of the draws that were given up: p90 may be more than is said */
};

/* One class of failures, mean of a history. */
struct run_failure {
    const char *name;
    double count; /* interruptions */
    double hours; /* steps done again, detection, waiting, recovery */
};

/* A step that is not the usual one. */
struct run_regime {
    const char *what; /* "with gpu slow in stage 3 of the pipeline, 2 replicas missing" */
    double step_s;
};

/* One of a run's accounts that holds time. */
struct run_account {
    const char *name;
    double time_s;
    double energy_kwh; /* whole facility: the sum of these */
    double component_kwh[COMPONENT_COUNT_];
};

/* One stage of the run. */
struct run_stage_use {
    const char *name;
    const struct scenario *scenario; /* as it is in this stage */
    const struct step_result *step;
    double step_s; /* simulated or measured */
    double data_stall_s;
    double tokens;
    int64_t steps;
    double account_s[ACCOUNT_COUNT_]; /* wall-clock from its begin to its end; means */
    double days, gpu_hours;
    double unheld_gpu_hours; /* as of the run */
};

struct run_result {
    bool is_asked; /* false: only the step was asked for, the rest does not exist */
    int64_t steps;
    double tokens;
    double days;      /* wall-clock, predicted: the mean */
    double gpu_hours; /* paid (run/holding): not of nodes that were taken away, while the job lacks
                       * them, */
    double unheld_gpu_hours; /* which are these; mean */
    double idle_gpu_hours;   /* of gpu_hours, those of GPUs that the placement leaves idle */
    double notices_saved;    /* mean: times that nodes were taken, and no step was lost */
    double notice_safe_s;    /* from the begin of a checkpoint until it outlives nodes on spot;
                              * HUGE_VAL: it does not */
    double goodput;          /* as those below, by run/goodput */
    bool is_walked;          /* days come of histories: something fails, or is planned */
    struct run_stage_use *stages;
    uint32_t stage_count;       /* 0: the run is one, or there is none */
    bool evaluates_too_long;    /* an evaluation takes longer than the steps before it: no run */
    uint32_t stage_unfit;       /* 1 + the first that does not fit: there is no run; 0: all do */
    double checkpoints_written; /* by histories, mean */
    uint32_t repetitions;       /* histories; 0: nothing fails, and they are all alike */
    const struct repetition *histories; /* [repetitions], each by itself */
    const char *histories_s;            /* their wall-clock times, as days (paired); NULL: none */
    bool makes_no_progress;             /* a history had not finished when it was given up */
    struct run_spread days_spread, goodput_spread; /* with failures, as all below */
    struct run_draws draws;
    double interruptions;
    double mtbf_s;          /* between what ends the job, while it runs */
    double rollback_mtbf_s; /* between those that go back to a checkpoint, but for nodes on spot of
                             * which there is notice enough; ABSENT: none does */
    uint32_t copy_nodes; /* that hold each part of the states; 0: run.recovery.from is no replica */
    uint32_t broken_most;         /* nodes at a time */
    double stopped_s;             /* of waiting, for what stops all; mean */
    struct run_failure *failures; /* by class */
    size_t failure_count;
    const struct run_regime *regimes; /* that histories met, beside the usual steps */
    size_t regime_count;
    int64_t regimes_simulated;
    int64_t steps_reused; /* of all histories, whose time was known */
    double effective_training_time_ratio;
    double scheduling_goodput, runtime_goodput, ml_productivity_goodput;
    double checkpoint_every_s, checkpoint_block_s, checkpoint_persist_s;
    double checkpoint_drained_s; /* until it is in the file system, too; 0: it was there first */
    double checkpoint_young_s;   /* the interval by Young; ABSENT: blocks for no time */
    double checkpoint_best_s;    /* by the exact formula, for one constant rate */
    double goodput_by_formula, goodput_at_best; /* of that, as often as it is, and so often */
    double checkpoint_bytes;
    double checkpoint_s; /* one checkpoint, the blocking part */
    int64_t checkpoints;
    double data_stall_s;                         /* per step, inside step_ns */
    double first_batch_s;                        /* that nothing hides */
    double account_s[ACCOUNT_COUNT_];            /* wall-clock by account: their sum is all of it */
    struct run_account accounts[ACCOUNT_COUNT_]; /* that hold time, in their order */
    uint32_t account_count;
    double cost_usd;    /* on price.terms, with electricity where it is priced apart, and storage;
                        * ABSENT: no price of GPUs */
    double spares_usd;  /* of these, for nodes that stand ready, without their electricity */
    double storage_usd; /* of checkpoints: what they ask for and what is moved; ABSENT: no price */
    double energy_kwh;  /* whole facility (pue): the sum of these */
    double component_kwh[COMPONENT_COUNT_];
    double rated_kwh;                  /* GPU-hours * TDP, as papers have it */
    double carbon_kg, rated_carbon_kg; /* of both; ABSENT: no price.carbon */
    double owned_gpu_hour_usd;         /* with electricity; ABSENT: no price.own */
    double break_even_months;          /* ABSENT: never, or no price.own or no rent */
};

/* A measured run, and how far it was off. */
struct band_run {
    const char *id, *source;
    double ratio; /* measured / predicted step time */
};

/* What makes a band wider, or narrower (bands/width). */
struct band_part {
    const char *name, *says; /* "experts", "a mixture of experts" */
    double times;            /* as wide, as logarithms */
};

enum { BAND_NEAREST = 3 };

/* From the p10 to the p90 of measured runs like it (bands/band). */
struct band {
    const char *like;   /* "hopper, megatron, 16-bit or more, dense"; "": there is no band */
    const char *reason; /* then: why */
    bool is_ratio;    /* to an anchor: votes are pairs of runs that differ likewise, or it alone */
    uint32_t votes;   /* configurations measured that are alike */
    uint32_t sources; /* that published them */
    uint32_t all_votes; /* by whose errors it is as wide as it is */
    double low, high;   /* of measured / predicted step time */
    double alike;       /* the same as high, of the votes alone; widened by what follows: */
    const struct band_part *parts; /* of ln(alike), those that the run has */
    uint32_t part_count;
    double widening;   /* 1 or more: what lies outside made the band's logarithm so much wider */
    double box_spread; /* standard deviation of ln(measured), from box to box of this GPU */
    bool knows_box;    /* a rate of its box was measured: of that, what is left */
    struct band_run nearest[BAND_NEAREST]; /* the nearest first */
    uint32_t nearest_count;
    const char **outside; /* "no run on volta": in what it is not like anything measured */
    uint32_t outside_count;
    const char **unproven;   /* "the optimizer on the host": what is not validated */
    uint32_t unproven_count; /* 0: all is */
    double reported;         /* then: by which factor reports of it were off at the most */
};

/* Whether a plan that is counted to fit does, by measured peaks (bands/memory_errors). */
struct memory_doubt {
    bool is_in_doubt;
    double share;     /* of the peaks that are alike: would have fit; ABSENT: none is known */
    uint32_t peaks;   /* that are alike */
    const char *like; /* "hopper, cut by tp, pp or cp"; "": all that were measured */
};

/* A setting that the scenario does not say, and what it would make of the step (study/unsaid). */
struct unsaid {
    const char *name; /* "one CUDA graph" */
    const char *set;  /* "software.host.graphs=[iteration]"; several with blanks between them */
    double moves;     /* the step, as a share of what it is */
};
/* What moves less is not told. */
#define UNSAID_LEAST 1e-3

struct result;

/* "fits", "may not fit" or "does not fit". */
const char *result_memory_verdict(const struct result *result);

struct result {
    const struct scenario *scenario;
    double moves_range;    /* by which its assumptions were moved to rank them; 0: they are not */
    const char *build;     /* hash of the sources that predicted it; hex; borrowed */
    char key[17];          /* hash of resolved scenario, build, seed; hex */
    char scenario_key[17]; /* the same without the build */
    struct step_result step;
    struct run_result run;
    double power_w, power_peak_w; /* of the site: money_add_power; ABSENT: there is no step */
    uint32_t mfu_convention;      /* enum flop_convention that was asked for; ours is the first */
    const struct band *band;      /* NULL: nobody asked */
    const struct memory_doubt *memory_doubt; /* NULL: nobody asked */
    const struct unsaid *unsaid;             /* what moves the step most comes first */
    uint32_t unsaid_count;
};

/* What a prediction says exists only where the plan does: a plan that does not fit has memory, but
 * no step time, MFU or days, and these must not be shown (base/absent.h). */
bool result_has_step(const struct result *result);
/* Days, money and energy: of a plan that fits, when `run:` asked for them. */
bool result_has_run(const struct result *result);
/* Why there is none that was asked for: "the run makes no progress". */
const char *result_no_run(const struct result *result);
/* The same, when something fails. */
bool result_has_failures(const struct result *result);
bool result_has_checkpoints(const struct result *result);

/* The shortest and the longest of runs alike (struct step_spread); ABSENT where they do not lie
 * apart, or there is no step. */
double result_step_least_s(const struct result *result);
double result_step_most_s(const struct result *result);

/* FLOPs of a token as a paper counts them, and what share of the peak they are. */
double result_flop_by(const struct result *result, enum flop_convention convention);
double result_mfu_by(const struct result *result, enum flop_convention convention);

#endif
