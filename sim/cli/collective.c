/* The command `stoker collective`: it predicts one collective over a range of
 * sizes and prints the table that nccl-tests prints.
 */
#include "cli/options.h"
#include "input/job/parallel.h"
#include "report/collective_sheet.h"

#include "base/arena.h"
#include "base/units.h"
#include "train/fabric_setting.h"

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

/* ---- the command ---------------------------------------------------------------------- */

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
    const struct catalogue catalogue = options_catalogue(options);
    request->fabric.catalogue = &catalogue;
    request->fabric.sets = options->sets.items;
    request->fabric.set_count = options->sets.count;
    if (!fabric_setting_open(cli->arena, &request->fabric, setting, cli->diag)) {
        return EXIT_INPUT;
    }
    if (request->operation == COLLECTIVE_SEND) {
        fabric_setting_take_ends(setting, request->fabric.gpus);
    }
    setting->group.group.hottest = request->hottest; /* before anything is priced */
    if (!fabric_setting_check(setting, (enum collective_operation)request->operation,
                              request->sizes, request->size_count, cli->diag)) {
        return EXIT_INPUT; /* the diag's worst is the exit status */
    }
    struct collective_row *rows = arena_array(cli->arena, request->size_count + 1u, sizeof *rows);
    for (uint32_t i = 0; i < request->size_count; i++) {
        fabric_setting_predict(setting, (enum collective_operation)request->operation,
                               request->sizes[i], request->has_single_sends, &rows[i]);
    }
    const struct collective_sheet sheet = {.operation = request->operation,
                                           .gpus = request->fabric.gpus,
                                           .setting = setting,
                                           .rows = rows,
                                           .count = request->size_count,
                                           .has_single_sends = request->has_single_sends};
    collective_warn_of_choice(&request->fabric.forced, &sheet, cli->diag);
    options_print(options, collective_sheet_of(cli->arena, &sheet));
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
