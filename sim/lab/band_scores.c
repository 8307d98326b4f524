/* One band for each vote and each set of features; classes are rows of a table, and overlap. */
#include "lab/band_scores.h"

#include "base/absent.h"
#include "base/arena.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

static const double SAME = 1 + 1e-9; /* of two probabilities that are equal but for rounding */

/* ---- classes ---------------------------------------------------------------------------- */

/* What is known of a vote, as the name of its class. */
static const char *all_of(const struct band_traits *traits)
{
    (void)traits;
    return "all";
}

static const char *said_of(const struct band_traits *traits)
{
    return traits->is_typed ? "what was on is not said" : "what was on is said";
}

static const char *kind_of(const struct band_traits *traits)
{
    return traits->is_mixture ? "mixture of experts" : "dense";
}

static const char *bits_of(const struct band_traits *traits)
{
    return band_is_low(traits->precision) ? "fewer than 16 bits" : "16 bits and more";
}

static const char *network_of(const struct band_traits *traits)
{
    if (traits->network_bytes_per_s <= 0) {
        return "one node, or no network stated";
    }
    return traits->network_bytes_per_s < WIDTH_USUAL_BYTES_PER_S ? "network below 400 Gbps a node"
                                                                 : "400 Gbps a node and more";
}

/* The first that a number is below. */
struct reach {
    double below;
    const char *name;
};

static const char *reach_name(const struct reach *reach, double number)
{
    while (number >= reach->below) {
        reach++;
    }
    return reach->name;
}

static const char *scale_of(const struct band_traits *traits)
{
    static const struct reach reaches[] = {
        {9, "1-8 GPUs"}, {65, "9-64 GPUs"}, {513, "65-512 GPUs"}, {HUGE_VAL, "513+ GPUs"}};
    return reach_name(reaches, (double)traits->gpus);
}

static const char *step_of(const struct band_traits *traits)
{
    static const struct reach reaches[] = {
        {1, "a step below 1 s"}, {4, "1 to 4 s"}, {16, "4 to 16 s"}, {HUGE_VAL, "16 s and more"}};
    return is_absent(traits->step_s) ? "" : reach_name(reaches, traits->step_s);
}

static const char *architecture_of(const struct band_traits *traits)
{
    return traits->architecture;
}

static const struct class_row {
    const char *(*of)(const struct band_traits *traits);
    const char *name;
} classes[] = {
    {all_of, "all"},
    {said_of, "what was on is said"},
    {said_of, "what was on is not said"},
    {kind_of, "dense"},
    {kind_of, "mixture of experts"},
    {bits_of, "16 bits and more"},
    {bits_of, "fewer than 16 bits"},
    {network_of, "network below 400 Gbps a node"},
    {network_of, "400 Gbps a node and more"},
    {network_of, "one node, or no network stated"},
    {scale_of, "1-8 GPUs"},
    {scale_of, "9-64 GPUs"},
    {scale_of, "65-512 GPUs"},
    {scale_of, "513+ GPUs"},
    {step_of, "a step below 1 s"},
    {step_of, "1 to 4 s"},
    {step_of, "4 to 16 s"},
    {step_of, "16 s and more"},
    {architecture_of, "volta"},
    {architecture_of, "ampere"},
    {architecture_of, "hopper"},
    {architecture_of, "blackwell"},
};
enum { CLASS_COUNT = sizeof classes / sizeof *classes };

static bool is_in(const struct class_row *row, const struct band_vote *vote)
{
    return strcmp(row->of(&vote->traits), row->name) == 0;
}

/* ---- bands out of fold ------------------------------------------------------------------ */

