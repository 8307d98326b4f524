#include "support/collective_law.h"

#include "base/arena.h"
#include "hw/fabric.h"
#include "train/collective_run.h"

#include <stdio.h>

enum { SPEEDS = 5, SIZES = 12, SHOWN = 5, PAIRS = ALGORITHM_COUNT_ * PROTOCOL_COUNT_ };
static const double speeds[SPEEDS] = {1.0, 0.8, 0.5, 0.25, 0.1};
static const double FIRST_BYTES = 1024.0;
static const double RATIO = 4.0;
/* Fabrics count bytes/s, and shares of them millionths. */
static const double ROUNDING = 1e-5;
static const double ROUNDING_S = 2e-9;

enum figure { FIGURE_QUOTE, FIGURE_RUN, FIGURE_PAIR, FIGURE_COUNT_ = FIGURE_PAIR + PAIRS };

/* Of one operation and size; 0: the pair is not offered. */
struct times {
    double s[FIGURE_COUNT_];
};

static void take_times(const struct transfer_setting *setting, const struct group_shape *shape,
                       enum collective_operation operation, double bytes, struct times *times)
{
    struct collective_outcome outcome;
    collective_run(setting, shape, operation, bytes, &outcome);
    *times = (struct times){0};
    times->s[FIGURE_QUOTE] = outcome.quote.time_s - outcome.quote.unforeseen_s;
    times->s[FIGURE_RUN] = outcome.time_s - outcome.quote.unforeseen_s;
    for (uint32_t i = 0; i < PAIRS; i++) {
        struct transfer_quote quote;
        const enum collective_algorithm algorithm = i / PROTOCOL_COUNT_;
        const enum collective_protocol protocol = i % PROTOCOL_COUNT_;
        if (transfer_price(setting, shape, operation, bytes, algorithm, protocol, &quote)) {
            times->s[FIGURE_PAIR + i] = quote.time_s;
        }
    }
}

/* Every stride-th GPU. */
static void open_group(const struct transfer_setting *setting, uint32_t gpus, uint32_t stride,
                       struct group_shape *shape)
{
    uint32_t *list = arena_array(setting->arena, gpus, sizeof *list);
    uint32_t count = 0;
    for (uint32_t gpu = 0; gpu < gpus; gpu += stride) {
        list[count++] = gpu;
    }
    group_shape_init(setting, list, count, shape);
}

static void take_all(const struct collective_law *law, const struct cluster *cluster,
                     struct times times[COLLECTIVE_OPERATION_COUNT_][SIZES])
{
    struct arena *arena = arena_new();
    struct fabric fabric;
    fabric_init(&fabric, arena, cluster, law->gpu, law->gpus, law->seed);
    const struct transfer_setting setting = {.arena = arena,
                                             .fabric = &fabric,
                                             .library = law->library,
                                             .architecture = law->gpu->architecture};
    struct group_shape all;
    struct group_shape ends;
    open_group(&setting, law->gpus, 1, &all);
    open_group(&setting, law->gpus, law->gpus - 1, &ends);
    for (uint32_t o = 0; o < COLLECTIVE_OPERATION_COUNT_; o++) {
        const struct group_shape *shape = o == COLLECTIVE_SEND ? &ends : &all;
        double bytes = o == COLLECTIVE_BARRIER ? 0.0 : FIRST_BYTES;
        for (uint32_t i = 0; i < SIZES; i++) {
            take_times(&setting, shape, o, bytes, &times[o][i]);
            bytes *= RATIO;
        }
    }
    arena_free(arena);
}

/* The rounding is that of either time. */
static void compare(const struct collective_law *law, const char *what, const struct times *fast,
                    const struct times *slow, struct collective_law_result *result)
{
    for (uint32_t f = 0; f < FIGURE_COUNT_; f++) {
        const bool is_broken = slow->s[f] < fast->s[f] * (1.0 - ROUNDING) - ROUNDING_S;
        result->compared++;
        result->broken += is_broken ? 1 : 0;
        if (is_broken && result->broken <= SHOWN) {
            fprintf(stderr, "%s, %s, figure %u: %.9g s with fast links, %.9g s with slow ones\n",
                    law->name, what, f, fast->s[f], slow->s[f]);
        }
    }
}

/* Messages between nodes take 4 us and 0.2 a switch at full speed, less than a library's rounds
 * have in them, and ten times as long at the least. */
static void slow_down(struct cluster *cluster, uint32_t link, double speed)
{
    static const double MESSAGE_S = 4e-6;
    static const double HOP_S = 0.2e-6;
    if (link == 0) {
        cluster->scale_up_bytes_per_s *= speed;
    } else if (link == 1) {
        cluster->nic_bytes_per_s *= speed;
    } else {
        cluster->nic_latency_s = MESSAGE_S / speed;
        cluster->hop_latency_s = HOP_S / speed;
    }
}

struct collective_law_result collective_law_check(const struct collective_law *law)
{
    static const char *const links[] = {"links inside nodes", "NICs", "latency"};
    struct collective_law_result result = {0, 0};
    struct arena *arena = arena_new();
    for (uint32_t link = 0; link < 3; link++) {
        struct times(*last)[SIZES] = arena_array(arena, COLLECTIVE_OPERATION_COUNT_, sizeof *last);
        for (uint32_t s = 0; s < SPEEDS; s++) {
            struct cluster cluster = *law->cluster;
            slow_down(&cluster, link, speeds[s]);
            struct times(*now)[SIZES] =
                arena_array(arena, COLLECTIVE_OPERATION_COUNT_, sizeof *now);
            take_all(law, &cluster, now);
            for (uint32_t i = 0; s > 0 && i < COLLECTIVE_OPERATION_COUNT_ * SIZES; i++) {
                const char *what =
                    arena_printf(arena, "%s at %g, %s, size %u", links[link], speeds[s],
                                 collective_operation_names[i / SIZES], i % SIZES);
                compare(law, what, &last[i / SIZES][i % SIZES], &now[i / SIZES][i % SIZES],
                        &result);
            }
            last = now;
        }
    }
    arena_free(arena);
    return result;
}
