/* The words that a file, a screen and a document have for a layout's choices. */
#include "input/job/parallel.h"

const char *const reshard_names[RESHARD_COUNT_] = {"after-forward", "after-backward", "after-step"};
const char *const parallel_axis_names[AXIS_COUNT_] = {"tp", "cp", "ep", "dp", "pp"};
const char *const recompute_names[RECOMPUTE_COUNT_] = {"none", "selective", "full"};
const char *const placement_names[PLACEMENT_COUNT_] = {"packed", "spread", "random"};
