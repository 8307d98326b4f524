/* The file is taken apart into leaves, each of which is put under its path when the part of the
 * scenario is there that it is in. Which of them hold is known when all that goes before has been
 * put: those whose place is still the house's.
 */
#include "input/study/house_file.h"

#include "input/doc/leaves.h"
#include "input/scenario_keys.h"
#include "input/study/house.h"
#include "input/study/stated.h"

#include "base/arena.h"

#include <stdio.h>
#include <string.h>

/* ---- opening ------------------------------------------------------------------------------ */

struct house_leaf {
    const struct doc_node *value; /* its key is its whole path */
    bool is_put;
};

struct house_file {
    struct arena *arena;
    const struct doc_node *node; /* the file's */
    const char *name;
    bool is_applied; /* before, of a resolved document */
    struct house_leaf *leaves;
    size_t count, capacity;
};

/* What is a value although it is a mapping. */
static bool is_whole(const void *context, const char *path)
{
    (void)context;
    return strcmp(path, "run.failures") == 0 || strcmp(path, "run.spot") == 0 ||
           strcmp(path, "for") == 0;
}

static const char *last_word(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL ? dot + 1 : path;
}

/* Keys of any mapping that say where it comes from. */
static bool says_origin(const char *path)
{
    static const char *const words[] = {"source", "provenance", "note"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(last_word(path), words[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* What a job or a study is, no house says. */
static const char *why_refused(const char *path)
{
    static const char of_job[] = "it makes the job: the scenario says it, or --set";
    static const char of_study[] = "it makes the study: the scenario says it, or --set";
    static const char of_file[] = "it names the file that holds it; keys in that file may be set";
    static const struct {
        const char *key, *why;
        bool is_alone; /* keys below it may be set */
    } refused[] = {
        {"scenario", of_job, false},
        {"model", of_job, false},
        {"recipe", "a recipe is what a job has switched on: set keys of software in its place",
         false},
        {"gpus", of_job, false},
        {"parallel", of_job, false},
        {"batch", of_job, false},
        {"precision", of_job, false},
        {"recompute", of_job, false},
        {"optimizer", of_job, false},
        {"offload", of_job, false},
        {"loss", of_job, false},
        {"routing", of_job, false},
        {"lora", of_job, false},
        {"slow", of_job, false},
        {"replaced", of_job, false},
        {"anchor", of_job, false},
        {"jobs", of_job, false},
        {"run.tokens", of_job, false},
        {"run.stages", of_job, false},
        {"run.step_time", of_job, false},
        {"seed", of_study, false},
        {"ideal", of_study, false},
        {"sweep", of_study, false},
        {"variants", of_study, false},
        {"search", of_study, false},
        {"require", of_study, false},
        {"gpu", "a cluster or a scenario names its GPU; keys of gpu may be set, as gpu.tdp", true},
        {"cluster.gpu", "a cluster or a scenario names its GPU", false},
        {"gpu.gpu", of_file, false},
        {"cluster.cluster", of_file, false},
        {"software.software", of_file, false},
        {"library.library", of_file, false},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (refused[i].is_alone ? strcmp(path, refused[i].key) == 0
                                : stated_below(path, refused[i].key)) {
            return refused[i].why;
        }
    }
    return NULL;
}

static bool check_leaf(struct arena *arena, const struct doc_leaf *leaf, struct diag *diag)
{
    const char *why = why_refused(leaf->path);
    if (why != NULL) {
        diag_add(diag, DIAG_INPUT, &leaf->node->key_place, "a house's defaults cannot set '%s'",
                 leaf->path);
        diag_help(diag, "%s", why);
        return false;
    }
    const struct schema_row *row = scenario_key_find(leaf->path, NULL);
    if (row != NULL && row->kind == SCHEMA_SECTION && leaf->node->kind != DOC_MAPPING) {
        diag_add(diag, DIAG_INPUT, &leaf->node->place, "'%s' is a section, of keys and values",
                 leaf->path);
        diag_help(diag, "write the keys that hold, as price: {gpu_hour: 2.10 USD}");
        return false;
    }
    if (row != NULL) {
        return true;
    }
    const char *nearest = scenario_nearest_key(arena, leaf->path);
    diag_add(diag, DIAG_INPUT, &leaf->node->key_place, "a scenario has no key '%s'", leaf->path);
    if (nearest != NULL) {
        diag_help(diag, "did you mean '%s'?", nearest);
    } else {
        diag_help(diag, "`stoker list keys` has all of them");
    }
    return false;
}

/* The source of a value that nobody measured or wrote down: of the innermost mapping around it that
 * says so. */
static const char *assumed_reason(struct arena *arena, const struct doc_node *file,
                                  const char *path)
{
    const struct doc_node *around = file;
    for (const char *dot = strchr(path, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
        const struct doc_node *inner =
            doc_find(file, arena_strndup(arena, path, (size_t)(dot - path)));
        around = inner != NULL && doc_find(inner, "provenance") != NULL ? inner : around;
    }
    const char *provenance = doc_find_text(around, "provenance");
    const char *source = doc_find_text(around, "source");
    if (provenance == NULL || strcmp(provenance, "assumed") != 0) {
        return NULL;
    }
    return source != NULL ? source : "";
}

static struct house_leaf *find_leaf(const struct house_file *house, const char *path)
{
    for (size_t i = 0; i < house->count; i++) {
        if (strcmp(house->leaves[i].value->key, path) == 0) {
            return &house->leaves[i];
        }
    }
    return NULL;
}

/* The leaf under its whole path; what stands there already gives way. */
static void take_leaf(struct house_file *house, const struct doc_node *file,
                      const struct doc_leaf *leaf)
{
    struct arena *arena = house->arena;
    struct doc_node *value = doc_copy(arena, leaf->node);
    value->key = leaf->path;
    value->next = NULL;
    value->assumed = assumed_reason(arena, file, leaf->path);
    struct house_leaf *there = find_leaf(house, leaf->path);
    if (there == NULL) {
        house->leaves = arena_grow(arena, house->leaves, &house->capacity, house->count + 1,
                                   sizeof *house->leaves);
        there = &house->leaves[house->count++];
    }
    *there = (struct house_leaf){.value = value};
}

static bool check_twice(const struct house_file *house, size_t from, const struct doc_leaf *leaf,
                        struct diag *diag)
{
    const struct house_leaf *there = find_leaf(house, leaf->path);
    if (there == NULL || (size_t)(there - house->leaves) < from) {
        return true;
    }
    diag_add(diag, DIAG_INPUT, &leaf->node->key_place, "'%s' is there twice", leaf->path);
    diag_help(diag, "it stands in line %u already; keep one of them", there->value->key_place.line);
    return false;
}

/* All keys of a mapping of it; those of the file itself, or of an entry of `for`. */
static bool take_leaves(struct house_file *house, const struct doc_node *mapping,
                        const struct schema *own, struct diag *diag)
{
    const struct doc_leaves leaves = doc_leaves_of(house->arena, mapping, is_whole, NULL);
    const size_t from = own != NULL ? house->count : SIZE_MAX;
    bool is_good = true;
    for (size_t i = 0; i < leaves.count; i++) {
        const struct doc_leaf *leaf = &leaves.items[i];
        if ((own != NULL && schema_find(own, leaf->path) != NULL) || says_origin(leaf->path)) {
            continue;
        }
        if (check_leaf(house->arena, leaf, diag) && check_twice(house, from, leaf, diag)) {
            take_leaf(house, mapping, leaf);
        } else {
            is_good = false;
        }
    }
    return is_good;
}

/* The entries of `for` by themselves, whether they will be taken or not. */
static bool check_entries(const struct house_file *house, struct diag *diag)
{
    const struct doc_node *entries = doc_find(house->node, "for");
    if (entries == NULL) {
        return true;
    }
    static const char example[] = "write it like for: {b200-sxm: {price.gpu_hour: 3.40 USD}}";
    if (entries->kind != DOC_MAPPING) {
        diag_add(diag, DIAG_INPUT, &entries->place, "for holds GPUs or clusters, and keys of each");
        diag_help(diag, "%s", example);
        return false;
    }
    bool is_good = true;
    for (const struct doc_node *entry = entries->child; entry != NULL; entry = entry->next) {
        if (entry->kind != DOC_MAPPING) {
            diag_add(diag, DIAG_INPUT, &entry->place, "what holds for '%.60s' is keys and values",
                     entry->key);
            diag_help(diag, "%s", example);
            is_good = false;
            continue;
        }
        struct house_file unused = {.arena = house->arena};
        is_good = take_leaves(&unused, entry, &(struct schema){.count = 0}, diag) && is_good;
    }
    return is_good;
}

/* Beside the file that names it, or as it is. */
static const struct doc_node *load(struct arena *arena, const struct catalogue *catalogue,
                                   const struct doc_node *reference, struct diag *diag)
{
    if (reference->kind != DOC_SCALAR) {
        return reference;
    }
    const char *path = catalogue_path_beside(arena, catalogue, &reference->place, reference->text);
    if (doc_files_exist(catalogue->files, path)) {
        return doc_files_load(catalogue->files, arena, path, diag);
    }
    diag_add(diag, DIAG_INPUT, &reference->place, "there is no file '%.60s'", reference->text);
    diag_help(diag, "a house's defaults are looked for beside this file, then in the current "
                    "directory; `defaults: none` is without");
    return NULL;
}

/* Its own keys. What stoker writes of one that was applied stands alone. */
static bool check_own(const struct doc_node *node, struct diag *diag)
{
    const struct doc_node *name = doc_find(node, "defaults");
    const struct doc_node *gives = doc_find(node, HOUSE_GIVES);
    if (name != NULL && name->kind != DOC_SCALAR) {
        diag_add(diag, DIAG_INPUT, &name->place, "what a house is called is a text");
        diag_help(diag, "write it like defaults: our-house");
        return false;
    }
    for (const struct doc_node *child = node->child; gives != NULL && child != NULL;
         child = child->next) {
        if (gives->kind != DOC_MAPPING || schema_find(&house_keys, child->key) == NULL ||
            strcmp(child->key, "for") == 0) {
            diag_add(diag, DIAG_INPUT, &gives->key_place,
                     "gives is what stoker writes of defaults that were put in");
            diag_help(diag, "leave it out; keys that hold stand beside each other, as price: "
                            "{gpu_hour: 2.10 USD}");
            return false;
        }
    }
    return true;
}

struct house_file *house_open(struct arena *arena, const struct catalogue *catalogue,
                              const struct doc_node *reference, struct diag *diag)
{
    const struct doc_node *node = load(arena, catalogue, reference, diag);
    if (node == NULL) {
        return NULL;
    }
    if (node->kind != DOC_MAPPING) {
        diag_add(diag, DIAG_INPUT, &node->place, "a house's defaults are keys and values");
        diag_help(diag, "write them like price: {gpu_hour: 2.10 USD}");
        return NULL;
    }
    if (!check_own(node, diag)) {
        return NULL;
    }
    struct house_file *house = arena_alloc(arena, sizeof *house);
    const char *name = doc_find_text(node, "defaults");
    *house = (struct house_file){.arena = arena, .node = node, .name = name};
    house->is_applied = doc_find(node, HOUSE_GIVES) != NULL;
    if (name == NULL) {
        house->name =
            reference->kind == DOC_SCALAR ? catalogue_base_name(arena, reference->text) : "inline";
    }
    const bool is_good = house->is_applied || take_leaves(house, node, &house_keys, diag);
    return check_entries(house, diag) && is_good ? house : NULL;
}

/* ---- by GPU and cluster ------------------------------------------------------------------- */

static bool check_name(const struct house_file *house, const struct catalogue *catalogue,
                       const struct doc_node *entry, struct diag *diag)
{
    struct arena *arena = house->arena;
    static const enum catalogue_kind kinds[] = {CATALOGUE_GPU, CATALOGUE_CLUSTER};
    const char *nearest = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *folder = catalogue_folders[kinds[i]];
        if (strchr(entry->key, '/') != NULL ||
            catalogue_find(arena, catalogue, folder, entry->key) != NULL) {
            return true;
        }
        uint32_t count = 0;
        const char **names = catalogue_list(arena, catalogue, folder, &count);
        nearest = nearest == NULL ? diag_nearest(entry->key, names, count) : nearest;
    }
    diag_add(diag, DIAG_INPUT, &entry->key_place, "there is no GPU or cluster '%.60s'", entry->key);
    diag_help(diag, "%s%s%sa file of your own is named by its path, as ./mine.yaml",
              nearest != NULL ? "did you mean '" : "", nearest != NULL ? nearest : "",
              nearest != NULL ? "'? " : "");
    return false;
}

bool house_choose(struct house_file *house, const struct catalogue *catalogue, const char *gpu,
                  const char *cluster, struct diag *diag)
{
    const struct doc_node *entries = house->is_applied ? NULL : doc_find(house->node, "for");
    bool is_good = true;
    for (const struct doc_node *entry = entries != NULL ? entries->child : NULL; entry != NULL;
         entry = entry->next) {
        const char *name = catalogue_base_name(house->arena, entry->key);
        const bool is_meant = (gpu != NULL && strcmp(name, gpu) == 0) ||
                              (cluster != NULL && strcmp(name, cluster) == 0);
        is_good = (is_meant ? take_leaves(house, entry, NULL, diag)
                            : check_name(house, catalogue, entry, diag)) &&
                  is_good;
    }
    return is_good;
}

/* ---- putting ------------------------------------------------------------------------------ */

static enum house_part part_of(const char *path)
{
    static const char *const names[] = {"software", "library", "box"};
    if (strcmp(path, "cluster") == 0) {
        return HOUSE_CLUSTER;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(path, names[i]) == 0) {
            return HOUSE_NAMES;
        }
    }
    return stated_below(path, "gpu")       ? HOUSE_GPU
           : stated_below(path, "library") ? HOUSE_LIBRARY
                                           : HOUSE_BODY;
}

/* A scenario that has failures, and not which, has the house's. */
static bool asks_for_it(const struct doc_node *own, const char *path)
{
    const char *said = strcmp(path, "run.failures") == 0 || strcmp(path, "run.spot") == 0
                           ? doc_find_text(own, path)
                           : NULL;
    return said != NULL && strcmp(said, "true") == 0;
}

/* Whether the scenario writes its cluster's NICs itself: network and nics are one statement. */
static bool says_nics(const struct doc_node *own)
{
    return doc_find(own, "cluster.network") != NULL || doc_find(own, "cluster.nics") != NULL;
}

/* Of two keys of which a scenario may have one. */
static bool is_excluded(const struct doc_node *own, const char *path)
{
    static const char *const pairs[][2] = {{"price.own.gpu", "price.own.node"},
                                           {"power_cap.gpu", "power_cap.site"}};
    for (size_t i = 0; i < 2 * sizeof pairs / sizeof *pairs; i++) {
        const char *const *pair = pairs[i / 2];
        if (strcmp(path, pair[i % 2]) == 0 && doc_find(own, pair[1 - i % 2]) != NULL) {
            return true;
        }
    }
    return (stated_below(path, "cluster.network") || stated_below(path, "cluster.nics")) &&
           says_nics(own);
}

void house_put(struct house_file *house, enum house_part part, const struct doc_node *own,
               struct doc_node *root)
{
    for (size_t i = 0; i < house->count; i++) {
        struct house_leaf *leaf = &house->leaves[i];
        const char *path = leaf->value->key;
        const bool may =
            asks_for_it(own, path) || (!stated_in(own, path) && !is_excluded(own, path));
        if (part_of(path) == part && may) {
            stated_put(house->arena, root, leaf->value);
            leaf->is_put = true;
        }
    }
}

static bool is_same_place(const struct place *a, const struct place *b)
{
    return a->file != NULL && b->file != NULL && strcmp(a->file, b->file) == 0 &&
           a->line == b->line && a->column == b->column;
}

void house_settle(struct house_file *house, enum house_part part, const struct doc_node *root)
{
    for (size_t i = 0; i < house->count; i++) {
        struct house_leaf *leaf = &house->leaves[i];
        if (part_of(leaf->value->key) == part) {
            const struct doc_node *node = doc_find(root, leaf->value->key);
            leaf->is_put =
                leaf->is_put && node != NULL && is_same_place(&node->place, &leaf->value->place);
        }
    }
}

/* Whether a set says this key, one above it, or one below. */
static bool is_set_over(const char *path, const char *const *sets, uint32_t set_count)
{
    for (uint32_t i = 0; i < set_count; i++) {
        const size_t length = strcspn(sets[i], "=");
        const size_t own = strlen(path);
        const size_t shorter = length < own ? length : own;
        const char *longer = length < own ? path : sets[i];
        if (strncmp(path, sets[i], shorter) == 0 && (length == own || longer[shorter] == '.')) {
            return true;
        }
    }
    return false;
}

static struct doc_node *new_node(struct arena *arena, const struct doc_node *like, const char *key)
{
    struct doc_node *node = arena_alloc(arena, sizeof *node);
    *node = (struct doc_node){
        .kind = DOC_MAPPING, .key = key, .place = like->place, .key_place = like->place};
    return node;
}

/* Text of the file that stays: its name, what people call it and where it comes from. */
static void keep_text(const struct house_file *house, struct doc_node *into, const char *key,
                      const char *text)
{
    if (text != NULL) {
        struct doc_node *node = new_node(house->arena, house->node, key);
        node->kind = DOC_SCALAR;
        node->text = text;
        *doc_link(into, key) = node;
    }
}

struct doc_node *house_applied(const struct house_file *house, const char *const *sets,
                               uint32_t set_count)
{
    struct arena *arena = house->arena;
    struct doc_node *whole = new_node(arena, house->node, NULL);
    struct doc_node *gives = new_node(arena, house->node, HOUSE_GIVES);
    struct doc_node **link = &gives->child;
    const struct doc_node *before =
        house->is_applied ? doc_find(house->node, HOUSE_GIVES)->child : NULL;
    for (; before != NULL; before = before->next) {
        if (!is_set_over(before->key, sets, set_count)) {
            *link = doc_copy(arena, before);
            link = &(*link)->next;
        }
    }
    for (size_t i = 0; i < house->count; i++) {
        if (house->leaves[i].is_put) {
            *link = doc_copy(arena, house->leaves[i].value);
            (*link)->assumed = NULL; /* that is told where it holds */
            link = &(*link)->next;
        }
    }
    *link = NULL;
    keep_text(house, whole, "defaults", house->name);
    keep_text(house, whole, "title", doc_find_text(house->node, "title"));
    *doc_link(whole, HOUSE_GIVES) = gives;
    return whole;
}
