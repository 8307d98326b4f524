/* Documents: places, refusals with a place, getters, --set, copies, text. */
#include "input/doc/doc.h"

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/assert_close.h"

struct fixture {
    struct arena *arena;
    struct diag *diag;
};

static int make_fixture(void **state)
{
    struct arena *arena = arena_new();
    struct fixture *fixture = arena_alloc(arena, sizeof *fixture);
    fixture->arena = arena;
    fixture->diag = diag_new(arena);
    *state = fixture;
    return 0;
}

static int end_fixture(void **state)
{
    arena_free(((struct fixture *)*state)->arena);
    return 0;
}

/* What diag_print writes, up to 64 KiB. */
static const char *printed(const struct fixture *fixture)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    diag_print(fixture->diag, file);
    rewind(file);
    char *text = arena_alloc(fixture->arena, 65536);
    text[fread(text, 1, 65535, file)] = '\0';
    fclose(file);
    return text;
}

static struct doc_node *parse(const struct fixture *fixture, const char *text)
{
    return doc_parse(fixture->arena, "a.yaml", text, strlen(text), fixture->diag);
}

static struct doc_node *parse_good(const struct fixture *fixture, const char *text)
{
    struct doc_node *root = parse(fixture, text);
    if (root == NULL) {
        fail_msg("%s", printed(fixture));
    }
    assert_false(diag_has_error(fixture->diag));
    return root;
}

static void assert_place(const struct place *place, uint32_t line, uint32_t column)
{
    assert_int_equal(place->line, line);
    assert_int_equal(place->column, column);
}

static void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' is not in:\n%s", part, text);
    }
}

/* ---- trees and places ---- */

static void every_node_knows_its_place(void **state)
{
    const struct fixture *fixture = *state;
    const struct doc_node *root = parse_good(fixture, "# a comment\n"
                                                      "model: gpt3\n"
                                                      "parallel: {tp: 8, pp: '4'}\n"
                                                      "slow:\n"
                                                      "  - rank: 7\n"
                                                      "empty:\n");
    assert_int_equal(root->kind, DOC_MAPPING);
    assert_int_equal(doc_child_count(root), 4);
    assert_place(&root->place, 2, 1);
    const struct doc_node *model = doc_find(root, "model");
    assert_string_equal(model->key, "model");
    assert_string_equal(model->text, "gpt3");
    assert_string_equal(model->place.file, "a.yaml");
    assert_place(&model->key_place, 2, 1);
    assert_place(&model->place, 2, 8);
    assert_place(&doc_find(root, "parallel")->place, 3, 11);
    assert_place(&doc_find(root, "parallel.tp")->place, 3, 16);
    assert_place(&doc_find(root, "parallel.pp")->key_place, 3, 19);
    assert_true(doc_find(root, "parallel.pp")->is_quoted);
    assert_false(doc_find(root, "parallel.tp")->is_quoted);
    assert_place(&doc_find(root, "slow.0.rank")->place, 5, 11);
    assert_null(doc_find(root, "slow.0")->key);
    assert_int_equal(doc_find(root, "empty")->kind, DOC_NULL);
    assert_null(doc_find(root, "empty")->text);
}

static void columns_count_bytes_also_after_crlf_and_rare_line_ends(void **state)
{
    const struct fixture *fixture = *state;
    /* "é" has two bytes: "{é: 1, " takes 8 bytes, so b is byte 9 of line 1. The quoted text spans
     * lines 2 and 3; libyaml counts NEL (c2 85) as a line end, we do not. */
    const struct doc_node *root = parse_good(fixture, "{\xc3\xa9: 1, b: 2,\r\n"
                                                      "c: 'one\r\n"
                                                      " two', d: 3, #\xc2\x85 e: 4,\r\n"
                                                      "f: 5}\r\n");
    assert_place(&doc_find(root, "b")->key_place, 1, 9);
    assert_string_equal(doc_find(root, "c")->text, "one two");
    assert_place(&doc_find(root, "d")->place, 3, 11);
    assert_place(&doc_find(root, "e")->key_place, 3, 18);
    assert_place(&doc_find(root, "f")->place, 4, 4);
}

static void a_byte_order_mark_is_passed_over(void **state)
{
    const struct fixture *fixture = *state;
    const struct doc_node *root = parse_good(fixture, "\xef\xbb\xbf"
                                                      "a: 1\n");
    assert_string_equal(root->child->key, "a");
    assert_place(&root->child->place, 1, 4);
}

static void json_is_read(void **state)
{
    const struct fixture *fixture = *state;
    const struct doc_node *root = parse_good(fixture, "{\n\t\"layers\": 96,\n\t\"rope\": null,\n"
                                                      "\t\"tied\": true, \"a\\/b\": [1, 2]}\n");
    assert_string_equal(doc_find(root, "layers")->text, "96");
    assert_int_equal(doc_find(root, "rope")->kind, DOC_NULL);
    assert_string_equal(doc_find(root, "a/b.1")->text, "2");
}

