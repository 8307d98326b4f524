/* Relations are looked through until a round finds nothing: nine of them, and sixteen quantities.
 */
#include "study/budget.h"

#include "base/absent.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define TITLE(id, option, argument, title, ...) title,
const char *const budget_titles[BUDGET_QUANTITIES] = {BUDGET_QUANTITY_LIST(TITLE)};
#define DIMENSION(id, option, argument, title, dimension, ...) dimension,
const enum dimension budget_dimensions[BUDGET_QUANTITIES] = {BUDGET_QUANTITY_LIST(DIMENSION)};

/* ---- relations ------------------------------------------------------------------------------ */

static const struct budget_relation relations[] = {
    {BUDGET_TOKEN_FLOP, BUDGET_PARAMETERS, BUDGET_QUANTITIES, BUDGET_FLOP_PER_PARAMETER},
    {BUDGET_FLOP, BUDGET_TOKEN_FLOP, BUDGET_TOKENS, 1},
    {BUDGET_RATE, BUDGET_PEAK, BUDGET_MFU, 1},
    {BUDGET_FLOP, BUDGET_RATE, BUDGET_GPU_HOURS, SECONDS_PER_HOUR},
    {BUDGET_GPU_HOURS, BUDGET_GPUS, BUDGET_TIME, 1 / SECONDS_PER_HOUR},
    {BUDGET_COST, BUDGET_GPU_HOURS, BUDGET_PRICE, 1},
    {BUDGET_ENERGY, BUDGET_GPU_HOURS, BUDGET_POWER, SECONDS_PER_HOUR},
    {BUDGET_TOKENS, BUDGET_TOKENS_PER_S, BUDGET_TIME, 1},
    {BUDGET_COST, BUDGET_USD_PER_MILLION, BUDGET_TOKENS, 1e-6},
};

void budget_init(struct budget *budget)
{
    memset(budget, 0, sizeof *budget);
    for (uint32_t i = 0; i < BUDGET_QUANTITIES; i++) {
        budget->value[i] = ABSENT;
    }
}

void budget_tell(struct budget *budget, enum budget_quantity quantity, double value,
                 double rounding)
{
    sim_assert(value > 0 && isfinite(value));
    budget->value[quantity] = value;
    budget->rounding[quantity] = rounding;
    budget->origin[quantity] = BUDGET_TOLD;
}

static bool is_known(const struct budget *budget, enum budget_quantity quantity)
{
    return quantity == BUDGET_QUANTITIES || !is_absent(budget->value[quantity]);
}

static double value_of(const struct budget *budget, enum budget_quantity quantity)
{
    return quantity == BUDGET_QUANTITIES ? 1 : budget->value[quantity];
}

void budget_look(struct budget *budget, enum budget_quantity quantity, double value)
{
    if (!is_known(budget, quantity) && value > 0) {
        budget->value[quantity] = value;
        budget->origin[quantity] = BUDGET_LOOKED;
    }
}

/* The one member that is unknown; BUDGET_QUANTITIES: none, or more. */
static enum budget_quantity unknown_of(const struct budget *budget,
                                       const struct budget_relation *relation)
{
    const enum budget_quantity members[] = {relation->whole, relation->first, relation->second};
    enum budget_quantity unknown = BUDGET_QUANTITIES;
    uint32_t count = 0;
    for (uint32_t i = 0; i < 3; i++) {
        if (!is_known(budget, members[i])) {
            unknown = members[i];
            count++;
        }
    }
    return count == 1 ? unknown : BUDGET_QUANTITIES;
}

static double by_relation(const struct budget *budget, const struct budget_relation *relation,
                          enum budget_quantity unknown)
{
    const double first = value_of(budget, relation->first);
    const double second = value_of(budget, relation->second);
    const double whole = value_of(budget, relation->whole);
    return unknown == relation->whole   ? relation->factor * first * second
           : unknown == relation->first ? whole / (relation->factor * second)
                                        : whole / (relation->factor * first);
}

