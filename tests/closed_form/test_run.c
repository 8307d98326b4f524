/* From a step to a run, against sums done by hand. Quickstart: 64 H100 on 8 nodes, tp 2, dp 32; a
 * step of 256 x 8,192 = 2,097,152 tokens in 8 microbatches a replica. */
#include "run/checkpoint.h"
#include "run/money.h"
#include "run/run.h"

#include "base/absent.h"
#include "base/arena.h"
#include "hw/dataloader.h"
#include "plan/memory/memory.h"
#include "input/catalogue.h"
#include "input/scenario.h"
#include "train/step.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/fixture.h"
#include "support/money_of.h"

enum { SETS_MAX = 8 };

#define STEP_TOKENS INT64_C(2097152)
#define QUICKSTART "scenarios/quickstart.yaml"

static struct scenario *resolve(struct arena *arena, const char *file, const char *const *sets)
{
    return fixture_file(arena, file, sets);
}

static struct scenario *quickstart(struct arena *arena, const char *const sets[SETS_MAX])
{
    return resolve(arena, QUICKSTART, sets);
}

static double step_s(const struct result *result)
{
    return (double)result->step.step_ns * 1e-9;
}

static double wall_s(const struct result *result)
{
    return result->run.days * 86400;
}

/* ---- counting ----------------------------------------------------------------------- */

/* 1T / 2,097,152 = 476,837.2; what is left over takes a step, and no more. */
static void the_last_step_may_be_part_of_one(void **state)
{
    (void)state;
    assert_int_equal(run_steps(1e12, STEP_TOKENS, NULL), 476838);
    assert_int_equal(run_steps(10.0 * (double)STEP_TOKENS, STEP_TOKENS, NULL), 10);
    assert_int_equal(run_steps(10.0 * (double)STEP_TOKENS + 1, STEP_TOKENS, NULL), 11);
    assert_int_equal(run_steps(11.0 * (double)STEP_TOKENS - 1, STEP_TOKENS, NULL), 11);
    assert_int_equal(run_steps(1, STEP_TOKENS, NULL), 1);
}

/* 30 min / 4 s = 450 steps, / 4.1 s = 439.02; one step at least; so many as are asked for. */
static void an_interval_is_whole_steps(void **state)
{
    (void)state;
    const struct checkpoint half_hour = {.is_enabled = true, .every_s = 1800};
    const struct checkpoint in_steps = {.is_enabled = true, .every_s = 0, .every_steps = 500};
    assert_int_equal(checkpoint_interval(&half_hour, 4.0), 450);
    assert_int_equal(checkpoint_interval(&half_hour, 4.1), 439);
    assert_int_equal(checkpoint_interval(&half_hour, 1801), 1);
    assert_int_equal(checkpoint_interval(&in_steps, 4.1), 500);
}

/* The key is of the resolved text, the build and the seed. */
static void a_key_is_of_text_build_and_seed(void **state)
{
    (void)state;
    struct scenario scenario = {.resolved_text = "{gpus: 8}", .seed = 42};
    char keys[5][17];
    run_key(&scenario, "a", keys[0]);
    run_key(&scenario, "a", keys[1]);
    run_key(&scenario, "b", keys[2]);
    scenario.seed = 43;
    run_key(&scenario, "a", keys[3]);
    scenario = (struct scenario){.resolved_text = "{gpus: 9}", .seed = 42};
    run_key(&scenario, "a", keys[4]);
    assert_int_equal(strlen(keys[0]), 16);
    assert_string_equal(keys[0], keys[1]);
    for (uint32_t i = 2; i < 5; i++) {
        assert_string_not_equal(keys[0], keys[i]);
    }
}

/* ---- storage -------------------------------------------------------------------------- */

/* 1 TB of 64 GPUs: 8 nodes x 10 GB/s = 80 GB/s take 12.5 s; a file system of 40 GB/s 25 s. */
static void the_file_system_or_the_nodes_limit_writing(void **state)
{
    const char *const sets[SETS_MAX] = {"cluster.storage.write=100 GB/s"};
    struct scenario *scenario = quickstart(*state, sets);
    assert_close(checkpoint_persist_s(*state, scenario, 1e12), 12.5, 1e-9);
    scenario->cluster.storage_write_bytes_per_s = 40e9;
    assert_close(checkpoint_persist_s(*state, scenario, 1e12), 25, 1e-9);
}

/* A storage of 625 MB/s for each node: 64 GPUs on 8 nodes have 5 GB/s, 512 on 64 nodes 40 GB/s, and
 * a cluster of 100 nodes has what it was built with, whoever uses it. A stated bandwidth holds for
 * any number. */
static void storage_grows_with_the_cluster(void **state)
{
    const char *const cases[][2] = {{"gpus=64", NULL},
                                    {"gpus=512", NULL},
                                    {"gpus=64", "cluster.nodes=100"},
                                    {"gpus=512", "cluster.storage.write=7 GB/s"}};
    const double rates[] = {5e9, 40e9, 62.5e9, 7e9};
    for (uint32_t i = 0; i < 4; i++) {
        const char *const sets[SETS_MAX] = {cases[i][0], cases[i][1]};
        const struct scenario *scenario = quickstart(*state, sets);
        assert_close(scenario->cluster.storage_write_bytes_per_s, rates[i], 1e-12);
        assert_close(checkpoint_persist_s(*state, scenario, 1e12), 1e12 / rates[i], 1e-6);
    }
}

/* BLOOM's 2.3 TB took 40 s: 57.5 GB/s, less than 48 nodes x 10 GB/s. DeepSpeed has the first of 8
 * replicas write the weights, too: when the others' shards are written its nodes have 10 GB/s each,
 * and are not done for another moment. */
static void a_checkpoint_of_bloom_takes_40_s(void **state)
{
    const struct scenario *scenario = resolve(*state, "scenarios/bloom-176b-384.yaml", NULL);
    const double persist_s = checkpoint_persist_s(*state, scenario, 2.3e12);
    assert_true(persist_s > 40);
    assert_close(persist_s, 40, 0.01);
}

