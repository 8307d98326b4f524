/* Laws of memory on random layouts: what a GPU's tensors take falls or stays when a shard count
 * rises, and parts sum to the whole. Of tensors only: each further group of ranks has buffers of
 * its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "plan/memory/memory.h"
#include "support/assert_close.h"
#include "support/memory_case.h"
#include "support/seeds.h"

enum { CASES = 3000 };

struct draws {
    uint64_t seed, count;
};

static int64_t draw(struct draws *draws, int64_t bound)
{
    const struct rng_key key = {.seed = draws->seed, .operation = draws->count++};
    return (int64_t)rng_below(&key, (uint64_t)bound);
}

/* 1, 2, ... 2^(powers - 1). */
static int64_t draw_power(struct draws *draws, int64_t powers)
{
    return INT64_C(1) << draw(draws, powers);
}

static void draw_model(struct draws *draws, struct memory_case *c)
{
    static const struct llama_shape shape = {32, 4096, 32, 14336};
    if (draw(draws, 3) == 0) {
        memory_case_init(c, memory_case_gpt3(), 2048);
    } else {
        memory_case_llama(c, shape, 8192);
    }
    struct model *model = &c->scenario.model;
    if (model->mlp == MLP_SWIGLU && draw(draws, 2) == 0) {
        model->experts = 64;
        model->experts_per_token = 1 + draw(draws, 8);
        model->expert_hidden = 1024;
        model->shared_experts = draw(draws, 2);
        model->dense_layers = draw(draws, 4);
    }
    if (draw(draws, 4) == 0) {
        model->latent = (struct latent){1536, 512, 128, 64, 128};
    }
    model_finish(model);
}

static void draw_layout(struct draws *draws, struct memory_case *c)
{
    static const enum schedule_kind kinds[] = {SCHEDULE_1F1B, SCHEDULE_GPIPE, SCHEDULE_ZB_H1,
                                               SCHEDULE_ZB_H2};
    struct scenario *scenario = &c->scenario;
    const int64_t pp = draw_power(draws, 4);
    memory_case_cut(c, (struct memory_cut){draw_power(draws, 3), pp, 8 * draw_power(draws, 3),
                                           draw(draws, 4), 1, 2 * pp * draw_power(draws, 2)});
    scenario->parallel.schedule = kinds[draw(draws, 4)];
    scenario->parallel.is_sequence_parallel = draw(draws, 2) == 0;
    scenario->parallel.zero_group = scenario->parallel.dp / draw_power(draws, 3);
    scenario->parallel.reshard = (uint32_t)draw(draws, RESHARD_COUNT_);
    scenario->parallel.context = (uint32_t)draw(draws, CONTEXT_COUNT_);
    scenario->batch.micro = draw_power(draws, 3);
    scenario->recompute.kind = (uint32_t)draw(draws, RECOMPUTE_COUNT_);
    scenario->optimizer.moments = draw(draws, 2) == 0 ? STATE_FP32 : STATE_BF16;
    scenario->software.memory.has_weights_beside_master = draw(draws, 2) == 0;
    if (draw(draws, 4) == 0) {
        scenario->lora.rank = 16;
        scenario->lora.targets = (uint32_t)(1 + draw(draws, 15));
    }
}

/* What a framework keeps and what it does not, each way. */
static void draw_software(struct draws *draws, struct memory_case *c)
{
    struct software *software = &c->scenario.software;
    software->loss.kind = (uint32_t)draw(draws, LOSS_COUNT_);
    bool *const ways[] = {
        &software->keeps_gathered,
        &software->fsdp_keeps_root,
        &software->loss.has_fp32_logits,
        &software->loss.fuses_fp32,
        &software->low.stores_frozen,
        &software->memory.keeps_every_second_product,
        &software->memory.keeps_unread_product,
        &software->memory.keeps_stage_outputs,
        &software->memory.frees_gradients,
        &software->memory.is_loss_apart,
        &software->memory.repeats_kv,
        &software->memory.keeps_qkv,
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        *ways[i] = draw(draws, 2) == 0;
    }
    software->fsdp_gather_passes = draw(draws, 3);
}

