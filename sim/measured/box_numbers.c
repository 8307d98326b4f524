/* A schema reads the file; the machine that it names comes from the catalogue; then each number is
 * held against the least time in which that machine could have done it.
 */
#include "measured/box_numbers.h"

#include "base/arena.h"
#include "input/network/nic.h"

#include <string.h>

#define SCHEMA_OBJECT struct box_numbers
#include "input/schema/rows.h"

static const double TIME_LEAST_S = 1e-9, TIME_MOST_S = 1e5;
static const double BYTES_MOST = 1e13;
enum { SIZE_MOST = 10000000, HEADS_MOST = 65536, GPUS_MOST = 8192 };

/* One GPU was measured, and those of a node differ. */
#define SPREAD_STANDARD "1.75 %"
#define SPREAD_SOURCE                                                                             \
    "GPUs of one node differ by 5 % (ml-engineering, matmul benchmark): eight draws of a normal " \
    "distribution lie within 2.85 deviations in the mean"

#define SPREAD(path_, spread_)                                                              \
    {                                                                                       \
        QUANTITY(path_ ".spread", spread_, DIM_FRACTION, 0.001, 1.0,                        \
                 "What one measurement leaves open of the rate, as a standard deviation."), \
            .standard = SPREAD_STANDARD, .source = SPREAD_SOURCE                            \
    }
#define TIME(path_, member_, help_)                                              \
    {                                                                            \
        QUANTITY(path_, member_, DIM_SECONDS, TIME_LEAST_S, TIME_MOST_S, help_), \
            .is_required = true, .example = "time: 1.25 ms"                      \
    }
#define SIZE(path_, member_, help_)                                     \
    {                                                                   \
        COUNT(path_, member_, 1, SIZE_MOST, help_), .is_required = true \
    }
#define GEMM(name_, is_given_, m_, n_, k_, dtype_, help_)                           \
    {SWITCH(name_, is_given_, help_)}, SIZE(name_ ".m", m_, "Rows of the result."), \
        SIZE(name_ ".n", n_, "Columns of the result."),                             \
        SIZE(name_ ".k", k_, "The inner dimension."),                               \
    {                                                                               \
        CHOICE(name_ ".dtype", dtype_, precision_names, PRECISION_COUNT_,           \
               "What it multiplies in."),                                           \
            .is_required = true, .example = "dtype: bf16"                           \
    }

