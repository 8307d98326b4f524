/* Measured collectives: our YAML, the text of nccl-tests, its JSON. */
#include "input/formats/measurement.h"

#include "base/arena.h"
#include "input/formats/nccl_tests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/temporary.h"

#define DATA "tests/unit/data/import/"

struct fixture {
    struct arena *arena;
    struct diag *diag;
    struct measurement_list list;
};

static int make_fixture(void **state)
{
    struct arena *arena = arena_new();
    struct fixture *fixture = arena_alloc(arena, sizeof *fixture);
    *fixture = (struct fixture){.arena = arena, .diag = diag_new(arena)};
    *state = fixture;
    return 0;
}

static int end_fixture(void **state)
{
    arena_free(((struct fixture *)*state)->arena);
    return 0;
}

static const char *printed(const struct fixture *fixture)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    diag_print(fixture->diag, file);
    rewind(file);
    char *text = arena_alloc(fixture->arena, 16384);
    text[fread(text, 1, 16383, file)] = '\0';
    fclose(file);
    return text;
}

static void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' is not in:\n%s", part, text);
    }
}

static void assert_read(struct fixture *fixture, const char *path)
{
    if (!measurement_read_file(fixture->arena, path, &fixture->list, fixture->diag)) {
        fail_msg("%s", printed(fixture));
    }
}

static bool read_text(struct fixture *fixture, const char *text,
                      const struct nccl_tests_hints *hints)
{
    const struct text_file file = {.path = "run.log", .text = text, .length = strlen(text)};
    return nccl_tests_read(fixture->arena, &file, hints, &fixture->list, fixture->diag);
}

static bool read_yaml(struct fixture *fixture, const char *text)
{
    const struct doc_node *root =
        doc_parse(fixture->arena, "m.yaml", text, strlen(text), fixture->diag);
    return root != NULL && measurement_read(fixture->arena, root, &fixture->list, fixture->diag);
}

static void assert_point(const struct measurement *measurement, uint32_t index, double bytes,
                         double time_us)
{
    assert_true(index < measurement->point_count);
    assert_close(measurement->points[index].bytes, bytes, 0.0);
    assert_close(measurement->points[index].time_s, time_us * 1e-6, 1e-12);
}

/* ---- our YAML ------------------------------------------------------------- */

#define YAML_HEAD               \
    "measurements:\n"           \
    "- id: a\n"                 \
    "  operation: all-reduce\n" \
    "  gpus: 8\n"               \
    "  nodes: 1\n"              \
    "  source: here\n"

/* The values are those of the text; 43.83 us are 43.83e-6 s. */
static void our_yaml_says_what_it_says(void **state)
{
    struct fixture *fixture = *state;
    assert_true(read_yaml(fixture, YAML_HEAD "  library: NCCL 2.21\n"
                                             "  points:\n"
                                             "  - {bytes: 32768, time: 43.83 us}\n"
                                             "  - {bytes: 1M, time: 0.1 ms}\n"));
    assert_int_equal(fixture->list.count, 1);
    const struct measurement *one = &fixture->list.items[0];
    assert_string_equal(one->id, "a");
    assert_string_equal(one->operation, "all-reduce");
    assert_null(one->cluster);
    assert_int_equal(one->gpus, 8);
    assert_int_equal(one->nodes, 1);
    assert_string_equal(one->library, "NCCL 2.21");
    assert_int_equal(one->point_count, 2);
    assert_point(one, 0, 32768.0, 43.83);
    assert_point(one, 1, 1e6, 100.0);
}

