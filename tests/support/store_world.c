#include "support/store_world.h"

#include "base/arena.h"
#include "store/store.h"
#include "support/temporary.h"

#include <sqlite3.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

int world_make(void **state)
{
    struct arena *arena = arena_new();
    struct world *world = arena_alloc(arena, sizeof *world);
    world->arena = arena;
    world->diag = diag_new(arena);
    world->directory = temporary_new(arena);
    world->path = arena_printf(arena, "%s/stoker.db", world->directory);
    sample_init(&world->sample);
    *state = world;
    return 0;
}

int world_end(void **state)
{
    struct world *world = *state;
    temporary_remove(world->directory);
    arena_free(world->arena);
    return 0;
}

struct store *world_open(struct world *world)
{
    struct store *store = store_open(world->arena, world->path, world->diag);
    world_must(world, store != NULL);
    return store;
}

void world_must(struct world *world, bool is_good)
{
    if (!is_good) {
        diag_print(world->diag, stderr);
    }
    assert_true(is_good);
}

void world_assert_error(const struct world *world, const char *part)
{
    const char *text = diag_first_error(world->diag);
    assert_non_null(text);
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, text);
    }
    assert_int_equal(diag_exit_status(world->diag), 1);
}

void world_assert_refused(struct world *world, const char *part)
{
    assert_null(store_open(world->arena, world->path, world->diag));
    world_assert_error(world, part);
}

int64_t world_sql(const struct world *world, const char *text)
{
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open(world->path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(database, text, -1, &statement, NULL), SQLITE_OK);
    int64_t number = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        number = sqlite3_column_int64(statement, 0);
    }
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    sqlite3_close(database);
    return number;
}
