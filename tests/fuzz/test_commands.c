/* Whole commands, in this process, over scenarios that a grammar writes: as they are, and with one
 * or two of their values made hard, or a line lost or told twice.
 *
 * Whatever the input, a command ends with a status that the manual names; what is not good has a
 * message; and no number on a screen or in a document is a NaN or an infinity. What the grammar
 * writes is valid but for rules among keys, so most of what is left as it is goes through: else
 * only what refuses is tried. A command ends soon, too: limit_s() says after how much of a
 * processor's time. Asserts and sanitizers see the rest: under them
 *
 *     make CC=clang MODE=asan CFLAGS='-O2 -g' build/clang-asan/tests/fuzz/test_commands
 *     TMPDIR=/dev/shm build/clang-asan/tests/fuzz/test_commands 3 0 200000
 *
 * What is drawn is mostly small (LARGE_IN) and mostly soon done (tries[].weight), so that an
 * execution takes 2 ms, under sanitizers some five times that. On a disk, syncs of the results file
 * take as long again: hence the TMPDIR.
 *
 * Usage: test_commands [SEED [FIRST [COUNT]]]; without arguments seed 3, 100 scenarios. The file of
 * the one that ended the program stays in the temporary folder; its last line has the number. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/workers.h"
#include "cli/commands.h"
#include "support/no_number.h"
#include "support/random_whole.h"
#include "support/share.h"
#include "support/temporary.h"

#include <gsl/gsl_errno.h>

/* ---- workers: what one does is seen only in the same process ------------------------------- */

uint32_t workers_count(uint32_t wanted, uint32_t pieces)
{
    (void)wanted;
    return pieces < 1 ? pieces : 1;
}

bool workers_run(const struct workers_request *request)
{
    for (uint32_t i = 0; i < request->piece_count; i++) {
        struct arena *arena = arena_new();
        const struct piece_result result = request->work(request->context, i, arena);
        const bool goes_on = request->take(request->context, i, &result) &&
                             (request->idle == NULL || request->idle(request->context));
        arena_free(arena);
        if (!goes_on) {
            return false;
        }
    }
    return true;
}

/* ---- scenarios ----------------------------------------------------------------------------- */

static uint64_t roll(struct rng_key *dice, uint64_t bound)
{
    dice->operation++;
    return rng_below(dice, bound);
}

enum study { STUDY_NONE, STUDY_SWEEP, STUDY_SEARCH, STUDY_POLICY };

static void print_study(FILE *out, struct rng_key *dice, enum study study)
{
    static const char *const axes[] = {"batch.micro: [1, 2]",
                                       "parallel.zero: [0, 1]",
                                       "recompute: [none, full]",
                                       "cluster.nics.count: [1, 8]",
                                       "run.tokens: [1G, 2G]",
                                       "price.gpu_hour: [1 USD, 3 USD]",
                                       "run.checkpoint.every: [50 steps, 100 steps]"};
    static const char *const spaces[] = {
        "{parallel: {tp: [1, 2], pp: [1], zero: [0, 1], schedule: [1f1b]}, batch: {micro: [1]}, "
        "recompute: [none]}",
        "{parallel: {tp: [2], ep: [1], etp: [1], pp: [1, 2], zero: [1]}, batch: {micro: [1, 2]}, "
        "recompute: [none, full]}",
        "{parallel: {tp: [1, 2, 4], pp: [1], zero: [1], sequence_parallel: [true]}}"};
    static const char *const policies[] = {
        "{run.checkpoint.every: [50 steps, 100 steps]}",
        "{run.checkpoint.every: [50 steps, 1 h], run.recovery.spares: [0, 1]}"};
    if (study == STUDY_SWEEP) {
        fprintf(out, "sweep: {%s}\n", axes[roll(dice, sizeof axes / sizeof *axes)]);
    } else if (study == STUDY_SEARCH) {
        fprintf(out, "search: %s\n", spaces[roll(dice, sizeof spaces / sizeof *spaces)]);
    } else if (study == STUDY_POLICY) {
        fprintf(out, "search: %s\n", policies[roll(dice, sizeof policies / sizeof *policies)]);
    }
}

/* ---- values made hard ---------------------------------------------------------------------- */

