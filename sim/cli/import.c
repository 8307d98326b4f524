/* The command `stoker import`: it turns other programs' files into our YAML.
 * The table of kinds stands here, the readers are in sim/foreign.
 */
#include "foreign/import.h"
#include "foreign/step_lines.h"

#include "base/arena.h"
#include "cli/options.h"
#include "input/formats/measurement.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 1000 * 1000 };
static const size_t FILE_BYTES_MAX = (size_t)64 << 20;

/* ---- the kinds -------------------------------------------------------------------------- */

enum {
    HF = 1,
    NCCL_TESTS = 2,
    NCCL_TOPO = 4,
    TOPO_M = 8,
    SLURM = 16,
    LOGS = 32,
    STEPS = 64,
    IBNET = 128,
    SACCT = 256,
    NODES = NCCL_TOPO | TOPO_M,
    CLUSTERS = NODES | SLURM | IBNET
};

struct import_kind {
    const char *name;
    import_function *function;
    uint32_t bit;
    const char *marks[2]; /* a file of the kind has both; none: it is known otherwise */
};

/* In the order in which a file without a kind is asked about them. */
static const struct import_kind kinds[] = {
    {"hf", import_hf, HF, {"\"model_type\"", ":"}},
    {"nccl-topo", import_nccl_topo, NCCL_TOPO, {"<system", "<gpu"}},
    {"ibnetdiscover", import_ibnet, IBNET, {"switchguid=", "Switch"}},
    {"slurm-topology", import_slurm, SLURM, {"SwitchName=", "Nodes="}},
    {"slurm-topology", import_slurm, SLURM, {"BlockName=", "Nodes="}},
    {"slurm-topology", import_slurm, SLURM, {"topology:", "nodes:"}},
    {"sacct", import_sacct, SACCT, {"JobID|", "NNodes"}},
    {"topo-m", import_topo_m, TOPO_M, {"GPU0", " X "}},
    {"nccl-tests", import_nccl_tests, NCCL_TESTS, {"busbw", "algbw"}},
    {"nccl-tests", import_nccl_tests, NCCL_TESTS, {"bus_bw", "alg_bw"}},
    {"megatron-log", import_megatron, LOGS, {"elapsed time per iteration", "iteration"}},
    {"torchtitan-log", import_torchtitan, LOGS, {"loss:", "tps:"}},
    {"torchtitan-log", import_torchtitan, LOGS, {"loss:", "wps:"}},
    {"step-log", import_step_log, STEPS, {NULL, NULL}},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

/* Begins with the options, so that shared parsers find them. */
struct command_line {
    struct options options;
    struct importer importer;
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

#define TEXT(member) OPTION_TEXT(struct command_line, importer.member)
#define COUNT(member) OPTION_COUNT(struct command_line, importer.member, 1, COUNT_MAX)
#define RATE(member) \
    OPTION_QUANTITY(struct command_line, importer.member, DIM_LINK_BYTES_PER_S, 1e3, 1e15)
#define RATIO(member) OPTION_QUANTITY(struct command_line, importer.member, DIM_COUNT, 1, 1e4)

static const struct command_option own_options[] = {
    {.help = "nccl-tests:", .group = 1},
    {"operation", 0, "NAME",
     "The operation, where the file does not name it: all-reduce, all-gather, ...",
     OPTION_OWN(read_operation, struct command_line, importer.operation), .kinds = NCCL_TESTS},
    {"gpus", 0, "N", "GPUs of the run, where the file does not list them", COUNT(gpus),
     .kinds = NCCL_TESTS | LOGS},
    {"nodes", 0, "N", "Nodes of the run", COUNT(nodes), .kinds = NCCL_TESTS},
    {"cluster", 0, "NAME", "The cluster of topologies/ it ran on", TEXT(cluster),
     .kinds = NCCL_TESTS},
    {.help = "Clusters (nccl-topo, topo-m, slurm-topology):", .group = 2},
    {"name", 0, "NAME",
     "Name of the cluster or model and of the file to save it in (default: that of FILE)",
     TEXT(name), .kinds = HF | CLUSTERS | LOGS | SACCT},
    {"gpu", 0, "NAME", "GPU of models/gpus, where the file does not say", TEXT(gpu),
     .kinds = CLUSTERS | LOGS},
    {"like", 0, "CLUSTER",
     "Take what the file does not say from this one (default: one with the same GPU)", TEXT(like),
     .kinds = CLUSTERS},
    {"nics", 0, "N", "NICs of a node that carry the GPUs' traffic", COUNT(nics),
     .kinds = NODES | SLURM},
    {"nic-bandwidth", 0, "RATE", "Of one NIC, one way: \"400 Gbps\"", RATE(nic_bytes_per_s),
     .kinds = NODES | SLURM},
    {"nvlink", 0, "RATE", "Of one NVLink, one way, for GPUs that stoker does not know: \"25 GB/s\"",
     RATE(nvlink_bytes_per_s), .kinds = NODES},
    {.help = "slurm-topology:", .group = 3},
    {"gpus-per-node", 0, "N", "GPUs of a node", COUNT(gpus_per_node),
     .kinds = SLURM | IBNET | LOGS},
    {"uplinks", 0, "N", "Links up from each leaf, each as fast as a NIC", COUNT(uplinks),
     .kinds = SLURM},
    {"oversubscription", 0, "RATIO", "Instead: bandwidth down from a leaf over bandwidth up",
     RATIO(oversubscription), .kinds = SLURM},
    {"pod-oversubscription", 0, "RATIO", "The same for switches above the leaves (default 1)",
     RATIO(pod_oversubscription), .kinds = SLURM},
    {"topology", 0, "NAME", "Which topology of a topology.yaml (default: the cluster's default)",
     TEXT(topology), .kinds = SLURM},
    {.help = "megatron-log, torchtitan-log (and --name, --gpu, --gpus, --gpus-per-node):",
     .group = 4},
    {"model", 0, "NAME", "Model of models/llms, instead of the log's shapes", TEXT(model),
     .kinds = LOGS},
    {"network", 0, "RATE",
     "Between nodes, of all NICs of a node: \"3200 Gbps\" (default: the GPU's platform)",
     RATE(network_bytes_per_s), .kinds = LOGS},
    {"software", 0, "NAME", "Profile of models/software (default: by framework and the log's year)",
     TEXT(software), .kinds = LOGS},
    {"skip", 0, "N", "Lines of steps to leave out (default: a quarter of them, at most 10)",
     OPTION_COUNT(struct command_line, importer.skip, 0, COUNT_MAX), .kinds = LOGS | STEPS},
    {"run", 0, "N", "Which run of a log that holds several (default: the last that has a step)",
     OPTION_COUNT(struct command_line, importer.run, 1, COUNT_MAX), .kinds = LOGS},
    {"no-header", 0, NULL, "Only the line, without the columns' names: to be added to a file",
     OPTION_FLAG(struct command_line, importer.has_no_header), .kinds = LOGS},
    OPTIONS_APART,
    {0},
};

static const char kind_words[] =
    "hf, nccl-tests, nccl-topo, topo-m, slurm-topology, ibnetdiscover, sacct, megatron-log, "
    "torchtitan-log or step-log";

/* ---- the command ---------------------------------------------------------------------------- */

static const struct import_kind *find_kind(const struct importer *importer, const char *word)
{
    const char *names[KIND_COUNT];
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        names[i] = kinds[i].name;
        if (strcmp(names[i], word) == 0) {
            return &kinds[i];
        }
    }
    diag_add(importer->diag, DIAG_USAGE, NULL, "there is no kind '%s' to import", word);
    diag_help_nearest(importer->diag, diag_nearest(word, names, KIND_COUNT), kind_words);
    return NULL;
}

/* By what stands in the file, with a note; NULL with a message. */
static const struct import_kind *recognise(struct importer *importer)
{
    const char *text = importer->file.text;
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        const struct import_kind *kind = &kinds[i];
        const bool is_it = kind->marks[0] != NULL ? strstr(text, kind->marks[0]) != NULL &&
                                                        strstr(text, kind->marks[1]) != NULL
                                                  : step_lines_trainer(text) != NULL;
        if (is_it) {
            diag_add(importer->diag, DIAG_NOTE, NULL, "%s is read as %s", importer->file.path,
                     kind->name);
            return kind;
        }
    }
    const struct place place = {.file = importer->file.path};
    diag_add(importer->diag, DIAG_INPUT, &place, "what kind of file this is cannot be told");
    diag_help(importer->diag, "say it: stoker import KIND FILE, with one of %s", kind_words);
    return NULL;
}

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

