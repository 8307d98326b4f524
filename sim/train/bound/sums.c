/* One array for each part of a time, so that a difference reads two numbers.
 */
#include "train/bound/sums.h"

#include "base/arena.h"

struct sums sums_new(struct arena *arena, int64_t layers)
{
    struct sums sums;
    for (uint32_t i = 0; i < TIME_COUNT_; i++) {
        sums.of[i] = arena_array(arena, (size_t)layers + 1, sizeof(int64_t));
    }
    return sums;
}

int64_t sums_pick(const struct alone_time *time, enum time_kind kind)
{
    const int64_t times[TIME_COUNT_] = {time->serial_ns, time->apart_ns, time->work_ns,
                                        time->busy_ns, time->exchange_ns};
    return times[kind];
}

void sums_add(struct sums *sums, int64_t layer, const struct alone_time *time)
{
    for (uint32_t i = 0; i < TIME_COUNT_; i++) {
        sums->of[i][layer + 1] = sums->of[i][layer] + sums_pick(time, (enum time_kind)i);
    }
}
