/* stoker help: the commands, one of them, a key of a file; or all of it as a manual, a reference, a
 * shell's completion, a schema for editors.
 */
#include "cli/help.h"

#include "base/arena.h"
#include "cli/reference/meanings.h"
#include "cli/reference/reference.h"
#include "report/page.h"
#include "report/sheet.h"
#include "run/goodput.h"
#include "input/scenario_keys.h"

#include <string.h>

enum { FORMAT_NONE, FORMAT_MAN, FORMAT_MARKDOWN, FORMAT_BASH, FORMAT_SCHEMA, FORMAT_PAGES };
static const char *const formats[] = {"text", "man", "markdown", "bash", "json-schema", "pages"};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

const struct command_option help_options[] = {
    {"format", 0, "FORMAT",
     "Everything as man (of PAGE), markdown, bash (its completion), json-schema (of PAGE), or "
     "pages (their names)",
     OPTION_CHOICE(struct help, format, formats, FORMAT_COUNT)},
    {0},
};

void help_print_commands(const struct program *program, FILE *out)
{
    const char *name = program->name;
    struct arena *arena = arena_new();
    struct page page = {.out = out, .arena = arena, .width = page_width(out)};
    page_put(&page, arena_printf(arena, "Usage: %s COMMAND [OPTION...] [FILE...]\n%s\n\n", name,
                                 program->about));
    for (uint32_t i = 0; i < program->command_count; i++) {
        page_put(&page, arena_printf(arena, "  %-9s %s\n", program->commands[i]->name,
                                     program->commands[i]->summary));
    }
    page_put(&page,
             arena_printf(
                 arena,
                 "\n  %s COMMAND --help    the options of a command\n"
                 "  %s --version         the version\n\n"
                 "Begin with: %s\n"
                 "Exit status: 0 good, 1 failure, 2 usage, 3 bad input, 4 does not fit or divide, "
                 "5 a study with failed points.\n",
                 name, name, program->example));
    page_end(&page);
    arena_free(arena);
}

/* ---- a key ---- */

/* Keys of its own, one level down. */
static void say_inner(struct page *page, const struct reference_key *key)
{
    uint32_t count = 0;
    const struct reference_key *keys = reference_keys(page->arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        const bool is_entry = key->row->inner != NULL && keys[i].schema == key->row->inner;
        if (is_entry || schema_parent(keys[i].schema, keys[i].row) == key->row) {
            page_put(page,
                     arena_printf(page->arena, "  %-32s %s\n", keys[i].path, keys[i].row->help));
        }
    }
}

static void say(struct page *page, const char *label, const char *text)
{
    if (text != NULL) {
        page_put(page, arena_printf(page->arena, "  %-10s %s\n", label, text));
    }
}

static void print_key(struct page *page, const struct reference_key *key)
{
    struct arena *arena = page->arena;
    const struct schema_row *row = key->row;
    page_put(page, arena_printf(arena, "%s: %s\n\n", key->path, row->help));
    say(page, "value", reference_value(arena, row));
    say(page, "written", reference_unit(row));
    say(page, "default",
        row->is_required ? arena_printf(arena, "none; %s", reference_required(key->schema, row))
                         : reference_default(arena, row));
    say(page, "assumed", row->is_assumed ? "the default is listed with a run's assumptions" : "no");
    say(page, "source", row->source);
    say(page, "file", key->file->name);
    if (schema_has_inner(key->schema, row) || row->inner != NULL) {
        page_put(page, "\n");
        say_inner(page, key);
    }
}

/* ---- a share of a run's time ---- */

static void print_goodput(struct page *page, const struct goodput *goodput)
{
    page_put(page, arena_printf(page->arena, "%s: %s\n\n", goodput->name, goodput->words));
    say(page, "json", goodput->key);
    say(page, "source", goodput->source);
    page_put(page, arena_printf(page->arena, "\n%s\n", goodput_terms));
}

/* ---- the command ---- */

static int print_unknown(const struct options *options, const char *word)
{
    struct cli *cli = options->cli;
    const struct catalogue catalogue = options_catalogue(options);
    struct page page = {.out = stdout, .arena = cli->arena, .width = page_width(stdout)};
    if (meanings_print(cli->program, &catalogue, word, &page)) {
        page_end(&page);
        return 0;
    }
    diag_add(cli->diag, DIAG_USAGE, NULL, "there is no command and no key '%s'", word);
    const char *nearest = strchr(word, '.') == NULL ? command_nearest(cli->program, word) : NULL;
    nearest = nearest != NULL ? nearest : scenario_nearest_key(cli->arena, word);
    diag_help_nearest(cli->diag, nearest,
                      arena_printf(cli->arena,
                                   "`%s help` lists the commands, `stoker list keys` the keys",
                                   cli->program->name));
    return EXIT_USAGE;
}

