/* Two orders agree when what is left of them is the same: of the axes of a mesh that have more than
 * one rank, once of the dense one and once of that of experts. */
#include "input/job/parallel_order.h"

#include "base/arena.h"
#include "input/features/layout_words.h"

#include <string.h>

const uint8_t parallel_order_usual[AXIS_COUNT_] = {AXIS_TP, AXIS_CP, AXIS_EP, AXIS_DP, AXIS_PP};
const uint8_t parallel_order_pp_before_dp[AXIS_COUNT_] = {AXIS_TP, AXIS_CP, AXIS_EP, AXIS_PP,
                                                          AXIS_DP};

/* The axis that `text` begins with; AXIS_COUNT_ if none. */
static uint32_t axis_at(const char *text)
{
    uint32_t axis = 0;
    while (axis < AXIS_COUNT_ && strncmp(text, parallel_axis_names[axis], 2) != 0) {
        axis++;
    }
    return axis;
}

bool parallel_order_parse(const char *text, uint8_t order[AXIS_COUNT_])
{
    bool is_seen[AXIS_COUNT_] = {false};
    for (uint32_t i = 0; i < AXIS_COUNT_; i++) {
        const uint32_t axis = axis_at(text);
        const bool is_last = i + 1 == AXIS_COUNT_;
        if (axis == AXIS_COUNT_ || is_seen[axis] || text[2] != (is_last ? '\0' : '-')) {
            return false;
        }
        is_seen[axis] = true;
        order[i] = (uint8_t)axis;
        text += 3;
    }
    return true;
}

const char *parallel_order_text(struct arena *arena, const uint8_t order[AXIS_COUNT_])
{
    const char *text = parallel_axis_names[order[0]];
    for (uint32_t i = 1; i < AXIS_COUNT_; i++) {
        text = arena_printf(arena, "%s-%s", text, parallel_axis_names[order[i]]);
    }
    return text;
}

uint32_t parallel_order_number(const uint8_t order[AXIS_COUNT_])
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < AXIS_COUNT_; i++) {
        number = number * AXIS_COUNT_ + order[i];
    }
    return number + 1;
}

void parallel_order_of(uint32_t number, uint8_t order[AXIS_COUNT_])
{
    sim_assert(number > 0);
    number--;
    for (uint32_t i = AXIS_COUNT_; i > 0; i--) {
        order[i - 1] = (uint8_t)(number % AXIS_COUNT_);
        number /= AXIS_COUNT_;
    }
}

static uint32_t bit_if(bool has, enum parallel_axis axis)
{
    return has ? 1u << axis : 0;
}

/* The same axes of `kept` one after the other. */
static bool agree_in(uint32_t kept, const uint8_t *a, const uint8_t *b)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < AXIS_COUNT_; i++) {
        if ((kept >> a[i] & 1u) == 0) {
            continue;
        }
        while ((kept >> b[k] & 1u) == 0) {
            k++;
        }
        if (a[i] != b[k++]) {
            return false;
        }
    }
    return true;
}

bool parallel_orders_agree(const struct parallel *parallel, bool has_experts,
                           const uint8_t a[AXIS_COUNT_], const uint8_t b[AXIS_COUNT_])
{
    const int64_t shared = parallel->ep * parallel->etp;
    const int64_t copies = parallel->tp * parallel->cp * parallel->dp / shared;
    const uint32_t dense = bit_if(parallel->tp > 1, AXIS_TP) | bit_if(parallel->cp > 1, AXIS_CP) |
                           bit_if(parallel->dp > 1, AXIS_DP) | bit_if(parallel->pp > 1, AXIS_PP);
    const uint32_t experts = bit_if(parallel->etp > 1, AXIS_TP) |
                             bit_if(parallel->ep > 1, AXIS_EP) | bit_if(copies > 1, AXIS_DP);
    return agree_in(dense, a, b) && (!has_experts || agree_in(experts, a, b));
}
