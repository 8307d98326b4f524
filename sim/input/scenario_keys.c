/* Every key of a scenario, one row each: what it means, its bounds, and what holds when it is
 * left out. The functions before the table read what is more than one value.
 */
#include "input/scenario_keys.h"

#include "input/collectives.h"
#include "input/data/data_keys.h"
#include "input/layout.h"
#include "input/job/matrix_rule_keys.h"
#include "input/network/prices.h"
#include "input/run/checkpoint_keys.h"
#include "input/scenario.h"
#include "input/schedule_file.h"
#include "input/slow_ranks.h"
#include "input/study/study_keys.h"
#include "input/training.h"

#include "base/absent.h"
#include "base/arena.h"

#include <string.h>

enum {
    DEGREE_MAX = 1000 * 1000,
    LAYERS_MAX = 10 * 1000,
    SEQUENCE_MAX = 100 * 1000 * 1000,
    RANK_MAX = 100 * 1000,
    COPIES_MAX = 4096
};
#define GLOBAL_MAX LAYOUT_GLOBAL_MAX
#define SEED_MAX 4294967295 /* seeds above 32 bits are slips, not wishes */
static const int64_t STEPS_MAX = 1000000000;
static const double SECONDS_MAX = 1e9;

/* ---- files of the catalogue, which input/resolve has put in ---- */

static void judge(const struct schema_reader *reader, bool is_good)
{
    reader->map->is_bad = reader->map->is_bad || !is_good;
}

/* A file whose struct is the same in all scenarios that leave it as it is. */
static void judge_file(const struct schema_reader *reader, const struct schema_row *row,
                       const struct doc_reader *file, void *object)
{
    judge(reader, doc_files_read(file, doc_take(reader->map, schema_key(row)), object,
                                 reader->assumptions, reader->map->diag));
}

static void read_model(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    judge_file(reader, row, &model_reader, &scenario->model);
}

static void read_cluster(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    judge_file(reader, row, &cluster_reader, &scenario->cluster);
}

static void read_software(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    judge_file(reader, row, &software_reader, &scenario->software);
}

static void read_gpu(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    judge_file(reader, row, &gpu_reader, &scenario->gpu);
}

static void read_recipe(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    const struct doc_node *node = doc_take(reader->map, schema_key(row));
    judge(reader, node == NULL ||
                      recipe_read(node, &scenario->recipe, reader->assumptions, reader->map->diag));
}

static void read_box(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    const struct doc_node *node = doc_take(reader->map, schema_key(row));
    judge(reader,
          node == NULL || box_read(node, &scenario->box, reader->assumptions, reader->map->diag));
}

static void read_house(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    const struct doc_node *node = doc_take(reader->map, schema_key(row));
    judge(reader, node == NULL ||
                      house_read(node, &scenario->house, reader->assumptions, reader->map->diag));
}

static void read_library(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    judge_file(reader, row, &library_reader, &scenario->library);
}

/* ---- price ---- */

/* The scenario's price of a GPU-hour goes before the GPU's own. */
static void read_gpu_hour(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct scenario *scenario = reader->object;
    schema_read_key(reader, row);
    if (doc_take(reader->map, schema_key(row)) != NULL) {
        assumptions_drop(reader->assumptions, "gpu.price.gpu_hour");
    } else if (doc_find(scenario->document, "gpu.price.gpu_hour") == NULL) {
        assumptions_add(reader->assumptions,
                        &(struct assumption){.name = row->path,
                                             .value = "none",
                                             .reason = "neither scenario nor GPU has a price"});
    }
}

const char *const price_terms_names[TERMS_COUNT_] = {"rent", "reserved", "spot", "own"};
const char *const price_idle_names[IDLE_COUNT_] = {"paid", "not"};

static const struct place *place_of(const struct schema_reader *reader, const char *key)
{
    const struct doc_node *node = doc_find(reader->map->node, key);
    return node != NULL ? &node->place : &reader->map->node->place;
}

/* A GPU costs what is said of it, or of its node, or what the catalogue says. */
static bool check_capital(const struct schema_reader *reader, const struct ownership *own)
{
    struct diag *diag = reader->map->diag;
    if (doc_find(reader->map->node, "own.gpu") != NULL && own->node_usd > 0) {
        diag_add(diag, DIAG_INPUT, place_of(reader, "own.node"),
                 "price.own has the price of a GPU and that of a node");
        diag_help(diag, "write one of them: a GPU's is with its share of the node");
        return false;
    }
    if (own->node_usd > 0 || own->gpu_usd > 0) {
        return true;
    }
    diag_add(diag, DIAG_INPUT, place_of(reader, "own"),
             "price.own needs what a GPU or a node is bought for: the GPU's file does not say");
    diag_help(diag, "write own: {gpu: 30000 USD}, with its share of the node, or own: {node: "
                    "250000 USD}");
    return false;
}

static bool check_terms(const struct schema_reader *reader, const struct price *price)
{
    struct diag *diag = reader->map->diag;
    if (price->terms == TERMS_OWN && !price->own.is_told) {
        diag_add(diag, DIAG_INPUT, place_of(reader, "terms"), "terms: own needs what owning costs");
        diag_help(diag, "write own: {gpu: 30000 USD, life: 5 years, hosting: 130 USD/month}");
        return false;
    }
    if (price->terms == TERMS_SPOT && doc_find(reader->map->node, "spot_gpu_hour") == NULL) {
        diag_add(diag, DIAG_INPUT, place_of(reader, "terms"), "terms: spot needs a price");
        diag_help(diag, "write spot_gpu_hour: 1.20 USD");
        return false;
    }
    return true;
}

static bool check_price(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct scenario *scenario = reader->object;
    const struct price *price = &scenario->price;
    (void)row;
    const bool has_terms = reader->map->node == NULL || check_terms(reader, price);
    const bool has_capital = !price->own.is_told || check_capital(reader, &price->own);
    const bool leans_on_gpu = price->own.is_told && !(price->own.node_usd > 0) &&
                              doc_find(reader->map->node, "own.gpu") == NULL;
    if (!leans_on_gpu) {
        assumptions_drop(reader->assumptions, "gpu.purchase");
    }
    return has_terms && has_capital;
}

