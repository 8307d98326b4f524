/* Where the wall-clock time of a run goes: every nanosecond of it is on one account.
 */
#ifndef RUN_ACCOUNT_H
#define RUN_ACCOUNT_H

/* X(account, its name, its colour in every picture, what `explain` says it is): an account is a
 * row, and is in the sums of run/duration. The first two are steps; the queue is no history's. */
/* clang-format off */
#define RUN_ACCOUNTS(X) \
    X(USEFUL, "useful", "#d9d9d9", "steps that count, as long as the usual one, less data stalls") \
    X(DATA_STALL, "data stall", "#d9d9d9", "of these steps, what they wait for data") \
    X(DEGRADED, "degraded", "#bfa27a", \
      "of these steps, what a slow GPU, missing replicas or a flush add") \
    X(CHECKPOINT, "checkpoint", "#333333", \
      "nobody computes while one is written, or weights are checked") \
    X(LOST, "lost", "#a50026", "steps that were done again") \
    X(DETECTION, "detection", "#f46d43", "until somebody knew") \
    X(WAITING, "waiting", "#762a83", "for nodes, or for what all wait for") \
    X(RECOVERY, "recovery", "#fdae61", "restarts, with the read of the checkpoint") \
    X(PLANNED, "planned", "#5aae61", \
      "the start and the first batch, evaluation, maintenance, changes, the teardown") \
    X(QUEUED, "queued", "#c2a5cf", "before the job had its nodes")
/* clang-format on */
#define ACCOUNT(id, ...) ACCOUNT_##id,
enum account { RUN_ACCOUNTS(ACCOUNT) ACCOUNT_COUNT_ };
#undef ACCOUNT
extern const char *const account_names[ACCOUNT_COUNT_];
extern const char *const account_colours[ACCOUNT_COUNT_];
extern const char *const account_words[ACCOUNT_COUNT_];

/* Of a history: all but the queue. */
double account_sum_s(const double account_s[ACCOUNT_COUNT_]);

#endif
