/* Each function turns a few arguments into the keys of one section. What a release takes where an
 * argument is silent is that of core_v0.19.0: megatron/training/arguments.py, and
 * megatron/core/transformer/transformer_config.py of https://github.com/NVIDIA/Megatron-LM.
 */
#include "foreign/megatron/megatron_run.h"

#include "foreign/megatron/megatron_arguments.h"

#include "base/arena.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool megatron_is_deepspeed(struct told *told)
{
    const bool is_said = told_has(told, "zero_stage") || told_has(told, "deepspeed_config");
    return told_truth(told, "deepspeed", false) || (!told->is_whole && is_said);
}

/* ---- layout --------------------------------------------------------------------------------- */

int64_t megatron_gpus(struct told *told)
{
    static const int64_t most = 1000000;
    if (told->importer->gpus > 0) {
        return told->importer->gpus;
    }
    if (told_has(told, "world_size") || told->is_whole) {
        return told_need(told, "world_size");
    }
    const int64_t of_node = told_count(told, "nproc_per_node", 0);
    const int64_t nodes =
        told->importer->nodes > 0 ? told->importer->nodes : told_count(told, "nnodes", 1);
    if (of_node < 1 || nodes < 1 || of_node > most || nodes > most) {
        if (!told->is_bad) {
            told_refuse(
                told, of_node < 1 ? NULL : "nnodes",
                arena_printf(told->importer->arena, "%s does not tell how many GPUs", told->what),
                "say it: --gpus N");
        }
        return 0;
    }
    return of_node * nodes;
}

static void put_zero(struct told *told)
{
    static const char *const strategies[] = {"no_shard", "optim", "optim_grads",
                                             "optim_grads_params"};
    const char *const fsdp = told_truth(told, "use_torch_fsdp2", false)     ? "use_torch_fsdp2"
                             : told_truth(told, "use_custom_fsdp", false)   ? "use_custom_fsdp"
                             : told_truth(told, "use_megatron_fsdp", false) ? "use_megatron_fsdp"
                                                                            : NULL;
    if (megatron_is_deepspeed(told)) {
        told_put_count(told, "parallel.zero", told_count(told, "zero_stage", 1), "zero_stage");
        return;
    }
    if (fsdp == NULL) {
        const bool is_shared = told_truth(told, "use_distributed_optimizer", false);
        told_put(told, "parallel.zero", is_shared ? "1" : "0", "use_distributed_optimizer");
        if (!is_shared && !told->is_whole) {
            told_note(told, "parallel.zero 0: use_distributed_optimizer is not said");
        }
        return;
    }
    const char *strategy = told_text(told, "data_parallel_sharding_strategy");
    uint32_t stage = 3;
    for (uint32_t i = 0; i < 4 && strcmp(fsdp, "use_torch_fsdp2") != 0; i++) {
        stage = strcmp(strategy, strategies[i]) == 0 ? i : stage;
    }
    told_put_count(told, "parallel.zero", stage, fsdp);
}

static void put_groups(struct told *told, int64_t gpus, int64_t plane)
{
    const int64_t copies = told_count(told, "num_distributed_optimizer_instances", 1);
    if (copies > 1 && gpus % (plane * copies) == 0 && gpus / plane / copies > 0) {
        told_put_count(told, "parallel.zero_group", gpus / plane / copies,
                       "num_distributed_optimizer_instances");
    }
    if (told_truth(told, "use_tp_pp_dp_mapping", false)) {
        told_put(told, "parallel.order", "tp-cp-ep-pp-dp", "use_tp_pp_dp_mapping");
    }
}

static void put_context(struct told *told, int64_t cp)
{
    static const char *const types[][2] = {{"p2p", "ring"},
                                           {"a2a", "ulysses"},
                                           {"all_gather", "all-gather"},
                                           {"allgather", "all-gather"}};
    const char *type = told_text(told, "cp_comm_type");
    if (cp > 1 && megatron_is_deepspeed(told)) {
        told_put(told, "parallel.cp_type", "ulysses", "context_parallel_size");
        return;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types && cp > 1; i++) {
        if (strncmp(type, types[i][0], strlen(types[i][0])) == 0 && strchr(type, '+') == NULL) {
            told_put(told, "parallel.cp_type", types[i][1], "cp_comm_type");
        }
    }
    if (cp > 1 && type[0] != '\0' && told_key(told, "parallel.cp_type") == NULL) {
        told_warn(told, "cp_comm_type", "is not read: parallel.cp_type says which is taken");
    }
}

