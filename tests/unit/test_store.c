/* The results file: storing twice, reading back, and every way a file can be bad. */
#include "store/store.h"

#include "base/absent.h"
#include "base/arena.h"
#include "support/store_world.h"
#include "support/temporary.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/assert_close.h"

static struct store_point point_of(const struct world *world, int64_t number)
{
    return (struct store_point){.number = number,
                                .label = "50 Gbps, micro 1",
                                .axis_count = 2,
                                .axes = {"cluster.nics.bandwidth", "batch.micro"},
                                .value_texts = {"50 Gbps", "1"},
                                .values = {6.25e9, 1},
                                .status = POINT_OK,
                                .message = "",
                                .result = &world->sample.result};
}

static bool put_study(struct store *store, const char *key, const char *title, const char *kind,
                      const struct world *world)
{
    const struct store_study study = {key, title, kind, SAMPLE_BUILD, 4};
    return store_study(store, &study, world->diag);
}

/* ---- storing runs ------------------------------------------------------------ */

static void equal_results_under_one_key_are_stored_once(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    world_must(world, store_run(store, &world->sample.result, world->diag));
    store_close(store);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM run"), 1);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM breakdown"), CAUSE_COUNT_);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM assumption"), 2);
    /* All GPU-nanoseconds: 8 GPUs of 6912345678 ns. */
    assert_int_equal(world_sql(world, "SELECT sum(gpu_ns) FROM breakdown"), 8 * SAMPLE_STEP_NS);
}

static void what_the_engine_took_and_the_title_may_differ(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    world->sample.result.step.engine.host_s = 99;
    world->sample.result.step.engine.ranks_simulated = 8; /* --fold off */
    world->sample.scenario.title = "the same under another name";
    world_must(world, store_run(store, &world->sample.result, world->diag));
    store_close(store);
}

static void different_values_under_one_key_are_an_error_that_names_the_columns(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    world->sample.result.step.mfu = 0.5;
    world->sample.result.run.days = 1;
    assert_false(store_run(store, &world->sample.result, world->diag));
    world_assert_error(world, "run " SAMPLE_KEY " is stored already, with other values of "
                              "mfu, wall_clock_days");
    store_close(store);
    assert_int_equal(world_sql(world, "SELECT mfu = 0.413 FROM run"), 1);
}

static void a_breakdown_that_differs_is_an_error(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    world->sample.result.step.gpu_ns[CAUSE_BUBBLE]--;
    assert_false(store_run(store, &world->sample.result, world->diag));
    world_assert_error(world,
                       "breakdown " SAMPLE_KEY ", bubble is stored already, with other values of "
                       "gpu_ns");
    store_close(store);
}

/* Whoever writes a value that a file assumes has the same run: what was told first stays. */
static void what_was_assumed_is_no_result(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    world->sample.scenario.assumptions.count = 1;
    world_must(world, store_run(store, &world->sample.result, world->diag));
    world->sample.assumptions[2] = (struct assumption){.name = "new", .value = "1", .reason = ""};
    world->sample.scenario.assumptions.count = 3;
    world_must(world, store_run(store, &world->sample.result, world->diag));
    store_close(store);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM assumption"), 2);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM assumption WHERE name = 'new'"), 0);
}

/* The columns of table run that are NULL. */
static int64_t nulls_of_run(struct world *world, const char *const *columns, uint32_t count)
{
    int64_t nulls = 0;
    for (uint32_t i = 0; i < count; i++) {
        nulls += world_sql(world, arena_printf(world->arena,
                                               "SELECT count(*) FROM run WHERE %s "
                                               "IS NULL",
                                               columns[i]));
    }
    return nulls;
}

static const char *const step_columns[] = {"step_ns",
                                           "step_s",
                                           "tokens_per_s_per_gpu",
                                           "tflops_per_gpu",
                                           "mfu",
                                           "mfu_full_attention",
                                           "hfu",
                                           "data_stall_s",
                                           "bound_by",
                                           "busiest_link",
                                           "busiest_link_utilisation"};
