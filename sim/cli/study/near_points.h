/* Points of a study that miss a GPU's memory by less than the error of memory, as they would be if
 * they did not: predicted with as much memory as they need, for who holds them against
 * requirements. Nothing of them is stored.
 */
#ifndef CLI_STUDY_NEAR_POINTS_H
#define CLI_STUDY_NEAR_POINTS_H

#include "cli/near.h"
#include "cli/study/session.h"

/* So many are predicted, those that miss least. */
enum { NEAR_POINTS_MAX = 100 };

struct near_point {
    const struct study_point *point;
    double over; /* of a GPU's memory, above 0 */
};

/* That lack memory: whether they do nearly is looked at when they are predicted. */
struct near_points {
    const struct near_point *items;
    uint32_t count;
};

/* Those among the session's rows. */
struct near_points near_points_of(const struct session *session);

/* What is predicted. */
struct near_rows {
    struct store_row *items; /* the least over first */
    uint32_t count;
    uint32_t left_out; /* points that miss nearly, but by more than the NEAR_POINTS_MAX */
};

/* Of those that miss by less than the error of memory and have a result then: label and figures,
 * and as the limit the memory that the GPU has. */
struct near_rows near_points_predict(const struct session *session,
                                     const struct near_points *points,
                                     const struct memory_errors *errors);

#endif
