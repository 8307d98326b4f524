/* The log of Megatron-LM and its relatives.
 *
 * The arguments as megatron/training/arguments.py of https://github.com/NVIDIA/Megatron-LM
 * prints them, name, dots, value; the padded vocabulary, "(new size: 50304)", from tokenizer.py;
 * and the lines of training_log in training.py:
 *      iteration       10/     100 | ... | elapsed time per iteration (ms): 1234.5 |
 *      ... | global batch size:   512 | ...
 * with a date in front since 2023 (https://github.com/epfLLM/Megatron-LLM/issues/11 shows the
 * older line); Megatron-DeepSpeed (https://github.com/bigscience-workshop/Megatron-DeepSpeed)
 * counts in (s).
 */
#include "foreign/training_log.h"

#include "base/arena.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static const char like[] =
    "a line like ' iteration 10/ 100 | ... | elapsed time per iteration (ms): 1234.5 | ...'";
static const char no_arguments[] =
    "Megatron prints its arguments, 'tensor_model_parallel_size ...... 8': keep them in the log";

/* ---- reading ------------------------------------------------------------------------------ */

/* "  world_size ............ 64", behind whatever prefix. */
static void read_argument(struct training_log *log, struct text_span line)
{
    const char *dots = text_span_find(line, " .");
    const char *after = dots != NULL ? dots + 1 : line.end;
    while (after < line.end && *after == '.') {
        after++;
    }
    const char *name = dots;
    while (name != NULL && name > line.begin &&
           (isalnum((unsigned char)name[-1]) || name[-1] == '_')) {
        name--;
    }
    if (dots == NULL || name == dots || after == line.end || *after != ' ') {
        return;
    }
    const char *end = line.end;
    while (after < end && *after == ' ') {
        after++;
    }
    while (end > after && isspace((unsigned char)end[-1])) {
        end--;
    }
    struct arena *arena = log->importer->arena;
    log_set(log, arena_strndup(arena, name, (size_t)(dots - name)),
            arena_strndup(arena, after, (size_t)(end - after)), name);
}

/* False: this is no line of a step. One that ends too early is counted. */
static bool read_step(struct training_log *log, struct text_span line)
{
    double number = 0, value = 0, batch = 0;
    const char *after;
    struct text_span rest = {text_span_find(line, "iteration "), line.end};
    if (rest.begin == NULL || !log_number_after(log, rest, "iteration ", &number, &after) ||
        *after != '/') {
        return false;
    }
    double unit_s = 1e-3;
    bool is_whole = log_number_after(log, rest, "elapsed time per iteration (ms):", &value, &after);
    if (!is_whole) {
        unit_s = 1.0;
        is_whole = log_number_after(log, rest, "elapsed time per iteration (s):", &value, &after);
    }
    is_whole = is_whole && value > 0 && text_span_find((struct text_span){after, line.end}, "|");
    if (!is_whole) {
        log->cut++;
        return true;
    }
    if (!log_number_after(log, rest, "global batch size:", &batch, &after)) {
        batch = 0;
    }
    log_step(log, &(struct log_step){(int64_t)number, (int64_t)batch, value * unit_s, line.begin});
    return true;
}

static void read_lines(struct training_log *log)
{
    for (const char *next = log->text; next != NULL;) {
        const struct text_span line = text_line(next, &next);
        double size = 0;
        const char *after;
        if (read_step(log, line)) {
            continue;
        }
        if (text_span_find(line, "- arguments -") != NULL) {
            log_begin_run(log);
        }
        if (text_span_find(line, "padded vocab") != NULL &&
            log_number_after(log, line, "(new size:", &size, &after)) {
            log_set(log, "padded vocab",
                    arena_printf(log->importer->arena, "%" PRId64, (int64_t)size), line.begin);
        }
        read_argument(log, line);
    }
}

/* ---- the model ------------------------------------------------------------------------------ */

