/* Rows of jobs, one after the other, become one record for each fabric. */
#include "study/portfolio_found.h"

#include "bands/ratio_bands.h"
#include "base/absent.h"
#include "base/arena.h"

#include <math.h>
#include <string.h>

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

/* The rows of a job, held against the best of them. */
static void place_job(struct arena *arena, const struct against_points *points,
                      struct portfolio_found *all, uint32_t job)
{
    const uint32_t count = all->fabrics.count;
    struct against_points own = *points;
    own.rows += (size_t)job * count;
    own.count = count;
    const struct store_row *most = most_of(own.rows, count);
    all->best_labels[job] = most != NULL ? all->fabrics.points[most - own.rows].label : NULL;
    const struct against *against = against_of(arena, &own, most != NULL ? most : own.rows);
    memcpy(&all->against[(size_t)job * count], against, count * sizeof *against);
    for (uint32_t f = 0; f < count; f++) {
        const struct store_row *row = &own.rows[f];
        all->judged[f].jobs[job] = (struct portfolio_placed){
            .row = row,
            .against = &against[f],
            .ratio = most != NULL && store_row_is_good(row)
                         ? tokens_per_s_per_paid_gpu(row) / tokens_per_s_per_paid_gpu(most)
                         : ABSENT,
            .layout = all->layouts[job * count + f],
        };
    }
}

/* At its best, of which nothing is said, and where nothing differs that matters, a job is as good
 * as itself. */
static struct portfolio_share share_of(const struct portfolio_job *job,
                                       const struct portfolio_placed *placed)
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

static void price(const struct against_points *points, const struct portfolio_found *all,
                  struct portfolio_fabric *fabric)
{
    const struct portfolio_price *told = &all->portfolio.price;
    fabric->network_usd = ABSENT;
    fabric->usd = ABSENT;
    fabric->work_per_usd = ABSENT;
    struct arena *arena = arena_new();
    const struct store_row *row = fabric->jobs[0].row;
    sim_assert(row != NULL);
    const struct scenario *scenario =
        told->is_told ? study_point_resolve(&points->study->points[row->number], arena,
                                            points->catalogue, diag_new(arena))
                      : NULL;
    if (scenario != NULL) {
        fabric->network_usd =
            told->port_usd > 0 ? portfolio_network_usd(told, portfolio_ports_bytes_per_s(scenario))
                               : portfolio_parts_usd(arena, told, scenario, points->catalogue);
        fabric->usd =
            is_absent(fabric->network_usd) ? ABSENT : told->gpu_hour_usd + fabric->network_usd;
    }
    arena_free(arena);
}

static void judge(const struct against_points *points, const struct portfolio_found *all,
                  struct portfolio_fabric *fabric)
{
    const struct portfolio *portfolio = &all->portfolio;
    struct portfolio_share shares[PORTFOLIO_JOBS_MAX];
    for (uint32_t job = 0; job < portfolio->job_count; job++) {
        shares[job] = share_of(&portfolio->jobs[job], &fabric->jobs[job]);
    }
    fabric->sum = portfolio_sum_of(shares, portfolio->job_count);
    price(points, all, fabric);
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
static bool beats(const struct portfolio_fabric *fabric, const struct portfolio_fabric *other)
{
    return fabric->usd <= other->usd && fabric->loss <= other->loss &&
           (fabric->usd < other->usd || fabric->loss < other->loss);
}

const struct portfolio_fabric *portfolio_least_lost(const struct portfolio_found *all)
{
    const struct portfolio_fabric *least = NULL;
    for (uint32_t f = 0; f < all->fabrics.count; f++) {
        const struct portfolio_fabric *fabric = &all->judged[f];
        const bool is_known = !is_absent(fabric->loss);
        least = is_known && (least == NULL || fabric->loss < least->loss) ? fabric : least;
    }
    return least;
}

static void compare_fabrics(struct portfolio_found *all)
{
    const struct portfolio_fabric *least = portfolio_least_lost(all);
    for (uint32_t f = 0; least != NULL && f < all->fabrics.count; f++) {
        struct portfolio_fabric *fabric = &all->judged[f];
        const bool is_priced = !is_absent(fabric->usd) && !is_absent(fabric->loss);
        fabric->is_leanest = fabric->is_within;
        fabric->is_on_front = is_priced;
        for (uint32_t k = 0; k < all->fabrics.count; k++) {
            const struct portfolio_fabric *other = &all->judged[k];
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

/* The same draws for all. */
static void draw(struct arena *arena, struct portfolio_found *all)
{
    const uint32_t count = all->fabrics.count, jobs = all->portfolio.job_count;
    struct arena *scratch = arena_new();
    struct portfolio_plan *plans = arena_array(scratch, count + (size_t)1, sizeof *plans);
    struct portfolio_win *wins = arena_array(scratch, count + (size_t)1, sizeof *wins);
    for (uint32_t f = 0; f < count; f++) {
        plans[f].usd = all->judged[f].usd;
        for (uint32_t job = 0; job < jobs; job++) {
            const struct portfolio_placed *placed = &all->judged[f].jobs[job];
            plans[f].shares[job] = share_of(&all->portfolio.jobs[job], placed);
            plans[f].kinds[job] = against_kinds_text(arena, placed->against);
        }
    }
    all->wins_are_of_usd = portfolio_wins(plans, count, jobs, wins);
    for (uint32_t f = 0; f < count; f++) {
        all->judged[f].wins = wins[f];
    }
    arena_free(scratch);
}

void portfolio_judge(struct arena *arena, const struct against_points *points,
                     struct portfolio_found *all)
{
    const uint32_t jobs = all->portfolio.job_count;
    const uint32_t count = all->fabrics.count;
    sim_assert(points->count == jobs * count);
    all->judged = arena_array(arena, count, sizeof *all->judged);
    all->against = arena_array(arena, (size_t)jobs * count, sizeof *all->against);
    all->best_labels = arena_array(arena, jobs, sizeof *all->best_labels);
    for (uint32_t f = 0; f < count; f++) {
        all->judged[f] =
            (struct portfolio_fabric){.point = &all->fabrics.points[f], .work_per_usd = ABSENT};
        all->judged[f].jobs = arena_array(arena, jobs, sizeof *all->judged[f].jobs);
    }
    for (uint32_t job = 0; job < jobs; job++) {
        place_job(arena, points, all, job);
    }
    for (uint32_t f = 0; f < count; f++) {
        judge(points, all, &all->judged[f]);
    }
    compare_fabrics(all);
    draw(arena, all);
}
