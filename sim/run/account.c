/* What the accounts of a run are called, and what those of a history add up to.
 */
#include "run/account.h"

#include <stdint.h>

#define NAME(id, name, ...) name,
#define COLOUR(id, name, colour, words) colour,
#define WORDS(id, name, colour, words) words,
const char *const account_names[ACCOUNT_COUNT_] = {RUN_ACCOUNTS(NAME)};
const char *const account_colours[ACCOUNT_COUNT_] = {RUN_ACCOUNTS(COLOUR)};
const char *const account_words[ACCOUNT_COUNT_] = {RUN_ACCOUNTS(WORDS)};

double account_sum_s(const double account_s[ACCOUNT_COUNT_])
{
    double sum_s = 0;
    for (uint32_t i = 0; i < ACCOUNT_QUEUED; i++) {
        sum_s += account_s[i];
    }
    return sum_s;
}
