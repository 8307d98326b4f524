/* The command `stoker validate`: it predicts measured runs from a CSV and says
 * how far the predictions are off. The lab's calls the same parts of it.
 */
#include "cli/validate.h"

#include "base/arena.h"
#include "base/version.h"
#include "base/workers.h"
#include "cli/draw.h"
#include "report/plot/plot_parity.h"
#include "measured/known_steps_file.h"
#include "measured/published/published_columns.h"

#include <string.h>

enum { WARNINGS_MAX = 20, COLUMNS_MAX = 64 };

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

/* ---- rows ------------------------------------------------------------------------------- */

static bool is_wanted(const struct validation *validation, const struct published_table *table,
                      uint32_t row)
{
    return validation->wanted == NULL ||
           strstr(published_text(table, row, "id"), validation->wanted) != NULL ||
           strstr(published_text(table, row, "source"), validation->wanted) != NULL;
}

static bool refuse_nothing(const struct validation *validation)
{
    struct diag *diag = validation->options.cli->diag;
    const struct place place = {.file = validation->tables[0]->path};
    if (validation->wanted != NULL) {
        return diag_add(diag, DIAG_INPUT, &place, "no row has '%s' in its id or source",
                        validation->wanted);
    }
    diag_add(diag, DIAG_INPUT, &place, "there is no run in it");
    diag_help(diag, "a line for each, below the one that names the columns");
    return false;
}

/* Adds the rows of a table that are wanted. */
static void predict_table(struct validation *validation, const struct published_table *table,
                          const struct catalogue *catalogue)
{
    struct arena *arena = validation->options.cli->arena;
    uint32_t *rows = arena_array(arena, table->row_count + (size_t)1, sizeof *rows);
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->row_count; i++) {
        rows[count] = i;
        count += is_wanted(validation, table, i) &&
                 shard_has(validation->many.shard, validation->row_next++);
    }
    const struct validate_request request = {.catalogue = catalogue,
                                             .jobs = (uint32_t)validation->jobs,
                                             .rows = rows,
                                             .row_count = count,
                                             .given = validation->given,
                                             .known = validation->steps,
                                             .simulates_all = validation->simulates_all};
    const struct validated_row *found = validate_rows(arena, table, &request);
    for (uint32_t i = 0; i < count; i++) {
        validation->rows[validation->row_count++] = found[i];
    }
}

static bool predict_all(struct validation *validation)
{
    const struct catalogue catalogue = options_catalogue(&validation->options);
    size_t count = 0;
    for (uint32_t i = 0; i < validation->table_count; i++) {
        count += validation->tables[i]->row_count;
    }
    validation->rows =
        arena_array(validation->options.cli->arena, count + 1, sizeof *validation->rows);
    for (uint32_t i = 0; i < validation->table_count; i++) {
        predict_table(validation, validation->tables[i], &catalogue);
    }
    const bool is_empty_shard = validation->row_next > 0; /* the rows are in others */
    return validation->row_count > 0 || is_empty_shard || refuse_nothing(validation);
}

/* What a user can put right; what was wrong with a line itself is told already. */
static void warn(struct validation *validation)
{
    struct diag *diag = validation->options.cli->diag;
    uint32_t warnings = 0;
    for (uint32_t i = 0; i < validation->row_count; i++) {
        const struct validated_row *row = &validation->rows[i];
        if (row->wrong.column == NULL || ++warnings > WARNINGS_MAX) {
            continue;
        }
        const struct place place = published_place(row->table, row->row, row->wrong.column);
        diag_add(diag, DIAG_WARNING, &place, "%s; the row is skipped", row->reason);
        if (row->wrong.help != NULL) {
            diag_help(diag, "%s", row->wrong.help);
        }
    }
    if (warnings > WARNINGS_MAX) {
        diag_add(diag, DIAG_WARNING, NULL, "and %u more rows are wrong", warnings - WARNINGS_MAX);
    }
}

static void put_bands(struct validation *validation)
{
    struct cli *cli = validation->options.cli;
    const struct catalogue catalogue = options_catalogue(&validation->options);
    const char *reason = NULL;
    if (band_load(cli->arena, &catalogue, &validation->bands, &reason, cli->diag)) {
        score_put_bands(cli->arena, &validation->bands, validation->rows, validation->row_count);
    } else {
        validation->no_bands = reason;
    }
}

static void sort_out(struct validation *validation)
{
    struct arena *arena = validation->options.cli->arena;
    const uint32_t count = validation->row_count;
    validation->scored = arena_array(arena, count, sizeof *validation->scored);
    validation->suspect = arena_array(arena, count, sizeof *validation->suspect);
    for (uint32_t i = 0; i < count; i++) {
        const struct validated_row *row = &validation->rows[i];
        if (score_is_scored(row)) {
            validation->scored[validation->scored_count++] = *row;
        } else if (row->status != ROW_OK) {
            validation->skipped_count++;
        } else if (row->measured_s > 0) {
            validation->suspect[validation->suspect_count++] = *row;
        }
    }
}

/* Each source of the rows once, with the score that the table by source has of it. */
static const struct parity_source *source_of(const struct validation *validation,
                                             struct parity_source *sources, const char *name)
{
    struct arena *arena = validation->options.cli->arena;
    struct parity_source *source = sources;
    while (source->name != NULL && strcmp(source->name, name) != 0) {
        source++;
    }
    if (source->name != NULL) {
        return source;
    }
    source->name = name;
    uint32_t count = 0;
    const struct score_group *groups =
        score_groups(arena, validation->scored, validation->scored_count, SCORE_BY_SOURCE, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(groups[i].name, name) == 0) {
            source->runs = groups[i].score.rows;
            source->mean = groups[i].score.mean;
        }
    }
    return source;
}

