/* Scripts that run the shards of a command on many machines, with tools that people have: a Slurm
 * job array, or GNU parallel. They are printed, to be read and kept; nothing is submitted here.
 *
 * Each shard repeats the command with its own options and --shard K/N, from the same folder, with
 * the same program and catalogue, and writes a file of its own; behind all of them one more command
 * makes of these files what a single run would have made. Shards that failed are run again.
 *
 * What users name (paths, --set) goes into the script quoted for the shell: blanks, quotes, dollars
 * and the like stay what they are. A line break cannot be said in a line, and is refused.
 */
#ifndef REPORT_SHARD_SCRIPT_H
#define REPORT_SHARD_SCRIPT_H

#include "base/diag.h"

#include <stdint.h>
#include <stdio.h>

struct arena;

enum { SHARD_SCRIPT_MAX = 1000 /* Slurm's MaxArraySize is 1001 unless a cluster says else */ };

struct shard_script {
    bool is_slurm;          /* else for GNU parallel */
    uint32_t count;         /* of shards; 0: 1,000 pieces each, at least 8 */
    const char *command;    /* that is shared: "sweep" */
    const char *words;      /* its options and files, quoted: " --set=gpus=64 -- file.yaml" */
    const char *jobs;       /* of each shard, where somebody says so; NULL */
    uint32_t piece_count;   /* of what is shared */
    const char *pieces;     /* "points" */
    const char *folder;     /* of the shards' files */
    const char *suffix;     /* of their names: ".db" */
    const char *write;      /* option of a shard that names its file: "--db=" */
    const char *read;       /* what stands before a file where they are joined: "" */
    const char *join;       /* the command that joins them: "merge" */
    const char *join_words; /* behind the files, quoted, each after a blank: " --complete" */
};

/* False with a message: a name has a line break in it. Texts for it are made in the arena. */
MUST_USE bool shard_script_print(struct arena *arena, const struct shard_script *asked, FILE *out,
                                 struct diag *diag);

/* A text as one word of a shell. */
const char *shell_quoted(struct arena *arena, const char *text);

#endif
