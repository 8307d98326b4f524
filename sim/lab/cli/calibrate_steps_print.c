/* What `stoker-lab calibrate steps` says of a fit: its constants, how well it does, how far rows
 * are off that were not fitted to, and what each effect and part of the model is worth.
 */
#include "lab/cli/calibrate_steps.h"

#include "base/absent.h"
#include "base/arena.h"
#include "input/doc/name_table.h"
#include "report/sheet.h"

#include <math.h>
#include <string.h>

#define LENGTH(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define PERCENT(type, member, title) FIELD_AT(type, member), FIELD_RIGHT(title, "%.1f", 100)
#define SIGNED(type, member, title) FIELD_AT(type, member), FIELD_RIGHT(title, "%+.1f", 100)

enum { MOVED_MAX = 3, SHOWN_DIGITS = 4 };
static const double CHANGE = 0.0953101798043249; /* ln 1.1 */

static struct arena *arena_of(const struct steps_fit *steps)
{
    return steps->options.cli->arena;
}

/* ---- scores ----------------------------------------------------------------------------- */

static void add_score(struct sheet *in, const char *key, const struct score *score)
{
    static const struct field fields[] = {
        {"votes", FIELD_AT(struct score, votes)}, {"mean", FIELD_AT(struct score, mean)},
        {"macro", FIELD_AT(struct score, macro)}, {"median", FIELD_AT(struct score, median)},
        {"p90", FIELD_AT(struct score, p90)},     {"bias", FIELD_AT(struct score, bias)},
    };
    sheet_members(sheet_object(in, key), fields, LENGTH(fields), score);
}

/* Constants by what they are, and how good all rows are with them. */
struct line {
    const char *key, *name;
    struct score score;
};

static void add_scores(struct sheet *sheet, const struct steps_fit *steps)
{
    static const struct field fields[] = {
        {NULL, FIELD_AT(struct line, name), FIELD_LEFT("constants")},
        {NULL, PERCENT(struct line, score.mean, "mean of votes %")},
        {NULL, PERCENT(struct line, score.macro, "macro %")},
        {NULL, PERCENT(struct line, score.median, "median %")},
        {NULL, PERCENT(struct line, score.p90, "p90 %")},
        {NULL, SIGNED(struct line, score.bias, "bias %")},
    };
    const struct votes *votes = &steps->problem.votes;
    struct arena *arena = arena_of(steps);
    const struct line lines[] = {
        {"catalogue", "the catalogue's", fit_score(arena, votes, steps->rows.residual)},
        {"priors", "priors", fit_score(arena, votes, steps->fit->prior_residual)},
        {"fitted", "fitted", fit_score(arena, votes, steps->fit->residual)},
    };
    sheet_say(sheet,
              "%u rows, %u votes of %u sources, %u constants; %u rows simulated for the fit\n"
              "priors: %s\n\n",
              steps->rows.count, votes->vote_count, votes->source_count, steps->problem.plan->count,
              steps->fit->predictions,
              steps->priors == PRIORS_FILE ? "those of the file" : "the catalogue's values");
    struct sheet *table = sheet_table(sheet, NULL, fields, LENGTH(fields));
    for (uint32_t i = 0; i < LENGTH(lines); i++) {
        add_score(sheet, lines[i].key, &lines[i].score);
        if ((i == 0) != (steps->priors == PRIORS_FILE) || i == 2) { /* one is where it starts */
            sheet_row(table, &lines[i]);
        }
    }
    sheet_say(sheet, "\n");
}

/* ---- constants -------------------------------------------------------------------------- */

/* Indices of the rows that move most with the constant, no two of one vote. */
static uint32_t most_moved(const struct steps_fit *steps, uint32_t constant, uint32_t *moved)
{
    const uint32_t n = steps->problem.plan->count;
    const double *slope = steps->fit->slope;
    const uint32_t *vote = steps->problem.votes.vote;
    uint32_t count = 0;
    for (; count < MOVED_MAX; count++) {
        double most = 1e-6;
        bool is_found = false;
        for (uint32_t i = 0; i < steps->rows.count; i++) {
            bool is_taken = false;
            for (uint32_t j = 0; j < count; j++) {
                is_taken = is_taken || vote[moved[j]] == vote[i];
            }
            const double size = fabs(slope[(size_t)i * n + constant]);
            if (!is_taken && size > most) {
                most = size;
                moved[count] = i;
                is_found = true;
            }
        }
        if (!is_found) {
            break;
        }
    }
    return count;
}

