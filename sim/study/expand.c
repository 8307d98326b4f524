/* From documents to points. An axis is a list of choices, and a choice is a few
 * assignments under one name: one assignment for a value of a sweep, many for a
 * variant. Points are the cross product of the axes, the last one fastest;
 * point i takes choice i / (product of the later counts) % count of each axis.
 *
 * Cost: one resolution for each point, for the study's key.
 */
#include "input/scenario.h"
#include "study/study.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/rng.h"
#include "base/units.h"
#include "input/doc/leaves.h"
#include "input/features/features_used.h"
#include "input/job/token_routing.h"
#include "input/scenario_load.h"
#include "input/study/title.h"
#include "input/study/study_keys.h"
#include "study/search/search_auto.h"
#include "train/need.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct choice {
    const char *text; /* "50 Gbps", or a variant's name */
    const char **sets;
    uint32_t set_count;
};

struct axis {
    const char *name;
    struct choice *choices;
    uint32_t count;
};

struct expansion {
    struct arena *arena;
    const struct study_base *base;
    const struct doc_node *document;
    struct diag *diag;
    struct axis axes[STORE_AXES_MAX];
    uint32_t axis_count;
};

bool study_is_asked(const struct doc_node *document)
{
    return doc_find(document, "sweep") != NULL || doc_find(document, "variants") != NULL;
}

/* ---- leaves of a mapping: paths, and what they are set to --------------------- */

/* Keys inside a mapping are set one by one, unless the document has a word at its place
 * (recompute: none) that has no keys. What a catalogue's name stands for has. */
static bool is_set_whole(const void *document, const char *path)
{
    const struct doc_node *written = doc_find(document, path);
    for (uint32_t i = 0; i < CATALOGUE_KIND_COUNT_; i++) {
        if (strcmp(path, catalogue_keys[i]) == 0) {
            return false;
        }
    }
    return written != NULL && written->kind == DOC_SCALAR;
}

static struct doc_leaves leaves_of(const struct expansion *expansion,
                                   const struct doc_node *mapping)
{
    return doc_leaves_of(expansion->arena, mapping, is_set_whole, expansion->document);
}

/* A file that is named beside the one that names it: a set value has no place to look from. */
static const char *beside(struct arena *arena, const struct doc_node *value)
{
    static const struct catalogue as_it_is = {.count = 0};
    const size_t length = strlen(value->text);
    const bool is_path = strchr(value->text, '/') != NULL ||
                         (length > 5 && strcmp(value->text + length - 5, ".yaml") == 0);
    return is_path ? catalogue_path_beside(arena, &as_it_is, &value->place, value->text)
                   : value->text;
}

static const char *assignment(struct arena *arena, const char *path, const struct doc_node *value)
{
    struct doc_node alone = *value;
    alone.key = NULL;
    alone.next = NULL;
    if (value->kind == DOC_SCALAR) {
        alone.text = beside(arena, value);
    }
    return arena_printf(arena, "%s=%s", path, doc_to_text(arena, &alone));
}

/* ---- axes ------------------------------------------------------------------- */

static struct axis *add_axis(struct expansion *expansion, const char *name, uint32_t count,
                             const struct place *place)
{
    if (expansion->axis_count == STORE_AXES_MAX) {
        diag_add(expansion->diag, DIAG_INPUT, place, "more than %d axes", STORE_AXES_MAX);
        diag_help(expansion->diag, "variants are one axis, and so is each key of sweep");
        return NULL;
    }
    for (uint32_t i = 0; i < expansion->axis_count; i++) {
        if (strcmp(expansion->axes[i].name, name) == 0) {
            diag_add(expansion->diag, DIAG_INPUT, place, "'%s' is swept twice", name);
            return NULL;
        }
    }
    struct axis *axis = &expansion->axes[expansion->axis_count++];
    axis->name = name;
    axis->choices = arena_array(expansion->arena, count, sizeof *axis->choices);
    return axis;
}

/* True when the command line assigns to the path that the axis sets. */
static bool is_overridden(const char *set, const char *path)
{
    const size_t length = strlen(path);
    return strncmp(set, path, length) == 0 && set[length] == '=';
}

static void warn_overridden(const struct expansion *expansion, const struct doc_leaf *leaf)
{
    for (uint32_t i = 0; i < expansion->base->set_count; i++) {
        const char *set = expansion->base->sets[i];
        if (is_overridden(set, leaf->path)) {
            diag_add(expansion->diag, DIAG_WARNING, &leaf->node->place,
                     "--set %s changes nothing: the study itself sets '%s'", set, leaf->path);
        }
    }
}

