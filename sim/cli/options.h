/* Options that commands share, as argp parsers to be hung into a command's own.
 *
 * A command's input begins with a struct options; its parser passes it on to
 * its children and takes positional arguments:
 *
 *     static error_t parse(int key, char *argument, struct argp_state *state)
 *     {
 *         static const struct options_rule rule = {2, 1, 1, "a file"};
 *         return options_parse_common(key, argument, state, &rule);
 *     }
 *
 * argp itself prints --help and wrong usage, and ends the program (status 0 and 2).
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli/commands.h"
#include "input/catalogue.h"
#include "study/study.h"

#include <argp.h>
#include <stddef.h>

#define OPTIONS_DB_DEFAULT "results/stoker.db"

/* Bits of `given`: which shared options were on the command line. */
enum option_given {
    GIVEN_SET = 1 << 0,
    GIVEN_SEED = 1 << 1,
    GIVEN_FOLD = 1 << 2,
    GIVEN_DB = 1 << 3,
    GIVEN_CATALOGUE = 1 << 4,
    GIVEN_JSON = 1 << 5,
    GIVEN_NO_DB = 1 << 6,
};
#define GIVEN_PREDICTION ((uint32_t)GIVEN_SET | GIVEN_SEED | GIVEN_FOLD)

struct options {
    struct cli *cli;
    const char **arguments; /* positional */
    uint32_t argument_count;
    size_t argument_capacity;
    const char **sets; /* --set and --seed: "path=value" */
    uint32_t set_count;
    size_t set_capacity;
    const char *db_path;
    const char *catalogue_directory; /* NULL: not given */
    const char *row;                 /* --row: an id of a CSV; NULL: not given */
    uint32_t mfu_convention;         /* enum flop_convention */
    bool stores;                     /* false: --no-db */
    bool folds;
    bool is_json;
    bool is_verbose;
    uint32_t given; /* bits of enum option_given */
};

void options_init(struct options *options, struct cli *cli);

/* --json -q -v --catalogue */
extern const struct argp options_general;
/* --set --seed --fold */
extern const struct argp options_prediction;
/* --row; see cli/row.h */
extern const struct argp options_row;
/* --mfu-convention */
extern const struct argp options_convention;
/* --db */
extern const struct argp options_store;
/* All three, as the children of a command's parser. */
extern const struct argp_child options_all[];

struct options_rule {
    uint32_t children; /* of the command's parser; all share its input */
    uint32_t arguments_min;
    uint32_t arguments_max; /* UINT32_MAX: any number */
    const char *wanted;     /* "a scenario file" */
};

/* argp_parse into a command's input; --help and wrong usage end the program there. */
void options_parse(const struct argp *parser, int argc, char **argv, void *input);

/* No option is ignored in silence: wrong usage for each of `useless` (bits of enum option_given)
 * that was given, which has no meaning for `what` ("a stored study"), with the remedy. False if any
 * was. */
MUST_USE bool options_refuse(const struct options *options, uint32_t useless, const char *what,
                             const char *remedy);

/* The same for an option of the command's own. */
MUST_USE bool options_refuse_own(const struct options *options, bool is_given, const char *name,
                                 const char *what, const char *remedy);

/* A whole number from 1 to `max`; else wrong usage, which ends the program. */
int64_t options_count(const char *text, int64_t max, struct argp_state *state);

/* What every command's parser does with arguments and children. */
error_t options_parse_common(int key, char *argument, struct argp_state *state,
                             const struct options_rule *rule);

/* Where catalogue files are looked for: --catalogue, $STOKER_PATH, here, beside the program (a
 * checkout), in the share/ of its prefix, as installed. */
struct catalogue options_catalogue(const struct options *options);

struct study_base options_study_base(const struct options *options,
                                     const struct catalogue *catalogue);

#endif
