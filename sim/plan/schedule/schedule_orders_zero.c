/* ZB-H2 and ZB-V: no bubble but where the pipeline fills and drains.
 *
 * ZB-H2 is found by running the pipeline with F, B and W a tick each: a stage takes a backward
 * if one is there, else a forward while fewer than 2p - 1 microbatches keep activations, else a
 * weight gradient. With m >= 2p - 1 that attains the span of Qi et al. 2023 (section 3,
 * figure 3). O(p m) for all stages, which one stage's order needs.
 *
 * ZB-V has a rule per stage (Qi et al. 2024, section 4; as PyTorch's ScheduleZBVZeroBubble lays
 * it out): 2(p-s) - 1 forwards of chunk 0; s times a forward of each chunk; p - s times F, B, W
 * of chunk 1; then F, B, W of the chunks in turn; at last the backwards left, with weights put
 * off. It is laid out for max(m, 2p - 1) microbatches, and those that are not there left out.
 */
#include "base/arena.h"
#include "base/check.h"
#include "plan/schedule/schedule_rows.h"

#include <string.h>

/* ---- ZB-H2 --------------------------------------------------------------------------------- */

struct greedy_stage {
    uint32_t forwards, backwards, weights; /* begun; each goes through the microbatches in turn */
};

struct greedy {
    const struct schedule_shape *shape;
    struct greedy_stage *stages;
    struct greedy_stage *before; /* as of the tick's begin: what has ended */
};

/* What a stage begins in this tick, if anything. */
static bool greedy_choose(const struct greedy *greedy, uint32_t stage,
                          enum schedule_operation *operation)
{
    const uint32_t cap = 2 * greedy->shape->stages - 1;
    const struct greedy_stage *own = &greedy->before[stage];
    const bool is_last = stage + 1 == greedy->shape->stages;
    const uint32_t arrived = stage == 0 ? greedy->shape->microbatches : own[-1].forwards;
    const uint32_t returned = is_last ? own->forwards : own[1].backwards;
    if (own->backwards < returned) {
        *operation = SCHEDULE_BACKWARD_INPUT;
        return true;
    }
    if (own->forwards < arrived && own->forwards - own->weights < cap) {
        *operation = SCHEDULE_FORWARD;
        return true;
    }
    *operation = SCHEDULE_WEIGHTS;
    return own->weights < own->backwards;
}

static uint32_t greedy_begin(struct greedy_stage *stage, enum schedule_operation operation)
{
    return operation == SCHEDULE_FORWARD          ? stage->forwards++
           : operation == SCHEDULE_BACKWARD_INPUT ? stage->backwards++
                                                  : stage->weights++;
}

void schedule_generate_zb_h2(struct schedule_writer *writer, const struct schedule_shape *shape,
                             uint32_t stage)
{
    const uint32_t p = shape->stages;
    const struct greedy greedy = {
        .shape = shape,
        .stages = arena_array(writer->arena, p, sizeof(struct greedy_stage)),
        .before = arena_array(writer->arena, p, sizeof(struct greedy_stage)),
    };
    /* In every tick some stage works: at most 3 m p of them. */
    while (greedy.stages[stage].weights < shape->microbatches) {
        memcpy(greedy.before, greedy.stages, p * sizeof *greedy.before);
        for (uint32_t s = 0; s < p; s++) {
            enum schedule_operation operation;
            if (!greedy_choose(&greedy, s, &operation)) {
                continue;
            }
            const uint32_t microbatch = greedy_begin(&greedy.stages[s], operation);
            if (s == stage) {
                schedule_write(writer, operation, 0, microbatch);
            }
        }
    }
}

/* ---- ZB-V ---------------------------------------------------------------------------------- */

/* Writes the next F, B or W of a chunk; one of a microbatch that is not there is left out. */
struct vee_writer {
    struct schedule_writer *writer;
    uint32_t microbatches;
    uint32_t next[2][SCHEDULE_PAIR]; /* [chunk][operation] */
};

static void vee_write(struct vee_writer *vee, enum schedule_operation operation, uint32_t chunk)
{
    const uint32_t microbatch = vee->next[chunk][operation]++;
    if (microbatch < vee->microbatches) {
        schedule_write(vee->writer, operation, chunk, microbatch);
    }
}

static void vee_write_backward(struct vee_writer *vee, uint32_t chunk)
{
    vee_write(vee, SCHEDULE_BACKWARD_INPUT, chunk);
    vee_write(vee, SCHEDULE_WEIGHTS, chunk);
}

static void vee_warm_up(struct vee_writer *vee, uint32_t stages, uint32_t stage)
{
    for (uint32_t i = 0; i < 2 * (stages - stage) - 1; i++) {
        vee_write(vee, SCHEDULE_FORWARD, 0);
    }
    for (uint32_t i = 0; i < stage; i++) {
        vee_write(vee, SCHEDULE_FORWARD, 1);
        vee_write(vee, SCHEDULE_FORWARD, 0);
    }
    for (uint32_t i = 0; i < stages - stage; i++) {
        vee_write(vee, SCHEDULE_FORWARD, 1);
        vee_write_backward(vee, 1);
    }
}

static void vee_cool_down(struct vee_writer *vee, uint32_t stages, uint32_t stage)
{
    for (uint32_t i = 0; i < stage; i++) {
        vee_write(vee, SCHEDULE_BACKWARD_INPUT, 0);
        vee_write(vee, SCHEDULE_BACKWARD_INPUT, 1);
    }
    for (uint32_t i = 0; i < stages - stage; i++) {
        vee_write_backward(vee, 0);
    }
    for (uint32_t chunk = 2; chunk-- > 0;) {
        while (vee->next[chunk][SCHEDULE_WEIGHTS] < vee->next[chunk][SCHEDULE_BACKWARD_INPUT]) {
            vee_write(vee, SCHEDULE_WEIGHTS, chunk);
        }
    }
}

void schedule_generate_zb_v(struct schedule_writer *writer, const struct schedule_shape *shape,
                            uint32_t stage)
{
    const uint32_t p = shape->stages;
    const uint32_t m = shape->microbatches;
    const uint32_t laid_out = m > 2 * p - 1 ? m : 2 * p - 1;
    struct vee_writer vee = {.writer = writer, .microbatches = m};
    vee_warm_up(&vee, p, stage);
    while (vee.next[1][SCHEDULE_FORWARD] < laid_out) {
        if (vee.next[0][SCHEDULE_FORWARD] < laid_out) {
            vee_write(&vee, SCHEDULE_FORWARD, 0);
        }
        vee_write_backward(&vee, 0);
        vee_write(&vee, SCHEDULE_FORWARD, 1);
        vee_write_backward(&vee, 1);
    }
    vee_cool_down(&vee, p, stage);
}
