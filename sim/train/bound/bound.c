/* Sums over layers are differences of prefix sums, so that a layout costs O(pieces). */
#include "train/bound/bound.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/job/optimizer.h"
#include "input/layout.h"
#include "input/scenario.h"
#include "plan/memory/memory.h"
#include "plan/memory/memory_layer.h"
#include "train/bound/alone.h"
#include "train/bound/ground.h"
#include "train/bound/pipeline.h"
#include "train/bound/sums.h"
#include "train/jitter.h"
#include "train/program/program_matrices.h"
#include "train/program/program_calls.h"

#include <math.h>

struct bound_option {
    struct recompute recompute;
    struct sums backward[ALONE_PART_COUNT_];
    struct alone_ends ends;
    double *kept_bytes; /* [layers + 1], of activations of a microbatch: sums, too */
    struct bound_option *next;
};

struct bound_family {
    struct arena *arena;
    const struct scenario *scenario;
    struct bound_ground *ground;
    struct scenario reduced; /* with the shortest programs */
    struct alone *alone;
    struct sums forward;
    int64_t receive_ns[2]; /* [is_forward] */
    double host_byte_ns;
    double jitter;       /* of what a GPU is busy, the wait for the slowest */
    double expert_share; /* of its rate, while it exchanges with experts */
    bool has_border;
    struct border border; /* if it has */
    struct bound_option *options;
};

/* A chunk of a stage. */
struct place_of_piece {
    uint32_t piece;
    int64_t microbatches;
    int64_t receive_ns; /* of each microbatch, forward and backward together */
};

struct bound_line {
    struct arena *arena;
    struct bound_family *family;
    struct exchange *exchange; /* of the family's */
    bool has_experts_apart;    /* others hold an expert than hold the rest of a stage */
    uint32_t pieces, stages, chunks;
    int64_t microbatches;
    bool is_split, is_paired;
    bool goes_back;                /* what follows a stage's last action goes back to stage 0 */
    int64_t *layers, *first;       /* per piece */
    struct place_of_piece *places; /* [stage * chunks + chunk] */
    uint32_t *first_piece;         /* per stage */
    int64_t begin_ns;
    bool meets;                        /* all ranks do, before the update */
    int64_t norm_ns;                   /* before that, of stage 0 */
    int64_t update_ns;                 /* of stage 0 */
    int64_t reduce_ns;                 /* beside the last backward */
    int64_t late_ns;                   /* after it */
    double *queues_ns;                 /* per stage: of gathers and reductions of a step */
    int64_t *forward_ns, *backward_ns; /* per piece and one more: sums, scratch */
    int64_t *own_ns[TIME_COUNT_];      /* per piece: of a microbatch both ways; scratch */
    struct schedule_shape shape;       /* of its pipeline */
    bool blocks;                       /* stages wait until what they send has left */
    struct pipeline *pipeline;         /* NULL: nobody walked through it yet */
    struct pipeline_costs costs;       /* of its walks */
    int64_t *late_ns_of;               /* per stage: reductions behind its actions */
    int64_t *gathered_ns_of, *reduced_ns_of[HELD_COUNT_], *pair_ns; /* of costs */
    int64_t *nic_gather_ns, *nic_reduce_ns;                         /* likewise */
};

/* ---- families ------------------------------------------------------------------------------ */

static void find_receives(struct bound_family *family)
{
    for (uint32_t forward = 0; forward < 2; forward++) {
        family->receive_ns[forward] = INT64_MAX;
        for (uint32_t kind = 0; kind < family->scenario->model.kind_count; kind++) {
            const int64_t ns = alone_receive_ns(family->alone, kind, forward != 0);
            int64_t *least_ns = &family->receive_ns[forward];
            *least_ns = ns < *least_ns ? ns : *least_ns;
        }
    }
}

struct bound_family *bound_family_new(struct arena *arena, struct bound_ground *ground,
                                      const struct scenario *scenario)
{
    struct bound_family *family = arena_alloc(arena, sizeof *family);
    *family = (struct bound_family){.arena = arena, .scenario = scenario, .ground = ground};
    ground_reduce(arena, scenario, &family->reduced);
    family->alone = alone_new(arena, ground->outline.system, &family->reduced);
    const struct recompute none = {.kind = RECOMPUTE_NONE};
    struct alone_layer kinds[LAYER_KINDS_MAX];
    for (uint32_t kind = 0; kind < scenario->model.kind_count; kind++) {
        kinds[kind] = alone_layer_of(family->alone, kind, &none);
    }
    family->forward = sums_new(arena, scenario->model.layers);
    for (int64_t i = 0; i < scenario->model.layers; i++) {
        sums_add(&family->forward, i, &kinds[model_kind(&scenario->model, i)].forward);
    }
    find_receives(family);
    const struct fabric *fabric = &ground->outline.system->fabric;
    const int64_t host = fabric_link_capacity(fabric, fabric->first[LINK_HOST]);
    family->jitter = jitter_spread_of(&scenario->gpu, &scenario->software) *
                     jitter_largest(scenario->gpus) * (1.0 - 1e-12);
    const double share = streams_expert_share(&scenario->software, scenario->gpu.sms);
    family->expert_share =
        fmax(0, fmin(share * ENGINE_FULL_SPEED - 1, ENGINE_INTERFERENCE_MOST)) / ENGINE_FULL_SPEED;
    family->host_byte_ns = host > 0 ? alone_shorter(1e9 / (double)host) : 0;
    return family;
}

