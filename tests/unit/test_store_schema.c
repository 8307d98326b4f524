/* The tables of a results file: what may be NULL, and the number that tells files of other columns
 * apart. */
#include "base/arena.h"
#include "base/rng.h"
#include "run/figures.h"
#include "store/store.h"
#include "store/store_sql.h"
#include "support/store_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A figure that its row says is not always there is NULL without; all others hold a value. */
#define MAY_LACK(when) (strcmp(#when, "ALWAYS") != 0)
#define LACKS_STORE(kind, when, ...) +MAY_LACK(when)
#define LACKS(kind, when, group, ...) +MAY_LACK(when)
#define LACKS_NOT(...)

static void every_table_is_strict_and_only_what_may_not_exist_may_be_null(void **state)
{
    struct world *world = *state;
    store_close(world_open(world));
    assert_int_equal(world_sql(world,
                               "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' "
                               "AND name NOT LIKE 'sqlite_%' AND strict = 1"),
                     15); /* with the texts of all lists and the scenarios */
    static const char nullable[] = "SELECT count(*) FROM sqlite_schema AS t, "
                                   "pragma_table_info(t.name) AS c WHERE t.type = 'table' "
                                   "AND NOT c.\"notnull\"";
    const int64_t of_run = 0 RUN_FIGURES(LACKS_NOT, LACKS_STORE, LACKS, LACKS, LACKS);
    assert_true(of_run > 20);
    assert_int_equal(
        world_sql(world, arena_printf(world->arena, "%s AND t.name = 'run'", nullable)), of_run);
    /* assumption: reason. breakdown: path_ns. traffic: protocol, bottleneck. point: run_key,
     * message. point_axis: value. */
    assert_int_equal(world_sql(world, nullable), of_run + 7);
    assert_int_equal(world_sql(world, arena_printf(world->arena, "%s AND c.pk > 0", nullable)), 0);
    assert_int_equal(world_sql(world, "PRAGMA user_version"), STORE_SCHEMA);
    assert_int_equal(world_sql(world, "PRAGMA application_id"), 0x73746b72); /* "stkr" */
}

/* A file of other columns has another number, so that it is brought to ours and not refused for a
 * column that it lacks. A column that comes, goes or is called otherwise: give STORE_SCHEMA the
 * next number, and write it here with the hash that fails. */
static void other_columns_are_another_schema(void **state)
{
    (void)state;
    static const struct {
        int schema;
        uint64_t columns;
    } known = {14, 0x2bbd1782c7075936};
    uint64_t hash = 0;
    for (uint32_t i = 0; i < RELATION_COUNT_; i++) {
        const struct relation *relation = &store_relations[i];
        hash = rng_hash_bytes(relation->name, strlen(relation->name), hash);
        for (uint32_t k = 0; k < relation->column_count; k++) {
            const struct column *column = &relation->columns[k];
            const unsigned char is = (unsigned char)(2 * column->kind + column->is_nullable);
            hash = rng_hash_bytes(column->name, strlen(column->name), hash);
            hash = rng_hash_bytes(&is, sizeof is, hash);
        }
    }
    assert_int_equal(STORE_SCHEMA, known.schema);
    assert_int_equal(hash, known.columns);
}

static void a_newer_or_older_schema_is_refused(void **state)
{
    struct world *world = *state;
    store_close(world_open(world));
    const int others[] = {STORE_SCHEMA + 1, 2};
    for (uint32_t i = 0; i < 2; i++) {
        world->diag = diag_new(world->arena);
        world_sql(world, arena_printf(world->arena, "PRAGMA user_version = %d", others[i]));
        world_assert_refused(world, arena_printf(world->arena,
                                                 "stoker.db has schema %d, this stoker "
                                                 "writes %d",
                                                 others[i], STORE_SCHEMA));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_table_is_strict_and_only_what_may_not_exist_may_be_null),
        TEST(other_columns_are_another_schema),
        TEST(a_newer_or_older_schema_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
