/* The table is read when a recipe is named. Its settings go through the reader of overrides, into a
 * list of their own; what the command line does not say is taken from there.
 */
#include "foreign/launch/recipes.h"

#include "base/arena.h"
#include "foreign/launch/launch.h"
#include "input/doc/doc.h"

#include <string.h>

#define RECIPES_FILE "models/launches.yaml"

/* ---- the table ------------------------------------------------------------------------------ */

static bool is_of_name(const char *known, const char *name)
{
    return known != NULL && strcmp(known, name) == 0;
}

/* A row is read when it is the one; false with a message. */
static bool read_row(struct importer *importer, const struct doc_node *row,
                     struct launch_recipe *recipe)
{
    struct doc_map map;
    const char *also = NULL;
    bool is_good = doc_map_open(&map, row, importer->diag);
    is_good = is_good && doc_require(&map, "recipe") && doc_get_text(&map, "recipe", &recipe->name);
    doc_get_text(&map, "also", &also);
    is_good = is_good && doc_require(&map, "model") && doc_get_text(&map, "model", &recipe->model);
    is_good =
        is_good && doc_require(&map, "source") && doc_get_text(&map, "source", &recipe->source);
    struct doc_map settings;
    is_good = is_good && doc_require(&map, "set");
    recipe->set = doc_take(&map, "set");
    is_good = doc_finish(&map) && is_good && doc_map_open(&settings, recipe->set, importer->diag);
    for (const struct doc_node *key = is_good ? recipe->set->child : NULL; key != NULL;
         key = key->next) {
        is_good = is_good &&
                  (key->kind == DOC_SCALAR ||
                   diag_add(importer->diag, DIAG_INPUT, &key->place, "this is no plain value"));
    }
    return is_good;
}

bool launch_recipe_find(struct importer *importer, const char *name, struct launch_recipe *recipe)
{
    const char *path = catalogue_file(importer->arena, importer->catalogue, RECIPES_FILE);
    *recipe = (struct launch_recipe){.name = NULL};
    if (path == NULL) {
        return true;
    }
    const struct doc_node *root = doc_load(importer->arena, path, importer->diag);
    const struct doc_node *rows = root != NULL ? doc_find(root, "recipes") : NULL;
    for (const struct doc_node *row = rows != NULL ? rows->child : NULL; row != NULL;
         row = row->next) {
        if (is_of_name(doc_find_text(row, "recipe"), name) ||
            is_of_name(doc_find_text(row, "also"), name)) {
            return read_row(importer, row, recipe);
        }
    }
    return root != NULL;
}

/* ---- what it sets --------------------------------------------------------------------------- */

/* The command line's word for what is exclusive: fp16 instead of a recipe's bf16. */
static bool is_said(const struct told *told, const char *name)
{
    const bool is_other = strcmp(name, "bf16") == 0 && told_find(told, "fp16") != NULL;
    return is_other || told_find(told, name) != NULL;
}

void launch_recipe_tell(struct told *told, const struct launch_recipe *recipe)
{
    struct arena *arena = told->importer->arena;
    struct told own = {.importer = told->importer};
    const char *list = "";
    for (const struct doc_node *key = recipe->set->child; key != NULL; key = key->next) {
        nemo_tell(&own, &(struct told_setting){
                            .name = key->key, .value = key->text, .place = key->place});
    }
    for (size_t i = 0; i < own.setting_count; i++) {
        const struct told_setting *setting = &own.settings[i];
        if (!is_said(told, setting->name)) {
            told_set(told, setting);
            list = arena_printf(arena, "%s%s%s %s", list, list[0] != '\0' ? ", " : "",
                                setting->name, setting->value);
        }
    }
    if (list[0] != '\0') {
        told_note(told, arena_printf(arena, "of the recipe %s (%s): %s", recipe->name,
                                     recipe->source, list));
    }
}
