/* Time goes on from one end of a step, of a write, of a pause to the next. Lists are searched from
 * end to end, nothing is remembered of cycles, and a step that was lost is found by adding up what
 * each step since the checkpoint had booked.
 */
#include "support/slow_history.h"

#include "base/arena.h"
#include "base/check.h"

#include <string.h>

enum { NODES_MAX = 4096, SLOW_MAX = 256 };

struct walked_step {
    sim_time useful_ns, stall_ns, degraded_ns;
};

struct copy {
    int64_t steps;   /* -1: there is none */
    int64_t periods; /* written until then */
    sim_time safe_at;
};

struct walker {
    struct arena *arena;
    const struct history_plan *plan;
    struct history_outcome *out;
    struct failure_times *times;
    sim_time now;
    struct walked_step *done; /* each step that counts */
    size_t capacity;
    int64_t steps, periods, in_period;
    struct copy safe[HISTORY_TIERS_MAX], pending[HISTORY_TIERS_MAX];
    struct copy checked;
    int64_t corrupted_at;
    uint32_t corrupting;
    uint64_t corrupting_ordinal;
    sim_time returns[NODES_MAX]; /* of nodes in repair */
    uint32_t broken;
    struct {
        sim_time end;
        uint32_t class;
        uint64_t ordinal;
    } slow[SLOW_MAX];
    uint32_t slow_count;
    uint32_t missing;
    uint32_t level; /* of the worst failure since the job ran */
    sim_time read_ns;
    uint64_t grown;
    sim_time healthy_ns;
};

static bool ends(const struct walker *w)
{
    return w->now >= w->plan->horizon || (w->plan->steps > 0 && w->steps >= w->plan->steps);
}

static void pass(struct walker *w, enum account account, sim_time ns, bool stands)
{
    const sim_time left = w->plan->horizon - w->now;
    ns = ns < left ? ns : left;
    w->now += ns;
    w->out->account_ns[account] += ns;
    for (uint32_t i = 0; stands && i < w->plan->class_count; i++) {
        if (w->plan->classes[i].rests) {
            failure_times_rest(&w->times[i], ns);
        }
    }
}

static void settle(struct walker *w)
{
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        if (w->pending[i].steps >= 0 && w->pending[i].safe_at <= w->now) {
            w->safe[i] = w->pending[i];
            w->pending[i].steps = -1;
        }
    }
}

/* ---- what happens next ---------------------------------------------------------------------- */

enum next_kind { NEXT_FAILURE, NEXT_SLOW_ENDS, NEXT_NODE, NEXT_HORIZON };

static uint32_t first_class(const struct walker *w, bool breaks_restarts)
{
    uint32_t first = HISTORY_NO_CLASS;
    for (uint32_t i = 0; i < w->plan->class_count; i++) {
        const struct failure_class *class = &w->plan->classes[i];
        if (breaks_restarts && (class->effect != FAILURE_KILLS || class->rests)) {
            continue;
        }
        if (w->times[i].next < (first == HISTORY_NO_CLASS ? INT64_MAX : w->times[first].next)) {
            first = i;
        }
    }
    return first;
}

static uint32_t first_slow(const struct walker *w)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < w->slow_count; i++) {
        first = w->slow[i].end < w->slow[first].end ? i : first;
    }
    return first;
}

static sim_time first_return(const struct walker *w)
{
    sim_time first = INT64_MAX;
    for (uint32_t i = 0; i < w->broken; i++) {
        first = w->returns[i] < first ? w->returns[i] : first;
    }
    return first;
}

static enum next_kind next(const struct walker *w, sim_time *when)
{
    enum next_kind kind = NEXT_HORIZON;
    *when = w->plan->horizon;
    const uint32_t class = first_class(w, false);
    if (class != HISTORY_NO_CLASS && w->times[class].next < *when) {
        *when = w->times[class].next;
        kind = NEXT_FAILURE;
    }
    if (w->slow_count > 0 && w->slow[first_slow(w)].end < *when) {
        *when = w->slow[first_slow(w)].end;
        kind = NEXT_SLOW_ENDS;
    }
    if (w->missing > 0 && first_return(w) < *when) {
        *when = first_return(w);
        kind = NEXT_NODE;
    }
    return kind;
}

