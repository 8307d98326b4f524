/* What was built: the version, and where its catalogue is installed.
 *
 * Both come from the Makefile (VERSION, PREFIX) and are known to version.c alone.
 */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

/* "0.1.0"; part of a run's key. Static text. */
const char *stoker_version(void);

/* The directory that holds models/ and topologies/ after `make install`. Static text. */
const char *stoker_data_dir(void);

#endif
