/* Keys of NeMo 1 (examples/nlp/language_modeling/conf of https://github.com/NVIDIA/NeMo,
 * https://github.com/NVIDIA/NeMo-Framework-Launcher), NeMo 2 (nemo/collections/llm) and
 * Megatron-Bridge (src/megatron/bridge/training/config.py of
 * https://github.com/NVIDIA-NeMo/Megatron-Bridge), read November 2026. Most are Megatron's names
 * below a section; the table has those that are not.
 *
 * A recipe sets more than its overrides say: what those of models/launches.yaml set is known
 * (launch/recipes); of others what moves a step most must be said.
 */
#include "foreign/launch/hub.h"
#include "foreign/launch/launch.h"
#include "foreign/launch/recipes.h"
#include "foreign/launch/shell_words.h"
#include "foreign/megatron/megatron_arguments.h"
#include "foreign/megatron/megatron_run.h"

#include "base/arena.h"

#include <ctype.h>
#include <string.h>

/* Sections below which a key goes by its own name. */
static const char *const sections[] = {
    "training.",
    "recipe.",
    "config.",
    "cfg.",
    "trainer.strategy.ddp.",
    "trainer.strategy.",
    "model.config.",
    "model.data.",
    "model.optim.",
    "model.tokenizer.",
    "model.",
    "trainer.",
    "train.",
    "optimizer.",
    "optim.config.",
    "optim.",
    "ddp.",
    "dataset.",
    "data.",
    "comm_overlap.",
    "mixed_precision.",
    "tokenizer.",
    "rng.",
    "dist.",
};

/* In the place of a key's own value. */
enum value { OWN, NOT_IT, GATED, NORM, PRECISION, NAME, SWITCH, GROUPS, BF16, BERT };

static const struct alias {
    const char *name, *means;
    enum value value;
} aliases[] = {
    {"num_nodes", "nnodes", OWN},
    {"devices", "nproc_per_node", OWN},
    {"num_gpus_per_node", "nproc_per_node", OWN},
    {"gpus_per_node", "nproc_per_node", OWN},
    {"max_steps", "train_iters", OWN},
    {"encoder_seq_length", "seq_length", OWN},
    {"sequence_length", "seq_length", OWN},
    {"seq_len", "seq_length", OWN},
    {"activations_checkpoint_granularity", "recompute_granularity", OWN},
    {"activations_checkpoint_method", "recompute_method", OWN},
    {"activations_checkpoint_num_layers", "recompute_num_layers", OWN},
    {"bias", "add_bias_linear", OWN},
    {"activation", "swiglu", GATED},
    {"gated_linear_unit", "swiglu", OWN},
    {"normalization", "normalization", NORM},
    {"share_embeddings_and_output_weights", "untie_embeddings_and_output_weights", NOT_IT},
    {"num_query_groups", "num_query_groups", GROUPS},
    {"num_moe_experts", "num_experts", OWN},
    {"precision", "bf16", PRECISION},
    {"mixed_precision", "bf16", PRECISION},
    {"fp8_hybrid", "fp8", NAME},
    {"fp8_e4m3", "fp8", NAME},
    {"fp8", "fp8", SWITCH},
    {"use_flash_attention", "use_flash_attn", OWN},
    {"qkv_bias", "add_qkv_bias", OWN},
    {"fsdp", "use_torch_fsdp2", OWN},
    {"bert_binary_head", "program", BERT},
    {"overlap_grad_sync", "overlap_grad_reduce", OWN},
    {"overlap_param_sync", "overlap_param_gather", OWN},
    {"overlap_param_gather_with_optimizer_step", "overlap_param_gather_with_optimizer_step", OWN},
    {"grad_sync_dtype", "grad_reduce_in_bf16", BF16},
    {"grad_reduce_in_fp32", "grad_reduce_in_bf16", NOT_IT},
    {"ub_tp_comm_overlap", "tp_comm_overlap", OWN},
    {"bias_dropout_add_fusion", "bias_dropout_fusion", OWN},
    {"bias_activation_fusion", "bias_swiglu_fusion", OWN},
    {"qk_layernorm", "qk_layernorm", OWN},
    {"gradient_clip_val", "clip_grad", OWN},
    {"window_size", "window_size", OWN},
    {"num_layers_in_first_pipeline_stage", "decoder_first_pipeline_num_layers", OWN},
    {"num_layers_in_last_pipeline_stage", "decoder_last_pipeline_num_layers", OWN},
    {"account_for_embedding_in_pipeline_split", "account_for_embedding_in_pipeline_split", OWN},
};

