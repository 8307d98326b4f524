/* The table of questions, and the points that ask them. */
#include "study/whatif.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/diag.h"
#include "input/cluster.h"
#include "input/doc/doc.h"
#include "input/features/features_used.h"
#include "input/job/checkpoint.h"
#include "input/layout.h"
#include "input/network/network_bill.h"
#include "input/scenario.h"
#include "input/scenario_load.h"
#include "run/holding.h"
#include "study/search/search_auto.h"
#include "study/search/search_space.h"
#include "train/jitter.h"

#include <math.h>
#include <string.h>

const char *const whatif_group_names[WHATIF_GROUPS_] = {"free", "purchase", "ideal", "margin",
                                                        "job"};

/* ---- how values are written ----------------------------------------------------------------- */

static const char *gbps(struct arena *arena, double bytes_per_s)
{
    return arena_printf(arena, "%.10g Gbps", bytes_per_s * 8 / 1e9);
}

static const char *gigabytes(struct arena *arena, double bytes_per_s)
{
    return arena_printf(arena, "%.10g GB/s", bytes_per_s / 1e9);
}

static const char *microseconds(struct arena *arena, double s)
{
    return arena_printf(arena, "%.10g us", s * 1e6);
}

static void set_text(struct arena *arena, struct whatif_remedy *remedy, const char *path,
                     const char *value)
{
    sim_assert(remedy->set_count < WHATIF_SETS_MAX);
    remedy->sets[remedy->set_count++] = arena_printf(arena, "%s=%s", path, value);
}

static void set_number(struct arena *arena, struct whatif_remedy *remedy, const char *path,
                       int64_t value)
{
    set_text(arena, remedy, path, arena_printf(arena, "%lld", (long long)value));
}

/* A slope holds for little changes: its unit is the largest power of ten, `most` at most, that is
 * no more than a fifth of what is there. `remedy` changes `now` to `number` times as much. */
static void set_margin(struct arena *arena, struct whatif_remedy *remedy, const char *form,
                       double now, double most, double number)
{
    double unit = most;
    while (unit > now / 5 && now > 0) {
        unit /= 10;
    }
    remedy->unit = arena_printf(arena, form, unit);
    remedy->units = (number - 1) * now / unit;
}

/* ---- when a question arises ----------------------------------------------------------------- */

/* What is ideal already has nothing better. */
static bool crosses_network(const struct scenario *scenario)
{
    return scenario->nodes > scenario->cluster.domain_nodes && !scenario->ideal.network;
}

static bool uses_scale_up(const struct scenario *scenario)
{
    const struct cluster *cluster = &scenario->cluster;
    return scenario->gpus > 1 && cluster->gpus_per_node * cluster->domain_nodes > 1 &&
           !scenario->ideal.scale_up;
}

static bool uses_storage(const struct scenario *scenario)
{
    return (scenario->checkpoint.is_enabled || scenario->data.is_enabled) &&
           !scenario->ideal.storage;
}

/* ---- keys that say the same in one of two ways ---------------------------------------------- */

static const char *network_key(const struct scenario *scenario)
{
    return doc_find(scenario->document, "cluster.network") != NULL ? "cluster.network"
                                                                   : "cluster.nics.bandwidth";
}

static void set_network(struct arena *arena, const struct scenario *scenario, double times,
                        struct whatif_remedy *remedy)
{
    const char *key = network_key(scenario);
    const struct cluster *cluster = &scenario->cluster;
    const bool is_of_node = strcmp(key, "cluster.network") == 0;
    const double now = is_of_node ? cluster->network_bytes_per_s : cluster->nic_bytes_per_s;
    set_text(arena, remedy, key, gbps(arena, times * now));
}

static void set_storage(struct arena *arena, const struct cluster *cluster, double times,
                        struct whatif_remedy *remedy)
{
    const bool writes_each = cluster->storage_write_each_bytes_per_s > 0;
    const bool reads_each = cluster->storage_read_each_bytes_per_s > 0;
    set_text(arena, remedy,
             writes_each ? "cluster.storage.write_per_node" : "cluster.storage.write",
             gigabytes(arena, times * (writes_each ? cluster->storage_write_each_bytes_per_s
                                                   : cluster->storage_write_stated_bytes_per_s)));
    set_text(arena, remedy, reads_each ? "cluster.storage.read_per_node" : "cluster.storage.read",
             gigabytes(arena, times * (reads_each ? cluster->storage_read_each_bytes_per_s
                                                  : cluster->storage_read_stated_bytes_per_s)));
    set_text(arena, remedy, "cluster.storage.per_node",
             gigabytes(arena, times * cluster->storage_node_bytes_per_s));
}

