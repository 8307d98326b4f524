/* The caller hands out the pieces, so it knows what each worker is at: the oldest piece without a
 * result is the one that a worker ended over. A worker has a socket, on which it gets numbers of
 * pieces and gives results, and a pipe for its standard error. Its end shows as the end of the
 * socket, after all that it had sent.
 *
 * Where the way to a worker is what fails (a send or a receipt, for lack of memory), nobody would
 * hear of its pieces again, and they are not what failed: it is cut off, which is killed and not
 * replaced, and they go to other workers, or are done here when there are none left.
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
    uint32_t next;      /* piece that nobody has had */
    uint32_t *returned; /* pieces of workers that were cut off, the last one on top */
    uint32_t returned_count;
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

enum receipt { RECEIPT_WHOLE, RECEIPT_END, RECEIPT_BROKEN };

/* The end of the stream is that of who sends, who may have left unread what was sent to it. */
static enum receipt receive(int socket, void *memory, size_t size_bytes)
{
    char *at = memory;
    while (size_bytes > 0) {
        const ssize_t count = recv(socket, at, size_bytes, 0);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return count == 0 || errno == ECONNRESET ? RECEIPT_END : RECEIPT_BROKEN;
        }
        at += count;
        size_bytes -= (size_t)count;
    }
    return RECEIPT_WHOLE;
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

enum { STATUS_UNHEARD = 0 }; /* of a worker that has nobody to talk to */

