/* How much of a random test is run: all of it, or one part of CHECK_SHARE, where what it proves has
 * been proven by another compiler's program and only that of this one is asked.
 *
 *     CHECK_SHARE=16 make CC=clang check      the first sixteenth of all seeds, at least one
 *
 * What is drawn is the same: seed n is seed n.
 */
#ifndef TESTS_SUPPORT_SHARE_H
#define TESTS_SUPPORT_SHARE_H

#include <stdint.h>

/* CHECK_SHARE; 1 where it is not said. */
uint64_t share(void);

/* So many of `count`, rounded up. */
uint64_t share_of(uint64_t count);

#endif
