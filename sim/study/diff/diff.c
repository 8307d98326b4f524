/* A set of inputs is a word of bits, and what is predicted with them of B is kept: the sets of
 * different orders are the same.
 */
#include "study/diff/diff.h"

#include "base/absent.h"
#include "base/arena.h"
#include "input/scenario_load.h"
#include "run/run.h"
#include "train/step_memo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- figures ------------------------------------------------------------------------------ */

enum { FIGURES = 3 };

static double *figure(struct diff_figures *figures, uint32_t number)
{
    double *const all[FIGURES] = {&figures->step_s, &figures->days, &figures->usd};
    return all[number];
}

static double value(const struct diff_figures *figures, uint32_t number)
{
    const double all[FIGURES] = {figures->step_s, figures->days, figures->usd};
    return all[number];
}

/* sum + times * figures; what one of them lacks has no sum. */
static struct diff_figures plus(struct diff_figures sum, double times, struct diff_figures figures)
{
    for (uint32_t i = 0; i < FIGURES; i++) {
        double *one = figure(&sum, i);
        *one = is_absent(*one) || is_absent(value(&figures, i)) ? ABSENT
                                                                : *one + times * value(&figures, i);
    }
    return sum;
}

struct diff_figures diff_figures_of(const struct store_row *row)
{
    return store_row_is_good(row)
               ? (struct diff_figures){row->step_s, row->wall_clock_days, row->cost_usd}
               : DIFF_FIGURES_NONE;
}

static bool is_known(const struct diff_figures *figures)
{
    return !is_absent(figures->step_s);
}

/* ---- predictions -------------------------------------------------------------------------- */

struct tried {
    uint32_t of_b;
    struct diff_figures figures; /* none: it cannot be */
};

struct finder {
    struct arena *arena;
    struct arena *scratch;
    const struct diff_asked *asked;
    struct diff_found *found;
    struct step_memo *memo;
    struct tried *tried;
    size_t tried_count, tried_capacity;
};

static struct diff_figures predict(struct finder *finder, const struct doc_node *document,
                                   struct diag *diag)
{
    struct diff_figures figures = DIFF_FIGURES_NONE;
    const struct scenario *scenario =
        scenario_resolve(finder->scratch, document, finder->asked->catalogue, NULL, 0, diag);
    if (scenario != NULL) {
        const struct run_request request = {
            .folds = finder->asked->folds, .build = "", .jobs = 1, .memo = finder->memo};
        struct result result;
        struct store_row row;
        run_predict(finder->scratch, scenario, &request, &result);
        store_row_of(&result, "", &row);
        if (row.memory_fits) {
            figures = diff_figures_of(&row);
        }
        finder->found->simulated++;
    }
    return figures;
}

static void keep(struct finder *finder, uint32_t of_b, struct diff_figures figures)
{
    finder->tried = arena_grow(finder->arena, finder->tried, &finder->tried_capacity,
                               finder->tried_count + 1, sizeof *finder->tried);
    finder->tried[finder->tried_count++] = (struct tried){of_b, figures};
}

/* A with these inputs of B. */
static struct diff_figures with(struct finder *finder, uint32_t of_b)
{
    for (size_t i = 0; i < finder->tried_count; i++) {
        if (finder->tried[i].of_b == of_b) {
            return finder->tried[i].figures;
        }
    }
    const struct doc_node *mixture =
        diff_mix(finder->scratch, finder->asked->sides[0].document, &finder->found->inputs, of_b);
    const struct diff_figures figures = predict(finder, mixture, diag_new(finder->scratch));
    arena_reset(finder->scratch);
    keep(finder, of_b, figures);
    return figures;
}

/* ---- shares ------------------------------------------------------------------------------- */

/* Inputs of the scenario that are asked for as one. */
struct sharer {
    uint32_t bits;
    struct diff_figures first, last; /* what it moves in A alone, and last of all in B */
};

static uint32_t all_bits(const struct diff_inputs *inputs)
{
    return inputs->count == 0 ? 0 : UINT32_MAX >> (32 - inputs->count);
}

static void try_alone(struct finder *finder, struct sharer *sharer)
{
    const uint32_t all = all_bits(&finder->found->inputs);
    sharer->first = plus(with(finder, sharer->bits), -1, with(finder, 0));
    sharer->last = plus(with(finder, all), -1, with(finder, all & ~sharer->bits));
}

