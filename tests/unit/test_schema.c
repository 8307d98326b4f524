/* The one reader of all tables of keys, on a table of our own, and whether the tables of the
 * program are sound.
 */
#include "base/arena.h"
#include "input/scenario_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

struct house {
    const char *name;
    int64_t floors;
    int64_t windows;
    double height_m;
    bool has_garden;
    uint32_t roof;
    uint32_t colours;
    struct place place;
    int64_t ponds;
    int64_t tiles;
    int64_t lanes;
    struct {
        int64_t beds;
        bool has_stove;
        struct {
            double width_s;
        } walls[2];
    } storeys[3];
};

static const char *const roofs[] = {"flat", "steep", "round"};
static const char *const colours[] = {"red", "green", "blue"};
static const char *const storeys[] = {"cellar", "ground", "attic"};
static const char *const walls[] = {"north", "south"};

static bool check_rooms(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct house *house = reader->object;
    return house->windows >= house->floors ||
           diag_add(reader->map->diag, DIAG_INPUT, &reader->map->node->place, "%s are dark",
                    row->path);
}

static bool has_floors(const void *object)
{
    return ((const struct house *)object)->floors > 0;
}

static const struct schema_refusal *on_a_round_roof(const void *object)
{
    static const struct schema_refusal refusal = {"on a round roof", "it has sheets of lead"};
    return ((const struct house *)object)->roof == 2 ? &refusal : NULL;
}

#define SCHEMA_OBJECT struct house
#include "input/schema/rows.h"

static const struct schema_row rows[] = {
    {TEXT("name", name, "What it is called."), .note = "nobody named it", .is_optional = true},
    {SECTION_AT("rooms", place, "How it is divided."), .check = check_rooms},
    {COUNT("rooms.floors", floors, 1, 9, "Floors above the ground."), .is_required = true},
    {COUNT("rooms.windows", windows, 0, 99, "Windows of all floors."), AS(int64_t, floors)},
    {SECTION("roads", "How it is reached.")},
    {COUNT("roads.lanes", lanes, 1, 9, "Lanes of the road."), .standard = "2", .is_assumed = true},
    {QUANTITY("height", height_m, DIM_SECONDS, 1.0, 100.0, "How high it is."), .standard = "8 s",
     .is_assumed = true},
    {SWITCH("garden", has_garden, "The garden around it."), .moves = SCHEMA_MOVES_NO_STEP},
    {COUNT("garden.ponds", ponds, 0, 5, "Ponds in the garden."), .standard = "1"},
    {CHOICE("roof", roof, roofs, 3, "The form of the roof."), .among = 1u << 1 | 1u << 2,
     .standard = "steep"},
    {NAMES("colours", colours, colours, 3, "What it is painted in."), .standard = "[red, blue]",
     .applies = has_floors},
    {COUNT("tiles", tiles, 1, 9, "Rows of tiles on the roof."), .standard = "7",
     .refuses = on_a_round_roof},
    {SECTION("storeys", "What lies above each other."), .moves = SCHEMA_MOVES_MONTHS},
    {EACH("storeys.STOREY", storeys, storeys, 3, "One of the storeys.")},
    {COUNT("storeys.STOREY.beds", storeys[0].beds, 0, 9, "Beds of a storey."), .standard = "2"},
    {BOOL("storeys.STOREY.stove", storeys[0].has_stove, "Whether it is heated."),
     .is_required = true, .moves = SCHEMA_MOVES_STEPS},
    {EACH("storeys.STOREY.WALL", storeys[0].walls, walls, 2, "One of its walls.")},
    {QUANTITY("storeys.STOREY.WALL.width", storeys[0].walls[0].width_s, DIM_SECONDS, 0.0, 9.0,
              "How thick it is.")},
};
static const struct schema schema = SCHEMA_OF("house", "house.", rows);

/* One document read: what came out. */
struct reading {
    struct arena *arena;
    struct diag *diag;
    struct house house;
    struct assumptions assumptions;
    bool is_good;
};

