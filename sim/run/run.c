/* Steps become a run by multiplication: the step is simulated once, then once
 * more with a checkpoint at its end, and once beside the flush of an
 * asynchronous one. The DataLoader runs against the step's length by itself.
 * Days, money and energy follow from these few figures (run_add_up).
 */
#include "run/run.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
#include "hw/dataloader.h"
#include "plan/loading.h"
#include "plan/memory/memory.h"
#include "train/step.h"
#include "train/step_memo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SECONDS_PER_HOUR 3600.0
#define SECONDS_PER_DAY 86400.0

/* Batches of a whole loader's round after which it is steady: many times what its buffer holds. */
#define LOADER_ROUNDS 64

static uint64_t hash_text(const struct scenario *scenario)
{
    return rng_hash_bytes(scenario->resolved_text, strlen(scenario->resolved_text), 0);
}

/* After the hash of the text. */
static void put_key(uint64_t hash, const struct scenario *scenario, const char *build, char key[17])
{
    hash = rng_hash_bytes(build, strlen(build), hash);
    hash = rng_hash_bytes(&scenario->seed, sizeof scenario->seed, hash);
    snprintf(key, 17, "%016llx", (unsigned long long)hash);
}

void run_key(const struct scenario *scenario, const char *build, char key[17])
{
    put_key(hash_text(scenario), scenario, build, key);
}

int64_t run_steps(double tokens, int64_t tokens_per_step, struct ledger *ledger)
{
    return (int64_t)LEDGER_SUM(ledger, "steps", "", ceil(tokens / (double)tokens_per_step),
                               LEDGER_TERM(tokens, "tokens"),
                               LEDGER_TERM(tokens_per_step, "a step"));
}

/* ---- data ------------------------------------------------------------------------ */

/* Time of one worker for one microbatch: decoding, and its share of the
 * storage's read bandwidth. */
static double microbatch_load_s(const struct scenario *scenario)
{
    const struct data_loading *data = &scenario->data;
    const double readers =
        (double)(scenario->parallel.dp * (data->workers_per_gpu > 0 ? data->workers_per_gpu : 1));
    const double bytes = data->bytes_per_token * (double)scenario->batch.sequence_length;
    const double read_s = bytes * readers / scenario->cluster.storage_read_bytes_per_s;
    return (double)scenario->batch.micro * (data->time_per_sample_s + read_s);
}

/* What each step waits for data once the loader is steady, in ns: the second half of a
 * run twice as long, so that neither start nor end is in it. */
static int64_t data_stall_ns(struct arena *arena, const struct scenario *scenario, int64_t step_ns,
                             double *first_s)
{
    *first_s = 0;
    if (!scenario->data.is_enabled) {
        return 0;
    }
    const int64_t gpus_per_host = scenario->gpus < scenario->cluster.gpus_per_node
                                      ? scenario->gpus
                                      : scenario->cluster.gpus_per_node;
    const struct loading_job loading = loading_job_of(scenario);
    const struct dataloader_options options = {
        .workers = (uint32_t)scenario->data.workers_per_gpu,
        .prefetch = (uint32_t)scenario->data.prefetch,
        .cores = (uint32_t)scenario->cluster.host_cores,
        .loaders = (uint32_t)loading_ranks_of_node(&loading),
        .mains = (uint32_t)gpus_per_host,
        .batch_ns = sim_time_from_s(microbatch_load_s(scenario)),
        .seed = (uint64_t)scenario->seed,
    };
    const int64_t microbatches = scenario->batch.microbatches;
    const uint32_t count = LOADER_ROUNDS * options.workers * (options.prefetch + 1);
    struct dataloader_outcome once;
    struct dataloader_outcome twice;
    dataloader_run(arena, &options, step_ns / microbatches, count, &once);
    dataloader_run(arena, &options, step_ns / microbatches, 2 * count, &twice);
    *first_s = sim_time_to_s(once.first_stall_ns);
    return (twice.stall_ns - once.stall_ns) / count * microbatches;
}

/* What a GPU of the final step waits for data, in the mean: for the loaders, and for what is
 * read over the fabric. */
static double data_stall_s(const struct scenario *scenario, const struct step_result *step)
{
    return (double)step->gpu_ns[CAUSE_DATA_STALL] * 1e-9 / (double)scenario->gpus;
}

/* ---- checkpoints -------------------------------------------------------------------- */

