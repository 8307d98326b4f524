/* The ring of the queue is filled from the spans when it is needed: O(depth). The lead is made
 * exact by going through all bursts since it last was: each burst is gone through at most twice.
 */
#include "train/launch_history.h"

#include "base/arena.h"
#include "base/check.h"

#include <string.h>

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void begin_span(struct launch_history *history)
{
    history->open_count = 0;
    history->recent_launches = 0;
    history->recent_ns = 0;
    history->gain_ns = 0;
    history->host_ns = 0;
    history->held_ns = INT64_MAX;
    history->passage = (struct launch_passage){.is_exact = history->is_exact,
                                               .is_tail_free = true,
                                               .first_lead_ns = history->queue.lead_ns};
}

void launch_history_init(struct launch_history *history, struct arena *arena,
                         struct launch_spans *spans, int64_t depth)
{
    *history = (struct launch_history){.arena = arena, .spans = spans, .is_exact = true};
    launch_queue_init(&history->queue, arena, depth);
    begin_span(history);
}

/* ---- burst by burst ----------------------------------------------------------------------- */

/* How many of the spans passed the window reaches at the beginning of the next one. */
static size_t window_of(const struct launch_history *history)
{
    int64_t launches = 0;
    size_t first = history->passed_count;
    while (first > 0 && launches < history->queue.depth) {
        launches += history->passed[--first]->launches;
    }
    return history->passed_count - first;
}

static void note(struct launch_history *history, const struct launch_burst *burst)
{
    if (history->open_count == history->open_capacity) {
        history->open = arena_grow(history->arena, history->open, &history->open_capacity,
                                   history->open_count + 1, sizeof *history->open);
    }
    history->open[history->open_count++] = *burst;
}

/* From the open span and those passed, the newest first. */
static void fill_ring(struct launch_history *history)
{
    struct launch_queue *queue = &history->queue;
    launch_queue_forget(queue);
    bool reaches = launch_queue_remember_older(queue, history->open, history->open_count);
    for (size_t i = history->passed_count; reaches && i-- > 0;) {
        const struct launch_span *span = history->passed[i];
        reaches = (!span->drains && launch_queue_remember_whole(queue, span->bursts, span->count,
                                                                span->launches, span->work_ns)) ||
                  launch_queue_remember_older(queue, span->bursts, span->count);
    }
    history->has_ring = true;
}

/* Whether the depth may cut the lead: not as long as what was launched since the last drain, or
 * since the span began, fits into the window and is all the work that the lead could be of. */
static bool is_held(const struct launch_history *history, int64_t lead_ns)
{
    return history->recent_launches >= history->queue.depth || lead_ns > history->recent_ns;
}

/* One more of the open span. */
static int64_t step(struct launch_history *history, const struct launch_burst *burst)
{
    struct launch_queue *queue = &history->queue;
    const int64_t wait_ns = larger(0, burst->deficit_ns - queue->lead_ns);
    queue->lead_ns += wait_ns + burst->work_ns - burst->host_ns;
    sim_assert(queue->lead_ns >= 0);
    history->passage.wait_ns += wait_ns;
    history->gain_ns += burst->work_ns - burst->host_ns;
    history->host_ns += burst->host_ns;
    history->recent_launches += burst->launches;
    history->recent_ns += burst->work_ns;
    const bool reaches_before = history->recent_launches < queue->depth;
    const bool held = is_held(history, queue->lead_ns);
    if (held && !history->has_ring) {
        fill_ring(history);
    }
    note(history, burst);
    if (history->has_ring) {
        launch_queue_remember(queue, burst);
    }
    if (held) {
        queue->lead_ns = smaller(queue->lead_ns, launch_queue_pending_ns(queue));
        history->passage.is_tail_free = history->passage.is_tail_free && !reaches_before;
        history->is_part_cut = true;
    }
    history->part.excess_ns = larger(
        history->part.excess_ns, queue->lead_ns - (history->recent_ns - history->part_recent_ns));
    history->held_ns = smaller(history->held_ns,
                               reaches_before ? history->host_ns
                                              : launch_queue_pending_ns(queue) - history->gain_ns);
    return wait_ns;
}

