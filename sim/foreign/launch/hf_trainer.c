/* Hugging Face's Trainer: TrainingArguments of src/transformers/training_args.py of
 * https://github.com/huggingface/transformers, 4.46 to 4.57, with what its examples, TRL and
 * LLaMA-Factory (https://github.com/hiyouga/LLaMA-Factory, YAML) call the model and the length of a
 * sequence; read November 2026.
 */
#include "foreign/launch/hub.h"
#include "foreign/launch/launch.h"

#include "base/arena.h"
#include "input/formats/hf_config.h"
#include "input/doc/text_source.h"

#include <inttypes.h>
#include <string.h>

static const char read[] =
    "model_name_or_path model_name pretrained_model_name_or_path model_id config_name "
    "block_size max_seq_length model_max_length max_length cutoff_len max_seq_len sequence_len "
    "per_device_train_batch_size per_gpu_train_batch_size gradient_accumulation_steps "
    "disable_gradient_checkpointing micro_batch_size bf16 fp16 tf32 gradient_checkpointing "
    "max_steps num_train_epochs "
    "num_epochs save_steps max_grad_norm optim deepspeed deepspeed_config fsdp "
    "attn_implementation flash_attn use_flash_attn use_flash_attention_2 use_lora use_peft "
    "use_liger_kernel enable_liger_kernel use_liger zero_stage offload dtype lora_dim lora_r "
    "lora_rank lora_target "
    "lora_target_modules lora_dropout finetuning_type "
    "nproc_per_node nnodes world_size program device sequence_parallel_size ";

static const char *const aside[] = {
    "learning_rate lr_* weight_decay adam_* warmup_* output_dir overwrite_* do_* eval_* "
    "evaluation_* per_device_eval_* per_gpu_eval_* logging_* log_* save_* load_best_* metric_* "
    "greater_is_better report_to run_name seed data_seed dataset* data_* train_file "
    "validation_* test_file preprocessing_* max_train_samples max_eval_samples max_samples "
    "streaming ddp_* push_to_hub* hub_* remove_unused_columns group_by_length dataloader_* "
    "cache_dir trust_remote_code use_fast_tokenizer tokenizer_* token use_auth_token "
    "local_rank full_determinism include_* disable_tqdm torch_dtype low_cpu_mem_usage "
    "config_overrides keep_linebreaks template stage resume_from_checkpoint plot_loss "
    "val_size label_* ignore_* no_cuda use_cpu skip_memory_metrics auto_find_batch_size "
    "prediction_loss_only jit_mode_eval past_index debug master_* node_rank rdzv_* "
    "gradient_checkpointing_kwargs fsdp_transformer_layer_cls_to_wrap "
    "fsdp_min_num_params half_precision_backend fp16_opt_level fp16_full_eval bf16_full_eval "
    "lazy_preprocess conv_template prompt_template image_* lora_alpha lora_bias bias "
    "lora_task_type task_type ddp_find_unused_parameters torchdynamo split_batches hostfile "
    "include exclude no_ssh config_file mixed_precision num_machines machine_rank "
    "main_process_* deepspeed_hostfile optim_args neftune_noise_alpha eos_token* "
    "padding_side response_template dataset_text_field chat_template "
    "special_tokens* tags wandb_* project entity "};

static const struct told_row rows[] = {
    TOLD_ROW_LEFT("torch_compile", "kernels that are compiled (software: of a profile that is)",
                  "|False|false|"),
    TOLD_ROW_LEFT("packing", "documents in a sequence (batch.document_length)", "|False|false|"),
    TOLD_ROW_LEFT("load_in_4bit", "frozen weights in 4 bits", "|False|false|"),
    TOLD_ROW_LEFT("load_in_8bit", "frozen weights in 8 bits", "|False|false|"),
    TOLD_ROW_LEFT("quantization_bit", "frozen weights in few bits", NULL),
    TOLD_ROW_LEFT("use_qlora", "frozen weights in 4 bits", "|False|false|"),
    TOLD_ROW_LEFT("freeze_backbone", "layers that are not trained", "|False|false|"),
    TOLD_ROW_LEFT("fsdp_config", "a file of FSDP's own (activation_checkpointing, ...)", NULL),
    TOLD_ROW_REFUSED("vision_tower", "an encoder of images", NULL),
    TOLD_ROW_REFUSED("stage", "others beside it: preferences, rewards", "|sft|pt|"),
};

static const struct told_table table = {rows, sizeof rows / sizeof *rows, read, aside, 1};

struct told_row trainer_row(const char *name)
{
    if (strncmp(name, "ds.", 3) == 0) {
        return deepspeed_row(name);
    }
    if (strncmp(name, "accelerate.", 11) == 0) {
        return (struct told_row){.name = name, .use = TOLD_ASIDE}; /* accelerate_read took it */
    }
    return told_row_of(&table, name);
}

