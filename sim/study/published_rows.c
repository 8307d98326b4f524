/* Tables first: what the words of the columns stand for, and how blanks are filled; then a writer
 * of YAML.
 *
 * The rules for blanks are those of shared/validation/README.md: recompute none, flash
 * attention from 2023 on, micro-batch 1, virtual stages the largest number that divides the layers
 * of a stage, at most 4; network the platform's.
 */
#include "study/published_rows.h"

#include "base/arena.h"
#include "spec/text_file.h"

#include <stdarg.h>
#include <string.h>

enum { SETS_MAX = 16 };

/* ---- what the words stand for --------------------------------------------------------- */

/* A platform: its topology, GPU, NICs of a node, and what its network is when not stated. */
struct platform_row {
    const char *gpu;
    const char *cluster, *file; /* of topologies/ and models/gpus/ */
    int nics;
    double gbps;     /* of a node, when blank */
    const char *set; /* what else is different; NULL: nothing */
};
static const struct platform_row platforms[] = {
    {"V100-32GB-SXM", "v100-100", "v100-sxm2-32gb", 4, 400, NULL},
    {"A100-40GB-SXM", "a100-40gb-1600", "a100-sxm4-40gb", 8, 1600, NULL},
    {"A100-80GB-SXM", "a100-80gb-1600", "a100-sxm4-80gb", 8, 1600, NULL},
    {"H100-80GB-SXM", "h100-3200", "h100-sxm5-80gb", 8, 3200, NULL},
    {"H100-96GB-HBM2e-500W", "h100-3200", "h100-96gb-hbm2e", 8, 3200, NULL},
    {"H200-141GB-SXM", "h200-3200", "h200-sxm-141gb", 8, 3200, NULL},
    {"H800-80GB-SXM", "h100-3200", "h800-sxm5-80gb", 8, 3200,
     "cluster.scale_up.bandwidth=200 GB/s"},
    {"B200", "b200-3200", "b200-sxm", 8, 3200, NULL},
    {"B300", "b200-3200", "b300-sxm", 8, 6400, NULL},
    {"GB200", "gb200-64of72", "gb200-nvl72", 4, 1600, NULL},
    {"GB300", "gb200-64of72", "gb300-nvl72", 4, 3200, NULL},
};

/* Profile of a framework from a year on, of a precision or ("") of all; the last row that
 * applies counts. */
struct software_row {
    const char *framework;
    int year;
    const char *precision;
    const char *file;
};
static const struct software_row profiles[] = {
    {"megatron", 0, "", "megatron-2021"},
    {"megatron", 2022, "", "megatron-2022"},
    {"megatron", 2023, "", "megatron-2023"},
    {"megatron", 2024, "", "megatron-2024"},
    {"megatron", 2025, "", "megatron-2025"},
    {"megatron", 2026, "", "megatron-2026"},
    {"megatron-deepspeed", 0, "", "megatron-deepspeed-2021"},
    {"megatron-deepspeed", 2022, "", "megatron-deepspeed-2022"},
    /* Its bf16 came with another optimizer: that of the 2022 profile. */
    {"megatron-deepspeed", 0, "bf16", "megatron-deepspeed-2022"},
    {"gpt-neox", 0, "", "gpt-neox-2022"},
    {"deepspeed-zero3", 0, "", "deepspeed-zero3-2021"},
    {"deepspeed-zero3", 2023, "", "deepspeed-zero3-2023"},
    {"fairscale", 0, "", "fairscale-2023"},
    {"internevo", 0, "", "internevo-2023"},
    {"llm-foundry-fsdp", 0, "", "llm-foundry-fsdp-2024"},
    {"torchtitan", 0, "", "torchtitan-2024"},
    {"torchtitan", 2025, "", "torchtitan-2025"},
    {"maxtext", 0, "", "maxtext-2025"},
    {"paxml", 0, "", "paxml-2024"},
    {"deepseek", 0, "", "deepseek-2024"},
};

/* Models that the columns do not describe: latent attention, width of heads, sinks, first dense
 * layers. By the beginning of the name. */
static const char *const catalogued[][2] = {
    {"DeepSeek-V3", "deepseek-v3"},          {"Kimi K2", "kimi-k2"},
    {"gpt-oss-120b", "gpt-oss-120b"},        {"Qwen3-30B-A3B", "qwen3-30b-a3b"},
    {"Qwen3-235B-A22B", "qwen3-235b-a22b"},  {"Grok-1", "grok-1"},
    {"Llama 4 Maverick", "llama4-maverick"},
};

