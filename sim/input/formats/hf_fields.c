/* The fields of a family's row, in their order: the file's number, else what a missing or null key
 * means, else an error. Which are asked for follows from switches and from fields before them.
 * Lists are short, scans plain.
 */
#include "input/formats/hf_reading.h"

#include "base/arena.h"

#include <inttypes.h>
#include <string.h>

enum { LAYERS_MAX = 10 * 1000 };

/* ---- names and switches --------------------------------------------------------------- */

/* Names that a key has, too: of other versions, and of transformers' attribute_map. */
static const struct {
    const char *key, *alias;
} aliases[] = {
    {"num_experts", "num_local_experts"},
    {"num_local_experts", "num_experts"},
    {"n_routed_experts", "num_local_experts"},
    {"n_routed_experts", "num_experts"},
    {"num_experts_per_tok", "experts_per_token"},
    {"num_experts_per_tok", "num_experts_per_token"},
    {"n_shared_experts", "num_shared_experts"},
    {"sliding_window_pattern", "_sliding_window_pattern"},
    {"sliding_window", "sliding_window_size"},
    {"num_hidden_layers", "num_layers"},
    {"num_layers", "num_hidden_layers"},
    {"n_layer", "num_hidden_layers"},
    {"n_embd", "hidden_size"},
    {"n_head", "num_attention_heads"},
    {"n_positions", "max_position_embeddings"},
    {"n_layers", "num_hidden_layers"},
    {"d_model", "hidden_size"},
    {"n_heads", "num_attention_heads"},
    {"max_position_embeddings", "model_max_length"},
    {"head_dim", "attention_head_dim"},
    {"seq_length", "max_position_embeddings"},
};

const char *hf_alias(const char *key, uint32_t index)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (strcmp(aliases[i].key, key) == 0 && index-- == 0) {
            return aliases[i].alias;
        }
    }
    return NULL;
}

const struct doc_node *hf_find_field(const struct hf_reading *reading, enum hf_field field)
{
    const char *key = reading->family->keys[field];
    const struct doc_node *node = key != NULL ? doc_find(reading->config, key) : NULL;
    for (uint32_t i = 0; key != NULL && node == NULL && hf_alias(key, i) != NULL; i++) {
        node = doc_find(reading->config, hf_alias(key, i));
    }
    return node;
}

bool hf_switch_value(struct hf_reading *reading, const struct hf_switch *wanted)
{
    const bool is_opposite = wanted->key != NULL && wanted->key[0] == '!';
    const struct doc_node *node =
        wanted->key != NULL ? doc_find(reading->config, wanted->key + is_opposite) : NULL;
    if (node == NULL || node->kind == DOC_NULL) {
        return wanted->by_default;
    }
    const bool value = doc_is(node, "true");
    if (!value && !doc_is(node, "false")) {
        reading->is_bad = true;
        diag_add(reading->diag, DIAG_INPUT, &node->place, "%s must be true or false",
                 wanted->key + is_opposite);
    }
    return value != is_opposite;
}

/* ---- what a key means that is not there ------------------------------------------------- */

/* What null means where the class has a number; HF_REQUIRED: it is an error. */
static int64_t null_default(const struct hf_family *family, enum hf_field field)
{
    switch (field) {
    case HF_KV_HEADS:
        return HF_AS_HEADS;
    case HF_HEAD_DIM:
        return HF_HIDDEN_PER_HEAD;
    case HF_WINDOW:
    case HF_EXPERTS:
    case HF_SHARED:
    case HF_SHARED_HIDDEN:
    case HF_GROUPS:
    case HF_GROUP_LIMIT:
    case HF_MTP:
    case HF_Q_RANK:
        return HF_NULL;
    default:
        return family->by_default[field] < 0 ? family->by_default[field] : HF_REQUIRED;
    }
}

/* What files of this type leave out where it is the class's; HF_REQUIRED: nothing of the kind. */
static int64_t standing_value(struct hf_reading *reading, enum hf_field field)
{
    const struct hf_standing *standing = reading->standing;
    while (standing != NULL && standing->value != 0 && standing->field != field) {
        standing++;
    }
    if (standing == NULL || standing->value == 0) {
        return HF_REQUIRED;
    }
    const bool is_first = reading->stood == NULL;
    reading->stood =
        arena_printf(reading->arena, "%s%s%s %" PRId64, is_first ? "" : reading->stood,
                     is_first ? "" : ", ", reading->family->keys[field], standing->value);
    return standing->value;
}

static int64_t report_missing(struct hf_reading *reading, enum hf_field field,
                              const struct doc_node *node)
{
    const char *key = reading->family->keys[field];
    reading->is_bad = true;
    diag_add(reading->diag, DIAG_INPUT, node != NULL ? &node->place : &reading->config->place,
             node != NULL ? "%s is null" : "missing key '%s'", key);
    diag_help(reading->diag,
              node != NULL ? "give a number"
                           : "a shape is taken from the file alone, never from a class's default: "
                             "write it there");
    return 0;
}

/* A number or an enum hf_default as the number it means; 0 for none. */
static int64_t meaning(const struct hf_reading *reading, enum hf_field field, int64_t value)
{
    const int64_t heads = reading->values[HF_HEADS];
    switch (value) {
    case HF_AS_HEADS:
        return heads;
    case HF_FOUR_HIDDEN:
        return 4 * reading->values[HF_HIDDEN];
    case HF_HIDDEN_PER_HEAD: /* of heads it is the model file's own default */
        return field == HF_HEAD_DIM || heads == 0 ? 0 : reading->values[HF_HIDDEN] / heads;
    case HF_NULL:
        return 0;
    default:
        return value;
    }
}

