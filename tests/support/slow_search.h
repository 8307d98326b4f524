/* The layouts of a space, each laid out, weighed and simulated by itself: study/search without
 * lines, families, bounds and least memories.
 *
 *     struct slow_search slow = {.arena = arena, .space = space, .near = 0.3};
 *     if (slow_search_product(&slow.space) <= 500) { slow_search_run(&slow); }
 *
 * Every point of the product of the axes is tried; what does not matter to a layout is not said.
 * Beside the best value it keeps what bounds and least memories are held against: no step may be
 * below its bound, no layout may need less than its least memory, which is asserted here.
 */
#ifndef TESTS_SUPPORT_SLOW_SEARCH_H
#define TESTS_SUPPORT_SLOW_SEARCH_H

#include "study/search/search.h"
#include "study/search/search_space.h"

struct slow_search {
    struct arena *arena;
    struct search_space space;
    const struct search_result *found; /* what it simulated is not simulated again; NULL: all is */
    double best;                       /* ABSENT: nothing fits */
    double near;                       /* so far over a GPU's memory is near; 0: none is */
    double near_best;                  /* of those that are; ABSENT: none is */
    uint64_t near_count;
    uint64_t tried, fitting;
    uint64_t known;  /* of these: simulated by the search */
    uint64_t loose;  /* thousandths of bound over step, of those that fit, added up */
    uint64_t memory; /* the same of least memory, of all */
    /* Bits 1 << index of the values of an axis (the first 64) that matter to a layout which fits,
     * and to one that is as good as the best. */
    uint64_t fits[SEARCH_AXIS_COUNT_], wins[SEARCH_AXIS_COUNT_];
};

/* Points of the product of all axes, of which some are the same, or cannot be. */
uint64_t slow_search_product(const struct search_space *space);

void slow_search_run(struct slow_search *slow);

/* Of the values that fit alone, and of nothing else: no step is simulated. */
void slow_search_weigh(struct slow_search *slow);

bool slow_search_is_same(const struct relayout *a, const struct relayout *b);

#endif
