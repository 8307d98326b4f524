/* Points side by side as who pays for them asks: which is done first, which costs least, which
 * takes the least energy, and which are beaten in all of these by another. The rest is the front:
 * better in one means worse in another.
 *
 * Points are ranked only when they train the same tokens, and by money only where all have a price;
 * else it is said why not. Money is in USD everywhere (base/units).
 */
#ifndef REPORT_RANKING_H
#define REPORT_RANKING_H

#include "report/sheet.h"
#include "store/store.h"

/* Adds `ranking`, in the order of days; null, and a reason in the text, where there is none.
 * Nothing where fewer than two points have a run. Values whose ratio's logarithm is at most
 * `resolution` are equals. */
void ranking_add(struct sheet *sheet, const struct store_row *rows, uint32_t count,
                 double resolution);

#endif
