#include "support/random_whole.h"

#include "support/random_scenario.h"

#include <string.h>

static uint64_t roll(struct rng_key *dice, uint64_t bound)
{
    dice->operation++;
    return rng_below(dice, bound);
}

/* A line of one of these values, in one scenario of so many. */
struct line {
    const char *key;
    uint64_t one_in;
    const char *values[8];
};

static const char *draw(struct rng_key *dice, const char *const *values)
{
    uint64_t count = 0;
    while (count < 8 && values[count] != NULL) {
        count++;
    }
    return values[roll(dice, count)];
}

static void print_lines(FILE *out, struct rng_key *dice, const struct line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (roll(dice, lines[i].one_in) == 0) {
            fprintf(out, "%s: %s\n", lines[i].key, draw(dice, lines[i].values));
        }
    }
}

/* Without an inline model, cluster, GPU and software: with all that the catalogue's have. */
static const struct line named_lines[] = {
    {"model", 1, {"llama3-8b", "mpt-1b", "mixtral-8x7b", "qwen3-30b-a3b"}},
    {"cluster", 1, {"h100-3200", "h100-roce-24k", "a100-80gb-1600", "gb200-nvl72"}},
    {"gpus", 1, {"8", "16", "16", "32", "64"}},
    {"software", 1, {"megatron-2025", "megatron-2024", "torch-fsdp-2024"}},
    {"parallel",
     1,
     {"{tp: 1, pp: 1, dp: auto, zero: 3}", "{tp: 2, pp: 2, dp: auto, zero: 1}",
      "{tp: 4, pp: 2, dp: auto, zero: 1, schedule: interleaved, virtual_stages: 2}",
      "{tp: 8, pp: 1, dp: auto, zero: 2, sequence_parallel: true}",
      "{tp: 2, pp: 1, cp: 2, dp: auto, zero: 1, cp_type: ring}",
      "{tp: 1, pp: 4, dp: auto, zero: 1, schedule: zb-h1}"}},
    {"batch",
     1,
     {"{global: 64, micro: 1, sequence_length: 2048}",
      "{global: 128, micro: 2, sequence_length: 4096}",
      "{global: 64, micro: 1, sequence_length: 4096, document_length: 1024, document_spread: 1}"}},
    {"recompute", 1, {"none", "full", "selective", "{layers: 2}"}},
    {"slow", 6, {"[{rank: 3, speed: 90 %, nic: 50 %, scale_up: 80 %}]", "[{rank: 0, speed: 0.5}]"}},
};

/* The same on one or two nodes, with one to four microbatches. */
static const struct line small_named_lines[] = {
    {"model", 1, {"mpt-1b", "mpt-1b", "llama3-8b", "mixtral-8x7b"}},
    {"cluster", 1, {"h100-3200", "h100-roce-24k", "a100-80gb-1600", "gb200-nvl72"}},
    {"gpus", 1, {"8", "8", "16"}},
    {"software", 1, {"megatron-2025", "megatron-2024", "torch-fsdp-2024"}},
    {"parallel",
     1,
     {"{tp: 1, pp: 1, dp: auto, zero: 3}", "{tp: 2, pp: 2, dp: auto, zero: 1}",
      "{tp: 4, pp: 2, dp: auto, zero: 1, schedule: interleaved, virtual_stages: 2}",
      "{tp: 8, pp: 1, dp: auto, zero: 2, sequence_parallel: true}",
      "{tp: 2, pp: 1, cp: 2, dp: auto, zero: 1, cp_type: ring}",
      "{tp: 2, pp: 4, dp: auto, zero: 1, schedule: zb-h1}"}},
    {"batch",
     1,
     {"{global: 16, micro: 1, sequence_length: 2048}",
      "{global: 16, micro: 2, sequence_length: 4096}",
      "{global: 16, micro: 1, sequence_length: 4096, document_length: 1024, document_spread: 1}"}},
    {"recompute", 1, {"none", "full", "selective", "{layers: 2}"}},
    {"slow", 6, {"[{rank: 3, speed: 90 %, nic: 50 %, scale_up: 80 %}]", "[{rank: 0, speed: 0.5}]"}},
};

static const struct line run_lines[] = {
    {"  startup", 3, {"10 s", "0 s", "10 min"}},
    {"  queue", 4, {"1 h", "17 days"}},
    {"  first_steps", 4, {"{count: 10, longer: 1 s}", "{count: 1000, longer: 10 ms}"}},
    {"  evaluation", 3, {"{every: 1000 steps, takes: 1 min}", "{every: 10 steps, takes: 1 s}"}},
    {"  maintenance",
     3,
     {"{every: 7 days, takes: 1 h, at: 3 days, checkpoint: true}", "{every: 1 day, takes: 1 min}"}},
    {"  checkpoint",
     1,
     {"{every: 30 min, mode: async, to: memory, peer_every: 2, drain_every: 4, keep: 3}",
      "{every: 100 steps, mode: async}", "{every: 50 steps, mode: blocking, keep: 2}",
      "{every: 1 h}"}},
};