static const struct schema_row rows[] = {
    {TEXT("box", name, "What the box is called.")},
    {TEXT("title", title, "What people call it."), AS(const char *, name)},
    {TEXT("cluster", cluster_name, "The cluster of the catalogue that it is one of."),
     .is_optional = true, .note = "only a GPU is measured"},
    {TEXT("gpu", gpu_name, "The GPU of the catalogue that it has."), .is_optional = true,
     .note = "the cluster's"},
    GEMM("gemm_large", large.of.is_given, large.m, large.n, large.k, large.dtype,
         "A product that is long enough for the power limit."),
    TIME("gemm_large.time", large.of.time_s, "Of one product."),
    SPREAD("gemm_large", large.of.spread),
    GEMM("gemm_small", small.of.is_given, small.m, small.n, small.k, small.dtype,
         "A product of few tiles and a short inner dimension."),
    TIME("gemm_small.time", small.of.time_s, "Of one product."),
    SPREAD("gemm_small", small.of.spread),
    {SWITCH("attention", attention.of.is_given, "Fused attention, without dropout.")},
    {CHOICE("attention.kernel", attention.kernel, attention_names, ATTENTION_COUNT_,
            "Which one: FlashAttention's or cuDNN's."),
     .among = (1u << ATTENTION_COUNT_) - 1 - (1u << ATTENTION_UNFUSED), .is_required = true,
     .example = "kernel: cudnn"},
    {COUNT("attention.sequences", attention.sequences, 1, HEADS_MOST, "Sequences of the batch."),
     .is_required = true},
    {COUNT("attention.heads", attention.heads, 1, HEADS_MOST, "Heads of queries."),
     .is_required = true},
    {COUNT("attention.kv_heads", attention.kv_heads, 1, HEADS_MOST, "Heads of keys and values."),
     AS(int64_t, attention.heads), .note = "as heads"},
    SIZE("attention.length", attention.length, "Tokens of a sequence."),
    {COUNT("attention.head_dim", attention.head_dim, 1, HEADS_MOST, "Dimension of a head."),
     .is_required = true},
    {BOOL("attention.causal", attention.is_causal, "Tokens see those before them only."),
     .standard = "true"},
    TIME("attention.forward", attention.of.time_s, "Of a forward pass."),
    {QUANTITY("attention.backward", attention.backward_s, DIM_SECONDS, TIME_LEAST_S, TIME_MOST_S,
              "Of a backward pass."),
     .is_optional = true, .note = "as forward is off, so is it"},
    SPREAD("attention", attention.of.spread),
    {SWITCH("copy", copy.of.is_given, "A copy in the GPU's memory.")},
    {QUANTITY("copy.bytes", copy.bytes, DIM_BYTES, 1.0, BYTES_MOST,
              "That are copied: each is read and written."),
     .is_required = true, .example = "bytes: 4 GiB"},
    TIME("copy.time", copy.of.time_s, "Of one copy."),
    SPREAD("copy", copy.of.spread),
    {SWITCH("all_reduce", all_reduce.of.is_given, "An all-reduce, out of place.")},
    {QUANTITY("all_reduce.bytes", all_reduce.bytes, DIM_BYTES, 1.0, BYTES_MOST,
              "Of each GPU's buffer."),
     .is_required = true, .example = "bytes: 4 GiB"},
    {COUNT("all_reduce.gpus", all_reduce.gpus, 2, GPUS_MOST, "GPUs that take part."),
     .is_required = true, .example = "gpus: 8"},
    {COUNT("all_reduce.nodes", all_reduce.nodes, 1, GPUS_MOST, "Nodes that they are on."),
     .is_required = true, .example = "nodes: 1"},
    TIME("all_reduce.time", all_reduce.of.time_s, "Of one all-reduce."),
    SPREAD("all_reduce", all_reduce.of.spread),
    {SWITCH("step", step.of.is_given, "One step of training.")},
    {TEXT("step.run", step.run, "A log that `stoker import` reads, or FILE.csv:ID."),
     .is_optional = true, .note = "scenario and time say it"},
    {TEXT("step.scenario", step.scenario, "The scenario that it is of."), .is_optional = true,
     .note = "run says it"},
    {QUANTITY("step.time", step.of.time_s, DIM_SECONDS, TIME_LEAST_S, TIME_MOST_S, "What it took."),
     .is_optional = true, .note = "the run's"},
};
const struct schema box_number_keys = SCHEMA_OF("box numbers", "", rows);

const struct box_number_row box_number_rows[BOX_NUMBER_COUNT_] = {
    [BOX_GEMM_LARGE] = {"gemm_large", BOX_GEMM, true, "what products sustain"},
    [BOX_GEMM_SMALL] = {"gemm_small", BOX_GEMM, false, "what short products lose"},
    [BOX_ATTENTION_TIME] = {"attention", BOX_ATTENTION, true, "rates of attention"},
    [BOX_COPY] = {"copy", BOX_MEMORY, true, "what kernels reach of the memory's bandwidth"},
    [BOX_ALL_REDUCE] = {"all_reduce", BOX_LINKS, true, "what messages reach of the links"},
    [BOX_STEP] = {"step", BOX_RATE_COUNT_, false, "the level of all steps: an anchor"},
};

const struct box_timed *box_numbers_timed(const struct box_numbers *numbers, enum box_number number)
{
    const struct box_timed *all[BOX_NUMBER_COUNT_] = {
        [BOX_GEMM_LARGE] = &numbers->large.of,         [BOX_GEMM_SMALL] = &numbers->small.of,
        [BOX_ATTENTION_TIME] = &numbers->attention.of, [BOX_COPY] = &numbers->copy.of,
        [BOX_ALL_REDUCE] = &numbers->all_reduce.of,    [BOX_STEP] = &numbers->step.of,
    };
    return all[number];
}

bool box_numbers_has(const struct box_numbers *numbers, enum box_number number)
{
    return box_numbers_timed(numbers, number)->is_given;
}

const struct place *box_numbers_place(const struct box_numbers *numbers, const char *path)
{
    const struct doc_node *node = doc_find(numbers->node, path);
    return node != NULL ? &node->place : &numbers->node->place;
}

/* ---- the machine ------------------------------------------------------------------------- */

struct reading {
    struct arena *arena;
    const struct catalogue *catalogue;
    struct box_numbers *numbers;
    struct diag *diag;
};

static struct doc_node *open_part(const struct reading *reading, enum catalogue_kind kind,
                                  const struct doc_node *reference)
{
    return catalogue_open(reading->arena, reading->catalogue, kind, reference, reading->diag);
}