/* The degrees of parallelism change, so replicas take what is left. */
static void set_degree(struct arena *arena, struct whatif_remedy *remedy, const char *path,
                       int64_t value)
{
    set_number(arena, remedy, path, value);
    set_text(arena, remedy, "parallel.dp", "auto");
}

/* ---- questions ------------------------------------------------------------------------------ */

/* False: it does not arise. `number` is the row's own. */
typedef bool ask_function(struct arena *arena, const struct scenario *scenario, double number,
                          struct whatif_remedy *remedy);

static bool ask_routing(struct arena *arena, const struct scenario *scenario, double number,
                        struct whatif_remedy *remedy)
{
    const uint32_t routing = (uint32_t)number;
    set_text(arena, remedy, "cluster.fabric.routing", routing_names[routing]);
    return crosses_network(scenario) && scenario->cluster.routing != routing;
}

static bool ask_checkpoint(struct arena *arena, const struct scenario *scenario, double number,
                           struct whatif_remedy *remedy)
{
    const uint32_t mode = (uint32_t)number;
    set_text(arena, remedy, "run.checkpoint.mode", checkpoint_mode_names[mode]);
    return scenario->checkpoint.is_enabled && scenario->checkpoint.mode != mode;
}

static bool ask_recompute(struct arena *arena, const struct scenario *scenario, double number,
                          struct whatif_remedy *remedy)
{
    const uint32_t kind = (uint32_t)number;
    set_text(arena, remedy, "recompute", recompute_names[kind]);
    return scenario->recompute.kind != kind;
}

/* What lies on the host is slow there; whether all of it fits on the GPU, the point says. */
static bool ask_offload(struct arena *arena, const struct scenario *scenario, double number,
                        struct whatif_remedy *remedy)
{
    (void)number;
    const struct offload *offload = &scenario->offload;
    if (offload->optimizer > 0) {
        set_text(arena, remedy, "offload.optimizer", "0 %");
    }
    if (offload->activation_layers > 0) {
        set_number(arena, remedy, "offload.activation_layers", 0);
    }
    return remedy->set_count > 0;
}

static bool ask_fp8(struct arena *arena, const struct scenario *scenario, double number,
                    struct whatif_remedy *remedy)
{
    (void)number;
    set_text(arena, remedy, "precision", precision_names[PRECISION_FP8]);
    return !precision_is_low((enum precision)scenario->precision) &&
           gpu_has_precision(&scenario->gpu, PRECISION_FP8) &&
           software_has_precision(&scenario->software, PRECISION_FP8);
}

/* Times `number`, as far as it stays whole. */
static bool scaled(int64_t value, double number, int64_t *result)
{
    const double times = (double)value * number;
    *result = (int64_t)times;
    return times >= 1 && floor(times) >= times;
}

static bool ask_micro(struct arena *arena, const struct scenario *scenario, double number,
                      struct whatif_remedy *remedy)
{
    int64_t micro;
    const bool is_whole = scaled(scenario->batch.micro, number, &micro);
    set_number(arena, remedy, "batch.micro", micro);
    return is_whole;
}

static bool ask_tp(struct arena *arena, const struct scenario *scenario, double number,
                   struct whatif_remedy *remedy)
{
    int64_t tp;
    const bool is_whole = scaled(scenario->parallel.tp, number, &tp);
    set_degree(arena, remedy, "parallel.tp", tp);
    return is_whole && tp <= scenario->gpus;
}

/* Exchanges go to more ranks, and nothing of an expert's results is gathered. */
static bool ask_etp(struct arena *arena, const struct scenario *scenario, double number,
                    struct whatif_remedy *remedy)
{
    const struct parallel *parallel = &scenario->parallel;
    set_number(arena, remedy, "parallel.etp", (int64_t)number);
    if (parallel->tp > 1 && !parallel->is_sequence_parallel) {
        set_text(arena, remedy, "parallel.sequence_parallel", "true");
    }
    return scenario->model.experts > 0 && parallel->etp != (int64_t)number;
}

/* How GPUs that share sequences exchange keys and values. */
static bool ask_context(struct arena *arena, const struct scenario *scenario, double number,
                        struct whatif_remedy *remedy)
{
    const uint32_t context = (uint32_t)number;
    set_text(arena, remedy, "parallel.cp_type", context_names[context]);
    return scenario->parallel.cp > 1 && scenario->parallel.context != context;
}

/* What is listed holds for the stages and chunks that there are. */
static void spread_layers(struct arena *arena, const struct scenario *scenario,
                          struct whatif_remedy *remedy)
{
    if (layout_lists_layers(scenario)) {
        set_text(arena, remedy, "parallel.layers_per_stage", "even");
    }
}

