/* A configuration of torchtitan in TOML (torchtitan/config/job_config.py of
 * https://github.com/pytorch/torchtitan, releases 0.1 to 0.2.2, read November 2026), by the reader
 * of its logs: what that makes a field of a measured run is here a key, at the setting's place.
 */
#include "foreign/launch/launch.h"
#include "foreign/logs/torchtitan_text.h"

#include "base/arena.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A field of the table, the key that it is, and the end of the setting's path that says it. */
static const struct field {
    const char *column, *path, *setting;
} fields[] = {
    {"model_name", "model", "model.flavor"},
    {"gpus", "gpus", "data_parallel_shard_degree"},
    {"tp", "parallel.tp", "tensor_parallel_degree"},
    {"pp", "parallel.pp", "pipeline_parallel_degree"},
    {"cp", "parallel.cp", "context_parallel_degree"},
    {"ep", "parallel.ep", "expert_parallel_degree"},
    {"zero_group", "parallel.zero_group", "data_parallel_shard_degree"},
    {"pp_schedule", "parallel.schedule", "pipeline_parallel_schedule"},
    {"precision", "precision", "model.converters"},
    {"micro_batch", "batch.micro", "local_batch_size"},
    {"seq_len", "batch.sequence_length", "training.seq_len"},
    {"global_batch_sequences", "batch.global", "global_batch_size"},
    {"recompute", "recompute", "activation_checkpoint.mode"},
};

static const char read[] =
    "model.name model.flavor model.converters parallelism.data_parallel_replicate_degree "
    "parallelism.data_parallel_shard_degree parallelism.tensor_parallel_degree "
    "parallelism.pipeline_parallel_degree parallelism.context_parallel_degree "
    "parallelism.expert_parallel_degree parallelism.pipeline_parallel_schedule "
    "parallelism.pipeline_parallel_microbatch_size parallelism.enable_async_tensor_parallel "
    "parallelism.fsdp_reshard_after_forward parallelism.context_parallel_rotate_method "
    "experimental.pipeline_parallel_degree experimental.context_parallel_degree "
    "experimental.pipeline_parallel_schedule experimental.enable_async_tensor_parallel "
    "training.batch_size training.local_batch_size training.global_batch_size training.seq_len "
    "training.steps training.compile training.mixed_precision_param "
    "training.data_parallel_replicate_degree training.data_parallel_shard_degree "
    "training.tensor_parallel_degree activation_checkpoint.mode "
    "activation_checkpoint.selective_ac_option compile.enable checkpoint.enable "
    "checkpoint.interval checkpoint.async_mode checkpoint.enable_checkpoint optimizer.name "
    "float8.enable_float8_linear float8.recipe_name quantize.linear.float8.recipe_name ";

static const char *const aside[] = {
    "job.* profiling.* metrics.* validation.* lr_scheduler.* comm.* optimizer.* checkpoint.* "
    "fault_tolerance.* experimental.* memory_estimation.* debug.* float8.* quantize.* mx.* "
    "compile.* activation_checkpoint.* model.* training.* parallelism.* "};

static const struct told_row rows[] = {
    TOLD_ROW_LEFT("training.enable_cpu_offload", "states and weights in the host's memory",
                  "|false|"),
    TOLD_ROW_LEFT("parallelism.expert_tensor_parallel_degree", "parallel.etp", "|1|"),
    TOLD_ROW_LEFT("parallelism.pipeline_parallel_layers_per_stage", "parallel.layers_per_stage",
                  NULL),
    TOLD_ROW_LEFT("parallelism.pipeline_parallel_split_points", "parallel.layers_per_stage",
                  "|[]|"),
    TOLD_ROW_LEFT("parallelism.disable_loss_parallel", "loss.gathers_vocabulary", "|false|"),
    TOLD_ROW_LEFT("training.deterministic", "kernels that are deterministic", "|false|"),
};

static const struct told_table table = {rows, sizeof rows / sizeof *rows, read, aside, 1};

static struct told_row titan_row(const char *name)
{
    return told_row_of(&table, name);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static const char *field_of(const struct training_log *log, const char *column)
{
    for (size_t i = 0; i < log->field_count; i++) {
        if (strcmp(log->fields[i].column, column) == 0) {
            return log->fields[i].value;
        }
    }
    return "";
}

static bool has_field(const struct training_log *log, const char *column)
{
    return strcmp(field_of(log, column), "1") == 0;
}

static void put_fields(struct told *told, const struct training_log *log)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const char *value = field_of(log, fields[i].column);
        if (value[0] != '\0') {
            told_put(told, fields[i].path, value, titan_path(log, fields[i].setting));
        }
    }
    const char *zero = field_of(log, "zero_stage");
    told_put(told, "parallel.zero", strcmp(zero, "0") == 0 ? "0" : "3",
             titan_path(log, "data_parallel_replicate_degree"));
    told_put_truth(told, "parallel.sequence_parallel", has_field(log, "sequence_parallel"),
                   titan_path(log, "tensor_parallel_degree"));
}

