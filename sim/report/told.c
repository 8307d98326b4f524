/* The place is that of the section of the scenario which takes most. */
#include "report/told.h"

#include "bands/memory_errors.h"
#include "base/arena.h"
#include "report/near.h"
#include "run/result.h"

void told_placement(const struct result *result, struct diag *diag)
{
    const struct placement_use *use = &result->step.placement;
    if (use->straddling == 0) {
        return;
    }
    diag_add(diag, DIAG_WARNING, NULL,
             "%lld %s groups of %lld GPUs leave their NVLink domain of %lld, which could hold them",
             (long long)use->straddling, use->straddler, (long long)use->straddling_gpus,
             (long long)use->domain_gpus);
    diag_help(diag, "their collectives cross the network; more nodes, of which some stay idle, or "
                    "degrees that divide a domain, would keep them inside");
}

/* The section of what takes most of a host that lacks memory; NULL: a GPU lacks it. */
static const char *lacking_section(const struct memory_verdict *memory)
{
    if (!memory->fits_gpu) {
        return NULL;
    }
    if (memory->loaders_bytes >= memory->staged_bytes &&
        memory->loaders_bytes >= memory->offloaded_bytes) {
        return "data";
    }
    return memory->staged_bytes >= memory->offloaded_bytes ? "run.checkpoint" : "offload";
}

/* By how little a GPU is over its memory, where a prediction does not tell the side; else NULL. The
 * errors are only read where they may say so. */
static const char *near_of(const struct told_setting *setting, const struct memory_verdict *memory)
{
    const double over = memory_over(memory->worst.total_bytes, memory->limit_bytes);
    if (over <= 0 || over > MEMORY_ERRORS_MOST) {
        return NULL;
    }
    return near_words(setting->arena,
                      memory_errors_open(setting->arena, setting->catalogue, setting->diag), over);
}

void told_memory(const struct told_setting *setting, const struct doc_node *document,
                 const struct step_result *step)
{
    struct diag *diag = setting->diag;
    const struct memory_verdict *memory = &step->memory;
    const char *near = near_of(setting, memory);
    if (!memory->fits) {
        const char *section = lacking_section(memory);
        const struct doc_node *node = section != NULL ? doc_find(document, section) : NULL;
        diag_add(diag, DIAG_INFEASIBLE, node != NULL ? &node->place : NULL,
                 "the plan does not fit into memory: %s", step->memory_advice);
        if (!memory->fits_gpu && near != NULL) {
            diag_help(diag, "it is over %s", near);
        }
    }
}
