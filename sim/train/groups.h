/* Which ranks communicate: the groups of a layout, kind by kind.
 *
 * One table; a row is how many groups of a kind there are, how large they are, who is in one,
 * and on which streams their collectives run. The scenario's `collectives` names the kinds.
 *
 * Gradients of sharded parameters (ZeRO, FSDP) are reduced over a data group, each rank keeping
 * its shard. When one group does not have all that hold the parameters (`zero_group`, HSDP), the
 * shards are then summed over the replica groups: those with the same shard. Routed experts have
 * groups of their own, because others hold the same ones. ZeRO++ (arXiv 2306.10209) has groups of
 * neighbours and groups across them beside, where all ranks are one data group.
 */
#ifndef TRAIN_GROUPS_H
#define TRAIN_GROUPS_H

#include "input/model.h"
#include "plan/mesh.h"
#include "plan/schedule/schedule.h"
#include "train/streams.h"

struct scenario;

enum group_kind {
    GROUP_TENSOR,
    GROUP_CONTEXT,
    GROUP_EXPERT,
    GROUP_EXPERT_TENSOR, /* none when they are the tensor groups */
    GROUP_EMBEDDING,
    GROUP_DATA, /* over which dense parameters are sharded */
    GROUP_REPLICA,
    GROUP_EXPERT_DATA,
    GROUP_EXPERT_REPLICA,
    GROUP_LOCAL,  /* ZeRO++: neighbours */
    GROUP_ACROSS, /* those of the same place in each local group */
    GROUP_SCALES, /* fp8: ranks that agree on the scales of the next steps */
    GROUP_WORLD,
    GROUP_KIND_COUNT_
};

/* Who is in a group of a kind. */
enum group_members {
    GROUP_OF_LINE,       /* a line of the mesh */
    GROUP_OF_SHARDS,     /* ranks of a line that hold one copy of what is sharded */
    GROUP_OF_REPLICAS,   /* ranks that hold the same shard of each copy */
    GROUP_OF_NEIGHBOURS, /* consecutive ranks */
    GROUP_OF_PLACES,     /* ranks of the same place among such */
    GROUP_OF_ENDS,       /* the same place on the stages of the embedding and of the head */
    GROUP_OF_STAGE,      /* all ranks of a pipeline stage */
    GROUP_OF_ALL
};

#define GROUP_STREAMS_MAX 2

struct group_row {
    const char *name;
    uint32_t choice; /* enum collective_user: whose forced algorithm holds */
    enum group_members members;
    enum mesh_line line; /* of the first three */
    enum stream streams[GROUP_STREAMS_MAX];
    uint32_t stream_count;
    bool is_latency_only; /* a few bytes: nothing but latency */
};

extern const struct group_row group_rows[GROUP_KIND_COUNT_];

/* What the groups of a job follow from. */
struct group_layout {
    const struct mesh *mesh; /* borrowed */
    bool has_experts;
    /* The stages that hold the embedding and the head, and whether the embedding, tied, or read by
     * multi-token prediction on the last stage, too, is summed between them: not when the same
     * stages have both (one stage, zb-v, dualpipe, dualpipev). */
    uint32_t first_stage, last_stage;
    bool sums_embeddings;
    uint32_t local_ranks; /* of ZeRO++'s local groups; 0: there are none */
    bool reduces_scales;  /* as the software says; group_layout_of leaves it false */
};
struct group_layout group_layout_of(const struct mesh *mesh, const struct parallel *parallel,
                                    const struct model *model);

/* Groups of the kind, 0 when they would have one member; members of each, by rank, those of two
 * stages a stage after the other. */
uint32_t groups_count(const struct group_layout *layout, enum group_kind kind);
uint32_t groups_size(const struct group_layout *layout, enum group_kind kind);
uint32_t groups_first(const struct group_layout *layout, enum group_kind kind, uint32_t number);
void groups_members(const struct group_layout *layout, enum group_kind kind, uint32_t number,
                    uint32_t *ranks);
/* A group after `number` such that no group in between has a first rank from `rank` on, which lies
 * above that of `number`: of lines the first such one of the stage, or the first of the next stage;
 * else the one after it. */
uint32_t groups_seek(const struct group_layout *layout, enum group_kind kind, uint32_t number,
                     uint32_t rank);

/* ---- between stages -------------------------------------------------------------------- */

/* Whether a message from stage `from` to its neighbour `to` goes to the *next* stage, on
 * STREAM_SEND_FORWARD to STREAM_RECEIVE_FORWARD; else it goes to the previous one, on
 * STREAM_SEND_BACKWARD to STREAM_RECEIVE_BACKWARD. From the last stage to the first goes forward
 * as well, but of two stages only with interleaving. The answer to a message takes the other
 * way: gradients of what went to the next stage come from it. */
bool groups_is_next_stage(const struct parallel *parallel, uint32_t from, uint32_t to);

/* Whether what a forward, or a backward, of stage `from` sends to `to` goes to the next stage. */
bool groups_goes_ahead(enum schedule_kind schedule, uint32_t stages, uint32_t from, uint32_t to,
                       bool is_forward);

/* Whether any message passes between stages `stage` and stage + 1 (modulo pp). */
bool groups_have_boundary(const struct parallel *parallel, uint32_t stage);

#endif