static bool add_value(struct expansion *expansion, struct axis *axis, const struct doc_node *value)
{
    if (value->kind != DOC_SCALAR && value->kind != DOC_SEQUENCE) {
        diag_add(expansion->diag, DIAG_INPUT, &value->place,
                 "a value to sweep is a scalar or a list");
        diag_help(expansion->diag, "whole mappings go into variants: [{name: ..., set: {...}}]");
        return false;
    }
    struct arena *arena = expansion->arena;
    struct choice *choice = &axis->choices[axis->count++];
    struct doc_node alone = *value;
    alone.next = NULL;
    choice->text = value->kind == DOC_SCALAR ? value->text : doc_to_text(arena, &alone);
    choice->sets = arena_alloc(arena, sizeof *choice->sets);
    choice->sets[0] = assignment(arena, axis->name, value);
    choice->set_count = 1;
    return true;
}

/* Keys that make studies of a scenario, or are for people, change no prediction. */
static bool check_changes(const struct expansion *expansion, const struct doc_leaf *leaf)
{
    static const char *const idle[] = {"sweep", "variants", "require", "note", "scenario"};
    const size_t length = strcspn(leaf->path, ".");
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        if (strlen(idle[i]) == length && strncmp(leaf->path, idle[i], length) == 0) {
            diag_add(expansion->diag, DIAG_INPUT, &leaf->node->key_place,
                     "'%s' is no axis: no prediction follows from it", leaf->path);
            diag_help(expansion->diag, "sweep a key of `stoker list keys`, like batch.micro: [1, "
                                       "2, 4]");
            return false;
        }
    }
    return true;
}

static bool read_sweep_axis(struct expansion *expansion, const struct doc_leaf *leaf)
{
    if (!check_changes(expansion, leaf)) {
        return false;
    }
    const struct doc_node *list = leaf->node;
    if (list->kind != DOC_SEQUENCE || list->child == NULL) {
        diag_add(expansion->diag, DIAG_INPUT, &list->place, "'%s' needs a list of values",
                 leaf->path);
        diag_help(expansion->diag, "write it like %s: [A, B, C]", leaf->path);
        return false;
    }
    warn_overridden(expansion, leaf);
    struct axis *axis = add_axis(expansion, leaf->path, doc_child_count(list), &list->key_place);
    bool is_good = axis != NULL;
    for (const struct doc_node *value = list->child; is_good && value != NULL;
         value = value->next) {
        is_good = add_value(expansion, axis, value);
    }
    return is_good;
}

static bool read_sweep(struct expansion *expansion, const struct doc_node *sweep)
{
    if (sweep->kind != DOC_MAPPING || sweep->child == NULL) {
        diag_add(expansion->diag, DIAG_INPUT, &sweep->place,
                 "sweep needs keys with lists of values");
        diag_help(expansion->diag, "write it like sweep: {batch.micro: [1, 2, 4]}");
        return false;
    }
    const struct doc_leaves leaves = leaves_of(expansion, sweep);
    bool is_good = true;
    for (size_t i = 0; i < leaves.count; i++) {
        is_good = read_sweep_axis(expansion, &leaves.items[i]) && is_good;
    }
    return is_good;
}

const char **study_sets_of(struct arena *arena, const struct doc_node *document,
                           const struct doc_node *mapping, uint32_t *count)
{
    const struct doc_leaves leaves = doc_leaves_of(arena, mapping, is_set_whole, document);
    const char **sets = arena_array(arena, leaves.count, sizeof *sets);
    *count = (uint32_t)leaves.count;
    for (size_t i = 0; i < leaves.count; i++) {
        sets[i] = assignment(arena, leaves.items[i].path, leaves.items[i].node);
    }
    return sets;
}

static void read_assignments(struct expansion *expansion, const struct doc_node *set,
                             struct choice *choice)
{
    choice->sets = study_sets_of(expansion->arena, expansion->document, set, &choice->set_count);
}

/* True when an earlier choice of the axis, which is not its last, has this text. */
static bool is_repeated(const struct axis *axis)
{
    const char *text = axis->choices[axis->count - 1].text;
    for (uint32_t i = 0; i + 1 < axis->count; i++) {
        if (strcmp(axis->choices[i].text, text) == 0) {
            return true;
        }
    }
    return false;
}

