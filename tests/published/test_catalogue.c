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
#include "plan/memory.h"
#include "spec/catalogue.h"
#include "spec/scenario.h"
#include "support/assert_close.h"

/* Checkpoints and model cards: Llama L[hd(n+2kv)+ndh+3hf+2h]+h+2Vh, GPT
 * 12Lh^2+13Lh+(V+s)h+2h, BLOOM with alibi and an embedding norm as its card says; Mixtral is a
 * Llama with E(3hf + h) in place of 3hf. */
static const struct {
    const char *name;
    int64_t parameters;
} published[] = {
    {"bloom-176b", 176247271424},  {"gpt-1t", 1008038758400},   {"gpt-22b", 22074273792},
    {"gpt-530b", 529600819200},    {"gpt3-175b", 174604259328}, {"llama1-13b", 13015864320},
    {"llama1-65b", 65285660672},   {"llama1-7b", 6738415616},   {"llama2-13b", 13015864320},
    {"llama2-70b", 68976648192},   {"llama2-7b", 6738415616},   {"llama3-405b", 405853388800},
    {"llama3-70b", 70553706496},   {"llama3-8b", 8030261248},   {"mixtral-8x22b", 140620634112},
    {"mixtral-8x7b", 46702792704},
};

#define PUBLISHED (sizeof published / sizeof published[0])

static const struct catalogue here = {{"."}, 1};

static struct model load(struct arena *arena, const char *name)
{
    struct diag *diag = diag_new(arena);
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = name};
    const struct doc_node *node = catalogue_open(arena, &here, CATALOGUE_MODEL, &reference, diag);
    struct assumptions assumptions;
    struct model model = {0};
    assumptions_init(&assumptions, arena);
    const bool is_read = node != NULL && model_read(node, &model, &assumptions, diag);
    diag_print(diag, stderr);
    assert_true(is_read);
    return model;
}

static void every_model_has_its_published_parameter_count(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    for (size_t i = 0; i < PUBLISHED; i++) {
        const struct model model = load(arena, published[i].name);
        assert_int_equal(cost_parameters(&model).total, published[i].parameters);
    }
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

/* 6 N D of Llama 3.1 405B and 15.6e12 tokens: 6 * 405,853,388,800 * 15.6e12 = 3.7988e25; its
 * 18 bytes x 1.25 a parameter want 115 GPUs of 80 GB, 80 billion parameters 22.5 -> 23. */
static void the_seeds_arithmetic_comes_out(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model model = load(arena, "llama3-405b");
    const double parameters = (double)cost_parameters(&model).total;
    assert_close(6.0 * parameters * 15.6e12, 3.7988e25, 1e-4);
    assert_int_equal(memory_rule_of_thumb_gpus(parameters, 80e9), 115);
    assert_int_equal(memory_rule_of_thumb_gpus(80e9, 80e9), 23);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_has_its_published_parameter_count),
        cmocka_unit_test(no_model_of_the_catalogue_is_left_out),
        cmocka_unit_test(the_seeds_arithmetic_comes_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
