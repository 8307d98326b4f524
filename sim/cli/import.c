/* The command `stoker import`: it turns other programs' files into our YAML.
 * The options stand here; the table of kinds and their readers are in sim/foreign.
 */
#include "foreign/import_kinds.h"

#include "base/arena.h"
#include "cli/options.h"
#include "input/formats/measurement.h"
#include "report/yaml_page.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 1000 * 1000 };

/* Begins with the options, so that shared parsers find them. */
struct command_line {
    struct options options;
    struct importer importer;
    struct text_list variables;
};

/* ---- the command line --------------------------------------------------------------------- */

static void read_operation(const struct command_option *option, const char *argument, void *input,
                           struct argp_state *state)
{
    if (!measurement_is_operation(argument)) {
        argp_error(state,
                   "there is no operation '%s': all-reduce, all-gather, reduce-scatter, "
                   "all-to-all, broadcast, reduce, send",
                   argument);
    }
    option_text(option, argument, input, state);
}

static void read_variable(const struct command_option *option, const char *argument, void *input,
                          struct argp_state *state)
{
    if (strchr(argument, '=') == NULL) {
        argp_error(state, "--variable needs NAME=VALUE, not '%s'", argument);
    }
    option_list(option, argument, input, state);
}

#define TEXT(member) OPTION_TEXT(struct command_line, importer.member)
#define COUNT(member) OPTION_COUNT(struct command_line, importer.member, 1, COUNT_MAX)
#define RATE(member) \
    OPTION_QUANTITY(struct command_line, importer.member, DIM_LINK_BYTES_PER_S, 1e3, 1e15)
#define RATIO(member) OPTION_QUANTITY(struct command_line, importer.member, DIM_COUNT, 1, 1e4)

