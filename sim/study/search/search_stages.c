/* Candidates are all pairs of ends that are no busier than the best so far. */
#include "study/search/search_stages.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/features/features.h"
#include "input/layout.h"
#include "input/scenario.h"
#include "plan/cost.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What was found of a pipeline. */
struct known {
    int64_t pp, chunks;
    int64_t ends[2]; /* 0: even ones are no worse */
    struct known *next;
};

struct search_stages {
    struct arena *arena;
    const struct scenario *base;
    double *work; /* [layers + 1], sums of FLOPs of a token */
    double head;
    struct known *known;
};

static double layer_work(const struct scenario *base, const struct layer_kind *kind)
{
    const struct layer_flop flop = cost_layer_flop(&base->model, kind, base->batch.sequence_length);
    return flop.attention_linear + flop.core_causal + flop.scan + flop.index + flop.mlp +
           flop.experts + flop.shared + flop.router + flop.mtp;
}

struct search_stages *search_stages_new(struct arena *arena, const struct scenario *base)
{
    const struct model *model = &base->model;
    struct search_stages *stages = arena_alloc(arena, sizeof *stages);
    *stages = (struct search_stages){.arena = arena, .base = base};
    stages->work = arena_array(arena, (size_t)model->layers + 1, sizeof *stages->work);
    for (int64_t i = 0; i < model->layers; i++) {
        stages->work[i + 1] = stages->work[i] + layer_work(base, model_layer(model, i));
    }
    const struct token_flop all = cost_token_flop(model, base->batch.sequence_length);
    const double layers = stages->work[model->layers];
    const double rest = all.linear + all.core_causal + all.index + all.router - layers; /* MTP's */
    stages->head = all.logits + fmax(0, rest);
    return stages;
}

/* ---- one distribution ---------------------------------------------------------------------- */

/* The layers of each piece in model order, those of stages in a loop; NULL: none are left for a
 * stage between. */
static int64_t *spread(struct arena *arena, int64_t pp, int64_t chunks, const int64_t ends[2],
                       int64_t layers)
{
    const int64_t between = (pp - 2) * chunks;
    const int64_t left = layers - ends[0] - ends[1];
    if (left < between || (between == 0 && left != 0)) {
        return NULL;
    }
    const int64_t *middle = between > 0 ? layout_distribute(arena, left, between) : NULL;
    int64_t *counts = arena_array(arena, (size_t)(pp * chunks), sizeof *counts);
    int64_t next = 0;
    for (int64_t piece = 0; piece < pp * chunks; piece++) {
        const int64_t stage = piece % pp;
        if (stage == 0 || stage == pp - 1) {
            counts[piece] = ends[stage == 0 ? 0 : 1] / chunks;
        } else {
            sim_assert(middle != NULL);
            counts[piece] = middle[next++];
        }
    }
    return counts;
}

/* Of the busiest stage. */
static double most_work(const struct search_stages *stages, struct arena *arena,
                        const int64_t *counts, int64_t pp, int64_t chunks)
{
    double *of = arena_array(arena, (size_t)pp, sizeof *of);
    memset(of, 0, (size_t)pp * sizeof *of);
    int64_t first = 0;
    for (int64_t piece = 0; piece < pp * chunks; piece++) {
        of[piece % pp] += stages->work[first + counts[piece]] - stages->work[first];
        first += counts[piece];
    }
    of[pp - 1] += stages->head;
    double most = 0;
    for (int64_t s = 0; s < pp; s++) {
        most = fmax(most, of[s]);
    }
    return most;
}

/* By less than that works are the same. */
static const double LESS = 1e-9;

/* ---- the best of them ------------------------------------------------------------------------ */

/* Whether the release lays out layers so: it may know ends alone, of whole stages, around others
 * that have the same. */
static bool has_ends(const struct scenario *base, int64_t pp, int64_t chunks, const int64_t ends[2])
{
    const uint32_t has = base->software.has.lists[FEATURES_STAGES];
    if (has == 0 || (has >> HAS_ANY & 1u) != 0) {
        return true;
    }
    const int64_t left = base->model.layers - ends[0] - ends[1];
    return (has >> HAS_FIRST_LAST & 1u) != 0 && chunks == 1 && (pp == 2 || left % (pp - 2) == 0);
}

/* No less than a stage with so many layers has to do. */
static double least_work(const struct search_stages *stages, int64_t layers)
{
    const int64_t all = stages->base->model.layers;
    return fmin(stages->work[layers], stages->work[all] - stages->work[all - layers]);
}

static void find(const struct search_stages *stages, struct known *known)
{
    struct arena *scratch = arena_new();
    const struct scenario *base = stages->base;
    const int64_t layers = base->model.layers;
    const int64_t pp = known->pp;
    const int64_t chunks = known->chunks;
    const int64_t *even = layout_distribute(scratch, layers, pp * chunks);
    double most = most_work(stages, scratch, even, pp, chunks) * (1 - LESS);
    for (int64_t last = chunks; last < layers; last += chunks) {
        if (least_work(stages, last) + (chunks == 1 ? stages->head : 0) > most * (1 + LESS)) {
            break;
        }
        for (int64_t first = chunks; first + last <= layers; first += chunks) {
            const int64_t ends[2] = {first, last};
            if (chunks == 1 && stages->work[first] > most * (1 + LESS)) {
                break;
            }
            arena_reset(scratch);
            const int64_t *counts =
                has_ends(base, pp, chunks, ends) ? spread(scratch, pp, chunks, ends, layers) : NULL;
            const double work =
                counts != NULL ? most_work(stages, scratch, counts, pp, chunks) : HUGE_VAL;
            const bool is_lighter = first < known->ends[0] && work <= most * (1 + LESS);
            if (work < most * (1 - LESS) || is_lighter) {
                most = work;
                known->ends[0] = first;
                known->ends[1] = last;
            }
        }
    }
    arena_free(scratch);
}

static bool is_loop(uint32_t schedule)
{
    return schedule == SCHEDULE_GPIPE || schedule == SCHEDULE_1F1B ||
           schedule == SCHEDULE_INTERLEAVED || schedule == SCHEDULE_ZB_H1 ||
           schedule == SCHEDULE_ZB_H2;
}

bool search_stages_balance(struct search_stages *stages, struct relayout *layout)
{
    if (layout->pp < 2 || !is_loop(layout->schedule) ||
        layout->pp * layout->virtual_stages > stages->base->model.layers) {
        return false;
    }
    struct known *known = stages->known;
    while (known != NULL && (known->pp != layout->pp || known->chunks != layout->virtual_stages)) {
        known = known->next;
    }
    if (known == NULL) {
        known = arena_alloc(stages->arena, sizeof *known);
        *known = (struct known){
            .pp = layout->pp, .chunks = layout->virtual_stages, .next = stages->known};
        find(stages, known);
        stages->known = known;
    }
    if (known->ends[0] == 0) {
        return false;
    }
    layout->ends[0] = known->ends[0];
    layout->ends[1] = known->ends[1];
    layout->layers = stages->base->model.layers;
    return true;
}

const char *search_stages_text(struct arena *arena, const struct relayout *layout)
{
    const int64_t chunks = layout->virtual_stages;
    const int64_t *counts = spread(arena, layout->pp, chunks, layout->ends, layout->layers);
    sim_assert(counts != NULL); /* it was when it was found */
    const char *text = "";
    for (int64_t i = 0; i < layout->pp * chunks; i++) {
        text = arena_printf(arena, "%s%s%" PRId64, text, i > 0 ? ", " : "[", counts[i]);
    }
    return arena_printf(arena, "%s]", text);
}