static void read_network_prices(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    struct price_list *list = arena_alloc(reader->assumptions->arena, sizeof *list);
    const struct doc_node *node = doc_take(reader->map, schema_key(row));
    if (node != NULL) {
        judge(reader, doc_files_read(&price_list_reader, node, list, reader->assumptions,
                                     reader->map->diag));
        scenario->price.network_prices = list;
    }
}

static void read_matrices(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    const struct doc_node *node = doc_take(reader->map, schema_key(row));
    if (node != NULL && !doc_is(node, MATRIX_RULE_NONE)) {
        judge(reader, doc_files_read(&matrix_rule_reader, node, &scenario->optimizer.matrices,
                                     reader->assumptions, reader->map->diag));
    }
}

/* A grid may emit nothing, so that 0 does not stand for none. */
static void read_carbon(const struct schema_reader *reader, const struct schema_row *row)
{
    if (doc_take(reader->map, schema_key(row)) == NULL) {
        ((struct scenario *)reader->object)->price.carbon_kg_per_kwh = ABSENT;
        return;
    }
    schema_read_key(reader, row);
}

/* ---- other jobs ---- */

#define SCHEMA_OBJECT struct scenario
#include "input/schema/rows.h"

static const struct schema_row job_rows[] = {
    {ONLY_NODE("scenario", "What it runs, on this scenario's cluster: a path, or a mapping."),
     .is_required = true},
    {CHOICE("placement", placement, placement_names, PLACEMENT_COUNT_,
            "Which nodes of the cluster it gets."),
     .note = "as its scenario says"},
};
const struct schema scenario_job_keys = SCHEMA_OF("jobs", "jobs.", job_rows);

/* ---- the table ---- */

#undef SCHEMA_OBJECT
#define SCHEMA_OBJECT struct scenario
#include "input/failures/recovery_rows.h"

static const struct schema_refusal *without_documents(const void *object)
{
    static const struct schema_refusal refusal = {
        "without document_length", "say how long documents are: document_length: 2000"};
    return ((const struct scenario *)object)->batch.document_length == 0 ? &refusal : NULL;
}

static bool has_experts(const void *object)
{
    return ((const struct scenario *)object)->model.experts > 0;
}

/* How a user of collectives has them done. */
#define COLLECTIVES(name_, user_)                                                \
    {SECTION("collectives." name_, "Collectives of this user.")},                \
        {CHOICE("collectives." name_ ".algorithm", collectives[user_].algorithm, \
                collective_algorithm_names, ALGORITHM_ASKED_COUNT_,              \
                "The algorithm, where it offers the operation; ring is NCCL's, " \
                "over all rails, single-ring takes one NIC of a node."),         \
         .read = collectives_read_choice},                                       \
    {                                                                            \
        CHOICE("collectives." name_ ".protocol", collectives[user_].protocol,    \
               collective_protocol_names, PROTOCOL_COUNT_,                       \
               "The protocol, of what the library does: not of "                 \
               "software.experts.exchange: tokens."),                            \
            .read = collectives_read_choice                                      \
    }

