/* Whole commands, in this process, over scenarios that a grammar writes: as they are, and with one
 * or two of their values made hard, or a line lost or told twice.
 *
 * Whatever the input, a command ends with a status that the manual names; what is not good has a
 * message; and no number on a screen or in a document is a NaN or an infinity. What the grammar
 * writes is valid but for rules among keys, so most of what is left as it is goes through: else
 * only what refuses is tried. Asserts and sanitizers see the rest: under them
 *
 *     make CC=clang MODE=asan build/clang-asan/tests/fuzz/test_commands
 *     build/clang-asan/tests/fuzz/test_commands 3 0 200000
 *
 * Usage: test_commands [SEED [FIRST [COUNT]]]; without arguments seed 3, 100 scenarios. The file of
 * the one that ended the program stays in the temporary folder; its title has the number. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/workers.h"
#include "cli/commands.h"
#include "support/random_scenario.h"
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

/* A line of one of these values, in one scenario of so many. */
struct line {
    const char *key;
    uint64_t one_in;
    const char *values[8];
};

static const char *draw(struct rng_key *dice, const char *const *values)
{
    uint64_t count = 0;
    while (count < 8 && values[count] != NULL) {
        count++;
    }
    return values[roll(dice, count)];
}

static void print_lines(FILE *out, struct rng_key *dice, const struct line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (roll(dice, lines[i].one_in) == 0) {
            fprintf(out, "%s: %s\n", lines[i].key, draw(dice, lines[i].values));
        }
    }
}

/* Without an inline model, cluster, GPU and software: with all that the catalogue's have. */
static const struct line named_lines[] = {
    {"model", 1, {"llama3-8b", "mpt-1b", "mixtral-8x7b", "qwen3-30b-a3b"}},
    {"cluster", 1, {"h100-3200", "h100-roce-24k", "a100-80gb-1600", "gb200-nvl72"}},
    {"gpus", 1, {"8", "16", "16", "32", "64"}},
    {"software", 1, {"megatron-2025", "megatron-2024", "torch-fsdp-2024"}},
    {"parallel",
     1,
     {"{tp: 1, pp: 1, dp: auto, zero: 3}", "{tp: 2, pp: 2, dp: auto, zero: 1}",
      "{tp: 4, pp: 2, dp: auto, zero: 1, schedule: interleaved, virtual_stages: 2}",
      "{tp: 8, pp: 1, dp: auto, zero: 2, sequence_parallel: true}",
      "{tp: 2, pp: 1, cp: 2, dp: auto, zero: 1, cp_type: ring}",
      "{tp: 1, pp: 4, dp: auto, zero: 1, schedule: zb-h1}"}},
    {"batch",
     1,
     {"{global: 64, micro: 1, sequence_length: 2048}",
      "{global: 128, micro: 2, sequence_length: 4096}",
      "{global: 64, micro: 1, sequence_length: 4096, document_length: 1024, document_spread: 1}"}},
    {"recompute", 1, {"none", "full", "selective", "{layers: 2}"}},
};

static const struct line run_lines[] = {
    {"  startup", 3, {"10 s", "0 s", "10 min"}},
    {"  queue", 4, {"1 h", "17 days"}},
    {"  first_steps", 4, {"{count: 10, longer: 1 s}", "{count: 1000, longer: 10 ms}"}},
    {"  evaluation", 3, {"{every: 1000 steps, takes: 1 min}", "{every: 10 steps, takes: 1 s}"}},
    {"  maintenance",
     3,
     {"{every: 7 days, takes: 1 h, at: 3 days, checkpoint: true}", "{every: 1 day, takes: 1 min}"}},
    {"  checkpoint",
     1,
     {"{every: 30 min, mode: async, to: memory, peer_every: 2, drain_every: 4, keep: 3}",
      "{every: 100 steps, mode: async}", "{every: 50 steps, mode: blocking, keep: 2}",
      "{every: 1 h}"}},
};