/* A step that was simulated, and what the run adds to it. */
struct run_basis {
    const struct scenario *scenario;
    struct ensemble_member member;  /* the run that the step is: others are held against it */
    const struct step_result *step; /* with the data stall */
    int64_t simulated_ns;           /* without it */
    const struct run_request *request;
};

/* How much longer a step is that ends with a checkpoint. */
static double checkpoint_blocking_s(struct arena *arena, const struct run_basis *basis,
                                    double bytes)
{
    const struct step_request request = {
        .folds = basis->request->folds,
        .member = &basis->member,
        .memo = basis->request->memo,
        .checkpoint_bytes = bytes,
        .is_checkpoint_async = basis->scenario->checkpoint.mode == CHECKPOINT_ASYNC,
    };
    struct step_result writing;
    step_simulate(arena, basis->scenario, &request, &writing);
    sim_assert(writing.step_ns >= basis->simulated_ns);
    return sim_time_to_s(writing.step_ns - basis->simulated_ns);
}

/* What the flush of an asynchronous checkpoint costs the steps beside it, when it crosses the
 * same NICs: so many steps, each with its part of the bytes. */
static double flush_s(struct arena *arena, const struct run_basis *basis, double bytes)
{
    const struct scenario *scenario = basis->scenario;
    if (scenario->cluster.storage_network != STORAGE_ON_FABRIC) {
        return 0;
    }
    const double steps =
        ceil(run_persist_s(scenario, bytes, NULL) / sim_time_to_s(basis->simulated_ns));
    const struct step_request request = {.folds = basis->request->folds,
                                         .member = &basis->member,
                                         .memo = basis->request->memo,
                                         .is_checkpoint_async = true,
                                         .flush_bytes = bytes / steps};
    struct step_result beside;
    step_simulate(arena, scenario, &request, &beside);
    const int64_t longer_ns = beside.step_ns - basis->simulated_ns;
    return longer_ns > 0 ? steps * sim_time_to_s(longer_ns) : 0;
}

double run_persist_s(const struct scenario *scenario, double bytes, struct ledger *ledger)
{
    const struct cluster *cluster = &scenario->cluster;
    const double nodes = (double)scenario->nodes;
    return LEDGER_SUM(
        ledger, "to the file system", "s",
        bytes / fmin(cluster->storage_write_bytes_per_s, nodes * cluster->storage_node_bytes_per_s),
        LEDGER_TERM(bytes, "GB"), LEDGER_TERM(nodes, "nodes"),
        LEDGER_TERM(cluster->storage_write_bytes_per_s, "B/s"),
        LEDGER_TERM(cluster->storage_node_bytes_per_s, "B/s"));
}

int64_t run_checkpoint_interval(const struct checkpoint *plan, double step_s)
{
    if (plan->every_steps > 0) {
        return plan->every_steps;
    }
    const int64_t every = (int64_t)(plan->every_s / step_s);
    return every < 1 ? 1 : every;
}

void run_count_checkpoints(const struct scenario *scenario, double step_s, struct ledger *ledger,
                           struct run_result *run)
{
    if (!scenario->checkpoint.is_enabled) {
        return;
    }
    const double every = (double)run_checkpoint_interval(&scenario->checkpoint, step_s);
    run->checkpoints =
        (int64_t)LEDGER_SUM(ledger, "checkpoints", "", floor((double)run->steps / every),
                            LEDGER_TERM(run->steps, "steps"), LEDGER_TERM(every, "steps"));
    const struct memory_job memory = memory_job_of(scenario);
    run->checkpoint_bytes = memory_checkpoint_bytes(&memory, ledger);
}

/* What the training waits for a checkpoint. */
static double checkpoint_s(struct arena *arena, const struct run_basis *basis, double bytes)
{
    const struct scenario *scenario = basis->scenario;
    const struct checkpoint *plan = &scenario->checkpoint;
    if (!plan->is_enabled) {
        return 0;
    }
    double waits_s = checkpoint_blocking_s(arena, basis, bytes);
    if (plan->mode == CHECKPOINT_ASYNC) {
        const double step_s = sim_time_to_s(basis->step->step_ns);
        const int64_t every = run_checkpoint_interval(plan, step_s);
        const double late_s = run_persist_s(scenario, bytes, NULL) - (double)every * step_s;
        waits_s += late_s > 0 ? late_s : 0;
        waits_s += flush_s(arena, basis, bytes);
    }
    return waits_s;
}

