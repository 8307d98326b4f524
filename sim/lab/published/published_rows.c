/* A writer of YAML.
 *
 * The rules for blanks are those of shared/validation/README.md: recompute none, flash
 * attention from 2023 on, micro-batch 1, virtual stages the largest number that divides the layers
 * of a stage, at most 4; network the platform's.
 */
#include "lab/published/published_rows.h"
#include "lab/published/published_columns.h"
#include "lab/published/published_recipes.h"
#include "lab/published/published_words.h"

#include "base/arena.h"
#include "input/doc/text_file.h"

#include <stdarg.h>
#include <string.h>
#include <strings.h>

enum { SETS_MAX = 32, YEAR_NEWEST = 9999 };

/* ---- writing a scenario --------------------------------------------------------------- */

struct maker {
    struct arena *arena;
    const struct published_table *table;
    const struct catalogue *catalogue;
    uint32_t row;
    const char *text;
    const char *filled;
    const char *skipped;
    struct published_wrong wrong;
    const char *software, *gpu; /* files of the catalogue */
    const char *sets[SETS_MAX];
    uint32_t set_count;
};

static void put(struct maker *maker, const char *format, ...) PRINTF_LIKE(2, 3);

static void put(struct maker *maker, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *more = arena_vprintf(maker->arena, format, arguments);
    va_end(arguments);
    maker->text = arena_printf(maker->arena, "%s%s", maker->text, more);
}

static void fill(struct maker *maker, const char *what)
{
    maker->filled = arena_printf(maker->arena, "%s%s%s", maker->filled,
                                 maker->filled[0] == '\0' ? "" : ", ", what);
}

static void skip(struct maker *maker, const char *why)
{
    maker->skipped = maker->skipped == NULL ? why : maker->skipped;
}

/* A word that the tables do not have; `nearest` may be NULL. */
static void refuse(struct maker *maker, const char *column, const char *why, const char *nearest,
                   const char *known)
{
    if (maker->skipped == NULL) {
        maker->skipped = why;
        maker->wrong.column = column;
        maker->wrong.help = nearest != NULL
                                ? arena_printf(maker->arena, "did you mean '%s'?", nearest)
                                : arena_printf(maker->arena, "there are %s", known);
    }
}

static void set(struct maker *maker, const char *assignment)
{
    if (maker->set_count < SETS_MAX) {
        maker->sets[maker->set_count++] = assignment;
    }
}

static const char *word(const struct maker *maker, const char *column)
{
    return published_text(maker->table, maker->row, column);
}

/* A file of the catalogue. */
static bool is_catalogued(const struct maker *maker, enum catalogue_kind kind, const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL &&
           catalogue_find(maker->arena, maker->catalogue, catalogue_folders[kind], name) != NULL;
}

static bool is_word(const struct maker *maker, const char *column, const char *wanted)
{
    return strcmp(word(maker, column), wanted) == 0;
}

static bool is_true(const struct maker *maker, const char *column)
{
    return published_truth(maker->table, maker->row, column) == PUBLISHED_TRUE;
}

