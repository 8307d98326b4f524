/* Collective libraries: what a file says, what is put on top of it, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "plan/collective/collective.h"
#include "input/library.h"
#include "support/assert_close.h"

static const struct catalogue here = {.directories = {"."}, .count = 1};

enum { RING = 0, TREE = 2, HIERARCHICAL = 4, NVLS = 5, LL = 0, LL128 = 1, SIMPLE = 2 };

static const char small[] =
    "library: inline\n"
    "source: made up\n"
    "network_overhead: 2 us\n"
    "simple: {overheads: 5}\n"
    "measured: {nic_latency: 7 us}\n"
    "algorithms:\n"
    "  ring:\n"
    "    LL: {base: 1 us, nvlink: 2 us, network: 3 us, efficiency: 0.5}\n"
    "    Simple: {base: 4 us}\n"
    "  hierarchical: {like: ring, automatic: false}\n"
    "tree_correction: {from: 64 B, Simple: [0.9, 0.8]}\n"
    "architectures:\n"
    "  hopper: {channels: 12, ring: {LL: {maximum: [3 GB/s, 2 GB/s, 1 GB/s]}}}\n"
    "fitted:\n"
    "  hopper:\n"
    "    launch: 9 us\n"
    "    sizes: {from: 8 B, to: 1 GiB}\n"
    "    ring: {LL: {nvlink: 5 us}}\n";

struct reading {
    struct arena *arena;
    struct diag *diag;
    struct library *library;
    bool is_good;
};

static struct reading read_text(const char *text)
{
    struct reading reading = {.arena = arena_new()};
    reading.diag = diag_new(reading.arena);
    reading.library = arena_alloc(reading.arena, sizeof *reading.library);
    struct assumptions assumptions;
    assumptions_init(&assumptions, reading.arena);
    const struct doc_node *node =
        doc_parse(reading.arena, "test.yaml", text, strlen(text), reading.diag);
    assert_non_null(node);
    reading.is_good = library_read(node, reading.library, &assumptions, reading.diag);
    return reading;
}

static void a_section_changes_what_it_names_and_leaves_the_rest(void **state)
{
    /* On hopper the round of ring LL is the fitted 5 us, its base the general 1 us, its
     * maximum the architecture's; on ampere everything is general. */
    (void)state;
    const struct reading reading = read_text(small);
    assert_true(reading.is_good);
    const struct library_architecture *hopper = &reading.library->architectures[GPU_HOPPER];
    const struct library_architecture *ampere = &reading.library->architectures[GPU_AMPERE];
    assert_close(hopper->costs[RING][LL].round_s[LIBRARY_SCALE_UP][SPAN_ONE_NODE], 5e-6, 1e-12);
    assert_close(hopper->costs[RING][LL].base_s[SPAN_TWO_NODES], 1e-6, 1e-12);
    assert_close(hopper->costs[RING][LL].efficiency[SPAN_TWO_NODES], 0.5, 1e-12);
    assert_close(hopper->costs[RING][LL].maximum_bytes_per_s[SPAN_MANY_NODES], 1e9, 1e-12);
    assert_close(hopper->costs[RING][LL].launch_s[SPAN_TWO_NODES], 9e-6, 1e-12);
    assert_int_equal(hopper->channels, 12);
    assert_close(reading.library->simple_overheads, 5.0, 1e-12);
    assert_close(reading.library->measured_message_s, 7e-6, 1e-12);
    assert_close(reading.library->simple_latencies, 1.0, 1e-12); /* as the other protocols */
    assert_close(reading.library->tree_correction_from_bytes, 64.0, 1e-12);
    assert_close(ampere->costs[RING][LL].round_s[LIBRARY_SCALE_UP][SPAN_ONE_NODE], 2e-6, 1e-12);
    assert_true(isinf(ampere->costs[RING][LL].maximum_bytes_per_s[SPAN_ONE_NODE]));
    assert_true(ampere->costs[RING][LL].launch_s[SPAN_TWO_NODES] == 0.0);
    arena_free(reading.arena);
}

static void latencies_may_differ_by_number_of_nodes(void **state)
{
    /* One node, two, more: a base of 1, 2 and 3 us; rounds of 4 us on all. */
    (void)state;
    const struct reading reading = read_text("library: x\nsource: y\n"
                                             "algorithms: {ring: {LL: {base: [1 us, 2 us, 3 us], "
                                             "launch: [0 us, 5 us, 5 us], nvlink: 4 us}}}\n");
    assert_true(reading.is_good);
    assert_true(reading.library->measured_message_s == 0.0); /* not said: no message in a round */
    const struct library_cost *cost = &reading.library->architectures[GPU_VOLTA].costs[RING][LL];
    static const double base_s[SPAN_COUNT_] = {1e-6, 2e-6, 3e-6};
    static const double launch_s[SPAN_COUNT_] = {0.0, 5e-6, 5e-6};
    for (uint32_t span = 0; span < SPAN_COUNT_; span++) {
        assert_close(cost->base_s[span], base_s[span], 1e-12);
        assert_true(fabs(cost->launch_s[span] - launch_s[span]) < 1e-15);
        assert_close(cost->round_s[LIBRARY_SCALE_UP][span], 4e-6, 1e-12);
    }
    arena_free(reading.arena);
}

