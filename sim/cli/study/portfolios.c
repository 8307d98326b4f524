/* Rows of jobs, one after the other, become one record for each fabric; a table has a line of each.
 */
#include "cli/study/portfolios.h"

#include "cli/anchor.h"
#include "report/against_sheet.h"
#include "cli/study/bests.h"
#include "report/points.h"
#include "study/best.h"
#include "study/portfolio.h"

#include "bands/ratio_bands.h"
#include "base/absent.h"
#include "base/arena.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A job on a fabric. */
struct placed {
    const struct store_row *row;
    const struct against *against;
    double ratio;       /* of what it does at its best; ABSENT */
    const char *layout; /* the best there; NULL: as its scenario says */
};

/* A fabric with all jobs. */
struct judged {
    const struct study_point *point;
    struct placed *jobs;
    struct portfolio_sum sum;
    double loss; /* ABSENT: a job has no result */
    bool is_within;
    const char *verdict;     /* NULL: no band */
    double network_usd, usd; /* of a GPU-hour; ABSENT: nothing has a price */
    double work_per_usd;     /* over that of the fabric that loses least; ABSENT */
    bool is_leanest, is_on_front;
};

struct portfolios {
    struct portfolio portfolio;
    struct study fabrics;
    const char **layouts;     /* [job * fabrics + fabric] */
    struct judged *judged;    /* [fabrics] */
    struct against *against;  /* [job * fabrics + fabric] */
    const char **best_labels; /* [jobs] the fabric at which each does most; NULL: none */
};

/* ---- expanding ------------------------------------------------------------------------------- */

/* Each point of a job with the layout that is best there. */
static bool lay_out(struct sweeper *sweeper, const struct study_base *base, uint32_t job)
{
    struct portfolios *all = sweeper->portfolios;
    struct arena *arena = sweeper->session.options.cli->arena;
    const uint32_t count = all->fabrics.count;
    struct study_point *points = &sweeper->session.study.points[(size_t)job * count];
    const struct study values = {.points = points, .count = count};
    const struct best_request request = {
        .document = all->portfolio.jobs[job].document, .base = base, .values = &values};
    struct best_layout *layouts = arena_array(arena, count, sizeof *layouts);
    if (!sweeper_find_bests(sweeper, &request, layouts)) {
        return false;
    }
    for (uint32_t f = 0; f < count; f++) {
        if (layouts[f].is_found) {
            const struct study_point value = points[f];
            best_lay_out(arena, &value, &layouts[f], &points[f]);
            all->layouts[job * count + f] = layouts[f].label;
        }
    }
    return true;
}

/* Each job's own anchor moves its level on all fabrics. */
static bool put_anchors(const struct options *options, struct portfolio *portfolio)
{
    const struct doc_node *documents[PORTFOLIO_JOBS_MAX];
    for (uint32_t i = 0; i < portfolio->job_count; i++) {
        documents[i] = portfolio->jobs[i].document;
    }
    const bool is_good = anchor_put(options, documents, portfolio->job_count);
    for (uint32_t i = 0; i < portfolio->job_count; i++) {
        portfolio->jobs[i].document = documents[i];
    }
    return is_good;
}

bool portfolios_expand(struct sweeper *sweeper, const struct doc_node *document,
                       const struct study_base *base)
{
    struct session *session = &sweeper->session;
    struct cli *cli = session->options.cli;
    struct portfolios *all = arena_alloc(cli->arena, sizeof *all);
    *all = (struct portfolios){.layouts = NULL};
    sweeper->portfolios = all;
    if (!portfolio_read(cli->arena, document, &session->catalogue, &all->portfolio, cli->diag) ||
        !put_anchors(&session->options, &all->portfolio) ||
        !portfolio_expand(cli->arena, &all->portfolio, base, &session->study, &all->fabrics,
                          cli->diag)) {
        return false;
    }
    all->layouts = arena_array(cli->arena, session->study.count, sizeof *all->layouts);
    for (uint32_t job = 0; sweeper->best != BEST_NONE && job < all->portfolio.job_count; job++) {
        if (!lay_out(sweeper, base, job)) {
            return false;
        }
    }
    const bool is_good = study_of_points(cli->arena, document, base, &session->study, cli->diag) &&
                         portfolio_check(&all->portfolio, &session->study, all->fabrics.count,
                                         &session->catalogue, cli->diag);
    session->study.title = all->portfolio.title;
    return is_good;
}

