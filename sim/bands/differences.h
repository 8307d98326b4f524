/* In what two scenarios differ, in the words of measured runs: keys, the columns of a table of runs
 * that these stand for, and the kinds of difference (bands/axes) that explain them.
 *
 * A key differs when its values that hold do, default or not, and a file or --set says it in one
 * of the scenarios at least: what follows from other keys is no difference of its own. A table
 * says for each key of a resolved scenario which column it is, that it moves no step, or that
 * no measured runs differ in it alone.
 *
 * Kinds are chosen greedily: the axis that explains most of the columns that are left, with those
 * that may follow from it; of several, the first of the table of axes. A GPU explains the layout,
 * the network and the batch that come with it, for clusters within a factor of four. So two
 * scenarios may differ in several kinds at once, and in keys that no kind explains.
 */
#ifndef BANDS_DIFFERENCES_H
#define BANDS_DIFFERENCES_H

#include "bands/axes.h"

struct arena;
struct scenario;

struct differences {
    uint64_t columns; /* of bands/axes, 1 << number, and what else is of the machine */
    uint32_t axes[AXIS_COLUMNS_MAX]; /* kinds that explain these */
    uint32_t axis_count;
    const char **unmeasured; /* keys that none explains: "optimizer.rule" */
    uint32_t unmeasured_count;
};

/* What is the same for any two scenarios; for who compares many. */
struct difference_table;
const struct difference_table *difference_table_new(struct arena *arena);

/* `b` against `a`; without a table (NULL) one is made. */
struct differences differences_of(struct arena *arena, const struct scenario *a,
                                  const struct scenario *b, const struct difference_table *table);

enum difference_effect {
    DIFFERENCE_NONE,       /* on a step */
    DIFFERENCE_COLUMN,     /* *column is set */
    DIFFERENCE_UNMEASURED, /* no column says it */
    DIFFERENCE_UNKNOWN,    /* the table lacks the key */
};
enum difference_effect differences_effect(const char *key, uint32_t *column);

#endif
