/* What was named on the command line is put together as a small document, as
 * if it had been a scenario's, and is read by the ordinary readers; so the
 * messages and `--set` are the same.
 */
#include "cli/fabric_setting.h"

#include "base/arena.h"
#include "input/network/nic.h"

#include <stdlib.h>
#include <string.h>

/* Where the tree of what was named is put together: {cluster: .., gpu: .., library: ..}. */
struct assembly {
    struct cli *cli;
    const struct options *options;
    struct catalogue catalogue;
    struct doc_node *root;
};

static void put(struct assembly *assembly, const char *key, struct doc_node *mapping)
{
    struct doc_node **link = &assembly->root->child;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    mapping->key = key;
    mapping->key_place = mapping->place;
    mapping->next = NULL;
    *link = mapping;
}

static bool put_file(struct assembly *assembly, enum catalogue_kind kind,
                     const struct doc_node *reference)
{
    struct cli *cli = assembly->cli;
    struct doc_node *mapping =
        kind == CATALOGUE_LIBRARY
            ? library_open(cli->arena, &assembly->catalogue, reference, cli->diag)
            : catalogue_open(cli->arena, &assembly->catalogue, kind, reference, cli->diag);
    if (mapping != NULL) {
        put(assembly, catalogue_keys[kind], mapping);
    }
    return mapping != NULL;
}

static bool apply_sets(const struct assembly *assembly, const char *prefix)
{
    const struct options *options = assembly->options;
    bool is_good = true;
    for (uint32_t i = 0; i < options->sets.count; i++) {
        if (strncmp(options->sets.items[i], prefix, strlen(prefix)) == 0) {
            is_good = doc_set(assembly->cli->arena, assembly->root, options->sets.items[i],
                              assembly->cli->diag) &&
                      is_good;
        }
    }
    return is_good;
}

/* Sets that change nothing here would be missed in silence. */
static bool check_sets(const struct options *options)
{
    for (uint32_t i = 0; i < options->sets.count; i++) {
        const char *set = options->sets.items[i];
        if (strncmp(set, "cluster.", 8) != 0 && strncmp(set, "gpu.", 4) != 0 &&
            strncmp(set, "library.", 8) != 0 && strncmp(set, "seed=", 5) != 0) {
            diag_add(options->cli->diag, DIAG_USAGE, NULL, "--set %s: nothing of that name here",
                     set);
            diag_help(options->cli->diag, "set cluster.KEY, gpu.KEY or library.KEY");
            return false;
        }
    }
    return true;
}

static const struct doc_node *reference_of(struct arena *arena, const struct doc_node *found,
                                           const char *by_default)
{
    if (found != NULL || by_default == NULL) {
        return found;
    }
    struct doc_node *node = arena_alloc(arena, sizeof *node);
    *node = (struct doc_node){.kind = DOC_SCALAR, .text = by_default};
    return node;
}

static bool assemble(struct assembly *assembly, const struct fabric_request *request)
{
    struct arena *arena = assembly->cli->arena;
    struct diag *diag = assembly->cli->diag;
    assembly->root = arena_alloc(arena, sizeof *assembly->root);
    assembly->root->kind = DOC_MAPPING;
    const struct doc_node *cluster = reference_of(arena, NULL, request->cluster);
    if (!put_file(assembly, CATALOGUE_CLUSTER, cluster) || !apply_sets(assembly, "cluster.")) {
        return false;
    }
    if (!nic_settle(arena, &assembly->catalogue, doc_find(assembly->root, "cluster"), diag)) {
        return false;
    }
    cluster = doc_find(assembly->root, "cluster");
    const struct doc_node *gpu = doc_find(cluster, "gpu");
    if (gpu == NULL) {
        diag_add(diag, DIAG_INPUT, &cluster->place, "the cluster names no gpu");
        diag_help(diag, "add --set cluster.gpu=NAME");
        return false;
    }
    const struct doc_node *library = doc_find(cluster, "collectives.library");
    if (request->library != NULL) {
        library = reference_of(arena, NULL, request->library);
    }
    return put_file(assembly, CATALOGUE_GPU, gpu) && apply_sets(assembly, "gpu.") &&
           put_file(assembly, CATALOGUE_LIBRARY, reference_of(arena, library, LIBRARY_DEFAULT)) &&
           apply_sets(assembly, "library.");
}