static _Noreturn void serve(const struct workers_request *request, int socket)
{
    struct arena *arena = arena_new();
    uint32_t piece;
    while (receive(socket, &piece, sizeof piece) == RECEIPT_WHOLE) {
        const struct piece_result result = request->work(request->context, piece, arena);
        const struct header header = {result.size_bytes};
        if (!transmit(socket, &header, sizeof header) ||
            !transmit(socket, result.bytes, result.size_bytes)) {
            break;
        }
        arena_reset(arena);
    }
    _exit(STATUS_UNHEARD);
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

/* Its exit status as waitpid gives it; -1 when that is not to be had. Killed, as it may be stopped
 * or at work: one that has ended already has the status with which it did. */
static int end(struct worker *worker)
{
    int status = -1;
    kill(worker->process, SIGKILL);
    close(worker->socket);
    while (waitpid(worker->process, &status, 0) < 0) {
        if (errno != EINTR) {
            status = -1;
            break;
        }
    }
    worker->process = 0;
    return status;
}

static void end_all(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->worker_count; i++) {
        struct worker *worker = &pool->workers[i];
        if (worker->process != 0) {
            end(worker);
            close(worker->errors);
        }
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

/* "its process was killed by signal 6 (Aborted): engine.c:12: ..."; NULL where it left by itself,
 * as it could not be reached. Ends the worker. */
static const char *why_it_ended(struct pool *pool, struct worker *worker)
{
    const int status = end(worker);
    const char *words = last_words(pool->arena, worker);
    const char *colon = words[0] != '\0' ? ": " : "";
    close(worker->errors);
    if (status == -1) {
        return arena_printf(pool->arena, "its process ended%s%s", colon, words);
    }
    if (WIFSIGNALED(status)) {
        const int signal_number = WTERMSIG(status);
        return arena_printf(pool->arena, "its process was killed by signal %d (%s)%s%s",
                            signal_number, strsignal(signal_number), colon, words);
    }
    return WEXITSTATUS(status) == STATUS_UNHEARD
               ? NULL
               : arena_printf(pool->arena, "its process ended with status %d%s%s",
                              WEXITSTATUS(status), colon, words);
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

static bool is_piece_left(const struct pool *pool)
{
    return pool->returned_count > 0 || pool->next < pool->request->piece_count;
}

static uint32_t next_piece(struct pool *pool)
{
    return pool->returned_count > 0 ? pool->returned[--pool->returned_count] : pool->next++;
}

/* Its pieces are as if it had never had them, whatever it made of them. */
static void return_pieces(struct pool *pool, struct worker *worker)
{
    while (worker->piece_count > 0) {
        sim_assert(pool->returned_count < pool->worker_count * AHEAD_MAX);
        pool->returned[pool->returned_count++] = worker->pieces[--worker->piece_count];
    }
}

static void cut_off(struct pool *pool, struct worker *worker)
{
    end(worker);
    close(worker->errors);
    return_pieces(pool, worker);
}

static void cut_all_off(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->worker_count; i++) {
        if (pool->workers[i].process != 0) {
            cut_off(pool, &pool->workers[i]);
        }
    }
}

static uint32_t ahead(const struct pool *pool)
{
    const uint32_t left = pool->request->piece_count - pool->next + pool->returned_count;
    return pool->worker_count == 1 || left / END_PIECES > pool->worker_count ? AHEAD_MAX : 1;
}

/* That a worker is dead by now shows on its socket, over the piece that it had before, if any. */
static void fill(struct pool *pool, struct worker *worker)
{
    while (worker->process != 0 && worker->piece_count < ahead(pool) && is_piece_left(pool)) {
        const uint32_t piece = next_piece(pool);
        worker->pieces[worker->piece_count++] = piece;
        if (!transmit(worker->socket, &piece, sizeof piece) &&
            (errno != EPIPE || worker->piece_count == 1)) {
            cut_off(pool, worker);
        }
    }
}

static void fill_all(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->worker_count; i++) {
        fill(pool, &pool->workers[i]);
    }
}

/* The worker has ended: its piece has failed, those behind it go to another. */
static bool replace(struct pool *pool, struct worker *worker)
{
    sim_assert(worker->piece_count > 0); /* it waits for work and ends only without any */
    const char *why = why_it_ended(pool, worker);
    if (why == NULL) {
        return_pieces(pool, worker);
        return true;
    }
    const uint32_t piece = worker->pieces[0];
    forget_first(worker);
    return_pieces(pool, worker);
    if (!take(pool, piece, &(struct piece_result){.failure = why})) {
        return false;
    }
    if (start(pool, worker)) {
        fill(pool, worker);
    }
    return true;
}

/* Something came from a worker: a result, or its end. */
static bool hear(struct pool *pool, struct worker *worker)
{
    struct header header;
    void *bytes = NULL;
    enum receipt receipt = receive(worker->socket, &header, sizeof header);
    if (receipt == RECEIPT_WHOLE) {
        bytes = arena_room(pool->arena, header.size_bytes, 1);
        receipt = receive(worker->socket, bytes, header.size_bytes);
    }
    if (receipt == RECEIPT_END) {
        return replace(pool, worker);
    }
    if (receipt == RECEIPT_BROKEN) {
        cut_off(pool, worker);
        return true;
    }
    sim_assert(worker->piece_count > 0);
    const uint32_t piece = worker->pieces[0];
    forget_first(worker);
    fill(pool, worker); /* before the result is taken, which may last */
    return take(pool, piece, &(struct piece_result){bytes, header.size_bytes, NULL});
}

enum waiting { WAITING_SPEAKER, WAITING_IDLE, WAITING_NOBODY, WAITING_BROKEN };

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
        if (errno != EINTR) {
            return WAITING_BROKEN; /* no memory, or fewer files allowed than there are workers */
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (sockets[i].revents != 0) {
            *speaker = workers[i];
            return WAITING_SPEAKER;
        }
    }
    return WAITING_IDLE;
}

static bool hear_all(struct pool *pool)
{
    struct worker *worker = NULL;
    for (;;) {
        switch (wait_for_one(pool, &worker)) {
        case WAITING_NOBODY:
            return true;
        case WAITING_BROKEN:
            cut_all_off(pool);
            break;
        case WAITING_IDLE:
            if (!be_idle(pool)) {
                return false;
            }
            break;
        case WAITING_SPEAKER:
            if (!hear(pool, worker)) {
                return false;
            }
            fill_all(pool); /* a worker that was cut off has left some to others */
            break;
        }
    }
}

static bool run_all(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->worker_count; i++) {
        if (!start(pool, &pool->workers[i])) {
            break; /* fewer do it as well */
        }
        fill(pool, &pool->workers[i]);
    }
    if (!hear_all(pool)) {
        return false;
    }
    while (is_piece_left(pool)) {
        if (!do_piece(pool, next_piece(pool))) {
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
    pool->returned = arena_array(arena, (size_t)request->jobs * AHEAD_MAX, sizeof *pool->returned);
    const bool is_good = run_all(pool);
    end_all(pool);
    arena_free(pool->arena);
    arena_free(arena);
    return is_good;
}