/* ---- judging --------------------------------------------------------------------------------- */

/* Of those that are paid, as a site's GPU-hours are. */
static double tokens_per_s_per_paid_gpu(const struct store_row *row)
{
    return row->tokens_per_s_per_gpu * ((double)row->gpus / (double)row->paid_gpus);
}

static const struct store_row *most_of(const struct store_row *rows, uint32_t count)
{
    const struct store_row *most = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (store_row_is_good(&rows[i]) && (most == NULL || tokens_per_s_per_paid_gpu(&rows[i]) >
                                                                tokens_per_s_per_paid_gpu(most))) {
            most = &rows[i];
        }
    }
    return most;
}

/* The rows of a job, held against the best of them. False, with a message, where there is none. */
static bool place_job(struct sweeper *sweeper, uint32_t job)
{
    struct portfolios *all = sweeper->portfolios;
    const uint32_t count = all->fabrics.count;
    struct session own = sweeper->session;
    own.rows += (size_t)job * count;
    own.row_count = count;
    const struct store_row *most = most_of(own.rows, count);
    all->best_labels[job] = most != NULL ? all->fabrics.points[most - own.rows].label : NULL;
    const struct against *against = session_against(&own, most != NULL ? most : own.rows);
    memcpy(&all->against[(size_t)job * count], against, count * sizeof *against);
    for (uint32_t f = 0; f < count; f++) {
        const struct store_row *row = &own.rows[f];
        all->judged[f].jobs[job] = (struct placed){
            .row = row,
            .against = &against[f],
            .ratio = most != NULL && store_row_is_good(row)
                         ? tokens_per_s_per_paid_gpu(row) / tokens_per_s_per_paid_gpu(most)
                         : ABSENT,
            .layout = all->layouts[job * count + f],
        };
    }
    if (most == NULL) {
        struct cli *cli = sweeper->session.options.cli;
        diag_add(cli->diag, DIAG_INFEASIBLE, &all->portfolio.jobs[job].place,
                 "'%s' has a result on none of %" PRIu32 " fabrics: %s",
                 all->portfolio.jobs[job].name, count, points_reason(cli->arena, own.rows));
        diag_help(cli->diag,
                  "give it a layout that fits, look for one with --best layout, or leave "
                  "it out");
    }
    return most != NULL;
}

/* At its best, of which nothing is said, and where nothing differs that matters, a job is as good
 * as itself. */
static struct portfolio_share share_of(const struct portfolio_job *job, const struct placed *placed)
{
    const struct against *against = placed->against;
    const bool is_same = against->reason_is_same || against->reason[0] == '\0';
    const bool has_band = !is_absent(against->factor);
    return (struct portfolio_share){
        .weight = job->weight,
        .ratio = placed->ratio,
        .spread = has_band  ? log(against->factor)
                  : is_same ? 0
                            : ABSENT,
        .spread_of_half = has_band  ? against->half
                          : is_same ? 0
                                    : ABSENT,
    };
}

static void price(const struct sweeper *sweeper, struct judged *fabric)
{
    const struct portfolios *all = sweeper->portfolios;
    const struct portfolio_price *told = &all->portfolio.price;
    fabric->network_usd = ABSENT;
    fabric->usd = ABSENT;
    fabric->work_per_usd = ABSENT;
    struct arena *arena = arena_new();
    const struct store_row *row = fabric->jobs[0].row;
    sim_assert(row != NULL);
    const struct scenario *scenario =
        told->is_told ? study_point_resolve(&sweeper->session.study.points[row->number], arena,
                                            &sweeper->session.catalogue, diag_new(arena))
                      : NULL;
    if (scenario != NULL) {
        fabric->network_usd = portfolio_network_usd(told, portfolio_ports_bytes_per_s(scenario));
        fabric->usd = told->gpu_hour_usd + fabric->network_usd;
    }
    arena_free(arena);
}

