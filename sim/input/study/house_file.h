/* A house's defaults on the way into a scenario: opened, put part by part, and what is left of
 * them, for input/resolve. What they are says input/study/house.h.
 */
#ifndef INPUT_STUDY_HOUSE_FILE_H
#define INPUT_STUDY_HOUSE_FILE_H

#include "input/catalogue.h"

struct house_file;

/* What of it is put, in this order. */
enum house_part {
    HOUSE_CLUSTER, /* the name of a cluster */
    HOUSE_NAMES,   /* of software, library and box */
    HOUSE_BODY,    /* all else but */
    HOUSE_GPU,     /* keys of gpu */
    HOUSE_LIBRARY, /* and of library */
};

/* The file that a path stands for, or what stands in its place. NULL with a message when there is
 * none, or it sets what is not a house's. */
MUST_USE struct house_file *house_open(struct arena *arena, const struct catalogue *catalogue,
                                       const struct doc_node *reference, struct diag *diag);

/* Takes what it says for this GPU and this cluster; NULL: it is not known. To be called before
 * anything but HOUSE_CLUSTER is put. */
MUST_USE bool house_choose(struct house_file *house, const struct catalogue *catalogue,
                           const char *gpu, const char *cluster, struct diag *diag);

/* Puts a part of it into `root`, whose files have been put, but for what `own`, the scenario
 * without them, states. */
void house_put(struct house_file *house, enum house_part part, const struct doc_node *own,
               struct doc_node *root);

/* Forgets what of a part stands in `root` no longer as the house has it. */
void house_settle(struct house_file *house, enum house_part part, const struct doc_node *root);

/* What is left of it in the resolved document. `sets` are those that were applied, as far as it had
 * been applied before. */
struct doc_node *house_applied(const struct house_file *house, const char *const *sets,
                               uint32_t set_count);

#endif
