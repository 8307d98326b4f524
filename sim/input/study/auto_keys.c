/* A document is looked at with what is set, as input/resolve puts it together: whole sections, then
 * keys of them. */
#include "input/study/auto_keys.h"

#include "base/arena.h"
#include "base/diag.h"

#include <string.h>

const char *const auto_key_paths[AUTO_KEYS] = {
    "parallel.tp",
    "parallel.cp",
    "parallel.ep",
    "parallel.etp",
    "parallel.pp",
    "parallel.schedule",
    "parallel.virtual_stages",
    "parallel.zero",
    "parallel.sequence_parallel",
    "batch.micro",
    "recompute",
};

static const char section[] = "parallel.";
enum { SECTION_LENGTH = sizeof section - 1 };

static bool is_auto(const struct doc_node *node)
{
    return node != NULL && node->kind == DOC_SCALAR && !node->is_quoted &&
           strcmp(node->text, "auto") == 0;
}

static struct auto_keys keys_in(const struct doc_node *root)
{
    struct auto_keys keys = {.count = 0};
    for (uint32_t i = 0; i < AUTO_KEYS; i++) {
        const struct doc_node *node = doc_find(root, auto_key_paths[i]);
        if (is_auto(node)) {
            keys.nodes[i] = node;
            keys.count++;
        }
    }
    return keys;
}

void auto_keys_expand(struct arena *arena, struct doc_node *root)
{
    struct doc_node *parallel = root->kind == DOC_MAPPING ? *doc_link(root, "parallel") : NULL;
    if (!is_auto(parallel)) {
        return;
    }
    struct doc_node **link = &parallel->child;
    for (uint32_t i = 0; i < AUTO_KEYS; i++) {
        if (strncmp(auto_key_paths[i], section, SECTION_LENGTH) == 0 &&
            strcmp(auto_key_paths[i] + SECTION_LENGTH, "etp") != 0) {
            *link = arena_alloc(arena, sizeof **link);
            **link = *parallel;
            (*link)->key = auto_key_paths[i] + SECTION_LENGTH;
            (*link)->child = (*link)->next = NULL;
            link = &(*link)->next;
        }
    }
    parallel->kind = DOC_MAPPING;
    parallel->text = NULL;
}

/* Whether the set is of `parallel`, `batch` or `recompute`: as a whole, or of what is in it. */
static bool is_near(const char *set, bool as_a_whole)
{
    static const char *const sections[] = {"parallel", "batch", "recompute"};
    const size_t length = strcspn(set, ".=");
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        if (strlen(sections[i]) == length && strncmp(set, sections[i], length) == 0) {
            return (set[length] == '=') == as_a_whole;
        }
    }
    return false;
}

static void apply(struct arena *arena, struct doc_node *root, const char *const *sets,
                  uint32_t set_count, bool as_a_whole)
{
    for (uint32_t i = 0; i < set_count; i++) {
        if (is_near(sets[i], as_a_whole) && !doc_set(arena, root, sets[i], diag_new(arena))) {
            continue; /* who resolves the scenario says so */
        }
    }
}

struct auto_keys auto_keys_of(struct arena *arena, const struct doc_node *document,
                              const char *const *sets, uint32_t set_count)
{
    if (document->kind != DOC_MAPPING) {
        return (struct auto_keys){.count = 0};
    }
    struct doc_node root = *document;
    root.next = NULL;
    doc_own_children(arena, &root);
    apply(arena, &root, sets, set_count, true);
    auto_keys_expand(arena, &root);
    apply(arena, &root, sets, set_count, false);
    return keys_in(&root);
}

bool auto_keys_refuse(struct arena *arena, const struct doc_node *root, struct diag *diag)
{
    const struct auto_keys keys = keys_in(root);
    const struct place *place = NULL;
    const char *names = "";
    for (uint32_t i = 0; i < AUTO_KEYS; i++) {
        if (keys.nodes[i] != NULL) {
            names =
                arena_printf(arena, "%s%s%s", names, place != NULL ? ", " : "", auto_key_paths[i]);
            place = place != NULL ? place : &keys.nodes[i]->place;
        }
    }
    if (keys.count > 0) {
        diag_add(diag, DIAG_INPUT, place, "nothing finds what is auto here: %s", names);
        diag_help(diag, "a scenario's own layout is found, not that of another job, of a stage of "
                        "the run or of a published row; write a value");
    }
    return keys.count == 0;
}

/* Takes a key out of a mapping whose children are its own. */
static void drop_auto(struct doc_node *mapping, const char *key)
{
    if (is_auto(*doc_link(mapping, key))) {
        doc_drop(mapping, key);
    }
}

struct doc_node *auto_keys_left_out(struct arena *arena, const struct doc_node *document)
{
    struct doc_node *copy = doc_copy(arena, document);
    if (copy->kind != DOC_MAPPING) {
        return copy;
    }
    drop_auto(copy, "parallel");
    for (uint32_t i = 0; i < AUTO_KEYS; i++) {
        const char *dot = strchr(auto_key_paths[i], '.');
        const char *head = dot == NULL ? auto_key_paths[i]
                                       : arena_strndup(arena, auto_key_paths[i],
                                                       (size_t)(dot - auto_key_paths[i]));
        struct doc_node *inner = *doc_link(copy, head);
        if (dot == NULL) {
            drop_auto(copy, head);
        } else if (inner != NULL && inner->kind == DOC_MAPPING) {
            drop_auto(inner, dot + 1);
        }
    }
    return copy;
}
