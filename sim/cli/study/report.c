/* The command `stoker report`: stored studies as one file, for who decides and did not run them. */
#include "cli/stored_name.h"

#include "base/arena.h"
#include "base/path.h"
#include "base/version.h"
#include "input/doc/text_source.h"
#include "report/html/html.h"
#include "report/page.h"
#include "report/shard_script.h"
#include "report/study/report_sheet.h"

#include <inttypes.h>
#include <string.h>

#define REPORT_SCHEMA "stoker.report/1"

enum { TEXT_BYTES_MAX = 200000 };

enum report_format { FORMAT_TEXT, FORMAT_HTML, FORMAT_MD, FORMAT_JSON, FORMAT_COUNT_ };

static const char *const format_names[FORMAT_COUNT_] = {"text", "html", "md", "json"};

struct reporter {
    struct options options; /* first: shared parsers look here */
    const char *path;       /* -o; NULL: not given, as the next */
    const char *against;
    uint32_t format;
    int64_t top; /* 0: not given */
    struct text_list axes;
    struct store *store; /* owned */
};

static const struct command_option own_options[] = {
    {"output", 'o', "FILE", "Write there: .html, .md, .txt or .json (default: text on the screen)",
     OPTION_TEXT(struct reporter, path)},
    {"format", 0, "text|html|md|json", "Whatever the file is called (default: by its ending)",
     OPTION_CHOICE(struct reporter, format, format_names, FORMAT_COUNT_)},
    {"against", 0, "LABEL", "Hold the points against this one (default: the first with a result)",
     OPTION_TEXT(struct reporter, against)},
    {"top", 0, "N", "Tell the best N points (default: all up to 40, of more 20)",
     OPTION_COUNT(struct reporter, top, 1, STUDY_POINTS_MAX)},
    {"axis", 0, "KEY=A,B|A..B", "Of a file: what its sweep was given, likewise",
     OPTION_LIST(struct reporter, axes)},
    {0},
};

/* ---- which format ------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);
    return length > end_length && strcmp(text + length - end_length, end) == 0;
}

/* What --format, --json or the file's name says. */
static bool choose_format(struct reporter *reporter)
{
    static const struct {
        const char *ending;
        enum report_format format;
    } endings[] = {{".html", FORMAT_HTML},
                   {".htm", FORMAT_HTML},
                   {".md", FORMAT_MD},
                   {".txt", FORMAT_TEXT},
                   {".json", FORMAT_JSON}};
    struct diag *diag = reporter->options.cli->diag;
    if (reporter->options.is_json) {
        reporter->format = FORMAT_JSON;
        return true;
    }
    if (options_given(&reporter->options, "format") || reporter->path == NULL) {
        return true;
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (ends_with(reporter->path, endings[i].ending)) {
            reporter->format = endings[i].format;
            return true;
        }
    }
    diag_add(diag, DIAG_USAGE, NULL, "-o %s: which format that is, its ending does not say",
             reporter->path);
    diag_help(diag, "end it in .html, .md, .txt or .json, or add --format html");
    return false;
}

/* ---- how to redo it ------------------------------------------------------------------------- */

/* NULL: it cannot be read any more, or is too long to be told. */
static const char *text_of_file(const struct reporter *reporter, const char *path)
{
    struct arena *arena = reporter->options.cli->arena;
    struct diag *own = diag_new(arena);
    struct text_source *source = text_source_open(arena, path, own);
    if (source == NULL) {
        return NULL;
    }
    char *text = arena_array(arena, TEXT_BYTES_MAX + 1, 1);
    size_t length = 0, came = 1;
    bool is_good = true;
    while (is_good && came > 0 && length < TEXT_BYTES_MAX) {
        is_good = text_source_read(source, text + length, TEXT_BYTES_MAX - length, &came, own);
        length += came;
    }
    text_source_close(source);
    return is_good && length < TEXT_BYTES_MAX ? text : NULL;
}

