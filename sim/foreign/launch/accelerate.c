/* What `accelerate launch` says to Hugging Face's Trainer, in options or in the file of its
 * --config_file: https://huggingface.co/docs/accelerate/package_reference/cli, and
 * src/accelerate/utils/launch.py of https://github.com/huggingface/accelerate, 0.20 to 1.10; read
 * November 2026. An option counts before the file, and the trainer's own argument before both.
 */
#include "foreign/launch/launch.h"

#include "base/arena.h"

#include <string.h>

/* Names of options and of the file's keys, the sections of which are left out. */
static const char *const known[] = {
    "mixed_precision",
    "num_processes",
    "distributed_type",
    "use_fsdp",
    "fsdp_sharding_strategy",
    "fsdp_reshard_after_forward",
    "fsdp_offload_params",
    "fsdp_activation_checkpointing",
    "use_deepspeed",
    "zero_stage",
    "offload_optimizer_device",
    "deepspeed_config_file",
    "gradient_accumulation_steps",
};

bool accelerate_is_known(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i], name) == 0) {
            return true;
        }
    }
    return strcmp(name, "config_file") == 0;
}

/* Sets `name` where nobody has said it. */
static void set(struct told *told, const struct told_setting *like, const char *name,
                const char *value)
{
    struct told_setting setting = *like;
    setting.name = name;
    setting.value = value;
    if (told_find(told, name) == NULL) {
        told_set(told, &setting);
    }
}

/* The file's keys below "accelerate.", where an option has not said them. */
static bool read_file(struct told *told, const struct shell_script *script)
{
    static const char option[] = "accelerate.config_file";
    struct importer *importer = told->importer;
    if (!told_has(told, option)) {
        const bool is_said = told_find(told, "accelerate.use_fsdp") != NULL ||
                             told_find(told, "accelerate.use_deepspeed") != NULL;
        if (told_find(told, "accelerate.launch") != NULL && !is_said) {
            told_note(told, "no FSDP, no DeepSpeed: accelerate's own default_config.yaml is not "
                            "read (--config_file names one that is)");
        }
        return !told->is_bad;
    }
    const struct doc_node *root = launch_load(told, option, script, "accelerate");
    if (root == NULL) {
        return false;
    }
    struct told keys = {.importer = importer, .sign = ""};
    document_tell(&keys, root, "");
    for (size_t i = 0; i < keys.setting_count; i++) {
        const char *dot = strrchr(keys.settings[i].name, '.');
        const char *name = dot != NULL ? dot + 1 : keys.settings[i].name;
        if (accelerate_is_known(name)) {
            set(told, &keys.settings[i], arena_printf(importer->arena, "accelerate.%s", name),
                keys.settings[i].value);
        }
    }
    return true;
}

/* 1 to 4 of the old names; of FSDP 2 whether weights are gathered again. */
static const char *sharding(struct told *told)
{
    static const char *const strategies[][2] = {{"1", "full_shard"},
                                                {"2", "shard_grad_op"},
                                                {"3", "no_shard"},
                                                {"4", "hybrid_shard"},
                                                {"5", "hybrid_shard_zero2"}};
    const char *name = told_has(told, "accelerate.fsdp_sharding_strategy")
                           ? "accelerate.fsdp_sharding_strategy"
                           : "accelerate.fsdp_reshard_after_forward";
    const char *lower = told_lower(told->importer->arena, told_text(told, name));
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        if (strcmp(lower, strategies[i][0]) == 0) {
            return strategies[i][1];
        }
    }
    return strcmp(lower, "false") == 0                      ? "shard_grad_op"
           : strcmp(lower, "true") == 0 || lower[0] == '\0' ? "full_shard"
                                                            : lower;
}

static void set_fsdp(struct told *told)
{
    const struct told_setting *type = told_find(told, "accelerate.distributed_type");
    const bool is_of_file = told_is(told, "accelerate.distributed_type", "FSDP");
    if (!is_of_file && !told_truth(told, "accelerate.use_fsdp", false)) {
        return;
    }
    const bool offloads = told_truth(told, "accelerate.fsdp_offload_params", false);
    const struct told_setting *from = is_of_file ? type : told_find(told, "accelerate.use_fsdp");
    const struct told_setting like = *from;
    set(told, &like, "fsdp",
        arena_printf(told->importer->arena, "%s%s", sharding(told), offloads ? " offload" : ""));
    if (told_truth(told, "accelerate.fsdp_activation_checkpointing", false)) {
        set(told, &like, "gradient_checkpointing", "True");
    }
}

static void set_deepspeed(struct told *told)
{
    static const char *const names[][2] = {
        {"accelerate.deepspeed_config_file", "deepspeed"},
        {"accelerate.zero_stage", "ds.zero_optimization.stage"},
        {"accelerate.offload_optimizer_device", "ds.zero_optimization.offload_optimizer.device"},
        {"accelerate.gradient_accumulation_steps", "ds.gradient_accumulation_steps"},
    };
    const bool is_it = told_is(told, "accelerate.distributed_type", "DEEPSPEED") ||
                       told_truth(told, "accelerate.use_deepspeed", false);
    for (size_t i = 0; i < sizeof names / sizeof *names && is_it; i++) {
        const struct told_setting *setting = told_find(told, names[i][0]);
        const bool is_said = setting != NULL && told_has(told, names[i][0]);
        if (is_said && (i < 3 || told_find(told, "gradient_accumulation_steps") == NULL)) {
            const struct told_setting like = *setting;
            set(told, &like, names[i][1], like.value);
        }
    }
}

bool accelerate_read(struct told *told, const struct shell_script *script)
{
    if (!read_file(told, script)) {
        return false;
    }
    const struct told_setting *processes = told_find(told, "accelerate.num_processes");
    if (processes != NULL) {
        const struct told_setting like = *processes;
        set(told, &like, "world_size", like.value);
    }
    const struct told_setting *precision = told_find(told, "accelerate.mixed_precision");
    const bool is_said = told_find(told, "bf16") != NULL || told_find(told, "fp16") != NULL;
    if (precision != NULL && told_is(told, "accelerate.mixed_precision", "fp8")) {
        told_refuse(told, "accelerate.mixed_precision", "fp8 of accelerate is not read",
                    "say bf16, and --set precision=fp8 to `run`");
    } else if (precision != NULL && !is_said &&
               !told_is(told, "accelerate.mixed_precision", "no")) {
        const struct told_setting like = *precision;
        set(told, &like, told_is(told, "accelerate.mixed_precision", "fp16") ? "fp16" : "bf16",
            "True");
    }
    set_fsdp(told);
    set_deepspeed(told);
    return !told->is_bad;
}