static void add_experts(struct training_log *log, int64_t ffn)
{
    const int64_t experts = log_count(log, "num_experts", 0);
    if (experts < 2) {
        return;
    }
    int64_t hidden = log_count(log, "moe_ffn_hidden_size", ffn);
    hidden = hidden > 0 ? hidden : 1;
    log_field_count(log, "experts", experts);
    log_field_count(log, "experts_per_token", log_count(log, "moe_router_topk", 2));
    log_field_count(log, "expert_ffn_hidden", hidden);
    log_field_count(log, "shared_experts",
                    log_count(log, "moe_shared_expert_intermediate_size", 0) / hidden);
}

static int64_t vocabulary(struct training_log *log)
{
    const char *name = log_text(log, "padded_vocab_size")[0] != '\0' ? "padded_vocab_size"
                       : log_text(log, "padded vocab")[0] != '\0'    ? "padded vocab"
                                                                     : "vocab_size";
    return log_need(log, name, "or name the model: --model NAME, of `stoker list models`");
}

static bool is_gated(const struct training_log *log)
{
    return log_is(log, "swiglu", "True") || log_is(log, "quick_geglu", "True");
}

static const char *family(struct training_log *log)
{
    return log_count(log, "num_experts", 0) > 1      ? "moe"
           : log_is(log, "normalization", "RMSNorm") ? "llama"
                                                     : "gpt";
}

/* Arguments that change what a layer is and that no column can say, by what they usually are. */
static const struct shape {
    const char *name;
    const char *usual[3]; /* or not told, or None */
    const char *is;       /* what the log's model has */
} shapes[] = {
    {"is_hybrid_model", {"False"}, "state-space layers"},
    {"hybrid_override_pattern", {"[]"}, "state-space layers"},
    {"hybrid_layer_pattern", {"[]"}, "state-space layers"},
    {"hybrid_attention_ratio", {"0.0", "0"}, "state-space layers"},
    {"hybrid_mlp_ratio", {"0.0", "0"}, "state-space layers"},
    {"multi_latent_attention", {"False"}, "latent attention"},
    {"experimental_attention_variant", {"False"}, "another attention"},
    {"linear_attention_type", {"False"}, "linear attention"},
    {"linear_attention_freq", {"0"}, "linear attention"},
    {"attention_output_gate", {"False"}, "a gate behind its attention"},
    {"window_size", {"[]"}, "attention within a window"},
    {"moe_layer_freq", {"1", "[1]"}, "layers with and without experts"},
    {"moe_latent_size", {"0"}, "experts of a latent width"},
    {"mtp_num_layers", {"0"}, "layers that predict further tokens"},
    {"heterogeneous_layers_config_path", {"False"}, "layers that differ"},
    {"heterogeneous_layers_config_encoded_json", {"False"}, "layers that differ"},
    {"decoder_num_layers", {"0"}, "an encoder and a decoder"},
};

static bool is_usual(const struct training_log *log, const struct shape *shape)
{
    bool is_one = log_text(log, shape->name)[0] == '\0';
    for (uint32_t i = 0; i < 3 && shape->usual[i] != NULL; i++) {
        is_one = is_one || log_is(log, shape->name, shape->usual[i]);
    }
    return is_one;
}

/* False, with a message, when the model is none that the columns can say. */
static bool check_shapes(struct training_log *log)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (!is_usual(log, &shapes[i])) {
            log_refuse_at(log, shapes[i].name,
                          arena_printf(log->importer->arena,
                                       "%s is %s: the model has %s, and a table of runs has no "
                                       "column for that",
                                       shapes[i].name, log_text(log, shapes[i].name), shapes[i].is),
                          "name the model: --model NAME, of `stoker list models`");
            return false;
        }
    }
    return true;
}

/* Heads that are wider or narrower than hidden / heads. */
static const char *sets_of(struct training_log *log, int64_t hidden, int64_t heads)
{
    const int64_t channels = log_count(log, "kv_channels", 0);
    return channels > 0 && channels * heads != hidden
               ? arena_printf(log->importer->arena, "model.head_dim=%" PRId64, channels)
               : "";
}