static int run(struct options *options)
{
    struct command_line *line = (struct command_line *)options;
    struct cli *cli = options->cli;
    struct importer *importer = &line->importer;
    importer->arena = cli->arena;
    importer->diag = cli->diag;
    importer->out = stdout;
    const bool has_kind = options->arguments.count == 2;
    const char *path = options->arguments.items[has_kind ? 1 : 0];
    const struct import_kind *kind =
        has_kind ? find_kind(importer, options->arguments.items[0]) : NULL;
    if (has_kind && (kind == NULL || !check_options(line, kind))) {
        return EXIT_USAGE;
    }
    if (!text_file_load(cli->arena, path, FILE_BYTES_MAX, &importer->file, cli->diag) ||
        !text_file_check(&importer->file, cli->diag)) {
        return EXIT_INPUT;
    }
    kind = has_kind ? kind : recognise(importer);
    if (kind == NULL || (!has_kind && !check_options(line, kind))) {
        return kind == NULL ? EXIT_INPUT : EXIT_USAGE;
    }
    const struct catalogue catalogue = options_catalogue(options);
    importer->catalogue = &catalogue;
    return kind->function(importer) ? 0 : EXIT_INPUT;
}

const struct command command_import = {
    .name = "import",
    .summary = "files of Hugging Face, NCCL, nvidia-smi, Slurm as YAML; logs as measured runs",
    .arguments = "[KIND] FILE",
    .about =
        "Turns a file of another tool into YAML on stdout, a log into a line of CSV. KIND, which "
        "the file tells where it is left out, is one of\n"
        "  hf              config.json of Hugging Face: a model\n"
        "  nccl-tests      output of all_reduce_perf and its kin, text or -J: measurements\n"
        "  nccl-topo       NCCL_TOPO_DUMP_FILE of a node: a cluster\n"
        "  topo-m          `nvidia-smi topo -m` of a node: a cluster\n"
        "  slurm-topology  Slurm's topology.conf or topology.yaml, or what scontrol shows: a "
        "cluster\n"
        "  ibnetdiscover   output of ibnetdiscover: a cluster, with rates and oversubscription\n"
        "  sacct           output of sacct -P: rates of failures for run.failures\n"
        "  megatron-log    a log of training with Megatron-LM: a run for `stoker validate`\n"
        "  torchtitan-log  a log of training with torchtitan: the same\n"
        "  step-log        a log of another trainer, or with a progress bar: the anchor of a "
        "scenario\n"
        "What the file of a cluster does not say is taken from one of topologies/ and marked as "
        "assumed, to be filled in."
        "\vExamples: stoker import config.json --name ours > ours.yaml\n"
        "stoker import nccl-tests run.log > run.yaml\n"
        "stoker import nccl-topo system.xml --name ours > ours.yaml; stoker show ./ours.yaml\n"
        "stoker import slurm-topology topology.conf --name ours --gpu h100-sxm5-80gb "
        "--gpus-per-node 8 --nics 8 --nic-bandwidth \"400 Gbps\" --oversubscription 2 > "
        "ours.yaml\n"
        "stoker import megatron-log train.log --gpu h100-sxm5-80gb > runs.csv; "
        "stoker validate runs.csv",
    .options = {own_options, options_general},
    .arguments_min = 1,
    .arguments_max = 2,
    .wanted = "a file, or a kind and a file",
    .input_size = sizeof(struct command_line),
    .defaults = &(const struct command_line){.importer.skip = -1},
    .run = run,
};
