/* The same scenario, laid out otherwise: for who tries many layouts of one model on one cluster.
 *
 *     struct relayout_frame frame;
 *     relayout_frame_init(scenario, &frame);               // once: what the file says of a layout
 *     struct relayout layout = relayout_of(scenario);
 *     layout.tp = 4;
 *     struct scenario changed;
 *     if (scenario_relayout(arena, &frame, &layout, &changed, diag)) ...
 *
 * It is what scenario_resolve gives when these keys are set (parallel.tp, batch.micro, ...), at a
 * hundredth of the cost: no text is read or made. What the file leaves to others still follows from
 * them: states are sharded over all replicas, dp takes the GPUs that are left. What it says stays
 * said (layers_per_stage, zero_group), and may be why a layout cannot be.
 *
 * The changed scenario borrows all of the base that it does not change: the base outlives it. It
 * has the base's document, for places in messages, and no text (resolved_text NULL), hence no key:
 * it can be simulated, not stored. Its assumptions are the base's.
 */
#ifndef INPUT_RELAYOUT_H
#define INPUT_RELAYOUT_H

#include "base/check.h"
#include "input/extent.h"
#include "input/job/optimizer.h"
#include "input/job/parallel.h"

struct scenario;

/* What stays of a scenario, whatever its layout. */
struct relayout_frame {
    const struct scenario *base;
    int64_t dp, zero_group, zero_local_group, microbatch_group; /* 0: not written */
    struct extent_machine machine;
};

void relayout_frame_init(const struct scenario *base, struct relayout_frame *frame);

/* A layout. Each member is as the key of its name, and bound to what that may be. */
struct relayout {
    int64_t tp, cp, pp, ep;
    int64_t etp;      /* 0: as tp */
    uint32_t context; /* 1 + enum context_kind; 0: as the base */
    uint32_t reshard; /* 1 + enum reshard_kind; 0: as the base, and without zero 3 as usual */
    uint32_t overlap; /* of experts: 1 no, 2 yes; 0: as the base, where there is any */
    uint32_t order;   /* of the mesh, a number (input/job/parallel_order); 0: as the base */
    int64_t zero_group, microbatch_group; /* 0: as the base */
    int64_t ends[2]; /* layers of the first stage and the last; 0: as the base lays them out */
    int64_t layers;  /* of the model, with `ends` */
    int64_t virtual_stages; /* 1 with interleaved: 1f1b */
    uint32_t schedule;      /* enum schedule_kind; SCHEDULE_FILE: the base's */
    int64_t zero;
    int64_t micro;
    bool is_sequence_parallel;  /* no matter with tp 1 */
    struct recompute recompute; /* of SELECTIVE without modules: the usual ones */
    struct offload offload;
};

/* The layout that a scenario has. */
struct relayout relayout_of(const struct scenario *scenario);

/* False when the sizes do not go together; the reason is in `diag`, without the nearest that do. */
MUST_USE bool scenario_relayout(struct arena *arena, const struct relayout_frame *frame,
                                const struct relayout *layout, struct scenario *changed,
                                struct diag *diag);

/* The same over a copy of the base, or over what an earlier call for the frame left, of which
 * nothing is needed any more: what layouts do not differ in, nearly all of it, is not copied. */
MUST_USE bool scenario_relayout_again(struct arena *arena, const struct relayout_frame *frame,
                                      const struct relayout *layout, struct scenario *changed,
                                      struct diag *diag);

/* As relayout_has_degrees, with sequences cut along tp or not as the layout says. */
MUST_USE bool relayout_has_cuts(struct arena *arena, const struct relayout_frame *frame,
                                const struct relayout *layout, struct scenario *changed,
                                struct diag *diag);

/* Whether the degrees of a layout, and its zero_group, can be, with whatever else it has: false
 * where no schedule, no ZeRO and no microbatch goes with them. `changed` is scratch, as for
 * scenario_relayout_again. */
MUST_USE bool relayout_has_degrees(struct arena *arena, const struct relayout_frame *frame,
                                   const struct relayout *layout, struct scenario *changed,
                                   struct diag *diag);

#endif
