/* The command `stoker search`: the best layout of a space, with a certificate. It searches
 * (study/search/search), then lets the best be predicted and stored as a sweep's points, and prints
 * these.
 *
 * Ctrl-C is held back while it searches and asked for between batches: what was found is kept and
 * printed.
 */
#include "bands/memory_errors.h"
#include "base/arena.h"
#include "base/host.h"
#include "base/version.h"
#include "cli/anchor.h"
#include "cli/progress.h"
#include "cli/study/policies.h"
#include "cli/study/session.h"
#include "report/study/search_sheet.h"
#include "study/lacks.h"
#include "study/search/search_part.h"
#include "study/search/search_software.h"
#include "study/search/search_study.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#define SEARCH_SCHEMA "stoker.search/1"

enum { TOP_DEFAULT = 10, TOP_MAX = 1000 };

struct searcher {
    struct session session;
    uint32_t by; /* enum search_by, or BY_GOODPUT */
    double gap;
    int64_t top;
    struct search_space space;
    const struct search_require *require;      /* of these; NULL: nothing is required */
    const struct memory_errors *memory_errors; /* NULL: near misses are not looked for */
    struct search_result result;
    const struct search_found *chosen; /* the study's points: of the result, then what it lost */
    uint32_t chosen_count;             /* of the result */
    struct progress progress;
    double begin_s, host_s;
    struct search_parts parts;
    const struct doc_node *read;     /* the file, its anchor worked out */
    const struct doc_node *document; /* the same with --set search.x=y */
    const char *write_found;         /* of a shard; NULL: its usual place */
    struct text_list read_found;     /* parts to be joined */
};

/* What layouts are judged by, and what policies are beside it. */
enum { BY_GOODPUT = SEARCH_BY_COUNT_, BY_COUNT };
static const char *const by_names[BY_COUNT] = {"step", "days", "cost", "energy", "goodput"};

static const struct searcher defaults = {.top = TOP_DEFAULT, .session.options.folds = true};

static const struct command_option own_options[] = {
    {"by", 0, "step|days|cost|energy|goodput",
     "What is to be least (default: step; of policies days), or goodput, of policies, most",
     OPTION_CHOICE(struct searcher, by, by_names, BY_COUNT)},
    {"gap", 0, "PERCENT",
     "End when no layout can be better by more than that, as 1% (default: 0, exact)",
     OPTION_QUANTITY(struct searcher, gap, DIM_FRACTION, 0.0, 1.0)},
    {"top", 0, "N",
     "How many of the best are shown (default: 10); stored with those that nothing beats in "
     "both memory and value",
     OPTION_COUNT(struct searcher, top, 1, TOP_MAX)},
    MANY_OPTIONS(struct searcher, session.many,
                 "Only part K of N of the space, counted from 1, for several machines: what it "
                 "finds goes to the file of --write-found, and --read-found of all parts gives "
                 "the best of all",
                 "families of layouts"),
    {"write-found", 0, "FILE",
     "Of a shard: write what it found, for --read-found (default: "
     "results/search-K-of-N.found)",
     OPTION_TEXT(struct searcher, write_found)},
    {"read-found", 0, "FILE",
     "Take parts from what --write-found wrote, and search the others; may be repeated",
     OPTION_LIST(struct searcher, read_found)},
    {0},
};

/* ---- while it runs --------------------------------------------------------------- */

/* A script that runs in the background ignores it, and so does what it starts. */
static bool heeds_interrupts(void)
{
    struct sigaction action;
    return sigaction(SIGINT, NULL, &action) != 0 || action.sa_handler != SIG_IGN;
}

/* While it is held back an ignored one is pending, too. */
static bool is_interrupted(void)
{
    sigset_t pending;
    return heeds_interrupts() && sigpending(&pending) == 0 && sigismember(&pending, SIGINT) == 1;
}

static bool goes_on(void *context, const struct search_state *state)
{
    struct searcher *searcher = context;
    progress_search(&searcher->progress, state);
    return !is_interrupted();
}

static struct search_request request_of(struct searcher *searcher)
{
    return (struct search_request){
        .space = &searcher->space,
        .by = (enum search_by)searcher->by,
        .gap = searcher->gap,
        .near = searcher->memory_errors != NULL ? searcher->memory_errors->near : 0,
        .jobs = (uint32_t)searcher->session.jobs,
        .shard = searcher->session.many.shard,
        .require = searcher->require,
        .folds = searcher->session.options.folds,
        .goes_on = goes_on,
        .context = searcher,
    };
}

