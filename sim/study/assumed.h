/* What a run's assumptions move: by how much its days are others, or its step where no run is asked
 * for, when an assumed constant is.
 *
 * Each number among them that a step asks for is made larger by a share of itself, as --set would,
 * or smaller where it cannot be larger; what the step makes of that follows from its critical path
 * (train/critical/moved), what the days make of it from the share of them that is spent in usual
 * steps. Nothing is simulated again.
 *
 * Held against runs with the constant so moved (tests/closed_form/test_assumed.c), what moves days
 * by 0.1 % or more is within 5 % of theirs where the path stays the longest, and in their order.
 *
 * ASSUMES: what a step does not ask for moves no days, but for what loaders, storage and the months
 * ask for: of these how much is not known here.
 */
#ifndef STUDY_ASSUMED_H
#define STUDY_ASSUMED_H

#include "input/catalogue.h"
#include "run/result.h"

struct step_memo;

/* `memo`: what is kept of the steps of the result's run (NULL: nothing); it changes no figure.
 *
 * Fills `moves` of the assumptions of the result's scenario, and puts those first that move most;
 * equals stay in their order, and those come last of which nothing is known. The range is noted
 * in the result. False, and all stays as it is: of a plan that does not fit, of several jobs or
 * stages, and without a range. */
bool assumed_rank(struct arena *arena, const struct catalogue *catalogue, double range,
                  struct step_memo *memo, struct result *result);

#endif
