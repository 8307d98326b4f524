/* Arenas: zeroed and aligned memory, growth, reuse after a reset; poison for the sanitizer. */
#include "base/arena.h"

#include "base/poison.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int make_arena(void **state)
{
    *state = arena_new();
    return 0;
}

static int end_arena(void **state)
{
    arena_free(*state);
    return 0;
}

static void assert_zeroed(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(bytes[i], 0);
    }
}

static void freeing_no_arena_is_allowed(void **state)
{
    (void)state;
    arena_free(NULL);
}

static void memory_is_zeroed_aligned_and_apart(void **state)
{
    /* 1000 blocks of 1 to 1000 bytes are about 500 kB: several blocks of 64 KiB. */
    unsigned char *memory[1000];
    for (size_t i = 0; i < 1000; i++) {
        memory[i] = arena_alloc(*state, i + 1);
        assert_int_equal((uintptr_t)memory[i] % _Alignof(max_align_t), 0);
        assert_zeroed(memory[i], i + 1);
        memset(memory[i], (int)(i % 251), i + 1);
    }
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(memory[i][0], i % 251);
        assert_int_equal(memory[i][i], i % 251);
    }
}

static void size_zero_gives_a_pointer(void **state)
{
    assert_non_null(arena_alloc(*state, 0));
    assert_non_null(arena_array(*state, 0, 8));
    assert_non_null(arena_array(*state, 8, 0));
}

static void a_request_larger_than_a_block_is_served(void **state)
{
    const size_t size_bytes = (size_t)9 << 20; /* the largest common block has 4 MiB */
    unsigned char *memory = arena_alloc(*state, size_bytes);
    memory[0] = 1;
    memory[size_bytes - 1] = 2;
    assert_int_equal(memory[size_bytes / 2], 0);
}

static void used_bytes_are_those_asked_for(void **state)
{
    /* 10 + 3 * 8 = 34; a reset forgets them. */
    arena_alloc(*state, 10);
    arena_array(*state, 3, 8);
    assert_int_equal(arena_used_bytes(*state), 34);
    arena_reset(*state);
    assert_int_equal(arena_used_bytes(*state), 0);
}

static void an_array_grows_and_keeps_its_contents(void **state)
{
    uint32_t *items = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        items = arena_grow(*state, items, &capacity, (size_t)i + 1, sizeof *items);
        assert_true(capacity > i);
        assert_int_equal(items[i], 0);
        items[i] = i * i;
    }
    for (uint32_t i = 0; i < 10000; i++) {
        assert_int_equal(items[i], i * i);
    }
    /* Growth doubles: the old blocks together are smaller than the last one,
     * and the last one is less than twice what is needed. */
    assert_true(arena_used_bytes(*state) < 4 * 10000 * sizeof *items);
}

/* 2^21 bytes of 4 each: copies of 2^20 bytes and more go, those below sum to less than 2^20. */
static void of_a_large_array_only_the_newest_copy_stays(void **state)
{
    enum { COUNT = 1 << 19 };
    uint32_t *items = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        items = arena_grow(*state, items, &capacity, (size_t)i + 1, sizeof *items);
        assert_int_equal(items[i], 0);
        items[i] = i;
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(items[i], i);
    }
    assert_int_equal(capacity, COUNT);
    assert_true(arena_used_bytes(*state) < ((size_t)1 << 21) + ((size_t)1 << 20));
    arena_reset(*state);
    assert_int_equal(arena_used_bytes(*state), 0);
    const unsigned char *again = arena_array(*state, COUNT, sizeof *items);
    assert_zeroed(again, COUNT * sizeof *items);
}

static void growing_within_the_capacity_does_not_move(void **state)
{
    size_t capacity = 0;
    char *items = arena_grow(*state, NULL, &capacity, 3, 1);
    assert_ptr_equal(arena_grow(*state, items, &capacity, capacity, 1), items);
}

static void memory_is_zeroed_again_after_a_reset(void **state)
{
    unsigned char *before = arena_alloc(*state, 5000);
    memset(before, 0xff, 5000);
    arena_reset(*state);
    unsigned char *after = arena_alloc(*state, 5000);
    assert_ptr_equal(after, before); /* the memory is reused */
    assert_zeroed(after, 5000);
}

static void room_is_aligned_and_apart_and_leaves_what_follows_zeroed(void **state)
{
    /* Of bytes that were written before the reset some become room, and what is handed out beside
     * it is zeroed all the same. */
    memset(arena_alloc(*state, 6000), 0xff, 6000);
    arena_reset(*state);
    unsigned char *first = arena_alloc(*state, 100);
    uint64_t *room = arena_room(*state, 250, sizeof *room);
    unsigned char *last = arena_alloc(*state, 100);
    assert_int_equal((uintptr_t)room % _Alignof(max_align_t), 0);
    assert_zeroed(first, 100);
    assert_zeroed(last, 100);
    for (uint64_t i = 0; i < 250; i++) {
        room[i] = i;
    }
    assert_zeroed(first, 100);
    assert_zeroed(last, 100);
    assert_int_equal(room[249], 249);
    assert_int_equal(arena_used_bytes(*state), 100 + 250 * 8 + 100);
    assert_non_null(arena_room(*state, 0, 8));
}

