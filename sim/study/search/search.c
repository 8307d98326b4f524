/* Leaves are sorted by their bounds; what is left of them is a suffix. A front part of that has the
 * closer bounds and is sorted by these; before each batch it takes in more, as long as the least
 * bound behind it is less than what is next in it.
 */
#include "study/search/search.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/workers.h"
#include "input/data/data_loading.h"
#include "input/scenario.h"
#include "input/study/anchor.h"
#include "plan/memory/memory.h"
#include "study/evaluate.h"
#include "study/search/search_order.h"
#include "study/search/search_same.h"
#include "study/search/search_space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first batches are small: a good layout early leaves out many. Who shows more than the best
 * wants some beside it. */
enum { BATCH_FIRST = 8, BATCH_FIRST_OF_BEST = 2, BATCH_MAX = 512 };

/* Bounds made closer at once, and before one batch. */
enum { REFINED_AT_ONCE = 1024, REFINED_MAX = 8192 };

enum trial_fate { TRIAL_FITS, TRIAL_MISSES, TRIAL_DOES_NOT_FIT, TRIAL_CANNOT_BE, TRIAL_WORSE };

/* What a worker makes of a leaf. */
struct trial_result {
    uint32_t fate;
    double miss, value, step_s, memory_bytes;
};

struct searching {
    struct arena *arena; /* of the result */
    struct arena *own;
    const struct search_request *request;
    struct search_tree tree;
    struct evaluator *evaluator;
    struct search_result *result;
    struct search_state state;
    uint64_t next;               /* leaf */
    uint64_t refined;            /* leaves up to here have the closer bounds */
    uint32_t batch;              /* leaves of it */
    struct trial_result *trials; /* [batch], as they came back */
    const char **failures;       /* [batch]; NULL: it came back */
    size_t found_capacity, missed_capacity;
    double better_than;             /* what is not is not looked for; ABSENT: all is */
    int64_t enough_ns;              /* steps that are longer are not looked for; 0: all are */
    double limit_bytes, near_bytes; /* what needs more than the one, not than the other, is near */
    struct search_leaf *near;
    uint64_t near_count;
    size_t near_capacity;
    /* [known_count], of the search for a first good one, the best first */
    const struct search_found *known;
    uint32_t known_count;
};

/* ---- one layout ---------------------------------------------------------------------------- */

static double value_of(const struct result *result, enum search_by by)
{
    switch (by) {
    case SEARCH_BY_DAYS:
        return result->run.days;
    case SEARCH_BY_COST:
        return result->run.cost_usd;
    case SEARCH_BY_ENERGY:
        return result->run.energy_kwh;
    case SEARCH_BY_STEP:
    case SEARCH_BY_COUNT_:
        break;
    }
    return sim_time_to_s(result->step.step_ns);
}

/* The end of an epoch is shared out over the steps of the run: a step has a part of it. */
static bool has_epochs(const struct scenario *scenario)
{
    const struct data_loading *data = &scenario->data;
    return data->is_enabled && data->tokens > 0 && data->tokens < scenario->run_tokens;
}

/* Without the run, unless that is what counts or is required, or a part of it is in the step. */
static void simulate(const struct searching *searching, struct arena *arena,
                     const struct scenario *scenario, struct trial_result *trial)
{
    struct result *result = arena_alloc(arena, sizeof *result);
    const enum search_by by = searching->request->by;
    const struct search_require *require = searching->request->require;
    const bool has_run = by != SEARCH_BY_STEP || (require != NULL && require->is_of_run);
    if (!has_run && require == NULL && !scenario->data.is_enabled) {
        evaluator_simulate(searching->evaluator, arena, scenario, searching->enough_ns,
                           &result->step);
    } else {
        struct scenario *step = arena_alloc(arena, sizeof *step);
        *step = *scenario;
        step->run_tokens = has_run || has_epochs(scenario) ? scenario->run_tokens : 0;
        evaluator_predict(searching->evaluator, arena, step, result);
    }
    trial->value = value_of(result, by);
    trial->step_s = sim_time_to_s(result->step.step_ns);
    trial->miss = require != NULL ? require->miss(require->context, result) : 0;
    trial->fate = result->step.is_longer ? TRIAL_WORSE
                  : trial->miss <= 0     ? TRIAL_FITS
                                         : TRIAL_MISSES;
}