/* Blank is not stated. */
static bool is_false(const struct maker *maker, const char *column)
{
    return published_truth(maker->table, maker->row, column) == PUBLISHED_FALSE;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* As the profiles call it; what was compiled may have a profile of its own. */
static const char *framework_of(const struct maker *maker)
{
    const char *name = word(maker, "framework");
    if (strcasecmp(name, "fms-fsdp") == 0 && is_true(maker, "torch_compile")) {
        return "fms-fsdp-compiled";
    }
    for (size_t i = 0; i < published_framework_count; i++) {
        if (strcasecmp(name, published_frameworks[i][0]) == 0 ||
            strcasecmp(name, published_frameworks[i][1]) == 0) {
            return published_frameworks[i][1];
        }
    }
    return name;
}

static bool is_framework(const struct maker *maker, const char *wanted)
{
    return strcmp(framework_of(maker), wanted) == 0;
}

/* As YAML writes text. */
static const char *quoted(const struct maker *maker, const char *from)
{
    char *text = arena_alloc(maker->arena, 2 * strlen(from) + 3);
    char *to = text;
    *to++ = '\'';
    for (; *from != '\0'; from++) {
        *to++ = (char)((unsigned char)*from < ' ' ? ' ' : *from);
        if (*from == '\'') {
            *to++ = '\'';
        }
    }
    *to = '\'';
    return text;
}

/* A count; blank or not a number: `blank`. */
static int64_t count_of(const struct maker *maker, const char *column, int64_t blank)
{
    double value = 0;
    return published_number(maker->table, maker->row, column, &value) ? (int64_t)value : blank;
}

/* The same, and the row is skipped when it is blank. */
static int64_t need_count(struct maker *maker, const char *column)
{
    const int64_t value = count_of(maker, column, 0);
    if (value <= 0) {
        skip(maker, arena_printf(maker->arena, "%s is blank", column));
    }
    return value > 0 ? value : 1;
}

/* Not stated: the newest. */
static int64_t year_of(const struct maker *maker)
{
    return count_of(maker, "framework_year", YEAR_NEWEST);
}

static int64_t fill_count(struct maker *maker, const char *column, const char *name, int64_t blank)
{
    const int64_t value = count_of(maker, column, 0);
    if (value > 0) {
        return value;
    }
    if (name != NULL) {
        fill(maker, arena_printf(maker->arena, "%s %lld", name, (long long)blank));
    }
    return blank;
}

/* ---- the model ------------------------------------------------------------------------ */

/* NULL: the columns are all there is. */
static const struct source_row *source_of(const struct maker *maker)
{
    for (size_t i = 0; i < published_source_count; i++) {
        if (begins(word(maker, "source"), published_sources[i].source) &&
            begins(framework_of(maker), published_sources[i].framework) &&
            begins(word(maker, "model_name"), published_sources[i].model)) {
            return &published_sources[i];
        }
    }
    return NULL;
}

static const struct family_row *family_named(const struct maker *maker, const char *name)
{
    for (size_t i = 0; i < published_family_count; i++) {
        if (begins(word(maker, "model_name"), published_families[i].name) ||
            strcmp(name, published_families[i].name) == 0) {
            return &published_families[i];
        }
    }
    return NULL;
}

/* Blank: by the shapes. */
static const struct family_row *family_of(struct maker *maker)
{
    const char *name = word(maker, "family");
    if (name[0] == '\0') {
        name = count_of(maker, "experts", 0) > 0 ? "moe"
               : is_true(maker, "gated_ffn")     ? "llama"
                                                 : "gpt";
        fill(maker, arena_printf(maker->arena, "family %s", name));
    }
    return family_named(maker, name);
}

/* Of a model that the catalogue has; false: it has not. */
static bool put_catalogued(struct maker *maker)
{
    for (size_t i = 0; i < published_model_count; i++) {
        if (begins(word(maker, "model_name"), published_models[i][0]) &&
            is_catalogued(maker, CATALOGUE_MODEL, published_models[i][1])) {
            put(maker, "model: %s\n", published_models[i][1]);
            set(maker, arena_printf(maker->arena, "model.layers=%lld",
                                    (long long)need_count(maker, "layers")));
            if (strstr(word(maker, "notes"), "w/o MTP") != NULL) {
                set(maker, "model.mtp_layers=0");
            }
            return true;
        }
    }
    return false;
}

/* A user's own run: a name of the catalogue instead of shapes. */
static bool put_named(struct maker *maker)
{
    const char *name = word(maker, "model_name");
    if (word(maker, "hidden")[0] != '\0' || word(maker, "layers")[0] != '\0' ||
        !is_catalogued(maker, CATALOGUE_MODEL, name)) {
        return false;
    }
    put(maker, "model: %s\n", name);
    return true;
}

static void put_experts(struct maker *maker)
{
    const int64_t experts = count_of(maker, "experts", 0);
    if (experts > 0) {
        put(maker, "  experts: %lld\n  experts_per_token: %lld\n  expert_hidden: %lld\n",
            (long long)experts, (long long)need_count(maker, "experts_per_token"),
            (long long)need_count(maker, "expert_ffn_hidden"));
        put(maker, "  shared_experts: %lld\n", (long long)count_of(maker, "shared_experts", 0));
    }
}

/* A user's name that the catalogue has not, or a description that lacks the family. */
static void refuse_model(struct maker *maker)
{
    const char *name = word(maker, "model_name");
    if (word(maker, "hidden")[0] != '\0') {
        refuse(maker, "family", "its family of models is not known", NULL,
               "gpt, mpt, llama and moe");
        return;
    }
    uint32_t count = 0;
    const char *const *names =
        catalogue_list(maker->arena, maker->catalogue, catalogue_folders[CATALOGUE_MODEL], &count);
    refuse(maker, "model_name",
           arena_printf(maker->arena, "hidden is blank, and there is no model '%s'", name),
           diag_nearest(name, names, count), "those of `stoker list models`");
}

/* Blank: GPT's four times the width. */
static int64_t ffn_of(struct maker *maker, int64_t hidden)
{
    const int64_t stated = count_of(maker, "ffn_hidden", count_of(maker, "expert_ffn_hidden", 0));
    if (stated > 0) {
        return stated;
    }
    if (is_true(maker, "gated_ffn")) {
        skip(maker, "ffn_hidden is blank");
    }
    fill(maker, arena_printf(maker->arena, "ffn_hidden %lld", (long long)(4 * hidden)));
    return 4 * hidden;
}

static void put_model(struct maker *maker)
{
    if (put_named(maker) || put_catalogued(maker)) {
        return;
    }
    const struct family_row *family = family_of(maker);
    const bool is_name_only = word(maker, "family")[0] == '\0' && word(maker, "hidden")[0] == '\0';
    if (family == NULL || is_name_only) {
        refuse_model(maker);
        return;
    }
    const int64_t hidden = need_count(maker, "hidden");
    const int64_t heads = need_count(maker, "heads");
    const int64_t ffn = ffn_of(maker, hidden);
    if (hidden % heads != 0) {
        skip(maker, "heads do not divide hidden");
    }
    const struct source_row *source = source_of(maker);
    const bool has_dropout =
        year_of(maker) <= family->dropout_until || (source != NULL && source->has_dropout);
    put(maker, "model:\n  model: published\n  source: %s\n", quoted(maker, word(maker, "source")));
    put(maker, "  layers: %lld\n  hidden: %lld\n  ffn_hidden: %lld\n  heads: %lld\n",
        (long long)need_count(maker, "layers"), (long long)hidden, (long long)ffn,
        (long long)heads);
    put(maker, "  kv_heads: %lld\n  vocab: %lld\n  max_positions: %lld\n",
        (long long)count_of(maker, "kv_heads", heads), (long long)need_count(maker, "vocab"),
        (long long)need_count(maker, "seq_len"));
    put(maker, "  mlp: %s\n  norm: %s\n  positions: %s\n  biases: %s\n",
        is_true(maker, "gated_ffn") ? "swiglu" : "gelu", family->norm, family->positions,
        family->has_biases ? "true" : "false");
    const bool is_headless = is_false(maker, "lm_head");
    const bool is_tied = !is_headless && is_true(maker, "tied_embeddings");
    put(maker, "  lm_head: %s\n  tied_embeddings: %s\n  dropout: %s\n",
        is_headless ? "false" : "true", is_tied ? "true" : "false", has_dropout ? "true" : "false");
    put_experts(maker);
}

/* ---- machine and software ------------------------------------------------------------- */

static const char *comma_list(const struct maker *maker, const char *const *words, size_t count)
{
    const char *text = "";
    for (size_t i = 0; i < count; i++) {
        text = arena_printf(maker->arena, "%s%s%s", text, i == 0 ? "" : ", ", words[i]);
    }
    return text;
}

/* NULL: what its GPU's are. */
static const char *cluster_of(const struct maker *maker)
{
    for (size_t i = 0; i < published_cluster_count; i++) {
        if (begins(word(maker, "source"), published_clusters[i][0])) {
            return published_clusters[i][1];
        }
    }
    return NULL;
}

static void put_cluster(struct maker *maker)
{
    const char **words = arena_alloc(maker->arena, published_platform_count * sizeof *words);
    for (size_t i = 0; i < published_platform_count; i++) {
        const struct platform_row *platform = &published_platforms[i];
        words[i] = platform->gpu;
        if (!is_word(maker, "gpu", platform->gpu) && !is_word(maker, "gpu", platform->file)) {
            continue;
        }
        double gbps = 0;
        if (!published_number(maker->table, maker->row, "inter_node_gbps_per_node", &gbps)) {
            gbps = platform->gbps;
            fill(maker, arena_printf(maker->arena, "network %g Gbps a node", gbps));
        }
        const char *own = cluster_of(maker);
        const int nics = own != NULL ? 1 : platform->nics;
        put(maker, "cluster: %s\ngpu: %s\ngpus: %lld\n", own != NULL ? own : platform->cluster,
            platform->file, (long long)need_count(maker, "gpus"));
        const int64_t per_node = count_of(maker, "gpus_per_node", 0);
        if (per_node > 0) {
            set(maker,
                arena_printf(maker->arena, "cluster.gpus_per_node=%lld", (long long)per_node));
        }
        set(maker, arena_printf(maker->arena, "cluster.nics.count=%d", nics));
        set(maker, arena_printf(maker->arena, "cluster.nics.bandwidth=%g Gbps", gbps / nics));
        if (platform->set != NULL) {
            set(maker, platform->set);
        }
        const struct source_row *source = source_of(maker);
        for (size_t k = 0; source != NULL && k < SOURCE_SETS_MAX && source->set[k] != NULL; k++) {
            set(maker, source->set[k]);
        }
        maker->gpu = platform->file;
        return;
    }
    const char *gpu = word(maker, "gpu");
    refuse(maker, "gpu", arena_printf(maker->arena, "GPU '%s' is not known", gpu),
           diag_nearest(gpu, words, published_platform_count),
           comma_list(maker, words, published_platform_count));
}

/* The profile's file; a framework may name it itself. NULL: there is none. */
static const char *profile_of(const struct maker *maker)
{
    const char *chosen = NULL;
    for (size_t i = 0; i < published_profile_count; i++) {
        const struct software_row *row = &published_profiles[i];
        if (is_framework(maker, row->framework) && year_of(maker) >= row->year &&
            (row->precision[0] == '\0' || is_word(maker, "precision", row->precision))) {
            chosen = row->file;
        }
    }
    const char *name = word(maker, "framework");
    return chosen == NULL && is_catalogued(maker, CATALOGUE_SOFTWARE, name) ? name : chosen;
}

static void refuse_software(struct maker *maker)
{
    const char **words = arena_alloc(maker->arena, published_profile_count * sizeof *words);
    size_t count = 0;
    for (size_t i = 0; i < published_profile_count; i++) {
        if (count == 0 || strcmp(words[count - 1], published_profiles[i].framework) != 0) {
            words[count++] = published_profiles[i].framework; /* they stand together */
        }
    }
    const char *name = word(maker, "framework");
    refuse(maker, "framework", arena_printf(maker->arena, "framework '%s' has no profile", name),
           diag_nearest(name, words, (uint32_t)count), comma_list(maker, words, count));
}

/* What rows of torchtitan say beside the profile: whether they were compiled (fp8 rows are,
 * although the column may be 0: docs/float8.md of https://github.com/pytorch/torchtitan wants it)
 * and whether tensor parallelism was asynchronous. With scales of rows FSDP gathers 16 bits
 * (torchao/float8/README.md of https://github.com/pytorch/ao).
 * ASSUMES: asynchronous, it hides what the backward pass can hide; the pieces of torch's
 * fused_all_gather_matmul are not simulated. */
static void put_torchtitan(struct maker *maker)
{
    const int64_t tp = count_of(maker, "tp", 1);
    if (!is_framework(maker, "torchtitan")) {
        return;
    }
    if (is_false(maker, "torch_compile") && !is_word(maker, "precision", "fp8")) {
        set(maker, "software.fusion.bias_activation=false");
        set(maker, "software.fusion.dropout_add=false");
        set(maker, "software.fusion.norm=false");
    }
    if (is_false(maker, "async_tp") && tp > 1) {
        set(maker, "software.overlap.tp_backward=false");
    }
    if (is_word(maker, "fp8_recipe", "rowwise")) {
        set(maker, "software.fp8.gathers_parameters=false");
    }
}

/* Composer's mixed_precision PURE reduces in bf16: gradients are joined and divided in 16 bits. */
static void put_llm_foundry(struct maker *maker)
{
    if (is_framework(maker, "llm-foundry-fsdp") &&
        strstr(word(maker, "notes"), "MP mode PURE") != NULL) {
        set(maker, "software.gradients.precision=bf16");
        set(maker, "software.fsdp.gradient_copies=8 B");
    }
}

static void put_software(struct maker *maker)
{
    const char *chosen = profile_of(maker);
    if (chosen == NULL) {
        refuse_software(maker);
        return;
    }
    if (word(maker, "framework_year")[0] == '\0') {
        fill(maker, arena_printf(maker->arena, "software %s", chosen));
    }
    const int64_t year = year_of(maker);
    maker->software = chosen;
    put(maker, "software: %s\n", chosen);
    put_torchtitan(maker);
    put_llm_foundry(maker);
    const struct source_row *source = source_of(maker);
    if (is_false(maker, "flash_attention")) {
        set(maker, "software.attention=unfused");
    } else if (word(maker, "flash_attention")[0] == '\0' && source != NULL &&
               source->attention != NULL) {
        set(maker, arena_printf(maker->arena, "software.attention=%s", source->attention));
    } else if (word(maker, "flash_attention")[0] == '\0' && year < YEAR_NEWEST) {
        fill(maker, year >= 2023 ? "flash attention" : "unfused attention");
        set(maker, year >= 2023 ? "software.attention=fa2" : "software.attention=unfused");
    }
}

/* ---- layout, batch -------------------------------------------------------------------- */

/* The largest that divides the layers of a stage, at most 4. */
static int64_t virtual_stages(const struct maker *maker, int64_t pp)
{
    const int64_t layers = count_of(maker, "layers", 0) / pp;
    for (int64_t stages = 4; stages > 1; stages--) {
        if (layers % stages == 0) {
            return stages;
        }
    }
    return 1;
}

/* Megatron-LM distributes only layers that divide, or do so with the embedding and the loss
 * (account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split); for others its
 * recipes lay out full chunks from the first on and leave the last what remains, beside the loss
 * (Megatron-Bridge's pp_layout of DeepSeek-V3: "Et*4|(t*4|)*14tmL"). DeepSeek did not publish its
 * own, and the stage with multi-token prediction and the loss is taken to be light, too. */
static void put_layers(struct maker *maker, int64_t chunks)
{
    int64_t left = count_of(maker, "layers", 0);
    const int64_t most = (left + chunks - 1) / chunks;
    const bool has_rule = is_framework(maker, "megatron") || is_framework(maker, "deepseek");
    if (!has_rule || left % chunks == 0 || chunks > left) {
        return;
    }
    if ((left + 2) % chunks == 0) {
        fill(maker, "embedding and loss count as layers");
        put(maker, "  embedding_slot: true\n  loss_slot: true\n");
        return;
    }
    fill(maker, "the last stage lighter");
    for (int64_t i = 0; i < chunks; i++) {
        const int64_t count = left < most ? left : most;
        put(maker, "%s%lld", i == 0 ? "  layers_per_stage: [" : ", ", (long long)count);
        left -= count;
    }
    put(maker, "]\n");
}

static void put_schedule(struct maker *maker, int64_t pp)
{
    if (pp == 1) {
        return;
    }
    const char *name = word(maker, "pp_schedule");
    int64_t chunks = count_of(maker, "virtual_pp", 0);
    if (name[0] == '\0') {
        name = chunks > 1 ? "interleaved" : "1f1b";
        fill(maker, arena_printf(maker->arena, "schedule %s", name));
    }
    if (strcmp(name, "interleaved") == 0 && chunks == 0) {
        chunks = virtual_stages(maker, pp);
        fill(maker, arena_printf(maker->arena, "virtual stages %lld", (long long)chunks));
    }
    if (strcmp(name, "interleaved") == 0 && chunks > 1) {
        put(maker, "  schedule: interleaved\n  virtual_stages: %lld\n", (long long)chunks);
    } else if (strcmp(name, "interleaved") == 0) {
        put(maker, "  schedule: 1f1b\n"); /* one virtual stage */
    } else {
        put(maker, "  schedule: %s\n", quoted(maker, name));
    }
    /* Slots are told of in words only. */
    if (strstr(word(maker, "notes"), "embedding counts as a slot") != NULL) {
        put(maker, "  embedding_slot: true\n  loss_slot: true\n");
    } else {
        put_layers(maker, pp * (chunks > 1 ? chunks : 1));
    }
}

static void put_zero(struct maker *maker, int64_t pp)
{
    const char *stage = word(maker, "zero_stage");
    for (size_t i = 0; i < published_zero_word_count; i++) {
        const struct zero_row *row = &published_zero_words[i];
        if (strcmp(stage, row->word) != 0 || !begins(maker->software, row->framework)) {
            continue;
        }
        if (stage[0] == '\0') {
            fill(maker, arena_printf(maker->arena, "zero %d", row->zero));
        }
        put(maker, "  zero: %d\n", row->zero);
        if (row->zero == 3 && pp > 1) {
            put(maker, "  reshard: after-step\n"); /* PyTorch's default beside a pipeline */
        } else if (row->zero == 3 && strcmp(stage, "2") == 0) {
            put(maker, "  reshard: after-backward\n");
        }
        const int64_t group = count_of(maker, "zero_group", 0);
        if (group > 0) {
            put(maker, "  zero_group: %lld\n", (long long)group);
        }
        return;
    }
    skip(maker, arena_printf(maker->arena, "zero stage '%s' is not known", stage));
}

/* Blank: with tensor parallelism, from 2023 on. */
static bool has_sequence_parallelism(struct maker *maker, int64_t tp)
{
    if (word(maker, "sequence_parallel")[0] != '\0' || tp == 1) {
        return tp > 1 && is_true(maker, "sequence_parallel");
    }
    const bool is_late = year_of(maker) >= 2023;
    fill(maker, is_late ? "sequence parallelism" : "no sequence parallelism");
    return is_late;
}

/* The number that a text begins with; 1 without. */
static int64_t count_in(const char *text)
{
    int64_t value = 0;
    const struct text_span digits = {text, text + strspn(text, "0123456789")};
    return text_span_count(digits, &value) && value > 0 ? value : 1;
}

/* "ETP 4" in the notes. Blank: Megatron-Core's default, which is tp (arguments.py,
 * --expert-tensor-parallel-size), but for Megatron-Bridge, whose recipes all say 1. */
static void put_expert_parts(struct maker *maker, int64_t tp)
{
    const char *etp = strstr(word(maker, "notes"), "ETP ");
    if (tp > 1 && count_of(maker, "experts", 0) > 0) {
        const int64_t blank = begins(word(maker, "source"), "Megatron-Bridge") ? 1 : tp;
        put(maker, "  etp: %lld\n",
            (long long)(etp != NULL ? count_in(etp + strlen("ETP ")) : blank));
    }
}

/* How tokens travel to experts: by the columns where the row says whether this is overlapped, else
 * by the recipe of its release; where there is none by what columns and notes say. */
static void put_exchange(struct maker *maker)
{
    const struct published_recipe *recipe = published_recipe(maker->table, maker->row);
    const bool is_stated = word(maker, "overlap_experts")[0] != '\0';
    const bool is_flexible = is_word(maker, "moe_dispatcher", "hybridep") ||
                             is_word(maker, "moe_dispatcher", "deepep") ||
                             is_word(maker, "moe_dispatcher", "flex") ||
                             strstr(word(maker, "notes"), "HybridEP dispatcher") != NULL;
    if (is_word(maker, "moe_dispatcher", "allgather")) {
        fill(maker, "exchange alltoall for allgather");
    }
    if (recipe != NULL && !is_stated ? recipe->sends_tokens : is_flexible) {
        set(maker, "software.experts.exchange=tokens");
    }
    const bool is_noted = strstr(word(maker, "notes"), "EP overlap enabled") != NULL;
    if (is_stated        ? is_true(maker, "overlap_experts")
        : recipe != NULL ? recipe->overlaps_experts
                         : is_noted) {
        put(maker, "  overlap_experts: true\n");
    }
    if (recipe != NULL && !is_stated) {
        fill(maker, "exchange with experts as in the recipe");
    }
    if (recipe != NULL && recipe->is_one_graph) {
        set(maker, "software.host.graphs=true");
        set(maker, "software.fp8.fuses.activation=true");
        set(maker, "software.fusion.experts=true");
    }
}

static void put_parallel(struct maker *maker)
{
    if (word(maker, "tp")[0] == '\0' || word(maker, "pp")[0] == '\0') {
        skip(maker, "its layout is not stated (tp, pp)");
    }
    const int64_t tp = fill_count(maker, "tp", NULL, 1);
    const int64_t pp = fill_count(maker, "pp", NULL, 1);
    const int64_t cp = fill_count(maker, "cp", "cp", 1);
    const int64_t ep = fill_count(maker, "ep", NULL, 1);
    put(maker, "parallel:\n  tp: %lld\n  pp: %lld\n  cp: %lld\n  dp: auto\n  ep: %lld\n",
        (long long)tp, (long long)pp, (long long)cp, (long long)ep);
    put_expert_parts(maker, tp);
    put_zero(maker, pp);
    put_schedule(maker, pp);
    if (has_sequence_parallelism(maker, tp)) {
        put(maker, "  sequence_parallel: true\n");
    }
    put_exchange(maker);
}

/* Not stated, in a pipeline: torchtitan cuts a replica's batch into as many microbatches as there
 * are stages (pipeline_parallel_microbatches in its pipelining_utils.py, 2024). */
static int64_t micro_of(struct maker *maker)
{
    const bool is_unknown = strstr(word(maker, "assumed"), "microbatch size not stated") != NULL;
    const int64_t stages = count_of(maker, "pp", 1);
    const int64_t pipelines = stages * count_of(maker, "dp", 1);
    const int64_t global = count_of(maker, "global_batch_sequences", 0);
    if (is_unknown && stages > 1 && global > 0 && global % pipelines == 0) {
        const int64_t micro = global / pipelines;
        fill(maker, arena_printf(maker->arena, "micro %lld", (long long)micro));
        return micro;
    }
    return fill_count(maker, "micro_batch", "micro", 1);
}

static void put_batch(struct maker *maker)
{
    put(maker, "batch:\n  global: %lld\n  micro: %lld\n  sequence_length: %lld\n",
        (long long)need_count(maker, "global_batch_sequences"), (long long)micro_of(maker),
        (long long)need_count(maker, "seq_len"));
}

/* ---- how it trains -------------------------------------------------------------------- */

static void put_precision(struct maker *maker)
{
    const char *precision = word(maker, "precision");
    const char *recipe = word(maker, "fp8_recipe");
    const bool has_blocks = strcmp(recipe, "mxfp8") == 0 || strcmp(recipe, "fp8-mx") == 0;
    put(maker, "precision: %s\n",
        strcmp(precision, "fp8") == 0 && has_blocks ? "mxfp8" : precision);
}

/* As a whole, between what is no letter of a name. */
static bool has_word(const char *text, const char *wanted)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
    for (text += strcspn(text, letters); *text != '\0'; text += strcspn(text, letters)) {
        const size_t length = strspn(text, letters);
        if (length == strlen(wanted) && begins(text, wanted)) {
            return true;
        }
        text += length;
    }
    return false;
}

