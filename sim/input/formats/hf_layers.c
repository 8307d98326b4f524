/* Which layers have a window or experts: a flag for each layer, from lists or from the
 * family's rule, and then the few numbers of a model file that give the same flags. The period
 * is taken from the first two layers that have it, and must then hold for all. Cost is linear.
 */
#include "input/formats/hf_reading.h"

#include "base/arena.h"

#include <inttypes.h>
#include <string.h>

enum { INDEX_MAX = 1000 * 1000 };

static bool *flags_new(struct hf_reading *reading)
{
    return arena_array(reading->arena, (size_t)reading->values[HF_LAYERS], sizeof(bool));
}

static int64_t count_flags(const bool *flags, int64_t layers)
{
    int64_t count = 0;
    for (int64_t i = 0; i < layers; i++) {
        count += flags[i];
    }
    return count;
}

/* The first layer at or after `from` with that flag; `layers` when there is none. */
static int64_t next_flag(const bool *flags, int64_t from, int64_t layers)
{
    while (from < layers && !flags[from]) {
        from++;
    }
    return from;
}

const struct doc_node *hf_find_list(struct hf_reading *reading, const char *key)
{
    const struct doc_node *node = doc_find(reading->config, key);
    if (node == NULL || node->kind == DOC_NULL) {
        return NULL;
    }
    if (node->kind != DOC_SEQUENCE) {
        reading->is_bad = true;
        diag_add(reading->diag, DIAG_INPUT, &node->place, "%s must be a list", key);
        return NULL;
    }
    return node->child != NULL ? node : NULL;
}

/* ---- windows ------------------------------------------------------------------------ */

static void flag_layer_types(struct hf_reading *reading, const struct doc_node *list, bool *flags)
{
    static const char *const names[] = {"full_attention", "sliding_attention", "chunked_attention"};
    int64_t layer = 0;
    for (const struct doc_node *node = list->child; node != NULL; node = node->next) {
        const char *text = node->kind == DOC_SCALAR ? node->text : "";
        uint32_t which = 0;
        while (which < 3 && strcmp(text, names[which]) != 0) {
            which++;
        }
        if (which == 3) {
            reading->is_bad = true;
            diag_add(reading->diag, DIAG_INPUT, &node->place,
                     "a model file has no layers of '%.40s'", text);
            diag_help(reading->diag, "it has those of full_attention, sliding_attention and "
                                     "chunked_attention");
            return;
        }
        flags[layer++] = which > 0;
    }
}

/* Llama 4: 1 for layers with rotary positions, whose attention is in chunks. */
static void flag_rotary_layers(struct hf_reading *reading, const struct doc_node *list, bool *flags)
{
    int64_t layer = 0;
    for (const struct doc_node *node = list->child; node != NULL; node = node->next) {
        int64_t value = 0;
        reading->is_bad = !doc_node_count(node, 0, 1, &value, reading->diag) || reading->is_bad;
        flags[layer++] = value == 1;
    }
}

static void flag_by_rule(const struct hf_reading *reading, bool *flags)
{
    const int64_t from = reading->values[HF_WINDOW_FROM];
    const int64_t every = reading->values[HF_WINDOW_EVERY];
    for (int64_t i = 0; i < reading->values[HF_LAYERS]; i++) {
        switch (reading->family->window) {
        case HF_WINDOW_NONE:
            break;
        case HF_WINDOW_ALL:
            flags[i] = true;
            break;
        case HF_WINDOW_LATE:
            flags[i] = i >= from;
            break;
        case HF_WINDOW_EVEN:
            flags[i] = i % 2 == 0 && (from == 0 || i < from);
            break;
        case HF_WINDOW_BUT_EACH:
            flags[i] = every == 0 || (i + 1) % every != 0;
            break;
        }
    }
}

static void flag_windows(struct hf_reading *reading, bool *flags)
{
    const struct doc_node *list = hf_find_list(reading, "layer_types");
    const char *key = "layer_types";
    if (list == NULL && reading->family->window == HF_WINDOW_BUT_EACH) {
        key = "no_rope_layers";
        list = hf_find_list(reading, key);
    }
    if (list == NULL) {
        flag_by_rule(reading, flags);
    } else if (!hf_check_length(reading, list, key)) {
        return;
    } else if (key[0] == 'l') {
        flag_layer_types(reading, list, flags);
    } else {
        flag_rotary_layers(reading, list, flags);
    }
}

