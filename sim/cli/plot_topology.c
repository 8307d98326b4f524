/* The command that draws a cluster's fabric: the cluster is read, a number of
 * nodes is chosen that a picture can hold, and report/picture/plot_topology draws
 * it. Of a scenario the fabric is that among whose nodes its jobs are placed, and a step is
 * simulated for what it uses.
 */
#include "cli/plot_topology.h"

#include "base/arena.h"
#include "cli/draw.h"
#include "cli/predict.h"
#include "report/step_titles.h"
#include "report/picture/plot_topology.h"
#include "report/show/show_part.h"
#include "train/placement.h"
#include "train/step.h"
#include "input/network/nic.h"
#include "input/scenario.h"

#include <string.h>
#include <unistd.h>

enum { SEED = 1 };

/* The file with --set cluster.KEY=VALUE applied. */
static bool read_cluster(const struct options *options, const char *name, struct cluster *cluster)
{
    struct cli *cli = options->cli;
    const struct catalogue catalogue = options_catalogue(options);
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = name};
    struct doc_node *part =
        catalogue_open(cli->arena, &catalogue, CATALOGUE_CLUSTER, &reference, cli->diag);
    if (part == NULL) {
        return false;
    }
    part->key = catalogue_keys[CATALOGUE_CLUSTER];
    struct doc_node root = {.kind = DOC_MAPPING, .child = part, .place = part->place};
    for (uint32_t i = 0; i < options->sets.count; i++) {
        const char *set = options->sets.items[i];
        if (strncmp(set, "cluster.", strlen("cluster.")) != 0) {
            diag_add(cli->diag, DIAG_USAGE, NULL, "--set %s has no meaning for plot topology", set);
            diag_help(cli->diag, "set cluster.KEY");
            return false;
        }
        if (!doc_set(cli->arena, &root, set, cli->diag)) {
            return false;
        }
    }
    if (!nic_settle(cli->arena, &catalogue, root.child, cli->diag)) {
        return false;
    }
    struct assumptions assumptions;
    assumptions_init(&assumptions, cli->arena);
    return cluster_read(root.child, cluster, &assumptions, cli->diag);
}

static int draw_fabric(const struct options *options, const struct plot_topology_wish *wish,
                       const struct fabric *fabric, const struct plot_topology_use *use,
                       const char *title)
{
    struct cli *cli = options->cli;
    const char *path_base =
        wish->path_base != NULL
            ? wish->path_base
            : arena_printf(cli->arena, "%s-topology", draw_default_base(cli, wish->name));
    const struct plot_request request = {
        .title = title, .path_base = path_base, .size = wish->size};
    struct draw_paths paths = {.items = NULL};
    const bool is_good = plot_topology(cli->arena, fabric, use, &request, cli->diag);
    draw_add_paths(cli, path_base, is_good, &paths);
    draw_print_paths(&paths, stdout);
    return is_good ? 0 : EXIT_FAILED;
}

static int draw_cluster(const struct options *options, const struct plot_topology_wish *wish)
{
    static const struct gpu no_gpu = {.host_link_bytes_per_s = 1}; /* host links are not drawn */
    struct cluster cluster;
    if (!read_cluster(options, wish->name, &cluster)) {
        return EXIT_INPUT;
    }
    const uint32_t nodes = (uint32_t)show_nodes(&cluster, wish->nodes, options->cli->diag);
    if (nodes == 0) {
        return EXIT_USAGE;
    }
    struct fabric fabric;
    fabric_init(&fabric, options->cli->arena, &cluster, &no_gpu,
                nodes * (uint32_t)cluster.gpus_per_node, SEED);
    return draw_fabric(options, wish, &fabric, NULL, cluster.title);
}

/* ---- of a scenario ------------------------------------------------------------------------- */

/* A file that names a model: a cluster's does not. What is wrong with it whoever reads it next
 * tells; of a portfolio, too, that it is none. */
static bool is_scenario(const struct options *options, const char *name)
{
    struct arena *arena = options->cli->arena;
    if (access(name, R_OK) != 0) {
        return false;
    }
    const struct doc_node *document = doc_load(arena, name, diag_new(arena));
    return document != NULL &&
           (doc_find(document, "model") != NULL || doc_find(document, "portfolio") != NULL);
}

/* The nodes among which its job and its neighbours were placed: those that were simulated. */
static int draw_scenario(const struct options *options, const struct plot_topology_wish *wish)
{
    struct cli *cli = options->cli;
    const struct scenario *scenario = predict_load(options, wish->name);
    if (scenario == NULL) {
        return EXIT_INPUT;
    }
    struct step_result step;
    step_simulate(cli->arena, scenario, &(struct step_request){.folds = options->folds}, &step);
    struct placement placement;
    placement_choose(cli->arena, scenario, &placement);
    struct fabric fabric;
    fabric_init(&fabric, cli->arena, &scenario->cluster, &scenario->gpu, placement.gpus,
                (uint64_t)scenario->seed);
    const char *title = step_title_of_fabric(cli->arena, scenario, &step);
    const int status =
        draw_fabric(options, wish, &fabric,
                    &(struct plot_topology_use){step.link_uses, step.link_use_count}, title);
    predict_check_memory(options, scenario, &step);
    return status;
}

int plot_topology_command(const struct options *options, const struct plot_topology_wish *wish)
{
    if (!is_scenario(options, wish->name)) {
        return options_refuse(options, "seed fold", "a cluster", "they are for a scenario's step")
                   ? draw_cluster(options, wish)
                   : EXIT_USAGE;
    }
    return options_refuse(options, "nodes", "a scenario's fabric", "set gpus: --set gpus=N")
               ? draw_scenario(options, wish)
               : EXIT_USAGE;
}
