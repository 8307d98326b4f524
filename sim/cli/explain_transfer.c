/* GPU 0's channels say which links its streams cross; its program's tasks say
 * how often and how much. Cost: O(tasks of all programs + crossings).
 */
#include "cli/explain_transfer.h"

#include "base/arena.h"
#include "des/fluid.h"

/* ---- links ------------------------------------------------------------------ */

/* The stream of a channel's first member: the sender's, if it is a pair. Channels
 * of one such stream are of one kind and may be at work at the same time. */
static uint32_t stream_of(const struct engine_system *engine, const struct engine_channel *channel)
{
    return engine->members[channel->member_first].stream;
}

/* Usage of each link by all channels of one kind, in units of FLUID_USAGE_ONE. */
static double *usage_of_all(const struct explanation *explanation, uint32_t stream)
{
    const struct engine_system *engine = &explanation->system->engine;
    double *usage = arena_array(explanation->arena, engine->link_count, sizeof *usage);
    for (uint32_t i = 0; i < engine->channel_count; i++) {
        const struct engine_channel *channel = &engine->channels[i];
        for (uint32_t j = 0; stream_of(engine, channel) == stream && j < channel->crossing_count;
             j++) {
            const struct engine_crossing *crossing =
                &engine->crossings[channel->crossing_first + j];
            usage[crossing->link] += (double)crossing->usage / (double)FLUID_USAGE_ONE;
        }
    }
    return usage;
}

/* The tightest link of a channel; `usage` by link, or NULL: this channel's own. */
static struct link_limit tightest(const struct step_system *system,
                                  const struct engine_channel *channel, const double *usage)
{
    const struct engine_system *engine = &system->engine;
    struct link_limit limit = {.bytes_per_s = (double)channel->cap_bytes_per_s};
    for (uint32_t i = 0; i < channel->crossing_count; i++) {
        const struct engine_crossing *crossing = &engine->crossings[channel->crossing_first + i];
        const double own = (double)crossing->usage / (double)FLUID_USAGE_ONE;
        const double used = usage != NULL ? usage[crossing->link] : own;
        const int64_t capacity = engine->link_capacities[crossing->link];
        const double rate = (double)capacity / used;
        if (!limit.is_link || rate < limit.bytes_per_s) {
            limit = (struct link_limit){true, fabric_link_kind(&system->fabric, crossing->link),
                                        capacity, used, rate};
        }
    }
    return limit;
}

/* ---- transfers of a stream ---------------------------------------------------- */

/* Sender and receiver of a pair, by the way between them. */
static struct group_shape shape_of_pair(const struct step_system *system,
                                        const struct engine_channel *channel)
{
    struct fabric fabric = system->fabric; /* routing needs its scratch, and leaves it clean */
    const struct engine_member *members = &system->engine.members[channel->member_first];
    struct fabric_route route;
    fabric_pair(&fabric, members[0].actor, members[1].actor, &route);
    return group_shape_of(&route, 2);
}

static struct group_shape shape_of(const struct step_system *system, enum stream stream,
                                   const struct engine_channel *channel)
{
    switch (stream) {
    case STREAM_TENSOR:
        return system->tensor;
    case STREAM_DATA_GATHER:
    case STREAM_DATA_REDUCE:
        return system->data;
    case STREAM_EMBEDDING:
        return system->embedding;
    case STREAM_WORLD:
        return system->world;
    default:
        return shape_of_pair(system, channel);
    }
}

/* Times of a transfer whose latency and bytes are known. */
static void set_times(const struct stream_use *use, struct transfer_use *transfer)
{
    const double bytes = (double)transfer->rank_bytes;
    transfer->alone_s = transfer->latency_s + bytes / use->alone.bytes_per_s;
    transfer->together_s = transfer->latency_s + bytes / use->together.bytes_per_s;
}

