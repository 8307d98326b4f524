/* Places experts and their copies on ranks as DeepSeek's load balancer (EPLB)
 * does, in plain loops: with at most a few hundred experts, time in proportion
 * to experts times copies is nothing.
 */
#include "plan/routing.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
#include "input/cluster.h"
#include "input/job/token_routing.h"
#include "input/model.h"
#include "input/scenario.h"

#include <gsl/gsl_randist.h>
#include <math.h>

struct routing_job routing_job_of(const struct scenario *scenario)
{
    const struct cluster *cluster = &scenario->cluster;
    return (struct routing_job){
        .model = &scenario->model,
        .routing = &scenario->routing,
        .ep = scenario->parallel.ep,
        .domain_gpus = cluster->gpus_per_node * cluster->domain_nodes,
        .exchange = (enum exchange_kind)scenario->software.exchange,
        .seed = (uint64_t)scenario->seed,
    };
}

/* ---- node-limited routing -------------------------------------------------------------- */

/* C(a, k) / C(b, k) as a product of k factors, so that nothing overflows. */
static double binomial_ratio(int64_t a, int64_t b, int64_t k)
{
    double ratio = 1.0;
    for (int64_t i = 0; i < k; i++) {
        ratio *= a > i ? (double)(a - i) / (double)(b - i) : 0.0;
    }
    return ratio;
}

double routing_distinct_groups(int64_t experts, int64_t groups, int64_t k)
{
    sim_assert(groups >= 1 && experts >= groups && k >= 1 && k <= experts);
    return (double)groups * (1.0 - binomial_ratio(experts - experts / groups, experts, k));
}

static bool is_limited(const struct model *model)
{
    return model->group_limit > 0 && model->group_limit < model->expert_groups;
}

/* That none of a token's experts lies in a part: of the part's groups j are among those drawn, and
 * all experts are drawn from what these offer elsewhere. A part holds whole groups, or is one of
 * those that a group consists of. */
static double none_of_part(const struct model *model, int64_t parts)
{
    const int64_t groups = model->expert_groups, limit = model->group_limit;
    const int64_t held = groups > parts ? groups / parts : 1; /* of which the part has experts */
    const int64_t share = model->experts / (groups > parts ? groups : parts); /* its, of each */
    const int64_t offered = limit * (model->experts / groups);
    double none = 0;
    for (int64_t drawn = 0; drawn <= held && drawn <= limit; drawn++) {
        none += gsl_ran_hypergeometric_pdf((unsigned)drawn, (unsigned)held,
                                           (unsigned)(groups - held), (unsigned)limit) *
                binomial_ratio(offered - drawn * share, offered, model->experts_per_token);
    }
    return none;
}

double routing_distinct_parts(const struct model *model, int64_t parts)
{
    const int64_t groups = model->expert_groups;
    const double any = routing_distinct_groups(model->experts, parts, model->experts_per_token);
    if (!is_limited(model)) {
        return any;
    }
    if (parts % groups == 0 || groups % parts == 0) {
        return (double)parts * (1.0 - none_of_part(model, parts));
    }
    const int64_t cut = model->group_limit * (parts / groups + 2); /* whole ones, and two cut */
    return fmin(any, (double)cut);
}

/* Rows that a token is sent as: one for each of its experts, or for each rank that has any. */
static double rows_of_token(const struct routing_job *job)
{
    const struct model *model = job->model;
    const bool is_once = job->exchange == EXCHANGE_TOKENS && job->ep <= model->experts;
    return is_once ? routing_distinct_parts(model, job->ep) : (double)model->experts_per_token;
}

double routing_node_share(const struct routing_job *job, uint32_t nodes)
{
    const struct model *model = job->model;
    const bool is_once = is_limited(model) || job->exchange == EXCHANGE_TOKENS;
    if (!is_once || nodes <= 1 || (int64_t)nodes > model->experts) {
        return 1.0;
    }
    return fmin(routing_distinct_parts(model, (int64_t)nodes) / rows_of_token(job), 1.0);
}

/* ---- EPLB ------------------------------------------------------------------------------ */

