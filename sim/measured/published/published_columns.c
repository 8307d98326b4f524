/* The table of the columns that a CSV of published runs may have, and their
 * checks.
 */
#include "measured/published/published_columns.h"

#include "base/arena.h"
#include "input/doc/name_table.h"
#include "input/features/layout_words.h"
#include "input/job/parallel.h"
#include "input/scenario_keys.h"
#include "measured/published/published_rows.h"
#include "measured/published/published_rules.h"

#include <string.h>
#include <strings.h>

enum { COUNT_MAX = 1000000000 }; /* products of two counts do not overflow */
static const double NUMBER_LEAST = 1e-9, NUMBER_MOST = 1e9;

#define LENGTH(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

/* ---- the words -------------------------------------------------------------------------- */

static const char *const levels[] = {"high", "medium", "low"};
static const char *const tiers[] = {"A", "B", "C", "D"};
static const char *const families[] = {"gpt", "llama", "mpt", "moe"};
/* Those of Transformer Engine and torchao, and of NVIDIA's tables. */
static const char *const recipes[] = {
    "delayed", "tensorwise", "rowwise", "rowwise_with_gw_hp",       "blockwise", "fp8-cs",
    "fp8-mx",  "mxfp8",      "nvfp4",   "int8 (quantization=int8)", "fp8_full",
};
static const char *const zero_stages[] = {"0", "1", "2", "3", "fsdp-full", "hsdp"};
/* --moe-token-dispatcher-type and --moe-flex-dispatcher-backend of Megatron-LM. */
static const char *const dispatchers[] = {"alltoall", "alltoall_seq", "allgather",
                                          "flex",     "deepep",       "hybridep"};
/* --cuda-graph-scope and --recompute-modules of Megatron-LM. */
static const char *const scopes[] = {"full_iteration", "attn",           "mlp",  "moe",
                                     "moe_router",     "moe_preprocess", "mamba"};
static const char *const modules[] = {"core_attn", "layernorm", "moe_act",       "mla_up_proj",
                                      "mlp",       "moe",       "shared_experts"};
static const char *const adapted[] = {"qkv", "proj", "projection", "fc1", "fc2"};
/* Of measured_memory_gb. */
static const char *const units[] = {"GB", "GiB"};
static const char *const memories[] = {"device", "reserved"};
static const char *const offloads[] = {"activations", "optimizer", "optimizer+param"};

/* ---- the table -------------------------------------------------------------------------- */

#define COLUMN(name, kind, least, use)  \
    {                                   \
        name, kind, least, NULL, 0, use \
    }
#define LISTED(name, kind, list, use)          \
    {                                          \
        name, kind, 0, list, LENGTH(list), use \
    }
#define TEXT(name) COLUMN(name, COLUMN_TEXT, 0, COLUMN_FEATURE)
#define PROSE(name) COLUMN(name, COLUMN_PROSE, 0, COLUMN_FEATURE)
#define TRUTH(name) COLUMN(name, COLUMN_TRUTH, 0, COLUMN_FEATURE)
#define COUNT(name, least) COLUMN(name, COLUMN_COUNT, least, COLUMN_FEATURE)
#define WORD(name, list) LISTED(name, COLUMN_WORD, list, COLUMN_FEATURE)
#define WORDS(name, list) LISTED(name, COLUMN_WORDS, list, COLUMN_FEATURE)
#define TYPED(name, kind, least) COLUMN(name, kind, least, COLUMN_TYPED)
#define ASIDE(name, kind) COLUMN(name, kind, 1, COLUMN_ASIDE)
#define ASIDE_WORD(name, list) LISTED(name, COLUMN_WORD, list, COLUMN_ASIDE)

