/* Resolve the document, read it by its schema, check it. Checks wait
 * until everything could be read: a size that is not known cannot divide.
 */
#include "input/scenario_load.h"

#include "input/collectives.h"
#include "input/extent.h"
#include "input/failures/recovery.h"
#include "input/failures/replaced_nodes.h"
#include "input/feasible.h"
#include "input/job/batch.h"
#include "input/job/price.h"
#include "input/layout.h"
#include "input/model.h"
#include "input/network/network_bill.h"
#include "input/network/site_power.h"
#include "input/resolve.h"
#include "input/run/run_plan.h"
#include "input/scenario.h"
#include "input/scenario_keys.h"
#include "input/software.h"
#include "input/study/ideal.h"
#include "input/study/title.h"
#include "input/training.h"

#include "base/arena.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct doc_node *scenario_load_document(struct arena *arena, const char *path, struct diag *diag)
{
    return doc_load(arena, path, diag);
}

/* ---- the whole ---- */

static bool read_scenario(struct scenario *scenario, struct diag *diag)
{
    struct doc_map map;
    if (!doc_map_open(&map, scenario->document, diag)) {
        return false;
    }
    assumptions_take(&scenario->assumptions, &map, "scenario");
    scenario->title = scenario->file != NULL ? scenario->file : "";
    schema_read(&scenario_schema, &map, scenario, &scenario->assumptions);
    return doc_finish(&map);
}

/* "a, b or c": the names whose bit in `mask` is set. */
static const char *names_text(struct arena *arena, const char *const *names, uint32_t count,
                              uint32_t mask)
{
    const char *text = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if ((mask & (1u << i)) != 0) {
            text = text == NULL ? names[i] : arena_printf(arena, "%s, %s", text, names[i]);
        }
    }
    return text != NULL ? text : "none";
}

static const struct place *place_of(const struct doc_node *root, const char *path)
{
    const struct doc_node *node = doc_find(root, path);
    return node != NULL ? &node->place : &root->place;
}

static bool check_precision(struct arena *arena, const struct scenario *scenario, struct diag *diag)
{
    const struct gpu *gpu = &scenario->gpu;
    uint32_t supported = 0;
    for (uint32_t i = 0; i < PRECISION_COUNT_; i++) {
        supported |= gpu_has_precision(gpu, i) ? 1u << i : 0u;
    }
    const struct place *place = place_of(scenario->document, "precision");
    const char *name = precision_names[scenario->precision];
    if ((supported & (1u << scenario->precision)) == 0) {
        diag_add(diag, DIAG_INFEASIBLE, place, "gpu %s has no peak for precision %s", gpu->name,
                 name);
        diag_help(diag, "it has %s",
                  names_text(arena, precision_names, PRECISION_COUNT_, supported));
        return false;
    }
    if (!software_has_precision(&scenario->software, scenario->precision)) {
        diag_add(diag, DIAG_INFEASIBLE, place, "software %s does not train in %s",
                 scenario->software.name, name);
        diag_help(diag, "use bf16, or a profile with a section fp8");
        return false;
    }
    return true;
}

/* Communication leaves some of the GPU's SMs, what is set aside and what an exchange takes. */
static bool check_sms(const struct scenario *scenario, struct diag *diag)
{
    const struct {
        const char *key;
        int64_t sms;
    } rows[] = {{"sms", scenario->software.reserved_sms},
                {"expert_sms", scenario->software.expert_sms}};
    bool is_good = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].sms < scenario->gpu.sms) {
            continue;
        }
        char path[64];
        snprintf(path, sizeof path, "software.interference.%s", rows[i].key);
        diag_add(diag, DIAG_INFEASIBLE, place_of(scenario->document, path),
                 "%" PRId64 " SMs set aside for communication leave none of the %" PRId64
                 " of gpu %s",
                 rows[i].sms, scenario->gpu.sms, scenario->gpu.name);
        diag_help(diag, "set %s to fewer", path);
        is_good = false;
    }
    return is_good;
}

static double capped_gpu_w(const struct scenario *scenario)
{
    const struct power_cap *cap = &scenario->power_cap;
    const struct site_power power = site_power_of(&scenario->cluster, scenario->nodes, NULL);
    return cap->gpu_w > 0
               ? cap->gpu_w
               : (cap->site_w / scenario->price.pue - power.beside_gpus_w) / (double)scenario->gpus;
}

