/* The catalogue's models against their published parameter counts, through the
 * program's own readers: a wrong shape in a file fails here by its last digit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "plan/cost.h"
#include "plan/memory/memory.h"
#include "input/catalogue.h"
#include "input/scenario.h"
#include "support/assert_close.h"
#include "support/fixture.h"

/* Checkpoints and model cards where there are some: Llama L[hd(n+2kv)+ndh+3hf+2h]+h+2Vh, GPT
 * 12Lh^2+13Lh+(V+s)h+2h, BLOOM with alibi and an embedding norm as its card says; Mixtral is a
 * Llama with E(3hf + h) in place of 3hf. So DeepSeek-V3 (without MTP), gpt-oss, Qwen3, Kimi K2,
 * Llama 4's decoders, Pythia, MPT as the benchmarks of llm-foundry print them. The rest are the
 * same closed forms: sizes of papers without a checkpoint, and models that a file here
 * simplifies, as it says (Switch, GShard, BERT, Grok-1). Computed apart from this program. */
static const struct catalogue here = {.directories = {"."}, .count = 1};

static const struct {
    const char *name;
    int64_t parameters;
} published[] = {
    {"bert-large", 334092288},
    {"bloom-176b", 176247271424},
    {"bloom-177b", 177044373504},
    {"bloom-181b", 181180145664},
    {"bloom-182b", 181981323264},
    {"bloom-187b", 186941454336},
    {"bloom-200b", 202693305600},
    {"deepseek-v3", 671026419200},
    {"deepseek-v3.2", 671877936256},
    {"falcon-h1-34b", 33642516224},
    {"gemma-4-26b-a4b", 25232631040},
    {"gemma-4-31b", 30696700160},
    {"glm-130b", 128697794560},
    {"glm-4.5", 352797829024},
    {"glm-5", 743911208448},
    {"gpt-1.3b-bigscience", 1315727360},
    {"gpt-1.7b", 1652230656},
    {"gpt-146b", 145622261760},
    {"gpt-18b", 18449756160},
    {"gpt-1t", 1008038758400},
    {"gpt-22b", 22074273792},
    {"gpt-3.6b", 3562168320},
    {"gpt-310b", 310130540544},
    {"gpt-39b", 39096041472},
    {"gpt-39b-bigscience", 39079927808},
    {"gpt-52b-bigscience", 51966533632},
    {"gpt-530b", 529600819200},
    {"gpt-7.5b", 7467786240},
    {"gpt-76b", 76050739200},
    {"gpt-oss-120b", 116829156672},
    {"gpt-oss-20b", 20914757184},
    {"gpt3-175b", 174604259328},
    {"gpt3-20b", 20256221184},
    {"gpt3-5b", 5047365632},
    {"granite-4.0-h-small", 32207337984},
    {"grok-1", 315684034560},
    {"gshard-600b", 619183753216},
    {"hunyuan-a13b", 80393183232},
    {"internlm-7b", 7321948160},
    {"kimi-k2", 1026408232448},
    {"kimi-linear-48b-a3b", 49122681728},
    {"llama1-13b", 13015864320},
    {"llama1-65b", 65285660672},
    {"llama1-7b", 6738415616},
    {"llama2-13b", 13015864320},
    {"llama2-70b", 68976648192},
    {"llama2-7b", 6738415616},
    {"llama3-405b", 405853388800},
    {"llama3-70b", 70553706496},
    {"llama3-8b", 8030261248},
    {"llama4-maverick", 400711848960},
    {"llama4-scout", 107769861120},
    {"mimo-v2-flash", 308778778368},
    {"minimax-m2", 228689336320},
    {"mixtral-8x22b", 140620634112},
    {"mixtral-8x7b", 46702792704},
    {"mpt-125m", 125311488},
    {"mpt-13b", 12853954560},
    {"mpt-1b", 1315950592},
    {"mpt-30b", 29975214080},
    {"mpt-350m", 355985408},
    {"mpt-3b", 2651837440},
    {"mpt-70b", 64862437376},
    {"mpt-760m", 760470528},
    {"mpt-7b", 6658859008},
    {"nemotron-3-nano-30b-a3b", 31577940288},
    {"nemotron-h-56b", 56324350464},
    {"nemotron-h-8b", 8100852736},
    {"nemotron4-15b", 15628775424},
    {"nemotron4-340b", 341029195776},
    {"olmo-3-32b", 32233522176},
    {"opt-175b", 174604443648},
    {"pythia-12b", 11846072320},
    {"pythia-1b", 1011781632},
    {"pythia-410m", 405334016},
    {"qwen3-235b-a22b", 235093634560},
    {"qwen3-30b-a3b", 30532122624},
    {"qwen3-next-80b-a3b", 79674292992},
    {"qwen3.5-122b-a10b", 122111379456},
    {"qwen3.5-27b", 26895998464},
    {"qwen3.5-35b-a3b", 34660528768},
    {"qwen3.5-397b-a17b", 396346104576},
    {"switch-c", 1571120172960},
    {"switch-xxl", 393064353792},
};

#define PUBLISHED (sizeof published / sizeof published[0])

static void every_model_has_its_published_parameter_count(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    for (size_t i = 0; i < PUBLISHED; i++) {
        const struct model model = fixture_model(arena, published[i].name, NULL);
        assert_int_equal(cost_parameters(&model).total, published[i].parameters);
    }
    arena_free(arena);
}

/* Models are named by round numbers: Llama 2 7B has 6.7 billion. A wrong layer count or width
 * would be off by more. */
static void every_model_is_about_as_large_as_advertised(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    for (size_t i = 0; i < PUBLISHED; i++) {
        const struct model model = fixture_model(arena, published[i].name, NULL);
        assert_true(model.advertised_parameters > 0.0);
        assert_close((double)cost_parameters(&model).total, model.advertised_parameters, 0.05);
    }
    arena_free(arena);
}

/* DeepSeek-V3: eh_proj 2h x h, norms, and a layer with experts like the last, 11,610,068,224;
 * with them 682,636,487,424 (oracles 2.1). */
static void multi_token_prediction_is_counted_besides(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model model = fixture_model(arena, "deepseek-v3", NULL);
    const struct parameter_count count = cost_parameters(&model);
    assert_int_equal(count.total + count.mtp, 682636487424);
    assert_int_equal(count.active, 37552297472);
    arena_free(arena);
}

static void no_model_of_the_catalogue_is_left_out(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    uint32_t count = 0;
    const char **names = catalogue_list(arena, &here, "models/llms", &count);
    assert_int_equal(count, PUBLISHED);
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(names[i], published[i].name);
    }
    arena_free(arena);
}

/* 6 N D of Llama 3.1 405B and 15.6e12 tokens: 6 * 405,853,388,800 * 15.6e12 = 3.7988e25. */
static void the_seeds_arithmetic_comes_out(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model model = fixture_model(arena, "llama3-405b", NULL);
    const double parameters = (double)cost_parameters(&model).total;
    assert_close(6.0 * parameters * 15.6e12, 3.7988e25, 1e-4);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_has_its_published_parameter_count),
        cmocka_unit_test(every_model_is_about_as_large_as_advertised),
        cmocka_unit_test(multi_token_prediction_is_counted_besides),
        cmocka_unit_test(no_model_of_the_catalogue_is_left_out),
        cmocka_unit_test(the_seeds_arithmetic_comes_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