static bool open_library(const struct reading *reading, const struct doc_node *cluster,
                         struct assumptions *assumptions)
{
    struct box_numbers *numbers = reading->numbers;
    const struct doc_node by_default = {.kind = DOC_SCALAR, .text = LIBRARY_DEFAULT};
    const struct doc_node *named = doc_find(cluster, "collectives.library");
    struct doc_node *node = library_open(reading->arena, reading->catalogue,
                                         named != NULL ? named : &by_default, reading->diag);
    numbers->library = arena_alloc(reading->arena, sizeof *numbers->library);
    return node != NULL && library_read(node, numbers->library, assumptions, reading->diag);
}

/* Its GPU is the one that the file or the cluster names. */
static bool open_machine(const struct reading *reading)
{
    struct box_numbers *numbers = reading->numbers;
    struct assumptions unused;
    assumptions_init(&unused, reading->arena);
    const struct doc_node *gpu = doc_find(numbers->node, "gpu");
    const struct doc_node *cluster = doc_find(numbers->node, "cluster");
    if (cluster == NULL && gpu == NULL) {
        diag_add(reading->diag, DIAG_INPUT, &numbers->node->place,
                 "the file does not say what machine was measured");
        diag_help(reading->diag, "add a line like cluster: b200-3200 (stoker list clusters), or "
                                 "gpu: b200-sxm");
        return false;
    }
    if (cluster != NULL) {
        struct doc_node *node = open_part(reading, CATALOGUE_CLUSTER, cluster);
        numbers->cluster = arena_alloc(reading->arena, sizeof *numbers->cluster);
        if (node == NULL || !nic_settle(reading->arena, reading->catalogue, node, reading->diag) ||
            !cluster_read(node, numbers->cluster, &unused, reading->diag) ||
            !open_library(reading, node, &unused)) {
            return false;
        }
        gpu = gpu != NULL ? gpu : doc_find(node, "gpu");
    }
    struct doc_node *node = gpu != NULL ? open_part(reading, CATALOGUE_GPU, gpu) : NULL;
    numbers->gpu = arena_alloc(reading->arena, sizeof *numbers->gpu);
    return node != NULL && gpu_read(node, numbers->gpu, &unused, reading->diag);
}

/* ---- what cannot be ------------------------------------------------------------------------ */

static bool refuse(const struct reading *reading, const char *path, const char *what,
                   const char *help)
{
    diag_add(reading->diag, DIAG_INPUT, box_numbers_place(reading->numbers, path), "%s", what);
    diag_help(reading->diag, "%s", help);
    return false;
}

static const char *const PER_REPETITION =
    "the time is of one repetition, between two CUDA events, divided by how many there were; see "
    "its unit and the sizes";

/* "bf16, fp8": what it multiplies in. */
static const char *precisions_of(struct arena *arena, const struct gpu *gpu)
{
    const char *text = "";
    for (uint32_t i = 0; i < PRECISION_COUNT_; i++) {
        if (gpu_has_precision(gpu, (enum precision)i)) {
            text = arena_printf(arena, "%s%s%s", text, text[0] != '\0' ? ", " : "",
                                precision_names[i]);
        }
    }
    return text;
}

static const char *kernels_of(struct arena *arena, const struct gpu *gpu)
{
    const char *text = "";
    for (uint32_t i = ATTENTION_UNFUSED + 1; i < ATTENTION_COUNT_; i++) {
        if (gpu_has_attention(gpu, i)) {
            text = arena_printf(arena, "%s%s%s", text, text[0] != '\0' ? ", " : "",
                                attention_names[i]);
        }
    }
    return text;
}

static bool check_gemm(const struct reading *reading, const char *key, const struct box_gemm *gemm)
{
    struct arena *arena = reading->arena;
    const struct gpu *gpu = reading->numbers->gpu;
    const enum precision dtype = (enum precision)gemm->dtype;
    if (!gemm->of.is_given) {
        return true;
    }
    if (!gpu_has_precision(gpu, dtype)) {
        return refuse(
            reading, arena_printf(arena, "%s.dtype", key),
            arena_printf(arena, "%s does not multiply in %s", gpu->name, precision_names[dtype]),
            arena_printf(arena, "it multiplies in %s", precisions_of(arena, gpu)));
    }
    const double rate = 2.0 * (double)gemm->m * (double)gemm->n * (double)gemm->k / gemm->of.time_s;
    const double peak = gpu->peak_flop_per_s[dtype];
    return rate <= peak ||
           refuse(reading, arena_printf(arena, "%s.time", key),
                  arena_printf(arena,
                               "%.4g TFLOP/s, and the peak of %s in %s is %.4g: no product is as "
                               "fast",
                               rate / 1e12, gpu->name, precision_names[dtype], peak / 1e12),
                  PER_REPETITION);
}

