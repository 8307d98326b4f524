/* What ended when, of a run that was simulated some other way, beside a run that simulates each
 * task: all tasks, and the critical path. */
#ifndef TESTS_SUPPORT_RECORDS_H
#define TESTS_SUPPORT_RECORDS_H

#include "des/engine.h"

/* What of the first run was not simulated task by task. */
struct records_tally {
    uint64_t tasks, rows; /* of all runs compared */
    uint64_t legs, visited;
};

/* Fails where a task began or ended at another time, or the path has another part. */
void records_compare(const struct engine_system *system, const struct engine_options *fast,
                     struct records_tally *tally);

#endif
