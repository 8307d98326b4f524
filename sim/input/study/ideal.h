/* Ideals: what costs nothing, so that a step without it says the most that could be had there.
 *
 *     ideal: {network: true}
 *
 * An ideal changes what was read of a scenario, after all files: what it makes perfect has no
 * latency and IDEAL_BYTES_PER_S, which nothing is ever held up by. It says what a purchase is worth
 * at most, not what can be bought.
 *
 *     network    NICs, switches and cables between scale-up domains, and what a library's
 *                algorithms add or cannot reach between nodes
 *     scale_up   NVLink or PCIe between the GPUs of a domain, and the same of the library
 *     storage    the file system, nodes' links to it, their own drives
 *     host       its launches, its part of the optimizer, its cores, the link between it and a GPU
 *     gpus       all GPUs are as fast as the fastest, without jitter
 *     pipeline   a stage never waits for what another sends it
 *
 * ASSUMES: what a framework's own exchange of tokens costs at its start stays, as a collective's
 * launch does: they are of GPUs and hosts, whatever the network.
 */
#ifndef INPUT_STUDY_IDEAL_H
#define INPUT_STUDY_IDEAL_H

#include <stdbool.h>

struct arena;
struct scenario;

/* The largest bandwidth that keys may have, 8 Pbps. */
#define IDEAL_BYTES_PER_S 1e15

struct ideal {
    bool network, scale_up, storage, host, gpus, pipeline;
};

/* Makes perfect what scenario->ideal says; the rest of it has been read and checked. What it needs
 * is the arena's. */
void ideal_settle(struct arena *arena, struct scenario *scenario);

#endif
