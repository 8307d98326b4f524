/* Each kind has its reader, and a function that says what follows from it. */
#include "report/show/show_part.h"

#include "base/arena.h"
#include "input/failures/failures.h"
#include "input/failures/spot.h"
#include "input/network/nic.h"
#include "input/job/matrix_rule_keys.h"
#include "input/network/prices.h"
#include "input/recipe.h"
#include "input/scenario.h"
#include "report/show/show_bill.h"
#include "report/show/show_catalogue.h"
#include "report/show/show_figures.h"
#include "report/show/show_name.h"

#include <string.h>

enum { NODES_DEFAULT = 128 };

int64_t show_nodes(const struct cluster *cluster, int64_t wanted, struct diag *diag)
{
    const int64_t own = cluster_nodes_max(cluster);
    const int64_t simulated = SCENARIO_GPUS_MAX / cluster->gpus_per_node;
    const int64_t most = own > 0 && own < simulated ? own : simulated;
    if (wanted > most) {
        diag_add(diag, DIAG_USAGE, NULL, "--nodes %lld: %s has at most %lld", (long long)wanted,
                 cluster->name, (long long)most);
        return 0;
    }
    const int64_t by_default = own > 0 ? most : NODES_DEFAULT;
    return wanted > 0 ? wanted : by_default < most ? by_default : most;
}

/* The file under its kind's key, so that --set reads as in a scenario. */
static struct doc_node *open_part(const struct show_part *show)
{
    struct arena *arena = show->arena;
    const enum catalogue_kind kind = (enum catalogue_kind)show->kind;
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = show->name};
    struct doc_node *part = catalogue_part(arena, show->catalogue, kind, &reference, show->diag);
    if (part == NULL) {
        return NULL;
    }
    part->key = catalogue_keys[kind];
    part->key_place = part->place;
    struct doc_node *root = arena_alloc(arena, sizeof *root);
    *root = (struct doc_node){.kind = DOC_MAPPING, .child = part, .place = part->place};
    return root;
}

static bool apply_sets(const struct show_part *show, struct doc_node *root)
{
    bool is_good = true;
    for (uint32_t i = 0; i < show->set_count; i++) {
        const char *assignment = show->sets[i];
        if (strncmp(assignment, show->prefix, strlen(show->prefix)) != 0) {
            diag_add(show->diag, DIAG_USAGE, NULL, "--set %s: this is a %s", assignment,
                     show_kind_names[show->kind]);
            diag_help(show->diag, "write --set %sKEY=VALUE", show->prefix);
            is_good = false;
        } else {
            is_good = doc_set(show->arena, root, assignment, show->diag) && is_good;
        }
    }
    return is_good;
}

static bool read_model(struct show_part *show, struct scenario *scenario,
                       const struct doc_node *node)
{
    if (!model_read(node, &scenario->model, &scenario->assumptions, show->diag)) {
        return false;
    }
    show_figures_model(show->sheet, &scenario->model);
    return true;
}

static bool read_software(struct show_part *show, struct scenario *scenario,
                          const struct doc_node *node)
{
    if (!software_read(node, &scenario->software, &scenario->assumptions, show->diag)) {
        return false;
    }
    show_figures_software(show->sheet, &scenario->software);
    return true;
}

static bool read_library(struct show_part *show, struct scenario *scenario,
                         const struct doc_node *node)
{
    struct library *library = arena_alloc(show->arena, sizeof *library);
    if (!library_read(node, library, &scenario->assumptions, show->diag)) {
        return false;
    }
    show_figures_library(show->sheet, library);
    return true;
}

static bool read_gpu(struct show_part *show, struct scenario *scenario, const struct doc_node *node)
{
    if (!gpu_read(node, &scenario->gpu, &scenario->assumptions, show->diag)) {
        return false;
    }
    show_figures_gpu(show->sheet, &scenario->gpu);
    return true;
}

static bool read_nic(struct show_part *show, struct scenario *scenario, const struct doc_node *node)
{
    struct nic nic;
    if (!nic_read(node, &nic, &scenario->assumptions, show->diag)) {
        return false;
    }
    show_figures_nic(show->sheet, &nic);
    return true;
}