static const char *const hard[] = {"0",
                                   "-1",
                                   "-0",
                                   "1",
                                   "2",
                                   "3",
                                   "7",
                                   "64",
                                   "0.5",
                                   "1e300",
                                   "-1e300",
                                   ".nan",
                                   ".inf",
                                   "-.inf",
                                   "9223372036854775807",
                                   "9223372036854775808",
                                   "18446744073709551615",
                                   "4294967296",
                                   "1e-320",
                                   "1e18",
                                   "1000000000",
                                   "999983",
                                   "100 %",
                                   "0 %",
                                   "1e-300 %",
                                   "1 s",
                                   "0 s",
                                   "1 us",
                                   "1e9 s",
                                   "1e-300 s",
                                   "1 GB",
                                   "0 B",
                                   "1 PB",
                                   "400 Gbps",
                                   "8 kbps",
                                   "1 kW",
                                   "0 USD",
                                   "1e300 USD",
                                   "true",
                                   "false",
                                   "auto",
                                   "null",
                                   "[]",
                                   "{}",
                                   "[1, 2]",
                                   "\"\"",
                                   "none",
                                   "1 steps",
                                   "1000000 steps",
                                   "365 days",
                                   "1T",
                                   "1"};

static const char *const numbers[] = {"0",   "1",   "2",     "3",     "5",    "8",     "16",
                                      "100", "0.5", "0.001", "1e-9",  "1000", "12345", "999983",
                                      "1e6", "1e9", "1e15",  "1e300", "-1",   "-0",    "1e-320"};

enum { TEXT_BYTES = 32768 };

/* One scenario in so many has up to 256 GPUs and 2T tokens, and all tables of measured runs; the
 * others are small. */
enum { LARGE_IN = 64, TABLE_LINES = 40 };

static bool is_large(uint64_t number)
{
    return number % LARGE_IN == LARGE_IN - 1;
}

#ifdef STOKER_DEBUG /* and sanitizers */
enum { TOO_LONG_S = 100 };
#else
enum { TOO_LONG_S = 10 };
#endif

/* Where a value begins: behind ": " or ", " or "[". NULL: nowhere from there on. */
static char *value_from(char *at)
{
    for (; *at != '\0'; at++) {
        const bool begins = (at[0] == ':' || at[0] == ',') && at[1] == ' ';
        if (begins && at[2] != '{' && at[2] != '[') {
            return at + 2;
        }
        if (at[0] == '[' && at[1] != '{') {
            return at + 1;
        }
    }
    return NULL;
}

static void splice(char *text, char *at, size_t cut, const char *inserted)
{
    const size_t length = strlen(inserted);
    const size_t rest = strlen(at + cut) + 1;
    if ((size_t)(at - text) + length + rest <= TEXT_BYTES) {
        memmove(at + length, at + cut, rest);
        memcpy(at, inserted, length);
    }
}

/* Microbatches times layers are simulated one by one: as many as are not refused take a minute, and
 * that is no fault. */
static bool takes_long(const char *text, const char *at, const char *inserted)
{
    static const char *const keys[] = {"global: ", "layers: "};
    const double value = strtod(inserted, NULL);
    bool is_counted = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const size_t length = strlen(keys[i]);
        is_counted = is_counted ||
                     ((size_t)(at - text) >= length && strncmp(at - length, keys[i], length) == 0);
    }
    return is_counted && value > 1000 && value <= 1e9;
}

/* A number keeps its unit in one of two: of what else it becomes, most is refused. */
static void harden(char *text, struct rng_key *dice)
{
    char *at = value_from(text + roll(dice, strlen(text)));
    if (at == NULL) {
        return;
    }
    const size_t digits = strspn(at, "0123456789.");
    const bool keeps_unit = digits > 0 && roll(dice, 3) != 0;
    const char *inserted = keeps_unit ? numbers[roll(dice, sizeof numbers / sizeof *numbers)]
                                      : hard[roll(dice, sizeof hard / sizeof *hard)];
    if (!takes_long(text, at, inserted)) {
        splice(text, at, keeps_unit ? digits : strcspn(at, ",}]\n"), inserted);
    }
}

/* The line is lost, or told twice. */
static void disturb_line(char *text, struct rng_key *dice)
{
    char *at = text + roll(dice, strlen(text));
    while (at > text && at[-1] != '\n') {
        at--;
    }
    const size_t length = strcspn(at, "\n") + (strchr(at, '\n') != NULL);
    char line[2048] = "";
    if (roll(dice, 2) == 0 && length < sizeof line) {
        memcpy(line, at, length);
    }
    splice(text, line[0] != '\0' ? at : at, line[0] != '\0' ? 0 : length, line);
}

/* ---- commands ------------------------------------------------------------------------------ */

enum { WORDS_MAX = 12 };

