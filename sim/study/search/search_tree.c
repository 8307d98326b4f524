/* The axes are nested loops, a function each; what is found in an outer one is kept in its arena
 * until it goes on: of degrees the families, of ZeRO and offload the stock. Crowds of schedules are
 * kept for all degrees.
 */
#include "study/search/search_tree.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/diag.h"
#include "input/feasible_schedule.h"
#include "base/rng.h"
#include "input/features/features_used.h"
#include "input/layout.h"
#include "input/scenario.h"
#include "input/training.h"
#include "plan/schedule/schedule.h"
#include "study/search/search_memory.h"
#include "study/search/search_stages.h"
#include "train/bound/bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of micro and sequence parallelism, within the degrees that are being tried. */
struct family {
    struct search_shape *shape;
    struct scenario *scenario;
    struct bound_family *bound;
};

/* Of schedules met so far, whatever the other degrees: a step's order is written once. */
enum { CROWD_SLOTS = 1024, ASKS_IN = 64 };
struct known_crowd {
    struct schedule_shape shape;
    int64_t ends[2]; /* as the layout has them */
    struct search_crowd *crowd;
    struct known_crowd *next;
};

struct growth {
    struct arena *arena;   /* of the tree */
    struct arena *kept;    /* of all degrees */
    struct arena *degrees; /* of what is kept for the degrees being tried */
    struct arena *scratch; /* of a line */
    const struct search_space *space;
    const struct search_watch *watch;
    struct search_tree *tree;
    struct relayout_frame frame;
    struct diag *unheard;
    struct scenario *tried; /* as the line lays it out */
    struct relayout layout;
    struct family *families;      /* [micro * 2 + is_sequence_parallel], of the degrees */
    struct search_crowd **crowds; /* [micro], of the schedule */
    struct search_stages *stages;
    struct known_crowd *known[CROWD_SLOTS];
    struct shard shard;
    uint32_t degree_count; /* combinations of degrees so far: families are numbered by them */
    double degrees_all;    /* how many there are */
    bool has_stock;
    struct search_stock stock;
    double limit_bytes, near_bytes; /* of a GPU; of a near miss */
    double enough;                  /* search_growth's */
    size_t line_capacity, leaf_capacity, near_capacity;
    uint32_t asked; /* how often it might have been */
    bool is_ended;
};

/* ---- layouts of a line ----------------------------------------------------------- */

/* Of a line's least memory; of one that is only near the GPU's, or hopeless, nothing fits. One that
 * asks for what the software lacks is only counted, and so is one that is worse than a layout that
 * is known, whatever is computed again. */
enum line_fate { LINE_MAY_FIT, LINE_IS_NEAR, LINE_IS_HOPELESS, LINE_IS_LACKING, LINE_IS_WORSE };

/* A line that is being looked through. */
struct trial {
    const struct scenario *scenario;
    struct search_held held;
    struct family *family;
    struct bound_line *bound; /* NULL: nothing may fit so far */
    int64_t largest_chunk, largest_stage;
    uint32_t family_number;
    uint32_t line; /* in the tree; UINT32_MAX: not yet there */
    enum line_fate fate;
    struct feature_set lacks; /* the software, of any layout of the line */
};

