/* Parts of a step by resource: what critical.c and forecast.c have in common. */
#ifndef TRAIN_CRITICAL_CRITICAL_PARTS_H
#define TRAIN_CRITICAL_CRITICAL_PARTS_H

#include "hw/fabric.h"
#include "plan/collective/collective.h"
#include "train/critical/critical.h"

enum { CRITICAL_PARTS_MAX = 8 * CAUSE_COUNT_ + CAUSE_COUNT_ * (LINK_KIND_COUNT_ + 1) + 2 };

/* To the part of that kind, cause and link, of which a table with room for all has a row. */
void critical_add(struct critical_part *parts, uint32_t *count, const struct critical_part *more);

/* The largest first. */
void critical_sort(struct critical_part *parts, uint32_t count);

/* Of messages between stages: which links they go over is known of their channels, not of the
 * transfers. (Those of all streams are listed as of one.) */
bool critical_is_message(uint32_t stream);

/* What binds the bytes of a transfer that is no message, with its share of the time that they take
 * on idle links: of a collective phase by phase, the link or the library; else the thinnest link
 * of its path, or the host. How many. The shares add up to 1. */
struct critical_share {
    enum critical_kind kind;
    const char *link;
    double share;
};
uint32_t critical_shares(const struct step_system *system, uint32_t transfer,
                         struct critical_share shares[COLLECTIVE_PHASES_MAX]);

/* The title of the thinnest link of a path of the system; "" where it has none. */
const char *critical_thinnest_of(const struct step_system *system, const struct engine_path *path);

/* Of the messages of an actor of the folded system the link that binds them. It takes the way of
 * the rank whose it is. */
const char *critical_thinnest(const struct step_system *system, const struct folded_system *folded,
                              uint32_t actor, uint32_t stream);

#endif
