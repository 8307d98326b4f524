/* Sums over the layers of a chunk are differences of sums over the first layers of the model. */
#include "study/search/search_memory.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
#include "input/layout.h"
#include "input/scenario.h"
#include "plan/memory/memory.h"
#include "plan/memory/memory_layer.h"
#include "plan/schedule/schedule.h"

/* The order in which sums are added differs from plan/memory's. */
static const double SHORTER = 1.0 - 1e-9;

struct option {
    double *kept;                   /* [layers + 1], sums */
    double needed[LAYER_KINDS_MAX]; /* by a layer's backward, on top */
};

struct search_shape {
    const struct model *model;
    struct option *options; /* of each recomputation, then of full */
    uint32_t count;
    struct option least;
};

/* What is alive on a stage when one of its chunks goes backward. */
struct moment {
    int64_t *alive; /* per chunk */
    uint32_t chunk; /* that goes backward */
};

struct search_crowd {
    struct moment moments[SEARCH_STAGES];
    uint32_t stages;
    uint32_t chunks;
};

/* ---- shapes ------------------------------------------------------------------------------- */

static void fill_option(struct arena *arena, const struct memory_shape *shape, bool is_full,
                        struct option *option)
{
    const struct model *model = shape->model;
    struct memory_layer_bytes kinds[LAYER_KINDS_MAX] = {0};
    for (uint32_t kind = 0; kind < model->kind_count; kind++) {
        kinds[kind] = memory_layer_of(shape, &model->kinds[kind], is_full);
        option->needed[kind] = kinds[kind].recomputed + kinds[kind].working;
    }
    option->kept = arena_array(arena, (size_t)model->layers + 1, sizeof *option->kept);
    for (int64_t i = 0; i < model->layers; i++) {
        option->kept[i + 1] = option->kept[i] + kinds[model_kind(model, i)].kept;
    }
}

static void fill_least(struct arena *arena, struct search_shape *shape)
{
    const int64_t layers = shape->model->layers;
    shape->least.kept = arena_array(arena, (size_t)layers + 1, sizeof *shape->least.kept);
    for (int64_t i = 0; i < layers; i++) {
        double least = shape->options[0].kept[i + 1] - shape->options[0].kept[i];
        for (uint32_t k = 1; k < shape->count; k++) {
            const double kept = shape->options[k].kept[i + 1] - shape->options[k].kept[i];
            least = kept < least ? kept : least;
        }
        shape->least.kept[i + 1] = shape->least.kept[i] + least;
    }
}

struct search_shape *search_shape_new(struct arena *arena, const struct search_space *space,
                                      const struct scenario *scenario)
{
    struct search_shape *shape = arena_alloc(arena, sizeof *shape);
    *shape = (struct search_shape){.model = &scenario->model, .count = space->recompute_count + 1};
    shape->options = arena_array(arena, shape->count, sizeof *shape->options);
    const struct memory_job job = memory_job_of(scenario);
    const enum attention_kind attention = (enum attention_kind)scenario->software.attention;
    for (uint32_t i = 0; i < shape->count; i++) {
        const struct recompute whole = {.kind = RECOMPUTE_FULL};
        const struct recompute *recompute =
            i < space->recompute_count ? &space->recomputes[i] : &whole;
        struct memory_shape of = job.shape;
        of.recomputed = memory_recomputed_modules(recompute, attention);
        fill_option(arena, &of, recompute->kind == RECOMPUTE_FULL, &shape->options[i]);
    }
    fill_least(arena, shape);
    return shape;
}

/* ---- crowds -------------------------------------------------------------------------------- */

/* Follows the order of a stage to where most layers of microbatches are alive before a backward. */
struct following {
    const struct parallel *parallel;
    int64_t stage;
    int64_t *alive;
    int64_t layers, most;
    struct moment *moment;
};

static int64_t layers_of(const struct following *following, uint32_t chunk)
{
    const struct parallel *parallel = following->parallel;
    return parallel->layers_per_chunk[layout_piece(parallel, following->stage, chunk)];
}

static void follow_forward(struct following *following, uint32_t chunk)
{
    following->alive[chunk]++;
    following->layers += layers_of(following, chunk);
}

static void follow_backward(struct following *following, uint32_t chunk)
{
    if (following->layers > following->most) {
        following->most = following->layers;
        following->moment->chunk = chunk;
        for (int64_t c = 0; c < following->parallel->virtual_stages; c++) {
            following->moment->alive[c] = following->alive[c];
        }
    }
    following->alive[chunk]--;
    following->layers -= layers_of(following, chunk);
}

