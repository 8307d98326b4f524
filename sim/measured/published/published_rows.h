/* Published, measured runs as scenarios.
 *
 * A row of a table of runs (published_columns) becomes a scenario by the rules of
 * tests/published/rules.yaml (published_rules): model, cluster, software, layout, batch,
 * recomputation, offload are all assignments. What a row leaves blank is filled by these rules, and
 * told. What cannot be filled is skipped with the reason. Nothing here belongs to one row, model,
 * source or scale.
 *
 * A user's own run needs no more than `published_columns`; model_name is then a name of models/llms
 * (with `hidden` blank), gpu one of models/gpus or the set's word, framework one of models/software
 * or the set's word with framework_year (blank: the newest). What else there may be, with the
 * columns' words, is in tests/published/README.md.
 */
#ifndef MEASURED_PUBLISHED_PUBLISHED_ROWS_H
#define MEASURED_PUBLISHED_PUBLISHED_ROWS_H

#include "input/catalogue.h"
#include "bands/published_table.h"

/* What a file must have; a field of it may be blank where a rule fills it. */
#define PUBLISHED_COLUMN_COUNT 11
extern const char *const published_columns[PUBLISHED_COLUMN_COUNT];

/* What is wrong with a row's text, in one of its fields or ("") as a whole. */
struct published_wrong {
    const char *column; /* NULL: nothing is; blanks are not wrong */
    const char *help;   /* what would be right; or NULL */
};

struct published_scenario {
    const char *id;
    const char *software, *gpu; /* catalogue files of its profile and its GPU; "" if skipped */
    const char *text;           /* YAML, its name only; NULL: skipped */
    const char *const *sets;    /* all else, assignments for scenario_resolve */
    const struct place *const
        *set_places; /* of each, where a rule says so itself; NULL: a column */
    uint32_t set_count;
    const char *skipped;          /* why, if it is */
    struct published_wrong wrong; /* then, or when it is refused: what the user should change */
    const char *filled; /* what was blank and how it was filled: "micro 1, recompute none"; or "" */
    const char *fitted; /* of these, what was changed until the memory sufficed: "recompute=full" */
    uint64_t refused; /* bit i: of the overrides of all rows number i, which does not apply here */
};

/* The catalogue tells which models it has. */
struct published_scenario published_scenario(struct arena *arena,
                                             const struct published_table *table, uint32_t row,
                                             const struct catalogue *catalogue);

/* They set the same; neither is skipped. */
bool published_is_same(const struct published_scenario *a, const struct published_scenario *b);

/* A constant of the catalogue taken to be something else: "software.gemm.derate=0.93" in all rows
 * predicted with the profile (or GPU) of that name. One of all rows is made last, whatever else
 * there is, and left out where a row's scenario refuses it; at most PUBLISHED_FOR_ALL_MAX. */
#define PUBLISHED_FOR_ALL_MAX 64
struct published_override {
    const char *file;       /* "megatron-2024", "h100-sxm5-80gb"; NULL: of all rows */
    const char *assignment; /* as --set takes it */
};

/* What rows are resolved with. */
struct published_base {
    const struct catalogue *catalogue;
    const struct published_override *overrides; /* NULL when there is none */
    uint32_t override_count;
};

struct scenario;

/* The row's scenario, resolved; NULL when it is skipped (*made says why) or refused (diag). Where
 * recomputation is not stated it is the least that fits (none, selective, full), and so is the
 * group over which a hybrid shards its states. */
struct scenario *published_resolve(struct arena *arena, const struct published_table *table,
                                   uint32_t row, const struct published_base *base,
                                   struct published_scenario *made, struct diag *diag);

/* Why a row cannot be read, told by its text alone: not as the first line says, no number where one
 * is wanted, a layout that is not of so many GPUs. NULL: nothing is wrong. */
const char *published_check(struct arena *arena, const struct published_table *table, uint32_t row,
                            struct published_wrong *wrong);

/* Measured memory of one GPU in bytes, and what was measured. */
enum published_memory {
    PUBLISHED_MEMORY_NONE,
    PUBLISHED_MEMORY_DEVICE,   /* all that is taken of the GPU: nvidia-smi */
    PUBLISHED_MEMORY_RESERVED, /* what the allocator took from the driver */
};
enum published_memory published_memory(struct arena *arena, const struct published_table *table,
                                       uint32_t row, double *bytes);

#endif