static void judge(const struct sweeper *sweeper, struct judged *fabric)
{
    const struct portfolio *portfolio = &sweeper->portfolios->portfolio;
    struct portfolio_share shares[PORTFOLIO_JOBS_MAX];
    for (uint32_t job = 0; job < portfolio->job_count; job++) {
        shares[job] = share_of(&portfolio->jobs[job], &fabric->jobs[job]);
    }
    fabric->sum = portfolio_sum_of(shares, portfolio->job_count);
    price(sweeper, fabric);
    const double work = fabric->sum.work;
    fabric->loss = is_absent(work) ? ABSENT : work < 1 ? 1 - work : 0;
    fabric->is_within = !is_absent(work) && fabric->loss <= portfolio->lose;
    if (!is_absent(fabric->sum.spread) && portfolio->lose < 1) {
        const struct ratio_band band = {1, fabric->sum.spread, fabric->sum.spread_of_half};
        fabric->verdict =
            ratio_verdict_names[ratio_band_verdict(&band, log(work / (1 - portfolio->lose)))];
    }
}

/* Not worse in either, better in one. */
static bool beats(const struct judged *fabric, const struct judged *other)
{
    return fabric->usd <= other->usd && fabric->loss <= other->loss &&
           (fabric->usd < other->usd || fabric->loss < other->loss);
}

static const struct judged *least_lost(const struct portfolios *all)
{
    const struct judged *least = NULL;
    for (uint32_t f = 0; f < all->fabrics.count; f++) {
        const struct judged *fabric = &all->judged[f];
        const bool is_known = !is_absent(fabric->loss);
        least = is_known && (least == NULL || fabric->loss < least->loss) ? fabric : least;
    }
    return least;
}

static void compare_fabrics(struct portfolios *all)
{
    const struct judged *least = least_lost(all);
    for (uint32_t f = 0; least != NULL && f < all->fabrics.count; f++) {
        struct judged *fabric = &all->judged[f];
        const bool is_priced = !is_absent(fabric->usd) && !is_absent(fabric->loss);
        fabric->is_leanest = fabric->is_within;
        fabric->is_on_front = is_priced;
        for (uint32_t k = 0; k < all->fabrics.count; k++) {
            const struct judged *other = &all->judged[k];
            if (other->is_within && portfolio_is_leaner(other->point, fabric->point)) {
                fabric->is_leanest = false;
            }
            if (beats(other, fabric)) {
                fabric->is_on_front = false;
            }
        }
        fabric->work_per_usd =
            is_priced ? fabric->sum.work / fabric->usd / (least->sum.work / least->usd) : ABSENT;
    }
}

/* False, with messages, where a job has no result at all. */
static bool judge_all(struct sweeper *sweeper)
{
    struct portfolios *all = sweeper->portfolios;
    struct arena *arena = sweeper->session.options.cli->arena;
    const uint32_t jobs = all->portfolio.job_count;
    const uint32_t count = all->fabrics.count;
    sim_assert(sweeper->session.row_count == jobs * count);
    all->judged = arena_array(arena, count, sizeof *all->judged);
    all->against = arena_array(arena, (size_t)jobs * count, sizeof *all->against);
    all->best_labels = arena_array(arena, jobs, sizeof *all->best_labels);
    for (uint32_t f = 0; f < count; f++) {
        all->judged[f] = (struct judged){.point = &all->fabrics.points[f]};
        all->judged[f].jobs = arena_array(arena, jobs, sizeof *all->judged[f].jobs);
    }
    bool is_good = true;
    for (uint32_t job = 0; job < jobs; job++) {
        is_good = place_job(sweeper, job) && is_good;
    }
    for (uint32_t f = 0; f < count; f++) {
        judge(sweeper, &all->judged[f]);
    }
    compare_fabrics(all);
    return is_good;
}

/* ---- as a program reads it ------------------------------------------------------------------- */

static void add_range(struct sheet *in, const char *key, double work, double spread)
{
    struct sheet *range = sheet_object(in, key);
    sheet_number(range, "p10", fmax(0, 1 - work * exp(spread)));
    sheet_number(range, "p90", 1 - work / exp(spread));
}