/* ---- steps and writes ------------------------------------------------------------------------ */

static struct history_step step_now(const struct walker *w)
{
    struct history_regime regime = {false, HISTORY_NO_CLASS, w->missing, 0};
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        regime.flushes = regime.flushes || w->pending[i].steps >= 0;
    }
    struct history_step slowest = w->plan->step_of(w->plan->context, &regime);
    for (uint32_t i = 0; i < w->slow_count; i++) {
        regime.slow_class = w->slow[i].class;
        const struct history_step slow = w->plan->step_of(w->plan->context, &regime);
        slowest = slow.step_ns > slowest.step_ns ? slow : slowest;
    }
    return slowest;
}

static void keep_step(struct walker *w, const struct history_step *step)
{
    w->done = arena_grow(w->arena, w->done, &w->capacity, (size_t)w->steps + 1, sizeof *w->done);
    w->done[w->steps++] = (struct walked_step){w->healthy_ns - step->stall_ns, step->stall_ns,
                                               step->step_ns - w->healthy_ns};
    w->in_period++;
}

static bool is_due(const struct walker *w, uint32_t every)
{
    return every > 0 && (w->periods + 1) % every == 0;
}

static sim_time write_ns(const struct walker *w)
{
    sim_time takes = is_due(w, w->plan->check_every) ? w->plan->check_ns : 0;
    sim_time until = w->now;
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        if (is_due(w, w->plan->tiers[i].every)) {
            takes += w->plan->tiers[i].block_ns;
            until = w->pending[i].steps >= 0 && w->pending[i].safe_at > until
                        ? w->pending[i].safe_at
                        : until;
        }
    }
    return takes > until - w->now ? takes : until - w->now;
}

static void keep_checkpoint(struct walker *w)
{
    settle(w);
    const int64_t periods = w->periods++;
    w->in_period = 0;
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        if ((periods + 1) % w->plan->tiers[i].every == 0) {
            w->pending[i] =
                (struct copy){w->steps, w->periods, w->now + w->plan->tiers[i].durable_ns};
        }
    }
    if (w->plan->check_every > 0 && (periods + 1) % w->plan->check_every == 0) {
        w->checked = (struct copy){w->steps, w->periods, w->now};
    }
    settle(w);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void go_back(struct walker *w, struct copy to)
{
    while (w->steps > to.steps) {
        const struct walked_step *step = &w->done[--w->steps];
        w->out->account_ns[ACCOUNT_LOST] += step->useful_ns + step->stall_ns + step->degraded_ns;
    }
    w->periods = to.periods;
    w->in_period = 0;
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        w->pending[i].steps = -1;
    }
    if (w->steps <= w->corrupted_at) {
        w->corrupted_at = -1;
    }
}

static void fall_back(struct walker *w, uint32_t level)
{
    settle(w);
    level = w->level > level ? w->level : level;
    w->level = level;
    struct copy newest = {0, 0, 0};
    w->read_ns = 0;
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        if (w->plan->tiers[i].survives >= level && w->safe[i].steps > newest.steps) {
            newest = w->safe[i];
            w->read_ns = w->plan->tiers[i].read_ns[level];
        }
    }
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        w->safe[i] = w->plan->tiers[i].survives < level ? newest : w->safe[i];
    }
    w->checked = w->checked.steps > newest.steps ? newest : w->checked;
    go_back(w, newest);
}

static sim_time draw(const struct walker *w, const struct law *law, uint32_t class,
                     uint64_t ordinal, uint64_t use)
{
    const struct rng_key key = failure_key(&w->times[class], ordinal, use);
    return law_draw(law, &key);
}

static void take_returned(struct walker *w)
{
    for (uint32_t i = 0; i < w->broken;) {
        if (w->returns[i] <= w->now) {
            w->returns[i] = w->returns[--w->broken];
        } else {
            i++;
        }
    }
}

