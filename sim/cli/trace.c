/* The command `stoker trace`: a scenario task by task, as others' programs read it. A form is a row
 * of `forms`.
 */
#include "cli/predict.h"
#include "plan/memory/memory_job.h"
#include "report/numbers.h"
#include "report/page.h"
#include "report/trace/chakra.h"
#include "report/trace/run_events.h"
#include "report/trace/step_events.h"
#include "run/history/history_seen.h"
#include "run/power_trace.h"
#include "train/step.h"
#include "train/trace/step_seen.h"

#include "base/arena.h"
#include "cli/draw.h"
#include "input/scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct trace_input {
    struct options options; /* first: shared parsers look here */
    const char *output;     /* NULL, as the next: not given */
    const char *ranks;
    int64_t history; /* of months; 0: not given */
};

static const struct command_option own_options[] = {
    {"output", 'o', "FILE",
     "perfetto: write FILE, packed if it ends in .gz (default: results/NAME.json.gz); "
     "chakra: write FILE.RANK.et and FILE.json (default: results/NAME)",
     OPTION_TEXT(struct trace_input, output)},
    {"ranks", 0, "LIST",
     "all, or numbers and ranges, 0-7,16 (default: the first of each class that cannot be told "
     "apart; chakra: all of them up to 64)",
     OPTION_TEXT(struct trace_input, ranks)},
    {"history", 0, "N",
     "months: which of the run's histories, from 1 (default: that of median length)",
     OPTION_COUNT(struct trace_input, history, 1, 1000000)},
    {0},
};

/* A step, simulated and then once more for its trace. */
struct traced {
    const struct options *options;
    const struct trace_input *input;
    const char *path;
    const struct scenario *scenario;
    struct step_result step;
    struct step_trace trace;
    struct trace_ranks ranks;
};

/* ---- chakra ------------------------------------------------------------------------ */

static const char *megabytes(struct arena *arena, double bytes)
{
    return number_grouped(arena, ceil(bytes / 1e6));
}

static const char *share_of_ranks(const struct traced *traced, uint32_t count)
{
    struct arena *arena = traced->options->cli->arena;
    return arena_printf(arena, "%s of %s ranks", number_grouped(arena, (double)count),
                        number_grouped(arena, (double)traced->trace.ranks));
}

static void say(struct arena *arena, const char *text)
{
    struct page page = {.out = stdout, .arena = arena, .width = page_width(stdout)};
    page_put(&page, text);
    page_end(&page);
}

/* What was written, and whether that is all. */
static void tell_chakra(const struct traced *traced, const struct chakra_written *written,
                        const char *prefix)
{
    struct cli *cli = traced->options->cli;
    const double bytes = (double)written->bytes;
    const uint32_t count = traced->ranks.count;
    const char *of = share_of_ranks(traced, count);
    say(cli->arena, arena_printf(cli->arena, "%s.RANK.et  of %s, %s MB\n%s\n", prefix, of,
                                 megabytes(cli->arena, bytes), written->groups_path));
    if (count < traced->trace.ranks) {
        diag_add(cli->diag, DIAG_NOTE, NULL,
                 "%s were written; each file says for how many it stands (ranks_alike)", of);
        diag_help(cli->diag, "--ranks=all writes some %s MB",
                  megabytes(cli->arena, bytes / count * traced->trace.ranks));
    }
}

static bool write_chakra(struct traced *traced, const struct step_seen *seen)
{
    (void)seen;
    struct cli *cli = traced->options->cli;
    const char *given = traced->input->output;
    const char *prefix = given != NULL ? given : draw_default_base(cli, traced->path);
    struct chakra_written written;
    if (!chakra_write(cli->arena, &traced->trace, &traced->ranks, prefix, &written, cli->diag)) {
        return false;
    }
    tell_chakra(traced, &written, prefix);
    return true;
}

/* ---- perfetto ---------------------------------------------------------------------- */

static void tell_perfetto(const struct traced *traced, const struct step_events_shown *shown,
                          const char *path)
{
    struct cli *cli = traced->options->cli;
    const sim_time end = traced->trace.end;
    say(cli->arena,
        arena_printf(cli->arena,
                     "%s  %s events of %s; open it in ui.perfetto.dev or chrome://tracing\n", path,
                     number_grouped(cli->arena, (double)shown->events),
                     share_of_ranks(traced, shown->ranks)));
    if (shown->ranks < traced->ranks.count) {
        diag_add(cli->diag, DIAG_NOTE, NULL,
                 "%s are shown of those asked for: more than %s events make viewers slow",
                 share_of_ranks(traced, shown->ranks), number_grouped(cli->arena, STEP_EVENTS_MAX));
        diag_help(cli->diag, "--ranks=LIST shows others");
    }
    if (shown->until < end) {
        diag_add(cli->diag, DIAG_NOTE, NULL,
                 "kernels and messages are shown up to %.4g s of the step's %.4g s, actions to its "
                 "end: more than %s events make viewers slow",
                 sim_time_to_s(shown->until), sim_time_to_s(end),
                 number_grouped(cli->arena, STEP_EVENTS_MAX));
    }
}

