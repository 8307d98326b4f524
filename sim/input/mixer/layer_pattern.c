/* The mixers of a model, the types of its layers, and which layer is of which type. */
#include "input/model.h"

#include "base/arena.h"

#include <string.h>

/* What a layer type may have for a mixer without that any is listed. */
static const char *const known_mixers[] = {"attention", "none"};
enum { KNOWN_MIXERS = sizeof known_mixers / sizeof *known_mixers };

static const char *const mlp_words[] = {"none", "dense", "experts"};
enum mlp_word { MLP_NONE, MLP_DENSE, MLP_EXPERTS, MLP_WORD_COUNT_ };

/* ---- mixers ------------------------------------------------------------------------------ */

/* The names of the first `count` mixers, behind those that are known; how many they are. */
static uint32_t mixer_names(const struct model *model, uint32_t count, const char **names)
{
    for (uint32_t i = 0; i < KNOWN_MIXERS; i++) {
        names[i] = known_mixers[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        names[KNOWN_MIXERS + i] = model->mixers[i].name;
    }
    return KNOWN_MIXERS + count;
}

static bool has_own_name(const struct schema_reader *reader, const struct mixer *mixer)
{
    const struct model *model = reader->object;
    const char *names[MIXERS_MAX + KNOWN_MIXERS];
    const uint32_t before = mixer_names(model, (uint32_t)(mixer - model->mixers), names);
    for (uint32_t i = 0; i < before; i++) {
        if (strcmp(names[i], mixer->name) == 0) {
            diag_add(reader->map->diag, DIAG_INPUT, &mixer->place, "a second mixer '%s'", names[i]);
            diag_help(reader->map->diag,
                      "each has a name of its own, beside attention (the model's own) and none");
            return false;
        }
    }
    return true;
}

void model_read_mixers(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *map = reader->map;
    struct model *model = reader->object;
    const struct doc_node *list = doc_take_list(map, schema_key(row), "mixers",
                                                "- {name: ..., tensors: ..., operators: ...}");
    if (list == NULL) {
        return;
    }
    if (doc_child_count(list) > MIXERS_MAX) {
        map->is_bad = true;
        diag_add(map->diag, DIAG_INPUT, &list->place, "a model has at most %d mixers", MIXERS_MAX);
        return;
    }
    struct mixer *mixers =
        arena_array(reader->assumptions->arena, doc_child_count(list) + 1, sizeof *mixers);
    model->mixers = mixers;
    for (const struct doc_node *node = list->child; node != NULL; node = node->next) {
        struct mixer *mixer = &mixers[model->mixer_count];
        const bool is_good =
            mixer_read_node(reader, node, model->hidden, mixer) && has_own_name(reader, mixer);
        map->is_bad = map->is_bad || !is_good;
        model->mixer_count++;
    }
}

/* ---- types ------------------------------------------------------------------------------- */

struct written_type {
    const char *mixer;
    uint32_t mlp;
};

#define SCHEMA_OBJECT struct written_type
#include "input/schema/rows.h"

static const struct schema_row type_rows[] = {
    {TEXT("mixer", mixer, "Name of its mixer, or attention, or none."), .is_required = true},
    {CHOICE("mlp", mlp, mlp_words, MLP_WORD_COUNT_, "Its MLP."), .is_required = true},
};
static const struct schema type_schema = SCHEMA_OF("layer type", "model.layer_types.", type_rows);

/* NULL, with a message, where it is none. */
static bool find_mixer(const struct schema_reader *reader, const struct doc_node *node,
                       const char *name, const struct mixer **mixer)
{
    const struct model *model = reader->object;
    const char *names[MIXERS_MAX + KNOWN_MIXERS];
    const uint32_t count = mixer_names(model, model->mixer_count, names);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            *mixer = i < KNOWN_MIXERS ? NULL : &model->mixers[i - KNOWN_MIXERS];
            return true;
        }
    }
    diag_add(reader->map->diag, DIAG_INPUT, &doc_find(node, "mixer")->place, "no mixer '%s'", name);
    diag_help_nearest(reader->map->diag, diag_nearest(name, names, count),
                      "name one of mixers, or attention, or none");
    return false;
}

static void name_type(struct arena *arena, const char *mixer, uint32_t mlp, struct layer_type *type)
{
    const bool has_both = type->branches == LAYER_BOTH;
    type->name = !has_both ? (type->branches == LAYER_MIXER ? mixer : mlp_words[mlp])
                           : arena_printf(arena, "%s, %s", mixer, mlp_words[mlp]);
    type->high_name = arena_printf(arena, "%s, 16 bits", type->name);
}