static void add_model(struct training_log *log)
{
    const char *name = log->importer->model;
    log_field(log, "model_name", name != NULL ? name : "from the log");
    if (name != NULL) {
        return;
    }
    if (!check_shapes(log)) {
        return;
    }
    const int64_t hidden = log_need(log, "hidden_size", no_arguments);
    const int64_t heads = log_need(log, "num_attention_heads", no_arguments);
    const int64_t ffn = log_count(log, "ffn_hidden_size", 4 * hidden);
    log_field(log, "family", family(log));
    log_field_count(log, "layers", log_need(log, "num_layers", no_arguments));
    log_field_count(log, "hidden", hidden);
    log_field_count(log, "ffn_hidden", ffn);
    log_field_count(log, "heads", heads);
    log_field_count(log, "kv_heads",
                    log_is(log, "group_query_attention", "True")
                        ? log_count(log, "num_query_groups", heads)
                        : heads);
    log_field_count(log, "vocab", vocabulary(log));
    log_field(log, "gated_ffn", is_gated(log) ? "1" : "0");
    log_field(log, "tied_embeddings",
              log_is(log, "untie_embeddings_and_output_weights", "True") ? "0" : "1");
    log_field(log, "set", sets_of(log, hidden, heads));
    add_experts(log, ffn);
}

/* ---- how it ran ----------------------------------------------------------------------------- */

static int64_t virtual_stages(struct training_log *log, int64_t pp)
{
    const int64_t stages = log_count(log, "virtual_pipeline_model_parallel_size", 0);
    const int64_t layers = log_count(log, "num_layers_per_virtual_pipeline_stage", 0);
    return stages == 0 && layers > 0 ? log_count(log, "num_layers", 0) / pp / layers : stages;
}

static void add_pipeline(struct training_log *log, int64_t pp)
{
    const int64_t stages = virtual_stages(log, pp);
    log_field(log, "pp_schedule", pp == 1 ? "" : stages > 1 ? "interleaved" : "1f1b");
    log_field(log, "virtual_pp",
              pp > 1 && stages > 1 ? arena_printf(log->importer->arena, "%" PRId64, stages) : "");
}

static const char *zero_stage(const struct training_log *log)
{
    if (log_is(log, "deepspeed", "True")) {
        return log_text(log, "zero_stage");
    }
    const bool is_sharded = log_is(log, "use_torch_fsdp2", "True") ||
                            log_is(log, "use_custom_fsdp", "True") ||
                            log_is(log, "use_megatron_fsdp", "True");
    return is_sharded ? "3" : log_is(log, "use_distributed_optimizer", "True") ? "1" : "0";
}

static void add_layout(struct training_log *log)
{
    static const char help[] = "or say it: --gpus N";
    const int64_t given = log->importer->gpus;
    const int64_t tp = log_need(log, "tensor_model_parallel_size", no_arguments);
    const int64_t pp = log_need(log, "pipeline_model_parallel_size", no_arguments);
    const int64_t cp = log_count(log, "context_parallel_size", 1);
    log_field_count(log, "gpus", given > 0 ? given : log_need(log, "world_size", help));
    log_field_count(log, "tp", tp);
    log_field_count(log, "pp", pp);
    log_field_count(log, "cp", cp);
    log_field_count(log, "ep", log_count(log, "expert_model_parallel_size", 1));
    log_field(log, "zero_stage", zero_stage(log));
    log_field(log, "sequence_parallel", log_is(log, "sequence_parallel", "True") ? "1" : "0");
    add_pipeline(log, pp);
    log_field(log, "moe_dispatcher",
              log_is(log, "moe_enable_deepep", "True")
                  ? "deepep"
                  : log_text(log, "moe_token_dispatcher_type"));
}

