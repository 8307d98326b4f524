/* The command `stoker merge`: it copies the runs and studies of several
 * results files into one.
 */
#include "cli/options.h"

#include "base/arena.h"
#include "report/merge_sheet.h"

#include <sys/stat.h>
#include <unistd.h>

#define MERGE_SCHEMA "stoker.merge/1"

struct merger {
    struct options options;
    bool is_complete_wanted; /* --complete */
};

/* All are opened before the first is read: a name that is wrong leaves everything as it was. */
static bool open_all(const struct options *options, struct store **stores)
{
    struct cli *cli = options->cli;
    bool is_good = true;
    bool goes_on = true; /* of those that are not there all are told; a lock is waited for once */
    for (uint32_t i = 0; goes_on && i < options->arguments.count; i++) {
        struct stat status;
        const bool is_there = stat(options->arguments.items[i], &status) == 0;
        stores[i] = store_open_existing(cli->arena, options->arguments.items[i], cli->diag);
        goes_on = stores[i] != NULL || !is_there;
        is_good = stores[i] != NULL && is_good;
    }
    if (!is_good) {
        diag_add(cli->diag, DIAG_NOTE, NULL,
                 "nothing was merged; of shards, run those that are "
                 "not there once more: the others are not repeated");
    }
    return is_good;
}

static bool merge(const struct merger *merger, struct store *const *stores)
{
    const struct options *options = &merger->options;
    struct cli *cli = options->cli;
    struct stat status;
    const bool is_new = stat(options->db_path, &status) != 0;
    struct store *store = store_open(cli->arena, options->db_path, cli->diag);
    if (store == NULL) {
        return false;
    }
    struct merging merging;
    const bool is_good =
        merging_run(cli->arena, store, stores, options->arguments.count, &merging, cli->diag);
    store_close(store);
    if (!is_good && is_new) {
        unlink(options->db_path); /* it holds nothing */
    }
    if (!is_good) {
        return false;
    }
    struct sheet *sheet = sheet_new(cli->arena, MERGE_SCHEMA);
    merge_add(&merging, options->db_path, sheet);
    options_print(options, sheet);
    merge_tell_incomplete(&merging, options->db_path,
                          merger->is_complete_wanted ? DIAG_FAILURE : DIAG_WARNING, cli->diag);
    return true;
}

static int run(struct options *options)
{
    const struct merger *merger = (const struct merger *)options;
    struct cli *cli = options->cli;
    if (!options_refuse(options, "catalogue", "results that are stored",
                        "each holds the scenario with all that it names")) {
        return EXIT_USAGE;
    }
    struct store **stores = arena_array(cli->arena, options->arguments.count, sizeof *stores);
    const bool is_good = open_all(options, stores) && merge(merger, stores);
    for (uint32_t i = 0; i < options->arguments.count; i++) {
        store_close(stores[i]);
    }
    return is_good ? 0 : EXIT_FAILED;
}

static const struct command_option own_options[] = {
    {"complete", 0, NULL,
     "A study of the files that lacks points, or of which some failed, is an error (status 1); "
     "what "
     "there is is merged all the same",
     OPTION_FLAG(struct merger, is_complete_wanted)},
    {0},
};

const struct command command_merge = {
    .name = "merge",
    .summary = "several results files into one, kept apart by build",
    .arguments = "A.db [B.db...]",
    .about =
        "Adds all that the files hold to the one that --db names, which is made when it is not "
        "there. What both hold must be equal and is kept once, so merging again changes "
        "nothing; what other builds of stoker predicted stands beside it. A point that failed "
        "gives way to one that did not. A study of which shards are missing is told, with the "
        "numbers of its missing points."
        "\vExamples: stoker merge monday.db tuesday.db --db results/stoker.db\n"
        "stoker merge results/stoker-*-of-4.db --complete\n"
        "Exit status 1: a file cannot be read, or holds other values under the same key; or, with "
        "--complete, a study lacks points. Status 3: a file holds values that no stoker wrote. "
        "Then "
        "nothing is merged of any.",
    .options = {own_options, options_store, options_page, options_general},
    .arguments_min = 1,
    .arguments_max = UINT32_MAX,
    .wanted = "a results file to take from",
    .input_size = sizeof(struct merger),
    .run = run,
};
