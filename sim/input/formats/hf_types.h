/* The table of model_type: what a config.json of that type is.
 *
 * A row is one of three kinds: a decoder (of a family of hf_families.h), a model that holds a
 * decoder in a mapping of its own (text_config and the like), or one that is refused, with the
 * layers that a model file does not have as the reason. A type that is not in the table may still
 * be a plain decoder: hf_config.c.
 */
#ifndef INPUT_FORMATS_HF_TYPES_H
#define INPUT_FORMATS_HF_TYPES_H

#include "input/formats/hf_families.h"

/* A shape that files of a type leave out where it is what the class of transformers has: those
 * files were written by a release that writes down differences only. Each that is taken so is
 * told in a note. */
struct hf_standing {
    enum hf_field field;
    int64_t value; /* 0 ends the list */
};

struct hf_type {
    const char *type;
    const char *family; /* of a decoder; else NULL */
    const char *text;   /* type of the decoder inside when that has none; else NULL */
    const char *reason; /* it is refused for it; else NULL */
    bool is_flat;       /* files with the decoder's keys at the root exist */
    const struct hf_standing *standing; /* or NULL */
};

/* The row of a model_type, or NULL. */
const struct hf_type *hf_type_find(const char *type);

/* How the decoder of a type that is not in the table is read. */
const struct hf_type *hf_type_plain(void);

/* For tests: row `index` of the table, or NULL behind the last. */
const struct hf_type *hf_type_at(uint32_t index);

#endif
