/* The band of a prediction: quantiles of a class, which class, and what lies outside. */
#include "lab/band.h"

#include "base/arena.h"
#include "support/assert_close.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VOTES = 40 };

struct world {
    struct arena *arena;
    struct band_vote items[VOTES];
    struct band_votes votes;
};

static int make_world(void **state)
{
    struct arena *arena = arena_new();
    struct world *world = arena_alloc(arena, sizeof *world);
    world->arena = arena;
    world->votes.items = world->items;
    *state = world;
    return 0;
}

static int end_world(void **state)
{
    struct world *world = *state;
    arena_free(world->arena);
    return 0;
}

static const struct band_traits usual = {
    .gpu = "h100",
    .architecture = "hopper",
    .framework = "megatron",
    .precision = "bf16",
    .gpus = 64,
    .sequence_length = 4096,
    .network_bytes_per_s = 400e9, /* 3200 Gbps */
    .fabric = "rail",
    .routing = "adaptive",
    .oversubscription = 1,
};

static void add(struct world *world, const struct band_traits *traits, const char *source,
                double ratio)
{
    assert_true(world->votes.count < VOTES);
    world->items[world->votes.count++] = (struct band_vote){source, *traits, ratio};
}

/* `count` votes of ratios 1.00, 1.01, ... from two sources. */
static void add_votes(struct world *world, const struct band_traits *traits, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        add(world, traits, i % 2 == 0 ? "first" : "second", 1.0 + 0.01 * i);
    }
}

static struct band band(struct world *world, const struct band_traits *traits)
{
    static const struct band_burdens none = {.slowest = 1};
    return band_of(world->arena, &world->votes, traits, &none);
}

/* 11 ratios 1.00 ... 1.10: a tenth of the way from the first to the last is the second, 1.01; nine
 * tenths are the tenth, 1.09. Of 12, to 1.11: p10 lies 0.1 x 11 = 1.1 votes up, at 1.011; p90 9.9
 * votes up, at 1.099. */
static void quantiles_lie_between_votes(void **state)
{
    struct world *world = *state;
    add_votes(world, &usual, 11);
    const struct band eleven = band(world, &usual);
    assert_close(eleven.low, 1.01, 1e-12);
    assert_close(eleven.high, 1.09, 1e-12);
    assert_int_equal(eleven.votes, 11);
    assert_int_equal(eleven.sources, 2);
    add(world, &usual, "third", 1.11);
    const struct band twelve = band(world, &usual);
    assert_close(twelve.low, 1.011, 1e-12);
    assert_close(twelve.high, 1.099, 1e-12);
    assert_int_equal(twelve.sources, 3);
}

/* The order of the votes is not that of their ratios. */
static void votes_need_not_be_sorted(void **state)
{
    struct world *world = *state;
    for (uint32_t i = 0; i < 11; i++) {
        add(world, &usual, "one", 1.0 + 0.01 * (i * 7 % 11));
    }
    assert_close(band(world, &usual).low, 1.01, 1e-12);
    assert_close(band(world, &usual).high, 1.09, 1e-12);
}

/* Ten votes are enough, nine are not: then the framework does not count, then the precision, then
 * the architecture, then the kind. */
static void a_class_is_widened_step_by_step(void **state)
{
    struct world *world = *state;
    struct band_traits other = usual;
    add_votes(world, &usual, 9);
    other.framework = "torchtitan";
    add_votes(world, &other, 1);
    assert_string_equal(band(world, &usual).like, "hopper, 16-bit or more, dense");
    assert_int_equal(band(world, &usual).votes, 10);
    add_votes(world, &usual, 1);
    assert_string_equal(band(world, &usual).like, "hopper, megatron, 16-bit or more, dense");

    struct band_traits low = usual;
    low.precision = "fp8";
    add_votes(world, &low, 3); /* 14 of the architecture and kind */
    assert_string_equal(band(world, &low).like, "hopper, dense");
    assert_int_equal(band(world, &low).votes, 14);

    struct band_traits old = usual;
    old.architecture = "ampere";
    add_votes(world, &old, 2);
    assert_string_equal(band(world, &old).like, "dense");
    assert_int_equal(band(world, &old).votes, 16);

    struct band_traits mixture = usual;
    mixture.is_mixture = true;
    add_votes(world, &mixture, 4);
    assert_string_equal(band(world, &mixture).like, "all runs");
    assert_int_equal(band(world, &mixture).votes, 20);
}

static void too_few_votes_are_no_band(void **state)
{
    struct world *world = *state;
    add_votes(world, &usual, 9);
    const struct band none = band(world, &usual);
    assert_int_equal(none.votes, 0);
    assert_string_equal(none.like, "");
    assert_string_equal(none.reason, "models/validated.csv has 9 runs, and 10 are needed");
}

