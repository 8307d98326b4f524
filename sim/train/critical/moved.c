/* Two passes: over the tasks of each program, which gives how long those of a kind take together,
 * and over the parts of the path, each of which is multiplied by how that changed. */
#include "train/critical/moved.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/scenario.h"
#include "train/critical/critical_parts.h"
#include "train/jitter.h"
#include "train/placement.h"
#include "train/streams.h"
#include "train/system.h"

#include <math.h>
#include <string.h>

/* ---- how long tasks take alone -------------------------------------------------------------- */

struct adding {
    const struct step_system *system;
    const struct engine_actor *actor; /* that speaks for its program */
    struct moved_durations *to;
    uint32_t *moves; /* of the program: how often each stream moves each transfer */
    int64_t work_ns[CAUSE_COUNT_], launch_ns;
};

static void add(struct adding *adding, enum critical_kind kind, enum cause cause, const char *link,
                double ns)
{
    critical_add(adding->to->parts, &adding->to->count,
                 &(struct critical_part){kind, cause, link, llround(ns)});
}

static const struct engine_path *path_of(const struct adding *adding, uint32_t stream,
                                         const struct engine_transfer *phase)
{
    const struct engine_system *engine = &adding->system->engine;
    const uint32_t channel = adding->actor->channels[stream];
    sim_assert(channel != ENGINE_NONE);
    return &engine->paths[engine->channels[channel].path_first + phase->path];
}

static double flowing_ns(const struct engine_path *path, const struct engine_transfer *phase)
{
    const double share = phase->share == 0 ? 1 : (double)phase->share / ENGINE_FULL_SPEED;
    return (double)phase->bytes / ((double)path->cap_bytes_per_s * share) * 1e9;
}

/* What kernels beside a transfer of so long take longer: where it ends first, by what it takes of
 * their rate; where they do, as on an actor that is slower by that (des/record/engine_critical). */
static void add_disturbance(struct adding *adding, uint32_t stream, double ns)
{
    const struct engine_stream *of = &adding->system->engine.streams[stream];
    const enum cause cause = (enum cause)of->exposed_cause;
    const uint32_t most = ENGINE_INTERFERENCE_MOST;
    const uint32_t takes = of->interference < most ? of->interference : most;
    const double share = (double)takes / ENGINE_FULL_SPEED;
    add(adding, CRITICAL_INTERFERENCE, cause, "", ns * share);
    add(adding, CRITICAL_COVERED, cause, "", ns * share / (1 - share));
}

/* So many tasks that move it. */
static void add_transfer(struct adding *adding, uint32_t stream, uint32_t number, double times)
{
    const struct engine_system *engine = &adding->system->engine;
    const enum cause cause = (enum cause)engine->streams[stream].exposed_cause;
    const struct engine_channel *channel = &engine->channels[adding->actor->channels[stream]];
    const struct engine_transfer *phase = &engine->transfers[number];
    double latency_ns = (double)channel->latency_ns;
    double bytes_ns = 0;
    const char *link = critical_is_message(stream)
                           ? critical_thinnest_of(adding->system, path_of(adding, stream, phase))
                           : NULL;
    struct critical_share shares[COLLECTIVE_PHASES_MAX] = {{CRITICAL_BYTES, link, 1}};
    const uint32_t count = link != NULL ? 1 : critical_shares(adding->system, number, shares);
    for (uint32_t next = number + 1; next != 0; next = phase->next) {
        phase = &engine->transfers[next - 1];
        latency_ns += (double)phase->latency_ns;
        bytes_ns += flowing_ns(path_of(adding, stream, phase), phase);
    }
    add(adding, CRITICAL_LATENCY, cause, "", times * latency_ns);
    for (uint32_t i = 0; i < count; i++) {
        add(adding, shares[i].kind, cause, shares[i].link, times * bytes_ns * shares[i].share);
    }
    add_disturbance(adding, stream, times * (latency_ns + bytes_ns));
}

static void count_block(struct adding *adding, const struct engine_block *block, uint32_t times)
{
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        uint32_t *moves = adding->moves + (size_t)s * adding->system->engine.transfer_count;
        for (uint32_t i = 0; i < block->counts[s]; i++) {
            const struct task *task = &block->tasks[s][i];
            if (task->kind == TASK_COMPUTE) {
                adding->work_ns[task->cause] += times * (task->work_ns - (int64_t)task->launch_ns);
                adding->launch_ns += times * (int64_t)task->launch_ns;
            } else if (task->kind != TASK_RECEIVE) { /* counted where it is sent */
                moves[task->transfer] += times;
            }
        }
    }
}

/* A block comes once for each microbatch: it is counted once, with how often it comes. A plain scan
 * over those that came: there are some dozens. */
static void count_tasks(struct arena *scratch, struct adding *adding,
                        const struct engine_program *program)
{
    const struct engine_block **blocks =
        arena_array(scratch, program->block_count + 1u, sizeof *blocks);
    uint32_t *times = arena_array(scratch, program->block_count + 1u, sizeof *times);
    uint32_t count = 0;
    for (uint32_t b = 0; b < program->block_count; b++) {
        uint32_t at = count;
        while (at > 0 && blocks[at - 1] != program->blocks[b]) { /* the last ones come again */
            at--;
        }
        if (at == 0) {
            at = ++count;
            blocks[at - 1] = program->blocks[b];
            times[at - 1] = 0;
        }
        times[at - 1]++;
    }
    for (uint32_t i = 0; i < count; i++) {
        count_block(adding, blocks[i], times[i]);
    }
}

