/* The command `stoker-lab backtest`: every quarter's runs by what was known before it. */
#include "lab/fit/backtest.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/path.h"
#include "lab/cli/fit_tables.h"
#include "lab/cli/lab_commands.h"
#include "lab/fit/fit_predictions.h"
#include "measured/published/published_columns.h"
#include "measured/score.h"
#include "report/sheet.h"

enum { LAST_QUARTERS = 4 };

struct backtest_input {
    struct options options;
    const char *constants_path, *from, *predictions_path;
    struct text_list without;
    int64_t jobs, rounds;
};

static const struct command_option own_options[] = {
    {"constants", 0, "FILE",
     "What is fitted, with priors (default: tests/published/constants.yaml)",
     OPTION_TEXT(struct backtest_input, constants_path)},
    {"predictions", 0, "OUT.csv",
     "Write each row's step by what was published before its quarter, of other sources; columns as "
     "`calibrate steps` has them, with that for the fit without the source",
     OPTION_TEXT(struct backtest_input, predictions_path)},
    {"from", 0, "MONTH", "The first quarter is the one of this month (default: 2024-01)",
     OPTION_TEXT(struct backtest_input, from)},
    {"jobs", 'j', "N", "Processes that simulate rows (default: as many as cores)",
     OPTION_COUNT(struct backtest_input, jobs, 1, 256)},
    {"rounds", 0, "N", "Sets of slopes on the way (default: 1)",
     OPTION_COUNT(struct backtest_input, rounds, 1, 20)},
    {"without", 0, "TEXT", "Leave out rows whose source has TEXT in it (may be repeated)",
     OPTION_LIST(struct backtest_input, without)},
    OPTIONS_APART,
    {0},
};

/* ---- what it says ----------------------------------------------------------------------- */

/* Rows that have something in common, and how good they are. */
struct line {
    const char *name;
    double before; /* votes fitted to; ABSENT: of several quarters */
    uint32_t votes;
    double mean, bias, inside, half_width;
    double score, plain; /* of its bands, and of bands that are all as wide (band_score) */
};

static struct line line_of(const char *name, const struct score *score,
                           const struct band_coverage *bands, const struct band_coverage *plain)
{
    return (struct line){
        .name = name,
        .before = ABSENT,
        .votes = score->votes,
        .mean = score->mean,
        .bias = score->bias,
        .inside = bands->inside,
        .half_width = bands->width / 2,
        .score = bands->score,
        .plain = plain->score,
    };
}

static struct line line_of_part(struct arena *arena, const char *name, const struct backtest *test,
                                struct backtest_part part)
{
    uint32_t count;
    const struct validated_row *rows = backtest_rows(arena, test, part, &count);
    const struct score score = score_rows(arena, rows, count);
    const struct band_coverage bands = score_bands(arena, rows, count);
    part.is_plain = true;
    rows = backtest_rows(arena, test, part, &count);
    const struct band_coverage plain = score_bands(arena, rows, count);
    return line_of(name, &score, &bands, &plain);
}

static struct sheet *add_table(struct sheet *sheet, const char *key, const char *head)
{
    const struct field fields[] = {
        {"name", FIELD_AT(struct line, name), FIELD_LEFT(head)},
        {"votes_before", FIELD_AT(struct line, before), FIELD_RIGHT("fitted to", "%.0f", 1)},
        {"votes", FIELD_AT(struct line, votes), FIELD_COUNT("votes")},
        {"mean_ape", FIELD_AT(struct line, mean), FIELD_RIGHT("mean %", "%.1f", 100)},
        {"bias", FIELD_AT(struct line, bias), FIELD_RIGHT("bias %", "%+.1f", 100)},
        {"inside", FIELD_AT(struct line, inside), FIELD_RIGHT("inside %", "%.0f", 100)},
        {"half_width", FIELD_AT(struct line, half_width), FIELD_RIGHT("half width", "%.3f", 1)},
        {"interval_score", FIELD_AT(struct line, score), FIELD_RIGHT("score", "%.3f", 1)},
        {"interval_score_constant", FIELD_AT(struct line, plain),
         FIELD_RIGHT("constant's", "%.3f", 1)},
    };
    return sheet_table(sheet, key, FIELD_LIST(fields));
}

static void add_quarters(struct sheet *sheet, struct arena *arena, const struct backtest *test)
{
    struct sheet *table = add_table(sheet, "quarters", "quarter");
    for (uint32_t q = 0; q < test->quarter_count; q++) {
        const struct backtest_quarter *quarter = &test->quarters[q];
        struct backtest_part part = {quarter->number, quarter->number + 1, BACKTEST_ALL, false};
        const char *name = backtest_quarter_name(arena, quarter->number);
        struct line line = line_of_part(arena, name, test, part);
        line.before = quarter->before;
        sheet_row(table, &line);
        part.choice = BACKTEST_FRESH;
        if (quarter->fresh_rows > 0 && quarter->fresh_rows < quarter->rows) {
            line = line_of_part(arena, "  of these nothing earlier repeated", test, part);
            sheet_row(table, &line);
        }
    }
    sheet_say(sheet, "\n");
}

static void add_last(struct sheet *sheet, struct arena *arena, const struct backtest *test,
                     struct backtest_part last)
{
    static const char *const names[] = {[BACKTEST_ALL] = "all",
                                        [BACKTEST_FRESH] = "what repeats nothing earlier",
                                        [BACKTEST_REPEATED] = "what repeats an earlier run"};
    struct sheet *table = add_table(sheet, "last_four_quarters", "the last four quarters");
    for (uint32_t choice = 0; choice < BACKTEST_CHOICE_COUNT_; choice++) {
        last.choice = choice;
        const struct line line = line_of_part(arena, names[choice], test, last);
        sheet_row(table, &line);
    }
    sheet_say(sheet, "\n");
}

