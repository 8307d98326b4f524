/* The host's lead over the GPU, by hand and against a clock that steps through each kernel. */
#include "train/launch_queue.h"

#include "base/arena.h"
#include "base/rng.h"
#include "support/each_burst.h"
#include "support/volume.h"
#include "train/step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

/* `launches` kernels of `work` each, for each of which the host takes `host`. */
static struct launch_burst burst_of(int64_t launches, int64_t work, int64_t host)
{
    struct launch_burst burst = {.launches = 0};
    launch_burst_add(&burst, launches, launches * work, launches * host);
    return burst;
}

static struct launch_queue queue_of(struct arena *arena, int64_t depth)
{
    struct launch_queue queue;
    launch_queue_init(&queue, arena, depth);
    return queue;
}

/* ---- by hand ------------------------------------------------------------------------------ */

/* Kernels of 3 that the host needs 10 for: the first starts at 10, the k-th at 10 k, the last of
 * 20 ends at 203, of which 60 are work. Two bursts of 10 wait 73 and 70. */
static void short_kernels_go_at_the_hosts_pace(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct launch_queue queue = queue_of(arena, 1000);
    const struct launch_burst ten = burst_of(10, 3, 10);
    assert_int_equal(each_burst_wait(&queue, &ten), 73);
    assert_int_equal(queue.lead_ns, 3);
    assert_int_equal(each_burst_wait(&queue, &ten), 70);
    const struct launch_burst twenty = burst_of(20, 3, 10);
    struct launch_queue other = queue_of(arena, 1000);
    assert_int_equal(each_burst_wait(&other, &twenty), 143);
    arena_free(arena);
}

/* One of 500 is launched at 10 and ends at 510: launches of the next 50 are done by then. So of
 * kernels of 3, each of which uses up 7 of the lead of 500, 71 find theirs done: 71 x 7 = 497,
 * lead 3; the 72nd is launched at 10 + 720 = 730, when the 71st has ended at 510 + 213 = 723. */
static void a_long_kernel_hides_short_ones_until_the_lead_is_used_up(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct launch_queue queue = queue_of(arena, 1000);
    const struct launch_burst large = burst_of(1, 500, 10);
    const struct launch_burst little = burst_of(1, 3, 10);
    assert_int_equal(each_burst_wait(&queue, &large), 10);
    assert_int_equal(queue.lead_ns, 500);
    for (int i = 0; i < 71; i++) {
        assert_int_equal(each_burst_wait(&queue, &little), 0);
    }
    assert_int_equal(queue.lead_ns, 3);
    assert_int_equal(each_burst_wait(&queue, &little), 7);
    arena_free(arena);
}

/* 2,000 kernels of 50 leave a host that needs 10 for each 80,000 ahead, but only 8 launches may be
 * pending: 8 x 50 = 400. Then kernels of 3 use up 7 each: 57 of them are hidden, the 58th waits. */
static void the_host_is_no_more_than_its_queue_ahead(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct launch_queue deep = queue_of(arena, 100000);
    struct launch_queue queue = queue_of(arena, 8);
    const struct launch_burst longer = burst_of(20, 50, 10);
    for (int i = 0; i < 100; i++) {
        each_burst_wait(&deep, &longer);
        each_burst_wait(&queue, &longer);
    }
    assert_int_equal(deep.lead_ns, 50 + 1999 * 40);
    assert_int_equal(queue.lead_ns, 400);
    /* The queue of 8 has also to be filled with short ones, of which 8 are 24. */
    const struct launch_burst little = burst_of(4, 3, 10);
    assert_int_equal(each_burst_wait(&queue, &little), 0);
    assert_int_equal(queue.lead_ns, 4 * 50 + 4 * 3);
    assert_int_equal(each_burst_wait(&queue, &little), 0);
    assert_int_equal(queue.lead_ns, 8 * 3);
    assert_int_equal(each_burst_wait(&queue, &little), 4 * 10 - 3 * 3 - 24);
    arena_free(arena);
}