/* Who writes: tp 2, dp 32 on 8 nodes; weights are 2 of 14 bytes, states 12, of a tensor rank half.
 * `first`: two ranks of node 0 write 7/14 each, through one node's 10 GB/s: 1.4 TB take 140 s.
 * `holders`, ZeRO 0: the same. ZeRO 1: 64 ranks write 12/14 (18.75 GB each), those two the weights,
 * too (100 GB each): node 0 has 150 + 200 GB, 35 s. ZeRO 3: all write the same, 17.5 s; `shared`
 * 17.5 s whatever ZeRO does. */
static void whoever_holds_the_shards_writes_them(void **state)
{
    const struct {
        const char *writers, *zero;
        double persist_s;
    } cases[] = {
        {"software.checkpoint.writers=first", "parallel.zero=0", 140},
        {"software.checkpoint.writers=first", "parallel.zero=1", 140},
        {"software.checkpoint.writers=holders", "parallel.zero=0", 140},
        {"software.checkpoint.writers=holders", "parallel.zero=1", 35},
        {"software.checkpoint.writers=holders", "parallel.zero=2", 35},
        {"software.checkpoint.writers=holders", "parallel.zero=3", 17.5},
        {"software.checkpoint.writers=shared", "parallel.zero=0", 17.5},
        {"software.checkpoint.writers=shared", "parallel.zero=1", 17.5},
        {"software.checkpoint.writers=shared", "parallel.zero=3", 17.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const sets[SETS_MAX] = {cases[i].writers, cases[i].zero,
                                            "cluster.storage.write=100 GB/s"};
        const struct scenario *scenario = quickstart(*state, sets);
        assert_close(checkpoint_persist_s(*state, scenario, 1.4e12), cases[i].persist_s, 1e-9);
    }
}

/* A step that ends with a blocking checkpoint is longer by what its bytes take alone, less what a
 * stage writes while the other computes, whoever writes them; to the nanosecond the same whether
 * GPUs fold or not. */
static void a_step_ends_with_what_its_ranks_write(void **state)
{
    const char *const writers[] = {"software.checkpoint.writers=first",
                                   "software.checkpoint.writers=holders",
                                   "software.checkpoint.writers=shared"};
    for (size_t i = 0; i < 3; i++) {
        const char *const sets[SETS_MAX] = {writers[i], "run.checkpoint.mode=blocking",
                                            "parallel.pp=2", "parallel.tp=4"};
        const struct scenario *scenario = quickstart(*state, sets);
        struct step_result usual, folded, full;
        const struct ensemble_member member = {0, 0};
        struct step_request request = {.folds = true, .member = &member};
        step_simulate(*state, scenario, &request, &usual);
        request.checkpoint_bytes = 1e12;
        step_simulate(*state, scenario, &request, &folded);
        request.folds = false;
        step_simulate(*state, scenario, &request, &full);
        assert_int_equal(folded.step_ns, full.step_ns);
        for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
            assert_int_equal(folded.gpu_ns[cause], full.gpu_ns[cause]);
        }
        const double alone_s = checkpoint_persist_s(*state, scenario, 1e12);
        assert_close((double)(folded.step_ns - usual.step_ns) * 1e-9, alone_s, 0.01);
    }
}

/* 8.03e9 parameters x (2 weights + 4 master + 8 moments) = 112.4 GB. While it is written nobody
 * works: 8 nodes x 10 GB/s = 80 GB/s take 1.405 s; with 50 GB/s a node the file system's 100 GB/s
 * 1.124 s; at 62.5 GB/s 1.799 s. (A rank's share goes through its own PCIe in 28 ms.) */
