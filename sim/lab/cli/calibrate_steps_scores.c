/* How good the predictions of a fit are (lab/fit/fit_predictions): of rows that were fitted to, of
 * rows of the other half, of sources that nobody fitted to.
 */
#include "lab/cli/calibrate_steps.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/sheet.h"

#define LENGTH(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define PERCENT(type, member, title) FIELD_AT(type, member), FIELD_RIGHT(title, "%.2f", 100)
#define SIGNED(type, member, title) FIELD_AT(type, member), FIELD_RIGHT(title, "%+.2f", 100)

/* A source of fewer votes says more of them than of itself. */
enum { SOURCE_VOTES_MIN = 10 };

struct line {
    const char *name;
    struct score score;
};

struct source_line {
    const char *name;
    struct score fitted, left_out;
};

static struct arena *arena_of(const struct steps_fit *steps)
{
    return steps->options.cli->arena;
}

/* Votes of mixtures of experts. */
static const bool *mixtures_of(const struct steps_fit *steps)
{
    const struct votes *votes = &steps->problem.votes;
    bool *is_in = arena_array(arena_of(steps), votes->vote_count, sizeof *is_in);
    for (uint32_t i = 0; i < steps->rows.count; i++) {
        is_in[votes->vote[i]] = is_in[votes->vote[i]] || steps->rows.rows[i].is_mixture;
    }
    return is_in;
}

static void add_line(struct sheet *sheet, struct sheet *table, const char *key,
                     const struct line *line)
{
    static const struct field members[] = {
        {"votes", FIELD_AT(struct score, votes)}, {"mean", FIELD_AT(struct score, mean)},
        {"macro", FIELD_AT(struct score, macro)}, {"median", FIELD_AT(struct score, median)},
        {"p90", FIELD_AT(struct score, p90)},     {"bias", FIELD_AT(struct score, bias)},
    };
    if (line->score.votes > 0) {
        sheet_members(sheet_object(sheet, key), members, LENGTH(members), &line->score);
        sheet_row(table, line);
    }
}

/* Each kind of prediction, of all votes and of those of mixtures. */
static void add_kinds(struct sheet *sheet, const struct steps_fit *steps)
{
    static const struct field fields[] = {
        {NULL, FIELD_AT(struct line, name), FIELD_LEFT("predictions")},
        {NULL, FIELD_AT(struct line, score.votes), FIELD_RIGHT("votes", NULL, 1)},
        {NULL, PERCENT(struct line, score.mean, "mean of votes %")},
        {NULL, PERCENT(struct line, score.median, "median %")},
        {NULL, PERCENT(struct line, score.macro, "macro %")},
        {NULL, PERCENT(struct line, score.p90, "p90 %")},
        {NULL, SIGNED(struct line, score.bias, "bias %")},
    };
    const struct fit_predictions *made = &steps->predictions;
    const struct {
        const char *key, *name, *mixture_key, *mixture_name;
        const double *seconds;
    } kinds[] = {
        {"fitted", "fitted", "fitted_mixtures", "fitted, mixtures of experts", made->fitted_s},
        {"out_of_fold", "out of fold", "out_of_fold_mixtures", "out of fold, mixtures of experts",
         made->out_of_fold_s},
        {"source_left_out", "source left out", "source_left_out_mixtures",
         "source left out, mixtures of experts", made->left_out_s},
    };
    struct sheet *object = sheet_object(sheet, "predictions");
    struct sheet *table = sheet_table(sheet, NULL, fields, LENGTH(fields));
    const bool *mixtures = mixtures_of(steps);
    for (uint32_t i = 0; i < LENGTH(kinds); i++) {
        if (kinds[i].seconds == NULL) {
            continue;
        }
        const struct line all = {
            kinds[i].name,
            fit_predictions_score(arena_of(steps), &steps->problem, NULL, kinds[i].seconds)};
        const struct line some = {
            kinds[i].mixture_name,
            fit_predictions_score(arena_of(steps), &steps->problem, mixtures, kinds[i].seconds)};
        add_line(object, table, kinds[i].key, &all);
        add_line(object, table, kinds[i].mixture_key, &some);
    }
}

static void say_repeats(struct sheet *sheet, const struct steps_fit *steps, const bool *is_in,
                        const char *name)
{
    const struct fit_repeats of =
        fit_repeats_score(arena_of(steps), &steps->problem, &steps->folds, is_in);
    if (steps->folds.fits == 0 || is_absent(of.mean.mean)) {
        return;
    }
    sheet_say(sheet,
              "out of fold, one repeat%s: mean of votes %.2f %% +- %.2f, median %.2f, macro %.2f, "
              "p90 %.2f, bias %+.2f\n",
              name, 100 * of.mean.mean, 100 * of.mean.deviation, 100 * of.median.mean,
              100 * of.macro.mean, 100 * of.p90.mean, 100 * of.bias.mean);
}

static void add_sources(struct sheet *sheet, const struct steps_fit *steps)
{
    static const struct field fields[] = {
        {NULL, FIELD_AT(struct source_line, name), FIELD_LEFT("source of 10 votes or more")},
        {NULL, FIELD_AT(struct source_line, fitted.votes), FIELD_RIGHT("votes", NULL, 1)},
        {NULL, SIGNED(struct source_line, fitted.bias, "bias, fitted %")},
        {NULL, PERCENT(struct source_line, left_out.mean, "left out %")},
        {NULL, SIGNED(struct source_line, left_out.bias, "bias, left out %")},
    };
    const struct votes *votes = &steps->problem.votes;
    struct arena *arena = arena_of(steps);
    struct sheet *table = sheet_table(sheet, NULL, fields, LENGTH(fields));
    for (uint32_t s = 0; s < votes->source_count; s++) {
        bool *is_in = arena_array(arena, votes->vote_count, sizeof *is_in);
        for (uint32_t v = 0; v < votes->vote_count; v++) {
            is_in[v] = votes->source[v] == s;
        }
        const struct source_line line = {
            votes->source_names[s],
            fit_predictions_score(arena, &steps->problem, is_in, steps->predictions.fitted_s),
            fit_predictions_score(arena, &steps->problem, is_in, steps->predictions.left_out_s)};
        if (line.fitted.votes >= SOURCE_VOTES_MIN) {
            sheet_row(table, &line);
        }
    }
    sheet_say(sheet, "\n");
}

void calibrate_steps_add_scores(struct sheet *sheet, const struct steps_fit *steps)
{
    add_kinds(sheet, steps);
    sheet_say(sheet,
              "Computed from the predictions (--predictions writes them); out of fold: the "
              "geometric mean of %u repeats of two halves by configuration.\n",
              steps->folds.fits / 2);
    say_repeats(sheet, steps, NULL, "");
    say_repeats(sheet, steps, mixtures_of(steps), ", mixtures of experts");
    sheet_say(sheet, "\n");
    add_sources(sheet, steps);
}