static const char *const months_columns[] = {
    "wall_clock_days",       "gpu_hours", "goodput", "cost_usd", "energy_kwh", "checkpoints",
    "usd_per_million_tokens"};
static const char *const asked_columns[] = {"run_steps", "run_tokens"};

static void what_nobody_asked_for_is_null_not_zero(void **state)
{
    struct world *world = *state;
    world->sample.result.run = (struct run_result){.is_asked = false};
    struct store *store = world_open(world);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    world_must(world, store_run(store, &world->sample.result, world->diag)); /* idempotent */
    uint32_t count = 0;
    const struct store_row *rows = store_runs(store, world->arena, &count);
    assert_int_equal(count, 1);
    assert_true(is_absent(rows[0].wall_clock_days));
    assert_true(is_absent(rows[0].cost_usd));
    assert_true(is_absent(rows[0].goodput));
    assert_close(rows[0].mfu, 0.413, 1e-15);
    store_close(store);
    assert_int_equal(nulls_of_run(world, months_columns, 7), 7);
    assert_int_equal(nulls_of_run(world, asked_columns, 2), 2);
    assert_int_equal(nulls_of_run(world, step_columns, 11), 0);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM breakdown"), CAUSE_COUNT_);
}

static void a_plan_that_does_not_fit_has_memory_and_no_step(void **state)
{
    struct world *world = *state;
    world->sample.result.step.memory.fits = false;
    struct store *store = world_open(world);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    world_must(world, store_run(store, &world->sample.result, world->diag));
    uint32_t count = 0;
    const struct store_row *rows = store_runs(store, world->arena, &count);
    assert_int_equal(count, 1);
    assert_true(is_absent(rows[0].step_s));
    assert_true(is_absent(rows[0].mfu));
    assert_true(is_absent(rows[0].wall_clock_days));
    assert_close(rows[0].memory_peak_bytes, 73.5e9, 1e-15);
    assert_string_equal(rows[0].bound_by, "");
    store_close(store);
    assert_int_equal(nulls_of_run(world, step_columns, 11), 11);
    assert_int_equal(nulls_of_run(world, months_columns, 7), 7);
    assert_int_equal(nulls_of_run(world, asked_columns, 2), 0); /* known without a step */
    assert_int_equal(world_sql(world, "SELECT count(*) FROM breakdown"), 0);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM assumption"), 2);
}

static void a_value_that_is_null_here_and_a_number_there_differs(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    world->sample.result.run.is_asked = false;
    assert_false(store_run(store, &world->sample.result, world->diag));
    world_assert_error(world, "wall_clock_days, gpu_hours, goodput, cost_usd, ");
    store_close(store);
}

/* ---- studies and points ---------------------------------------------------------- */

static void a_point_reads_back_as_it_was_stored(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    const struct store_point point = point_of(world, 3);
    world_must(world, put_study(store, "feedfacefeedface", "fabric", "sweep", world));
    world_must(world, store_point(store, "feedfacefeedface", &point, world->diag));
    uint32_t count = 0;
    const struct store_row *row = store_points(store, world->arena, "feedfacefeedface", &count);
    assert_int_equal(count, 1);
    assert_int_equal(row->number, 3);
    assert_string_equal(row->label, "50 Gbps, micro 1");
    assert_int_equal(row->axis_count, 2);
    assert_string_equal(row->axes[1], "batch.micro");
    assert_string_equal(row->value_texts[0], "50 Gbps");
    assert_close(row->values[0], 6.25e9, 0);
    assert_int_equal(row->status, POINT_OK);
    assert_true(row->has_run);
    assert_true(row->memory_fits);
    assert_string_equal(row->key, SAMPLE_KEY);
    assert_string_equal(row->cluster, "h100-3200");
    assert_string_equal(row->gpu, "h100-sxm5-80gb");
    assert_string_equal(row->bound_by, "compute (50 % of the step)");
    assert_int_equal(row->gpus, 8);
    assert_close(row->step_s, 6.912345678, 1e-15);
    assert_close(row->mfu, 0.413, 0);
    assert_close(row->wall_clock_days, 54.25, 0);
    assert_close(row->cost_usd, 20832, 0);
    assert_close(row->energy_kwh, 5832.5, 0);
    assert_close(row->memory_limit_bytes, 80e9, 0);
    /* A quarter of the step: 1.7280864195 s of each GPU. */
    assert_close(row->breakdown_s[CAUSE_BUBBLE], 1.7280864195, 1e-15);
    store_close(store);
}

