/* Channels are appended group by group; each records its members (actor and the
 * stream that is bound to it), its paths and their crossings, and is entered in the members'
 * channel tables. All arrays grow in the arena and are handed to the engine at the end.
 *
 * Programs are built before channels: they decide which algorithms a stream uses, and a
 * channel has one path for each phase of these.
 */
#include "train/system.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/engine_known.h"
#include "des/fluid.h"
#include "hw/checkpoint_place.h"
#include "input/scenario.h"
#include "train/metrics.h"
#include "train/program/program_calls.h"
#include "train/program/program_roles.h"
#include "train/program/program_stages.h"
#include "train/step_memo.h"
#include "train/system/system_fabric.h"
#include "train/system/system_frame.h"
#include "train/system/system_groups.h"
#include "train/system/system_routes.h"

#include <stdlib.h>

struct system_builder {
    struct arena *arena;
    struct arena *scratch; /* the routes of one channel */
    const struct step_options *options;
    struct step_system *system;
    struct engine_actor *actors;
    struct engine_program *programs;
    struct engine_channel *channels;
    struct engine_path *paths;
    struct engine_member *members;
    struct engine_crossing *crossings;
    struct fold_crossing *orbits; /* per crossing, where something turns */
    uint32_t *touched;            /* there: per link of the fabric, whether it is crossed */
    size_t orbit_capacity;
    size_t channel_count, channel_capacity;
    size_t path_count, path_capacity;
    size_t group_path_first; /* of the group, or pair, whose paths are added */
    size_t member_count, member_capacity;
    size_t crossing_count, crossing_capacity;
    uint32_t actor_count, program_count;
    uint32_t *ranks; /* scratch: one group */
    uint32_t period; /* GPUs; of groups so far apart one is routed */
    /* Of the job whose channels are added: ranks with an actor, a stage after the other. */
    uint32_t *firsts;
    uint32_t *stage_first; /* per stage and one more: into firsts */
};

uint32_t system_gpu_of(const struct system_job *job, uint32_t rank)
{
    return job->is.gpu_of_rank != NULL ? job->is.gpu_of_rank[rank] : rank;
}

uint32_t system_actor_of(const struct step_system *system, const struct system_job *job,
                         uint32_t rank)
{
    const uint32_t first = fabric_turns_gpu(&system->turns, rank, TURN_ALL);
    return job->actor_first + fabric_turns_number(&system->turns, first);
}

/* ---- orbits --------------------------------------------------------------------- */

static uint32_t next_first(const struct system_builder *builder, uint32_t rank)
{
    return fabric_turns_next(&builder->system->turns, rank);
}

/* How many an actor stands for (under all turns), or a channel or member under some. */
static uint32_t orbit_of(const struct system_builder *builder, uint32_t rank, uint32_t set)
{
    return fabric_turns_orbit(&builder->system->turns, rank, set);
}

static bool has_turns(const struct system_builder *builder)
{
    return fabric_turns_any(&builder->system->turns);
}

/* Whether channels of a rank are built: of all, or of the first of each stage. */
static bool is_wanted(const struct system_builder *builder, const struct system_job *job,
                      uint32_t rank)
{
    const uint32_t stage = mesh_stage_of(&job->mesh, rank);
    return !builder->options->is_for_times || rank == builder->firsts[builder->stage_first[stage]];
}

/* ---- channels ------------------------------------------------------------------- */

/* For members of the channel that comes next. */
static void add_members(struct system_builder *builder, struct engine_member member)
{
    builder->members = arena_grow(builder->arena, builder->members, &builder->member_capacity,
                                  builder->member_count + 1, sizeof *builder->members);
    builder->members[builder->member_count++] = member;
    uint32_t *channel = &builder->actors[member.actor].channels[member.stream];
    sim_assert(*channel == ENGINE_NONE);
    *channel = (uint32_t)builder->channel_count;
}

static void add_member(struct system_builder *builder, const struct system_job *job, uint32_t rank,
                       enum stream stream, uint32_t weight)
{
    const uint32_t actor = system_actor_of(builder->system, job, rank);
    add_members(builder, (struct engine_member){actor, stream, weight});
}

/* A group whose path is added: its first rank, and the turns that bring it onto itself. */
struct turned_group {
    uint32_t rank, turned;
};

/* A link that is the first of its orbit under the turns that bring the channel onto itself, seen
 * from the first under all turns: there the channels of this one's orbit meet. */