/* Those that can be neither in A alone nor missing from B alone may be able to together. */
static uint32_t join_sharers(struct finder *finder, struct sharer *sharers, uint32_t count)
{
    struct sharer joined = {0};
    uint32_t kept = 0;
    uint32_t lacking = 0;
    for (uint32_t i = 0; i < count; i++) {
        const bool lacks = !is_known(&sharers[i].first) || !is_known(&sharers[i].last);
        lacking += lacks;
        joined.bits |= lacks ? sharers[i].bits : 0;
    }
    if (lacking < 2) {
        return count;
    }
    for (uint32_t i = 0; i < count; i++) {
        if ((sharers[i].bits & joined.bits) == 0) {
            sharers[kept++] = sharers[i];
        }
    }
    try_alone(finder, &joined);
    sharers[kept++] = joined;
    return kept;
}

/* 1 / (n * (n - 1 over s)): the share of orders in which just these s stand before. */
static double order_weight(uint32_t count, uint32_t before)
{
    double ways = 1;
    for (uint32_t i = 0; i < before; i++) {
        ways *= (double)(count - 1 - i) / (double)(i + 1);
    }
    return 1 / (ways * (double)count);
}

static uint32_t bits_of(const struct sharer *sharers, uint32_t count, uint32_t chosen,
                        uint32_t *number)
{
    uint32_t bits = 0;
    *number = 0;
    for (uint32_t i = 0; i < count; i++) {
        if ((chosen >> i & 1u) != 0) {
            bits |= sharers[i].bits;
            (*number)++;
        }
    }
    return bits;
}

/* `idle` are in all sets. Absent where one of these cannot be. */
static struct diff_figures shapley(struct finder *finder, const struct sharer *sharers,
                                   uint32_t count, uint32_t idle, uint32_t of)
{
    struct diff_figures share = {0, 0, 0};
    for (uint32_t chosen = 0; chosen < 1u << count; chosen++) {
        if ((chosen >> of & 1u) == 0) {
            uint32_t before = 0;
            const uint32_t bits = idle | bits_of(sharers, count, chosen, &before);
            const double weight = order_weight(count, before);
            share = plus(share, weight, with(finder, bits | sharers[of].bits));
            share = plus(share, -weight, with(finder, bits));
        }
    }
    return share;
}

static struct diff_figures middle(const struct sharer *sharer)
{
    const bool has_first = is_known(&sharer->first), has_last = is_known(&sharer->last);
    if (!has_first || !has_last) {
        return has_first ? sharer->first : sharer->last;
    }
    return plus(plus((struct diff_figures){0, 0, 0}, 0.5, sharer->first), 0.5, sharer->last);
}

static const char *sharer_name(const struct finder *finder, uint32_t bits)
{
    const struct diff_inputs *inputs = &finder->found->inputs;
    const char *name = "";
    for (uint32_t i = 0; i < inputs->count; i++) {
        if ((bits >> i & 1u) != 0) {
            name = arena_printf(finder->arena, "%s%s%s", name, name[0] != '\0' ? " + " : "",
                                inputs->items[i].name);
        }
    }
    return name;
}

static const struct diff_input *first_input(const struct diff_inputs *inputs, uint32_t bits)
{
    uint32_t number = 0;
    while ((bits >> number & 1u) == 0) {
        number++;
    }
    return &inputs->items[number];
}

/* Days, or the step where a side has no run. */
static double size_of(const struct diff_worth *worth)
{
    const struct diff_figures *moves = &worth->moves;
    const double size = is_absent(moves->days) ? moves->step_s : moves->days;
    return is_absent(size) ? -1 : fabs(size);
}

static int compare_worths(const void *left, const void *right)
{
    const struct diff_worth *a = left, *b = right;
    const double by_time = size_of(b) - size_of(a);
    const double a_usd = is_absent(a->moves.usd) ? -1 : fabs(a->moves.usd);
    const double b_usd = is_absent(b->moves.usd) ? -1 : fabs(b->moves.usd);
    if (fabs(by_time) > 0) {
        return by_time > 0 ? 1 : -1;
    }
    return fabs(b_usd - a_usd) > 0 ? (b_usd > a_usd ? 1 : -1)
                                   : strcmp(a->name, b->name); /* names are all others */
}

/* It moves nothing, neither alone nor last. */
static bool is_idle(const struct sharer *sharer)
{
    for (uint32_t i = 0; i < FIGURES; i++) {
        const double first = value(&sharer->first, i), last = value(&sharer->last, i);
        if (i == 0 && (is_absent(first) || is_absent(last))) {
            return false; /* it cannot be, which is something */
        }
        if (!is_absent(first) && !is_absent(last) && (fabs(first) > 0 || fabs(last) > 0)) {
            return false;
        }
    }
    return true;
}

