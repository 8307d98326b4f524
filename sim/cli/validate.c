/* The command `stoker validate`: it predicts measured runs from a CSV and says
 * how far the predictions are off. The lab's calls the same parts of it.
 */
#include "cli/validate.h"

#include "base/arena.h"
#include "base/version.h"
#include "base/workers.h"
#include "cli/draw.h"
#include "input/doc/text_folder.h"
#include "measured/published/published_row.h"
#include "measured/known_steps_file.h"
#include "report/measured/validated_sheet.h"

/* ---- the command line ----------------------------------------------------------------- */

const struct command_option validate_options[] = {
    {"jobs", 'j', "N", "Processes (default: as many as there are cores)",
     OPTION_COUNT(struct validation, jobs, 1, WORKERS_MAX)},
    {"plot", 0, "BASE", "Draw predicted against measured: BASE.svg, .png, .csv, .gp",
     OPTION_TEXT(struct validation, plot)},
    DRAW_SIZE_OPTION(struct validation),
    {"rows", 0, "TEXT", "Only rows whose id or source has TEXT in it",
     OPTION_TEXT(struct validation, wanted)},
    {"as-typed", 0, NULL,
     "Take of each row what whoever types a scenario says: model, machine, layout, batch, "
     "precision, framework and year; what else was on is not said",
     OPTION_FLAG(struct validation, is_typed)},
    {"summary", 0, NULL, "Leave out the table of rows",
     OPTION_FLAG(struct validation, only_summary)},
    {"read-steps", 0, "FILE",
     "Take steps from what --write-steps wrote, and simulate the others; may be repeated",
     OPTION_LIST(struct validation, read_steps)},
    {0},
};

static const struct command_option own_options[] = {
    {"ratios", 0, "COLUMN",
     "Ratios of the steps of two rows that differ in COLUMN and in nothing else, as "
     "inter_node_gbps_per_node",
     OPTION_TEXT(struct validation, ratios)},
    {"write-steps", 0, "FILE", "Write the steps that were simulated, for --read-steps",
     OPTION_TEXT(struct validation, write_steps)},
    MANY_OPTIONS(struct validation, many,
                 "Only part K of N of the rows, counted from 1, for several machines: with "
                 "--write-steps; --read-steps of all parts then gives what one run gives",
                 "rows"),
    OPTIONS_APART,
    {0},
};

bool validate_draw(const struct validation *validation)
{
    struct cli *cli = validation->options.cli;
    return validation->plot == NULL ||
           validated_draw(cli->arena, &validation->found, validation->plot, validation->size,
                          cli->diag);
}

static bool load(struct validation *validation)
{
    struct cli *cli = validation->options.cli;
    const struct text_list *given = &validation->options.arguments;
    const struct text_paths asked = {(const char **)given->items, given->count};
    struct text_paths paths;
    if (!text_folder_expand(cli->arena, &asked, published_is_table, &paths, cli->diag)) {
        return false;
    }
    const struct catalogue catalogue = options_catalogue(&validation->options);
    const struct validated_files files = {&catalogue, paths.items, paths.count,
                                          validation->is_typed};
    return validated_open(cli->arena, &files, &validation->found, cli->diag);
}

/* ---- many machines ---------------------------------------------------------------------- */

static bool read_steps(struct validation *validation)
{
    struct cli *cli = validation->options.cli;
    if (validation->write_steps != NULL || validation->read_steps.count > 0) {
        validation->steps = known_steps_new(cli->arena);
    }
    for (uint32_t i = 0; i < validation->read_steps.count; i++) {
        if (!known_steps_read(cli->arena, validation->steps, stoker_build(),
                              validation->read_steps.items[i], cli->diag)) {
            return false;
        }
    }
    return true;
}

static uint32_t count_steps(const struct validation *validation)
{
    uint32_t count = 0;
    if (validation->steps != NULL) {
        (void)known_steps_list(validation->options.cli->arena, validation->steps, &count);
    }
    return count;
}

/* Of a shard that is missing, the rows are simulated where shards are joined. */
static void note_simulated(const struct validation *validation, uint32_t known)
{
    const uint32_t simulated = count_steps(validation) - known;
    if (validation->read_steps.count > 0 && simulated > 0) {
        diag_add(validation->options.cli->diag, DIAG_NOTE, NULL,
                 "%u steps are in none of the files of --read-steps; they were simulated here",
                 simulated);
    }
}

static bool write_steps(const struct validation *validation)
{
    struct cli *cli = validation->options.cli;
    return validation->write_steps == NULL ||
           known_steps_write(cli->arena, validation->steps, stoker_build(), validation->write_steps,
                             cli->diag);
}

static int print_script(struct validation *validation, uint32_t count)
{
    struct arena *arena = validation->options.cli->arena;
    const struct shard_script script = {
        .piece_count = count,
        .pieces = "rows",
        .folder = arena_printf(arena, "results/validate.shards-%.8s", stoker_build()),
        .suffix = ".steps",
        .write = "--write-steps=",
        .read = "--read-steps=",
        .join = "validate",
        .join_words = launch_words(&validation->options, " slurm parallel jobs "),
    };
    return launch_print(&validation->options, &validation->many, &script,
                        " plot size ratios json summary ");
}

