/* The results file: what a step did on the network, and jobs beside it. */
#include "store/store.h"

#include "base/arena.h"
#include "support/store_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Two of each, and room for one more job. */
struct network {
    struct link_use link_uses[2];
    struct link_load link_loads[2];
    struct traffic_use traffic[2];
    struct job_use jobs[3];
};

/* In the world's arena; the sample's result then points to it. */
static struct network *add_network(struct world *world)
{
    struct network *network = arena_alloc(world->arena, sizeof *network);
    *network = (struct network){
        .link_uses = {{"NIC out", "node 3 NIC 1 out", 64, 50000000000, 1.5e9, 0.75, 0.5},
                      {"leaf up-link", "leaf 0 to spine", 2, 400000000000, 6e9, 0.25, 0.125}},
        .link_loads = {{"NIC out", "node 3 NIC 1 out", 50000000000, 1.5e9, 0.75},
                       {"NIC out", "node 2 NIC 1 out", 50000000000, 1.25e9, 0.625}},
        .traffic = {{"data reduce", "reduce-scatter", "multi-rail-ring", "Simple", 1e9, 9e8, 4,
                     1e-4, 2e-2, 1.5, "node 3 NIC 1 out", false},
                    {"data reduce", "reduce-scatter", "multi-rail-ring", "LL", 1e3, 9e2, 1, 1e-5,
                     2e-5, 1.5, "", true}},
        .jobs = {{"Llama-3 70B on 8 H100", 8, 1, 6.5, 6.912345678}, {"another", 16, 3, 2.5, 2.75}}};
    struct step_result *step = &world->sample.result.step;
    step->link_uses = network->link_uses;
    step->link_use_count = 2;
    step->link_loads = network->link_loads;
    step->link_load_count = 2;
    step->traffic = network->traffic;
    step->traffic_count = 2;
    step->jobs = network->jobs;
    step->job_count = 2;
    return network;
}

/* True when exactly one row of the table meets the condition. */
static bool has_row(const struct world *world, const char *table, const char *condition)
{
    return world_sql(world, arena_printf(world->arena,
                                         "SELECT count(*) FROM %s WHERE run_key = '%s' "
                                         "AND %s",
                                         table, SAMPLE_KEY, condition)) == 1;
}

/* Every column of a row holds what add_network says. */
static void what_the_network_did_is_stored_once(void **state)
{
    struct world *world = *state;
    add_network(world);
    struct store *store = world_open(world);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    world_must(world, store_run(store, &world->sample.result, world->diag));
    store_close(store);
    static const char *const tables[] = {"link_use", "link_load", "traffic", "job"};
    for (uint32_t i = 0; i < 4; i++) {
        const char *count = arena_printf(world->arena, "SELECT count(*) FROM %s", tables[i]);
        assert_int_equal(world_sql(world, count), 2);
    }
    assert_true(has_row(world, "link_use",
                        "kind = 'leaf up-link' AND links = 2 AND busiest = 'leaf 0 to spine' AND "
                        "busiest_bytes = 6e9 AND capacity_bytes_per_s = 400000000000 AND "
                        "utilisation_max = 0.25 AND utilisation_mean = 0.125"));
    assert_true(has_row(world, "link_load",
                        "link = 'node 2 NIC 1 out' AND kind = 'NIC out' AND bytes = 1.25e9 AND "
                        "capacity_bytes_per_s = 50000000000 AND utilisation = 0.625"));
    assert_true(has_row(world, "traffic",
                        "stream = 'data reduce' AND number = 0 AND operation = 'reduce-scatter' "
                        "AND algorithm = 'multi-rail-ring' AND protocol = 'Simple' AND "
                        "buffer_bytes = 1e9 AND rank_bytes = 9e8 AND count_per_step = 4 AND "
                        "latency_s = 1e-4 AND alone_s = 2e-2 AND slowdown = 1.5 AND "
                        "bottleneck = 'node 3 NIC 1 out' AND is_extrapolated = 0"));
    assert_true(
        has_row(world, "traffic", "number = 1 AND bottleneck IS NULL AND is_extrapolated = 1"));
    assert_true(has_row(world, "job",
                        "number = 1 AND scenario = 'another' AND gpus = 16 AND steps = 3 AND "
                        "step_alone_s = 2.5 AND step_s = 2.75"));
}

static void a_transfer_that_was_slower_is_an_error(void **state)
{
    struct world *world = *state;
    struct network *network = add_network(world);
    struct store *store = world_open(world);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    network->traffic[1].slowdown = 1.75;
    assert_false(store_run(store, &world->sample.result, world->diag));
    world_assert_error(world,
                       "traffic " SAMPLE_KEY ", data reduce, 1 is stored already, with other "
                       "values of slowdown");
    store_close(store);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM traffic WHERE slowdown = 1.5"), 2);
}

static void a_link_or_job_with_other_values_is_an_error(void **state)
{
    struct world *world = *state;
    struct network *network = add_network(world);
    struct store *store = world_open(world);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    network->link_uses[0].utilisation_max = 0.875;
    network->link_uses[0].busiest = "node 0 NIC 0 out";
    assert_false(store_run(store, &world->sample.result, world->diag));
    world_assert_error(world, "with other values of busiest, utilisation_max");
    *network = *add_network(world);
    world->diag = diag_new(world->arena);
    world->sample.result.step.jobs[1].step_s = 3;
    assert_false(store_run(store, &world->sample.result, world->diag));
    world_assert_error(world, "with other values of step_s");
    store_close(store);
}

static void rows_of_the_network_that_are_missing_or_new_are_an_error(void **state)
{
    struct world *world = *state;
    struct network *network = add_network(world);
    struct store *store = world_open(world);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    world->sample.result.step.traffic_count = 1;
    assert_false(store_run(store, &world->sample.result, world->diag));
    world_assert_error(world, "with 2 rows of traffic instead of 1");
    world->diag = diag_new(world->arena);
    world->sample.result.step.traffic_count = 2;
    network->jobs[2] = (struct job_use){"a third", 8, 1, 1, 1};
    world->sample.result.step.job_count = 3;
    assert_false(store_run(store, &world->sample.result, world->diag));
    world_assert_error(world, "without the job 'a third'");
    store_close(store);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM job"), 2);
}

static void merging_brings_what_the_network_did(void **state)
{
    struct world *world = *state;
    add_network(world);
    struct store *store = world_open(world);
    const char *shard_path = arena_printf(world->arena, "%s/shard.db", world->directory);
    struct store *shard = store_open(world->arena, shard_path, world->diag);
    world_must(world, store_run(shard, &world->sample.result, world->diag));
    world_must(world, store_merge(store, &shard, 1, world->diag));
    world_must(world, store_merge(store, &shard, 1, world->diag));
    world_must(world, store_run(store, &world->sample.result, world->diag));
    store_close(shard);
    store_close(store);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM traffic"), 2);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM link_load"), 2);
    assert_int_equal(world_sql(world, "SELECT sum(steps) FROM job"), 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_the_network_did_is_stored_once),
        TEST(a_transfer_that_was_slower_is_an_error),
        TEST(a_link_or_job_with_other_values_is_an_error),
        TEST(rows_of_the_network_that_are_missing_or_new_are_an_error),
        TEST(merging_brings_what_the_network_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
