/* What engine_stretch.c, engine_stretch_find.c and engine_together.c share of stretches (tasks that
 * an actor does by itself, simulated as one event), and nobody else includes. Tasks are counted
 * from the beginning of their block, unless they are said to be the program's. */
#ifndef DES_ENGINE_STRETCH_STATE_H
#define DES_ENGINE_STRETCH_STATE_H

#include "des/engine_state.h"

enum { STRETCH_SPEEDS_MAX = 16 };

/* What a collective takes on the channel of an actor. */
struct meeting_cost {
    uint32_t stream; /* for which the rest was found; 0: none yet */
    sim_time takes_ns, alone_ns;
    int64_t bytes;
};

/* A collective next to a task of stream 0: between it and the one before, or beside that. */
struct next_to {
    uint16_t stream; /* 0: there is none */
    bool is_beside;
    uint32_t number; /* of its stream's tasks */
    sim_time takes_ns;
    sim_time alone_ns; /* as in engine_traffic */
    int64_t bytes;
};

/* What the tasks of a block take one after the other at one interference, each with what is between
 * it and the one before: sums over those before task i of stream 0. */
struct stretch_sums {
    uint32_t interference;
    uint32_t cause_count;
    uint8_t causes[ENGINE_CAUSES_MAX];
    sim_time *ends;            /* [i] */
    int64_t *books;            /* [i][cause_count] */
    struct stretch_sums *next; /* of the same block, at another interference */
};

/* What lies next to a task, whatever it takes. */
struct known_meeting {
    uint32_t number;
    uint16_t stream;
    bool is_beside;
};

/* A stretch, whatever it takes. */
struct known_stretch {
    uint32_t end;  /* the first task after it, counted in its block */
    uint32_t kind; /* those of one take the same, under the same causes */
    uint32_t meeting_first[STRETCH_STREAMS_MAX];
};

/* Of a block, by task of stream 0. */
struct known_block {
    struct known_meeting *next_to;          /* NULL: nobody came to the block yet */
    const struct known_stretch **stretches; /* that begin with it; NULL: not known yet */
};

/* The first stretch of a kind. */
struct known_kind {
    uint32_t block; /* by number */
    uint32_t first, count;
};

/* Of tables of which collectives of the same streams can be parts of stretches. */
struct known_table {
    struct arena *arena;
    uint32_t parts; /* these, as bits */
    struct known_block *blocks;
    struct known_kind *kinds;
    size_t kind_capacity;
    uint32_t kind_count;
    struct known_table *next;
};

/* Of all programs of a system (engine_known.h). */
struct known_programs {
    struct arena *arena; /* of all that is known of them */
    uint32_t streams;    /* that were asked for (engine_waiters_count) */
    uint32_t count;
    const uint64_t *numbers;
    const struct engine_block_facts *facts; /* NULL: not yet */
    struct known_table *tables;
    struct known_programs *next;
};

/* The stretches of a block, for the actors of a table. */
struct stretch_block {
    const struct engine_block *block;
    struct known_block *known;
    const struct engine_block_facts *facts;
    struct stretch_table *table;
    /* By the task of stream 0 that begins it: one for each speed of the table; NULL: nobody came
     * there yet. */
    struct stretch **found;
    struct next_to *next_to;   /* what each task of stream 0 waits for; one more, for none */
    struct stretch_sums *sums; /* at each interference that somebody came to */
};

/* Of actors to whom the same stretches take the same; or of those who meet in channels alike, and
 * are not of one class. */
struct stretch_table {
    uint32_t example;  /* one of them */
    uint32_t parts;    /* streams, as bits, whose collectives can be parts of their stretches */
    uint32_t together; /* the stream in which they meet; 0: each goes by itself */
    uint32_t speed_count;
    const uint32_t *speeds;       /* of those who meet, each once, in ascending order */
    struct stretch_block *blocks; /* by number; not begun: its block is NULL */
    struct known_table *known;
    struct stretch **of_kind; /* [known->kind_count or less]: the first of each; NULL: not yet */
    size_t kind_capacity;
    struct meeting_cost *costs; /* by transfer */
};

struct engine_stretches {
    struct arena *arena;
    bool *is_own;       /* by channel: its transfers can be parts of stretches */
    bool *can_together; /* by channel: so can they be of those who are not of one class */
    bool *is_whole;     /* by program: a step begins with a block */
    struct engine_blocks blocks;
    const struct engine_block_facts *facts; /* by number of block */
    struct known_programs *known;           /* of this run alone, if nobody keeps it */
    struct stretch_table **tables;
    size_t table_count, table_capacity;
    uint32_t *table_of;          /* by actor; ENGINE_NONE: it has no stretches of its own */
    uint32_t *table_of_together; /* by channel; ENGINE_NONE: nobody goes together in it */
    struct stretch no_stretch;
};

