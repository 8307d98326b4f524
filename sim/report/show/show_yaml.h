/* A file as YAML, one key a line, that reads back as the same file.
 *
 * Defaults stand as comments where the keys would stand, so that nothing is
 * said that the file does not say (a run's key is a hash of what it says) and
 * all that holds can be seen; taking the "# " away gives the same prediction:
 *
 *     parallel:
 *       tp: 8
 *       dp: auto  # here: 128, the GPUs that are left
 *       # cp: 1
 *     # seed: 42
 */
#ifndef REPORT_SHOW_SHOW_YAML_H
#define REPORT_SHOW_SHOW_YAML_H

#include "report/show/show_defaults.h"

#include <stdio.h>

struct house;

struct show_yaml {
    struct arena *arena;
    const struct doc_node *root; /* a mapping */
    const char *path;            /* of root in the defaults' paths: "" or "gpu" */
    const struct show_default *defaults;
    uint32_t default_count;
    const struct house *house; /* whose values are marked with their places; NULL: none */
};

void show_yaml_print(const struct show_yaml *yaml, FILE *out);

#endif
