/* Keys of the layout that are `auto`: a search finds them (study/search/search_auto).
 *
 *     parallel: {tp: auto, pp: 4}       batch: {micro: auto}       recompute: auto
 *     parallel: auto                    all of `parallel` that a search finds
 *
 * etp is found beside ep, and need not be there: of a model without experts nobody says it.
 *
 * `parallel.dp: auto` is none of them: replicas take the GPUs that are left. Whoever predicts a
 * scenario puts what was found in the place of `auto` first, as --set does, so that what is
 * resolved says sizes; an `auto` that is left is an error there.
 */
#ifndef INPUT_STUDY_AUTO_KEYS_H
#define INPUT_STUDY_AUTO_KEYS_H

#include "input/doc/doc.h"

enum { AUTO_KEYS = 11 };
extern const char *const auto_key_paths[AUTO_KEYS]; /* "parallel.tp" */

/* Of keys that are auto their nodes; of others NULL. */
struct auto_keys {
    const struct doc_node *nodes[AUTO_KEYS];
    uint32_t count;
};

/* Of a document and what is set ("path=value") besides. What is wrong with either is not told. */
struct auto_keys auto_keys_of(struct arena *arena, const struct doc_node *document,
                              const char *const *sets, uint32_t set_count);

/* Puts the keys in the place of `parallel: auto`, in the order of auto_key_paths, but for etp. The
 * root's children are its own. */
void auto_keys_expand(struct arena *arena, struct doc_node *root);

/* An input error when a key is auto still. */
MUST_USE bool auto_keys_refuse(struct arena *arena, const struct doc_node *root, struct diag *diag);

/* A copy of the document without keys that are auto, for who searches by `search:` alone. */
struct doc_node *auto_keys_left_out(struct arena *arena, const struct doc_node *document);

#endif