static bool is_same(const struct recompute *a, const struct recompute *b)
{
    return a->kind == b->kind && (a->kind != RECOMPUTE_SELECTIVE || a->modules == b->modules);
}

static void count_kept(const struct bound_family *family, struct bound_option *option)
{
    struct scenario changed = family->reduced;
    changed.recompute = option->recompute;
    const struct memory_job job = memory_job_of(&changed);
    const struct model *model = &family->scenario->model;
    const bool is_full = option->recompute.kind == RECOMPUTE_FULL;
    option->kept_bytes = arena_array(family->arena, (size_t)model->layers + 1, sizeof(double));
    double kept[LAYER_KINDS_MAX] = {0};
    for (uint32_t kind = 0; kind < model->kind_count; kind++) {
        kept[kind] = memory_layer_of(&job.shape, &model->kinds[kind], is_full).kept;
    }
    for (int64_t i = 0; i < model->layers; i++) {
        option->kept_bytes[i + 1] = option->kept_bytes[i] + kept[model_kind(model, i)];
    }
}

const struct bound_option *bound_option(struct bound_family *family,
                                        const struct recompute *recompute)
{
    struct bound_option *option = family->options;
    while (option != NULL && !is_same(&option->recompute, recompute)) {
        option = option->next;
    }
    if (option != NULL) {
        return option;
    }
    const struct model *model = &family->scenario->model;
    option = arena_alloc(family->arena, sizeof *option);
    *option = (struct bound_option){.recompute = *recompute, .next = family->options};
    option->recompute.layers = 0;
    for (uint32_t part = 0; part < ALONE_PART_COUNT_; part++) {
        option->backward[part] = sums_new(family->arena, model->layers);
    }
    struct alone_layer kinds[LAYER_KINDS_MAX];
    for (uint32_t kind = 0; kind < model->kind_count; kind++) {
        kinds[kind] = alone_layer_of(family->alone, kind, &option->recompute);
    }
    for (int64_t i = 0; i < model->layers; i++) {
        const struct alone_layer *layer = &kinds[model_kind(model, i)];
        for (uint32_t part = 0; part < ALONE_PART_COUNT_; part++) {
            sums_add(&option->backward[part], i, &layer->backward[part]);
        }
    }
    option->ends = alone_ends_of(family->alone, &option->recompute);
    count_kept(family, option);
    family->options = option;
    return option;
}

/* ---- lines --------------------------------------------------------------------------------- */

static bool is_paired(const struct parallel *parallel)
{
    return parallel->schedule == SCHEDULE_DUALPIPE || parallel->schedule == SCHEDULE_DUALPIPEV ||
           parallel->overlaps_experts;
}

static bool is_dual(const struct bound_line *line, const struct parallel *parallel)
{
    return line->pieces < line->stages * line->chunks && parallel->schedule == SCHEDULE_DUALPIPE;
}

/* Each microbatch passes each piece once; with dualpipe half of them on either stage. */
static void place_pieces(struct bound_line *line, const struct parallel *parallel)
{
    const int64_t own = is_dual(line, parallel) ? line->microbatches / 2 : line->microbatches;
    uint32_t *stage_of = arena_array(line->arena, line->pieces, sizeof *stage_of);
    for (uint32_t s = 0; s < line->stages; s++) {
        line->first_piece[s] = UINT32_MAX;
        for (uint32_t c = 0; c < line->chunks; c++) {
            const uint32_t piece = (uint32_t)layout_piece(parallel, s, c);
            line->places[s * line->chunks + c] = (struct place_of_piece){piece, own, 0};
            stage_of[piece] = s;
            line->first_piece[s] = piece < line->first_piece[s] ? piece : line->first_piece[s];
        }
    }
    for (uint32_t s = 0; s < line->stages; s++) {
        for (uint32_t c = 0; c < line->chunks; c++) {
            struct place_of_piece *place = &line->places[s * line->chunks + c];
            const uint32_t piece = place->piece;
            const bool has_before = piece > 0 && stage_of[piece - 1] != s;
            const bool has_after = piece + 1 < line->pieces && stage_of[piece + 1] != s;
            place->receive_ns = (has_before ? line->family->receive_ns[true] : 0) +
                                (has_after ? line->family->receive_ns[false] : 0);
        }
    }
}

static double gradient_bytes(const struct scenario *scenario)
{
    return state_bytes((enum state_format)scenario->optimizer.gradients);
}

