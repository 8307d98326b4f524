/* The FLOPs of a token are replaced, whatever was told of them. */
#include "study/budget_counted.h"

#include "base/absent.h"
#include "base/arena.h"

static double mfu_by_others(const struct budget *told)
{
    struct budget others = *told;
    if (others.origin[BUDGET_MFU] == BUDGET_TOLD) {
        others.value[BUDGET_MFU] = ABSENT;
    }
    budget_solve(&others);
    return others.value[BUDGET_MFU];
}

static bool fits(const struct budget *told)
{
    struct budget_check checks[BUDGET_QUANTITIES];
    const uint32_t count = budget_checks(told, checks);
    for (uint32_t i = 0; i < count; i++) {
        if (!checks[i].fits) {
            return false;
        }
    }
    return true;
}

const struct budget_counted *budget_count(struct arena *arena, const struct budget *told,
                                          const struct model *model, int64_t sequence)
{
    struct budget_counted *counted = arena_array(arena, FLOP_CONVENTION_COUNT_, sizeof *counted);
    for (uint32_t i = 0; i < FLOP_CONVENTION_COUNT_; i++) {
        struct budget budget = *told;
        budget.value[BUDGET_TOKEN_FLOP] =
            cost_train_flop(model, sequence, 1, (enum flop_convention)i);
        counted[i] = (struct budget_counted){budget, mfu_by_others(&budget), fits(&budget)};
    }
    return counted;
}
