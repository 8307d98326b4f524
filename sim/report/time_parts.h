/* Where the wall-clock time of a token goes: the causes of the step's critical path, then the
 * accounts of the run. What two predictions of any batch, cluster and length are compared by.
 *
 * Of the path, not of the account of all GPUs' time: there a network that holds up one stage is
 * mostly the bubble of the others, which wait for that.
 *
 * The parts of a prediction add up to its step over the tokens of one, or, with a run, to its
 * wall-clock time over the run's tokens.
 */
#ifndef REPORT_TIME_PARTS_H
#define REPORT_TIME_PARTS_H

#include "store/store.h"

enum { TIME_PARTS = CAUSE_COUNT_ + ACCOUNT_COUNT_ };

/* As a program reads it, "exposed_dp" or "checkpoint", and as people do. */
const char *time_part_name(uint32_t part);
const char *time_part_title(uint32_t part);

/* Seconds of each part for one token, of a good point: of its run, or of its step alone, as it is
 * compared with what has no run. What a run's steps take when nothing is
 * unusual is told by cause, so its accounts of that are 0. */
void time_parts_of(const struct store_row *row, bool has_run, double s[TIME_PARTS]);

#endif
