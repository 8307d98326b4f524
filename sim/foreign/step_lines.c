/* One row a trainer. A line that lacks its time is cut; one whose number is not told has the next.
 */
#include "foreign/step_lines.h"

#include "base/arena.h"

#include <inttypes.h>
#include <string.h>

enum { DIGITS_MAX = 32 };

enum step_value { SECONDS, MILLISECONDS, STEPS_PER_SECOND };

static const struct trainer {
    const char *name;
    const char *mark;   /* a line of a step has it */
    const char *label;  /* before its time; NULL: the time stands before `unit` */
    const char *unit;   /* behind the time; NULL: with label */
    const char *number; /* before the step's; NULL: not told */
    const char *batch;  /* before the sequences of all GPUs; NULL: not told */
    enum step_value value;
    bool is_any; /* a progress bar, of whatever trainer: where no other has a line */
} trainers[] = {
    {.name = "MaxText",
     .mark = "completed step:",
     .label = "seconds:",
     .number = "completed step:"},
    {.name = "NeMo",
     .mark = "train_step_timing in s:",
     .label = "train_step_timing in s:",
     .number = "global_step:",
     .batch = "global_batch_size:"},
    {.name = "NeMo 1",
     .mark = "train_step_timing in s=",
     .label = "train_step_timing in s=",
     .number = "global_step="},
    {.name = "nanoGPT",
     .mark = ": loss ",
     .label = " time ",
     .number = "iter ",
     .value = MILLISECONDS},
    {.name = "llm.c", .mark = " tok/s", .unit = " ms | ", .number = "step ", .value = MILLISECONDS},
    {.name = "nanotron",
     .mark = "elapsed_time_per_iteration_ms:",
     .label = "elapsed_time_per_iteration_ms:",
     .number = "iteration:",
     .value = MILLISECONDS},
    {.name = "DeepSpeed", .mark = "iter time (s):", .label = "iter time (s):", .number = "steps:"},
    {.name = "Composer",
     .mark = "throughput/batches_per_sec:",
     .label = "throughput/batches_per_sec:",
     .value = STEPS_PER_SECOND},
    {.name = "OLMo-core",
     .mark = "throughput/device/BPS=",
     .label = "throughput/device/BPS=",
     .number = "[step=",
     .value = STEPS_PER_SECOND},
    {.name = "fms-fsdp", .mark = "current step time:", .label = "current step time:"},
    {.name = "MLPerf", .mark = ":::MLLOG", .label = "\"train_step_time\":", .number = "\"step\":"},
    {.name = "a progress bar", .mark = "s/it", .unit = "s/it", .is_any = true},
    {.name = "a fast progress bar",
     .mark = "it/s",
     .unit = "it/s",
     .value = STEPS_PER_SECOND,
     .is_any = true},
};
enum { TRAINERS = sizeof trainers / sizeof *trainers };

/* A number that ends where `unit` begins: "  5.11s/it". */
static bool number_before(struct text_span line, const char *unit, double *value)
{
    const char *end = text_span_find(line, unit);
    const char *begin = end;
    while (begin != NULL && begin > line.begin && end - begin < DIGITS_MAX &&
           strchr("0123456789.", begin[-1]) != NULL) {
        begin--;
    }
    return begin != NULL && begin < end && text_span_number((struct text_span){begin, end}, value);
}

/* The time as the line has it; nanotron writes thousands as 5.11K. */
static bool read_value(const struct training_log *log, const struct trainer *trainer,
                       struct text_span line, double *value)
{
    const char *after = NULL;
    if (trainer->label == NULL) {
        return number_before(line, trainer->unit, value);
    }
    if (!log_number_after(log, line, trainer->label, value, &after)) {
        return false;
    }
    *value *= after < line.end && *after == 'K' ? 1e3 : 1;
    return true;
}

static bool is_step(const struct trainer *trainer, struct text_span line)
{
    double value = 0;
    return text_span_find(line, trainer->mark) != NULL &&
           (trainer->label != NULL ? text_span_find(line, trainer->label) != NULL
                                   : number_before(line, trainer->unit, &value));
}

bool import_step_wants(struct text_span line)
{
    for (uint32_t i = 0; i < TRAINERS; i++) {
        if (text_span_find(line, trainers[i].mark) != NULL) {
            return true;
        }
    }
    return false;
}

static double seconds_of(enum step_value kind, double value)
{
    return kind == SECONDS ? value : kind == MILLISECONDS ? value * 1e-3 : 1 / value;
}

static void read_line(struct training_log *log, const struct trainer *trainer,
                      struct text_span line)
{
    double value = 0, number = 0, batch = 0;
    const char *after;
    if (!is_step(trainer, line)) {
        return;
    }
    const bool has_number =
        trainer->number != NULL && log_number_after(log, line, trainer->number, &number, &after);
    if (!read_value(log, trainer, line, &value) || !(value > 0)) {
        log->cut++;
        return;
    }
    if (trainer->batch == NULL || !log_number_after(log, line, trainer->batch, &batch, &after)) {
        batch = 0;
    }
    const int64_t next = log->step_count > 0 ? log->steps[log->step_count - 1].number + 1 : 1;
    log_step(log, &(struct log_step){has_number ? (int64_t)number : next, (int64_t)batch,
                                     seconds_of(trainer->value, value), line.begin});
}

/* The next line, which a carriage return ends, too; moves *at behind it. */
static struct text_span next_line(const char **at)
{
    const struct text_span line = {*at, *at + strcspn(*at, "\r\n")};
    *at = line.end + (*line.end != '\0');
    return text_bare(line);
}

const char *step_lines_trainer(const char *text)
{
    uint32_t counts[TRAINERS] = {0};
    for (const char *at = text; *at != '\0';) {
        const struct text_span line = next_line(&at);
        for (uint32_t i = 0; i < TRAINERS; i++) {
            counts[i] += is_step(&trainers[i], line);
        }
    }
    uint32_t best = 0;
    for (uint32_t i = 1; i < TRAINERS; i++) {
        const bool is_better = counts[i] > counts[best] && !trainers[i].is_any;
        best = is_better || (counts[best] == 0 && counts[i] > 0) ? i : best;
    }
    return counts[best] > 0 ? trainers[best].name : NULL;
}

void step_lines_read(struct training_log *log, const char *name)
{
    const struct trainer *trainer = trainers;
    while (strcmp(trainer->name, name) != 0) {
        trainer++;
    }
    for (const char *at = log->text; *at != '\0';) {
        read_line(log, trainer, next_line(&at));
    }
}
