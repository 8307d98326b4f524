/* The way from a scenario file to a result, for commands that predict a single
 * scenario: read, resolve, check, simulate, and tell what a user should know
 * besides.
 */
#include "cli/predict.h"

#include "base/host.h"
#include "cli/row.h"
#include "base/units.h"
#include "base/version.h"
#include "input/doc/doc.h"
#include "run/run.h"
#include "input/scenario_load.h"

#include <math.h>

/* A scenario that holds a study is predicted as it stands; says how to get the rest. */
static void note_study(const struct options *options, const struct doc_node *document,
                       const char *path, const struct study_base *base)
{
    struct arena *arena = options->cli->arena;
    struct study study = {.count = 0};
    if (!study_is_asked(document) ||
        !study_expand(arena, document, base, &study, diag_new(arena))) {
        return;
    }
    diag_add(options->cli->diag, DIAG_NOTE, NULL,
             "this is the scenario by itself; `stoker sweep %s` runs its %u points", path,
             study.count);
}

struct scenario *predict_load(const struct options *options, const char *path)
{
    struct cli *cli = options->cli;
    if (options->row != NULL) {
        return row_load(options, path);
    }
    if (row_is_table(path)) {
        return row_missing(options, path);
    }
    const struct doc_node *document = scenario_load_document(cli->arena, path, cli->diag);
    if (document == NULL) {
        return NULL;
    }
    const struct catalogue catalogue = options_catalogue(options);
    const struct study_base base = options_study_base(options, &catalogue);
    struct scenario *scenario = scenario_resolve(
        cli->arena, document, &catalogue, options->sets.items, options->sets.count, cli->diag);
    if (scenario != NULL) {
        note_study(options, document, path, &base);
    }
    return scenario;
}

/* What the fluid solver did: how often, over how much. */
static void note_solver(const struct options *options, const struct engine_use *use)
{
    diag_add(
        options->cli->diag, DIAG_NOTE, NULL,
        "fluid solver: %.1f ms for %lld instants in %lld fills of %.1f flows on average, %lld at "
        "most; %lld events, %lld links",
        use->solve_s * 1e3, (long long)use->solves, (long long)use->fills,
        use->fills > 0 ? (double)use->flows_filled / (double)use->fills : 0.0,
        (long long)use->region_max, (long long)use->events, (long long)use->links_simulated);
}

void predict_result(const struct options *options, const struct scenario *scenario,
                    struct result *result)
{
    const struct run_request request = {options->folds, stoker_build(), NULL};
    const double start_s = host_now_s();
    run_predict(options->cli->arena, scenario, &request, result);
    result->mfu_convention = options->mfu_convention;
    result->step.engine.host_s = host_now_s() - start_s;
    result->step.engine.host_peak_bytes = host_peak_bytes();
    if (options->is_verbose) {
        note_solver(options, &result->step.engine);
    }
}

void predict_check_placement(const struct options *options, const struct result *result)
{
    const struct placement_use *use = &result->step.placement;
    if (use->straddling == 0) {
        return;
    }
    struct diag *diag = options->cli->diag;
    diag_add(diag, DIAG_WARNING, NULL,
             "%lld %s groups of %lld GPUs leave their NVLink domain of %lld, which could hold them",
             (long long)use->straddling, use->straddler, (long long)use->straddling_gpus,
             (long long)use->domain_gpus);
    diag_help(diag, "their collectives cross the network; more nodes, of which some stay idle, or "
                    "degrees that divide a domain, would keep them inside");
}

static void say_no_progress(const struct options *options, const struct result *result,
                            const struct place *place)
{
    const struct run_result *run = &result->run;
    struct diag *diag = options->cli->diag;
    char mtbf[32], best[32];
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

/* A run that never ends, and a checkpoint that takes longer than what lies between two. */
void predict_check_run(const struct options *options, const struct result *result)
{
    const struct scenario *scenario = result->scenario;
    const struct run_result *run = &result->run;
    const struct doc_node *every = doc_find(scenario->document, "run.checkpoint.every");
    const struct place *place = every != NULL ? &every->place : NULL;
    struct diag *diag = options->cli->diag;
    if (!run->is_asked || !result_has_step(result)) {
        return;
    }
    if (run->makes_no_progress) {
        say_no_progress(options, result, place);
        return;
    }
    char text[3][32];
    const double takes_s = run->checkpoint_s > run->checkpoint_persist_s
                               ? run->checkpoint_s
                               : run->checkpoint_persist_s;
    if (run->checkpoints > 0 && takes_s > run->checkpoint_every_s) {
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

void predict_check_memory(const struct options *options, const struct step_result *step)
{
    if (!step->memory.fits) {
        diag_add(options->cli->diag, DIAG_INFEASIBLE, NULL, "the plan does not fit into memory: %s",
                 step->memory_advice);
    }
}

void predict_check_storage(const struct options *options, const struct result *result)
{
    const struct scenario *scenario = result->scenario;
    const struct checkpoint *plan = &scenario->checkpoint;
    const double capacity_bytes = scenario->cluster.storage_capacity_bytes;
    if (!result_has_checkpoints(result) || !(capacity_bytes > 0)) {
        return;
    }
    const int64_t written =
        result->run.checkpoints / (plan->drain_every > 0 ? plan->drain_every : 1);
    const int64_t kept = plan->keep > 0 && plan->keep < written ? plan->keep : written;
    const double usable_bytes = capacity_bytes * scenario->cluster.storage_usable;
    if ((double)kept * result->run.checkpoint_bytes <= usable_bytes) {
        return;
    }
    const double asked_bytes =
        (double)kept * result->run.checkpoint_bytes / scenario->cluster.storage_usable;
    const struct doc_node *node = doc_find(scenario->document, "run.checkpoint");
    char asked[32], has[32];
    units_format(asked_bytes, DIM_BYTES, 3, asked, sizeof asked);
    units_format(capacity_bytes, DIM_BYTES, 3, has, sizeof has);
    diag_add(options->cli->diag, DIAG_INFEASIBLE, node != NULL ? &node->place : NULL,
             "%lld checkpoints that are kept ask for storage of %s, %.0f %% full; it has %s",
             (long long)kept, asked, 100 * scenario->cluster.storage_usable, has);
    const double fits = floor(usable_bytes / result->run.checkpoint_bytes);
    if (fits < 1) {
        diag_help(options->cli->diag, "not one fits: set cluster.storage.capacity");
    } else {
        diag_help(options->cli->diag, "run.checkpoint.keep may be at most %.0f", fits);
    }
}
