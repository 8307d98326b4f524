/* A step in other circumstances is a step_request that says so, or the step of a scenario that is
 * like this one but for what is not as usual.
 */
#include "run/regime.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/failures/recovery.h"
#include "input/job/batch.h"
#include "input/job/checkpoint.h"
#include "input/relayout.h"
#include "input/scenario.h"
#include "train/placement_spares.h"

#include <math.h>
#include <string.h>

/* ---- what is known -------------------------------------------------------------------------- */

struct known_regime {
    struct regime regime;
    uint32_t batch;  /* run.recovery.batch */
    uint32_t target; /* of what is written */
    int64_t spares;  /* where nodes are displaced; of them idle ones are the layout's */
    int64_t step_ns;
};

struct regime_memo {
    struct arena *arena;
    struct known_regime *items;
    size_t count, capacity;
};

struct regime_memo *regime_memo_new(struct arena *arena)
{
    struct regime_memo *memo = arena_alloc(arena, sizeof *memo);
    *memo = (struct regime_memo){.arena = arena};
    return memo;
}

size_t regime_memo_count(const struct regime_memo *memo)
{
    return memo->count;
}

/* Bytes and speeds come from the same formula each time, so equal ones are equal to the bit. */
static bool is_double_same(double a, double b)
{
    return !(a < b) && !(b < a);
}

static bool is_same(const struct regime *a, const struct regime *b)
{
    return is_double_same(a->checkpoint_bytes, b->checkpoint_bytes) &&
           a->is_checkpoint_async == b->is_checkpoint_async &&
           a->is_copied_beside == b->is_copied_beside &&
           is_double_same(a->flush_bytes, b->flush_bytes) &&
           is_double_same(a->drain_bytes, b->drain_bytes) &&
           is_double_same(a->slow.speed, b->slow.speed) &&
           is_double_same(a->slow.nic, b->slow.nic) &&
           is_double_same(a->slow.scale_up, b->slow.scale_up) && a->slow.rank == b->slow.rank &&
           a->missing == b->missing && a->displaced == b->displaced;
}
/* Another member is another line of is_same. */
_Static_assert(sizeof(struct regime) == 7 * sizeof(double) + 3 * sizeof(int64_t),
               "all members of a regime are compared");

static const struct known_regime *find(const struct regime_memo *memo,
                                       const struct known_regime *wanted)
{
    for (size_t i = 0; i < memo->count; i++) {
        const struct known_regime *item = &memo->items[i];
        if (item->batch == wanted->batch && item->target == wanted->target &&
            item->spares == wanted->spares && is_same(&item->regime, &wanted->regime)) {
            return item;
        }
    }
    return NULL;
}

/* ---- simulation ------------------------------------------------------------------------------ */

/* Of one GPU what is left of each under both. */
static struct slow_rank slowest(const struct slow_rank *a, const struct slow_rank *b)
{
    return (struct slow_rank){a->rank, fmin(a->speed, b->speed), fmin(a->nic, b->nic),
                              fmin(a->scale_up, b->scale_up)};
}

/* One more, in its place by rank; a GPU that is slow already takes the lower shares. */
static void add_slow(struct arena *arena, const struct slow_rank *victim, struct scenario *changed)
{
    const struct slow_rank *old = changed->slow;
    struct slow_rank *slow = arena_array(arena, (size_t)changed->slow_count + 1, sizeof *slow);
    int64_t count = 0;
    bool is_in = false;
    for (int64_t i = 0; i <= changed->slow_count; i++) {
        const bool is_end = i == changed->slow_count;
        if (!is_in && (is_end || old[i].rank >= victim->rank)) {
            slow[count++] = *victim;
            is_in = true;
            if (!is_end && old[i].rank == victim->rank) {
                slow[count - 1] = slowest(victim, &old[i]);
                continue;
            }
        }
        if (!is_end) {
            slow[count++] = old[i];
        }
    }
    changed->slow = slow;
    changed->slow_count = count;
}

/* The scenario's own slow GPUs, of a job with fewer: as a victim they have a place there. */
static void keep_slow(struct arena *arena, const struct scenario *base, struct scenario *smaller)
{
    smaller->slow_count = 0;
    for (int64_t i = 0; i < base->slow_count; i++) {
        struct slow_rank slow = base->slow[i];
        slow.rank %= smaller->gpus;
        add_slow(arena, &slow, smaller);
    }
}

/* Of its replaced nodes those that are in a job of fewer. */
static void keep_replaced(struct arena *arena, const struct scenario *base,
                          struct scenario *smaller)
{
    const int64_t per_node = base->cluster.gpus_per_node;
    const int64_t nodes = (smaller->gpus + per_node - 1) / per_node;
    struct replaced_node *kept = arena_array(arena, (size_t)base->replaced_count + 1, sizeof *kept);
    smaller->replaced_count = 0;
    for (int64_t i = 0; i < base->replaced_count; i++) {
        if (base->replaced[i].node < nodes) {
            kept[smaller->replaced_count++] = base->replaced[i];
        }
    }
    smaller->replaced = kept;
}

