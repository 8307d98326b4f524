/* Actions written once: an action of the schedule that comes again becomes the block of tasks that
 * it was the first time, in the same stage or in another one of the job.
 *
 * An action's tasks, counted from where the streams stand when it begins, and how it leaves the
 * builder, follow from
 *
 *   its operation, and its chunks' looks    layers and their kinds, which ends of the model are
 *                                           there, where messages come from and go to, the layers
 *                                           whose activations are on the host
 *   messages                                how far back, or how many to come, the receive is that
 *                                           it waits for; which calls are made alone
 *   the counts of its chunks                whether gradients are the last ones; whether FSDP has
 *                                           kept what it gathered; whether layers wait for their
 *                                           first gather, and for which
 *   what is in the builder                  the compute task being filled, gradients waiting for
 *                                           their bucket, the end of the one queue of collectives
 *   what was emitted before                 only of streams of which something before the action
 *                                           is waited for (builder.asked): whether there is
 *                                           anything, and whether compute has waited for all of it
 *   launches                                train/launch_history
 *
 * and from nothing else: all else that an action reads is the job's. What is new to the builder
 * must be in this list; tests/fuzz/test_written holds programs so written to those in which each
 * action is emitted. Where more receives come at once than messages_key holds, an action is
 * emitted.
 *
 * Blocks are shared by the stages of a job, whose groups and transfers are the same.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_WRITTEN_H
#define TRAIN_PROGRAM_PROGRAM_WRITTEN_H

#include "plan/schedule/schedule.h"
#include "train/program/program_builder.h"

/* What has been written for a job. */
struct program_written;
struct program_written *program_written_new(struct arena *arena);
struct launch_spans *written_spans(struct program_written *written);
struct layer_table *written_layers(struct program_written *written);

/* schedule_order of a stage of the job: each once, since neighbours ask for it too. */
struct schedule_order written_order(const struct program_context *context, uint32_t stage);

/* To be called once for a stage, when all of the builder is there. */
void written_begin(struct builder *builder);

/* The action, as the block that follows those before it. `cuts`: its compute ends with it. */
const struct engine_block *written_action(struct builder *builder,
                                          const struct schedule_action *action, bool cuts);

#endif
