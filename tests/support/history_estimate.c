/* The time before the warm-up's end is that of the same history with a nearer horizon: what one did
 * in its first days does not depend on when it will end.
 */
#include "support/history_estimate.h"

#include "base/arena.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { HISTORIES_MIN = 64 };

struct sums {
    double x, y, xx, yy, xy;
    double failures;
    uint64_t n;
};

/* Of one history, `sign` times. */
static void add_until(struct arena *arena, const struct history_plan *plan, uint64_t number,
                      double sign, double *useful, double *all, double *failures)
{
    struct history_outcome outcome;
    arena_reset(arena);
    history_run(arena, plan, ESTIMATE_SEED, number, &outcome);
    *useful += sign * (double)outcome.account_ns[ACCOUNT_USEFUL];
    *all += sign * (double)outcome.end;
    for (uint32_t i = 0; i < plan->class_count; i++) {
        *failures += sign * (double)outcome.interruptions[i];
    }
}

static void add_history(struct arena *arena, const struct history_plan *plan, sim_time warm_up,
                        struct sums *sums)
{
    double useful = 0;
    double all = 0;
    add_until(arena, plan, sums->n, 1.0, &useful, &all, &sums->failures);
    if (warm_up > 0) {
        struct history_plan begin = *plan;
        begin.horizon = warm_up;
        add_until(arena, &begin, sums->n, -1.0, &useful, &all, &sums->failures);
    }
    sums->x += useful;
    sums->y += all;
    sums->xx += useful * useful;
    sums->yy += all * all;
    sums->xy += useful * all;
    sums->n++;
}

static struct history_estimate estimate_of(const struct sums *sums)
{
    const double n = (double)sums->n;
    const double mean = sums->x / sums->y;
    const double squares = sums->xx - 2 * mean * sums->xy + mean * mean * sums->yy;
    return (struct history_estimate){mean, sqrt(squares / n) / (sums->y / n) / sqrt(n)};
}

struct history_step even_step(void *context, const struct history_regime *regime)
{
    const struct even_pace *pace = context;
    (void)regime;
    return (struct history_step){pace->step_ns, 0};
}

struct history_estimate history_estimate(const struct history_plan *plan, sim_time warm_up)
{
    struct arena *arena = arena_new();
    struct sums sums = {0};
    struct history_estimate result = {0, HUGE_VAL};
    const double error_max = ESTIMATE_ERROR_MAX * sqrt((double)share());
    while (sums.n < HISTORIES_MIN || sums.failures < ESTIMATE_FAILURES ||
           result.error > error_max) {
        add_history(arena, plan, warm_up, &sums);
        result = estimate_of(&sums);
    }
    arena_free(arena);
    return result;
}

void assert_estimates(const char *name, const struct history_estimate *found, double exact)
{
    const double sigmas = (found->mean - exact) / found->error;
    if (!(fabs(sigmas) <= ESTIMATE_SIGMAS)) {
        print_error("%s: %.6f, exactly %.6f: %.1f standard errors of %.1e\n", name, found->mean,
                    exact, sigmas, found->error);
        fail();
    }
}