static void a_likeness_has_the_fitted_costs_of_the_other(void **state)
{
    /* hierarchical is like ring: on hopper with 5 us a round; never chosen automatically. */
    (void)state;
    const struct reading reading = read_text(small);
    assert_true(reading.is_good);
    const struct library *library = reading.library;
    assert_close(library->architectures[GPU_HOPPER]
                     .costs[HIERARCHICAL][LL]
                     .round_s[LIBRARY_SCALE_UP][SPAN_ONE_NODE],
                 5e-6, 1e-12);
    assert_false(library->shapes[HIERARCHICAL].is_automatic);
    assert_true(library->shapes[RING].is_automatic);
    assert_false(library->shapes[NVLS].is_automatic);
    arena_free(reading.arena);
}

static void what_has_no_base_is_not_offered(void **state)
{
    /* The file gives ring LL and Simple a base, and nothing else. */
    (void)state;
    const struct reading reading = read_text(small);
    const struct library_architecture *volta = &reading.library->architectures[GPU_VOLTA];
    assert_true(volta->costs[RING][LL].is_offered);
    assert_true(volta->costs[RING][SIMPLE].is_offered);
    assert_false(volta->costs[RING][LL128].is_offered);
    assert_false(volta->costs[TREE][SIMPLE].is_offered);
    arena_free(reading.arena);
}

static void mistakes_are_refused_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"library: x\nsource: y\nalgorithms: {ring: {LL: {base: 1 us, efficiency: [1, 1]}}}\n",
         "'efficiency' is one value or three"},
        {"library: x\nsource: y\nalgorithms: {ring: {LL: {base: 1 us, nvlink_fill: 1 us}}}\n",
         "ring LL has a fill but no fill_half"},
        {"library: x\nsource: y\nalgorithms: {ring: {like: tree}, tree: {like: ring}}\n",
         "ring is like tree, which is like another"},
        {"library: x\nsource: y\nextends: nccl-2026\nalgorithms: {}\n",
         "a library inside a file cannot extend another"},
        {"library: x\nsource: y\nalgorithms: {}\ntree_correction: {from: 64 B, LL: 3}\n",
         "a correction is a list of at most 24"},
        {"library: x\nsource: y\nalgorithms: {ring: {LL: {base: 1 us, efficiency: 1.35}}}\n",
         "'efficiency' must be from 0.0001 to 1, not '1.35'"},
        {"library: x\nsource: y\n", "missing key 'algorithms'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct reading reading = read_text(cases[i].text);
        assert_false(reading.is_good);
        assert_string_equal(diag_first_error(reading.diag), cases[i].message);
        assert_int_equal(diag_exit_status(reading.diag), 3);
        arena_free(reading.arena);
    }
}

static void the_catalogue_s_library_reads_and_prices_every_algorithm(void **state)
{
    /* Each algorithm has a protocol on hopper; nothing in the file is merely assumed. */
    (void)state;
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    struct assumptions assumptions;
    assumptions_init(&assumptions, arena);
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = "nccl-2026"};
    const struct doc_node *node = library_open(arena, &here, &reference, diag);
    struct library *library = arena_alloc(arena, sizeof *library);
    const bool is_good = node != NULL && library_read(node, library, &assumptions, diag);
    diag_print(diag, stderr);
    assert_true(is_good);
    assert_int_equal(assumptions.count, 0);
    for (uint32_t a = 0; a < ALGORITHM_COUNT_; a++) {
        assert_true(library->architectures[GPU_HOPPER].costs[a][SIMPLE].is_offered);
    }
    assert_false(library->architectures[GPU_AMPERE].costs[NVLS][SIMPLE].is_offered);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_section_changes_what_it_names_and_leaves_the_rest),
        cmocka_unit_test(latencies_may_differ_by_number_of_nodes),
        cmocka_unit_test(a_likeness_has_the_fitted_costs_of_the_other),
        cmocka_unit_test(what_has_no_base_is_not_offered),
        cmocka_unit_test(mistakes_are_refused_with_a_reason),
        cmocka_unit_test(the_catalogue_s_library_reads_and_prices_every_algorithm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
