/* The command's own options become the words of its shards. */
#include "cli/many/launch.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

void launch_read_count(const struct command_option *option, const char *argument, void *input,
                       struct argp_state *state)
{
    if (argument == NULL) {
        return;
    }
    char *end = NULL;
    const long count = strtol(argument, &end, 10);
    if (end == argument || *end != '\0' || count < 1 || count > SHARD_SCRIPT_MAX) {
        argp_error(state, "--%s=N: N is a count of shards from 1 to %d, not '%s'", option->name,
                   SHARD_SCRIPT_MAX, argument);
    }
    *(uint32_t *)((char *)input + option->offset) = (uint32_t)count;
}

bool launch_is_wanted(const struct options *options)
{
    return options_given(options, "slurm") || options_given(options, "parallel");
}

static bool is_left(const char *leave, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = leave; (at = strstr(at, name)) != NULL; at++) {
        if (at > leave && at[-1] == ' ' && at[length] == ' ') {
            return true;
        }
    }
    return false;
}

const char *launch_words(const struct options *options, const char *leave)
{
    struct arena *arena = options->cli->arena;
    const char *words = "";
    for (uint32_t i = 0; i < options->use_count; i++) {
        const struct option_use *use = &options->uses[i];
        if (is_left(leave, use->option->name)) {
            continue;
        }
        const char *equals = use->argument != NULL ? "=" : "";
        const char *word = arena_printf(arena, "--%s%s%s", use->option->name, equals,
                                        use->argument != NULL ? use->argument : "");
        words = arena_printf(arena, "%s %s", words, shell_quoted(arena, word));
    }
    words = arena_printf(arena, "%s --", words);
    for (uint32_t i = 0; i < options->arguments.count; i++) {
        words =
            arena_printf(arena, "%s %s", words, shell_quoted(arena, options->arguments.items[i]));
    }
    return words;
}

static const char *jobs_of(const struct options *options)
{
    const char *jobs = NULL;
    for (uint32_t i = 0; i < options->use_count; i++) {
        if (strcmp(options->uses[i].option->name, "jobs") == 0) {
            jobs = options->uses[i].argument;
        }
    }
    return jobs;
}

int launch_print(const struct options *options, const struct many *many,
                 const struct shard_script *asked, const char *leave)
{
    struct shard_script script = *asked;
    struct cli *cli = options->cli;
    script.is_slurm = options_given(options, "slurm");
    if (script.is_slurm && options_given(options, "parallel")) {
        diag_add(cli->diag, DIAG_USAGE, NULL, "--slurm and --parallel are two scripts");
        diag_help(cli->diag, "ask for one at a time");
        return EXIT_USAGE;
    }
    script.count = script.is_slurm ? many->slurm : many->parallel;
    script.command = options->command->name;
    script.words = launch_words(
        options, arena_printf(cli->arena, " slurm parallel jobs quiet verbose%s", leave));
    script.jobs = jobs_of(options);
    return shard_script_print(cli->arena, &script, stdout, cli->diag) ? 0 : EXIT_USAGE;
}
