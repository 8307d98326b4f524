/* A stream of the C library, and zlib behind it where the first bytes are gzip's. zlib's memory is
 * the arena's, so that nothing has to be freed on any way out.
 */
#include "input/doc/text_source.h"

#include "base/arena.h"
#include "base/built_in.h"
#include "base/path.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <zlib.h>

enum { CHUNK_BYTES = 65536, WINDOW_OF_GZIP = 15 + 16 };

struct text_source {
    struct place place; /* of the whole file */
    FILE *stream;
    size_t size_bytes; /* 0: not known */
    bool is_stdin;
    bool is_gzip;
    bool is_over; /* nothing comes any more */
    z_stream inflation;
    char *chunk;           /* CHUNK_BYTES as they are in the file */
    size_t begin, end;     /* what of them has not been taken */
    uint64_t bytes_before; /* that were given */
};

const char *text_source_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

size_t text_source_bytes(const struct text_source *source)
{
    return source->is_gzip ? 0 : source->size_bytes;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* What errno says about a file, rather than about the machine. */
static bool is_about_file(int reason)
{
    return reason == ENOENT || reason == ENOTDIR || reason == EACCES || reason == EPERM ||
           reason == ELOOP || reason == ENAMETOOLONG || reason == EISDIR;
}

/* A pipe that has a name would be waited for until somebody writes. */
static bool is_readable(const char *path, const struct stat *status)
{
    return S_ISREG(status->st_mode) ||
           (S_ISFIFO(status->st_mode) &&
            (strncmp(path, "/dev/fd/", 8) == 0 || strcmp(path, "/dev/stdin") == 0));
}

bool text_source_exists(const char *path)
{
    struct stat status;
    return strcmp(path, "-") == 0 || built_in_find(path) != NULL ||
           (stat(path, &status) == 0 ? is_readable(path, &status) : !is_about_file(errno));
}

static bool refuse(const struct place *place, int reason, struct diag *diag)
{
    return diag_add(diag, is_about_file(reason) ? DIAG_INPUT : DIAG_FAILURE, place,
                    "this file cannot be read: %s", strerror(reason));
}

static bool check_file(const struct place *place, struct text_source *source, struct diag *diag)
{
    const struct built_in_file *own = built_in_find(place->file);
    struct stat status;
    if (own != NULL) {
        source->size_bytes = own->size_bytes;
        return true;
    }
    if (stat(place->file, &status) != 0) {
        return errno == ENOENT ? diag_add(diag, DIAG_INPUT, place, "no such file")
                               : refuse(place, errno, diag);
    }
    if (S_ISDIR(status.st_mode)) {
        return diag_add(diag, DIAG_INPUT, place, "this is a directory, not a file");
    }
    if (!is_readable(place->file, &status)) {
        return diag_add(diag, DIAG_INPUT, place, "this is not a regular file");
    }
    source->size_bytes = S_ISREG(status.st_mode) ? (size_t)status.st_size : 0;
    return true;
}

/* More behind what has not been taken. */
static bool fill(struct text_source *source, struct diag *diag)
{
    const size_t kept = source->end - source->begin;
    memmove(source->chunk, source->chunk + source->begin, kept);
    source->begin = 0;
    source->end = kept + fread(source->chunk + kept, 1, CHUNK_BYTES - kept, source->stream);
    return ferror(source->stream) == 0 ||
           diag_add(diag, DIAG_FAILURE, &source->place, "this file cannot be read to its end");
}

/* ---- what it is ------------------------------------------------------------------------------ */

/* What other programs compressed, by its first bytes. */
static bool check_others(const struct text_source *source, struct diag *diag)
{
    static const struct {
        const char *begin, *program, *undo;
    } others[] = {{"\x28\xb5\x2f\xfd", "zstd", "zstd -dc"},
                  {"\xfd"
                   "7zXZ",
                   "xz", "xz -dc"},
                  {"BZh", "bzip2", "bzip2 -dc"},
                  {"\x04\x22\x4d\x18", "lz4", "lz4 -dc"},
                  {"PK\x03\x04", "zip", "unzip -p"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const size_t length = strlen(others[i].begin);
        if (source->end >= length && memcmp(source->chunk, others[i].begin, length) == 0) {
            diag_add(diag, DIAG_INPUT, &source->place, "this file is compressed by %s",
                     others[i].program);
            diag_help(diag,
                      "%s FILE | stoker ... -, which reads standard input; of compressed "
                      "files only gzip's are read",
                      others[i].undo);
            return false;
        }
    }
    return true;
}

static void *take_memory(void *arena, unsigned count, unsigned size_bytes)
{
    return arena_array(arena, count, size_bytes);
}

static void keep_memory(void *arena, void *memory)
{
    (void)arena;
    (void)memory;
}

static void begin_gzip(struct text_source *source, struct arena *arena)
{
    source->inflation = (z_stream){.zalloc = take_memory, .zfree = keep_memory, .opaque = arena};
    source->is_gzip = true;
    const int status = inflateInit2(&source->inflation, WINDOW_OF_GZIP);
    sim_assert(status == Z_OK);
}

static bool is_gzip_at(const char *bytes, size_t length)
{
    return length >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0;
}

struct text_source *text_source_open(struct arena *arena, const char *path, struct diag *diag)
{
    struct text_source *source = arena_alloc(arena, sizeof *source);
    source->place = (struct place){.file = text_source_name(path)};
    source->is_stdin = strcmp(path, "-") == 0;
    if (!source->is_stdin && !check_file(&source->place, source, diag)) {
        return NULL;
    }
    source->stream = source->is_stdin ? stdin : path_open(path);
    if (source->stream == NULL) {
        refuse(&source->place, errno, diag);
        return NULL;
    }
    if (source->is_stdin && feof(source->stream) != 0) {
        diag_add(diag, DIAG_INPUT, &source->place, "standard input was read to its end before");
        diag_help(diag, "'-' may stand once in a command");
        return NULL;
    }
    source->chunk = arena_room(arena, CHUNK_BYTES, 1);
    if (!fill(source, diag) || !check_others(source, diag)) {
        text_source_close(source);
        return NULL;
    }
    if (is_gzip_at(source->chunk, source->end)) {
        begin_gzip(source, arena);
    }
    return source;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static bool refuse_gzip(const struct text_source *source, int status, struct diag *diag)
{
    const uintmax_t bytes = source->bytes_before;
    if (status == Z_OK) {
        diag_add(diag, DIAG_INPUT, &source->place,
                 "this gzip file was cut off, after %ju bytes of text", bytes);
        diag_help(diag, "copy it whole; what is there of it: zcat FILE | stoker ... -");
        return false;
    }
    const char *why = source->inflation.msg;
    diag_add(diag, DIAG_INPUT, &source->place,
             "this gzip file is damaged, after %ju bytes of text: %s", bytes,
             why != NULL ? why : "it needs a dictionary");
    diag_help(diag, "copy it anew, `gzip -t FILE` tests it; what is there of it: "
                    "zcat FILE | stoker ... -");
    return false;
}

/* Another member may follow, or zeros of a tape; what else does is no part of it, for gzip too. */
static bool end_member(struct text_source *source, struct diag *diag)
{
    if (source->end - source->begin < 2 && !fill(source, diag)) {
        return false;
    }
    const char *rest = source->chunk + source->begin;
    const size_t length = source->end - source->begin;
    source->is_over = !is_gzip_at(rest, length) || inflateReset(&source->inflation) != Z_OK;
    if (source->is_over && length > 0 && rest[0] != '\0') {
        diag_add(diag, DIAG_WARNING, &source->place,
                 "behind the end of its gzip data stands something else; it is left out");
    }
    return true;
}

/* What zlib makes of the chunk; Z_BUF_ERROR, which is none: there was too little to go on. */
static int inflate_chunk(struct text_source *source, char *bytes, size_t room, size_t *length)
{
    z_stream *inflation = &source->inflation;
    const uInt out = room < CHUNK_BYTES ? (uInt)room : CHUNK_BYTES;
    inflation->next_in = (Bytef *)source->chunk + source->begin;
    inflation->avail_in = (uInt)(source->end - source->begin);
    inflation->next_out = (Bytef *)bytes;
    inflation->avail_out = out;
    const int status = inflate(inflation, Z_NO_FLUSH);
    source->begin = source->end - inflation->avail_in;
    *length = out - inflation->avail_out;
    return status == Z_BUF_ERROR ? Z_OK : status;
}

static bool read_gzip(struct text_source *source, char *bytes, size_t room, size_t *length,
                      struct diag *diag)
{
    for (*length = 0; *length == 0 && !source->is_over;) {
        if (source->begin == source->end && !fill(source, diag)) {
            return false;
        }
        const bool is_drained = source->begin == source->end;
        const int status = inflate_chunk(source, bytes, room, length);
        const bool is_cut = status == Z_OK && *length == 0 && is_drained;
        source->bytes_before += *length;
        if (is_cut || (status != Z_OK && status != Z_STREAM_END)) {
            return refuse_gzip(source, status, diag);
        }
        if (status == Z_STREAM_END && !end_member(source, diag)) {
            return false;
        }
    }
    return true;
}

bool text_source_read(struct text_source *source, char *bytes, size_t room, size_t *length,
                      struct diag *diag)
{
    if (source->is_gzip) {
        return read_gzip(source, bytes, room, length, diag);
    }
    if (source->begin == source->end && !fill(source, diag)) {
        return false;
    }
    const size_t left = source->end - source->begin;
    *length = left < room ? left : room;
    memcpy(bytes, source->chunk + source->begin, *length);
    source->begin += *length;
    return true;
}

void text_source_close(struct text_source *source)
{
    if (!source->is_stdin) {
        fclose(source->stream);
    }
}