static bool read_variant(struct expansion *expansion, struct axis *axis,
                         const struct doc_node *item)
{
    struct doc_map map;
    if (!doc_map_open(&map, item, expansion->diag)) {
        return false;
    }
    struct study_variant variant = {.name = ""};
    struct assumptions unused;
    assumptions_init(&unused, expansion->arena);
    schema_read(&study_variant_keys, &map, &variant, &unused);
    struct choice *choice = &axis->choices[axis->count++];
    choice->text = variant.name;
    const struct doc_node *set = variant.set;
    if (set != NULL && set->kind == DOC_MAPPING) {
        read_assignments(expansion, set, choice);
    } else if (set != NULL && set->kind != DOC_NULL) {
        diag_add(expansion->diag, DIAG_INPUT, &set->place, "set needs keys with values");
        diag_help(expansion->diag, "write it like set: {parallel.pp: 16, gpus: 1024}");
        map.is_bad = true;
    }
    if (is_repeated(axis)) {
        diag_add(expansion->diag, DIAG_INPUT, &item->place, "variant '%s' is listed twice",
                 choice->text);
        map.is_bad = true;
    }
    return doc_finish(&map);
}

static bool read_variants(struct expansion *expansion, const struct doc_node *list)
{
    if (list->kind != DOC_SEQUENCE || list->child == NULL) {
        diag_add(expansion->diag, DIAG_INPUT, &list->place, "variants needs a list");
        diag_help(expansion->diag, "write it like variants: [{name: ..., set: {gpus: 1024}}]");
        return false;
    }
    struct axis *axis =
        add_axis(expansion, STUDY_VARIANT_AXIS, doc_child_count(list), &list->key_place);
    sim_assert(axis != NULL); /* it is the first */
    bool is_good = true;
    for (const struct doc_node *item = list->child; item != NULL; item = item->next) {
        is_good = read_variant(expansion, axis, item) && is_good;
    }
    return is_good;
}

/* ---- points ------------------------------------------------------------------- */

/* The text as a quantity in SI or a number; ABSENT when it is a word. */
static double value_of(const char *text)
{
    static const enum dimension dimensions[] = {
        DIM_LINK_BYTES_PER_S, DIM_BYTES, DIM_SECONDS, DIM_FLOP_PER_S,  DIM_COUNT,
        DIM_FRACTION,         DIM_USD,   DIM_WATT,    DIM_USD_PER_KWH,
    };
    for (size_t i = 0; i < sizeof dimensions / sizeof *dimensions; i++) {
        char message[256];
        double value = 0;
        if (units_parse(text, dimensions[i], &value, message, sizeof message)) {
            return value;
        }
    }
    return ABSENT;
}

/* A quantity with its unit, or the name of a file of the catalogue. */
static bool says_what_it_is(const char *path, const char *text)
{
    for (uint32_t i = 0; i < CATALOGUE_KIND_COUNT_; i++) {
        if (strcmp(path, catalogue_keys[i]) == 0) {
            return true;
        }
    }
    const char *unit = text + strspn(text, "0123456789.");
    return unit != text && isalpha((unsigned char)unit[strspn(unit, " ")]) &&
           strspn(unit, "kMGTPE") != strlen(unit);
}

static const char *last_word(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL ? dot + 1 : path;
}

/* "50 Gbps", "micro 2". */
static const char *value_label(struct arena *arena, const char *path, const char *text)
{
    if (strcmp(path, STUDY_VARIANT_AXIS) == 0 || says_what_it_is(path, text)) {
        return text;
    }
    return arena_printf(arena, "%s %s", last_word(path), text);
}

static void add_sets(struct study_point *point, const char *const *sets, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        point->sets[point->set_count++] = sets[i];
    }
}

static void fill_point(const struct expansion *expansion, uint32_t number,
                       struct study_point *point)
{
    struct arena *arena = expansion->arena;
    const struct choice *choices[STORE_AXES_MAX];
    uint32_t set_count = expansion->base->set_count;
    for (uint32_t a = expansion->axis_count; a-- > 0;) {
        const struct axis *axis = &expansion->axes[a];
        choices[a] = &axis->choices[number % axis->count];
        number /= axis->count;
        set_count += choices[a]->set_count;
    }
    point->sets = arena_array(arena, set_count, sizeof *point->sets);
    add_sets(point, expansion->base->sets, expansion->base->set_count);
    point->axis_count = expansion->axis_count;
    point->label = "";
    for (uint32_t a = 0; a < expansion->axis_count; a++) {
        const char *name = expansion->axes[a].name;
        add_sets(point, (const char *const *)choices[a]->sets, choices[a]->set_count);
        point->axes[a] = name;
        point->value_texts[a] = choices[a]->text;
        point->values[a] =
            strcmp(name, STUDY_VARIANT_AXIS) == 0 ? ABSENT : value_of(choices[a]->text);
        point->label = arena_printf(arena, "%s%s%s", point->label, a > 0 ? ", " : "",
                                    value_label(arena, name, choices[a]->text));
    }
    sim_assert(point->set_count == set_count);
}