/* Those rows in JSON; returns them as the text has them. */
static const char *add_moved(struct sheet *in, const struct steps_fit *steps, uint32_t constant)
{
    uint32_t moved[MOVED_MAX];
    const uint32_t count = most_moved(steps, constant, moved);
    const char *text = "";
    struct sheet *array = sheet_array(in, "moved_by_10_percent");
    for (uint32_t i = 0; i < count; i++) {
        const char *id = steps->rows.rows[moved[i]].id;
        const size_t at = (size_t)moved[i] * steps->problem.plan->count + constant;
        const double change = expm1(CHANGE * steps->fit->slope[at]);
        struct sheet *object = sheet_object(array, NULL);
        sheet_text(object, "row", id);
        sheet_number(object, "change", change);
        text = arena_printf(arena_of(steps), "%s%s%s %+.2f", text, i == 0 ? "" : ", ", id,
                            100.0 * change);
    }
    return text;
}

static const char *const bound_words[] = {
    [FIT_FREE] = "", [FIT_AT_MIN] = "min", [FIT_AT_MAX] = "max"};

/* In JSON all; in the text those that some row tells. */
static void add_constant(struct sheet *array, struct sheet *table, const struct steps_fit *steps,
                         uint32_t number)
{
    struct arena *arena = arena_of(steps);
    const struct fit_plan *plan = steps->problem.plan;
    const struct fit_constant *constant = &plan->constants[number];
    const double value = steps->fit->value[number];
    const double error = steps->fit->error[number];
    struct sheet *object = sheet_object(array, NULL);
    sheet_text(object, "name", constant->name);
    sheet_text(object, "key", constant->key);
    sheet_texts(object, "files", constant->files, constant->file_count);
    sheet_text(object, "effect", plan->effects[constant->effect]);
    sheet_text(object, "unit", constant->unit + strspn(constant->unit, " "));
    sheet_number(object, "prior", constant->prior);
    sheet_number(object, "spread", constant->spread);
    sheet_number(object, "value", value);
    sheet_number(object, "standard_error", error);
    sheet_bool(object, "is_told", steps->fit->is_told[number]);
    const uint32_t votes = fit_votes_moved(arena, steps->fit, number);
    const char *bound = bound_words[fit_bound_of(steps->fit, number)];
    sheet_integer(object, "votes_moved", votes);
    sheet_text(object, "bound", bound);
    const char *moved = add_moved(object, steps, number);
    if (steps->fit->is_told[number]) {
        sheet_text(table, NULL, constant->name);
        sheet_text(table, NULL, constant->key);
        sheet_say(table, "%s", fit_constant_text(arena, constant, constant->prior, SHOWN_DIGITS));
        sheet_number(table, NULL, constant->spread);
        sheet_say(table, "%s", fit_constant_text(arena, constant, value, SHOWN_DIGITS));
        sheet_number(table, NULL, error);
        sheet_text(table, NULL, bound);
        sheet_integer(table, NULL, votes);
        sheet_text(table, NULL, moved);
    }
}

/* Constants that stay as they are, on one line. */
static void say_untouched(struct sheet *sheet, const struct steps_fit *steps)
{
    static const char *const lead[] = {"Untouched, for no row tells them: ", "; "};
    const struct fit_plan *plan = steps->problem.plan;
    uint32_t count = 0;
    for (uint32_t k = 0; k < plan->count; k++) {
        if (!steps->fit->is_told[k]) {
            sheet_say(sheet, "%s%s", lead[count++ > 0], plan->constants[k].name);
        }
    }
    for (uint32_t i = 0; i < steps->rows.unused_count; i++) {
        sheet_say(sheet, "%s%s", lead[count++ > 0], steps->rows.unused[i]);
    }
    sheet_say(sheet, "%s\n", count > 0 ? "\n" : "");
}

/* What a list of constants should not have: one that its data push against a bound, and one that
 * is told by so few votes that it is theirs. */
