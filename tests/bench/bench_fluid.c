/* Cost of fluid sharing: CPU seconds to build, solve and run a set of flows.
 *
 *   permutation  4,096 concurrent flows, each host sends to another one
 *   churn        4,096 random flows always active, until 8,192 are done
 *   one cap      16,384 coupled flows (a ring of 8 links each, two rings to a
 *                link) joined by one link; ends in 64 groups
 *
 * The first two on a two-level fat tree of full bisection: 64 leaves of 64
 * hosts, 64 spines, the spine chosen by destination modulo 64, links of 50 GB/s
 * one way, as in shared/engines.md, section 2 (SimGrid: 0.10 s and 0.55 s).
 * Sizes are random. Each figure is the median of 5 runs.
 */
#include "base/arena.h"
#include "base/rng.h"
#include "support/fat_tree.h"
#include "support/fluid_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define REPETITIONS 5
#define RADIX 64u
#define HOSTS (RADIX * RADIX)
#define DONE (2 * HOSTS)
#define COUPLED 16384u
#define RING 8u
#define LINK_BYTES_PER_S INT64_C(50000000000)

struct load {
    struct fluid_world world;
    uint32_t next; /* flow to start when one ends; `count`: none */
    uint32_t count;
    uint64_t ends;
    struct fluid_statistics statistics;
};

static double cpu_now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t draw(uint64_t operation, uint64_t bound)
{
    const struct rng_key key = {.seed = 1, .stream = rng_stream("bench"), .operation = operation};
    return rng_below(&key, bound);
}

/* 1 to 100 MB */
static int64_t draw_bytes(uint32_t flow)
{
    return (int64_t)(1000000 + draw(1000000 + flow, 99000000));
}

static void start_next(struct load *load)
{
    fluid_start(load->world.fluid, load->next, draw_bytes(load->next), FAT_TREE_NO_CAP);
    load->next++;
}

static void run(struct load *load)
{
    struct event event;
    fluid_solve(load->world.fluid);
    for (sim_time at; (at = event_next_time(load->world.queue)) != SIM_TIME_MAX;) {
        while (event_pop_at(load->world.queue, at, &event)) {
            for (flow_id flow; fluid_complete(load->world.fluid, &event, &flow);) {
                load->ends++;
                if (load->next < load->count) {
                    start_next(load);
                }
            }
        }
        fluid_solve(load->world.fluid);
    }
}

/* ---- the loads ------------------------------------------------------------ */

static void permutation(struct load *load)
{
    uint32_t to[HOSTS];
    for (uint32_t i = 0; i < HOSTS; i++) {
        to[i] = i;
    }
    for (uint32_t i = HOSTS - 1; i > 0; i--) {
        /* Sattolo: one cycle, so nobody sends to itself. */
        const uint32_t j = (uint32_t)draw(i, i);
        const uint32_t kept = to[i];
        to[i] = to[j];
        to[j] = kept;
    }
    const struct fat_tree tree = fat_tree_add(load->world.fluid, RADIX, RADIX, LINK_BYTES_PER_S);
    for (uint32_t i = 0; i < HOSTS; i++) {
        fat_tree_add_flow(&tree, i, to[i]);
    }
    load->count = HOSTS;
    fluid_seal(load->world.fluid);
    while (load->next < load->count) {
        start_next(load);
    }
}

static void churn(struct load *load)
{
    const struct fat_tree tree = fat_tree_add(load->world.fluid, RADIX, RADIX, LINK_BYTES_PER_S);
    for (uint32_t i = 0; i < DONE; i++) {
        const uint32_t from = (uint32_t)draw(2 * i, HOSTS);
        const uint32_t distance = (uint32_t)(1 + draw(2 * i + 1, HOSTS - 1));
        fat_tree_add_flow(&tree, from, (from + distance) % HOSTS);
    }
    load->count = DONE;
    fluid_seal(load->world.fluid);
    while (load->next < HOSTS) {
        start_next(load);
    }
}

/* Ring i has links i * RING / 2 and the next RING - 1, so half of each ring is
 * shared with the next; and all cross one link of a quarter of the sum. */
static void one_cap(struct load *load)
{
    struct fluid *fluid = load->world.fluid;
    const uint32_t links = COUPLED * RING / 2;
    for (uint32_t i = 0; i < links; i++) {
        fluid_add_link(fluid, LINK_BYTES_PER_S);
    }
    const link_id cap = fluid_add_link(fluid, LINK_BYTES_PER_S / 8 * COUPLED);
    for (uint32_t i = 0; i < COUPLED; i++) {
        struct fluid_crossing route[RING + 1];
        for (uint32_t j = 0; j < RING; j++) {
            route[j] = (struct fluid_crossing){(i * RING / 2 + j) % links, FLUID_USAGE_ONE};
        }
        route[RING] = (struct fluid_crossing){cap, FLUID_USAGE_ONE};
        fluid_add_flow(fluid, &(struct fluid_flow_options){.route = route,
                                                           .route_count = RING + 1,
                                                           .weight = 1,
                                                           .cap_bytes_per_s_max = FAT_TREE_NO_CAP});
    }
    fluid_seal(fluid);
    for (uint32_t i = 0; i < COUPLED; i++) {
        fluid_start(fluid, i, 1000000 * (int64_t)(1 + i % 64), FAT_TREE_NO_CAP);
    }
    load->next = COUPLED;
    load->count = COUPLED;
}

/* ---- measuring ------------------------------------------------------------ */

struct row {
    const char *name;
    void (*begin)(struct load *load);
};

static const struct row ROWS[] = {
    {"permutation", permutation}, {"churn", churn}, {"one cap", one_cap}};

static double measure(const struct row *row, struct load *load)
{
    struct arena *arena = arena_new();
    const double begin_s = cpu_now_s();
    *load = (struct load){.world = fluid_world_new(arena)};
    row->begin(load);
    run(load);
    const double took_s = cpu_now_s() - begin_s;
    load->statistics = fluid_statistics(load->world.fluid);
    arena_free(arena);
    return took_s;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_row(const struct row *row)
{
    double took_s[REPETITIONS];
    struct load load;
    struct fluid_statistics statistics = {0};
    for (uint32_t i = 0; i < REPETITIONS; i++) {
        took_s[i] = measure(row, &load);
        statistics = load.statistics;
    }
    qsort(took_s, REPETITIONS, sizeof *took_s, compare_doubles);
    printf("%-12s %7llu %8.3f %8.1f %8llu %8llu %10.1f %8llu %10llu\n", row->name,
           (unsigned long long)load.ends, took_s[REPETITIONS / 2],
           took_s[REPETITIONS / 2] * 1e6 / (double)load.ends, (unsigned long long)statistics.solves,
           (unsigned long long)statistics.fills,
           (double)statistics.flows_filled / (double)statistics.fills,
           (unsigned long long)statistics.region_max, (unsigned long long)statistics.flows_changed);
}

int main(void)
{
    printf("%-12s %7s %8s %8s %8s %8s %10s %8s %10s\n", "", "flows", "cpu s", "us/flow", "solves",
           "fills", "flows/fill", "largest", "changes");
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        print_row(&ROWS[i]);
    }
    return 0;
}
