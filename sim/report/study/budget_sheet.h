/* What `stoker budget` and `stoker audit` say: the answer, a line for each quantity with what it is
 * worked out from, the states of the model, and of an audit which figures fit.
 */
#ifndef REPORT_STUDY_BUDGET_SHEET_H
#define REPORT_STUDY_BUDGET_SHEET_H

#include "study/budget_counted.h"
#include "study/budget_usual.h"

struct arena;
struct sheet;
struct budget_fewest;
struct budget_server;
struct budget_size;
struct budget_stages;

struct budget_answer {
    const struct budget *told;   /* before it was solved */
    const struct budget *budget; /* solved */
    const struct budget *at_low,
        *at_high;                 /* with an MFU that is exceeded by nine of ten, by one of ten;
                                                  NULL: it was not assumed */
    const struct budget_law *law; /* that split the FLOPs; NULL: nothing did */
    const char *gpu, *model;      /* NULL: not named */
    const char *cluster;          /* of the catalogue, of that GPU; NULL: its file names none */
    const char *precision;
    double gpu_bytes;                     /* ABSENT: of none */
    double parameters;                    /* of all experts, for memory; ABSENT: unknown */
    const struct budget_counted *counted; /* by convention, of a model in an audit; NULL */
    const struct budget_stages *stages;   /* NULL: it is one */
    const struct budget_server *server;   /* NULL: of no GPU, or no parameters */
    const struct budget_size *sizes;      /* of the catalogue's GPUs; NULL: not asked for */
    uint32_t size_count;
    const struct budget_fewest *fewest; /* NULL: not sought */
};

/* "15.6 T", "3.79e25 FLOP", "54 days". */
const char *budget_value_text(struct arena *arena, enum budget_quantity quantity, double value);

/* "the figures do not fit together: by the others the time is ..."; NULL: they do. */
const char *budget_misfit(struct arena *arena, const struct budget_check *checks, uint32_t count);

void budget_add(const struct budget_answer *answer, struct sheet *sheet);
void audit_add(const struct budget_answer *answer, struct sheet *sheet);

#endif
