/* The command `stoker merge`: it copies the runs and studies of several
 * results files into one.
 */
#include "cli/builds.h"
#include "cli/options.h"

#include "base/arena.h"
#include "report/sheet.h"

#include <inttypes.h>

#define MERGE_SCHEMA "stoker.merge/1"

/* What a results file holds. */
struct content {
    const struct store_build *builds;
    uint32_t build_count, study_count;
    int64_t runs;
};

static struct content content_of(struct store *store, struct arena *arena)
{
    struct content content = {.runs = 0};
    content.builds = store_builds(store, arena, &content.build_count);
    for (uint32_t i = 0; i < content.build_count; i++) {
        content.runs += content.builds[i].runs;
    }
    (void)store_studies(store, arena, &content.study_count);
    return content;
}

/* All are opened before the first is read: a name that is wrong leaves everything as it was. */
static bool open_all(const struct options *options, struct store **stores)
{
    struct cli *cli = options->cli;
    bool is_good = true;
    for (uint32_t i = 0; i < options->arguments.count; i++) {
        stores[i] = store_open_existing(cli->arena, options->arguments.items[i], cli->diag);
        is_good = stores[i] != NULL && is_good;
    }
    return is_good;
}

static void print(const struct options *options, const struct content *before,
                  const struct content *after)
{
    static const struct field builds[] = {
        {"build", FIELD_AT(struct store_build, build)},
        {"runs", FIELD_AT(struct store_build, runs)},
    };
    const int64_t runs_new = after->runs - before->runs;
    const int64_t studies_new = (int64_t)after->study_count - before->study_count;
    struct sheet *sheet = sheet_new(options->cli->arena, MERGE_SCHEMA);
    sheet_text(sheet, "db", options->db_path);
    sheet_integer(sheet, "runs", after->runs);
    sheet_integer(sheet, "runs_new", runs_new);
    sheet_integer(sheet, "studies", after->study_count);
    sheet_integer(sheet, "studies_new", studies_new);
    sheet_rows(sheet_table(sheet, "builds", FIELD_LIST(builds)), after->builds, after->build_count,
               sizeof *after->builds);
    sheet_say(sheet,
              "%s: %" PRId64 " runs (%" PRId64 " new), %" PRIu32 " studies (%" PRId64 " new)\n%s\n",
              options->db_path, after->runs, runs_new, after->study_count, studies_new,
              builds_text(options->cli->arena, after->builds, after->build_count));
    sheet_print(sheet, options->is_json, stdout);
}

static bool merge(const struct options *options, struct store *const *stores)
{
    struct cli *cli = options->cli;
    struct store *store = store_open(cli->arena, options->db_path, cli->diag);
    if (store == NULL) {
        return false;
    }
    const struct content before = content_of(store, cli->arena);
    bool is_good = !diag_has_error(cli->diag);
    for (uint32_t i = 0; is_good && i < options->arguments.count; i++) {
        is_good = store_merge(store, stores[i], cli->diag);
        if (!is_good) {
            diag_help(cli->diag, "it was met in %s", options->arguments.items[i]);
        }
    }
    const struct content after = content_of(store, cli->arena);
    store_close(store);
    if (!is_good || diag_has_error(cli->diag)) {
        return false;
    }
    print(options, &before, &after);
    return true;
}

static int run(struct options *options)
{
    struct cli *cli = options->cli;
    if (!options_refuse(options, "catalogue", "results that are stored",
                        "each holds the scenario with all that it names")) {
        return EXIT_USAGE;
    }
    struct store **stores = arena_array(cli->arena, options->arguments.count, sizeof *stores);
    const bool is_good = open_all(options, stores) && merge(options, stores);
    for (uint32_t i = 0; i < options->arguments.count; i++) {
        store_close(stores[i]);
    }
    return is_good ? 0 : EXIT_FAILED;
}

const struct command command_merge = {
    .name = "merge",
    .summary = "several results files into one, kept apart by build",
    .arguments = "A.db [B.db...]",
    .about =
        "Adds all that the files hold to the one that --db names, which is made when it is not "
        "there. What both hold must be equal and is kept once, so merging again changes "
        "nothing; what other builds of stoker predicted stands beside it. A point that failed "
        "gives way to one that did not."
        "\vExample: stoker merge monday.db tuesday.db --db results/stoker.db\n"
        "Exit status 1: a file cannot be read, or holds other values under the same key.",
    .options = {options_store, options_general},
    .arguments_min = 1,
    .arguments_max = UINT32_MAX,
    .wanted = "a results file to take from",
    .run = run,
};
