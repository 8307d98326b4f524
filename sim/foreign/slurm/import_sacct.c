/* Slurm's accounting as rates of interruptions: `sacct -P -X --format=JobID,State,NNodes,Elapsed`.
 *
 *     JobID|State|ExitCode|NNodes|Start|End|Elapsed
 *     101|NODE_FAIL|0:0|64|2025-01-01T00:00:00|2025-01-03T00:00:00|2-00:00:00
 *
 * What the nodes of all jobs were used is added up, node-days; what ended a job that was not its
 * user's or its limit's doing is counted by its state. Steps of a job (101.batch) repeat it and are
 * left out.
 */
#include "foreign/import.h"

#include "base/arena.h"
#include "base/units.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

enum { FIELDS_MAX = 64 };

/* States that end a job from outside; others are the user's, the limit's, or no end. */
static const struct state {
    const char *word, *name;
    const char *takes;
    const char *what; /* for the comment */
} states[] = {
    {"NODE_FAIL", "node_fail", "node", "a node of the job was lost"},
    {"BOOT_FAIL", "boot_fail", "node", "a node did not boot"},
    {"FAILED", "failed", "process", "the job ended with an error: some of these are its user's"},
};
enum { STATES = sizeof states / sizeof *states };

enum column { COLUMN_ID, COLUMN_STATE, COLUMN_NODES, COLUMN_ELAPSED, COLUMNS };
static const char *const column_names[COLUMNS] = {"JobID", "State", "NNodes", "Elapsed"};

struct accounts {
    struct importer *importer;
    const struct text_file *file; /* that is read */
    int32_t at[COLUMNS];          /* which field; -1: not there */
    double node_s;
    int64_t jobs;
    int64_t counts[STATES];
    bool is_bad;
};

static void report(struct accounts *accounts, const char *at, const char *message, const char *help)
{
    const struct place place = text_file_place(accounts->file, at);
    diag_add(accounts->importer->diag, DIAG_INPUT, &place, "%s", message);
    diag_help(accounts->importer->diag, "%s", help);
    accounts->is_bad = true;
}

static uint32_t split(struct text_span line, struct text_span *fields)
{
    uint32_t count = 0;
    const char *begin = line.begin;
    while (count < FIELDS_MAX) {
        const char *end = memchr(begin, '|', (size_t)(line.end - begin));
        fields[count++] = (struct text_span){begin, end != NULL ? end : line.end};
        if (end == NULL) {
            break;
        }
        begin = end + 1;
    }
    return count;
}

static bool read_header(struct accounts *accounts, struct text_span line)
{
    struct text_span fields[FIELDS_MAX];
    const uint32_t count = split(line, fields);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        accounts->at[i] = -1;
        for (uint32_t k = 0; k < count; k++) {
            if (text_span_is_word(fields[k], column_names[i])) {
                accounts->at[i] = (int32_t)k;
            }
        }
        if (accounts->at[i] < 0) {
            report(
                accounts, line.begin,
                arena_printf(accounts->importer->arena, "there is no column %s", column_names[i]),
                "sacct -P -X --format=JobID,State,NNodes,Elapsed writes the four that are needed");
            return false;
        }
    }
    return true;
}

/* "2-00:00:00", "12:00:00", "05:30": seconds; false: it is none. */
static bool read_elapsed(struct text_span text, double *seconds)
{
    int64_t days = 0, part = 0;
    const char *dash = memchr(text.begin, '-', text_span_length(text));
    if (dash != NULL && !text_span_count((struct text_span){text.begin, dash}, &days)) {
        return false;
    }
    double sum = 0;
    const char *begin = dash != NULL ? dash + 1 : text.begin;
    for (uint32_t i = 0; i < 3; i++) {
        const char *colon = memchr(begin, ':', (size_t)(text.end - begin));
        const char *end = colon != NULL ? colon : text.end;
        if (!text_span_count((struct text_span){begin, end}, &part)) {
            return false;
        }
        sum = sum * 60 + (double)part;
        if (colon == NULL) {
            *seconds = (double)days * SECONDS_PER_DAY + sum;
            return true;
        }
        begin = colon + 1;
    }
    return false;
}

/* The first word: "CANCELLED by 1000". */
static void count_state(struct accounts *accounts, struct text_span field)
{
    const char *at = field.begin;
    const struct text_span word = text_word(&at, field.end);
    for (uint32_t i = 0; i < STATES; i++) {
        accounts->counts[i] += text_span_is_word(word, states[i].word);
    }
}

