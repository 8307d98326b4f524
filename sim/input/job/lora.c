/* The words for the matrices beside which LoRA puts its two small ones. */
#include "input/job/lora.h"

const char *const lora_target_names[LORA_TARGET_COUNT_] = {"qkv", "projection", "fc1", "fc2"};