static void keys_keep_their_dots_as_text(void **state)
{
    const struct fixture *fixture = *state;
    const struct doc_node *root = parse_good(fixture, "sweep: {cluster.nics.bandwidth: [1, 2]}\n");
    const struct doc_node *sweep = doc_find(root, "sweep");
    assert_string_equal(sweep->child->key, "cluster.nics.bandwidth");
    assert_int_equal(doc_child_count(sweep->child), 2);
}

static void words_of_yaml_stay_text(void **state)
{
    const struct fixture *fixture = *state;
    const struct doc_node *root = parse_good(fixture, "[NO, 010, 1:30, 'null', \"\", ~, null]\n");
    const char *const texts[] = {"NO", "010", "1:30", "null", ""};
    const struct doc_node *node = root->child;
    for (size_t i = 0; i < 5; i++, node = node->next) {
        assert_int_equal(node->kind, DOC_SCALAR);
        assert_string_equal(node->text, texts[i]);
    }
    assert_int_equal(node->kind, DOC_NULL);
    assert_int_equal(node->next->kind, DOC_NULL);
}

static void what_is_not_there_is_not_found(void **state)
{
    const struct fixture *fixture = *state;
    const struct doc_node *root = parse_good(fixture, "a: {b: [1, 2]}\nc: text\n");
    const char *const paths[] = {"x", "a.x", "a.b.2", "a.b.x", "c.d", "", "a.", ".a", "a.b.-1"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_null(doc_find(root, paths[i]));
    }
    assert_null(doc_find(NULL, "a"));
    assert_string_equal(doc_find(root, "a.b.1")->text, "2");
}

/* ---- refusals ---- */

struct refusal {
    const char *text;
    const char *message; /* begins what is printed */
};

static const struct refusal REFUSALS[] = {
    {"", "a.yaml: error: this file is empty\n"},
    {"# only this\n", "a.yaml: error: this file is empty\n"},
    {"---\n", "a.yaml: error: this file is empty\n"},
    {"a: &x 1\nb: *x\n", "a.yaml:1:4: error: anchors (&name) are not read\n"},
    {"a: 1\nb: *x\n", "a.yaml:2:4: error: aliases (*name) are not read\n"},
    {"a: !!str 1\n", "a.yaml:1:4: error: tags (!name) are not read\n"},
    {"a: !x {b: 1}\n", "a.yaml:1:4: error: tags (!name) are not read\n"},
    {"a: ! [1]\n", "a.yaml:1:4: error: tags (!name) are not read\n"},
    {"<<: {a: 1}\n", "a.yaml:1:1: error: merge keys (<<) are not read\n"},
    {"a: 1\n---\nb: 2\n", "a.yaml:2:1: error: a second document begins here\n"},
    {"? [a, b]\n: 1\n",
     "a.yaml:1:3: error: a key must be a word, not a list, a mapping or a text block\n"},
    {"? {a: b}\n: 1\n",
     "a.yaml:1:3: error: a key must be a word, not a list, a mapping or a text block\n"},
    {"? |\n  a\n: 1\n",
     "a.yaml:1:3: error: a key must be a word, not a list, a mapping or a text block\n"},
    {"a: 1\n'': 2\n", "a.yaml:2:1: error: a key must not be empty\n"},
    {"a: \"x\\0y\"\n", "a.yaml:1:4: error: this text holds a NUL character\n"},
    {"a: \xff\n", "a.yaml: error: this is not a text file\n"},
    {"tp: 1\npp: 2\ntp: 3\n", "a.yaml:3:1: error: duplicate key 'tp': it stands already in line 1\n"
                              "    3 | tp: 3\n"
                              "      | ^\n"},
    {"a: {b: 1, 'b': 2}\n", "a.yaml:1:11: error: duplicate key 'b': it stands already in line 1\n"},
    {"a: [1, 2\n", "a.yaml:2:1: error: did not find expected ',' or ']', "
                   "while parsing a flow sequence that begins in line 1\n"},
    {"a: b: c\n", "a.yaml:1:5: error: mapping values are not allowed in this context\n"
                  "    1 | a: b: c\n"
                  "      |     ^\n"
                  "   = help: put a text that holds ': ' in quotes\n"},
    {"a:\n\tb: 1\n", "a.yaml:2:1: error: found character that cannot start any token, "
                     "while scanning for the next token that begins in line 2\n"},
};

