/* Two rows are compared once: the mask of the columns in which they differ says on which axes they
 * are a pair. Sums run over pairs and votes in the order in which these were found.
 */
#include "lab/pairs.h"

#include "base/absent.h"
#include "base/arena.h"
#include "bands/published_table.h"
#include "bands/quantile.h"
#include "input/doc/name_table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

/* ---- rows --------------------------------------------------------------------------------- */

/* A row's texts, side by side. */
struct run {
    const struct validated_row *row;
    const char *model;
    const char *texts[AXIS_COLUMNS_MAX];
    double gpus, batch, tokens_per_gpu;
};

static const char *text_of(const struct validated_row *row, const char *column)
{
    static const char *const ones[] = {"ep", "cp", "virtual_pp"};
    const char *text = published_text(row->table, row->row, column);
    for (uint32_t i = 0; i < LENGTH(ones) && text[0] == '\0'; i++) {
        text = strcmp(ones[i], column) == 0 ? "1" : text;
    }
    return text;
}

static struct run run_of(const struct validated_row *row)
{
    struct run run = {.row = row, .model = text_of(row, "model_name")};
    double length = 0;
    for (uint32_t i = 0; i < axis_column_count; i++) {
        run.texts[i] = text_of(row, axis_columns[i]);
    }
    (void)published_number(row->table, row->row, "gpus", &run.gpus);
    (void)published_number(row->table, row->row, "global_batch_sequences", &run.batch);
    (void)published_number(row->table, row->row, "seq_len", &length);
    run.tokens_per_gpu = run.batch * length / run.gpus;
    return run;
}

static uint64_t differences(const struct run *a, const struct run *b)
{
    uint64_t mask = 0;
    for (uint32_t i = 0; i < axis_column_count; i++) {
        mask |= strcmp(a->texts[i], b->texts[i]) != 0 ? UINT64_C(1) << i : 0;
    }
    return mask;
}

static bool is_met(enum axis_condition condition, const struct run *a, const struct run *b)
{
    const double sizes = a->gpus / b->gpus;
    switch (condition) {
    case AXIS_LIKE_SIZES:
        return sizes > 1 / 4.01 && sizes < 4.01;
    case AXIS_LIKE_BATCHES:
        return fabs(a->batch / a->gpus - b->batch / b->gpus) <= 1e-9;
    default:
        return true;
    }
}

/* ---- pairs ------------------------------------------------------------------------------- */

struct finder {
    struct arena *arena;
    struct pairs *pairs;
    size_t capacity;
    struct name_table votes, choices;
};

static bool is_whole_number(const char *text)
{
    size_t digits = 0;
    while (isdigit((unsigned char)text[digits])) {
        digits++;
    }
    return digits > 0 && text[digits] == '\0';
}

/* Whether the second comes first, by the first column that differs. */
static bool is_swapped(const struct run *a, const struct run *b, uint64_t differs)
{
    uint32_t column = 0;
    while ((differs >> column & 1) == 0) {
        column++;
    }
    return strcmp(a->texts[column], b->texts[column]) > 0 && !is_whole_number(a->texts[column]);
}

static const char *values_of(struct arena *arena, const struct run *a, const struct run *b,
                             uint64_t differs)
{
    const char *values = "";
    for (uint32_t i = 0; i < axis_column_count; i++) {
        if ((differs >> i & 1) != 0) {
            values = arena_printf(arena, "%s%s%s %s>%s", values, values[0] != '\0' ? "; " : "",
                                  axis_columns[i], a->texts[i], b->texts[i]);
        }
    }
    return values;
}

/* Whether the first whole number that differs falls. */
static bool is_falling(const struct run *a, const struct run *b, uint64_t differs)
{
    for (uint32_t i = 0; i < axis_column_count; i++) {
        if ((differs >> i & 1) != 0 && is_whole_number(a->texts[i]) &&
            is_whole_number(b->texts[i])) {
            return strtod(a->texts[i], NULL) > strtod(b->texts[i], NULL);
        }
    }
    return false;
}

/* ln of tokens/s/GPU, measured or predicted. */
static double rate_of(const struct run *run, double step_s)
{
    return log(run->tokens_per_gpu / step_s);
}

