/* Section 6 of `stoker explain`: the memory of a GPU of the fullest stage,
 * kind by kind (plan/memory/memory).
 */
#include "report/explain/explain_sections.h"
#include "report/explain/explain_text.h"

#include "base/arena.h"
#include "report/table.h"
#include "plan/memory/memory.h"
#include "plan/memory/memory_megatron.h"
#include "input/layout.h"

#include <inttypes.h>

/* ---- what the parameters take ---------------------------------------------------- */

/* Weights, gradients and optimizer: bytes of all parameters, and whether ranks share them. */
struct state_row {
    const char *title;
    double bytes;
    bool is_sharded;
    const char *note; /* why not, where the ZeRO stage would */
};

static const char *share_text(const struct explanation *explanation, bool is_sharded, int64_t ranks)
{
    return arena_printf(explanation->arena, "%" PRId64, is_sharded ? ranks : 1);
}

static void add_state(const struct explanation *explanation, const struct state_row *row,
                      struct sums *sums)
{
    const struct scenario *scenario = explanation->scenario;
    const struct parallel *parallel = &scenario->parallel;
    const int64_t stage = explanation->result->step.memory.worst_stage;
    const bool is_sharded = row->is_sharded;
    const double dense_parts = is_sharded ? (double)memory_dense_shards(parallel) : 1;
    const double expert_parts = is_sharded ? (double)memory_expert_shards(parallel) : 1;
    const double experts = memory_stage_expert_parameters(scenario, stage);
    const double dense = memory_stage_parameters(scenario, stage) - experts;
    const double each = row->bytes / (dense / dense_parts + experts / expert_parts);
    const char *over = parallel->cp > 1 ? ", sharded over cp x dp" : ", sharded over dp";
    if (experts > 0) {
        sums_add(sums, row->title, "(dense / %s + experts / %s) x %g B%s",
                 share_text(explanation, is_sharded, memory_dense_shards(parallel)),
                 share_text(explanation, is_sharded, memory_expert_shards(parallel)), each,
                 is_sharded ? over : row->note);
    } else {
        sums_add(sums, row->title, "parameters x %g B / %g%s", each, dense_parts,
                 is_sharded ? over : row->note);
    }
    sums_is(sums, "GB", "%.6f", row->bytes / 1e9);
}

static void add_edge(const struct explanation *explanation, double edge, struct sums *sums)
{
    const struct scenario *scenario = explanation->scenario;
    const struct parallel *parallel = &scenario->parallel;
    struct arena *arena = explanation->arena;
    sums_add(sums, "of embedding, head", "tables of %s x %s / tp %" PRId64 "%s, norms",
             explain_count(arena, cost_padded_vocab(&scenario->model, parallel->tp)),
             explain_count(arena, scenario->model.hidden), parallel->tp,
             scenario->model.positions == POSITION_LEARNED ? ", positions" : "");
    sums_is(sums, "", "%s", number_grouped(arena, edge));
}

/* Layers of each kind on a stage. */
struct stage_layers {
    int64_t of_kind[LAYER_KINDS_MAX];
    int64_t all;
};

static struct stage_layers layers_of(const struct scenario *scenario, int64_t stage)
{
    const struct parallel *parallel = &scenario->parallel;
    const struct model *model = &scenario->model;
    struct stage_layers layers = {.all = 0};
    for (int64_t chunk = 0; chunk < parallel->virtual_stages; chunk++) {
        const int64_t piece = layout_piece(parallel, stage, chunk);
        const int64_t first = layout_first_layer(parallel, piece);
        const int64_t count = parallel->layers_per_chunk[piece];
        layers.all += count;
        for (int64_t i = 0; i < count; i++) {
            layers.of_kind[model_kind(model, first + i)]++;
        }
        if (model->mtp_layers > 0 && piece == layout_pieces(parallel) - 1) {
            layers.of_kind[model->mtp_kind] += model->mtp_layers;
            layers.all += model->mtp_layers;
        }
    }
    return layers;
}

