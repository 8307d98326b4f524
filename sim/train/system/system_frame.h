/* A cache of what systems of one study have in common: where a job lies on its cluster, and what
 * its collectives take and cross there.
 *
 * Layouts that differ in what is recomputed, in the schedule, in the batch or in what is offloaded
 * lie on the same GPUs in the same groups. Of these a *frame* holds what was worked out:
 *
 * | what                                | follows from, so keyed by                              |
 * |-------------------------------------|--------------------------------------------------------|
 * | fabric, turns, shapes of groups     | cluster, library, GPU, software and model (by number,  |
 * |                                     | train/step_memo), GPUs, seed, mesh, layout of groups,  |
 * |                                     | where tokens go, forced algorithms                     |
 * | quotes of transfers                 | these, the group, and what is asked for                |
 * | a *variant*: channels, routes,      | these, the patterns of each stream, which stages talk  |
 * | links, and the folded system        | to the next and how, which use storage and host links; |
 * |                                     | whether channels of each stage's first GPU are enough  |
 *
 * Keys are compared byte by byte, texts and places apart, which nothing here looks at. A frame is
 * of systems that turn (train/quotient) of one job without slow GPUs, checkpoints and loaders;
 * others are built anew, and so are programs, each time.
 *
 * A few frames are kept, the latest asked for, each up to some megabytes: one that has grown beyond
 * is not found any more. What a step's system points to in a frame is there until the next step
 * asks for a frame. What is kept is what would be built: a frame changes no result.
 */
#ifndef TRAIN_SYSTEM_SYSTEM_FRAME_H
#define TRAIN_SYSTEM_SYSTEM_FRAME_H

#include "base/memo.h"
#include "train/system.h"

struct system_frames;

struct system_frames *system_frames_new(void);
void system_frames_free(struct system_frames *frames); /* NULL is allowed */

/* Gives up frames that are not going to be found again. While no step's system points to them. */
void system_frames_trim(struct system_frames *frames);

/* A system but for its programs and transfers. */
struct system_variant {
    const void *key;
    size_t key_bytes;
    struct engine_system engine;
    const uint32_t *links;
    const struct fold_orbits *orbits;
    struct fabric_route pair;
    bool has_pair;
    const struct folded_system *folded; /* NULL: not yet */
    struct system_variant *next;
};

struct system_frame {
    struct arena *arena; /* of all that is kept in it */
    bool is_filled;      /* else it is the caller's to fill */
    bool is_given_up;    /* not to be found again */
    struct fabric fabric;
    struct fabric_turns turns;
    struct group_shape groups[GROUP_KIND_COUNT_];
    struct transfer_quotes quotes;
    struct system_variant *variants;
    struct memo_count *variants_asked; /* of all frames */
};

/* That of a job on a fabric of so many GPUs; `parts` as in train/step_memo. A new one is empty. */
struct system_frame *system_frames_find(struct system_frames *frames, const struct system_job *job,
                                        uint32_t gpus, uint64_t parts);

/* ---- a system and its frame, system->frame (NULL: it has none) ---------------------------- */

/* Fabric, turns, and groups of the job, as the frame has them; false: they are to be found, in the
 * frame's arena. */
MUST_USE bool system_frame_take(struct step_system *system);
/* And then kept. A system that does not turn has no frame from now on. */
void system_frame_keep(struct step_system *system);

/* Its variant, once its programs and transfers are there, and all of the engine's system that is
 * not these; false: it is to be built, in the frame's arena. */
MUST_USE bool system_variant_take(struct arena *arena, struct step_system *system,
                                  bool is_for_times);
void system_variant_keep(struct step_system *system);

/* How often these were known, and not. */
struct memo_count system_frames_count(const struct system_frames *frames);
struct memo_count system_variants_count(const struct system_frames *frames);

#endif
