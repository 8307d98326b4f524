/* Keys of the software go below a recipe of the scenario's own, so that its profile keeps its
 * name, by which measured runs like it are found.
 */
#include "foreign/launch/scenario_text.h"

#include "base/arena.h"
#include "base/printable.h"
#include "input/features/software_choice.h"
#include "input/scenario_load.h"

#include <string.h>

/* In this order in the file. */
static const char *const sections[] = {"scenario",  "model",     "cluster",   "gpu",      "gpus",
                                       "software",  "recipe",    "precision", "parallel", "batch",
                                       "recompute", "optimizer", "offload",   "routing",  "lora",
                                       "loss",      "run"};

/* ---- the machine ---------------------------------------------------------------------------- */

static const char *gpu_of(struct told *told)
{
    const char *device = told_text(told, "device");
    const struct device_clues clues = {.name = device};
    return told->importer->gpu != NULL ? told->importer->gpu
           : device[0] != '\0'         ? device_known(told->importer, &clues)
                                       : NULL;
}

static const struct doc_node *open_text(const struct told *told, enum catalogue_kind kind,
                                        const char *name, struct diag *diag)
{
    const struct doc_node reference = {
        .kind = DOC_SCALAR, .text = name, .place = {.file = told->importer->file.path}};
    return catalogue_open(told->importer->arena, told->importer->catalogue, kind, &reference, diag);
}

static bool put_machine(struct told *told)
{
    struct importer *importer = told->importer;
    struct arena *arena = importer->arena;
    const char *gpu = gpu_of(told);
    const char *cluster = importer->cluster;
    if (cluster == NULL && gpu != NULL) {
        cluster = device_platform(importer, gpu).cluster;
        if (cluster != NULL) {
            told_note(told, arena_printf(arena, "cluster %s: of those of the catalogue one with %s",
                                         cluster, gpu));
        }
    }
    if (cluster == NULL) {
        return import_need(importer, "--cluster NAME or --gpu NAME",
                           arena_printf(arena, "%s does not tell its machine", told->what));
    }
    told_put(told, "cluster", cluster, NULL);
    const struct doc_node *file = open_text(told, CATALOGUE_CLUSTER, cluster, diag_new(arena));
    const char *its_gpu = file != NULL ? doc_find_text(file, "gpu") : NULL;
    if (gpu != NULL && (its_gpu == NULL || strcmp(its_gpu, gpu) != 0)) {
        told_put(told, "gpu", gpu, NULL);
    }
    return true;
}

/* The usual profile, or the next of its framework where the GPU is younger or older. */
static void put_software(struct told *told, const char *usual)
{
    struct importer *importer = told->importer;
    struct arena *arena = importer->arena;
    if (importer->software != NULL) {
        told_put(told, "software", importer->software, NULL);
        return;
    }
    struct diag *unheard = diag_new(arena);
    const struct doc_node *cluster =
        open_text(told, CATALOGUE_CLUSTER, told_key(told, "cluster"), unheard);
    const char *gpu = told_key(told, "gpu");
    gpu = gpu == NULL && cluster != NULL ? doc_find_text(cluster, "gpu") : gpu;
    const struct doc_node *file = gpu != NULL ? open_text(told, CATALOGUE_GPU, gpu, unheard) : NULL;
    const char *software = software_choice(arena, importer->catalogue, file, usual);
    told_put(told, "software", software, NULL);
    told_note(told, arena_printf(arena, "software %s: which release it is, %s does not tell",
                                 software, told->what));
}

/* ---- the document --------------------------------------------------------------------------- */

static void set_place(struct doc_node *node, const struct place *place)
{
    node->place = *place;
    node->key_place = *place;
}

/* A scalar, or what "[a, b]" and "{a: 1}" stand for, all of it at one place. */
static struct doc_node *value_node(const struct told *told, const struct told_key *key,
                                   const struct place *place)
{
    struct arena *arena = told->importer->arena;
    struct doc_node *node = arena_alloc(arena, sizeof *node);
    *node = (struct doc_node){.kind = DOC_SCALAR, .text = key->value};
    if (key->value[0] == '[' || key->value[0] == '{') {
        node = doc_parse(arena, told->importer->file.path, key->value, strlen(key->value),
                         told->importer->diag);
        sim_assert(node != NULL); /* we wrote it */
        for (struct doc_node *child = node->child; child != NULL; child = child->next) {
            set_place(child, place);
            for (struct doc_node *item = child->child; item != NULL; item = item->next) {
                set_place(item, place);
            }
        }
    }
    set_place(node, place);
    return node;
}

