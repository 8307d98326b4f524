/* Looking things up by name. Directories are small (tens of files), so names
 * are listed and sorted afresh each time they are needed, for messages and
 * for `list`.
 */
#include "input/catalogue.h"

#include "base/arena.h"
#include "base/built_in.h"
#include "input/formats/hf_config.h"
#include "input/study/refused.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const catalogue_keys[CATALOGUE_KIND_COUNT_] = {
    "model",  "cluster",  "software", "gpu",    "library",  "nic",
    "recipe", "failures", "spot",     "prices", "optimizer"};
const char *const catalogue_folders[CATALOGUE_KIND_COUNT_] = {
    "models/llms",      "topologies",        "models/software",  "models/gpus",
    "models/libraries", "topologies/nics",   "models/recipes",   "models/failures",
    "models/spot",      "topologies/prices", "models/optimizers"};

static const char SUFFIX[] = ".yaml";
enum { SUFFIX_LENGTH = sizeof SUFFIX - 1, NAMES_SHOWN_MAX = 20, SOURCE_SHOWN_MAX = 60 };

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text);
    const size_t end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* Letters are those of ASCII, whatever the locale. */
static bool is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    return text[0] != '\0' && text[strspn(text, allowed)] == '\0' && strstr(text, "..") == NULL;
}

static bool is_path(const char *text)
{
    return ends_with(text, SUFFIX) && strlen(text) > SUFFIX_LENGTH;
}

bool catalogue_is_name(const char *text)
{
    return is_name(text) && !is_path(text) && text[0] != '-' && text[0] != '.';
}

const char *catalogue_base_name(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const size_t length = strlen(name);
    return arena_strndup(arena, name, ends_with(name, SUFFIX) ? length - SUFFIX_LENGTH : length);
}

const char *catalogue_find(struct arena *arena, const struct catalogue *catalogue, const char *kind,
                           const char *name)
{
    if (is_path(name)) {
        return doc_files_exist(catalogue->files, name) ? arena_strdup(arena, name) : NULL;
    }
    if (!is_name(name)) {
        return NULL;
    }
    for (uint32_t i = 0; i < catalogue->count; i++) {
        const char *path =
            arena_printf(arena, "%s/%s/%s%s", catalogue->directories[i], kind, name, SUFFIX);
        if (doc_files_exist(catalogue->files, path)) {
            return path;
        }
    }
    return NULL;
}

const char *catalogue_file(struct arena *arena, const struct catalogue *catalogue, const char *path)
{
    for (uint32_t i = 0; i < catalogue->count; i++) {
        const char *whole = arena_printf(arena, "%s/%s", catalogue->directories[i], path);
        if (built_in_find(whole) != NULL || access(whole, R_OK) == 0) {
            return whole;
        }
    }
    return NULL;
}

/* ---- listing ---- */

struct name_list {
    struct arena *arena;
    const char **items;
    size_t count;
    size_t capacity;
};

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void list_one(struct name_list *list, const char *file)
{
    if (file[0] != '.' && is_path(file)) {
        list->items = arena_grow(list->arena, list->items, &list->capacity, list->count + 1,
                                 sizeof *list->items);
        list->items[list->count++] = catalogue_base_name(list->arena, file);
    }
}

static void list_built_in(struct name_list *list, const char *path)
{
    uint64_t count = 0;
    const struct built_in_file *files = built_in_list(&count);
    for (uint64_t i = 0; i < count; i++) {
        const char *file = built_in_in_folder(&files[i], path);
        if (file != NULL) {
            list_one(list, file);
        }
    }
}

/* A directory that is not there holds no names. */
static void list_directory(struct name_list *list, const char *path)
{
    list_built_in(list, path);
    DIR *directory = opendir(path);
    if (directory == NULL && errno == ENOMEM) {
        arena_out_of_memory(); /* it may be there all the same */
    }
    if (directory == NULL) {
        return;
    }
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        list_one(list, entry->d_name);
    }
    closedir(directory);
}

const char **catalogue_list(struct arena *arena, const struct catalogue *catalogue,
                            const char *kind, uint32_t *count)
{
    struct name_list list = {.arena = arena};
    for (uint32_t i = 0; i < catalogue->count; i++) {
        list_directory(&list, arena_printf(arena, "%s/%s", catalogue->directories[i], kind));
    }
    uint32_t kept = 0;
    if (list.count > 0) {
        qsort(list.items, list.count, sizeof *list.items, compare_names);
    }
    for (size_t i = 0; i < list.count; i++) {
        if (kept == 0 || strcmp(list.items[kept - 1], list.items[i]) != 0) {
            list.items[kept++] = list.items[i];
        }
    }
    *count = kept;
    return list.items;
}

const char *catalogue_sought(struct arena *arena, const struct catalogue *catalogue,
                             const char *kind)
{
    const char *sought = "";
    for (uint32_t i = 0; i < catalogue->count; i++) {
        sought = arena_printf(arena, "%s%s%s/%s", sought, i > 0 ? ", " : "",
                              catalogue->directories[i], kind);
    }
    return sought;
}