const struct published_column published_known[] = {
    /* who says it */
    ASIDE("id", COLUMN_TEXT),
    ASIDE("source", COLUMN_TEXT), /* no prediction hangs on who measured it */
    TEXT("release"),
    ASIDE("published", COLUMN_MONTH),
    ASIDE("source_title", COLUMN_TEXT),
    ASIDE("source_address", COLUMN_TEXT),
    ASIDE("sim_ready", COLUMN_TRUTH),
    ASIDE("suspect", COLUMN_TEXT),
    ASIDE_WORD("confidence", levels),
    ASIDE_WORD("tier", tiers),
    ASIDE("config_key", COLUMN_TEXT),
    PROSE("assumed"),
    PROSE("notes"),
    ASIDE("set", COLUMN_SETS),
    /* software and machine */
    TYPED("framework", COLUMN_TEXT, 0),
    TYPED("framework_year", COLUMN_COUNT, 1990),
    TYPED("gpu", COLUMN_TEXT, 0),
    ASIDE("gpus", COLUMN_COUNT),
    TYPED("gpus_per_node", COLUMN_COUNT, 1),
    TYPED("intra_node_link", COLUMN_TEXT, 0),
    TYPED("inter_node_gbps_per_node", COLUMN_NUMBER, 0),
    /* the model */
    TYPED("model_name", COLUMN_TEXT, 0),
    LISTED("family", COLUMN_WORD, families, COLUMN_TYPED),
    TYPED("params_b", COLUMN_NUMBER, 0),
    TYPED("layers", COLUMN_COUNT, 1),
    TYPED("hidden", COLUMN_COUNT, 1),
    TYPED("ffn_hidden", COLUMN_COUNT, 1),
    TYPED("heads", COLUMN_COUNT, 1),
    TYPED("kv_heads", COLUMN_COUNT, 1),
    TYPED("vocab", COLUMN_COUNT, 1),
    TYPED("gated_ffn", COLUMN_TRUTH, 0),
    TYPED("tied_embeddings", COLUMN_TRUTH, 0),
    TRUTH("lm_head"),
    TYPED("experts", COLUMN_COUNT, 0),
    TYPED("experts_per_token", COLUMN_COUNT, 1),
    TYPED("expert_ffn_hidden", COLUMN_COUNT, 1),
    TYPED("shared_experts", COLUMN_COUNT, 0),
    /* layout and batch */
    TYPED("tp", COLUMN_COUNT, 1),
    TRUTH("sequence_parallel"),
    TRUTH("async_tp"),
    TYPED("pp", COLUMN_COUNT, 1),
    {"pp_schedule", COLUMN_WORD, 0, schedule_names, SCHEDULE_FILE, COLUMN_FEATURE}, /* no file */
    TYPED("virtual_pp", COLUMN_COUNT, 1),
    ASIDE("dp", COLUMN_COUNT),
    LISTED("zero_stage", COLUMN_WORD, zero_stages, COLUMN_TYPED),
    COUNT("zero_group", -1), /* -1: all that hold the same */
    TRUTH("overlapped_optimizer"),
    TYPED("cp", COLUMN_COUNT, 1),
    TYPED("ep", COLUMN_COUNT, 1),
    WORD("moe_dispatcher", dispatchers),
    TRUTH("overlap_experts"),
    TRUTH("token_drop"),
    TYPED("seq_len", COLUMN_COUNT, 1),
    TYPED("micro_batch", COLUMN_COUNT, 1),
    COUNT("micro_num", 1),
    TYPED("global_batch_sequences", COLUMN_COUNT, 1),
    /* how it trains */
    TYPED("precision", COLUMN_TEXT, 0),
    WORD("fp8_recipe", recipes),
    TRUTH("fp8_attention"),
    {"recompute", COLUMN_WORD, 0, recompute_names, RECOMPUTE_COUNT_, COLUMN_TYPED},
    COUNT("full_recompute_layers", 0),
    WORDS("recompute_modules", modules),
    TRUTH("flash_attention"),
    TRUTH("torch_compile"),
    TRUTH("cuda_graph"),
    WORDS("cuda_graph_scope", scopes),
    COUNT("lora_rank", 1),
    WORDS("lora_targets", adapted),
    LISTED("cpu_offload", COLUMN_WORD_OR_NO, offloads, COLUMN_FEATURE),
    COUNT("offload_layers", 0),
    PROSE("optimizer"),
    /* what was measured */
    ASIDE("measured_step_s", COLUMN_NUMBER),
    ASIDE("step_s_basis", COLUMN_TEXT),
    ASIDE("measured_tflops_per_gpu", COLUMN_NUMBER),
    ASIDE("measured_mfu_pct", COLUMN_NUMBER),
    ASIDE("measured_hfu_pct", COLUMN_NUMBER),
    ASIDE("measured_tokens_per_s_per_gpu", COLUMN_NUMBER),
    ASIDE("measured_memory_gb", COLUMN_NUMBER),
    ASIDE_WORD("memory_unit", units),
    ASIDE_WORD("memory_kind", memories),
    ASIDE("flops_convention", COLUMN_TEXT),
    ASIDE("norm_model_tflops_full_attn", COLUMN_NUMBER),
    ASIDE("norm_model_tflops_causal", COLUMN_NUMBER),
    ASIDE("norm_mfu_causal_pct_of_bf16_peak", COLUMN_NUMBER),
};
const uint32_t published_known_count = LENGTH(published_known);

