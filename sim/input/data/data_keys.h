/* What keys of `data` mean together, for the rows of input/scenario_keys.c.
 */
#ifndef INPUT_DATA_DATA_KEYS_H
#define INPUT_DATA_DATA_KEYS_H

#include "input/data/data_loading.h"
#include "input/schema/schema.h"

struct scenario;

extern const char *const data_source_names[DATA_SOURCE_COUNT_];
extern const char *const data_law_names[DATA_LAW_COUNT_];

/* A schema_check_function: drives that are not there, memory that a host does not have, a shuffle
 * buffer for more than there is. */
bool data_check(const struct schema_reader *reader, const struct schema_row *row);

/* Of equal samples, and of those whose law has one parameter. */
const struct schema_refusal *data_refuses_spread(const void *object);

#endif
