/* Exchanges of tokens with experts against what the authors of their kernels measured: DeepEP's and
 * HybridEP's tables, in tests/published/exchanges.csv. Tokens of 7,168 values, each to 8 experts
 * that are drawn evenly.
 *
 * Their bandwidth is that of bytes they count, a rank's own included: of each token once to each
 * node that has any of its experts (nodes), or to each rank (ranks). So the time is that of the
 * kernels alone: what the profile takes besides, to prepare buffers and sizes, is left out here,
 * and what a step takes of the bandwidth is, too. Prints the error of each. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "plan/routing.h"
#include "support/fixture.h"
#include "train/system.h"

#define PER_NODE 8
#define HIDDEN 7168
#define TOP_K 8

struct row {
    char name[48], cluster[32], sent_as[8], counted[8];
    int gpus, experts, tokens;
    double gb_per_s;
};

static bool read_row(const char *line, struct row *row)
{
    return sscanf(line, "%47[^,],%31[^,],%d,%d,%d,%7[^,],%7[^,],%lf", row->name, row->cluster,
                  &row->gpus, &row->experts, &row->tokens, row->sent_as, row->counted,
                  &row->gb_per_s) == 8;
}

static double value_bytes(const struct row *row)
{
    return strcmp(row->sent_as, "fp8") == 0 ? 1.0 + 4.0 / 128 : 2.0;
}

static double counted_bytes(const struct row *row)
{
    const int parts = strcmp(row->counted, "nodes") == 0 ? row->gpus / PER_NODE : row->gpus;
    return routing_distinct_groups(row->experts, parts, TOP_K) * row->tokens * HIDDEN *
           value_bytes(row);
}

/* What a step leaves of the links, inside a scale-up domain and between them. */
struct shares {
    double domain, network;
};

static const struct shares alone = {1, 1};

/* A step of one layer; its exchanges to the experts, or back, which are priced alone. */
static double exchange_s(const struct row *row, struct shares shares)
{
    struct arena *arena = arena_new();
    const char *sets[] = {
        "model.layers=1",
        arena_printf(arena, "model.hidden=%d", HIDDEN),
        "model.max_positions=8192",
        arena_printf(arena, "model.experts=%d", row->experts),
        "software.experts.exchange=tokens",
        "software.experts.per_exchange=0 us",
        arena_printf(arena, "software.experts.dispatch=%s", row->sent_as),
        arena_printf(arena, "software.experts.combine=%s", row->sent_as),
        arena_printf(arena, "software.communication.experts=%g", shares.domain),
        arena_printf(arena, "software.communication.experts_network=%g", shares.network),
    };
    const struct fixture_source source = {
        .text = arena_printf(arena,
                             "scenario: exchange\nmodel: qwen3-30b-a3b\ncluster: %s\n"
                             "software: megatron-2026\ngpus: %d\nprecision: fp8\n"
                             "parallel: {tp: 1, pp: 1, dp: auto, ep: %d, zero: 1}\n"
                             "batch: {global: %d, micro: 1, sequence_length: %d}\n"
                             "recompute: none\n",
                             row->cluster, row->gpus, row->gpus, row->gpus, row->tokens),
        .sets = sets,
        .set_count = sizeof sets / sizeof *sets,
    };
    const struct step_job job = {fixture_scenario(arena, &source), NULL, 1};
    const struct step_system *system =
        system_build(arena, &job, 1, (uint32_t)row->gpus, &(struct step_options){0});
    double time_s = 0;
    for (size_t i = 0; i < system->transfers.count; i++) {
        const struct transfer_origin *origin = &system->transfers.origins[i];
        if (origin->operation == COLLECTIVE_ALL_TO_ALL) {
            time_s = origin->time_s;
        }
    }
    arena_free(arena);
    assert_true(time_s > 0);
    return time_s;
}

static void tables_of_deepep_and_hybridep_are_met(void **state)
{
    (void)state;
    FILE *file = fopen("tests/published/exchanges.csv", "r");
    assert_non_null(file);
    char line[512];
    int count = 0;
    double sum = 0;
    double worst = 0;
    assert_non_null(fgets(line, sizeof line, file)); /* the head */
    while (fgets(line, sizeof line, file) != NULL) {
        struct row row;
        assert_true(read_row(line, &row));
        const double predicted = counted_bytes(&row) / exchange_s(&row, alone) * 1e-9;
        const double error = predicted / row.gb_per_s - 1;
        print_message("%-30s predicted %7.1f GB/s, published %7.1f, error %+6.1f %%\n", row.name,
                      predicted, row.gb_per_s, 100 * error);
        sum += fabs(error);
        worst = fmax(worst, fabs(error));
        count++;
    }
    fclose(file);
    print_message("%d rows, mean error %.1f %%, worst %.1f %%\n", count, 100 * sum / count,
                  100 * worst);
    assert_int_equal(count, 30);
    assert_true(sum / count < 0.10);
    assert_true(worst < 0.45);
}

/* Half of the links inside a domain takes no more time between nodes than before where the network
 * is what a copy waits for, and half of the network none inside: bytes take twice as long. */
static void each_share_is_of_its_own_links(void **state)
{
    (void)state;
    const struct row inside = {
        .cluster = "h100-3200", .sent_as = "bf16", .gpus = 8, .experts = 64, .tokens = 4096};
    const struct row between = {
        .cluster = "h100-3200", .sent_as = "bf16", .gpus = 32, .experts = 256, .tokens = 4096};
    const struct shares half_domain = {0.5, 1}, half_network = {1, 0.5};
    const double inside_s = exchange_s(&inside, alone);
    const double between_s = exchange_s(&between, alone);
    assert_true(exchange_s(&inside, half_network) == inside_s);
    assert_true(exchange_s(&inside, half_domain) > 1.8 * inside_s);
    assert_true(exchange_s(&between, half_network) > 1.8 * between_s);
    assert_true(exchange_s(&between, half_domain) < 1.1 * between_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_deepep_and_hybridep_are_met),
        cmocka_unit_test(each_share_is_of_its_own_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
