/* When sizes do not divide, the message proposes ones near by that would. They
 * are found by changing the scenario's own number step by step in both
 * directions and asking the caller's predicate about each.
 */
#include "input/feasible_choices.h"

#include "input/scenario.h"

#include "base/arena.h"

enum {
    CHOICES_EACH_WAY = 3,
    SEARCH_STEPS_MAX = 1 << 20, /* beyond this distance a choice is not near */
};

const struct place *feasible_place(const struct layout *layout, const char *section,
                                   const char *key)
{
    const struct doc_node *root = layout->scenario->document;
    if (diag_is_deaf(layout->diag)) {
        return NULL;
    }
    if (root == NULL) { /* made in memory */
        return &layout->scenario->parallel.place;
    }
    const struct doc_node *outer = section != NULL ? doc_find(root, section) : root;
    const struct doc_node *node = outer != NULL ? doc_find(outer, key) : NULL;
    if (node != NULL) {
        return &node->place;
    }
    return outer != NULL ? &outer->place : &root->place;
}

const char *feasible_nearest(const struct layout *layout, int64_t wanted, feasible_fits *fits)
{
    int64_t found[2 * CHOICES_EACH_WAY];
    int64_t count = 0;
    if (layout->is_quiet) {
        return NULL;
    }
    const int64_t lowest = wanted > SEARCH_STEPS_MAX ? wanted - SEARCH_STEPS_MAX : 1;
    for (int64_t i = wanted; i >= lowest && count < CHOICES_EACH_WAY; i--) {
        if (fits(layout->scenario, i)) {
            found[count++] = i;
        }
    }
    for (int64_t i = 0; i < count / 2; i++) { /* found downwards, shown upwards */
        const int64_t kept = found[i];
        found[i] = found[count - 1 - i];
        found[count - 1 - i] = kept;
    }
    const int64_t count_max = count + CHOICES_EACH_WAY;
    for (int64_t i = wanted + 1; i <= wanted + SEARCH_STEPS_MAX && count < count_max; i++) {
        if (fits(layout->scenario, i)) {
            found[count++] = i;
        }
    }
    const char *text = NULL;
    for (int64_t i = 0; i < count; i++) {
        const char *between = i + 1 == count ? " or " : ", ";
        text = i == 0 ? arena_printf(layout->arena, "%lld", (long long)found[i])
                      : arena_printf(layout->arena, "%s%s%lld", text, between, (long long)found[i]);
    }
    return text;
}

void feasible_help(const struct layout *layout, const char *key, int64_t wanted,
                   feasible_fits *fits)
{
    const char *text = feasible_nearest(layout, wanted, fits);
    if (text != NULL) {
        diag_help(layout->diag, "%s may be %s", key, text);
    }
}