/* "core-attention, mla-up": what the column names, joined by '+', or the notes' list; "" without.
 */
static const char *modules_of(const struct maker *maker)
{
    const char *list = strstr(word(maker, "notes"), "recompute_modules=");
    const char *text = word(maker, "recompute_modules");
    const char *names = "";
    if (text[0] == '\0' && list == NULL) {
        /* arXiv 2412.19437, section 3.2.3 */
        return is_framework(maker, "deepseek") ? "norm, mla-up, activation" : names;
    }
    if (text[0] == '\0') {
        text = arena_strndup(maker->arena, list, strcspn(list, "]"));
    }
    for (size_t i = 0; i < published_module_word_count; i++) {
        if (has_word(text, published_module_words[i][0])) {
            names = arena_printf(maker->arena, "%s%s%s", names, names[0] == '\0' ? "" : ", ",
                                 published_module_words[i][1]);
        }
    }
    return names;
}

static void put_recompute(struct maker *maker)
{
    const char *recompute = word(maker, "recompute");
    int64_t layers = count_of(maker, "full_recompute_layers", 0);
    const char *modules = modules_of(maker);
    const struct source_row *source = source_of(maker);
    if (recompute[0] == '\0' && source != NULL && source->recompute != NULL) {
        fill(maker, arena_printf(maker->arena, "recompute %s", source->recompute));
        recompute = "selective";
        modules = source->recompute;
    } else if (recompute[0] == '\0') {
        fill(maker, "recompute none");
    }
    if (strstr(word(maker, "notes"), "save_qkv_proj") != NULL) {
        fill(maker, "recompute full for the policy save_qkv_proj");
        recompute = "full"; /* nearest: but queries, keys and values all is computed again */
    }
    if (strstr(word(maker, "notes"), "AC=selective layer") != NULL) {
        recompute = "full"; /* of every second layer: selective_ac_option 2 of torchtitan */
        layers = count_of(maker, "layers", 0) / 2;
    }
    if (strcmp(recompute, "full") == 0 && layers > 0) {
        put(maker, "recompute: {layers: %lld}\n", (long long)layers);
    } else if (strcmp(recompute, "selective") == 0 && modules[0] != '\0') {
        put(maker, "recompute: {modules: [%s]}\n", modules);
    } else {
        put(maker, "recompute: %s\n", recompute[0] == '\0' ? "none" : quoted(maker, recompute));
    }
}