static const struct line failing_lines[] = {
    {"  failures",
     1,
     {"llama3-2024", "rsc1-2024", "infinitehbd-2023",
      "{counts: interruptions, classes: [{name: a, of: gpu, rate: {count: 148, gpus: 16384, "
      "days: 54}, takes: gpu, effect: kills, repair: {mean: 6.5 days, law: lognormal, median: "
      "0.7 days}, returns_bad: 1 %, fails_again: 1 h, bad: {share: 1 %, times: 10, "
      "retired_after: 3}}]}",
      "{counts: interruptions, classes: [{name: b, of: node, rate: {mttf: 10000 h}, takes: node, "
      "effect: slows, speed: 0.9, detected: slow, repair: 1 day}, {name: c, of: nic, rate: "
      "{components: 16384, count: 7, days: 54}, takes: node, effect: degrades, nic: 50 %, "
      "scale_up: 90 %, detected: slow, repair: 1 day}]}",
      "{counts: interruptions, classes: [{name: d, of: node, rate: {per_1000_node_days: 300}, "
      "takes: process, effect: stops, detected: hang}, {name: e, of: gpu, rate: {count: 14, "
      "gpus: 16384, days: 54}, takes: node, ageing: repaired, shape: 0.8, age: 10 days, effect: "
      "kills, repair: 1 h}]}"}},
    {"  spot",
     9,
     {"azure", "{notice: 30 s, rate: {count: 10, components: 100, days: 7}, together: 2, back: "
               "{mean: 57 min, law: lognormal, median: 40 min}}"}},
    {"  recovery",
     2,
     {"{spares: 2, hot_spares: 1, cold_start: 10 min, hands: 2, wrong_diagnosis: 5 %, inspection: "
      "4 h, start: 5 min, start_per_gpu: 3 ms, warm_up: 10 s, detection: {crash: 1 min, hang: "
      "10 min, slow: 1 h, corruption: 30 min}, check: {every: 1 h, takes: 1 min}}",
      "{without_node: elastic, batch: kept, growth: 7 min, detection: {crash: 10 s}}",
      "{spares: 1, start: 1 min}"}},
};

static const struct line repetition_lines[] = {{"  repetitions", 1, {"2", "3", "20"}}};
static const struct line few_repetition_lines[] = {{"  repetitions", 1, {"2", "2", "3"}}};

/* Steps beside loaders are simulated by the hundred, so few scenarios have these. */
static const struct line data_lines[] = {
    {"data",
     24,
     {"{workers_per_gpu: 2, prefetch: 2, time_per_sample: 2 ms, bytes_per_token: 4 B, "
      "memory_per_worker: 1 GB, from: shared, requests: 1, law: lognormal, spread: 1, "
      "samples_per_sequence: 1, tokens: 1T, page_cache: 10 GB, worker_start: 5 s, "
      "shuffle_buffer: 100}",
      "{workers_per_gpu: 1, time_per_sample: 100 ms, bytes_per_token: 2 B, from: shared}"}},
};

static const struct line money_lines[] = {
    {"price",
     2,
     {"{gpu_hour: 2.5 USD, electricity: 0.1 USD/kWh, pue: 1.2, carbon: 0.4 kg/kWh, "
      "storage_gb_month: 0.02 USD, moved_tb: 1 USD, spares: 100 %}",
      "{terms: own, own: {gpu: 30000 USD, life: 5 years, residual: 10 %, hosting: 100 USD/month, "
      "network: 10 %, storage: 5 %, spares: 1 %, utilisation: 80 %}, electricity: 0.1 USD/kWh}",
      "{gpu_hour: 3 USD, terms: reserved, reserved_discount: 10 %, reserved_term: 30 days}"}},
    {"power_cap", 6, {"{gpu: 300 W}", "{gpu: 600 W}"}},
    {"placement", 4, {"packed", "spread"}},
    {"seed", 3, {"42", "4294967295"}},
};

#define LINES(list) list, sizeof(list) / sizeof *(list)

static void print_run(FILE *out, struct rng_key *dice, bool is_small)
{
    static const char *const tokens[] = {"20M", "1G", "50G", "2T", NULL};
    static const char *const few_tokens[] = {"2M", "20M", "200M", "1G", NULL};
    const char *all = draw(dice, is_small ? few_tokens : tokens);
    fprintf(out, "run:\n  tokens: %s\n", all);
    print_lines(out, dice, LINES(run_lines));
    if (strcmp(all, "50G") == 0 && roll(dice, 2) == 0) {
        fprintf(out, "  stages:\n  - {name: one, tokens: 10G}\n  - {name: two, tokens: 40G, "
                     "restart: true, change: 1 min}\n");
    } else if (strcmp(all, "200M") == 0 && roll(dice, 2) == 0) {
        fprintf(out, "  stages:\n  - {name: one, tokens: 50M}\n  - {name: two, tokens: 150M, "
                     "restart: true, change: 1 min}\n");
    }
    if (roll(dice, 2) == 0) {
        print_lines(out, dice, LINES(failing_lines));
        if (is_small) {
            print_lines(out, dice, LINES(few_repetition_lines));
        } else {
            print_lines(out, dice, LINES(repetition_lines));
        }
    }
}

static void print_scenario(FILE *out, struct arena *arena, struct rng_key *dice, bool is_small)
{
    const bool is_named = is_small ? roll(dice, 4) == 0 : roll(dice, 2) != 0;
    if (!is_named) {
        fprintf(out, "%s",
                is_small ? random_scenario_smaller_text(arena, dice->seed, dice->rank)
                         : random_scenario_text(arena, dice->seed, dice->rank));
    } else {
        fprintf(out, "scenario: random %llu of seed %llu\n", (unsigned long long)dice->rank,
                (unsigned long long)dice->seed);
        if (is_small) {
            print_lines(out, dice, LINES(small_named_lines));
        } else {
            print_lines(out, dice, LINES(named_lines));
        }
    }
    if (roll(dice, 4) != 0) {
        print_run(out, dice, is_small);
    }
    if (!is_small || roll(dice, 4) == 0) {
        print_lines(out, dice, LINES(data_lines));
    }
    print_lines(out, dice, LINES(money_lines));
}

void random_whole_scenario(FILE *out, struct arena *arena, struct rng_key *dice)
{
    print_scenario(out, arena, dice, false);
}

void random_whole_small_scenario(FILE *out, struct arena *arena, struct rng_key *dice)
{
    print_scenario(out, arena, dice, true);
}
