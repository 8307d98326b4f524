/* Checkpoints cost the same however often they are written: what is remembered is the text of
 * run.checkpoint without its `every`. There are few, so they are looked through one by one.
 */
#include "run/known.h"

#include "base/arena.h"
#include "input/doc/doc.h"
#include "input/scenario.h"

#include <string.h>

struct known_cost {
    const char *text;
    struct checkpoint_cost cost;
};

struct run_known {
    struct arena *arena; /* owned */
    bool has_step;
    struct step_result step;
    struct loading loading;
    struct regime_memo *regimes;
    struct known_cost *costs;
    size_t cost_count, cost_capacity;
};

struct run_known *run_known_new(void)
{
    struct arena *arena = arena_new();
    struct run_known *known = arena_alloc(arena, sizeof *known);
    *known = (struct run_known){.arena = arena, .regimes = regime_memo_new(arena)};
    return known;
}

void run_known_free(struct run_known *known)
{
    if (known != NULL) {
        arena_free(known->arena);
    }
}

bool run_known_step(const struct run_known *known, struct step_result *step,
                    struct loading *loading)
{
    if (known->has_step) {
        *step = known->step;
        *loading = known->loading;
    }
    return known->has_step;
}

struct arena *run_known_arena(struct run_known *known)
{
    return known->arena;
}

void run_known_add_step(struct run_known *known, const struct step_result *step,
                        const struct loading *loading)
{
    known->has_step = true;
    known->step = *step;
    known->loading = *loading;
}

size_t run_known_count(const struct run_known *known)
{
    return (known->has_step ? 1 : 0) + regime_memo_count(known->regimes);
}

struct regime_memo *run_known_regimes(struct run_known *known)
{
    return known->regimes;
}

/* Of a restart that is stated nothing is read. */
static const char *text_of(struct arena *arena, const struct scenario *scenario)
{
    const struct doc_node *section = doc_find(scenario->document, "run.checkpoint");
    const char *text = scenario->recovery.has_restart ? "restart" : "";
    for (const struct doc_node *node = section != NULL ? section->child : NULL; node != NULL;
         node = node->next) {
        struct doc_node alone = *node;
        alone.key = NULL;
        alone.next = NULL;
        if (strcmp(node->key, "every") != 0) {
            text = arena_printf(arena, "%s\n%s: %s", text, node->key, doc_to_text(arena, &alone));
        }
    }
    return text;
}

void run_known_cost(struct run_known *known, struct arena *arena, const struct regime_basis *basis,
                    double bytes, struct checkpoint_cost *cost)
{
    const char *text = text_of(known->arena, basis->scenario);
    for (size_t i = 0; i < known->cost_count; i++) {
        if (strcmp(known->costs[i].text, text) == 0) {
            *cost = known->costs[i].cost;
            return;
        }
    }
    checkpoint_cost_of(arena, basis, bytes, cost);
    known->costs = arena_grow(known->arena, known->costs, &known->cost_capacity,
                              known->cost_count + 1, sizeof *known->costs);
    known->costs[known->cost_count++] = (struct known_cost){text, *cost};
}
