/* Titles that follow what they name.
 *
 * A scenario's title is what its file states. Where that names the model, how many GPUs there are,
 * or their kind, and something beside the file (--set, an axis, a variant) made it another, the
 * title is one that is generated, as `stoker new` writes it:
 *
 *     stated                       set                  printed
 *     Llama 3 8B on 64 H100        cluster=b200-3200    Llama 3.1 8B on 64 NVIDIA B200 SXM 180 GB
 *     Llama 3 8B on 64 H100        cluster=h100-400     Llama 3 8B on 64 H100
 *
 * It is replaced, not extended: what a reader sees first must not be wrong before it is put right.
 * A title that names none of these stands, as does what is set as `scenario`.
 *
 * What a title names is found by the names of the catalogue: a model's ("llama3-405b", whatever
 * stands between its letters and digits, or its size, "405B"), the number of GPUs ("16,384"), and
 * the first part of a GPU's or cluster's ("h100"). Titles in other words are left alone.
 */
#ifndef INPUT_STUDY_TITLE_H
#define INPUT_STUDY_TITLE_H

#include "input/doc/doc.h"

struct scenario;

/* "Llama 3 405B on 16,384 NVIDIA H100 SXM5 80 GB". */
const char *title_generate(struct arena *arena, const struct scenario *scenario);

/* Of a scenario that was resolved from the document and what is set beside it. */
const char *title_follow(struct arena *arena, const struct doc_node *document,
                         const char *const *sets, uint32_t set_count,
                         const struct scenario *scenario);

/* Of a study of the document, whose axes may be the command line's. Its points differ: what they
 * have in common is named. */
const char *title_of_study(struct arena *arena, const struct doc_node *document,
                           const char *const *sets, uint32_t set_count);

/* What the document states, else its file's name. */
const char *title_stated(const struct doc_node *document);

#endif
