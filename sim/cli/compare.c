/* The command `stoker compare`: it predicts scenarios or the variants of one,
 * prints them side by side, and then holds each against the first.
 */
#include "report/numbers.h"
#include "report/points.h"
#include "cli/session.h"

#include "base/absent.h"
#include "base/arena.h"
#include "input/scenario_load.h"

#include <inttypes.h>
#include <math.h>

#define COMPARE_SCHEMA "stoker.compare/1"

/* ---- each by itself -------------------------------------------------------------------- */

enum { RUN_COLUMNS = 4 };

/* What is worth a column. */
struct columns {
    bool has_runs;
    bool has_pipelines; /* a point has a bubble */
    bool has_spreads;
};

static struct columns columns_of(const struct session *session)
{
    struct columns columns = {
        .has_runs = points_have_runs(session->rows, session->row_count),
        .has_spreads = points_have_spreads(session->rows, session->row_count),
    };
    for (uint32_t i = 0; i < session->row_count; i++) {
        columns.has_pipelines |= session->rows[i].breakdown_s[CAUSE_BUBBLE] > 0;
    }
    return columns;
}

static void add_run(struct arena *arena, const struct store_row *row, struct table *table)
{
    if (is_absent(row->days)) {
        for (uint32_t i = 0; i < RUN_COLUMNS; i++) {
            table_cell(table, "-");
        }
        return;
    }
    table_cell(table, "%.1f", row->days);
    table_cell(table, "%s", number_short(arena, row->gpu_hours));
    table_cell(table, "%s", number_short(arena, row->cost_usd));
    table_cell(table, "%.0f", row->energy_kwh / 1000);
}

static void add_absolute(struct arena *arena, const struct store_row *row, struct columns columns,
                         struct table *table)
{
    table_cell(table, "%s", row->label);
    if (!points_is_good(row)) {
        const uint32_t blanks = 5U + (columns.has_runs ? RUN_COLUMNS : 0U) +
                                (columns.has_pipelines ? 1U : 0U) + (columns.has_spreads ? 1U : 0U);
        for (uint32_t i = 0; i < blanks; i++) {
            table_cell(table, "-");
        }
        table_cell(table, "%s", points_reason(arena, row));
        return;
    }
    table_cell(table, "%" PRId64, row->gpus);
    table_cell(table, "%.2f", row->step_s);
    if (columns.has_spreads) {
        table_cell(table, "%s", points_spread(arena, row));
    }
    table_cell(table, "%.1f", 100 * row->mfu);
    table_cell(table, "%.0f", row->tokens_per_s_per_gpu);
    if (columns.has_pipelines) {
        table_cell(table, "%.1f", 100 * row->breakdown_s[CAUSE_BUBBLE] / row->step_s);
    }
    table_cell(table, "%.1f", row->memory_peak_bytes / 1e9);
    if (columns.has_runs) {
        add_run(arena, row, table);
    }
    table_cell(table, "%s", row->bound_by);
}

static void print_absolute(const struct session *session)
{
    struct arena *arena = session->options.cli->arena;
    const struct columns columns = columns_of(session);
    struct table *table = table_new(arena);
    table_column(table, "", TABLE_LEFT);
    table_column(table, "GPUs", TABLE_RIGHT);
    table_column(table, "step s", TABLE_RIGHT);
    if (columns.has_spreads) {
        table_column(table, POINTS_SPREAD_HEAD, TABLE_RIGHT);
    }
    table_column(table, "MFU %", TABLE_RIGHT);
    table_column(table, "tokens/s/GPU", TABLE_RIGHT);
    if (columns.has_pipelines) {
        table_column(table, "bubble %", TABLE_RIGHT);
    }
    table_column(table, "memory GB", TABLE_RIGHT);
    if (columns.has_runs) {
        table_column(table, "days", TABLE_RIGHT);
        table_column(table, "GPU-hours", TABLE_RIGHT);
        table_column(table, "USD", TABLE_RIGHT);
        table_column(table, "MWh", TABLE_RIGHT);
    }
    table_column(table, "bound by", TABLE_LEFT);
    for (uint32_t i = 0; i < session->row_count; i++) {
        add_absolute(arena, &session->rows[i], columns, table);
    }
    table_print(table, stdout);
}

/* ---- against the first ------------------------------------------------------------------ */

struct change {
    double speed_up;   /* tokens/s of the whole cluster, over the first's */
    double per_gpu;    /* the same per GPU */
    double cost_ratio; /* ABSENT: one of them has no run */
    double energy_ratio;
    enum cause cause; /* whose seconds per step changed most */
    double cause_s;   /* by how much; below 0: shorter */
};

static double ratio(double value, double first)
{
    return first > 0 ? value / first : ABSENT; /* also where one of them is */
}

static struct change change_of(const struct store_row *first, const struct store_row *row)
{
    struct change change = {
        .per_gpu = ratio(row->tokens_per_s_per_gpu, first->tokens_per_s_per_gpu),
        .cost_ratio = ratio(row->cost_usd, first->cost_usd),
        .energy_ratio = ratio(row->energy_kwh, first->energy_kwh),
        .cause = CAUSE_COMPUTE,
    };
    change.speed_up = change.per_gpu * (double)row->gpus / (double)first->gpus;
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        const double difference = row->breakdown_s[cause] - first->breakdown_s[cause];
        if (fabs(difference) > fabs(change.cause_s)) {
            change.cause = (enum cause)cause;
            change.cause_s = difference;
        }
    }
    return change;
}

static void add_ratio(double value, struct table *table)
{
    if (is_absent(value)) {
        table_cell(table, "-");
    } else {
        table_cell(table, "%.2f x", value);
    }
}

