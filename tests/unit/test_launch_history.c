/* Spans of launches that come again, against a queue that goes through every burst. */
#include "train/launch_history.h"

#include "base/arena.h"
#include "base/rng.h"
#include "support/each_burst.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* `launches` kernels of `work` each, for each of which the host takes `host`. */
static struct launch_burst burst_of(int64_t launches, int64_t work, int64_t host)
{
    struct launch_burst burst = {.launches = 0};
    launch_burst_add(&burst, launches, launches * work, launches * host);
    return burst;
}

static struct launch_history history_of(struct arena *arena, int64_t depth)
{
    struct launch_history history;
    struct launch_spans *spans = arena_alloc(arena, sizeof *spans);
    launch_history_init(&history, arena, spans, depth);
    return history;
}

/* ---- by hand ------------------------------------------------------------------------------ */

/* The lead is 100 after a kernel of 100. A span of a kernel of 50 and one of 2, each launched in
 * 10: it takes a lead of 10 for the first; for the second 10 less the 40 that the first one gives.
 * It gives 40 - 8 = 32. So with 100 it passes, and the lead is at least 32 + min(100, 10), the
 * least of the host's times before which the depth may have cut it. (It is 132.) */
static void a_span_passes_with_lead_enough(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct launch_history history = history_of(arena, 1000);
    const struct launch_burst large = burst_of(1, 100, 10);
    const struct launch_burst middle = burst_of(1, 50, 10);
    const struct launch_burst small = burst_of(1, 2, 10);
    assert_int_equal(launch_history_wait(&history, &large), 10);
    launch_history_end_span(&history);
    assert_int_equal(history.queue.lead_ns, 100);
    assert_int_equal(launch_history_wait(&history, &middle), 0);
    assert_int_equal(launch_history_wait(&history, &small), 0);
    const struct launch_passage passage = launch_history_end_span(&history);
    assert_int_equal(passage.span->lead_ns, 10);
    assert_int_equal(passage.span->gain_ns, 32);
    assert_int_equal(history.queue.lead_ns, 132);
    assert_true(history.is_exact);
    assert_true(launch_history_pass(&history, &passage));
    assert_false(history.is_exact);
    assert_int_equal(history.queue.lead_ns, 32 + 10);
    /* 45 are more than the bound of 42: the lead is worked out, 132 + 32 = 164. */
    const struct launch_burst late = {.launches = 1, .host_ns = 45, .work_ns = 5, .deficit_ns = 45};
    assert_int_equal(launch_history_wait(&history, &late), 0);
    assert_true(history.is_exact);
    assert_int_equal(history.queue.lead_ns, 164 - 40);
    arena_free(arena);
}

/* With 2 launches pending at most the lead is no more than their work. Behind kernels of 100 that
 * of 30 leaves 130, and those of 1 each 31, 2, and, 8 late, 2: the last waits for 10 - 2. That span
 * passes only after the same two kernels of 100. */
static void a_span_that_waits_passes_where_all_is_as_it_was(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct launch_history history = history_of(arena, 2);
    const struct launch_burst bursts[] = {burst_of(1, 100, 10), burst_of(1, 100, 10),
                                          burst_of(1, 30, 10),  burst_of(1, 1, 10),
                                          burst_of(1, 1, 10),   burst_of(1, 1, 10)};
    struct launch_passage before, passage;
    for (int i = 0; i < 2; i++) {
        launch_history_wait(&history, &bursts[0]);
        launch_history_wait(&history, &bursts[1]);
        before = launch_history_end_span(&history);
        int64_t wait_ns = 0;
        for (int k = 2; k < 6; k++) {
            wait_ns += launch_history_wait(&history, &bursts[k]);
        }
        passage = launch_history_end_span(&history);
        assert_int_equal(wait_ns, 8);
        assert_int_equal(passage.wait_ns, 8);
    }
    assert_true(before.is_exact && before.wait_ns > 0);
    assert_false(launch_history_pass(&history, &passage));
    assert_true(launch_history_pass(&history, &before));
    assert_true(launch_history_pass(&history, &passage));
    assert_true(history.is_exact);
    arena_free(arena);
}

/* So far ahead nothing waits, but after a drain: of two kernels of 2, launched in 10 each, the
 * first waits 10 and the second 8. */
static void who_is_far_ahead_waits_only_behind_a_drain(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct launch_history history = history_of(arena, 1000);
    const struct launch_burst small = burst_of(1, 2, 10);
    for (int i = 0; i < 2; i++) { /* again, whatever was before */
        launch_history_run_ahead(&history);
        assert_int_equal(launch_history_wait(&history, &small), 0);
        assert_int_equal(launch_history_wait(&history, &small), 0);
        launch_history_drain(&history);
        assert_int_equal(launch_history_wait(&history, &small), 10);
        assert_int_equal(launch_history_wait(&history, &small), 8);
    }
    arena_free(arena);
}