/* Each text has one mistake; the message and its place (line:column) are given. */
static void mistakes_in_our_yaml_are_named_at_their_place(void **state)
{
    static const char *const cases[][2] = {
        {YAML_HEAD, "m.yaml:2:3: error: missing key 'points'"},
        {YAML_HEAD "  points: []\n", "m.yaml:7:11: error: points must be a list"},
        {YAML_HEAD "  points:\n  - {bytes: 64, time: 5}\n", "m.yaml:8:23: error:"},
        {YAML_HEAD "  points:\n  - {bytes: 64, tiem: 5 us}\n", "did you mean 'time'?"},
        {YAML_HEAD "  points:\n  - {bytes: 64, time: 5 GB}\n", "m.yaml:8:23: error:"},
        {YAML_HEAD "  points:\n  - {bytes: 64, time: 5 us}\n  - {bytes: 64, time: 6 us}\n",
         "m.yaml:9:13: error: bytes 64 stands twice"},
        {YAML_HEAD "  points:\n  - {bytes: 64, time: 5 us}\n  - {bytes: 32, time: 6 us}\n",
         "m.yaml:9:13: error: bytes 32 is less than in the point before"},
        {YAML_HEAD "  pionts:\n  - {bytes: 64, time: 5 us}\n", "did you mean 'points'?"},
        {"measurements: []\n", "m.yaml:1:15: error: measurements must be a list"},
        {"measurments: []\n", "did you mean 'measurements'?"},
        {"measurements:\n- {id: a, operation: allreduce, gpus: 8, nodes: 9, source: x, "
         "points: [{bytes: 1, time: 1 us}]}\n",
         "m.yaml:2:22: error:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture *fixture = *state;
        fixture->diag = diag_new(fixture->arena);
        fixture->list = (struct measurement_list){.count = 0};
        assert_false(read_yaml(fixture, cases[i][0]));
        assert_contains(printed(fixture), cases[i][1]);
        assert_int_equal(diag_exit_status(fixture->diag), 3);
    }
}

static void two_measurements_of_a_file_have_two_ids(void **state)
{
    struct fixture *fixture = *state;
    assert_false(read_yaml(fixture, YAML_HEAD "  points: [{bytes: 64, time: 5 us}]\n"
                                              "- {id: a, operation: send, gpus: 2, nodes: 2, "
                                              "source: x, points: [{bytes: 64, time: 5 us}]}\n"));
    assert_contains(printed(fixture), "there is a measurement 'a' already, in line 2");
}

/* Bus bandwidth of n = 8: all-reduce 2 * 7/8 = 1.75, all-gather 7/8, broadcast 1. */
static void bus_factors_are_those_of_nccl_tests(void **state)
{
    (void)state;
    assert_close(measurement_bus_factor("all-reduce", 8), 1.75, 1e-15);
    assert_close(measurement_bus_factor("all-gather", 8), 0.875, 1e-15);
    assert_close(measurement_bus_factor("reduce-scatter", 8), 0.875, 1e-15);
    assert_close(measurement_bus_factor("all-to-all", 8), 0.875, 1e-15);
    assert_close(measurement_bus_factor("broadcast", 8), 1.0, 1e-15);
    assert_close(measurement_bus_factor("reduce", 8), 1.0, 1e-15);
    assert_close(measurement_bus_factor("send", 2), 1.0, 1e-15);
}

/* ---- text ------------------------------------------------------------------- */

/* Four ranks on two hosts, five rows of which the first is of size 0. 22707 is 2.27.7; the
 * command line forces the ring. Bus over algorithm bandwidth is 2 * 3/4, so no warning. */
static void a_log_of_nccl_tests_is_a_measurement(void **state)
{
    struct fixture *fixture = *state;
    assert_read(fixture, DATA "all_reduce_2node.log");
    assert_int_equal(fixture->list.count, 1);
    const struct measurement *one = &fixture->list.items[0];
    assert_string_equal(one->id, "all-reduce-4gpu-2node");
    assert_string_equal(one->operation, "all-reduce");
    assert_int_equal(one->gpus, 4);
    assert_int_equal(one->nodes, 2);
    assert_string_equal(one->library, "NCCL 2.27.7");
    assert_string_equal(one->algorithm, "ring");
    assert_null(one->protocol);
    assert_string_equal(one->note, "NVIDIA H100 80GB HBM3, float sum");
    assert_int_equal(one->point_count, 4);
    assert_point(one, 0, 64.0, 21.50);
    assert_point(one, 3, 268435456.0, 4321.0);
    assert_string_equal(printed(fixture), "");
}

/* srun -l labels, -I columns, -S timestamps, -C, an escape; two groups of two ranks (of which
 * the first counts), and a second type, which begins a measurement of its own. */
static void columns_labels_and_groups_do_no_harm(void **state)
{
    struct fixture *fixture = *state;
    assert_read(fixture, DATA "labelled_per_iteration.log");
    assert_int_equal(fixture->list.count, 2);
    const struct measurement *first = &fixture->list.items[0];
    assert_string_equal(first->operation, "all-gather");
    assert_int_equal(first->gpus, 2);
    assert_int_equal(first->nodes, 1);
    assert_string_equal(first->protocol, "simple");
    assert_int_equal(first->point_count, 2);
    assert_point(first, 1, 65536.0, 14.0);
    const struct measurement *second = &fixture->list.items[1];
    assert_string_equal(second->id, "all-gather-2gpu-1node-2");
    assert_string_equal(second->note, "NVIDIA B200, half");
    assert_point(second, 0, 4096.0, 11.5);
}

/* An old table has no redop; the operation is in the name of the file. The last line ends in
 * the middle of its time ("12" of 12x.x us) and must not become a point. */
static void a_line_that_was_cut_off_is_left_out(void **state)
{
    struct fixture *fixture = *state;
    assert_read(fixture, DATA "broadcast_perf.txt");
    assert_int_equal(fixture->list.count, 1);
    const struct measurement *one = &fixture->list.items[0];
    assert_string_equal(one->operation, "broadcast");
    assert_int_equal(one->gpus, 2);
    assert_int_equal(one->point_count, 2);
    assert_point(one, 1, 2097152.0, 70.44);
    assert_contains(printed(fixture), "warning: the last line is cut off");
}

#define HEADER                                        \
    "# Collective test starting: all_reduce_perf\n"   \
    "#  Rank 0 Group 0 Pid 1 on a device 0 [0x1] X\n" \
    "#  Rank 1 Group 0 Pid 1 on a device 1 [0x2] X\n" \
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
#define ROW " 1048576 262144 float sum -1 100 10.49 10.49 0 100 10.49 10.49 0\n"

static const struct nccl_tests_hints nothing;

static void a_bad_row_is_an_error_at_its_word(void **state)
{
    struct fixture *fixture = *state;
    assert_false(read_text(fixture, HEADER " 1048576 262144 float sum -1 fast 1 1 0 1 1 1 0\n" ROW,
                           &nothing));
    assert_contains(printed(fixture), "run.log:5:30: error: this is no number\n"
                                      "    5 |  1048576 262144 float sum -1 fast 1 1 0 1 1 1 0\n"
                                      "      |                              ^\n");
}

static void a_row_that_ends_too_early_is_an_error_unless_it_is_the_last(void **state)
{
    struct fixture *fixture = *state;
    assert_false(read_text(fixture, HEADER " 64 16 float\n" ROW, &nothing));
    assert_contains(printed(fixture), "run.log:5:2: error: this row ends too early");
}

/* Without MPI each process is a run of its own, and both call themselves rank 0. */
static void a_rank_that_is_listed_twice_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    assert_false(read_text(fixture,
                           "#  Rank 0 Group 0 Pid 1 on a device 0 [0x1] X\n"
                           "#  Rank 0 Group 0 Pid 1 on b device 0 [0x1] X\n",
                           &nothing));
    assert_contains(printed(fixture), "run.log:2:9: error: this rank is listed twice");
}