/* `base` with another number of replicas and microbatches; false: the sizes do not go together. */
static bool resize(struct arena *arena, const struct scenario *base, int64_t dp,
                   int64_t microbatches, struct scenario *changed)
{
    struct scenario *smaller = arena_alloc(arena, sizeof *smaller);
    *smaller = *base;
    smaller->gpus = base->gpus / base->parallel.dp * dp;
    keep_slow(arena, base, smaller);
    keep_replaced(arena, base, smaller);
    smaller->batch.global = dp * base->batch.micro * microbatches;
    struct relayout_frame frame;
    relayout_frame_init(smaller, &frame);
    frame.dp = frame.dp > 0 ? dp : 0;
    const struct relayout layout = relayout_of(base);
    return scenario_relayout(arena, &frame, &layout, changed, diag_new(arena));
}

static bool with_fewer_replicas(struct arena *arena, const struct scenario *base, int64_t missing,
                                struct scenario *changed)
{
    const struct batch *batch = &base->batch;
    if (base->recovery.batch == RECOVERY_BATCH_SHRUNK) {
        for (int64_t dp = base->parallel.dp - missing; dp > 0; dp--) {
            if (resize(arena, base, dp, batch->microbatches, changed)) {
                return true;
            }
        }
        return false;
    }
    for (int64_t dp = base->parallel.dp - missing; dp > 0; dp--) {
        const int64_t together = dp * batch->micro;
        const int64_t least = (batch->global + together - 1) / together;
        for (int64_t more = 0; more < base->parallel.pp; more++) {
            if (resize(arena, base, dp, least + more, changed)) {
                return true;
            }
        }
    }
    return false;
}

/* One node is left of a job whose checkpoints go to peers. */
static bool has_no_peer(const struct scenario *changed)
{
    return changed->checkpoint.target == CHECKPOINT_PEER &&
           changed->gpus <= changed->cluster.gpus_per_node;
}

/* In which the tokens of a usual step are trained. */
static int64_t of_usual_tokens(const struct scenario *usual, const struct scenario *changed,
                               int64_t step_ns)
{
    if (usual->recovery.batch == RECOVERY_BATCH_KEPT) {
        return step_ns;
    }
    return llround((double)step_ns * (double)usual->batch.global / (double)changed->batch.global);
}

/* Where what the regime moves lies first, or goes to from there. */
static uint32_t target_of(const struct scenario *scenario, const struct regime *regime)
{
    const bool moves = regime->flush_bytes > 0 || regime->drain_bytes > 0;
    const bool has_peers = scenario->checkpoint.peer_every > 0;
    return moves && has_peers ? CHECKPOINT_PEER : scenario->checkpoint.target;
}

static int64_t simulate(struct arena *arena, const struct regime_basis *basis,
                        const struct regime *regime)
{
    struct scenario changed = *basis->scenario;
    const bool is_smaller = regime->missing > 0 &&
                            with_fewer_replicas(arena, basis->scenario, regime->missing, &changed);
    const int64_t gpus = changed.gpus;
    if (regime->missing > 0 && !is_smaller) {
        changed = *basis->scenario;
    }
    if (regime->slow.speed > 0) {
        struct slow_rank victim = regime->slow;
        victim.rank %= gpus;
        add_slow(arena, &victim, &changed);
    }
    if (regime->displaced > 0) {
        const struct scenario whole = changed;
        placement_displace(arena, &whole, &basis->spares, regime->displaced, &changed);
    }
    changed.checkpoint.target = target_of(basis->scenario, regime);
    const struct step_request request = {
        .folds = basis->folds,
        .member = &basis->member,
        .loaders = basis->loaders,
        .memo = basis->memo,
        .checkpoint_bytes = regime->checkpoint_bytes,
        .is_checkpoint_async = regime->is_checkpoint_async,
        .is_copied_beside = regime->is_copied_beside,
        .flush_bytes = has_no_peer(&changed) ? 0 : regime->flush_bytes,
        .drain_bytes = regime->drain_bytes,
        .is_for_length = true,
    };
    struct step_result step;
    step_simulate(arena, &changed, &request, &step);
    return of_usual_tokens(basis->scenario, &changed, step.step_ns);
}

int64_t regime_step_ns(struct arena *arena, const struct regime_basis *basis,
                       const struct regime *regime)
{
    struct regime_memo *memo = basis->known;
    sim_assert(basis->scale > 0);
    if (memo == NULL) {
        return simulate(arena, basis, regime);
    }
    const struct scenario *scenario = basis->scenario;
    const bool writes =
        regime->checkpoint_bytes > 0 || regime->flush_bytes > 0 || regime->drain_bytes > 0;
    struct known_regime item = {.regime = *regime,
                                .batch = scenario->recovery.batch,
                                .target = writes ? target_of(scenario, regime) : 0,
                                .spares = regime->displaced > 0 ? basis->spares.all : 0};
    const struct known_regime *known = find(memo, &item);
    if (known == NULL) {
        item.step_ns = simulate(arena, basis, regime);
        memo->items = arena_grow(memo->arena, memo->items, &memo->capacity, memo->count + 1,
                                 sizeof *memo->items);
        memo->items[memo->count++] = item;
        return item.step_ns;
    }
    return known->step_ns;
}