static bool read_seed(const struct options *options, uint64_t *seed)
{
    *seed = 42;
    for (uint32_t i = 0; i < options->sets.count; i++) {
        if (strncmp(options->sets.items[i], "seed=", 5) == 0) {
            const char *text = options->sets.items[i] + 5;
            char *end = NULL;
            *seed = strtoull(text, &end, 10);
            if (text[0] < '0' || text[0] > '9' || *end != '\0' || *seed < 1 || *seed > UINT32_MAX) {
                return diag_add(options->cli->diag, DIAG_INPUT, NULL,
                                "--set %s: a whole number from 1 to %u", options->sets.items[i],
                                UINT32_MAX);
            }
        }
    }
    return true;
}

static bool read_all(const struct assembly *assembly, struct fabric_setting *setting)
{
    struct diag *diag = assembly->cli->diag;
    struct assumptions assumptions;
    assumptions_init(&assumptions, assembly->cli->arena);
    const struct doc_node *root = assembly->root;
    return cluster_read(doc_find(root, "cluster"), &setting->cluster, &assumptions, diag) &&
           gpu_read(doc_find(root, "gpu"), &setting->gpu, &assumptions, diag) &&
           library_read(doc_find(root, "library"), &setting->library, &assumptions, diag) &&
           collectives_check(&setting->library, setting->gpu.architecture, diag);
}

/* A group larger than the cluster, or than a rail joins. */
static bool check_gpus(const struct cluster *cluster, int64_t gpus, struct diag *diag)
{
    const int64_t nodes = cluster_nodes_max(cluster);
    const int64_t needed = (gpus + cluster->gpus_per_node - 1) / cluster->gpus_per_node;
    if (nodes == 0 || needed <= nodes) {
        return true;
    }
    diag_add(diag, DIAG_INFEASIBLE, &cluster->place,
             cluster->fabric_kind == FABRIC_RAIL_ONLY
                 ? "%lld GPUs cannot all reach each other: a rail of cluster %s joins %lld nodes"
                 : "%lld GPUs are more than cluster %s has: %lld nodes",
             (long long)gpus, cluster->name, (long long)nodes);
    diag_help(diag, "--gpus may be at most %lld", (long long)(nodes * cluster->gpus_per_node));
    return false;
}

bool fabric_setting_open(const struct options *options, const struct fabric_request *request,
                         struct fabric_setting *setting)
{
    struct cli *cli = options->cli;
    struct assembly assembly = {
        .cli = cli, .options = options, .catalogue = options_catalogue(options)};
    uint64_t seed = 0;
    if (!check_sets(options) || !read_seed(options, &seed) || !assemble(&assembly, request) ||
        !read_all(&assembly, setting) || !check_gpus(&setting->cluster, request->gpus, cli->diag)) {
        return false;
    }
    fabric_init(&setting->fabric, cli->arena, &setting->cluster, &setting->gpu,
                (uint32_t)request->gpus, seed);
    setting->transfer = (struct transfer_setting){.arena = cli->arena,
                                                  .fabric = &setting->fabric,
                                                  .library = &setting->library,
                                                  .architecture = setting->gpu.architecture};
    uint32_t *gpus = arena_array(cli->arena, (size_t)request->gpus, sizeof *gpus);
    for (uint32_t i = 0; i < request->gpus; i++) {
        gpus[i] = i;
    }
    group_shape_init(&setting->transfer, gpus, (uint32_t)request->gpus, &setting->group);
    setting->group.forced = request->forced;
    return true;
}
