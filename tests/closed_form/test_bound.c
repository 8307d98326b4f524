/* A lower bound that is one: against simulated steps of random scenarios. */
#include "base/arena.h"
#include "base/diag.h"
#include "base/rng.h"
#include "input/doc/doc.h"
#include "input/scenario_load.h"
#include "support/assert_close.h"
#include "support/random_scenario.h"
#include "support/seeds.h"
#include "support/share.h"
#include "train/bound/bound.h"
#include "train/bound/pipeline.h"
#include "train/fold.h"
#include "train/step.h"
#include "train/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCENARIOS = 1000 };

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Everything that random scenarios have, each kind of group, schedule, ZeRO stage: the bound is at
 * most the simulated step, to the nanosecond, and not worth nothing: half of what is simulated at
 * the median. */
static void no_simulated_step_is_shorter_than_its_bound(void **state)
{
    (void)state;
    static double shares[SCENARIOS];
    const uint64_t count = share_of(SCENARIOS);
    uint32_t broken = 0;
    for (uint64_t number = 0; number < count; number++) {
        struct arena *arena = arena_new();
        struct scenario *scenario = random_scenario(arena, 77, number);
        struct step_result step;
        step_simulate(arena, scenario, &(struct step_request){.folds = true}, &step);
        const struct bound bound = bound_step(scenario);
        shares[number] = (double)bound.step_ns / (double)step.step_ns;
        if (bound.step_ns > step.step_ns) {
            broken++;
            fprintf(stderr, "scenario %llu: bound %.6f of the step\n%s\n",
                    (unsigned long long)number, shares[number],
                    broken < 3 ? random_scenario_text(arena, 77, number) : "");
        }
        arena_free(arena);
    }
    qsort(shares, count, sizeof *shares, compare);
    fprintf(stderr, "bound over step: p1 %.3f p10 %.3f median %.3f p90 %.3f most %.6f\n",
            shares[count / 100], shares[count / 10], shares[count / 2], shares[count - count / 10],
            shares[count - 1]);
    assert_int_equal(broken, 0);
    assert_true(shares[count / 2] > 0.5);
}

/* On a slow network a step is what it gathers and reduces: of that the bound has all but latencies
 * and what is not in layers, 92 to 98 % of the step; a third more of either would be above it. */
static void data_parallelism_that_nothing_hides_is_in_the_bound(void **state)
{
    (void)state;
    static const struct catalogue here = {.directories = {"."}, .count = 1};
    const char *sets[] = {"cluster.nics.bandwidth=5 Gbps"};
    static const struct {
        const char *zero, *schedule;
        double least;
        const char *model;
    } rows[] = {{"0", "1f1b", 0.9, "llama2-70b"},
                {"1", "1f1b", 0.9, "llama2-70b"},
                {"0", "interleaved, virtual_stages: 4", 0.9, "llama2-70b"},
                {"1", "interleaved, virtual_stages: 4", 0.9, "llama2-70b"},
                {"1", "zb-h1", 0.9, "llama2-70b"},
                /* experts of two of eight replicas are the same; of all, as dense ones */
                {"0", "1f1b, ep: 4, etp: 2", 0.9, "mixtral-8x7b"},
                {"1", "1f1b, ep: 4, etp: 2", 0.9, "mixtral-8x7b"},
                {"1", "1f1b, ep: 1, etp: 2", 0.9, "mixtral-8x7b"}};
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_new();
        struct diag *diag = diag_new(arena);
        const char *text = arena_printf(
            arena,
            "model: %s\ncluster: h100-400\ngpus: 64\nsoftware: megatron-2024\n"
            "parallel: {tp: 2, pp: 4, sequence_parallel: true, zero: %s, schedule: %s}\n"
            "batch: {global: 32, micro: 1, sequence_length: 2048}\n",
            rows[i].model, rows[i].zero, rows[i].schedule);
        const struct doc_node *document = doc_parse(arena, "exposed", text, strlen(text), diag);
        const struct scenario *scenario = scenario_resolve(arena, document, &here, sets, 1, diag);
        assert_non_null(scenario);
        struct step_result step;
        step_simulate(arena, scenario, &(struct step_request){.folds = true}, &step);
        const double share = (double)bound_step(scenario).step_ns / (double)step.step_ns;
        fprintf(stderr, "zero %s, %s: %.3f of the step\n", rows[i].zero, rows[i].schedule, share);
        assert_true(share <= 1);
        assert_true(share > rows[i].least);
        arena_free(arena);
    }
}

/* ZeRO 0 sums over all 8 replicas, ZeRO 1 with groups of one, two or four in other groups. A search
 * has both in one family, made of either: a line's bound is the same in each, and at most the step.
 */
