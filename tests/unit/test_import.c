/* Host lists, what import writes, and files of other tools that were cut off. */
#include "foreign/import.h"

#include "base/arena.h"
#include "foreign/slurm/hostlist.h"
#include "input/formats/measurement.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/temporary.h"

#define DATA "tests/unit/data/import/"

struct fixture {
    struct arena *arena;
    struct diag *diag;
};

static int make_fixture(void **state)
{
    struct arena *arena = arena_new();
    struct fixture *fixture = arena_alloc(arena, sizeof *fixture);
    *fixture = (struct fixture){arena, diag_new(arena)};
    *state = fixture;
    return 0;
}

static int end_fixture(void **state)
{
    arena_free(((struct fixture *)*state)->arena);
    return 0;
}

/* ---- host lists --------------------------------------------------------------- */

static const char *expanded(struct fixture *fixture, const char *text)
{
    struct hostlist list = {.count = 0};
    const struct place place = {.file = "f", .line = 1, .column = 1};
    if (!hostlist_expand(fixture->arena, text, &place, &list, fixture->diag)) {
        return NULL;
    }
    const char *all = "";
    for (uint32_t i = 0; i < list.count; i++) {
        all = arena_printf(fixture->arena, "%s%s%s", all, i > 0 ? " " : "", list.names[i]);
    }
    return all;
}

/* Slurm keeps the zeros of the first number of a range as its width. */
static void host_lists_mean_what_slurm_means(void **state)
{
    struct fixture *fixture = *state;
    assert_string_equal(expanded(fixture, "n[1-3,7,08-10]"), "n1 n2 n3 n7 n08 n09 n10");
    assert_string_equal(expanded(fixture, "login,n5"), "login n5");
    assert_string_equal(expanded(fixture, "r[1-2]n[3-4]x"), "r1n3x r1n4x r2n3x r2n4x");
    assert_string_equal(expanded(fixture, "n[099-101]"), "n099 n100 n101");
    assert_string_equal(expanded(fixture, "a"), "a");
}

static void bad_host_lists_are_errors_at_their_letter(void **state)
{
    static const struct {
        const char *text, *message;
        int column;
    } cases[] = {
        {"n[1-3", "never closed", 2},        {"n1]", "never opened", 3},
        {"n[3-1]", "ends before", 3},        {"n[]", "a number is missing", 3},
        {"n[1-]", "a number is missing", 5}, {"n[a]", "a number is missing", 3},
        {"a,,b", "a name is missing", 3},    {"", "a name is missing", 1},
        {"n[1-2000000]", "too many", 3},     {"n[12345678901]", "too large", 3},
        {"n[1;2]", "followed by", 4},        {"a[1-9999]b[1-9999]", "too many", 12},
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture->diag = diag_new(fixture->arena);
        assert_null(expanded(fixture, cases[i].text));
        const char *message = diag_first_error(fixture->diag);
        assert_non_null(message);
        assert_non_null(strstr(message, cases[i].message));
        FILE *out = tmpfile();
        diag_print(fixture->diag, out);
        rewind(out);
        char line[64];
        assert_non_null(fgets(line, sizeof line, out));
        fclose(out);
        int column = 0;
        assert_int_equal(sscanf(line, "f:1:%d:", &column), 1);
        assert_int_equal(column, cases[i].column);
    }
}

/* ---- what is written is what is read ----------------------------------------------- */

/* Sends stdout to `path`; returns what stdout was, for restore_stdout. */
static int send_stdout(const char *path)
{
    fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    const int away = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(kept >= 0 && away >= 0);
    dup2(away, STDOUT_FILENO);
    close(away);
    return kept;
}

static void restore_stdout(int kept)
{
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
}

