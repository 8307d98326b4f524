/* First each offer as predicted; then rates are simulated, levels of chance put together, and the
 * draws gone through. */
#include "study/quote/quote_found.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "study/best.h"
#include "study/quote/quote_inputs.h"
#include "study/quote/quote_worth.h"

#include <math.h>
#include <string.h>

double quote_score(const struct quote *quote, const struct plan *plan)
{
    return quote->by == QUOTE_BY_COST ? plan->cost_usd : plan->end;
}

static double score_of(const struct quote_found *found, uint32_t number)
{
    return quote_score(found->points.quote, &found->offers[number].plan);
}

/* ---- as predicted ---------------------------------------------------------------------------- */

static const char *lack_of(const struct quote_judging *judging, const struct quote_found *found,
                           uint32_t number)
{
    const struct quote_points *points = &found->points;
    for (uint32_t job = 0; job < points->quote->job_count; job++) {
        const uint32_t at =
            quote_point(points, job, number, points->quote->offers[number].part_count - 1);
        const struct store_row *row = &judging->points->rows[at];
        if (quote_main_row(judging, points, job, number) != NULL) {
            continue;
        }
        const struct best_layout *layout = points->layouts != NULL ? &points->layouts[at] : NULL;
        return layout != NULL && !layout->is_found && layout->lack[0] != '\0' ? layout->lack
               : store_row_is_good(row) ? "it has no run: {tokens: ...}"
                                        : row->message;
    }
    return NULL;
}

static bool plan_all(const struct quote_judging *judging, struct quote_found *found,
                     struct quote_chances *chances)
{
    const struct quote *quote = found->points.quote;
    bool is_good = true;
    for (uint32_t i = 0; i < found->count; i++) {
        struct quote_judged *judged = &found->offers[i];
        *judged = (struct quote_judged){
            .offer = &quote->offers[i], .even_times = ABSENT, .even_shift_days = ABSENT};
        is_good = quote_inputs_of(judging, found, i, &chances[i]) && is_good;
        plan_offer(&judged->in, &judged->plan);
        judged->is_held = judged->plan.is_done;
        judged->lack = judged->is_held ? NULL : lack_of(judging, found, i);
        found->held += judged->is_held ? 1 : 0;
    }
    return is_good;
}

/* The least by score but for one; count: there is none. */
static uint32_t least_but(const struct quote_found *found, uint32_t but)
{
    uint32_t least = found->count;
    for (uint32_t i = 0; i < found->count; i++) {
        if (i != but && found->offers[i].is_held &&
            (least == found->count || score_of(found, i) < score_of(found, least))) {
            least = i;
        }
    }
    return least;
}

static void rank(struct quote_found *found)
{
    found->winner = least_but(found, found->count);
    found->second = least_but(found, found->winner);
    found->first = found->winner;
    for (uint32_t i = 0; i < found->count; i++) {
        const bool is_earlier = found->offers[i].is_held &&
                                found->offers[i].plan.end < found->offers[found->first].plan.end;
        found->first = is_earlier ? i : found->first;
    }
}

/* ---- what turns it --------------------------------------------------------------------------- */

/* Of what is paid for GPUs, what its price is of; the rest is hosting. */
static double price_usd(const struct quote_found *found, uint32_t number)
{
    const struct quote_judged *judged = &found->offers[number];
    const double hosting = judged->offer->is_bought ? judged->offer->hosting_usd_per_month /
                                                          HOURS_PER_MONTH * judged->plan.gpu_hours
                                                    : 0;
    return judged->plan.hours_usd - hosting;
}

static void put_even_price(struct quote_found *found, uint32_t number, double other)
{
    const double price = price_usd(found, number);
    const double times = 1 + (other - score_of(found, number)) / price;
    const bool plays = found->points.quote->by == QUOTE_BY_COST && price > 0;
    found->offers[number].even_times = plays && times >= 0 ? times : ABSENT;
}

/* What shifting all its deliveries moves: the score, or where the day plays no part the end. */
static double shifted(const struct quote_found *found, uint32_t number, double days, bool by_end)
{
    struct plan_offer in = found->offers[number].in;
    struct plan plan;
    for (uint32_t p = 0; p < in.part_count; p++) {
        in.from[p] += days;
    }
    plan_offer(&in, &plan);
    return by_end ? plan.end : quote_score(found->points.quote, &plan);
}

enum { HALVINGS = 50, SHIFT_DAYS_MAX = 3650 };

