/* What a budget says beside its quantities: its stages, what serving the model takes, and how many
 * GPUs hold it and train it.
 */
#ifndef REPORT_STUDY_BUDGET_PARTS_SHEET_H
#define REPORT_STUDY_BUDGET_PARTS_SHEET_H

#include "report/sheet.h"
#include "study/budget/budget_fewest.h"
#include "study/budget/budget_isoflop.h"
#include "study/budget/budget_serve.h"
#include "study/budget/budget_stages.h"

/* With FLOPs of each; `parameters` for those without a model. */
void budget_stages_add(const struct budget_stages *stages, double parameters, struct sheet *sheet);

/* A line for weights in 16, 8 and 4 bits. */
void budget_serve_add(const struct budget_server *server, struct sheet *sheet);

/* GPUs of each size that hold so many parameters; and those that train it, where that was sought
 * (NULL: it was not). */
void budget_fewest_add(const struct budget_size *sizes, uint32_t count, double parameters,
                       const struct budget_fewest *fewest, struct sheet *sheet);

/* The picture of a law: files of that path. */
MUST_USE bool budget_isoflop_draw(struct arena *arena, const struct budget_law *law, double flop,
                                  const char *path_base, struct diag *diag);

#endif
