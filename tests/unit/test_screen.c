/* What `stoker run` prints and its JSON document, of a made-up result. */
#include "report/screen.h"
#include "report/sheet.h"

#include "base/arena.h"
#include "support/sample_result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT_BYTES 16384

struct world {
    struct arena *arena;
    struct sample sample;
    char text[TEXT_BYTES];
};

static int make_world(void **state)
{
    struct arena *arena = arena_new();
    struct world *world = arena_alloc(arena, sizeof *world);
    world->arena = arena;
    sample_init(&world->sample);
    *state = world;
    return 0;
}

static int end_world(void **state)
{
    struct world *world = *state;
    arena_free(world->arena);
    return 0;
}

static const char *screen_of(struct world *world)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    sheet_print(screen_sheet(&world->sample.result, world->arena), false, file);
    rewind(file);
    world->text[fread(world->text, 1, TEXT_BYTES - 1, file)] = '\0';
    fclose(file);
    return world->text;
}

static const char *document_of(struct world *world)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    sheet_print(screen_sheet(&world->sample.result, world->arena), true, file);
    rewind(file);
    world->text[fread(world->text, 1, TEXT_BYTES - 1, file)] = '\0';
    fclose(file);
    return world->text;
}

#define assert_holds(text, part)                         \
    do {                                                 \
        if (strstr(text, part) == NULL) {                \
            fail_msg("'%s' is not in:\n%s", part, text); \
        }                                                \
    } while (0)

static void parts_are_rounded_so_that_they_add_up(void **state)
{
    /* A third each of 100: 33.3 three times; one unit is left, the remainders
     * are equal, so the first gets it. */
    (void)state;
    const int64_t thirds[] = {7, 7, 7};
    int64_t units[4];
    screen_apportion(thirds, 3, 100, units);
    assert_int_equal(units[0], 34);
    assert_int_equal(units[1], 33);
    assert_int_equal(units[2], 33);
    /* 1, 2, 3, 0 of 6 in 10 units: 1.67, 3.33, 5, 0; down 1, 3, 5, 0; one is
     * left and the first has the largest remainder. */
    const int64_t parts[] = {1, 2, 3, 0};
    screen_apportion(parts, 4, 10, units);
    assert_int_equal(units[0], 2);
    assert_int_equal(units[1], 3);
    assert_int_equal(units[2], 5);
    assert_int_equal(units[3], 0);
}

static void apportioning_neither_loses_nor_invents_units(void **state)
{
    /* 16,384 GPUs, 100 s in ns: the products have 75 bits. */
    (void)state;
    int64_t parts[14];
    int64_t units[14];
    for (int64_t i = 0; i < 14; i++) {
        parts[i] = i % 3 == 0 ? 0 : INT64_C(16384) * 7142857142 + 12345 * i;
    }
    screen_apportion(parts, 14, 100000, units);
    int64_t sum = 0;
    for (uint32_t i = 0; i < 14; i++) {
        assert_true(parts[i] > 0 || units[i] == 0);
        sum += units[i];
    }
    assert_int_equal(sum, 100000);
}

static void causes_add_up_to_the_step_in_print(void **state)
{
    /* 6.912345678 s in halves, eighths, eighths and a quarter: 3.456, 0.864,
     * 0.864 and 1.728 s of 6.912 s. */
    struct world *world = *state;
    const char *text = screen_of(world);
    assert_holds(text, "  compute                     3.456   50.0\n");
    assert_holds(text, "  launch gaps                 0.864   12.5\n");
    assert_holds(text, "  exposed DP communication    0.864   12.5\n");
    assert_holds(text, "  pipeline bubble             1.728   25.0\n");
    assert_holds(text, "  step, the sum               6.912  100.0\n");
    assert_null(strstr(text, "optimizer  0")); /* causes of zero are left out */
}

static void the_headline_says_days_dollars_energy_and_the_step(void **state)
{
    struct world *world = *state;
    const char *text = screen_of(world);
    assert_holds(text, "54.2 days"); /* 54.25 */
    assert_holds(text, "20,832 USD");
    assert_holds(text, "kWh");
    assert_holds(text, "41.3 % MFU");
    assert_holds(text, "2370 tokens/s/GPU");
    assert_holds(text, "step 6.91 s");
}

