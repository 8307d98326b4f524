/* What commands do with their options: the kinds of them, the tables that several share, and what
 * follows from them.
 *
 * A command's input begins with a struct options; its own options have their place behind it:
 *
 *     struct merger {
 *         struct options options;
 *         const char *into;
 *     };
 *     static const struct command_option own[] = {
 *         {"into", 0, "FILE", "Write there", OPTION_TEXT(struct merger, into)}, {0}};
 *
 * argp itself prints --help and wrong usage, and ends the program (status 0 and 2).
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli/commands.h"
#include "input/catalogue.h"

#include <argp.h>
#include <stddef.h>

#define OPTIONS_DB_DEFAULT "results/stoker.db"

struct text_list {
    const char **items;
    uint32_t count;
    size_t capacity;
};

/* An option as it was written. */
struct option_use {
    const struct command_option *option;
    const char *argument; /* NULL: without */
};

struct options {
    struct cli *cli;
    const struct command *command;
    uint64_t given;          /* bits, by the options' numbers in the command's tables */
    struct option_use *uses; /* in order */
    uint32_t use_count;
    size_t use_capacity;
    struct text_list arguments; /* positional */
    struct text_list sets;      /* --set and --seed: "path=value" */
    const char *db_path;
    const char *catalogue_directory; /* NULL: not given */
    const char *anchor;              /* --anchor; NULL: not given */
    const char *row;                 /* --row: an id of a CSV; NULL: not given */
    uint32_t mfu_convention;         /* enum flop_convention */
    const char *tables;              /* --tables: the directory of them; NULL */
    uint32_t style;                  /* --format, an enum sheet_style: a table alone, or all text */
    bool any_software;               /* --any-software */
    bool folds;
    bool forgets; /* --no-db */
    bool is_json;
    bool is_quiet;
    bool is_verbose;
    bool is_wide;
};

/* ---- kinds: how an argument is read, and where it goes ---- */

option_reader option_text;     /* const char * */
option_reader option_list;     /* struct text_list; may be repeated */
option_reader option_flag;     /* bool; takes no argument */
option_reader option_bare;     /* nothing: options_given says whether it was */
option_reader option_count;    /* int64_t, least to most */
option_reader option_quantity; /* double in SI, least to most */
option_reader option_choice;   /* uint32_t, the number of a word */

/* A reader of the command's own, and an option of which only options_given tells. */
#define OPTION_OWN(reader, input, member) .read = (reader), .offset = offsetof(input, member)
#define OPTION_BARE .read = option_bare
#define OPTION_(kind, input, member) .read = option_##kind, .offset = offsetof(input, member)
#define OPTION_TEXT(input, member) OPTION_(text, input, member)
#define OPTION_LIST(input, member) OPTION_(list, input, member)
#define OPTION_FLAG(input, member) OPTION_(flag, input, member)
#define OPTION_COUNT(input, member, from, to) \
    OPTION_(count, input, member), .least = (from), .most = (to)
#define OPTION_QUANTITY(input, member, kind, from, to) \
    OPTION_(quantity, input, member), .dimension = (kind), .least = (from), .most = (to)
#define OPTION_CHOICE(input, member, names, count) \
    OPTION_(choice, input, member), .words = (names), .most = (count)

/* The number of a word, with the nearest one when there is none: "there is no algorithm 'rnig'". */
option_reader option_name;
#define OPTION_NAME(input, member, names, count) \
    OPTION_(name, input, member), .words = (names), .most = (count)

/* ---- tables that commands share ---- */

extern const struct command_option options_general[];    /* --json -q -v --catalogue */
extern const struct command_option options_prediction[]; /* --set --seed --fold --any-software */
extern const struct command_option options_row[];        /* --row; see cli/row.h */
extern const struct command_option options_convention[]; /* --mfu-convention */
extern const struct command_option options_store[];      /* --db */
extern const struct command_option options_no_store[];   /* --no-db, of those that write it */
extern const struct command_option options_table[];      /* --format, of those with one table */
extern const struct command_option options_page[];       /* --wide, of all that options_print() */

#define OPTIONS_APART                   \
    {                                   \
        .help = "General:", .group = -1 \
    } /* in front of options_general */

/* ---- what follows ---- */

/* Its help with its subject in it. */
const char *option_help(struct arena *arena, const struct command_option *option);

/* The words that it is one of, or begins with; none: NULL. */
const char *const *option_words(const struct command_option *option, uint32_t *count);

bool options_given(const struct options *options, const char *name);

/* No option is ignored in silence: wrong usage for each of the names in `useless` ("set seed") that
 * was given, which has no meaning for `what` ("a stored study"), with the remedy. False if any
 * was. */
MUST_USE bool options_refuse(const struct options *options, const char *useless, const char *what,
                             const char *remedy);

/* The document, the text, which is fitted to the terminal without --wide, or as --format says the
 * first of its tables alone, on stdout; all of them as files, where --tables says so. */
struct sheet;
struct yaml_page;
void options_print(const struct options *options, struct sheet *sheet);

/* yaml_page_end() with a message where it fails (report/yaml_page.h). */
MUST_USE bool options_yaml_end(const struct options *options, struct yaml_page *page);

/* Where catalogue files are looked for: --catalogue, $STOKER_PATH, here, beside the program (a
 * checkout), in the share/ of its prefix, as installed; inside it, last. */
struct catalogue options_catalogue(const struct options *options);
/* The same, where --verbose has told of it, or others will. */
struct catalogue options_catalogue_again(const struct options *options);

struct study_base options_study_base(const struct options *options,
                                     const struct catalogue *catalogue);

/* Who finds what is auto: for whoever loads a scenario (input/study/auto_layout). */
struct auto_hook options_auto_hook(const struct options *options,
                                   const struct catalogue *catalogue);

void text_list_add(struct arena *arena, struct text_list *list, const char *text);

#endif
