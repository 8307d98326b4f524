/* Each stage is read by itself; sums are in their order. */
#include "study/budget/budget_stages.h"

#include "base/absent.h"
#include "base/units.h"
#include "study/budget.h"

#include <stdio.h>
#include <string.h>

#define TOKENS_MAX 1e21
#define SEQUENCE_MAX 1e8

static const char example[] = "write it like --stage 15T@8192 --stage 800G@131072";

/* The part of a text before '@', or behind it. */
static bool read_count(const char *text, size_t length, double most, double *count)
{
    char part[32];
    char unheard[128];
    if (length == 0 || length >= sizeof part) {
        return false;
    }
    snprintf(part, sizeof part, "%.*s", (int)length, text);
    return units_parse(part, DIM_COUNT, count, unheard, sizeof unheard) && *count >= 1 &&
           *count <= most;
}

static bool read_stage(const char *text, const struct model *model, int64_t sequence,
                       struct budget_stage *stage, struct diag *diag)
{
    const size_t length = strcspn(text, "@");
    double own = (double)sequence;
    const bool has_own = text[length] == '@';
    *stage = (struct budget_stage){.token_flop = ABSENT};
    if (!read_count(text, length, TOKENS_MAX, &stage->tokens) ||
        (has_own &&
         !read_count(text + length + 1, strlen(text + length + 1), SEQUENCE_MAX, &own))) {
        diag_add(diag, DIAG_USAGE, NULL,
                 "--stage: '%.40s' is no number of tokens and length of "
                 "sequences",
                 text);
        diag_help(diag, "%s", example);
        return false;
    }
    if (has_own && model == NULL) {
        diag_add(diag, DIAG_USAGE, NULL, "--stage %.40s: a length of sequences without a model",
                 text);
        diag_help(diag, "its attention is what a length changes: name it with --model, or tell "
                        "tokens alone");
        return false;
    }
    stage->sequence = model != NULL ? (int64_t)own : 0;
    return true;
}

bool budget_stages_read(const char *const *texts, uint32_t count, const struct model *model,
                        int64_t sequence, enum flop_convention convention,
                        struct budget_stages *stages, struct diag *diag)
{
    *stages = (struct budget_stages){.token_flop = ABSENT};
    if (count > BUDGET_STAGES_MAX) {
        diag_add(diag, DIAG_USAGE, NULL, "more than %d stages", BUDGET_STAGES_MAX);
        diag_help(diag, "add up those of one length of sequences");
        return false;
    }
    double flop = 0, rounded = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct budget_stage *stage = &stages->items[stages->count++];
        if (!read_stage(texts[i], model, sequence, stage, diag)) {
            return false;
        }
        if (model != NULL) {
            stage->token_flop = cost_train_flop(model, stage->sequence, 1, convention);
            flop += stage->tokens * stage->token_flop;
        }
        stages->tokens += stage->tokens;
        rounded += stage->tokens * budget_rounding(texts[i]);
    }
    stages->rounding = count > 0 ? rounded / stages->tokens : 0;
    stages->token_flop = model != NULL && count > 0 ? flop / stages->tokens : ABSENT;
    return true;
}
