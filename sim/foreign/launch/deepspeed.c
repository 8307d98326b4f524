/* DeepSpeed's configuration: https://www.deepspeed.ai/docs/config-json/, and runtime/config.py and
 * runtime/zero/config.py of https://github.com/deepspeedai/DeepSpeed, releases 0.4 to 0.18; read
 * November 2026. Of what a configuration leaves to the trainer ("auto") it says nothing.
 */
#include "foreign/launch/launch.h"

#include "foreign/launch/shell.h"

#include "base/arena.h"
#include "input/doc/text_source.h"

#include <inttypes.h>
#include <string.h>

static const char read[] =
    "ds.train_batch_size ds.train_micro_batch_size_per_gpu ds.gradient_accumulation_steps "
    "ds.zero_optimization.stage ds.zero_optimization.offload_optimizer.device "
    "ds.zero_optimization.offload_optimizer.ratio ds.zero_optimization.cpu_offload "
    "ds.zero_optimization.overlap_comm ds.zero_optimization.reduce_bucket_size "
    "ds.zero_optimization.stage3_max_live_parameters "
    "ds.zero_optimization.stage3_max_reuse_distance "
    "ds.zero_optimization.zero_quantized_weights ds.zero_optimization.zero_quantized_gradients "
    "ds.zero_optimization.zero_hpz_partition_size ds.zero_optimization.mics_shard_size "
    "ds.bf16.enabled ds.bfloat16.enabled ds.fp16.enabled ds.gradient_clipping "
    "ds.communication_data_type ds.data_types.grad_accum_dtype ds.optimizer.type "
    "ds.tensor_parallel.autotp_size ds.sequence_parallel_size ";

static const char *const aside[] = {
    "ds.steps_per_print ds.wall_clock_breakdown ds.dump_state ds.optimizer.* ds.scheduler.* "
    "ds.fp16.* ds.bf16.* ds.zero_optimization.* ds.zero_allow_untested_optimizer "
    "ds.zero_force_ds_cpu_optimizer ds.prescale_gradients ds.gradient_predivide_factor "
    "ds.sparse_gradients ds.tensorboard.* ds.wandb.* ds.csv_monitor.* ds.comms_logger.* "
    "ds.comet.* ds.checkpoint.* ds.aio.* ds.activation_checkpointing.* ds.memory_breakdown "
    "ds.disable_allgather ds.tensor_parallel.* ds.load_from_fp32_weights ds.use_node_local_storage "
    "ds.nebula.* ds.seed ds.eigenvalue.* ds.graph_harvesting ds.dataloader_drop_last "
    "ds.monitor_config.* ds.vocabulary_size ds.autotuning.* ds.data_types.* ds.timers.* "
    "ds.communication_data_type ds.$schema ds.train_steps ds.zero_optimization "};

static const struct told_row rows[] = {
    TOLD_ROW_LEFT("ds.zero_optimization.offload_param.device", "weights in the host's memory",
                  "|none|"),
    TOLD_ROW_LEFT("ds.amp.enabled", "apex's mixed precision", "|false|"),
    TOLD_ROW_LEFT("ds.flops_profiler.enabled", "a profiler", "|false|"),
    TOLD_ROW_LEFT("ds.compile.enabled", "a compiled step", "|false|"),
    TOLD_ROW_LEFT("ds.compression_training.*", "weights that are compressed", NULL),
    TOLD_ROW_LEFT("ds.sparse_attention.*", "sparse attention", NULL),
    TOLD_ROW_LEFT("ds.elasticity.enabled", "another number of GPUs while it runs", "|false|"),
    TOLD_ROW_LEFT("ds.curriculum_learning.enabled", "sequences that become longer", "|false|"),
    TOLD_ROW_LEFT("ds.data_efficiency.enabled", "tokens that are dropped", "|false|"),
    TOLD_ROW_LEFT("ds.progressive_layer_drop.enabled", "layers that are dropped", "|false|"),
    TOLD_ROW_LEFT("ds.hybrid_engine.enabled", "generation beside training", "|false|"),
};

static const struct told_table table = {rows, sizeof rows / sizeof *rows, read, aside, 1};

struct told_row deepspeed_row(const char *name)
{
    return told_row_of(&table, name);
}

/* ---- the file ------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static const struct shell_here *find_here(const struct shell_script *script, const char *name)
{
    for (size_t i = 0; script != NULL && i < script->here_count; i++) {
        if (strcmp(base_name(script->heres[i].name), base_name(name)) == 0) {
            return &script->heres[i];
        }
    }
    return NULL;
}

/* Beside the script, by its path or by its last part; else --with. NULL: nowhere. */
static const char *find_file(struct told *told, const char *name)
{
    struct arena *arena = told->importer->arena;
    const char *script = told->importer->file.path;
    const char *slash = strrchr(script, '/');
    const char *folder =
        slash != NULL ? arena_strndup(arena, script, (size_t)(slash + 1 - script)) : "";
    const char *const paths[] = {told->importer->with, arena_printf(arena, "%s%s", folder, name),
                                 arena_printf(arena, "%s%s", folder, base_name(name))};
    const bool is_clean = strpbrk(name, "\x01\x02") == NULL;
    for (size_t i = 0; i < (is_clean ? 3 : 1); i++) {
        if (paths[i] != NULL && text_source_exists(paths[i])) {
            return paths[i];
        }
    }
    return NULL;
}

