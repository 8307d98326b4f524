/* Several jobs on one fabric, against sums by hand.
 *
 * Nodes have one GPU and one NIC of 80 Gbps = 10 GB/s. A job is two replicas of a model that
 * all-reduce their gradients once at the end of a step, overlapping nothing: two ranks of a ring
 * each send the whole buffer once.
 *
 * The model, P parameters: 2 layers of 12 x 1024^2 + 2 x 1024, a last norm of 1024, a tied
 * embedding of 32,768 x 1024: 25,169,920 + 1,024 + 33,554,432 = 58,725,376. Gradients are fp32,
 * 234,901,504 bytes, which a NIC carries in T = 23,490,151 ns.
 */
#include "base/arena.h"
#include "input/scenario.h"
#include "train/step.h"
#include "train/streams.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "support/assert_close.h"
#include "support/fixture.h"

#define GRADIENT_BYTES INT64_C(234901504)

static const char cluster_text[] =
    "cluster:\n  cluster: inline\n  source: made up\n  gpu: inline\n  gpus_per_node: 1\n"
    "  scale_up: {kind: nvswitch, bandwidth: 400 GB/s, efficiency: 1, latency: 1 us}\n"
    "  nics: {count: 1, bandwidth: 80 Gbps, efficiency: 1, latency: 0 us}\n"
    "  fabric: {kind: tree, nodes_per_leaf: %u, oversubscription: %u, hop_latency: 0 us}\n"
    "  host: {cores: 64, memory: 1 TB, power: 1 kW}\n"
    "  storage: {write: 100 GB/s, read: 10 GB/s, per_node: 10 GB/s}\n"
    "gpu:\n  gpu: inline\n  source: made up\n  architecture: hopper\n"
    "  peak: {fp32: 10 TFLOP/s, fp16: 100 TFLOP/s, bf16: 100 TFLOP/s}\n"
    "  memory: 1000 GB\n  memory_bandwidth: 1 TB/s\n  sms: 100\n  tdp: 400 W\n"
    "  host_link: 20 GB/s\n  price: {gpu_hour: 1 USD}\n"
    "  power: {idle_fraction: 0.2, busy_fraction: 0.8}\n"
    "  memory_kernels: {efficiency: 1}\n  launch: {time: 4 us}\n"
    "  gemm: {tile_m: 128, tile_n: 128, efficiency: 1, k_half: 0}\n"
    "  attention:\n    fa2: {forward: 50 TFLOP/s, backward: 50 TFLOP/s, length_half: 0}\n"
    "library:\n  library: plain\n  source: made up\n  algorithms:\n"
    "    multi-rail-ring: {Simple: {base: 10 us, nvlink: 0 us, pcie: 0 us, network: 0 us}}\n"
    "    direct: {Simple: {base: 10 us, nvlink: 0 us, pcie: 0 us, network: 0 us}}\n";

static const char job_text[] =
    "model:\n  model: inline\n  source: made up\n  layers: 2\n  hidden: 1024\n"
    "  ffn_hidden: 4096\n  heads: 16\n  vocab: 32768\n  max_positions: 4096\n  mlp: gelu\n"
    "  norm: rmsnorm\n  positions: rotary\n  biases: false\n  tied_embeddings: true\n"
    "software:\n  software: inline\n  source: made up\n  attention: fa2\n"
    "  gradients: {precision: fp32}\n"
    "  overlap: {tp_backward: false, dp_gradients: false, dp_parameters: false, p2p: false}\n"
    "  bucket: {size: 1 GB}\n  fsdp: {prefetch: 1}\n"
    "  interference: {nvlink: 0, network: 0}\n"
    "  fusion: {bias_activation: true, dropout_add: true, norm: true, softmax: true}\n"
    "  host: {per_kernel: 1 us, per_step: 1 ms}\n  gemm: {derate: 1}\n"
    "  memory: {overhead: 1 GB}\n"
    "gpus: 2\nparallel: {tp: 1, pp: 1, dp: 2, zero: 0}\nprecision: bf16\n";

struct fixture {
    struct arena *arena;
    struct scenario *jobs[4]; /* the scenario and its neighbours */
    struct step_result alone[4];
    sim_time transfer_begins[4]; /* alone: when the last rank came to all-reduce its gradients */
    struct step_result together;
};

/* `per_leaf` nodes below a leaf, whose up-links carry what one of its NICs does when
 * `oversubscription` is the same number. `more` are lines of the scenario. */
static struct scenario *job_of(struct arena *arena, uint32_t per_leaf, uint32_t oversubscription,
                               const char *more)
{
    const char *text =
        arena_printf(arena, "%s%s%s", arena_printf(arena, cluster_text, per_leaf, oversubscription),
                     job_text, more);
    return fixture_scenario(arena, &(struct fixture_source){.text = text});
}