static void each_refusal_has_a_place_and_a_message(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof REFUSALS / sizeof *REFUSALS; i++) {
        fixture->diag = diag_new(fixture->arena);
        assert_null(parse(fixture, REFUSALS[i].text));
        const char *text = printed(fixture);
        if (strncmp(text, REFUSALS[i].message, strlen(REFUSALS[i].message)) != 0) {
            fail_msg("expected:\n%sbut it was:\n%s", REFUSALS[i].message, text);
        }
        assert_int_equal(diag_error_count(fixture->diag), 1);
        assert_int_equal(diag_exit_status(fixture->diag), 3);
    }
}

static void all_duplicates_are_reported_in_the_order_of_the_file(void **state)
{
    const struct fixture *fixture = *state;
    assert_null(parse(fixture, "z: 1\na: {b: 1, c: 2, b: 3}\nz: 2\nz: 3\n"));
    assert_int_equal(diag_error_count(fixture->diag), 3);
    const char *text = printed(fixture);
    assert_contains(text, "a.yaml:2:17: error: duplicate key 'b'");
    assert_contains(text, "a.yaml:3:1: error: duplicate key 'z': it stands already in line 1");
    assert_contains(text, "a.yaml:4:1: error: duplicate key 'z': it stands already in line 1");
}

static void a_nul_byte_makes_a_file_binary(void **state)
{
    const struct fixture *fixture = *state;
    assert_null(doc_parse(fixture->arena, "a.out",
                          "\x7f"
                          "ELF\0\0",
                          6, fixture->diag));
    assert_string_equal(printed(fixture), "a.out: error: this is not a text file\n"
                                          "   = help: it holds NUL bytes\n");
}

/* `depth` brackets around nothing. */
static const char *brackets(const struct fixture *fixture, size_t depth)
{
    char *text = arena_alloc(fixture->arena, 2 * depth + 1);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    return text;
}

static void sixty_four_levels_are_read_and_no_more(void **state)
{
    const struct fixture *fixture = *state;
    parse_good(fixture, brackets(fixture, 64));
    assert_null(parse(fixture, brackets(fixture, 65)));
    assert_contains(printed(fixture), "a.yaml:1:65: error: nested deeper than 64 levels");
}

static void two_hundred_thousand_values_are_read_and_no_more(void **state)
{
    const struct fixture *fixture = *state;
    /* The list itself is one value; "1," is two bytes each. */
    char *text = arena_alloc(fixture->arena, 2 * 200001 + 3);
    text[0] = '[';
    for (size_t i = 0; i < 200000; i++) {
        memcpy(text + 1 + 2 * i, "1,", 2);
    }
    memcpy(text + 1 + 2 * 199999, "]", 2);
    assert_int_equal(doc_child_count(parse_good(fixture, text)), 199999);
    memcpy(text + 1 + 2 * 199999, "1]", 3);
    assert_null(parse(fixture, text));
    assert_contains(printed(fixture), "error: more than 200000 values");
}

static void many_keys_are_checked_for_duplicates_in_linear_time(void **state)
{
    const struct fixture *fixture = *state;
    char *text = arena_alloc(fixture->arena, 100000 * 12 + 1);
    size_t length = 0;
    for (int i = 0; i < 100000; i++) {
        length += (size_t)snprintf(text + length, 13, "k%06d: 1\n", i);
    }
    memcpy(text + length - 11, "k000000: 1\n", 11); /* the last key is the first again */
    assert_null(parse(fixture, text));
    assert_contains(printed(fixture), "duplicate key 'k000000': it stands already in line 1");
}

/* ---- files ---- */

/* A file of this name in a new directory; its path. */
static const char *write_file(const struct fixture *fixture, const char *text, size_t length)
{
    char *directory = arena_strdup(fixture->arena, "/tmp/stoker-doc-XXXXXX");
    assert_non_null(mkdtemp(directory));
    const char *path = arena_printf(fixture->arena, "%s/x.yaml", directory);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
    return path;
}

static void remove_file(const struct fixture *fixture, const char *path)
{
    char *directory = arena_strdup(fixture->arena, path);
    unlink(path);
    *strrchr(directory, '/') = '\0';
    rmdir(directory);
}

static void a_file_is_loaded_and_quoted_in_messages(void **state)
{
    const struct fixture *fixture = *state;
    const char *path = write_file(fixture, "tp: 8\n", 6);
    const struct doc_node *root = doc_load(fixture->arena, path, fixture->diag);
    remove_file(fixture, path);
    assert_non_null(root);
    assert_string_equal(root->child->text, "8");
    assert_string_equal(root->child->place.file, path);
    assert_string_equal(root->child->place.source_text, "tp: 8\n");
}

static void a_missing_file_and_a_directory_are_told_apart(void **state)
{
    const struct fixture *fixture = *state;
    assert_null(doc_load(fixture->arena, "/nowhere/x.yaml", fixture->diag));
    assert_null(doc_load(fixture->arena, "/tmp", fixture->diag));
    assert_null(doc_load(fixture->arena, "/dev/null", fixture->diag));
    assert_string_equal(printed(fixture), "/nowhere/x.yaml: error: no such file\n"
                                          "/tmp: error: this is a directory, not a file\n"
                                          "/dev/null: error: this is not a regular file\n");
}

