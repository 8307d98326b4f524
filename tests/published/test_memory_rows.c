/* Predicted peak memory against what published runs measured.
 *
 * tests/published/memory.csv holds the rows with a measured memory (facts; who published them is
 * its column `source`). Each becomes a scenario by the rules of published_rows; memory_check
 * alone judges it. Prints a table; STOKER_MEMORY_ROWS=1 also prints the parts of each, and which
 * rows are skipped and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "plan/memory/memory.h"
#include "input/scenario.h"
#include "measured/published/memory_rows.h"
#include "measured/published/published_columns.h"
#include "measured/published/published_rows.h"
#include "measured/published/published_rules.h"
#include "support/assert_close.h"

enum { ROWS_MAX = 1000 };

struct outcome {
    bool is_predicted;
    bool fits;
    struct memory_verdict verdict;
    const char *filled;
    const char *why; /* not predicted */
};

/* The first message of a diag, without its place. */
static const char *first_message(struct arena *arena, const struct diag *diag)
{
    char *text = arena_alloc(arena, 200);
    FILE *file = fmemopen(text, 199, "w");
    assert_non_null(file);
    diag_print(diag, file);
    fclose(file);
    text[strcspn(text, "\n")] = '\0';
    return text;
}

/* With the catalogue's rules; memory.csv has no measured step. */
static const struct published_table *load(struct arena *arena, const char *path)
{
    const struct catalogue catalogue = {.directories = {"."}, .count = 1};
    struct diag *diag = diag_new(arena);
    const struct published_table *table = published_load(arena, path, diag);
    assert_non_null(table);
    struct published_table *runs = arena_alloc(arena, sizeof *runs);
    *runs = *table;
    runs->rules = published_rules_load(arena, &catalogue, diag);
    assert_non_null(runs->rules);
    return runs;
}

static struct outcome predict(struct arena *arena, const struct published_table *table,
                              uint32_t row)
{
    const struct catalogue catalogue = {.directories = {"."}, .count = 1};
    const struct published_base base = {.catalogue = &catalogue};
    struct published_scenario made;
    struct diag *diag = diag_new(arena);
    const struct scenario *scenario = published_resolve(arena, table, row, &base, &made, diag);
    if (scenario == NULL) {
        return (struct outcome){.why = made.skipped != NULL ? made.skipped
                                                            : first_message(arena, diag)};
    }
    const struct memory_verdict verdict = memory_check(scenario);
    return (struct outcome){
        .is_predicted = true, .fits = verdict.fits, .verdict = verdict, .filled = made.filled};
}

