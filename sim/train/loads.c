/* After a simulation this file adds up what crossed each link and how long
 * transfers took against their time alone. Bytes come from the programs and
 * routes, not from the solver, so they are exact.
 */
#include "train/loads.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/wide.h"
#include "des/fluid.h"

#include <math.h>
#include <string.h>

/* ---- links ------------------------------------------------------------------------------ */

/* A block of a program, and how often it stands there. */
struct block_use {
    const struct engine_block *block;
    uint64_t times;
};

struct block_uses {
    struct block_use *items;
    uint32_t count;
};

/* Each block of the program once. They are few, and the next is mostly one of the last. */
static struct block_uses uses_of(struct arena *arena, const struct engine_program *program)
{
    struct block_uses uses = {
        arena_room(arena, program->block_count + (size_t)1, sizeof *uses.items), 0};
    for (uint32_t i = 0; i < program->block_count; i++) {
        uint32_t at = uses.count;
        while (at > 0 && uses.items[at - 1].block != program->blocks[i]) {
            at--;
        }
        if (at == 0) {
            at = ++uses.count;
            uses.items[at - 1] = (struct block_use){.block = program->blocks[i]};
        }
        uses.items[at - 1].times++;
    }
    return uses;
}

/* Adds the bytes that a program moves on a stream, by path of the stream's channels. `times`, one a
 * transfer, is scratch: 0 before and after. */
static void add_program_bytes(const struct engine_system *engine, const struct block_uses *uses,
                              uint32_t stream, uint64_t *times, uint64_t *bytes)
{
    bool has_tasks = false;
    for (uint32_t i = 0; i < uses->count; i++) {
        const struct block_use use = uses->items[i];
        const struct task *tasks = use.block->tasks[stream];
        const uint32_t count = use.block->counts[stream];
        has_tasks = has_tasks || count > 0;
        for (uint32_t k = 0; k < count; k++) {
            times[tasks[k].transfer] += use.times;
        }
    }
    for (uint32_t i = 0; has_tasks && i < engine->transfer_count; i++) {
        for (uint32_t next = times[i] > 0 ? i + 1 : 0; next != 0;) {
            const struct engine_transfer *phase = &engine->transfers[next - 1];
            bytes[phase->path] += times[i] * (uint64_t)phase->bytes;
            next = phase->next;
        }
        times[i] = 0;
    }
}

static uint32_t paths_max(const struct engine_system *engine)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < engine->channel_count; i++) {
        most = engine->channels[i].path_count > most ? engine->channels[i].path_count : most;
    }
    return most;
}

/* Bytes that cross each link in all steps. Summed up in whole units: links that are alike carry
 * the same, in whichever order their channels come. */
static double *carried_by_links(struct arena *arena, const struct engine_system *engine)
{
    const uint32_t most = paths_max(engine);
    const size_t streams = (size_t)engine->program_count * STREAM_COUNT_;
    uint64_t *bytes = arena_array(arena, streams * most, sizeof *bytes);
    uint64_t *times = arena_array(arena, engine->transfer_count + 1u, sizeof *times);
    for (uint32_t p = 0; p < engine->program_count; p++) {
        const struct block_uses uses = uses_of(arena, &engine->programs[p]);
        for (uint32_t s = STREAM_COMPUTE + 1; s < STREAM_COUNT_; s++) {
            add_program_bytes(engine, &uses, s, times,
                              bytes + ((size_t)p * STREAM_COUNT_ + s) * most);
        }
    }
    uint128 *units = arena_array(arena, engine->link_count, sizeof *units);
    for (uint32_t i = 0; i < engine->channel_count; i++) {
        const struct engine_channel *channel = &engine->channels[i];
        const struct engine_member *first = &engine->members[channel->member_first];
        const size_t program = engine->actors[first->actor].program;
        const uint64_t *moved = bytes + (program * STREAM_COUNT_ + first->stream) * most;
        for (uint32_t k = 0; k < channel->path_count; k++) {
            const struct engine_path *path = &engine->paths[channel->path_first + k];
            for (uint32_t j = 0; j < path->crossing_count; j++) {
                const struct engine_crossing *crossing =
                    &engine->crossings[path->crossing_first + j];
                units[crossing->link] += (uint128)moved[k] * crossing->usage;
            }
        }
    }
    double *carried = arena_array(arena, engine->link_count, sizeof *carried);
    for (uint32_t link = 0; link < engine->link_count; link++) {
        carried[link] = (double)units[link] / (double)FLUID_USAGE_ONE;
    }
    return carried;
}