static const struct line failing_lines[] = {
    {"  failures",
     1,
     {"llama3-2024", "rsc1-2024", "infinitehbd-2023",
      "{counts: interruptions, classes: [{name: a, of: gpu, rate: {count: 148, gpus: 16384, "
      "days: 54}, takes: gpu, effect: kills, repair: {mean: 6.5 days, law: lognormal, median: "
      "0.7 days}, returns_bad: 1 %, fails_again: 1 h, bad: {share: 1 %, times: 10, "
      "retired_after: 3}}]}",
      "{counts: interruptions, classes: [{name: b, of: node, rate: {mttf: 10000 h}, takes: node, "
      "effect: slows, speed: 0.9, detected: slow, repair: 1 day}, {name: c, of: nic, rate: "
      "{components: 16384, count: 7, days: 54}, takes: node, effect: degrades, nic: 50 %, "
      "scale_up: 90 %, detected: slow, repair: 1 day}]}",
      "{counts: interruptions, classes: [{name: d, of: node, rate: {per_1000_node_days: 300}, "
      "takes: process, effect: stops, detected: hang}, {name: e, of: gpu, rate: {count: 14, "
      "gpus: 16384, days: 54}, takes: node, ageing: repaired, shape: 0.8, age: 10 days, effect: "
      "kills, repair: 1 h}]}"}},
    {"  spot",
     9,
     {"azure", "{notice: 30 s, rate: {count: 10, components: 100, days: 7}, together: 2, back: "
               "{mean: 57 min, law: lognormal, median: 40 min}}"}},
    {"  recovery",
     2,
     {"{spares: 2, hot_spares: 1, cold_start: 10 min, hands: 2, wrong_diagnosis: 5 %, inspection: "
      "4 h, start: 5 min, start_per_gpu: 3 ms, warm_up: 10 s, detection: {crash: 1 min, hang: "
      "10 min, slow: 1 h, corruption: 30 min}, check: {every: 1 h, takes: 1 min}}",
      "{without_node: elastic, batch: kept, growth: 7 min, detection: {crash: 10 s}}",
      "{spares: 1, start: 1 min}"}},
    {"  repetitions", 1, {"2", "3", "20"}},
};

static const struct line money_lines[] = {
    {"data",
     3,
     {"{workers_per_gpu: 2, prefetch: 2, time_per_sample: 2 ms, bytes_per_token: 4 B, "
      "memory_per_worker: 1 GB, from: shared, requests: 1, law: lognormal, spread: 1, "
      "samples_per_sequence: 1, tokens: 1T, page_cache: 10 GB, worker_start: 5 s, "
      "shuffle_buffer: 100}",
      "{workers_per_gpu: 1, time_per_sample: 100 ms, bytes_per_token: 2 B, from: shared}"}},
    {"price",
     2,
     {"{gpu_hour: 2.5 USD, electricity: 0.1 USD/kWh, pue: 1.2, carbon: 0.4 kg/kWh, "
      "storage_gb_month: 0.02 USD, moved_tb: 1 USD, spares: 100 %}",
      "{terms: own, own: {gpu: 30000 USD, life: 5 years, residual: 10 %, hosting: 100 USD/month, "
      "network: 10 %, storage: 5 %, spares: 1 %, utilisation: 80 %}, electricity: 0.1 USD/kWh}",
      "{gpu_hour: 3 USD, terms: reserved, reserved_discount: 10 %, reserved_term: 30 days}"}},
    {"power_cap", 6, {"{gpu: 300 W}", "{gpu: 600 W}"}},
    {"placement", 4, {"packed", "spread"}},
    {"slow", 6, {"[{rank: 3, speed: 90 %, nic: 50 %, scale_up: 80 %}]", "[{rank: 0, speed: 0.5}]"}},
    {"seed", 3, {"42", "18446744073709551615"}},
};

#define LINES(list) list, sizeof(list) / sizeof *(list)

static void print_run(FILE *out, struct rng_key *dice)
{
    static const char *const tokens[] = {"20M", "1G", "50G", "2T", NULL};
    const char *all = draw(dice, tokens);
    fprintf(out, "run:\n  tokens: %s\n", all);
    print_lines(out, dice, LINES(run_lines));
    if (strcmp(all, "50G") == 0 && roll(dice, 2) == 0) {
        fprintf(out, "  stages:\n  - {name: one, tokens: 10G}\n  - {name: two, tokens: 40G, "
                     "restart: true, change: 1 min}\n");
    }
    if (roll(dice, 2) == 0) {
        print_lines(out, dice, LINES(failing_lines));
    }
}

