/* What a program does before and after the command that it was asked for. */
#include "cli/commands.h"

#include "base/arena.h"
#include "cli/help.h"
#include "base/version.h"

#include <gsl/gsl_errno.h>

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A standard stream that is closed must not become the results file: its number
 * is taken by something on which writing (or, for 0, reading) fails. */
static void keep_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

/* GSL would abort; what it cannot do, its functions tell by what they return, and are asked. But
 * memory that it cannot get, nobody asks it for: that ends the program as ours does. */
static void hear_gsl(const char *reason, const char *file, int line, int code)
{
    (void)reason;
    (void)file;
    (void)line;
    if (code == GSL_ENOMEM) {
        arena_out_of_memory();
    }
}

const struct command *command_find(const struct program *program, const char *name)
{
    for (uint32_t i = 0; i < program->command_count; i++) {
        if (strcmp(program->commands[i]->name, name) == 0) {
            return program->commands[i];
        }
    }
    return NULL;
}

const char *command_nearest(const struct program *program, const char *name)
{
    const char *names[COMMANDS_MAX];
    sim_assert(program->command_count <= COMMANDS_MAX);
    for (uint32_t i = 0; i < program->command_count; i++) {
        names[i] = program->commands[i]->name;
    }
    return diag_nearest(name, names, program->command_count);
}

static int unknown_command(struct cli *cli, const char *name)
{
    struct diag *diag = cli->diag;
    diag_add(diag, DIAG_USAGE, NULL, "unknown %s '%s'", name[0] == '-' ? "option" : "command",
             name);
    diag_help_nearest(
        diag, command_nearest(cli->program, name),
        arena_printf(cli->arena, "`%s --help` lists the commands", cli->program->name));
    return EXIT_USAGE;
}

static int dispatch(struct cli *cli, const char *commit, int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("%s %s (%ssources %.8s)\n", cli->program->name, stoker_version(), commit,
               stoker_build());
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        help_print_commands(cli->program, stdout);
        return 0;
    }
    if (argc < 2) {
        help_print_commands(cli->program, stderr);
        return EXIT_USAGE;
    }
    const struct command *command = command_find(cli->program, argv[1]);
    if (command == NULL) {
        return unknown_command(cli, argv[1]);
    }
    argv[1] = arena_printf(cli->arena, "%s %s", cli->program->name, command->name);
    return command_start(command, cli, argc - 1, argv + 1);
}

/* A reader that went away (`| head`) is no error worth a message. */
static int finish_output(const struct program *program, int status)
{
    const bool had_error = ferror(stdout) != 0;
    errno = 0;
    if (had_error) {
        fputc('\n', stdout); /* fails again, and so says why */
    }
    if (fclose(stdout) == 0 && !had_error) {
        return status;
    }
    if (errno != EPIPE) {
        fprintf(stderr, "%s: cannot write to standard output%s%s\n", program->name,
                errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
    }
    return EXIT_FAILED;
}

/* A command whose table was missing ended with status 1 and without a word. */
static void see_that_it_is_said(struct cli *cli, int status)
{
    if ((status == EXIT_FAILED || status == EXIT_INPUT) && !diag_has_error(cli->diag)) {
        diag_add(cli->diag, DIAG_FAILURE, NULL, "this failed, and nothing said why");
        diag_help(cli->diag, "that is a fault of the program: no input should do it");
    }
}

int program_run(const struct program *program, const char *commit, int argc, char **argv)
{
    keep_standard_streams();
    signal(SIGPIPE, SIG_IGN); /* a study goes on when nobody reads its table */
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is reported like a full disk */
    argp_err_exit_status = EXIT_USAGE;
    gsl_set_error_handler(hear_gsl);
    struct cli cli = {.program = program, .arena = arena_new()};
    cli.diag = diag_new(cli.arena);
    int status = dispatch(&cli, commit, argc, argv);
    see_that_it_is_said(&cli, status);
    fflush(stdout);
    if (!cli.is_quiet || diag_has_error(cli.diag)) {
        diag_print(cli.diag, stderr);
    }
    if (diag_has_error(cli.diag)) {
        status = diag_exit_status(cli.diag);
    }
    status = finish_output(program, status);
    arena_free(cli.arena);
    return status;
}
