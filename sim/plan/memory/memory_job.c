/* The one place that takes memory's questions out of a scenario. */
#include "plan/memory/memory_job.h"

#include "input/job/lora.h"
#include "input/job/parallel.h"
#include "input/job/token_routing.h"
#include "input/scenario.h"
#include "plan/memory/memory_layer.h"
#include "plan/routing.h"

/* Of each token that experts have room for. */
static double copies_of(const struct model *model, const struct routing *routing)
{
    return (double)model->experts_per_token *
           (routing_is_padded(routing) ? routing->capacity_factor : 1.0);
}

/* As the step is timed: also with an even router copies of experts leave ranks uneven. Padding to a
 * capacity makes the rows of all experts alike; copies_of has it. */
static double hot_of(const struct routing_job *router)
{
    const bool is_alike = router->model->experts == 0 || routing_is_padded(router->routing);
    return is_alike ? 1.0 : routing_of(router).hottest_rank;
}

static struct memory_shape shape_of(const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    const struct software *software = &scenario->software;
    const enum precision precision = (enum precision)scenario->precision;
    const enum attention_kind attention = (enum attention_kind)software->attention;
    const struct routing_job router = routing_job_of(scenario);
    const uint32_t all_products = (1u << LORA_TARGET_COUNT_) - 1u;
    return (struct memory_shape){
        .model = &scenario->model,
        .micro = scenario->batch.micro,
        .sequence_length = scenario->batch.sequence_length,
        .tp = parallel->tp,
        .cp = parallel->cp,
        .is_sequence_parallel = parallel->is_sequence_parallel,
        .keeps_gathered = software->keeps_gathered,
        .is_fused = attention != ATTENTION_UNFUSED,
        .keeps_every_second = software->memory.keeps_every_second_product,
        .keeps_unread_product = software->memory.keeps_unread_product,
        .keeps_expert_results = software->memory.keeps_expert_results,
        .repeats_kv = software->memory.repeats_kv,
        .keeps_qkv = software->memory.keeps_qkv,
        .keeps_clamped = scenario->model.clamps_mlp && software_clamps_apart(software) &&
                         !(software->fuses_experts && software->fuses_expert_activation),
        .activation_input = (enum kept_input)software->memory.activation_input,
        .context = (enum context_kind)parallel->context,
        .recomputed = memory_recomputed_modules(&scenario->recompute, attention),
        .trained = scenario->lora.rank > 0 ? scenario->lora.targets : all_products,
        .element_bytes = (double)precision_bytes(precision),
        .input_bytes = software_kept_bytes(software, precision),
        .attended_bytes = software_attended_bytes(software, precision, true),
        .copies = copies_of(&scenario->model, &scenario->routing),
        .hot = hot_of(&router),
    };
}

struct memory_job memory_job_of(const struct scenario *scenario)
{
    struct memory_job job = memory_job_of_states(scenario);
    job.shape = shape_of(scenario);
    return job;
}

struct memory_job memory_job_of_states(const struct scenario *scenario)
{
    return (struct memory_job){
        .split = {.model = &scenario->model,
                  .parallel = &scenario->parallel,
                  .lora = &scenario->lora,
                  .expert_copies = scenario->model.experts + scenario->routing.redundant_experts},
        .batch = &scenario->batch,
        .recompute = &scenario->recompute,
        .optimizer = &scenario->optimizer,
        .offload = &scenario->offload,
        .software = &scenario->software,
        .precision = (enum precision)scenario->precision,
        .transposes_fp8 = scenario->gpu.transposes_fp8,
        .gpus = scenario->gpus,
    };
}