static void a_line_has_the_bound_of_its_own_groups_in_any_family(void **state)
{
    (void)state;
    static const struct catalogue here = {.directories = {"."}, .count = 1};
    static const char *const lines[][2] = {{"parallel.zero=0", "parallel.zero_group=2"},
                                           {"parallel.zero=1", "parallel.zero_group=1"},
                                           {"parallel.zero=1", "parallel.zero_group=2"},
                                           {"parallel.zero=2", "parallel.zero_group=4"},
                                           {"parallel.zero=1", "parallel.zero_group=8"}};
    static const struct recompute none = {.kind = RECOMPUTE_NONE};
    static const char text[] =
        "model: llama3-8b\ncluster: h100-400\ngpus: 16\nsoftware: megatron-2024\n"
        "parallel: {tp: 2, pp: 1, sequence_parallel: true, zero: 1}\n"
        "batch: {global: 16, micro: 1, sequence_length: 2048}\n";
    struct arena *arena = arena_new();
    struct bound_family *common = NULL; /* which is asked about one after the other */
    for (uint32_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct diag *diag = diag_new(arena);
        const struct doc_node *document = doc_parse(arena, "groups", text, strlen(text), diag);
        const char *zero_sets[] = {"parallel.zero=0"};
        const char *line_sets[] = {lines[i][0], lines[i][1]};
        const struct scenario *whole = scenario_resolve(arena, document, &here, zero_sets, 1, diag);
        const struct scenario *own = scenario_resolve(arena, document, &here, line_sets, 2, diag);
        assert_non_null(whole);
        assert_non_null(own);
        struct step_result step;
        step_simulate(arena, own, &(struct step_request){.folds = true}, &step);
        const struct scenario *first[] = {own, whole};
        int64_t bounds_ns[3];
        for (uint32_t k = 0; k < 3; k++) {
            struct bound_family *family =
                k == 2 ? common
                       : bound_family_new(arena, bound_ground_new(arena, first[k]), first[k]);
            common = common == NULL && k == 1 ? family : common;
            const struct bound_choice choice = {.plain = bound_option(family, &none)};
            bounds_ns[k] = bound_of(bound_line_new(arena, family, own), &choice).step_ns;
        }
        assert_int_equal(bounds_ns[0], bounds_ns[1]);
        assert_int_equal(bounds_ns[0], bounds_ns[2]);
        assert_true(bounds_ns[0] <= step.step_ns);
    }
    arena_free(arena);
}

/* ---- pairs ---------------------------------------------------------------------------- */

enum { PAIRS = 200 };

static const struct scenario *resolve_pairs(struct arena *arena, const char *text,
                                            const char *const *sets, uint32_t count)
{
    static const struct catalogue here = {.directories = {"."}, .count = 1};
    struct diag *diag = diag_new(arena);
    const struct doc_node *document = doc_parse(arena, "pairs", text, strlen(text), diag);
    assert_non_null(document);
    const struct scenario *scenario = scenario_resolve(arena, document, &here, sets, count, diag);
    if (scenario == NULL) {
        diag_print(diag, stderr);
    }
    assert_non_null(scenario);
    return scenario;
}

static double share_of_step(struct arena *arena, const struct scenario *scenario)
{
    struct step_result step;
    step_simulate(arena, scenario, &(struct step_request){.folds = true}, &step);
    return (double)bound_step(scenario).step_ns / (double)step.step_ns;
}

enum { DRAWN_MAX = 500 };

/* Of so many that are drawn none takes less than its bound: more than `median` of half of them. */
static void assert_bounds(const char *what,
                          const struct scenario *(*draw)(struct arena *, uint64_t), uint64_t count,
                          double median)
{
    double shares[DRAWN_MAX];
    for (uint64_t number = 0; number < count; number++) {
        struct arena *arena = arena_new();
        shares[number] = share_of_step(arena, draw(arena, number));
        if (shares[number] > 1) {
            fprintf(stderr, "%s %llu: bound %.6f of the step\n", what, (unsigned long long)number,
                    shares[number]);
        }
        assert_true(shares[number] <= 1);
        arena_free(arena);
    }
    qsort(shares, count, sizeof *shares, compare);
    fprintf(stderr, "bound over step of %s: p1 %.3f p10 %.3f median %.3f most %.6f\n", what,
            shares[count / 100], shares[count / 10], shares[count / 2], shares[count - 1]);
    assert_true(shares[count / 2] > median);
}

