/* `sweep --portfolio`: several jobs on each of some fabrics (study/portfolio), what each fabric
 * loses of the portfolio's work, and the leanest that loses no more than it may.
 *
 * A job is held against the fabric on which it does most, with the bands of ratios that `sweep` and
 * `compare` have (cli/study/against). A fabric loses at most so much *clearly* where all of the
 * band of its work lies on that side of the limit, *likely* where that of half the votes does.
 *
 * Leanest are those within the limit of which none other is leaner (portfolio_is_leaner): with two
 * axes there may be several, less bandwidth with less oversubscription and the other way round.
 * With a price those on the front are not beaten both in what a GPU-hour costs and in what is lost.
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

/* What is said of it. Where no fabric loses so little, and where a job has no result on any, there
 * is an error in the diag, which makes the exit status. */
void portfolios_add(struct sweeper *sweeper, struct sheet *sheet);

#endif
