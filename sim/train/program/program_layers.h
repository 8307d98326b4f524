/* Layers copied: within an action that is written, a layer that comes again is not emitted but its
 * tasks are copied from the layer before.
 *
 * A layer's tasks follow from what it is (a forward, a backward or weight gradients, its kind and
 * options), from the compute task being filled, from the streams of which something before it is
 * waited for, as an action's do (train/program/program_written), and from launches
 * (launch_history_skip). Halves of pairs are emitted.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_LAYERS_H
#define TRAIN_PROGRAM_PROGRAM_LAYERS_H

#include "train/program/program_builder.h"

/* Layers written so far, for a job. */
struct layer_table {
    struct layer_written **items;
    size_t count, capacity;
};

/* What a layer is, in a number. */
uint32_t layers_key(uint32_t pass, enum cause cause, uint32_t kind, uint32_t options);

/* True: it has been copied. False: it is to be emitted, and then layers_end called. */
bool layers_begin(struct builder *builder, uint32_t key);
void layers_end(struct builder *builder);

#endif