/* mpirun --tag-output in front, and a header of four columns: 5 us for 64 bytes. */
static void the_header_says_which_column_is_the_time(void **state)
{
    static const struct nccl_tests_hints hints = {.operation = "send", .gpus = 2, .nodes = 2};
    struct fixture *fixture = *state;
    assert_true(read_text(fixture,
                          "[1,0]<stdout>:# size time algbw busbw\n"
                          "[1,0]<stdout>:  64 5.0 0.01 0.01\n",
                          &hints));
    assert_int_equal(fixture->list.count, 1);
    assert_point(&fixture->list.items[0], 0, 64.0, 5.0);
}

static void what_the_file_does_not_say_must_be_said(void **state)
{
    static const char table[] =
        "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n" ROW;
    static const struct nccl_tests_hints hints = {"reduce", "a100-80gb-1600", 16, 2};
    struct fixture *fixture = *state;
    assert_false(read_text(fixture, table, &nothing));
    assert_contains(printed(fixture), "nothing says which operation this is");
    assert_contains(printed(fixture), "nothing says how many GPUs and nodes");
    assert_int_equal(fixture->list.count, 0);
    assert_true(read_text(fixture, table, &hints));
    assert_string_equal(fixture->list.items[0].operation, "reduce");
    assert_string_equal(fixture->list.items[0].cluster, "a100-80gb-1600");
    assert_int_equal(fixture->list.items[0].gpus, 16);
}

/* Bus over algorithm bandwidth is 1 for an all-reduce of 2 GPUs; 16 would be 1.875. */
static void bandwidths_betray_a_wrong_number_of_gpus(void **state)
{
    static const struct nccl_tests_hints hints = {.gpus = 16, .nodes = 2};
    struct fixture *fixture = *state;
    assert_true(read_text(fixture, HEADER ROW, &hints));
    assert_contains(printed(fixture), "warning: bus bandwidth is 1.000 of algorithm bandwidth "
                                      "here, but for all-reduce on 16 GPUs it is 1.875");
}