static void add_portfolio(const struct portfolios *all, struct sheet *sheet)
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

static void add_job(const struct portfolio_job *job, const struct placed *placed, struct sheet *in)
{
    struct sheet *object = sheet_object(in, NULL);
    sheet_text(object, "name", job->name);
    sheet_integer(object, "point", placed->row->number);
    sheet_number(object, "ratio", placed->ratio);
    sheet_text(object, "layout", placed->layout);
    against_add(object, placed->against);
}

static void add_fabric(const struct portfolios *all, const struct judged *fabric, struct sheet *in)
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
    sheet_bool(object, "is_leanest", fabric->is_leanest);
    sheet_bool(object, "is_on_front", fabric->is_on_front);
}

/* ---- as people read it ----------------------------------------------------------------------- */

static struct sheet *add_table(const struct portfolios *all, struct sheet *sheet)
{
    const struct portfolio *portfolio = &all->portfolio;
    const struct study_point *first = &all->fabrics.points[0];
    const bool is_priced = portfolio->price.is_told;
    struct field *fields = arena_array(
        sheet_arena(sheet), first->axis_count + portfolio->job_count + (size_t)8, sizeof *fields);
    struct field *field = fields;
    for (uint32_t i = 0; i < first->axis_count; i++) {
        const bool is_text = strcmp(first->axes[i], STUDY_VARIANT_AXIS) == 0;
        *field++ = (struct field){.head = study_axis_head(first, i), .is_right = !is_text};
    }
    for (uint32_t job = 0; job < portfolio->job_count; job++) {
        const char *head = arena_printf(sheet_arena(sheet), "%s %%", portfolio->jobs[job].name);
        *field++ = (struct field){FIELD_RIGHT(head, "%.1f", 100)};
    }
    *field++ = (struct field){FIELD_RIGHT("loses %", "%.1f", 100)};
    *field++ = (struct field){FIELD_LEFT("p10 to p90")};
    *field++ = (struct field){
        FIELD_LEFT(arena_printf(sheet_arena(sheet), "at most %.4g %%", 100 * portfolio->lose))};
    *field++ = (struct field){FIELD_RIGHT(is_priced ? "network USD/GPU-h" : NULL, "%.3f", 1)};
    *field++ = (struct field){FIELD_RIGHT(is_priced ? "USD/GPU-h" : NULL, "%.3f", 1)};
    *field++ = (struct field){FIELD_RIGHT(is_priced ? "work/USD" : NULL, "%.3f", 1)};
    *field++ = (struct field){FIELD_LEFT("which is")};
    return sheet_table(sheet, NULL, fields, (uint32_t)(field - fields));
}

/* "yes, likely"; "too close to call". */
static const char *within_text(struct arena *arena, const struct judged *fabric)
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

static const char *band_text(struct arena *arena, const struct judged *fabric)
{
    const double factor = exp(fabric->sum.spread);
    return is_absent(factor)
               ? NULL
               : arena_printf(arena, "%.1f to %.1f", 100 * fmax(0, 1 - fabric->sum.work * factor),
                              100 * (1 - fabric->sum.work / factor));
}

/* Why a job has no result there; else what the fabric is among all. */
static const char *words_of(struct arena *arena, const struct portfolios *all,
                            const struct judged *fabric)
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

static void add_line(const struct portfolios *all, const struct judged *fabric, struct sheet *table)
{
    struct arena *arena = sheet_arena(table);
    for (uint32_t i = 0; i < fabric->point->axis_count; i++) {
        sheet_text(table, NULL, fabric->point->value_texts[i]);
    }
    for (uint32_t job = 0; job < all->portfolio.job_count; job++) {
        sheet_number(table, NULL, fabric->jobs[job].ratio);
    }
    sheet_number(table, NULL, fabric->loss);
    sheet_text(table, NULL, band_text(arena, fabric));
    sheet_text(table, NULL, within_text(arena, fabric));
    sheet_number(table, NULL, fabric->network_usd);
    sheet_number(table, NULL, fabric->usd);
    sheet_number(table, NULL, fabric->work_per_usd);
    sheet_text(table, NULL, words_of(arena, all, fabric));
}

