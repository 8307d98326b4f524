/* The log of torchtitan, https://github.com/pytorch/torchtitan.
 *
 * Lines of a step (torchtitan/components/metrics.py; the issues and pull requests of that
 * repository show them: #171 of 2024, #1437 of 2025, #2389 of 2026), `wps` instead of `tps` in
 * 2024:
 *     [rank0]:[titan] 2025-07-21 15:57:46,090 - root - INFO - step: 10  loss: 3.9  memory: ...
 *     tps: 34,574  tflops: 3.54  mfu: 0.36%
 * tps are tokens a second of one GPU. Settings come from what the trainer says of itself
 * ("Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=8, cp=1, tp=1, ep=1"
 * or "Building 2-D device mesh with ['dp', 'tp'], [2, 2]", "Model llama3 8B size", "Trainer is
 * initialized with local batch size 8, ...", "Applied ... activation checkpointing"), from the
 * configuration if it is printed ("Running with args: {...}", as Python or JSON writes it), and
 * from TOML put before the log.
 */
#include "foreign/logs/torchtitan_text.h"

#include "base/arena.h"

#include <inttypes.h>
#include <string.h>

static const char like[] =
    "a line like 'step: 10  loss: 4.5  memory: 33.1GiB(41%)  tps: 5,123  ...'";
static const char help_config[] =
    "put the job's configuration before it: cat train.toml train.log > both.log";

/* ---- the model ------------------------------------------------------------------------------ */

/* The trainer's words, where they are not the catalogue's with other signs between. */
static const char *const models[][2] = {
    {"deepseek-v3-671b", "deepseek-v3"},
    {"llama4-17bx16e", "llama4-scout"},
    {"llama4-17bx128e", "llama4-maverick"},
};

/* "llama3 8B" -> "llama3-8b" */
static const char *catalogue_name(struct arena *arena, const char *name, const char *flavor)
{
    char *text = arena_printf(arena, "%s-%s", name, flavor);
    for (char *letter = text; *letter != '\0'; letter++) {
        const bool is_capital = *letter >= 'A' && *letter <= 'Z';
        *letter = (char)(*letter == '_' ? '-' : *letter + (is_capital ? 'a' - 'A' : 0));
    }
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (strcmp(text, models[i][0]) == 0) {
            return models[i][1];
        }
    }
    return text;
}

static void add_model(struct training_log *log)
{
    struct arena *arena = log->importer->arena;
    const char *name = titan_text(log, "model.name");
    const char *flavor = titan_text(log, "model.flavor");
    if (log->importer->model != NULL) {
        log_field(log, "model_name", log->importer->model);
        return;
    }
    const char *model = catalogue_name(arena, name, flavor);
    if (catalogue_find(arena, log->importer->catalogue, catalogue_folders[CATALOGUE_MODEL],
                       model) == NULL) {
        const char *path = titan_path(log, "model.flavor");
        const char *help = "--model NAME, of `stoker list models`";
        if (path != NULL) {
            log_refuse_at(log, path,
                          arena_printf(arena, "model '%s %s' is not known", name, flavor), help);
        } else {
            log_refuse(log, "the log does not tell its model", help);
        }
    }
    log_field(log, "model_name", model);
}

/* ---- layout --------------------------------------------------------------------------------- */

struct degrees {
    int64_t pp, tp, cp, ep, replicate, shard; /* shard: 0 when not told */
    int64_t gpus;
};

/* So that no product of four overflows. */
static int64_t bounded(int64_t value)
{
    static const int64_t most = 30000;
    return value < 1 ? 1 : value < most ? value : most;
}

static int64_t degree(struct training_log *log, const char *mesh, const char *name)
{
    return bounded(log_count(log, mesh, titan_count(log, name, 1)));
}