static bool ask_pp(struct arena *arena, const struct scenario *scenario, double number,
                   struct whatif_remedy *remedy)
{
    int64_t pp;
    const bool is_whole = scaled(scenario->parallel.pp, number, &pp);
    set_degree(arena, remedy, "parallel.pp", pp);
    if (pp == 1) {
        set_text(arena, remedy, "parallel.schedule", schedule_names[SCHEDULE_1F1B]);
    }
    spread_layers(arena, scenario, remedy);
    return is_whole && pp <= scenario->gpus && scenario->parallel.schedule_file == NULL &&
           (pp > 1 || scenario->parallel.virtual_stages == 1);
}

/* Interleaved chunks more or fewer; of a plain pipeline, two. */
static bool ask_chunks(struct arena *arena, const struct scenario *scenario, double number,
                       struct whatif_remedy *remedy)
{
    const struct parallel *parallel = &scenario->parallel;
    int64_t chunks;
    const bool is_whole = scaled(parallel->virtual_stages, number, &chunks);
    const bool is_interleaved = parallel->schedule == SCHEDULE_INTERLEAVED;
    set_text(arena, remedy, "parallel.schedule",
             schedule_names[chunks > 1 ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B]);
    set_number(arena, remedy, "parallel.virtual_stages", chunks);
    spread_layers(arena, scenario, remedy);
    return is_whole && parallel->pp > 1 &&
           (is_interleaved || (parallel->schedule == SCHEDULE_1F1B && number > 1));
}

static bool ask_zero(struct arena *arena, const struct scenario *scenario, double number,
                     struct whatif_remedy *remedy)
{
    const int64_t zero = (int64_t)number;
    set_number(arena, remedy, "parallel.zero", zero);
    return scenario->parallel.zero != zero && scenario->parallel.dp * scenario->parallel.cp > 1;
}

static bool ask_sequence_parallel(struct arena *arena, const struct scenario *scenario,
                                  double number, struct whatif_remedy *remedy)
{
    (void)number;
    set_text(arena, remedy, "parallel.sequence_parallel", "true");
    return scenario->parallel.tp > 1 && !scenario->parallel.is_sequence_parallel;
}

static bool ask_overlap_experts(struct arena *arena, const struct scenario *scenario, double number,
                                struct whatif_remedy *remedy)
{
    (void)number;
    set_text(arena, remedy, "parallel.overlap_experts", "true");
    return scenario->parallel.ep > 1 && !scenario->parallel.overlaps_experts;
}

/* What is bought is bought for idle nodes, too, where these are the job's. */
static int64_t paid_nodes(const struct scenario *scenario)
{
    return scenario->nodes + holding_placed(scenario).idle_nodes;
}

static bool ask_network(struct arena *arena, const struct scenario *scenario, double number,
                        struct whatif_remedy *remedy)
{
    set_network(arena, scenario, number, remedy);
    remedy->each = "NIC";
    remedy->pieces = paid_nodes(scenario) * scenario->cluster.nics_per_node;
    remedy->resource = "network";
    set_margin(arena, remedy, "%g Gbps a NIC", scenario->cluster.nic_bytes_per_s * 8 / 1e9, 100,
               number);
    return crosses_network(scenario);
}

/* As fast as those that are there. */
static bool ask_nics(struct arena *arena, const struct scenario *scenario, double number,
                     struct whatif_remedy *remedy)
{
    const struct cluster *cluster = &scenario->cluster;
    const int64_t nics = (int64_t)((double)cluster->nics_per_node * number);
    set_number(arena, remedy, "cluster.nics.count", nics);
    if (strcmp(network_key(scenario), "cluster.network") == 0) {
        set_network(arena, scenario, number, remedy);
    }
    remedy->each = "NIC";
    remedy->pieces = paid_nodes(scenario) * (nics - cluster->nics_per_node);
    const int64_t gpus = cluster->gpus_per_node;
    return crosses_network(scenario) && (gpus % nics == 0 || nics % gpus == 0) &&
           cluster->fabric_kind != FABRIC_EXPLICIT;
}

static bool ask_latency(struct arena *arena, const struct scenario *scenario, double number,
                        struct whatif_remedy *remedy)
{
    const double now = scenario->cluster.nic_latency_s;
    set_text(arena, remedy, "cluster.nics.latency", microseconds(arena, number * now));
    remedy->resource = "latency";
    set_margin(arena, remedy, "%g us of latency", now * 1e6, 1, number);
    return crosses_network(scenario) && now > 0;
}

