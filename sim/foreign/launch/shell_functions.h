/* Functions of a shell script: where they begin, and whether they matter. */
#ifndef FOREIGN_LAUNCH_SHELL_FUNCTIONS_H
#define FOREIGN_LAUNCH_SHELL_FUNCTIONS_H

#include "foreign/launch/shell_words.h"

/* `name() {`, `function name {` at shell->at: behind the brace, with its name; NULL: none. */
const char *shell_function_head(const struct shell *shell, struct text_span *name);

/* Whether the script, or --arguments, has its name elsewhere than at `name`. */
bool shell_function_is_called(const struct shell *shell, struct text_span name);

#endif
