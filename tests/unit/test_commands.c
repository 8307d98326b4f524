/* The table of commands: an option means the same wherever it stands, and stands where it can. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/options.h"
#include "lab/cli/lab_commands.h"

enum { ROWS_MAX = 2048, LIST_MAX = 2 * COMMANDS_MAX };

/* An option of a command. */
struct use {
    const struct command *command;
    const struct command_option *option;
};

/* Those of both programs, and those below them, but for what is another's now. */
static uint32_t list_commands(const struct command **list)
{
    static const struct program *const programs[] = {&program_stoker, &program_lab};
    uint32_t count = 0;
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        for (uint32_t i = 0; i < programs[p]->command_count; i++) {
            const struct command *command = programs[p]->commands[i];
            for (; command != NULL && command->elsewhere == NULL; command = command->sub) {
                assert_true(count < LIST_MAX);
                list[count++] = command;
            }
        }
    }
    return count;
}

static uint32_t gather(struct use *uses)
{
    const struct command *list[LIST_MAX];
    const uint32_t command_count = list_commands(list);
    uint32_t count = 0;
    for (uint32_t i = 0; i < command_count; i++) {
        for (uint32_t t = 0; list[i]->options[t] != NULL; t++) {
            const struct command_option *option = list[i]->options[t];
            for (; option->name != NULL || option->help != NULL; option++) {
                assert_true(count < ROWS_MAX);
                uses[count] = (struct use){list[i], option};
                count += option->name != NULL;
            }
        }
    }
    return count;
}

static bool has_table(const struct command *command, const struct command_option *table)
{
    uint32_t i = 0;
    while (command->options[i] != NULL && command->options[i] != table) {
        i++;
    }
    return command->options[i] != NULL;
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(name, *names) != 0) {
        names++;
    }
    return *names != NULL;
}

/* --json, --catalogue, -q and -v of all are the same four rows. `help` says what is in the program:
 * it reads nothing, and its --format is all that it has. */
static void all_commands_have_the_general_options(void **state)
{
    (void)state;
    const struct command *list[LIST_MAX];
    const uint32_t count = list_commands(list);
    assert_true(count > program_stoker.command_count + program_lab.command_count);
    for (uint32_t i = 0; i < count; i++) {
        if (!has_table(list[i], options_general) && strcmp(list[i]->name, "help") != 0) {
            fail_msg("%s has not the options of all", list[i]->name);
        }
    }
}

/* Who has a results file writes it, and can leave it out, but for those that only read one, and
 * the one whose whole work it is to write one. */
static void all_that_store_can_leave_it(void **state)
{
    static const char *const others[] = {"list", "plot", "show", "merge", "diff", "report", NULL};
    (void)state;
    const struct command *list[LIST_MAX];
    const uint32_t count = list_commands(list);
    for (uint32_t i = 0; i < count; i++) {
        const bool stores = has_table(list[i], options_store) && !is_one_of(list[i]->name, others);
        if (has_table(list[i], options_no_store) != stores) {
            fail_msg("%s and --no-db", list[i]->name);
        }
    }
}

/* Whose answer is one table, prints it alone as CSV or Markdown where --format asks for it. `help`
 * has a --format of its own. */
static void all_that_answer_with_a_table_print_it_alone(void **state)
{
    static const char *const tables[] = {"compare", "sweep",      "search", "whatif",
                                         "list",    "collective", "budget", "audit",
                                         "diff",    "quote",      NULL};
    (void)state;
    for (uint32_t i = 0; i < program_stoker.command_count; i++) {
        const struct command *command = program_stoker.commands[i];
        if (has_table(command, options_table) != is_one_of(command->name, tables)) {
            fail_msg("%s and --format", command->name);
        }
    }
}

/* A name is read in one way, with an argument or without; a letter is of one name. What an argument
 * may be can differ (--top, --by, --kind). */
static void an_option_means_the_same_everywhere(void **state)
{
    static struct use uses[ROWS_MAX];
    (void)state;
    const uint32_t count = gather(uses);
    assert_true(count > 100);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const struct command_option *a = uses[i].option;
            const struct command_option *b = uses[k].option;
            const bool is_same = strcmp(a->name, b->name) == 0;
            const bool have_argument = (a->argument != NULL) == (b->argument != NULL);
            if ((is_same && (a->letter != b->letter || !have_argument)) ||
                (!is_same && a->letter != 0 && a->letter == b->letter)) {
                fail_msg("--%s of %s and --%s of %s", a->name, uses[i].command->name, b->name,
                         uses[k].command->name);
            }
        }
    }
}

/* These are one row, wherever they stand: the same words, the same meaning. */
static void what_all_share_is_one_row(void **state)
{
    static const char *const names[] = {"json", "quiet", "verbose", "catalogue", "db",     "no-db",
                                        "set",  "seed",  "fold",    "row",       "anchor", NULL};
    static struct use uses[ROWS_MAX];
    (void)state;
    const uint32_t count = gather(uses);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(uses[i].option->name, uses[k].option->name) == 0 &&
                is_one_of(uses[i].option->name, names) && uses[i].option != uses[k].option) {
                fail_msg("--%s of %s and of %s", uses[i].option->name, uses[i].command->name,
                         uses[k].command->name);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_commands_have_the_general_options),
        cmocka_unit_test(all_that_store_can_leave_it),
        cmocka_unit_test(all_that_answer_with_a_table_print_it_alone),
        cmocka_unit_test(an_option_means_the_same_everywhere),
        cmocka_unit_test(what_all_share_is_one_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
