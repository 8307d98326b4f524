/* Scenarios of one source are resolved together and held against each other. */
#include "lab/anchor_score.h"

#include "base/absent.h"
#include "base/arena.h"
#include "input/scenario.h"

#include <math.h>
#include <string.h>

static const char *const line_names[ANCHOR_LINES] = {"nothing", "1 kind",     "2 kinds",
                                                     "3 kinds", "4 and more", "what no pair does"};

/* A run, one of its vote. */
struct run {
    const struct validated_row *row;
    struct anchor_side side;
    double error; /* ln(measured / predicted) */
};

/* Sums over a source's pairs of a line. */
struct tally {
    uint32_t pairs;
    double alone, whole, weighted, weight, right_way, inside_alone, inside, width_alone, width;
};

static double off(double error)
{
    return fabs(exp(-error) - 1);
}

static uint32_t line_of(const struct anchor_worth *worth)
{
    const uint32_t most = ANCHOR_LINES - 2;
    return !worth->are_measured       ? ANCHOR_LINES - 1
           : worth->kind_count < most ? worth->kind_count
                                      : most;
}

static void add_pair(const struct run *anchor, const struct run *asked,
                     const struct anchor_worth *worth, struct tally tallies[ANCHOR_LINES])
{
    struct tally *tally = &tallies[line_of(worth)];
    const double left = asked->error - worth->weight * anchor->error;
    tally->pairs++;
    tally->alone += off(asked->error);
    tally->whole += off(asked->error - anchor->error);
    tally->weighted += off(left);
    tally->weight += worth->weight;
    tally->right_way += asked->error * anchor->error > 0;
    tally->inside_alone += fabs(asked->error) <= worth->alone;
    tally->inside += fabs(left) <= worth->spread;
    tally->width_alone += 2 * worth->alone;
    tally->width += 2 * worth->spread;
}

static bool is_first_of_vote(const struct run *runs, uint32_t count,
                             const struct validated_row *row)
{
    uint32_t i = 0;
    while (i < count && strcmp(runs[i].row->config_key, row->config_key) != 0) {
        i++;
    }
    return i == count;
}

/* The rows of a source that are scenarios, one of each vote. */
static uint32_t take_runs(struct arena *arena, const struct catalogue *catalogue,
                          const struct anchor_evidence *evidence, const struct validated_row *rows,
                          uint32_t count, struct run *runs)
{
    const struct published_base base = {.catalogue = catalogue};
    uint32_t taken = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct validated_row *row = &rows[i];
        if (strcmp(row->source, evidence->without) != 0 || !is_first_of_vote(runs, taken, row)) {
            continue;
        }
        struct published_scenario made;
        const struct scenario *scenario =
            published_resolve(arena, row->table, row->row, &base, &made, diag_new(arena));
        if (scenario == NULL) {
            continue;
        }
        struct run *run = &runs[taken++];
        const double tokens =
            (double)scenario->batch.global * (double)scenario->batch.sequence_length;
        run->row = row;
        run->error = log(row->measured_s / row->predicted_s);
        run->side = (struct anchor_side){
            .scenario = scenario,
            .launch_share = row->traits.launch_share,
            .tokens_per_s_per_gpu = tokens / row->predicted_s / (double)scenario->gpus,
            .step_s = row->predicted_s,
            .burdens = {.slowest = 1, .weakest = 1},
        };
        run->side.alone = anchor_alone(arena, evidence, &run->side);
    }
    return taken;
}

static void add_source(struct arena *arena, const struct catalogue *catalogue,
                       const struct anchor_evidence *evidence, const struct validated_row *rows,
                       uint32_t count, struct tally tallies[ANCHOR_LINES])
{
    struct run *runs = arena_array(arena, count + (size_t)1, sizeof *runs);
    const uint32_t taken = take_runs(arena, catalogue, evidence, rows, count, runs);
    struct arena *scratch = arena_new();
    for (uint32_t a = 0; a < taken; a++) {
        for (uint32_t b = 0; b < taken; b++) {
            const struct scenario *anchor = runs[a].side.scenario, *asked = runs[b].side.scenario;
            if (a == b || anchor_other_model(scratch, &anchor->model, &asked->model) != NULL) {
                continue;
            }
            const struct anchor_worth worth =
                anchor_worth_of(scratch, evidence, &runs[a].side, &runs[b].side, ABSENT);
            if (worth.reason[0] == '\0') {
                add_pair(&runs[a], &runs[b], &worth, tallies);
            }
            arena_reset(scratch);
        }
    }
    arena_free(scratch);
}

/* The means of a source, as much as any other's. */
static void add_means(const struct tally *tally, struct anchor_score *score)
{
    if (tally->pairs == 0) {
        return;
    }
    score->pairs += tally->pairs;
    score->sources++;
    score->alone += tally->alone / tally->pairs;
    score->whole += tally->whole / tally->pairs;
    score->weighted += tally->weighted / tally->pairs;
    score->weight += tally->weight / tally->pairs;
    score->right_way += tally->right_way / tally->pairs;
    score->inside_alone += tally->inside_alone / tally->pairs;
    score->inside += tally->inside / tally->pairs;
    score->width_alone += tally->width_alone / tally->pairs;
    score->width += tally->width / tally->pairs;
}

static void divide(struct anchor_score *score)
{
    double *const sums[] = {&score->alone,  &score->whole,       &score->weighted,
                            &score->weight, &score->right_way,   &score->inside_alone,
                            &score->inside, &score->width_alone, &score->width};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        *sums[i] = score->sources > 0 ? *sums[i] / score->sources : ABSENT;
    }
}

static bool is_first_of_source(const struct validated_row *rows, uint32_t index)
{
    uint32_t i = 0;
    while (strcmp(rows[i].source, rows[index].source) != 0) {
        i++;
    }
    return i == index;
}

void anchor_scores(const struct catalogue *catalogue, const struct anchor_evidence *evidence,
                   const struct validated_row *rows, uint32_t count,
                   struct anchor_score scores[ANCHOR_LINES])
{
    struct arena *scratch = arena_new();
    for (uint32_t line = 0; line < ANCHOR_LINES; line++) {
        scores[line] = (struct anchor_score){.name = line_names[line]};
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!is_first_of_source(rows, i)) {
            continue;
        }
        struct anchor_evidence others = *evidence;
        struct tally tallies[ANCHOR_LINES] = {0};
        others.without = rows[i].source;
        others.votes = band_votes_without(scratch, &evidence->votes, others.without);
        others.table = difference_table_new(scratch);
        add_source(scratch, catalogue, &others, rows, count, tallies);
        for (uint32_t line = 0; line < ANCHOR_LINES; line++) {
            add_means(&tallies[line], &scores[line]);
        }
        arena_reset(scratch);
    }
    for (uint32_t line = 0; line < ANCHOR_LINES; line++) {
        divide(&scores[line]);
    }
    arena_free(scratch);
}