bool validate_draw(const struct validation *validation)
{
    if (validation->plot == NULL) {
        return true;
    }
    struct cli *cli = validation->options.cli;
    struct parity_point *points = arena_array(cli->arena, validation->row_count, sizeof *points);
    struct parity_source *sources =
        arena_array(cli->arena, validation->row_count + (size_t)1, sizeof *sources);
    uint32_t count = 0;
    for (uint32_t i = 0; i < validation->row_count; i++) {
        const struct validated_row *row = &validation->rows[i];
        if (row->status == ROW_OK && row->measured_s > 0 && row->predicted_s > 0) {
            points[count++] =
                (struct parity_point){row->id, source_of(validation, sources, row->source),
                                      row->suspect[0] != '\0', row->measured_s, row->predicted_s};
        }
    }
    const struct plot_request request = {.path_base = validation->plot, .size = validation->size};
    return plot_parity(cli->arena, points, count, &request, cli->diag);
}

/* What was printed lacks these rows; a file of errors or a plot without them is not written. */
static bool tell_failed(const struct validation *validation)
{
    struct diag *diag = validation->options.cli->diag;
    for (uint32_t i = 0; i < validation->row_count; i++) {
        const struct validated_row *row = &validation->rows[i];
        if (row->has_failed) {
            const struct place place = published_place(row->table, row->row, "id");
            diag_add(diag, DIAG_FAILURE, &place, "row '%s' was not predicted: %s", row->id,
                     row->reason);
            diag_help(diag, "nothing is scored with it; run the same command again");
        }
    }
    return !diag_has(diag, DIAG_FAILURE);
}

/* Ratios need a column of numbers. */
bool validate_check_ratios(const struct validation *validation)
{
    struct diag *diag = validation->options.cli->diag;
    const char *names[COLUMNS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < published_known_count; i++) {
        const struct published_column *column = &published_known[i];
        if (column->kind == COLUMN_COUNT || column->kind == COLUMN_NUMBER) {
            sim_assert(count < COLUMNS_MAX);
            names[count++] = column->name;
        }
    }
    for (uint32_t i = 0; i < count && validation->ratios != NULL; i++) {
        if (strcmp(names[i], validation->ratios) == 0) {
            return true;
        }
    }
    if (validation->ratios == NULL) {
        return true;
    }
    diag_add(diag, DIAG_USAGE, NULL, "--ratios: there is no column of numbers '%s'",
             validation->ratios);
    diag_help_nearest(diag, diag_nearest(validation->ratios, names, count),
                      "such as inter_node_gbps_per_node, gpus or micro_batch");
    return false;
}

static bool load(struct validation *validation)
{
    struct cli *cli = validation->options.cli;
    const struct text_list *paths = &validation->options.arguments;
    const struct catalogue catalogue = options_catalogue(&validation->options);
    const struct published_table **tables = arena_array(cli->arena, paths->count, sizeof *tables);
    for (uint32_t i = 0; i < paths->count; i++) {
        tables[i] = published_load_runs(cli->arena, paths->items[i], &catalogue, cli->diag);
        if (tables[i] == NULL) {
            return false;
        }
        if (validation->is_typed) {
            tables[i] = published_as_typed(cli->arena, tables[i]);
        }
    }
    validation->tables = tables;
    validation->table_count = paths->count;
    return true;
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

static int print_script(struct validation *validation)
{
    struct arena *arena = validation->options.cli->arena;
    const struct shard_script script = {
        .piece_count = validation->row_count,
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

/* A script needs the rows' number alone. */
static void count_rows(struct validation *validation)
{
    for (uint32_t i = 0; i < validation->table_count; i++) {
        for (uint32_t k = 0; k < validation->tables[i]->row_count; k++) {
            validation->row_count += is_wanted(validation, validation->tables[i], k);
        }
    }
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
    if (!predict_all(validation)) {
        return false;
    }
    note_simulated(validation, known);
    return true;
}

int validate_tell(struct validation *validation)
{
    warn(validation);
    put_bands(validation);
    sort_out(validation);
    validate_print(validation, stdout);
    if (!tell_failed(validation)) {
        return EXIT_FAILED;
    }
    if (validation->skipped_count == validation->row_count && validation->many.shard.count == 0) {
        const struct place place = {.file = validation->tables[0]->path};
        diag_add(validation->options.cli->diag, DIAG_INPUT, &place, "no row could be predicted");
        return EXIT_INPUT;
    }
    return 0;
}

static int run(struct options *options)
{
    struct validation *validation = (struct validation *)options;
    if (!check_many(validation) || !validate_check_ratios(validation)) {
        return EXIT_USAGE;
    }
    if (!validate_open(validation)) {
        return EXIT_INPUT;
    }
    if (launch_is_wanted(options)) {
        count_rows(validation);
        return validation->row_count > 0 || refuse_nothing(validation) ? print_script(validation)
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
    .arguments = "FILE.csv...",
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
    .options = {validate_options, own_options, options_general},
    .arguments_min = 1,
    .arguments_max = UINT32_MAX,
    .wanted = "a CSV file of measured runs",
    .input_size = sizeof(struct validation),
    .run = run,
};