/* Forward 4 FLOP a pair and dimension, backward ten, half of the pairs where they are causal. */
static bool check_pass(const struct reading *reading, const char *path, double flop, double time_s)
{
    const struct gpu *gpu = reading->numbers->gpu;
    const struct box_attention *attention = &reading->numbers->attention;
    const double peak = gpu_attention_peak(gpu, attention->kernel);
    return time_s <= 0 || peak <= 0 || flop / time_s <= peak ||
           refuse(reading, path,
                  arena_printf(reading->arena,
                               "%.4g TFLOP/s, and the peak of what %s multiplies in on %s is %.4g: "
                               "no kernel is as fast",
                               flop / time_s / 1e12, attention_names[attention->kernel], gpu->name,
                               peak / 1e12),
                  PER_REPETITION);
}

static bool check_attention(const struct reading *reading)
{
    struct arena *arena = reading->arena;
    const struct gpu *gpu = reading->numbers->gpu;
    const struct box_attention *attention = &reading->numbers->attention;
    if (!attention->of.is_given) {
        return true;
    }
    if (!gpu_has_attention(gpu, attention->kernel)) {
        return refuse(
            reading, "attention.kernel",
            arena_printf(arena, "%s has no %s", gpu->name, attention_names[attention->kernel]),
            arena_printf(arena,
                         "its file has %s; more rows of another are for stoker "
                         "calibrate attention",
                         kernels_of(arena, gpu)));
    }
    if (attention->heads % attention->kv_heads != 0) {
        return refuse(reading, "attention.kv_heads", "kv_heads does not divide heads",
                      "heads of queries share one of keys, as many each");
    }
    const double length = (double)attention->length;
    const double pairs = (double)(attention->sequences * attention->heads) * length * length *
                         (attention->is_causal ? 0.5 : 1.0) * (double)attention->head_dim;
    const bool is_good =
        check_pass(reading, "attention.forward", 4.0 * pairs, attention->of.time_s);
    return check_pass(reading, "attention.backward", 10.0 * pairs, attention->backward_s) &&
           is_good;
}

static bool check_copy(const struct reading *reading)
{
    const struct gpu *gpu = reading->numbers->gpu;
    const struct box_copy *copy = &reading->numbers->copy;
    const double rate = copy->of.is_given ? 2.0 * copy->bytes / copy->of.time_s : 0.0;
    return rate <= gpu->memory_bandwidth_bytes_per_s ||
           refuse(reading, "copy.time",
                  arena_printf(reading->arena,
                               "%.4g TB/s read and written, and the memory of %s has %.4g",
                               rate / 1e12, gpu->name, gpu->memory_bandwidth_bytes_per_s / 1e12),
                  "bytes are those of the buffer that is copied, from one place of the GPU's "
                  "memory to another, larger than its caches; the time is of one copy");
}

/* Each GPU sends and receives the buffer where a switch adds up, else 2 (n - 1) / n of it. */
static double reduced_bytes(double bytes, int64_t members, bool adds_up)
{
    return adds_up ? bytes : 2.0 * (double)(members - 1) / (double)members * bytes;
}

static bool check_links(const struct reading *reading, double least_s, const char *links)
{
    const struct box_all_reduce *all = &reading->numbers->all_reduce;
    return all->of.time_s >= least_s ||
           refuse(reading, "all_reduce.time",
                  arena_printf(reading->arena,
                               "faster than the links of %s: %s would take %.4g ms in full",
                               reading->numbers->cluster->name, links, 1e3 * least_s),
                  "bytes are those of each GPU's buffer; the time is of one all-reduce on the "
                  "slowest GPU; see its unit, gpus and nodes");
}

