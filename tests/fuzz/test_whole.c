/* Whole scenarios, in this process: what is valid is predicted, and its figures hold together.
 *
 * A scenario that a grammar writes (support/random_whole) is resolved and predicted as it is, then
 * with one to three of its keys turned: those of its own file and of the model, the cluster, the
 * GPU, the library and the software, as their schemas list them, so that a new key is turned
 * without a word here. A turned value is near the one that held, so most of them are valid, too.
 *
 * What is refused has a message and a status of the manual. Of what is predicted, screen and
 * document hold no NaN and no infinity; causes add up to the GPU-time of the step, accounts to the
 * days, components to the energy, kinds to the memory; shares are shares; quantiles are in order;
 * and predicting it once more says the same. Asserts and sanitizers see the rest: under them
 *
 *     make CC=clang MODE=asan build/clang-asan/tests/fuzz/test_whole
 *     build/clang-asan/tests/fuzz/test_whole 3 0 20000
 *
 * Usage: test_whole [SEED [FIRST [COUNT]]]; without arguments seed 3, 100 scenarios. Each is
 * predicted up to TURNS + 1 times, and twice where that takes long: a core resolves some 250 a
 * second, of which it predicts 150. What ends the program is told by $FUZZ_LAST, a file that holds
 * the scenario and what was turned. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "input/cluster.h"
#include "input/library.h"
#include "input/model.h"
#include "input/scenario.h"
#include "input/scenario_keys.h"
#include "input/scenario_load.h"
#include "input/software.h"
#include "report/screen.h"
#include "report/sheet.h"
#include "run/run.h"
#include "support/no_number.h"
#include "support/random_whole.h"
#include "support/share.h"

#include <gsl/gsl_errno.h>

enum {
    TURNS = 8,
    TURNS_OF_DEAR = 1,
    SETS_MAX = 3,
    TEXT_BYTES = 32768,
    SCREEN_BYTES = 1 << 20,
    GPUS_MAX = 64
};

static const struct catalogue here = {.directories = {"."}, .count = 1};

struct campaign {
    uint64_t seed, first, count;
    uint64_t predicted, refused, unfit, with_run, with_failures;
    uint64_t plain, plain_predicted; /* scenarios with no key turned */
    char *screen;
};

/* What is tried now. */
struct trial {
    uint64_t number;
    const char *text;
    const char *sets[SETS_MAX];
    uint32_t set_count;
};

static uint64_t roll(struct rng_key *dice, uint64_t bound)
{
    dice->operation++;
    return rng_below(dice, bound);
}

/* ---- keys turned ---------------------------------------------------------------------------- */

/* A little, a few times, much, and nothing. */
static const double factors[] = {0.5, 0.9, 0.99, 1.01, 1.1, 1.5, 2, 3, 0.1, 10, 0.01, 100, 0};

static const char *turned_number(struct arena *arena, struct rng_key *dice,
                                 const struct schema_row *row, const char *text)
{
    char *unit = NULL;
    const double value = strtod(text, &unit);
    double other = value * factors[roll(dice, sizeof factors / sizeof *factors)];
    if (row->kind == SCHEMA_COUNT) {
        const double near[] = {value + 1, value - 1, other, row->least};
        other = floor(near[roll(dice, 4)]);
        return arena_printf(arena, "%.0f", other);
    }
    return unit == text ? NULL : arena_printf(arena, "%.6g%s", other, unit);
}

static const char *turned(struct arena *arena, struct rng_key *dice, const struct schema_row *row,
                          const void *object)
{
    if (row->kind == SCHEMA_BOOL) {
        return roll(dice, 2) == 0 ? "true" : "false";
    }
    if (row->kind == SCHEMA_CHOICE) {
        return row->names[roll(dice, row->name_count)];
    }
    const bool is_number = row->kind == SCHEMA_COUNT || row->kind == SCHEMA_QUANTITY;
    const char *text = is_number ? schema_value_text(arena, row, object) : NULL;
    text = text == NULL && is_number ? row->standard : text;
    if (text == NULL && row->kind == SCHEMA_QUANTITY) {
        text = units_example(row->dimension);
    }
    return text != NULL ? turned_number(arena, dice, row, text) : is_number ? "1" : NULL;
}

/* A key that repeats has a word in capitals for its names. */
static bool is_one_key(const struct schema_row *row)
{
    for (const char *at = row->path; *at != '\0'; at++) {
        if (isupper((unsigned char)*at)) {
            return false;
        }
    }
    return true;
}

