/* One parser for all commands: it makes argp's rows of a command's tables, and each option's kind
 * says how its argument is read. argp lists what lies below the heading of group -1 by itself, so
 * those are the rows of an argp of their own, a child of the first.
 */
#include "cli/options.h"

#include "base/arena.h"
#include "base/built_in.h"
#include "base/path.h"
#include "base/version.h"
#include "cli/progress.h"
#include "cli/study/named.h"
#include "plan/cost.h"
#include "report/page.h"
#include "report/yaml_page.h"
#include "report/sheet.h"
#include "study/search/search_auto.h"
#include "study/study.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void text_list_add(struct arena *arena, struct text_list *list, const char *text)
{
    list->items = arena_grow(arena, list->items, &list->capacity, (size_t)list->count + 1,
                             sizeof *list->items);
    list->items[list->count++] = text;
}

/* ---- kinds ---- */

static void *place_of(const struct command_option *option, void *input)
{
    return (char *)input + option->offset;
}

void option_text(const struct command_option *option, const char *argument, void *input,
                 struct argp_state *state)
{
    (void)state;
    *(const char **)place_of(option, input) = argument;
}

void option_list(const struct command_option *option, const char *argument, void *input,
                 struct argp_state *state)
{
    (void)state;
    const struct options *options = input;
    text_list_add(options->cli->arena, place_of(option, input), argument);
}

void option_flag(const struct command_option *option, const char *argument, void *input,
                 struct argp_state *state)
{
    (void)argument;
    (void)state;
    *(bool *)place_of(option, input) = true;
}

void option_bare(const struct command_option *option, const char *argument, void *input,
                 struct argp_state *state)
{
    (void)option;
    (void)argument;
    (void)input;
    (void)state;
}

void option_count(const struct command_option *option, const char *argument, void *input,
                  struct argp_state *state)
{
    char *end = NULL;
    const long count = strtol(argument, &end, 10);
    if (end == argument || *end != '\0' || (double)count < option->least ||
        (double)count > option->most) {
        argp_error(state, "--%s is a count from %.0f to %.0f, not '%s'", option->name,
                   option->least, option->most, argument);
    }
    *(int64_t *)place_of(option, input) = count;
}

void option_quantity(const struct command_option *option, const char *argument, void *input,
                     struct argp_state *state)
{
    double *value = place_of(option, input);
    char message[256];
    if (!units_parse(argument, option->dimension, value, message, sizeof message)) {
        argp_error(state, "'%s': %s", argument, message);
    } else if (*value < option->least || *value > option->most) {
        argp_error(state, "'%s' is out of range", argument);
    }
}

static uint32_t word_count(const struct command_option *option)
{
    return (uint32_t)option->most;
}

static bool find_word(const struct command_option *option, const char *argument, void *input)
{
    for (uint32_t i = 0; i < word_count(option); i++) {
        if (strcmp(argument, option->words[i]) == 0) {
            *(uint32_t *)place_of(option, input) = i;
            return true;
        }
    }
    return false;
}

void option_choice(const struct command_option *option, const char *argument, void *input,
                   struct argp_state *state)
{
    if (find_word(option, argument, input)) {
        return;
    }
    struct arena *arena = ((struct options *)input)->cli->arena;
    const char *words = option->words[0];
    for (uint32_t i = 1; i < word_count(option); i++) {
        words = arena_printf(arena, "%s%s%s", words, i + 1 < word_count(option) ? ", " : " or ",
                             option->words[i]);
    }
    argp_error(state, "--%s is %s, not '%s'", option->name, words, argument);
}

void option_name(const struct command_option *option, const char *argument, void *input,
                 struct argp_state *state)
{
    if (!find_word(option, argument, input)) {
        const char *nearest = diag_nearest(argument, option->words, word_count(option));
        argp_error(state, "there is no %s '%s'%s%s%s", option->name, argument,
                   nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
                   nearest != NULL ? "'?" : "");
    }
}

/* ---- tables that commands share ---- */

