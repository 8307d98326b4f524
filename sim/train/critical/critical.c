/* The sums of des/record, by transfer and stream, are put into a table of parts by what
 * the transfers are for and which kind of link binds them; then the table is sorted. */
#include "train/critical/critical.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/record/engine_critical.h"
#include "plan/mesh.h"
#include "train/critical/critical_parts.h"
#include "train/streams.h"
#include "train/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ------------------------------------------------------------------------------ */

void critical_add(struct critical_part *parts, uint32_t *count, const struct critical_part *more)
{
    if (more->ns == 0) {
        return;
    }
    uint32_t i = 0;
    while (i < *count && (parts[i].kind != more->kind || parts[i].cause != more->cause ||
                          strcmp(parts[i].link, more->link) != 0)) {
        i++;
    }
    if (i < *count) {
        parts[i].ns += more->ns;
        return;
    }
    sim_assert(i < CRITICAL_PARTS_MAX);
    parts[(*count)++] = *more;
}

static void add_part(struct critical *critical, enum critical_kind kind, enum cause cause,
                     const char *link, int64_t ns)
{
    critical_add(critical->parts, &critical->count, &(struct critical_part){kind, cause, link, ns});
}

static int by_size(const void *left, const void *right)
{
    const struct critical_part *a = left;
    const struct critical_part *b = right;
    if (a->ns != b->ns) {
        return a->ns > b->ns ? -1 : 1;
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    if (a->cause != b->cause) {
        return a->cause < b->cause ? -1 : 1;
    }
    return strcmp(a->link, b->link);
}

void critical_sort(struct critical_part *parts, uint32_t count)
{
    qsort(parts, count, sizeof *parts, by_size);
}

static void settle(struct critical *critical)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < critical->count; i++) {
        sim_assert(critical->parts[i].ns > 0);
        sum += critical->parts[i].ns;
    }
    sim_assert(sum == critical->length_ns);
    critical_sort(critical->parts, critical->count);
}

/* ---- parts of the run ----------------------------------------------------------------------- */

/* To the nanosecond: the first of its shares takes what rounding leaves. */
static void add_bytes(const struct step_system *system, uint32_t transfer, int64_t ns,
                      struct critical *critical)
{
    const enum stream stream = system->transfers.origins[transfer].stream;
    const enum cause cause = (enum cause)system->engine.streams[stream].exposed_cause;
    struct critical_share shares[COLLECTIVE_PHASES_MAX];
    const uint32_t count = critical_shares(system, transfer, shares);
    int64_t left_ns = ns;
    for (uint32_t i = count; i > 0; i--) {
        const int64_t part_ns = i > 1 ? (int64_t)(shares[i - 1].share * (double)ns) : left_ns;
        add_part(critical, shares[i - 1].kind, cause, shares[i - 1].link, part_ns);
        left_ns -= part_ns;
    }
}

static void add_transfers(const struct step_system *system, const struct engine_critical *path,
                          struct critical *critical)
{
    const struct engine_system *engine = &system->engine;
    for (uint32_t i = 0; i < engine->transfer_count; i++) {
        const enum stream stream = system->transfers.origins[i].stream;
        const enum cause cause = (enum cause)engine->streams[stream].exposed_cause;
        add_part(critical, CRITICAL_LATENCY, cause, "", path->latency[i]);
        add_part(critical, CRITICAL_CONTENTION, cause, "", path->contention[i]);
        if (path->bytes[i] > 0 && !critical_is_message((uint32_t)stream)) {
            add_bytes(system, i, path->bytes[i], critical);
        }
    }
}

static void add_messages(const struct step_system *system, const struct folded_system *folded,
                         const struct engine_critical *path, struct critical *critical)
{
    const struct engine_system *engine = &system->engine;
    for (uint32_t i = 0; i < folded->engine.actor_count; i++) {
        for (uint32_t s = 1; s < STREAM_COUNT_; s++) {
            if (path->moved[i][s] > 0 && critical_is_message(s)) {
                add_part(critical, CRITICAL_BYTES, (enum cause)engine->streams[s].exposed_cause,
                         critical_thinnest(system, folded, i, s), path->moved[i][s]);
            }
        }
    }
}

static void add_computing(const struct step_system *system, const struct engine_critical *path,
                          struct critical *critical)
{
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        const enum critical_kind kind = c == CAUSE_LAUNCH ? CRITICAL_LAUNCH : CRITICAL_KERNELS;
        add_part(critical, kind, (enum cause)c, "", path->work[c]);
    }
    add_part(critical, CRITICAL_LAUNCH, CAUSE_LAUNCH, "", path->launch);
    add_part(critical, CRITICAL_SLOW_GPU, CAUSE_STRAGGLER_WAIT, "", path->slow);
    for (uint32_t s = 1; s < STREAM_COUNT_; s++) {
        const enum cause cause = (enum cause)system->engine.streams[s].exposed_cause;
        add_part(critical, CRITICAL_INTERFERENCE, cause, "", path->interference[s]);
        add_part(critical, CRITICAL_COVERED, cause, "", path->covered[s]);
        add_part(critical, CRITICAL_HELD_UP, cause, "", path->held_up[s]);
    }
    add_part(critical, CRITICAL_KERNELS, CAUSE_COMPUTE, "", path->rounding);
}

