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

#include "foreign/megatron/megatron_arguments.h"
#include "foreign/megatron/megatron_run.h"

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

bool import_megatron_wants(struct text_span line)
{
    return text_span_find(line, " .") != NULL || text_span_find(line, "iteration ") != NULL ||
           text_span_find(line, "- arguments -") != NULL ||
           text_span_find(line, "padded vocab") != NULL;
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

/* Arguments that come to something, and the vocabulary; not where a rank lies. */
static bool matters(const char *name)
{
    static const char of_a_rank[] = "gpu device program save";
    const enum told_use use = megatron_argument(name).use;
    return strcmp(name, "padded vocab") == 0 ||
           ((use == TOLD_READ || use == TOLD_LEFT || use == TOLD_REFUSED) &&
            !told_has_word(of_a_rank, name));
}

const struct log_reader import_megatron_reader = {read_lines, matters};

/* ---- columns ------------------------------------------------------------------------------- */

/* What has a column of its own, in the table's words: a value, or a truth as 1 or 0. */
static const struct column {
    const char *name, *path;
    const char *truth; /* the value that is 1; NULL: the value itself */
} columns[] = {
    {"layers", "model.layers", NULL},
    {"hidden", "model.hidden", NULL},
    {"ffn_hidden", "model.ffn_hidden", NULL},
    {"heads", "model.heads", NULL},
    {"vocab", "model.vocab", NULL},
    {"gated_ffn", "model.mlp", "swiglu"},
    {"tied_embeddings", "model.tied_embeddings", "true"},
    {"experts", "model.experts", NULL},
    {"experts_per_token", "model.experts_per_token", NULL},
    {"expert_ffn_hidden", "model.expert_hidden", NULL},
    {"gpus", "gpus", NULL},
    {"tp", "parallel.tp", NULL},
    {"pp", "parallel.pp", NULL},
    {"cp", "parallel.cp", NULL},
    {"ep", "parallel.ep", NULL},
    {"zero_stage", "parallel.zero", NULL},
    {"zero_group", "parallel.zero_group", NULL},
    {"sequence_parallel", "parallel.sequence_parallel", "true"},
    {"pp_schedule", "parallel.schedule", NULL},
    {"virtual_pp", "parallel.virtual_stages", NULL},
    {"micro_batch", "batch.micro", NULL},
    {"seq_len", "batch.sequence_length", NULL},
    {"precision", "precision", NULL},
};

/* Sections of which what has no column stands in the column `set`. */
static const char *const others[] = {"model.", "parallel.", "optimizer.", "offload.", "routing."};

/* Keys that a rule sets by the family, or a note says (notes_of). */
static const char *const implied[] = {"model.model", "model.max_positions", "parallel.etp",
                                      "model.kv_heads", "model.shared_experts"};

static bool has_column(const char *path)
{
    bool has = false;
    for (size_t i = 0; i < sizeof columns / sizeof *columns && !has; i++) {
        has = strcmp(columns[i].path, path) == 0;
    }
    for (size_t i = 0; i < sizeof implied / sizeof *implied && !has; i++) {
        has = strcmp(implied[i], path) == 0;
    }
    return has;
}

/* What tests/published/rules.yaml takes a family to have. */
static bool is_of_family(const struct told_key *key, const char *family)
{
    static const char *const usual[][3] = {
        {"model.norm", "layernorm", "rmsnorm"},
        {"model.positions", "learned", "rotary"},
        {"model.biases", "true", "false"},
        {"model.dropout", "false", "false"},
    };
    const bool is_gpt = strcmp(family, "gpt") == 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (strcmp(key->path, usual[i][0]) == 0) {
            return strcmp(key->value, usual[i][is_gpt ? 1 : 2]) == 0;
        }
    }
    return false;
}

static const char *sets_of(const struct told *told, const char *family)
{
    struct arena *arena = told->importer->arena;
    const char *sets = "";
    for (size_t i = 0; i < told->key_count; i++) {
        const struct told_key *key = &told->keys[i];
        bool is_other = false;
        for (size_t k = 0; k < sizeof others / sizeof *others && !is_other; k++) {
            is_other = strncmp(key->path, others[k], strlen(others[k])) == 0;
        }
        if (is_other && !has_column(key->path) && !is_of_family(key, family)) {
            sets = arena_printf(arena, "%s%s%s=%s", sets, sets[0] != '\0' ? "; " : "", key->path,
                                key->value);
        }
    }
    return sets;
}

static void add_columns(struct training_log *log, const struct told *told)
{
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const char *value = told_key(told, columns[i].path);
        if (value != NULL) {
            log_field(log, columns[i].name,
                      columns[i].truth == NULL               ? value
                      : strcmp(value, columns[i].truth) == 0 ? "1"
                                                             : "0");
        }
    }
}

static void add_model(struct training_log *log, struct told *told)
{
    const char *name = log->importer->model;
    const char *family = told_key(told, "model.experts") != NULL     ? "moe"
                         : told_is(told, "normalization", "RMSNorm") ? "llama"
                                                                     : "gpt";
    log_field(log, "model_name", name != NULL ? name : "from the log");
    log_field(log, "set", sets_of(told, family));
    if (name != NULL) {
        return;
    }
    const char *kv_heads = told_key(told, "model.kv_heads");
    const char *shared = told_key(told, "model.shared_experts");
    log_field(log, "family", family);
    log_field(log, "kv_heads",
              kv_heads != NULL                                 ? kv_heads
              : told_key(told, "model.latent.kv_rank") != NULL ? ""
                                                               : told_key(told, "model.heads"));
    if (told_key(told, "model.experts") != NULL) {
        log_field(log, "shared_experts", shared != NULL ? shared : "0");
    }
}

/* ---- how it ran ------------------------------------------------------------------------------ */

static void add_dispatcher(struct training_log *log)
{
    log_field(log, "moe_dispatcher",
              log_is(log, "moe_enable_deepep", "True")
                  ? "deepep"
                  : log_text(log, "moe_token_dispatcher_type"));
}

static void add_fp8(struct training_log *log, const struct told *told)
{
    const char *precision = told_key(told, "precision");
    const bool has_fp8 = strstr(precision, "fp8") != NULL;
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
    struct told told = {.importer = importer,
                        .what = "the log",
                        .sign = "",
                        .remedy = no_arguments,
                        .is_whole = true};
    log_tell(&log, &told);
    if (!megatron_read(&told)) {
        return false;
    }
    const char *framework = megatron_is_deepspeed(&told) ? "megatron-deepspeed" : "megatron";
    log_common_fields(&log, &median, median.value, notes_of(&log));
    log_framework(&log, framework, median.year);
    add_columns(&log, &told);
    add_model(&log, &told);
    add_dispatcher(&log);
    add_fp8(&log, &told);
    add_attention(&log);
    add_recompute(&log);
    if (median.batch > 0) {
        log_field_count(&log, "global_batch_sequences", median.batch);
    } else {
        log_field(&log, "global_batch_sequences", told_key(&told, "batch.global"));
    }
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
