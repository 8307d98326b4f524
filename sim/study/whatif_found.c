/* Rows are ranked by insertion: there are a few dozen. The ladder tries a few of the best on each
 * rung, so that the whole takes at most WHATIF_RUNS_MAX predictions.
 */
#include "study/whatif_found.h"

#include "bands/limits.h"
#include "base/absent.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/units.h"
#include "input/job/price.h"
#include "input/scenario.h"
#include "run/duration.h"
#include "run/money.h"

#include <math.h>
#include <string.h>

enum { TRIED_ON_A_RUNG = 4, WHATIF_RUNS_MAX = 60 };

const char *const whatif_by_names[WHATIF_BY_COUNT_] = {"days", "usd", "kwh"};
static const char *const by_heads[WHATIF_BY_COUNT_] = {"days", "USD", "kWh"};

/* ---- what a row is worth --------------------------------------------------------------------- */

bool whatif_has_run(const struct whatif_found *found)
{
    return found->scenario->run_tokens > 0;
}

double whatif_value(const struct whatif_found *found, const struct store_row *row)
{
    if (!whatif_has_run(found)) {
        return 1e9 * row->step_s / row->tokens_per_step;
    }
    return found->by == WHATIF_BY_USD   ? row->cost_usd
           : found->by == WHATIF_BY_KWH ? row->energy_kwh
                                        : row->wall_clock_days;
}

double whatif_resolution(const struct whatif_found *found, const struct store_row *row,
                         const struct store_row *other)
{
    const bool is_of_days = whatif_has_run(found) && found->by == WHATIF_BY_DAYS;
    const double share = is_of_days ? duration_share_of_steps(other->account_s) : 1;
    return row->step_s < other->step_s || row->step_s > other->step_s ? share * found->resolution
                                                                      : 0;
}

/* Less than another has, by more than chance may make of it. */
static bool is_less(const struct whatif_found *found, const struct store_row *row,
                    const struct store_row *than)
{
    return whatif_value(found, row) <
           whatif_value(found, than) * exp(-whatif_resolution(found, row, than));
}

const char *whatif_head(const struct whatif_found *found)
{
    return whatif_has_run(found) ? by_heads[found->by] : "ms/M tokens";
}

const struct whatif_remedy *whatif_remedy_of(const struct whatif_found *found,
                                             const struct store_row *row)
{
    return &found->remedies[row->number - 1];
}

double whatif_worth(const struct whatif_found *found, const struct store_row *row)
{
    const struct whatif_remedy *remedy = whatif_remedy_of(found, row);
    const struct store_row *now = found->rows;
    return remedy->group == WHATIF_PURCHASE && remedy->each != NULL && whatif_has_run(found) &&
                   !is_absent(row->cost_usd) && now->cost_usd > 0
               ? units_difference(now->cost_usd, row->cost_usd) / (double)remedy->pieces
               : ABSENT;
}

