/* Wrong input and the exact message: tests/bad_input/NAME.yaml is resolved
 * with the private catalogue beside it, and what would be printed, an error or
 * a warning, must equal NAME.expected, whose first line is the exit status.
 *
 * STOKER_UPDATE=1 writes the .expected files anew; the diff is then reviewed.
 */
#include "base/arena.h"
#include "input/scenario_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "tests/bad_input"

static const struct catalogue catalogue = {.directories = {FOLDER "/catalogue"}, .count = 1};

/* What stderr would show for `path`, below a line with the exit status. */
static char *outcome_text(struct arena *arena, const char *path)
{
    struct diag *diag = diag_new(arena);
    const struct doc_node *document = scenario_load_document(arena, path, diag);
    const struct scenario *scenario =
        document == NULL ? NULL : scenario_resolve(arena, document, &catalogue, NULL, 0, diag);
    assert_int_equal(scenario == NULL, diag_has_error(diag));

    char *text = NULL;
    size_t size_bytes = 0;
    FILE *out = open_memstream(&text, &size_bytes);
    assert_non_null(out);
    fprintf(out, "exit %d\n", diag_exit_status(diag));
    diag_print(diag, out);
    fclose(out);
    char *kept = arena_strdup(arena, text);
    free(text);
    return kept;
}

/* The whole file, or "" when there is none. */
static char *read_file(struct arena *arena, const char *path)
{
    FILE *in = fopen(path, "rb");
    if (in == NULL) {
        return arena_strdup(arena, "");
    }
    enum { SIZE_MAX_BYTES = 65536 };
    char *text = arena_alloc(arena, SIZE_MAX_BYTES);
    const size_t length = fread(text, 1, SIZE_MAX_BYTES - 1, in);
    text[length] = '\0';
    fclose(in);
    return text;
}

static void write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static bool is_yaml(const char *name)
{
    const size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".yaml") == 0;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Names of the input files, sorted. */
static const char **input_names(struct arena *arena, size_t *count)
{
    const char **names = NULL;
    size_t capacity = 0;
    DIR *directory = opendir(FOLDER);
    assert_non_null(directory);
    *count = 0;
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        if (is_yaml(entry->d_name)) {
            names = arena_grow(arena, names, &capacity, *count + 1, sizeof *names);
            names[(*count)++] = arena_strdup(arena, entry->d_name);
        }
    }
    closedir(directory);
    qsort(names, *count, sizeof *names, compare_names);
    return names;
}

/* True when the message is the expected one (or was written anew). */
static bool check_one(const char *name)
{
    struct arena *arena = arena_new();
    const char *path = arena_printf(arena, "%s/%s", FOLDER, name);
    const char *expected_path =
        arena_printf(arena, "%.*s.expected", (int)(strlen(path) - strlen(".yaml")), path);
    const char *actual = outcome_text(arena, path);
    bool is_good = true;
    if (getenv("STOKER_UPDATE") != NULL) {
        write_file(expected_path, actual);
    } else {
        const char *expected = read_file(arena, expected_path);
        is_good = strcmp(actual, expected) == 0;
        if (!is_good) {
            print_error("%s: expected\n%s--- but got\n%s\n", path, expected, actual);
        }
    }
    const bool is_error =
        strncmp(actual, "exit 3\n", 7) == 0 || strncmp(actual, "exit 4\n", 7) == 0;
    const bool is_warned = strstr(actual, ": warning: ") != NULL;
    if (!is_error && !is_warned) {
        print_error("%s: was accepted\n", path);
    }
    arena_free(arena);
    return is_good && (is_error || is_warned);
}

static void each_wrong_file_gets_its_message(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    size_t count = 0;
    const char **names = input_names(arena, &count);
    int failed = 0;
    for (size_t i = 0; i < count; i++) {
        failed += check_one(names[i]) ? 0 : 1;
    }
    assert_true(count >= 70);
    assert_int_equal(failed, 0);
    arena_free(arena);
}

static void a_scenario_that_is_not_there_is_an_input_error(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *text = outcome_text(arena, FOLDER "/no_such_scenario.yaml");
    assert_non_null(strstr(text, "exit 3\n"));
    assert_non_null(strstr(text, "no_such_scenario.yaml"));
    arena_free(arena);
}

static void a_directory_is_not_a_scenario(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_non_null(strstr(outcome_text(arena, FOLDER), "exit 3\n"));
    arena_free(arena);
}

/* 100 MB, of which the disk holds nothing: refused by its size, unread. */
static void a_huge_file_is_refused_before_it_is_read(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    char path[] = "/tmp/stoker-huge-XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, 100 * 1000 * 1000), 0);
    close(descriptor);
    const char *text = outcome_text(arena, path);
    unlink(path);
    assert_non_null(strstr(text, "exit 3\n"));
    assert_non_null(strstr(text, "4 MiB"));
    assert_true(arena_used_bytes(arena) < 1000 * 1000);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_wrong_file_gets_its_message),
        cmocka_unit_test(a_scenario_that_is_not_there_is_an_input_error),
        cmocka_unit_test(a_directory_is_not_a_scenario),
        cmocka_unit_test(a_huge_file_is_refused_before_it_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
