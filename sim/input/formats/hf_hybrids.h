/* Families whose layers have mixers of operators, or branches of their own: what of a config.json
 * becomes `mixers`, `layer_types` and `pattern` of a model file (input/mixer/mixer.h).
 *
 * A row is a text of mixers, in which $key stands for the number that the file has under that key
 * (dots go into mappings), $key+1 for one more, $key+other and $key*other for what both come to,
 * and a line that begins with ?key or !key is there only where that switch is true, or false;
 * letters with what they stand for; and how a file says which layer has which. Facts are those of
 * transformers' src/transformers/models/TYPE, or of the code beside the weights on the hub.
 */
#ifndef INPUT_FORMATS_HF_HYBRIDS_H
#define INPUT_FORMATS_HF_HYBRIDS_H

#include <stdbool.h>
#include <stdint.h>

struct hf_reading;

enum { HF_LETTERS_MAX = 4 };

struct hf_letter {
    char letter; /* 0 behind the last */
    const char *mixer, *mlp;
    const char *word; /* a file's list has for it; NULL: such files say it otherwise */
};

struct hf_hybrid {
    const char *mixers;
    struct hf_letter letters[HF_LETTERS_MAX];
    /* Writes a letter for each layer that the file lists; false with a message: it cannot. */
    bool (*spell)(struct hf_reading *reading, const struct hf_hybrid *hybrid, char *letters);
};

extern const struct hf_hybrid hf_hybrid_letters;  /* state-space layers, in a text of letters */
extern const struct hf_hybrid hf_hybrid_delta;    /* gated delta rule and gated attention */
extern const struct hf_hybrid hf_hybrid_wide;     /* delta rule with wide gates, latent attention */
extern const struct hf_hybrid hf_hybrid_listed;   /* state-space layers, in a list of words */
extern const struct hf_hybrid hf_hybrid_parallel; /* both side by side */
extern const struct hf_hybrid hf_hybrid_windows;  /* windows with heads of their own */
extern const struct hf_hybrid hf_hybrid_slid;     /* full layers with heads of their own */
extern const struct hf_hybrid hf_hybrid_chosen;   /* latent attention to keys that an index chose */

/* Adds the three keys to the result; nothing of a family that is not one of these. */
void hf_put_hybrid(struct hf_reading *reading);

#endif