static bool fill_points(const struct expansion *expansion, const struct doc_node *document,
                        struct study *study)
{
    uint64_t count = 1;
    for (uint32_t a = 0; a < expansion->axis_count; a++) {
        count *= expansion->axes[a].count;
        if (count > STUDY_POINTS_MAX) {
            return diag_add(expansion->diag, DIAG_INPUT, &document->place,
                            "the study has more than %d points", STUDY_POINTS_MAX);
        }
    }
    study->count = (uint32_t)count;
    study->points = arena_array(expansion->arena, study->count, sizeof *study->points);
    for (uint32_t i = 0; i < study->count; i++) {
        study->points[i].document = document;
        fill_point(expansion, i, &study->points[i]);
    }
    return true;
}

const char *study_axis_head(const struct study_point *point, uint32_t axis)
{
    const char *word = last_word(point->axes[axis]);
    for (uint32_t i = 0; i < point->axis_count; i++) {
        if (i != axis && strcmp(last_word(point->axes[i]), word) == 0) {
            return point->axes[axis];
        }
    }
    return word;
}

/* ---- the key ------------------------------------------------------------------- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return rng_hash_bytes(text, strlen(text) + 1, hash);
}

/* For resolved scenarios of points: some 60 kB each. */
enum { KEPT_BYTES_MAX = 64 << 20 };

/* Where points are resolved: for good, as long as there is room, else for once. */
struct point_arenas {
    struct arena *kept;
    size_t kept_bytes_max;
    struct arena *once; /* emptied behind each point */
};

enum reading { READING_GOOD, READING_MALFORMED, READING_FAILED };

/* What became of resolving a point. Impossible sizes are good reading. */
static enum reading reading_of(const struct scenario *scenario, const struct diag *diag)
{
    if (scenario != NULL || diag_is_verdict(diag)) {
        return READING_GOOD;
    }
    return diag_has(diag, DIAG_FAILURE) ? READING_FAILED : READING_MALFORMED;
}

const struct scenario *study_point_resolve(const struct study_point *point, struct arena *arena,
                                           const struct catalogue *catalogue, struct diag *diag)
{
    if (point->scenario != NULL) {
        return point->scenario;
    }
    if (point->layout != NULL && !point->layout->is_found) {
        auto_layout_tell_lack(point->layout, diag);
        return NULL;
    }
    return scenario_resolve(arena, point->document, catalogue, point->sets, point->set_count, diag);
}

/* Finds what is auto of a point's layout, once, and sets it. False, with messages: the input is
 * wrong, or sizes beside the layout cannot be, which is a verdict that the point keeps. */
static bool find_layout(struct arena *arena, const struct study_base *base,
                        struct study_point *point, struct diag *diag)
{
    struct study_base own = *base;
    struct auto_layout found;
    own.sets = point->sets;
    own.set_count = point->set_count;
    if (point->layout != NULL) {
        return true;
    }
    const bool is_searched = search_auto_find(arena, point->document, &own, &found, diag);
    if (!is_searched && !diag_is_verdict(diag)) {
        return false;
    }
    if (!found.is_asked) {
        return true;
    }
    struct auto_layout *kept = arena_alloc(arena, sizeof *kept);
    *kept = found;
    point->layout = kept;
    if (!is_searched) {
        kept->impossible = arena_strdup(arena, diag_first_error(diag));
        return false;
    }
    const struct study_base changed = search_auto_base(arena, &own, &found);
    point->sets = arena_array(arena, changed.set_count + 1u, sizeof *point->sets);
    point->set_count = 0;
    add_sets(point, changed.sets, changed.set_count);
    return true;
}

