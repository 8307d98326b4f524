/* Prints what a fit of measured steps found, as tables or as JSON. */
#include "cli/calibrate/calibrate_steps.h"

#include "base/arena.h"
#include "report/listing.h"
#include "base/json.h"

#include <math.h>
#include <string.h>

enum { MOVED_MAX = 3, SHOWN_DIGITS = 4 };
static const double CHANGE = 0.0953101798043249; /* ln 1.1 */

static struct arena *arena_of(const struct steps_fit *steps)
{
    return steps->options.cli->arena;
}

static void add_percent(struct listing *listing, double share)
{
    listing_number(listing, 100.0 * share, arena_printf(listing->arena, "%.1f", 100.0 * share));
}

static void add_signed(struct listing *listing, double share)
{
    listing_number(listing, 100.0 * share, arena_printf(listing->arena, "%+.1f", 100.0 * share));
}

static void begin(struct listing *listing, const struct steps_fit *steps,
                  const struct listing_column *columns, uint32_t count)
{
    listing_init(listing, arena_of(steps), "stoker.calibrate-steps/1", "rows");
    for (uint32_t i = 0; i < count; i++) {
        listing_column(listing, columns[i].key, columns[i].head, columns[i].is_number);
    }
}

/* ---- scores ----------------------------------------------------------------------------- */

static struct score score_of(const struct steps_fit *steps, const double *residual)
{
    const uint32_t count = steps->rows.count;
    double *error = arena_array(arena_of(steps), count, sizeof *error);
    fit_errors_of(residual, count, error);
    return votes_score(arena_of(steps), &steps->problem.votes, NULL, error);
}

static void add_score(struct listing *listing, const char *name, const struct score *score)
{
    listing_text(listing, name);
    add_percent(listing, score->mean);
    add_percent(listing, score->macro);
    add_percent(listing, score->median);
    add_percent(listing, score->p90);
    add_signed(listing, score->bias);
}