const struct command_option options_general[] = {
    {"json", 0, NULL, "One JSON document instead of text", OPTION_FLAG(struct options, is_json)},
    {"catalogue", 0, "DIR",
     "Look for models/ and topologies/ in DIR first, then in $STOKER_PATH, here, beside the "
     "program, "
     "and where stoker is installed",
     OPTION_TEXT(struct options, catalogue_directory)},
    {"quiet", 'q', NULL, "No notes, warnings or progress", OPTION_FLAG(struct options, is_quiet)},
    {"verbose", 'v', NULL, "Say where things are looked for",
     OPTION_FLAG(struct options, is_verbose)},
    {0},
};

static void read_set(const struct command_option *option, const char *argument, void *input,
                     struct argp_state *state)
{
    if (strchr(argument, '=') == NULL) {
        argp_error(state, "--set needs PATH=VALUE, not '%s'", argument);
    }
    option_list(option, argument, input, state);
}

static void read_seed(const struct command_option *option, const char *argument, void *input,
                      struct argp_state *state)
{
    const struct options *options = input;
    option_list(option, arena_printf(options->cli->arena, "seed=%s", argument), input, state);
}

/* Quoted, as it may hold what YAML takes for something else. */
static void read_title(const struct command_option *option, const char *argument, void *input,
                       struct argp_state *state)
{
    const struct options *options = input;
    char *quoted = arena_alloc(options->cli->arena, 2 * strlen(argument) + 1);
    char *end = quoted;
    for (const char *at = argument; *at != '\0'; at++) {
        *end++ = *at;
        if (*at == '\'') {
            *end++ = '\'';
        }
    }
    option_list(option, arena_printf(options->cli->arena, "scenario='%s'", quoted), input, state);
}

static void read_fold(const struct command_option *option, const char *argument, void *input,
                      struct argp_state *state)
{
    bool *folds = place_of(option, input);
    *folds = strcmp(argument, "auto") == 0;
    if (!*folds && strcmp(argument, "off") != 0) {
        argp_error(state, "--fold is auto or off, not '%s'", argument);
    }
}

const struct command_option options_prediction[] = {
    {"set", 0, "PATH=VALUE",
     "Set any key, as in the file: --set gpus=512 --set cluster.network=\"400 Gbps\" (of a node; "
     "cluster.nics.bandwidth is of a NIC); may be repeated",
     OPTION_OWN(read_set, struct options, sets)},
    {"seed", 0, "N", "The same as --set seed=N", OPTION_OWN(read_seed, struct options, sets)},
    {"title", 0, "TEXT",
     "The same as --set scenario=TEXT. Without it a title of the file that names another model, "
     "number or kind of GPUs than what is set gives way to a generated one",
     OPTION_OWN(read_title, struct options, sets)},
    {"fold", 0, "auto|off",
     "off: simulate every GPU, also those that cannot be told apart (same result, slower)",
     OPTION_OWN(read_fold, struct options, folds)},
    {"any-software", 0, NULL,
     "Layouts that the software's release has not (`has:` of its profile) are proposed, too, and "
     "not warned of",
     OPTION_FLAG(struct options, any_software)},
    {0},
};

const struct command_option options_row[] = {
    {"row", 0, "ID",
     "FILE is a CSV of measured runs, as `stoker validate` reads it: take this row's scenario",
     OPTION_TEXT(struct options, row)},
    {0},
};

const struct command_option options_convention[] = {
    {"mfu-convention", 0, "NAME",
     "Give mfu as papers count it, too: causal (ours), megatron, palm, 6nd",
     OPTION_CHOICE(struct options, mfu_convention, flop_convention_names, FLOP_CONVENTION_COUNT_)},
    {0},
};

const struct command_option options_store[] = {
    {"db", 0, "FILE", "Results file (default " OPTIONS_DB_DEFAULT ")",
     OPTION_TEXT(struct options, db_path)},
    {0},
};

const struct command_option options_no_store[] = {
    {"no-db", 0, NULL, "Store nothing: what is predicted is printed and forgotten",
     OPTION_FLAG(struct options, forgets)},
    {0},
};

static const char *const format_names[SHEET_STYLE_COUNT_] = {"text", "csv", "md"};

const struct command_option options_table[] = {
    {"format", 0, "text|csv|md",
     "The table alone, as CSV or Markdown (default: text, with all that is said of it)",
     OPTION_CHOICE(struct options, style, format_names, SHEET_STYLE_COUNT_)},
    {"tables", 0, "DIR",
     "Write all tables as CSV, too, the Nth as DIR/N-NAME.csv (--format csv is the first alone)",
     OPTION_TEXT(struct options, tables)},
    {0},
};