static bool check_all_reduce(const struct reading *reading)
{
    const struct box_all_reduce *all = &reading->numbers->all_reduce;
    const struct cluster *cluster = reading->numbers->cluster;
    if (!all->of.is_given) {
        return true;
    }
    if (cluster == NULL) {
        return refuse(reading, "all_reduce", "an all-reduce, and the file names no cluster",
                      "add a line like cluster: b200-3200 (stoker list clusters)");
    }
    const int64_t members = (all->gpus + all->nodes - 1) / all->nodes;
    if (all->nodes > all->gpus || members > cluster->gpus_per_node) {
        return refuse(reading, "all_reduce.nodes",
                      arena_printf(reading->arena,
                                   "%lld GPUs on %lld nodes, and %s has %lld a node",
                                   (long long)all->gpus, (long long)all->nodes, cluster->name,
                                   (long long)cluster->gpus_per_node),
                      "say how many GPUs took part in all, and on how many nodes they are");
    }
    const int64_t nodes_max = cluster_nodes_max(cluster);
    if (nodes_max > 0 && all->nodes > nodes_max) {
        return refuse(reading, "all_reduce.nodes",
                      arena_printf(reading->arena, "%lld nodes, and %s has %lld",
                                   (long long)all->nodes, cluster->name, (long long)nodes_max),
                      "name the cluster that it was measured on");
    }
    const double inside = reduced_bytes(all->bytes, all->gpus, cluster->has_multicast);
    const double between = reduced_bytes(all->bytes, all->nodes, cluster->has_in_network_reduction);
    const bool is_one_domain = all->nodes <= cluster->domain_nodes;
    return is_one_domain
               ? check_links(reading, inside / cluster->scale_up_bytes_per_s, "links between GPUs")
               : check_links(reading, between / cluster->network_bytes_per_s, "the network");
}

static bool is_file(const struct reading *reading, const char *name)
{
    const char *path = catalogue_path_beside(reading->arena, reading->catalogue,
                                             box_numbers_place(reading->numbers, "step"), name);
    return doc_files_exist(reading->catalogue->files, path);
}

/* A scenario, a log, or the file of FILE.csv:ID. */
static bool check_step_file(const struct reading *reading)
{
    const struct box_step *step = &reading->numbers->step;
    const bool has_run = step->run[0] != '\0';
    const char *name = has_run ? step->run : step->scenario;
    const char *colon = has_run ? strrchr(name, ':') : NULL;
    const char *file =
        colon != NULL ? arena_strndup(reading->arena, name, (size_t)(colon - name)) : name;
    return is_file(reading, name) || is_file(reading, file) ||
           refuse(reading, has_run ? "step.run" : "step.scenario",
                  arena_printf(reading->arena, "there is no file '%.200s'", file),
                  "it is looked for beside this file, then in the current directory");
}

static bool check_step(const struct reading *reading)
{
    const struct box_step *step = &reading->numbers->step;
    const bool has_run = step->run[0] != '\0', has_scenario = step->scenario[0] != '\0';
    if (!step->of.is_given) {
        return true;
    }
    if (has_run == has_scenario || (has_scenario && !(step->of.time_s > 0))) {
        return refuse(reading, "step", "a step is of a run, or of a scenario with its time",
                      "write step: {scenario: mine.yaml, time: 4.1 s}, or step: {run: my.log}");
    }
    return check_step_file(reading);
}

static bool check_any(const struct reading *reading)
{
    for (uint32_t i = 0; i < BOX_NUMBER_COUNT_; i++) {
        if (box_numbers_has(reading->numbers, (enum box_number)i)) {
            return true;
        }
    }
    diag_add(reading->diag, DIAG_INPUT, &reading->numbers->node->place, "nothing is measured here");
    diag_help(reading->diag, "one of gemm_large, gemm_small, attention, copy, all_reduce and step; "
                             "stoker calibrate box --script prints what measures them");
    return false;
}

bool box_numbers_read(struct arena *arena, const char *path, const struct catalogue *catalogue,
                      struct box_numbers *numbers, struct diag *diag)
{
    const struct reading reading = {arena, catalogue, numbers, diag};
    struct assumptions unused;
    assumptions_init(&unused, arena);
    *numbers = (struct box_numbers){
        .name = "box", .cluster_name = "", .gpu_name = "", .step = {.scenario = "", .run = ""}};
    const struct doc_node *node = doc_load(arena, path, diag);
    numbers->node = node;
    numbers->source = node != NULL ? doc_find_text(node, "source") : NULL;
    if (node == NULL || !schema_read_document(&box_number_keys, node, numbers, &unused, diag) ||
        !open_machine(&reading)) {
        return false;
    }
    bool is_good = check_gemm(&reading, "gemm_large", &numbers->large);
    is_good = check_gemm(&reading, "gemm_small", &numbers->small) && is_good;
    is_good = check_attention(&reading) && is_good;
    is_good = check_copy(&reading) && is_good;
    is_good = check_all_reduce(&reading) && is_good;
    is_good = check_step(&reading) && is_good;
    return check_any(&reading) && is_good;
}