static void print_scores(const struct steps_fit *steps, FILE *out)
{
    static const struct listing_column columns[] = {
        {"constants", "constants", false},
        {"mean", "mean of votes %", true},
        {"macro", "macro %", true},
        {"median", "median %", true},
        {"p90", "p90 %", true},
        {"bias", "bias %", true},
    };
    const struct score before = score_of(steps, steps->rows.residual);
    const struct score prior = score_of(steps, steps->fit->prior_residual);
    const struct score fitted = score_of(steps, steps->fit->residual);
    struct listing listing;
    begin(&listing, steps, columns, sizeof columns / sizeof *columns);
    add_score(&listing, "the catalogue's", &before);
    if (steps->priors == PRIORS_FILE) {
        add_score(&listing, "priors", &prior);
    }
    add_score(&listing, "fitted", &fitted);
    fprintf(out,
            "%u rows, %u votes of %u sources, %u constants; %u rows simulated for the fit\n"
            "priors: %s\n\n",
            steps->rows.count, steps->problem.votes.vote_count, steps->problem.votes.source_count,
            steps->problem.plan->count, steps->fit->predictions,
            steps->priors == PRIORS_FILE ? "those of the file" : "the catalogue's values");
    listing_print(&listing, false, out);
    fputs("\n", out);
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

static double change_of(const struct steps_fit *steps, uint32_t row, uint32_t constant)
{
    return expm1(CHANGE * steps->fit->slope[(size_t)row * steps->problem.plan->count + constant]);
}

static const char *moved_text(const struct steps_fit *steps, uint32_t constant)
{
    uint32_t moved[MOVED_MAX];
    const uint32_t count = most_moved(steps, constant, moved);
    const char *text = "";
    for (uint32_t i = 0; i < count; i++) {
        text = arena_printf(arena_of(steps), "%s%s%s %+.2f", text, i == 0 ? "" : ", ",
                            steps->rows.rows[moved[i]].id,
                            100.0 * change_of(steps, moved[i], constant));
    }
    return text;
}

/* "at its limit" says that the data want more than the bounds allow. */
static const char *limit_text(const struct fit_constant *constant, double value)
{
    return value <= constant->min * 1.001 ? "min" : value >= constant->max * 0.999 ? "max" : "";
}

/* Constants that stay as they are, on one line. */
static void print_untouched(const struct steps_fit *steps, FILE *out)
{
    const char *text = "";
    for (uint32_t k = 0; k < steps->problem.plan->count; k++) {
        if (!steps->fit->is_told[k]) {
            text = arena_printf(arena_of(steps), "%s%s%s", text, text[0] != '\0' ? "; " : "",
                                steps->problem.plan->constants[k].name);
        }
    }
    for (uint32_t i = 0; i < steps->rows.unused_count; i++) {
        text = arena_printf(arena_of(steps), "%s%s%s", text, text[0] != '\0' ? "; " : "",
                            steps->rows.unused[i]);
    }
    fprintf(out, "%s%s%s\n", text[0] != '\0' ? "Untouched, for no row tells them: " : "", text,
            text[0] != '\0' ? "\n" : "");
}

static void print_constants(const struct steps_fit *steps, FILE *out)
{
    static const struct listing_column columns[] = {
        {"name", "constant", false}, {"key", "key", false},
        {"prior", "prior", true},    {"spread", "+- %", true},
        {"value", "fitted", true},   {"error", "+- %", true},
        {"limit", "at", false},      {"moved", "moved most by +10 %: row, %", false},
    };
    struct arena *arena = arena_of(steps);
    struct listing listing;
    begin(&listing, steps, columns, sizeof columns / sizeof *columns);
    for (uint32_t k = 0; k < steps->problem.plan->count; k++) {
        const struct fit_constant *constant = &steps->problem.plan->constants[k];
        const double value = steps->fit->value[k];
        if (!steps->fit->is_told[k]) {
            continue;
        }
        listing_text(&listing, constant->name);
        listing_text(&listing, constant->key);
        listing_number(&listing, constant->prior,
                       fit_constant_text(arena, constant, constant->prior, SHOWN_DIGITS));
        add_percent(&listing, constant->spread);
        listing_number(&listing, value, fit_constant_text(arena, constant, value, SHOWN_DIGITS));
        add_percent(&listing, steps->fit->error[k]);
        listing_text(&listing, limit_text(constant, value));
        listing_text(&listing, moved_text(steps, k));
    }
    listing_print(&listing, false, out);
    fputs(
        "Standard errors take rows for independent: rows of one source err alike, so they are too "
        "small.\n",
        out);
    print_untouched(steps, out);
}

/* ---- guards ----------------------------------------------------------------------------- */

static void print_spread(const char *name, struct fit_spread spread, FILE *out)
{
    fprintf(out, "  %-22s %5.1f %% +- %.1f\n", name, 100.0 * spread.mean, 100.0 * spread.deviation);
}

static void print_folds(const struct steps_fit *steps, FILE *out)
{
    const struct fit_folds *folds = &steps->folds;
    if (!steps->has_folds) {
        fprintf(out, "no cross-validation: %u configuration%s, and two halves need %d\n\n",
                steps->problem.votes.config_count,
                steps->problem.votes.config_count == 1 ? "" : "s", STEPS_FOLD_CONFIGS_MIN);
        return;
    }
    fprintf(out, "two-fold cross-validation by configuration, %u fits (linear model):\n",
            folds->fits);
    print_spread("fitted half", folds->fitted, out);
    print_spread("other half", folds->other, out);
    print_spread("gap", folds->gap, out);
    print_spread("other half, macro", folds->macro, out);
    print_spread("other half, bias", folds->bias, out);
    fprintf(out,
            "  first fold, other half: %.2f %% by the linear model, %.2f %% fitted by simulating\n"
            "\n",
            100.0 * steps->check.linear, 100.0 * steps->check.simulated);
}

static void print_left_out(const struct steps_fit *steps, FILE *out)
{
    static const struct listing_column columns[] = {
        {"source", "source left out", false}, {"votes", "votes", true},
        {"fitted", "fitted %", true},         {"fitted_bias", "bias %", true},
        {"left_out", "left out %", true},     {"left_out_bias", "bias %", true},
    };
    struct listing listing;
    double sum = 0;
    double votes = 0;
    begin(&listing, steps, columns, sizeof columns / sizeof *columns);
    for (uint32_t s = 0; s < steps->problem.votes.source_count; s++) {
        const struct fit_left_out *left = &steps->left_out[s];
        listing_text(&listing, left->source);
        listing_count(&listing, left->within.votes);
        add_percent(&listing, left->within.mean);
        add_signed(&listing, left->within.bias);
        add_percent(&listing, left->without.mean);
        add_signed(&listing, left->without.bias);
        sum += left->without.mean * left->without.votes;
        votes += left->without.votes;
    }
    listing_print(&listing, false, out);
    fprintf(out, "each source left out: mean of votes %.1f %%%s\n\n", 100.0 * sum / votes,
            steps->problem.votes.source_count == 1 ? " (it is the only one: the priors alone)"
                                                   : "");
}

static void print_ablation(const struct steps_fit *steps, FILE *out)
{
    static const struct listing_column columns[] = {
        {"effect", "without", false}, {"constants", "constants", true},
        {"mean", "fitted %", true},   {"macro", "macro %", true},
        {"bias", "bias %", true},     {"other", "cross-validated %", true},
        {"worth", "worth %", true},
    };
    struct listing listing;
    begin(&listing, steps, columns, sizeof columns / sizeof *columns);
    for (uint32_t e = 0; e < steps->problem.plan->effect_count; e++) {
        const struct fit_ablation *ablation = &steps->ablation[e];
        listing_text(&listing, ablation->effect);
        listing_count(&listing, ablation->constants);
        if (!ablation->is_removable) {
            for (uint32_t i = 0; i < 5; i++) {
                listing_number(&listing, 0, i == 0 ? "no neutral value" : "-");
            }
            continue;
        }
        add_percent(&listing, ablation->fitted.mean);
        add_percent(&listing, ablation->fitted.macro);
        add_signed(&listing, ablation->fitted.bias);
        if (steps->has_folds) {
            add_percent(&listing, ablation->folds.other.mean);
            add_signed(&listing, ablation->folds.other.mean - steps->folds.other.mean);
        } else {
            listing_number(&listing, 0, "-");
            listing_number(&listing, 0, "-");
        }
    }
    listing_print(&listing, false, out);
    fputs("\n", out);
}

/* ---- the whole --------------------------------------------------------------------------- */

static void print_changes(const struct steps_fit *steps, FILE *out)
{
    for (uint32_t i = 0; i < steps->changes.count; i++) {
        const struct fit_change *change = &steps->changes.items[i];
        fprintf(out, "%s%s: %s: %s -> %s\n", i == 0 ? "\n" : "", change->path, change->key,
                change->before != NULL ? change->before : "(absent)", change->after);
    }
}

void calibrate_steps_print(const struct steps_fit *steps, FILE *out)
{
    print_scores(steps, out);
    print_constants(steps, out);
    print_folds(steps, out);
    print_left_out(steps, out);
    print_ablation(steps, out);
    calibrate_steps_print_parts(steps, out);
    calibrate_steps_print_classes(steps, out);
    print_changes(steps, out);
}

/* ---- JSON ------------------------------------------------------------------------------- */

static void json_score(struct json *json, const char *key, const struct score *score)
{
    json_object_open(json, key);
    json_integer(json, "votes", score->votes);
    json_number(json, "mean", score->mean);
    json_number(json, "macro", score->macro);
    json_number(json, "median", score->median);
    json_number(json, "p90", score->p90);
    json_number(json, "bias", score->bias);
    json_object_close(json);
}

static void json_spread(struct json *json, const char *key, struct fit_spread spread)
{
    json_object_open(json, key);
    json_number(json, "mean", spread.mean);
    json_number(json, "deviation", spread.deviation);
    json_object_close(json);
}

static void json_folds(struct json *json, const struct fit_folds *folds)
{
    json_object_open(json, "cross_validation");
    json_integer(json, "fits", folds->fits);
    json_spread(json, "fitted", folds->fitted);
    json_spread(json, "other", folds->other);
    json_spread(json, "gap", folds->gap);
    json_spread(json, "macro", folds->macro);
    json_spread(json, "bias", folds->bias);
    json_object_close(json);
}

/* Absent where there are too few configurations for halves. */
static void json_folds_if(struct json *json, const struct steps_fit *steps,
                          const struct fit_folds *folds)
{
    if (steps->has_folds) {
        json_folds(json, folds);
    }
}

static void json_moved(const struct steps_fit *steps, struct json *json, uint32_t constant)
{
    uint32_t moved[MOVED_MAX];
    const uint32_t count = most_moved(steps, constant, moved);
    json_array_open(json, "moved_by_10_percent");
    for (uint32_t i = 0; i < count; i++) {
        json_object_open(json, NULL);
        json_text(json, "row", steps->rows.rows[moved[i]].id);
        json_number(json, "change", change_of(steps, moved[i], constant));
        json_object_close(json);
    }
    json_array_close(json);
}

static void json_constants(const struct steps_fit *steps, struct json *json)
{
    json_array_open(json, "constants");
    for (uint32_t k = 0; k < steps->problem.plan->count; k++) {
        const struct fit_constant *constant = &steps->problem.plan->constants[k];
        json_object_open(json, NULL);
        json_text(json, "name", constant->name);
        json_text(json, "key", constant->key);
        json_array_open(json, "files");
        for (uint32_t i = 0; i < constant->file_count; i++) {
            json_text(json, NULL, constant->files[i]);
        }
        json_array_close(json);
        json_text(json, "effect", steps->problem.plan->effects[constant->effect]);
        json_text(json, "unit", constant->unit + strspn(constant->unit, " "));
        json_number(json, "prior", constant->prior);
        json_number(json, "spread", constant->spread);
        json_number(json, "value", steps->fit->value[k]);
        json_number(json, "standard_error", steps->fit->error[k]);
        json_bool(json, "is_told", steps->fit->is_told[k]);
        json_moved(steps, json, k);
        json_object_close(json);
    }
    json_array_close(json);
    json_array_open(json, "untouched");
    for (uint32_t i = 0; i < steps->rows.unused_count; i++) {
        json_text(json, NULL, steps->rows.unused[i]);
    }
    json_array_close(json);
}

static void json_guards(const struct steps_fit *steps, struct json *json)
{
    if (steps->has_folds) {
        json_folds(json, &steps->folds);
        json_object_open(json, "first_fold");
        json_number(json, "linear", steps->check.linear);
        json_number(json, "simulated", steps->check.simulated);
        json_object_close(json);
    }
    json_array_open(json, "left_out");
    for (uint32_t s = 0; s < steps->problem.votes.source_count; s++) {
        json_object_open(json, NULL);
        json_text(json, "source", steps->left_out[s].source);
        json_score(json, "fitted", &steps->left_out[s].within);
        json_score(json, "left_out", &steps->left_out[s].without);
        json_object_close(json);
    }
    json_array_close(json);
}

static void json_ablation(const struct steps_fit *steps, struct json *json)
{
    json_array_open(json, "ablation");
    for (uint32_t e = 0; e < steps->problem.plan->effect_count; e++) {
        const struct fit_ablation *ablation = &steps->ablation[e];
        json_object_open(json, NULL);
        json_text(json, "effect", ablation->effect);
        json_integer(json, "constants", ablation->constants);
        if (ablation->is_removable) {
            json_score(json, "fitted", &ablation->fitted);
            json_folds_if(json, steps, &ablation->folds);
        }
        json_object_close(json);
    }
    json_array_close(json);
}

static void json_parts(const struct steps_fit *steps, struct json *json)
{
    json_array_open(json, "parts_removed");
    for (uint32_t i = 0; i < steps->problem.plan->removal_count; i++) {
        const struct fit_part *part = &steps->parts[i];
        json_object_open(json, NULL);
        json_text(json, "part", part->removal->name);
        json_array_open(json, "set");
        for (uint32_t j = 0; j < part->removal->set_count; j++) {
            json_text(json, NULL, part->removal->sets[j]);
        }
        json_array_close(json);
        json_integer(json, "rows_moved", part->moved);
        json_integer(json, "rows_refusing", part->refused);
        json_score(json, "not_refitted", &part->before);
        json_score(json, "fitted", &part->fitted);
        json_folds_if(json, steps, &part->folds);
        json_object_close(json);
    }
    json_array_close(json);
}

static void json_rows(const struct steps_fit *steps, struct json *json)
{
    json_array_open(json, "rows");
    for (uint32_t i = 0; i < steps->rows.count; i++) {
        const struct validated_row *row = &steps->rows.rows[i];
        json_object_open(json, NULL);
        json_text(json, "id", row->id);
        json_text(json, "source", row->source);
        json_text(json, "config_key", row->config_key);
        json_number(json, "measured_step_s", row->measured_s);
        json_number(json, "error", expm1(steps->fit->residual[i]));
        if (steps->has_folds) {
            json_number(json, "cv_error", steps->folds.error[i]);
        }
        json_number(json, "loso_error", steps->left_out_error[i]);
        json_object_close(json);
    }
    json_array_close(json);
}

void calibrate_steps_print_json(const struct steps_fit *steps, FILE *out)
{
    struct json json;
    const struct score before = score_of(steps, steps->rows.residual);
    const struct score prior = score_of(steps, steps->fit->prior_residual);
    const struct score fitted = score_of(steps, steps->fit->residual);
    json_begin(&json, out);
    json_object_open(&json, NULL);
    json_text(&json, "schema", "stoker.calibrate-steps/1");
    json_score(&json, "catalogue", &before);
    json_score(&json, "priors", &prior);
    json_score(&json, "fitted", &fitted);
    json_constants(steps, &json);
    json_guards(steps, &json);
    json_ablation(steps, &json);
    json_parts(steps, &json);
    json_rows(steps, &json);
    json_object_close(&json);
    json_end(&json);
}
