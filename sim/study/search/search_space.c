/* A row for each axis says what a value of it is.
 */
#include "study/search/search_space.h"

#include "base/arena.h"
#include "input/doc/doc.h"
#include "input/gpu.h"
#include "input/model.h"
#include "input/scenario.h"
#include "input/software.h"
#include "input/study/study_keys.h"
#include "input/features/features.h"
#include "input/layout.h"
#include "input/job/parallel_order.h"
#include "input/training.h"
#include "study/search/search_software.h"
#include "study/search/search_stages.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    VALUES_MAX = 100 * 1000, /* of an axis */
    DEGREE_MAX = 1000 * 1000,
    LAYERS_MAX = 10 * 1000
};

enum value_kind {
    VALUE_COUNT,
    VALUE_ETP,
    VALUE_ORDER,
    VALUE_WORD,
    VALUE_BOOL,
    VALUE_SHARE,
    VALUE_RECOMPUTE
};

static const char *const booleans[] = {"false", "true"};
static const char *const stage_words[] = {"even", "balanced"};

struct axis_row {
    const char *path;
    enum value_kind kind;
    uint32_t first; /* what the first word is counted as */
    int64_t least, most;
    const char *const *words;
};

/* X(axis, path, and the rest of a struct axis_row) */
#define AXES(X)                                                                           \
    X(TP, "parallel.tp", VALUE_COUNT, 0, 1, DEGREE_MAX, NULL)                             \
    X(CP, "parallel.cp", VALUE_COUNT, 0, 1, DEGREE_MAX, NULL)                             \
    X(EP, "parallel.ep", VALUE_COUNT, 0, 1, DEGREE_MAX, NULL)                             \
    X(ETP, "parallel.etp", VALUE_ETP, 0, 1, DEGREE_MAX, NULL)                             \
    X(PP, "parallel.pp", VALUE_COUNT, 0, 1, DEGREE_MAX, NULL)                             \
    X(VIRTUAL_STAGES, "parallel.virtual_stages", VALUE_COUNT, 0, 1, LAYERS_MAX, NULL)     \
    X(SCHEDULE, "parallel.schedule", VALUE_WORD, 0, 0, SCHEDULE_FILE - 1, schedule_names) \
    X(ZERO, "parallel.zero", VALUE_COUNT, 0, 0, 3, NULL)                                  \
    X(SEQUENCE_PARALLEL, "parallel.sequence_parallel", VALUE_BOOL, 0, 0, 1, booleans)     \
    X(MICRO, "batch.micro", VALUE_COUNT, 0, 1, DEGREE_MAX, NULL)                          \
    X(RECOMPUTE, "recompute", VALUE_RECOMPUTE, 0, 0, 0, NULL)                             \
    X(CP_TYPE, "parallel.cp_type", VALUE_WORD, 1, 0, CONTEXT_COUNT_ - 1, context_names)   \
    X(LAYERS, "parallel.layers_per_stage", VALUE_WORD, 0, 0, 1, stage_words)              \
    X(ZERO_GROUP, "parallel.zero_group", VALUE_COUNT, 0, 1, DEGREE_MAX, NULL)             \
    X(MICROBATCH_GROUP, "parallel.microbatch_group", VALUE_COUNT, 0, 1, DEGREE_MAX, NULL) \
    X(RESHARD, "parallel.reshard", VALUE_WORD, 1, 0, RESHARD_COUNT_ - 1, reshard_names)   \
    X(OVERLAP_EXPERTS, "parallel.overlap_experts", VALUE_BOOL, 1, 0, 1, booleans)         \
    X(ORDER, "parallel.order", VALUE_ORDER, 0, 0, 0, NULL)                                \
    X(OFFLOAD_OPTIMIZER, "offload.optimizer", VALUE_SHARE, 0, 0, 1, NULL)                 \
    X(OFFLOAD_LAYERS, "offload.activation_layers", VALUE_COUNT, 0, 0, LAYERS_MAX, NULL)
#define AXIS_ROW(axis, ...) [SEARCH_##axis] = {__VA_ARGS__},
#define AXIS_PATH(axis, path, ...) [SEARCH_##axis] = (path),
static const struct axis_row rows[SEARCH_AXIS_COUNT_] = {AXES(AXIS_ROW)};
const char *const search_axis_paths[SEARCH_AXIS_COUNT_] = {AXES(AXIS_PATH)};

const char *search_axis_word(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL ? dot + 1 : path;
}

/* What is being read. */
struct reading {
    struct arena *arena;
    struct search_space *space;
    struct diag *diag;
    size_t capacities[SEARCH_AXIS_COUNT_];
    size_t recompute_capacity;
    bool is_named[SEARCH_AXIS_COUNT_], is_of_file[SEARCH_AXIS_COUNT_]; /* --set may name it, too */
    const bool *is_free; /* of each axis; NULL: all are */
};

