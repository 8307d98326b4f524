/* The version of stoker: in every run's key and document, so a new version
 * never contradicts what an old one stored. The Makefile defines the same for
 * the command line; the compiler complains when the two differ. */
#ifndef OUT_VERSION_H
#define OUT_VERSION_H

#define STOKER_VERSION "0.1.0"

#endif
