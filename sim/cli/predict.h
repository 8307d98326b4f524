/* One prediction, from a scenario file to a result: what run, explain and show share. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "cli/options.h"
#include "run/run.h"

/* Reads and resolves the scenario at `path`. NULL on error, with the reason in the diag. */
MUST_USE struct scenario *predict_load(const struct options *options, const char *path);

struct step_memo;

struct predict_way {
    uint32_t jobs;                    /* processes that draw the histories of a run */
    run_deviations_of *deviations_of; /* for the run's draws; NULL: there are none */
    void *context;
    struct step_memo *memo; /* for whoever ranks its assumptions then; NULL: nothing is kept */
};

/* Predicts it, with our own time and memory in result->step.engine. */
void predict_result(const struct options *options, const struct scenario *scenario,
                    const struct predict_way *way, struct result *result);

/* Puts what measured runs say of it: its band, where it was found before (NULL: it is found), and
 * what is in doubt of its memory. */
void predict_hold(const struct options *options, const struct band *band, struct result *result);

/* A step by no anchor, with its band and what is in doubt of its memory; the months only where they
 * are asked for. `memo` as above. */
void predict_alone(const struct options *options, const struct scenario *scenario, bool has_months,
                   struct step_memo *memo, struct result *result);

/* Puts those of its scenario's assumptions first that move it most (study/assumed), by the range of
 * the catalogue's limits; without one they stay as they are. `memo` of its prediction. */
void predict_rank_assumptions(const struct options *options, struct step_memo *memo,
                              struct result *result);

/* What the scenario does not say, and would move its step (study/unsaid). `memo` as above. */
void predict_ask_unsaid(const struct options *options, struct step_memo *memo,
                        struct result *result);

/* That the machine may have no room to simulate it (cli/progress). */
void predict_tell_room(const struct options *options, const struct scenario *scenario);

/* That the plan does not fit into memory, or hardly (report/told). */
void predict_check_memory(const struct options *options, const struct scenario *scenario,
                          const struct step_result *step);

#endif
