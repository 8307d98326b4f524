/* A requirement is read from one line of text; each point is held against all in turn. In which
 * unit a metric's limit is written, and what a scenario needs to have it, its row says
 * (run/figures.h).
 */
#include "cli/study/requirements.h"

#include "report/against_sheet.h"

#include "bands/memory_errors.h"
#include "base/absent.h"
#include "base/arena.h"
#include "report/near.h"
#include "report/numbers.h"
#include "report/points.h"
#include "study/search/search.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct command_option requirement_options[] = {
    {"require", 0, "METRIC<=VALUE",
     "Points must have at most this, or with >= at least (gpus, or one of `stoker list metrics`): "
     "--require 'days<=60' --require 'cost_usd<=2M USD'; those that miss are listed later; may be "
     "repeated, and holds beside require: in the file",
     OPTION_LIST(struct session, require)},
    {0},
};

/* ---- metrics and their units ----------------------------------------------------------------- */

/* A number of the scenario, not a figure of the result. */
static const struct figure_metric gpus_metric = {.name = "gpus",
                                                 .title = "GPUs",
                                                 .head = "GPUs",
                                                 .factor = 1,
                                                 .format = "%.0f",
                                                 .measure = FIGURE_MEASURE_COUNT};

#define LIMIT_DIGITS 4 /* of a limit that is proposed */

double requirement_metric_value(const struct figure_metric *metric, const struct store_row *row)
{
    return metric == &gpus_metric ? (double)row->gpus : plot_metric_stored(metric, row);
}

/* A value in the unit in which a limit is written: four digits, rounded away from `is_least`'s good
 * side, so that who requires this much admits the value. */
static const char *limit_text(struct arena *arena, const struct figure_metric *metric, double value,
                              bool is_least)
{
    const double shown = value * metric->measure.factor;
    const double digit =
        shown > 0 || shown < 0 ? pow(10, floor(log10(fabs(shown))) - (LIMIT_DIGITS - 1)) : 1;
    const double rounded = (is_least ? floor(shown / digit) : ceil(shown / digit)) * digit;
    return arena_printf(arena, "%.10g%s", rounded, metric->measure.unit);
}

/* ---- reading --------------------------------------------------------------------------------- */

const struct figure_metric *requirement_metric_find(const char *name)
{
    static const char *const words[][2] = {{"usd", "cost_usd"}, {"kwh", "energy_kwh"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        name = strcmp(name, words[i][0]) == 0 ? words[i][1] : name; /* as `whatif --by` has them */
    }
    return strcmp(name, gpus_metric.name) == 0 ? &gpus_metric : plot_metric_find(name);
}

static const struct figure_metric *find_metric(const struct session *session,
                                               const struct requirement *requirement,
                                               const char *name)
{
    struct cli *cli = session->options.cli;
    const struct figure_metric *metric = requirement_metric_find(name);
    if (metric != NULL) {
        return metric;
    }
    const char **names = arena_array(cli->arena, plot_metric_count + 1, sizeof *names);
    for (uint32_t i = 0; i < plot_metric_count; i++) {
        names[i] = plot_metric_table[i].name;
    }
    names[plot_metric_count] = gpus_metric.name;
    diag_add(cli->diag, requirement->kind, &requirement->place,
             "there is no metric '%s' that could be required", name);
    diag_help_nearest(cli->diag, diag_nearest(name, names, plot_metric_count + 1),
                      "`stoker list metrics` names them; gpus is one, too");
    return NULL;
}

/* No figure that is a fraction reaches 2: 50 was meant as per cent. */
static bool refuse_fraction(const struct session *session, const struct requirement *requirement,
                            double value)
{
    struct diag *diag = session->options.cli->diag;
    diag_add(diag, requirement->kind, &requirement->place,
             "%s: %g is %g %%, and none is above 100 %%", requirement->metric->name, value,
             100 * value);
    diag_help(diag, "write it like %s %s %g %%", requirement->metric->name,
              requirement->is_least ? ">=" : "<=", value <= 100 ? value : 100);
    return false;
}

static bool read_limit(const struct session *session, struct requirement *requirement,
                       const char *text)
{
    const struct figure_measure *measure = &requirement->metric->measure;
    struct cli *cli = session->options.cli;
    char message[256];
    char unused[256];
    double value = 0;
    if (measure->is_plain && units_parse(text, DIM_COUNT, &value, unused, sizeof unused)) {
        value *= measure->si;
    } else if (!units_parse(text, measure->dimension, &value, message, sizeof message)) {
        diag_add(cli->diag, requirement->kind, &requirement->place, "%s: %s",
                 requirement->metric->name, message);
        diag_help(cli->diag, "write it like %s %s %s", requirement->metric->name,
                  requirement->is_least ? ">=" : "<=",
                  measure->is_plain ? "60" : units_example(measure->dimension));
        return false;
    }
    if (measure->dimension == DIM_FRACTION && value > 1) {
        return refuse_fraction(session, requirement, value);
    }
    requirement->limit = value / measure->si;
    return true;
}

static const char *trimmed(struct arena *arena, const char *text, size_t length)
{
    while (length > 0 && isspace((unsigned char)*text)) {
        text++;
        length--;
    }
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        length--;
    }
    return arena_printf(arena, "%.*s", (int)length, text);
}