static void drain(struct launch_history *history)
{
    history->queue.lead_ns = 0;
    history->is_exact = true;
    history->has_ring = false;
    history->recent_launches = 0;
    history->recent_ns = 0;
    history->is_part_cut = true;
    note(history, &(struct launch_burst){.launches = 0});
}

static void step_over(struct launch_history *history, const struct launch_burst *bursts,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bursts[i].launches == 0) {
            drain(history);
        } else {
            step(history, &bursts[i]);
        }
    }
}

/* From the last exact lead on. */
static void make_exact(struct launch_history *history)
{
    const size_t passed_count = history->passed_count;
    const size_t open_count = history->open_count;
    struct launch_burst *open = arena_room(history->arena, open_count, sizeof *open);
    for (size_t i = 0; i < open_count; i++) {
        open[i] = history->open[i];
    }
    history->queue.lead_ns = history->known_lead_ns;
    history->is_exact = true;
    history->has_ring = false;
    history->is_part_cut = true;
    for (history->passed_count = history->known_count; history->passed_count < passed_count;) {
        const struct launch_span *span = history->passed[history->passed_count];
        begin_span(history);
        step_over(history, span->bursts, span->count);
        history->passed_count++;
    }
    begin_span(history);
    history->known_count = passed_count;
    history->known_lead_ns = history->queue.lead_ns;
    step_over(history, open, open_count);
    sim_assert(history->passage.wait_ns == 0); /* the bound had said so */
}

int64_t launch_history_wait(struct launch_history *history, const struct launch_burst *burst)
{
    if (burst->launches == 0) {
        return 0;
    }
    if (!history->is_exact && burst->deficit_ns > history->queue.lead_ns) {
        make_exact(history);
    }
    return step(history, burst);
}

void launch_history_drain(struct launch_history *history)
{
    history->passage.is_lead_free = history->passage.is_lead_free || history->open_count == 0;
    drain(history);
}

/* ---- spans -------------------------------------------------------------------------------- */

/* What a span needs so as not to wait, as the header has it. */
static void find_needs(struct launch_span *span, int64_t depth)
{
    int64_t gain_ns = span->gain_ns; /* before the burst, as the loop goes; so are these */
    int64_t launches = span->launches;
    int64_t host_ns = 0;
    for (uint32_t i = 0; i < span->count; i++) {
        host_ns += span->bursts[i].host_ns;
    }
    int64_t need_ns = INT64_MIN; /* the largest q of the bursts behind */
    span->tail_launches = depth;
    for (uint32_t i = span->count; i-- > 0;) {
        const struct launch_burst *burst = &span->bursts[i];
        if (launches < depth && need_ns > host_ns) {
            span->tail_ns = larger(span->tail_ns, need_ns - host_ns);
            span->tail_launches = smaller(span->tail_launches, depth - launches);
        }
        gain_ns -= burst->work_ns - burst->host_ns;
        host_ns -= burst->host_ns;
        launches -= burst->launches;
        need_ns = larger(need_ns, burst->deficit_ns - gain_ns);
    }
    span->lead_ns = larger(0, need_ns);
}

/* Of the open span's bursts from `first` on. */
static const struct launch_span *new_span(struct launch_history *history, size_t first)
{
    struct launch_span *span = arena_alloc(history->arena, sizeof *span);
    const size_t count = history->open_count - first;
    struct launch_burst *bursts = arena_room(history->arena, count, sizeof *bursts);
    *span = (struct launch_span){
        .bursts = bursts, .count = (uint32_t)count, .held_ns = history->held_ns};
    for (uint32_t i = 0; i < span->count; i++) {
        bursts[i] = history->open[first + i];
        span->gain_ns += bursts[i].work_ns - bursts[i].host_ns;
        span->launches += bursts[i].launches;
        span->work_ns += bursts[i].work_ns;
        span->drains = span->drains || bursts[i].launches == 0;
    }
    find_needs(span, history->queue.depth);
    return span;
}

