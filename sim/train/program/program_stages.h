/* The programs of all stages of a job: what the others here are told of a system being built.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_STAGES_H
#define TRAIN_PROGRAM_PROGRAM_STAGES_H

#include "train/system.h"

/* Fills `programs`, one of each stage, the system's transfers, the job's patterns and its waits for
 * launches. Before: the job's groups are chosen. `options` are the job's, `memo` is the study's and
 * may be NULL. */
void program_stages(struct step_system *system, struct system_job *job, uint32_t job_number,
                    const struct step_options *options, struct step_memo *memo,
                    struct engine_program *programs);

#endif
