/* What it says is in the document already; what is left says which keys those are. */
#include "input/study/house.h"

#include "input/study/stated.h"

#include "base/arena.h"

#define SCHEMA_OBJECT struct house
#include "input/schema/rows.h"

static const struct schema_row rows[] = {
    {TEXT("defaults", name, "What the house is called; without it, as its file.")},
    {TEXT("title", title, "What people call it."), AS(const char *, name)},
    {ONLY_NODE("for", "Keys that hold with one GPU or cluster alone: its name, and a mapping."),
     .note = "none"},
    {ONLY_NODE(HOUSE_GIVES, "Of a resolved scenario: the keys that hold by it."), .note = "none"},
};
const struct schema house_keys = SCHEMA_OF("defaults", "defaults.", rows);

bool house_read(const struct doc_node *node, struct house *house, struct assumptions *assumptions,
                struct diag *diag)
{
    *house = (struct house){.name = NULL};
    if (node->kind == DOC_SCALAR) {
        return true; /* none */
    }
    const struct doc_node *gives = doc_find(node, HOUSE_GIVES);
    house->name = "inline";
    if (!schema_read_document(&house_keys, node, house, assumptions, diag)) {
        return false;
    }
    struct arena *arena = assumptions->arena;
    house->values = arena_array(arena, (gives != NULL ? doc_child_count(gives) : 0) + 1u,
                                sizeof *house->values);
    for (const struct doc_node *child = gives != NULL ? gives->child : NULL; child != NULL;
         child = child->next) {
        struct doc_node alone = *child;
        alone.key = NULL;
        alone.next = NULL;
        house->values[house->value_count++] = (struct house_value){
            .key = child->key, .value = doc_to_text(arena, &alone), .place = child->place};
    }
    return true;
}

bool house_says(const struct house *house, const char *key)
{
    for (uint32_t i = 0; i < house->value_count; i++) {
        if (stated_below(house->values[i].key, key)) {
            return true;
        }
    }
    return false;
}