static void add_classes(struct sheet *sheet, struct arena *arena, const struct backtest *test,
                        struct backtest_part part)
{
    uint32_t count;
    const struct validated_row *rows = backtest_rows(arena, test, part, &count);
    part.is_plain = true;
    const struct validated_row *plain = backtest_rows(arena, test, part, &count);
    static const struct {
        enum score_grouping grouping;
        const char *key, *head;
    } kinds[] = {
        {SCORE_BY_MODEL, "by_model", "of these, by model"},
        {SCORE_BY_GPU, "by_gpu", "by GPU"},
        {SCORE_BY_FRAMEWORK, "by_framework", "by framework"},
        {SCORE_BY_SCALE, "by_scale", "by GPUs"},
        {SCORE_BY_BLANKS, "by_blanks", "by what was unsaid"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint32_t group_count;
        const struct score_group *groups =
            score_groups(arena, rows, count, kinds[i].grouping, &group_count);
        const struct score_group *of_plain =
            score_groups(arena, plain, count, kinds[i].grouping, &group_count);
        struct sheet *table = add_table(sheet, kinds[i].key, kinds[i].head);
        for (uint32_t g = 0; g < group_count; g++) {
            const struct line line =
                line_of(groups[g].name, &groups[g].score, &groups[g].bands, &of_plain[g].bands);
            sheet_row(table, &line);
        }
        sheet_say(sheet, "\n");
    }
}

static void print(const struct backtest_input *input, const struct backtest *test)
{
    struct arena *arena = input->options.cli->arena;
    struct sheet *sheet = sheet_new(arena, "stoker.backtest/1");
    const int32_t end = test->quarters[test->quarter_count - 1].number + 1;
    const struct backtest_part last = {end - LAST_QUARTERS, end, BACKTEST_FRESH, false};
    add_last(sheet, arena, test, last);
    add_quarters(sheet, arena, test);
    add_classes(sheet, arena, test, last);
    sheet_say(sheet,
              "Each quarter is predicted with constants fitted to what was published before "
              "it, and has its bands from\nthe errors of those runs, each without its own "
              "source. score: the interval score of the bands (the less the\nbetter), beside "
              "that of bands that are all as wide.\n");
    sheet_print(sheet, input->options.is_json, stdout);
}

/* ---- the command ------------------------------------------------------------------------ */

/* What bands are made of: of each row its prediction as of its day, where another fit's table has
 * that without its source. */
static bool write_predictions(const struct backtest_input *input, const struct fit_rows *rows,
                              const struct fit *fit, const struct backtest *test)
{
    struct cli *cli = input->options.cli;
    static const struct fit_folds none = {0};
    if (input->predictions_path == NULL) {
        return true;
    }
    const struct fit_predictions predictions =
        fit_predictions_of(cli->arena, fit, &none, test->residual);
    return path_make_directories(cli->arena, input->predictions_path, cli->diag) &&
           fit_predictions_write(cli->arena, input->predictions_path, rows, &predictions,
                                 cli->diag);
}

static bool check_from(const struct backtest_input *input)
{
    struct diag *diag = input->options.cli->diag;
    if (published_is_month(input->from)) {
        return true;
    }
    diag_add(diag, DIAG_USAGE, NULL, "--from: '%s' is no month", input->from);
    diag_help(diag, "write it like 2024-01");
    return false;
}

static int run(struct options *options)
{
    const struct backtest_input *input = (const struct backtest_input *)options;
    struct cli *cli = options->cli;
    const struct catalogue catalogue = options_catalogue(options);
    const struct fit_tables asked = {
        .constants_path = input->constants_path,
        .priors = PRIORS_FILE,
        .paths = &options->arguments,
        .without = &input->without,
        .jobs = (uint32_t)input->jobs,
        .is_of_the_day = true,
        .catalogue = &catalogue,
    };
    struct fit_rows rows;
    struct fit_problem problem;
    if (!check_from(input)) {
        return EXIT_USAGE;
    }
    if (!fit_tables_open(cli, &asked, &rows, &problem) || !backtest_check(&rows, cli->diag)) {
        return EXIT_INPUT;
    }
    const struct fit *fit = fit_run(cli->arena, &problem, (uint32_t)input->rounds, cli->diag);
    if (fit == NULL) {
        return EXIT_INPUT;
    }
    const struct backtest test =
        backtest_run(cli->arena, fit, &rows, backtest_quarter_of(input->from));
    if (test.quarter_count == 0) {
        diag_add(cli->diag, DIAG_INPUT, NULL, "no row was published in %s or later", input->from);
        return EXIT_INPUT;
    }
    print(input, &test);
    return write_predictions(input, &rows, fit, &test) ? 0 : EXIT_FAILED;
}

const struct command command_lab_backtest = {
    .name = "backtest",
    .summary = "each quarter's runs by what was published before it",
    .arguments = "FILE.csv...",
    .about =
        "Predicts the runs of each quarter with constants fitted to those that were published "
        "before it, and with bands of their errors; says how far off that would have been. Rows "
        "need their month (column published)."
        "\vExample: stoker-lab backtest tests/published/runs.csv --from 2025-01\n"
        "Every row is simulated some fifty times: minutes for hundreds of rows.\n"
        "Exit status 3: a file cannot be read, a row has no month, or no row can be predicted.",
    .options = {own_options, options_general},
    .arguments_min = 1,
    .arguments_max = UINT32_MAX,
    .wanted = "a CSV file of measured runs",
    .input_size = sizeof(struct backtest_input),
    .defaults = &(const struct backtest_input){.constants_path = "tests/published/constants.yaml",
                                               .from = "2024-01",
                                               .rounds = 1},
    .run = run,
};
