/* The part of a study that does not depend on the command: the options are
 * checked, the points are expanded and run, the results are read back from the
 * store and drawn. `sweep` and `compare` differ only in what they print at the
 * end.
 */
#include "cli/study/session.h"

#include "base/arena.h"
#include "base/host.h"
#include "base/units.h"
#include "base/workers.h"
#include "report/builds.h"
#include "cli/progress.h"
#include "base/version.h"
#include "report/study/study_sheet.h"
#include "bands/memory_errors.h"
#include "study/lacks.h"
#include "report/points.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void read_metric(const struct command_option *option, const char *argument, void *input,
                        struct argp_state *state)
{
    if (store_metric_find(argument) == NULL) {
        argp_error(state, "there is no metric '%s'; `stoker list metrics` names them", argument);
    }
    option_list(option, argument, input, state);
}

const struct command_option session_options[] = {
    {"jobs", 'j', "N",
     "Processes that predict (default: as many as there are cores); what is stored is the same",
     OPTION_COUNT(struct session, jobs, 1, WORKERS_MAX)},
    {"metric", 0, "NAME",
     "Show this metric in place of the usual columns (`stoker list metrics`); may be repeated; "
     "the best point of a sweep is that of the first",
     OPTION_OWN(read_metric, struct session, metrics), .words_of = store_metric_names},
    {"plot", 0, "KIND[:METRIC]",
     "Draw one of %s; those that show a metric, of that (default mfu, or tokens/s of a GPU where "
     "peaks differ); may be repeated",
     OPTION_LIST(struct session, plots), .words_of = plot_kinds, .subject = draw_kinds},
    DRAW_SIZE_OPTION(struct session),
    {"output", 'o', "BASE",
     "Plots go to BASE.svg, .png, .csv and .gp; with several plots, BASE-KIND-METRIC",
     OPTION_TEXT(struct session, path_base)},
    {0},
};

const struct command_option requirement_options[] = {
    {"require", 0, "METRIC<=VALUE",
     "Points must have at most this, or with >= at least (gpus, or one of `stoker list metrics`): "
     "--require 'days<=60' --require 'cost_usd<=2M USD'; those that miss are listed later; may be "
     "repeated, and holds beside require: in the file",
     OPTION_LIST(struct session, require)},
    {0},
};

/* ---- plots ---------------------------------------------------------------------- */

static bool parse_wishes(struct session *session, struct draw_wish *wishes)
{
    struct cli *cli = session->options.cli;
    bool is_good = true;
    for (uint32_t i = 0; i < session->plots.count; i++) {
        is_good = draw_parse(cli, session->plots.items[i], &wishes[i]) && is_good;
    }
    const bool is_alone = session->plots.count == 1 && session->path_base != NULL;
    const char *base = session->path_base != NULL
                           ? session->path_base
                           : draw_default_base(cli, session->options.arguments.items[0]);
    for (uint32_t i = 0; is_good && i < session->plots.count; i++) {
        wishes[i].size = session->size;
        wishes[i].path_base =
            is_alone ? base : arena_printf(cli->arena, "%s-%s", base, draw_suffix(cli, &wishes[i]));
    }
    return is_good;
}

static void draw_wishes(struct session *session)
{
    const struct plot_series rows = {.title = session->study.title,
                                     .rows = session->rows,
                                     .count = session->row_count,
                                     .misses = session->misses};
    const struct plot_series *series = session->series != NULL ? session->series : &rows;
    for (uint32_t i = 0; i < session->plots.count; i++) {
        const bool is_best =
            session->best_series != NULL && strcmp(session->wishes[i].kind, "best") == 0;
        session->wishes[i].limits = session->limits;
        session->wishes[i].limit_count = session->limit_count;
        const bool is_drawn = draw(session->options.cli, &session->wishes[i],
                                   is_best ? session->best_series : series, 1, &session->paths);
        (void)is_drawn; /* the diag holds what is missing */
    }
}

