/* The command `stoker import`: it turns other programs' files into our YAML.
 * The table of kinds stands here, the readers are in sim/foreign.
 */
#include "foreign/import.h"

#include "base/arena.h"
#include "cli/options.h"
#include "input/formats/measurement.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_FIRST = 0xa00, EXIT_USAGE = 2, EXIT_INPUT = 3, COUNT_MAX = 1000 * 1000 };
static const size_t FILE_BYTES_MAX = (size_t)64 << 20;

/* ---- the kinds -------------------------------------------------------------------------- */

#define BIT(option) (1u << (option))
#define NODE_OPTIONS                                                            \
    (BIT(IMPORT_NAME) | BIT(IMPORT_GPU) | BIT(IMPORT_LIKE) | BIT(IMPORT_NICS) | \
     BIT(IMPORT_NIC_BANDWIDTH) | BIT(IMPORT_NVLINK))

struct import_kind {
    const char *name;
    import_function *function;
    uint32_t accepts; /* options, by BIT */
};

#define LOG_OPTIONS                                                                              \
    (BIT(IMPORT_NAME) | BIT(IMPORT_MODEL) | BIT(IMPORT_GPU) | BIT(IMPORT_GPUS) |                 \
     BIT(IMPORT_GPUS_PER_NODE) | BIT(IMPORT_NETWORK) | BIT(IMPORT_SOFTWARE) | BIT(IMPORT_SKIP) | \
     BIT(IMPORT_NO_HEADER))

