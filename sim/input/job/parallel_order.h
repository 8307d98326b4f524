/* Orders of the mesh's axes (key parallel.order, plan/mesh): as text, as a number, and which of
 * them are the same.
 *
 * Axes of one rank have no place in an order: with pp 1, cp 1 and no experts tp-cp-ep-dp-pp is
 * pp-tp-dp-ep-cp. Of tp, cp, dp and pp the order says which ranks of the mesh are neighbours; of
 * etp (in the place of tp), ep and edp (of dp) which ranks of a stage share experts: where both are
 * the same two orders lay out the same ranks.
 */
#ifndef INPUT_JOB_PARALLEL_ORDER_H
#define INPUT_JOB_PARALLEL_ORDER_H

#include "base/check.h"
#include "input/job/parallel.h"

struct arena;

extern const uint8_t parallel_order_usual[AXIS_COUNT_];        /* tp-cp-ep-dp-pp */
extern const uint8_t parallel_order_pp_before_dp[AXIS_COUNT_]; /* tp-cp-ep-pp-dp */

/* "tp-cp-ep-dp-pp" in any order: each axis once. */
MUST_USE bool parallel_order_parse(const char *text, uint8_t order[AXIS_COUNT_]);
const char *parallel_order_text(struct arena *arena, const uint8_t order[AXIS_COUNT_]);

/* Digits of base AXIS_COUNT_, and 1, so that 0 is none. */
uint32_t parallel_order_number(const uint8_t order[AXIS_COUNT_]);
void parallel_order_of(uint32_t number, uint8_t order[AXIS_COUNT_]);

/* Whether a layout's ranks (its sizes; dp known) lie the same in both. */
bool parallel_orders_agree(const struct parallel *parallel, bool has_experts,
                           const uint8_t a[AXIS_COUNT_], const uint8_t b[AXIS_COUNT_]);

#endif
