/* Points of a study held against one of them, by measured runs (bands/against). */
#ifndef STUDY_AGAINST_H
#define STUDY_AGAINST_H

#include "bands/against.h"
#include "study/study.h"

/* All of a study, or some that lie together. */
struct against_points {
    const struct study *study;
    const struct catalogue *catalogue;
    struct store *store; /* that has their histories */
    const struct store_row *rows;
    uint32_t count;
    struct diag *diag;
    bool have_failed; /* some points: then whoever asks says so */
};

/* Of each row, as `base` is a row of them; for rows without a result, and of the base itself,
 * without a band. */
const struct against *against_of(struct arena *arena, const struct against_points *points,
                                 const struct store_row *base);

/* Its kinds of difference as one text, the same for the same kinds: of draws that go with them. */
const char *against_kinds_text(struct arena *arena, const struct against *against);

/* In what share of draws each row wins; NULL: fewer than two have days whose bands are known. */
const struct wins *against_wins(struct arena *arena, const struct against_points *points,
                                const struct store_row *base, const struct against *against);

#endif