static bool has(const struct band *found, const char *text)
{
    for (uint32_t i = 0; i < found->outside_count; i++) {
        if (strcmp(found->outside[i], text) == 0) {
            return true;
        }
    }
    return false;
}

static void what_was_measured_is_not_outside(void **state)
{
    struct world *world = *state;
    add_votes(world, &usual, 10);
    struct band_traits twice = usual;
    twice.gpus = 128; /* twice as many as the largest are still near */
    assert_int_equal(band(world, &usual).outside_count, 0);
    assert_int_equal(band(world, &twice).outside_count, 0);
}

static void all_that_lies_outside_is_told(void **state)
{
    struct world *world = *state;
    add_votes(world, &usual, 10);
    struct band_traits far = {.gpu = "b200",
                              .architecture = "blackwell",
                              .framework = "ours",
                              .precision = "nvfp4",
                              .gpus = 129,
                              .sequence_length = 4097,
                              .fabric = "",
                              .routing = "",
                              .oversubscription = 1};
    const struct band found = band(world, &far);
    assert_string_equal(found.like, "dense");
    assert_int_equal(found.outside_count, 5);
    assert_true(has(&found, "no run on blackwell"));
    assert_true(has(&found, "no run of ours"));
    assert_true(has(&found, "no run in nvfp4"));
    assert_true(has(&found, "129 GPUs, at most 64 there"));
    assert_true(has(&found, "4097 tokens, at most 4096 there"));
    far.architecture = "hopper";
    const struct band near = band(world, &far);
    assert_true(has(&near, "no run on b200"));
}

/* How large runs of another class were does not count. */
static void sizes_are_those_of_the_class(void **state)
{
    struct world *world = *state;
    struct band_traits large = usual;
    large.framework = "torchtitan";
    large.gpus = 4096;
    add_votes(world, &usual, 10);
    add_votes(world, &large, 10);
    struct band_traits mine = usual;
    mine.gpus = 1024;
    const struct band found = band(world, &mine);
    assert_int_equal(found.outside_count, 1);
    assert_true(has(&found, "1024 GPUs, at most 64 there"));
}

/* ---- what was never measured: a phrase each ------------------------------------------------- */

/* 3200 Gbps are 400e9 bytes/s, 400 Gbps 50e9, 800 Gbps 100e9. */
static void a_network_that_the_class_does_not_state_is_told(void **state)
{
    struct world *world = *state;
    struct band_traits unstated = usual, narrow = usual, middle = usual, local = usual;
    unstated.network_bytes_per_s = 0;
    narrow.network_bytes_per_s = 50e9;
    middle.network_bytes_per_s = 100e9;
    local.network_bytes_per_s = 0; /* one node needs no network */
    local.fabric = "";
    add_votes(world, &unstated, 10);
    const struct band nobody = band(world, &usual);
    assert_int_equal(nobody.outside_count, 1);
    assert_true(has(&nobody, "3200 Gbps a node, no run there states its network"));
    assert_int_equal(band(world, &local).outside_count, 0);
    add_votes(world, &usual, 10);
    assert_int_equal(band(world, &usual).outside_count, 0);
    const struct band one = band(world, &narrow);
    assert_int_equal(one.outside_count, 1);
    assert_true(has(&one, "400 Gbps a node, those stated there have 3200"));
    add_votes(world, &middle, 10);
    const struct band two = band(world, &narrow);
    assert_true(has(&two, "400 Gbps a node, those stated there have 800 to 3200"));
    assert_int_equal(band(world, &middle).outside_count, 0);
}

/* Networks of another class do not count; the fabrics of all runs do. */
static void networks_are_those_of_the_class_and_fabrics_those_of_all(void **state)
{
    struct world *world = *state;
    struct band_traits other = usual, mine = usual;
    other.framework = "torchtitan";
    other.network_bytes_per_s = 50e9;
    other.fabric = "torus";
    add_votes(world, &usual, 10);
    add_votes(world, &other, 10);
    mine.network_bytes_per_s = 50e9;
    mine.fabric = "torus";
    const struct band found = band(world, &mine);
    assert_int_equal(found.outside_count, 1);
    assert_true(has(&found, "400 Gbps a node, those stated there have 3200"));
}

static void a_fabric_that_no_run_had_is_told(void **state)
{
    struct world *world = *state;
    add_votes(world, &usual, 10);
    struct band_traits mine = usual;
    mine.fabric = "torus";
    mine.routing = "ecmp";
    mine.oversubscription = 3;
    const struct band found = band(world, &mine);
    assert_int_equal(found.outside_count, 3);
    assert_true(has(&found, "no run on a torus fabric"));
    assert_true(has(&found, "no run with routing ecmp"));
    assert_true(has(&found, "3:1 oversubscribed, at most 1:1 measured"));
}