/* A line for a kind of layer; returns what all of them have. */
static double add_kind(const struct explanation *explanation, uint32_t number, int64_t layers,
                       struct sums *sums)
{
    const struct scenario *scenario = explanation->scenario;
    const struct layer_kind *kind = &scenario->model.kinds[number];
    const struct memory_layer_parameters of = memory_layer_parameters(scenario, kind);
    struct arena *arena = explanation->arena;
    const char *title = scenario->model.kind_count > 1
                            ? arena_printf(arena, "parameters of a layer (%s)", kind->name)
                            : "parameters of a layer";
    if (kind->has_experts) {
        sums_add(sums, title, "the rest + %s in %" PRId64 " / ep %" PRId64 " experts",
                 number_grouped(arena, of.experts),
                 scenario->model.experts + scenario->routing.redundant_experts,
                 scenario->parallel.ep);
    } else {
        sums_add(sums, title, "matrices / tp %" PRId64 " + norms and biases",
                 scenario->parallel.tp);
    }
    sums_is(sums, "", "%s", number_grouped(arena, of.dense + of.experts));
    return (double)layers * (of.dense + of.experts);
}

static void add_parameters(const struct explanation *explanation, struct sums *sums)
{
    const struct scenario *scenario = explanation->scenario;
    const int64_t stage = explanation->result->step.memory.worst_stage;
    struct arena *arena = explanation->arena;
    const double all = memory_stage_parameters(scenario, stage);
    const struct stage_layers layers = layers_of(scenario, stage);
    const char *count = "";
    double edge = all;
    for (uint32_t i = 0; i < scenario->model.kind_count; i++) {
        const int64_t number = layers.of_kind[i];
        if (number > 0) {
            edge -= add_kind(explanation, i, number, sums);
            const struct memory_layer_parameters of =
                memory_layer_parameters(scenario, &scenario->model.kinds[i]);
            count = arena_printf(arena, "%s%s%" PRId64 " layers x %s", count,
                                 count[0] == '\0' ? "" : " + ", number,
                                 number_grouped(arena, of.dense + of.experts));
        }
    }
    if (edge >= 1) {
        add_edge(explanation, edge, sums);
    }
    sums_add(sums, "parameters", "%s%s", count, edge >= 1 ? " + embedding, head" : "");
    sums_is(sums, "", "%s", number_grouped(arena, all));
}

/* ---- activations ------------------------------------------------------------------- */

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

static void add_activations(const struct explanation *explanation, struct sums *sums)
{
    const struct memory_verdict *verdict = &explanation->result->step.memory;
    const struct memory_use *use = &verdict->worst;
    const struct memory_activations of =
        memory_activations_of_stage(explanation->scenario, verdict->worst_stage);
    const bool is_mixed = explanation->scenario->model.kind_count > 1;
    sums_add(sums, "kept layers", "at most %" PRId64 " in flight x %.6f MB%s", of.layers_in_flight,
             of.layer_bytes / 1e6, is_mixed ? " (of the last kind)" : "");
    sums_is(sums, "GB", "%.6f", of.kept_bytes / 1e9);
    if (of.embedding_bytes > 0) {
        sums_add(sums, "embedding dropout masks", "microbatches in flight x hidden x 1 B");
        sums_is(sums, "GB", "%.6f", of.embedding_bytes / 1e9);
    }
    if (of.head_bytes > 0) {
        sums_add(sums, "head", "logits with fp32 copy %.6f GB, norm's input and output",
                 use->logits_bytes / 1e9);
        sums_is(sums, "GB", "%.6f", of.head_bytes / 1e9);
    }
    sums_add(sums, "activations", "the sum of these");
    sums_is(sums, "GB", "%.6f", use->activations_bytes / 1e9);
    if (of.recomputed_bytes > 0) {
        sums_add(sums, "a layer computed again", "everything - kept, one at a time");
        sums_is(sums, "GB", "%.6f", of.recomputed_bytes / 1e9);
    }
    sums_add(sums, "at work",
             use->moment == MEMORY_AT_LOSS
                 ? "more copies of the logits, messages between stages"
                 : "gradients of the running layer, messages between stages");
    sums_is(sums, "GB", "%.6f", of.working_bytes / 1e9);
    sums_add(sums, "temporaries", "the sum of these");
    sums_is(sums, "GB", "%.6f", use->temporary_bytes / 1e9);
}

/* ---- the rest and the sum ------------------------------------------------------------ */