/* Sections, and keys, that change no step. */
static const char aside[] =
    "transformer_engine batch_p2p_comm fsdp_* layernorm_zero_centered_gamma masked_lm_prob dtype "
    "short_seq_prob deteministic_mode mcore_t5 run.* exp_manager.* logger.* log.* checkpoint.* "
    "profiling.* resume.* hydra.* defaults "
    "inference.* callbacks.* executor.* scheduler.* sched.* nsys_profile.* wandb_* "
    "native_amp_* tokenizer library type use_fast model tokenizer_model vocab_file merge_file "
    "sentencepiece_legacy delimiter lr weight_decay betas eps name accelerator logger "
    "enable_checkpointing use_distributed_sampler max_epochs max_time log_every_n_steps "
    "val_check_interval limit_* accumulate_grad_batches benchmark enable_model_summary "
    "replace_sampler_ddp num_sanity_val_steps mcore_gpt megatron_amp_o2 pre_process post_process "
    "persist_layer_norm headscale transformer_block_type normalize_attention_scores "
    "rotary_percentage attention_type hysteresis grad_allreduce_chunk_size_mb "
    "grad_div_ar_fusion resume_from_checkpoint apex_transformer_log_level "
    "gradient_as_bucket_view sync_batch_comm num_micro_batches_with_partial_* "
    "activations_checkpoint_layers_per_pipeline gc_interval bucket_cap_mb contiguous_* "
    "splits_string skip_warmup data_impl data_prefix index_mapping_dir shuffle_documents "
    "exchange_indices_distributed validation_drop_last pad_samples_to_global_batch_size "
    "do_layer_norm_weight_decay use_scaled_init_method ffn_dropout layernorm_epsilon fp8_params "
    "fp8_margin fp8_interval fp8_amax_* reduce_amax use_emha enable_megatron_timers "
    "megatron_timer_kwargs.* nccl_communicator_config_path sharp name_or_path seq_len_* "
    "rope_scaling* scale_positional_embedding rotary_base seed no_seqlen_plus_one_input_tokens "
    "dist_ckpt_* save_* load_* sched.* get_attention_mask_from_fusion async_grad_allreduce "
    "use_cpu_initialization onnx_safe nsys_* memory_profile.* target_ _target_ restore_* "
    "explicit_log_dir ub_tp_comm_overlap_cfg* data_path blend* min_lr warmup_* lr_* "
    "optimizer_type rope_type average_in_collective check_for_nan_in_grad barrier_with_l1_time ";

/* ---- settings -------------------------------------------------------------------------------- */

static const struct alias *alias_of(const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (strcmp(aliases[i].name, name) == 0) {
            return &aliases[i];
        }
    }
    return NULL;
}

/* Without its section: "model.data.seq_length" -> "seq_length". */
static const char *own_name(const char *path)
{
    path += strspn(path, "+~");
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const size_t length = strlen(sections[i]);
        if (strncmp(path, sections[i], length) == 0) {
            const bool is_outer = i < 4; /* what wraps the others */
            path += length;
            if (!is_outer) {
                return path;
            }
        }
    }
    return path;
}

static bool is_true(const char *value)
{
    return strcmp(value, "True") == 0 || strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
}

/* Of a key that is said to have none: no recipe gives it one then. */
static const char none[] = "None";

static void set(struct told *told, const struct told_setting *like, const char *name,
                const char *value)
{
    struct told_setting setting = *like;
    setting.name = name;
    setting.value = value;
    const struct told_setting *old = told_find(told, name);
    if (old != NULL && strcmp(old->value, none) == 0) {
        told_drop(told, name);
        old = NULL;
    }
    if (old == NULL || strcmp(old->value, value) != 0) {
        told_set(told, &setting);
    }
}

