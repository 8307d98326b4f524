/* `sweep --best layout|usual`: each value of a study at its own best layout (study/bests), and what
 * the layouts of the other values would cost there.
 */
#ifndef CLI_STUDY_BESTS_H
#define CLI_STUDY_BESTS_H

#include "cli/study/session.h"
#include "report/study/listing.h"
#include "input/features/features.h"
#include "study/bests.h"

struct portfolio_found; /* study/portfolio_found.h */

/* Begins with the session, so that shared parsers find it. */
struct sweeper {
    struct session session;
    struct text_list axes; /* --axis: "KEY=A,B" or "KEY=1..8" */
    struct listing listing;
    uint32_t best; /* enum sweep_best */
    uint32_t by;   /* enum search_by */
    double gap;
    bool is_portfolio;
    struct portfolio_found *portfolios; /* with --portfolio */
    struct bests bests;                 /* with --best; the session's study is all at all */
    bool has_own_layout;                /* the file says one, nothing of it is auto */
};
enum sweep_best { BEST_NONE, BEST_LAYOUT, BEST_USUAL, BEST_COUNT_ };

/* The layouts of the values asked for, [asked->values->count], by the sweeper's options. */
MUST_USE bool sweeper_find_bests(struct sweeper *sweeper, const struct best_request *asked,
                                 struct best_layout *layouts);

/* Searches the layouts of the session's study, whose points it then replaces. */
MUST_USE bool sweeper_expand_bests(struct sweeper *sweeper, const struct doc_node *document,
                                   const struct study_base *base);

/* For plots of the kind best: the winners, and the values with the file's own layout, which are
 * run as a study of their own. The session's rows are there. */
void sweeper_prepare_bests(struct sweeper *sweeper);

/* What is said of them. */
void sweeper_answer_bests(struct sweeper *sweeper, struct sheet *sheet);
void sweeper_add_bests(struct sweeper *sweeper, struct sheet *sheet);

#endif
