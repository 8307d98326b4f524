/* Whatever a config.json holds, it is read or there is a message, and no assert is met.
 *
 * The files are those of tests/unit/data/import/hf_types.txt and hf_refused.txt, with up to four
 * changes: a value made hard or put under another's key, a key lost, told twice, or with a name
 * from another file, another model_type, all of it in a text_config (up to 100 deep), the end cut
 * off. What is then read is read as a model, whose parameters are positive and no fewer than those
 * that a token meets. Asserts and sanitizers see the rest: under them
 *
 *     make CC=clang MODE=asan build/clang-asan/tests/fuzz/test_hf_config
 *     build/clang-asan/tests/fuzz/test_hf_config 3 0 1000000
 *
 * Usage: test_hf_config [SEED [FIRST [COUNT]]]; without arguments seed 1, 20000 files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "input/formats/hf_config.h"
#include "plan/cost.h"
#include "support/temporary.h"

enum { FILES_MAX = 128, TEXT_BYTES = 16384, KEY_BYTES = 128 };

struct campaign {
    uint64_t seed, first, count;
    uint64_t read, refused;
    const char *files[FILES_MAX];
    uint64_t file_count;
};

static uint64_t roll(struct rng_key *dice, uint64_t bound)
{
    dice->operation++;
    return rng_below(dice, bound);
}

/* ---- files ----------------------------------------------------------------------------- */

/* The JSON of each line: from its first brace to its last. */
static void add_files(struct campaign *campaign, struct arena *arena, const char *path)
{
    const char *line = temporary_read(arena, path);
    assert_non_null(line);
    while (*line != '\0') {
        const size_t length = strcspn(line, "\n");
        const size_t begin = strcspn(line, "{\n");
        size_t end = length;
        while (end > begin && line[end - 1] != '}') {
            end--;
        }
        if (line[0] != '#' && end > begin && campaign->file_count < FILES_MAX) {
            campaign->files[campaign->file_count++] =
                arena_strndup(arena, line + begin, end - begin);
        }
        line += length + (line[length] == '\n');
    }
}

/* ---- changes ------------------------------------------------------------------------------ */

static void splice(char *text, char *at, size_t cut, const char *inserted)
{
    const size_t length = strlen(inserted);
    const size_t rest = strlen(at + cut) + 1;
    if ((size_t)(at - text) + length + rest <= TEXT_BYTES) {
        memmove(at + length, at + cut, rest);
        memcpy(at, inserted, length);
    }
}

/* The quote before a key at or behind a place that is drawn; NULL: there is none. */
static char *any_key(char *text, struct rng_key *dice)
{
    char *colon = strstr(text + roll(dice, strlen(text)), "\": ");
    char *at = colon;
    while (at != NULL && at > text && at[-1] != '"') {
        at--;
    }
    return at != NULL && at > text ? at - 1 : NULL;
}

static size_t value_length(const char *value)
{
    const size_t text = value[0] == '"' ? 1 + strcspn(value + 1, "\"") + 1 : 0;
    return text > 0 ? text : strcspn(value, ",}]");
}

static void harden(char *text, struct rng_key *dice)
{
    static const char *const hard[] = {"0",
                                       "-1",
                                       "1",
                                       "2",
                                       "3",
                                       "7",
                                       "0.5",
                                       "1e300",
                                       "-1e9",
                                       ".nan",
                                       ".inf",
                                       "1e9",
                                       "1000000000",
                                       "9223372036854775807",
                                       "10000",
                                       "65536",
                                       "1e-320",
                                       "999983",
                                       "true",
                                       "false",
                                       "null",
                                       "[]",
                                       "{}",
                                       "[1, 0]",
                                       "\"\"",
                                       "\"a\"",
                                       "\"1\"",
                                       "[[1], {\"a\": 2}]",
                                       "{\"a\": {\"b\": []}}",
                                       "[\"sliding_attention\"]",
                                       "\"sliding_attention\""};
    char *key = any_key(text, dice);
    if (key != NULL) {
        char *value = strstr(key, "\": ") + 3;
        splice(text, value, value_length(value), hard[roll(dice, sizeof hard / sizeof *hard)]);
    }
}

/* The key and its value, or as many characters. */
static void lose_key(char *text, struct rng_key *dice)
{
    char *key = any_key(text, dice);
    if (key != NULL) {
        const size_t length = strcspn(key, ",}");
        splice(text, key, length + (key[length] == ',' && key[length + 1] == ' ' ? 2 : 0), "");
    }
}

static void rename_key(char *text, const char *other, struct rng_key *dice)
{
    char source[TEXT_BYTES];
    char name[KEY_BYTES] = "num_layers";
    snprintf(source, sizeof source, "%s", other);
    const char *from = any_key(source, dice);
    if (from != NULL && strcspn(from + 1, "\"") < sizeof name) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(from + 1, "\""), from + 1);
    }
    char *key = any_key(text, dice);
    if (key != NULL) {
        splice(text, key + 1, strcspn(key + 1, "\""), name);
    }
}