static bool ask_scale_up(struct arena *arena, const struct scenario *scenario, double number,
                         struct whatif_remedy *remedy)
{
    const double now = scenario->cluster.scale_up_bytes_per_s;
    set_text(arena, remedy, "cluster.scale_up.bandwidth", gigabytes(arena, number * now));
    remedy->each = "GPU";
    remedy->pieces = (int64_t)holding_placed(scenario).gpus;
    remedy->resource = "NVLink";
    set_margin(arena, remedy, "%g GB/s a GPU", now / 1e9, 100, number);
    return uses_scale_up(scenario);
}

static bool ask_oversubscription(struct arena *arena, const struct scenario *scenario,
                                 double number, struct whatif_remedy *remedy)
{
    (void)number;
    const struct cluster *cluster = &scenario->cluster;
    if (cluster->oversubscription > 1) {
        set_text(arena, remedy, "cluster.fabric.oversubscription", "1");
    }
    if (cluster->pod_oversubscription > 1) {
        set_text(arena, remedy, "cluster.fabric.pod_oversubscription", "1");
    }
    if (cluster->global_oversubscription > 1) {
        set_text(arena, remedy, "cluster.fabric.global_oversubscription", "1");
    }
    remedy->each = "node";
    remedy->pieces = paid_nodes(scenario);
    return crosses_network(scenario) && remedy->set_count > 0;
}

static bool ask_storage(struct arena *arena, const struct scenario *scenario, double number,
                        struct whatif_remedy *remedy)
{
    set_storage(arena, &scenario->cluster, number, remedy);
    remedy->each = "node";
    remedy->pieces = paid_nodes(scenario);
    remedy->resource = "storage";
    set_margin(arena, remedy, "%g GB/s of storage",
               scenario->cluster.storage_write_bytes_per_s / 1e9, 10, number);
    return uses_storage(scenario);
}

static bool ask_slow(struct arena *arena, const struct scenario *scenario, double number,
                     struct whatif_remedy *remedy)
{
    (void)number;
    set_text(arena, remedy, "slow", "[]");
    remedy->each = "GPU";
    remedy->pieces = scenario->slow_count;
    return scenario->slow_count > 0;
}

static bool ask_workers(struct arena *arena, const struct scenario *scenario, double number,
                        struct whatif_remedy *remedy)
{
    int64_t workers;
    const bool is_whole = scaled(scenario->data.workers_per_gpu, number, &workers);
    set_number(arena, remedy, "data.workers_per_gpu", workers);
    return scenario->data.is_enabled && is_whole;
}

/* Ideals, by number. */
static bool ask_ideal(struct arena *arena, const struct scenario *scenario, double number,
                      struct whatif_remedy *remedy)
{
    const struct {
        const char *key;
        bool arises;
    } rows[] = {
        {"network", crosses_network(scenario)},
        {"scale_up", uses_scale_up(scenario)},
        {"storage", uses_storage(scenario)},
        {"host", !scenario->ideal.host},
        {"gpus",
         scenario->slow_count > 0 || jitter_spread_of(&scenario->gpu, &scenario->software) > 0},
        {"pipeline", scenario->parallel.pp > 1 && !scenario->ideal.pipeline},
    };
    const uint32_t row = (uint32_t)number;
    set_text(arena, remedy, arena_printf(arena, "ideal.%s", rows[row].key), "true");
    return rows[row].arises;
}

/* ---- another job ---------------------------------------------------------------------------- */

/* Sequences of a step, in the key that the scenario has. */
static bool set_batch(struct arena *arena, const struct scenario *scenario, int64_t sequences,
                      int64_t length, struct whatif_remedy *remedy)
{
    const bool in_tokens = doc_find(scenario->document, "batch.global_tokens") != NULL;
    set_number(arena, remedy, in_tokens ? "batch.global_tokens" : "batch.global",
               in_tokens ? sequences * length : sequences);
    return sequences >= 1;
}

static bool ask_batch(struct arena *arena, const struct scenario *scenario, double number,
                      struct whatif_remedy *remedy)
{
    int64_t sequences;
    return scaled(scenario->batch.global, number, &sequences) &&
           set_batch(arena, scenario, sequences, scenario->batch.sequence_length, remedy);
}

/* As many tokens a step. */
static bool ask_sequence(struct arena *arena, const struct scenario *scenario, double number,
                         struct whatif_remedy *remedy)
{
    int64_t length, sequences;
    if (!scaled(scenario->batch.sequence_length, number, &length) ||
        !scaled(scenario->batch.global, 1 / number, &sequences)) {
        return false;
    }
    set_number(arena, remedy, "batch.sequence_length", length);
    return set_batch(arena, scenario, sequences, length, remedy);
}

