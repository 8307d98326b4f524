/* A step as a graph for other simulators: what each rank does, what of its own that waits for, with
 * whom it meets, and when all that was in the simulated step.
 *
 *     struct step_trace trace;
 *     const struct step_trace_request request = {.folds = folds, .step = &step};
 *     step_trace_simulate(arena, scenario, &request, &trace);
 *     for (uint32_t class = 0; class < trace.classes; class ++) {
 *         struct trace_tasks tasks;
 *         step_trace_tasks(scratch, &trace, class, &tasks);
 *         ... of each rank of the class: tasks.nodes, trace_peer(), trace_group() ...
 *     }
 *
 * Ranks of a *class* (train/fold) do the same at the same time; they differ only in their peers and
 * groups. A task of the program is a *node*, or two where it sends and receives: a shift, and a
 * call of two stages that meet (train/program/program_calls). Nodes are in order of time, each
 * after all that it waits for: the one before it on its stream, and what its task says.
 *
 * Times are those of the step that `step` tells of, without waiting: a kernel from its begin to its
 * end, beside what ran there; a collective from its last member's arrival on; a message from when
 * its sender was ready until its bytes have left (sent), or until it has arrived (received). So the
 * longest path of all ranks' nodes is the step, to the nanosecond,
 *
 *     end(node) = max of the ends of what it waits for + its length             compute, sent
 *     end(all members) = max over them of the same + its length                 collective
 *     end(node) = max(ends of what it waits for, begin of the sending + length) received
 *
 * since each task began when the last of these had ended; with shifts and calls it is at most the
 * step, since there senders wait for receivers, which a message does not say.
 *
 * A last node of each rank, after all others, waits for the slowest GPU (train/jitter), where the
 * step does. What a step waits for loaders and checkpoints is not in it.
 */
#ifndef TRAIN_TRACE_STEP_TRACE_H
#define TRAIN_TRACE_STEP_TRACE_H

#include "des/event.h"
#include "input/network/collective_words.h"
#include "train/streams.h"

struct arena;
struct engine_record;
struct scenario;
struct step_result;
struct system_job;
struct watch;

enum trace_kind {
    TRACE_COMPUTE,
    TRACE_COLLECTIVE,
    TRACE_SEND,
    TRACE_RECEIVE,
    TRACE_LOAD,  /* into the GPU's memory: from the host, or the file system */
    TRACE_STORE, /* out of it */
};

struct trace_node {
    enum trace_kind kind;
    enum stream stream;
    enum cause cause; /* compute: what its work is booked on */
    uint32_t action;  /* compute: of the stage's order, or PROGRAM_NO_ACTION */
    uint32_t tag;     /* message: of those between its two ranks no other has it */
    bool is_ahead;    /* message: with the next stage, or of a shift the next member; else the
                            * previous one */
    enum collective_operation operation; /* collective */
    double flop;                         /* compute: executed */
    double bytes; /* compute: of memory traffic; collective: of the whole buffer, as
                            * plan/collective/collective says; message, load, store: moved */
    sim_time start, end;
    const uint32_t *waits; /* numbers of nodes before it */
    uint32_t wait_count;
    sim_time came;           /* collective: when the rank had come; else `start` */
    int64_t launch_ns;       /* compute: of its time, gaps of launches */
    int64_t interference_ns; /* and what transfers beside it made it longer */
    uint64_t segments;       /* compute: bits 1 << enum segment_kind of its kernels */
    uint32_t index;          /* of its task on the stream */
    uint32_t transfer;       /* else: of watch->system->transfers */
};

struct trace_tasks {
    uint32_t stage;
    struct trace_node *nodes;
    uint32_t count;
    uint32_t tasks; /* of the program */
};

struct step_trace {
    struct watch *watch;
    struct engine_record *record;
    const struct system_job *job;
    uint32_t ranks, classes;
    const uint32_t *class_of;                /* [ranks] */
    const uint32_t *group_of[STREAM_COUNT_]; /* [ranks]: of the kind; ENGINE_NONE: none. NULL: the
                                              * stream has no groups */
    uint32_t group_first[STREAM_COUNT_];     /* number of a stream's first group */
    uint32_t group_end;                      /* all numbers are below */
    int64_t jitter_ns;
    sim_time end; /* of the step */
};

struct step_seen;

struct step_trace_request {
    bool folds;
    const struct step_result *step; /* that one, simulated before */
    struct step_seen *seen;         /* its waits and links are wanted, too; NULL: they are not */
};

/* What `trace` points to is the arena's. */
void step_trace_simulate(struct arena *arena, const struct scenario *scenario,
                         const struct step_trace_request *request, struct step_trace *trace);

/* What a class does. Memory is the given arena's. */
void step_trace_tasks(struct arena *arena, struct step_trace *trace, uint32_t class,
                      struct trace_tasks *tasks);

/* A compute node's action, "F3.0"; NULL: it belongs to none. */
const char *trace_action(struct arena *arena, const struct step_trace *trace, uint32_t stage,
                         const struct trace_node *node);

/* Whom a rank sends to or receives from. */
uint32_t trace_peer(struct arena *scratch, const struct step_trace *trace, uint32_t rank,
                    const struct trace_node *node);

/* Ranks of a class: they cannot be told apart. */
uint32_t trace_ranks_alike(const struct step_trace *trace, uint32_t class);

/* The group in which a rank's collectives on a stream meet, from 1 on; those of two streams are
 * two, though their members may be the same: what is called on one is in order there alone. And its
 * members, by rank. */
uint32_t trace_group(const struct step_trace *trace, uint32_t rank, enum stream stream);
uint32_t trace_group_size(const struct step_trace *trace, enum stream stream);
const uint32_t *trace_group_members(struct arena *arena, const struct step_trace *trace,
                                    uint32_t group, uint32_t *count);

#endif
