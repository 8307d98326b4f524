/* Reading is by the number in front and the unit behind it, not by dimension: which dimension a
 * key has is known to the reader of its file alone, and only the number changes.
 */
#include "lab/fit/fit_constants.h"

#include "base/arena.h"
#include "input/doc/doc.h"
#include "input/doc/name_table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct arena *arena;
    struct diag *diag;
    struct fit_plan *plan;
    struct name_table effects;
};

/* ---- numbers with units ----------------------------------------------------------------- */

bool fit_constant_split(const char *text, double *value, const char **unit)
{
    char *end;
    const bool is_plain = strspn(text, "+-.0123456789") > 0;
    *value = is_plain ? strtod(text, &end) : 0;
    if (!is_plain || end == text || !isfinite(*value) || *end == 'x' || *end == 'X') {
        return false;
    }
    *unit = end;
    return true;
}

static bool complain(const struct reading *reading, const struct doc_node *node,
                     const struct fit_constant *constant, const char *wanted)
{
    diag_add(reading->diag, DIAG_INPUT, &node->place, "'%s' must be %s", node->key, wanted);
    if (constant->unit != NULL && constant->unit[0] != '\0') {
        diag_help(reading->diag, "with the unit of the prior: '3%s'", constant->unit);
    }
    return false;
}

/* A value of the constant; the first one says the unit. */
static bool read_value(const struct reading *reading, struct doc_map *map, const char *key,
                       struct fit_constant *constant, double *value)
{
    const struct doc_node *node = doc_take(map, key);
    const char *unit;
    if (node == NULL) {
        return false;
    }
    if (node->kind != DOC_SCALAR || !fit_constant_split(node->text, value, &unit)) {
        map->is_bad = true;
        return complain(reading, node, constant, "a number, with its unit if it has one");
    }
    if (constant->unit != NULL && strcmp(constant->unit, unit) != 0) {
        map->is_bad = true;
        return complain(reading, node, constant, "in the unit of 'prior'");
    }
    constant->unit = unit;
    return true;
}

/* ---- a constant ------------------------------------------------------------------------- */

static bool require_text(struct doc_map *map, const char *key, const char **text)
{
    return doc_require(map, key) && doc_get_text(map, key, text);
}

static void read_key(const struct reading *reading, struct doc_map *map,
                     struct fit_constant *constant)
{
    if (!require_text(map, "key", &constant->key)) {
        return;
    }
    if (strncmp(constant->key, "software.", 9) != 0 && strncmp(constant->key, "gpu.", 4) != 0) {
        map->is_bad = !diag_add(reading->diag, DIAG_INPUT, &doc_take(map, "key")->place,
                                "'key' must begin with 'software.' or 'gpu.'");
    }
}

/* 0 < min <= prior <= max, so that logarithms are. */
static void check_range(const struct reading *reading, struct doc_map *map,
                        const struct fit_constant *constant)
{
    if (map->is_bad || (constant->min > 0 && constant->min <= constant->prior &&
                        constant->prior <= constant->max)) {
        return;
    }
    diag_add(reading->diag, DIAG_INPUT, &doc_take(map, "prior")->place,
             "'prior' must lie between 'min' and 'max', and these above 0");
    map->is_bad = true;
}

static bool read_constant(struct reading *reading, const struct doc_node *node,
                          struct fit_constant *constant)
{
    struct doc_map map;
    if (!doc_map_open(&map, node, reading->diag)) {
        return false;
    }
    constant->place = node->place;
    require_text(&map, "name", &constant->name);
    if (doc_require(&map, "files")) {
        fit_texts_read(reading->arena, &map, "files", &constant->files, &constant->file_count);
    }
    read_key(reading, &map, constant);
    static const char *const names[] = {"prior", "min", "max"};
    double *const values[] = {&constant->prior, &constant->min, &constant->max};
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (doc_require(&map, names[i])) {
            read_value(reading, &map, names[i], constant, values[i]);
        }
    }
    check_range(reading, &map, constant);
    if (doc_require(&map, "spread")) {
        doc_get_quantity(&map, "spread", DIM_FRACTION, 1e-3, 3.0, &constant->spread);
    }
    constant->has_neutral = read_value(reading, &map, "neutral", constant, &constant->neutral);
    const char *effect;
    if (require_text(&map, "effect", &effect)) {
        constant->effect = name_table_index(&reading->effects, effect);
    }
    require_text(&map, "source", &constant->source);
    doc_take(&map, "note");
    return doc_finish(&map);
}

