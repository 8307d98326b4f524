/* What is asked of an anchor is worked out by measured/anchoring; here it is given what rooms
 * beside that one find: layouts that are auto, points of studies, lines of logs.
 */
#include "cli/anchor.h"

#include "base/arena.h"
#include "foreign/import.h"
#include "input/scenario_load.h"
#include "measured/anchoring.h"
#include "study/search/search_auto.h"
#include "study/study.h"

const struct command_option options_anchor[] = {
    {"anchor", 0, "LOG|FILE.csv:ID|TIME",
     "A measured step of your own, by which predictions are corrected: a log that `import` reads, "
     "a row of a table of measured runs, or what the scenario takes as it is, \"4.1 s\"",
     OPTION_TEXT(struct options, anchor)},
    {0},
};

/* ---- what other rooms find ---------------------------------------------------------------- */

struct finder {
    struct cli *cli;
    const struct catalogue *catalogue;
};

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

static const char *log_lines(const void *context, const struct text_file *log, const char *gpu)
{
    const struct finder *finder = context;
    struct importer importer = {.arena = finder->cli->arena,
                                .diag = finder->cli->diag,
                                .catalogue = finder->catalogue,
                                .gpu = gpu,
                                .file = *log,
                                .skip = -1};
    return import_log_lines(&importer);
}

static bool log_step(const void *context, const struct text_file *log, double *step_s,
                     int64_t *batch)
{
    const struct finder *finder = context;
    struct importer importer = {
        .arena = finder->cli->arena, .diag = finder->cli->diag, .file = *log, .skip = -1};
    return !import_log_is_whole(log->text) && import_log_step(&importer, step_s, batch);
}

/* ---- asking ------------------------------------------------------------------------------- */

bool anchor_is_of_box(const struct options *options)
{
    return anchoring_is_of_box(options->sets.items, options->sets.count);
}

bool anchor_put(const struct options *options, const struct doc_node **documents, uint32_t count)
{
    static const struct anchoring_hooks hooks = {resolve,  first_point,    log_lines,
                                                 log_step, study_is_asked, study_sets_of};
    struct cli *cli = options->cli;
    const struct catalogue catalogue = options_catalogue_again(options);
    const struct finder finder = {cli, &catalogue};
    const struct anchoring anchoring = {.arena = cli->arena,
                                        .diag = cli->diag,
                                        .catalogue = &catalogue,
                                        .option = options->anchor,
                                        .sets = options->sets.items,
                                        .set_count = options->sets.count,
                                        .folds = options->folds,
                                        .hooks = &hooks,
                                        .context = &finder};
    return anchoring_put(&anchoring, documents, count);
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