/* With Ctrl-C held back; one that came is taken. */
static void search(struct searcher *searcher)
{
    const struct search_request request = request_of(searcher);
    sigset_t interrupt;
    sigset_t before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &before);
    searcher->progress = (struct progress){.cli = searcher->session.options.cli,
                                           .unit = search_by_units[searcher->by]};
    searcher->begin_s = host_now_s();
    if (searcher->parts.count > 0) {
        search_parts_run(searcher->session.options.cli->arena, &searcher->parts, &request,
                         &searcher->result);
    } else {
        search_run(searcher->session.options.cli->arena, &request, &searcher->result);
    }
    searcher->host_s = host_now_s() - searcher->begin_s;
    if (is_interrupted()) {
        int taken = 0;
        sigwait(&interrupt, &taken);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    progress_end(&searcher->progress);
}

/* ---- what can be wrong ----------------------------------------------------------- */

static bool check_judgement(const struct searcher *searcher)
{
    struct diag *diag = searcher->session.options.cli->diag;
    if (searcher->by == BY_GOODPUT) {
        diag_add(diag, DIAG_INPUT, NULL, "--by goodput is of policies, and this searches layouts");
        diag_help(diag, "a policy is a key of the run: search: {run: {checkpoint: {every: "
                        "1 min..60 min}}}");
        return false;
    }
    return search_check(searcher->space.base, (enum search_by)searcher->by, diag);
}

static struct search_part_origin origin_of(struct searcher *searcher)
{
    const struct search_request request = request_of(searcher);
    return (struct search_part_origin){
        stoker_build(), search_part_key(searcher->session.options.cli->arena, &request)};
}

static bool read_parts(struct searcher *searcher)
{
    struct cli *cli = searcher->session.options.cli;
    const struct search_part_origin origin = origin_of(searcher);
    const struct search_parts_files files = {searcher->read_found.items,
                                             searcher->read_found.count};
    return search_parts_read(cli->arena, &files, &origin, &searcher->parts, cli->diag);
}

static bool read_required(struct searcher *searcher)
{
    struct cli *cli = searcher->session.options.cli;
    if (!session_require(&searcher->session, &searcher->document, 1) ||
        !requirements_check_run(&searcher->session.requirements,
                                search_space_has_tokens(&searcher->space), cli->diag)) {
        return false;
    }
    searcher->require = requirements_of_search(&searcher->session.requirements, cli->arena,
                                               search_by_metrics[searcher->by]);
    return true;
}

/* The space, of a scenario whose own layout need not be possible. */
static bool read_space(struct searcher *searcher, struct study_base *study)
{
    struct session *session = &searcher->session;
    const struct options *options = &session->options;
    struct cli *cli = options->cli;
    session->catalogue = options_catalogue(options);
    *study = options_study_base(options, &session->catalogue);
    searcher->memory_errors = memory_errors_open(cli->arena, &session->catalogue, cli->diag);
    if (!search_document(cli->arena, searcher->read, study, &searcher->document, cli->diag)) {
        return false;
    }
    const struct scenario *scenario = search_base(cli->arena, searcher->document, study, cli->diag);
    if (scenario == NULL ||
        !search_space_read(cli->arena, searcher->document, scenario, &searcher->space, cli->diag)) {
        return false;
    }
    if (study->any_software) {
        search_software_lift(&searcher->space);
    }
    return check_judgement(searcher) && read_required(searcher);
}

static struct search_shown shown_of(const struct searcher *searcher)
{
    return (struct search_shown){
        .space = &searcher->space,
        .result = &searcher->result,
        .by = (enum search_by)searcher->by,
        .gap = searcher->gap,
        .host_s = searcher->host_s,
        .is_part = searcher->session.many.shard.count > 0,
        .required = searcher->require != NULL ? searcher->require->text : NULL,
        .memory_errors = searcher->memory_errors,
        .chosen = searcher->chosen,
        .chosen_count = searcher->chosen_count,
        .top = (uint32_t)searcher->top,
    };
}

static bool tell_nothing(const struct searcher *searcher)
{
    const struct search_result *result = &searcher->result;
    struct cli *cli = searcher->session.options.cli;
    const bool is_tried = result->is_ended || result->failure != NULL || result->counts.layouts > 0;
    if (!is_tried && result->lacking.layouts > 0) {
        const struct lacks_setting setting = {cli->arena, &searcher->session.catalogue, cli->diag};
        return lacks_refuse(&setting, searcher->space.base, searcher->document, &result->lacking);
    }
    const struct search_shown shown = shown_of(searcher);
    return search_tell_nothing(cli->arena, &shown, cli->diag);
}

