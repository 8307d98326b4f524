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
#include "cli/builds.h"
#include "cli/lacks.h"
#include "cli/many/room.h"
#include "cli/near.h"
#include "cli/progress.h"
#include "base/version.h"
#include "input/job/token_routing.h"
#include "input/scenario.h"
#include "report/anchor_sheet.h"
#include "report/near.h"
#include "report/points.h"
#include "study/against.h"
#include "study/search/search_auto.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void read_metric(const struct command_option *option, const char *argument, void *input,
                        struct argp_state *state)
{
    if (plot_metric_find(argument) == NULL) {
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
     OPTION_OWN(read_metric, struct session, metrics), .words_of = plot_metrics},
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
    room_tell(((const struct point_progress *)context)->line.cli, start);
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

bool session_run_more(struct session *session, const struct study *study, struct store_row **rows,
                      uint32_t *row_count)
{
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

static struct against_points points_of(const struct session *session)
{
    return (struct against_points){.study = &session->study,
                                   .catalogue = &session->catalogue,
                                   .store = session->store,
                                   .rows = session->rows,
                                   .count = session->row_count,
                                   .diag = session->options.cli->diag,
                                   .have_failed = session->outcome.failed > 0};
}

const struct against *session_against(const struct session *session, const struct store_row *base)
{
    const struct against_points points = points_of(session);
    return against_of(session->options.cli->arena, &points, base);
}

const struct wins *session_wins(const struct session *session, const struct store_row *base,
                                const struct against *against)
{
    const struct against_points points = points_of(session);
    return against_wins(session->options.cli->arena, &points, base, against);
}

/* ---- metrics ------------------------------------------------------------------------ */

bool session_choose_metrics(struct session *session, unsigned usual)
{
    const bool is_asked = session->metrics.count > 0;
    const bool has_runs = points_have_runs(session->rows, session->row_count);
    for (uint32_t i = 0; !is_asked && i < plot_metric_count; i++) {
        const struct figure_metric *metric = &plot_metric_table[i];
        if ((metric->usual & usual) != 0 && (has_runs || !metric->is_of_months)) {
            text_list_add(session->options.cli->arena, &session->metrics, metric->name);
        }
    }
    return is_asked;
}

/* ---- what is said ------------------------------------------------------------------ */

/* Of the first point: where points of several files have anchors of their own, those of the others
 * are in their scenarios. */
static void say_anchor(const struct session *session, struct sheet *sheet)
{
    struct arena *arena = session->options.cli->arena;
    const struct scenario *first = session->study.count > 0
                                       ? study_point_resolve(&session->study.points[0], arena,
                                                             &session->catalogue, diag_new(arena))
                                       : NULL;
    if (first != NULL && first->anchor.is_given) {
        anchor_add(sheet, &first->anchor);
        anchor_say(sheet, &first->anchor);
        sheet_say(sheet, "\n");
    }
}

/* Of points whose models have experts, unless their scenarios say how uneven these are. */
static void say_router(const struct session *session, struct sheet *sheet)
{
    uint32_t even = 0;
    for (uint32_t i = 0; i < session->study.count; i++) {
        even += session->study.points[i].has_even_router;
    }
    if (even > 0 && even == session->study.count) {
        sheet_say(sheet, ROUTING_EVEN_TEXT "\n\n");
    } else if (even > 0) {
        sheet_say(sheet, "of %" PRIu32 " of %" PRIu32 " points: " ROUTING_EVEN_TEXT "\n\n", even,
                  session->study.count);
    }
}

/* What every study says before its points. */
static struct sheet *begin_sheet(const struct session *session, const char *schema)
{
    static const struct field study[] = {
        {"study.key", FIELD_AT(struct study, key)},
        {"study.title", FIELD_AT(struct study, title)},
        {"study.kind", FIELD_AT(struct study, kind)},
        {"counts.points", FIELD_AT(struct study, count)},
    };
    static const struct field outcome[] = {
        {"counts.ok", FIELD_AT(struct study_outcome, ok)},
        {"counts.infeasible", FIELD_AT(struct study_outcome, infeasible)},
        {"counts.failed", FIELD_AT(struct study_outcome, failed)},
        {"counts.reused", FIELD_AT(struct study_outcome, reused)},
    };
    static const struct field builds[] = {
        {"build", FIELD_AT(struct store_build, build)},
        {"runs", FIELD_AT(struct store_build, runs)},
        {"step_change_min", FIELD_AT(struct store_build, change_min)},
        {"step_change_max", FIELD_AT(struct store_build, change_max)},
    };
    struct sheet *sheet = sheet_new(session->options.cli->arena, schema);
    sheet_text(sheet, "version", stoker_version());
    sheet_text(sheet, "build", stoker_build());
    sheet_members(sheet, FIELD_LIST(study), &session->study);
    sheet_members(sheet, FIELD_LIST(outcome), &session->outcome);
    const bool is_shard = session->many.shard.count > 0;
    sheet_text(sheet, "shard",
               is_shard ? shards_text(session->options.cli->arena, session->many.shard) : NULL);
    sheet_rows(sheet_table(sheet, "other_builds", FIELD_LIST(builds)), session->others,
               session->other_count, sizeof *session->others);
    sheet_texts(sheet, "plots", session->paths.items, session->paths.count);
    sheet_say(sheet, "%s\n\n", session->study.title);
    say_router(session, sheet);
    say_anchor(session, sheet);
    return sheet;
}

static void print(struct session *session, const struct session_command *command)
{
    struct sheet *sheet = begin_sheet(session, command->schema);
    if (session->row_count > 0) { /* a shard may have no point */
        command->add(session, sheet);
    }
    for (size_t i = 0; i < session->paths.count; i++) {
        sheet_say(sheet, "%s%s\n", i == 0 ? "\n" : "", session->paths.items[i]);
    }
    options_print(&session->options, sheet);
}

/* Of points that lack memory the one that lacks the least share of it; NULL: none lacks memory. */
static const struct store_row *nearest_of(const struct session *session)
{
    const struct store_row *nearest = NULL;
    for (uint32_t i = 0; i < session->row_count; i++) {
        const struct store_row *row = &session->rows[i];
        const bool lacks = row->has_run && row->memory_peak_bytes > row->memory_limit_bytes;
        if (lacks && (nearest == NULL ||
                      near_over(row->memory_peak_bytes, row->memory_limit_bytes) <
                          near_over(nearest->memory_peak_bytes, nearest->memory_limit_bytes))) {
            nearest = row;
        }
    }
    return nearest;
}

static void tell_none(const struct session *session)
{
    struct cli *cli = session->options.cli;
    if (session->row_count == 0 || diag_exit_status(cli->diag) != 0) { /* somebody said why */
        return;
    }
    const struct store_row *nearest = nearest_of(session);
    const struct store_row *told = nearest != NULL ? nearest : &session->rows[0];
    diag_add(cli->diag, DIAG_INFEASIBLE, NULL, "none of %" PRIu32 " points has a result",
             session->row_count);
    diag_help(
        cli->diag,
        "%s %s: %s; parallel: auto looks for a layout that fits, `stoker search` for the best "
        "one",
        nearest != NULL ? "nearest is" : "the first,", told->label,
        points_reason(cli->arena, told));
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
    tell_none(session);
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

enum { TOLD_LAYOUTS_MAX = 10 };

/* What was auto, of the first points. */
static void tell_layouts(const struct session *session)
{
    struct cli *cli = session->options.cli;
    uint32_t found = 0;
    for (uint32_t i = 0; i < session->study.count; i++) {
        const struct study_point *point = &session->study.points[i];
        if (point->layout != NULL && point->layout->is_found && found++ < TOLD_LAYOUTS_MAX) {
            diag_add(cli->diag, DIAG_NOTE, NULL, "%s: %s", point->label,
                     auto_layout_text(cli->arena, point->layout));
            if (found == 1 && point->layout->left_out != NULL) {
                diag_help(cli->diag, "%s", point->layout->left_out);
            }
        }
    }
    if (found > TOLD_LAYOUTS_MAX) {
        diag_add(cli->diag, DIAG_NOTE, NULL, "and so of %" PRIu32 " other points",
                 found - TOLD_LAYOUTS_MAX);
    }
}

static int run_and_print(struct session *session, const struct session_command *command)
{
    if (!command->expand(session)) {
        leave_no_file(session);
        return EXIT_INPUT;
    }
    tell_layouts(session);
    const bool is_search = strcmp(session->study.kind, "search") == 0; /* it says itself */
    if (!is_search && !session->options.any_software) {
        lacks_warn_points(&session->options, &session->catalogue, &session->study);
    }
    if (!run_study(session, command)) {
        return EXIT_FAILED;
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
