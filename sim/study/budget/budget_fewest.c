/* Each number of GPUs is a scenario of `stoker new`, whose search ends at the first layout that
 * fits: which is the fastest nobody asks.
 */
#include "study/budget/budget_fewest.h"

#include "base/arena.h"
#include "input/catalogue.h"
#include "input/gpu.h"
#include "study/start.h"

#include <stdlib.h>
#include <string.h>

#define SAME_SIZE 1.02

/* ---- sizes -------------------------------------------------------------------------------- */

static int compare_sizes(const void *left, const void *right)
{
    const double a = ((const struct budget_size *)left)->gpu_bytes;
    const double b = ((const struct budget_size *)right)->gpu_bytes;
    return (a > b) - (a < b);
}

/* Neighbours of one size become the first of them. */
static uint32_t join_sizes(struct arena *arena, struct budget_size *sizes, uint32_t count)
{
    uint32_t kept = 0;
    uint32_t more = 0;
    for (uint32_t i = 0; i < count; i++) {
        const bool is_same = kept > 0 && sizes[i].gpu_bytes < SAME_SIZE * sizes[kept - 1].gpu_bytes;
        more = is_same ? more + 1 : 0;
        if (!is_same) {
            sizes[kept++] = sizes[i];
            continue;
        }
        const char *first = sizes[kept - 1].gpus;
        sizes[kept - 1].gpus =
            arena_printf(arena, "%.*s and %u more", (int)strcspn(first, " "), first, more);
    }
    return kept;
}

uint32_t budget_sizes(struct arena *arena, const struct catalogue *catalogue,
                      struct budget_size sizes[BUDGET_SIZES_MAX])
{
    uint32_t count = 0;
    uint32_t name_count = 0;
    const char **names =
        catalogue_list(arena, catalogue, catalogue_folders[CATALOGUE_GPU], &name_count);
    for (uint32_t i = 0; i < name_count && count < BUDGET_SIZES_MAX; i++) {
        struct diag *unheard = diag_new(arena); /* a file that is wrong is told when it is named */
        struct assumptions assumptions;
        struct gpu gpu;
        assumptions_init(&assumptions, arena);
        const struct doc_node reference = {.kind = DOC_SCALAR, .text = names[i]};
        const struct doc_node *node =
            catalogue_open(arena, catalogue, CATALOGUE_GPU, &reference, unheard);
        if (node != NULL && gpu_read(node, &gpu, &assumptions, unheard)) {
            sizes[count++] = (struct budget_size){gpu.memory_bytes, names[i]};
        }
    }
    qsort(sizes, count, sizeof *sizes, compare_sizes);
    return join_sizes(arena, sizes, count);
}

/* ---- what trains -------------------------------------------------------------------------- */

/* Powers of two within a node, then nodes. */
static int64_t next_number(const struct budget_fewest_asked *asked, uint32_t tried, int64_t last)
{
    const int64_t node = asked->gpus_per_node;
    if (tried == 0) {
        const int64_t holds = (int64_t)asked->holds;
        int64_t within = 1;
        while (within < holds && within < node) {
            within *= 2;
        }
        return within >= holds && within <= node ? within : (holds + node - 1) / node * node;
    }
    if (last < node) {
        return 2 * last < node ? 2 * last : node;
    }
    return tried < BUDGET_FEWEST_NEAR ? last + node : 2 * last;
}

static void ignore(void *context, const struct search_state *state)
{
    (void)context;
    (void)state;
}

bool budget_fewest_find(struct arena *arena, const struct budget_fewest_asked *asked,
                        struct budget_fewest *fewest, struct diag *diag)
{
    *fewest = (struct budget_fewest){.cluster = asked->cluster};
    while (fewest->gpus == 0 && fewest->tried < BUDGET_FEWEST_NEAR + BUDGET_FEWEST_DOUBLED) {
        fewest->most = next_number(asked, fewest->tried++, fewest->most);
        struct start_found found;
        struct start_asked start = {.arena = arena,
                                    .model = asked->model,
                                    .cluster = asked->cluster,
                                    .gpus = fewest->most,
                                    .tokens = 1e12,
                                    .base = asked->base,
                                    .any_will_do = true,
                                    .shows = ignore};
        if (!start_find(&start, &found, diag)) {
            return false;
        }
        if (found.result.found_count > 0) {
            fewest->gpus = fewest->most;
            fewest->step_s = found.result.found[0].step_s;
            fewest->memory_bytes = found.result.found[0].memory_bytes;
        }
    }
    return true;
}
