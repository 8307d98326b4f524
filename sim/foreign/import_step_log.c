/* The median step of a log that tells little else, as the anchor of a scenario that has the rest.
 */
#include "foreign/step_lines.h"

#include "base/arena.h"

#include <inttypes.h>

static const char known[] =
    "MaxText, NeMo, nanoGPT, llm.c, nanotron, DeepSpeed, Composer, OLMo-core, fms-fsdp, MLPerf's "
    "train_step_time, progress bars (5.11s/it); Megatron and torchtitan have kinds of their own";

static void read_steps(struct training_log *log)
{
    const char *trainer = step_lines_trainer(log->text);
    if (trainer != NULL) {
        step_lines_read(log, trainer);
    }
}

const struct log_reader import_step_reader = {read_steps, NULL};

static bool measure(struct importer *importer, struct training_log *log, struct log_median *median,
                    const char **trainer)
{
    log_open(log, importer);
    *trainer = step_lines_trainer(log->text);
    if (*trainer == NULL) {
        log_refuse(log, "there is no step in it that is known", known);
        return false;
    }
    step_lines_read(log, *trainer);
    return log_choose_run(log) && log_measure(log, known, median) && !log->is_bad;
}

bool import_step_log(struct importer *importer)
{
    struct training_log log;
    struct log_median median;
    const char *trainer = NULL;
    if (!measure(importer, &log, &median, &trainer)) {
        return false;
    }
    fprintf(importer->out, "# By `stoker import` from a log of %s: %s.\n", trainer, median.notes);
    fprintf(importer->out, "anchor:\n  step_time: %.6g s\n", median.value);
    if (median.batch > 0) {
        fprintf(importer->out, "  set: {batch.global: %" PRId64 "}\n", median.batch);
    }
    return true;
}

bool import_log_step(struct importer *importer, struct log_pace *pace)
{
    struct training_log log;
    struct log_median median;
    const char *trainer = NULL;
    *pace = (struct log_pace){.step_s = 0};
    if (step_lines_trainer(importer->file.text) == NULL ||
        !measure(importer, &log, &median, &trainer)) {
        return false;
    }
    *pace = (struct log_pace){.step_s = median.value, .batch = median.batch, .notes = median.notes};
    return true;
}