/* The busiest links of one kind, in falling order; of equals the first. */
enum { BUSIEST_MAX = 4 };

struct busiest {
    struct busy_link {
        uint32_t link;   /* of the fabric */
        uint32_t number; /* of the engine's link that stands for it */
        double used;
    } links[BUSIEST_MAX];
    uint32_t count;
};

static bool is_busier(const struct busy_link *a, const struct busy_link *b)
{
    return a->used > b->used || (!(a->used < b->used) && a->link < b->link);
}

static void rank_link(struct busiest *busiest, struct busy_link link)
{
    uint32_t at = busiest->count < BUSIEST_MAX ? busiest->count++ : BUSIEST_MAX;
    while (at > 0 && is_busier(&link, &busiest->links[at - 1])) {
        if (at < BUSIEST_MAX) {
            busiest->links[at] = busiest->links[at - 1];
        }
        at--;
    }
    if (at < BUSIEST_MAX) {
        busiest->links[at] = link;
    }
}

/* A utilisation is summed up in parts of 2^-60, so that the mean of many links does not depend on
 * which of them are there one by one. */
static const double USED_ONE = 0x1p60;

/* All that an engine's link stands for; no more of them than can be among the busiest. */
static void rank_orbit(struct busiest *busiest, const struct step_system *system, uint32_t number,
                       double used)
{
    const uint32_t first = system->links[number];
    const uint32_t size = fabric_turns_links(&system->turns, first, TURN_ALL);
    for (uint32_t i = 0; i < size && i < BUSIEST_MAX; i++) {
        const uint32_t link = fabric_turns_nth(&system->turns, first, i);
        rank_link(busiest, (struct busy_link){link, number, used});
    }
}

static void add_kind(struct arena *arena, const struct step_system *system,
                     const struct busiest *busiest, struct link_use use, const double *carried,
                     struct step_result *result)
{
    const struct fabric *fabric = &system->fabric;
    for (uint32_t i = 0; i < busiest->count && busiest->links[i].used > 0; i++) {
        const uint32_t link = busiest->links[i].link;
        result->link_loads[result->link_load_count++] = (struct link_load){
            .kind = use.kind,
            .name = fabric_link_name(arena, fabric, link),
            .capacity_bytes_per_s = fabric_link_capacity(fabric, link),
            .bytes = carried[busiest->links[i].number],
            .utilisation = busiest->links[i].used,
        };
    }
    const struct busy_link *first = &busiest->links[0];
    use.busiest = fabric_link_name(arena, fabric, first->link);
    use.capacity_bytes_per_s = fabric_link_capacity(fabric, first->link);
    use.bytes = carried[first->number];
    use.utilisation_max = first->used;
    result->link_uses[result->link_use_count++] = use;
    if (use.utilisation_max > result->busiest_link_utilisation) {
        result->busiest_link_utilisation = use.utilisation_max;
        result->busiest_link = use.kind;
    }
}