static const char *default_path(struct cli *cli, const char *path)
{
    return arena_printf(cli->arena, "%s.json.gz", draw_default_base(cli, path));
}

static bool write_perfetto(struct traced *traced, const struct step_seen *seen)
{
    struct cli *cli = traced->options->cli;
    const struct scenario *scenario = traced->scenario;
    const char *given = traced->input->output;
    const char *path = given != NULL ? given : default_path(cli, traced->path);
    const struct memory_job memory = memory_job_of(scenario);
    struct power_trace power;
    power_trace_simulate(cli->arena, scenario, traced->options->folds, &traced->step, &power);
    const struct step_events events = {
        .title = scenario->title,
        .trace = &traced->trace,
        .seen = seen,
        .memory = &memory,
        .power = &power,
        .ranks = traced->ranks,
    };
    struct step_events_shown shown;
    if (!step_events_write(cli->arena, &events, path, &shown, cli->diag)) {
        return false;
    }
    tell_perfetto(traced, &shown, path);
    return true;
}

/* ---- a step ------------------------------------------------------------------------ */

static void tell_jobs(const struct traced *traced)
{
    const long long others = (long long)traced->scenario->neighbour_count;
    if (others > 0) {
        diag_add(traced->options->cli->diag, DIAG_NOTE, NULL,
                 "the first job is traced, as it is with the fabric for itself; jobs: of the "
                 "scenario has %lld more beside it",
                 others);
    }
}

/* Of a step: what a form asks to be seen of it, and which ranks it has unasked. */
struct step_form {
    struct trace_ranks_unasked unasked;
    bool sees;
    bool (*write)(struct traced *traced, const struct step_seen *seen);
};

static int write_step(struct options *options, const char *path, const struct step_form *form)
{
    struct cli *cli = options->cli;
    struct traced traced = {
        .options = options, .input = (const struct trace_input *)options, .path = path};
    if (!options_refuse(options, "history", "a step", "`stoker trace months FILE` has histories")) {
        return EXIT_USAGE;
    }
    traced.scenario = predict_load(options, path);
    if (traced.scenario == NULL) {
        return EXIT_INPUT;
    }
    struct step_seen seen;
    step_simulate(cli->arena, traced.scenario, &(struct step_request){.folds = options->folds},
                  &traced.step);
    const struct step_trace_request request = {options->folds, &traced.step,
                                               form->sees ? &seen : NULL};
    step_trace_simulate(cli->arena, traced.scenario, &request, &traced.trace);
    tell_jobs(&traced);
    if (!trace_ranks_read(cli->arena, &traced.trace, traced.input->ranks, &form->unasked,
                          &traced.ranks, cli->diag)) {
        return EXIT_USAGE;
    }
    if (!form->write(&traced, form->sees ? &seen : NULL)) {
        return EXIT_FAILED;
    }
    predict_check_memory(options, traced.scenario, &traced.step);
    return 0;
}

static int trace_perfetto(struct options *options, const char *path)
{
    static const struct step_form form = {{0, UINT32_MAX}, true, write_perfetto};
    return write_step(options, path, &form);
}

static int trace_chakra(struct options *options, const char *path)
{
    static const struct step_form form = {
        {CHAKRA_RANKS_UNASKED, CHAKRA_RANKS_UNASKED}, false, write_chakra};
    return write_step(options, path, &form);
}

/* ---- months ------------------------------------------------------------------------ */

static void tell_months(struct cli *cli, const struct history_seen *seen,
                        const struct run_events_shown *shown, const char *path)
{
    const sim_time end = seen->outcome.end;
    say(cli->arena,
        arena_printf(cli->arena,
                     "%s  %s events of history %lld of %lld, %.4g days; open it in ui.perfetto.dev "
                     "or chrome://tracing\n",
                     path, number_grouped(cli->arena, (double)shown->events),
                     (long long)seen->number, (long long)seen->histories,
                     sim_time_to_s(end) / SECONDS_PER_DAY));
    if (shown->until < end) {
        diag_add(cli->diag, DIAG_NOTE, NULL,
                 "shown are its first %.4g days: more than %s events make viewers slow",
                 sim_time_to_s(shown->until) / SECONDS_PER_DAY,
                 number_grouped(cli->arena, STEP_EVENTS_MAX));
    }
}

/* Whether there is a history, and the one that was asked for. */
static bool check_months(struct cli *cli, const struct history_seen *seen,
                         const struct scenario *scenario)
{
    if (seen->number == 0) {
        diag_add(cli->diag, DIAG_INPUT, NULL, "%s",
                 scenario->run_tokens > 0 ? "nothing fails in this run, and nothing is planned"
                                          : "this scenario has no run");
        diag_help(cli->diag, "run: {tokens: 1T, failures: true} gives it months to be seen; "
                             "`stoker trace FILE` shows a step");
        return false;
    }
    if (seen->wanted > seen->histories) {
        diag_add(cli->diag, DIAG_USAGE, NULL, "--history %lld: the run has %lld",
                 (long long)seen->wanted, (long long)seen->histories);
        return false;
    }
    return true;
}

