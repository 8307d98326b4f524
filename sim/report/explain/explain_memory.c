/* Section 6 of `stoker explain`: the memory of a GPU of the fullest stage, kind by kind
 * (plan/memory/memory).
 */
#include "input/scenario.h"
#include "report/explain/explain_sections.h"
#include "report/explain/explain_text.h"

#include "plan/memory/memory.h"
#include "plan/memory/memory_layer.h"
#include "plan/memory/memory_megatron.h"

#include <inttypes.h>

static const struct field tensor_fields[] = {
    {"name", FIELD_AT(struct memory_tensor, what)},
    {"count", FIELD_AT(struct memory_tensor, count)},
    {"element_bytes", FIELD_AT(struct memory_tensor, element_bytes)},
    {"width", FIELD_AT(struct memory_tensor, width)},
    {"parts", FIELD_AT(struct memory_tensor, parts)},
    {"bytes", FIELD_AT(struct memory_tensor, bytes)},
    {"is_kept", FIELD_AT(struct memory_tensor, is_kept)},
};

/* The prediction's sums of the fullest stage. */
static const struct ledger *record_use(const struct explanation *explanation)
{
    const struct memory_verdict *verdict = &explanation->result->step.memory;
    struct ledger *ledger = ledger_new(explanation->arena);
    const struct memory_job job = memory_job_of(explanation->scenario);
    const struct memory_use use = memory_count(&job, verdict->worst_stage, ledger);
    ledger_remark(ledger, ledger_text(ledger, "of %.2f GB, at %s of microbatch %u, chunk %u: %s",
                                      verdict->limit_bytes / 1e9, memory_moment_names[use.moment],
                                      use.microbatch, use.chunk,
                                      verdict->fits_gpu ? result_memory_verdict(explanation->result)
                                                        : "DOES NOT FIT"));
    const double theirs = memory_megatron_bytes(&job);
    ledger_say(use.host_bytes > 0 ? ledger : NULL, "on the host", "GB", use.host_bytes,
               "offloaded");
    ledger_say(theirs > 0 ? ledger : NULL, "Megatron-LM's own report", "GB", theirs,
               "weights, states and activations");
    return ledger;
}

static void put_activations(const struct memory_job *job, const struct memory_verdict *verdict,
                            struct sheet *in)
{
    const struct memory_activations of = memory_activations_of_stage(job, verdict->worst_stage);
    struct sheet *activations = sheet_object(in, "activations");
    sheet_integer(activations, "layers_in_flight", of.layers_in_flight);
    sheet_number(activations, "layer_bytes", of.layer_bytes);
    sheet_number(activations, "kept_bytes", of.kept_bytes);
    sheet_number(activations, "recomputed_bytes", of.recomputed_bytes);
    sheet_number(activations, "working_bytes", of.working_bytes);
    sheet_number(activations, "embedding_bytes", of.embedding_bytes);
    sheet_number(activations, "head_bytes", of.head_bytes);
    sheet_number(activations, "total_bytes", verdict->worst.activations_bytes);
}

/* JSON has the tensors in the midst of the kinds of memory, people have them last. */
void explain_memory(const struct explanation *explanation, struct sheet *in)
{
    const struct scenario *scenario = explanation->scenario;
    const struct model *model = &scenario->model;
    const struct memory_verdict *verdict = &explanation->result->step.memory;
    const struct memory_use *use = &verdict->worst;
    const struct memory_job job = memory_job_of(scenario);
    const bool is_full = scenario->recompute.kind == RECOMPUTE_FULL;
    const struct layer_kind *last = &model->kinds[model_shown_kind(model)];
    struct memory_tensor tensors[MEMORY_TENSORS_MAX];
    const uint32_t tensor_count = memory_layer_tensors(&job.shape, last, is_full, tensors);
    sheet_integer(in, "stage", verdict->worst_stage);
    sheet_number(in, "parameters", memory_stage_parameters(&job.split, verdict->worst_stage));
    sheet_number(in, "expert_parameters",
                 memory_stage_expert_parameters(&job.split, verdict->worst_stage));
    sheet_number(in, "weights_bytes", use->weights_bytes);
    sheet_number(in, "gradients_bytes", use->gradients_bytes);
    sheet_number(in, "optimizer_bytes", use->optimizer_bytes);
    put_activations(&job, verdict, in);
    sheet_list(in, "layer_tensors", FIELD_LIST(tensor_fields), tensors, tensor_count,
               sizeof *tensors);
    sheet_number(in, "logits_bytes", use->logits_bytes);
    sheet_number(in, "buffers_bytes", use->buffers_bytes);
    sheet_number(in, "overhead_bytes", use->overhead_bytes);
    sheet_number(in, "temporary_bytes", use->temporary_bytes);
    sheet_number(in, "context_bytes", use->context_bytes);
    sheet_number(in, "communication_bytes", use->communication_bytes);
    sheet_number(in, "fragmentation_bytes", use->fragmentation_bytes);
    sheet_number(in, "host_bytes", use->host_bytes);
    sheet_text(in, "peak_at", memory_moment_names[use->moment]);
    sheet_integer(in, "peak_microbatch", use->microbatch);
    sheet_integer(in, "peak_chunk", use->chunk);
    sheet_number(in, "megatron_report_bytes", memory_megatron_bytes(&job));
    sheet_number(in, "total_bytes", use->total_bytes);
    sheet_number(in, "limit_bytes", verdict->limit_bytes);
    sheet_bool(in, "fits", verdict->fits);
    sheet_text(in, "verdict", result_memory_verdict(explanation->result));
    sheet_say(in, "  Stage %" PRId64 " of %" PRId64 ", ZeRO %" PRId64 ", recompute %s\n",
              verdict->worst_stage, scenario->parallel.pp, scenario->parallel.zero,
              recompute_names[scenario->recompute.kind]);
    explain_ledger(in, "sums", record_use(explanation));
    struct ledger *tensors_ledger = ledger_new(explanation->arena);
    memory_layer_record(&job.shape, last, is_full, tensors_ledger);
    sheet_say(in, "  What the backward pass of a layer needs, of one microbatch:\n");
    explain_ledger(in, "layer_sums", tensors_ledger);
}
