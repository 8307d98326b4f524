/* What layers take, added up from the first layer of the model on: of any layers that follow one
 * another it is the difference of two sums.
 */
#ifndef TRAIN_BOUND_SUMS_H
#define TRAIN_BOUND_SUMS_H

#include "train/bound/alone.h"

/* The parts of an alone_time. */
enum time_kind { TIME_SERIAL, TIME_APART, TIME_WORK, TIME_BUSY, TIME_EXCHANGE, TIME_COUNT_ };

struct sums {
    int64_t *of[TIME_COUNT_]; /* [layers + 1] */
};

struct sums sums_new(struct arena *arena, int64_t layers);
int64_t sums_pick(const struct alone_time *time, enum time_kind kind);

/* Of layer `layer`; those before it are added already. */
void sums_add(struct sums *sums, int64_t layer, const struct alone_time *time);

#endif