static struct degrees degrees_of(struct training_log *log)
{
    struct degrees degrees = {
        .pp = degree(log, "mesh.pp", "pipeline_parallel_degree"),
        .tp = degree(log, "mesh.tp", "tensor_parallel_degree"),
        .cp = degree(log, "mesh.cp", "context_parallel_degree"),
        .ep = degree(log, "mesh.ep", "expert_parallel_degree"),
        .replicate = degree(log, "mesh.dp_replicate", "data_parallel_replicate_degree"),
        .shard = log_count(log, "mesh.dp_shard", titan_count(log, "data_parallel_shard_degree", 0)),
    };
    degrees.shard = degrees.shard > 0 ? bounded(degrees.shard) : 0;
    const int64_t replica = degrees.pp * degrees.tp * degrees.cp;
    const int64_t told = log_count(log, "mesh", 0);
    degrees.gpus = log->importer->gpus > 0 ? log->importer->gpus
                   : told > 0              ? told
                   : degrees.shard > 0     ? replica * degrees.replicate * degrees.shard
                                           : 0;
    if (degrees.gpus == 0) {
        log_refuse(log, "the log does not tell how many GPUs there were",
                   "the line 'Building ... device mesh' does; or say it: --gpus N");
        degrees.gpus = replica;
    }
    if (degrees.gpus % (replica * degrees.replicate) != 0) {
        log_refuse(log, "the degrees of parallelism do not multiply to the GPUs",
                   "--gpus N, if the log is not of all GPUs");
    }
    degrees.shard = bounded(degrees.gpus / (replica * degrees.replicate));
    return degrees;
}

/* Our words for schedules of a pipeline. */
static const char *const schedules[][2] = {
    {"1F1B", "1f1b"},          {"Interleaved1F1B", "interleaved"}, {"GPipe", "gpipe"},
    {"ZBVZeroBubble", "zb-v"}, {"DualPipeV", "dualpipev"},
};

static const char *schedule_of(struct training_log *log)
{
    const char *name = titan_text(log, "pipeline_parallel_schedule");
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        if (strcmp(name, schedules[i][0]) == 0) {
            return schedules[i][1];
        }
    }
    return "";
}

static void add_layout(struct training_log *log, const struct degrees *degrees)
{
    const bool is_hybrid = degrees->replicate > 1 && degrees->shard > 1;
    log_field_count(log, "gpus", degrees->gpus);
    log_field_count(log, "tp", degrees->tp);
    log_field_count(log, "pp", degrees->pp);
    log_field_count(log, "cp", degrees->cp);
    log_field_count(log, "ep", degrees->ep);
    log_field(log, "zero_stage", is_hybrid ? "hsdp" : degrees->replicate > 1 ? "0" : "fsdp-full");
    log_field(log, "zero_group",
              is_hybrid
                  ? arena_printf(log->importer->arena, "%" PRId64, degrees->shard * degrees->cp)
                  : "");
    log_field(log, "pp_schedule", degrees->pp > 1 ? schedule_of(log) : "");
    log_field(log, "sequence_parallel", degrees->tp > 1 ? "1" : "0");
}

/* ---- batch and arithmetic ---------------------------------------------------------------- */

struct titan_batch {
    int64_t global, micro, length;
};

static struct titan_batch batch_of(struct training_log *log, const struct degrees *degrees)
{
    const int64_t dp = degrees->replicate * degrees->shard;
    const int64_t old = titan_count(log, "training.batch_size", 0);
    const int64_t local = log_count(log, "local batch", titan_count(log, "local_batch_size", old));
    const int64_t told = log_count(log, "global batch", titan_count(log, "global_batch_size", 0));
    const int64_t pieces = titan_count(log, "pipeline_parallel_microbatches", 0);
    struct titan_batch batch = {
        .global = told > 0    ? told
                  : local > 0 ? bounded(local) * dp
                              : 0,
        .micro = bounded(local),
        .length = log_count(log, "sequence length", titan_count(log, "training.seq_len", 0)),
    };
    if (degrees->pp > 1) {
        batch.micro = pieces > 0
                          ? bounded(local / pieces)
                          : bounded(titan_count(log, "pipeline_parallel_microbatch_size", 1));
    }
    if (batch.global < 1 || batch.length < 1) {
        log_refuse(log,
                   batch.global < 1 ? "the log does not tell its batch"
                                    : "the log does not tell the length of its sequences",
                   help_config);
    }
    return batch;
}