const struct command_option options_page[] = {
    {"wide", 0, NULL,
     "Lines and tables as wide as they come (default: as the terminal, at most 120, or $COLUMNS, "
     "or 100 characters; what has no room is named)",
     OPTION_FLAG(struct options, is_wide)},
    {0},
};

/* ---- the command line ---- */

enum { KEY_FIRST = 0x100, ROWS_MAX = 64 };

/* A command's rows in one list, each of them with a number: a key and a bit of `given`. */
struct reading {
    void *input;
    const struct command_option *rows[ROWS_MAX];
    uint32_t row_count;
};

static bool is_end(const struct command_option *row)
{
    return row->name == NULL && row->help == NULL;
}

static void list_rows(const struct command *command, struct reading *reading)
{
    sim_assert(command->options[COMMAND_TABLES_MAX] == NULL);
    for (const struct command_option *const *table = command->options; *table != NULL; table++) {
        for (const struct command_option *row = *table; !is_end(row); row++) {
            sim_assert(reading->row_count < ROWS_MAX);
            reading->rows[reading->row_count++] = row;
        }
    }
}

static void add_use(struct options *options, const struct command_option *row, const char *argument)
{
    options->uses = arena_grow(options->cli->arena, options->uses, &options->use_capacity,
                               (size_t)options->use_count + 1, sizeof *options->uses);
    options->uses[options->use_count++] = (struct option_use){row, argument};
}

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    struct reading *reading = state->input;
    struct options *options = reading->input;
    for (uint32_t i = 0; i < reading->row_count; i++) {
        const struct command_option *row = reading->rows[i];
        if (row->name != NULL && key == (row->letter != 0 ? row->letter : KEY_FIRST + (int)i)) {
            options->given |= (uint64_t)1 << i;
            add_use(options, row, argument);
            row->read(row, argument, options, state);
            return 0;
        }
    }
    return ARGP_ERR_UNKNOWN;
}

static void check_end(const struct reading *reading, struct argp_state *state)
{
    const struct options *options = reading->input;
    for (uint32_t i = 0; i < reading->row_count; i++) {
        if (reading->rows[i]->is_needed && (options->given & (uint64_t)1 << i) == 0) {
            argp_error(state, "--%s is needed", reading->rows[i]->name);
        }
    }
    if (options->arguments.count < options->command->arguments_min) {
        argp_error(state, "%s is needed", options->command->wanted);
    }
}

static error_t read_any(int key, char *argument, struct argp_state *state)
{
    struct reading *reading = state->input;
    struct options *options = reading->input;
    switch (key) {
    case ARGP_KEY_INIT:
        if (state->root_argp->children[0].argp != NULL) {
            state->child_inputs[0] = reading;
        }
        return 0;
    case ARGP_KEY_ARG:
        if (options->arguments.count == options->command->arguments_max) {
            argp_error(state, "too many arguments: '%s'", argument);
        }
        text_list_add(options->cli->arena, &options->arguments, argument);
        return 0;
    case ARGP_KEY_END:
        check_end(reading, state);
        return 0;
    default:
        return read_option(key, argument, state);
    }
}

const char *command_about(struct arena *arena, const struct command *command)
{
    const int before = (int)strcspn(command->about, "\v");
    return command->scenarios == SCENARIOS_NONE
               ? command->about
               : arena_printf(arena,
                              "%.*s A scenario of the catalogue may be said by its name (`stoker "
                              "list scenarios`): a file of that name goes before it.%s",
                              before, command->about, command->about + before);
}