static void say_doubtful(struct sheet *sheet, const struct steps_fit *steps)
{
    const struct fit_plan *plan = steps->problem.plan;
    const char *at_bound = "";
    const char *few = "";
    uint32_t bounds = 0, fews = 0;
    for (uint32_t k = 0; k < plan->count; k++) {
        const uint32_t votes = fit_votes_moved(arena_of(steps), steps->fit, k);
        const char *name = plan->constants[k].name;
        if (fit_bound_of(steps->fit, k) != FIT_FREE) {
            at_bound =
                arena_printf(arena_of(steps), "%s%s%s", at_bound, bounds++ > 0 ? "; " : "", name);
        }
        if (votes < FIT_VOTES_MIN) {
            few = arena_printf(arena_of(steps), "%s%s%s (%u)", few, fews++ > 0 ? "; " : "", name,
                               votes);
        }
    }
    sheet_say(sheet, "On a bound: %s\n", bounds > 0 ? at_bound : "none");
    sheet_say(sheet, "Moved by fewer than %d votes (0.1 %% of a step for 10 %% of it): %s\n",
              FIT_VOTES_MIN, fews > 0 ? few : "none");
}

static void add_constants(struct sheet *sheet, const struct steps_fit *steps)
{
    static const struct field fields[] = {
        {NULL, FIELD_LEFT("constant")},
        {NULL, FIELD_LEFT("key")},
        {NULL, FIELD_RIGHT("prior", NULL, 1)},
        {NULL, FIELD_RIGHT("+- %", "%.1f", 100)},
        {NULL, FIELD_RIGHT("fitted", NULL, 1)},
        {NULL, FIELD_RIGHT("+- %", "%.1f", 100)},
        {NULL, FIELD_LEFT("at")},
        {NULL, FIELD_RIGHT("votes", NULL, 1)},
        {NULL, FIELD_LEFT("moved most by +10 %: row, %")},
    };
    struct sheet *array = sheet_array(sheet, "constants");
    struct sheet *table = sheet_table(sheet, NULL, fields, LENGTH(fields));
    for (uint32_t k = 0; k < steps->problem.plan->count; k++) {
        add_constant(array, table, steps, k);
    }
    sheet_texts(sheet, "untouched", steps->rows.unused, steps->rows.unused_count);
    sheet_say(sheet, "Standard errors take rows for independent: rows of one source err alike, so "
                     "they are too small.\n");
    say_doubtful(sheet, steps);
    say_untouched(sheet, steps);
}

/* ---- guards ----------------------------------------------------------------------------- */

/* Absent where there are too few configurations for halves. */
static void add_folds(struct sheet *in, const struct fit_folds *folds)
{
    static const struct field fields[] = {
        {"fits", FIELD_AT(struct fit_folds, fits)},
        {"fitted.mean", FIELD_AT(struct fit_folds, fitted.mean)},
        {"fitted.deviation", FIELD_AT(struct fit_folds, fitted.deviation)},
        {"other.mean", FIELD_AT(struct fit_folds, other.mean)},
        {"other.deviation", FIELD_AT(struct fit_folds, other.deviation)},
        {"gap.mean", FIELD_AT(struct fit_folds, gap.mean)},
        {"gap.deviation", FIELD_AT(struct fit_folds, gap.deviation)},
        {"macro.mean", FIELD_AT(struct fit_folds, macro.mean)},
        {"macro.deviation", FIELD_AT(struct fit_folds, macro.deviation)},
        {"bias.mean", FIELD_AT(struct fit_folds, bias.mean)},
        {"bias.deviation", FIELD_AT(struct fit_folds, bias.deviation)},
    };
    if (folds->fits > 0) {
        sheet_members(sheet_object(in, "cross_validation"), fields, LENGTH(fields), folds);
    }
}

static void say_spread(struct sheet *sheet, const char *name, struct fit_spread spread)
{
    sheet_say(sheet, "  %-22s %5.1f %% +- %.1f\n", name, 100.0 * spread.mean,
              100.0 * spread.deviation);
}

static void add_cross_validation(struct sheet *sheet, const struct steps_fit *steps)
{
    const struct fit_folds *folds = &steps->folds;
    add_folds(sheet, folds);
    if (folds->fits == 0) {
        const uint32_t configs = steps->problem.votes.config_count;
        sheet_say(sheet, "no cross-validation: %u configuration%s, and two halves need %d\n\n",
                  configs, configs == 1 ? "" : "s", FIT_FOLD_CONFIGS_MIN);
        return;
    }
    sheet_say(sheet, "two-fold cross-validation by configuration, %u fits (linear model):\n",
              folds->fits);
    say_spread(sheet, "fitted half", folds->fitted);
    say_spread(sheet, "other half", folds->other);
    say_spread(sheet, "gap", folds->gap);
    say_spread(sheet, "other half, macro", folds->macro);
    say_spread(sheet, "other half, bias", folds->bias);
    struct sheet *first = sheet_object(sheet, "first_fold");
    sheet_number(first, "linear", steps->check.linear);
    sheet_number(first, "simulated", steps->check.simulated);
    sheet_say(
        sheet,
        "  first fold, other half: %.2f %% by the linear model, %.2f %% fitted by simulating\n"
        "\n",
        100.0 * steps->check.linear, 100.0 * steps->check.simulated);
}