static void add_precision(struct training_log *log)
{
    const char *converters = titan_text(log, "model.converters");
    const bool has_blocks = strstr(converters, "mx") != NULL;
    const bool has_fp8 = strstr(converters, "float8") != NULL ||
                         log_text(log, "float8")[0] != '\0' ||
                         titan_is_true(log, "enable_float8_linear");
    const bool is_fp32 = strcmp(titan_text(log, "mixed_precision_param"), "float32") == 0;
    const char *recipe = titan_text(log, "float8.recipe_name");
    log_field(log, "precision", has_blocks ? "mxfp8" : has_fp8 ? "fp8" : is_fp32 ? "fp32" : "bf16");
    log_field(log, "fp8_recipe", has_fp8 ? recipe : "");
}

/* What the trainer applied, or the configuration's word; neither: it applied none. Another mode
 * than these three is left blank. */
static const char *recompute_of(struct training_log *log)
{
    const char *told = log_text(log, "checkpointing");
    const char *mode = titan_text(log, "activation_checkpoint.mode");
    const char *kind = told[0] != '\0' ? told : mode;
    return strstr(kind, "elective") != NULL               ? "selective"
           : strstr(kind, "ull") != NULL                  ? "full"
           : kind[0] == '\0' || strcmp(kind, "none") == 0 ? "none"
                                                          : "";
}

static const char *notes_of(struct training_log *log, const char *recompute)
{
    const char *option = titan_text(log, "selective_ac_option");
    return strcmp(recompute, "selective") == 0 && strcmp(option, "2") == 0 ? "AC=selective layer"
                                                                           : "";
}

bool titan_fields(struct training_log *log, double *tokens)
{
    const struct degrees degrees = degrees_of(log);
    const struct titan_batch batch = batch_of(log, &degrees);
    *tokens = (double)batch.global * (double)batch.length / (double)degrees.gpus;
    add_model(log);
    add_layout(log, &degrees);
    add_precision(log);
    const bool is_compiled = titan_is_true(log, "training.compile") ||
                             titan_is_true(log, "compile.enable") ||
                             log_text(log, "compiled")[0] != '\0';
    log_field(log, "torch_compile", is_compiled ? "1" : "0");
    log_field(log, "async_tp", titan_is_true(log, "enable_async_tensor_parallel") ? "1" : "0");
    log_field(log, "recompute", recompute_of(log));
    log_field_count(log, "micro_batch", batch.micro);
    log_field_count(log, "seq_len", batch.length);
    log_field_count(log, "global_batch_sequences", batch.global);
    return !log->is_bad;
}

/* What the trainer says of its mesh, batch and model, and sections of the configuration that shape
 * a step; what it says of its device is of a rank. */
static bool matters(const char *name)
{
    static const char *const beginnings[] = {
        "mesh",      "local batch", "global batch",  "sequence length",       "told.model.",
        "compiled",  "float8",      "checkpointing", "parallelism.",          "model.",
        "training.", "compile.",    "quantize.",     "activation_checkpoint."};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return false;
}

const struct log_reader import_torchtitan_reader = {titan_read, matters};

bool import_torchtitan(struct importer *importer)
{
    struct training_log log;
    struct log_median median;
    double tokens = 0;
    log_open(&log, importer);
    titan_read(&log);
    if (!log_measure(&log, like, &median)) {
        return false;
    }
    const bool is_good = titan_fields(&log, &tokens);
    log_common_fields(&log, &median, median.value * tokens, notes_of(&log, recompute_of(&log)));
    log_framework(&log, "torchtitan", median.year);
    return is_good && log_print(&log);
}

bool import_torchtitan_pace(struct importer *importer, struct log_pace *pace)
{
    struct training_log log;
    struct log_median median;
    log_open(&log, importer);
    titan_read(&log);
    if (log.step_count == 0 || log.setting_count > 0 || !log_measure(&log, like, &median)) {
        return false;
    }
    *pace = (struct log_pace){.tokens_per_s_per_gpu = 1 / median.value, .notes = median.notes};
    return true;
}