/* ---- values ------------------------------------------------------------------------------ */

static bool add_value(struct reading *reading, enum search_axis axis, double value)
{
    struct search_values *values = &reading->space->axes[axis];
    for (uint32_t i = 0; i < values->count; i++) {
        if (values->items[i] >= value && values->items[i] <= value) {
            return true;
        }
    }
    values->items = arena_grow(reading->arena, values->items, &reading->capacities[axis],
                               values->count + 1u, sizeof *values->items);
    values->items[values->count++] = value;
    return true;
}

/* "1..8": the numbers of both ends, in `least` to `most`. False: it is no range; *is_good: or a
 * good one. */
static bool read_range(struct reading *reading, const struct doc_node *node,
                       const struct axis_row *row, int64_t ends[2], bool *is_good)
{
    const char *dots = node->kind == DOC_SCALAR ? strstr(node->text, "..") : NULL;
    *is_good = false;
    if (dots == NULL) {
        return false;
    }
    struct doc_node from = *node;
    struct doc_node to = *node;
    from.text = arena_strndup(reading->arena, node->text, (size_t)(dots - node->text));
    to.text = dots + 2;
    if (!doc_node_count(&from, row->least, row->most, &ends[0], reading->diag) ||
        !doc_node_count(&to, row->least, row->most, &ends[1], reading->diag)) {
        return true;
    }
    if (ends[1] < ends[0] || ends[1] - ends[0] >= VALUES_MAX) {
        diag_add(reading->diag, DIAG_INPUT, &node->place, "the range '%s' of '%s' %s", node->text,
                 row->path, ends[1] < ends[0] ? "has no values" : "is too long");
        diag_help(reading->diag, "write the smaller end first, like 1..8");
        return true;
    }
    *is_good = true;
    return true;
}

static bool add_word(struct reading *reading, enum search_axis axis, const struct doc_node *node)
{
    const struct axis_row *row = &rows[axis];
    const uint32_t count = (uint32_t)row->most + 1;
    for (uint32_t i = 0; node->kind == DOC_SCALAR && i < count; i++) {
        if (strcmp(row->words[i], node->text) == 0) {
            return add_value(reading, axis, i + row->first);
        }
    }
    const char *text = node->kind == DOC_SCALAR ? node->text : "a list";
    diag_add(reading->diag, DIAG_INPUT, &node->place, "'%s' cannot be %.40s", row->path, text);
    diag_help_nearest(
        reading->diag, diag_nearest(text, row->words, count),
        arena_printf(reading->arena, "`stoker help search.%s` says what it may be", row->path));
    return false;
}

static bool add_count(struct reading *reading, enum search_axis axis, const struct doc_node *node)
{
    const struct axis_row *row = &rows[axis];
    int64_t ends[2] = {0, 0};
    bool is_good;
    if (read_range(reading, node, row, ends, &is_good)) {
        for (int64_t i = ends[0]; is_good && i <= ends[1]; i++) {
            add_value(reading, axis, (double)i);
        }
        return is_good;
    }
    return doc_node_count(node, row->least, row->most, &ends[0], reading->diag) &&
           add_value(reading, axis, (double)ends[0]);
}

/* A count, or the word for what etp is where it is not written. */
static bool add_etp(struct reading *reading, const struct doc_node *node)
{
    if (doc_is(node, "tp")) {
        return add_value(reading, SEARCH_ETP, 0);
    }
    if (add_count(reading, SEARCH_ETP, node)) {
        return true;
    }
    diag_help(reading->diag, "or tp: experts are cut as layers are");
    return false;
}

static bool add_order(struct reading *reading, const struct doc_node *node)
{
    uint8_t order[AXIS_COUNT_];
    if (node->kind == DOC_SCALAR && parallel_order_parse(node->text, order)) {
        return add_value(reading, SEARCH_ORDER, parallel_order_number(order));
    }
    diag_add(reading->diag, DIAG_INPUT, &node->place,
             "order '%.40s' does not name each of tp, cp, ep, dp and pp once",
             node->kind == DOC_SCALAR ? node->text : "");
    diag_help(reading->diag, "write it like tp-cp-ep-pp-dp, neighbours in a node first");
    return false;
}

/* ---- recomputation ----------------------------------------------------------------------- */

