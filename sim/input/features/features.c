/* The words of each list, in the order of its enum. */
#include "input/features/features.h"

const char *const parallel_feature_names[PARALLEL_FEATURES] = {
    "dp", "tp", "sequence-parallel", "cp", "pp", "ep", "etp"};

const char *const zero_feature_names[ZERO_FEATURES] = {
    "0", "1", "2", "3", "2-with-pp", "3-with-pp", "3-with-ep", "groups", "plus-plus"};

const char *const stage_feature_names[STAGE_FEATURES] = {"even", "first-last", "slots", "any"};

const char *const recompute_feature_names[RECOMPUTE_FEATURES] = {
    "core-attention", "norm", "activation", "mla-up",           "mlp", "moe", "shared-experts",
    "none",           "full", "layers",     "expert-activation"};

const char *const overlap_feature_names[OVERLAP_FEATURES] = {
    "none", "tp-backward", "tp-pieces", "dp-gradients", "dp-parameters", "p2p", "experts"};

const char *const option_feature_names[OPTION_FEATURES] = {"none",
                                                           "microbatch-group",
                                                           "deferred-heads",
                                                           "offload-optimizer",
                                                           "offload-activations",
                                                           "low-moments",
                                                           "capacity-factor",
                                                           "redundant-experts",
                                                           "lora",
                                                           "pp-before-dp",
                                                           "any-order"};
