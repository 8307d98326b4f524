/* The caller hands out the pieces, so it knows what each worker is at: the oldest piece without a
 * result is the one that a worker ended over. A worker has a socket, on which it gets numbers of
 * pieces and gives results, and a pipe for its standard error. Its end shows as the end of the
 * socket, after all that it had sent.
 *
 * A worker has a second piece waiting, so that it need not wait while the caller stores the first.
 * Behind a long piece the last ones would wait for it while other workers have nothing to do: so
 * towards the end, where there are several workers, none has more than one.
 */
#include "base/workers.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AHEAD_MAX = 2, LAST_WORDS_MAX = 4096, END_PIECES = 4 /* for each worker */ };

struct worker {
    pid_t process; /* 0: there is none */
    int socket;
    int errors; /* reading end of its standard error */
    uint32_t pieces[AHEAD_MAX];
    uint32_t piece_count; /* given to it, without a result yet */
};

struct pool {
    const struct workers_request *request;
    struct worker workers[WORKERS_MAX];
    uint32_t worker_count;
    uint32_t next;       /* piece that nobody has */
    struct arena *arena; /* of the result that is being taken */
};

struct header {
    uint64_t size_bytes;
};

uint32_t workers_count(uint32_t wanted, uint32_t pieces)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t jobs = wanted != 0 ? wanted : cores > 0 ? (uint32_t)cores : 1;
    jobs = jobs < pieces ? jobs : pieces;
    return jobs < WORKERS_MAX ? jobs : WORKERS_MAX;
}

/* ---- sockets ---------------------------------------------------------------------------- */

/* False at the end of the stream, however it came to its end. */
static bool receive(int socket, void *memory, size_t size_bytes)
{
    char *at = memory;
    while (size_bytes > 0) {
        const ssize_t count = recv(socket, at, size_bytes, 0);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return false;
        }
        at += count;
        size_bytes -= (size_t)count;
    }
    return true;
}

static bool transmit(int socket, const void *memory, size_t size_bytes)
{
    const char *at = memory;
    while (size_bytes > 0) {
        const ssize_t count = send(socket, at, size_bytes, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return false;
        }
        at += count;
        size_bytes -= (size_t)count;
    }
    return true;
}

/* ---- in a worker ------------------------------------------------------------------------ */

static _Noreturn void serve(const struct workers_request *request, int socket)
{
    struct arena *arena = arena_new();
    uint32_t piece;
    while (receive(socket, &piece, sizeof piece)) {
        const struct piece_result result = request->work(request->context, piece, arena);
        const struct header header = {result.size_bytes};
        if (!transmit(socket, &header, sizeof header) ||
            !transmit(socket, result.bytes, result.size_bytes)) {
            break;
        }
        arena_reset(arena);
    }
    _exit(0);
}

/* What a new process does first: it dies with the caller, also when that is killed; its standard
 * error is the pipe; and it holds no end of another worker's socket open. */
static void become_worker(const struct pool *pool, pid_t caller, int errors)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != caller) {
        _exit(1); /* it was dead already */
    }
    dup2(errors, STDERR_FILENO);
    close(errors);
    for (uint32_t i = 0; i < pool->worker_count; i++) {
        if (pool->workers[i].process != 0) {
            close(pool->workers[i].socket);
            close(pool->workers[i].errors);
        }
    }
}

/* ---- starting and ending workers ---------------------------------------------------------- */

static void close_pair(const int pair[2])
{
    close(pair[0]);
    close(pair[1]);
}

/* Last words that nobody reads must not hold a worker up. */
static bool open_errors(int errors[2])
{
    if (pipe(errors) != 0) {
        return false;
    }
    return fcntl(errors[0], F_SETFL, O_NONBLOCK) == 0 && fcntl(errors[1], F_SETFL, O_NONBLOCK) == 0;
}

