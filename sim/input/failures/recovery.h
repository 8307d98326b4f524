/* How a run comes back when something broke: `run.recovery`, and which failures it meets,
 * `run.failures`.
 */
#ifndef INPUT_FAILURES_RECOVERY_H
#define INPUT_FAILURES_RECOVERY_H

#include "input/failures/failures.h"
#include "input/failures/spot.h"

struct scenario;

/* What is slow, a GPU or a link of one: its node is taken out once it is known, or the job goes on
 * with it until it is repaired where it is. */
enum recovery_slow { RECOVERY_REPLACES, RECOVERY_ENDURES, RECOVERY_SLOW_COUNT_ };
extern const char *const recovery_slow_names[RECOVERY_SLOW_COUNT_];

/* What a job does when it knows that nodes on spot will go: it writes a checkpoint, if that can be
 * safe by then, or nothing. */
enum recovery_notice { NOTICE_CHECKPOINT, NOTICE_NOTHING, RECOVERY_NOTICE_COUNT_ };
extern const char *const recovery_notice_names[RECOVERY_NOTICE_COUNT_];

enum recovery_without_node { RECOVERY_WAITS, RECOVERY_ELASTIC, RECOVERY_WITHOUT_NODE_COUNT_ };
extern const char *const recovery_without_node_names[RECOVERY_WITHOUT_NODE_COUNT_];

/* Where spares lie: on the leaf switch and in the NVLink domain of what they replace, or behind the
 * job, which then lies apart until a restart finds its own nodes back. */
enum recovery_spares_at { RECOVERY_SPARES_BESIDE, RECOVERY_SPARES_AT_END, RECOVERY_SPARES_COUNT_ };
extern const char *const recovery_spares_names[RECOVERY_SPARES_COUNT_];

/* Where what a lost GPU held is read from: the newest checkpoint, by all; or a replica that holds a
 * copy of it, by who comes in its place. */
enum recovery_from { RECOVERY_FROM_CHECKPOINT, RECOVERY_FROM_REPLICA, RECOVERY_FROM_COUNT_ };
extern const char *const recovery_from_names[RECOVERY_FROM_COUNT_];

/* Of a job with fewer replicas: each trains as many sequences as before, or all together do. */
enum recovery_batch { RECOVERY_BATCH_SHRUNK, RECOVERY_BATCH_KEPT, RECOVERY_BATCH_COUNT_ };
extern const char *const recovery_batch_names[RECOVERY_BATCH_COUNT_];

struct recovery {
    double spares_share;    /* of the job's nodes; 0: a number was written */
    int64_t spares;         /* nodes */
    uint32_t spares_at;     /* enum recovery_spares_at */
    int64_t hot_spares;     /* of the spares; -1: all */
    struct law cold_start;  /* of one that is not */
    int64_t hands;          /* repairs at a time; 0: any number */
    double wrong_diagnosis; /* share of failures for which another node is taken out */
    struct law inspection;  /* until it is back */
    uint32_t on_notice;     /* enum recovery_notice */
    uint32_t slow;          /* enum recovery_slow */
    uint32_t without_node;  /* enum recovery_without_node */
    uint32_t batch;         /* enum recovery_batch */
    uint32_t from;          /* enum recovery_from */
    bool has_restart;       /* all of it was stated; else what is drawn is its start alone */
    struct law restart;     /* drawn for each */
    double start_per_gpu_s; /* and with it, for each GPU of the job; 0 where all of it was stated */
    double warm_up_s;       /* as that, whatever the GPUs */
    struct law growth;      /* with more replicas, when nodes came back; loses nothing */
    struct law detection[DETECTION_COUNT_];
    bool has_checks; /* for corrupted weights */
    double check_every_s, check_s;
};

/* How many histories are drawn. */
struct repetition_plan {
    int64_t count;
    double precision; /* standard error of the days over their mean, at which it is enough; 0: all
                       * are drawn */
};

/* Readers of rows whose object is a struct scenario. */
void recovery_read_failures(const struct schema_reader *reader, const struct schema_row *row);
void recovery_read_spot(const struct schema_reader *reader, const struct schema_row *row);
void recovery_read_spares(const struct schema_reader *reader, const struct schema_row *row);
void recovery_read_hot_spares(const struct schema_reader *reader, const struct schema_row *row);
void recovery_read_restart(const struct schema_reader *reader, const struct schema_row *row);

/* What cold spares and wrong diagnoses take is asked for where there are such. */
bool recovery_has_cold_spares(const void *scenario);
bool recovery_is_wrong(const void *scenario);
const struct schema_refusal *recovery_refuses_cold_start(const void *scenario);
const struct schema_refusal *recovery_refuses_inspection(const void *scenario);

/* Parts of a restart are refused where all of it is stated. */
const struct schema_refusal *recovery_refuses_parts(const void *scenario);

/* Nodes may be taken away. */
bool recovery_is_on_spot(const void *scenario);
const struct schema_refusal *recovery_refuses_notice(const void *scenario);

/* Something fails in it, or nodes are taken away. */
bool recovery_has_failures(const void *scenario);

/* Of the spares of a run with failures, those that are started, and all; 0 without failures. */
int64_t recovery_hot_spares(const struct scenario *scenario);
int64_t recovery_spares(const struct scenario *scenario);

/* Once the job's nodes are known: how many spares there are, and whether the cluster has them.
 * Assumptions of what nothing hangs on are dropped. */
MUST_USE bool recovery_settle(struct scenario *scenario, struct diag *diag);

/* What is allowed, and hardly meant: keys of a recovery that never is, spot paid as rent. */
void recovery_warn(const struct scenario *scenario, struct diag *diag);

#endif
