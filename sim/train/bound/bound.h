/* A lower bound of a step that costs a microsecond, for searches (study/search), and a closer one
 * that costs more (bound_closer).
 *
 *     struct bound_ground *ground = bound_ground_new(arena, scenario);
 *     struct bound_family *family = bound_family_new(arena, ground, scenario);
 *     struct bound_line *line = bound_line_new(arena, family, scenario);
 *     const struct bound bound = bound_of(line, bound_option(family, &scenario->recompute), ...);
 *
 * A *ground* is the machine with the groups of tp, cp, ep, etp, pp and dp in an order of the mesh.
 *
 * A *family* are the layouts of a scenario that have tp, cp, ep, etp, pp, dp, micro and sequence
 * parallelism in common: kernels and the collectives within a microbatch take the same there. A
 * *line* has schedule, virtual stages, ZeRO stage and the optimizer's offload in common, too; what
 * is left is what is computed again and which activations go to the host.
 *
 * With f_i and b_i the serial times (train/bound/alone) of a microbatch's forward and backward
 * through piece i of the model, and stage s, whose first piece is k:
 *
 *     step >= h + sum(i < k) f_i  +  sum(microbatches and pieces of s) (f_i + b_i)
 *               + sum(i < k) b_i  +  D  +  U                                      for each s
 *
 * A stage's actions run one after the other and take at least f_i and b_i each. Before its first,
 * a microbatch has gone forward through all pieces in front; its last action is the backward of its
 * first piece, whose microbatch then goes back through these pieces to stage 0. h: the host's time
 * before the step; U: stage 0's gradient norm, optimizer, and gather of what it updated, unless the
 * next step waits for that. D: what stage 0's reduction of gradients takes beyond the last backward
 * (of the layers of that piece, where buckets leave as they are full; of all, where they leave at
 * the end).
 *
 * Where weight gradients may be actions of their own, b_i is the shorter of both ways: schedules
 * mix them. They may follow all that others wait for: there the second
 * sum over i < k, D and the norm count nothing, and U only with clipping, at which all ranks meet.
 * With dualpipe, whose pieces are reduced behind the last action of each stage, D is that of the
 * stage that has least.
 *
 * Where a forward runs beside a backward (dualpipe, dualpipev, overlap_experts), one's kernels hide
 * the other's exchanges with experts. There the sum over stage s is the largest of three, of all
 * its actions together: without exchanges; the exchanges alone, which queue on one stream; and
 * kernels slowed while exchanges are on their way, by the SMs that these take (r of the rate):
 *
 *     max(a, x, k + r x)    a: f_i + b_i without exchanges, x: exchanges, k: kernels
 *
 * since in the time of a kernel that an exchange overlaps only 1 - r of it is done. The sums over
 * pieces in front stay: until the first backward begins no forward is beside one, and behind the
 * last action of a stage nothing is left to go forward.
 *
 * All of it waits for the slowest GPU (train/jitter), in proportion to what GPUs are busy: at least
 * that of kernels alone.
 *
 * A stage's gathers (FSDP) queue on one stream, its reductions on another, its activations on
 * their way to the host on a third; those of experts, where others hold the same, on streams of
 * their own. Each queue is a bound of its own; and gathers and reductions
 * together, where both fill the same link.
 *
 * Nothing is known here of messages between stages, which the closer bound knows of; nor of waits
 * for launches but behind the host's own waits (train/bound/alone), of links shared by several
 * flows, of SMs taken by communication, but for exchanges of pairs: they make the bounds fall
 * short, never exceed.
 *
 * ASSUMES: nothing of the simulator; a test holds it against simulated steps.
 */
#ifndef TRAIN_BOUND_BOUND_H
#define TRAIN_BOUND_BOUND_H

#include "input/job/parallel.h"

struct scenario;

struct arena;
struct bound_ground;
struct bound_family;
struct bound_line;
struct bound_option;

/* The scenario's layout must hold (input/feasible). */
struct bound_ground *bound_ground_new(struct arena *arena, const struct scenario *scenario);

/* The family lives as long as the arena, and points to the scenario and its ground. */
struct bound_family *bound_family_new(struct arena *arena, struct bound_ground *ground,
                                      const struct scenario *scenario);

/* Times under a recomputation: its modules, or whole layers whatever their number. */
const struct bound_option *bound_option(struct bound_family *family,
                                        const struct recompute *recompute);

/* The scenario is of the family. */
struct bound_line *bound_line_new(struct arena *arena, struct bound_family *family,
                                  const struct scenario *scenario);

/* The same in two parts: at first the line is as if states took no time to be reduced, gathered and
 * updated, whatever ZeRO, zero_group, reshard and the optimizer's offload are, which only adds. */
struct bound_line *bound_line_stateless(struct arena *arena, struct bound_family *family,
                                        const struct scenario *scenario);
void bound_line_add_states(struct bound_line *line, const struct scenario *scenario);

struct bound {
    int64_t step_ns;
    int64_t wait_ns; /* of that: for the slowest GPU */
    double work_ns;  /* kernels, of an average GPU: what it works at least */
};

/* `plain`: of the layers that are not computed again whole, `full`: of those that are, the first
 * `full_layers` of each chunk. */
struct bound_choice {
    const struct bound_option *plain, *full;
    int64_t full_layers;
    int64_t offloaded_layers; /* of each stage: offload.activation_layers */
};
/* As `recompute` says; its layers 0: all. */
struct bound_choice bound_choice_of(struct bound_family *family, const struct recompute *recompute,
                                    int64_t offloaded_layers);
struct bound bound_of(const struct bound_line *line, const struct bound_choice *choice);

/* A closer one, for some nanoseconds an action: the line's pipeline walked through with its
 * messages, which queue (train/bound/border) and together with what is gathered and reduced take
 * what its NICs can give, with parameters that are gathered in front of each chunk and gradients
 * that queue behind it (train/bound/pipeline); a pair (overlap_experts) takes the largest of the
 * three above, of its two halves. Of dualpipe and dualpipev the same as bound_of. The scenario is
 * the line's. */
struct bound bound_closer(struct bound_line *line, const struct scenario *scenario,
                          const struct bound_choice *choice);

/* The closer bound of one scenario, with all that it needs made here. */
struct bound bound_step(const struct scenario *scenario);

#endif