static int64_t degree(struct told *told, const char *path, const char *name, int64_t absent)
{
    static const int64_t most = 1000000;
    const bool is_needed =
        told->is_whole && strstr(name, "model_parallel") != NULL && strstr(name, "expert") == NULL;
    const int64_t value = is_needed ? told_need(told, name) : told_count(told, name, absent);
    told_put_count(told, path, value, name);
    return value < 1 ? 1 : value < most ? value : most;
}

static void put_layout(struct told *told, int64_t gpus)
{
    const bool is_old = told_has(told, "model_parallel_size");
    const int64_t tp = degree(told, "parallel.tp",
                              is_old ? "model_parallel_size" : "tensor_model_parallel_size", 1);
    const int64_t pp = degree(told, "parallel.pp", "pipeline_model_parallel_size", 1);
    const int64_t cp = degree(told, "parallel.cp", "context_parallel_size", 1);
    const int64_t ep = degree(told, "parallel.ep", "expert_model_parallel_size", 1);
    if (told_has(told, "expert_tensor_parallel_size") && told_count(told, "num_experts", 2) > 1) {
        degree(told, "parallel.etp", "expert_tensor_parallel_size", tp);
    }
    const int64_t plane = tp * pp;
    if (plane > INT64_C(1000000) || plane * cp > gpus || gpus % (plane * cp) != 0) {
        told_refuse(told, told_find(told, "world_size") != NULL ? "world_size" : "nproc_per_node",
                    arena_printf(told->importer->arena,
                                 "%" PRId64 " GPUs are no multiple of tp %" PRId64 " x pp %" PRId64
                                 " x cp %" PRId64 " = %" PRId64,
                                 gpus, tp, pp, cp, plane * cp),
                    "--gpus N says how many there are");
        return;
    }
    put_zero(told);
    told_put_truth(told, "parallel.sequence_parallel",
                   tp > 1 && told_truth(told, "sequence_parallel", false), "sequence_parallel");
    megatron_pipeline(told, pp);
    put_groups(told, gpus, plane);
    put_context(told, cp);
    if (ep > 1 && told_truth(told, "overlap_moe_expert_parallel_comm", false)) {
        told_put(told, "parallel.overlap_experts", "true", "overlap_moe_expert_parallel_comm");
    }
}

/* ---- batch, precision, optimizer ------------------------------------------------------------ */

static void put_batch(struct told *told, int64_t gpus)
{
    static const double tokens_max = 1e9;
    const bool is_old = !told_has(told, "micro_batch_size") && told_has(told, "batch_size");
    const bool is_encoder = !told_has(told, "seq_length") && told_has(told, "encoder_seq_length");
    const int64_t micro = told_need(told, is_old ? "batch_size" : "micro_batch_size");
    const int64_t length = told_need(told, is_encoder ? "encoder_seq_length" : "seq_length");
    const char *const ways[] = {"parallel.tp", "parallel.pp", "parallel.cp"};
    int64_t dp = gpus;
    for (size_t i = 0; i < 3; i++) {
        const int64_t size =
            strtoll(told_key(told, ways[i]) != NULL ? told_key(told, ways[i]) : "1", NULL, 10);
        dp = size > 0 ? dp / size : dp;
    }
    const bool is_said = told_has(told, "global_batch_size");
    const int64_t global = told_count(told, "global_batch_size",
                                      micro < INT32_MAX ? micro * (dp > 0 ? dp : 1) : micro);
    if ((double)global * (double)length > tokens_max) {
        told_refuse(told, "global_batch_size",
                    arena_printf(told->importer->arena,
                                 "a step of %" PRId64 " sequences of %" PRId64
                                 " tokens has %.3g tokens",
                                 global, length, (double)global * (double)length),
                    "it is counted in sequences, not in tokens");
    }
    told_put_count(told, "batch.global", global, is_said ? "global_batch_size" : NULL);
    told_put_count(told, "batch.micro", micro, is_old ? "batch_size" : "micro_batch_size");
    told_put_count(told, "batch.sequence_length", length,
                   is_encoder ? "encoder_seq_length" : "seq_length");
    if (!is_said && !told->is_whole) {
        told_note(told,
                  "batch.global: one microbatch for each replica, as global_batch_size is not "
                  "said");
    }
    if (told_has(told, "rampup_batch_size") && !told->is_whole) {
        told_note(told, "the whole batch from the first step on: rampup_batch_size is not read");
    }
}

