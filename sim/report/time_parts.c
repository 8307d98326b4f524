/* A run's usual steps, stalls for data among them, are as many times the step; all other accounts
 * stand for themselves. The path of a step by itself, which loaders that read ahead make
 * shorter, is longer than the step: its causes share that in proportion.
 */
#include "report/time_parts.h"

#include "train/critical/critical.h"

#include <float.h>
#include <math.h>

static bool is_account(uint32_t part)
{
    return part >= CAUSE_COUNT_;
}

const char *time_part_name(uint32_t part)
{
    return is_account(part) ? account_names[part - CAUSE_COUNT_] : cause_names[part];
}

const char *time_part_title(uint32_t part)
{
    return is_account(part) ? account_names[part - CAUSE_COUNT_]
                            : critical_cause_title((enum cause)part);
}

void time_parts_of(const struct store_row *row, bool has_run, double s[TIME_PARTS])
{
    const double tokens = has_run ? row->run_tokens : row->tokens_per_step;
    const double usual_s = row->account_s[ACCOUNT_USEFUL] + row->account_s[ACCOUNT_DATA_STALL];
    const double step_s = has_run ? usual_s : row->step_s;
    double path_s = 0;
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        path_s += row->path_s[cause];
    }
    for (uint32_t part = 0; part < TIME_PARTS; part++) {
        const uint32_t account = is_account(part) ? part - CAUSE_COUNT_ : ACCOUNT_USEFUL;
        const bool is_told = account == ACCOUNT_USEFUL || account == ACCOUNT_DATA_STALL;
        s[part] = !is_account(part) ? row->path_s[part] / fmax(path_s, DBL_MIN) * step_s / tokens
                  : has_run && !is_told ? row->account_s[account] / tokens
                                        : 0.0;
    }
}
