/* The median step of a log that tells little else, as the anchor of a scenario that has the rest.
 */
#include "foreign/step_lines.h"

#include "base/arena.h"

#include <inttypes.h>

static const char known[] =
    "MaxText, NeMo, nanoGPT, llm.c, nanotron, DeepSpeed, Composer, OLMo-core, fms-fsdp, MLPerf's "
    "train_step_time, progress bars (5.11s/it); Megatron and torchtitan have kinds of their own";

bool import_step_log(struct importer *importer)
{
    struct training_log log;
    struct log_median median;
    log_open(&log, importer);
    const char *trainer = step_lines_trainer(log.text);
    if (trainer == NULL) {
        log_refuse(&log, "there is no step in it that is known", known);
        return false;
    }
    step_lines_read(&log, trainer);
    if (!log_choose_run(&log) || !log_measure(&log, known, &median)) {
        return false;
    }
    fprintf(importer->out, "# By `stoker import` from a log of %s: %s.\n", trainer, median.notes);
    fprintf(importer->out, "anchor:\n  step_time: %.6g s\n", median.value);
    if (median.batch > 0) {
        fprintf(importer->out, "  set: {batch.global: %" PRId64 "}\n", median.batch);
    }
    return !log.is_bad;
}