const struct published_column *published_column_find(const char *name)
{
    for (uint32_t i = 0; i < published_known_count; i++) {
        if (strcmp(published_known[i].name, name) == 0) {
            return &published_known[i];
        }
    }
    return NULL;
}

const char *published_column_nearest(struct arena *arena, const char *name)
{
    const char **names = arena_array(arena, published_known_count, sizeof *names);
    for (uint32_t i = 0; i < published_known_count; i++) {
        names[i] = published_known[i].name;
    }
    return diag_nearest(name, names, published_known_count);
}

/* ---- a field ---------------------------------------------------------------------------- */

bool published_truth_read(const char *text, enum published_truth *truth)
{
    static const char *const words[][2] = {{"0", "1"}, {"false", "true"}, {"no", "yes"}};
    for (size_t i = 0; i < LENGTH(words); i++) {
        for (int k = 0; k < 2; k++) {
            if (strcasecmp(text, words[i][k]) == 0) {
                *truth = k == 1 ? PUBLISHED_TRUE : PUBLISHED_FALSE;
                return true;
            }
        }
    }
    return false;
}

static bool is_listed(const struct published_column *column, const char *text, size_t length)
{
    for (uint32_t i = 0; i < column->word_count; i++) {
        if (strlen(column->words[i]) == length && strncmp(column->words[i], text, length) == 0) {
            return true;
        }
    }
    return false;
}

/* The first of the words, joined by '+', that is not in the list; NULL: all are. */
static const char *first_unlisted(struct arena *arena, const struct published_column *column,
                                  const char *text)
{
    for (;;) {
        const size_t length = strcspn(text, "+");
        if (!is_listed(column, text, length)) {
            return arena_strndup(arena, text, length);
        }
        if (text[length] == '\0') {
            return NULL;
        }
        text += length + 1;
    }
}

static const char *list_of(struct arena *arena, const struct published_column *column)
{
    const char *text = column->kind == COLUMN_WORDS ? "some of " : "one of ";
    for (uint32_t i = 0; i < column->word_count; i++) {
        text = arena_printf(arena, "%s%s%s", text, i == 0 ? "" : ", ", column->words[i]);
    }
    return arena_printf(arena, "%s%s, or blank", text,
                        column->kind == COLUMN_WORDS        ? ", joined by '+'"
                        : column->kind == COLUMN_WORD_OR_NO ? ", no"
                                                            : "");
}

