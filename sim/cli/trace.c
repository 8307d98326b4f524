/* The command `stoker trace`: a step as others' programs read it. */
#include "cli/predict.h"
#include "report/chakra.h"
#include "report/numbers.h"
#include "train/step.h"

#include "base/arena.h"
#include "cli/draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct trace_input {
    struct options options; /* first: shared parsers look here */
    const char *prefix;     /* NULL, as the next: not given */
    const char *ranks;
};

static const struct command_option own_options[] = {
    {"output", 'o', "PREFIX", "Write PREFIX.RANK.et and PREFIX.json (default: results/NAME)",
     OPTION_TEXT(struct trace_input, prefix)},
    {"ranks", 0, "LIST",
     "all, or numbers and ranges, 0-7,16 (default: all of them up to 64; of more the first of each "
     "class that cannot be told apart)",
     OPTION_TEXT(struct trace_input, ranks)},
    {0},
};

static const char *megabytes(struct arena *arena, double bytes)
{
    return number_grouped(arena, ceil(bytes / 1e6));
}

/* What was written, and whether that is all. */
static void tell(const struct step_trace *trace, const struct chakra_ranks *ranks,
                 const struct chakra_written *written, const char *prefix, struct cli *cli)
{
    const double bytes = (double)written->bytes;
    const char *of =
        arena_printf(cli->arena, "%s of %s ranks", number_grouped(cli->arena, (double)ranks->count),
                     number_grouped(cli->arena, (double)trace->ranks));
    printf("%s.RANK.et  of %s, %s MB\n%s\n", prefix, of, megabytes(cli->arena, bytes),
           written->groups_path);
    if (ranks->count < trace->ranks) {
        diag_add(cli->diag, DIAG_NOTE, NULL,
                 "%s were written; each file says for how many it stands (ranks_alike)", of);
        diag_help(cli->diag, "--ranks=all writes some %s MB",
                  megabytes(cli->arena, bytes / ranks->count * trace->ranks));
    }
}

static int write_chakra(const struct trace_input *input, const char *path)
{
    const struct options *options = &input->options;
    struct cli *cli = options->cli;
    const struct scenario *scenario = predict_load(options, path);
    if (scenario == NULL) {
        return EXIT_INPUT;
    }
    struct step_result step;
    step_simulate(cli->arena, scenario, &(struct step_request){.folds = options->folds}, &step);
    struct step_trace trace;
    step_trace_simulate(cli->arena, scenario, options->folds, &step, &trace);
    const char *prefix = input->prefix != NULL ? input->prefix : draw_default_base(cli, path);
    struct chakra_ranks ranks;
    struct chakra_written written;
    if (!chakra_ranks_read(cli->arena, &trace, input->ranks, &ranks, cli->diag)) {
        return EXIT_USAGE;
    }
    if (!chakra_write(cli->arena, &trace, &ranks, prefix, &written, cli->diag)) {
        return EXIT_FAILED;
    }
    tell(&trace, &ranks, &written, prefix, cli);
    predict_check_memory(options, scenario, &step);
    return 0;
}

static int run(struct options *options)
{
    const struct trace_input *input = (const struct trace_input *)options;
    if (strcmp(options->arguments.items[0], "chakra") != 0) {
        diag_add(options->cli->diag, DIAG_USAGE, NULL, "there is no kind of trace '%s'",
                 options->arguments.items[0]);
        diag_help(options->cli->diag, "`stoker trace chakra FILE`");
        return EXIT_USAGE;
    }
    return options_refuse(options, "json", "a trace", "PREFIX.json is its list of groups")
               ? write_chakra(input, options->arguments.items[1])
               : EXIT_USAGE;
}

const struct command command_trace = {
    .name = "trace",
    .summary = "a step task by task, for ASTRA-sim and other simulators (Chakra)",
    .arguments = "chakra FILE",
    .about =
        "Writes a step of a scenario as Chakra execution traces: of each rank what it computes, "
        "with FLOPs, bytes of memory and how long it took, with whom it communicates, how much, "
        "and what waits for what; and the list of groups, so that another simulator may check the "
        "step. What a step waits for loaders and checkpoints is not in it."
        "\vExample: stoker trace chakra scenarios/quickstart.yaml -o out/step\n"
        "AstraSim_Analytical_Congestion_Aware --workload-configuration=out/step "
        "--comm-group-configuration=out/step.json ...\n"
        "Exit status 4: the plan does not fit into memory; its step is written all the same.",
    .options = {own_options, options_prediction, options_general},
    .arguments_min = 2,
    .arguments_max = 2,
    .wanted = "a kind of trace and a scenario file",
    .input_size = sizeof(struct trace_input),
    .run = run,
};