/* Where exchanges overlap a pair goes layer by layer: what the forward adds is left out. */
static void follow_action(struct following *following, const struct schedule_action *action)
{
    switch ((enum schedule_operation)action->operation) {
    case SCHEDULE_FORWARD:
        follow_forward(following, action->chunk);
        break;
    case SCHEDULE_BACKWARD:
    case SCHEDULE_BACKWARD_INPUT:
        follow_backward(following, action->chunk);
        break;
    case SCHEDULE_PAIR:
        follow_backward(following, action->backward_chunk);
        follow_forward(following, action->chunk);
        break;
    case SCHEDULE_WEIGHTS:
        break;
    }
}

struct search_crowd *search_crowd_new(struct arena *arena, const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    const struct schedule_shape shape = schedule_shape_of(parallel, &scenario->batch);
    struct search_crowd *crowd = arena_alloc(arena, sizeof *crowd);
    struct arena *scratch = arena_new();
    crowd->stages = parallel->pp < SEARCH_STAGES ? (uint32_t)parallel->pp : SEARCH_STAGES;
    crowd->chunks = shape.chunks;
    for (uint32_t s = 0; s < crowd->stages; s++) {
        crowd->moments[s].chunk = 0;
        crowd->moments[s].alive = arena_array(arena, shape.chunks, sizeof *crowd->moments[s].alive);
        struct following following = {
            .parallel = parallel,
            .stage = s,
            .alive = arena_array(scratch, shape.chunks, sizeof *following.alive),
            .moment = &crowd->moments[s],
        };
        const struct schedule_order order = schedule_order(scratch, &shape, s);
        for (uint64_t i = 0; i < order.count; i++) {
            follow_action(&following, &order.actions[i]);
        }
    }
    arena_free(scratch);
    return crowd;
}

enum { CROWD_SLOTS = 1024 };

struct known_crowd {
    struct schedule_shape shape;
    int64_t ends[2]; /* as the layout has them */
    struct search_crowd *crowd;
    struct known_crowd *next;
};

struct search_crowds {
    struct arena *arena;
    struct known_crowd *known[CROWD_SLOTS];
};

struct search_crowds *search_crowds_new(struct arena *arena)
{
    struct search_crowds *crowds = arena_alloc(arena, sizeof *crowds);
    crowds->arena = arena;
    return crowds;
}

static bool is_same_shape(const struct schedule_shape *a, const struct schedule_shape *b)
{
    return a->kind == b->kind && a->stages == b->stages && a->chunks == b->chunks &&
           a->microbatches == b->microbatches && a->file == b->file && a->group == b->group &&
           a->pairs == b->pairs;
}

/* Layers lie over stages and chunks as the space's scenario says, or as the ends: the shape tells
 * the rest. */
struct search_crowd *search_crowd_of(struct search_crowds *crowds, const struct scenario *scenario,
                                     const int64_t ends[2])
{
    const struct schedule_shape shape = schedule_shape_of(&scenario->parallel, &scenario->batch);
    const uint64_t hash =
        rng_hash_pair(rng_hash_pair(rng_hash_pair(shape.kind, shape.group), shape.microbatches),
                      rng_hash_pair(shape.stages, shape.chunks));
    struct known_crowd **slot = &crowds->known[hash % CROWD_SLOTS];
    struct known_crowd *known = *slot;
    while (known != NULL && (!is_same_shape(&known->shape, &shape) || known->ends[0] != ends[0] ||
                             known->ends[1] != ends[1])) {
        known = known->next;
    }
    if (known == NULL) {
        known = arena_alloc(crowds->arena, sizeof *known);
        *known = (struct known_crowd){
            shape, {ends[0], ends[1]}, search_crowd_new(crowds->arena, scenario), *slot};
        *slot = known;
    }
    return known->crowd;
}

/* ---- stocks -------------------------------------------------------------------------------- */

struct search_stock search_stock_of(const struct scenario *scenario)
{
    const struct memory_job job = memory_job_of_states(scenario);
    struct search_stock stock = {
        .fragmentation = scenario->software.memory.fragmentation,
        .stages =
            scenario->parallel.pp < SEARCH_STAGES ? (uint32_t)scenario->parallel.pp : SEARCH_STAGES,
    };
    for (uint32_t s = 0; s < stock.stages; s++) {
        const struct memory_use use = memory_of_states(&job, s);
        stock.bytes[s] =
            use.weights_bytes + use.gradients_bytes + use.optimizer_bytes + use.buffers_bytes;
        stock.fixed_bytes = use.context_bytes + use.communication_bytes + use.lump_bytes;
    }
    return stock;
}

