/* Why an answer is another than it was: two predictions held against each other.
 *
 * Each side is what was told then, by whichever build, and the resolved scenario that it was told
 * of. What moved from A to B is the sum of
 *
 *     the program    (B told - B now) + (A now - A told): what this build predicts of the same
 *                    scenario, with the constants that it was stored with
 *     the inputs     B now - A now, shared among those in which the scenarios differ
 *
 * Up to DIFF_EXACT_MAX inputs share by Shapley's value: what each adds, in the mean over all orders
 * in which they may be changed. Of more, each has the mean of what it moves in A, alone, and in B,
 * last of all; what is left then is `together`. Inputs that only go together (more GPUs, and a
 * layout that divides them) are one.
 *
 * All of it is simulated by this build. What it cannot read (the keys of a build of long ago) is a
 * `problem`: then only what was told is compared, and inputs are listed without what they move.
 */
#ifndef STUDY_DIFF_DIFF_H
#define STUDY_DIFF_DIFF_H

#include "input/catalogue.h"
#include "store/store.h"
#include "study/diff/diff_inputs.h"

enum { DIFF_EXACT_MAX = 5 };

/* What is told of a prediction, and what is shared. */
struct diff_figures {
    double step_s;
    double days, usd; /* ABSENT without a run, a price */
};
#define DIFF_FIGURES_NONE                               \
    (struct diff_figures)                               \
    {                                                   \
        .step_s = ABSENT, .days = ABSENT, .usd = ABSENT \
    }

struct diff_side {
    const char *name;             /* as the user wrote it */
    const struct store_row *told; /* by its build, with breakdown, path and accounts */
    const struct doc_node *document;
};

struct diff_asked {
    struct diff_side sides[2];
    const struct catalogue *catalogue;
    bool folds;
};

struct diff_worth {
    const struct diff_input *input;
    const char *name;          /* of the input, or of those that go together */
    struct diff_figures moves; /* ABSENT: it cannot be had without others */
    struct diff_figures alone; /* in A by itself; likewise */
};

struct diff_found {
    struct diff_figures told[2], now[2];
    struct diff_figures program; /* what it moved */
    struct diff_inputs inputs;
    struct diff_worth *worths; /* what moves most first */
    uint32_t worth_count;
    struct diff_figures together; /* beyond what each moves */
    bool is_exact;                /* by Shapley's value */
    const char *problem;          /* why nothing could be simulated; NULL: it could */
    uint32_t simulated;           /* scenarios */
};

struct diff_figures diff_figures_of(const struct store_row *row);

/* All memory is the arena's. */
void diff_find(struct arena *arena, const struct diff_asked *asked, struct diff_found *found);

#endif