/* Wrong usage ends inside argp; what comes back is that it got no memory. */
static void parse(struct reading *reading, int argc, char **argv)
{
    const struct options *options = reading->input;
    const struct command *command = options->command;
    struct argp_option lists[2][ROWS_MAX + 1] = {{{0}}}; /* of the first argp, and its child */
    uint32_t counts[2] = {0, 0};
    int group = 0;
    for (uint32_t i = 0; i < reading->row_count; i++) {
        const struct command_option *row = reading->rows[i];
        const bool is_heading = row->name == NULL;
        group = is_heading ? row->group : group;
        const uint32_t list = group < 0 && !is_heading;
        lists[list][counts[list]++] = (struct argp_option){
            .name = row->name,
            .key = is_heading         ? 0
                   : row->letter != 0 ? row->letter
                                      : KEY_FIRST + (int)i,
            .arg = row->argument,
            .flags = row->is_optional ? OPTION_ARG_OPTIONAL : 0,
            .doc = option_help(options->cli->arena, row),
            .group = list == 1 ? 0 : group,
        };
    }
    const struct argp apart = {.options = lists[1], .parser = read_option};
    const struct argp_child children[] = {{counts[1] > 0 ? &apart : NULL, 0, NULL, -1}, {0}};
    const struct argp parser = {.options = lists[0],
                                .parser = read_any,
                                .args_doc = command->arguments,
                                .doc = command_about(options->cli->arena, command),
                                .children = children};
    if (argp_parse(&parser, argc, argv, 0, NULL, reading) != 0) {
        arena_out_of_memory();
    }
}

/* Only commands that store have --no-db, beside --db. */
static bool check_store(const struct options *options)
{
    return !options->forgets || !options_given(options, "db") ||
           options_refuse(options, "no-db", "results that are stored by --db",
                          "give one of the two");
}

static bool check_format(const struct options *options)
{
    return options->style == SHEET_AS_TEXT || !options->is_json ||
           options_refuse(options, "format", "--json",
                          "the document has all of the table, in its order");
}

/* Its options are the other program's. */
static int tell_elsewhere(const struct command *command, struct cli *cli)
{
    diag_add(cli->diag, DIAG_USAGE, NULL, "it is `%s`", command->elsewhere);
    diag_help(cli->diag, "%s", command->about);
    return EXIT_USAGE;
}

int command_start(const struct command *command, struct cli *cli, int argc, char **argv)
{
    for (; command->sub != NULL && argc > 1 && strcmp(argv[1], command->sub->name) == 0; argv++) {
        command = command->sub;
        argc--;
    }
    if (command->elsewhere != NULL) {
        return tell_elsewhere(command, cli);
    }
    const size_t size = command->input_size;
    struct options *options =
        arena_alloc(cli->arena, size > sizeof *options ? size : sizeof *options);
    if (command->defaults != NULL) {
        memcpy(options, command->defaults, size);
    }
    *options = (struct options){
        .cli = cli, .command = command, .db_path = OPTIONS_DB_DEFAULT, .folds = true};
    struct reading reading = {.input = options};
    list_rows(command, &reading);
    parse(&reading, argc, argv);
    cli->is_quiet = options->is_quiet;
    if (!check_store(options) || !check_format(options)) {
        return EXIT_USAGE;
    }
    return named_scenarios(options) ? command->run(options) : EXIT_INPUT;
}

/* ---- what follows ---- */

const char *option_help(struct arena *arena, const struct command_option *option)
{
    const char *at = option->subject != NULL ? strstr(option->help, "%s") : NULL;
    return at == NULL ? option->help
                      : arena_printf(arena, "%.*s%s%s", (int)(at - option->help), option->help,
                                     option->subject(arena), at + strlen("%s"));
}

const char *const *option_words(const struct command_option *option, uint32_t *count)
{
    *count = option->words != NULL ? word_count(option) : 0;
    return option->words_of != NULL ? option->words_of(count) : option->words;
}

static const struct command_option *find_option(const struct options *options, const char *name,
                                                uint32_t *number)
{
    struct reading reading = {.input = NULL};
    list_rows(options->command, &reading);
    const struct command_option *found = NULL;
    for (uint32_t i = 0; found == NULL && i < reading.row_count; i++) {
        const struct command_option *row = reading.rows[i];
        found = row->name != NULL && strcmp(row->name, name) == 0 ? row : NULL;
        *number = i;
    }
    sim_assert(found != NULL);
    return found;
}

bool options_given(const struct options *options, const char *name)
{
    uint32_t number = 0;
    (void)find_option(options, name, &number);
    return (options->given & (uint64_t)1 << number) != 0;
}

