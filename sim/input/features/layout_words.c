/* The words of schedules and of modules that are computed again, in the order of their enums. */
#include "input/features/layout_words.h"

const char *const schedule_names[SCHEDULE_COUNT_] = {
    "gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipev", "file"};
const char *const recompute_module_names[RECOMPUTE_MODULE_COUNT_] = {
    "core-attention", "norm", "activation", "mla-up", "mlp", "moe", "shared-experts"};
