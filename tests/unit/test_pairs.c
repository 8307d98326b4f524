/* lab/pairs: pairs of rows by the kind of their difference, and their score, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/absent.h"
#include "base/arena.h"
#include "lab/pairs.h"
#include "measured/published/published_columns.h"
#include "support/assert_close.h"
#include "support/temporary.h"

enum { ROWS = 12 };

static const char head[] =
    "id,source,model_name,framework,gpu,gpus,precision,tp,pp,dp,cp,micro_batch,seq_len,"
    "global_batch_sequences,notes,measured_step_s\n";

struct world {
    struct arena *arena;
    struct validated_row rows[ROWS];
    struct pairs pairs;
};

struct times {
    double measured_s, predicted_s;
};

static const struct catalogue catalogue = {.directories = {"."}, .count = 1};

/* Rows of that text, measured and predicted so. */
static void build(struct world *world, const char *lines, const struct times *times)
{
    *world = (struct world){.arena = arena_new()};
    const char *directory = temporary_new(world->arena);
    const char *path = arena_printf(world->arena, "%s/rows.csv", directory);
    temporary_write(path, arena_printf(world->arena, "%s%s", head, lines));
    const struct published_table *table =
        published_load_runs(world->arena, path, &catalogue, diag_new(world->arena));
    assert_non_null(table);
    temporary_remove(directory);
    assert_true(table->row_count <= ROWS);
    for (uint32_t i = 0; i < table->row_count; i++) {
        world->rows[i] = (struct validated_row){.table = table,
                                                .row = i,
                                                .id = published_text(table, i, "id"),
                                                .source = published_text(table, i, "source"),
                                                .measured_s = times[i].measured_s,
                                                .predicted_s = times[i].predicted_s};
    }
    world->pairs = pairs_of(world->arena, world->rows, table->row_count);
}

static uint32_t axis_of(const char *name)
{
    uint32_t axis = 0;
    while (axis < axis_count && strcmp(axis_get(axis).name, name) != 0) {
        axis++;
    }
    assert_true(axis < axis_count);
    return axis;
}

static struct axis_score score(struct world *world, const char *axis)
{
    return pairs_score(world->arena, &world->pairs, axis_of(axis));
}

/* Every column of the table of axes is one that a table of runs may have, and no axis defines what
 * also follows from it. */
static void the_table_of_axes_names_columns_of_runs(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < axis_column_count; i++) {
        uint32_t known = 0;
        while (known < published_known_count &&
               strcmp(published_known[known].name, axis_columns[i]) != 0) {
            known++;
        }
        assert_true(known < published_known_count);
        assert_int_equal(axis_column_find(axis_columns[i]), i);
    }
    assert_int_equal(axis_column_find("notes"), AXIS_COLUMNS_MAX);
    for (uint32_t axis = 0; axis < axis_count; axis++) {
        assert_true(axis_get(axis).defining != 0);
        assert_int_equal(axis_get(axis).defining & axis_get(axis).follows, 0);
    }
}

/* 8, 16 and 32 GPUs with a batch in step: three pairs of weak scaling, three votes. Tokens/s/GPU
 * are as the steps' inverse: measured 1/4, 1/5 and 1/8. 8 to 16: x = ln(4/5); predicted 4, 4,
 * 6, so e = ln(5/4) (no difference foretold: no right sign), 16 to 32: x = ln(5/8), predicted
 * ln(4/6), e = ln(16/15); 8 to 32: x = ln(1/2), predicted ln(4/6), e = ln(4/3). Another data
 * parallel width follows; another note does not count. */
