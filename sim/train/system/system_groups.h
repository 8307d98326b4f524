/* Groups of a job as they are priced and routed: which ones are looked at, and their shape.
 *
 * Of groups that nobody can tell apart (hw/fabric_turn) the first is looked at, and of a kind's the
 * one that lies widest apart is priced for all.
 */
#ifndef TRAIN_SYSTEM_SYSTEM_GROUPS_H
#define TRAIN_SYSTEM_SYSTEM_GROUPS_H

#include "train/system.h"

/* From `number` on the first group that is the first of its orbit; how many there are if none. */
uint32_t system_next_group(const struct step_system *system, const struct system_job *job,
                           enum group_kind kind, uint32_t number);

void system_shape_group(const struct step_system *system, const struct system_job *job,
                        enum group_kind kind, uint32_t number, struct group_shape *shape);

/* job->groups. `ranks` is scratch, for the largest group. */
void system_choose_groups(struct step_system *system, struct system_job *job, uint32_t *ranks);

#endif
