/* Each axis of a search by itself: on random spaces that have it, with two values or more that fit,
 * the best layout of the search is the best of all to the nanosecond, tried one by one.
 *
 * A space is narrow in all other axes, but for those without which this one is nothing (cp_type
 * with cp 1, reshard below ZeRO 3). Scenarios differ in what they say of axes that stay, too. A
 * space in which fewer than two values fit is drawn again: what is left is a choice that could be
 * made wrongly, and how often it is made otherwise than by the first value is printed.
 *
 * Usage: test_search_axes [SEED [FIRST [COUNT [AXIS]]]]; without arguments seed 1, spaces 0 and 1
 * of each axis. Whole: test_search_axes 1 0 200, five CPU minutes. */
#include "base/arena.h"
#include "base/rng.h"
#include "des/event.h"
#include "input/scenario.h"
#include "input/scenario_load.h"
#include "study/search/search.h"
#include "study/search/search_software.h"
#include "support/assert_close.h"
#include "support/share.h"
#include "support/slow_search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct family {
    uint64_t seed, first, count;
    const char *axis; /* NULL: each */
};

enum { LAYOUTS_MAX = 160, LEAST_WINS = 5 };

/* Texts are parted by '|'. */
struct needed {
    enum search_axis axis;
    const char *texts;
};

struct axis_row {
    const char *narrow;     /* when another axis is looked at */
    const char *wide;       /* when this one is */
    const char *models;     /* then, too; NULL: any */
    const char *says;       /* what a scenario may say of it; NULL: nothing */
    struct needed needs[3]; /* without which it is nothing */
};

#define MOE "mixtral-8x7b|qwen3-30b-a3b"

static const struct axis_row rows[SEARCH_AXIS_COUNT_] = {
    [SEARCH_TP] = {.narrow = "[2]|[4]|[8]|[2, 4]", .wide = "[1, 2, 4, 8]|all|[4, 8]|1..16"},
    [SEARCH_CP] = {.narrow = "[1]|[1]|[2]", .wide = "[1, 2]|[1, 2, 4]|1..4"},
    [SEARCH_EP] = {.narrow = "[1]|[2]|[4, 8]", .wide = "[1, 2]|[2, 4, 8]|all", .models = MOE},
    [SEARCH_ETP] = {"[tp]|[1]|[1, tp]", "[tp, 1]|all|1..4|[2, tp]", MOE,
                    .needs = {{SEARCH_TP, "[2, 4]|[4, 8]|[2]"}}},
    [SEARCH_PP] = {.narrow = "[1]|[2]|[4]|[1, 2]", .wide = "[1, 2, 4]|all|[2, 4, 8]|1..3"},
    [SEARCH_VIRTUAL_STAGES] = {"[2]|[4]", "[2, 4]|1..4|all",
                               .needs = {{SEARCH_SCHEDULE, "[interleaved]|[1f1b, interleaved]"},
                                         {SEARCH_PP, "[2]|[4]|[2, 4]"}}},
    [SEARCH_SCHEDULE] =
        {"[1f1b]|[1f1b]|[interleaved]|[gpipe, 1f1b]",
         "all|[1f1b, zb-v, dualpipe]|[gpipe, zb-h1, zb-h2]|[interleaved, dualpipev]",
         .needs = {{SEARCH_PP, "[2]|[4]|[2, 4]"}}},
    [SEARCH_ZERO] = {.narrow = "[1]|[0, 1]|[3]|[1, 3]", .wide = "all|[0, 1, 2]|[1, 3]|[2, 3]"},
    [SEARCH_SEQUENCE_PARALLEL] = {"[true]|[true]|[false]", "all",
                                  .needs = {{SEARCH_TP, "[2]|[2, 4]|[1, 8]"}}},
    [SEARCH_MICRO] = {.narrow = "[1]|[2]|[1, 2]", .wide = "[1, 2]|1..4|all"},
    [SEARCH_RECOMPUTE] = {.narrow = "[none]|[none, full]|[selective]",
                          .wide =
                              "[none, selective, full]|[full, {layers: 1..3}]|{layers: all}|[none, "
                              "{modules: [norm]}, {modules: [core-attention, mlp]}]"},
    [SEARCH_CP_TYPE] = {"", "all", .says = "all-gather|p2p|ulysses",
                        .needs = {{SEARCH_CP, "[2]|[1, 2]|[2, 4]"}}},
    [SEARCH_LAYERS] = {"", "all|[even, balanced]", .needs = {{SEARCH_PP, "[2]|[4]|[2, 4]"}}},
    [SEARCH_ZERO_GROUP] = {"", "all|[2, 4, 8]|[8, 16]", .says = "2|4|8",
                           .needs = {{SEARCH_ZERO, "[1]|[1, 3]|[3]|[0, 1, 2]"}}},
    [SEARCH_MICROBATCH_GROUP] = {"", "all|[4, 6]|2..8", .says = "4|8",
                                 .needs = {{SEARCH_SCHEDULE, "[interleaved]|[1f1b, interleaved]"},
                                           {SEARCH_PP, "[2]|[4]|[2, 4]"}}},
    [SEARCH_RESHARD] = {"", "all", .says = "after-forward|after-backward|after-step",
                        .needs = {{SEARCH_ZERO, "[3]|[1, 3]|[2, 3]"}}},
    [SEARCH_OVERLAP_EXPERTS] = {"", "all", MOE, .says = "true|false",
                                .needs = {{SEARCH_EP, "[2]|[4, 8]|[1, 8]"},
                                          {SEARCH_SCHEDULE,
                                           "[1f1b]|[interleaved]|[1f1b, interleaved]"}}},
    [SEARCH_ORDER] = {"",
                      "[tp-cp-ep-pp-dp, tp-cp-ep-dp-pp]|[dp-tp-ep-cp-pp, tp-cp-ep-pp-dp]|"
                      "[tp-cp-ep-dp-pp, pp-tp-cp-ep-dp, ep-dp-tp-cp-pp, cp-tp-ep-dp-pp]",
                      .says = "tp-cp-ep-pp-dp|pp-dp-ep-cp-tp"},
    [SEARCH_OFFLOAD_OPTIMIZER] = {.narrow = "[0]|[0]|[0.5]",
                                  .wide = "[0, 0.5]|[0, 0.25, 1]|[0.1, 1]"},
    [SEARCH_OFFLOAD_LAYERS] = {.narrow = "[0]|[0]|[2]", .wide = "0..3|[0, 2]|[1, 4]"},
};

