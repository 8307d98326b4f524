/* Estimates are upper bounds in doubles: products of bounded values, so they
 * cannot overflow. A GEMM may run at a small part of its stated rate (a tile is
 * computed whole for one element: 32,768 to 1), which the margin between
 * EXTENT_STEP_S_MAX and 292 years covers. */
#include "input/extent.h"

#include "input/scenario.h"

#include <math.h>

#define TASKS_PER_LAYER 40.0     /* forward and backward, with communication */
#define TASKS_MORE 24.0          /* with experts, and again with context parallelism */
#define VALUES_PER_LAYER 64.0    /* hidden vectors moved per token and layer, both passes */
#define SCORES_PASSES 24.0       /* passes over unfused attention scores */
#define BYTES_PER_PARAMETER 64.0 /* optimizer, gradients, buckets */
#define ROUNDS_PER_LAYER 24.0
#define ROUNDS_MORE 16.0
#define TENSORS_PER_LAYER 16.0 /* without experts, which have up to three matrices each */
#define CALLS_PER_TENSOR 4.0   /* FSDP: two gathers, and a reduction in two steps */
#define GRADIENT_BYTES 4.0     /* at most */
#define LATEST 10.0 /* standard deviations that the last of any number of GPUs is late, at most */

struct extent {
    double layer_visits; /* layers times microbatches, of one stage */
    double tokens;       /* of one microbatch, on one rank */
    double parameters;   /* of one stage, before tp */
    double flop;         /* of one rank and step */
    double bytes;        /* that one rank moves in a step, by whatever link but storage */
    double scores_bytes; /* of unfused attention: through its own memory only, or the host's */
    double stored_bytes; /* of a checkpoint */
    double extras;       /* how many of experts and context parallelism there are */
};

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* The largest of any kind of layer: blocks before the decoder have sizes of their own. */
static struct layer_kind largest_kind(const struct scenario *scenario)
{
    const struct model *m = &scenario->model;
    struct layer_kind largest = {.tokens = scenario->batch.sequence_length,
                                 .hidden = m->hidden,
                                 .heads = m->heads,
                                 .head_dim = m->head_dim,
                                 .ffn_hidden = m->ffn_hidden};
    for (uint32_t i = 0; i < m->kind_count; i++) {
        const struct layer_kind *kind = &m->kinds[i];
        largest.tokens = kind->tokens > largest.tokens ? kind->tokens : largest.tokens;
        largest.hidden = kind->hidden > largest.hidden ? kind->hidden : largest.hidden;
        largest.heads = kind->heads > largest.heads ? kind->heads : largest.heads;
        largest.head_dim = kind->head_dim > largest.head_dim ? kind->head_dim : largest.head_dim;
        largest.ffn_hidden =
            kind->ffn_hidden > largest.ffn_hidden ? kind->ffn_hidden : largest.ffn_hidden;
    }
    return largest;
}

/* Rows that the experts of the busiest rank compute, over the mean: padded to the capacity, or,
 * with a router that is not even, in the worst case all. */
static double expert_rows(const struct scenario *scenario)
{
    const struct routing *routing = &scenario->routing;
    const double padded = routing_is_padded(routing) ? fmax(routing->capacity_factor, 1.0) : 1.0;
    const bool is_uneven = routing->kind != ROUTING_EVEN || routing->redundant_experts > 0;
    return is_uneven ? padded * (double)scenario->parallel.ep : padded;
}

/* Width of the MLPs that a token goes through, and of those that a rank holds: a dense layer's
 * and one with experts, added up. */
static double active_mlp_width(const struct scenario *scenario, const struct layer_kind *kind)
{
    const struct model *m = &scenario->model;
    return (double)kind->ffn_hidden + (double)m->shared_hidden +
           (double)m->experts_per_token * (double)m->expert_hidden * expert_rows(scenario);
}

static double held_mlp_width(const struct scenario *scenario, const struct layer_kind *kind)
{
    const struct model *m = &scenario->model;
    return (double)kind->ffn_hidden +
           (double)(m->experts + scenario->routing.redundant_experts) /
               (double)scenario->parallel.ep * (double)m->expert_hidden +
           (double)m->shared_hidden;
}