static const char *refuse_word(struct arena *arena, const struct published_column *column,
                               const char *word, const char **help)
{
    const char *nearest = diag_nearest(word, column->words, column->word_count);
    *help = nearest != NULL ? arena_printf(arena, "did you mean '%s'?", nearest)
                            : list_of(arena, column);
    return arena_printf(arena, "%s '%s' is not known", column->name, word);
}

static bool is_count(const struct published_column *column, const char *text)
{
    const bool is_negative = column->least < 0 && text[0] == '-';
    const struct text_span digits = {text + (is_negative ? 1 : 0), text + strlen(text)};
    int64_t value = 0;
    return text_span_count(digits, &value) && value <= COUNT_MAX &&
           (is_negative ? -value : value) >= column->least;
}

static bool is_number(const char *text)
{
    double value = 0;
    return text_span_number((struct text_span){text, text + strlen(text)}, &value) &&
           value > NUMBER_LEAST && value < NUMBER_MOST;
}

bool published_is_month(const char *text)
{
    const struct text_span year = {text, text + strcspn(text, "-")};
    int64_t number = 0, month = 0;
    if (text_span_length(year) != 4 || *year.end != '-' || strlen(year.end + 1) != 2) {
        return false;
    }
    const struct text_span rest = {year.end + 1, year.end + 3};
    return text_span_count(year, &number) && text_span_count(rest, &month) && month >= 1 &&
           month <= 12;
}

/* ---- assignments ------------------------------------------------------------------------ */

static bool is_key(const char *path)
{
    for (uint32_t i = 0; i < SCENARIO_PART_COUNT; i++) {
        const struct schema *schema = scenario_parts[i].schema;
        const size_t length = strlen(schema->prefix);
        if (strncmp(path, schema->prefix, length) == 0 && schema_find(schema, path + length)) {
            return true;
        }
    }
    return false;
}

const char *published_assignment_check(struct arena *arena, const char *assignment,
                                       const char **help)
{
    const size_t length = strcspn(assignment, "=");
    const char *key = arena_strndup(arena, assignment, length);
    if (assignment[length] == '\0' || assignment[length + 1] == '\0') {
        *help = "write it like cluster.nics.count=4";
        return arena_printf(arena, "'%s' is no assignment", assignment);
    }
    const char *nearest = is_key(key) ? NULL : scenario_nearest_key(arena, key);
    *help = nearest != NULL ? arena_printf(arena, "did you mean '%s'?", nearest)
                            : "`stoker list keys` tells the keys";
    return is_key(key) ? NULL : arena_printf(arena, "unknown key '%s'", key);
}

const char *published_assignment_next(struct arena *arena, const char **at)
{
    *at += strspn(*at, "; ");
    if (**at == '\0') {
        return NULL;
    }
    const char *begin = *at;
    *at += strcspn(*at, ";");
    const char *end = *at;
    while (end[-1] == ' ') {
        end--;
    }
    return arena_strndup(arena, begin, (size_t)(end - begin));
}

/* The first that is wrong; NULL: none is. */
static const char *check_sets(struct arena *arena, const char *text, const char **help)
{
    const char *why = NULL;
    for (const char *set = published_assignment_next(arena, &text); set != NULL && why == NULL;
         set = published_assignment_next(arena, &text)) {
        why = published_assignment_check(arena, set, help);
    }
    return why;
}

/* ---- a field, checked ------------------------------------------------------------------- */

