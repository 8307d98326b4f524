#include "train/transfer.h"

#include "base/check.h"

struct group_shape group_shape_of(const struct fabric_route *route, uint32_t ranks)
{
    return (struct group_shape){ranks, route->nodes, route->hops_max, route->cap_bytes_per_s};
}

/* False when the algorithm does not offer the operation. */
static bool price(const struct fabric *fabric, const struct group_shape *group,
                  enum collective_operation operation, double bytes, struct transfer_choice *choice)
{
    struct collective_plan plan;
    const int64_t per_node = (group->ranks + group->nodes - 1) / group->nodes;
    if (!collective_plan(operation, choice->algorithm, group->ranks, bytes, &plan) ||
        !collective_rounds(operation, choice->algorithm, group->nodes, per_node, &choice->rounds)) {
        return false;
    }
    choice->rank_bytes = plan.rank_bytes;
    choice->latency_s =
        fabric->cluster->collective_launch_s +
        (double)choice->rounds.intra * fabric_intra_round_s(fabric) +
        (double)choice->rounds.inter * fabric_inter_round_s(fabric, group->hops_max);
    choice->time_s = choice->latency_s + plan.rank_bytes / (double)group->cap_bytes_per_s;
    return true;
}

struct transfer_choice transfer_choose(const struct fabric *fabric, const struct group_shape *group,
                                       enum collective_operation operation, double bytes)
{
    struct transfer_choice best = {.time_s = -1};
    for (uint32_t i = 0; i < ALGORITHM_COUNT_; i++) {
        struct transfer_choice choice = {.algorithm = (enum collective_algorithm)i};
        if (price(fabric, group, operation, bytes, &choice) &&
            (best.time_s < 0 || choice.time_s < best.time_s)) {
            best = choice;
        }
    }
    sim_assert(best.time_s >= 0);
    return best;
}

struct engine_transfer transfer_of_collective(const struct fabric *fabric,
                                              const struct group_shape *group,
                                              enum collective_operation operation, double bytes)
{
    const struct transfer_choice choice = transfer_choose(fabric, group, operation, bytes);
    return (struct engine_transfer){sim_time_from_s(choice.latency_s),
                                    (int64_t)(choice.rank_bytes + 0.5)};
}
