/* The layouts that a search looks through: an axis for each key of the scenario's `search:`.
 *
 *     search: {parallel.tp: [1, 2, 4, 8], parallel.pp: 1..16, batch.micro: all,
 *              recompute: [none, full, {layers: 1..8}, {modules: [norm, activation]}]}
 *
 * Paths may be dotted or nested, as in sweep:, and --set search.batch.micro=1..4 says it from the
 * command line. A value is what the key takes; a..b stands for the whole numbers from a to b; `all`
 * for every value with which sizes may go together. An axis that is not named has all, but for
 * those from SEARCH_STAYING on, which stay as the scenario says: they would make a space of
 * millions of layouts several times as large, and a search names them when it says what it is about
 * (search_space_staying).
 *
 * A layout is a point of the product of the axes whose sizes go together (input/relayout). Those
 * whose result is another's by construction are counted once:
 *   - interleaved with one chunk a stage is 1f1b; other schedules have chunks of their own, so that
 *     virtual stages are an axis of interleaved alone;
 *   - without a pipeline there is nothing to schedule: 1f1b, or what is named first, is for all;
 *   - with tp 1 there is nothing to cut along the sequence;
 *   - in a pipeline gradients stay whole whatever the stage (plan/memory): zero 2 is zero 1;
 *   - as many layers as the largest chunk has are all of them: recompute full;
 *   - an etp that is not said follows tp, and is the etp of that number; so with what else follows
 *     from others or is as the scenario has it: what a layout would not change is not said;
 *   - cp_type is nothing with cp 1, a zero_group with zero 0, reshard below zero 3,
 *     microbatch_group but with interleaved, overlap_experts but with ep above 1, on 1f1b or
 *     interleaved;
 *   - an order of the mesh is another's where both lay out the same ranks
 *     (input/job/parallel_order).
 *
 * Layouts that the software's release has not are left out (study/search/search_software).
 *
 * A *line* has all in common but what is computed again and how many layers' activations go to the
 * host: these are counted off, tried and left out together (study/search).
 */
#ifndef STUDY_SEARCH_SEARCH_SPACE_H
#define STUDY_SEARCH_SEARCH_SPACE_H

#include "input/features/features.h"
#include "input/relayout.h"

struct arena;
struct diag;
struct doc_node;

enum search_axis {
    SEARCH_TP,
    SEARCH_CP,
    SEARCH_EP,
    SEARCH_ETP,
    SEARCH_PP,
    SEARCH_VIRTUAL_STAGES,
    SEARCH_SCHEDULE,
    SEARCH_ZERO,
    SEARCH_SEQUENCE_PARALLEL,
    SEARCH_MICRO,
    SEARCH_RECOMPUTE,
    SEARCH_STAYING, /* what follows stays as the scenario says, unless it is named */
    SEARCH_CP_TYPE = SEARCH_STAYING,
    SEARCH_LAYERS,
    SEARCH_ZERO_GROUP,
    SEARCH_MICROBATCH_GROUP,
    SEARCH_RESHARD,
    SEARCH_OVERLAP_EXPERTS,
    SEARCH_ORDER,
    SEARCH_OFFLOAD_OPTIMIZER,
    SEARCH_OFFLOAD_LAYERS,
    SEARCH_AXIS_COUNT_
};
extern const char *const search_axis_paths[SEARCH_AXIS_COUNT_]; /* "parallel.tp" */
/* "tp": the last word of a path. */
const char *search_axis_word(const char *path);

/* In the order in which they are written, each once; of `all` those that may divide, rising. */
struct search_values {
    double *items;
    uint32_t count;
    bool is_all;
};

struct search_space {
    const struct scenario *base;
    /* RECOMPUTE: number of recomputes. ETP: 0 is as tp; of what stays 0 is as the scenario has it,
     * and of words 1 more than their number. LAYERS: 0 as they are, 1 balanced. */
    struct search_values axes[SEARCH_AXIS_COUNT_];
    /* What may be computed again: of each kind once. Full by itself is of all layers. */
    struct recompute *recomputes;
    uint32_t recompute_count;
    bool has_every_count;       /* of layers, from 1 */
    bool has_written_etp;       /* by the base: one that follows tp has to be said, too */
    struct feature_set allowed; /* what layouts may use (study/search/search_software) */
};

/* Of the base, for who need not know of scenarios: its model, and whether it trains tokens. */
const struct model *search_space_model(const struct search_space *space);
bool search_space_has_tokens(const struct search_space *space);

/* Reads `search:` of the document, which may have none: then every axis has all. The base is the
 * scenario so resolved. An input error: an axis that there is not or that has no values, a value
 * that the key does not take. */
MUST_USE bool search_space_read(struct arena *arena, const struct doc_node *document,
                                const struct scenario *base, struct search_space *space,
                                struct diag *diag);

