/* Parts of the model to be removed, to see what each is worth: a list in the file of the constants,
 *
 *     ablations:
 *       - name: memory-bound kernels
 *         set: ['gpu.memory_bandwidth=1000 TB/s']  # as --set takes them, in all rows
 *         idle: [memory-bound rate]   # effects of constants that then act on nothing
 *         files: [megatron-2021]      # optional: only rows of these profiles or GPUs
 *         source: what it removes, and what it leaves
 *
 * An assignment that a row's scenario refuses is left out there. Constants of a key that is set,
 * and those of `idle` effects, are not fitted again.
 *
 * In place of `set` there may be a group of rules that are left out, by the keys that they set or
 * the columns that they fill (tests/published/rules.yaml): a row is then what the others make of
 * it, and one of which they make nothing stays as it is.
 *
 *       - name: recipes
 *         rules: [recipe]             # and keys below; the rest that such an entry sets stays
 *         columns: true               # optional: also where it only says what a column means
 *         source: what is known of a run beside its framework and release
 */
#ifndef LAB_FIT_FIT_REMOVALS_H
#define LAB_FIT_FIT_REMOVALS_H

#include "base/check.h"
#include "base/diag.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct doc_map;
struct doc_node;
struct fit_plan;

struct fit_removal {
    const char *name, *source;
    const char *const *sets;
    uint32_t set_count; /* at most PUBLISHED_FOR_ALL_MAX */
    const char *const *rules;
    uint32_t rule_count; /* 0: assignments are set; else there are none */
    bool has_columns;    /* of rules: also those that say what a column means */
    const char *const *files;
    uint32_t file_count; /* 0: all rows */
    const bool *is_idle; /* [constants] */
    struct place place;
};

/* A list of texts, or nothing; false after a diagnosis, which makes the map bad. */
bool fit_texts_read(struct arena *arena, struct doc_map *map, const char *key,
                    const char *const **texts, uint32_t *count);

/* `node` is the list; the plan's constants are read. False after a diagnosis. */
MUST_USE bool fit_removals_read(struct arena *arena, const struct doc_node *node,
                                struct fit_plan *plan, struct diag *diag);

bool fit_removal_is_of(const struct fit_removal *removal, const char *software, const char *gpu);

#endif