/* The open span, as it was noted before if it was. */
static const struct launch_span *find_span(struct launch_history *history)
{
    struct launch_spans *spans = history->spans;
    const size_t bytes = history->open_count * sizeof *history->open;
    for (size_t i = 0; i < spans->count; i++) {
        const struct launch_span *span = spans->items[i];
        if (span->count == history->open_count && span->gain_ns == history->gain_ns &&
            (bytes == 0 || memcmp(span->bursts, history->open, bytes) == 0)) {
            return span;
        }
    }
    spans->items = arena_grow(history->arena, spans->items, &spans->capacity, spans->count + 1,
                              sizeof *spans->items);
    spans->items[spans->count] = new_span(history, 0);
    return spans->items[spans->count++];
}

static void add_passed(struct launch_history *history, const struct launch_span *span)
{
    history->passed = arena_grow(history->arena, history->passed, &history->passed_capacity,
                                 history->passed_count + 1, sizeof *history->passed);
    history->passed[history->passed_count++] = span;
    if (history->is_exact) {
        history->known_count = history->passed_count;
        history->known_lead_ns = history->queue.lead_ns;
    }
}

/* One launch before has all the work of the lead, so that the depth does not cut it. */
void launch_history_run_ahead(struct launch_history *history)
{
    static const struct launch_burst eleven_days = {.launches = 1,
                                                    .work_ns = INT64_C(1000000000000000)};
    static const struct launch_span before = {
        .bursts = &eleven_days, .count = 1, .launches = 1, .work_ns = INT64_C(1000000000000000)};
    history->is_exact = true;
    history->has_ring = false;
    history->queue.lead_ns = eleven_days.work_ns;
    history->passed_count = 0;
    add_passed(history, &before);
    begin_span(history);
}

/* The spans that the window at the beginning of the open one reaches. */
static void note_before(struct launch_history *history)
{
    const size_t count = window_of(history);
    const struct launch_span **before = arena_array(history->arena, count, sizeof *before);
    for (size_t i = 0; i < count; i++) {
        before[i] = history->passed[history->passed_count - count + i];
    }
    history->passage.before = before;
    history->passage.before_count = (uint32_t)count;
    history->passage.before_is_all = count == history->passed_count;
}

struct launch_passage launch_history_end_span(struct launch_history *history)
{
    struct launch_passage *open = &history->passage;
    if (!open->is_tail_free) {
        note_before(history);
    }
    open->span = find_span(history);
    open->is_exact = (open->is_exact || open->is_lead_free) && history->is_exact;
    open->last_lead_ns = history->queue.lead_ns;
    const struct launch_passage passage = *open;
    if (passage.span->count > 0) {
        add_passed(history, passage.span);
    }
    begin_span(history);
    return passage;
}

/* ---- a part of the open span ---------------------------------------------------------------- */

void launch_history_begin_part(struct launch_history *history)
{
    history->part = (struct launch_part){.is_exact = history->is_exact,
                                         .first_lead_ns = history->queue.lead_ns,
                                         .excess_ns = INT64_MIN};
    history->part_first = history->open_count;
    history->part_recent_ns = history->recent_ns;
    history->part_wait_ns = history->passage.wait_ns;
    history->is_part_cut = false;
}

bool launch_history_end_part(struct launch_history *history, struct launch_part *part)
{
    if (history->is_part_cut) {
        return false;
    }
    *part = history->part;
    part->span = new_span(history, history->part_first);
    part->last_lead_ns = history->queue.lead_ns;
    part->wait_ns = history->passage.wait_ns - history->part_wait_ns;
    return part->is_exact || part->wait_ns == 0;
}

/* Whether the depth does not cut the lead. Without waits the lead after burst i is the one before
 * the part and D(i), so it is at most all the work so far if it was before; else it is what it
 * was. */
