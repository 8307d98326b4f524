/* The document is copied, then changed step by step; each step needs what the
 * one before left: a --set without a dot may change which file is read, one
 * with a dot changes what was read, and cluster.gpu names the GPU.
 *
 * Nodes of doc.h are relinked here (a reference is replaced by what it stands
 * for, keys are put in order), which leaves their places as they were. Only nodes on the way to
 * what changes are copied; all else is shared with the document and with kept files.
 */
#include "input/resolve.h"

#include "input/features/software_choice.h"
#include "input/study/box.h"
#include "input/study/house.h"
#include "input/study/house_file.h"
#include "input/doc/leaves.h"
#include "input/failures/failures.h"
#include "input/job/matrix_rule_keys.h"
#include "input/library.h"
#include "input/network/nic.h"
#include "input/network/prices.h"
#include "input/recipe.h"
#include "input/scenario_keys.h"
#include "input/study/auto_keys.h"
#include "input/study/study_keys.h"

#include "base/arena.h"

#include <string.h>

/* Keys of any mapping that say where it comes from; the document keeps them behind its own. */
static const char *const origin_keys[] = {"source", "provenance"};
enum { ORIGIN_KEY_COUNT = 2 };

struct resolution {
    struct arena *arena;
    const struct resolve_input *input;
    struct doc_node *root;
    struct diag *diag;
    struct house_file *house; /* NULL: none */
};

#define NETWORK_PRICES "price.network.prices"
#define MATRICES "optimizer.matrices"

/* Which --set assignments a step applies. */
enum set_step { SET_TOP, SET_INNER, SET_GPU, SET_LIBRARY, SET_PRICES, SET_MATRICES };

/* The path ends at '='; without one, doc_set reports it in the first step. */
static enum set_step step_of_set(const char *assignment)
{
    const size_t path_length = strcspn(assignment, "=");
    if (memchr(assignment, '.', path_length) == NULL || assignment[path_length] == '\0') {
        return SET_TOP;
    }
    if (strncmp(assignment, "library.", 8) == 0) {
        return SET_LIBRARY;
    }
    if (strncmp(assignment, NETWORK_PRICES ".", sizeof NETWORK_PRICES) == 0) {
        return SET_PRICES;
    }
    if (strncmp(assignment, MATRICES ".", sizeof MATRICES) == 0) {
        return SET_MATRICES;
    }
    return strncmp(assignment, "gpu.", 4) == 0 ? SET_GPU : SET_INNER;
}

/* Keys of the whole run, which a stage cannot have otherwise. */
static bool is_of_run(const char *path)
{
    static const char *const keys[] = {"run",   "price",    "jobs",   "seed",    "anchor",
                                       "sweep", "variants", "search", "require", "defaults"};
    const size_t length = strcspn(path, ".");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strlen(keys[i]) == length && strncmp(path, keys[i], length) == 0) {
            return true;
        }
    }
    return false;
}

/* What the scenario has as a word gives way to a mapping as a whole. */
static bool is_word(const void *context, const char *path)
{
    const struct doc_node *written = doc_find(context, path);
    return written != NULL && written->kind == DOC_SCALAR;
}

/* The keys that a stage sets, in their order; what it may not is told in the first step. */
static bool apply_stage(const struct resolution *resolution, enum set_step step)
{
    struct arena *arena = resolution->arena;
    const struct doc_leaves leaves =
        doc_leaves_of(arena, resolution->input->stage_set, is_word, resolution->root);
    bool is_good = true;
    for (size_t i = 0; i < leaves.count; i++) {
        const struct doc_leaf *leaf = &leaves.items[i];
        if (is_of_run(leaf->path)) {
            if (step == SET_TOP) {
                diag_add(resolution->diag, DIAG_INPUT, &leaf->node->key_place,
                         "a stage cannot set '%s', which is of the whole run", leaf->path);
                diag_help(resolution->diag,
                          "it may set any key but those of run, price, jobs, seed and anchor");
            }
            is_good = false;
        } else if (step_of_set(arena_printf(arena, "%s=", leaf->path)) == step) {
            is_good = doc_put(arena, resolution->root, leaf->path, leaf->node, resolution->diag) &&
                      is_good;
        }
    }
    return is_good;
}

