/* One scenario after the other, each with one constant moved, is resolved again from the document
 * and built. Cost: that of a system for each constant that a step asks for, some 1 to 70 ms. */
#include "study/assumed.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "input/scenario.h"
#include "input/scenario_keys.h"
#include "input/scenario_load.h"
#include "train/critical/moved.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "3 us" moved to `times` as much: "3.6 us". A count stays whole. NULL: it is no number. */
static const char *moved_value(struct arena *arena, const char *value, double times)
{
    char *unit = NULL;
    const double number = strtod(value, &unit);
    if (unit == value || !isfinite(number) || !(fabs(number) > 0)) {
        return NULL;
    }
    const bool is_whole = *unit == '\0' && !(fabs(number) < 2) && !(floor(number) < number);
    const double moved = is_whole ? round(times * number) : times * number;
    return arena_printf(arena, "%.10g%s", moved, unit);
}

struct asking {
    const struct catalogue *catalogue;
    const struct result *result;
    struct step_memo *memo;
    struct moved_durations base;
    double of_days;               /* share of the days that steps take */
    struct arena *moved, *system; /* of one constant at a time */
};

/* ABSENT: it cannot be. */
static double move_once(const struct asking *asking, const struct assumption *assumption,
                        double times)
{
    struct arena *arena = asking->moved;
    const struct doc_node *document = asking->result->scenario->document;
    const char *value = moved_value(arena, assumption->value, times);
    double share = ABSENT;
    if (value != NULL) {
        const char *set = arena_printf(arena, "%s=%s", assumption->name, value);
        const struct scenario *moved =
            scenario_moved(arena, document, asking->catalogue, set, diag_new(arena));
        if (moved != NULL && moved->gpus == asking->result->scenario->gpus) {
            struct moved_durations durations;
            moved_durations_find(arena, asking->system, moved, asking->memo, &durations);
            share =
                asking->of_days * moved_share(asking->result->step.path, &asking->base, &durations);
        }
    }
    arena_reset(arena);
    return share;
}

/* What no part of the scenario holds is of the files that run.failures and run.spot name. */
static enum schema_moves what_moves(const char *name)
{
    const struct schema *schema = NULL;
    const struct schema_row *row = scenario_key_find(name, &schema);
    return row != NULL ? schema_moves_of(schema, row) : SCHEMA_MOVES_MONTHS;
}

/* By what `range` more of it moves the days, or where it cannot be more, that much less, with the
 * sign that more would have. ABSENT: neither can be, or it is not known. */
static double moves_of(const struct asking *asking, const struct assumption *assumption,
                       double range)
{
    const enum schema_moves moves = what_moves(assumption->name);
    if (moves != SCHEMA_MOVES_STEPS) {
        return moves == SCHEMA_MOVES_NO_STEP ? 0 : ABSENT;
    }
    const double more = move_once(asking, assumption, 1 + range);
    return is_absent(more) ? 0 - move_once(asking, assumption, 1 - range) : more;
}

/* Of a run's wall-clock time, in usual steps. */
static double share_of_steps(const struct run_result *run)
{
    const double wall_s = run->days * SECONDS_PER_DAY;
    return run->account_s[ACCOUNT_USEFUL] > 0 ? fmin(1, run->account_s[ACCOUNT_USEFUL] / wall_s)
                                              : 1;
}

static bool can_be_asked(const struct result *result)
{
    const struct scenario *scenario = result->scenario;
    return result_has_step(result) && result->step.path != NULL && scenario->document != NULL &&
           scenario->neighbour_count == 0 && scenario->plan.stage_count == 0;
}

/* What moves more comes first, what nobody knows last. */
static bool is_before(const struct assumption *one, const struct assumption *other)
{
    return !is_absent(one->moves) &&
           (is_absent(other->moves) || fabs(one->moves) > fabs(other->moves));
}

/* By insertion: they are some dozens, and equals stay in their order. */
static void rank(const struct assumptions *assumptions)
{
    for (size_t i = 1; i < assumptions->count; i++) {
        const struct assumption item = assumptions->items[i];
        size_t at = i;
        while (at > 0 && is_before(&item, &assumptions->items[at - 1])) {
            assumptions->items[at] = assumptions->items[at - 1];
            at--;
        }
        assumptions->items[at] = item;
    }
}

bool assumed_rank(struct arena *arena, const struct catalogue *catalogue, double range,
                  struct step_memo *memo, struct result *result)
{
    if (!can_be_asked(result) || !(range > 0)) {
        return false;
    }
    const struct assumptions *assumptions = &result->scenario->assumptions;
    struct asking asking = {.catalogue = catalogue,
                            .result = result,
                            .memo = memo,
                            .of_days = result_has_run(result) ? share_of_steps(&result->run) : 1,
                            .moved = arena_new(),
                            .system = arena_new()};
    moved_durations_find(arena, asking.system, result->scenario, memo, &asking.base);
    for (size_t i = 0; i < assumptions->count; i++) {
        assumptions->items[i].moves = moves_of(&asking, &assumptions->items[i], range);
    }
    arena_free(asking.moved);
    arena_free(asking.system);
    rank(assumptions);
    result->moves_range = range;
    return true;
}