static void read_job(struct accounts *accounts, struct text_span line)
{
    struct text_span fields[FIELDS_MAX];
    const uint32_t count = split(line, fields);
    struct text_span of[COLUMNS];
    for (uint32_t i = 0; i < COLUMNS; i++) {
        if (accounts->at[i] >= (int32_t)count) {
            report(accounts, line.begin, "this line has fewer fields than the header",
                   "copy whole lines; is the last one cut?");
            return;
        }
        of[i] = fields[accounts->at[i]];
    }
    int64_t nodes = 0;
    double elapsed_s = 0;
    if (memchr(of[COLUMN_ID].begin, '.', text_span_length(of[COLUMN_ID])) != NULL) {
        return;
    }
    if (!text_span_count(of[COLUMN_NODES], &nodes)) {
        report(accounts, of[COLUMN_NODES].begin, "this is no number of nodes", "like 64");
    } else if (!read_elapsed(of[COLUMN_ELAPSED], &elapsed_s)) {
        report(accounts, of[COLUMN_ELAPSED].begin, "this is no time", "like 2-03:04:05");
    } else {
        accounts->jobs++;
        accounts->node_s += (double)nodes * elapsed_s;
        count_state(accounts, of[COLUMN_STATE]);
    }
}

static void read_file(struct accounts *accounts)
{
    bool has_header = false;
    for (const char *next = accounts->file->text; next != NULL && !accounts->is_bad;) {
        const struct text_span line = text_line(next, &next);
        if (line.begin == line.end) {
            continue;
        }
        if (has_header) {
            read_job(accounts, line);
        } else {
            has_header = read_header(accounts, line);
        }
    }
}

static void print(const struct accounts *accounts)
{
    struct importer *importer = accounts->importer;
    struct arena *arena = importer->arena;
    FILE *out = importer->out;
    const char *name = import_quote(arena, importer->name != NULL ? importer->name : "imported");
    const char *from =
        arena_printf(arena, "imported from %s: %" PRId64 " jobs, %.6g node-days",
                     importer->file.path, accounts->jobs, accounts->node_s / SECONDS_PER_DAY);
    fprintf(out,
            "# Made by `stoker import`: ends of jobs by state over the node-days of all. "
            "Cancelled, timed\n"
            "# out and completed jobs are none. Repairs are not in the accounts: fill them in.\n"
            "failures: %s\ntitle: %s\nsource: %s\ncounts: interruptions\nclasses:\n",
            name, import_quote(arena, from), import_quote(arena, from));
    for (uint32_t i = 0; i < STATES; i++) {
        if (accounts->counts[i] > 0) {
            fprintf(out,
                    "# %s: %.4g per 1,000 node-days\n- name: %s\n  of: node\n"
                    "  rate: {count: %" PRId64 ", components: 1, days: %.10g}\n  takes: %s\n",
                    states[i].what,
                    1000 * (double)accounts->counts[i] / (accounts->node_s / SECONDS_PER_DAY),
                    states[i].name, accounts->counts[i], accounts->node_s / SECONDS_PER_DAY,
                    states[i].takes);
        }
    }
}

bool import_sacct(struct importer *importer)
{
    struct accounts accounts = {.importer = importer};
    int64_t ends = 0;
    accounts.file = import_file_at(importer, 0);
    for (uint32_t i = 0; accounts.file != NULL; accounts.file = import_file_at(importer, ++i)) {
        read_file(&accounts);
    }
    for (uint32_t i = 0; i < STATES; i++) {
        ends += accounts.counts[i];
    }
    const struct place whole = {.file = importer->file.path};
    if (!accounts.is_bad && (ends == 0 || !(accounts.node_s > 0))) {
        diag_add(importer->diag, DIAG_INPUT, &whole,
                 "nothing ended a job in %" PRId64 " jobs and %.4g node-days: no rate follows",
                 accounts.jobs, accounts.node_s / SECONDS_PER_DAY);
        diag_help(importer->diag, "a longer time has some; NODE_FAIL, BOOT_FAIL and FAILED count");
        return false;
    }
    if (!accounts.is_bad) {
        print(&accounts);
    }
    return !accounts.is_bad;
}