/* ---- the model ------------------------------------------------------------------------------ */

/* The first of several names that is told; NULL: none. */
static const char *first_of(struct told *told, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (told_find(told, names[i]) != NULL && told_has(told, names[i])) {
            return names[i];
        }
    }
    return NULL;
}

static void put_model(struct told *told)
{
    static const char *const names[] = {"model_name_or_path", "model_name", "model_id",
                                        "pretrained_model_name_or_path", "config_name"};
    struct importer *importer = told->importer;
    if (importer->model != NULL) {
        told_put(told, "model", importer->model, NULL);
        return;
    }
    const bool was_bad = told->is_bad;
    const char *setting = first_of(told, names, sizeof names / sizeof *names);
    const char *name = setting != NULL ? told_text(told, setting) : NULL;
    const struct place place = {.file = importer->file.path};
    const char *path =
        name != NULL ? hf_config_path(importer->arena, importer->catalogue->files, &place, name)
                     : NULL;
    const char *known = name != NULL ? hub_model(importer, name) : NULL;
    if (path != NULL && text_source_exists(path)) {
        told_put(told, "model", path, setting);
    } else if (known != NULL) {
        told_put(told, "model", known, setting);
        told_note(told,
                  arena_printf(importer->arena, "model %s of the catalogue is '%s'", known, name));
    } else if (told->is_bad == was_bad) {
        told_refuse(
            told, setting,
            name != NULL
                ? arena_printf(importer->arena, "the catalogue has no model like '%.60s'", name)
                : arena_printf(importer->arena, "%s does not tell its model", told->what),
            "--model NAME, of `stoker list models`, or the path of its config.json");
    }
}

/* ---- layout and batch ----------------------------------------------------------------------- */

static int64_t gpus_of(struct told *told)
{
    struct importer *importer = told->importer;
    const int64_t of_node = told_count(told, "nproc_per_node", 0);
    const int64_t nodes = importer->nodes > 0 ? importer->nodes : told_count(told, "nnodes", 1);
    const bool is_small = of_node > 0 && nodes > 0 && of_node <= 1000000 && nodes <= 1000000;
    const int64_t gpus = importer->gpus > 0             ? importer->gpus
                         : told_has(told, "world_size") ? told_need(told, "world_size")
                         : is_small                     ? of_node * nodes
                                                        : 0;
    if (gpus < 1 && !told->is_bad) {
        told_refuse(told, NULL,
                    arena_printf(importer->arena, "%s does not tell how many GPUs", told->what),
                    "say it: --gpus N");
    }
    return gpus;
}

/* "full_shard auto_wrap offload" */
static void put_fsdp(struct told *told)
{
    const char *fsdp = told_text(told, "fsdp");
    const bool is_off = fsdp[0] == '\0' || strcmp(fsdp, "False") == 0;
    const char *stage = is_off                                  ? "0"
                        : strstr(fsdp, "shard_grad_op") != NULL ? "2"
                        : strstr(fsdp, "no_shard") != NULL      ? "0"
                                                                : "3";
    told_put(told, "parallel.zero", stage, is_off ? NULL : "fsdp");
    if (strstr(fsdp, "hybrid_shard") != NULL) {
        told_put_count(told, "parallel.zero_group", told_count(told, "nproc_per_node", 8), "fsdp");
    }
    if (strstr(fsdp, "offload") != NULL) {
        told_put(told, "offload.optimizer", "100 %", "fsdp");
    }
}

/* By its own configuration, or the arguments of DeepSpeed-Chat's main.py. */
static bool has_deepspeed(const struct told *told)
{
    if (told_find(told, "zero_stage") != NULL) {
        return true;
    }
    for (size_t i = 0; i < told->setting_count; i++) {
        if (strncmp(told->settings[i].name, "ds.", 3) == 0) {
            return true;
        }
    }
    return false;
}

/* DeepSpeed-Chat writes its configuration from --zero_stage, --offload and --dtype. */
static void put_chat(struct told *told)
{
    told_put_count(told, "parallel.zero", told_count(told, "zero_stage", 0), "zero_stage");
    if (told_truth(told, "offload", false)) {
        told_put(told, "offload.optimizer", "100 %", "offload");
    }
}

static int64_t count_of(struct told *told, const char *first, const char *second, int64_t absent)
{
    const int64_t value = told_count(told, told_has(told, first) ? first : second, absent);
    return value > 0 && value < 1000000000 ? value : absent > 0 ? absent : 1;
}

