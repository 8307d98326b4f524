/* The policies that a search tries: an axis for each key below `run` of the scenario's `search:`.
 *
 *     search: {run: {checkpoint: {every: 1 min..60 min, mode: [blocking, async]},
 *                    recovery: {spares: [0, 2 %, 5 %], without_node: all}}}
 *
 * Paths may be dotted or nested, as in sweep:. A value is what the key takes; a..b stands for the
 * whole numbers from a to b, `all` for every word. Keys that are not named stay as the scenario has
 * them, and so does the layout: axes of both are no search.
 *
 * A range of run.checkpoint.every, of two durations, is not listed but searched through: each
 * number of whole steps in it.
 */
#ifndef STUDY_POLICY_POLICY_SPACE_H
#define STUDY_POLICY_POLICY_SPACE_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct diag;
struct doc_node;

enum policy_axis_kind {
    POLICY_EVERY,
    POLICY_MODE,
    POLICY_TO,
    POLICY_DRAIN_EVERY,
    POLICY_SPARES,
    POLICY_WITHOUT_NODE,
    POLICY_BATCH,
    POLICY_AXIS_COUNT_
};
extern const char *const policy_axis_paths[POLICY_AXIS_COUNT_]; /* "run.checkpoint.every" */

struct policy_value {
    const char *text;            /* as `--set` takes it */
    const struct doc_node *node; /* where it is written; NULL: it is one of `all` */
};

struct policy_axis {
    enum policy_axis_kind kind;
    struct policy_value *values; /* in the order in which they are written, each once */
    uint32_t count;
};

struct policy_space {
    struct policy_axis axes[POLICY_AXIS_COUNT_]; /* those that are named, in the order of kinds */
    uint32_t axis_count;
    double every_least_s, every_most_s; /* of a range; 0: there is none */
    const struct doc_node *range;       /* where it is written; NULL */
};

/* Whether `search:` names a key of the run. */
bool policy_is_asked(struct arena *arena, const struct doc_node *document);

/* A copy of the document whose `search:` has only the axes of the run, or only the others; without
 * any it has none. */
struct doc_node *policy_part(struct arena *arena, const struct doc_node *document, bool of_run);

/* Reads `search:` of the document, which names one. An input error: an axis of a layout, one
 * without values or named twice, a value that the key does not take. */
MUST_USE bool policy_space_read(struct arena *arena, const struct doc_node *document,
                                struct policy_space *space, struct diag *diag);

/* Products of what is listed, without the range; UINT64_MAX: more than can be counted. */
uint64_t policy_space_count(const struct policy_space *space);

/* A warning for each --set of a key that is searched: it would change nothing. */
void policy_space_warn(const struct policy_space *space, const char *const *sets, uint32_t count,
                       struct diag *diag);

#endif
