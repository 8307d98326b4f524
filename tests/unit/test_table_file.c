/* Files of one struct a line: what the columns say is read, refused at its place, and written again
 * to the byte. */
#include "bands/table_file.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/path.h"
#include "bands/band.h"
#include "bands/memory_errors.h"
#include "bands/ratio_bands.h"
#include "support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/assert_close.h"

struct house {
    const char *name;
    bool has_garden;
    int64_t floors;
    double height_m, price, growth;
    uint32_t roof;
};

static const char *const no_yes[] = {"no", "yes"};
static const char *const roofs[] = {"flat", "steep"};

static const struct table_column columns[] = {
    {TABLE_QUOTED("name", struct house, name)},
    {TABLE_SWITCH("garden", struct house, has_garden, no_yes), .wrong = "'%s' is no answer"},
    {TABLE_COUNT("floors", struct house, floors, 1, 99)},
    {TABLE_NUMBER("height_km", struct house, height_m, 0.001, 9, "%.3f"), .unit = 1000,
     .what = "height"},
    {TABLE_NUMBER("price", struct house, price, 0, 9, "%.1f"), .is_optional = true,
     .blank = ABSENT},
    {TABLE_RATIO("growth", struct house, growth, "%.2f"), .what = "ratio"},
    {TABLE_COLUMN("roof", TABLE_WORD_KIND, uint32_t, struct house, roof), .words = roofs,
     .word_count = 2, .wrong = "there is no roof '%s'"},
};
static const struct table_file houses = {TABLE_FILE(struct house, columns), .remedy = "build it"};

static const char head[] = "name,garden,floors,height_km,price,growth,roof\n";

struct world {
    struct arena *arena;
    struct diag *diag;
    const char *directory;
};

static int make_world(void **state)
{
    struct arena *arena = arena_new();
    struct world *world = arena_alloc(arena, sizeof *world);
    *world = (struct world){arena, diag_new(arena), temporary_new(arena)};
    *state = world;
    return 0;
}

static int end_world(void **state)
{
    struct world *world = *state;
    temporary_remove(world->directory);
    arena_free(world->arena);
    return 0;
}

static const char *file_of(const struct world *world, const char *text)
{
    const char *path = arena_printf(world->arena, "%s/houses.csv", world->directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s%s", head, text);
    fclose(file);
    return path;
}

static const char *text_of(const struct world *world, const char *path)
{
    enum { BYTES = 1 << 20 };
    char *text = arena_alloc(world->arena, BYTES);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, BYTES - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* 0.012 km are 12 m, a ratio is kept as its logarithm, a blank price is none; and what is written
 * of it is the file. */
static void a_line_is_read_and_written_by_its_columns(void **state)
{
    struct world *world = *state;
    static const char lines[] = "\"a, \"\"b\"\"\",yes,3,0.012,1.5,2.00,steep\n"
                                "\"c\",no,1,0.003,,0.50,flat\n";
    const char *path = file_of(world, lines);
    void *items = NULL;
    const struct published_table *table =
        table_file_read(world->arena, path, &houses, &items, world->diag);
    assert_non_null(table);
    assert_int_equal(table->row_count, 2);
    const struct house *house = items;
    assert_string_equal(house[0].name, "a, \"b\"");
    assert_true(house[0].has_garden);
    assert_int_equal(house[0].floors, 3);
    assert_close(house[0].height_m, 12, 1e-12);
    assert_close(house[0].growth, 0.69314718055994531, 1e-12);
    assert_int_equal(house[0].roof, 1);
    assert_true(is_absent(house[1].price));
    assert_true(table_file_save(world->arena, path, &houses, items, 2, world->diag));
    assert_string_equal(text_of(world, path), arena_printf(world->arena, "%s%s", head, lines));
}

/* Each column refuses what is none of its values where that stands, with the file's remedy or the
 * word that was meant. */
static void what_is_wrong_is_told_at_its_place(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *line, *error, *help;
    } cases[] = {
        {"a,maybe,3,1,1,1,flat\n", ":2:3: 'maybe' is no answer", "build it"},
        {"a,no,0,1,1,1,flat\n", ":2:6: floors '0' is no number from 1 on", "build it"},
        {"a,no,1,9.5,1,1,flat\n", ":2:8: height_km '9.5' is no height", "build it"},
        {"a,no,1,1,x,1,flat\n", ":2:10: price 'x' is no number from 0 on", "build it"},
        {"a,no,1,1,1,0,flat\n", ":2:12: growth '0' is no ratio", "build it"},
        {"a,no,1,1,1,,flat\n", ":2:12: growth '' is no ratio", "build it"},
        {"a,no,1,1,1,1,stepe\n", ":2:14: there is no roof 'stepe'", "did you mean 'steep'?"},
        {"a,no\n", ":2:", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diag *diag = diag_new(world->arena);
        void *items = NULL;
        const char *path = file_of(world, cases[i].line);
        assert_null(table_file_read(world->arena, path, &houses, &items, diag));
        const char *told = diag_first_error_at(world->arena, diag);
        assert_non_null(strstr(told, cases[i].error));
        FILE *out = tmpfile();
        diag_print(diag, out);
        char text[2048] = "";
        rewind(out);
        text[fread(text, 1, sizeof text - 1, out)] = '\0';
        fclose(out);
        assert_true(cases[i].help == NULL || strstr(text, cases[i].help) != NULL);
    }
}

/* Those of the catalogue, read and written, are what they are. */
static void files_of_the_catalogue_come_back_to_the_byte(void **state)
{
    struct world *world = *state;
    const char *path = arena_printf(world->arena, "%s/again.csv", world->directory);
    struct band_votes votes;
    assert_true(band_read(world->arena, BAND_FILE, &votes, world->diag));
    assert_true(band_write(world->arena, path, &votes, world->diag));
    assert_string_equal(text_of(world, path), text_of(world, BAND_FILE));
    struct memory_errors errors;
    assert_true(memory_errors_read(world->arena, MEMORY_ERRORS_FILE, &errors, world->diag));
    assert_true(memory_errors_write(world->arena, &errors, path, world->diag));
    assert_string_equal(text_of(world, path), text_of(world, MEMORY_ERRORS_FILE));
    struct ratio_pairs pairs;
    assert_true(ratio_pairs_read(world->arena, RATIO_FILE, &pairs, world->diag));
    assert_true(ratio_pairs_save(world->arena, path, &pairs, world->diag));
    assert_string_equal(text_of(world, path), text_of(world, RATIO_FILE));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, end_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_line_is_read_and_written_by_its_columns),
        TEST(what_is_wrong_is_told_at_its_place),
        TEST(files_of_the_catalogue_come_back_to_the_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
