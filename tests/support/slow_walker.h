/* Where a walk stands (support/slow_history), and the nodes of it that are away: lists that are
 * searched from end to end. Nobody else includes it.
 */
#ifndef TESTS_SUPPORT_SLOW_WALKER_H
#define TESTS_SUPPORT_SLOW_WALKER_H

#include "run/history/history.h"

enum { NODES_MAX = 1 << 16, SLOW_MAX = 4096, NOTICES_MAX = 4096 };

struct walked_step {
    sim_time useful_ns, stall_ns, degraded_ns;
};

struct copy {
    int64_t steps;   /* -1: there is none */
    int64_t periods; /* written until then */
    sim_time safe_at;
};

struct walker {
    struct arena *arena;
    const struct history_plan *plan;
    struct history_outcome *out;
    struct failure_times *times;
    sim_time now;
    struct walked_step *done; /* each step that counts */
    size_t capacity;
    int64_t steps, periods, in_period;
    uint32_t stage;
    sim_time change_left;    /* of what passes before the first step of the stage */
    int64_t evaluated;       /* the newest step that was */
    sim_time maintenance_at; /* INT64_MAX: never */
    bool is_maintained;      /* as soon as it is saved */
    uint64_t planned;        /* restarts */
    uint64_t seed, repetition;
    struct copy pending[HISTORY_TIERS_MAX];
    struct kept_copies {
        struct copy *items; /* safe, each newer than the one before */
        size_t count, capacity;
    } kept[HISTORY_TIERS_MAX];
    int64_t checked; /* steps: so far a check found nothing */
    int64_t corrupted_at;
    uint32_t corrupting;
    uint64_t corrupting_ordinal;
    sim_time returns[NODES_MAX]; /* of nodes in repair, */
    bool is_taken[NODES_MAX];    /* or that were taken away */
    uint32_t broken;
    struct {
        uint32_t class, nodes;
        uint64_t ordinal;
        sim_time given, goes;
    } notices[NOTICES_MAX];
    uint32_t notice_count;
    bool is_leaving;          /* writes a checkpoint before */
    uint32_t leaving_tier;    /* to here */
    uint32_t taken;           /* since the job ran */
    sim_time busy[NODES_MAX]; /* until when each hand is */
    struct {
        sim_time end;
        uint32_t class;
        uint64_t ordinal;
    } slow[SLOW_MAX];
    uint32_t slow_count;
    uint32_t missing;
    uint32_t displaced; /* nodes that spares stand for */
    sim_time fresh_at;  /* since when steps drift */
    uint32_t level;     /* of the worst failure since the job ran */
    uint32_t lost;      /* single nodes since then */
    uint32_t fallen;    /* nodes since then, one for a process */
    bool are_gone;      /* the states, from all GPUs */
    sim_time read_ns;
    uint64_t grown;
};

const struct history_stage *walker_stage(const struct walker *w);

/* One more that is safe. */
void walker_keep(struct walker *w, uint32_t tier, struct copy copy);

/* All that a tier holds. */
void walker_throw_away(struct walker *w, uint32_t tier);

/* What no check has vouched for. */
void walker_throw_away_bad(struct walker *w, uint32_t tier);

/* Of no steps where a tier holds none. */
struct copy walker_newest(const struct walker *w, uint32_t tier);

/* Of a failure of a class, for that use. */
sim_time walker_draw(const struct walker *w, const struct law *law, uint32_t class,
                     uint64_t ordinal, uint64_t use);

/* So much time passes, from one return of a node to the next. */
void walker_go_by(struct walker *w, sim_time ns);

/* INT64_MAX: no node is away. */
sim_time walker_first_return(const struct walker *w);

/* Those that are back are ready. */
void walker_take_returned(struct walker *w);

void walker_take_away(struct walker *w, sim_time until, bool is_taken);

/* How long node `number` of a failure takes: its stages one by one, as long as none helped. */
sim_time walker_repair(const struct walker *w, uint32_t class, uint64_t ordinal, uint32_t number);

/* Share of a class's components that the stage has, and that were not taken away, or will be. */
double walker_share(const struct walker *w, uint32_t class, sim_time when);

/* Of the nodes that a failure takes those that are there. */
uint32_t walker_nodes_held(const struct walker *w, uint32_t class, uint64_t ordinal, sim_time when);

/* So many are taken away then. */
void walker_go_away(struct walker *w, uint32_t class, uint64_t ordinal, uint32_t nodes,
                    sim_time when);

void walker_break_nodes(struct walker *w, uint32_t class, uint64_t ordinal, sim_time when);

/* Each node of the failure, one after the other, may be the last of those that hold some part. */
bool walker_leaves_copies(struct walker *w, uint32_t class, uint64_t ordinal);

/* Beyond the spares. */
uint32_t walker_nodes_short(const struct walker *w);

uint32_t walker_replicas_short(const struct walker *w);

/* What a failure may destroy: several nodes that are taken at once, more than one. */
uint32_t walker_level(const struct walker *w, uint32_t class, uint64_t ordinal);

#endif
