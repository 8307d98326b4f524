/* The command `stoker-lab bands`: how good the bands of predictions are. */
#include "base/arena.h"
#include "cli/options.h"
#include "lab/band_scores.h"
#include "lab/cli/lab_commands.h"
#include "report/sheet.h"

struct bands_input {
    struct options options;
};

static const struct command_option own_options[] = {OPTIONS_APART, {0}};

#define CLASS(member) FIELD_AT(struct band_class, member)

static const struct field class_fields[] = {
    {"class", CLASS(name), FIELD_LEFT("bands of")},
    {"votes", CLASS(votes), FIELD_COUNT("votes")},
    {"inside", CLASS(own.inside), FIELD_RIGHT("inside %", "%.1f", 100)},
    {"p", CLASS(own.p), FIELD_RIGHT("p", "%.3f", 1)},
    {"half_width", CLASS(own.width), FIELD_RIGHT("half width", "%.3f", 1)},
    {"interval_score", CLASS(own.score), FIELD_RIGHT("score", "%.3f", 1)},
    {"constant_inside", CLASS(plain.inside), FIELD_RIGHT("constant's %", "%.1f", 100)},
    {"constant_p", CLASS(plain.p), FIELD_RIGHT("p", "%.3f", 1)},
    {"constant_half_width", CLASS(plain.width), FIELD_RIGHT("half width", "%.3f", 1)},
    {"constant_interval_score", CLASS(plain.score), FIELD_RIGHT("score", "%.3f", 1)},
};

#define FEATURE(member) FIELD_AT(struct band_feature, member)

static const struct field feature_fields[] = {
    {"feature", FEATURE(says), FIELD_LEFT("what makes a band wider")},
    {"times", FEATURE(times), FIELD_RIGHT("times", "%.2f", 1)},
    {"without", FEATURE(without), FIELD_RIGHT("score without it", "%.3f", 1)},
};

static void print(const struct bands_input *input, const struct band_votes *votes)
{
    struct arena *arena = input->options.cli->arena;
    struct sheet *sheet = sheet_new(arena, "stoker.bands/1");
    uint32_t count;
    const struct band_class *classes = band_classes(arena, votes, &count);
    struct sheet *table = sheet_table(sheet, "classes", FIELD_LIST(class_fields));
    sheet_rows(table, classes, count, sizeof *classes);
    struct band_feature features[WIDTH_FEATURE_COUNT];
    band_features(arena, votes, features);
    table = sheet_table(sheet, "features", FIELD_LIST(feature_fields));
    sheet_caption(table, "\n");
    sheet_rows(table, features, WIDTH_FEATURE_COUNT, sizeof *features);
    sheet_say(sheet,
              "\nEach vote of " BAND_FILE " and " BAND_TYPED_FILE " is held against the band of "
              "the other sources.\np: that so many of 80 %% lie inside, or what is no likelier, "
              "were votes independent (binomial, both sides);\nscore: the interval score, of "
              "logarithms, the less the better. Features of less than all or nothing (networks,\n"
              "steps) are doublings by threes: twice is a third of it.\n");
    sheet_print(sheet, input->options.is_json, stdout);
}

static int run(struct options *options)
{
    struct cli *cli = options->cli;
    const struct catalogue catalogue = options_catalogue(options);
    struct band_votes votes;
    const char *reason = NULL;
    if (!band_load(cli->arena, &catalogue, &votes, &reason, cli->diag)) {
        diag_add(cli->diag, DIAG_INPUT, NULL, "no bands: %s", reason);
        diag_help(cli->diag, "`make backtest` writes " BAND_FILE);
        return EXIT_INPUT;
    }
    print((const struct bands_input *)options, &votes);
    return 0;
}

const struct command command_lab_bands = {
    .name = "bands",
    .summary = "how good bands of predictions are, class by class, out of fold",
    .about = "Holds each vote of the catalogue's errors against the band that the other sources' "
             "votes make: how many lie inside, whether that may be chance, and the interval score, "
             "beside those of one width for all; and what each feature of the regression is worth."
             "\vExample: stoker-lab bands\n"
             "Exit status 3: the catalogue has no errors, or they cannot be read.",
    .options = {own_options, options_general},
    .input_size = sizeof(struct bands_input),
    .run = run,
};
