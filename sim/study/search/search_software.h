/* What the software's release has of the layouts of a space (input/features): others are not looked
 * at, unless somebody asks for any. What a scenario says of its own accord is its own affair: only
 * what axes choose is held against the release.
 */
#ifndef STUDY_SEARCH_SEARCH_SOFTWARE_H
#define STUDY_SEARCH_SEARCH_SOFTWARE_H

#include "study/search/search.h"
#include "study/search/search_space.h"

/* What layouts of the space may use, of which these axes are free. */
struct feature_set search_software_allowed(const struct search_space *space,
                                           const bool is_free[SEARCH_AXIS_COUNT_]);

/* Of the modules that are usual those that the release can compute again; none: all are unknown to
 * it, and RECOMPUTE_NONE is. */
struct recompute search_software_selective(const struct scenario *base, struct recompute usual);

/* Layouts that the release has not are looked at, too. */
void search_software_lift(struct search_space *space);

/* "1,234 layouts that megatron-2024 (Core 0.5 to 0.10) has not are left out: zero 2, 3; ...
 * (--any-software)"; NULL: none are. */
const char *search_software_left_out(struct arena *arena, const struct search_space *space,
                                     const struct search_result *result);

#endif
