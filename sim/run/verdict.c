/* Verdicts are told with the place of the key that would change them.
 */
#include "run/verdict.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/diag.h"
#include "base/units.h"
#include "input/doc/doc.h"
#include "input/failures/recovery.h"
#include "input/failures/spot.h"
#include "input/job/parallel.h"
#include "input/run/run_plan.h"
#include "input/scenario.h"
#include "plan/memory/memory.h"
#include "run/checkpoint.h"
#include "run/failing.h"
#include "run/holding.h"
#include "run/run.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The smallest factor of a number, from 2 on. */
static int64_t smallest_factor(int64_t of)
{
    int64_t factor = 2;
    while (factor * factor <= of && of % factor != 0) {
        factor++;
    }
    return of % factor == 0 ? factor : of;
}

/* What a run that makes no progress waits for, most of the time. */
enum lack { LACKS_NOTHING, LACKS_CAPACITY, LACKS_REPAIRS };

/* Of the history that was given up, for nodes in the place of those that are away; 0 to 1. */
static double waiting_share(const struct run_result *run)
{
    const double all_s = account_sum_s(run->account_s);
    return all_s > 0 ? (run->account_s[ACCOUNT_WAITING] - run->stopped_s) / all_s : 0;
}

/* By failures, in the mean, while all run and as many hands repair as have to. */
static double nodes_in_repair(const struct scenario *scenario)
{
    struct arena *scratch = arena_new();
    uint32_t count;
    const struct failure_class *classes = failing_classes(scratch, scenario, &count);
    double nodes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const bool breaks =
            classes[i].effect == FAILURE_KILLS || classes[i].effect == FAILURE_SLOWS;
        if (breaks && !classes[i].heals && !classes[i].takes_away) {
            nodes += failing_rate_per_s(&classes[i], 1) * classes[i].nodes *
                     failure_repair_mean_s(&classes[i]);
        }
    }
    arena_free(scratch);
    return nodes;
}

static enum lack lack_of(const struct result *result)
{
    const struct scenario *scenario = result->scenario;
    const struct run_result *run = &result->run;
    const bool are_short = run->broken_most > holding_of_run(scenario, &result->step, run).spares;
    if (!run->makes_no_progress || !are_short || !(waiting_share(run) > 0.5)) {
        return LACKS_NOTHING;
    }
    const struct spot_plan *spot = &scenario->spot;
    const double taken = (double)scenario->nodes * spot->rate_per_s * spot->back.mean_s;
    const bool is_spot = recovery_is_on_spot(scenario) && taken >= nodes_in_repair(scenario);
    return is_spot ? LACKS_CAPACITY : LACKS_REPAIRS;
}

static void say_no_nodes(const struct result *result, enum lack lack, const struct place *place,
                         struct diag *diag)
{
    const struct scenario *scenario = result->scenario;
    const long long spares =
        (long long)holding_of_run(scenario, &result->step, &result->run).spares;
    const bool is_elastic = scenario->recovery.without_node == RECOVERY_ELASTIC;
    if (lack == LACKS_CAPACITY) {
        diag_add(diag, DIAG_INFEASIBLE, place,
                 "the run makes no progress: there is hardly ever capacity for its %lld nodes on "
                 "spot, each of which is there for %.3g %% of the time",
                 (long long)scenario->nodes,
                 100 / (1 + scenario->spot.back.mean_s * scenario->spot.rate_per_s));
    } else {
        diag_add(diag, DIAG_INFEASIBLE, place,
                 "the run makes no progress: for %.0f %% of the time it waits until nodes are "
                 "repaired, %lld spare%s beside its %lld",
                 100 * waiting_share(&result->run), spares, spares == 1 ? "" : "s",
                 (long long)scenario->nodes);
    }
    diag_help(diag, "keep %sspares (run.recovery.spares)%s", spares > 0 ? "more " : "",
              is_elastic ? ""
                         : ", or go on with fewer replicas (run.recovery.without_node: elastic)");
}