/* ---- money and energy ------------------------------------------------------------------ */

double run_working_share(const struct scenario *scenario, const struct step_result *step,
                         struct ledger *ledger)
{
    const int64_t *ns = step->gpu_ns;
    const double gpus = (double)scenario->gpus;
    return LEDGER_SUM(
        ledger, "u, kernels at work", "%",
        (double)(ns[CAUSE_COMPUTE] + ns[CAUSE_RECOMPUTE] + ns[CAUSE_OPTIMIZER] +
                 ns[CAUSE_INTERFERENCE]) /
            ((double)step->step_ns * gpus),
        LEDGER_TERM(ns[CAUSE_COMPUTE], "GPU-ns"), LEDGER_TERM(ns[CAUSE_RECOMPUTE], "GPU-ns"),
        LEDGER_TERM(ns[CAUSE_OPTIMIZER], "GPU-ns"), LEDGER_TERM(ns[CAUSE_INTERFERENCE], "GPU-ns"),
        LEDGER_TERM(step->step_ns, "ns"), LEDGER_TERM(gpus, "GPUs"));
}

double run_power_w(const struct scenario *scenario, const struct step_result *step,
                   struct ledger *ledger)
{
    const double gpus = (double)scenario->gpus;
    const double nodes = (double)scenario->nodes;
    const struct gpu *gpu = &scenario->gpu;
    const double u = run_working_share(scenario, step, ledger);
    const double gpu_w =
        LEDGER_SUM(ledger, "a GPU", "W",
                   gpu->tdp_w * (gpu->busy_power_fraction * u + gpu->idle_power_fraction * (1 - u)),
                   LEDGER_TERM(gpu->tdp_w, "W"), LEDGER_TERM(gpu->busy_power_fraction, ""),
                   LEDGER_TERM(gpu->idle_power_fraction, ""), LEDGER_NAME(u, "u"));
    return LEDGER_SUM(ledger, "power", "kW",
                      scenario->price.pue * (gpus * gpu_w + nodes * scenario->cluster.host_power_w),
                      LEDGER_TERM(scenario->price.pue, "pue"), LEDGER_TERM(gpus, "GPUs"),
                      LEDGER_TERM(gpu_w, "W"), LEDGER_TERM(nodes, "nodes"),
                      LEDGER_TERM(scenario->cluster.host_power_w, "W"));
}

/* Of the steps and whatever stops them, in seconds. */
static double add_up_time(const struct scenario *scenario, double step_s, struct ledger *ledger,
                          struct run_result *run)
{
    const double steps = (double)run->steps;
    const double checkpoints = (double)run->checkpoints;
    const double steps_s = LEDGER_SUM(ledger, "time in steps", "seconds", steps * step_s,
                                      LEDGER_TERM(steps, ""), LEDGER_TERM(step_s, "s"));
    const double blocked_s =
        LEDGER_SUM(ledger, "blocked by checkpoints", "seconds", checkpoints * run->checkpoint_s,
                   LEDGER_TERM(checkpoints, ""), LEDGER_TERM(run->checkpoint_s, "s"));
    const double loaded_s =
        LEDGER_SUM(ledger, "with the first batch", "seconds",
                   steps_s + blocked_s + run->first_batch_s, LEDGER_TERM(steps_s, "seconds"),
                   LEDGER_TERM(blocked_s, "seconds"), LEDGER_TERM(run->first_batch_s, "seconds"));
    const double startup_s = scenario->startup_s;
    const double wall_s =
        startup_s > 0 ? LEDGER_SUM(ledger, "with the start", "seconds", loaded_s + startup_s,
                                   LEDGER_TERM(loaded_s, "seconds"), LEDGER_TERM(startup_s, "s"))
                      : loaded_s;
    ledger_remark(ledger, "no failures, no restarts");
    run->days = LEDGER_SUM(ledger, "wall-clock", "days", wall_s / SECONDS_PER_DAY,
                           LEDGER_TERM(wall_s, "seconds"), LEDGER_TERM(SECONDS_PER_DAY, "s"));
    run->gpu_hours =
        LEDGER_SUM(ledger, "GPU-hours", "h", wall_s / SECONDS_PER_HOUR * (double)scenario->gpus,
                   LEDGER_TERM(wall_s, "seconds"), LEDGER_TERM(SECONDS_PER_HOUR, "s"),
                   LEDGER_TERM(scenario->gpus, "GPUs"));
    run->goodput = LEDGER_SUM(ledger, "goodput", "%", steps * (step_s - run->data_stall_s) / wall_s,
                              LEDGER_TERM(steps, "steps"), LEDGER_TERM(step_s, "s"),
                              LEDGER_TERM(run->data_stall_s, "s"), LEDGER_TERM(wall_s, "seconds"));
    ledger_remark(ledger, "checkpoint and data stalls only");
    sim_assert(run->goodput > 0);
    sim_assert(run->goodput <= 1);
    return wall_s;
}