uint32_t *whatif_order(const struct whatif_found *found, struct arena *arena, unsigned groups,
                       uint32_t *count)
{
    uint32_t *order = arena_array(arena, found->row_count, sizeof *order);
    *count = 0;
    for (uint32_t i = 1; i < found->row_count; i++) {
        const struct store_row *row = &found->rows[i];
        if (!store_row_is_good(row) || (1u << whatif_remedy_of(found, row)->group & groups) == 0) {
            continue;
        }
        uint32_t at = (*count)++;
        while (at > 0 &&
               whatif_value(found, row) < whatif_value(found, &found->rows[order[at - 1]])) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
    return order;
}

const struct doc_node *whatif_whole(const struct whatif_found *found)
{
    return found->scenario->document;
}

double whatif_saves(const struct whatif_found *found, const struct store_row *row)
{
    return store_row_is_good(found->rows) && store_row_is_good(row)
               ? units_difference(1, whatif_value(found, row) / whatif_value(found, found->rows))
               : ABSENT;
}

static const double IDLE = 0.002; /* of the whole: what saves less is no line */

struct whatif_list whatif_listed(const struct whatif_found *found, struct arena *arena)
{
    uint32_t *shown = arena_array(arena, found->row_count, sizeof *shown);
    uint32_t *idle = arena_array(arena, found->row_count, sizeof *idle);
    struct whatif_list list = {.shown = shown, .idle = idle};
    static const enum whatif_group groups[] = {WHATIF_FREE, WHATIF_PURCHASE, WHATIF_IDEAL};
    for (uint32_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        uint32_t count;
        const uint32_t *order = whatif_order(found, arena, 1u << groups[g], &count);
        for (uint32_t i = 0; i < count; i++) {
            const double saves = whatif_saves(found, &found->rows[order[i]]);
            if (!is_absent(saves) && fabs(saves) < IDLE) {
                idle[list.idle_count++] = order[i];
            } else {
                shown[list.count++] = order[i];
            }
        }
    }
    return list;
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

static bool goes_with_all(const struct whatif_found *found, uint32_t remedy)
{
    for (uint32_t i = 0; i < found->rung_count; i++) {
        if (excludes(&found->remedies[remedy], &found->remedies[found->rungs[i].remedy])) {
            return false;
        }
    }
    return true;
}

static bool simulate(const struct whatif_climb *climb, const struct whatif_question *question,
                     struct store_row **rows, uint32_t *row_count)
{
    struct study study;
    return whatif_study(climb->arena, question, climb->base, &study, climb->diag) &&
           climb->run(climb->context, &study, rows, row_count);
}

/* Of the best that are left, with all rungs below. The row of the best of them; NULL: nothing
 * helps any more, or the store failed. */
static const struct store_row *try_rung(const struct whatif_climb *climb,
                                        struct whatif_found *found, const uint32_t *order,
                                        uint32_t count, uint32_t *remedy)
{
    uint32_t with[WHATIF_RUNGS_MAX];
    uint32_t asked[TRIED_ON_A_RUNG];
    struct whatif_question question = {.document = found->document,
                                       .remedies = found->remedies,
                                       .asked = asked,
                                       .with = with,
                                       .with_count = found->rung_count};
    for (uint32_t i = 0; i < found->rung_count; i++) {
        with[i] = found->rungs[i].remedy;
    }
    for (uint32_t i = 0; i < count && question.asked_count < TRIED_ON_A_RUNG; i++) {
        const uint32_t candidate = (uint32_t)found->rows[order[i]].number - 1;
        if (goes_with_all(found, candidate)) {
            asked[question.asked_count++] = candidate;
        }
    }
    struct store_row *rows = NULL;
    uint32_t row_count = 0;
    if (question.asked_count == 0 || !simulate(climb, &question, &rows, &row_count)) {
        return NULL;
    }
    found->runs += row_count;
    const struct store_row *below = &found->rungs[found->rung_count - 1].row;
    const struct store_row *best = NULL;
    for (uint32_t i = 0; i < row_count; i++) {
        if (store_row_is_good(&rows[i]) && is_less(found, &rows[i], below) &&
            (best == NULL || whatif_value(found, &rows[i]) < whatif_value(found, best))) {
            best = &rows[i];
            *remedy = asked[best->number];
        }
    }
    return best;
}

void whatif_climb(const struct whatif_climb *climb, struct whatif_found *found)
{
    found->runs = found->row_count;
    uint32_t count;
    const uint32_t *order =
        whatif_order(found, climb->arena, 1u << WHATIF_FREE | 1u << WHATIF_PURCHASE, &count);
    const struct store_row *now = found->rows;
    if (count == 0 || !store_row_is_good(now)) {
        return;
    }
    const struct store_row *first = &now[order[0]];
    if (!is_less(found, first, now)) {
        return;
    }
    found->rungs[found->rung_count++] = (struct whatif_rung){(uint32_t)first->number - 1, *first};
    while (found->rung_count < WHATIF_RUNGS_MAX) {
        uint32_t remedy = 0;
        const struct store_row *row = try_rung(climb, found, order, count, &remedy);
        if (row == NULL) {
            return;
        }
        found->rungs[found->rung_count++] = (struct whatif_rung){remedy, *row};
    }
    sim_assert(found->runs <= WHATIF_RUNS_MAX);
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* An hour that draws something, and storage: a run of any length. */
static bool costs_something(const struct scenario *scenario)
{
    const struct price *price = &scenario->price;
    const struct money_use hour = {.wall_s = 3600, .held_s = 3600, .energy_kwh = 1};
    const struct holding least = holding_of(scenario, NULL);
    return money_cost_usd(&least, &hour, NULL) > 0 || price->storage_usd_per_gb_month > 0 ||
           price->moved_usd_per_tb > 0;
}

static bool check_prices(const struct whatif_found *found, struct diag *diag)
{
    if (found->by != WHATIF_BY_DAYS && !whatif_has_run(found)) {
        diag_add(diag, DIAG_INPUT, NULL, "--by %s needs a run: nothing says for how many tokens",
                 whatif_by_names[found->by]);
        diag_help(diag, "write run: {tokens: 1T}, or --set run.tokens=1T");
        return false;
    }
    if (found->by == WHATIF_BY_USD && !money_is_priced(found->scenario)) {
        diag_add(diag, DIAG_INPUT, NULL,
                 "--by usd needs a price: neither scenario nor GPU has one");
        diag_help(diag, "write price: {gpu_hour: 2.00 USD}");
        return false;
    }
    if (found->by == WHATIF_BY_USD && !costs_something(found->scenario)) {
        const struct doc_node *node = doc_find(found->scenario->document, "price.gpu_hour");
        diag_add(diag, DIAG_INPUT, node != NULL ? &node->place : NULL,
                 "--by usd compares nothing: the run costs 0 USD, whatever it takes");
        diag_help(diag, "write what a GPU-hour is worth to you, such as 2.00 USD, or "
                        "price.electricity; or ask --by days or kwh");
        return false;
    }
    return true;
}

/* What cannot be read is told where verdicts are (study/against). */
static double told_from_none(struct arena *arena, const struct scenario *scenario,
                             const struct catalogue *catalogue)
{
    struct limits limits;
    const char *unheard;
    (void)!limits_load(arena, catalogue, &limits, &unheard, diag_new(arena));
    return log1p(limits_resolution(&limits, scenario));
}

/* Rows are held against the scenario as it is. */
static void note_required(const struct doc_node *document, struct diag *diag)
{
    const struct doc_node *required = doc_find(document, "require");
    if (required != NULL) {
        diag_add(diag, DIAG_NOTE, &required->key_place, "whatif does not look at 'require'");
        diag_help(diag, "`stoker sweep` and `stoker compare` hold points against it");
    }
}

bool whatif_ask(struct arena *arena, const struct whatif_asked *asked, struct whatif_found *found,
                struct study *study, struct diag *diag)
{
    const struct study_base *base = asked->base;
    found->document = asked->document;
    found->scenario = asked->scenario;
    found->software = asked->scenario->software.name;
    if (!check_prices(found, diag)) {
        return false;
    }
    note_required(asked->document, diag);
    found->resolution = told_from_none(arena, asked->scenario, base->catalogue);
    found->remedies = whatif_remedies(arena, asked->scenario, ~(1u << WHATIF_JOB), &found->count);
    if (!base->any_software) {
        found->count = whatif_obey(arena, asked, found->remedies, found->count, &found->lacking);
    }
    whatif_price(arena, asked, found->remedies, found->count);
    if (whatif_layout(arena, asked->document, base, asked->scenario,
                      &found->remedies[found->count])) {
        found->count++;
    }
    uint32_t *all = arena_array(arena, found->count + 1u, sizeof *all);
    for (uint32_t i = 0; i < found->count; i++) {
        all[i] = i;
    }
    const struct whatif_question question = {.document = asked->document,
                                             .remedies = found->remedies,
                                             .has_now = true,
                                             .asked = all,
                                             .asked_count = found->count};
    return whatif_study(arena, &question, base, study, diag);
}