/* "bf16-mixed", 16, "bf16_with_fp8_current_scaling_mixed". */
static void set_precision(struct told *told, const struct told_setting *setting)
{
    const char *value = setting->value;
    const bool is_bf16 = strstr(value, "bf16") != NULL;
    const bool is_fp16 = !is_bf16 && strstr(value, "16") != NULL;
    if (is_bf16 || is_fp16) {
        set(told, setting, is_bf16 ? "bf16" : "fp16", "True");
    }
    if (strstr(value, "fp8") != NULL) {
        set(told, setting, "fp8", "hybrid");
        set(told, setting, "fp8_recipe",
            strstr(value, "mxfp8") != NULL        ? "mxfp8"
            : strstr(value, "current") != NULL    ? "tensorwise"
            : strstr(value, "subchannel") != NULL ? "blockwise"
                                                  : "delayed");
    }
    if (strstr(value, "nvfp4") != NULL) {
        set(told, setting, "fp4", "e2m1");
    }
}

static void set_alias(struct told *told, const struct told_setting *setting,
                      const struct alias *alias)
{
    const char *value = setting->value;
    switch (alias->value) {
    case NOT_IT:
        set(told, setting, alias->means, is_true(value) ? "False" : "True");
        break;
    case GATED:
        set(told, setting, alias->means, strstr(value, "glu") != NULL ? "True" : "False");
        break;
    case NORM:
        set(told, setting, alias->means,
            strstr(value, "rms") != NULL || strstr(value, "RMS") != NULL ? "RMSNorm" : "LayerNorm");
        break;
    case PRECISION:
        set_precision(told, setting);
        break;
    case NAME:
        if (is_true(value)) {
            set(told, setting, alias->means, "hybrid");
        }
        break;
    case GROUPS:
        set(told, setting, "group_query_attention", "True");
        set(told, setting, alias->means, value);
        break;
    case BF16:
        set(told, setting, alias->means, strstr(value, "bf16") != NULL ? "True" : "False");
        break;
    case SWITCH: /* without it the formats say nothing */
        set(told, setting, "fp8 switch", value);
        if ((is_true(value) || strcmp(value, "hybrid") == 0 || strcmp(value, "e4m3") == 0) &&
            told_find(told, "fp8") == NULL) {
            set(told, setting, "fp8", "hybrid");
        }
        break;
    case BERT:
        set(told, setting, alias->means, "pretrain_bert.py");
        break;
    case OWN:
        set(told, setting, alias->means, value);
        break;
    }
}

static bool is_none(const char *value)
{
    return value[0] == '\0' || strcmp(value, "null") == 0 || strcmp(value, "None") == 0 ||
           strcmp(value, "~") == 0;
}

static bool tells_optimizer(struct told *told, const struct told_setting *setting, const char *path)
{
    const char *value = setting->value;
    const bool is_it = strcmp(path, "model.optim.name") == 0 || strcmp(path, "optim.name") == 0;
    if (is_it && strstr(value, "distributed") != NULL) {
        set(told, setting, "use_distributed_optimizer", "True");
    } else if (is_it) {
        set(told, setting, "optimizer", strstr(value, "adam") != NULL ? "adam" : value);
    }
    return is_it;
}

/* "meta-llama/Meta-Llama-3-8B" of a library, or a type of Megatron's. */
static bool tells_tokenizer(struct told *told, const struct told_setting *setting, const char *path)
{
    static const char type[] = "tokenizer.type", model[] = "tokenizer.tokenizer_model";
    const bool is_type = strstr(path, type) != NULL, is_model = strstr(path, model) != NULL;
    if (is_type || is_model) {
        const bool is_path = is_model || strchr(setting->value, '/') != NULL;
        set(told, setting, is_path ? "tokenizer_model" : "tokenizer_type", setting->value);
    }
    return is_type || is_model;
}

static void refuse_decoder(struct told *told, const struct told_setting *setting)
{
    if (!told->is_bad && told->importer->model == NULL) {
        set(told, setting, setting->name, setting->value);
        told_refuse(told, setting->name,
                    arena_printf(told->importer->arena,
                                 "%s: a model of an encoder and a decoder is not read",
                                 setting->name),
                    "name the model: --model NAME, of `stoker list models`");
    }
}

