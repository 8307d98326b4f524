/* Which part of the file is the decoder, and of which type it is. The root's model_type comes
 * first: what is refused is refused whatever it holds. A mapping text_config (or one of its other
 * names) is then the decoder, whether the type is known to have one or not, since a class of
 * transformers that nests its shapes has none at the root. What is left over is a decoder of its
 * own, of a family or plain.
 */
#include "input/formats/hf_reading.h"

#include "base/arena.h"

#include <string.h>

/* ---- messages ------------------------------------------------------------------------- */

static bool refuse(const struct hf_reading *reading, const struct doc_node *node,
                   const struct hf_type *row)
{
    diag_add(reading->diag, DIAG_INPUT, &node->place, "a %s cannot be read: it has %s", row->type,
             row->reason);
    diag_help(reading->diag, "a model file has a decoder's layers: attention over all keys or a "
                             "window of them, and an MLP or experts");
    return false;
}

/* ---- a plain decoder -------------------------------------------------------------------- */

static const char *text_of(const struct hf_reading *reading, const char *const *keys)
{
    const char *text = NULL;
    for (uint32_t i = 0; text == NULL && keys[i] != NULL; i++) {
        text = doc_find_text(reading->config, keys[i]);
    }
    return text;
}

/* What a file of an unknown type lacks of a plain decoder's keys, or NULL: nothing. */
static const char *lack_of_plain(const struct hf_reading *reading)
{
    static const enum hf_field fields[] = {HF_LAYERS, HF_HIDDEN, HF_HEADS,    HF_KV_HEADS,
                                           HF_FFN,    HF_VOCAB,  HF_POSITIONS};
    static const char *const activations[] = {"hidden_act", "activation_function",
                                              "hidden_activation", NULL};
    static const char *const norms[] = {"rms_norm_eps", "rms_norm_epsilon", "rmsnorm_eps", NULL};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (hf_find_field(reading, fields[i]) == NULL) {
            return arena_printf(reading->arena, "'%s' is missing",
                                reading->family->keys[fields[i]]);
        }
    }
    const char *activation = text_of(reading, activations);
    if (activation == NULL) {
        return "'hidden_act' is missing";
    }
    if (strcmp(activation, "silu") != 0 && strcmp(activation, "swish") != 0) {
        return arena_printf(reading->arena,
                            "its activation is '%.*s', and whether its MLP has two "
                            "or three matrices is not said",
                            HF_SHOWN_MAX, activation);
    }
    if (text_of(reading, norms) == NULL) {
        return "'rms_norm_eps' is missing";
    }
    if (doc_find(reading->config, "tie_word_embeddings") == NULL &&
        doc_find(reading->root, "tie_word_embeddings") == NULL) {
        return "'tie_word_embeddings' is missing";
    }
    return NULL;
}

static bool take_plain(struct hf_reading *reading, const struct doc_node *node)
{
    reading->family = hf_family_find(hf_type_plain()->family);
    reading->type = arena_printf(reading->arena, "%.*s", HF_SHOWN_MAX, node->text);
    const char *lack = lack_of_plain(reading);
    if (lack != NULL) {
        diag_add(reading->diag, DIAG_INPUT, &node->place,
                 "model_type '%s' is not known, and this is no plain decoder: %s", reading->type,
                 lack);
        diag_help(reading->diag, "a plain decoder has a llama's keys, num_key_value_heads, "
                                 "hidden_act: silu, rms_norm_eps and tie_word_embeddings included");
        return false;
    }
    diag_add(reading->diag, DIAG_NOTE, &node->place,
             "model_type '%s' is not known: read as a plain decoder like llama's (RMSNorm, SwiGLU, "
             "rotary positions)",
             reading->type);
    diag_help(reading->diag,
              "compare the parameters with the published ones before you lean on it");
    return true;
}

/* ---- types -------------------------------------------------------------------------------- */

/* The node of model_type in a mapping, or NULL. */
static const struct doc_node *type_of(const struct doc_node *mapping)
{
    const struct doc_node *node = doc_find(mapping, "model_type");
    return node != NULL && node->kind == DOC_SCALAR ? node : NULL;
}

static bool take_type(struct hf_reading *reading, const struct hf_type *row)
{
    reading->type = row->type;
    reading->family = hf_family_find(row->family);
    reading->standing = reading->standing != NULL ? reading->standing : row->standing;
    const struct hf_switch *latent = &reading->family->latent_switch;
    if (latent->key != NULL && !hf_switch_value(reading, latent)) {
        reading->family = hf_family_find(reading->family->unlatent);
    }
    return !reading->is_bad;
}

