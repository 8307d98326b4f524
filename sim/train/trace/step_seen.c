/* Three hooks write lists. Which links a channel of the folded system crosses is known of the
 * channels that were built (train/system): all those whose first member is of the class of its
 * first member, on the same stream.
 */
#include "train/trace/step_seen.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/record/engine_critical.h"

static const sim_time BIN_NS_LEAST = 1000;

struct seen_channel {
    sim_time since; /* when its bytes got their rate */
    int64_t rate_bytes_per_s;
    uint32_t phase; /* whose rate that is */
    uint32_t heard; /* bits: of the transfer under way, phases that had rates */
};

struct seen_plain {
    struct engine_member first; /* of those who met */
    uint32_t channel, index, transfer, heard;
    sim_time end;
};

/* ---- bins ----------------------------------------------------------------------------------- */

static void halve(struct seen_links *links)
{
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        double *bytes = links->bytes[kind];
        for (uint32_t i = 0; bytes != NULL && i < SEEN_BINS_MAX; i++) {
            bytes[i] =
                2 * i < SEEN_BINS_MAX ? bytes[(size_t)2 * i] + bytes[(size_t)2 * i + 1] : 0.0;
        }
    }
    links->bin_ns *= 2;
}

/* So many bytes a nanosecond, in each of these bins as long as they last in it. */
static void add_evenly(double *bins, sim_time bin_ns, sim_time start, sim_time end, double per_ns)
{
    while (start < end) {
        const sim_time bin = start / bin_ns;
        const sim_time edge = (bin + 1) * bin_ns;
        const sim_time until = edge < end ? edge : end;
        bins[bin] += per_ns * (double)(until - start);
        start = until;
    }
}

static void add_bytes(struct step_seen *seen, uint32_t path, sim_time start, sim_time end,
                      double per_ns)
{
    struct seen_links *links = &seen->links;
    while (end > links->bin_ns * SEEN_BINS_MAX) {
        halve(links);
    }
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        const double crossed = seen->crossed[(size_t)path * LINK_KIND_COUNT_ + kind];
        if (crossed > 0) {
            add_evenly(links->bytes[kind], links->bin_ns, start, end, per_ns * crossed);
        }
    }
}

/* ---- what is heard -------------------------------------------------------------------------- */

static const struct engine_system *run_of(const struct step_seen *seen)
{
    return &seen->watch->folded->engine;
}

static uint32_t path_of(const struct step_seen *seen, uint32_t channel, uint32_t phase)
{
    const struct engine_system *run = run_of(seen);
    return run->channels[channel].path_first + run->transfers[phase].path;
}

/* Which phase of its transfer it is. */
static uint32_t number_of_phase(const struct step_seen *seen, uint32_t phase)
{
    const struct transfer_origin *origins = seen->watch->system->transfers.origins;
    uint32_t number = 0;
    while (!origins[phase - number].is_head) {
        number++;
        sim_assert(number <= phase && number < COLLECTIVE_PHASES_MAX);
    }
    return number;
}

static void see_rate(void *context, uint32_t number, uint32_t phase, int64_t bytes_per_s,
                     sim_time time)
{
    struct step_seen *seen = context;
    struct seen_channel *channel = &seen->channels[number];
    if (channel->rate_bytes_per_s > 0) {
        add_bytes(seen, path_of(seen, number, channel->phase), channel->since, time,
                  (double)channel->rate_bytes_per_s / 1e9);
    }
    channel->rate_bytes_per_s = bytes_per_s;
    channel->since = time;
    channel->phase = phase;
    channel->heard |= 1U << number_of_phase(seen, phase);
}

static void add_wait(struct step_seen *seen, uint32_t actor, enum cause cause, int64_t ns)
{
    struct seen_waits *waits = &seen->waits[actor];
    waits->items = arena_grow(seen->arena, waits->items, &waits->capacity, waits->count + 1,
                              sizeof *waits->items);
    waits->items[waits->count++] = (struct seen_wait){waits->until, waits->until + ns, cause};
    waits->until += ns;
}

static void see_wait(void *context, uint32_t actor, uint8_t cause, int64_t ns)
{
    add_wait(context, actor, (enum cause)cause, ns);
}

/* A transfer has ended; of those who met in it the first one says so. */
static void see_transfer(struct step_seen *seen, uint32_t actor, uint32_t stream, uint32_t index,
                         sim_time end)
{
    const struct engine_system *run = run_of(seen);
    const uint32_t number = run->actors[actor].channels[stream];
    const struct engine_member *first = &run->members[run->channels[number].member_first];
    if (first->actor != actor || first->stream != stream) {
        return;
    }
    struct seen_channel *channel = &seen->channels[number];
    const struct task *task =
        engine_program_task(engine_program_of_actor(run, actor), stream, index);
    seen->plain = arena_grow(seen->arena, seen->plain, &seen->plain_capacity, seen->plain_count + 1,
                             sizeof *seen->plain);
    seen->plain[seen->plain_count++] =
        (struct seen_plain){*first, number, index, task->transfer, channel->heard, end};
    channel->heard = 0;
}