static void read_text(struct reading *reading, const char *text)
{
    struct doc_map map;
    *reading = (struct reading){.arena = arena_new()};
    reading->diag = diag_new(reading->arena);
    assumptions_init(&reading->assumptions, reading->arena);
    const struct doc_node *root =
        doc_parse(reading->arena, "house.yaml", text, strlen(text), reading->diag);
    assert_non_null(root);
    assert_true(doc_map_open(&map, root, reading->diag));
    schema_read(&schema, &map, &reading->house, &reading->assumptions);
    reading->is_good = doc_finish(&map);
}

/* Windows 4 as floors say; 8 s, steep, red and blue (1 + 4); no garden, so no pond. */
static void what_is_left_out_takes_its_default(void **state)
{
    (void)state;
    struct reading reading;
    read_text(&reading, "rooms: {floors: 4}\n");
    assert_true(reading.is_good);
    assert_int_equal(reading.house.floors, 4);
    assert_int_equal(reading.house.windows, 4);
    assert_true(reading.house.height_m > 7.9 && reading.house.height_m < 8.1);
    assert_int_equal(reading.house.roof, 1);
    assert_int_equal(reading.house.colours, 5);
    assert_false(reading.house.has_garden);
    assert_int_equal(reading.house.ponds, 0);
    assert_int_equal(reading.house.place.line, 1);
    arena_free(reading.arena);
}

static void what_is_written_holds(void **state)
{
    (void)state;
    struct reading reading;
    read_text(&reading, "name: Falling Water\nrooms: {floors: 2, windows: 30}\nheight: 12 s\n"
                        "garden: {ponds: 3}\nroof: round\ncolours: [green]\nroads: {lanes: 3}\n");
    assert_true(reading.is_good);
    assert_string_equal(reading.house.name, "Falling Water");
    assert_int_equal(reading.house.windows, 30);
    assert_true(reading.house.height_m > 11.9 && reading.house.height_m < 12.1);
    assert_true(reading.house.has_garden);
    assert_int_equal(reading.house.ponds, 3);
    assert_int_equal(reading.house.roof, 2);
    assert_int_equal(reading.house.colours, 2);
    assert_int_equal(reading.house.tiles, 0); /* refused: not even the default */
    assert_int_equal(reading.assumptions.count, 0);
    arena_free(reading.arena);
}

static void a_section_may_be_switched_on_and_off(void **state)
{
    (void)state;
    struct reading reading;
    read_text(&reading, "rooms: {floors: 4}\ngarden: {}\n");
    assert_true(reading.is_good && reading.house.has_garden);
    assert_int_equal(reading.house.ponds, 1);
    arena_free(reading.arena);
    read_text(&reading, "rooms: {floors: 4}\ngarden: off\n");
    assert_true(reading.is_good && !reading.house.has_garden);
    arena_free(reading.arena);
    read_text(&reading, "rooms: {floors: 4}\ngarden: wild\n");
    assert_false(reading.is_good);
    assert_string_equal(diag_first_error(reading.diag),
                        "'garden' must be a mapping (key: value), not 'wild'");
    arena_free(reading.arena);
}

/* Of three storeys two are written: 2 beds by default in the cellar, 5 in the
 * attic, whose south wall is 3 s thick. Nothing is read into the third, not even a default. */
static void keys_that_repeat_fill_the_element_of_their_name(void **state)
{
    (void)state;
    struct reading reading;
    read_text(&reading, "rooms: {floors: 4}\nstoreys:\n"
                        "  attic: {beds: 5, stove: false, south: {width: 3 s}}\n"
                        "  cellar: {stove: true, south: {width: 4 s, provenance: assumed}}\n");
    assert_true(reading.is_good);
    assert_int_equal(reading.house.storeys[0].beds, 2);
    assert_int_equal(reading.house.storeys[1].beds, 0);
    assert_int_equal(reading.house.storeys[2].beds, 5);
    assert_true(reading.house.storeys[0].has_stove && !reading.house.storeys[2].has_stove);
    assert_true(reading.house.storeys[0].walls[1].width_s > 3.9);
    assert_true(reading.house.storeys[2].walls[1].width_s > 2.9);
    assert_true(reading.house.storeys[2].walls[1].width_s < 3.1);
    assert_false(reading.house.storeys[0].walls[0].width_s > 0);
    assert_false(reading.house.storeys[2].walls[0].width_s > 0);
    assert_int_equal(reading.assumptions.count, 3); /* beside lanes and height */
    assert_string_equal(reading.assumptions.items[2].name, "house.storeys.cellar.south.width");
    arena_free(reading.arena);
}