static bool solve_one(struct budget *budget)
{
    bool found = false;
    for (uint32_t i = 0; i < sizeof relations / sizeof *relations; i++) {
        const enum budget_quantity unknown = unknown_of(budget, &relations[i]);
        if (unknown != BUDGET_QUANTITIES) {
            budget->value[unknown] = by_relation(budget, &relations[i], unknown);
            budget->origin[unknown] = BUDGET_WORKED;
            budget->of[unknown] = &relations[i];
            found = true;
        }
    }
    return found;
}

void budget_solve(struct budget *budget)
{
    while (solve_one(budget)) {
    }
}

/* ---- rounding ------------------------------------------------------------------------------- */

double budget_rounding(const char *text)
{
    double digits = 0; /* as a whole number: 156 of 15.6, whose last digit is 1 */
    text += strspn(text, " +");
    for (; isdigit((unsigned char)*text) || *text == '.' || *text == '_'; text++) {
        if (isdigit((unsigned char)*text)) {
            digits = 10 * digits + (*text - '0');
        }
    }
    return digits > 0 ? 0.5 / digits : 0;
}

/* ---- whether figures fit -------------------------------------------------------------------- */

/* All but one, each moved by a share of itself. */
static double without(const struct budget *told, enum budget_quantity left_out,
                      enum budget_quantity moved, double times)
{
    struct budget others;
    budget_init(&others);
    for (uint32_t i = 0; i < BUDGET_QUANTITIES; i++) {
        const bool is_there =
            i != left_out && (told->origin[i] == BUDGET_TOLD || told->origin[i] == BUDGET_LOOKED);
        others.value[i] = is_there ? told->value[i] * (i == moved ? times : 1) : ABSENT;
        others.origin[i] = is_there ? told->origin[i] : BUDGET_UNKNOWN;
    }
    budget_solve(&others);
    return others.value[left_out];
}

/* Each of the others moves it by a power of its own. */
static double allowed_of(const struct budget *told, const struct budget_check *check)
{
    double sum = told->rounding[check->quantity];
    for (uint32_t i = 0; i < BUDGET_QUANTITIES; i++) {
        if (i != check->quantity && told->origin[i] == BUDGET_TOLD) {
            const double times = 1 + told->rounding[i];
            sum += fabs(log(without(told, check->quantity, i, times) / check->by_others));
        }
    }
    return sum + 16 * DBL_EPSILON;
}

/* ABSENT: by nothing. No GPU reaches more than its peak. */
static double held_by(const struct budget *told, enum budget_quantity quantity, double by_others)
{
    return told->origin[quantity] == BUDGET_TOLD     ? told->value[quantity]
           : quantity == BUDGET_MFU && by_others > 1 ? 1
                                                     : ABSENT;
}

uint32_t budget_checks(const struct budget *told, struct budget_check checks[BUDGET_QUANTITIES])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < BUDGET_QUANTITIES; i++) {
        const double by_others = without(told, i, BUDGET_QUANTITIES, 1);
        const double held = held_by(told, i, by_others);
        if (is_absent(by_others) || is_absent(held)) {
            continue;
        }
        struct budget_check check = {.quantity = i,
                                     .is_most = told->origin[i] != BUDGET_TOLD,
                                     .told = held,
                                     .by_others = by_others,
                                     .apart = log(held / by_others)};
        check.allowed = allowed_of(told, &check);
        check.fits = fabs(check.apart) <= check.allowed;
        checks[count++] = check;
    }
    return count;
}

/* ---- memory --------------------------------------------------------------------------------- */

const struct budget_state budget_states[] = {
    {"weights in 4 bits", 0.5, false},
    {"weights in 8 bits", 1, false},
    {"weights in 16 bits", 2, false},
    {"weights in 32 bits", 4, false},
    {"16-bit weights and gradients, 8-bit Adam", 2 + 2 + 2, true},
    {"16-bit weights and gradients, 32-bit master and Adam", 2 + 2 + 4 + 4 + 4, true},
    {"the same with 32-bit gradients", 2 + 4 + 4 + 4 + 4, true},
};
const uint32_t budget_state_count = sizeof budget_states / sizeof *budget_states;

double budget_gpus(double bytes, double gpu_bytes, double beside)
{
    return ceil(bytes * (1 + beside) / gpu_bytes * (1 - 4 * DBL_EPSILON));
}
