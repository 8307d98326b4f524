/* What a results file takes, and that what it shares is given back whole. */
#include "store/store.h"

#include "base/arena.h"
#include "store/store_sql.h"
#include "support/store_world.h"
#include "support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A scenario of some 20 kB in which a few values differ. */
static const char *scenario_of(struct world *world, const char *bandwidth, const char *recompute)
{
    const char *text =
        arena_printf(world->arena, "{cluster: {nics: {bandwidth: %s}}, notes: [", bandwidth);
    char *filler = arena_array(world->arena, 24000, 1);
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(filler + strlen(filler), 24, "\"%u: %u \\\\ \xc3\xa9\", ", i, i * 7919 % 1009);
    }
    return arena_printf(world->arena, "%s%s0], recompute: %s, gpus: 8}", text, filler, recompute);
}

static void store_as(struct world *world, struct store *store, uint32_t number, const char *text)
{
    snprintf(world->sample.result.key, 17, "%016x", 0xabcd0000u + number);
    world->sample.scenario.resolved_text = text;
    world_must(world, store_run(store, &world->sample.result, world->diag));
}

static void assert_text(struct world *world, struct store *store, uint32_t number, const char *text)
{
    const char *key = arena_printf(world->arena, "%016x", 0xabcd0000u + number);
    const char *stored = store_scenario_text(store, world->arena, key);
    assert_non_null(stored);
    assert_string_equal(stored, text);
}

/* Two values of 17 kB differ: a number of the base, three pieces, two values. Letters of two bytes
 * lie before them, which SQL counts as one. */
static void a_scenario_like_another_is_what_differs(void **state)
{
    struct world *world = *state;
    static const char *const bandwidths[] = {"50 Gbps", "100 Gbps", "1.6 Tbps \xc3\xa9",
                                             "\"a \\\"quote\\\"\"", "50 Gbps"};
    static const char *const recomputes[] = {"none", "full", "none", "[tab\there]", "selective"};
    const char *texts[5];
    struct store *store = world_open(world);
    for (uint32_t i = 0; i < 5; i++) {
        texts[i] = scenario_of(world, bandwidths[i], recomputes[i]);
        store_as(world, store, i, texts[i]);
    }
    assert_true(strlen(texts[0]) > 12000);
    for (uint32_t i = 0; i < 5; i++) {
        assert_text(world, store, i, texts[i]);
    }
    store_close(store);
    assert_int_equal(
        world_sql(world, "SELECT count(*) FROM scenario_rows WHERE length(text) < 120"), 4);
    /* A program that comes later goes on from what is there. */
    store = world_open(world);
    store_as(world, store, 5, scenario_of(world, "3 Tbps", "none"));
    assert_text(world, store, 5, scenario_of(world, "3 Tbps", "none"));
    store_close(store);
    assert_int_equal(
        world_sql(world, "SELECT count(*) FROM scenario_rows WHERE length(text) < 120"), 5);
}

static void scenarios_that_have_nothing_in_common_are_each_stored_whole(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    static const char *const texts[] = {"{}", "{gpus: 8}", "", "{model: \xe2\x82\xac}"};
    for (uint32_t i = 0; i < 4; i++) {
        store_as(world, store, i, texts[i]);
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_text(world, store, i, texts[i]);
    }
    store_close(store);
}

/* The first of two points is undone with the second, and was the base of what comes after. */
static void what_was_undone_is_nothing_to_build_on(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    store_as(world, store, 9, "{}");
    const struct store_point first = {
        .label = "first", .message = "", .result = &world->sample.result};
    snprintf(world->sample.result.key, 17, "abcdabcdabcdabcd");
    world->sample.scenario.resolved_text = scenario_of(world, "50 Gbps", "none");
    struct store_packed packed[2] = {store_pack(world->arena, "s", &first)};
    struct store_point second = first;
    second.label = "another outcome"; /* of the same point */
    packed[1] = store_pack(world->arena, "s", &second);
    assert_false(store_packed(store, packed, 2, world->diag));
    world->diag = diag_new(world->arena);
    const char *text = scenario_of(world, "100 Gbps", "full");
    store_as(world, store, 1, text);
    assert_text(world, store, 1, text);
    store_close(store);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM run"), 2);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM assumption WHERE name IS NULL"), 0);
}

