/* A cookie of glibc (fopencookie) stands between the two streams: what comes is deflated into a
 * buffer, which is written when it is full.
 */
#define _GNU_SOURCE
#define ZLIB_CONST

#include "base/gzip.h"

#include "base/arena.h"
#include "base/check.h"

#include <errno.h>
#include <stdint.h>

#include <zlib.h>

enum { BUFFER_BYTES = 65536, WINDOW_OF_GZIP = 15 + 16, MEMORY_USUAL = 8 };

struct packer {
    z_stream deflation;
    FILE *out;
    unsigned char *buffer;
};

static void *take(void *context, unsigned count, unsigned size_bytes)
{
    return arena_array(context, count, size_bytes);
}

static void leave(void *context, void *memory)
{
    (void)context;
    (void)memory;
}

/* What is given to deflate, which may keep some of it until the end. */
static bool pack(struct packer *packer, int flush)
{
    z_stream *deflation = &packer->deflation;
    bool is_full = true;
    while (is_full) {
        deflation->next_out = packer->buffer;
        deflation->avail_out = BUFFER_BYTES;
        const int status = deflate(deflation, flush);
        sim_assert(status != Z_STREAM_ERROR);
        const size_t count = BUFFER_BYTES - deflation->avail_out;
        if (fwrite(packer->buffer, 1, count, packer->out) != count) {
            return false;
        }
        is_full = deflation->avail_out == 0;
    }
    return true;
}

static ssize_t write_packed(void *cookie, const char *bytes, size_t count)
{
    struct packer *packer = cookie;
    packer->deflation.next_in = (const unsigned char *)bytes;
    packer->deflation.avail_in = (unsigned)count;
    return pack(packer, Z_NO_FLUSH) ? (ssize_t)count : 0;
}

static int close_packed(void *cookie)
{
    struct packer *packer = cookie;
    packer->deflation.avail_in = 0;
    return pack(packer, Z_FINISH) && ferror(packer->out) == 0 ? 0 : EOF;
}

FILE *gzip_begin(struct arena *arena, FILE *out)
{
    struct packer *packer = arena_alloc(arena, sizeof *packer);
    *packer = (struct packer){
        .deflation = {.zalloc = take, .zfree = leave, .opaque = arena},
        .out = out,
        .buffer = arena_alloc(arena, BUFFER_BYTES),
    };
    const int status = deflateInit2(&packer->deflation, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                                    WINDOW_OF_GZIP, MEMORY_USUAL, Z_DEFAULT_STRATEGY);
    sim_assert(status == Z_OK);
    FILE *packed = fopencookie(
        packer, "w", (cookie_io_functions_t){.write = write_packed, .close = close_packed});
    if (packed == NULL) {
        arena_out_of_memory();
    }
    return packed;
}

bool gzip_end(FILE *packed)
{
    const bool is_good = ferror(packed) == 0;
    const bool is_closed = fclose(packed) == 0;
    return is_good && is_closed;
}
