/* What is planned of a run before it begins: how long it waits for its nodes, in which stages it
 * trains, when it stops of its own will.
 *
 *     run:
 *       queue: 2 days                                 # until the job has its nodes
 *       first_steps: {count: 5, longer: 40 s}         # compilation, after each start
 *       evaluation: {every: 1000 steps, takes: 5 min}
 *       maintenance: {every: 30 days, takes: 6 h}
 *       drift: {per_day: 0.2 %, since: start}         # steps get longer, until the job starts anew
 *       stages:
 *         - {name: short, tokens: 252M, set: {batch.global: 1024, batch.sequence_length: 4096}}
 *         - {name: long, tokens: 2.87T}
 *
 * A stage is the scenario with some keys set, resolved as `--set` and variants are, but for the
 * keys that are of the whole run (run, price, jobs, seed). What it does not set is the scenario's.
 * Their tokens are those of the run.
 */
#ifndef INPUT_RUN_RUN_PLAN_H
#define INPUT_RUN_RUN_PLAN_H

#include "input/schema/schema.h"

struct scenario;

/* Of the first steps after each start of the job. */
struct run_first_steps {
    bool are_slow;
    int64_t count;
    double longer_s; /* each */
    double all_s;    /* count * longer_s */
};

/* A pause after every so many steps, for as long as the model is evaluated. */
struct run_evaluation {
    bool is_enabled;
    int64_t every_steps;
    double takes_s;
};

/* For which the job stops: at `first_s` from its begin, and every `every_s` after that. */
struct run_maintenance {
    bool is_enabled;
    double every_s, takes_s, first_s;
    bool saves; /* a checkpoint is written before */
};

/* What a step takes longer for each day since the job last started: collectors of garbage that come
 * at other times on each rank, memory in pieces; or since maintenance: dust, ageing.
 *
 * ASSUMES: it grows as a straight line, and by the same share in all regimes. Those who saw steps
 * get longer say that they do, not how fast (https://imbue.com/research/70b-infrastructure, June
 * 2024, of garbage collection; MegaScale, https://arxiv.org/abs/2402.15627, February 2024): who has
 * logs of a run states it, and where nothing is said there is none. */
enum drift_since { DRIFT_SINCE_START, DRIFT_SINCE_MAINTENANCE, DRIFT_SINCE_COUNT_ };
extern const char *const drift_since_names[DRIFT_SINCE_COUNT_];

struct run_drift {
    bool is_enabled;
    double per_day; /* share of a step */
    uint32_t since; /* enum drift_since; of maintenance or, before that, the begin of the run */
};

/* From the last step of the stage before until its tokens are trained. */
struct run_stage {
    const char *name;
    double tokens;
    const struct doc_node *set; /* as written; NULL: nothing */
    bool restarts;              /* the job starts anew; else it goes on in place */
    double change_s;            /* planned, before its first step */
    double step_time_s;         /* measured; 0: predicted, or the run's */
    const struct scenario *scenario;
    const struct doc_node *node;
};

struct run_plan {
    double queue_s;
    struct run_first_steps first_steps;
    struct run_evaluation evaluation;
    struct run_maintenance maintenance;
    struct run_drift drift;
    struct run_stage *stages;
    uint32_t stage_count; /* 0: the run is one */
};

/* The keys of an entry of run.stages; the object is a struct run_stage. */
extern const struct schema run_stage_keys;

/* ---- for the rows of the scenario's schema; the object is a struct scenario ---- */

void run_plan_read_evaluation_every(const struct schema_reader *reader,
                                    const struct schema_row *row);
void run_plan_read_stages(const struct schema_reader *reader, const struct schema_row *row);
bool run_plan_check_first_steps(const struct schema_reader *reader, const struct schema_row *row);
bool run_plan_check_maintenance(const struct schema_reader *reader, const struct schema_row *row);

/* Whether the job may start anew: something fails, or that is planned. */
bool run_plan_has_restarts(const void *scenario);

/* Whether pauses or stages interrupt the steps, or these get longer. */
bool run_plan_has_pauses(const struct run_plan *plan);

/* An evaluation takes longer than the steps from one to the next, which take so long each: a
 * mistake of units. */
bool run_plan_evaluates_too_long(const struct run_plan *plan, double step_s);

#endif
