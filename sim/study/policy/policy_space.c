/* A row for each axis says what a value of it is, by the words and bounds of the key's own row of
 * the scenario's schema where that has some.
 */
#include "study/policy/policy_space.h"

#include "base/arena.h"
#include "base/diag.h"
#include "input/failures/recovery.h"
#include "input/job/checkpoint.h"
#include "input/study/study_keys.h"

#include <inttypes.h>
#include <string.h>

enum { VALUES_MAX = 10 * 1000, COUNT_MAX = 10 * 1000 * 1000, STEPS_MAX = 1000 * 1000 * 1000 };
static const double SECONDS_MAX = 1e9;

enum value_kind { VALUE_TIME, VALUE_WORD, VALUE_COUNT, VALUE_COUNT_OR_SHARE };

struct axis_row {
    const char *path;
    const char *const *words;
    int64_t least;
    enum value_kind kind;
    uint32_t word_count;
};

static const struct axis_row rows[POLICY_AXIS_COUNT_] = {
    [POLICY_EVERY] = {"run.checkpoint.every", NULL, 1, VALUE_TIME, 0},
    [POLICY_MODE] = {"run.checkpoint.mode", checkpoint_mode_names, 0, VALUE_WORD,
                     CHECKPOINT_MODE_COUNT_},
    [POLICY_TO] = {"run.checkpoint.to", checkpoint_target_names, 0, VALUE_WORD,
                   CHECKPOINT_TARGET_COUNT_},
    [POLICY_DRAIN_EVERY] = {"run.checkpoint.drain_every", NULL, 1, VALUE_COUNT, 0},
    [POLICY_SPARES] = {"run.recovery.spares", NULL, 0, VALUE_COUNT_OR_SHARE, 0},
    [POLICY_WITHOUT_NODE] = {"run.recovery.without_node", recovery_without_node_names, 0,
                             VALUE_WORD, RECOVERY_WITHOUT_NODE_COUNT_},
    [POLICY_BATCH] = {"run.recovery.batch", recovery_batch_names, 0, VALUE_WORD,
                      RECOVERY_BATCH_COUNT_},
};

const char *const policy_axis_paths[POLICY_AXIS_COUNT_] = {
    "run.checkpoint.every",       "run.checkpoint.mode", "run.checkpoint.to",
    "run.checkpoint.drain_every", "run.recovery.spares", "run.recovery.without_node",
    "run.recovery.batch",
};

/* What is being read. */
struct reading {
    struct arena *arena;
    struct policy_space *space;
    struct policy_axis *axis;
    size_t capacity; /* of its values */
    struct diag *diag;
};

/* ---- values ------------------------------------------------------------------------------ */

static bool add_value(struct reading *reading, const char *text, const struct doc_node *node)
{
    struct policy_axis *axis = reading->axis;
    for (uint32_t i = 0; i < axis->count; i++) {
        if (strcmp(axis->values[i].text, text) == 0) {
            return true;
        }
    }
    axis->values = arena_grow(reading->arena, axis->values, &reading->capacity, axis->count + 1u,
                              sizeof *axis->values);
    axis->values[axis->count++] = (struct policy_value){text, node};
    return true;
}

/* Both ends of "a..b" as nodes at its place; false: it is no range. */
static bool ends_of(struct arena *arena, const struct doc_node *node, struct doc_node ends[2])
{
    const char *dots = node->kind == DOC_SCALAR ? strstr(node->text, "..") : NULL;
    if (dots == NULL) {
        return false;
    }
    ends[0] = *node;
    ends[1] = *node;
    size_t length = (size_t)(dots - node->text);
    while (length > 0 && node->text[length - 1] == ' ') {
        length--;
    }
    ends[0].text = arena_strndup(arena, node->text, length);
    ends[1].text = dots + 2 + strspn(dots + 2, " ");
    return true;
}

static bool refuse_range(const struct reading *reading, const struct doc_node *node,
                         const char *why)
{
    diag_add(reading->diag, DIAG_INPUT, &node->place, "the range '%s' of '%s' %s", node->text,
             rows[reading->axis->kind].path, why);
    diag_help(reading->diag, "write the smaller end first, like %s",
              reading->axis->kind == POLICY_EVERY ? "1 min..60 min" : "1..8");
    return false;
}

static bool add_counts(struct reading *reading, const struct doc_node *node)
{
    const int64_t least = rows[reading->axis->kind].least;
    struct doc_node ends[2];
    int64_t numbers[2];
    if (!ends_of(reading->arena, node, ends)) {
        return doc_node_count(node, least, COUNT_MAX, &numbers[0], reading->diag) &&
               add_value(reading, node->text, node);
    }
    if (!doc_node_count(&ends[0], least, COUNT_MAX, &numbers[0], reading->diag) ||
        !doc_node_count(&ends[1], least, COUNT_MAX, &numbers[1], reading->diag)) {
        return false;
    }
    if (numbers[1] < numbers[0] || numbers[1] - numbers[0] >= VALUES_MAX) {
        return refuse_range(reading, node,
                            numbers[1] < numbers[0] ? "has no values" : "is too long");
    }
    for (int64_t i = numbers[0]; i <= numbers[1]; i++) {
        add_value(reading, arena_printf(reading->arena, "%" PRId64, i), node);
    }
    return true;
}

