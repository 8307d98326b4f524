/* Kept files: read once, shared by copies that may be changed, with text and structs. */
#include "input/doc/doc_files.h"

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char before[] = "gpu: x\nprice: {gpu_hour: 2 USD, unit: [1, 2]}\nname: \"8\"\n";
static const char after[] = "gpu: x\nprice: {gpu_hour: 3 USD}\n";

struct fixture {
    struct arena *arena;
    struct diag *diag;
    struct doc_files *files;
    char path[64];
};

static void write_file(const struct fixture *fixture, const char *text)
{
    FILE *file = fopen(fixture->path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int make_fixture(void **state)
{
    struct arena *arena = arena_new();
    struct fixture *fixture = arena_alloc(arena, sizeof *fixture);
    *fixture = (struct fixture){.arena = arena, .diag = diag_new(arena)};
    fixture->files = doc_files_new(arena);
    snprintf(fixture->path, sizeof fixture->path, "/tmp/stoker-doc-files-%ld.yaml", (long)getpid());
    write_file(fixture, before);
    *state = fixture;
    return 0;
}

static int end_fixture(void **state)
{
    const struct fixture *fixture = *state;
    (void)unlink(fixture->path);
    arena_free(fixture->arena);
    return 0;
}

static struct doc_node *load(const struct fixture *fixture)
{
    struct doc_node *root =
        doc_files_load(fixture->files, fixture->arena, fixture->path, fixture->diag);
    assert_non_null(root);
    return root;
}

/* "2 USD" stands in the file when it is first read, "3 USD" when it is named again: a study sees
 * the first. Other files read the second. */
static void a_file_that_is_rewritten_stays_as_it_was_read(void **state)
{
    const struct fixture *fixture = *state;
    assert_string_equal(doc_find_text(load(fixture), "price.gpu_hour"), "2 USD");
    write_file(fixture, after);
    assert_string_equal(doc_find_text(load(fixture), "price.gpu_hour"), "2 USD");
    struct doc_files *others = doc_files_new(fixture->arena);
    const struct doc_node *other =
        doc_files_load(others, fixture->arena, fixture->path, fixture->diag);
    assert_string_equal(doc_find_text(other, "price.gpu_hour"), "3 USD");
    const struct doc_node *unkept =
        doc_files_load(NULL, fixture->arena, fixture->path, fixture->diag);
    assert_string_equal(doc_find_text(unkept, "price.gpu_hour"), "3 USD");
}

/* It is looked for once: a study whose file is taken away, or that gets one where it had none, goes
 * on with what its first point found. */
static void a_file_is_there_or_not_for_all_of_a_study(void **state)
{
    const struct fixture *fixture = *state;
    const char *other = arena_printf(fixture->arena, "%s.other", fixture->path);
    assert_true(doc_files_exist(fixture->files, fixture->path));
    assert_false(doc_files_exist(fixture->files, other));
    assert_int_equal(rename(fixture->path, other), 0);
    assert_true(doc_files_exist(fixture->files, fixture->path));
    assert_false(doc_files_exist(fixture->files, other));
    assert_false(doc_files_exist(NULL, fixture->path));
    assert_true(doc_files_exist(doc_files_new(fixture->arena), other));
    assert_int_equal(rename(other, fixture->path), 0);
}

/* What is wrong is told each time, and read again once it is right. */
static void a_file_that_is_wrong_is_not_kept(void **state)
{
    const struct fixture *fixture = *state;
    write_file(fixture, "gpu: {\n");
    for (uint32_t i = 0; i < 2; i++) {
        struct diag *own = diag_new(fixture->arena);
        assert_null(doc_files_load(fixture->files, fixture->arena, fixture->path, own));
        assert_int_equal(diag_error_count(own), 1);
    }
    write_file(fixture, before);
    assert_string_equal(doc_find_text(load(fixture), "price.gpu_hour"), "2 USD");
}

static void a_key_that_is_set_in_one_copy_is_not_set_in_another(void **state)
{
    const struct fixture *fixture = *state;
    struct doc_node *one = load(fixture);
    assert_true(doc_set(fixture->arena, one, "price.unit.1=7", fixture->diag));
    assert_true(doc_set(fixture->arena, one, "new.key=true", fixture->diag));
    assert_string_equal(doc_find_text(one, "price.unit.1"), "7");
    const struct doc_node *other = load(fixture);
    assert_string_equal(doc_find_text(other, "price.unit.1"), "2");
    assert_null(doc_find(other, "new"));
}

/* The text of a tree is the same whether it stands for a file or was copied node by node, and
 * follows a key that is set. */
static void a_kept_text_is_that_of_the_tree(void **state)
{
    const struct fixture *fixture = *state;
    struct arena *arena = fixture->arena;
    struct doc_node *outer = doc_load(arena, fixture->path, fixture->diag);
    struct doc_node *inner = load(fixture);
    inner->key = "name";
    *doc_link(outer, "name") = inner;
    assert_non_null(inner->kept);
    static const char file[] = "{gpu: x, price: {gpu_hour: 2 USD, unit: [1, 2]}, name: \"8\"}";
    const char *whole =
        arena_printf(arena, "{gpu: x, price: {gpu_hour: 2 USD, unit: [1, 2]}, name: %s}", file);
    assert_string_equal(doc_to_text(arena, inner), file);
    assert_string_equal(doc_to_text(arena, outer), whole);
    assert_true(doc_set(arena, inner, "name=9", fixture->diag));
    assert_null(inner->kept);
    assert_string_equal(doc_to_text(arena, inner),
                        "{gpu: x, price: {gpu_hour: 2 USD, unit: [1, 2]}, name: 9}");
}

/* ---- what a reader makes ---------------------------------------------------------------- */

struct thing {
    const char *price;
};

static bool read_thing(const struct doc_node *node, void *object, struct assumptions *assumptions,
                       struct diag *diag)
{
    struct thing *thing = object;
    thing->price = doc_find_text(node, "price.gpu_hour");
    assumptions_add(assumptions, &(struct assumption){.name = "gpu.price.gpu_hour",
                                                      .value = thing->price,
                                                      .reason = "a test"});
    if (strlen(doc_find_text(node, "gpu")) > 1) {
        diag_add(diag, DIAG_WARNING, &node->place, "a long name");
    }
    return true;
}

static const struct doc_reader reader = {sizeof(struct thing), read_thing};

/* A second copy has the struct and the assumption of the first, made from the file; a copy that was
 * changed has its own. */
static void a_struct_is_made_once_and_anew_for_what_was_changed(void **state)
{
    const struct fixture *fixture = *state;
    struct thing things[3];
    struct assumptions assumptions[3];
    struct doc_node *nodes[3];
    for (uint32_t i = 0; i < 3; i++) {
        nodes[i] = load(fixture);
        if (i == 2) {
            assert_true(doc_set(fixture->arena, nodes[i], "price.gpu_hour=5 USD", fixture->diag));
        }
        assumptions_init(&assumptions[i], fixture->arena);
        assert_true(doc_files_read(&reader, nodes[i], &things[i], &assumptions[i], fixture->diag));
        assert_int_equal(assumptions[i].count, 1);
    }
    assert_ptr_equal(things[0].price, things[1].price);
    assert_string_equal(things[1].price, "2 USD");
    assert_string_equal(assumptions[1].items[0].value, "2 USD");
    assert_string_equal(things[2].price, "5 USD");
    assert_string_equal(assumptions[2].items[0].value, "5 USD");
}

/* Warnings are of each point, not of the first. */
static void a_reader_with_something_to_say_is_asked_each_time(void **state)
{
    const struct fixture *fixture = *state;
    write_file(fixture, "gpu: xx\nprice: {gpu_hour: 2 USD}\n");
    for (uint32_t i = 0; i < 3; i++) {
        struct thing thing;
        struct assumptions assumptions;
        struct diag *own = diag_new(fixture->arena);
        assumptions_init(&assumptions, fixture->arena);
        assert_true(doc_files_read(&reader, load(fixture), &thing, &assumptions, own));
        assert_true(diag_has(own, DIAG_WARNING));
        assert_int_equal(assumptions.count, 1);
    }
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, make_fixture, end_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_file_that_is_rewritten_stays_as_it_was_read),
        STORY(a_file_is_there_or_not_for_all_of_a_study),
        STORY(a_file_that_is_wrong_is_not_kept),
        STORY(a_key_that_is_set_in_one_copy_is_not_set_in_another),
        STORY(a_kept_text_is_that_of_the_tree),
        STORY(a_struct_is_made_once_and_anew_for_what_was_changed),
        STORY(a_reader_with_something_to_say_is_asked_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
