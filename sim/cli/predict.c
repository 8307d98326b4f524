/* The way from a scenario file to a result, for commands that predict a single
 * scenario: read, resolve, check, simulate, and tell what a user should know
 * besides.
 */
#include "cli/predict.h"

#include "bands/memory_errors.h"
#include "base/arena.h"
#include "base/host.h"
#include "cli/anchor.h"
#include "study/lacks.h"
#include "cli/progress.h"
#include "cli/row.h"
#include "base/version.h"
#include "input/doc/doc.h"
#include "input/scenario.h"
#include "input/scenario_load.h"
#include "input/study/auto_layout.h"
#include "bands/band.h"
#include "bands/limits.h"
#include "report/told.h"
#include "study/assumed.h"
#include "study/study.h"
#include "study/unsaid.h"
#include "train/need.h"

#include <math.h>

/* A scenario that holds a study is predicted as it stands; says how to get the rest. */
static void note_study(const struct options *options, const struct doc_node *document,
                       const char *path, const struct catalogue *catalogue)
{
    struct arena *arena = options->cli->arena;
    struct study study = {.count = 0};
    const struct study_base base = options_study_base(options, catalogue);
    if (!study_is_asked(document) ||
        !study_expand(arena, document, &base, &study, diag_new(arena))) {
        return;
    }
    diag_add(options->cli->diag, DIAG_NOTE, NULL,
             "this is the scenario by itself; `stoker sweep %s` runs its %u points", path,
             study.count);
}

/* A row by an anchor is a document of its own. */
static struct scenario *load_row(const struct options *options, const char *path)
{
    struct cli *cli = options->cli;
    if (options->anchor == NULL && !anchor_is_of_box(options)) {
        return row_load(options, path);
    }
    struct options as_it_is = *options;
    as_it_is.sets = (struct text_list){.count = 0};
    const struct scenario *row = row_load(&as_it_is, path);
    const struct doc_node *document = row != NULL ? row->document : NULL;
    if (document == NULL || !anchor_put(options, &document, 1)) {
        return NULL;
    }
    const struct catalogue catalogue = options_catalogue(options);
    return scenario_resolve(cli->arena, document, &catalogue, options->sets.items,
                            options->sets.count, cli->diag);
}

struct scenario *predict_load(const struct options *options, const char *path)
{
    struct cli *cli = options->cli;
    if (options->row != NULL) {
        return load_row(options, path);
    }
    if (published_is_table(path)) {
        return row_missing(options, path);
    }
    const struct doc_node *document = anchor_load_document(options, path);
    if (document == NULL) {
        return NULL;
    }
    const struct catalogue catalogue = options_catalogue(options);
    struct auto_layout found;
    const struct auto_hook hook = options_auto_hook(options, &catalogue);
    struct scenario *scenario = auto_layout_resolve(cli->arena, document, &hook, &found, cli->diag);
    if (scenario != NULL && found.is_asked) {
        diag_add(cli->diag, DIAG_NOTE, NULL, "%s", auto_layout_text(cli->arena, &found));
        if (found.left_out != NULL) {
            diag_help(cli->diag, "%s", found.left_out);
        }
    } else if (scenario != NULL) { /* points whose layouts are not found are not counted */
        note_study(options, document, path, &catalogue);
    }
    if (scenario != NULL && !options->any_software) {
        const struct lacks_setting setting = {cli->arena, &catalogue, cli->diag};
        lacks_warn(&setting, scenario);
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
                    const struct predict_way *way, struct result *result)
{
    const struct run_request request = {.folds = options->folds,
                                        .build = stoker_build(),
                                        .jobs = way->jobs,
                                        .finds_path = true,
                                        .deviations_of = way->deviations_of,
                                        .deviations_context = way->context,
                                        .memo = way->memo};
    const double start_s = host_now_s();
    run_predict(options->cli->arena, scenario, &request, result);
    result->mfu_convention = options->mfu_convention;
    result->step.engine.host_s = host_now_s() - start_s;
    result->step.engine.host_peak_bytes = host_peak_bytes();
    if (options->is_verbose) {
        note_solver(options, &result->step.engine);
    }
}

void predict_hold(const struct options *options, const struct band *band, struct result *result)
{
    struct cli *cli = options->cli;
    const struct catalogue catalogue = options_catalogue_again(options);
    result->band = band != NULL ? band : band_find(cli->arena, &catalogue, result, cli->diag);
    result->memory_doubt = memory_doubt_new(cli->arena, &catalogue, result, cli->diag);
}

void predict_alone(const struct options *options, const struct scenario *scenario, bool has_months,
                   struct step_memo *memo, struct result *result)
{
    struct scenario *alone = arena_alloc(options->cli->arena, sizeof *alone);
    *alone = *scenario;
    alone->run_tokens = has_months ? scenario->run_tokens : 0;
    alone->anchor = (struct anchor){.run = "", .scenario = ""};
    predict_result(options, alone, &(struct predict_way){.jobs = 1, .memo = memo}, result);
    predict_hold(options, NULL, result);
}

void predict_rank_assumptions(const struct options *options, struct step_memo *memo,
                              struct result *result)
{
    struct arena *arena = options->cli->arena;
    const struct catalogue catalogue = options_catalogue_again(options);
    struct limits limits;
    const char *reason = NULL;
    if (limits_load(arena, &catalogue, &limits, &reason, options->cli->diag) && limits.range > 0) {
        assumed_rank(arena, &catalogue, limits.range, memo, result);
    }
}

void predict_ask_unsaid(const struct options *options, struct step_memo *memo,
                        struct result *result)
{
    const struct catalogue catalogue = options_catalogue_again(options);
    unsaid_ask(options->cli->arena, &catalogue, memo, result);
}

void predict_check_memory(const struct options *options, const struct scenario *scenario,
                          const struct step_result *step)
{
    const struct catalogue catalogue = options_catalogue_again(options);
    const struct told_setting setting = {options->cli->arena, &catalogue, options->cli->diag};
    told_memory(&setting, scenario->document, step);
}

void predict_tell_room(const struct options *options, const struct scenario *scenario)
{
    const struct study_start start = {.jobs = 1,
                                      .jobs_wanted = 1,
                                      .need_bytes = step_need_bytes(scenario, options->folds),
                                      .label = scenario->title,
                                      .machine_bytes = host_memory_bytes()};
    progress_room(options->cli, &start);
}
