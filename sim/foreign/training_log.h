/* A training log as a line of the CSV that `stoker validate` reads.
 *
 * What the readers of such logs (import_megatron.c, import_torchtitan.c) share: settings that were
 * found, by name; the lines of steps; the median step after warm-up; and the line that is written.
 *
 * Schedulers append: a file may hold several runs, one after the other. Each that its reader sees
 * begin (log_begin_run) has its own settings and steps; the last that has a step counts, or --run
 * N, and that is said.
 *
 * Logs are wild: colours, prefixes of ranks, lines of several ranks in any order, a last line
 * that is cut. Of a setting or a step that is told more than once the first counts; a line that
 * does not end is left out and counted.
 *
 * The first steps are left out, for they load, compile and warm up: a quarter of the lines, at most
 * ten, or --skip N. So are steps of another batch than the last one's (a batch that was ramped up).
 */
#ifndef FOREIGN_TRAINING_LOG_H
#define FOREIGN_TRAINING_LOG_H

#include "foreign/import.h"

struct log_setting {
    const char *name;
    const char *value;
    const char *at; /* in the text */
};

struct log_step {
    int64_t number;
    int64_t batch; /* sequences; 0: the line does not say */
    double value;  /* seconds, or what else is proportional to them */
    const char *at;
};

struct log_field {
    const char *column;
    const char *value;
};

/* What was read of a run that ended. */
struct log_run {
    struct log_setting *settings;
    size_t setting_count;
    struct log_step *steps;
    size_t step_count;
    uint32_t cut;
};

struct training_log {
    struct importer *importer;
    const char *text; /* of the file, with blanks in place of terminal escapes */
    struct log_setting *settings;
    size_t setting_count, setting_capacity;
    struct log_step *steps;
    size_t step_count, step_capacity;
    uint32_t cut;         /* lines of steps that do not end */
    struct log_run *runs; /* that ended before the one that is read */
    size_t run_count, run_capacity;
    struct log_field *fields;
    size_t field_count, field_capacity;
    bool is_bad; /* something was said to the user */
};

void log_open(struct training_log *log, struct importer *importer);

/* How the logs of a kind are read, for who holds several against one another (logs/log_ranks). */
struct log_reader {
    void (*read)(struct training_log *log); /* all runs, settings and steps, after log_open */
    bool (*matters)(const char *name);      /* a setting that a run has one of; NULL: none has */
};
extern const struct log_reader import_megatron_reader, import_torchtitan_reader, import_step_reader;

/* The place of something in log->text. */
struct place log_place(const struct training_log *log, const char *at);

/* ---- settings: the first of a name counts ------------------------------------------------ */

void log_set(struct training_log *log, const char *name, const char *value, const char *at);

/* "" when it is not told, or None. */
const char *log_text(const struct training_log *log, const char *name);

bool log_is(const struct training_log *log, const char *name, const char *value);

/* `absent` when it is not told; an error when it is no whole number. */
int64_t log_count(struct training_log *log, const char *name, int64_t absent);

/* The same, and an error when it is not told; `help` says what to do then. */
int64_t log_need(struct training_log *log, const char *name, const char *help);

/* The words for a message and its remedy; the log is bad then. */
void log_refuse(struct training_log *log, const char *what, const char *help);
/* The same at the place of a setting that is told. */
void log_refuse_at(struct training_log *log, const char *name, const char *what, const char *help);

/* ---- runs -------------------------------------------------------------------------------- */

/* What is read from here on is another run's. */
void log_begin_run(struct training_log *log);

/* After the whole text was read. False, with a message, when there is no such run (--run). */
MUST_USE bool log_choose_run(struct training_log *log);

/* ---- steps ------------------------------------------------------------------------------- */

void log_step(struct training_log *log, const struct log_step *step);

struct log_median {
    double value;
    int64_t batch;     /* of the last step; 0: not told */
    const char *notes; /* "median of 90 lines, steps 11 to 100; left out: 10 lines, steps 1 to 10;
                        * cut off: 1" */
    int64_t year;      /* on the first line of a step; 0: none */
};

struct told;

/* Its settings, with the places that they have in the file. */
void log_tell(const struct training_log *log, struct told *told);

/* How many of so many lines are of steps that warm up: a first quarter, of at most ten. */
size_t log_warm_lines(size_t lines);

/* False, with a message, when no step is left; `like` shows a line that would do. */
bool log_measure(struct training_log *log, const char *like, struct log_median *median);

/* The pace of a log of either kind without what its trainer says at its begin. False where it says
 * that, or has no such line. */
bool import_megatron_pace(struct importer *importer, struct log_pace *pace);
bool import_torchtitan_pace(struct importer *importer, struct log_pace *pace);

/* ---- the line ---------------------------------------------------------------------------- */

/* A field; "" leaves it blank. A column that is given twice is an invariant broken. */
void log_field(struct training_log *log, const char *column, const char *value);
void log_field_count(struct training_log *log, const char *column, int64_t value);

/* Columns that do not depend on the kind of log: id, gpu, node, network, notes, step. */
void log_common_fields(struct training_log *log, const struct log_median *median, double step_s,
                       const char *notes);

/* The framework and its year, or --software. */
void log_framework(struct training_log *log, const char *framework, int64_t year);

/* All fields on importer->out, below the columns' names unless --no-header. False if the log is
 * bad. */
bool log_print(const struct training_log *log);

/* ---- texts --------------------------------------------------------------------------------- */

/* A number after `label` in the line, thousands with commas or not; moves *after behind it. False
 * when there is none, or when the text ends with it, so that it may be cut. */
bool log_number_after(const struct training_log *log, struct text_span line, const char *label,
                      double *value, const char **after);

#endif