static void note_transfer(void *context, uint32_t actor, uint32_t stream, uint32_t index,
                          sim_time start, sim_time end)
{
    sim_time *latest = context;
    (void)actor;
    (void)index;
    (void)end;
    if (stream == STREAM_DATA_REDUCE && start > *latest) {
        *latest = start;
    }
}

static void simulate(struct fixture *fixture, uint32_t count)
{
    const struct step_request request = {.folds = false};
    struct scenario *asked = fixture->jobs[0];
    for (uint32_t i = 0; i < count; i++) {
        fixture->transfer_begins[i] = 0;
        const struct step_request watched = {.on_task = note_transfer,
                                             .context = &fixture->transfer_begins[i]};
        step_simulate(fixture->arena, fixture->jobs[i], &watched, &fixture->alone[i]);
    }
    asked->neighbours = fixture->jobs + 1;
    asked->neighbour_count = count - 1;
    step_simulate(fixture->arena, asked, &request, &fixture->together);
    assert_int_equal(fixture->together.job_count, count);
}

#define ONE_MICROBATCH "batch: {global: 2, micro: 1, sequence_length: 4096}\n"
#define FOUR_MICROBATCHES "batch: {global: 8, micro: 1, sequence_length: 4096}\n"

/* Nanoseconds of n times the gradient's bytes through a NIC, as the fluid rounds: up. */
static int64_t flow_ns(int64_t n)
{
    return (n * GRADIENT_BYTES + 9) / 10;
}

static int64_t ns_of(double seconds)
{
    return (int64_t)(seconds * 1e9 + 0.5);
}

static void assert_between(int64_t value, int64_t low, int64_t high)
{
    assert_true(value >= low);
    assert_true(value <= high);
}

static int setup(void **state)
{
    struct arena *arena = arena_new();
    struct fixture *fixture = arena_alloc(arena, sizeof *fixture);
    fixture->arena = arena;
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    arena_free(fixture->arena);
    return 0;
}

/* `count` equal jobs, each with a node below each of two leaves or, packed, its own leaf. */
static void add_equal_jobs(struct fixture *fixture, uint32_t count, uint32_t per_leaf,
                           uint32_t oversubscription, enum placement_kind placement)
{
    for (uint32_t i = 0; i < count; i++) {
        fixture->jobs[i] = job_of(fixture->arena, per_leaf, oversubscription, ONE_MICROBATCH);
        fixture->jobs[i]->placement = placement;
    }
}

/* The one transfer that counts, as the header has it: 10 us of latency and T. */
static void a_job_alone_moves_its_gradients_once(void **state)
{
    struct fixture *fixture = *state;
    add_equal_jobs(fixture, 1, 2, 2, PLACEMENT_SPREAD);
    const struct step_request request = {.folds = false};
    step_simulate(fixture->arena, fixture->jobs[0], &request, &fixture->alone[0]);
    const struct traffic_use *gradients = &fixture->alone[0].traffic[0];
    assert_string_equal(gradients->operation, "all-reduce");
    assert_int_equal(gradients->count, 1);
    assert_int_equal((int64_t)gradients->bytes, GRADIENT_BYTES);
    assert_int_equal((int64_t)gradients->rank_bytes, GRADIENT_BYTES);
    assert_close(gradients->alone_s, 10e-6 + (double)GRADIENT_BYTES / 10e9, 1e-12);
    assert_int_equal(fixture->alone[0].job_count, 0); /* no list of one */
}

/* n jobs, n nodes below each leaf, up-links as wide as one NIC. In phase, each gets 1/n of the
 * up-link and its transfer takes n T: (n - 1) T more than alone. */
static void equal_jobs_share_an_up_link_equally(void **state)
{
    struct fixture *fixture = *state;
    for (uint32_t n = 2; n <= 4; n++) {
        add_equal_jobs(fixture, n, n, n, PLACEMENT_SPREAD);
        simulate(fixture, n);
        const int64_t more = flow_ns(n) - flow_ns(1);
        assert_int_equal(fixture->together.step_ns, fixture->alone[0].step_ns + more);
        for (uint32_t i = 0; i < n; i++) {
            const struct job_use *use = &fixture->together.jobs[i];
            assert_int_equal(ns_of(use->step_alone_s), fixture->alone[0].step_ns);
            assert_int_equal(ns_of(use->step_s), fixture->together.step_ns);
            assert_int_equal(use->gpus, 2);
        }
        const double took = (double)(10000 + flow_ns(n)) / (double)(10000 + flow_ns(1));
        assert_close(fixture->together.traffic[0].slowdown, took, 1e-6);
    }
}

