/* measured/ratios: pairs of rows that differ in one column, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "measured/published/published_columns.h"
#include "measured/ratios.h"
#include "support/assert_close.h"
#include "support/temporary.h"

/* Three networks for one work, one of them twice; another batch; another source; one that does not
 * say its network. */
static const char text[] =
    "id,source,model_name,framework,gpu,gpus,precision,tp,pp,dp,seq_len,global_batch_sequences,"
    "inter_node_gbps_per_node,measured_step_s,notes\n"
    "slow,ours,m,f,g,8,bf16,1,1,8,2048,8,100,4,\n"
    "fast,ours,m,f,g,8,bf16,1,1,,2048,8,400,2,another day\n"
    "repeat,ours,m,f,g,8,bf16,1,1,8,2048,8,400,1,\n"
    "larger,ours,m,f,g,8,bf16,1,1,8,2048,16,100,8,\n"
    "theirs,theirs,m,f,g,8,bf16,1,1,8,2048,8,800,1,\n"
    "blank,ours,m,f,g,8,bf16,1,1,8,2048,8,,3,\n";

struct world {
    struct arena *arena;
    const struct published_table *table;
    struct validated_row rows[6];
};

static void build(struct world *world)
{
    static const double measured[] = {4, 2, 1, 8, 1, 3};
    static const double predicted[] = {6, 2, 2, 8, 1, 3};
    *world = (struct world){.arena = arena_new()};
    const char *directory = temporary_new(world->arena);
    const char *path = arena_printf(world->arena, "%s/rows.csv", directory);
    temporary_write(path, text);
    struct diag *diag = diag_new(world->arena);
    static const struct catalogue catalogue = {.directories = {"."}, .count = 1};
    world->table = published_load_runs(world->arena, path, &catalogue, diag);
    assert_non_null(world->table);
    temporary_remove(directory);
    for (uint32_t i = 0; i < 6; i++) {
        world->rows[i] = (struct validated_row){.table = world->table,
                                                .row = i,
                                                .id = published_text(world->table, i, "id"),
                                                .measured_s = measured[i],
                                                .predicted_s = predicted[i]};
    }
}

/* slow and fast: measured 2 / 4, predicted 2 / 6, off by 2/3 - 1 = -1/3; slow and repeat: measured
 * 1 / 4, predicted 2 / 6, off by 4/3 - 1 = 1/3. Notes and dp do not part them; the repeats have one
 * network; the batch, the source and a blank do part them. */
static void rows_that_differ_in_the_column_alone_are_pairs(void **state)
{
    (void)state;
    struct world world;
    build(&world);
    uint32_t count = 0;
    const struct ratio *ratios =
        ratios_of(world.arena, world.rows, 6, "inter_node_gbps_per_node", &count);
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_string_equal(ratios[i].first->id, "slow");
        assert_string_equal(ratios[i].second->id, i == 0 ? "fast" : "repeat");
        assert_close(ratios[i].from, 100, 1e-12);
        assert_close(ratios[i].to, 400, 1e-12);
        assert_close(ratios[i].predicted, 1.0 / 3, 1e-12);
        assert_close(ratios[i].measured, i == 0 ? 0.5 : 0.25, 1e-12);
        assert_close(ratios[i].error, i == 0 ? -1.0 / 3 : 1.0 / 3, 1e-12);
    }
    arena_free(world.arena);
}

/* By batch the pair is slow and larger: twice the batch, twice the time. */
static void the_smaller_number_comes_first_in_any_column(void **state)
{
    (void)state;
    struct world world;
    build(&world);
    const struct validated_row turned[] = {world.rows[3], world.rows[0]};
    uint32_t count = 0;
    const struct ratio *ratios =
        ratios_of(world.arena, turned, 2, "global_batch_sequences", &count);
    assert_int_equal(count, 1);
    assert_string_equal(ratios[0].first->id, "slow");
    assert_close(ratios[0].measured, 2, 1e-12);
    arena_free(world.arena);
}

/* With x = ln measured = (-1, -2) ln 2 and y = ln predicted = (-3, 1) ln 2: errors are |2^-2 - 1| =
 * 3/4 and |2^3 - 1| = 7, the sign is right once, the slope (3 - 2) / (1 + 4) = 0.2. */
static void the_score_is_that_of_logarithms(void **state)
{
    (void)state;
    const struct ratio ratios[] = {{.measured = 0.5, .predicted = 0.125, .error = -0.75},
                                   {.measured = 0.25, .predicted = 2, .error = 7}};
    const struct ratio_score score = ratios_score(ratios, 2);
    assert_int_equal(score.pairs, 2);
    assert_close(score.mean, 3.875, 1e-12);
    assert_close(score.right_sign, 0.5, 1e-12);
    assert_close(score.slope, 0.2, 1e-12);
    assert_true(isnan(ratios_score(ratios, 0).mean));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_differ_in_the_column_alone_are_pairs),
        cmocka_unit_test(the_smaller_number_comes_first_in_any_column),
        cmocka_unit_test(the_score_is_that_of_logarithms),
    };
    return cmocka_run_group_tests_name("ratios", tests, NULL, NULL);
}
