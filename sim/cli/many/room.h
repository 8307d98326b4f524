/* Whether what is about to be simulated has room in this machine's memory: said on stderr before it
 * starts, since what takes all memory may not live to say it. */
#ifndef CLI_MANY_ROOM_H
#define CLI_MANY_ROOM_H

#include "cli/commands.h"
#include "study/study.h"

/* A warning where one process may need more than there is, or all together; a note where fewer are
 * taken than there are cores. Nothing with -q. */
void room_tell(const struct cli *cli, const struct study_start *start);

#endif