/* "cluster.nics.count=2"; NULL: the key that was drawn cannot be turned. */
static const char *draw_set(struct arena *arena, struct rng_key *dice,
                            const struct scenario *scenario)
{
    const struct {
        const struct schema *schema;
        const void *object;
    } files[] = {{&scenario_schema, scenario},         {&scenario_schema, scenario},
                 {&model_schema, &scenario->model},    {&cluster_schema, &scenario->cluster},
                 {&gpu_schema, &scenario->gpu},        {&software_schema, &scenario->software},
                 {&library_schema, &scenario->library}};
    const uint64_t file = roll(dice, sizeof files / sizeof *files);
    const struct schema *schema = files[file].schema;
    const struct schema_row *row = &schema->rows[roll(dice, schema->count)];
    const bool is_file = row->kind == SCHEMA_CUSTOM || row->kind == SCHEMA_NODE;
    if (is_file || !is_one_key(row) || !schema_applies(row, files[file].object)) {
        return NULL;
    }
    const char *value = turned(arena, dice, row, files[file].object);
    return value != NULL ? arena_printf(arena, "%s%s=%s", schema->prefix, row->path, value) : NULL;
}

/* ---- what must hold ------------------------------------------------------------------------- */

static void tell(const struct trial *trial, FILE *out)
{
    for (uint32_t i = 0; i < trial->set_count; i++) {
        fprintf(out, "--set '%s'\n", trial->sets[i]);
    }
    fprintf(out, "%s", trial->text);
}

/* For what ends the program without a word of ours. */
static void note(const struct trial *trial)
{
    const char *path = getenv("FUZZ_LAST");
    FILE *out = path != NULL ? fopen(path, "w") : NULL;
    if (out != NULL) {
        tell(trial, out);
        fclose(out);
    }
}

static void need(const struct trial *trial, bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "number %llu: %s\n", (unsigned long long)trial->number, what);
        tell(trial, stderr);
        fail();
    }
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-9;
}

static bool is_below(double a, double b)
{
    return a <= b || is_near(a, b);
}

static bool is_share(double value)
{
    return value >= 0 && value <= 1 + 1e-12;
}

static bool is_ordered(const struct run_range *range)
{
    return is_absent(range->p10) || (range->p10 >= 0 && is_below(range->p10, range->p90));
}

static void look_at_memory(const struct trial *trial, const struct memory_use *use)
{
    need(trial,
         is_near(use->weights_bytes + use->gradients_bytes + use->optimizer_bytes +
                     use->activations_bytes + use->logits_bytes + use->temporary_bytes +
                     use->buffers_bytes + use->overhead_bytes,
                 use->total_bytes),
         "kinds of memory do not add up to the peak");
    need(trial, use->total_bytes > 0 && use->allocated_bytes <= use->total_bytes,
         "a peak of no memory, or less than is allocated");
}

static void look_at_step(const struct trial *trial, const struct result *result)
{
    const struct step_result *step = &result->step;
    int64_t sum_ns = 0;
    for (uint32_t i = 0; i < CAUSE_COUNT_; i++) {
        need(trial, step->gpu_ns[i] >= 0, "a cause of less than no time");
        sum_ns += step->gpu_ns[i];
    }
    need(trial, sum_ns == result->scenario->gpus * step->step_ns, "causes do not add up");
    need(trial, step->mfu > 0 && step->mfu <= step->hfu + 1e-12 && step->hfu <= 1,
         "not 0 < MFU <= HFU <= 1");
    const double tokens =
        step->tokens_per_s_per_gpu * (double)result->scenario->gpus * (double)step->step_ns * 1e-9;
    need(trial, is_near(tokens, (double)step->model_flop_tokens), "tokens a second");
    need(trial, is_share(step->busiest_link_utilisation), "a link used more than it can be");
}

