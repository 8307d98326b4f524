/* What `stoker-lab validate --ratios` says of pairs of rows that differ in one kind of setting: a
 * line for each kind (bands/axes).
 */
#include "base/arena.h"
#include "lab/cli/lab_validate.h"
#include "lab/ratio_pairs.h"
#include "report/sheet.h"

#include <math.h>

enum { VOTES_FEW = 10 }; /* below, a line says little */

#define SCORE(member) FIELD_AT(struct axis_score, member)

static void say_few(struct sheet *in, const char *key, const void *record)
{
    const struct axis_score *score = record;
    (void)key;
    sheet_say(in, "%s", score->votes < VOTES_FEW ? "few" : "");
}

static const struct field fields[] = {
    {"axis", SCORE(name), FIELD_LEFT("pairs that differ in")},
    {"pairs", SCORE(pairs), FIELD_COUNT("pairs")},
    {"votes", SCORE(votes), FIELD_COUNT("votes")},
    {"clear", SCORE(clear), FIELD_COUNT("clear")},
    {"right_sign", SCORE(right_sign), FIELD_RIGHT("sign %", "%.0f", 100)},
    {"right_sign_by_vote", SCORE(right_sign_by_vote), FIELD_RIGHT("by vote", "%.0f", 100)},
    {"flip", SCORE(flip), FIELD_RIGHT("flip %", "%.1f", 100)},
    {"mean_ape", SCORE(mean), FIELD_RIGHT("error %", "%.1f", 100)},
    {"median_ape", SCORE(median), FIELD_RIGHT("median %", "%.1f", 100)},
    {"base", SCORE(base), FIELD_RIGHT("base %", "%.1f", 100)},
    {"skill", SCORE(skill), FIELD_RIGHT("skill", "%.2f", 1)},
    {"slope", SCORE(slope), FIELD_RIGHT("slope", "%.2f", 1)},
    {"slope_of_choices", SCORE(slope_of_choices), FIELD_RIGHT("of choices", "%.2f", 1)},
    {NULL, FIELD_LEFT(""), .add = say_few},
};

static const struct field mean_fields[] = {
    {"right_sign_by_vote", SCORE(right_sign_by_vote)},
    {"mean_ape", SCORE(mean)},
    {"base", SCORE(base)},
    {"skill", SCORE(skill)},
    {"slope", SCORE(slope)},
};

static void add_pair(struct sheet *array, const struct pair *pair)
{
    struct sheet *object = sheet_object(array, NULL);
    sheet_text(object, "axis", axis_name(pair->axis));
    sheet_text(object, "first", pair->first->id);
    sheet_text(object, "second", pair->second->id);
    sheet_text(object, "values", pair->values);
    sheet_number(object, "measured", exp(pair->measured));
    sheet_number(object, "predicted", exp(pair->measured + pair->error));
}

#define COVERAGE(member) FIELD_AT(struct ratio_coverage, member)

static const struct field coverage_fields[] = {
    {"votes", COVERAGE(votes), FIELD_COUNT("votes")},
    {"inside", COVERAGE(inside), FIELD_RIGHT("inside %", "%.0f", 100)},
    {"log_width", COVERAGE(width), FIELD_RIGHT("ln width", "%.2f", 1)},
    {"clear", COVERAGE(clear), FIELD_RIGHT("clear", "%.0f", 1)},
    {"right_clear", COVERAGE(right_clear), FIELD_RIGHT("right %", "%.0f", 100)},
    {"likely", COVERAGE(likely), FIELD_RIGHT("likely", "%.0f", 1)},
    {"right_likely", COVERAGE(right_likely), FIELD_RIGHT("right %", "%.0f", 100)},
};

struct coverage_line {
    struct ratio_coverage coverage; /* first, for the fields above */
    const char *name;
};

/* "nodes, release": axes that are no part of means. */
static const char *axes_apart(struct arena *arena)
{
    const char *names[AXIS_COLUMNS_MAX];
    uint32_t count = 0;
    for (uint32_t axis = 0; axis < axis_count; axis++) {
        if (axis_is_apart(axis)) {
            names[count++] = axis_name(axis);
        }
    }
    return sheet_joined(arena, names, count);
}

