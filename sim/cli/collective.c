/* The command `stoker collective`: it predicts one collective over a range of
 * sizes and prints the table that nccl-tests prints.
 */
#include "cli/fabric_setting.h"
#include "report/sheet.h"

#include "base/arena.h"
#include "base/units.h"
#include "train/collective_run.h"
#include "train/single_sends.h"

#include <math.h>
#include <string.h>

enum { SIZES_MAX = 512 };

struct request {
    struct options options;
    struct fabric_request fabric;
    const char *gpus_text;
    const char *sizes_text;
    const char *hottest_text; /* NULL: all alike */
    double hottest;
    double sizes[SIZES_MAX];
    uint32_t size_count;
    uint32_t operation;
    bool has_single_sends;
};

/* A size's prediction, and the same as single messages if that was asked for. */
struct row {
    double bytes;
    struct collective_outcome outcome;
    const char *algorithm;
    const char *bottleneck; /* NULL: none */
    bool has_sends;
    struct single_sends_result sends;
};

static const struct command_option own_options[] = {
    {"cluster", 0, "NAME", "The cluster: a name of topologies/ or a .yaml path",
     OPTION_TEXT(struct request, fabric.cluster), .is_needed = true},
    {"gpus", 0, "N", "Ranks, one a GPU, nodes filled in order",
     OPTION_TEXT(struct request, gpus_text), .is_needed = true},
    {"sizes", 0, "SIZES",
     "1MiB..16GiB (doubling) or 1MB,64MB; default 1KiB..16GiB. A size is that of the whole "
     "buffer, as nccl-tests counts",
     OPTION_TEXT(struct request, sizes_text)},
    {"algorithm", 0, "NAME",
     "This algorithm instead of the library's choice: ring is NCCL's, over all rails of the nodes; "
     "single-ring goes from node to node by one NIC",
     OPTION_NAME(struct request, fabric.forced.algorithm, library_algorithm_names,
                 LIBRARY_ASKED_COUNT)},
    {"protocol", 0, "NAME", "This protocol: LL, LL128 or Simple",
     OPTION_NAME(struct request, fabric.forced.protocol, collective_protocol_names,
                 PROTOCOL_COUNT_)},
    {"single-sends", 0, NULL,
     "Simulate each single message, too, by the library's latencies and pace: slow, for comparison",
     OPTION_FLAG(struct request, has_single_sends)},
    {"hottest", 0, "TIMES",
     "All-to-all of unequal parts: one rank receives so many times the mean (1 to GPUs)",
     OPTION_TEXT(struct request, hottest_text)},
    {"library", 0, "NAME", "The library: a name of models/libraries/ or a path",
     OPTION_TEXT(struct request, fabric.library)},
    {0},
};

/* ---- sizes ------------------------------------------------------------------------- */

static const double SIZE_BYTES_MAX = 1e15;

static bool parse_size(const struct request *request, const char *text, double *bytes)
{
    char message[160];
    const char *problem = message;
    if (units_parse(text, DIM_BYTES, bytes, message, sizeof message)) {
        if (*bytes >= 0 && *bytes <= SIZE_BYTES_MAX) {
            return true;
        }
        problem = *bytes < 0 ? "a size is not negative" : "a size is at most 1 PB";
    }
    diag_add(request->options.cli->diag, DIAG_USAGE, NULL, "--sizes '%s': %s", text, problem);
    diag_help(request->options.cli->diag, "write it like 1MiB..16GiB or 1MB,64MB");
    return false;
}

static bool add_size(struct request *request, double bytes)
{
    if (request->size_count == SIZES_MAX) {
        return diag_add(request->options.cli->diag, DIAG_USAGE, NULL, "--sizes: more than %d sizes",
                        SIZES_MAX);
    }
    request->sizes[request->size_count++] = bytes;
    return true;
}

static bool parse_range(struct request *request, const char *text, const char *dots)
{
    struct arena *arena = request->options.cli->arena;
    double first = 0;
    double last = 0;
    if (!parse_size(request, arena_printf(arena, "%.*s", (int)(dots - text), text), &first) ||
        !parse_size(request, dots + 2, &last)) {
        return false;
    }
    if (first < 1 || last < first) {
        diag_add(request->options.cli->diag, DIAG_USAGE, NULL,
                 "--sizes '%s': from at least 1 B up to no less", text);
        return false;
    }
    for (int doublings = 0; ldexp(first, doublings) <= last; doublings++) {
        if (!add_size(request, ldexp(first, doublings))) {
            return false;
        }
    }
    return true;
}

