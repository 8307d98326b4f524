/* Finds what `stoker show NAME` means. A path is read and its kind recognised
 * by its first keys; a bare name is looked up in every kind, and it is an
 * error, with the choices named, when several kinds or none have it.
 */
#include "report/show/show_name.h"

#include "base/arena.h"
#include "input/formats/hf_config.h"
#include "input/study/refused.h"

#include <string.h>

const char *const show_kind_names[SHOW_KIND_COUNT_] = {
    [CATALOGUE_MODEL] = "model",
    [CATALOGUE_CLUSTER] = "cluster",
    [CATALOGUE_SOFTWARE] = "software",
    [CATALOGUE_GPU] = "gpu",
    [CATALOGUE_LIBRARY] = "library",
    [CATALOGUE_NIC] = "nic",
    [CATALOGUE_RECIPE] = "recipe",
    [CATALOGUE_FAILURES] = "failures",
    [CATALOGUE_SPOT] = "spot",
    [CATALOGUE_PRICES] = "prices",
    [CATALOGUE_OPTIMIZER] = "optimizer",
    [SHOW_SCENARIO] = "scenario",
    [SHOW_RUN] = "run",
};

enum { SHOWN_MAX = 60 };

struct search {
    struct arena *arena;
    const struct catalogue *catalogue;
    struct diag *diag;
};

static const char *folder_of(uint32_t kind)
{
    return kind < CATALOGUE_KIND_COUNT_ ? catalogue_folders[kind] : SCENARIO_FOLDER;
}

static bool is_path(const char *name)
{
    const size_t length = strlen(name);
    const char *end = length > 5 ? name + length - 5 : "";
    return strchr(name, '/') != NULL || strcmp(end, ".yaml") == 0 || strcmp(end, ".json") == 0;
}

/* ---- kinds ------------------------------------------------------------------------- */

/* The plural, as `list` has it, will do. */
static bool is_kind(const char *word, const char *kind)
{
    const size_t length = strlen(kind);
    if (strcmp(kind, "library") == 0 && strcmp(word, "libraries") == 0) {
        return true;
    }
    return strncmp(word, kind, length) == 0 &&
           (word[length] == '\0' || strcmp(word + length, "s") == 0);
}

static bool find_kind(const struct search *search, const char *word, uint32_t *kind)
{
    for (uint32_t i = 0; i < SHOW_KIND_COUNT_; i++) {
        if (is_kind(word, show_kind_names[i])) {
            *kind = i;
            return true;
        }
    }
    diag_add(search->diag, DIAG_USAGE, NULL, "there is no kind '%.*s'", SHOWN_MAX, word);
    diag_help_nearest(
        search->diag, diag_nearest(word, show_kind_names, SHOW_KIND_COUNT_),
        "it is model, cluster, software, gpu, library, nic, recipe, failures, spot, prices, "
        "scenario or run");
    return false;
}

/* ---- a file -------------------------------------------------------------------------- */

/* A catalogue file begins with its kind and name; so may a scenario without a title,
 * but that has a batch. What is neither is read as a scenario, whose messages help. */
static uint32_t kind_of_document(const struct doc_node *document)
{
    const struct doc_node *first = document->kind == DOC_MAPPING ? document->child : NULL;
    const bool is_scenario = first == NULL || doc_find(document, "scenario") != NULL ||
                             doc_find(document, "batch") != NULL;
    for (uint32_t kind = 0; !is_scenario && kind < CATALOGUE_KIND_COUNT_; kind++) {
        if (strcmp(first->key, catalogue_keys[kind]) == 0) {
            return kind;
        }
    }
    return SHOW_SCENARIO;
}

static bool find_path(const struct search *search, struct show_target *target)
{
    const struct place place = {.file = NULL};
    if (hf_config_path(search->arena, search->catalogue->files, &place, target->name) != NULL) {
        target->kind = CATALOGUE_MODEL;
        return true;
    }
    const struct doc_node *document = doc_load(search->arena, target->name, search->diag);
    if (document == NULL) {
        return false;
    }
    target->kind = kind_of_document(document);
    return true;
}

/* ---- a name ---------------------------------------------------------------------------- */

/* The name among those of the kinds from `first` to `last` that is nearest. */
static const char *nearest_name(const struct search *search, const char *name, uint32_t first,
                                uint32_t last)
{
    const char **names = NULL;
    size_t capacity = 0;
    uint32_t total = 0;
    for (uint32_t kind = first; kind <= last; kind++) {
        uint32_t count = 0;
        const char **own =
            catalogue_list(search->arena, search->catalogue, folder_of(kind), &count);
        names =
            arena_grow(search->arena, names, &capacity, (size_t)total + count + 1, sizeof *names);
        for (uint32_t i = 0; i < count; i++) {
            names[total++] = own[i];
        }
    }
    return diag_nearest(name, names, total);
}

