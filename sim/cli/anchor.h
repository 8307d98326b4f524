/* The anchor of what is predicted (input/study/anchor), from --anchor or from the scenario: worked
 * out in one place, before anything else reads the document.
 *
 * The measured run is resolved and predicted as any other scenario:
 *
 *     a log        its own sizes; model, GPU, cluster, library and, of the same framework, software
 *                  are the document's, for a log does not say them
 *     FILE.csv:ID  as --row of `run` has it
 *     else         the document as its file has it, without --set; or another; with anchor.set
 *
 * A box that the document names may have one, too (input/study/box); the scenario's own goes
 * before it. The measured run has the document's box, where its GPU is the same and it names none
 * itself.
 *
 * and what follows is written into the document, below `anchor`. It must train the same model: by a
 * box's that does not nothing is corrected, and a note says so. How much of its error counts
 * (measured/anchor) is told by the document with --set; of a study whose scenario cannot be by
 * itself by its first point that can. So all points of a study have the same factor, and their
 * ratios are as without an anchor.
 */
#ifndef CLI_ANCHOR_H
#define CLI_ANCHOR_H

#include "cli/options.h"

/* --anchor */
extern const struct command_option options_anchor[];

/* The document at `path`, its anchor worked out. NULL, with messages. */
MUST_USE struct doc_node *anchor_load_document(const struct options *options, const char *path);

/* --set names a box (input/study/box), which may have an anchor. */
bool anchor_is_of_box(const struct options *options);

/* Works out the anchors of documents, which are replaced. --anchor, which goes before what they
 * say, is worked out for the first and holds for all. False with messages. */
MUST_USE bool anchor_put(const struct options *options, const struct doc_node **documents,
                         uint32_t count);

#endif