static const struct command_option own_options[] = {
    {.help = "nccl-tests:", .group = 1},
    {"operation", 0, "NAME",
     "The operation, where the file does not name it: all-reduce, all-gather, ...",
     OPTION_OWN(read_operation, struct command_line, importer.operation),
     .kinds = IMPORT_NCCL_TESTS},
    {"gpus", 0, "N", "GPUs of the run, where the file does not list them", COUNT(gpus),
     .kinds = IMPORT_NCCL_TESTS | IMPORT_LOGS | IMPORT_LAUNCH},
    {"nodes", 0, "N", "Nodes of the run", COUNT(nodes), .kinds = IMPORT_NCCL_TESTS | IMPORT_LAUNCH},
    {"cluster", 0, "NAME", "The cluster of topologies/ it ran on", TEXT(cluster),
     .kinds = IMPORT_NCCL_TESTS | IMPORT_LAUNCH},
    {.help = "Clusters (nccl-topo, topo-m, slurm-topology):", .group = 2},
    {"name", 0, "NAME",
     "Name of the cluster or model and of the file to save it in (default: that of FILE)",
     TEXT(name),
     .kinds =
         IMPORT_HF | IMPORT_CLUSTERS | IMPORT_LOGS | IMPORT_SACCT | IMPORT_POWER | IMPORT_LAUNCH},
    {"gpu", 0, "NAME", "GPU of models/gpus, where the file does not say", TEXT(gpu),
     .kinds = IMPORT_CLUSTERS | IMPORT_LOGS | IMPORT_POWER | IMPORT_LAUNCH},
    {"like", 0, "CLUSTER",
     "Take what the file does not say from this one (default: one with the same GPU)", TEXT(like),
     .kinds = IMPORT_CLUSTERS},
    {"nics", 0, "N", "NICs of a node that carry the GPUs' traffic", COUNT(nics),
     .kinds = IMPORT_NODES | IMPORT_SLURM},
    {"nic-bandwidth", 0, "RATE", "Of one NIC, one way: \"400 Gbps\"", RATE(nic_bytes_per_s),
     .kinds = IMPORT_NODES | IMPORT_SLURM},
    {"nvlink", 0, "RATE", "Of one NVLink, one way, for GPUs that stoker does not know: \"25 GB/s\"",
     RATE(nvlink_bytes_per_s), .kinds = IMPORT_NODES},
    {.help = "slurm-topology:", .group = 3},
    {"gpus-per-node", 0, "N", "GPUs of a node", COUNT(gpus_per_node),
     .kinds = IMPORT_SLURM | IMPORT_IBNET | IMPORT_LOGS},
    {"uplinks", 0, "N", "Links up from each leaf, each as fast as a NIC", COUNT(uplinks),
     .kinds = IMPORT_SLURM},
    {"oversubscription", 0, "RATIO", "Instead: bandwidth down from a leaf over bandwidth up",
     RATIO(oversubscription), .kinds = IMPORT_SLURM},
    {"pod-oversubscription", 0, "RATIO", "The same for switches above the leaves (default 1)",
     RATIO(pod_oversubscription), .kinds = IMPORT_SLURM},
    {"topology", 0, "NAME", "Which topology of a topology.yaml (default: the cluster's default)",
     TEXT(topology), .kinds = IMPORT_SLURM},
    {.help = "megatron-log, torchtitan-log (and --name, --gpu, --gpus, --gpus-per-node):",
     .group = 4},
    {"model", 0, "NAME", "Model of models/llms, instead of the log's shapes", TEXT(model),
     .kinds = IMPORT_LOGS | IMPORT_LAUNCH},
    {"network", 0, "RATE",
     "Between nodes, of all NICs of a node: \"3200 Gbps\" (default: the GPU's platform)",
     RATE(network_bytes_per_s), .kinds = IMPORT_LOGS},
    {"software", 0, "NAME", "Profile of models/software (default: by framework and the log's year)",
     TEXT(software), .kinds = IMPORT_LOGS | IMPORT_LAUNCH},
    {"skip", 0, "N", "Lines of steps to leave out (default: a quarter of them, at most 10)",
     OPTION_COUNT(struct command_line, importer.skip, 0, COUNT_MAX),
     .kinds = IMPORT_LOGS | IMPORT_STEPS},
    {"run", 0, "N", "Which run of a log that holds several (default: the last that has a step)",
     OPTION_COUNT(struct command_line, importer.run, 1, COUNT_MAX), .kinds = IMPORT_LOGS},
    {"no-header", 0, NULL, "Only the line, without the columns' names: to be added to a file",
     OPTION_FLAG(struct command_line, importer.has_no_header), .kinds = IMPORT_LOGS},
    {.help = "launch (and --cluster, --gpu, --gpus, --nodes, --model, --software, --name):",
     .group = 5},
    {"variable", 0, "NAME=VALUE",
     "A variable of the script that it takes from elsewhere: NNODES=16; may be repeated",
     OPTION_OWN(read_variable, struct command_line, variables), .kinds = IMPORT_LAUNCH},
    {"arguments", 0, "TEXT", "Arguments of the script, which it calls $1, $2: \"dlc 7B 1 256\"",
     TEXT(arguments), .kinds = IMPORT_LAUNCH},
    {"with", 0, "FILE", "The configuration of DeepSpeed, where it is not beside the script",
     TEXT(with), .kinds = IMPORT_LAUNCH},
    {"sequence-length", 0, "N", "Tokens of a sequence, where the file does not say",
     COUNT(sequence_length), .kinds = IMPORT_LAUNCH},
    {"vocab", 0, "N", "Words of the vocabulary, where only the tokenizer is named",
     COUNT(vocabulary), .kinds = IMPORT_LAUNCH},
    OPTIONS_APART,
    {0},
};

/* ---- the command ---------------------------------------------------------------------------- */

/* An option that the kind would not look at is a mistake. */
static bool check_options(const struct command_line *line, const struct import_kind *kind)
{
    struct diag *diag = line->importer.diag;
    bool is_good = true;
    for (const struct command_option *option = own_options; option->help != NULL; option++) {
        if (option->name != NULL && (option->kinds & kind->bit) == 0 &&
            options_given(&line->options, option->name)) {
            is_good = diag_add(diag, DIAG_USAGE, NULL, "--%s says nothing to %s", option->name,
                               kind->name);
        }
    }
    return line->options.is_json
               ? diag_add(diag, DIAG_USAGE, NULL, "import writes YAML or CSV, not JSON")
               : is_good;
}