/* What is left is asked for where all rows are. */
static bool check_many(const struct validation *validation)
{
    const struct options *options = &validation->options;
    if (launch_is_wanted(options)) {
        return options_refuse(options, "shard write-steps read-steps", "a script",
                              "its shards simulate the rows of the files, and no more");
    }
    return validation->many.shard.count == 0 ||
           options_refuse(options, "plot size ratios", "a shard, which lacks the other rows",
                          "ask for it where the shards are joined by --read-steps");
}

bool validate_open(struct validation *validation)
{
    return load(validation) && read_steps(validation);
}

bool validate_predict(struct validation *validation)
{
    const uint32_t known = count_steps(validation);
    struct cli *cli = validation->options.cli;
    const struct catalogue catalogue = options_catalogue(&validation->options);
    const struct validated_asked asked = {
        .request = {.catalogue = &catalogue,
                    .jobs = (uint32_t)validation->jobs,
                    .given = validation->given,
                    .known = validation->steps,
                    .simulates_all = validation->simulates_all},
        .wanted = validation->wanted,
        .shard = validation->many.shard,
    };
    if (!validated_predict(cli->arena, &asked, &validation->found, cli->diag)) {
        return false;
    }
    note_simulated(validation, known);
    return true;
}

static void print(const struct validation *validation)
{
    const struct options *options = &validation->options;
    struct sheet *sheet = sheet_new(options->cli->arena, "stoker.validate/1");
    sheet_text(sheet, "version", stoker_version());
    sheet_text(sheet, "file", validation->found.tables[0]->path);
    if (validation->add_origin != NULL) {
        validation->add_origin(validation, sheet);
    } else {
        sheet_text(sheet, "predictions", NULL);
        sheet_text(sheet, "held_out", NULL);
    }
    if (options->is_json || !validation->only_summary) {
        validated_add_rows(&validation->found, sheet);
    }
    validated_add_summary(&validation->found, sheet);
    if (validation->ratios != NULL) {
        validated_add_ratios(&validation->found, validation->ratios, sheet);
    }
    if (validation->add_more != NULL) {
        validation->add_more(validation, sheet);
    }
    options_print(options, sheet);
}

int validate_tell(struct validation *validation)
{
    struct cli *cli = validation->options.cli;
    struct validated *found = &validation->found;
    const struct catalogue catalogue = options_catalogue(&validation->options);
    validated_warn(found, cli->diag);
    validated_score(cli->arena, &catalogue, found, cli->diag);
    print(validation);
    if (!validated_check_failed(found, cli->diag)) {
        return EXIT_FAILED;
    }
    if (found->skipped_count == found->row_count && validation->many.shard.count == 0) {
        const struct place place = {.file = found->tables[0]->path};
        diag_add(cli->diag, DIAG_INPUT, &place, "no row could be predicted");
        return EXIT_INPUT;
    }
    return 0;
}

static int run(struct options *options)
{
    struct validation *validation = (struct validation *)options;
    if (!check_many(validation) ||
        !validated_check_column(validation->ratios, options->cli->diag)) {
        return EXIT_USAGE;
    }
    if (!validate_open(validation)) {
        return EXIT_INPUT;
    }
    if (launch_is_wanted(options)) {
        const uint32_t count = validated_count_wanted(&validation->found, validation->wanted);
        return count > 0 || validated_refuse_nothing(&validation->found, validation->wanted,
                                                     options->cli->diag)
                   ? print_script(validation, count)
                   : EXIT_INPUT;
    }
    if (!validate_predict(validation)) {
        return EXIT_INPUT;
    }
    if (!write_steps(validation)) {
        return EXIT_FAILED;
    }
    const int status = validate_tell(validation);
    return status != 0 || validate_draw(validation) ? status : EXIT_FAILED;
}

const struct command command_validate = {
    .name = "validate",
    .summary = "measured runs of a CSV beside predictions, and how far off they are",
    .arguments = "FILE.csv|FOLDER|-...",
    .about =
        "Predicts every measured run of FILE.csv, a line each, and says how far off the "
        "predictions are. tests/published/README.md tells the columns; your own runs need 11 of "
        "them."
        "\vExamples: stoker validate tests/published/runs.csv --plot results/validation\n"
        "stoker validate mine.csv --json\n"
        "stoker validate tests/published/networks.csv --summary --ratios "
        "inter_node_gbps_per_node\n"
        "stoker validate tests/published/runs.csv --slurm=8 > rows.sbatch && sbatch rows.sbatch\n"
        "A line whose layout cannot be, or whose GPU, model, framework or precision is not in the "
        "catalogue, is told, skipped and counted. Exit status 1: a line was not predicted for no "
        "fault of its own, as when its process is killed; 3: the file cannot be read, lacks "
        "columns, has a column, word or number that is not known, or an id twice; or no line of it "
        "could be predicted. `make lab` in a checkout builds `stoker-lab validate`, which says "
        "what "
        "ratios, anchors and rules are worth, and writes the tables that bands are from.",
    .options = {validate_options, own_options, options_page, options_general},
    .arguments_min = 1,
    .arguments_max = UINT32_MAX,
    .wanted = "a CSV file of measured runs",
    .input_size = sizeof(struct validation),
    .run = run,
};