/* A base that is gone: its scenarios are gone, not wrong or empty. */
static void without_its_base_a_scenario_is_none(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    store_as(world, store, 0, scenario_of(world, "50 Gbps", "none"));
    store_as(world, store, 1, scenario_of(world, "100 Gbps", "none"));
    store_close(store);
    world_sql(world, "DELETE FROM scenario_rows WHERE substr(text, 1, 1) <> '['");
    assert_int_equal(world_sql(world, "SELECT text IS NULL FROM scenario"), 1);
    store = world_open(world);
    const char *key = arena_printf(world->arena, "%016x", 0xabcd0001u);
    assert_null(store_scenario_text(store, world->arena, key));
    assert_non_null(strstr(diag_first_error(world->diag),
                           "table scenario, row '00000000abcd0001': text is NULL"));
    store_close(store);
}

/* ---- files of the schema before ------------------------------------------------------------ */

/* What a run of schema 12 said. A column that is added since is NULL in its files, or has a row in
 * store/store_older.c, which says what they meant. */
static const char columns_of_12[] =
    "key, scenario_key, title, stoker_version, build, seed, model, cluster, gpu, "
    "software, precision, gpus, tp, cp, pp, dp, ep, zero, schedule, virtual_stages, "
    "recompute, batch_global_sequences, batch_micro_sequences, sequence_length_tokens, "
    "step_ns, step_s, step_least_s, step_most_s, mfu, tokens_per_s_per_gpu, "
    "tflops_per_gpu, mfu_full_attention, hfu, tokens_per_step, flop_per_token_causal, "
    "flop_per_token_full, hardware_flop_per_token, peak_flop_per_s, power_w, "
    "power_peak_w, memory_peak_bytes, memory_limit_bytes, memory_weights_bytes, "
    "memory_gradients_bytes, memory_optimizer_bytes, memory_activations_bytes, "
    "memory_logits_bytes, memory_buffers_bytes, memory_overhead_bytes, memory_fits, "
    "memory_worst_stage, memory_advice, run_is_asked, wall_clock_days, gpu_hours, "
    "goodput, cost_usd, energy_kwh, energy_gpu_working_kwh, energy_gpu_waiting_kwh, "
    "energy_host_kwh, energy_nic_kwh, energy_switch_kwh, energy_storage_kwh, "
    "energy_spare_kwh, energy_facility_kwh, rated_kwh, carbon_kg, rated_carbon_kg, "
    "owned_gpu_hour_usd, break_even_months, kwh_per_million_tokens, "
    "usd_per_million_tokens, run_tokens, run_steps, checkpoints, checkpoint_bytes, "
    "checkpoint_s, data_stall_s, repetitions, wall_clock_days_p95, histories_s, "
    "wall_clock_days_p5, wall_clock_days_p50, wall_clock_days_error, goodput_p5, "
    "goodput_p50, goodput_p95, goodput_error, interruptions, mtbf_s, broken_nodes_max, "
    "effective_training_time_ratio, scheduling_goodput, runtime_goodput, "
    "ml_productivity_goodput, regimes_simulated, steps_reused, checkpoint_young_s, "
    "checkpoint_best_s, bound_by, busiest_link, busiest_link_utilisation, "
    "engine_ranks_simulated, engine_links_simulated, engine_tasks, engine_events, "
    "engine_solves, engine_host_s, engine_host_peak_bytes";