static const char *buffers_text(const struct explanation *explanation)
{
    const struct scenario *scenario = explanation->scenario;
    if (scenario->parallel.zero < 3) {
        return arena_printf(explanation->arena, "buckets of %g MB, copies of gradients",
                            scenario->software.bucket_bytes / 1e6);
    }
    return arena_printf(
        explanation->arena, "gathered %s%s",
        scenario->parallel.reshard == RESHARD_FORWARD
            ? arena_printf(explanation->arena,
                           "weights of the largest unit and %" PRId64 " layers ahead",
                           scenario->software.fsdp_prefetch)
            : "weights of all layers",
        memory_shards_gradients(&scenario->parallel) ? ", gradients of a unit" : "");
}

static void add_overhead(const struct memory_use *use, const char *software, struct sums *sums)
{
    const struct {
        const char *title, *what;
        double bytes;
    } rows[] = {
        {"CUDA context", software, use->context_bytes},
        {"communication", "buffers of each group of ranks", use->communication_bytes},
        {"fragmentation", "share of what is allocated", use->fragmentation_bytes},
        {"a lump", software, use->lump_bytes},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].bytes > 0) {
            sums_add(sums, rows[i].title, "%s", rows[i].what);
            sums_is(sums, "GB", "%.6f", rows[i].bytes / 1e9);
        }
    }
    sums_add(sums, "overhead", "the sum of these");
    sums_is(sums, "GB", "%.6f", use->overhead_bytes / 1e9);
}

static void add_rest(const struct explanation *explanation, struct sums *sums)
{
    const struct scenario *scenario = explanation->scenario;
    const struct memory_verdict *verdict = &explanation->result->step.memory;
    const struct memory_use *use = &verdict->worst;
    if (use->buffers_bytes > 0) {
        sums_add(sums, "buffers", "%s", buffers_text(explanation));
        sums_is(sums, "GB", "%.6f", use->buffers_bytes / 1e9);
    }
    add_overhead(use, scenario->software.name, sums);
    const char *when =
        arena_printf(explanation->arena, "at %s of microbatch %" PRIu32 ", chunk %" PRIu32,
                     memory_moment_names[use->moment], use->microbatch, use->chunk);
    sums_add(sums, "total", "of %.2f GB, %s: %s", verdict->limit_bytes / 1e9, when,
             verdict->fits_gpu ? "fits" : "DOES NOT FIT");
    sums_is(sums, "GB", "%.6f", use->total_bytes / 1e9);
    if (use->host_bytes > 0) {
        sums_add(sums, "on the host", "offloaded");
        sums_is(sums, "GB", "%.6f", use->host_bytes / 1e9);
    }
    const double theirs = memory_megatron_bytes(scenario);
    if (theirs > 0) {
        sums_add(sums, "Megatron-LM's own report", "weights, states and activations");
        sums_is(sums, "GB", "%.6f", theirs / 1e9);
    }
}

void explain_memory_print(const struct explanation *explanation, FILE *out)
{
    const struct scenario *scenario = explanation->scenario;
    const struct memory_verdict *verdict = &explanation->result->step.memory;
    const struct memory_use *use = &verdict->worst;
    const int64_t zero = scenario->parallel.zero;
    const bool shards_gradients = memory_shards_gradients(&scenario->parallel);
    const struct state_row rows[] = {
        {"weights", use->weights_bytes, zero >= 3, ""},
        {"gradients", use->gradients_bytes, shards_gradients,
         zero >= 2 ? ", whole until the last microbatch" : ""},
        {"optimizer", use->optimizer_bytes, zero >= 1, ""},
    };
    fprintf(out, "  Stage %" PRId64 " of %" PRId64 ", ZeRO %" PRId64 ", recompute %s\n",
            verdict->worst_stage, scenario->parallel.pp, zero,
            recompute_names[scenario->recompute.kind]);
    struct sums *sums = sums_new(explanation->arena);
    add_parameters(explanation, sums);
    sums_print(sums, out);
    sums = sums_new(explanation->arena);
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        add_state(explanation, &rows[i], sums);
    }
    sums_print(sums, out);
    print_tensors(explanation, out);
    sums = sums_new(explanation->arena);
    add_activations(explanation, sums);
    add_rest(explanation, sums);
    sums_print(sums, out);
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
}
