/* The table of a GPU's streams: what each is called, which cause an exposed
 * wait for it has, and how much of the SMs and of the memory bandwidth a
 * transfer on it takes from overlapped computing.
 */
#include "train/streams.h"

#include "base/check.h"
#include "input/software.h"

#include <string.h>

_Static_assert(STREAM_COUNT_ <= ENGINE_STREAMS_MAX, "an actor has room for every stream");

static uint32_t millionths(double fraction)
{
    return (uint32_t)(fraction * ENGINE_FULL_SPEED + 0.5);
}

double streams_expert_share(const struct software *software, int64_t sms)
{
    return software->expert_sms > 0 ? (double)software->expert_sms / (double)sms
                                    : software->expert_interference;
}

/* Receives are posted early and hold no SM while they wait; sends move by copy
 * engines or few channels. Only collectives take from the compute rate. */
/* In the order of the causes. */
static const uint8_t lates[] = {CAUSE_STRAGGLER_WAIT, CAUSE_DATA_STALL, CAUSE_CHECKPOINT_STALL};

uint8_t streams_late(enum cause cause)
{
    uint8_t i = 0;
    while (lates[i] != cause) {
        i++;
        sim_assert(i < sizeof lates);
    }
    return i + 1;
}

/* Each with the causes of what waits for it: for its own work, and for others. */
static const struct engine_stream streams[STREAM_COUNT_] = {
    [STREAM_COMPUTE] = {"compute", CAUSE_COMPUTE, CAUSE_COMPUTE, 0},
    [STREAM_TENSOR] = {"tp", CAUSE_EXPOSED_TP, CAUSE_STRAGGLER_WAIT, 0},
    [STREAM_CONTEXT] = {"cp", CAUSE_EXPOSED_CP, CAUSE_STRAGGLER_WAIT, 0},
    [STREAM_EXPERT] = {"ep", CAUSE_EXPOSED_EP, CAUSE_STRAGGLER_WAIT, 0},
    [STREAM_EXPERT_TENSOR] = {"expert tp", CAUSE_EXPOSED_TP, CAUSE_STRAGGLER_WAIT, 0},
    [STREAM_SEND_FORWARD] = {"send forward", CAUSE_EXPOSED_PP, CAUSE_BUBBLE, 0},
    [STREAM_RECEIVE_FORWARD] = {"receive forward", CAUSE_EXPOSED_PP, CAUSE_BUBBLE, 0},
    [STREAM_SEND_BACKWARD] = {"send backward", CAUSE_EXPOSED_PP, CAUSE_BUBBLE, 0},
    [STREAM_RECEIVE_BACKWARD] = {"receive backward", CAUSE_EXPOSED_PP, CAUSE_BUBBLE, 0},
    [STREAM_EMBEDDING] = {"embedding", CAUSE_EXPOSED_PP, CAUSE_BUBBLE, 0},
    [STREAM_DATA_GATHER] = {"dp gather", CAUSE_EXPOSED_DP, CAUSE_STRAGGLER_WAIT, 0},
    [STREAM_DATA_REDUCE] = {"dp reduce", CAUSE_EXPOSED_DP, CAUSE_STRAGGLER_WAIT, 0},
    [STREAM_REPLICA_REDUCE] = {"dp replicas", CAUSE_EXPOSED_DP, CAUSE_STRAGGLER_WAIT, 0},
    [STREAM_EXPERT_GATHER] = {"expert dp gather", CAUSE_EXPOSED_DP, CAUSE_STRAGGLER_WAIT, 0},
    [STREAM_EXPERT_REDUCE] = {"expert dp reduce", CAUSE_EXPOSED_DP, CAUSE_STRAGGLER_WAIT, 0},
    [STREAM_EXPERT_REPLICA] = {"expert replicas", CAUSE_EXPOSED_DP, CAUSE_STRAGGLER_WAIT, 0},
    [STREAM_LOCAL_GATHER] = {"dp local gather", CAUSE_EXPOSED_DP, CAUSE_STRAGGLER_WAIT, 0},
    [STREAM_LOCAL_REDUCE] = {"dp local reduce", CAUSE_EXPOSED_DP, CAUSE_STRAGGLER_WAIT, 0},
    [STREAM_ACROSS_REDUCE] = {"dp across", CAUSE_EXPOSED_DP, CAUSE_STRAGGLER_WAIT, 0},
    [STREAM_SCALES] = {"fp8 scales", CAUSE_EXPOSED_DP, CAUSE_STRAGGLER_WAIT, 0},
    [STREAM_WORLD] = {"gradient norm", CAUSE_EXPOSED_DP, CAUSE_STRAGGLER_WAIT, 0},
    [STREAM_STORAGE] = {"checkpoint", CAUSE_CHECKPOINT_STALL, CAUSE_CHECKPOINT_STALL, 0},
    [STREAM_READ] = {"data", CAUSE_DATA_STALL, CAUSE_DATA_STALL, 0},
    [STREAM_OFFLOAD] = {"offload", CAUSE_EXPOSED_OFFLOAD, CAUSE_EXPOSED_OFFLOAD, 0},
    [STREAM_FETCH] = {"fetch", CAUSE_EXPOSED_OFFLOAD, CAUSE_EXPOSED_OFFLOAD, 0},
};

void streams_describe(const struct software *software, int64_t sms, int64_t pp,
                      struct engine_system *system)
{
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        system->streams[s] = streams[s];
    }
    const uint32_t network = millionths(software->network_interference);
    const uint32_t scale_up = millionths(software->scale_up_interference);
    static const enum stream over_network[] = {
        STREAM_CONTEXT,        STREAM_EXPERT,        STREAM_DATA_GATHER,   STREAM_DATA_REDUCE,
        STREAM_REPLICA_REDUCE, STREAM_EXPERT_GATHER, STREAM_EXPERT_REDUCE, STREAM_EXPERT_REPLICA};
    for (size_t i = 0; i < sizeof over_network / sizeof *over_network; i++) {
        system->streams[over_network[i]].interference = network;
    }
    system->streams[STREAM_EXPERT].interference = millionths(streams_expert_share(software, sms));
    system->streams[STREAM_TENSOR].interference = scale_up;
    system->streams[STREAM_EXPERT_TENSOR].interference = scale_up;
    if (pp > 1) {
        system->streams[STREAM_WORLD].wait_cause = CAUSE_BUBBLE;
    }
    system->stream_count = STREAM_COUNT_;
    system->cause_count = CAUSE_COUNT_;
    memcpy(system->lates, lates, sizeof lates);
    system->late_count = sizeof lates;
    system->slow_late = streams_late(CAUSE_STRAGGLER_WAIT) - 1;
    system->launch_cause = CAUSE_LAUNCH;
    system->interference_cause = CAUSE_INTERFERENCE;
    system->end_cause = pp > 1 ? CAUSE_BUBBLE : CAUSE_STRAGGLER_WAIT;
}
