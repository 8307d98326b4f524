#include "cli/version.h"

#include "out/version.h" /* the compiler complains when it differs from the Makefile's VERSION */

/* The Makefile gives it; an editor or a lint tool that reads this file alone does not. */
#ifndef STOKER_DATA_DIR
#define STOKER_DATA_DIR "/usr/local/share/stoker"
#endif

const char *stoker_version(void)
{
    return STOKER_VERSION;
}

const char *stoker_data_dir(void)
{
    return STOKER_DATA_DIR;
}