static bool is_of_software(const char *path)
{
    static const char prefix[] = "software.";
    return strncmp(path, prefix, sizeof prefix - 1) == 0;
}

static bool put_key(const struct told *told, struct doc_node *root, const struct told_key *key)
{
    struct importer *importer = told->importer;
    const struct told_setting *setting =
        key->setting != NULL ? told_find(told, key->setting) : NULL;
    const struct place place =
        setting != NULL ? told_place(told, setting) : (struct place){.file = importer->file.path};
    const char *path = is_of_software(key->path)
                           ? arena_printf(importer->arena, "recipe.set.%s", key->path)
                           : key->path;
    return doc_put(importer->arena, root, path, value_node(told, key, &place), importer->diag);
}

static struct doc_node *document_of(struct told *told)
{
    struct doc_node *root = arena_alloc(told->importer->arena, sizeof *root);
    *root = (struct doc_node){.kind = DOC_MAPPING, .place = {.file = told->importer->file.path}};
    const char *name =
        told->importer->name != NULL ? told->importer->name : import_stem(told->importer);
    bool has_recipe = false;
    told_put(told, "scenario", name, NULL);
    for (size_t i = 0; i < told->key_count; i++) {
        has_recipe = has_recipe || is_of_software(told->keys[i].path);
    }
    if (has_recipe) {
        told_put(told, "recipe.recipe", "as-told", NULL);
        told_put(told, "recipe.title",
                 arena_printf(told->importer->arena, "what %s says of its software", told->what),
                 NULL);
    }
    for (uint32_t pass = 0; pass < 2; pass++) { /* a recipe's name before what it sets */
        for (size_t i = 0; i < told->key_count; i++) {
            const bool is_first = strncmp(told->keys[i].path, "recipe.", 7) == 0;
            if (is_first == (pass == 0) && !put_key(told, root, &told->keys[i])) {
                return NULL;
            }
        }
    }
    return root;
}

/* ---- the text ------------------------------------------------------------------------------- */

static void print_value(const struct told *told, const struct doc_node *node)
{
    const bool is_free = node->kind == DOC_SCALAR &&
                         (strcmp(node->key, "scenario") == 0 || strcmp(node->key, "title") == 0);
    fprintf(told->importer->out, "%s: %s\n", node->key,
            is_free ? import_quote(told->importer->arena, node->text)
                    : doc_to_text(told->importer->arena, node));
}

static void print_section(const struct told *told, const struct doc_node *node)
{
    const bool is_list = node->kind == DOC_MAPPING && strcmp(node->key, "recompute") != 0;
    if (!is_list) {
        print_value(told, node);
        return;
    }
    fprintf(told->importer->out, "%s:\n", node->key);
    for (const struct doc_node *child = node->child; child != NULL; child = child->next) {
        fputs("  ", told->importer->out);
        print_value(told, child);
    }
}

static void print_head(const struct told *told)
{
    struct importer *importer = told->importer;
    fprintf(importer->out, "# From %s, by `stoker import launch`.\n",
            import_quote(importer->arena, importer->file.path));
    if (told->note_count > 0) {
        fputs("# Not said there, and assumed:\n", importer->out);
    }
    for (size_t i = 0; i < told->note_count; i++) {
        const char *note = printable_line(importer->arena, told->notes[i]);
        fprintf(importer->out, "#   %s\n", note);
        diag_add(importer->diag, DIAG_NOTE, NULL, "not said, and assumed: %s", note);
    }
}

bool scenario_print(struct told *told, const char *usual_software)
{
    struct importer *importer = told->importer;
    if (!put_machine(told)) {
        return false;
    }
    put_software(told, usual_software);
    struct doc_node *root = document_of(told);
    if (root == NULL || scenario_resolve(importer->arena, root, importer->catalogue, NULL, 0,
                                         importer->diag) == NULL) {
        return false;
    }
    print_head(told);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const struct doc_node *node = doc_find(root, sections[i]);
        if (node != NULL) {
            print_section(told, node);
        }
    }
    return true;
}