/* ---- opening what a scenario refers to ---- */

/* One reference on its way to a file. */
struct reference {
    struct arena *arena;
    const struct catalogue *catalogue;
    enum catalogue_kind kind;
    const struct doc_node *node; /* a scalar */
    struct diag *diag;
};

/* The names that would have been right, the nearest first. */
static void help_with_names(const struct reference *reference, const char *rule)
{
    struct arena *arena = reference->arena;
    const char *key = catalogue_keys[reference->kind];
    uint32_t count = 0;
    const char **names =
        catalogue_list(arena, reference->catalogue, catalogue_folders[reference->kind], &count);
    if (count == 0) {
        diag_help(
            reference->diag,
            "%sthe catalogue has no %s; looked for in %s; --catalogue or STOKER_PATH names "
            "the folder of models/ and topologies/",
            rule, key,
            catalogue_sought(arena, reference->catalogue, catalogue_folders[reference->kind]));
        return;
    }
    const char *nearest = diag_nearest(reference->node->text, names, count);
    const char *hint = nearest == NULL ? "" : arena_printf(arena, "did you mean '%s'? ", nearest);
    char *known = arena_printf(arena, "%s", names[0]);
    for (uint32_t i = 1; i < count && i < NAMES_SHOWN_MAX; i++) {
        known = arena_printf(arena, "%s, %s", known, names[i]);
    }
    diag_help(reference->diag, "%s%sthe catalogue has %s%s", hint, rule, known,
              count > NAMES_SHOWN_MAX ? ", ..." : "");
}

/* Beside the file that holds the reference, then in the current directory.
 * A reference from the command line (line 0) has only the latter. */
const char *catalogue_path_beside(struct arena *arena, const struct catalogue *catalogue,
                                  const struct place *place, const char *path)
{
    const char *slash = place->file != NULL && place->line > 0 ? strrchr(place->file, '/') : NULL;
    if (slash != NULL && path[0] != '/') {
        const char *beside =
            arena_printf(arena, "%.*s/%s", (int)(slash - place->file), place->file, path);
        if (doc_files_exist(catalogue->files, beside)) {
            return beside;
        }
    }
    return path;
}

static const char *find_path(const struct reference *reference)
{
    const char *path = catalogue_path_beside(reference->arena, reference->catalogue,
                                             &reference->node->place, reference->node->text);
    return doc_files_exist(reference->catalogue->files, path) ? path : NULL;
}

/* The file that a reference means; NULL and a message when there is none. */
static const char *find_file(const struct reference *reference)
{
    const char *text = reference->node->text;
    const char *key = catalogue_keys[reference->kind];
    const struct place *place = &reference->node->place;
    if (is_path(text)) {
        const char *path = find_path(reference);
        if (path == NULL) {
            diag_add(reference->diag, DIAG_INPUT, place, "there is no file '%.*s'",
                     SOURCE_SHOWN_MAX, text);
            help_with_names(reference, "a path is looked for beside the scenario file, then in "
                                       "the current directory; ");
        }
        return path;
    }
    if (!is_name(text)) {
        diag_add(reference->diag, DIAG_INPUT, place, "'%.*s' is not the name of a %s",
                 SOURCE_SHOWN_MAX, text, key);
        help_with_names(reference, "a name has letters, digits, '.', '_' and '-'; "
                                   "a path ends in .yaml; ");
        return NULL;
    }
    const char *path = catalogue_find(reference->arena, reference->catalogue,
                                      catalogue_folders[reference->kind], text);
    if (path == NULL &&
        !refused_tell(reference->arena, reference->catalogue, place, text, reference->diag)) {
        diag_add(reference->diag, DIAG_INPUT, place, "there is no %s '%.*s'", key, SOURCE_SHOWN_MAX,
                 text);
        help_with_names(reference, "");
    }
    return path;
}

/* The first key of a file says what it describes, and under which name. */
static bool check_own_name(const struct reference *reference, const struct doc_node *root,
                           const char *path)
{
    const char *key = catalogue_keys[reference->kind];
    const char *expected = catalogue_base_name(reference->arena, path);
    if (root->kind != DOC_MAPPING) {
        diag_add(reference->diag, DIAG_INPUT, &root->place, "a %s file holds keys and values", key);
        diag_help(reference->diag, "begin it with '%s: %s'", key, expected);
        return false;
    }
    const struct doc_node *name = doc_find(root, key);
    if (name == NULL || name->kind != DOC_SCALAR) {
        diag_add(reference->diag, DIAG_INPUT, &root->place, "this file does not name a %s", key);
        diag_help(reference->diag, "begin it with '%s: %s'", key, expected);
        return false;
    }
    if (strcmp(name->text, expected) != 0) {
        diag_add(reference->diag, DIAG_INPUT, &name->place,
                 "%s '%.*s' is in a file named '%s.yaml'", key, SOURCE_SHOWN_MAX, name->text,
                 expected);
        diag_help(reference->diag, "both names must be the same");
        return false;
    }
    return true;
}

