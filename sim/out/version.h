/* The version of stoker, in every document. The Makefile defines the same for the command line; the
 * compiler complains when the two differ. What tells results of different models apart is the build
 * (cli/version.h). */
#ifndef OUT_VERSION_H
#define OUT_VERSION_H

#define STOKER_VERSION "0.1.0"

#endif