static void a_file_that_may_not_be_read_says_so(void **state)
{
    const struct fixture *fixture = *state;
    const char *path = write_file(fixture, "tp: 8\n", 6);
    assert_int_equal(chmod(path, 0), 0);
    if (access(path, R_OK) == 0) { /* root reads everything */
        remove_file(fixture, path);
        skip();
    }
    assert_null(doc_load(fixture->arena, path, fixture->diag));
    remove_file(fixture, path);
    assert_contains(printed(fixture), "this file cannot be read: Permission denied");
}

static void a_file_of_more_than_four_mebibytes_is_refused(void **state)
{
    const struct fixture *fixture = *state;
    /* 4 MiB = 4194304 bytes; one more, all of it a comment. */
    const size_t length = 4194305;
    char *text = arena_alloc(fixture->arena, length);
    memset(text, '#', length);
    const char *path = write_file(fixture, text, length);
    assert_null(doc_load(fixture->arena, path, fixture->diag));
    remove_file(fixture, path);
    assert_contains(printed(fixture),
                    "this file has 4194305 bytes; at most 4194304 (4 MiB) are read");
}

/* ---- getters ---- */

static void good_values_are_read_and_absent_ones_keep_their_default(void **state)
{
    const struct fixture *fixture = *state;
    const struct doc_node *root =
        parse_good(fixture, "name: h100\ntp: 8\ntokens: 15.6T\nseed: 9_223_372_036_854_775_807\n"
                            "bandwidth: 400 Gbps\nefficiency: 85 %\nfailures: true\nmode: async\n"
                            "memory: '80 GiB'\n");
    static const char *const modes[] = {"sync", "async"};
    const char *name = NULL;
    int64_t tp = 0;
    int64_t tokens = 0;
    int64_t seed = 0;
    int64_t absent = 77;
    double bandwidth = 0.0;
    double efficiency = 0.0;
    double memory = 0.0;
    bool failures = false;
    uint32_t mode = 0;
    struct doc_map map;
    assert_true(doc_map_open(&map, root, fixture->diag));
    assert_true(doc_get_text(&map, "name", &name));
    assert_true(doc_require(&map, "tp"));
    assert_true(doc_get_count(&map, "tp", 1, 8, &tp)); /* the bounds are inclusive */
    assert_true(doc_get_count(&map, "tokens", 1, INT64_MAX, &tokens));
    assert_true(doc_get_count(&map, "seed", INT64_MIN, INT64_MAX, &seed));
    assert_false(doc_get_count(&map, "pp", 1, 8, &absent));
    assert_true(doc_get_quantity(&map, "bandwidth", DIM_LINK_BYTES_PER_S, 0.0, 50e9, &bandwidth));
    assert_true(doc_get_quantity(&map, "efficiency", DIM_FRACTION, 0.0, 1.0, &efficiency));
    assert_true(doc_get_quantity(&map, "memory", DIM_BYTES, 0.0, 1e30, &memory));
    assert_true(doc_get_bool(&map, "failures", &failures));
    assert_true(doc_get_choice(&map, "mode", modes, 2, &mode));
    assert_true(doc_finish(&map));
    assert_string_equal(name, "h100");
    assert_int_equal(tp, 8);
    assert_true(tokens == 15600000000000);
    assert_true(seed == INT64_MAX);
    assert_int_equal(absent, 77);
    assert_close(bandwidth, 50e9, 0.0);
    assert_close(efficiency, 0.85, 0.0);
    assert_close(memory, 80.0 * 0x1p30, 0.0);
    assert_true(failures);
    assert_int_equal(mode, 1);
    assert_false(diag_has_error(fixture->diag));
}

/* Reads `text` as a count from 1 to 1024; the first error, or NULL. */
static const char *count_error(struct fixture *fixture, const char *text)
{
    fixture->diag = diag_new(fixture->arena);
    struct doc_map map;
    int64_t value = 42;
    assert_true(doc_map_open(&map, parse_good(fixture, text), fixture->diag));
    const bool is_good = doc_get_count(&map, "tp", 1, 1024, &value);
    assert_int_equal(is_good, doc_finish(&map));
    if (!is_good) {
        assert_int_equal(value, 42);
    }
    return diag_first_error(fixture->diag);
}

