/* Which algorithm and protocol a user of collectives asks for, and whether a library can do
 * without being asked.
 */
/* Reads the `collectives` mapping of a scenario, where each user of
 * collectives may name an algorithm and a protocol, and checks that a library
 * offers the two algorithms which everything falls back on.
 */
#include "input/collectives.h"

#include <string.h>

void collectives_read_choice(const struct schema_reader *reader, const struct schema_row *row)
{
    uint32_t *choice = (uint32_t *)((char *)reader->object + row->offset);
    *choice = COLLECTIVE_ANY;
    schema_read_key(reader, row);
}

static uint32_t index_of(const char *const *names, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    sim_assert(false);
    return 0;
}

bool collectives_check(const struct library *library, uint32_t architecture, struct diag *diag)
{
    static const char *const needed[] = {"multi-rail-ring", "direct"};
    const uint32_t simple = index_of(collective_protocol_names, PROTOCOL_COUNT_, "Simple");
    sim_assert(architecture < GPU_ARCHITECTURE_COUNT_);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t algorithm =
            index_of(collective_algorithm_names, ALGORITHM_COUNT_, needed[i]);
        if (!library->architectures[architecture].costs[algorithm][simple].is_offered) {
            diag_add(diag, DIAG_INPUT, &library->place,
                     "library %s does not offer %s with protocol Simple for %s GPUs", library->name,
                     needed[i], gpu_architecture_names[architecture]);
            diag_help(diag, "give it a base latency; other algorithms may be left out");
            return false;
        }
    }
    return true;
}