/* "${oc.env:TP,4}": what --variable says, or what is behind the comma, or what is not known. */
static const struct told_setting *of_environment(const struct told *told,
                                                 const struct told_setting *setting)
{
    const struct importer *importer = told->importer;
    struct arena *arena = importer->arena;
    const char *name = setting->value + strlen("${oc.env:");
    const size_t length = strcspn(name, ",}");
    const char *other = name[length] == ',' ? name + length + 1 : NULL;
    struct told_setting *said = arena_alloc(arena, sizeof *said);
    *said = *setting;
    if (other != NULL) {
        other += strspn(other, " ");
    }
    said->value = other != NULL ? arena_strndup(arena, other, strcspn(other, "}"))
                                : arena_printf(arena, "%c%.*s%c", SHELL_UNKNOWN, (int)length, name,
                                               SHELL_KNOWN);
    for (uint32_t i = 0; i < importer->variable_count; i++) {
        const char *given = importer->variables[i];
        if (strncmp(given, name, length) == 0 && given[length] == '=') {
            said->value = given + length + 1;
        }
    }
    return said;
}

/* Of these another key is what is taken where nothing is said. */
static void tell_reference(const struct told *told, const struct told_setting *setting,
                           const char *name)
{
    static const char usual[] =
        "seq_length seq_len sequence_length encoder_seq_length ffn_hidden_size "
        "max_position_embeddings kv_channels max_steps train_iters devices "
        "num_nodes save_interval precision micro_batch_size global_batch_size ";
    static const char moves[] = "micro_batch_size global_batch_size devices num_nodes precision ";
    const bool is_of_data = strstr(setting->name, "data.") != NULL;
    const bool is_usual = told_has_word(usual, name) && (is_of_data || !told_has_word(moves, name));
    if (name[0] != '\0' && !is_usual) {
        const struct place place = told_place(told, setting);
        diag_add(told->importer->diag, DIAG_WARNING, &place, "%s is not read: it is another key's",
                 setting->name);
        diag_help(told->importer->diag, "write the value in its place");
    }
}

/* What has a value elsewhere keeps it. */
static bool tells_none(struct told *told, const struct told_setting *setting,
                       const struct alias *alias, const char *lower)
{
    const bool is_it = is_none(setting->value);
    const bool is_own =
        alias != NULL ? alias->value == OWN : megatron_argument(lower).use == TOLD_READ;
    const char *name = alias != NULL ? alias->means : lower;
    if (is_it && is_own && told_find(told, name) == NULL) {
        set(told, setting, name, none);
    }
    return is_it;
}

static void drop_none(struct told *told)
{
    for (size_t i = told->setting_count; i > 0; i--) {
        if (strcmp(told->settings[i - 1].value, none) == 0) {
            told_drop(told, told->settings[i - 1].name);
        }
    }
}

void nemo_tell(struct told *told, const struct told_setting *written)
{
    struct arena *arena = told->importer->arena;
    const bool is_of_environment = strstr(written->value, "${oc.env:") == written->value;
    const struct told_setting *setting =
        is_of_environment ? of_environment(told, written) : written;
    const char *path = setting->name + strspn(setting->name, "+~");
    const char *name = own_name(path);
    const char *lower = told_lower(arena, name);
    const struct alias *alias = alias_of(lower);
    const enum told_use use = megatron_argument(lower).use;
    if (tells_none(told, setting, alias, lower) || told_has_word(aside, path) ||
        tells_optimizer(told, setting, path) || tells_tokenizer(told, setting, path)) {
        return;
    }
    if (strncmp(lower, "encoder.", 8) == 0 || strncmp(lower, "decoder.", 8) == 0) {
        refuse_decoder(told, setting);
        return;
    }
    if (strstr(setting->value, "${") != NULL) { /* another key's, or a sum of some */
        tell_reference(told, setting, alias != NULL || use == TOLD_READ ? lower : "");
        return;
    }
    if (alias != NULL) {
        set_alias(told, setting, alias);
    } else if (use == TOLD_READ || use == TOLD_REFUSED || use == TOLD_LEFT) {
        set(told, setting, lower, setting->value);
    } else if (use == TOLD_UNKNOWN && !told_has_word(aside, lower)) {
        set(told, setting, path, setting->value);
    }
}

bool nemo_is_override(const char *word)
{
    const char *sign = strchr(word, '=');
    const char *begin = word + strspn(word, "+");
    if (sign == NULL || sign == begin || !isalpha((unsigned char)*begin)) {
        return false;
    }
    for (const char *at = begin; at < sign; at++) {
        if (!isalnum((unsigned char)*at) && *at != '_' && *at != '.') {
            return false;
        }
    }
    const size_t length = (size_t)(sign - begin);
    bool is_alias = false; /* mixed_precision=bf16_mixed */
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases && !is_alias; i++) {
        is_alias =
            strlen(aliases[i].name) == length && strncmp(aliases[i].name, begin, length) == 0;
    }
    return is_alias || memchr(begin, '.', length) != NULL;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* What a recipe sets by itself, and moves a step most. */
