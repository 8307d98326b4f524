/* Tries single changes on a copy of the scenario and names those that fit.
 *
 * A change is a row: one function takes the next value of a setting (micro 4,
 * then 2, then 1), another writes it. A row is advanced until the copy fits or
 * the setting ends. GPUs and global batch stay: a larger tp or pp takes from
 * dp, and the microbatches follow. What may not be follows the checks of
 * input/feasible.
 */
#include "input/cluster.h"
#include "input/data/data_loading.h"
#include "input/job/batch.h"
#include "input/job/optimizer.h"
#include "input/job/parallel.h"
#include "input/scenario.h"
#include "plan/memory/memory.h"

#include "base/check.h"
#include "base/units.h"
#include "plan/checkpoint_roles.h"
#include "plan/loading.h"
#include "input/feasible.h"
#include "input/layout.h"
#include "input/training.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- the changes ------------------------------------------------------- */

#define CHUNKS_MAX 4096 /* pp is not doubled beyond */

struct variant {
    struct scenario scenario;
    int64_t layers[CHUNKS_MAX]; /* of the copy, once pp has changed */
};

static void update_microbatches(struct scenario *scenario)
{
    struct batch *batch = &scenario->batch;
    batch->microbatches = batch->global / (scenario->parallel.dp * batch->micro);
}

/* The next smaller divisor, so that the microbatches stay whole. */
static bool lower_micro(struct variant *variant)
{
    struct batch *batch = &variant->scenario.batch;
    if (batch->micro == 1) {
        return false;
    }
    int64_t parts = 2;
    while (batch->micro % parts != 0) {
        parts++; /* ends at micro itself */
    }
    batch->micro /= parts;
    update_microbatches(&variant->scenario);
    return true;
}

/* None, selective by the kind of attention, all of every layer. */
static bool recompute_more(struct variant *variant)
{
    struct recompute *recompute = &variant->scenario.recompute;
    if (recompute->kind == RECOMPUTE_FULL && recompute->layers == 0) {
        return false;
    }
    const uint32_t next = recompute->kind == RECOMPUTE_NONE ? RECOMPUTE_SELECTIVE : RECOMPUTE_FULL;
    *recompute = (struct recompute){.kind = next};
    training_settle(&variant->scenario);
    return true;
}

static bool raise_zero(struct variant *variant)
{
    struct parallel *parallel = &variant->scenario.parallel;
    if (parallel->zero >= 3) {
        return false;
    }
    parallel->zero++;
    return true;
}

/* Half of dp gives way to twice `degree`; states that lay over all ranks still do, and groups of
 * microbatches that were as large as pp still are. */
static bool double_degree(struct scenario *scenario, int64_t *degree)
{
    struct parallel *parallel = &scenario->parallel;
    const bool over_all = parallel->zero_group >= parallel->cp * parallel->dp;
    if (parallel->dp % 2 != 0) {
        return false;
    }
    if (parallel->microbatch_group == parallel->pp) {
        parallel->microbatch_group = 0; /* as large as pp will be */
    }
    *degree *= 2;
    parallel->dp /= 2;
    parallel->zero_group = over_all ? 0 : parallel->zero_group;
    update_microbatches(scenario);
    if (!feasible_holds(scenario)) {
        return false;
    }
    parallel->zero_group = over_all ? parallel->cp * parallel->dp : parallel->zero_group;
    return true;
}

static bool double_tp(struct variant *variant)
{
    struct scenario *scenario = &variant->scenario;
    struct parallel *parallel = &scenario->parallel;
    const struct cluster *cluster = &scenario->cluster;
    if (2 * parallel->tp > cluster->gpus_per_node * cluster->domain_nodes) {
        return false;
    }
    if (parallel->etp == parallel->tp) {
        parallel->etp *= 2;
    }
    return double_degree(scenario, &parallel->tp);
}

/* As input/layout.h distributes them: those that are too many for an even
 * distribution are taken from the first chunk, the last, the second, ... */
