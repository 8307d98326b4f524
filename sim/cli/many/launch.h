/* The options --shard, --slurm and --parallel, and the script that they ask for
 * (report/shard_script).
 */
#ifndef CLI_MANY_LAUNCH_H
#define CLI_MANY_LAUNCH_H

#include "cli/many/shards.h"
#include "report/shard_script.h"

/* What a command that can be shared has in its input: one of these, and its options. */
struct many {
    struct shard shard;
    uint32_t slurm;    /* shards; 0: as many as report/shard_script finds right */
    uint32_t parallel; /* the same */
};

/* A count from 1 to SHARD_SCRIPT_MAX, or nothing. */
option_reader launch_read_count;

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

/* --slurm or --parallel was given. */
bool launch_is_wanted(const struct options *options);

/* Prints the script on stdout; an exit status. `asked` is but for what options say: which script,
 * how many shards, the command and its words, without the options of `leave`. */
int launch_print(const struct options *options, const struct many *many,
                 const struct shard_script *asked, const char *leave);

/* The options and files of the command line as words, quoted, but for options whose names are in
 * `leave`, " db quiet ". */
const char *launch_words(const struct options *options, const char *leave);

#endif
