/* A clock's next instant from the one before:
 *
 *     constant   H += E,  t = H / rate
 *     repaired   H += E,  t = scale ((age / scale)^shape + H / components)^(1/shape) - age
 *     renewed    the earlier of the next of the first population, its hazard growing by
 *                E / (components - i), t = scale H^(1/shape), and of those that replaced one
 *     of the job the restart's end + scale E^(1/shape)
 *
 * where E is exponential of mean 1.
 */
#include "run/failure.h"

#include "base/arena.h"
#include "base/check.h"
#include "run/time_heap.h"

#include <gsl/gsl_cdf.h>

#include <math.h>
#include <string.h>

struct rng_key failure_key(const struct failure_times *times, uint64_t ordinal, uint64_t use)
{
    struct rng_key key = times->key;
    key.step = ordinal;
    key.operation = use;
    return key;
}

uint32_t failure_nodes(const struct failure_times *times, uint64_t ordinal)
{
    const struct failure_class *of = times->of;
    const struct rng_key key = failure_key(times, ordinal, DRAW_DOMAIN);
    const bool is_last = of->domains > 1 && rng_below(&key, of->domains) == of->domains - 1;
    return is_last ? of->nodes_last : of->nodes;
}

static double unit_exponential(const struct failure_times *times, uint64_t number)
{
    const struct rng_key key = failure_key(times, number, DRAW_CLOCK);
    return gsl_cdf_exponential_Pinv(rng_uniform(&key), 1.0);
}

static sim_time instant(const struct failure_times *times, double drawn_s)
{
    return drawn_s > times->horizon_s ? INT64_MAX : law_time(drawn_s) + times->rested_ns;
}

static double repaired_s(const struct failure_clock *clock, double hazard)
{
    const double before = pow(clock->age_s / clock->scale_s, clock->shape);
    return clock->scale_s * pow(before + hazard / clock->components, 1.0 / clock->shape) -
           clock->age_s;
}

/* ---- a population whose members are replaced ----------------------------------------------- */

static void draw_first(struct failure_times *times)
{
    const struct failure_clock *clock = &times->of->clock;
    const double left = clock->components - (double)times->first_count;
    if (left < 0.5) {
        times->first_s = HUGE_VAL;
        return;
    }
    times->hazard += unit_exponential(times, times->draws++) / left;
    times->first_s = clock->scale_s * pow(times->hazard, 1.0 / clock->shape);
    times->first_count++;
}

/* What fails at `now_s` is replaced; the new one fails when it does. */
static void replace(struct failure_times *times, struct arena *arena, double now_s)
{
    const struct failure_clock *clock = &times->of->clock;
    const double hazard = unit_exponential(times, times->draws++);
    const double fails_s = now_s + clock->scale_s * pow(hazard, 1.0 / clock->shape);
    if (fails_s <= times->horizon_s) {
        time_heap_push(times->replaced, arena, law_time(fails_s));
    }
}

static sim_time advance_renewed(struct failure_times *times, struct arena *arena)
{
    const sim_time newer = time_heap_first(times->replaced);
    const double newer_s = newer == INT64_MAX ? HUGE_VAL : sim_time_to_s(newer);
    const double now_s = fmin(newer_s, times->first_s);
    if (now_s > times->horizon_s) {
        return INT64_MAX;
    }
    if (newer_s <= times->first_s) {
        time_heap_pop(times->replaced);
    } else {
        draw_first(times);
    }
    replace(times, arena, now_s);
    return instant(times, now_s);
}

/* ---- any clock ---------------------------------------------------------------------------------
 */

static sim_time next_of(struct failure_times *times, struct arena *arena)
{
    const struct failure_clock *clock = &times->of->clock;
    switch (clock->kind) {
    case CLOCK_CONSTANT:
        times->hazard += unit_exponential(times, times->draws++);
        return instant(times, times->hazard / clock->rate_per_s);
    case CLOCK_REPAIRED:
        times->hazard += unit_exponential(times, times->draws++);
        return instant(times, repaired_s(clock, times->hazard));
    case CLOCK_RENEWED:
        return advance_renewed(times, arena);
    case CLOCK_OF_JOB:
        return INT64_MAX; /* until the job has started again */
    }
    sim_assert(false);
    return INT64_MAX;
}

void failure_times_begin(struct failure_times *times, struct arena *arena,
                         const struct failure_class *of, struct rng_key key, sim_time horizon)
{
    *times = (struct failure_times){.of = of, .key = key, .horizon_s = sim_time_to_s(horizon)};
    times->key.stream = rng_stream(of->name);
    switch (of->clock.kind) {
    case CLOCK_RENEWED:
        times->replaced = arena_alloc(arena, sizeof *times->replaced);
        draw_first(times);
        break;
    case CLOCK_OF_JOB:
        failure_times_renew(times, 0);
        return;
    case CLOCK_CONSTANT:
    case CLOCK_REPAIRED:
        break;
    }
    times->next = next_of(times, arena);
}

void failure_times_advance(struct failure_times *times, struct arena *arena)
{
    times->ordinal++;
    times->next = next_of(times, arena);
}

void failure_times_rest(struct failure_times *times, sim_time rested_ns)
{
    times->rested_ns += rested_ns;
    if (times->next != INT64_MAX) {
        times->next += rested_ns;
    }
}

void failure_times_renew(struct failure_times *times, sim_time now)
{
    const struct failure_clock *clock = &times->of->clock;
    if (clock->kind != CLOCK_OF_JOB) {
        return;
    }
    const double hazard = unit_exponential(times, times->draws++);
    times->next = now + law_time(clock->scale_s * pow(hazard, 1.0 / clock->shape));
}
