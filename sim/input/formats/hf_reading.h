/* What the parts of hf_config share: a config.json that is being read. */
#ifndef INPUT_FORMATS_HF_READING_H
#define INPUT_FORMATS_HF_READING_H

#include "input/doc/doc.h"
#include "input/formats/hf_families.h"

struct hf_reading {
    struct arena *arena;
    struct diag *diag;
    const struct doc_node *root;   /* the file */
    const struct doc_node *config; /* the decoder's part of it */
    const struct hf_family *family;
    int64_t values[HF_FIELD_COUNT_];
    const struct place *places[HF_FIELD_COUNT_]; /* of the values, or of what holds them */
    struct doc_node **end;                       /* where the next key of the result goes */
    bool is_bad;
};

/* Adds a key to the result. */
void hf_put_count(struct hf_reading *reading, const char *key, int64_t count,
                  const struct place *place);
void hf_put_bool(struct hf_reading *reading, const char *key, bool value);

/* Adds the keys that say which layers have a window (a note when a model file cannot) or
 * experts (an error then). */
void hf_put_window(struct hf_reading *reading);
void hf_put_experts(struct hf_reading *reading);

#endif
