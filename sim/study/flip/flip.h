/* What would change the answer of a comparison: its points again, with one change of the job or of
 * the layout in all of them at a time.
 *
 *     struct flip flip;
 *     flip_ask(arena, &request, &flip);    // which changes arise in all points that have a result
 *     for each of flip.changes             // each a study of its own
 *         run it; hold its rows against the best of the others (flip_next, study/against)
 *
 * Changes are what-if's questions (study/whatif) of the groups free (precision, microbatch, layout,
 * recomputation) and job (batch, sequence, number and generation of GPUs), and the best of the
 * usual layouts of each point, found by a search. A change says its keys of each point by that
 * point's own scenario: twice the GPUs is twice its own. Where one does not arise in all points it
 * is left out: the answer would be another question's.
 *
 * The answer is which point is fastest, by tokens/s. With each change it is held against the best
 * of the others: below 1 that is the fastest.
 */
#ifndef STUDY_FLIP_FLIP_H
#define STUDY_FLIP_FLIP_H

#include "study/against.h"
#include "study/whatif.h"

struct flip_change {
    const char *name;
    struct study study; /* as many points as the comparison, in its order */
    const char *lack;   /* why none of its points can be, and it was not run; NULL */
    /* Filled by whoever runs it: */
    const struct store_row *rows;
    uint32_t next;                 /* the best of the others; the number of points: none */
    const struct against *against; /* of the rows, `next` the base */
};

struct flip {
    uint32_t fastest; /* the number of a point, as it is */
    struct flip_change *changes;
    uint32_t count;
};

struct flip_request {
    const struct doc_node *document; /* of the comparison's first scenario */
    const struct study *study;       /* the comparison */
    const struct store_row *rows;    /* of its points, as they are */
    const struct study_base *of;
};

/* False: fewer than two points have a result, so that there is no answer to change. */
MUST_USE bool flip_ask(struct arena *arena, const struct flip_request *request, struct flip *flip);

/* Of the rows the fastest but for `except`; `count`: there is none. */
uint32_t flip_next(const struct store_row *rows, uint32_t count, uint32_t except);

/* Tokens/s of the fastest as it is over the best other's, with the change; ABSENT: one of the two
 * has no result. */
double flip_ratio(const struct flip *flip, const struct flip_change *change);

/* Below 1 the answer is another; where the two are too close it is open. Where the fastest as it is
 * has no result and another has the answer turns, too, and where it alone has one it holds. */
enum flip_verdict { FLIP_HOLDS, FLIP_OPEN, FLIP_TURNS, FLIP_NONE, FLIP_VERDICT_COUNT_ };
extern const char *const flip_verdict_names[FLIP_VERDICT_COUNT_]; /* holds, open, turns, NULL */
enum flip_verdict flip_verdict_of(const struct flip *flip, const struct flip_change *change);

#endif
