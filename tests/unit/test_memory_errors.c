/* bands/memory_errors: what measured and predicted peaks say of the next prediction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/diag.h"
#include "bands/memory_errors.h"
#include "support/assert_close.h"

static const char head[] = "id,source,gpu,software,architecture,is_cut,measured_gb,predicted_gb\n";

static const char *file_of(struct arena *arena, const char *text)
{
    const char *path = arena_printf(arena, "/tmp/test_memory_errors_%d.csv", (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static bool read_text(struct arena *arena, const char *text, struct memory_errors *errors,
                      struct diag *diag)
{
    const char *path = file_of(arena, text);
    const bool is_good = memory_errors_read(arena, path, errors, diag);
    unlink(path);
    return is_good;
}

/* Eleven peaks of 100 GB measured, predicted 90, 92, ... 110: off by -10 %, -8 %, ... +10 %. Their
 * sizes are 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10 %: the median is 6 %. Of eleven ratios p10 is the
 * second, 0.92, and p90 the tenth, 1.08. */
static const char *eleven(struct arena *arena)
{
    const char *text = head;
    for (int i = 0; i <= 10; i++) {
        text = arena_printf(arena, "%s\"row %d\",\"a, b\",h100,megatron,hopper,1,100.0,%d\n", text,
                            i, 90 + 2 * i);
    }
    return text;
}

static void the_error_of_memory_is_the_median_either_way(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct memory_errors errors;
    assert_true(read_text(arena, eleven(arena), &errors, diag_new(arena)));
    assert_int_equal(errors.count, 11);
    assert_close(errors.median, 0.06, 1e-9);
    assert_close(errors.low, 0.92, 1e-9);
    assert_close(errors.high, 1.08, 1e-9);
    assert_string_equal(errors.items[3].source, "a, b");
    arena_free(arena);
}

/* Over by 3 %: what is predicted to be 1.03 fits where measured <= predicted / 1.03, so of ratios
 * of at least 1.03: 1.04, 1.06, 1.08, 1.10, four of eleven. With a room of 5 % it does not fit
 * where measured > predicted / 0.95, of ratios below 0.95: 0.90, 0.92, 0.94; eight of eleven hold.
 */
static void the_share_of_peaks_that_lay_so_far_below_is_counted(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct memory_errors errors;
    assert_true(read_text(arena, eleven(arena), &errors, diag_new(arena)));
    assert_close(memory_errors_share(&errors, 0.03), 4.0 / 11, 1e-12);
    assert_close(memory_errors_share(&errors, -0.05), 8.0 / 11, 1e-12);
    assert_close(memory_errors_share(&errors, 0.2), 0, 1e-12);
    assert_close(memory_errors_share(&errors, -0.2), 1, 1e-12);
    arena_free(arena);
}

/* Two kinds of plans on one architecture: six that are cut, predicted at 0.80, 0.84, ... 1.00 of
 * what was measured, and five of data parallelism alone at 1.02, 1.04, ... 1.10; five cut ones of
 * another architecture at 1. A plan counted at 0.9 of its memory holds where predicted / measured
 * >= 0.9: cut 0.92, 0.96, 1.00, half of them; data parallelism alone all. Blackwell has none of its
 * own: those that are cut likewise, 8 of 11. */
