/* The derivatives of des/record, by transfer and channel, are put into the table of parts. */
#include "train/critical/forecast.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/record/engine_sensitivity.h"
#include "train/critical/critical_parts.h"
#include "train/fold.h"
#include "train/placement.h"
#include "train/streams.h"
#include "train/system.h"
#include "train/transfer.h"

#include <math.h>
#include <string.h>

struct finding {
    const struct step_system *system;
    const struct folded_system *folded;
    const struct engine_sensitivity *found;
    struct forecast *forecast;
};

static void add(struct finding *finding, enum critical_kind kind, enum cause cause,
                const char *link, double ns)
{
    critical_add(finding->forecast->parts, &finding->forecast->count,
                 &(struct critical_part){kind, cause, link, llround(ns)});
}

static void add_computing(struct finding *finding)
{
    const struct engine_sensitivity *found = finding->found;
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        const enum critical_kind kind = c == CAUSE_LAUNCH ? CRITICAL_LAUNCH : CRITICAL_KERNELS;
        add(finding, kind, (enum cause)c, "", found->work[c]);
    }
    add(finding, CRITICAL_LAUNCH, CAUSE_LAUNCH, "", found->launch);
    add(finding, CRITICAL_SLOW_GPU, CAUSE_STRAGGLER_WAIT, "", found->slow);
}

static void add_bytes(struct finding *finding, uint32_t transfer)
{
    const enum stream stream = finding->system->transfers.origins[transfer].stream;
    const enum cause cause = (enum cause)finding->system->engine.streams[stream].exposed_cause;
    struct critical_share shares[COLLECTIVE_PHASES_MAX];
    const uint32_t count = critical_shares(finding->system, transfer, shares);
    for (uint32_t i = 0; i < count; i++) {
        add(finding, shares[i].kind, cause, shares[i].link,
            shares[i].share * finding->found->bytes[transfer]);
    }
}

static void add_transfers(struct finding *finding)
{
    const struct step_system *system = finding->system;
    for (uint32_t i = 0; i < system->engine.transfer_count; i++) {
        const struct transfer_origin *origin = &system->transfers.origins[i];
        const enum cause cause = (enum cause)system->engine.streams[origin->stream].exposed_cause;
        add(finding, CRITICAL_LATENCY, cause, "", finding->found->latency[i]);
        if (!critical_is_message((uint32_t)origin->stream)) {
            add_bytes(finding, i);
        }
    }
}

/* Bytes of messages go over the thinnest link on their way. */
static void add_messages(struct finding *finding)
{
    const struct engine_system *run = &finding->folded->engine;
    for (uint32_t i = 0; i < run->channel_count; i++) {
        const struct engine_member *first = &run->members[run->channels[i].member_first];
        if (finding->found->moved[i] != 0 && critical_is_message(first->stream)) {
            add(finding, CRITICAL_BYTES, (enum cause)run->streams[first->stream].exposed_cause,
                critical_thinnest(finding->system, finding->folded, first->actor, first->stream),
                finding->found->moved[i]);
        }
    }
}

void forecast_find(struct arena *arena, const struct step_system *system,
                   const struct folded_system *folded, struct ensemble_member member,
                   struct forecast *forecast)
{
    struct arena *scratch = arena_new();
    struct engine_watch *watch = arena_alloc(arena, sizeof *watch);
    struct engine_sensitivity *found = arena_alloc(arena, sizeof *found);
    struct engine_outcome outcome;
    const struct engine_options options = engine_watch_options(arena, &folded->engine, watch);
    ensemble_run(scratch, &folded->engine, member, &options, &outcome);
    arena_free(scratch);
    engine_sensitivity_find(arena, watch, found);
    *forecast = (struct forecast){.length_ns = found->length,
                                  .gain = found->gain,
                                  .holds = found->gain <= FORECAST_GAIN_MAX,
                                  .system = system,
                                  .watch = watch,
                                  .found = found};
    forecast->parts = arena_array(arena, CRITICAL_PARTS_MAX, sizeof *forecast->parts);
    if (found->gain <= ENGINE_GAIN_MAX) {
        struct finding finding = {system, folded, found, forecast};
        add_computing(&finding);
        add_transfers(&finding);
        add_messages(&finding);
        critical_sort(forecast->parts, forecast->count);
    }
}

