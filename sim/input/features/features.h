/* The vocabulary of what a framework's release has of what a scenario may ask for: section `has` of
 * a profile.
 *
 *     has:
 *       release: Megatron-Core 0.5 to 0.10
 *       parallel: [tp, sequence-parallel, cp, pp, ep]
 *       zero: [0, 1, groups]
 *       schedules: [1f1b, interleaved]
 *       source: ...
 *
 * A list that is left out is not known, and then nothing of it is lacking: profiles of users go on
 * working. Lists are in the words of the keys that they are about where these have words. What of
 * a list a scenario uses says features_used.h.
 */
#ifndef INPUT_FEATURES_FEATURES_H
#define INPUT_FEATURES_FEATURES_H

#include "input/features/layout_words.h"

#include <stdint.h>

enum feature_list {
    FEATURES_ARCHITECTURES,
    FEATURES_PARALLEL,
    FEATURES_ZERO,
    FEATURES_SCHEDULES,
    FEATURES_STAGES,
    FEATURES_CONTEXT,
    FEATURES_RECOMPUTE,
    FEATURES_PRECISIONS,
    FEATURES_RECIPES,
    FEATURES_GRAPHS,
    FEATURES_OVERLAPS,
    FEATURES_OPTIONS,
    FEATURE_LIST_COUNT_
};

/* Bits 1 << index of a list's names. Of a profile: 0 where the list is not known. */
struct feature_set {
    uint32_t lists[FEATURE_LIST_COUNT_];
};

enum {
    PARALLEL_FEATURES = 7,
    ZERO_FEATURES = 9,
    STAGE_FEATURES = 4,
    RECOMPUTE_FEATURES = 11,
    OVERLAP_FEATURES = 7,
    OPTION_FEATURES = 11
};
extern const char *const parallel_feature_names[PARALLEL_FEATURES];
extern const char *const zero_feature_names[ZERO_FEATURES];
extern const char *const stage_feature_names[STAGE_FEATURES];
extern const char *const recompute_feature_names[RECOMPUTE_FEATURES];
extern const char *const overlap_feature_names[OVERLAP_FEATURES];
extern const char *const option_feature_names[OPTION_FEATURES];

/* Replicas all have: `dp` is for those that have nothing else. */
enum { HAS_DP, HAS_TP, HAS_SEQUENCE_PARALLEL, HAS_CP, HAS_PP, HAS_EP, HAS_ETP };

/* The stages; what of them works in a pipeline, or with experts spread over ranks. */
enum {
    HAS_ZERO_0,
    HAS_ZERO_1,
    HAS_ZERO_2,
    HAS_ZERO_3,
    HAS_ZERO_2_PP,
    HAS_ZERO_3_PP,
    HAS_ZERO_3_EP,
    HAS_GROUPS,
    HAS_PLUS_PLUS
};

enum { HAS_EVEN, HAS_FIRST_LAST, HAS_SLOTS, HAS_ANY };

enum { HAS_NO_RECOMPUTE = RECOMPUTE_MODULE_COUNT_, HAS_FULL, HAS_LAYERS, HAS_EXPERT_ACTIVATION };

enum {
    HAS_NO_OVERLAP,
    HAS_TP_BACKWARD,
    HAS_TP_PIECES,
    HAS_DP_GRADIENTS,
    HAS_DP_PARAMETERS,
    HAS_P2P,
    HAS_EXPERTS
};

enum {
    HAS_NO_OPTION,
    HAS_MICROBATCH_GROUP,
    HAS_DEFERRED_HEADS,
    HAS_OFFLOAD_OPTIMIZER,
    HAS_OFFLOAD_ACTIVATIONS,
    HAS_LOW_MOMENTS,
    HAS_CAPACITY,
    HAS_REDUNDANT_EXPERTS,
    HAS_LORA,
    HAS_PP_BEFORE_DP,
    HAS_ANY_ORDER
};

#endif