#define NOT_COMPARED(...)
#define COMPARE(kind, when, group, key, column, ...) COMPARE_##kind(a->column, b->column);
#define COMPARE_TEXT(x, y) assert_string_equal(x, y)
#define COMPARE_INTEGER(x, y) assert_true((is_absent(x) && is_absent(y)) || (x >= y && x <= y))
#define COMPARE_POSITIVE(x, y) COMPARE_INTEGER(x, y)
#define COMPARE_REAL(x, y) COMPARE_INTEGER(x, y)
#define COMPARE_DURATION(x, y) COMPARE_INTEGER(x, y)
#define COMPARE_BOOL(x, y) assert_int_equal(x, y)

static void assert_same_row(const struct store_row *a, const struct store_row *b)
{
    assert_string_equal(a->label, b->label);
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->has_run, b->has_run);
    RUN_FIGURES(NOT_COMPARED, NOT_COMPARED, NOT_COMPARED, COMPARE, COMPARE)
}

/* With figures that are there, and those that a plan has that does not fit. */
static void a_row_that_is_not_stored_is_what_would_be_read_back(void **state)
{
    struct world *world = *state;
    for (int fits = 1; fits >= 0; fits--) {
        world->sample.result.step.memory.fits = fits == 1;
        const char *key = fits == 1 ? "0123456789abcdef" : "0123456789abcde0";
        memcpy(world->sample.result.key, key, 17);
        struct store *store = world_open(world);
        const struct store_point point = point_of(world, fits);
        world_must(world, store_point(store, fits == 1 ? "yes" : "no", &point, world->diag));
        uint32_t count = 0;
        const struct store_row *read =
            store_points(store, world->arena, fits == 1 ? "yes" : "no", &count);
        assert_int_equal(count, 1);
        struct store_row row;
        store_row_of(&world->sample.result, point.label, &row);
        assert_same_row(&row, read);
        assert_int_equal(row.axis_count, 0);
        assert_true(is_absent(row.breakdown_s[CAUSE_BUBBLE]));
        store_close(store);
    }
}

/* What another process packed is what it would have stored: the same key with the same values, or
 * storing it again would be an error. */
static void a_packed_point_is_stored_as_the_point_is(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    const struct store_point point = point_of(world, 3);
    const struct store_packed packed = store_pack(world->arena, "s", &point);
    world_must(world, store_packed(store, &packed, 1, world->diag));
    world_must(world, store_point(store, "s", &point, world->diag));
    world_must(world, store_packed(store, &packed, 1, world->diag));
    struct store_point other = point;
    other.number = 4;
    other.status = POINT_INFEASIBLE;
    other.result = NULL;
    other.message = "tp 3 does not divide 8 heads";
    const struct store_packed infeasible = store_pack(world->arena, "s", &other);
    world_must(world, store_packed(store, &infeasible, 1, world->diag));
    world_must(world, store_point(store, "s", &other, world->diag));
    store_close(store);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM run"), 1);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM breakdown"), CAUSE_COUNT_);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM point"), 2);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM point_axis"), 4);
}

/* The third of four says of the first's run another step time: none of the four is stored. The
 * others by themselves are. */