/* Whether the flags are those of layers 0, every, 2 every, ... */
static bool is_every(const bool *flags, int64_t layers, int64_t every)
{
    for (int64_t i = 0; i < layers; i++) {
        if (flags[i] != (i % every == 0)) {
            return false;
        }
    }
    return true;
}

/* Whether they are all but those of layers full - 1, 2 full - 1, ... */
static bool is_all_but(const bool *flags, int64_t layers, int64_t full)
{
    for (int64_t i = 0; i < layers; i++) {
        if (flags[i] != ((i + 1) % full != 0)) {
            return false;
        }
    }
    return true;
}

/* The first layer without the flag; `layers` when there is none. */
static int64_t first_without(const bool *flags, int64_t layers)
{
    int64_t layer = 0;
    while (layer < layers && flags[layer]) {
        layer++;
    }
    return layer;
}

static void report_window(struct hf_reading *reading, int64_t count)
{
    diag_add(reading->diag, DIAG_NOTE, reading->places[HF_WINDOW],
             "attention of all layers is taken as full; in %" PRId64 " of %" PRId64
             " a query sees at most %" PRId64 " keys",
             count, reading->values[HF_LAYERS], reading->values[HF_WINDOW]);
    diag_help(reading->diag,
              "a model file can give the window to all layers, to every n-th from the first on, or "
              "to all but every n-th; sequences that are no longer cost the same");
}

void hf_put_window(struct hf_reading *reading)
{
    const int64_t layers = reading->values[HF_LAYERS];
    const int64_t window = reading->values[HF_WINDOW];
    bool *flags = flags_new(reading);
    flag_windows(reading, flags);
    const int64_t count = count_flags(flags, layers);
    if (window == 0 || count == 0 || reading->is_bad) {
        return;
    }
    const struct place *place = reading->places[HF_WINDOW];
    const int64_t second = next_flag(flags, 1, layers);
    const int64_t full = first_without(flags, layers) + 1;
    const bool is_each = flags[0] && is_every(flags, layers, second);
    if (!is_each && !(flags[0] && is_all_but(flags, layers, full))) {
        report_window(reading, count);
        return;
    }
    hf_put_count(reading, "window", window, place);
    if (!is_each) {
        hf_put_count(reading, "full_every", full, place);
    } else if (second > 1) {
        hf_put_count(reading, "window_every", second, place);
    }
}

/* ---- experts ------------------------------------------------------------------------ */

/* Sets the flags of the layers in the list under `key`; those beyond the last are ignored,
 * as transformers does. */
static bool flag_list(struct hf_reading *reading, const char *key, bool value, bool *flags)
{
    const struct doc_node *list = hf_find_list(reading, key);
    for (const struct doc_node *node = list != NULL ? list->child : NULL; node; node = node->next) {
        int64_t layer = 0;
        if (!doc_node_count(node, 0, INDEX_MAX, &layer, reading->diag)) {
            reading->is_bad = true;
        } else if (layer < reading->values[HF_LAYERS]) {
            flags[layer] = value;
        }
    }
    return list != NULL;
}

static void flag_experts(struct hf_reading *reading, bool *flags)
{
    const enum hf_experts rule = reading->family->experts;
    const int64_t step = reading->values[HF_EXPERT_STEP] > 0 ? reading->values[HF_EXPERT_STEP] : 1;
    if (rule == HF_EXPERTS_LIST && flag_list(reading, "moe_layers", true, flags)) {
        return;
    }
    for (int64_t i = 0; i < reading->values[HF_LAYERS]; i++) {
        flags[i] = rule == HF_EXPERTS_ALL ? true
                   : rule == HF_EXPERTS_AFTER
                       ? i >= reading->values[HF_DENSE_LAYERS] && i % step == 0
                       : (i + 1) % step == 0;
    }
    if (rule == HF_EXPERTS_STEP) {
        flag_list(reading, "mlp_only_layers", false, flags);
    }
}