static void put_optimizer(struct maker *maker)
{
    const char *gradients = "";
    for (size_t i = 0; i < published_bf16_gradient_count; i++) {
        if (begins(word(maker, "source"), published_bf16_gradients[i])) {
            gradients = "gradients: bf16";
        }
    }
    /* Megatron's is apex's FusedSGD with --sgd-momentum, 0.9 unless it is set (megatron/optimizer/
     * __init__.py of https://github.com/NVIDIA/Megatron-LM). */
    const bool is_sgd = begins(word(maker, "optimizer"), "SGD");
    const char *moments = "";
    if (is_sgd) {
        moments = begins(framework_of(maker), "megatron") ? "rule: sgd-momentum" : "rule: sgd";
    } else if (strstr(word(maker, "optimizer"), "bf16 moments") != NULL) {
        moments = "moments: bf16";
    } else if (strstr(word(maker, "notes"), "--use-bnb-optimizer") != NULL) {
        moments = "moments: int8"; /* bitsandbytes */
    }
    if (gradients[0] != '\0' || moments[0] != '\0') {
        put(maker, "optimizer: {%s%s%s}\n", gradients,
            gradients[0] != '\0' && moments[0] != '\0' ? ", " : "", moments);
    }
    if (is_true(maker, "token_drop")) {
        put(maker, "routing: {capacity_factor: 1.0}\n");
    }
}

