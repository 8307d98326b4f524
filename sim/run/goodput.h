/* The shares of a run's time that runs are judged by. Each is defined here and nowhere else: by its
 * words, which screen, help, explanation and JSON print, and by its formula (goodput_add_up).
 *
 *     goodput                  productive time / wall-clock
 *     ETTR                     steps that count / wall-clock: "effective training time ratio",
 *                              Kokolis et al. 2024, https://arxiv.org/abs/2410.21680
 *     scheduling goodput       time with all nodes / wall-clock
 *     runtime goodput          steps that count / time with all nodes
 *     ML productivity goodput  scheduling goodput x runtime goodput x MFU: Google Cloud, "Goodput
 *                              metric as measure of ML productivity", 2024, whose program goodput
 *                              is the MFU here
 *
 * In terms of accounts (run/account), of which the queue is none of the wall-clock here: it runs
 * from when the job has its nodes until they are free (run/duration),
 *
 *     productive time      useful
 *     steps that count     useful + data stall + degraded: those that no failure undid, however
 *                          long they take
 *     time with all nodes  wall-clock - waiting
 */
#ifndef RUN_GOODPUT_H
#define RUN_GOODPUT_H

#include "base/ledger.h"
#include "run/result.h"

/* X(member of struct run_result, which is its key, name, words, source or NULL) */
#define GOODPUT_IS "productive time / wall-clock"
#define ETTR_IS "steps that count / wall-clock"
#define GOODPUTS(X)                                                                 \
    X(goodput, "goodput", GOODPUT_IS, NULL)                                         \
    X(effective_training_time_ratio, "ETTR", ETTR_IS,                               \
      "effective training time ratio: Kokolis et al. 2024, arXiv 2410.21680")       \
    X(scheduling_goodput, "scheduling goodput", "time with all nodes / wall-clock", \
      "Google Cloud, 2024")                                                         \
    X(runtime_goodput, "runtime goodput", "steps that count / time with all nodes", \
      "Google Cloud, 2024")                                                         \
    X(ml_productivity_goodput, "ML productivity goodput",                           \
      "scheduling goodput x runtime goodput x MFU",                                 \
      "Google Cloud, 2024; program goodput is the MFU")

struct goodput {
    const char *key, *name, *words;
    const char *source; /* whose word it is; NULL: anybody's */
    size_t offset;      /* in struct run_result */
};

extern const struct goodput goodputs[];
extern const uint32_t goodput_count;

/* What the words of the definitions mean, in sentences. */
extern const char goodput_terms[];

double goodput_value(const struct goodput *goodput, const struct run_result *run);

/* By key, or by name in any case; NULL: there is none. */
const struct goodput *goodput_find(const char *word);

/* "checkpoint 0.2 %, planned 62.4 %": what of the wall-clock is not productive, and is seen at one
 * digit; "": nothing. */
const char *goodput_rest(struct arena *arena, const struct run_result *run);

/* All of them, of a run whose accounts are known, which add up to `wall_s`. */
void goodput_add_up(double wall_s, double mfu, struct ledger *ledger, struct run_result *run);

#endif