/* Experts, a schedule of pairs, and what makes exchanges long or short, and what they take. */
static const struct scenario *random_pairs(struct arena *arena, uint64_t number)
{
    static const char *const schedules[] = {
        "dualpipe, pp: 4",
        "dualpipev, pp: 2",
        "dualpipev, pp: 4",
        "dualpipe, pp: 2",
        "1f1b, pp: 2, overlap_experts: true",
        "interleaved, pp: 2, virtual_stages: 2, overlap_experts: true"};
    static const char *const recomputes[] = {"none", "{modules: [core-attention]}", "full",
                                             "{modules: [activation]}", "{layers: 3}"};
    static const char *const networks[] = {"400 Gbps", "800 Gbps", "3200 Gbps"};
    static const char *const sms[] = {"1", "32", "130"};
    static const char *const launches[] = {"7 us", "30 us"};
    const uint64_t draw = rng_hash_pair(number, 0x7061697273);
    const char *text = arena_printf(
        arena,
        "model: gpt-oss-20b\ncluster: h100-3200\ngpus: 64\nsoftware: megatron-2025\n"
        "parallel: {tp: %d, ep: %d, zero: %d, schedule: %s}\n"
        "batch: {global: %d, micro: 1, sequence_length: 2048}\nrecompute: %s\n",
        1 << draw / 4 % 2, 1 << (1 + draw / 8 % 3), (int)(draw / 64 % 2), schedules[draw / 128 % 6],
        128 << draw / 1024 % 2, recomputes[draw / 2048 % 5]);
    const char *sets[] = {
        arena_printf(arena, "cluster.network=%s", networks[draw / 16384 % 3]),
        arena_printf(arena, "software.interference.expert_sms=%s", sms[draw / 65536 % 3]),
        arena_printf(arena, "software.host.per_kernel=%s", launches[draw / 262144 % 2])};
    return resolve_pairs(arena, text, sets, 3);
}

/* Whether exchanges are hidden or not, slow or fast, and whatever they take of the GPU. */
static void no_step_of_pairs_is_shorter_than_its_bound(void **state)
{
    (void)state;
    assert_bounds("pairs", random_pairs, share_of(PAIRS), 0.45);
}

/* ---- slow networks -------------------------------------------------------------------- */

enum { SLOW = 300 };

/* Experts and pipelines whose messages, exchanges, gathers and reductions share NICs, with all that
 * may hide one beside another on or off: stages that have nodes for themselves, parts of nodes or
 * parts of several, fewer NICs than GPUs, up-links with less than the NICs. */
static const struct scenario *random_slow(struct arena *arena, uint64_t number)
{
    static const char *const schedules[] = {
        "1f1b, pp: 2",
        "1f1b, pp: 4",
        "gpipe, pp: 4",
        "interleaved, pp: 2, virtual_stages: 3",
        "interleaved, pp: 4, virtual_stages: 2",
        "interleaved, pp: 4, virtual_stages: 3, microbatch_group: 8",
        "zb-h1, pp: 4",
        "zb-v, pp: 2",
        "zb-v, pp: 4",
        "1f1b, pp: 4, overlap_experts: true",
        "interleaved, pp: 4, virtual_stages: 3, overlap_experts: true"};
    static const char *const clusters[] = {"h100-3200", "h100-400", "a100-80gb-1600"};
    static const char *const calls[] = {"together", "apart", "in-turn"};
    const uint64_t draw = rng_hash_pair(number, 0x736c6f77);
    const bool is_cut = draw / 4096 % 2 != 0; /* along the sequence */
    const char *text = arena_printf(
        arena,
        "model: gpt-oss-20b\ncluster: %s\ngpus: %d\nsoftware: megatron-2025\n"
        "parallel: {tp: %d, ep: %d, zero: %d, schedule: %s, %s}\n"
        "batch: {global: %d, micro: 1, sequence_length: 2048}\n",
        clusters[draw % 3], 32 << draw / 4 % 2, 1 << draw / 8 % 3,
        1 << draw / 32 % (is_cut ? 4 : 2), (int)(draw / 128 % 2), schedules[draw / 256 % 11],
        is_cut ? "sequence_parallel: true, etp: 1" : "sequence_parallel: false",
        128 << draw / 8192 % 2);
    const char *sets[] = {
        arena_printf(arena, "cluster.network=%d Gbps", 25 << draw / 32768 % 4),
        arena_printf(arena, "software.overlap.p2p=%s", draw / 131072 % 2 ? "true" : "false"),
        arena_printf(arena, "software.overlap.dp_gradients=%s",
                     draw / 262144 % 2 ? "true" : "false"),
        arena_printf(arena, "software.overlap.dp_parameters=%s",
                     draw / 524288 % 2 ? "true" : "false"),
        arena_printf(arena, "software.p2p.calls=%s", calls[draw / 1048576 % 3]),
        arena_printf(arena, "cluster.nics.latency=%d us", draw / 4194304 % 2 ? 2 : 20),
        arena_printf(arena, "cluster.nics.count=%d", draw / 8388608 % 2 ? 8 : 4)};
    return resolve_pairs(arena, text, sets, sizeof sets / sizeof *sets);
}

static void no_step_over_a_slow_network_is_shorter_than_its_bound(void **state)
{
    (void)state;
    assert_bounds("slow networks", random_slow, share_of(SLOW), 0.5);
}

