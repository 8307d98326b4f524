/* The way of a microbatch through the chunks of the stages, as functions from
 * a place to the next and the one before; and the pipeline that checkers
 * execute.
 */
#include "base/arena.h"
#include "base/check.h"
#include "plan/schedule/schedule.h"
#include "plan/schedule/schedule_rows.h"

/* ---- forward by one place; false at the end --------------------------------------------- */

static bool loop_next(const struct schedule_shape *shape, struct schedule_place place,
                      struct schedule_place *next)
{
    const bool wraps = place.stage + 1 == shape->stages;
    *next =
        (struct schedule_place){wraps ? 0 : place.stage + 1, wraps ? place.chunk + 1 : place.chunk};
    return next->chunk < shape->chunks;
}

static bool loop_previous(const struct schedule_shape *shape, struct schedule_place place,
                          struct schedule_place *previous)
{
    const bool wraps = place.stage == 0;
    *previous = (struct schedule_place){wraps ? shape->stages - 1 : place.stage - 1,
                                        wraps ? place.chunk - 1 : place.chunk};
    return !(wraps && place.chunk == 0);
}

static bool vee_next(const struct schedule_shape *shape, struct schedule_place place,
                     struct schedule_place *next)
{
    const bool turns = place.chunk == 0 && place.stage + 1 == shape->stages;
    if (place.chunk == 0) {
        *next = (struct schedule_place){turns ? place.stage : place.stage + 1, turns ? 1 : 0};
        return true;
    }
    *next = (struct schedule_place){place.stage - 1, 1};
    return place.stage > 0;
}

static bool vee_previous(const struct schedule_shape *shape, struct schedule_place place,
                         struct schedule_place *previous)
{
    const bool turns = place.chunk == 1 && place.stage + 1 == shape->stages;
    if (place.chunk == 1) {
        *previous = (struct schedule_place){turns ? place.stage : place.stage + 1, turns ? 0 : 1};
        return true;
    }
    *previous = (struct schedule_place){place.stage - 1, 0};
    return place.stage > 0;
}

static bool dual_step(const struct schedule_shape *shape, struct schedule_place place, bool is_up,
                      struct schedule_place *to)
{
    *to = (struct schedule_place){is_up ? place.stage + 1 : place.stage - 1, place.chunk};
    return is_up ? place.stage + 1 < shape->stages : place.stage > 0;
}

static bool dual_next(const struct schedule_shape *shape, struct schedule_place place,
                      struct schedule_place *next)
{
    return dual_step(shape, place, place.chunk == 0, next);
}

static bool dual_previous(const struct schedule_shape *shape, struct schedule_place place,
                          struct schedule_place *previous)
{
    return dual_step(shape, place, place.chunk == 1, previous);
}

/* The place that holds `piece`; each is held once. */
static bool file_find(const struct schedule_shape *shape, uint64_t piece,
                      struct schedule_place *place)
{
    const uint32_t slots = shape->stages * shape->chunks;
    for (uint32_t slot = 0; slot < slots; slot++) {
        if (shape->file->pieces[slot] == piece) {
            *place = (struct schedule_place){slot / shape->chunks, slot % shape->chunks};
            return true;
        }
    }
    return false;
}

static uint64_t file_piece(const struct schedule_shape *shape, struct schedule_place place)
{
    return shape->file->pieces[(uint64_t)place.stage * shape->chunks + place.chunk];
}

static bool file_next(const struct schedule_shape *shape, struct schedule_place place,
                      struct schedule_place *next)
{
    return file_find(shape, file_piece(shape, place) + 1, next);
}

static bool file_previous(const struct schedule_shape *shape, struct schedule_place place,
                          struct schedule_place *previous)
{
    const uint64_t piece = file_piece(shape, place);
    return piece > 0 && file_find(shape, piece - 1, previous);
}

typedef bool way_step(const struct schedule_shape *shape, struct schedule_place place,
                      struct schedule_place *to);

static const struct way_row {
    way_step *next;
    way_step *previous;
} ways[] = {
    [WAY_LOOP] = {loop_next, loop_previous},
    [WAY_VEE] = {vee_next, vee_previous},
    [WAY_DUAL] = {dual_next, dual_previous},
    [WAY_FILE] = {file_next, file_previous},
};

bool schedule_next(const struct schedule_shape *shape, struct schedule_place place,
                   struct schedule_place *next)
{
    sim_assert(place.stage < shape->stages && place.chunk < shape->chunks);
    return ways[schedule_row_of(shape)->way].next(shape, place, next);
}

bool schedule_previous(const struct schedule_shape *shape, struct schedule_place place,
                       struct schedule_place *previous)
{
    sim_assert(place.stage < shape->stages && place.chunk < shape->chunks);
    return ways[schedule_row_of(shape)->way].previous(shape, place, previous);
}

/* ---- for checkers ------------------------------------------------------------------------- */

struct schedule_line schedule_line_of(struct arena *arena, const struct schedule_shape *shape,
                                      const struct schedule_order *orders)
{
    const bool is_dual = schedule_row_of(shape)->way == WAY_DUAL;
    const uint32_t half = shape->microbatches / 2;
    const uint32_t count = shape->stages * shape->chunks;
    struct schedule_slot *slots = arena_array(arena, count, sizeof *slots);
    for (uint32_t i = 0; i < count; i++) {
        const struct schedule_place place = {i / shape->chunks, i % shape->chunks};
        struct schedule_place to;
        slots[i] =
            (struct schedule_slot){SCHEDULE_NOWHERE, SCHEDULE_NOWHERE, 0, shape->microbatches};
        if (schedule_next(shape, place, &to)) {
            slots[i].next = to.stage * shape->chunks + to.chunk;
        }
        if (schedule_previous(shape, place, &to)) {
            slots[i].previous = to.stage * shape->chunks + to.chunk;
        }
        if (is_dual) {
            slots[i].microbatch_first = place.chunk == 0 ? 0 : half;
            slots[i].microbatch_end = place.chunk == 0 ? half : shape->microbatches;
        }
    }
    return (struct schedule_line){shape->stages, shape->chunks, shape->microbatches, slots, orders};
}

bool schedule_check(struct arena *arena, const struct schedule_shape *shape,
                    const struct schedule_order *orders, struct schedule_fault *fault)
{
    const struct schedule_line line = schedule_line_of(arena, shape, orders);
    return schedule_line_check(arena, &line, fault);
}
