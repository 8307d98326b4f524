/* What nobody says of a training that has no layout: how much of the peak is reached, and how FLOPs
 * are split into parameters and tokens. Both are data, models/budget.yaml, with the law's formula.
 */
#ifndef STUDY_BUDGET_USUAL_H
#define STUDY_BUDGET_USUAL_H

#include "input/catalogue.h"
#include "study/budget.h"

struct budget_mfu {
    double low, usual, high; /* a tenth is below, a tenth above */
};

struct budget_law {
    const char *name;
    double e, a, b, alpha, beta;
};

struct budget_usual {
    struct budget_mfu mfu, mfu_low; /* in 16 bits, in fewer */
    const struct budget_law *laws;
    uint32_t law_count;
};

#define BUDGET_FILE "models/budget.yaml"

/* False with a message. */
MUST_USE bool budget_usual_load(struct arena *arena, const struct catalogue *catalogue,
                                struct budget_usual *usual, struct diag *diag);

/* Parameters of the least loss that so many FLOPs reach; and that loss, in nats a token. */
double budget_law_parameters(const struct budget_law *law, double flop);
double budget_law_loss(const struct budget_law *law, double parameters, double tokens);

/* Solves; where it then helps, with the MFU that is given, and with FLOPs split by the law. */
void budget_solve_usual(struct budget *budget, double mfu, const struct budget_law *law);

/* What follows from figures and from what is usual where they do not say it. */
struct budget_found {
    struct budget usual;
    struct budget at_low, at_high; /* with an MFU that nine of ten exceed, that one of ten does */
    bool assumes_mfu;              /* else these two are as the usual one */
    bool is_split;                 /* by the law */
};

/* Of a training in that precision (enum precision), whose peak is reached by less in fewer bits. */
void budget_find(const struct budget *told, const struct budget_usual *usual, uint32_t precision,
                 const struct budget_law *law, struct budget_found *found);

/* The law of that name; the first one for NULL. NULL, with a message: there is none. */
const struct budget_law *budget_law_find(struct arena *arena, const struct budget_usual *usual,
                                         const char *name, struct diag *diag);

#endif