/* What a family has beside its shapes; by the model's name or the family. */
struct family_row {
    const char *name;
    const char *norm, *positions;
    bool has_biases;
    int dropout_until; /* the last year in which it was trained with dropout */
};
static const struct family_row families[] = {
    {"Nemotron", "layernorm", "rotary", false, 0}, {"gpt", "layernorm", "learned", true, 2022},
    {"mpt", "layernorm", "learned", false, 0},     {"llama", "rmsnorm", "rotary", false, 0},
    {"moe", "rmsnorm", "rotary", false, 0},
};

/* ZeRO stage by the column, of a framework or ("") of all; blanks too. The first that fits. */
struct zero_row {
    const char *word;
    const char *framework;
    int zero;
};
static const struct zero_row zero_words[] = {
    {"0", "", 0},         {"1", "", 1},
    {"2", "", 2},         {"3", "", 3},
    {"fsdp-full", "", 3}, {"hsdp", "", 3},
    {"", "megatron", 0},  {"", "megatron-deepspeed", 1}, /* the fork's configurations use it */
    {"", "fairscale", 0}, {"", "deepspeed-zero3", 3},
};

/* Sources whose launch scripts accumulate and reduce gradients in bf16 (grad_reduce_in_fp32 =
 * False: scripts/performance of NVIDIA-NeMo/Megatron-Bridge, the recipes of NVIDIA/NeMo, and
 * MLPerf's on them). By the beginning of the source. */
static const char *const bf16_gradients[] = {"NeMo", "DGXC", "Megatron-Bridge", "MLPerf"};

