/* What a step runs on: the fabric, its symmetries (hw/fabric_turn), and where the groups of each
 * job lie; taken from the study's cache, if it keeps one (train/system/system_frame).
 */
#ifndef TRAIN_SYSTEM_SYSTEM_FABRIC_H
#define TRAIN_SYSTEM_SYSTEM_FABRIC_H

#include "train/system.h"

/* Of jobs that are laid out: fabric, turns and the jobs' groups, and the frame. The setting is
 * there. `ranks` is scratch, for the largest group. */
void system_lay_fabric(struct step_system *system, const struct step_options *options,
                       uint32_t job_count, uint32_t gpus, uint32_t *ranks);

#endif