/* "METRIC <= VALUE" or with >=; the requirement has its place and kind already. */
static bool read_text(const struct session *session, const char *text,
                      struct requirement *requirement)
{
    struct cli *cli = session->options.cli;
    const char *sign = strpbrk(text, "<>=");
    if (sign == NULL || sign == text || *sign == '=' || sign[1] != '=') {
        diag_add(cli->diag, requirement->kind, &requirement->place,
                 "'%s' is no requirement: it has no metric, and <= or >=", text);
        diag_help(cli->diag, "write it like 'days <= 60' or 'mfu >= 40 %%', in quotes on the "
                             "command line");
        return false;
    }
    const char *name = trimmed(cli->arena, text, (size_t)(sign - text));
    const char *value = trimmed(cli->arena, sign + 2, strlen(sign + 2));
    requirement->is_least = *sign == '>';
    requirement->text = arena_printf(cli->arena, "%s %.2s %s", name, sign, value);
    requirement->metric = find_metric(session, requirement, name);
    return requirement->metric != NULL && read_limit(session, requirement, value);
}

/* One requirement more, unless it stands there already, as in each file of several. */
static bool add_text(const struct session *session, struct requirements *requirements,
                     const char *text, struct requirement requirement)
{
    if (!read_text(session, text, &requirement)) {
        return false;
    }
    for (uint32_t i = 0; i < requirements->count; i++) {
        if (strcmp(requirements->items[i].text, requirement.text) == 0) {
            return true;
        }
    }
    requirements->items[requirements->count++] = requirement;
    return true;
}

static bool read_node(const struct session *session, const struct doc_node *node,
                      struct requirements *requirements)
{
    if (node->kind == DOC_SCALAR) {
        return add_text(session, requirements, node->text,
                        (struct requirement){.place = node->place, .kind = DIAG_INPUT});
    }
    diag_add(session->options.cli->diag, DIAG_INPUT, &node->place,
             "a requirement is a line of text");
    diag_help(session->options.cli->diag, "write it like require: [days <= 60, gpus <= 512]");
    return false;
}

/* A list of them, or one alone. */
static bool read_document(const struct session *session, const struct doc_node *require,
                          struct requirements *requirements)
{
    if (require == NULL || require->kind == DOC_NULL) {
        return true;
    }
    if (require->kind != DOC_SEQUENCE) {
        return read_node(session, require, requirements);
    }
    bool is_good = true;
    for (const struct doc_node *node = require->child; node != NULL; node = node->next) {
        is_good = read_node(session, node, requirements) && is_good;
    }
    return is_good;
}

bool requirements_read(const struct session *session, const struct doc_node *const *documents,
                       uint32_t count, struct requirements *requirements)
{
    struct arena *arena = session->options.cli->arena;
    uint32_t most = session->require.count;
    for (uint32_t i = 0; i < count; i++) {
        const struct doc_node *require = doc_find(documents[i], "require");
        most += require == NULL ? 0 : 1 + doc_child_count(require);
    }
    *requirements = (struct requirements){
        .items = arena_array(arena, most, sizeof *requirements->items),
    };
    bool is_good = true;
    for (uint32_t i = 0; i < count; i++) {
        is_good =
            read_document(session, doc_find(documents[i], "require"), requirements) && is_good;
    }
    for (uint32_t i = 0; i < session->require.count; i++) {
        const char *text = session->require.items[i];
        const struct place place = {.file = arena_printf(arena, "--require '%s'", text)};
        is_good = add_text(session, requirements, text,
                           (struct requirement){.place = place, .kind = DIAG_USAGE}) &&
                  is_good;
    }
    return is_good;
}

