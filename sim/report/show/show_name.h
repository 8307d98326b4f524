/* What the arguments of `stoker show` mean: a kind and a name, or a name alone. */
#ifndef REPORT_SHOW_SHOW_NAME_H
#define REPORT_SHOW_SHOW_NAME_H

#include "input/catalogue.h"

#define SCENARIO_FOLDER "scenarios" /* of a catalogue directory */

/* The first are those of the catalogue, in its order. */
enum show_kind { SHOW_SCENARIO = CATALOGUE_KIND_COUNT_, SHOW_RUN, SHOW_KIND_COUNT_ };
extern const char *const show_kind_names[SHOW_KIND_COUNT_]; /* "model", ..., "run" */

struct show_target {
    uint32_t kind;    /* enum catalogue_kind or show_kind */
    const char *name; /* a catalogue file's name or path, a scenario's path, a run's key */
};

/* `kind` ("gpu" or "gpus") may be NULL: then a path is looked into, and a name is looked
 * for among all kinds but runs. False, with a message that has the nearest name, when
 * there is nothing of the name; or several kinds have it. */
MUST_USE bool show_name_find(struct arena *arena, const struct catalogue *catalogue,
                             const char *kind, struct show_target *target, struct diag *diag);

/* The file of a scenario of that name, or of a quote or a portfolio; NULL: there is none. */
const char *show_name_scenario(struct arena *arena, const struct catalogue *catalogue,
                               const char *name);
/* The name of these that is nearest; NULL: none is near. */
const char *show_name_nearest_scenario(struct arena *arena, const struct catalogue *catalogue,
                                       const char *name);

#endif
