/* Starts gnuplot without a shell and waits for it. posix_spawn's change of
 * directory is not in POSIX 2008 (it is in 2024, under another name); glibc
 * has it since 2.29.
 */
#define _GNU_SOURCE

#include "report/plot/gnuplot.h"

#include "base/arena.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG_MODE 0666

/* Its scripts are in UTF-8, which in the POSIX locale of a bare system it warns of. */
#define LOCALE "LC_ALL=C.UTF-8"

static bool is_set(const char *entry, const char *name)
{
    return strncmp(entry, name, strlen(name)) == 0;
}

/* Our environment without GNUTERM, in a locale of our own. */
static char **environment_of(struct arena *arena)
{
    size_t count = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **copy = arena_array(arena, count + 2, sizeof *copy);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_set(environ[i], "GNUTERM=") && !is_set(environ[i], "LC_ALL=")) {
            copy[kept++] = environ[i];
        }
    }
    copy[kept] = arena_strdup(arena, LOCALE);
    return copy;
}

/* Returns 0 and the process, or an errno. -d: no start-up files. */
static int start(struct arena *arena, const char *directory, const char *name, pid_t *process)
{
    char part[] = "PART='" GNUPLOT_PART "'";
    char *const arguments[] = {"gnuplot", "-d", "-e", part, arena_printf(arena, "./%s.gp", name),
                               NULL};
    const char *log = arena_printf(arena, "%s.log", name);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, directory);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_EXCL,
                                     LOG_MODE);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    const int code =
        posix_spawnp(process, "gnuplot", &actions, NULL, arguments, environment_of(arena));
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* The last line of the log that says something, which is gnuplot's error after the line of the
 * script that it echoes; "" when there is none. */
static const char *last_words(struct arena *arena, const char *log)
{
    FILE *file = path_open(log);
    if (file == NULL) {
        return "";
    }
    char line[256];
    const char *words = "";
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        const char *text = line + strspn(line, " \t^");
        words = text[0] != '\0' ? arena_strdup(arena, text) : words;
    }
    fclose(file);
    return words;
}

static bool is_empty_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_size == 0;
}

static bool report_missing(int reason, const char *directory, const char *name, struct diag *diag)
{
    if (reason == ENOENT) {
        diag_add(diag, DIAG_FAILURE, NULL,
                 "gnuplot is not installed; %s/%s.csv and .gp are written", directory, name);
        diag_help(diag, "`apt install gnuplot-nox`, then `gnuplot %s.gp` in %s", name, directory);
    } else {
        diag_add(diag, DIAG_FAILURE, NULL, "cannot start gnuplot: %s", strerror(reason));
    }
    return false;
}

bool gnuplot_run(struct arena *arena, const char *directory, const char *name, struct diag *diag)
{
    pid_t process = 0;
    const char *log = arena_printf(arena, "%s/%s.log", directory, name);
    unlink(log); /* of another time, or a link */
    const int reason = start(arena, directory, name, &process);
    if (reason != 0) {
        unlink(log); /* opened before gnuplot was looked for */
        return report_missing(reason, directory, name, diag);
    }
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        const char *words = WIFSIGNALED(status)
                                ? arena_printf(arena, "ended by signal %d", WTERMSIG(status))
                                : last_words(arena, log);
        diag_add(diag, DIAG_FAILURE, NULL, "gnuplot cannot draw %s/%s.gp: %s", directory, name,
                 words);
        diag_help(diag, "all it said is in %s; `gnuplot %s.gp` in %s draws again", log, name,
                  directory);
        return false;
    }
    if (is_empty_file(log)) {
        unlink(log);
    } else {
        diag_add(diag, DIAG_WARNING, NULL, "gnuplot says: %s (all of it in %s)",
                 last_words(arena, log), log);
    }
    return true;
}
