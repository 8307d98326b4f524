/* A line for each fabric, the leanest, and what they cost. */
#include "report/study/portfolio_sheet.h"

#include "bands/ratio_bands.h"
#include "base/absent.h"
#include "base/arena.h"
#include "report/against_sheet.h"
#include "report/points.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- what is wrong --------------------------------------------------------------------------- */

/* False, with messages, where a job has no result at all. */
static bool tell_without(struct arena *arena, const struct portfolio_found *all, struct diag *diag)
{
    bool is_good = true;
    for (uint32_t job = 0; job < all->portfolio.job_count; job++) {
        if (all->best_labels[job] != NULL) {
            continue;
        }
        is_good = false;
        diag_add(diag, DIAG_INFEASIBLE, &all->portfolio.jobs[job].place,
                 "'%s' has a result on none of %" PRIu32 " fabrics: %s",
                 all->portfolio.jobs[job].name, all->fabrics.count,
                 points_reason(arena, all->judged[0].jobs[job].row));
        diag_help(diag, "give it a layout that fits, look for one with --best layout, or leave "
                        "it out");
    }
    return is_good;
}

/* Rounded up, so that who writes it admits the fabric. */
static void tell_miss(const struct portfolio_found *all, struct diag *diag)
{
    const struct portfolio_fabric *least = portfolio_least_lost(all);
    const struct place *place = &all->portfolio.lose_place;
    if (least == NULL) {
        diag_add(diag, DIAG_INFEASIBLE, place, "no fabric has a result of all jobs");
        diag_help(diag, "the table says which job lacks one; look for layouts that fit with --best "
                        "layout");
    } else if (least->loss > all->portfolio.lose) {
        diag_add(diag, DIAG_INFEASIBLE, place, "no fabric loses at most %.4g %%",
                 100 * all->portfolio.lose);
        diag_help(diag, "nearest is %s, which 'lose: %.4g %%' admits", least->point->label,
                  ceil(1e4 * least->loss) / 100);
    }
}

/* ---- as a program reads it ------------------------------------------------------------------- */

static void add_range(struct sheet *in, const char *key, double work, double spread)
{
    struct sheet *range = sheet_object(in, key);
    sheet_number(range, "p10", fmax(0, 1 - work * exp(spread)));
    sheet_number(range, "p90", 1 - work / exp(spread));
}

static void add_all(const struct portfolio_found *all, struct sheet *sheet)
{
    const struct portfolio *portfolio = &all->portfolio;
    struct sheet *object = sheet_object(sheet, "portfolio");
    double weights = 0;
    for (uint32_t job = 0; job < portfolio->job_count; job++) {
        weights += portfolio->jobs[job].weight;
    }
    sheet_number(object, "lose", portfolio->lose);
    sheet_text(object, "mean", "harmonic");
    struct sheet *jobs = sheet_array(object, "jobs");
    for (uint32_t job = 0; job < portfolio->job_count; job++) {
        struct sheet *entry = sheet_object(jobs, NULL);
        sheet_text(entry, "name", portfolio->jobs[job].name);
        sheet_number(entry, "share", portfolio->jobs[job].weight / weights);
        sheet_text(entry, "best", all->best_labels[job]);
    }
}

static void add_job(const struct portfolio_job *job, const struct portfolio_placed *placed,
                    struct sheet *in)
{
    struct sheet *object = sheet_object(in, NULL);
    sheet_text(object, "name", job->name);
    sheet_integer(object, "point", placed->row->number);
    sheet_number(object, "ratio", placed->ratio);
    sheet_text(object, "layout", placed->layout);
    against_add(object, placed->against);
}