/* A log of ranks becomes a row of CSV, which is a line however wide the page. */
static int import(struct command_line *line, const struct import_kind *kind)
{
    struct importer *importer = &line->importer;
    if (kind->reader != NULL) {
        importer->out = stdout;
        return kind->function(importer) ? 0 : EXIT_INPUT;
    }
    struct yaml_page page;
    importer->out = yaml_page_begin(&page, importer->arena, stdout);
    const bool is_good = kind->function(importer);
    if (!options_yaml_end(&line->options, &page)) {
        return EXIT_FAILED;
    }
    return is_good ? 0 : EXIT_INPUT;
}

static int run(struct options *options)
{
    struct command_line *line = (struct command_line *)options;
    struct cli *cli = options->cli;
    struct importer *importer = &line->importer;
    importer->arena = cli->arena;
    importer->diag = cli->diag;
    importer->variables = line->variables.items;
    importer->variable_count = line->variables.count;
    const bool has_kind = options->arguments.count == 2;
    const char *path = options->arguments.items[has_kind ? 1 : 0];
    const struct import_kind *kind =
        has_kind ? import_kind_find(importer, options->arguments.items[0]) : NULL;
    if (has_kind && (kind == NULL || !check_options(line, kind))) {
        return EXIT_USAGE;
    }
    const bool was_named = kind != NULL;
    const struct catalogue catalogue = options_catalogue(options);
    importer->catalogue = &catalogue;
    kind = import_open(importer, path, kind);
    if (kind == NULL) {
        return EXIT_INPUT;
    }
    if (!was_named && !check_options(line, kind)) {
        return EXIT_USAGE;
    }
    return import(line, kind);
}

const struct command command_import = {
    .name = "import",
    .summary = "files of Hugging Face, NCCL, nvidia-smi, Slurm as YAML; logs as measured runs",
    .arguments = "[KIND] FILE|FOLDER|-",
    .about =
        "Turns a file of another tool into YAML on stdout, a log into a line of CSV. KIND, which "
        "the file tells where it is left out, is one of those below. FILE may be compressed by "
        "gzip, "
        "- is standard input; of a FOLDER it is said which files were taken.\n"
        "  hf              config.json of Hugging Face: a model\n"
        "  nccl-tests      output of all_reduce_perf and its kin, text or -J: measurements\n"
        "  nccl-topo       NCCL_TOPO_DUMP_FILE of a node: a cluster\n"
        "  topo-m          `nvidia-smi topo -m` of a node: a cluster\n"
        "  slurm-topology  Slurm's topology.conf or topology.yaml, what scontrol shows, "
        "what\n"
        "                  AWS, Google and Oracle tell of instances, labels of Kubernetes' nodes:\n"
        "                  a cluster\n"
        "  ibnetdiscover   output of ibnetdiscover: a cluster, with rates and oversubscription\n"
        "  sacct           output of sacct -P: rates of failures for run.failures\n"
        "  power-log       what nvidia-smi says GPUs draw, of --query-gpu=power.draw or dmon: a "
        "box\n"
        "  megatron-log    a log of training with Megatron-LM: a run for `stoker validate`\n"
        "  torchtitan-log  a log of training with torchtitan: the same\n"
        "  step-log        a log of another trainer, or with a progress bar: the anchor of a "
        "scenario\n"
        "  launch          a command line, script or configuration of Megatron-LM, what is built "
        "on "
        "it, or Hugging Face's Trainer with DeepSpeed: a scenario\n"
        "What the file of a cluster does not say is taken from one of topologies/ and marked as "
        "assumed, to be filled in."
        "\vExamples: stoker import config.json --name ours > ours.yaml\n"
        "stoker import nccl-tests run.log > run.yaml\n"
        "stoker import nccl-topo system.xml --name ours > ours.yaml; stoker show ./ours.yaml\n"
        "stoker import slurm-topology topology.conf --name ours --gpu h100-sxm5-80gb "
        "--gpus-per-node 8 --nics 8 --nic-bandwidth \"400 Gbps\" --oversubscription 2 > "
        "ours.yaml\n"
        "stoker import megatron-log train.log --gpu h100-sxm5-80gb > runs.csv; "
        "stoker validate runs.csv\n"
        "stoker import launch train.sh --cluster h100-3200 --variable NNODES=16 > ours.yaml",
    .options = {own_options, options_general},
    .arguments_min = 1,
    .arguments_max = 2,
    .wanted = "a file, or a kind and a file",
    .input_size = sizeof(struct command_line),
    .defaults = &(const struct command_line){.importer.skip = -1},
    .run = run,
};