static void say_no_progress(const struct result *result, enum lack lack, const struct place *place,
                            struct diag *diag)
{
    const struct run_result *run = &result->run;
    char mtbf[32], best[32];
    if (lack != LACKS_NOTHING) {
        say_no_nodes(result, lack, place, diag);
        return;
    }
    if (is_absent(run->mtbf_s)) {
        diag_add(diag, DIAG_INFEASIBLE, place,
                 "the run makes no progress: a history with what slows or stops it was given up");
    } else {
        diag_add(diag, DIAG_INFEASIBLE, place,
                 "the run makes no progress: something ends it every %s, and a history was given "
                 "up before its last step",
                 units_format_duration(run->mtbf_s, mtbf, sizeof mtbf));
    }
    if (result->scenario->checkpoint.is_enabled && !is_absent(run->checkpoint_best_s)) {
        diag_help(diag,
                  "write a checkpoint every %s (set run.checkpoint.every), keep more "
                  "spares, or restart sooner",
                  units_format_duration(run->checkpoint_best_s, best, sizeof best));
    } else {
        diag_help(diag, "write checkpoints (run.checkpoint), keep more spares, or restart sooner");
    }
}

static void check_flush(const struct run_result *run, const struct place *place, struct diag *diag)
{
    char text[3][32];
    const double takes_s = run->checkpoint_s > run->checkpoint_persist_s
                               ? run->checkpoint_s
                               : run->checkpoint_persist_s;
    if (takes_s > run->checkpoint_every_s) {
        diag_add(diag, DIAG_INFEASIBLE, place,
                 "a checkpoint takes %s, longer than the %s from one to the next",
                 units_format_duration(takes_s, text[0], sizeof text[0]),
                 units_format_duration(run->checkpoint_every_s, text[1], sizeof text[1]));
        diag_help(diag,
                  "write one every %s at least, to faster storage (cluster.storage.write), or "
                  "smaller ones",
                  units_format_duration(2 * takes_s, text[2], sizeof text[2]));
    }
}

/* What goes on to the file system has as many intervals for that as there are until the next does.
 */
static void check_drain(const struct result *result, const struct place *place, struct diag *diag)
{
    const struct run_result *run = &result->run;
    const double drains = (double)checkpoint_drain_every(&result->scenario->checkpoint);
    const double between_s = drains * run->checkpoint_every_s;
    if (run->checkpoint_drained_s > between_s) {
        char text[2][32];
        diag_add(diag, DIAG_INFEASIBLE, place,
                 "a checkpoint is in the file system after %s, longer than the %s until the next "
                 "goes there",
                 units_format_duration(run->checkpoint_drained_s, text[0], sizeof text[0]),
                 units_format_duration(between_s, text[1], sizeof text[1]));
        diag_help(diag,
                  "copy no more than every %.0f-th (run.checkpoint.drain_every), or to faster "
                  "storage (cluster.storage.write)",
                  ceil(run->checkpoint_drained_s / run->checkpoint_every_s));
    }
}

static void check_pace(const struct result *result, const struct place *place, struct diag *diag)
{
    const struct run_result *run = &result->run;
    if (run->checkpoints > 0) {
        const uint32_t before = diag_error_count(diag);
        check_flush(run, place, diag);
        if (diag_error_count(diag) == before) {
            check_drain(result, place, diag);
        }
    }
}

/* A run that never ends, and a checkpoint that takes longer than what lies between two. */
static void check_progress(const struct result *result, struct diag *diag)
{
    static const char *const keys[] = {[LACKS_NOTHING] = "run.checkpoint.every",
                                       [LACKS_CAPACITY] = "run.spot",
                                       [LACKS_REPAIRS] = "run.recovery.spares"};
    const struct scenario *scenario = result->scenario;
    const struct run_result *run = &result->run;
    const enum lack lack = lack_of(result);
    const struct doc_node *node = doc_find(scenario->document, keys[lack]);
    const struct place *place = node != NULL ? &node->place : NULL;
    if (!run->is_asked || !result_has_step(result)) {
        return;
    }
    if (run->makes_no_progress) {
        say_no_progress(result, lack, place, diag);
        return;
    }
    check_pace(result, place, diag);
}

