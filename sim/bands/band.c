/* A band is as wide as the regression of all votes' errors says (bands/width). What lies beyond all
 * votes widens it; what lies outside of what the scenario's class reached, and each trait that no
 * vote has, is told in words.
 */
#include "bands/band.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/field.h"
#include "base/units.h"
#include "input/cluster.h"
#include "input/doc/name_table.h"
#include "bands/axes.h"
#include "bands/limits.h"
#include "bands/table_file.h"
#include "bands/width.h"
#include "input/scenario.h"
#include "input/study/anchor.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { OUTSIDE_MAX = 15 };

static const double GBPS_PER_BYTES = 8e-9;
static const double STALL_MIN = 0.005;   /* of the time; less goes unnoticed in a measurement */
static const double NEAR = 1.001;        /* numbers that differ by less are the same */
static const double LAUNCH_LEAST = 0.05; /* of a step; less is a share of no account */
/* Of the band's logarithm, for each doubling beyond what was measured. In the table of 2026, with
 * sources left out, the errors of runs of 16, 32, 64, 128 and 256 thousand tokens were 1.4, 1.7,
 * 2.0, 2.5 and 4.4 times those of runs of at most 8 thousand. */
static const double WIDER = 0.25;
/* How unlike a run that says what was on is to one that does not (distance). */
static const double TYPED_APART = 1.5;

const char *band_kind_name(bool is_mixture)
{
    return is_mixture ? "moe" : "dense";
}

