/* Tries single changes on a copy of the scenario and names those that fit.
 *
 * A change is a row: one function takes the next value of a setting (micro 4,
 * then 2, then 1), another writes it. A row is advanced until the copy fits or
 * the setting ends. GPUs and global batch stay: a larger tp or pp takes from
 * dp, and the microbatches follow. What may not be follows the checks of
 * spec/feasible.
 */
#include "plan/memory.h"

#include "base/check.h"
#include "base/units.h"

#include <stdarg.h>
#include <stdio.h>

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

static bool recompute_more(struct variant *variant)
{
    struct scenario *scenario = &variant->scenario;
    if (scenario->recompute + 1 >= RECOMPUTE_COUNT_) {
        return false;
    }
    scenario->recompute++;
    return true;
}

static bool raise_zero(struct variant *variant)
{
    struct parallel *parallel = &variant->scenario.parallel;
    const int64_t zero_max = parallel->pp == 1 ? 3 : 2;
    if (parallel->zero >= zero_max) {
        return false;
    }
    parallel->zero++;
    return true;
}

static bool tp_fits(const struct scenario *scenario, int64_t tp)
{
    const struct model *model = &scenario->model;
    const bool shares_kv = model->kv_heads % tp == 0 || tp % model->kv_heads == 0;
    const int64_t length = scenario->batch.sequence_length / scenario->parallel.cp;
    const bool cuts_sequence = !scenario->parallel.is_sequence_parallel || length % tp == 0;
    const bool cuts_experts = model->experts == 0 || model->expert_hidden % tp == 0;
    return model->heads % tp == 0 && shares_kv && model->ffn_hidden % tp == 0 && cuts_experts &&
           cuts_sequence;
}

/* Half of dp is left, and the expert groups still find their ranks. */
static bool dp_halves(const struct parallel *parallel)
{
    return parallel->dp % 2 == 0 && parallel->cp * (parallel->dp / 2) % parallel->ep == 0;
}

static bool double_tp(struct variant *variant)
{
    struct scenario *scenario = &variant->scenario;
    struct parallel *parallel = &scenario->parallel;
    const int64_t tp = 2 * parallel->tp;
    const struct cluster *cluster = &scenario->cluster;
    const bool stays_in_domain = tp <= cluster->gpus_per_node * cluster->domain_nodes;
    if (!dp_halves(parallel) || !stays_in_domain || !tp_fits(scenario, tp)) {
        return false;
    }
    parallel->tp = tp;
    parallel->dp /= 2;
    update_microbatches(scenario);
    return true;
}

/* As spec/layout.h distributes them: those that are too many for an even
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
    const int64_t chunks = 2 * parallel->pp * parallel->virtual_stages;
    const bool has_layers = chunks <= CHUNKS_MAX && chunks <= scenario->model.layers + 2;
    if (!dp_halves(parallel) || parallel->zero == 3 || !has_layers) {
        return false;
    }
    parallel->pp *= 2;
    parallel->dp /= 2;
    parallel->layers_per_chunk = variant->layers;
    distribute_layers(scenario->model.layers, chunks, variant->layers);
    update_microbatches(scenario);
    return true;
}

/* Only who splits sequences already is told to split them further. */
static bool double_cp(struct variant *variant)
{
    struct scenario *scenario = &variant->scenario;
    struct parallel *parallel = &scenario->parallel;
    const int64_t cp = 2 * parallel->cp;
    const int64_t tp = parallel->is_sequence_parallel ? parallel->tp : 1;
    const int64_t length = scenario->batch.sequence_length;
    if (parallel->cp == 1 || parallel->dp % 2 != 0 || length % (2 * cp) != 0 ||
        length / cp % tp != 0) {
        return false;
    }
    parallel->cp = cp;
    parallel->dp /= 2;
    update_microbatches(scenario);
    return true;
}

static bool double_ep(struct variant *variant)
{
    struct parallel *parallel = &variant->scenario.parallel;
    const int64_t experts = variant->scenario.model.experts;
    const int64_t ep = 2 * parallel->ep;
    if (experts == 0 || experts % ep != 0 || parallel->cp * parallel->dp % ep != 0) {
        return false;
    }
    parallel->ep = ep;
    return true;
}

static int64_t micro_of(const struct scenario *scenario)
{
    return scenario->batch.micro;
}

static int64_t zero_of(const struct scenario *scenario)
{
    return scenario->parallel.zero;
}

static int64_t tp_of(const struct scenario *scenario)
{
    return scenario->parallel.tp;
}

static int64_t pp_of(const struct scenario *scenario)
{
    return scenario->parallel.pp;
}

static int64_t cp_of(const struct scenario *scenario)
{
    return scenario->parallel.cp;
}

static int64_t ep_of(const struct scenario *scenario)
{
    return scenario->parallel.ep;
}

struct change_row {
    const char *name;
    bool (*advance)(struct variant *variant);          /* false: no further value */
    int64_t (*value)(const struct scenario *scenario); /* NULL: recompute's name */
};

static const struct change_row changes[] = {
    {"micro", lower_micro, micro_of}, {"recompute", recompute_more, NULL},
    {"zero", raise_zero, zero_of},    {"tp", double_tp, tp_of},
    {"pp", double_pp, pp_of},         {"cp", double_cp, cp_of},
    {"ep", double_ep, ep_of},
};

#define CHANGE_COUNT (sizeof changes / sizeof changes[0])

static bool can_fit(const struct change_row *change, const struct scenario *scenario,
                    struct variant *variant)
{
    variant->scenario = *scenario;
    while (change->advance(variant)) {
        if (memory_check(&variant->scenario).fits) {
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
    if (change->value == NULL) {
        write_text(writer, "%s %s", change->name, recompute_names[scenario->recompute]);
        return;
    }
    write_text(writer, "%s %lld", change->name, (long long)change->value(scenario));
}

static void write_changes(struct writer *writer, const struct scenario *scenario)
{
    enum { WORDS_BYTES = 40 };
    char words[CHANGE_COUNT][WORDS_BYTES];
    struct variant variant;
    size_t count = 0;
    for (size_t i = 0; i < CHANGE_COUNT; i++) {
        if (can_fit(&changes[i], scenario, &variant)) {
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
        {"buffers", use->buffers_bytes},     {"overhead", use->overhead_bytes},
    };
    struct part largest = parts[0];
    for (size_t i = 1; i < sizeof parts / sizeof parts[0]; i++) {
        largest = parts[i].bytes > largest.bytes ? parts[i] : largest;
    }
    return largest;
}

void memory_explain(const struct scenario *scenario, const struct memory_verdict *verdict,
                    char *text, size_t text_bytes)
{
    sim_assert(text_bytes > 0);
    text[0] = '\0';
    if (verdict->fits) {
        return;
    }
    char needed[32], limit[32], most[32];
    const struct part largest = largest_part(&verdict->worst);
    units_format(verdict->worst.total_bytes, DIM_BYTES, 3, needed, sizeof needed);
    units_format(verdict->limit_bytes, DIM_BYTES, 3, limit, sizeof limit);
    units_format(largest.bytes, DIM_BYTES, 3, most, sizeof most);
    struct writer writer = {.text = text, .size_bytes = text_bytes};
    write_text(&writer, "stage %lld needs %s of %s, the largest part %s (%s)",
               (long long)verdict->worst_stage, needed, limit, largest.name, most);
    write_changes(&writer, scenario);
}
