/* The program `stoker`. */
#include "cli/commands.h"

int main(int argc, char **argv)
{
    return program_run(&program_stoker, STOKER_COMMIT, argc, argv);
}