static bool goes_uncut(const struct launch_history *history, const struct launch_part *part,
                       bool is_as_it_was)
{
    const int64_t excess_ns = is_as_it_was ? part->excess_ns : history->queue.lead_ns;
    return excess_ns <= history->recent_ns &&
           history->recent_launches + part->span->launches < history->queue.depth;
}

bool launch_history_skip(struct launch_history *history, const struct launch_part *part)
{
    const struct launch_span *span = part->span;
    const int64_t lead_ns = history->queue.lead_ns;
    const bool is_as_it_was = part->is_exact && history->is_exact && lead_ns == part->first_lead_ns;
    const bool is_waitless = part->wait_ns == 0 && lead_ns >= span->lead_ns;
    if (!(is_as_it_was || is_waitless) || !goes_uncut(history, part, is_as_it_was)) {
        return false;
    }
    for (uint32_t i = 0; i < span->count; i++) {
        const struct launch_burst *burst = &span->bursts[i];
        history->host_ns += burst->host_ns;
        history->recent_ns += burst->work_ns;
        history->held_ns = smaller(history->held_ns, history->host_ns);
        note(history, burst);
    }
    history->has_ring = history->has_ring && span->count == 0;
    history->gain_ns += span->gain_ns;
    history->recent_launches += span->launches;
    history->passage.wait_ns += part->wait_ns;
    history->queue.lead_ns = is_as_it_was ? part->last_lead_ns : lead_ns + span->gain_ns;
    return true;
}

/* ---- a span at once ----------------------------------------------------------------------- */

/* Whether the last `launches` have work of `work_ns`: of whole bursts, so rather too little. */
static bool has_tail(const struct launch_history *history, int64_t launches, int64_t work_ns)
{
    for (size_t i = history->passed_count; work_ns > 0 && i-- > 0;) {
        const struct launch_span *span = history->passed[i];
        for (uint32_t k = span->count; work_ns > 0 && k-- > 0;) {
            launches -= span->bursts[k].launches;
            if (launches < 0) {
                return false;
            }
            work_ns -= span->bursts[k].work_ns;
        }
    }
    return work_ns <= 0;
}

static bool passes_without_waits(const struct launch_history *history,
                                 const struct launch_span *span)
{
    return history->queue.lead_ns >= span->lead_ns &&
           has_tail(history, span->tail_launches, span->tail_ns);
}

static bool has_same_window(const struct launch_history *history,
                            const struct launch_passage *passage)
{
    const size_t count = passage->before_count;
    if (history->passed_count < count ||
        (passage->before_is_all && history->passed_count != count)) {
        return false;
    }
    const size_t first = history->passed_count - count;
    for (size_t i = 0; i < count; i++) {
        if (history->passed[first + i] != passage->before[i]) {
            return false;
        }
    }
    return true;
}

static bool is_the_same(struct launch_history *history, const struct launch_passage *passage)
{
    if (!passage->is_exact || !(passage->is_tail_free || has_same_window(history, passage))) {
        return false;
    }
    if (passage->is_lead_free) {
        return true;
    }
    if (!history->is_exact) {
        make_exact(history);
    }
    return history->queue.lead_ns == passage->first_lead_ns;
}

bool launch_history_pass(struct launch_history *history, const struct launch_passage *passage)
{
    const struct launch_span *span = passage->span;
    sim_assert(history->open_count == 0);
    if (span->count == 0) {
        return true;
    }
    if (is_the_same(history, passage)) {
        history->queue.lead_ns = passage->last_lead_ns;
        history->is_exact = true;
    } else if (passage->wait_ns == 0 && !span->drains && passes_without_waits(history, span)) {
        history->queue.lead_ns = span->gain_ns + smaller(history->queue.lead_ns, span->held_ns);
        history->is_exact = false;
    } else {
        return false;
    }
    history->has_ring = false;
    add_passed(history, span);
    begin_span(history);
    return true;
}