static bool read_type(const struct schema_reader *reader, const struct doc_node *node,
                      struct layer_type *type)
{
    struct doc_map map;
    struct diag *diag = reader->map->diag;
    struct written_type written = {.mixer = NULL};
    if (strlen(node->key) != 1) {
        diag_add(diag, DIAG_INPUT, &node->key_place, "layer type '%s' is not one letter",
                 node->key);
        diag_help(diag, "a pattern has a letter a layer: A: {mixer: attention, mlp: dense}");
        return false;
    }
    if (!doc_map_open(&map, node, diag)) {
        return false;
    }
    schema_read(&type_schema, &map, &written, reader->assumptions);
    if (!doc_finish(&map) || !find_mixer(reader, node, written.mixer, &type->mixer)) {
        return false;
    }
    const bool has_mixer = strcmp(written.mixer, "none") != 0;
    if (!has_mixer && written.mlp == MLP_NONE) {
        diag_add(diag, DIAG_INPUT, &node->place, "layers of type %s do nothing", node->key);
        diag_help(diag, "they have a mixer, an mlp, or both");
        return false;
    }
    type->letter = node->key;
    type->has_experts = written.mlp == MLP_EXPERTS;
    type->branches = !has_mixer ? LAYER_MLP : written.mlp == MLP_NONE ? LAYER_MIXER : LAYER_BOTH;
    name_type(reader->assumptions->arena, written.mixer, written.mlp, type);
    return true;
}

void model_read_types(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *map = reader->map;
    struct model *model = reader->object;
    const struct doc_node *types = doc_take(map, schema_key(row));
    if (types == NULL) {
        return;
    }
    if (types->kind != DOC_MAPPING || doc_child_count(types) > DECODER_TYPES_MAX) {
        map->is_bad = true;
        diag_add(map->diag, DIAG_INPUT, &types->place,
                 "layer_types has a key for each of at most "
                 "%d letters",
                 DECODER_TYPES_MAX);
        diag_help(map->diag, "write it like {M: {mixer: ssm, mlp: none}}");
        return;
    }
    struct layer_pattern *pattern = arena_alloc(reader->assumptions->arena, sizeof *pattern);
    *pattern = (struct layer_pattern){.letters = NULL};
    for (const struct doc_node *node = types->child; node != NULL; node = node->next) {
        if (!read_type(reader, node, &pattern->types[pattern->type_count++])) {
            map->is_bad = true;
        }
    }
    model->pattern = pattern;
}

/* ---- the pattern ------------------------------------------------------------------------- */

static const struct layer_type *type_of(const struct layer_pattern *pattern, char letter)
{
    for (uint32_t i = 0; i < pattern->type_count; i++) {
        if (pattern->types[i].letter[0] == letter) {
            return &pattern->types[i];
        }
    }
    return NULL;
}

/* Refuses a letter that stands for nothing; counts the others into `letters`. */
static bool take_letters(const struct schema_reader *reader, const struct doc_node *node,
                         const struct layer_pattern *pattern, char *letters, size_t *count)
{
    const char *known = "";
    for (uint32_t i = 0; i < pattern->type_count; i++) {
        known = arena_printf(reader->assumptions->arena, "%s%s%s", known, i > 0 ? ", " : "",
                             pattern->types[i].letter);
    }
    for (const char *at = node->text; *at != '\0'; at++) {
        if (*at == ' ') {
            continue;
        }
        if (type_of(pattern, *at) == NULL) {
            diag_add(reader->map->diag, DIAG_INPUT, &node->place,
                     "pattern has '%c' as its letter %zu, which is no layer type", *at, *count + 1);
            diag_help(reader->map->diag, "layer_types has %s", known);
            return false;
        }
        letters[(*count)++] = *at;
    }
    return true;
}

static bool check_pattern(const struct schema_reader *reader, const struct doc_node *node,
                          size_t count)
{
    const struct model *model = reader->object;
    if (count > 0 && (uint64_t)model->layers % count == 0) {
        return true;
    }
    diag_add(reader->map->diag, DIAG_INPUT, &node->place,
             "pattern has %zu letters, which do not fill %lld layers", count,
             (long long)model->layers);
    diag_help(reader->map->diag, "write as many letters as layers, or as many as divide them");
    return false;
}

void model_read_pattern(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *map = reader->map;
    struct model *model = reader->object;
    struct arena *arena = reader->assumptions->arena;
    const struct doc_node *node = doc_take(map, schema_key(row));
    if (map->is_bad) {
        return;
    }
    if (node == NULL && model->pattern == NULL) {
        if (model->mixer_count > 0) {
            map->is_bad = true;
            diag_add(map->diag, DIAG_INPUT, &model->mixers[0].place,
                     "mixers without layer_types and pattern");
            diag_help(map->diag, "which layer has mixer %s they say", model->mixers[0].name);
        }
        return;
    }
    if (node == NULL || model->pattern == NULL || node->text == NULL) {
        map->is_bad = true;
        diag_add(map->diag, DIAG_INPUT, node != NULL ? &node->place : &map->node->place,
                 node == NULL             ? "layer_types without pattern"
                 : model->pattern == NULL ? "pattern without layer_types"
                                          : "pattern is no text of letters");
        diag_help(map->diag, "layer_types says what a letter stands for, pattern has one for "
                             "each layer: pattern: M-M*");
        return;
    }
    struct layer_pattern *pattern = arena_alloc(arena, sizeof *pattern);
    *pattern = *model->pattern;
    char *letters = arena_array(arena, (size_t)model->layers + strlen(node->text) + 1, 1);
    size_t count = 0;
    if (!take_letters(reader, node, pattern, letters, &count) ||
        !check_pattern(reader, node, count)) {
        map->is_bad = true;
        return;
    }
    for (size_t i = count; i < (size_t)model->layers; i++) {
        letters[i] = letters[i - count];
    }
    pattern->letters = letters;
    model->pattern = pattern;
}