static const struct schema_row rows[] = {
    {TEXT("scenario", title, "What it is, in a line; without it the file's name."), .note = ""},
    {CUSTOM("model", read_model, "The model: a name of models/llms, a path, or a mapping."),
     .is_required = true, .example = "model: NAME, of `stoker list models`"},
    {CUSTOM("cluster", read_cluster, "The cluster: a name of topologies, a path, or a mapping."),
     .is_required = true, .example = "cluster: NAME, of `stoker list clusters`"},
    {CUSTOM(
         "software", read_software,
         "The framework's profile: a name of models/software, a path, or a mapping. Without it the "
         "usual one or, for a GPU that is younger or not of has.architectures, the next of its "
         "framework."),
     .standard = "megatron-2024", .is_settled = true},
    {CUSTOM("defaults", read_house,
            "What a house's scenarios have in common: the path of a file of keys that hold where "
            "the scenario, its recipe, its box and --set say nothing, or none (STOKER_DEFAULTS "
            "names one for scenarios without)."),
     .is_optional = true, .note = "none", .inner = &house_keys},
    {CUSTOM("recipe", read_recipe,
            "What people set together: a name of models/recipes, a path, or a mapping; what the "
            "scenario says itself goes before."),
     .note = "none"},
    {CUSTOM("box", read_box,
            "What was measured of this machine, as `stoker calibrate box` writes it: the path of a "
            "file, or a mapping; it goes before the files of cluster, gpu and software."),
     .is_optional = true, .note = "the mean box of its kind", .inner = &box_keys},
    {CUSTOM("gpu", read_gpu,
            "The GPU, if not the cluster's: a name of models/gpus, a path, or a mapping.")},
    {CUSTOM("library", read_library,
            "The library of collectives, if not the cluster's: a name of models/libraries, a "
            "path, or a mapping."),
     .standard = LIBRARY_DEFAULT},
    {COUNT("gpus", gpus, 1, SCENARIO_GPUS_MAX, "GPUs of the job."), .is_required = true,
     .example = "gpus: 64", .axis = {"GPUs", 1, true}},
    {CHOICE("precision", precision, precision_names, PRECISION_COUNT_,
            "What matrices are multiplied in; of fp8 and less, weights and activations stay bf16."),
     .standard = "bf16"},

    {SECTION_AT("parallel", parallel.place,
                "How the model and the batch are cut over the GPUs; auto, or {tp: auto, ...}: a "
                "search finds it, as it does batch.micro and recompute where these are auto.")},
    {COUNT("parallel.tp", parallel.tp, 1, DEGREE_MAX, "GPUs that share each layer's matrices."),
     .standard = "1", .axis = {"tensor parallel, tp", 1, true}},
    {COUNT("parallel.cp", parallel.cp, 1, DEGREE_MAX, "GPUs that share each sequence."),
     .standard = "1", .axis = {"context parallel, cp", 1, true}},
    {COUNT("parallel.pp", parallel.pp, 1, DEGREE_MAX, "Stages of the pipeline."), .standard = "1",
     .axis = {"pipeline stages, pp", 1, true}},
    {COUNT("parallel.dp", parallel.dp, 1, DEGREE_MAX,
           "Replicas that share the batch; 'auto' takes the GPUs that are left."),
     .standard = "auto", .note = "the GPUs that are left", .is_settled = true,
     .read = layout_read_dp, .axis = {"data parallel, dp", 1, true}},
    {COUNT("parallel.ep", parallel.ep, 1, DEGREE_MAX, "GPUs that share the experts of a layer."),
     .standard = "1", .axis = {"expert parallel, ep", 1, true}},
    {COUNT("parallel.etp", parallel.etp, 1, DEGREE_MAX,
           "GPUs that share the matrices of each expert."),
     AS(int64_t, parallel.tp), .note = "as tp"},
    {COUNT("parallel.zero", parallel.zero, 0, 3,
           "What replicas share out: 1 the optimizer's states, 2 gradients too, 3 weights too "
           "(FSDP); 0 nothing."),
     .standard = "1", .axis = {"ZeRO stage", 1, false}},
    {COUNT("parallel.zero_group", parallel.zero_group, 1, DEGREE_MAX,
           "GPUs over which states are shared out; fewer than all is HSDP."),
     .note = "cp x dp"},
    {COUNT("parallel.deferred_heads", parallel.deferred_heads, 0, 1e9,
           "With a pipeline: of so many microbatches the weight gradient of the head is computed "
           "after the last backward pass, where the last stage would wait for the others "
           "(Megatron's defer_embedding_wgrad_compute, wgrad_deferral_limit). 0: of none."),
     .standard = "0"},
    {BOOL("parallel.zero_quantized_weights", parallel.has_quantized_weights,
          "Zero 3: weights are gathered in int8, with a scale for each block (ZeRO++, qwZ)."),
     .standard = "false"},
    {BOOL("parallel.zero_local_weights", parallel.has_local_weights,
          "Zero 3: a second copy of the weights lies in each zero_local_group, from which backward "
          "passes gather (ZeRO++, hpZ)."),
     .standard = "false"},
    {BOOL("parallel.zero_quantized_gradients", parallel.has_quantized_gradients,
          "Zero 3: gradients are reduced in int4 by two all-to-alls, in zero_local_group and "
          "between such groups (ZeRO++, qgZ)."),
     .standard = "false"},
    {COUNT("parallel.zero_local_group", parallel.zero_local_group, 1, DEGREE_MAX,
           "Neighbouring GPUs that have a copy of the weights, or reduce gradients first."),
     .is_optional = true, .note = "a node's, where ZeRO++ needs it"},
    {CHOICE("parallel.reshard", parallel.reshard, reshard_names, RESHARD_COUNT_,
            "Until when FSDP keeps the weights that it gathered."),
     .standard = "after-forward"},
    {CHOICE("parallel.cp_type", parallel.context, context_names, CONTEXT_COUNT_,
            "How GPUs that share a sequence exchange keys and values."),
     AS(uint32_t, software.context), .note = "as the framework does (software.context.type)"},
    {CUSTOM("parallel.order", layout_read_order,
            "Which ranks are neighbours: the axes of the mesh, the fastest first."),
     .standard = "tp-cp-ep-dp-pp"},
    {CHOICE("parallel.schedule", parallel.schedule, schedule_names, SCHEDULE_FILE,
            "The order of microbatches in the pipeline: a name, or the path of a file of orders."),
     .standard = "1f1b", .is_settled = true, .read = layout_read_schedule,
     .inner = &schedule_file_keys, .axis = {"pipeline schedule", 1, false}},
    {COUNT("parallel.virtual_stages", parallel.virtual_stages, 1, LAYERS_MAX,
           "Chunks of the model on each stage; more than one is interleaved."),
     .standard = "1", .read = layout_read_virtual_stages, .axis = {"chunks per stage", 1, true}},
    {COUNT("parallel.microbatch_group", parallel.microbatch_group, 1, GLOBAL_MAX,
           "Microbatches that pass a chunk before the next chunk has its turn."),
     .is_optional = true, .note = "of pp, when interleaved"},
    {BOOL("parallel.overlap_experts", parallel.overlaps_experts,
          "Whether one microbatch's exchange of tokens runs beside another's compute."),
     .standard = "false"},
    {BOOL("parallel.sequence_parallel", parallel.is_sequence_parallel,
          "Whether norms and dropout are cut along the sequence where tp cuts the rest."),
     .standard = "false", .is_settled = true, .read = layout_read_sequence_parallel},
    {ONLY_NODE("parallel.layers_per_stage",
               "Layers of every stage, or chunk in the model's order, as a list; or even."),
     .note = "spread evenly", .text = layout_layers_text},
    {COUNT("parallel.first_stage_layers", parallel.first_stage_layers, 0, LAYERS_MAX,
           "Layers of the first stage; the others share the rest."),
     .is_optional = true, .note = "as layers_per_stage says"},
    {COUNT("parallel.last_stage_layers", parallel.last_stage_layers, 0, LAYERS_MAX,
           "Layers of the last stage; the others share the rest."),
     .is_optional = true, .note = "as layers_per_stage says"},
    {BOOL("parallel.embedding_slot", parallel.has_embedding_slot,
          "Whether the embedding counts as a layer when layers are spread."),
     .standard = "false"},
    {BOOL("parallel.loss_slot", parallel.has_loss_slot,
          "Whether the loss counts as a layer when layers are spread."),
     .standard = "false"},

    {SECTION_AT("batch", batch.place, "What a step trains on."), .is_required = true,
     .example = "batch: {global: 512, sequence_length: 4096}"},
    {COUNT("batch.micro", batch.micro, 1, DEGREE_MAX, "Sequences of a microbatch."),
     .standard = "1", .axis = {"microbatch, sequences", 1, true}},
    {COUNT("batch.sequence_length", batch.sequence_length, 1, SEQUENCE_MAX,
           "Tokens of a sequence."),
     AS(int64_t, model.max_positions), .note = "the model's longest",
     .axis = {"sequence length, tokens", 1, true}},
    {COUNT("batch.document_length", batch.document_length, 1, SEQUENCE_MAX,
           "Mean length of the documents that are packed into a sequence, when a token attends "
           "within its own only."),
     .is_optional = true, .note = "a sequence is one document"},
    {QUANTITY("batch.document_spread", batch.document_spread, DIM_COUNT, 0.0, 100.0,
              "Standard deviation of these lengths over their mean."),
     .standard = "0", .refuses = without_documents},
    {ONLY_COUNT("batch.global_tokens", 1, LAYOUT_GLOBAL_TOKENS_MAX,
                "Tokens of a step, in place of its sequences."),
     .read = layout_read_global_tokens},
    {COUNT("batch.global", batch.global, 1, GLOBAL_MAX,
           "Sequences of a step, or say global_tokens."),
     .example = "global: 512", .read = layout_read_global,
     .axis = {"global batch, sequences", 1, true}},

    {CHOICE("recompute", recompute.kind, recompute_names, RECOMPUTE_COUNT_,
            "Which activations are computed again in the backward pass: of no layer, of what is "
            "cheap, of all; or a mapping that says which."),
     .standard = "none", .check = training_check_recompute},
    {COUNT("recompute.layers", recompute.layers, 1, LAYERS_MAX,
           "Whole layers, the first so many of each chunk.")},
    {NAMES("recompute.modules", recompute.modules, recompute_module_names, RECOMPUTE_MODULE_COUNT_,
           "Parts of every layer, as Megatron-LM calls them.")},

    {SECTION("optimizer", "What is kept of each parameter, and in what."),
     .check = training_check_optimizer},
    {CHOICE("optimizer.gradients", optimizer.gradients, state_names, STATE_COUNT_,
            "What gradients are accumulated and reduced in."),
     .among = 1u << STATE_FP32 | 1u << STATE_BF16 | 1u << STATE_FP16, .note = "the software's",
     .read = training_read_gradients},
    {CHOICE("optimizer.master", optimizer.master, state_names, STATE_COUNT_,
            "The copy of the weights that is updated; none where training is in fp32 anyway."),
     .among = 1u << STATE_NONE | 1u << STATE_FP32 | 1u << STATE_BF16 | 1u << STATE_FP16, .note = "",
     .read = training_read_master},
    {CHOICE("optimizer.rule", optimizer.rule, optimizer_rule_names, OPTIMIZER_RULE_COUNT_,
            "How many moments are kept: adam two, sgd-momentum one, sgd none."),
     .standard = "adam"},
    {CHOICE("optimizer.moments", optimizer.moments, state_names, STATE_COUNT_,
            "Each of the optimizer's moments."),
     .among = 1u << STATE_FP32 | 1u << STATE_BF16 | 1u << STATE_FP16 | 1u << STATE_FP8 |
              1u << STATE_INT8,
     .standard = "fp32"},
    {CUSTOM("optimizer.matrices", read_matrices,
            "How matrices of layers are updated, where otherwise than the rest: a name of "
            "models/optimizers (muon), a path, or a mapping; none: as the rest."),
     .is_optional = true, .note = "as all else"},
    {BOOL("optimizer.clip", optimizer.clips,
          "Whether the gradient's norm over all ranks is taken and gradients are scaled."),
     .standard = "true"},

    {SECTION("offload", "What lies in the host's memory.")},
    {QUANTITY("offload.optimizer", offload.optimizer, DIM_FRACTION, 0.0, 1.0,
              "Share of the optimizer's states and of its update that is the host's."),
     .standard = "0"},
    {COUNT("offload.activation_layers", offload.activation_layers, 0, LAYERS_MAX,
           "Layers of each stage whose activations go to the host and back."),
     .standard = "0"},

    {SECTION("loss", "How cross-entropy is computed.")},
    {CHOICE("loss.kind", loss.kind, loss_kind_names, LOSS_COUNT_,
            "One of those that the software has (software.loss)."),
     AS(uint32_t, software.loss.kind), .note = "the software's"},
    {COUNT("loss.chunk", loss.chunk, 1, 1000000000,
           "Tokens whose logits are there at once, where loss.kind is chunked or linear."),
     AS(int64_t, software.loss.chunk), .note = "256 of chunked, of linear as Liger has it"},
    {BOOL("loss.gathers_vocabulary", loss.gathers_vocabulary,
          "Ranks of tp gather the logits of the whole vocabulary."),
     AS(bool, software.loss.gathers_vocabulary), .note = "the software's"},

    {SECTION("routing", "How tokens spread over experts."), .applies = has_experts,
     .note = "every layer is dense", .check = training_check_spread},
    {CHOICE(
         "routing.distribution", routing.kind, token_routing_names, ROUTING_COUNT_,
         "How popular experts are: all alike; as lognormal draws of a spread; or as such draws of "
         "which the busiest is as far above the mean as was measured (max_violation). Recipes "
         "router-auxiliary-loss, router-loss-free and router-checkpoint have published values."),
     .standard = "even"},
    {QUANTITY("routing.spread", routing.spread, DIM_COUNT, 0.0, 5.0,
              "Sigma of the experts' popularity, when it is lognormal."),
     .is_optional = true, .note = "tokens spread evenly"},
    {QUANTITY("routing.max_violation", routing.max_violation, DIM_COUNT, 0.0, 1e4,
              "Of a router that was measured: the busiest expert's tokens over the mean, less 1 "
              "(MaxVio of arXiv 2408.15664, the mean of the layers)."),
     .is_optional = true, .note = "no router was measured"},
    {QUANTITY("routing.capacity_factor", routing.capacity_factor, DIM_COUNT, 0.01, 1e4,
              "Rows that an expert takes at most, as a multiple of the mean: tokens beyond are "
              "dropped; routing.pad_to_capacity says what becomes of rows that are missing."),
     .is_optional = true, .note = "no token is dropped"},
    {BOOL("routing.pad_to_capacity", routing.pads,
          "With a capacity every expert has as many rows, padding included, which are computed and "
          "exchanged (DeepSpeed, GShard; Megatron with --moe-pad-expert-input-to-capacity)."),
     AS(bool, software.pads_to_capacity), .note = "the software's"},
    {COUNT("routing.redundant_experts", routing.redundant_experts, 0, COPIES_MAX,
           "Copies of the busiest experts, as EPLB places them."),
     .standard = "0"},

    {SWITCH("lora", lora.is_enabled, "Small trained matrices beside frozen weights.")},
    {COUNT("lora.rank", lora.rank, 1, RANK_MAX, "The inner dimension of each pair of matrices."),
     .is_required = true},
    {NAMES("lora.targets", lora.targets, lora_target_names, LORA_TARGET_COUNT_,
           "The matrices that have such a pair."),
     .standard = "[qkv, projection, fc1, fc2]"},
    {QUANTITY("lora.dropout", lora.dropout, DIM_FRACTION, 0.0, 1.0,
              "Of what such a pair reads; no pass for 0."),
     .standard = "0 %"},

    {SECTION("run", "How long is trained, and what interrupts it."), .moves = SCHEMA_MOVES_MONTHS},
    {QUANTITY("run.tokens", run_tokens, DIM_COUNT, 1.0, 1e18,
              "Tokens of the whole training, which give its steps, days and money."),
     .is_optional = true, .note = "only the step is predicted",
     .axis = {"training tokens, trillions", 1e-12, false}},
    {QUANTITY(
         "run.startup", startup_s, DIM_SECONDS, 0.0, SECONDS_MAX,
         "From the start of the job to its first step: processes, communicators, compilation."),
     .standard = "0 s"},
    {QUANTITY("run.teardown", teardown_s, DIM_SECONDS, 0.0, SECONDS_MAX,
              "From the last step until the job's nodes are free: the last evaluation, what is "
              "copied away, processes that end. Nothing fails meanwhile."),
     .standard = "0 s"},
    {SWITCH("run.checkpoint", checkpoint.is_enabled,
            "How often the states are written to storage, and whether training waits for it.")},
    {CUSTOM("run.checkpoint.every", checkpoint_read_every,
            "Time or steps between two checkpoints: '30 min', '500 steps'."),
     .is_required = true, .axis = {"checkpoint interval, minutes", 1.0 / 60, true}},
    {CHOICE("run.checkpoint.mode", checkpoint.mode, checkpoint_mode_names, CHECKPOINT_MODE_COUNT_,
            "Training stops until all is written (blocking), or goes on beside it (async)."),
     .standard = "blocking"},
    {CHOICE("run.checkpoint.to", checkpoint.target, checkpoint_target_names,
            CHECKPOINT_TARGET_COUNT_,
            "Where checkpoints are written: to the storage that all nodes share, to each node's "
            "own drives (cluster.storage.local_write), to the memory of its host, or to that and "
            "over the NICs to the memory of a peer's, the next node below the same leaf."),
     .standard = "shared", .read = checkpoint_read_target},
    {COUNT("run.checkpoint.keep", checkpoint.keep, 1, STEPS_MAX,
           "Checkpoints that stay on the shared storage; older ones are deleted."),
     .is_optional = true, .note = "all are kept"},
    {COUNT("run.checkpoint.peer_every", checkpoint.peer_every, 1, STEPS_MAX,
           "Of checkpoints in hosts' memory, every so many-th goes on to a peer's memory, too."),
     .is_optional = true, .note = "none does", .refuses = checkpoint_refuses_peers},
    {COUNT(
         "run.checkpoint.drain_every", checkpoint.drain_every, 1, STEPS_MAX,
         "Of checkpoints that lie on nodes' drives or in memory, every so many-th is copied on to "
         "the shared storage."),
     .is_optional = true, .note = "each is", .read = checkpoint_read_drain,
     .refuses = checkpoint_refuses_drain},
    {QUANTITY("run.step_time", step_time_s, DIM_SECONDS, 1e-6, SECONDS_MAX,
              "A measured step, in the place of the one that is predicted, so that the run is "
              "judged alone."),
     .is_optional = true, .note = "the step is predicted"},
    {QUANTITY("run.queue", plan.queue_s, DIM_SECONDS, 0.0, SECONDS_MAX,
              "How long the job waits in the queue before it has its nodes; these hours are not "
              "paid, and failures begin after them."),
     .standard = "0 s"},
    {SWITCH("run.first_steps", plan.first_steps.are_slow,
            "First steps after each start of the job that take longer: compilation, caches."),
     .check = run_plan_check_first_steps},
    {COUNT("run.first_steps.count", plan.first_steps.count, 1, 1000000, "How many.")},
    {QUANTITY("run.first_steps.longer", plan.first_steps.longer_s, DIM_SECONDS, 1e-6, SECONDS_MAX,
              "What each of them takes longer."),
     .is_required = true},
    {SWITCH("run.evaluation", plan.evaluation.is_enabled,
            "Pauses after every so many steps, in which the model is evaluated.")},
    {CUSTOM("run.evaluation.every", run_plan_read_evaluation_every,
            "Steps from one to the next: '1000 steps'; none follows the last step of the run."),
     .is_required = true},
    {QUANTITY("run.evaluation.takes", plan.evaluation.takes_s, DIM_SECONDS, 1e-3, SECONDS_MAX,
              "What training waits for one."),
     .is_required = true},
    {SWITCH("run.maintenance", plan.maintenance.is_enabled,
            "Windows for which the job is stopped, by the calendar."),
     .check = run_plan_check_maintenance},
    {QUANTITY("run.maintenance.every", plan.maintenance.every_s, DIM_SECONDS, 60.0, SECONDS_MAX,
              "From the begin of one window to that of the next."),
     .is_required = true},
    {QUANTITY("run.maintenance.takes", plan.maintenance.takes_s, DIM_SECONDS, 1.0, SECONDS_MAX,
              "From the stop of the job until its nodes are back; then it starts anew."),
     .is_required = true},
    {QUANTITY("run.maintenance.at", plan.maintenance.first_s, DIM_SECONDS, 0.0, SECONDS_MAX,
              "When the first window begins, from when the job has its nodes."),
     AS(double, plan.maintenance.every_s), .note = "as every"},
    {BOOL("run.maintenance.checkpoint", plan.maintenance.saves,
          "A checkpoint is written before, after the step under way; else the job falls back to "
          "the last one."),
     .standard = "true"},
    {SWITCH("run.drift", plan.drift.is_enabled, "Steps that get longer while the job goes on.")},
    {QUANTITY("run.drift.per_day", plan.drift.per_day, DIM_FRACTION, 1e-6, 0.1,
              "What a step takes longer for each day."),
     .is_required = true},
    {CHOICE("run.drift.since", plan.drift.since, drift_since_names, DRIFT_SINCE_COUNT_,
            "What makes steps as short as they were: each start of the job, or maintenance."),
     .standard = "start"},
    {CUSTOM("run.stages", run_plan_read_stages,
            "Stages of the run, one after the other, each with keys of its own: [{name: short, "
            "tokens: 252M, set: {batch.global: 1024}}, {tokens: 2.87T}]."),
     .standard = "[]", .inner = &run_stage_keys},
    RECOVERY_ROWS,
    {COUNT("run.repetitions", repetitions.count, 2, 1000000,
           "Histories that are drawn, each with failures of its own."),
     .standard = "200"},
    {QUANTITY("run.precision", repetitions.precision, DIM_FRACTION, 1e-6, 1.0,
              "Standard error of the days over their mean at which fewer histories are enough."),
     .is_optional = true, .note = "all are drawn"},

    {SWITCH("data", data.is_enabled, "DataLoader workers, which read samples from storage."),
     .check = data_check, .moves = SCHEMA_MOVES_MONTHS},
    {COUNT("data.workers_per_gpu", data.workers_per_gpu, 1, 256, "Worker processes per GPU."),
     .standard = "2", .axis = {"DataLoader workers per GPU", 1, true}},
    {COUNT("data.prefetch", data.prefetch, 1, 64, "Batches that each worker holds ready."),
     .standard = "2", .axis = {"batches prefetched per worker", 1, true}},
    {QUANTITY("data.time_per_sample", data.time_per_sample_s, DIM_SECONDS, 0.0, 1e3,
              "What one worker needs to prepare one sequence."),
     .standard = "2 ms", .is_assumed = true},
    {QUANTITY("data.bytes_per_token", data.bytes_per_token, DIM_BYTES, 0.0, 1e12,
              "What is read from storage for a token."),
     .standard = "4 B", .is_assumed = true},
    {QUANTITY("data.memory_per_worker", data.memory_per_worker_bytes, DIM_BYTES, 0.0, 1e15,
              "Memory of the host that a worker takes, without its queue."),
     .standard = "1 GB", .is_assumed = true},
    {CHOICE(
         "data.from", data.source, data_source_names, DATA_SOURCE_COUNT_,
         "Where it is read: the shared storage, or each node's own drives, staged there before."),
     .standard = "shared"},
    {QUANTITY("data.requests", data.requests, DIM_COUNT, 0.0, 1e6,
              "Files that are opened, or objects asked for, for a sequence (storage.requests)."),
     .standard = "1"},
    {CHOICE("data.law", data.law, data_law_names, DATA_LAW_COUNT_,
            "How samples differ in what there is to read and to do; the mean stays what is said."),
     .standard = "equal"},
    {QUANTITY("data.spread", data.spread, DIM_COUNT, 0.0, 5.0,
              "Of a lognormal law: standard deviation of the logarithm."),
     .standard = "1", .refuses = data_refuses_spread},
    {COUNT("data.samples_per_sequence", data.samples_per_sequence, 1, 1000,
           "Samples that are packed into a sequence; 1: each is padded to one."),
     .standard = "1"},
    {QUANTITY("data.tokens", data.tokens, DIM_COUNT, 1.0, 1e18,
              "What the data set holds: an epoch, at whose end loaders begin anew."),
     .is_optional = true, .note = "the run never comes to its end"},
    {QUANTITY("data.page_cache", data.page_cache_bytes, DIM_BYTES, 0.0, 1e15,
              "Host memory that keeps what a node has read, for later epochs, if it is left over."),
     .standard = "0 B"},
    {BOOL("data.persistent_workers", data.keeps_workers, "Workers live on at an epoch's end."),
     .standard = "false"},
    {QUANTITY("data.worker_start", data.worker_start_s, DIM_SECONDS, 0.0, SECONDS_MAX,
              "From an epoch's end until workers that begin anew do something."),
     .standard = "5 s", .is_assumed = true},
    {COUNT("data.shuffle_buffer", data.shuffle_buffer, 0, 1000000000,
           "Sequences that each worker reads before it hands out the first."),
     .standard = "0"},

    {SECTION("price", "How GPUs are paid, and what energy and cooling cost."), .check = check_price,
     .moves = SCHEMA_MOVES_NO_STEP},
    {QUANTITY(
         "price.gpu_hour", price.gpu_hour_usd, DIM_USD, 0.0, 1e6,
         "Rent of a GPU for an hour; without it nothing that is not owned or on spot has a cost."),
     AS(double, gpu.gpu_hour_usd), .is_optional = true, .note = "the GPU's", .read = read_gpu_hour,
     .axis = {"USD per GPU-hour", 1, false}},
    {CHOICE("price.terms", price.terms, price_terms_names, TERMS_COUNT_,
            "How the GPUs are had: rented by the hour, reserved for a term, on spot, or owned."),
     .standard = "rent"},
    {QUANTITY("price.reserved_discount", price.reserved_discount, DIM_FRACTION, 0.0, 1.0,
              "Share of gpu_hour that is not paid for a reserved GPU."),
     .standard = "0 %"},
    {QUANTITY(
         "price.reserved_term", price.reserved_term_s, DIM_SECONDS, 0.0, SECONDS_MAX,
         "For how long a reserved GPU is paid at least; a longer run goes on at the same price."),
     .standard = "0 s"},
    {QUANTITY("price.spot_gpu_hour", price.spot_gpu_hour_usd, DIM_USD, 0.0, 1e6,
              "Price of a GPU for an hour where it may be taken away."),
     .is_optional = true, .note = "there is no spot"},
    {CHOICE("price.idle", price.idle, price_idle_names, IDLE_COUNT_,
            "GPUs that the placement leaves idle, of a node or of what segments leave of NVLink "
            "domains: paid, drawing power, and ready as spares; or not, as others have them."),
     .standard = "paid"},
    {QUANTITY(
         "price.spares", price.spares, DIM_FRACTION, 0.0, 10.0,
         "What a spare node costs an hour, of one that works; less where several jobs share it. "
         "Idle nodes (price.idle) stand ready before any is paid beside."),
     .standard = "100 %"},
    {QUANTITY(
         "price.cold_spares", price.cold_spares, DIM_FRACTION, 0.0, 10.0,
         "The same of spares that are not hot; 0 % where they are rented when they are needed."),
     AS(double, price.spares), .note = "as price.spares"},
    {QUANTITY("price.electricity", price.electricity_usd_per_kwh, DIM_USD_PER_KWH, 0.0, 1e4,
              "Price of energy where it is paid apart; a rented GPU-hour includes it."),
     .standard = "0 USD/kWh", .axis = {"USD per kWh", 1, false}},
    {SECTION(
        "price.network",
        "What the network of owned GPUs is bought for, part by part (`stoker show CLUSTER`).")},
    {CUSTOM("price.network.prices", read_network_prices,
            "Prices of its parts: a name of topologies/prices, a path, or a mapping."),
     .is_optional = true, .note = PRICES_DEFAULT ", where price.own says no network"},
    {QUANTITY("price.network.discount", price.network_discount, DIM_FRACTION, 0.0, 1.0,
              "What the buyer is given off them."),
     .standard = "0 %"},
    {SWITCH("price.own", price.own.is_told, "What owning the GPUs costs.")},
    {QUANTITY("price.own.gpu", price.own.gpu_usd, DIM_USD, 0.0, 1e9,
              "What a GPU is bought for, with its share of the node."),
     AS(double, gpu.purchase_usd), .is_optional = true, .note = "the GPU's"},
    {QUANTITY("price.own.node", price.own.node_usd, DIM_USD, 0.0, 1e9,
              "What a whole node is bought for, in place of gpu."),
     .is_optional = true, .note = "told by gpu"},
    {QUANTITY("price.own.life", price.own.life_s, DIM_SECONDS, 3600.0, SECONDS_MAX,
              "Over what time the capital is written off."),
     .standard = "5 years", .is_assumed = true,
     .source = "IT equipment of AI data centres, https://epoch.ai/data-insights/"
               "ai-datacenter-cost-breakdown, May 2026"},
    {QUANTITY("price.own.residual", price.own.residual, DIM_FRACTION, 0.0, 1.0,
              "Share of the capital that it is sold for then."),
     .standard = "0 %"},
    {QUANTITY("price.own.interest", price.own.interest, DIM_FRACTION, 0.0, 10.0,
              "What the capital costs a year, as interest that is paid or forgone: months until "
              "owning is less than rent, and what an hour of owning comes to, have it."),
     .standard = "0 %", .is_assumed = true,
     .source = "straight depreciation, as most published comparisons have it: a rate is the "
               "buyer's own"},
    {QUANTITY("price.own.hosting", price.own.hosting_usd_per_month, DIM_USD_PER_MONTH, 0.0, 1e6,
              "Of a GPU: space, hands and plant, without electricity."),
     .standard = "0 USD/month"},
    {QUANTITY(
         "price.own.network", price.own.network, DIM_FRACTION, 0.0, 10.0,
         "More capital for NICs, switches and cables, as a share of the GPU's; without it they "
         "cost what price.network has."),
     .standard = "0 %"},
    {QUANTITY(
         "price.own.nic", price.own.nic_bytes_per_s, DIM_LINK_BYTES_PER_S, 1e3, 1e15,
         "Rate of the NIC that the price of a GPU or node has for each GPU: the network's cost "
         "what they cost beyond it."),
     AS(double, gpu.purchase_nic_bytes_per_s), .is_optional = true, .note = "the GPU's"},
    {QUANTITY("price.own.storage", price.own.storage, DIM_FRACTION, 0.0, 10.0,
              "More capital for storage, as a share of the GPU's."),
     .standard = "0 %"},
    {QUANTITY("price.own.spares", price.own.spares, DIM_FRACTION, 0.0, 10.0,
              "GPUs bought beyond those used, as a share of these; run.recovery.spares are among "
              "them, as far as they go."),
     .standard = "0 %"},
    {QUANTITY("price.own.electricity", price.own.electricity_usd_per_kwh, DIM_USD_PER_KWH, 0.0, 1e4,
              "Price of energy that the owner pays; a renter's is price.electricity."),
     AS(double, price.electricity_usd_per_kwh), .note = "as price.electricity"},
    {QUANTITY("price.own.utilisation", price.own.utilisation, DIM_FRACTION, 0.001, 1.0,
              "Share of its life in which it works; what it costs idle is paid by these hours."),
     .standard = "80 %", .is_assumed = true},
    {QUANTITY("price.storage_gb_month", price.storage_usd_per_gb_month, DIM_USD, 0.0, 1e6,
              "Rent of a GB of the shared storage for a month, of what checkpoints ask for: those "
              "that are kept (run.checkpoint.keep), over cluster.storage.usable."),
     .standard = "0 USD"},
    {QUANTITY("price.moved_tb", price.moved_usd_per_tb, DIM_USD, 0.0, 1e9,
              "Price of a TB of checkpoints that is moved to the shared storage."),
     .standard = "0 USD"},
    {QUANTITY("price.pue", price.pue, DIM_COUNT, 1.0, 10.0,
              "Power usage effectiveness: the facility's power over that of its machines."),
     .standard = "1.2", .is_assumed = true},
    {QUANTITY("price.carbon", price.carbon_kg_per_kwh, DIM_KG_PER_KWH, 0.0, 100.0,
              "CO2 that a kWh of its grid emits."),
     .is_optional = true, .note = "no emissions are told", .read = read_carbon},

    {SECTION("memory", "How much of a GPU's memory a layout may take.")},
    {QUANTITY(
         "memory.margin", memory_margin, DIM_FRACTION, 0.0, 0.9,
         "Of a GPU's memory, what layouts that search, auto, new and --best choose leave free, "
         "for predictions of memory are off; a layout that is given may need it."),
     .standard = "5 %"},
    {SECTION("power_cap", "What may be drawn: GPUs compute slower under it. One of the two."),
     .standard = "{}"},
    {QUANTITY("power_cap.gpu", power_cap.gpu_w, DIM_WATT, 1.0, 1e6,
              "The most that a GPU may draw."),
     .is_optional = true, .note = "its tdp"},
    {QUANTITY("power_cap.site", power_cap.site_w, DIM_WATT, 1.0, 1e12,
              "The most that the job's nodes may draw, with the facility's part (price.pue)."),
     .is_optional = true, .note = "no limit"},
    {CUSTOM("slow", slow_ranks_read,
            "GPUs that are slower than the others, or whose links are: [{rank: 4711, speed: 0.9}, "
            "{rank: 5, nic: 0.5}]."),
     .standard = "[]", .inner = &slow_rank_keys},

    {CUSTOM_AT("anchor", anchor_read, struct anchor, anchor,
               "One measured step of your own, by which all predicted steps are corrected: a log, "
               "FILE.csv:ID, or a mapping: {step_time: 4.1 s, set: {gpus: 64}}."),
     .is_optional = true, .note = "nothing is corrected", .inner = &anchor_keys},
    {SECTION("ideal", "What costs nothing, to see the most that could be had there.")},
    {BOOL("ideal.network", ideal.network,
          "NICs and switches have no latency, and bandwidth that nothing waits for."),
     .standard = "false"},
    {BOOL("ideal.scale_up", ideal.scale_up, "NVLink or PCIe between GPUs, the same."),
     .standard = "false"},
    {BOOL("ideal.storage", ideal.storage, "The file system and nodes' own drives, the same."),
     .standard = "false"},
    {BOOL("ideal.host", ideal.host,
          "No GPU waits for launches, copies to the host, or samples to be prepared."),
     .standard = "false"},
    {BOOL("ideal.gpus", ideal.gpus, "All GPUs are as fast as the fastest, without jitter."),
     .standard = "false"},
    {BOOL("ideal.pipeline", ideal.pipeline, "A stage never waits for what another sends it."),
     .standard = "false"},

    {SECTION("collectives", "Which algorithm and protocol is taken, by who communicates."),
     .standard = "{}"},
    COLLECTIVES("tensor", COLLECTIVE_USER_TENSOR),
    COLLECTIVES("context", COLLECTIVE_USER_CONTEXT),
    COLLECTIVES("expert", COLLECTIVE_USER_EXPERT),
    COLLECTIVES("data", COLLECTIVE_USER_DATA),
    COLLECTIVES("world", COLLECTIVE_USER_WORLD),

    {CHOICE("placement", placement, placement_names, PLACEMENT_COUNT_,
            "Which nodes of the cluster the job gets."),
     .standard = "packed"},
    {CUSTOM("replaced", replaced_nodes_read,
            "Nodes of the job in whose place others of the cluster stand: [{node: 3, by: 64}]."),
     .standard = "[]", .inner = &replaced_node_keys},
    {ONLY_NODE("jobs",
               "Other jobs on the same fabric: [{scenario: other.yaml, placement: spread}]."),
     .standard = "[]", .inner = &scenario_job_keys},
    {COUNT("seed", seed, 1, SEED_MAX, "What random numbers are drawn from."), .standard = "42"},
};