static void distribute_layers(int64_t layers, int64_t chunks, int64_t *counts)
{
    const int64_t most = (layers + chunks - 1) / chunks;
    const int64_t too_many = most * chunks - layers;
    for (int64_t i = 0; i < chunks; i++) {
        const int64_t from_first = 2 * i;
        const int64_t from_last = 2 * (chunks - 1 - i) + 1;
        const int64_t turn = from_first < from_last ? from_first : from_last;
        counts[i] = turn < too_many ? most - 1 : most;
    }
}

static bool double_pp(struct variant *variant)
{
    struct scenario *scenario = &variant->scenario;
    struct parallel *parallel = &scenario->parallel;
    if (parallel->zero == 3 || 2 * layout_pieces(parallel) > CHUNKS_MAX ||
        !double_degree(scenario, &parallel->pp)) {
        return false;
    }
    parallel->layers_per_chunk = variant->layers;
    distribute_layers(scenario->model.layers, layout_pieces(parallel), variant->layers);
    return true;
}

/* Only who splits sequences already is told to split them further. */
static bool double_cp(struct variant *variant)
{
    struct parallel *parallel = &variant->scenario.parallel;
    return parallel->cp > 1 && double_degree(&variant->scenario, &parallel->cp);
}

static bool double_ep(struct variant *variant)
{
    variant->scenario.parallel.ep *= 2;
    return variant->scenario.model.experts > 0 && feasible_holds(&variant->scenario);
}

static bool cut_sequence(struct variant *variant)
{
    struct parallel *parallel = &variant->scenario.parallel;
    if (parallel->tp == 1 || parallel->is_sequence_parallel) {
        return false;
    }
    parallel->is_sequence_parallel = true;
    return true;
}

/* One forward, one backward keeps least of all schedules with one chunk a stage. */
static bool choose_1f1b(struct variant *variant)
{
    struct parallel *parallel = &variant->scenario.parallel;
    if (parallel->pp == 1 || parallel->schedule == SCHEDULE_1F1B || parallel->pp > CHUNKS_MAX) {
        return false;
    }
    parallel->schedule = SCHEDULE_1F1B;
    parallel->microbatch_group = 0;
    if (parallel->virtual_stages > 1) {
        parallel->virtual_stages = 1;
        parallel->layers_per_chunk = variant->layers;
        distribute_layers(variant->scenario.model.layers, parallel->pp, variant->layers);
    }
    return true;
}

static bool gather_again(struct variant *variant)
{
    struct parallel *parallel = &variant->scenario.parallel;
    const bool keeps = parallel->zero == 3 && parallel->reshard != RESHARD_FORWARD;
    parallel->reshard = RESHARD_FORWARD;
    return keeps;
}

static bool shard_over_all(struct variant *variant)
{
    struct parallel *parallel = &variant->scenario.parallel;
    const int64_t all = parallel->cp * parallel->dp;
    const bool is_part =
        parallel->zero >= 1 && parallel->zero_group > 0 && parallel->zero_group < all;
    parallel->zero_group = all;
    return is_part;
}

static bool shrink_moments(struct variant *variant)
{
    uint32_t *moments = &variant->scenario.optimizer.moments;
    const bool is_large =
        *moments == STATE_FP32 && variant->scenario.optimizer.rule != OPTIMIZER_SGD;
    *moments = STATE_BF16;
    return is_large;
}

static bool offload_optimizer(struct variant *variant)
{
    double *share = &variant->scenario.offload.optimizer;
    const bool is_here = *share < 1.0;
    *share = 1.0;
    return is_here;
}

/* The next of those that the software has: they are in the order of what they hold. */
static bool choose_loss(struct variant *variant)
{
    struct software *software = &variant->scenario.software;
    for (uint32_t kind = software->loss.kind + 1; kind < LOSS_COUNT_; kind++) {
        if ((software->losses & 1u << kind) != 0) {
            software->loss.kind = kind;
            software->loss.chunk = 0;
            return true;
        }
    }
    return false;
}