static void put_batch(struct told *told, int64_t dp)
{
    static const char all[] = "ds.train_batch_size";
    const int64_t micro = count_of(
        told, "ds.train_micro_batch_size_per_gpu",
        told_has(told, "micro_batch_size") ? "micro_batch_size" : "per_device_train_batch_size", 8);
    const int64_t steps =
        count_of(told, "ds.gradient_accumulation_steps", "gradient_accumulation_steps", 1);
    const bool is_all = told_has(told, all);
    const bool has_steps = told_has(told, "gradient_accumulation_steps") ||
                           told_has(told, "ds.gradient_accumulation_steps");
    const int64_t product = micro < 1000000 && steps < 1000000 ? micro * steps * dp : 0;
    const int64_t global = is_all ? told_need(told, all) : product;
    const bool has_micro = told_has(told, "ds.train_micro_batch_size_per_gpu") ||
                           told_has(told, "per_device_train_batch_size");
    if (is_all && has_steps && has_micro && global != product) {
        told_refuse(told, all,
                    arena_printf(told->importer->arena,
                                 "train_batch_size %" PRId64 " is not %" PRId64 " x %" PRId64
                                 " x %" PRId64 " replicas = %" PRId64,
                                 global, micro, steps, dp, product),
                    "it is micro batch x gradient_accumulation_steps x replicas; --gpus N says how "
                    "many there are");
    }
    told_put_count(told, "batch.global", global, is_all ? all : NULL);
    told_put_count(told, "batch.micro", micro,
                   told_has(told, "ds.train_micro_batch_size_per_gpu")
                       ? "ds.train_micro_batch_size_per_gpu"
                       : "per_device_train_batch_size");
    if (!has_micro && !told_has(told, "micro_batch_size")) {
        told_note(told, "batch.micro 8: per_device_train_batch_size is not said");
    }
}

static void put_length(struct told *told)
{
    static const char *const names[] = {"block_size",  "max_seq_length", "model_max_length",
                                        "max_length",  "cutoff_len",     "max_seq_len",
                                        "sequence_len"};
    if (told->importer->sequence_length > 0) {
        told_put_count(told, "batch.sequence_length", told->importer->sequence_length, NULL);
        return;
    }
    const char *name = first_of(told, names, sizeof names / sizeof *names);
    if (name == NULL) {
        told_refuse(told, NULL,
                    arena_printf(told->importer->arena, "%s does not tell how long sequences are",
                                 told->what),
                    "say it: --sequence-length N");
        return;
    }
    told_put_count(told, "batch.sequence_length", told_need(told, name), name);
}