static void weak_scaling_by_hand(void **state)
{
    (void)state;
    static const struct times times[] = {{4, 4}, {5, 4}, {8, 6}};
    struct world world;
    build(&world,
          "a,ours,m,f,g,8,bf16,1,1,8,,1,2048,8,,4\n"
          "b,ours,m,f,g,16,bf16,1,1,16,1,1,2048,16,another day,5\n"
          "c,ours,m,f,g,32,bf16,1,1,,1,1,2048,32,,8\n",
          times);
    const struct axis_score found = score(&world, "scale, weak");
    assert_int_equal(world.pairs.count, 3);
    assert_string_equal(world.pairs.items[0].values, "gpus 8>16");
    assert_close(world.pairs.items[0].measured, log(0.8), 1e-12);
    assert_close(world.pairs.items[0].error, log(1.25), 1e-12);
    assert_int_equal(found.votes, 3);
    assert_int_equal(found.clear, 3);
    assert_close(found.right_sign, 2.0 / 3, 1e-12);
    assert_close(found.right_sign_by_vote, 2.0 / 3, 1e-12);
    assert_close(found.flip, 0, 1e-12); /* foretold nothing is no wrong sign */
    assert_close(found.mean, log(5.0 / 4 * 16 / 15 * 4 / 3) / 3, 1e-12);
    assert_close(found.median, log(1.25), 1e-12);
    assert_close(found.base, log(5.0 / 4 * 8 / 5 * 2) / 3, 1e-12);
    assert_close(found.skill, 1 - log(16.0 / 9) / log(4.0), 1e-12);
    const double slope = (log(5.0 / 8) * log(2.0 / 3) + log(0.5) * log(2.0 / 3)) /
                         (pow(log(0.8), 2) + pow(log(5.0 / 8), 2) + pow(log(0.5), 2));
    assert_close(found.slope, slope, 1e-12);
    arena_free(world.arena);
}

/* Three repeats against one of another micro-batch are one vote: x = ln 2 each, of which one is
 * foretold wrongly. */
static void repeats_are_one_vote(void **state)
{
    (void)state;
    static const struct times times[] = {{2, 2}, {1, 1}, {1, 1}, {1, 4}, {3, 3}};
    struct world world;
    build(&world,
          "a,ours,m,f,g,8,bf16,1,1,8,1,1,2048,8,,2\n"
          "b,ours,m,f,g,8,bf16,1,1,8,1,2,2048,8,,1\n"
          "c,ours,m,f,g,8,bf16,1,1,8,1,2,2048,8,,1\n"
          "d,ours,m,f,g,8,bf16,1,1,8,1,2,2048,8,,1\n"
          "e,theirs,m,f,g,8,bf16,1,1,8,1,4,2048,8,,3\n", /* another source is no pair */
          times);
    const struct axis_score found = score(&world, "micro-batch");
    assert_int_equal(found.pairs, 3);
    assert_int_equal(found.votes, 1);
    assert_close(found.right_sign, 2.0 / 3, 1e-12);
    assert_close(found.right_sign_by_vote, 2.0 / 3, 1e-12);
    assert_close(found.flip, 1.0 / 3, 1e-12);
    assert_close(found.mean, log(4.0) / 3, 1e-12); /* e = 0, 0, ln(1/4) */
    arena_free(world.arena);
}

/* Micro-batch 1 to 2 of two models and back in a third, measured x = ln 2, ln 3 and -ln 8, foretold
 * ln 2, ln 2 and -ln 4: one choice, medians ln 3 and ln 2. 2 to 4 by another source is one more,
 * ln 5 for ln 5. */
static void a_choice_is_the_median_of_its_pairs(void **state)
{
    (void)state;
    static const struct times times[] = {{2, 2}, {1, 1}, {3, 2}, {1, 1},
                                         {1, 1}, {8, 4}, {5, 5}, {1, 1}};
    struct world world;
    build(&world,
          "a,ours,m,f,g,8,bf16,1,1,8,1,1,2048,8,,2\n"
          "b,ours,m,f,g,8,bf16,1,1,8,1,2,2048,8,,1\n"
          "c,ours,n,f,g,8,bf16,1,1,8,1,1,2048,8,,3\n"
          "d,ours,n,f,g,8,bf16,1,1,8,1,2,2048,8,,1\n"
          "e,ours,o,f,g,8,bf16,1,1,8,1,2,2048,8,,1\n"
          "h,ours,o,f,g,8,bf16,1,1,8,1,1,2048,8,,8\n"
          "i,theirs,m,f,g,8,bf16,1,1,8,1,2,2048,8,,5\n"
          "k,theirs,m,f,g,8,bf16,1,1,8,1,4,2048,8,,1\n",
          times);
    const struct axis_score found = score(&world, "micro-batch");
    assert_int_equal(found.pairs, 4);
    const double three = log(3.0), five = log(5.0);
    assert_close(found.slope_of_choices,
                 (three * log(2.0) + five * five) / (three * three + five * five), 1e-12);
    arena_free(world.arena);
}

