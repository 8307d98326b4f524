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
#ifndef CLI_MANY_LAUNCH_H
#define CLI_MANY_LAUNCH_H

#include "cli/many/shards.h"

/* What a command that can be shared has in its input: one of these, and its options. */
struct many {
    struct shard shard;
    uint32_t slurm;    /* shards; 0: as many as launch_shards finds right */
    uint32_t parallel; /* the same */
};

/* A count from 1 to LAUNCH_SHARDS_MAX, or nothing. */
option_reader launch_read_count;

enum { LAUNCH_SHARDS_MAX = 1000 /* Slurm's MaxArraySize is 1001 unless a cluster says else */ };

#define MANY_OPTIONS(input, member, shard_help, pieces)                                     \
    {"shard", 0, "K/N", shard_help, OPTION_OWN(shards_read, input, member.shard)},          \
        {"slurm",                                                                           \
         0,                                                                                 \
         "N",                                                                               \
         "Run nothing: print a script for Slurm that runs N shards (default: 1,000 " pieces \
         " each, at least 8) as a job array, runs those again that failed, and joins them", \
         .is_optional = true,                                                               \
         OPTION_OWN(launch_read_count, input, member.slurm)},                               \
    {                                                                                       \
        "parallel", 0, "N",                                                                 \
            "Run nothing: print a script that does so with GNU parallel, on this machine "  \
            "or, with the script's option -S HOST,..., on others over ssh",                 \
            .is_optional = true, OPTION_OWN(launch_read_count, input, member.parallel)      \
    }

/* What is launched. */
struct launch {
    uint32_t piece_count;
    const char *pieces;     /* "points" */
    const char *folder;     /* of the shards' files */
    const char *suffix;     /* of their names: ".db" */
    const char *write;      /* option of a shard that names its file: "--db=" */
    const char *read;       /* what stands before a file where they are joined: "" */
    const char *join;       /* the command that joins them: "merge" */
    const char *join_words; /* behind the files, quoted, each after a blank: " --complete" */
    const char *leave;      /* options that shards do without: " db quiet " */
};

/* --slurm or --parallel was given. */
bool launch_is_wanted(const struct options *options);

/* Prints the script on stdout; an exit status. */
int launch_print(const struct options *options, const struct many *many,
                 const struct launch *launch);

/* A text as one word of a shell. */
const char *launch_quote(struct arena *arena, const char *text);

/* The options and files of the command line as words, quoted, but for options whose names are in
 * `leave`, " db quiet ". */
const char *launch_words(const struct options *options, const char *leave);

#endif