static void add_fabric(const struct portfolio_found *all, const struct portfolio_fabric *fabric,
                       struct sheet *in)
{
    struct sheet *object = sheet_object(in, NULL);
    const struct study_point *point = fabric->point;
    sheet_text(object, "label", point->label);
    struct sheet *axes = sheet_object(object, "axes");
    for (uint32_t i = 0; i < point->axis_count; i++) {
        struct sheet *axis = sheet_object(axes, point->axes[i]);
        sheet_text(axis, "text", point->value_texts[i]);
        sheet_number(axis, "value", point->values[i]);
    }
    struct sheet *jobs = sheet_array(object, "jobs");
    for (uint32_t job = 0; job < all->portfolio.job_count; job++) {
        add_job(&all->portfolio.jobs[job], &fabric->jobs[job], jobs);
    }
    sheet_number(object, "work", fabric->sum.work);
    sheet_number(object, "loss", fabric->loss);
    sheet_number(object, "work_at_fixed_hours", fabric->sum.work_at_fixed_hours);
    add_range(object, "loss_band", fabric->sum.work, fabric->sum.spread);
    sheet_bool(object, "is_within", fabric->is_within);
    sheet_text(object, "verdict", fabric->verdict);
    sheet_number(object, "network_usd_per_gpu_hour", fabric->network_usd);
    sheet_number(object, "usd_per_gpu_hour", fabric->usd);
    sheet_number(object, "work_per_usd", fabric->work_per_usd);
    sheet_number(object, "wins_share", fabric->wins.share);
    sheet_number(object, "wins_behind", fabric->wins.behind);
    sheet_bool(object, "is_leanest", fabric->is_leanest);
    sheet_bool(object, "is_on_front", fabric->is_on_front);
}

/* ---- as people read it ----------------------------------------------------------------------- */

static struct sheet *add_table(const struct portfolio_found *all, struct sheet *sheet)
{
    const struct portfolio *portfolio = &all->portfolio;
    const struct study_point *first = &all->fabrics.points[0];
    const bool is_priced = portfolio->price.is_told;
    struct field *fields = arena_array(
        sheet_arena(sheet), first->axis_count + portfolio->job_count + (size_t)9, sizeof *fields);
    struct field *field = fields;
    for (uint32_t i = 0; i < first->axis_count; i++) {
        const bool is_text = strcmp(first->axes[i], STUDY_VARIANT_AXIS) == 0;
        *field++ = (struct field){
            .head = study_axis_head(first, i), .csv = first->axes[i], .is_right = !is_text};
    }
    for (uint32_t job = 0; job < portfolio->job_count; job++) {
        const char *head = arena_printf(sheet_arena(sheet), "%s %%", portfolio->jobs[job].name);
        const char *csv = arena_printf(sheet_arena(sheet), "%s_ratio", portfolio->jobs[job].name);
        *field++ = (struct field){FIELD_RIGHT(head, "%.1f", 100), .csv = csv};
    }
    *field++ = (struct field){FIELD_RIGHT("loses %", "%.1f", 100), .csv = "loss"};
    *field++ = (struct field){FIELD_RANGE("p10 to p90", "loss"), .gives_way = 1};
    *field++ =
        (struct field){FIELD_RIGHT("wins %", "%.0f", 100), .csv = "wins_share", .gives_way = 5};
    *field++ = (struct field){
        FIELD_LEFT(arena_printf(sheet_arena(sheet), "at most %.4g %%", 100 * portfolio->lose)),
        .csv = "within"};
    *field++ = (struct field){FIELD_RIGHT(is_priced ? "network USD/GPU-h" : NULL, "%.3f", 1),
                              .csv = "network_usd_per_gpu_hour", .gives_way = 3};
    *field++ = (struct field){FIELD_RIGHT(is_priced ? "USD/GPU-h" : NULL, "%.3f", 1),
                              .csv = "usd_per_gpu_hour", .gives_way = 2};
    *field++ = (struct field){FIELD_RIGHT(is_priced ? "work/USD" : NULL, "%.3f", 1),
                              .csv = "work_per_usd", .gives_way = 4};
    *field++ = (struct field){FIELD_LEFT("call")};
    return sheet_table(sheet, NULL, fields, (uint32_t)(field - fields));
}

/* "yes, likely"; "too close". */
static const char *within_text(struct arena *arena, const struct portfolio_fabric *fabric)
{
    const char *word = fabric->is_within ? "yes" : "no";
    if (is_absent(fabric->loss)) {
        return NULL;
    }
    return fabric->verdict == NULL ? word
           : strcmp(fabric->verdict, ratio_verdict_names[RATIO_CLOSE]) == 0
               ? fabric->verdict
               : arena_printf(arena, "%s, %s", word, fabric->verdict);
}

static void add_band(struct sheet *table, const struct portfolio_fabric *fabric)
{
    const double factor = exp(fabric->sum.spread);
    const double low = is_absent(factor) ? ABSENT : fmax(0, 1 - fabric->sum.work * factor);
    const double high = 1 - fabric->sum.work / factor;
    sheet_range(table, low, high,
                arena_printf(sheet_arena(table), "%.1f to %.1f", 100 * low, 100 * high));
}