static bool add_recompute(struct reading *reading, struct recompute recompute)
{
    struct search_space *space = reading->space;
    for (uint32_t i = 0; i < space->recompute_count; i++) {
        const struct recompute *other = &space->recomputes[i];
        if (other->kind == recompute.kind && other->modules == recompute.modules &&
            other->layers == recompute.layers) {
            return true;
        }
    }
    space->recomputes = arena_grow(reading->arena, space->recomputes, &reading->recompute_capacity,
                                   space->recompute_count + 1u, sizeof *space->recomputes);
    space->recomputes[space->recompute_count++] = recompute;
    return true;
}

/* Of SELECTIVE by itself: the usual modules (input/training). */
static struct recompute selective_of(const struct scenario *base)
{
    const bool is_fused = base->software.attention != ATTENTION_UNFUSED;
    return (struct recompute){
        .kind = RECOMPUTE_SELECTIVE,
        .modules = is_fused ? 1u << RECOMPUTE_NORM | 1u << RECOMPUTE_ACTIVATION
                            : 1u << RECOMPUTE_CORE_ATTENTION,
    };
}

static bool add_layer_counts(struct reading *reading, const struct doc_node *node)
{
    static const struct axis_row row = {"recompute.layers", VALUE_COUNT, 0, 0, LAYERS_MAX, NULL};
    int64_t ends[2] = {0, 0};
    bool is_good;
    if (doc_is(node, "all")) {
        reading->space->has_every_count = true;
        return add_recompute(reading, (struct recompute){.kind = RECOMPUTE_FULL});
    }
    if (!read_range(reading, node, &row, ends, &is_good)) {
        is_good = doc_node_count(node, row.least, row.most, &ends[0], reading->diag);
        ends[1] = ends[0];
    }
    for (int64_t i = ends[0]; is_good && i <= ends[1]; i++) {
        const struct recompute full = {.kind = RECOMPUTE_FULL, .layers = i};
        const struct recompute none = {.kind = RECOMPUTE_NONE};
        add_recompute(reading, i > 0 ? full : none);
    }
    return is_good;
}

static bool add_modules(struct reading *reading, const struct doc_node *list)
{
    uint32_t modules = 0;
    for (const struct doc_node *item = list->child; item != NULL; item = item->next) {
        uint32_t i = 0;
        while (i < RECOMPUTE_MODULE_COUNT_ &&
               (item->kind != DOC_SCALAR || strcmp(item->text, recompute_module_names[i]) != 0)) {
            i++;
        }
        if (i == RECOMPUTE_MODULE_COUNT_) {
            diag_add(reading->diag, DIAG_INPUT, &item->place, "there is no module '%.40s'",
                     item->kind == DOC_SCALAR ? item->text : "");
            diag_help_nearest(
                reading->diag,
                item->kind == DOC_SCALAR
                    ? diag_nearest(item->text, recompute_module_names, RECOMPUTE_MODULE_COUNT_)
                    : NULL,
                "`stoker help recompute.modules` lists them");
            return false;
        }
        modules |= 1u << i;
    }
    if (modules == 0) {
        diag_add(reading->diag, DIAG_INPUT, &list->place, "modules needs a list of modules");
        diag_help(reading->diag, "write it like {modules: [norm, activation]}");
        return false;
    }
    return add_recompute(reading,
                         (struct recompute){.kind = RECOMPUTE_SELECTIVE, .modules = modules});
}

static bool add_recompute_node(struct reading *reading, const struct doc_node *node)
{
    if (node->kind == DOC_MAPPING && node->child != NULL && node->child->next == NULL) {
        const struct doc_node *child = node->child;
        if (strcmp(child->key, "layers") == 0) {
            return add_layer_counts(reading, child);
        }
        if (strcmp(child->key, "modules") == 0) {
            return add_modules(reading, child);
        }
    }
    for (uint32_t i = 0; node->kind == DOC_SCALAR && i < RECOMPUTE_COUNT_; i++) {
        if (strcmp(node->text, recompute_names[i]) == 0) {
            return add_recompute(reading, i == RECOMPUTE_SELECTIVE
                                              ? selective_of(reading->space->base)
                                              : (struct recompute){.kind = i});
        }
    }
    diag_add(reading->diag, DIAG_INPUT, &node->place, "recompute cannot be that");
    diag_help(reading->diag, "write none, selective, full, {layers: 1..8} or {modules: [norm]}");
    return false;
}

/* ---- axes ---------------------------------------------------------------------------------- */

static bool add_node(struct reading *reading, enum search_axis axis, const struct doc_node *node)
{
    double share = 0;
    switch (rows[axis].kind) {
    case VALUE_COUNT:
        return add_count(reading, axis, node);
    case VALUE_ETP:
        return add_etp(reading, node);
    case VALUE_ORDER:
        return add_order(reading, node);
    case VALUE_WORD:
    case VALUE_BOOL:
        return add_word(reading, axis, node);
    case VALUE_SHARE:
        return doc_node_quantity(node, DIM_FRACTION, 0, 1, &share, reading->diag) &&
               add_value(reading, axis, share);
    case VALUE_RECOMPUTE:
        return add_recompute_node(reading, node);
    }
    return false;
}