void loads_of_links(struct arena *arena, const struct step_system *system, sim_time end,
                    struct step_result *result)
{
    const struct engine_system *engine = &system->engine;
    const double *carried = carried_by_links(arena, engine);
    struct link_use uses[LINK_KIND_COUNT_];
    struct busiest busiest[LINK_KIND_COUNT_];
    uint32_t counts[LINK_KIND_COUNT_];
    uint128 used_parts[LINK_KIND_COUNT_] = {0};
    memset(uses, 0, sizeof uses);
    memset(busiest, 0, sizeof busiest);
    fabric_count_links(&system->fabric, counts);
    for (uint32_t link = 0; link < engine->link_count; link++) {
        const enum link_kind kind = fabric_link_kind(&system->fabric, system->links[link]);
        const double used =
            carried[link] / (double)engine->link_capacities[link] / sim_time_to_s(end);
        const uint32_t size = fabric_turns_links(&system->turns, system->links[link], TURN_ALL);
        used_parts[kind] += (uint128)(used * USED_ONE) * size;
        rank_orbit(&busiest[kind], system, link, used);
    }
    result->link_uses = arena_array(arena, LINK_KIND_COUNT_, sizeof *result->link_uses);
    result->link_loads =
        arena_array(arena, (size_t)LINK_KIND_COUNT_ * BUSIEST_MAX, sizeof *result->link_loads);
    result->link_use_count = 0;
    result->link_load_count = 0;
    result->busiest_link = "";
    result->links_ns = end;
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        uses[kind].kind = link_titles[kind];
        uses[kind].count = counts[kind];
        if (used_parts[kind] > 0) {
            uses[kind].utilisation_mean = (double)used_parts[kind] / USED_ONE / counts[kind];
            add_kind(arena, system, &busiest[kind], uses[kind], carried, result);
        }
    }
}

/* ---- transfers ------------------------------------------------------------------------------ */

struct stream_times {
    int64_t alone_ns, moving_ns; /* over all channels */
};

static void time_streams(const struct engine_system *run, const struct engine_outcome *outcome,
                         struct stream_times times[STREAM_COUNT_])
{
    memset(times, 0, STREAM_COUNT_ * sizeof *times);
    for (uint32_t i = 0; i < run->channel_count; i++) {
        const struct engine_channel *channel = &run->channels[i];
        const struct engine_member *first = &run->members[channel->member_first];
        if (run->actors[first->actor].job != 0) {
            continue;
        }
        times[first->stream].alone_ns += channel->multiplicity * outcome->traffic[i].alone_ns;
        times[first->stream].moving_ns += channel->multiplicity * outcome->traffic[i].moving_ns;
    }
}

/* Adds how often a program starts each transfer on a stream; receives are their sends'. */
static void add_starts(const struct block_uses *uses, uint32_t stream, int64_t *starts)
{
    for (uint32_t i = 0; i < uses->count; i++) {
        const struct block_use use = uses->items[i];
        const struct task *tasks = use.block->tasks[stream];
        const uint32_t count = use.block->counts[stream];
        for (uint32_t k = 0; k < count; k++) {
            starts[tasks[k].transfer] += tasks[k].kind != TASK_RECEIVE ? (int64_t)use.times : 0;
        }
    }
}

/* How often the programs of job 0 start each transfer: the most of any stage. */
static int64_t *count_starts(struct arena *arena, const struct step_system *system)
{
    const struct engine_system *engine = &system->engine;
    const struct system_job *job = &system->jobs[0];
    int64_t *most = arena_array(arena, engine->transfer_count + 1u, sizeof *most);
    int64_t *starts = arena_array(arena, engine->transfer_count + 1u, sizeof *starts);
    for (uint32_t p = 0; p < job->mesh.pp; p++) {
        const struct block_uses uses = uses_of(arena, &engine->programs[job->program_first + p]);
        memset(starts, 0, engine->transfer_count * sizeof *starts);
        for (uint32_t s = STREAM_COMPUTE + 1; s < STREAM_COUNT_; s++) {
            add_starts(&uses, s, starts);
        }
        for (uint32_t i = 0; i < engine->transfer_count; i++) {
            most[i] = starts[i] > most[i] ? starts[i] : most[i];
        }
    }
    return most;
}