/* "-o" or "--set". */
static const char *shown_name(const struct options *options, const char *name)
{
    uint32_t number = 0;
    const struct command_option *option = find_option(options, name, &number);
    return option->letter != 0 ? arena_printf(options->cli->arena, "-%c", option->letter)
                               : arena_printf(options->cli->arena, "--%s", name);
}

bool options_refuse(const struct options *options, const char *useless, const char *what,
                    const char *remedy)
{
    struct diag *diag = options->cli->diag;
    bool is_good = true;
    while (*useless != '\0') {
        const size_t length = strcspn(useless, " ");
        const char *name = arena_strndup(options->cli->arena, useless, length);
        if (options_given(options, name)) {
            is_good = diag_add(diag, DIAG_USAGE, NULL, "%s has no meaning for %s",
                               shown_name(options, name), what);
            diag_help(diag, "%s", remedy);
        }
        useless += length + (useless[length] == ' ');
    }
    return is_good;
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

static bool write_table(const void *context, FILE *out)
{
    sheet_print_table(context, SHEET_AS_CSV, out);
    return ferror(out) == 0;
}

/* Up to the first that cannot be written, which is told. */
static void write_tables(const struct options *options, const struct sheet *sheet)
{
    struct cli *cli = options->cli;
    const struct sheet *table = sheet_first_table(sheet);
    bool is_good = true;
    for (uint32_t number = 1; table != NULL && is_good; number++) {
        const char *path = arena_printf(cli->arena, "%s/%u-%s.csv", options->tables, number,
                                        sheet_table_name(table));
        const struct path_content content = {write_table, table, "--tables DIR writes elsewhere",
                                             false};
        is_good = path_make_directories(cli->arena, path, cli->diag) &&
                  path_write_whole(cli->arena, path, &content, cli->diag);
        table = sheet_next_table(sheet, table);
    }
}

void options_print(const struct options *options, struct sheet *sheet)
{
    if (options->tables != NULL) {
        write_tables(options, sheet);
    }
    const struct sheet *table = sheet_first_table(sheet);
    if (options->style == SHEET_AS_TEXT) {
        if (!options->is_wide) {
            sheet_fit(sheet, page_width(stdout));
        }
        sheet_print(sheet, options->is_json, stdout);
    } else if (table != NULL) {
        sheet_print_table(table, (enum sheet_style)options->style, stdout);
    }
}

bool options_yaml_end(const struct options *options, struct yaml_page *page)
{
    if (yaml_page_end(page)) {
        return true;
    }
    diag_add(options->cli->diag, DIAG_FAILURE, NULL,
             "there is no room for it where temporary files go");
    diag_help(options->cli->diag, "into a file, without COLUMNS, it needs none");
    return false;
}

struct catalogue options_catalogue(const struct options *options)
{
    const char *house = getenv(CATALOGUE_HOUSE_VARIABLE);
    struct catalogue catalogue = {.files = doc_files_new(options->cli->arena),
                                  .house = house != NULL && house[0] != '\0' ? house : NULL};
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
    uint64_t count = 0;
    (void)built_in_list(&count);
    note_directory(options, &catalogue, count > 0 ? BUILT_IN : NULL);
    return catalogue;
}

struct catalogue options_catalogue_again(const struct options *options)
{
    struct options silent = *options;
    silent.is_verbose = false;
    return options_catalogue(&silent);
}

/* What is auto of several points is found one after the other, on one line. */
static void show_search(void *context, const struct search_state *state)
{
    if (state != NULL) {
        progress_search(context, state);
    } else {
        progress_end(context);
    }
}

struct auto_hook options_auto_hook(const struct options *options, const struct catalogue *catalogue)
{
    struct study_base *base = arena_alloc(options->cli->arena, sizeof *base);
    *base = options_study_base(options, catalogue);
    return search_auto_hook(base);
}

struct study_base options_study_base(const struct options *options,
                                     const struct catalogue *catalogue)
{
    struct progress *progress = arena_alloc(options->cli->arena, sizeof *progress);
    *progress = (struct progress){.cli = options->cli, .before = "what is auto: ", .unit = "s"};
    return (struct study_base){.catalogue = catalogue,
                               .sets = options->sets.items,
                               .set_count = options->sets.count,
                               .build = stoker_build(),
                               .any_software = options->any_software,
                               .searches = show_search,
                               .context = progress};
}