/* "run" is a command; "run." the section of a scenario. */
static int print_word(const struct options *options, const char *word)
{
    struct cli *cli = options->cli;
    const size_t length = strlen(word);
    const bool has_dot = length > 0 && word[length - 1] == '.';
    const char *path = arena_strndup(cli->arena, word, length - has_dot);
    const struct command *command = command_find(cli->program, word);
    const struct reference_key *key = reference_find(cli->arena, path);
    if (command != NULL) {
        char *argv[] = {arena_printf(cli->arena, "%s %s", cli->program->name, word),
                        arena_strdup(cli->arena, "--help"), NULL};
        return command_start(command, cli, 2, argv);
    }
    const struct goodput *goodput = goodput_find(word);
    if (key == NULL && goodput == NULL) {
        return print_unknown(options, word);
    }
    struct page page = {.out = stdout, .arena = cli->arena, .width = page_width(stdout)};
    if (key != NULL) {
        print_key(&page, key);
    } else {
        print_goodput(&page, goodput);
    }
    if (key != NULL && strchr(word, '.') == NULL && strcmp(key->path, word) != 0) {
        const struct catalogue catalogue = options_catalogue(options);
        page_put(&page, "\n");
        (void)meanings_print(cli->program, &catalogue, word, &page); /* its last word alone */
    }
    page_end(&page);
    return 0;
}

/* The page of a name, "stoker.1" or "stoker-gpu"; the count of pages, with a message: none. */
static uint32_t find_page(const struct help *help, const char *name)
{
    struct arena *arena = help->options.cli->arena;
    const struct program *program = help->options.cli->program;
    const uint32_t count = reference_page_count(program);
    const char *names = "";
    for (uint32_t i = 0; i < count; i++) {
        const char *page = reference_page_name(arena, program, i);
        const size_t stem = strcspn(page, ".");
        if (strcmp(page, name) == 0 || (strlen(name) == stem && strncmp(page, name, stem) == 0)) {
            return i;
        }
        names = arena_printf(arena, "%s%s%s", names, i > 0 ? ", " : "", page);
    }
    diag_add(help->options.cli->diag, DIAG_USAGE, NULL, "there is no page '%s'", name);
    diag_help(help->options.cli->diag, "the pages are %s", names);
    return count;
}

static int print_format(const struct help *help)
{
    struct arena *arena = help->options.cli->arena;
    const struct program *program = help->options.cli->program;
    const bool is_schema = help->format == FORMAT_SCHEMA;
    const char *name = help->options.arguments.count > 0 ? help->options.arguments.items[0]
                       : is_schema                       ? "stoker-scenario"
                                                         : program->name;
    const bool has_pages = is_schema || help->format == FORMAT_MAN;
    const uint32_t page = has_pages ? find_page(help, name) : 0;
    if (page == reference_page_count(program)) {
        return EXIT_USAGE;
    }
    if (is_schema && page == 0) {
        diag_add(help->options.cli->diag, DIAG_USAGE, NULL, "%s tells of no file", name);
        return EXIT_USAGE;
    }
    switch (help->format) {
    case FORMAT_MAN:
        reference_man(arena, program, page, stdout);
        break;
    case FORMAT_MARKDOWN:
        reference_markdown(arena, program, stdout);
        break;
    case FORMAT_BASH:
        reference_bash(arena, program, stdout);
        break;
    case FORMAT_SCHEMA:
        reference_json_schema(arena, page, stdout);
        break;
    default:
        for (uint32_t i = 0; i < reference_page_count(program); i++) {
            puts(reference_page_name(arena, program, i));
        }
    }
    return 0;
}

int help_run(struct options *options)
{
    const struct help *help = (const struct help *)options;
    if (help->format != FORMAT_NONE) {
        return print_format(help);
    }
    if (options->arguments.count > 0) {
        return print_word(options, options->arguments.items[0]);
    }
    help_print_commands(options->cli->program, stdout);
    return 0;
}

const struct command command_help = {
    .name = "help",
    .summary = "a command, or a key of a file: meaning, unit, range, default, source",
    .arguments = "[COMMAND | KEY | WORD | PAGE]",
    .about = "Tells of a command what its --help says; of a key of a scenario or of a file of the "
             "catalogue what it means, its unit, range and default, and where that comes from "
             "(with a dot behind it where a command has its name: `run.`); of goodput, ETTR and "
             "their like what they are; of any other word what has to do with it: keys, "
             "options, and files of the catalogue, by the words that people say for the same "
             "(models/words.yaml). Without any, lists the commands. `stoker list keys` lists "
             "the keys."
             "\vExamples: stoker help run\n"
             "stoker help data.prefetch\n"
             "stoker help moe\n"
             "stoker help --format man stoker-scenario > stoker-scenario.5\n"
             "source <(stoker help --format bash)",
    .options = {help_options},
    .arguments_max = 1,
    .wanted = "a command, a key or a word",
    .input_size = sizeof(struct help),
    .run = help_run,
};