bool deepspeed_is_there(struct told *told, const char *name, const struct shell_script *script)
{
    const struct told_setting *setting = told_find(told, name);
    const char *path = setting != NULL ? setting->value : "";
    return find_here(script, path) != NULL || find_file(told, path) != NULL;
}

const struct doc_node *launch_load(struct told *told, const char *name,
                                   const struct shell_script *script, const char *of)
{
    struct importer *importer = told->importer;
    const struct told_setting *setting = told_find(told, name);
    const char *path = setting != NULL ? setting->value : "";
    const struct shell_here *here = find_here(script, path);
    const struct doc_node *root = NULL;
    if (here != NULL && importer->with == NULL) {
        const char *in_it =
            arena_printf(importer->arena, "%s (%s)", importer->file.path, base_name(here->name));
        root = doc_parse(importer->arena, in_it, here->text, strlen(here->text), importer->diag);
    } else {
        const char *found = find_file(told, path);
        if (found == NULL) {
            told_refuse(told, name,
                        arena_printf(importer->arena,
                                     "this configuration of %s is not beside the script", of),
                        "say where it is: --with FILE");
            return NULL;
        }
        root = doc_load(importer->arena, found, importer->diag);
    }
    if (root != NULL && root->kind == DOC_MAPPING) {
        return root;
    }
    told->is_bad = true;
    if (root != NULL) {
        diag_add(importer->diag, DIAG_INPUT, &root->place, "a configuration of %s has keys", of);
    }
    return NULL;
}

bool deepspeed_open(struct told *told, const char *name, const struct shell_script *script)
{
    const struct doc_node *root = launch_load(told, name, script, "DeepSpeed");
    if (root != NULL) {
        document_tell(told, root, "ds.");
    }
    return root != NULL;
}

/* ---- keys ----------------------------------------------------------------------------------- */

static void put_states(struct told *told)
{
    const char *device = told_text(told, "ds.zero_optimization.offload_optimizer.device");
    const bool is_old = told_truth(told, "ds.zero_optimization.cpu_offload", false);
    if ((device[0] != '\0' && strcmp(device, "none") != 0) || is_old) {
        told_put(told, "offload.optimizer",
                 arena_printf(
                     told->importer->arena, "%.10g %%",
                     100 * told_number(told, "ds.zero_optimization.offload_optimizer.ratio", 1.0)),
                 is_old ? "ds.zero_optimization.cpu_offload"
                        : "ds.zero_optimization.offload_optimizer.device");
        if (strcmp(device, "nvme") == 0) {
            told_warn(told, "ds.zero_optimization.offload_optimizer.device",
                      "is read as cpu: states on drives are not simulated");
        }
    }
}

static void put_plus_plus(struct told *told)
{
    static const struct {
        const char *name, *path;
    } flags[] = {
        {"ds.zero_optimization.zero_quantized_weights", "parallel.zero_quantized_weights"},
        {"ds.zero_optimization.zero_quantized_gradients", "parallel.zero_quantized_gradients"},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (told_truth(told, flags[i].name, false)) {
            told_put(told, flags[i].path, "true", flags[i].name);
        }
    }
    const char *local = "ds.zero_optimization.zero_hpz_partition_size";
    if (told_count(told, local, 1) > 1) {
        told_put(told, "parallel.zero_local_weights", "true", local);
        told_put_count(told, "parallel.zero_local_group", told_need(told, local), local);
    }
    const char *mics = "ds.zero_optimization.mics_shard_size";
    if (told_count(told, mics, 0) > 1) {
        told_put_count(told, "parallel.zero_group", told_need(told, mics), mics);
    }
}

static void put_types(struct told *told)
{
    const char *sums = told_text(told, "ds.communication_data_type");
    if (sums[0] != '\0') {
        told_put(told, "optimizer.gradients", sums, "ds.communication_data_type");
    }
    if (told_has(told, "ds.gradient_clipping") &&
        told_number(told, "ds.gradient_clipping", 1) <= 0) {
        told_put(told, "optimizer.clip", "false", "ds.gradient_clipping");
    }
}

/* Defaults of DeepSpeedZeroConfig: stage 0, overlap_comm with stage 3. */
void deepspeed_keys(struct told *told)
{
    const int64_t stage = told_count(told, "ds.zero_optimization.stage", 0);
    told_put_count(told, "parallel.zero", stage,
                   told_has(told, "ds.zero_optimization.stage") ? "ds.zero_optimization.stage"
                                                                : NULL);
    if (stage > 0) {
        const char *overlap = "ds.zero_optimization.overlap_comm";
        told_put_truth(told, "software.overlap.dp_gradients", told_truth(told, overlap, stage == 3),
                       told_has(told, overlap) ? overlap : NULL);
    }
    const char *bucket = "ds.zero_optimization.reduce_bucket_size";
    if (told_has(told, bucket) && told_count(told, bucket, 0) > 0) {
        told_put(
            told, "software.bucket.size",
            arena_printf(told->importer->arena, "%" PRId64 " B", 2 * told_count(told, bucket, 0)),
            bucket);
    }
    const char *live = "ds.zero_optimization.stage3_max_live_parameters";
    const char *reuse = "ds.zero_optimization.stage3_max_reuse_distance";
    if (stage == 3 && told_has(told, live)) {
        told_put_count(told, "software.fsdp.live_parameters", told_count(told, live, 0), live);
    }
    if (stage == 3 && told_has(told, reuse)) {
        told_put_count(told, "software.fsdp.reuse_distance", told_count(told, reuse, 0), reuse);
    }
    put_states(told);
    put_plus_plus(told);
    put_types(told);
}
