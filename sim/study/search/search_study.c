/* Axes of points are those that tell them apart, as many as the store has room for. */
#include "study/search/search_study.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/diag.h"
#include "input/doc/doc.h"
#include "input/scenario_load.h"

#include <stdlib.h>
#include <string.h>

/* ---- where it begins ------------------------------------------------------------------------ */

enum { PLAIN_SETS = 8 };

static struct scenario *resolve_with(struct arena *arena, const struct doc_node *document,
                                     const struct study_base *base, const char *const *more,
                                     uint32_t more_count, struct diag *diag)
{
    const char **sets = arena_array(arena, base->set_count + more_count + 1u, sizeof *sets);
    for (uint32_t i = 0; i < base->set_count; i++) {
        sets[i] = base->sets[i];
    }
    for (uint32_t i = 0; i < more_count; i++) {
        sets[base->set_count + i] = more[i];
    }
    return scenario_resolve(arena, document, base->catalogue, sets, base->set_count + more_count,
                            diag);
}

static struct scenario *resolve_plain(struct arena *arena, const struct doc_node *document,
                                      const struct study_base *base, int64_t tp, int64_t pp)
{
    const char *sets[PLAIN_SETS] = {
        arena_printf(arena, "parallel.tp=%lld", (long long)tp),
        "parallel.cp=1",
        "parallel.ep=1",
        arena_printf(arena, "parallel.pp=%lld", (long long)pp),
        "parallel.schedule=1f1b",
        "parallel.virtual_stages=1",
        "batch.micro=1",
        "recompute=none",
    };
    return resolve_with(arena, document, base, sets, PLAIN_SETS, diag_new(arena));
}

/* How many GPUs the scenario says it has; 0: nobody knows. */
static int64_t gpus_of(const struct doc_node *document, const struct study_base *base)
{
    const char *text = doc_find_text(document, "gpus");
    for (uint32_t i = 0; i < base->set_count; i++) {
        if (strncmp(base->sets[i], "gpus=", 5) == 0) {
            text = base->sets[i] + 5;
        }
    }
    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

const struct scenario *search_base(struct arena *arena, const struct doc_node *document,
                                   const struct study_base *base, struct diag *diag)
{
    struct diag *own = diag_new(arena);
    const struct scenario *scenario = resolve_with(arena, document, base, NULL, 0, own);
    if (scenario != NULL) {
        return scenario;
    }
    const int64_t gpus = diag_is_verdict(own) ? gpus_of(document, base) : 0;
    for (int64_t tp = 1; tp <= 64 && scenario == NULL; tp *= 2) {
        for (int64_t pp = 1; pp <= 256 && scenario == NULL; pp *= 2) {
            if (gpus > 0 && gpus % (tp * pp) == 0) {
                scenario = resolve_plain(arena, document, base, tp, pp);
            }
        }
    }
    return scenario != NULL ? scenario : resolve_with(arena, document, base, NULL, 0, diag);
}

static bool is_inside(const char *set, const char *section)
{
    const size_t length = strlen(section);
    return strncmp(set, section, length) == 0 && (set[length] == '.' || set[length] == '=');
}

bool search_document(struct arena *arena, const struct doc_node *document,
                     const struct study_base *base, const struct doc_node **changed,
                     struct diag *diag)
{
    struct doc_node *copy = doc_copy(arena, document);
    bool is_good = true;
    for (uint32_t i = 0; i < base->set_count; i++) {
        const char *set = base->sets[i];
        if (is_inside(set, "search")) {
            is_good = doc_set(arena, copy, set, diag) && is_good;
        }
        for (uint32_t k = 0; k < SEARCH_OFFLOAD_OPTIMIZER; k++) {
            if (is_inside(set, search_axis_paths[k])) {
                diag_add(diag, DIAG_WARNING, NULL,
                         "--set %s changes nothing: the search itself sets '%s'", set,
                         search_axis_paths[k]);
                diag_help(diag, "say --set search.%s", set);
            }
        }
    }
    *changed = copy;
    return is_good;
}

/* ---- points ---------------------------------------------------------------------------------- */

/* Whether the layouts differ there. */
static bool tells_apart(struct arena *arena, enum search_axis axis,
                        const struct search_found *found, uint32_t count)
{
    const char *first = search_layout_value(arena, &found[0].layout, axis);
    uint32_t i = 1;
    while (i < count && strcmp(first, search_layout_value(arena, &found[i].layout, axis)) == 0) {
        i++;
    }
    return i < count;
}

static double number_of(const char *text)
{
    char *end = NULL;
    const double number = strtod(text, &end);
    return end != text && *end == '\0' ? number : ABSENT;
}

static void fill_point(struct arena *arena, const struct doc_node *document,
                       const struct study_base *base, const struct search_space *space,
                       const struct relayout *layout, struct study_point *point)
{
    point->document = document;
    point->label = search_layout_label(arena, space, layout);
    point->set_count = base->set_count + SEARCH_AXIS_COUNT_;
    point->sets = arena_array(arena, point->set_count, sizeof *point->sets);
    for (uint32_t i = 0; i < base->set_count; i++) {
        point->sets[i] = base->sets[i];
    }
    search_layout_sets(arena, layout, point->sets + base->set_count);
}

static void add_axis(struct arena *arena, enum search_axis axis, const struct relayout *layout,
                     struct study_point *point)
{
    const char *text = search_layout_value(arena, layout, axis);
    point->axes[point->axis_count] = search_axis_paths[axis];
    point->value_texts[point->axis_count] = text;
    point->values[point->axis_count++] = number_of(text);
}

bool search_study(struct arena *arena, const struct doc_node *document,
                  const struct study_base *base, const struct search_space *space,
                  const struct search_found *found, uint32_t count, struct study *study,
                  struct diag *diag)
{
    study->count = count;
    study->points = arena_array(arena, count, sizeof *study->points);
    uint32_t axis_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        study->points[i] = (struct study_point){.axis_count = 0};
        fill_point(arena, document, base, space, &found[i].layout, &study->points[i]);
    }
    for (uint32_t axis = 0; axis < SEARCH_AXIS_COUNT_ && axis_count < STORE_AXES_MAX; axis++) {
        if (!tells_apart(arena, (enum search_axis)axis, found, count)) {
            continue;
        }
        for (uint32_t i = 0; i < count; i++) {
            add_axis(arena, (enum search_axis)axis, &found[i].layout, &study->points[i]);
        }
        axis_count++;
    }
    study->kind = "search";
    return study_of_points(arena, document, base, study, diag);
}
