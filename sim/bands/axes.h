/* Kinds of difference between two runs of the same work. Pairs of measured runs that differ in one
 * kind say how far the *ratio* of two predictions is off, where errors that both share cancel
 * (bands/ratio_bands).
 *
 * An axis is a row of a table: the columns that define it, of which one at least differs, and those
 * that may differ with it, for they follow from the choice (another GPU has another layout).
 */
#ifndef BANDS_AXES_H
#define BANDS_AXES_H

#include <stdbool.h>
#include <stdint.h>

#define AXIS_TIE \
    0.0198026272961797 /* ln 1.02, of a ratio: a repeat on another cluster moves as much */

/* What tells one run from another, in the order in which differences are named. A set of them is a
 * mask of bits, 1 << number. */
#define AXIS_COLUMNS_MAX 64
extern const char *const axis_columns[];
extern const uint32_t axis_column_count;

/* AXIS_COLUMNS_MAX: there is no such column. */
uint32_t axis_column_find(const char *name);

enum axis_condition {
    AXIS_ANY,
    AXIS_LIKE_SIZES,   /* clusters within a factor of four */
    AXIS_LIKE_BATCHES, /* as many sequences for each GPU */
    AXIS_CONDITION_COUNT_
};

struct axis {
    const char *name;
    uint64_t defining, follows;
    enum axis_condition condition;
    bool is_apart; /* from the mean of axes: noise of releases, or what another axis has, too */
};
extern const uint32_t axis_count;
struct axis axis_get(uint32_t number);
const char *axis_name(uint32_t number);
bool axis_is_apart(uint32_t number);

#endif