/* The log of nccl-tests and the YAML that import makes of it are the same measurements. */
static void imported_measurements_read_back_as_they_were(void **state)
{
    static const char *const paths[] = {DATA "all_reduce_2node.log", DATA "alltoall.json",
                                        DATA "labelled_per_iteration.log"};
    const struct fixture *fixture = *state;
    struct arena *arena = fixture->arena;
    const char *directory = temporary_new(arena);
    const char *written = arena_printf(arena, "%s/m.yaml", directory);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct importer importer = {.arena = arena, .diag = fixture->diag, .out = stdout};
        assert_true(text_file_load(arena, paths[i], 1 << 20, &importer.file, importer.diag));
        const int kept = send_stdout(written);
        const bool is_good = import_nccl_tests(&importer);
        restore_stdout(kept);
        assert_true(is_good);
        struct measurement_list before = {.count = 0};
        struct measurement_list after = {.count = 0};
        assert_true(measurement_read_file(arena, paths[i], &before, fixture->diag));
        assert_true(measurement_read_file(arena, written, &after, fixture->diag));
        assert_int_equal(before.count, after.count);
        for (uint32_t k = 0; k < before.count; k++) {
            assert_string_equal(before.items[k].id, after.items[k].id);
            assert_string_equal(before.items[k].note, after.items[k].note);
            assert_int_equal(before.items[k].gpus, after.items[k].gpus);
            assert_int_equal(before.items[k].point_count, after.items[k].point_count);
            for (uint32_t j = 0; j < before.items[k].point_count; j++) {
                const struct measured_point *one = &before.items[k].points[j];
                const struct measured_point *other = &after.items[k].points[j];
                assert_close(one->bytes, other->bytes, 0.0);
                assert_close(one->time_s, other->time_s, 1e-9);
            }
        }
    }
    temporary_remove(directory);
}

/* ---- files that were cut off ----------------------------------------------------- */

struct sample {
    const char *path;
    import_function *function;
};

static bool import_prefix(const struct sample *sample, const char *text, size_t length)
{
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    const struct catalogue catalogue = {.directories = {"."}, .count = 1};
    struct importer importer = {
        .gpu = "h100-sxm5-80gb",
        .nics = 4,
        .gpus_per_node = 4,
        .nic_bytes_per_s = 50e9,
        .oversubscription = 2.0,
        .skip = -1,
        .arena = arena,
        .diag = diag,
        .catalogue = &catalogue,
        .out = stdout,
        .file = {.path = sample->path,
                 .text = arena_strndup(arena, text, length),
                 .length = length},
    };
    const bool is_good = sample->function(&importer);
    assert_int_equal(is_good, !diag_has_error(diag));
    arena_free(arena);
    return is_good;
}

/* Every prefix of each sample is either imported or refused with a message. What is imported
 * goes to stdout, which is sent away meanwhile. */
static void no_prefix_of_a_file_does_harm(void **state)
{
    static const struct sample samples[] = {
        {DATA "h100.xml", import_nccl_topo},       {DATA "pcie.xml", import_nccl_topo},
        {DATA "a100.topo", import_topo_m},         {DATA "v100_mesh.topo", import_topo_m},
        {DATA "regular.conf", import_slurm},       {DATA "irregular.conf", import_slurm},
        {DATA "blocks.conf", import_slurm},        {DATA "topology.yaml", import_slurm},
        {DATA "alltoall.json", import_nccl_tests}, {DATA "broadcast_perf.txt", import_nccl_tests},
        {DATA "launch.sh", import_launch},         {DATA "trainer.sh", import_launch},
        {DATA "nemo.yaml", import_launch},         {DATA "torchtitan.toml", import_launch},
    };
    const struct fixture *fixture = *state;
    const int kept = send_stdout("/dev/null");
    uint32_t whole = 0;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const char *text = temporary_read(fixture->arena, samples[i].path);
        bool is_good = false;
        for (size_t length = 0; text != NULL && length <= strlen(text); length++) {
            is_good = import_prefix(&samples[i], text, length);
        }
        whole += is_good;
    }
    restore_stdout(kept);
    assert_int_equal(whole, sizeof samples / sizeof *samples);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_fixture, end_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(host_lists_mean_what_slurm_means),
        TEST(bad_host_lists_are_errors_at_their_letter),
        TEST(imported_measurements_read_back_as_they_were),
        TEST(no_prefix_of_a_file_does_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