static bool is_on(struct told *told, const char *name)
{
    return told_has(told, name) && !told_is(told, name, "False") && !told_is(told, name, "false");
}

static void put_fp8(struct told *told, const char *recipe)
{
    const struct {
        const char *word, *key;
    } recipes[] = {{"tensorwise", "current"}, {"delayed", "delayed"}, {"blockwise", "blockwise"}};
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(recipe, recipes[i].word) == 0) {
            told_put(told, "software.fp8.recipe", recipes[i].key, "fp8_recipe");
        }
    }
    if (told_has(told, "fp8_wgrad") && !told_truth(told, "fp8_wgrad", true)) {
        told_put(told, "software.fp8.gemms.wgrad", "false", "fp8_wgrad");
    }
    if (told_truth(told, "fp8_dot_product_attention", false)) {
        told_put(told, "software.fp8.attention", "true", "fp8_dot_product_attention");
    }
    if (!told->is_whole && !told_truth(told, "fp8_param_gather", false)) {
        told_put(told, "software.fp8.weights", "per-step", NULL);
        told_put(told, "software.fp8.gathers_parameters", "false", NULL);
    }
    if (told_truth(told, "first_last_layers_bf16", false)) {
        told_put_count(told, "software.fp8.first_layers",
                       told_count(told, "num_layers_at_start_in_bf16", 1),
                       "first_last_layers_bf16");
        told_put_count(told, "software.fp8.last_layers",
                       told_count(told, "num_layers_at_end_in_bf16", 1), "first_last_layers_bf16");
    }
}

static void put_precision(struct told *told)
{
    const bool has_fp8 = is_on(told, "fp8"), has_fp4 = is_on(told, "fp4");
    const bool is_bf16 = told_truth(told, "bf16", false), is_fp16 = told_truth(told, "fp16", false);
    const char *recipe =
        has_fp8 && !told_has(told, "fp8_recipe") ? "delayed" : told_text(told, "fp8_recipe");
    told_put(told, "precision",
             has_fp4                                   ? "nvfp4"
             : has_fp8 && strcmp(recipe, "mxfp8") == 0 ? "mxfp8"
             : has_fp8                                 ? "fp8"
             : is_bf16                                 ? "bf16"
             : is_fp16                                 ? "fp16"
                                                       : "fp32",
             has_fp4   ? "fp4"
             : has_fp8 ? "fp8"
             : is_bf16 ? "bf16"
             : is_fp16 ? "fp16"
                       : NULL);
    if (is_bf16 && is_fp16) {
        told_refuse(told, "fp16", "fp16 and bf16 are both said", "one of them is meant");
    }
    if (!is_bf16 && !is_fp16 && !told->is_whole) {
        told_note(told, "precision fp32: neither bf16 nor fp16 is said");
    }
    if (has_fp8 || has_fp4) {
        put_fp8(told, recipe);
    }
}

static void put_optimizer(struct told *told)
{
    const char *rule = told_text(told, "optimizer");
    if (strcmp(rule, "sgd") == 0) {
        told_put(told, "optimizer.rule", "sgd-momentum", "optimizer");
    } else if (rule[0] != '\0' && strstr(rule, "adam") == NULL) {
        told_refuse(
            told, "optimizer",
            arena_printf(told->importer->arena, "the optimizer %.40s is not simulated", rule),
            "adam and sgd are; without it a scenario takes adam");
    }
    const bool is_aware = told_truth(told, "use_precision_aware_optimizer", false);
    if (told_truth(told, "grad_reduce_in_bf16", false)) {
        told_put(told, "optimizer.gradients", "bf16", "grad_reduce_in_bf16");
    } else if (is_aware && strstr(told_text(told, "main_grads_dtype"), "bf") != NULL) {
        told_put(told, "optimizer.gradients", "bf16", "main_grads_dtype");
    }
    const char *moments = told_text(told, "exp_avg_dtype");
    if (is_aware && moments[0] != '\0') {
        told_put(told, "optimizer.moments",
                 strstr(moments, "bf") != NULL    ? "bf16"
                 : strstr(moments, "16") != NULL  ? "fp16"
                 : strstr(moments, "fp8") != NULL ? "fp8"
                                                  : "fp32",
                 "exp_avg_dtype");
    }
    if (told_has(told, "clip_grad") && told_number(told, "clip_grad", 1.0) <= 0) {
        told_put(told, "optimizer.clip", "false", "clip_grad");
    }
    if (told_truth(told, "optimizer_cpu_offload", false) ||
        told_truth(told, "cpu_optimizer", false)) {
        told_put(told, "offload.optimizer",
                 arena_printf(told->importer->arena, "%.10g %%",
                              100 * told_number(told, "optimizer_offload_fraction", 1.0)),
                 "optimizer_cpu_offload");
    }
    if (told_truth(told, "cpu_offloading", false)) {
        told_put_count(told, "offload.activation_layers",
                       told_need(told, "cpu_offloading_num_layers"), "cpu_offloading_num_layers");
    }
}

