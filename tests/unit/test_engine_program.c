/* Rows of blocks: where a task lies, and for what it waits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "des/engine_program.h"
#include "support/blocks.h"

/* Two tasks on stream 0, which take 1 and 2; one on stream 1, which takes 3 and waits for the first
 * of them and, of stream 1, for the one before the block. */
static const struct task works[] = {{.work_ns = 1}, {.work_ns = 2}};
static const struct task meeting[] = {
    {.work_ns = 3, .wait_count = 2, .wait_stream = {0, 1}, .wait_ended = {1, 0}}};
static const struct engine_block both = {.tasks = {works, meeting}, .counts = {2, 1}};
/* One task on stream 0, which waits for all of stream 1 but the last one before the block. */
static const struct task late[] = {
    {.work_ns = 4, .wait_count = 1, .wait_stream = {1}, .wait_ended = {-1}}};
static const struct engine_block single = {.tasks = {late}, .counts = {1}};

/* both, single, both, both: on stream 0 tasks of 1 2, 4, 1 2, 1 2, on stream 1 of 3, 3, 3. */
static struct engine_program four(struct arena *arena)
{
    const struct engine_block *const row[] = {&both, &single, &both, &both};
    return engine_program_of(arena, row, 4);
}

static void a_row_has_its_blocks_tasks_in_their_order(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct engine_program program = four(arena);
    const int64_t expected[2][7] = {{1, 2, 4, 1, 2, 1, 2}, {3, 3, 3}};
    const uint32_t blocks[2][8] = {{0, 0, 1, 2, 2, 3, 3, 3}, {0, 2, 3, 3}};
    assert_int_equal(program.counts[0], 7);
    assert_int_equal(program.counts[1], 3);
    assert_int_equal(program.counts[2], 0);
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t i = 0; i < program.counts[s]; i++) {
            assert_int_equal(engine_program_block(&program, s, i), blocks[s][i]);
            assert_int_equal(engine_program_task(&program, s, i)->work_ns, expected[s][i]);
        }
        assert_int_equal(engine_program_block(&program, s, program.counts[s]), 3);
    }
    arena_free(arena);
}

/* The meetings wait for 1, 3 + 1 and 5 + 1 works, and for 0, 1 and 2 meetings; the late one for no
 * meeting: one lies before its block. */
static void waits_count_from_where_a_block_begins(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct engine_program program = four(arena);
    const uint32_t works_ended[] = {1, 4, 6};
    uint32_t seen = 0;
    for (struct engine_walk walk = engine_walk_of(&program, 1); walk.task != NULL;
         engine_walk_next(&walk)) {
        assert_int_equal(walk.index, seen);
        assert_int_equal(engine_walk_wait(&walk, 0), works_ended[seen]);
        assert_int_equal(engine_walk_wait(&walk, 1), seen);
        assert_int_equal(engine_program_wait(&program, 1, seen, 0), works_ended[seen]);
        seen++;
    }
    assert_int_equal(seen, 3);
    assert_int_equal(engine_program_wait(&program, 0, 2, 0), 0);
    arena_free(arena);
}

/* Two programs of two blocks, numbered as they are met. Of 200 blocks that are all different, each
 * has its own number. */
static void different_blocks_are_numbered(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct engine_block *const other[] = {&single, &single, &both};
    const struct engine_program programs[] = {four(arena), engine_program_of(arena, other, 3)};
    const struct engine_blocks blocks = engine_blocks_of(arena, programs, 2);
    const uint32_t expected[2][4] = {{0, 1, 0, 0}, {1, 1, 0}};
    assert_int_equal(blocks.count, 2);
    assert_ptr_equal(blocks.items[0], &both);
    assert_ptr_equal(blocks.items[1], &single);
    for (uint32_t p = 0; p < 2; p++) {
        assert_memory_equal(blocks.numbers[p], expected[p],
                            programs[p].block_count * sizeof(uint32_t));
    }
    enum { MANY = 200 };
    static const struct engine_block many[MANY];
    const struct engine_block *row[MANY];
    for (uint32_t i = 0; i < MANY; i++) {
        row[i] = &many[i];
    }
    const struct engine_program all = engine_program_of(arena, row, MANY);
    const struct engine_blocks different = engine_blocks_of(arena, &all, 1);
    assert_int_equal(different.count, MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(different.numbers[0][i], i);
    }
    arena_free(arena);
}

/* A stream without tasks, and a program without blocks. */
static void nothing_is_walked_at_once(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct engine_program program = four(arena);
    const struct engine_program empty = engine_program_of(arena, NULL, 0);
    assert_null(engine_walk_of(&program, 2).task);
    assert_null(engine_walk_of(&empty, 0).task);
    assert_int_equal(engine_program_block(&empty, 0, 0), 0);
    arena_free(arena);
}

/* Flattened, and cut in the middle of a block, tasks and waits are the same. */
static void the_same_tasks_in_other_blocks_are_the_same(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct engine_program program = four(arena);
    uint32_t cuts[][ENGINE_STREAMS_MAX] = {{1, 0}, {1, 2}, {6, 2}, {7, 3}};
    const struct engine_program others[] = {blocks_flattened(arena, &program),
                                            blocks_cut(arena, &program, cuts, 4)};
    assert_int_equal(others[0].block_count, 1);
    for (uint32_t k = 0; k < 2; k++) {
        for (uint32_t s = 0; s < 2; s++) {
            struct engine_walk other = engine_walk_of(&others[k], s);
            assert_int_equal(others[k].counts[s], program.counts[s]);
            for (struct engine_walk walk = engine_walk_of(&program, s); walk.task != NULL;
                 engine_walk_next(&walk)) {
                assert_int_equal(other.task->work_ns, walk.task->work_ns);
                assert_int_equal(other.task->wait_count, walk.task->wait_count);
                for (uint32_t i = 0; i < walk.task->wait_count; i++) {
                    assert_int_equal(engine_walk_wait(&other, i), engine_walk_wait(&walk, i));
                }
                engine_walk_next(&other);
            }
            assert_null(other.task);
        }
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_has_its_blocks_tasks_in_their_order),
        cmocka_unit_test(waits_count_from_where_a_block_begins),
        cmocka_unit_test(different_blocks_are_numbered),
        cmocka_unit_test(nothing_is_walked_at_once),
        cmocka_unit_test(the_same_tasks_in_other_blocks_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
