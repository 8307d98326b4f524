/* One table of names and words; the formulas are sums of `stoker explain`.
 */
#include "run/goodput.h"

#include "base/arena.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define ROW(member, name, words, source) \
    {#member, name, words, source, offsetof(struct run_result, member)},
const struct goodput goodputs[] = {GOODPUTS(ROW)};
#undef ROW
const uint32_t goodput_count = sizeof goodputs / sizeof *goodputs;

const char goodput_terms[] =
    "Productive time is that of steps that count, less what they wait for data, a checkpoint or a "
    "slow GPU. Steps that count are those that no failure undid, however long they take. The "
    "wall-clock runs from when the job has its nodes until they are free; the queue is before it.";

double goodput_value(const struct goodput *goodput, const struct run_result *run)
{
    double value;
    memcpy(&value, (const char *)run + goodput->offset, sizeof value);
    return value;
}

const struct goodput *goodput_find(const char *word)
{
    for (uint32_t i = 0; i < goodput_count; i++) {
        if (strcmp(goodputs[i].key, word) == 0 || strcasecmp(goodputs[i].name, word) == 0) {
            return &goodputs[i];
        }
    }
    return NULL;
}

const char *goodput_rest(struct arena *arena, const struct run_result *run)
{
    const double wall_s = account_sum_s(run->account_s);
    const char *text = "";
    for (uint32_t i = 0; i < ACCOUNT_QUEUED; i++) {
        const double percent = wall_s > 0 ? 100 * run->account_s[i] / wall_s : 0;
        if (i != ACCOUNT_USEFUL && round(10 * percent) >= 1) {
            text = arena_printf(arena, "%s%s%s %.1f %%", text, text[0] != '\0' ? ", " : "",
                                account_names[i], percent);
        }
    }
    return text;
}

void goodput_add_up(double wall_s, double mfu, struct ledger *ledger, struct run_result *run)
{
    const double *s = run->account_s;
    const double productive_s = s[ACCOUNT_USEFUL];
    const double steps_s = LEDGER_SUM(
        ledger, "steps that count", "seconds",
        s[ACCOUNT_USEFUL] + s[ACCOUNT_DATA_STALL] + s[ACCOUNT_DEGRADED],
        LEDGER_TERM(s[ACCOUNT_USEFUL], "seconds"), LEDGER_TERM(s[ACCOUNT_DATA_STALL], "seconds"),
        LEDGER_TERM(s[ACCOUNT_DEGRADED], "seconds"));
    run->goodput = LEDGER_SUM(ledger, "goodput", "%", productive_s / wall_s,
                              LEDGER_TERM(productive_s, "seconds"), LEDGER_TERM(wall_s, "seconds"));
    ledger_remark(ledger, GOODPUT_IS);
    run->effective_training_time_ratio =
        LEDGER_SUM(ledger, "ETTR", "%", steps_s / wall_s, LEDGER_TERM(steps_s, "seconds"),
                   LEDGER_TERM(wall_s, "seconds"));
    ledger_remark(ledger, ETTR_IS "; arXiv 2410.21680");
    const double there_s =
        LEDGER_SUM(ledger, "time with all nodes", "seconds", wall_s - s[ACCOUNT_WAITING],
                   LEDGER_TERM(wall_s, "seconds"), LEDGER_TERM(s[ACCOUNT_WAITING], "seconds"));
    run->scheduling_goodput =
        LEDGER_SUM(ledger, "scheduling goodput", "%", there_s / wall_s,
                   LEDGER_TERM(there_s, "seconds"), LEDGER_TERM(wall_s, "seconds"));
    run->runtime_goodput =
        LEDGER_SUM(ledger, "runtime goodput", "%", steps_s / there_s,
                   LEDGER_TERM(steps_s, "seconds"), LEDGER_TERM(there_s, "seconds"));
    run->ml_productivity_goodput =
        LEDGER_SUM(ledger, "ML productivity goodput", "%",
                   run->scheduling_goodput * run->runtime_goodput * mfu,
                   LEDGER_TERM(run->scheduling_goodput, "%"),
                   LEDGER_TERM(run->runtime_goodput, "%"), LEDGER_TERM(mfu, "%"));
    ledger_remark(ledger, "program goodput is the MFU (Google Cloud, 2024)");
}