enum { ASKED = 60 };

/* A run is left exactly if it ends later, and long before: when what an actor or a link still has
 * to do cannot be done in time. What needs twice the time is known after a part of it, and what
 * needs a twentieth more before the end. */
static void a_run_that_cannot_end_in_time_is_left(void **state)
{
    (void)state;
    static const double parts[] = {0.5, 0.95, 0.9999, 1.0, 1.0001, 1.1};
    uint64_t events[2] = {0, 0}, all = 0;
    for (uint64_t number = 0; number < share_of(ASKED); number++) {
        struct arena *arena = arena_new();
        const struct step_system *system = step_system_of(arena, random_slow(arena, number));
        const struct engine_system *run = &fold_system(arena, &system->engine)->engine;
        struct engine_outcome whole;
        engine_run(arena, run, &(struct engine_options){.only_length = true}, &whole);
        all += whole.events;
        for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            const sim_time until = (sim_time)((double)whole.jobs[0].end * parts[i]);
            struct engine_outcome outcome;
            const struct engine_options options = {.only_length = true, .until = until};
            engine_run(arena, run, &options, &outcome);
            assert_int_equal(outcome.is_cut, whole.jobs[0].end > until);
            assert_true(outcome.is_cut || outcome.jobs[0].end == whole.jobs[0].end);
            if (i < 2) {
                events[i] += outcome.events;
            }
        }
        arena_free(arena);
    }
    fprintf(stderr, "events until it is left, at half and at 0.95: %.3f and %.3f of all\n",
            (double)events[0] / (double)all, (double)events[1] / (double)all);
    assert_true(share() > 1 || (double)events[0] < 0.35 * (double)all);
    assert_true(share() > 1 || (double)events[1] < 0.9 * (double)all);
}

/* The same of a step, for who looks for a short one; what is not longer is the step itself. */
static void a_step_is_told_to_be_longer_if_it_is(void **state)
{
    (void)state;
    uint32_t longer = 0;
    for (uint64_t number = 0; number < share_of(ASKED); number++) {
        struct arena *arena = arena_new();
        const struct scenario *scenario = random_slow(arena, number);
        struct step_result step;
        struct step_result asked;
        step_simulate(arena, scenario, &(struct step_request){.folds = true}, &step);
        for (uint32_t part = 17; part < 23; part += 5) { /* 0.85 and 1.1 of the step */
            const int64_t enough_ns = step.step_ns / 20 * part;
            const struct step_request request = {.folds = true, .enough_ns = enough_ns};
            step_simulate(arena, scenario, &request, &asked);
            longer += asked.is_longer;
            assert_true(asked.is_longer ? step.step_ns > enough_ns : asked.step_ns == step.step_ns);
        }
        arena_free(arena);
    }
    assert_true(longer > share_of(ASKED) / 8);
}

/* Qwen3 235B on 256 H100 whose nodes have 50 Gbps: a microbatch's 16.8 MB cross a GPU's NIC in 24
 * ms, 512 times ahead and 512 back, which is 24.6 of 41 s, and what is gathered and reduced takes
 * 8. Where stages wait for messages (1f1b), or two stages are on a node, these are nearly all. */
static void messages_that_fill_the_network_are_in_the_bound(void **state)
{
    (void)state;
    static const struct {
        const char *parallel;
        double least;
    } rows[] = {
        {"tp: 2, pp: 16, ep: 8, schedule: interleaved, virtual_stages: 2", 0.79},
        {"tp: 2, pp: 8, ep: 8, schedule: interleaved, virtual_stages: 12", 0.6},
        {"tp: 2, pp: 16, ep: 8, schedule: 1f1b", 0.95},
        {"tp: 2, pp: 64, ep: 2, schedule: 1f1b", 0.75},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_new();
        const char *text = arena_printf(
            arena,
            "model: qwen3-235b-a22b\ncluster: h100-3200\ngpus: 256\nsoftware: megatron-2025\n"
            "parallel: {etp: 1, zero: 1, sequence_parallel: true, %s}\n"
            "batch: {global: 2048, micro: 1, sequence_length: 4096}\n",
            rows[i].parallel);
        const char *sets[] = {"cluster.network=50 Gbps"};
        const double share = share_of_step(arena, resolve_pairs(arena, text, sets, 1));
        fprintf(stderr, "%s: %.3f of the step\n", rows[i].parallel, share);
        assert_true(share <= 1);
        assert_true(share > rows[i].least);
        arena_free(arena);
    }
}

/* Where exchanges take longer than all that could hide them a step is little else: they queue. And
 * where they take nearly all SMs and are hidden, kernels get slower by what they take: at 130 of
 * 132 SMs a tenth of the rate is left, so a step has x + k less what is done meanwhile. */
