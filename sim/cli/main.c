/* The program `stoker` hands its table of commands to what all programs share. */
#include "cli/commands.h"

int main(int argc, char **argv)
{
    return program_run(&program_stoker, STOKER_COMMIT, argc, argv);
}
