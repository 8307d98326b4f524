/* Each group of shared options is an argp parser of its own, and a command
 * lists those that it takes. The checks that argp cannot make (how many
 * arguments, which options exclude each other) follow after parsing.
 */
#include "cli/options.h"

#include "base/arena.h"
#include "base/version.h"
#include "plan/cost.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void options_init(struct options *options, struct cli *cli)
{
    *options =
        (struct options){.cli = cli, .db_path = OPTIONS_DB_DEFAULT, .stores = true, .folds = true};
}

/* ---- general ------------------------------------------------------------- */

enum {
    KEY_SEED = 0x100,
    KEY_FOLD,
    KEY_DB,
    KEY_CATALOGUE,
    KEY_JSON,
    KEY_SET,
    KEY_CONVENTION,
    KEY_ROW
};

static const struct argp_option general_list[] = {
    {"json", KEY_JSON, NULL, 0, "One JSON document instead of text", 0},
    {"catalogue", KEY_CATALOGUE, "DIR", 0,
     "Look for models/ and topologies/ in DIR first, then in $STOKER_PATH, here, beside the "
     "program, "
     "and where stoker is installed",
     0},
    {"quiet", 'q', NULL, 0, "No notes, warnings or progress", 0},
    {"verbose", 'v', NULL, 0, "Say where things are looked for", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_general(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_JSON:
        options->given |= GIVEN_JSON;
        options->is_json = true;
        return 0;
    case KEY_CATALOGUE:
        options->given |= GIVEN_CATALOGUE;
        options->catalogue_directory = argument;
        return 0;
    case 'q':
        options->cli->is_quiet = true;
        return 0;
    case 'v':
        options->is_verbose = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp options_general = {.options = general_list, .parser = parse_general};

/* ---- prediction ----------------------------------------------------------- */

static const struct argp_option prediction_list[] = {
    {"set", KEY_SET, "PATH=VALUE", 0,
     "Set any key, as in the file: --set gpus=512 --set cluster.network=\"400 Gbps\" (of a node; "
     "cluster.nics.bandwidth is of a NIC); may be repeated",
     0},
    {"seed", KEY_SEED, "N", 0, "The same as --set seed=N", 0},
    {"fold", KEY_FOLD, "auto|off", 0,
     "off: simulate every GPU, also those that cannot be told apart (same result, slower)", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static void add_set(struct options *options, const char *assignment)
{
    options->sets = arena_grow(options->cli->arena, options->sets, &options->set_capacity,
                               options->set_count + 1, sizeof *options->sets);
    options->sets[options->set_count++] = assignment;
}

static error_t parse_prediction(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_SET:
        if (strchr(argument, '=') == NULL) {
            argp_error(state, "--set needs PATH=VALUE, not '%s'", argument);
        }
        add_set(options, argument);
        options->given |= GIVEN_SET;
        return 0;
    case KEY_SEED:
        options->given |= GIVEN_SEED;
        add_set(options, arena_printf(options->cli->arena, "seed=%s", argument));
        return 0;
    case KEY_FOLD:
        options->given |= GIVEN_FOLD;
        options->folds = strcmp(argument, "auto") == 0;
        if (!options->folds && strcmp(argument, "off") != 0) {
            argp_error(state, "--fold is auto or off, not '%s'", argument);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp options_prediction = {.options = prediction_list, .parser = parse_prediction};

/* ---- rows of a table ------------------------------------------------------- */

static const struct argp_option row_list[] = {
    {"row", KEY_ROW, "ID", 0,
     "FILE is a CSV of measured runs, as `stoker validate` reads it: take this row's scenario", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_row(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    if (key != KEY_ROW) {
        return ARGP_ERR_UNKNOWN;
    }
    options->row = argument;
    return 0;
}

const struct argp options_row = {.options = row_list, .parser = parse_row};

/* ---- convention ------------------------------------------------------------- */

static const struct argp_option convention_list[] = {
    {"mfu-convention", KEY_CONVENTION, "NAME", 0,
     "Give mfu as papers count it, too: causal (ours), megatron, palm, 6nd", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_convention(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    if (key != KEY_CONVENTION) {
        return ARGP_ERR_UNKNOWN;
    }
    for (uint32_t i = 0; i < FLOP_CONVENTION_COUNT_; i++) {
        if (strcmp(argument, flop_convention_names[i]) == 0) {
            options->mfu_convention = i;
            return 0;
        }
    }
    argp_error(state, "--mfu-convention is causal, megatron, palm or 6nd, not '%s'", argument);
    return 0;
}

const struct argp options_convention = {.options = convention_list, .parser = parse_convention};

/* ---- store ------------------------------------------------------------------ */

static const struct argp_option store_list[] = {
    {"db", KEY_DB, "FILE", 0, "Results file (default " OPTIONS_DB_DEFAULT ")", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_store(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    if (key != KEY_DB) {
        return ARGP_ERR_UNKNOWN;
    }
    options->db_path = argument;
    options->given |= GIVEN_DB;
    options->stores = true;
    return 0;
}

const struct argp options_store = {.options = store_list, .parser = parse_store};

const struct argp_child options_all[] = {
    {&options_prediction, 0, NULL, 0},
    {&options_store, 0, NULL, 0},
    {&options_general, 0, NULL, 0},
    {NULL, 0, NULL, 0},
};

/* ---- all commands ------------------------------------------------------------ */

static void add_argument(struct options *options, const char *argument)
{
    options->arguments =
        arena_grow(options->cli->arena, options->arguments, &options->argument_capacity,
                   options->argument_count + 1, sizeof *options->arguments);
    options->arguments[options->argument_count++] = argument;
}

/* Wrong usage ends inside argp; what comes back is that it got no memory. */
void options_parse(const struct argp *parser, int argc, char **argv, void *input)
{
    if (argp_parse(parser, argc, argv, 0, NULL, input) != 0) {
        arena_out_of_memory();
    }
}

int64_t options_count(const char *text, int64_t max, struct argp_state *state)
{
    char *end = NULL;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || value < 1 || value > max) {
        argp_error(state, "'%s' is not a number from 1 to %lld", text, (long long)max);
    }
    return value;
}

bool options_refuse_own(const struct options *options, bool is_given, const char *name,
                        const char *what, const char *remedy)
{
    struct diag *diag = options->cli->diag;
    if (is_given) {
        diag_add(diag, DIAG_USAGE, NULL, "%s has no meaning for %s", name, what);
        diag_help(diag, "%s", remedy);
    }
    return !is_given;
}

bool options_refuse(const struct options *options, uint32_t useless, const char *what,
                    const char *remedy)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {
        {GIVEN_SET, "--set"},     {GIVEN_SEED, "--seed"},           {GIVEN_FOLD, "--fold"},
        {GIVEN_DB, "--db"},       {GIVEN_CATALOGUE, "--catalogue"}, {GIVEN_JSON, "--json"},
        {GIVEN_NO_DB, "--no-db"},
    };
    bool is_good = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const bool is_given = (options->given & useless & names[i].bit) != 0;
        is_good = options_refuse_own(options, is_given, names[i].name, what, remedy) && is_good;
    }
    return is_good;
}

error_t options_parse_common(int key, char *argument, struct argp_state *state,
                             const struct options_rule *rule)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        for (uint32_t i = 0; i < rule->children; i++) {
            state->child_inputs[i] = state->input;
        }
        return 0;
    case ARGP_KEY_ARG:
        if (options->argument_count == rule->arguments_max) {
            argp_error(state, "too many arguments: '%s'", argument);
        }
        add_argument(options, argument);
        return 0;
    case ARGP_KEY_END:
        if (options->argument_count < rule->arguments_min) {
            argp_error(state, "%s is needed", rule->wanted);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool is_same_directory(const char *one, const char *other)
{
    struct stat a;
    struct stat b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static void note_directory(const struct options *options, struct catalogue *catalogue,
                           const char *directory)
{
    if (directory == NULL || directory[0] == '\0') {
        return;
    }
    for (uint32_t i = 0; i < catalogue->count; i++) {
        if (is_same_directory(catalogue->directories[i], directory)) {
            return; /* in a checkout, "here" is beside the program */
        }
    }
    sim_assert(catalogue->count < CATALOGUE_DIRECTORIES_MAX);
    catalogue->directories[catalogue->count++] = directory;
    if (options->is_verbose) {
        diag_add(options->cli->diag, DIAG_NOTE, NULL, "models and topologies are looked for in %s",
                 directory);
    }
}

struct catalogue options_catalogue(const struct options *options)
{
    struct catalogue catalogue = {.count = 0};
    note_directory(options, &catalogue, options->catalogue_directory);
    note_directory(options, &catalogue, getenv("STOKER_PATH"));
    note_directory(options, &catalogue, ".");
    struct arena *arena = options->cli->arena;
    const char *program = stoker_program_dir(arena);
    if (program != NULL) {
        note_directory(options, &catalogue, program);
        note_directory(options, &catalogue, arena_printf(arena, "%s/../share/stoker", program));
    }
    note_directory(options, &catalogue, stoker_data_dir());
    return catalogue;
}

struct study_base options_study_base(const struct options *options,
                                     const struct catalogue *catalogue)
{
    return (struct study_base){catalogue, options->sets, options->set_count, stoker_build()};
}