static void a_bad_count_says_what_it_must_be(void **state)
{
    assert_null(count_error(*state, "tp: 1_024"));
    assert_null(count_error(*state, "tp: 1k"));
    assert_null(count_error(*state, "tp: 0.5k")); /* 500: a whole number after all */
    const char *const values[] = {"6.5",
                                  "0",
                                  "1025",
                                  "-1",
                                  "eight",
                                  "8 GB",
                                  "0x10",
                                  "1e300",
                                  "1__0",
                                  ".5",
                                  "99999999999999999999"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[64];
        char expected[128];
        snprintf(text, sizeof text, "tp: %s", values[i]);
        snprintf(expected, sizeof expected, "'tp' must be a whole number from 1 to 1024, not '%s'",
                 values[i]);
        assert_string_equal(count_error(*state, text), expected);
    }
    assert_string_equal(count_error(*state, "tp: [1]"),
                        "'tp' must be a whole number from 1 to 1024, not a list");
    assert_string_equal(count_error(*state, "tp: {a: 1}"),
                        "'tp' must be a whole number from 1 to 1024, not a mapping");
    assert_string_equal(count_error(*state, "tp:"),
                        "'tp' must be a whole number from 1 to 1024, not nothing");
}

static void open_bounds_are_left_out_of_the_message(void **state)
{
    struct fixture *fixture = *state;
    const struct doc_node *root = parse_good(fixture, "[x]");
    int64_t value = 0;
    assert_false(doc_node_count(root->child, 1, INT64_MAX, &value, fixture->diag));
    assert_false(doc_node_count(root->child, INT64_MIN, 5, &value, fixture->diag));
    assert_false(doc_node_count(root->child, INT64_MIN, INT64_MAX, &value, fixture->diag));
    const char *text = printed(fixture);
    assert_contains(text, "this value must be a whole number of at least 1, not 'x'");
    assert_contains(text, "this value must be a whole number of at most 5, not 'x'");
    assert_contains(text, "this value must be a whole number, not 'x'");
}

static void a_bad_quantity_says_what_it_must_be(void **state)
{
    const struct fixture *fixture = *state;
    const struct doc_node *root =
        parse_good(fixture, "bare: 400\nlow: 1 kbps\nlist: [1]\nshare: 1.5\nfast: 1 TB/s\n");
    struct doc_map map;
    double value = 42.0;
    const enum dimension link = DIM_LINK_BYTES_PER_S;
    doc_map_open(&map, root, fixture->diag);
    assert_false(doc_get_quantity(&map, "bare", link, 0.0, 1e12, &value));
    /* 125e6 B/s = 1 Gbps, 1.25e12 B/s = 10 Tbps */
    assert_false(doc_get_quantity(&map, "low", link, 125e6, 1.25e12, &value));
    assert_false(doc_get_quantity(&map, "list", link, 0.0, 1e12, &value));
    assert_false(doc_get_quantity(&map, "share", DIM_FRACTION, 0.0, 1.0, &value));
    assert_false(doc_get_quantity(&map, "fast", DIM_BYTES_PER_S, -1e30, 1e9, &value));
    assert_false(doc_finish(&map));
    assert_close(value, 42.0, 0.0);
    const char *text = printed(fixture);
    assert_contains(text, "a.yaml:1:7: error: 'bare': a bandwidth needs a unit: "
                          "write '400 Gbps' (bits) or '50 GB/s' (bytes)\n"
                          "    1 | bare: 400\n"
                          "      |       ^\n");
    assert_contains(text, "'low' must be from 1 Gbps to 10 Tbps, not '1 kbps'");
    assert_contains(text, "'list' must be a quantity such as '400 Gbps', not a list");
    assert_contains(text, "'share' must be from 0 to 1, not '1.5'");
    assert_contains(text, "'fast' must be at most 1 GB/s, not '1 TB/s'");
}

static void bad_text_bools_and_choices_say_what_they_must_be(void **state)
{
    const struct fixture *fixture = *state;
    const struct doc_node *root =
        parse_good(fixture, "name: [a]\nfailures: yes\nquoted: 'true'\nmode: asnyc\nother: zzz\n");
    static const char *const modes[] = {"sync", "async", "none"};
    struct doc_map map;
    const char *name = NULL;
    bool is_on = false;
    uint32_t mode = 42;
    doc_map_open(&map, root, fixture->diag);
    assert_false(doc_get_text(&map, "name", &name));
    assert_false(doc_get_bool(&map, "failures", &is_on));
    assert_false(doc_get_bool(&map, "quoted", &is_on));
    assert_false(doc_get_choice(&map, "mode", modes, 3, &mode));
    assert_false(doc_get_choice(&map, "other", modes, 3, &mode));
    assert_false(doc_finish(&map));
    assert_int_equal(mode, 42);
    const char *text = printed(fixture);
    assert_contains(text, "'name' must be text, not a list");
    assert_contains(text, "'failures' must be true or false, not 'yes'");
    assert_contains(text, "'quoted' must be true or false, not 'true'");
    assert_contains(text, "4 | mode: asnyc\n      |       ^\n   = help: did you mean 'async'?\n");
    assert_contains(text, "'other' must be sync, async or none, not 'zzz'");
}