/* Until when weights stay gathered: by default through the step in a pipeline, else not. */
static void put_reshard(struct told *told, const struct training_log *log)
{
    static const char name[] = "fsdp_reshard_after_forward";
    const char *when = titan_text(log, name);
    const bool is_pipeline = strcmp(field_of(log, "pp"), "1") != 0;
    const bool stays = strcmp(when, "never") == 0 || (strcmp(when, "always") != 0 && is_pipeline);
    if (strcmp(field_of(log, "zero_stage"), "0") != 0 && stays) {
        told_put(told, "parallel.reshard", "after-backward", titan_path(log, name));
    }
}

static void put_kernels(struct told *told, const struct training_log *log)
{
    static const struct {
        const char *word, *key;
    } recipes[] = {
        {"tensorwise", "current"}, {"rowwise", "rowwise"}, {"rowwise_with_gw_hp", "rowwise"}};
    const bool is_fp8 = strcmp(field_of(log, "precision"), "fp8") == 0;
    for (size_t i = 0; i < 3 && is_fp8; i++) {
        if (strcmp(field_of(log, "fp8_recipe"), recipes[i].word) == 0) {
            told_put(told, "software.fp8.recipe", recipes[i].key,
                     titan_path(log, "float8.recipe_name"));
        }
    }
    if (!has_field(log, "torch_compile") && !is_fp8) {
        told_put(told, "software.fusion.bias_activation", "false", NULL);
        told_put(told, "software.fusion.dropout_add", "false", NULL);
        told_put(told, "software.fusion.norm", "false", NULL);
        told_note(told, "kernels that are not fused: compile.enable is not true");
    }
    if (!has_field(log, "async_tp") && strcmp(field_of(log, "tp"), "1") != 0) {
        told_put(told, "software.overlap.tp_backward", "false",
                 titan_path(log, "enable_async_tensor_parallel"));
    }
}

/* Selective is by operation, or every so many-th layer whole, which no key says. */
static void put_recompute(struct told *told, const struct training_log *log)
{
    const char *option = titan_text(log, "selective_ac_option");
    const bool is_selective = strcmp(field_of(log, "recompute"), "selective") == 0;
    if (titan_text(log, "activation_checkpoint.mode")[0] == '\0') {
        told_put(told, "recompute", "selective", NULL);
        told_note(told, "recompute selective: activation_checkpoint.mode is not said");
    } else if (is_selective && strspn(option, "0123456789") > 0) {
        told_warn(
            told, titan_path(log, "selective_ac_option"),
            "is read as 'op': every so many-th layer whole is recompute.layers of a scenario");
    }
}

static void put_run(struct told *told, const struct training_log *log, double tokens_of_gpu)
{
    struct arena *arena = told->importer->arena;
    const char *steps_name = titan_path(log, "training.steps");
    const double steps = steps_name != NULL ? told_number(told, steps_name, 0) : 0;
    const double tokens = steps * strtod(field_of(log, "gpus"), NULL) * tokens_of_gpu;
    if (tokens < 1 || tokens > 1e17) {
        return;
    }
    told_put(told, "run.tokens", arena_printf(arena, "%.0f", tokens), steps_name);
    const bool is_kept = titan_is_true(log, "checkpoint.enable") ||
                         titan_is_true(log, "checkpoint.enable_checkpoint");
    const char *interval = titan_path(log, "checkpoint.interval");
    const int64_t every = interval != NULL ? told_count(told, interval, 0) : 0;
    if (is_kept && every > 0) {
        const bool is_async = strncmp(titan_text(log, "checkpoint.async_mode"), "async", 5) == 0;
        told_put(told, "run.checkpoint",
                 arena_printf(arena, "{every: %" PRId64 " steps, mode: %s}", every,
                              is_async ? "async" : "blocking"),
                 interval);
    }
}

bool titan_read_told(struct told *told)
{
    struct training_log log;
    double tokens = 0;
    log_open(&log, told->importer);
    titan_read(&log);
    log_tell(&log, told);
    told_check(told, titan_row, &table);
    if (!titan_fields(&log, &tokens)) {
        return false;
    }
    put_fields(told, &log);
    put_reshard(told, &log);
    put_kernels(told, &log);
    put_recompute(told, &log);
    put_run(told, &log, tokens);
    return !told->is_bad;
}
