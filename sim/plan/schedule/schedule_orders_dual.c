/* DualPipe and DualPipeV: forwards beside backwards.
 *
 * In DualPipe microbatches enter at both ends; stage s and its mirror p - 1 - s hold the same two
 * pieces and do the same with the directions exchanged. DualPipeV folds one direction: chunk 1
 * of a stage is what chunk 0 of its mirror was, so p stages do what 2p did. Both are one order
 * of n stages' half, r its place in it and c microbatches of a direction:
 *
 *     1  2(n-r-1)      F0                     what goes through the near chunk
 *     2  r + 1         F0 F1                  F1: what comes back
 *     3  n-r-1         B1 W1 F1
 *     4  c - 2n + r+1  F0+BW1 F1+BW0          at the turning point the first apart
 *     5  n-r-1         BW1 F1+BW0
 *     6  r + 1         BW1 BW0                the second half as B, its W put off
 *     7  n-r-1         W B0
 *     8  r + 1         W
 *
 * as steps 1 to 8 of deepseek-ai/DualPipe, dualpipe.py and dualpipev.py, number them. There
 * n = p/2, c = m/2, and n = p, c = m.
 */
#include "base/check.h"
#include "plan/schedule/schedule_rows.h"

struct dual {
    struct schedule_writer *writer;
    uint32_t chunks[2]; /* the stage's chunk of direction 0 and 1 */
    uint32_t first[2];  /* the first microbatch of each */
    uint32_t forwards[2], backwards[2];
    uint64_t weights_from; /* where in the order to look for the oldest B without its W */
};

static uint32_t next_forward(struct dual *dual, uint32_t direction)
{
    return dual->first[direction] + dual->forwards[direction]++;
}

static uint32_t next_backward(struct dual *dual, uint32_t direction)
{
    return dual->first[direction] + dual->backwards[direction]++;
}

static void write_forward(struct dual *dual, uint32_t direction)
{
    schedule_write(dual->writer, SCHEDULE_FORWARD, dual->chunks[direction],
                   next_forward(dual, direction));
}

static void write_backward(struct dual *dual, uint32_t direction, bool keeps_weights_back)
{
    schedule_write(dual->writer, keeps_weights_back ? SCHEDULE_BACKWARD_INPUT : SCHEDULE_BACKWARD,
                   dual->chunks[direction], next_backward(dual, direction));
}

/* Of the oldest backward whose weight gradients wait: they are done in turn. */
static void write_weights(struct dual *dual)
{
    const struct schedule_action *actions = dual->writer->actions;
    while (actions[dual->weights_from].operation != SCHEDULE_BACKWARD_INPUT) {
        dual->weights_from++;
        sim_assert(dual->weights_from < dual->writer->count);
    }
    const struct schedule_action *backward = &actions[dual->weights_from++];
    schedule_write(dual->writer, SCHEDULE_WEIGHTS, backward->chunk, backward->microbatch);
}

static void write_pair(struct dual *dual, uint32_t forward, uint32_t backward)
{
    const uint32_t forward_microbatch = next_forward(dual, forward);
    schedule_write_pair(dual->writer, dual->chunks[forward], forward_microbatch,
                        dual->chunks[backward], next_backward(dual, backward));
}

/* Steps 1 to 3. */
static void fill(struct dual *dual, uint32_t n, uint32_t r)
{
    for (uint32_t i = 0; i < 2 * (n - r - 1); i++) {
        write_forward(dual, 0);
    }
    for (uint32_t i = 0; i < r + 1; i++) {
        write_forward(dual, 0);
        write_forward(dual, 1);
    }
    for (uint32_t i = 0; i < n - r - 1; i++) {
        write_backward(dual, 1, true);
        write_weights(dual);
        write_forward(dual, 1);
    }
}

/* Steps 4 and 5. */
static void overlap(struct dual *dual, uint32_t n, uint32_t r, uint32_t c)
{
    for (uint32_t i = 0; i < c - 2 * n + r + 1; i++) {
        if (i == 0 && r + 1 == n) {
            write_forward(dual, 0);
            write_backward(dual, 1, false);
        } else {
            write_pair(dual, 0, 1);
        }
        write_pair(dual, 1, 0);
    }
    for (uint32_t i = 0; i < n - r - 1; i++) {
        write_backward(dual, 1, false);
        write_pair(dual, 1, 0);
    }
}

/* Steps 6 to 8: of the 2(r+1) backwards of step 6 the last r + 1 keep their weights back. */
static void drain(struct dual *dual, uint32_t n, uint32_t r)
{
    for (uint32_t i = 0; i < 2 * (r + 1); i++) {
        write_backward(dual, 1 - i % 2, i >= r + 1);
    }
    for (uint32_t i = 0; i < n - r - 1; i++) {
        write_weights(dual);
        write_backward(dual, 0, true);
    }
    for (uint32_t i = 0; i < r + 1; i++) {
        write_weights(dual);
    }
}

static void write_all(struct dual *dual, uint32_t n, uint32_t r, uint32_t c)
{
    sim_assert(r < n && c >= 2 * n);
    fill(dual, n, r);
    overlap(dual, n, r, c);
    drain(dual, n, r);
}

void schedule_generate_dualpipe(struct schedule_writer *writer, const struct schedule_shape *shape,
                                uint32_t stage)
{
    const uint32_t n = shape->stages / 2;
    const uint32_t c = shape->microbatches / 2;
    const uint32_t near = stage < n ? 0 : 1;
    struct dual dual = {
        .writer = writer, .chunks = {near, 1 - near}, .first = {near * c, (1 - near) * c}};
    write_all(&dual, n, near == 0 ? stage : shape->stages - 1 - stage, c);
}

void schedule_generate_dualpipev(struct schedule_writer *writer, const struct schedule_shape *shape,
                                 uint32_t stage)
{
    struct dual dual = {.writer = writer, .chunks = {0, 1}};
    write_all(&dual, shape->stages, stage, shape->microbatches);
}