/* Waiting GPUs draw what they draw: a cap has to leave something to compute with. */
static bool settle_power_cap(struct scenario *scenario, struct diag *diag)
{
    const struct power_cap *cap = &scenario->power_cap;
    struct gpu *gpu = &scenario->gpu;
    gpu->power_cap_w = 0.0;
    if (cap->gpu_w > 0 && cap->site_w > 0) {
        diag_add(diag, DIAG_INPUT, place_of(scenario->document, "power_cap"),
                 "power_cap has the power of a GPU and that of the site");
        diag_help(diag, "write one of them");
        return false;
    }
    if (cap->gpu_w <= 0 && cap->site_w <= 0) {
        return true;
    }
    const double idle_w = gpu->tdp_w * gpu->idle_power_fraction;
    const double gpu_w = capped_gpu_w(scenario);
    if (gpu_w <= idle_w && cap->gpu_w > 0) {
        diag_add(diag, DIAG_INFEASIBLE, place_of(scenario->document, "power_cap.gpu"),
                 "a cap of %.4g W leaves nothing to compute with: gpu %s draws %.4g W while it "
                 "waits",
                 gpu_w, gpu->name, idle_w);
        diag_help(diag, "its TDP is %.4g W; write a cap between the two", gpu->tdp_w);
        return false;
    }
    if (gpu_w <= idle_w) {
        diag_add(diag, DIAG_INFEASIBLE, place_of(scenario->document, "power_cap.site"),
                 "a cap of %.4g kW leaves nothing to compute with: %" PRId64
                 " GPUs that wait draw %.4g kW with nodes, network, storage and facility",
                 cap->site_w / 1e3, scenario->gpus,
                 site_power_w(scenario, (double)scenario->gpus * idle_w) / 1e3);
        diag_help(diag,
                  "at their TDP they draw %.4g kW; write a cap between the two, or use fewer "
                  "GPUs",
                  site_power_w(scenario, (double)scenario->gpus * gpu->tdp_w) / 1e3);
        return false;
    }
    gpu->power_cap_w = gpu_w < gpu->tdp_w ? gpu_w : 0.0;
    return true;
}

/* A framework takes the newest attention kernel that the GPU has; fused ones are for 16 bits. */
static void choose_attention(struct arena *arena, struct scenario *scenario)
{
    const bool is_half = precision_bytes(scenario->precision) == 2;
    uint32_t kind = is_half ? scenario->software.attention : (uint32_t)ATTENTION_UNFUSED;
    while (kind != ATTENTION_UNFUSED && !gpu_has_attention(&scenario->gpu, kind)) {
        kind--;
    }
    scenario->software.attention = kind;
    const bool is_low =
        software_attends_low(&scenario->software, (enum precision)scenario->precision, false);
    for (uint32_t i = 0; i < ATTENTION_COUNT_; i++) {
        if (i != kind && !(is_low && i == ATTENTION_CUDNN_FP8)) {
            assumptions_drop(&scenario->assumptions,
                             arena_printf(arena, "gpu.attention.%s", attention_names[i]));
        }
    }
}

static bool check_attention(const struct scenario *scenario, struct diag *diag)
{
    const struct gpu *gpu = &scenario->gpu;
    if (!precision_is_low((enum precision)scenario->precision) || !scenario->software.low.attends) {
        return true;
    }
    const struct place *place = place_of(scenario->document, "software.fp8.attention");
    if (scenario->software.attention == ATTENTION_UNFUSED) {
        diag_add(diag, DIAG_INFEASIBLE, place, "attention that is not fused has no fp8");
        diag_help(diag,
                  "set software.attention to a kernel that gpu %s has, or "
                  "software.fp8.attention to false",
                  gpu->name);
        return false;
    }
    if (!gpu_has_attention(gpu, ATTENTION_CUDNN_FP8)) {
        diag_add(diag, DIAG_INFEASIBLE, place, "gpu %s has no attention in fp8", gpu->name);
        diag_help(diag, "give it a section attention.%s, or set software.fp8.attention to false",
                  attention_names[ATTENTION_CUDNN_FP8]);
        return false;
    }
    return true;
}

/* What the software computes cross-entropy by; the scenario's choice goes into its profile, which
 * kernels and memory are asked by. */