static bool read_recipe(struct show_part *show, struct scenario *scenario,
                        const struct doc_node *node)
{
    return recipe_read(node, &scenario->recipe, &scenario->assumptions, show->diag);
}

static bool read_failures(struct show_part *show, struct scenario *scenario,
                          const struct doc_node *node)
{
    return failures_read(node, &scenario->failures, &scenario->assumptions, show->diag);
}

static bool read_spot(struct show_part *show, struct scenario *scenario,
                      const struct doc_node *node)
{
    return spot_read(node, &scenario->spot, &scenario->assumptions, show->diag);
}

static bool read_prices(struct show_part *show, struct scenario *scenario,
                        const struct doc_node *node)
{
    struct price_list prices;
    return price_list_read(node, &prices, &scenario->assumptions, show->diag);
}

static bool read_optimizer(struct show_part *show, struct scenario *scenario,
                           const struct doc_node *node)
{
    return matrix_rule_read(node, &scenario->optimizer.matrices, &scenario->assumptions,
                            show->diag);
}

/* Its links include those of its GPUs, whose file is read too; their assumptions
 * are not the cluster's. */
static bool read_cluster(struct show_part *show, struct scenario *scenario,
                         const struct doc_node *node)
{
    struct cluster *cluster = &scenario->cluster;
    if (!cluster_read(node, cluster, &scenario->assumptions, show->diag)) {
        return false;
    }
    const int64_t nodes = show_nodes(cluster, show->nodes, show->diag);
    if (nodes == 0) {
        return false;
    }
    const struct doc_node *reference = doc_find(node, "gpu");
    struct gpu gpu;
    struct assumptions of_gpu;
    assumptions_init(&of_gpu, show->arena);
    if (reference != NULL) {
        const struct doc_node *file =
            catalogue_open(show->arena, show->catalogue, CATALOGUE_GPU, reference, show->diag);
        if (file == NULL || !gpu_read(file, &gpu, &of_gpu, show->diag)) {
            return false;
        }
    }
    show_figures_cluster(show->sheet, cluster, reference != NULL ? &gpu : NULL, nodes);
    const struct price_list *prices =
        price_list_open(show->arena, show->catalogue, PRICES_DEFAULT, diag_new(show->arena));
    if (prices != NULL) {
        show_bill(show->sheet, cluster, nodes, prices);
    }
    return true;
}

typedef bool part_function(struct show_part *show, struct scenario *scenario,
                           const struct doc_node *node);

static part_function *const parts[CATALOGUE_KIND_COUNT_] = {
    [CATALOGUE_MODEL] = read_model,         [CATALOGUE_CLUSTER] = read_cluster,
    [CATALOGUE_SOFTWARE] = read_software,   [CATALOGUE_GPU] = read_gpu,
    [CATALOGUE_LIBRARY] = read_library,     [CATALOGUE_NIC] = read_nic,
    [CATALOGUE_RECIPE] = read_recipe,       [CATALOGUE_FAILURES] = read_failures,
    [CATALOGUE_SPOT] = read_spot,           [CATALOGUE_PRICES] = read_prices,
    [CATALOGUE_OPTIMIZER] = read_optimizer,
};

bool show_part_read(struct show_part *show)
{
    struct arena *arena = show->arena;
    const char *key = catalogue_keys[show->kind];
    show->prefix = arena_printf(arena, "%s.", key);
    struct doc_node *root = open_part(show);
    if (root == NULL || !apply_sets(show, root)) {
        return false;
    }
    if (show->kind == CATALOGUE_CLUSTER &&
        !nic_settle(arena, show->catalogue, root->child, show->diag)) {
        return false;
    }
    struct scenario *scenario = arena_alloc(arena, sizeof *scenario);
    scenario->document = root;
    assumptions_init(&scenario->assumptions, arena);
    show->scenario = scenario;
    show->root = root->child;
    return parts[show->kind](show, scenario, root->child);
}

const struct doc_node *show_scenario(struct show_sheet *sheet, const struct scenario *scenario,
                                     const char *build)
{
    show_figures_scenario(sheet, scenario, build);
    return scenario->document;
}

void show_assumptions(struct show_sheet *sheet, const struct scenario *scenario)
{
    show_figures_assumptions(sheet, &scenario->assumptions);
}
