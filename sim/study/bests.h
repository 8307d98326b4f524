/* Each value of a study at its own best layout (study/best), and what the layouts of the other
 * values would cost there: the values, the layouts, and the rows of all layouts at all values.
 *
 *     struct bests bests = {.values = values, .layouts = layouts};
 *     if (bests_find(arena, &request, layouts, diag) &&
 *         bests_study(arena, &request, &bests, &study, diag)) {
 *         ... the study is run; bests.rows are its rows ...
 *     }
 */
#ifndef STUDY_BESTS_H
#define STUDY_BESTS_H

#include "bands/against.h"
#include "study/best.h"
#include "study/near_points.h"
#include "study/requirements.h"
#include "study/study.h"

struct memory_errors;

enum { BESTS_MAX = 64 /* values */ };

/* Memory is the arena's that was given. */
struct bests {
    enum search_by by; /* what is to be least */
    struct study values;
    const struct requirements *requirements;   /* of each value's own best */
    struct best_layout *layouts;               /* [values.count] */
    const struct memory_errors *memory_errors; /* NULL: near misses are not looked for */
    uint32_t *number_of;                       /* best_study */
    const struct store_row *rows;              /* of the study of all at all */
    uint32_t row_count;
};

/* As best_find; false, too, where there are too many values, or one sets what is searched. */
MUST_USE bool bests_find(struct arena *arena, const struct best_request *request,
                         struct best_layout *layouts, struct diag *diag);

/* The study of all layouts at all values. False as best_study. */
MUST_USE bool bests_study(struct arena *arena, const struct best_request *request,
                          struct bests *bests, struct study *study, struct diag *diag);

/* By how much of a GPU's memory the near miss of a layout is over it. */
double bests_over(const struct best_layout *layout);

/* "tp 8, micro 2": of one layout the axes in which the winners differ, or those in which they do
 * not. */
const char *bests_words(struct arena *arena, const struct bests *bests,
                        const struct best_layout *layout, bool differ);

/* Value i with the layout of value k; NULL: that layout was not found, or has no result there. */
const struct store_row *bests_row(const struct bests *bests, uint32_t i, uint32_t k);

/* The first value whose own best has a result; the last one: none has. */
uint32_t bests_first(const struct bests *bests);

/* By how much value i is worse off with the layout of value k; ABSENT: one has no result. */
double bests_regret(const struct bests *bests, uint32_t i, uint32_t k);

/* Of what is to be least, what hangs on steps. */
double bests_share_of_steps(const struct bests *bests, const struct store_row *row);

/* The rows of values at their own best that have a result, and how each stands against the base. */
const struct store_row *bests_winners(struct arena *arena, const struct bests *bests,
                                      const struct against *against, struct against **held,
                                      uint32_t *count);

/* The near miss of each value, as a point. */
struct near_points bests_near(struct arena *arena, const struct bests *bests);

#endif