static void break_nodes(struct walker *w, uint32_t class, uint64_t ordinal, sim_time when)
{
    const struct failure_class *of = &w->plan->classes[class];
    const struct rng_key key = failure_key(&w->times[class], ordinal, DRAW_DOMAIN);
    const uint32_t domain = of->domains > 0 ? (uint32_t)rng_below(&key, of->domains) : 0;
    const uint32_t nodes = domain > 0 && domain + 1 == of->domains ? of->nodes_last : of->nodes;
    for (uint32_t i = 0; i < nodes; i++) {
        sim_assert(w->broken < NODES_MAX);
        const uint64_t use = DRAW_REPAIR + (of->are_repaired_as_one ? 0 : i);
        w->returns[w->broken++] = when + draw(w, &of->repair, class, ordinal, use);
    }
    w->out->broken_most = w->broken > w->out->broken_most ? w->broken : w->out->broken_most;
}

static uint32_t nodes_short(const struct walker *w)
{
    return w->broken > w->plan->spares ? w->broken - w->plan->spares : 0;
}

static uint32_t replicas_short(const struct walker *w)
{
    uint32_t replicas = 0;
    while (w->plan->nodes_of_replica > 0 && replicas * w->plan->nodes_of_replica < nodes_short(w)) {
        replicas++;
    }
    return replicas;
}

static void take_unseen(struct walker *w)
{
    for (uint32_t i = 0; i < w->plan->class_count; i++) {
        const enum failure_effect effect = w->plan->classes[i].effect;
        const bool breaks = effect == FAILURE_KILLS || effect == FAILURE_SLOWS;
        while (breaks && w->times[i].next <= w->now) {
            fall_back(w, w->plan->classes[i].level);
            break_nodes(w, i, w->times[i].ordinal, w->times[i].next);
            failure_times_advance(&w->times[i], w->arena);
        }
    }
}

static void wait_for_nodes(struct walker *w)
{
    take_returned(w);
    while (!ends(w) &&
           (w->plan->is_elastic ? replicas_short(w) >= w->plan->replicas : nodes_short(w) > 0)) {
        pass(w, ACCOUNT_WAITING, first_return(w) - w->now, true);
        take_unseen(w);
        take_returned(w);
    }
}

/* From when it is known what failed until the job runs. */
static void start_again(struct walker *w, uint32_t class, uint64_t ordinal)
{
    for (;;) {
        wait_for_nodes(w);
        w->missing = w->plan->is_elastic ? replicas_short(w) : 0;
        const sim_time takes =
            draw(w, &w->plan->classes[class].restart, class, ordinal, DRAW_RESTART) +
            w->plan->start_ns + w->read_ns;
        const uint32_t hit = first_class(w, true);
        if (hit == HISTORY_NO_CLASS || w->times[hit].next >= w->now + takes) {
            pass(w, ACCOUNT_RECOVERY, takes, true);
            break;
        }
        const sim_time until = w->times[hit].next;
        pass(w, ACCOUNT_RECOVERY, until > w->now ? until - w->now : 0, true);
        if (ends(w)) {
            break;
        }
        class = hit;
        fall_back(w, w->plan->classes[class].level);
        ordinal = w->times[hit].ordinal;
        w->out->interruptions[class]++;
        break_nodes(w, class, ordinal, w->now);
        failure_times_advance(&w->times[class], w->arena);
        pass(w, ACCOUNT_DETECTION,
             draw(w, &w->plan->classes[class].detection, class, ordinal, DRAW_DETECTION), true);
        take_unseen(w);
        if (ends(w)) {
            break;
        }
    }
    w->level = 0;
    for (uint32_t i = 0; i < w->plan->class_count; i++) {
        failure_times_renew(&w->times[i], w->now);
        while (w->plan->classes[i].effect == FAILURE_CORRUPTS && w->times[i].next <= w->now) {
            failure_times_advance(&w->times[i], w->arena);
        }
    }
}

