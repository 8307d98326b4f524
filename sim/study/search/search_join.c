/* What the shards of a search have found and left, put together as search.h has it: counts are
 * sums, the best is the best of all, and nothing left is below what any of them left.
 */
#include "study/search/search.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/check.h"
#include "input/features/features_used.h"
#include "study/search/search_order.h"

#include <math.h>

static void add_counts(struct search_counts *sum, const struct search_counts *counts)
{
    sum->layouts += counts->layouts;
    sum->by_line += counts->by_line;
    sum->by_memory += counts->by_memory;
    sum->by_count += counts->by_count;
    sum->by_bound += counts->by_bound;
    sum->missed += counts->missed;
    sum->simulated += counts->simulated;
    sum->failed += counts->failed;
}

static void add_near(struct search_near *whole, const struct search_near *part)
{
    add_counts(&whole->counts, &part->counts);
    whole->is_certified = whole->is_certified && part->is_certified;
    for (uint32_t i = 0; i < part->count; i++) {
        whole->found[whole->count] = part->found[i];
        whole->found[whole->count].order = whole->count;
        whole->count++;
    }
}

static void join_lost(struct arena *arena, struct search_result *whole,
                      const struct search_result *part)
{
    for (uint32_t i = 0; i < part->lost_count && whole->lost_count < SEARCH_LOST_MAX; i++) {
        whole->lost = whole->lost != NULL
                          ? whole->lost
                          : arena_array(arena, SEARCH_LOST_MAX, sizeof *whole->lost);
        whole->lost[whole->lost_count++] = part->lost[i];
    }
}

/* A shard's are better than what fits of that shard. */
static void join_near(struct search_result *whole, double gap)
{
    struct search_near *near = &whole->near;
    const double enough = whole->best * (1.0 - gap);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < near->count; i++) {
        if (is_absent(enough) || near->found[i].value < enough) {
            near->found[kept++] = near->found[i];
        }
    }
    near->count = kept;
    search_order_found(near->found, kept);
}

static void join_part(struct search_result *whole, const struct search_result *part)
{
    add_counts(&whole->counts, &part->counts);
    whole->families += part->families;
    whole->lacking.layouts += part->lacking.layouts;
    for (uint32_t i = 0; i < FEATURE_LIST_COUNT_; i++) {
        whole->lacking.any.lists[i] |= part->lacking.any.lists[i];
        whole->lacking.all.lists[i] &= part->lacking.all.lists[i];
    }
    whole->best = fmin(whole->best, part->best);
    whole->least = fmin(whole->least, part->least);
    if (part->is_ended && is_absent(part->least)) {
        whole->least = 0; /* before its layouts were known */
    }
    whole->is_certified = whole->is_certified && part->is_certified;
    whole->is_ended = whole->is_ended || part->is_ended;
    whole->failure = whole->failure != NULL ? whole->failure : part->failure;
    if (part->nearest_bytes > 0 &&
        (whole->nearest_bytes <= 0 || part->nearest_bytes < whole->nearest_bytes)) {
        whole->nearest = part->nearest;
        whole->nearest_bytes = part->nearest_bytes;
    }
    for (uint32_t i = 0; i < part->found_count; i++) {
        whole->found[whole->found_count] = part->found[i];
        whole->found[whole->found_count].order = whole->found_count;
        whole->found_count++;
    }
    for (uint32_t i = 0; i < part->missed_count; i++) {
        whole->missed[whole->missed_count] = part->missed[i];
        whole->missed[whole->missed_count].order = whole->missed_count;
        whole->missed_count++;
    }
    add_near(&whole->near, &part->near);
}

void search_join(struct arena *arena, const struct search_result *parts, uint32_t count, double gap,
                 struct search_result *whole)
{
    size_t found = 0;
    size_t near = 0;
    size_t missed = 0;
    for (uint32_t i = 0; i < count; i++) {
        missed += parts[i].missed_count;
        found += parts[i].found_count;
        near += parts[i].near.count;
    }
    *whole = (struct search_result){.best = ABSENT,
                                    .least = ABSENT,
                                    .gap = ABSENT,
                                    .is_certified = true,
                                    .lacking.all = features_all(),
                                    .found = arena_array(arena, found, sizeof *whole->found),
                                    .missed = arena_array(arena, missed, sizeof *whole->missed)};
    whole->near = (struct search_near){.found = arena_array(arena, near, sizeof *whole->near.found),
                                       .is_certified = true};
    for (uint32_t i = 0; i < count; i++) {
        join_part(whole, &parts[i]);
        join_lost(arena, whole, &parts[i]);
    }
    if (whole->found_count > 0) {
        search_order_found(whole->found, whole->found_count);
        whole->gap = 1.0 - fmin(fmin(whole->best, whole->least), whole->best) / whole->best;
        sim_assert(!whole->is_certified || whole->gap <= gap + 1e-9); /* 1 - 0.99 is above 0.01 */
    }
    search_order_missed(whole->missed, whole->missed_count);
    join_near(whole, gap);
}