/* ---- a slow GPU ----------------------------------------------------------------------------- */

static uint32_t full_speed(const struct engine_system *run)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < run->actor_count; i++) {
        const struct engine_actor *actor = &run->actors[i];
        most = actor->job == 0 && actor->speed > most ? actor->speed : most;
    }
    return most;
}

static int64_t first_rank(const struct step_system *system, const struct folded_system *folded,
                          uint32_t actor)
{
    const struct system_job *job = &system->jobs[0];
    uint32_t rank = 0;
    while (folded->actor_class[system_actor_of(system, job, rank)] != actor) {
        rank++;
        sim_assert(rank < mesh_size(&job->mesh));
    }
    return rank;
}

static void find_slow(const struct step_system *system, const struct folded_system *folded,
                      const struct engine_critical *path, struct critical *critical)
{
    const struct engine_system *run = &folded->engine;
    const uint32_t full = full_speed(run);
    uint32_t most = ENGINE_NONE;
    for (uint32_t i = 0; i < run->actor_count; i++) {
        if (run->actors[i].job != 0 || run->actors[i].speed == full || path->on_actor[i] == 0) {
            continue;
        }
        critical->slow_gpu_ns += path->on_actor[i];
        most = most == ENGINE_NONE || path->on_actor[i] > path->on_actor[most] ? i : most;
    }
    critical->slow_rank = -1;
    if (most != ENGINE_NONE) {
        critical->slow_rank = first_rank(system, folded, most);
        critical->slow_speed = (double)run->actors[most].speed / full;
    }
}

/* ---- the whole ------------------------------------------------------------------------------ */

void critical_find(struct arena *arena, const struct step_system *system,
                   const struct folded_system *folded, struct engine_record *record,
                   struct critical *critical)
{
    struct arena *scratch = arena_new();
    struct engine_critical path;
    engine_critical_sum(scratch, record, &path);

    *critical = (struct critical){.length_ns = path.length, .legs = path.legs};
    critical->parts = arena_array(arena, CRITICAL_PARTS_MAX, sizeof *critical->parts);
    add_computing(system, &path, critical);
    add_transfers(system, &path, critical);
    add_messages(system, folded, &path, critical);
    find_slow(system, folded, &path, critical);
    settle(critical);
    arena_free(scratch);
}

/* ---- after the run -------------------------------------------------------------------------- */

static struct critical *copy_of(struct arena *arena, const struct critical *critical)
{
    struct critical *copy = arena_alloc(arena, sizeof *copy);
    *copy = *critical;
    copy->parts = arena_array(arena, critical->count + 1u, sizeof *copy->parts);
    memcpy(copy->parts, critical->parts, critical->count * sizeof *copy->parts);
    return copy;
}

const struct critical *critical_with(struct arena *arena, const struct critical *critical,
                                     enum cause cause, int64_t ns)
{
    struct critical *with = copy_of(arena, critical);
    with->length_ns += ns;
    add_part(with, CRITICAL_WAIT, cause, "", ns);
    settle(with);
    return with;
}

const struct critical *critical_up_to(struct arena *arena, const struct critical *critical,
                                      int64_t step_ns)
{
    return step_ns > critical->length_ns
               ? critical_with(arena, critical, CAUSE_DATA_STALL, step_ns - critical->length_ns)
               : critical;
}

const struct critical *critical_of_reading(struct arena *arena, int64_t step_ns, double share,
                                           const char *link)
{
    struct critical *reading = arena_alloc(arena, sizeof *reading);
    *reading = (struct critical){.length_ns = step_ns, .slow_rank = -1};
    reading->parts = arena_array(arena, 2, sizeof *reading->parts);
    const int64_t bytes_ns = (int64_t)(share * (double)step_ns);
    add_part(reading, CRITICAL_BYTES, CAUSE_DATA_STALL, link, bytes_ns);
    add_part(reading, CRITICAL_WAIT, CAUSE_DATA_STALL, "", step_ns - bytes_ns);
    settle(reading);
    return reading;
}

const struct critical *critical_scaled(struct arena *arena, const struct critical *critical,
                                       int64_t length_ns)
{
    struct critical *scaled = copy_of(arena, critical);
    const double by = (double)length_ns / (double)critical->length_ns;
    int64_t left_ns = length_ns;
    scaled->length_ns = length_ns;
    scaled->count = 0;
    for (uint32_t i = 0; i < critical->count; i++) {
        struct critical_part part = critical->parts[i];
        part.ns = (int64_t)((double)part.ns * by);
        left_ns -= part.ns;
        if (part.ns > 0) {
            scaled->parts[scaled->count++] = part;
        }
    }
    scaled->parts[0].ns += left_ns; /* what rounding left over: the largest */
    scaled->slow_gpu_ns = (int64_t)((double)critical->slow_gpu_ns * by);
    settle(scaled);
    return scaled;
}

/* ---- words ---------------------------------------------------------------------------------- */

