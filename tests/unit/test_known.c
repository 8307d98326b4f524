/* Policies of one run with what they have in common simulated once, against each by itself: to the
 * bit. Quickstart: 64 H100 on 8 nodes, loaders that stall, a GPU that gets slow, nodes that
 * break. */
#include "base/arena.h"
#include "input/scenario.h"
#include "run/known.h"
#include "run/history/repetitions.h"
#include "run/run.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

enum { SETS = 7 };

/* Each differs from the one before in one key that could be forgotten: how often, whether training
 * waits, whether what flushes shares its links, where to, how often on, the spares, going on with
 * less, its batch, a stated restart. */
static const char *const checkpoints[] = {
    "{every: 20 min, mode: blocking}",
    "{every: 10 min, mode: blocking}",
    "{every: 10 min, mode: blocking, to: local}",
    "{every: 10 min, mode: async}",
    "{every: 10 min, mode: async, to: peer}",
    "{every: 10 min, mode: async, to: local}",
    "{every: 10 min, mode: async, to: local, drain_every: 3}",
    "{every: 10 min, mode: async, to: local, drain_every: 3}",
    "{every: 10 min, mode: async, to: local, drain_every: 3}",
    "{every: 10 min, mode: async, to: local, drain_every: 3}",
    "{every: 10 min, mode: async, to: local, drain_every: 3}",
};
static const char *const recoveries[] = {
    "{spares: 0}",
    "{spares: 0}",
    "{spares: 0}",
    "{spares: 0}",
    "{spares: 0}",
    "{spares: 0}",
    "{spares: 0}",
    "{spares: 2}",
    "{spares: 0, without_node: elastic}",
    "{spares: 0, without_node: elastic, batch: kept}",
    "{spares: 0, without_node: elastic, batch: kept, restart: 10 min}",
};
enum { POLICIES = sizeof checkpoints / sizeof *checkpoints };

static const struct scenario *policy(struct arena *arena, uint32_t number)
{
    const char *const sets[SETS] = {
        "run.tokens=400B",
        "run.repetitions=3",
        "run.failures={failures: inline, counts: hardware, classes: ["
        "{name: breaks, of: node, rate: {mttf: 400 h}, takes: node, repair: 2 days}, "
        "{name: slows, of: gpu, rate: {mttf: 9000 h}, takes: gpu, effect: slows, speed: 80 %, "
        "repair: 1 day}]}",
        "cluster.storage={write: 3 GB/s, read: 3 GB/s, per_node: 2 GB/s, local_write: 2 GB/s, "
        "local_read: 4 GB/s, network: fabric}",
        "data={workers_per_gpu: 1, time_per_sample: 1.2 s}",
        arena_printf(arena, "run.checkpoint=%s", checkpoints[number]),
        arena_printf(arena, "run.recovery=%s", recoveries[number]),
    };
    return fixture_scenario(arena, &(struct fixture_source){.path = "scenarios/quickstart.yaml",
                                                            .sets = sets,
                                                            .set_count = SETS});
}

static void assert_runs_same(const struct result *a, const struct result *b)
{
    const struct run_result *x = &a->run;
    const struct run_result *y = &b->run;
    assert_int_equal(a->step.step_ns, b->step.step_ns);
    assert_memory_equal(a->step.gpu_ns, b->step.gpu_ns, sizeof a->step.gpu_ns);
    assert_string_equal(a->step.busiest_link, b->step.busiest_link);
    assert_memory_equal(x->account_s, y->account_s, sizeof x->account_s);
    assert_int_equal(x->repetitions, y->repetitions);
    assert_memory_equal(x->histories, y->histories, x->repetitions * sizeof *x->histories);
    assert_int_equal(x->regimes_simulated, y->regimes_simulated);
    const double figures[][2] = {
        {x->energy_kwh, y->energy_kwh},
        {x->cost_usd, y->cost_usd},
        {x->checkpoint_s, y->checkpoint_s},
        {x->checkpoint_persist_s, y->checkpoint_persist_s},
        {x->checkpoint_best_s, y->checkpoint_best_s},
        {x->data_stall_s, y->data_stall_s},
        {x->first_batch_s, y->first_batch_s},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        assert_memory_equal(&figures[i][0], &figures[i][1], sizeof(double));
    }
}

static void what_is_known_changes_no_policy(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct run_known *known = run_known_new();
    const struct run_request alone = {.folds = true, .build = "test"};
    struct run_request together = alone;
    together.known = known;
    struct result *mine = arena_array(arena, POLICIES, sizeof *mine);
    for (uint32_t i = 0; i < POLICIES; i++) {
        const struct scenario *scenario = policy(arena, i);
        struct result other;
        run_predict(arena, scenario, &alone, &other);
        run_predict(arena, scenario, &together, &mine[i]);
        assert_runs_same(&other, &mine[i]);
    }
    assert_true(mine[0].run.data_stall_s > 0);
    for (uint32_t i = 1; i < POLICIES; i++) { /* or the keys would prove nothing */
        assert_memory_not_equal(mine[i].run.histories, mine[i - 1].run.histories,
                                sizeof *mine[i].run.histories);
    }
    run_known_free(known);
    arena_free(arena);
}

/* All of them once more: nothing is simulated. */
static void each_is_simulated_once(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct run_known *known = run_known_new();
    const struct run_request request = {.folds = true, .build = "test", .known = known};
    struct result result;
    size_t simulated[2];
    for (uint32_t turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < POLICIES; i++) {
            run_predict(arena, policy(arena, i), &request, &result);
        }
        simulated[turn] = run_known_count(known);
    }
    assert_true(simulated[0] > POLICIES);
    assert_int_equal(simulated[1], simulated[0]);
    run_known_free(known);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_known_changes_no_policy),
        cmocka_unit_test(each_is_simulated_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