static void a_class_is_told_by_architecture_and_cut(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *text = head;
    for (int i = 0; i < 6; i++) {
        text = arena_printf(arena, "%sa %d,s,h100,megatron,hopper,1,100,%d\n", text, i, 80 + 4 * i);
    }
    for (int i = 0; i < 5; i++) {
        text = arena_printf(arena, "%sb %d,s,h100,fsdp,hopper,0,100,%d\n", text, i, 102 + 2 * i);
        text = arena_printf(arena, "%sc %d,s,a100,megatron,ampere,1,100,100\n", text, i);
    }
    struct memory_errors all;
    assert_true(read_text(arena, text, &all, diag_new(arena)));
    const struct memory_errors cut = memory_errors_alike(arena, &all, "hopper", true);
    assert_int_equal(cut.count, 6);
    assert_string_equal(cut.like, "hopper, cut by tp, pp or cp");
    assert_close(memory_errors_share(&cut, -0.1), 0.5, 1e-12);
    const struct memory_errors alone = memory_errors_alike(arena, &all, "hopper", false);
    assert_close(memory_errors_share(&alone, -0.1), 1, 1e-12);
    const struct memory_errors other = memory_errors_alike(arena, &all, "blackwell", true);
    assert_int_equal(other.count, 11);
    assert_close(memory_errors_share(&other, -0.1), 8.0 / 11, 1e-12);
    const struct memory_errors none = memory_errors_alike(arena, &all, "ampere", false);
    assert_int_equal(none.count, 5); /* data parallelism alone, of any */
    arena_free(arena);
}

/* Ten peaks that are all predicted twice as large: off by 100 %, which counts as 25 %. */
static void an_error_beyond_all_reason_is_cut(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *text = head;
    for (int i = 0; i < 10; i++) {
        text = arena_printf(arena, "%srow %d,s,h100,megatron,hopper,1,50,100\n", text, i);
    }
    struct memory_errors errors;
    assert_true(read_text(arena, text, &errors, diag_new(arena)));
    assert_close(errors.median, 1.0, 1e-12);
    assert_close(errors.near, 0.25, 1e-12);
    arena_free(arena);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct memory_errors errors, again;
    assert_true(read_text(arena, eleven(arena), &errors, diag_new(arena)));
    const char *path = file_of(arena, "");
    assert_true(memory_errors_write(arena, &errors, path, diag_new(arena)));
    assert_true(memory_errors_read(arena, path, &again, diag_new(arena)));
    unlink(path);
    assert_int_equal(again.count, 11);
    for (uint32_t i = 0; i < 11; i++) {
        assert_string_equal(again.items[i].id, errors.items[i].id);
        assert_string_equal(again.items[i].source, errors.items[i].source);
        assert_string_equal(again.items[i].gpu, "h100");
        assert_string_equal(again.items[i].software, "megatron");
        assert_string_equal(again.items[i].architecture, "hopper");
        assert_true(again.items[i].is_cut);
        assert_close(again.items[i].measured_bytes, 100e9, 1e-12);
        assert_close(again.items[i].predicted_bytes, 90e9 + 2e9 * i, 1e-12);
    }
    arena_free(arena);
}

static void assert_refused(const char *text, const char *message)
{
    struct arena *arena = arena_new();
    struct memory_errors errors;
    struct diag *diag = diag_new(arena);
    assert_false(read_text(arena, text, &errors, diag));
    const char *said = diag_first_error_at(arena, diag);
    if (strstr(said, message) == NULL) {
        fail_msg("%s", said);
    }
    arena_free(arena);
}

static void a_file_that_is_wrong_is_refused(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *text = eleven(arena);
    assert_refused("id,source\n", "columns are missing");
    assert_refused(head, "it has 0 peaks, and 10 are needed");
    assert_refused(arena_printf(arena, "%srow 11,s,h100,megatron,hopper,1,,90\n", text),
                   ":13:33: measured_gb '' is no size in GB");
    assert_refused(arena_printf(arena, "%srow 11,s,h100,megatron,hopper,1,90,-1\n", text),
                   ":13:36: predicted_gb '-1' is no size in GB");
    assert_refused(arena_printf(arena, "%srow 11,s,h100,megatron,hopper,1,90\n", text), ":13:1: ");
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_error_of_memory_is_the_median_either_way),
        cmocka_unit_test(the_share_of_peaks_that_lay_so_far_below_is_counted),
        cmocka_unit_test(a_class_is_told_by_architecture_and_cut),
        cmocka_unit_test(an_error_beyond_all_reason_is_cut),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(a_file_that_is_wrong_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