const char *published_field_check(struct arena *arena, const struct published_column *column,
                                  const char *text, const char **help)
{
    enum published_truth truth = PUBLISHED_NOT_STATED;
    const bool is_truth = published_truth_read(text, &truth);
    const char *unlisted;
    if (text[0] == '\0' || column->kind == COLUMN_TEXT || column->kind == COLUMN_PROSE) {
        return NULL;
    }
    switch (column->kind) {
    case COLUMN_TRUTH:
        *help = "1, 0, true, false, yes or no; blank: not stated";
        return is_truth ? NULL : arena_printf(arena, "%s '%s' is not known", column->name, text);
    case COLUMN_COUNT:
        *help = arena_printf(arena, "%s is a whole number from %lld on, or blank", column->name,
                             (long long)column->least);
        return is_count(column, text) ? NULL : arena_printf(arena, "%s '%s'", column->name, text);
    case COLUMN_NUMBER:
        *help = arena_printf(arena, "%s is a number above 0, without its unit", column->name);
        return is_number(text) ? NULL : arena_printf(arena, "%s '%s'", column->name, text);
    case COLUMN_SETS:
        return check_sets(arena, text, help);
    case COLUMN_MONTH:
        *help = arena_printf(arena, "%s is a month, like 2025-06, or blank", column->name);
        return published_is_month(text) ? NULL : arena_printf(arena, "%s '%s'", column->name, text);
    case COLUMN_WORDS:
        unlisted = first_unlisted(arena, column, text);
        return unlisted == NULL ? NULL : refuse_word(arena, column, unlisted, help);
    default:
        return is_listed(column, text, strlen(text)) ||
                       (column->kind == COLUMN_WORD_OR_NO && truth == PUBLISHED_FALSE)
                   ? NULL
                   : refuse_word(arena, column, text, help);
    }
}

enum published_truth published_truth(const struct published_table *table, uint32_t row,
                                     const char *column)
{
    enum published_truth truth = PUBLISHED_NOT_STATED;
    return published_truth_read(published_text(table, row, column), &truth) ? truth
                                                                            : PUBLISHED_NOT_STATED;
}

/* ---- a table ---------------------------------------------------------------------------- */

/* A column without a name has nothing to say. */
static bool is_empty(const struct published_table *table, uint32_t column)
{
    for (uint32_t row = 0; row < table->row_count; row++) {
        if (table->fields[(size_t)row * table->column_count + column][0] != '\0') {
            return false;
        }
    }
    return true;
}

static bool check_columns(struct arena *arena, const struct published_table *table,
                          struct diag *diag)
{
    bool is_good = true;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const char *name = table->columns[i];
        if (published_column_find(name) != NULL || (name[0] == '\0' && is_empty(table, i))) {
            continue;
        }
        const struct place place = published_column_place(table, i);
        const char *nearest = published_column_nearest(arena, name);
        is_good = name[0] == '\0'
                      ? diag_add(diag, DIAG_INPUT, &place, "a column without a name")
                      : diag_add(diag, DIAG_INPUT, &place, "there is no column '%s'", name);
        diag_help_nearest(diag, nearest,
                          "tests/published/README.md tells the columns; what has none goes into "
                          "'notes'");
    }
    return is_good;
}

/* Of a row with a problem the fields may stand in other columns than they should. */
static bool check_fields(struct arena *arena, const struct published_table *table,
                         struct diag *diag)
{
    bool is_good = true;
    for (uint32_t row = 0; row < table->row_count; row++) {
        for (uint32_t i = 0; table->problems[row].what == NULL && i < table->column_count; i++) {
            const struct published_column *column = published_column_find(table->columns[i]);
            const char *text = table->fields[(size_t)row * table->column_count + i];
            const char *help = NULL;
            const char *why =
                column != NULL ? published_field_check(arena, column, text, &help) : NULL;
            if (why != NULL) {
                const struct place place = published_place(table, row, column->name);
                is_good = diag_add(diag, DIAG_INPUT, &place, "%s", why);
                diag_help(diag, "%s", help);
            }
        }
    }
    return is_good;
}