/* Items by falling weight; of equal ones the first comes first. */
static void sort_falling(const double *weights, int64_t count, int64_t *order)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t at = i;
        while (at > 0 && weights[order[at - 1]] < weights[i]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

/* Puts each item, the heaviest first, into the lightest of the packs that have room: count /
 * packs items each. */
static void pack(struct arena *arena, const double *weights, int64_t count, int64_t packs,
                 int64_t *pack_of)
{
    int64_t *order = arena_array(arena, (size_t)count, sizeof *order);
    double *filled = arena_array(arena, (size_t)packs, sizeof *filled);
    int64_t *items = arena_array(arena, (size_t)packs, sizeof *items);
    sort_falling(weights, count, order);
    for (int64_t i = 0; i < count; i++) {
        int64_t best = -1;
        for (int64_t k = 0; k < packs; k++) {
            if (items[k] < count / packs && (best < 0 || filled[k] < filled[best])) {
                best = k;
            }
        }
        sim_assert(best >= 0);
        pack_of[order[i]] = best;
        filled[best] += weights[order[i]];
        items[best]++;
    }
}

/* One copy after the other to the expert whose copies have most to do. */
static void replicate(struct arena *arena, const double *loads, int64_t experts, int64_t copies,
                      double *copy_loads)
{
    int64_t *count = arena_array(arena, (size_t)experts, sizeof *count);
    int64_t *expert_of = arena_array(arena, (size_t)copies, sizeof *expert_of);
    for (int64_t i = 0; i < copies; i++) {
        int64_t chosen = i;
        for (int64_t k = 0; i >= experts && k < experts; k++) {
            const double best = chosen < experts ? loads[chosen] / (double)count[chosen] : -1.0;
            chosen = loads[k] / (double)count[k] > best ? k : chosen;
        }
        expert_of[i] = chosen;
        count[chosen]++;
    }
    for (int64_t i = 0; i < copies; i++) {
        copy_loads[i] = loads[expert_of[i]] / (double)count[expert_of[i]];
    }
}

/* The experts of the groups that were packed onto a node, in the order of groups. */
static void gather_node(const struct routing_balance *asked, const double *loads,
                        const int64_t *node_of, int64_t node, double *gathered)
{
    const int64_t size = asked->experts / asked->groups;
    int64_t count = 0;
    for (int64_t group = 0; group < asked->groups; group++) {
        for (int64_t i = 0; node_of[group] == node && i < size; i++) {
            gathered[count++] = loads[group * size + i];
        }
    }
    sim_assert(count == asked->experts / asked->nodes);
}

static void pack_groups(struct arena *arena, const struct routing_balance *asked,
                        const double *loads, int64_t *node_of)
{
    const int64_t size = asked->experts / asked->groups;
    double *sums = arena_array(arena, (size_t)asked->groups, sizeof *sums);
    for (int64_t i = 0; i < asked->experts; i++) {
        sums[i / size] += loads[i];
    }
    pack(arena, sums, asked->groups, asked->nodes, node_of);
}

static void check_asked(const struct routing_balance *asked)
{
    sim_assert(asked->experts >= 1 && asked->copies >= asked->experts);
    sim_assert(asked->ranks >= 1 && asked->copies % asked->ranks == 0);
    sim_assert(asked->nodes >= 1 && asked->ranks % asked->nodes == 0);
}

void routing_balance(struct arena *arena, const struct routing_balance *asked,
                     const double *expert_loads, double *copy_loads, double *rank_loads)
{
    check_asked(asked);
    struct routing_balance plan = *asked;
    if (plan.groups < 1 || plan.groups % plan.nodes != 0 || plan.experts % plan.groups != 0) {
        plan.groups = plan.nodes = 1;
    }
    const int64_t experts = plan.experts / plan.nodes;
    const int64_t copies = plan.copies / plan.nodes;
    const int64_t ranks = plan.ranks / plan.nodes;
    int64_t *node_of = arena_array(arena, (size_t)plan.groups, sizeof *node_of);
    int64_t *rank_of = arena_array(arena, (size_t)copies, sizeof *rank_of);
    double *gathered = arena_array(arena, (size_t)experts, sizeof *gathered);
    double *loads = arena_array(arena, (size_t)copies, sizeof *loads);
    pack_groups(arena, &plan, expert_loads, node_of);
    for (int64_t i = 0; i < plan.ranks; i++) {
        rank_loads[i] = 0.0;
    }
    for (int64_t node = 0; node < plan.nodes; node++) {
        gather_node(&plan, expert_loads, node_of, node, gathered);
        replicate(arena, gathered, experts, copies, loads);
        pack(arena, loads, copies, ranks, rank_of);
        for (int64_t i = 0; i < copies; i++) {
            rank_loads[node * ranks + rank_of[i]] += loads[i];
            if (copy_loads != NULL) {
                copy_loads[node * copies + i] = loads[i];
            }
        }
    }
}

/* ---- a job's load ---------------------------------------------------------------------- */

/* Shares of all rows. A token goes to an expert at most once, so none has more than 1 / k: what
 * is above goes to the others in proportion. Each round caps one expert more, or ends. */
static void cap_shares(double *shares, int64_t count, double most)
{
    for (int64_t round = 0; round < count; round++) {
        double capped = 0.0;
        double free = 0.0;
        bool is_over = false;
        for (int64_t i = 0; i < count; i++) {
            const bool is_full = shares[i] >= most;
            is_over = is_over || shares[i] > most;
            capped += is_full ? most : 0.0;
            free += is_full ? 0.0 : shares[i];
        }
        if (!is_over || !(free > 0.0)) {
            return;
        }
        const double scale = (1.0 - capped) / free;
        for (int64_t i = 0; i < count; i++) {
            shares[i] = shares[i] >= most ? most : shares[i] * scale;
        }
    }
}

static double largest(const double *values, int64_t count)
{
    double most = 0.0;
    for (int64_t i = 0; i < count; i++) {
        most = fmax(most, values[i]);
    }
    return most;
}

/* Lognormal draws of this sigma: the normal ones behind them do not depend on it. */
static void draw_with(const struct routing_job *job, double sigma, double *shares)
{
    const int64_t experts = job->model->experts;
    double sum = 0.0;
    for (int64_t i = 0; i < experts; i++) {
        const struct rng_key key = {
            .seed = job->seed, .stream = rng_stream("expert popularity"), .rank = (uint64_t)i};
        const bool is_even = job->routing->kind == ROUTING_EVEN;
        shares[i] = is_even ? 1.0 : rng_lognormal(&key, 0.0, sigma);
        sum += shares[i];
    }
    for (int64_t i = 0; i < experts; i++) {
        shares[i] /= sum;
    }
    cap_shares(shares, experts, 1.0 / (double)job->model->experts_per_token);
}

enum { SIGMA_HALVINGS = 50 };
#define SIGMA_MAX 8.0

/* The sigma of which the busiest of these draws is so far above the mean: it grows with sigma. */
static double sigma_of(const struct routing_job *job, double *shares)
{
    const double wanted = 1.0 + job->routing->max_violation;
    double low = 0.0;
    double high = SIGMA_MAX;
    for (int i = 0; i < SIGMA_HALVINGS; i++) {
        const double middle = 0.5 * (low + high);
        draw_with(job, middle, shares);
        const bool is_less =
            largest(shares, job->model->experts) * (double)job->model->experts < wanted;
        low = is_less ? middle : low;
        high = is_less ? high : middle;
    }
    return high;
}

static void draw_shares(const struct routing_job *job, double *shares)
{
    const bool is_measured = job->routing->kind == ROUTING_MEASURED;
    draw_with(job, is_measured ? sigma_of(job, shares) : job->routing->spread, shares);
}

/* Without copies experts lie on ranks in order. */
static void place_in_order(const struct routing_balance *asked, const double *shares,
                           double *copy_loads, double *rank_loads)
{
    sim_assert(asked->ranks > 0 && asked->experts % asked->ranks == 0);
    const int64_t per_rank = asked->experts / asked->ranks;
    sim_assert(per_rank > 0);
    for (int64_t i = 0; i < asked->ranks; i++) {
        rank_loads[i] = 0.0;
    }
    for (int64_t i = 0; i < asked->experts; i++) {
        rank_loads[i / per_rank] += shares[i];
        copy_loads[i] = shares[i];
    }
}

/* Of a capacity: each copy serves at most that many times the mean; the sum of what is served. */
static double served(const double *copy_loads, int64_t copies, double capacity_factor)
{
    double sum = 0.0;
    for (int64_t i = 0; i < copies; i++) {
        sum += fmin(copy_loads[i], capacity_factor / (double)copies);
    }
    return fmin(sum, 1.0);
}

/* What experts in order serve of their ranks' rows; copies that EPLB placed: at most so many times
 * the mean of ranks. */
static void cut_ranks(const struct routing_balance *asked, const double *copy_loads,
                      double capacity_factor, double *rank_loads)
{
    const bool is_in_order = asked->copies == asked->experts;
    const int64_t per_rank = asked->copies / asked->ranks;
    for (int64_t i = 0; i < asked->ranks; i++) {
        double sum = 0.0;
        for (int64_t k = 0; k < per_rank; k++) {
            sum += fmin(copy_loads[i * per_rank + k], capacity_factor / (double)asked->copies);
        }
        const double most = capacity_factor / (double)asked->ranks;
        rank_loads[i] = is_in_order ? sum : fmin(rank_loads[i], most);
    }
}

/* Rows are dropped and none added: the busiest rank and expert have what they serve. */
static void load_cut(const struct routing_balance *asked, const double *copy_loads,
                     double capacity_factor, double *rank_loads, struct routing_load *load)
{
    cut_ranks(asked, copy_loads, capacity_factor, rank_loads);
    load->hottest_rank = largest(rank_loads, asked->ranks) * (double)asked->ranks;
    load->hottest_expert =
        fmin(largest(copy_loads, asked->copies) * (double)asked->copies, capacity_factor);
    load->exchange_rows = load->sent;
    load->exchange_hottest = fmin(load->hottest_rank / load->sent, (double)asked->ranks);
}

static struct routing_balance balance_of(const struct routing_job *job)
{
    const struct model *model = job->model;
    const int64_t domain = job->domain_gpus;
    const bool fills = domain > 0 && job->ep % domain == 0;
    const struct routing_balance asked = {
        .experts = model->experts,
        .groups = model->expert_groups > 0 ? model->expert_groups : 1,
        .copies = model->experts + job->routing->redundant_experts,
        .nodes = fills ? job->ep / domain : 1,
        .ranks = job->ep,
    };
    return asked;
}

struct routing_load routing_of(const struct routing_job *job)
{
    const struct routing *routing = job->routing;
    struct routing_load load = {1, 1, 1, 0, 1, 1};
    if (job->model->experts == 0) {
        return load;
    }
    const struct routing_balance asked = balance_of(job);
    struct arena *arena = arena_new();
    double *shares = arena_array(arena, (size_t)asked.experts, sizeof *shares);
    double *copies = arena_array(arena, (size_t)asked.copies, sizeof *copies);
    double *ranks = arena_array(arena, (size_t)asked.ranks, sizeof *ranks);
    draw_shares(job, shares);
    if (asked.copies == asked.experts) {
        place_in_order(&asked, shares, copies, ranks);
    } else {
        routing_balance(arena, &asked, shares, copies, ranks);
    }
    load.local_experts = asked.copies / asked.ranks;
    const bool is_even = routing->kind == ROUTING_EVEN && asked.copies == asked.experts;
    if (routing->capacity_factor > 0) {
        load.sent = is_even ? fmin(routing->capacity_factor, 1.0)
                            : served(copies, asked.copies, routing->capacity_factor);
        load.hottest_rank = load.hottest_expert = load.exchange_rows = routing->capacity_factor;
        if (!routing->pads) {
            load_cut(&asked, copies, routing->capacity_factor, ranks, &load);
        }
    } else if (!is_even) {
        load.hottest_rank = fmax(largest(ranks, asked.ranks) * (double)asked.ranks, 1.0);
        load.hottest_expert = largest(copies, asked.copies) * (double)asked.copies;
        load.exchange_hottest = fmin(load.hottest_rank, (double)asked.ranks);
    }
    load.exchange_rows *= rows_of_token(job) / (double)job->model->experts_per_token;
    arena_free(arena);
    return load;
}
