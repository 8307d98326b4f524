/* Anchors of what a command predicts, from --anchor or from the scenario (measured/anchoring):
 * worked out in one place, before anything else reads the document.
 */
#ifndef CLI_ANCHOR_H
#define CLI_ANCHOR_H

#include "cli/options.h"
#include "measured/anchoring.h"

struct importer;
struct text_file;

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

/* The run that a log (or FILE.csv:ID, or a time) at `what` is of, with --set; by a scenario's
 * document where the log does not say all (NULL: there is none). `as` says what --gpu and its kin
 * do for a log, and has its stalls then. False with messages. */
MUST_USE bool anchor_run_of(const struct options *options, const char *what, struct importer *as,
                            const struct doc_node *document, struct anchoring_run *run);

#endif