static bool is_same(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool band_is_low(const char *precision)
{
    return strstr(precision, "fp8") != NULL || strstr(precision, "fp4") != NULL;
}

/* Down over up, of the levels that these nodes reach over. */
static double oversubscription_of(const struct scenario *scenario)
{
    const struct cluster *cluster = &scenario->cluster;
    const int64_t leaf = cluster->nodes_per_leaf;
    const int64_t pod = leaf * cluster->leaves_per_pod;
    const int64_t group = leaf * cluster->leaves_per_group;
    double most = leaf > 0 && scenario->nodes > leaf ? cluster->oversubscription : 1;
    most = pod > 0 && scenario->nodes > pod ? fmax(most, cluster->pod_oversubscription) : most;
    return group > 0 && scenario->nodes > group ? fmax(most, cluster->global_oversubscription)
                                                : most;
}

struct band_traits band_traits_of(const struct scenario *scenario)
{
    const struct cluster *cluster = &scenario->cluster;
    const bool has_network = scenario->nodes > cluster->domain_nodes;
    const struct software *software = &scenario->software;
    return (struct band_traits){
        .gpu = scenario->gpu.name,
        .architecture = gpu_architecture_names[scenario->gpu.architecture],
        .framework = software->framework[0] != '\0' ? software->framework : software->name,
        .precision = precision_names[scenario->precision],
        .is_mixture = scenario->model.experts > 0,
        .is_typed = !scenario->says_features,
        .gpus = scenario->gpus,
        .sequence_length = scenario->batch.sequence_length,
        .hidden = scenario->model.hidden,
        .launch_share = ABSENT,
        .step_s = ABSENT,
        .box_spread = gpu_gemm(&scenario->gpu, scenario->precision).box_spread,
        .box_left = {scenario->box.left[BOX_GEMM], scenario->box.left[BOX_ATTENTION],
                     scenario->box.left[BOX_MEMORY], scenario->box.left[BOX_LINKS]},
        .unproven = unproven_of(scenario),
        .network_bytes_per_s = has_network ? cluster->network_bytes_per_s : 0,
        .fabric = has_network ? fabric_kind_names[cluster->fabric_kind] : "",
        .routing = has_network ? routing_names[cluster->routing] : "",
        .oversubscription = has_network ? oversubscription_of(scenario) : 1,
    };
}

struct band_step band_step_of(const int64_t *gpu_ns, int64_t step_ns, int64_t gpus)
{
    const double all_ns = (double)step_ns * (double)gpus;
    const int64_t links_ns = gpu_ns[CAUSE_EXPOSED_TP] + gpu_ns[CAUSE_EXPOSED_CP] +
                             gpu_ns[CAUSE_EXPOSED_EP] + gpu_ns[CAUSE_EXPOSED_PP] +
                             gpu_ns[CAUSE_EXPOSED_DP];
    return (struct band_step){
        .step_s = units_seconds(step_ns),
        .launch = (double)gpu_ns[CAUSE_LAUNCH] / all_ns,
        .compute = (double)(gpu_ns[CAUSE_COMPUTE] + gpu_ns[CAUSE_RECOMPUTE]) / all_ns,
        .memory = (double)gpu_ns[CAUSE_OPTIMIZER] / all_ns,
        .links = (double)links_ns / all_ns,
    };
}

double band_attention_share(double flop_causal, double flop_full)
{
    return flop_causal > 0 ? fmin(1, fmax(0, flop_full / flop_causal - 1)) : 0;
}

void band_traits_add_step(struct band_traits *traits, const struct band_step *step)
{
    const double shares[BOX_RATE_COUNT_] = {
        [BOX_GEMM] = step->compute * (1 - step->attention),
        [BOX_ATTENTION] = step->compute * step->attention,
        [BOX_MEMORY] = step->memory,
        [BOX_LINKS] = step->links,
    };
    const double told = traits->box_spread;
    traits->launch_share = step->launch;
    traits->step_s = step->step_s;
    for (uint32_t i = 0; i < BOX_RATE_COUNT_; i++) {
        traits->box_share[i] = traits->box_left[i] > 0 ? shares[i] : 0;
    }
    traits->box_spread = 0;
    for (uint32_t i = BOX_GEMM; told > 0 && i <= BOX_ATTENTION; i++) {
        const double left = traits->box_left[i];
        traits->box_spread += shares[i] * (left > 0 ? fmin(left, told) : told);
    }
}

/* The square that comes off, of what votes hold: of rates whose spread was not added to them. */
static double box_known(const struct band_votes *votes, const struct band_traits *traits)
{
    double square = 0;
    for (uint32_t i = traits->box_spread > 0 ? BOX_MEMORY : BOX_GEMM; i < BOX_RATE_COUNT_; i++) {
        const double held = votes->box_held[i], left = traits->box_left[i];
        const double share = traits->box_share[i];
        square += held > left ? share * share * (held * held - left * left) : 0;
    }
    return square;
}

double band_boxes_apart(const struct band_traits *a, const struct band_traits *b)
{
    const bool is_one_box = is_same(a->gpu, b->gpu) && is_same(a->precision, b->precision);
    return is_one_box ? 0 : BAND_DEVIATIONS * hypot(a->box_spread, b->box_spread);
}

struct band_burdens band_burdens_of_scenario(const struct scenario *scenario)
{
    struct band_burdens burdens = {
        .neighbours = scenario->neighbour_count, .slowest = 1, .weakest = 1};
    for (int64_t i = 0; i < scenario->slow_count; i++) {
        const struct slow_rank *slow = &scenario->slow[i];
        burdens.slowest = fmin(burdens.slowest, slow->speed);
        burdens.weakest = fmin(burdens.weakest, fmin(slow->nic, slow->scale_up));
    }
    return burdens;
}

struct band_burdens band_burdens_of(const struct result *result)
{
    const struct step_result *step = &result->step;
    const double all_ns = (double)step->step_ns * (double)result->scenario->gpus;
    struct band_burdens burdens = band_burdens_of_scenario(result->scenario);
    if (result_has_step(result)) {
        burdens.data_stall = (double)step->gpu_ns[CAUSE_DATA_STALL] / all_ns;
        burdens.checkpoint_stall = (double)step->gpu_ns[CAUSE_CHECKPOINT_STALL] / all_ns;
    }
    if (result_has_run(result) && result_has_checkpoints(result)) {
        const double stalls_s = (double)result->run.checkpoints * result->run.checkpoint_s;
        burdens.checkpoint_stall += stalls_s / account_sum_s(result->run.account_s);
    }
    return burdens;
}

/* ---- the class ---------------------------------------------------------------------------- */

/* What votes of a class share; from the nearest class to the widest. */
static const struct class_row {
    bool architecture, framework, precision, kind;
} classes[] = {
    {true, true, true, true},    {true, false, true, true},    {true, false, false, true},
    {false, false, false, true}, {false, false, false, false},
};
enum { CLASS_COUNT = sizeof classes / sizeof *classes };

static bool is_in(const struct class_row *row, const struct band_traits *a,
                  const struct band_traits *b)
{
    return (!row->architecture || is_same(a->architecture, b->architecture)) &&
           (!row->framework || is_same(a->framework, b->framework)) &&
           (!row->precision || band_is_low(a->precision) == band_is_low(b->precision)) &&
           (!row->kind || a->is_mixture == b->is_mixture);
}

static bool has_kind(const struct band_votes *votes, bool is_typed)
{
    uint32_t i = 0;
    while (i < votes->count && votes->items[i].traits.is_typed != is_typed) {
        i++;
    }
    return i < votes->count;
}

/* The class's votes, in the order of the file: of those of which as much was said, where there are
 * some. */
static uint32_t choose(const struct band_votes *votes, const struct class_row *row,
                       const struct band_traits *traits, const struct band_vote **chosen)
{
    uint32_t count = 0;
    const bool of_all = !has_kind(votes, traits->is_typed);
    for (uint32_t i = 0; i < votes->count; i++) {
        const struct band_vote *vote = &votes->items[i];
        const bool is_alike = of_all || vote->traits.is_typed == traits->is_typed;
        if (is_alike && is_in(row, &vote->traits, traits)) {
            chosen[count++] = vote;
        }
    }
    return count;
}

/* "hopper, megatron, 16-bit, dense": of votes that are all typed, or none. */
static const char *class_name(struct arena *arena, const struct class_row *row,
                              const struct band_traits *traits, bool is_typed)
{
    if (!row->kind) {
        return "all runs";
    }
    const char *low = band_is_low(traits->precision) ? "8-bit or less, " : "16-bit or more, ";
    return arena_printf(arena, "%s%s%s%s%s%s%s", row->architecture ? traits->architecture : "",
                        row->architecture ? ", " : "", row->framework ? traits->framework : "",
                        row->framework ? ", " : "", row->precision ? low : "",
                        band_kind_name(traits->is_mixture), is_typed ? ", features not said" : "");
}

/* ---- the votes that are near --------------------------------------------------------------- */

/* How many doublings lie between two positive numbers. */
static double doublings(double a, double b)
{
    return fabs(log2(a / b));
}

/* How unlike two runs are: 1 for each trait of the classes that differs, and for a factor of four
 * in tokens or network, of sixteen in GPUs or width. A network that one of them does not state, or
 * has not, counts for nothing. */
static double distance(const struct band_traits *a, const struct band_traits *b)
{
    double sum = (is_same(a->architecture, b->architecture) ? 0 : 1) +
                 (is_same(a->framework, b->framework) ? 0 : 1) +
                 (band_is_low(a->precision) == band_is_low(b->precision) ? 0 : 1) +
                 (a->is_mixture == b->is_mixture ? 0 : 1) +
                 (a->is_typed == b->is_typed ? 0 : TYPED_APART);
    sum += doublings((double)a->sequence_length, (double)b->sequence_length) / 2;
    sum += doublings((double)a->gpus, (double)b->gpus) / 4;
    sum += doublings((double)a->hidden, (double)b->hidden) / 4;
    if (a->network_bytes_per_s > 0 && b->network_bytes_per_s > 0) {
        sum += doublings(a->network_bytes_per_s, b->network_bytes_per_s) / 2;
    }
    return sum;
}

/* Both sides alike: which way runs of other sources were off says little of which way this one
 * will be. */
static void measure(struct arena *arena, const struct band_votes *votes,
                    const struct band_traits *traits, struct band *band)
{
    const struct band_width width =
        votes->width != NULL ? *votes->width : width_fit(arena, votes->items, votes->count, 0);
    band->alike = exp(width_of(&width, traits));
    band->parts = width_parts(arena, &width, traits, &band->part_count);
    band->all_votes = votes->count;
}

static void count_sources(struct arena *arena, const struct band_vote *const *chosen,
                          uint32_t count, struct band *band)
{
    struct name_table sources;
    name_table_init(&sources, arena);
    for (uint32_t i = 0; i < count; i++) {
        (void)name_table_index(&sources, chosen[i]->source);
    }
    band->votes = count;
    band->sources = sources.count;
}

/* By rising distance; the order of the file decides ties. */
static void find_nearest(const struct band_votes *votes, const struct band_traits *traits,
                         struct band *band)
{
    double found[BAND_NEAREST] = {0};
    for (uint32_t i = 0; i < votes->count; i++) {
        const struct band_vote *vote = &votes->items[i];
        const double far = distance(traits, &vote->traits);
        uint32_t at = band->nearest_count;
        sim_assert(at <= BAND_NEAREST);
        if (at == BAND_NEAREST && far >= found[at - 1]) {
            continue;
        }
        at -= at == BAND_NEAREST ? 1 : 0;
        band->nearest_count = at + 1;
        for (; at > 0 && far < found[at - 1]; at--) {
            found[at] = found[at - 1];
            band->nearest[at] = band->nearest[at - 1];
        }
        found[at] = far;
        band->nearest[at] = (struct band_run){vote->id, vote->source, vote->ratio};
    }
}

/* ---- what lies outside ---------------------------------------------------------------------- */

struct outside {
    struct arena *arena;
    const char **texts;
    uint32_t count;
};

static void add(struct outside *outside, const char *format, ...) PRINTF_LIKE(2, 3);

static void add(struct outside *outside, const char *format, ...)
{
    va_list arguments;
    sim_assert(outside->count < OUTSIDE_MAX);
    va_start(arguments, format);
    outside->texts[outside->count++] = arena_vprintf(outside->arena, format, arguments);
    va_end(arguments);
}

/* Whether one of all votes has the scenario's text in this member. */
static bool is_met(const struct band_votes *votes, const struct band_traits *traits,
                   const struct field *member)
{
    uint32_t i = 0;
    while (i < votes->count && !is_same(field_value(member, &votes->items[i].traits).text,
                                        field_value(member, traits).text)) {
        i++;
    }
    return i < votes->count;
}

#define IS_MET(member) \
    is_met(votes, traits, &(const struct field){FIELD_AT(struct band_traits, member)})

static void check_known(const struct band_votes *votes, const struct band_traits *traits,
                        struct outside *outside)
{
    if (!IS_MET(architecture)) {
        add(outside, "no run on %s", traits->architecture);
    } else if (!IS_MET(gpu)) {
        add(outside, "no run on %s", traits->gpu);
    }
    if (!IS_MET(framework)) {
        add(outside, "no run of %s", traits->framework);
    }
    if (!IS_MET(precision)) {
        add(outside, "no run in %s", traits->precision);
    }
}

/* Of the class: from the least to the most of a number; 0 where none of it states one. */
struct reach {
    double least, most;
};

static struct reach reach_of(const struct band_vote *const *chosen, uint32_t count,
                             const struct field *member)
{
    struct reach reach = {0, 0};
    for (uint32_t i = 0; i < count; i++) {
        const struct field_value known = field_value(member, &chosen[i]->traits);
        const double value = member->kind == FIELD_REAL ? known.real : (double)known.integer;
        if (value > 0) { /* ABSENT is not */
            reach.least = reach.most <= 0 ? value : fmin(reach.least, value);
            reach.most = fmax(reach.most, value);
        }
    }
    return reach;
}

#define REACH_OF(member) \
    reach_of(chosen, count, &(const struct field){FIELD_AT(struct band_traits, member)})

/* Doublings by which a number lies outside; what no vote states cannot be judged. */
static double beyond(const struct reach *reach, double own)
{
    if (reach->most <= 0 || (own * NEAR >= reach->least && own <= reach->most * NEAR)) {
        return 0;
    }
    return own > reach->most ? log2(own / reach->most) : log2(reach->least / own);
}

/* Of the class, how far it reaches. */
static void check_sizes(const struct band_vote *const *chosen, uint32_t count,
                        const struct band_traits *traits, struct outside *outside)
{
    const struct reach gpus = REACH_OF(gpus), length = REACH_OF(sequence_length),
                       width = REACH_OF(hidden), launches = REACH_OF(launch_share);
    if ((double)traits->gpus > 2 * gpus.most) {
        add(outside, "%" PRId64 " GPUs, at most %.0f there", traits->gpus, gpus.most);
    }
    if ((double)traits->sequence_length > length.most) {
        add(outside, "%" PRId64 " tokens, at most %.0f there", traits->sequence_length,
            length.most);
    }
    if (beyond(&width, (double)traits->hidden) > 0) {
        add(outside, "a model %" PRId64 " wide, %.0f to %.0f there", traits->hidden, width.least,
            width.most);
    }
    if (traits->launch_share > fmax(launches.most, LAUNCH_LEAST) * NEAR && launches.most > 0) {
        add(outside, "launches take %.0f %% of the step, at most %.0f %% there",
            100 * traits->launch_share, 100 * launches.most);
    }
}

/* Of the class, which networks its runs say they had. */
static void check_network(const struct band_vote *const *chosen, uint32_t count,
                          const struct band_traits *traits, struct outside *outside)
{
    const double own = traits->network_bytes_per_s;
    const struct reach reach = REACH_OF(network_bytes_per_s);
    if (own <= 0 || (reach.most > 0 && beyond(&reach, own) <= 0)) {
        return;
    }
    const double gbps = own * GBPS_PER_BYTES;
    const double least = reach.least * GBPS_PER_BYTES, most = reach.most * GBPS_PER_BYTES;
    if (most <= 0) {
        add(outside, "%.6g Gbps a node, no run there states its network", gbps);
    } else if (most <= least * NEAR) {
        add(outside, "%.6g Gbps a node, those stated there have %.6g", gbps, most);
    } else {
        add(outside, "%.6g Gbps a node, those stated there have %.6g to %.6g", gbps, least, most);
    }
}

/* Of all votes, whether one ran on such a fabric. */
static void check_fabric(const struct band_votes *votes, const struct band_traits *traits,
                         struct outside *outside)
{
    double most = 1;
    if (traits->fabric[0] == '\0') {
        return;
    }
    for (uint32_t i = 0; i < votes->count; i++) {
        most = fmax(most, votes->items[i].traits.oversubscription);
    }
    if (!IS_MET(fabric)) {
        add(outside, "no run on a %s fabric", traits->fabric);
    }
    if (!IS_MET(routing)) {
        add(outside, "no run with routing %s", traits->routing);
    }
    if (traits->oversubscription > most * NEAR) {
        add(outside, "%.6g:1 oversubscribed, at most %.6g:1 measured", traits->oversubscription,
            most);
    }
}

/* Runs are published without these. */
static void check_burdens(const struct band_burdens *burdens, struct outside *outside)
{
    if (burdens->data_stall >= STALL_MIN) {
        add(outside, "no run waited for data (%.1f %% of this step)", 100 * burdens->data_stall);
    }
    if (burdens->checkpoint_stall >= STALL_MIN) {
        add(outside, "no run waited for checkpoints (%.1f %% of the time)",
            100 * burdens->checkpoint_stall);
    }
    if (burdens->slowest > 0 && burdens->slowest < 1) {
        add(outside, "no run had a slow GPU (one at %.6g %%)", 100 * burdens->slowest);
    }
    if (burdens->weakest > 0 && burdens->weakest < 1) {
        add(outside, "no run had a weak link (one at %.6g %%)", 100 * burdens->weakest);
    }
    if (burdens->neighbours > 0) {
        add(outside, "no run shared its fabric with other jobs");
    }
}

/* Doublings by which the scenario lies beyond all runs, of all that counts. */
static double beyond_all(const struct band_vote *const *chosen, uint32_t count,
                         const struct band_traits *traits)
{
    const struct reach gpus = REACH_OF(gpus), length = REACH_OF(sequence_length),
                       width = REACH_OF(hidden), network = REACH_OF(network_bytes_per_s);
    const struct reach launches = {0, fmax(REACH_OF(launch_share).most, LAUNCH_LEAST)};
    double sum = beyond(&gpus, (double)traits->gpus) +
                 beyond(&length, (double)traits->sequence_length) +
                 beyond(&width, (double)traits->hidden);
    sum += traits->network_bytes_per_s > 0 ? beyond(&network, traits->network_bytes_per_s) : 0;
    return sum + (traits->launch_share > 0 ? beyond(&launches, traits->launch_share) : 0);
}

static void check_all(struct arena *arena, const struct band_votes *votes,
                      const struct band_vote *const *chosen, const struct band_traits *traits,
                      struct band *band)
{
    struct outside outside = {arena, arena_array(arena, OUTSIDE_MAX, sizeof *outside.texts), 0};
    check_known(votes, traits, &outside);
    check_sizes(chosen, band->votes, traits, &outside);
    check_network(chosen, band->votes, traits, &outside);
    check_fabric(votes, traits, &outside);
    band->outside = outside.texts;
    band->outside_count = outside.count;
}

/* By all votes, whatever the class, and by what is known of boxes. */
static void widen(const struct band_votes *votes, const struct band_vote **chosen,
                  const struct band_traits *traits, struct band *band)
{
    const struct class_row any = {false, false, false, false};
    const uint32_t count = choose(votes, &any, traits, chosen);
    band->widening = 1.0 + WIDER * beyond_all(chosen, count, traits);
    band->box_spread = traits->box_spread;
    for (uint32_t i = 0; i < BOX_RATE_COUNT_; i++) {
        band->knows_box = band->knows_box || traits->box_left[i] > 0;
    }
    const double measured = band->widening * log(band->alike);
    const double boxes = BAND_DEVIATIONS * band->box_spread;
    const double known = BAND_DEVIATIONS * BAND_DEVIATIONS * box_known(votes, traits);
    const double all = hypot(measured, boxes);
    const double narrowed = sqrt(fmax(0, all * all - known));
    band->high = exp(known > 0 ? fmin(all, fmax(narrowed, AXIS_TIE)) : all);
    band->low = 1.0 / band->high;
}

/* The nearest class that has enough votes; NULL: none has. `count` and `chosen` are of the last
 * one that was looked at. */
static const struct class_row *find_class(const struct band_votes *votes,
                                          const struct band_traits *traits,
                                          const struct band_vote **chosen, uint32_t *count)
{
    for (uint32_t row = 0; row < CLASS_COUNT; row++) {
        *count = choose(votes, &classes[row], traits, chosen);
        if (*count >= BAND_VOTES_MIN) {
            return &classes[row];
        }
    }
    return NULL;
}

static const struct band_vote **room_for_all(struct arena *arena, const struct band_votes *votes)
{
    return arena_array(arena, votes->count + (size_t)1, sizeof(const struct band_vote *));
}

/* No narrower than what reports of it were off by. */
static void widen_to_reports(struct arena *arena, const struct band_votes *votes,
                             uint32_t unproven_ones, struct band *band)
{
    band->unproven = arena_array(arena, UNPROVEN_COUNT, sizeof *band->unproven);
    for (uint32_t i = 0; i < UNPROVEN_COUNT; i++) {
        if ((unproven_ones & 1U << i) != 0) {
            band->unproven[band->unproven_count++] = unproven[i].name;
            band->reported = fmax(band->reported, votes->reported[i]);
        }
    }
    band->high = fmax(band->high, band->reported);
    band->low = 1.0 / band->high;
}

static struct band find_band(struct arena *arena, const struct band_votes *votes,
                             const struct band_traits *traits)
{
    struct band band = {.like = "", .reason = ""};
    const struct band_vote **chosen = room_for_all(arena, votes);
    uint32_t count = 0;
    const struct class_row *row = find_class(votes, traits, chosen, &count);
    if (row == NULL) {
        band.reason =
            arena_printf(arena, BAND_FILE " has %u runs, and %d are needed", count, BAND_VOTES_MIN);
        return band;
    }
    band.like = class_name(arena, row, traits, chosen[0]->traits.is_typed);
    count_sources(arena, chosen, count, &band);
    measure(arena, votes, traits, &band);
    find_nearest(votes, traits, &band);
    check_all(arena, votes, chosen, traits, &band);
    widen(votes, chosen, traits, &band);
    widen_to_reports(arena, votes, traits->unproven, &band);
    return band;
}

struct band band_of(struct arena *arena, const struct band_votes *votes,
                    const struct band_traits *traits, const struct band_burdens *burdens)
{
    struct band band = find_band(arena, votes, traits);
    struct outside outside = {arena, band.outside, band.outside_count};
    if (band.votes > 0) {
        check_burdens(burdens, &outside);
        band.outside_count = outside.count;
    }
    return band;
}

static const struct band_width *fitted(struct arena *arena, const struct band_vote *items,
                                       uint32_t count)
{
    struct band_width *width = arena_alloc(arena, sizeof *width);
    *width = width_fit(arena, items, count, 0);
    return width;
}

struct band_votes band_votes_without(struct arena *arena, const struct band_votes *votes,
                                     const char *source)
{
    struct band_vote *items = arena_array(arena, votes->count + (size_t)1, sizeof *items);
    struct band_votes others = *votes;
    others.count = 0;
    for (uint32_t i = 0; i < votes->count; i++) {
        if (!is_same(votes->items[i].source, source)) {
            items[others.count++] = votes->items[i];
        }
    }
    others.items = items;
    others.width = fitted(arena, items, others.count);
    return others;
}

bool band_holds(const struct band *band, double ratio)
{
    return band->votes > 0 && ratio >= band->low && ratio <= band->high;
}

double band_score(double width, double off)
{
    return 2 * width + 2 / (1 - BAND_SHARE) * fmax(0, fabs(off) - width);
}

/* Of find_band's how wide it is, and no words. */
static struct band find_width(struct arena *arena, const struct band_votes *votes,
                              const struct band_traits *traits)
{
    struct band band = {.like = "", .reason = ""};
    const struct band_vote **chosen = room_for_all(arena, votes);
    if (find_class(votes, traits, chosen, &band.votes) == NULL) {
        band.votes = 0;
        return band;
    }
    measure(arena, votes, traits, &band);
    widen(votes, chosen, traits, &band);
    return band;
}

static bool is_first_of_source(const struct band_votes *votes, uint32_t vote)
{
    uint32_t i = 0;
    while (!is_same(votes->items[i].source, votes->items[vote].source)) {
        i++;
    }
    return i == vote;
}

/* Sums over the votes of a source, by those of the others. */
static void measure_source(struct arena *arena, const struct band_votes *votes, const char *source,
                           struct band_coverage *sums)
{
    const struct band_votes others = band_votes_without(arena, votes, source);
    for (uint32_t i = 0; i < votes->count; i++) {
        const struct band_vote *vote = &votes->items[i];
        if (!is_same(vote->source, source)) {
            continue;
        }
        const struct band band = find_width(arena, &others, &vote->traits);
        if (band.votes > 0) {
            sums->votes++;
            sums->inside += band_holds(&band, vote->ratio) ? 1 : 0;
            sums->width += log(band.high / band.low);
            sums->score += band_score(log(band.high), log(vote->ratio));
        }
    }
}

struct band_coverage band_measure(struct arena *arena, const struct band_votes *votes)
{
    struct band_coverage coverage = {0};
    for (uint32_t i = 0; i < votes->count; i++) {
        if (is_first_of_source(votes, i)) {
            measure_source(arena, votes, votes->items[i].source, &coverage);
        }
    }
    const double count = coverage.votes > 0 ? coverage.votes : ABSENT;
    coverage.inside /= count;
    coverage.width /= count;
    coverage.score /= count;
    return coverage;
}

static bool read_wish(struct arena *arena, const char *path, void *into, struct diag *diag)
{
    return band_read(arena, path, into, diag);
}

/* The two, one behind the other; the second are as typed. */
static struct band_votes joined(struct arena *arena, const struct band_votes *votes,
                                const struct band_votes *typed)
{
    const uint32_t count = votes->count + typed->count;
    struct band_vote *items = arena_array(arena, count + (size_t)1, sizeof *items);
    memcpy(items, votes->items, votes->count * sizeof *items);
    memcpy(items + votes->count, typed->items, typed->count * sizeof *items);
    for (uint32_t i = votes->count; i < count; i++) {
        items[i].traits.is_typed = true;
    }
    return (struct band_votes){.items = items, .count = count};
}

/* The directory alone that has the errors: those as typed are of the same fit, not of another's. */
static struct catalogue own_directory(const struct catalogue *catalogue, struct arena *arena)
{
    struct catalogue own = *catalogue;
    own.count = 1;
    for (uint32_t i = 0; i < catalogue->count; i++) {
        own.directories[0] = catalogue->directories[i];
        if (catalogue_file(arena, &own, BAND_FILE) != NULL) {
            break;
        }
    }
    return own;
}

/* Without that file nothing is known of boxes or reports, and nothing comes off or is added; who
 * needs it says so. */
static void take_limits(struct arena *arena, const struct catalogue *own, struct band_votes *votes)
{
    struct limits limits;
    const char *reason = NULL;
    if (limits_load(arena, own, &limits, &reason, diag_new(arena))) {
        memcpy(votes->box_held, limits.box_held, sizeof votes->box_held);
        memcpy(votes->reported, limits.reported, sizeof votes->reported);
    }
}

bool band_load(struct arena *arena, const struct catalogue *catalogue, struct band_votes *votes,
               const char **reason, struct diag *diag)
{
    const struct catalogue_wish wish = {BAND_FILE, "band", NULL, read_wish};
    const struct catalogue_wish typed_wish = {BAND_TYPED_FILE, "band", NULL, read_wish};
    struct band_votes typed = {0};
    *votes = (struct band_votes){0};
    if (!catalogue_wish_load(arena, catalogue, &wish, votes, reason, diag)) {
        return false;
    }
    const struct catalogue own = own_directory(catalogue, arena);
    if (catalogue_file(arena, &own, BAND_TYPED_FILE) != NULL) {
        if (!catalogue_wish_load(arena, &own, &typed_wish, &typed, reason, diag)) {
            return false;
        }
        *votes = joined(arena, votes, &typed);
    }
    votes->width = fitted(arena, votes->items, votes->count);
    take_limits(arena, &own, votes);
    return true;
}

struct band_step band_step_of_result(const struct result *result)
{
    const struct step_result *step = &result->step;
    struct band_step shares = band_step_of(step->gpu_ns, step->step_ns, result->scenario->gpus);
    shares.attention = band_attention_share(step->flop_per_token_causal, step->flop_per_token_full);
    return shares;
}

struct band_traits band_traits_of_result(const struct result *result)
{
    struct band_traits traits = band_traits_of(result->scenario);
    if (result_has_step(result)) {
        const struct band_step shares = band_step_of_result(result);
        band_traits_add_step(&traits, &shares);
    }
    return traits;
}

/* Of a prediction that is a ratio to an anchor. */
static struct band anchored(const struct anchor *anchor)
{
    return (struct band){.like = anchor->votes > 0 ? "runs that differ as it does from its anchor"
                                                   : "its anchor",
                         .reason = "",
                         .is_ratio = true,
                         .votes = anchor->votes > 0 ? (uint32_t)anchor->votes : 1,
                         .all_votes = (uint32_t)anchor->votes,
                         .low = 1 / anchor->band,
                         .high = anchor->band,
                         .widening = 1};
}

/* Where no vote is asked. */
static bool is_without_votes(const struct scenario *scenario, struct band *band)
{
    const struct anchor *anchor = &scenario->anchor;
    *band = (struct band){.like = "", .reason = ""};
    if (scenario->step_time_s > 0) {
        band->reason = "the step is stated (run.step_time)";
        return true;
    }
    if (anchor->is_given && anchor->band > 0 && (is_absent(anchor->weight) || anchor->weight > 0)) {
        *band = anchored(anchor);
        return true;
    }
    return false;
}

struct band band_of_told(struct arena *arena, const struct band_votes *votes, const char *reason,
                         const struct band_told *told)
{
    struct band band;
    if (is_without_votes(told->scenario, &band)) {
        return band;
    }
    if (votes == NULL) {
        band.reason = reason;
        return band;
    }
    return band_of(arena, votes, &told->traits, &told->burdens);
}

const struct band *band_find(struct arena *arena, const struct catalogue *catalogue,
                             const struct result *result, struct diag *diag)
{
    struct band *band = arena_alloc(arena, sizeof *band);
    struct band_votes votes;
    if (!is_without_votes(result->scenario, band) &&
        band_load(arena, catalogue, &votes, &band->reason, diag)) {
        const struct band_traits traits = band_traits_of_result(result);
        const struct band_burdens burdens = band_burdens_of(result);
        *band = band_of(arena, &votes, &traits, &burdens);
    }
    return band;
}