/* The numbers of a model file that give these flags, of which one at least is set. */
static bool find_pattern(const bool *flags, int64_t layers, int64_t *dense, int64_t *every)
{
    const int64_t first = next_flag(flags, 0, layers);
    const int64_t second = next_flag(flags, first + 1, layers);
    *every = second < layers ? second - first : layers - first;
    *dense = first - (*every - 1);
    if (*dense < 0) {
        return false;
    }
    for (int64_t i = first; i < layers; i++) {
        if (flags[i] != ((i - first) % *every == 0)) {
            return false;
        }
    }
    return true;
}

static void put_shared(struct hf_reading *reading)
{
    const int64_t *values = reading->values;
    if (values[HF_SHARED] > 0) {
        hf_put_count(reading, "shared_experts", values[HF_SHARED], reading->places[HF_SHARED]);
    } else if (values[HF_SHARED_HIDDEN] > 0) {
        hf_put_count(reading, "shared_experts", 1, reading->places[HF_SHARED_HIDDEN]);
        hf_put_count(reading, "shared_hidden", values[HF_SHARED_HIDDEN],
                     reading->places[HF_SHARED_HIDDEN]);
    }
}

/* How a token finds its experts; `topk_method` is DeepSeek's. */
static void put_routing(struct hf_reading *reading)
{
    const int64_t *values = reading->values;
    const bool has_biases = hf_switch_value(reading, &reading->family->router_biases);
    const char *method = doc_find_text(reading->config, "topk_method");
    method = method != NULL ? method : has_biases ? "noaux_tc" : "greedy";
    const bool is_limited = strcmp(method, "greedy") != 0 && values[HF_GROUPS] > 1 &&
                            values[HF_GROUP_LIMIT] > 0 &&
                            values[HF_GROUP_LIMIT] < values[HF_GROUPS];
    if (has_biases && (values[HF_KV_RANK] == 0 || strcmp(method, "noaux_tc") == 0)) {
        hf_put_bool(reading, "router_biases", true);
    }
    if (is_limited) {
        hf_put_count(reading, "expert_groups", values[HF_GROUPS], reading->places[HF_GROUPS]);
        hf_put_count(reading, "group_limit", values[HF_GROUP_LIMIT],
                     reading->places[HF_GROUP_LIMIT]);
    }
}

void hf_put_experts(struct hf_reading *reading)
{
    const int64_t layers = reading->values[HF_LAYERS];
    bool *flags = flags_new(reading);
    if (reading->family->experts == HF_EXPERTS_NONE || reading->values[HF_EXPERTS] == 0) {
        return;
    }
    flag_experts(reading, flags);
    if (reading->is_bad || count_flags(flags, layers) == 0) {
        return;
    }
    int64_t dense = 0;
    int64_t every = 1;
    const bool is_hybrid = reading->family->hybrid != NULL; /* its pattern says it */
    if (!is_hybrid && !find_pattern(flags, layers, &dense, &every)) {
        reading->is_bad = true;
        diag_add(reading->diag, DIAG_INPUT, reading->places[HF_EXPERTS],
                 "%" PRId64 " of %" PRId64 " layers have experts, in a pattern that a model file "
                 "cannot tell",
                 count_flags(flags, layers), layers);
        diag_help(reading->diag, "it can have the first n layers dense, and experts in every "
                                 "m-th of the others");
        return;
    }
    const struct place *place = reading->places[HF_EXPERTS];
    hf_put_count(reading, "experts", reading->values[HF_EXPERTS], place);
    hf_put_count(reading, "experts_per_token", reading->values[HF_PER_TOKEN],
                 reading->places[HF_PER_TOKEN]);
    hf_put_count(reading, "expert_hidden", reading->values[HF_EXPERT_HIDDEN],
                 reading->places[HF_EXPERT_HIDDEN]);
    put_shared(reading);
    if (dense > 0) {
        hf_put_count(reading, "dense_layers", dense, place);
    }
    if (every > 1) {
        hf_put_count(reading, "expert_every", every, place);
    }
    put_routing(reading);
}