static void exchanges_that_pairs_cannot_hide_are_in_the_bound(void **state)
{
    (void)state;
    static const struct {
        const char *network, *sms;
        double least;
    } rows[] = {{"100 Gbps", "1", 0.9}, {"3200 Gbps", "1", 0.89}, {"3200 Gbps", "130", 0.95}};
    const char *text = "model: gpt-oss-20b\ncluster: h100-3200\ngpus: 32\nsoftware: megatron-2025\n"
                       "parallel: {tp: 1, pp: 2, ep: 16, zero: 1, schedule: dualpipev}\n"
                       "batch: {global: 512, micro: 1, sequence_length: 4096}\n";
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_new();
        const char *sets[] = {
            arena_printf(arena, "cluster.network=%s", rows[i].network),
            arena_printf(arena, "software.interference.expert_sms=%s", rows[i].sms)};
        const double share = share_of_step(arena, resolve_pairs(arena, text, sets, 2));
        fprintf(stderr, "%s, %s SMs: %.3f of the step\n", rows[i].network, rows[i].sms, share);
        assert_true(share <= 1);
        assert_true(share > rows[i].least);
        arena_free(arena);
    }
}

/* Attention that is computed again takes time in layers with experts, too. */
static void modules_computed_again_beside_experts_count(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *text = "model: mixtral-8x7b\ncluster: h100-3200\ngpus: 16\n"
                       "software: megatron-2025\nparallel: {tp: 1, ep: 8, zero: 1}\n"
                       "batch: {global: 64, micro: 1, sequence_length: 4096}\n";
    const char *sets[] = {"recompute={modules: [core-attention]}"};
    const int64_t plain_ns = bound_step(resolve_pairs(arena, text, NULL, 0)).step_ns;
    const int64_t again_ns = bound_step(resolve_pairs(arena, text, sets, 1)).step_ns;
    assert_true((double)again_ns > 1.01 * (double)plain_ns);
    arena_free(arena);
}

/* One GPU waits for nobody, many for the slowest of them, in proportion to what they are busy: a
 * step of the same kernels on 8 and on 64 GPUs has both in its bound, within a hundredth. */
static void the_wait_for_the_slowest_is_in_the_bound(void **state)
{
    (void)state;
    static const char *const gpus[] = {"8", "64"};
    for (uint32_t i = 0; i < 2; i++) {
        struct arena *arena = arena_new();
        const char *sets[] = {arena_printf(arena, "gpus=%s", gpus[i]),
                              arena_printf(arena, "batch.global=%s", gpus[i])};
        const char *text = "model: llama3-8b\ncluster: h100-3200\nsoftware: megatron-2024\n"
                           "gpus: 8\nparallel: {tp: 1, zero: 1}\n"
                           "batch: {global: 8, micro: 1, sequence_length: 8192}\n";
        const struct scenario *scenario = resolve_pairs(arena, text, sets, 2);
        struct step_result step;
        step_simulate(arena, scenario, &(struct step_request){.folds = true}, &step);
        const struct bound bound = bound_step(scenario);
        assert_true(bound.wait_ns <= step.jitter_ns);
        assert_true((double)bound.wait_ns > 0.93 * (double)step.jitter_ns);
        arena_free(arena);
    }
}

/* Where one thing takes the step's time the bound is nearly the step: kernels one after the other
 * and between them collectives of tensor parallelism; activations on their way to a slow host, of
 * two chunks, with layers that are computed again among them; parameters that FSDP gathers and
 * gradients that it reduces, which both queue for the NICs; pipelines with hardly a bubble; kernels
 * of experts that the host launches when it has read what the router chose (0.943 without these
 * waits). */
static void what_takes_the_time_is_in_the_bound(void **state)
{
    (void)state;
    static const struct {
        const char *text, *set;
        double least;
    } rows[] = {
        {"model: llama3-8b\ncluster: h100-3200\ngpus: 8\nsoftware: megatron-2024\n"
         "parallel: {tp: 8, zero: 1}\nbatch: {global: 8, micro: 1, sequence_length: 8192}\n",
         "seed=1", 0.97},
        {"model: llama3-8b\ncluster: h100-3200\ngpus: 16\nsoftware: megatron-2024\n"
         "parallel: {tp: 8, pp: 2, virtual_stages: 2, schedule: interleaved, zero: 1}\n"
         "batch: {global: 8, micro: 1, sequence_length: 8192}\nrecompute: {layers: 3}\n"
         "offload: {activation_layers: 12}\n",
         "gpu.host_link=0.1 GB/s", 0.6},
        {"model: llama3-8b\ncluster: h100-3200\ngpus: 16\nsoftware: torch-fsdp-2024\n"
         "parallel: {tp: 1, zero: 3}\nbatch: {global: 16, micro: 1, sequence_length: 2048}\n",
         "cluster.nics.bandwidth=5 Gbps", 0.9},
        {"model: llama3-8b\ncluster: h100-3200\ngpus: 4\nsoftware: megatron-2024\n"
         "parallel: {tp: 1, pp: 4, zero: 1, schedule: dualpipev}\n"
         "batch: {global: 32, micro: 1, sequence_length: 2048}\n",
         "seed=1", 0.98},
        {"model: llama3-8b\ncluster: h100-3200\ngpus: 4\nsoftware: megatron-2024\n"
         "parallel: {tp: 1, pp: 4, zero: 1, schedule: zb-v}\n"
         "batch: {global: 32, micro: 1, sequence_length: 2048}\n",
         "seed=1", 0.98},
        {"model: qwen3-30b-a3b\ncluster: b200-3200\ngpus: 8\nsoftware: megatron-2025\n"
         "parallel: {tp: 1, ep: 8, zero: 1}\n"
         "batch: {global: 64, micro: 4, sequence_length: 2048}\n",
         "seed=1", 0.98},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_new();
        const double share =
            share_of_step(arena, resolve_pairs(arena, rows[i].text, &rows[i].set, 1));
        fprintf(stderr, "row %zu: %.4f of the step\n", i, share);
        assert_true(share <= 1);
        assert_true(share > rows[i].least);
        arena_free(arena);
    }
}