/* ---- spaces -------------------------------------------------------------------------------- */

static uint64_t roll(struct rng_key *key, uint64_t bound)
{
    key->operation++;
    return rng_below(key, bound);
}

/* One of the texts. */
static const char *one_of(struct arena *arena, struct rng_key *key, const char *texts)
{
    uint64_t count = 1;
    for (const char *at = texts; *at != '\0'; at++) {
        count += *at == '|';
    }
    for (uint64_t left = roll(key, count); left > 0; left--) {
        texts = strchr(texts, '|') + 1;
    }
    return arena_strndup(arena, texts, strcspn(texts, "|"));
}

static const char *axis_text(struct arena *arena, struct rng_key *key, enum search_axis axis,
                             enum search_axis about)
{
    if (axis == about) {
        return one_of(arena, key, rows[axis].wide);
    }
    for (uint32_t i = 0; i < sizeof rows[about].needs / sizeof *rows[about].needs; i++) {
        const struct needed *needed = &rows[about].needs[i];
        if (needed->texts != NULL && needed->axis == axis) {
            return one_of(arena, key, needed->texts);
        }
    }
    return one_of(arena, key, rows[axis].narrow);
}

/* What the scenario says of what stays: of every second space that it is about. */
static const char *said_text(struct arena *arena, struct rng_key *key, enum search_axis about)
{
    return rows[about].says == NULL || roll(key, 2) == 0
               ? ""
               : arena_printf(arena, "%s: %s\n", search_axis_paths[about],
                              one_of(arena, key, rows[about].says));
}

/* Few microbatches on few GPUs, so that a space takes some hundredths of a second. */
static const char *text_of(struct arena *arena, struct rng_key *key, enum search_axis about)
{
    const char *models = rows[about].models != NULL
                             ? rows[about].models
                             : "llama3-8b|llama2-70b|mixtral-8x7b|qwen3-30b-a3b|gpt3-175b";
    const char *text = arena_printf(
        arena,
        "model: %s\ncluster: %s\ngpus: %s\nbatch: {global: %s, sequence_length: %s}\n%ssearch:\n",
        one_of(arena, key, models), one_of(arena, key, "h100-3200|a100-80gb-800|h100-400"),
        one_of(arena, key, "16|32|64"), one_of(arena, key, "16|24|32"),
        one_of(arena, key, "1024|2048|8192"), said_text(arena, key, about));
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        const char *values = axis_text(arena, key, (enum search_axis)i, about);
        if (values[0] != '\0') {
            text = arena_printf(arena, "%s  %s: %s\n", text, search_axis_paths[i], values);
        }
    }
    return text;
}

