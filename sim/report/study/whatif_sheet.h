/* What is said of a what-if (study/whatif_found): tables of what is free, to buy and an upper
 * bound, what a unit of each link is worth, the ladder, and what came out infeasible or slower.
 */
#ifndef REPORT_STUDY_WHATIF_SHEET_H
#define REPORT_STUDY_WHATIF_SHEET_H

#include "bands/against.h"
#include "report/plot/plot.h"
#include "report/sheet.h"
#include "study/whatif_found.h"

/* What would help most, in a sentence or two; NULL: the scenario as it is has no result. `against`
 * is of its rows, the scenario as it is the base. */
const char *whatif_answer(struct arena *arena, const struct whatif_found *found,
                          const struct against *against);

/* The rest; the text has the --set of each numbered row where that is asked for. `wins` [row_count]
 * is of each row beside the scenario as it is; ABSENT: it is not known. */
void whatif_add(const struct whatif_found *found, const struct against *against,
                const struct wins *wins, bool has_sets, struct sheet *sheet);

/* What its picture shows: rows with the bands of their ratios, and the ladder. It borrows them. */
const struct plot_series *whatif_series(struct arena *arena, const struct whatif_found *found,
                                        const struct against *against, const char *title);

#endif
