/* Speed of layouts tried one after the other in one process, as a worker of `search` does: laid
 * out, judged and simulated, without a bound that leaves any out and without a database.
 *
 *     bench_evaluate SCENARIO 1f1b|interleaved COUNT
 *
 * evaluates COUNT layouts that differ in how many chunks a stage has (interleaved: 2 to 12), in
 * ZeRO, in what is recomputed and in whether sequences are sharded; those that do not go together
 * are passed over. When all were tried, an evaluator that knows none of them begins anew. Says on
 * stderr how many a CPU-second. Without arguments: some of each schedule.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/host.h"
#include "input/relayout.h"
#include "study/evaluate.h"
#include "support/fixture.h"

enum { MODULE_SETS = 8, ZERO_STAGES = 2, CHUNKS_MOST = 12 };

/* Layout number `index` of those that are tried; after the last one comes the first again. */
static struct relayout layout_at(const struct scenario *scenario, bool is_interleaved, int index)
{
    struct relayout layout = relayout_of(scenario);
    layout.is_sequence_parallel = index % 2 != 0;
    index /= 2;
    const uint32_t modules = (uint32_t)(index % MODULE_SETS);
    layout.recompute = (struct recompute){
        .kind = modules != 0 ? RECOMPUTE_SELECTIVE : RECOMPUTE_NONE, .modules = modules};
    index /= MODULE_SETS;
    layout.zero = index % ZERO_STAGES;
    index /= ZERO_STAGES;
    layout.schedule = is_interleaved ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B;
    layout.virtual_stages = is_interleaved ? 2 + index % (CHUNKS_MOST - 1) : 1;
    return layout;
}

/* How many differ. */
static int layouts_of(bool is_interleaved)
{
    return 2 * MODULE_SETS * ZERO_STAGES * (is_interleaved ? CHUNKS_MOST - 1 : 1);
}

static int evaluate(const struct scenario *scenario, bool is_interleaved, int count)
{
    struct arena *kept = arena_new();
    struct arena *arena = arena_new();
    struct evaluator *evaluator = evaluator_new(kept, scenario, true);
    int simulated = 0;
    const double begin_s = host_cpu_s();
    for (int index = 0; simulated < count; index++) {
        if (index > 0 && index % layouts_of(is_interleaved) == 0) { /* none is tried twice by one */
            evaluator_free(evaluator);
            arena_reset(kept);
            evaluator = evaluator_new(kept, scenario, true);
        }
        const struct relayout layout = layout_at(scenario, is_interleaved, index);
        const struct scenario *tried =
            evaluator_lay_out(evaluator, arena, &layout, diag_new(arena));
        if (tried != NULL) {
            struct step_result step;
            evaluator_simulate(evaluator, arena, tried, 0, &step);
            simulated++;
        } else if (simulated == 0 && index == layouts_of(is_interleaved)) {
            fprintf(stderr, "none of the layouts goes together\n");
            return 1;
        }
        arena_reset(arena);
    }
    fprintf(stderr, "%d layouts, %s: %.0f a CPU-second\n", count,
            is_interleaved ? "interleaved" : "1f1b", count / (host_cpu_s() - begin_s));
    evaluator_free(evaluator);
    arena_free(arena);
    arena_free(kept);
    return 0;
}

int main(int count, char **arguments)
{
    const char *path = count > 1 ? arguments[1] : "scenarios/gpt3-175b-4096.yaml";
    const struct scenario *scenario =
        fixture_scenario(arena_new(), &(struct fixture_source){.path = path});
    if (count == 4) {
        return evaluate(scenario, strcmp(arguments[2], "interleaved") == 0,
                        (int)strtol(arguments[3], NULL, 10));
    }
    return evaluate(scenario, false, 200) + evaluate(scenario, true, 100);
}