static bool settle_loss(struct arena *arena, struct scenario *scenario, struct diag *diag)
{
    struct software *software = &scenario->software;
    const struct loss_way *loss = &scenario->loss;
    const uint32_t known = software->losses | 1u << software->loss.kind;
    const struct doc_node *chunk = doc_find(scenario->document, "loss.chunk");
    if ((known & 1u << loss->kind) == 0) {
        diag_add(diag, DIAG_INFEASIBLE, place_of(scenario->document, "loss.kind"),
                 "software %s has no %s loss", software->name, loss_kind_names[loss->kind]);
        diag_help(diag, "it has %s; where yours has that kernel: --set software.loss.kind=%s",
                  names_text(arena, loss_kind_names, LOSS_COUNT_, known),
                  loss_kind_names[loss->kind]);
        return false;
    }
    if (chunk != NULL && loss->kind != LOSS_CHUNKED && loss->kind != LOSS_LINEAR) {
        diag_add(diag, DIAG_INPUT, &chunk->place, "a loss of kind %s has no chunks",
                 loss_kind_names[loss->kind]);
        diag_help(diag, "leave loss.chunk out, or set loss.kind to chunked or linear");
        return false;
    }
    const struct loss_way own = software->loss; /* what is no key of a scenario */
    software->loss = *loss;
    software->loss.has_fp32_logits = own.has_fp32_logits;
    software->loss.fuses_fp32 = own.fuses_fp32;
    return true;
}

/* Constants of precisions that the run does not multiply in. */
static void drop_other_precisions(struct arena *arena, struct scenario *scenario)
{
    for (uint32_t i = PRECISION_FP8; i < PRECISION_COUNT_; i++) {
        if (i != scenario->precision) {
            assumptions_drop(&scenario->assumptions,
                             arena_printf(arena, "gpu.gemm_%s", precision_names[i]));
        }
    }
    if (!precision_is_low((enum precision)scenario->precision)) {
        assumptions_drop(&scenario->assumptions, "software.fp8");
        assumptions_drop(&scenario->assumptions, "software.experts");
    }
}

/* ---- what the network is bought for ---- */

static bool refuse_network(const struct scenario *scenario, const char *path, const char *why,
                           const char *help, struct diag *diag)
{
    diag_add(diag, DIAG_INPUT, place_of(scenario->document, path), "%s", why);
    diag_help(diag, "%s", help);
    return false;
}

/* Part by part. Where that has no price, owned GPUs have none; of rented ones only months until
 * buying breaks even hang on it, and a network for nothing is an assumption. */
static bool settle_network(struct arena *arena, struct scenario *scenario, struct diag *diag)
{
    struct price *price = &scenario->price;
    assumptions_drop(&scenario->assumptions, "prices");
    price->network_gpu_usd = 0;
    if (price->network_prices == NULL) {
        return true;
    }
    if (doc_find(scenario->document, "price.own.network") != NULL) {
        return refuse_network(scenario, "price.own.network",
                              "price.own.network and price.network both say what the network costs",
                              "keep one: a share of the GPUs, or its parts", diag);
    }
    const struct network_order order = {.cluster = &scenario->cluster,
                                        .nodes = scenario->nodes,
                                        .prices = price->network_prices,
                                        .nic_in_price_bytes_per_s = price->own.nic_bytes_per_s};
    struct network_bill bill;
    const bool has_bill = network_bill_of(arena, &order, &bill);
    if (!has_bill && price->terms == TERMS_OWN) {
        return refuse_network(scenario, bill.about, bill.why, bill.help, diag);
    }
    price->network_gpu_usd = has_bill ? bill.gpu_usd * (1 - price->network_discount) : 0;
    const struct assumption assumption = {
        .name = has_bill ? "price.network.prices" : "price.own.network",
        .value = has_bill ? price->network_prices->name : "0 %",
        .reason =
            has_bill ? "most of its prices follow by rate from few that were published" : bill.why};
    assumptions_add(&scenario->assumptions, &assumption);
    return true;
}

