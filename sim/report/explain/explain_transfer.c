/* GPU 0's channels say which links its streams cross; its program's tasks say
 * how often and how much. Cost: O(tasks of all programs + crossings).
 */
#include "report/explain/explain_transfer.h"

#include "base/arena.h"
#include "des/fluid.h"

/* ---- links ------------------------------------------------------------------ */

/* The stream of a channel's first member: the sender's, if it is a pair. Channels
 * of one such stream are of one kind and may be at work at the same time. */
static uint32_t stream_of(const struct engine_system *engine, const struct engine_channel *channel)
{
    return engine->members[channel->member_first].stream;
}

/* Usage of each link by path number `path` of all channels of one stream. */
static double *usage_of_all(const struct explanation *explanation, uint32_t stream, uint32_t path)
{
    const struct engine_system *engine = &explanation->system->engine;
    double *usage = arena_array(explanation->arena, engine->link_count, sizeof *usage);
    for (uint32_t i = 0; i < engine->channel_count; i++) {
        const struct engine_channel *channel = &engine->channels[i];
        if (stream_of(engine, channel) != stream) {
            continue;
        }
        const struct engine_path *is = &engine->paths[channel->path_first + path];
        for (uint32_t j = 0; j < is->crossing_count; j++) {
            const struct engine_crossing *crossing = &engine->crossings[is->crossing_first + j];
            usage[crossing->link] += (double)crossing->usage / (double)FLUID_USAGE_ONE;
        }
    }
    return usage;
}

/* What limits a phase on its path; `usage` by link, or NULL: this path's own. */
static struct link_limit limit_of(const struct explanation *explanation,
                                  const struct engine_path *path,
                                  const struct engine_transfer *phase, const double *usage)
{
    const struct engine_system *engine = &explanation->system->engine;
    const double share = phase->share == 0 ? 1.0 : (double)phase->share / (double)ENGINE_FULL_SPEED;
    struct link_limit limit = {"", (double)path->cap_bytes_per_s * share};
    uint32_t tightest = ENGINE_NONE;
    double rate_min = 0;
    for (uint32_t i = 0; i < path->crossing_count; i++) {
        const struct engine_crossing *crossing = &engine->crossings[path->crossing_first + i];
        const double own = (double)crossing->usage / (double)FLUID_USAGE_ONE;
        const double used = usage != NULL ? usage[crossing->link] : own;
        const double rate = (double)engine->link_capacities[crossing->link] / used;
        if (tightest == ENGINE_NONE || rate < rate_min) {
            tightest = crossing->link;
            rate_min = rate;
        }
    }
    if (tightest != ENGINE_NONE) {
        limit.link = fabric_link_name(explanation->arena, &explanation->system->fabric, tightest);
        limit.bytes_per_s = rate_min < limit.bytes_per_s ? rate_min : limit.bytes_per_s;
    }
    return limit;
}

/* ---- transfers of a stream ---------------------------------------------------- */

/* Of a phase whose links are shared with nothing, or with all groups of the kind. */
static double time_s(double latency_s, double bytes, double rate, struct ledger *ledger)
{
    return LEDGER_SUM(ledger, "alone on the fabric", "us", latency_s + bytes / rate,
                      LEDGER_TERM(latency_s, "us"), LEDGER_TERM(bytes, "MB"),
                      LEDGER_TERM(rate, "B/s"));
}

static void add_phase(const struct explanation *explanation, const struct engine_channel *channel,
                      const struct engine_transfer *phase, struct transfer_use *use)
{
    const struct engine_system *engine = &explanation->system->engine;
    const struct engine_path *path = &engine->paths[channel->path_first + phase->path];
    const double *usage = usage_of_all(explanation, stream_of(engine, channel), phase->path);
    const struct link_limit alone = limit_of(explanation, path, phase, NULL);
    const struct link_limit together = limit_of(explanation, path, phase, usage);
    const double bytes = (double)phase->bytes;
    const double latency_s = sim_time_to_s(phase->latency_ns);
    if (use->phases == 0 || alone.bytes_per_s < use->alone.bytes_per_s) {
        use->alone = alone;
        use->together = together;
    }
    use->phases++;
    use->rank_bytes += bytes;
    use->latency_s += latency_s;
    use->alone_s += time_s(latency_s, bytes, alone.bytes_per_s, NULL);
    use->together_s += time_s(latency_s, bytes, together.bytes_per_s, NULL);
}

static struct transfer_use describe(const struct explanation *explanation,
                                    const struct engine_channel *channel, uint32_t number)
{
    const struct step_system *system = explanation->system;
    const double channel_s = sim_time_to_s(channel->latency_ns);
    struct transfer_use use = {.origin = &system->transfers.origins[number],
                               .latency_s = channel_s,
                               .alone_s = channel_s,
                               .together_s = channel_s};
    for (uint32_t next = number + 1; next != 0;) {
        const struct engine_transfer *phase = &system->engine.transfers[next - 1];
        add_phase(explanation, channel, phase, &use);
        next = phase->next;
    }
    return use;
}

void explain_transfer_record(const struct explanation *explanation, const struct stream_use *of,
                             const struct transfer_use *transfer, struct ledger *ledger)
{
    const struct step_system *system = explanation->system;
    const struct transfer_origin *origin = transfer->origin;
    const char *name =
        ledger_text(ledger, "%s, %s", of->name, collective_operation_names[origin->operation]);
    ledger_say(ledger, name, "MB", origin->bytes,
               ledger_text(ledger, "the buffer, %lld times in a step", (long long)transfer->count));
    if (origin->has_quote) {
        transfer_record(&system->setting, origin, ledger);
        return;
    }
    const bool is_message = of->stream == STREAM_SEND_FORWARD || of->stream == STREAM_SEND_BACKWARD;
    if (is_message && system->jobs[0].has_pair) {
        fabric_message_s(&system->fabric, &system->jobs[0].pair, ledger);
    }
    time_s(transfer->latency_s, transfer->rank_bytes, transfer->alone.bytes_per_s, ledger);
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
    for (struct engine_walk walk = engine_walk_of(program, use->stream); walk.task != NULL;
         engine_walk_next(&walk)) {
        const uint32_t number = walk.task->transfer;
        if (entry[number] == 0) {
            use->transfers[use->transfer_count++] = describe(explanation, channel, number);
            entry[number] = use->transfer_count;
        }
        struct transfer_use *transfer = &use->transfers[entry[number] - 1];
        transfer->count++;
        use->count++;
        use->sent_bytes += transfer->rank_bytes;
        use->together_s += transfer->together_s;
    }
}

/* Members of a channel, and over how many scale-up domains they lie. */
static void count_members(const struct step_system *system, const struct engine_channel *channel,
                          struct stream_use *use)
{
    uint32_t before = UINT32_MAX;
    use->ranks = channel->member_count;
    for (uint32_t i = 0; i < channel->member_count; i++) {
        const uint32_t actor = system->engine.members[channel->member_first + i].actor;
        const uint32_t gpu = system_gpu_of(&system->jobs[0], actor);
        const uint32_t domain = fabric_domain_of(&system->fabric, gpu);
        use->nodes += domain != before;
        before = domain;
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
        count_members(system, channel, use);
        add_transfers(explanation, channel, use);
    }
    return count;
}
