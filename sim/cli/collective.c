/* The command `stoker collective`: it predicts one collective over a range of
 * sizes and prints the table that nccl-tests prints.
 */
#include "cli/options.h"
#include "input/job/parallel.h"
#include "report/collective_sheet.h"

#include "base/arena.h"
#include "base/units.h"
#include "train/fabric_setting.h"

#include <string.h>

struct request {
    struct options options;
    struct fabric_request fabric;
    const char *gpus_text;
    const char *sizes_text;
    const char *hottest_text; /* NULL: all alike */
    double hottest;
    struct collective_sizes sizes;
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
     OPTION_NAME(struct request, fabric.forced.algorithm, collective_algorithm_names,
                 ALGORITHM_ASKED_COUNT_)},
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
    if (!parse_operation(request) || !parse_gpus(request) ||
        !collective_sizes_parse(cli->arena, request->sizes_text, &request->sizes, cli->diag) ||
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
                              request->sizes.bytes, request->sizes.count, cli->diag)) {
        return EXIT_INPUT; /* the diag's worst is the exit status */
    }
    struct collective_row *rows = arena_array(cli->arena, request->sizes.count + 1u, sizeof *rows);
    for (uint32_t i = 0; i < request->sizes.count; i++) {
        fabric_setting_predict(setting, (enum collective_operation)request->operation,
                               request->sizes.bytes[i], request->has_single_sends, &rows[i]);
    }
    const struct collective_sheet sheet = {.operation = request->operation,
                                           .gpus = request->fabric.gpus,
                                           .setting = setting,
                                           .rows = rows,
                                           .count = request->sizes.count,
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
    .options = {own_options, options_prediction, options_table, options_page, options_general},
    .arguments_min = 1,
    .arguments_max = 1,
    .wanted = "an operation (all-reduce, all-gather, ...)",
    .input_size = sizeof(struct request),
    .defaults = &(const struct request){.fabric.forced = {COLLECTIVE_ANY, COLLECTIVE_ANY},
                                        .sizes_text = "1KiB..16GiB"},
    .run = run,
};
