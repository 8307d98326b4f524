/* Resolves the document of a published row into a scenario. What the row does
 * not state is changed until the whole fits.
 */
#include "input/job/parallel.h"
#include "input/scenario.h"
#include "measured/published/published_rows.h"

#include "base/arena.h"
#include "base/check.h"
#include "measured/published/published_columns.h"
#include "plan/memory/memory.h"
#include "input/scenario_load.h"

#include <string.h>

/* ---- a scenario, resolved ------------------------------------------------------------- */

/* The row's column `set` says it. */
static bool is_set(struct arena *arena, const struct published_table *table, uint32_t row,
                   const char *key)
{
    const char *at = published_text(table, row, "set");
    const char *set = published_assignment_next(arena, &at);
    while (set != NULL && (strncmp(set, key, strlen(key)) != 0 || set[strlen(key)] == '_')) {
        set = published_assignment_next(arena, &at);
    }
    return set != NULL;
}

/* Not stated: blank, or the table says that it was assumed. */
static bool is_recompute_unknown(struct arena *arena, const struct published_table *table,
                                 uint32_t row)
{
    return (published_text(table, row, "recompute")[0] == '\0' ||
            strstr(published_text(table, row, "assumed"), "recompute") != NULL) &&
           !is_set(arena, table, row, "recompute");
}

/* The row's own assignments, those of overrides for its files, and a change. Overrides come after
 * the row's: a fitted constant is not the row's to say. */
static const char **assignments(struct arena *arena, const struct published_scenario *made,
                                const struct published_base *base, const char *change,
                                uint32_t *count)
{
    const size_t most = (size_t)made->set_count + base->override_count + 1;
    const char **sets = arena_array(arena, most, sizeof *sets);
    *count = made->set_count;
    memcpy(sets, made->sets, made->set_count * sizeof *sets);
    for (uint32_t i = 0; i < base->override_count; i++) {
        const char *file = base->overrides[i].file;
        if (file == NULL) {
            continue;
        }
        if (strcmp(file, made->software) == 0 || strcmp(file, made->gpu) == 0) {
            sets[(*count)++] = base->overrides[i].assignment;
        }
    }
    if (change != NULL) {
        sets[(*count)++] = change;
    }
    return sets;
}

/* What a house has in common with itself is none of others' runs. */
static struct catalogue without_house(const struct catalogue *catalogue)
{
    struct catalogue bare = *catalogue;
    bare.house = NULL;
    return bare;
}

static struct scenario *resolve(struct arena *arena, const struct published_scenario *made,
                                const struct published_base *base, const char *change,
                                struct diag *diag)
{
    const struct doc_node *document =
        doc_parse(arena, made->id, made->text, strlen(made->text), diag);
    if (document == NULL) {
        return NULL;
    }
    uint32_t count;
    const char *const *sets = assignments(arena, made, base, change, &count);
    const struct catalogue catalogue = without_house(base->catalogue);
    return scenario_resolve(arena, document, &catalogue, sets, count, diag);
}

/* Which states a hybrid shards over how many ranks is not stated. */
static bool is_group_unknown(struct arena *arena, const struct published_table *table, uint32_t row)
{
    return strcmp(published_text(table, row, "zero_stage"), "hsdp") == 0 &&
           published_text(table, row, "zero_group")[0] == '\0' &&
           !is_set(arena, table, row, "parallel.zero_group");
}

/* The change number `step`, from 0, of what is not stated: more recomputation than the
 * document's, or a larger group that shards states (from a node on, doubled). NULL: no further. */
static const char *change_of(struct arena *arena, const struct published_table *table, uint32_t row,
                             const struct scenario *scenario, uint32_t step)
{
    if (is_group_unknown(arena, table, row)) {
        const int64_t group = scenario->cluster.gpus_per_node << (step < 32 ? step : 32);
        const int64_t all = scenario->parallel.cp * scenario->parallel.dp;
        return group <= all && all % group == 0
                   ? arena_printf(arena, "parallel.zero_group=%lld", (long long)group)
                   : NULL;
    }
    const uint32_t kind = scenario->recompute.kind + 1 + step;
    return is_recompute_unknown(arena, table, row) && kind < RECOMPUTE_COUNT_
               ? arena_printf(arena, "recompute=%s", recompute_names[kind])
               : NULL;
}

/* With what overrides of all rows say left out. *change: what was made to fit, or NULL. */
static struct scenario *settle(struct arena *arena, const struct published_table *table,
                               uint32_t row, const struct published_base *base,
                               struct published_scenario *made, const char **change,
                               struct diag *diag)
{
    *made = published_scenario(arena, table, row, base->catalogue);
    *change = NULL;
    struct scenario *scenario = made->text != NULL ? resolve(arena, made, base, NULL, diag) : NULL;
    if (scenario == NULL || (memory_check(scenario).fits && !is_group_unknown(arena, table, row))) {
        return scenario;
    }
    for (uint32_t step = 0;; step++) {
        const char *next_change = change_of(arena, table, row, scenario, step);
        struct scenario *next =
            next_change != NULL ? resolve(arena, made, base, next_change, diag) : NULL;
        if (next == NULL) {
            return scenario;
        }
        if (memory_check(next).fits) {
            made->filled = arena_printf(arena, "%s%s%s, the least that fits", made->filled,
                                        made->filled[0] == '\0' ? "" : ", ", next_change);
            made->fitted = next_change;
            *change = next_change;
            return next;
        }
    }
}

