/* The command `stoker whatif`: what would help this run most, and why. Each question of
 * study/whatif is simulated by itself, ranked, and printed with the --set that asks it.
 *
 * Gains neither add nor subtract: two remedies may hide one another, or one may be worth nothing
 * until another is there. So the ladder simulates them together: the best, then of the next best
 * ones the best given that, and so on. Only some of the best are tried on each rung, so that the
 * whole takes at most WHATIF_RUNS_MAX predictions.
 *
 * What differs by less than two steps can be told apart (bands/limits) is no gain, no rung, no loss
 * of an ideal, and no slope.
 */
#include "cli/study/session.h"
#include "input/job/price.h"
#include "input/scenario.h"
#include "report/numbers.h"
#include "report/points.h"
#include "run/duration.h"
#include "run/money.h"
#include "cli/anchor.h"
#include "report/against_sheet.h"
#include "study/whatif.h"
#include "train/critical/critical.h"
#include "train/step.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/units.h"
#include "input/scenario_load.h"
#include "bands/limits.h"
#include "study/search/search_auto.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WHATIF_SCHEMA "stoker.whatif/1"

enum { RUNGS_MAX = 5, TRIED_ON_A_RUNG = 4, WHATIF_RUNS_MAX = 60 };

enum by { BY_DAYS, BY_USD, BY_KWH, BY_COUNT_ };
static const char *const by_names[BY_COUNT_] = {"days", "usd", "kwh"};
static const char *const by_heads[BY_COUNT_] = {"days", "USD", "kWh"};

/* One rung of the ladder. */
struct rung {
    uint32_t remedy;
    struct store_row row;
};

/* Begins with the session, so that shared parsers find it. */
struct asker {
    struct session session;
    uint32_t by;
    const struct doc_node *document;
    const struct scenario *scenario;
    struct study_base base;
    struct whatif_remedy *remedies;
    const char *lacking; /* what was not asked, since the software has it not; NULL: nothing */
    uint32_t count;
    struct rung rungs[RUNGS_MAX];
    uint32_t rung_count, runs;
    double resolution;             /* ln of a ratio that is told from none; 0: any */
    const struct against *against; /* [row_count] */
};

static const struct command_option own_options[] = {
    {"by", 0, "days|usd|kwh",
     "What is to be least (default: days; of a step without a run its time)",
     OPTION_CHOICE(struct asker, by, by_names, BY_COUNT_)},
    {0},
};

/* ---- what a row is worth --------------------------------------------------------------------- */

static bool has_run(const struct asker *asker)
{
    return asker->scenario->run_tokens > 0;
}

/* What is to be least, for the same tokens: of the run, or of a million tokens in ms. */
static double value_of(const struct asker *asker, const struct store_row *row)
{
    if (!has_run(asker)) {
        return 1e9 * row->step_s / row->tokens_per_step;
    }
    return asker->by == BY_USD   ? row->cost_usd
           : asker->by == BY_KWH ? row->energy_kwh
                                 : row->wall_clock_days;
}

/* ln of a ratio of two rows that is told from none. What steps of the same length differ in is no
 * matter of who meets whom; of days it is that of the part that hangs on steps. */
static double resolution_between(const struct asker *asker, const struct store_row *row,
                                 const struct store_row *other)
{
    const bool is_of_days = has_run(asker) && asker->by == BY_DAYS;
    const double share = is_of_days ? duration_share_of_steps(other->account_s) : 1;
    return row->step_s < other->step_s || row->step_s > other->step_s ? share * asker->resolution
                                                                      : 0;
}

/* Less than another has, by more than chance may make of it. */
static bool is_less(const struct asker *asker, const struct store_row *row,
                    const struct store_row *than)
{
    return value_of(asker, row) <
           value_of(asker, than) * exp(-resolution_between(asker, row, than));
}

static const char *head_of(const struct asker *asker)
{
    return has_run(asker) ? by_heads[asker->by] : "ms/M tokens";
}

static const struct whatif_remedy *remedy_of(const struct asker *asker, const struct store_row *row)
{
    return &asker->remedies[row->number - 1];
}