/* ---- what is in doubt ------------------------------------------------------------------------ */

/* Of a transfer's bytes, how much goes over a link; of messages all is meant. */
static double share_over(const struct step_system *system, uint32_t transfer,
                         const struct critical_part *part)
{
    if (critical_is_message((uint32_t)system->transfers.origins[transfer].stream)) {
        return 1;
    }
    struct critical_share shares[COLLECTIVE_PHASES_MAX];
    const uint32_t count = critical_shares(system, transfer, shares);
    double over = 0;
    for (uint32_t i = 0; i < count; i++) {
        const bool is_it = shares[i].kind == part->kind && strcmp(shares[i].link, part->link) == 0;
        over += is_it ? shares[i].share : 0;
    }
    return over;
}

static void slow_transfers(const struct step_system *system, const struct critical_part *part,
                           double slower, double *durations)
{
    for (uint32_t i = 0; i < system->engine.transfer_count; i++) {
        const struct transfer_origin *origin = &system->transfers.origins[i];
        if (system->engine.streams[origin->stream].exposed_cause == (uint8_t)part->cause) {
            const double share = part->kind == CRITICAL_LATENCY ? 1 : share_over(system, i, part);
            durations[i] = fmin(slower, durations[i] + slower * share);
        }
    }
}

double forecast_in_doubt(const struct forecast *forecast, const struct critical_part *parts,
                         uint32_t count, double slower)
{
    struct arena *scratch = arena_new();
    const uint32_t transfers = forecast->system->engine.transfer_count;
    double *latency = arena_array(scratch, transfers + 1u, sizeof *latency);
    double *bytes = arena_array(scratch, transfers + 1u, sizeof *bytes);
    struct engine_change change = {.latency = latency, .bytes = bytes};
    double said_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct critical_part *part = &parts[i];
        said_ns += slower * (double)part->ns;
        if (part->kind == CRITICAL_LATENCY || part->kind == CRITICAL_BYTES ||
            part->kind == CRITICAL_HOST) {
            slow_transfers(forecast->system, part, slower,
                           part->kind == CRITICAL_LATENCY ? latency : bytes);
        } else if (part->kind == CRITICAL_LAUNCH) {
            change.launch = change.work[CAUSE_LAUNCH] = slower;
        } else if (part->kind == CRITICAL_SLOW_GPU) {
            change.slow = slower;
        } else {
            change.work[part->cause] = slower;
        }
    }
    const struct engine_longer longer =
        engine_sensitivity_change(forecast->watch, forecast->found, &change);
    arena_free(scratch);
    return (fabs(longer.longer_ns - said_ns) + longer.doubt_ns) / fabs(said_ns);
}

/* ---- of a scenario --------------------------------------------------------------------------- */

static uint64_t tasks_of(const struct engine_system *system)
{
    uint64_t tasks = 0;
    for (uint32_t i = 0; i < system->actor_count; i++) {
        const struct engine_program *program = engine_program_of_actor(system, i);
        for (uint32_t s = 0; s < system->stream_count; s++) {
            tasks += program->counts[s];
        }
    }
    return tasks;
}

const struct forecast *forecast_step(struct arena *arena, const struct scenario *scenario,
                                     struct ensemble_member member)
{
    struct forecast *forecast = arena_alloc(arena, sizeof *forecast);
    struct placement placement;
    placement_choose(arena, scenario, &placement);
    const struct step_job job = {scenario, placement.gpu_of_rank[0], 1};
    struct step_system *system =
        system_build(arena, &job, 1, placement.gpus, &(struct step_options){.folds = true});
    const struct folded_system *folded = system_fold(arena, system);
    if (tasks_of(&folded->engine) > FORECAST_TASKS_MAX) {
        return NULL;
    }
    forecast_find(arena, system, folded, member, forecast);
    return forecast;
}
