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
#include "run/history/failure.h"

#include "base/arena.h"
#include "base/check.h"
#include "run/history/time_heap.h"

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

/* P(more than n) = (1 - 1/together)^n. */
static uint32_t nodes_together(const struct failure_times *times, uint64_t ordinal)
{
    static const double MOST = 1e9;
    const double together = times->of->together;
    const struct rng_key key = failure_key(times, ordinal, DRAW_TOGETHER);
    const double more = together > 1 ? floor(log(rng_uniform(&key)) / log1p(-1 / together)) : 0;
    return 1 + (uint32_t)fmin(more, MOST);
}

uint32_t failure_nodes(const struct failure_times *times, uint64_t ordinal)
{
    const struct failure_class *of = times->of;
    if (of->together > 0) {
        return nodes_together(times, ordinal);
    }
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

/* ---- components that are worse than others ----------------------------------------------------
 */

/* Whether the draw of that number is a failure: one that a bad component would have had, whose
 * successor has not, is none. */
static bool fails(struct failure_times *times, uint64_t number)
{
    const struct failure_clock *clock = &times->of->clock;
    if (clock->bad_count == 0) {
        return true;
    }
    const double bad = clock->bad_count * clock->bad_times;
    const double all = bad + clock->components - clock->bad_count;
    const struct rng_key key = failure_key(times, number, DRAW_BAD);
    const double at = rng_uniform(&key) * all / clock->bad_times;
    if (at >= clock->bad_count) {
        return true;
    }
    uint32_t *failures = &times->bad_failures[(uint32_t)at];
    if (clock->bad_retired_after > 0 && *failures >= clock->bad_retired_after) {
        return (at - floor(at)) * clock->bad_times < 1;
    }
    (*failures)++;
    return true;
}

/* ---- components that fail again -------------------------------------------------------------- */

enum { AGAIN_SHIFT = 40 }; /* of an ordinal: above it, how often it failed again */

/* The first of those that fail again, if it is before the clock's next; NULL: none is. */
static const struct failure_again *first_again(const struct failure_times *times)
{
    const struct failure_again *first = again_heap_first(&times->again);
    return first != NULL && first->when + times->rested_ns < times->clock_next ? first : NULL;
}

static void find_next(struct failure_times *times)
{
    const struct failure_again *again = first_again(times);
    times->next = again != NULL ? again->when + times->rested_ns : times->clock_next;
    times->ordinal = again != NULL ? again->ordinal : times->clock_ordinal;
}

void failure_times_again(struct failure_times *times, struct arena *arena, sim_time when,
                         uint64_t ordinal)
{
    if (sim_time_to_s(when) > times->horizon_s) {
        return;
    }
    const struct failure_again again = {when - times->rested_ns,
                                        ordinal + ((uint64_t)1 << AGAIN_SHIFT)};
    again_heap_push(&times->again, arena, &again);
    find_next(times);
}

/* ---- any clock ---------------------------------------------------------------------------------
 */

static sim_time next_of(struct failure_times *times, struct arena *arena)
{
    const struct failure_clock *clock = &times->of->clock;
    switch (clock->kind) {
    case CLOCK_CONSTANT:
        do {
            times->hazard += unit_exponential(times, times->draws++);
        } while (!fails(times, times->draws - 1));
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
    rng_begin(&times->key);
    switch (of->clock.kind) {
    case CLOCK_RENEWED:
        times->replaced = arena_alloc(arena, sizeof *times->replaced);
        draw_first(times);
        break;
    case CLOCK_OF_JOB:
        failure_times_renew(times, 0);
        return;
    case CLOCK_CONSTANT:
        times->bad_failures = arena_array(arena, of->clock.bad_count, sizeof *times->bad_failures);
        break;
    case CLOCK_REPAIRED:
        break;
    }
    times->clock_next = next_of(times, arena);
    find_next(times);
}

void failure_times_advance(struct failure_times *times, struct arena *arena)
{
    if (first_again(times) != NULL) {
        again_heap_pop(&times->again);
    } else {
        times->clock_ordinal++;
        times->clock_next = next_of(times, arena);
    }
    find_next(times);
}

void failure_times_rest(struct failure_times *times, sim_time rested_ns)
{
    times->rested_ns += rested_ns;
    if (times->clock_next != INT64_MAX) {
        times->clock_next += rested_ns;
    }
    find_next(times);
}

void failure_times_renew(struct failure_times *times, sim_time now)
{
    const struct failure_clock *clock = &times->of->clock;
    if (clock->kind != CLOCK_OF_JOB) {
        return;
    }
    const double hazard = unit_exponential(times, times->draws++);
    times->clock_next = now + law_time(clock->scale_s * pow(hazard, 1.0 / clock->shape));
    find_next(times);
}

/* ---- repairs: of a stage how long it takes and whether it helps are drawn apart ------------- */

enum { STAGE_DRAWS = 16 }; /* of one node: two for each stage */

static struct rng_key stage_key(const struct failure_times *times, uint64_t ordinal,
                                uint32_t number, uint32_t draw)
{
    sim_assert(draw < STAGE_DRAWS);
    return failure_key(times, ordinal, DRAW_STAGE + (uint64_t)number * STAGE_DRAWS + draw);
}

sim_time failure_repair(const struct failure_times *times, uint64_t ordinal, uint32_t number)
{
    const struct failure_class *of = times->of;
    if (of->stage_count == 0) {
        const struct rng_key key = failure_key(times, ordinal, DRAW_REPAIR + number);
        return law_draw(&of->repair, &key);
    }
    sim_time takes = 0;
    for (uint32_t i = 0; i < of->stage_count; i++) {
        const struct rng_key lasts = stage_key(times, ordinal, number, 2 * i);
        const struct rng_key helps = stage_key(times, ordinal, number, 2 * i + 1);
        takes = law_after(takes, law_draw(&of->stages[i].takes, &lasts));
        if (i + 1 < of->stage_count && rng_uniform(&helps) < of->stages[i].helps) {
            break;
        }
    }
    return takes;
}

bool failure_fails_again(const struct failure_times *times, uint64_t ordinal, sim_time *after)
{
    const struct failure_class *of = times->of;
    if (of->returns_bad <= 0) {
        return false;
    }
    const struct rng_key bad = failure_key(times, ordinal, DRAW_RETURN);
    const struct rng_key again = failure_key(times, ordinal, DRAW_AGAIN);
    *after = law_draw(&of->fails_again, &again);
    return rng_uniform(&bad) < of->returns_bad;
}

double failure_repair_mean_s(const struct failure_class *class)
{
    double mean_s = class->stage_count > 0 ? 0 : class->repair.mean_s;
    double comes = 1;
    for (uint32_t i = 0; i < class->stage_count; i++) {
        mean_s += comes * class->stages[i].takes.mean_s;
        comes *= 1 - class->stages[i].helps;
    }
    return mean_s;
}
