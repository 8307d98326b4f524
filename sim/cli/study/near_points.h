/* Points of a study that miss a GPU's memory by less than the error of memory, as they would be if
 * they did not: predicted with as much memory as they need, for who holds them against
 * requirements. Nothing of them is stored.
 */
#ifndef CLI_STUDY_NEAR_POINTS_H
#define CLI_STUDY_NEAR_POINTS_H

#include "cli/near.h"
#include "cli/study/session.h"

/* So many are predicted; those behind are left out. */
enum { NEAR_POINTS_MAX = 100 };

/* That may miss nearly: whether they do is looked at when they are predicted. */
struct near_points {
    const struct study_point *items;
    uint32_t count;
};

/* Those among the session's rows that lack memory of a GPU. */
struct near_points near_points_of(const struct session *session);

/* Of those that miss by less than the error of memory and have a result then: label and figures,
 * and as the limit the memory that the GPU has. */
struct store_row *near_points_predict(const struct session *session,
                                      const struct near_points *points,
                                      const struct memory_errors *errors, uint32_t *count);

#endif