/* Fitted to all, and fitted without the rows' source. */
static struct sheet *add_left_out_table(struct sheet *sheet, struct arena *arena, const char *name,
                                        const char *without)
{
    const struct field fields[] = {
        {NULL, FIELD_AT(struct fit_left_out, name), FIELD_LEFT(name)},
        {NULL, FIELD_AT(struct fit_left_out, within.votes), FIELD_RIGHT("votes", NULL, 1)},
        {NULL, PERCENT(struct fit_left_out, within.mean, "fitted %")},
        {NULL, SIGNED(struct fit_left_out, within.bias, "bias %")},
        {NULL, PERCENT(struct fit_left_out, without.mean, without)},
        {NULL, SIGNED(struct fit_left_out, without.bias, "bias %")},
    };
    struct field *own = arena_array(arena, LENGTH(fields), sizeof *own);
    memcpy(own, fields, sizeof fields);
    return sheet_table(sheet, NULL, own, LENGTH(fields));
}

static void add_left_out(struct sheet *sheet, const struct steps_fit *steps)
{
    const uint32_t count = steps->problem.votes.source_count;
    double sum = 0;
    double votes = 0;
    struct sheet *table =
        add_left_out_table(sheet, arena_of(steps), "source left out", "left out %");
    struct sheet *array = sheet_array(sheet, "left_out");
    sheet_rows(table, steps->left_out, count, sizeof *steps->left_out);
    for (uint32_t s = 0; s < count; s++) {
        const struct fit_left_out *left = &steps->left_out[s];
        struct sheet *object = sheet_object(array, NULL);
        sheet_text(object, "source", left->name);
        add_score(object, "fitted", &left->within);
        add_score(object, "left_out", &left->without);
        sum += left->without.mean * left->without.votes;
        votes += left->without.votes;
    }
    sheet_say(sheet, "each source left out: mean of votes %.1f %%%s\n\n", 100.0 * sum / votes,
              count == 1 ? " (it is the only one: the priors alone)" : "");
}

/* ---- effects and parts of the model ------------------------------------------------------- */

#define WITHOUT(member) FIELD_AT(struct fit_without, member)
#define FITTED_AGAIN                                                                \
    {NULL, PERCENT(struct fit_without, fitted.mean, "fitted %")},                   \
        {NULL, PERCENT(struct fit_without, fitted.macro, "macro %")},               \
        {NULL, SIGNED(struct fit_without, fitted.bias, "bias %")},                  \
        {NULL, PERCENT(struct fit_without, folds.other.mean, "cross-validated %")}, \
    {                                                                               \
        NULL, SIGNED(struct fit_without, worth, "worth %")                          \
    }

static void add_ablation(struct sheet *sheet, const struct steps_fit *steps)
{
    static const struct field fields[] = {
        {NULL, WITHOUT(name), FIELD_LEFT("without")},
        {NULL, WITHOUT(constants), FIELD_RIGHT("constants", NULL, 1)},
        FITTED_AGAIN,
    };
    struct sheet *table = sheet_table(sheet, NULL, fields, LENGTH(fields));
    struct sheet *array = sheet_array(sheet, "ablation");
    for (uint32_t e = 0; e < steps->problem.plan->effect_count; e++) {
        const struct fit_without *without = &steps->ablation[e];
        struct sheet *object = sheet_object(array, NULL);
        sheet_text(object, "effect", without->name);
        sheet_integer(object, "constants", without->constants);
        if (without->is_removable) {
            add_score(object, "fitted", &without->fitted);
            add_folds(object, &without->folds);
            sheet_row(table, without);
            continue;
        }
        sheet_text(table, NULL, without->name);
        sheet_integer(table, NULL, without->constants);
        for (uint32_t i = 2; i < LENGTH(fields); i++) {
            sheet_say(table, "%s", i == 2 ? "no neutral value" : "-");
        }
    }
    sheet_say(sheet, "\n");
}