static bool has_layout(struct told *told, const char *recipe)
{
    static const char *const needed[] = {"tensor_model_parallel_size",
                                         "pipeline_model_parallel_size", "micro_batch_size",
                                         "global_batch_size", "seq_length"};
    const char *list = "";
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (told_find(told, needed[i]) == NULL) {
            list = arena_printf(told->importer->arena, "%s%s%s", list, list[0] != '\0' ? ", " : "",
                                needed[i]);
        }
    }
    if (list[0] != '\0') {
        told_refuse(told, "recipe",
                    arena_printf(told->importer->arena,
                                 "what the recipe %.60s sets by itself is not read: %s", recipe,
                                 list),
                    "say them: model.tensor_model_parallel_size=4; `stoker new` finds a layout");
    }
    return list[0] == '\0';
}

/* Of a recipe that no table has: its model by its name, and what its overrides have to say. */
static bool read_unknown(struct told *told, const char *name)
{
    struct importer *importer = told->importer;
    if (importer->model == NULL && told_find(told, "num_layers") == NULL) {
        const char *model = hub_model(importer, name);
        if (model == NULL) {
            told_refuse(told, "recipe",
                        arena_printf(importer->arena,
                                     "the catalogue has no model like the recipe '%.60s'", name),
                        "--model NAME, of `stoker list models`");
            return false;
        }
        importer->model = model;
        told_note(told,
                  arena_printf(importer->arena, "model %s of the catalogue is '%s'", model, name));
    }
    if (!has_layout(told, name)) {
        return false;
    }
    told_note(told, "what the recipe sets beside the overrides is not read");
    if (told_find(told, "bf16") == NULL && told_find(told, "fp16") == NULL) {
        struct told_setting setting = *told_find(told, "recipe");
        set(told, &setting, "bf16", "True");
        told_note(told, "precision bf16, as recipes have");
    }
    return true;
}

/* "llama3_8b(num_nodes=2, name='ours')" of NeMo 2: what is in brackets becomes overrides of the
 * trainer's, or is told. The name without them. */
static const char *without_arguments(struct told *told, const char *call)
{
    struct arena *arena = told->importer->arena;
    const size_t length = strcspn(call, "(");
    const char *at = call[length] == '(' ? call + length + 1 : "";
    while (*at != '\0' && *at != ')') {
        at += strspn(at, ", ");
        const size_t size = strcspn(at, ",)");
        const char *word = arena_strndup(arena, at, size);
        const size_t sign = strcspn(word, "= ");
        struct told_setting setting = *told_find(told, "recipe");
        setting.name = arena_strndup(arena, word, sign);
        setting.value = word + sign + strspn(word + sign, "= ");
        at += size;
        if (strcmp(setting.name, "performance_mode") == 0 && is_true(setting.value)) {
            told_warn(told, "recipe", "what performance_mode sets is not read");
        } else if (told_has_word("num_nodes num_gpus_per_node ", setting.name)) {
            nemo_tell(told, &setting);
        }
    }
    return arena_strndup(arena, call, length);
}

static bool read_recipe(struct told *told)
{
    struct launch_recipe recipe;
    const char *name = without_arguments(told, told_text(told, "recipe"));
    if (told->is_bad || !launch_recipe_find(told->importer, name, &recipe)) {
        return false;
    }
    if (recipe.name == NULL) {
        drop_none(told);
        return read_unknown(told, name);
    }
    if (told->importer->model == NULL && told_find(told, "num_layers") == NULL) {
        told->importer->model = recipe.model;
    }
    launch_recipe_tell(told, &recipe);
    told_drop(told, "recipe");
    return true;
}

bool nemo_read(struct told *told)
{
    const struct told_setting *fp8 = told_find(told, "fp8 switch");
    if (fp8 != NULL && !is_true(fp8->value) && fp8->value[0] != 'e' &&
        strcmp(fp8->value, "hybrid") != 0) {
        told_drop(told, "fp8");
    }
    told_drop(told, "fp8 switch");
    const bool is_good = told_find(told, "recipe") == NULL || read_recipe(told);
    drop_none(told);
    return is_good && megatron_read(told);
}