/* Of the piece that is bought: what the run costs less, in USD; ABSENT: nothing has a price. */
static double worth_of(const struct asker *asker, const struct store_row *row)
{
    const struct whatif_remedy *remedy = remedy_of(asker, row);
    const struct store_row *now = asker->session.rows;
    return remedy->group == WHATIF_PURCHASE && remedy->each != NULL && has_run(asker) &&
                   !is_absent(row->cost_usd) && now->cost_usd > 0
               ? units_difference(now->cost_usd, row->cost_usd) / (double)remedy->pieces
               : ABSENT;
}

/* Rows that have a result, of some groups, the best first. */
static uint32_t *order_of(const struct asker *asker, unsigned groups, uint32_t *count)
{
    const struct session *session = &asker->session;
    uint32_t *order = arena_array(session->options.cli->arena, session->row_count, sizeof *order);
    *count = 0;
    for (uint32_t i = 1; i < session->row_count; i++) {
        const struct store_row *row = &session->rows[i];
        if (!store_row_is_good(row) || (1u << remedy_of(asker, row)->group & groups) == 0) {
            continue;
        }
        uint32_t at = (*count)++;
        while (at > 0 && value_of(asker, row) < value_of(asker, &session->rows[order[at - 1]])) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
    return order;
}

/* ---- the ladder ------------------------------------------------------------------------------ */

static bool assigns_same_key(const char *one, const char *other)
{
    const size_t length = strcspn(one, "=");
    return strncmp(one, other, length + 1) == 0 && strcmp(one, other) != 0;
}

/* They say different things of one key. */
static bool excludes(const struct whatif_remedy *one, const struct whatif_remedy *other)
{
    for (uint32_t i = 0; i < one->set_count; i++) {
        for (uint32_t k = 0; k < other->set_count; k++) {
            if (assigns_same_key(one->sets[i], other->sets[k])) {
                return true;
            }
        }
    }
    return one == other;
}

static bool goes_with_all(const struct asker *asker, uint32_t remedy)
{
    for (uint32_t i = 0; i < asker->rung_count; i++) {
        if (excludes(&asker->remedies[remedy], &asker->remedies[asker->rungs[i].remedy])) {
            return false;
        }
    }
    return true;
}

static bool simulate(struct asker *asker, const struct whatif_question *question,
                     struct store_row **rows, uint32_t *row_count)
{
    struct session *session = &asker->session;
    struct study study;
    return whatif_study(session->options.cli->arena, question, &asker->base, &study,
                        session->options.cli->diag) &&
           session_run_more(session, &study, rows, row_count);
}

/* Of the best that are left, with all rungs below. The row of the best of them; NULL: nothing
 * helps any more, or the store failed. */
static const struct store_row *try_rung(struct asker *asker, const uint32_t *order, uint32_t count,
                                        uint32_t *remedy)
{
    uint32_t with[RUNGS_MAX];
    uint32_t asked[TRIED_ON_A_RUNG];
    struct whatif_question question = {.document = asker->document,
                                       .remedies = asker->remedies,
                                       .asked = asked,
                                       .with = with,
                                       .with_count = asker->rung_count};
    for (uint32_t i = 0; i < asker->rung_count; i++) {
        with[i] = asker->rungs[i].remedy;
    }
    for (uint32_t i = 0; i < count && question.asked_count < TRIED_ON_A_RUNG; i++) {
        const uint32_t candidate = (uint32_t)asker->session.rows[order[i]].number - 1;
        if (goes_with_all(asker, candidate)) {
            asked[question.asked_count++] = candidate;
        }
    }
    struct store_row *rows = NULL;
    uint32_t row_count = 0;
    if (question.asked_count == 0 || !simulate(asker, &question, &rows, &row_count)) {
        return NULL;
    }
    asker->runs += row_count;
    const struct store_row *below = &asker->rungs[asker->rung_count - 1].row;
    const struct store_row *best = NULL;
    for (uint32_t i = 0; i < row_count; i++) {
        if (store_row_is_good(&rows[i]) && is_less(asker, &rows[i], below) &&
            (best == NULL || value_of(asker, &rows[i]) < value_of(asker, best))) {
            best = &rows[i];
            *remedy = asked[best->number];
        }
    }
    return best;
}

static void climb(struct asker *asker)
{
    uint32_t count;
    const uint32_t *order = order_of(asker, 1u << WHATIF_FREE | 1u << WHATIF_PURCHASE, &count);
    const struct store_row *now = asker->session.rows;
    if (count == 0 || !store_row_is_good(now)) {
        return;
    }
    const struct store_row *first = &now[order[0]];
    if (!is_less(asker, first, now)) {
        return;
    }
    asker->rungs[asker->rung_count++] = (struct rung){(uint32_t)first->number - 1, *first};
    while (asker->rung_count < RUNGS_MAX) {
        uint32_t remedy = 0;
        const struct store_row *row = try_rung(asker, order, count, &remedy);
        if (row == NULL) {
            return;
        }
        asker->rungs[asker->rung_count++] = (struct rung){remedy, *row};
    }
}

/* ---- tables --------------------------------------------------------------------------------- */

static const char *sets_text(struct arena *arena, const struct whatif_remedy *remedy)
{
    const char *text = "";
    for (uint32_t i = 0; i < remedy->set_count; i++) {
        const char *set = remedy->sets[i];
        const bool is_quoted = strpbrk(set, " []") != NULL;
        text = arena_printf(arena, "%s%s--set %s%s%s", text, i > 0 ? " " : "",
                            is_quoted ? "\"" : "", set, is_quoted ? "\"" : "");
    }
    return text;
}

static struct sheet *group_table(const struct asker *asker, const char *title, bool has_worth,
                                 struct sheet *sheet)
{
    const struct field fields[] = {
        {NULL, FIELD_LEFT(title)},
        {NULL, FIELD_RIGHT(head_of(asker), "%.4g", 1)},
        {NULL, FIELD_RIGHT("saves %", "%.1f", 100)},
        {NULL, FIELD_LEFT("which is")},
        {NULL, FIELD_RIGHT(has_worth ? "worth USD in this run" : NULL, "%.0f", 1)},
        {NULL, FIELD_LEFT(has_worth ? "each" : NULL)},
        {NULL, FIELD_LEFT("then bound by")},
        {NULL, FIELD_LEFT("with")},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    return table;
}

static void add_group(const struct asker *asker, enum whatif_group group, const char *title,
                      const struct against *against, struct sheet *sheet)
{
    const struct session *session = &asker->session;
    struct arena *arena = session->options.cli->arena;
    const bool has_worth = group == WHATIF_PURCHASE && session->rows[0].cost_usd > 0;
    struct sheet *table = group_table(asker, title, has_worth, sheet);
    uint32_t count;
    const uint32_t *order = order_of(asker, 1u << group, &count);
    const bool has_now = store_row_is_good(session->rows);
    for (uint32_t i = 0; i < count; i++) {
        const struct store_row *row = &session->rows[order[i]];
        const struct whatif_remedy *remedy = remedy_of(asker, row);
        const double value = value_of(asker, row);
        sheet_text(table, NULL, remedy->name);
        sheet_number(table, NULL, value);
        sheet_number(table, NULL,
                     has_now ? units_difference(1, value / value_of(asker, session->rows))
                             : ABSENT);
        sheet_text(table, NULL, against[order[i]].verdict);
        sheet_number(table, NULL, worth_of(asker, row));
        sheet_text(table, NULL, remedy->each);
        sheet_text(table, NULL, row->bound_by);
        sheet_text(table, NULL, sets_text(arena, remedy));
    }
}

#define BELOW_RESOLUTION "below resolution"

/* Between two values that lie so many units apart; ABSENT: they are not told apart. */
static double slope_of(double more, double less, double units, double resolution)
{
    const bool is_below = resolution > 0 && fabs(log(more / less)) <= resolution;
    return is_below ? ABSENT : units_difference(more, less) / units;
}

/* Three digits with their sign: "-12.3 k", "+0.0451"; "0", also of what has more zeros. */
static const char *signed_usd(struct arena *arena, double usd)
{
    static const double WHOLE = 99.95; /* from here on number_short has three digits */
    static const double LEAST = 1e-4;  /* below, %g has an exponent */
    if (fabs(usd) >= WHOLE) {
        return arena_printf(arena, "%c%s", usd < 0 ? '-' : '+', number_short(arena, fabs(usd)));
    }
    return fabs(usd) >= LEAST ? arena_printf(arena, "%+.3g", usd) : "0";
}

static void add_usd_slope(struct sheet *table, double usd)
{
    if (is_absent(usd)) {
        sheet_null_as(table, NULL, BELOW_RESOLUTION);
    } else {
        sheet_number_as(table, NULL, usd, signed_usd(sheet_arena(table), usd));
    }
}

/* Of two rows, 5 % better and worse, the slope between them. */
static void add_margins(const struct asker *asker, struct sheet *sheet)
{
    const struct session *session = &asker->session;
    const struct field fields[] = {
        {"resource", FIELD_LEFT("sensitivity to")},
        {"unit", FIELD_LEFT("of which")},
        {"value_per_unit",
         FIELD_RIGHT(arena_printf(session->options.cli->arena, "changes %s", head_of(asker)),
                     "%+.3g", 1)},
        {"usd_per_unit", FIELD_COUNT(session->rows[0].cost_usd > 0 ? "USD" : NULL)},
        {"then_bound_by", FIELD_LEFT("then bound by")},
    };
    struct sheet *table = sheet_table(sheet, "margins", FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 1; i + 1 < session->row_count; i++) {
        const struct store_row *more = &session->rows[i];
        const struct store_row *less = &session->rows[i + 1];
        const struct whatif_remedy *remedy = remedy_of(asker, more);
        if (remedy->group != WHATIF_MARGIN || remedy->units < 0 || !store_row_is_good(more) ||
            !store_row_is_good(less)) {
            continue;
        }
        const double units = remedy->units - remedy_of(asker, less)->units;
        sheet_text(table, NULL, remedy->resource);
        sheet_text(table, NULL, remedy->unit);
        const double resolution = resolution_between(asker, more, less);
        const double slope =
            slope_of(value_of(asker, more), value_of(asker, less), units, resolution);
        if (is_absent(slope)) {
            sheet_null_as(table, NULL, BELOW_RESOLUTION);
        } else {
            sheet_number(table, NULL, slope);
        }
        if (has_run(asker) && !is_absent(more->cost_usd)) {
            add_usd_slope(table, slope_of(more->cost_usd, less->cost_usd, units, resolution));
        } else {
            sheet_number(table, NULL, ABSENT);
        }
        sheet_text(table, NULL, more->bound_by);
    }
}

static void add_ladder(const struct asker *asker, struct sheet *sheet)
{
    struct arena *arena = asker->session.options.cli->arena;
    const struct field fields[] = {
        {NULL, FIELD_LEFT("cumulative")},
        {NULL, FIELD_RIGHT(head_of(asker), "%.4g", 1)},
        {NULL, FIELD_RIGHT("saves %", "%.1f", 100)},
        {NULL, FIELD_LEFT("then bound by")},
        {NULL, FIELD_LEFT("with, added")},
    };
    struct sheet *list = sheet_array(sheet, "ladder");
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < asker->rung_count; i++) {
        const struct rung *rung = &asker->rungs[i];
        const struct whatif_remedy *remedy = &asker->remedies[rung->remedy];
        const double value = value_of(asker, &rung->row);
        const double saves = units_difference(1, value / value_of(asker, asker->session.rows));
        struct sheet *object = sheet_object(list, NULL);
        sheet_text(object, "name", remedy->name);
        sheet_texts(object, "set", remedy->sets, remedy->set_count);
        sheet_number(object, "value", value);
        sheet_number(object, "saves", saves);
        sheet_number(object, "step_time_s", rung->row.step_s);
        sheet_text(table, NULL, arena_printf(arena, "%" PRIu32 ". %s", i + 1, remedy->name));
        sheet_number(table, NULL, value);
        sheet_number(table, NULL, saves);
        sheet_text(table, NULL, rung->row.bound_by);
        sheet_text(table, NULL, sets_text(arena, remedy));
    }
}

static void add_rows(const struct asker *asker, const struct against *against, struct sheet *sheet)
{
    const struct session *session = &asker->session;
    struct sheet *rows = sheet_array(sheet, "rows");
    const bool has_now = store_row_is_good(session->rows);
    for (uint32_t i = 1; i < session->row_count; i++) {
        const struct store_row *row = &session->rows[i];
        const struct whatif_remedy *remedy = remedy_of(asker, row);
        const double value = store_row_is_good(row) ? value_of(asker, row) : ABSENT;
        struct sheet *object = points_add(rows, row);
        sheet_text(object, "group", whatif_group_names[remedy->group]);
        sheet_texts(object, "set", remedy->sets, remedy->set_count);
        sheet_number(object, "value", value);
        sheet_number(object, "saves",
                     has_now && !is_absent(value)
                         ? units_difference(1, value / value_of(asker, session->rows))
                         : ABSENT);
        sheet_text(object, "piece", remedy->each);
        sheet_number(object, "worth_usd_per_piece",
                     store_row_is_good(row) ? worth_of(asker, row) : ABSENT);
        against_add(object, &against[i]);
    }
}

/* Those that lack what the scenario as it is lacks are only counted. */
static void say_left_out(const struct asker *asker, struct sheet *sheet)
{
    const struct session *session = &asker->session;
    struct arena *arena = session->options.cli->arena;
    const char *now = points_reason(arena, &session->rows[0]);
    uint32_t said = 0;
    uint32_t alike = 0;
    for (uint32_t i = 1; i < session->row_count; i++) {
        const struct store_row *row = &session->rows[i];
        const char *reason = points_reason(arena, row);
        if (store_row_is_good(row)) {
            continue;
        }
        if (strcmp(reason, now) == 0) {
            alike++;
            continue;
        }
        sheet_say(sheet, "%s  %s: %s\n", said++ == 0 ? "\ninfeasible\n" : "",
                  remedy_of(asker, row)->name, reason);
    }
    if (alike > 0) {
        sheet_say(sheet, "%s%" PRIu32 " others lack the same\n", said == 0 ? "\n" : "  ", alike);
    }
}

/* An ideal that makes a step longer, and where. What comes sooner meets others that it missed. */
static void say_slower(const struct asker *asker, struct sheet *sheet)
{
    const struct session *session = &asker->session;
    const struct store_row *now = session->rows;
    for (uint32_t i = 1; i < session->row_count && store_row_is_good(now); i++) {
        const struct store_row *row = &session->rows[i];
        if (!store_row_is_good(row) || remedy_of(asker, row)->group != WHATIF_IDEAL ||
            row->step_s <= now->step_s * exp(asker->resolution)) {
            continue;
        }
        uint32_t most = 0;
        for (uint32_t c = 1; c < CAUSE_COUNT_; c++) {
            if (row->path_s[c] - now->path_s[c] > row->path_s[most] - now->path_s[most]) {
                most = c;
            }
        }
        sheet_say(sheet,
                  "\n%s makes the step %.2g %% longer (%s %+.3g s): what comes sooner meets others "
                  "on its links, or slows other kernels\n",
                  remedy_of(asker, row)->name, 100 * (row->step_s / now->step_s - 1),
                  critical_cause_title((enum cause)most), row->path_s[most] - now->path_s[most]);
    }
}

/* Where the step hangs: its critical path. */
static void say_now(const struct asker *asker, struct sheet *sheet)
{
    const struct session *session = &asker->session;
    struct arena *arena = session->options.cli->arena;
    const struct store_row *now = session->rows;
    sheet_text(sheet, "by", has_run(asker) ? by_names[asker->by] : "step");
    points_add(sheet_array(sheet, "base"), now);
    if (!store_row_is_good(now)) {
        sheet_text(sheet, "critical_bound_by", NULL);
        sheet_say(sheet, "as it is it has no result: %s\n", points_reason(arena, now));
        return;
    }
    sheet_text(sheet, "critical_bound_by", now->bound_by);
    if (has_run(asker)) {
        sheet_say(sheet, "as it is: %.4g days, %s USD, %s kWh; step %.4g s\n", now->wall_clock_days,
                  is_absent(now->cost_usd) ? "no" : number_short(arena, now->cost_usd),
                  number_short(arena, now->energy_kwh), now->step_s);
    } else {
        sheet_say(sheet, "as it is: step %.4g s of %s tokens\n", now->step_s,
                  number_grouped(arena, now->tokens_per_step));
    }
    sheet_say(sheet, "the step hangs on %s of the critical path\n", now->bound_by);
}

/* What its picture shows: rows with the bands of their ratios, and the ladder. */
static void give_series(struct asker *asker)
{
    struct session *session = &asker->session;
    struct arena *arena = session->options.cli->arena;
    struct plot_series *series = arena_alloc(arena, sizeof *series);
    double *factors = arena_array(arena, session->row_count, sizeof *factors);
    for (uint32_t i = 0; i < session->row_count; i++) {
        factors[i] = asker->against[i].factor;
    }
    struct store_row *rungs = arena_array(arena, RUNGS_MAX, sizeof *rungs);
    for (uint32_t i = 0; i < asker->rung_count; i++) {
        rungs[i] = asker->rungs[i].row;
    }
    *series = (struct plot_series){.title = session->study.title,
                                   .rows = session->rows,
                                   .count = session->row_count,
                                   .factors = factors,
                                   .rungs = rungs,
                                   .rung_count = asker->rung_count};
    session->series = series;
}

static void prepare(struct session *session)
{
    struct asker *asker = (struct asker *)session;
    asker->runs = session->row_count;
    climb(asker);
    sim_assert(asker->runs <= WHATIF_RUNS_MAX);
    asker->against = session_against(session, &session->rows[0]);
    give_series(asker);
}

static void add(struct session *session, struct sheet *sheet)
{
    const struct asker *asker = (struct asker *)session;
    const struct against *against = asker->against;
    say_now(asker, sheet);
    add_rows(asker, against, sheet);
    add_group(asker, WHATIF_FREE, "free", against, sheet);
    add_group(asker, WHATIF_PURCHASE, "to buy", against, sheet);
    add_group(asker, WHATIF_IDEAL, "upper bound", against, sheet);
    say_slower(asker, sheet);
    add_margins(asker, sheet);
    add_ladder(asker, sheet);
    say_left_out(asker, sheet);
    if (asker->lacking != NULL) {
        sheet_say(sheet, "not asked, since %s has not what it takes (--any-software): %s\n",
                  asker->scenario->software.name, asker->lacking);
    }
    sheet_text(sheet, "lacking", asker->lacking);
    sheet_integer(sheet, "runs", asker->runs);
    if (against_are_known(against, session->row_count) || asker->resolution > 0) {
        against_say(sheet, against, session->row_count);
    }
}

/* ---- the command ---------------------------------------------------------------------------- */

/* An hour that draws something, and storage: a run of any length. */
static bool costs_something(const struct scenario *scenario)
{
    const struct price *price = &scenario->price;
    const struct money_use hour = {.wall_s = 3600, .held_s = 3600, .energy_kwh = 1};
    const struct holding least = holding_of(scenario, NULL);
    return money_cost_usd(&least, &hour, NULL) > 0 || price->storage_usd_per_gb_month > 0 ||
           price->moved_usd_per_tb > 0;
}

static bool check_prices(const struct asker *asker)
{
    struct diag *diag = asker->session.options.cli->diag;
    if (asker->by != BY_DAYS && !has_run(asker)) {
        diag_add(diag, DIAG_INPUT, NULL, "--by %s needs a run: nothing says for how many tokens",
                 by_names[asker->by]);
        diag_help(diag, "write run: {tokens: 1T}, or --set run.tokens=1T");
        return false;
    }
    if (asker->by == BY_USD && !money_is_priced(asker->scenario)) {
        diag_add(diag, DIAG_INPUT, NULL,
                 "--by usd needs a price: neither scenario nor GPU has one");
        diag_help(diag, "write price: {gpu_hour: 2.00 USD}");
        return false;
    }
    if (asker->by == BY_USD && !costs_something(asker->scenario)) {
        const struct doc_node *node = doc_find(asker->scenario->document, "price.gpu_hour");
        diag_add(diag, DIAG_INPUT, node != NULL ? &node->place : NULL,
                 "--by usd compares nothing: the run costs 0 USD, whatever it takes");
        diag_help(diag, "write what a GPU-hour is worth to you, such as 2.00 USD, or "
                        "price.electricity; or ask --by days or kwh");
        return false;
    }
    return true;
}

/* What cannot be read is told where verdicts are (cli/study/against). */
static double resolution_of(const struct asker *asker)
{
    struct arena *arena = asker->session.options.cli->arena;
    struct limits limits;
    const char *unheard;
    (void)!limits_load(arena, &asker->session.catalogue, &limits, &unheard, diag_new(arena));
    return log1p(limits_resolution(&limits, asker->scenario));
}

/* Rows are held against the scenario as it is. */
static void note_required(const struct asker *asker)
{
    const struct doc_node *required = doc_find(asker->document, "require");
    if (required != NULL) {
        struct diag *diag = asker->session.options.cli->diag;
        diag_add(diag, DIAG_NOTE, &required->key_place, "whatif does not look at 'require'");
        diag_help(diag, "`stoker sweep` and `stoker compare` hold points against it");
    }
}

static bool expand(struct session *session)
{
    struct asker *asker = (struct asker *)session;
    const struct options *options = &session->options;
    struct cli *cli = options->cli;
    session->catalogue = options_catalogue(options);
    asker->base = options_study_base(options, &session->catalogue);
    asker->document = anchor_load_document(options, options->arguments.items[0]);
    if (asker->document == NULL) {
        return false;
    }
    asker->base.jobs = (uint32_t)session->jobs;
    struct auto_layout found;
    const struct auto_hook hook = search_auto_hook(&asker->base);
    asker->scenario = auto_layout_resolve(cli->arena, asker->document, &hook, &found, cli->diag);
    if (asker->scenario == NULL || !check_prices(asker)) {
        return false;
    }
    note_required(asker);
    asker->resolution = resolution_of(asker);
    asker->remedies = whatif_remedies(cli->arena, asker->scenario, &asker->count);
    if (!options->any_software) {
        const struct whatif_asked asked = {asker->document, &asker->base, asker->scenario};
        asker->count =
            whatif_obey(cli->arena, &asked, asker->remedies, asker->count, &asker->lacking);
    }
    if (whatif_layout(cli->arena, asker->document, &asker->base, asker->scenario,
                      &asker->remedies[asker->count])) {
        asker->count++;
    }
    uint32_t *all = arena_array(cli->arena, asker->count + 1u, sizeof *all);
    for (uint32_t i = 0; i < asker->count; i++) {
        all[i] = i;
    }
    const struct whatif_question question = {.document = asker->document,
                                             .remedies = asker->remedies,
                                             .has_now = true,
                                             .asked = all,
                                             .asked_count = asker->count};
    return whatif_study(cli->arena, &question, &asker->base, &session->study, cli->diag);
}

static int run(struct options *options)
{
    static const struct session_command command = {WHATIF_SCHEMA, expand, prepare, add};
    return session_main((struct session *)options, &command);
}

const struct command command_whatif = {
    .name = "whatif",
    .summary = "what would help a scenario most, each row simulated, with its --set",
    .arguments = "FILE",
    .about =
        "Simulates a scenario with one change at a time, for the same tokens: what is free "
        "(routing, checkpoints, recomputation, precision, microbatch, layout, and the best of the "
        "usual layouts, found by a search), what can be bought "
        "(twice each link, no oversubscription, faster storage, slow GPUs replaced), and ideals, "
        "which are upper bounds; then 5 % of each link up and down, and a ladder: the best, "
        "then the best given that. Each row has the --set that asks it."
        "\vExample: stoker whatif scenarios/quickstart.yaml --by usd\n"
        "Exit status 4: nothing of it fits; 5: some points failed.",
    .options = {options_prediction, options_anchor, options_store, options_no_store,
                session_options, own_options, options_table, options_general},
    .arguments_min = 1,
    .arguments_max = 1,
    .wanted = "a scenario file",
    .input_size = sizeof(struct asker),
    .run = run,
};