/* How good the bands of ratios are: those of each kind, and of all. */
static void add_coverage(const struct validation *validation, struct sheet *sheet, const char *key,
                         const struct ratio_pairs *pairs, const char *of)
{
    struct arena *arena = validation->options.cli->arena;
    struct field lines[1 + sizeof coverage_fields / sizeof *coverage_fields] = {
        {"axis", FIELD_AT(struct coverage_line, name), FIELD_LEFT("bands of ratios")}};
    for (uint32_t i = 0; i < sizeof coverage_fields / sizeof *coverage_fields; i++) {
        lines[i + 1] = coverage_fields[i];
    }
    struct sheet *object = sheet_object(sheet, key);
    struct sheet *table = sheet_table(object, "axes", FIELD_LIST(lines));
    sheet_caption(table, arena_printf(arena,
                                      "\nBands of ratios from %s, each pair by the other "
                                      "sources:\n",
                                      of));
    for (uint32_t axis = 0; axis <= axis_count; axis++) {
        struct coverage_line *line = arena_alloc(arena, sizeof *line);
        line->coverage = ratio_pairs_measure(arena, pairs, axis);
        line->name = axis < axis_count ? axis_name(axis) : "all but those apart";
        if (axis == axis_count) {
            sheet_members(object, FIELD_LIST(coverage_fields), &line->coverage);
        }
        if (line->coverage.votes > 0) {
            sheet_row(table, line);
        }
    }
}

static void add_bands(const struct lab_validation *lab, struct sheet *object,
                      const struct pairs *pairs)
{
    const struct validation *validation = &lab->validation;
    struct cli *cli = validation->options.cli;
    const struct catalogue catalogue = options_catalogue(&validation->options);
    const struct ratio_pairs here = ratio_pairs_of(cli->arena, pairs);
    struct ratio_pairs known;
    const char *reason = NULL;
    struct sheet *bands = sheet_object(object, "bands");
    if (lab->predictions != NULL) {
        add_coverage(validation, bands, "rows", &here, "these rows");
    } else if (ratio_pairs_load(cli->arena, &catalogue, &known, &reason, cli->diag)) {
        add_coverage(validation, bands, "catalogue", &known, RATIO_FILE);
    } else {
        sheet_say(bands, "\nno bands of ratios: %s\n", reason);
    }
}

void validate_axes_print(const struct lab_validation *lab, struct sheet *sheet)
{
    const struct validation *validation = &lab->validation;
    struct arena *arena = validation->options.cli->arena;
    const struct pairs pairs =
        pairs_of(arena, validation->found.scored, validation->found.scored_count);
    struct axis_score *scores = arena_array(arena, axis_count, sizeof *scores);
    struct sheet *object = sheet_object(sheet, "ratios");
    struct sheet *table = sheet_table(object, "axes", FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t axis = 0; axis < axis_count; axis++) {
        scores[axis] = pairs_score(arena, &pairs, axis);
        if (scores[axis].pairs > 0) {
            sheet_row(table, &scores[axis]);
        }
    }
    const struct axis_score mean = pairs_mean(scores, 0);
    const struct axis_score many = pairs_mean(scores, VOTES_FEW);
    sheet_members(sheet_object(object, "mean"), FIELD_LIST(mean_fields), &mean);
    sheet_members(sheet_object(object, "mean_of_many"), FIELD_LIST(mean_fields), &many);
    struct sheet *array = sheet_array(object, "pairs");
    for (uint32_t i = 0; i < pairs.count; i++) {
        add_pair(array, &pairs.items[i]);
    }
    if (sheet_row_count(table) == 0) {
        sheet_say(object, "\nno two rows of a source differ in one kind of setting alone\n");
        return;
    }
    sheet_say(object,
              "Mean of the axes, those apart (%s) left out: sign "
              "%.0f %% by vote, error %.1f %%,\nbase %.1f %%, skill %.2f. Of tokens/s/GPU, the "
              "second run over the first; errors are of its logarithm, and of\nvotes: pairs of one "
              "source, model and difference. clear: measured at least 2 %% apart; base: what \"no "
              "difference\"\nwould miss; flip: of all that choices were worth, what wrong signs "
              "cost; slope: of pairs, and of the medians of\nall that a source has of a choice, "
              "whatever the model.\n",
              axes_apart(arena), 100 * mean.right_sign_by_vote, 100 * mean.mean, 100 * mean.base,
              mean.skill);
    if (many.pairs > 0) {
        sheet_say(object,
                  "Mean of the %u of them with %u votes or more: sign %.0f %% by vote, error %.1f "
                  "%%, slope %.2f.\n",
                  many.pairs, VOTES_FEW, 100 * many.right_sign_by_vote, 100 * many.mean,
                  many.slope);
    }
    add_bands(lab, object, &pairs);
}