/* What the host's share of the optimizer takes: gradients there, the update, weights back. */
static double host_update_ns(const struct bound_family *family, const struct scenario *scenario,
                             double owned)
{
    const struct optimizer *optimizer = &scenario->optimizer;
    const double there = scenario->offload.optimizer * owned;
    const double moved =
        gradient_bytes(scenario) + (double)precision_bytes((enum precision)scenario->precision);
    const double updated =
        gradient_bytes(scenario) +
        2 * (state_bytes((enum state_format)optimizer->master) + optimizer_moment_bytes(optimizer));
    if (there <= 0) {
        return 0;
    }
    return there * moved * family->host_byte_ns +
           alone_shorter(there * updated / scenario->software.host_update_bytes_per_s * 1e9);
}

static int64_t total_ns(const struct work *work)
{
    return work->busy_ns + work->launch_ns;
}

/* Parameters of a rank, by who else holds them. */
struct held {
    double of[HELD_COUNT_];
};

static struct held held_of(const struct bound_line *line,
                           const struct memory_layer_parameters *parameters)
{
    const bool is_apart = line->has_experts_apart;
    return (struct held){
        .of = {[HELD_DENSE] = parameters->dense + (is_apart ? 0 : parameters->experts),
               [HELD_EXPERTS] = is_apart ? parameters->experts : 0}};
}

/* What exchanges of both take, which queue on streams of their own: the longer of them, of so much
 * a byte. */
static double held_ns(const struct bound_line *line, const struct held *held, double bytes,
                      enum held_exchange kind)
{
    double ns = 0;
    for (uint32_t i = 0; i < HELD_COUNT_; i++) {
        ns = fmax(ns, held->of[i] * bytes * line->exchange->byte_ns[i][kind]);
    }
    return ns;
}

/* Of the layers of a piece. */
static struct held held_by(const struct bound_line *line, const struct scenario *scenario,
                           const struct held layers[LAYER_KINDS_MAX], uint32_t piece)
{
    struct held sum = {.of = {0, 0}};
    for (int64_t i = 0; i < line->layers[piece]; i++) {
        const struct held *own = &layers[model_kind(&scenario->model, line->first[piece] + i)];
        sum.of[HELD_DENSE] += own->of[HELD_DENSE];
        sum.of[HELD_EXPERTS] += own->of[HELD_EXPERTS];
    }
    return sum;
}

/* Of a layer, by its kind: of a hundred layers a line asks for each. */
static void find_layers(const struct bound_line *line, const struct scenario *scenario,
                        struct held layers[LAYER_KINDS_MAX])
{
    const struct memory_job job = memory_job_of_states(scenario);
    for (uint32_t kind = 0; kind < scenario->model.kind_count; kind++) {
        const struct memory_layer_parameters own =
            memory_layer_parameters(&job.split, &scenario->model.kinds[kind]);
        layers[kind] = held_of(line, &own);
    }
}

/* How gradients are exchanged. */
static enum held_exchange reduction_of(const struct scenario *scenario)
{
    return scenario->parallel.zero == 0 ? HELD_ALL_REDUCE : HELD_REDUCE;
}

/* The update of stage 0, U in the bound. */
static void find_update(struct bound_line *line, const struct scenario *scenario)
{
    const struct bound_family *family = line->family;
    const struct memory_job job = memory_job_of_states(scenario);
    const struct timing_runner runner = timing_runner_of(scenario);
    const struct parallel *parallel = &scenario->parallel;
    const double owned = program_owned_parameters(&job.split, 0);
    const struct work norm = program_norm_work(&runner, &scenario->optimizer, owned);
    const struct work update = program_update_work(&runner, &job, 0);
    const double there = host_update_ns(family, scenario, owned);
    line->update_ns = (int64_t)fmax((double)total_ns(&update), there);
    const bool gathers = (parallel->zero == 1 || parallel->zero == 2) &&
                         scenario->software.zero_parameters == GATHER_ALL &&
                         !optimizer_gathers_ahead(&scenario->optimizer, &scenario->software);
    if (gathers) {
        const double bytes =
            software_gather_bytes(&scenario->software, (enum precision)scenario->precision);
        const struct memory_layer_parameters trained = memory_stage_trained(&job.split, 0);
        const double least =
            fmin(bytes, (double)precision_bytes((enum precision)scenario->precision));
        const struct held held = held_of(line, &trained);
        line->update_ns += (int64_t)held_ns(line, &held, least, HELD_GATHER);
    }
    line->norm_ns = total_ns(&norm);
}

/* Pieces on two stages are reduced after the last action, over both. Where stages fill nodes that
 * is as fast for each rank as over one, or slower. */
static void find_dual_reduction(struct bound_line *line, const struct scenario *scenario,
                                const struct memory_job *job, double byte_ns)
{
    const int64_t stage = scenario->gpus / scenario->parallel.pp;
    if (scenario->parallel.schedule != SCHEDULE_DUALPIPE || !line->meets ||
        stage % scenario->cluster.gpus_per_node != 0) {
        return;
    }
    double least = HUGE_VAL;
    for (uint32_t s = 0; s < line->stages; s++) {
        least = fmin(least, memory_stage_trained(&job->split, s).dense);
    }
    line->late_ns = (int64_t)(least * gradient_bytes(scenario) * byte_ns);
}

