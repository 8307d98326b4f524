/* Questions of two points are the same one where they are named alike, whatever keys that sets. */
#include "study/flip/flip.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/diag.h"

#include <math.h>
#include <string.h>

const char *const flip_verdict_names[FLIP_VERDICT_COUNT_] = {"holds", "open", "turns", NULL};

/* Of one point, what it may be asked. */
struct asked_point {
    struct whatif_remedy *remedies; /* NULL: it has no result, and is not asked */
    uint32_t count;
};

static struct study_base base_of(const struct flip_request *request,
                                 const struct study_point *point)
{
    struct study_base base = *request->of;
    base.sets = point->sets;
    base.set_count = point->set_count;
    return base;
}

static struct asked_point ask_point(struct arena *arena, const struct flip_request *request,
                                    const struct study_point *point)
{
    struct asked_point asked = {.count = 0};
    const struct study_base base = base_of(request, point);
    const struct scenario *scenario =
        study_point_resolve(point, arena, base.catalogue, diag_new(arena));
    if (scenario == NULL) {
        return asked;
    }
    const unsigned groups = 1u << WHATIF_FREE | 1u << WHATIF_JOB;
    asked.remedies = whatif_remedies(arena, scenario, groups, &asked.count);
    asked.count += whatif_gpus(arena, base.catalogue, scenario, asked.remedies + asked.count);
    if (!base.any_software) {
        const struct whatif_asked whatif = {point->document, &base, scenario};
        const char *left_out;
        asked.count = whatif_obey(arena, &whatif, asked.remedies, asked.count, &left_out);
    }
    asked.count +=
        whatif_layout(arena, point->document, &base, scenario, &asked.remedies[asked.count]);
    return asked;
}

static const struct whatif_remedy *remedy_named(const struct asked_point *point, const char *name)
{
    for (uint32_t i = 0; i < point->count; i++) {
        if (strcmp(point->remedies[i].name, name) == 0) {
            return &point->remedies[i];
        }
    }
    return NULL;
}

/* The best layout may be a point's own; any other question must arise in all that are asked. */
static bool arises(const struct asked_point *points, uint32_t count,
                   const struct whatif_remedy *remedy)
{
    for (uint32_t i = 0; i < count; i++) {
        if (points[i].remedies != NULL && !remedy->is_found &&
            remedy_named(&points[i], remedy->name) == NULL) {
            return false;
        }
    }
    return true;
}

static void put_change(struct arena *arena, const struct flip_request *request,
                       const struct asked_point *asked, const char *name,
                       struct flip_change *change)
{
    const struct study *study = request->study;
    *change = (struct flip_change){.name = name, .study = {.kind = study->kind}};
    change->study.count = study->count;
    change->study.points = arena_array(arena, study->count, sizeof *study->points);
    for (uint32_t i = 0; i < study->count; i++) {
        const struct whatif_remedy *remedy = remedy_named(&asked[i], name);
        struct study_point *point = &change->study.points[i];
        *point = study->points[i];
        point->scenario = NULL;
        point->result = NULL;
        if (remedy != NULL) {
            point->sets = arena_array(arena, point->set_count + (size_t)remedy->set_count,
                                      sizeof *point->sets);
            memcpy(point->sets, study->points[i].sets, point->set_count * sizeof *point->sets);
            memcpy(point->sets + point->set_count, remedy->sets,
                   remedy->set_count * sizeof *point->sets);
            point->set_count += remedy->set_count;
        }
    }
    struct diag *diag = diag_new(arena);
    if (!study_of_points(arena, request->document, request->of, &change->study, diag)) {
        change->lack = diag_first_error(diag);
    }
    change->study.title = arena_printf(arena, "%s: %s", study->title, name);
}

static bool is_asked_before(const struct flip *flip, const char *name)
{
    for (uint32_t i = 0; i < flip->count; i++) {
        if (strcmp(flip->changes[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

uint32_t flip_next(const struct store_row *rows, uint32_t count, uint32_t except)
{
    uint32_t found = count;
    double most = 0;
    for (uint32_t i = 0; i < count; i++) {
        const double speed =
            store_row_is_good(&rows[i]) ? rows[i].tokens_per_step / rows[i].step_s : 0;
        if (i != except && speed > most) {
            found = i;
            most = speed;
        }
    }
    return found;
}

bool flip_ask(struct arena *arena, const struct flip_request *request, struct flip *flip)
{
    const uint32_t count = request->study->count;
    *flip = (struct flip){.fastest = flip_next(request->rows, count, count)};
    if (flip_next(request->rows, count, flip->fastest) == count) {
        return false;
    }
    struct asked_point *asked = arena_array(arena, count, sizeof *asked);
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (store_row_is_good(&request->rows[i])) {
            asked[i] = ask_point(arena, request, &request->study->points[i]);
            most += asked[i].count;
        }
    }
    flip->changes = arena_array(arena, most + (size_t)1, sizeof *flip->changes);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < asked[i].count; k++) {
            const struct whatif_remedy *remedy = &asked[i].remedies[k];
            if (!is_asked_before(flip, remedy->name) && arises(asked, count, remedy)) {
                put_change(arena, request, asked, remedy->name, &flip->changes[flip->count++]);
            }
        }
    }
    return true;
}

double flip_ratio(const struct flip *flip, const struct flip_change *change)
{
    return change->rows != NULL && change->next < change->study.count &&
                   store_row_is_good(&change->rows[flip->fastest])
               ? change->against[flip->fastest].speed_up
               : ABSENT;
}

enum flip_verdict flip_verdict_of(const struct flip *flip, const struct flip_change *change)
{
    const double ratio = flip_ratio(flip, change);
    if (change->rows != NULL && is_absent(ratio)) {
        return change->next < change->study.count                ? FLIP_TURNS
               : store_row_is_good(&change->rows[flip->fastest]) ? FLIP_HOLDS
                                                                 : FLIP_NONE;
    }
    if (change->rows == NULL) {
        return FLIP_NONE;
    }
    const struct against *held = &change->against[flip->fastest];
    const bool is_close =
        held->verdict != NULL ? against_is_close(held) : fabs(log(ratio)) <= held->resolution;
    return is_close ? FLIP_OPEN : ratio < 1 ? FLIP_TURNS : FLIP_HOLDS;
}