/* ---- the walk through a pipeline ------------------------------------------------------- */

enum { PIECES = 8, STAGES = 4 };

struct walk {
    struct arena *arena;
    struct schedule_shape shape;
    struct pipeline_costs costs;
    uint32_t pieces[PIECES];
    int64_t gathered_ns[PIECES], reduce_ns[PIPELINE_QUEUES][PIECES];
    int64_t action_ns[PIPELINE_OPERATIONS][PIECES], pair_ns[PIECES * PIECES];
    int64_t leaving_ns[BORDER_WAYS][STAGES], latency_ns[BORDER_WAYS][STAGES];
    int64_t shared_ns[BORDER_WAYS][STAGES], nic_ns[BORDER_WAYS][STAGES];
    int64_t nic_gather_ns[STAGES], nic_reduce_ns[PIECES];
};

/* Every message. */
static void set_messages(struct walk *walk, int64_t leaving_ns, int64_t latency_ns)
{
    for (uint32_t way = 0; way < BORDER_WAYS; way++) {
        for (uint32_t s = 0; s < STAGES; s++) {
            walk->leaving_ns[way][s] = leaving_ns;
            walk->latency_ns[way][s] = latency_ns;
        }
    }
}

/* Four stages; pieces in a loop, or in a vee of two chunks. Forward 3, both gradients 7, of these
 * 4 of the inputs. */
static void walk_init(struct walk *walk, enum schedule_kind kind, uint32_t chunks, uint32_t count)
{
    static const int64_t times_ns[PIPELINE_OPERATIONS] = {3, 7, 4, 3};
    *walk = (struct walk){.arena = arena_new(), .shape = {kind, STAGES, chunks, count, NULL, 0, 0}};
    for (uint32_t i = 0; i < STAGES * chunks; i++) {
        const uint32_t stage = i / chunks;
        const bool is_back = kind == SCHEDULE_ZB_V && i % chunks == 1;
        walk->pieces[i] = is_back ? 2 * STAGES - 1 - stage : i % chunks * STAGES + stage;
        for (uint32_t k = 0; k < PIPELINE_OPERATIONS; k++) {
            walk->action_ns[k][i] = times_ns[k];
        }
    }
    for (uint32_t k = 0; k < PIPELINE_OPERATIONS; k++) {
        walk->costs.action_ns[k] = walk->action_ns[k];
    }
    walk->costs.gathered_ns = walk->gathered_ns;
    walk->costs.nic_gather_ns = walk->nic_gather_ns;
    walk->costs.nic_reduce_ns = walk->nic_reduce_ns;
    for (uint32_t way = 0; way < BORDER_WAYS; way++) {
        walk->costs.border.leaving_ns[way] = walk->leaving_ns[way];
        walk->costs.border.latency_ns[way] = walk->latency_ns[way];
        walk->costs.border.shared_ns[way] = walk->shared_ns[way];
        walk->costs.border.nic_ns[way] = walk->nic_ns[way];
    }
    for (uint32_t i = 0; i < PIPELINE_QUEUES; i++) {
        walk->costs.reduce_ns[i] = walk->reduce_ns[i];
    }
}

static const int64_t *walk_ends(const struct walk *walk)
{
    return pipeline_walk(pipeline_new(walk->arena, &walk->shape, walk->pieces), &walk->costs);
}