static bool parse_sizes(struct request *request)
{
    const char *text = request->sizes_text;
    double none = 0;
    if (*text == '\0') {
        return parse_size(request, text, &none);
    }
    while (*text != '\0') {
        const size_t length = strcspn(text, ",");
        const char *part = arena_printf(request->options.cli->arena, "%.*s", (int)length, text);
        const char *dots = strstr(part, "..");
        double bytes = 0;
        if (dots != NULL ? !parse_range(request, part, dots)
                         : !parse_size(request, part, &bytes) || !add_size(request, bytes)) {
            return false;
        }
        text += length + (text[length] == ',');
    }
    return true;
}

static bool parse_gpus(struct request *request)
{
    double gpus = 0;
    char message[160];
    const struct cli *cli = request->options.cli;
    if (!units_parse(request->gpus_text, DIM_COUNT, &gpus, message, sizeof message)) {
        return diag_add(cli->diag, DIAG_USAGE, NULL, "--gpus '%s': %s", request->gpus_text,
                        message);
    }
    request->fabric.gpus = (int64_t)gpus;
    if (gpus < 2 || gpus > SCENARIO_GPUS_MAX || (double)request->fabric.gpus < gpus) {
        return diag_add(cli->diag, DIAG_USAGE, NULL, "--gpus '%s': a whole number from 2 to %d",
                        request->gpus_text, SCENARIO_GPUS_MAX);
    }
    return true;
}

static bool parse_hottest(struct request *request)
{
    char message[160];
    const struct cli *cli = request->options.cli;
    if (request->hottest_text == NULL) {
        return true;
    }
    if (request->operation != COLLECTIVE_ALL_TO_ALL) {
        return diag_add(cli->diag, DIAG_USAGE, NULL, "--hottest is for all-to-all");
    }
    if (!units_parse(request->hottest_text, DIM_COUNT, &request->hottest, message,
                     sizeof message)) {
        return diag_add(cli->diag, DIAG_USAGE, NULL, "--hottest '%s': %s", request->hottest_text,
                        message);
    }
    if (request->hottest < 1 || request->hottest > (double)request->fabric.gpus) {
        return diag_add(cli->diag, DIAG_USAGE, NULL, "--hottest '%s': from 1 to the %lld GPUs",
                        request->hottest_text, (long long)request->fabric.gpus);
    }
    return true;
}

static bool parse_operation(struct request *request)
{
    const char *name = request->options.arguments.items[0];
    for (uint32_t i = 0; i < COLLECTIVE_OPERATION_COUNT_; i++) {
        if (strcmp(name, collective_operation_names[i]) == 0) {
            request->operation = i;
            return true;
        }
    }
    struct diag *diag = request->options.cli->diag;
    const char *nearest =
        diag_nearest(name, collective_operation_names, COLLECTIVE_OPERATION_COUNT_);
    diag_add(diag, DIAG_USAGE, NULL, "there is no operation '%s'", name);
    diag_help(diag, "did you mean '%s'?", nearest != NULL ? nearest : "all-reduce");
    return false;
}

/* ---- output ------------------------------------------------------------------------- */

static void add_algorithm(struct sheet *in, const char *key, const void *record)
{
    const struct row *row = record;
    (void)key;
    sheet_say(in, "%s%s", row->algorithm, row->outcome.quote.is_extrapolated ? " *" : "");
}

static void add_sends_shown(struct sheet *in, const char *key, const void *record)
{
    const struct row *row = record;
    if (row->has_sends) {
        sheet_number(in, key, sim_time_to_s(row->sends.end));
    } else {
        sheet_null_as(in, key, "none");
    }
}

/* Of what was not simulated, no member. */
static void add_sends(struct sheet *in, const char *key, const void *record)
{
    const struct row *row = record;
    if (row->has_sends) {
        sheet_number(in, key, sim_time_to_s(row->sends.end));
    } else {
        sheet_nothing(in);
    }
}

static void add_messages(struct sheet *in, const char *key, const void *record)
{
    const struct row *row = record;
    if (row->has_sends) {
        sheet_integer(in, key, (int64_t)row->sends.messages);
    } else {
        sheet_nothing(in);
    }
}

