/* The document that `stoker run --json` prints, group by group: the tables of run/figures.h, and
 * between them what is no list of figures. What does not exist (the days of a run that nobody asked
 * for, the MFU of a plan that does not fit) is null, never 0.
 */
#include "report/house_lines.h"
#include "report/anchor_sheet.h"
#include "report/banded.h"
#include "report/result_sheet.h"

#include "base/arena.h"
#include "base/units.h"
#include "base/version.h"
#include "input/failures/recovery.h"
#include "input/scenario.h"
#include "run/figures.h"
#include "run/goodput.h"
#include "run/holding.h"
#include "train/critical/critical.h"

/* ---- figures --------------------------------------------------------------------------- */

static void put_TEXT(struct sheet *in, const char *key, bool exists, const char *text)
{
    sheet_text(in, key, exists ? text : NULL);
}

static void put_REAL(struct sheet *in, const char *key, bool exists, double number)
{
    sheet_number(in, key, exists ? number : ABSENT);
}

static void put_DURATION(struct sheet *in, const char *key, bool exists, double seconds)
{
    put_REAL(in, key, exists, seconds);
}

static void put_INTEGER(struct sheet *in, const char *key, bool exists, int64_t number)
{
    if (exists) {
        sheet_integer(in, key, number);
    } else {
        sheet_null_as(in, key, NULL);
    }
}

static void put_POSITIVE(struct sheet *in, const char *key, bool exists, int64_t number)
{
    put_INTEGER(in, key, exists, number);
}

static void put_BOOL(struct sheet *in, const char *key, bool exists, bool is_true)
{
    sim_assert(exists);
    sheet_bool(in, key, is_true);
}

enum group {
    GROUP_TITLE,
    GROUP_TOP,
    GROUP_FLOP,
    GROUP_MEMORY,
    GROUP_RUN,
    GROUP_LINKS,
    GROUP_ENGINE,
    GROUP_POINTS, /* not here: report/points */
};

#define PUT_ITEM(kind, when, key, column, value) \
    put_##kind(in, #key, FIGURE_EXISTS_##when(value), value);
#define PUT_MEMBER(kind, when, key, value) PUT_ITEM(kind, when, key, none, value)
#define PUT_JSON(kind, when, group, key, value) \
    if (wanted == GROUP_##group) {              \
        PUT_ITEM(kind, when, key, none, value)  \
    }
#define PUT_BOTH(kind, when, group, key, column, value) PUT_JSON(kind, when, group, key, value)
#define PUT_METRIC(kind, when, group, key, column, name, measure, value, ...) \
    PUT_JSON(kind, when, group, key, value)