static void kill(struct walker *w, uint32_t class)
{
    const uint64_t ordinal = w->times[class].ordinal;
    fall_back(w, w->plan->classes[class].level);
    w->out->interruptions[class]++;
    break_nodes(w, class, ordinal, w->now);
    failure_times_advance(&w->times[class], w->arena);
    pass(w, ACCOUNT_DETECTION,
         draw(w, &w->plan->classes[class].detection, class, ordinal, DRAW_DETECTION), true);
    take_unseen(w);
    if (!ends(w)) {
        start_again(w, class, ordinal);
    }
}

static void begin_slowness(struct walker *w, uint32_t class)
{
    const uint64_t ordinal = w->times[class].ordinal;
    sim_assert(w->slow_count < SLOW_MAX);
    w->slow[w->slow_count].class = class;
    w->slow[w->slow_count].ordinal = ordinal;
    w->slow[w->slow_count++].end =
        w->times[class].next +
        draw(w, &w->plan->classes[class].detection, class, ordinal, DRAW_DETECTION);
    failure_times_advance(&w->times[class], w->arena);
}

static void end_slowness(struct walker *w)
{
    const uint32_t number = first_slow(w);
    const uint32_t class = w->slow[number].class;
    const uint64_t ordinal = w->slow[number].ordinal;
    w->slow[number] = w->slow[--w->slow_count];
    w->out->interruptions[class]++;
    fall_back(w, w->plan->classes[class].level);
    break_nodes(w, class, ordinal, w->now);
    start_again(w, class, ordinal);
}

static void stop(struct walker *w, uint32_t class)
{
    const uint64_t ordinal = w->times[class].ordinal;
    const sim_time end = w->times[class].next +
                         draw(w, &w->plan->classes[class].repair, class, ordinal, DRAW_REPAIR);
    const sim_time waits = end > w->now ? end - w->now : 0;
    w->out->interruptions[class]++;
    failure_times_advance(&w->times[class], w->arena);
    pass(w, ACCOUNT_WAITING, waits, true);
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        w->pending[i].safe_at += waits;
    }
}

static void corrupt(struct walker *w, uint32_t class)
{
    if (w->corrupted_at < 0) {
        w->corrupted_at = w->steps;
        w->corrupting = class;
        w->corrupting_ordinal = w->times[class].ordinal;
    }
    failure_times_advance(&w->times[class], w->arena);
}

static void find_corruption(struct walker *w)
{
    w->out->interruptions[w->corrupting]++;
    const uint32_t class = w->corrupting;
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        w->safe[i] = w->checked;
    }
    w->read_ns = w->checked.steps > 0 ? w->plan->tiers[0].read_ns[0] : 0;
    go_back(w, w->checked);
    start_again(w, class, w->corrupting_ordinal);
}

static void grow(struct walker *w)
{
    take_returned(w);
    const uint64_t number = w->grown++;
    if (replicas_short(w) < w->missing) {
        const struct rng_key key = {.seed = w->times[0].key.seed,
                                    .stream = rng_stream("growth"),
                                    .rank = w->times[0].key.rank,
                                    .step = number};
        w->missing = replicas_short(w);
        pass(w, ACCOUNT_RECOVERY, law_draw(&w->plan->growth, &key), true);
    }
}

/* What is under way is `*left_ns` from its end; true: it was cut off, and is gone. */
static bool happens(struct walker *w, enum next_kind kind)
{
    const uint32_t class = first_class(w, false);
    take_returned(w);
    switch (kind) {
    case NEXT_HORIZON:
        return false;
    case NEXT_SLOW_ENDS:
        end_slowness(w);
        return true;
    case NEXT_NODE:
        grow(w);
        return false;
    case NEXT_FAILURE:
        break;
    }
    switch (w->plan->classes[class].effect) {
    case FAILURE_KILLS:
        kill(w, class);
        return true;
    case FAILURE_SLOWS:
        begin_slowness(w, class);
        return false;
    case FAILURE_STOPS:
        stop(w, class);
        return false;
    case FAILURE_CORRUPTS:
        corrupt(w, class);
        return false;
    case FAILURE_EFFECT_COUNT_:
        break;
    }
    return false;
}

