/* The keys of a scenario: the schema that scenario_load reads by, and `show` prints by. */
#ifndef INPUT_SCENARIO_KEYS_H
#define INPUT_SCENARIO_KEYS_H

#include "input/schema/schema.h"

#include <stddef.h>

struct arena;

/* Its object is a struct scenario. */
extern const struct schema scenario_schema;

/* Of an entry of `jobs`; the object is the scenario that it runs. */
extern const struct schema scenario_job_keys;

/* A schema whose keys stand in a resolved scenario, with its prefix: the scenario's own, and
 * those of the catalogue files that it names. */
struct scenario_part {
    const struct schema *schema;
    size_t offset; /* of its object in struct scenario */
};
#define SCENARIO_PART_COUNT 7
/* In the order of the scenario's keys; one without a schema ends them. */
extern const struct scenario_part scenario_parts[SCENARIO_PART_COUNT + 1];

/* The row of a path of a resolved scenario, and its part's schema (where that is not NULL); NULL:
 * no part has it, as keys of the files that run.failures and run.spot name. */
const struct schema_row *scenario_key_find(const char *path, const struct schema **schema);

/* What may be meant by a path that no part has: the nearest in the file that the path names, else
 * the nearest of all, or NULL. */
const char *scenario_nearest_key(struct arena *arena, const char *path);

#endif