/* The value of one file's model_type becomes that of another. */
static void change_type(char *text, const char *other)
{
    char *type = strstr(text, "\"model_type\": \"");
    const char *from = strstr(other, "\"model_type\": \"");
    char name[KEY_BYTES];
    if (type != NULL && from != NULL) {
        const size_t begin = strlen("\"model_type\": \"");
        snprintf(name, sizeof name, "%.*s", (int)strcspn(from + begin, "\""), from + begin);
        splice(text, type + begin, strcspn(type + begin, "\""), name);
    }
}

static void nest(char *text, uint64_t depth)
{
    for (uint64_t i = 0; i < depth; i++) {
        const size_t length = strlen(text);
        if (length + 64 > TEXT_BYTES) {
            return;
        }
        splice(text, text + length, 0, "}");
        splice(text, text, 0, "{\"model_type\": \"llava\", \"text_config\": ");
    }
}

static void change(const struct campaign *campaign, char *text, struct rng_key *dice)
{
    const char *other = campaign->files[roll(dice, campaign->file_count)];
    switch (roll(dice, 12)) {
    case 0:
        text[roll(dice, strlen(text))] = '\0';
        break;
    case 1:
        lose_key(text, dice);
        break;
    case 2:
        rename_key(text, other, dice);
        break;
    case 3:
        change_type(text, other);
        break;
    case 4:
        nest(text, roll(dice, 8) == 0 ? roll(dice, 100) : 1);
        break;
    case 5:
        text[roll(dice, strlen(text))] = (char)(1 + roll(dice, 255));
        break;
    default:
        harden(text, dice);
        break;
    }
    if (text[0] == '\0') {
        snprintf(text, TEXT_BYTES, "{}");
    }
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool is_read(struct arena *arena, const char *text, struct diag *diag)
{
    const struct doc_node *root = doc_parse(arena, "config.json", text, strlen(text), diag);
    const struct doc_node *node =
        root != NULL ? hf_config_read(arena, root, "fuzz/config.json", diag) : NULL;
    struct assumptions assumptions;
    struct model model = {0};
    assumptions_init(&assumptions, arena);
    if (node == NULL || !model_read(node, &model, &assumptions, diag)) {
        return false;
    }
    const struct parameter_count count = cost_parameters(&model);
    assert_true(count.total > 0);
    assert_true(count.active > 0 && count.active <= count.total);
    return true;
}

static void try_number(struct campaign *campaign, uint64_t number)
{
    static char text[TEXT_BYTES];
    struct arena *arena = arena_new();
    struct rng_key dice = {
        .seed = campaign->seed, .stream = rng_stream("hf config"), .rank = number};
    snprintf(text, sizeof text, "%s", campaign->files[roll(&dice, campaign->file_count)]);
    for (uint64_t changes = roll(&dice, 5); changes > 0; changes--) {
        change(campaign, text, &dice);
    }
    struct diag *diag = diag_new(arena);
    const bool was_read = is_read(arena, text, diag);
    if (was_read == diag_has_error(diag)) {
        print_error("number %llu of seed %llu is %s:\n%s\n", (unsigned long long)number,
                    (unsigned long long)campaign->seed,
                    was_read ? "read, with an error" : "refused without a message", text);
        fail();
    }
    FILE *nowhere = fopen("/dev/null", "w"); /* messages are made when they are printed */
    assert_non_null(nowhere);
    diag_print(diag, nowhere);
    fclose(nowhere);
    campaign->read += was_read;
    campaign->refused += !was_read;
    arena_free(arena);
}

/* Of files with up to four changes a sixth is read: both ways are tried. */
static void whatever_it_holds_a_config_is_read_or_has_a_message(void **state)
{
    struct campaign *campaign = *state;
    struct arena *arena = arena_new();
    add_files(campaign, arena, "tests/unit/data/import/hf_types.txt");
    add_files(campaign, arena, "tests/unit/data/import/hf_refused.txt");
    assert_true(campaign->file_count > 50);
    for (uint64_t i = 0; i < campaign->count; i++) {
        try_number(campaign, campaign->first + i);
    }
    print_message("seed %llu: %llu read, %llu refused\n", (unsigned long long)campaign->seed,
                  (unsigned long long)campaign->read, (unsigned long long)campaign->refused);
    assert_true(campaign->count < 1000 || campaign->read > campaign->count / 20);
    arena_free(arena);
}

int main(int argc, char **argv)
{
    struct campaign campaign = {
        .seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1,
        .first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
        .count = argc > 3 ? strtoull(argv[3], NULL, 10) : 20000,
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(whatever_it_holds_a_config_is_read_or_has_a_message, &campaign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
