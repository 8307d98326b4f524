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
#include "input/features/features_used.h"
#include "input/layout.h"
#include "input/scenario.h"
#include "input/training.h"
#include "study/search/search_memory.h"
#include "study/search/search_stages.h"
#include "train/bound/bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of micro and sequence parallelism, within the degrees that are being tried. */
struct family {
    uint32_t number; /* from 1; 0: no line of it was met */
    struct search_shape *shape;
    struct scenario *scenario;
    struct bound_family *bound;
};

/* Of an order of the mesh, within the degrees, whatever zero_group. */
struct ground {
    struct bound_ground *bound; /* NULL: nobody asked */
    struct family *families;    /* [micro * 2 + is_sequence_parallel] */
    bool *is_worse;             /* [row][as families], of lines whatever they do with states */
};

/* Groups of microbatches that a pipeline with so many of these can have, and one more: the first
 * that asks for more of the software than whole pipelines stands for all such that are left out. */
struct groups {
    bool is_known;
    struct search_values fitting;
    uint64_t others; /* than whole pipelines */
};

enum { ASKS_IN = 64 };

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
    struct ground *grounds; /* [order], of the degrees */
    struct ground *ground;  /* of the order being tried */
    bool *is_new_order;     /* [order], of the degrees */
    uint32_t row;           /* of schedule, virtual stages, layers of stages and overlap: number */
    struct groups *groups;  /* [micro], of the degrees */
    bool has_cuts[2];       /* [is_sequence_parallel], of the degrees: these can be */
    struct search_crowd **crowds; /* [micro], of the schedule */
    struct search_tallies *tallies;
    struct search_lacking met; /* all layouts of the first order, with what each lacks */
    struct search_stages *stages;
    struct search_crowds *known; /* of all degrees */
    struct shard shard;
    uint32_t family_count; /* met so far */
    uint32_t degree_count; /* combinations of degrees so far: shards are dealt by them */
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
    bool has_states;          /* of it */
    bool *is_worse;           /* of the ground's */
    int64_t largest_chunk, largest_stage;
    uint32_t line; /* in the tree; UINT32_MAX: not yet there */
    enum line_fate fate;
    struct feature_set lacks; /* the software, of any layout of the line */
};

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
                                                    .family = trial->family->number};
}

static struct bound_ground *ground_of(struct growth *growth, const struct scenario *scenario)
{
    struct ground *ground = growth->ground;
    if (ground->bound == NULL) {
        ground->bound = bound_ground_new(growth->degrees, scenario);
    }
    return ground->bound;
}

/* The line's bound, and its family's, when the first layout may fit. */
static void begin_bound(struct growth *growth, struct trial *trial)
{
    struct family *family = trial->family;
    if (family->bound == NULL) {
        family->scenario = arena_alloc(growth->degrees, sizeof *family->scenario);
        *family->scenario = *trial->scenario;
        family->bound = bound_family_new(growth->degrees, ground_of(growth, family->scenario),
                                         family->scenario);
        growth->tree->families++;
    }
    trial->bound = bound_line_stateless(growth->scratch, family->bound, trial->scenario);
}

static void begin_states(struct growth *growth, struct trial *trial)
{
    if (trial->bound == NULL) {
        begin_bound(growth, trial);
    }
    if (!trial->has_states) {
        bound_line_add_states(trial->bound, trial->scenario);
        trial->has_states = true;
    }
}