static bool check_scenario(struct arena *arena, struct scenario *scenario, struct diag *diag)
{
    bool is_good = feasible_check(arena, scenario, diag);
    is_good = check_precision(arena, scenario, diag) && is_good;
    is_good = check_sms(scenario, diag) && is_good;
    is_good = settle_power_cap(scenario, diag) && is_good;
    choose_attention(arena, scenario);
    is_good = check_attention(scenario, diag) && is_good;
    is_good = settle_loss(arena, scenario, diag) && is_good;
    drop_other_precisions(arena, scenario);
    training_settle(scenario);
    if (!model_has(&scenario->model, layer_scans)) {
        assumptions_drop(&scenario->assumptions, "software.scan_kernels");
    }
    if (!model_has(&scenario->model, layer_chooses)) {
        assumptions_drop(&scenario->assumptions, "software.sparse_kernels");
    }
    if (scenario->offload.optimizer <= 0) {
        assumptions_drop(&scenario->assumptions, "software.host.update");
    }
    is_good = is_good && training_check(scenario, diag);
    is_good = is_good && collectives_check(&scenario->library, scenario->gpu.architecture, diag);
    if (!software_captures(&scenario->software, GRAPH_ITERATION)) {
        assumptions_drop(&scenario->assumptions, "software.host.per_replay");
    }
    if (!software_captures_any(&scenario->software)) {
        assumptions_drop(&scenario->assumptions, "gpu.launch.in_graph");
    }
    is_good = is_good && extent_check(scenario, diag);
    is_good = is_good && settle_network(arena, scenario, diag);
    is_good = is_good && recovery_settle(scenario, diag);
    if (is_good) {
        ideal_settle(arena, scenario);
    }
    return is_good;
}

/* See struct batch. Layers with tokens of their own (of images) are not packed. */
static void set_documents(struct scenario *scenario)
{
    const struct batch *batch = &scenario->batch;
    const double spread = batch->document_spread;
    const double length = round((double)batch->document_length * (1.0 + spread * spread));
    const double most = (double)batch->sequence_length;
    for (uint32_t i = 0; i < scenario->model.kind_count; i++) {
        struct layer_kind *kind = &scenario->model.kinds[i];
        kind->document = kind->tokens > 0 ? 0 : (int64_t)fmin(length, most);
    }
}

/* First and last layers in 16 bits beside fewer are kinds of layers of their own. */
static bool settle_high_layers(struct scenario *scenario, struct diag *diag)
{
    const struct low_precision *low = &scenario->software.low;
    struct model *model = &scenario->model;
    const int64_t layers = model->layers - model->block_layers;
    if (!precision_is_low((enum precision)scenario->precision) ||
        low->first_layers + low->last_layers == 0) {
        return true;
    }
    if (low->first_layers + low->last_layers > layers) {
        diag_add(diag, DIAG_INFEASIBLE,
                 place_of(scenario->document, low->last_layers > 0 ? "software.fp8.last_layers"
                                                                   : "software.fp8.first_layers"),
                 "%" PRId64 " first and %" PRId64
                 " last layers in 16 bits are more than the %" PRId64 " of model %s",
                 low->first_layers, low->last_layers, layers, model->name);
        diag_help(diag, "set fewer, or precision to bf16 where all are");
        return false;
    }
    model_raise(model, low->first_layers, low->last_layers);
    return true;
}

/* A resolved document's scenario but for its jobs. */
static struct scenario *read_alone(struct arena *arena, const struct doc_node *root,
                                   struct diag *diag)
{
    struct scenario *scenario = arena_alloc(arena, sizeof *scenario);
    scenario->file = root->place.file;
    scenario->document = root;
    assumptions_init(&scenario->assumptions, arena);
    if (!read_scenario(scenario, diag) || !settle_high_layers(scenario, diag)) {
        return NULL;
    }
    set_documents(scenario);
    return check_scenario(arena, scenario, diag) ? scenario : NULL;
}

/* ---- jobs ---- */

enum { JOBS_MAX = 64 };

static bool read_job(struct arena *arena, const struct doc_node *entry, struct scenario *scenario,
                     struct diag *diag)
{
    struct doc_map map;
    if (!doc_map_open(&map, entry, diag)) {
        return false;
    }
    struct scenario *job = read_alone(arena, doc_find(entry, "scenario"), diag);
    if (job == NULL) {
        return false;
    }
    job->resolved_text = doc_to_text(arena, job->document);
    schema_read(&scenario_job_keys, &map, job, &job->assumptions);
    scenario->neighbours[scenario->neighbour_count++] = job;
    return doc_finish(&map);
}