/* The layouts that were found, of each job on each fabric. */
static void add_layouts(const struct portfolios *all, struct sheet *sheet)
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

static void say_fabric(const char *what, const struct judged *fabric, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const char *usd = is_absent(fabric->usd)
                          ? ""
                          : arena_printf(arena, ", %.3f USD a GPU-hour, %.3f of it the network",
                                         fabric->usd, fabric->network_usd);
    sheet_say(sheet, "%s: %s: loses %.1f %%%s\n", what, fabric->point->label, 100 * fabric->loss,
              usd);
}

/* Of those within the limit that which costs least; of all that with the most work per USD. */
static void add_bargains(const struct portfolios *all, struct sheet *sheet)
{
    const struct judged *cheapest = NULL;
    const struct judged *most = NULL;
    for (uint32_t f = 0; f < all->fabrics.count; f++) {
        const struct judged *fabric = &all->judged[f];
        if (is_absent(fabric->work_per_usd)) {
            continue;
        }
        most = most == NULL || fabric->work_per_usd > most->work_per_usd ? fabric : most;
        const bool is_cheaper = cheapest == NULL || fabric->usd < cheapest->usd;
        cheapest = fabric->is_within && fabric->is_on_front && is_cheaper ? fabric : cheapest;
    }
    sheet_text(sheet, "cheapest_within", cheapest != NULL ? cheapest->point->label : NULL);
    sheet_text(sheet, "most_work_per_usd", most != NULL ? most->point->label : NULL);
    if (cheapest != NULL) {
        say_fabric("cheapest of these", cheapest, sheet);
    }
    if (most != NULL) {
        say_fabric("most work per USD", most, sheet);
    }
}

static void add_leanest(const struct portfolios *all, struct sheet *sheet)
{
    struct sheet *list = sheet_array(sheet, "leanest");
    uint32_t within = 0;
    for (uint32_t f = 0; f < all->fabrics.count; f++) {
        within += all->judged[f].is_within;
    }
    sheet_say(sheet, "\n%" PRIu32 " of %" PRIu32 " fabrics lose at most %.4g %% of the portfolio\n",
              within, all->fabrics.count, 100 * all->portfolio.lose);
    for (uint32_t f = 0; f < all->fabrics.count; f++) {
        if (all->judged[f].is_leanest) {
            sheet_text(list, NULL, all->judged[f].point->label);
            say_fabric("minimal of these", &all->judged[f], sheet);
        }
    }
    add_bargains(all, sheet);
}

/* Rounded up, so that who writes it admits the fabric. */
static void miss(const struct sweeper *sweeper)
{
    const struct portfolios *all = sweeper->portfolios;
    struct diag *diag = sweeper->session.options.cli->diag;
    const struct judged *least = least_lost(all);
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

void portfolios_add(struct sweeper *sweeper, struct sheet *sheet)
{
    struct session *session = &sweeper->session;
    struct portfolios *all = sweeper->portfolios;
    const bool is_whole = judge_all(sweeper);
    add_portfolio(all, sheet);
    struct sheet *fabrics = sheet_array(sheet, "fabrics");
    struct sheet *table = add_table(all, sheet);
    for (uint32_t f = 0; f < all->fabrics.count; f++) {
        add_fabric(all, &all->judged[f], fabrics);
        add_line(all, &all->judged[f], table);
    }
    struct sheet *points = sheet_array(sheet, "points");
    for (uint32_t i = 0; i < session->row_count; i++) {
        points_add(points, &session->rows[i]);
    }
    add_leanest(all, sheet);
    if (sweeper->best != BEST_NONE) {
        add_layouts(all, sheet);
    }
    sheet_say(
        sheet,
        "\nShares of GPU-hours, each at its best: %s. A job's column is what it does of that; "
        "lost is\nwhat the fabric needs more of GPU-hours for the same work (weighted "
        "harmonic mean).\n",
        shares_text(sheet_arena(sheet), &all->portfolio));
    if (against_are_known(all->against, session->row_count)) {
        against_say(sheet, all->against, session->row_count);
    }
    if (is_whole) {
        miss(sweeper);
    }
}