static void add_pair(struct finder *finder, uint32_t axis, const struct run *a, const struct run *b,
                     uint64_t differs)
{
    struct pairs *pairs = finder->pairs;
    const uint64_t defining = differs & axis_get(axis).defining;
    const char *values = values_of(finder->arena, a, b, defining);
    const bool is_turned = is_falling(a, b, defining);
    const char *choice =
        arena_printf(finder->arena, "%s\n%u\n%s", a->row->source, axis,
                     is_turned ? values_of(finder->arena, b, a, defining) : values);
    const char *vote =
        arena_printf(finder->arena, "%s\n%s\n%u\n%s", a->row->source, a->model, axis, values);
    const double measured = rate_of(b, b->row->measured_s) - rate_of(a, a->row->measured_s);
    const double predicted = rate_of(b, b->row->predicted_s) - rate_of(a, a->row->predicted_s);
    pairs->items = arena_grow(finder->arena, pairs->items, &finder->capacity,
                              pairs->count + (size_t)1, sizeof *pairs->items);
    pairs->items[pairs->count++] =
        (struct pair){.axis = axis,
                      .vote = name_table_index(&finder->votes, vote),
                      .choice = name_table_index(&finder->choices, choice),
                      .is_turned = is_turned,
                      .first = a->row,
                      .second = b->row,
                      .differs = differs,
                      .values = values,
                      .measured = measured,
                      .error = predicted - measured};
}

static void pair_on(struct finder *finder, uint32_t number, const struct run *runs, uint32_t count)
{
    const struct axis axis = axis_get(number);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = i + 1; k < count; k++) {
            if (strcmp(runs[i].row->source, runs[k].row->source) != 0) {
                continue;
            }
            const uint64_t differs = differences(&runs[i], &runs[k]);
            if ((differs & axis.defining) == 0 ||
                (differs & ~(axis.defining | axis.follows)) != 0 ||
                !is_met(axis.condition, &runs[i], &runs[k])) {
                continue;
            }
            const bool swaps = is_swapped(&runs[i], &runs[k], differs & axis.defining);
            add_pair(finder, number, &runs[swaps ? k : i], &runs[swaps ? i : k], differs);
        }
    }
}

struct pairs pairs_of(struct arena *arena, const struct validated_row *rows, uint32_t count)
{
    struct pairs pairs = {0};
    struct finder finder = {.arena = arena, .pairs = &pairs};
    struct run *runs = arena_array(arena, count + (size_t)1, sizeof *runs);
    name_table_init(&finder.votes, arena);
    name_table_init(&finder.choices, arena);
    for (uint32_t i = 0; i < count; i++) {
        runs[i] = run_of(&rows[i]);
    }
    for (uint32_t axis = 0; axis < axis_count; axis++) {
        pair_on(&finder, axis, runs, count);
    }
    pairs.vote_count = finder.votes.count;
    pairs.choice_count = finder.choices.count;
    return pairs;
}

/* ---- score ------------------------------------------------------------------------------- */

static bool is_clear(const struct pair *pair)
{
    return fabs(pair->measured) >= AXIS_TIE;
}

static bool is_right(const struct pair *pair)
{
    return pair->measured * (pair->measured + pair->error) > 0;
}

/* A vote: sums over its pairs. */
struct ballot {
    uint32_t pairs, clear, right;
    double differences, errors; /* of |x|, of |e| */
};

/* [vote_count]; of other axes' votes there are no pairs. */
static const struct ballot *ballots_of(struct arena *arena, const struct pairs *pairs,
                                       uint32_t axis)
{
    struct ballot *ballots = arena_array(arena, pairs->vote_count + (size_t)1, sizeof *ballots);
    for (uint32_t i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->items[i];
        struct ballot *ballot = &ballots[pair->vote];
        if (pair->axis == axis) {
            ballot->pairs++;
            ballot->clear += is_clear(pair);
            ballot->right += is_clear(pair) && is_right(pair);
            ballot->differences += fabs(pair->measured);
            ballot->errors += fabs(pair->error);
        }
    }
    return ballots;
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : ABSENT;
}

static void score_votes_of(struct arena *arena, const struct pairs *pairs, uint32_t axis,
                           struct axis_score *score)
{
    const struct ballot *ballots = ballots_of(arena, pairs, axis);
    double *errors = arena_array(arena, pairs->vote_count + (size_t)1, sizeof *errors);
    double error_sum = 0, difference_sum = 0, sign_sum = 0, with_sign = 0;
    for (uint32_t v = 0; v < pairs->vote_count; v++) {
        const struct ballot *ballot = &ballots[v];
        if (ballot->pairs > 0) {
            errors[score->votes++] = ballot->errors / ballot->pairs;
            error_sum += ballot->errors / ballot->pairs;
            difference_sum += ballot->differences / ballot->pairs;
        }
        if (ballot->clear > 0) {
            sign_sum += (double)ballot->right / ballot->clear;
            with_sign++;
        }
    }
    score->mean = share(error_sum, score->votes);
    score->base = share(difference_sum, score->votes);
    score->median = score->votes > 0 ? quantile_of(errors, score->votes, 0.5) : ABSENT;
    score->skill = 1.0 - share(score->mean, score->base);
    score->right_sign_by_vote = share(sign_sum, with_sign);
}