/* Tables as schema 12 had them: with texts in every row, scenarios among the runs. */
static void make_old(struct world *world)
{
    static const char *const lists[] = {"breakdown", "assumption", "link_use",
                                        "link_load", "traffic",    "job",
                                        "account",   "failure",    "stage"};
    world_sql(world,
              arena_printf(world->arena,
                           "CREATE TABLE kept_run AS SELECT %s, (SELECT text FROM scenario WHERE "
                           "scenario.run_key = run.key) AS scenario_text FROM run ORDER BY rowid",
                           columns_of_12));
    world_sql(world, "DROP TABLE run");
    world_sql(world, "ALTER TABLE kept_run RENAME TO run");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        static const char *const steps[] = {"CREATE TABLE kept AS SELECT * FROM %s", "DROP VIEW %s",
                                            "DROP TABLE %s_rows", "ALTER TABLE kept RENAME TO %s"};
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            char text[128];
            const char *mark = strstr(steps[k], "%s");
            snprintf(text, sizeof text, "%.*s%s%s", (int)(mark - steps[k]), steps[k], lists[i],
                     mark + 2);
            world_sql(world, text);
        }
    }
    world_sql(world, "DROP VIEW scenario");
    world_sql(world, "DROP TABLE scenario_rows");
    world_sql(world, "DROP TABLE text");
    world_sql(world, "ALTER TABLE breakdown DROP COLUMN path_ns");
    world_sql(world, "PRAGMA user_version = 12");
}

static void a_file_of_schema_12_is_brought_to_this_one(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    const struct store_study study = {"s", "t", "sweep", SAMPLE_BUILD, 2};
    world_must(world, store_study(store, &study, world->diag));
    const struct store_point point = {.label = "50 Gbps",
                                      .axis_count = 1,
                                      .axes = {"cluster.nics.bandwidth"},
                                      .value_texts = {"50 Gbps"},
                                      .values = {6.25e9},
                                      .message = "",
                                      .result = &world->sample.result};
    world_must(world, store_point(store, "s", &point, world->diag));
    const char *text = scenario_of(world, "50 Gbps", "none");
    store_as(world, store, 1, text);
    uint32_t count = 0;
    const struct store_row *before = store_points(store, world->arena, "s", &count);
    assert_int_equal(count, 1);
    store_close(store);
    make_old(world);
    store = world_open(world);
    const struct store_row *after = store_points(store, world->arena, "s", &count);
    assert_int_equal(count, 1);
    assert_string_equal(after->key, before->key);
    assert_string_equal(after->value_texts[0], "50 Gbps");
    assert_true(after->paid_gpus <= after->gpus && after->paid_gpus >= after->gpus);
    assert_true(after->step_s <= before->step_s && after->step_s >= before->step_s);
    assert_memory_equal(after->breakdown_s, before->breakdown_s, sizeof after->breakdown_s);
    assert_text(world, store, 1, text);
    store_close(store);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'old%'"),
                     0);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM run"), 2);
}

/* What no run of the older one says, and ours must: nothing is changed. */
static void a_file_that_cannot_be_brought_stays_as_it_was(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    store_as(world, store, 1, "{}");
    store_close(store);
    make_old(world);
    world_sql(world, "ALTER TABLE run DROP COLUMN gpus");
    world_assert_refused(world, "no such column: gpus");
    assert_non_null(strstr(diag_first_help(world->arena, world->diag),
                           arena_printf(world->arena,
                                        "a file of schema 12 is read when it has been brought to "
                                        "%d",
                                        STORE_SCHEMA)));
    world_sql(world, "ALTER TABLE run ADD COLUMN gpus INTEGER");
    world->diag = diag_new(world->arena);
    assert_null(store_open(world->arena, world->path, world->diag));
    const char *error = diag_first_error(world->diag);
    assert_non_null(strstr(error, "table run, row '00000000abcd0001': gpus is NULL"));
    assert_int_equal(world_sql(world, "PRAGMA user_version"), 12);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM assumption"), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_scenario_like_another_is_what_differs),
        TEST(scenarios_that_have_nothing_in_common_are_each_stored_whole),
        TEST(what_was_undone_is_nothing_to_build_on),
        TEST(without_its_base_a_scenario_is_none),
        TEST(a_file_of_schema_12_is_brought_to_this_one),
        TEST(a_file_that_cannot_be_brought_stays_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
