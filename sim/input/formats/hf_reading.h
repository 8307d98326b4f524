/* What the parts of hf_config share: a config.json that is being read. */
#ifndef INPUT_FORMATS_HF_READING_H
#define INPUT_FORMATS_HF_READING_H

#include "input/doc/doc.h"
#include "input/formats/hf_types.h"

/* What a message shows of a text from the file: "%.*s"; the largest number of any key. */
enum { HF_SHOWN_MAX = 60, HF_VALUE_MAX = 1000 * 1000 * 1000 };

struct hf_reading {
    struct arena *arena;
    struct diag *diag;
    const struct doc_node *root;   /* the file */
    const struct doc_node *config; /* the decoder's part of it */
    const char *type;              /* of the decoder: its model_type */
    const struct hf_family *family;
    const struct hf_standing *standing; /* or NULL */
    const char *stood;                  /* "KEY VALUE, ..." of those taken; or NULL */
    int64_t values[HF_FIELD_COUNT_];
    const struct place *places[HF_FIELD_COUNT_]; /* of the values, or of what holds them */
    struct doc_node **end;                       /* where the next key of the result goes */
    bool is_bad;
};

/* Goes down to the decoder, and finds its type and family. False with a message: the file has none
 * that can be read. */
MUST_USE bool hf_find_decoder(struct hf_reading *reading);

/* Reads all fields of the family that are asked for; what is missing is an error. */
void hf_read_fields(struct hf_reading *reading);

/* Refuses each key of the decoder that changes shapes and is not understood, by its name. */
void hf_check_keys(struct hf_reading *reading);

/* The node of a field, under its key or another name of it; NULL: it is not there. */
const struct doc_node *hf_find_field(const struct hf_reading *reading, enum hf_field field);

/* The switch's value in the file, or its default; key NULL: the default. */
bool hf_switch_value(struct hf_reading *reading, const struct hf_switch *wanted);

/* The list under `key`, or NULL when it is missing, null or empty; and whether it has an element
 * for each layer. Errors where it is no list, or has not. */
const struct doc_node *hf_find_list(struct hf_reading *reading, const char *key);
MUST_USE bool hf_check_length(struct hf_reading *reading, const struct doc_node *list,
                              const char *key);

/* Another name of a key, number `index` from 0, or NULL. */
const char *hf_alias(const char *key, uint32_t index);

/* Adds a key to the result. */
void hf_put_count(struct hf_reading *reading, const char *key, int64_t count,
                  const struct place *place);
void hf_put_bool(struct hf_reading *reading, const char *key, bool value);

/* Adds the keys that say which layers have a window (a note when a model file cannot) or
 * experts (an error then). */
void hf_put_window(struct hf_reading *reading);
void hf_put_experts(struct hf_reading *reading);

#endif
