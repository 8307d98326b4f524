/* What is said of requirements (study/requirements): of each point, and below the table of all.
 *
 *     required_add_point(requirements, point, row);    // of each, in JSON
 *     required_add(&required, sheet);                  // below the table
 */
#ifndef REPORT_STUDY_REQUIRED_H
#define REPORT_STUDY_REQUIRED_H

#include "report/against_sheet.h"
#include "report/plot/plot.h"
#include "study/near_points.h"
#include "study/requirements.h"

/* For plots: the limits, [requirements->count]. */
const struct plot_limit *required_limits(const struct requirements *requirements,
                                         struct arena *arena);

/* The head of a column of what each point misses; NULL: nothing is required. */
const char *required_head(const struct requirements *requirements);
/* "yes", or "days +20 %", the worst miss; NULL: it has no result, or nothing is required. */
const char *required_cell(const struct requirements *requirements, const struct store_row *row,
                          struct arena *arena);

/* `meets` in a point's object: null without a result; nothing at all where nothing is required. */
void required_add_point(const struct requirements *requirements, struct sheet *point,
                        const struct store_row *row);

/* All that is said below the table. */
struct required {
    const struct requirements *requirements;
    const struct against_rows *points;
    const struct figure_metric *judge; /* of the best; NULL: as report/winners has it */
    struct near_rows near; /* of points that miss the memory nearly, where no point meets all */
    const struct memory_errors *errors; /* of these; NULL: there are none */
    bool have_failed;                   /* some points: then that none meets all is no verdict */
    struct diag *diag;
};

/* And in JSON: `requirements[]`, and the best point that meets all, that with the fewest GPUs that
 * does, or the nearest miss. Where no point meets all, and where no point has a metric at all,
 * there is an error in the diag with the limits that would do. Where no point meets all, of those
 * that miss the memory nearly the one that would, if there is one. */
void required_add(const struct required *required, struct sheet *sheet);

#endif