static void an_unknown_key_gets_the_nearest_or_all_known_ones(void **state)
{
    const struct fixture *fixture = *state;
    const struct doc_node *root = parse_good(fixture, "bandwith: 1\nzzzzzz: 2\n");
    struct doc_map map;
    doc_map_open(&map, root, fixture->diag);
    assert_null(doc_take(&map, "bandwidth"));
    assert_null(doc_take(&map, "latency"));
    assert_null(doc_take(&map, "latency")); /* listed once all the same */
    assert_false(doc_finish(&map));
    assert_string_equal(printed(fixture), "a.yaml:1:1: error: unknown key 'bandwith'\n"
                                          "    1 | bandwith: 1\n"
                                          "      | ^\n"
                                          "   = help: did you mean 'bandwidth'?\n"
                                          "a.yaml:2:1: error: unknown key 'zzzzzz'\n"
                                          "    2 | zzzzzz: 2\n"
                                          "      | ^\n"
                                          "   = help: known keys: bandwidth, latency\n");
}

static void a_required_key_that_is_missing_is_an_error_at_the_mapping(void **state)
{
    const struct fixture *fixture = *state;
    const struct doc_node *root = parse_good(fixture, "model: {heads: 8}\n");
    struct doc_map map;
    doc_map_open(&map, doc_find(root, "model"), fixture->diag);
    assert_true(doc_require(&map, "heads"));
    assert_false(doc_require(&map, "layers"));
    assert_false(doc_finish(&map));
    assert_contains(printed(fixture), "a.yaml:1:8: error: missing key 'layers'\n");
}

static void what_is_no_mapping_is_reported_once(void **state)
{
    const struct fixture *fixture = *state;
    const struct doc_node *root = parse_good(fixture, "batch: 2048\n");
    struct doc_map map;
    assert_false(doc_map_open(&map, root->child, fixture->diag));
    assert_false(doc_require(&map, "global"));
    assert_null(doc_take(&map, "micro"));
    assert_false(doc_finish(&map));
    assert_int_equal(diag_error_count(fixture->diag), 1);
    assert_string_equal(diag_first_error(fixture->diag),
                        "'batch' must be a mapping (key: value), not '2048'");
}

static void an_absent_mapping_reads_like_an_empty_one(void **state)
{
    const struct fixture *fixture = *state;
    struct doc_map map;
    int64_t value = 42;
    assert_true(doc_map_open(&map, NULL, fixture->diag));
    assert_false(doc_get_count(&map, "micro", 1, 8, &value));
    assert_true(doc_finish(&map));
    assert_false(diag_has_error(fixture->diag));
    assert_false(doc_require(&map, "global"));
    assert_string_equal(printed(fixture), "error: missing key 'global'\n");
}

/* ---- setting ---- */

/* Base document of the tests of doc_set. */
static const char BASE[] = "model: gpt3\nbatch: {global: 8}\nslow: [{rank: 1}, {rank: 2}]\nrun:\n";

static void values_are_set_at_their_path(void **state)
{
    const struct fixture *fixture = *state;
    struct doc_node *root = parse_good(fixture, BASE);
    const char *const sets[] = {"model=llama",       "batch.micro=2",
                                "slow.1.rank=7",     "cluster.nics.bandwidth=100 Gbps",
                                "run.failures=true", "sweep=[1, {a: 'x=y'}]",
                                "batch.global=null"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        assert_true(doc_set(fixture->arena, root, sets[i], fixture->diag));
    }
    assert_string_equal(doc_to_text(fixture->arena, root),
                        "{model: llama, batch: {global: null, micro: 2}, "
                        "slow: [{rank: 1}, {rank: 7}], run: {failures: true}, "
                        "cluster: {nics: {bandwidth: 100 Gbps}}, sweep: [1, {a: \"x=y\"}]}");
    const struct doc_node *node = doc_find(root, "cluster.nics.bandwidth");
    assert_string_equal(node->place.file, "--set cluster.nics.bandwidth=100 Gbps");
    assert_place(&node->place, 0, 0);
    assert_null(node->place.source_text);
    assert_string_equal(node->key_place.file, "--set cluster.nics.bandwidth=100 Gbps");
    assert_place(&doc_find(root, "model")->key_place, 1, 1); /* the key was in the file */
}

static void a_set_value_that_is_wrong_names_its_assignment(void **state)
{
    const struct fixture *fixture = *state;
    struct doc_node *root = parse_good(fixture, BASE);
    struct doc_map map;
    int64_t value = 0;
    assert_true(doc_set(fixture->arena, root, "batch.global=many", fixture->diag));
    doc_map_open(&map, doc_find(root, "batch"), fixture->diag);
    assert_false(doc_get_count(&map, "global", 1, 9, &value));
    assert_string_equal(printed(fixture),
                        "--set batch.global=many: error: 'global' must be a whole number "
                        "from 1 to 9, not 'many'\n");
}