static struct extent measure(const struct scenario *scenario)
{
    const struct model *m = &scenario->model;
    const struct parallel *p = &scenario->parallel;
    const struct layer_kind kind = largest_kind(scenario);
    const double microbatches = (double)scenario->batch.microbatches;
    const double tokens = (double)scenario->batch.micro * (double)kind.tokens / (double)p->cp;
    const double attention = (double)kind.hidden + 2.0 * (double)kind.heads * (double)kind.head_dim;
    const double copies = (double)m->experts_per_token * (double)kind.hidden + (double)m->experts;
    const double width = attention + copies + 3.0 * active_mlp_width(scenario, &kind);
    const double held = attention + (double)m->experts + 3.0 * held_mlp_width(scenario, &kind);
    const double layers =
        (double)(m->layers + m->mtp_layers) / (double)p->pp + (double)p->virtual_stages;
    const double vocab = (double)m->vocab + 128.0 * (double)p->tp;
    const double scores = (double)kind.heads * (double)kind.tokens;
    const double gathers = p->zero >= 2 ? microbatches : 1; /* of the stage's layers, once each */
    struct extent extent = {.tokens = tokens};
    extent.layer_visits = layers * microbatches;
    extent.parameters = (double)kind.hidden * (2.0 * layers * held + 2.0 * vocab);
    extent.extras = (m->experts > 0 ? 1.0 : 0.0) + (p->cp > 1 ? 1.0 : 0.0);
    extent.flop = 8.0 * tokens *
                  (extent.layer_visits *
                       ((double)kind.hidden * 2.0 * width + 2.0 * scores * (double)kind.head_dim) +
                   microbatches * (double)kind.hidden * vocab) /
                  (double)p->tp;
    extent.bytes = 4.0 * extent.layer_visits * tokens * VALUES_PER_LAYER *
                       (width + attention * (double)(p->cp - 1)) + /* keys of the other ranks */
                   8.0 * tokens * microbatches * vocab +
                   BYTES_PER_PARAMETER * extent.parameters * gathers;
    extent.scores_bytes =
        4.0 * extent.layer_visits * tokens * SCORES_PASSES * scores / (double)p->tp;
    extent.stored_bytes = BYTES_PER_PARAMETER * extent.parameters;
    return extent;
}

/* A torus and a listed fabric may have links of any bandwidth, which all GPUs may cross. */
static double listed_link(const struct scenario *scenario)
{
    const struct cluster *c = &scenario->cluster;
    double slowest = HUGE_VAL;
    if (c->fabric_kind == FABRIC_TORUS) {
        slowest = c->torus_link_bytes_per_s;
    }
    for (uint32_t i = 0; c->fabric_kind == FABRIC_EXPLICIT && i < c->link_count; i++) {
        slowest = smaller(slowest, c->links[i].bytes_per_s);
    }
    return slowest * c->nic_efficiency / (double)scenario->gpus;
}

static double memory_rate(const struct gpu *gpu)
{
    return gpu->memory_bandwidth_bytes_per_s * gpu->memory_kernel_efficiency;
}

/* Of a GPU, were all of its node on one port of one NIC; staged, and copied by the host's cores. */
static double slowest_nic(const struct scenario *scenario)
{
    const struct cluster *c = &scenario->cluster;
    const double staging = scenario->software.staging_bytes_per_s;
    const double ports = c->bonded_ports > 1 ? (double)c->bonded_ports : 1.0;
    const double port = c->nic_bytes_per_s * c->nic_efficiency / ports;
    const double cores =
        c->core_bytes_per_s > 0 ? c->core_bytes_per_s * (double)c->host_cores : HUGE_VAL;
    const double nic = smaller(port, cores) / (double)c->gpus_per_node /
                       (c->oversubscription * c->pod_oversubscription * c->global_oversubscription);
    return staging > 0 ? 1 / (1 / nic + 1 / staging) : nic;
}

static double slowest_link(const struct scenario *scenario)
{
    const struct cluster *c = &scenario->cluster;
    const double nic = slowest_nic(scenario);
    const double of_gpu = c->peer_bytes_per_s > 0 ? c->peer_bytes_per_s : c->scale_up_bytes_per_s;
    const double scale_up = of_gpu * c->scale_up_efficiency;
    return smaller(smaller(smaller(nic, listed_link(scenario)), scale_up),
                   smaller(memory_rate(&scenario->gpu), scenario->gpu.host_link_bytes_per_s));
}

