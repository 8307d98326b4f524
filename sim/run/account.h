/* Where the wall-clock time of a run goes: every nanosecond of it is on one account.
 */
#ifndef RUN_ACCOUNT_H
#define RUN_ACCOUNT_H

enum account {
    ACCOUNT_USEFUL,     /* steps that count, as long as a healthy one */
    ACCOUNT_DATA_STALL, /* of these steps, what they wait for data */
    ACCOUNT_DEGRADED,   /* what they took longer than a healthy one */
    ACCOUNT_CHECKPOINT, /* blocked by writing, or checking */
    ACCOUNT_LOST,       /* steps that were done again */
    ACCOUNT_DETECTION,
    ACCOUNT_WAITING, /* for nodes, or for what all wait for */
    ACCOUNT_RECOVERY,
    ACCOUNT_PLANNED, /* start-up, evaluation, maintenance, changes of stage */
    ACCOUNT_QUEUED,  /* before the job had its nodes; no history has it */
    ACCOUNT_COUNT_
};
extern const char *const account_names[ACCOUNT_COUNT_];

/* Of a history: all but the queue. */
double account_sum_s(const double account_s[ACCOUNT_COUNT_]);

#endif