/* ---- each point ------------------------------------------------------------------------------ */

/* By how much a point misses, relative to the limit; at most 0: it meets; ABSENT: it has none. */
static double miss_of(const struct requirement *requirement, const struct store_row *row)
{
    const double value = requirement_metric_value(requirement->metric, row);
    if (is_absent(value)) {
        return ABSENT;
    }
    const double over =
        requirement->is_least ? requirement->limit - value : value - requirement->limit;
    const double size = fabs(requirement->limit);
    return size > 0 ? over / size : over > 0 ? 1 : 0;
}

/* The requirement that the point misses most, one that it does not even have before all others;
 * NULL: it meets all. */
static const struct requirement *worst_of(const struct requirements *requirements,
                                          const struct store_row *row, double *miss)
{
    const struct requirement *worst = NULL;
    *miss = 0;
    for (uint32_t i = 0; i < requirements->count; i++) {
        const double own = miss_of(&requirements->items[i], row);
        if (is_absent(own)) {
            *miss = ABSENT;
            return &requirements->items[i];
        }
        if (own > *miss) {
            *miss = own;
            worst = &requirements->items[i];
        }
    }
    return worst;
}

bool requirements_are_met(const struct requirements *requirements, const struct store_row *row)
{
    double miss = 0;
    return store_row_is_good(row) && worst_of(requirements, row, &miss) == NULL;
}

const char *requirements_text(const struct requirements *requirements, struct arena *arena)
{
    const char *text = "";
    for (uint32_t i = 0; i < requirements->count; i++) {
        text =
            arena_printf(arena, "%s%s%s", text, i > 0 ? " and " : "", requirements->items[i].text);
    }
    return text;
}

/* In a worker. */
static double miss_of_result(const void *context, const struct result *result)
{
    struct store_row row;
    double miss = 0;
    store_row_of(result, "", &row);
    (void)worst_of(context, &row, &miss);
    return miss;
}

const struct search_require *requirements_of_search(const struct requirements *requirements,
                                                    struct arena *arena, const char *judge)
{
    if (requirements->count == 0) {
        return NULL;
    }
    struct search_require *require = arena_alloc(arena, sizeof *require);
    *require = (struct search_require){
        .text = requirements_text(requirements, arena),
        .value_most = HUGE_VAL,
        .memory_bytes_most = HUGE_VAL,
        .miss = miss_of_result,
        .context = requirements,
    };
    for (uint32_t i = 0; i < requirements->count; i++) {
        const struct requirement *item = &requirements->items[i];
        double *most = strcmp(item->metric->name, judge) == 0 ? &require->value_most
                       : strcmp(item->metric->name, "memory_peak_bytes") == 0
                           ? &require->memory_bytes_most
                           : NULL;
        require->is_of_run = require->is_of_run || item->metric->is_of_months;
        if (most != NULL && !item->is_least) {
            *most = fmin(*most, item->limit);
        }
    }
    return require;
}

static void tell_unknown(const struct requirement *requirement, struct diag *diag)
{
    const char *needs = requirement->metric->needs;
    diag_add(diag, requirement->kind, &requirement->place,
             "no point has %s, of which '%s' is required", requirement->metric->name,
             requirement->text);
    diag_help(diag, "%s", needs != NULL ? needs : "leave it out");
}

bool requirements_check_run(const struct requirements *requirements, bool has_run,
                            struct diag *diag)
{
    bool is_good = true;
    for (uint32_t i = 0; i < requirements->count && !has_run; i++) {
        if (requirements->items[i].metric->is_of_months) {
            tell_unknown(&requirements->items[i], diag);
            is_good = false;
        }
    }
    return is_good;
}

const struct plot_limit *requirements_limits(const struct requirements *requirements,
                                             struct arena *arena)
{
    struct plot_limit *limits = arena_array(arena, requirements->count, sizeof *limits);
    for (uint32_t i = 0; i < requirements->count; i++) {
        const struct requirement *item = &requirements->items[i];
        limits[i] = (struct plot_limit){item->text, item->metric->name, item->limit};
    }
    return limits;
}

