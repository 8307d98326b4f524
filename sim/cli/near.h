/* What is said of plans that miss a GPU's memory, or fit it, by less than predictions of memory are
 * off (lab/published/memory_errors).
 */
#ifndef CLI_NEAR_H
#define CLI_NEAR_H

#include "cli/options.h"
#include "lab/published/memory_errors.h"

/* The catalogue's; NULL with a note where it has none, or none that can be read: then nobody is
 * near. */
const struct memory_errors *near_errors(const struct options *options,
                                        const struct catalogue *catalogue);

/* By how much of the GPU's memory a plan is over it; below 0: its room. */
double near_over(double needed_bytes, double limit_bytes);

/* "by 0.2 %, less than the error of memory: of 71 measured peaks, off by 3.8 % in the median, 44 %
 * lay so far below their prediction", or of room "... above ..."; NULL: it is not near. */
const char *near_words(struct arena *arena, const struct memory_errors *errors, double over);

#endif
