/* The derivatives of des/record, by transfer and channel, are put into the table of parts. */
#include "train/critical/forecast.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/record/engine_sensitivity.h"
#include "train/critical/critical_parts.h"
#include "train/placement.h"

#include <math.h>

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

/* Bytes of collectives go over the link that their price was found for. */
static void add_transfers(struct finding *finding)
{
    const struct step_system *system = finding->system;
    for (uint32_t i = 0; i < system->engine.transfer_count; i++) {
        const struct transfer_origin *origin = &system->transfers.origins[i];
        const enum cause cause = (enum cause)system->engine.streams[origin->stream].exposed_cause;
        add(finding, CRITICAL_LATENCY, cause, "", finding->found->latency[i]);
        if (!critical_is_plain(system, origin->stream)) {
            add(finding, CRITICAL_BYTES, cause, critical_link(&system->fabric, origin->bottleneck),
                finding->found->bytes[i]);
        }
    }
}

/* Bytes of messages, reads and writes go over the thinnest link on their way. */
static void add_plain(struct finding *finding)
{
    const struct engine_system *run = &finding->folded->engine;
    for (uint32_t i = 0; i < run->channel_count; i++) {
        const struct engine_member *first = &run->members[run->channels[i].member_first];
        if (finding->found->moved[i] != 0 && critical_is_plain(finding->system, first->stream)) {
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
    struct engine_watch watch;
    struct engine_outcome outcome;
    const struct engine_options options = engine_watch_options(scratch, &folded->engine, &watch);
    ensemble_run(scratch, &folded->engine, member, &options, &outcome);
    struct engine_sensitivity found;
    engine_sensitivity_find(scratch, &watch, &found);
    *forecast = (struct forecast){
        .length_ns = found.length, .gain = found.gain, .holds = found.gain <= FORECAST_GAIN_MAX};
    forecast->parts = arena_array(arena, CRITICAL_PARTS_MAX, sizeof *forecast->parts);
    if (found.gain <= ENGINE_GAIN_MAX) {
        struct finding finding = {system, folded, &found, forecast};
        add_computing(&finding);
        add_transfers(&finding);
        add_plain(&finding);
        critical_sort(forecast->parts, forecast->count);
    }
    arena_free(scratch);
}

const struct forecast *forecast_step(struct arena *arena, const struct scenario *scenario,
                                     struct ensemble_member member)
{
    struct forecast *forecast = arena_alloc(arena, sizeof *forecast);
    struct arena *scratch = arena_new();
    struct placement placement;
    placement_choose(scratch, scenario, &placement);
    const struct step_job job = {scenario, placement.gpu_of_rank[0], 1};
    struct step_system *system =
        system_build(scratch, &job, 1, placement.gpus, &(struct step_options){.folds = true});
    forecast_find(arena, system, system_fold(scratch, system), member, forecast);
    arena_free(scratch);
    return forecast;
}