static void packed_points_are_stored_all_or_none(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    struct store_packed packed[4];
    struct result other = *point_of(world, 0).result;
    other.step.step_ns += 1;
    for (uint32_t i = 0; i < 4; i++) {
        struct store_point point = point_of(world, i);
        point.result = i == 2 ? &other : point.result;
        packed[i] = store_pack(world->arena, "s", &point);
    }
    assert_false(store_packed(store, packed, 4, world->diag));
    assert_non_null(strstr(diag_first_error(world->diag), "step_ns"));
    packed[2] = packed[3];
    world->diag = diag_new(world->arena);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM point"), 0);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM run"), 0);
    world_must(world, store_packed(store, packed, 3, world->diag));
    store_close(store);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM point"), 3);
}

static void points_come_in_order_of_number(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    const int64_t numbers[] = {2, 0, 1};
    for (uint32_t i = 0; i < 3; i++) {
        const struct store_point point = point_of(world, numbers[i]);
        world_must(world, store_point(store, "s", &point, world->diag));
    }
    uint32_t count = 0;
    const struct store_row *rows = store_points(store, world->arena, "s", &count);
    assert_int_equal(count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(rows[i].number, i);
        assert_int_equal(rows[i].axis_count, 2);
    }
    store_close(store);
}

static void an_infeasible_point_needs_no_run(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    struct store_point point = point_of(world, 0);
    point.status = POINT_INFEASIBLE;
    point.result = NULL;
    point.message = "tp 6 does not divide 64 heads";
    world_must(world, store_point(store, "s", &point, world->diag));
    uint32_t count = 0;
    const struct store_row *row = store_points(store, world->arena, "s", &count);
    assert_int_equal(row->status, POINT_INFEASIBLE);
    assert_false(row->has_run);
    assert_string_equal(row->message, "tp 6 does not divide 64 heads");
    enum point_status status = POINT_FAILED;
    assert_true(store_has_point(store, "s", 0, &status));
    assert_int_equal(status, POINT_INFEASIBLE);
    assert_false(store_has_point(store, "s", 1, &status));
    assert_false(store_has_point(store, "other", 0, &status));
    store_close(store);
}

static void a_failed_point_is_tried_again_and_replaced(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    struct store_point point = point_of(world, 0);
    point.status = POINT_FAILED;
    point.result = NULL;
    point.message = "killed";
    world_must(world, store_point(store, "s", &point, world->diag));
    enum point_status status = POINT_OK;
    assert_false(store_has_point(store, "s", 0, &status));
    const struct store_point good = point_of(world, 0);
    world_must(world, store_point(store, "s", &good, world->diag));
    assert_true(store_has_point(store, "s", 0, &status));
    assert_int_equal(status, POINT_OK);
    store_close(store);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM point"), 1);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM point_axis"), 2);
}

static void a_point_with_another_outcome_is_an_error_and_leaves_no_run_behind(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    struct store_point point = point_of(world, 0);
    point.status = POINT_INFEASIBLE;
    point.result = NULL;
    point.message = "does not fit";
    world_must(world, store_point(store, "s", &point, world->diag));
    const struct store_point other = point_of(world, 0);
    assert_false(store_point(store, "s", &other, world->diag));
    world_assert_error(world, "point s, 0 is stored already, with other values of run_key, status, "
                              "message");
    store_close(store);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM run"), 0); /* one transaction */
}

/* The study of put_study has 4 points, numbers 0 to 3: no stoker stores a fifth. Whoever reads its
 * points would look for number 4 behind the end of the study's own. */