/* ---- running ---------------------------------------------------------------------- */

struct point_progress {
    struct progress line;
    uint32_t infeasible, reused;
    double begin_s; /* of the command */
};

static double points_per_s(const struct point_progress *progress, uint32_t done)
{
    const double passed_s = host_now_s() - progress->begin_s;
    return passed_s > 0 ? (double)(done - progress->reused) / passed_s : 0;
}

static void show_progress(void *context, uint32_t done, uint32_t count, const char *label,
                          enum point_status status, bool was_stored)
{
    struct point_progress *progress = context;
    (void)label;
    progress->infeasible += status == POINT_INFEASIBLE;
    progress->reused += was_stored;
    if (done < count && !progress_is_due(&progress->line)) { /* there may be thousands a second */
        return;
    }
    const double per_s = points_per_s(progress, done);
    char left[32] = "";
    char pace[64] = "";
    if (per_s > 0) {
        units_format_duration((double)(count - done) / per_s, left, sizeof left);
        snprintf(pace, sizeof pace, ", %.*f/s, %s left", per_s < 10 ? 1 : 0, per_s, left);
    }
    char text[160] = "";
    snprintf(text, sizeof text, "%" PRIu32 " of %" PRIu32 " points, %" PRIu32 " infeasible%s", done,
             count, progress->infeasible, pace);
    progress_show(done < count ? text : "");
}

static void tell_room(void *context, const struct study_start *start)
{
    progress_room(((const struct point_progress *)context)->line.cli, start);
}

/* Most files hold the runs of one build: then there is nothing to look for. */
static void find_other_builds(struct session *session, struct store *store)
{
    struct cli *cli = session->options.cli;
    uint32_t builds = 0;
    (void)store_builds(store, cli->arena, &builds);
    if (builds > 1) {
        session->others =
            store_other_builds(store, cli->arena, session->study.key, &session->other_count);
        builds_note(cli->diag, session->others, session->other_count);
    }
}

static bool run_points(struct session *session, const struct study *study,
                       struct study_outcome *outcome)
{
    struct cli *cli = session->options.cli;
    struct point_progress progress = {.line.cli = cli, .begin_s = host_now_s()};
    const bool shows = progress_is_shown(cli);
    const struct study_request request = {
        .catalogue = &session->catalogue,
        .build = stoker_build(),
        .folds = session->options.folds,
        .jobs = (uint32_t)session->jobs,
        .shard = session->many.shard,
        .on_point = shows ? show_progress : NULL,
        .on_start = tell_room,
        .context = &progress,
    };
    return study_run(study, &request, session->store, outcome, cli->diag);
}

static bool run_in_store(struct session *session)
{
    struct cli *cli = session->options.cli;
    if (!run_points(session, &session->study, &session->outcome)) {
        return false;
    }
    session->rows =
        store_points(session->store, cli->arena, session->study.key, &session->row_count);
    find_other_builds(session, session->store);
    return !diag_has_error(cli->diag);
}

bool session_run_more(void *context, const struct study *study, struct store_row **rows,
                      uint32_t *row_count)
{
    struct session *session = context;
    struct cli *cli = session->options.cli;
    struct study_outcome outcome;
    if (!run_points(session, study, &outcome)) {
        return false;
    }
    *rows = store_points(session->store, cli->arena, study->key, row_count);
    return !diag_has_error(cli->diag);
}

bool session_begin(struct session *session)
{
    struct cli *cli = session->options.cli;
    if (session->store != NULL) {
        return true;
    }
    session->wishes = arena_array(cli->arena, session->plots.count, sizeof *session->wishes);
    if (!parse_wishes(session, session->wishes)) {
        return false;
    }
    const struct options *options = &session->options;
    session->is_new_file = !options->forgets && access(options->db_path, F_OK) != 0;
    session->store = options->forgets ? store_open_in_memory(cli->arena, cli->diag)
                                      : store_open(cli->arena, options->db_path, cli->diag);
    return session->store != NULL && store_check_writable(session->store, cli->diag);
}

