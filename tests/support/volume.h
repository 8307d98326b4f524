/* What the programs of a step send, without running them: bytes summed over the tasks of one
 * GPU of a stage. */
#ifndef TESTS_SUPPORT_VOLUME_H
#define TESTS_SUPPORT_VOLUME_H

#include "train/system.h"

/* A scenario's system, from its YAML text. Fails the test when it is not valid. */
struct step_system *volume_system(struct arena *arena, const char *text);

/* The transfers of one operation on one stream of one stage. */
struct volume {
    uint32_t count;
    double bytes;      /* of their buffers */
    double rank_bytes; /* that a rank sends; of messages their bytes */
};

struct volume volume_of(const struct step_system *system, uint32_t stage, enum stream stream,
                        enum collective_operation operation);

/* Of all that a stage sends to its neighbours in a step, activations and gradients; a call that
 * carries both ways (train/program/program_calls) is one message of either side. */
struct volume volume_sent(const struct step_system *system, uint32_t stage);

#endif