static void check_storage(const struct result *result, struct diag *diag)
{
    const struct scenario *scenario = result->scenario;
    const struct checkpoint *plan = &scenario->checkpoint;
    const double capacity_bytes = scenario->cluster.storage_capacity_bytes;
    if (!result_has_checkpoints(result) || !(capacity_bytes > 0)) {
        return;
    }
    const int64_t kept = checkpoint_kept(plan, result->run.checkpoints);
    const double usable_bytes = capacity_bytes * scenario->cluster.storage_usable;
    if ((double)kept * result->run.checkpoint_bytes <= usable_bytes) {
        return;
    }
    const double asked_bytes =
        (double)kept * result->run.checkpoint_bytes / scenario->cluster.storage_usable;
    const struct doc_node *node = doc_find(scenario->document, "run.checkpoint");
    char asked[32], has[32];
    int digits = 3;
    do {
        units_format(asked_bytes, DIM_BYTES, digits, asked, sizeof asked);
        units_format(capacity_bytes, DIM_BYTES, digits, has, sizeof has);
        digits++;
    } while (strcmp(asked, has) == 0 && digits <= DBL_DECIMAL_DIG);
    diag_add(diag, DIAG_INFEASIBLE, node != NULL ? &node->place : NULL,
             "%lld checkpoints that are kept ask for storage of %s, %.0f %% full; it has %s",
             (long long)kept, asked, 100 * scenario->cluster.storage_usable, has);
    const double fits = floor(usable_bytes / result->run.checkpoint_bytes);
    if (fits < 1) {
        diag_help(diag, "not one fits: set cluster.storage.capacity");
    } else {
        diag_help(diag, "run.checkpoint.keep may be at most %.0f", fits);
    }
}

/* A stage whose step needs more memory than a GPU has. */
static void check_stages(const struct result *result, struct diag *diag)
{
    const struct run_result *run = &result->run;
    const uint32_t count = run->stage_unfit > 0 ? result->scenario->plan.stage_count : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct run_stage_use *stage = &run->stages[i];
        if (!stage->step->memory.fits) {
            char text[512];
            memory_explain(stage->scenario, &stage->step->memory, text, sizeof text);
            diag_add(diag, DIAG_INFEASIBLE, &result->scenario->plan.stages[i].node->place,
                     "stage '%s' of the run does not fit: of its pipeline %s", stage->name, text);
        }
    }
}

/* What a replica is to give must lie in another node, too. */
static void check_copies(const struct result *result, struct diag *diag)
{
    const struct scenario *scenario = result->scenario;
    if (result->run.copy_nodes != 1) {
        return;
    }
    const struct parallel *parallel = &scenario->parallel;
    const int64_t all = parallel->cp * parallel->dp;
    const struct doc_node *node = doc_find(scenario->document, "run.recovery.from");
    const struct place *place = node != NULL ? &node->place : NULL;
    if (all == 1) {
        diag_add(diag, DIAG_INFEASIBLE, place,
                 "no replica has a copy of the states: there is one replica");
        diag_help(diag, "take as many GPUs as two of them need, or say run.recovery.from: "
                        "checkpoint");
    } else if (parallel->zero >= 1 && parallel->zero_group == all && scenario->nodes > 1) {
        diag_add(diag, DIAG_INFEASIBLE, place,
                 "no replica has a copy of the optimizer's states: zero %lld shards them over all "
                 "%lld GPUs that hold the same weights",
                 (long long)parallel->zero, (long long)all);
        diag_help(diag,
                  "keep copies of the shards, as with parallel.zero_group: %lld, or say "
                  "run.recovery.from: checkpoint",
                  (long long)(all / smallest_factor(all)));
    } else {
        diag_add(diag, DIAG_INFEASIBLE, place,
                 "no replica in another node has a copy of the states: all copies of some of them "
                 "lie in one node");
        diag_help(diag, "place replicas in other nodes (gpus, parallel.order, "
                        "parallel.zero_group), or say run.recovery.from: checkpoint");
    }
}

