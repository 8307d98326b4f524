/* The words of when and where a checkpoint is written. */
#include "input/job/checkpoint.h"

const char *const checkpoint_mode_names[CHECKPOINT_MODE_COUNT_] = {"blocking", "async"};
const char *const checkpoint_target_names[CHECKPOINT_TARGET_COUNT_] = {"shared", "local", "memory",
                                                                       "peer"};