static void begin_line(struct growth *growth, struct trial *trial)
{
    begin_states(growth, trial);
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

/* All layouts of so many lines of which none is looked at, or what of them the software lacks. */
static void count_line(struct growth *growth, const struct trial *trial, uint64_t lines)
{
    struct search_tree *tree = growth->tree;
    const struct search_tally *tally =
        search_tally_of(growth->tallies, trial->largest_chunk, trial->largest_stage);
    const uint64_t has = lines * (tally->layouts - tally->lacking.layouts);
    search_lacking_add_lines(&growth->met, tally, &trial->lacks, lines);
    if (trial->fate == LINE_IS_LACKING) {
        search_lacking_add_lines(&tree->lacking, tally, &trial->lacks, lines);
        return;
    }
    search_lacking_add(&tree->lacking, &tally->lacking, lines);
    tree->layouts += has;
    tree->line_layouts += trial->fate == LINE_IS_HOPELESS || trial->fate == LINE_IS_NEAR ? has : 0;
    tree->bound_layouts += trial->fate == LINE_IS_WORSE ? has : 0;
}

/* Of one recomputation, with each count of layers that go to the host. */
static void try_recompute(struct growth *growth, struct trial *trial,
                          const struct recompute *recompute, uint32_t number)
{
    const struct search_values *offloads = &growth->space->axes[SEARCH_OFFLOAD_LAYERS];
    const uint32_t plain = number < growth->space->recompute_count ? number : 0;
    for (uint32_t i = 0; i < offloads->count; i++) {
        const int64_t offloaded = (int64_t)offloads->items[i];
        struct feature_set lacks = {.lists = {0}};
        if (offloaded > trial->largest_stage ||
            search_choice_lacks(growth->space, recompute, offloaded, &lacks)) {
            continue;
        }
        const struct search_choice choice = choice_of(recompute, plain, plain, offloaded);
        const double bytes = search_least_bytes(&trial->held, &choice);
        if (trial->fate == LINE_IS_NEAR) {
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

/* Near misses of the line, from number `first` on: where another of its layouts may fit, their
 * bounds are at hand. */
static void bound_near(struct growth *growth, struct trial *trial, uint64_t first)
{
    struct search_tree *tree = growth->tree;
    for (uint64_t i = first; trial->bound != NULL && i < tree->near_count; i++) {
        struct search_leaf *leaf = &tree->near[i];
        const struct recompute recompute = search_choice_recompute(tree->space, leaf->choice);
        const struct bound_choice choice =
            bound_choice_of(trial->family->bound, &recompute, leaf->offloaded);
        const struct bound bound = bound_of(trial->bound, &choice);
        leaf->least = search_least_value(tree->by, tree->space->base, &bound);
    }
}

static void try_choices(struct growth *growth, struct trial *trial)
{
    count_line(growth, trial, 1);
    if (trial->fate != LINE_MAY_FIT && trial->fate != LINE_IS_NEAR) {
        return;
    }
    const uint64_t first_near = growth->tree->near_count;
    const struct search_space *space = growth->space;
    for (uint32_t i = 0; i < space->recompute_count; i++) {
        if (search_choice_is_in_line(space, &space->recomputes[i], trial->largest_chunk)) {
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

/* Of micro and sequence parallelism. */
static uint32_t slots_of(const struct search_space *space)
{
    return 2 * space->axes[SEARCH_MICRO].count;
}

/* Of the degrees being tried; `slot` is that of a ground's families. */
static uint32_t piece_number(const struct growth *growth, uint32_t slot)
{
    return growth->degree_count * slots_of(growth->space) + slot;
}

static struct family *family_of(struct growth *growth, uint32_t slot,
                                const struct scenario *scenario)
{
    struct family *family = &growth->ground->families[slot];
    if (family->number == 0) {
        family->number = ++growth->family_count;
        family->shape = search_shape_new(growth->degrees, growth->space, scenario);
    }
    return family;
}

/* Whether no layout of the line is as good, as far as its bound is known. */
static bool is_bound_worse(const struct growth *growth, const struct trial *trial)
{
    static const struct recompute none = {.kind = RECOMPUTE_NONE};
    const struct bound_choice choice = bound_choice_of(trial->family->bound, &none, 0);
    const struct bound bound = bound_of(trial->bound, &choice);
    return search_least_value(growth->tree->by, growth->space->base, &bound) > growth->enough;
}

/* What is computed again and what goes to the host only take time: none of a line takes less than
 * its layout without either; and none less than without exchanges of states, which is found once
 * for all that differ in these. */
static bool is_worse(struct growth *growth, struct trial *trial)
{
    if (is_absent(growth->enough)) {
        return false;
    }
    if (trial->bound == NULL) {
        begin_bound(growth, trial);
        *trial->is_worse = is_bound_worse(growth, trial);
    }
    if (!*trial->is_worse) {
        begin_states(growth, trial);
    }
    return *trial->is_worse || is_bound_worse(growth, trial);
}

/* What its layouts may need at least, whatever of them goes to the host. */
static double least_bytes(const struct growth *growth, const struct trial *trial)
{
    const struct search_values *offloads = &growth->space->axes[SEARCH_OFFLOAD_LAYERS];
    double most = 0;
    for (uint32_t i = 0; i < offloads->count; i++) {
        most = fmax(most, offloads->items[i]);
    }
    return search_least_of_line(&trial->held, (int64_t)most);
}

/* A line that the software has: what becomes of it by its memory, or by its bound. */
static void judge_line(struct growth *growth, struct trial *trial, uint32_t micro)
{
    const struct scenario *scenario = trial->scenario;
    if (growth->crowds[micro] == NULL) {
        growth->crowds[micro] = search_crowd_of(growth->known, scenario, growth->layout.ends);
    }
    if (!growth->has_stock) {
        growth->stock = search_stock_of(scenario);
        growth->has_stock = true;
    }
    trial->held = search_held_of(growth->scratch, scenario, trial->family->shape,
                                 growth->crowds[micro], &growth->stock);
    const double least = least_bytes(growth, trial);
    if (least > growth->limit_bytes) {
        note_nearest(growth, least, &scenario->recompute, 0);
        trial->fate = least <= growth->near_bytes ? LINE_IS_NEAR : LINE_IS_HOPELESS;
    } else if (is_worse(growth, trial)) {
        trial->fate = LINE_IS_WORSE;
    }
}

/* One of `alike` lines that differ in the group of microbatches alone, of which no bound knows
 * anything: true where what becomes of it becomes of all of them. */
static bool try_line(struct growth *growth, uint32_t micro, uint64_t alike)
{
    struct scenario *scenario = growth->tried;
    struct relayout plain = growth->layout;
    plain.recompute = (struct recompute){.kind = RECOMPUTE_NONE};
    plain.offload.activation_layers = 0;
    if (!scenario_relayout_again(growth->scratch, &growth->frame, &plain, scenario,
                                 growth->unheard)) {
        return true;
    }
    struct trial trial = {.scenario = scenario, .line = UINT32_MAX};
    measure_chunks(&scenario->parallel, &trial);
    if (!features_hold(scenario, &growth->space->allowed, &trial.lacks)) {
        trial.fate = LINE_IS_LACKING;
        count_line(growth, &trial, alike);
        return true;
    }
    const uint32_t slot = 2 * micro + (growth->layout.is_sequence_parallel ? 1 : 0);
    trial.family = family_of(growth, slot, scenario);
    trial.is_worse = &growth->ground->is_worse[growth->row * slots_of(growth->space) + slot];
    if (*trial.is_worse || (alike > 1 && is_worse(growth, &trial))) {
        trial.fate = LINE_IS_WORSE;
        count_line(growth, &trial, alike);
        return true;
    }
    judge_line(growth, &trial, micro);
    try_choices(growth, &trial);
    return false;
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

/* How many microbatches of a replica there are, so cut; 0: the batch cannot be. */
static int64_t microbatches_of(const struct growth *growth, int64_t micro)
{
    const struct relayout *layout = &growth->layout;
    const struct scenario *base = growth->space->base;
    const int64_t dp = base->gpus / (layout->tp * layout->cp * layout->pp);
    return base->batch.global % (dp * micro) == 0 ? base->batch.global / (dp * micro) : 0;
}

/* What whole pipelines are needs no word, and nothing of the software. */
static bool is_whole_pipeline(const struct growth *growth, double group)
{
    return (group > 0 ? (int64_t)group : usual_group(growth)) == growth->layout.pp;
}

/* The groups of microbatches that go with so many of them: of a space with all most do with none.
 */
static const struct groups *groups_of(struct growth *growth, uint32_t micro)
{
    const struct search_values *all = &growth->space->axes[SEARCH_MICROBATCH_GROUP];
    const int64_t pp = growth->layout.pp;
    struct groups *groups = &growth->groups[micro];
    if (groups->is_known) {
        return groups;
    }
    const int64_t count = microbatches_of(growth, growth->layout.micro);
    const int64_t usual = usual_group(growth);
    *groups = (struct groups){
        true, {.items = arena_array(growth->degrees, all->count, sizeof(double))}, 0};
    for (uint32_t i = 0; i < all->count; i++) {
        const int64_t group = all->items[i] > 0 ? (int64_t)all->items[i] : usual;
        const bool is_said_twice = all->items[i] > 0 && group == usual && has_value(all, 0);
        if (!is_said_twice && feasible_group_fits(pp, count, group)) {
            groups->fitting.items[groups->fitting.count++] = all->items[i];
            groups->others += !is_whole_pipeline(growth, all->items[i]);
        }
    }
    return groups;
}

static void forget_line(struct growth *growth)
{
    arena_reset(growth->scratch);
    growth->unheard = diag_new_deaf(growth->scratch);
}

/* In each group of microbatches, where there are any. */
static void try_each_group(struct growth *growth, uint32_t micro)
{
    if (growth->layout.schedule != SCHEDULE_INTERLEAVED) {
        (void)try_line(growth, micro, 1);
        forget_line(growth);
        return;
    }
    const struct groups *groups = groups_of(growth, micro);
    uint64_t alike = groups->others;
    for (uint32_t i = 0; i < groups->fitting.count; i++) {
        const double group = groups->fitting.items[i];
        const bool is_whole = is_whole_pipeline(growth, group);
        if (!is_whole && alike == 0) {
            continue;
        }
        growth->layout.microbatch_group = (int64_t)group;
        growth->crowds[micro] = NULL;
        const bool is_of_all = try_line(growth, micro, is_whole ? 1 : alike);
        alike = is_whole ? alike : is_of_all ? 0 : 1;
        forget_line(growth);
    }
    growth->layout.microbatch_group = 0;
}

static void try_micros(struct growth *growth)
{
    const struct search_space *space = growth->space;
    const struct search_values *micros = &space->axes[SEARCH_MICRO];
    const struct search_values *cuts = &space->axes[SEARCH_SEQUENCE_PARALLEL];
    for (uint32_t i = 0; i < micros->count; i++) {
        growth->layout.micro = (int64_t)micros->items[i];
        if (microbatches_of(growth, growth->layout.micro) == 0) {
            continue;
        }
        for (uint32_t k = 0; k < cuts->count; k++) {
            const bool is_cut = cuts->items[k] > 0;
            growth->layout.is_sequence_parallel = is_cut && growth->layout.tp > 1;
            const uint32_t slot = 2 * i + (growth->layout.is_sequence_parallel ? 1 : 0);
            if (!shard_has(growth->shard, piece_number(growth, slot))) {
                continue;
            }
            if (is_cut && growth->layout.tp == 1 && has_value(cuts, 0)) {
                continue; /* the same without */
            }
            if (growth->has_cuts[growth->layout.is_sequence_parallel ? 1 : 0]) {
                try_each_group(growth, i);
            }
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
        growth->row++;
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
    growth->layout.schedule = schedule;
    growth->layout.virtual_stages = virtual_stages;
    try_stages(growth);
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

static void try_degrees(struct growth *growth, struct ground *ground)
{
    const struct search_values *axes = growth->space->axes;
    const uint32_t slots = slots_of(growth->space);
    growth->ground = ground;
    growth->row = 0;
    if (growth->is_ended) {
        return;
    }
    if (ground->families == NULL) {
        const size_t rows =
            ((size_t)axes[SEARCH_SCHEDULE].count + axes[SEARCH_VIRTUAL_STAGES].count) *
            axes[SEARCH_LAYERS].count * axes[SEARCH_OVERLAP_EXPERTS].count;
        ground->families = arena_array(growth->degrees, slots, sizeof *ground->families);
        ground->is_worse = arena_array(growth->degrees, rows * slots, sizeof(bool));
    }
    try_schedules(growth);
}

/* What the software lacks of the order that is being tried. */
static uint32_t order_lacks(const struct growth *growth)
{
    const struct search_space *space = growth->space;
    return search_order_uses(space, &growth->layout) & ~space->allowed.lists[FEATURES_OPTIONS];
}

/* In an order that the software has not all is as in the first, but that it lacks that, too. */
static void count_order(struct growth *growth, const struct search_lacking *first, uint32_t lacks)
{
    struct search_lacking all = *first;
    all.any.lists[FEATURES_OPTIONS] |= lacks;
    all.all.lists[FEATURES_OPTIONS] |= lacks;
    search_lacking_add(&growth->tree->lacking, &all, 1);
}

/* Which ranks are neighbours: collectives of a family are among the same. */
static void try_meshes(struct growth *growth)
{
    const struct search_values *orders = &growth->space->axes[SEARCH_ORDER];
    struct search_lacking first = {.layouts = 0}; /* as growth->met, of an order the software has */
    for (uint32_t i = 0; i < orders->count; i++) {
        growth->degree_count++;
        growth->layout.order = (uint32_t)orders->items[i];
        if (!growth->is_new_order[i]) {
            continue;
        }
        const uint32_t lacks = order_lacks(growth);
        if (lacks != 0 && first.layouts > 0) {
            count_order(growth, &first, lacks);
            continue;
        }
        growth->met = (struct search_lacking){.all = features_all()};
        try_degrees(growth, &growth->grounds[i]);
        if (lacks == 0 && growth->shard.count == 0) {
            first = growth->met;
        }
    }
    growth->layout.order = 0;
}

/* What is kept for degrees, whatever zero_group. */
static void begin_degrees(struct growth *growth)
{
    const struct search_values *orders = &growth->space->axes[SEARCH_ORDER];
    const uint32_t micros = growth->space->axes[SEARCH_MICRO].count;
    arena_reset(growth->degrees);
    growth->grounds = arena_array(growth->degrees, orders->count, sizeof *growth->grounds);
    growth->is_new_order = arena_array(growth->degrees, orders->count, sizeof(bool));
    growth->groups = arena_array(growth->degrees, micros, sizeof *growth->groups);
    growth->crowds = arena_array(growth->degrees, micros, sizeof(struct search_crowd *));
    search_orders_new(growth->space, &growth->layout, growth->is_new_order);
}

/* Sequences that are cut along tp or not, whatever schedule and batch. */
static void find_cuts(struct growth *growth)
{
    for (uint32_t i = 0; i < 2; i++) {
        growth->layout.is_sequence_parallel = i != 0;
        growth->has_cuts[i] = relayout_has_cuts(growth->scratch, &growth->frame, &growth->layout,
                                                growth->tried, growth->unheard);
        forget_line(growth);
    }
}

static bool has_degrees(struct growth *growth)
{
    const bool has = relayout_has_degrees(growth->scratch, &growth->frame, &growth->layout,
                                          growth->tried, growth->unheard);
    forget_line(growth);
    return has;
}

/* Groups over which states are shared: of a family only these exchanges hang on them. */
static void try_groups(struct growth *growth)
{
    const struct search_values *groups = &growth->space->axes[SEARCH_ZERO_GROUP];
    const struct relayout *layout = &growth->layout;
    const int64_t all = growth->space->base->gpus / (layout->tp * layout->pp);
    const int64_t usual = growth->frame.zero_group > 0 ? growth->frame.zero_group : all;
    bool has_begun = false;
    if (growth->space->base->gpus % (layout->tp * layout->cp * layout->pp) != 0) {
        growth->degree_count += groups->count * growth->space->axes[SEARCH_ORDER].count;
        return;
    }
    for (uint32_t i = 0; i < groups->count; i++) {
        const int64_t group = (int64_t)groups->items[i];
        const bool is_said_twice = group == usual && has_value(groups, 0);
        growth->layout.zero_group = group;
        if (is_said_twice || !has_degrees(growth)) {
            growth->degree_count += growth->space->axes[SEARCH_ORDER].count;
            continue; /* as it is where it is not said, or cannot be */
        }
        if (!has_begun) {
            begin_degrees(growth);
            find_cuts(growth);
            has_begun = true;
        }
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
    growth.known = search_crowds_new(growth.kept);
    growth.tallies = search_tallies_new(growth.kept, space);
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
    layout.recompute = search_choice_recompute(space, leaf->choice);
    layout.offload.activation_layers = leaf->offloaded;
    return layout;
}