static struct transfer_use describe(const struct step_system *system, const struct stream_use *use,
                                    const struct engine_channel *channel, uint32_t number)
{
    const struct engine_transfer *item = &system->engine.transfers[number];
    const struct transfer_origin *origin = &system->transfers.origins[number];
    struct transfer_use transfer = {
        .operation = origin->operation,
        .bytes = origin->bytes,
        .has_choice = origin->operation != COLLECTIVE_SEND,
        .rank_bytes = item->bytes,
        .latency_s = sim_time_to_s(item->latency_ns + channel->latency_ns),
    };
    if (transfer.has_choice) {
        transfer.choice =
            transfer_choose(&system->fabric, &use->group, origin->operation, origin->bytes);
        sim_assert(sim_time_from_s(transfer.choice.latency_s) == item->latency_ns);
    }
    set_times(use, &transfer);
    return transfer;
}

/* Counts by number of transfer; entries are made in the order of first use. */
static void add_transfers(const struct explanation *explanation,
                          const struct engine_channel *channel, struct stream_use *use)
{
    const struct step_system *system = explanation->system;
    const struct engine_program *program = &system->engine.programs[0];
    const uint32_t kinds = system->engine.transfer_count;
    uint32_t *entry = arena_array(explanation->arena, kinds, sizeof *entry); /* plus 1 */
    use->transfers = arena_array(explanation->arena, kinds + 1, sizeof *use->transfers);
    for (uint32_t i = 0; i < program->counts[use->stream]; i++) {
        const uint32_t number = program->tasks[use->stream][i].transfer;
        if (entry[number] == 0) {
            use->transfers[use->transfer_count++] = describe(system, use, channel, number);
            entry[number] = use->transfer_count;
        }
        struct transfer_use *transfer = &use->transfers[entry[number] - 1];
        transfer->count++;
        use->count++;
        use->sent_bytes += (double)transfer->rank_bytes;
        use->together_s += transfer->together_s;
    }
}

/* For comparison: a stage's gradients or parameters in one piece. */
static void add_whole(const struct explanation *explanation, struct stream_use *use)
{
    const struct scenario *scenario = explanation->scenario;
    const bool is_gradient = use->stream == STREAM_DATA_REDUCE;
    if (!is_gradient && use->stream != STREAM_DATA_GATHER) {
        return;
    }
    const uint32_t precision =
        is_gradient ? scenario->software.gradient_precision : scenario->precision;
    struct transfer_use whole = {.operation = use->transfers[0].operation, .has_choice = true};
    whole.bytes =
        memory_stage_parameters(scenario, 0) * (double)precision_bytes((enum precision)precision);
    whole.choice =
        transfer_choose(&explanation->system->fabric, &use->group, whole.operation, whole.bytes);
    whole.rank_bytes = (int64_t)(whole.choice.rank_bytes + 0.5);
    whole.latency_s = whole.choice.latency_s;
    set_times(use, &whole);
    if (use->count > 1) {
        use->transfers[use->transfer_count++] = whole;
    }
}

uint32_t explain_streams(const struct explanation *explanation, struct stream_use *uses)
{
    const struct step_system *system = explanation->system;
    const struct engine_system *engine = &system->engine;
    uint32_t count = 0;
    for (uint32_t s = STREAM_COMPUTE + 1; s < STREAM_COUNT_; s++) {
        const uint32_t number = engine->actors[0].channels[s];
        if (number == ENGINE_NONE || engine->programs[0].counts[s] == 0) {
            continue;
        }
        const struct engine_channel *channel = &engine->channels[number];
        struct stream_use *use = &uses[count++];
        *use = (struct stream_use){.name = engine->streams[s].name, .stream = (enum stream)s};
        use->group = shape_of(system, (enum stream)s, channel);
        use->alone = tightest(system, channel, NULL);
        use->together =
            tightest(system, channel, usage_of_all(explanation, stream_of(engine, channel)));
        add_transfers(explanation, channel, use);
        add_whole(explanation, use);
    }
    return count;
}
