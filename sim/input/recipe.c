/* Assignments are made flat before they are applied: a mapping under `set` is taken apart into its
 * values, by a list that grows as it is walked (a file has a bounded number of nodes), so that
 * each value gives way, or not, by itself.
 */
#include "input/recipe.h"

#include "input/study/stated.h"

#include "base/arena.h"

#include <string.h>

#define SCHEMA_OBJECT struct recipe
#include "input/schema/rows.h"

static const struct schema_row rows[] = {
    {TEXT("recipe", name, "Its name, which is that of its file, too.")},
    {TEXT("title", title, "What people call it."), AS(const char *, name)},
    {ONLY_NODE("extends", "Another recipe, whose assignments come before these: a name or a path."),
     .note = "none"},
    {ONLY_NODE("set", "Keys of a scenario and what they are set to, as --set has them; the "
                      "scenario's own go before."),
     .is_required = true},
};
const struct schema recipe_schema = SCHEMA_OF("recipe", "recipe.", rows);

bool recipe_read(const struct doc_node *node, struct recipe *recipe,
                 struct assumptions *assumptions, struct diag *diag)
{
    *recipe = (struct recipe){.name = "inline"};
    return schema_read_document(&recipe_schema, node, recipe, assumptions, diag);
}

/* ---- taking assignments apart ---- */

struct assignment {
    const char *path;
    const struct doc_node *value;
};

struct assignments {
    struct arena *arena;
    struct assignment *items;
    size_t count, capacity;
};

static void push(struct assignments *list, const char *path, const struct doc_node *value)
{
    list->items =
        arena_grow(list->arena, list->items, &list->capacity, list->count + 1, sizeof *list->items);
    list->items[list->count++] = (struct assignment){path, value};
}

/* Adds what is in a mapping, by its whole paths. */
static void push_children(struct assignments *list, const char *path, const struct doc_node *node)
{
    for (const struct doc_node *child = node->child; child != NULL; child = child->next) {
        push(list,
             path[0] == '\0' ? child->key : arena_printf(list->arena, "%s.%s", path, child->key),
             child);
    }
}

/* The source of a recipe that nobody measured or wrote down. */
static const char *assumed_reason(const struct doc_node *recipe)
{
    const char *provenance = doc_find_text(recipe, "provenance");
    const char *source = doc_find_text(recipe, "source");
    if (provenance == NULL || strcmp(provenance, "assumed") != 0) {
        return NULL;
    }
    return source != NULL ? source : "";
}

/* Puts one value under its path in `set`; the newest holds, and stands last. */
static void put_value(struct arena *arena, struct doc_node *set, const struct assignment *item,
                      const char *assumed)
{
    struct doc_node **link = doc_link(set, item->path);
    if (*link != NULL) {
        *link = (*link)->next;
    }
    struct doc_node *copy = doc_copy(arena, item->value);
    copy->key = item->path;
    copy->next = NULL;
    copy->assumed = assumed;
    *doc_link(set, item->path) = copy;
}

/* All values of a recipe's `set`, one after the other, put into the flat one. */
static void flatten(struct arena *arena, const struct doc_node *recipe, struct doc_node *set)
{
    struct assignments list = {.arena = arena};
    push_children(&list, "", doc_find(recipe, "set"));
    for (size_t i = 0; i < list.count; i++) {
        const struct assignment item = list.items[i]; /* the list may move */
        if (item.value->kind == DOC_MAPPING) {
            push_children(&list, item.path, item.value);
        } else {
            put_value(arena, set, &item, assumed_reason(recipe));
        }
    }
}

/* ---- opening ---- */