static void add_relative(const struct store_row *first, const struct store_row *row, bool has_runs,
                         struct table *table)
{
    const struct change change = change_of(first, row);
    table_cell(table, "%s", row->label);
    table_cell(table, "%.2f x", change.speed_up);
    table_cell(table, "%.2f x", change.per_gpu);
    if (has_runs) {
        add_ratio(change.cost_ratio, table);
        add_ratio(change.energy_ratio, table);
    }
    if (change.cause_s < 0 || change.cause_s > 0) {
        table_cell(table, "%s %+.3g s", cause_titles[change.cause], change.cause_s);
    } else {
        table_cell(table, "nothing");
    }
}

static void print_relative(const struct session *session)
{
    const struct store_row *first = &session->rows[0];
    if (!points_is_good(first)) {
        printf("\nThe first has no result to compare with.\n");
        return;
    }
    const bool has_runs = !is_absent(first->days);
    struct arena *arena = session->options.cli->arena;
    struct table *table = table_new(arena);
    table_column(table, arena_printf(arena, "against %s", first->label), TABLE_LEFT);
    table_column(table, "tokens/s", TABLE_RIGHT);
    table_column(table, "per GPU", TABLE_RIGHT);
    if (has_runs) {
        table_column(table, "cost", TABLE_RIGHT);
        table_column(table, "energy", TABLE_RIGHT);
    }
    table_column(table, "of a step, what changed most", TABLE_LEFT);
    uint32_t shown = 0;
    for (uint32_t i = 1; i < session->row_count; i++) {
        if (points_is_good(&session->rows[i])) {
            add_relative(first, &session->rows[i], has_runs, table);
            shown++;
        }
    }
    if (shown > 0) {
        putchar('\n');
        table_print(table, stdout);
    }
}

static void put_change(struct json *json, const struct change *change)
{
    json_object_open(json, "against_first");
    json_number(json, "speed_up", change->speed_up);
    json_number(json, "speed_up_per_gpu", change->per_gpu);
    json_number_or_null(json, "cost_ratio", change->cost_ratio);
    json_number_or_null(json, "energy_ratio", change->energy_ratio);
    json_text(json, "largest_change", cause_names[change->cause]);
    json_number(json, "largest_change_s", change->cause_s);
    json_object_close(json);
}

static void print_json(const struct session *session)
{
    struct json json;
    json_begin(&json, stdout);
    json_object_open(&json, NULL);
    session_json_members(session, COMPARE_SCHEMA, &json);
    json_array_open(&json, "points");
    for (uint32_t i = 0; i < session->row_count; i++) {
        const struct store_row *row = &session->rows[i];
        json_object_open(&json, NULL);
        points_json_members(&json, row);
        if (points_is_good(row) && points_is_good(&session->rows[0])) {
            const struct change change = change_of(&session->rows[0], row);
            put_change(&json, &change);
        } else {
            json_null(&json, "against_first");
        }
        json_object_close(&json);
    }
    json_array_close(&json);
    json_object_close(&json);
    json_end(&json);
}

/* ---- the command --------------------------------------------------------------------------- */

static bool load_documents(const struct options *options, const struct doc_node **documents)
{
    struct cli *cli = options->cli;
    bool is_good = true;
    for (uint32_t i = 0; i < options->arguments.count; i++) {
        documents[i] = scenario_load_document(cli->arena, options->arguments.items[i], cli->diag);
        is_good = documents[i] != NULL && is_good;
    }
    return is_good;
}

static bool expand(struct session *session)
{
    const struct options *options = &session->options;
    struct cli *cli = options->cli;
    const uint32_t count = options->arguments.count;
    session->catalogue = options_catalogue(options);
    const struct study_base base = options_study_base(options, &session->catalogue);
    const struct doc_node **documents = arena_array(cli->arena, count, sizeof *documents);
    if (!load_documents(options, documents)) {
        return false;
    }
    if (count > 1) {
        return study_of_documents(cli->arena, documents, count, &base, &session->study, cli->diag);
    }
    if (!study_is_asked(documents[0])) {
        diag_add(cli->diag, DIAG_INPUT, &documents[0]->place,
                 "one scenario without variants: leaves nothing to compare");
        diag_help(cli->diag, "name a second file, or write variants: [{name: ..., set: {...}}]");
        return false;
    }
    return study_expand(cli->arena, documents[0], &base, &session->study, cli->diag);
}

static void print_tables(struct session *session)
{
    printf("%s\n\n", session->study.title);
    print_absolute(session);
    print_relative(session);
    if (session->paths.count > 0) {
        putchar('\n');
        draw_print_paths(&session->paths, stdout);
    }
}

static int run(struct options *options)
{
    static const struct session_command command = {expand, print_json, print_tables};
    return session_main((struct session *)options, &command);
}

const struct command command_compare = {
    .name = "compare",
    .summary = "several scenarios or variants side by side, and what changed",
    .arguments = "FILE FILE...\nFILE_WITH_VARIANTS",
    .about = "Puts several scenarios side by side (of one with sweep: or variants:, each of its "
             "points), "
             "then each against the first: how much faster, "
             "which cause changed most, what it costs."
             "\vExample: stoker compare scenarios/study-gpus.yaml --plot dollars\n"
             "Exit status 4: none of them fits; 5: some failed.",
    .options = {options_prediction, options_store, session_options, options_general},
    .arguments_min = 1,
    .arguments_max = UINT32_MAX,
    .wanted = "two scenario files, or one with variants:",
    .input_size = sizeof(struct session),
    .run = run,
};