/* The schedules' own oracle finds the longest path by other means. */
static void a_walk_ends_when_the_longest_path_does(void **state)
{
    (void)state;
    static const struct {
        enum schedule_kind kind;
        uint32_t chunks;
    } rows[] = {{SCHEDULE_GPIPE, 1}, {SCHEDULE_1F1B, 1},  {SCHEDULE_INTERLEAVED, 2},
                {SCHEDULE_ZB_H1, 1}, {SCHEDULE_ZB_H2, 1}, {SCHEDULE_ZB_V, 2}};
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (uint32_t latency = 0; latency < 3; latency++) {
            struct walk walk;
            walk_init(&walk, rows[i].kind, rows[i].chunks, 8);
            set_messages(&walk, 0, latency);
            assert_true(pipeline_is_possible(&walk.shape));
            const struct schedule_costs costs = {3, 4, 3, 0, latency};
            const struct schedule_times times = schedule_evaluate(
                walk.arena, &walk.shape, schedule_orders(walk.arena, &walk.shape), &costs);
            const int64_t *ends_ns = walk_ends(&walk);
            int64_t most_ns = 0;
            for (uint32_t s = 0; s < STAGES; s++) {
                most_ns = ends_ns[s] > most_ns ? ends_ns[s] : most_ns;
                assert_int_equal(ends_ns[STAGES + s], ends_ns[s] - (rows[i].kind < 3 ? 7 : 3));
            }
            assert_close((double)most_ns, times.makespan, 1e-12);
            arena_free(walk.arena);
        }
    }
}

/* A forward beside a backward takes 8, which is less than both: as the oracle has it, with one
 * chunk a stage and with two. */
static void pairs_walk_together(void **state)
{
    (void)state;
    enum { PAIR_NS = 8 };
    for (uint32_t chunks = 1; chunks <= 2; chunks++) {
        for (uint32_t latency = 0; latency < 3; latency++) {
            struct walk walk;
            walk_init(&walk, chunks > 1 ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B, chunks, 8);
            walk.shape.pairs = true;
            set_messages(&walk, 0, latency);
            walk.costs.pair_ns = walk.pair_ns;
            for (uint32_t i = 0; i < PIECES * PIECES; i++) {
                walk.pair_ns[i] = PAIR_NS;
            }
            const struct schedule_costs costs = {3, 4, 3, PAIR_NS, latency};
            const struct schedule_times times = schedule_evaluate(
                walk.arena, &walk.shape, schedule_orders(walk.arena, &walk.shape), &costs);
            const int64_t *ends_ns = walk_ends(&walk);
            int64_t most_ns = 0;
            for (uint32_t s = 0; s < STAGES; s++) {
                most_ns = ends_ns[s] > most_ns ? ends_ns[s] : most_ns;
            }
            assert_close((double)most_ns, times.makespan, 1e-12);
            arena_free(walk.arena);
        }
    }
}

/* Two microbatches, 10 each on each of four stages: (2 + 3) * 10. A message leaves for 2 and is
 * under way for 1; three hops there and three back are 18. The first microbatch's way, with the
 * second behind it on the last stage: where stages wait until a message has left, 2 more before the
 * second's backward there. Each of six actions on the way that have a message takes 5 more for it,
 * and the last stage's first forward, too.
 */
static void messages_are_on_the_way_and_stages_wait_for_them_or_not(void **state)
{
    (void)state;
    struct walk walk;
    walk_init(&walk, SCHEDULE_1F1B, 1, 2);
    assert_int_equal(walk_ends(&walk)[0], 50);
    set_messages(&walk, 2, 1);
    assert_int_equal(walk_ends(&walk)[0], 50 + 18);
    walk.costs.blocks = true;
    assert_int_equal(walk_ends(&walk)[0], 50 + 18 + 2);
    walk.costs.blocks = false;
    walk.costs.receive_ns[true] = 5; /* 3 forwards and the last stage's first */
    assert_int_equal(walk_ends(&walk)[0], 50 + 18 + 4 * 5);
    walk.costs.receive_ns[false] = 5;
    assert_int_equal(walk_ends(&walk)[0], 50 + 18 + 6 * 5 + 5);
    arena_free(walk.arena);
}

/* GPipe with eight microbatches, 3 forward and 7 backward. Messages ahead leave stage 0 for 10
 * each, the first from 3 on, so the last has left at 83; that of stage 0 alone are slow, others
 * take nothing: the last stage's last forward ends at 83 + 9, and backwards follow at once: 8 *
 * 7, and three stages more of the last: 92 + 56 + 21 = 169. A link that both ways of stage 1
 * share, 20 ahead and 100 back: the first is there from 16 on, and the last has left eight of
 * each later. NICs have 50 gathered in front of that, and 1000 that are reduced from the begin of
 * the last backward on.
 */
