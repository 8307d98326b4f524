/* `stoker calibrate box`: its command, and the script that measures what it reads. */
#ifndef CLI_CALIBRATE_CALIBRATE_BOX_H
#define CLI_CALIBRATE_CALIBRATE_BOX_H

#include "cli/calibrate.h"

/* Measures the six numbers with PyTorch, and prints the file. */
void box_script_print(FILE *out);

#endif