/* ---- all of them ------------------------------------------------------------------------ */

/* One number must not be fitted twice: the last one would win. */
static bool check_apart(const struct reading *reading, const struct fit_constant *constant)
{
    for (const struct fit_constant *other = reading->plan->constants; other < constant; other++) {
        if (strcmp(other->name, constant->name) == 0) {
            return diag_add(reading->diag, DIAG_INPUT, &constant->place,
                            "there is a constant named '%s' already", constant->name);
        }
        for (uint32_t i = 0; i < constant->file_count; i++) {
            if (strcmp(other->key, constant->key) == 0 &&
                fit_constant_is_of(other, constant->files[i])) {
                return diag_add(reading->diag, DIAG_INPUT, &constant->place,
                                "'%s' of %s is fitted by '%s' already", constant->key,
                                constant->files[i], other->name);
            }
        }
    }
    return true;
}

static bool read_list(struct reading *reading, struct doc_map *map)
{
    struct fit_plan *plan = reading->plan;
    if (!doc_require(map, "constants")) {
        return false;
    }
    const struct doc_node *list = doc_take(map, "constants");
    const uint32_t count = list->kind == DOC_SEQUENCE ? doc_child_count(list) : 0;
    if (count == 0 || count > FIT_CONSTANTS_MAX) {
        return diag_add(reading->diag, DIAG_INPUT, &list->place,
                        "'constants' must be a list of 1 to %d mappings", FIT_CONSTANTS_MAX);
    }
    plan->constants = arena_array(reading->arena, count, sizeof *plan->constants);
    bool is_good = true;
    for (const struct doc_node *node = list->child; node != NULL; node = node->next) {
        struct fit_constant *constant = &plan->constants[plan->count++];
        is_good = read_constant(reading, node, constant) &&
                  (!is_good || check_apart(reading, constant)) && is_good;
    }
    plan->effects = reading->effects.names;
    plan->effect_count = reading->effects.count;
    return is_good;
}

static bool read_weights(const struct reading *reading, const struct doc_map *map)
{
    const struct doc_node *node = doc_find(map->node, "fit");
    struct doc_map fit;
    if (node == NULL) {
        return true;
    }
    if (!doc_map_open(&fit, node, reading->diag)) {
        return false;
    }
    struct fit_plan *plan = reading->plan;
    doc_get_quantity(&fit, "balance", DIM_FRACTION, 0, 1, &plan->balance);
    doc_get_quantity(&fit, "noise", DIM_FRACTION, 1e-3, 1, &plan->noise);
    doc_get_quantity(&fit, "linear_from", DIM_FRACTION, 1e-3, 1, &plan->linear_from);
    doc_take(&fit, "source");
    doc_take(&fit, "note");
    return doc_finish(&fit);
}

const struct fit_plan *fit_plan_load(struct arena *arena, const char *path, struct diag *diag)
{
    const struct doc_node *root = doc_load(arena, path, diag);
    struct doc_map map;
    if (root == NULL || !doc_map_open(&map, root, diag)) {
        return NULL;
    }
    struct fit_plan *plan = arena_alloc(arena, sizeof *plan);
    *plan = (struct fit_plan){.path = path, .balance = 0.3, .noise = 0.05, .linear_from = 0.03};
    struct reading reading = {.arena = arena, .diag = diag, .plan = plan};
    name_table_init(&reading.effects, arena);
    doc_take(&map, "title");
    doc_take(&map, "fit");
    const bool is_good = read_weights(&reading, &map);
    const bool is_read = read_list(&reading, &map);
    const struct doc_node *removals = doc_take(&map, "ablations");
    return is_read && is_good &&
                   (removals == NULL || fit_removals_read(arena, removals, plan, diag)) &&
                   doc_finish(&map)
               ? plan
               : NULL;
}

/* ---- use -------------------------------------------------------------------------------- */

const char *fit_constant_text(struct arena *arena, const struct fit_constant *constant,
                              double value, int digits)
{
    return arena_printf(arena, "%.*g%s", digits, value, constant->unit);
}

bool fit_constant_is_of(const struct fit_constant *constant, const char *file)
{
    for (uint32_t i = 0; i < constant->file_count; i++) {
        if (strcmp(constant->files[i], file) == 0) {
            return true;
        }
    }
    return false;
}

enum catalogue_kind fit_constant_kind(const struct fit_constant *constant)
{
    return strncmp(constant->key, "gpu.", 4) == 0 ? CATALOGUE_GPU : CATALOGUE_SOFTWARE;
}