/* D: of stage 0's dense parameters. */
static void find_reduction(struct bound_line *line, const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    const struct memory_job job = memory_job_of_states(scenario);
    const enum held_exchange kind = reduction_of(scenario);
    const bool is_apart = parallel->has_quantized_gradients || scenario->lora.rank > 0;
    if (is_apart) {
        return;
    }
    if (!line->goes_back) {
        find_dual_reduction(line, scenario, &job, line->exchange->byte_ns[HELD_DENSE][kind]);
        return;
    }
    const bool overlaps = scenario->software.overlaps_dp_gradients || parallel->zero == 3;
    if (!overlaps) {
        const struct memory_layer_parameters trained = memory_stage_trained(&job.split, 0);
        const struct held held = held_of(line, &trained);
        line->late_ns = (int64_t)held_ns(line, &held, gradient_bytes(scenario), kind);
        return;
    }
    struct held layers[LAYER_KINDS_MAX];
    find_layers(line, scenario, layers);
    const struct held held = held_by(line, scenario, layers, 0);
    line->reduce_ns = (int64_t)held_ns(line, &held, gradient_bytes(scenario), kind);
}

/* How often a stage gathers each of its layers in a step. */
static double gather_rounds(const struct bound_line *line, const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    const bool is_fsdp = parallel->zero == 3 && parallel->schedule != SCHEDULE_DUALPIPE &&
                         !parallel->has_quantized_weights;
    if (!is_fsdp || parallel->reshard != RESHARD_FORWARD) {
        return is_fsdp ? 1 : 0;
    }
    const bool again = !parallel->has_local_weights && scenario->software.fsdp_live_parameters == 0;
    return (double)line->microbatches * (again ? 2 : 1);
}

/* Layers are gathered and reduced one by one, over the same link: then both add up there. */
static double shared_ns(const struct bound_line *line, const struct scenario *scenario,
                        double layer, double gathered_bytes, double reduced_bytes)
{
    const struct software *software = &scenario->software;
    if (software->fsdp_gathers != GATHER_LAYER || software->fsdp_reduces_buckets ||
        scenario->parallel.zero != 3 || scenario->model.kind_count > 1) {
        return 0;
    }
    const double bytes =
        software_gather_bytes(software, (enum precision)scenario->precision) * layer;
    const struct shares *shares = ground_shares_of(line->family->ground, line->exchange, bytes,
                                                   layer * gradient_bytes(scenario));
    const struct alone_share gather = shares->gather;
    const struct alone_share reduce = shares->reduce;
    return gather.link == reduce.link && gather.link != ENGINE_NONE
               ? gathered_bytes * gather.byte_ns + reduced_bytes * reduce.byte_ns
               : 0;
}

static struct held held_by_stage(const struct bound_line *line, const struct scenario *scenario,
                                 const struct held layers[LAYER_KINDS_MAX], uint32_t stage)
{
    struct held sum = {.of = {0, 0}};
    for (uint32_t c = 0; c < line->chunks; c++) {
        const struct held own =
            held_by(line, scenario, layers, line->places[stage * line->chunks + c].piece);
        sum.of[HELD_DENSE] += own.of[HELD_DENSE];
        sum.of[HELD_EXPERTS] += own.of[HELD_EXPERTS];
    }
    return sum;
}

/* What stages gather (FSDP) and reduce, of which each queues on a stream. */
static void find_queues(struct bound_line *line, const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    const double gathers = gather_rounds(line, scenario);
    const bool is_summed = !memory_shards_gradients(parallel, &scenario->software);
    const bool is_apart = parallel->has_quantized_gradients || scenario->lora.rank > 0;
    const double reductions = parallel->zero == 0 || is_apart ? 0
                              : is_summed                     ? 1
                                                              : (double)line->microbatches;
    const double gathered =
        gathers * software_gather_bytes(&scenario->software, (enum precision)scenario->precision);
    const double reduced = reductions * gradient_bytes(scenario);
    struct held layers[LAYER_KINDS_MAX];
    find_layers(line, scenario, layers);
    const double layer = layers[model_kind(&scenario->model, 0)].of[HELD_DENSE];
    for (uint32_t s = 0; s < line->stages; s++) {
        const struct held held = held_by_stage(line, scenario, layers, s);
        const double dense = held.of[HELD_DENSE];
        line->queues_ns[s] = fmax(
            fmax(held_ns(line, &held, gathered, HELD_GATHER),
                 held_ns(line, &held, reduced, HELD_REDUCE)),
            gathers > 0 ? shared_ns(line, scenario, layer, gathered * dense, reduced * dense) : 0);
    }
}