static bool read_axis(struct reading *reading, enum search_axis axis, const struct doc_node *node)
{
    struct search_values *values = &reading->space->axes[axis];
    values->count = 0;
    values->is_all = false;
    if (axis == SEARCH_RECOMPUTE) {
        reading->space->recompute_count = 0;
    }
    if (doc_is(node, "all")) {
        values->is_all = true;
        return true;
    }
    if (node->kind == DOC_NULL || (node->kind == DOC_SEQUENCE && node->child == NULL)) {
        diag_add(reading->diag, DIAG_INPUT, &node->place, "'%s' has no values to search",
                 rows[axis].path);
        diag_help(reading->diag, "write a list, a range like 1..8, or all; or leave it out");
        return false;
    }
    if (node->kind != DOC_SEQUENCE) {
        return add_node(reading, axis, node);
    }
    bool is_good = true;
    for (const struct doc_node *item = node->child; item != NULL; item = item->next) {
        is_good = add_node(reading, axis, item) && is_good;
    }
    return is_good;
}

static bool read_key(struct reading *reading, const char *path, const struct doc_node *node)
{
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        if (strcmp(path, rows[i].path) != 0) {
            continue;
        }
        const bool is_of_file = node->place.line > 0;
        if (is_of_file && reading->is_of_file[i]) {
            diag_add(reading->diag, DIAG_INPUT, &node->key_place, "'%s' is searched twice", path);
            diag_help(reading->diag, "keep one; it may be dotted or nested");
            return false;
        }
        reading->is_of_file[i] = is_of_file;
        reading->is_named[i] = true;
        if (reading->is_free != NULL && !reading->is_free[i]) {
            return true;
        }
        return read_axis(reading, (enum search_axis)i, node);
    }
    sim_assert(false); /* study_check_search knows the same paths, study/policy those of a run */
    return false;
}

static bool read_keys(struct reading *reading, const struct doc_node *search)
{
    const struct doc_leaves leaves = study_search_leaves(reading->arena, search);
    bool is_good = true;
    for (size_t i = 0; i < leaves.count; i++) {
        is_good = read_key(reading, leaves.items[i].path, leaves.items[i].node) && is_good;
    }
    return is_good;
}

/* ---- all ------------------------------------------------------------------------------------ */

static void add_divisors(struct reading *reading, enum search_axis axis, int64_t whole)
{
    for (int64_t i = 1; i <= whole; i++) {
        if (whole % i == 0) {
            add_value(reading, axis, (double)i);
        }
    }
}

static void add_numbers(struct reading *reading, enum search_axis axis, int64_t least, int64_t most)
{
    for (int64_t i = least; i <= most; i++) {
        add_value(reading, axis, (double)i);
    }
}

/* None, each set of modules that the model has, and full of every count of layers. */
static void add_every_recompute(struct reading *reading)
{
    const struct scenario *base = reading->space->base;
    uint32_t has = 0;
    for (uint32_t i = 0; i < RECOMPUTE_MODULE_COUNT_; i++) {
        has |= training_has_module(&base->model, i) ? 1u << i : 0;
    }
    add_recompute(reading, (struct recompute){.kind = RECOMPUTE_NONE});
    for (uint32_t modules = 1; modules < 1u << RECOMPUTE_MODULE_COUNT_; modules++) {
        if ((modules & ~has) == 0) {
            add_recompute(reading,
                          (struct recompute){.kind = RECOMPUTE_SELECTIVE, .modules = modules});
        }
    }
    add_recompute(reading, (struct recompute){.kind = RECOMPUTE_FULL});
    reading->space->has_every_count = true;
}

static void add_every_order(struct reading *reading)
{
    double orders[SEARCH_ORDERS_MAX];
    const uint32_t count = search_orders_all(reading->space->base, orders);
    for (uint32_t i = 0; i < count; i++) {
        add_value(reading, SEARCH_ORDER, orders[i]);
    }
}

/* As the scenario has it, and each of the other words. */
static void add_others(struct reading *reading, enum search_axis axis)
{
    if (axis == SEARCH_ORDER) {
        add_every_order(reading);
        return;
    }
    const struct parallel *parallel = &reading->space->base->parallel;
    const uint32_t now = axis == SEARCH_CP_TYPE   ? parallel->context
                         : axis == SEARCH_RESHARD ? parallel->reshard
                                                  : parallel->overlaps_experts;
    add_value(reading, axis, 0);
    for (uint32_t i = 0; i <= (uint32_t)rows[axis].most; i++) {
        if (i != now) {
            add_value(reading, axis, i + rows[axis].first);
        }
    }
}

