/* The program `stoker-lab` is its table of commands. */
#include "lab/cli/lab_commands.h"

int main(int argc, char **argv)
{
    return program_run(&program_lab, STOKER_COMMIT, argc, argv);
}
