/* Which builds predicted what a results file holds. A build is the hash of the sources
 * (base/version.h); on screen its first digits tell it apart. */
#ifndef REPORT_BUILDS_H
#define REPORT_BUILDS_H

#include "store/store.h"

#define BUILDS_DIGITS 8

/* "runs of 2 builds: 1f2e3d4c (8), 99aabbcc (4)"; "runs of 1 build: ..."; "no runs". */
const char *builds_text(struct arena *arena, const struct store_build *builds, uint32_t count);

/* A note when other builds predicted points of a study, too: how many, and how far this build's
 * step times are off those of the one that did so last. */
void builds_note(struct diag *diag, const struct store_build *others, uint32_t count);

#endif