static void add_orbit_crossing(struct system_builder *builder, struct fabric_crossing crossing,
                               struct turned_group group)
{
    const struct fabric_turns *turns = &builder->system->turns;
    const uint32_t first = fabric_turns_link(turns, crossing.link, TURN_ALL);
    const uint32_t links = fabric_turns_links(turns, crossing.link, group.turned);
    const uint32_t channels = orbit_of(builder, group.rank, TURN_ALL & ~group.turned);
    const uint64_t crossings = (uint64_t)links * channels;
    const uint32_t size = fabric_turns_links(turns, first, TURN_ALL);
    sim_assert(crossings % size == 0);
    builder->touched[first] = 1;
    builder->orbits[builder->crossing_count] =
        (struct fold_crossing){crossing.usage, links, crossing.link};
    builder->crossings[builder->crossing_count++] =
        (struct engine_crossing){first, crossing.usage * (crossings / size)};
}

static void make_room_for_crossings(struct system_builder *builder, uint32_t count)
{
    builder->crossings =
        arena_grow(builder->arena, builder->crossings, &builder->crossing_capacity,
                   builder->crossing_count + count + 1, sizeof *builder->crossings);
    if (has_turns(builder)) {
        builder->orbits = arena_grow(builder->arena, builder->orbits, &builder->orbit_capacity,
                                     builder->crossing_count + count + 1, sizeof *builder->orbits);
    }
}

/* Those from `first` on, or an earlier path's of the group if it has the same. */
static uint32_t share_crossings(struct system_builder *builder, uint32_t first)
{
    const struct added_paths added = {builder->paths, builder->group_path_first,
                                      builder->path_count, builder->crossings,
                                      has_turns(builder) ? builder->orbits : NULL};
    const uint32_t found = routes_find(&added, first, (uint32_t)builder->crossing_count - first);
    if (found != first) {
        builder->crossing_count = first;
    }
    return found;
}

/* Adds a path of the channel that comes next. */
static void add_group_path(struct system_builder *builder, const struct fabric_route *route,
                           struct turned_group group)
{
    const uint32_t first = (uint32_t)builder->crossing_count;
    make_room_for_crossings(builder, route->count);
    for (uint32_t i = 0; i < route->count; i++) {
        const struct fabric_crossing *crossing = &route->crossings[i];
        if (has_turns(builder)) {
            add_orbit_crossing(builder, *crossing, group);
        } else {
            builder->crossings[builder->crossing_count++] =
                (struct engine_crossing){crossing->link, crossing->usage};
        }
    }
    builder->paths = arena_grow(builder->arena, builder->paths, &builder->path_capacity,
                                builder->path_count + 1, sizeof *builder->paths);
    const struct engine_path path = {share_crossings(builder, first), route->count,
                                     route->cap_bytes_per_s};
    builder->paths[builder->path_count++] = path;
}

/* Of a channel of that rank, which no turn brings onto itself. */
static void add_path(struct system_builder *builder, uint32_t rank,
                     const struct fabric_route *route)
{
    add_group_path(builder, route, (struct turned_group){rank, 0});
}

struct channel_sizes {
    uint32_t needed;  /* members of the real channel */
    uint32_t members; /* added for it */
    uint32_t paths;   /* added for it */
    uint32_t orbit;   /* real channels that it stands for */
};

/* A channel of the members and paths that were added last. */
static void add_channel(struct system_builder *builder, enum channel_kind kind,
                        struct channel_sizes sizes, sim_time latency_ns)
{
    builder->channels = arena_grow(builder->arena, builder->channels, &builder->channel_capacity,
                                   builder->channel_count + 1, sizeof *builder->channels);
    builder->channels[builder->channel_count++] = (struct engine_channel){
        .kind = (uint8_t)kind,
        .needed = sizes.needed,
        .member_first = (uint32_t)builder->member_count - sizes.members,
        .member_count = sizes.members,
        .path_first = (uint32_t)builder->path_count - sizes.paths,
        .path_count = sizes.paths,
        .latency_ns = latency_ns,
        .multiplicity = sizes.orbit,
    };
    arena_reset(builder->scratch);
}

/* Where routes, and what they are found with, are kept. */
static void route_in(struct system_builder *builder, struct arena *arena)
{
    builder->system->fabric.arena = arena;
    builder->system->setting.arena = arena;
}

/* ---- groups ------------------------------------------------------------------------ */

/* All of the job, or of stage `number`: every turn brings it onto itself. Its messages cross no
 * link. */
static void add_wide_group(struct system_builder *builder, const struct system_job *job,
                           enum group_kind kind, uint32_t number, enum stream stream)
{
    const struct transfer_patterns *patterns = &job->patterns[stream];
    const bool is_all = group_rows[kind].members == GROUP_OF_ALL;
    sim_assert(is_all || group_rows[kind].members == GROUP_OF_STAGE);
    const uint32_t ranks = mesh_size(&job->mesh);
    const uint32_t *firsts = builder->firsts + builder->stage_first[number];
    const uint32_t members = builder->stage_first[1] * (is_all ? job->mesh.pp : 1);
    uint32_t rank = 0;
    for (uint32_t i = 0; i < members; i++) {
        const uint32_t member = is_all ? rank : firsts[i];
        add_member(builder, job, member, stream, orbit_of(builder, member, TURN_ALL));
        rank = rank < ranks ? next_first(builder, rank) : rank;
    }
    const struct fabric_route unlinked = {.cap_bytes_per_s = UNLINKED_BYTES_PER_S};
    for (uint32_t i = 0; i < patterns->count; i++) {
        add_path(builder, 0, &unlinked);
    }
    add_channel(builder, CHANNEL_COLLECTIVE,
                (struct channel_sizes){groups_size(&job->layout, kind), members,
                                       (uint32_t)patterns->count, 1},
                0);
}

