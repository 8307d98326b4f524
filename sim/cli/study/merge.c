/* The command `stoker merge`: it copies the runs and studies of several
 * results files into one.
 */
#include "cli/builds.h"
#include "cli/options.h"

#include "base/arena.h"
#include "report/sheet.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MERGE_SCHEMA "stoker.merge/1"

struct merger {
    struct options options;
    bool is_complete_wanted; /* --complete */
};

/* What a results file holds. */
struct content {
    const struct store_build *builds;
    const struct store_study_row *studies;
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
    content.studies = store_studies(store, arena, &content.study_count);
    return content;
}

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

/* ---- studies that lack points -------------------------------------------------------------- */

enum { RANGES_MAX = 8 };

/* A study that was merged, without all its points. */
struct incomplete {
    const struct store_study_row *study;
    const char *key, *title, *build;
    int64_t point_count, missing, failed;
    const char *numbers; /* of the missing and the failed: "3, 7 to 9", from 0 */
};

/* "3, 7 to 9, 12 and more": those from 0 to count - 1 that are not in the rising list. */
static const char *gaps_text(struct arena *arena, const int64_t *numbers, uint32_t number_count,
                             int64_t count)
{
    const char *text = "";
    int64_t next = 0;
    uint32_t ranges = 0;
    for (uint32_t i = 0; i <= number_count; i++) {
        const int64_t end = i < number_count ? numbers[i] : count;
        if (end > next && ranges++ == RANGES_MAX) {
            return arena_printf(arena, "%s and more", text);
        }
        const char *comma = ranges > 1 ? ", " : "";
        if (end == next + 1) {
            text = arena_printf(arena, "%s%s%" PRId64, text, comma, next);
        } else if (end > next) {
            text = arena_printf(arena, "%s%s%" PRId64 " to %" PRId64, text, comma, next, end - 1);
        }
        next = end + 1;
    }
    return text;
}

