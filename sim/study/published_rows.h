/* Published, measured runs as scenarios.
 *
 * Reads a CSV with the columns of shared/validation/README.md (published_runs.csv) and makes of
 * each row the scenario document that describes it: model in place or from the catalogue,
 * cluster by GPU and network, software by framework and year, layout, batch, recomputation,
 * offload. What a row leaves blank is filled by rules that are stated once, in the tables of
 * published_rows.c; which rules were needed is told. What cannot be filled is skipped with
 * the reason. Nothing here belongs to one row, model or scale.
 */
#ifndef STUDY_PUBLISHED_ROWS_H
#define STUDY_PUBLISHED_ROWS_H

#include "spec/catalogue.h"
#include "study/published_table.h"

struct published_scenario {
    const char *id;
    const char *text;        /* YAML; NULL: skipped */
    const char *const *sets; /* assignments to make beside it, for scenario_resolve */
    uint32_t set_count;
    const char *skipped; /* why, if it is */
    const char *filled; /* what was blank and how it was filled: "micro 1, recompute none"; or "" */
};

/* The catalogue tells which models it has. */
struct published_scenario published_scenario(struct arena *arena,
                                             const struct published_table *table, uint32_t row,
                                             const struct catalogue *catalogue);

struct scenario;

/* The row's scenario, resolved; NULL when it is skipped (*made says why) or refused (diag). Where
 * recomputation is not stated it is the least that fits (none, selective, full), and so is the
 * group over which a hybrid shards its states. */
struct scenario *published_resolve(struct arena *arena, const struct published_table *table,
                                   uint32_t row, const struct catalogue *catalogue,
                                   struct published_scenario *made, struct diag *diag);

/* Measured memory of one GPU in bytes, and what was measured. */
enum published_memory {
    PUBLISHED_MEMORY_NONE,
    PUBLISHED_MEMORY_DEVICE,   /* all that is taken of the GPU: nvidia-smi */
    PUBLISHED_MEMORY_RESERVED, /* what the allocator took from the driver */
};
enum published_memory published_memory(const struct published_table *table, uint32_t row,
                                       double *bytes);

#endif