static void add_precision(struct training_log *log)
{
    const char *fp8 = log_text(log, log_text(log, "fp8_format")[0] != '\0' ? "fp8_format" : "fp8");
    const char *fp4 = log_text(log, "fp4");
    const bool has_fp8 = fp8[0] != '\0' && strcmp(fp8, "False") != 0;
    const bool has_fp4 = fp4[0] != '\0' && strcmp(fp4, "False") != 0;
    log_field(log, "precision",
              has_fp4                       ? "nvfp4"
              : has_fp8                     ? "fp8"
              : log_is(log, "bf16", "True") ? "bf16"
              : log_is(log, "fp16", "True") ? "fp16"
                                            : "fp32");
    log_field(log, "fp8_recipe", has_fp8 ? log_text(log, "fp8_recipe") : "");
}

/* Transformer Engine chooses an attention by itself. */
static void add_attention(struct training_log *log)
{
    const bool chooses = log_is(log, "transformer_impl", "transformer_engine") ||
                         log_text(log, "use_flash_attn")[0] == '\0';
    log_field(log, "flash_attention",
              chooses                                 ? ""
              : log_is(log, "use_flash_attn", "True") ? "1"
                                                      : "0");
}

static void add_recompute(struct training_log *log)
{
    const char *kind = log_text(log, "recompute_granularity");
    const bool is_old = log_is(log, "checkpoint_activations", "True");
    const bool is_block = log_is(log, "recompute_method", "block");
    log_field(log, "recompute", kind[0] != '\0' ? kind : is_old ? "full" : "none");
    log_field(log, "full_recompute_layers",
              is_block && strcmp(kind, "full") == 0 ? log_text(log, "recompute_num_layers") : "");
}

/* ---- notes: what has no column, in the words of rules.yaml -------------------------------- */

static const char *notes_of(struct training_log *log)
{
    struct arena *arena = log->importer->arena;
    const char *text = "";
    const int64_t etp = log_count(log, "expert_tensor_parallel_size", 0);
    if (etp > 0 && log_count(log, "num_experts", 0) > 1) {
        text = arena_printf(arena, "ETP %" PRId64 "; ", etp);
    }
    const char *modules = log_text(log, "recompute_modules");
    if (!log_is(log, "recompute_granularity", "selective") || modules[0] != '[') {
        return text;
    }
    char *quoted = arena_strdup(arena, modules);
    for (char *letter = quoted; *letter != '\0'; letter++) {
        *letter = (char)(*letter == '\'' ? '"' : *letter);
    }
    return arena_printf(arena, "%srecompute_modules=%s", text, quoted);
}

bool import_megatron(struct importer *importer)
{
    struct training_log log;
    struct log_median median;
    log_open(&log, importer);
    read_lines(&log);
    if (!log_choose_run(&log) || !log_measure(&log, like, &median)) {
        return false;
    }
    const char *framework = log_is(&log, "deepspeed", "True") ? "megatron-deepspeed" : "megatron";
    log_common_fields(&log, &median, median.value, notes_of(&log));
    add_model(&log);
    log_framework(&log, framework, median.year);
    add_layout(&log);
    add_precision(&log);
    add_attention(&log);
    add_recompute(&log);
    log_field_count(&log, "micro_batch", log_need(&log, "micro_batch_size", no_arguments));
    log_field_count(&log, "seq_len", log_need(&log, "seq_length", no_arguments));
    log_field_count(&log, "global_batch_sequences",
                    median.batch > 0 ? median.batch
                                     : log_need(&log, "global_batch_size", no_arguments));
    return log_print(&log);
}

bool import_megatron_pace(struct importer *importer, struct log_pace *pace)
{
    struct training_log log;
    struct log_median median;
    log_open(&log, importer);
    read_lines(&log);
    if (!log_choose_run(&log) || log.step_count == 0 ||
        log_text(&log, "tensor_model_parallel_size")[0] != '\0' ||
        !log_measure(&log, like, &median)) {
        return false;
    }
    *pace = (struct log_pace){.step_s = median.value, .batch = median.batch, .notes = median.notes};
    return true;
}
