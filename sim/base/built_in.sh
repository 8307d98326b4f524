#!/bin/sh
# Writes assembly that has the files of a list, one name a line on standard input, inside the program
# (sim/base/built_in.h): their names, their bytes as they are, and the table of both.
set -eu
LC_ALL=C sort | awk '
BEGIN { print "\t.section .note.GNU-stack,\"\"\n\t.section .rodata" }
{
    printf "n%d:\t.asciz \"%s\"\nb%d:\t.incbin \"%s\"\ne%d:\n", NR, $0, NR, $0, NR
}
END {
    print "\t.section .data.rel.ro,\"aw\"\n\t.balign 8\n\t.globl built_in_files\nbuilt_in_files:"
    for (i = 1; i <= NR; i++) printf "\t.quad n%d, b%d, e%d - b%d\n", i, i, i, i
    printf "\t.section .rodata\n\t.balign 8\n\t.globl built_in_count\nbuilt_in_count:\t.quad %d\n", NR
}'