/* Of a group whose ranks are listed. */
static void add_group(struct system_builder *builder, const struct system_job *job,
                      const struct group_shape *shape, enum stream stream)
{
    const struct step_system *system = builder->system;
    const struct transfer_patterns *patterns = &job->patterns[stream];
    const struct turned_group group = {builder->ranks[0], shape->turned};
    uint32_t members = 0;
    for (uint32_t i = 0; i < shape->ranks; i++) {
        const uint32_t rank = builder->ranks[i];
        if (fabric_turns_gpu(&system->turns, rank, shape->turned) == rank) {
            add_member(builder, job, rank, stream, orbit_of(builder, rank, shape->turned));
            members++;
        }
    }
    for (uint32_t i = 0; i < patterns->count; i++) {
        const struct transfer_pattern *pattern = &patterns->items[i];
        struct fabric_route route;
        group_route(&system->setting, shape, pattern->operation, pattern->algorithm, pattern->phase,
                    &route);
        route = routes_part(builder->scratch, &builder->system->turns, &route, shape->turned);
        add_group_path(builder, &route, group);
    }
    add_channel(builder, CHANNEL_COLLECTIVE,
                (struct channel_sizes){shape->ranks, members, (uint32_t)patterns->count,
                                       orbit_of(builder, group.rank, TURN_ALL & ~shape->turned)},
                0);
}

/* ---- groups that lie as earlier ones do ------------------------------------------------- */

static void copy_path(struct system_builder *builder, struct engine_path path, uint32_t gpus)
{
    const struct fabric *fabric = &builder->system->fabric;
    const uint32_t first = (uint32_t)builder->crossing_count;
    make_room_for_crossings(builder, path.crossing_count);
    for (uint32_t i = path.crossing_first; i < path.crossing_first + path.crossing_count; i++) {
        struct engine_crossing crossing = builder->crossings[i];
        struct fold_crossing orbit = builder->orbits[i];
        crossing.link = fabric_turns_beside(fabric, crossing.link, gpus);
        orbit.via = fabric_turns_beside(fabric, orbit.via, gpus);
        builder->touched[crossing.link] = 1;
        builder->orbits[builder->crossing_count] = orbit;
        builder->crossings[builder->crossing_count++] = crossing;
    }
    path.crossing_first = share_crossings(builder, first);
    builder->paths = arena_grow(builder->arena, builder->paths, &builder->path_capacity,
                                builder->path_count + 1, sizeof *builder->paths);
    builder->paths[builder->path_count++] = path;
}

/* A group of another stage as that of the first which lies so: its channel, moved. False if there
 * is none. */
static bool copy_group(struct system_builder *builder, const struct system_job *job, uint32_t rank,
                       enum stream stream)
{
    const struct step_system *system = builder->system;
    const uint32_t moved = rank - rank % builder->period;
    const uint32_t actors = fabric_turns_number(&system->turns, moved);
    const uint32_t like = system_actor_of(system, job, rank - moved);
    const uint32_t number = builder->actors[like].channels[stream];
    if (moved == 0 || number == ENGINE_NONE) {
        return false;
    }
    const struct engine_channel channel = builder->channels[number];
    for (uint32_t i = 0; i < channel.member_count; i++) {
        struct engine_member member = builder->members[channel.member_first + i];
        member.actor += actors;
        add_members(builder, member);
    }
    for (uint32_t i = 0; i < channel.path_count; i++) {
        copy_path(builder, builder->paths[channel.path_first + i], moved);
    }
    const struct channel_sizes sizes = {channel.needed, channel.member_count, channel.path_count,
                                        (uint32_t)channel.multiplicity};
    add_channel(builder, (enum channel_kind)channel.kind, sizes, channel.latency_ns);
    return true;
}

/* On all streams of its kind. */
static void add_group_channels(struct system_builder *builder, const struct system_job *job,
                               enum group_kind kind, uint32_t number)
{
    const struct group_row *row = &group_rows[kind];
    builder->group_path_first = builder->path_count;
    for (uint32_t s = 0; s < row->stream_count; s++) {
        if (job->patterns[row->streams[s]].count == 0) {
            continue;
        }
        if (row->is_latency_only) {
            add_wide_group(builder, job, kind, number, row->streams[s]);
            continue;
        }
        if (copy_group(builder, job, groups_first(&job->layout, kind, number), row->streams[s])) {
            continue;
        }
        struct group_shape shape;
        system_shape_group(builder->system, job, kind, number, &shape);
        groups_members(&job->layout, kind, number, builder->ranks);
        add_group(builder, job, &shape, row->streams[s]);
    }
}