const bool *requirements_misses(const struct requirements *requirements,
                                const struct store_row *rows, uint32_t count, struct arena *arena)
{
    if (requirements->count == 0) {
        return NULL;
    }
    bool *misses = arena_array(arena, count, sizeof *misses);
    for (uint32_t i = 0; i < count; i++) {
        misses[i] = store_row_is_good(&rows[i]) && !requirements_are_met(requirements, &rows[i]);
    }
    return misses;
}

void requirements_prepare(const struct requirements *requirements, struct session *session)
{
    struct arena *arena = session->options.cli->arena;
    session->limits = requirements_limits(requirements, arena);
    session->limit_count = requirements->count;
    session->misses = requirements_misses(requirements, session->rows, session->row_count, arena);
}

const char *requirements_head(const struct requirements *requirements)
{
    return requirements->count > 0 ? "meets" : NULL;
}

const char *requirements_cell(const struct requirements *requirements, const struct store_row *row,
                              struct arena *arena)
{
    if (requirements->count == 0 || !store_row_is_good(row)) {
        return NULL;
    }
    double miss = 0;
    const struct requirement *worst = worst_of(requirements, row, &miss);
    if (worst == NULL) {
        return "yes";
    }
    return is_absent(miss) ? arena_printf(arena, "no %s", worst->metric->name)
                           : arena_printf(arena, "%s %c%.3g %%", worst->metric->name,
                                          worst->is_least ? '-' : '+', 100 * miss);
}

void requirements_add_point(const struct requirements *requirements, struct sheet *point,
                            const struct store_row *row)
{
    if (requirements->count == 0) {
        return;
    }
    if (store_row_is_good(row)) {
        sheet_bool(point, "meets", requirements_are_met(requirements, row));
    } else {
        sheet_null_as(point, "meets", NULL);
    }
}

/* ---- all points ------------------------------------------------------------------------------ */

/* Of the points that meet all, those with the fewest GPUs. */
static struct candidates fewest_of(struct arena *arena, const struct candidates *met)
{
    struct candidate *items = arena_array(arena, met->count + 1u, sizeof *items);
    struct candidates fewest = {.items = items};
    for (uint32_t i = 0; i < met->count; i++) {
        const double gpus = met->items[i].row->gpus;
        const double held = fewest.count > 0 ? items[0].row->gpus : ABSENT;
        fewest.count = is_absent(held) || gpus < held ? 0 : fewest.count;
        if (is_absent(held) || gpus <= held) {
            items[fewest.count++] = met->items[i];
        }
    }
    return fewest;
}

static void say_met(const struct session *session, const struct candidates *met,
                    struct sheet *sheet)
{
    struct arena *arena = session->options.cli->arena;
    const bool is_asked = options_given(&session->options, "metric");
    const struct figure_metric *metric =
        is_asked ? plot_metric_find(session->metrics.items[0]) : judges_of(met).items[0];
    const struct winners winners = winners_of(arena, met, metric);
    if (winners.best != NULL) {
        winners_add(&winners, sheet_object(sheet, "best_that_meets_all"));
        winners_say(&winners, " that meets all", sheet);
    }
    const struct candidates smallest = fewest_of(arena, met);
    const struct winners fewest = winners_of(arena, &smallest, metric);
    const struct store_row *row = fewest.best != NULL ? fewest.best : smallest.items[0].row;
    struct sheet *object = sheet_object(sheet, "fewest_gpus_that_meet_all");
    sheet_text(object, "label", row->label);
    sheet_integer(object, "gpus", (int64_t)row->gpus);
    sheet_say(sheet, "fewest GPUs that do: %.0f at %s\n", (double)row->gpus, row->label);
}

static const struct store_row *nearest_miss(const struct requirements *requirements,
                                            const struct session *session)
{
    const struct store_row *nearest = NULL;
    double least = 0;
    for (uint32_t i = 0; i < session->row_count; i++) {
        const struct store_row *row = &session->rows[i];
        double miss = ABSENT;
        if (store_row_is_good(row)) {
            (void)worst_of(requirements, row, &miss);
        }
        if (!is_absent(miss) && (nearest == NULL || miss < least)) {
            nearest = row;
            least = miss;
        }
    }
    return nearest;
}

