/* Prints how far a fit of measured steps is off in each class of rows, and
 * what each part of the model is worth.
 */
#include "cli/calibrate/calibrate_steps.h"

#include "base/arena.h"
#include "report/listing.h"

#include <string.h>

/* ---- classes ---------------------------------------------------------------------------- */

typedef const char *class_of(const struct steps_fit *steps, uint32_t row);

static struct arena *arena_of(const struct steps_fit *steps)
{
    return steps->options.cli->arena;
}

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
    if (!published_number(steps->rows.table, at, "micro_batch", &micro)) {
        return "not stated";
    }
    return micro < 2 ? "1" : micro < 4 ? "2 or 3" : micro < 8 ? "4 to 7" : "8 and more";
}

static void add_percent(struct listing *listing, const char *format, double share)
    PRINTF_LIKE(2, 0);

static void add_percent(struct listing *listing, const char *format, double share)
{
    listing_number(listing, 100.0 * share, arena_printf(listing->arena, format, 100.0 * share));
}

static void add_class(struct listing *listing, const char *name, const struct score *fitted,
                      const struct score *left_out)
{
    listing_text(listing, name);
    listing_count(listing, fitted->votes);
    add_percent(listing, "%.1f", fitted->mean);
    add_percent(listing, "%+.1f", fitted->bias);
    add_percent(listing, "%.1f", left_out->mean);
    add_percent(listing, "%+.1f", left_out->bias);
}

static void open_listing(struct listing *listing, const struct steps_fit *steps,
                         const struct listing_column *columns, uint32_t count)
{
    listing_init(listing, arena_of(steps), "stoker.calibrate-steps/1", "rows");
    for (uint32_t i = 0; i < count; i++) {
        listing_column(listing, columns[i].key, columns[i].head, columns[i].is_number);
    }
}

/* Classes in the order of their first rows. A vote is of every class that a row of it is. */
static void print_by(const struct steps_fit *steps, const char *title, class_of *name, FILE *out)
{
    const struct listing_column columns[] = {
        {"class", title, false},
        {"votes", "votes", true},
        {"mean", "fitted %", true},
        {"bias", "bias %", true},
        {"loso", "source left out %", true},
        {"loso_bias", "bias %", true},
    };
    const struct votes *votes = &steps->problem.votes;
    const uint32_t count = steps->rows.count;
    struct arena *arena = arena_of(steps);
    const char **classes = arena_array(arena, count, sizeof *classes);
    double *error = arena_array(arena, count, sizeof *error);
    struct listing listing;
    fit_errors_of(steps->fit->residual, count, error);
    open_listing(&listing, steps, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < count; i++) {
        classes[i] = name(steps, i);
    }
    for (uint32_t i = 0; i < count; i++) {
        bool *is_in = arena_array(arena, votes->vote_count, sizeof *is_in);
        bool is_first = true;
        for (uint32_t j = 0; j < count; j++) {
            const bool is_same = strcmp(classes[i], classes[j]) == 0;
            is_first = is_first && !(is_same && j < i);
            is_in[votes->vote[j]] = is_in[votes->vote[j]] || is_same;
        }
        if (is_first) {
            const struct score fitted = votes_score(arena, votes, is_in, error);
            const struct score left_out = votes_score(arena, votes, is_in, steps->left_out_error);
            add_class(&listing, classes[i], &fitted, &left_out);
        }
    }
    listing_print(&listing, false, out);
    fputs("\n", out);
}

void calibrate_steps_print_classes(const struct steps_fit *steps, FILE *out)
{
    print_by(steps, "source, software, GPU, precision", stack_of, out);
    print_by(steps, "model", model_of, out);
    print_by(steps, "scale", scale_of, out);
    print_by(steps, "micro-batch", micro_of, out);
}

/* ---- parts of the model ----------------------------------------------------------------- */

static void add_scores(struct listing *listing, const struct score *before,
                       const struct score *fitted, const struct fit_folds *folds,
                       const struct fit_folds *full)
{
    add_percent(listing, "%.1f", before->mean);
    add_percent(listing, "%.1f", fitted->mean);
    add_percent(listing, "%.1f", fitted->macro);
    add_percent(listing, "%+.1f", fitted->bias);
    if (full->fits == 0) { /* too few configurations for halves */
        listing_number(listing, 0, "-");
        listing_number(listing, 0, "-");
        return;
    }
    add_percent(listing, "%.1f", folds->other.mean);
    add_percent(listing, "%+.1f", folds->other.mean - full->other.mean);
}

void calibrate_steps_print_parts(const struct steps_fit *steps, FILE *out)
{
    static const struct listing_column columns[] = {
        {"part", "without", false},    {"moved", "rows moved", true},
        {"refused", "refusing", true}, {"before", "not refitted %", true},
        {"mean", "fitted %", true},    {"macro", "macro %", true},
        {"bias", "bias %", true},      {"other", "cross-validated %", true},
        {"worth", "worth %", true},
    };
    const struct fit_plan *plan = steps->problem.plan;
    if (plan->removal_count == 0) {
        return;
    }
    struct arena *arena = arena_of(steps);
    double *error = arena_array(arena, steps->rows.count, sizeof *error);
    fit_errors_of(steps->fit->residual, steps->rows.count, error);
    const struct score full = votes_score(arena, &steps->problem.votes, NULL, error);
    struct listing listing;
    open_listing(&listing, steps, columns, sizeof columns / sizeof *columns);
    listing_text(&listing, "nothing: the whole model");
    listing_count(&listing, 0);
    listing_count(&listing, 0);
    add_scores(&listing, &full, &full, &steps->folds, &steps->folds);
    for (uint32_t i = 0; i < plan->removal_count; i++) {
        const struct fit_part *part = &steps->parts[i];
        listing_text(&listing, part->removal->name);
        listing_count(&listing, part->moved);
        listing_count(&listing, part->refused);
        add_scores(&listing, &part->before, &part->fitted, &part->folds, &steps->folds);
    }
    listing_print(&listing, false, out);
    fputs("Parts of the model removed, constants fitted again (linear model); rows that refuse all "
          "that is set stay as they are.\n\n",
          out);
}