/* What takes longer is drawn more seldom: a million executions are to end within the hour. */
static const struct {
    uint64_t weight;
    enum study study;
    const char *words[WORDS_MAX]; /* %: the scenario's file, !: the results file */
} tries[] = {
    {40, STUDY_NONE, {"run", "%", "--no-db", "-q"}},
    {40, STUDY_NONE, {"run", "%", "--no-db", "-q", "--json"}},
    {20, STUDY_NONE, {"run", "%", "--db", "!", "-q"}},
    {20, STUDY_NONE, {"explain", "%", "-q"}},
    {40, STUDY_NONE, {"show", "%"}},
    {1, STUDY_NONE, {"whatif", "%", "--db", "!", "-q"}},
    {10, STUDY_SWEEP, {"sweep", "%", "--db", "!", "-q"}},
    {10, STUDY_SWEEP, {"sweep", "%", "--db", "!", "-q", "--json"}},
    {10, STUDY_SWEEP, {"compare", "%", "--db", "!", "-q"}},
    {5, STUDY_SEARCH, {"search", "%", "--db", "!", "-q", "--gap", "10%"}},
    {5, STUDY_POLICY, {"search", "%", "--db", "!", "-q"}},
};
enum { TRY_COUNT = sizeof tries / sizeof *tries };

static uint64_t draw_try(struct rng_key *dice)
{
    uint64_t all = 0;
    for (uint64_t i = 0; i < TRY_COUNT; i++) {
        all += tries[i].weight;
    }
    uint64_t at = roll(dice, all);
    uint64_t which = 0;
    for (; at >= tries[which].weight; which++) {
        at -= tries[which].weight;
    }
    return which;
}

struct campaign {
    uint64_t seed, first, count;
    uint64_t statuses[6], plain, plain_refused;
    const char *folder, *scenario, *results;
    const char *catalogue; /* the option: short tables of measured runs before those of the house */
    FILE *screen;          /* what the command printed */
};

/* Without its line of search: a search is for all layouts there are. */
static uint64_t limit_s(uint64_t which)
{
    const char *command = tries[which].words[0];
    const bool asks_many = strcmp(command, "search") == 0 || strcmp(command, "whatif") == 0;
    return asks_many ? 10 * TOO_LONG_S : TOO_LONG_S;
}

struct end {
    int status; /* as main makes it */
    bool has_message;
    double took_s; /* of the processor */
};

/* What is printed goes to campaign->screen. */
static struct end start(const struct campaign *campaign, uint64_t which, bool has_all_tables)
{
    const clock_t begin = clock();
    char *words[WORDS_MAX + 2] = {NULL};
    struct cli cli = {.program = &program_stoker, .arena = arena_new()};
    int count = 0;
    for (; count < WORDS_MAX && tries[which].words[count] != NULL; count++) {
        const char *word = tries[which].words[count];
        word = word[0] == '%' ? campaign->scenario : word[0] == '!' ? campaign->results : word;
        words[count] = arena_printf(cli.arena, "%s%s", count == 0 ? "stoker " : "", word);
    }
    if (!has_all_tables) {
        words[count++] = arena_printf(cli.arena, "%s", campaign->catalogue);
    }
    cli.diag = diag_new(cli.arena);
    fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    assert_true(ftruncate(fileno(campaign->screen), 0) == 0);
    rewind(campaign->screen);
    assert_true(dup2(fileno(campaign->screen), STDOUT_FILENO) >= 0);
    int status =
        command_start(command_find(cli.program, tries[which].words[0]), &cli, count, words);
    fflush(stdout);
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    close(kept);
    const bool has_message = diag_has_error(cli.diag);
    status = has_message ? diag_exit_status(cli.diag) : status;
    FILE *nowhere = fopen("/dev/null", "w"); /* messages are made when they are printed */
    assert_non_null(nowhere);
    diag_print(cli.diag, nowhere);
    fclose(nowhere);
    arena_free(cli.arena);
    return (struct end){status, has_message, (double)(clock() - begin) / (double)CLOCKS_PER_SEC};
}

static void look_at(const struct campaign *campaign, const char *text, uint64_t number,
                    uint64_t which, const struct end *end)
{
    const int status = end->status;
    static char screen[1 << 20];
    rewind(campaign->screen);
    screen[fread(screen, 1, sizeof screen - 1, campaign->screen)] = '\0';
    const bool is_told = status == 0 || end->has_message || (status >= 4 && screen[0] != '\0');
    /* What the input itself holds may be told again. */
    const bool is_number = text_has_no_number(text) || !text_has_no_number(screen);
    const bool is_soon = end->took_s <= (double)limit_s(which);
    if (status < 0 || status > 5 || status == EXIT_FAILED || !is_told || !is_number || !is_soon) {
        print_error("number %llu of seed %llu: `%s` ends with status %d after %.1f s%s%s:\n%s\n",
                    (unsigned long long)number, (unsigned long long)campaign->seed,
                    tries[which].words[0], status, end->took_s, is_told ? "" : " without a message",
                    is_number ? "" : " and shows a NaN or an infinity", text);
        fail();
    }
}