/* From a shift that is below to one that is not: where it is reached. ABSENT: it is not. */
static double shift_to(const struct quote_found *found, uint32_t number, double other, bool by_end)
{
    const struct plan_offer *in = &found->offers[number].in;
    double low = in->today - in->from[0], high = SHIFT_DAYS_MAX;
    if (shifted(found, number, low, by_end) >= other ||
        shifted(found, number, high, by_end) < other) {
        return ABSENT;
    }
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = (low + high) / 2;
        if (shifted(found, number, middle, by_end) < other) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (low + high) / 2;
}

/* The end of the first but for one. */
static double end_of_first(const struct quote_found *found, uint32_t but)
{
    double end = HUGE_VAL;
    for (uint32_t i = 0; i < found->count; i++) {
        end = i != but && found->offers[i].is_held ? fmin(end, found->offers[i].plan.end) : end;
    }
    return end;
}

static void put_even(struct quote_found *found)
{
    const struct quote *quote = found->points.quote;
    const bool by_end = quote->by == QUOTE_BY_DATE || !(quote->day_usd > 0);
    for (uint32_t i = 0; i < found->count && found->second < found->count; i++) {
        if (!found->offers[i].is_held) {
            continue;
        }
        const double other = score_of(found, i == found->winner ? found->second : found->winner);
        put_even_price(found, i, other);
        found->offers[i].even_shift_days =
            shift_to(found, i, by_end ? end_of_first(found, i) : other, by_end);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Its rates as an array of its own. */
static void put_box(struct arena *arena, const struct quote_rates *rates, uint32_t number,
                    struct quote_chances *chances)
{
    struct quote_rate_of_box *own = arena_array(arena, rates->count + (size_t)1, sizeof *own);
    for (uint32_t i = 0; i < rates->count; i++) {
        if (rates->items[i].offer == number) {
            own[chances->of_box_count++] = rates->items[i];
        }
    }
    chances->of_box = own;
}

static bool ask_rates(const struct quote_judging *judging, struct quote_found *found,
                      struct quote_chances *chances)
{
    struct arena *arena = judging->arena;
    struct diag *diag = judging->points->diag;
    struct quote_asked *asked = arena_array(arena, found->count + (size_t)1, sizeof *asked);
    uint32_t count = 0;
    for (uint32_t i = 0; i < found->count; i++) {
        const struct store_row *row =
            found->offers[i].is_held ? quote_main_row(judging, &found->points, 0, i) : NULL;
        if (row == NULL) {
            continue;
        }
        const struct study_point *point = &judging->points->study->points[row->number];
        struct diag *own = diag_new(arena);
        const struct scenario *scenario =
            study_point_resolve(point, arena, judging->points->catalogue, own);
        if (scenario == NULL) {
            return diag_add(diag, DIAG_FAILURE, NULL, "%s cannot be read again: %s", row->label,
                            diag_first_error_at(arena, own));
        }
        asked[count++] = (struct quote_asked){i, point, scenario, row->step_s};
        chances[i].box = arena_printf(arena, "%s, %s", found->offers[i].offer->vendor, row->gpu);
    }
    struct study study;
    struct store_row *rows = NULL;
    uint32_t row_count = 0;
    if (!quote_rates_ask(arena, asked, count, judging->base, judging->limits, &found->rates, &study,
                         diag) ||
        (study.count > 0 && !judging->run(judging->context, &study, &rows, &row_count))) {
        return false;
    }
    quote_rates_fit(asked, count, rows, row_count, &found->rates);
    for (uint32_t i = 0; i < found->count; i++) {
        put_box(arena, &found->rates, i, &chances[i]);
    }
    return true;
}

bool quote_judge(const struct quote_judging *judging, struct quote_found *found)
{
    struct arena *arena = judging->arena;
    found->count = found->points.quote->offer_count;
    found->offers = arena_array(arena, found->count, sizeof *found->offers);
    struct quote_chances *chances = arena_array(arena, found->count, sizeof *chances);
    if (!plan_all(judging, found, chances)) {
        return false;
    }
    rank(found);
    if (found->held == 0) {
        return true;
    }
    put_even(found);
    for (uint32_t i = 0; i < found->count; i++) {
        chances[i].box = "";
    }
    if (!ask_rates(judging, found, chances)) {
        return false;
    }
    quote_levels_of(judging, found, chances);
    quote_weigh(arena, chances, found);
    return true;
}
