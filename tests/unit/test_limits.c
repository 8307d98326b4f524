/* What can be told of predictions: the file, and which steps it is about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "bands/limits.h"
#include "support/assert_close.h"
#include "support/fixture.h"
#include "support/temporary.h"

#include <sys/stat.h>

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

/* A catalogue with that file; NULL: without one. */
static bool load(struct arena *arena, const char *text, struct limits *limits, const char **reason)
{
    const char *directory = temporary_new(arena);
    assert_int_equal(mkdir(arena_printf(arena, "%s/models", directory), 0700), 0);
    if (text != NULL) {
        temporary_write(arena_printf(arena, "%s/" LIMITS_FILE, directory), text);
    }
    const struct catalogue catalogue = {.directories = {directory}, .count = 1};
    const bool is_good = limits_load(arena, &catalogue, limits, reason, diag_new(arena));
    temporary_remove(directory);
    return is_good;
}

static void all_figures_are_read(void **state)
{
    struct limits limits;
    const char *reason = NULL;
    assert_true(load(*state,
                     "resolution: {hashed: 0.25 %, provenance: measured, source: a test}\n"
                     "anchor: {trust: 60 %, provenance: fitted, source: a test}\n"
                     "failures: {factor: 2.5, provenance: measured, source: a test}\n"
                     "host: {spread: 70 %, provenance: measured, source: a test}\n"
                     "box_links: {spread: 3 %, provenance: measured, source: a test}\n",
                     &limits, &reason));
    assert_close(limits.host_spread, 0.7, 1e-12);
    assert_close(limits.resolution, 0.0025, 1e-12);
    assert_close(limits.trust, 0.6, 1e-12);
    assert_close(limits.failure_factor, 2.5, 1e-12);
    assert_close(limits.box_held[BOX_LINKS], 0.03, 1e-12);
    assert_true(limits.box_held[BOX_GEMM] <= 0);
}

/* Nothing is known then: any difference is one, and weights are taken whole. */
static void what_is_wrong_with_the_file_is_the_reason(void **state)
{
    static const char *const cases[][2] = {
        {NULL, "the catalogue has no models/limits.yaml"},
        {"resolution: {hashed: 0.25 %, source: a test}\n", "anchor"},
        {"resolution: {hashed: 0.25 %}\nanchor: {trust: 1, source: s}\n", "source"},
        {"resolution: {hashed: 150 %, source: s}\nanchor: {trust: 1, source: s}\n",
         "limits.yaml:1:"},
        {"resolution: {hashed: 1 %, source: s}\nanchor: {trus: 1, source: s}\n", "trus"},
        {"resolution: {hashed: 1 %, source: s}\nanchor: {trust: 1, source: s}\n"
         "failures: {factor: 0.5, source: s}\n",
         "limits.yaml:3:"},
        {"resolution: {hashed: 1 %, source: s}\nanchor: {trust: 1, source: s}\n"
         "failures: {factor: 2, source: s}\nx: 1\n",
         "'x'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct limits limits;
        const char *reason = "";
        assert_false(load(*state, cases[i][0], &limits, &reason));
        if (strstr(reason, cases[i][1]) == NULL) {
            fail_msg("case %zu: %s", i, reason);
        }
        assert_close(limits.resolution + 1, 1, 1e-12);
        assert_close(limits.trust, 1, 1e-12);
        assert_close(limits.failure_factor + 1, 1, 1e-12);
    }
}

/* A mean |ln| of ln 1.7 is that of a normal distribution of sqrt(pi / 2) * 0.5306 = 0.6650; what a
 * file says of its own rates goes before. */
static void the_error_of_rates_is_a_deviation(void **state)
{
    (void)state;
    const struct limits limits = {.failure_factor = 1.7};
    struct scenario scenario = {.gpus = 8};
    assert_close(limits_of_rates(&limits, &scenario), 0.66504, 1e-4);
    scenario.failures.rates_within = 3.4;
    assert_close(limits_of_rates(&limits, &scenario), 1.53378, 1e-4);
    scenario.failures.rates_within = 1;
    assert_true(limits_of_rates(&limits, &scenario) < 1e-12);
}

/* Flows that are hashed, or other jobs, and only where they leave a node. */
static void steps_have_a_resolution_where_no_two_gpus_are_alike(void **state)
{
    static const struct {
        const char *path;
        const char *sets[3];
        uint32_t count;
        bool applies;
    } cases[] = {
        {"scenarios/quickstart.yaml", {"cluster.fabric.routing=adaptive"}, 1, false},
        {"scenarios/quickstart.yaml", {"cluster.fabric.routing=ecmp"}, 1, true},
        {"scenarios/quickstart.yaml", {"cluster.fabric.routing=ecmp", "gpus=8"}, 2, false},
        {"scenarios/two-jobs.yaml", {"cluster.fabric.routing=adaptive"}, 1, true},
    };
    const struct limits limits = {.resolution = 0.01, .trust = 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct scenario *scenario = fixture_scenario(
            *state, &(struct fixture_source){
                        .path = cases[i].path, .sets = cases[i].sets, .set_count = cases[i].count});
        assert_int_equal(limits_apply(scenario), cases[i].applies);
        assert_close(limits_resolution(&limits, scenario) + 1, cases[i].applies ? 1.01 : 1, 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_figures_are_read),
        cmocka_unit_test(the_error_of_rates_is_a_deviation),
        cmocka_unit_test(what_is_wrong_with_the_file_is_the_reason),
        cmocka_unit_test(steps_have_a_resolution_where_no_two_gpus_are_alike),
    };
    return cmocka_run_group_tests(tests, make_arena, end_arena);
}
