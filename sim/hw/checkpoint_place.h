/* Where checkpoints lie (run.checkpoint.to), and the ways there and back (hw/fabric).
 *
 *     place    a GPU writes            what the host flushes      on to the file system
 *     shared   to the file system      to the file system
 *     local    to its node's drives    to these                   read from them
 *     memory   to its host             nothing: it is there       from the host, as a flush
 *     peer     to its host and on to   on to the peer             from the host, as a flush
 *              the peer's
 *
 * From memory each so many-th may go on to a peer (run.checkpoint.peer_every), on the peer's way.
 *
 * A place survives failures up to some level (run/failing): 0 a process that ends, 1 a node that is
 * lost, 2 what takes the nodes below a leaf, 3 the file system.
 *
 * The peer of a node is the next below the same leaf (fabric_peer_of), as in GEMINI (Wang et al.
 * 2023, SOSP, section 4) with two replicas, its own and the peer's.
 *
 * ASSUMES: reading a file takes no time beside its bytes' way.
 * ASSUMES: when a job runs again each copy has its second one, at once.
 */
#ifndef HW_CHECKPOINT_PLACE_H
#define HW_CHECKPOINT_PLACE_H

#include "hw/fabric.h"
#include "input/job/checkpoint.h"
#include "input/software.h"

struct scenario;

struct checkpoint_place {
    const char *title; /* "nodes' drives" */
    enum storage_way write, flush, drain;
    bool is_flushed;   /* false: what is in the host's memory is there */
    bool is_in_memory; /* of hosts */
    uint32_t survives; /* failures of this level and below */
};

/* Whether files are made on a way: else bytes are moved as they lie in memory, or in a file. A rank
 * that makes files has at most software.checkpoint.serialise of `cap_bytes_per_s`, one that copies
 * to its host's memory or from there its part of what staging reaches on a node; all ranks agree on
 * files first.
 * ASSUMES: the GPUs of a node copy together, so each has an equal part of what the node reaches. */
bool checkpoint_makes_files(enum storage_way way);
int64_t checkpoint_cap_bytes_per_s(const struct software *software, const struct fabric *fabric,
                                   enum storage_way way, int64_t cap_bytes_per_s);
double checkpoint_agreed_s(const struct software *software, enum storage_way way, int64_t ranks);

const struct checkpoint_place *checkpoint_place_of(const struct checkpoint *plan);
const struct checkpoint_place *checkpoint_place_at(enum checkpoint_target target);

#endif