/* ---- overrides of all rows ------------------------------------------------------------ */

/* Assignments that a scenario took, and those to be tried on it. */
struct trial {
    struct arena *arena;
    struct published_scenario *made;
    const struct published_base *base;
    const char **sets; /* taken; with room for all */
    uint32_t count;
    const char **wanted;
    uint32_t wanted_count;
    struct scenario *scenario;
};

/* True when the scenario takes `size` more from number `first` on, all together. */
static bool take(struct trial *trial, uint32_t first, uint32_t size)
{
    struct arena *arena = trial->arena;
    struct diag *unheard = diag_new(arena);
    const char *text = trial->made->text;
    const struct doc_node *document =
        doc_parse(arena, trial->made->id, text, strlen(text), unheard);
    memcpy(&trial->sets[trial->count], &trial->wanted[first], size * sizeof *trial->wanted);
    const struct catalogue catalogue = without_house(trial->base->catalogue);
    struct scenario *next =
        scenario_resolve(arena, document, &catalogue, trial->sets, trial->count + size, unheard);
    if (next == NULL) {
        return false;
    }
    trial->scenario = next;
    trial->count += size;
    return true;
}

/* All at once where they are taken; else one by one, and those noted that are refused. */
static struct scenario *apply_to_all(struct arena *arena, struct published_scenario *made,
                                     const struct published_base *base, const char *change,
                                     struct scenario *scenario)
{
    struct trial trial = {.arena = arena, .made = made, .base = base, .scenario = scenario};
    trial.wanted = arena_array(arena, base->override_count + (size_t)1, sizeof *trial.wanted);
    for (uint32_t i = 0; i < base->override_count; i++) {
        if (base->overrides[i].file == NULL) {
            trial.wanted[trial.wanted_count++] = base->overrides[i].assignment;
        }
    }
    if (trial.wanted_count == 0) {
        return scenario;
    }
    sim_assert(trial.wanted_count <= PUBLISHED_FOR_ALL_MAX);
    trial.sets = assignments(arena, made, base, change, &trial.count);
    if (take(&trial, 0, trial.wanted_count)) {
        return trial.scenario;
    }
    for (uint32_t i = 0; i < trial.wanted_count; i++) {
        if (!take(&trial, i, 1)) {
            made->refused |= UINT64_C(1) << i;
        }
    }
    return trial.scenario;
}

/* Where a message is of an assignment that a rule makes by itself, no column of the row is at fault
 * alone: the rule's place is told, too. */
static const char *with_rule(struct arena *arena, const struct published_scenario *made,
                             const struct place *place, const char *help)
{
    for (uint32_t i = 0; place != NULL && i < made->set_count; i++) {
        const struct place *rule = made->set_places[i];
        if (rule != NULL &&
            strcmp(place->file, arena_printf(arena, "--set %s", made->sets[i])) == 0) {
            return arena_printf(arena, "%s%s'%s' is set at %s:%u:%u", help != NULL ? help : "",
                                help != NULL ? "; " : "", made->sets[i], rule->file, rule->line,
                                rule->column);
        }
    }
    return help;
}

/* A refused scenario's message begins with a key: the column of that name says it, or another. */
static void blame(struct published_scenario *made, struct arena *arena, const struct diag *diag)
{
    static const char *const others[][2] = {
        {"global", "global_batch_sequences"},
        {"micro", "micro_batch"},
        {"sequence_length", "seq_len"},
        {"software", "framework"},
        {"model", "model_name"},
    };
    const char *reason = diag_first_error(diag);
    made->wrong.column = arena_strndup(arena, reason, strcspn(reason, " "));
    made->wrong.help =
        with_rule(arena, made, diag_first_error_place(diag), diag_first_help(arena, diag));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(made->wrong.column, others[i][0]) == 0) {
            made->wrong.column = others[i][1];
        }
    }
}

struct scenario *published_resolve(struct arena *arena, const struct published_table *table,
                                   uint32_t row, const struct published_base *base,
                                   struct published_scenario *made, struct diag *diag)
{
    const char *change;
    struct scenario *scenario = settle(arena, table, row, base, made, &change, diag);
    if (scenario == NULL && made->skipped == NULL) {
        blame(made, arena, diag);
    }
    return scenario != NULL ? apply_to_all(arena, made, base, change, scenario) : NULL;
}
