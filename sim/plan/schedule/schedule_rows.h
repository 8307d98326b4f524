/* Inside plan/schedule/schedule: the table of kinds and the generators of orders. */
#ifndef PLAN_SCHEDULE_SCHEDULE_ROWS_H
#define PLAN_SCHEDULE_SCHEDULE_ROWS_H

#include "plan/schedule/schedule.h"

/* An order being written. */
struct schedule_writer {
    struct arena *arena;
    struct schedule_action *actions; /* room for a forward, a B and a W of each microbatch */
    uint64_t count, capacity;
};

void schedule_write(struct schedule_writer *writer, enum schedule_operation operation,
                    uint32_t chunk, uint32_t microbatch);
void schedule_write_pair(struct schedule_writer *writer, uint32_t chunk, uint32_t microbatch,
                         uint32_t backward_chunk, uint32_t backward_microbatch);

/* Microbatches that pass a chunk before the next chunk's turn. */
uint32_t schedule_group(const struct schedule_shape *shape);

typedef void schedule_generator(struct schedule_writer *writer, const struct schedule_shape *shape,
                                uint32_t stage);

schedule_generator schedule_generate_gpipe, schedule_generate_1f1b, schedule_generate_interleaved,
    schedule_generate_zb_h1, schedule_generate_zb_h2, schedule_generate_zb_v,
    schedule_generate_dualpipe, schedule_generate_dualpipev;

/* How a microbatch goes through the chunks; input/layout says which pieces these are. */
enum schedule_way {
    WAY_LOOP, /* through chunk 0 of every stage, then through chunk 1, ... */
    WAY_VEE,  /* forth through chunk 0, back through chunk 1 */
    WAY_DUAL, /* the first half forth through chunk 0, the second back through chunk 1 */
    WAY_FILE  /* as the pieces of the file lie */
};

struct schedule_row {
    schedule_generator *generate; /* NULL: the order is data */
    enum schedule_way way;
    bool splits_weights;
    bool (*is_possible)(const struct schedule_shape *shape);
    /* The bubble, or of zb-h2 and zb-v the span's; NaN outside its range. NULL: no closed form. */
    double (*idle)(const struct schedule_shape *shape, const struct schedule_costs *costs,
                   struct ledger *ledger);
};

/* The row of a shape, which must be possible. */
const struct schedule_row *schedule_row_of(const struct schedule_shape *shape);

#endif