/* Half as many jobs as NICs fill the up-link, so nobody is slowed: 2 of 4 at 2:1. */
static void jobs_that_an_up_link_can_carry_are_not_slowed(void **state)
{
    struct fixture *fixture = *state;
    add_equal_jobs(fixture, 2, 4, 2, PLACEMENT_SPREAD);
    simulate(fixture, 2);
    assert_int_equal(fixture->together.step_ns, fixture->alone[0].step_ns);
}

static void jobs_on_a_non_blocking_fabric_do_not_slow_each_other(void **state)
{
    struct fixture *fixture = *state;
    add_equal_jobs(fixture, 4, 4, 1, PLACEMENT_SPREAD);
    simulate(fixture, 4);
    assert_int_equal(fixture->together.step_ns, fixture->alone[0].step_ns);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(ns_of(fixture->together.jobs[i].step_s), fixture->alone[0].step_ns);
    }
    assert_memory_equal(fixture->together.gpu_ns, fixture->alone[0].gpu_ns,
                        sizeof fixture->together.gpu_ns);
}

/* Packed, each job has a leaf of two nodes for itself and needs no up-link, however narrow. */
static void jobs_on_leaves_of_their_own_do_not_slow_each_other(void **state)
{
    struct fixture *fixture = *state;
    add_equal_jobs(fixture, 4, 2, 8, PLACEMENT_PACKED);
    simulate(fixture, 4);
    assert_int_equal(fixture->together.step_ns, fixture->alone[0].step_ns);
}

/* The second job's GPUs compute at 90 %: its transfer begins d later, and d < T. From then on
 * both have half of the up-link: of the first T - d are left, which take twice that; it ends
 * T - d later than alone. Then the second has sent T - d of its own, has d left and the link for
 * itself: its transfer takes 2 (T - d) + d, T - d more than alone, too. */
static void jobs_contend_for_as_long_as_they_overlap(void **state)
{
    struct fixture *fixture = *state;
    fixture->jobs[0] = job_of(fixture->arena, 2, 2, ONE_MICROBATCH);
    fixture->jobs[1] = job_of(fixture->arena, 2, 2,
                              ONE_MICROBATCH "slow: [{rank: 0, speed: 0.9}, "
                                             "{rank: 1, speed: 0.9}]\n");
    for (uint32_t i = 0; i < 2; i++) {
        fixture->jobs[i]->placement = PLACEMENT_SPREAD;
    }
    simulate(fixture, 2);
    const int64_t d = fixture->transfer_begins[1] - fixture->transfer_begins[0];
    assert_between(d, 1000000, flow_ns(1));
    const int64_t more = fixture->together.step_ns - fixture->alone[0].step_ns;
    assert_between(more, flow_ns(1) - d - 2, flow_ns(1) - d + 2);
    const int64_t theirs = ns_of(fixture->together.jobs[1].step_s) - fixture->alone[1].step_ns;
    assert_between(theirs, flow_ns(1) - d - 2, flow_ns(1) - d + 2);
}

/* At half speed the second job's transfer begins when the first's is over (compute takes some
 * 30 ms, T is 23): the first never meets it. Its one step runs on an up-link of its own. */
static void a_neighbour_on_a_longer_step_may_never_be_met(void **state)
{
    struct fixture *fixture = *state;
    fixture->jobs[0] = job_of(fixture->arena, 2, 2, ONE_MICROBATCH);
    fixture->jobs[1] =
        job_of(fixture->arena, 2, 2, ONE_MICROBATCH "slow: [{rank: 0, speed: 0.5}]\n");
    for (uint32_t i = 0; i < 2; i++) {
        fixture->jobs[i]->placement = PLACEMENT_SPREAD;
    }
    simulate(fixture, 2);
    assert_true(fixture->alone[1].step_ns > fixture->alone[0].step_ns + flow_ns(1));
    assert_int_equal(fixture->together.step_ns, fixture->alone[0].step_ns);
    assert_int_equal(fixture->together.jobs[1].steps, 1);
    assert_int_equal(ns_of(fixture->together.jobs[1].step_s), fixture->alone[1].step_ns);
}

/* Four microbatches take a bit over 140 ms, one 55.8: the neighbour runs its step ceil(1.25 x
 * 2.6) = 4 times, each as long as alone where the fabric does not block. */
