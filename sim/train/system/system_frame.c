/* A table of a few frames, each with an arena and a key; one that is not found again, or was not
 * asked for the longest, gives way to a new one.
 */
#include "train/system/system_frame.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/job/token_routing.h"
#include "input/scenario.h"
#include "train/program/program_calls.h"

#include <string.h>

enum { FRAMES = 8, FRAME_BYTES_MAX = 4 << 20, FRAME_QUOTES_MAX = 512 };

/* Cleared, then filled member by member: no padding but that of what was read from files. */
struct frame_key {
    uint64_t parts, seed;
    int64_t ep, domain_gpus, redundant_experts;
    double spread, max_violation, capacity_factor;
    struct routing_load routing;
    uint64_t library;
    struct cluster cluster;
    struct collective_choice forced[COLLECTIVE_USER_COUNT_];
    uint32_t tokens, exchange;
    uint32_t mesh[8];
    uint32_t first_stage, last_stage, local_ranks, gpus;
    uint8_t order[AXIS_COUNT_];
    uint8_t has_experts, pads_experts, sums_embeddings, reduces_scales;
};

struct slot {
    struct system_frame frame;
    struct frame_key key;
    uint64_t asked; /* when it was last; 0: never */
};

struct system_frames {
    struct arena *arena;
    struct slot *slots; /* [FRAMES] */
    uint64_t asked;
    struct library last_library; /* and its number; 0: there was none */
    uint64_t library_number;
    struct memo_count counts, variants;
};

struct system_frames *system_frames_new(void)
{
    struct arena *arena = arena_new();
    struct system_frames *frames = arena_alloc(arena, sizeof *frames);
    frames->arena = arena;
    frames->slots = arena_array(arena, FRAMES, sizeof *frames->slots);
    return frames;
}

void system_frames_free(struct system_frames *frames)
{
    if (frames != NULL) {
        for (uint32_t i = 0; i < FRAMES; i++) {
            arena_free(frames->slots[i].frame.arena);
        }
        arena_free(frames->arena);
    }
}

/* ---- the key ------------------------------------------------------------------------------ */

/* A number of its figures, which are many and mostly those of the step before: equal numbers, equal
 * figures. Numbers are never used again. */
static uint64_t number_of_library(struct system_frames *frames, const struct library *library)
{
    const size_t first = offsetof(struct library, shapes);
    const size_t size_bytes = offsetof(struct library, place) - first;
    const char *figures = (const char *)library + first;
    char *last = (char *)&frames->last_library + first;
    if (frames->library_number == 0 || memcmp(last, figures, size_bytes) != 0) {
        memcpy(last, figures, size_bytes);
        frames->library_number++;
    }
    return frames->library_number;
}

static void put_mesh(const struct mesh *mesh, struct frame_key *key)
{
    const uint32_t sizes[] = {mesh->tp, mesh->cp,  mesh->dp,     mesh->pp,
                              mesh->ep, mesh->etp, mesh->shards, mesh->holders};
    memcpy(key->mesh, sizes, sizeof sizes);
    memcpy(key->order, mesh->order, sizeof key->order);
}

static void put_routing(const struct system_job *job, struct frame_key *key)
{
    const struct routing *routing = job->router.routing;
    key->tokens = routing->kind;
    key->spread = routing->spread;
    key->max_violation = routing->max_violation;
    key->capacity_factor = routing->capacity_factor;
    key->pads_experts = routing->pads;
    key->redundant_experts = routing->redundant_experts;
    key->ep = job->router.ep;
    key->domain_gpus = job->router.domain_gpus;
    key->exchange = job->router.exchange;
    memcpy(&key->routing, &job->routing, sizeof key->routing);
}

static void fill_key(struct system_frames *frames, const struct system_job *job, uint32_t gpus,
                     uint64_t parts, struct frame_key *key)
{
    const struct scenario *scenario = job->is.scenario;
    memset(key, 0, sizeof *key);
    key->parts = parts;
    key->seed = (uint64_t)scenario->seed;
    key->gpus = gpus;
    cluster_figures(&scenario->cluster, &key->cluster);
    key->library = number_of_library(frames, &scenario->library);
    put_mesh(&job->mesh, key);
    put_routing(job, key);
    memcpy(key->forced, scenario->collectives, sizeof key->forced);
    key->first_stage = job->layout.first_stage;
    key->last_stage = job->layout.last_stage;
    key->local_ranks = job->layout.local_ranks;
    key->has_experts = job->layout.has_experts;
    key->sums_embeddings = job->layout.sums_embeddings;
    key->reduces_scales = job->layout.reduces_scales;
}

/* ---- frames ------------------------------------------------------------------------------- */