/* ---- reading -------------------------------------------------------------------------------- */

bool hf_check_length(struct hf_reading *reading, const struct doc_node *list, const char *key)
{
    const int64_t layers = reading->values[HF_LAYERS];
    if (doc_child_count(list) != layers) {
        reading->is_bad = true;
        diag_add(reading->diag, DIAG_INPUT, &list->place,
                 "%s has %" PRIu32 " entries for %" PRId64 " layers", key, doc_child_count(list),
                 layers);
        diag_help(reading->diag, "it has one for each of num_hidden_layers");
        return false;
    }
    return true;
}

/* A list has a number for each layer, which must all be the same; or NULL with a message. */
static const struct doc_node *only_number(struct hf_reading *reading, const struct doc_node *list,
                                          const char *key)
{
    if (!hf_check_length(reading, list, key)) {
        return NULL;
    }
    for (const struct doc_node *node = list->child; node != NULL; node = node->next) {
        if (node->kind != DOC_SCALAR || list->child->kind != DOC_SCALAR ||
            strcmp(node->text, list->child->text) != 0) {
            reading->is_bad = true;
            diag_add(reading->diag, DIAG_INPUT, &node->place,
                     "%s is another here than in the first layer", key);
            diag_help(reading->diag, "layers of a model file have experts of one kind: give one "
                                     "number, or the same for each layer");
            return NULL;
        }
    }
    return list->child;
}

static void read_field(struct hf_reading *reading, enum hf_field field)
{
    const struct doc_node *node = hf_find_field(reading, field);
    int64_t value = reading->family->by_default[field];
    if (node != NULL) {
        reading->places[field] = &node->place;
    }
    if (node == NULL && value == HF_REQUIRED) {
        value = standing_value(reading, field);
    } else if (node != NULL && node->kind == DOC_NULL) {
        value = null_default(reading->family, field);
    } else if (node != NULL) {
        const int64_t most = field == HF_LAYERS ? LAYERS_MAX : HF_VALUE_MAX;
        const int64_t least = field <= HF_POSITIONS ? 1 : 0;
        if (field >= HF_EXPERTS && node->kind == DOC_SEQUENCE && node->child != NULL) {
            node = only_number(reading, node, reading->family->keys[field]);
        }
        reading->is_bad = node == NULL ||
                          !doc_node_count(node, least, most, &value, reading->diag) ||
                          reading->is_bad;
        reading->values[field] = value;
        return;
    }
    if (value == HF_REQUIRED) {
        value = report_missing(reading, field, node);
    }
    reading->values[field] = meaning(reading, field, value);
}

static bool is_window_wanted(struct hf_reading *reading, enum hf_field field)
{
    const struct hf_family *family = reading->family;
    const struct hf_switch window_switch = {family->window_switch, family->window_switch == NULL};
    const bool has_list = doc_find_text(reading->config, "layer_types") == NULL &&
                          doc_find(reading->config, "layer_types") != NULL;
    if (family->window == HF_WINDOW_NONE || !hf_switch_value(reading, &window_switch)) {
        return false;
    }
    if (field == HF_WINDOW) {
        return true;
    }
    if (has_list || reading->values[HF_WINDOW] == 0) {
        return false;
    }
    return field == HF_WINDOW_EVERY
               ? family->window == HF_WINDOW_BUT_EACH
               : family->window == HF_WINDOW_LATE ||
                     (family->window == HF_WINDOW_EVEN && family->window_switch != NULL);
}

/* Whether the decoder's shapes ask for this field, given those before it. */
static bool is_wanted(struct hf_reading *reading, enum hf_field field)
{
    const struct hf_family *family = reading->family;
    if (family->keys[field] == NULL) {
        return false;
    }
    if (field >= HF_WINDOW && field <= HF_WINDOW_EVERY) {
        return is_window_wanted(reading, field);
    }
    if (field == HF_KV_HEADS && family->kv_switch.key != NULL) {
        return hf_switch_value(reading, &family->kv_switch);
    }
    if (field == HF_MTP && family->mtp_switch.key != NULL) {
        return hf_switch_value(reading, &family->mtp_switch);
    }
    if (field < HF_EXPERTS || field > HF_GROUP_LIMIT) {
        return true;
    }
    if (field == HF_SHARED && family->shared_switch.key != NULL &&
        !hf_switch_value(reading, &family->shared_switch)) {
        return false;
    }
    return family->experts != HF_EXPERTS_NONE &&
           (field == HF_EXPERTS || reading->values[HF_EXPERTS] > 0);
}

void hf_read_fields(struct hf_reading *reading)
{
    for (uint32_t field = 0; field < HF_FIELD_COUNT_; field++) {
        reading->places[field] = &reading->config->place;
        if (is_wanted(reading, (enum hf_field)field)) {
            read_field(reading, (enum hf_field)field);
        }
    }
    if (reading->family->is_gated) {
        reading->values[HF_FFN] /= 2;
    }
    if (reading->stood != NULL) {
        diag_add(reading->diag, DIAG_NOTE, &reading->config->place,
                 "not in the file, and taken as transformers does for a %s: %s", reading->type,
                 reading->stood);
    }
}