/* What tasks that move the same take is worked out once for all of them. */
static void add_program(struct arena *scratch, struct adding *adding)
{
    const struct engine_system *engine = &adding->system->engine;
    const size_t transfers = engine->transfer_count;
    adding->moves = arena_array(scratch, STREAM_COUNT_ * transfers + 1, sizeof *adding->moves);
    count_tasks(scratch, adding, &engine->programs[adding->actor->program]);
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        add(adding, c == CAUSE_LAUNCH ? CRITICAL_LAUNCH : CRITICAL_KERNELS, (enum cause)c, "",
            (double)adding->work_ns[c]);
    }
    add(adding, CRITICAL_LAUNCH, CAUSE_LAUNCH, "", (double)adding->launch_ns);
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        for (uint32_t i = 0; i < transfers; i++) {
            const uint32_t moves = adding->moves[s * transfers + i];
            if (moves > 0) {
                add_transfer(adding, s, i, moves);
            }
        }
    }
}

void moved_durations_find(struct arena *arena, struct arena *scratch,
                          const struct scenario *scenario, struct step_memo *memo,
                          struct moved_durations *durations)
{
    struct placement placement;
    placement_choose(scratch, scenario, &placement);
    const struct step_job job = {scenario, placement.gpu_of_rank[0], 1};
    const struct step_options options = {.folds = true, .is_for_times = true, .memo = memo};
    const struct step_system *system = system_build(scratch, &job, 1, placement.gpus, &options);
    *durations = (struct moved_durations){
        .jitter_spread = jitter_spread_of(&scenario->gpu, &scenario->software)};
    durations->parts = arena_array(arena, CRITICAL_PARTS_MAX, sizeof *durations->parts);
    bool *is_seen = arena_array(scratch, system->engine.program_count + 1u, sizeof *is_seen);
    for (uint32_t i = 0; i < system->engine.actor_count; i++) {
        const struct engine_actor *actor = &system->engine.actors[i];
        if (!is_seen[actor->program]) {
            is_seen[actor->program] = true;
            struct adding adding = {.system = system, .actor = actor, .to = durations};
            add_program(scratch, &adding);
        }
    }
    arena_reset(scratch);
}

/* ---- what that makes of a path -------------------------------------------------------------- */

/* NULL: of all links. */
static double sum_of(const struct moved_durations *of, enum critical_kind kind, enum cause cause,
                     const char *link)
{
    double sum = 0;
    for (uint32_t i = 0; i < of->count; i++) {
        const struct critical_part *part = &of->parts[i];
        const bool is_it = part->kind == kind && (cause == CAUSE_COUNT_ || part->cause == cause) &&
                           (link == NULL || strcmp(part->link, link) == 0);
        sum += is_it ? (double)part->ns : 0;
    }
    return sum;
}

struct pair {
    const struct moved_durations *base, *moved;
};

/* How many times as long the tasks of a kind take. Of a link that binds only one of both: all
 * links of the cause. */
static double times(const struct pair *pair, enum critical_kind kind, enum cause cause,
                    const char *link)
{
    double before = sum_of(pair->base, kind, cause, link);
    double after = sum_of(pair->moved, kind, cause, link);
    if (!(before > 0 && after > 0)) {
        before = sum_of(pair->base, kind, cause, NULL);
        after = sum_of(pair->moved, kind, cause, NULL);
    }
    return before > 0 && after > 0 ? after / before : 1;
}

/* How much slower kernels are all along the transfers for a cause: what these cost them for each
 * nanosecond that they take. */
static double covered_share(const struct moved_durations *of, enum cause cause)
{
    const double taken_ns = sum_of(of, CRITICAL_LATENCY, cause, NULL) +
                            sum_of(of, CRITICAL_BYTES, cause, NULL) +
                            sum_of(of, CRITICAL_HOST, cause, NULL);
    return taken_ns > 0 ? sum_of(of, CRITICAL_COVERED, cause, NULL) / taken_ns : 0;
}

static double times_covered(const struct pair *pair, enum cause cause)
{
    const double before = covered_share(pair->base, cause);
    const double after = covered_share(pair->moved, cause);
    return before > 0 ? after / before : 1;
}

static double times_of(const struct pair *pair, const struct critical_part *part)
{
    const double kernels = times(pair, CRITICAL_KERNELS, CAUSE_COUNT_, NULL);
    switch (part->kind) {
    case CRITICAL_KERNELS:
    case CRITICAL_LAUNCH:
    case CRITICAL_LATENCY:
    case CRITICAL_HOST:
        return times(pair, part->kind, part->cause, NULL);
    case CRITICAL_BYTES:
        return times(pair, part->kind, part->cause, part->link);
    case CRITICAL_INTERFERENCE:
        return times(pair, CRITICAL_INTERFERENCE, part->cause, NULL);
    case CRITICAL_COVERED:
        return kernels * times_covered(pair, part->cause);
    case CRITICAL_CONTENTION:
    case CRITICAL_HELD_UP:
        return times(pair, CRITICAL_BYTES, part->cause, NULL);
    case CRITICAL_SLOW_GPU:
        return kernels;
    case CRITICAL_WAIT:
        return part->cause == CAUSE_STRAGGLER_WAIT && pair->base->jitter_spread > 0
                   ? kernels * pair->moved->jitter_spread / pair->base->jitter_spread
                   : 1;
    case CRITICAL_KIND_COUNT_:
        break;
    }
    sim_assert(false);
    return 1;
}

double moved_share(const struct critical *path, const struct moved_durations *base,
                   const struct moved_durations *moved)
{
    const struct pair pair = {base, moved};
    double longer_ns = 0;
    for (uint32_t i = 0; i < path->count; i++) {
        const struct critical_part *part = &path->parts[i];
        longer_ns += (double)part->ns * (times_of(&pair, part) - 1);
    }
    return longer_ns / (double)path->length_ns;
}
