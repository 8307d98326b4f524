/* Resolves a row's document; what the row does not state is changed until it fits.
 */
#include "study/published_rows.h"

#include "base/arena.h"
#include "plan/memory.h"
#include "spec/scenario.h"

#include <string.h>

enum { SETS_MAX = 32 };

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- a scenario, resolved ------------------------------------------------------------- */

/* Not stated: blank, or the table says that it was assumed. */
static bool is_recompute_unknown(const struct published_table *table, uint32_t row)
{
    return published_text(table, row, "recompute")[0] == '\0' ||
           strstr(published_text(table, row, "assumed"), "recompute") != NULL;
}

static struct scenario *resolve(struct arena *arena, const struct published_scenario *made,
                                const struct catalogue *catalogue, const char *change,
                                struct diag *diag)
{
    const struct doc_node *document =
        doc_parse(arena, made->id, made->text, strlen(made->text), diag);
    if (document == NULL) {
        return NULL;
    }
    const char *sets[SETS_MAX + 1];
    uint32_t count = made->set_count;
    memcpy(sets, made->sets, made->set_count * sizeof *sets);
    if (change != NULL) {
        sets[count++] = change;
    }
    return scenario_resolve(arena, document, catalogue, sets, count, diag);
}

/* Which states a hybrid shards over how many ranks is not stated. */
static bool is_group_unknown(const struct published_table *table, uint32_t row)
{
    return strcmp(published_text(table, row, "zero_stage"), "hsdp") == 0 &&
           published_text(table, row, "zero_group")[0] == '\0';
}

/* The change number `step`, from 0, of what is not stated: more recomputation than the
 * document's, or a larger group that shards states (from a node on, doubled). NULL: no further. */
static const char *change_of(struct arena *arena, const struct published_table *table, uint32_t row,
                             const struct scenario *scenario, uint32_t step)
{
    if (is_group_unknown(table, row)) {
        const int64_t group = scenario->cluster.gpus_per_node << (step < 32 ? step : 32);
        const int64_t all = scenario->parallel.cp * scenario->parallel.dp;
        return group <= all && all % group == 0
                   ? arena_printf(arena, "parallel.zero_group=%lld", (long long)group)
                   : NULL;
    }
    const uint32_t kind = scenario->recompute.kind + 1 + step;
    return is_recompute_unknown(table, row) && kind < RECOMPUTE_COUNT_
               ? arena_printf(arena, "recompute=%s", recompute_names[kind])
               : NULL;
}

struct scenario *published_resolve(struct arena *arena, const struct published_table *table,
                                   uint32_t row, const struct catalogue *catalogue,
                                   struct published_scenario *made, struct diag *diag)
{
    *made = published_scenario(arena, table, row, catalogue);
    struct scenario *scenario =
        made->text != NULL ? resolve(arena, made, catalogue, NULL, diag) : NULL;
    if (scenario == NULL || (memory_check(scenario).fits && !is_group_unknown(table, row))) {
        return scenario;
    }
    for (uint32_t step = 0;; step++) {
        const char *change = change_of(arena, table, row, scenario, step);
        struct scenario *next =
            change != NULL ? resolve(arena, made, catalogue, change, diag) : NULL;
        if (next == NULL) {
            return scenario;
        }
        if (memory_check(next).fits) {
            made->filled = arena_printf(arena, "%s%s%s, the least that fits", made->filled,
                                        made->filled[0] == '\0' ? "" : ", ", change);
            return next;
        }
    }
}

/* ---- measured memory ------------------------------------------------------------------ */

/* Unit and meaning of measured_memory_gb. */
struct memory_row {
    const char *source;
    double unit;
    enum published_memory what;
};

enum published_memory published_memory(const struct published_table *table, uint32_t row,
                                       double *bytes)
{
    static const struct memory_row rows[] = {
        /* torchtitan's log prints the allocator's peak of reserved memory in GiB */
        {"torchtitan", 1073741824.0, PUBLISHED_MEMORY_RESERVED},
        {"Megatron-Bridge", 1073741824.0, PUBLISHED_MEMORY_RESERVED},
        {"BigScience", 1e9, PUBLISHED_MEMORY_DEVICE}, /* nvidia-smi */
    };
    double value = 0;
    if (!published_number(table, row, "measured_memory_gb", &value)) {
        return PUBLISHED_MEMORY_NONE;
    }
    const char *source = published_text(table, row, "source");
    for (size_t i = 0; i < LENGTH(rows); i++) {
        if (strncmp(source, rows[i].source, strlen(rows[i].source)) == 0) {
            *bytes = value * rows[i].unit;
            return rows[i].what;
        }
    }
    *bytes = value * 1e9;
    return PUBLISHED_MEMORY_DEVICE;
}
