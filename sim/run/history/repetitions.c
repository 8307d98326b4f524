/* Percentiles are those of all values: a thousand histories are few. Each history's memory is
 * forgotten before the next.
 *
 * The first ones are drawn here, so that processes begin with the steps that these met, and so that
 * their turns tell whether the others are worth any. What a process drew comes back as bytes, and
 * is added up in the order of the histories: sums do not depend on who drew what.
 */
#include "run/history/repetitions.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/workers.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include <math.h>
#include <string.h>

/* Sorts the values. */
static struct repetition_spread spread_of(double *values, uint32_t count)
{
    gsl_sort(values, 1, count);
    const double deviation = gsl_stats_sd(values, 1, count);
    return (struct repetition_spread){
        .mean = gsl_stats_mean(values, 1, count),
        .error = deviation / sqrt((double)count),
        .p5 = gsl_stats_quantile_from_sorted_data(values, 1, count, 0.05),
        .p50 = gsl_stats_quantile_from_sorted_data(values, 1, count, 0.5),
        .p95 = gsl_stats_quantile_from_sorted_data(values, 1, count, 0.95),
    };
}

static struct repetition repetition_of(const struct history_plan *plan,
                                       const struct history_outcome *outcome)
{
    double unheld_s = 0;
    for (uint32_t stage = 0; stage < plan->stage_count; stage++) {
        unheld_s += outcome->unheld_s[stage];
    }
    const sim_time *ns = outcome->account_ns;
    const double wall_s = sim_time_to_s(outcome->end);
    return (struct repetition){
        .wall_s = wall_s,
        .steps_s = sim_time_to_s(ns[ACCOUNT_USEFUL] + ns[ACCOUNT_DATA_STALL] + ns[ACCOUNT_LOST]),
        .unheld_s = unheld_s,
        .goodput = sim_time_to_s(ns[ACCOUNT_USEFUL]) / wall_s,
    };
}

static void add_history(const struct history_plan *plan, const struct history_outcome *outcome,
                        struct repetitions *all)
{
    const double all_count = (double)all->count;
    for (uint32_t a = 0; a < ACCOUNT_COUNT_; a++) {
        all->account_s[a] += sim_time_to_s(outcome->account_ns[a]) / (double)all->count;
        for (uint32_t stage = 0; stage < plan->stage_count; stage++) {
            const sim_time ns = outcome->stage_ns[stage][a];
            all->stage_account_s[stage][a] += sim_time_to_s(ns) / all_count;
        }
    }
    for (uint32_t stage = 0; stage < plan->stage_count; stage++) {
        all->unheld_s[stage] += outcome->unheld_s[stage] / all_count;
    }
    all->saved += (double)outcome->saved / all_count;
    all->checkpoints += (double)outcome->checkpoints / all_count;
    for (uint32_t c = 0; c < plan->class_count; c++) {
        const double share = (double)outcome->interruptions[c] / (double)all->count;
        all->interruptions[c] += share;
        all->blamed_s[c] += sim_time_to_s(outcome->blamed_ns[c]) / (double)all->count;
        all->interruptions_all += share;
    }
    all->broken_most =
        outcome->broken_most > all->broken_most ? outcome->broken_most : all->broken_most;
    all->unfinished += plan->steps > 0 && outcome->steps < plan->steps;
}

static void spread(struct repetitions *all)
{
    struct arena *own = arena_new();
    double *values = arena_array(own, all->count, sizeof *values);
    for (uint32_t i = 0; i < all->count; i++) {
        values[i] = all->each[i].wall_s;
    }
    all->wall_s = spread_of(values, all->count);
    for (uint32_t i = 0; i < all->count; i++) {
        values[i] = all->each[i].goodput;
    }
    all->goodput = spread_of(values, all->count);
    arena_free(own);
}

/* ---- by this process ------------------------------------------------------------------------ */

static void take_outcome(const struct history_plan *plan, const struct history_outcome *outcome,
                         uint32_t number, struct repetitions *all)
{
    all->turns += outcome->turns;
    all->each[number] = repetition_of(plan, outcome);
    add_history(plan, outcome, all);
}

static void run_one(const struct repetitions_request *request, struct arena *arena, uint32_t number,
                    struct history_outcome *outcome)
{
    const struct history_plan *plan =
        request->plan_of != NULL ? request->plan_of(request->plans, arena, number) : request->plan;
    history_run(arena, plan, request->seed, number, outcome);
}