/* Before: the document has been resolved, with the jobs' own scenarios put in. */
static bool read_jobs(struct arena *arena, struct scenario *scenario, struct diag *diag)
{
    const struct doc_node *list = doc_find(scenario->document, "jobs");
    if (list == NULL) {
        return true;
    }
    if (list->kind != DOC_SEQUENCE || doc_child_count(list) > JOBS_MAX) {
        diag_add(diag, DIAG_INPUT, &list->place, "jobs must be a list of at most %d", JOBS_MAX);
        diag_help(diag, "write it like [{scenario: other.yaml, placement: spread}]");
        return false;
    }
    scenario->neighbours =
        arena_array(arena, doc_child_count(list) + 1u, sizeof *scenario->neighbours);
    bool is_good = true;
    for (const struct doc_node *entry = list->child; entry; entry = entry->next) {
        is_good = read_job(arena, entry, scenario, diag) && is_good;
    }
    return is_good;
}

/* All jobs must find room on the cluster. */
static bool check_jobs(const struct scenario *scenario, struct diag *diag)
{
    const bool spares =
        recovery_has_failures(scenario) && scenario->recovery.spares_at == RECOVERY_SPARES_AT_END;
    int64_t nodes =
        scenario->nodes + scenario->replaced_count + (spares ? scenario->recovery.spares : 0);
    for (uint32_t i = 0; i < scenario->neighbour_count; i++) {
        nodes += scenario->neighbours[i]->nodes;
    }
    const int64_t per_node = scenario->cluster.gpus_per_node;
    const int64_t nodes_max = cluster_nodes_max(&scenario->cluster);
    const bool fits_cluster = nodes_max == 0 || nodes <= nodes_max;
    if (fits_cluster && nodes * per_node <= SCENARIO_GPUS_MAX) {
        return true;
    }
    const struct doc_node *jobs = doc_find(scenario->document, "jobs");
    diag_add(diag, DIAG_INFEASIBLE, jobs != NULL ? &jobs->place : &scenario->document->place,
             spares ? "all jobs and the spares at their end need %lld nodes"
                    : "all jobs together need %lld nodes",
             (long long)nodes);
    diag_help(diag, "the cluster may have at most %lld",
              (long long)(fits_cluster ? SCENARIO_GPUS_MAX / per_node : nodes_max));
    return false;
}

static struct scenario *read_with_jobs(struct arena *arena, const struct resolve_input *input,
                                       struct diag *diag)
{
    const struct doc_node *root = resolve_document(arena, input, diag);
    if (root == NULL) {
        return NULL;
    }
    struct scenario *scenario = read_alone(arena, root, diag);
    const bool is_good = scenario != NULL && read_jobs(arena, scenario, diag) &&
                         check_jobs(scenario, diag) && replaced_nodes_check(scenario, diag);
    return is_good ? scenario : NULL;
}

/* With the text that its key is made of. */
static struct scenario *read_whole(struct arena *arena, const struct resolve_input *input,
                                   struct diag *diag)
{
    struct scenario *scenario = read_with_jobs(arena, input, diag);
    if (scenario != NULL) {
        scenario->resolved_text = doc_to_text(arena, scenario->document);
    }
    return scenario;
}

/* ---- stages of the run ---- */

/* Another number of GPUs, or another layout on them, is another job. */
static bool is_another_job(const struct scenario *a, const struct scenario *b)
{
    return a->gpus != b->gpus || a->parallel.tp != b->parallel.tp ||
           a->parallel.cp != b->parallel.cp || a->parallel.pp != b->parallel.pp ||
           a->parallel.dp != b->parallel.dp || a->parallel.ep != b->parallel.ep;
}

static bool settle_restart(const struct run_stage *before, struct run_stage *stage,
                           struct diag *diag)
{
    const struct doc_node *says = doc_find(stage->node, "restart");
    const bool must = is_another_job(before->scenario, stage->scenario);
    if (must && says != NULL && !stage->restarts) {
        diag_add(diag, DIAG_INPUT, &says->place,
                 "stage '%s' has other GPUs or another layout than the one before, which takes a "
                 "restart",
                 stage->name);
        diag_help(diag, "leave restart out, or write true");
        return false;
    }
    stage->restarts = stage->restarts || must;
    return true;
}