/* What a scenario is about, and the machine, are not a recipe's. */
static bool check_path(const struct doc_node *value, struct diag *diag)
{
    static const char of_machine[] = "the machine is the scenario's: set it there, or by --set";
    static const char of_scenario[] = "the scenario says it; a recipe may set what is in model and "
                                      "software, as software.overlap.p2p";
    static const struct {
        const char *key, *help;
        bool is_file; /* of which a recipe may set what is in it */
    } refused[] = {
        {"cluster", of_machine, false},   {"gpu", of_machine, false},
        {"library", of_machine, false},   {"gpus", of_scenario, false},
        {"model", of_scenario, true},     {"software", of_scenario, true},
        {"scenario", of_scenario, false}, {"recipe", of_scenario, false},
        {"jobs", of_scenario, false},     {"sweep", of_scenario, false},
        {"variants", of_scenario, false}, {"note", of_scenario, false},
        {"search", of_scenario, false},   {"require", of_scenario, false},
    };
    const char *path = value->key;
    const size_t length = strcspn(path, ".");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (strlen(refused[i].key) == length && strncmp(path, refused[i].key, length) == 0 &&
            (path[length] == '\0' || !refused[i].is_file)) {
            diag_add(diag, DIAG_INPUT, &value->key_place, "a recipe cannot set '%s'", path);
            diag_help(diag, "%s", refused[i].help);
            return false;
        }
    }
    return true;
}

/* One file by itself: its keys, and what it sets. */
static bool check_file(struct arena *arena, const struct doc_node *node, struct diag *diag)
{
    struct recipe recipe;
    struct assumptions unused;
    assumptions_init(&unused, arena);
    if (!recipe_read(node, &recipe, &unused, diag)) {
        return false;
    }
    const struct doc_node *set = doc_find(node, "set");
    if (set->kind != DOC_MAPPING) {
        diag_add(diag, DIAG_INPUT, &set->place, "set holds keys of a scenario and their values");
        diag_help(diag, "write it like set: {software.overlap.p2p: true}");
        return false;
    }
    return true;
}

/* The recipe and those it extends, itself first; 0 on error. */
static uint32_t open_chain(struct arena *arena, const struct catalogue *catalogue,
                           const struct doc_node *reference, struct doc_node **chain,
                           struct diag *diag)
{
    for (uint32_t count = 0; count < RECIPE_CHAIN_MAX; count++) {
        chain[count] = catalogue_open(arena, catalogue, CATALOGUE_RECIPE, reference, diag);
        if (chain[count] == NULL || !check_file(arena, chain[count], diag)) {
            return 0;
        }
        reference = doc_find(chain[count], "extends");
        if (reference == NULL) {
            return count + 1;
        }
    }
    diag_add(diag, DIAG_INPUT, &reference->place, "more than %d recipes extend each other",
             RECIPE_CHAIN_MAX);
    diag_help(diag, "does one of them extend itself?");
    return 0;
}

struct doc_node *recipe_open(struct arena *arena, const struct catalogue *catalogue,
                             const struct doc_node *reference, struct diag *diag)
{
    struct doc_node *chain[RECIPE_CHAIN_MAX];
    const uint32_t count = open_chain(arena, catalogue, reference, chain, diag);
    if (count == 0) {
        return NULL;
    }
    struct doc_node *recipe = chain[0];
    struct doc_node *set = arena_alloc(arena, sizeof *set);
    *set = *doc_find(recipe, "set");
    set->child = NULL;
    set->next = NULL;
    for (uint32_t i = count; i-- > 0;) {
        flatten(arena, chain[i], set);
    }
    bool is_good = true;
    for (const struct doc_node *value = set->child; value != NULL; value = value->next) {
        is_good = check_path(value, diag) && is_good;
    }
    doc_own_children(arena, recipe);
    doc_drop(recipe, "extends");
    doc_drop(recipe, "set");
    *doc_link(recipe, "set") = set;
    return is_good ? recipe : NULL;
}

/* ---- applying ---- */

void recipe_apply(struct arena *arena, const struct doc_node *recipe, const struct doc_node *own,
                  struct doc_node *root)
{
    const struct doc_node *set = doc_find(recipe, "set");
    for (const struct doc_node *value = set->child; value != NULL; value = value->next) {
        if (!stated_in(own, value->key)) {
            stated_put(arena, root, value);
        }
    }
}