static const struct import_kind kinds[] = {
    {"hf", import_hf, BIT(IMPORT_NAME)},
    {"nccl-tests", import_nccl_tests,
     BIT(IMPORT_OPERATION) | BIT(IMPORT_CLUSTER) | BIT(IMPORT_GPUS) | BIT(IMPORT_NODES)},
    {"nccl-topo", import_nccl_topo, NODE_OPTIONS},
    {"topo-m", import_topo_m, NODE_OPTIONS},
    {"slurm-topology", import_slurm,
     BIT(IMPORT_NAME) | BIT(IMPORT_GPU) | BIT(IMPORT_LIKE) | BIT(IMPORT_NICS) |
         BIT(IMPORT_NIC_BANDWIDTH) | BIT(IMPORT_GPUS_PER_NODE) | BIT(IMPORT_UPLINKS) |
         BIT(IMPORT_OVERSUBSCRIPTION) | BIT(IMPORT_POD_OVERSUBSCRIPTION) | BIT(IMPORT_TOPOLOGY)},
    {"megatron-log", import_megatron, LOG_OPTIONS},
    {"torchtitan-log", import_torchtitan, LOG_OPTIONS},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

/* Begins with the options, so that shared parsers find them. */
struct command_line {
    struct options options;
    struct importer importer;
};

/* ---- the command line --------------------------------------------------------------------- */

#define KEY(option) (KEY_FIRST + (option))

static const struct argp_option option_list[] = {
    {NULL, 0, NULL, 0, "nccl-tests:", 1},
    {"operation", KEY(IMPORT_OPERATION), "NAME", 0,
     "The operation, where the file does not name it: all-reduce, all-gather, ...", 1},
    {"gpus", KEY(IMPORT_GPUS), "N", 0, "GPUs of the run, where the file does not list them", 1},
    {"nodes", KEY(IMPORT_NODES), "N", 0, "Nodes of the run", 1},
    {"cluster", KEY(IMPORT_CLUSTER), "NAME", 0, "The cluster of topologies/ it ran on", 1},
    {NULL, 0, NULL, 0, "Clusters (nccl-topo, topo-m, slurm-topology):", 2},
    {"name", KEY(IMPORT_NAME), "NAME", 0,
     "Name of the cluster or model and of the file to save it in (default: that of FILE)", 2},
    {"gpu", KEY(IMPORT_GPU), "NAME", 0, "GPU of models/gpus, where the file does not say", 2},
    {"like", KEY(IMPORT_LIKE), "CLUSTER", 0,
     "Take what the file does not say from this one (default: one with the same GPU)", 2},
    {"nics", KEY(IMPORT_NICS), "N", 0, "NICs of a node that carry the GPUs' traffic", 2},
    {"nic-bandwidth", KEY(IMPORT_NIC_BANDWIDTH), "RATE", 0, "Of one NIC, one way: \"400 Gbps\"", 2},
    {"nvlink", KEY(IMPORT_NVLINK), "RATE", 0,
     "Of one NVLink, one way, for GPUs that stoker does not know: \"25 GB/s\"", 2},
    {NULL, 0, NULL, 0, "slurm-topology:", 3},
    {"gpus-per-node", KEY(IMPORT_GPUS_PER_NODE), "N", 0, "GPUs of a node", 3},
    {"uplinks", KEY(IMPORT_UPLINKS), "N", 0, "Links up from each leaf, each as fast as a NIC", 3},
    {"oversubscription", KEY(IMPORT_OVERSUBSCRIPTION), "RATIO", 0,
     "Instead: bandwidth down from a leaf over bandwidth up", 3},
    {"pod-oversubscription", KEY(IMPORT_POD_OVERSUBSCRIPTION), "RATIO", 0,
     "The same for switches above the leaves (default 1)", 3},
    {"topology", KEY(IMPORT_TOPOLOGY), "NAME", 0,
     "Which topology of a topology.yaml (default: the cluster's default)", 3},
    {NULL, 0, NULL, 0,
     "megatron-log, torchtitan-log (and --name, --gpu, --gpus, --gpus-per-node):", 4},
    {"model", KEY(IMPORT_MODEL), "NAME", 0, "Model of models/llms, instead of the log's shapes", 4},
    {"network", KEY(IMPORT_NETWORK), "RATE", 0,
     "Between nodes, of all NICs of a node: \"3200 Gbps\" (default: the GPU's platform)", 4},
    {"software", KEY(IMPORT_SOFTWARE), "NAME", 0,
     "Profile of models/software (default: by framework and the log's year)", 4},
    {"skip", KEY(IMPORT_SKIP), "N", 0,
     "Lines of steps to leave out (default: a quarter of them, at most 10)", 4},
    {"no-header", KEY(IMPORT_NO_HEADER), NULL, 0,
     "Only the line, without the columns' names: to be added to a file", 4},
    {NULL, 0, NULL, 0, "General:", -1},
    {NULL, 0, NULL, 0, NULL, 0},
};

static int64_t parse_count(const char *argument, int64_t least, struct argp_state *state)
{
    char *end = NULL;
    const long count = strtol(argument, &end, 10);
    if (end == argument || *end != '\0' || count < least || count > COUNT_MAX) {
        argp_error(state, "'%s' is no count from %d to %d", argument, (int)least, COUNT_MAX);
    }
    return count;
}

static double parse_quantity(const char *argument, enum dimension dimension,
                             struct argp_state *state)
{
    double value = 0.0;
    char message[256];
    if (!units_parse(argument, dimension, &value, message, sizeof message)) {
        argp_error(state, "'%s': %s", argument, message);
    } else if (dimension == DIM_COUNT ? value < 1.0 || value > 1e4 : value < 1e3 || value > 1e15) {
        argp_error(state, "'%s' is out of range", argument);
    }
    return value;
}

static const char *parse_operation(const char *argument, struct argp_state *state)
{
    if (!measurement_is_operation(argument)) {
        argp_error(state,
                   "there is no operation '%s': all-reduce, all-gather, reduce-scatter, "
                   "all-to-all, broadcast, reduce, send",
                   argument);
    }
    return argument;
}

static void set_option(struct importer *importer, enum import_option option, const char *argument,
                       struct argp_state *state)
{
    const char **texts[IMPORT_OPTION_COUNT_] = {
        [IMPORT_CLUSTER] = &importer->cluster,   [IMPORT_NAME] = &importer->name,
        [IMPORT_GPU] = &importer->gpu,           [IMPORT_LIKE] = &importer->like,
        [IMPORT_TOPOLOGY] = &importer->topology, [IMPORT_MODEL] = &importer->model,
        [IMPORT_SOFTWARE] = &importer->software,
    };
    int64_t *counts[IMPORT_OPTION_COUNT_] = {
        [IMPORT_GPUS] = &importer->gpus,       [IMPORT_NODES] = &importer->nodes,
        [IMPORT_NICS] = &importer->nics,       [IMPORT_GPUS_PER_NODE] = &importer->gpus_per_node,
        [IMPORT_UPLINKS] = &importer->uplinks, [IMPORT_SKIP] = &importer->skip,
    };
    double *rates[IMPORT_OPTION_COUNT_] = {
        [IMPORT_NIC_BANDWIDTH] = &importer->nic_bytes_per_s,
        [IMPORT_NVLINK] = &importer->nvlink_bytes_per_s,
        [IMPORT_NETWORK] = &importer->network_bytes_per_s,
    };
    importer->given |= BIT(option);
    if (option == IMPORT_NO_HEADER) {
        return;
    }
    if (texts[option] != NULL) {
        *texts[option] = argument;
    } else if (counts[option] != NULL) {
        *counts[option] = parse_count(argument, option == IMPORT_SKIP ? 0 : 1, state);
    } else if (rates[option] != NULL) {
        *rates[option] = parse_quantity(argument, DIM_LINK_BYTES_PER_S, state);
    } else if (option == IMPORT_OPERATION) {
        importer->operation = parse_operation(argument, state);
    } else {
        *(option == IMPORT_OVERSUBSCRIPTION ? &importer->oversubscription
                                            : &importer->pod_oversubscription) =
            parse_quantity(argument, DIM_COUNT, state);
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    static const struct options_rule rule = {1, 2, 2, "a kind and a file"};
    if (key >= KEY_FIRST && key < KEY(IMPORT_OPTION_COUNT_)) {
        set_option(&((struct command_line *)state->input)->importer,
                   (enum import_option)(key - KEY_FIRST), argument, state);
        return 0;
    }
    return options_parse_common(key, argument, state, &rule);
}

static const struct argp_child children[] = {{&options_general, 0, NULL, -1}, {NULL, 0, NULL, 0}};

static const struct argp parser = {
    .options = option_list,
    .parser = parse,
    .args_doc = "KIND FILE",
    .doc = "Turns a file of another tool into YAML on stdout, a log into a line of CSV. KIND is "
           "one of\n"
           "  hf              config.json of Hugging Face: a model\n"
           "  nccl-tests      output of all_reduce_perf and its kin, text or -J: measurements\n"
           "  nccl-topo       NCCL_TOPO_DUMP_FILE of a node: a cluster\n"
           "  topo-m          `nvidia-smi topo -m` of a node: a cluster\n"
           "  slurm-topology  Slurm's topology.conf or topology.yaml: a cluster\n"
           "  megatron-log    a log of training with Megatron-LM: a run for `stoker validate`\n"
           "  torchtitan-log  a log of training with torchtitan: the same\n"
           "What the file of a cluster does not say is taken from one of topologies/ and marked as "
           "assumed, to be filled in."
           "\vExamples: stoker import hf config.json --name ours > ours.yaml\n"
           "stoker import nccl-tests run.log > run.yaml\n"
           "stoker import nccl-topo system.xml --name ours > ours.yaml; stoker show ./ours.yaml\n"
           "stoker import slurm-topology topology.conf --name ours --gpu h100-sxm5-80gb "
           "--gpus-per-node 8 --nics 8 --nic-bandwidth \"400 Gbps\" --oversubscription 2 > "
           "ours.yaml\n"
           "stoker import megatron-log train.log --gpu h100-sxm5-80gb > runs.csv; "
           "stoker validate runs.csv",
    .children = children,
};

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
    const char *nearest = diag_nearest(word, names, KIND_COUNT);
    if (nearest != NULL) {
        diag_help(importer->diag, "did you mean '%s'?", nearest);
    } else {
        diag_help(importer->diag,
                  "hf, nccl-tests, nccl-topo, topo-m, slurm-topology, megatron-log or "
                  "torchtitan-log");
    }
    return NULL;
}

/* An option that the kind would not look at is a mistake. */
static bool check_options(const struct command_line *line, const struct import_kind *kind)
{
    const struct importer *importer = &line->importer;
    bool is_good = true;
    for (const struct argp_option *option = option_list; option->name != NULL || option->doc;
         option++) {
        const uint32_t bit = option->name == NULL ? 0 : BIT(option->key - KEY_FIRST);
        if ((importer->given & bit & ~kind->accepts) != 0) {
            is_good = diag_add(importer->diag, DIAG_USAGE, NULL, "--%s says nothing to %s",
                               option->name, kind->name);
        }
    }
    if (line->options.is_json) {
        is_good = diag_add(importer->diag, DIAG_USAGE, NULL, "import writes YAML or CSV, not JSON");
    }
    return is_good;
}

int command_import(struct cli *cli, int argc, char **argv)
{
    struct command_line *line = arena_alloc(cli->arena, sizeof *line);
    struct importer *importer = &line->importer;
    importer->arena = cli->arena;
    importer->diag = cli->diag;
    options_init(&line->options, cli);
    options_parse(&parser, argc, argv, line);
    const struct import_kind *kind = find_kind(importer, line->options.arguments[0]);
    if (kind == NULL || !check_options(line, kind)) {
        return EXIT_USAGE;
    }
    if (!text_file_load(cli->arena, line->options.arguments[1], FILE_BYTES_MAX, &importer->file,
                        cli->diag) ||
        !text_file_check(&importer->file, cli->diag)) {
        return EXIT_INPUT;
    }
    const struct catalogue catalogue = options_catalogue(&line->options);
    importer->catalogue = &catalogue;
    return kind->function(importer) ? 0 : EXIT_INPUT;
}
