/* Sentences first, then a table each of offers, of what turns them, of cash, of measurements and of
 * layouts. */
#include "report/study/quote_sheet.h"

#include "bands/ratio_bands.h"
#include "base/absent.h"
#include "base/arena.h"
#include "base/date.h"
#include "base/units.h"
#include "report/numbers.h"
#include "report/points.h"
#include "study/bests.h"
#include "study/quote/quote_cash.h"
#include "study/quote/quote_policies.h"
#include "study/why_rates.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct sheet_of {
    const struct quote_found *found;
    const struct quote *quote;
    struct arena *arena;
    double unit_usd;  /* of the columns of money: 1, 1e3 or 1e6 */
    const char *unit; /* before USD: "k " */
};

static const struct quote_judged *winner_of(const struct sheet_of *of)
{
    return &of->found->offers[of->found->winner];
}

static bool by_cost(const struct sheet_of *of)
{
    return of->quote->by == QUOTE_BY_COST;
}

/* The day on which something is done: what is done at noon is done that day. */
static const char *day_text(struct arena *arena, double day)
{
    char text[DATE_BYTES];
    return arena_strdup(arena, date_text((int64_t)floor(day), text));
}

static double score_share(const struct sheet_of *of, const struct quote_judged *offer)
{
    return by_cost(of) ? offer->cost_share : offer->date_share;
}

static double score_behind(const struct sheet_of *of, const struct quote_judged *offer)
{
    return by_cost(of) ? offer->cost_behind_usd : offer->date_behind_days;
}

/* "-41 k", three digits. */
static const char *signed_usd(struct arena *arena, double usd)
{
    return arena_printf(arena, "%s%s", usd < 0 ? "-" : "", number_short(arena, fabs(usd)));
}

/* USD or days. */
static const char *score_text(const struct sheet_of *of, double score)
{
    return by_cost(of) ? arena_printf(of->arena, "%s USD", number_short(of->arena, score))
                       : arena_printf(of->arena, "%.2g days", score);
}

