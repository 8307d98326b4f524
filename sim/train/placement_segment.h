/* Segments: nodes that a job gets together, so that its groups stay inside a scale-up domain.
 *
 * Ranks of a tensor, context or expert group lie in a *block* of neighbouring ranks: tp, tp * cp,
 * ep * etp of them in the order tp-cp-ep-dp-pp. When domains are wider than a node, a block that
 * fits into a domain has to begin where a segment does, and segments must not cross domains, as
 * Slurm's `--segment` asks of its block topology. A segment is the least common multiple of a
 * node and of all such blocks, the largest first, that a domain can hold:
 *
 *     domain of 72 = 18 nodes of 4        segment   used of a domain
 *     tp 8                                 8 GPUs   9 x 8 = 72
 *     ep 32                               32        2 x 32 = 64
 *     tp 16, cp 3                         48        1 x 48 = 48
 *
 * What is left of a domain stays idle. Blocks larger than a domain cross it anyway and ask for
 * nothing. Where a domain is one node, ranks fill nodes and a segment is a node.
 *
 * (A scheduler's word; the segments of plan/cost, pieces of a layer, are another thing.)
 */
#ifndef TRAIN_PLACEMENT_SEGMENT_H
#define TRAIN_PLACEMENT_SEGMENT_H

#include "input/cluster.h"
#include "plan/mesh.h"

/* Nodes of a segment of a job on that cluster, at least 1; divides the nodes of the job. */
uint32_t placement_segment_nodes(const struct cluster *cluster, const struct mesh *mesh);

/* The smallest b that divides the ranks so that every line of the kind lies in
 * i * b .. (i + 1) * b - 1 for some i. */
uint32_t placement_block(const struct mesh *mesh, enum mesh_line line);

/* Kinds of lines that are kept inside a domain, with the words for them. */
struct placement_line {
    enum mesh_line line;
    const char *name;
};
#define PLACEMENT_LINE_COUNT 4
extern const struct placement_line placement_lines[PLACEMENT_LINE_COUNT];

#endif