static int trace_months(struct options *options, const char *path)
{
    const struct trace_input *input = (const struct trace_input *)options;
    struct cli *cli = options->cli;
    if (!options_refuse(options, "ranks", "months, which are of all ranks", "leave it out")) {
        return EXIT_USAGE;
    }
    const struct scenario *scenario = predict_load(options, path);
    if (scenario == NULL) {
        return EXIT_INPUT;
    }
    struct result result;
    struct history_seen seen = {
        .arena = cli->arena, .most = STEP_EVENTS_MAX, .wanted = input->history};
    const struct run_request request = {.folds = options->folds, .seen = &seen};
    run_predict(cli->arena, scenario, &request, &result);
    predict_check_memory(options, scenario, &result.step);
    if (!result.step.memory.fits) {
        return 0; /* and 4, by the message */
    }
    if (!check_months(cli, &seen, scenario)) {
        return seen.number == 0 ? EXIT_INPUT : EXIT_USAGE;
    }
    const struct run_events events = {scenario->title, &seen};
    struct run_events_shown shown;
    const char *file = input->output != NULL ? input->output : default_path(cli, path);
    if (!run_events_write(cli->arena, &events, file, &shown, cli->diag)) {
        return EXIT_FAILED;
    }
    tell_months(cli, &seen, &shown, file);
    return 0;
}

/* ---- the command ------------------------------------------------------------------- */

/* The first is the one of a FILE alone. */
static const struct form {
    const char *name;
    int (*trace)(struct options *options, const char *path); /* its exit status */
    const char *remedy;                                      /* of --json */
} forms[] = {
    {"perfetto", trace_perfetto, "-o FILE.json is one"},
    {"months", trace_months, "-o FILE.json is one"},
    {"chakra", trace_chakra, "PREFIX.json is its list of groups"},
};
enum { FORM_COUNT = sizeof forms / sizeof *forms };

/* NULL with a message. */
static const struct form *form_of(const char *name, struct cli *cli)
{
    const char *names[FORM_COUNT];
    for (size_t i = 0; i < FORM_COUNT; i++) {
        names[i] = forms[i].name;
        if (strcmp(name, names[i]) == 0) {
            return &forms[i];
        }
    }
    diag_add(cli->diag, DIAG_USAGE, NULL, "there is no form of trace '%s'", name);
    diag_help_nearest(cli->diag, diag_nearest(name, names, FORM_COUNT),
                      "`stoker trace FILE` for Perfetto, `stoker trace months FILE`, "
                      "`stoker trace chakra FILE`");
    return NULL;
}

static int run(struct options *options)
{
    const uint32_t count = options->arguments.count;
    const struct form *form =
        count == 1 ? &forms[0] : form_of(options->arguments.items[0], options->cli);
    if (form == NULL || !options_refuse(options, "json", "a trace", form->remedy)) {
        return EXIT_USAGE;
    }
    return form->trace(options, options->arguments.items[count - 1]);
}

const struct command command_trace = {
    .name = "trace",
    .summary = "a step task by task, or a run's months: for Perfetto; for Chakra's readers",
    .scenarios = SCENARIOS_LAST,
    .arguments = "[perfetto] FILE\nmonths FILE\nchakra FILE",
    .about =
        "Writes a step of a scenario as a trace, or the months of its run.\n"
        "perfetto: trace events, for ui.perfetto.dev and chrome://tracing. Of each rank shown its "
        "kernels by action of the schedule, with FLOPs, bytes, launches and overlap slowdown; what "
        "it waits for, by cause; its transfers, a lane for each stream, with algorithm, protocol "
        "and the link that binds, arrows from each message sent to its arrival, memory; what the "
        "links carry, what the site draws, and the critical path. At most 500,000 events.\n"
        "months: of one history of a run with failures, or with planned stops, in the same form: "
        "training, checkpoints, what failed, detection, waiting, restarts, lost work, regimes; "
        "nodes that are up.\n"
        "chakra: execution traces for ASTRA-sim and others: of each rank what it computes, with "
        "FLOPs, bytes of memory and how long it took, with whom it communicates, how much, and "
        "what waits for what; and the list of groups, so that another simulator may check the "
        "step.\n"
        "What a step waits for loaders and checkpoints is in none of a step."
        "\vExamples: stoker trace scenarios/quickstart.yaml -o step.json.gz\n"
        "stoker trace months scenarios/study-months.yaml -o months.json.gz\n"
        "stoker trace chakra scenarios/quickstart.yaml -o out/step\n"
        "AstraSim_Analytical_Congestion_Aware --workload-configuration=out/step "
        "--comm-group-configuration=out/step.json ...\n"
        "Exit status 4: the plan does not fit into memory; its step is written all the same.",
    .options = {own_options, options_prediction, options_general},
    .arguments_min = 1,
    .arguments_max = 2,
    .wanted = "a scenario file",
    .input_size = sizeof(struct trace_input),
    .run = run,
};