struct change_row {
    const char *name;
    bool (*advance)(struct variant *variant); /* false: no further value */
    size_t value; /* where an int64_t of the scenario is; 0: the name says all */
};

#define VALUE(member) offsetof(struct scenario, member)

static const struct change_row changes[] = {
    {"micro", lower_micro, VALUE(batch.micro)},
    {"recompute", recompute_more, 0},
    {"loss.kind", choose_loss, 0},
    {"zero", raise_zero, VALUE(parallel.zero)},
    {"tp", double_tp, VALUE(parallel.tp)},
    {"pp", double_pp, VALUE(parallel.pp)},
    {"cp", double_cp, VALUE(parallel.cp)},
    {"ep", double_ep, VALUE(parallel.ep)},
    {"sequence_parallel true", cut_sequence, 0},
    {"schedule 1f1b", choose_1f1b, 0},
    {"reshard after-forward", gather_again, 0},
    {"zero_group", shard_over_all, VALUE(parallel.zero_group)},
    {"moments bf16", shrink_moments, 0},
    {"the optimizer offloaded", offload_optimizer, 0},
};

#define CHANGE_COUNT (sizeof changes / sizeof changes[0])

static bool can_fit(const struct change_row *change, const struct scenario *scenario,
                    int64_t worst_stage, struct variant *variant)
{
    variant->scenario = *scenario;
    while (change->advance(variant)) {
        if (feasible_holds(&variant->scenario) && memory_fits(&variant->scenario, worst_stage)) {
            return true;
        }
    }
    return false;
}

/* ---- the text ---------------------------------------------------------- */

/* A buffer that is filled from the left; what does not fit is cut. */
struct writer {
    char *text;
    size_t size_bytes;
    size_t used_bytes;
};

static void write_text(struct writer *writer, const char *format, ...) PRINTF_LIKE(2, 3);

static void write_text(struct writer *writer, const char *format, ...)
{
    const size_t room = writer->size_bytes - writer->used_bytes;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(writer->text + writer->used_bytes, room, format, arguments);
    va_end(arguments);
    sim_assert(length >= 0);
    writer->used_bytes += (size_t)length < room ? (size_t)length : room - 1;
}

/* "micro 1", "recompute full". */
static void describe(const struct change_row *change, const struct scenario *scenario,
                     struct writer *writer)
{
    if (change->advance == recompute_more) {
        write_text(writer, "%s %s", change->name, recompute_names[scenario->recompute.kind]);
        return;
    }
    if (change->advance == choose_loss) {
        write_text(writer, "%s %s", change->name, loss_kind_names[scenario->software.loss.kind]);
        return;
    }
    if (change->value == 0) {
        write_text(writer, "%s", change->name);
        return;
    }
    int64_t value = 0;
    memcpy(&value, (const char *)scenario + change->value, sizeof value);
    write_text(writer, "%s %lld", change->name, (long long)value);
}

static void write_changes(struct writer *writer, const struct scenario *scenario,
                          int64_t worst_stage)
{
    enum { WORDS_BYTES = 40 };
    char words[CHANGE_COUNT][WORDS_BYTES];
    struct variant variant;
    size_t count = 0;
    for (size_t i = 0; i < CHANGE_COUNT; i++) {
        if (can_fit(&changes[i], scenario, worst_stage, &variant)) {
            struct writer word = {.text = words[count], .size_bytes = WORDS_BYTES};
            describe(&changes[i], &variant.scenario, &word);
            count++;
        }
    }
    if (count == 0) {
        const bool is_dense = scenario->model.experts == 0;
        write_text(writer, "; no single change of micro, recompute, zero, tp%s makes it fit",
                   is_dense ? " or pp" : ", pp or ep");
    }
    for (size_t i = 0; i < count; i++) {
        const char *const between = i + 1 == count ? " or " : ", ";
        write_text(writer, "%s%s", i == 0 ? "; fits with " : between, words[i]);
    }
}

struct part {
    const char *name;
    double bytes;
};