/* What corresponds to the measurement: all, or what the allocator has reserved. */
static double comparable(const struct memory_use *use, enum published_memory what)
{
    return what == PUBLISHED_MEMORY_RESERVED ? use->allocated_bytes + use->fragmentation_bytes
                                             : use->total_bytes;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, uint32_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void print_parts(const struct memory_use *use)
{
    printf("      weights %.1f gradients %.1f optimizer %.1f activations %.1f (logits %.1f) "
           "temporaries %.1f buffers %.1f context %.1f nccl %.1f fragmentation %.1f; at %s\n",
           use->weights_bytes / 1e9, use->gradients_bytes / 1e9, use->optimizer_bytes / 1e9,
           use->activations_bytes / 1e9, use->logits_bytes / 1e9, use->temporary_bytes / 1e9,
           use->buffers_bytes / 1e9, use->context_bytes / 1e9, use->communication_bytes / 1e9,
           use->fragmentation_bytes / 1e9, memory_moment_names[use->moment]);
}

static void the_median_error_of_measured_peaks_is_at_most_8_percent(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct published_table *table = load(arena, "tests/published/memory.csv");
    const bool is_verbose = getenv("STOKER_MEMORY_ROWS") != NULL;
    double errors[ROWS_MAX];
    uint32_t count = 0;
    assert_true(table->row_count <= ROWS_MAX);
    for (uint32_t row = 0; row < table->row_count; row++) {
        double measured = 0;
        const enum published_memory what = published_memory(arena, table, row, &measured);
        const struct outcome outcome = predict(arena, table, row);
        const char *id = published_text(table, row, "id");
        if (!outcome.is_predicted) {
            printf("  %-38s skipped: %s\n", id, outcome.why);
            continue;
        }
        const double predicted = comparable(&outcome.verdict.worst, what);
        const double error = 100 * (predicted / measured - 1);
        printf("  %-38s %6.1f GB predicted, %6.1f measured, %+6.1f %%%s\n", id, predicted / 1e9,
               measured / 1e9, error, outcome.fits ? "" : "  DOES NOT FIT");
        if (is_verbose) {
            print_parts(&outcome.verdict.worst);
        }
        errors[count++] = fabs(error);
    }
    assert_true(count >= 65);
    const double median = median_of(errors, count);
    printf("  %u rows, median error %.2f %%\n", count, median);
    assert_true(median <= 8.0);
    arena_free(arena);
}

/* Whether a row is one of torchtitan's of 2024, on Hopper: 8B by FSDP, 70B with tp, 405B with tp
 * and pp, sequences up to 256K. */
static bool is_of_torchtitan(const struct published_table *table, uint32_t row)
{
    return strcmp(published_text(table, row, "framework"), "torchtitan") == 0 &&
           strcmp(published_text(table, row, "framework_year"), "2024") == 0;
}

/* What its code keeps is in the profile, with addresses. */
static void each_peak_of_torchtitan_on_hopper_is_within_8_percent(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct published_table *table = load(arena, "tests/published/memory.csv");
    uint32_t count = 0;
    for (uint32_t row = 0; row < table->row_count; row++) {
        if (!is_of_torchtitan(table, row)) {
            continue;
        }
        double measured = 0;
        const enum published_memory what = published_memory(arena, table, row, &measured);
        const struct outcome outcome = predict(arena, table, row);
        assert_true(outcome.is_predicted && outcome.fits);
        assert_int_equal(what, PUBLISHED_MEMORY_RESERVED);
        assert_true(fabs(comparable(&outcome.verdict.worst, what) / measured - 1) <= 0.08);
        count++;
    }
    assert_int_equal(count, 12);
    arena_free(arena);
}

/* The file from which searches have the error of memory is what the rows above give: each line,
 * by the other way through bands/memory_errors, and hence the median. */
static void the_catalogues_errors_of_memory_are_those_of_the_rows(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct catalogue catalogue = {.directories = {"."}, .count = 1};
    struct diag *diag = diag_new(arena);
    const struct published_table *table = load(arena, "tests/published/memory.csv");
    struct memory_errors shipped;
    assert_true(memory_errors_read(arena, MEMORY_ERRORS_FILE, &shipped, diag));
    double errors[ROWS_MAX];
    assert_int_equal(shipped.count, table->row_count);
    for (uint32_t row = 0; row < table->row_count; row++) {
        double measured = 0;
        const enum published_memory what = published_memory(arena, table, row, &measured);
        const struct outcome outcome = predict(arena, table, row);
        assert_true(outcome.is_predicted);
        const double predicted = comparable(&outcome.verdict.worst, what);
        errors[row] = fabs(predicted / measured - 1);
        assert_string_equal(shipped.items[row].id, published_text(table, row, "id"));
        assert_string_equal(shipped.items[row].source, published_text(table, row, "source"));
        assert_close(shipped.items[row].measured_bytes, measured, 1e-5);
        assert_close(shipped.items[row].predicted_bytes, predicted, 1e-5);
    }
    assert_close(shipped.median, median_of(errors, shipped.count), 1e-4);
    const struct memory_rows rows = memory_rows_predict(
        arena, published_load_peaks(arena, "tests/published/memory.csv", &catalogue, diag),
        &catalogue);
    assert_int_equal(rows.skipped_count, 0);
    assert_close(rows.errors.median, shipped.median, 1e-4);
    arena_free(arena);
}

/* A row is skipped where a column that its scenario needs is blank, mostly a layout that nobody
 * stated. */
static bool is_blank(const struct outcome *outcome)
{
    static const char end[] = " is blank";
    const size_t length = strlen(outcome->why);
    return length >= sizeof end && strcmp(outcome->why + length + 1 - sizeof end, end) == 0;
}

/* Of all published runs, which trained, none may be called infeasible by memory or by anything
 * else, and all that state their layout are looked at: 20 of 783 do not. */
static void nothing_that_trained_is_infeasible(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct published_table *table = load(arena, "tests/published/runs.csv");
    uint32_t skipped = 0;
    uint32_t refused = 0;
    for (uint32_t row = 0; row < table->row_count; row++) {
        const struct outcome outcome = predict(arena, table, row);
        const char *id = published_text(table, row, "id");
        const char *suspect = published_text(table, row, "suspect");
        if (!outcome.is_predicted && is_blank(&outcome)) {
            skipped++;
        } else if (!outcome.is_predicted) {
            printf("  %-48s is no scenario: %s\n", id, outcome.why);
            refused++;
        } else if (!outcome.fits) {
            printf("  %-48s DOES NOT FIT: %.1f of %.1f GB %s\n", id,
                   outcome.verdict.worst.total_bytes / 1e9, outcome.verdict.limit_bytes / 1e9,
                   suspect);
            print_parts(&outcome.verdict.worst);
            refused += suspect[0] == '\0' ? 1 : 0;
        }
    }
    printf("  %u rows, %u skipped, %u infeasible\n", table->row_count, skipped, refused);
    assert_true(table->row_count >= 500);
    assert_true(skipped <= table->row_count / 15);
    assert_int_equal(refused, 0);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_median_error_of_measured_peaks_is_at_most_8_percent),
        cmocka_unit_test(each_peak_of_torchtitan_on_hopper_is_within_8_percent),
        cmocka_unit_test(the_catalogues_errors_of_memory_are_those_of_the_rows),
        cmocka_unit_test(nothing_that_trained_is_infeasible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