static double usd_per_million(const struct quote_judged *offer, double usd)
{
    return offer->tokens > 0 ? 1e6 * usd / offer->tokens : ABSENT;
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* As of ratios (bands/ratio_bands): outside a band of four fifths, or of half, on one side. */
static const double CLEAR = 0.9;
static const double LIKELY = 0.75;

static const char *call_of(double share)
{
    return ratio_verdict_names[share >= CLEAR    ? RATIO_CLEAR
                               : share >= LIKELY ? RATIO_LIKELY
                                                 : RATIO_CLOSE];
}

static const char *answer_of(const struct sheet_of *of)
{
    struct arena *arena = of->arena;
    const struct quote_found *found = of->found;
    const struct quote_judged *best = winner_of(of);
    const char *money = arena_printf(
        arena, "%s USD (p10 to p90 %s to %s)", number_short(arena, best->plan.cost_usd),
        number_short(arena, best->cost_usd.p10), number_short(arena, best->cost_usd.p90));
    const char *date = arena_printf(arena, "%s (%s to %s)", day_text(arena, best->plan.end),
                                    day_text(arena, best->end.p10), day_text(arena, best->end.p90));
    const char *head =
        by_cost(of)
            ? arena_printf(arena, "%s costs least: %s, done %s", best->offer->name, money, date)
            : arena_printf(arena, "%s is done first: %s, for %s", best->offer->name, date, money);
    if (found->second == found->count) {
        return arena_printf(arena, "%s; no other offer holds the jobs.", head);
    }
    const double share = score_share(of, best);
    return arena_printf(arena, "%s.\nIt wins in %.0f %% of draws (%s), before %s.", head,
                        100 * share, call_of(share), found->offers[found->second].offer->name);
}

/* What makes the winner cheaper than the next: its GPU-hours, their price, or what is beside. */
static const char *decides_cost(const struct sheet_of *of, const struct plan *a,
                                const struct plan *b)
{
    const double pa = a->hours_usd / a->gpu_hours, pb = b->hours_usd / b->gpu_hours;
    const double hours = (b->gpu_hours - a->gpu_hours) * (pa + pb) / 2;
    const double price = (pb - pa) * (a->gpu_hours + b->gpu_hours) / 2;
    return arena_printf(of->arena,
                        "GPU-hours %+.0f %%, USD an hour %+.0f %%. Of %s USD less "
                        "%s are the hours', %s their price's, %s energy, storage and waiting",
                        100 * (a->gpu_hours / b->gpu_hours - 1), 100 * (pa / pb - 1),
                        signed_usd(of->arena, b->cost_usd - a->cost_usd),
                        signed_usd(of->arena, hours), signed_usd(of->arena, price),
                        signed_usd(of->arena, b->cost_usd - a->cost_usd - hours - price));
}

static const char *decides_date(const struct sheet_of *of, const struct quote_judged *a,
                                const struct quote_judged *b)
{
    const double begins = b->plan.segments[0].begin - a->plan.segments[0].begin;
    const double all = b->plan.end - a->plan.end;
    return arena_printf(of->arena,
                        "of %.1f days that it is before, %+.1f are its begin, %+.1f its work", all,
                        begins, all - begins);
}

static const char *decides_of(const struct sheet_of *of)
{
    const struct quote_found *found = of->found;
    const struct quote_judged *a = winner_of(of);
    if (found->second == found->count) {
        return NULL;
    }
    const struct quote_judged *b = &found->offers[found->second];
    return arena_printf(of->arena, "What decides against %s: %s.", b->offer->name,
                        by_cost(of) ? decides_cost(of, &a->plan, &b->plan)
                                    : decides_date(of, a, b));
}

/* Up to the comma of its unit: "1196 TFLOP/s", of products "1196 TFLOP/s (0.53 of peak)". */
static const char *figure_text(struct arena *arena, double figure,
                               const struct quote_rate_of_box *of)
{
    const char *unit = of->rate->unit;
    const char *text = arena_printf(arena, "%.4g %.*s", figure, (int)strcspn(unit, ","), unit);
    return of->peak > 0 ? arena_printf(arena, "%s (%.2f of peak)", text, figure / of->peak) : text;
}

/* The one thing to measure. */
static const char *measure_of(const struct sheet_of *of)
{
    const struct quote_found *found = of->found;
    const double doubt = score_behind(of, winner_of(of));
    const double score = quote_score(of->quote, &winner_of(of)->plan);
    const double least = by_cost(of) ? 1e-4 * score : 0.01;
    if (found->second == found->count) {
        return NULL;
    }
    if (!(doubt > least) || found->measure_count == 0 ||
        !(found->measures[0].worth > 0.01 * doubt)) {
        return doubt > least
                   ? arena_printf(of->arena,
                                  "Nothing that one box tells before signing is worth much: the "
                                  "doubt (%s in the mean) is in what boxes of a kind share.",
                                  score_text(of, doubt))
                   : "Nothing to measure before signing: no number that a box tells turns it.";
    }
    const struct quote_measure *first = &found->measures[0];
    const char *turn =
        is_absent(first->turns_at)
            ? "no value within 3 deviations turns it alone"
            : arena_printf(of->arena, "%s %s %s wins", first->turns_above ? "above" : "below",
                           figure_text(of->arena, first->turns_at, first->rate),
                           found->offers[first->turns_to].offer->name);
    return arena_printf(
        of->arena,
        "Measure before signing: %s on %s's box (%s). Assumed: %s; %s. "
        "That is worth %s, %.0f %% of the doubt (%s in the mean).",
        first->rate->rate->name, found->offers[first->rate->offer].offer->name,
        first->rate->rate->measure, figure_text(of->arena, first->rate->figure, first->rate), turn,
        score_text(of, first->worth), fmin(100, 100 * first->worth / doubt), score_text(of, doubt));
}

/* ---- offers ---------------------------------------------------------------------------------- */

static const char *days_range(struct arena *arena, const struct quote_judged *offer)
{
    const double low = offer->end.p10 - offer->plan.end, high = offer->end.p90 - offer->plan.end;
    const char *format = high - low < 10 ? "%+.1f" : "%+.0f";
    return arena_printf(arena, "%s to %s", field_number(arena, format, low),
                        field_number(arena, format, high));
}

static const char *usd_text(const struct sheet_of *of, double usd)
{
    const char *format = of->unit_usd > 1e3 ? "%.2f" : "%.0f";
    return is_absent(usd) ? NULL : field_number(of->arena, format, usd / of->unit_usd);
}

static void add_offer(const struct sheet_of *of, const struct quote_judged *offer,
                      struct sheet *table)
{
    struct arena *arena = of->arena;
    const struct plan *plan = &offer->plan;
    const struct quote_range *usd = &offer->cost_usd;
    sheet_text(table, NULL, offer->offer->name);
    sheet_number(table, NULL, offer->in.gpus[offer->in.part_count - 1]);
    sheet_text(table, NULL, day_text(arena, plan->end));
    sheet_range(table, offer->end.p10 - plan->end, offer->end.p90 - plan->end,
                days_range(arena, offer));
    sheet_number_as(table, NULL, plan->cost_usd, usd_text(of, plan->cost_usd));
    sheet_range(table, usd->p10, usd->p90,
                arena_printf(arena, "%s to %s", usd_text(of, usd->p10), usd_text(of, usd->p90)));
    sheet_number(table, NULL, usd_per_million(offer, plan->cost_usd));
    sheet_number(table, NULL, plan->energy_kwh);
    sheet_number(table, NULL, score_share(of, offer));
    sheet_number(table, NULL, by_cost(of) ? offer->date_share : offer->cost_share);
}

static void add_offers(const struct sheet_of *of, struct sheet *sheet)
{
    struct arena *arena = of->arena;
    const char *head = arena_printf(arena, "%sUSD", of->unit);
    const struct field fields[] = {
        {NULL, FIELD_LEFT("offer"), .csv = "name"},
        {NULL, FIELD_COUNT("GPUs"), .csv = "gpus"},
        {NULL, FIELD_LEFT("done"), .csv = "done"},
        {NULL, FIELD_RANGE("p10, p90 days", "done_days")},
        {NULL, FIELD_COUNT(head), .csv = "cost_usd"},
        {NULL, FIELD_RANGE("p10 to p90", "cost_usd")},
        {NULL, FIELD_RIGHT("USD/M tokens", "%.3g", 1), .csv = "usd_per_million_tokens"},
        {NULL, FIELD_RIGHT("MWh", "%.3g", 1e-3), .csv = "energy_kwh"},
        {NULL, FIELD_RIGHT("wins %", "%.0f", 100),
         .csv = by_cost(of) ? "cost_share" : "date_share"},
        {NULL, FIELD_RIGHT(by_cost(of) ? "first %" : "cheapest %", "%.0f", 100),
         .csv = by_cost(of) ? "date_share" : "cost_share"},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < of->found->count; i++) {
        const struct quote_judged *offer = &of->found->offers[i];
        if (!offer->is_held) {
            continue;
        }
        add_offer(of, offer, table);
    }
    for (uint32_t i = 0; i < of->found->count; i++) {
        const struct quote_judged *offer = &of->found->offers[i];
        if (!offer->is_held) {
            sheet_say(sheet, "%s does not hold them: %s\n", offer->offer->name, offer->lack);
        }
    }
}

/* ---- what turns it --------------------------------------------------------------------------- */

/* In its own currency: "2.10 USD/GPU-h", "290 k EUR/node". */
static double price_of(const struct sheet_of *of, uint32_t number, const char **per)
{
    const struct quote_offer *offer = &of->quote->offers[number];
    *per = !offer->is_bought             ? "GPU-h"
           : !is_absent(offer->gpu_usd)  ? "GPU"
           : !is_absent(offer->node_usd) ? "node"
                                         : "all";
    const double usd = !offer->is_bought             ? offer->hour_usd
                       : !is_absent(offer->gpu_usd)  ? offer->gpu_usd
                       : !is_absent(offer->node_usd) ? offer->node_usd
                                                     : offer->total_usd;
    for (uint32_t i = 0; i < of->quote->rate_count; i++) {
        if (strcmp(of->quote->rates[i].currency, offer->currency) == 0) {
            return usd / of->quote->rates[i].usd;
        }
    }
    return usd;
}

static const char *price_text(struct arena *arena, double price)
{
    return price < 100 ? arena_printf(arena, "%.2f", price) : number_short(arena, price);
}

static void add_turns(const struct sheet_of *of, struct sheet *sheet)
{
    struct arena *arena = of->arena;
    const struct field fields[] = {
        {NULL, FIELD_LEFT("what turns it")},
        {NULL, FIELD_COUNT("price")},
        {NULL, FIELD_LEFT("of")},
        {NULL, FIELD_COUNT("breaks even at")},
        {NULL, FIELD_COUNT("that is")},
        {NULL, FIELD_LEFT("delivery")},
        {NULL, FIELD_LEFT("breaks even at")},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; of->found->second < of->found->count && i < of->found->count; i++) {
        const struct quote_judged *offer = &of->found->offers[i];
        const char *per;
        const double price = price_of(of, i, &per);
        const bool has_price = offer->is_held && !is_absent(offer->even_times);
        if (!offer->is_held) {
            continue;
        }
        sheet_text(table, NULL, offer->offer->name);
        sheet_text(table, NULL, price_text(arena, price));
        sheet_text(table, NULL, arena_printf(arena, "%s/%s", offer->offer->currency, per));
        sheet_text(table, NULL, has_price ? price_text(arena, price * offer->even_times) : NULL);
        sheet_text(table, NULL,
                   has_price ? arena_printf(arena, "%+.0f %%", 100 * (offer->even_times - 1))
                             : NULL);
        sheet_text(table, NULL, day_text(arena, offer->in.from[0]));
        sheet_text(table, NULL,
                   is_absent(offer->even_shift_days)
                       ? NULL
                       : day_text(arena, offer->in.from[0] + offer->even_shift_days));
    }
    if (sheet_row_count(table) > 0) {
        const bool is_end = !by_cost(of) || !(of->quote->day_usd > 0);
        sheet_say(sheet,
                  "At that price it is as good as the winner, the winner as the next; with that "
                  "delivery it %s.\n",
                  is_end ? "is done when the first is, the first when the next is"
                         : "costs what the winner does, the winner what the next does");
    }
}

/* ---- cash ------------------------------------------------------------------------------------ */

static struct cash cash_at(const struct sheet_of *of, uint32_t number)
{
    const struct quote_judged *offer = &of->found->offers[number];
    const struct cash_terms terms = {quote_gpu_usd(&of->found->points, number),
                                     quote_written_usd(&of->found->points, number)};
    return cash_of(of->arena, &offer->in, &offer->plan, &terms);
}

static void add_cash(const struct sheet_of *of, struct sheet *sheet)
{
    struct arena *arena = of->arena;
    const uint32_t count = of->found->count;
    struct cash *cash = arena_array(arena, count, sizeof *cash);
    struct field *fields = arena_array(arena, count + (size_t)1, sizeof *fields);
    uint32_t months = 0;
    bool is_bought = false;
    fields[0] = (struct field){FIELD_LEFT(arena_printf(arena, "paid, %sUSD", of->unit))};
    for (uint32_t i = 0; i < count; i++) {
        const bool is_held = of->found->offers[i].is_held;
        cash[i] = is_held ? cash_at(of, i) : (struct cash){.count = 0};
        months = cash[i].count > months ? cash[i].count : months;
        is_bought = is_bought || cash[i].left_usd > 0;
        fields[i + 1] = (struct field){FIELD_COUNT(is_held ? of->quote->offers[i].name : NULL)};
    }
    struct sheet *table = sheet_table(sheet, NULL, fields, count + 1);
    sheet_caption(table, "\n");
    for (uint32_t m = 0; m < months; m++) {
        char text[DATE_BYTES];
        const int64_t day = date_month((int64_t)of->quote->today, m);
        sheet_text(table, NULL, arena_strndup(arena, date_text(day, text), strlen("2026-09")));
        for (uint32_t i = 0; i < count; i++) {
            const bool is_paid = m < cash[i].count && cash[i].usd[m] > 0;
            sheet_text(table, NULL, is_paid ? usd_text(of, cash[i].usd[m]) : NULL);
        }
    }
    if (is_bought) {
        sheet_text(table, NULL, "worth then");
        for (uint32_t i = 0; i < count; i++) {
            sheet_text(table, NULL, cash[i].left_usd > 0 ? usd_text(of, -cash[i].left_usd) : NULL);
        }
        sheet_say(sheet, "What is bought costs the jobs what is written off while they have it; "
                         "the rest is left.\n");
    }
}

/* ---- measurements ---------------------------------------------------------------------------- */

static void add_measures(const struct sheet_of *of, struct sheet *sheet)
{
    enum { SHOWN = 5 };
    struct arena *arena = of->arena;
    const struct quote_found *found = of->found;
    const double doubt = score_behind(of, winner_of(of));
    const struct field fields[] = {
        {NULL, FIELD_LEFT("worth knowing")}, {NULL, FIELD_LEFT("of")},
        {NULL, FIELD_COUNT("assumed")},      {NULL, FIELD_COUNT("within")},
        {NULL, FIELD_COUNT("turns at")},     {NULL, FIELD_LEFT("to")},
        {NULL, FIELD_COUNT("doubt %")},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < found->measure_count && i < SHOWN; i++) {
        const struct quote_measure *measure = &found->measures[i];
        const struct quote_rate_of_box *rate = measure->rate;
        const bool turns = !is_absent(measure->turns_at);
        if (!(measure->worth > 0.005 * doubt)) {
            break;
        }
        sheet_text(table, NULL, rate->rate->name);
        sheet_text(table, NULL, of->quote->offers[rate->offer].name);
        sheet_text(table, NULL, figure_text(arena, rate->figure, rate));
        sheet_text(table, NULL, arena_printf(arena, "%.1f %%", 100 * rate->deviation));
        sheet_text(table, NULL, turns ? arena_printf(arena, "%.4g", measure->turns_at) : NULL);
        sheet_text(table, NULL, turns ? of->quote->offers[measure->turns_to].name : NULL);
        sheet_say(table, "%.0f", doubt > 0 ? fmin(100, 100 * measure->worth / doubt) : 0);
    }
}

/* ---- how it goes ----------------------------------------------------------------------------- */

/* What differs among the layouts, and below the table what does not. */
static struct bests layouts_of(const struct sheet_of *of)
{
    const struct quote_points *points = &of->found->points;
    return (struct bests){.layouts = points->layouts,
                          .values = {.count = of->quote->job_count * points->per_job}};
}

static void say_layouts(const struct sheet_of *of, struct sheet *sheet)
{
    const struct bests bests = layouts_of(of);
    for (uint32_t i = 0; bests.layouts != NULL && i < bests.values.count; i++) {
        if (bests.layouts[i].is_found) {
            const char *words = bests_words(of->arena, &bests, &bests.layouts[i], false);
            sheet_say(sheet, "The same in all: %s.\n", words);
            return;
        }
    }
}

/* The policy that was found for a point; NULL: it has the job's own. */
static const struct quote_policy *policy_at(const struct sheet_of *of, uint32_t point)
{
    const struct quote_policy *policies = of->found->points.policies;
    return policies != NULL && policies[point].set_count > 0 ? &policies[point] : NULL;
}

/* What its own policy does for an offer; where a job's own lets no run be done nothing is said. */
static void say_policies(const struct sheet_of *of, struct sheet *sheet)
{
    double least = HUGE_VAL, most = 0;
    const uint32_t count = of->quote->job_count * of->found->points.per_job;
    for (uint32_t i = 0; i < count; i++) {
        const struct quote_policy *policy = policy_at(of, i);
        if (policy != NULL && !is_absent(policy->gains)) {
            least = fmin(least, policy->gains);
            most = fmax(most, policy->gains);
        }
    }
    if (most > 0) {
        sheet_say(sheet,
                  "Checkpoints and spares are each offer's own best: %.2g to %.2g %% less %s than "
                  "as the job has them.\n",
                  100 * least, 100 * most, by_cost(of) ? "USD" : "days");
    }
}

static void add_segments(const struct sheet_of *of, struct sheet *sheet)
{
    const struct bests bests = layouts_of(of);
    struct arena *arena = of->arena;
    const struct quote_points *points = &of->found->points;
    const bool has_jobs = of->quote->job_count > 1;
    const struct field fields[] = {
        {NULL, FIELD_LEFT("how it goes")}, {NULL, FIELD_LEFT(has_jobs ? "job" : NULL)},
        {NULL, FIELD_LEFT("from")},        {NULL, FIELD_LEFT("to")},
        {NULL, FIELD_COUNT("GPUs")},       {NULL, FIELD_LEFT("layout")},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < of->found->count; i++) {
        const struct quote_judged *offer = &of->found->offers[i];
        for (uint32_t s = 0; s < offer->plan.segment_count && offer->is_held; s++) {
            const struct plan_segment *segment = &offer->plan.segments[s];
            const uint32_t at = quote_point(points, segment->job, i, segment->part);
            const struct best_layout *layout =
                points->layouts != NULL ? &points->layouts[at] : NULL;
            sheet_text(table, NULL, s == 0 ? offer->offer->name : "");
            sheet_text(table, NULL, of->quote->jobs[segment->job].name);
            sheet_text(table, NULL, day_text(arena, segment->begin));
            sheet_text(table, NULL, day_text(arena, segment->end));
            sheet_say(table, "%.0f", offer->in.gpus[segment->part]);
            const char *words = layout != NULL && layout->is_found
                                    ? bests_words(arena, &bests, layout, true)
                                    : "the job's own";
            const struct quote_policy *policy = policy_at(of, at);
            sheet_text(table, NULL,
                       policy != NULL ? arena_printf(arena, "%s; %s", words, policy->words)
                                      : words);
        }
    }
    say_layouts(of, sheet);
    say_policies(of, sheet);
}

/* Jobs that should be done by a day. */
static void say_until(const struct sheet_of *of, struct sheet *sheet)
{
    for (uint32_t job = 0; job < of->quote->job_count; job++) {
        const char *text = "";
        if (of->quote->jobs[job].until_day == 0) {
            continue;
        }
        for (uint32_t i = 0; i < of->found->count; i++) {
            const struct quote_judged *offer = &of->found->offers[i];
            if (offer->is_held) {
                text = arena_printf(of->arena, "%s%s %s %.0f %%", text, text[0] != '\0' ? "," : "",
                                    offer->offer->name, 100 * offer->until_share[job]);
            }
        }
        sheet_say(sheet, "\n%s is done by %s in so many draws:%s\n", of->quote->jobs[job].name,
                  day_text(of->arena, (double)of->quote->jobs[job].until_day), text);
    }
}

static void say_sources(const struct sheet_of *of, struct sheet *sheet)
{
    const char *text = "";
    for (uint32_t i = 0; i < of->quote->rate_count; i++) {
        const struct quote_rate *rate = &of->quote->rates[i];
        text = arena_printf(of->arena, "%s%s 1 %s = %.4g USD (%s)", text, i > 0 ? "," : "",
                            rate->currency, rate->usd, day_text(of->arena, (double)rate->day));
    }
    sheet_say(sheet,
              "\n%d draws, the same for all: of what predictions share, kinds of GPU and network "
              "(measured runs), each vendor's box, rates of failures, histories. Asked on "
              "%s.%s%s\n",
              QUOTE_DRAWS, day_text(of->arena, (double)of->quote->today),
              text[0] != '\0' ? " Rates:" : "", text);
}

/* ---- as a program reads it ------------------------------------------------------------------- */

static void add_range(struct sheet *in, const char *key, struct quote_range range)
{
    struct sheet *object = sheet_object(in, key);
    sheet_number(object, "p10", range.p10);
    sheet_number(object, "p90", range.p90);
}

static void add_day_range(struct arena *arena, struct sheet *in, struct quote_range range)
{
    struct sheet *object = sheet_object(in, "done_band");
    sheet_text(object, "p10", day_text(arena, range.p10));
    sheet_text(object, "p90", day_text(arena, range.p90));
}

static void add_json_plan(const struct sheet_of *of, uint32_t number, struct sheet *object)
{
    const struct quote_judged *offer = &of->found->offers[number];
    const struct quote_points *points = &of->found->points;
    struct sheet *list = sheet_array(object, "segments");
    for (uint32_t s = 0; s < offer->plan.segment_count; s++) {
        const struct plan_segment *segment = &offer->plan.segments[s];
        struct sheet *entry = sheet_object(list, NULL);
        sheet_text(entry, "job", of->quote->jobs[segment->job].name);
        sheet_integer(entry, "point", quote_point(points, segment->job, number, segment->part));
        sheet_integer(entry, "gpus", (int64_t)offer->in.gpus[segment->part]);
        sheet_number(entry, "begin_day", segment->begin);
        sheet_number(entry, "end_day", segment->end);
        const uint32_t at = quote_point(points, segment->job, number, segment->part);
        const bool is_found = points->layouts != NULL && points->layouts[at].is_found;
        sheet_texts(entry, "layout", is_found ? points->layouts[at].sets.items : NULL,
                    is_found ? (uint32_t)points->layouts[at].sets.count : 0);
        const struct quote_policy *policy = policy_at(of, at);
        sheet_texts(entry, "policy", policy != NULL ? policy->sets : NULL,
                    policy != NULL ? policy->set_count : 0);
        sheet_number(entry, "policy_gains", policy != NULL ? policy->gains : ABSENT);
    }
    const struct cash cash = cash_at(of, number);
    struct sheet *months = sheet_array(object, "cash");
    for (uint32_t m = 0; m < cash.count; m++) {
        struct sheet *entry = sheet_object(months, NULL);
        sheet_text(entry, "month",
                   day_text(of->arena, (double)date_month(of->quote->today, (int64_t)m)));
        sheet_number(entry, "usd", cash.usd[m]);
    }
    sheet_number(object, "worth_then_usd", cash.left_usd);
}

static void add_json_figures(const struct sheet_of *of, const struct quote_judged *offer,
                             struct sheet *object)
{
    const struct plan *plan = &offer->plan;
    sheet_text(object, "done", day_text(of->arena, plan->end));
    sheet_number(object, "done_day", plan->end);
    add_day_range(of->arena, object, offer->end);
    sheet_number(object, "cost_usd", plan->cost_usd);
    add_range(object, "cost_band", offer->cost_usd);
    sheet_number(object, "gpu_hours", plan->gpu_hours);
    sheet_number(object, "gpu_hours_usd", plan->hours_usd);
    sheet_number(object, "beside_usd", plan->beside_usd);
    sheet_number(object, "waiting_usd", plan->waiting_usd);
    sheet_number(object, "usd_per_million_tokens", usd_per_million(offer, plan->cost_usd));
    sheet_number(object, "energy_kwh", plan->energy_kwh);
    add_range(object, "energy_band", offer->energy_kwh);
    sheet_number(object, "step_factor", exp(offer->step_band));
    sheet_number(object, "cost_share", offer->cost_share);
    sheet_number(object, "cost_behind_usd", offer->cost_behind_usd);
    sheet_number(object, "date_share", offer->date_share);
    sheet_number(object, "date_behind_days", offer->date_behind_days);
    sheet_number(object, "break_even_price", offer->even_times);
    sheet_number(object, "break_even_shift_days", offer->even_shift_days);
}

static void add_json_measures(const struct sheet_of *of, struct sheet *sheet)
{
    struct sheet *list = sheet_array(sheet, "measures");
    for (uint32_t i = 0; i < of->found->measure_count; i++) {
        const struct quote_measure *measure = &of->found->measures[i];
        const bool turns = !is_absent(measure->turns_at);
        struct sheet *entry = sheet_object(list, NULL);
        sheet_text(entry, "rate", measure->rate->rate->name);
        sheet_text(entry, "offer", of->quote->offers[measure->rate->offer].name);
        sheet_number(entry, "deviation", measure->rate->deviation);
        sheet_number(entry, "slope", measure->rate->slope);
        sheet_number(entry, "curve", measure->rate->curve);
        sheet_number(entry, "assumed", measure->rate->figure);
        sheet_text(entry, "unit", measure->rate->rate->unit);
        sheet_number(entry, "worth", measure->worth);
        sheet_number(entry, "turns_at", measure->turns_at);
        sheet_text(entry, "turns_to", turns ? of->quote->offers[measure->turns_to].name : NULL);
    }
}

static void add_json(const struct sheet_of *of, struct sheet *sheet)
{
    const struct quote_found *found = of->found;
    sheet_text(sheet, "today", day_text(of->arena, (double)of->quote->today));
    sheet_text(sheet, "by", quote_by_names[of->quote->by]);
    sheet_text(sheet, "winner", winner_of(of)->offer->name);
    sheet_integer(sheet, "draws", QUOTE_DRAWS);
    sheet_number(sheet, "doubt", score_behind(of, winner_of(of)));
    struct sheet *list = sheet_array(sheet, "offers");
    for (uint32_t i = 0; i < found->count; i++) {
        const struct quote_judged *offer = &found->offers[i];
        struct sheet *object = sheet_object(list, NULL);
        sheet_text(object, "name", offer->offer->name);
        sheet_bool(object, "is_held", offer->is_held);
        sheet_text(object, "lack", offer->lack);
        if (offer->is_held) {
            add_json_figures(of, offer, object);
            add_json_plan(of, i, object);
        }
    }
    add_json_measures(of, sheet);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* By how many times an offer's largest part lacks memory; HUGE_VAL: it lacks something else. */
static double lack_of(const struct quote_found *found, const struct against_rows *rows,
                      uint32_t number)
{
    double most = 0;
    for (uint32_t job = 0; job < found->points.quote->job_count; job++) {
        const uint32_t part = found->points.quote->offers[number].part_count - 1;
        const struct store_row *row = &rows->rows[quote_point(&found->points, job, number, part)];
        const bool is_memory = row->has_run && row->memory_limit_bytes > 0;
        most = fmax(most, is_memory ? row->memory_peak_bytes / row->memory_limit_bytes : HUGE_VAL);
    }
    return most;
}

static void tell_none(const struct quote_found *found, const struct against_rows *rows,
                      struct diag *diag)
{
    const struct quote *quote = found->points.quote;
    uint32_t nearest = 0;
    for (uint32_t i = 1; i < found->count; i++) {
        nearest = lack_of(found, rows, i) < lack_of(found, rows, nearest) ? i : nearest;
    }
    diag_add(diag, DIAG_INFEASIBLE, &quote->offers[nearest].place, "no offer holds %s",
             quote->job_count == 1 ? "the job" : "the jobs");
    diag_help(diag, "nearest is %s: %s", quote->offers[nearest].name, found->offers[nearest].lack);
}

/* True where a job has a step and no run. */
static bool tell_without_run(const struct quote_found *found, const struct against_rows *rows,
                             struct diag *diag)
{
    const struct quote_points *points = &found->points;
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct quote_job *job = &points->quote->jobs[i / points->per_job];
        if (store_row_is_good(&rows->rows[i]) && is_absent(rows->rows[i].wall_clock_days)) {
            diag_add(diag, DIAG_INPUT, &job->place,
                     "'%s' has no end: it says no run: {tokens: ...}", job->name);
            diag_help(diag, "write run: {tokens: 2T} into it, or --set run.tokens=2T");
            return true;
        }
    }
    return false;
}

static void say_answer(const struct sheet_of *of, struct sheet *sheet)
{
    const char *const lines[] = {answer_of(of), decides_of(of), measure_of(of)};
    const char *whole = "";
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (lines[i] != NULL) {
            whole =
                arena_printf(of->arena, "%s%s%s", whole, whole[0] != '\0' ? "\n" : "", lines[i]);
        }
    }
    sheet_answer(sheet, whole);
}

void quote_add(const struct quote_found *found, const struct against_rows *rows,
               struct sheet *sheet, struct diag *diag)
{
    if (tell_without_run(found, rows, diag)) {
        return;
    }
    if (found->held == 0) {
        tell_none(found, rows, diag);
        return;
    }
    struct sheet_of of = {.found = found,
                          .quote = found->points.quote,
                          .arena = sheet_arena(sheet),
                          .unit_usd = 1e6,
                          .unit = "M "};
    const double cost_usd = winner_of(&of)->plan.cost_usd;
    if (cost_usd < 1e7) {
        of.unit_usd = cost_usd < 1e4 ? 1 : 1e3;
        of.unit = cost_usd < 1e4 ? "" : "k ";
    }
    say_answer(&of, sheet);
    add_json(&of, sheet);
    add_offers(&of, sheet);
    add_turns(&of, sheet);
    add_cash(&of, sheet);
    add_measures(&of, sheet);
    add_segments(&of, sheet);
    say_until(&of, sheet);
    say_sources(&of, sheet);
    struct sheet *points = sheet_array(sheet, "points");
    for (uint32_t i = 0; i < rows->count; i++) {
        points_add(points, &rows->rows[i]);
    }
}