static void look_at_run(const struct trial *trial, const struct result *result)
{
    const struct run_result *run = &result->run;
    double sum_s = 0;
    double sum_kwh = 0;
    for (uint32_t i = 0; i < ACCOUNT_COUNT_; i++) {
        need(trial, run->account_s[i] >= 0, "an account of less than no time");
        sum_s += run->account_s[i];
    }
    for (uint32_t i = 0; i < COMPONENT_COUNT_; i++) {
        need(trial, run->component_kwh[i] >= 0, "a component of less than no energy");
        sum_kwh += run->component_kwh[i];
    }
    need(trial, is_near(sum_s / SECONDS_PER_DAY, run->days), "accounts do not add up to days");
    need(trial, is_near(sum_kwh, run->energy_kwh), "components do not add up to the energy");
    need(trial, run->gpu_hours >= 0 && run->unheld_gpu_hours >= 0, "less than no GPU-hours");
    need(trial,
         is_share(run->goodput) && is_share(run->effective_training_time_ratio) &&
             is_share(run->scheduling_goodput) && is_share(run->runtime_goodput) &&
             run->goodput <= run->effective_training_time_ratio + 1e-12,
         "goodput is no share, or above the ETTR");
    need(trial, is_absent(run->cost_usd) || run->cost_usd >= 0, "less than no money");
    if (result_has_failures(result)) {
        const struct run_spread *days = &run->days_spread;
        need(trial, is_below(days->p5, days->p50) && is_below(days->p50, days->p95),
             "quantiles of days");
        const bool is_ended = is_absent(run->mtbf_s) || run->mtbf_s > 0;
        need(trial, run->interruptions >= 0 && is_ended, "interruptions");
    }
    const struct run_draws *draws = &run->draws;
    need(trial,
         !draws->are_asked || (is_ordered(&draws->days) && is_ordered(&draws->cost_usd) &&
                               is_ordered(&draws->energy_kwh) && is_ordered(&draws->goodput)),
         "p10 above p90");
}

/* The screen and the document; `screen` holds the latter afterwards. */
static void print(struct campaign *campaign, const struct trial *trial, struct arena *arena,
                  const struct result *result)
{
    for (int is_json = 0; is_json < 2; is_json++) {
        FILE *out = fmemopen(campaign->screen, SCREEN_BYTES, "w");
        assert_non_null(out);
        sheet_print(screen_sheet(result, arena), is_json != 0, out);
        fclose(out);
        need(trial, !text_has_no_number(campaign->screen), "a NaN or an infinity is shown");
    }
}

/* ---- trials --------------------------------------------------------------------------------- */

/* As far off as steps and rates of failures are. */
static struct run_deviations deviations(void *context, const struct result *result)
{
    (void)context;
    (void)result;
    return (struct run_deviations){.step = 0.1, .rates = 0.5};
}

/* A run's draws are 200 histories more, seconds where it is long: of one short run in sixteen. */
static bool has_draws(const struct trial *trial, const struct scenario *scenario)
{
    return trial->number % 16 == 0 && scenario->run_tokens < 1e11;
}

static void predict(struct arena *arena, const struct trial *trial, const struct scenario *scenario,
                    struct result *result)
{
    run_deviations_of *of = has_draws(trial, scenario) ? deviations : NULL;
    const struct run_request request = {
        .folds = true, .build = "test", .finds_path = true, .deviations_of = of};
    *result = (struct result){.scenario = NULL};
    run_predict(arena, scenario, &request, result);
    result->step.engine.host_s = 0;
    result->step.engine.solve_s = 0;
    result->step.engine.host_peak_bytes = 0;
}

/* Predicted again it is the same, to the letter. */
static void repeat(struct campaign *campaign, const struct trial *trial, struct arena *arena,
                   const struct scenario *scenario)
{
    const char *before = arena_printf(arena, "%s", campaign->screen);
    struct result result;
    predict(arena, trial, scenario, &result);
    print(campaign, trial, arena, &result);
    need(trial, strcmp(before, campaign->screen) == 0, "predicted again it is another");
}

/* Whether it took much longer than most: steps beside loaders are simulated by the hundred, draws
 * are 200 histories more, and a history of short steps looks at many checkpoints. */
static bool is_dear(const struct trial *trial, const struct result *result)
{
    const double steps = result_has_failures(result) ? result->run.days * SECONDS_PER_DAY /
                                                           ((double)result->step.step_ns * 1e-9)
                                                     : 0;
    return has_draws(trial, result->scenario) || result->scenario->data.is_enabled ||
           result->step.engine.events > 10000 || steps > 4e6;
}

