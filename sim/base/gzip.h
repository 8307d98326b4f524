/* A stream of the C library that packs what is written to it, as gzip does, and writes that to
 * another one. The same text is packed to the same bytes: neither a name nor a time goes with it.
 *
 *     FILE *packed = gzip_begin(arena, out);
 *     fputs("...", packed);
 *     const bool is_good = gzip_end(packed);
 *
 * zlib's memory is the arena's, so that nothing has to be freed on any way out.
 */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

#include "base/diag.h"

#include <stdbool.h>
#include <stdio.h>

/* `out` stays open, and the caller's. */
FILE *gzip_begin(struct arena *arena, FILE *out);

/* Packs what is left and closes the stream. False: something could not be written; errno says
 * why. */
MUST_USE bool gzip_end(FILE *packed);

#endif
