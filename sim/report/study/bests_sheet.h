/* What is said of values at their own best (study/bests): their layouts, what those of the others
 * would cost there, near misses.
 */
#ifndef REPORT_STUDY_BESTS_SHEET_H
#define REPORT_STUDY_BESTS_SHEET_H

#include "report/plot/plot.h"
#include "report/sheet.h"
#include "study/bests.h"

/* Which value is fastest, each at its own best; NULL: none has a layout that fits. */
const char *bests_answer(struct arena *arena, const struct bests *bests,
                         const struct against *against);

/* `against` is of its rows, `wins` of its values at their own best (ABSENT: not known), NULL: fewer
 * than two are known. What is required is not said (report/study/required). */
void bests_add(const struct bests *bests, const struct against *against, const struct wins *wins,
               struct sheet *sheet);

/* In the help of the last message, that nothing fits: of the values' near misses the one that
 * misses least. */
void bests_help_near(struct arena *arena, const struct bests *bests, struct diag *diag);

/* What a plot of the kind best shows: the winners and their names. */
struct plot_series *bests_series(struct arena *arena, const struct bests *bests, const char *title);

#endif
