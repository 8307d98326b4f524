/* The program: for now it knows its version. */
#include "cli/version.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("stoker %s\n", stoker_version());
        return 0;
    }
    fprintf(stderr, "usage: stoker --version\n");
    return 2;
}