/* A default of stoker's own and a section that says so are both assumptions of the run. */
static void assumptions_are_recorded_by_their_whole_name(void **state)
{
    (void)state;
    struct reading reading;
    read_text(&reading, "rooms: {floors: 4, provenance: assumed, source: a guess}\n");
    assert_true(reading.is_good);
    assert_int_equal(reading.assumptions.count, 3);
    assert_string_equal(reading.assumptions.items[0].name, "house.rooms.floors");
    assert_string_equal(reading.assumptions.items[0].reason, "a guess");
    assert_string_equal(reading.assumptions.items[1].name, "house.roads.lanes");
    assert_string_equal(reading.assumptions.items[2].name, "house.height");
    assert_string_equal(reading.assumptions.items[2].value, "8 s");
    arena_free(reading.arena);
}

static void mistakes_are_reported_with_what_would_be_right(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"rooms: {floors: 10}", "'floors' must be a whole number from 1 to 9, not '10'"},
        {"rooms: {windows: 3}", "missing key 'floors'"},
        {"rooms: {floors: 4, windows: 3}", "rooms are dark"},
        {"rooms: {floors: 4, window: 3}", "unknown key 'window'"},
        {"rooms: {floors: 4}\nheight: 8",
         "'height': a duration needs a unit: write '1.5 us', '30 min' or '2 days' (ns, us, ms, s, "
         "min, h or d)"},
        {"rooms: {floors: 4}\nroof: flat", "'roof' must be steep or round, not 'flat'"},
        {"rooms: {floors: 4}\ncolours: red", "colours must be a list of names"},
        {"rooms: {floors: 4}\ncolours: [red, red]", "'red' is listed twice"},
        {"rooms: {floors: 4}\ncolours: [mauve]", "colours has no 'mauve'"},
        {"rooms: [4]", "'rooms' must be a mapping (key: value), not a list"},
        {"rooms: {floors: 4}\ngarten: off", "unknown key 'garten'"},
        {"rooms: {floors: 4}\nroof: round\ntiles: 3", "tiles on a round roof"},
        {"rooms: {floors: 4}\nstoreys: {loft: {stove: true}}", "unknown key 'loft'"},
        {"rooms: {floors: 4}\nstoreys: {attic: {beds: 3}}", "missing key 'stove'"},
        {"rooms: {floors: 4}\nstoreys: {attic: {stove: true, south: {length: 1 s}}}",
         "unknown key 'length'"},
        {"rooms: {floors: 4}\nstoreys: {attic: [1]}",
         "'attic' must be a mapping (key: value), not a list"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading reading;
        read_text(&reading, cases[i].text);
        assert_false(reading.is_good);
        assert_int_equal(diag_error_count(reading.diag), 1);
        assert_string_equal(diag_first_error(reading.diag), cases[i].message);
        arena_free(reading.arena);
    }
}

static void values_are_told_as_yaml(void **state)
{
    static const char *const wanted[] = {NULL,  NULL,  "4", "4",     NULL,          "2",
                                         "8 s", "off", "0", "steep", "[red, blue]", "7"};
    enum { ONCE = sizeof wanted / sizeof *wanted }; /* behind these are keys of many names */
    (void)state;
    struct reading reading;
    read_text(&reading, "rooms: {floors: 4}\n");
    reading.house.name = "";
    for (uint32_t i = 0; i < ONCE; i++) {
        const char *text = schema_value_text(reading.arena, &schema.rows[i], &reading.house);
        if (wanted[i] == NULL) {
            assert_null(text);
        } else {
            assert_string_equal(text, wanted[i]);
        }
    }
    arena_free(reading.arena);
}