/* As many sequences a step; replicas are as many as that makes. */
static bool ask_gpus(struct arena *arena, const struct scenario *scenario, double number,
                     struct whatif_remedy *remedy)
{
    int64_t gpus;
    const bool is_whole = scaled(scenario->gpus, number, &gpus);
    set_number(arena, remedy, "gpus", gpus);
    const char *replicas = doc_find_text(scenario->document, "parallel.dp");
    if (replicas != NULL && strcmp(replicas, "auto") != 0) {
        set_text(arena, remedy, "parallel.dp", "auto");
    }
    return is_whole && scenario->neighbour_count == 0;
}

static bool ask_scale(struct arena *arena, const struct scenario *scenario, double number,
                      struct whatif_remedy *remedy)
{
    return ask_gpus(arena, scenario, number, remedy) && ask_batch(arena, scenario, number, remedy);
}

static const double GENERATION = 1.2; /* times the peak: less is the same one */

/* Whether `gpu` stands nearer to `now` than `other` does; `other` may be none. */
static bool is_nearer(const struct gpu *gpu, const struct gpu *other, const struct gpu *now)
{
    const double peak = gpu->peak_flop_per_s[PRECISION_BF16];
    const double other_peak = other->peak_flop_per_s[PRECISION_BF16];
    const double from = now->peak_flop_per_s[PRECISION_BF16];
    const double far = fabs(log(peak / from));
    const double other_far = other->name != NULL ? fabs(log(other_peak / from)) : HUGE_VAL;
    const double memory = fabs(log(gpu->memory_bytes / now->memory_bytes));
    const double other_memory = fabs(log(other->memory_bytes / now->memory_bytes));
    if (fabs(far - other_far) > 0) {
        return far < other_far;
    }
    return fabs(memory - other_memory) > 0
               ? memory < other_memory
               : gpu->memory_bandwidth_bytes_per_s > other->memory_bandwidth_bytes_per_s;
}

uint32_t whatif_gpus(struct arena *arena, const struct catalogue *catalogue,
                     const struct scenario *scenario, struct whatif_remedy *remedies)
{
    static const char *const names[WHATIF_GPUS_MAX] = {"GPUs of the next generation",
                                                       "GPUs of the generation before"};
    const struct gpu *now = &scenario->gpu;
    const double from = now->peak_flop_per_s[PRECISION_BF16];
    struct gpu nearest[WHATIF_GPUS_MAX] = {{.name = NULL}, {.name = NULL}};
    uint32_t file_count, count = 0;
    const char **files =
        catalogue_list(arena, catalogue, catalogue_folders[CATALOGUE_GPU], &file_count);
    for (uint32_t i = 0; i < file_count && from > 0; i++) {
        const struct doc_node name = {.kind = DOC_SCALAR, .text = files[i]};
        struct diag *unheard = diag_new(arena);
        const struct doc_node *file =
            catalogue_open(arena, catalogue, CATALOGUE_GPU, &name, unheard);
        struct assumptions unused;
        struct gpu gpu = {0};
        assumptions_init(&unused, arena);
        if (file == NULL || !gpu_read(file, &gpu, &unused, unheard) ||
            (gpu.announced != NULL && gpu.announced[0] != '\0')) {
            continue;
        }
        const double times = gpu.peak_flop_per_s[PRECISION_BF16] / from;
        const uint32_t after = times >= GENERATION ? 0 : 1;
        if ((after == 0 || (times > 0 && times <= 1 / GENERATION)) &&
            is_nearer(&gpu, &nearest[after], now)) {
            nearest[after] = gpu;
        }
    }
    for (uint32_t k = 0; k < WHATIF_GPUS_MAX; k++) {
        if (nearest[k].name != NULL) {
            remedies[count] = (struct whatif_remedy){
                .name = arena_printf(arena, "%s (%s)", names[k], nearest[k].name),
                .group = WHATIF_JOB,
                .costs_usd = ABSENT};
            set_text(arena, &remedies[count++], "gpu", nearest[k].name);
        }
    }
    return count;
}

static const double MARGIN = 0.05;

