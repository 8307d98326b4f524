/* Predictions against published runs, with the catalogue as it stands.
 *
 * tests/published/anchors.csv has a scenario, the published figure and the
 * tolerance for each. Prints the error of every one. No constant anywhere
 * belongs to one of these runs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "input/catalogue.h"
#include "input/scenario.h"
#include "run/run.h"
#include "support/fixture.h"

struct published_run {
    char name[96];
    char scenario[96];
    char metric[32];
    double measured;
    double tolerance;
};

static bool read_anchor(const char *line, struct published_run *anchor)
{
    return sscanf(line, "%95[^,],%95[^,],%31[^,],%lf,%lf", anchor->name, anchor->scenario,
                  anchor->metric, &anchor->measured, &anchor->tolerance) == 5;
}

static double metric_of(const struct result *result, const char *metric)
{
    if (strcmp(metric, "step_s") == 0) {
        return (double)result->step.step_ns * 1e-9;
    }
    if (strcmp(metric, "tflops_per_gpu") == 0) {
        return result->step.tflops_per_gpu;
    }
    assert_string_equal(metric, "tokens_per_s_per_gpu");
    return result->step.tokens_per_s_per_gpu;
}

static double predict(const struct published_run *anchor)
{
    struct arena *arena = arena_new();
    const struct scenario *scenario =
        fixture_scenario(arena, &(struct fixture_source){.path = anchor->scenario});
    struct result result;
    run_predict(arena, scenario,
                &(struct run_request){.folds = true, .build = "test", .finds_path = true}, &result);
    const double value = metric_of(&result, anchor->metric);
    arena_free(arena);
    return value;
}

static void published_runs_are_predicted_within_tolerance(void **state)
{
    (void)state;
    FILE *file = fopen("tests/published/anchors.csv", "r");
    assert_non_null(file);
    char line[512];
    int count = 0;
    int missed = 0;
    double sum = 0;
    assert_non_null(fgets(line, sizeof line, file)); /* the head */
    while (fgets(line, sizeof line, file) != NULL) {
        struct published_run anchor;
        assert_true(read_anchor(line, &anchor));
        const double predicted = predict(&anchor);
        const double error = predicted / anchor.measured - 1;
        print_message("%-38s %-20s predicted %9.3f published %9.3f error %+6.1f %%\n", anchor.name,
                      anchor.metric, predicted, anchor.measured, 100 * error);
        missed += fabs(error) > anchor.tolerance;
        sum += fabs(error);
        count++;
    }
    fclose(file);
    print_message("%d runs, mean absolute error %.1f %%\n", count, 100 * sum / count);
    assert_int_equal(count, 17);
    assert_int_equal(missed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_runs_are_predicted_within_tolerance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
