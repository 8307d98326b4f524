/* The band of a prediction: quantiles of a class, which class, and what lies outside. */
#include "bands/axes.h"
#include "bands/band.h"

#include "base/absent.h"
#include "base/arena.h"
#include "support/assert_close.h"

#include <math.h>
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
    .hidden = 4096,
    .launch_share = 0.02,
    .step_s = 8,
    .network_bytes_per_s = 400e9, /* 3200 Gbps */
    .fabric = "rail",
    .routing = "adaptive",
    .oversubscription = 1,
};

static void add(struct world *world, const struct band_traits *traits, const char *source,
                double ratio)
{
    assert_true(world->votes.count < VOTES);
    world->items[world->votes.count++] = (struct band_vote){"row", source, *traits, ratio};
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

static bool has(const struct band *found, const char *text)
{
    for (uint32_t i = 0; i < found->outside_count; i++) {
        if (strcmp(found->outside[i], text) == 0) {
            return true;
        }
    }
    return false;
}

/* 10 votes off by 0, 1, ... 9 steps of ln 1.01, either way, all as near as can be: each is a tenth
 * of the weight, the eighth (7 steps) stands at 0.75, the ninth (8) at 0.85, so four fifths lie
 * halfway. An eleventh of 20 steps moves them: the ninth stands at 8.5 / 11, the tenth at 9.5 / 11:
 * 8 + (0.8 x 11 - 8.5) = 8.3 steps. */
static void four_fifths_of_the_votes_lie_inside(void **state)
{
    struct world *world = *state;
    const double step = log(1.01);
    for (uint32_t i = 0; i < 10; i++) {
        const uint32_t steps = i * 7 % 10; /* not in their order */
        add(world, &usual, i % 2 == 0 ? "first" : "second",
            exp(i % 3 == 0 ? -step * steps : step * steps));
    }
    const struct band ten = band(world, &usual);
    assert_close(log(ten.high), 7.5 * step, 1e-9);
    assert_close(ten.low * ten.high, 1, 1e-12);
    assert_int_equal(ten.votes, 10);
    assert_int_equal(ten.all_votes, 10);
    assert_int_equal(ten.sources, 2);
    assert_close(ten.widening, 1, 1e-12);
    add(world, &usual, "third", exp(20 * step));
    const struct band eleven = band(world, &usual);
    assert_close(log(eleven.high), 8.3 * step, 1e-9);
    assert_int_equal(eleven.sources, 3);
}

/* Off by 0, 0.1, ...: with its own source left out, a vote is held against the other's ten. The
 * first source's are off by 0.5 and more, the second's by less: none of the first lies inside
 * of the second's band (0.375: 7.5 steps of 0.05), all of the second's inside of the first's. */
static void coverage_leaves_the_source_out(void **state)
{
    struct world *world = *state;
    for (uint32_t i = 0; i < 10; i++) {
        add(world, &usual, "first", exp(0.5 + 0.05 * i));
        add(world, &usual, "second", exp(-0.05 * i));
    }
    const struct band_coverage found = band_measure(world->arena, &world->votes);
    assert_int_equal(found.votes, 20);
    assert_close(found.inside, 0.5, 1e-12);
    assert_close(found.width, 0.375 + 0.875, 1e-9); /* the mean of 2 x 0.375 and 2 x 0.875 */
    /* the first's: 0.75, and ten times the 0.725 - 0.375 by which the mean misses; the second's:
     * 1.75, for none misses */
    assert_close(found.score, (4.25 + 1.75) / 2, 1e-9);
    const struct band_votes one = {.items = world->items, .count = 1};
    assert_true(is_absent(band_measure(world->arena, &one).inside));
}

static void the_three_nearest_runs_are_named(void **state)
{
    struct world *world = *state;
    static const int64_t sizes[] = {4096, 64, 512, 8, 65536};
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    for (uint32_t i = 0; i < 10; i++) {
        struct band_traits traits = usual;
        traits.gpus = i < 5 ? sizes[i] : 1000000;
        add(world, &traits, "one", 1.0 + 0.1 * i);
        world->items[i].id = i < 5 ? names[i] : "far";
    }
    const struct band found = band(world, &usual);
    assert_int_equal(found.nearest_count, 3);
    assert_string_equal(found.nearest[0].id, "b");
    assert_string_equal(found.nearest[1].id, "c"); /* as near as d, and before it */
    assert_string_equal(found.nearest[2].id, "d");
    assert_close(found.nearest[0].ratio, 1.1, 1e-12);
}

/* All off by 10 %. Four times the tokens, half the width, an eighth of the network: 2 + 1 + 3
 * doublings of which each widens by a quarter. Launches of 0.2 lie two beyond 0.05, of which less
 * is no share; 0.04 lies within. */
static void what_lies_beyond_all_runs_widens_the_band(void **state)
{
    struct world *world = *state;
    for (uint32_t i = 0; i < 10; i++) {
        add(world, &usual, "one", 1.1);
    }
    struct band_traits far = usual;
    far.sequence_length *= 4;
    far.hidden /= 2;
    far.network_bytes_per_s /= 8;
    assert_close(band(world, &far).widening, 1 + 0.25 * 6, 1e-12);
    assert_close(band(world, &far).high, pow(1.1, 2.5), 1e-9);
    const struct band three = band(world, &far);
    assert_true(has(&three, "a model 2048 wide, 4096 to 4096 there"));
    struct band_traits launching = usual;
    launching.launch_share = 0.2;
    const struct band found = band(world, &launching);
    assert_close(found.widening, 1.5, 1e-12);
    assert_int_equal(found.outside_count, 1);
    assert_true(has(&found, "launches take 20 % of the step, at most 2 % there"));
    launching.launch_share = 0.04;
    assert_close(band(world, &launching).widening, 1, 1e-12);
    launching.launch_share = ABSENT;
    assert_close(band(world, &launching).widening, 1, 1e-12);
    /* another class has been there: told, but no wider */
    struct band_traits other = far;
    other.framework = "torchtitan";
    add(world, &other, "two", 1.1);
    assert_close(band(world, &far).widening, 1, 1e-12);
    assert_int_equal(band(world, &far).outside_count, 3);
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
                              .hidden = 4096,
                              .launch_share = ABSENT,
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
    mixture.launch_share = ABSENT;
    mixture.step_s = ABSENT;
    add(world, &usual, "a \"source\", with a comma", 1.25);
    add(world, &mixture, "other", 0.5);
    struct diag *diag = diag_new(world->arena);
    char path[] = "/tmp/stoker-band-XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    assert_true(band_write(world->arena, path, &world->votes, diag));
    struct band_votes back;
    assert_true(band_read(world->arena, path, &back, diag));
    unlink(path);
    assert_int_equal(back.count, 2);
    assert_string_equal(back.items[0].id, "row");
    assert_close(back.items[0].traits.launch_share, 0.02, 1e-12);
    assert_true(is_absent(back.items[1].traits.launch_share));
    assert_close(back.items[0].traits.step_s, 8, 1e-12);
    assert_true(is_absent(back.items[1].traits.step_s));
    assert_int_equal(back.items[0].traits.hidden, 4096);
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
    fputs("id,source,gpu,architecture,framework,precision,kind,gpus,hidden,seq_len,"
          "gbps_per_node,fabric,routing,oversubscription,launch_share,predicted_step_s,"
          "measured_over_predicted\n"
          "r,a,h100,hopper,megatron,bf16,dense,8,4096,4096,,,,1,,,-1\n",
          file);
    fclose(file);
    struct diag *diag = diag_new(world->arena);
    struct band_votes votes;
    assert_false(band_read(world->arena, path, &votes, diag));
    unlink(path);
    assert_non_null(strstr(diag_first_error(diag), "measured_over_predicted '-1' is no number"));
}

/* Ten votes whose four fifths lie within 7.5 steps of ln 1.01 (above). A GPU whose boxes sustain
 * products with a deviation of 10 %, in a step of which 3/4 computes: 7.5 % of the step. What is
 * independent adds as squares: ln high = hypot(7.5 x ln 1.01, 1.2816 x 0.075) = hypot(0.07463,
 * 0.09612) = 0.12169. Of a kind without such a figure nothing changes. */
static void boxes_of_a_gpu_widen_its_band(void **state)
{
    struct world *world = *state;
    const double step = log(1.01);
    for (uint32_t i = 0; i < 10; i++) {
        add(world, &usual, "first", exp(step * i));
    }
    struct band_traits varied = usual;
    varied.box_spread = 0.10;
    band_traits_add_step(&varied, &(struct band_step){.launch = 0.02, .compute = 0.75});
    const struct band found = band(world, &varied);
    assert_close(found.box_spread, 0.075, 1e-12);
    assert_close(log(found.alike), 7.5 * step, 1e-9);
    assert_close(log(found.high), hypot(7.5 * step, 1.2816 * 0.075), 1e-9);
    assert_close(log(found.high), 0.12169, 1e-4);
    assert_close(found.low * found.high, 1, 1e-12);
    assert_close(log(band(world, &usual).high), 7.5 * step, 1e-9);
}

/* Half of the step multiplies, a quarter attends. Of 10 % from box to box, products measured to
 * within 2 % leave 0.5 x 0.02 + 0.25 x 0.10 = 0.035; attention, too: 0.75 x 0.02 = 0.015; attention
 * alone 0.5 x 0.10 + 0.25 x 0.02 = 0.055. Memory and links take nothing off. */
static void what_was_measured_of_a_box_goes(void **state)
{
    struct world *world = *state;
    static const struct {
        double gemm, attention, memory, left;
    } cases[] = {
        {0, 0, 0, 0.075},    {0.02, 0, 0, 0.035}, {0.02, 0.02, 0, 0.015},
        {0, 0.02, 0, 0.055}, {0, 0, 0.02, 0.075}, {0.5, 0, 0, 0.075}, /* known worse */
    };
    const struct band_step step = {.compute = 0.75, .attention = 1.0 / 3, .memory = 0.2};
    for (uint32_t i = 0; i < 10; i++) {
        add(world, &usual, "first", exp(log(1.01) * i));
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct band_traits varied = usual;
        varied.box_spread = 0.10;
        varied.box_left[BOX_GEMM] = cases[i].gemm;
        varied.box_left[BOX_ATTENTION] = cases[i].attention;
        varied.box_left[BOX_MEMORY] = cases[i].memory;
        band_traits_add_step(&varied, &step);
        const struct band found = band(world, &varied);
        assert_close(found.box_spread, cases[i].left, 1e-12);
        assert_close(log(found.high), hypot(7.5 * log(1.01), 1.2816 * cases[i].left), 1e-9);
    }
}

/* Boxes of a kind that tells no spread differ by 5 % in products, and votes hold it. Measured to
 * within 3 %, half of the step: 0.5 x sqrt(0.05^2 - 0.03^2) = 0.02 comes off as a square. The
 * votes' 7.5 ln 1.01 = 0.07463 become sqrt(0.07463^2 - (1.2816 x 0.02)^2) = 0.07009. Votes that
 * are no wider than a repeat, 1 %, stay as they are, and none gets narrower than that, 2 %. */
static void what_votes_hold_of_boxes_comes_off(void **state)
{
    struct world *world = *state;
    static const double steps[] = {0.01, 0.01 / 7.5, 0.026 / 7.5};
    static const double highs[] = {0, 0.01, AXIS_TIE};
    world->votes.box_held[BOX_GEMM] = 0.05;
    for (size_t i = 0; i < 3; i++) {
        const double step = i == 0 ? log(1.01) : steps[i];
        world->votes.count = 0;
        for (uint32_t k = 0; k < 10; k++) {
            add(world, &usual, "first", exp(step * k));
        }
        struct band_traits mine = usual;
        mine.box_left[BOX_GEMM] = 0.03;
        band_traits_add_step(&mine, &(struct band_step){.compute = 0.5});
        const double all = 7.5 * step;
        const double expected = i == 0 ? sqrt(all * all - pow(1.2816 * 0.02, 2)) : highs[i];
        assert_close(log(band(world, &mine).high), expected, 1e-6);
        assert_close(log(band(world, &usual).high), all, 1e-9);
    }
}

/* Two predictions of one box share what it is: nothing is added to their ratio. Of another GPU, or
 * of other units of the same one (fp8 beside bf16), both boxes are: hypot(0.03, 0.04) = 0.05, and
 * 1.2816 of it. */
static void one_box_cancels_in_a_ratio_and_two_do_not(void **state)
{
    (void)state;
    struct band_traits mine = usual, other = usual;
    mine.box_spread = 0.03;
    other.box_spread = 0.04;
    assert_close(band_boxes_apart(&mine, &other), 0, 1e-12);
    other.gpu = "b200";
    assert_close(band_boxes_apart(&mine, &other), 1.2816 * 0.05, 1e-12);
    other.gpu = mine.gpu;
    other.precision = "fp8";
    assert_close(band_boxes_apart(&mine, &other), 1.2816 * 0.05, 1e-12);
}

/* Ten runs are off by 0.05 of a logarithm, and by 0.4 as whoever types them says them. Of a
 * regression with one feature, c the times by which the latter are wider (bands/width): means of
 * the two errors over what is expected add up to 2, and 10 (1 - m) + 5 ln c = 0 for the second's
 * mean m, so m = 1 + ln c / 2 and 8 (1 - ln c / 2) / c = 1 + ln c / 2: ln c = 0.9925. Four fifths
 * of all twenty, by times of what is expected, are those of the typed: 0.4 wide, and 0.4 / c. */
static void what_is_not_said_is_in_the_band(void **state)
{
    struct world *world = *state;
    struct band_traits typed = usual;
    typed.is_typed = true;
    for (uint32_t i = 0; i < 10; i++) {
        add(world, &usual, i % 2 == 0 ? "first" : "second", exp(0.05));
    }
    assert_int_equal(band(world, &typed).votes, 10); /* there are no others */
    for (uint32_t i = 0; i < 10; i++) {
        add(world, &typed, i % 2 == 0 ? "first" : "second", exp(-0.4));
    }
    const struct band said = band(world, &usual), unsaid = band(world, &typed);
    assert_close(log(unsaid.high), 0.4, 1e-9);
    assert_close(log(said.high), 0.4 * exp(-0.9925), 1e-3);
    assert_int_equal(said.part_count, 0);
    assert_int_equal(unsaid.part_count, 1);
    assert_string_equal(unsaid.parts[0].name, "unsaid");
    assert_close(unsaid.parts[0].times, exp(0.9925), 1e-3);
    assert_int_equal(said.votes, 10);
    assert_int_equal(unsaid.votes, 10);
    assert_int_equal(unsaid.all_votes, 20);
    assert_string_equal(unsaid.like, "hopper, megatron, 16-bit or more, dense, features not said");
}

/* The catalogue's two tables are one list, the typed behind the others, and what is fitted to it is
 * the same for each band. */
static void the_catalogue_is_one_list_with_its_width(void **state)
{
    struct world *world = *state;
    struct diag *diag = diag_new(world->arena);
    const struct catalogue catalogue = {.directories = {"."}, .count = 1};
    const char *reason = NULL;
    struct band_votes votes;
    assert_true(band_load(world->arena, &catalogue, &votes, &reason, diag));
    assert_true(votes.count > 100);
    uint32_t typed = 0;
    for (uint32_t i = 0; i < votes.count; i++) {
        typed += votes.items[i].traits.is_typed ? 1 : 0;
        assert_int_equal(votes.items[i].traits.is_typed, typed > 0);
    }
    assert_true(typed > 100 && typed < votes.count);
    const struct band_traits *first = &votes.items[0].traits;
    static const struct band_burdens none = {.slowest = 1};
    const double known = band_of(world->arena, &votes, first, &none).high;
    votes.width = NULL;
    assert_close(band_of(world->arena, &votes, first, &none).high, known, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, end_world)
        TEST(four_fifths_of_the_votes_lie_inside),
        TEST(what_is_not_said_is_in_the_band),
        TEST(the_catalogue_is_one_list_with_its_width),
        TEST(coverage_leaves_the_source_out),
        TEST(the_three_nearest_runs_are_named),
        TEST(what_lies_beyond_all_runs_widens_the_band),
        TEST(boxes_of_a_gpu_widen_its_band),
        TEST(what_was_measured_of_a_box_goes),
        TEST(what_votes_hold_of_boxes_comes_off),
        TEST(one_box_cancels_in_a_ratio_and_two_do_not),
        TEST(a_class_is_widened_step_by_step),
        TEST(too_few_votes_are_no_band),
        TEST(what_was_measured_is_not_outside),
        TEST(all_that_lies_outside_is_told),
        TEST(sizes_are_those_of_the_class),
        TEST(a_file_reads_back_as_it_was_written),
        TEST(a_network_that_the_class_does_not_state_is_told),
        TEST(networks_are_those_of_the_class_and_fabrics_those_of_all),
        TEST(a_fabric_that_no_run_had_is_told),
        TEST(stalls_slow_gpus_and_other_jobs_are_told),
        TEST(a_wrong_number_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