/* The first rank of a stage comes first in its groups: it is the lowest. */
static void add_groups(struct system_builder *builder, const struct system_job *job)
{
    for (uint32_t kind = 0; kind < GROUP_KIND_COUNT_; kind++) {
        const uint32_t count = groups_count(&job->layout, (enum group_kind)kind);
        uint32_t i = 0;
        while ((i = system_next_group(builder->system, job, (enum group_kind)kind, i)) < count) {
            if (is_wanted(builder, job, groups_first(&job->layout, (enum group_kind)kind, i))) {
                add_group_channels(builder, job, (enum group_kind)kind, i);
            }
            i++;
        }
    }
}

/* ---- between stages ---------------------------------------------------------------- */

static void trace_pair(struct system_builder *builder, const struct system_job *job, uint32_t from,
                       uint32_t to, struct fabric_route *route)
{
    struct fabric *fabric = &builder->system->fabric;
    fabric_trace_begin(fabric);
    fabric_trace_send(fabric, system_gpu_of(job, from), system_gpu_of(job, to), FLUID_USAGE_ONE);
    fabric_trace_end(fabric, route);
}

static void add_pair(struct system_builder *builder, const struct system_job *job, uint32_t from,
                     uint32_t to, enum stream send, enum stream receive)
{
    struct fabric_route route;
    builder->group_path_first = builder->path_count;
    trace_pair(builder, job, from, to, &route);
    add_member(builder, job, from, send, 1);
    add_member(builder, job, to, receive, 1);
    add_path(builder, from, &route);
    const double message_s = fabric_message_s(&builder->system->fabric, &route, NULL);
    add_channel(builder, CHANNEL_PAIR,
                (struct channel_sizes){2, 2, 1, orbit_of(builder, from, TURN_ALL)},
                sim_time_from_s(message_s));
}

/* Of stages that meet: one channel for both ways, alone or together. */
static void add_calls(struct system_builder *builder, const struct system_job *job, uint32_t from,
                      uint32_t to)
{
    struct fabric *fabric = &builder->system->fabric;
    const uint32_t ends[] = {system_gpu_of(job, from), system_gpu_of(job, to)};
    struct fabric_route route;
    builder->group_path_first = builder->path_count;
    add_member(builder, job, from, STREAM_SEND_FORWARD, 1);
    add_member(builder, job, to, STREAM_RECEIVE_FORWARD, 1);
    for (uint32_t way = 0; way < CALL_WAYS; way++) {
        fabric_trace_begin(fabric);
        if (way != CALL_BACK) {
            fabric_trace_send(fabric, ends[0], ends[1], FLUID_USAGE_ONE);
        }
        if (way != CALL_AHEAD) {
            fabric_trace_send(fabric, ends[1], ends[0], FLUID_USAGE_ONE);
        }
        fabric_trace_end(fabric, &route);
        add_path(builder, from, &route);
    }
    const double message_s = fabric_message_s(fabric, &route, NULL);
    add_channel(builder, CHANNEL_COLLECTIVE,
                (struct channel_sizes){2, 2, CALL_WAYS, orbit_of(builder, from, TURN_ALL)},
                sim_time_from_s(message_s));
}

/* A channel each way between each rank and its peer on the next stage. */
static void add_boundaries(struct system_builder *builder, struct system_job *job)
{
    const struct mesh *mesh = &job->mesh;
    const struct parallel *parallel = &job->is.scenario->parallel;
    job->has_pair = mesh->pp > 1;
    if (job->has_pair) {
        route_in(builder, builder->arena);
        trace_pair(builder, job, mesh_stage_rank(mesh, 0, 0), mesh_stage_rank(mesh, 1, 0),
                   &job->pair);
        route_in(builder, builder->scratch);
    }
    for (uint32_t stage = 0; stage < mesh->pp; stage++) {
        const uint32_t *firsts = builder->firsts + builder->stage_first[stage];
        const uint32_t *next = builder->firsts + builder->stage_first[(stage + 1) % mesh->pp];
        const uint32_t places = groups_have_boundary(parallel, stage) ? builder->stage_first[1] : 0;
        for (uint32_t i = 0; i < places && is_wanted(builder, job, firsts[i]); i++) {
            const uint32_t from = firsts[i];
            const uint32_t to = next[i];
            if (calls_are_made(parallel, &job->is.scenario->software)) {
                add_calls(builder, job, from, to);
                continue;
            }
            add_pair(builder, job, from, to, STREAM_SEND_FORWARD, STREAM_RECEIVE_FORWARD);
            add_pair(builder, job, to, from, STREAM_SEND_BACKWARD, STREAM_RECEIVE_BACKWARD);
        }
    }
}

