/* What a shell's tests compare: texts with patterns, and sums. */
#ifndef FOREIGN_LAUNCH_SHELL_TESTS_H
#define FOREIGN_LAUNCH_SHELL_TESTS_H

#include "foreign/launch/shell_words.h"

/* As of `case` and `[[ A == B ]]`: `*` and `?` stand for what they do there. */
bool shell_matches(const char *pattern, const char *end, const char *text);

/* `[[ TEXT =~ PATTERN ]]`; false: the pattern has more than . * ^ $ and one group of (a|b). */
MUST_USE bool shell_finds(struct arena *arena, const char *pattern, const char *text, bool *holds);

/* What is between (( and )), or behind let: a comparison, `X = A`, `X += A`, `X++`. What cannot be
 * known of an assignment leaves the variable unknown; `from` is where the script has it. False:
 * whether it holds cannot be known. */
MUST_USE bool shell_compute(struct shell *shell, struct text_span text, const char *from,
                            bool *holds);

#endif