static bool has_whole(const struct search_space *space)
{
    for (uint32_t i = 0; i < space->recompute_count; i++) {
        if (space->recomputes[i].kind == RECOMPUTE_FULL && space->recomputes[i].layers == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the model has the modules and a chunk so many layers, and nothing else is the same: all
 * layers of the largest chunk are full. */
static bool is_in_line(const struct growth *growth, const struct trial *trial,
                       const struct recompute *recompute)
{
    if (recompute->kind == RECOMPUTE_SELECTIVE) {
        for (uint32_t i = 0; i < RECOMPUTE_MODULE_COUNT_; i++) {
            if ((recompute->modules >> i & 1u) != 0 &&
                !training_has_module(&growth->space->base->model, i)) {
                return false;
            }
        }
    }
    if (recompute->layers == 0) {
        return true;
    }
    return recompute->layers < trial->largest_chunk
               ? !growth->space->has_every_count
               : recompute->layers == trial->largest_chunk && !has_whole(growth->space);
}

static struct search_choice choice_of(const struct recompute *recompute, uint32_t plain,
                                      uint32_t none, int64_t offloaded)
{
    const bool is_full = recompute->kind == RECOMPUTE_FULL;
    return (struct search_choice){
        .plain = is_full ? none : plain,
        .full_layers = !is_full                ? 0
                       : recompute->layers > 0 ? recompute->layers
                                               : INT64_MAX,
        .offloaded_layers = offloaded,
    };
}

static void note_nearest(struct growth *growth, double bytes, const struct recompute *recompute,
                         int64_t offloaded)
{
    struct search_tree *tree = growth->tree;
    if (tree->nearest_bytes <= 0 || bytes < tree->nearest_bytes) {
        tree->nearest_bytes = bytes;
        tree->nearest = growth->layout;
        tree->nearest.recompute = *recompute;
        tree->nearest.offload.activation_layers = offloaded;
    }
}

/* The line, when its first layout may fit, or misses nearly. */
static void put_line(struct growth *growth, struct trial *trial)
{
    struct search_tree *tree = growth->tree;
    if (trial->line != UINT32_MAX) {
        return;
    }
    tree->lines = arena_grow(growth->arena, tree->lines, &growth->line_capacity,
                             tree->line_count + (size_t)1, sizeof *tree->lines);
    trial->line = tree->line_count++;
    tree->lines[trial->line] = (struct search_line){.layout = growth->layout,
                                                    .largest_chunk = trial->largest_chunk,
                                                    .family = trial->family_number};
}

/* The line's bound, and its family's, when the first layout may fit. */
static void begin_bound(struct growth *growth, struct trial *trial)
{
    struct family *family = trial->family;
    if (family->bound == NULL) {
        family->scenario = arena_alloc(growth->degrees, sizeof *family->scenario);
        *family->scenario = *trial->scenario;
        family->bound = bound_family_new(growth->degrees,
                                         bound_ground_new(growth->degrees, family->scenario),
                                         family->scenario);
        growth->tree->families++;
    }
    trial->bound = bound_line_new(growth->degrees, family->bound, trial->scenario);
}

static void begin_line(struct growth *growth, struct trial *trial)
{
    if (trial->bound == NULL) {
        begin_bound(growth, trial);
    }
    put_line(growth, trial);
}

static void add_leaf(struct growth *growth, struct trial *trial, const struct recompute *recompute,
                     uint32_t number, int64_t offloaded)
{
    struct search_tree *tree = growth->tree;
    begin_line(growth, trial);
    const struct bound_choice choice = bound_choice_of(trial->family->bound, recompute, offloaded);
    const struct bound bound = bound_of(trial->bound, &choice);
    tree->leaves = arena_grow(growth->arena, tree->leaves, &growth->leaf_capacity,
                              tree->leaf_count + 1, sizeof *tree->leaves);
    tree->leaves[tree->leaf_count++] = (struct search_leaf){
        .least = search_least_value(tree->by, tree->space->base, &bound),
        .line = trial->line,
        .choice = (uint16_t)number,
        .offloaded = (uint16_t)offloaded,
    };
}

/* One that does not fit: a leaf apart, if it is near. */
static void add_near(struct growth *growth, struct trial *trial, double bytes, uint32_t number,
                     int64_t offloaded)
{
    struct search_tree *tree = growth->tree;
    if (bytes > growth->near_bytes) {
        return;
    }
    put_line(growth, trial);
    tree->near = arena_grow(growth->arena, tree->near, &growth->near_capacity, tree->near_count + 1,
                            sizeof *tree->near);
    tree->near[tree->near_count++] = (struct search_leaf){
        .line = trial->line,
        .choice = (uint16_t)number,
        .offloaded = (uint16_t)offloaded,
    };
}

/* One more layout that the software has not. */
static void count_lacking(struct search_lacking *lacking, const struct feature_set *lacks)
{
    lacking->layouts++;
    for (uint32_t i = 0; i < FEATURE_LIST_COUNT_; i++) {
        lacking->any.lists[i] |= lacks->lists[i];
        lacking->all.lists[i] &= lacks->lists[i];
    }
}

/* Whether the software has it; else it is counted. */
static bool has_choice(struct growth *growth, const struct trial *trial,
                       const struct recompute *recompute, int64_t offloaded)
{
    const struct feature_set *allowed = &growth->space->allowed;
    const uint32_t again = features_of_recompute(&trial->scenario->model, recompute) &
                           ~allowed->lists[FEATURES_RECOMPUTE];
    const uint32_t away =
        offloaded > 0 ? 1u << HAS_OFFLOAD_ACTIVATIONS & ~allowed->lists[FEATURES_OPTIONS] : 0;
    if (trial->fate != LINE_IS_LACKING && again == 0 && away == 0) {
        return true;
    }
    struct feature_set lacks = trial->lacks;
    lacks.lists[FEATURES_RECOMPUTE] |= again;
    lacks.lists[FEATURES_OPTIONS] |= away;
    count_lacking(&growth->tree->lacking, &lacks);
    return false;
}

/* Of one recomputation, with each count of layers that go to the host. */
static void try_recompute(struct growth *growth, struct trial *trial,
                          const struct recompute *recompute, uint32_t number)
{
    const struct search_values *offloads = &growth->space->axes[SEARCH_OFFLOAD_LAYERS];
    const uint32_t plain = number < growth->space->recompute_count ? number : 0;
    for (uint32_t i = 0; i < offloads->count; i++) {
        const int64_t offloaded = (int64_t)offloads->items[i];
        if (offloaded > trial->largest_stage) {
            continue;
        }
        if (!has_choice(growth, trial, recompute, offloaded)) {
            continue;
        }
        growth->tree->layouts++;
        if (trial->fate == LINE_IS_HOPELESS) {
            growth->tree->line_layouts++;
            continue;
        }
        if (trial->fate == LINE_IS_WORSE) {
            growth->tree->bound_layouts++;
            continue;
        }
        const struct search_choice choice = choice_of(recompute, plain, plain, offloaded);
        const double bytes = search_least_bytes(&trial->held, &choice);
        if (trial->fate == LINE_IS_NEAR) {
            growth->tree->line_layouts++;
            add_near(growth, trial, bytes, number, offloaded);
            continue;
        }
        note_nearest(growth, bytes, recompute, offloaded);
        if (bytes > growth->limit_bytes) {
            growth->tree->memory_layouts++;
            add_near(growth, trial, bytes, number, offloaded);
        } else {
            add_leaf(growth, trial, recompute, number, offloaded);
        }
    }
}

/* Which recomputation a leaf's number says. */
static struct recompute recompute_of(const struct search_space *space, uint32_t number)
{
    if (number < space->recompute_count) {
        return space->recomputes[number];
    }
    return (struct recompute){.kind = RECOMPUTE_FULL,
                              .layers = (int64_t)(number - space->recompute_count) + 1};
}

/* Near misses of the line, from number `first` on: where another of its layouts may fit, their
 * bounds are at hand. */
static void bound_near(struct growth *growth, struct trial *trial, uint64_t first)
{
    struct search_tree *tree = growth->tree;
    for (uint64_t i = first; trial->bound != NULL && i < tree->near_count; i++) {
        struct search_leaf *leaf = &tree->near[i];
        const struct recompute recompute = recompute_of(tree->space, leaf->choice);
        const struct bound_choice choice =
            bound_choice_of(trial->family->bound, &recompute, leaf->offloaded);
        const struct bound bound = bound_of(trial->bound, &choice);
        leaf->least = search_least_value(tree->by, tree->space->base, &bound);
    }
}

static void try_choices(struct growth *growth, struct trial *trial)
{
    const uint64_t first_near = growth->tree->near_count;
    const struct search_space *space = growth->space;
    for (uint32_t i = 0; i < space->recompute_count; i++) {
        if (is_in_line(growth, trial, &space->recomputes[i])) {
            try_recompute(growth, trial, &space->recomputes[i], i);
        }
    }
    for (int64_t layers = 1; space->has_every_count && layers < trial->largest_chunk; layers++) {
        const struct recompute full = {.kind = RECOMPUTE_FULL, .layers = layers};
        const uint32_t number = space->recompute_count + (uint32_t)layers - 1;
        try_recompute(growth, trial, &full, number);
    }
    bound_near(growth, trial, first_near);
}

static void measure_chunks(const struct parallel *parallel, struct trial *trial)
{
    for (int64_t i = 0; i < layout_pieces(parallel); i++) {
        const int64_t layers = parallel->layers_per_chunk[i];
        trial->largest_chunk = layers > trial->largest_chunk ? layers : trial->largest_chunk;
    }
    for (int64_t s = 0; s < parallel->pp; s++) {
        int64_t layers = 0;
        for (int64_t c = 0; c < parallel->virtual_stages; c++) {
            layers += parallel->layers_per_chunk[layout_piece(parallel, s, c)];
        }
        trial->largest_stage = layers > trial->largest_stage ? layers : trial->largest_stage;
    }
}

/* ---- lines ----------------------------------------------------------------------- */

/* Of the degrees being tried; `slot` is that of growth->families. */
static uint32_t family_number(const struct growth *growth, uint32_t slot)
{
    return growth->degree_count * 2 * growth->space->axes[SEARCH_MICRO].count + slot;
}

static bool is_same_shape(const struct schedule_shape *a, const struct schedule_shape *b)
{
    return a->kind == b->kind && a->stages == b->stages && a->chunks == b->chunks &&
           a->microbatches == b->microbatches && a->file == b->file && a->group == b->group &&
           a->pairs == b->pairs;
}

/* Layers lie over stages and chunks as the space's scenario says, or as the ends: the shape tells
 * the rest. */
static struct search_crowd *crowd_of(struct growth *growth, const struct scenario *scenario)
{
    const struct schedule_shape shape = schedule_shape_of(&scenario->parallel, &scenario->batch);
    const uint64_t hash = rng_hash_pair(rng_hash_pair(shape.kind, shape.microbatches),
                                        rng_hash_pair(shape.stages, shape.chunks));
    struct known_crowd **slot = &growth->known[hash % CROWD_SLOTS];
    struct known_crowd *known = *slot;
    const int64_t *ends = growth->layout.ends;
    while (known != NULL && (!is_same_shape(&known->shape, &shape) || known->ends[0] != ends[0] ||
                             known->ends[1] != ends[1])) {
        known = known->next;
    }
    if (known == NULL) {
        known = arena_alloc(growth->kept, sizeof *known);
        *known = (struct known_crowd){
            shape, {ends[0], ends[1]}, search_crowd_new(growth->kept, scenario), *slot};
        *slot = known;
    }
    return known->crowd;
}

/* What is computed again and what goes to the host only take time: none of a line takes less than
 * its layout without either. */
static bool is_worse(struct growth *growth, struct trial *trial)
{
    static const struct recompute none = {.kind = RECOMPUTE_NONE};
    if (is_absent(growth->enough)) {
        return false;
    }
    begin_bound(growth, trial);
    const struct bound_choice choice = bound_choice_of(trial->family->bound, &none, 0);
    const struct bound bound = bound_of(trial->bound, &choice);
    return search_least_value(growth->tree->by, growth->space->base, &bound) > growth->enough;
}

static void try_line(struct growth *growth, uint32_t micro)
{
    struct scenario *scenario = growth->tried;
    struct relayout plain = growth->layout;
    plain.recompute = (struct recompute){.kind = RECOMPUTE_NONE};
    plain.offload.activation_layers = 0;
    if (!scenario_relayout_again(growth->scratch, &growth->frame, &plain, scenario,
                                 growth->unheard)) {
        return;
    }
    struct trial lacking = {.scenario = scenario, .fate = LINE_IS_LACKING};
    if (!features_hold(scenario, &growth->space->allowed, &lacking.lacks)) {
        measure_chunks(&scenario->parallel, &lacking);
        try_choices(growth, &lacking);
        return;
    }
    const uint32_t slot = 2 * micro + (growth->layout.is_sequence_parallel ? 1 : 0);
    struct family *family = &growth->families[slot];
    if (family->shape == NULL) {
        family->shape = search_shape_new(growth->degrees, growth->space, scenario);
    }
    if (growth->crowds[micro] == NULL) {
        growth->crowds[micro] = crowd_of(growth, scenario);
    }
    if (!growth->has_stock) {
        growth->stock = search_stock_of(scenario);
        growth->has_stock = true;
    }
    struct trial trial = {.scenario = scenario,
                          .family = family,
                          .family_number = family_number(growth, slot),
                          .line = UINT32_MAX};
    trial.held = search_held_of(growth->scratch, scenario, family->shape, growth->crowds[micro],
                                &growth->stock);
    measure_chunks(&scenario->parallel, &trial);
    const struct search_values *offloads = &growth->space->axes[SEARCH_OFFLOAD_LAYERS];
    double most = 0;
    for (uint32_t i = 0; i < offloads->count; i++) {
        most = fmax(most, offloads->items[i]);
    }
    const double least = search_least_of_line(&trial.held, (int64_t)most);
    if (least > growth->limit_bytes) {
        note_nearest(growth, least, &plain.recompute, 0);
        trial.fate = least <= growth->near_bytes ? LINE_IS_NEAR : LINE_IS_HOPELESS;
    } else if (is_worse(growth, &trial)) {
        trial.fate = LINE_IS_WORSE;
    }
    try_choices(growth, &trial);
}

/* ---- axes ------------------------------------------------------------------------ */

static bool has_value(const struct search_values *values, double value)
{
    for (uint32_t i = 0; i < values->count; i++) {
        if (values->items[i] >= value && values->items[i] <= value) {
            return true;
        }
    }
    return false;
}

/* Now and then: to be asked takes as long as some layouts. */
static void ask(struct growth *growth)
{
    const struct search_watch *watch = growth->watch;
    growth->is_ended =
        growth->is_ended || (growth->asked++ % ASKS_IN == 0 && watch->goes_on != NULL &&
                             !watch->goes_on(watch->context, growth->tree->layouts,
                                             growth->degree_count / growth->degrees_all));
}

static int64_t usual_group(const struct growth *growth)
{
    const int64_t said = growth->frame.microbatch_group;
    return said > 0 ? said : growth->layout.pp;
}

/* Whether replicas that take the GPUs that are left can share the batch so cut, in its groups. */
static bool shares_batch(const struct growth *growth, int64_t micro)
{
    const struct relayout *layout = &growth->layout;
    const struct scenario *base = growth->space->base;
    const int64_t dp = base->gpus / (layout->tp * layout->cp * layout->pp);
    const bool is_grouped = layout->schedule == SCHEDULE_INTERLEAVED && layout->virtual_stages > 1;
    const int64_t group =
        layout->microbatch_group > 0 ? layout->microbatch_group : usual_group(growth);
    return base->batch.global % (dp * micro) == 0 &&
           (!is_grouped ||
            feasible_group_fits(layout->pp, base->batch.global / (dp * micro), group));
}

/* However it is cut: most groups of a space with all of them go with no number of microbatches. */
static bool shares_any_batch(const struct growth *growth)
{
    const struct search_values *micros = &growth->space->axes[SEARCH_MICRO];
    uint32_t i = 0;
    while (i < micros->count && !shares_batch(growth, (int64_t)micros->items[i])) {
        i++;
    }
    return i < micros->count;
}

static void try_micros(struct growth *growth)
{
    const struct search_space *space = growth->space;
    const struct search_values *micros = &space->axes[SEARCH_MICRO];
    const struct search_values *cuts = &space->axes[SEARCH_SEQUENCE_PARALLEL];
    for (uint32_t i = 0; i < micros->count; i++) {
        growth->layout.micro = (int64_t)micros->items[i];
        if (!shares_batch(growth, growth->layout.micro)) {
            continue;
        }
        for (uint32_t k = 0; k < cuts->count; k++) {
            const bool is_cut = cuts->items[k] > 0;
            growth->layout.is_sequence_parallel = is_cut && growth->layout.tp > 1;
            const uint32_t slot = 2 * i + (growth->layout.is_sequence_parallel ? 1 : 0);
            if (!shard_has(growth->shard, family_number(growth, slot))) {
                continue;
            }
            if (is_cut && growth->layout.tp == 1 && has_value(cuts, 0)) {
                continue; /* the same without */
            }
            try_line(growth, i);
            arena_reset(growth->scratch);
            growth->unheard = diag_new_deaf(growth->scratch);
        }
    }
}

/* Values of an axis that stays, of which 0 is as the scenario has it; only the first of them where
 * it is `idle`, since all are the same there. */
static uint32_t count_unless(const struct search_values *values, bool is_idle)
{
    return is_idle && values->count > 1 ? 1 : values->count;
}

/* Until when gathered parameters are kept, which are those of zero 3. */
static void try_reshards(struct growth *growth)
{
    const struct search_values *reshards = &growth->space->axes[SEARCH_RESHARD];
    const bool is_idle = growth->layout.zero != 3;
    for (uint32_t i = 0; i < count_unless(reshards, is_idle); i++) {
        growth->layout.reshard = is_idle ? 0 : (uint32_t)reshards->items[i];
        growth->has_stock = false;
        try_micros(growth);
    }
    growth->layout.reshard = 0;
}

static void try_states(struct growth *growth)
{
    const struct search_values *zeros = &growth->space->axes[SEARCH_ZERO];
    const struct search_values *shares = &growth->space->axes[SEARCH_OFFLOAD_OPTIMIZER];
    for (uint32_t i = 0; i < zeros->count; i++) {
        growth->layout.zero = (int64_t)zeros->items[i];
        if (growth->layout.zero == 2 && growth->layout.pp > 1 && has_value(zeros, 1)) {
            continue; /* zero 1 */
        }
        if (growth->layout.zero == 0 && growth->layout.zero_group > 0 &&
            has_value(&growth->space->axes[SEARCH_ZERO_GROUP], 0)) {
            continue; /* nothing is shared out */
        }
        for (uint32_t k = 0; k < shares->count; k++) {
            growth->layout.offload.optimizer = shares->items[k];
            try_reshards(growth);
        }
    }
    ask(growth);
}

static void try_orders(struct growth *growth)
{
    const uint32_t micros = growth->space->axes[SEARCH_MICRO].count;
    for (uint32_t i = 0; i < micros; i++) {
        growth->crowds[i] = NULL;
    }
    if (!growth->is_ended) {
        try_states(growth);
    }
}

/* Whether exchanges with experts run beside another microbatch, where they may. */
static void try_overlaps(struct growth *growth)
{
    const struct search_values *overlaps = &growth->space->axes[SEARCH_OVERLAP_EXPERTS];
    const uint32_t schedule = growth->layout.schedule;
    const bool is_idle =
        growth->layout.ep == 1 || (schedule != SCHEDULE_1F1B && schedule != SCHEDULE_INTERLEAVED);
    for (uint32_t i = 0; i < count_unless(overlaps, is_idle); i++) {
        growth->layout.overlap = is_idle ? 0 : (uint32_t)overlaps->items[i];
        try_orders(growth);
    }
    growth->layout.overlap = 0;
}

/* Layers as they are, and balanced. */
static void try_stages(struct growth *growth)
{
    const struct search_values *ways = &growth->space->axes[SEARCH_LAYERS];
    for (uint32_t i = 0; i < ways->count; i++) {
        if (ways->items[i] > 0 && !search_stages_balance(growth->stages, &growth->layout)) {
            continue;
        }
        try_overlaps(growth);
        growth->layout.ends[0] = growth->layout.ends[1] = growth->layout.layers = 0;
    }
}

static void try_chunks(struct growth *growth, uint32_t schedule, int64_t virtual_stages)
{
    const struct search_values *groups = &growth->space->axes[SEARCH_MICROBATCH_GROUP];
    const bool is_idle = schedule != SCHEDULE_INTERLEAVED;
    growth->layout.schedule = schedule;
    growth->layout.virtual_stages = virtual_stages;
    for (uint32_t i = 0; i < count_unless(groups, is_idle); i++) {
        const int64_t group = is_idle ? 0 : (int64_t)groups->items[i];
        if (group == usual_group(growth) && has_value(groups, 0)) {
            continue; /* as it is where it is not said */
        }
        growth->layout.microbatch_group = group;
        if (shares_any_batch(growth)) {
            try_stages(growth);
        }
    }
    growth->layout.microbatch_group = 0;
}

static bool is_two_way(uint32_t schedule)
{
    return schedule == SCHEDULE_ZB_V || schedule == SCHEDULE_DUALPIPE ||
           schedule == SCHEDULE_DUALPIPEV;
}

/* Without a pipeline there is nothing to schedule: 1f1b, or what is named first, stands for all. */
static bool is_idle(const struct search_values *schedules, uint32_t schedule)
{
    return has_value(schedules, SCHEDULE_1F1B) ? schedule != SCHEDULE_1F1B
                                               : schedule != (uint32_t)schedules->items[0];
}

static void try_schedules(struct growth *growth)
{
    const struct search_values *schedules = &growth->space->axes[SEARCH_SCHEDULE];
    const struct search_values *chunks = &growth->space->axes[SEARCH_VIRTUAL_STAGES];
    const int64_t layers = growth->space->base->model.layers;
    for (uint32_t i = 0; i < schedules->count; i++) {
        const uint32_t schedule = (uint32_t)schedules->items[i];
        if (growth->layout.pp == 1 && is_idle(schedules, schedule)) {
            continue;
        }
        if (schedule != SCHEDULE_INTERLEAVED) {
            try_chunks(growth, schedule, is_two_way(schedule) ? 2 : 1);
            continue;
        }
        for (uint32_t k = 0; k < chunks->count; k++) {
            const int64_t count = (int64_t)chunks->items[k];
            const bool is_plain = count == 1 && has_value(schedules, SCHEDULE_1F1B);
            if (!is_plain && (growth->layout.pp > 1 || count == 1) &&
                growth->layout.pp * count <= layers + 2) {
                try_chunks(growth, count == 1 ? SCHEDULE_1F1B : schedule, count);
            }
        }
    }
}

static void try_degrees(struct growth *growth)
{
    growth->degree_count++;
    const struct relayout *layout = &growth->layout;
    const struct scenario *base = growth->space->base;
    const uint32_t micros = growth->space->axes[SEARCH_MICRO].count;
    if (growth->is_ended || layout->tp * layout->cp > base->gpus ||
        base->gpus % (layout->tp * layout->cp * layout->pp) != 0) {
        return;
    }
    arena_reset(growth->degrees);
    growth->families = arena_array(growth->degrees, 2 * (size_t)micros, sizeof *growth->families);
    memset(growth->families, 0, 2 * (size_t)micros * sizeof *growth->families);
    growth->crowds = arena_array(growth->degrees, micros, sizeof(struct search_crowd *));
    try_schedules(growth);
}

/* Which ranks are neighbours: collectives of a family are among the same. */
static void try_meshes(struct growth *growth)
{
    const struct search_values *orders = &growth->space->axes[SEARCH_ORDER];
    for (uint32_t i = 0; i < orders->count; i++) {
        growth->layout.order = (uint32_t)orders->items[i];
        if (search_order_is_new(growth->space, &growth->layout, i)) {
            try_degrees(growth);
        } else {
            growth->degree_count++;
        }
    }
    growth->layout.order = 0;
}

/* Groups over which states are shared are in common to a family, whose collectives they are. */
static void try_groups(struct growth *growth)
{
    const struct search_values *groups = &growth->space->axes[SEARCH_ZERO_GROUP];
    const struct relayout *layout = &growth->layout;
    const int64_t all = growth->space->base->gpus / (layout->tp * layout->pp);
    const int64_t usual = growth->frame.zero_group > 0 ? growth->frame.zero_group : all;
    for (uint32_t i = 0; i < groups->count; i++) {
        const int64_t group = (int64_t)groups->items[i];
        if (group == usual && has_value(groups, 0)) {
            growth->degree_count += growth->space->axes[SEARCH_ORDER].count;
            continue; /* as it is where it is not said */
        }
        growth->layout.zero_group = group;
        try_meshes(growth);
    }
    growth->layout.zero_group = 0;
}

/* With each etp: the number that is tp's is tried once. */
static void try_etps(struct growth *growth, const struct search_values *pps)
{
    const struct search_values *etps = &growth->space->axes[SEARCH_ETP];
    const int64_t tp = growth->layout.tp;
    for (uint32_t i = 0; i < etps->count; i++) {
        const int64_t etp = (int64_t)etps->items[i];
        if (etp == tp && has_value(etps, 0)) {
            continue;
        }
        growth->layout.etp = search_etp_of(growth->space, etp, tp);
        for (uint32_t pp = 0; pp < pps->count; pp++) {
            growth->layout.pp = (int64_t)pps->items[pp];
            try_groups(growth);
        }
    }
}

/* How keys and values are exchanged, where sequences are cut. */
static void try_contexts(struct growth *growth, const struct search_values *pps)
{
    const struct search_values *contexts = &growth->space->axes[SEARCH_CP_TYPE];
    const struct search_values *eps = &growth->space->axes[SEARCH_EP];
    const bool is_idle = growth->layout.cp == 1;
    for (uint32_t i = 0; i < count_unless(contexts, is_idle); i++) {
        growth->layout.context = is_idle ? 0 : (uint32_t)contexts->items[i];
        for (uint32_t ep = 0; ep < eps->count; ep++) {
            growth->layout.ep = (int64_t)eps->items[ep];
            try_etps(growth, pps);
        }
    }
    growth->layout.context = 0;
}

static void try_all(struct growth *growth)
{
    const struct search_values tps = search_axis_dividing(growth->arena, growth->space, SEARCH_TP);
    const struct search_values cps = search_axis_dividing(growth->arena, growth->space, SEARCH_CP);
    const struct search_values pps = search_axis_dividing(growth->arena, growth->space, SEARCH_PP);
    for (uint32_t tp = 0; tp < tps.count; tp++) {
        growth->layout.tp = (int64_t)tps.items[tp];
        for (uint32_t cp = 0; cp < cps.count; cp++) {
            growth->layout.cp = (int64_t)cps.items[cp];
            try_contexts(growth, &pps);
        }
    }
}

bool search_tree_grow(struct arena *arena, const struct search_growth *of,
                      const struct search_watch *watch, struct search_tree *tree)
{
    const struct search_space *space = of->space;
    *tree = (struct search_tree){.space = space, .by = of->by, .lacking.all = features_all()};
    struct growth growth = {
        .arena = arena,
        .kept = arena_new(),
        .degrees = arena_new(),
        .scratch = arena_new(),
        .space = space,
        .shard = of->shard,
        .watch = watch,
        .tree = tree,
        .layout = relayout_of(space->base),
        .limit_bytes = space->base->gpu.memory_bytes,
        .near_bytes = of->near > 0 ? space->base->gpu.memory_bytes * (1.0 + of->near) : 0,
        .enough = of->enough,
        .degrees_all = search_family_count(space) / (2.0 * space->axes[SEARCH_MICRO].count),
    };
    growth.stages = search_stages_new(growth.kept, space->base);
    growth.unheard = diag_new_deaf(growth.scratch);
    growth.tried = arena_alloc(growth.kept, sizeof *growth.tried);
    *growth.tried = *space->base;
    relayout_frame_init(space->base, &growth.frame);
    try_all(&growth);
    arena_free(growth.kept);
    arena_free(growth.degrees);
    arena_free(growth.scratch);
    return !growth.is_ended;
}

struct relayout search_leaf_layout(const struct search_tree *tree, const struct search_leaf *leaf)
{
    const struct search_space *space = tree->space;
    struct relayout layout = tree->lines[leaf->line].layout;
    layout.recompute = recompute_of(space, leaf->choice);
    layout.offload.activation_layers = leaf->offloaded;
    return layout;
}
