/* How far predicted step times are off the measured ones: a row for each source, with its mean, a
 * dot for each run, the worst named. Suspect runs, which are not scored, are rings. Files as of any
 * plot; the CSV has a line for each point.
 */
#ifndef REPORT_PLOT_PLOT_PARITY_H
#define REPORT_PLOT_PLOT_PARITY_H

#include "base/check.h"
#include "base/diag.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;

struct parity_point {
    const char *id, *source;
    bool is_suspect;
    double measured_s, predicted_s; /* both > 0 */
};

MUST_USE bool plot_parity(struct arena *arena, const struct parity_point *points, uint32_t count,
                          const char *path_base, struct diag *diag);

#endif