struct bad_set {
    const char *assignment;
    const char *message;
};

static void bad_assignments_are_usage_errors_and_change_nothing(void **state)
{
    static const struct bad_set bad[] = {
        {"model", "a value is missing"},
        {"", "a value is missing"},
        {"=1", "a key is missing in the path"},
        {"a..b=1", "a key is missing in the path"},
        {".a=1", "a key is missing in the path"},
        {"a.=1", "a key is missing in the path"},
        {"model=", "a value is missing after '='"},
        {"model=[1", "did not find expected ',' or ']'"},
        {"model={a: 1, a: 2}", "duplicate key 'a'"},
        {"model=*x", "aliases (*name) are not read"},
        {"model=\xff", "this is not a text file"},
        {"model.layers=1", "'model' is 'gpt3', which has no keys"},
        {"slow.2.rank=1", "'slow' is a list of 2: there is no element '2'"},
        {"slow.x=1", "'slow' is a list of 2: there is no element 'x'"},
    };
    struct fixture *fixture = *state;
    struct doc_node *root = parse_good(fixture, BASE);
    const char *before = doc_to_text(fixture->arena, root);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fixture->diag = diag_new(fixture->arena);
        assert_false(doc_set(fixture->arena, root, bad[i].assignment, fixture->diag));
        assert_string_equal(diag_first_error(fixture->diag), bad[i].message);
        assert_int_equal(diag_exit_status(fixture->diag), 2);
        assert_string_equal(doc_to_text(fixture->arena, root), before);
    }
}

static void path_and_value_together_stay_within_the_levels(void **state)
{
    const struct fixture *fixture = *state;
    struct doc_node *root = parse_good(fixture, "a: 1\n");
    /* Two keys above the value leave 62 of the 64 levels. */
    const char *good = arena_printf(fixture->arena, "b.c=%s", brackets(fixture, 62));
    const char *bad = arena_printf(fixture->arena, "b.d=%s", brackets(fixture, 63));
    assert_true(doc_set(fixture->arena, root, good, fixture->diag));
    assert_false(doc_set(fixture->arena, root, bad, fixture->diag));
    char path[200];
    for (size_t i = 0; i < 198; i++) {
        path[i] = i % 2 == 0 ? 'x' : '.';
    }
    memcpy(path + 197, "=1", 3);
    assert_false(doc_set(fixture->arena, root, path, fixture->diag));
    assert_contains(printed(fixture), "this path is deeper than 64 levels");
}

/* ---- copies and text ---- */

static void a_copy_changes_without_its_original(void **state)
{
    const struct fixture *fixture = *state;
    const struct doc_node *root = parse_good(fixture, BASE);
    const char *before = doc_to_text(fixture->arena, root);
    struct doc_node *copy = doc_copy(fixture->arena, root);
    assert_string_equal(doc_to_text(fixture->arena, copy), before);
    assert_true(doc_set(fixture->arena, copy, "slow.0.rank=99", fixture->diag));
    assert_true(doc_set(fixture->arena, copy, "new.key=1", fixture->diag));
    assert_string_equal(doc_to_text(fixture->arena, root), before);
    assert_string_equal(doc_find(copy, "slow.0.rank")->text, "99");
    assert_string_equal(doc_find(root, "slow.0.rank")->text, "1");
    /* Of a node inside, its siblings are not copied. */
    assert_null(doc_copy(fixture->arena, root->child)->next);
}

static void text_reads_back_as_the_same_tree(void **state)
{
    const struct fixture *fixture = *state;
    const char *const texts[] = {
        "a: {}\nb: []\nc: [[], {}, [1, {x: y}]]\nd: null\n",
        "title: Llama-3 405B on 16,384 H100, 400 Gbps per GPU\n",
        "a: 'true'\nb: true\nc: 'null'\nd: \"\"\ne: '8'\nf: 8\n",
        "a: \"q\\\"\\\\ \\n \\t \\u0001 \\u0085 \\u00a0 \\u2028 \\ufeff\"\n",
        "a: \"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"\n\"k: 1\": |\n  two\n  lines\n",
        "- -1\n- '- x'\n- '#'\n- a:b\n- 'x '\n- http://x/y\n",
        "just text",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *line = doc_to_text(fixture->arena, parse_good(fixture, texts[i]));
        assert_null(strchr(line, '\n'));
        assert_string_equal(doc_to_text(fixture->arena, parse_good(fixture, line)), line);
    }
}