/* So much time of a step, or of a write; false: it was cut off. */
static bool walk(struct walker *w, sim_time ns, enum account account)
{
    sim_time left = ns;
    while (left > 0) {
        sim_time when;
        const enum next_kind kind = next(w, &when);
        const sim_time until = when > w->now ? when - w->now : 0;
        if (left <= until) {
            w->now += left;
            w->out->account_ns[account] += account == ACCOUNT_CHECKPOINT ? left : 0;
            return true;
        }
        w->now += until;
        w->out->account_ns[account] += account == ACCOUNT_CHECKPOINT ? until : 0;
        left -= until;
        const sim_time done = account == ACCOUNT_LOST ? ns - left : 0;
        if (w->now >= w->plan->horizon) {
            w->out->account_ns[ACCOUNT_LOST] += done;
            return false;
        }
        /* A step that is cut off is lost from its beginning. */
        w->out->account_ns[ACCOUNT_LOST] += done;
        if (happens(w, kind)) {
            return false;
        }
        w->out->account_ns[ACCOUNT_LOST] -= done;
        if (ends(w)) {
            w->out->account_ns[ACCOUNT_LOST] += done;
            return false;
        }
    }
    return true;
}

static void go_on(struct walker *w)
{
    while (!ends(w)) {
        settle(w);
        sim_time when;
        enum next_kind kind = next(w, &when);
        while (when <= w->now && !ends(w)) { /* what is due before anything begins */
            (void)happens(w, kind);
            kind = next(w, &when);
        }
        if (ends(w)) {
            return;
        }
        settle(w);
        if (w->plan->period > 0 && w->in_period == w->plan->period) {
            const bool is_checked = is_due(w, w->plan->check_every);
            if (walk(w, write_ns(w), ACCOUNT_CHECKPOINT)) {
                if (is_checked && w->corrupted_at >= 0) {
                    find_corruption(w);
                } else {
                    keep_checkpoint(w);
                }
            }
        } else {
            const struct history_step step = step_now(w);
            if (walk(w, step.step_ns, ACCOUNT_LOST)) {
                keep_step(w, &step);
            }
        }
    }
}

void slow_history_run(struct arena *arena, const struct history_plan *plan, uint64_t seed,
                      uint64_t repetition, struct history_outcome *outcome)
{
    *outcome = (struct history_outcome){
        .interruptions = arena_array(arena, plan->class_count, sizeof *outcome->interruptions)};
    struct walker *w = arena_alloc(arena, sizeof *w);
    *w = (struct walker){.arena = arena,
                         .plan = plan,
                         .out = outcome,
                         .corrupted_at = -1,
                         .times = arena_array(arena, plan->class_count, sizeof *w->times)};
    for (uint32_t i = 0; i < HISTORY_TIERS_MAX; i++) {
        w->pending[i].steps = -1;
    }
    const struct history_regime healthy = {false, HISTORY_NO_CLASS, 0, 0};
    w->healthy_ns = plan->step_of(plan->context, &healthy).step_ns;
    const struct rng_key key = {.seed = seed, .rank = repetition};
    for (uint32_t i = 0; i < plan->class_count; i++) {
        failure_times_begin(&w->times[i], arena, &plan->classes[i], key, plan->horizon);
    }
    pass(w, ACCOUNT_PLANNED, plan->startup_ns, false);
    go_on(w);
    for (int64_t i = 0; i < w->steps; i++) {
        outcome->account_ns[ACCOUNT_USEFUL] += w->done[i].useful_ns;
        outcome->account_ns[ACCOUNT_DATA_STALL] += w->done[i].stall_ns;
        outcome->account_ns[ACCOUNT_DEGRADED] += w->done[i].degraded_ns;
    }
    outcome->end = w->now;
    outcome->steps = w->steps;
}