struct bound_line *bound_line_stateless(struct arena *arena, struct bound_family *family,
                                        const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    struct bound_line *line = arena_alloc(arena, sizeof *line);
    const uint32_t pieces = (uint32_t)layout_pieces(parallel);
    *line = (struct bound_line){
        .arena = arena,
        .family = family,
        .pieces = pieces,
        .stages = (uint32_t)parallel->pp,
        .chunks = (uint32_t)parallel->virtual_stages,
        .microbatches = scenario->batch.microbatches,
        .is_split = parallel->schedule == SCHEDULE_FILE ||
                    schedule_splits_weights((enum schedule_kind)parallel->schedule),
        .is_paired = is_paired(parallel),
        .has_experts_apart =
            scenario->model.experts > 0 && (parallel->ep > 1 || parallel->etp != parallel->tp),
        .layers = arena_array(arena, pieces, sizeof(int64_t)),
        .first = arena_array(arena, pieces, sizeof(int64_t)),
        .places = arena_array(arena, (size_t)(parallel->pp * parallel->virtual_stages),
                              sizeof(struct place_of_piece)),
        .first_piece = arena_array(arena, (size_t)parallel->pp, sizeof(uint32_t)),
        .begin_ns = sim_time_from_s(software_host_step_s(&scenario->software)),
        .shape = schedule_shape_of(parallel, &scenario->batch),
        .blocks = calls_are_made(parallel, &scenario->software) || !scenario->software.overlaps_p2p,
        .queues_ns = arena_array(arena, (size_t)parallel->pp, sizeof(double)),
        .forward_ns = arena_array(arena, pieces + 1u, sizeof(int64_t)),
        .backward_ns = arena_array(arena, pieces + 1u, sizeof(int64_t)),
    };
    for (uint32_t i = 0; i < TIME_COUNT_; i++) {
        line->own_ns[i] = arena_array(arena, pieces, sizeof(int64_t));
    }
    const bool is_loop = parallel->schedule == SCHEDULE_GPIPE ||
                         parallel->schedule == SCHEDULE_1F1B ||
                         parallel->schedule == SCHEDULE_INTERLEAVED;
    line->goes_back = is_loop && parallel->deferred_heads == 0;
    for (uint32_t i = 0; i < pieces; i++) {
        line->layers[i] = parallel->layers_per_chunk[i];
        line->first[i] = i > 0 ? line->first[i - 1] + line->layers[i - 1] : 0;
    }
    place_pieces(line, parallel);
    line->meets = scenario->optimizer.clips || line->stages == 1;
    return line;
}

void bound_line_add_states(struct bound_line *line, const struct scenario *scenario)
{
    line->exchange = ground_exchange_of(line->family->ground, scenario);
    find_update(line, scenario);
    find_reduction(line, scenario);
    find_queues(line, scenario);
}

struct bound_line *bound_line_new(struct arena *arena, struct bound_family *family,
                                  const struct scenario *scenario)
{
    struct bound_line *line = bound_line_stateless(arena, family, scenario);
    bound_line_add_states(line, scenario);
    return line;
}

/* ---- bounds --------------------------------------------------------------------------------- */

/* Of a microbatch through a piece. */
static int64_t forward_of(const struct bound_line *line, const struct bound_choice *choice,
                          uint32_t piece, enum time_kind kind)
{
    const int64_t first = line->first[piece];
    const int64_t *forward = line->family->forward.of[kind];
    const struct alone_ends *ends =
        choice->full_layers > 0 ? &choice->full->ends : &choice->plain->ends;
    return forward[first + line->layers[piece]] - forward[first] +
           (piece == 0 ? sums_pick(&ends->embedding, kind) : 0) +
           (piece + 1 == line->pieces ? sums_pick(&ends->head, kind) : 0);
}

static int64_t backward_of(const struct bound_line *line, const struct bound_choice *choice,
                           uint32_t piece, enum alone_part part, enum time_kind kind)
{
    const int64_t first = line->first[piece];
    const int64_t end = first + line->layers[piece];
    const int64_t full =
        choice->full_layers < line->layers[piece] ? choice->full_layers : line->layers[piece];
    const int64_t *plain = choice->plain->backward[part].of[kind];
    const struct alone_ends *ends =
        choice->full_layers > 0 ? &choice->full->ends : &choice->plain->ends;
    int64_t ns = plain[end] - plain[first + full];
    if (choice->full_layers > 0) {
        const int64_t *whole = choice->full->backward[part].of[kind];
        ns += whole[first + full] - whole[first];
    }
    if (piece == 0 && part != ALONE_INPUTS) {
        ns += sums_pick(&ends->embedding_backward, kind);
    }
    return ns + (piece + 1 == line->pieces ? sums_pick(&ends->head_backward[part], kind) : 0);
}