void run_add_up(const struct scenario *scenario, const struct step_result *step,
                struct ledger *ledger, struct run_result *run)
{
    const struct price *price = &scenario->price;
    const double wall_s = add_up_time(scenario, sim_time_to_s(step->step_ns), ledger, run);
    const double power_w = run_power_w(scenario, step, ledger);
    run->energy_kwh =
        LEDGER_SUM(ledger, "energy", "kWh", power_w / 1000.0 * wall_s / SECONDS_PER_HOUR,
                   LEDGER_TERM(power_w, "W"), LEDGER_TERM(wall_s, "seconds"),
                   LEDGER_TERM(SECONDS_PER_HOUR, "s"));
    if (is_absent(price->gpu_hour_usd)) {
        run->cost_usd = ABSENT;
        ledger_remark(ledger, "no cost: neither the scenario nor the GPU has a price");
        return;
    }
    run->cost_usd = LEDGER_SUM(
        ledger, "cost", "USD",
        run->gpu_hours * price->gpu_hour_usd + run->energy_kwh * price->electricity_usd_per_kwh,
        LEDGER_TERM(run->gpu_hours, "GPU-hours"), LEDGER_TERM(price->gpu_hour_usd, "USD"),
        LEDGER_TERM(run->energy_kwh, "kWh"), LEDGER_TERM(price->electricity_usd_per_kwh, "USD"));
}

static void add_run(struct arena *arena, const struct run_basis *basis, struct run_result *run)
{
    const struct scenario *scenario = basis->scenario;
    const struct step_result *step = basis->step;
    run->is_asked = true;
    run->tokens = scenario->run_tokens;
    run->steps = run_steps(scenario->run_tokens, step->model_flop_tokens, NULL);
    run_count_checkpoints(scenario, sim_time_to_s(step->step_ns), NULL, run);
    run->checkpoint_s = checkpoint_s(arena, basis, run->checkpoint_bytes);
    run_add_up(scenario, step, NULL, run);
}

static void simulate_run(struct arena *arena, const struct scenario *scenario,
                         const struct run_request *request, struct result *result)
{
    memset(result, 0, sizeof *result);
    result->scenario = scenario;
    result->build = request->build;
    struct step_result *step = &result->step;
    step_simulate(arena, scenario,
                  &(struct step_request){.folds = request->folds, .memo = request->memo}, step);
    const struct run_basis basis = {
        .scenario = scenario,
        .member = {(uint64_t)scenario->seed, step->spread.median},
        .step = step,
        .simulated_ns = step->step_ns,
        .request = request,
    };
    const int64_t stall_ns =
        data_stall_ns(arena, scenario, step->step_ns, &result->run.first_batch_s);
    if (stall_ns > 0) {
        const struct step_basis figures = step_basis_of(scenario);
        step_add_stall(arena, &figures, CAUSE_DATA_STALL, stall_ns, step);
    }
    result->run.data_stall_s = data_stall_s(scenario, step);
    if (scenario->run_tokens > 0) {
        add_run(arena, &basis, &result->run);
    }
}

/* The steps of a run have kernel times in common, also where no study remembers them. */
void run_simulate(struct arena *arena, const struct scenario *scenario,
                  const struct run_request *request, struct result *result)
{
    const bool has_steps = scenario->run_tokens > 0 && scenario->checkpoint.is_enabled;
    struct step_memo *own = request->memo == NULL && has_steps ? step_memo_new() : NULL;
    struct run_request with = *request;
    with.memo = own != NULL ? own : request->memo;
    simulate_run(arena, scenario, &with, result);
    step_memo_free(own);
}

void run_predict(struct arena *arena, const struct scenario *scenario,
                 const struct run_request *request, struct result *result)
{
    run_simulate(arena, scenario, request, result);
    const uint64_t hash = hash_text(scenario);
    put_key(hash, scenario, request->build, result->key);
    put_key(hash, scenario, "", result->scenario_key);
}
