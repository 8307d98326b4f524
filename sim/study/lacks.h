/* What a scenario asks for and its software's release has not (input/features), told with the place
 * and with the release that has it: a layout that is given is predicted all the same.
 */
#ifndef STUDY_LACKS_H
#define STUDY_LACKS_H

#include "input/features/features_used.h"
#include "study/search/search_tree.h"
#include "study/study.h"

struct lacks_setting {
    struct arena *arena;
    const struct catalogue *catalogue; /* whose profiles are looked through */
    struct diag *diag;
};

/* A warning for each key that asks for what the profile lacks. */
void lacks_warn(const struct lacks_setting *setting, const struct scenario *scenario);

/* The same of the points of a study: once for all that lack the same, with their number. */
void lacks_warn_points(const struct lacks_setting *setting, const struct study *study);

/* Which profile of the same framework has all of it: of those that are not older the oldest, else
 * the newest. NULL: none says so. */
const char *lacks_find(const struct lacks_setting *setting, const struct software *software,
                       const struct feature *lacking, uint32_t count);

/* That a search has nothing to look at, since the software has none of its layouts, with the place
 * of the axis that asks for what all of them lack. False. */
bool lacks_refuse(const struct lacks_setting *setting, const struct scenario *scenario,
                  const struct doc_node *document, const struct search_lacking *lacking);

#endif
