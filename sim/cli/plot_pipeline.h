/* stoker plot pipeline FILE: when each stage of a scenario computes what; stoker plot power FILE:
 * what its site draws over a step. */
#ifndef CLI_PLOT_PIPELINE_H
#define CLI_PLOT_PIPELINE_H

#include "cli/options.h"

/* `path_base` NULL: results/NAME-pipeline; `size`: of plot_size_names. The exit status. */
int plot_pipeline_command(const struct options *options, const char *path, const char *path_base,
                          uint32_t size);

/* `path_base` NULL: results/NAME-power. */
int plot_power_command(const struct options *options, const char *path, const char *path_base,
                       uint32_t size);

#endif
