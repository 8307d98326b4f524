/* Two more points for each rate of each offer, in a study of their own. */
#include "study/quote/quote_rates.h"

#include "base/absent.h"
#include "base/arena.h"
#include "input/gpu.h"
#include "study/why_rates.h"

#include <math.h>
#include <string.h>

/* The nodes of a Gauss-Hermite rule of three points, and nearer ones where a key ends before. */
static const double tried[] = {1.7320508075688772, 1, 0.5};
enum { TRIED = sizeof tried / sizeof *tried };

struct asking {
    struct arena *arena;
    const struct quote_asked *of;
    struct why_machine machine;
    struct study *study;
};

/* False: the keys cannot be that. */
static bool add_point(const struct asking *asking, const struct quote_rate_of_box *rate, double x)
{
    const char *sets[WHY_SETS_MAX];
    const double times = exp(x * rate->deviation);
    const uint32_t count = rate->rate->sets(asking->arena, &asking->machine, times, sets);
    if (count == 0) {
        return false;
    }
    const struct study_point *whole = asking->of->point;
    struct study_point *point = &asking->study->points[asking->study->count++];
    *point = *whole;
    point->scenario = NULL;
    point->sets = arena_array(asking->arena, whole->set_count + count, sizeof *point->sets);
    memcpy(point->sets, whole->sets, whole->set_count * sizeof *point->sets);
    for (uint32_t i = 0; i < count; i++) {
        point->sets[point->set_count++] = sets[i];
    }
    point->label =
        arena_printf(asking->arena, "%s, %s %+.3g deviations", whole->label, rate->rate->name, x);
    return true;
}

/* As far out as keys go, on one side. */
static void add_node(const struct asking *asking, double sign, struct quote_rate_of_box *rate)
{
    for (uint32_t i = 0; i < TRIED; i++) {
        const uint32_t number = asking->study->count;
        if (add_point(asking, rate, sign * tried[i])) {
            rate->nodes[rate->node_count] = sign * tried[i];
            rate->points[rate->node_count++] = number;
            return;
        }
    }
}

static double peak_of(const struct why_machine *machine)
{
    return machine->gpu->peak_flop_per_s[machine->precision];
}

static void ask_offer(const struct asking *asking, const struct limits *limits,
                      struct quote_rates *rates)
{
    for (uint32_t i = 0; i < why_rate_count(); i++) {
        const struct why_rate *rate = why_rate_of(i);
        if (!rate->is_of_box || !rate->arises(&asking->machine)) {
            continue;
        }
        struct quote_rate_of_box *item = &rates->items[rates->count];
        *item = (struct quote_rate_of_box){
            .rate = rate,
            .offer = asking->of->offer,
            .deviation = rate->deviation(&asking->machine, limits),
            .figure = rate->factor * rate->figure(&asking->machine),
            .peak = rate->is_product ? rate->factor * peak_of(&asking->machine) : 0};
        if (item->deviation > 0) {
            add_node(asking, -1, item);
            add_node(asking, 1, item);
            rates->count += item->node_count > 0 ? 1 : 0;
        }
    }
}

bool quote_rates_ask(struct arena *arena, const struct quote_asked *asked, uint32_t count,
                     const struct study_base *base, const struct limits *limits,
                     struct quote_rates *rates, struct study *study, struct diag *diag)
{
    const size_t most = (size_t)count * why_rate_count() + 1;
    *study = (struct study){.kind = "quote rates"};
    study->points = arena_array(arena, most * QUOTE_NODES, sizeof *study->points);
    *rates = (struct quote_rates){arena_array(arena, most, sizeof *rates->items), 0};
    for (uint32_t i = 0; i < count; i++) {
        const struct asking asking = {arena, &asked[i], why_machine_of(asked[i].scenario), study};
        ask_offer(&asking, limits, rates);
    }
    return study->count == 0 ||
           study_of_points(arena, study->points[0].document, base, study, diag);
}

static void fit(double step_s, const struct store_row *rows, uint32_t row_count,
                struct quote_rate_of_box *rate)
{
    double x[QUOTE_NODES], y[QUOTE_NODES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < rate->node_count; i++) {
        const uint32_t number = rate->points[i];
        if (number < row_count && store_row_is_good(&rows[number])) {
            x[count] = rate->nodes[i];
            y[count++] = log(rows[number].step_s / step_s);
        }
    }
    if (count == 2) { /* through 0 and both */
        rate->curve = (y[1] / x[1] - y[0] / x[0]) / (x[1] - x[0]);
        rate->slope = y[0] / x[0] - rate->curve * x[0];
    } else if (count == 1) {
        rate->slope = y[0] / x[0];
    }
}

void quote_rates_fit(const struct quote_asked *asked, uint32_t count, const struct store_row *rows,
                     uint32_t row_count, struct quote_rates *rates)
{
    for (uint32_t i = 0; i < rates->count; i++) {
        for (uint32_t k = 0; k < count; k++) {
            if (asked[k].offer == rates->items[i].offer) {
                fit(asked[k].step_s, rows, row_count, &rates->items[i]);
            }
        }
    }
}

double quote_rate_moves(const struct quote_rate_of_box *rate, double x)
{
    return rate->slope * x + rate->curve * x * x;
}