/* A host that waited for the GPU has no lead: the next kernel waits for its launch. */
static void a_synchronisation_takes_the_lead(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct launch_queue queue = queue_of(arena, 1000);
    const struct launch_burst large = burst_of(1, 500, 10);
    each_burst_wait(&queue, &large);
    assert_int_equal(each_burst_wait(&queue, &large), 0);
    each_burst_drain(&queue);
    assert_int_equal(each_burst_wait(&queue, &large), 10);
    arena_free(arena);
}

/* ---- against a clock --------------------------------------------------------------------- */

static int64_t draw(struct rng_key *key, uint64_t below)
{
    key->operation++;
    return (int64_t)rng_below(key, below);
}

/* Host and GPU as they run: a kernel begins when it is launched and the one before has ended. */
struct clock {
    int64_t host, gpu, worked;
};

static void clock_launch(struct clock *clock, int64_t work, int64_t host)
{
    clock->host += host;
    clock->gpu = (clock->gpu > clock->host ? clock->gpu : clock->host) + work;
    clock->worked += work;
}

/* Bursts of kernels of any lengths, with synchronisations here and there. */
static void bursts_wait_as_their_kernels_one_by_one(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct rng_key key = {.seed = 1, .stream = rng_stream("launches")};
    struct launch_queue queue = queue_of(arena, 1 << 20);
    struct clock clock = {0, 0, 0};
    int64_t waited = 0;
    for (int i = 0; i < 5000; i++) {
        struct launch_burst burst = {.launches = 0};
        const int64_t kernels = 1 + draw(&key, 12);
        for (int64_t k = 0; k < kernels; k++) {
            const int64_t launches = 1 + draw(&key, 3);
            const int64_t work = draw(&key, draw(&key, 8) == 0 ? 400 : 20);
            const int64_t host = draw(&key, 25);
            launch_burst_add(&burst, launches, launches * work, launches * host);
            for (int64_t j = 0; j < launches; j++) {
                clock_launch(&clock, work, host);
            }
        }
        waited += each_burst_wait(&queue, &burst);
        assert_int_equal(waited + clock.worked, clock.gpu);
        assert_int_equal(queue.lead_ns, clock.gpu - clock.host);
        if (draw(&key, 10) == 0) {
            each_burst_drain(&queue);
            clock.host = clock.gpu;
        }
    }
    assert_true(waited > 10000);
    arena_free(arena);
}

enum { SPANS = 4, SPAN_BURSTS = 12 };

/* Bursts, and what they come to together. */
struct span {
    struct launch_burst bursts[SPAN_BURSTS];
    int64_t launches, work_ns;
};

static struct span draw_span(struct rng_key *key)
{
    struct span span = {.launches = 0};
    for (uint32_t i = 0; i < SPAN_BURSTS; i++) {
        key->operation++;
        span.bursts[i] = burst_of(1 + (int64_t)rng_below(key, 4), (int64_t)rng_below(key, 900), 5);
        span.launches += span.bursts[i].launches;
        span.work_ns += span.bursts[i].work_ns;
    }
    return span;
}

static void assert_same_window(const struct launch_queue *a, const struct launch_queue *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->recent_launches, b->recent_launches);
    assert_int_equal(launch_queue_pending_ns(a), launch_queue_pending_ns(b));
}