/* A stage that sets nothing is the scenario. Spares are the run's, whatever its nodes are. */
static bool resolve_stage(struct arena *arena, const struct resolve_input *whole,
                          const struct scenario *scenario, struct run_stage *stage,
                          struct diag *diag)
{
    struct resolve_input input = *whole;
    input.is_stage = true;
    input.stage_set = stage->set;
    struct scenario *own = read_whole(arena, &input, diag);
    if (own == NULL) {
        return false;
    }
    if (stage->step_time_s > 0) {
        own->step_time_s = stage->step_time_s;
    }
    own->run_tokens = scenario->run_tokens;
    own->recovery.spares = scenario->recovery.spares;
    own->recovery.hot_spares = scenario->recovery.hot_spares;
    stage->scenario = own;
    return check_jobs(own, diag);
}

static bool resolve_stages(struct arena *arena, const struct resolve_input *whole,
                           struct scenario *scenario, struct diag *diag)
{
    struct run_plan *plan = &scenario->plan;
    bool is_good = true;
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        is_good = resolve_stage(arena, whole, scenario, &plan->stages[i], diag) && is_good;
    }
    for (uint32_t i = 1; is_good && i < plan->stage_count; i++) {
        is_good = settle_restart(&plan->stages[i - 1], &plan->stages[i], diag);
    }
    return is_good;
}

/* What is reserved and costs what rent does is a slip, unless it was said. */
static void warn_of_reserved(const struct scenario *scenario, struct diag *diag)
{
    const struct doc_node *terms = doc_find(scenario->document, "price.terms");
    const bool is_said = doc_find(scenario->document, "price.reserved_discount") != NULL;
    if (scenario->price.terms == TERMS_RESERVED && terms != NULL && !is_said) {
        diag_add(diag, DIAG_WARNING, &terms->place,
                 "a reserved GPU costs what a rented one does: there is no discount");
        diag_help(diag,
                  "say price.reserved_discount: 40 %%, as a share of gpu_hour; or 0 %%, if so");
    }
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* A profile that was written out as the catalogue has it says no more than its name. */
static bool is_of_catalogue(struct arena *arena, const struct catalogue *catalogue,
                            const struct doc_node *software)
{
    const struct doc_node *name = doc_find(software, "software");
    const struct doc_node *profile =
        name != NULL ? catalogue_open(arena, catalogue, CATALOGUE_SOFTWARE, name, diag_new(arena))
                     : NULL;
    return profile != NULL && doc_is_same(software, profile);
}

/* What was on, beyond the name of a profile. */
static bool says_features(struct arena *arena, const struct resolve_input *input)
{
    const char *const *sets = input->sets;
    const struct doc_node *software = doc_find(input->document, "software");
    bool is_said = doc_find(input->document, "recipe") != NULL ||
                   (software != NULL && software->kind == DOC_MAPPING &&
                    !is_of_catalogue(arena, input->catalogue, software));
    for (uint32_t i = 0; i < input->set_count; i++) {
        is_said = is_said || begins_with(sets[i], "recipe=") || begins_with(sets[i], "software.");
    }
    return is_said;
}

struct scenario *scenario_resolve(struct arena *arena, const struct doc_node *document,
                                  const struct catalogue *catalogue, const char *const *sets,
                                  uint32_t set_count, struct diag *diag)
{
    const struct resolve_input input = {
        .document = document, .catalogue = catalogue, .sets = sets, .set_count = set_count};
    struct scenario *scenario = read_whole(arena, &input, diag);
    if (scenario == NULL || !resolve_stages(arena, &input, scenario, diag)) {
        return NULL;
    }
    scenario->title = title_follow(arena, document, sets, set_count, scenario);
    scenario->says_features =
        says_features(arena, &input) || house_says(&scenario->house, "software");
    recovery_warn(scenario, diag);
    warn_of_reserved(scenario, diag);
    return scenario;
}

struct scenario *scenario_moved(struct arena *arena, const struct doc_node *document,
                                const struct catalogue *catalogue, const char *set,
                                struct diag *diag)
{
    const struct resolve_input input = {
        .document = document, .catalogue = catalogue, .sets = &set, .set_count = 1};
    return read_with_jobs(arena, &input, diag);
}

const struct house *scenario_house(const struct scenario *scenario)
{
    return &scenario->house;
}