/* What is set by the command line, and then by the stage. */
static bool apply_sets(const struct resolution *resolution, enum set_step step)
{
    bool is_good = true;
    for (uint32_t i = 0; i < resolution->input->set_count; i++) {
        const char *assignment = resolution->input->sets[i];
        if (step_of_set(assignment) == step) {
            is_good = doc_set(resolution->arena, resolution->root, assignment, resolution->diag) &&
                      is_good;
        }
    }
    return (resolution->input->stage_set == NULL || apply_stage(resolution, step)) && is_good;
}

/* A scenario that is a stage of a run has no stages itself. */
static void leave_stages_out(const struct resolution *resolution)
{
    struct doc_node *run = *doc_link(resolution->root, "run");
    if (run != NULL && run->kind == DOC_MAPPING) {
        doc_own_children(resolution->arena, run);
        doc_drop(run, "stages");
    }
}

/* The same mapping with children of its own, below which all is shared. */
static struct doc_node *shared_copy(struct arena *arena, const struct doc_node *mapping)
{
    struct doc_node *copy = arena_alloc(arena, sizeof *copy);
    *copy = *mapping;
    copy->next = NULL;
    doc_own_children(arena, copy);
    return copy;
}

/* Puts `value` under `key`, in the place of what was there. */
static void put_child(struct doc_node *root, const char *key, struct doc_node *value)
{
    struct doc_node **link = doc_link(root, key);
    const struct doc_node *old = *link;
    value->key = key;
    value->key_place = old != NULL ? old->key_place : value->place;
    value->next = old != NULL ? old->next : NULL;
    *link = value;
}

/* Replaces the reference under the kind's key by the mapping it stands for. */
static bool put_reference(const struct resolution *resolution, enum catalogue_kind kind,
                          const struct doc_node *reference)
{
    struct doc_node *mapping = catalogue_open(resolution->arena, resolution->input->catalogue, kind,
                                              reference, resolution->diag);
    if (mapping == NULL) {
        return false;
    }
    put_child(resolution->root, catalogue_keys[kind], mapping);
    return true;
}

static bool put_required(const struct resolution *resolution, enum catalogue_kind kind)
{
    return put_reference(resolution, kind, *doc_link(resolution->root, catalogue_keys[kind]));
}

/* Whether something below the key is set yet, which is done when files have been put. */
static bool is_set_inside(const struct resolution *resolution, const char *key)
{
    const size_t length = strlen(key);
    for (uint32_t i = 0; i < resolution->input->set_count; i++) {
        const char *set = resolution->input->sets[i];
        if (strncmp(set, key, length) == 0 && set[length] == '.') {
            return true;
        }
    }
    return false;
}

/* All that a scenario lacks, at once: what its files hold is of no use before. What is no file may
 * come from a recipe, or key by key. */
static bool require_keys(const struct resolution *resolution)
{
    const bool has_recipe = *doc_link(resolution->root, catalogue_keys[CATALOGUE_RECIPE]) != NULL;
    bool is_good = true;
    for (uint32_t i = 0; i < scenario_schema.count; i++) {
        const struct schema_row *row = &scenario_schema.rows[i];
        const bool may_come =
            row->kind != SCHEMA_CUSTOM && (has_recipe || is_set_inside(resolution, row->path));
        if (row->is_required && schema_is_top(row) && !may_come &&
            *doc_link(resolution->root, row->path) == NULL) {
            schema_miss(row, &resolution->root->place, resolution->diag);
            is_good = false;
        }
    }
    return is_good;
}

/* The scenario's own gpu goes before the cluster's; NULL: neither names one. */
static const struct doc_node *gpu_reference(const struct resolution *resolution)
{
    const struct doc_node *own = *doc_link(resolution->root, "gpu");
    const struct doc_node *cluster = *doc_link(resolution->root, "cluster");
    return own != NULL || cluster == NULL || cluster->kind != DOC_MAPPING
               ? own
               : doc_find(cluster, "gpu");
}