/* ---- recomputation -------------------------------------------------------------------------- */

/* Megatron's names of modules, and ours. */
static const char *const modules[][2] = {
    {"core_attn", "core-attention"},
    {"layernorm", "norm"},
    {"moe_act", "activation"},
    {"mla_up_proj", "mla-up"},
    {"mlp", "mlp"},
    {"moe", "moe"},
    {"shared_experts", "shared-experts"},
};

/* "['core_attn', 'moe_act']", "core_attn moe_act" */
static const char *modules_of(struct told *told)
{
    struct arena *arena = told->importer->arena;
    const char *text = told_text(told, "recompute_modules");
    const char *list = "";
    for (const char *at = text; *at != '\0';) {
        const size_t length = strcspn(at, " ,'\"[]()");
        bool is_known = length == 0;
        for (size_t i = 0; i < sizeof modules / sizeof *modules && length > 0; i++) {
            if (strlen(modules[i][0]) == length && strncmp(at, modules[i][0], length) == 0) {
                list =
                    arena_printf(arena, "%s%s%s", list, list[0] != '\0' ? ", " : "", modules[i][1]);
                is_known = true;
            }
        }
        if (!is_known) {
            told_refuse(told, "recompute_modules",
                        arena_printf(arena, "there is no module '%.*s' that is computed again",
                                     (int)(length < 40 ? length : 40), at),
                        "core_attn, layernorm, moe_act, mla_up_proj, mlp, moe or shared_experts");
            return "";
        }
        at += length + (at[length] != '\0' ? 1 : 0);
    }
    return list;
}

static void put_recompute(struct told *told)
{
    struct arena *arena = told->importer->arena;
    const bool is_old = told_truth(told, "checkpoint_activations", false) ||
                        told_truth(told, "deepspeed_activation_checkpointing", false);
    const char *kind = told_text(told, "recompute_granularity");
    kind = kind[0] != '\0'                                    ? kind
           : told_truth(told, "recompute_activations", false) ? "selective"
           : is_old                                           ? "full"
                                                              : "none";
    const char *from = told_has(told, "recompute_granularity")   ? "recompute_granularity"
                       : told_has(told, "recompute_activations") ? "recompute_activations"
                       : is_old                                  ? "checkpoint_activations"
                                                                 : NULL;
    const char *list = strcmp(kind, "selective") == 0 ? modules_of(told) : "";
    if (strcmp(kind, "full") == 0 && told_is(told, "recompute_method", "block")) {
        told_put(
            told, "recompute",
            arena_printf(arena, "{layers: %" PRId64 "}", told_need(told, "recompute_num_layers")),
            "recompute_num_layers");
    } else if (list[0] != '\0') {
        told_put(told, "recompute", arena_printf(arena, "{modules: [%s]}", list),
                 "recompute_modules");
    } else if (strcmp(kind, "full") == 0 || strcmp(kind, "selective") == 0 ||
               strcmp(kind, "none") == 0) {
        told_put(told, "recompute", kind, from);
        if (told_truth(told, "moe_layer_recompute", false)) {
            told_put(told, "recompute", "{modules: [moe]}", "moe_layer_recompute");
        }
    } else {
        told_refuse(told, "recompute_granularity",
                    arena_printf(arena, "recompute_granularity is '%.40s'", kind),
                    "full or selective");
    }
}

/* ---- what runs beside what ------------------------------------------------------------------ */

/* A key of the software that an argument says, or its default; a log that lacks it says nothing. */
static void put_flag(struct told *told, const char *path, const char *name, bool standard)
{
    if (told_has(told, name) || !told->is_whole) {
        told_put_truth(told, path, told_truth(told, name, standard),
                       told_has(told, name) ? name : NULL);
    }
}