/* A layout may differ with the GPU, but not beside the precision; clusters of 8 and 64 are too far
 * apart for GPUs, and a step within 2 % is a tie. Words are in the order of their letters. */
static void what_may_differ_beside_an_axis(void **state)
{
    (void)state;
    static const struct times times[] = {{1, 1}, {1.01, 2}, {1, 1}, {1, 1}, {1, 1}};
    struct world world;
    build(&world,
          "a,ours,m,f,new,8,bf16,1,1,8,1,1,2048,8,,1\n"
          "b,ours,m,f,gpu,16,bf16,2,1,8,1,1,2048,16,,1.01\n"
          "c,ours,m,f,gpu,64,bf16,2,1,32,1,1,2048,64,,1\n"
          "d,ours,m,f,new,8,fp8,2,1,4,1,1,2048,8,,1\n"
          "e,ours,m,f,gpu,40,bf16,2,1,20,1,1,2048,16,,1\n", /* of other batches a GPU */
          times);
    const struct axis_score gpus = score(&world, "gpu kind");
    assert_int_equal(gpus.pairs, 1); /* a and b */
    assert_int_equal(gpus.clear, 0);
    assert_true(is_absent(gpus.right_sign));
    assert_true(is_absent(gpus.right_sign_by_vote));
    assert_string_equal(world.pairs.items[0].first->id, "b"); /* "gpu" < "new" */
    assert_string_equal(world.pairs.items[0].values, "gpu gpu>new");
    assert_int_equal(score(&world, "precision").pairs, 0);
    assert_int_equal(score(&world, "scale, weak").pairs, 1); /* b and c */
    const struct axis_score none = score(&world, "network");
    assert_int_equal(none.pairs, 0);
    assert_true(is_absent(none.mean));
    assert_true(is_absent(none.slope));
    arena_free(world.arena);
}

/* Layout + micro-batch and release are left out of the mean; axes without pairs are, too. Here
 * micro-batch errs by ln 2 of ln 2 with no sign right, and precision not at all. */
static void the_mean_of_axes_leaves_out_those_apart(void **state)
{
    (void)state;
    static const struct times times[] = {{2, 1}, {1, 1}, {4, 2}};
    struct world world;
    build(&world,
          "a,ours,m,f,g,8,bf16,1,1,8,1,1,2048,8,,2\n"
          "b,ours,m,f,g,8,bf16,1,1,8,1,2,2048,8,,1\n"
          "c,ours,m,f,g,8,fp8,1,1,8,1,1,2048,8,,4\n",
          times);
    struct axis_score scores[32];
    for (uint32_t axis = 0; axis < axis_count; axis++) {
        scores[axis] = pairs_score(world.arena, &world.pairs, axis);
    }
    assert_int_equal(scores[axis_of("precision")].pairs, 2); /* micro-batches follow it */
    assert_int_equal(scores[axis_of("layout + micro-batch")].pairs, 0);
    scores[axis_of("release")].mean = 7;
    scores[axis_of("layout + micro-batch")].mean = 7;
    const struct axis_score mean = pairs_mean(scores, 0);
    const double precision = scores[axis_of("precision")].mean;
    assert_close(mean.mean, (log(2.0) + precision) / 2, 1e-12);
    assert_close(mean.right_sign_by_vote, 0.5, 1e-12);
    assert_int_equal(mean.pairs, 2);                      /* axes */
    const struct axis_score many = pairs_mean(scores, 2); /* each has one vote */
    assert_int_equal(scores[axis_of("precision")].votes, 1);
    assert_int_equal(many.pairs, 0);
    assert_true(is_absent(many.mean));
    arena_free(world.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_axes_names_columns_of_runs),
        cmocka_unit_test(weak_scaling_by_hand),
        cmocka_unit_test(repeats_are_one_vote),
        cmocka_unit_test(a_choice_is_the_median_of_its_pairs),
        cmocka_unit_test(what_may_differ_beside_an_axis),
        cmocka_unit_test(the_mean_of_axes_leaves_out_those_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
