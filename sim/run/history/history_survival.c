/* What survives a failure, and what is lost with it: steps since the newest checkpoint there is. */
#include "run/history/history_state.h"

#include <math.h>

static void lose(struct history *h, sim_time useful_ns, sim_time stall_ns, sim_time degraded_ns)
{
    history_book(h, ACCOUNT_LOST, useful_ns + stall_ns + degraded_ns);
}

/* A step, a write, a pause, what was on its way to a tier. */
static void drop_what_is_under_way(struct history *h)
{
    if (h->step_left_ns > 0) {
        history_book(h, ACCOUNT_LOST, h->step.step_ns - h->step_left_ns);
        history_see_lost(h, h->at.steps);
    }
    h->step_left_ns = 0;
    h->write_left_ns = 0;
    h->pause_left_ns = 0;
    history_break_off_cycles(h);
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        h->kept[i].pending_at = INT64_MAX;
    }
    if (h->at.steps <= h->corrupted_at) {
        h->corrupted_at = -1;
    }
}

/* Steps since then are to be done again; what was under way is gone. */
void history_go_back(struct history *h, struct mark to)
{
    const bool is_other_stage = h->at.stage != to.stage;
    drop_what_is_under_way(h);
    history_see_lost(h, to.steps);
    h->is_held = false;
    while (h->at.stage > to.stage) {
        h->change_left_ns = 0; /* all of it comes again */
        history_count_unheld(h);
        lose(h, h->at.useful_ns, h->at.stall_ns, h->at.degraded_ns);
        h->at = h->ends[h->at.stage - 1];
    }
    lose(h, h->at.useful_ns - to.useful_ns, h->at.stall_ns - to.stall_ns,
         h->at.degraded_ns - to.degraded_ns);
    h->at = to;
    if (to.steps <= h->corrupted_at) {
        h->corrupted_at = -1;
    }
    h->in_period = 0;
    h->evaluated_at = to.steps; /* before it was written */
    if (history_is_stage_over(h)) {
        history_enter_stage(h);
    } else if (is_other_stage) {
        history_set_pace(h);
    }
}

static void see_failure(struct history *h, uint32_t level)
{
    history_settle(h);
    h->level = level > h->level ? level : h->level;
}

/* To the newest checkpoint that outlives failures of this level. */
static void fall_back(struct history *h, uint32_t level)
{
    const struct history_tier *tiers = history_stage_of(h)->tiers;
    struct mark newest = {.steps = 0};
    uint32_t read = HISTORY_TIERS_MAX; /* nothing */
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        if (tiers[i].survives >= level && h->kept[i].safe.steps > newest.steps) {
            newest = h->kept[i].safe;
            read = i;
        }
    }
    const struct mark none = {.steps = 0};
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        if (tiers[i].survives < level) {
            h->kept[i].safe = newest; /* what is read is in memory again */
            h->kept[i].good = newest.steps <= h->checked ? newest : none;
        }
    }
    h->checked = h->checked > newest.steps ? newest.steps : h->checked;
    history_go_back(h, newest);
    h->read_ns = read < HISTORY_TIERS_MAX ? history_stage_of(h)->tiers[read].read_ns[level] : 0;
}

/* No step that has ended is done again; checkpoints that do not outlive the level are gone. */
static void stay(struct history *h, uint32_t level)
{
    const struct history_stage *stage = history_stage_of(h);
    drop_what_is_under_way(h);
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        if (stage->tiers[i].survives < level) {
            h->kept[i].safe = h->kept[i].good = (struct mark){.steps = 0};
        }
    }
    h->read_ns = stage->copies.read_ns[level];
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

/* That one more of a part's nodes is the last: the others are among those that fell before. */
static double last_copy_chance(const struct history *h)
{
    const struct history_stage *stage = history_stage_of(h);
    double chance = 1;
    for (uint32_t i = 1; i < stage->copies.nodes; i++) {
        const double fallen = (double)h->lost_holders - (double)(i - 1);
        const double others = (double)stage->nodes - (double)i;
        chance *= fallen > 0 && others > 0 ? fmin(fallen / others, 1) : 0;
    }
    return chance;
}

/* Who ends a process takes what its GPU held. */
static bool are_copies_left(struct history *h, uint32_t class, uint64_t ordinal)
{
    const struct history_copies *copies = &history_stage_of(h)->copies;
    if (copies->lost == NULL) {
        return false;
    }
    const uint32_t nodes = failure_nodes(&h->times[class], ordinal);
    const uint32_t holders = nodes > 0 ? nodes : 1;
    const double left = pow(1 - last_copy_chance(h), (double)holders) * (1 - copies->lost[class]);
    const struct rng_key key = failure_key(&h->times[class], ordinal, DRAW_COPIES);
    h->lost_holders += holders;
    return rng_uniform(&key) < left;
}

void history_survive(struct history *h, uint32_t class, uint64_t ordinal)
{
    see_failure(h, level_of(h, class, ordinal));
    if (h->is_held && are_copies_left(h, class, ordinal)) {
        stay(h, h->level);
    } else {
        fall_back(h, h->level);
    }
}

void history_fall_back(struct history *h)
{
    see_failure(h, 0);
    fall_back(h, h->level);
}

/* Newer ones are thrown away, and what is read is in the tiers before again. */
void history_fall_back_to_good(struct history *h)
{
    struct mark newest = {.steps = 0};
    uint32_t read = 0;
    history_settle(h);
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        h->kept[i].safe = h->kept[i].good;
        if (h->kept[i].good.steps > newest.steps) {
            newest = h->kept[i].good;
            read = i;
        }
    }
    for (uint32_t i = 0; i < read; i++) {
        h->kept[i].safe = h->kept[i].good = newest;
    }
    h->checked = newest.steps;
    history_go_back(h, newest);
    h->read_ns = newest.steps > 0 ? history_stage_of(h)->tiers[read].read_ns[0] : 0;
}
