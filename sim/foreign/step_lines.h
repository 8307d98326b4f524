/* Lines of steps of the trainers that are in use, whose logs say little else: how long a step took,
 * and of some its number and the sequences of all GPUs.
 *
 * A trainer is a row of the table: the words that a line of a step has, the label before (or the
 * word behind) the number that tells the time, and what that number is. What stands around a line
 * is stripped (text_bare); a carriage return of a progress bar ends a line, too. A file is read as
 * the trainer's that has the most such lines in it.
 *
 *     MaxText     completed step: 7, seconds: 5.110, TFLOP/s/device: 412.3, ...
 *     NeMo        ... | global_batch_size: 512 | global_step: 3 | ... train_step_timing in s: 5.110
 *     nanoGPT     iter 10: loss 4.5, time 5110.21ms, mfu 30.12%
 *     llm.c       step   10/19560 | loss 7.05 | ... | 5110.20 ms | 55.6% bf16 MFU | 102600 tok/s
 *     nanotron    ... iteration: 10 / 100 | ... | elapsed_time_per_iteration_ms: 5.11K | ...
 *     DeepSpeed   steps: 10 loss: 7.1 iter time (s): 5.110 samples/sec: 100.196
 *     Composer    [batch=10/1000]: ... Train throughput/batches_per_sec: 0.1957
 *     OLMo-core   [step=10/1000,epoch=1] ... throughput/device/BPS=0.1957
 *     fms-fsdp    current step time: 5.11
 *     MLPerf      :::MLLOG {... "key": "tracked_stats", "value": {"train_step_time": 5.11 ...
 *     tqdm        10/500 [00:51<41:45,  5.11s/it, loss=2.1]  (Hugging Face, Lightning)
 *
 * Megatron-LM and torchtitan, whose logs tell the whole run, have readers of their own.
 */
#ifndef FOREIGN_STEP_LINES_H
#define FOREIGN_STEP_LINES_H

#include "foreign/training_log.h"

/* Whose lines of steps the text has; NULL: nobody's that is known. */
const char *step_lines_trainer(const char *text);

/* Adds the steps of that trainer to the log. */
void step_lines_read(struct training_log *log, const char *trainer);

#endif
