/* The causes that a step's nanoseconds have, by the names that documents and
 * tables of the store give them.
 */
#include "train/metrics.h"

#define CAUSE_NAME(id, name, ...) #name,
#define CAUSE_TITLE(id, name, title, ...) (title),

const char *const cause_names[CAUSE_COUNT_] = {STEP_CAUSES(CAUSE_NAME)};
const char *const cause_titles[CAUSE_COUNT_] = {STEP_CAUSES(CAUSE_TITLE)};
