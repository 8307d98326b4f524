/* How far predicted step times are off the measured ones: a row for each source, with its mean, a
 * dot for each run, the worst named. Suspect runs, which are not scored, are rings. Files as of any
 * plot; the CSV has a line for each point.
 */
#ifndef REPORT_PICTURE_PLOT_PARITY_H
#define REPORT_PICTURE_PLOT_PARITY_H

#include "report/plot/plot.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;

/* How far off a source's scored runs are, by whoever scores them: a table beside the picture says
 * the same. */
struct parity_source {
    const char *name;
    uint32_t runs; /* that are scored; 0: none */
    double mean;   /* of absolute errors */
};

struct parity_point {
    const char *id;
    const struct parity_source *source; /* points of one source share it */
    bool is_suspect;
    double measured_s, predicted_s; /* both > 0 */
};

/* Of the request: path_base and size. */
MUST_USE bool plot_parity(struct arena *arena, const struct parity_point *points, uint32_t count,
                          const struct plot_request *request, struct diag *diag);

#endif
