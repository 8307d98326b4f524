/* A launch queue (train/launch_queue) that remembers what was launched in *spans*, those of a
 * block of a program each, and so can take a span that comes again without going through its
 * bursts.
 *
 * Of a span of m bursts let D(i) be what the first i of them give the lead (work less host's
 * time), h(i) the host's time for them, n(i) their launches. If none of them waits, the lead after
 * the i-th is, with `tail(x)` the work of the last x launches before the span,
 *
 *     lead(i) = D(i) + min(lead(0), e(1), ..., e(i)),    e(k) = h(k) + tail(depth - n(k)),
 *
 * e(k) being what the queue's depth allows after burst k (where n(k) >= depth it is the span's
 * own). So none of them waits exactly if, with q(i) = deficit(i) - D(i - 1),
 *
 *     lead(0) >= max over i of q(i)    and    e(k) >= max over i > k of q(i)  for each k,
 *
 * and lead(m) >= D(m) + min(lead(0), the least h(k)). What is demanded here may be asked of a lower
 * bound of the lead and of the tail: the queue is monotone, more lead and more work pending never
 * make a wait longer. A span that is known not to wait is noted, and the lead from then on is a
 * bound (`is_exact` false), until a burst comes that the bound cannot decide: then all since the
 * last exact lead is gone through.
 *
 * A span that waits is decided by equal state. Its waits and its last lead follow from the lead it
 * finds (not even from that if it begins with a drain) and from the last `depth` launches before it
 * (not even from these if, as long as the window reaches there, no lead is above the work of the
 * span so far: a larger window would not cut it either).
 */
#ifndef TRAIN_LAUNCH_HISTORY_H
#define TRAIN_LAUNCH_HISTORY_H

#include "base/check.h"
#include "train/launch_queue.h"

#include <stdbool.h>
#include <stddef.h>

/* Bursts in order; one without launches is a drain. */
struct launch_span {
    const struct launch_burst *bursts;
    uint32_t count;
    bool drains;      /* there is a drain in it */
    int64_t launches; /* sums */
    int64_t work_ns, gain_ns;
    /* Where none waits: the lead that this takes, and the work of the last `tail_launches` before
     * it; then, what the lead is held to by the depth, less the gain. */
    int64_t lead_ns;
    int64_t tail_launches, tail_ns;
    int64_t held_ns;
};

/* All spans of a job's programs, each once: equal pointers, equal bursts. */
struct launch_spans {
    const struct launch_span **items;
    size_t count, capacity;
};

/* How a span went, and under which circumstances it goes like that again. */
struct launch_passage {
    const struct launch_span *span;
    int64_t wait_ns;
    bool is_exact;     /* its first lead was known, and so is its last one */
    bool is_lead_free; /* whatever the lead */
    bool is_tail_free; /* whatever was launched before */
    int64_t first_lead_ns, last_lead_ns;
    const struct launch_span *const *before; /* spans that hold the last `depth` launches, or all */
    uint32_t before_count;
    bool before_is_all;
};

/* How a part of a span went. */
struct launch_part {
    const struct launch_span *span;
    bool is_exact; /* the leads are; and of its beginning and end */
    int64_t first_lead_ns, last_lead_ns;
    int64_t wait_ns;
    int64_t excess_ns; /* how much more than the part's work so far the lead was, at most */
};

struct launch_history {
    struct arena *arena;
    struct launch_spans *spans;
    struct launch_queue queue;         /* its ring is right where has_ring */
    const struct launch_span **passed; /* in order */
    size_t passed_count, passed_capacity;
    size_t known_count;    /* so many spans ago ... */
    int64_t known_lead_ns; /* ... the lead was exactly this */
    bool is_exact;         /* queue.lead_ns; else it is a lower bound */
    bool has_ring;
    /* the span being gone through */
    struct launch_burst *open;
    size_t open_count, open_capacity;
    struct launch_passage passage;
    int64_t host_ns, gain_ns, held_ns;
    int64_t recent_launches, recent_ns; /* since its beginning, or the last drain in it */
    /* the part being gone through: where it began, and how */
    struct launch_part part;
    size_t part_first;
    int64_t part_recent_ns, part_wait_ns;
    bool is_part_cut;
};

/* `depth` as in launch_queue_init. */
void launch_history_init(struct launch_history *history, struct arena *arena,
                         struct launch_spans *spans, int64_t depth);

/* Begins anew, so far ahead that nothing waits for its launch but what comes behind a drain, or
 * `depth` launches later: the least that a part of a program waits, whatever was before it. */
void launch_history_run_ahead(struct launch_history *history);

/* Burst by burst, in a span from the end of the last one on: what the GPU waits for launches of the
 * burst that comes next; and that the host has waited until the GPU was idle. */
int64_t launch_history_wait(struct launch_history *history, const struct launch_burst *burst);
void launch_history_drain(struct launch_history *history);
struct launch_passage launch_history_end_span(struct launch_history *history);

/* A part of the open span, as it went between these two; false of a part in which a drain was, or
 * in which the depth cut the lead. */
void launch_history_begin_part(struct launch_history *history);
MUST_USE bool launch_history_end_part(struct launch_history *history, struct launch_part *part);
/* Such a part again, at once: false if it is not sure to go like that, and then nothing is done. */
bool launch_history_skip(struct launch_history *history, const struct launch_part *part);

/* A span at once, between two others: false if it is not sure to go as in that passage, and then
 * nothing is done. */
bool launch_history_pass(struct launch_history *history, const struct launch_passage *passage);

#endif