/* ---- outside the fabric between GPUs ---------------------------------------------------- */

/* Whether the program of a rank, whose channels are built, has tasks on a stream. */
static bool uses_stream(const struct system_builder *builder, const struct system_job *job,
                        uint32_t rank, enum stream stream)
{
    const uint32_t stage = mesh_stage_of(&job->mesh, rank);
    return is_wanted(builder, job, rank) &&
           builder->programs[job->program_first + stage].counts[stream] > 0;
}

static void add_storage_path(struct system_builder *builder, const struct system_job *job,
                             uint32_t rank, enum storage_way way)
{
    struct fabric *fabric = &builder->system->fabric;
    struct fabric_route route;
    builder->group_path_first = builder->path_count;
    fabric_trace_begin(fabric);
    fabric_trace_storage(fabric, system_gpu_of(job, rank), way);
    fabric_trace_end(fabric, &route);
    route.cap_bytes_per_s =
        checkpoint_cap_bytes_per_s(&job->is.scenario->software, fabric, way, route.cap_bytes_per_s);
    add_path(builder, rank, &route);
}

/* Of one rank, added last, with so many paths. */
static void add_own_channel(struct system_builder *builder, uint32_t rank, uint32_t paths)
{
    add_channel(builder, CHANNEL_COLLECTIVE,
                (struct channel_sizes){1, 1, paths, orbit_of(builder, rank, TURN_ALL)}, 0);
}

/* The same; who waits for its transfers does so for that. */
static void add_late_channel(struct system_builder *builder, uint32_t rank, uint32_t paths,
                             enum cause cause)
{
    add_own_channel(builder, rank, paths);
    builder->channels[builder->channel_count - 1].makes_late = streams_late(cause);
}

static bool writes_any(const struct step_options *options)
{
    return options->checkpoint_bytes > 0 || options->flush_bytes > 0 || options->drain_bytes > 0;
}

/* Checkpoints on path 0, an earlier one's flush on path 1, what goes on from there on path 2; reads
 * on a stream of their own. */
static void add_storage(struct system_builder *builder, const struct system_job *job,
                        const struct step_options *options)
{
    const uint32_t ranks = mesh_size(&job->mesh);
    const bool writes = writes_any(options);
    for (uint32_t rank = 0; writes && rank < ranks; rank = next_first(builder, rank)) {
        add_member(builder, job, rank, STREAM_STORAGE, 1);
        const struct checkpoint_place *place = checkpoint_place_of(&job->is.scenario->checkpoint);
        add_storage_path(builder, job, rank,
                         options->is_checkpoint_async ? STORAGE_COPY : place->write);
        add_storage_path(builder, job, rank, place->flush);
        add_storage_path(builder, job, rank, place->drain);
        add_late_channel(builder, rank, 3, CAUSE_CHECKPOINT_STALL);
    }
    for (uint32_t rank = 0; rank < ranks; rank = next_first(builder, rank)) {
        if (uses_stream(builder, job, rank, STREAM_READ) && !options->takes_batches) {
            add_member(builder, job, rank, STREAM_READ, 1);
            add_storage_path(builder, job, rank, STORAGE_READ);
            add_late_channel(builder, rank, 1, CAUSE_DATA_STALL);
        }
    }
}

/* Between a GPU and its host's memory. What goes out shares the host link with checkpoints; the
 * way back is the link's other direction, which nothing else uses. The CPU's own work on what it
 * got is the second path of the way out (train/program/program_offload). */
static void add_host_links(struct system_builder *builder, const struct system_job *job)
{
    const struct fabric *fabric = &builder->system->fabric;
    const struct fabric_route by_itself = {
        .cap_bytes_per_s = fabric_link_capacity(fabric, fabric->first[LINK_HOST])};
    const struct fabric_route update = {
        .cap_bytes_per_s = (int64_t)job->is.scenario->software.host_update_bytes_per_s};
    const uint32_t ranks = mesh_size(&job->mesh);
    for (uint32_t rank = 0; rank < ranks; rank = next_first(builder, rank)) {
        if (uses_stream(builder, job, rank, STREAM_OFFLOAD)) {
            add_member(builder, job, rank, STREAM_OFFLOAD, 1);
            add_storage_path(builder, job, rank, STORAGE_OFFLOAD);
            add_path(builder, rank, &update);
            add_own_channel(builder, rank, 2);
        }
        if (uses_stream(builder, job, rank, STREAM_FETCH)) {
            add_member(builder, job, rank, STREAM_FETCH, 1);
            add_path(builder, rank, &by_itself);
            add_own_channel(builder, rank, 1);
        }
    }
}