/* Keys are cleared before they are filled: their padding is alike. */
static bool are_same(const void *one, const void *other, size_t size_bytes)
{
    return memcmp(one, other, size_bytes) == 0;
}

/* Not to be found again: what is in it was of one step. */
static bool is_spent(const struct system_frame *frame)
{
    return frame->arena != NULL &&
           (!frame->is_filled || frame->is_given_up || frame->quotes.count > FRAME_QUOTES_MAX ||
            arena_used_bytes(frame->arena) > FRAME_BYTES_MAX);
}

void system_frames_trim(struct system_frames *frames)
{
    for (uint32_t i = 0; i < FRAMES; i++) {
        struct slot *slot = &frames->slots[i];
        if (is_spent(&slot->frame)) {
            arena_free(slot->frame.arena);
            slot->frame = (struct system_frame){.arena = NULL};
            slot->asked = 0;
        }
    }
}

static bool is_found(const struct slot *slot, const struct frame_key *key)
{
    return slot->asked > 0 && !is_spent(&slot->frame) && are_same(&slot->key, key, sizeof *key);
}

/* Rather one that is spent, and large; else the one that was not asked for the longest. */
static bool gives_way_before(const struct slot *one, const struct slot *other)
{
    const bool is_one_spent = is_spent(&one->frame);
    return is_one_spent == is_spent(&other->frame) ? one->asked < other->asked : is_one_spent;
}

/* Its arena is emptied, also where it has grown: the next is likely to grow as much. */
static void empty(struct system_frame *frame, struct memo_count *variants_asked)
{
    struct arena *arena = frame->arena;
    if (arena == NULL) {
        arena = arena_new();
    } else {
        arena_reset(arena);
    }
    *frame = (struct system_frame){
        .arena = arena, .quotes = {.arena = arena}, .variants_asked = variants_asked};
}

struct system_frame *system_frames_find(struct system_frames *frames, const struct system_job *job,
                                        uint32_t gpus, uint64_t parts)
{
    struct frame_key key;
    fill_key(frames, job, gpus, parts, &key);
    struct slot *oldest = &frames->slots[0];
    frames->asked++;
    for (uint32_t i = 0; i < FRAMES; i++) {
        struct slot *slot = &frames->slots[i];
        if (is_found(slot, &key)) {
            frames->counts.found++;
            slot->asked = frames->asked;
            return &slot->frame;
        }
        oldest = gives_way_before(slot, oldest) ? slot : oldest;
    }
    frames->counts.missed++;
    empty(&oldest->frame, &frames->variants);
    memcpy(&oldest->key, &key, sizeof key);
    oldest->asked = frames->asked;
    return &oldest->frame;
}

struct memo_count system_frames_count(const struct system_frames *frames)
{
    return frames->counts;
}

bool system_frame_take(struct step_system *system)
{
    const struct system_frame *frame = system->frame;
    struct system_job *job = &system->jobs[0];
    if (frame == NULL || !frame->is_filled) {
        return false;
    }
    system->fabric = frame->fabric;
    system->fabric.cluster = &job->is.scenario->cluster;
    system->fabric.arena = system->setting.arena;
    system->turns = frame->turns;
    system->turns.fabric = &system->fabric;
    memcpy(job->groups, frame->groups, sizeof job->groups);
    system->setting.quotes = &system->frame->quotes;
    return true;
}

void system_frame_keep(struct step_system *system)
{
    struct system_frame *frame = system->frame;
    if (frame == NULL) {
        return;
    }
    if (!fabric_turns_any(&system->turns)) { /* what lies in its arena stays there for this step */
        frame->is_given_up = true;
        system->frame = NULL;
        return;
    }
    frame->fabric = system->fabric;
    frame->turns = system->turns;
    memcpy(frame->groups, system->jobs[0].groups, sizeof frame->groups);
    frame->is_filled = true;
    system->setting.quotes = &frame->quotes;
}

/* ---- variants ----------------------------------------------------------------------------- */

enum { USES_READ = 1, USES_OFFLOAD = 2, USES_FETCH = 4, HAS_BOUNDARY = 8, CALLS = 16, PART = 32 };

static uint32_t stage_bits(const struct step_system *system, uint32_t stage)
{
    const struct system_job *job = &system->jobs[0];
    const struct scenario *scenario = job->is.scenario;
    const uint32_t *counts = system->engine.programs[job->program_first + stage].counts;
    return (counts[STREAM_READ] > 0 ? USES_READ : 0) |
           (counts[STREAM_OFFLOAD] > 0 ? USES_OFFLOAD : 0) |
           (counts[STREAM_FETCH] > 0 ? USES_FETCH : 0) |
           (groups_have_boundary(&scenario->parallel, stage) ? HAS_BOUNDARY : 0) |
           (calls_are_made(&scenario->parallel, &scenario->software) ? CALLS : 0);
}

