/* LoRA: all weights frozen but two small matrices beside some: `lora` of a scenario. */
#ifndef INPUT_JOB_LORA_H
#define INPUT_JOB_LORA_H

#include <stdbool.h>
#include <stdint.h>

/* Matrices beside which LoRA puts its two small ones; all others are frozen too. */
enum lora_target { LORA_QKV, LORA_PROJECTION, LORA_FC1, LORA_FC2, LORA_TARGET_COUNT_ };
extern const char *const lora_target_names[LORA_TARGET_COUNT_];

struct lora {
    bool is_enabled;
    int64_t rank;     /* 0: every weight is trained */
    uint32_t targets; /* bits 1 << enum lora_target */
    double dropout;   /* 0..1: of what an adapter reads */
};

#endif