static void put_overlaps(struct told *told)
{
    const bool is_fsdp = strcmp(told_key(told, "parallel.zero"), "3") == 0;
    const bool is_deepspeed = megatron_is_deepspeed(told);
    if (!is_fsdp && !is_deepspeed) {
        put_flag(told, "software.overlap.dp_gradients", "overlap_grad_reduce", false);
        put_flag(told, "software.overlap.dp_parameters", "overlap_param_gather", false);
        if (!told->is_whole && !told_has(told, "overlap_grad_reduce")) {
            told_note(told, "software.overlap.dp_gradients false: overlap_grad_reduce is not said");
        }
    }
    if (!is_fsdp && !is_deepspeed && !told->is_whole && !told_has(told, "overlap_param_gather")) {
        told_note(told, "software.overlap.dp_parameters false: overlap_param_gather is not said");
    }
    const bool cuts = strcmp(told_key(told, "parallel.sequence_parallel"), "true") == 0;
    if (cuts && told_truth(told, "tp_comm_overlap", false)) {
        told_put(told, "software.overlap.tp_pieces", "4", "tp_comm_overlap");
    }
    if (told_has(told, "overlap_p2p_comm") && !told->is_whole) {
        put_flag(told, "software.overlap.p2p", "overlap_p2p_comm", true);
    }
}

static void put_kernels(struct told *told)
{
    const bool is_swiglu = told_truth(told, "swiglu", false);
    const struct {
        const char *name, *path, *off;
    } fusions[] = {
        {is_swiglu ? "bias_swiglu_fusion" : "bias_gelu_fusion", "software.fusion.bias_activation",
         "false"},
        {"bias_dropout_fusion", "software.fusion.dropout_add", "false"},
        {"masked_softmax_fusion", "software.fusion.softmax", "false"},
        {"apply_rope_fusion", "software.fusion.rotary", "eager"},
        {"gradient_accumulation_fusion", "software.gradients.accumulation", "separate"},
        {"cross_entropy_loss_fusion", "software.loss.kind", "parts"},
    };
    for (size_t i = 0; i < sizeof fusions / sizeof *fusions; i++) {
        const bool is_off =
            told_has(told, fusions[i].name) && !told_truth(told, fusions[i].name, true);
        const bool is_left = i == 5 && !told_has(told, fusions[i].name) && !told->is_whole;
        if (is_left) {
            told_note(told, "software.loss.kind parts: cross_entropy_loss_fusion is not said");
        }
        if ((is_off && !told->is_whole) || is_left) {
            told_put(told, fusions[i].path, fusions[i].off, is_off ? fusions[i].name : NULL);
        }
    }
}

/* Transformer Engine chooses an attention by itself. */
static void put_attention_kernel(struct told *told)
{
    const char *backend = told_text(told, "attention_backend");
    const bool is_flash =
        told_truth(told, "use_flash_attn", false) || told_truth(told, "use_flash_attn_v2", false);
    const bool is_local = told_is(told, "transformer_impl", "local");
    if (told->is_whole) {
        return; /* a column says it */
    }
    if (strstr(backend, "unfused") != NULL || strstr(backend, "local") != NULL) {
        told_put(told, "software.attention", "unfused", "attention_backend");
    } else if (strstr(backend, "fused") != NULL) {
        told_put(told, "software.attention", "cudnn", "attention_backend");
    } else if (strstr(backend, "flash") != NULL) {
        told_put(told, "software.attention", "fa2", "attention_backend");
    } else if (is_flash && is_local) {
        told_put(told, "software.attention", "fa2", "use_flash_attn");
    } else if (is_local) {
        told_put(told, "software.attention", "unfused", "transformer_impl");
    }
}

static void put_graphs(struct told *told)
{
    static const char *const scopes[][2] = {
        {"full_iteration", "iteration"}, {"attn", "attention"}, {"mlp", "mlp"},
        {"moe_router", "router"},        {"moe", "experts"},    {"full", "layers"},
    };
    const char *impl = told_text(told, "cuda_graph_impl");
    const bool is_old = told_truth(told, "enable_cuda_graph", false) ||
                        told_truth(told, "external_cuda_graph", false);
    if (told->is_whole || ((impl[0] == '\0' || strcmp(impl, "none") == 0) && !is_old)) {
        return;
    }
    const char *scope = told_has(told, "cuda_graph_modules") ? told_text(told, "cuda_graph_modules")
                                                             : told_text(told, "cuda_graph_scope");
    const char *from = is_old ? "enable_cuda_graph" : "cuda_graph_impl";
    const char *list = "layers";
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        if (strstr(scope, scopes[i][0]) != NULL) {
            list = scopes[i][1];
            break;
        }
    }
    told_put(told, "software.host.graphs", arena_printf(told->importer->arena, "[%s]", list), from);
}