/* Of groups of rules, or of assignments; false: there is none. */
static bool add_parts_table(struct sheet *sheet, const struct steps_fit *steps, bool are_rules)
{
    static const struct field fields[] = {
        {NULL, WITHOUT(name), FIELD_LEFT("without")},
        {NULL, WITHOUT(moved), FIELD_RIGHT("rows moved", NULL, 1)},
        {NULL, WITHOUT(refused), FIELD_RIGHT("refusing", NULL, 1)},
        {NULL, PERCENT(struct fit_without, before.mean, "not refitted %")},
        FITTED_AGAIN,
    };
    const struct fit_plan *plan = steps->problem.plan;
    const struct score full =
        fit_score(arena_of(steps), &steps->problem.votes, steps->fit->residual);
    const struct fit_without whole = {.name = "nothing: the whole model",
                                      .before = full,
                                      .fitted = full,
                                      .folds = steps->folds,
                                      .worth = steps->folds.fits > 0 ? 0 : ABSENT};
    struct sheet *table = sheet_table(sheet, NULL, fields, LENGTH(fields));
    sheet_row(table, &whole);
    for (uint32_t i = 0; i < plan->removal_count; i++) {
        if ((plan->removals[i].rule_count > 0) == are_rules) {
            sheet_row(table, &steps->parts[i]);
        }
    }
    return sheet_row_count(table) > 1;
}

/* A rule that says what was run is not there to fit better; but one that fits no better, and is a
 * guess or of few rows, can go. */
static void say_needless_rules(struct sheet *sheet, const struct steps_fit *steps)
{
    const struct fit_plan *plan = steps->problem.plan;
    const char *names[FIT_CONSTANTS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->removal_count; i++) {
        const struct fit_without *part = &steps->parts[i];
        if (plan->removals[i].rule_count > 0 && (part->moved == 0 || part->worth <= 0)) {
            names[count++] = steps->parts[i].name;
        }
    }
    sheet_say(sheet, "Candidates to go, for without them other halves are predicted no worse: %s\n",
              count > 0 ? sheet_joined(arena_of(steps), names, count) : "none");
}

static void add_parts_tables(struct sheet *sheet, const struct steps_fit *steps)
{
    if (add_parts_table(sheet, steps, false)) {
        sheet_say(sheet, "Parts of the model removed, constants fitted again (linear model); rows "
                         "that refuse all that is set stay as they are.\n\n");
    }
    if (add_parts_table(sheet, steps, true)) {
        sheet_say(sheet, "Rules left out by what they set, constants fitted again (linear model); "
                         "rows of which the others make none stay as they are.\n");
        say_needless_rules(sheet, steps);
        sheet_say(sheet, "\n");
    }
}

static void add_parts(struct sheet *sheet, const struct steps_fit *steps)
{
    const struct fit_plan *plan = steps->problem.plan;
    struct sheet *array = sheet_array(sheet, "parts_removed");
    for (uint32_t i = 0; i < plan->removal_count; i++) {
        const struct fit_without *part = &steps->parts[i];
        const struct fit_removal *removal = &plan->removals[i];
        struct sheet *object = sheet_object(array, NULL);
        sheet_text(object, "part", part->name);
        sheet_texts(object, "set", removal->sets, removal->set_count);
        sheet_texts(object, "rules_that_set", removal->rules, removal->rule_count);
        sheet_integer(object, "rows_moved", part->moved);
        sheet_integer(object, "rows_refusing", part->refused);
        add_score(object, "not_refitted", &part->before);
        add_score(object, "fitted", &part->fitted);
        add_folds(object, &part->folds);
    }
    if (plan->removal_count > 0) {
        add_parts_tables(sheet, steps);
    }
}

/* ---- rows and their classes --------------------------------------------------------------- */

static void add_rows(struct sheet *sheet, const struct steps_fit *steps)
{
    struct sheet *array = sheet_array(sheet, "rows");
    for (uint32_t i = 0; i < steps->rows.count; i++) {
        const struct validated_row *row = &steps->rows.rows[i];
        struct sheet *object = sheet_object(array, NULL);
        sheet_text(object, "id", row->id);
        sheet_text(object, "source", row->source);
        sheet_text(object, "config_key", row->config_key);
        sheet_number(object, "measured_step_s", row->measured_s);
        sheet_number(object, "error", expm1(steps->fit->residual[i]));
        if (steps->folds.fits > 0) {
            sheet_number(object, "cv_error", steps->folds.error[i]);
        }
        sheet_number(object, "loso_error", steps->left_out_error[i]);
    }
}

