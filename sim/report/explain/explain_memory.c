/* Section 6 of `stoker explain`: the memory of a GPU of the fullest stage,
 * kind by kind (plan/memory/memory).
 */
#include "report/explain/explain_sections.h"
#include "report/explain/explain_text.h"

#include "base/arena.h"
#include "report/table.h"
#include "plan/memory/memory.h"
#include "plan/memory/memory_megatron.h"

#include <inttypes.h>

static void print_tensors(const struct explanation *explanation, FILE *out)
{
    const struct scenario *scenario = explanation->scenario;
    struct memory_tensor tensors[MEMORY_TENSORS_MAX];
    const struct model *model = &scenario->model;
    const uint32_t count =
        memory_layer_tensors(scenario, model_layer(model, model->layers - 1), tensors);
    struct table *table = table_new(explanation->arena);
    table_column(table, "  what the backward pass of a layer needs", TABLE_LEFT);
    table_column(table, "count", TABLE_RIGHT);
    table_column(table, "x B", TABLE_RIGHT);
    table_column(table, "x width", TABLE_RIGHT);
    table_column(table, "/ parts", TABLE_RIGHT);
    table_column(table, "MB", TABLE_RIGHT);
    table_column(table, "", TABLE_LEFT);
    for (uint32_t i = 0; i < count; i++) {
        table_cell(table, "    %s", tensors[i].what);
        table_cell(table, "%" PRId64, tensors[i].count);
        table_cell(table, "%g", tensors[i].element_bytes);
        table_cell(table, "%.0f", tensors[i].width);
        table_cell(table, "%g", tensors[i].parts);
        table_cell(table, "%.6f", tensors[i].bytes / 1e6);
        table_cell(table, "%s", tensors[i].is_kept ? "kept" : "computed again");
    }
    table_print(table, out);
    const int64_t length = scenario->batch.sequence_length / scenario->parallel.cp;
    fprintf(out, "    each x %" PRId64 " x %s tokens; kept of a layer: %.6f MB%s\n\n",
            scenario->batch.micro, explain_count(explanation->arena, length),
            memory_layer_activation_bytes(scenario) / 1e6,
            scenario->recompute.kind == RECOMPUTE_FULL ? " (its input)" : "");
}

/* The prediction's sums of the fullest stage. */
static const struct ledger *record_use(const struct explanation *explanation)
{
    const struct scenario *scenario = explanation->scenario;
    const struct memory_verdict *verdict = &explanation->result->step.memory;
    struct ledger *ledger = ledger_new(explanation->arena);
    const struct memory_use use = memory_count(scenario, verdict->worst_stage, ledger);
    ledger_remark(ledger, ledger_text(ledger, "of %.2f GB, at %s of microbatch %u, chunk %u: %s",
                                      verdict->limit_bytes / 1e9, memory_moment_names[use.moment],
                                      use.microbatch, use.chunk,
                                      verdict->fits_gpu ? "fits" : "DOES NOT FIT"));
    const double theirs = memory_megatron_bytes(scenario);
    ledger_say(use.host_bytes > 0 ? ledger : NULL, "on the host", "GB", use.host_bytes,
               "offloaded");
    ledger_say(theirs > 0 ? ledger : NULL, "Megatron-LM's own report", "GB", theirs,
               "weights, states and activations");
    return ledger;
}

void explain_memory_print(const struct explanation *explanation, FILE *out)
{
    const struct scenario *scenario = explanation->scenario;
    fprintf(out, "  Stage %" PRId64 " of %" PRId64 ", ZeRO %" PRId64 ", recompute %s\n",
            explanation->result->step.memory.worst_stage, scenario->parallel.pp,
            scenario->parallel.zero, recompute_names[scenario->recompute.kind]);
    explain_print_ledger(record_use(explanation), explanation->arena, out);
    print_tensors(explanation, out);
}

/* ---- JSON -------------------------------------------------------------------------- */

static void put_activations(const struct explanation *explanation, struct json *json)
{
    const struct memory_activations of = memory_activations_of_stage(
        explanation->scenario, explanation->result->step.memory.worst_stage);
    json_object_open(json, "activations");
    json_integer(json, "layers_in_flight", of.layers_in_flight);
    json_number(json, "layer_bytes", of.layer_bytes);
    json_number(json, "kept_bytes", of.kept_bytes);
    json_number(json, "recomputed_bytes", of.recomputed_bytes);
    json_number(json, "working_bytes", of.working_bytes);
    json_number(json, "embedding_bytes", of.embedding_bytes);
    json_number(json, "head_bytes", of.head_bytes);
    json_number(json, "total_bytes", explanation->result->step.memory.worst.activations_bytes);
    json_object_close(json);
}

static void put_tensors(const struct explanation *explanation, struct json *json)
{
    struct memory_tensor tensors[MEMORY_TENSORS_MAX];
    const struct model *model = &explanation->scenario->model;
    const uint32_t count =
        memory_layer_tensors(explanation->scenario, model_layer(model, model->layers - 1), tensors);
    json_array_open(json, "layer_tensors");
    for (uint32_t i = 0; i < count; i++) {
        json_object_open(json, NULL);
        json_text(json, "name", tensors[i].what);
        json_integer(json, "count", tensors[i].count);
        json_number(json, "element_bytes", tensors[i].element_bytes);
        json_number(json, "width", tensors[i].width);
        json_number(json, "parts", tensors[i].parts);
        json_number(json, "bytes", tensors[i].bytes);
        json_bool(json, "is_kept", tensors[i].is_kept);
        json_object_close(json);
    }
    json_array_close(json);
}

void explain_memory_json(const struct explanation *explanation, struct json *json)
{
    const struct memory_verdict *verdict = &explanation->result->step.memory;
    const struct memory_use *use = &verdict->worst;
    json_integer(json, "stage", verdict->worst_stage);
    json_number(json, "parameters",
                memory_stage_parameters(explanation->scenario, verdict->worst_stage));
    json_number(json, "expert_parameters",
                memory_stage_expert_parameters(explanation->scenario, verdict->worst_stage));
    json_number(json, "weights_bytes", use->weights_bytes);
    json_number(json, "gradients_bytes", use->gradients_bytes);
    json_number(json, "optimizer_bytes", use->optimizer_bytes);
    put_activations(explanation, json);
    put_tensors(explanation, json);
    json_number(json, "logits_bytes", use->logits_bytes);
    json_number(json, "buffers_bytes", use->buffers_bytes);
    json_number(json, "overhead_bytes", use->overhead_bytes);
    json_number(json, "temporary_bytes", use->temporary_bytes);
    json_number(json, "context_bytes", use->context_bytes);
    json_number(json, "communication_bytes", use->communication_bytes);
    json_number(json, "fragmentation_bytes", use->fragmentation_bytes);
    json_number(json, "host_bytes", use->host_bytes);
    json_text(json, "peak_at", memory_moment_names[use->moment]);
    json_integer(json, "peak_microbatch", use->microbatch);
    json_integer(json, "peak_chunk", use->chunk);
    json_number(json, "megatron_report_bytes", memory_megatron_bytes(explanation->scenario));
    json_number(json, "total_bytes", use->total_bytes);
    json_number(json, "limit_bytes", verdict->limit_bytes);
    json_bool(json, "fits", verdict->fits);
    explain_put_ledger("sums", record_use(explanation), explanation->arena, json);
}
