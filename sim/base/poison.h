/* Memory that must not be touched, as the address sanitizer knows it.
 *
 * The sanitizer sees an overflow of what malloc gave, but a block of an arena is one piece to it
 * however many objects lie in it. So in its builds (`make asan`) an arena poisons what it has not
 * handed out, and leaves POISON_GAP_BYTES of poison before each object. In other builds nothing
 * here does anything, and the gap is 0.
 */
#ifndef BASE_POISON_H
#define BASE_POISON_H

#include <stddef.h>

/* gcc has a macro, clang a feature. */
#ifdef __SANITIZE_ADDRESS__
#define POISON_IS_ON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISON_IS_ON 1
#endif
#endif

#ifdef POISON_IS_ON
#include <sanitizer/asan_interface.h>

/* Wide enough that the element after the last one of most arrays lies in it. */
#define POISON_GAP_BYTES ((size_t)128)

static inline void poison(void *memory, size_t size_bytes)
{
    ASAN_POISON_MEMORY_REGION(memory, size_bytes);
}

static inline void unpoison(void *memory, size_t size_bytes)
{
    ASAN_UNPOISON_MEMORY_REGION(memory, size_bytes);
}
#else
#define POISON_IS_ON 0
#define POISON_GAP_BYTES ((size_t)0)

static inline void poison(void *memory, size_t size_bytes)
{
    (void)memory;
    (void)size_bytes;
}

static inline void unpoison(void *memory, size_t size_bytes)
{
    (void)memory;
    (void)size_bytes;
}
#endif

#endif