/* Simulates a layout that fits, unless it misses what is required. */
static void try_layout(const struct searching *searching, struct arena *arena,
                       const struct scenario *scenario, struct trial_result *trial)
{
    const struct search_require *require = searching->request->require;
    if (require != NULL && trial->memory_bytes > require->memory_bytes_most) {
        trial->value = trial->step_s = ABSENT;
        trial->miss = trial->memory_bytes / require->memory_bytes_most - 1;
        trial->fate = TRIAL_MISSES;
    } else {
        simulate(searching, arena, scenario, trial);
    }
}

/* The same space, where GPUs have so much memory. */
static const struct search_space *space_with(struct arena *arena, const struct search_space *whole,
                                             double memory_bytes)
{
    struct scenario *base = arena_alloc(arena, sizeof *base);
    struct search_space *space = arena_alloc(arena, sizeof *space);
    *space = *whole;
    *base = *space->base;
    base->gpu.memory_bytes = memory_bytes;
    space->base = base;
    return space;
}

/* NULL: it was not simulated before. They are few. */
static const struct search_found *find_known(const struct searching *searching,
                                             const struct relayout *layout)
{
    uint32_t i = 0;
    while (i < searching->known_count && !search_is_same(&searching->known[i].layout, layout)) {
        i++;
    }
    return i < searching->known_count ? &searching->known[i] : NULL;
}

/* In a worker. */
static struct piece_result work_on_leaf(const void *context, uint32_t piece, struct arena *arena)
{
    const struct searching *searching = context;
    const struct search_leaf *leaf = &searching->tree.leaves[searching->next + piece];
    const struct relayout layout = search_leaf_layout(&searching->tree, leaf);
    struct trial_result *trial = arena_alloc(arena, sizeof *trial);
    const struct search_found *known = find_known(searching, &layout);
    if (known != NULL) {
        *trial = (struct trial_result){TRIAL_FITS, known->miss, known->value, known->step_s,
                                       known->memory_bytes};
        return (struct piece_result){trial, sizeof *trial, NULL};
    }
    *trial = (struct trial_result){.fate = TRIAL_CANNOT_BE};
    const struct scenario *scenario =
        evaluator_lay_out(searching->evaluator, arena, &layout, diag_new(arena));
    if (scenario != NULL) {
        const struct memory_verdict verdict = memory_check(scenario);
        trial->memory_bytes = verdict.worst.total_bytes;
        trial->fate = TRIAL_DOES_NOT_FIT;
        if (verdict.fits) {
            try_layout(searching, arena, scenario, trial);
        }
    }
    return (struct piece_result){trial, sizeof *trial, NULL};
}

static struct search_found found_of(const struct searching *searching, uint64_t number,
                                    const struct trial_result *trial)
{
    const struct search_leaf *leaf = &searching->tree.leaves[number];
    return (struct search_found){
        .layout = search_leaf_layout(&searching->tree, leaf),
        .miss = trial->miss,
        .value = trial->value,
        .least = leaf->least,
        .step_s = trial->step_s,
        .memory_bytes = trial->memory_bytes,
        .order = (uint64_t)leaf->line << 32 | (uint64_t)leaf->choice << 16 | leaf->offloaded,
    };
}

static void add_found(struct searching *searching, uint64_t number,
                      const struct trial_result *trial)
{
    struct search_result *result = searching->result;
    result->found = arena_grow(searching->arena, result->found, &searching->found_capacity,
                               result->found_count + (size_t)1, sizeof *result->found);
    result->found[result->found_count++] = found_of(searching, number, trial);
    sim_assert(searching->tree.leaves[number].least <= trial->value);
}

static void add_missed(struct searching *searching, uint64_t number,
                       const struct trial_result *trial)
{
    struct search_result *result = searching->result;
    result->missed = arena_grow(searching->arena, result->missed, &searching->missed_capacity,
                                result->missed_count + (size_t)1, sizeof *result->missed);
    result->missed[result->missed_count++] = found_of(searching, number, trial);
}

/* A leaf that might have fitted by its least, and does not as counted. */
static void keep_near(struct searching *searching, uint64_t number, double bytes)
{
    if (bytes <= searching->limit_bytes || bytes > searching->near_bytes) {
        return;
    }
    searching->near = arena_grow(searching->own, searching->near, &searching->near_capacity,
                                 searching->near_count + 1, sizeof *searching->near);
    searching->near[searching->near_count++] = searching->tree.leaves[number];
}

