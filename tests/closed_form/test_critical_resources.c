/* What a path names as its resource was used: what holds a share of the critical path as bytes over
 * a link keeps that link busy for that share of the step, or for what of it a library leaves idle.
 * And what the host computes is not told of its link.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "hw/fabric.h"
#include "train/critical/critical.h"
#include "train/step.h"
#include "support/assert_close.h"
#include "support/fixture.h"

static const struct scenario *simulate(struct arena *arena, const char *path, const char *set,
                                       struct step_result *step)
{
    const char *const sets[] = {set, NULL};
    const struct scenario *scenario = fixture_file(arena, path, sets);
    step_simulate(arena, scenario, &(struct step_request){.folds = true, .finds_path = true}, step);
    return scenario;
}

static double part_s(const struct critical *critical, enum critical_kind kind, const char *link)
{
    double s = 0;
    for (uint32_t i = 0; i < critical->count; i++) {
        const struct critical_part *part = &critical->parts[i];
        if (part->kind == kind && (link == NULL || strcmp(part->link, link) == 0)) {
            s += (double)part->ns * 1e-9;
        }
    }
    return s;
}

/* Quickstart's 8.03e9 parameters are owned by 64 GPUs each once: 125.5 million. The host reads a
 * gradient of 4 bytes, reads and writes a master weight of 4 and moments of 8: 28 bytes at 25 GB/s
 * are 0.1405 s (norms, which TP does not cut, are 3e-5 of it more). Gradients of 4 bytes go there
 * and weights of 2 come back over a link of 63 GB/s: 0.0080 and 0.0040 s. All of it was "bytes
 * over host link". */
static void what_the_host_computes_is_not_its_link(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct step_result step;
    simulate(arena, "scenarios/quickstart.yaml", "offload.optimizer=100 %", &step);
    assert_close(part_s(step.path, CRITICAL_HOST, NULL), 8030261248.0 / 64 * 28 / 25e9, 1e-4);
    const double there_s = part_s(step.path, CRITICAL_BYTES, link_titles[LINK_HOST]);
    const double back_s = part_s(step.path, CRITICAL_BYTES, "host link, back");
    assert_close(there_s, 8030261248.0 / 64 * 4 / 63e9, 0.01);
    assert_close(there_s / back_s, 2, 1e-6);
    assert_int_equal(critical_of_cause(step.path, CAUSE_EXPOSED_OFFLOAD),
                     llround((part_s(step.path, CRITICAL_HOST, NULL) + there_s + back_s) * 1e9));
    arena_free(arena);
}

/* The least that transfers of these scenarios reach of an idle link: collectives, or exchanges of
 * experts, whose kernels have a share of it by the software. */
static double reached_by(const struct software *software)
{
    return fmin(0.85, 0.98 * fmin(software->exchange_bandwidth, software->exchange_network));
}

static void assert_used(const char *name, double reached, const struct step_result *step)
{
    const double step_s = (double)step->path->length_ns * 1e-9;
    uint32_t asked = 0;
    for (uint32_t i = 0; i < step->link_use_count; i++) {
        const struct link_use *use = &step->link_uses[i];
        const double held = part_s(step->path, CRITICAL_BYTES, use->kind) / step_s;
        asked += held > 0;
        if (use->utilisation_max < reached * held) {
            print_error("%s: %s holds %.3f, used %.3f\n", name, use->kind, held,
                        use->utilisation_max);
        }
        assert_true(use->utilisation_max >= reached * held);
    }
    assert_true(asked > 0);
}

static void what_holds_the_path_was_used(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"scenarios/quickstart.yaml", "offload.optimizer=100 %"},
        {"scenarios/quickstart.yaml", "offload.activation_layers=8"},
        {"scenarios/quickstart.yaml", "gpus=8"},
        {"scenarios/bloom-176b-384.yaml", NULL},
        {"scenarios/mixtral-8x7b-64.yaml", NULL},
        {"scenarios/mixtral-8x22b-five-groups.yaml", NULL},
        {"scenarios/qwen3-30b-16.yaml", NULL},
        {"scenarios/study-fabric-70b.yaml", "cluster.network=100 Gbps"},
        {"scenarios/study-fabric-405b.yaml", "cluster.network=100 Gbps"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *arena = arena_new();
        struct step_result step;
        const struct scenario *scenario = simulate(arena, cases[i][0], cases[i][1], &step);
        assert_used(cases[i][0], reached_by(&scenario->software), &step);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_host_computes_is_not_its_link),
        cmocka_unit_test(what_holds_the_path_was_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
