/* How links of their own (NVLink, xGMI) join the GPUs of a node, and what a cluster file can say of
 * that: one network that joins all alike.
 *
 *     switch    every GPU reaches every other with all of its links
 *     mesh      a link at least between any two: `nvlink-mesh`, by the pair with the fewest
 *     ring      all are joined, each with two others at least, but not every pair: rings over all
 *               links have their bandwidth, as NCCL builds them on a DGX-1; the pairs without meet
 *               over PCIe, which a cluster file cannot say
 *     apart     groups that no link joins (bridges between pairs of cards): what joins all is PCIe
 *     none      no links
 *
 * ASSUMES: where all are joined and each has two others, rings over all links exist.
 */
#ifndef FOREIGN_WIRING_H
#define FOREIGN_WIRING_H

#include <stdbool.h>
#include <stdint.h>

struct arena;

enum wiring_kind { WIRING_NONE, WIRING_SWITCH, WIRING_MESH, WIRING_RING, WIRING_APART };

struct wiring {
    enum wiring_kind kind;
    int64_t links;      /* of the GPU with the fewest */
    int64_t peer_links; /* MESH: of the pair with the fewest */
    const char *words;  /* APART, RING: "0-1, 2-3"; else "" */
};

/* Links between any two of `gpus` GPUs, [gpus * gpus]; by a switch where `is_switched`, and then
 * each pair has all of them. */
struct wiring wiring_of(struct arena *arena, const int64_t *links, uint32_t gpus, bool is_switched);

#endif
