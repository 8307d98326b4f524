/* The search is made in an arena of its own; the words of its winner are kept. */
#include "study/search/search_auto.h"

#include "base/arena.h"
#include "base/diag.h"
#include "input/doc/doc.h"
#include "input/layout.h"
#include "input/scenario.h"
#include "study/search/search_software.h"
#include "study/search/search_study.h"

#include <string.h>

static enum search_axis axis_of(const char *path)
{
    uint32_t axis = 0;
    while (strcmp(search_axis_paths[axis], path) != 0) {
        axis++;
        sim_assert(axis < SEARCH_AXIS_COUNT_); /* each key that may be auto is an axis */
    }
    return (enum search_axis)axis;
}

static bool is_key_written(const struct doc_node *document, const struct study_base *base,
                           const char *path)
{
    return doc_set_last(base->sets, base->set_count, path) != NULL ||
           doc_find(document, path) != NULL;
}

/* As search_axis_is_written, of what is not resolved. */
static bool is_written(const struct doc_node *document, const struct study_base *base,
                       enum search_axis axis)
{
    bool is_said = is_key_written(document, base, search_axis_paths[axis]);
    for (uint32_t i = 0; axis == SEARCH_LAYERS && i < LAYOUT_STAGE_KEYS; i++) {
        is_said = is_said || is_key_written(document, base, layout_stage_keys[i]);
    }
    return is_said;
}

/* Who leaves an axis leaves what goes with it, too, unless that is written: a schedule, its chunks
 * and groups; how many GPUs share experts, how many share each, and what runs beside their
 * exchanges; cp and how keys are exchanged; pp, what stages have and which ranks are neighbours;
 * ZeRO, who shares states and until when parameters are kept. */
static void free_beside(const struct doc_node *document, const struct study_base *base,
                        bool is_free[SEARCH_AXIS_COUNT_])
{
    static const enum search_axis beside[][2] = {
        {SEARCH_SCHEDULE, SEARCH_VIRTUAL_STAGES},
        {SEARCH_VIRTUAL_STAGES, SEARCH_SCHEDULE},
        {SEARCH_CP, SEARCH_CP_TYPE},
        {SEARCH_EP, SEARCH_OVERLAP_EXPERTS},
        {SEARCH_EP, SEARCH_ETP},
        {SEARCH_PP, SEARCH_LAYERS},
        {SEARCH_PP, SEARCH_ORDER},
        {SEARCH_SCHEDULE, SEARCH_MICROBATCH_GROUP},
        {SEARCH_ZERO, SEARCH_ZERO_GROUP},
        {SEARCH_ZERO, SEARCH_RESHARD},
    };
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        const enum search_axis other = beside[i][1];
        is_free[other] =
            is_free[other] || (is_free[beside[i][0]] && !is_written(document, base, other));
    }
}

static void free_axes(const struct auto_keys *keys, const struct doc_node *document,
                      const struct study_base *base, bool is_free[SEARCH_AXIS_COUNT_])
{
    memset(is_free, 0, SEARCH_AXIS_COUNT_ * sizeof *is_free);
    for (uint32_t i = 0; i < AUTO_KEYS; i++) {
        is_free[axis_of(auto_key_paths[i])] = keys->nodes[i] != NULL;
    }
    free_beside(document, base, is_free);
}

/* What the search sets besides. */
static struct study_base searched_base(struct arena *arena, const struct study_base *base)
{
    struct study_base changed = *base;
    const char **sets = arena_array(arena, base->set_count + 1u, sizeof *sets);
    for (uint32_t i = 0; i < base->set_count; i++) {
        sets[i] = base->sets[i];
    }
    sets[changed.set_count++] = "ideal.pipeline=false";
    changed.sets = sets;
    return changed;
}

/* Of a search in `space`. With 1f1b there are no chunks, whatever is written. */
static void keep(struct arena *arena, const struct search_space *space, const bool *is_free,
                 const struct search_result *result, struct auto_layout *found)
{
    found->layouts = result->counts.layouts;
    found->left_out = search_software_left_out(arena, space, result);
    found->margin = space->base->memory_margin;
    found->gap = result->gap;
    if (result->found_count == 0) {
        found->lack = found->left_out != NULL
                          ? found->left_out
                          : "no sizes go together with what is written beside it, or in `search:`";
        if (found->layouts > 0) {
            found->lack =
                arena_printf(arena, "the nearest is %s: %s; more GPUs, or let more keys be auto",
                             search_layout_label(arena, space, &result->nearest),
                             search_lack(arena, space, &result->nearest));
        }
        return;
    }
    const struct relayout *layout = &result->found[0].layout;
    found->is_found = true;
    found->layout = *layout;
    found->label = search_layout_label(arena, space, layout);
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        const enum search_axis axis = (enum search_axis)i;
        const char *set = search_layout_set(arena, layout, axis);
        if (set != NULL &&
            (is_free[axis] || (axis == SEARCH_VIRTUAL_STAGES && is_free[SEARCH_SCHEDULE]))) {
            sim_assert(found->set_count < AUTO_SETS_MAX);
            found->sets[found->set_count++] = set;
        }
    }
}

