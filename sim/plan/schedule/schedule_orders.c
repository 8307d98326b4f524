/* Orders that are a rule per stage.
 *
 * GPipe, 1F1B and interleaved are one order with another warm-up. A stage does n = m * v
 * forwards and as many backwards. It starts with w forwards, goes on with n - w times a forward
 * and a backward, and ends with the w backwards left. The k-th forward of a stage is the same
 * for all: microbatches go in groups of g, and a group passes chunk 0, then chunk 1, ...
 *
 *     g = 2, v = 2, m = 4:  k           0 1 2 3 4 5 6 7
 *                           chunk       0 0 1 1 0 0 1 1
 *                           microbatch  0 1 0 1 2 3 2 3
 *     g = 3, v = 2, m = 5:  k           0 1 2 3 4 5 6 7 8 9
 *                           chunk       0 0 0 1 1 1 0 0 1 1
 *                           microbatch  0 1 2 0 1 2 3 4 3 4
 *
 * The k-th backward is the k-th forward with the chunks mirrored. With v = 1 the groups leave no
 * trace. Narayanan et al. 2021 (arXiv 2104.04473), section 2.2, has g = p; larger groups and the
 * warm-up of the interleaved one are those of Megatron-LM, schedules.py: get_schedule_table (with
 * microbatch_group_size_per_vp_stage) and get_pp_rank_microbatches.
 *
 * ZB-H1 (Qi et al. 2023, section 3) is 1F1B with W apart: stage s keeps s weight gradients
 * waiting, and they fill its last bubbles. (Always taking what is ready, backwards first, loses
 * two chunks from p = 4 on.)
 */
#include "base/check.h"
#include "plan/schedule/schedule_rows.h"

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t total_forwards(const struct schedule_shape *shape)
{
    return (uint64_t)shape->microbatches * shape->chunks;
}

/* The k-th forward, or the k-th backward, of any stage. */
static void write_kth(struct schedule_writer *writer, const struct schedule_shape *shape,
                      enum schedule_operation operation, uint64_t k)
{
    const uint64_t group = schedule_group(shape);
    const uint64_t first = k / (group * shape->chunks) * group; /* microbatch of its group */
    const uint64_t size = smaller(group, shape->microbatches - first);
    const uint64_t within = k - first * shape->chunks;
    const uint64_t chunk = within / size;
    const uint64_t microbatch = first + within % size;
    schedule_write(writer, operation,
                   (uint32_t)(operation == SCHEDULE_FORWARD ? chunk : shape->chunks - 1 - chunk),
                   (uint32_t)microbatch);
}

static void write_after_warm_up(struct schedule_writer *writer, const struct schedule_shape *shape,
                                uint64_t wanted_warm_up)
{
    const uint64_t forwards = total_forwards(shape);
    const uint64_t warm_up = smaller(forwards, wanted_warm_up);
    for (uint64_t k = 0; k < warm_up; k++) {
        write_kth(writer, shape, SCHEDULE_FORWARD, k);
    }
    for (uint64_t k = 0; k < forwards; k++) {
        if (k + warm_up < forwards) {
            write_kth(writer, shape, SCHEDULE_FORWARD, k + warm_up);
        }
        write_kth(writer, shape, SCHEDULE_BACKWARD, k);
    }
}

void schedule_generate_gpipe(struct schedule_writer *writer, const struct schedule_shape *shape,
                             uint32_t stage)
{
    (void)stage;
    write_after_warm_up(writer, shape, total_forwards(shape));
}

void schedule_generate_1f1b(struct schedule_writer *writer, const struct schedule_shape *shape,
                            uint32_t stage)
{
    write_after_warm_up(writer, shape, shape->stages - 1 - stage);
}

void schedule_generate_interleaved(struct schedule_writer *writer,
                                   const struct schedule_shape *shape, uint32_t stage)
{
    const uint64_t later_stages = shape->stages - 1 - stage;
    write_after_warm_up(writer, shape,
                        2 * later_stages + (uint64_t)(shape->chunks - 1) * schedule_group(shape));
}

void schedule_generate_zb_h1(struct schedule_writer *writer, const struct schedule_shape *shape,
                             uint32_t stage)
{
    const uint32_t m = shape->microbatches;
    const uint32_t warm_up = (uint32_t)smaller(m, shape->stages - 1 - stage);
    for (uint32_t k = 0; k < warm_up; k++) {
        schedule_write(writer, SCHEDULE_FORWARD, 0, k);
    }
    for (uint32_t k = 0; k < m; k++) {
        if (k + warm_up < m) {
            schedule_write(writer, SCHEDULE_FORWARD, 0, k + warm_up);
        }
        schedule_write(writer, SCHEDULE_BACKWARD_INPUT, 0, k);
        if (k >= stage) {
            schedule_write(writer, SCHEDULE_WEIGHTS, 0, k - stage);
        }
    }
    for (uint32_t k = m - (uint32_t)smaller(m, stage); k < m; k++) {
        schedule_write(writer, SCHEDULE_WEIGHTS, 0, k);
    }
}
