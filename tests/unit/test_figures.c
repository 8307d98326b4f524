/* One row of run/figures.h reaches everything that shows a figure. The tests expand the table once
 * more and follow each row, with its value of a made-up result, through the document of a run, the
 * results file, the points read back from it, their document, the metrics and the screen. */
#include "run/figures.h"
#include "run/goodput.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/json.h"
#include "report/points.h"
#include "report/screen.h"
#include "report/sheet.h"
#include "store/store.h"
#include "support/store_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/assert_close.h"

/* A METRIC, with what its row says of it. */
struct expected {
    const char *key, *column, *name;
    double value;
    struct figure_metric metric;
};

#define EXPECT_METRIC(kind, when, group, key, column, name, measure, value, ...) \
    {#key, #column, #name, (double)(value), {__VA_ARGS__}},
#define SKIP(...)

enum { METRICS_MAX = 64 };

static uint32_t expect_metrics(const struct result *result, struct expected *list)
{
    FIGURE_TERMS;
    const struct expected metrics[] = {RUN_FIGURES(SKIP, SKIP, SKIP, SKIP, EXPECT_METRIC)};
    const uint32_t count = sizeof metrics / sizeof *metrics;
    assert_true(count <= METRICS_MAX);
    memcpy(list, metrics, sizeof metrics);
    return count;
}

static const char *read_whole(struct arena *arena, FILE *file)
{
    enum { BYTES = 65536 };
    char *text = arena_alloc(arena, BYTES);
    rewind(file);
    text[fread(text, 1, BYTES - 1, file)] = '\0';
    fclose(file);
    return text;
}

static const char *screen_of(struct world *world, bool is_json)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    sheet_print(screen_sheet(&world->sample.result, world->arena), is_json, file);
    return read_whole(world->arena, file);
}

/* What the store gives back of the sample. */
static const struct store_row *row_of(struct world *world)
{
    struct store *store = world_open(world);
    world_must(world, store_run(store, &world->sample.result, world->diag));
    uint32_t count = 0;
    const struct store_row *rows = store_runs(store, world->arena, &count);
    store_close(store);
    assert_int_equal(count, 1);
    return rows;
}

static const char *point_of(struct world *world, const struct store_row *row)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    struct sheet *sheet = sheet_new(world->arena, NULL);
    points_add(sheet_array(sheet, "points"), row);
    sheet_print(sheet, true, file);
    return read_whole(world->arena, file);
}

/* "\"days\": 54.25", from a document's member of that key that is no object. */
static const char *member_of(struct arena *arena, const char *document, const char *key)
{
    const char *name = arena_printf(arena, "\"%s\": ", key);
    const char *at = strstr(document, name);
    while (at != NULL && at[strlen(name)] == '{') {
        at = strstr(at + 1, name);
    }
    return at == NULL ? "missing" : arena_printf(arena, "%.*s", (int)strcspn(at, ",\n"), at);
}

static const char *number_as_json(struct arena *arena, const char *key, double value)
{
    FILE *file = tmpfile();
    struct json json;
    json_begin(&json, file);
    json_object_open(&json, NULL);
    json_number(&json, key, value);
    json_object_close(&json);
    json_end(&json);
    return member_of(arena, read_whole(arena, file), key);
}

static void a_row_of_a_metric_reaches_document_store_points_metrics_and_screen(void **state)
{
    struct world *world = *state;
    struct expected list[METRICS_MAX];
    const uint32_t count = expect_metrics(&world->sample.result, list);
    assert_int_equal(count + CAUSE_COUNT_, store_metric_count);
    const char *document = screen_of(world, true);
    const char *screen = screen_of(world, false);
    const struct store_row *row = row_of(world);
    const char *point = point_of(world, row);
    uint32_t lines = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct expected *expected = &list[i];
        const char *member = number_as_json(world->arena, expected->key, expected->value);
        assert_string_equal(member_of(world->arena, document, expected->key), member);
        assert_string_equal(member_of(world->arena, point, expected->key), member);
        assert_int_equal(
            world_sql(world, arena_printf(world->arena, "SELECT count(*) FROM run WHERE %s = %.17g",
                                          expected->column, expected->value)),
            1);
        const struct figure_metric *metric = store_metric_find(expected->name);
        assert_non_null(metric);
        assert_close(store_metric_value(metric, row), expected->value, 0);
        assert_close(plot_metric_value(metric, row), expected->value * metric->factor, 0);
        if (expected->metric.label != NULL) {
            lines++;
            assert_non_null(strstr(screen, expected->metric.label));
        }
    }
    assert_true(lines > 0);
}

static void what_a_metric_needs_to_be_shown_stands_in_its_row(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < store_metric_count; i++) {
        const struct figure_metric *metric = &store_metric_table[i];
        assert_ptr_equal(store_metric_find(metric->name), metric); /* no name is there twice */
        assert_non_null(metric->csv);
        assert_non_null(metric->title);
        assert_non_null(metric->head);
        assert_non_null(metric->format);
        assert_true(metric->factor > 0);
        assert_int_equal(metric->label != NULL, metric->unit != NULL);
    }
}

/* Each figure of points, whatever its kind, stands in the document of a point as in that of a run,
 * but for the names that the latter has no figure for. */
static void a_row_of_points_reaches_their_document(void **state)
{
#define KEY_OF(kind, when, group, key, ...) {#group, #key},
    static const char *const figures[][2] = {RUN_FIGURES(SKIP, SKIP, SKIP, KEY_OF, KEY_OF)};
    struct world *world = *state;
    const char *document = screen_of(world, true);
    const char *point = point_of(world, row_of(world));
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const char *member = member_of(world->arena, point, figures[i][1]);
        if (strcmp(figures[i][0], "POINTS") == 0) {
            assert_string_not_equal(member, "missing");
        } else {
            assert_string_equal(member, member_of(world->arena, document, figures[i][1]));
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_row_of_a_metric_reaches_document_store_points_metrics_and_screen),
        TEST(what_a_metric_needs_to_be_shown_stands_in_its_row),
        TEST(a_row_of_points_reaches_their_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
