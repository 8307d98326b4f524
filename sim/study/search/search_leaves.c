/* Bounds of leaves that are given, of search_tree.h: in the order of what they have in common, so
 * that each family and each line is looked at once.
 */
#include "study/search/search_tree.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/diag.h"
#include "input/scenario.h"
#include "study/search/search_space.h"
#include "train/bound/bound.h"

#include <math.h>
#include <stdlib.h>

/* A leaf that is given, in the order of what leaves have in common. */
struct given_leaf {
    struct search_leaf *leaf;
    uint32_t family, line;
};

static int compare_given(const void *left, const void *right)
{
    const struct given_leaf *a = left;
    const struct given_leaf *b = right;
    if (a->family != b->family) {
        return a->family < b->family ? -1 : 1;
    }
    return (a->line > b->line) - (a->line < b->line);
}

/* What is being refined: a family, and a line of it. */
struct refining {
    const struct search_tree *tree;
    struct arena *arena; /* of the family */
    struct relayout_frame frame;
    struct diag *unheard;
    struct bound_family *family;
    struct bound_line *line;
    struct scenario *scenario; /* with the line's layout */
    bool is_closer;            /* a walk through the pipeline */
};

static void lay_out_line(struct refining *refining, uint32_t line)
{
    struct relayout layout = refining->tree->lines[line].layout;
    layout.recompute = (struct recompute){.kind = RECOMPUTE_NONE};
    layout.offload.activation_layers = 0;
    const bool is_possible = scenario_relayout_again(refining->arena, &refining->frame, &layout,
                                                     refining->scenario, refining->unheard);
    sim_assert(is_possible); /* it was when the tree grew */
}

static void refine_leaf(const struct refining *refining, struct search_leaf *leaf)
{
    const struct relayout layout = search_leaf_layout(refining->tree, leaf);
    const struct bound_choice choice =
        bound_choice_of(refining->family, &layout.recompute, layout.offload.activation_layers);
    const struct bound bound = refining->is_closer
                                   ? bound_closer(refining->line, refining->scenario, &choice)
                                   : bound_of(refining->line, &choice);
    leaf->least = fmax(leaf->least,
                       search_least_value(refining->tree->by, refining->tree->space->base, &bound));
}

static void refine_leaves(const struct search_tree *tree, struct search_leaf *leaves,
                          uint64_t count, bool is_closer)
{
    struct arena *own = arena_new();
    struct refining refining = {.tree = tree, .arena = arena_new(), .is_closer = is_closer};
    struct given_leaf *given = arena_array(own, count, sizeof *given);
    relayout_frame_init(tree->space->base, &refining.frame);
    refining.scenario = arena_alloc(own, sizeof *refining.scenario);
    *refining.scenario = *tree->space->base;
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t line = leaves[i].line;
        given[i] = (struct given_leaf){&leaves[i], tree->lines[line].family, line};
    }
    if (count > 0) {
        qsort(given, count, sizeof *given, compare_given);
    }
    for (uint64_t i = 0; i < count; i++) {
        const bool is_family = i == 0 || given[i].family != given[i - 1].family;
        if (is_family) {
            arena_reset(refining.arena);
            refining.unheard = diag_new_deaf(refining.arena);
        }
        if (i == 0 || given[i].line != given[i - 1].line) {
            lay_out_line(&refining, given[i].line);
            refining.family =
                is_family ? bound_family_new(refining.arena,
                                             bound_ground_new(refining.arena, refining.scenario),
                                             refining.scenario)
                          : refining.family;
            refining.line = bound_line_new(refining.arena, refining.family, refining.scenario);
        }
        refine_leaf(&refining, given[i].leaf);
    }
    arena_free(refining.arena);
    arena_free(own);
}

void search_leaves_bound(const struct search_tree *tree, struct search_leaf *leaves, uint64_t count)
{
    refine_leaves(tree, leaves, count, false);
}

void search_leaves_refine(const struct search_tree *tree, struct search_leaf *leaves,
                          uint64_t count)
{
    refine_leaves(tree, leaves, count, true);
}