/* One rank's time to move all that it may, link by link. */
static double moving_s(const struct extent_machine *machine, const struct scenario *scenario,
                       const struct extent *extent)
{
    const struct cluster *c = &scenario->cluster;
    const struct gpu *gpu = &scenario->gpu;
    const double scores = scenario->offload.activation_layers > 0
                              ? smaller(memory_rate(gpu), gpu->host_link_bytes_per_s)
                              : memory_rate(gpu);
    const double storage = smaller(c->storage_write_bytes_per_s / (double)scenario->gpus,
                                   c->storage_node_bytes_per_s / (double)c->gpus_per_node);
    return extent->bytes / machine->link_bytes_per_s + extent->scores_bytes / scores +
           extent->stored_bytes / storage;
}

static double slowest_span(const struct library_cost *cost, uint32_t link)
{
    double slowest = 0;
    for (uint32_t span = 0; span < SPAN_COUNT_; span++) {
        const double round = cost->base_s[span] + cost->round_s[link][span];
        slowest = round > slowest ? round : slowest;
    }
    return slowest;
}

/* What a node has whole before it goes on, over a NIC. */
static double piece_s(const struct scenario *scenario, const struct library_cost *cost)
{
    const double rate = scenario->cluster.nic_bytes_per_s * scenario->cluster.nic_efficiency;
    return cost->piece_bytes > 0.0 && rate > 0.0 ? cost->piece_bytes / rate : 0.0;
}

/* Of any algorithm that the library runs on this GPU; its base is no more than a few rounds. */
static double slowest_round(const struct scenario *scenario)
{
    const struct library_architecture *on =
        &scenario->library.architectures[scenario->gpu.architecture];
    double slowest = 0;
    for (uint32_t a = 0; a < ALGORITHM_COUNT_; a++) {
        for (uint32_t p = 0; p < PROTOCOL_COUNT_; p++) {
            const struct library_cost *cost = &on->costs[a][p];
            for (uint32_t k = 0; cost->is_offered && k < LIBRARY_LINK_COUNT_; k++) {
                const double round =
                    slowest_span(cost, k) + cost->fill_s[k] + piece_s(scenario, cost);
                slowest = round > slowest ? round : slowest;
            }
        }
    }
    return slowest;
}

/* Where each tensor, or each bucket, of the layers is a collective of its own. */
static double sharding_s(const struct scenario *scenario, const struct extent *extent,
                         double per_collective)
{
    const struct parallel *p = &scenario->parallel;
    const struct software *software = &scenario->software;
    const double experts =
        (double)(scenario->model.experts + scenario->routing.redundant_experts) / (double)p->ep;
    const double buckets = software->fsdp_reduces_buckets
                               ? extent->parameters * GRADIENT_BYTES / software->bucket_bytes
                               : 0.0;
    const double calls =
        extent->layer_visits * CALLS_PER_TENSOR * (TENSORS_PER_LAYER + 3.0 * experts) +
        (double)scenario->batch.microbatches * buckets;
    const double ranks = (double)(p->dp * p->cp);
    const double own_s = software->fsdp_per_call_s +
                         ranks * (software->fsdp_per_rank_s + software->fsdp_host_per_rank_s);
    return p->zero == 3 ? calls * (per_collective + own_s) : 0.0;
}

static double latency_s(const struct extent_machine *machine, const struct scenario *scenario,
                        const struct extent *extent)
{
    const double per_collective = 2.0 * (double)scenario->gpus * machine->round_s +
                                  LATEST * scenario->software.jitter_meeting_s;
    const double per_kernel = fmax(scenario->gpu.launch_s, scenario->gpu.launch_in_graph_s) +
                              scenario->software.host_per_kernel_s +
                              scenario->software.host_per_product_s;
    const double rounds = ROUNDS_PER_LAYER + ROUNDS_MORE * extent->extras;
    return extent->layer_visits * (rounds * per_collective + 100.0 * per_kernel) +
           sharding_s(scenario, extent, per_collective);
}

