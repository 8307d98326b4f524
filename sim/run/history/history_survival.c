/* What survives a failure, and what is lost with it: steps since the newest checkpoint there is. */
#include "run/history/history_state.h"

static void lose(struct history *h, sim_time useful_ns, sim_time stall_ns, sim_time degraded_ns)
{
    history_book(h, ACCOUNT_LOST, useful_ns + stall_ns + degraded_ns);
}

/* Steps since then are to be done again; what was under way is gone. */
void history_go_back(struct history *h, struct mark to)
{
    const bool is_other_stage = h->at.stage != to.stage;
    if (h->step_left_ns > 0) {
        history_book(h, ACCOUNT_LOST, h->step.step_ns - h->step_left_ns);
    }
    while (h->at.stage > to.stage) {
        h->change_left_ns = 0; /* all of it comes again */
        lose(h, h->at.useful_ns, h->at.stall_ns, h->at.degraded_ns);
        h->at = h->ends[h->at.stage - 1];
    }
    lose(h, h->at.useful_ns - to.useful_ns, h->at.stall_ns - to.stall_ns,
         h->at.degraded_ns - to.degraded_ns);
    h->at = to;
    if (to.steps <= h->corrupted_at) {
        h->corrupted_at = -1;
    }
    h->step_left_ns = 0;
    h->write_left_ns = 0;
    h->pause_left_ns = 0;
    h->in_period = 0;
    h->evaluated_at = to.steps; /* before it was written */
    h->walk.goes_on = false;
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        h->kept[i].pending_at = INT64_MAX;
    }
    if (history_is_stage_over(h)) {
        history_enter_stage(h);
    } else if (is_other_stage) {
        history_set_pace(h);
    }
}

/* To the newest checkpoint that outlives failures of this level, and of those since the job ran. */
static void fall_back(struct history *h, uint32_t failed)
{
    history_settle(h);
    h->level = failed > h->level ? failed : h->level;
    const uint32_t level = h->level;
    const struct history_tier *tiers = history_stage_of(h)->tiers;
    struct mark newest = {.steps = 0};
    uint32_t read = HISTORY_TIERS_MAX; /* nothing */
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        if (tiers[i].survives >= level && h->kept[i].safe.steps > newest.steps) {
            newest = h->kept[i].safe;
            read = i;
        }
    }
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        if (tiers[i].survives < level) {
            h->kept[i].safe = newest; /* what is read is in memory again */
        }
    }
    if (h->checked.steps > newest.steps) {
        h->checked = newest;
    }
    history_go_back(h, newest);
    h->read_ns = read < HISTORY_TIERS_MAX ? history_stage_of(h)->tiers[read].read_ns[level] : 0;
}

/* A node's checkpoint is lost where the one that fails now and one that failed since the job ran
 * are neighbours in the ring of peers: each has two, of one node more there is one. */
static bool takes_peer(const struct history *h, uint32_t class, uint64_t ordinal)
{
    const uint32_t others = history_stage_of(h)->nodes > 1 ? history_stage_of(h)->nodes - 1 : 0;
    if (others == 0 || h->lost_nodes == 0) {
        return false;
    }
    const double near = (double)(others < 2 ? others : 2) * (double)h->lost_nodes;
    const struct rng_key key = failure_key(&h->times[class], ordinal, DRAW_PEER);
    return rng_uniform(&key) * (double)others < near;
}

/* Several nodes that are taken at once are as a leaf's. */
uint32_t history_level(const struct history *h, uint32_t class, uint64_t ordinal)
{
    const struct failure_class *of = &h->plan->classes[class];
    const bool are_several = of->takes_away && failure_nodes(&h->times[class], ordinal) > 1;
    return are_several && of->level == LEVEL_NODE ? LEVEL_NODE + 1 : of->level;
}

/* Of a failure: that of its class, or one more where it takes a peer with the rest. */
static uint32_t level_of(struct history *h, uint32_t class, uint64_t ordinal)
{
    const uint32_t level = history_level(h, class, ordinal);
    if (level != LEVEL_NODE) {
        return level;
    }
    const bool is_with_peer = takes_peer(h, class, ordinal);
    h->lost_nodes++;
    return is_with_peer ? LEVEL_NODE + 1 : LEVEL_NODE;
}

void history_survive(struct history *h, uint32_t class, uint64_t ordinal)
{
    fall_back(h, level_of(h, class, ordinal));
}

void history_fall_back(struct history *h)
{
    fall_back(h, 0);
}