static void rows_are_found_by_path_and_by_what_was_meant(void **state)
{
    (void)state;
    const struct schema_row *floors = schema_find(&schema, "rooms.floors");
    assert_non_null(floors);
    assert_string_equal(schema_key(floors), "floors");
    assert_ptr_equal(schema_parent(&schema, floors), schema_find(&schema, "rooms"));
    assert_null(schema_parent(&schema, schema_find(&schema, "rooms")));
    assert_true(schema_has_inner(&schema, schema_find(&schema, "garden")));
    assert_null(schema_find(&schema, "rooms.floor"));
    const struct schema_row *width = schema_find(&schema, "storeys.STOREY.WALL.width");
    assert_non_null(width);
    assert_ptr_equal(schema_find(&schema, "storeys.attic.south.width"), width);
    assert_ptr_equal(schema_find(&schema, "storeys.attic.WALL.width"), width);
    assert_null(schema_find(&schema, "storeys.attic.south.widths"));
    assert_null(schema_find(&schema, "storeys.attic.south.width.more"));
    assert_null(schema_find(&schema, "storeys.loft.south.width"));
    assert_ptr_equal(schema_find(&schema, "storeys.attic"), schema_find(&schema, "storeys.STOREY"));
    assert_string_equal(schema_nearest(&schema, "room.floor"), "rooms.floors");
    assert_string_equal(schema_nearest(&schema, "pond"), "garden.ponds"); /* no section said */
    assert_null(schema_nearest(&schema, "chimney"));
}

/* Each row is wrong in its own way; the message names it. */
static void a_faulty_table_is_found_out(void **state)
{
    static const struct schema_row faulty[][2] = {
        {{COUNT("a", floors, 1, 9, "")}},
        {{COUNT("a", floors, 1, 9, "no sentence")}},
        {{COUNT("a", floors, 9, 1, "Bounds that hold nothing.")}},
        {{COUNT("a", floors, 0, 1e300, "Bounds that no int64 has.")}},
        {{COUNT("a.b", floors, 1, 9, "A row without its section.")}},
        {{COUNT("a", floors, 1, 9, "A default out of bounds."), .standard = "10"}},
        {{QUANTITY("a", height_m, DIM_SECONDS, 1.0, 9.0, "A default without its unit."),
          .standard = "2"}},
        {{CHOICE("a", roof, NULL, 0, "A choice of nothing.")}},
        {{SECTION("a", "A section without keys.")}},
        {{CUSTOM("a", NULL, "A key that nothing reads.")}},
        {{BOOL("a", has_garden, "An assumption of nothing."), .is_assumed = true}},
        {{EACH("a", storeys, storeys, 3, "Many names without keys.")}},
        {{ONLY_EACH("a", NULL, 0, "Many keys without names.")}},
    };
    (void)state;
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof faulty / sizeof *faulty; i++) {
        const struct schema one = {.name = "x", .prefix = "", .rows = faulty[i], .count = 1};
        const char *fault = schema_fault(arena, &one);
        assert_non_null(fault);
        assert_non_null(strstr(fault, "x: a"));
    }
    const struct schema_row twice[] = {rows[0], rows[0]};
    const struct schema two = {.name = "x", .prefix = "", .rows = twice, .count = 2};
    assert_non_null(schema_fault(arena, &two));
    assert_null(schema_fault(arena, &schema));
    arena_free(arena);
}

