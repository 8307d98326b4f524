/* What a measured curve ran, as rows of what a library's machine chooses (library_choice).
 *
 * A fit holds for the pairs that were fitted. Were the library left to choose by price alone, it
 * would take a pair that was not, whenever the catalogue's constants of that one promise more; so a
 * calibrated library says which pair its machine runs at each measured size. Between two sizes that
 * ran differently both may run; below the smallest size of a curve nothing is known; from its
 * largest on the last pair holds.
 */
#ifndef MEASURED_CHOICES_H
#define MEASURED_CHOICES_H

#include "input/cluster.h"
#include "measured/curves.h"

/* That the curve ran `pair` at one of its sizes. False: the library holds no more rows. */
MUST_USE bool choices_add(struct library *library, const struct curve *curve,
                          struct collective_choice pair, double bytes);

#endif
