/* The room cli: what is asked, in whose words, and where the answer goes.
 *
 * Invariant: A command reads its options into a struct, has a lower room compute and report write,
 * and ends with a status. It computes nothing itself; one that fails has said why.
 *
 * Lives here: programs and their commands, options, progress, the reference that is made of them.
 * May come in: base, des, input, plan, hw, train, run, store, bands, study, measured, foreign,
 * report.
 *
 * Decided in one place each:
 *     which commands there are, in which order               commands.c
 *     what an option is called, and what it takes            options.c, a command's own row
 *     what is said of what is going on, and where            progress.h
 *     what happens before and after a command                program.c
 *     how a study is run, stored and shown                   study/session.h
 *     what pages and completion are made of                  reference/reference.h
 */

/* Programs and their commands: one table each, a row a command, which says all that a user can
 * write behind the name.
 *
 * A command is a file with a `struct command`: its words, its tables of options, and the function
 * that runs once they are read. Adding one is that file and a row in commands.c; what parses,
 * --help, `stoker help` and the shell's completion all read these rows.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "base/diag.h"
#include "base/units.h"

#include <stddef.h>

/* Exit statuses; 0 is good. diag's worst message decides where there is one. */
enum {
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_INPUT = 3,
    EXIT_INFEASIBLE = 4,
    EXIT_FAILED_POINTS = 5
};

struct argp_state;
struct arena;
struct options;
struct command_option;
struct command;

/* Its commands are in the order in which --help lists them. */
struct program {
    const char *name;    /* "stoker" */
    const char *summary; /* what its manual calls it */
    const char *about;   /* sentences */
    const char *example; /* a command to begin with */
    const struct command *const *commands;
    uint32_t command_count;
    bool has_files; /* its manual has a page for each kind of file that users write */
};

/* What every command works with. Its messages are printed by main, on stderr. */
struct cli {
    const struct program *program;
    struct arena *arena;
    struct diag *diag;
    bool is_quiet; /* -q: no notes, warnings, progress */
};

/* Takes an option's argument into the command's input. Wrong usage ends the program there. */
typedef void option_reader(const struct command_option *option, const char *argument, void *input,
                           struct argp_state *state);

/* An option, or a heading for those below it, of which the last may be of group -1: then its
 * options stand by themselves. A table ends with a row of zeros. */
struct command_option {
    const char *name;     /* --NAME; NULL: a heading */
    int letter;           /* 'o' for -o; 0: none */
    const char *argument; /* "FILE"; NULL: takes none */
    const char *help;     /* or the heading */
    option_reader *read;  /* see the kinds in cli/options.h, which fill in what follows */
    size_t offset;        /* of its place in the command's input */
    double least, most;   /* of a number */
    enum dimension dimension;
    const char *const *words; /* to choose from: `most` of them */
    /* Or what a text begins with, for completion, from a table of a lower room. */
    const char *const *(*words_of)(uint32_t *count);
    const char *(*subject)(struct arena *arena); /* what "%s" in the help stands for */
    bool is_needed;
    bool is_optional; /* the argument: --NAME or --NAME=ARGUMENT */
    int group;        /* of a heading */
    uint32_t kinds;   /* bits of what it is for, where a command has kinds of input (import) */
};

enum { COMMAND_TABLES_MAX = 12, COMMANDS_MAX = 64 /* of a program */ };

/* Which arguments are files of scenarios, which may be said by name (cli/study/named.h). */
enum command_scenarios {
    SCENARIOS_NONE,
    SCENARIOS_FIRST,
    SCENARIOS_LAST,
    SCENARIOS_ALL,
    SCENARIOS_ALSO, /* all, that may be something else, too */
};

struct command {
    const char *name;
    const char *summary;   /* one line for the list */
    const char *arguments; /* "FILE"; a line for each way to write them */
    const char *about;     /* what it does; behind \v examples and statuses */
    const struct command_option *options[COMMAND_TABLES_MAX + 1]; /* up to a NULL */
    uint32_t arguments_min;
    uint32_t arguments_max; /* UINT32_MAX: any number */
    const char *wanted;     /* "a scenario file" */
    enum command_scenarios scenarios;
    const struct command *sub;
    const char *elsewhere; /* the command of another program that it is now; NULL: it is here */
    size_t input_size;     /* of a struct that begins with a struct options; 0: that alone */
    const void *defaults;  /* what the input holds to begin with; NULL: zeros */
    /* Returns the exit status, unless an error in the diag says another. */
    int (*run)(struct options *options);
};

/* The Makefile gives it to each main: "commit 12345678, ", with -dirty behind the digits where
 * files were changed since; "" where the sources lie in no git repository. For whoever looks:
 * results are named by their sources alone, or each commit of a document would make all of them
 * anew. */
#ifndef STOKER_COMMIT
#define STOKER_COMMIT ""
#endif

/* All that main does: finds the command, runs it, prints its messages, and sees that all output
 * arrived. Returns the exit status. */
int program_run(const struct program *program, const char *commit, int argc, char **argv);

/* NULL when there is none of that name. */
const struct command *command_find(const struct program *program, const char *name);

/* The name of the command nearest to `name`, or NULL. */
const char *command_nearest(const struct program *program, const char *name);

/* What it does, with what is common to commands of its kind; behind \v as command.about. */
const char *command_about(struct arena *arena, const struct command *command);

/* Reads the options into an input of the command's own and runs it. argv[0] is "stoker NAME";
 * --help and wrong usage end the program. */
int command_start(const struct command *command, struct cli *cli, int argc, char **argv);

extern const struct program program_stoker;

extern const struct command command_run;
extern const struct command command_compare;
extern const struct command command_sweep;
extern const struct command command_search;
extern const struct command command_whatif;
extern const struct command command_why;
extern const struct command command_quote;
extern const struct command command_budget;
extern const struct command command_diff;
extern const struct command command_audit;
extern const struct command command_new;
extern const struct command command_merge;
extern const struct command command_collective;
extern const struct command command_plot;
extern const struct command command_trace;
extern const struct command command_report;
extern const struct command command_list;
extern const struct command command_show;
extern const struct command command_explain;
extern const struct command command_import;
extern const struct command command_validate;
extern const struct command command_calibrate;
extern const struct command command_help;

#endif