/* A key without its section, one in the wrong one, one misspelled in either way. */
static void a_key_of_a_scenario_is_found_wherever_it_stands(void **state)
{
    static const char *const cases[][2] = {
        {"tp", "parallel.tp"},
        {"micro", "batch.micro"},
        {"mico", "batch.micro"},
        {"batch.mico", "batch.micro"},
        {"parallel.pue", "price.pue"},
        {"parralel", "parallel"},
        {"checkpoint", "run.checkpoint"},
        {"gpu_hours", "price.gpu_hour"},
        {"model.layer", "model.layers"},
        {"gpu.tpd", "gpu.tdp"},
        {"cluster.fabric.links.bandwith", "cluster.fabric.links.bandwidth"},
        {"parallel.schedule.stage", "parallel.schedule.stages"},
        {"library.fitted.hopper.size", "library.LAYER.ARCHITECTURE.sizes"},
    };
    (void)state;
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(scenario_nearest_key(arena, cases[i][0]), cases[i][1]);
    }
    assert_null(scenario_nearest_key(arena, "chimney"));
    arena_free(arena);
}

/* A key moves what its own row says, else its section's, else that of the section around it, and
 * at the top steps; so does a key that repeats by name. */
static void what_a_key_moves_is_said_by_the_nearest_row(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        enum schema_moves moves;
    } cases[] = {
        {"height", SCHEMA_MOVES_STEPS},
        {"rooms.floors", SCHEMA_MOVES_STEPS},
        {"garden", SCHEMA_MOVES_NO_STEP},
        {"garden.ponds", SCHEMA_MOVES_NO_STEP},
        {"storeys.attic.beds", SCHEMA_MOVES_MONTHS},
        {"storeys.attic.north.width", SCHEMA_MOVES_MONTHS},
        {"storeys.attic.stove", SCHEMA_MOVES_STEPS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct schema_row *row = schema_find(&schema, cases[i].path);
        assert_non_null(row);
        assert_int_equal(schema_moves_of(&schema, row), cases[i].moves);
    }
}

/* Each part of a scenario has its prefix; files that run.failures names are no part. */
static void a_key_of_any_part_is_found_by_its_whole_path(void **state)
{
    (void)state;
    const struct schema *part = NULL;
    const struct schema_row *row = scenario_key_find("cluster.nics.power", &part);
    assert_non_null(row);
    assert_string_equal(row->path, "nics.power");
    assert_string_equal(part->name, "cluster");
    assert_int_equal(schema_moves_of(part, row), SCHEMA_MOVES_NO_STEP);
    row = scenario_key_find("run.startup", &part);
    assert_non_null(row);
    assert_int_equal(schema_moves_of(part, row), SCHEMA_MOVES_MONTHS);
    assert_non_null(scenario_key_find("gpus", NULL));
    assert_null(scenario_key_find("nics.power", NULL));
    assert_null(scenario_key_find("failures.gpu.repair.mean", NULL));
}

static void the_tables_of_the_program_are_sound(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    for (const struct scenario_part *part = scenario_parts; part->schema != NULL; part++) {
        const char *fault = schema_fault(arena, part->schema);
        for (uint32_t i = 0; fault == NULL && i < part->schema->count; i++) {
            const struct schema *inner = part->schema->rows[i].inner;
            fault = inner != NULL ? schema_fault(arena, inner) : NULL;
        }
        if (fault != NULL) {
            fail_msg("%s", fault);
        }
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_takes_its_default),
        cmocka_unit_test(what_is_written_holds),
        cmocka_unit_test(a_section_may_be_switched_on_and_off),
        cmocka_unit_test(keys_that_repeat_fill_the_element_of_their_name),
        cmocka_unit_test(assumptions_are_recorded_by_their_whole_name),
        cmocka_unit_test(mistakes_are_reported_with_what_would_be_right),
        cmocka_unit_test(values_are_told_as_yaml),
        cmocka_unit_test(rows_are_found_by_path_and_by_what_was_meant),
        cmocka_unit_test(a_faulty_table_is_found_out),
        cmocka_unit_test(a_key_of_a_scenario_is_found_wherever_it_stands),
        cmocka_unit_test(what_a_key_moves_is_said_by_the_nearest_row),
        cmocka_unit_test(a_key_of_any_part_is_found_by_its_whole_path),
        cmocka_unit_test(the_tables_of_the_program_are_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
