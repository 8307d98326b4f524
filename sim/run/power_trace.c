/* The step is run with a hook (train/watch has its system): each kernel of each GPU simulated adds
 * its time, as often as the GPU stands for others, to the bins that it lies in. Bins are merged by
 * two when there are too many, so that memory is bounded whatever the step.
 */
#include "run/power_trace.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/network/site_power.h"
#include "input/scenario.h"
#include "train/metrics.h"
#include "train/streams.h"
#include "train/watch.h"

#include <math.h>
#include <string.h>

static const sim_time MILLISECOND_NS = 1000000;

struct meter {
    const struct engine_system *run;
    sim_time bin_ns;
    double *working_ns; /* [2 * POWER_TRACE_BINS_MAX] GPU-ns of kernels */
};

static void halve(struct meter *meter)
{
    for (uint32_t i = 0; i < POWER_TRACE_BINS_MAX; i++) {
        meter->working_ns[i] =
            meter->working_ns[(size_t)2 * i] + meter->working_ns[(size_t)2 * i + 1];
    }
    memset(meter->working_ns + POWER_TRACE_BINS_MAX, 0,
           POWER_TRACE_BINS_MAX * sizeof *meter->working_ns);
    meter->bin_ns *= 2;
}

static void add_work(struct meter *meter, sim_time start, sim_time end, double gpus)
{
    while (end > meter->bin_ns * 2 * POWER_TRACE_BINS_MAX) {
        halve(meter);
    }
    while (start < end) {
        const sim_time bin = start / meter->bin_ns;
        const sim_time edge = (bin + 1) * meter->bin_ns;
        const sim_time until = edge < end ? edge : end;
        meter->working_ns[bin] += gpus * (double)(until - start);
        start = until;
    }
}

static void on_task(void *context, uint32_t actor, uint32_t stream, uint32_t index, sim_time start,
                    sim_time end)
{
    struct meter *meter = context;
    const struct engine_actor *who = &meter->run->actors[actor];
    if (stream != STREAM_COMPUTE) {
        return;
    }
    const struct task *task =
        engine_program_task(&meter->run->programs[who->program], STREAM_COMPUTE, index);
    const bool works = task->cause == CAUSE_COMPUTE || task->cause == CAUSE_RECOMPUTE ||
                       task->cause == CAUSE_OPTIMIZER;
    const sim_time begin = start + task->launch_ns;
    if (works && begin < end) {
        add_work(meter, begin, end, (double)who->multiplicity);
    }
}

double power_trace_site_w(const struct scenario *scenario, double working_gpus)
{
    const struct gpu *gpu = &scenario->gpu;
    const double waiting_gpus = (double)scenario->gpus - working_gpus;
    const double gpus_w = gpu->tdp_w * (working_gpus * gpu_busy_fraction(gpu) +
                                        waiting_gpus * gpu->idle_power_fraction);
    return site_power_w(scenario, gpus_w);
}

/* As said of the site, or what all GPUs at their cap draw. */
static double cap_of_site_w(const struct scenario *scenario)
{
    return scenario->gpu.power_cap_w > 0
               ? site_power_w(scenario, (double)scenario->gpus * scenario->gpu.power_cap_w)
               : 0;
}

static void find_extremes(struct power_trace *trace)
{
    trace->least_w = HUGE_VAL;
    for (uint32_t i = 0; i < trace->whole; i++) {
        const double power_w = trace->power_w[i];
        trace->least_w = fmin(trace->least_w, power_w);
        trace->most_w = fmax(trace->most_w, power_w);
        if (i > 0) {
            trace->rise_w = fmax(trace->rise_w, power_w - trace->power_w[i - 1]);
            trace->fall_w = fmax(trace->fall_w, trace->power_w[i - 1] - power_w);
        }
    }
}

/* Power of each bin, and what is said of all. */
static void fill(struct arena *arena, const struct scenario *scenario, const struct meter *meter,
                 struct power_trace *trace)
{
    trace->bin_ns = meter->bin_ns;
    trace->count = (uint32_t)((trace->end + trace->bin_ns - 1) / trace->bin_ns);
    sim_assert(trace->count > 0 && trace->count <= 2 * POWER_TRACE_BINS_MAX);
    trace->whole = (uint32_t)(trace->end / trace->bin_ns);
    trace->whole = trace->whole > 0 ? trace->whole : 1;
    trace->power_w = arena_array(arena, trace->count, sizeof *trace->power_w);
    double sum_ns = 0;
    for (uint32_t i = 0; i < trace->count; i++) {
        const sim_time left = trace->end - i * trace->bin_ns;
        const sim_time width = left < trace->bin_ns ? left : trace->bin_ns;
        const double working = meter->working_ns[i] / (double)width;
        sim_assert(working <= (double)scenario->gpus * (1 + 1e-9));
        const double power_w = power_trace_site_w(scenario, working);
        trace->power_w[i] = power_w;
        sum_ns += meter->working_ns[i];
    }
    find_extremes(trace);
    const double mean = sum_ns / (double)trace->end;
    trace->working = mean / (double)scenario->gpus;
    trace->mean_w = power_trace_site_w(scenario, mean);
}

/* Against the bins before it, of which beyond a whole step there are no others: at most the square
 * of POWER_TRACE_BINS_MAX twice over. */
double power_trace_ramp_w(const struct power_trace *trace, sim_time window)
{
    const sim_time bins = window / trace->bin_ns;
    const uint32_t reach = bins < trace->whole ? (uint32_t)bins : trace->whole;
    double ramp_w = 0;
    for (uint32_t i = 0; i < trace->whole; i++) {
        for (uint32_t back = 1; back <= reach; back++) {
            const uint32_t before = (i + trace->whole - back) % trace->whole;
            ramp_w = fmax(ramp_w, fabs(trace->power_w[i] - trace->power_w[before]));
        }
    }
    return ramp_w;
}

void power_trace_simulate(struct arena *arena, const struct scenario *scenario, bool folds,
                          const struct step_result *step, struct power_trace *trace)
{
    struct watch watch;
    watch_prepare(arena, scenario, &(struct watch_request){.folds = folds}, &watch);
    struct meter meter = {
        .run = watch.run,
        .bin_ns = MILLISECOND_NS,
        .working_ns =
            arena_array(arena, (size_t)2 * POWER_TRACE_BINS_MAX, sizeof *meter.working_ns),
    };
    const struct engine_options options = {.on_task = on_task, .context = &meter};
    struct engine_outcome outcome;
    watch.member.number = step->spread.median;
    ensemble_run(arena, watch.run, watch.member, &options, &outcome);
    *trace = (struct power_trace){.end = outcome.jobs[0].end + step->jitter_ns,
                                  .cap_w = cap_of_site_w(scenario)};
    while (trace->end > meter.bin_ns * 2 * POWER_TRACE_BINS_MAX) {
        halve(&meter);
    }
    fill(arena, scenario, &meter, trace);
}