/* Why a job has no result there; else what the fabric is among all. */
static const char *words_of(struct arena *arena, const struct portfolio_found *all,
                            const struct portfolio_fabric *fabric)
{
    for (uint32_t job = 0; job < all->portfolio.job_count; job++) {
        if (is_absent(fabric->jobs[job].ratio)) {
            return arena_printf(arena, "%s: %s", all->portfolio.jobs[job].name,
                                points_reason(arena, fabric->jobs[job].row));
        }
    }
    return fabric->is_leanest && fabric->is_on_front ? "minimal, on the front"
           : fabric->is_leanest                      ? "minimal"
           : fabric->is_on_front                     ? "on the front"
                                                     : NULL;
}

static void add_line(const struct portfolio_found *all, const struct portfolio_fabric *fabric,
                     struct sheet *table)
{
    struct arena *arena = sheet_arena(table);
    for (uint32_t i = 0; i < fabric->point->axis_count; i++) {
        sheet_text(table, NULL, fabric->point->value_texts[i]);
    }
    for (uint32_t job = 0; job < all->portfolio.job_count; job++) {
        sheet_number(table, NULL, fabric->jobs[job].ratio);
    }
    sheet_number(table, NULL, fabric->loss);
    add_band(table, fabric);
    sheet_number(table, NULL, fabric->wins.share);
    sheet_text(table, NULL, within_text(arena, fabric));
    sheet_number(table, NULL, fabric->network_usd);
    sheet_number(table, NULL, fabric->usd);
    sheet_number(table, NULL, fabric->work_per_usd);
    sheet_text(table, NULL, words_of(arena, all, fabric));
}

/* The layouts that were found, of each job on each fabric. */
static void add_layouts(const struct portfolio_found *all, struct sheet *sheet)
{
    const struct portfolio *portfolio = &all->portfolio;
    struct field *fields =
        arena_array(sheet_arena(sheet), portfolio->job_count + (size_t)1, sizeof *fields);
    fields[0] = (struct field){FIELD_LEFT("each at its best")};
    for (uint32_t job = 0; job < portfolio->job_count; job++) {
        fields[job + 1] = (struct field){FIELD_LEFT(portfolio->jobs[job].name)};
    }
    struct sheet *table = sheet_table(sheet, NULL, fields, portfolio->job_count + 1);
    sheet_caption(table, "\n");
    for (uint32_t f = 0; f < all->fabrics.count; f++) {
        sheet_text(table, NULL, all->judged[f].point->label);
        for (uint32_t job = 0; job < portfolio->job_count; job++) {
            sheet_text(table, NULL, all->judged[f].jobs[job].layout);
        }
    }
}

/* Of those within the limit that which costs least; of all that with the most work per USD. */
struct bargains {
    const struct portfolio_fabric *cheapest; /* or NULL */
    const struct portfolio_fabric *most;     /* likewise */
};

static struct bargains bargains_of(const struct portfolio_found *all)
{
    const struct portfolio_fabric *cheapest = NULL;
    const struct portfolio_fabric *most = NULL;
    for (uint32_t f = 0; f < all->fabrics.count; f++) {
        const struct portfolio_fabric *fabric = &all->judged[f];
        if (is_absent(fabric->work_per_usd)) {
            continue;
        }
        most = most == NULL || fabric->work_per_usd > most->work_per_usd ? fabric : most;
        const bool is_cheaper = cheapest == NULL || fabric->usd < cheapest->usd;
        cheapest = fabric->is_within && fabric->is_on_front && is_cheaper ? fabric : cheapest;
    }
    return (struct bargains){cheapest, most};
}

static uint32_t count_within(const struct portfolio_found *all)
{
    uint32_t within = 0;
    for (uint32_t f = 0; f < all->fabrics.count; f++) {
        within += all->judged[f].is_within;
    }
    return within;
}

static const char *fabric_text(struct arena *arena, const struct portfolio_fabric *fabric)
{
    const char *text =
        arena_printf(arena, "%s loses %.1f %%", fabric->point->label, 100 * fabric->loss);
    return is_absent(fabric->usd)
               ? text
               : arena_printf(arena, "%s for %.3f USD a GPU-hour", text, fabric->usd);
}