static void trees_that_mean_different_things_have_different_texts(void **state)
{
    const struct fixture *fixture = *state;
    const char *const pairs[][2] = {
        {"a: true", "a: 'true'"}, {"a: null", "a: 'null'"},         {"a: [1, 2]", "a: ['1, 2']"},
        {"a: '{}'", "a: {}"},     {"{a: 1, b: 2}", "{b: 2, a: 1}"}, {"a: ''", "a:"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_string_not_equal(doc_to_text(fixture->arena, parse_good(fixture, pairs[i][0])),
                                doc_to_text(fixture->arena, parse_good(fixture, pairs[i][1])));
    }
}

static void the_text_of_an_inner_node_has_no_key_and_no_siblings(void **state)
{
    const struct fixture *fixture = *state;
    const struct doc_node *root = parse_good(fixture, "a: {b: 1}\nc: 2\nd: 3\n");
    assert_string_equal(doc_to_text(fixture->arena, doc_find(root, "a")), "{b: 1}");
    assert_string_equal(doc_to_text(fixture->arena, doc_find(root, "c")), "2");
}

/* A copy with children of its own loses one; what it was copied from keeps it. What is not there
 * is not missed. */
static void what_is_taken_out_is_out_of_the_copy_alone(void **state)
{
    const struct fixture *fixture = *state;
    const struct doc_node *root = parse_good(fixture, "a: 1\nb: {c: 2}\nd: 3\n");
    static const struct {
        const char *key, *text;
    } cases[] = {
        {"a", "{b: {c: 2}, d: 3}"},
        {"b", "{a: 1, d: 3}"},
        {"d", "{a: 1, b: {c: 2}}"},
        {"c", "{a: 1, b: {c: 2}, d: 3}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct doc_node copy = *root;
        doc_own_children(fixture->arena, &copy);
        doc_drop(&copy, cases[i].key);
        assert_string_equal(doc_to_text(fixture->arena, &copy), cases[i].text);
        assert_string_equal(doc_to_text(fixture->arena, root), "{a: 1, b: {c: 2}, d: 3}");
    }
}

int main(void)
{
#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, make_fixture, end_fixture)
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(what_is_taken_out_is_out_of_the_copy_alone),
        WITH_FIXTURE(every_node_knows_its_place),
        WITH_FIXTURE(columns_count_bytes_also_after_crlf_and_rare_line_ends),
        WITH_FIXTURE(a_byte_order_mark_is_passed_over),
        WITH_FIXTURE(json_is_read),
        WITH_FIXTURE(keys_keep_their_dots_as_text),
        WITH_FIXTURE(words_of_yaml_stay_text),
        WITH_FIXTURE(what_is_not_there_is_not_found),
        WITH_FIXTURE(each_refusal_has_a_place_and_a_message),
        WITH_FIXTURE(all_duplicates_are_reported_in_the_order_of_the_file),
        WITH_FIXTURE(a_nul_byte_makes_a_file_binary),
        WITH_FIXTURE(sixty_four_levels_are_read_and_no_more),
        WITH_FIXTURE(two_hundred_thousand_values_are_read_and_no_more),
        WITH_FIXTURE(many_keys_are_checked_for_duplicates_in_linear_time),
        WITH_FIXTURE(a_file_is_loaded_and_quoted_in_messages),
        WITH_FIXTURE(a_missing_file_and_a_directory_are_told_apart),
        WITH_FIXTURE(a_file_that_may_not_be_read_says_so),
        WITH_FIXTURE(a_file_of_more_than_four_mebibytes_is_refused),
        WITH_FIXTURE(good_values_are_read_and_absent_ones_keep_their_default),
        WITH_FIXTURE(a_bad_count_says_what_it_must_be),
        WITH_FIXTURE(open_bounds_are_left_out_of_the_message),
        WITH_FIXTURE(a_bad_quantity_says_what_it_must_be),
        WITH_FIXTURE(bad_text_bools_and_choices_say_what_they_must_be),
        WITH_FIXTURE(an_unknown_key_gets_the_nearest_or_all_known_ones),
        WITH_FIXTURE(a_required_key_that_is_missing_is_an_error_at_the_mapping),
        WITH_FIXTURE(what_is_no_mapping_is_reported_once),
        WITH_FIXTURE(an_absent_mapping_reads_like_an_empty_one),
        WITH_FIXTURE(values_are_set_at_their_path),
        WITH_FIXTURE(a_set_value_that_is_wrong_names_its_assignment),
        WITH_FIXTURE(bad_assignments_are_usage_errors_and_change_nothing),
        WITH_FIXTURE(path_and_value_together_stay_within_the_levels),
        WITH_FIXTURE(a_copy_changes_without_its_original),
        WITH_FIXTURE(text_reads_back_as_the_same_tree),
        WITH_FIXTURE(trees_that_mean_different_things_have_different_texts),
        WITH_FIXTURE(the_text_of_an_inner_node_has_no_key_and_no_siblings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
