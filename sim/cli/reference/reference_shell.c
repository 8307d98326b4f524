/* A script that completes commands, options, words of options, and keys after --set, for bash.
 * Bash splits words at '=', so what stands behind one is completed by the word two before it.
 */
#include "cli/reference/reference.h"

#include "base/arena.h"
#include "cli/options.h"

#include <string.h>

static const char head[] =
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
    "    [[ $current == = ]] && current=\n"
    "    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    COMPREPLY=()\n";

static const char tail[] =
    "    if [[ $before == --set && ${COMP_WORDS[COMP_CWORD-1]} == --set ]]; then\n"
    "        compopt -o nospace 2> /dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -S = -W \"$keys\" -- \"$current\")\n"
    "        return\n"
    "    fi\n"
    "    if [[ $COMP_CWORD -eq 1 ]]; then\n"
    "        words=\"$commands --help --version\"\n"
    "    elif [[ ${COMP_WORDS[1]} == help && $current != -* ]]; then\n"
    "        words=\"$commands $keys\"\n"
    "    elif [[ $current == -* ]]; then\n"
    "        words=\"${options[${COMP_WORDS[1]}]} --help --usage\"\n"
    "    elif [[ -n ${named[${COMP_WORDS[1]}]} && -z ${choices[${COMP_WORDS[1]} $before]} ]]; "
    "then\n"
    "        words=$(\"${COMP_WORDS[0]}\" list scenarios --format csv 2> /dev/null |\n"
    "            sed -nE 's,^(.*/)?([^/,]*)\\.yaml\\,.*,\\2,p')\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\"; compgen -f -- "
    "\"$current\")\n"
    "        return\n"
    "    else\n"
    "        words=${choices[${COMP_WORDS[1]} $before]}\n"
    "    fi\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
    "}\n";

static void put_options(const struct command *command, FILE *out)
{
    for (const struct command_option *const *table = command->options; *table != NULL; table++) {
        for (const struct command_option *row = *table; row->help != NULL; row++) {
            if (row->name != NULL) {
                fprintf(out, "%s--%s", row == command->options[0] ? "" : " ", row->name);
            }
        }
    }
}

static void put_words(const struct command *command, const struct command_option *row, FILE *out)
{
    uint32_t count = 0;
    const char *const *words = option_words(row, &count);
    fprintf(out, "    choices['%s --%s']='", command->name, row->name);
    for (uint32_t word = 0; word < count; word++) {
        fprintf(out, "%s%s", word > 0 ? " " : "", words[word]);
    }
    fputs("'\n", out);
}

/* The words of options that have such. */
static void put_choices(const struct program *program, FILE *out)
{
    for (uint32_t i = 0; i < program->command_count; i++) {
        const struct command_option *const *table = program->commands[i]->options;
        for (; *table != NULL; table++) {
            for (const struct command_option *row = *table; row->help != NULL; row++) {
                if (row->name != NULL && (row->words != NULL || row->words_of != NULL)) {
                    put_words(program->commands[i], row, out);
                }
            }
        }
    }
}

/* Commands that take scenarios by name. */
static void put_named(const struct program *program, FILE *out)
{
    for (uint32_t i = 0; i < program->command_count; i++) {
        if (program->commands[i]->scenarios != SCENARIOS_NONE) {
            fprintf(out, "    named[%s]=1\n", program->commands[i]->name);
        }
    }
}

void reference_bash(struct arena *arena, const struct program *program, FILE *out)
{
    char *function = arena_strdup(arena, program->name);
    for (char *at = strchr(function, '-'); at != NULL; at = strchr(at, '-')) {
        *at = '_';
    }
    fprintf(out,
            "# Completion of %s for bash, written by `%s help --format bash`.\n"
            "_%s() {\n",
            program->name, program->name, function);
    fputs(head, out);
    fputs("    local commands='", out);
    for (uint32_t i = 0; i < program->command_count; i++) {
        fprintf(out, "%s%s", i > 0 ? " " : "", program->commands[i]->name);
    }
    fputs("'\n    local keys='", out);
    uint32_t count = 0;
    const struct reference_key *keys = reference_keys(arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "%s%s", i > 0 ? " " : "", keys[i].path);
    }
    fputs("'\n    local -A options choices named\n", out);
    for (uint32_t i = 0; i < program->command_count; i++) {
        fprintf(out, "    options[%s]='", program->commands[i]->name);
        put_options(program->commands[i], out);
        fputs("'\n", out);
    }
    put_choices(program, out);
    put_named(program, out);
    fputs(tail, out);
    fprintf(out, "complete -o default -F _%s %s\n", function, program->name);
}