static bool expand(struct session *session)
{
    struct searcher *searcher = (struct searcher *)session;
    const struct options *options = &session->options;
    struct cli *cli = options->cli;
    struct study_base base;
    if (!read_space(searcher, &base) || !read_parts(searcher) || !session_begin(session)) {
        return false;
    }
    search(searcher);
    const struct search_result *result = &searcher->result;
    if (search_first(result) == NULL) {
        return tell_nothing(searcher);
    }
    searcher->chosen =
        search_stored(cli->arena, result, (uint32_t)searcher->top, &searcher->chosen_count);
    const uint32_t count = searcher->chosen_count + result->lost_count;
    if (!search_study(cli->arena, searcher->document, &base, &searcher->space, searcher->chosen,
                      count, &session->study, cli->diag)) {
        return false;
    }
    for (uint32_t i = searcher->chosen_count; i < count; i++) {
        session->study.points[i].failure = result->failure;
    }
    const struct search_request request = request_of(searcher);
    search_study_name(cli->arena, &request, &session->study);
    return true;
}

static void replace_stored(struct session *session)
{
    struct cli *cli = session->options.cli;
    search_study_replace(cli->arena, session->store, &session->study, cli->diag);
}

static void answer(struct session *session, struct sheet *sheet)
{
    const struct search_shown shown = shown_of((const struct searcher *)session);
    const struct against *against = session_against(session, &session->rows[0]);
    const struct shown_points points = session_shown(session, against, USUAL_IN_SWEEP);
    sheet_answer(sheet, search_answer(session->options.cli->arena, &shown, &points));
}

static void add(struct session *session, struct sheet *sheet)
{
    const struct searcher *searcher = (const struct searcher *)session;
    const struct search_shown shown = shown_of(searcher);
    const struct against *against = session_against(session, &session->rows[0]);
    const struct shown_points points = session_shown(session, against, USUAL_IN_SWEEP);
    search_add(&shown, &points, sheet);
    session_add_required(session, against, sheet);
    if (searcher->result.is_ended) {
        diag_add(session->options.cli->diag, DIAG_FAILURE, NULL,
                 "interrupted: what was found until then is kept");
    }
}

/* ---- many machines ----------------------------------------------------------------- */

static int print_script(struct searcher *searcher)
{
    struct options *options = &searcher->session.options;
    struct arena *arena = options->cli->arena;
    struct study_base base;
    if (!options_refuse(options, "shard write-found read-found", "a script",
                        "leave it out: the script has it for each shard")) {
        return EXIT_USAGE;
    }
    if (!read_space(searcher, &base)) {
        return EXIT_INPUT;
    }
    const struct shard_script script = {
        .piece_count = search_family_count(&searcher->space),
        .pieces = "families of layouts",
        .folder = arena_printf(arena, "%s.search-%.8s", options->db_path, origin_of(searcher).key),
        .suffix = ".found",
        .write = "--write-found=",
        .read = "--read-found=",
        .join = "search",
        .join_words = launch_words(options, " slurm parallel jobs "),
    };
    return launch_print(options, &searcher->session.many, &script,
                        " db no-db top plot output metric json ");
}

/* What a shard says: its own certificate. */
static void print_part(const struct searcher *searcher, const char *path)
{
    const struct options *options = &searcher->session.options;
    struct sheet *sheet = sheet_new(options->cli->arena, SEARCH_SCHEMA);
    const char *shard = shards_text(options->cli->arena, searcher->session.many.shard);
    sheet_text(sheet, "version", stoker_version());
    sheet_text(sheet, "build", stoker_build());
    const struct search_shown shown = shown_of(searcher);
    search_add_part(&shown, shard, path, sheet);
    options_print(options, sheet);
}

static int run_shard(struct searcher *searcher)
{
    const struct options *options = &searcher->session.options;
    struct cli *cli = options->cli;
    struct study_base base;
    const struct shard shard = searcher->session.many.shard;
    const char *path =
        searcher->write_found != NULL
            ? searcher->write_found
            : arena_printf(cli->arena, "results/search-%" PRIu32 "-of-%" PRIu32 ".found",
                           shard.number, shard.count);
    if (!read_space(searcher, &base)) {
        return EXIT_INPUT;
    }
    search(searcher);
    if (searcher->result.is_ended) {
        diag_add(cli->diag, DIAG_FAILURE, NULL, "interrupted: a shard is written when it is done");
        return EXIT_FAILED;
    }
    if (diag_has(cli->diag, DIAG_FAILURE)) {
        diag_add(cli->diag, DIAG_NOTE, NULL,
                 "no part is written: it would lack what could not be read; run it again");
        return EXIT_FAILED;
    }
    const struct search_part part = {shard, searcher->result};
    const struct search_part_origin origin = origin_of(searcher);
    if (!search_part_write(cli->arena, &part, &origin, path, cli->diag)) {
        return EXIT_FAILED;
    }
    print_part(searcher, path);
    return searcher->result.counts.failed > 0 ? EXIT_FAILED_POINTS : 0;
}

static bool check_many(const struct searcher *searcher)
{
    const struct options *options = &searcher->session.options;
    if (searcher->session.many.shard.count > 0) {
        return options_refuse(options, "plot size output metric top db no-db read-found",
                              "a shard, which lacks the other layouts",
                              "ask for it where the shards are joined by --read-found");
    }
    return options_refuse(options, "write-found", "a whole search, which stores the best",
                          "add --shard K/N");
}

