/* What follows from a row's columns by arithmetic, or from the model that it names, under names
 * that rules use like columns.
 *
 * Each is a row of a table: a name and a function of the row. What it is when the columns that it
 * needs are blank (or say what cannot be: fewer layers than stages), is blank. A model is known
 * once a rule has set it: rules that ask for what it has come later.
 */
#ifndef MEASURED_PUBLISHED_PUBLISHED_COMPUTED_H
#define MEASURED_PUBLISHED_PUBLISHED_COMPUTED_H

#include <stdint.h>

struct arena;
struct published_reading;

struct published_computed {
    const char *name;
    const char *(*text)(struct arena *arena, const struct published_reading *reading);
};
extern const struct published_computed published_computed[];
extern const uint32_t published_computed_count;

/* NULL: there is none. */
const struct published_computed *published_computed_find(const char *name);

#endif