static void without_a_run_only_the_step_is_said(void **state)
{
    struct world *world = *state;
    world->sample.result.run = (struct run_result){.is_asked = false};
    const char *text = screen_of(world);
    assert_null(strstr(text, "days"));
    assert_null(strstr(text, "USD\n"));
    assert_holds(text, "step 6.91 s");
}

static void memory_is_listed_against_the_limit(void **state)
{
    struct world *world = *state;
    assert_holds(screen_of(world), "  total                   73.50  of 80.00 GB: fits\n");
    world->sample.result.step.memory.fits = false;
    world->sample.result.step.memory.fits_gpu = false;
    snprintf(world->sample.result.step.memory_advice, 512, "fits with micro 1");
    const char *text = screen_of(world);
    assert_holds(text, "DOES NOT FIT");
    assert_holds(text, "  fits with micro 1\n");
}

/* The sample's own figures (6.91 s, 41.3 % MFU, 54.2 days) must not be seen anywhere. */
static void a_plan_that_does_not_fit_has_no_step_and_no_days(void **state)
{
    struct world *world = *state;
    world->sample.result.step.memory.fits = false;
    const char *text = screen_of(world);
    assert_holds(text, "- days  - USD, - GPU-hours, - kWh\n");
    assert_holds(text, "- % MFU  - tokens/s/GPU, - TFLOP/s per GPU\n");
    assert_holds(text, "step - s  of 131,072 tokens: the plan does not fit, see memory\n");
    assert_holds(text, "430.0  -\n"); /* FLOPs of a token exist, a share of the peak does not */
    assert_null(strstr(text, "where the step goes"));
    assert_null(strstr(text, "6.91"));
    assert_null(strstr(text, "41.3"));
    assert_null(strstr(text, "54.2"));
    const char *document = document_of(world);
    static const char *const nulls[] = {"\"step_time_s\"",
                                        "\"tokens_per_s_per_gpu\"",
                                        "\"tflops_per_gpu\"",
                                        "\"mfu\"",
                                        "\"mfu_full_attention\"",
                                        "\"hfu\"",
                                        "\"compute\"",
                                        "\"bubble\"",
                                        "\"days\"",
                                        "\"goodput\"",
                                        "\"cost_usd\"",
                                        "\"energy_kwh\"",
                                        "\"bound_by\"",
                                        "\"busiest_link\"",
                                        "\"busiest_link_utilisation\"",
                                        "\"data_stall_s\""};
    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++) {
        assert_holds(document, arena_printf(world->arena, "%s: null", nulls[i]));
    }
    assert_holds(document, "\"peak_bytes\": 73500000000,");
    assert_holds(document, "\"fits\": false");
}

static void what_nobody_asked_for_is_null_in_the_document(void **state)
{
    struct world *world = *state;
    const char *asked = document_of(world);
    assert_null(strstr(asked, "\"days\": null"));
    assert_holds(asked, "\"p10\": null"); /* no band was asked for */
    world->sample.result.run = (struct run_result){.is_asked = false};
    const char *document = document_of(world);
    static const char *const keys[] = {
        "days",   "gpu_hours", "goodput",     "cost_usd",         "energy_kwh",
        "tokens", "steps",     "checkpoints", "checkpoint_bytes", "checkpoint_s"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_holds(document, arena_printf(world->arena, "\"%s\": null", keys[i]));
    }
    assert_holds(document, "\"data_stall_s\": 0");
    assert_holds(document, "\"mfu\": 0.413");
}

static void all_three_conventions_are_shown_with_what_they_count(void **state)
{
    struct world *world = *state;
    const char *text = screen_of(world);
    assert_holds(text, "989.4 TFLOP/s, dense bf16");
    assert_holds(text, "430.0  41.3\n");
    assert_holds(text, "460.0  44.2\n");
    assert_holds(text, "440.0  42.3\n"); /* 42.26 */
}

