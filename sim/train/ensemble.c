/* A member is the same system with all capacities multiplied by one factor,
 * hashed from the seed and the member's number. Three questions are asked in
 * turn, each dearer than the one before: can runs lie apart at all, do the
 * first four members, and which of all members is the median.
 */
#include "train/ensemble.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
#include "des/engine_known.h"

#include <stdlib.h>
#include <string.h>

/* Three times the change of a bandwidth that anybody would call none, so that two inputs which
 * differ by nothing draw from one population. A step that is all communication moves by twice as
 * much between the fastest and the slowest member, which is below ENSEMBLE_SPREAD_MIN. */
static const double PERTURBATION = 3e-4;
/* Of the step, lost by one channel to others. In 180 systems, behind up-links of 1:1 to 4:1 at 25
 * to 400 Gbps a NIC, none with less spread by 0.1 %. */
static const double CONTENTION_MIN = 5e-3;
/* Of 15,000 random layouts behind thin links (tests/fuzz/test_steadiness.c) 6,000 had contention
 * and a gain that was known: at least 37 where probes differed, below 4.1 in half of the others. To
 * first order members differ by 4e-4 of the reach: of 1.5 lengths of the step that is 6e-4. */
static const double STEADY_GAIN_MAX = 15;
static const double STEADY_REACH_MAX = 1.5;
enum { PROBES = 3 };

/* ---- one member --------------------------------------------------------------------- */

/* 1 for member 0; the others lie in both halves alike. */
static double bandwidth_factor(struct ensemble_member member)
{
    if (member.number == 0) {
        return 1.0;
    }
    const struct rng_key key = {
        .seed = member.seed, .stream = rng_stream("ensemble"), .operation = member.number};
    const double share = (1.0 + rng_uniform(&key)) / 2.0;
    return 1.0 + PERTURBATION * (member.number % 2 == 0 ? -share : share);
}

/* Rounded down, as shares are: what cannot bind before cannot bind then. */
static int64_t scaled(int64_t bytes_per_s, double factor)
{
    const int64_t value = (int64_t)((double)bytes_per_s * factor);
    return value > 0 ? value : 1;
}

static void scale_bandwidths(struct arena *arena, double factor, struct engine_system *system)
{
    int64_t *capacities = arena_array(arena, system->link_count + 1u, sizeof *capacities);
    for (uint32_t i = 0; i < system->link_count; i++) {
        capacities[i] = scaled(system->link_capacities[i], factor);
    }
    struct engine_path *paths = arena_array(arena, system->path_count + 1u, sizeof *paths);
    for (uint32_t i = 0; i < system->path_count; i++) {
        paths[i] = system->paths[i];
        paths[i].cap_bytes_per_s = scaled(system->paths[i].cap_bytes_per_s, factor);
    }
    system->link_capacities = capacities;
    system->paths = paths;
}

static const struct engine_system *system_of_member(struct arena *arena,
                                                    const struct engine_system *system,
                                                    struct ensemble_member member)
{
    if (member.number == 0) {
        return system;
    }
    struct engine_system *perturbed = arena_alloc(arena, sizeof *perturbed);
    *perturbed = *system;
    scale_bandwidths(arena, bandwidth_factor(member), perturbed);
    return perturbed;
}

void ensemble_run(struct arena *arena, const struct engine_system *system,
                  struct ensemble_member member, const struct engine_options *options,
                  struct engine_outcome *outcome)
{
    engine_run(arena, system_of_member(arena, system, member), options, outcome);
}

/* ---- the median ------------------------------------------------------------------------ */

struct run_end {
    sim_time end; /* SIM_TIME_MAX: not known, but later than was asked */
    uint32_t number;
};

/* What all members have in common. */
struct members {
    const struct engine_system *system;
    uint64_t seed;
    struct engine_options options;
};

static int by_end(const void *left, const void *right)
{
    const struct run_end *a = left;
    const struct run_end *b = right;
    if (a->end != b->end) {
        return a->end < b->end ? -1 : 1;
    }
    return a->number < b->number ? -1 : a->number > b->number;
}

/* The most that one channel waited for others' bytes. */
static sim_time contention_ns(const struct engine_system *system,
                              const struct engine_outcome *outcome)
{
    sim_time most = 0;
    for (uint32_t i = 0; i < system->channel_count; i++) {
        const sim_time lost = outcome->traffic[i].moving_ns - outcome->traffic[i].alone_ns;
        most = lost > most ? lost : most;
    }
    return most;
}

static struct ensemble_spread spread_of(struct run_end *ends, uint32_t count, uint64_t seed)
{
    qsort(ends, count, sizeof *ends, by_end);
    return (struct ensemble_spread){
        .median = {seed, ends[count / 2].number},
        .members = count,
        .least_ns = ends[0].end,
        .most_ns = ends[count - 1].end,
    };
}

static bool differ(const struct run_end *ends, uint32_t count)
{
    struct run_end sorted[ENSEMBLE_MEMBERS];
    memcpy(sorted, ends, count * sizeof *ends);
    qsort(sorted, count, sizeof *sorted, by_end);
    const sim_time least = sorted[0].end;
    return (double)(sorted[count - 1].end - least) > ENSEMBLE_SPREAD_MIN * (double)least;
}