static const char *with_options(const struct reporter *reporter, const char *command)
{
    struct arena *arena = reporter->options.cli->arena;
    const struct text_list *sets = &reporter->options.sets;
    for (uint32_t i = 0; i < reporter->axes.count; i++) {
        command = arena_printf(arena, "%s --axis %s", command,
                               shell_quoted(arena, reporter->axes.items[i]));
    }
    for (uint32_t i = 0; i < sets->count; i++) {
        command = arena_printf(arena, "%s --set %s", command, shell_quoted(arena, sets->items[i]));
    }
    return command;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Of a study that was named by its file: the sweep and the report of it. */
static struct report_redo redo_of_file(const struct reporter *reporter, const char *path)
{
    struct arena *arena = reporter->options.cli->arena;
    const char **commands = arena_array(arena, 2, sizeof *commands);
    const char *quoted = shell_quoted(arena, path);
    commands[0] = with_options(reporter, arena_printf(arena, "stoker sweep %s", quoted));
    commands[1] = with_options(reporter, arena_printf(arena, "stoker report %s", quoted));
    if (reporter->against != NULL) {
        commands[1] = arena_printf(arena, "%s --against %s", commands[1],
                                   shell_quoted(arena, reporter->against));
    }
    if (reporter->path != NULL) {
        commands[1] = arena_printf(arena, "%s -o %s", commands[1],
                                   shell_quoted(arena, file_name(reporter->path)));
    }
    return (struct report_redo){commands, 2, path, text_of_file(reporter, path)};
}

/* Of one that was named by its key: the store has each point's scenario whole, and not the file. */
static struct report_redo redo_of_store(const struct reporter *reporter,
                                        const struct reported *reported)
{
    struct arena *arena = reporter->options.cli->arena;
    const char **commands = arena_array(arena, 2, sizeof *commands);
    commands[0] = "stoker run best.yaml";
    commands[1] = "stoker whatif best.yaml";
    return (struct report_redo){commands, reported->scenario_text != NULL ? 2 : 0,
                                reported->scenario_text != NULL
                                    ? arena_printf(arena,
                                                   "best.yaml: %s, with all that the catalogue had",
                                                   reported->best->row->label)
                                    : NULL,
                                reported->scenario_text};
}

/* ---- the command ---------------------------------------------------------------------------- */

static bool add_study(const struct reporter *reporter, const char *name, struct sheet *studies,
                      const char **title)
{
    const struct options *options = &reporter->options;
    struct cli *cli = options->cli;
    struct stored_studies stored = {.path = options->db_path};
    stored.rows = store_studies(reporter->store, cli->arena, &stored.count);
    const struct stored_name of = {.options = options, .studies = &stored, .axes = &reporter->axes};
    const struct doc_node *document = NULL;
    const struct store_study_row *study = stored_name_find(&of, name, &document);
    if (study == NULL) {
        return false;
    }
    stored_tell(study, study, cli->diag);
    const struct catalogue catalogue = options_catalogue_again(options);
    const struct reported_asked asked = {.store = reporter->store,
                                         .study = study,
                                         .catalogue = &catalogue,
                                         .base = reporter->against,
                                         .most = (uint32_t)reporter->top};
    struct reported reported;
    if (!reported_read(cli->arena, &asked, &reported, cli->diag)) {
        return false;
    }
    const struct report_redo redo =
        stored_is_file(name) ? redo_of_file(reporter, name) : redo_of_store(reporter, &reported);
    report_add(&reported, &redo, sheet_object(studies, NULL));
    *title = *title != NULL ? *title : study->title;
    return true;
}

/* What a file is to hold. */
struct printed {
    const struct reporter *reporter;
    struct sheet *sheet;
    struct html_page page;
};

static bool print(const void *context, FILE *out)
{
    const struct printed *printed = context;
    switch (printed->reporter->format) {
    case FORMAT_HTML:
        html_print(printed->sheet, &printed->page, out);
        break;
    case FORMAT_MD:
        sheet_print_markdown(printed->sheet, out);
        break;
    default:
        sheet_print(printed->sheet, printed->reporter->format == FORMAT_JSON, out);
        break;
    }
    return ferror(out) == 0;
}

static bool write_report(const struct reporter *reporter, struct sheet *sheet, const char *title)
{
    struct cli *cli = reporter->options.cli;
    const struct printed printed = {
        .reporter = reporter,
        .sheet = sheet,
        .page = {.title = title,
                 .foot = arena_printf(cli->arena,
                                      "stoker %s, build %s. One file: it asks no network and no "
                                      "other file for anything.",
                                      stoker_version(), stoker_build())}};
    if (reporter->path == NULL) {
        if (!reporter->options.is_wide) {
            sheet_fit(sheet, page_width(stdout));
        }
        return print(&printed, stdout);
    }
    sheet_fit(sheet, PAGE_WIDTH_USUAL);
    const struct path_content content = {
        .write = print, .context = &printed, .remedy = "name another file with -o"};
    if (!path_write_whole(cli->arena, reporter->path, &content, cli->diag)) {
        return false;
    }
    printf("%s\n", reporter->path);
    return true;
}

static bool check_options(const struct reporter *reporter)
{
    static const char read_again[] =
        "it is told as it was stored: `stoker sweep FILE` with this option makes another one";
    const struct options *options = &reporter->options;
    const bool is_good =
        options_refuse(options, "fold seed", "a stored study", read_again) &&
        (stored_name_has_file(options) ||
         options_refuse(options, "set axis any-software", "a stored study", read_again));
    return (!options->is_json ||
            options_refuse(options, "format", "--json", "--json is --format json")) &&
           is_good;
}

static int report_studies(const struct reporter *reporter)
{
    const struct options *options = &reporter->options;
    struct cli *cli = options->cli;
    struct sheet *sheet = sheet_new(cli->arena, REPORT_SCHEMA);
    struct sheet *studies = sheet_array(sheet, "studies");
    const char *title = NULL;
    for (uint32_t i = 0; i < options->arguments.count; i++) {
        if (!add_study(reporter, options->arguments.items[i], studies, &title)) {
            return EXIT_FAILED;
        }
    }
    return write_report(reporter, sheet, title) ? 0 : EXIT_FAILED;
}

static int run(struct options *options)
{
    struct reporter *reporter = (struct reporter *)options;
    struct cli *cli = options->cli;
    if (!check_options(reporter) || !choose_format(reporter)) {
        return EXIT_USAGE;
    }
    reporter->store = store_open_existing(cli->arena, options->db_path, cli->diag);
    if (reporter->store == NULL) {
        return EXIT_FAILED;
    }
    const int status = report_studies(reporter);
    store_close(reporter->store);
    return status;
}

const struct command command_report = {
    .name = "report",
    .summary = "a stored study as one file to be mailed: the answer first",
    .scenarios = SCENARIOS_ALSO,
    .arguments = "STUDY_KEY|FILE|TITLE|last...",
    .about =
        "Writes what sweep, compare or search have stored as one page that needs nothing else: "
        "which point is best and how sure that is, all of them ranked, where their steps go, what "
        "they hang on, which assumptions they take, from which measured runs their bands are, "
        "what is not modelled, and how to do it again. It simulates nothing. The page sorts its "
        "tables, and is whole without scripts, on paper and on a phone."
        "\vExamples: stoker sweep scenarios/study-fabric-405b.yaml\n"
        "stoker report scenarios/study-fabric-405b.yaml --against '400 Gbps' -o fabric.html\n"
        "stoker report last -o fabric.md\n"
        "A file names the study that it has now, with the same --set and --axis.",
    .options = {own_options, options_prediction, options_store, options_page, options_general},
    .arguments_min = 1,
    .arguments_max = UINT32_MAX,
    .wanted = "a study: the beginning of its key, its file, or last",
    .input_size = sizeof(struct reporter),
    .run = run,
};