/* ---- against each burst ------------------------------------------------------------------- */

static int64_t draw(struct rng_key *key, uint64_t below)
{
    key->operation++;
    return (int64_t)rng_below(key, below);
}

enum { KINDS = 5, PASSAGES_MAX = 12, BURSTS_MAX = 14 };

/* What comes again and again. */
struct kind {
    struct launch_burst bursts[BURSTS_MAX]; /* without launches: a drain */
    uint32_t count;
    struct launch_passage passages[PASSAGES_MAX];
    uint32_t passage_count;
    struct launch_part parts[PASSAGES_MAX]; /* all of it, as part of a longer span */
    uint32_t part_count;
    struct launch_passage longer[PASSAGES_MAX]; /* the span that begins with it */
    uint32_t longer_count;
};

/* `pace`: how long kernels are against the host's 20 for each. */
static void draw_kind(struct rng_key *key, int64_t pace, bool drains, struct kind *kind)
{
    *kind = (struct kind){.count = 1 + (uint32_t)draw(key, BURSTS_MAX)};
    for (uint32_t i = 0; i < kind->count; i++) {
        const int64_t work = draw(key, 4) == 0 ? 3 * pace : draw(key, (uint64_t)pace);
        kind->bursts[i] = burst_of(1 + draw(key, 6), work, 1 + draw(key, 40));
        if (draw(key, 6) == 0) { /* as a part of a burst may be */
            kind->bursts[i].deficit_ns += draw(key, 100);
        }
        if (drains && draw(key, 8) == 0) {
            kind->bursts[i] = (struct launch_burst){.launches = 0};
        }
    }
}

struct counts {
    uint64_t passed, waiting, bound, gone_through, skipped, skipped_waiting, longer_passed;
};

static int64_t go_through(struct launch_queue *queue, const struct kind *kind)
{
    int64_t wait_ns = 0;
    for (uint32_t i = 0; i < kind->count; i++) {
        if (kind->bursts[i].launches == 0) {
            each_burst_drain(queue);
        } else {
            wait_ns += each_burst_wait(queue, &kind->bursts[i]);
        }
    }
    return wait_ns;
}

static int64_t step(struct launch_history *history, const struct kind *kind)
{
    int64_t wait_ns = 0;
    for (uint32_t i = 0; i < kind->count; i++) {
        if (kind->bursts[i].launches == 0) {
            launch_history_drain(history);
        } else {
            wait_ns += launch_history_wait(history, &kind->bursts[i]);
        }
    }
    return wait_ns;
}

static int64_t note(struct launch_history *history, struct kind *kind)
{
    const int64_t wait_ns = step(history, kind);
    const struct launch_passage passage = launch_history_end_span(history);
    assert_int_equal(passage.wait_ns, wait_ns);
    if (kind->passage_count < PASSAGES_MAX) {
        kind->passages[kind->passage_count++] = passage;
    }
    return wait_ns;
}

/* Without ending the span. */
static int64_t skip_or_step(struct launch_history *history, struct kind *kind,
                            struct counts *counts)
{
    for (uint32_t i = 0; i < kind->part_count; i++) {
        if (launch_history_skip(history, &kind->parts[i])) {
            counts->skipped++;
            counts->skipped_waiting += kind->parts[i].wait_ns > 0;
            return kind->parts[i].wait_ns;
        }
    }
    launch_history_begin_part(history);
    const int64_t wait_ns = step(history, kind);
    struct launch_part part;
    if (launch_history_end_part(history, &part) && kind->part_count < PASSAGES_MAX) {
        assert_int_equal(part.wait_ns, wait_ns);
        kind->parts[kind->part_count++] = part;
    }
    return wait_ns;
}

/* A span of four of one kind and four of the next. */
static int64_t pass_or_note_longer(struct launch_history *history, struct kind *kinds,
                                   int64_t first, struct counts *counts)
{
    struct kind *kind = &kinds[first];
    for (uint32_t i = 0; i < kind->longer_count; i++) {
        if (launch_history_pass(history, &kind->longer[i])) {
            counts->longer_passed++;
            return kind->longer[i].wait_ns;
        }
    }
    int64_t wait_ns = 0;
    for (int i = 0; i < 8; i++) {
        wait_ns += skip_or_step(history, &kinds[(first + i / 4) % KINDS], counts);
    }
    const struct launch_passage passage = launch_history_end_span(history);
    assert_int_equal(passage.wait_ns, wait_ns);
    if (kind->longer_count < PASSAGES_MAX) {
        kind->longer[kind->longer_count++] = passage;
    }
    return wait_ns;
}

