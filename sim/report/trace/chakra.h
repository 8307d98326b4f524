/* A step as Chakra execution traces, for ASTRA-sim and others that read them.
 *
 * Of each rank a file, PREFIX.RANK.et, and one of all, PREFIX.json. The first is a row of messages
 * of Protocol Buffers, each behind its length as a varint: a GlobalMetadata, then a Node for each
 * node of train/trace/step_trace, by MLCommons' schema (mlcommons/chakra,
 * schema/protobuf/et_def.proto, version 0.0.4). What its readers ask of a node are attributes by
 * name (ASTRA-sim's workload/Workload.cc and its feeders):
 *
 *     compute            num_ops: FLOPs (at least 1 where memory is read: a roofline divides by
 *                        it); tensor_size: bytes of memory traffic
 *     collective         comm_type, comm_size: bytes that each rank puts in (of an all-gather its
 *                        own part); pg_name: the number of its group
 *     send, receive      comm_src, comm_dst: ranks; comm_tag, comm_size
 *     load, store        tensor_size: bytes, from or to the host, or the file system
 *     all                is_cpu_op: false; duration_ns: as duration_micros, which the schema has
 *                        in whole microseconds only
 *
 * Durations are what the simulated step took for it, without waiting (train/trace/step_trace says
 * which law holds). Microseconds are rounded so that those of a rank's kernels add up to within
 * one. What a node waits for are data_deps, since older readers know no other.
 *
 * ASTRA-sim (v2 of March 2026, with its feeder v3) runs one collective or send of a rank at a time,
 * those that are ready in the order of their numbers, which are in order of time here; so what
 * overlaps with other communication follows it there. It has no REDUCE, and takes a BROADCAST as
 * long as it took.
 *
 * PREFIX.json is the list of groups that ASTRA-sim takes (--comm-group-configuration), those that
 * the files name, by number: {"1": [0, 1], ...}.
 *
 * A rank's metadata say how many ranks do the same at the same time (ranks_alike) and of how many
 * (ranks), for whoever has not asked for all of them.
 *
 * ASSUMES: a collective has one length of buffer for all of its members, that of the rank with most
 * where parts are not equal (experts' tokens).
 */
#ifndef REPORT_TRACE_CHAKRA_H
#define REPORT_TRACE_CHAKRA_H

#include "report/trace/trace_ranks.h"

struct diag;

enum { CHAKRA_RANKS_UNASKED = 64 }; /* files that are written where nobody says how many */

struct chakra_written {
    uint64_t bytes; /* of all ranks' files */
    const char *groups_path;
};

/* False with a DIAG_FAILURE, at the first file that cannot be written. */
MUST_USE bool chakra_write(struct arena *arena, struct step_trace *trace,
                           const struct trace_ranks *ranks, const char *prefix,
                           struct chakra_written *written, struct diag *diag);

#endif
