/* Texts that are not whole: lines of a log that are left out, files that follow one another. */
#include "input/doc/text_file.h"

#include "base/arena.h"
#include "foreign/import_kinds.h"
#include "input/doc/text_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "support/temporary.h"

#define DATA "tests/unit/data/import"

/* Of six lines the first stands within the 3 bytes that are kept whole, then those with a c. */
static bool is_letter_c(const void *context, struct text_span line)
{
    (void)context;
    return text_span_find(line, "c") != NULL;
}

static void what_is_left_out_of_a_text_moves_no_place(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    const char *folder = temporary_new(arena);
    const char *path = arena_printf(arena, "%s/lines.txt", folder);
    temporary_write(path, "aa\nbb\ncc 1\nd\ne\n  cc 2");
    const struct text_sieve sieve = {3, is_letter_c, NULL};
    struct text_file file;
    assert_true(text_file_stream(arena, path, &sieve, &file, diag));
    assert_string_equal(file.text, "aa\ncc 1\n  cc 2");
    static const struct {
        const char *word;
        uint32_t line, column;
    } places[] = {{"aa", 1, 1}, {"cc 1", 3, 1}, {"cc 2", 6, 3}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const struct place place = text_file_place(&file, strstr(file.text, places[i].word));
        assert_int_equal(place.line, places[i].line);
        assert_int_equal(place.column, places[i].column);
        diag_add(diag, DIAG_WARNING, &place, "here");
    }
    char printed[1024] = "";
    FILE *out = fmemopen(printed, sizeof printed, "w");
    diag_print(diag, out);
    fclose(out);
    assert_non_null(strstr(printed, "lines.txt:6:3: warning: here\n    6 |   cc 2\n      |   ^\n"));
    temporary_remove(folder);
    arena_free(arena);
}

static void files_that_are_joined_keep_their_names_and_lines(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct text_file files[] = {{.path = "a", .text = "one\ntwo", .length = 7},
                                      {.path = "b", .text = "three\nfour\n", .length = 11}};
    const struct text_file joined = text_file_join(arena, files, 2);
    assert_string_equal(joined.text, "one\ntwo\nthree\nfour\n");
    const struct place two = text_file_place(&joined, strstr(joined.text, "wo"));
    const struct place four = text_file_place(&joined, strstr(joined.text, "four"));
    assert_string_equal(two.file, "a");
    assert_int_equal(two.line, 2);
    assert_int_equal(two.column, 2);
    assert_string_equal(four.file, "b");
    assert_int_equal(four.line, 2);
    arena_free(arena);
}

static bool is_not_x(const void *context, struct text_span line)
{
    (void)context;
    return text_span_find(line, "x") == NULL;
}

/* Lines of 0 to 96 bytes, four blocks of the index long; a third is left out behind 1000 bytes. A
 * place is found by the walk from the begin, too: line N of the file begins with "N ". */
static void places_of_a_long_text_are_those_of_its_lines(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    const char *folder = temporary_new(arena);
    const char *path = arena_printf(arena, "%s/long.txt", folder);
    char *text = arena_alloc(arena, 1 << 20);
    size_t length = 0;
    for (int line = 1; length < 4 * 65536; line++) {
        const int more = snprintf(text + length, 200, "%d %.*s%s\n", line, line * 7 % 90,
                                  "........................................................."
                                  ".................................",
                                  line % 3 == 0 ? "x" : "");
        length += (size_t)more;
    }
    temporary_write(path, text);
    const struct text_sieve sieve = {1000, is_not_x, NULL};
    struct text_file whole, sifted;
    assert_true(text_file_load(arena, path, 1 << 20, &whole, diag));
    assert_true(text_file_stream(arena, path, &sieve, &sifted, diag));
    assert_true(sifted.length < whole.length && sifted.part_count > 1000);
    const struct text_file *const files[] = {&whole, &sifted};
    for (size_t i = 0; i < 2; i++) {
        for (const char *next = files[i]->text; next != NULL;) {
            const struct text_span line = text_line(next, &next);
            const struct place place = text_file_place(files[i], line.end);
            assert_int_equal(place.line, strtol(line.begin, NULL, 10));
            assert_int_equal(place.column, (line.end - line.begin) + 1);
            assert_ptr_equal(place.source_text, line.begin);
        }
    }
    temporary_remove(folder);
    arena_free(arena);
}

/* ---- gzip ------------------------------------------------------------------------------------ */

enum { PACKED_BYTES = 1 << 16 };