/* "days 12.11, 21 % above"; and in JSON. */
static const char *add_miss(const struct requirement *requirement, const struct store_row *row,
                            double miss, struct sheet *misses)
{
    struct arena *arena = sheet_arena(misses);
    const double value = requirement_metric_value(requirement->metric, row);
    struct sheet *object = sheet_object(misses, NULL);
    sheet_text(object, "metric", requirement->metric->name);
    sheet_number(object, "value", value);
    sheet_number(object, "limit", requirement->limit);
    sheet_number(object, "miss", miss);
    return arena_printf(arena, "%s %s, %.3g %% %s", requirement->metric->name,
                        limit_text(arena, requirement->metric, value, requirement->is_least),
                        100 * miss, requirement->is_least ? "below" : "above");
}

/* What the nearest misses, in words, and the limits that it would meet. */
struct remedy {
    const char *words, *limits;
};

static struct remedy add_nearest(const struct requirements *requirements,
                                 const struct store_row *row, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    struct sheet *object = sheet_object(sheet, "nearest_miss");
    sheet_text(object, "label", row->label);
    struct sheet *misses = sheet_array(object, "misses");
    struct remedy remedy = {"", ""};
    for (uint32_t i = 0; i < requirements->count; i++) {
        const struct requirement *requirement = &requirements->items[i];
        const struct figure_metric *metric = requirement->metric;
        const bool is_least = requirement->is_least;
        const double miss = miss_of(requirement, row);
        if (miss > 0) {
            const bool is_first = remedy.words[0] == '\0';
            remedy.words = arena_printf(arena, "%s%s%s", remedy.words, is_first ? "" : "; ",
                                        add_miss(requirement, row, miss, misses));
            remedy.limits = arena_printf(
                arena, "%s%s'%s%s%s'", remedy.limits, is_first ? "" : " and ", metric->name,
                is_least ? ">=" : "<=",
                limit_text(arena, metric, requirement_metric_value(metric, row), is_least));
        }
    }
    return remedy;
}

/* Of those that miss the memory nearly and meet all else, the one that misses it least; NULL: there
 * is none. */
static const struct store_row *nearest_but_for_memory(const struct requirements *requirements,
                                                      const struct near_rows *rows)
{
    uint32_t i = 0;
    while (i < rows->count && !requirements_are_met(requirements, &rows->items[i])) {
        i++;
    }
    return i < rows->count ? &rows->items[i] : NULL;
}

static void note_left_out(const struct session *session, const struct near_rows *rows)
{
    if (rows->left_out > 0) {
        diag_add(
            session->options.cli->diag, DIAG_NOTE, NULL,
            "of the points that miss memory by less than its error, the %d nearest do not meet "
            "all even with enough of it; %" PRIu32 " others were not tried",
            NEAR_POINTS_MAX, rows->left_out);
    }
}

/* "LABEL would meet all, but misses the memory: 85.7 of 85.5 GB, over by ..."; NULL: none would. */
static const char *add_but_for_memory(const struct requirements *requirements,
                                      const struct session *session, const struct near_points *near,
                                      struct sheet *sheet)
{
    if (near->count == 0) {
        return NULL;
    }
    const struct memory_errors *errors = near_errors(&session->options, &session->catalogue);
    const struct near_rows rows = near_points_predict(session, near, errors);
    const struct store_row *row = nearest_but_for_memory(requirements, &rows);
    if (row == NULL) {
        note_left_out(session, &rows);
        return NULL;
    }
    const double over = near_over(row->memory_peak_bytes, row->memory_limit_bytes);
    struct arena *arena = sheet_arena(sheet);
    struct sheet *object = sheet_object(sheet, "meets_all_but_for_memory");
    sheet_text(object, "label", row->label);
    sheet_number(object, "memory_peak_bytes", row->memory_peak_bytes);
    sheet_number(object, "memory_limit_bytes", row->memory_limit_bytes);
    sheet_number(object, "over", over);
    sheet_number(object, "peaks_so_far_below", memory_errors_share(errors, over));
    return arena_printf(arena, "%s would meet all, but needs %.1f of %.1f GB, over %s", row->label,
                        row->memory_peak_bytes / 1e9, row->memory_limit_bytes / 1e9,
                        near_words(arena, errors, over));
}