/* ---- JSON -------------------------------------------------------------------- */

/* Two processes of four GPUs; the second size took "nan" and is left out. */
static void the_json_of_nccl_tests_is_a_measurement(void **state)
{
    struct fixture *fixture = *state;
    assert_read(fixture, DATA "alltoall.json");
    assert_int_equal(fixture->list.count, 1);
    const struct measurement *one = &fixture->list.items[0];
    assert_string_equal(one->operation, "all-to-all");
    assert_int_equal(one->gpus, 8);
    assert_int_equal(one->nodes, 2);
    assert_string_equal(one->library, "NCCL 2.27.7");
    assert_null(one->algorithm); /* "^nvls" forces none */
    assert_string_equal(one->protocol, "ll128");
    assert_int_equal(one->point_count, 2);
    assert_point(one, 1, 4194304.0, 122.25);
    assert_contains(printed(fixture), "alltoall.json:12:112: warning: this time is not a number");
}

/* ---- all ---------------------------------------------------------------------- */

/* A prefix of a file has no more points than the file, and either some or a message. */
static void check_prefix(const struct fixture *fixture, const char *path, const char *text,
                         size_t length)
{
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    struct measurement_list list = {.count = 0};
    const struct nccl_tests_hints hints = {"all-reduce", NULL, 4, 2};
    const struct text_file file = {
        .path = path, .text = arena_strndup(arena, text, length), .length = length};
    bool is_good = false;
    if (path[strlen(path) - 1] == 'n') {
        const struct doc_node *root = doc_parse(arena, path, file.text, length, diag);
        is_good = root != NULL && nccl_tests_read_json(arena, root, &hints, &list, diag);
    } else {
        is_good = nccl_tests_read(arena, &file, &hints, &list, diag);
    }
    assert_int_equal(is_good, !diag_has_error(diag));
    assert_true(!is_good || list.count > 0);
    for (uint32_t i = 0; i < list.count && is_good; i++) {
        assert_true(list.items[i].point_count >= 1);
        for (uint32_t k = 1; k < list.items[i].point_count; k++) {
            assert_true(list.items[i].points[k].bytes > list.items[i].points[k - 1].bytes);
        }
    }
    (void)fixture;
    arena_free(arena);
}

static void no_prefix_of_a_file_does_harm(void **state)
{
    static const char *const paths[] = {
        DATA "all_reduce_2node.log",
        DATA "labelled_per_iteration.log",
        DATA "broadcast_perf.txt",
        DATA "alltoall.json",
    };
    const struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const char *text = temporary_read(fixture->arena, paths[i]);
        assert_non_null(text);
        for (size_t length = 0; length <= strlen(text); length++) {
            check_prefix(fixture, paths[i], text, length);
        }
    }
}

static void a_file_without_results_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    assert_false(
        measurement_read_file(fixture->arena, DATA "regular.conf", &fixture->list, fixture->diag));
    assert_contains(printed(fixture), "there is no table of results in this file");
    assert_false(measurement_read_file(fixture->arena, "no/such", &fixture->list, fixture->diag));
    assert_contains(printed(fixture), "no/such: error: no such file");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_fixture, end_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(our_yaml_says_what_it_says),
        TEST(mistakes_in_our_yaml_are_named_at_their_place),
        TEST(two_measurements_of_a_file_have_two_ids),
        TEST(bus_factors_are_those_of_nccl_tests),
        TEST(a_log_of_nccl_tests_is_a_measurement),
        TEST(columns_labels_and_groups_do_no_harm),
        TEST(a_line_that_was_cut_off_is_left_out),
        TEST(a_bad_row_is_an_error_at_its_word),
        TEST(a_row_that_ends_too_early_is_an_error_unless_it_is_the_last),
        TEST(a_rank_that_is_listed_twice_is_an_error),
        TEST(the_header_says_which_column_is_the_time),
        TEST(what_the_file_does_not_say_must_be_said),
        TEST(bandwidths_betray_a_wrong_number_of_gpus),
        TEST(the_json_of_nccl_tests_is_a_measurement),
        TEST(no_prefix_of_a_file_does_harm),
        TEST(a_file_without_results_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
