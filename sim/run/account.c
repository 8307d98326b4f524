/* What the accounts of a run are called, and what those of a history add up to.
 */
#include "run/account.h"

#include <stdint.h>

const char *const account_names[ACCOUNT_COUNT_] = {
    "useful",    "data stall", "degraded", "checkpoint", "lost",
    "detection", "waiting",    "recovery", "planned",    "queued",
};

double account_sum_s(const double account_s[ACCOUNT_COUNT_])
{
    double sum_s = 0;
    for (uint32_t i = 0; i < ACCOUNT_QUEUED; i++) {
        sum_s += account_s[i];
    }
    return sum_s;
}