static bool put_software(const struct resolution *resolution)
{
    struct arena *arena = resolution->arena;
    const struct catalogue *catalogue = resolution->input->catalogue;
    const struct doc_node *reference = *doc_link(resolution->root, "software");
    if (reference != NULL) {
        return put_reference(resolution, CATALOGUE_SOFTWARE, reference);
    }
    const struct doc_node *gpu = gpu_reference(resolution);
    const struct doc_node *mapping =
        gpu != NULL ? catalogue_open(arena, catalogue, CATALOGUE_GPU, gpu, diag_new(arena)) : NULL;
    const struct doc_node by_default = {
        .kind = DOC_SCALAR,
        .text = software_choice(arena, catalogue, mapping,
                                schema_find(&scenario_schema, "software")->standard)};
    return put_reference(resolution, CATALOGUE_SOFTWARE, &by_default);
}

/* What an opened file sets has been set; a part of it that --set names would come too late. */
static bool check_whole(const struct resolution *resolution, const char *key, const char *what,
                        const char *other)
{
    const size_t length = strlen(key);
    for (uint32_t i = 0; i < resolution->input->set_count; i++) {
        const char *assignment = resolution->input->sets[i];
        if (strncmp(assignment, key, length) == 0 && assignment[length] == '.') {
            diag_add(resolution->diag, DIAG_USAGE, NULL, "--set %.60s: %s taken whole", assignment,
                     what);
            diag_help(resolution->diag, "set the key itself, or %s", other);
            return false;
        }
    }
    return true;
}

/* What the recipe sets and the scenario does not; `own` is the scenario without its files. */
static bool put_recipe(const struct resolution *resolution, const struct doc_node *own)
{
    struct arena *arena = resolution->arena;
    const struct doc_node *reference = *doc_link(resolution->root, "recipe");
    if (reference == NULL) {
        return true;
    }
    struct doc_node *recipe =
        recipe_open(arena, resolution->input->catalogue, reference, resolution->diag);
    if (recipe == NULL || !check_whole(resolution, "recipe", "a recipe is", "another recipe")) {
        return false;
    }
    put_child(resolution->root, catalogue_keys[CATALOGUE_RECIPE], recipe);
    recipe_apply(arena, recipe, own, resolution->root);
    return true;
}

/* ---- a house's defaults ---- */

static const char HOUSE[] = "defaults";

/* All that it names is in it: what an environment says means nothing to it. */
static bool is_resolved(const struct doc_node *document)
{
    static const enum catalogue_kind kinds[] = {
        CATALOGUE_MODEL, CATALOGUE_CLUSTER, CATALOGUE_SOFTWARE, CATALOGUE_GPU, CATALOGUE_LIBRARY};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct doc_node *file = doc_find(document, catalogue_keys[kinds[i]]);
        if (file == NULL || file->kind != DOC_MAPPING) {
            return false;
        }
    }
    return true;
}

/* The house that the scenario names, or the environment. */
static bool open_house(struct resolution *resolution)
{
    const struct resolve_input *input = resolution->input;
    const struct doc_node *reference = *doc_link(resolution->root, HOUSE);
    const struct doc_node of_environment = {.kind = DOC_SCALAR,
                                            .text = input->catalogue->house,
                                            .place = {.file = CATALOGUE_HOUSE_VARIABLE}};
    if (reference == NULL && input->catalogue->house != NULL && !is_resolved(input->document)) {
        reference = &of_environment;
    }
    if (reference == NULL || doc_is(reference, HOUSE_NONE)) {
        return true;
    }
    if (!check_whole(resolution, HOUSE, "a house's defaults are", "another file")) {
        return false;
    }
    resolution->house =
        house_open(resolution->arena, input->catalogue, reference, resolution->diag);
    if (resolution->house != NULL) {
        house_put(resolution->house, HOUSE_CLUSTER, resolution->root, resolution->root);
    }
    return resolution->house != NULL;
}

