/* What a history's time went into, piece by piece, for whoever wants to see it (report/trace).
 *
 * A history that is seen jumps over nothing: every write and pause is a piece, and so are steps of
 * one regime between two of these. Pieces follow one another from 0 to the end, and those of an
 * account sum to it; ACCOUNT_USEFUL stands for all steps that count, with what they wait for data
 * and what makes them longer.
 *
 * That steps were lost is known only when a failure takes what was done since the checkpoint:
 * pieces are divided then at the step that is gone back to, and what is behind it is ACCOUNT_LOST.
 * So is a part of a step that never ended.
 *
 * After `most` pieces no more are taken down, and the history jumps again; what of those is lost
 * later still becomes so.
 */
#ifndef RUN_HISTORY_HISTORY_SEEN_H
#define RUN_HISTORY_HISTORY_SEEN_H

#include "run/history/history.h"

#include <stddef.h>

struct arena;

struct history_piece {
    sim_time start, end;
    enum account account;
    uint32_t class;               /* that the job stands still for; HISTORY_NO_CLASS */
    int64_t first_step;           /* of steps, from 0; -1: it is of none */
    int64_t steps;                /* whole ones; 0: a part of the first */
    struct history_regime regime; /* of steps */
};

/* From then on so many more nodes are away, or fewer. */
struct history_away {
    sim_time when;
    int32_t nodes;
};

struct history_seen {
    struct arena *arena;
    size_t most;
    int64_t wanted; /* which history of a run, from 1; 0: that of median length */
    struct history_piece *pieces;
    size_t count, capacity;
    struct history_away *away;
    size_t away_count, away_capacity;
    bool is_full;
    sim_time until; /* pieces reach to here: the end, unless it is full */
    /* Of the run it is of (run/months). */
    int64_t number, histories; /* which of how many; from 1; 0: nothing was walked */
    const struct failure_class *classes;
    uint32_t class_count;
    int64_t nodes;    /* of the job, with its spares */
    int64_t replicas; /* that one of a regime's `missing` is */
    struct history_outcome outcome;
};

/* Time that was no step's; the class that the job stands still for, or HISTORY_NO_CLASS. */
void history_seen_spend(struct history_seen *seen, sim_time start, sim_time end,
                        enum account account, uint32_t class);

/* As in a piece. */
struct history_steps_seen {
    int64_t first, count;
};

void history_seen_steps(struct history_seen *seen, sim_time start, sim_time end,
                        struct history_steps_seen steps, const struct history_regime *regime);

/* Steps from `to` on do not count: neither whole ones nor a part of one. */
void history_seen_lose(struct history_seen *seen, int64_t to);

/* A node is away until then. */
void history_seen_away(struct history_seen *seen, sim_time since, sim_time until);

/* In the order of time, when the history is over. */
void history_seen_end(struct history_seen *seen, sim_time end);

#endif