/* Of votes of a source: ln f of the bands of others. ABSENT: no band. */
static void measure_source(struct arena *arena, const struct band_votes *votes, uint32_t first,
                           uint32_t left_out, double *widths)
{
    static const struct band_burdens none = {.slowest = 1, .weakest = 1};
    const char *source = votes->items[first].source;
    struct band_votes others = band_votes_without(arena, votes, source);
    const struct band_width width = width_fit(arena, others.items, others.count, left_out);
    others.width = &width;
    for (uint32_t i = first; i < votes->count; i++) {
        if (strcmp(votes->items[i].source, source) == 0) {
            const struct band band = band_of(arena, &others, &votes->items[i].traits, &none);
            widths[i] = band.votes > 0 ? log(band.high) : ABSENT;
        }
    }
}

/* [votes] ln f, each by the other sources' votes. */
static const double *widths_of(struct arena *arena, const struct band_votes *votes,
                               uint32_t left_out)
{
    double *widths = arena_array(arena, votes->count + (size_t)1, sizeof *widths);
    bool *is_known = arena_array(arena, votes->count + (size_t)1, sizeof *is_known);
    for (uint32_t i = 0; i < votes->count; i++) {
        if (is_known[i]) {
            continue;
        }
        measure_source(arena, votes, i, left_out, widths);
        for (uint32_t k = i; k < votes->count; k++) {
            is_known[k] =
                is_known[k] || strcmp(votes->items[k].source, votes->items[i].source) == 0;
        }
    }
    return widths;
}

/* ---- lines ------------------------------------------------------------------------------ */

static double probability(uint32_t inside, uint32_t votes)
{
    const double own = gsl_ran_binomial_pdf(inside, BAND_SHARE, votes) * SAME;
    double sum = 0;
    for (uint32_t i = 0; i <= votes; i++) {
        const double other = gsl_ran_binomial_pdf(i, BAND_SHARE, votes);
        sum += other <= own ? other : 0;
    }
    return fmin(1, sum);
}

static struct band_line line_of(const struct band_votes *votes, const double *widths,
                                const struct class_row *row, uint32_t *count)
{
    struct band_line line = {0};
    uint32_t inside = 0;
    *count = 0;
    for (uint32_t i = 0; i < votes->count; i++) {
        const double off = log(votes->items[i].ratio);
        if (is_absent(widths[i]) || !is_in(row, &votes->items[i])) {
            continue;
        }
        inside += fabs(off) <= widths[i] ? 1 : 0;
        line.width += widths[i];
        line.score += band_score(widths[i], off);
        (*count)++;
    }
    const double divisor = *count > 0 ? *count : ABSENT;
    return (struct band_line){.inside = inside / divisor,
                              .p = *count > 0 ? probability(inside, *count) : ABSENT,
                              .width = line.width / divisor,
                              .score = line.score / divisor};
}

const struct band_class *band_classes(struct arena *arena, const struct band_votes *votes,
                                      uint32_t *count)
{
    struct band_class *found = arena_array(arena, CLASS_COUNT, sizeof *found);
    const double *own = widths_of(arena, votes, 0);
    const double *plain = widths_of(arena, votes, WIDTH_CONSTANT);
    *count = 0;
    for (uint32_t i = 0; i < CLASS_COUNT; i++) {
        struct band_class *class = &found[*count];
        class->name = classes[i].name;
        class->own = line_of(votes, own, &classes[i], &class->votes);
        class->plain = line_of(votes, plain, &classes[i], &class->votes);
        *count += class->votes > 0 ? 1 : 0;
    }
    return found;
}

void band_features(struct arena *arena, const struct band_votes *votes,
                   struct band_feature features[WIDTH_FEATURE_COUNT])
{
    const struct band_width width = width_fit(arena, votes->items, votes->count, 0);
    for (uint32_t i = 0; i < WIDTH_FEATURE_COUNT; i++) {
        uint32_t count;
        const double *widths = widths_of(arena, votes, 1U << i);
        features[i] = (struct band_feature){
            .says = width_features[i].says,
            .times = exp(width.coefficients[i + 1]),
            .without = line_of(votes, widths, &classes[0], &count).score,
        };
    }
}
