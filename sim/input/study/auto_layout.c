/* What is found is said and set; who finds it, the hook knows. */
#include "input/study/auto_layout.h"

#include "base/arena.h"
#include "base/diag.h"
#include "input/scenario_load.h"

#include <inttypes.h>
#include <string.h>

void auto_layout_tell_lack(const struct auto_layout *found, struct diag *diag)
{
    if (found->impossible != NULL) {
        diag_add(diag, DIAG_INFEASIBLE, NULL, "%s", found->impossible);
        return;
    }
    diag_add(diag, DIAG_INFEASIBLE, NULL,
             "none of %" PRIu64 " layouts fits with %.2g %% of a GPU's memory left free "
             "(memory.margin), so that nothing is found for what is auto",
             found->layouts, 100 * found->margin);
    diag_help(diag, "%s", found->lack);
}

const char *const *auto_layout_sets(struct arena *arena, const char *const *sets, uint32_t *count,
                                    const struct auto_layout *found)
{
    const char **all = arena_array(arena, *count + AUTO_SETS_MAX, sizeof *all);
    for (uint32_t i = 0; i < *count; i++) {
        all[i] = sets[i];
    }
    for (uint32_t i = 0; i < found->set_count; i++) {
        all[(*count)++] = found->sets[i];
    }
    return all;
}

struct scenario *auto_layout_resolve(struct arena *arena, const struct doc_node *document,
                                     const struct auto_hook *hook, struct auto_layout *found,
                                     struct diag *diag)
{
    if (!hook->find(hook->context, arena, document, found, diag)) {
        return NULL;
    }
    if (found->is_asked && !found->is_found) {
        auto_layout_tell_lack(found, diag);
        return NULL;
    }
    uint32_t count = hook->set_count;
    const char *const *sets = auto_layout_sets(arena, hook->sets, &count, found);
    return scenario_resolve(arena, document, hook->catalogue, sets, count, diag);
}

const char *auto_layout_text(struct arena *arena, const struct auto_layout *found)
{
    const char *sets = "";
    for (uint32_t i = 0; i < found->set_count; i++) {
        const bool is_quoted = strpbrk(found->sets[i], " []{}") != NULL;
        sets = arena_printf(arena, "%s --set %s%s%s", sets, is_quoted ? "'" : "", found->sets[i],
                            is_quoted ? "'" : "");
    }
    return arena_printf(arena,
                        "layout found by search among %" PRIu64 ", of which none is better by more "
                        "than %.2g %%: %s; the same as%s",
                        found->layouts, 100 * found->gap, found->label, sets);
}