/* What a name, a path or a mapping of a file is called there. */
static const char *name_of(const struct resolution *resolution, const struct doc_node *reference,
                           const char *key)
{
    const char *name = reference == NULL                ? NULL
                       : reference->kind == DOC_MAPPING ? doc_find_text(reference, key)
                       : reference->kind == DOC_SCALAR  ? reference->text
                                                        : NULL;
    return name != NULL ? catalogue_base_name(resolution->arena, name) : NULL;
}

/* Of the scenario, or the cluster as it will be set. */
static const char *gpu_name(const struct resolution *resolution)
{
    const struct resolve_input *input = resolution->input;
    const struct doc_node *stage =
        input->stage_set != NULL ? doc_find(input->stage_set, "cluster.gpu") : NULL;
    const char *set = doc_set_last(input->sets, input->set_count, "cluster.gpu");
    const bool is_own = *doc_link(resolution->root, "gpu") != NULL;
    return !is_own && stage != NULL ? name_of(resolution, stage, "gpu")
           : !is_own && set != NULL ? catalogue_base_name(resolution->arena, set)
                                    : name_of(resolution, gpu_reference(resolution), "gpu");
}

static void put_house(const struct resolution *resolution, enum house_part part,
                      const struct doc_node *own)
{
    if (resolution->house != NULL) {
        house_put(resolution->house, part, own, resolution->root);
    }
}

static void settle_house(const struct resolution *resolution, enum house_part part)
{
    if (resolution->house != NULL) {
        house_settle(resolution->house, part, resolution->root);
    }
}

/* With what it says for this GPU and this cluster, which have been put. */
static bool choose_house(const struct resolution *resolution, const struct doc_node *own)
{
    if (resolution->house == NULL) {
        return true;
    }
    const struct doc_node *cluster = *doc_link(resolution->root, "cluster");
    const bool is_good =
        house_choose(resolution->house, resolution->input->catalogue, gpu_name(resolution),
                     name_of(resolution, cluster, "cluster"), resolution->diag);
    put_house(resolution, HOUSE_NAMES, own);
    return is_good;
}

static bool close_house(const struct resolution *resolution)
{
    if (resolution->house != NULL) {
        put_child(resolution->root, HOUSE,
                  house_applied(resolution->house, resolution->input->sets,
                                resolution->input->set_count));
    }
    return true;
}

/* ---- the box ---- */

static const char BOX[] = "box";

/* The box that a path stands for is put where the scenario names it. */
static bool open_box(const struct resolution *resolution)
{
    const struct doc_node *reference = *doc_link(resolution->root, BOX);
    if (reference == NULL) {
        return true;
    }
    struct doc_node *box =
        box_open(resolution->arena, resolution->input->catalogue, reference, resolution->diag);
    if (box == NULL) {
        return false;
    }
    put_child(resolution->root, BOX, box);
    return true;
}

/* What the box sets in one of the files, which has been put. */
static bool put_box(const struct resolution *resolution, const char *file)
{
    const struct doc_node *box = *doc_link(resolution->root, BOX);
    return box == NULL ||
           box_apply(resolution->arena, box, file, resolution->root, resolution->diag);
}

/* What has been set would be set again, over --set, by who reads the resolved document. */
static bool close_box(const struct resolution *resolution)
{
    const struct doc_node *box = *doc_link(resolution->root, BOX);
    if (box != NULL) {
        put_child(resolution->root, BOX, box_applied(resolution->arena, box));
    }
    return true;
}

static bool put_gpu(const struct resolution *resolution)
{
    const struct doc_node *cluster = *doc_link(resolution->root, "cluster");
    const struct doc_node *reference = gpu_reference(resolution);
    if (reference == NULL) {
        diag_add(resolution->diag, DIAG_INPUT, &cluster->place, "missing key 'gpu'");
        diag_help(resolution->diag, "the cluster or the scenario names its GPU");
        return false;
    }
    return put_reference(resolution, CATALOGUE_GPU, reference);
}

