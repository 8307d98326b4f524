/* Words of a layout that profiles of software know, too: schedules, and what may be computed again.
 */
#ifndef INPUT_FEATURES_LAYOUT_WORDS_H
#define INPUT_FEATURES_LAYOUT_WORDS_H

enum schedule_kind {
    SCHEDULE_GPIPE,
    SCHEDULE_1F1B,
    SCHEDULE_INTERLEAVED,
    SCHEDULE_ZB_H1,
    SCHEDULE_ZB_H2,
    SCHEDULE_ZB_V,
    SCHEDULE_DUALPIPE,
    SCHEDULE_DUALPIPEV,
    SCHEDULE_FILE, /* orders are data: input/schedule_file.h */
    SCHEDULE_COUNT_
};
extern const char *const schedule_names[SCHEDULE_COUNT_];

/* What `recompute: {modules: [...]}` may name; Megatron-LM's words (--recompute-modules). */
enum recompute_module {
    RECOMPUTE_CORE_ATTENTION, /* core-attention: scores, softmax, values; or the fused kernel */
    RECOMPUTE_NORM,           /* norm: the outputs of both norms */
    RECOMPUTE_ACTIVATION,     /* activation: of the MLP, of experts, of shared experts */
    RECOMPUTE_MLA_UP,         /* mla-up: latent queries, keys and values to heads */
    RECOMPUTE_MLP,            /* mlp: the whole MLP of a dense layer */
    RECOMPUTE_MOE,            /* moe: router, exchange and experts */
    RECOMPUTE_SHARED_EXPERTS, /* shared-experts */
    RECOMPUTE_MODULE_COUNT_
};
extern const char *const recompute_module_names[RECOMPUTE_MODULE_COUNT_];

#endif
