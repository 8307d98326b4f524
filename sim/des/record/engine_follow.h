/* The inside of des/record/engine_sensitivity.h: from which moves before it each move of a watched
 * run follows, and how, which is (1) there. The same forms are used both ways: backwards a move
 * hands its weight on, forwards it gathers what the others are later; and forwards a maximum is
 * one: what a task waits for may be another thing than before. */
#ifndef DES_RECORD_ENGINE_FOLLOW_H
#define DES_RECORD_ENGINE_FOLLOW_H

#include "des/record/engine_sensitivity.h"

struct disturbance;

/* On the way through a run. */
struct following {
    const struct engine_watch *watch;
    const struct engine_system *system;
    struct engine_sensitivity *found;
    const struct engine_change *change; /* NULL: backwards */
    double *tasks; /* by number, of ends: weights, or what they are later in ns */
    double *flow_starts, *flow_ends;
    double later_ns;      /* forwards: what the move is that is looked at */
    const uint8_t *kinds; /* of links */
    uint32_t *seen;       /* of links: the flow that was looked at last, + 1 */
    uint32_t *last_flows; /* of channels: those of later transfers have been passed */
    struct arena *scratch;
    struct disturbance *disturbances; /* of the work that is looked at, by time */
    size_t count, room;
};

/* At no move yet, with all values 0. Those of the ends of flows are the arena's. */
struct following engine_follow_all(struct arena *arena, struct arena *scratch,
                                   const struct engine_watch *watch);

/* What is kept of a move: its weight, or what it is later. */
double *engine_follow_value(struct following *pass, const struct watched_move *move);

/* Backwards, hands a weight on; forwards, adds that many times what the move is later to
 * `later_ns`. */
void engine_follow_move(struct following *pass, const struct watched_move *move, double weight);

/* The same of the instant at which a flow, whose links were marked by its move, got a rate: of who
 * came or went on these links; if nobody did, of others who did, which changed the rates of those
 * who are on them. */
void engine_follow_rate(struct following *pass, uint32_t flow, const struct watched_rate *rate,
                        double weight);

/* What a flow crosses. */
const struct engine_path *engine_follow_path(const struct following *pass, uint32_t flow);

/* When a task ends, or, forwards, ends now. */
double engine_follow_end(const struct following *pass, uint32_t task);

#endif
