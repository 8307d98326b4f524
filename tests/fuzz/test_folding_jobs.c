/* Folded equals unfolded with several jobs, all placements and hashed routes: to the
 * nanosecond, GPU by GPU, and in all that is printed but for what the engine took.
 *
 * Usage: test_folding_jobs [SEED [FIRST [COUNT]]]; without arguments seed 1, 120 scenarios. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "report/screen.h"
#include "report/sheet.h"
#include "support/dice.h"
#include "support/random_scenario.h"
#include "support/share.h"
#include "train/step.h"

enum { NEIGHBOURS_MAX = 2, TRIES_MAX = 40 };

/* Half of the users get an algorithm of their own, so that there are chains of phases, over several
 * paths of a channel: the library of the random scenarios would never choose these. */
static void force_algorithms(struct scenario *scenario, struct dice *dice)
{
    for (uint32_t user = 0; user < COLLECTIVE_USER_COUNT_; user++) {
        if (roll(dice, 2) == 0) {
            scenario->collectives[user].algorithm = (uint32_t)roll(dice, ALGORITHM_ASKED_COUNT_);
        }
    }
}

/* A random scenario that fills whole nodes of the asked one's cluster, or NULL. */
static struct scenario *find_neighbour(struct arena *arena, const struct scenario *asked,
                                       uint64_t seed, struct dice *dice)
{
    for (uint32_t i = 0; i < TRIES_MAX; i++) {
        struct scenario *other = random_scenario(arena, seed, 10000 + roll(dice, 1000));
        if (other->cluster.gpus_per_node == asked->cluster.gpus_per_node && other->gpus <= 64) {
            other->cluster = asked->cluster;
            other->placement = (uint32_t)roll(dice, PLACEMENT_COUNT_);
            force_algorithms(other, dice);
            return other;
        }
    }
    return NULL;
}

/* Number `number` of the family: up to two neighbours, any placement, ECMP in one of two, NVLink
 * domains of one to five nodes, and more nodes than are needed in one of two. */
static struct scenario *random_jobs(struct arena *arena, uint64_t seed, uint64_t number)
{
    struct dice dice = {{.seed = seed, .stream = rng_stream("random jobs"), .rank = number}};
    struct scenario *asked = random_scenario(arena, seed, number);
    asked->placement = (uint32_t)roll(&dice, PLACEMENT_COUNT_);
    asked->cluster.routing = roll(&dice, 2) == 0 ? ROUTING_ECMP : ROUTING_ADAPTIVE;
    asked->seed = 1 + (int64_t)roll(&dice, 1000);
    force_algorithms(asked, &dice);
    if (asked->cluster.scale_up_kind == SCALE_UP_NVSWITCH) {
        asked->cluster.domain_nodes = 1 + (int64_t)roll(&dice, 5);
    }
    asked->neighbours = arena_array(arena, NEIGHBOURS_MAX, sizeof *asked->neighbours);
    int64_t nodes = asked->nodes;
    for (uint64_t wanted = roll(&dice, NEIGHBOURS_MAX + 1); wanted > 0; wanted--) {
        struct scenario *other = find_neighbour(arena, asked, seed, &dice);
        if (other != NULL) {
            asked->neighbours[asked->neighbour_count++] = other;
            nodes += other->nodes;
        }
    }
    asked->cluster.nodes_max = roll(&dice, 2) == 0 ? 0 : nodes + (int64_t)roll(&dice, 5);
    return asked;
}

/* What `run --json` prints, without the part on the engine. */
static char *text_of(struct arena *arena, const struct scenario *scenario,
                     const struct step_result *step)
{
    struct result *result = arena_alloc(arena, sizeof *result);
    *result = (struct result){.scenario = scenario, .build = "test", .step = *step};
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *out = open_memstream(&text, &size_bytes);
    assert_non_null(out);
    sheet_print(screen_sheet(result, arena), true, out);
    fclose(out);
    char *kept = arena_strdup(arena, text);
    free(text);
    char *engine = strstr(kept, "\"engine\": {");
    assert_non_null(engine);
    *engine = '\0';
    return kept;
}

struct tally {
    uint32_t folded, with_neighbours, slowed;
};

static void assert_equal_details(const struct scenario *scenario, const struct step_detail *folded,
                                 const struct step_detail *full)
{
    assert_int_equal(folded->bytes_sent, full->bytes_sent);
    for (int64_t rank = 0; rank < scenario->gpus; rank++) {
        assert_memory_equal(folded->rank_causes[rank], full->rank_causes[rank],
                            sizeof full->rank_causes[rank]);
    }
}

static void compare(uint64_t seed, uint64_t number, struct tally *tally)
{
    struct arena *arena = arena_new();
    const struct scenario *scenario = random_jobs(arena, seed, number);
    struct step_request request = {.folds = true};
    struct step_result folded;
    struct step_result full;
    struct step_detail folded_detail;
    struct step_detail full_detail;
    request.detail = &folded_detail;
    step_simulate(arena, scenario, &request, &folded);
    request.folds = false;
    request.detail = &full_detail;
    step_simulate(arena, scenario, &request, &full);
    const char *folded_text = text_of(arena, scenario, &folded);
    const char *full_text = text_of(arena, scenario, &full);
    if (strcmp(folded_text, full_text) != 0) {
        fprintf(stderr, "seed %llu number %llu\n%s", (unsigned long long)seed,
                (unsigned long long)number, random_scenario_text(arena, seed, number));
    }
    assert_int_equal(folded.step_ns, full.step_ns);
    assert_memory_equal(folded.gpu_ns, full.gpu_ns, sizeof full.gpu_ns);
    assert_string_equal(folded_text, full_text);
    assert_equal_details(scenario, &folded_detail, &full_detail);
    tally->folded += folded.engine.ranks_simulated < folded.engine.ranks;
    tally->with_neighbours += scenario->neighbour_count > 0;
    for (uint32_t i = 0; i < full.job_count; i++) {
        tally->slowed += full.jobs[i].step_s > full.jobs[i].step_alone_s * 1.01;
    }
    arena_free(arena);
}

/* Many of them must fold, have neighbours and contend, or nothing is shown. */
static void folded_equals_unfolded_with_several_jobs(void **state)
{
    const struct family *family = *state;
    struct tally tally = {0, 0, 0};
    for (uint64_t i = 0; i < family->count; i++) {
        compare(family->seed, family->first + i, &tally);
    }
    print_message("seed %llu: %llu scenarios, %u with neighbours, %u folded, %u jobs slowed\n",
                  (unsigned long long)family->seed, (unsigned long long)family->count,
                  tally.with_neighbours, tally.folded, tally.slowed);
    assert_true(family->count < 100 || tally.folded > family->count / 4);
    assert_true(family->count < 100 || tally.with_neighbours > family->count / 2);
    assert_true(family->count < 100 || tally.slowed > 10);
}

int main(int argc, char **argv)
{
    struct family family = {argc > 1 ? strtoull(argv[1], NULL, 10) : 1,
                            argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
                            argc > 3 ? strtoull(argv[3], NULL, 10) : share_of(120)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(folded_equals_unfolded_with_several_jobs, &family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
