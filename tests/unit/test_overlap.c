/* What hides communication: a GPU computes or waits, and each wait is somebody's. */
#include "train/overlap.h"

#include "base/arena.h"
#include "support/fixture.h"
#include "support/random_scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SCENARIOS = 60 };

static int64_t waited_ns(const struct overlap *overlap)
{
    int64_t sum = 0;
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        sum += overlap_sum(overlap->streams[s].waited_ns);
    }
    return sum;
}

/* From the step's begin a GPU computes or waits for communication until its last kernel; after
 * that, others. So the two never exceed the step, and are all of it on the GPU that ends it: with
 * one stage and equal GPUs that is each one, when the optimizer comes last. */
static void computing_and_waiting_are_the_step(void **state)
{
    (void)state;
    uint32_t exact = 0;
    for (uint64_t i = 0; i < SCENARIOS; i++) {
        struct arena *arena = arena_new();
        const struct scenario *scenario = random_scenario(arena, 9, i);
        struct overlap overlap;
        overlap_simulate(arena, scenario, true, &overlap);
        const int64_t sum = overlap_sum(overlap.computing_ns) + waited_ns(&overlap);
        assert_true(sum <= overlap.end);
        exact += sum == overlap.end;
        arena_free(arena);
    }
    assert_in_range(exact, SCENARIOS / 4, SCENARIOS);
}

/* No task is hidden for longer than it is under way; and while it is under way and not hidden, the
 * GPU waits for it or for something else, or has done all its work. */
static void what_is_hidden_is_under_way(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < SCENARIOS; i++) {
        struct arena *arena = arena_new();
        struct overlap overlap;
        overlap_simulate(arena, random_scenario(arena, 10, i), true, &overlap);
        for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
            const struct overlap_stream *stream = &overlap.streams[s];
            assert_true(overlap_sum(stream->beside_ns) <= stream->under_way_ns);
            assert_true(stream->under_way_ns - overlap_sum(stream->beside_ns) <=
                        overlap.end - overlap_sum(overlap.computing_ns));
            for (uint32_t work = 0; work < OVERLAP_WORK_COUNT_; work++) {
                assert_true(stream->beside_ns[work] <= overlap.computing_ns[work]);
                assert_true((stream->waits[work] == 0) == (stream->waited_ns[work] == 0));
            }
        }
        arena_free(arena);
    }
}

static struct overlap overlap_of(struct arena *arena, const char *overlaps)
{
    const char *text =
        arena_printf(arena,
                     "model: llama3-8b\ncluster: h100-3200\ngpus: 16\nparallel: {tp: 2, zero: 1}\n"
                     "batch: {global: 16, micro: 1, sequence_length: 8192}\n"
                     "software:\n  software: inline\n  source: made up\n  attention: fa2\n"
                     "  gradients: {precision: fp32}\n  overlap: {%s}\n",
                     overlaps);
    struct overlap overlap;
    overlap_simulate(arena, fixture_scenario(arena, &(struct fixture_source){.text = text}), true,
                     &overlap);
    return overlap;
}

/* Two ranks of tp, one microbatch at a time: each all-reduce stands between two kernels, so all
 * of its time is waited for: in a layer two forward and two backward. The gradients follow the last
 * backward; what comes next is the norm. */
static void what_stands_in_line_is_waited_for(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct overlap none = overlap_of(arena, "dp_gradients: false");
    const struct overlap_stream *tensor = &none.streams[STREAM_TENSOR];
    const struct overlap_stream *reduce = &none.streams[STREAM_DATA_REDUCE];
    assert_int_equal(overlap_sum(tensor->beside_ns), 0);
    assert_int_equal(overlap_sum(tensor->waited_ns), tensor->under_way_ns);
    assert_true(tensor->waits[OVERLAP_FORWARD] >= 2 * 2 * 32);
    assert_int_equal(overlap_sum(reduce->beside_ns), 0);
    assert_int_equal(reduce->waited_ns[OVERLAP_OPTIMIZER], reduce->under_way_ns);
    assert_int_equal(reduce->waits[OVERLAP_OPTIMIZER], 1);
    arena_free(arena);
}

/* Buckets beside the backward pass are hidden there; the last one is not. */
static void buckets_hide_beside_the_backward_pass(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct overlap overlap = overlap_of(arena, "dp_gradients: true");
    const struct overlap_stream *reduce = &overlap.streams[STREAM_DATA_REDUCE];
    assert_true(reduce->tasks > 1);
    assert_true(reduce->beside_ns[OVERLAP_BACKWARD] > 0);
    assert_int_equal(reduce->beside_ns[OVERLAP_FORWARD], 0);
    assert_true(reduce->waited_ns[OVERLAP_OPTIMIZER] > 0);
    assert_true(reduce->waited_ns[OVERLAP_OPTIMIZER] < reduce->under_way_ns / 2);
    arena_free(arena);
}

/* FSDP that gathers nothing ahead: no layer begins before its own weights are there, in the first
 * of four microbatches as in the others, which gather embedding and head again before. Each of 32
 * layers waits once forward and once backward, but for the last, whose weights are still there. */
static void nothing_hides_a_gather_that_is_not_ahead(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *text = "model: llama3-8b\ncluster: h100-400\ngpus: 16\nparallel: {zero: 3}\n"
                       "batch: {global: 64, micro: 1, sequence_length: 8192}\n"
                       "software:\n  software: inline\n  source: made up\n  attention: fa2\n"
                       "  gradients: {precision: fp32}\n  fsdp: {prefetch: 0}\n"
                       "  overlap: {dp_parameters: true, dp_gradients: false}\n";
    struct overlap overlap;
    overlap_simulate(arena, fixture_scenario(arena, &(struct fixture_source){.text = text}), true,
                     &overlap);
    const struct overlap_stream *gather = &overlap.streams[STREAM_DATA_GATHER];
    assert_int_equal(overlap_sum(gather->beside_ns), 0);
    assert_in_range(gather->waits[OVERLAP_FORWARD], 4 * 32, 4 * 33);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computing_and_waiting_are_the_step),
        cmocka_unit_test(what_is_hidden_is_under_way),
        cmocka_unit_test(what_stands_in_line_is_waited_for),
        cmocka_unit_test(buckets_hide_beside_the_backward_pass),
        cmocka_unit_test(nothing_hides_a_gather_that_is_not_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