/* ---- actors and programs --------------------------------------------------------------- */

static uint32_t speed_of(const struct slow_rank *slow, int64_t count, uint32_t rank)
{
    for (int64_t i = 0; i < count; i++) {
        if (slow[i].rank == rank) {
            const double speed = slow[i].speed * ENGINE_FULL_SPEED + 0.5;
            return speed < 1 ? 1 : (uint32_t)speed;
        }
    }
    return ENGINE_FULL_SPEED;
}

static void add_actors(struct system_builder *builder, const struct system_job *job,
                       uint32_t job_number)
{
    const struct mesh *mesh = &job->mesh;
    const uint32_t ranks = mesh_size(mesh);
    for (uint32_t rank = 0; rank < ranks; rank = next_first(builder, rank)) {
        struct engine_actor *actor = &builder->actors[system_actor_of(builder->system, job, rank)];
        actor->program = job->program_of_role != NULL
                             ? job->program_of_role[job->writers->of_rank[rank]]
                             : job->program_first + mesh_stage_of(mesh, rank);
        actor->job = job_number;
        actor->speed = speed_of(job->is.scenario->slow, job->is.scenario->slow_count, rank);
        actor->multiplicity = orbit_of(builder, rank, TURN_ALL);
        for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
            actor->channels[s] = ENGINE_NONE;
        }
    }
}

/* Only job 0 writes checkpoints. */
static const struct step_options *options_of(const struct system_builder *builder,
                                             uint32_t job_number)
{
    static const struct step_options none = {0};
    return job_number == 0 ? builder->options : &none;
}

static void build_programs(struct system_builder *builder, struct system_job *job,
                           uint32_t job_number)
{
    program_stages(builder->system, job, job_number, options_of(builder, job_number),
                   builder->options->memo, builder->programs + job->program_first);
    if (job->writers != NULL) {
        job->program_of_role =
            programs_by_roles(builder->arena, &builder->system->transfers, job->writers,
                              builder->programs + job->program_first, job->program_first);
    }
}