static bool start(struct pool *pool, struct worker *worker)
{
    int sockets[2];
    int errors[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) {
        return false;
    }
    if (!open_errors(errors)) {
        close_pair(sockets);
        return false;
    }
    fflush(NULL); /* or the worker, too, would print what is still in a buffer */
    const pid_t caller = getpid();
    const pid_t process = fork();
    if (process < 0) {
        close_pair(sockets);
        close_pair(errors);
        return false;
    }
    if (process == 0) {
        become_worker(pool, caller, errors[1]);
        close(sockets[0]);
        close(errors[0]);
        serve(pool->request, sockets[1]);
    }
    close(sockets[1]);
    close(errors[1]);
    worker->process = process;
    worker->socket = sockets[0];
    worker->errors = errors[0];
    return true;
}

/* Its exit status as waitpid gives it; -1 when that is not to be had. */
static int end(struct worker *worker)
{
    int status = -1;
    close(worker->socket);
    while (waitpid(worker->process, &status, 0) < 0) {
        if (errno != EINTR) {
            status = -1;
            break;
        }
    }
    close(worker->errors);
    worker->process = 0;
    return status;
}

static void end_all(struct pool *pool, bool is_killed)
{
    for (uint32_t i = 0; i < pool->worker_count; i++) {
        struct worker *worker = &pool->workers[i];
        if (worker->process == 0) {
            continue;
        }
        if (is_killed) {
            kill(worker->process, SIGKILL);
        }
        end(worker);
    }
}

/* The first line with a letter in it that the worker left: a sanitizer begins with a rule. */
static const char *last_words(struct arena *arena, const struct worker *worker)
{
    static const char own_name[] = "stoker: ";
    char *text = arena_alloc(arena, LAST_WORDS_MAX);
    const ssize_t length = read(worker->errors, text, LAST_WORDS_MAX - 1);
    text[length > 0 ? length : 0] = '\0';
    char *line = text;
    for (char *at = text; *at != '\0'; at++) {
        const bool is_letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        if (is_letter) {
            line[strcspn(line, "\n")] = '\0';
            const bool has_name = strncmp(line, own_name, sizeof own_name - 1) == 0;
            return line + (has_name ? sizeof own_name - 1 : 0);
        }
        line = *at == '\n' ? at + 1 : line;
    }
    return "";
}

/* "its process was killed by signal 6 (Aborted): engine.c:12: ...". Ends the worker. */
static const char *why_it_ended(struct pool *pool, struct worker *worker)
{
    const char *words = last_words(pool->arena, worker);
    const char *colon = words[0] != '\0' ? ": " : "";
    const int status = end(worker);
    if (status == -1) {
        return arena_printf(pool->arena, "its process ended%s%s", colon, words);
    }
    if (WIFSIGNALED(status)) {
        const int signal_number = WTERMSIG(status);
        return arena_printf(pool->arena, "its process was killed by signal %d (%s)%s%s",
                            signal_number, strsignal(signal_number), colon, words);
    }
    return arena_printf(pool->arena, "its process ended with status %d%s%s", WEXITSTATUS(status),
                        colon, words);
}

/* ---- pieces ----------------------------------------------------------------------------- */

static bool take(struct pool *pool, uint32_t piece, const struct piece_result *result)
{
    const bool is_good = pool->request->take(pool->request->context, piece, result);
    arena_reset(pool->arena);
    return is_good;
}

static bool be_idle(const struct pool *pool)
{
    const struct workers_request *request = pool->request;
    return request->idle == NULL || request->idle(request->context);
}

/* Without a worker. */
static bool do_piece(struct pool *pool, uint32_t piece)
{
    const struct workers_request *request = pool->request;
    struct arena *arena = arena_new();
    const struct piece_result result = request->work(request->context, piece, arena);
    const bool is_good = take(pool, piece, &result);
    arena_free(arena);
    return is_good && be_idle(pool); /* the next piece may last */
}

static void forget_first(struct worker *worker)
{
    worker->piece_count--;
    memmove(worker->pieces, worker->pieces + 1, worker->piece_count * sizeof *worker->pieces);
}

/* A worker that is dead by now shows so on its socket. */
static void give(const struct worker *worker, uint32_t piece)
{
    const bool is_sent = transmit(worker->socket, &piece, sizeof piece);
    (void)is_sent;
}

static uint32_t ahead(const struct pool *pool)
{
    const uint32_t left = pool->request->piece_count - pool->next;
    return pool->worker_count == 1 || left / END_PIECES > pool->worker_count ? AHEAD_MAX : 1;
}