/* Nothing is known of it: its value may be the best. */
static void lose_leaf(struct searching *searching, uint64_t number, const char *failure)
{
    struct search_result *result = searching->result;
    searching->state.counts.failed++;
    if (result->failure == NULL) {
        result->failure = arena_strdup(searching->arena, failure);
        result->lost = arena_array(searching->arena, SEARCH_LOST_MAX, sizeof *result->lost);
    }
    if (result->lost_count < SEARCH_LOST_MAX) {
        result->lost[result->lost_count++] =
            search_leaf_layout(&searching->tree, &searching->tree.leaves[number]);
    }
}

static bool take_leaf(void *context, uint32_t piece, const struct piece_result *piece_result)
{
    struct searching *searching = context;
    if (piece_result->failure != NULL) {
        searching->failures[piece] = arena_strdup(searching->own, piece_result->failure);
        return true;
    }
    sim_assert(piece_result->size_bytes == sizeof *searching->trials);
    memcpy(&searching->trials[piece], piece_result->bytes, sizeof *searching->trials);
    return true;
}

/* Values above which a layout is not looked for: that of the best so far or, of near misses, of
 * what fits, since which of those are shown hangs on their memory, too. ABSENT: all are looked for;
 * where a run is predicted, nobody ends it. */
static double value_most(const struct searching *searching)
{
    const struct search_request *request = searching->request;
    if (!request->only_best || request->is_exhaustive || request->by != SEARCH_BY_STEP) {
        return ABSENT;
    }
    return is_absent(searching->better_than) ? searching->state.best : searching->better_than;
}

/* The same of a step, before the anchor; 0: all are looked for. */
static int64_t enough_ns(const struct searching *searching)
{
    const double most = value_most(searching);
    const double factor = anchor_factor(&searching->request->space->base->anchor);
    /* more than rounding makes a value less than its step */
    return is_absent(most) ? 0 : (int64_t)ceil((most * 1e9 + 1.0) / factor) + 1;
}

/* Who looks for a first good layout tells all that it knows, so that it is not simulated again. */
static bool is_looked_for(const struct searching *searching, const struct trial_result *trial)
{
    const double most = value_most(searching);
    return trial->fate == TRIAL_FITS &&
           (is_absent(most) || searching->request->is_part || trial->value <= most);
}

/* Leaf `next`, which is piece `piece` of the batch. */
static void settle_leaf(struct searching *searching, uint32_t piece)
{
    struct search_counts *counts = &searching->state.counts;
    const struct trial_result *trial = &searching->trials[piece];
    if (searching->failures[piece] != NULL) {
        lose_leaf(searching, searching->next, searching->failures[piece]);
        return;
    }
    switch ((enum trial_fate)trial->fate) {
    case TRIAL_FITS:
    case TRIAL_WORSE:
        counts->simulated++;
        if (is_looked_for(searching, trial)) {
            add_found(searching, searching->next, trial);
        }
        break;
    case TRIAL_MISSES:
        counts->missed++;
        add_missed(searching, searching->next, trial);
        break;
    case TRIAL_DOES_NOT_FIT:
        counts->by_count++;
        keep_near(searching, searching->next, trial->memory_bytes);
        break;
    case TRIAL_CANNOT_BE:
        counts->layouts--;
        break;
    }
}

/* ---- in order of bounds ---------------------------------------------------------------------- */