/* The scenario's own library goes before the cluster's, and that before the newest. */
static bool put_library(const struct resolution *resolution)
{
    const struct doc_node *cluster = *doc_link(resolution->root, "cluster");
    const struct doc_node *reference = *doc_link(resolution->root, "library");
    const struct doc_node by_default = {.kind = DOC_SCALAR,
                                        .text = schema_find(&scenario_schema, "library")->standard};
    if (reference == NULL) {
        reference = doc_find(cluster, "collectives.library");
    }
    struct doc_node *mapping =
        library_open(resolution->arena, resolution->input->catalogue,
                     reference != NULL ? reference : &by_default, resolution->diag);
    if (mapping == NULL) {
        return false;
    }
    put_child(resolution->root, catalogue_keys[CATALOGUE_LIBRARY], mapping);
    return true;
}

/* A regular file that `text` means: beside the file that names it, or as it is. NULL and a
 * message when there is none. */
static const char *find_beside(const struct resolution *resolution, const struct doc_node *node,
                               const char *what)
{
    const char *path = catalogue_path_beside(resolution->arena, resolution->input->catalogue,
                                             &node->place, node->text);
    if (doc_files_exist(resolution->input->catalogue->files, path)) {
        return path;
    }
    diag_add(resolution->diag, DIAG_INPUT, &node->place, "there is no file '%.60s'", node->text);
    diag_help(resolution->diag,
              "%s is looked for beside this file, then in "
              "the current directory",
              what);
    return NULL;
}

static bool is_schedule_path(const struct doc_node *node)
{
    static const char suffix[] = ".yaml";
    const size_t suffix_length = sizeof suffix - 1;
    const size_t length = node->kind == DOC_SCALAR ? strlen(node->text) : 0;
    return length > suffix_length && strcmp(node->text + length - suffix_length, suffix) == 0;
}

/* A schedule that is the path of a file gives way to what the file holds. */
static bool put_schedule(const struct resolution *resolution)
{
    struct doc_node *parallel = *doc_link(resolution->root, "parallel");
    const struct doc_node *reference =
        parallel != NULL && parallel->kind == DOC_MAPPING ? doc_find(parallel, "schedule") : NULL;
    if (reference == NULL || !is_schedule_path(reference)) {
        return true;
    }
    const char *path = find_beside(resolution, reference, "a schedule");
    struct doc_node *mapping = path != NULL
                                   ? doc_files_load(resolution->input->catalogue->files,
                                                    resolution->arena, path, resolution->diag)
                                   : NULL;
    if (mapping == NULL) {
        return false;
    }
    if (mapping->kind != DOC_MAPPING) {
        return diag_add(resolution->diag, DIAG_INPUT, &mapping->place,
                        "a schedule file holds keys and values");
    }
    doc_own_children(resolution->arena, parallel);
    put_child(parallel, "schedule", mapping);
    return true;
}

/* Failures, and nodes on spot, that are a name, a path or, where there is a default, `true` give
 * way to what the file holds; a mapping is itself, and false says that nothing fails. */
static bool put_failing(const struct resolution *resolution, enum catalogue_kind kind,
                        const char *standard)
{
    struct doc_node *run = *doc_link(resolution->root, "run");
    const char *key = catalogue_keys[kind];
    const struct doc_node *reference =
        run != NULL && run->kind == DOC_MAPPING ? doc_find(run, key) : NULL;
    if (reference == NULL || reference->kind == DOC_MAPPING || doc_is(reference, "false")) {
        return true;
    }
    struct doc_node named = *reference;
    if (standard != NULL && doc_is(&named, "true")) {
        named.text = standard;
    }
    struct doc_node *mapping = catalogue_open(resolution->arena, resolution->input->catalogue, kind,
                                              &named, resolution->diag);
    if (mapping == NULL) {
        return false;
    }
    doc_own_children(resolution->arena, run);
    put_child(run, key, mapping);
    return true;
}

