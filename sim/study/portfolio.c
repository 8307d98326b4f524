/* Points of jobs one after the other, each as a sweep of its own; the sums of the header. */
#include "study/portfolio.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "input/network/network_bill.h"
#include "input/network/site_power.h"
#include "input/scenario.h"

#include <inttypes.h>
#include <string.h>

/* ---- points ---------------------------------------------------------------------------------- */

static bool check_axes(const struct portfolio *portfolio, const struct doc_node *document,
                       struct diag *diag)
{
    if (study_is_asked(document)) {
        return true;
    }
    diag_add(diag, DIAG_INPUT, &portfolio->jobs[0].place, "the portfolio has only one fabric");
    diag_help(diag, "write others like sweep: {cluster.network: [400 Gbps, 800 Gbps]}, or --axis "
                    "cluster.network=\"400 Gbps,800 Gbps\"");
    return false;
}

static void name_job(struct arena *arena, const char *name, struct study *part)
{
    for (uint32_t i = 0; i < part->count; i++) {
        struct study_point *point = &part->points[i];
        point->label = arena_printf(arena, "%s, %s", point->label, name);
        if (point->axis_count < STORE_AXES_MAX) {
            point->axes[point->axis_count] = PORTFOLIO_JOB_AXIS;
            point->value_texts[point->axis_count] = name;
            point->values[point->axis_count++] = ABSENT;
        }
    }
}

bool portfolio_expand(struct arena *arena, const struct portfolio *portfolio,
                      const struct study_base *base, struct study *study, struct study *fabrics,
                      struct diag *diag)
{
    const uint32_t jobs = portfolio->job_count;
    *study = (struct study){.kind = "portfolio", .title = portfolio->title};
    for (uint32_t i = 0; i < jobs; i++) {
        const struct portfolio_job *job = &portfolio->jobs[i];
        struct study part = {.count = 0};
        if (!check_axes(portfolio, job->document, diag) ||
            !study_expand_points(arena, job->document, base, &part, diag) ||
            !study_point_check(arena, &part.points[0], base, diag)) {
            return false;
        }
        if (i == 0) {
            if ((uint64_t)part.count * jobs > STUDY_POINTS_MAX) {
                return diag_add(diag, DIAG_INPUT, &job->place, "the study has more than %d points",
                                STUDY_POINTS_MAX);
            }
            study->points = arena_array(arena, (size_t)part.count * jobs, sizeof *study->points);
            *fabrics = part;
            fabrics->points = arena_array(arena, part.count, sizeof *fabrics->points);
            memcpy(fabrics->points, part.points, part.count * sizeof *part.points);
        }
        sim_assert(part.count == fabrics->count); /* all have the portfolio's axes */
        name_job(arena, job->name, &part);
        memcpy(&study->points[study->count], part.points, part.count * sizeof *part.points);
        study->count += part.count;
    }
    return true;
}

/* Why the jobs would not be on one fabric; NULL: they are. */
static const char *difference(struct arena *arena, const struct portfolio *portfolio,
                              const struct scenario *one, const struct scenario *other)
{
    if (strcmp(one->cluster.name, other->cluster.name) != 0) {
        return arena_printf(arena, "%s, not %s", other->cluster.name, one->cluster.name);
    }
    if (strcmp(one->gpu.name, other->gpu.name) != 0) {
        return arena_printf(arena, "%s, not %s", other->gpu.name, one->gpu.name);
    }
    const double ports = portfolio_ports_bytes_per_s(one);
    const double other_ports = portfolio_ports_bytes_per_s(other);
    const int64_t nodes_max = one->cluster.nodes_max;
    const bool is_of_parts = !(portfolio->price.port_usd > 0) && one->nodes != other->nodes &&
                             (one->nodes > nodes_max || other->nodes > nodes_max);
    if (portfolio->price.is_told && (ports < other_ports || ports > other_ports || is_of_parts)) {
        return arena_printf(arena, "%" PRId64 " GPUs, not %" PRId64, other->gpus, one->gpus);
    }
    return NULL;
}

static void tell_difference(const struct portfolio *portfolio, uint32_t job, const char *words,
                            bool is_of_size, struct diag *diag)
{
    diag_add(diag, DIAG_INPUT, &portfolio->jobs[job].place, "'%s' is on %s as '%s': %s",
             portfolio->jobs[job].name, words, portfolio->jobs[0].name,
             is_of_size ? "the ports of no one fabric could be priced"
                        : "a portfolio is of one fabric");
    diag_help(diag, "%s",
              is_of_size
                  ? "give all scenarios the same gpus or the cluster its size (nodes), or leave "
                    "out price:"
                  : "write cluster: NAME in the portfolio, which then holds for all");
}