static void draw_one(const struct repetitions_request *request, struct arena *own, uint32_t number,
                     struct repetitions *all)
{
    struct history_outcome outcome;
    arena_reset(own);
    run_one(request, own, number, &outcome);
    take_outcome(request->plan, &outcome, number, all);
}

/* ---- by several ------------------------------------------------------------------------------ */

/* Turns of histories that are worth a process: some 0.2 s. */
static const double TURNS_WORTH = 1e6;

enum { PIECE = 8, ROUND = 4096 /* histories at a time whose outcomes are kept */ };

/* Histories from `first` on, as many as `count`; a piece is PIECE of them. */
struct team {
    const struct repetitions_request *request;
    uint32_t first, count;
    struct arena *arena;
    const char **outcomes; /* [count], packed; NULL: not drawn */
};

static uint32_t piece_end(const struct team *team, uint32_t piece)
{
    const uint32_t end = (piece + 1) * PIECE;
    return end < team->count ? end : team->count;
}

static size_t outcome_bytes(const struct history_plan *plan)
{
    return sizeof(struct history_outcome) +
           plan->class_count * (sizeof(uint64_t) + sizeof(sim_time)) +
           plan->stage_count * (sizeof(double) + sizeof(sim_time[ACCOUNT_COUNT_]));
}

static char *put(char *at, const void *bytes, size_t size_bytes)
{
    memcpy(at, bytes, size_bytes);
    return at + size_bytes;
}

static const char *take(const char *at, void *bytes, size_t size_bytes)
{
    memcpy(bytes, at, size_bytes);
    return at + size_bytes;
}

/* An outcome, and the arrays that it points to behind it. */
static char *pack(const struct history_plan *plan, const struct history_outcome *outcome, char *at)
{
    const uint32_t classes = plan->class_count;
    at = put(at, outcome, sizeof *outcome);
    at = put(at, outcome->interruptions, classes * sizeof *outcome->interruptions);
    at = put(at, outcome->blamed_ns, classes * sizeof *outcome->blamed_ns);
    at = put(at, outcome->unheld_s, plan->stage_count * sizeof *outcome->unheld_s);
    return put(at, outcome->stage_ns, plan->stage_count * sizeof *outcome->stage_ns);
}

static void unpack(struct arena *arena, const struct history_plan *plan, const char *at,
                   struct history_outcome *outcome)
{
    const uint32_t classes = plan->class_count;
    at = take(at, outcome, sizeof *outcome);
    outcome->interruptions = arena_array(arena, classes, sizeof *outcome->interruptions);
    outcome->blamed_ns = arena_array(arena, classes, sizeof *outcome->blamed_ns);
    outcome->unheld_s = arena_array(arena, plan->stage_count, sizeof *outcome->unheld_s);
    outcome->stage_ns = arena_array(arena, plan->stage_count, sizeof *outcome->stage_ns);
    at = take(at, outcome->interruptions, classes * sizeof *outcome->interruptions);
    at = take(at, outcome->blamed_ns, classes * sizeof *outcome->blamed_ns);
    at = take(at, outcome->unheld_s, plan->stage_count * sizeof *outcome->unheld_s);
    (void)take(at, outcome->stage_ns, plan->stage_count * sizeof *outcome->stage_ns);
}

/* In a worker: the outcomes of a piece, then the news. */
static struct piece_result work(const void *context, uint32_t piece, struct arena *arena)
{
    const struct team *team = context;
    const struct repetitions_request *request = team->request;
    const struct history_plan *plan = request->plan;
    const uint32_t begin = piece * PIECE;
    const uint32_t end = piece_end(team, piece);
    const size_t outcomes_bytes = (end - begin) * outcome_bytes(plan);
    char *outcomes = arena_alloc(arena, outcomes_bytes);
    char *at = outcomes;
    for (uint32_t i = begin; i < end; i++) {
        struct history_outcome outcome;
        run_one(request, arena, team->first + i, &outcome);
        at = pack(plan, &outcome, at);
    }
    struct repetitions_news news = {NULL, 0};
    if (request->news != NULL) {
        news = request->news(plan->context, arena);
    }
    char *bytes = arena_alloc(arena, outcomes_bytes + news.size_bytes);
    (void)put(bytes, outcomes, outcomes_bytes);
    if (news.size_bytes > 0) {
        (void)put(bytes + outcomes_bytes, news.bytes, news.size_bytes);
    }
    return (struct piece_result){bytes, outcomes_bytes + news.size_bytes, NULL};
}