#define SHOW(kind, when, group, key, column, name, measure, value, ...) \
    show(list, result, FIGURE_EXISTS_##when(value) ? (value) : ABSENT,  \
         &(const struct figure_metric){.is_of_months = FIGURE_IS_OF_MONTHS_##when, __VA_ARGS__});
#define NOT_HERE(...)

static void put_group(struct sheet *in, const struct result *result, enum group wanted)
{
    FIGURE_TERMS;
    RUN_FIGURES(PUT_JSON, NOT_HERE, PUT_BOTH, PUT_BOTH, PUT_METRIC)
}

/* The line of a figure that has one: of the months only where there are some. */
static void show(struct sheet *list, const struct result *result, double value,
                 const struct figure_metric *metric)
{
    if (metric->label == NULL || (metric->is_of_months && !result_has_run(result))) {
        return;
    }
    const char *number =
        is_absent(value) ? "-"
                         : arena_printf(sheet_arena(list), metric->format, value * metric->factor);
    /* What has a line of its own is of the cost, and as sure. */
    const double of_cost = banded_halves_of(result).cost_usd / result->run.cost_usd;
    const char *banded =
        banded_text(sheet_arena(list), value * metric->factor, of_cost * value * metric->factor);
    sheet_say(list, "%s %s", banded_or(banded, number), metric->unit);
    sheet_text(list, NULL, metric->label);
}

void result_sheet_show(const struct result *result, struct sheet *list)
{
    FIGURE_TERMS;
    RUN_FIGURES(NOT_HERE, NOT_HERE, NOT_HERE, NOT_HERE, SHOW)
}

/* ---- lists ------------------------------------------------------------------------------ */

/* Lists of what a step does are empty where there is no step. */
#define PUT_LIST(list, type, items, count)                                                    \
    static void put_##list(struct sheet *sheet, const char *key, const struct result *result, \
                           bool exists)                                                       \
    {                                                                                         \
        struct sheet *array = sheet_array(sheet, key);                                        \
        for (size_t i = 0; exists && i < result->count; i++) {                                \
            const struct type *item = &result->items[i];                                      \
            struct sheet *in = sheet_object(array, NULL);                                     \
            list##_FIGURES(PUT_ITEM, NOT_HERE, PUT_MEMBER)                                    \
        }                                                                                     \
    }
RUN_LISTS(PUT_LIST)

static void put_lists(struct sheet *sheet, const struct result *result)
{
    static const struct field placement[] = {
        {"placement.domain_gpus", FIELD_AT(struct placement_use, domain_gpus)},
        {"placement.segment_gpus", FIELD_AT(struct placement_use, segment_gpus)},
        {"placement.used_gpus_per_domain", FIELD_AT(struct placement_use, used_gpus)},
        {"placement.idle_gpus", FIELD_AT(struct placement_use, idle_gpus)},
        {"placement.groups_across_domains", FIELD_AT(struct placement_use, straddling)},
    };
    const bool has_step = result_has_step(result);
    put_LINK_USE(sheet, "links", result, has_step);
    put_LINK_LOAD(sheet, "busiest_links", result, has_step);
    put_TRAFFIC(sheet, "transfers", result, has_step);
    sheet_members(sheet, FIELD_LIST(placement), &result->step.placement);
    put_JOB(sheet, "jobs", result, has_step);
    put_ACCOUNT(sheet, "accounts", result, result_has_run(result));
    put_ASSUMPTION(sheet, "assumptions", result, true);
    static const struct field unsaid[] = {
        {"name", FIELD_AT(struct unsaid, name)},
        {"set", FIELD_AT(struct unsaid, set)},
        {"moves", FIELD_AT(struct unsaid, moves)},
    };
    sheet_list(sheet, "unsaid", FIELD_LIST(unsaid), result->unsaid, result->unsaid_count,
               sizeof *result->unsaid);
}

/* ---- the rest --------------------------------------------------------------------------- */

static void put_breakdown(struct sheet *sheet, const struct result *result)
{
    struct sheet *breakdown = sheet_object(sheet, "breakdown");
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        const double gpu_s = (double)result->step.gpu_ns[cause] * 1e-9;
        put_REAL(breakdown, cause_names[cause], result_has_step(result),
                 gpu_s / (double)result->scenario->gpus);
    }
}

static void put_path(struct sheet *sheet, const struct result *result)
{
    struct sheet *path = sheet_object(sheet, "critical_by_cause");
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        const int64_t ns = critical_of_cause(result->step.path, (enum cause)cause);
        put_REAL(path, cause_names[cause], result_has_step(result), (double)ns * 1e-9);
    }
}

/* As papers count; beside ours for comparison. */
static void put_conventions(struct sheet *sheet, const struct result *result)
{
    struct sheet *conventions = sheet_object(sheet, "mfu_by_convention");
    for (uint32_t i = 0; i < FLOP_CONVENTION_COUNT_; i++) {
        put_REAL(conventions, flop_convention_names[i], result_has_step(result),
                 result_mfu_by(result, (enum flop_convention)i));
    }
    sheet_text(sheet, "mfu_convention", flop_convention_names[result->mfu_convention]);
}

/* Low and high of a figure that is in proportion to the step time, or to its inverse. */
static void put_range(struct sheet *in, const char *key, double low, double high)
{
    struct sheet *range = sheet_object(in, key);
    sheet_number(range, "p10", low);
    sheet_number(range, "p90", high);
}

/* Of the run; without a band of the step only where something fails. */
static void put_draws(struct sheet *in, const struct result *result, bool is_known)
{
    const struct run_draws *draws = &result->run.draws;
    const bool exists =
        result_has_run(result) && draws->are_asked && (is_known || draws->count > 0);
    const struct {
        const char *key;
        struct run_range range;
    } ranges[] = {{"days", draws->days},
                  {"cost_usd", draws->cost_usd},
                  {"energy_kwh", draws->energy_kwh},
                  {"goodput", draws->goodput}};
    for (uint32_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        put_range(in, ranges[i].key, exists ? ranges[i].range.p10 : ABSENT,
                  exists ? ranges[i].range.p90 : ABSENT);
    }
    struct sheet *of = sheet_object(in, "of");
    sheet_number(of, "step", exists ? draws->of_step : ABSENT);
    sheet_number(of, "rates", exists ? draws->of_rates : ABSENT);
    sheet_number(of, "histories", exists ? draws->of_histories : ABSENT);
    sheet_number(in, "draws", exists ? (double)draws->count : ABSENT);
    sheet_number(in, "unfinished", exists ? draws->unfinished : ABSENT);
}

