/* Parts of a step by resource: what critical.c and forecast.c have in common. */
#ifndef TRAIN_CRITICAL_PARTS_H
#define TRAIN_CRITICAL_PARTS_H

#include "train/critical/critical.h"

enum { CRITICAL_PARTS_MAX = 7 * CAUSE_COUNT_ + CAUSE_COUNT_ * (LINK_KIND_COUNT_ + 1) + 2 };

/* To the part of that kind, cause and link, of which a table with room for all has a row. */
void critical_add(struct critical_part *parts, uint32_t *count, const struct critical_part *more);

/* The largest first. */
void critical_sort(struct critical_part *parts, uint32_t count);

/* Of a stream that has no collectives, but messages, reads and writes: no library priced these.
 * (Messages of all streams are listed as those of one.) */
bool critical_is_plain(const struct step_system *system, uint32_t stream);

/* The title of its kind. ENGINE_NONE: nothing binds but the library. */
const char *critical_link(const struct fabric *fabric, uint32_t link);

/* Of what an actor of the folded system moves in a plain stream the link that binds it. It takes
 * the way of the rank whose it is. */
const char *critical_thinnest(const struct step_system *system, const struct folded_system *folded,
                              uint32_t actor, uint32_t stream);

#endif
