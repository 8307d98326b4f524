/* The keys of a scenario: the schema that scenario_load reads by, and `show` prints by. */
#ifndef INPUT_SCENARIO_KEYS_H
#define INPUT_SCENARIO_KEYS_H

#include "input/schema/schema.h"

/* Its object is a struct scenario. */
extern const struct schema scenario_schema;

#endif