/* What a phase gets of its path on an idle fabric, bytes/s; the link that binds it, if one does. */
static double rate_of(const struct engine_system *engine, const struct engine_channel *channel,
                      const struct engine_transfer *phase, uint32_t *link)
{
    const struct engine_path *path = &engine->paths[channel->path_first + phase->path];
    const double share = phase->share == 0 ? 1.0 : (double)phase->share / ENGINE_FULL_SPEED;
    double rate = HUGE_VAL;
    *link = ENGINE_NONE;
    for (uint32_t i = 0; i < path->crossing_count; i++) {
        const struct engine_crossing *crossing = &engine->crossings[path->crossing_first + i];
        const double usage = (double)crossing->usage / (double)FLUID_USAGE_ONE;
        const double gives = (double)engine->link_capacities[crossing->link] / usage;
        *link = gives < rate ? crossing->link : *link;
        rate = fmin(rate, gives);
    }
    return fmin(rate, (double)path->cap_bytes_per_s * share);
}

/* That of the stream's first rank in job 0. */
static const struct engine_channel *first_channel(const struct engine_system *engine,
                                                  enum stream stream)
{
    for (uint32_t i = 0; i < engine->channel_count; i++) {
        const struct engine_member *member = &engine->members[engine->channels[i].member_first];
        if (member->stream == stream && engine->actors[member->actor].job == 0) {
            return &engine->channels[i];
        }
    }
    return NULL;
}

/* What has no quote (messages, writes, reads) has the latency of its channel and the rate of its
 * path: of the first rank's, as `explain` has it. */
static void time_plain(struct arena *arena, const struct step_system *system, size_t number,
                       struct traffic_use *use)
{
    const struct engine_system *engine = &system->engine;
    const struct engine_channel *channel =
        first_channel(engine, system->transfers.origins[number].stream);
    sim_assert(channel != NULL);
    double slowest = HUGE_VAL;
    use->latency_s = sim_time_to_s(channel->latency_ns);
    use->alone_s = use->latency_s;
    for (uint32_t next = (uint32_t)number + 1; next != 0;) {
        const struct engine_transfer *phase = &engine->transfers[next - 1];
        uint32_t link;
        const double rate = rate_of(engine, channel, phase, &link);
        use->latency_s += sim_time_to_s(phase->latency_ns);
        use->alone_s += sim_time_to_s(phase->latency_ns) + (double)phase->bytes / rate;
        if (rate < slowest) {
            slowest = rate;
            use->bottleneck = link != ENGINE_NONE
                                  ? fabric_link_name(arena, &system->fabric, system->links[link])
                                  : "";
        }
        next = phase->next;
    }
}

static double slowdown_of(const struct stream_times *times)
{
    return times->alone_ns > 0 ? (double)times->moving_ns / (double)times->alone_ns : 1.0;
}

void loads_of_traffic(struct arena *arena, const struct step_system *system,
                      const struct engine_system *run, const struct engine_outcome *outcome,
                      struct step_result *result)
{
    struct stream_times times[STREAM_COUNT_];
    time_streams(run, outcome, times);
    const int64_t *starts = count_starts(arena, system);
    const struct transfer_table *table = &system->transfers;
    result->traffic = arena_array(arena, table->count + 1, sizeof *result->traffic);
    result->traffic_count = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct transfer_origin *origin = &table->origins[i];
        if (origin->job != 0 || !origin->is_head || starts[i] == 0) {
            continue;
        }
        struct traffic_use *use = &result->traffic[result->traffic_count++];
        *use = (struct traffic_use){
            .stream = system->engine.streams[origin->stream].name,
            .operation = collective_operation_names[origin->operation],
            .algorithm = origin->has_quote
                             ? transfer_algorithm_name(&origin->shape, origin->algorithm)
                             : collective_algorithm_names[ALGORITHM_DIRECT],
            .protocol = origin->has_quote ? collective_protocol_names[origin->protocol] : "",
            .bytes = origin->bytes,
            .rank_bytes = origin->rank_bytes,
            .count = starts[i],
            .latency_s = origin->latency_s,
            .alone_s = origin->time_s,
            .slowdown = slowdown_of(&times[origin->stream]),
            .bottleneck = origin->bottleneck == ENGINE_NONE
                              ? ""
                              : fabric_link_name(arena, &system->fabric, origin->bottleneck),
            .is_extrapolated = origin->is_extrapolated,
        };
        if (!origin->has_quote) {
            time_plain(arena, system, i, use);
        }
    }
}