static void a_point_beyond_its_study_is_refused(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    const struct store_point last = point_of(world, 3);
    world_must(world, put_study(store, "s", "fabric", "sweep", world));
    world_must(world, store_point(store, "s", &last, world->diag));
    uint32_t count = 0;
    assert_non_null(store_points(store, world->arena, "s", &count));
    store_close(store);
    (void)world_sql(world, "UPDATE point SET number = 4");
    store = world_open(world);
    assert_null(store_points(store, world->arena, "s", &count));
    assert_int_equal(count, 0);
    assert_non_null(strstr(diag_first_error(world->diag),
                           "table point, row 's, 4': number is beyond the 4 points of its study"));
    assert_int_equal(diag_exit_status(world->diag), 3);
    struct store *into = store_open_in_memory(world->arena, world->diag);
    struct store *from = store;
    struct diag *diag = diag_new(world->arena);
    assert_false(store_merge(into, &from, 1, diag));
    assert_int_equal(diag_exit_status(diag), 3);
    store_close(into);
    store_close(store);
}

static void long_texts_are_cut_between_characters(void **state)
{
    /* A label of 159 bytes and a NUL fits; 158 'a' and a two-byte 'é' do not:
     * the 'é' goes as a whole. */
    struct world *world = *state;
    struct store *store = world_open(world);
    char label[170];
    memset(label, 'a', 158);
    snprintf(label + 158, sizeof label - 158, "éz");
    struct store_point point = point_of(world, 0);
    point.label = label;
    world_must(world, store_point(store, "s", &point, world->diag));
    uint32_t count = 0;
    const struct store_row *row = store_points(store, world->arena, "s", &count);
    assert_int_equal(strlen(row->label), 158);
    store_close(store);
}

static void studies_are_listed_with_their_points(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    world_must(world, put_study(store, "one", "first", "sweep", world));
    world_must(world, put_study(store, "two", "second", "compare", world));
    world_must(world, put_study(store, "one", "first", "sweep", world));
    const struct store_point point = point_of(world, 0);
    world_must(world, store_point(store, "two", &point, world->diag));
    uint32_t count = 0;
    const struct store_study_row *rows = store_studies(store, world->arena, &count);
    assert_int_equal(count, 2);
    assert_string_equal(rows[0].title, "first");
    assert_int_equal(rows[0].points, 0);
    assert_string_equal(rows[1].kind, "compare");
    assert_int_equal(rows[1].points, 1);
    store_close(store);
}

static void an_unknown_study_has_no_points_and_is_no_error(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    uint32_t count = 7;
    assert_null(store_points(store, world->arena, "nobody", &count));
    assert_int_equal(count, 0);
    assert_false(diag_has_error(world->diag));
    store_close(store);
}

static void a_scenario_is_found_by_a_unique_beginning_of_its_key(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    const char *text = "{model: {model: llama3-70b}, gpus: 8}";
    assert_string_equal(store_scenario_text(store, world->arena, SAMPLE_KEY), text);
    assert_string_equal(store_scenario_text(store, world->arena, "0123"), text);
    assert_null(store_scenario_text(store, world->arena, "012")); /* under 4 letters */
    assert_null(store_scenario_text(store, world->arena, "0124"));
    assert_null(store_scenario_text(store, world->arena, "____")); /* no wildcard */
    snprintf(world->sample.result.key, 17, "0123ffffffffffff");
    world_must(world, store_run(store, &world->sample.result, world->diag));
    assert_null(store_scenario_text(store, world->arena, "0123")); /* now there are two */
    store_close(store);
}

/* ---- merging --------------------------------------------------------------------- */

static void merging_adds_what_is_missing_and_may_be_repeated(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    const struct store_point first = point_of(world, 0);
    world_must(world, put_study(store, "s", "t", "sweep", world));
    world_must(world, store_point(store, "s", &first, world->diag));
    const char *shard_path = arena_printf(world->arena, "%s/shard.db", world->directory);
    struct store *shard = store_open(world->arena, shard_path, world->diag);
    assert_non_null(shard);
    const struct store_point second = point_of(world, 1);
    world_must(world, put_study(shard, "s", "t", "sweep", world));
    world_must(world, store_point(shard, "s", &second, world->diag));
    world_must(world, store_merge(store, &shard, 1, world->diag));
    world_must(world, store_merge(store, &shard, 1, world->diag));
    store_close(shard);
    store_close(store);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM point"), 2);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM point_axis"), 4);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM run"), 1);
}

