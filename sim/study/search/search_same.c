/* By each member: there is room between them, which may differ. */
#include "study/search/search_same.h"

static bool are_same_degrees(const struct relayout *a, const struct relayout *b)
{
    return a->tp == b->tp && a->cp == b->cp && a->pp == b->pp && a->ep == b->ep &&
           a->etp == b->etp && a->micro == b->micro && a->zero == b->zero &&
           a->zero_group == b->zero_group && a->order == b->order;
}

static bool are_same_stages(const struct relayout *a, const struct relayout *b)
{
    return a->schedule == b->schedule && a->virtual_stages == b->virtual_stages &&
           a->microbatch_group == b->microbatch_group && a->ends[0] == b->ends[0] &&
           a->ends[1] == b->ends[1] && a->layers == b->layers;
}

static bool are_same_switches(const struct relayout *a, const struct relayout *b)
{
    return a->context == b->context && a->reshard == b->reshard && a->overlap == b->overlap &&
           a->is_sequence_parallel == b->is_sequence_parallel &&
           a->recompute.kind == b->recompute.kind && a->recompute.modules == b->recompute.modules &&
           a->recompute.layers == b->recompute.layers &&
           a->offload.activation_layers == b->offload.activation_layers &&
           a->offload.optimizer >= b->offload.optimizer &&
           a->offload.optimizer <= b->offload.optimizer;
}

bool search_is_same(const struct relayout *a, const struct relayout *b)
{
    return are_same_degrees(a, b) && are_same_stages(a, b) && are_same_switches(a, b);
}