/* From the newest span to the oldest, of which some are taken at once, as each in its turn. */
static void the_window_is_filled_from_either_end(void **state)
{
    (void)state;
    struct rng_key key = {.seed = 5, .stream = rng_stream("window")};
    uint32_t whole = 0;
    for (uint32_t family = 0; family < 2000; family++) {
        struct arena *arena = arena_new();
        key.operation++;
        struct launch_queue forward = queue_of(arena, 1 + (int64_t)rng_below(&key, 120));
        struct launch_queue back = queue_of(arena, forward.depth);
        struct span spans[SPANS];
        for (uint32_t i = 0; i < SPANS; i++) {
            spans[i] = draw_span(&key);
            for (uint32_t k = 0; k < SPAN_BURSTS; k++) {
                launch_queue_remember(&forward, &spans[i].bursts[k]);
            }
        }
        bool reaches = true;
        for (uint32_t i = SPANS; reaches && i-- > 0;) {
            const struct span *span = &spans[i];
            const bool is_whole = launch_queue_remember_whole(&back, span->bursts, SPAN_BURSTS,
                                                              span->launches, span->work_ns);
            reaches = is_whole || launch_queue_remember_older(&back, span->bursts, SPAN_BURSTS);
            whole += is_whole;
        }
        assert_same_window(&forward, &back);
        launch_queue_remember(&forward, &spans[0].bursts[0]);
        launch_queue_remember(&back, &spans[0].bursts[0]);
        assert_same_window(&forward, &back);
        arena_free(arena);
    }
    assert_true(whole > 1000);
}

/* A burst in 4 parts waits as it does in one, whatever the lead. */
static void parts_wait_as_the_whole(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    static const struct {
        int64_t work, host;
    } kernels[] = {{3, 10}, {10, 10}, {30, 10}};
    for (int i = 0; i < 3; i++) {
        const struct launch_burst whole = burst_of(100, kernels[i].work, kernels[i].host);
        for (int64_t lead = 0; lead < 1000; lead += 50) {
            struct launch_queue one = queue_of(arena, 10000);
            struct launch_queue four = queue_of(arena, 10000);
            const struct launch_burst before = burst_of(1, lead, 0);
            each_burst_wait(&one, &before);
            each_burst_wait(&four, &before);
            int64_t waited = 0;
            for (int64_t part = 0; part < 4; part++) {
                const struct launch_burst quarter = launch_burst_part(&whole, part, 4);
                waited += each_burst_wait(&four, &quarter);
            }
            assert_int_equal(waited, each_burst_wait(&one, &whole));
            assert_int_equal(four.lead_ns, one.lead_ns);
        }
    }
    arena_free(arena);
}

/* ---- in a program ------------------------------------------------------------------------ */

static struct step_system *llama(struct arena *arena, const char *parallel, int sequences,
                                 const char *host)
{
    return volume_system(arena, arena_printf(arena,
                                             "model: llama3-8b\ncluster: h100-3200\ngpus: 8\n"
                                             "parallel: {%s}\nrecompute: none\n"
                                             "batch: {global: %d, micro: 1, sequence_length: "
                                             "8192}\nsoftware:\n  software: inline\n"
                                             "  source: made up\n  attention: fa2\n"
                                             "  gradients: {precision: fp32}\n  host: {%s}\n",
                                             parallel, sequences, host));
}

static int64_t wait_of(const char *parallel, int sequences, const char *host)
{
    struct arena *arena = arena_new();
    const struct step_system *system = llama(arena, parallel, sequences, host);
    const int64_t wait_ns = system->jobs[0].host_wait_ns[0];
    arena_free(arena);
    return wait_ns;
}

/* 100 us a launch is less than what the long products of 8,192 tokens take, but more than the
 * embedding's first kernel, which waits for its launch, and at the step's beginning for some
 * more: not a microbatch later, and not in each of its segments. */
static void the_lead_lasts_over_segments_layers_and_microbatches(void **state)
{
    (void)state;
    const int64_t once = wait_of("zero: 1", 8, "per_kernel: 100 us");
    assert_in_range(once, 100000, 400000);
    assert_int_equal(wait_of("zero: 1", 32, "per_kernel: 100 us"), once);
    /* The host of one launch ahead waits in each of 32 layers, forward and backward. */
    assert_true(wait_of("zero: 1", 8, "per_kernel: 100 us}\n  launch_queue: {launches: 1") >
                64 * 100000);
}

