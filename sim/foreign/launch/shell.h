/* A shell script, as far as it says what it starts.
 *
 *     GPT_ARGS=( --num-layers 24        # of which arrays, texts, defaults and sums are read,
 *                --hidden-size $((16 * 64)) )
 *     torchrun --nproc_per_node ${GPUS:-8} pretrain_gpt.py "${GPT_ARGS[@]}"
 *
 * Nothing is run. Commands are read from top to bottom, with variables put in (shell_words.h).
 * Branches are taken as a run without arguments and without other variables than --variable says
 * would take them, which is noted; a test of files holds for nothing, nor does that of a command or
 * of what is not read, which is told. A loop's body and a function's are read once, where they
 * stand; a function's that nothing calls is not.
 *
 * Here-documents that are written to a file are kept under its name.
 */
#ifndef FOREIGN_LAUNCH_SHELL_H
#define FOREIGN_LAUNCH_SHELL_H

#include "foreign/launch/shell_words.h"

struct shell_here {
    const char *name; /* of the file that it is written to; "" */
    const char *text;
};

struct shell_script {
    struct shell_words *commands; /* that are run, in their order */
    size_t command_count, command_capacity;
    struct shell_here *heres;
    size_t here_count, here_capacity;
    const char **tested; /* variables that are not set, and that branches ask for */
    size_t tested_count, tested_capacity;
    struct shell shell; /* its variables at the end */
};

/* False, with a message: it is too long, or does not end. */
MUST_USE bool shell_read(struct importer *importer, struct shell_script *script);

#endif
