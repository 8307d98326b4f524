/* What a scenario does not say of what is on, and what each would make of its step: a stranger's
 * run differs from ours in what nobody wrote down.
 *
 * A row of the table in unsaid.c is one setting that whoever describes a run seldom says: which
 * graphs, which attention, in what gradients are reduced, how tokens reach experts. It is asked
 * where no key of the scenario or its recipe says it, the software's release has it (section `has`
 * of its profile, where that says so), and the layout has what it is about. Each is simulated as
 * --set would have it; nothing is summed up, for settings hang on each other.
 *
 *     unsaid_ask(arena, &catalogue, memo, &result);
 *     if (result.unsaid_count > 0) ... result.unsaid[0].name, .moves
 */
#ifndef STUDY_UNSAID_H
#define STUDY_UNSAID_H

#include "input/catalogue.h"
#include "run/result.h"

struct step_memo;

/* A row of the table that is open in this scenario, for who simulates it in another way
 * (study/why): also those that a whole run seldom hangs on, which unsaid_ask leaves out. */
struct unsaid_question {
    const char *name;
    const char *const *shown; /* what to --set: "software.attention=fa3", "recipe=kernels-eager" */
    uint32_t shown_count;
    const char *const *sets; /* the same of keys that nobody said, for a recipe its own */
    uint32_t set_count;
};

uint32_t unsaid_question_count(void);
/* False: it does not arise, or somebody said it. What it sets is the arena's. */
MUST_USE bool unsaid_question_of(struct arena *arena, const struct catalogue *catalogue,
                                 const struct scenario *scenario, uint32_t number,
                                 struct unsaid_question *question);

/* Steps of more tasks, where GPUs that are alike are simulated once, are not repeated for this. */
enum { UNSAID_TASKS_MAX = 200 * 1000 };

/* `memo`: what is kept of the steps of the result's run (NULL: nothing); it changes no figure.
 *
 * Fills the result's `unsaid`: what fits and can be simulated, those first that move the step most,
 * equals in the order of the table. Nothing of a plan that does not fit, of several jobs or
 * stages, of steps that were measured, or of more than UNSAID_TASKS_MAX tasks. */
void unsaid_ask(struct arena *arena, const struct catalogue *catalogue, struct step_memo *memo,
                struct result *result);

#endif