/* The space of a scenario of which only some axes are free (study/search/search_auto): the others
 * are as the base has them, whatever `search:` says of them. Of a free one it may be named there,
 * else it has its usual values, in which a search takes seconds:
 *   - tp: of a scale-up domain's GPUs, at most USUAL_TP_MAX; cp: so that a GPU keeps USUAL_TOKENS
 *     of a sequence; micro: 1, 2, 4;
 *   - schedules 1f1b and interleaved; zero 1 and 3; recompute none, selective (and what of it the
 *     software has), full;
 *   - etp: as tp, and 1 (whole experts); cp_type: those that the software has; stages: even and
 *     balanced; overlap_experts, the order tp-cp-ep-pp-dp, a zero_group of a scale-up domain and
 *     groups of 4, 8, ... to USUAL_GROUP_MAX microbatches: where the software says that it has
 *     them, too; reshard: all;
 *   - ep, pp, virtual stages, sequence parallelism: all.
 */
enum { USUAL_TP_MAX = 64, USUAL_TOKENS = 4096, USUAL_GROUP_MAX = 64 };
MUST_USE bool search_space_of_free(struct arena *arena, const struct doc_node *document,
                                   const struct scenario *base,
                                   const bool is_free[SEARCH_AXIS_COUNT_],
                                   struct search_space *space, struct diag *diag);
/* Of which all axes are free that are usual. */
MUST_USE bool search_space_usual(struct arena *arena, const struct doc_node *document,
                                 const struct scenario *base, struct search_space *space,
                                 struct diag *diag);

/* The values of an axis that divide the GPUs: a range may have many that do not, and loops over
 * three of them would not end. */
struct search_values search_axis_dividing(struct arena *arena, const struct search_space *space,
                                          enum search_axis axis);

/* How many families shards share; some have no layouts. */
uint32_t search_family_count(const struct search_space *space);

/* About how many lines a space has: the product of the axes that tell them apart. */
double search_space_lines(const struct search_space *space);

/* A part of a space in which a good layout is soon found: all degrees, but of other axes few. Every
 * layout of it has a layout of the space that takes as long. */
struct search_space search_space_part(struct arena *arena, const struct search_space *space);

/* Whether an axis is looked through where what is usual is, by each command that does so (new,
 * auto, whatif, sweep --best): the others stay. */
bool search_axis_is_usual(enum search_axis axis);

/* Whether a scenario says the axis, or another key that says the same of it. */
bool search_axis_is_written(const struct scenario *scenario, enum search_axis axis);

/* All orders of the mesh by number (input/job/parallel_order); the base's own, as 0, first. */
enum { SEARCH_ORDERS_MAX = 120 };
uint32_t search_orders_all(const struct scenario *base, double orders[SEARCH_ORDERS_MAX]);

/* Which orders of the axis lay out a layout's ranks otherwise than all before them: layouts have
 * few axes of more than one rank, so most orders are another's. */
void search_orders_new(const struct search_space *space, const struct relayout *layout,
                       bool is_new[]);
/* What of FEATURES_OPTIONS the order of a layout is. */
uint32_t search_order_uses(const struct search_space *space, const struct relayout *layout);
const char *search_order_text(struct arena *arena, double value);

/* "cp_type ring, zero_group all": axes that stay and would have had a choice; NULL: none. */
const char *search_space_staying(struct arena *arena, const struct search_space *space);

/* Whether an axis has at most one value, so that layouts need not name it. */
bool search_axis_is_fixed(const struct search_space *space, enum search_axis axis);

/* What `stoker run --set` takes for an axis of a layout: "parallel.tp=8". NULL: nothing need be
 * said, the key follows from others as it does where it is not written. */
const char *search_layout_set(struct arena *arena, const struct relayout *layout,
                              enum search_axis axis);

/* Of all axes, in their order. */
struct search_sets {
    const char *items[SEARCH_AXIS_COUNT_];
    uint32_t count;
    const char *of[SEARCH_AXIS_COUNT_];     /* by axis; NULL: nothing need be said */
    const char *values[SEARCH_AXIS_COUNT_]; /* by axis, also of those */
};
struct search_sets search_layout_sets(struct arena *arena, const struct relayout *layout);

/* The etp of a layout with that value of the axis; 0: it follows tp, and nobody says so. */
int64_t search_etp_of(const struct search_space *space, int64_t value, int64_t tp);

/* The value of an axis in words: "8", "interleaved", "{layers: 4}". */
const char *search_layout_value(struct arena *arena, const struct relayout *layout,
                                enum search_axis axis);

/* The layout in words: the axes that are not fixed, "tp 8, pp 16, micro 2, recompute full". */
const char *search_layout_label(struct arena *arena, const struct search_space *space,
                                const struct relayout *layout);

#endif