enum study { STUDY_NONE, STUDY_SWEEP, STUDY_SEARCH };

static void print_study(FILE *out, struct rng_key *dice, enum study study)
{
    static const char *const axes[] = {"batch.micro: [1, 2]",
                                       "parallel.zero: [0, 1]",
                                       "recompute: [none, full]",
                                       "cluster.nics.count: [1, 8]",
                                       "run.tokens: [1G, 2G]",
                                       "price.gpu_hour: [1 USD, 3 USD]",
                                       "run.checkpoint.every: [50 steps, 100 steps]",
                                       NULL};
    static const char *const spaces[] = {
        "{parallel: {tp: [1, 2], pp: [1], zero: [0, 1]}, batch: {micro: [1]}}",
        "{parallel: {tp: [1, 2, 4], pp: [1, 2]}, batch: {micro: [1, 2]}}",
        "{run.checkpoint.every: [50 steps, 100 steps]}", NULL};
    if (study == STUDY_SWEEP) {
        fprintf(out, "sweep: {%s}\n", draw(dice, axes));
    } else if (study == STUDY_SEARCH) {
        fprintf(out, "search: %s\n", draw(dice, spaces));
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

/* A number keeps its unit in one of two: of what else it becomes, most is refused. */
static void harden(char *text, struct rng_key *dice)
{
    char *at = value_from(text + roll(dice, strlen(text)));
    if (at == NULL) {
        return;
    }
    const size_t digits = strspn(at, "0123456789.");
    if (digits > 0 && roll(dice, 3) != 0) {
        splice(text, at, digits, numbers[roll(dice, sizeof numbers / sizeof *numbers)]);
    } else {
        const char *inserted = hard[roll(dice, sizeof hard / sizeof *hard)];
        splice(text, at, strcspn(at, ",}]\n"), inserted);
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

static const struct {
    enum study study;
    const char *words[WORDS_MAX]; /* %: the scenario's file, !: the results file */
} tries[] = {
    {STUDY_NONE, {"run", "%", "--no-db", "-q"}},
    {STUDY_NONE, {"run", "%", "--no-db", "-q", "--json"}},
    {STUDY_NONE, {"run", "%", "--db", "!", "-q"}},
    {STUDY_NONE, {"explain", "%", "-q"}},
    {STUDY_NONE, {"show", "%"}},
    {STUDY_NONE, {"whatif", "%", "--db", "!", "-q"}},
    {STUDY_SWEEP, {"sweep", "%", "--db", "!", "-q"}},
    {STUDY_SWEEP, {"sweep", "%", "--db", "!", "-q", "--json"}},
    {STUDY_SWEEP, {"compare", "%", "--db", "!", "-q"}},
    {STUDY_SEARCH, {"search", "%", "--db", "!", "-q", "--gap", "10%"}},
};
enum { TRY_COUNT = sizeof tries / sizeof *tries };

struct campaign {
    uint64_t seed, first, count;
    uint64_t statuses[6], plain, plain_refused;
    const char *folder, *scenario, *results;
    FILE *screen; /* what the command printed */
};

/* The status, as main makes it. What is printed goes to campaign->screen. */
static int start(const struct campaign *campaign, uint64_t which, bool *has_message)
{
    char *words[WORDS_MAX + 1] = {NULL};
    struct cli cli = {.program = &program_stoker, .arena = arena_new()};
    int count = 0;
    for (; count < WORDS_MAX && tries[which].words[count] != NULL; count++) {
        const char *word = tries[which].words[count];
        word = word[0] == '%' ? campaign->scenario : word[0] == '!' ? campaign->results : word;
        words[count] = arena_printf(cli.arena, "%s%s", count == 0 ? "stoker " : "", word);
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
    *has_message = diag_has_error(cli.diag);
    status = *has_message ? diag_exit_status(cli.diag) : status;
    FILE *nowhere = fopen("/dev/null", "w"); /* messages are made when they are printed */
    assert_non_null(nowhere);
    diag_print(cli.diag, nowhere);
    fclose(nowhere);
    arena_free(cli.arena);
    return status;
}

/* "nan" or "inf" where no letter stands beside it. */
static bool has_no_number(const char *text)
{
    static const char *const words[] = {"nan", "inf"};
    for (uint32_t i = 0; i < 2; i++) {
        for (const char *at = text; (at = strstr(at, words[i])) != NULL; at++) {
            const char before = at > text ? at[-1] : ' ';
            if (!isalpha((unsigned char)before) && before != '"' && before != '\'' &&
                !isalpha((unsigned char)at[3])) {
                return true;
            }
        }
    }
    return false;
}

static void look_at(const struct campaign *campaign, const char *text, uint64_t number,
                    uint64_t which, int status, bool has_message)
{
    static char screen[1 << 20];
    rewind(campaign->screen);
    screen[fread(screen, 1, sizeof screen - 1, campaign->screen)] = '\0';
    const bool is_told = status == 0 || has_message || (status >= 4 && screen[0] != '\0');
    /* What the input itself holds may be told again. */
    const bool is_number = has_no_number(text) || !has_no_number(screen);
    if (status < 0 || status > 5 || status == EXIT_FAILED || !is_told || !is_number) {
        print_error("number %llu of seed %llu: `%s` ends with status %d%s%s:\n%s\n",
                    (unsigned long long)number, (unsigned long long)campaign->seed,
                    tries[which].words[0], status, is_told ? "" : " without a message",
                    is_number ? "" : " and shows a NaN or an infinity", text);
        fail();
    }
}

static void write_scenario(const struct campaign *campaign, struct arena *arena, uint64_t number,
                           enum study study, char *text)
{
    struct rng_key dice = {campaign->seed, rng_stream("commands"), number, 0, 0};
    FILE *out = fmemopen(text, TEXT_BYTES - 1, "w");
    assert_non_null(out);
    const bool is_inline = roll(&dice, 2) == 0;
    if (is_inline) {
        fprintf(out, "%s", random_scenario_text(arena, campaign->seed, number));
    } else {
        fprintf(out, "scenario: random %llu of seed %llu\n", (unsigned long long)number,
                (unsigned long long)campaign->seed);
        print_lines(out, &dice, LINES(named_lines));
    }
    if (roll(&dice, 4) != 0) {
        print_run(out, &dice);
    }
    print_lines(out, &dice, money_lines, sizeof money_lines / sizeof *money_lines);
    print_study(out, &dice, study);
    fclose(out);
}

static void try_number(struct campaign *campaign, uint64_t number)
{
    static char text[TEXT_BYTES];
    memset(text, 0, sizeof text);
    struct arena *arena = arena_new();
    struct rng_key dice = {campaign->seed, rng_stream("hard commands"), number, 0, 0};
    const uint64_t which = roll(&dice, TRY_COUNT);
    write_scenario(campaign, arena, number, tries[which].study, text);
    const uint64_t changes = roll(&dice, 4) == 0 ? 0 : 1 + roll(&dice, 2);
    for (uint64_t i = 0; i < changes; i++) {
        if (roll(&dice, 6) == 0) {
            disturb_line(text, &dice);
        } else {
            harden(text, &dice);
        }
    }
    temporary_write(campaign->scenario, text);
    unlink(campaign->results);
    bool has_message = false;
    const int status = start(campaign, which, &has_message);
    look_at(campaign, text, number, which, status, has_message);
    campaign->statuses[status]++;
    campaign->plain += changes == 0;
    campaign->plain_refused += changes == 0 && status == EXIT_INPUT;
    arena_free(arena);
}

static void whatever_the_input_commands_end_as_they_say(void **state)
{
    struct campaign *campaign = *state;
    struct arena *arena = arena_new();
    campaign->folder = temporary_new(arena);
    campaign->scenario = arena_printf(arena, "%s/scenario.yaml", campaign->folder);
    campaign->results = arena_printf(arena, "%s/results.db", campaign->folder);
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
