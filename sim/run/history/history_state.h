/* Where a history stands (run/history), for the files that make one: what passes while nothing
 * happens (history_steps), the nodes that are away (history_nodes), what survives a failure
 * (history_survival), which classes an event is about (history_classes), and what happens
 * (history). Nobody else includes it.
 */
#ifndef RUN_HISTORY_HISTORY_STATE_H
#define RUN_HISTORY_HISTORY_STATE_H

#include "run/history/history.h"
#include "run/history/history_seen.h"
#include "run/history/time_heap.h"

/* Where a run stands, and can go back to. */
struct mark {
    int64_t steps;
    int64_t periods; /* written until then */
    uint32_t stage;
    sim_time useful_ns, stall_ns, degraded_ns; /* of this stage */
};

struct kept {
    struct mark safe;
    /* The newest that was safe when a check found nothing; of the safe ones, or older. */
    struct mark good;
    struct mark pending;
    sim_time pending_at; /* INT64_MAX: nothing is pending */
};

/* A cycle that nothing interrupted, from one checkpoint in all tiers, checked, to another. */
struct cycle {
    bool is_known;
    int64_t evaluated; /* steps since the last evaluation, at its begin; 0 in CYCLES_BETWEEN */
    sim_time pending_in[HISTORY_TIERS_MAX];   /* at its begin; INT64_MAX: nothing is */
    sim_time pending_then[HISTORY_TIERS_MAX]; /* at its end */
    sim_time takes, checkpoint_ns, evaluation_ns;
    struct mark adds;
    bool makes_safe[HISTORY_TIERS_MAX];
    struct mark safe[HISTORY_TIERS_MAX]; /* from its begin */
};

/* The walk of one that is not known yet. */
struct cycle_walk {
    bool goes_on;
    sim_time begin, checkpoint_ns, evaluation_ns;
    struct mark at;
    struct cycle *cycle;
};

enum cycles_kind {
    CYCLES_BETWEEN, /* to the next such checkpoint, between two evaluations */
    CYCLES_ACROSS,  /* to that as long after an evaluation as the one at the begin */
    CYCLES_KINDS,
};

enum { CYCLES_KEPT = 32 };

struct cycles {
    int64_t periods; /* of each; 0: there are none of this kind */
    /* Of this regime: beginning with nothing pending, or with something, after an evaluation. */
    struct cycle kept[CYCLES_KEPT];
    struct cycle_walk walk;
};

struct slow_gpu {
    uint32_t class, place;
    uint64_t ordinal;
    sim_time end;
};

/* What is asked of classes. Most events are about few of them: those of each kind are listed once a
 * history. */
enum class_kind {
    CLASSES_ALL,
    CLASSES_BREAKING_RESTARTS, /* as they end the job: it has to be detected and started anew */
    CLASSES_BREAKING_NODES,    /* of a job that stands still, too */
    CLASSES_RESTING,           /* while the job stands */
    CLASSES_OF_JOB,            /* as good as new when it has started */
    CLASSES_CORRUPTING,
    CLASSES_LEAVING_FEWER, /* nodes, of which the next one is then: taken, or broken */
    CLASS_KINDS,
};

struct class_list {
    uint32_t *items; /* rising */
    uint32_t count;
};

/* Of nodes that will be taken away. */
struct notice {
    uint32_t class, nodes;
    uint64_t ordinal;
    sim_time given;
};

struct history {
    struct arena *arena;
    const struct history_plan *plan;
    uint64_t seed, repetition;
    struct failure_times *times; /* [class_count]; moved on by history_classes alone */
    struct class_list lists[CLASS_KINDS];
    uint32_t earliest; /* class, if it is known */
    bool is_earliest_known;
    struct history_outcome *out;
    sim_time now;
    struct mark at;
    struct mark *ends; /* [stage_count], of the stages before that of now */
    struct kept kept[HISTORY_TIERS_MAX];
    int64_t checked;      /* steps: what is safe, and no newer, is good */
    int64_t corrupted_at; /* steps; -1: the weights are good */
    uint32_t corrupting;  /* the class, and which of its failures */
    uint64_t corrupting_ordinal;
    int64_t in_period;       /* steps since the last write */
    sim_time step_left_ns;   /* of the step under way; 0: none is */
    sim_time write_left_ns;  /* of the write under way */
    sim_time pause_left_ns;  /* of the evaluation */
    sim_time change_left_ns; /* of what passes before the first step of the stage */
    int64_t evaluated_at;    /* steps */
    sim_time maintenance_at; /* the next; INT64_MAX: there is none */
    bool is_maintained;      /* as soon as a checkpoint is written */
    uint64_t planned;        /* restarts */
    uint64_t grown;          /* how often nodes came back */
    uint32_t blamed;         /* the class that the job stands still for */
    sim_time read_ns;        /* of the restart to come */
    uint32_t level;          /* the highest of failures since the job ran */
    uint32_t lost_nodes;     /* failures of single nodes since then */
    uint32_t lost_holders;   /* nodes whose GPUs' states were lost since then */
    bool is_held;            /* the states of now, by what GPUs are left */
    sim_time healthy_ns;
    struct history_step step;     /* under way */
    struct history_regime regime; /* of it, where it is seen */
    struct cycles cycles[CYCLES_KINDS];
    struct slow_gpu *slow;
    size_t slow_count, slow_capacity;
    struct time_heap repairs; /* when nodes that broke are back, */
    struct time_heap returns; /* and when there are others for those that were taken away */
    struct time_heap hands;   /* when each is free */
    size_t taken;             /* nodes, since the job ran */
    uint32_t missing;         /* replicas */
    uint32_t displaced;       /* nodes */
    sim_time unheld_since;    /* until then the time without nodes that were taken is counted */
    struct notice *notices;   /* since the job ran */
    size_t notice_count, notice_capacity;
    sim_time leaves_at;    /* when the first nodes go; INT64_MAX: there was no notice */
    bool is_leaving;       /* as soon as a checkpoint is safe */
    uint32_t leaving_tier; /* where it has to be */
    bool writes_all_tiers; /* the write under way, whether they are due or not */
    sim_time fresh_at;     /* since when steps drift */
    uint32_t drift;        /* interval of now; 0: they do not */
};