static int compare_leaves(const void *left, const void *right)
{
    const struct search_leaf *a = left;
    const struct search_leaf *b = right;
    if (a->least < b->least || a->least > b->least) {
        return a->least < b->least ? -1 : 1;
    }
    if (a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    if (a->choice != b->choice) {
        return a->choice < b->choice ? -1 : 1;
    }
    return (a->offloaded > b->offloaded) - (a->offloaded < b->offloaded);
}

/* The least bound of those that are left; ABSENT if none is. */
static double least_left(const struct searching *searching)
{
    const struct search_tree *tree = &searching->tree;
    const bool is_left = searching->next < tree->leaf_count;
    const bool has_more =
        searching->refined > searching->next && searching->refined < tree->leaf_count;
    const double least = is_left ? tree->leaves[searching->next].least : ABSENT;
    return has_more ? fmin(least, tree->leaves[searching->refined].least) : least;
}

static void look(struct searching *searching)
{
    struct search_state *state = &searching->state;
    const struct search_tree *tree = &searching->tree;
    state->is_growing = false;
    state->counts.by_bound = tree->leaf_count - searching->next + tree->bound_layouts;
    state->best = ABSENT;
    for (uint32_t i = 0; i < searching->result->found_count; i++) {
        const double value = searching->result->found[i].value;
        state->best = fmin(value, state->best);
    }
    state->least = least_left(searching);
    state->gap = ABSENT;
    if (!is_absent(state->best)) {
        const bool is_left = searching->next < tree->leaf_count;
        const double least = is_left ? fmin(state->least, state->best) : state->best;
        state->gap = 1.0 - least / state->best;
    }
}

/* Nothing that is left is better by more than the gap: said by the same comparison that chooses a
 * batch, so that one that is not certain has at least a leaf. */
static double value_enough(const struct searching *searching)
{
    const struct search_request *request = searching->request;
    const double best = fmin(searching->state.best, searching->better_than);
    /* a value of the limit itself meets it */
    const double most = request->require != NULL && isfinite(request->require->value_most)
                            ? nextafter(request->require->value_most, HUGE_VAL)
                            : ABSENT;
    return request->is_exhaustive
               ? ABSENT
               : fmin(is_absent(best) ? ABSENT : best * (1.0 - request->gap), most);
}

static bool is_certain(const struct searching *searching)
{
    const double enough = value_enough(searching);
    return searching->next >= searching->tree.leaf_count ||
           (!is_absent(enough) && least_left(searching) >= enough);
}

/* Whether a bound that is not yet the closer one is what the search depends on. */
static bool wants_refining(const struct searching *searching)
{
    const struct search_tree *tree = &searching->tree;
    const double enough = value_enough(searching);
    if (searching->request->is_exhaustive || searching->refined == tree->leaf_count) {
        return false;
    }
    const double behind = tree->leaves[searching->refined].least;
    return searching->refined <= searching->next ||
           (behind < tree->leaves[searching->next].least && (is_absent(enough) || behind < enough));
}

static void refine(struct searching *searching)
{
    struct search_tree *tree = &searching->tree;
    const double enough = value_enough(searching);
    uint64_t done = 0;
    while (wants_refining(searching) && done < REFINED_MAX) {
        const uint64_t first =
            searching->refined > searching->next ? searching->refined : searching->next;
        uint64_t end = first;
        while (end < tree->leaf_count && end - first < REFINED_AT_ONCE &&
               (is_absent(enough) || tree->leaves[end].least < enough)) {
            end++;
        }
        search_leaves_refine(tree, tree->leaves + first, end - first);
        searching->refined = end;
        done += end - first;
        qsort(tree->leaves + searching->next, end - searching->next, sizeof *tree->leaves,
              compare_leaves);
    }
}

static bool asks(const struct searching *searching)
{
    const struct search_request *request = searching->request;
    return request->goes_on == NULL || request->goes_on(request->context, &searching->state);
}

/* Whether other bounds would be made closer before a leaf, were it simulated next. */
static bool is_behind(const struct searching *searching, const struct search_leaf *leaf)
{
    const struct search_tree *tree = &searching->tree;
    return searching->refined > searching->next && searching->refined < tree->leaf_count &&
           tree->leaves[searching->refined].least < leaf->least;
}

/* Leaves whose bounds are already known to be no better are not worth a batch's place. */
static uint32_t next_batch(const struct searching *searching, uint32_t most)
{
    const double enough = value_enough(searching);
    const uint64_t end =
        searching->refined > searching->next ? searching->refined : searching->tree.leaf_count;
    uint32_t count = 0;
    while (count < most && searching->next + count < end) {
        const struct search_leaf *leaf = &searching->tree.leaves[searching->next + count];
        if ((!is_absent(enough) && leaf->least >= enough) ||
            (count > 0 && searching->request->only_best && is_behind(searching, leaf))) {
            break;
        }
        count++;
    }
    return count;
}

/* How large a batch may grow. Of one that looks for the best alone the size plays no part in the
 * outcome (settle): small ones make what is simulated in vain less. */
static uint32_t largest_batch(const struct search_request *request)
{
    return request->only_best ? 2 * workers_count(request->jobs, BATCH_MAX) : BATCH_MAX;
}

/* Whether leaf `next` would be simulated if one were after the other. */
static bool is_wanted(struct searching *searching)
{
    look(searching);
    const double enough = value_enough(searching);
    return (is_absent(enough) || searching->tree.leaves[searching->next].least < enough) &&
           asks(searching);
}

/* A batch's leaves in their order. Who looks for the best alone drops those that the ones before
 * them in the batch have shown to be no better, as if one were simulated after the other: what
 * comes out hangs neither on the size of batches nor on how many processes there are. */
static void settle(struct searching *searching)
{
    for (uint32_t i = 0; i < searching->batch; i++) {
        if (i > 0 && searching->request->only_best && !is_wanted(searching)) {
            return;
        }
        settle_leaf(searching, i);
        searching->next++;
    }
}

/* The next leaves, `batch` of them. */
static bool try_batch(struct searching *searching, uint32_t batch)
{
    searching->batch = batch;
    searching->enough_ns = enough_ns(searching);
    const struct workers_request workers = {
        .jobs = workers_count(searching->request->jobs, searching->batch),
        .piece_count = searching->batch,
        .work = work_on_leaf,
        .take = take_leaf,
        .context = searching,
    };
    searching->trials = arena_array(searching->own, searching->batch, sizeof *searching->trials);
    searching->failures =
        arena_array(searching->own, searching->batch, sizeof *searching->failures);
    if (!workers_run(&workers)) {
        searching->result->is_ended = true;
        return false;
    }
    settle(searching);
    return true;
}

/* Whether a layout is to be simulated before all others: it was good elsewhere, or is the best that
 * is known. */
static bool is_first(const struct searching *searching, const struct relayout *layout)
{
    const struct search_request *request = searching->request;
    uint32_t i = 0;
    while (i < request->first_count && !search_is_same(&request->first[i], layout)) {
        i++;
    }
    return i < request->first_count ||
           (searching->known_count > 0 && search_is_same(&searching->known[0].layout, layout));
}

/* The leaves of such layouts go before all others; how many. */
static uint32_t bring_forward(struct searching *searching)
{
    const uint32_t most = searching->request->first_count + (searching->known_count > 0 ? 1 : 0);
    struct search_tree *tree = &searching->tree;
    uint32_t count = 0;
    for (uint64_t i = 0; i < tree->leaf_count && count < most; i++) {
        const struct search_leaf leaf = tree->leaves[i];
        const struct relayout layout = search_leaf_layout(tree, &leaf);
        if (is_first(searching, &layout)) {
            memmove(&tree->leaves[count + 1], &tree->leaves[count],
                    (i - count) * sizeof *tree->leaves);
            tree->leaves[count++] = leaf;
        }
    }
    return count;
}

/* False: somebody ended it. Those that are still left are in order of their bounds again. */
static bool simulate_first(struct searching *searching)
{
    struct search_tree *tree = &searching->tree;
    const uint32_t count = bring_forward(searching);
    look(searching);
    if (count > 0 && !(asks(searching) && try_batch(searching, count))) {
        searching->result->is_ended = true;
        return false;
    }
    if (searching->next < count) {
        qsort(tree->leaves + searching->next, tree->leaf_count - searching->next,
              sizeof *tree->leaves, compare_leaves);
    }
    look(searching);
    return true;
}

static void simulate_leaves(struct searching *searching)
{
    const uint32_t largest = largest_batch(searching->request);
    uint32_t most = searching->request->only_best ? BATCH_FIRST_OF_BEST : BATCH_FIRST;
    if (!simulate_first(searching)) {
        return;
    }
    while (!is_certain(searching)) {
        if (!asks(searching)) {
            searching->result->is_ended = true;
            return;
        }
        refine(searching);
        const uint32_t count = next_batch(searching, most);
        if (count > 0) { /* else no bound of these was the closer one */
            if (!try_batch(searching, count)) {
                return;
            }
            most = most < largest ? 2 * most : most;
        }
        look(searching);
    }
    searching->result->is_certified = searching->state.counts.failed == 0;
}

/* ---- what comes out -------------------------------------------------------------------------- */

const struct search_found *search_first(const struct search_result *result)
{
    return result->found_count > 0    ? &result->found[0]
           : result->missed_count > 0 ? &result->missed[0]
                                      : NULL;
}

static bool watch_growth(void *context, uint64_t layouts, double share)
{
    struct searching *searching = context;
    searching->state.is_growing = true;
    searching->state.grown = share;
    searching->state.counts.layouts = layouts;
    return asks(searching);
}

static void hand_over(struct searching *searching)
{
    struct search_result *result = searching->result;
    const struct search_state *state = &searching->state;
    result->counts = state->counts;
    result->best = state->best;
    result->least = state->least;
    result->gap = state->gap;
    result->families = searching->tree.families;
    result->lacking = searching->tree.lacking;
    result->nearest = searching->tree.nearest;
    result->nearest_bytes = searching->tree.nearest_bytes;
    search_order_found(result->found, result->found_count);
    search_order_missed(result->missed, result->missed_count);
}

/* ---- near misses ----------------------------------------------------------------------------- */

static bool near_goes_on(void *context, const struct search_state *state)
{
    const struct searching *first = context;
    return state->counts.simulated + state->counts.by_count < SEARCH_NEAR_TRIED_MAX && asks(first);
}

/* Adds leaves, those without a bound or those with one. */
static void add_leaves(struct search_tree *tree, const struct search_leaf *leaves, uint64_t count,
                       bool have_bounds)
{
    for (uint64_t i = 0; i < count; i++) {
        if ((leaves[i].least > 0) == have_bounds) {
            tree->leaves[tree->leaf_count++] = leaves[i];
        }
    }
}

/* The leaves that are near misses, by their least memory or as counted. Those that cannot be better
 * are left out. */
static void gather_near(const struct searching *first, struct searching *near)
{
    struct search_tree *tree = &near->tree;
    const uint64_t count = first->tree.near_count + first->near_count;
    const double enough = value_enough(near);
    tree->leaves = arena_array(first->own, count + 1, sizeof *tree->leaves);
    tree->leaf_count = 0;
    add_leaves(tree, first->tree.near, first->tree.near_count, false);
    search_leaves_bound(tree, tree->leaves, tree->leaf_count);
    add_leaves(tree, first->tree.near, first->tree.near_count, true);
    add_leaves(tree, first->near, first->near_count, true);
    sim_assert(tree->leaf_count == count);
    tree->leaf_count = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (is_absent(enough) || tree->leaves[i].least < enough) {
            tree->leaves[tree->leaf_count++] = tree->leaves[i];
        }
    }
    if (tree->leaf_count > 0) {
        qsort(tree->leaves, tree->leaf_count, sizeof *tree->leaves, compare_leaves);
    }
}