static const struct question {
    const char *name;
    enum whatif_group group;
    ask_function *ask;
    double number; /* the question's own: a factor, or which of some */
} questions[] = {
    {"adaptive routing", WHATIF_FREE, ask_routing, ROUTING_ADAPTIVE},
    {"asynchronous checkpoints", WHATIF_FREE, ask_checkpoint, CHECKPOINT_ASYNC},
    {"no recomputation", WHATIF_FREE, ask_recompute, RECOMPUTE_NONE},
    {"selective recomputation", WHATIF_FREE, ask_recompute, RECOMPUTE_SELECTIVE},
    {"full recomputation", WHATIF_FREE, ask_recompute, RECOMPUTE_FULL},
    {"without offload", WHATIF_FREE, ask_offload, 0},
    {"fp8", WHATIF_FREE, ask_fp8, 0},
    {"twice the microbatch", WHATIF_FREE, ask_micro, 2},
    {"half the microbatch", WHATIF_FREE, ask_micro, 0.5},
    {"tp twice", WHATIF_FREE, ask_tp, 2},
    {"tp half", WHATIF_FREE, ask_tp, 0.5},
    {"experts whole on a GPU", WHATIF_FREE, ask_etp, 1},
    {"keys in a ring", WHATIF_FREE, ask_context, CONTEXT_RING},
    {"keys gathered", WHATIF_FREE, ask_context, CONTEXT_ALL_GATHER},
    {"heads exchanged for keys", WHATIF_FREE, ask_context, CONTEXT_ULYSSES},
    {"pp twice", WHATIF_FREE, ask_pp, 2},
    {"pp half", WHATIF_FREE, ask_pp, 0.5},
    {"more interleaving", WHATIF_FREE, ask_chunks, 2},
    {"less interleaving", WHATIF_FREE, ask_chunks, 0.5},
    {"ZeRO 1", WHATIF_FREE, ask_zero, 1},
    {"ZeRO 2", WHATIF_FREE, ask_zero, 2},
    {"ZeRO 3", WHATIF_FREE, ask_zero, 3},
    {"sequence parallelism", WHATIF_FREE, ask_sequence_parallel, 0},
    {"exchanges beside compute", WHATIF_FREE, ask_overlap_experts, 0},
    {"twice the loaders", WHATIF_FREE, ask_workers, 2},

    {"NICs twice as fast", WHATIF_PURCHASE, ask_network, 2},
    {"twice the NICs", WHATIF_PURCHASE, ask_nics, 2},
    {"half the network's latency", WHATIF_PURCHASE, ask_latency, 0.5},
    {"NVLink twice as fast", WHATIF_PURCHASE, ask_scale_up, 2},
    {"a fabric of 1:1", WHATIF_PURCHASE, ask_oversubscription, 0},
    {"storage twice as fast", WHATIF_PURCHASE, ask_storage, 2},
    {"slow GPUs replaced", WHATIF_PURCHASE, ask_slow, 0},

    {"ideal network", WHATIF_IDEAL, ask_ideal, 0},
    {"ideal NVLink", WHATIF_IDEAL, ask_ideal, 1},
    {"ideal storage", WHATIF_IDEAL, ask_ideal, 2},
    {"ideal host", WHATIF_IDEAL, ask_ideal, 3},
    {"equal GPUs, no jitter", WHATIF_IDEAL, ask_ideal, 4},
    {"no waits in the pipeline", WHATIF_IDEAL, ask_ideal, 5},

    {"network +5 %", WHATIF_MARGIN, ask_network, 1 + MARGIN},
    {"network -5 %", WHATIF_MARGIN, ask_network, 1 - MARGIN},
    {"latency +5 %", WHATIF_MARGIN, ask_latency, 1 + MARGIN},
    {"latency -5 %", WHATIF_MARGIN, ask_latency, 1 - MARGIN},
    {"NVLink +5 %", WHATIF_MARGIN, ask_scale_up, 1 + MARGIN},
    {"NVLink -5 %", WHATIF_MARGIN, ask_scale_up, 1 - MARGIN},
    {"storage +5 %", WHATIF_MARGIN, ask_storage, 1 + MARGIN},
    {"storage -5 %", WHATIF_MARGIN, ask_storage, 1 - MARGIN},

    {"a quarter of the batch", WHATIF_JOB, ask_batch, 0.25},
    {"half the batch", WHATIF_JOB, ask_batch, 0.5},
    {"twice the batch", WHATIF_JOB, ask_batch, 2},
    {"four times the batch", WHATIF_JOB, ask_batch, 4},
    {"half the sequence", WHATIF_JOB, ask_sequence, 0.5},
    {"twice the sequence", WHATIF_JOB, ask_sequence, 2},
    {"half the GPUs", WHATIF_JOB, ask_gpus, 0.5},
    {"twice the GPUs", WHATIF_JOB, ask_gpus, 2},
    {"twice the GPUs and batch", WHATIF_JOB, ask_scale, 2},
    {"eight times the GPUs and batch", WHATIF_JOB, ask_scale, 8},
};
enum { QUESTIONS = sizeof questions / sizeof *questions };

