/* Tallies are counted once for each pair of largest chunk and stage, of which a space has few. */
#include "study/search/search_choices.h"

#include "base/arena.h"
#include "input/features/features_used.h"
#include "input/model.h"
#include "input/training.h"

struct known_tally {
    int64_t largest_chunk, largest_stage;
    struct search_tally tally;
    struct known_tally *next;
};

struct search_tallies {
    struct arena *arena;
    const struct search_space *space;
    struct known_tally **of_chunk; /* [layers + 1] */
};

/* ---- one choice ---------------------------------------------------------------------------- */

struct recompute search_choice_recompute(const struct search_space *space, uint32_t number)
{
    if (number < space->recompute_count) {
        return space->recomputes[number];
    }
    return (struct recompute){.kind = RECOMPUTE_FULL,
                              .layers = (int64_t)(number - space->recompute_count) + 1};
}

static bool has_whole(const struct search_space *space)
{
    for (uint32_t i = 0; i < space->recompute_count; i++) {
        if (space->recomputes[i].kind == RECOMPUTE_FULL && space->recomputes[i].layers == 0) {
            return true;
        }
    }
    return false;
}

bool search_choice_is_in_line(const struct search_space *space, const struct recompute *recompute,
                              int64_t largest_chunk)
{
    if (recompute->kind == RECOMPUTE_SELECTIVE) {
        for (uint32_t i = 0; i < RECOMPUTE_MODULE_COUNT_; i++) {
            if ((recompute->modules >> i & 1u) != 0 &&
                !training_has_module(search_space_model(space), i)) {
                return false;
            }
        }
    }
    if (recompute->layers == 0) {
        return true;
    }
    return recompute->layers < largest_chunk
               ? !space->has_every_count
               : recompute->layers == largest_chunk && !has_whole(space);
}

bool search_choice_lacks(const struct search_space *space, const struct recompute *recompute,
                         int64_t offloaded, struct feature_set *lacks)
{
    const struct feature_set *allowed = &space->allowed;
    const uint32_t again = features_of_recompute(search_space_model(space), recompute) &
                           ~allowed->lists[FEATURES_RECOMPUTE];
    const uint32_t away =
        offloaded > 0 ? 1u << HAS_OFFLOAD_ACTIVATIONS & ~allowed->lists[FEATURES_OPTIONS] : 0;
    lacks->lists[FEATURES_RECOMPUTE] |= again;
    lacks->lists[FEATURES_OPTIONS] |= away;
    return again != 0 || away != 0;
}

/* ---- all of a line -------------------------------------------------------------------------- */

void search_lacking_add(struct search_lacking *sum, const struct search_lacking *more,
                        uint64_t times)
{
    if (more->layouts == 0 || times == 0) {
        return;
    }
    sum->layouts += times * more->layouts;
    for (uint32_t i = 0; i < FEATURE_LIST_COUNT_; i++) {
        sum->any.lists[i] |= more->any.lists[i];
        sum->all.lists[i] &= more->all.lists[i];
    }
}

void search_lacking_add_lines(struct search_lacking *sum, const struct search_tally *tally,
                              const struct feature_set *besides, uint64_t lines)
{
    struct search_lacking whole = tally->lacking;
    const bool is_each = whole.layouts == tally->layouts; /* else some lack nothing by themselves */
    whole.layouts = tally->layouts;
    for (uint32_t i = 0; i < FEATURE_LIST_COUNT_; i++) {
        whole.any.lists[i] |= besides->lists[i];
        whole.all.lists[i] = (is_each ? whole.all.lists[i] : 0) | besides->lists[i];
    }
    search_lacking_add(sum, &whole, lines);
}

static void count_choice(const struct search_space *space, const struct recompute *recompute,
                         struct known_tally *known)
{
    const struct search_values *offloads = &space->axes[SEARCH_OFFLOAD_LAYERS];
    for (uint32_t i = 0; i < offloads->count; i++) {
        const int64_t offloaded = (int64_t)offloads->items[i];
        struct search_lacking one = {.layouts = 1};
        if (offloaded > known->largest_stage) {
            continue;
        }
        known->tally.layouts++;
        if (search_choice_lacks(space, recompute, offloaded, &one.any)) {
            one.all = one.any;
            search_lacking_add(&known->tally.lacking, &one, 1);
        }
    }
}

static void count_choices(const struct search_space *space, struct known_tally *known)
{
    for (uint32_t i = 0; i < space->recompute_count; i++) {
        if (search_choice_is_in_line(space, &space->recomputes[i], known->largest_chunk)) {
            count_choice(space, &space->recomputes[i], known);
        }
    }
    for (int64_t layers = 1; space->has_every_count && layers < known->largest_chunk; layers++) {
        const struct recompute full = {.kind = RECOMPUTE_FULL, .layers = layers};
        count_choice(space, &full, known);
    }
}

struct search_tallies *search_tallies_new(struct arena *arena, const struct search_space *space)
{
    struct search_tallies *tallies = arena_alloc(arena, sizeof *tallies);
    *tallies =
        (struct search_tallies){arena, space,
                                arena_array(arena, (size_t)search_space_model(space)->layers + 1,
                                            sizeof *tallies->of_chunk)};
    return tallies;
}

const struct search_tally *search_tally_of(struct search_tallies *tallies, int64_t largest_chunk,
                                           int64_t largest_stage)
{
    struct known_tally **first = &tallies->of_chunk[largest_chunk];
    struct known_tally *known = *first;
    while (known != NULL && known->largest_stage != largest_stage) {
        known = known->next;
    }
    if (known == NULL) {
        known = arena_alloc(tallies->arena, sizeof *known);
        *known = (struct known_tally){
            largest_chunk, largest_stage, {.lacking.all = features_all()}, *first};
        count_choices(tallies->space, known);
        *first = known;
    }
    return &known->tally;
}