static void print(const struct request *request, const struct fabric_setting *setting,
                  const struct row *rows)
{
    const struct field fields[] = {
        {"bytes", FIELD_AT(struct row, bytes), FIELD_COUNT("bytes")},
        {"time_s", FIELD_AT(struct row, outcome.time_s), FIELD_RIGHT("time us", "%.2f", 1e6)},
        {"algbw_bytes_per_s", FIELD_AT(struct row, outcome.algbw_bytes_per_s),
         FIELD_RIGHT("algbw GB/s", "%.2f", 1e-9)},
        {"busbw_bytes_per_s", FIELD_AT(struct row, outcome.busbw_bytes_per_s),
         FIELD_RIGHT("busbw GB/s", "%.2f", 1e-9)},
        {"algorithm", FIELD_AT(struct row, algorithm)},
        {NULL, .add = add_algorithm, FIELD_LEFT("algorithm")},
        {"protocol", FIELD_AT(struct row, outcome.quote.protocol),
         .names = collective_protocol_names, FIELD_LEFT("protocol")},
        {NULL, .add = add_sends_shown,
         FIELD_RIGHT(request->has_single_sends ? "single sends us" : NULL, "%.2f", 1e6)},
        {"bottleneck", FIELD_AT(struct row, bottleneck), FIELD_LEFT("bottleneck")},
        {"latency_s", FIELD_AT(struct row, outcome.quote.latency_s)},
        {"phases", FIELD_AT(struct row, outcome.quote.phase_count)},
        {"extrapolated", FIELD_AT(struct row, outcome.quote.is_extrapolated)},
        {"single_sends_s", .add = add_sends},
        {"single_sends", .add = add_messages},
    };
    const char *operation = collective_operation_names[request->operation];
    struct sheet *sheet = sheet_new(request->options.cli->arena, "stoker.collective/1");
    sheet_text(sheet, "operation", operation);
    sheet_text(sheet, "cluster", setting->cluster.name);
    sheet_text(sheet, "library", setting->library.name);
    sheet_integer(sheet, "gpus", request->fabric.gpus);
    sheet_integer(sheet, "nvlink_domains", setting->group.nodes);
    sheet_say(sheet, "# %s over %lld GPUs on %u NVLink domain(s) of %s, %s\n\n", operation,
              (long long)request->fabric.gpus, setting->group.nodes, setting->cluster.name,
              setting->library.name);
    sheet_rows(sheet_table(sheet, "rows", FIELD_LIST(fields)), rows, request->size_count,
               sizeof *rows);
    for (uint32_t i = 0; i < request->size_count; i++) {
        if (rows[i].outcome.quote.is_extrapolated) {
            sheet_say(sheet, "\n* outside the sizes that the library's constants were fitted to\n");
            break;
        }
    }
    options_print(&request->options, sheet);
}

/* ---- the command ---------------------------------------------------------------------- */

enum { PIECES = 64 }; /* of pipelined algorithms, as single messages */

static const double TIME_S_MAX = 1e8; /* simulated time would overflow some way above */

static bool check_times(const struct request *request, const struct fabric_setting *setting)
{
    double most = 0;
    for (uint32_t i = 0; i < request->size_count; i++) {
        most = request->sizes[i] > most ? request->sizes[i] : most;
    }
    struct transfer_quote quote;
    transfer_quote(&setting->transfer, &setting->group,
                   (enum collective_operation)request->operation, most, &quote);
    if (quote.time_s <= TIME_S_MAX) {
        return true;
    }
    diag_add(request->options.cli->diag, DIAG_INFEASIBLE, NULL,
             "%.3g bytes would take %.3g s; up to %.3g s are simulated", most, quote.time_s,
             TIME_S_MAX);
    diag_help(request->options.cli->diag, "look for a unit or a power of ten that is off");
    return false;
}

/* As the library runs what was quoted. Phases that follow one another have each a kind of link, and
 * what it reaches of it; what is all one phase has one pace on all its links. */
static struct single_sends_options sends_options(const struct transfer_quote *quote)
{
    struct single_sends_options options = {
        .has_latency = true,
        .latency_intra_ns = sim_time_from_s(quote->round_intra_s),
        .latency_inter_ns = sim_time_from_s(quote->round_inter_s),
        .start_ns = sim_time_from_s(quote->start_s),
    };
    if (quote->algorithm == ALGORITHM_TREE) { /* see ASSUMES in single_sends.h */
        options.latency_intra_ns = options.latency_inter_ns = 0;
        options.start_ns = sim_time_from_s(quote->latency_s);
    }
    if (quote->phase_count == 1) {
        options.pace_ns = sim_time_from_s(quote->phases[0].bytes / quote->rates_bytes_per_s[0]);
        return options;
    }
    for (uint32_t i = 0; i < quote->phase_count; i++) {
        double *share =
            quote->phases[i].rounds_inter > 0 ? &options.share_inter : &options.share_intra;
        *share = quote->rates_bytes_per_s[i] / quote->caps_bytes_per_s[i];
    }
    return options;
}