static void stalls_slow_gpus_and_other_jobs_are_told(void **state)
{
    struct world *world = *state;
    add_votes(world, &usual, 10);
    const struct band_burdens few = {.data_stall = 0.004, .checkpoint_stall = 0.004, .slowest = 1};
    assert_int_equal(band_of(world->arena, &world->votes, &usual, &few).outside_count, 0);
    const struct band_burdens many = {
        .data_stall = 0.76, .checkpoint_stall = 0.05, .slowest = 0.5, .neighbours = 1};
    const struct band found = band_of(world->arena, &world->votes, &usual, &many);
    assert_int_equal(found.outside_count, 4);
    assert_true(has(&found, "no run waited for data (76.0 % of this step)"));
    assert_true(has(&found, "no run waited for checkpoints (5.0 % of the time)"));
    assert_true(has(&found, "no run had a slow GPU (one at 50 %)"));
    assert_true(has(&found, "no run shared its fabric with other jobs"));
}

static void a_file_reads_back_as_it_was_written(void **state)
{
    struct world *world = *state;
    struct band_traits mixture = usual;
    mixture.is_mixture = true;
    mixture.precision = "mxfp8";
    mixture.network_bytes_per_s = 0;
    mixture.fabric = "torus";
    mixture.routing = "ecmp";
    mixture.oversubscription = 7;
    add(world, &usual, "a \"source\", with a comma", 1.25);
    add(world, &mixture, "other", 0.5);
    struct diag *diag = diag_new(world->arena);
    char path[] = "/tmp/stoker-band-XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    assert_true(band_write(path, &world->votes, diag));
    struct band_votes back;
    assert_true(band_read(world->arena, path, &back, diag));
    unlink(path);
    assert_int_equal(back.count, 2);
    assert_string_equal(back.items[0].source, "a \"source\", with a comma");
    assert_string_equal(back.items[0].traits.gpu, "h100");
    assert_string_equal(back.items[1].traits.precision, "mxfp8");
    assert_false(back.items[0].traits.is_mixture);
    assert_true(back.items[1].traits.is_mixture);
    assert_close(back.items[0].traits.network_bytes_per_s, 400e9, 1e-12);
    assert_true(back.items[1].traits.network_bytes_per_s <= 0);
    assert_string_equal(back.items[0].traits.fabric, "rail");
    assert_string_equal(back.items[1].traits.fabric, "torus");
    assert_string_equal(back.items[1].traits.routing, "ecmp");
    assert_close(back.items[1].traits.oversubscription, 7, 1e-12);
    assert_int_equal(back.items[1].traits.gpus, 64);
    assert_int_equal(back.items[1].traits.sequence_length, 4096);
    assert_close(back.items[0].ratio, 1.25, 1e-12);
}

static void a_wrong_number_is_told(void **state)
{
    struct world *world = *state;
    char path[] = "/tmp/stoker-band-XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    fputs("source,gpu,architecture,framework,precision,kind,gpus,seq_len,"
          "gbps_per_node,fabric,routing,oversubscription,measured_over_predicted\n"
          "a,h100,hopper,megatron,bf16,dense,8,4096,,,,1,-1\n",
          file);
    fclose(file);
    struct diag *diag = diag_new(world->arena);
    struct band_votes votes;
    assert_false(band_read(world->arena, path, &votes, diag));
    unlink(path);
    assert_non_null(strstr(diag_first_error(diag), "measured_over_predicted '-1' is no number"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, end_world)
        TEST(quantiles_lie_between_votes),
        TEST(votes_need_not_be_sorted),
        TEST(a_class_is_widened_step_by_step),
        TEST(too_few_votes_are_no_band),
        TEST(what_was_measured_is_not_outside),
        TEST(all_that_lies_outside_is_told),
        TEST(sizes_are_those_of_the_class),
        TEST(a_file_reads_back_as_it_was_written),
        TEST(a_network_that_the_class_does_not_state_is_told),
        TEST(a_file_reads_back_as_it_was_written),
        TEST(networks_are_those_of_the_class_and_fabrics_those_of_all),
        TEST(a_file_reads_back_as_it_was_written),
        TEST(a_fabric_that_no_run_had_is_told),
        TEST(a_file_reads_back_as_it_was_written),
        TEST(stalls_slow_gpus_and_other_jobs_are_told),
        TEST(a_file_reads_back_as_it_was_written),
        TEST(a_wrong_number_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