/* Evaluation that takes longer than the steps before it is a mistake of units. */
static void check_evaluation(const struct result *result, struct diag *diag)
{
    const struct scenario *scenario = result->scenario;
    const struct run_evaluation *plan = &scenario->plan.evaluation;
    const double step_s = run_step_s(scenario, &result->step);
    const double between_s = (double)plan->every_steps * step_s;
    if (!result->run.evaluates_too_long) {
        return;
    }
    const struct doc_node *node = doc_find(scenario->document, "run.evaluation.takes");
    char text[2][32];
    diag_add(diag, DIAG_INFEASIBLE, &node->place,
             "an evaluation takes %s, longer than the %s of steps from one to the next",
             units_format_duration(plan->takes_s, text[0], sizeof text[0]),
             units_format_duration(between_s, text[1], sizeof text[1]));
    diag_help(diag, "evaluate no more often than every %.0f steps",
              ceil(10 * plan->takes_s / step_s));
}

/* A stated step in which more than the peak would be done. */
static void check_stated(const struct result *result, struct diag *diag)
{
    const struct scenario *scenario = result->scenario;
    const double least_s = sim_time_to_s(result->step.step_ns);
    if (!result_has_step(result) || scenario->step_time_s <= 0 ||
        least_s <= scenario->step_time_s * (1 + 1e-6) + 1e-9) {
        return;
    }
    char text[2][32];
    const struct doc_node *node = doc_find(scenario->document, "run.step_time");
    diag_add(diag, DIAG_INFEASIBLE, node != NULL ? &node->place : NULL,
             "a step of %s asks for more than the peak of %lld GPUs",
             units_format_duration(scenario->step_time_s, text[0], sizeof text[0]),
             (long long)scenario->gpus);
    diag_help(diag, "at the peak its work takes %s; was it measured with another batch?",
              units_format_duration(least_s, text[1], sizeof text[1]));
}

/* A run in which something fails and nothing is written loses all that it did. */
static void note_unwritten(const struct result *result, struct diag *diag)
{
    const struct scenario *scenario = result->scenario;
    const struct run_result *run = &result->run;
    const double lost = run->account_s[ACCOUNT_LOST] / account_sum_s(run->account_s);
    if (!result_has_failures(result) || scenario->checkpoint.is_enabled || !(lost > 0)) {
        return;
    }
    const struct doc_node *node = doc_find(scenario->document, "run.failures");
    diag_add(diag, DIAG_NOTE, node != NULL ? &node->key_place : NULL,
             "no checkpoint is written, so that what fails takes the run back to its first step: "
             "%.1f %% of its time are steps done again",
             100 * lost);
    diag_help(diag, "write some, such as run.checkpoint: {every: 30 min, mode: async}; `stoker "
                    "search` finds how often: search: {run: {checkpoint: {every: 1 min..6 h}}}");
}

bool verdict_of_plan(const struct result *result, struct diag *diag)
{
    const uint32_t before = diag_error_count(diag);
    check_stated(result, diag);
    check_copies(result, diag);
    return diag_error_count(diag) == before;
}

bool verdict_of_run(const struct result *result, struct diag *diag)
{
    const uint32_t before = diag_error_count(diag);
    if (!verdict_of_plan(result, diag)) {
        return false;
    }
    note_unwritten(result, diag);
    check_stages(result, diag);
    check_evaluation(result, diag);
    check_storage(result, diag);
    check_progress(result, diag);
    return diag_error_count(diag) == before;
}
