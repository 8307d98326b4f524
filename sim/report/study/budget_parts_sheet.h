/* What a budget says beside its quantities: its stages, what serving the model takes, and how many
 * GPUs hold it and train it.
 */
#ifndef REPORT_STUDY_BUDGET_PARTS_SHEET_H
#define REPORT_STUDY_BUDGET_PARTS_SHEET_H

#include "report/sheet.h"
#include "study/budget/budget_serve.h"
#include "study/budget/budget_stages.h"

/* With FLOPs of each; `parameters` for those without a model. */
void budget_stages_add(const struct budget_stages *stages, double parameters, struct sheet *sheet);

/* A line for weights in 16, 8 and 4 bits. */
void budget_serve_add(const struct budget_server *server, struct sheet *sheet);

#endif