typedef const char *class_of(const struct steps_fit *steps, uint32_t row);

static const char *stack_of(const struct steps_fit *steps, uint32_t row)
{
    const struct validated_row *of = &steps->rows.rows[row];
    return arena_printf(arena_of(steps), "%s | %s | %s | %s%s", of->source, of->software, of->gpu,
                        of->precision, of->is_mixture ? " | MoE" : "");
}

static const char *model_of(const struct steps_fit *steps, uint32_t row)
{
    return steps->rows.rows[row].is_mixture ? "mixture of experts" : "dense";
}

static const char *scale_of(const struct steps_fit *steps, uint32_t row)
{
    const int64_t gpus = steps->rows.rows[row].gpus;
    return gpus <= 8 ? "1-8 GPUs" : gpus <= 64 ? "9-64" : gpus <= 512 ? "65-512" : "513 and more";
}

static const char *micro_of(const struct steps_fit *steps, uint32_t row)
{
    double micro;
    const uint32_t at = steps->rows.rows[row].row;
    const struct published_table *table = steps->rows.tables[steps->rows.table_of[row]];
    if (!published_number(table, at, "micro_batch", &micro)) {
        return "not stated";
    }
    return micro < 2 ? "1" : micro < 4 ? "2 or 3" : micro < 8 ? "4 to 7" : "8 and more";
}

/* Classes in the order of their first rows. A vote is of every class that a row of it is. */
static void add_classes(struct sheet *sheet, const struct steps_fit *steps, const char *title,
                        class_of *name)
{
    const struct votes *votes = &steps->problem.votes;
    const uint32_t count = steps->rows.count;
    struct arena *arena = arena_of(steps);
    uint32_t *class = arena_array(arena, count, sizeof *class);
    double *error = arena_array(arena, count, sizeof *error);
    struct sheet *table = add_left_out_table(sheet, arena, title, "source left out %");
    struct name_table names;
    name_table_init(&names, arena);
    fit_errors_of(steps->fit->residual, count, error);
    for (uint32_t i = 0; i < count; i++) {
        class[i] = name_table_index(&names, name(steps, i));
    }
    for (uint32_t c = 0; c < names.count; c++) {
        bool *is_in = arena_array(arena, votes->vote_count, sizeof *is_in);
        for (uint32_t i = 0; i < count; i++) {
            is_in[votes->vote[i]] = is_in[votes->vote[i]] || class[i] == c;
        }
        sheet_row(table, &(struct fit_left_out){
                             .name = names.names[c],
                             .within = votes_score(arena, votes, is_in, error),
                             .without = votes_score(arena, votes, is_in, steps->left_out_error),
                         });
    }
    sheet_say(sheet, "\n");
}

/* ---- the whole --------------------------------------------------------------------------- */

static void say_changes(struct sheet *sheet, const struct steps_fit *steps)
{
    const uint32_t count = steps->priors == PRIORS_CATALOGUE ? steps->changes.count : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct fit_change *change = &steps->changes.items[i];
        sheet_say(sheet, "%s%s: %s: %s -> %s\n", i == 0 ? "\n" : "", change->path, change->key,
                  change->before != NULL ? change->before : "(absent)", change->after);
    }
}

void calibrate_steps_print(const struct steps_fit *steps, FILE *out)
{
    struct sheet *sheet = sheet_new(arena_of(steps), "stoker.calibrate-steps/1");
    add_scores(sheet, steps);
    add_constants(sheet, steps);
    add_cross_validation(sheet, steps);
    add_left_out(sheet, steps);
    add_ablation(sheet, steps);
    add_parts(sheet, steps);
    add_rows(sheet, steps);
    add_classes(sheet, steps, "source, software, GPU, precision", stack_of);
    add_classes(sheet, steps, "model", model_of);
    add_classes(sheet, steps, "scale", scale_of);
    add_classes(sheet, steps, "micro-batch", micro_of);
    calibrate_steps_add_scores(sheet, steps);
    say_changes(sheet, steps);
    sheet_print(sheet, steps->options.is_json, out);
}