/* The decoder that reading->config is, of the type that it says; `node` without a row. */
static bool take_decoder(struct hf_reading *reading, const struct doc_node *node,
                         const struct hf_type *row)
{
    if (row == NULL) {
        return take_plain(reading, node);
    }
    return row->reason != NULL ? refuse(reading, node, row) : take_type(reading, row);
}

/* ---- models that hold one ------------------------------------------------------------------- */

static const struct doc_node *find_inner(const struct doc_node *root)
{
    static const char *const names[] = {"text_config", "language_config", "llm_config"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct doc_node *node = doc_find(root, names[i]);
        if (node != NULL && node->kind != DOC_NULL) {
            return node;
        }
    }
    return NULL;
}

/* The names of the root's other parts, as a list in words. */
static const char *other_parts(const struct hf_reading *reading)
{
    static const char *const ours[] = {"quantization_config", "generation_config",
                                       "compression_config"};
    const char *parts = NULL;
    for (const struct doc_node *node = reading->root->child; node != NULL; node = node->next) {
        const size_t length = strlen(node->key);
        bool is_part = node->kind == DOC_MAPPING && node != reading->config && length > 7 &&
                       strcmp(node->key + length - 7, "_config") == 0;
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
            is_part = is_part && strcmp(node->key, ours[i]) != 0;
        }
        if (is_part) {
            parts = parts == NULL
                        ? arena_printf(reading->arena, "%.*s", HF_SHOWN_MAX, node->key)
                        : arena_printf(reading->arena, "%s, %.*s", parts, HF_SHOWN_MAX, node->key);
        }
    }
    return parts != NULL ? parts : "what reads images";
}

static void note_parts(const struct hf_reading *reading, const struct doc_node *type)
{
    diag_add(reading->diag, DIAG_NOTE, &reading->config->place,
             "of this %.*s only the decoder is taken, not %s", HF_SHOWN_MAX, type->text,
             other_parts(reading));
    diag_help(reading->diag, "layers of an encoder before it can be added by hand: blocks of a "
                             "model file");
}

static bool enter(struct hf_reading *reading, const struct doc_node *type,
                  const struct doc_node *inner, const struct hf_type *row)
{
    if (inner->kind != DOC_MAPPING) {
        diag_add(reading->diag, DIAG_INPUT, &inner->place,
                 "a %.*s describes its decoder in %s, which is no mapping", HF_SHOWN_MAX,
                 type->text, inner->key);
        diag_help(reading->diag, "put the decoder's keys there, or use its own config.json");
        return false;
    }
    reading->config = inner;
    note_parts(reading, type);
    const struct doc_node *own = type_of(inner);
    const struct hf_type *own_row = own != NULL ? hf_type_find(own->text) : NULL;
    const bool is_repeated = own_row != NULL && own_row->text != NULL && row != NULL &&
                             row->text != NULL; /* the root's type stands inside again */
    own_row = own == NULL || is_repeated ? row : own_row;
    if (own_row != NULL && own_row->text != NULL) {
        own_row = hf_type_find(own_row->text);
    }
    if (row != NULL && row->text != NULL && own_row == hf_type_find(row->text)) {
        reading->standing = row->standing;
    }
    return take_decoder(reading, own != NULL ? own : type, own_row);
}

/* A type that holds a decoder, without the mapping for it. */
static bool take_flat(struct hf_reading *reading, const struct doc_node *type,
                      const struct hf_type *row)
{
    if (!row->is_flat || doc_find(reading->root, "hidden_size") == NULL) {
        diag_add(reading->diag, DIAG_INPUT, &reading->root->place,
                 "a %s describes its decoder in text_config, which is missing", row->type);
        diag_help(reading->diag, "put the decoder's keys there, or use its own config.json");
        return false;
    }
    note_parts(reading, type);
    return take_decoder(reading, type, hf_type_find(row->text));
}

bool hf_find_decoder(struct hf_reading *reading)
{
    const struct doc_node *type = type_of(reading->root);
    if (type == NULL) {
        const struct doc_node *node = doc_find(reading->root, "model_type");
        diag_add(reading->diag, DIAG_INPUT, node != NULL ? &node->place : &reading->root->place,
                 "this file does not say its model_type");
        diag_help(reading->diag, "a config.json of Hugging Face has \"model_type\": \"llama\" or "
                                 "the like, which says what its keys mean");
        return false;
    }
    const struct hf_type *row = hf_type_find(type->text);
    if (row != NULL && row->reason != NULL) {
        return refuse(reading, type, row);
    }
    const struct doc_node *inner = find_inner(reading->root);
    if (inner != NULL) {
        return enter(reading, type, inner, row);
    }
    return row != NULL && row->text != NULL ? take_flat(reading, type, row)
                                            : take_decoder(reading, type, row);
}