static bool is_short(const struct scenario *scenario, double seconds, double limit_s,
                     const char *what, struct diag *diag)
{
    if (seconds <= limit_s) {
        return true;
    }
    diag_add(diag, DIAG_INFEASIBLE, &scenario->batch.place,
             "one step could need %.3g s for %s; up to %.0g s are simulated", seconds, what,
             limit_s);
    diag_help(diag, "look for a unit or a power of ten that is off, in the batch, the model or "
                    "the cluster");
    return false;
}

/* One worker's time for a sequence, asking and reading included, beside all others. */
static double sequence_s(const struct scenario *scenario)
{
    const struct data_loading *data = &scenario->data;
    const struct cluster *c = &scenario->cluster;
    const double readers = (double)scenario->parallel.dp * (double)data->workers_per_gpu;
    const double bytes = data->bytes_per_token * (double)scenario->batch.sequence_length;
    double seconds = data->time_per_sample_s + bytes * readers / c->storage_read_bytes_per_s;
    if (c->storage_requests_per_s > 0) {
        seconds += data->requests * readers / c->storage_requests_per_s;
    }
    if (c->storage_stream_bytes_per_s > 0) {
        seconds += bytes / c->storage_stream_bytes_per_s;
    }
    return seconds + c->storage_first_byte_s;
}

static bool check_loading(const struct scenario *scenario, struct diag *diag)
{
    const struct data_loading *data = &scenario->data;
    const double each_s = sequence_s(scenario);
    const double batch_s = (double)scenario->batch.micro * each_s;
    const double first_s = (double)data->shuffle_buffer * each_s;
    if (!data->is_enabled || (batch_s <= EXTENT_LOADING_S_MAX && first_s <= EXTENT_BUFFER_S_MAX)) {
        return true;
    }
    const bool is_batch = batch_s > EXTENT_LOADING_S_MAX;
    diag_add(diag, DIAG_INFEASIBLE, &scenario->batch.place,
             "a worker would need %.3g s to %s; up to %.0g s are simulated",
             is_batch ? batch_s : first_s,
             is_batch ? "load one microbatch" : "fill its shuffle buffer",
             is_batch ? EXTENT_LOADING_S_MAX : EXTENT_BUFFER_S_MAX);
    diag_help(diag,
              "data.time_per_sample, data.bytes_per_token and cluster.storage.read%s decide it",
              is_batch ? "" : ", and data.shuffle_buffer,");
    return false;
}

struct extent_machine extent_machine_of(const struct scenario *scenario)
{
    const struct cluster *c = &scenario->cluster;
    return (struct extent_machine){
        .link_bytes_per_s = slowest_link(scenario),
        .round_s = slowest_round(scenario) + c->scale_up_latency_s + c->nic_latency_s +
                   c->round_latency_s + 5.0 * c->hop_latency_s,
    };
}

bool extent_check(const struct scenario *scenario, struct diag *diag)
{
    const struct extent_machine machine = extent_machine_of(scenario);
    return extent_check_on(&machine, scenario, diag);
}

bool extent_check_on(const struct extent_machine *machine, const struct scenario *scenario,
                     struct diag *diag)
{
    const struct extent extent = measure(scenario);
    const double per_layer = TASKS_PER_LAYER + TASKS_MORE * extent.extras;
    const double tasks = extent.layer_visits * (double)scenario->parallel.pp * per_layer;
    if (tasks > EXTENT_TASKS_MAX) {
        diag_add(diag, DIAG_INFEASIBLE, &scenario->batch.place,
                 "%.3g microbatches times layers are too many to simulate (at most %.3g)",
                 tasks / per_layer, EXTENT_TASKS_MAX / per_layer);
        diag_help(diag, "a smaller global batch, or a larger micro, has fewer");
        return false;
    }
    const enum precision precision = (enum precision)scenario->precision;
    const double rate = scenario->gpu.peak_flop_per_s[precision] *
                        gpu_gemm(&scenario->gpu, precision).sustained *
                        scenario->software.gemm_derate;
    const double waiting_s = latency_s(machine, scenario, &extent);
    return check_loading(scenario, diag) &&
           is_short(scenario, extent.flop / rate, EXTENT_STEP_S_MAX, "arithmetic", diag) &&
           is_short(scenario, moving_s(machine, scenario, &extent), EXTENT_MOVE_S_MAX,
                    "moving data", diag) &&
           is_short(scenario, waiting_s, EXTENT_MOVE_S_MAX, "latencies", diag);
}
