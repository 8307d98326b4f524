/* Work in other processes: every piece comes back, whatever becomes of the process it was in. */
#include "base/workers.h"

#include "base/arena.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PIECES = 40, BYTES_MAX = 1 << 20 };

/* What came back, in the order in which it came. */
struct journal {
    uint32_t pieces[PIECES];
    uint32_t count;
    uint32_t failed_count;
    char failure[256]; /* the last */
    uint64_t bytes;
    uint32_t stop_at; /* take is false then; 0: never */
};

/* Piece i gives 1000 * i bytes, all i: some are larger than what a socket holds. */
static struct piece_result repeat(const void *context, uint32_t piece, struct arena *arena)
{
    (void)context;
    char *bytes = arena_alloc(arena, (size_t)piece * 1000);
    memset(bytes, (int)piece, (size_t)piece * 1000);
    return (struct piece_result){bytes, (size_t)piece * 1000, NULL};
}

static struct piece_result end_by_signal(const void *context, uint32_t piece, struct arena *arena)
{
    if (piece % 10 == 3) {
        raise(SIGKILL);
    }
    return repeat(context, piece, arena);
}

static struct piece_result end_by_invariant(const void *context, uint32_t piece,
                                            struct arena *arena)
{
    sim_assert(piece != 7);
    return repeat(context, piece, arena);
}

static struct piece_result end_by_exit(const void *context, uint32_t piece, struct arena *arena)
{
    if (piece == 7) {
        fprintf(stderr, "=====\nstoker: out of memory (12 bytes were asked for)\nmore\n");
        exit(1);
    }
    return repeat(context, piece, arena);
}

/* More than a pipe holds: nobody reads it as long as the worker lives. */
static struct piece_result talk(const void *context, uint32_t piece, struct arena *arena)
{
    for (uint32_t i = 0; i < 20000; i++) {
        fprintf(stderr, "a line of forty characters, piece %u\n", piece);
    }
    return repeat(context, piece, arena);
}

static bool take(void *context, uint32_t piece, const struct piece_result *result)
{
    struct journal *journal = context;
    assert_true(journal->count < PIECES);
    journal->pieces[journal->count++] = piece;
    if (result->failure != NULL) {
        journal->failed_count++;
        snprintf(journal->failure, sizeof journal->failure, "%s", result->failure);
    } else {
        assert_int_equal(result->size_bytes, piece * 1000);
        for (size_t i = 0; i < result->size_bytes; i++) {
            assert_int_equal(((const unsigned char *)result->bytes)[i], piece);
        }
        journal->bytes += result->size_bytes;
    }
    return journal->count != journal->stop_at;
}

typedef struct piece_result work_function(const void *context, uint32_t piece, struct arena *arena);

static bool run(work_function *work, uint32_t jobs, struct journal *journal)
{
    const struct workers_request request = {
        .jobs = jobs, .piece_count = PIECES, .work = work, .take = take, .context = journal};
    const bool is_good = workers_run(&request);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    assert_int_equal(errno, ECHILD);
    return is_good;
}

/* 0 + 1 + ... + 39 = 780 thousand bytes. */
static void every_piece_comes_back_once(void **state)
{
    (void)state;
    for (uint32_t jobs = 1; jobs <= 5; jobs += 2) {
        struct journal journal = {.count = 0};
        assert_true(run(repeat, jobs, &journal));
        assert_int_equal(journal.count, PIECES);
        assert_int_equal(journal.failed_count, 0);
        assert_int_equal(journal.bytes, 780000);
        bool is_there[PIECES] = {false};
        for (uint32_t i = 0; i < PIECES; i++) {
            assert_false(is_there[journal.pieces[i]]);
            is_there[journal.pieces[i]] = true;
        }
    }
}

static void assert_in_order(const struct journal *journal)
{
    assert_int_equal(journal->count, PIECES);
    for (uint32_t i = 0; i < PIECES; i++) {
        assert_int_equal(journal->pieces[i], i);
    }
}

static void one_worker_keeps_the_order(void **state)
{
    (void)state;
    struct journal journal = {.count = 0};
    assert_true(run(repeat, 1, &journal));
    assert_in_order(&journal);
}

/* Pieces 3, 13, 23 and 33, of 72 thousand bytes together. */
static void a_piece_that_kills_its_process_costs_that_piece(void **state)
{
    (void)state;
    for (uint32_t jobs = 1; jobs <= 4; jobs += 3) {
        struct journal journal = {.count = 0};
        assert_true(run(end_by_signal, jobs, &journal));
        assert_int_equal(journal.count, PIECES);
        assert_int_equal(journal.failed_count, 4);
        assert_int_equal(journal.bytes, 780000 - 72000);
        assert_string_equal(journal.failure, "its process was killed by signal 9 (Killed)");
        if (jobs == 1) {
            assert_in_order(&journal);
        }
    }
}