static void fill(struct pool *pool, struct worker *worker)
{
    while (worker->piece_count < ahead(pool) && pool->next < pool->request->piece_count) {
        give(worker, pool->next);
        worker->pieces[worker->piece_count++] = pool->next++;
    }
}

/* The worker has ended: its piece has failed, those behind it go to another. */
static bool replace(struct pool *pool, struct worker *worker)
{
    sim_assert(worker->piece_count > 0); /* it waits for work and ends only without any */
    const uint32_t piece = worker->pieces[0];
    forget_first(worker);
    const struct piece_result failed = {.failure = why_it_ended(pool, worker)};
    bool is_good = take(pool, piece, &failed);
    if (is_good && start(pool, worker)) {
        for (uint32_t i = 0; i < worker->piece_count; i++) {
            give(worker, worker->pieces[i]);
        }
        return true;
    }
    while (is_good && worker->piece_count > 0) {
        const uint32_t left = worker->pieces[0];
        forget_first(worker);
        is_good = do_piece(pool, left);
    }
    return is_good;
}

/* Something came from a worker: a result, or its end. */
static bool hear(struct pool *pool, struct worker *worker)
{
    struct header header;
    if (!receive(worker->socket, &header, sizeof header)) {
        return replace(pool, worker);
    }
    void *bytes = arena_room(pool->arena, header.size_bytes, 1);
    if (!receive(worker->socket, bytes, header.size_bytes)) {
        return replace(pool, worker);
    }
    sim_assert(worker->piece_count > 0);
    const uint32_t piece = worker->pieces[0];
    forget_first(worker);
    fill(pool, worker); /* before the result is taken, which may last */
    return take(pool, piece, &(struct piece_result){bytes, header.size_bytes, NULL});
}

enum waiting { WAITING_SPEAKER, WAITING_IDLE, WAITING_NOBODY };

/* Waits until a worker with work says something, or for as long as the caller can be idle. */
static enum waiting wait_for_one(struct pool *pool, struct worker **speaker)
{
    struct pollfd sockets[WORKERS_MAX];
    struct worker *workers[WORKERS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < pool->worker_count; i++) {
        struct worker *worker = &pool->workers[i];
        if (worker->process != 0 && worker->piece_count > 0) {
            workers[count] = worker;
            sockets[count++] = (struct pollfd){.fd = worker->socket, .events = POLLIN};
        }
    }
    if (count == 0) {
        return WAITING_NOBODY;
    }
    const int timeout_ms = pool->request->idle != NULL ? pool->request->idle_ms : -1;
    while (poll(sockets, count, timeout_ms) < 0) {
        sim_assert(errno == EINTR || errno == EAGAIN || errno == ENOMEM);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (sockets[i].revents != 0) {
            *speaker = workers[i];
            return WAITING_SPEAKER;
        }
    }
    return WAITING_IDLE;
}

static bool run_all(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->worker_count; i++) {
        if (!start(pool, &pool->workers[i])) {
            break; /* fewer do it as well */
        }
        fill(pool, &pool->workers[i]);
    }
    struct worker *worker = NULL;
    for (enum waiting waiting = wait_for_one(pool, &worker); waiting != WAITING_NOBODY;
         waiting = wait_for_one(pool, &worker)) {
        if (waiting == WAITING_IDLE ? !be_idle(pool) : !hear(pool, worker)) {
            return false;
        }
        if (waiting == WAITING_SPEAKER && worker->process != 0) {
            fill(pool, worker);
        }
    }
    while (pool->next < pool->request->piece_count) {
        if (!do_piece(pool, pool->next++)) {
            return false;
        }
    }
    return be_idle(pool);
}

bool workers_run(const struct workers_request *request)
{
    sim_assert(request->jobs <= WORKERS_MAX);
    struct arena *arena = arena_new();
    struct pool *pool = arena_alloc(arena, sizeof *pool);
    *pool = (struct pool){.request = request, .worker_count = request->jobs, .arena = arena_new()};
    const bool is_good = run_all(pool);
    end_all(pool, !is_good);
    arena_free(pool->arena);
    arena_free(arena);
    return is_good;
}