static bool check_ids(struct arena *arena, const struct published_table *table, struct diag *diag)
{
    struct name_table ids;
    name_table_init(&ids, arena);
    uint32_t *rows = arena_array(arena, table->row_count + (size_t)1, sizeof *rows);
    bool is_good = true;
    for (uint32_t row = 0; row < table->row_count; row++) {
        const char *id = published_text(table, row, "id");
        bool is_new = true;
        const uint32_t first =
            table->problems[row].what == NULL ? name_table_add(&ids, id, &is_new) : NAME_NONE;
        if (first == NAME_NONE) {
            continue;
        }
        const struct place place = published_place(table, row, "id");
        if (id[0] == '\0') {
            is_good = diag_add(diag, DIAG_INPUT, &place, "this row has no id");
        } else if (!is_new) {
            is_good = diag_add(diag, DIAG_INPUT, &place, "there are two rows '%s'", id);
            diag_help(diag, "the other one stands in line %u",
                      published_place(table, rows[first], "id").line);
        } else {
            rows[first] = row;
        }
    }
    return is_good;
}

/* What a table needs to have, with this as what was measured. */
static bool has_needed(const struct published_table *table, const char *measure, struct diag *diag)
{
    const char *needed[PUBLISHED_COLUMN_COUNT];
    for (uint32_t i = 0; i < PUBLISHED_COLUMN_COUNT; i++) {
        needed[i] = published_columns[i];
    }
    needed[PUBLISHED_COLUMN_COUNT - 1] = measure;
    return published_has_columns(table, needed, PUBLISHED_COLUMN_COUNT, diag);
}

static const struct published_table *check_table(struct arena *arena,
                                                 const struct published_table *table,
                                                 const char *measure,
                                                 const struct catalogue *catalogue,
                                                 struct diag *diag)
{
    bool is_good = check_columns(arena, table, diag);
    is_good = has_needed(table, measure, diag) && is_good;
    is_good = check_fields(arena, table, diag) && is_good;
    is_good = check_ids(arena, table, diag) && is_good;
    struct published_table *runs = arena_alloc(arena, sizeof *runs);
    *runs = *table;
    runs->rules = is_good ? published_rules_load(arena, catalogue, diag) : NULL;
    return runs->rules != NULL ? runs : NULL;
}

const struct published_table *published_check_runs(struct arena *arena,
                                                   const struct published_table *table,
                                                   const struct catalogue *catalogue,
                                                   struct diag *diag)
{
    return check_table(arena, table, published_columns[PUBLISHED_COLUMN_COUNT - 1], catalogue,
                       diag);
}

const struct published_table *published_load_runs(struct arena *arena, const char *path,
                                                  const struct catalogue *catalogue,
                                                  struct diag *diag)
{
    const struct published_table *table = published_load(arena, path, diag);
    return table != NULL ? published_check_runs(arena, table, catalogue, diag) : NULL;
}

bool published_says_features(const struct published_table *table, uint32_t row)
{
    for (uint32_t i = 0; i < published_known_count; i++) {
        const struct published_column *column = &published_known[i];
        const bool is_feature = column->kind == COLUMN_SETS ||
                                (column->use == COLUMN_FEATURE && column->kind != COLUMN_PROSE);
        if (is_feature && published_text(table, row, column->name)[0] != '\0') {
            return true;
        }
    }
    return false;
}

static bool is_typed(const char *name)
{
    const struct published_column *column = published_column_find(name);
    return column != NULL && column->use != COLUMN_FEATURE && column->kind != COLUMN_SETS;
}

const struct published_table *published_as_typed(struct arena *arena,
                                                 const struct published_table *table)
{
    struct published_table *typed = arena_alloc(arena, sizeof *typed);
    const size_t cells = (size_t)table->row_count * table->column_count;
    const char **fields = arena_array(arena, cells + 1, sizeof *fields);
    for (size_t i = 0; i < cells; i++) {
        fields[i] = is_typed(table->columns[i % table->column_count]) ? table->fields[i] : "";
    }
    *typed = *table;
    typed->fields = fields;
    return typed;
}

const struct published_table *published_load_peaks(struct arena *arena, const char *path,
                                                   const struct catalogue *catalogue,
                                                   struct diag *diag)
{
    const struct published_table *table = published_load(arena, path, diag);
    return table != NULL ? check_table(arena, table, PUBLISHED_PEAK, catalogue, diag) : NULL;
}