static void note(struct study_point *point, const struct scenario *scenario)
{
    point->lacks = (struct feature_set){{0}};
    if (scenario != NULL) {
        const struct feature_set allowed = features_allowed(scenario, NULL, NULL);
        (void)features_hold(scenario, &allowed, &point->lacks);
        point->software = hash_text(0, scenario->software.name);
        point->has_even_router = routing_is_even(&scenario->model, &scenario->routing);
    }
}

/* Adds a point to the hash, and keeps its scenario where there is room for it. */
static enum reading hash_point(const struct point_arenas *arenas, struct study_point *point,
                               const struct study_base *base, uint64_t *hash, struct diag *diag)
{
    const bool is_kept = arena_used_bytes(arenas->kept) < arenas->kept_bytes_max;
    struct arena *arena = is_kept ? arenas->kept : arenas->once;
    struct diag *own = diag_new(arenas->once);
    const struct scenario *scenario = find_layout(arenas->kept, base, point, own)
                                          ? study_point_resolve(point, arena, base->catalogue, own)
                                          : NULL;
    const char *text = scenario != NULL ? scenario->resolved_text : diag_first_error(own);
    *hash = hash_text(hash_text(*hash, point->label), text != NULL ? text : "");
    point->scenario = is_kept ? scenario : NULL;
    note(point, scenario);
    for (int folds = 0; folds < 2 && scenario != NULL; folds++) {
        point->need_bytes[folds] = step_need_bytes(scenario, folds != 0);
    }
    const enum reading reading = reading_of(scenario, own);
    if (reading == READING_FAILED) {
        diag_add_from(diag, own, DIAG_FAILURE);
    }
    return reading;
}

/* Names the study by its points. Malformed when not one of them can be read. */
static enum reading seal(struct arena *arena, struct study *study, const struct study_base *base,
                         struct diag *diag)
{
    uint64_t hash = hash_text(hash_text(0, base->build), study->kind);
    const struct point_arenas arenas = {arena, arena_used_bytes(arena) + KEPT_BYTES_MAX,
                                        arena_new()};
    enum reading study_reading = READING_MALFORMED;
    for (uint32_t i = 0; i < study->count && study_reading != READING_FAILED; i++) {
        const enum reading reading = hash_point(&arenas, &study->points[i], base, &hash, diag);
        study_reading = reading != READING_MALFORMED ? reading : study_reading;
        arena_reset(arenas.once);
    }
    arena_free(arenas.once);
    snprintf(study->key, sizeof study->key, "%016" PRIx64, hash);
    return study_reading;
}

static const char *title_of(struct arena *arena, const struct doc_node *document,
                            const struct study_base *base)
{
    return title_of_study(arena, document, base->sets, base->set_count);
}

/* Resolves it for its messages alone. */
bool study_point_check(struct arena *arena, struct study_point *point,
                       const struct study_base *base, struct diag *diag)
{
    struct diag *own = diag_new(arena);
    const struct scenario *scenario = find_layout(arena, base, point, own)
                                          ? study_point_resolve(point, arena, base->catalogue, own)
                                          : NULL;
    const enum reading reading = reading_of(scenario, own);
    if (reading == READING_FAILED) {
        diag_add_from(diag, own, DIAG_FAILURE);
    }
    if (reading != READING_MALFORMED) {
        return reading == READING_GOOD;
    }
    return find_layout(arena, base, point, diag) &&
           study_point_resolve(point, arena, base->catalogue, diag) != NULL;
}

bool study_expand_points(struct arena *arena, const struct doc_node *read,
                         const struct study_base *base, struct study *study, struct diag *diag)
{
    struct doc_node *document = doc_copy(arena, read);
    auto_keys_expand(arena, document); /* an axis may be one key of `parallel: auto` */
    struct expansion expansion = {.arena = arena, .base = base, .document = document, .diag = diag};
    const struct doc_node *variants = doc_find(document, "variants");
    const struct doc_node *sweep = doc_find(document, "sweep");
    bool is_good = variants == NULL || read_variants(&expansion, variants);
    is_good = (sweep == NULL || read_sweep(&expansion, sweep)) && is_good;
    return is_good && fill_points(&expansion, document, study);
}

bool study_expand(struct arena *arena, const struct doc_node *document,
                  const struct study_base *base, struct study *study, struct diag *diag)
{
    study->count = 0;
    if (!study_expand_points(arena, document, base, study, diag)) {
        return false;
    }
    study->title = title_of(arena, document, base);
    study->kind = doc_find(document, "variants") != NULL ? "variants" : "sweep";
    const enum reading reading = seal(arena, study, base, diag);
    return reading == READING_GOOD || (reading == READING_MALFORMED &&
                                       study_point_check(arena, &study->points[0], base, diag));
}

