/* Rounds sizes as PyTorch's caching allocator does: to blocks of 512 bytes,
 * and these to the segments that it asks of the device.
 */
#include "plan/memory/memory_allocator.h"

#include "base/check.h"

static const int64_t KIB = 1024;

enum { BLOCK_BYTES = 512 };

static int64_t round_up(int64_t bytes, int64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

int64_t memory_block_bytes(int64_t bytes)
{
    sim_assert(bytes >= 0);
    return bytes == 0 ? BLOCK_BYTES : round_up(bytes, BLOCK_BYTES);
}

int64_t memory_segment_bytes(int64_t bytes)
{
    const int64_t mib = KIB * KIB;
    const int64_t block = memory_block_bytes(bytes);
    if (block <= mib) {
        return 2 * mib;
    }
    return block < 10 * mib ? 20 * mib : round_up(block, 2 * mib);
}

int64_t memory_reserved_bytes(int64_t bytes, int64_t count)
{
    sim_assert(count >= 0);
    const int64_t segment = memory_segment_bytes(bytes);
    const int64_t each = segment / memory_block_bytes(bytes);
    return (count + each - 1) / each * segment;
}
