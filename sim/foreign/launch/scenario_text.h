/* A scenario's file from the keys that somebody told.
 *
 * The keys become a document whose values have the places where they were written, which is
 * resolved as any scenario: what is wrong with it (sizes that do not divide, a layout that the
 * model does not have) is told at the line of the script or configuration. Only then is it printed.
 */
#ifndef FOREIGN_LAUNCH_SCENARIO_TEXT_H
#define FOREIGN_LAUNCH_SCENARIO_TEXT_H

#include "foreign/told.h"

/* Adds the machine (--cluster, --gpu) and the software, `usual` unless --software or the GPU says
 * another, and prints all. False, with messages. */
MUST_USE bool scenario_print(struct told *told, const char *usual_software);

#endif