static void put_layout(struct told *told, int64_t gpus)
{
    const int64_t tp = count_of(told, "ds.tensor_parallel.autotp_size", "tensor_parallel_size", 1);
    const int64_t cp = count_of(told, "ds.sequence_parallel_size", "sequence_parallel_size", 1);
    if (tp > gpus || cp > gpus || gpus % (tp * cp) != 0) {
        told_refuse(told, tp > 1 ? "ds.tensor_parallel.autotp_size" : "sequence_parallel_size",
                    arena_printf(told->importer->arena,
                                 "%" PRId64 " GPUs are no multiple of tp %" PRId64 " x cp %" PRId64,
                                 gpus, tp, cp),
                    "--gpus N says how many there are");
        return;
    }
    if (tp > 1) {
        told_put_count(told, "parallel.tp", tp, "ds.tensor_parallel.autotp_size");
    }
    if (cp > 1) {
        told_put_count(told, "parallel.cp", cp, "sequence_parallel_size");
        told_put(told, "parallel.cp_type", "ulysses", "sequence_parallel_size");
    }
    if (told_find(told, "zero_stage") != NULL) {
        put_chat(told);
    } else if (has_deepspeed(told)) {
        deepspeed_keys(told);
    } else {
        put_fsdp(told);
    }
    put_batch(told, gpus / tp / cp);
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

static bool is_on(struct told *told, const char *name)
{
    return told_truth(told, name, false);
}

static void put_precision(struct told *told)
{
    static const char *const names[][2] = {
        {"bf16", "bf16"}, {"ds.bf16.enabled", "bf16"}, {"ds.bfloat16.enabled", "bf16"},
        {"fp16", "fp16"}, {"ds.fp16.enabled", "fp16"}, {"tf32", "tf32"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (is_on(told, names[i][0])) {
            told_put(told, "precision", names[i][1], names[i][0]);
            return;
        }
    }
    const char *type = told_text(told, "dtype");
    if (strcmp(type, "bf16") == 0 || strcmp(type, "fp16") == 0) {
        told_put(told, "precision", type, "dtype");
        return;
    }
    if (told_find(told, "zero_stage") != NULL) {
        told_put(told, "precision", "fp16", NULL);
        told_note(told, "precision fp16: dtype is not said");
        return;
    }
    told_put(told, "precision", "fp32", NULL);
    told_note(told, "precision fp32: neither bf16 nor fp16 is said");
}

static void put_optimizer(struct told *told)
{
    const char *optim = told_text(told, "optim");
    if (strstr(optim, "8bit") != NULL) {
        told_put(told, "optimizer.moments", "int8", "optim");
    } else if (strcmp(optim, "sgd") == 0) {
        told_put(told, "optimizer.rule", "sgd", "optim");
    } else if (optim[0] != '\0' && strstr(optim, "adam") == NULL) {
        told_refuse(
            told, "optim",
            arena_printf(told->importer->arena, "the optimizer %.40s is not simulated", optim),
            "adamw, adamw_8bit and sgd are");
    }
}

static void put_attention(struct told *told)
{
    static const char *const names[] = {"attn_implementation", "flash_attn", "use_flash_attn",
                                        "use_flash_attention_2"};
    const char *name = first_of(told, names, sizeof names / sizeof *names);
    const char *value = name != NULL ? told_text(told, name) : "";
    if (strstr(value, "eager") != NULL || strcmp(value, "disabled") == 0) {
        told_put(told, "software.attention", "unfused", name);
    } else if (strstr(value, "flash") != NULL || strstr(value, "fa2") != NULL ||
               strcmp(value, "True") == 0) {
        told_put(told, "software.attention", "fa2", name);
    }
}

/* Liger's head and loss, where the profile has them; its other kernels are not simulated. */
static void put_liger(struct told *told)
{
    static const char *const names[] = {"use_liger_kernel", "enable_liger_kernel", "use_liger"};
    const char *name = first_of(told, names, 3);
    if (name == NULL || !told_truth(told, name, false)) {
        return;
    }
    if (has_deepspeed(told)) {
        told_warn(told, name, "is not read: DeepSpeed's profile has no such kernels");
    } else {
        told_put(told, "software.loss.kind", "linear", name);
    }
}

static void put_lora(struct told *told)
{
    static const char *const ranks[] = {"lora_r", "lora_rank", "lora_dim"};
    const bool is_lora = is_on(told, "use_lora") || is_on(told, "use_peft") ||
                         told_is(told, "finetuning_type", "lora");
    const char *rank = first_of(told, ranks, 3);
    const bool is_chat = rank == ranks[2] && told_count(told, "lora_dim", 0) > 0;
    if (is_lora || is_chat) {
        told_put_count(told, "lora.rank", rank != NULL ? told_need(told, rank) : 8, rank);
        if (told_has(told, "lora_target") || told_has(told, "lora_target_modules")) {
            told_note(told, "lora.targets all: which matrices have adapters is not read");
        }
        if (rank == NULL) {
            told_note(told, "lora.rank 8: lora_r is not said");
        }
    }
}

/* LLaMA-Factory computes activations again unless it is told not to. */
static void put_recompute(struct told *told)
{
    const bool is_factory = told_has(told, "cutoff_len") && told_has(told, "finetuning_type");
    const bool is_off = told_truth(told, "disable_gradient_checkpointing", false);
    if (told_truth(told, "gradient_checkpointing", is_factory && !is_off)) {
        const bool is_said = told_has(told, "gradient_checkpointing");
        told_put(told, "recompute", "full", is_said ? "gradient_checkpointing" : NULL);
        if (!is_said) {
            told_note(told, "recompute full: disable_gradient_checkpointing is not said");
        }
    }
}

static void put_run(struct told *told)
{
    const char *length = told_key(told, "batch.sequence_length");
    const char *global = told_key(told, "batch.global");
    const int64_t steps = told_count(told, "max_steps", 0);
    int64_t tokens = 0, batch = 0;
    if (steps > 0 && steps < 100000000 && length != NULL && global != NULL &&
        text_span_count((struct text_span){length, length + strlen(length)}, &tokens) &&
        text_span_count((struct text_span){global, global + strlen(global)}, &batch) &&
        (double)tokens * (double)batch * (double)steps < 1e17) {
        told_put_count(told, "run.tokens", steps * batch * tokens, "max_steps");
    } else if (steps <= 0) {
        told_note(told, "run: only the step, as max_steps is not said");
    }
}

bool trainer_read(struct told *told)
{
    told_check(told, trainer_row, &table);
    const int64_t gpus = gpus_of(told);
    put_model(told);
    put_length(told);
    if (gpus < 1) {
        return false;
    }
    told_put_count(told, "gpus", gpus,
                   told_has(told, "world_size") ? "world_size" : "nproc_per_node");
    put_layout(told, gpus);
    put_precision(told);
    put_optimizer(told);
    put_attention(told);
    put_liger(told);
    put_lora(told);
    put_recompute(told);
    if (!told->is_bad) {
        put_run(told);
    }
    return !told->is_bad;
}

const char *trainer_software(struct told *told)
{
    return has_deepspeed(told) ? "deepspeed-zero3-2024" : "huggingface-2025";
}