/* What is looked through. */
static bool read_space(struct arena *arena, const struct doc_node *document,
                       const struct study_base *base, const bool *is_free,
                       struct search_space *space, struct diag *diag)
{
    const struct study_base searched = searched_base(arena, base);
    struct doc_node *changed = NULL;
    if (!search_narrow(arena, document, base, &changed, diag)) {
        return false;
    }
    const struct scenario *scenario = search_base_of_free(arena, changed, &searched, is_free, diag);
    if (scenario == NULL) {
        return false;
    }
    struct scenario *base_of_space = arena_alloc(arena, sizeof *base_of_space);
    *base_of_space = *scenario;
    base_of_space->data.is_enabled = false;
    const bool is_good = search_space_of_free(arena, changed, base_of_space, is_free, space, diag);
    if (is_good && base->any_software) {
        search_software_lift(space);
    }
    return is_good;
}

/* Bounds that leave too many in. */
static bool goes_on(void *context, const struct search_state *state)
{
    const struct study_base *base = context;
    if (base->searches != NULL) {
        base->searches(base->context, state);
    }
    return state->counts.simulated < AUTO_SIMULATED_MAX;
}

static void search(struct arena *arena, const struct search_space *space,
                   const struct study_base *base, struct search_result *result)
{
    const struct search_request request = {.space = space,
                                           .by = SEARCH_BY_STEP,
                                           .gap = AUTO_GAP,
                                           .jobs = base->jobs,
                                           .folds = true,
                                           .only_best = true,
                                           .goes_on = goes_on,
                                           .context = (void *)base};
    search_run(arena, &request, result);
    if (base->searches != NULL) {
        base->searches(base->context, NULL);
    }
}

static bool find(struct arena *arena, const struct doc_node *document,
                 const struct study_base *base, const bool is_free[SEARCH_AXIS_COUNT_],
                 struct auto_layout *found, struct diag *diag)
{
    struct arena *own = arena_new();
    struct search_space space;
    bool is_good = read_space(own, document, base, is_free, &space, diag_new(own));
    if (is_good) {
        struct search_result result;
        search(own, &space, base, &result);
        keep(arena, &space, is_free, &result, found);
    } else { /* messages point to what they are about: it has to last */
        is_good = read_space(arena, document, base, is_free, &space, diag);
        sim_assert(!is_good);
    }
    arena_free(own);
    return is_good;
}

bool search_auto_find(struct arena *arena, const struct doc_node *document,
                      const struct study_base *base, struct auto_layout *found, struct diag *diag)
{
    struct arena *own = arena_new();
    const struct auto_keys keys = auto_keys_of(own, document, base->sets, base->set_count);
    *found = (struct auto_layout){.is_asked = keys.count > 0};
    bool is_free[SEARCH_AXIS_COUNT_];
    free_axes(&keys, document, base, is_free);
    arena_free(own);
    return !found->is_asked || find(arena, document, base, is_free, found, diag);
}

bool search_usual_find(struct arena *arena, const struct doc_node *document,
                       const struct study_base *base, struct auto_layout *found, struct diag *diag)
{
    *found = (struct auto_layout){.is_asked = true};
    bool is_free[SEARCH_AXIS_COUNT_] = {false};
    for (uint32_t i = 0; i < AUTO_KEYS; i++) {
        is_free[axis_of(auto_key_paths[i])] = true;
    }
    free_beside(document, base, is_free);
    return find(arena, document, base, is_free, found, diag);
}

struct study_base search_auto_base(struct arena *arena, const struct study_base *base,
                                   const struct auto_layout *found)
{
    struct study_base changed = *base;
    changed.sets = auto_layout_sets(arena, base->sets, &changed.set_count, found);
    return changed;
}

static bool find_for(const void *context, struct arena *arena, const struct doc_node *document,
                     struct auto_layout *found, struct diag *diag)
{
    return search_auto_find(arena, document, context, found, diag);
}

struct auto_hook search_auto_hook(const struct study_base *base)
{
    return (struct auto_hook){.catalogue = base->catalogue,
                              .sets = base->sets,
                              .set_count = base->set_count,
                              .find = find_for,
                              .context = base};
}