/* Only those that are better than what fits. */
static void hand_over_near(const struct searching *near, uint64_t all, struct search_near *result)
{
    const struct search_result *found = near->result;
    const double enough = near->better_than * (1.0 - near->request->gap);
    result->counts = near->state.counts;
    result->counts.layouts = all;
    result->counts.by_bound += all - near->tree.leaf_count;
    result->is_certified = found->is_certified;
    result->found = found->found;
    for (uint32_t i = 0; i < found->found_count; i++) {
        if (is_absent(enough) || found->found[i].value < enough) {
            result->found[result->count++] = found->found[i];
        }
    }
    search_order_found(result->found, result->count);
}

static void search_near(const struct searching *first, struct search_near *result)
{
    const uint64_t all = first->tree.near_count + first->near_count;
    struct search_request request = *first->request;
    struct search_result found = {.best = ABSENT};
    request.space = space_with(first->own, first->request->space, first->near_bytes);
    request.first_count = 0;
    request.goes_on = near_goes_on;
    request.context = (void *)first;
    struct searching near = {
        .arena = first->arena,
        .own = first->own,
        .request = &request,
        .tree = first->tree,
        .result = &found,
        .state = {.best = ABSENT, .least = ABSENT, .gap = ABSENT},
        .better_than = first->state.best,
    };
    near.tree.space = request.space;
    near.tree.bound_layouts = 0;
    gather_near(first, &near);
    found.is_certified = near.tree.leaf_count == 0;
    if (near.tree.leaf_count > 0) {
        near.evaluator = evaluator_new(first->own, request.space->base, request.folds);
        simulate_leaves(&near);
        evaluator_free(near.evaluator);
    }
    hand_over_near(&near, all, result);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* What leaves the margin free fits; what needs a part of it, or is near a GPU's memory, is a near
 * miss. */
static struct search_request with_margin(struct arena *arena, const struct search_request *request)
{
    struct search_request planned = *request;
    const struct scenario *base = request->space->base;
    const double part = 1.0 - base->memory_margin;
    planned.space = space_with(arena, request->space, base->gpu.memory_bytes * part);
    planned.near = request->near > 0 ? (1.0 + request->near) / part - 1.0 : 0;
    return planned;
}

/* As search_run, but for the margin, which is of the GPU's memory already. */
static void search_grown(struct arena *arena, const struct search_request *request,
                         struct search_result *result);

/* ---- a first good one ------------------------------------------------------------------------ */

/* Few enough to take a second; a gap that bounds close soon. */
enum { FIRST_SIMULATED_MAX = 64, FIRST_LINES_MIN = 20 * 1000 * 1000 };
#define FIRST_GAP 0.03

static bool goes_on_first(void *context, const struct search_state *state)
{
    const struct search_request *request = context;
    return state->counts.simulated < FIRST_SIMULATED_MAX &&
           (request->goes_on == NULL || request->goes_on(request->context, state));
}

/* The value of a good layout, by which whole lines are left out when all grow: the best that is
 * soon found in a part of the space (search_space_part). ABSENT: the space is small, or a shard,
 * whose own certificate would be of another's layout; or none is found. What was simulated for it
 * is known from then on. */
/* NOLINTNEXTLINE(misc-no-recursion): once, for a part has none */
static double first_value(struct searching *searching)
{
    const struct search_request *request = searching->request;
    const bool is_large = search_space_lines(request->space) >= FIRST_LINES_MIN;
    if (request->is_exhaustive || request->is_part || request->shard.count > 1 ||
        !(is_large || request->is_of_lines)) {
        return ABSENT;
    }
    struct arena *own = arena_new();
    struct search_result result;
    const struct search_space part = search_space_part(own, request->space);
    struct search_request first = *request;
    first.space = &part;
    first.gap = fmax(FIRST_GAP, request->gap);
    first.near = 0;
    first.is_part = true;
    first.only_best = true;
    first.goes_on = goes_on_first;
    first.context = (void *)request;
    search_grown(searching->own, &first, &result);
    searching->known = result.found;
    searching->known_count = result.found_count;
    const double value = result.found_count > 0 ? result.best : ABSENT;
    arena_free(own);
    return value;
}

/* NOLINTNEXTLINE(misc-no-recursion): by first_value */
static void search_grown(struct arena *arena, const struct search_request *request,
                         struct search_result *result)
{
    *result = (struct search_result){.best = ABSENT, .least = ABSENT, .gap = ABSENT};
    struct arena *own = arena_new();
    const double limit_bytes = request->space->base->gpu.memory_bytes;
    struct searching searching = {
        .arena = arena,
        .own = own,
        .request = request,
        .result = result,
        .state = {.is_growing = true, .best = ABSENT, .least = ABSENT, .gap = ABSENT},
        .better_than = ABSENT,
        .limit_bytes = limit_bytes,
        .near_bytes = request->near > 0 ? limit_bytes * (1.0 + request->near) : 0,
    };
    const struct search_watch watch = {watch_growth, &searching};
    const struct search_growth growth = {request->space, request->by, request->shard, request->near,
                                         first_value(&searching)};
    if (!search_tree_grow(own, &growth, &watch, &searching.tree)) {
        result->is_ended = true;
        arena_free(own);
        return;
    }
    struct search_tree *tree = &searching.tree;
    searching.state.counts = (struct search_counts){
        .layouts = tree->layouts,
        .by_line = tree->line_layouts,
        .by_memory = tree->memory_layouts,
        .by_bound = tree->leaf_count + tree->bound_layouts,
    };
    sim_assert(tree->layouts ==
               tree->line_layouts + tree->memory_layouts + tree->leaf_count + tree->bound_layouts);
    if (tree->leaf_count > 0) {
        qsort(tree->leaves, tree->leaf_count, sizeof *tree->leaves, compare_leaves);
    }
    searching.evaluator = evaluator_new(own, request->space->base, request->folds);
    simulate_leaves(&searching);
    evaluator_free(searching.evaluator);
    hand_over(&searching);
    if (request->near > 0 && !result->is_ended) {
        search_near(&searching, &result->near);
    }
    arena_free(own);
}

void search_run(struct arena *arena, const struct search_request *asked,
                struct search_result *result)
{
    struct arena *own = arena_new();
    const struct search_request planned = with_margin(own, asked);
    search_grown(arena, &planned, result);
    arena_free(own);
}
