/* Finds the command, runs it, prints its messages, and sees that all output arrived. */
#include "base/arena.h"
#include "cli/commands.h"
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

/* The Makefile gives it: "commit 12345678, ", with -dirty behind the digits where files were
 * changed since; "" where the sources lie in no git repository. For whoever looks: results are
 * named by their sources alone, or each commit of a document would make all of them anew. */
#ifndef STOKER_COMMIT
#define STOKER_COMMIT ""
#endif

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

static int unknown_command(const char *name, struct diag *diag)
{
    diag_add(diag, DIAG_USAGE, NULL, "unknown %s '%s'", name[0] == '-' ? "option" : "command",
             name);
    diag_help_nearest(diag, command_nearest(name), "`stoker --help` lists the commands");
    return EXIT_USAGE;
}

static int dispatch(struct cli *cli, int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("stoker %s (" STOKER_COMMIT "sources %.8s)\n", stoker_version(), stoker_build());
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        help_print_commands(stdout);
        return 0;
    }
    if (argc < 2) {
        help_print_commands(stderr);
        return EXIT_USAGE;
    }
    const struct command *command = command_find(argv[1]);
    if (command == NULL) {
        return unknown_command(argv[1], cli->diag);
    }
    argv[1] = arena_printf(cli->arena, "stoker %s", command->name);
    return command_start(command, cli, argc - 1, argv + 1);
}

/* A reader that went away (`| head`) is no error worth a message. */
static int finish_output(int status)
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
        fprintf(stderr, "stoker: cannot write to standard output%s%s\n", errno != 0 ? ": " : "",
                errno != 0 ? strerror(errno) : "");
    }
    return EXIT_FAILED;
}

int main(int argc, char **argv)
{
    keep_standard_streams();
    signal(SIGPIPE, SIG_IGN); /* a study goes on when nobody reads its table */
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is reported like a full disk */
    argp_err_exit_status = EXIT_USAGE;
    gsl_set_error_handler(hear_gsl);
    struct cli cli = {.arena = arena_new()};
    cli.diag = diag_new(cli.arena);
    int status = dispatch(&cli, argc, argv);
    fflush(stdout);
    if (!cli.is_quiet || diag_has_error(cli.diag)) {
        diag_print(cli.diag, stderr);
    }
    if (diag_has_error(cli.diag)) {
        status = diag_exit_status(cli.diag);
    }
    status = finish_output(status);
    arena_free(cli.arena);
    return status;
}
