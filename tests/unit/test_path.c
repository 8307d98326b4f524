/* Files that are written whole or not at all. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/path.h"
#include "support/temporary.h"

static bool write_text(const void *context, FILE *out)
{
    return fputs(context, out) >= 0;
}

/* As a disk that is full in the middle. */
static bool write_half(const void *context, FILE *out)
{
    (void)fputs(context, out);
    return false;
}

static bool write_file(struct arena *arena, const char *path, bool is_whole, struct diag *diag)
{
    const struct path_content content = {is_whole ? write_text : write_half, "new\n",
                                         "do it again"};
    return path_write_whole(arena, path, &content, diag);
}

static void a_file_is_written_with_its_directories_and_nothing_beside_it(void **state)
{
    struct arena *arena = *state;
    const char *directory = temporary_new(arena);
    const char *path = arena_printf(arena, "%s/a/b/file", directory);
    assert_true(write_file(arena, path, true, diag_new(arena)));
    assert_string_equal(temporary_read(arena, path), "new\n");
    assert_int_not_equal(access(arena_printf(arena, "%s.part", path), F_OK), 0);
    temporary_remove(directory);
}

/* What was there before stays, and what was begun is gone. */
static void a_file_that_cannot_be_finished_leaves_what_was_there(void **state)
{
    struct arena *arena = *state;
    const char *directory = temporary_new(arena);
    const char *path = arena_printf(arena, "%s/file", directory);
    struct diag *diag = diag_new(arena);
    temporary_write(path, "old\n");
    assert_false(write_file(arena, path, false, diag));
    assert_string_equal(temporary_read(arena, path), "old\n");
    assert_int_not_equal(access(arena_printf(arena, "%s.part", path), F_OK), 0);
    const char *said = arena_printf(arena, "%s cannot be written: ", path);
    assert_int_equal(strncmp(diag_first_error(diag), said, strlen(said)), 0);
    temporary_remove(directory);
}

/* A directory stands where the file should be: what was written for it is gone, too. */
static void a_file_that_cannot_have_its_name_is_told_and_nothing_stays(void **state)
{
    struct arena *arena = *state;
    const char *directory = temporary_new(arena);
    const char *inside = arena_printf(arena, "%s/file/inside", directory);
    const char *path = arena_printf(arena, "%s/file", directory);
    assert_true(write_file(arena, inside, true, diag_new(arena)));
    assert_false(write_file(arena, path, true, diag_new(arena)));
    assert_string_equal(temporary_read(arena, inside), "new\n");
    assert_int_not_equal(access(arena_printf(arena, "%s.part", path), F_OK), 0);
    temporary_remove(directory);
}

static int set_up(void **state)
{
    *state = arena_new();
    return 0;
}

static int tear_down(void **state)
{
    arena_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_file_is_written_with_its_directories_and_nothing_beside_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_finished_leaves_what_was_there,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_have_its_name_is_told_and_nothing_stays,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