static void merging_prefers_a_point_that_went_well(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    struct store_point failed = point_of(world, 0);
    failed.status = POINT_FAILED;
    failed.result = NULL;
    failed.message = "killed";
    world_must(world, store_point(store, "s", &failed, world->diag));
    const char *shard_path = arena_printf(world->arena, "%s/shard.db", world->directory);
    struct store *shard = store_open(world->arena, shard_path, world->diag);
    const struct store_point good = point_of(world, 0);
    world_must(world, store_point(shard, "s", &good, world->diag));
    world_must(world, store_merge(store, &shard, 1, world->diag));
    enum point_status status = POINT_FAILED;
    assert_true(store_has_point(store, "s", 0, &status));
    assert_int_equal(status, POINT_OK);
    /* The other way round, the good one stays. */
    struct store_point again = failed;
    again.number = 1;
    const struct store_point other = point_of(world, 1);
    world_must(world, store_point(shard, "s", &again, world->diag));
    world_must(world, store_point(store, "s", &other, world->diag));
    world_must(world, store_merge(store, &shard, 1, world->diag));
    assert_true(store_has_point(store, "s", 1, &status));
    store_close(shard);
    store_close(store);
}

static void merging_results_that_differ_changes_nothing(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    const char *shard_path = arena_printf(world->arena, "%s/shard.db", world->directory);
    struct store *shard = store_open(world->arena, shard_path, world->diag);
    world->sample.result.step.hfu = 0.9;
    world_must(world, put_study(shard, "s", "t", "sweep", world));
    world_must(world, store_run(shard, &world->sample.result, world->diag));
    assert_false(store_merge(store, &shard, 1, world->diag));
    world_assert_error(world, "with other values of hfu");
    store_close(shard);
    store_close(store);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM study"), 0);
}

/* ---- files that are not as they should be -------------------------------------------- */

static void missing_directories_are_made(void **state)
{
    struct world *world = *state;
    world->path = arena_printf(world->arena, "%s/a/b//c/stoker.db", world->directory);
    store_close(world_open(world));
    struct stat status;
    assert_int_equal(stat(world->path, &status), 0);
}

static void a_directory_that_is_a_file_is_reported(void **state)
{
    struct world *world = *state;
    const char *file = arena_printf(world->arena, "%s/file", world->directory);
    temporary_write(file, "x");
    world->path = arena_printf(world->arena, "%s/stoker.db", file);
    world_assert_refused(world, "cannot make the directory");
}

static void a_path_that_is_a_directory_is_reported(void **state)
{
    struct world *world = *state;
    world->path = world->directory;
    world_assert_refused(world, "cannot open it");
}

static void a_directory_without_write_permission_is_reported(void **state)
{
    struct world *world = *state;
    if (geteuid() == 0) {
        skip(); /* root may write everywhere */
    }
    assert_int_equal(chmod(world->directory, 0500), 0);
    assert_null(store_open(world->arena, world->path, world->diag));
    assert_int_equal(chmod(world->directory, 0700), 0);
    world_assert_error(world, "unable to open");
}

static void a_file_that_is_no_database_is_refused_and_kept(void **state)
{
    struct world *world = *state;
    temporary_write(world->path, "scenario: this is YAML, and longer than the header of SQLite, "
                                 "which has 100 bytes; so it cannot be mistaken\n");
    world_assert_refused(world, "file is not a database");
    assert_memory_equal(temporary_read(world->arena, world->path), "scenario:", 9);
}

static void a_database_of_another_program_is_refused(void **state)
{
    struct world *world = *state;
    world_sql(world, "CREATE TABLE bookmarks (url TEXT)");
    world_assert_refused(world, "is a SQLite database of another program");
    assert_int_equal(world_sql(world, "SELECT count(*) FROM sqlite_schema"), 1);
}

