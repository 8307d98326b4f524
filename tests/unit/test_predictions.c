/* lab/predictions: what a file says of which row, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "lab/predictions.h"
#include "measured/published/published_columns.h"
#include "support/assert_close.h"
#include "support/temporary.h"

static const char runs[] = "id,source,model_name,framework,gpu,gpus,precision,tp,pp,seq_len,"
                           "global_batch_sequences,measured_step_s\n"
                           "a,ours,m,f,g,8,bf16,1,1,2048,8,4\n"
                           "b,ours,m,f,g,8,bf16,1,1,2048,8,5\n"
                           "c,theirs,m,f,g,8,bf16,1,1,2048,8,6\n"
                           "d,,m,f,g,8,bf16,1,1,2048,8,7\n";
static const char columns[] =
    "id,source,config_key,measured_step_s,fitted_s,out_of_fold_s,source_left_out_s\n";

struct world {
    struct arena *arena;
    struct diag *diag;
    const struct published_table *table;
    const struct predictions *predictions;
};

static const struct catalogue catalogue = {.directories = {"."}, .count = 1};

static bool build(struct world *world, const char *lines, enum held_out held_out)
{
    *world = (struct world){.arena = arena_new()};
    struct arena *arena = world->arena;
    world->diag = diag_new(arena);
    const char *directory = temporary_new(arena);
    const char *table = arena_printf(arena, "%s/runs.csv", directory);
    const char *path = arena_printf(arena, "%s/predictions.csv", directory);
    temporary_write(table, runs);
    temporary_write(path, lines);
    world->table = published_load_runs(arena, table, &catalogue, world->diag);
    assert_non_null(world->table);
    world->predictions = predictions_load(arena, path, held_out, world->diag);
    const bool is_good =
        world->predictions != NULL &&
        predictions_check(arena, world->predictions, &world->table, 1, world->diag);
    temporary_remove(directory);
    return is_good;
}

/* Of row a, each column has its own time. b's source is there and b is not; c's is not there. A row
 * without a source is of "no source". */
static void each_row_has_the_prediction_that_was_held_out_as_asked(void **state)
{
    (void)state;
    static const double expected[HELD_OUT_COUNT_] = {
        [HELD_OUT_NOTHING] = 3, [HELD_OUT_FOLD] = 2, [HELD_OUT_SOURCE] = 1};
    for (uint32_t held_out = 0; held_out < HELD_OUT_COUNT_; held_out++) {
        struct world world;
        double found_s = 0;
        const char *lines = "a,ours,k,4.00001,3,2,1\nd,no source,k,7,9,9,9\n";
        struct arena *arena = arena_new();
        assert_true(
            build(&world, arena_printf(arena, "%s%s", columns, lines), (enum held_out)held_out));
        assert_int_equal(predictions_find(world.predictions, world.table, 0, &found_s),
                         PREDICTION_FOUND);
        assert_close(found_s, expected[held_out], 1e-12);
        assert_int_equal(predictions_find(world.predictions, world.table, 1, &found_s),
                         PREDICTION_MISSING);
        assert_int_equal(predictions_find(world.predictions, world.table, 2, &found_s),
                         PREDICTION_UNSEEN);
        assert_int_equal(predictions_find(world.predictions, world.table, 3, &found_s),
                         PREDICTION_FOUND);
        arena_free(world.arena);
        arena_free(arena);
    }
}

/* Each with the words that say what is wrong. */
static void files_that_are_wrong_or_of_other_rows_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"id,source\na,ours\n", "columns are missing: 'measured_step_s', 'source_left_out_s'"},
        {"%sa,ours,k,4,3,2,1\na,ours,k,4,3,2,1\n", "row 'a' is predicted twice"},
        {"%sa,ours,k,4,3,2,\n", "source_left_out_s '' is no time"},
        {"%sa,ours,k,4,3,2,-1\n", "source_left_out_s '-1' is no time"},
        {"%sa,ours,k,x,3,2,1\n", "measured_step_s 'x' is no time"},
        {"%sa,ours,k\n", "fields"},
        {"%sz,ours,k,4,3,2,1\n", "these are predictions of other rows: 'z' is none of the table's"},
        {"%sa,ours,k,4.1,3,2,1\n",
         "these are predictions of other rows: 'a' was measured otherwise"},
        {"%sa,theirs,k,4,3,2,1\n", "these are predictions of other rows: 'a' is of another source"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world world;
        struct arena *arena = arena_new();
        const bool has_columns = cases[i][0][0] == '%';
        const char *text =
            has_columns ? arena_printf(arena, "%s%s", columns, cases[i][0] + 2) : cases[i][0];
        assert_false(build(&world, text, HELD_OUT_SOURCE));
        const char *message = diag_first_error(world.diag);
        if (strstr(message, cases[i][1]) == NULL) {
            fail_msg("'%s' lacks '%s'", message, cases[i][1]);
        }
        arena_free(world.arena);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_has_the_prediction_that_was_held_out_as_asked),
        cmocka_unit_test(files_that_are_wrong_or_of_other_rows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