static bool reduces_scales(const struct scenario *scenario)
{
    return software_amax_group(&scenario->software, (enum precision)scenario->precision) ==
           AMAX_ALL;
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* NULL: the job writes nothing. Each stage has a role at least. */
static const struct checkpoint_roles *writers_of(const struct system_builder *builder,
                                                 const struct system_job *job, uint32_t job_number)
{
    const struct step_options *options = options_of(builder, job_number);
    if (!writes_any(options)) {
        return NULL;
    }
    const struct memory_job memory = memory_job_of(job->is.scenario);
    struct checkpoint_roles *roles = arena_alloc(builder->arena, sizeof *roles);
    *roles = checkpoint_roles_of(builder->arena, &memory);
    return roles;
}

static void lay_out_jobs(struct system_builder *builder, const struct step_job *jobs,
                         uint32_t job_count)
{
    struct step_system *system = builder->system;
    system->jobs = arena_array(builder->arena, job_count, sizeof *system->jobs);
    uint32_t largest = 2;
    for (uint32_t i = 0; i < job_count; i++) {
        struct system_job *job = &system->jobs[i];
        *job = (struct system_job){.is = jobs[i], .program_first = builder->program_count};
        job->mesh = mesh_of(&jobs[i].scenario->parallel);
        job->layout =
            group_layout_of(&job->mesh, &jobs[i].scenario->parallel, &jobs[i].scenario->model);
        job->layout.reduces_scales = reduces_scales(jobs[i].scenario);
        job->router = routing_job_of(jobs[i].scenario);
        job->routing = routing_of(&job->router);
        sim_assert(jobs[i].steps >= 1);
        job->writers = writers_of(builder, job, i);
        builder->program_count += job->writers != NULL ? job->writers->count : job->mesh.pp;
        largest = mesh_size(&job->mesh) > largest ? mesh_size(&job->mesh) : largest;
    }
    builder->ranks = arena_array(builder->arena, largest, sizeof *builder->ranks);
    builder->programs =
        arena_array(builder->arena, builder->program_count, sizeof *builder->programs);
}

/* A group that comes onto itself with a turn must look the same from each of its ranks, whatever
 * it runs; else the turn is none. */
static void drop_turns(struct system_builder *builder, const struct system_job *job)
{
    struct fabric_turns *turns = &builder->system->turns;
    uint32_t dropped = 0;
    for (uint32_t kind = 0; kind < GROUP_KIND_COUNT_; kind++) {
        const struct group_row *row = &group_rows[kind];
        const struct group_shape *shape = &job->groups[kind];
        for (uint32_t s = 0; s < row->stream_count && shape->turned != 0; s++) {
            const struct transfer_patterns *patterns = &job->patterns[row->streams[s]];
            for (uint32_t i = 0; i < patterns->count && !row->is_latency_only; i++) {
                const struct transfer_pattern *pattern = &patterns->items[i];
                dropped |= collective_turns(pattern->operation, pattern->algorithm, &shape->group)
                               ? 0
                               : shape->turned;
            }
        }
    }
    for (uint32_t level = 0; level < TURN_LEVELS; level++) {
        if ((dropped >> level & 1U) != 0) {
            turns->at[level] = (struct fabric_turn){1, 1, NULL};
        }
    }
}

/* Stages are alike: place i of one is the i-th first of each. */
static void list_firsts(struct system_builder *builder, const struct system_job *job)
{
    const struct mesh *mesh = &job->mesh;
    const uint32_t ranks = mesh_size(mesh);
    const uint32_t each = fabric_turns_number(&builder->system->turns, ranks) / mesh->pp;
    uint32_t *filled = arena_array(builder->arena, mesh->pp, sizeof *filled);
    builder->firsts = arena_array(builder->arena, (size_t)each * mesh->pp, sizeof *filled);
    builder->stage_first = arena_array(builder->arena, mesh->pp + 1u, sizeof *filled);
    for (uint32_t stage = 0; stage <= mesh->pp; stage++) {
        builder->stage_first[stage] = stage * each;
    }
    for (uint32_t rank = 0; rank < ranks; rank = next_first(builder, rank)) {
        const uint32_t stage = mesh_stage_of(mesh, rank);
        sim_assert(filled[stage] < each);
        builder->firsts[builder->stage_first[stage] + filled[stage]++] = rank;
    }
}

/* Of all jobs, once it is known what turns. */
static void make_actors(struct system_builder *builder, uint32_t job_count)
{
    struct step_system *system = builder->system;
    for (uint32_t i = 0; i < job_count; i++) {
        system->jobs[i].actor_first = builder->actor_count;
        builder->actor_count +=
            fabric_turns_number(&system->turns, mesh_size(&system->jobs[i].mesh));
    }
    builder->actors = arena_array(builder->arena, builder->actor_count, sizeof *builder->actors);
    for (uint32_t i = 0; i < job_count; i++) {
        add_actors(builder, &system->jobs[i], i);
    }
    builder->period = fabric_turns_further(&system->turns);
    if (has_turns(builder)) {
        builder->touched =
            arena_array(builder->arena, system->fabric.link_count, sizeof *builder->touched);
    }
}

/* Collectives within a scale-up domain run on more SMs than those that wait for NICs, whatever they
 * are for. (Exchanges with experts have a figure of their own; others take nothing.) */
static void take_rates(const struct system_job *job, struct engine_system *engine)
{
    const uint32_t scale_up = engine->streams[STREAM_TENSOR].interference;
    const uint32_t network = engine->streams[STREAM_DATA_REDUCE].interference;
    static const enum group_kind kinds[] = {
        GROUP_TENSOR,      GROUP_CONTEXT,        GROUP_EXPERT_TENSOR, GROUP_DATA,  GROUP_REPLICA,
        GROUP_EXPERT_DATA, GROUP_EXPERT_REPLICA, GROUP_LOCAL,         GROUP_ACROSS};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct group_row *row = &group_rows[kinds[i]];
        for (uint32_t s = 0; s < row->stream_count; s++) {
            engine->streams[row->streams[s]].interference =
                job->groups[kinds[i]].nodes > 1 ? network : scale_up;
        }
    }
}

/* The links of the engine: all of the fabric. */
static void take_links(struct system_builder *builder)
{
    struct step_system *system = builder->system;
    const uint32_t count = system->fabric.link_count;
    int64_t *capacities = arena_array(builder->arena, count, sizeof *capacities);
    uint32_t *links = arena_array(builder->arena, count, sizeof *links);
    for (uint32_t i = 0; i < count; i++) {
        capacities[i] = fabric_link_capacity(&system->fabric, i);
        links[i] = i;
    }
    system->links = links;
    system->engine.link_capacities = capacities;
    system->engine.link_count = count;
}