/* The plan's classes of each kind, and the first failure of each; `key` without a stream. */
void history_begin_classes(struct history *h, const struct rng_key *key);

/* Whose failure comes next, the first of those that come together; HISTORY_NO_CLASS: none does. */
uint32_t history_earliest(struct history *h, enum class_kind kind);

/* The failure that is due in a class is behind us. */
void history_next_failure(struct history *h, uint32_t class);

/* What a failure broke fails again then. */
void history_fail_again(struct history *h, uint32_t class, uint64_t ordinal, sim_time when);

/* The job stood still for so long. */
void history_rest(struct history *h, sim_time ns);

/* The job has started. */
void history_renew(struct history *h);

/* Books time that was not spent now. What is for a failure is blamed on the class that the job
 * stands still for. */
void history_book(struct history *h, enum account account, sim_time ns);

/* Somebody sees what passes, and it is not jumped over; steps from `to` on do not count, whether
 * the last of them are seen or not. */
bool history_is_seen(const struct history *h);
void history_see_lost(const struct history *h, int64_t to);

/* Time passes, up to the horizon. */
void history_spend(struct history *h, enum account account, sim_time ns);

/* The same; the job does not run, and what breaks only where it runs does not break. */
void history_stand_still(struct history *h, enum account account, sim_time ns);

bool history_is_over(const struct history *h);

/* A step in the regime of now, with that slow GPU or none. */
struct history_step history_step_in(const struct history *h, const struct slow_gpu *slow,
                                    uint32_t flushes);

/* How the stage under way is planned. */
const struct history_stage *history_stage_of(const struct history *h);

/* Whether its last step is done, and another follows. */
bool history_is_stage_over(const struct history *h);

/* The same, and that begins with a restart. */
bool history_is_restart_next(const struct history *h);

/* The next one begins. What was kept at this instant is kept as its begin. */
void history_enter_stage(struct history *h);

/* Its usual step, and the periods after which tiers and checks come together again. */
void history_set_pace(struct history *h);

/* Pending checkpoints that are durable by now. */
void history_settle(struct history *h);

/* Steps take another time from now on. */
void history_forget_cycles(struct history *h);

/* What is under way is none of the cycles that come again. */
void history_break_off_cycles(struct history *h);

enum history_passed {
    PASSED,           /* all, or the run is over */
    PASSED_CORRUPTED, /* a check found corrupted weights */
    PASSED_SAVED      /* the job stops now: for a notice, maintenance or the next stage */
};

/* Does steps, writes and pauses until then. */
enum history_passed history_advance(struct history *h, sim_time until);

/* Steps since then are to be done again; what was under way is gone. */
void history_go_back(struct history *h, struct mark to);

/* To the states of now where copies of all of them are left, else to the newest checkpoint that
 * outlives a class's failure; and those since the job ran. */
void history_survive(struct history *h, uint32_t class, uint64_t ordinal);

/* To the newest checkpoint there is, for a planned stop. */
void history_fall_back(struct history *h);

/* To the newest that is good, as the weights of now are not. */
void history_fall_back_to_good(struct history *h);

/* What a class's failure may destroy, without what it shares with others before it. */
uint32_t history_level(const struct history *h, uint32_t class, uint64_t ordinal);

/* Nodes of a class's failure are away from then until they are repaired. */
void history_break_nodes(struct history *h, uint32_t class, uint64_t ordinal, sim_time when);

/* A restart after a failure: the first, or one after another node was blamed for it. */
struct attempt {
    uint32_t class, number;
    uint64_t ordinal;
};

enum attempt_draw { ATTEMPT_BLAMES, ATTEMPT_INSPECTION, ATTEMPT_DETECTION, ATTEMPT_RESTART };

struct rng_key history_attempt_key(const struct history *h, const struct attempt *attempt,
                                   enum attempt_draw draw);

/* True: a good node is taken out for it, and what broke stays. */
bool history_blames_another(struct history *h, const struct attempt *attempt);

/* What the restart waits for spares that have to be started. */
sim_time history_cold_start_ns(const struct history *h, const struct attempt *attempt);

/* Those that are back by now are ready. */
void history_take_repaired(struct history *h);

/* When the next one is; INT64_MAX: none is away. */
sim_time history_first_back(const struct history *h);

/* Share of a class's components, 0 to 1, that may fail then: what the stage has of it, without
 * what was taken away. */
double history_share(const struct history *h, uint32_t class, sim_time when);

/* Until now, from one return to the next: time in which the job lacks nodes that were taken away.
 * It is that of the stage of now, so this comes before another one. Those that are back are ready.
 */
void history_count_unheld(struct history *h);

/* The failure that is due in a class is a notice. If a checkpoint is worth the try, the job writes
 * one and leaves. */
void history_give_notice(struct history *h, uint32_t class);

/* The job has stopped: nodes of which there was notice go. */
void history_take_noticed(struct history *h);

/* Replicas that the job lacks nodes for, whatever spares there are. */
uint32_t history_replicas_short(const struct history *h);

/* Nodes in whose place a spare stands that lies elsewhere, were the job to start now. */
uint32_t history_displaced(const struct history *h);

/* The job cannot go on with the nodes that are there. */
bool history_has_to_wait(const struct history *h);

#endif
