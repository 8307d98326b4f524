/* Names of scenarios in place of their files: `stoker run quickstart`.
 *
 * Of a command that takes a scenario's file, an argument that is no file, and that a file's name
 * might be without its folder and ending, is looked for in the catalogue's scenarios/ and its
 * folders: a file of that name goes before a scenario. Where nothing else can be meant a miss is an
 * error, with the name that is nearest.
 */
#ifndef CLI_STUDY_NAMED_H
#define CLI_STUDY_NAMED_H

#include "base/check.h"

#include <stdbool.h>

struct options;

/* Puts paths in place of names among the arguments. False with a message: there is none. */
MUST_USE bool named_scenarios(struct options *options);

#endif