#define CAUSE_RESOURCE(id, name, title, shorter, resource, ...) (resource),

const char *critical_cause_title(enum cause cause)
{
    static const char *const titles[CAUSE_COUNT_] = {STEP_CAUSES(CAUSE_RESOURCE)};
    return titles[cause];
}

const char *critical_title(struct arena *arena, const struct critical_part *part)
{
    switch (part->kind) {
    case CRITICAL_KERNELS:
    case CRITICAL_LAUNCH:
        return critical_cause_title(part->cause);
    case CRITICAL_SLOW_GPU:
        return "what slow GPUs take longer";
    case CRITICAL_INTERFERENCE:
        return arena_printf(arena, "kernels slowed by %s", critical_cause_title(part->cause));
    case CRITICAL_COVERED:
        return arena_printf(arena, "kernels slower all along %s",
                            critical_cause_title(part->cause));
    case CRITICAL_LATENCY:
        return arena_printf(arena, "%s, latency", critical_cause_title(part->cause));
    case CRITICAL_BYTES:
        return part->link[0] != '\0'
                   ? arena_printf(arena, "%s, bytes over %s", critical_cause_title(part->cause),
                                  part->link)
                   : arena_printf(arena, "%s, bytes", critical_cause_title(part->cause));
    case CRITICAL_HOST:
        return arena_printf(arena, "%s, optimizer on the host", critical_cause_title(part->cause));
    case CRITICAL_CONTENTION:
        return arena_printf(arena, "%s, on links shared", critical_cause_title(part->cause));
    case CRITICAL_HELD_UP:
        return arena_printf(arena, "transfers held up by %s", critical_cause_title(part->cause));
    case CRITICAL_WAIT:
        return part->cause == CAUSE_STRAGGLER_WAIT ? "waiting for the slowest GPU"
                                                   : cause_titles[part->cause];
    case CRITICAL_KIND_COUNT_:
        break;
    }
    sim_assert(false);
    return "";
}

int64_t critical_of_cause(const struct critical *critical, enum cause cause)
{
    int64_t ns = 0;
    for (uint32_t i = 0; critical != NULL && i < critical->count; i++) {
        ns += critical->parts[i].cause == cause ? critical->parts[i].ns : 0;
    }
    return ns;
}

/* Its largest cause but one; CAUSE_COUNT_ for none. */
static enum cause largest_cause(const struct critical *critical, enum cause but)
{
    enum cause most = CAUSE_COUNT_;
    int64_t most_ns = 0;
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        const int64_t ns = critical_of_cause(critical, (enum cause)c);
        if (c != (uint32_t)but && ns > most_ns) {
            most = (enum cause)c;
            most_ns = ns;
        }
    }
    return most;
}

static const struct critical_part *largest_of(const struct critical *critical, enum cause cause)
{
    uint32_t i = 0;
    while (critical->parts[i].cause != cause) { /* the largest come first */
        i++;
        sim_assert(i < critical->count);
    }
    return &critical->parts[i];
}

/* Without the cause, where the title begins with it: "TP communication, latency". */
static const char *title_within(struct arena *arena, const struct critical_part *part)
{
    const char *title = critical_title(arena, part);
    const char *cause = critical_cause_title(part->cause);
    const size_t length = strlen(cause);
    return strncmp(title, cause, length) == 0 && title[length] == ',' ? title + length + 2 : title;
}

/* "PP communication (67 %, of it bytes over NIC out 30 %)" */
static const char *say_cause(struct arena *arena, const struct critical *critical, enum cause cause)
{
    const double whole = (double)critical->length_ns;
    const struct critical_part *part = largest_of(critical, cause);
    const double share = 100 * (double)critical_of_cause(critical, cause) / whole;
    const double of_part = 100 * (double)part->ns / whole;
    return lround(share) == lround(of_part)
               ? arena_printf(arena, "%s (%.0f %%)", critical_title(arena, part), share)
               : arena_printf(arena, "%s (%.0f %%, of it %s %.0f %%)", critical_cause_title(cause),
                              share, title_within(arena, part), of_part);
}

/* Of a step that hangs on a slow GPU this is what bounds it, whatever that GPU does. */
static const double BINDING_SLOW = 0.5;
static const double SECOND_FROM = 0.03;

const char *critical_bound_by(struct arena *arena, const struct critical *critical)
{
    const double whole = (double)critical->length_ns;
    const enum cause first = largest_cause(critical, CAUSE_COUNT_);
    const enum cause second = largest_cause(critical, first);
    const char *said = say_cause(arena, critical, first);
    if ((double)critical->slow_gpu_ns >= BINDING_SLOW * whole) {
        return arena_printf(arena, "a slow GPU, rank %lld at %.3g %% (%.0f %%), there %s",
                            (long long)critical->slow_rank, 100 * critical->slow_speed,
                            100 * (double)critical->slow_gpu_ns / whole, said);
    }
    if (second == CAUSE_COUNT_ ||
        (double)critical_of_cause(critical, second) < SECOND_FROM * whole) {
        return said;
    }
    return arena_printf(arena, "%s, then %s", said, say_cause(arena, critical, second));
}
