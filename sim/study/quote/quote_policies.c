/* Each point's search has memory of its own, which ends with it. */
#include "study/quote/quote_policies.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/diag.h"
#include "base/units.h"
#include "study/best.h"
#include "study/policy/policy.h"

/* Where the job says none. */
static const char *const usual_axes[] = {
    "search.run.checkpoint.every=1 min..4 h",
    "search.run.recovery.spares=[0, 1 %, 2 %, 5 %, 10 %]",
};

/* What is searched for one job. */
struct searching {
    const struct study_base *base;
    const struct doc_node *document; /* whose `search:` has axes of the run alone */
    struct policy_space space;
    enum policy_by by;
    bool folds;
};

static bool begin(struct arena *arena, const struct doc_node *document, struct searching *searching,
                  struct diag *diag)
{
    struct doc_node *part = policy_part(arena, document, true);
    bool is_good = true;
    for (size_t i = 0; i < sizeof usual_axes / sizeof *usual_axes; i++) {
        is_good = (policy_is_asked(arena, document) || doc_set(arena, part, usual_axes[i], diag)) &&
                  is_good;
    }
    searching->document = part;
    return is_good && policy_space_read(arena, part, &searching->space, diag);
}

static void take(struct arena *arena, const struct searching *searching,
                 const struct policy_found *found, struct quote_policy *of)
{
    const struct policy *own = &found->named[POLICY_OWN];
    const bool has_own = found->no_named[POLICY_OWN] == NULL && own->state == POLICY_GOOD;
    if (found->good == 0 || (has_own && own->is_tied)) {
        return;
    }
    const struct policy *best = &found->policies[0];
    of->set_count = policy_sets(arena, &searching->space, best, of->sets);
    of->words = policy_words(arena, &searching->space, best);
    of->gains = has_own ? units_difference(1, best->value / own->value) : ABSENT;
}

static bool find(struct arena *arena, const struct searching *searching,
                 const struct study_point *point, struct quote_policy *of, struct diag *diag)
{
    struct arena *scratch = arena_new();
    const struct scenario *scenario =
        study_point_resolve(point, scratch, searching->base->catalogue, diag);
    bool is_good = scenario != NULL;
    if (is_good && policy_matters(scenario)) {
        struct study_base base = *searching->base;
        base.sets = point->sets;
        base.set_count = point->set_count;
        const struct policy_request request = {.document = searching->document,
                                               .base = &base,
                                               .space = &searching->space,
                                               .by = searching->by,
                                               .folds = searching->folds,
                                               .top = 1};
        struct policy_found found;
        is_good = policy_search(scratch, &request, &found, diag);
        if (is_good) {
            take(arena, searching, &found, of);
        }
        policy_forget(&found);
    }
    arena_free(scratch);
    return is_good;
}

bool quote_find_policies(struct arena *arena, struct quote_points *points,
                         const struct study_base *base, bool folds, struct diag *diag)
{
    const struct quote *quote = points->quote;
    points->policies =
        arena_array(arena, (size_t)quote->job_count * points->per_job, sizeof *points->policies);
    bool is_good = true;
    for (uint32_t job = 0; job < quote->job_count && is_good; job++) {
        struct searching searching = {.base = base,
                                      .by = quote->by == QUOTE_BY_COST ? POLICY_BY_COST
                                                                       : POLICY_BY_DAYS,
                                      .folds = folds};
        is_good = begin(arena, quote->jobs[job].document, &searching, diag);
        for (uint32_t i = 0; i < points->per_job && is_good; i++) {
            const uint32_t at = job * points->per_job + i;
            const struct best_layout *layout =
                points->layouts != NULL ? &points->layouts[at] : NULL;
            struct study_point point = points->values[job].points[i];
            if (layout != NULL && layout->is_found) {
                best_lay_out(arena, &points->values[job].points[i], layout, &point);
            }
            is_good = (layout != NULL && !layout->is_found) ||
                      find(arena, &searching, &point, &points->policies[at], diag);
        }
    }
    return is_good;
}