/* False: the scenario says what cannot be. */
static bool read_space(struct arena *arena, const char *text, struct slow_search *slow)
{
    static const struct catalogue here = {.directories = {"."}, .count = 1};
    *slow = (struct slow_search){.arena = arena};
    struct diag *diag = diag_new(arena);
    const struct doc_node *document = doc_parse(arena, "space", text, strlen(text), diag);
    assert_non_null(document);
    const char *sets[] = {"parallel.tp=8", "batch.micro=1"};
    const struct scenario *base = scenario_resolve(arena, document, &here, sets, 2, diag);
    return base != NULL && search_space_read(arena, document, base, &slow->space, diag);
}

/* ---- the best ------------------------------------------------------------------------------ */

struct tally {
    uint64_t spaces, drawn, fitting, others; /* won by another value than the first */
};

static bool has_two(uint64_t bits)
{
    return (bits & (bits - 1)) != 0;
}

/* With two values or more of the axis that fit. */
static bool is_choice(const struct slow_search *slow, enum search_axis about)
{
    struct slow_search weighed = *slow;
    if (slow_search_product(&slow->space) > LAYOUTS_MAX) {
        return false;
    }
    slow_search_weigh(&weighed);
    return has_two(weighed.fits[about]);
}

static void compare(struct slow_search *slow, const char *text, uint32_t number)
{
    const struct search_request request = {.space = &slow->space,
                                           .jobs = 1 + number % 2,
                                           .folds = true,
                                           .is_of_lines = number % 4 < 2};
    struct search_result result;
    search_run(slow->arena, &request, &result);
    slow_search_run(slow);
    assert_true(result.is_certified && result.gap <= 0);
    assert_true(result.found_count > 0);
    const sim_time found_ns = sim_time_from_s(result.found[0].value);
    const sim_time best_ns = sim_time_from_s(slow->best);
    if (found_ns != best_ns) {
        fail_msg("found %lld ns, best %lld ns:\n%s", (long long)found_ns, (long long)best_ns, text);
    }
}

static void try_space(const struct family *family, enum search_axis about, uint64_t number,
                      struct tally *tally)
{
    struct rng_key key = {
        .seed = family->seed, .stream = rng_stream(search_axis_paths[about]), .rank = number};
    for (bool is_tried = false; !is_tried;) {
        struct arena *arena = arena_new();
        struct slow_search slow;
        const char *text = text_of(arena, &key, about);
        tally->drawn++;
        if (read_space(arena, text, &slow)) {
            if (roll(&key, 3) != 0) { /* of the others what the release has */
                search_software_lift(&slow.space);
            }
            if (is_choice(&slow, about)) {
                compare(&slow, text, (uint32_t)number);
                tally->spaces++;
                tally->fitting += slow.fitting;
                tally->others += (slow.wins[about] & 1u) == 0;
                is_tried = true;
            }
        }
        arena_free(arena);
    }
}

static void each_axis_is_searched_as_if_all_were_tried(void **state)
{
    const struct family *family = *state;
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        struct tally tally = {0};
        if (family->axis != NULL && strcmp(family->axis, search_axis_paths[i]) != 0) {
            continue;
        }
        for (uint64_t k = family->first; k < family->first + family->count; k++) {
            try_space(family, (enum search_axis)i, k, &tally);
        }
        fprintf(stderr,
                "%-26s %4llu of %5llu spaces have two values that fit, %6llu layouts; %4llu are "
                "not won by the first value\n",
                search_axis_paths[i], (unsigned long long)tally.spaces,
                (unsigned long long)tally.drawn, (unsigned long long)tally.fitting,
                (unsigned long long)tally.others);
        assert_true(family->count < 200 || tally.others >= LEAST_WINS);
    }
}

int main(int argc, char **argv)
{
    struct family family = {
        argc > 1 ? strtoull(argv[1], NULL, 10) : 1, argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
        argc > 3 ? strtoull(argv[3], NULL, 10) : share_of(2), argc > 4 ? argv[4] : NULL};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(each_axis_is_searched_as_if_all_were_tried, &family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
