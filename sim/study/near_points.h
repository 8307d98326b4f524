/* Points of a study that miss a GPU's memory by less than the error of memory, as they would be if
 * they did not: predicted with as much memory as they need, for who holds them against
 * requirements. Nothing of them is stored.
 */
#ifndef STUDY_NEAR_POINTS_H
#define STUDY_NEAR_POINTS_H

#include "study/study.h"

struct memory_errors;

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

/* Those among the rows of a study. */
struct near_points near_points_of(struct arena *arena, const struct study *study,
                                  const struct store_row *rows, uint32_t count);

/* How they are predicted. */
struct near_setting {
    const struct catalogue *catalogue;
    const struct memory_errors *errors; /* NULL: then nobody is near */
    bool folds;
};

/* What is predicted. */
struct near_rows {
    struct store_row *items; /* the least over first */
    uint32_t count;
    uint32_t left_out; /* points that miss nearly, but by more than the NEAR_POINTS_MAX */
};

/* Of those that miss by less than the error of memory and have a result then: label and figures,
 * and as the limit the memory that the GPU has. */
struct near_rows near_points_predict(struct arena *arena, const struct near_setting *setting,
                                     const struct near_points *points);

#endif
