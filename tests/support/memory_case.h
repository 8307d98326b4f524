/* Scenarios for tests of memory, built without files. */
#ifndef TESTS_SUPPORT_MEMORY_CASE_H
#define TESTS_SUPPORT_MEMORY_CASE_H

#include "input/scenario.h"
#include "plan/memory/memory.h"

#include <stdint.h>

#define MEMORY_CASE_CHUNKS_MAX 128

/* A scenario with room for the layers of its chunks; not to be copied. */
struct memory_case {
    struct scenario scenario;
    int64_t layers[MEMORY_CASE_CHUNKS_MAX];
};

struct memory_cut {
    int64_t tp, pp, dp, zero, virtual_stages, microbatches;
};

struct llama_shape {
    int64_t layers, hidden, heads, ffn;
};

extern const struct llama_shape llama3_8b, llama3_70b, llama3_405b;

struct model memory_case_gpt3(void);

/* fp16, unfused attention, gradients in fp32; one 80 GB GPU of 8 in a node, micro 1. */
void memory_case_init(struct memory_case *c, struct model model, int64_t sequence_length);
/* The same in bf16 with fused attention. */
void memory_case_llama(struct memory_case *c, struct llama_shape shape, int64_t sequence_length);

/* Gives each chunk as many layers; what is left goes to the first chunks. */
void memory_case_cut(struct memory_case *c, struct memory_cut cut);

/* Splits each sequence over `cp` ranks, with so many more GPUs. */
void memory_case_context(struct memory_case *c, int64_t cp);

/* Bytes of the fullest stage. */
double memory_case_worst(const struct memory_case *c);

/* What plan/memory/memory says of the case's job, of a stage, a layer, a checkpoint. */
struct memory_use memory_case_use(const struct memory_case *c, int64_t stage);
struct memory_activations memory_case_activations(const struct memory_case *c, int64_t stage);
double memory_case_layer_bytes(const struct memory_case *c);
double memory_case_parameters(const struct memory_case *c, int64_t stage);
double memory_case_expert_parameters(const struct memory_case *c, int64_t stage);
double memory_case_checkpoint_bytes(const struct memory_case *c);

#endif