static bool take_piece(void *context, uint32_t piece, const struct piece_result *result)
{
    struct team *team = context;
    const struct repetitions_request *request = team->request;
    const size_t each_bytes = outcome_bytes(request->plan);
    const uint32_t begin = piece * PIECE;
    const uint32_t end = piece_end(team, piece);
    if (result->failure != NULL) { /* drawn by the caller */
        return true;
    }
    const size_t outcomes_bytes = (end - begin) * each_bytes;
    sim_assert(result->size_bytes >= outcomes_bytes);
    char *bytes = arena_alloc(team->arena, outcomes_bytes);
    memcpy(bytes, result->bytes, outcomes_bytes);
    for (uint32_t i = begin; i < end; i++) {
        team->outcomes[i] = bytes + (i - begin) * each_bytes;
    }
    const struct repetitions_news news = {(const char *)result->bytes + outcomes_bytes,
                                          result->size_bytes - outcomes_bytes};
    if (news.size_bytes > 0) {
        request->learn(request->plan->context, &news);
    }
    return true;
}

/* Sums are taken in the order of the histories, whoever drew them. */
static void draw_round(const struct repetitions_request *request, uint32_t first, uint32_t count,
                       struct repetitions *all)
{
    struct team team = {request, first, count, arena_new(), NULL};
    struct arena *own = arena_new();
    team.outcomes = arena_array(team.arena, count, sizeof *team.outcomes);
    memset(team.outcomes, 0, count * sizeof *team.outcomes);
    const uint32_t pieces = (count + PIECE - 1) / PIECE;
    const struct workers_request workers = {.jobs = workers_count(request->jobs, pieces),
                                            .piece_count = pieces,
                                            .work = work,
                                            .take = take_piece,
                                            .context = &team};
    const bool is_done = workers_run(&workers);
    sim_assert(is_done);
    for (uint32_t i = 0; i < count; i++) {
        struct history_outcome outcome;
        if (team.outcomes[i] == NULL) {
            draw_one(request, own, first + i, all);
            continue;
        }
        arena_reset(own);
        unpack(own, request->plan, team.outcomes[i], &outcome);
        take_outcome(request->plan, &outcome, first + i, all);
    }
    arena_free(own);
    arena_free(team.arena);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool is_worth_a_team(const struct repetitions_request *request, uint32_t drawn,
                            const struct repetitions *all)
{
    const double left = (double)(request->count - drawn);
    return request->jobs > 1 && left * (double)all->turns / (double)drawn >= TURNS_WORTH;
}

void repetitions_draw(struct arena *arena, const struct repetitions_request *request,
                      struct repetitions *all)
{
    const uint32_t count = request->count;
    const uint32_t class_count = request->plan->class_count;
    sim_assert(count >= 2);
    *all = (struct repetitions){
        .count = count,
        .interruptions = arena_array(arena, class_count, sizeof *all->interruptions),
        .blamed_s = arena_array(arena, class_count, sizeof *all->blamed_s),
        .unheld_s = arena_array(arena, request->plan->stage_count, sizeof *all->unheld_s),
        .stage_account_s =
            arena_array(arena, request->plan->stage_count, sizeof *all->stage_account_s),
        .each = arena_array(arena, count, sizeof *all->each)};
    struct arena *own = arena_new();
    uint32_t drawn = 0;
    const bool are_alike = request->plan_of == NULL;
    while (drawn < count && !(drawn == 1 && are_alike && all->unfinished > 0) &&
           !(drawn == PIECE && is_worth_a_team(request, drawn, all))) {
        draw_one(request, own, drawn++, all);
    }
    arena_free(own);
    if (drawn == 1) { /* as `count` is 2 or more */
        all->count = 1;
        return;
    }
    for (; drawn < count; drawn += ROUND) {
        draw_round(request, drawn, count - drawn < ROUND ? count - drawn : ROUND, all);
    }
    spread(all);
}

void repetitions_run(struct arena *arena, const struct history_plan *plan, uint64_t seed,
                     uint32_t count, struct repetitions *all)
{
    const struct repetitions_request request = {
        .plan = plan, .seed = seed, .count = count, .jobs = 1};
    repetitions_draw(arena, &request, all);
}

void repetitions_until(struct arena *arena, const struct repetitions_request *request,
                       double precision, struct repetitions *all)
{
    enum { FIRST = 16 };
    struct repetitions_request part = *request;
    const uint32_t most = request->count;
    for (uint32_t count = most < FIRST ? most : FIRST;; count *= 2) {
        part.count = count < most ? count : most;
        repetitions_draw(arena, &part, all);
        if (part.count == most || all->unfinished > 0 ||
            all->wall_s.error <= precision * all->wall_s.mean) {
            return;
        }
    }
}