static void put_offload(struct maker *maker)
{
    const char *what = word(maker, "cpu_offload");
    if (strcmp(what, "activations") == 0) {
        put(maker, "offload: {activation_layers: %lld}\n",
            (long long)need_count(maker, "offload_layers"));
    } else if (begins(what, "optimizer")) {
        put(maker, "offload: {optimizer: 100 %%}\n");
    }
}

/* NVIDIA's word for the projection behind attention is proj. */
static void put_lora(struct maker *maker)
{
    const int64_t rank = count_of(maker, "lora_rank", 0);
    if (rank == 0) {
        return;
    }
    const char *at = word(maker, "lora_targets");
    const char *targets = "";
    while (*at != '\0') {
        const size_t length = strcspn(at, "+");
        const bool is_short = length == strlen("proj") && begins(at, "proj");
        targets = arena_printf(maker->arena, "%s%s%.*s%s", targets, targets[0] == '\0' ? "" : ", ",
                               (int)length, at, is_short ? "ection" : "");
        at += length + (at[length] == '+' ? 1 : 0);
    }
    if (targets[0] == '\0') {
        skip(maker, "lora_targets is blank");
    }
    put(maker, "lora: {rank: %lld, targets: [%s]}\n", (long long)rank, targets);
}

struct published_scenario published_scenario(struct arena *arena,
                                             const struct published_table *table, uint32_t row,
                                             const struct catalogue *catalogue)
{
    struct maker maker = {.arena = arena,
                          .table = table,
                          .catalogue = catalogue,
                          .row = row,
                          .text = "",
                          .filled = "",
                          .software = "",
                          .gpu = ""};
    maker.skipped = published_check(arena, table, row, &maker.wrong);
    if (maker.skipped != NULL) {
        return (struct published_scenario){.id = word(&maker, "id"),
                                           .software = "",
                                           .gpu = "",
                                           .skipped = maker.skipped,
                                           .wrong = maker.wrong,
                                           .filled = ""};
    }
    put(&maker, "scenario: %s\n", quoted(&maker, word(&maker, "id")));
    put_model(&maker);
    put_cluster(&maker);
    put_software(&maker);
    put_precision(&maker);
    put_parallel(&maker);
    put_batch(&maker);
    put_recompute(&maker);
    put_optimizer(&maker);
    put_offload(&maker);
    put_lora(&maker);
    const char **sets = arena_array(arena, SETS_MAX, sizeof *sets);
    for (uint32_t i = 0; i < maker.set_count; i++) {
        sets[i] = maker.sets[i];
    }
    return (struct published_scenario){
        .id = word(&maker, "id"),
        .software = maker.software,
        .gpu = maker.gpu,
        .text = maker.skipped == NULL ? maker.text : NULL,
        .sets = sets,
        .set_count = maker.set_count,
        .skipped = maker.skipped,
        .wrong = maker.wrong,
        .filled = maker.filled,
    };
}