struct whatif_remedy *whatif_remedies(struct arena *arena, const struct scenario *scenario,
                                      unsigned groups, uint32_t *count)
{
    struct whatif_remedy *remedies =
        arena_array(arena, QUESTIONS + 1 + WHATIF_GPUS_MAX, sizeof *remedies);
    *count = 0;
    for (uint32_t i = 0; i < QUESTIONS; i++) {
        const struct question *question = &questions[i];
        struct whatif_remedy remedy = {
            .name = question->name, .group = question->group, .costs_usd = ABSENT};
        if ((groups & 1u << question->group) != 0 &&
            question->ask(arena, scenario, question->number, &remedy)) {
            remedies[(*count)++] = remedy;
        }
    }
    return remedies;
}

/* ---- what the software has ------------------------------------------------------------------ */

/* The scenario with it; NULL: it cannot be. */
static const struct scenario *changed_by(struct arena *arena, const struct whatif_asked *asked,
                                         const struct whatif_remedy *remedy)
{
    const struct study_base *base = asked->base;
    const char **sets = arena_array(arena, base->set_count + remedy->set_count + 1u, sizeof *sets);
    uint32_t set_count = 0;
    for (size_t i = 0; i < base->set_count; i++) {
        sets[set_count++] = base->sets[i];
    }
    for (size_t i = 0; i < remedy->set_count; i++) {
        sets[set_count++] = remedy->sets[i];
    }
    return scenario_resolve(arena, asked->document, base->catalogue, sets, set_count,
                            diag_new(arena));
}

/* What it asks for and the software lacks, in words; NULL: nothing, or it cannot be. */
static const char *lack_of(struct arena *arena, const struct whatif_asked *asked,
                           const struct whatif_remedy *remedy)
{
    const struct scenario *changed = changed_by(arena, asked, remedy);
    if (changed == NULL) {
        return NULL;
    }
    const struct feature_set lacked = features_added(asked->scenario, changed);
    struct feature features[FEATURES_MAX];
    const uint32_t count = features_of_set(changed, &lacked, features);
    return count > 0 ? features_words(arena, features, count) : NULL;
}

uint32_t whatif_obey(struct arena *arena, const struct whatif_asked *asked,
                     struct whatif_remedy *remedies, uint32_t count, const char **left_out)
{
    uint32_t kept = 0;
    *left_out = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const char *lack = lack_of(arena, asked, &remedies[i]);
        if (lack == NULL) {
            remedies[kept++] = remedies[i];
            continue;
        }
        *left_out = arena_printf(arena, "%s%s%s (%s)", *left_out != NULL ? *left_out : "",
                                 *left_out != NULL ? ", " : "", remedies[i].name, lack);
    }
    return kept;
}

/* ---- what it costs -------------------------------------------------------------------------- */

/* Of each GPU; ABSENT: a part of its network has no price. */
static double network_gpu_usd(struct arena *arena, const struct scenario *scenario,
                              const struct price_list *prices)
{
    const struct network_order order = {
        .cluster = &scenario->cluster, .nodes = scenario->nodes, .prices = prices};
    struct network_bill bill;
    return network_bill_of(arena, &order, &bill)
               ? bill.gpu_usd * (1 - scenario->price.network_discount)
               : ABSENT;
}

static bool is_of_network(const struct whatif_remedy *remedy)
{
    static const char *const keys[] = {"cluster.network=", "cluster.nics.", "cluster.fabric."};
    bool is_found = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && remedy->set_count > 0; i++) {
        is_found = is_found || strncmp(remedy->sets[0], keys[i], strlen(keys[i])) == 0;
    }
    return remedy->group == WHATIF_PURCHASE && remedy->each != NULL && is_found;
}

void whatif_price(struct arena *arena, const struct whatif_asked *asked,
                  struct whatif_remedy *remedies, uint32_t count)
{
    const struct scenario *now = asked->scenario;
    const struct price_list *own = now->price.network_prices;
    const struct price_list *prices =
        own != NULL
            ? own
            : price_list_open(arena, asked->base->catalogue, PRICES_DEFAULT, diag_new(arena));
    const double now_usd = prices != NULL ? network_gpu_usd(arena, now, prices) : ABSENT;
    const double gpus = (double)(paid_nodes(now) * now->cluster.gpus_per_node);
    for (uint32_t i = 0; i < count; i++) {
        struct whatif_remedy *remedy = &remedies[i];
        const struct scenario *changed =
            is_of_network(remedy) && !is_absent(now_usd) ? changed_by(arena, asked, remedy) : NULL;
        const double usd = changed != NULL ? network_gpu_usd(arena, changed, prices) : ABSENT;
        remedy->costs_usd =
            is_absent(usd) ? ABSENT : (usd - now_usd) * gpus / (double)remedy->pieces;
    }
}