static void write_scenario(const struct campaign *campaign, struct arena *arena, uint64_t number,
                           enum study study, char *text)
{
    struct rng_key dice = {
        .seed = campaign->seed, .stream = rng_stream("commands"), .rank = number};
    FILE *out = fmemopen(text, TEXT_BYTES - 1, "w");
    assert_non_null(out);
    if (is_large(number)) {
        random_whole_scenario(out, arena, &dice);
    } else {
        random_whole_small_scenario(out, arena, &dice);
    }
    print_study(out, &dice, study);
    fclose(out);
}

/* A command that hangs ends the program by SIGPROF, soon after look_at would have found it slow.
 * Each has a timer of its own: a limit on all of the process is counted in ticks, and on a busy
 * machine those of a long campaign run ahead of what clock() says. */
static void limit_time(uint64_t which)
{
    const struct itimerval limit = {.it_value = {.tv_sec = (time_t)(2 * limit_s(which))}};
    assert_true(setitimer(ITIMER_PROF, &limit, NULL) == 0);
}

static void try_number(struct campaign *campaign, uint64_t number)
{
    static char text[TEXT_BYTES];
    memset(text, 0, sizeof text);
    struct arena *arena = arena_new();
    struct rng_key dice = {
        .seed = campaign->seed, .stream = rng_stream("hard commands"), .rank = number};
    const uint64_t which = draw_try(&dice);
    write_scenario(campaign, arena, number, tries[which].study, text);
    const uint64_t changes = roll(&dice, 4) == 0 ? 0 : 1 + roll(&dice, 2);
    for (uint64_t i = 0; i < changes; i++) {
        if (roll(&dice, 6) == 0) {
            disturb_line(text, &dice);
        } else {
            harden(text, &dice);
        }
    }
    temporary_write(campaign->scenario,
                    arena_printf(arena, "%s\n# number %llu of seed %llu: %s\n", text,
                                 (unsigned long long)number, (unsigned long long)campaign->seed,
                                 tries[which].words[0]));
    unlink(campaign->results);
    limit_time(which);
    const struct end end = start(campaign, which, is_large(number));
    look_at(campaign, text, number, which, &end);
    campaign->statuses[end.status]++;
    campaign->plain += changes == 0;
    campaign->plain_refused += changes == 0 && end.status == EXIT_INPUT;
    arena_free(arena);
}

/* The first lines of a table: all of them are a third of what a run costs. */
static void write_short_table(struct arena *arena, const char *folder, const char *name)
{
    char *text = arena_printf(arena, "%s", temporary_read(arena, name));
    char *end = text;
    for (uint32_t i = 0; i < TABLE_LINES && *end != '\0'; i++) {
        end += strcspn(end, "\n");
        end += *end == '\n';
    }
    *end = '\0';
    temporary_write(arena_printf(arena, "%s/%s", folder, name), text);
}

static const char *short_catalogue(struct arena *arena, const char *folder)
{
    assert_true(mkdir(arena_printf(arena, "%s/models", folder), 0700) == 0);
    write_short_table(arena, folder, "models/validated.csv");
    write_short_table(arena, folder, "models/ratios.csv");
    return arena_printf(arena, "--catalogue=%s", folder);
}

static void whatever_the_input_commands_end_as_they_say(void **state)
{
    struct campaign *campaign = *state;
    struct arena *arena = arena_new();
    campaign->folder = temporary_new(arena);
    campaign->scenario = arena_printf(arena, "%s/scenario.yaml", campaign->folder);
    campaign->results = arena_printf(arena, "%s/results.db", campaign->folder);
    campaign->catalogue = short_catalogue(arena, campaign->folder);
    campaign->screen = tmpfile();
    assert_non_null(campaign->screen);
    gsl_set_error_handler_off();
    for (uint64_t i = 0; i < campaign->count; i++) {
        try_number(campaign, campaign->first + i);
    }
    print_message("%llu commands: status 0 %llu, 3 %llu, 4 %llu, 5 %llu; of %llu left as they are "
                  "%llu refused\n",
                  (unsigned long long)campaign->count, (unsigned long long)campaign->statuses[0],
                  (unsigned long long)campaign->statuses[3],
                  (unsigned long long)campaign->statuses[4],
                  (unsigned long long)campaign->statuses[5], (unsigned long long)campaign->plain,
                  (unsigned long long)campaign->plain_refused);
    assert_true(campaign->plain_refused * 3 <= campaign->plain);
    fclose(campaign->screen);
    temporary_remove(campaign->folder);
    arena_free(arena);
}

int main(int count, char **arguments)
{
    struct campaign campaign = {.seed = 3, .first = 0, .count = share_of(100)};
    campaign.seed = count > 1 ? strtoull(arguments[1], NULL, 10) : campaign.seed;
    campaign.first = count > 2 ? strtoull(arguments[2], NULL, 10) : campaign.first;
    campaign.count = count > 3 ? strtoull(arguments[3], NULL, 10) : campaign.count;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(whatever_the_input_commands_end_as_they_say, &campaign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
