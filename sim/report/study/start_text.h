/* A scenario to begin with (study/start) as the text of its file, each line with what it is. */
#ifndef REPORT_STUDY_START_TEXT_H
#define REPORT_STUDY_START_TEXT_H

#include "study/start.h"

/* Of what has a layout that fits; the arena's that was asked with. */
const char *start_text(const struct start_asked *asked, const struct start_found *start);

/* That nothing fits. */
void start_tell_none(const struct start_asked *asked, const struct start_found *start,
                     struct diag *diag);

#endif