/* What the activations of stage 0's first layers take on their way to the host. */
static int64_t offload_ns(const struct bound_line *line, const struct bound_choice *choice)
{
    double bytes = 0;
    int64_t left = choice->offloaded_layers;
    for (uint32_t c = 0; c < line->chunks && left > 0; c++) {
        const struct place_of_piece *place = &line->places[c];
        const int64_t first = line->first[place->piece];
        const int64_t here = left < line->layers[place->piece] ? left : line->layers[place->piece];
        const int64_t full = choice->full_layers < here ? choice->full_layers : here;
        const double *plain = choice->plain->kept_bytes;
        double kept = plain[first + here] - plain[first + full];
        if (full > 0) {
            kept += choice->full->kept_bytes[first + full] - choice->full->kept_bytes[first];
        }
        bytes += kept * (double)place->microbatches;
        left -= here;
    }
    return (int64_t)(bytes * line->family->host_byte_ns);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Of all microbatches through a stage's pieces. */
static int64_t stage_ns(const struct bound_line *line, uint32_t stage, enum time_kind kind)
{
    int64_t ns = 0;
    for (uint32_t c = 0; c < line->chunks; c++) {
        const struct place_of_piece *place = &line->places[stage * line->chunks + c];
        ns += place->microbatches * line->own_ns[kind][place->piece];
    }
    return ns;
}

/* From a stage's first action to its last. Of pairs the exchanges queue on one stream; and while
 * one is on its way kernels get no more than what it leaves. */
static int64_t actions_ns(const struct bound_line *line, uint32_t stage)
{
    int64_t receive_ns = 0;
    for (uint32_t c = 0; c < line->chunks; c++) {
        const struct place_of_piece *place = &line->places[stage * line->chunks + c];
        receive_ns += place->microbatches * place->receive_ns;
    }
    if (!line->is_paired) {
        return receive_ns + stage_ns(line, stage, TIME_SERIAL);
    }
    const int64_t exchange_ns = stage_ns(line, stage, TIME_EXCHANGE);
    const int64_t slowed_ns = (int64_t)(line->family->expert_share * (double)exchange_ns);
    return later(later(receive_ns + stage_ns(line, stage, TIME_APART), exchange_ns),
                 stage_ns(line, stage, TIME_WORK) + slowed_ns);
}

/* Until stage 0 has its gradients, by way of the actions of stage `stage`. */
static int64_t chain_ns(const struct bound_line *line, uint32_t stage)
{
    const uint32_t before = line->first_piece[stage];
    const int64_t ns = line->forward_ns[before] + actions_ns(line, stage);
    if (!line->goes_back) {
        return ns + line->late_ns + (line->meets ? line->update_ns : 0);
    }
    const int64_t after_ns = later(line->late_ns, line->reduce_ns - line->backward_ns[1]);
    return ns + line->backward_ns[before] + later(0, after_ns) + line->norm_ns + line->update_ns;
}

/* What pieces take, and sums over all of them. */
static void find_pieces(const struct bound_line *line, const struct bound_choice *choice,
                        double sums_ns[TIME_COUNT_])
{
    const enum alone_part part = line->is_split ? ALONE_EITHER : ALONE_BOTH;
    for (uint32_t kind = 0; kind < TIME_COUNT_; kind++) {
        const bool is_of_pairs = kind == TIME_APART || kind == TIME_EXCHANGE;
        sums_ns[kind] = 0;
        for (uint32_t i = 0; i < line->pieces && (line->is_paired || !is_of_pairs); i++) {
            const int64_t forward_ns = forward_of(line, choice, i, (enum time_kind)kind);
            const int64_t backward_ns = backward_of(line, choice, i, part, (enum time_kind)kind);
            line->own_ns[kind][i] = forward_ns + backward_ns;
            sums_ns[kind] += (double)(forward_ns + backward_ns);
            if (kind == TIME_SERIAL) {
                line->forward_ns[i + 1] = line->forward_ns[i] + forward_ns;
                line->backward_ns[i + 1] = line->backward_ns[i] + backward_ns;
            }
        }
    }
}

struct bound_choice bound_choice_of(struct bound_family *family, const struct recompute *recompute,
                                    int64_t offloaded_layers)
{
    static const struct recompute none = {.kind = RECOMPUTE_NONE};
    static const struct recompute whole = {.kind = RECOMPUTE_FULL};
    const bool is_full = recompute->kind == RECOMPUTE_FULL;
    return (struct bound_choice){
        .plain = bound_option(family, is_full ? &none : recompute),
        .full = is_full ? bound_option(family, &whole) : NULL,
        .full_layers = !is_full                ? 0
                       : recompute->layers > 0 ? recompute->layers
                                               : INT64_MAX,
        .offloaded_layers = offloaded_layers,
    };
}

struct bound bound_of(const struct bound_line *line, const struct bound_choice *choice)
{
    double sums_ns[TIME_COUNT_];
    find_pieces(line, choice, sums_ns);
    int64_t most_ns = 0;
    int64_t queue_ns = offload_ns(line, choice);
    for (uint32_t s = 0; s < line->stages; s++) {
        most_ns = later(most_ns, chain_ns(line, s));
        queue_ns = later(queue_ns, (int64_t)line->queues_ns[s]);
    }
    most_ns = later(most_ns, queue_ns + (line->meets ? line->update_ns : 0));
    const double share = (double)line->microbatches / (double)line->stages;
    const int64_t wait_ns = (int64_t)(line->family->jitter * sums_ns[TIME_BUSY] * share);
    return (struct bound){
        .step_ns = line->begin_ns + most_ns + wait_ns,
        .wait_ns = wait_ns,
        .work_ns = sums_ns[TIME_WORK] * share,
    };
}

_Static_assert((int)HELD_COUNT_ == (int)PIPELINE_QUEUES, "a queue for each of who holds what");

/* ---- closer bounds -------------------------------------------------------------------------- */

/* Of parameters that are gathered at the beginning of a step, in the order of the model, bytes; 0:
 * they are there. */
static double gathered_ahead_bytes(const struct scenario *scenario)
{
    const struct software *software = &scenario->software;
    const int64_t zero = scenario->parallel.zero;
    const bool gathers = (zero == 1 || zero == 2) && scenario->lora.rank == 0 &&
                         software->zero_parameters == GATHER_ALL &&
                         optimizer_gathers_ahead(&scenario->optimizer, software);
    return gathers ? software_gather_bytes(software, (enum precision)scenario->precision) : 0;
}

/* Of gradients; 0: they are exchanged in another way. */
static double reduced_bytes(const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    const bool is_apart = parallel->has_quantized_gradients || scenario->lora.rank > 0;
    return is_apart ? 0 : gradient_bytes(scenario);
}

/* Of a stage's NICs, so much a byte of what it holds. */
static int64_t nics_ns(const struct bound_line *line, uint32_t stage, const struct held *held,
                       double bytes)
{
    const double *byte_ns = line->exchange->nic_byte_ns;
    return line->costs.border.has_nics[stage]
               ? (int64_t)(bytes * (held->of[HELD_DENSE] * byte_ns[HELD_DENSE] +
                                    held->of[HELD_EXPERTS] * byte_ns[HELD_EXPERTS]))
               : 0;
}

/* What stages gather and reduce, whose chunks are numbered in the order of the model. */
static void find_shards(struct bound_line *line, const struct scenario *scenario)
{
    const bool overlaps = scenario->software.overlaps_dp_gradients || scenario->parallel.zero == 3;
    const double gathered = gathered_ahead_bytes(scenario);
    const double reduced = reduced_bytes(scenario);
    const enum held_exchange kind = reduction_of(scenario);
    struct held layers[LAYER_KINDS_MAX];
    find_layers(line, scenario, layers);
    for (uint32_t s = 0; s < line->stages; s++) {
        struct held sum = {.of = {0, 0}};
        for (uint32_t c = 0; c < line->chunks; c++) {
            const uint32_t piece = line->places[s * line->chunks + c].piece;
            const struct held own = held_by(line, scenario, layers, piece);
            for (uint32_t i = 0; i < HELD_COUNT_; i++) {
                const double ns = own.of[i] * reduced * line->exchange->byte_ns[i][kind];
                line->reduced_ns_of[i][piece] = overlaps ? (int64_t)ns : 0;
                sum.of[i] += own.of[i];
            }
            line->nic_reduce_ns[piece] = overlaps ? nics_ns(line, s, &own, reduced) : 0;
            line->gathered_ns_of[piece] =
                (int64_t)held_ns(line, &sum, gathered, HELD_GATHER) - line->begin_ns;
        }
        line->nic_gather_ns[s] = later(0, nics_ns(line, s, &sum, gathered) - line->begin_ns);
        line->late_ns_of[s] = overlaps ? 0 : (int64_t)held_ns(line, &sum, reduced, kind);
    }
}

static void begin_walks(struct bound_line *line, const struct scenario *scenario)
{
    struct bound_family *family = line->family;
    struct arena *arena = line->arena;
    if (!family->has_border) {
        family->border = border_of(family->arena, family->alone);
        family->has_border = true;
    }
    line->costs = (struct pipeline_costs){
        .border = family->border,
        .receive_ns = {family->receive_ns[false], family->receive_ns[true]},
        .blocks = line->blocks,
    };
    line->gathered_ns_of = arena_array(arena, line->pieces, sizeof(int64_t));
    line->late_ns_of = arena_array(arena, line->stages, sizeof(int64_t));
    line->costs.gathered_ns = line->gathered_ns_of;
    for (uint32_t i = 0; i < HELD_COUNT_; i++) {
        line->reduced_ns_of[i] = arena_array(arena, line->pieces, sizeof(int64_t));
        line->costs.reduce_ns[i] = line->reduced_ns_of[i];
    }
    line->nic_gather_ns = arena_array(arena, line->stages, sizeof(int64_t));
    line->nic_reduce_ns = arena_array(arena, line->pieces, sizeof(int64_t));
    line->costs.nic_gather_ns = line->nic_gather_ns;
    line->costs.nic_reduce_ns = line->nic_reduce_ns;
    find_shards(line, scenario);
    uint32_t *pieces = arena_array(arena, line->pieces, sizeof *pieces);
    for (uint32_t i = 0; i < line->pieces; i++) {
        pieces[i] = line->places[i].piece;
    }
    line->pipeline = pipeline_new(arena, &line->shape, pieces);
    for (uint32_t i = 0; i < PIPELINE_OPERATIONS; i++) {
        line->costs.action_ns[i] = arena_array(arena, line->pieces, sizeof(int64_t));
    }
    if (line->shape.pairs) {
        line->pair_ns =
            arena_array(arena, (size_t)line->pieces * line->chunks, sizeof *line->pair_ns);
        line->costs.pair_ns = line->pair_ns;
    }
}

/* A forward beside a backward: as the stage's in actions_ns, of these two. */
static int64_t pair_ns(const struct bound_line *line, const struct bound_choice *choice,
                       uint32_t ahead, uint32_t back)
{
    int64_t sums_ns[TIME_COUNT_];
    for (uint32_t kind = 0; kind < TIME_COUNT_; kind++) {
        sums_ns[kind] = forward_of(line, choice, ahead, (enum time_kind)kind) +
                        backward_of(line, choice, back, ALONE_BOTH, (enum time_kind)kind);
    }
    const int64_t exchange_ns = sums_ns[TIME_EXCHANGE];
    const int64_t slowed_ns = (int64_t)(line->family->expert_share * (double)exchange_ns);
    return later(later(sums_ns[TIME_APART], exchange_ns), sums_ns[TIME_WORK] + slowed_ns);
}

static void find_pairs(struct bound_line *line, const struct bound_choice *choice)
{
    for (uint32_t s = 0; s < line->stages; s++) {
        for (uint32_t ahead = 0; ahead < line->chunks; ahead++) {
            for (uint32_t back = 0; back < line->chunks; back++) {
                const struct place_of_piece *places = &line->places[(size_t)s * line->chunks];
                line->pair_ns[pipeline_pair(&line->shape, s, ahead, back)] =
                    pair_ns(line, choice, places[ahead].piece, places[back].piece);
            }
        }
    }
}

static void find_actions(struct bound_line *line, const struct bound_choice *choice)
{
    static const enum alone_part parts[PIPELINE_OPERATIONS] = {
        [SCHEDULE_BACKWARD] = ALONE_BOTH,
        [SCHEDULE_BACKWARD_INPUT] = ALONE_INPUTS,
        [SCHEDULE_WEIGHTS] = ALONE_WEIGHTS,
    };
    for (uint32_t piece = 0; piece < line->pieces; piece++) {
        for (uint32_t i = 0; i < PIPELINE_OPERATIONS; i++) {
            line->costs.action_ns[i][piece] =
                i == SCHEDULE_FORWARD ? forward_of(line, choice, piece, TIME_SERIAL)
                                      : backward_of(line, choice, piece, parts[i], TIME_SERIAL);
        }
    }
}

/* Until stage 0 has updated its parameters, where all that a stage sends has left then: the last of
 * it, whichever it is, goes back through what is in front of the stage's first piece. */
static int64_t sent_ns(const struct bound_line *line, uint32_t stage, int64_t left_ns)
{
    if (!line->goes_back) {
        return left_ns + (line->meets ? line->update_ns : 0);
    }
    return left_ns + line->backward_ns[line->first_piece[stage]] + line->norm_ns + line->update_ns;
}

/* The same by what a stage does. */
static int64_t stage_walk_ns(const struct bound_line *line, const int64_t *ends_ns, uint32_t stage)
{
    int64_t of_ns[PIPELINE_ENDS];
    for (uint32_t i = 0; i < PIPELINE_ENDS; i++) {
        of_ns[i] = ends_ns[i * (size_t)line->stages + stage];
    }
    int64_t most_ns = later(sent_ns(line, stage, of_ns[PIPELINE_SENT]),
                            sent_ns(line, stage, of_ns[PIPELINE_NICS_SENT]));
    if (stage == 0 || line->meets) {
        int64_t ready_ns = of_ns[PIPELINE_ACTIONS] + line->late_ns_of[stage];
        for (uint32_t i = 0; i < PIPELINE_QUEUES; i++) {
            ready_ns = later(ready_ns, of_ns[PIPELINE_REDUCED + i]);
        }
        ready_ns = later(ready_ns, of_ns[PIPELINE_NICS]);
        most_ns = later(most_ns, ready_ns + (stage == 0 ? line->norm_ns : 0) + line->update_ns);
    }
    return most_ns;
}

/* The same by the way that takes longest. */
static int64_t walk_ns(struct bound_line *line, const struct bound_choice *choice)
{
    find_actions(line, choice);
    if (line->pair_ns != NULL) {
        find_pairs(line, choice);
    }
    const int64_t *ends_ns = pipeline_walk(line->pipeline, &line->costs);
    int64_t most_ns = 0;
    for (uint32_t s = 0; s < line->stages; s++) {
        most_ns = later(most_ns, stage_walk_ns(line, ends_ns, s));
    }
    return most_ns;
}

struct bound bound_closer(struct bound_line *line, const struct scenario *scenario,
                          const struct bound_choice *choice)
{
    struct bound bound = bound_of(line, choice);
    if (line->stages == 1 || scenario->parallel.deferred_heads > 0 ||
        !pipeline_is_possible(&line->shape)) {
        return bound;
    }
    if (line->pipeline == NULL) {
        begin_walks(line, scenario);
    }
    bound.step_ns = later(bound.step_ns, line->begin_ns + walk_ns(line, choice) + bound.wait_ns);
    return bound;
}

struct bound bound_step(const struct scenario *scenario)
{
    struct arena *arena = arena_new();
    struct bound_ground *ground = bound_ground_new(arena, scenario);
    struct bound_family *family = bound_family_new(arena, ground, scenario);
    struct bound_line *line = bound_line_new(arena, family, scenario);
    const struct bound_choice choice =
        bound_choice_of(family, &scenario->recompute, scenario->offload.activation_layers);
    const struct bound bound = bound_closer(line, scenario, &choice);
    arena_free(arena);
    return bound;
}