static void predict_row(const struct request *request, const struct fabric_setting *setting,
                        double bytes, struct row *row)
{
    const enum collective_operation operation = (enum collective_operation)request->operation;
    collective_run(&setting->transfer, &setting->group, operation, bytes, &row->outcome);
    const uint32_t bottleneck = row->outcome.quote.bottleneck;
    row->bytes = bytes;
    row->algorithm = transfer_algorithm_name(&setting->group, row->outcome.quote.algorithm);
    row->bottleneck = bottleneck == ENGINE_NONE
                          ? NULL
                          : fabric_link_name(setting->transfer.arena, &setting->fabric, bottleneck);
    if (request->has_single_sends) {
        struct arena *arena = arena_new();
        const struct single_sends_options options = sends_options(&row->outcome.quote);
        const struct single_sends_work work = {
            .group = &setting->group.group,
            .gpus = setting->group.gpus,
            .operation = operation,
            .algorithm = row->outcome.quote.algorithm,
            .bytes = bytes,
            .pieces = PIECES,
        };
        row->has_sends =
            single_sends_run(arena, setting->transfer.fabric, &work, &options, &row->sends);
        arena_free(arena);
    }
}

/* What was forced and is not offered for this operation gave way to the library's choice. */
static void warn_of_choice(const struct request *request, const struct transfer_quote *quote)
{
    const enum collective_algorithm ran = quote->algorithm;
    const uint32_t forced = request->fabric.forced.algorithm;
    const uint32_t protocol = request->fabric.forced.protocol;
    if (!tuner_is_asked(forced, ran)) {
        diag_add(request->options.cli->diag, DIAG_WARNING, NULL,
                 "%s is not offered for %s over these GPUs; %s ran",
                 library_algorithm_names[forced], collective_operation_names[request->operation],
                 collective_algorithm_names[ran]);
    } else if (protocol != COLLECTIVE_ANY && protocol != (uint32_t)quote->protocol) {
        diag_add(request->options.cli->diag, DIAG_WARNING, NULL,
                 "%s is not offered for %s over these GPUs; %s ran",
                 collective_protocol_names[protocol],
                 collective_operation_names[request->operation],
                 collective_protocol_names[quote->protocol]);
    }
}

/* A send is from the first GPU to the last. */
static void take_ends(struct fabric_setting *setting, int64_t gpus)
{
    const struct collective_choice forced = setting->group.forced;
    uint32_t *ends = arena_array(setting->transfer.arena, 2, sizeof *ends);
    ends[0] = 0;
    ends[1] = (uint32_t)gpus - 1;
    group_shape_init(&setting->transfer, ends, 2, &setting->group);
    setting->group.forced = forced;
}

static int run(struct options *options)
{
    struct request *request = (struct request *)options;
    struct cli *cli = options->cli;
    if (!options_refuse(options, "fold", "a collective",
                        "it is priced as a whole; --single-sends simulates every message")) {
        return EXIT_USAGE;
    }
    if (!parse_operation(request) || !parse_gpus(request) || !parse_sizes(request) ||
        !parse_hottest(request)) {
        return EXIT_USAGE;
    }
    struct fabric_setting *setting = arena_alloc(cli->arena, sizeof *setting);
    if (!fabric_setting_open(options, &request->fabric, setting)) {
        return EXIT_INPUT;
    }
    if (request->operation == COLLECTIVE_SEND) {
        take_ends(setting, request->fabric.gpus);
    }
    setting->group.group.hottest = request->hottest; /* before anything is priced */
    if (!check_times(request, setting)) {
        return EXIT_INPUT; /* the diag's worst is the exit status */
    }
    struct row *rows = arena_array(cli->arena, request->size_count + 1u, sizeof *rows);
    for (uint32_t i = 0; i < request->size_count; i++) {
        predict_row(request, setting, request->sizes[i], &rows[i]);
    }
    if (request->size_count > 0) {
        warn_of_choice(request, &rows[0].outcome.quote);
    }
    print(request, setting, rows);
    return 0;
}

const struct command command_collective = {
    .name = "collective",
    .summary = "one collective over a range of sizes, as nccl-tests prints it",
    .arguments = "OPERATION",
    .about =
        "Predicts a collective alone on a cluster's fabric: time, algbw and busbw as nccl-tests "
        "prints them, with algorithm, protocol and the link that binds."
        "\vOperations: all-reduce, all-gather, reduce-scatter, all-to-all, broadcast, reduce, "
        "send (from the first GPU to the last), shift (each to the next), barrier.\n"
        "Example: stoker collective all-reduce --cluster h100-3200 --gpus 64 "
        "--sizes 1MiB..16GiB",
    .options = {own_options, options_prediction, options_table, options_general},
    .arguments_min = 1,
    .arguments_max = 1,
    .wanted = "an operation (all-reduce, all-gather, ...)",
    .input_size = sizeof(struct request),
    .defaults = &(const struct request){.fabric.forced = {COLLECTIVE_ANY, COLLECTIVE_ANY},
                                        .sizes_text = "1KiB..16GiB"},
    .run = run,
};
