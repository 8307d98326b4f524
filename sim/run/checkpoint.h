/* Checkpoints of a run: how often, how large, and what training waits for one.
 *
 * The step that ends with a checkpoint is simulated (run/regime); what it takes longer is the
 * blocking part. An asynchronous checkpoint blocks for the copy to host memory, or for what of it
 * does not fit beside the next step (software.checkpoint.copy), and is flushed from there beside
 * steps; where that crosses the NICs of training, these are longer. Before files are made all ranks
 * agree on them (software.checkpoint.coordinate).
 *
 * One rule for what is late: a checkpoint's blocking part may run beside the end of the flush
 * before it, into whose memory it is copied as that empties, but does not end before. With d from
 * the end of the blocking part b until one is where it goes, and n intervals tau until the next
 * goes there, each that is not late blocking for b,
 *
 *     the last of n blocks for   max(b, d - n tau - (n - 1) b)
 *
 * of a flush with n = 1, of what goes on to peers and drains on to the file system with n =
 * run.checkpoint.peer_every and drain_every, b being then the mean of those before. Histories
 * (run/history) follow the same rule.
 *
 * Each rank writes what its framework has it write (plan/checkpoint_roles).
 */
#ifndef RUN_CHECKPOINT_H
#define RUN_CHECKPOINT_H

#include "base/ledger.h"
#include "input/job/checkpoint.h"
#include "run/history/history.h"
#include "run/regime.h"
#include "run/result.h"

struct checkpoint_place;

/* Steps from one checkpoint to the next, at least 1. */
int64_t checkpoint_interval(const struct checkpoint *plan, double step_s);

/* Of checkpoints that lie elsewhere first, every so many-th goes on to the file system. */
int64_t checkpoint_drain_every(const struct checkpoint *plan);

/* 1 in the file system at once, else 2, with peers between them 3; of tier i each so many-th. */
uint32_t checkpoint_tier_count(const struct checkpoint *plan);
int64_t checkpoint_tier_every(const struct checkpoint *plan, uint32_t tier);

/* How many checkpoints a run of so many steps writes, and their bytes; 0 without. */
void checkpoint_count(const struct scenario *scenario, double step_s, struct ledger *ledger,
                      struct run_result *run);

/* Of so many checkpoints of a run: those that go to the shared storage, and that stay there. */
int64_t checkpoint_moved(const struct checkpoint *plan, int64_t checkpoints);
int64_t checkpoint_kept(const struct checkpoint *plan, int64_t checkpoints);

/* Of `bytes`, what the rank writes that writes most. Scratch memory is the arena's. */
double checkpoint_busiest_bytes(struct arena *arena, const struct scenario *scenario, double bytes);

/* Seconds until a checkpoint of `bytes` that lies in the hosts' memory is where run.checkpoint.to
 * says (hw/checkpoint_place), with nothing else under way: simulated (run/storage). 0 where it
 * is there. Scratch memory is the arena's. */
double checkpoint_persist_s(struct arena *arena, const struct scenario *scenario, double bytes);

/* Seconds until one that is in hosts' memory is in that of peers, too. */
double checkpoint_peer_s(struct arena *arena, const struct scenario *scenario, double bytes);

/* Seconds until one that is on nodes' drives, or in memory, is in the file system, too. */
double checkpoint_drain_s(struct arena *arena, const struct scenario *scenario, double bytes);

/* Seconds that all ranks of a restarted job take to read what they hold, with nothing else under
 * way, after a failure of that level: simulated. Scratch memory is the arena's.
 * ASSUMES: from nodes' drives each reads from its own node's.
 * ASSUMES: what a rank did not write itself it has from the memory of one other node, each from
 * another; what a node that came in the place of a lost one gets comes from the peer alone. */
double checkpoint_restore_s(struct arena *arena, const struct scenario *scenario,
                            enum checkpoint_target from, uint32_t level);

/* Where checkpoints lie: first where run.checkpoint.to says, then with peers, if any, then in the
 * file system. */
struct checkpoint_tier {
    const struct checkpoint_place *place;
    uint32_t every;                /* of the checkpoints; of the first tier 1 */
    uint32_t survives;             /* failures of this level and below (run/failing) */
    double read_s[HISTORY_LEVELS]; /* after a failure of that level: checkpoint_restore_s; 0 where
                                    * the scenario states all of a restart */
};

/* How many there are; 0 without checkpoints. Scratch memory is the arena's. */
uint32_t checkpoint_tiers(struct arena *arena, const struct scenario *scenario,
                          struct checkpoint_tier tiers[HISTORY_TIERS_MAX]);

/* From the first tier that survives a failure of each level. */
void checkpoint_read_s(const struct checkpoint_tier *tiers, uint32_t count,
                       double read_s[HISTORY_LEVELS]);

/* On its way to a tier beside steps; nothing where that crosses no NIC of training. */
struct checkpoint_flush {
    double steps;    /* that begin meanwhile */
    double bytes;    /* of it, in such a step */
    double longer_s; /* such a step, with nothing on its way to another tier */
};

/* What one costs. */
struct checkpoint_cost {
    double block_s;   /* nobody computes: until it is written, or copied to the host */
    double durable_s; /* asynchronous: from then until it is where it goes first */
    double peered_s;  /* from the same moment until a peer has it, if it goes there later */
    double drained_s; /* from the same moment until it is in the file system, if not there first */
    struct checkpoint_flush flushes[HISTORY_TIERS_MAX]; /* to each tier */
    struct checkpoint_tier tiers[HISTORY_TIERS_MAX];    /* where something fails */
    uint32_t tier_count;
};

/* Seconds from the end of the blocking part until one is in a tier of so many. */
double checkpoint_there_s(const struct checkpoint_cost *cost, uint32_t count, uint32_t tier);

/* Of one of `bytes`, of all GPUs; simulated. Nothing without checkpoints. */
void checkpoint_cost_of(struct arena *arena, const struct regime_basis *basis, double bytes,
                        struct checkpoint_cost *cost);

/* From the begin of one until it outlives a failure of that level; HUGE_VAL: it never does. */
double checkpoint_safe_s(const struct checkpoint_cost *cost, uint32_t level);

/* What training waits for each in a run without failures, in the mean, when a step lasts `step_s`:
 * by the rule above, with what steps are longer beside a flush; 0 without. */
double checkpoint_wait_s(const struct scenario *scenario, double step_s,
                         const struct checkpoint_cost *cost);

#endif