static void see_task(void *context, uint32_t actor, uint32_t stream, uint32_t index, sim_time start,
                     sim_time end)
{
    struct step_seen *seen = context;
    if (stream != STREAM_COMPUTE) {
        see_transfer(seen, actor, stream, index, end);
        return;
    }
    sim_assert(seen->waits[actor].until == start);
    seen->waits[actor].until = end;
}

/* ---- which links ---------------------------------------------------------------------------- */

static void add_crossings(struct step_seen *seen, const struct engine_path *built, uint32_t path)
{
    const struct step_system *system = seen->watch->system;
    for (uint32_t i = 0; i < built->crossing_count; i++) {
        const struct engine_crossing *crossing =
            &system->engine.crossings[built->crossing_first + i];
        const uint32_t link = system->links[crossing->link];
        const enum link_kind kind = fabric_link_kind(&system->fabric, link);
        const double alike = fabric_turns_links(&system->turns, link, TURN_ALL);
        seen->crossed[(size_t)path * LINK_KIND_COUNT_ + kind] +=
            alike * (double)crossing->usage / (double)FLUID_USAGE_ONE;
    }
}

static void find_crossings(struct step_seen *seen)
{
    const struct engine_system *built = &seen->watch->system->engine;
    const struct engine_system *run = run_of(seen);
    seen->crossed =
        arena_array(seen->arena, (size_t)run->path_count * LINK_KIND_COUNT_ + 1, sizeof(double));
    for (uint32_t i = 0; i < built->channel_count; i++) {
        const struct engine_channel *channel = &built->channels[i];
        const struct engine_member *first = &built->members[channel->member_first];
        const uint32_t class = seen->watch->folded->actor_class[first->actor];
        const uint32_t folded = run->actors[class].channels[first->stream];
        sim_assert(folded != ENGINE_NONE);
        sim_assert(run->channels[folded].path_count == channel->path_count);
        for (uint32_t k = 0; k < channel->path_count; k++) {
            add_crossings(seen, &built->paths[channel->path_first + k],
                          run->channels[folded].path_first + k);
        }
    }
}

static void find_capacities(struct step_seen *seen)
{
    const struct step_system *system = seen->watch->system;
    struct seen_links *links = &seen->links;
    fabric_count_links(&system->fabric, links->counts);
    for (uint32_t i = 0; i < system->engine.link_count; i++) {
        const uint32_t link = system->links[i];
        const enum link_kind kind = fabric_link_kind(&system->fabric, link);
        links->capacity_bytes_per_s[kind] += (double)system->engine.link_capacities[i] *
                                             fabric_turns_links(&system->turns, link, TURN_ALL) /
                                             links->counts[kind];
    }
}

/* A kind that no path crosses has no bins. */
static void make_bins(struct step_seen *seen)
{
    const uint32_t paths = run_of(seen)->path_count;
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        uint32_t path = 0;
        while (path < paths && seen->crossed[(size_t)path * LINK_KIND_COUNT_ + kind] <= 0) {
            path++;
        }
        seen->links.bytes[kind] =
            path < paths ? arena_array(seen->arena, SEEN_BINS_MAX, sizeof(double)) : NULL;
    }
}

struct engine_options step_seen_hooks(struct arena *arena, const struct watch *watch,
                                      struct step_seen *seen)
{
    sim_assert(watch->folded != NULL);
    const struct engine_system *run = &watch->folded->engine;
    *seen = (struct step_seen){
        .arena = arena,
        .watch = watch,
        .waits = arena_array(arena, run->actor_count, sizeof *seen->waits),
        .channels = arena_array(arena, run->channel_count + 1u, sizeof *seen->channels),
        .links = {.bin_ns = BIN_NS_LEAST},
    };
    find_crossings(seen);
    find_capacities(seen);
    make_bins(seen);
    return (struct engine_options){
        .on_task = see_task, .on_wait = see_wait, .on_rate = see_rate, .context = seen};
}

/* ---- after the run -------------------------------------------------------------------------- */

/* The phases that had no rates. */
static void add_plain(struct step_seen *seen, struct engine_record *record,
                      const struct seen_plain *plain)
{
    const struct engine_system *run = run_of(seen);
    const sim_time moves =
        engine_critical_moving(record, plain->first.actor, plain->first.stream, plain->index).start;
    uint32_t number = 0;
    for (uint32_t next = plain->transfer + 1; next != 0; number++) {
        const struct engine_transfer *phase = &run->transfers[next - 1];
        if ((plain->heard >> number & 1U) == 0 && plain->end > moves) {
            add_bytes(seen, path_of(seen, plain->channel, next - 1), moves, plain->end,
                      (double)phase->bytes / (double)(plain->end - moves));
        }
        next = phase->next;
    }
}

void step_seen_end(struct step_seen *seen, struct engine_record *record, sim_time end)
{
    for (size_t i = 0; i < seen->plain_count; i++) {
        add_plain(seen, record, &seen->plain[i]);
    }
    struct seen_links *links = &seen->links;
    links->bins = (uint32_t)((end + links->bin_ns - 1) / links->bin_ns);
    sim_assert(links->bins <= SEEN_BINS_MAX);
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        for (uint32_t i = 0; links->bytes[kind] != NULL && i < links->bins; i++) {
            links->bytes[kind][i] /= links->counts[kind];
        }
    }
}