/* Megatron's words for what it recomputes, in the notes, and ours. */
static const char *const module_words[][2] = {
    {"core_attn", "core-attention"},
    {"layernorm", "norm"},
    {"moe_act", "activation"},
    {"mla_up_proj", "mla-up"},
    {"\"mlp\"", "mlp"},
    {"\"moe\"", "moe"},
    {"shared_experts", "shared-experts"},
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- writing a scenario --------------------------------------------------------------- */

struct maker {
    struct arena *arena;
    const struct published_table *table;
    const struct catalogue *catalogue;
    uint32_t row;
    const char *text;
    const char *filled;
    const char *skipped;
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

static bool is_word(const struct maker *maker, const char *column, const char *wanted)
{
    return strcmp(word(maker, column), wanted) == 0;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
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

static const struct family_row *family_of(const struct maker *maker)
{
    for (size_t i = 0; i < LENGTH(families); i++) {
        if (begins(word(maker, "model_name"), families[i].name) ||
            is_word(maker, "family", families[i].name)) {
            return &families[i];
        }
    }
    return NULL;
}

/* Of a model that the catalogue has; false: it has not. */
static bool put_catalogued(struct maker *maker)
{
    for (size_t i = 0; i < LENGTH(catalogued); i++) {
        if (begins(word(maker, "model_name"), catalogued[i][0]) &&
            catalogue_find(maker->arena, maker->catalogue, catalogue_folders[CATALOGUE_MODEL],
                           catalogued[i][1]) != NULL) {
            put(maker, "model: %s\n", catalogued[i][1]);
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

static void put_model(struct maker *maker)
{
    const struct family_row *family = family_of(maker);
    if (family == NULL) {
        skip(maker, "its family of models is not known");
        return;
    }
    if (put_catalogued(maker)) {
        return;
    }
    const int64_t hidden = need_count(maker, "hidden");
    const int64_t heads = need_count(maker, "heads");
    const int64_t ffn = count_of(maker, "ffn_hidden", count_of(maker, "expert_ffn_hidden", 0));
    if (ffn == 0) {
        skip(maker, "ffn_hidden is blank");
    }
    if (hidden % heads != 0) {
        skip(maker, "heads do not divide hidden");
    }
    const bool has_dropout = count_of(maker, "framework_year", 0) <= family->dropout_until;
    put(maker, "model:\n  model: published\n  source: '%s'\n", word(maker, "source"));
    put(maker, "  layers: %lld\n  hidden: %lld\n  ffn_hidden: %lld\n  heads: %lld\n",
        (long long)need_count(maker, "layers"), (long long)hidden, (long long)ffn,
        (long long)heads);
    put(maker, "  kv_heads: %lld\n  vocab: %lld\n  max_positions: %lld\n",
        (long long)count_of(maker, "kv_heads", heads), (long long)need_count(maker, "vocab"),
        (long long)need_count(maker, "seq_len"));
    put(maker, "  mlp: %s\n  norm: %s\n  positions: %s\n  biases: %s\n",
        is_word(maker, "gated_ffn", "1") ? "swiglu" : "gelu", family->norm, family->positions,
        family->has_biases ? "true" : "false");
    put(maker, "  tied_embeddings: %s\n  dropout: %s\n",
        is_word(maker, "tied_embeddings", "1") ? "true" : "false", has_dropout ? "true" : "false");
    put_experts(maker);
}

/* ---- machine and software ------------------------------------------------------------- */

static void put_cluster(struct maker *maker)
{
    for (size_t i = 0; i < LENGTH(platforms); i++) {
        const struct platform_row *platform = &platforms[i];
        if (!is_word(maker, "gpu", platform->gpu)) {
            continue;
        }
        double gbps = 0;
        if (!published_number(maker->table, maker->row, "inter_node_gbps_per_node", &gbps)) {
            gbps = platform->gbps;
            fill(maker, arena_printf(maker->arena, "network %g Gbps a node", gbps));
        }
        put(maker, "cluster: %s\ngpu: %s\ngpus: %lld\n", platform->cluster, platform->file,
            (long long)need_count(maker, "gpus"));
        set(maker, arena_printf(maker->arena, "cluster.gpus_per_node=%lld",
                                (long long)need_count(maker, "gpus_per_node")));
        set(maker, arena_printf(maker->arena, "cluster.nics.count=%d", platform->nics));
        set(maker,
            arena_printf(maker->arena, "cluster.nics.bandwidth=%g Gbps", gbps / platform->nics));
        if (platform->set != NULL) {
            set(maker, platform->set);
        }
        return;
    }
    skip(maker, arena_printf(maker->arena, "GPU '%s' is not known", word(maker, "gpu")));
}

static void put_software(struct maker *maker)
{
    const struct software_row *chosen = NULL;
    const int64_t year = count_of(maker, "framework_year", 0);
    for (size_t i = 0; i < LENGTH(profiles); i++) {
        const struct software_row *row = &profiles[i];
        if (is_word(maker, "framework", row->framework) && year >= row->year &&
            (row->precision[0] == '\0' || is_word(maker, "precision", row->precision))) {
            chosen = row;
        }
    }
    if (chosen == NULL) {
        skip(maker,
             arena_printf(maker->arena, "framework '%s' has no profile", word(maker, "framework")));
        return;
    }
    put(maker, "software: %s\n", chosen->file);
    if (is_word(maker, "flash_attention", "0")) {
        set(maker, "software.attention=unfused");
    } else if (word(maker, "flash_attention")[0] == '\0') {
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
 * (Megatron-Bridge's pp_layout of DeepSeek-V3: "Et*4|(t*4|)*14tmL"). */
static void put_layers(struct maker *maker, int64_t chunks)
{
    int64_t left = count_of(maker, "layers", 0);
    const int64_t most = (left + chunks - 1) / chunks;
    if (!is_word(maker, "framework", "megatron") || left % chunks == 0) {
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
        put(maker, "  schedule: %s\n", name);
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
    for (size_t i = 0; i < LENGTH(zero_words); i++) {
        const struct zero_row *row = &zero_words[i];
        if (strcmp(stage, row->word) != 0 ||
            (row->framework[0] != '\0' && !is_word(maker, "framework", row->framework))) {
            continue;
        }
        if (stage[0] == '\0') {
            fill(maker, arena_printf(maker->arena, "zero %d", row->zero));
        }
        put(maker, "  zero: %d\n", row->zero);
        if (row->zero == 3 && pp > 1) {
            put(maker, "  reshard: after-step\n"); /* PyTorch's default beside a pipeline */
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
    const char *text = word(maker, "sequence_parallel");
    if (text[0] != '\0' || tp == 1) {
        return tp > 1 && strcmp(text, "1") == 0;
    }
    const bool is_late = count_of(maker, "framework_year", 0) >= 2023;
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

/* "ETP 4" in the notes; blank: experts are cut by ep only, as NVIDIA's recipes do. */
static void put_expert_parts(struct maker *maker, int64_t tp)
{
    const char *etp = strstr(word(maker, "notes"), "ETP ");
    if (tp > 1 && count_of(maker, "experts", 0) > 0) {
        put(maker, "  etp: %lld\n", etp != NULL ? (long long)count_in(etp + strlen("ETP ")) : 1LL);
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
    if (is_word(maker, "moe_dispatcher", "hybridep") ||
        is_word(maker, "moe_dispatcher", "deepep") ||
        strstr(word(maker, "notes"), "HybridEP dispatcher") != NULL) {
        set(maker, "software.experts.exchange=tokens");
    }
    if (strstr(word(maker, "notes"), "EP overlap enabled") != NULL) {
        put(maker, "  overlap_experts: true\n");
    }
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

/* "core-attention, mla-up": what the notes' list of modules names; "" without. */
static const char *modules_of(const struct maker *maker)
{
    const char *list = strstr(word(maker, "notes"), "recompute_modules=");
    const char *names = "";
    if (list == NULL) {
        /* arXiv 2412.19437, section 3.2.3 */
        return is_word(maker, "framework", "deepseek") ? "norm, mla-up, activation" : names;
    }
    const size_t length = strcspn(list, "]");
    const char *text = arena_strndup(maker->arena, list, length);
    for (size_t i = 0; i < LENGTH(module_words); i++) {
        if (strstr(text, module_words[i][0]) != NULL) {
            names = arena_printf(maker->arena, "%s%s%s", names, names[0] == '\0' ? "" : ", ",
                                 module_words[i][1]);
        }
    }
    return names;
}

static void put_recompute(struct maker *maker)
{
    const char *recompute = word(maker, "recompute");
    const int64_t layers = count_of(maker, "full_recompute_layers", 0);
    const char *modules = modules_of(maker);
    if (recompute[0] == '\0') {
        fill(maker, "recompute none");
    }
    if (strstr(word(maker, "notes"), "save_qkv_proj") != NULL) {
        fill(maker, "recompute full for the policy save_qkv_proj");
        recompute = "full"; /* nearest: but queries, keys and values all is computed again */
    }
    if (strcmp(recompute, "full") == 0 && layers > 0) {
        put(maker, "recompute: {layers: %lld}\n", (long long)layers);
    } else if (strcmp(recompute, "selective") == 0 && modules[0] != '\0') {
        put(maker, "recompute: {modules: [%s]}\n", modules);
    } else {
        put(maker, "recompute: %s\n", recompute[0] == '\0' ? "none" : recompute);
    }
}

static void put_optimizer(struct maker *maker)
{
    const char *gradients = "";
    for (size_t i = 0; i < LENGTH(bf16_gradients); i++) {
        if (begins(word(maker, "source"), bf16_gradients[i])) {
            gradients = "gradients: bf16";
        }
    }
    const char *moments = "";
    if (strstr(word(maker, "optimizer"), "bf16 moments") != NULL) {
        moments = "moments: bf16";
    } else if (strstr(word(maker, "notes"), "--use-bnb-optimizer") != NULL) {
        moments = "moments: int8"; /* bitsandbytes */
    }
    if (gradients[0] != '\0' || moments[0] != '\0') {
        put(maker, "optimizer: {%s%s%s}\n", gradients,
            gradients[0] != '\0' && moments[0] != '\0' ? ", " : "", moments);
    }
    if (is_word(maker, "token_drop", "1")) {
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

struct published_scenario published_scenario(struct arena *arena,
                                             const struct published_table *table, uint32_t row,
                                             const struct catalogue *catalogue)
{
    struct maker maker = {.arena = arena,
                          .table = table,
                          .catalogue = catalogue,
                          .row = row,
                          .text = "",
                          .filled = ""};
    put(&maker, "scenario: %s\n", word(&maker, "id"));
    put_model(&maker);
    put_cluster(&maker);
    put_software(&maker);
    put_precision(&maker);
    put_parallel(&maker);
    put_batch(&maker);
    put_recompute(&maker);
    put_optimizer(&maker);
    put_offload(&maker);
    const char **sets = arena_array(arena, SETS_MAX, sizeof *sets);
    for (uint32_t i = 0; i < maker.set_count; i++) {
        sets[i] = maker.sets[i];
    }
    return (struct published_scenario){
        .id = word(&maker, "id"),
        .text = maker.skipped == NULL ? maker.text : NULL,
        .sets = sets,
        .set_count = maker.set_count,
        .skipped = maker.skipped,
        .filled = maker.filled,
    };
}
