/* Stages of a training, each with tokens and a length of sequences: what they sum up to.
 *
 *     15T@8192   800G@131072   40M
 *
 * FLOPs of a token grow with the sequence that it attends to, so stages of longer ones cost more
 * than their tokens; by six FLOPs a parameter, or without a model, they do not.
 */
#ifndef STUDY_BUDGET_BUDGET_STAGES_H
#define STUDY_BUDGET_BUDGET_STAGES_H

#include "base/diag.h"
#include "plan/cost.h"

enum { BUDGET_STAGES_MAX = 32 };

struct budget_stage {
    double tokens;
    int64_t sequence;  /* 0: nobody says, without a model */
    double token_flop; /* ABSENT without a model */
};

struct budget_stages {
    struct budget_stage items[BUDGET_STAGES_MAX];
    uint32_t count;
    double tokens, rounding; /* of all, and what that is rounded by, of itself */
    double token_flop;       /* the mean over tokens; ABSENT without a model */
};

/* `model` may be NULL; `sequence` is of stages that say none. False, with a message, where a text
 * is no stage. */
MUST_USE bool budget_stages_read(const char *const *texts, uint32_t count,
                                 const struct model *model, int64_t sequence,
                                 enum flop_convention convention, struct budget_stages *stages,
                                 struct diag *diag);

#endif