static void another_application_id_is_refused(void **state)
{
    struct world *world = *state;
    world_sql(world, "PRAGMA application_id = 252006673"); /* Monotone's */
    world_assert_refused(world, "is a SQLite database of another program");
}

static void a_missing_file_is_not_made_for_reading(void **state)
{
    struct world *world = *state;
    assert_null(store_open_existing(world->arena, world->path, world->diag));
    world_assert_error(world, "there is no results file");
    struct stat status;
    assert_int_equal(stat(world->path, &status), -1);
}

static void an_empty_file_becomes_a_results_file(void **state)
{
    /* mktemp makes one before stoker sees its name. */
    struct world *world = *state;
    temporary_write(world->path, "");
    store_close(world_open(world));
}

static void overwrite(const struct world *world, long from, long count)
{
    FILE *file = fopen(world->path, "r+b");
    assert_non_null(file);
    fseek(file, from, SEEK_SET);
    for (long i = 0; i < count; i++) {
        fputc(0xa5, file);
    }
    fclose(file);
}

static void a_damaged_file_is_reported_not_believed(void **state)
{
    /* Pages have 4096 bytes; everything behind the first, which holds the
     * header and the schema, is overwritten. */
    struct world *world = *state;
    struct store *store = world_open(world);
    const struct store_point point = point_of(world, 0);
    world_must(world, store_point(store, "s", &point, world->diag));
    store_close(store);
    struct stat status;
    assert_int_equal(stat(world->path, &status), 0);
    overwrite(world, 4096, (long)status.st_size - 4096);
    store = store_open(world->arena, world->path, world->diag);
    if (store != NULL) { /* SQLite need not look at those pages yet */
        uint32_t count = 0;
        assert_null(store_points(store, world->arena, "s", &count));
        store_close(store);
    }
    world_assert_error(world, "stoker.db");
}

static void a_file_that_was_cut_short_is_reported(void **state)
{
    struct world *world = *state;
    struct store *store = world_open(world);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    store_close(store);
    assert_int_equal(truncate(world->path, 4096 * 2 + 17), 0);
    store = store_open(world->arena, world->path, world->diag);
    if (store != NULL) {
        assert_false(store_run(store, &world->sample.result, world->diag));
        store_close(store);
    }
    world_assert_error(world, "malformed");
}

static void a_table_that_lost_a_column_is_reported(void **state)
{
    struct world *world = *state;
    store_close(world_open(world));
    world_sql(world, "ALTER TABLE run DROP COLUMN mfu");
    struct store *store = world_open(world);
    assert_false(store_run(store, &world->sample.result, world->diag));
    world_assert_error(world, "no column named mfu");
    store_close(store);
}

/* ---- disks and processes that end ---------------------------------------------------- */

static void a_full_disk_is_a_failure_and_the_store_goes_on(void **state)
{
    /* The file may not grow (ulimit -f): a write beyond it fails with EFBIG,
     * as it would with ENOSPC on a full disk. */
    struct world *world = *state;
    struct store *store = world_open(world);
    struct stat status;
    assert_int_equal(stat(world->path, &status), 0);
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    const struct rlimit tight = {.rlim_cur = (rlim_t)status.st_size, .rlim_max = before.rlim_max};
    void (*old_handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &tight);
    /* Enough rows that a page of some table must be added. */
    bool is_good = true;
    for (int64_t i = 0; is_good && i < 1000; i++) {
        const struct store_point point = point_of(world, i);
        is_good = store_point(store, "s", &point, world->diag);
    }
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, old_handler);
    assert_false(is_good);
    world_assert_error(world, "stoker.db: cannot");
    world->diag = diag_new(world->arena);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    store_close(store);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM run"), 1);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM pragma_integrity_check "
                                      "WHERE integrity_check <> 'ok'"),
                     0);
}

