/* The commands of the program `stoker-lab`: what only the maker of the catalogue asks. */
#ifndef LAB_CLI_LAB_COMMANDS_H
#define LAB_CLI_LAB_COMMANDS_H

#include "cli/commands.h"

extern const struct program program_lab;

extern const struct command command_lab_validate;
extern const struct command command_lab_calibrate;
extern const struct command command_lab_backtest;
extern const struct command command_lab_bands;
extern const struct command command_lab_help;

#endif