/* As tp, and each number of GPUs by which experts can be cut. */
static void add_every_etp(struct reading *reading)
{
    const struct scenario *base = reading->space->base;
    add_value(reading, SEARCH_ETP, 0);
    for (int64_t i = 1; i <= base->gpus && i <= base->model.expert_hidden; i++) {
        if (base->gpus % i == 0 && base->model.expert_hidden % i == 0) {
            add_value(reading, SEARCH_ETP, (double)i);
        }
    }
}

static int64_t experts_of(const struct scenario *base)
{
    return base->model.experts > 0 ? base->model.experts + base->routing.redundant_experts : 1;
}

static void add_all(struct reading *reading, enum search_axis axis)
{
    const struct scenario *base = reading->space->base;
    if (axis == SEARCH_ZERO_GROUP || axis == SEARCH_MICROBATCH_GROUP) {
        add_value(reading, axis, 0); /* as it is where nobody says */
    }
    switch (axis) {
    case SEARCH_TP:
    case SEARCH_CP:
    case SEARCH_PP:
    case SEARCH_ZERO_GROUP:
        add_divisors(reading, axis, base->gpus);
        return;
    case SEARCH_EP:
        add_divisors(reading, axis, experts_of(base));
        return;
    case SEARCH_ETP:
        add_every_etp(reading);
        return;
    case SEARCH_VIRTUAL_STAGES:
        add_numbers(reading, axis, 2, base->model.layers / 2 + 1);
        return;
    case SEARCH_SCHEDULE:
    case SEARCH_ZERO:
    case SEARCH_SEQUENCE_PARALLEL:
    case SEARCH_LAYERS:
    case SEARCH_OFFLOAD_OPTIMIZER:
        add_numbers(reading, axis, rows[axis].least, rows[axis].most);
        return;
    case SEARCH_MICRO:
        add_divisors(reading, axis, base->batch.global);
        return;
    case SEARCH_RECOMPUTE:
        add_every_recompute(reading);
        return;
    case SEARCH_CP_TYPE:
    case SEARCH_RESHARD:
    case SEARCH_OVERLAP_EXPERTS:
    case SEARCH_ORDER:
        add_others(reading, axis);
        return;
    case SEARCH_MICROBATCH_GROUP:
        add_numbers(reading, axis, 2, base->batch.global);
        return;
    case SEARCH_OFFLOAD_LAYERS:
        add_numbers(reading, axis, 0, base->model.layers);
        return;
    case SEARCH_AXIS_COUNT_:
        return;
    }
}

/* Balanced stages are said by layers_per_stage, which then has to be left to the search. */
static bool check_stages(struct reading *reading, const struct doc_node *search)
{
    const struct search_values *ways = &reading->space->axes[SEARCH_LAYERS];
    if (!search_axis_is_written(reading->space->base, SEARCH_LAYERS) || ways->count == 0 ||
        (ways->count == 1 && ways->items[0] <= 0)) {
        return true;
    }
    const struct doc_node *node = doc_find(search, rows[SEARCH_LAYERS].path);
    diag_add(reading->diag, DIAG_INPUT, node != NULL ? &node->place : NULL,
             "layers_per_stage is searched, but the scenario says what stages have");
    diag_help(reading->diag,
              "leave layers_per_stage, first_stage_layers, last_stage_layers and the "
              "slots out of `parallel`, or this out of `search`");
    return false;
}

/* Whether the layouts' value of an axis is the search's choice, or what follows from its choices:
 * not where the scenario says what stays. */
static bool is_chosen(const struct reading *reading, enum search_axis axis)
{
    const bool stays = axis >= SEARCH_STAYING;
    return reading->is_named[axis] ||
           (axis < SEARCH_OFFLOAD_OPTIMIZER &&
            !(stays && search_axis_is_written(reading->space->base, axis)));
}

/* What `search:` names, and of axes that have all of it what they have. */
static bool finish(struct reading *reading, const struct doc_node *document)
{
    struct search_space *space = reading->space;
    const struct doc_node *search = doc_find(document, "search");
    if (search != NULL && search->kind != DOC_NULL &&
        (!study_check_search(reading->arena, search, reading->diag) ||
         !read_keys(reading, search))) {
        return false;
    }
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        if (space->axes[i].is_all) {
            add_all(reading, (enum search_axis)i);
        }
    }
    if (!check_stages(reading, search)) {
        return false;
    }
    space->has_written_etp = doc_find(space->base->document, rows[SEARCH_ETP].path) != NULL;
    if (space->base->model.experts == 0) { /* nothing is cut by it */
        space->axes[SEARCH_ETP].count = 0;
        add_value(reading, SEARCH_ETP, 0);
    }
    space->axes[SEARCH_RECOMPUTE].count = space->recompute_count + (space->has_every_count ? 1 : 0);
    bool is_free[SEARCH_AXIS_COUNT_];
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        is_free[i] = reading->is_free != NULL ? reading->is_free[i]
                                              : is_chosen(reading, (enum search_axis)i);
    }
    space->allowed = search_software_allowed(space, is_free);
    return true;
}

