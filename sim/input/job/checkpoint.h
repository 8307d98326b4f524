/* When and where a run writes checkpoints: `run.checkpoint` of a scenario, whose keys are read by
 * run/checkpoint_keys. */
#ifndef INPUT_JOB_CHECKPOINT_H
#define INPUT_JOB_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

enum checkpoint_mode { CHECKPOINT_BLOCKING, CHECKPOINT_ASYNC, CHECKPOINT_MODE_COUNT_ };
/* Where a checkpoint is written first (hw/checkpoint_place). */
enum checkpoint_target {
    CHECKPOINT_SHARED,
    CHECKPOINT_LOCAL,
    CHECKPOINT_MEMORY,
    CHECKPOINT_PEER,
    CHECKPOINT_TARGET_COUNT_
};
extern const char *const checkpoint_mode_names[CHECKPOINT_MODE_COUNT_];
extern const char *const checkpoint_target_names[CHECKPOINT_TARGET_COUNT_];

struct checkpoint {
    bool is_enabled;
    double every_s;      /* 0 when given in steps */
    int64_t every_steps; /* 0 when given as a duration */
    uint32_t mode;       /* enum checkpoint_mode */
    uint32_t target;     /* enum checkpoint_target */
    int64_t keep;        /* on the shared storage; 0: all of the run */
    int64_t peer_every;  /* of those in hosts' memory goes on to a peer's, too; 0: none */
    int64_t drain_every; /* of those that lie elsewhere goes on to the file system; 0: each, of
                          * those that went to peers */
};

#endif
