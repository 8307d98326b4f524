/* `sweep --portfolio`: several jobs on each of some fabrics (study/portfolio_found), what each
 * fabric loses of the portfolio's work, and the leanest that loses no more than it may.
 */
#ifndef CLI_STUDY_PORTFOLIOS_H
#define CLI_STUDY_PORTFOLIOS_H

#include "base/check.h"
#include "input/doc/doc.h"

struct sheet;
struct study_base;
struct sweeper;

/* Reads the portfolio and makes the session's study of it; with --best layout each job has its own
 * best on each fabric, where one fits. */
MUST_USE bool portfolios_expand(struct sweeper *sweeper, const struct doc_node *document,
                                const struct study_base *base);

/* What the fabrics lose is found here, before portfolios_add() says it. */
void portfolios_answer(const struct sweeper *sweeper, struct sheet *sheet);

/* What is said of it. Where no fabric loses so little, and where a job has no result on any, there
 * is an error in the diag, which makes the exit status. */
void portfolios_add(const struct sweeper *sweeper, struct sheet *sheet);

#endif