/* What disturbs a run does not grow in it, so that the others do not differ. */
static bool is_steady(const struct engine_outcome *outcome)
{
    return outcome->steadiness.gain <= STEADY_GAIN_MAX &&
           outcome->steadiness.reach_ns <= STEADY_REACH_MAX * (double)outcome->jobs[0].end;
}

bool ensemble_is_needed(const struct engine_system *system, const struct engine_outcome *outcome)
{
    return system->program_count > 1 &&
           (double)contention_ns(system, outcome) > CONTENTION_MIN * (double)outcome->jobs[0].end &&
           !is_steady(outcome);
}

static bool are_known(const struct engine_system *system)
{
    uint32_t p = 0;
    while (p < system->program_count && system->programs[p].known_as != 0) {
        p++;
    }
    return system->known != NULL && p == system->program_count;
}

const struct engine_system *ensemble_share(struct arena *arena, const struct engine_system *system,
                                           struct engine_known *known)
{
    if (are_known(system)) {
        return system;
    }
    struct engine_system *shared = arena_alloc(arena, sizeof *shared);
    struct engine_program *programs = arena_array(arena, system->program_count, sizeof *programs);
    for (uint32_t p = 0; p < system->program_count; p++) {
        programs[p] = system->programs[p];
        programs[p].known_as = p + 1;
    }
    *shared = *system;
    shared->programs = programs;
    shared->known = known;
    return shared;
}

/* When the member ends; SIM_TIME_MAX: after `until`, unless that is 0. */
static sim_time end_of_member(struct arena *arena, const struct members *members, uint32_t number,
                              sim_time until)
{
    struct engine_options options = members->options;
    struct engine_outcome outcome;
    options.until = until;
    ensemble_run(arena, members->system, (struct ensemble_member){members->seed, number}, &options,
                 &outcome);
    const sim_time end = outcome.is_cut ? SIM_TIME_MAX : outcome.jobs[0].end;
    arena_reset(arena); /* what is known stays: a record of member 0 may point to it */
    return end;
}

/* Whether more than half of all members end later, where the first does: asked of one after the
 * other, until it is known or one does not. Of those that were asked `ends` has what is known. */
static bool are_most_longer(struct arena *arena, const struct members *members, sim_time enough,
                            struct run_end *ends)
{
    uint32_t longer = 1;
    while (longer <= ENSEMBLE_MEMBERS / 2 && ends[longer - 1].end > enough) {
        ends[longer] = (struct run_end){end_of_member(arena, members, longer, enough), longer};
        longer++;
    }
    return ends[longer - 1].end > enough;
}

/* Of the probes it is asked when they end, for whether they differ; of those behind them only
 * whether by `enough`, until it is known that the median does. The count of ends; 0: the median is
 * later. */
static uint32_t run_members(struct arena *arena, const struct members *members, sim_time enough,
                            struct run_end *ends)
{
    const sim_time until = enough == SIM_TIME_MAX ? 0 : enough;
    uint32_t wanted = 1 + PROBES;
    uint32_t longer = ends[0].end > enough;
    if (longer > 0 && are_most_longer(arena, members, enough, ends)) {
        return 0;
    }
    for (uint32_t i = 1; i < wanted; i++) {
        ends[i] = (struct run_end){end_of_member(arena, members, i, i > PROBES ? until : 0), i};
        longer += ends[i].end > enough;
        if (i == PROBES && differ(ends, 1 + PROBES)) {
            wanted = ENSEMBLE_MEMBERS;
        }
        if (wanted == ENSEMBLE_MEMBERS && longer > ENSEMBLE_MEMBERS / 2) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < wanted; i++) {
        if (ends[i].end == SIM_TIME_MAX) {
            ends[i].end = end_of_member(arena, members, i, 0);
        }
    }
    return wanted;
}

/* Where member 0 had no cycles that come again, nobody looks for any. */
struct ensemble_spread ensemble_find(const struct engine_system *system, uint64_t seed,
                                     const struct engine_outcome *unperturbed, sim_time enough)
{
    struct arena *own = arena_new();
    struct arena *arena = arena_new();
    struct engine_known *known = engine_known_new(ENSEMBLE_KNOWN_BYTES_MAX);
    struct engine_system shared = *ensemble_share(own, system, known);
    shared.late_count = 0; /* what waits are for is not asked */
    const struct members members = {
        .system = &shared,
        .seed = seed,
        .options = {.only_length = true, .each_cycle = unperturbed->tasks_repeated == 0}};
    struct run_end ends[ENSEMBLE_MEMBERS] = {{unperturbed->jobs[0].end, 0}};
    const uint32_t count = run_members(arena, &members, enough, ends);
    engine_known_free(known);
    arena_free(arena);
    arena_free(own);
    if (count == 0) {
        return (struct ensemble_spread){.is_longer = true};
    }
    return count == ENSEMBLE_MEMBERS ? spread_of(ends, count, seed)
                                     : (struct ensemble_spread){.members = 1};
}