static void add_usual(struct reading *reading, enum search_axis axis);

bool search_space_read(struct arena *arena, const struct doc_node *document,
                       const struct scenario *base, struct search_space *space, struct diag *diag)
{
    struct reading reading = {.arena = arena, .space = space, .diag = diag};
    *space = (struct search_space){.base = base};
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        space->axes[i].is_all = true;
    }
    space->axes[SEARCH_ETP].is_all = false; /* all: four times the layouts, seldom a better one */
    add_usual(&reading, SEARCH_ETP);
    for (uint32_t i = SEARCH_STAYING; i < SEARCH_AXIS_COUNT_; i++) {
        space->axes[i].is_all = false;
    }
    for (uint32_t i = SEARCH_STAYING; i < SEARCH_OFFLOAD_OPTIMIZER; i++) {
        add_value(&reading, (enum search_axis)i, 0);
    }
    add_value(&reading, SEARCH_OFFLOAD_OPTIMIZER, base->offload.optimizer);
    add_value(&reading, SEARCH_OFFLOAD_LAYERS, (double)base->offload.activation_layers);
    return finish(&reading, document);
}

/* ---- some axes ----------------------------------------------------------------------------- */

static void add_divisors_to(struct reading *reading, enum search_axis axis, int64_t most)
{
    for (int64_t i = 1; i <= most; i++) {
        if (reading->space->base->gpus % i == 0) {
            add_value(reading, axis, (double)i);
        }
    }
}

static void add_contexts_had(struct reading *reading)
{
    const struct scenario *base = reading->space->base;
    const uint32_t contexts = base->software.has.lists[FEATURES_CONTEXT];
    const uint32_t allowed = contexts == 0 ? UINT32_MAX : contexts;
    add_value(reading, SEARCH_CP_TYPE, 0);
    for (uint32_t i = 0; i < CONTEXT_COUNT_; i++) {
        if (i != base->parallel.context && (allowed >> i & 1u) != 0) {
            add_value(reading, SEARCH_CP_TYPE, i + rows[SEARCH_CP_TYPE].first);
        }
    }
}

static void add_overlap_had(struct reading *reading)
{
    const struct scenario *base = reading->space->base;
    const uint32_t overlaps = base->software.has.lists[FEATURES_OVERLAPS];
    add_value(reading, SEARCH_OVERLAP_EXPERTS, 0);
    if ((overlaps >> HAS_EXPERTS & 1u) != 0 && !base->parallel.overlaps_experts) {
        add_value(reading, SEARCH_OVERLAP_EXPERTS, 1.0 + rows[SEARCH_OVERLAP_EXPERTS].first);
    }
}

/* The other order that a framework has a word for, where the software says that it has it. */
static void add_order_had(struct reading *reading)
{
    const struct scenario *base = reading->space->base;
    const uint32_t number = parallel_order_number(parallel_order_pp_before_dp);
    add_value(reading, SEARCH_ORDER, 0);
    if ((base->software.has.lists[FEATURES_OPTIONS] >> HAS_PP_BEFORE_DP & 1u) != 0 &&
        number != parallel_order_number(base->parallel.order)) {
        add_value(reading, SEARCH_ORDER, number);
    }
}

/* States that are shared inside of a scale-up domain, with copies in the others, likewise. */
static void add_zero_group_had(struct reading *reading)
{
    const struct scenario *base = reading->space->base;
    const int64_t domain = base->cluster.gpus_per_node * base->cluster.domain_nodes;
    add_value(reading, SEARCH_ZERO_GROUP, 0);
    if ((base->software.has.lists[FEATURES_ZERO] >> HAS_GROUPS & 1u) != 0) {
        add_value(reading, SEARCH_ZERO_GROUP, (double)domain);
    }
}

/* Powers of two, likewise. */
static void add_microbatch_group_had(struct reading *reading)
{
    const struct scenario *base = reading->space->base;
    const uint32_t options = base->software.has.lists[FEATURES_OPTIONS];
    add_value(reading, SEARCH_MICROBATCH_GROUP, 0);
    const bool has = (options >> HAS_MICROBATCH_GROUP & 1u) != 0;
    for (int64_t i = 4; has && i <= USUAL_GROUP_MAX; i *= 2) {
        add_value(reading, SEARCH_MICROBATCH_GROUP, (double)i);
    }
}

