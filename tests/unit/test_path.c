/* Files that are written whole or not at all. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
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

static bool write_as(struct arena *arena, const char *path, bool is_whole, bool is_new,
                     struct diag *diag)
{
    const struct path_content content = {is_whole ? write_text : write_half, "new\n", "do it again",
                                         is_new};
    return path_write_whole(arena, path, &content, diag);
}

static bool write_file(struct arena *arena, const char *path, bool is_whole, struct diag *diag)
{
    return write_as(arena, path, is_whole, false, diag);
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

static mode_t permissions_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 0777;
}

/* A file that only its owner may read stays one; a new one has what the umask leaves of rw-rw-rw-:
 * 666 without 027 is 640. */
static void permissions_are_kept_or_by_the_umask(void **state)
{
    struct arena *arena = *state;
    const char *directory = temporary_new(arena);
    const char *old = arena_printf(arena, "%s/old", directory);
    const char *fresh = arena_printf(arena, "%s/fresh", directory);
    temporary_write(old, "old\n");
    assert_int_equal(chmod(old, 0600), 0);
    const mode_t mask = umask(027);
    assert_true(write_file(arena, old, true, diag_new(arena)));
    assert_true(write_file(arena, fresh, true, diag_new(arena)));
    umask(mask);
    assert_int_equal(permissions_of(old), 0600);
    assert_int_equal(permissions_of(fresh), 0640);
    temporary_remove(directory);
}

/* Both names are links to a file of somebody else's: it stays as it is, and a file of our own is
 * where the link was. */
static void links_in_the_way_are_replaced_and_not_followed(void **state)
{
    struct arena *arena = *state;
    const char *directory = temporary_new(arena);
    const char *other = arena_printf(arena, "%s/other", directory);
    const char *path = arena_printf(arena, "%s/file", directory);
    const char *part = arena_printf(arena, "%s.part", path);
    temporary_write(other, "precious\n");
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(symlink(other, part), 0);
    assert_true(write_file(arena, path, true, diag_new(arena)));
    assert_string_equal(temporary_read(arena, other), "precious\n");
    assert_string_equal(temporary_read(arena, path), "new\n");
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISREG(status.st_mode));
    assert_int_not_equal(access(part, F_OK), 0);
    temporary_remove(directory);
}

/* /dev/full takes nothing: its failure is told, and it is no file to be replaced. */
static void a_device_is_written_and_never_replaced(void **state)
{
    struct arena *arena = *state;
    if (access("/dev/full", W_OK) != 0) {
        skip();
    }
    struct diag *diag = diag_new(arena);
    assert_false(write_file(arena, "/dev/full", true, diag));
    assert_string_equal(diag_first_error(diag),
                        "/dev/full cannot be written: No space left on device");
    assert_true(write_file(arena, "/dev/null", true, diag_new(arena)));
    struct stat status;
    assert_true(lstat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));
}

static void a_new_file_takes_nobodys_place(void **state)
{
    struct arena *arena = *state;
    const char *directory = temporary_new(arena);
    const char *path = arena_printf(arena, "%s/file", directory);
    assert_false(write_as(arena, path, false, true, diag_new(arena)));
    assert_int_not_equal(access(path, F_OK), 0);
    temporary_write(path, "old\n");
    struct diag *diag = diag_new(arena);
    assert_false(write_as(arena, path, true, true, diag));
    assert_string_equal(diag_first_error(diag), arena_printf(arena, "%s is there already", path));
    assert_string_equal(temporary_read(arena, path), "old\n");
    assert_int_equal(unlink(path), 0);
    assert_true(write_as(arena, path, true, true, diag_new(arena)));
    assert_string_equal(temporary_read(arena, path), "new\n");
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
        cmocka_unit_test_setup_teardown(permissions_are_kept_or_by_the_umask, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_in_the_way_are_replaced_and_not_followed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_device_is_written_and_never_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_new_file_takes_nobodys_place, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