/* Stores points `first`, `first` + 2, ... and tells `out` after each. Never returns. */
static void store_points_for_ever(struct world *world, int64_t first, int64_t limit, int out)
{
    struct store *store = store_open(world->arena, world->path, world->diag);
    for (int64_t i = first; store != NULL && i < limit; i += 2) {
        const struct store_point point = point_of(world, i);
        if (!store_point(store, "s", &point, world->diag)) {
            diag_print(world->diag, stderr);
            _exit(1);
        }
        if (write(out, &i, sizeof i) != (ssize_t)sizeof i) {
            _exit(2);
        }
    }
    _exit(store == NULL ? 3 : 0);
}

static void what_was_reported_survives_a_kill(void **state)
{
    struct world *world = *state;
    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        store_points_for_ever(world, 0, INT64_MAX - 2, pipe_ends[1]);
    }
    int64_t last = -1;
    while (last < 20) {
        assert_int_equal(read(pipe_ends[0], &last, sizeof last), sizeof last);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    struct store *store = world_open(world);
    enum point_status status = POINT_FAILED;
    for (int64_t i = 0; i <= last; i += 2) {
        assert_true(store_has_point(store, "s", i, &status));
    }
    store_close(store);
}

static void two_processes_may_store_at_once(void **state)
{
    struct world *world = *state;
    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t children[2];
    for (int64_t i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            store_points_for_ever(world, i, 24, pipe_ends[1]);
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        int status = 1;
        waitpid(children[i], &status, 0);
        assert_int_equal(status, 0);
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM point"), 24);
    assert_int_equal(world_sql(world, "SELECT count(*) FROM run"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(equal_results_under_one_key_are_stored_once),
        TEST(what_the_engine_took_and_the_title_may_differ),
        TEST(different_values_under_one_key_are_an_error_that_names_the_columns),
        TEST(a_breakdown_that_differs_is_an_error),
        TEST(what_was_assumed_is_no_result),
        TEST(what_nobody_asked_for_is_null_not_zero),
        TEST(a_plan_that_does_not_fit_has_memory_and_no_step),
        TEST(a_value_that_is_null_here_and_a_number_there_differs),
        TEST(a_point_reads_back_as_it_was_stored),
        TEST(a_row_that_is_not_stored_is_what_would_be_read_back),
        TEST(a_packed_point_is_stored_as_the_point_is),
        TEST(packed_points_are_stored_all_or_none),
        TEST(points_come_in_order_of_number),
        TEST(an_infeasible_point_needs_no_run),
        TEST(a_failed_point_is_tried_again_and_replaced),
        TEST(a_point_with_another_outcome_is_an_error_and_leaves_no_run_behind),
        TEST(a_point_beyond_its_study_is_refused),
        TEST(long_texts_are_cut_between_characters),
        TEST(studies_are_listed_with_their_points),
        TEST(an_unknown_study_has_no_points_and_is_no_error),
        TEST(a_scenario_is_found_by_a_unique_beginning_of_its_key),
        TEST(merging_adds_what_is_missing_and_may_be_repeated),
        TEST(merging_prefers_a_point_that_went_well),
        TEST(merging_results_that_differ_changes_nothing),
        TEST(missing_directories_are_made),
        TEST(a_directory_that_is_a_file_is_reported),
        TEST(a_path_that_is_a_directory_is_reported),
        TEST(a_directory_without_write_permission_is_reported),
        TEST(a_file_that_is_no_database_is_refused_and_kept),
        TEST(a_database_of_another_program_is_refused),
        TEST(another_application_id_is_refused),
        TEST(a_missing_file_is_not_made_for_reading),
        TEST(an_empty_file_becomes_a_results_file),
        TEST(a_damaged_file_is_reported_not_believed),
        TEST(a_file_that_was_cut_short_is_reported),
        TEST(a_table_that_lost_a_column_is_reported),
        TEST(a_full_disk_is_a_failure_and_the_store_goes_on),
        TEST(what_was_reported_survives_a_kill),
        TEST(two_processes_may_store_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