/* Of an axis whose usual values hang on what the software has. */
static void add_had(struct reading *reading, enum search_axis axis)
{
    if (axis == SEARCH_CP_TYPE) {
        add_contexts_had(reading);
    } else if (axis == SEARCH_OVERLAP_EXPERTS) {
        add_overlap_had(reading);
    } else if (axis == SEARCH_ORDER) {
        add_order_had(reading);
    } else if (axis == SEARCH_ZERO_GROUP) {
        add_zero_group_had(reading);
    } else {
        add_microbatch_group_had(reading);
    }
}

/* The usual values of a free axis. */
static void add_usual(struct reading *reading, enum search_axis axis)
{
    const struct scenario *base = reading->space->base;
    const int64_t domain = base->cluster.gpus_per_node * base->cluster.domain_nodes;
    switch (axis) {
    case SEARCH_TP:
        add_divisors_to(reading, axis, domain < USUAL_TP_MAX ? domain : USUAL_TP_MAX);
        return;
    case SEARCH_CP:
        add_value(reading, axis, 1);
        add_divisors_to(reading, axis, base->batch.sequence_length / USUAL_TOKENS);
        return;
    case SEARCH_ETP:
        add_value(reading, axis, 0);
        add_value(reading, axis, 1);
        return;
    case SEARCH_CP_TYPE:
    case SEARCH_OVERLAP_EXPERTS:
    case SEARCH_ORDER:
    case SEARCH_ZERO_GROUP:
    case SEARCH_MICROBATCH_GROUP:
        add_had(reading, axis);
        return;
    case SEARCH_MICRO:
        for (int64_t micro = 1; micro <= 4; micro *= 2) {
            add_value(reading, axis, (double)micro);
        }
        return;
    case SEARCH_SCHEDULE:
        add_value(reading, axis, SCHEDULE_1F1B);
        add_value(reading, axis, SCHEDULE_INTERLEAVED);
        return;
    case SEARCH_ZERO:
        add_value(reading, axis, 1);
        add_value(reading, axis, 3);
        return;
    case SEARCH_RESHARD:
        add_others(reading, axis);
        return;
    case SEARCH_RECOMPUTE:
        add_recompute(reading, (struct recompute){.kind = RECOMPUTE_NONE});
        add_recompute(reading, selective_of(base));
        add_recompute(reading, search_software_selective(base, selective_of(base)));
        add_recompute(reading, (struct recompute){.kind = RECOMPUTE_FULL});
        return;
    default:
        reading->space->axes[axis].is_all = true;
        return;
    }
}

static double number_of(const struct relayout *layout, enum search_axis axis);

/* As it is written: what the base makes of it depends on its own layout (without tensor parallelism
 * nothing is cut along the sequence). What is not written, or is no word, is as the base has it. */
static bool add_fixed(struct reading *reading, enum search_axis axis)
{
    const struct scenario *base = reading->space->base;
    if (axis == SEARCH_RECOMPUTE) {
        return add_recompute(reading, base->recompute);
    }
    const struct doc_node *node = doc_find(base->document, rows[axis].path);
    const struct relayout layout = relayout_of(base);
    if (axis == SEARCH_ETP) {
        return add_value(reading, axis, (double)layout.etp);
    }
    if (axis >= SEARCH_STAYING && axis < SEARCH_OFFLOAD_OPTIMIZER) {
        return add_value(reading, axis, 0);
    }
    return node != NULL && node->kind == DOC_SCALAR
               ? add_node(reading, axis, node)
               : add_value(reading, axis, number_of(&layout, axis));
}

bool search_space_of_free(struct arena *arena, const struct doc_node *document,
                          const struct scenario *base, const bool is_free[SEARCH_AXIS_COUNT_],
                          struct search_space *space, struct diag *diag)
{
    struct reading reading = {.arena = arena, .space = space, .diag = diag, .is_free = is_free};
    *space = (struct search_space){.base = base};
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        if (is_free[i]) {
            add_usual(&reading, (enum search_axis)i);
        } else if (!add_fixed(&reading, (enum search_axis)i)) {
            return false;
        }
    }
    return finish(&reading, document);
}

bool search_space_usual(struct arena *arena, const struct doc_node *document,
                        const struct scenario *base, struct search_space *space, struct diag *diag)
{
    bool is_free[SEARCH_AXIS_COUNT_];
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        is_free[i] = search_axis_is_usual((enum search_axis)i);
    }
    return search_space_of_free(arena, document, base, is_free, space, diag);
}

/* ---- words --------------------------------------------------------------------------------- */

