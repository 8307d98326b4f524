/* What was built: the version, from which sources, and where its catalogue lies.
 *
 * All come from the Makefile (VERSION, SOURCES_HASH, PREFIX) and are known to version.c alone, but
 * for the program's own folder, which is asked of the system.
 */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

struct arena;

/* "0.4.0", the first heading of sim/CHANGES.md. Static text. The commit is no part of it: this
 * stands in documents and results files, which are the same to the byte for the same sources. */
const char *stoker_version(void);

/* 16 hex digits: the hash of all of sim/, part of the keys of runs and studies, so that what
 * another model predicted is never taken for this one's. Static text. */
const char *stoker_build(void);

/* The directory that holds models/ and topologies/ after `make install`. Static text. */
const char *stoker_data_dir(void);

/* The directory of the running program, through symbolic links; NULL: the system does not say. */
const char *stoker_program_dir(struct arena *arena);

#endif
