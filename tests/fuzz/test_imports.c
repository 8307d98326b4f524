/* Whatever a file of another program holds, it is imported or there is a message with its place,
 * and no assert is met.
 *
 * The kinds are those of foreign/import_kinds, and their seeds the files of tests/unit/data/import
 * that are of a kind: a new kind is tried as soon as a file of it lies there, and until then this
 * test fails. A seed meets up to six changes: bytes flipped, cut out, put twice or taken from
 * another seed, lines lost, doubled or exchanged, numbers made hard, words for others, UTF-8
 * broken, the end cut off. What is then imported reads back: a row of the table of runs, or a
 * document; what is refused printed nothing. Asserts and sanitizers see the rest: under them
 *
 *     make CC=clang MODE=asan build/clang-asan/tests/fuzz/test_imports
 *     build/clang-asan/tests/fuzz/test_imports 3 0 1000000
 *
 * Usage: test_imports [SEED [FIRST [COUNT [KIND]]]]; without arguments seed 1, 6000 files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bands/published_table.h"
#include "base/arena.h"
#include "base/rng.h"
#include "foreign/import_kinds.h"
#include "foreign/logs/log_claims.h"
#include "foreign/logs/log_ranks.h"
#include "input/doc/doc.h"
#include "input/doc/doc_files.h"
#include "input/doc/text_folder.h"
#include "support/temporary.h"

enum { SEEDS_MAX = 256, TEXT_BYTES = 1 << 17, CHANGES_MAX = 6 };

struct seed {
    const struct import_kind *kind;
    const char *path, *text;
};

struct campaign {
    uint64_t seed, first, count;
    const char *only; /* a kind; NULL: all */
    struct seed seeds[SEEDS_MAX];
    uint64_t seed_count;
    struct catalogue catalogue;
    uint64_t imported, refused;
};

static uint64_t roll(struct rng_key *dice, uint64_t bound)
{
    dice->operation++;
    return rng_below(dice, bound);
}

/* ---- seeds ---------------------------------------------------------------------------------- */

static void add_seed(struct campaign *campaign, const struct import_kind *kind, const char *path,
                     const char *text)
{
    const bool is_asked = campaign->only == NULL || strcmp(campaign->only, kind->name) == 0;
    if (is_asked && import_kind_is(kind, text)) {
        assert_true(campaign->seed_count < SEEDS_MAX);
        campaign->seeds[campaign->seed_count++] = (struct seed){kind, path, text};
    }
}

/* Rows of a kind stand together: each file once. */
static void add_seeds(struct campaign *campaign, struct arena *arena)
{
    struct text_folder folder;
    assert_true(text_folder_list(arena, "tests/unit/data/import", &folder, diag_new(arena)));
    const struct import_kind *kind = import_kind_at(0), *before = NULL;
    for (uint32_t row = 0; kind != NULL; before = kind, kind = import_kind_at(++row)) {
        const uint64_t count = campaign->seed_count;
        if (before != NULL && before->function == kind->function) {
            continue;
        }
        for (uint32_t i = 0; i < folder.count; i++) {
            const char *text = temporary_read(arena, folder.files[i]);
            if (text != NULL && strlen(text) < TEXT_BYTES / 2) {
                add_seed(campaign, kind, folder.files[i], text);
            }
        }
        if (campaign->only == NULL && campaign->seed_count == count) {
            print_error("tests/unit/data/import has no file of %s\n", kind->name);
            fail();
        }
    }
}

/* ---- changes -------------------------------------------------------------------------------- */

static void splice(char *text, size_t at, size_t cut, const char *inserted, size_t length)
{
    const size_t whole = strlen(text);
    if (whole - cut + length < TEXT_BYTES) {
        memmove(text + at + length, text + at + cut, whole - at - cut + 1);
        memcpy(text + at, inserted, length);
    }
}

/* A piece of up to `most` bytes; its begin. */
static size_t any_piece(const char *text, size_t most, struct rng_key *dice, size_t *length)
{
    const size_t whole = strlen(text);
    const size_t at = roll(dice, whole + 1);
    const size_t left = whole - at < most ? whole - at : most;
    *length = roll(dice, left + 1);
    return at;
}

/* A line with its end; its begin. */
static size_t any_line(const char *text, struct rng_key *dice, size_t *length)
{
    size_t at = roll(dice, strlen(text) + 1);
    while (at > 0 && text[at - 1] != '\n') {
        at--;
    }
    *length = strcspn(text + at, "\n");
    *length += text[at + *length] == '\n';
    return at;
}

static void change_line(char *text, struct rng_key *dice)
{
    static char line[TEXT_BYTES];
    size_t length, other;
    const size_t at = any_line(text, dice, &length);
    memcpy(line, text + at, length);
    const uint64_t kind = roll(dice, 3);
    if (kind != 1) {
        splice(text, at, length, "", 0);
    }
    if (kind > 0) {
        splice(text, any_line(text, dice, &other), 0, line, length);
    }
}

