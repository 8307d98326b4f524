/* Reads the `collectives` mapping of a scenario, where each user of
 * collectives may name an algorithm and a protocol, and checks that a library
 * offers the two algorithms which everything falls back on.
 */
#include "input/collectives.h"

#include "input/doc/section.h"

#include <string.h>

static const char *const user_names[COLLECTIVE_USER_COUNT_] = {
    [COLLECTIVE_USER_TENSOR] = "tensor", [COLLECTIVE_USER_CONTEXT] = "context",
    [COLLECTIVE_USER_EXPERT] = "expert", [COLLECTIVE_USER_DATA] = "data",
    [COLLECTIVE_USER_WORLD] = "world",
};

void collectives_read(struct doc_map *map, struct assumptions *assumptions,
                      struct collective_choice choices[COLLECTIVE_USER_COUNT_])
{
    struct doc_map users;
    section_open(&users, map, "collectives", "collectives", assumptions);
    for (uint32_t i = 0; i < COLLECTIVE_USER_COUNT_; i++) {
        choices[i] = COLLECTIVE_CHOICE_FREE;
        struct doc_map choice;
        section_open(&choice, &users, user_names[i], "collectives", assumptions);
        doc_get_choice(&choice, "algorithm", library_algorithm_names, LIBRARY_ALGORITHM_COUNT,
                       &choices[i].algorithm);
        doc_get_choice(&choice, "protocol", library_protocol_names, LIBRARY_PROTOCOL_COUNT,
                       &choices[i].protocol);
        section_close(&choice, &users);
    }
    section_close(&users, map);
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
    const uint32_t simple = index_of(library_protocol_names, LIBRARY_PROTOCOL_COUNT, "Simple");
    sim_assert(architecture < GPU_ARCHITECTURE_COUNT_);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t algorithm =
            index_of(library_algorithm_names, LIBRARY_ALGORITHM_COUNT, needed[i]);
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