static bool holds_study(const struct content *content, const char *key)
{
    for (uint32_t i = 0; i < content->study_count; i++) {
        if (strcmp(content->studies[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

/* Of the studies that one of the files held, those that lack points now. */
static const struct incomplete *find_incomplete(struct arena *arena, struct store *store,
                                                const struct content *given,
                                                const struct content *after, uint32_t *count)
{
    struct incomplete *found = arena_array(arena, after->study_count + 1u, sizeof *found);
    *count = 0;
    for (uint32_t i = 0; i < after->study_count; i++) {
        const struct store_study_row *study = &after->studies[i];
        const int64_t missing = study->point_count - study->points;
        if ((missing == 0 && study->failed == 0) || !holds_study(given, study->key)) {
            continue;
        }
        uint32_t number_count = 0;
        const int64_t *numbers = store_point_numbers(store, arena, study->key, &number_count);
        found[(*count)++] = (struct incomplete){
            .study = study,
            .key = study->key,
            .title = study->title,
            .build = study->build,
            .point_count = study->point_count,
            .missing = missing,
            .failed = study->failed,
            .numbers = gaps_text(arena, numbers, number_count, study->point_count),
        };
    }
    return found;
}

/* Another incomplete one of the same name: shards that were meant to be of one study. */
static const struct store_study_row *find_namesake(const struct incomplete *all, uint32_t count,
                                                   uint32_t number)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i != number && strcmp(all[i].title, all[number].title) == 0) {
            return all[i].study;
        }
    }
    return NULL;
}

static void tell_incomplete(const struct merger *merger, const struct incomplete *all,
                            uint32_t count)
{
    const struct options *options = &merger->options;
    struct diag *diag = options->cli->diag;
    const enum diag_kind kind = merger->is_complete_wanted ? DIAG_FAILURE : DIAG_WARNING;
    for (uint32_t i = 0; i < count; i++) {
        const struct incomplete *study = &all[i];
        diag_add(diag, kind, NULL,
                 "of the %" PRId64 " points of study %s '%s' %" PRId64 " are missing and %" PRId64
                 " failed: numbers %s",
                 study->point_count, study->key, study->title, study->missing, study->failed,
                 study->numbers);
        const struct store_study_row *namesake = find_namesake(all, count, i);
        if (namesake == NULL) {
            diag_help(diag,
                      "run the shards that lack, and merge again; or `stoker sweep FILE "
                      "--db %s`, which runs what is not there",
                      options->db_path);
        } else if (strcmp(namesake->build, study->build) != 0) {
            diag_help(diag,
                      "study %s is of that title, too, by another version of stoker (sources "
                      "%.8s, this one %.8s): run all shards with one",
                      namesake->key, namesake->build, study->build);
        } else {
            diag_help(diag,
                      "study %s is of that title, too: its scenario, --set or catalogue "
                      "differs; run all shards with the same",
                      namesake->key);
        }
    }
}

/* What was merged. */
struct merging {
    struct content given;  /* its studies, of all files */
    struct content before; /* in the results file */
    struct content after;
    const struct incomplete *incomplete;
    uint32_t incomplete_count;
};

static void print(const struct options *options, const struct merging *merging)
{
    static const struct field incomplete[] = {
        {"study", FIELD_AT(struct incomplete, key)},
        {"title", FIELD_AT(struct incomplete, title)},
        {"build", FIELD_AT(struct incomplete, build)},
        {"points", FIELD_AT(struct incomplete, point_count)},
        {"missing", FIELD_AT(struct incomplete, missing)},
        {"failed", FIELD_AT(struct incomplete, failed)},
        {"numbers", FIELD_AT(struct incomplete, numbers)},
    };
    static const struct field builds[] = {
        {"build", FIELD_AT(struct store_build, build)},
        {"runs", FIELD_AT(struct store_build, runs)},
    };
    const struct content *before = &merging->before;
    const struct content *after = &merging->after;
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
    sheet_rows(sheet_table(sheet, "incomplete", FIELD_LIST(incomplete)), merging->incomplete,
               merging->incomplete_count, sizeof *merging->incomplete);
    sheet_say(sheet,
              "%s: %" PRId64 " runs (%" PRId64 " new), %" PRIu32 " studies (%" PRId64 " new)\n%s\n",
              options->db_path, after->runs, runs_new, after->study_count, studies_new,
              builds_text(options->cli->arena, after->builds, after->build_count));
    sheet_print(sheet, options->is_json, stdout);
}

/* Adds the studies of a file to those that were given. */
static void add_given(struct arena *arena, struct content *given, struct store *from)
{
    const struct content content = content_of(from, arena);
    struct store_study_row *studies =
        arena_array(arena, (size_t)given->study_count + content.study_count, sizeof *studies);
    uint32_t count = 0;
    for (uint32_t i = 0; i < given->study_count; i++) {
        studies[count++] = given->studies[i];
    }
    for (uint32_t i = 0; i < content.study_count; i++) {
        studies[count++] = content.studies[i];
    }
    given->studies = studies;
    given->study_count = count;
}

static bool merge_all(const struct options *options, struct store *const *stores,
                      struct store *store, struct merging *merging)
{
    struct cli *cli = options->cli;
    merging->before = content_of(store, cli->arena);
    bool is_good = !diag_has_error(cli->diag);
    for (uint32_t i = 0; is_good && i < options->arguments.count; i++) {
        add_given(cli->arena, &merging->given, stores[i]);
        is_good = !diag_has_error(cli->diag);
    }
    is_good = is_good && store_merge(store, stores, options->arguments.count, cli->diag);
    if (!is_good) {
        return false;
    }
    merging->after = content_of(store, cli->arena);
    merging->incomplete = find_incomplete(cli->arena, store, &merging->given, &merging->after,
                                          &merging->incomplete_count);
    return !diag_has_error(cli->diag);
}

static bool merge(const struct merger *merger, struct store *const *stores)
{
    const struct options *options = &merger->options;
    struct stat status;
    const bool is_new = stat(options->db_path, &status) != 0;
    struct store *store = store_open(options->cli->arena, options->db_path, options->cli->diag);
    if (store == NULL) {
        return false;
    }
    struct merging merging = {.incomplete = NULL};
    const bool is_good = merge_all(options, stores, store, &merging);
    store_close(store);
    if (!is_good && is_new) {
        unlink(options->db_path); /* it holds nothing */
    }
    if (!is_good) {
        return false;
    }
    print(options, &merging);
    tell_incomplete(merger, merging.incomplete, merging.incomplete_count);
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
    .options = {own_options, options_store, options_general},
    .arguments_min = 1,
    .arguments_max = UINT32_MAX,
    .wanted = "a results file to take from",
    .input_size = sizeof(struct merger),
    .run = run,
};