static int compare_numbers(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* The first links of orbits that are crossed, in rising order. */
static uint32_t *list_touched(struct system_builder *builder, uint32_t *count)
{
    uint32_t *links = arena_array(builder->arena, builder->crossing_count, sizeof *links);
    *count = 0;
    for (size_t i = 0; i < builder->crossing_count; i++) {
        const uint32_t link = builder->crossings[i].link;
        if (builder->touched[link] == 1) {
            builder->touched[link] = 2; /* is listed */
            links[(*count)++] = link;
        }
    }
    qsort(links, *count, sizeof *links, compare_numbers);
    return links;
}

static void take_orbits(struct system_builder *builder)
{
    struct step_system *system = builder->system;
    struct fold_orbits *orbits = arena_alloc(builder->arena, sizeof *orbits);
    uint32_t count;
    const uint32_t *links = list_touched(builder, &count);
    int64_t *capacities = arena_array(builder->arena, count, sizeof *capacities);
    int64_t *sizes = arena_array(builder->arena, count, sizeof *sizes);
    uint32_t *numbers = builder->touched;
    for (uint32_t i = 0; i < count; i++) {
        capacities[i] = fabric_link_capacity(&system->fabric, links[i]);
        sizes[i] = fabric_turns_links(&system->turns, links[i], TURN_ALL);
        numbers[links[i]] = i;
    }
    for (size_t i = 0; i < builder->crossing_count; i++) {
        builder->crossings[i].link = numbers[builder->crossings[i].link];
    }
    *orbits = (struct fold_orbits){builder->orbits, sizes, system->fabric.link_count};
    system->orbits = orbits;
    system->links = links;
    system->engine.link_capacities = capacities;
    system->engine.link_count = count;
}

static void hand_over(struct system_builder *builder, uint32_t job_count)
{
    struct step_system *system = builder->system;
    struct engine_system *engine = &system->engine;
    if (has_turns(builder)) {
        take_orbits(builder);
    } else {
        take_links(builder);
    }
    engine->actors = builder->actors;
    engine->channels = builder->channels;
    engine->paths = builder->paths;
    engine->members = builder->members;
    engine->crossings = builder->crossings;
    engine->actor_count = builder->actor_count;
    engine->channel_count = (uint32_t)builder->channel_count;
    engine->path_count = (uint32_t)builder->path_count;
    engine->member_count = (uint32_t)builder->member_count;
    engine->crossing_count = (uint32_t)builder->crossing_count;
    engine->job_count = job_count;
    const struct scenario *first = system->jobs[0].is.scenario;
    streams_describe(&first->software, first->gpu.sms, system->jobs[0].mesh.pp, engine);
    engine->late_count = builder->options->is_for_length ? 0 : engine->late_count;
    take_rates(&system->jobs[0], engine);
}

/* Actors, channels and links. */
static void connect(struct system_builder *builder, uint32_t job_count)
{
    struct step_system *system = builder->system;
    struct arena *arena = builder->arena;
    builder->arena = system->frame != NULL ? system->frame->arena : arena;
    make_actors(builder, job_count);
    builder->scratch = arena_new();
    route_in(builder, builder->scratch);
    for (uint32_t i = 0; i < job_count; i++) {
        struct system_job *job = &system->jobs[i];
        list_firsts(builder, job);
        add_groups(builder, job);
        add_boundaries(builder, job);
        add_storage(builder, job, options_of(builder, i));
        add_host_links(builder, job);
    }
    route_in(builder, arena);
    arena_free(builder->scratch);
    hand_over(builder, job_count);
    builder->arena = arena;
}

/* Fabric and groups. */
static struct step_system *lay_out(struct system_builder *builder, const struct step_job *jobs,
                                   uint32_t job_count, uint32_t gpus)
{
    struct step_system *system = arena_alloc(builder->arena, sizeof *system);
    const struct scenario *asked = jobs[0].scenario;
    builder->system = system;
    system->setting = (struct transfer_setting){.arena = builder->arena,
                                                .fabric = &system->fabric,
                                                .library = &asked->library,
                                                .architecture = asked->gpu.architecture,
                                                .software = &asked->software,
                                                .turns = &system->turns};
    lay_out_jobs(builder, jobs, job_count);
    system_lay_fabric(system, builder->options, job_count, gpus, builder->ranks);
    return system;
}

struct step_system *system_outline(struct arena *arena, const struct step_job *job, uint32_t gpus)
{
    const struct step_options options = {.folds = true};
    struct system_builder builder = {.arena = arena, .options = &options};
    return lay_out(&builder, job, 1, gpus);
}

struct step_system *system_build(struct arena *arena, const struct step_job *jobs,
                                 uint32_t job_count, uint32_t gpus,
                                 const struct step_options *options)
{
    struct system_builder builder = {.arena = arena, .options = options};
    struct step_system *system = lay_out(&builder, jobs, job_count, gpus);
    for (uint32_t i = 0; i < job_count; i++) {
        build_programs(&builder, &system->jobs[i], i);
        drop_turns(&builder, &system->jobs[i]);
    }
    system->engine.programs = builder.programs;
    system->engine.program_count = builder.program_count;
    system->engine.transfers = system->transfers.items;
    system->engine.transfer_count = (uint32_t)system->transfers.count;
    if (options->memo != NULL) {
        system->engine.known = step_memo_stretches(options->memo);
        engine_known_trim(system->engine.known);
    }
    if (!system_variant_take(arena, system, options->is_for_times)) {
        connect(&builder, job_count);
        system_variant_keep(system);
    }
    return system;
}
