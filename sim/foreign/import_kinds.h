/* The kinds of `stoker import`: a row each, with what a file of the kind has in it.
 *
 * A file tells its kind: marks that stand in one line, or apart in the file. Of several rows the
 * first counts; another one's line in the same file is told, for then there are two files in one.
 */
#ifndef FOREIGN_IMPORT_KINDS_H
#define FOREIGN_IMPORT_KINDS_H

#include "foreign/import.h"

struct log_reader;

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
    IMPORT_POWER = 1024,
    IMPORT_NODES = IMPORT_NCCL_TOPO | IMPORT_TOPO_M,
    IMPORT_CLUSTERS = IMPORT_NODES | IMPORT_SLURM | IMPORT_IBNET
};

/* What is made of several files of a kind that lie in one folder. */
enum import_files {
    FILES_ONE,   /* one is read; several are told */
    FILES_EACH,  /* each is read */
    FILES_RANKS, /* of one run: the last that has its steps, and those with its settings */
};

struct import_kind {
    const char *name;
    import_function *function;
    uint32_t bit;
    const char *marks[2]; /* a file of the kind has both; none: it is known otherwise */
    bool stand_apart;     /* not in one line */
    bool yields;          /* a file of another kind may hold it: a log that echoes its command */
    char begins;          /* the first letter of such a file; '\0': any */
    enum import_files files;
    const char *head;                /* of FILES_RANKS: settings stand in a file with this */
    const struct log_reader *reader; /* of FILES_RANKS */
    import_wants *wants; /* lines of a log; NULL: a file is read whole, or refused for its size */
};

/* A kind may have several rows, which stand together. NULL behind the last. */
const struct import_kind *import_kind_at(uint32_t index);

/* NULL, with a usage error, when there is none of that name. */
const struct import_kind *import_kind_find(const struct importer *importer, const char *name);

/* "hf, nccl-topo, ... or step-log" */
const char *import_kind_words(struct arena *arena);

/* The first row of one of the kinds (bits) whose marks stand in the text, and where in *at; NULL:
 * none. */
const struct import_kind *import_kind_of(const char *text, uint32_t bits, const char **at);

/* The text is of that kind. */
bool import_kind_is(const struct import_kind *kind, const char *text);

/* Of which of the kinds the file is, logs of steps included; NULL: of none, or, with a message, of
 * two. */
const struct import_kind *import_kind_of_file(const struct text_file *file, uint32_t bits,
                                              struct diag *diag);

/* Reads what is at `path`, a file, "-" or a folder, into importer->file or ->files, and says what
 * was taken. Logs of ranks that contradict each other are refused (logs/log_ranks). The kind is the
 * named one, or what the file tells (NULL). NULL with a message: it cannot be read, it is nobody's,
 * or there are two kinds in it. The importer has its catalogue. */
MUST_USE const struct import_kind *import_open(struct importer *importer, const char *path,
                                               const struct import_kind *named);

/* A log of a training run, for who does not ask of which trainer, with what it says of the run
 * (log_claims). False with a message. */
MUST_USE bool import_open_log(struct importer *importer, const char *path);

#endif
