/* The time of one layer of the 22B model on 8 A100 with TP8, forward and backward, in five ways
 * to recompute: table 4 of Korthikanti et al., Reducing Activation Recomputation in Large
 * Transformer Models, https://arxiv.org/abs/2205.05198, May 2022. It holds products, elementwise
 * kernels and the exposed collectives of tensor parallelism; no pipeline, no data parallelism, no
 * optimizer.
 *
 * Times are those of the pipeline's picture: a model of 4 layers less one of 2 leaves 2 layers
 * without embedding and loss.
 */
#include "base/arena.h"
#include "input/catalogue.h"
#include "input/scenario.h"
#include "train/timeline.h"
#include "support/fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const char SCENARIO[] = "scenarios/korthikanti-22b-full.yaml";
static const double TOLERANCE = 0.075;

struct layer_way {
    const char *name;
    const char *sequence_parallel, *recompute; /* assignments */
    double forward_ms, backward_ms;            /* published; backward with what it recomputes */
};

static const struct layer_way ways[] = {
    {"no recomputation", "parallel.sequence_parallel=false", "recompute=none", 7.7, 11.9},
    {"sequence parallelism", "parallel.sequence_parallel=true", "recompute=none", 7.2, 11.8},
    {"full recomputation", "parallel.sequence_parallel=false", "recompute=full", 7.7, 19.5},
    {"selective", "parallel.sequence_parallel=false", "recompute=selective", 7.7, 13.2},
    {"selective, sequence parallel", "parallel.sequence_parallel=true", "recompute=selective", 7.2,
     13.1},
};

#define WAYS (sizeof ways / sizeof ways[0])

struct pass_times {
    double forward_ms, backward_ms;
};

static struct pass_times times_of(const struct layer_way *way, const char *layers)
{
    struct arena *arena = arena_new();
    const char *const sets[] = {way->sequence_parallel, way->recompute, layers};
    const struct scenario *scenario = fixture_scenario(
        arena, &(struct fixture_source){.path = SCENARIO, .sets = sets, .set_count = 3});
    struct timeline timeline;
    timeline_simulate(arena, scenario, &(struct timeline_request){.folds = true}, &timeline);
    struct pass_times times = {0, 0};
    for (size_t i = 0; i < timeline.rows[0].count; i++) {
        const struct timeline_bar *bar = &timeline.rows[0].bars[i];
        const double length_ms = (double)(bar->end - bar->start) * 1e-6;
        const bool is_action = bar->kind == TIMELINE_ACTION;
        const bool is_forward = is_action && bar->action.operation == SCHEDULE_FORWARD;
        times.forward_ms += is_forward ? length_ms : 0.0;
        times.backward_ms += is_action && !is_forward ? length_ms : 0.0;
    }
    arena_free(arena);
    return times;
}

static int is_missed(const char *name, const char *pass, double predicted, double published)
{
    const double error = predicted / published - 1.0;
    print_message("%-30s %-8s predicted %6.2f ms published %6.2f ms error %+5.1f %%\n", name, pass,
                  predicted, published, 100.0 * error);
    return fabs(error) > TOLERANCE;
}

static void a_layer_takes_as_long_as_published(void **state)
{
    (void)state;
    int missed = 0;
    for (size_t i = 0; i < WAYS; i++) {
        const struct pass_times two = times_of(&ways[i], "model.layers=2");
        const struct pass_times four = times_of(&ways[i], "model.layers=4");
        missed += is_missed(ways[i].name, "forward", (four.forward_ms - two.forward_ms) / 2.0,
                            ways[i].forward_ms);
        missed += is_missed(ways[i].name, "backward", (four.backward_ms - two.backward_ms) / 2.0,
                            ways[i].backward_ms);
    }
    assert_int_equal(missed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_takes_as_long_as_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