/* Of a choice; medians in the direction of its values. False: it has no pair on the axis. */
static bool medians_of(const struct pairs *pairs, uint32_t axis, uint32_t choice, double *scratch,
                       double *measured, double *predicted)
{
    double *found[2] = {scratch, scratch + pairs->count};
    uint32_t count = 0;
    for (uint32_t i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->items[i];
        if (pair->axis == axis && pair->choice == choice) {
            const double sign = pair->is_turned ? -1.0 : 1.0;
            found[0][count] = sign * pair->measured;
            found[1][count++] = sign * (pair->measured + pair->error);
        }
    }
    *measured = count > 0 ? quantile_of(found[0], count, 0.5) : 0.0;
    *predicted = count > 0 ? quantile_of(found[1], count, 0.5) : 0.0;
    return count > 0;
}

/* Some hundred choices of some hundred pairs: each looks through all. */
static double slope_of_choices(struct arena *arena, const struct pairs *pairs, uint32_t axis)
{
    double *scratch = arena_array(arena, 2 * (size_t)pairs->count + 1, sizeof *scratch);
    double products = 0, squares = 0;
    for (uint32_t choice = 0; choice < pairs->choice_count; choice++) {
        double measured, predicted;
        if (medians_of(pairs, axis, choice, scratch, &measured, &predicted)) {
            products += measured * predicted;
            squares += measured * measured;
        }
    }
    return share(products, squares);
}

struct axis_score pairs_score(struct arena *arena, const struct pairs *pairs, uint32_t axis)
{
    struct axis_score score = {.name = axis_get(axis).name};
    double right = 0, wrong_sum = 0, sum = 0, products = 0, squares = 0;
    for (uint32_t i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->items[i];
        if (pair->axis == axis) {
            const double predicted = pair->measured + pair->error;
            score.pairs++;
            score.clear += is_clear(pair);
            right += is_clear(pair) && is_right(pair);
            wrong_sum += pair->measured * predicted < 0 ? fabs(pair->measured) : 0;
            sum += fabs(pair->measured);
            products += pair->measured * predicted;
            squares += pair->measured * pair->measured;
        }
    }
    score.right_sign = share(right, score.clear);
    score.flip = share(wrong_sum, sum);
    score.slope = share(products, squares);
    score.slope_of_choices = slope_of_choices(arena, pairs, axis);
    score_votes_of(arena, pairs, axis, &score);
    return score;
}

/* Of those that exist. */
static void add_to_mean(double value, double *sum, uint32_t *count)
{
    if (!is_absent(value)) {
        *sum += value;
        *count += 1;
    }
}

struct axis_score pairs_mean(const struct axis_score *scores, uint32_t votes_min)
{
    struct axis_score mean = {
        .name = "mean of axes", .right_sign = ABSENT, .flip = ABSENT, .median = ABSENT};
    double sign_sum = 0, error_sum = 0, base_sum = 0, slope_sum = 0;
    uint32_t signs = 0, errors = 0, bases = 0, slopes = 0;
    for (uint32_t axis = 0; axis < axis_count; axis++) {
        if (!axis_get(axis).is_apart && scores[axis].votes >= votes_min) {
            mean.pairs += scores[axis].votes > 0 ? 1 : 0;
            add_to_mean(scores[axis].right_sign_by_vote, &sign_sum, &signs);
            add_to_mean(scores[axis].mean, &error_sum, &errors);
            add_to_mean(scores[axis].base, &base_sum, &bases);
            add_to_mean(scores[axis].slope, &slope_sum, &slopes);
        }
    }
    mean.right_sign_by_vote = share(sign_sum, signs);
    mean.mean = share(error_sum, errors);
    mean.base = share(base_sum, bases);
    mean.slope = share(slope_sum, slopes);
    mean.skill = 1.0 - share(mean.mean, mean.base);
    return mean;
}