bool portfolio_check(const struct portfolio *portfolio, const struct study *study, uint32_t fabrics,
                     const struct catalogue *catalogue, struct diag *diag)
{
    struct arena *arena = arena_new();
    bool is_good = true;
    for (uint32_t f = 0; is_good && f < fabrics; f++) {
        struct diag *own = diag_new(arena);
        const struct scenario *first =
            study_point_resolve(&study->points[f], arena, catalogue, own);
        for (uint32_t job = 1; is_good && first != NULL && job < portfolio->job_count; job++) {
            const struct scenario *other =
                study_point_resolve(&study->points[job * fabrics + f], arena, catalogue, own);
            const char *words = other != NULL ? difference(arena, portfolio, first, other) : NULL;
            if (words != NULL) {
                const bool is_of_size = strcmp(first->cluster.name, other->cluster.name) == 0 &&
                                        strcmp(first->gpu.name, other->gpu.name) == 0;
                tell_difference(portfolio, job, words, is_of_size, diag);
                is_good = false;
            }
        }
        arena_reset(arena);
    }
    arena_free(arena);
    return is_good;
}

/* ---- what it does ---------------------------------------------------------------------------- */

struct portfolio_sum portfolio_sum_of(const struct portfolio_share *shares, uint32_t count)
{
    struct portfolio_sum sum = {ABSENT, ABSENT, ABSENT, ABSENT};
    double weights = 0;
    double hours = 0;
    double left = 0;
    bool has_bands = true;
    for (uint32_t i = 0; i < count; i++) {
        const struct portfolio_share *share = &shares[i];
        sim_assert(share->weight > 0);
        if (is_absent(share->ratio)) {
            return sum;
        }
        weights += share->weight;
        hours += share->weight / share->ratio;
        left += share->weight * share->ratio;
        has_bands = has_bands && !is_absent(share->spread);
    }
    sum.work = weights / hours;
    sum.work_at_fixed_hours = left / weights;
    if (!has_bands) {
        return sum;
    }
    sum.spread = 0;
    sum.spread_of_half = 0;
    for (uint32_t i = 0; i < count; i++) {
        const double of_hours = shares[i].weight / shares[i].ratio / hours;
        sum.spread += of_hours * shares[i].spread;
        sum.spread_of_half += of_hours * shares[i].spread_of_half;
    }
    return sum;
}

/* ---- which fabric is less -------------------------------------------------------------------- */

/* How an axis grows leaner: 1 with larger values, -1 with smaller ones, 0: it does not say. */
static int leaner_with(const char *path)
{
    static const struct {
        const char *word; /* the key's last */
        int sign;
    } rows[] = {
        {"network", -1},      {"bandwidth", -1},       {"uplink", -1},
        {"count", -1},        {"oversubscription", 1}, {"pod_oversubscription", 1},
        {"latency", 1},       {"hop_latency", 1},      {"global_oversubscription", 1},
        {"round_latency", 1},
    };
    const char *dot = strrchr(path, '.');
    const char *word = dot != NULL ? dot + 1 : path;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].word, word) == 0) {
            return rows[i].sign;
        }
    }
    return 0;
}

bool portfolio_is_leaner(const struct study_point *fabric, const struct study_point *other)
{
    bool is_less = false;
    for (uint32_t i = 0; i < fabric->axis_count; i++) {
        const int sign = leaner_with(fabric->axes[i]);
        const double value = fabric->values[i];
        const double held = other->values[i];
        const bool is_ordered = sign != 0 && !is_absent(value) && !is_absent(held);
        if (!is_ordered && strcmp(fabric->value_texts[i], other->value_texts[i]) != 0) {
            return false;
        }
        if (is_ordered && (sign > 0 ? value < held : value > held)) {
            return false;
        }
        is_less = is_less || (is_ordered && (value > held || value < held));
    }
    return is_less;
}

/* ---- what it costs --------------------------------------------------------------------------- */

double portfolio_ports_bytes_per_s(const struct scenario *scenario)
{
    const struct cluster *cluster = &scenario->cluster;
    const double nics = (double)cluster->nics_per_node / (double)cluster->gpus_per_node;
    return nics * cluster->nic_bytes_per_s * (1 + site_ports_per_nic(cluster, scenario->nodes));
}

double portfolio_network_usd(const struct portfolio_price *price, double ports_bytes_per_s)
{
    return price->port_usd * ports_bytes_per_s / price->port_bytes_per_s /
           (price->life_s / SECONDS_PER_HOUR);
}

double portfolio_parts_usd(struct arena *arena, const struct portfolio_price *price,
                           const struct scenario *scenario, const struct catalogue *catalogue)
{
    const struct price_list *prices =
        price_list_open(arena, catalogue, PRICES_DEFAULT, diag_new(arena));
    const struct network_order order = {
        .cluster = &scenario->cluster, .nodes = scenario->nodes, .prices = prices};
    struct network_bill bill;
    return prices != NULL && network_bill_of(arena, &order, &bill)
               ? bill.gpu_usd / (price->life_s / SECONDS_PER_HOUR)
               : ABSENT;
}
