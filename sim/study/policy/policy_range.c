/* Losses that cannot be had are larger than all others but finite, as GSL wants them. */
#include "study/policy/policy_range.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_min.h>

#include <math.h>
#include <stdbool.h>

enum { GRID = 9, ROUNDS_MAX = 60 };
static const double CLOSE = 0.01; /* of the interval's logarithm */
static const double UNTOLD = 1e300;

struct trying {
    const struct policy_range *range;
    int64_t best;
    double best_loss;
};

static double loss_of(struct trying *trying, int64_t steps)
{
    const double loss = fmin(trying->range->loss_at(trying->range->context, steps), UNTOLD);
    if (trying->best == 0 || loss < trying->best_loss ||
        (!(loss > trying->best_loss) && steps < trying->best)) {
        trying->best = steps;
        trying->best_loss = loss;
    }
    return loss;
}

static double loss_of_log(double log_steps, void *context)
{
    return loss_of(context, llround(exp(log_steps)));
}

static bool is_close(int64_t low, int64_t high)
{
    return high - low <= 2 || log((double)high / (double)low) <= CLOSE;
}

/* The middle one is better than both ends. */
static void close_in(struct trying *trying, int64_t low, int64_t middle, int64_t high)
{
    gsl_function function = {loss_of_log, trying};
    gsl_min_fminimizer *search = gsl_min_fminimizer_alloc(gsl_min_fminimizer_goldensection);
    int status = gsl_min_fminimizer_set(search, &function, log((double)middle), log((double)low),
                                        log((double)high));
    for (int i = 0; i < ROUNDS_MAX && status == GSL_SUCCESS && !is_close(low, high); i++) {
        status = gsl_min_fminimizer_iterate(search);
        low = llround(exp(gsl_min_fminimizer_x_lower(search)));
        high = llround(exp(gsl_min_fminimizer_x_upper(search)));
    }
    gsl_min_fminimizer_free(search);
}

static int64_t between(int64_t a, int64_t b)
{
    return llround(sqrt((double)a * (double)b));
}

/* The end is better than what lies next to it: is what lies between? */
static void close_in_on_end(struct trying *trying, int64_t end, int64_t next)
{
    const double end_loss = loss_of(trying, end);
    for (int i = 0; i < ROUNDS_MAX; i++) {
        const int64_t low = end < next ? end : next;
        const int64_t high = end < next ? next : end;
        if (is_close(low, high)) {
            return;
        }
        const int64_t middle = between(end, next);
        if (loss_of(trying, middle) < end_loss) {
            close_in(trying, low, middle, high);
            return;
        }
        next = middle;
    }
}

int64_t policy_range_search(const struct policy_range *range)
{
    struct trying trying = {.range = range};
    int64_t grid[GRID] = {0};
    int count = 0;
    const double ratio = (double)range->most / (double)range->least;
    for (int i = 0; i < GRID; i++) {
        const double share = (double)i / (GRID - 1);
        const int64_t steps = llround((double)range->least * pow(ratio, share));
        if (count == 0 || steps > grid[count - 1]) {
            grid[count++] = steps;
            (void)loss_of(&trying, steps);
        }
    }
    int at = 0;
    while (grid[at] != trying.best) {
        at++;
    }
    if (count > 1 && (at == 0 || at == count - 1)) {
        close_in_on_end(&trying, grid[at], grid[at == 0 ? 1 : at - 1]);
    } else if (count > 1) {
        close_in(&trying, grid[at - 1], grid[at], grid[at + 1]);
    }
    return trying.best;
}