/* A task of stream 0 as it goes: its work is done at one rate while a collective is beside it, at
 * another one after that. */
struct pass {
    const struct task *task;
    const struct next_to *beside;
    uint32_t speed;
    uint32_t rate_beside, rate;
    sim_time begun;
    sim_time beside_start; /* when all were there for that; begun, if nothing is beside it */
    sim_time beside_end;
};

static const struct next_to next_to_none = {0};

static inline const struct next_to *engine_between(const struct stretch_block *in, uint32_t number)
{
    const struct next_to *meeting = &in->next_to[number];
    return meeting->is_beside ? &next_to_none : meeting;
}

static inline const struct next_to *engine_beside(const struct stretch_block *in, uint32_t number)
{
    const struct next_to *meeting = &in->next_to[number + 1];
    return meeting->is_beside ? meeting : &next_to_none;
}

static inline sim_time engine_later(sim_time a, sim_time b)
{
    return a > b ? a : b;
}

/* ---- engine_known.c -------------------------------------------------------------------------- */

/* What is known of a system's programs: nothing yet, and the arena's, where nobody keeps it. */
struct known_programs *engine_known_find(struct arena *arena, const struct engine_system *system,
                                         uint32_t streams);

struct known_table *engine_known_table(struct known_programs *programs, uint32_t parts,
                                       uint32_t block_count);

/* ---- engine_stretch.c ------------------------------------------------------------------------ */

/* A new table, the last one of all; the caller sets what is its own. `parts`: by bit, the streams
 * whose collectives can be parts of its stretches. */
struct stretch_table *engine_stretch_add_table(struct engine_stretches *stretches, uint32_t example,
                                               uint32_t parts);

/* Whether transfers take as long on both, whatever else goes on. */
bool engine_stretch_is_like(const struct engine *engine, uint32_t a, uint32_t b);

/* Nobody else can slow the channel's transfers down. */
static inline bool engine_stretch_is_direct(const struct engine *engine,
                                            const struct engine_channel *channel)
{
    for (uint32_t i = 0; i < channel->path_count; i++) {
        if (!engine->paths[channel->path_first + i].is_direct) {
            return false;
        }
    }
    return true;
}

/* ---- engine_together.c ----------------------------------------------------------------------- */

/* Whether those who meet in a channel can go together. */
bool engine_together_can(const struct engine *engine, uint32_t number);
void engine_together_build(struct engine *engine);

/* The stretch that begins with a task of the block at that place, of an actor that goes together
 * with others now; NULL: none. */
const struct stretch *engine_together_at(const struct engine *engine, uint32_t index,
                                         uint32_t place, uint32_t number);

/* ---- engine_stretch_find.c ------------------------------------------------------------------- */

/* A task at its rates, not begun yet. */
struct pass engine_pass_of(const struct engine *engine, const struct stretch_block *in,
                           uint32_t number, uint32_t speed, uint32_t interference);

/* It begins; what is beside it, if anything is, when all are there for it. */
static inline void engine_pass_begin(struct pass *pass, sim_time begun, sim_time beside_start)
{
    pass->begun = begun;
    pass->beside_start = beside_start;
    pass->beside_end = beside_start + pass->beside->takes_ns;
}

sim_time engine_pass_work_end(const struct pass *pass, sim_time from, int64_t remaining);

/* What is left of the work at `now`, before its end. */
int64_t engine_pass_work_left(const struct pass *pass, sim_time from, sim_time now,
                              int64_t remaining);

/* Books the work, which ends then; and the wait for the collective beside it. */
void engine_pass_book_work(const struct engine *engine, const struct pass *pass, sim_time end,
                           int64_t books[ENGINE_CAUSES_MAX]);
void engine_pass_book_wait(const struct engine *engine, const struct pass *pass, sim_time end,
                           int64_t books[ENGINE_CAUSES_MAX]);

/* ---- engine_stretch_sums.c ------------------------------------------------------------------- */

/* Of a block whose table has one speed. */
const struct stretch_sums *engine_stretch_sums(const struct engine *engine,
                                               struct stretch_block *in, uint32_t interference);

/* Books tasks `first` to `end` - 1, and what is between them and the ones before. */
void engine_stretch_book(const struct stretch_sums *sums, uint32_t first, uint32_t end,
                         int64_t books[ENGINE_CAUSES_MAX]);

/* ---- engine_stretch_find.c: the table -------------------------------------------------------- */

/* The block at a place of an actor's program, with the stretches of a table. */
struct stretch_block *engine_stretch_block(const struct engine *engine, struct stretch_table *table,
                                           uint32_t index, uint32_t place);

/* That which begins with a task of the block, one for each speed of the table; NULL: none. */
const struct stretch *engine_stretch_found(const struct engine *engine,
                                           const struct stretch_block *in, uint32_t number);

#endif