static void last_words_are_part_of_the_reason(void **state)
{
    (void)state;
    struct journal journal = {.count = 0};
    assert_true(run(end_by_invariant, 1, &journal));
    assert_int_equal(journal.failed_count, 1);
    assert_non_null(strstr(journal.failure, "its process was killed by signal 6 (Aborted): "));
    assert_non_null(strstr(journal.failure, "broken invariant: piece != 7"));
    journal = (struct journal){.count = 0};
    assert_true(run(end_by_exit, 1, &journal));
    assert_string_equal(journal.failure, "its process ended with status 1: out of memory "
                                         "(12 bytes were asked for)");
}

static void words_that_nobody_reads_hold_nobody_up(void **state)
{
    (void)state;
    struct journal journal = {.count = 0};
    assert_true(run(talk, 2, &journal));
    assert_int_equal(journal.bytes, 780000);
}

static void a_taker_that_has_enough_ends_it(void **state)
{
    (void)state;
    for (uint32_t jobs = 1; jobs <= 4; jobs += 3) {
        struct journal journal = {.stop_at = 5};
        assert_false(run(repeat, jobs, &journal));
        assert_int_equal(journal.count, 5);
        journal = (struct journal){.stop_at = 4}; /* the one that failed */
        assert_false(run(end_by_signal, 1, &journal));
        assert_int_equal(journal.count, 4);
    }
}

/* ---- what is put off -------------------------------------------------------------------- */

/* Piece 20 takes its time. */
static struct piece_result linger(const void *context, uint32_t piece, struct arena *arena)
{
    if (piece == 20) {
        (void)poll(NULL, 0, 400);
    }
    return repeat(context, piece, arena);
}

/* Pieces that had come when the caller was idle. */
struct pauses {
    struct journal journal;
    uint32_t at[PIECES];
    uint32_t count;
    uint32_t stop_at; /* that idle is false at; 0: never */
};

static bool pause_here(void *context)
{
    struct pauses *pauses = context;
    assert_true(pauses->count < PIECES);
    pauses->at[pauses->count++] = pauses->journal.count;
    return pauses->count != pauses->stop_at;
}

static bool run_with_pauses(struct pauses *pauses)
{
    const struct workers_request request = {.jobs = 1,
                                            .piece_count = PIECES,
                                            .work = linger,
                                            .take = take, /* the journal comes first */
                                            .idle = pause_here,
                                            .idle_ms = 150,
                                            .context = pauses};
    return workers_run(&request);
}

/* 0.4 s for piece 20: twice 0.15 s without a result, after 20 of them; the last time behind the
 * end. A slow machine may add some. */
static void what_was_put_off_is_done_while_nothing_comes(void **state)
{
    (void)state;
    struct pauses pauses = {.count = 0};
    assert_true(run_with_pauses(&pauses));
    assert_int_equal(pauses.journal.count, PIECES);
    uint32_t while_lingering = 0;
    for (uint32_t i = 0; i < pauses.count; i++) {
        while_lingering += pauses.at[i] == 20;
    }
    assert_in_range(while_lingering, 1, 3);
    assert_int_equal(pauses.at[pauses.count - 1], PIECES);
}

static void an_idle_caller_that_has_enough_ends_it(void **state)
{
    (void)state;
    struct pauses pauses = {.stop_at = 1};
    assert_false(run_with_pauses(&pauses));
    assert_true(pauses.journal.count <= 20);
}

static void as_many_processes_as_there_is_work(void **state)
{
    (void)state;
    assert_int_equal(workers_count(4, 100), 4);
    assert_int_equal(workers_count(4, 3), 3);
    assert_in_range(workers_count(0, 1000), 1, 256);
    assert_int_equal(workers_count(1000, 1000), 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_comes_back_once),
        cmocka_unit_test(one_worker_keeps_the_order),
        cmocka_unit_test(a_piece_that_kills_its_process_costs_that_piece),
        cmocka_unit_test(last_words_are_part_of_the_reason),
        cmocka_unit_test(words_that_nobody_reads_hold_nobody_up),
        cmocka_unit_test(a_taker_that_has_enough_ends_it),
        cmocka_unit_test(what_was_put_off_is_done_while_nothing_comes),
        cmocka_unit_test(an_idle_caller_that_has_enough_ends_it),
        cmocka_unit_test(as_many_processes_as_there_is_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