/* Digits, with the point and the sign among them, become another number. */
static void harden(char *text, struct rng_key *dice)
{
    static const char *const hard[] = {
        "0",
        "-1",
        "1",
        "2",
        "3",
        "7",
        "0.5",
        "00",
        "1e300",
        "-1e9",
        "nan",
        "inf",
        "1e9",
        "999999999999999",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551616",
        "4294967296",
        "2147483648",
        "65536",
        "1e-320",
        "0x10",
        "1,000",
        "1.2.3",
        "-",
        "",
        "100000000",
        "1000000",
        "99999999999999999999999999999999999999999999999999999999999999"};
    const size_t at = roll(dice, strlen(text) + 1);
    const size_t begin = at + strcspn(text + at, "0123456789");
    const size_t length = strspn(text + begin, "0123456789.");
    const char *number = hard[roll(dice, sizeof hard / sizeof *hard)];
    if (length > 0) {
        splice(text, begin, length, number, strlen(number));
    }
}

static void break_letters(char *text, struct rng_key *dice)
{
    static const char *const broken[] = {"\xc3",
                                         "\xff\xfe",
                                         "\xed\xa0\x80",
                                         "\xf8\x88\x80\x80\x80",
                                         "\xef\xbb\xbf",
                                         "\xe2\x80",
                                         "\xc0\x80",
                                         "\x1b[31m",
                                         "\x1b[",
                                         "\r",
                                         "\x7f",
                                         "\t",
                                         "\\",
                                         "\"",
                                         "'",
                                         "[",
                                         "]",
                                         "{",
                                         "}",
                                         "<",
                                         ">",
                                         "=",
                                         ":",
                                         "|",
                                         ",",
                                         "#",
                                         "&#0;",
                                         "*",
                                         "- ",
                                         "%n",
                                         "\n",
                                         "\n\n",
                                         "   "};
    const char *piece = broken[roll(dice, sizeof broken / sizeof *broken)];
    splice(text, roll(dice, strlen(text) + 1), 0, piece, strlen(piece));
}

static void take_piece(char *text, const char *from, struct rng_key *dice)
{
    static char piece[TEXT_BYTES];
    size_t length, cut;
    const size_t begin = any_piece(from, 200, dice, &length);
    memcpy(piece, from + begin, length);
    const size_t at = any_piece(text, 40, dice, &cut);
    splice(text, at, cut, piece, length);
}

static void change(const struct campaign *campaign, char *text, struct rng_key *dice)
{
    size_t length;
    const size_t at = any_piece(text, 60, dice, &length);
    switch (roll(dice, 10)) {
    case 0:
        text[roll(dice, strlen(text) + 1)] = '\0';
        break;
    case 1:
        splice(text, at, length, "", 0);
        break;
    case 2:
        take_piece(text, text, dice);
        break;
    case 3:
        take_piece(text, campaign->seeds[roll(dice, campaign->seed_count)].text, dice);
        break;
    case 4:
        if (text[at] != '\0') {
            text[at] = (char)(1 + roll(dice, 255));
        }
        break;
    case 5:
        break_letters(text, dice);
        break;
    case 6:
    case 7:
        change_line(text, dice);
        break;
    default:
        harden(text, dice);
        break;
    }
}

/* ---- reading -------------------------------------------------------------------------------- */

/* What a user may have said beside the file. */
static struct importer any_importer(const struct campaign *campaign, struct arena *arena,
                                    struct rng_key *dice)
{
    static const char *const gpus[] = {NULL, "h100-sxm5-80gb", "a100-sxm4-80gb", "gb200-nvl72"};
    return (struct importer){
        .gpu = gpus[roll(dice, 4)],
        .nics = roll(dice, 3) == 0 ? 0 : 8,
        .gpus_per_node = roll(dice, 4) == 0 ? 0 : 8,
        .nic_bytes_per_s = roll(dice, 4) == 0 ? 0 : 50e9,
        .nvlink_bytes_per_s = roll(dice, 2) == 0 ? 0 : 25e9,
        .oversubscription = roll(dice, 4) == 0 ? 0 : 2.0,
        .gpus = roll(dice, 2) == 0 ? 0 : 16,
        .nodes = roll(dice, 3) == 0 ? 2 : 0,
        .run = roll(dice, 8) == 0 ? 2 : 0,
        .skip = (int64_t)roll(dice, 3) - 1,
        .cluster = roll(dice, 2) == 0 ? NULL : "h100-3200",
        .arena = arena,
        .diag = diag_new(arena),
        .catalogue = &campaign->catalogue,
    };
}

/* A line that the text has, unless the message is of an option or the whole file. */
static bool has_place(const struct diag *diag, const char *text)
{
    const struct place *place = diag_first_error_place(diag);
    uint32_t lines = 1;
    for (const char *at = text; *at != '\0'; at++) {
        lines += *at == '\n';
    }
    return diag_exit_status(diag) == 2 || (place != NULL && place->line <= lines);
}

