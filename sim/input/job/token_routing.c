/* The words for how tokens spread over a layer's experts. */
#include "input/job/token_routing.h"

#include "input/model.h"

const char *const token_routing_names[ROUTING_COUNT_] = {"even", "lognormal", "measured"};

bool routing_is_padded(const struct routing *routing)
{
    return routing->capacity_factor > 0 && routing->pads;
}

bool routing_is_even(const struct model *model, const struct routing *routing)
{
    return model->experts > 0 && routing->kind == ROUTING_EVEN;
}
