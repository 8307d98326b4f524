/* What PyTorch's caching allocator takes from the driver for a tensor.
 *
 * A size is rounded up to 512 bytes. Up to 1 MiB it is carved out of a 2 MiB segment; below 10 MiB
 * out of one of 20 MiB; from 10 MiB on it has its own, rounded up to 2 MiB (c10/cuda/
 * CUDACachingAllocator: kMinBlockSize, kSmallSize, kSmallBuffer, kLargeBuffer, kMinLargeAlloc,
 * kRoundLarge). Segments are not given back, so what is reserved is at least what is
 * allocated; the difference is fragmentation.
 */
#ifndef PLAN_MEMORY_MEMORY_ALLOCATOR_H
#define PLAN_MEMORY_MEMORY_ALLOCATOR_H

#include <stdint.h>

/* Bytes that a tensor of `bytes` takes of its segment. */
int64_t memory_block_bytes(int64_t bytes);

/* The segment that is taken from the driver when no free block fits. */
int64_t memory_segment_bytes(int64_t bytes);

/* Reserved for `count` tensors of equal size that live at the same time, nothing else being free:
 * blocks that share segments are packed. */
int64_t memory_reserved_bytes(int64_t bytes, int64_t count);

#endif