/* Who owns GPUs and does not say what share of them the network costs pays its parts. */
static bool asks_for_prices(const struct doc_node *root)
{
    const struct doc_node *own = doc_find(root, "price.own");
    const bool is_off =
        own == NULL || doc_is(own, "") || doc_is(own, "off") || doc_is(own, "false");
    return !is_off && doc_find(root, "price.own.network") == NULL;
}

/* Prices of a network's parts that are a name or a path give way to what the file holds. A
 * catalogue without the usual ones has none. */
static bool put_prices(const struct resolution *resolution)
{
    struct arena *arena = resolution->arena;
    const struct catalogue *catalogue = resolution->input->catalogue;
    const struct doc_node *said = doc_find(resolution->root, NETWORK_PRICES);
    if (said != NULL ? said->kind == DOC_MAPPING : !asks_for_prices(resolution->root)) {
        return true;
    }
    const struct doc_node by_default = {.kind = DOC_SCALAR, .text = PRICES_DEFAULT};
    const struct doc_node *mapping =
        catalogue_open(arena, catalogue, CATALOGUE_PRICES, said != NULL ? said : &by_default,
                       said != NULL ? resolution->diag : diag_new(arena));
    return mapping != NULL
               ? doc_put(arena, resolution->root, NETWORK_PRICES, mapping, resolution->diag)
               : said == NULL;
}

/* A rule of matrices that is a name or a path gives way to what the file holds. */
static bool put_matrices(const struct resolution *resolution)
{
    const struct doc_node *said = doc_find(resolution->root, MATRICES);
    if (said == NULL || said->kind == DOC_MAPPING || doc_is(said, MATRIX_RULE_NONE)) {
        return true;
    }
    const struct doc_node *mapping = catalogue_open(resolution->arena, resolution->input->catalogue,
                                                    CATALOGUE_OPTIMIZER, said, resolution->diag);
    return mapping != NULL &&
           doc_put(resolution->arena, resolution->root, MATRICES, mapping, resolution->diag);
}

static void take_top_keys(struct doc_map *map, const struct schema *schema)
{
    for (uint32_t i = 0; i < schema->count; i++) {
        const struct schema_row *row = &schema->rows[i];
        if (schema_is_top(row)) {
            doc_take(map, schema_key(row));
        }
    }
}

/* Unknown keys are reported even when a file is missing. */
static bool check_keys(const struct resolution *resolution)
{
    struct doc_map map;
    if (!doc_map_open(&map, resolution->root, resolution->diag)) {
        return false;
    }
    take_top_keys(&map, &scenario_schema);
    for (uint32_t i = 0; i < ORIGIN_KEY_COUNT; i++) {
        doc_take(&map, origin_keys[i]);
    }
    take_top_keys(&map, &study_schema);
    doc_take(&map, "note");
    map.elsewhere = scenario_nearest_key;
    map.arena = resolution->arena;
    const struct doc_node *search = doc_find(resolution->root, "search");
    const bool is_good = study_check_search(resolution->arena, search, resolution->diag);
    return doc_finish(&map) && is_good;
}

/* Puts a copy of the child under `key`, if there is one, into the link; returns the next. */
static struct doc_node **link_copy(struct arena *arena, const struct doc_node *root,
                                   const char *key, struct doc_node **link)
{
    struct doc_node *child = doc_find(root, key);
    if (child == NULL) {
        return link;
    }
    *link = arena_alloc(arena, sizeof *child);
    **link = *child;
    return &(*link)->next;
}

/* The same children in the order of the schema, the others left out. */
static struct doc_node *in_order(struct arena *arena, const struct doc_node *root)
{
    struct doc_node *ordered = arena_alloc(arena, sizeof *ordered);
    *ordered = *root;
    struct doc_node **link = &ordered->child;
    for (uint32_t i = 0; i < scenario_schema.count; i++) {
        const struct schema_row *row = &scenario_schema.rows[i];
        if (schema_is_top(row)) {
            link = link_copy(arena, root, row->path, link);
        }
    }
    for (uint32_t i = 0; i < ORIGIN_KEY_COUNT; i++) {
        link = link_copy(arena, root, origin_keys[i], link);
    }
    *link = NULL;
    return ordered;
}