static void put_experts(struct told *told)
{
    if (told_count(told, "num_experts", 0) < 2) {
        return;
    }
    if (!told->is_whole && (told_truth(told, "moe_enable_deepep", false) ||
                            told_is(told, "moe_token_dispatcher_type", "flex"))) {
        told_put(told, "software.experts.exchange", "tokens",
                 told_has(told, "moe_enable_deepep") ? "moe_enable_deepep"
                                                     : "moe_token_dispatcher_type");
    }
    if (told_has(told, "moe_expert_capacity_factor") &&
        told_number(told, "moe_expert_capacity_factor", -1) > 0) {
        told_put(told, "routing.capacity_factor", told_text(told, "moe_expert_capacity_factor"),
                 "moe_expert_capacity_factor");
        told_put_truth(told, "routing.pad_to_capacity",
                       told_truth(told, "moe_pad_expert_input_to_capacity", false),
                       "moe_pad_expert_input_to_capacity");
    }
}

/* ---- the run -------------------------------------------------------------------------------- */

static void put_run(struct told *told)
{
    struct arena *arena = told->importer->arena;
    const int64_t length = told_count(told, "seq_length", 0);
    const bool by_samples = told_has(told, "train_samples");
    const bool by_tokens = !by_samples && told_has(told, "train_tokens");
    const char *from = by_samples ? "train_samples" : by_tokens ? "train_tokens" : "train_iters";
    const double units = (double)told_count(told, from, 0);
    const double batch = strtod(told_key(told, "batch.global"), NULL);
    const double tokens = by_tokens    ? units
                          : by_samples ? units * (double)length
                                       : units * batch * (double)length;
    if (told->is_whole || tokens < 1 || tokens > 1e17) {
        return;
    }
    told_put(told, "run.tokens", arena_printf(arena, "%.0f", tokens), from);
    const int64_t every = told_count(told, "save_interval", 0);
    if (every > 0) {
        told_put(told, "run.checkpoint",
                 arena_printf(arena, "{every: %" PRId64 " steps, mode: %s}", every,
                              told_truth(told, "async_save", false) ? "async" : "blocking"),
                 "save_interval");
    }
}

/* Programs beside pretrain_gpt.py, by a word of their names. */
static void check_program(struct told *told)
{
    static const struct {
        const char *word, *is;
    } others[] = {
        {"t5", "an encoder and a decoder"}, {"ict", "two encoders"},
        {"retro", "a retriever"},           {"vision", "images in the place of tokens"},
        {"vlm", "an encoder of images"},    {"realm", "a retriever"},
    };
    const struct told_setting *setting = told_find(told, "program");
    const char *program = setting != NULL ? setting->value : "";
    const char *slash = strrchr(program, '/');
    const char *name = slash != NULL ? slash + 1 : program;
    for (size_t i = 0; i < sizeof others / sizeof *others && told->importer->model == NULL; i++) {
        if (strstr(name, others[i].word) != NULL) {
            told_refuse(told, "program",
                        arena_printf(told->importer->arena,
                                     "%.40s trains a model with %s, which is not read", name,
                                     others[i].is),
                        "name the model: --model NAME, of `stoker list models`");
            return;
        }
    }
}

bool megatron_read(struct told *told)
{
    check_program(told);
    told_check(told, megatron_argument, &megatron_arguments);
    const int64_t gpus = megatron_gpus(told);
    if (told->is_bad) {
        return false;
    }
    told_put_count(told, "gpus", gpus,
                   told_has(told, "world_size") ? "world_size" : "nproc_per_node");
    if (told->importer->model != NULL) {
        told_put(told, "model", told->importer->model, NULL);
    } else {
        megatron_model(told);
    }
    put_layout(told, gpus);
    if (told->is_bad) {
        return false;
    }
    put_batch(told, gpus);
    put_precision(told);
    put_optimizer(told);
    put_recompute(told);
    put_overlaps(told);
    put_kernels(told);
    put_attention_kernel(told);
    put_graphs(told);
    put_experts(told);
    if (!told->is_bad) {
        put_run(told);
    }
    return !told->is_bad;
}
