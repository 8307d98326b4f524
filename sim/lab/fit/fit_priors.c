/* Constants are renumbered: what counts by their numbers (effects, what a removal leaves idle) is
 * made anew. Names and texts are shared with the plan.
 */
#include "lab/fit/fit_priors.h"

#include "base/arena.h"
#include "input/catalogue.h"
#include "input/doc/doc.h"
#include "input/doc/name_table.h"

#include <math.h>
#include <string.h>

/* ---- fewer constants -------------------------------------------------------------------- */

static const struct fit_removal *narrow_removals(struct arena *arena, const struct fit_plan *plan,
                                                 const bool *is_kept, uint32_t kept)
{
    struct fit_removal *removals =
        arena_array(arena, plan->removal_count + (size_t)1, sizeof *removals);
    for (uint32_t i = 0; i < plan->removal_count; i++) {
        bool *is_idle = arena_array(arena, kept + (size_t)1, sizeof *is_idle);
        uint32_t count = 0;
        for (uint32_t k = 0; k < plan->count; k++) {
            if (is_kept[k]) {
                is_idle[count++] = plan->removals[i].is_idle[k];
            }
        }
        removals[i] = plan->removals[i];
        removals[i].is_idle = is_idle;
    }
    return removals;
}

const struct fit_plan *fit_plan_narrow(struct arena *arena, const struct fit_plan *plan,
                                       const bool *is_kept)
{
    struct fit_plan *narrow = arena_alloc(arena, sizeof *narrow);
    *narrow = *plan;
    struct name_table effects;
    name_table_init(&effects, arena);
    narrow->constants = arena_array(arena, plan->count + (size_t)1, sizeof *narrow->constants);
    narrow->count = 0;
    for (uint32_t k = 0; k < plan->count; k++) {
        if (is_kept[k]) {
            struct fit_constant *constant = &narrow->constants[narrow->count++];
            *constant = plan->constants[k];
            constant->effect = name_table_index(&effects, plan->effects[constant->effect]);
        }
    }
    narrow->effects = effects.names;
    narrow->effect_count = effects.count;
    narrow->removals = narrow_removals(arena, plan, is_kept, narrow->count);
    return narrow;
}

/* ---- the catalogue's values ------------------------------------------------------------- */

static const struct doc_node *node_in(struct arena *arena, const struct catalogue *catalogue,
                                      const struct fit_constant *constant, uint32_t file,
                                      struct diag *diag)
{
    const char *folder = catalogue_folders[fit_constant_kind(constant)];
    const char *path = catalogue_find(arena, catalogue, folder, constant->files[file]);
    const struct doc_node *root = path != NULL ? doc_load(arena, path, diag) : NULL;
    return root != NULL ? doc_find(root, strchr(constant->key, '.') + 1) : NULL;
}

static bool complain(const struct fit_constant *constant, const struct doc_node *node,
                     const char *what, const char *help, struct diag *diag)
{
    diag_add(diag, DIAG_INPUT, &node->place, "'%s' %s", constant->name, what);
    diag_help(diag, "%s", help);
    return false;
}

/* The number in the file, in the unit of the plan and above 0. */
static bool read_prior(const struct fit_constant *constant, const struct doc_node *node,
                       double *value, struct diag *diag)
{
    const char *unit;
    if (node->kind != DOC_SCALAR || !fit_constant_split(node->text, value, &unit) ||
        strcmp(unit, constant->unit) != 0) {
        return complain(constant, node, "is not in the unit of the list of constants",
                        "write both with the same unit", diag);
    }
    return *value > 0 ||
           complain(constant, node, "is fitted as a logarithm, so 0 cannot be its prior",
                    "take it out of the list of constants (--constants)", diag);
}

static bool take_prior(struct arena *arena, const struct catalogue *catalogue,
                       struct fit_constant *constant, struct diag *diag)
{
    const double was = constant->prior;
    bool has_value = false;
    for (uint32_t i = 0; i < constant->file_count; i++) {
        const struct doc_node *node = node_in(arena, catalogue, constant, i, diag);
        double value = was;
        if (node == NULL) {
            continue;
        }
        if (!read_prior(constant, node, &value, diag)) {
            return false;
        }
        if (has_value && fabs(value - constant->prior) > 0) {
            return complain(constant, node, "is one number for all its files, but they differ",
                            "make them the same, or list the files apart (--constants)", diag);
        }
        constant->prior = value;
        has_value = true;
    }
    constant->min = fmin(constant->min, constant->prior);
    constant->max = fmax(constant->max, constant->prior);
    return true;
}

const struct fit_plan *fit_plan_at_catalogue(struct arena *arena, const struct fit_plan *plan,
                                             const struct catalogue *catalogue, struct diag *diag)
{
    struct fit_plan *at = arena_alloc(arena, sizeof *at);
    *at = *plan;
    at->constants = arena_array(arena, plan->count + (size_t)1, sizeof *at->constants);
    bool is_good = true;
    for (uint32_t k = 0; k < plan->count; k++) {
        at->constants[k] = plan->constants[k];
        is_good = take_prior(arena, catalogue, &at->constants[k], diag) && is_good;
    }
    return is_good ? at : NULL;
}
