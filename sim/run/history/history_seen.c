/* Pieces whose steps count have rising steps, so that those lost are found from the end, up to the
 * first that counts all the same.
 */
#include "run/history/history_seen.h"

#include "base/arena.h"
#include "base/check.h"

#include <stdlib.h>

static void add(struct history_seen *seen, const struct history_piece *piece)
{
    seen->pieces = arena_grow(seen->arena, seen->pieces, &seen->capacity, seen->count + 1,
                              sizeof *seen->pieces);
    seen->pieces[seen->count++] = *piece;
}

static void take_down(struct history_seen *seen, const struct history_piece *piece)
{
    if (seen->is_full || piece->end == piece->start) {
        return;
    }
    if (seen->count >= seen->most) {
        seen->is_full = true;
        seen->until = piece->start;
        return;
    }
    add(seen, piece);
}

void history_seen_spend(struct history_seen *seen, sim_time start, sim_time end,
                        enum account account, uint32_t class)
{
    const struct history_piece piece = {
        .start = start, .end = end, .account = account, .class = class, .first_step = -1};
    take_down(seen, &piece);
}

void history_seen_steps(struct history_seen *seen, sim_time start, sim_time end,
                        struct history_steps_seen steps, const struct history_regime *regime)
{
    const struct history_piece piece = {.start = start,
                                        .end = end,
                                        .account = ACCOUNT_USEFUL,
                                        .class = HISTORY_NO_CLASS,
                                        .first_step = steps.first,
                                        .steps = steps.count,
                                        .regime = *regime};
    take_down(seen, &piece);
}

/* The steps of a piece before `to`, and the others as a piece of their own, lost. */
static void divide(struct history_seen *seen, size_t number, int64_t to)
{
    struct history_piece lost = seen->pieces[number];
    const sim_time step_ns = (lost.end - lost.start) / lost.steps;
    const int64_t kept = to - lost.first_step;
    sim_assert(step_ns * lost.steps == lost.end - lost.start && kept > 0 && kept < lost.steps);
    lost.account = ACCOUNT_LOST;
    lost.first_step = to;
    lost.steps -= kept;
    lost.start += kept * step_ns;
    seen->pieces[number].end = lost.start;
    seen->pieces[number].steps = kept;
    add(seen, &lost);
}

void history_seen_lose(struct history_seen *seen, int64_t to)
{
    for (size_t i = seen->count; i-- > 0;) {
        struct history_piece *piece = &seen->pieces[i];
        const int64_t whole = piece->steps > 0 ? piece->steps : 1;
        if (piece->account != ACCOUNT_USEFUL) {
            continue;
        }
        if (piece->first_step + whole <= to) {
            return;
        }
        if (piece->first_step < to) {
            divide(seen, i, to);
            return;
        }
        piece->account = ACCOUNT_LOST;
    }
}

static void add_away(struct history_seen *seen, sim_time when, int32_t nodes)
{
    seen->away = arena_grow(seen->arena, seen->away, &seen->away_capacity, seen->away_count + 1,
                            sizeof *seen->away);
    seen->away[seen->away_count++] = (struct history_away){when, nodes};
}

void history_seen_away(struct history_seen *seen, sim_time since, sim_time until)
{
    if (!seen->is_full && until > since) {
        add_away(seen, since, 1);
        add_away(seen, until, -1);
    }
}

static int compare_times(sim_time a, sim_time b)
{
    return (a > b) - (a < b);
}

static int compare_pieces(const void *left, const void *right)
{
    const struct history_piece *a = left;
    const struct history_piece *b = right;
    return compare_times(a->start, b->start);
}

static int compare_away(const void *left, const void *right)
{
    const struct history_away *a = left;
    const struct history_away *b = right;
    return compare_times(a->when, b->when);
}

void history_seen_end(struct history_seen *seen, sim_time end)
{
    seen->until = seen->is_full ? seen->until : end;
    if (seen->count > 0) {
        qsort(seen->pieces, seen->count, sizeof *seen->pieces, compare_pieces);
    }
    if (seen->away_count > 0) {
        qsort(seen->away, seen->away_count, sizeof *seen->away, compare_away);
    }
}
