/* Two runs whose histories meet the same failures (run/failure), compared pair by pair:
 *
 *     d_i = a_i - b_i,   difference = mean of d,   standard error = deviation of d / sqrt(n)
 *
 * What both meet cancels, so the difference is known better than either. Where they meet the same
 * failures only in part (another size, another class) it is less, and the error says so: pairs are
 * independent of each other in any case.
 */
#ifndef RUN_HISTORY_PAIRED_H
#define RUN_HISTORY_PAIRED_H

#include <stdbool.h>
#include <stdint.h>

struct arena;

struct paired {
    double mean, error;
    uint32_t count; /* of pairs */
};

/* Of `count` pairs, 2 or more. */
struct paired paired_of(const double *a, const double *b, uint32_t count);

/* Both may be equal: at most two standard errors lie between them. */
bool paired_is_tied(const struct paired *paired);

/* Times of histories as a text, to the millisecond, for a results file: the first PAIRED_KEPT. */
enum { PAIRED_KEPT = 1000 };
const char *paired_text(struct arena *arena, const double *times_s, uint32_t count);

/* The times of such a text; *count of them. */
double *paired_read(struct arena *arena, const char *text, uint32_t *count);

#endif