static void blocks_are_found_again_after_a_reset_in_any_order(void **state)
{
    /* Small first, large first: both rounds fit in what the first one left. */
    for (int round = 0; round < 100; round++) {
        const size_t first = round % 2 == 0 ? 100 : 300000;
        const size_t second = round % 2 == 0 ? 300000 : 100;
        unsigned char *a = arena_alloc(*state, first);
        unsigned char *b = arena_alloc(*state, second);
        assert_zeroed(a, first);
        assert_zeroed(b, second);
        memset(a, 1, first);
        memset(b, 2, second);
        assert_int_equal(a[first - 1], 1);
        arena_reset(*state);
    }
}

static void texts_are_copied_and_printed(void **state)
{
    assert_string_equal(arena_strdup(*state, "rail"), "rail");
    assert_string_equal(arena_strndup(*state, "rail-local", 4), "rail");
    assert_string_equal(arena_strndup(*state, "ab", 10), "ab");
    assert_string_equal(arena_strdup(*state, ""), "");
    assert_string_equal(arena_printf(*state, "%s has %d", "tp", 8), "tp has 8");
}

/* Texts of up to 1000 letters, among them those around any power of two, are printed whole. */
static void texts_of_every_length_are_printed(void **state)
{
    for (int length = 0; length <= 1000; length++) {
        const char *text = arena_printf(*state, "%*s|%c", length, "", '.');
        assert_int_equal(strlen(text), length + 2);
        assert_int_equal(strspn(text, " "), length);
        assert_string_equal(text + length, "|.");
    }
}

/* ---- what the address sanitizer sees; only in its builds (make asan) ---- */

/* Three pieces in one block. The middle one has 5 bytes of the 16 that it occupies, so byte 5
 * lies in its own rounding; 16 is the first byte behind that, -1 the last byte before it. */
enum { PIECE_BYTES = 5, AFTER_RESET = 1000, AFTER_GROWTH };

static void touch(struct arena *arena, long offset)
{
    arena_alloc(arena, 100);
    char *memory = arena_alloc(arena, PIECE_BYTES);
    arena_alloc(arena, 100);
    size_t capacity = PIECE_BYTES;
    switch (offset) {
    case AFTER_RESET:
        arena_reset(arena);
        offset = 0;
        break;
    case AFTER_GROWTH:
        arena_grow(arena, memory, &capacity, PIECE_BYTES + 1, 1);
        offset = 0;
        break;
    default:
        break;
    }
    *(volatile char *)(memory + offset) = 1;
}

/* What a child says on stderr that touches the piece at an offset; NULL when it ends well. */
static const char *report_of(struct arena *arena, long offset)
{
    static const size_t REPORT_BYTES = 200;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        touch(arena, offset);
        _exit(0);
    }
    close(ends[1]);
    char *report = arena_alloc(arena, REPORT_BYTES + 1);
    size_t length = 0;
    for (ssize_t count = 1; count > 0;) {
        char more[512];
        count = read(ends[0], more, sizeof more);
        for (ssize_t i = 0; i < count && length < REPORT_BYTES; i++) {
            report[length++] = more[i];
        }
    }
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : report;
}

static void the_sanitizer_sees_a_touch_outside_a_piece(void **state)
{
    if (!POISON_IS_ON) {
        skip(); /* nothing is poisoned in this build */
    }
    for (long offset = 0; offset < PIECE_BYTES; offset++) {
        assert_null(report_of(*state, offset));
    }
    static const long wrong[] = {PIECE_BYTES, PIECE_BYTES + 1, 16,          100, -1, -16,
                                 -100,        AFTER_RESET,     AFTER_GROWTH};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *report = report_of(*state, wrong[i]);
        assert_non_null(report);
        assert_non_null(strstr(report, "AddressSanitizer: use-after-poison"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freeing_no_arena_is_allowed),
        cmocka_unit_test_setup_teardown(memory_is_zeroed_aligned_and_apart, make_arena, end_arena),
        cmocka_unit_test_setup_teardown(size_zero_gives_a_pointer, make_arena, end_arena),
        cmocka_unit_test_setup_teardown(a_request_larger_than_a_block_is_served, make_arena,
                                        end_arena),
        cmocka_unit_test_setup_teardown(used_bytes_are_those_asked_for, make_arena, end_arena),
        cmocka_unit_test_setup_teardown(an_array_grows_and_keeps_its_contents, make_arena,
                                        end_arena),
        cmocka_unit_test_setup_teardown(of_a_large_array_only_the_newest_copy_stays, make_arena,
                                        end_arena),
        cmocka_unit_test_setup_teardown(growing_within_the_capacity_does_not_move, make_arena,
                                        end_arena),
        cmocka_unit_test_setup_teardown(memory_is_zeroed_again_after_a_reset, make_arena,
                                        end_arena),
        cmocka_unit_test_setup_teardown(room_is_aligned_and_apart_and_leaves_what_follows_zeroed,
                                        make_arena, end_arena),
        cmocka_unit_test_setup_teardown(blocks_are_found_again_after_a_reset_in_any_order,
                                        make_arena, end_arena),
        cmocka_unit_test_setup_teardown(texts_are_copied_and_printed, make_arena, end_arena),
        cmocka_unit_test_setup_teardown(texts_of_every_length_are_printed, make_arena, end_arena),
        cmocka_unit_test_setup_teardown(the_sanitizer_sees_a_touch_outside_a_piece, make_arena,
                                        end_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