static const char *recompute_text(struct arena *arena, const struct recompute *recompute)
{
    if (recompute->layers > 0) {
        return arena_printf(arena, "{layers: %" PRId64 "}", recompute->layers);
    }
    const char *text = NULL;
    for (uint32_t i = 0; i < RECOMPUTE_MODULE_COUNT_; i++) {
        if (recompute->kind == RECOMPUTE_SELECTIVE && (recompute->modules >> i & 1u) != 0) {
            text = text == NULL ? recompute_module_names[i]
                                : arena_printf(arena, "%s, %s", text, recompute_module_names[i]);
        }
    }
    return text != NULL ? arena_printf(arena, "{modules: [%s]}", text)
                        : recompute_names[recompute->kind];
}

static double number_of(const struct relayout *layout, enum search_axis axis)
{
    const double numbers[SEARCH_AXIS_COUNT_] = {
        [SEARCH_TP] = (double)layout->tp,
        [SEARCH_CP] = (double)layout->cp,
        [SEARCH_EP] = (double)layout->ep,
        [SEARCH_ETP] = (double)(layout->etp > 0 ? layout->etp : layout->tp),
        [SEARCH_PP] = (double)layout->pp,
        [SEARCH_VIRTUAL_STAGES] = (double)layout->virtual_stages,
        [SEARCH_SCHEDULE] = (double)layout->schedule,
        [SEARCH_ZERO] = (double)layout->zero,
        [SEARCH_SEQUENCE_PARALLEL] = layout->is_sequence_parallel ? 1 : 0,
        [SEARCH_MICRO] = (double)layout->micro,
        [SEARCH_CP_TYPE] = layout->context,
        [SEARCH_LAYERS] = layout->ends[0] > 0 ? 1 : 0,
        [SEARCH_ZERO_GROUP] = (double)layout->zero_group,
        [SEARCH_MICROBATCH_GROUP] = (double)layout->microbatch_group,
        [SEARCH_RESHARD] = layout->reshard,
        [SEARCH_OVERLAP_EXPERTS] = layout->overlap,
        [SEARCH_ORDER] = layout->order,
        [SEARCH_OFFLOAD_OPTIMIZER] = layout->offload.optimizer,
        [SEARCH_OFFLOAD_LAYERS] = (double)layout->offload.activation_layers,
    };
    return numbers[axis];
}

/* Whether a layout says the axis, which else follows from others or is as the scenario has it. */
static bool is_said(const struct relayout *layout, enum search_axis axis)
{
    if (axis == SEARCH_ETP) {
        return layout->etp > 0;
    }
    return axis < SEARCH_STAYING || axis >= SEARCH_OFFLOAD_OPTIMIZER || number_of(layout, axis) > 0;
}

const char *search_layout_value(struct arena *arena, const struct relayout *layout,
                                enum search_axis axis)
{
    const struct axis_row *row = &rows[axis];
    if (row->kind == VALUE_RECOMPUTE) {
        return recompute_text(arena, &layout->recompute);
    }
    const double number = number_of(layout, axis);
    if (axis == SEARCH_LAYERS && layout->ends[0] > 0) {
        return search_stages_text(arena, layout);
    }
    if (!is_said(layout, axis)) {
        return axis == SEARCH_ETP      ? arena_printf(arena, "%.17g", number)
               : axis == SEARCH_LAYERS ? stage_words[0]
                                       : "as usual";
    }
    if (axis == SEARCH_ORDER) {
        return search_order_text(arena, number);
    }
    return row->words != NULL ? row->words[(uint32_t)number - row->first]
                              : arena_printf(arena, "%.17g", number);
}

const char *search_layout_set(struct arena *arena, const struct relayout *layout,
                              enum search_axis axis)
{
    return !is_said(layout, axis) ? NULL
                                  : arena_printf(arena, "%s=%s", rows[axis].path,
                                                 search_layout_value(arena, layout, axis));
}

int64_t search_etp_of(const struct search_space *space, int64_t value, int64_t tp)
{
    return value > 0 || !space->has_written_etp ? value : tp;
}

const char *search_layout_label(struct arena *arena, const struct search_space *space,
                                const struct relayout *layout)
{
    const char *label = "";
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        const bool is_idle = (i == SEARCH_VIRTUAL_STAGES && layout->virtual_stages == 1) ||
                             (i >= SEARCH_STAYING && !is_said(layout, (enum search_axis)i));
        if (search_axis_is_fixed(space, (enum search_axis)i) || is_idle) {
            continue;
        }
        label = arena_printf(arena, "%s%s%s %s", label, label[0] != '\0' ? ", " : "",
                             search_axis_word(rows[i].path),
                             search_layout_value(arena, layout, (enum search_axis)i));
    }
    return label[0] != '\0' ? label : "the only one";
}