static bool add_count_or_share(struct reading *reading, const struct doc_node *node)
{
    double share = 0;
    if (node->kind != DOC_SCALAR || strchr(node->text, '%') == NULL) {
        return add_counts(reading, node);
    }
    return doc_node_quantity(node, DIM_FRACTION, 0.0, 1.0, &share, reading->diag) &&
           add_value(reading, node->text, node);
}

static bool add_word(struct reading *reading, const struct doc_node *node)
{
    const struct axis_row *row = &rows[reading->axis->kind];
    const char *text = node->kind == DOC_SCALAR ? node->text : "a list";
    for (uint32_t i = 0; i < row->word_count; i++) {
        if (strcmp(row->words[i], text) == 0) {
            return add_value(reading, text, node);
        }
    }
    const char *list = "it may be";
    for (uint32_t i = 0; i < row->word_count; i++) {
        list = arena_printf(reading->arena, "%s%s %s", list, i > 0 ? "," : "", row->words[i]);
    }
    diag_add(reading->diag, DIAG_INPUT, &node->place, "'%s' cannot be %.40s", row->path, text);
    diag_help_nearest(reading->diag, diag_nearest(text, row->words, row->word_count), list);
    return false;
}

/* "500 steps" or a duration. */
static bool add_time(struct reading *reading, const struct doc_node *node)
{
    double time_s = 0;
    int64_t steps = 0;
    const char *unit = node->kind == DOC_SCALAR ? strstr(node->text, " step") : NULL;
    if (unit == NULL || (strcmp(unit, " step") != 0 && strcmp(unit, " steps") != 0)) {
        return doc_node_quantity(node, DIM_SECONDS, 0.001, SECONDS_MAX, &time_s, reading->diag) &&
               add_value(reading, node->text, node);
    }
    struct doc_node count = *node;
    count.text = arena_strndup(reading->arena, node->text, (size_t)(unit - node->text));
    return doc_node_count(&count, 1, STEPS_MAX, &steps, reading->diag) &&
           add_value(reading, node->text, node);
}

/* The range of durations: false, unless it is none. *is_good: or a good one. */
static bool read_time_range(struct reading *reading, const struct doc_node *node, bool *is_good)
{
    struct policy_space *space = reading->space;
    struct doc_node ends[2];
    *is_good = false;
    if (!ends_of(reading->arena, node, ends)) {
        return false;
    }
    if (!doc_node_quantity(&ends[0], DIM_SECONDS, 0.001, SECONDS_MAX, &space->every_least_s,
                           reading->diag) ||
        !doc_node_quantity(&ends[1], DIM_SECONDS, 0.001, SECONDS_MAX, &space->every_most_s,
                           reading->diag)) {
        return true;
    }
    if (!(space->every_most_s > space->every_least_s)) {
        (void)refuse_range(reading, node, "has no values");
        return true;
    }
    space->range = node;
    *is_good = true;
    return true;
}

/* ---- axes ---------------------------------------------------------------------------------- */

static bool add_node(struct reading *reading, const struct doc_node *node)
{
    switch (rows[reading->axis->kind].kind) {
    case VALUE_TIME:
        return add_time(reading, node);
    case VALUE_WORD:
        return add_word(reading, node);
    case VALUE_COUNT:
        return add_counts(reading, node);
    case VALUE_COUNT_OR_SHARE:
        return add_count_or_share(reading, node);
    }
    return false;
}

static bool read_all(struct reading *reading, const struct doc_node *node)
{
    const struct axis_row *row = &rows[reading->axis->kind];
    if (row->kind != VALUE_WORD) {
        diag_add(reading->diag, DIAG_INPUT, &node->place, "'%s' cannot be all", row->path);
        diag_help(reading->diag, "write a list or a range, like %s: %s", row->path,
                  row->kind == VALUE_TIME ? "1 min..60 min" : "1..8");
        return false;
    }
    for (uint32_t i = 0; i < row->word_count; i++) {
        add_value(reading, row->words[i], NULL);
    }
    return true;
}

static bool read_values(struct reading *reading, const struct doc_node *node)
{
    bool is_good = true;
    bool is_range_good = true;
    if (node->kind == DOC_NULL || node->kind == DOC_MAPPING ||
        (node->kind == DOC_SEQUENCE && node->child == NULL)) {
        diag_add(reading->diag, DIAG_INPUT, &node->place, "'%s' has no values to search",
                 rows[reading->axis->kind].path);
        diag_help(reading->diag, "write a list or a range; or leave it out");
        return false;
    }
    if (doc_is(node, "all")) {
        return read_all(reading, node);
    }
    if (reading->axis->kind == POLICY_EVERY && read_time_range(reading, node, &is_range_good)) {
        return is_range_good;
    }
    if (node->kind != DOC_SEQUENCE) {
        return add_node(reading, node);
    }
    for (const struct doc_node *item = node->child; item != NULL; item = item->next) {
        is_good = add_node(reading, item) && is_good;
    }
    return is_good;
}

