/* The kinds of `stoker import`: a row each, with what a file of the kind has in it.
 *
 * A file tells its kind: marks that stand in one line, or apart in the file. Of several rows the
 * first counts; another one's line in the same file is told, for then there are two files in one.
 */
#ifndef FOREIGN_IMPORT_KINDS_H
#define FOREIGN_IMPORT_KINDS_H

#include "foreign/import.h"

/* Which kinds an option is of. */
enum import_bit {
    IMPORT_HF = 1,
    IMPORT_NCCL_TESTS = 2,
    IMPORT_NCCL_TOPO = 4,
    IMPORT_TOPO_M = 8,
    IMPORT_SLURM = 16,
    IMPORT_LOGS = 32, /* which tell the whole run */
    IMPORT_STEPS = 64,
    IMPORT_IBNET = 128,
    IMPORT_SACCT = 256,
    IMPORT_LAUNCH = 512,
    IMPORT_NODES = IMPORT_NCCL_TOPO | IMPORT_TOPO_M,
    IMPORT_CLUSTERS = IMPORT_NODES | IMPORT_SLURM | IMPORT_IBNET
};

struct import_kind {
    const char *name;
    import_function *function;
    uint32_t bit;
    const char *marks[2]; /* a file of the kind has both; none: it is known otherwise */
    bool stand_apart;     /* not in one line */
    bool yields;          /* a file of another kind may hold it: a log that echoes its command */
    char begins;          /* the first letter of such a file; '\0': any */
};

/* A kind may have several rows, which stand together. NULL behind the last. */
const struct import_kind *import_kind_at(uint32_t index);

/* NULL, with a usage error, when there is none of that name. */
const struct import_kind *import_kind_find(const struct importer *importer, const char *name);

/* The first row of one of the kinds (bits) whose marks stand in the text, and where in *at; NULL:
 * none. */
const struct import_kind *import_kind_of(const char *text, uint32_t bits, const char **at);

/* The kind of a file, with a note; NULL with a message: nobody's, or two kinds in one. */
MUST_USE const struct import_kind *import_kind_recognise(const struct importer *importer);

#endif