static bool reads_back(struct arena *arena, const struct import_kind *kind, const char *out)
{
    struct diag *diag = diag_new(arena);
    if ((kind->bit & IMPORT_LOGS) == 0) {
        return doc_parse(arena, "out.yaml", out, strlen(out), diag) != NULL;
    }
    const struct text_file file = {.path = "out.csv", .text = out, .length = strlen(out)};
    const struct published_table *table = published_parse(arena, &file, diag);
    return table != NULL && table->row_count == 1 && diag_is_empty(diag);
}

static const char *wrong_of(struct arena *arena, const struct import_kind *kind,
                            const struct importer *importer, const char *out, bool was_imported)
{
    const int status = diag_exit_status(importer->diag);
    return was_imported && status != 0                     ? "imported, with an error"
           : was_imported && !reads_back(arena, kind, out) ? "imported, and does not read back"
           : was_imported                                  ? NULL
           : status < 2 || status > 4
               ? "refused, with a status that is not the file's or the plan's"
           : out[0] != '\0'                                  ? "refused, with output"
           : !has_place(importer->diag, importer->file.text) ? "refused without a place"
                                                             : NULL;
}

/* As the log of another rank, after the seed: it agrees, or there is a place in it. */
static void hold_against(const struct seed *seed, struct importer *importer)
{
    struct log_ranks ranks = log_ranks_new(importer, seed->kind->reader);
    const struct text_file first = {
        .path = seed->path, .text = seed->text, .length = strlen(seed->text)};
    assert_true(log_ranks_add(&ranks, &first));
    if (!log_ranks_add(&ranks, &importer->file)) {
        assert_non_null(ranks.what);
        assert_true(ranks.at < importer->file.length);
    }
}

static void try_text(struct campaign *campaign, const struct seed *seed, const char *text,
                     struct rng_key *dice)
{
    const struct import_kind *kind = seed->kind;
    struct arena *arena = arena_new();
    struct importer importer = any_importer(campaign, arena, dice);
    char *out = NULL, *told = NULL;
    size_t length = 0, told_length = 0;
    importer.file = (struct text_file){.path = "a.txt", .text = text, .length = strlen(text)};
    importer.out = open_memstream(&out, &length);
    FILE *messages = open_memstream(&told, &told_length);
    assert_true(importer.out != NULL && messages != NULL);
    bool was_imported = text_file_check(&importer.file, importer.diag);
    if (was_imported) {
        (void)import_kind_of_file(&importer.file, UINT32_MAX, diag_new(arena));
        (void)log_claims_of(arena, &importer.file);
        if (kind->files == FILES_RANKS) {
            hold_against(seed, &importer);
        }
        was_imported = kind->function(&importer);
    }
    fclose(importer.out);
    diag_print(importer.diag, messages);
    fclose(messages);
    const char *wrong = wrong_of(arena, kind, &importer, out, was_imported);
    if (wrong != NULL) {
        print_error("number %llu of seed %llu, a %s, is %s:\n%s\n--- messages\n%s--- printed\n%s\n",
                    (unsigned long long)dice->rank, (unsigned long long)campaign->seed, kind->name,
                    wrong, text, told, out);
        fail();
    }
    campaign->imported += was_imported;
    campaign->refused += !was_imported;
    free(out);
    free(told);
    arena_free(arena);
}

static void try_number(struct campaign *campaign, uint64_t number)
{
    static char text[TEXT_BYTES];
    struct rng_key dice = {.seed = campaign->seed, .stream = rng_stream("imports"), .rank = number};
    const struct seed *seed = &campaign->seeds[number % campaign->seed_count];
    snprintf(text, sizeof text, "%s", seed->text);
    for (uint64_t changes = roll(&dice, CHANGES_MAX + 1); changes > 0; changes--) {
        change(campaign, text, &dice);
    }
    try_text(campaign, seed, text, &dice);
}

/* A tenth at least is imported, so that both ways are tried. */
static void whatever_it_holds_a_file_is_imported_or_has_a_message(void **state)
{
    struct campaign *campaign = *state;
    struct arena *arena = arena_new();
    campaign->catalogue =
        (struct catalogue){.directories = {"."}, .count = 1, .files = doc_files_new(arena)};
    add_seeds(campaign, arena);
    assert_true(campaign->seed_count > 0);
    for (uint64_t i = 0; i < campaign->count; i++) {
        try_number(campaign, campaign->first + i);
    }
    print_message("seed %llu: %llu imported, %llu refused\n", (unsigned long long)campaign->seed,
                  (unsigned long long)campaign->imported, (unsigned long long)campaign->refused);
    assert_true(campaign->count < 1000 || campaign->only != NULL ||
                campaign->imported > campaign->count / 10);
    arena_free(arena);
}

int main(int argc, char **argv)
{
    static struct campaign campaign;
    campaign.seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    campaign.first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    campaign.count = argc > 3 ? strtoull(argv[3], NULL, 10) : 6000;
    campaign.only = argc > 4 ? argv[4] : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(whatever_it_holds_a_file_is_imported_or_has_a_message, &campaign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