/* A title that an earlier document has already is told apart by its file. */
static const char *label_of(struct arena *arena, const struct doc_node *const *documents,
                            const struct study_base *base, uint32_t number)
{
    const struct doc_node *document = documents[number];
    const char *title = title_of(arena, document, base);
    for (uint32_t i = 0; i < number; i++) {
        if (strcmp(title_of(arena, documents[i], base), title) == 0 &&
            document->place.file != NULL) {
            return arena_printf(arena, "%s (%s)", title, document->place.file);
        }
    }
    return title;
}

/* One document of several: its point, which must be readable, or those of its own study, named by
 * the document. */
static bool expand_one(struct arena *arena, const struct doc_node *document, const char *label,
                       const struct study_base *base, struct study *part, struct diag *diag)
{
    if (study_is_asked(document)) {
        if (!study_expand_points(arena, document, base, part, diag)) {
            return false;
        }
        for (uint32_t i = 0; i < part->count; i++) {
            part->points[i].label = arena_printf(arena, "%s: %s", label, part->points[i].label);
        }
        return true;
    }
    part->count = 1;
    part->points = arena_alloc(arena, sizeof *part->points);
    struct study_point *point = &part->points[0];
    point->document = document;
    point->label = label;
    point->sets = arena_array(arena, base->set_count, sizeof *point->sets);
    add_sets(point, base->sets, base->set_count);
    return study_point_check(arena, point, base, diag);
}

bool study_of_documents(struct arena *arena, const struct doc_node *const *documents,
                        uint32_t count, const struct study_base *base, struct study *study,
                        struct diag *diag)
{
    sim_assert(count > 0);
    study->kind = "compare";
    study->title = title_of(arena, documents[0], base);
    study->count = 0;
    struct study *parts = arena_array(arena, count, sizeof *parts);
    bool is_good = true;
    for (uint32_t i = 0; i < count; i++) {
        is_good = expand_one(arena, documents[i], label_of(arena, documents, base, i), base,
                             &parts[i], diag) &&
                  is_good;
        if (i > 0) {
            study->title =
                arena_printf(arena, "%s | %s", study->title, title_of(arena, documents[i], base));
        }
    }
    for (uint32_t i = 0; is_good && i < count; i++) {
        if (parts[i].count > STUDY_POINTS_MAX - study->count) {
            return diag_add(diag, DIAG_INPUT, &documents[i]->place,
                            "together the files have more than %d points", STUDY_POINTS_MAX);
        }
        study->count += parts[i].count;
    }
    study->points = arena_array(arena, study->count + 1u, sizeof *study->points);
    uint32_t filled = 0;
    for (uint32_t i = 0; is_good && i < count; i++) {
        memcpy(&study->points[filled], parts[i].points, parts[i].count * sizeof *study->points);
        filled += parts[i].count;
    }
    const enum reading reading = is_good ? seal(arena, study, base, diag) : READING_FAILED;
    return reading == READING_GOOD || (reading == READING_MALFORMED &&
                                       study_point_check(arena, &study->points[0], base, diag));
}

bool study_of_points(struct arena *arena, const struct doc_node *document,
                     const struct study_base *base, struct study *study, struct diag *diag)
{
    study->title = title_of(arena, document, base);
    return seal(arena, study, base, diag) == READING_GOOD;
}

const struct scenario *study_first_scenario(struct arena *arena, const struct doc_node *document,
                                            const struct study_base *base)
{
    struct study study;
    struct diag *unheard = diag_new(arena);
    if (!study_is_asked(document) || !study_expand(arena, document, base, &study, unheard)) {
        return NULL;
    }
    const struct scenario *found = NULL;
    for (uint32_t i = 0; found == NULL && i < study.count; i++) {
        found = study_point_resolve(&study.points[i], arena, base->catalogue, unheard);
    }
    return found;
}

struct study_first study_first(struct arena *arena, const struct study *study,
                               const struct catalogue *catalogue)
{
    const struct scenario *first =
        study->count > 0 ? study_point_resolve(&study->points[0], arena, catalogue, diag_new(arena))
                         : NULL;
    struct study_first told = {.anchor = NULL};
    if (first != NULL) {
        told.anchor = first->anchor.is_given ? &first->anchor : NULL;
        told.house = first->house.name != NULL ? &first->house : NULL;
    }
    return told;
}