static void at_most_eight_assumptions_are_shown(void **state)
{
    struct world *world = *state;
    for (uint32_t i = 2; i < 10; i++) {
        world->sample.assumptions[i] = world->sample.assumptions[1];
    }
    assert_null(strstr(screen_of(world), "more (stoker explain)"));
    world->sample.scenario.assumptions.count = 10;
    const char *text = screen_of(world);
    assert_holds(text, "  gpu.price.gpu_hour = 2.00 USD  ");
    assert_holds(text, "  … and 2 more (stoker explain)\n");
}

static void the_engine_says_how_much_it_simulated(void **state)
{
    assert_holds(screen_of(*state),
                 "simulated 2 of 8 ranks, 1,234,567 tasks, 7,654,321 events in 125 ms\n");
}

static void a_title_cannot_move_the_terminals_cursor(void **state)
{
    struct world *world = *state;
    world->sample.scenario.title = "\x1b[2J gone";
    assert_holds(screen_of(world), "?[2J gone\n");
}

static void the_document_has_the_keys_that_scripts_rely_on(void **state)
{
    /* design.md, section 5. */
    static const char *const keys[] = {"\"schema\": \"stoker.run/1\"",
                                       "\"scenario\"",
                                       "\"version\"",
                                       "\"seed\": 42",
                                       "\"gpus\": 8",
                                       "\"step_time_s\": 6.912345678",
                                       "\"tokens_per_s_per_gpu\": 2370.25",
                                       "\"tflops_per_gpu\"",
                                       "\"mfu\": 0.413",
                                       "\"mfu_full_attention\"",
                                       "\"hfu\"",
                                       "\"mfu_by_convention\": {",
                                       "\"mfu_convention\": \"causal\"",
                                       "\"memory\": {",
                                       "\"peak_bytes\": 73500000000",
                                       "\"weights\"",
                                       "\"gradients\"",
                                       "\"optimizer\"",
                                       "\"activations\"",
                                       "\"fits\": true",
                                       "\"breakdown\": {",
                                       "\"bubble\": 1.7280864195",
                                       "\"run\": {",
                                       "\"days\": 54.25",
                                       "\"gpu_hours\"",
                                       "\"goodput\"",
                                       "\"cost_usd\"",
                                       "\"energy_kwh\"",
                                       "\"bound_by\"",
                                       "\"assumptions\": [",
                                       "\"engine\": {",
                                       "\"ranks\": 8",
                                       "\"ranks_simulated\": 2",
                                       "\"tasks\"",
                                       "\"events\"",
                                       "\"host_s\"",
                                       "\"host_peak_bytes\""};
    const char *text = document_of(*state);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_holds(text, keys[i]);
    }
}

static void every_cause_is_in_the_document(void **state)
{
    const char *text = document_of(*state);
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        char key[64];
        snprintf(key, sizeof key, "\"%s\": ", cause_names[cause]);
        assert_holds(text, key);
    }
}

static void a_document_with_hostile_text_stays_well_formed(void **state)
{
    struct world *world = *state;
    world->sample.scenario.title = "a \"b\" \\ \n \xff";
    assert_holds(document_of(world), "\"scenario\": \"a \\\"b\\\" \\\\ \\n \xef\xbf\xbd\",\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, end_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(parts_are_rounded_so_that_they_add_up),
        TEST(apportioning_neither_loses_nor_invents_units),
        TEST(causes_add_up_to_the_step_in_print),
        TEST(the_headline_says_days_dollars_energy_and_the_step),
        TEST(without_a_run_only_the_step_is_said),
        TEST(memory_is_listed_against_the_limit),
        TEST(a_plan_that_does_not_fit_has_no_step_and_no_days),
        TEST(what_nobody_asked_for_is_null_in_the_document),
        TEST(all_three_conventions_are_shown_with_what_they_count),
        TEST(at_most_eight_assumptions_are_shown),
        TEST(the_engine_says_how_much_it_simulated),
        TEST(a_title_cannot_move_the_terminals_cursor),
        TEST(the_document_has_the_keys_that_scripts_rely_on),
        TEST(every_cause_is_in_the_document),
        TEST(a_document_with_hostile_text_stays_well_formed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
