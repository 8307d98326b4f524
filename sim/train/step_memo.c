/* Keys are structs that are cleared and filled member by member. The GPU, the software and the
 * model of a study are few and large: they get a number each time they are new, and the number
 * stands in the key.
 */
#include "train/step_memo.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/engine_known.h"
#include "train/system/route_memo.h"
#include "train/system/system_frame.h"

#include <string.h>

enum { PARTS_BYTES_MAX = 4 << 20, TIMINGS_BYTES_MAX = 16 << 20, STRETCHES_BYTES_MAX = 16 << 20 };

/* What kernels run on, by what, for which model. */
struct parts {
    struct gpu gpu;
    struct software software;
    struct model model;
};

struct step_memo {
    struct arena *arena;
    struct memo *parts; /* struct parts to its number */
    struct memo *timings;
    struct program_memo *programs;
    struct system_frames *frames;
    struct route_memo *routes;
    struct engine_known *stretches;
    uint64_t part_count;
    struct parts *last; /* those that were looked for last; their number, 0: none */
    uint64_t last_number;
};

struct timing_key {
    uint64_t parts;
    int64_t precision, tp, micro, sequence_length, cp, ep, etp, local_experts, lora_rank;
    uint64_t recompute_modules, lora_targets;
    uint64_t flags; /* a bit for each member that is a boolean */
    double expert_rows, gradient_bytes;
};

struct step_memo *step_memo_new(void)
{
    struct arena *arena = arena_new();
    struct step_memo *memo = arena_alloc(arena, sizeof *memo);
    *memo = (struct step_memo){.arena = arena,
                               .parts = memo_new(PARTS_BYTES_MAX),
                               .timings = memo_new(TIMINGS_BYTES_MAX),
                               .programs = program_memo_new(),
                               .frames = system_frames_new(),
                               .routes = route_memo_new(),
                               .stretches = engine_known_new(STRETCHES_BYTES_MAX),
                               .last = arena_alloc(arena, sizeof *memo->last)};
    return memo;
}

void step_memo_free(struct step_memo *memo)
{
    if (memo != NULL) {
        memo_free(memo->parts);
        memo_free(memo->timings);
        program_memo_free(memo->programs);
        system_frames_free(memo->frames);
        route_memo_free(memo->routes);
        engine_known_free(memo->stretches);
        arena_free(memo->arena);
    }
}

void step_memo_trim(struct step_memo *memo)
{
    system_frames_trim(memo->frames);
}

/* Numbers are never used again, so what a full table forgets is only worked out once more. */
static uint64_t find_number(struct step_memo *memo, const struct parts *parts)
{
    const uint64_t *known = memo_find(memo->parts, parts, sizeof *parts);
    if (known != NULL) {
        return *known;
    }
    const uint64_t number = ++memo->part_count;
    memo_add(memo->parts, parts, sizeof *parts, &number, sizeof number);
    return number;
}

/* A step mostly runs on the parts of the one before: these are compared before they are hashed. */
uint64_t step_memo_parts(struct step_memo *memo, const struct timing_runner *runner,
                         const struct cost_shape *shape)
{
    struct parts *last = memo->last;
    struct part {
        void *last;
        const void *now;
        size_t size_bytes;
    };
    const struct part parts[] = {{&last->gpu, runner->gpu, sizeof last->gpu},
                                 {&last->software, runner->software, sizeof last->software},
                                 {&last->model, shape->model, sizeof last->model}};
    bool is_last = memo->last_number != 0;
    for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        is_last = is_last && memcmp(parts[i].last, parts[i].now, parts[i].size_bytes) == 0;
        memcpy(parts[i].last, parts[i].now, parts[i].size_bytes);
    }
    if (!is_last) {
        memo->last_number = find_number(memo, last);
    }
    return memo->last_number;
}

static struct timing_key key_of(struct step_memo *memo, const struct timing_runner *runner,
                                const struct cost_shape *shape)
{
    const bool flags[] = {runner->knows_rows, runner->is_replayed, shape->is_sequence_parallel,
                          shape->is_ulysses,  shape->lora_drops,   shape->transposes_fp8};
    struct timing_key key;
    memset(&key, 0, sizeof key);
    sim_assert(shape->software == runner->software && shape->precision == runner->precision);
    key.parts = step_memo_parts(memo, runner, shape);
    key.precision = runner->precision;
    key.tp = shape->tp;
    key.micro = shape->micro;
    key.sequence_length = shape->sequence_length;
    key.cp = shape->cp;
    key.ep = shape->ep;
    key.etp = shape->etp;
    key.local_experts = shape->local_experts;
    key.lora_rank = shape->lora_rank;
    key.recompute_modules = shape->recompute_modules;
    key.lora_targets = shape->lora_targets;
    for (uint32_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        key.flags |= (uint64_t)flags[i] << i;
    }
    key.expert_rows = shape->expert_rows;
    key.gradient_bytes = shape->gradient_bytes;
    return key;
}

void step_memo_timing(struct step_memo *memo, const struct timing_runner *runner,
                      const struct cost_shape *shape, struct timing *timing)
{
    if (memo == NULL) {
        timing_init(runner, shape, timing);
        return;
    }
    const struct timing_key key = key_of(memo, runner, shape);
    const size_t bytes = shape->model->kind_count * sizeof *timing->segments;
    const void *known = memo_find(memo->timings, &key, sizeof key);
    if (known == NULL) {
        timing_init(runner, shape, timing);
        memo_add(memo->timings, &key, sizeof key, timing->segments, bytes);
        return;
    }
    *timing = (struct timing){.runner = *runner};
    memcpy(timing->segments, known, bytes);
}

struct program_memo *step_memo_programs(const struct step_memo *memo)
{
    return memo->programs;
}

struct system_frames *step_memo_frames(const struct step_memo *memo)
{
    return memo->frames;
}

struct route_memo *step_memo_routes(const struct step_memo *memo)
{
    return memo->routes;
}

struct engine_known *step_memo_stretches(const struct step_memo *memo)
{
    return memo->stretches;
}

struct step_memo_counts step_memo_counts(const struct step_memo *memo)
{
    return (struct step_memo_counts){
        memo_count(memo->timings),         program_memo_count(memo->programs),
        system_frames_count(memo->frames), system_variants_count(memo->frames),
        route_memo_count(memo->routes),    engine_known_count(memo->stretches)};
}
