/* Blocks that come before the decoder (an image's encoder) keep nothing for later tokens, layers of
 * multi-token prediction are left out.
 */
#include "study/budget/budget_serve.h"

#include "base/absent.h"
#include "study/budget.h"

#include <math.h>

#define KV_ELEMENT_BYTES 2.0
#define FLOP_A_PARAMETER 2.0 /* forward alone */

static double kv_elements(const struct layer_kind *kind)
{
    return kind->latent.kv_rank > 0 ? (double)(kind->latent.kv_rank + kind->latent.rope_dim)
                                    : (double)kind->kv_heads * (double)layer_kv_dim(kind);
}

double budget_kv_bytes(const struct model *model, int64_t sequence)
{
    double bytes = 0;
    for (uint32_t i = model->block_kinds; i < model->kind_count; i++) {
        const struct layer_kind *kind = &model->kinds[i];
        const bool hides = kind->window > 0 && kind->window < sequence && !kind->has_index;
        const int64_t keys = hides ? kind->window : sequence;
        if (!kind->is_mtp && layer_attends(kind)) {
            bytes += (double)kind->layers * (double)keys * kv_elements(kind) * KV_ELEMENT_BYTES;
        }
    }
    return bytes;
}

struct budget_serving budget_serve(const struct budget_server *server, double bytes_per_parameter)
{
    const double kv_bytes = is_absent(server->kv_bytes) ? 0 : server->kv_bytes;
    const double met_bytes = server->active * bytes_per_parameter;
    const double compute_s = FLOP_A_PARAMETER * server->active / server->flop_per_s;
    const double left_s = compute_s - kv_bytes / server->bytes_per_s;
    struct budget_serving serving = {.weight_bytes = server->parameters * bytes_per_parameter};
    serving.gpus = budget_gpus(serving.weight_bytes + kv_bytes, server->gpu_bytes, 0);
    serving.memory_tokens_per_s = serving.gpus * server->bytes_per_s / (met_bytes + kv_bytes);
    serving.compute_tokens_per_s = serving.gpus / compute_s;
    serving.sequences = left_s > 0 ? ceil(met_bytes / server->bytes_per_s / left_s) : ABSENT;
    return serving;
}
