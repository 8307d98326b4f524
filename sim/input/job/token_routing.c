/* The words for how tokens spread over a layer's experts. */
#include "input/job/token_routing.h"

const char *const token_routing_names[ROUTING_COUNT_] = {"even", "lognormal"};

bool routing_is_padded(const struct routing *routing)
{
    return routing->capacity_factor > 0 && routing->pads;
}