/* A model of Hugging Face in place of a model file. */
static struct doc_node *open_config(struct arena *arena, const struct catalogue *catalogue,
                                    const struct doc_node *node, const char *path,
                                    struct diag *diag)
{
    if (!doc_files_exist(catalogue->files, path)) {
        diag_add(diag, DIAG_INPUT, &node->place, "there is no file '%.*s'", SOURCE_SHOWN_MAX, path);
        diag_help(diag, "a config.json is looked for beside the scenario file, then in the "
                        "current directory");
        return NULL;
    }
    const struct doc_node *root = doc_files_load(catalogue->files, arena, path, diag);
    return root != NULL ? hf_config_read(arena, root, path, diag) : NULL;
}

static struct doc_node *open_one(struct arena *arena, const struct catalogue *catalogue,
                                 enum catalogue_kind kind, const struct doc_node *node,
                                 struct diag *diag)
{
    sim_assert(kind < CATALOGUE_KIND_COUNT_);
    if (node->kind == DOC_MAPPING) {
        return doc_copy(arena, node);
    }
    if (node->kind != DOC_SCALAR) {
        diag_add(diag, DIAG_INPUT, &node->place, "%s must be a name, a path or a mapping",
                 catalogue_keys[kind]);
        return NULL;
    }
    const char *config = kind == CATALOGUE_MODEL
                             ? hf_config_path(arena, catalogue->files, &node->place, node->text)
                             : NULL;
    if (config != NULL) {
        return open_config(arena, catalogue, node, config, diag);
    }
    const struct reference reference = {arena, catalogue, kind, node, diag};
    const char *path = find_file(&reference);
    struct doc_node *root =
        path != NULL ? doc_files_load(catalogue->files, arena, path, diag) : NULL;
    return root != NULL && check_own_name(&reference, root, path) ? root : NULL;
}

/* ---- one like another ----------------------------------------------------------------------- */

enum { LIKE_MAX = 8, SECTIONS_DEEP = 8 };

/* Keys of `over` go before those of `under`; of sections that both have each key by itself. */
/* NOLINTNEXTLINE(misc-no-recursion): SECTIONS_DEEP at most */
static void put_over(struct arena *arena, struct doc_node *under, const struct doc_node *over,
                     uint32_t depth)
{
    doc_own_children(arena, under);
    for (const struct doc_node *child = over->child; child != NULL; child = child->next) {
        struct doc_node **link = doc_link(under, child->key);
        struct doc_node *copy = arena_alloc(arena, sizeof *copy);
        *copy = *child;
        copy->next = *link != NULL ? (*link)->next : NULL;
        if (*link != NULL && (*link)->kind == DOC_MAPPING && child->kind == DOC_MAPPING &&
            depth < SECTIONS_DEEP) {
            const struct doc_node *own = child;
            *copy = **link;
            copy->place = own->place;
            copy->key_place = own->key_place;
            put_over(arena, copy, own, depth + 1);
        }
        *link = copy;
    }
}

/* A software profile that is like another: the other's keys, under its own. */
static struct doc_node *with_like(struct arena *arena, const struct catalogue *catalogue,
                                  struct doc_node *own, struct diag *diag)
{
    struct doc_node *chain[LIKE_MAX];
    uint32_t count = 0;
    const struct doc_node *like = doc_find(own, "like");
    for (chain[count++] = own; like != NULL; like = doc_find(chain[count - 1], "like")) {
        if (count == LIKE_MAX) {
            diag_add(diag, DIAG_INPUT, &like->place, "more than %d profiles are like each other",
                     LIKE_MAX - 1);
            diag_help(diag, "is one of them like itself?");
            return NULL;
        }
        chain[count] = open_one(arena, catalogue, CATALOGUE_SOFTWARE, like, diag);
        if (chain[count] == NULL) {
            return NULL;
        }
        count++;
    }
    if (count == 1) {
        return own;
    }
    struct doc_node *whole = doc_copy(arena, chain[count - 1]);
    for (uint32_t i = count - 1; i-- > 0;) {
        put_over(arena, whole, chain[i], 0);
    }
    whole->place = own->place;
    whole->key = own->key;
    whole->key_place = own->key_place;
    doc_drop(whole, "like");
    return whole;
}

struct doc_node *catalogue_open(struct arena *arena, const struct catalogue *catalogue,
                                enum catalogue_kind kind, const struct doc_node *node,
                                struct diag *diag)
{
    struct doc_node *own = open_one(arena, catalogue, kind, node, diag);
    return own != NULL && kind == CATALOGUE_SOFTWARE && own->kind == DOC_MAPPING
               ? with_like(arena, catalogue, own, diag)
               : own;
}