/* ---- the best layout ------------------------------------------------------------------------ */

/* What a key makes of a scenario depends on others: with tp 1 nothing is cut along the sequence,
 * without a pipeline there is no schedule. Where these change it is said, too. */
static bool hangs_on(enum search_axis axis, enum search_axis other)
{
    const bool is_of_pipeline = axis == SEARCH_SCHEDULE || axis == SEARCH_VIRTUAL_STAGES;
    return (axis == SEARCH_SEQUENCE_PARALLEL && other == SEARCH_TP) ||
           (is_of_pipeline &&
            (other == SEARCH_PP || other == SEARCH_SCHEDULE || other == SEARCH_VIRTUAL_STAGES));
}

static bool differs(struct arena *arena, const struct relayout *now, const struct relayout *found,
                    enum search_axis axis)
{
    return strcmp(search_layout_value(arena, now, axis), search_layout_value(arena, found, axis)) !=
           0;
}

bool whatif_layout(struct arena *arena, const struct doc_node *document,
                   const struct study_base *base, const struct scenario *scenario,
                   struct whatif_remedy *remedy)
{
    struct auto_layout found;
    if (scenario->plan.stage_count > 1 ||
        !search_usual_find(arena, document, base, &found, diag_new(arena)) || !found.is_found) {
        return false;
    }
    *remedy = (struct whatif_remedy){
        .name = "the best layout", .is_found = true, .group = WHATIF_FREE, .costs_usd = ABSENT};
    const struct relayout now = relayout_of(scenario);
    for (uint32_t i = 0; i < SEARCH_OFFLOAD_OPTIMIZER; i++) {
        const enum search_axis axis = (enum search_axis)i;
        bool is_said = differs(arena, &now, &found.layout, axis);
        for (uint32_t k = 0; k < SEARCH_OFFLOAD_OPTIMIZER; k++) {
            const enum search_axis other = (enum search_axis)k;
            is_said =
                is_said || (hangs_on(axis, other) && differs(arena, &now, &found.layout, other));
        }
        if (is_said && search_layout_set(arena, &found.layout, axis) != NULL) {
            set_text(arena, remedy, search_axis_paths[i],
                     search_layout_value(arena, &found.layout, axis));
        }
    }
    const bool is_another = remedy->set_count > 0;
    const char *replicas = doc_find_text(scenario->document, "parallel.dp");
    if (replicas != NULL && strcmp(replicas, "auto") != 0) {
        set_text(arena, remedy, "parallel.dp", "auto");
    }
    return is_another;
}

/* ---- points --------------------------------------------------------------------------------- */

static void add_sets(const struct whatif_remedy *remedy, struct study_point *point)
{
    sim_assert(remedy != NULL);
    for (uint32_t i = 0; i < remedy->set_count; i++) {
        point->sets[point->set_count++] = remedy->sets[i];
    }
}

static void fill_point(struct arena *arena, const struct whatif_question *question,
                       const struct study_base *base, const struct whatif_remedy *remedy,
                       struct study_point *point)
{
    const uint32_t most = base->set_count + WHATIF_SETS_MAX * (question->with_count + 1);
    *point = (struct study_point){.document = question->document,
                                  .label = remedy != NULL ? remedy->name : "as it is",
                                  .sets = arena_array(arena, most + 1, sizeof *point->sets)};
    for (uint32_t i = 0; i < base->set_count; i++) {
        point->sets[point->set_count++] = base->sets[i];
    }
    for (uint32_t i = 0; i < question->with_count; i++) {
        add_sets(&question->remedies[question->with[i]], point);
    }
    if (remedy != NULL) {
        add_sets(remedy, point);
    }
    point->axis_count = 2;
    point->axes[0] = "whatif";
    point->value_texts[0] = point->label;
    point->values[0] = ABSENT;
    point->axes[1] = "group";
    point->value_texts[1] = remedy != NULL ? whatif_group_names[remedy->group] : "now";
    point->values[1] = ABSENT;
}

bool whatif_study(struct arena *arena, const struct whatif_question *question,
                  const struct study_base *base, struct study *study, struct diag *diag)
{
    *study = (struct study){
        .kind = "whatif",
        .points = arena_array(arena, question->asked_count + 1u, sizeof *study->points)};
    if (question->has_now) {
        fill_point(arena, question, base, NULL, &study->points[study->count++]);
    }
    for (uint32_t i = 0; i < question->asked_count; i++) {
        fill_point(arena, question, base, &question->remedies[question->asked[i]],
                   &study->points[study->count++]);
    }
    return study_of_points(arena, question->document, base, study, diag);
}
