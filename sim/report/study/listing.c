/* Rows are sorted by three keys: how they stand to what is required, the metric, and their number.
 */
#include "report/study/listing.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/sheet.h"
#include "study/requirements.h"

#include <inttypes.h>
#include <stdlib.h>

struct listed {
    uint32_t number;
    uint32_t standing; /* 0: meets all, 1: misses, 2: no result */
    double key;        /* the less the better; ABSENT: it does not have the metric */
};

static int by_place(const void *left, const void *right)
{
    const struct listed *a = left;
    const struct listed *b = right;
    if (a->standing != b->standing) {
        return a->standing < b->standing ? -1 : 1;
    }
    if (is_absent(a->key) != is_absent(b->key)) {
        return is_absent(a->key) ? 1 : -1;
    }
    if (!is_absent(a->key) && (a->key < b->key || a->key > b->key)) {
        return a->key < b->key ? -1 : 1;
    }
    return a->number < b->number ? -1 : 1;
}

static struct listed listed_of(const struct listing *listing,
                               const struct requirements *requirements, const struct store_row *row,
                               uint32_t number)
{
    struct listed listed = {.number = number, .standing = 2, .key = ABSENT};
    if (!store_row_is_good(row)) {
        return listed;
    }
    listed.standing = requirements_are_met(requirements, row) ? 0 : 1;
    if (listing->sort != NULL) {
        const double value = requirement_metric_value(listing->sort, row);
        listed.key = is_absent(value) || !listing->sort->is_higher_better ? value : -value;
    }
    return listed;
}

const uint32_t *listing_order(struct arena *arena, const struct listing *listing,
                              const struct against_rows *points,
                              const struct requirements *requirements, uint32_t *count)
{
    struct listed *all = arena_array(arena, points->count, sizeof *all);
    uint32_t filled = 0;
    for (uint32_t i = 0; i < points->count; i++) {
        if (!listing->is_feasible || store_row_is_good(&points->rows[i])) {
            all[filled++] = listed_of(listing, requirements, &points->rows[i], i);
        }
    }
    qsort(all, filled, sizeof *all, by_place);
    *count = listing->top > 0 && listing->top < filled ? (uint32_t)listing->top : filled;
    uint32_t *order = arena_array(arena, filled, sizeof *order);
    for (uint32_t i = 0; i < *count; i++) {
        order[i] = all[i].number;
    }
    return order;
}

void listing_say_rest(uint32_t count, uint32_t listed, struct sheet *sheet)
{
    if (listed < count) {
        sheet_say(sheet, "and %" PRIu32 " more of %" PRIu32 " points\n", count - listed, count);
    }
}