const struct schema scenario_schema = SCHEMA_OF("scenario", "", rows);

const struct scenario_part scenario_parts[SCENARIO_PART_COUNT + 1] = {
    {&scenario_schema, 0},
    {&model_schema, offsetof(struct scenario, model)},
    {&cluster_schema, offsetof(struct scenario, cluster)},
    {&software_schema, offsetof(struct scenario, software)},
    {&gpu_schema, offsetof(struct scenario, gpu)},
    {&library_schema, offsetof(struct scenario, library)},
    {&study_schema, 0},
};

const struct schema_row *scenario_key_find(const char *path, const struct schema **schema)
{
    const struct schema_row *row = NULL;
    for (uint32_t i = 0; row == NULL && i < SCENARIO_PART_COUNT; i++) {
        const struct schema *part = scenario_parts[i].schema;
        const size_t length = strlen(part->prefix);
        row = strncmp(path, part->prefix, length) == 0 ? schema_find(part, path + length) : NULL;
        if (row != NULL && schema != NULL) {
            *schema = part;
        }
    }
    return row;
}

/* Of one file, when the path names it (`is_own`), or else when it does not; NULL: none is near. */
static const char *nearest_of(struct arena *arena, const struct schema *schema, const char *path,
                              bool is_own)
{
    const size_t length = strlen(schema->prefix);
    const bool is_inside = length > 0 && strncmp(path, schema->prefix, length) == 0;
    const char *nearest =
        is_inside == is_own ? schema_nearest(schema, is_inside ? path + length : path) : NULL;
    return nearest != NULL ? arena_printf(arena, "%s%s", schema->prefix, nearest) : NULL;
}

/* Of the entries of a list, where the path names it. */
static const char *nearest_inside(struct arena *arena, const struct schema *schema,
                                  const char *path)
{
    const char *nearest = NULL;
    for (uint32_t i = 0; nearest == NULL && i < schema->count; i++) {
        const struct schema *inner = schema->rows[i].inner;
        nearest = inner != NULL ? nearest_of(arena, inner, path, true) : NULL;
    }
    return nearest;
}

const char *scenario_nearest_key(struct arena *arena, const char *path)
{
    const char *nearest = NULL;
    for (uint32_t i = 0; nearest == NULL && i < SCENARIO_PART_COUNT; i++) {
        nearest = nearest_inside(arena, scenario_parts[i].schema, path);
    }
    for (uint32_t i = 0; nearest == NULL && i < 2 * SCENARIO_PART_COUNT; i++) {
        const struct schema *schema = scenario_parts[i % SCENARIO_PART_COUNT].schema;
        nearest = nearest_of(arena, schema, path, i < SCENARIO_PART_COUNT);
    }
    return nearest;
}