const char *portfolio_answer(struct arena *arena, const struct portfolio_found *all)
{
    const struct bargains bargains = bargains_of(all);
    const uint32_t within = count_within(all);
    const char *limit =
        arena_printf(arena, "at most %.4g %% of the portfolio", 100 * all->portfolio.lose);
    const char *text = arena_printf(arena, "%" PRIu32 " of %" PRIu32 " fabrics lose %s.", within,
                                    all->fabrics.count, limit);
    if (bargains.cheapest == NULL) {
        return text;
    }
    text = arena_printf(arena, "%s The cheapest of these%s: %s, %.3f of it the network.", text,
                        bargains.cheapest == bargains.most ? ", with most work per USD of all" : "",
                        fabric_text(arena, bargains.cheapest), bargains.cheapest->network_usd);
    return bargains.cheapest == bargains.most
               ? text
               : arena_printf(arena, "%s Most work per USD: %s.", text,
                              fabric_text(arena, bargains.most));
}

static void add_leanest(const struct portfolio_found *all, struct sheet *sheet)
{
    struct sheet *list = sheet_array(sheet, "leanest");
    struct arena *arena = sheet_arena(sheet);
    const char *said = NULL;
    for (uint32_t f = 0; f < all->fabrics.count; f++) {
        if (all->judged[f].is_leanest) {
            sheet_text(list, NULL, all->judged[f].point->label);
            const char *text = fabric_text(arena, &all->judged[f]);
            said = said == NULL ? text : arena_printf(arena, "%s; %s", said, text);
        }
    }
    if (said != NULL) {
        sheet_say(sheet, "\nminimal: %s\n", said);
    }
    const struct bargains bargains = bargains_of(all);
    sheet_text(sheet, "cheapest_within",
               bargains.cheapest != NULL ? bargains.cheapest->point->label : NULL);
    sheet_text(sheet, "most_work_per_usd",
               bargains.most != NULL ? bargains.most->point->label : NULL);
}

/* The two that win most, of all that a draw takes in. */
static void say_wins(const struct portfolio_found *all, struct sheet *sheet)
{
    const struct portfolio_fabric *first = NULL, *second = NULL;
    for (uint32_t f = 0; f < all->fabrics.count; f++) {
        const struct portfolio_fabric *fabric = &all->judged[f];
        if (is_absent(fabric->wins.share)) {
            continue;
        }
        if (first == NULL || fabric->wins.share > first->wins.share) {
            second = first;
            first = fabric;
        } else if (second == NULL || fabric->wins.share > second->wins.share) {
            second = fabric;
        }
    }
    if (second != NULL) {
        sheet_say(sheet,
                  "\nLeast %s for the same work, of %d draws that are the same for all: %s in "
                  "%.0f %%, %s in %.0f %%\n",
                  all->wins_are_of_usd ? "USD" : "GPU-hours", PORTFOLIO_DRAWS, first->point->label,
                  100 * first->wins.share, second->point->label, 100 * second->wins.share);
    }
}

static const char *shares_text(struct arena *arena, const struct portfolio *portfolio)
{
    double weights = 0;
    for (uint32_t job = 0; job < portfolio->job_count; job++) {
        weights += portfolio->jobs[job].weight;
    }
    const char *text = "";
    for (uint32_t job = 0; job < portfolio->job_count; job++) {
        text = arena_printf(arena, "%s%s%s %.3g %%", text, job > 0 ? ", " : "",
                            portfolio->jobs[job].name, 100 * portfolio->jobs[job].weight / weights);
    }
    return text;
}

void portfolio_add(const struct portfolio_found *all, const struct against_rows *rows,
                   bool has_layouts, struct sheet *sheet, struct diag *diag)
{
    const bool is_whole = tell_without(sheet_arena(sheet), all, diag);
    add_all(all, sheet);
    struct sheet *fabrics = sheet_array(sheet, "fabrics");
    struct sheet *table = add_table(all, sheet);
    for (uint32_t f = 0; f < all->fabrics.count; f++) {
        add_fabric(all, &all->judged[f], fabrics);
        add_line(all, &all->judged[f], table);
    }
    struct sheet *points = sheet_array(sheet, "points");
    for (uint32_t i = 0; i < rows->count; i++) {
        points_add(points, &rows->rows[i]);
    }
    add_leanest(all, sheet);
    say_wins(all, sheet);
    if (has_layouts) {
        add_layouts(all, sheet);
    }
    sheet_say(
        sheet,
        "\nShares of GPU-hours, each at its best: %s. A job's column is what it does of that; "
        "lost is what the fabric needs more of GPU-hours for the same work (weighted "
        "harmonic mean).\n",
        shares_text(sheet_arena(sheet), &all->portfolio));
    if (against_are_known(all->against, rows->count)) {
        against_say(sheet, all->against, rows->count);
    }
    if (is_whole) {
        tell_miss(all, diag);
    }
}
