/* What a log of torchtitan says, as settings and steps of a training_log.
 *
 * A setting of the configuration has its path as a name, "parallelism.tensor_parallel_degree"; what
 * the trainer says of itself has a name of ours: "mesh" (GPUs), "mesh.tp", "local batch", "global
 * batch", "sequence length", "gpu", "checkpointing", "compiled", "float8".
 */
#ifndef FOREIGN_LOGS_TORCHTITAN_TEXT_H
#define FOREIGN_LOGS_TORCHTITAN_TEXT_H

#include "foreign/training_log.h"

/* Steps' values are seconds a token of one GPU. */
void titan_read(struct training_log *log);

/* What the trainer or its configuration says of the run, as fields of the table (log_field), but
 * for its steps. False, with messages, when the log is bad. `tokens` of a step of one GPU. */
MUST_USE bool titan_fields(struct training_log *log, double *tokens);

/* The whole path of the setting; NULL: there is none. */
const char *titan_path(const struct training_log *log, const char *name);

/* A setting whose path ends with `name`, in whichever section a version has it, but for
 * validation's; "" when there is none. */
const char *titan_text(const struct training_log *log, const char *name);
int64_t titan_count(struct training_log *log, const char *name, int64_t absent);
bool titan_is_true(const struct training_log *log, const char *name);

#endif
