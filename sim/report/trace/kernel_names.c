/* A segment belongs to a part of a layer, or stands between two; and to a pass. */
#include "report/trace/kernel_names.h"

#include "base/arena.h"
#include "plan/cost.h"

enum part {
    PART_BETWEEN, /* norms, residuals */
    PART_EMBEDDING,
    PART_ATTENTION,
    PART_MLP,
    PART_SHARED,
    PART_ROUTER,
    PART_EXPERTS,
    PART_MTP,
    PART_HEAD,
    PART_COUNT_
};

static const char *const part_names[PART_COUNT_] = {
    [PART_BETWEEN] = "norm",          [PART_EMBEDDING] = "embedding",
    [PART_ATTENTION] = "attention",   [PART_MLP] = "MLP",
    [PART_SHARED] = "shared experts", [PART_ROUTER] = "router",
    [PART_EXPERTS] = "experts",       [PART_MTP] = "MTP",
    [PART_HEAD] = "head and loss",
};

enum pass { PASS_FORWARD, PASS_BACKWARD, PASS_WEIGHTS, PASS_COUNT_ };

static const char *const pass_names[PASS_COUNT_] = {"", " backward", " weight gradients"};

static const struct {
    uint8_t part, pass;
} of_segments[SEGMENT_COUNT_] = {
    [SEGMENT_ATTENTION_PRE] = {PART_BETWEEN, PASS_FORWARD},
    [SEGMENT_ATTENTION] = {PART_ATTENTION, PASS_FORWARD},
    [SEGMENT_ATTENTION_POST] = {PART_BETWEEN, PASS_FORWARD},
    [SEGMENT_MLP_PRE] = {PART_BETWEEN, PASS_FORWARD},
    [SEGMENT_MLP] = {PART_MLP, PASS_FORWARD},
    [SEGMENT_MLP_POST] = {PART_BETWEEN, PASS_FORWARD},
    [SEGMENT_MLP_POST_BACKWARD] = {PART_BETWEEN, PASS_BACKWARD},
    [SEGMENT_MLP_INNER_BACKWARD] = {PART_MLP, PASS_BACKWARD},
    [SEGMENT_MLP_DGRAD] = {PART_MLP, PASS_BACKWARD},
    [SEGMENT_MLP_WGRAD] = {PART_MLP, PASS_WEIGHTS},
    [SEGMENT_MLP_PRE_BACKWARD] = {PART_BETWEEN, PASS_BACKWARD},
    [SEGMENT_ATTENTION_POST_BACKWARD] = {PART_BETWEEN, PASS_BACKWARD},
    [SEGMENT_ATTENTION_INNER_BACKWARD] = {PART_ATTENTION, PASS_BACKWARD},
    [SEGMENT_ATTENTION_DGRAD] = {PART_ATTENTION, PASS_BACKWARD},
    [SEGMENT_ATTENTION_WGRAD] = {PART_ATTENTION, PASS_WEIGHTS},
    [SEGMENT_ATTENTION_PRE_BACKWARD] = {PART_BETWEEN, PASS_BACKWARD},
    [SEGMENT_SELECTIVE_RECOMPUTE] = {PART_MLP, PASS_FORWARD},
    [SEGMENT_ATTENTION_QKV] = {PART_ATTENTION, PASS_FORWARD},
    [SEGMENT_ATTENTION_CORE] = {PART_ATTENTION, PASS_FORWARD},
    [SEGMENT_ATTENTION_CORE_BACKWARD] = {PART_ATTENTION, PASS_BACKWARD},
    [SEGMENT_ATTENTION_QKV_BACKWARD] = {PART_ATTENTION, PASS_BACKWARD},
    [SEGMENT_ROUTER] = {PART_ROUTER, PASS_FORWARD},
    [SEGMENT_EXPERTS] = {PART_EXPERTS, PASS_FORWARD},
    [SEGMENT_EXPERTS_POST] = {PART_EXPERTS, PASS_FORWARD},
    [SEGMENT_EXPERTS_POST_BACKWARD] = {PART_EXPERTS, PASS_BACKWARD},
    [SEGMENT_EXPERTS_BACKWARD] = {PART_EXPERTS, PASS_BACKWARD},
    [SEGMENT_ROUTER_BACKWARD] = {PART_ROUTER, PASS_BACKWARD},
    [SEGMENT_SHARED] = {PART_SHARED, PASS_FORWARD},
    [SEGMENT_SHARED_INNER_BACKWARD] = {PART_SHARED, PASS_BACKWARD},
    [SEGMENT_SHARED_DGRAD] = {PART_SHARED, PASS_BACKWARD},
    [SEGMENT_SHARED_WGRAD] = {PART_SHARED, PASS_WEIGHTS},
    [SEGMENT_SELECTIVE_RECOMPUTE_EXPERTS] = {PART_EXPERTS, PASS_FORWARD},
    [SEGMENT_EMBEDDING] = {PART_EMBEDDING, PASS_FORWARD},
    [SEGMENT_EMBEDDING_BACKWARD] = {PART_EMBEDDING, PASS_BACKWARD},
    [SEGMENT_HEAD_PRE] = {PART_HEAD, PASS_FORWARD},
    [SEGMENT_HEAD] = {PART_HEAD, PASS_FORWARD},
    [SEGMENT_HEAD_BACKWARD] = {PART_HEAD, PASS_BACKWARD},
    [SEGMENT_HEAD_WGRAD] = {PART_HEAD, PASS_WEIGHTS},
    [SEGMENT_HEAD_PRE_BACKWARD] = {PART_HEAD, PASS_BACKWARD},
    [SEGMENT_MLP_INNER_WGRAD] = {PART_MLP, PASS_WEIGHTS},
    [SEGMENT_ATTENTION_INNER_WGRAD] = {PART_ATTENTION, PASS_WEIGHTS},
    [SEGMENT_EXPERTS_WGRAD] = {PART_EXPERTS, PASS_WEIGHTS},
    [SEGMENT_SHARED_INNER_WGRAD] = {PART_SHARED, PASS_WEIGHTS},
    [SEGMENT_ATTENTION_PROJECTION] = {PART_ATTENTION, PASS_FORWARD},
    [SEGMENT_ATTENTION_PROJECTION_BACKWARD] = {PART_ATTENTION, PASS_BACKWARD},
    [SEGMENT_MTP] = {PART_MTP, PASS_FORWARD},
    [SEGMENT_MTP_BACKWARD] = {PART_MTP, PASS_BACKWARD},
    [SEGMENT_MTP_WGRAD] = {PART_MTP, PASS_WEIGHTS},
};

/* What lies between parts is named where nothing else is there. */
const char *kernel_name(struct arena *arena, uint64_t segments)
{
    bool has_part[PART_COUNT_] = {false};
    bool has_pass[PASS_COUNT_] = {false};
    bool has_more = false;
    for (uint32_t i = 0; i < SEGMENT_COUNT_; i++) {
        if ((segments >> i & 1U) != 0) {
            has_part[of_segments[i].part] = true;
            has_pass[of_segments[i].pass] = true;
            has_more = has_more || of_segments[i].part != PART_BETWEEN;
        }
    }
    const char *name = "";
    for (uint32_t part = has_more ? PART_BETWEEN + 1 : 0; part < PART_COUNT_; part++) {
        if (has_part[part]) {
            name = *name == '\0' ? part_names[part]
                                 : arena_printf(arena, "%s + %s", name, part_names[part]);
        }
    }
    const enum pass pass = has_pass[PASS_BACKWARD]  ? PASS_BACKWARD
                           : has_pass[PASS_WEIGHTS] ? PASS_WEIGHTS
                                                    : PASS_FORWARD;
    return *name == '\0' ? name : arena_printf(arena, "%s%s", name, pass_names[pass]);
}