static bool apply_inner_sets(const struct resolution *resolution)
{
    const bool is_good = apply_sets(resolution, SET_INNER);
    settle_house(resolution, HOUSE_BODY);
    return nic_settle(resolution->arena, resolution->input->catalogue,
                      *doc_link(resolution->root, "cluster"), resolution->diag) &&
           is_good;
}

/* A part with its own keys on top: the file's, the house's, the box's, what is set. */
static bool put_gpu_whole(const struct resolution *resolution, const struct doc_node *own)
{
    if (!put_gpu(resolution)) {
        return false;
    }
    put_house(resolution, HOUSE_GPU, own);
    const bool is_good = put_box(resolution, "gpu") && apply_sets(resolution, SET_GPU);
    settle_house(resolution, HOUSE_GPU);
    return is_good;
}

static bool put_library_whole(const struct resolution *resolution, const struct doc_node *own)
{
    if (!put_library(resolution)) {
        return false;
    }
    put_house(resolution, HOUSE_LIBRARY, own);
    const bool is_good = apply_sets(resolution, SET_LIBRARY);
    settle_house(resolution, HOUSE_LIBRARY);
    return is_good;
}

/* An inner --set would only trip over a file that could not be read, so the
 * later steps wait for all of these. */
static bool put_files(const struct resolution *resolution)
{
    const struct doc_node *own = shared_copy(resolution->arena, resolution->root);
    bool is_good = put_required(resolution, CATALOGUE_MODEL);
    is_good = put_required(resolution, CATALOGUE_CLUSTER) && is_good;
    is_good = is_good && choose_house(resolution, own);
    is_good = put_software(resolution) && is_good;
    if (!is_good) {
        return false;
    }
    put_house(resolution, HOUSE_BODY, own);
    return put_recipe(resolution, own) && open_box(resolution) && put_box(resolution, "software") &&
           put_box(resolution, "cluster") && apply_inner_sets(resolution) &&
           put_schedule(resolution) &&
           put_failing(resolution, CATALOGUE_FAILURES, FAILURES_DEFAULT) &&
           put_failing(resolution, CATALOGUE_SPOT, NULL) && put_gpu_whole(resolution, own) &&
           put_library_whole(resolution, own) && put_prices(resolution) &&
           apply_sets(resolution, SET_PRICES) && put_matrices(resolution) &&
           apply_sets(resolution, SET_MATRICES) && close_box(resolution) && close_house(resolution);
}

/* A house's file has neither model nor batch, and a name where a scenario has a path. */
static bool check_not_house(const struct doc_node *document, struct diag *diag)
{
    const struct doc_node *house = doc_find(document, HOUSE);
    if (house == NULL || house != document->child || doc_find(document, "model") != NULL ||
        doc_find(document, "batch") != NULL || doc_find(document, "gpus") != NULL) {
        return true;
    }
    diag_add(diag, DIAG_INPUT, &house->key_place, "these are a house's defaults, not a scenario");
    diag_help(diag, "a scenario names them: defaults: %s", house->key_place.file);
    return false;
}

/* Keys and values, and not of a portfolio, which is taken for a scenario easily. */
static bool check_kind(const struct doc_node *document, struct diag *diag)
{
    if (document->kind != DOC_MAPPING) {
        diag_add(diag, DIAG_INPUT, &document->place, "a scenario holds keys and values");
        diag_help(diag, "it begins like 'model: NAME'; see `stoker show`");
        return false;
    }
    const struct doc_node *portfolio = doc_find(document, "portfolio");
    if (portfolio == NULL) {
        return check_not_house(document, diag);
    }
    diag_add(diag, DIAG_INPUT, &portfolio->key_place, "this is a portfolio, not a scenario");
    diag_help(diag, "sweep it with `stoker sweep --portfolio %s`", portfolio->key_place.file);
    return false;
}