static void messages_queue_each_way_and_on_what_both_share(void **state)
{
    (void)state;
    enum { COUNT = 8 };
    struct walk walk;
    walk_init(&walk, SCHEDULE_GPIPE, 1, COUNT);
    walk.leaving_ns[BORDER_AHEAD][0] = 10;
    for (uint32_t way = 0; way < BORDER_WAYS; way++) {
        walk.shared_ns[way][1] = walk.nic_ns[way][1] = way == BORDER_AHEAD ? 20 : 100;
    }
    walk.nic_gather_ns[1] = 50;
    walk.nic_reduce_ns[1] = 1000;
    const int64_t *ends_ns = walk_ends(&walk);
    assert_int_equal(ends_ns[0], 169);
    assert_int_equal(ends_ns[PIPELINE_SENT * STAGES + 1], 16 + COUNT * (20 + 100));
    assert_int_equal(ends_ns[PIPELINE_NICS_SENT * STAGES + 1], 50 + COUNT * (20 + 100));
    assert_int_equal(ends_ns[PIPELINE_NICS * STAGES + 1], 50 + COUNT * (20 + 100) + 1000);
    walk.nic_gather_ns[1] = 0;
    walk.nic_ns[BORDER_AHEAD][1] = walk.nic_ns[BORDER_BACK][1] = 0;
    assert_int_equal(walk_ends(&walk)[PIPELINE_NICS * STAGES + 1], 169 - 7 - 7 + 1000);
    arena_free(walk.arena);
    /* 1f1b with four: stage 1 is done with the first backward at 33, and what it sends back then
     * does not keep its last forward, which is there in time: 9 + 4 * 10. */
    walk_init(&walk, SCHEDULE_1F1B, 1, 4);
    walk.leaving_ns[BORDER_BACK][1] = 100;
    assert_int_equal(walk_ends(&walk)[STAGES - 1], 49);
    arena_free(walk.arena);
}

/* GPipe with two microbatches: stage 0 forward from 0 to 6, the last backwards from 36 to 43 (the
 * first) and 43 to 50. Its parameters there at 10 delay everything behind the first forward by 7.
 * Its gradients leave beside its last backward: from 43 on. */
static void parameters_come_before_the_first_forward_and_gradients_leave_with_the_last(void **state)
{
    (void)state;
    struct walk walk;
    walk_init(&walk, SCHEDULE_GPIPE, 1, 2);
    walk.reduce_ns[0][0] = 100;
    const int64_t *ends_ns = walk_ends(&walk);
    assert_int_equal(ends_ns[0], 50);
    assert_int_equal(ends_ns[STAGES], 43 + 100);
    walk.gathered_ns[0] = 10;
    assert_int_equal(walk_ends(&walk)[0], 57);
    walk.gathered_ns[0] = 3; /* in time */
    assert_int_equal(walk_ends(&walk)[0], 50);
    arena_free(walk.arena);
    /* Two chunks: the later one's gradients leave first, and the other's queue behind them. The
     * last two backwards of chunk 1 on stage 0 end 28 before the last of chunk 0. */
    walk_init(&walk, SCHEDULE_INTERLEAVED, 2, 4);
    const int64_t end_ns = walk_ends(&walk)[0];
    walk.reduce_ns[0][0] = 10;
    walk.reduce_ns[0][STAGES] = 200;
    walk.reduce_ns[1][0] = 5; /* experts', in a queue of their own */
    walk.reduce_ns[1][STAGES] = 300;
    assert_int_equal(walk_ends(&walk)[STAGES], end_ns - 7 - 4 * 7 + 200 + 10);
    assert_int_equal(walk_ends(&walk)[2 * STAGES], end_ns - 7 - 4 * 7 + 300 + 5);
    arena_free(walk.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_simulated_step_is_shorter_than_its_bound),
        cmocka_unit_test(no_step_of_pairs_is_shorter_than_its_bound),
        cmocka_unit_test(no_step_over_a_slow_network_is_shorter_than_its_bound),
        cmocka_unit_test(a_run_that_cannot_end_in_time_is_left),
        cmocka_unit_test(a_step_is_told_to_be_longer_if_it_is),
        cmocka_unit_test(messages_that_fill_the_network_are_in_the_bound),
        cmocka_unit_test(exchanges_that_pairs_cannot_hide_are_in_the_bound),
        cmocka_unit_test(what_takes_the_time_is_in_the_bound),
        cmocka_unit_test(modules_computed_again_beside_experts_count),
        cmocka_unit_test(the_wait_for_the_slowest_is_in_the_bound),
        cmocka_unit_test(data_parallelism_that_nothing_hides_is_in_the_bound),
        cmocka_unit_test(a_line_has_the_bound_of_its_own_groups_in_any_family),
        cmocka_unit_test(a_walk_ends_when_the_longest_path_does),
        cmocka_unit_test(pairs_walk_together),
        cmocka_unit_test(messages_are_on_the_way_and_stages_wait_for_them_or_not),
        cmocka_unit_test(messages_queue_each_way_and_on_what_both_share),
        cmocka_unit_test(
            parameters_come_before_the_first_forward_and_gradients_leave_with_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
