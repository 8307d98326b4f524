/* A cache of what engines have found out about programs that come again, whatever their transfers
 * take.
 *
 * Where a stretch (engine_stretch.c) begins and ends, what lies next to each of its tasks and who
 * waits for these follows from the programs and from which streams' collectives can be parts of
 * one, not from how long anything lasts. Points of a study have the same programs again and again:
 * engines whose system has a `known` look there first, and leave there what they have found out.
 *
 *     struct engine_known *known = engine_known_new(16 << 20);
 *     for (each of the systems) {
 *         engine_known_trim(known);
 *         system.known = known; engine_run(arena, &system, ...); ... its record ...
 *     }
 *     engine_known_free(known);
 *
 * Programs are told apart by `known_as` (engine_program.h): a system of which one has none is not
 * looked for. A run with it is the run without, to the byte.
 */
#ifndef DES_ENGINE_KNOWN_H
#define DES_ENGINE_KNOWN_H

#include "base/memo.h"

struct engine_known;

struct engine_known *engine_known_new(size_t bytes_max);
void engine_known_free(struct engine_known *known); /* NULL is allowed */

/* Forgets all, if it has become more than `bytes_max`. While no run goes on, nor is asked about. */
void engine_known_trim(struct engine_known *known);

/* How often all programs of a system were known, and not. */
struct memo_count engine_known_count(const struct engine_known *known);

#endif