static void a_neighbour_on_a_shorter_step_repeats_it(void **state)
{
    struct fixture *fixture = *state;
    fixture->jobs[0] = job_of(fixture->arena, 2, 1, FOUR_MICROBATCHES);
    fixture->jobs[1] = job_of(fixture->arena, 2, 1, ONE_MICROBATCH);
    for (uint32_t i = 0; i < 2; i++) {
        fixture->jobs[i]->placement = PLACEMENT_SPREAD;
    }
    simulate(fixture, 2);
    assert_int_equal(fixture->together.step_ns, fixture->alone[0].step_ns);
    assert_int_equal(fixture->together.jobs[0].steps, 1);
    assert_int_equal(fixture->together.jobs[1].steps, 4);
    assert_int_equal(ns_of(fixture->together.jobs[1].step_s), fixture->alone[1].step_ns);
}

/* The order in which the scenario lists its neighbours moves nodes, not times: with one leaf for
 * all nobody meets anybody. */
static void a_job_does_not_depend_on_the_order_of_its_neighbours(void **state)
{
    struct fixture *fixture = *state;
    int64_t step_ns[2];
    for (uint32_t i = 0; i < 2; i++) {
        fixture->jobs[0] = job_of(fixture->arena, 2, 2, ONE_MICROBATCH);
        fixture->jobs[1 + i] = job_of(fixture->arena, 2, 2, ONE_MICROBATCH);
        fixture->jobs[2 - i] = job_of(fixture->arena, 2, 2, FOUR_MICROBATCHES);
        simulate(fixture, 3);
        step_ns[i] = fixture->together.step_ns;
    }
    assert_int_equal(step_ns[0], step_ns[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* A NIC that carries a share s of what it should sends the buffer of T ns in T / s, and so does the
 * other rank's, which waits for it: the step is longer by T (1 / s - 1). Of a rank whose NIC is
 * whole, and of a share of 1, it is as it was. */
static void a_weak_nic_sends_the_gradients_so_much_longer(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_request request = {.folds = false};
    const char *const whole = ONE_MICROBATCH;
    struct step_result healthy;
    step_simulate(arena, job_of(arena, 2, 1, whole), &request, &healthy);
    const double shares[] = {1, 0.5, 0.25, 0.1};
    for (uint32_t i = 0; i < 8; i++) {
        const double share = shares[i / 2];
        const char *more =
            arena_printf(arena, "%sslow: [{rank: %u, nic: %g}]\n", whole, i % 2, share);
        struct step_result weak;
        step_simulate(arena, job_of(arena, 2, 1, more), &request, &weak);
        const double longer_ns = 8.0 * (double)GRADIENT_BYTES / 80.0 * (1 / share - 1);
        assert_true(weak.step_ns >= healthy.step_ns);
        assert_true(fabs((double)(weak.step_ns - healthy.step_ns) - longer_ns) < 2);
    }
    arena_free(arena);
}

/* 16 GPUs of 2 nodes, whose tensor groups of 8 exchange over NVLink: with a port at half of one of
 * them the step is longer, and folded it is what it is with every GPU simulated. The less a link
 * carries the longer the step. */
static void the_weaker_a_link_the_longer_the_step(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const links[] = {"nic", "scale_up"};
    for (uint32_t i = 0; i < 2; i++) {
        int64_t last_ns = 0;
        for (uint32_t k = 0; k < 4; k++) {
            const char *const sets[] = {
                "gpus=16", "parallel={tp: 8, zero: 0}", "batch.global=8",
                arena_printf(arena, "slow=[{rank: 11, %s: %g}]", links[i], 1.0 / (1 << k))};
            const struct scenario *scenario = fixture_scenario(
                arena, &(struct fixture_source){
                           .path = "scenarios/quickstart.yaml", .sets = sets, .set_count = 4});
            struct step_result folded;
            struct step_result full;
            step_simulate(arena, scenario, &(struct step_request){.folds = true}, &folded);
            step_simulate(arena, scenario, &(struct step_request){.folds = false}, &full);
            assert_int_equal(folded.step_ns, full.step_ns);
            assert_true(folded.step_ns > last_ns);
            assert_true(k == 0 || folded.engine.ranks_simulated < 16);
            last_ns = folded.step_ns;
        }
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_alone_moves_its_gradients_once),
        TEST(equal_jobs_share_an_up_link_equally),
        TEST(jobs_that_an_up_link_can_carry_are_not_slowed),
        TEST(jobs_on_a_non_blocking_fabric_do_not_slow_each_other),
        TEST(jobs_on_leaves_of_their_own_do_not_slow_each_other),
        TEST(jobs_contend_for_as_long_as_they_overlap),
        TEST(a_neighbour_on_a_longer_step_may_never_be_met),
        TEST(a_neighbour_on_a_shorter_step_repeats_it),
        TEST(a_job_does_not_depend_on_the_order_of_its_neighbours),
        cmocka_unit_test(a_weak_nic_sends_the_gradients_so_much_longer),
        cmocka_unit_test(the_weaker_a_link_the_longer_the_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