/* False, with the reason in the diag, when the store fails or a wish is wrong. */
static bool run_study(struct session *session, const struct session_command *command)
{
    if (!session_begin(session) || !run_in_store(session)) {
        return false;
    }
    if (command->prepare != NULL) {
        command->prepare(session);
    }
    draw_wishes(session);
    return true;
}

struct against_points session_points(const struct session *session)
{
    return (struct against_points){.study = &session->study,
                                   .catalogue = &session->catalogue,
                                   .store = session->store,
                                   .rows = session->rows,
                                   .count = session->row_count,
                                   .diag = session->options.cli->diag,
                                   .have_failed = session->outcome.failed > 0};
}

const struct against *session_against(struct session *session, const struct store_row *base)
{
    if (session->against == NULL || session->against_base != base) {
        const struct against_points points = session_points(session);
        session->against = against_of(session->options.cli->arena, &points, base);
        session->against_base = base;
    }
    return session->against;
}

const struct wins *session_wins(const struct session *session, const struct store_row *base,
                                const struct against *against)
{
    const struct against_points points = session_points(session);
    return against_wins(session->options.cli->arena, &points, base, against);
}

/* ---- what is required --------------------------------------------------------------- */

bool session_require(struct session *session, const struct doc_node *const *documents,
                     uint32_t count)
{
    struct cli *cli = session->options.cli;
    const struct requirements_asked asked = {documents, count, session->require.items,
                                             session->require.count};
    return requirements_read(cli->arena, &asked, &session->requirements, cli->diag);
}

void session_prepare_required(struct session *session)
{
    struct arena *arena = session->options.cli->arena;
    session->limits = required_limits(&session->requirements, arena);
    session->limit_count = session->requirements.count;
    session->misses =
        requirements_misses(&session->requirements, session->rows, session->row_count, arena);
}

void session_add_required(const struct session *session, const struct against *against,
                          struct sheet *sheet)
{
    const struct against_rows all = {session->rows, against, session->row_count};
    const struct near_points lacking = near_points_of(session->options.cli->arena, &session->study,
                                                      session->rows, session->row_count);
    session_add_required_of(session, &all, &lacking, sheet);
}

void session_add_required_of(const struct session *session, const struct against_rows *of,
                             const struct near_points *lacking, struct sheet *sheet)
{
    struct cli *cli = session->options.cli;
    struct required required = {
        .requirements = &session->requirements,
        .points = of,
        .judge = session->metrics.count > 0 ? store_metric_find(session->metrics.items[0]) : NULL,
        .have_failed = session->outcome.failed > 0,
        .diag = cli->diag,
    };
    if (session->requirements.count > 0 && lacking->count > 0 &&
        requirements_first_met(&session->requirements, of->rows, of->count) == NULL) {
        required.errors = memory_errors_open(cli->arena, &session->catalogue, cli->diag);
        const struct near_setting setting = {&session->catalogue, required.errors,
                                             session->options.folds};
        required.near = near_points_predict(cli->arena, &setting, lacking);
    }
    required_add(&required, sheet);
}

/* ---- metrics ------------------------------------------------------------------------ */

struct shown_points session_shown(const struct session *session, const struct against *against,
                                  unsigned usual)
{
    struct arena *arena = session->options.cli->arena;
    const struct text_list *names = &session->metrics;
    return (struct shown_points){
        .study = &session->study,
        .requirements = &session->requirements,
        .of = {session->rows, against, session->row_count},
        .columns = names->count > 0
                       ? points_columns_named(arena, names->items, names->count)
                       : points_columns_usual(arena, usual, session->rows, session->row_count),
    };
}

/* ---- what is said ------------------------------------------------------------------ */

