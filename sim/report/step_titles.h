/* Titles of pictures of one step: what it takes, draws and uses, and what it would wait for its
 * loaders, which a picture leaves out.
 */
#ifndef REPORT_STEP_TITLES_H
#define REPORT_STEP_TITLES_H

#include "run/power_trace.h"
#include "train/step.h"

/* Of the pipeline, and what it is a picture of: "1f1b, 8 microbatches". */
const char *step_title_of_pipeline(struct arena *arena, bool folds, const struct scenario *scenario,
                                   const struct step_result *step);
const char *step_title_fixed(struct arena *arena, const struct scenario *scenario);

/* Of its power, all in one unit. */
const char *step_title_of_power(struct arena *arena, bool folds, const struct scenario *scenario,
                                const struct power_trace *trace, const struct step_result *step);

/* Of its fabric. */
const char *step_title_of_fabric(struct arena *arena, const struct scenario *scenario,
                                 const struct step_result *step);

#endif