/* Those that move something before those that do not; how many do, and the bits of the others. */
static uint32_t idle_last(struct sharer *sharers, uint32_t count, uint32_t *idle)
{
    struct sharer sorted[DIFF_INPUTS_MAX] = {0};
    uint32_t busy = 0, last = count;
    *idle = 0;
    for (uint32_t i = 0; i < count; i++) {
        const bool rests = is_idle(&sharers[i]);
        sorted[rests ? --last : busy++] = sharers[i];
        *idle |= rests ? sharers[i].bits : 0;
    }
    memcpy(sharers, sorted, count * sizeof *sharers);
    return busy;
}

/* False where a set of them cannot be. */
static bool share_by_orders(struct finder *finder, const struct sharer *sharers, uint32_t busy,
                            uint32_t idle)
{
    struct diff_worth *worths = finder->found->worths;
    bool is_exact = busy <= DIFF_EXACT_MAX;
    for (uint32_t i = 0; is_exact && i < busy; i++) {
        worths[i].moves = shapley(finder, sharers, busy, idle, i);
        is_exact = is_known(&worths[i].moves);
    }
    return is_exact;
}

static void share_out(struct finder *finder)
{
    struct diff_found *found = finder->found;
    const struct diff_inputs *inputs = &found->inputs;
    struct sharer sharers[DIFF_INPUTS_MAX];
    uint32_t count = inputs->count;
    for (uint32_t i = 0; i < count; i++) {
        sharers[i] = (struct sharer){.bits = 1u << i};
        try_alone(finder, &sharers[i]);
    }
    count = join_sharers(finder, sharers, count);
    uint32_t idle = 0;
    const uint32_t busy = idle_last(sharers, count, &idle);
    found->worths = arena_array(finder->arena, count + 1u, sizeof *found->worths);
    found->worth_count = count;
    found->is_exact = share_by_orders(finder, sharers, busy, idle);
    for (uint32_t i = 0; i < count; i++) {
        struct diff_worth *worth = &found->worths[i];
        worth->input = first_input(inputs, sharers[i].bits);
        worth->name = sharer_name(finder, sharers[i].bits);
        worth->alone = sharers[i].first;
        worth->moves = found->is_exact && i < busy ? worth->moves : middle(&sharers[i]);
    }
}

/* What the inputs move and none of them does. */
static void sum_up(struct diff_found *found)
{
    const struct diff_figures zero = {0, 0, 0};
    found->program =
        plus(plus(plus(plus(zero, 1, found->told[1]), -1, found->now[1]), 1, found->now[0]), -1,
             found->told[0]);
    found->together = plus(plus(zero, 1, found->now[1]), -1, found->now[0]);
    for (uint32_t i = 0; i < found->worth_count; i++) {
        if (is_known(&found->worths[i].moves)) {
            found->together = plus(found->together, -1, found->worths[i].moves);
        }
    }
    qsort(found->worths, found->worth_count, sizeof *found->worths, compare_worths);
}

/* A side by itself; false, with the reason, where this build cannot have it. */
static bool predict_side(struct finder *finder, uint32_t side)
{
    struct diag *diag = diag_new(finder->arena);
    const struct diff_side *asked = &finder->asked->sides[side];
    finder->found->now[side] = predict(finder, asked->document, diag);
    if (!is_known(&finder->found->now[side])) {
        const char *first = diag_first_error(diag);
        finder->found->problem = arena_printf(finder->arena, "%s: %s", side == 0 ? "A" : "B",
                                              first != NULL ? first
                                              : is_known(&finder->found->told[side])
                                                  ? "it does not fit into memory any more"
                                                  : "it does not fit into memory");
    }
    arena_reset(finder->scratch);
    return finder->found->problem == NULL;
}

void diff_find(struct arena *arena, const struct diff_asked *asked, struct diff_found *found)
{
    *found = (struct diff_found){.program = DIFF_FIGURES_NONE, .together = DIFF_FIGURES_NONE};
    struct finder finder = {.arena = arena,
                            .scratch = arena_new(),
                            .asked = asked,
                            .found = found,
                            .memo = step_memo_new()};
    for (uint32_t side = 0; side < 2; side++) {
        found->told[side] = diff_figures_of(asked->sides[side].told);
        found->now[side] = DIFF_FIGURES_NONE;
    }
    found->inputs = diff_inputs_of(arena, asked->sides[0].document, asked->sides[1].document);
    if (predict_side(&finder, 0) && predict_side(&finder, 1)) {
        keep(&finder, 0, found->now[0]);
        keep(&finder, all_bits(&found->inputs), found->now[1]);
        share_out(&finder);
        sum_up(found);
    }
    step_memo_free(finder.memo);
    arena_free(finder.scratch);
}