/* Whether what is built for times alone is less than the whole: a stage has more than its first. */
static bool is_part(const struct step_system *system, bool is_for_times)
{
    const struct mesh *mesh = &system->jobs[0].mesh;
    return is_for_times && fabric_turns_number(&system->turns, mesh_size(mesh)) > mesh->pp;
}

/* What a system follows from beside its frame: a word a stage, then of each stream its number of
 * patterns and these. */
static uint32_t *variant_key(struct arena *arena, const struct step_system *system,
                             bool is_for_times, size_t *size_bytes)
{
    const struct system_job *job = &system->jobs[0];
    size_t count = job->mesh.pp + (size_t)STREAM_COUNT_;
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        count += 3 * job->patterns[s].count;
    }
    uint32_t *words = arena_room(arena, count, sizeof *words);
    uint32_t *next = words;
    const uint32_t part = is_part(system, is_for_times) ? PART : 0;
    for (uint32_t stage = 0; stage < job->mesh.pp; stage++) {
        *next++ = stage_bits(system, stage) | part;
    }
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        const struct transfer_patterns *patterns = &job->patterns[s];
        *next++ = (uint32_t)patterns->count;
        for (size_t i = 0; i < patterns->count; i++) {
            *next++ = patterns->items[i].operation;
            *next++ = patterns->items[i].algorithm;
            *next++ = patterns->items[i].phase;
        }
    }
    sim_assert(next == words + count);
    *size_bytes = count * sizeof *words;
    return words;
}

static struct system_variant *find_variant(struct system_frame *frame, const void *key,
                                           size_t key_bytes)
{
    struct system_variant *variant = frame->variants;
    while (variant != NULL &&
           (variant->key_bytes != key_bytes || memcmp(variant->key, key, key_bytes) != 0)) {
        variant = variant->next;
    }
    frame->variants_asked->found += variant != NULL ? 1 : 0;
    frame->variants_asked->missed += variant != NULL ? 0 : 1;
    return variant;
}

static struct system_variant *add_variant(struct system_frame *frame, const void *key,
                                          size_t key_bytes)
{
    struct system_variant *variant = arena_alloc(frame->arena, sizeof *variant);
    void *copy = arena_alloc(frame->arena, key_bytes);
    memcpy(copy, key, key_bytes);
    variant->key = copy;
    variant->key_bytes = key_bytes;
    variant->next = frame->variants;
    frame->variants = variant;
    return variant;
}

/* That of the engine which is a step's own. */
static void put_own(const struct engine_system *own, struct engine_system *engine)
{
    engine->programs = own->programs;
    engine->program_count = own->program_count;
    engine->transfers = own->transfers;
    engine->transfer_count = own->transfer_count;
    engine->known = own->known;
}

bool system_variant_take(struct arena *arena, struct step_system *system, bool is_for_times)
{
    if (system->frame == NULL) {
        return false;
    }
    size_t key_bytes;
    const uint32_t *key = variant_key(arena, system, is_for_times, &key_bytes);
    struct system_variant *known = find_variant(system->frame, key, key_bytes);
    if (known == NULL) {
        system->variant = add_variant(system->frame, key, key_bytes);
        return false;
    }
    system->variant = known;
    const struct engine_system own = system->engine;
    system->engine = known->engine;
    put_own(&own, &system->engine);
    system->links = known->links;
    system->orbits = known->orbits;
    system->jobs[0].pair = known->pair;
    system->jobs[0].has_pair = known->has_pair;
    return true;
}

void system_variant_keep(struct step_system *system)
{
    struct system_variant *variant = system->variant;
    if (variant == NULL) {
        return;
    }
    variant->engine = system->engine;
    variant->links = system->links;
    variant->orbits = system->orbits;
    variant->pair = system->jobs[0].pair;
    variant->has_pair = system->jobs[0].has_pair;
}

const struct folded_system *system_fold(struct arena *arena, const struct step_system *system)
{
    struct system_variant *variant = system->variant;
    if (variant == NULL) {
        return fold_orbits(arena, &system->engine, system->orbits);
    }
    if (variant->folded == NULL) {
        variant->folded = fold_orbits(system->frame->arena, &system->engine, system->orbits);
    }
    struct folded_system *folded = arena_alloc(arena, sizeof *folded);
    *folded = *variant->folded;
    put_own(&system->engine, &folded->engine);
    return folded;
}

struct memo_count system_variants_count(const struct system_frames *frames)
{
    return frames->variants;
}
