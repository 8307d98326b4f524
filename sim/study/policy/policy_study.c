/* Axes of points are those of the space, with the text that --set takes; the value of an interval
 * is in seconds, also where it is told in steps.
 */
#include "study/policy/policy_study.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

static double number_of(const struct policy *policy, const struct policy_axis *axis,
                        const char *text)
{
    char *end = NULL;
    const double number = strtod(text, &end);
    if (axis->kind == POLICY_EVERY) {
        return policy->every_s > 0 ? policy->every_s : ABSENT;
    }
    return end != text && *end == '\0' ? number : ABSENT;
}

static const char *label_of(struct arena *arena, const struct policy_space *space,
                            const struct policy_point *of)
{
    static const char *const names[POLICY_NAMED_COUNT_] = {
        [POLICY_OWN] = "as the scenario has it",
        [POLICY_YOUNG] = "Young's interval",
        [POLICY_DALY] = "Daly's interval",
        [POLICY_EXACT] = "the exact interval",
    };
    if (of->name < POLICY_NAMED_COUNT_) {
        return names[of->name];
    }
    return policy_words(arena, space, of->policy);
}

/* Its keys in the place of the scenario's; of the scenario's own none, and of an interval by name
 * that interval, whether it is an axis or not. */
static void add_sets(struct arena *arena, const struct policy_request *request,
                     const struct policy_point *of, struct study_point *point)
{
    static const struct policy_space none;
    const struct policy_space *space = of->name == POLICY_OWN ? &none : request->space;
    point->sets =
        arena_array(arena, request->base->set_count + (size_t)POLICY_SETS_MAX, sizeof *point->sets);
    for (uint32_t i = 0; i < request->base->set_count; i++) {
        point->sets[point->set_count++] = request->base->sets[i];
    }
    point->set_count += policy_sets(arena, space, of->policy, point->sets + point->set_count);
}

static void fill_point(struct arena *arena, const struct policy_request *request,
                       const struct policy_point *of, struct study_point *point)
{
    const struct policy_space *space = request->space;
    *point = (struct study_point){.document = request->document,
                                  .label = label_of(arena, space, of),
                                  .axis_count = space->axis_count,
                                  .result = of->policy->result};
    add_sets(arena, request, of, point);
    for (uint32_t i = 0; i < space->axis_count; i++) {
        point->axes[i] = policy_axis_paths[space->axes[i].kind];
        point->value_texts[i] = of->policy->texts[i];
        point->values[i] = number_of(of->policy, &space->axes[i], of->policy->texts[i]);
    }
}

bool policy_study(struct arena *arena, const struct policy_request *request,
                  const struct policy_found *found, struct study *study,
                  struct policy_point **points, struct diag *diag)
{
    const uint32_t best = found->good < request->top ? found->good : request->top;
    struct policy_point *of = arena_array(arena, best + (size_t)POLICY_NAMED_COUNT_, sizeof *of);
    uint32_t count = 0;
    for (; count < best; count++) {
        of[count] = (struct policy_point){&found->policies[count], POLICY_NAMED_COUNT_, count + 1};
    }
    for (uint32_t i = 0; i < POLICY_NAMED_COUNT_; i++) {
        if (found->no_named[i] == NULL && found->named[i].result != NULL) {
            of[count++] = (struct policy_point){&found->named[i], (enum policy_named)i, 0};
        }
    }
    study->points = arena_array(arena, count, sizeof *study->points);
    study->count = count;
    study->kind = "search";
    for (uint32_t i = 0; i < count; i++) {
        fill_point(arena, request, &of[i], &study->points[i]);
    }
    *points = of;
    return study_of_points(arena, request->document, request->base, study, diag);
}
