/* Fitted values put into the files of the catalogue, at their places.
 *
 * Only the text of the number changes, and `provenance:` beside it becomes fitted. A key that the
 * file lacks is put first in its section; a section that it lacks, at the end of the file with the
 * constant's source. Comments and layout stay.
 */
#ifndef LAB_FIT_FIT_WRITE_H
#define LAB_FIT_FIT_WRITE_H

#include "lab/fit/fit.h"

struct catalogue;

struct fit_change {
    const char *path, *key;
    const char *before; /* NULL: it was not there */
    const char *after;
};

struct fit_changes {
    struct fit_change *items;
    uint32_t count; /* values that stayed the same are not among them */
    size_t capacity;
};

/* Values that rows told. False after a diagnosis: what was written before it stays. */
MUST_USE bool fit_write(struct arena *arena, const struct catalogue *catalogue,
                        const struct fit *fit, struct fit_changes *changes, struct diag *diag);

#endif