static void print(struct session *session, const struct session_command *command)
{
    struct arena *arena = session->options.cli->arena;
    struct sheet *sheet = sheet_new(arena, command->schema);
    const bool is_shard = session->many.shard.count > 0;
    const struct study_first first = study_first(arena, &session->study, &session->catalogue);
    const struct study_head head = {
        .study = &session->study,
        .outcome = &session->outcome,
        .shard = is_shard ? shards_text(arena, session->many.shard) : NULL,
        .others = session->others,
        .other_count = session->other_count,
        .plots = session->paths.items,
        .plot_count = session->paths.count,
        .anchor = first.anchor,
        .house = first.house,
    };
    study_add_head(&head, sheet);
    if (command->answer != NULL && session->row_count > 0) {
        command->answer(session, sheet);
    }
    study_add_notes(&head, sheet);
    if (session->row_count > 0) { /* a shard may have no point */
        command->add(session, sheet);
    }
    for (size_t i = 0; i < session->paths.count; i++) {
        sheet_say(sheet, "%s%s\n", i == 0 ? "\n" : "", session->paths.items[i]);
    }
    options_print(&session->options, sheet);
}

/* The summary, and the exit status. */
static int finish(const struct session *session)
{
    const struct study_outcome *outcome = &session->outcome;
    const bool is_shard = session->many.shard.count > 0;
    if (!session->options.cli->is_quiet) {
        fflush(stdout); /* the summary below the table, also where both go to one file */
        fprintf(stderr,
                "%" PRIu32 "%s points: %" PRIu32 " ok, %" PRIu32 " infeasible, %" PRIu32
                " failed (%" PRIu32 " reused)\n",
                outcome->wanted,
                is_shard ? arena_printf(session->options.cli->arena, " of %" PRIu32,
                                        session->study.count)
                         : "",
                outcome->ok, outcome->infeasible, outcome->failed, outcome->reused);
    }
    if (outcome->failed > 0) {
        return EXIT_FAILED_POINTS;
    }
    if (outcome->ok > 0 || is_shard) { /* in other shards some may fit */
        return 0;
    }
    struct cli *cli = session->options.cli;
    if (session->row_count > 0 && diag_exit_status(cli->diag) == 0) { /* else somebody said why */
        study_tell_none(cli->arena, session->rows, session->row_count, cli->diag);
    }
    return EXIT_INFEASIBLE;
}

static bool check_options(const struct session *session)
{
    const struct options *options = &session->options;
    const bool is_good =
        session->plots.count > 0 || options_refuse(options, "output size", "a study without plots",
                                                   "add --plot KIND, or leave it out");
    return (session->metrics.count == 0 || !options->is_json ||
            options_refuse(options, "metric", "--json", "the document has every metric")) &&
           is_good;
}

/* A file that holds nothing, of points that were never found, would only look like one. */
static void leave_no_file(struct session *session)
{
    if (session->store != NULL && session->is_new_file) {
        store_close(session->store);
        session->store = NULL;
        unlink(session->options.db_path);
    }
}

static int run_and_print(struct session *session, const struct session_command *command)
{
    if (!command->expand(session)) {
        leave_no_file(session);
        return EXIT_INPUT;
    }
    struct cli *cli = session->options.cli;
    study_tell_layouts(cli->arena, &session->study, cli->diag);
    const bool is_search = strcmp(session->study.kind, "search") == 0; /* it says itself */
    if (!is_search && !session->options.any_software) {
        const struct lacks_setting setting = {cli->arena, &session->catalogue, cli->diag};
        lacks_warn_points(&setting, &session->study);
    }
    if (!run_study(session, command)) {
        return EXIT_FAILED;
    }
    if (command->instead != NULL && command->instead(session)) {
        return diag_exit_status(cli->diag);
    }
    print(session, command);
    return finish(session);
}

int session_main(struct session *session, const struct session_command *command)
{
    if (!check_options(session)) {
        return EXIT_USAGE;
    }
    const int status = run_and_print(session, command);
    store_close(session->store);
    session->store = NULL;
    return status;
}