static void compare_longer(struct rng_key *key, struct launch_history *history,
                           struct launch_queue *queue, struct kind *kinds, struct counts *counts)
{
    const int64_t first = draw(key, KINDS);
    int64_t wait_ns = 0;
    for (int i = 0; i < 8; i++) {
        wait_ns += go_through(queue, &kinds[(first + i / 4) % KINDS]);
    }
    assert_int_equal(pass_or_note_longer(history, kinds, first, counts), wait_ns);
}

static int64_t pass_or_note(struct launch_history *history, struct kind *kind,
                            struct counts *counts)
{
    for (uint32_t i = 0; i < kind->passage_count; i++) {
        if (launch_history_pass(history, &kind->passages[i])) {
            counts->passed++;
            counts->waiting += kind->passages[i].wait_ns > 0;
            counts->bound += !history->is_exact;
            return kind->passages[i].wait_ns;
        }
    }
    counts->gone_through++;
    return note(history, kind);
}

static void compare_family(struct rng_key *key, struct counts *counts)
{
    static const int64_t paces[] = {5, 20, 40, 60, 200};
    struct arena *arena = arena_new();
    const int64_t depth = 1 + draw(key, draw(key, 2) == 0 ? 30 : 300);
    const int64_t pace = paces[draw(key, 5)];
    const bool drains = draw(key, 3) == 0;
    struct kind kinds[KINDS];
    for (int k = 0; k < KINDS; k++) {
        draw_kind(key, pace, drains, &kinds[k]);
    }
    struct launch_spans spans = {.items = NULL};
    for (int stage = 0; stage < 3; stage++) {
        struct launch_history history;
        struct launch_queue queue;
        launch_history_init(&history, arena, &spans, depth);
        launch_queue_init(&queue, arena, depth);
        const int64_t cycle = 1 + draw(key, 3);
        const int64_t first = draw(key, KINDS);
        for (int64_t i = 0; i < 60; i++) {
            struct kind *kind =
                &kinds[draw(key, 20) == 0 ? draw(key, KINDS) : (first + i % cycle) % KINDS];
            assert_int_equal(pass_or_note(&history, kind, counts), go_through(&queue, kind));
            if (draw(key, 6) == 0) {
                compare_longer(key, &history, &queue, kinds, counts);
            }
            if (history.is_exact) {
                assert_int_equal(history.queue.lead_ns, queue.lead_ns);
            } else {
                assert_true(history.queue.lead_ns <= queue.lead_ns);
            }
        }
    }
    arena_free(arena);
}

static void spans_wait_as_their_bursts_one_by_one(void **state)
{
    (void)state;
    struct rng_key key = {.seed = 1, .stream = rng_stream("spans")};
    struct counts counts = {.passed = 0};
    for (int i = 0; i < 3000; i++) {
        compare_family(&key, &counts);
    }
    print_message("%llu spans passed, %llu with waits, %llu by a bound; %llu gone through\n",
                  (unsigned long long)counts.passed, (unsigned long long)counts.waiting,
                  (unsigned long long)counts.bound, (unsigned long long)counts.gone_through);
    print_message("%llu parts skipped, %llu with waits\n", (unsigned long long)counts.skipped,
                  (unsigned long long)counts.skipped_waiting);
    assert_true(counts.skipped > 10000 && counts.skipped_waiting > 1000);
    assert_true(counts.longer_passed > 10000);
    assert_true(counts.passed > 2 * counts.gone_through);
    assert_true(counts.waiting > counts.passed / 20 && counts.bound > counts.passed / 20);
}

/* Any bursts, behind any others, wait at least what they wait far ahead. */
static void nobody_waits_less_than_who_is_far_ahead(void **state)
{
    (void)state;
    struct rng_key key = {.seed = 2, .stream = rng_stream("ahead")};
    uint32_t waiting = 0;
    for (int i = 0; i < 2000; i++) {
        struct arena *arena = arena_new();
        struct kind kinds[2];
        const int64_t depth = 1 + draw(&key, 40);
        struct launch_history ahead = history_of(arena, depth);
        struct launch_queue queue;
        launch_queue_init(&queue, arena, depth);
        draw_kind(&key, 1 + draw(&key, 60), draw(&key, 2) == 0, &kinds[0]);
        draw_kind(&key, 1 + draw(&key, 60), draw(&key, 2) == 0, &kinds[1]);
        go_through(&queue, &kinds[0]);
        const int64_t wait_ns = go_through(&queue, &kinds[1]);
        launch_history_run_ahead(&ahead);
        const int64_t least_ns = step(&ahead, &kinds[1]);
        assert_true(least_ns <= wait_ns);
        waiting += least_ns > 0;
        arena_free(arena);
    }
    assert_true(waiting > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_span_passes_with_lead_enough),
        cmocka_unit_test(a_span_that_waits_passes_where_all_is_as_it_was),
        cmocka_unit_test(who_is_far_ahead_waits_only_behind_a_drain),
        cmocka_unit_test(nobody_waits_less_than_who_is_far_ahead),
        cmocka_unit_test(spans_wait_as_their_bursts_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