/* The leaf of a path; the last where --set says it once more, NULL where it is not named or named
 * twice in the file. */
static const struct doc_node *find(const struct doc_leaves *leaves, const char *path,
                                   struct diag *diag)
{
    const struct doc_node *found = NULL;
    for (size_t i = 0; i < leaves->count; i++) {
        const struct doc_node *node = leaves->items[i].node;
        if (strcmp(leaves->items[i].path, path) != 0) {
            continue;
        }
        if (found != NULL && found->place.line > 0 && node->place.line > 0) {
            diag_add(diag, DIAG_INPUT, &node->key_place, "'%s' is searched twice", path);
            diag_help(diag, "keep one; it may be dotted or nested");
            return NULL;
        }
        found = found == NULL || node->place.line == 0 ? node : found;
    }
    return found;
}

static bool is_of_run(const char *path)
{
    return strncmp(path, "run.", 4) == 0;
}

static bool check_layouts(const struct doc_leaves *leaves, struct diag *diag)
{
    bool is_good = true;
    for (size_t i = 0; i < leaves->count; i++) {
        if (!is_of_run(leaves->items[i].path)) {
            is_good = diag_add(diag, DIAG_INPUT, &leaves->items[i].node->key_place,
                               "'%s' is an axis of layouts, beside one of the run",
                               leaves->items[i].path);
            diag_help(diag, "search the layout first, by itself, then its policies");
        }
    }
    return is_good;
}

bool policy_is_asked(struct arena *arena, const struct doc_node *document)
{
    const struct doc_node *search = doc_find(document, "search");
    if (search == NULL || search->kind != DOC_MAPPING) {
        return false;
    }
    const struct doc_leaves leaves = study_search_leaves(arena, search);
    for (size_t i = 0; i < leaves.count; i++) {
        if (is_of_run(leaves.items[i].path) || strcmp(leaves.items[i].path, "run") == 0) {
            return true;
        }
    }
    return false;
}

struct doc_node *policy_part(struct arena *arena, const struct doc_node *document, bool of_run)
{
    struct doc_node *part = doc_copy(arena, document);
    struct doc_node *search = doc_find(part, "search");
    if (search == NULL || search->kind != DOC_MAPPING) {
        return part;
    }
    for (struct doc_node **link = &search->child; *link != NULL;) {
        const char *key = (*link)->key;
        if ((strcmp(key, "run") == 0 || is_of_run(key)) == of_run) {
            link = &(*link)->next;
        } else {
            *link = (*link)->next;
        }
    }
    if (search->child == NULL) {
        doc_drop(part, "search");
    }
    return part;
}

bool policy_space_read(struct arena *arena, const struct doc_node *document,
                       struct policy_space *space, struct diag *diag)
{
    const struct doc_node *search = doc_find(document, "search");
    *space = (struct policy_space){.axis_count = 0};
    if (!study_check_search(arena, search, diag)) {
        return false;
    }
    const struct doc_leaves leaves = study_search_leaves(arena, search);
    bool is_good = check_layouts(&leaves, diag);
    for (uint32_t kind = 0; kind < POLICY_AXIS_COUNT_; kind++) {
        const struct doc_node *node = find(&leaves, rows[kind].path, diag);
        if (node == NULL) {
            continue;
        }
        struct policy_axis *axis = &space->axes[space->axis_count++];
        axis->kind = (enum policy_axis_kind)kind;
        struct reading reading = {arena, space, axis, 0, diag};
        is_good = read_values(&reading, node) && is_good;
    }
    return is_good && !diag_has_error(diag);
}

uint64_t policy_space_count(const struct policy_space *space)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < space->axis_count; i++) {
        const uint64_t values = space->axes[i].count > 0 ? space->axes[i].count : 1;
        count = count > UINT64_MAX / values ? UINT64_MAX : count * values;
    }
    return count;
}

void policy_space_warn(const struct policy_space *space, const char *const *sets, uint32_t count,
                       struct diag *diag)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t a = 0; a < space->axis_count; a++) {
            const char *path = policy_axis_paths[space->axes[a].kind];
            const size_t length = strlen(path);
            const char *set = sets[i];
            if (strncmp(set, path, length) == 0 && set[length] == '=') {
                diag_add(diag, DIAG_WARNING, NULL,
                         "--set %s changes only the scenario's own policy: the search itself sets "
                         "'%s'",
                         set, path);
                diag_help(diag, "say --set search.%s", set);
            }
        }
    }
}