/* Where a point failed it might have met all: then this is no verdict. */
static void say_missed(const struct requirements *requirements, const struct session *session,
                       const struct near_points *near, struct sheet *sheet)
{
    struct cli *cli = session->options.cli;
    const enum diag_kind kind = session->outcome.failed > 0 ? DIAG_WARNING : DIAG_INFEASIBLE;
    const struct store_row *row = nearest_miss(requirements, session);
    double miss = 0;
    const struct requirement *worst =
        row != NULL ? worst_of(requirements, row, &miss) : &requirements->items[0];
    diag_add(cli->diag, kind, &worst->place, "no point meets %s",
             requirements_text(requirements, cli->arena));
    if (row == NULL) {
        diag_help(cli->diag, "no point has all of these metrics: require fewer");
        return;
    }
    const struct remedy remedy = add_nearest(requirements, row, sheet);
    sheet_say(sheet, "nearest miss: %s: %s\n", row->label, remedy.words);
    diag_help(cli->diag, "nearest is %s: %s; with %s instead it meets all", row->label,
              remedy.words, remedy.limits);
    const char *but = add_but_for_memory(requirements, session, near, sheet);
    if (but != NULL) {
        sheet_say(sheet, "%s\n", but);
        diag_help(cli->diag, "%s", but);
    }
}

/* False, with a message each, where no point that has a result has the metric. */
static bool check_known(const struct requirements *requirements, const struct session *session)
{
    struct diag *diag = session->options.cli->diag;
    bool is_good = true;
    for (uint32_t i = 0; i < requirements->count; i++) {
        const struct requirement *requirement = &requirements->items[i];
        bool is_known = false;
        for (uint32_t k = 0; k < session->row_count; k++) {
            is_known =
                is_known ||
                (store_row_is_good(&session->rows[k]) &&
                 !is_absent(requirement_metric_value(requirement->metric, &session->rows[k])));
        }
        if (!is_known) {
            tell_unknown(requirement, diag);
            is_good = false;
        }
    }
    return is_good;
}

static void add_list(const struct requirements *requirements, const struct session *session,
                     struct sheet *sheet)
{
    struct sheet *list = sheet_array(sheet, "requirements");
    for (uint32_t i = 0; i < requirements->count; i++) {
        const struct requirement *requirement = &requirements->items[i];
        int64_t met = 0;
        for (uint32_t k = 0; k < session->row_count; k++) {
            met += store_row_is_good(&session->rows[k]) &&
                   miss_of(requirement, &session->rows[k]) <= 0;
        }
        struct sheet *object = sheet_object(list, NULL);
        sheet_text(object, "text", requirement->text);
        sheet_text(object, "metric", requirement->metric->name);
        sheet_text(object, "relation", requirement->is_least ? ">=" : "<=");
        sheet_number(object, "limit", requirement->limit);
        sheet_integer(object, "points_that_meet", met);
    }
}

void requirements_add(const struct requirements *requirements, const struct session *session,
                      const struct against *against, const struct near_points *near,
                      struct sheet *sheet)
{
    if (requirements->count == 0) {
        return;
    }
    add_list(requirements, session, sheet);
    uint32_t good = 0;
    uint32_t met = 0;
    for (uint32_t i = 0; i < session->row_count; i++) {
        good += store_row_is_good(&session->rows[i]);
        met += requirements_are_met(requirements, &session->rows[i]);
    }
    if (good == 0) { /* that nothing fits is said by all of its points */
        const char *but = add_but_for_memory(requirements, session, near, sheet);
        if (but != NULL) {
            sheet_say(sheet, "\n%s\n", but);
        }
        return;
    }
    if (!check_known(requirements, session)) {
        return;
    }
    sheet_say(sheet, "\n%" PRIu32 " of %" PRIu32 " points meet %s\n", met, session->row_count,
              requirements_text(requirements, session->options.cli->arena));
    if (met > 0) {
        const bool *misses = requirements_misses(requirements, session->rows, session->row_count,
                                                 session->options.cli->arena);
        const struct against_rows rows = {session->rows, against, session->row_count};
        const struct candidates all =
            against_candidates(session->options.cli->arena, &rows, misses);
        say_met(session, &all, sheet);
    } else {
        say_missed(requirements, session, near, sheet);
    }
}