/* What is required of a layout is none of a policy's. */
static bool check_policies(const struct searcher *searcher, const struct doc_node *document)
{
    const struct options *options = &searcher->session.options;
    const struct doc_node *required = doc_find(document, "require");
    if (required != NULL) {
        diag_add(options->cli->diag, DIAG_NOTE, &required->key_place,
                 "a search of policies does not look at 'require'");
    }
    return options_refuse(options, "require", "a search of policies",
                          "leave it out; `stoker sweep` looks at what is required");
}

/* A policy, whose search this is not: then its status is set. */
static bool is_of_policies(struct searcher *searcher, int *status)
{
    static const enum policy_by kinds[BY_COUNT] = {
        [SEARCH_BY_STEP] = POLICY_BY_COUNT_, [SEARCH_BY_DAYS] = POLICY_BY_DAYS,
        [SEARCH_BY_COST] = POLICY_BY_COST,   [SEARCH_BY_ENERGY] = POLICY_BY_ENERGY,
        [BY_GOODPUT] = POLICY_BY_GOODPUT,
    };
    const struct options *options = &searcher->session.options;
    struct arena *arena = options->cli->arena;
    struct diag *unheard = diag_new(arena); /* whoever reads it next hears of what is wrong */
    struct study_base base = {.sets = options->sets.items, .set_count = options->sets.count};
    const struct doc_node *document = NULL;
    if (!search_document(arena, searcher->read, &base, &document, unheard) ||
        !policy_is_asked(arena, document)) {
        return false;
    }
    if (!check_policies(searcher, document)) {
        *status = EXIT_USAGE;
        return true;
    }
    const bool is_said = options_given(options, "by");
    *status =
        policies_main(&searcher->session, document, is_said ? kinds[searcher->by] : POLICY_BY_DAYS,
                      (uint32_t)searcher->top);
    return true;
}

static int run(struct options *options)
{
    static const struct session_command command = {.schema = SEARCH_SCHEMA,
                                                   .expand = expand,
                                                   .prepare = replace_stored,
                                                   .add = add,
                                                   .answer = answer};
    struct searcher *searcher = (struct searcher *)options;
    int policies_status = 0;
    searcher->read = anchor_load_document(options, options->arguments.items[0]);
    if (searcher->read == NULL) {
        return diag_exit_status(options->cli->diag);
    }
    if (is_of_policies(searcher, &policies_status)) {
        return policies_status;
    }
    if (launch_is_wanted(options)) {
        return print_script(searcher);
    }
    if (!check_many(searcher)) {
        return EXIT_USAGE;
    }
    if (searcher->session.many.shard.count > 0) {
        return run_shard(searcher);
    }
    const int status = session_main(&searcher->session, &command);
    return status == 0 && searcher->result.counts.failed > 0 ? EXIT_FAILED_POINTS : status;
}

const struct command command_search = {
    .name = "search",
    .summary = "the best layout of a space, with a certificate that none is better",
    .scenarios = SCENARIOS_FIRST,
    .arguments = "FILE",
    .about =
        "Looks through all layouts of the scenario's search: (without it all that divide; some "
        "axes, as cp_type, stay unless named, which is said), "
        "leaves out what does not fit into memory and what a lower bound shows to be worse, "
        "simulates the rest best bound first, and ends when nothing left can be better. The "
        "best are stored like points of a sweep. What misses a GPU's memory by less than "
        "predictions of it are off (models/memory.csv) is searched, too, and shown apart where "
        "it would be better. Ctrl-C ends it with what was found. `stoker "
        "help search.parallel` and those of batch, recompute and offload say what it takes. "
        "Where search: names keys of the run, it looks for the best policy instead, of a "
        "layout that stays: how often to write checkpoints, how many spares, waiting or going "
        "on with less (`stoker help search.run`).\v"
        "Examples: stoker search scenarios/quickstart.yaml --gap 1% --set "
        "'search.parallel.pp=[1, 2]'\n"
        "stoker search scenarios/quickstart.yaml --slurm=8 > search.sbatch && sbatch "
        "search.sbatch\n"
        "stoker search scenarios/study-spares.yaml --set search.run.recovery.spares=4..12 "
        "--set 'search.run.checkpoint.every=2 min..60 min'\n"
        "Exit status 1: interrupted; 4: no layout fits; 5: layouts failed, and nothing is "
        "certain of them.",
    .options = {own_options, options_prediction, options_anchor, options_store, options_no_store,
                session_options, requirement_options, options_table, options_page, options_general},
    .arguments_min = 1,
    .arguments_max = 1,
    .wanted = "a scenario file",
    .input_size = sizeof(struct searcher),
    .defaults = &defaults,
    .run = run,
};
