/* The nodes of a walk: each has an entry from when it breaks, or is taken, until it is back. */
#include "support/slow_walker.h"

#include "base/check.h"

const struct history_stage *walker_stage(const struct walker *w)
{
    return &w->plan->stages[w->stage];
}

sim_time walker_draw(const struct walker *w, const struct law *law, uint32_t class,
                     uint64_t ordinal, uint64_t use)
{
    const struct rng_key key = failure_key(&w->times[class], ordinal, use);
    return law_draw(law, &key);
}

/* Nodes that were taken away and are not there at an instant, but not more than the job lacks. */
static uint32_t unheld_at(const struct walker *w, sim_time when)
{
    uint32_t all = 0;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < w->broken; i++) {
        all += w->returns[i] > when;
        taken += w->returns[i] > when && w->is_taken[i];
    }
    const uint32_t lacks = all > w->plan->spares ? all - w->plan->spares : 0;
    return lacks < taken ? lacks : taken;
}

void walker_go_by(struct walker *w, sim_time ns)
{
    const sim_time end = w->now + ns;
    while (w->now < end) {
        sim_time until = end;
        for (uint32_t i = 0; i < w->broken; i++) {
            until = w->returns[i] > w->now && w->returns[i] < until ? w->returns[i] : until;
        }
        w->out->unheld_s[w->stage] += unheld_at(w, w->now) * sim_time_to_s(until - w->now);
        w->now = until;
    }
}

sim_time walker_first_return(const struct walker *w)
{
    sim_time first = INT64_MAX;
    for (uint32_t i = 0; i < w->broken; i++) {
        first = w->returns[i] < first ? w->returns[i] : first;
    }
    return first;
}

void walker_take_returned(struct walker *w)
{
    for (uint32_t i = 0; i < w->broken;) {
        if (w->returns[i] <= w->now) {
            w->returns[i] = w->returns[--w->broken];
            w->is_taken[i] = w->is_taken[w->broken];
        } else {
            i++;
        }
    }
}

void walker_take_away(struct walker *w, sim_time until, bool is_taken)
{
    sim_assert(w->broken < NODES_MAX);
    w->is_taken[w->broken] = is_taken;
    w->returns[w->broken++] = until;
    w->taken++;
    w->out->broken_most = w->broken > w->out->broken_most ? w->broken : w->out->broken_most;
}

sim_time walker_repair(const struct walker *w, uint32_t class, uint64_t ordinal, uint32_t number)
{
    const struct failure_class *of = &w->plan->classes[class];
    sim_time takes = of->stage_count > 0 ? 0
                                         : walker_draw(w, &of->repair, class, ordinal,
                                                       DRAW_REPAIR + (uint64_t)number);
    bool is_mended = of->stage_count == 0;
    for (uint32_t i = 0; !is_mended; i++) {
        const uint64_t use = DRAW_STAGE + (uint64_t)number * 16 + 2 * i;
        const struct rng_key key = failure_key(&w->times[class], ordinal, use + 1);
        takes += walker_draw(w, &of->stages[i].takes, class, ordinal, use);
        is_mended = i + 1 == of->stage_count || rng_uniform(&key) < of->stages[i].helps;
    }
    return takes;
}

/* The hand that is free first does it. */
static sim_time mend(struct walker *w, sim_time when, sim_time takes)
{
    if (w->plan->hands == 0) {
        return when + takes;
    }
    sim_time *first = &w->busy[0];
    for (uint32_t i = 1; i < w->plan->hands; i++) {
        first = w->busy[i] < *first ? &w->busy[i] : first;
    }
    *first = (*first > when ? *first : when) + takes;
    return *first;
}

static uint32_t nodes_of_job(const struct walker *w)
{
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < w->plan->stage_count; i++) {
        nodes = w->plan->stages[i].nodes > nodes ? w->plan->stages[i].nodes : nodes;
    }
    return nodes;
}

static uint32_t lacking_at(const struct walker *w, sim_time instant)
{
    const sim_time when = instant > w->now ? instant : w->now;
    uint32_t away = 0;
    for (uint32_t i = 0; i < w->broken; i++) {
        away += w->returns[i] > when;
    }
    return away > w->plan->spares ? away - w->plan->spares : 0;
}

double walker_share(const struct walker *w, uint32_t class, sim_time when)
{
    const struct failure_class *of = &w->plan->classes[class];
    const double nodes = nodes_of_job(w);
    const double lacking = of->is_of_nodes && nodes > 0 ? lacking_at(w, when) / nodes : 0;
    const double share = (walker_stage(w)->shares != NULL ? walker_stage(w)->shares[class] : 1) *
                         (lacking < 1 ? 1 - lacking : 0);
    if (!of->takes_away || of->clock.components <= 0) {
        return share;
    }
    double gone = 0;
    for (uint32_t i = 0; i < w->broken; i++) {
        gone += w->is_taken[i] && w->returns[i] > when;
    }
    for (uint32_t i = 0; i < w->notice_count; i++) {
        gone += w->notices[i].nodes;
    }
    return share > gone / of->clock.components ? share - gone / of->clock.components : 0;
}

