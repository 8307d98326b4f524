/* What was worked out once, by all that it depends on: a table from a key of bytes to a value of
 * bytes.
 *
 *     struct memo *memo = memo_new(8 << 20);
 *     const double *known = memo_find(memo, &key, sizeof key);
 *     if (known == NULL) {
 *         value = work_out(&key);
 *         memo_add(memo, &key, sizeof key, &value, sizeof value);
 *     }
 *
 * Keys are compared byte by byte, so that nothing is taken for something else: a key that has
 * padding is cleared before it is filled (else what is known may not be found, no more). What a key
 * points to is not looked at; a pointer in it must mean the same whenever its bytes do.
 * A memo that would grow beyond its limit forgets all, and begins anew: it is for speed only, and
 * what is found in it is what would be worked out.
 */
#ifndef BASE_MEMO_H
#define BASE_MEMO_H

#include "base/check.h"

#include <stddef.h>
#include <stdint.h>

struct memo;

struct memo *memo_new(size_t bytes_max);
void memo_free(struct memo *memo); /* NULL is allowed */

/* NULL: it is not known. Valid until the next memo_add; aligned for any type. */
const void *memo_find(const struct memo *memo, const void *key, size_t key_bytes);

/* Copies both. Before: the key is not known. */
void memo_add(struct memo *memo, const void *key, size_t key_bytes, const void *value,
              size_t value_bytes);

/* How often something was found, and not. */
struct memo_count {
    uint64_t found, missed;
};
struct memo_count memo_count(const struct memo *memo);

#endif