static struct part largest_part(const struct memory_use *use)
{
    const struct part parts[] = {
        {"weights", use->weights_bytes},     {"gradients", use->gradients_bytes},
        {"optimizer", use->optimizer_bytes}, {"activations", use->activations_bytes},
        {"logits", use->logits_bytes},       {"temporaries", use->temporary_bytes},
        {"buffers", use->buffers_bytes},     {"overhead", use->overhead_bytes},
    };
    struct part largest = parts[0];
    for (size_t i = 1; i < sizeof parts / sizeof parts[0]; i++) {
        largest = parts[i].bytes > largest.bytes ? parts[i] : largest;
    }
    return largest;
}

static void write_staged(struct writer *writer, const struct checkpoint *plan, const char *staged)
{
    const uint32_t copies = checkpoint_copies(plan);
    if (copies == 1) {
        write_text(writer, " (%s for an asynchronous checkpoint; a blocking one needs none)",
                   staged);
    } else {
        write_text(writer,
                   " (%s for %u copies of what its ranks write of a checkpoint; one on nodes' "
                   "drives or shared storage needs less: run.checkpoint.to)",
                   staged, copies);
    }
}

/* The GPUs' memory fits, the host's does not. */
static void write_host(struct writer *writer, const struct scenario *scenario,
                       const struct memory_verdict *verdict)
{
    char needed[32], limit[32], loaders[32], each[32], queue[32], staged[32];
    units_format(verdict->host_bytes, DIM_BYTES, 3, needed, sizeof needed);
    units_format(verdict->host_limit_bytes, DIM_BYTES, 3, limit, sizeof limit);
    write_text(writer, "the GPUs' memory fits, but the host of a node needs %s of %s", needed,
               limit);
    if (verdict->staged_bytes > 0) {
        units_format(verdict->staged_bytes, DIM_BYTES, 3, staged, sizeof staged);
        write_staged(writer, &scenario->checkpoint, staged);
    }
    if (!(verdict->loaders_bytes > 0)) {
        write_text(writer,
                   verdict->offloaded_bytes > 0 ? " for what is offloaded; offload less" : "");
        return;
    }
    const struct data_loading *data = &scenario->data;
    const struct loading_job loading = loading_job_of(scenario);
    units_format(verdict->loaders_bytes, DIM_BYTES, 3, loaders, sizeof loaders);
    units_format(data->memory_per_worker_bytes, DIM_BYTES, 3, each, sizeof each);
    units_format(loading_queue_bytes(&loading), DIM_BYTES, 3, queue, sizeof queue);
    write_text(writer, ": %s for %lld loaders x %lld workers x (%s + %s prefetched)%s", loaders,
               (long long)loading_ranks_of_node(&loading), (long long)data->workers_per_gpu, each,
               queue, verdict->offloaded_bytes > 0 ? ", the rest for what is offloaded" : "");
    write_text(writer, "; take fewer data.workers_per_gpu or less data.prefetch%s",
               verdict->offloaded_bytes > 0 ? ", or offload less" : "");
}

void memory_explain(const struct scenario *scenario, const struct memory_verdict *verdict,
                    char *text, size_t text_bytes)
{
    sim_assert(text_bytes > 0);
    text[0] = '\0';
    if (verdict->fits) {
        return;
    }
    struct writer writer = {.text = text, .size_bytes = text_bytes};
    if (verdict->fits_gpu) {
        write_host(&writer, scenario, verdict);
        return;
    }
    char needed[32], limit[32], most[32];
    const struct part largest = largest_part(&verdict->worst);
    units_format(verdict->worst.total_bytes, DIM_BYTES, 3, needed, sizeof needed);
    units_format(verdict->limit_bytes, DIM_BYTES, 3, limit, sizeof limit);
    units_format(largest.bytes, DIM_BYTES, 3, most, sizeof most);
    write_text(&writer, "stage %lld needs %s of %s, the largest part %s (%s)",
               (long long)verdict->worst_stage, needed, limit, largest.name, most);
    write_changes(&writer, scenario, verdict->worst_stage);
}