/* The resolved document, but for the jobs beside it. */
static struct doc_node *resolve_alone(struct arena *arena, const struct resolve_input *input,
                                      struct diag *diag)
{
    sim_assert(input->document != NULL);
    if (!check_kind(input->document, diag)) {
        return NULL;
    }
    struct doc_node *root = shared_copy(arena, input->document);
    struct resolution resolution = {arena, input, root, diag, NULL};
    bool is_good = apply_sets(&resolution, SET_TOP);
    auto_keys_expand(arena, root);
    const bool has_house = open_house(&resolution);
    is_good = require_keys(&resolution) && has_house && put_files(&resolution) && is_good;
    is_good = check_keys(&resolution) && is_good;
    is_good = auto_keys_refuse(arena, root, diag) && is_good;
    if (input->is_stage) {
        leave_stages_out(&resolution);
    }
    return is_good ? in_order(arena, root) : NULL;
}

/* ---- jobs that share the fabric ---- */

/* The document that a job's `scenario` stands for: a path beside this file, or a mapping. */
static struct doc_node *open_job(const struct resolution *resolution,
                                 const struct doc_node *reference)
{
    if (reference->kind == DOC_MAPPING) {
        return doc_copy(resolution->arena, reference);
    }
    if (reference->kind != DOC_SCALAR || reference->text[0] == '\0') {
        diag_add(resolution->diag, DIAG_INPUT, &reference->place,
                 "a job's scenario is the path of a file, or a mapping");
        return NULL;
    }
    const char *path = find_beside(resolution, reference, "a job's scenario");
    return path != NULL ? doc_files_load(resolution->input->catalogue->files, resolution->arena,
                                         path, resolution->diag)
                        : NULL;
}

/* A job runs on this scenario's cluster; all else is its own. */
static bool put_job(const struct resolution *resolution, struct doc_node *entry)
{
    static const char *const shared[] = {"cluster", "gpu", "library"};
    const struct doc_node *reference =
        entry->kind == DOC_MAPPING ? doc_find(entry, "scenario") : NULL;
    if (reference == NULL) {
        diag_add(resolution->diag, DIAG_INPUT, &entry->place, "a job names its scenario");
        diag_help(resolution->diag, "write it like [{scenario: other.yaml, placement: spread}]");
        return false;
    }
    struct doc_node *job = open_job(resolution, reference);
    if (job == NULL) {
        return false;
    }
    const struct doc_node *nested = job->kind == DOC_MAPPING ? doc_find(job, "jobs") : NULL;
    if (nested != NULL) {
        diag_add(resolution->diag, DIAG_INPUT, &nested->place, "a job has no jobs of its own");
        diag_help(resolution->diag, "list all jobs in the scenario that is run");
        return false;
    }
    doc_own_children(resolution->arena, job);
    for (uint32_t i = 0; job->kind == DOC_MAPPING && i < 3; i++) {
        const struct doc_node *own = *doc_link(resolution->root, shared[i]);
        put_child(job, shared[i], doc_copy(resolution->arena, own));
    }
    struct resolve_input input = *resolution->input;
    input.document = job;
    input.set_count = 0;
    struct doc_node *resolved = resolve_alone(resolution->arena, &input, resolution->diag);
    if (resolved == NULL) {
        return false;
    }
    doc_own_children(resolution->arena, entry);
    put_child(entry, "scenario", resolved);
    return true;
}

static bool put_jobs(const struct resolution *resolution)
{
    struct doc_node *jobs = *doc_link(resolution->root, "jobs");
    if (jobs == NULL || jobs->kind != DOC_SEQUENCE) {
        return true; /* another kind is reported by its reader */
    }
    bool is_good = true;
    doc_own_children(resolution->arena, jobs);
    for (struct doc_node *entry = jobs->child; entry != NULL; entry = entry->next) {
        is_good = put_job(resolution, entry) && is_good;
    }
    return is_good;
}

struct doc_node *resolve_document(struct arena *arena, const struct resolve_input *input,
                                  struct diag *diag)
{
    struct doc_node *root = resolve_alone(arena, input, diag);
    if (root == NULL) {
        return NULL;
    }
    const struct resolution resolution = {arena, input, root, diag, NULL};
    return put_jobs(&resolution) ? root : NULL;
}