uint32_t walker_nodes_held(const struct walker *w, uint32_t class, uint64_t ordinal, sim_time when)
{
    const double components = w->plan->classes[class].clock.components;
    const uint32_t nodes = failure_nodes(&w->times[class], ordinal);
    const double held = components > 0 ? components * walker_share(w, class, when) : nodes;
    return held + 0.5 < nodes ? (uint32_t)(held + 0.5) : nodes;
}

void walker_go_away(struct walker *w, uint32_t class, uint64_t ordinal, uint32_t nodes,
                    sim_time when)
{
    sim_time until = when;
    for (uint32_t i = 0; i < nodes; i++) {
        if (i == 0 || !w->plan->classes[class].are_repaired_as_one) {
            until = when + walker_repair(w, class, ordinal, i);
        }
        walker_take_away(w, until, true);
    }
}

void walker_break_nodes(struct walker *w, uint32_t class, uint64_t ordinal, sim_time when)
{
    const struct failure_class *of = &w->plan->classes[class];
    const struct rng_key key = failure_key(&w->times[class], ordinal, DRAW_DOMAIN);
    const uint32_t domain = of->domains > 0 ? (uint32_t)rng_below(&key, of->domains) : 0;
    const uint32_t all = nodes_of_job(w);
    uint32_t nodes = domain > 0 && domain + 1 == of->domains ? of->nodes_last : of->nodes;
    while (all > 0 && nodes > 0 && nodes + lacking_at(w, when) > all) {
        nodes--;
    }
    sim_time until = when;
    if (of->takes_away) {
        const uint32_t held = walker_nodes_held(w, class, ordinal, when);
        walker_take_returned(w);
        walker_go_away(w, class, ordinal, held, when + of->notice_ns);
        return;
    }
    walker_take_returned(w);
    for (uint32_t i = 0; i < nodes; i++) {
        until = i > 0 && of->are_repaired_as_one
                    ? until
                    : mend(w, when, walker_repair(w, class, ordinal, i));
        walker_take_away(w, until, false);
    }
    const struct rng_key bad = failure_key(&w->times[class], ordinal, DRAW_RETURN);
    if (nodes > 0 && until < w->plan->horizon && rng_uniform(&bad) < of->returns_bad) {
        const sim_time after = walker_draw(w, &of->fails_again, class, ordinal, DRAW_AGAIN);
        failure_times_again(&w->times[class], w->arena, until + after, ordinal);
    }
}

bool walker_leaves_copies(struct walker *w, uint32_t class, uint64_t ordinal)
{
    const struct history_copies *copies = &walker_stage(w)->copies;
    if (copies->lost == NULL || w->are_gone) {
        return false;
    }
    double before = 1; /* pairs, triples ... of those that fell, and of all others */
    double all = 1;
    for (uint32_t i = 0; i + 1 < copies->nodes; i++) {
        before *= w->fallen > i ? (double)(w->fallen - i) : 0;
        all *= walker_stage(w)->nodes > i + 1 ? (double)(walker_stage(w)->nodes - i - 1) : 0;
    }
    const double last = all > 0 ? (before < all ? before / all : 1) : 0;
    const uint32_t nodes = failure_nodes(&w->times[class], ordinal);
    double nobody = 1;
    for (uint32_t i = 0; i < nodes || i == 0; i++) {
        nobody *= 1 - last;
        w->fallen++;
    }
    const struct rng_key key = failure_key(&w->times[class], ordinal, DRAW_COPIES);
    return rng_uniform(&key) < nobody * (1 - copies->lost[class]);
}

uint32_t walker_nodes_short(const struct walker *w)
{
    return w->broken > w->plan->spares ? w->broken - w->plan->spares : 0;
}

uint32_t walker_replicas_short(const struct walker *w)
{
    uint32_t replicas = 0;
    const uint32_t nodes = walker_stage(w)->nodes_of_replica;
    while (nodes > 0 && replicas * nodes < walker_nodes_short(w)) {
        replicas++;
    }
    return replicas;
}

uint32_t walker_level(const struct walker *w, uint32_t class, uint64_t ordinal)
{
    const struct failure_class *of = &w->plan->classes[class];
    const bool are_several = of->takes_away && failure_nodes(&w->times[class], ordinal) > 1;
    return of->level == 1 && are_several ? 2 : of->level;
}