static size_t pack(const char *text, char *packed)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)text, .avail_in = (uInt)strlen(text)};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_out = (Bytef *)packed;
    stream.avail_out = PACKED_BYTES;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    const size_t length = stream.total_out;
    deflateEnd(&stream);
    return length;
}

static void write_bytes(const char *path, const char *bytes, size_t length)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, length, out), length);
    fclose(out);
}

/* Read, or refused as the user's to put right. */
static bool load_packed(const char *path, const char *text)
{
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    struct text_file file;
    const bool is_good = text_file_load(arena, path, 1 << 20, &file, diag);
    assert_int_equal(diag_exit_status(diag), is_good ? 0 : 3);
    const bool is_whole = is_good && strcmp(file.text, text) == 0;
    arena_free(arena);
    return is_whole;
}

/* A checksum ends each member: what was changed is refused, but for what the header says of the
 * file (its time, system and flags: ten bytes), and what was cut off always, but for the first two
 * bytes, by which it is known. */
static void a_gzip_file_that_is_not_whole_is_refused(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *folder = temporary_new(arena);
    const char *path = arena_printf(arena, "%s/a.gz", folder);
    char *text = arena_alloc(arena, 8000), *packed = arena_alloc(arena, PACKED_BYTES);
    for (size_t length = 0; length < 7900;) {
        length += (size_t)snprintf(text + length, 60, "step %zu took %zu ms\n", length / 19,
                                   length * 7919 % 1000);
    }
    const size_t length = pack(text, packed);
    write_bytes(path, packed, length);
    assert_true(load_packed(path, text));
    for (size_t cut = 2; cut < length; cut += 13) {
        write_bytes(path, packed, cut);
        assert_false(load_packed(path, text));
    }
    for (size_t at = 10; at < length; at += 5) {
        packed[at] = (char)(packed[at] ^ (1 << at % 8));
        write_bytes(path, packed, length);
        assert_false(load_packed(path, text));
        packed[at] = (char)(packed[at] ^ (1 << at % 8));
    }
    temporary_remove(folder);
    arena_free(arena);
}

/* ---- a log of which only the lines that a reader looks at are kept -------- */

static bool is_wanted(const void *context, struct text_span line)
{
    const struct import_kind *kind = context;
    return kind->wants(line);
}

static const char *imported(struct arena *arena, const struct import_kind *kind,
                            const struct text_file *file)
{
    static const struct catalogue catalogue = {.directories = {"."}, .count = 1};
    char *text = NULL;
    size_t length = 0;
    struct importer importer = {.gpu = "h100-sxm5-80gb",
                                .skip = -1,
                                .arena = arena,
                                .diag = diag_new(arena),
                                .catalogue = &catalogue,
                                .file = *file,
                                .out = open_memstream(&text, &length)};
    const bool is_good = kind->function(&importer);
    diag_print(importer.diag, importer.out);
    fclose(importer.out);
    const char *all = arena_printf(arena, "%s%s", is_good ? "" : "refused\n", text);
    free(text);
    return all;
}

/* What a kind does not want changes nothing, messages and their places included: whole and with
 * every line asked for, each log of tests gives the same. */
static void a_reader_misses_no_line_that_is_left_out(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    struct text_folder folder;
    uint32_t count = 0;
    assert_true(text_folder_list(arena, DATA, &folder, diag));
    const struct import_kind *kind = import_kind_at(0);
    for (uint32_t row = 0; kind != NULL; kind = import_kind_at(++row)) {
        for (uint32_t i = 0; i < folder.count && kind->wants != NULL; i++) {
            const struct text_sieve sieve = {0, is_wanted, kind};
            struct text_file whole, sifted;
            assert_true(text_file_load(arena, folder.files[i], 1 << 20, &whole, diag));
            assert_true(text_file_stream(arena, folder.files[i], &sieve, &sifted, diag));
            if (import_kind_is(kind, whole.text) && whole.text[0] != '{') {
                assert_string_equal(imported(arena, kind, &whole), imported(arena, kind, &sifted));
                count++;
            }
        }
    }
    assert_true(count >= 6);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_of_a_text_moves_no_place),
        cmocka_unit_test(places_of_a_long_text_are_those_of_its_lines),
        cmocka_unit_test(files_that_are_joined_keep_their_names_and_lines),
        cmocka_unit_test(a_gzip_file_that_is_not_whole_is_refused),
        cmocka_unit_test(a_reader_misses_no_line_that_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
