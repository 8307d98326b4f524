/* In which order what a search has found is told; of equal ones the first in the space comes first.
 */
#ifndef STUDY_SEARCH_SEARCH_ORDER_H
#define STUDY_SEARCH_SEARCH_ORDER_H

#include <stdint.h>

struct search_found;

/* The best first. */
void search_order_found(struct search_found *found, uint32_t count);

/* The least miss first; what cannot be said by how much it misses is last. */
void search_order_missed(struct search_found *missed, uint32_t count);

#endif