/* ---- lines ----------------------------------------------------------------------------------- */

struct search_held search_held_of(struct arena *arena, const struct scenario *scenario,
                                  const struct search_shape *shape,
                                  const struct search_crowd *crowd,
                                  const struct search_stock *stock)
{
    const struct parallel *parallel = &scenario->parallel;
    const size_t count = (size_t)crowd->stages * crowd->chunks;
    struct search_held held = {shape, crowd, stock, arena_array(arena, count, sizeof(int64_t)),
                               arena_array(arena, count, sizeof(int64_t))};
    const int64_t pieces = layout_pieces(parallel);
    int64_t *firsts = arena_array(arena, (size_t)pieces + 1, sizeof *firsts);
    firsts[0] = 0;
    for (int64_t i = 0; i < pieces; i++) {
        firsts[i + 1] = firsts[i] + parallel->layers_per_chunk[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        const int64_t piece = layout_piece(parallel, i / crowd->chunks, i % crowd->chunks);
        held.first[i] = firsts[piece];
        held.layers[i] = parallel->layers_per_chunk[piece];
    }
    return held;
}

/* ---- least bytes ----------------------------------------------------------------------------- */

/* What layers `from` to `to` of the model keep; of a chunk that begins at `first`, those up to
 * first + full are computed again whole. */
static double kept_of(const struct option *plain, const struct option *full, int64_t boundary,
                      int64_t from, int64_t to)
{
    const int64_t cut = boundary < from ? from : boundary > to ? to : boundary;
    return full->kept[cut] - full->kept[from] + plain->kept[to] - plain->kept[cut];
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct kept_by {
    const struct option *plain, *full;
    int64_t full_layers;
};

/* Of all chunks of a stage at its moment. */
static double alive_bytes(const struct search_held *held, const struct moment *moment,
                          uint32_t stage, const struct kept_by *by, int64_t offloaded)
{
    double bytes = 0;
    for (uint32_t c = 0; c < held->crowd->chunks; c++) {
        const int64_t layers = held->layers[stage * held->crowd->chunks + c];
        const int64_t first = held->first[stage * held->crowd->chunks + c];
        const int64_t gone = smaller(offloaded, layers);
        offloaded -= gone;
        bytes += (double)moment->alive[c] * kept_of(by->plain, by->full,
                                                    first + smaller(by->full_layers, layers),
                                                    first + gone, first + layers);
    }
    return bytes;
}

/* Of the first layer and the last of the chunk that goes backward. */
static double needed_bytes(const struct search_held *held, const struct moment *moment,
                           uint32_t stage, const struct kept_by *by)
{
    const struct model *model = held->shape->model;
    const uint32_t place = stage * held->crowd->chunks + moment->chunk;
    const int64_t layers = held->layers[place];
    const int64_t first = held->first[place];
    if (layers == 0) {
        return 0;
    }
    const struct option *of_first = by->full_layers > 0 ? by->full : by->plain;
    const struct option *of_last = by->full_layers >= layers ? by->full : by->plain;
    const double a = of_first->needed[model_kind(model, first)];
    const double b = of_last->needed[model_kind(model, first + layers - 1)];
    return a > b ? a : b;
}

static double total_of(const struct search_held *held, uint32_t stage, double activations)
{
    const struct search_stock *stock = held->stock;
    return ((stock->bytes[stage] + activations) * (1.0 + stock->fragmentation) +
            stock->fixed_bytes) *
           SHORTER;
}

double search_least_bytes(const struct search_held *held, const struct search_choice *choice)
{
    const struct search_shape *shape = held->shape;
    sim_assert(choice->plain + 1 < shape->count || choice->plain == 0);
    const struct kept_by by = {&shape->options[choice->plain], &shape->options[shape->count - 1],
                               choice->full_layers};
    double most = 0;
    for (uint32_t s = 0; s < held->crowd->stages; s++) {
        const struct moment *moment = &held->crowd->moments[s];
        const double bytes = alive_bytes(held, moment, s, &by, choice->offloaded_layers) +
                             needed_bytes(held, moment, s, &by);
        const double total = total_of(held, s, bytes);
        most = total > most ? total : most;
    }
    return most;
}

double search_least_of_line(const struct search_held *held, int64_t offloaded_layers)
{
    const struct kept_by by = {&held->shape->least, &held->shape->least, 0};
    double most = 0;
    for (uint32_t s = 0; s < held->crowd->stages; s++) {
        const double total = total_of(
            held, s, alive_bytes(held, &held->crowd->moments[s], s, &by, offloaded_layers));
        most = total > most ? total : most;
    }
    return most;
}