/* At 20 ms a launch the host sets the pace of everything but the optimizer's last kernel: two
 * microbatches wait for about twice as much as one. */
static void a_slow_host_is_waited_for_in_each_microbatch(void **state)
{
    (void)state;
    const double one = (double)wait_of("zero: 1", 8, "per_kernel: 20 ms");
    const double two = (double)wait_of("zero: 1", 16, "per_kernel: 20 ms");
    assert_true(two / one > 1.95 && two / one < 2.0);
}

/* pp 2, dp 4, four microbatches: Megatron's host waits for the GPU after each send and receive. So
 * stage 0's kernels wait for a launch anew in each forward and backward: 8 actions, 100 us or more
 * in each where otherwise there is one beginning. Overlapped, as only an interleaved schedule can
 * be, it does not. */
static void synchronous_messages_empty_the_queue(void **state)
{
    (void)state;
    const int64_t ahead = wait_of("pp: 2, zero: 1", 16, "per_kernel: 100 us");
    const int64_t waits =
        wait_of("pp: 2, zero: 1", 16, "per_kernel: 100 us}\n  launch_queue: {waits_for_p2p: true");
    assert_in_range(ahead, 100000, 400000);
    assert_true(waits >= ahead + 7 * 100000);
    static const char interleaved[] = "pp: 2, zero: 1, virtual_stages: 2";
    assert_int_equal(wait_of(interleaved, 16,
                             "per_kernel: 100 us}\n  launch_queue: {waits_for_p2p: true}\n"
                             "  overlap: {p2p: true"),
                     wait_of(interleaved, 16, "per_kernel: 100 us}\n  overlap: {p2p: true"));
}

/* Once the lead has settled, equal microbatches are equal tasks: of 24 microbatches the last 20
 * have the same compute tasks, a fixed number of them each. */
static void microbatches_repeat_exactly(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    static const char *const hosts[] = {"per_kernel: 9 us", "per_kernel: 300 us",
                                        "per_kernel: 300 us}\n  launch_queue: {launches: 20"};
    for (size_t h = 0; h < sizeof hosts / sizeof *hosts; h++) {
        const struct step_system *system = llama(arena, "tp: 8, zero: 1", 24, hosts[h]);
        const struct step_system *fewer = llama(arena, "tp: 8, zero: 1", 23, hosts[h]);
        const struct engine_program *program = &system->engine.programs[0];
        const uint32_t count = program->counts[STREAM_COMPUTE];
        const uint32_t period = count - fewer->engine.programs[0].counts[STREAM_COMPUTE];
        assert_true(period > 100 && count > 23 * period);
        for (uint32_t i = 4 * period; i < 22 * period; i++) {
            const struct task *task = engine_program_task(program, STREAM_COMPUTE, i);
            const struct task *next = engine_program_task(program, STREAM_COMPUTE, i + period);
            assert_int_equal(task->work_ns, next->work_ns);
            assert_int_equal(task->launch_ns, next->launch_ns);
        }
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_kernels_go_at_the_hosts_pace),
        cmocka_unit_test(a_long_kernel_hides_short_ones_until_the_lead_is_used_up),
        cmocka_unit_test(the_host_is_no_more_than_its_queue_ahead),
        cmocka_unit_test(a_synchronisation_takes_the_lead),
        cmocka_unit_test(bursts_wait_as_their_kernels_one_by_one),
        cmocka_unit_test(the_window_is_filled_from_either_end),
        cmocka_unit_test(parts_wait_as_the_whole),
        cmocka_unit_test(the_lead_lasts_over_segments_layers_and_microbatches),
        cmocka_unit_test(a_slow_host_is_waited_for_in_each_microbatch),
        cmocka_unit_test(synchronous_messages_empty_the_queue),
        cmocka_unit_test(microbatches_repeat_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