static bool report_unknown(const struct search *search, const char *what, const char *name,
                           const char *nearest)
{
    if (refused_tell(search->arena, search->catalogue, NULL, name, search->diag)) {
        return false;
    }
    diag_add(search->diag, DIAG_INPUT, NULL, "there is no %s '%.*s'", what, SHOWN_MAX, name);
    diag_help_nearest(search->diag, nearest,
                      "`stoker list` names the kinds, `stoker list KIND` what there is");
    return false;
}

/* "a cluster and a gpu" */
static bool report_several(const struct search *search, const char *name, uint32_t kinds)
{
    const char *text = NULL;
    const char *commands = NULL;
    for (uint32_t kind = 0; kind < SHOW_RUN; kind++) {
        if ((kinds & 1u << kind) == 0) {
            continue;
        }
        const char *word = show_kind_names[kind];
        const char *command = arena_printf(search->arena, "`stoker show %s %s`", word, name);
        text = text == NULL ? arena_printf(search->arena, "a %s", word)
                            : arena_printf(search->arena, "%s and a %s", text, word);
        commands =
            commands == NULL ? command : arena_printf(search->arena, "%s or %s", commands, command);
    }
    diag_add(search->diag, DIAG_USAGE, NULL, "'%s' is %s", name, text);
    diag_help(search->diag, "say which: %s", commands);
    return false;
}

/* Where scenarios lie, and files of the commands `quote` and `sweep --portfolio`. */
static const char *const scenario_folders[] = {SCENARIO_FOLDER, SCENARIO_FOLDER "/quotes",
                                               SCENARIO_FOLDER "/portfolios"};
enum { SCENARIO_FOLDERS = sizeof scenario_folders / sizeof *scenario_folders };

const char *show_name_scenario(struct arena *arena, const struct catalogue *catalogue,
                               const char *name)
{
    const char *path = NULL;
    for (uint32_t i = 0; i < SCENARIO_FOLDERS && path == NULL; i++) {
        path = catalogue_find(arena, catalogue, scenario_folders[i], name);
    }
    return path != NULL && strncmp(path, "./", 2) == 0 ? path + 2 : path;
}

const char *show_name_nearest_scenario(struct arena *arena, const struct catalogue *catalogue,
                                       const char *name)
{
    const char **names = NULL;
    size_t room = 0;
    uint32_t total = 0;
    for (uint32_t i = 0; i < SCENARIO_FOLDERS; i++) {
        uint32_t count = 0;
        const char **own = catalogue_list(arena, catalogue, scenario_folders[i], &count);
        names = arena_grow(arena, names, &room, (size_t)total + count + 1, sizeof *names);
        for (uint32_t k = 0; k < count; k++) {
            names[total++] = own[k];
        }
    }
    return diag_nearest(name, names, total);
}

static const char *scenario_path(const struct search *search, const char *name)
{
    return show_name_scenario(search->arena, search->catalogue, name);
}

/* Among all kinds. */
static bool find_name(const struct search *search, struct show_target *target)
{
    const char *name = target->name;
    uint32_t kinds = 0;
    for (uint32_t kind = 0; kind < SHOW_RUN; kind++) {
        if (catalogue_find(search->arena, search->catalogue, folder_of(kind), name) != NULL) {
            kinds |= 1u << kind;
            target->kind = kind;
        }
    }
    if (kinds == 0) {
        return report_unknown(search,
                              "model, cluster, software, gpu, library, nic, recipe or scenario",
                              name, nearest_name(search, name, 0, SHOW_SCENARIO));
    }
    if ((kinds & (kinds - 1)) != 0) {
        return report_several(search, name, kinds);
    }
    target->name = target->kind == SHOW_SCENARIO ? scenario_path(search, name) : name;
    return true;
}

/* catalogue_open reports an unknown name of the catalogue, and the store a run's. */
static bool find_of_kind(const struct search *search, struct show_target *target)
{
    if (target->kind != SHOW_SCENARIO || is_path(target->name)) {
        return true;
    }
    const char *path = scenario_path(search, target->name);
    if (path == NULL) {
        return report_unknown(search, "scenario", target->name,
                              nearest_name(search, target->name, SHOW_SCENARIO, SHOW_SCENARIO));
    }
    target->name = path;
    return true;
}

bool show_name_find(struct arena *arena, const struct catalogue *catalogue, const char *kind,
                    struct show_target *target, struct diag *diag)
{
    const struct search search = {arena, catalogue, diag};
    if (kind != NULL) {
        return find_kind(&search, kind, &target->kind) && find_of_kind(&search, target);
    }
    return is_path(target->name) ? find_path(&search, target) : find_name(&search, target);
}