static void a_blocking_checkpoint_takes_bytes_over_bandwidth(void **state)
{
    const struct {
        const char *node, *write;
        double rate;
    } cases[] = {
        {"cluster.storage.per_node=10 GB/s", "cluster.storage.write=100 GB/s", 80e9},
        {"cluster.storage.per_node=50 GB/s", "cluster.storage.write=100 GB/s", 100e9},
        {"cluster.storage.per_node=10 GB/s", "cluster.storage.write=62.5 GB/s", 62.5e9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const sets[SETS_MAX] = {"run.checkpoint.mode=blocking", cases[i].node,
                                            cases[i].write};
        const struct result *result = fixture_predict(*state, quickstart(*state, sets));
        assert_close(result->run.checkpoint_bytes, 14 * 8.03e9, 1e-3);
        assert_close(result->run.checkpoint_s, result->run.checkpoint_bytes / cases[i].rate, 1e-6);
    }
}

/* Of an asynchronous one the copy to host memory blocks: a 64th of it over 63 GB/s. */
static void an_asynchronous_checkpoint_blocks_for_the_copy(void **state)
{
    const struct result *result = fixture_predict(*state, quickstart(*state, NULL));
    const double copy_s = result->run.checkpoint_bytes / 64 / 63e9;
    assert_close(result->run.checkpoint_s, copy_s, 1e-6);
}

/* Written at 100 MB/s it takes 1,124 s, and every 100 steps of 3.83 s = 383 s is one due: each
 * waits 741 s for the one before, and is copied meanwhile. With 300 steps (1,150 s) between them
 * none does; nor does one that blocks until it is written, and so for 1,124 s. */
static void a_late_checkpoint_is_waited_for(void **state)
{
    const char *const sets[SETS_MAX] = {"cluster.storage.write=100 MB/s"};
    struct scenario *scenario = quickstart(*state, sets);
    scenario->checkpoint.every_steps = 100;
    const struct result *late = fixture_predict(*state, scenario);
    const double persist_s = late->run.checkpoint_bytes / 100e6;
    assert_true(persist_s > 1100 && persist_s < 1150);
    assert_close(late->run.checkpoint_s, persist_s - 100 * step_s(late), 1e-6);
    scenario->checkpoint.every_steps = 300;
    const double copy_s = late->run.checkpoint_bytes / 64 / 63e9;
    assert_close(fixture_predict(*state, scenario)->run.checkpoint_s, copy_s, 1e-6);
    scenario->checkpoint =
        (struct checkpoint){.is_enabled = true, .every_steps = 100, .mode = CHECKPOINT_BLOCKING};
    assert_close(fixture_predict(*state, scenario)->run.checkpoint_s, persist_s, 1e-6);
}

/* What is flushed over the training's NICs takes ceil(write / step) steps, each with its part of
 * the bytes, and what each is longer. At 0.52 GB/s 112.4 GB take 216 s: of steps of 55 s, behind
 * NICs of 1 Gbps that a step gets in full, four. These NICs, 112.5 MB/s at 90 %, are what the
 * steps wait for: the 1.757 GB of each come on top, 15.6 s; less what is written while a step only
 * computes, at most 4 x 3.81 s x 0.52 GB/s / 64 = 0.124 GB: 14.5 s. */
static void a_flush_beside_training_costs_what_its_steps_are_longer(void **state)
{
    const char *const sets[SETS_MAX] = {
        "cluster.storage.network=fabric",        "cluster.storage.write=0.52 GB/s",
        "cluster.nics.bandwidth=1 Gbps",         "run.checkpoint.every=5000 steps",
        "software.communication.staging=1 PB/s", "data=off"};
    struct scenario *scenario = quickstart(*state, sets);
    const struct result *result = fixture_predict(*state, scenario);
    const double bytes = result->run.checkpoint_bytes;
    const double steps = ceil(bytes / 0.52e9 / step_s(result));
    assert_close(steps, 4, 0);
    const struct ensemble_member member = {(uint64_t)scenario->seed, result->step.spread.median};
    struct step_result beside;
    step_simulate(*state, scenario,
                  &(struct step_request){.folds = true,
                                         .member = &member,
                                         .is_checkpoint_async = true,
                                         .flush_bytes = bytes / steps},
                  &beside);
    const double longer_s = (double)beside.step_ns * 1e-9 - step_s(result);
    assert_close(result->run.checkpoint_s, bytes / 64 / 63e9 + steps * longer_s, 1e-6);
    const double all_s = bytes / 64 / 112.5e6;
    assert_true(steps * longer_s < all_s);
    assert_true(steps * longer_s > all_s - 0.1239e9 / 112.5e6);
}

/* The same of what goes on from hosts' memory, of every second checkpoint: as many bytes by the
 * same NICs in as many steps, for two checkpoints. What goes to a peer by NICs of 112.5 MB/s takes
 * 15.6 s, one step of 55 s. */
static void what_goes_on_to_the_next_tier_makes_steps_longer(void **state)
{
    const char *const sets[SETS_MAX] = {"cluster.storage.network=fabric",
                                        "cluster.storage.write=0.52 GB/s",
                                        "cluster.nics.bandwidth=1 Gbps",
                                        "run.checkpoint.every=5000 steps",
                                        "run.checkpoint.to=memory",
                                        "run.checkpoint.drain_every=2",
                                        "software.communication.staging=1 PB/s"};
    struct scenario *scenario = quickstart(*state, sets);
    const struct run_result run = fixture_predict(*state, scenario)->run;
    const double copy_s = run.checkpoint_bytes / 64 / 63e9;
    const double drains_s = run.checkpoint_s - copy_s;
    scenario->checkpoint.target = CHECKPOINT_SHARED;
    scenario->checkpoint.drain_every = 0;
    const double flushes_s = fixture_predict(*state, scenario)->run.checkpoint_s - copy_s;
    assert_close(drains_s, flushes_s / 2, 1e-6);
    scenario->checkpoint.target = CHECKPOINT_PEER;
    scenario->cluster.storage_network = STORAGE_ON_OWN_NETWORK;
    const struct result *peer = fixture_predict(*state, scenario);
    const struct ensemble_member member = {(uint64_t)scenario->seed, peer->step.spread.median};
    const struct step_request request = {.folds = true,
                                         .member = &member,
                                         .is_checkpoint_async = true,
                                         .flush_bytes = run.checkpoint_bytes};
    struct step_result beside;
    step_simulate(*state, scenario, &request, &beside);
    assert_close(peer->run.checkpoint_s, copy_s + (double)beside.step_ns * 1e-9 - step_s(peer),
                 1e-6);
}

/* ---- the whole ------------------------------------------------------------------------- */

/* 25 steps with a checkpoint every 10: after 10 and 20. Steps, checkpoints, nothing else. */
static void a_run_is_its_steps_and_checkpoints(void **state)
{
    const char *const sets[SETS_MAX] = {"run.checkpoint.mode=blocking", "data=off"};
    struct scenario *scenario = quickstart(*state, sets);
    scenario->run_tokens = 25.0 * (double)STEP_TOKENS;
    scenario->checkpoint.every_steps = 10;
    const struct result *result = fixture_predict(*state, scenario);
    const struct run_result *run = &result->run;
    assert_int_equal(run->steps, 25);
    assert_int_equal(run->checkpoints, 2);
    assert_close(wall_s(result), 25 * step_s(result) + 2 * run->checkpoint_s, 1e-12);
    assert_close(run->goodput, 25 * step_s(result) / wall_s(result), 1e-12);
    assert_close(run->gpu_hours, 64 * wall_s(result) / 3600, 1e-12);
    scenario->run_tokens = 9.0 * (double)STEP_TOKENS;
    const struct result *brief = fixture_predict(*state, scenario);
    assert_int_equal(brief->run.checkpoints, 0);
    assert_close(brief->run.goodput, 1, 1e-12);
}

static struct scenario powered(void)
{
    return (struct scenario){
        .gpus = 8,
        .nodes = 1,
        .gpu = {.tdp_w = 700, .busy_power_fraction = 0.8, .idle_power_fraction = 0.2},
        .cluster = {.host_power_w = 2000, .nodes_per_leaf = 1, .oversubscription = 1},
        .price = {.pue = 1.25}};
}

/* Of 8 x 1,000 ns kernels run 2,000 + 1,000 + 600 + 400: half. A GPU draws 700 x (0.8 / 2 + 0.2 /
 * 2) = 350 W, and 1.25 x (8 x 350 + 2,000) = 6,000 W. All busy: 1.25 x (8 x 560 + 2,000) = 8,100
 * W; all idle: 1.25 x (8 x 140 + 2,000) = 3,900 W. Two nodes of 8 draw twice as much. */
static void power_follows_the_kernels(void **state)
{
    (void)state;
    struct scenario scenario = powered();
    struct step_result step = {.step_ns = 1000};
    step.gpu_ns[CAUSE_COMPUTE] = 2000;
    step.gpu_ns[CAUSE_RECOMPUTE] = 1000;
    step.gpu_ns[CAUSE_OPTIMIZER] = 600;
    step.gpu_ns[CAUSE_INTERFERENCE] = 400;
    step.gpu_ns[CAUSE_BUBBLE] = 4000;
    assert_close(power_w(&scenario, &step), 6000, 1e-12);
    const struct step_result busy = {.step_ns = 1000, .gpu_ns = {[CAUSE_COMPUTE] = 8000}};
    assert_close(power_w(&scenario, &busy), 8100, 1e-12);
    const struct step_result idle = {.step_ns = 1000, .gpu_ns = {[CAUSE_EXPOSED_DP] = 8000}};
    assert_close(power_w(&scenario, &idle), 3900, 1e-12);
    scenario.gpus = 16;
    scenario.nodes = 2;
    const struct step_result twice = {.step_ns = 1000, .gpu_ns = {[CAUSE_COMPUTE] = 16000}};
    assert_close(power_w(&scenario, &twice), 16200, 1e-12);
}

/* At 2 USD a GPU-hour and 0.10 USD/kWh: GPU-hours x 2 + kWh x 0.1, and kWh = kW x hours. */
static void money_is_gpus_and_electricity(void **state)
{
    const char *const sets[SETS_MAX] = {"price.gpu_hour=2.00 USD", "price.electricity=0.10 USD/kWh",
                                        "price.pue=1.5"};
    const struct scenario *scenario = quickstart(*state, sets);
    const struct result *result = fixture_predict(*state, scenario);
    const struct run_result *run = &result->run;
    const double hours = wall_s(result) / 3600;
    const double kw = power_w(scenario, &result->step) / 1000;
    const double waiting_kw = waiting_power_w(scenario) / 1000;
    const double blocked =
        ((double)run->checkpoints * run->checkpoint_s + run->first_batch_s) / 3600;
    assert_true(blocked > 0 && waiting_kw < kw);
    assert_true(kw > 64 * 0.1 * 1.5 && kw < (64 * 0.7 + 8 * 2.8) * 1.5);
    const double kwh = kw * (hours - blocked) + waiting_kw * blocked;
    assert_close(run->energy_kwh, kwh, 1e-12);
    assert_close(run->cost_usd, 64 * hours * 2 + kwh * 0.1, 1e-12);
}

/* Rent or buy, the first by hand: 40,000 / (2.5 x 730 x 0.8 - (1.3 x 1.2 x 0.08 x 730 + 130)) =
 * 40,000 / (1,460 - 221.1) = 32.287 months. At 10 % of the time rent is 182.50 USD a month, less
 * than the 221.10 that running it takes. */
static void buying_breaks_even_with_rent_or_never(void **state)
{
    (void)state;
    static const struct {
        struct money_choice choice;
        double months; /* 0: never */
    } rows[] = {
        {{40000, 2.5, 0.8, 1.3, 1.2, 0.08, 130, 0}, 32.2868},
        {{40000, 2.5, 0.4, 1.3, 1.2, 0.08, 130, 0}, 78.6015},
        {{55000, 4, 0.8, 1.9, 1.15, 0.06, 180, 0}, 26.6952},
        {{40000, 2.5, 0.1, 1.3, 1.2, 0.08, 130, 0}, 0},
        {{40000, 1, 0.5, 0, 1, 0, 365, 0}, 0}, /* a bracket of nothing */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double months = money_break_even_months(&rows[i].choice, NULL);
        assert_int_equal(is_absent(months), rows[i].months == 0);
        if (rows[i].months > 0) {
            assert_close(months, rows[i].months, 2e-6);
        }
    }
}

/* 36,000 USD for a GPU, a quarter more for network and storage, a tenth more for spares: 49,500
 * USD, of which a fifth comes back: 39,600 over five years of 8,760 h, 0.90411 USD an hour. Hosting
 * of 146 USD for 1.1 GPUs over 730 h: 0.22. Working half of the time an hour costs twice that, and
 * the hour without work what waiting draws: 1.25 x (700 x 0.2 + 2,000 / 8) = 487.5 W at 0.2 USD. */
static void owning_is_paid_by_the_hours_of_work(void **state)
{
    (void)state;
    struct scenario scenario = powered();
    scenario.cluster.gpus_per_node = 8;
    scenario.price.own = (struct ownership){.is_told = true,
                                            .electricity_usd_per_kwh = 0.2,
                                            .gpu_usd = 36000,
                                            .life_s = 5 * 8760 * 3600.0,
                                            .residual = 0.2,
                                            .hosting_usd_per_month = 146,
                                            .network = 0.2,
                                            .storage = 0.05,
                                            .spares = 0.1,
                                            .utilisation = 0.5};
    assert_close(money_capital_usd(&scenario, NULL), 49500, 1e-12);
    const double held = 39600 / (5 * 8760.0) + 0.22;
    assert_close(owned_hour_usd(&scenario), 2 * held + 0.4875 * 0.2, 1e-12);
    scenario.price.own.gpu_usd = 0;
    scenario.price.own.node_usd = 288000;
    assert_close(money_capital_usd(&scenario, NULL), 49500, 1e-12);
    scenario.price.own.utilisation = 1;
    assert_close(owned_hour_usd(&scenario), held, 1e-12);
}

/* Eight GPUs for ten hours at 2 USD: 160. Reserved at 40 % less 96, and for a term of 20 hours
 * twice that, but not where the run is longer than its term. Spot at 0.5 USD: 40. Electricity goes
 * on top. */
static void terms_say_which_hours_are_paid_and_at_what_price(void **state)
{
    (void)state;
    struct scenario scenario = powered();
    struct price *price = &scenario.price;
    price->gpu_hour_usd = 2;
    price->reserved_discount = 0.4;
    price->spot_gpu_hour_usd = 0.5;
    assert_close(cost_usd(&scenario, (struct money_use){36000, 36000, 0}), 160, 1e-12);
    price->terms = TERMS_RESERVED;
    assert_close(cost_usd(&scenario, (struct money_use){36000, 36000, 0}), 96, 1e-12);
    price->reserved_term_s = 72000;
    assert_close(cost_usd(&scenario, (struct money_use){36000, 36000, 0}), 192, 1e-12);
    assert_close(cost_usd(&scenario, (struct money_use){144000, 144000, 0}), 384, 1e-12);
    price->terms = TERMS_SPOT;
    price->electricity_usd_per_kwh = 0.1;
    assert_close(cost_usd(&scenario, (struct money_use){36000, 36000, 100}), 50, 1e-12);
    price->gpu_hour_usd = ABSENT;
    assert_true(money_is_priced(&scenario));
    price->terms = TERMS_RESERVED;
    assert_true(is_absent(cost_usd(&scenario, (struct money_use){36000, 36000, 100})));
}

/* Ten checkpoints of 112.4 GB at 0.02 USD per GB and month ask for 10 x 112.4 / 0.8 = 1,405 GB. Of
 * 40 on nodes' drives every third goes on, 13 times 0.1124 TB at 5 USD; where all are kept these 13
 * are rented, not 40. No step is longer; without a price of GPUs there is that of storage alone. */
static void storage_is_rented_by_what_is_kept_and_paid_by_what_is_moved(void **state)
{
    const struct {
        const char *const sets[SETS_MAX];
        double kept, moved, usd_per_gb, usd_per_tb;
    } cases[] = {
        {{"price.storage_gb_month=0.02 USD", "run.checkpoint.keep=10", NULL}, 10, 0, 0.02, 0},
        {{"price.moved_tb=5 USD", NULL}, 0, 40, 0, 5},
        {{"price.storage_gb_month=0.02 USD", "price.moved_tb=5 USD", "cluster.storage.usable=50 %",
          "cluster.storage.local_write=50 GB/s", "run.checkpoint.to=local",
          "run.checkpoint.drain_every=3", NULL},
         13,
         13,
         0.02,
         5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scenario *scenario = quickstart(*state, cases[i].sets);
        scenario->checkpoint.every_steps = 100;
        scenario->run_tokens = 4050.0 * (double)STEP_TOKENS;
        const struct run_result *run = &fixture_predict(*state, scenario)->run;
        assert_int_equal(run->checkpoints, 40);
        const double months = run->days * 24 / 730;
        const double usable = i == 2 ? 0.5 : 0.8;
        const double bytes = run->checkpoint_bytes;
        assert_close(run->storage_usd,
                     cases[i].kept * bytes / 1e9 / usable * cases[i].usd_per_gb * months +
                         cases[i].moved * bytes / 1e12 * cases[i].usd_per_tb,
                     1e-12);
        assert_close(run->cost_usd, run->gpu_hours * 2.5 + run->storage_usd, 1e-12);
        scenario->price.gpu_hour_usd = ABSENT;
        const struct run_result *unpriced = &fixture_predict(*state, scenario)->run;
        assert_true(is_absent(unpriced->cost_usd));
        assert_close(unpriced->storage_usd, run->storage_usd, 1e-12);
    }
    assert_true(is_absent(fixture_predict(*state, quickstart(*state, NULL))->run.storage_usd));
}

/* Of the run of owned GPUs, cost is GPU-hours x owning; months are those of its own mean power. */
static void a_run_on_owned_gpus_costs_what_owning_does(void **state)
{
    const char *const own = "price.own={gpu: 40000 USD, network: 0, electricity: 0.10 USD/kWh, "
                            "hosting: 130 USD/month, utilisation: 75 %, life: 4 years}";
    const char *const sets[SETS_MAX] = {"price.electricity=0.30 USD/kWh", "price.pue=1.5",
                                        "price.terms=own", own};
    const struct scenario *scenario = quickstart(*state, sets);
    const struct result *result = fixture_predict(*state, scenario);
    const struct run_result *run = &result->run;
    assert_close(run->cost_usd, run->gpu_hours * run->owned_gpu_hour_usd, 1e-12);
    const double waiting_kw = waiting_power_w(scenario) / 1000 / 64;
    const double held = 40000 / (4 * 8760.0) + 130 / 730.0;
    assert_close(run->owned_gpu_hour_usd,
                 (held + waiting_kw * 0.1 / 4) / 0.75 + run->energy_kwh * 0.1 / run->gpu_hours,
                 1e-12);
    const double kw = 0.75 * run->energy_kwh / run->gpu_hours + 0.25 * waiting_kw; /* with pue */
    assert_close(run->break_even_months, 40000 / (2.5 * 730 * 0.75 - (kw * 0.1 * 730 + 130)),
                 1e-12);
    const char *const rent[SETS_MAX] = {"price.electricity=0.10 USD/kWh"};
    assert_true(
        is_absent(fixture_predict(*state, quickstart(*state, rent))->run.owned_gpu_hour_usd));
}

/* Papers multiply GPU-hours by TDP: BLOOM's 1,082,990 hours of 400 W are 433,196 kWh; Llama 3.1's
 * 39.3 million of 700 W at 0.414 kg/kWh 11,389 t. Neither is a measurement. */
static void papers_count_gpu_hours_at_tdp(void **state)
{
    static const struct {
        const char *sets[SETS_MAX];
        double gpu_hours, kwh, carbon_t;
    } rows[] = {
        {{"gpu=a100-sxm4-80gb", "price.carbon=57 g/kWh"}, 1082990, 433e3, 24.7},
        {{"price.carbon=414 g/kWh"}, 39.3e6, 39.3e6 * 0.7, 11390},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct scenario *scenario = quickstart(*state, rows[i].sets);
        const struct run_result *run = &fixture_predict(*state, scenario)->run;
        const double scale = rows[i].gpu_hours / run->gpu_hours;
        assert_close(run->rated_kwh * scale, rows[i].kwh, 1e-3);
        assert_close(run->rated_carbon_kg * scale / 1000, rows[i].carbon_t, 1e-3);
        assert_close(run->carbon_kg / run->energy_kwh, scenario->price.carbon_kg_per_kwh, 1e-12);
    }
}

/* Of 8 GPUs at 700 W and a node of 2 kW, pue 1.25: in 10,000 s of steps, of which 1,000 wait for
 * data, kernels run half of the time; 1,000 s of checkpoints follow. Kernels: 8 x 560 W x 5,000 s;
 * waiting: 8 x 140 W x 6,000 s; the node 2 kW x 11,000 s, of it 200 W NICs (8 x (20 + 5)), 140 W
 * switches (8 x (12.5 + 5)), 60 W storage and 1.6 kW the rest; the facility a quarter of these.
 * All kernels are on the account of useful steps, half of 10,000 s; of the waiting of 6,000 s it
 * has 4,000, the other two 1,000 each; of all else by time. */
static void energy_goes_to_components_and_accounts(void **state)
{
    (void)state;
    struct scenario scenario = powered();
    scenario.price.carbon_kg_per_kwh = ABSENT;
    scenario.price.gpu_hour_usd = ABSENT;
    scenario.cluster.fabric_kind = FABRIC_RAIL_ONLY;
    scenario.cluster.host_power_w = 1600;
    scenario.cluster.nics_per_node = 8;
    scenario.cluster.nic_power_w = 20;
    scenario.cluster.optics_power_w = 5;
    scenario.cluster.port_power_w = 12.5;
    scenario.cluster.storage_power_each_w = 60;
    const struct step_result step = {.step_ns = 1000,
                                     .gpu_ns = {[CAUSE_COMPUTE] = 4000, [CAUSE_BUBBLE] = 4000}};
    struct run_result run = {
        .gpu_hours = 8 * 11000 / 3600.0,
        .account_s = {
            [ACCOUNT_USEFUL] = 9000, [ACCOUNT_DATA_STALL] = 1000, [ACCOUNT_CHECKPOINT] = 1000}};
    add_money(&scenario, &step, 11000, &run);
    static const double kw[COMPONENT_COUNT_] = {
        [COMPONENT_GPU_WORKING] = 8 * 0.56,
        [COMPONENT_GPU_WAITING] = 8 * 0.14,
        [COMPONENT_HOST] = 1.6,
        [COMPONENT_NIC] = 0.2,
        [COMPONENT_SWITCH] = 0.14,
        [COMPONENT_STORAGE] = 0.06,
    };
    for (uint32_t i = 0; i < COMPONENT_FACILITY; i++) {
        const bool works = i == COMPONENT_GPU_WORKING;
        const bool waits = i == COMPONENT_GPU_WAITING;
        const double useful_s = works ? 5000 : waits ? 4000 : 9000;
        const double other_s = works ? 0 : 1000;
        assert_close(run.component_kwh[i], kw[i] * (useful_s + 2 * other_s) / 3600, 1e-12);
        assert_close(run.accounts[0].component_kwh[i], kw[i] * useful_s / 3600, 1e-12);
        assert_close(run.accounts[1].component_kwh[i], kw[i] * other_s / 3600, 1e-12);
        assert_close(run.accounts[2].component_kwh[i], kw[i] * other_s / 3600, 1e-12);
    }
    assert_close(run.energy_kwh, (6 * 10000 + 3.9 * 1000) / 3600, 1e-12);
    assert_close(run.component_kwh[COMPONENT_FACILITY], run.energy_kwh / 5, 1e-12);
    assert_int_equal(run.account_count, 3);
    assert_string_equal(run.accounts[2].name, account_names[ACCOUNT_CHECKPOINT]);
    assert_close(run.accounts[1].energy_kwh, 3.9 * 1000 / 3600, 1e-12); /* waiting for data */
    assert_close(run.accounts[0].energy_kwh, (60 - 3.9) * 1000 / 3600, 1e-12);
    assert_close(run.accounts[2].energy_kwh, 3.9 * 1000 / 3600, 1e-12);
    assert_true(is_absent(run.carbon_kg) && is_absent(run.cost_usd));
}

/* gh200-96gb has no price of its own. What costs nothing says so, and electricity alone is no cost
 * of a run whose GPUs have no price. */
static void what_has_no_price_has_no_cost(void **state)
{
    static const struct {
        const char *sets[SETS_MAX];
        bool has_cost;
    } cases[] = {
        {{"gpu=gh200-96gb", NULL}, false},
        {{"gpu=gh200-96gb", "price.electricity=0.10 USD/kWh"}, false},
        {{"gpu=gh200-96gb", "price.gpu_hour=0 USD"}, true},
        {{"gpu=gh200-96gb", "price.gpu_hour=1 USD"}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct result *result = fixture_predict(*state, quickstart(*state, cases[i].sets));
        const double expected = i == 3 ? result->run.gpu_hours : 0;
        assert_int_equal(is_absent(result->run.cost_usd), !cases[i].has_cost);
        assert_true(result->run.energy_kwh > 0);
        if (cases[i].has_cost) {
            assert_close(result->run.cost_usd, expected, 1e-12);
        }
    }
}

static void a_step_alone_has_no_run(void **state)
{
    struct scenario *scenario = quickstart(*state, NULL);
    scenario->run_tokens = 0;
    const struct result *result = fixture_predict(*state, scenario);
    assert_false(result->run.is_asked);
    assert_int_equal(result->run.steps, 0);
}

/* ---- data ---------------------------------------------------------------------------- */

/* Four workers, 4 s a sequence: 8 microbatches take 8 x 4 / 4 = 8 s, and the first step waits 4 s
 * for its first. Every 85 s, ten of these steps, a checkpoint, copied in 28 ms in which loaders go
 * on: it costs nothing. Of a step what is not data is good: as much as without data, but that
 * reductions under way in a stall disturb nobody. */
static void a_stalled_run_waits_in_every_step_and_once_at_first(void **state)
{
    const char *const sets[SETS_MAX] = {"data.time_per_sample=4 s", "data.bytes_per_token=0 B",
                                        "data.workers_per_gpu=4", "run.checkpoint.every=85 s"};
    struct scenario *scenario = quickstart(*state, sets);
    scenario->run_tokens = 100.0 * (double)STEP_TOKENS;
    const struct result *usual = fixture_predict(*state, quickstart(*state, NULL));
    const struct step_result *alone = &usual->step;
    const double alone_s = step_s(usual);
    const struct result *result = fixture_predict(*state, scenario);
    const struct run_result *run = &result->run;
    assert_close(step_s(result), 8, 1e-7);
    const double disturbed_s =
        1e-9 / 64 * (double)(alone->gpu_ns[CAUSE_INTERFERENCE] + alone->gpu_ns[CAUSE_EXPOSED_TP]);
    assert_true(run->data_stall_s >= 8 - alone_s - 1e-6);
    assert_true(run->data_stall_s < 8 - alone_s + disturbed_s);
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        if (c != CAUSE_DATA_STALL && c != CAUSE_INTERFERENCE && c != CAUSE_EXPOSED_TP) {
            assert_close((double)result->step.gpu_ns[c], (double)alone->gpu_ns[c], 1e-7);
        }
    }
    assert_int_equal(run->checkpoints, 10);
    assert_close(run->checkpoint_s, 0, 0);
    assert_close(wall_s(result), 100 * step_s(result) + 4, 1e-9);
    assert_close(run->goodput, 100 * (8 - run->data_stall_s) / wall_s(result), 1e-6);
}

/* A loader that keeps up costs its first batch alone: 1 s of one of 4 workers. */
static void a_loader_that_keeps_up_costs_its_first_batch(void **state)
{
    const char *const sets[SETS_MAX] = {"data.time_per_sample=1 s", "data.bytes_per_token=0 B",
                                        "data.workers_per_gpu=4", "run.checkpoint=off"};
    struct scenario *scenario = quickstart(*state, sets);
    scenario->run_tokens = 10.0 * (double)STEP_TOKENS;
    const struct result *result = fixture_predict(*state, scenario);
    assert_close(result->run.data_stall_s, 0, 0);
    assert_close(wall_s(result), 10 * step_s(result) + 1, 1e-12);
}

/* Ten minutes of start are paid once: 600 s of 64 GPUs are 10.67 GPU-hours; no step is longer. */
static void the_start_of_a_job_is_paid_once(void **state)
{
    const char *const sets[SETS_MAX] = {"run.startup=10 min"};
    const struct result *without = fixture_predict(*state, quickstart(*state, NULL));
    const struct result *with = fixture_predict(*state, quickstart(*state, sets));
    assert_close(step_s(with), step_s(without), 0);
    assert_close(wall_s(with), wall_s(without) + 600, 1e-12);
    assert_close(with->run.gpu_hours - without->run.gpu_hours, 64.0 / 6, 1e-6);
    assert_close(with->run.goodput, without->run.goodput * wall_s(without) / wall_s(with), 1e-12);
}

/* A step reads 256 x 8,192 x 50 kB = 104.86 GB: at 10 GB/s 10.486 s, whoever reads how much at a
 * time: workers share the file system's bandwidth. */
static void reading_takes_bytes_over_bandwidth(void **state)
{
    const char *const cuts[][2] = {{"data.workers_per_gpu=2", "batch.micro=1"},
                                   {"data.workers_per_gpu=5", "batch.micro=1"},
                                   {"data.workers_per_gpu=2", "batch.micro=2"}};
    for (uint32_t i = 0; i < 3; i++) {
        const char *const sets[SETS_MAX] = {"data.time_per_sample=0 s",
                                            "data.bytes_per_token=50 kB",
                                            "cluster.storage.read=10 GB/s",
                                            "recompute=full",
                                            cuts[i][0],
                                            cuts[i][1]};
        const struct result *result = fixture_predict(*state, quickstart(*state, sets));
        assert_close(step_s(result), 256.0 * 8192 * 50e3 / 10e9, 1e-6);
        assert_non_null(strstr(result->step.bound_by, "over file system, reading (100 %"));
    }
}

/* Four replicas load on each node, 13.1 GB of a step's 104.86: a storage link of 1 GB/s takes
 * 13.1 s, while the file system would do with 10.49 s; at 1.5 GB/s that is what counts. */
static void a_nodes_storage_link_limits_reading(void **state)
{
    const char *const links[] = {"cluster.storage.per_node=1 GB/s",
                                 "cluster.storage.per_node=1.5 GB/s"};
    const double rates[] = {8e9, 10e9};
    const char *const titles[] = {"node's storage link (100 %", "file system, reading (100 %"};
    for (uint32_t i = 0; i < 2; i++) {
        const char *const sets[SETS_MAX] = {
            "data.time_per_sample=0 s",     "data.bytes_per_token=50 kB",
            "cluster.storage.read=10 GB/s", "recompute=full",
            "data.workers_per_gpu=2",       links[i]};
        const struct result *result = fixture_predict(*state, quickstart(*state, sets));
        assert_close(step_s(result), 256.0 * 8192 * 50e3 / rates[i], 1e-6);
        assert_non_null(strstr(result->step.bound_by, titles[i]));
    }
}

/* 4 loaders x 2 workers x (1 GB + 2 microbatches of 8,192 x 4 B) lie in a host's memory, and must
 * fit there. */
static void workers_must_fit_the_host(void **state)
{
    const char *const sets[SETS_MAX] = {"data.workers_per_gpu=2", "run.checkpoint=off"};
    struct scenario *scenario = quickstart(*state, sets);
    const struct memory_verdict verdict = memory_check(scenario);
    assert_close(verdict.host_bytes, 8 * (1e9 + 2 * 8192 * 4), 1e-12);
    assert_true(verdict.fits);
    scenario->cluster.host_memory_bytes = 0.999 * verdict.host_bytes;
    assert_true(memory_check(scenario).fits_gpu);
    assert_false(memory_check(scenario).fits);
}

/* An eighth of 112.4 GB lies in each of 8 hosts while it is written, 14.05 GB beside 8 workers of
 * 1 GB; a host of 22 GB holds too little, by 0.05, and one that blocks needs 8 GB. Where the first
 * replica writes all, its two ranks have the whole on one host. Four prefetched batches of 1 GB
 * more for each of 8 workers do not fit either. */
static void an_asynchronous_checkpoint_must_fit_the_host(void **state)
{
    const char *const sets[SETS_MAX] = {"cluster.host.memory=22 GB"};
    struct scenario *scenario = quickstart(*state, sets);
    const struct memory_verdict verdict = memory_check(scenario);
    assert_close(verdict.staged_bytes, 14 * 8.03e9 / 8, 1e-3);
    assert_true(verdict.fits_gpu);
    assert_false(verdict.fits);
    scenario->checkpoint.mode = CHECKPOINT_BLOCKING;
    assert_true(memory_check(scenario).fits);
    scenario->data.bytes_per_token = 1e9 / 8192;
    scenario->data.prefetch = 4;
    assert_false(memory_check(scenario).fits);
    scenario->checkpoint.mode = CHECKPOINT_ASYNC;
    scenario->software.checkpoint_writers = WRITERS_FIRST;
    assert_close(memory_check(scenario).staged_bytes, 14 * 8.03e9, 1e-3);
}

/* A whole one, the one that will replace it, one on its way to the file system: 3 x 14.05 GB of
 * each host, blocking or not. Of its peer's two more: 5 x 14.05 = 70.3 GB, beside 8 GB of workers.
 * */
static void checkpoints_in_memory_must_fit_the_host(void **state)
{
    const char *const sets[SETS_MAX] = {"cluster.host.memory=78.2 GB"};
    struct scenario *scenario = quickstart(*state, sets);
    for (uint32_t i = 0; i < 2; i++) {
        scenario->checkpoint.mode = i == 0 ? CHECKPOINT_ASYNC : CHECKPOINT_BLOCKING;
        scenario->checkpoint.target = CHECKPOINT_MEMORY;
        assert_close(memory_check(scenario).staged_bytes, 3 * 14 * 8.03e9 / 8, 1e-3);
        assert_true(memory_check(scenario).fits);
        scenario->checkpoint.target = CHECKPOINT_PEER;
        assert_close(memory_check(scenario).staged_bytes, 5 * 14 * 8.03e9 / 8, 1e-3);
        assert_false(memory_check(scenario).fits);
        scenario->cluster.host_memory_bytes = 78.4e9;
        assert_true(memory_check(scenario).fits);
        scenario->cluster.host_memory_bytes = 78.2e9;
    }
    scenario->checkpoint.is_enabled = false;
    assert_true(memory_check(scenario).fits);
}

/* Over the fabric, too, a step takes as long as its 104.86 GB are read, 10.486 s: loaders go on
 * while GPUs wait for the slowest. What these wait is in the breakdown, and not good. */
static void reads_over_the_fabric_are_no_goodput(void **state)
{
    const char *const sets[SETS_MAX] = {"data.time_per_sample=0 s", "data.bytes_per_token=50 kB",
                                        "cluster.storage.read=10 GB/s",
                                        "cluster.storage.network=fabric", "run.checkpoint=off"};
    const struct result *result = fixture_predict(*state, quickstart(*state, sets));
    const double stall_s = (double)result->step.gpu_ns[CAUSE_DATA_STALL] * 1e-9 / 64;
    assert_true(stall_s > 6 && stall_s < step_s(result));
    assert_close(step_s(result), 256.0 * 8192 * 50e3 / 10e9, 1e-6);
    assert_close(result->run.data_stall_s, stall_s, 1e-12);
    assert_close(result->run.goodput,
                 (double)result->run.steps * (step_s(result) - stall_s) / wall_s(result), 1e-12);
}

/* A worker on 5 cores beside 4 x 14 workers and 8 main processes falls in and out of step with
 * the others when it has one batch ahead: the first rounds stall by half of what later ones do.
 * The mean of 14,000 microbatches is what the run waits for, to three thousandths of a step: in a
 * step they do not follow one another in equal time (its end, 0.13 s, is longer than what is
 * between two). */
static void the_stall_is_that_of_the_long_run(void **state)
{
    const double microbatch_s = step_s(fixture_predict(*state, quickstart(*state, NULL))) / 8;
    const double sample_s = microbatch_s * 90108 / 80510;
    const char *const sets[SETS_MAX] = {"data.bytes_per_token=0 B", "data.workers_per_gpu=14",
                                        "data.prefetch=1", "cluster.host.cores=5"};
    struct scenario *scenario = quickstart(*state, sets);
    scenario->data.time_per_sample_s = sample_s;
    const struct dataloader_options options = {.workers = 14,
                                               .prefetch = 1,
                                               .cores = 5,
                                               .loaders = 4,
                                               .mains = 8,
                                               .batch_ns = (int64_t)(sample_s * 1e9)};
    const uint32_t batches = 14000;
    struct dataloader_outcome outcome;
    dataloader_run(*state, &options, (int64_t)(microbatch_s * 1e9), batches, &outcome);
    const double mean_s = (double)(outcome.stall_ns - outcome.first_stall_ns) * 1e-9 / batches;
    assert_true(mean_s > 0.02 * microbatch_s);
    const double stall_s = fixture_predict(*state, scenario)->run.data_stall_s;
    assert_true(fabs(stall_s - 8 * mean_s) < 0.003 * 8 * microbatch_s);
}

/* ---- */

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_last_step_may_be_part_of_one),
        TEST(an_interval_is_whole_steps),
        TEST(a_key_is_of_text_build_and_seed),
        TEST(the_file_system_or_the_nodes_limit_writing),
        TEST(storage_grows_with_the_cluster),
        TEST(a_checkpoint_of_bloom_takes_40_s),
        TEST(whoever_holds_the_shards_writes_them),
        TEST(a_step_ends_with_what_its_ranks_write),
        TEST(a_blocking_checkpoint_takes_bytes_over_bandwidth),
        TEST(an_asynchronous_checkpoint_blocks_for_the_copy),
        TEST(a_late_checkpoint_is_waited_for),
        TEST(a_flush_beside_training_costs_what_its_steps_are_longer),
        TEST(what_goes_on_to_the_next_tier_makes_steps_longer),
        TEST(a_run_is_its_steps_and_checkpoints),
        TEST(power_follows_the_kernels),
        TEST(money_is_gpus_and_electricity),
        TEST(buying_breaks_even_with_rent_or_never),
        TEST(owning_is_paid_by_the_hours_of_work),
        TEST(terms_say_which_hours_are_paid_and_at_what_price),
        TEST(storage_is_rented_by_what_is_kept_and_paid_by_what_is_moved),
        TEST(a_run_on_owned_gpus_costs_what_owning_does),
        TEST(papers_count_gpu_hours_at_tdp),
        TEST(energy_goes_to_components_and_accounts),
        TEST(what_has_no_price_has_no_cost),
        TEST(a_step_alone_has_no_run),
        TEST(a_stalled_run_waits_in_every_step_and_once_at_first),
        TEST(a_loader_that_keeps_up_costs_its_first_batch),
        TEST(the_start_of_a_job_is_paid_once),
        TEST(reading_takes_bytes_over_bandwidth),
        TEST(a_nodes_storage_link_limits_reading),
        TEST(workers_must_fit_the_host),
        TEST(an_asynchronous_checkpoint_must_fit_the_host),
        TEST(checkpoints_in_memory_must_fit_the_host),
        TEST(reads_over_the_fabric_are_no_goodput),
        TEST(the_stall_is_that_of_the_long_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
