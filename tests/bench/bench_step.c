/* Speed of a training step: every GPU simulated, folded, and from YAML to result.
 *
 * Each case runs in a process of its own, so that peak memory is its own. The
 * targets are those of the design: the 4,096-GPU step of GPT-3 175B with every
 * GPU simulated, 16,384 GPUs of Llama-3 405B, and folded evaluations a second.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/host.h"
#include "input/catalogue.h"
#include "input/scenario.h"
#include "run/run.h"
#include "train/step.h"
#include "support/fixture.h"

static void run_unfolded(const char *path)
{
    struct arena *arena = arena_new();
    const struct scenario *scenario =
        fixture_scenario(arena, &(struct fixture_source){.path = path});
    struct step_result result;
    const double begin_s = host_cpu_s();
    step_simulate(arena, scenario, &(struct step_request){.folds = false}, &result);
    const double cpu_s = host_cpu_s() - begin_s;
    printf("%-34s every GPU: %5lld GPUs %8.2f M tasks %8.2f M events %6.2f CPU-s "
           "%6.2f M events/s %6.2f M tasks/s %5lld MB\n",
           path, (long long)result.engine.ranks, (double)result.engine.tasks / 1e6,
           (double)result.engine.events / 1e6, cpu_s, (double)result.engine.events / cpu_s / 1e6,
           (double)result.engine.tasks / cpu_s / 1e6, (long long)(host_peak_bytes() / 1000000));
    fflush(stdout);
}

static void run_folded(const char *path)
{
    struct arena *scenario_arena = arena_new();
    const struct scenario *scenario =
        fixture_scenario(scenario_arena, &(struct fixture_source){.path = path});
    struct arena *arena = arena_new();
    struct step_result result;
    int count = 0;
    const double begin_s = host_cpu_s();
    while (host_cpu_s() - begin_s < 1.0) {
        arena_reset(arena);
        step_simulate(arena, scenario, &(struct step_request){.folds = true}, &result);
        count++;
    }
    const double cpu_s = host_cpu_s() - begin_s;
    printf("%-34s folded: %lld of %lld GPUs, %.1f evaluations a CPU-second\n", path,
           (long long)result.engine.ranks_simulated, (long long)result.engine.ranks, count / cpu_s);
    fflush(stdout);
}

/* From the files to the result, folded: as `run` does, without printing. */
static void run_once(const char *title, const char *path, const char *const *sets, uint32_t count)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        struct step_result result;
        const double begin_s = host_cpu_s();
        struct arena *arena = arena_new();
        const struct scenario *scenario = fixture_scenario(
            arena, &(struct fixture_source){.path = path, .sets = sets, .set_count = count});
        step_simulate(arena, scenario, &(struct step_request){.folds = true}, &result);
        const double cpu_s = host_cpu_s() - begin_s;
        printf("%-34s YAML to result: %4lld of %6lld GPUs %7.1f CPU-ms %5.1f MB\n", title,
               (long long)result.engine.ranks_simulated, (long long)result.engine.ranks,
               cpu_s * 1e3, (double)host_peak_bytes() / 1e6);
        fflush(stdout);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
}

/* Llama-3 405B on rails: TP8 PP16 and 128 or 1,024 replicas, 16 microbatches, ZeRO-1. */
static void run_quotients(void)
{
    static const char path[] = "scenarios/llama3-405b-16k.yaml";
    static const char *const replicas_128[] = {
        "cluster=h100-3200",         "software=megatron-2024", "parallel.schedule=1f1b",
        "parallel.virtual_stages=1", "recompute=none",         "slow=[{rank: 5000, speed: 0.9}]"};
    static const char *const replicas_1024[] = {
        "cluster=h100-3200",         "software=megatron-2024", "parallel.schedule=1f1b",
        "parallel.virtual_stages=1", "recompute=none",         "gpus=131072",
        "batch.global=16384"};
    run_once("Llama-3 405B, DP128", path, replicas_128, 5);
    run_once("Llama-3 405B, DP128, a slow GPU", path, replicas_128, 6);
    run_once("Llama-3 405B, DP1024", path, replicas_1024, 7);
}

static void in_own_process(void (*run)(const char *), const char *path)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        run(path);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
}

/* Without the other members of an ensemble (train/ensemble). */
static int simulate_once(const char *path, char *const *sets, int count)
{
    struct arena *arena = arena_new();
    const struct scenario *scenario = fixture_scenario(
        arena, &(struct fixture_source){
                   .path = path, .sets = (const char *const *)sets, .set_count = (uint32_t)count});
    const struct ensemble_member unperturbed = {(uint64_t)scenario->seed, 0};
    struct step_result result;
    step_simulate(arena, scenario, &(struct step_request){.member = &unperturbed}, &result);
    arena_free(arena);
    return 0;
}

int main(int count, char **arguments)
{
    if (count > 2 && strcmp(arguments[1], "--once") == 0) {
        return simulate_once(arguments[2], arguments + 3, count - 3);
    }
    in_own_process(run_unfolded, "scenarios/gpt3-175b-4096.yaml");
    in_own_process(run_unfolded, "scenarios/llama3-405b-16k.yaml");
    in_own_process(run_folded, "scenarios/gpt3-175b-1024.yaml");
    in_own_process(run_folded, "scenarios/gpt3-175b-4096.yaml");
    in_own_process(run_folded, "scenarios/llama3-405b-16k.yaml");
    run_quotients();
    return 0;
}