static double most_allocated(const struct memory_case *c)
{
    double most = 0;
    for (int64_t stage = 0; stage < c->scenario.parallel.pp; stage++) {
        const double bytes = memory_case_use(c, stage).allocated_bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

typedef void raise_fn(struct parallel *parallel);

static void raise_tp(struct parallel *parallel)
{
    parallel->tp *= 2;
    parallel->etp *= 2;
}

static void raise_cp(struct parallel *parallel)
{
    parallel->cp *= 2;
    parallel->zero_group *= 2;
}

static void raise_dp(struct parallel *parallel)
{
    parallel->dp *= 2;
    parallel->zero_group *= 2;
}

static void raise_ep(struct parallel *parallel)
{
    parallel->ep *= 2;
}

static void raise_group(struct parallel *parallel)
{
    const int64_t all = parallel->cp * parallel->dp;
    parallel->zero_group *= parallel->zero_group < all ? 2 : 1;
}

static void check(struct seeds *seeds, raise_fn *raise)
{
    for (uint64_t seed; (seed = seeds_next(seeds, CASES)) != 0;) {
        struct draws draws = {seed, 0};
        struct memory_case c;
        draw_model(&draws, &c);
        draw_layout(&draws, &c);
        draw_software(&draws, &c);
        const double before = most_allocated(&c);
        raise(&c.scenario.parallel);
        assert_true(most_allocated(&c) <= before * (1 + 1e-12));
    }
}

static void memory_falls_or_stays_with_tp(void **state)
{
    check(&((struct seeded *)*state)->seeds, raise_tp);
}

static void memory_falls_or_stays_with_cp(void **state)
{
    check(&((struct seeded *)*state)->seeds, raise_cp);
}

static void memory_falls_or_stays_with_dp(void **state)
{
    check(&((struct seeded *)*state)->seeds, raise_dp);
}

static void memory_falls_or_stays_with_ep(void **state)
{
    check(&((struct seeded *)*state)->seeds, raise_ep);
}

static void memory_falls_or_stays_with_the_group_that_shards(void **state)
{
    check(&((struct seeded *)*state)->seeds, raise_group);
}

static void parts_sum_to_the_whole(void **state)
{
    struct seeds *seeds = &((struct seeded *)*state)->seeds;
    for (uint64_t seed; (seed = seeds_next(seeds, CASES)) != 0;) {
        struct draws draws = {seed, 0};
        struct memory_case c;
        draw_model(&draws, &c);
        draw_layout(&draws, &c);
        draw_software(&draws, &c);
        c.scenario.software.memory.context_bytes = 1e9;
        c.scenario.software.memory.communicator_bytes = 3e8;
        c.scenario.software.memory.fragmentation = 0.05;
        const struct memory_use use = memory_case_use(&c, 0);
        assert_close(use.weights_bytes + use.gradients_bytes + use.optimizer_bytes +
                         use.activations_bytes + use.logits_bytes + use.temporary_bytes +
                         use.buffers_bytes,
                     use.allocated_bytes, 1e-12);
        assert_close(use.allocated_bytes * 1.05 + 1e9 + use.communication_bytes, use.total_bytes,
                     1e-12);
    }
}

#define SEEDED(test) \
    cmocka_unit_test_prestate_setup_teardown(test, seeded_begin, seeded_end, &seeded)

int main(int count, char **arguments)
{
    struct seeded seeded = {.seeds.only = seeds_only(count, arguments)};
    const struct CMUnitTest tests[] = {
        SEEDED(memory_falls_or_stays_with_tp),
        SEEDED(memory_falls_or_stays_with_cp),
        SEEDED(memory_falls_or_stays_with_dp),
        SEEDED(memory_falls_or_stays_with_ep),
        SEEDED(memory_falls_or_stays_with_the_group_that_shards),
        SEEDED(parts_sum_to_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
