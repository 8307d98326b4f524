/* One policy, tried: its scenario, all its histories, and how far it is behind another's.
 */
#ifndef STUDY_POLICY_POLICY_TRIAL_H
#define STUDY_POLICY_POLICY_TRIAL_H

#include "run/result.h"
#include "study/policy/policy_space.h"
#include "study/study.h"

enum policy_by {
    POLICY_BY_DAYS,
    POLICY_BY_COST,
    POLICY_BY_ENERGY,
    POLICY_BY_GOODPUT,
    POLICY_BY_COUNT_
};
extern const char *const policy_by_units[POLICY_BY_COUNT_]; /* days, USD, kWh, "" */

struct policy_request {
    const struct doc_node *document;
    const struct study_base *base;
    const struct policy_space *space;
    enum policy_by by;
    bool folds;
    uint32_t top; /* so many are kept with all that is known of them */
    void (*on_policy)(void *context, uint32_t tried, uint32_t wanted); /* NULL: nobody looks */
    void *context;
};

/* Why a policy is none of those that are compared. */
enum policy_state {
    POLICY_GOOD,
    POLICY_WITHOUT_PROGRESS, /* a history was given up, or a verdict of run/verdict */
    POLICY_IMPOSSIBLE,       /* its keys do not go together */
};

struct policy {
    const char *texts[POLICY_AXIS_COUNT_]; /* of each axis of the space: what --set takes */
    int64_t every_steps; /* of an interval by name, which holds whether that is an axis; else 0 */
    enum policy_state state;
    const char *reason; /* where it is not good */
    double every_s;     /* between checkpoints; 0: there are none */
    double value;       /* of what it is judged by, the mean; ABSENT where it is not good */
    double behind;      /* the best's value, this one's less that; worse is positive */
    double error;       /* standard error of that */
    bool is_tied;       /* cannot be told apart from the best */
    double every_least_s, every_most_s; /* of a range: tried and not to be told apart from this */
    const struct scenario *scenario; /* these three of the best ones and of those by name; NULL */
    const struct result *result;
    struct arena *arena;
    double *each; /* value of each history */
    uint32_t count;
};

struct run_known;
struct step_memo;

/* What all trials share. */
struct policy_trials {
    struct arena *arena; /* of values and reasons */
    const struct policy_request *request;
    struct run_known *known;
    struct step_memo *memo;
    uint32_t tried;
};

/* The scenario with the policy's keys; NULL, with messages, where these do not go together. */
MUST_USE const struct scenario *policy_resolve(const struct policy_trials *trials,
                                               struct arena *arena, const struct policy *policy,
                                               struct diag *diag);

enum { POLICY_SETS_MAX = POLICY_AXIS_COUNT_ + 1 };

/* Puts the --set that make a scenario have it into `sets`, [POLICY_SETS_MAX]; returns how many. */
uint32_t policy_sets(struct arena *arena, const struct policy_space *space,
                     const struct policy *policy, const char **sets);

/* "every 79.2 s, spares 5 %" */
const char *policy_words(struct arena *arena, const struct policy_space *space,
                         const struct policy *policy);

/* Its texts are there; fills the rest. */
void policy_try(struct policy_trials *trials, struct policy *policy);

/* Gives back its scenario and result. */
void policy_drop(struct policy *policy);

/* What is to be least; HUGE_VAL where it is not good. */
double policy_loss(const struct policy *policy, enum policy_by by);

/* How far `policy` is behind `best`, over the histories that both have; both are good. */
void policy_hold_against(const struct policy *best, enum policy_by by, struct policy *policy);

#endif