static void put_band(struct sheet *sheet, const struct result *result)
{
    static const struct band none = {.like = "", .reason = "it was not asked for"};
    static const struct field fields[] = {
        {"reason", FIELD_AT(struct band, reason), .is_said = true},
        {"class", FIELD_AT(struct band, like), .is_said = true},
        {"votes", FIELD_AT(struct band, votes)},
        {"sources", FIELD_AT(struct band, sources)},
        {"all_votes", FIELD_AT(struct band, all_votes)},
    };
    static const struct field runs[] = {
        {"id", FIELD_AT(struct band_run, id)},
        {"source", FIELD_AT(struct band_run, source)},
        {"measured_over_predicted", FIELD_AT(struct band_run, ratio)},
    };
    const struct band *band = result->band != NULL ? result->band : &none;
    const struct step_result *step = &result->step;
    const bool is_known = band->votes > 0;
    const double low = is_known ? band->low : ABSENT;
    const double high = is_known ? band->high : ABSENT;
    const double step_s = result_has_step(result) ? units_seconds(step->step_ns) : ABSENT;
    const double tokens = result_has_step(result) ? step->tokens_per_s_per_gpu : ABSENT;
    const double mfu = result_has_step(result) ? step->mfu : ABSENT;
    struct sheet *in = sheet_object(sheet, "band");
    sheet_bool(in, "is_known", is_known);
    sheet_members(in, FIELD_LIST(fields), band);
    put_range(in, "measured_over_predicted", low, high);
    put_range(in, "step_s", step_s * low, step_s * high);
    put_range(in, "tokens_per_s_per_gpu", tokens / high, tokens / low);
    put_range(in, "mfu", mfu / high, mfu / low);
    put_draws(in, result, is_known);
    sheet_texts(in, "outside", band->outside, band->outside_count);
    sheet_texts(in, "not_validated", band->unproven, band->unproven_count);
    sheet_number(in, "widening", is_known ? band->widening : ABSENT);
    sheet_number(in, "box_spread", is_known ? band->box_spread : ABSENT);
    sheet_list(in, "nearest", FIELD_LIST(runs), band->nearest, band->nearest_count,
               sizeof *band->nearest);
}

static void put_memory(struct sheet *in, const struct result *result)
{
    const struct memory_doubt *doubt = result->memory_doubt;
    put_group(in, result, GROUP_MEMORY);
    sheet_text(in, "verdict", result_memory_verdict(result));
    sheet_number(in, "peaks_that_would_fit", doubt != NULL ? doubt->share : ABSENT);
    sheet_integer(in, "peaks_alike", doubt != NULL ? doubt->peaks : 0);
}

/* All of them in seconds; beside those that hold time with their energy, a list. */
static void put_account_times(struct sheet *in, const struct result *result)
{
    for (uint32_t i = 0; i < ACCOUNT_COUNT_; i++) {
        char *key = arena_strdup(sheet_arena(in), account_names[i]);
        for (char *letter = key; *letter != '\0'; letter++) {
            if (*letter == ' ') {
                *letter = '_';
            }
        }
        put_REAL(in, key, result_has_run(result), result->run.account_s[i]);
    }
}

/* What the shares of the run's time are. */
static void put_definitions(struct sheet *in)
{
    for (uint32_t i = 0; i < goodput_count; i++) {
        sheet_text(in, goodputs[i].key, goodputs[i].words);
    }
}

void result_sheet_add(const struct result *result, struct sheet *sheet)
{
    put_group(sheet, result, GROUP_TITLE);
    put_group(sheet, result, GROUP_TOP);
    put_band(sheet, result);
    anchor_add(sheet, &result->scenario->anchor);
    house_add(&result->scenario->house, sheet);
    put_conventions(sheet, result);
    put_group(sheet, result, GROUP_FLOP);
    put_memory(sheet_object(sheet, "memory"), result);
    put_breakdown(sheet, result);
    put_path(sheet, result);
    struct sheet *run = sheet_object(sheet, "run");
    put_group(run, result, GROUP_RUN);
    put_account_times(sheet_object(run, "accounts"), result);
    put_definitions(sheet_object(run, "definitions"));
    put_FAILURE(run, "failures", result, result_has_failures(result));
    put_STAGE(run, "stages", result, result_has_run(result));
    put_group(sheet, result, GROUP_LINKS);
    put_lists(sheet, result);
    put_group(sheet_object(sheet, "engine"), result, GROUP_ENGINE);
}