/* Returns whether it is dear. */
static bool look_at(struct campaign *campaign, const struct trial *trial, struct arena *arena,
                    const struct scenario *scenario)
{
    struct result result;
    predict(arena, trial, scenario, &result);
    look_at_memory(trial, &result.step.memory.worst);
    if (result_has_step(&result)) {
        look_at_step(trial, &result);
    }
    if (result_has_run(&result)) {
        look_at_run(trial, &result);
    }
    print(campaign, trial, arena, &result);
    if (trial->number % 8 == 0) {
        repeat(campaign, trial, arena, scenario);
    }
    campaign->predicted++;
    campaign->unfit += !result_has_step(&result);
    campaign->with_run += result_has_run(&result);
    campaign->with_failures += result_has_failures(&result);
    return is_dear(trial, &result);
}

/* NULL: refused, as it should be. */
static struct scenario *resolve(struct campaign *campaign, const struct trial *trial,
                                struct arena *arena)
{
    note(trial);
    struct diag *diag = diag_new(arena);
    const struct doc_node *document =
        doc_parse(arena, "test.yaml", trial->text, strlen(trial->text), diag);
    need(trial, document != NULL, "the grammar writes no YAML");
    struct scenario *scenario =
        scenario_resolve(arena, document, &here, trial->sets, trial->set_count, diag);
    const int status = diag_exit_status(diag);
    need(trial, (scenario == NULL) == diag_has_error(diag), "refused without a message");
    need(trial, status == 0 || (status >= 2 && status <= 4), "refused as no user's error");
    campaign->refused += scenario == NULL;
    return scenario;
}

static void try_turned(struct campaign *campaign, struct trial *trial, struct rng_key *dice,
                       const struct scenario *plain)
{
    struct arena *arena = arena_new();
    trial->set_count = 0;
    const uint64_t wanted = 1 + roll(dice, SETS_MAX);
    for (uint32_t i = 0; i < 20 && trial->set_count < wanted; i++) {
        const char *set = draw_set(arena, dice, plain);
        if (set != NULL) {
            trial->sets[trial->set_count++] = set;
        }
    }
    const struct scenario *scenario = resolve(campaign, trial, arena);
    if (scenario != NULL && scenario->gpus <= GPUS_MAX) {
        look_at(campaign, trial, arena, scenario);
    }
    arena_free(arena);
}

static void try_number(struct campaign *campaign, uint64_t number)
{
    static char text[TEXT_BYTES];
    memset(text, 0, sizeof text);
    struct arena *arena = arena_new();
    struct rng_key dice = {.seed = campaign->seed, .stream = rng_stream("whole"), .rank = number};
    FILE *out = fmemopen(text, TEXT_BYTES - 1, "w");
    assert_non_null(out);
    random_whole_scenario(out, arena, &dice);
    fclose(out);
    struct trial trial = {.number = number, .text = text};
    const struct scenario *plain = resolve(campaign, &trial, arena);
    campaign->plain++;
    if (plain != NULL && plain->gpus <= GPUS_MAX) {
        campaign->plain_predicted++;
        const uint32_t turns = look_at(campaign, &trial, arena, plain) ? TURNS_OF_DEAR : TURNS;
        for (uint32_t i = 0; i < turns; i++) {
            try_turned(campaign, &trial, &dice, plain);
        }
    }
    arena_free(arena);
}

static void figures_of_what_is_valid_hold_together(void **state)
{
    struct campaign *campaign = *state;
    campaign->screen = malloc(SCREEN_BYTES);
    assert_non_null(campaign->screen);
    gsl_set_error_handler_off();
    for (uint64_t i = 0; i < campaign->count; i++) {
        try_number(campaign, campaign->first + i);
    }
    print_message(
        "%llu scenarios, %llu of them valid and small; with keys turned %llu predicted "
        "(%llu unfit, %llu with a run, %llu with failures), %llu refused\n",
        (unsigned long long)campaign->plain, (unsigned long long)campaign->plain_predicted,
        (unsigned long long)campaign->predicted, (unsigned long long)campaign->unfit,
        (unsigned long long)campaign->with_run, (unsigned long long)campaign->with_failures,
        (unsigned long long)campaign->refused);
    assert_true(campaign->count < 20 || campaign->predicted > campaign->refused);
    free(campaign->screen);
}

int main(int count, char **arguments)
{
    struct campaign campaign = {.seed = 3, .first = 0, .count = share_of(100)};
    campaign.seed = count > 1 ? strtoull(arguments[1], NULL, 10) : campaign.seed;
    campaign.first = count > 2 ? strtoull(arguments[2], NULL, 10) : campaign.first;
    campaign.count = count > 3 ? strtoull(arguments[3], NULL, 10) : campaign.count;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(figures_of_what_is_valid_hold_together, &campaign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
