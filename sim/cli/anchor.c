/* What is asked of an anchor is worked out by measured/anchoring; here it is given what rooms
 * beside that one find: layouts that are auto, points of studies, lines of logs.
 */
#include "cli/anchor.h"

#include "base/arena.h"
#include "foreign/import_kinds.h"
#include "input/scenario_load.h"
#include "measured/anchoring.h"
#include "study/search/search_auto.h"
#include "study/study.h"

const struct command_option options_anchor[] = {
    {"anchor", 0, "LOG|FILE.csv:ID|TIME",
     "A measured step of your own, by which predictions are corrected: a log that `import` reads "
     "(or a folder of such, or -), "
     "a row of a table of measured runs, or what the scenario takes as it is, \"4.1 s\"",
     OPTION_TEXT(struct options, anchor)},
    {0},
};

/* ---- what other rooms find ---------------------------------------------------------------- */

struct finder {
    struct cli *cli;
    const struct catalogue *catalogue;
    struct importer as;        /* how a log is read, but for what follows from the file */
    struct log_stalls *stalls; /* of the log that was read; NULL: nobody asks */
};

static void keep_stalls(const struct finder *finder, const struct importer *importer)
{
    if (finder->stalls != NULL) {
        *finder->stalls = importer->stalls;
    }
}

static const struct scenario *resolve(const void *context, const struct doc_node *document,
                                      const char *const *sets, uint32_t count, struct diag *diag)
{
    const struct finder *finder = context;
    const struct study_base base = {
        .catalogue = finder->catalogue, .sets = sets, .set_count = count, .build = ""};
    struct auto_layout found;
    const struct auto_hook hook = search_auto_hook(&base);
    return auto_layout_resolve(finder->cli->arena, document, &hook, &found, diag);
}

static const struct scenario *first_point(const void *context, const struct doc_node *document,
                                          const char *const *sets, uint32_t count)
{
    const struct finder *finder = context;
    const struct study_base base = {
        .catalogue = finder->catalogue, .sets = sets, .set_count = count, .build = ""};
    return study_first_scenario(finder->cli->arena, document, &base);
}

static struct importer importer_of(const struct finder *finder, const struct text_file *log)
{
    struct importer importer = finder->as;
    importer.arena = finder->cli->arena;
    importer.diag = finder->cli->diag;
    importer.catalogue = finder->catalogue;
    importer.file = *log;
    return importer;
}

/* Who asks about one run has read its log. */
static bool load_log(const void *context, const char *path, struct text_file *log)
{
    const struct finder *finder = context;
    struct importer importer = {.arena = finder->cli->arena, .diag = finder->cli->diag};
    const bool is_good = finder->as.file.text != NULL || import_open_log(&importer, path);
    *log = finder->as.file.text != NULL ? finder->as.file : importer.file;
    return is_good;
}

static const char *log_lines(const void *context, const struct text_file *log, const char *gpu)
{
    const struct finder *finder = context;
    struct importer importer = importer_of(finder, log);
    importer.gpu = importer.gpu != NULL ? importer.gpu : gpu;
    const char *lines = import_log_lines(&importer);
    keep_stalls(finder, &importer);
    return lines;
}

static bool log_step(const void *context, const struct text_file *log, struct anchoring_pace *pace)
{
    struct importer importer = importer_of(context, log);
    struct log_pace read;
    if (!import_log_pace(&importer, &read)) {
        return false;
    }
    keep_stalls(context, &importer);
    *pace = (struct anchoring_pace){read.step_s, read.tokens_per_s_per_gpu, read.batch, read.notes};
    return true;
}

/* ---- asking ------------------------------------------------------------------------------- */

bool anchor_is_of_box(const struct options *options)
{
    return anchoring_is_of_box(options->sets.items, options->sets.count);
}

static const struct anchoring_hooks hooks = {resolve,  first_point,    load_log,     log_lines,
                                             log_step, study_is_asked, study_sets_of};

/* By an option; the finder is the hooks' context. */
static struct anchoring anchoring_by(const struct options *options, const struct finder *finder,
                                     const char *option)
{
    return (struct anchoring){.arena = options->cli->arena,
                              .diag = options->cli->diag,
                              .catalogue = finder->catalogue,
                              .option = option,
                              .sets = options->sets.items,
                              .set_count = options->sets.count,
                              .folds = options->folds,
                              .hooks = &hooks,
                              .context = finder};
}

bool anchor_put(const struct options *options, const struct doc_node **documents, uint32_t count)
{
    const struct catalogue catalogue = options_catalogue_again(options);
    const struct finder finder = {options->cli, &catalogue, {.skip = -1}, NULL};
    const struct anchoring anchoring = anchoring_by(options, &finder, options->anchor);
    return anchoring_put(&anchoring, documents, count);
}

bool anchor_run_of(const struct options *options, const char *what, struct importer *as,
                   const struct doc_node *document, struct anchoring_run *run)
{
    const struct catalogue catalogue = options_catalogue_again(options);
    const struct finder finder = {options->cli, &catalogue, *as, &as->stalls};
    const struct anchoring anchoring = anchoring_by(options, &finder, what);
    return anchoring_run_of(&anchoring, document, run);
}

struct doc_node *anchor_load_document(const struct options *options, const char *path)
{
    struct cli *cli = options->cli;
    struct doc_node *document = scenario_load_document(cli->arena, path, cli->diag);
    if (document == NULL) {
        return NULL;
    }
    const struct doc_node *anchored = document;
    return anchor_put(options, &anchored, 1) ? doc_copy(cli->arena, anchored) : NULL;
}
