/* Tables of quantities; the sentence on top names what is known, in the order in which it is asked.
 */
#include "report/study/budget_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/banded.h"
#include "report/numbers.h"
#include "report/sheet.h"
#include "report/study/budget_parts_sheet.h"

#include <inttypes.h>
#include <math.h>

/* ---- values --------------------------------------------------------------------------------- */

/* "3.79e25 FLOP", "15.6 TFLOP". */
static const char *flop_text(struct arena *arena, double flop)
{
    if (flop < 1e21) {
        return number_quantity(arena, flop, DIM_FLOP);
    }
    const int power = (int)floor(log10(flop / 0.9995)); /* 9.995 is printed as 10.00 */
    return arena_printf(arena, "%.2fe%d FLOP", flop / pow(10, power), power);
}

/* "405 B", "15.6 T": as parameters and tokens are told. */
static const char *count_text(struct arena *arena, double count)
{
    static const struct {
        double one;
        const char *letter;
    } units[] = {{1e12, " T"}, {1e9, " B"}, {1e6, " M"}, {1e3, " k"}};
    for (uint32_t i = 0; i < sizeof units / sizeof *units && count < 1e15; i++) {
        if (count >= 0.9995 * units[i].one) {
            return arena_printf(arena, "%.3g%s", count / units[i].one, units[i].letter);
        }
    }
    return arena_printf(arena, "%.3g", count);
}

const char *budget_value_text(struct arena *arena, enum budget_quantity quantity, double value)
{
    switch (budget_dimensions[quantity]) {
    case DIM_COUNT:
        return quantity == BUDGET_GPUS && value < 1e7 ? number_grouped(arena, value)
                                                      : count_text(arena, value);
    case DIM_FLOP:
        return flop_text(arena, value);
    case DIM_SECONDS:
        return number_duration(arena, value);
    case DIM_USD:
        return value < 1000 ? arena_printf(arena, "%.3g USD", value)
                            : arena_printf(arena, "%s USD", number_short(arena, value));
    case DIM_FRACTION:
        return arena_printf(arena, "%.1f %%", 100 * value);
    default:
        return number_quantity(arena, value, budget_dimensions[quantity]);
    }
}

/* Half of what lies between the ends of an MFU that is assumed; ABSENT: it is told. */
static double half_of(const struct budget_answer *answer, enum budget_quantity quantity)
{
    return answer->at_low == NULL
               ? ABSENT
               : fabs(answer->at_high->value[quantity] - answer->at_low->value[quantity]) / 2;
}

/* A value in the digits that these ends allow. */
static const char *told_text(struct arena *arena, const struct budget_answer *answer,
                             enum budget_quantity quantity, double value)
{
    return banded_shown(arena, budget_value_text(arena, quantity, value), value,
                        half_of(answer, quantity));
}

static const char *text_of(struct arena *arena, const struct budget_answer *answer,
                           enum budget_quantity quantity)
{
    const double value = answer->budget->value[quantity];
    return is_absent(value) ? NULL : told_text(arena, answer, quantity, value);
}

/* "FLOPs / FLOP/s of a GPU": what it is worked out from. */
static const char *formula_of(struct arena *arena, const struct budget_relation *of,
                              enum budget_quantity quantity)
{
    const char *whole = budget_titles[of->whole];
    const char *first = budget_titles[of->first];
    if (of->second == BUDGET_QUANTITIES) {
        return quantity == of->whole ? arena_printf(arena, "%g x %s", of->factor, first)
                                     : arena_printf(arena, "%s / %g", whole, of->factor);
    }
    const char *second = budget_titles[of->second];
    return quantity == of->whole   ? arena_printf(arena, "%s x %s", first, second)
           : quantity == of->first ? arena_printf(arena, "%s / %s", whole, second)
                                   : arena_printf(arena, "%s / %s", whole, first);
}

static const char *origin_of(struct arena *arena, const struct budget_answer *answer,
                             enum budget_quantity quantity)
{
    const struct budget *budget = answer->budget;
    switch (budget->origin[quantity]) {
    case BUDGET_UNKNOWN:
        break;
    case BUDGET_TOLD:
        return "told";
    case BUDGET_LOOKED:
        return quantity == BUDGET_TOKEN_FLOP || quantity == BUDGET_PARAMETERS ? answer->model
               : quantity == BUDGET_PEAK
                   ? arena_printf(arena, "%s, %s", answer->gpu, answer->precision)
               : quantity == BUDGET_POWER ? arena_printf(arena, "%s alone", answer->gpu)
                                          : answer->gpu;
    case BUDGET_ASSUMED:
        return "assumed, as published steps";
    case BUDGET_WORKED:
        return budget->of[quantity] != NULL
                   ? formula_of(arena, budget->of[quantity], quantity)
                   : arena_printf(arena, "least loss by %s", answer->law->name);
    }
    return NULL;
}

/* ---- the answer ----------------------------------------------------------------------------- */

static void append(struct arena *arena, const char **text, const char *between, const char *more)
{
    *text = (*text)[0] == '\0' ? more : arena_printf(arena, "%s%s%s", *text, between, more);
}

static const char *what_text(struct arena *arena, const struct budget_answer *answer)
{
    const char *text = "";
    const char *parameters = text_of(arena, answer, BUDGET_PARAMETERS);
    const char *tokens = text_of(arena, answer, BUDGET_TOKENS);
    const char *flop = text_of(arena, answer, BUDGET_FLOP);
    if (parameters != NULL) {
        append(arena, &text, "", arena_printf(arena, "%s parameters", parameters));
    }
    if (tokens != NULL) {
        append(arena, &text, " on ", arena_printf(arena, "%s tokens", tokens));
    }
    if (flop != NULL) {
        append(arena, &text, " take ", flop);
    }
    return text;
}

static const char *how_text(struct arena *arena, const struct budget_answer *answer)
{
    const char *text = "";
    const char *hours = text_of(arena, answer, BUDGET_GPU_HOURS);
    const char *mfu = text_of(arena, answer, BUDGET_MFU);
    const char *time = text_of(arena, answer, BUDGET_TIME);
    const char *gpus = text_of(arena, answer, BUDGET_GPUS);
    const char *cost = text_of(arena, answer, BUDGET_COST);
    if (hours != NULL) {
        append(arena, &text, "",
               arena_printf(arena, "%s GPU-hours%s%s", hours, mfu != NULL ? " at an MFU of " : "",
                            mfu != NULL ? mfu : ""));
    }
    if (time != NULL) {
        append(arena, &text, ", ",
               gpus != NULL ? arena_printf(arena, "%s on %s GPUs", time, gpus) : time);
    }
    if (cost != NULL) {
        append(arena, &text, ", ", cost);
    }
    return text;
}

/* What it is, and on a line of its own what it takes. */
static void add_answer(struct sheet *sheet, const struct budget_answer *answer)
{
    struct arena *arena = sheet_arena(sheet);
    const char *what = what_text(arena, answer);
    const char *how = how_text(arena, answer);
    const char *between = what[0] != '\0' && how[0] != '\0' ? ": " : "";
    const bool is_nothing = what[0] == '\0' && how[0] == '\0';
    what = is_nothing ? "nothing follows from what is told" : what;
    sheet_text(sheet, "answer", arena_printf(arena, "%s%s%s", what, between, how));
    sheet_say(sheet, "%s%s%s\n", what, between[0] != '\0' ? ":\n" : "", how);
}

/* ---- tables --------------------------------------------------------------------------------- */

static void add_quantity(struct sheet *table, const struct budget_answer *answer,
                         enum budget_quantity quantity)
{
    struct arena *arena = sheet_arena(table);
    const struct budget *const all[] = {answer->budget, answer->at_low, answer->at_high};
    const bool hangs_on_mfu = half_of(answer, quantity) > 0; /* else its ends repeat it */
    sheet_text(table, NULL, budget_titles[quantity]);
    for (uint32_t i = 0; i < 3; i++) {
        const double value = all[i] != NULL ? all[i]->value[quantity] : ABSENT;
        sheet_number_as(table, NULL, value,
                        is_absent(value)         ? "-"
                        : i > 0 && !hangs_on_mfu ? ""
                                                 : told_text(arena, answer, quantity, value));
    }
    sheet_text(table, NULL, origin_of(arena, answer, quantity));
}

static void add_quantities(const struct budget_answer *answer, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const bool is_assumed = answer->at_low != NULL;
    const struct budget *low = answer->at_low, *high = answer->at_high;
    const char *heads[2] = {NULL, NULL};
    if (is_assumed) {
        heads[0] = arena_printf(arena, "at %.0f %%", 100 * low->value[BUDGET_MFU]);
        heads[1] = arena_printf(arena, "at %.0f %%", 100 * high->value[BUDGET_MFU]);
    }
    const struct field fields[] = {
        {"name", FIELD_LEFT("quantity")},
        {"value", FIELD_RIGHT("value", "%.4g", 1)},
        {"at_low_mfu", FIELD_RIGHT(heads[0], "%.4g", 1)},
        {"at_high_mfu", FIELD_RIGHT(heads[1], "%.4g", 1)},
        {"from", FIELD_LEFT("from")},
    };
    struct sheet *table = sheet_table(sheet, "quantities", FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < BUDGET_QUANTITIES; i++) {
        if (!is_absent(answer->budget->value[i])) {
            add_quantity(table, answer, i);
        }
    }
}

static void add_states(const struct budget_answer *answer, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const bool has_gpu = !is_absent(answer->gpu_bytes);
    const struct field fields[] = {
        {"name", FIELD_LEFT("states of the whole model")},
        {"bytes_per_parameter", FIELD_RIGHT("B each", "%g", 1)},
        {"bytes", FIELD_RIGHT("in all", "%.4g", 1)},
        {"gpus", FIELD_RIGHT(has_gpu ? "GPUs" : NULL, "%.0f", 1)},
        {"gpus_with_quarter", FIELD_RIGHT(has_gpu ? "with 25 %" : NULL, "%.0f", 1)},
    };
    struct sheet *table = sheet_table(sheet, "states", FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < budget_state_count; i++) {
        const double bytes = budget_states[i].bytes * answer->parameters;
        sheet_text(table, NULL, budget_states[i].name);
        sheet_number(table, NULL, budget_states[i].bytes);
        sheet_number_as(table, NULL, bytes, number_quantity(arena, bytes, DIM_BYTES));
        for (uint32_t k = 0; k < 2; k++) {
            sheet_number(table, NULL,
                         has_gpu ? budget_gpus(bytes, answer->gpu_bytes, k == 0 ? 0 : 0.25)
                                 : ABSENT);
        }
    }
}

/* Losses of models a quarter, a half, ... of the best one's size, of the same FLOPs. */
static void add_split(const struct budget_answer *answer, struct sheet *sheet)
{
    static const double times[] = {0.25, 0.5, 1, 2, 4};
    static const struct field fields[] = {
        {"parameters", FIELD_RIGHT("parameters", "%.4g", 1)},
        {"tokens", FIELD_RIGHT("tokens", "%.4g", 1)},
        {"tokens_per_parameter", FIELD_RIGHT("a parameter", "%.3g", 1)},
        {"loss", FIELD_RIGHT("loss, nats a token", "%.4f", 1)},
    };
    struct arena *arena = sheet_arena(sheet);
    const double best = answer->budget->value[BUDGET_PARAMETERS];
    const double product = best * answer->budget->value[BUDGET_TOKENS];
    struct sheet *table = sheet_table(sheet, "same_flop", FIELD_LIST(fields));
    sheet_caption(table,
                  arena_printf(arena, "\nThe same FLOPs otherwise, by %s:\n", answer->law->name));
    for (uint32_t i = 0; i < sizeof times / sizeof *times; i++) {
        const double parameters = times[i] * best;
        const double tokens = product / parameters;
        sheet_number_as(table, NULL, parameters, count_text(arena, parameters));
        sheet_number_as(table, NULL, tokens, count_text(arena, tokens));
        sheet_number(table, NULL, tokens / parameters);
        sheet_number(table, NULL, budget_law_loss(answer->law, parameters, tokens));
    }
}

void budget_add(const struct budget_answer *answer, struct sheet *sheet)
{
    add_answer(sheet, answer);
    add_quantities(answer, sheet);
    if (is_absent(answer->budget->value[BUDGET_FLOP]) && answer->gpu == NULL) {
        sheet_say(sheet, "\nWhat that trains hangs on the GPU: --gpu h100-sxm5-80gb says its peak, "
                         "price and power (`stoker list gpus`), as do --peak, --price and "
                         "--power.\n");
    }
    if (answer->law != NULL) {
        add_split(answer, sheet);
    }
    if (answer->stages != NULL) {
        budget_stages_add(answer->stages, answer->budget->value[BUDGET_PARAMETERS], sheet);
    }
    if (!is_absent(answer->parameters)) {
        add_states(answer, sheet);
    }
    if (answer->sizes != NULL && !is_absent(answer->parameters)) {
        budget_fewest_add(answer->sizes, answer->size_count, answer->parameters, answer->fewest,
                          sheet);
    }
    if (answer->server != NULL) {
        budget_serve_add(answer->server, sheet);
    }
    sheet_say(sheet, "\nNot simulated: products of what is told. `stoker run` and `stoker search` "
                     "predict a layout, its MFU and what it holds.\n");
}

/* ---- an audit ------------------------------------------------------------------------------- */

/* What follows is blamed before what it follows from. */
static const struct budget_check *worst_of(const struct budget_check *checks, uint32_t count)
{
    static const enum budget_quantity order[] = {BUDGET_TIME,      BUDGET_COST, BUDGET_ENERGY,
                                                 BUDGET_GPU_HOURS, BUDGET_FLOP, BUDGET_MFU};
    for (uint32_t k = 0; k < sizeof order / sizeof *order; k++) {
        for (uint32_t i = 0; i < count; i++) {
            if (checks[i].quantity == order[k] && !checks[i].fits) {
                return &checks[i];
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!checks[i].fits) {
            return &checks[i];
        }
    }
    return NULL;
}

/* "GPUs are", "time is". */
static bool is_plural(enum budget_quantity quantity)
{
    return budget_dimensions[quantity] == DIM_COUNT || budget_dimensions[quantity] == DIM_FLOP;
}

const char *budget_misfit(struct arena *arena, const struct budget_check *checks, uint32_t count)
{
    const struct budget_check *worst = worst_of(checks, count);
    if (worst == NULL) {
        return NULL;
    }
    const char *by_others = budget_value_text(arena, worst->quantity, worst->by_others);
    const char *told = budget_value_text(arena, worst->quantity, worst->told);
    const char *against =
        worst->is_most ? arena_printf(arena, "and at most %s can be", told)
                       : arena_printf(arena, "not %s (%+.1f %%)", told, 100 * expm1(worst->apart));
    return arena_printf(arena, "the figures do not fit together: by the others the %s %s %s, %s",
                        budget_titles[worst->quantity], is_plural(worst->quantity) ? "are" : "is",
                        by_others, against);
}

static void add_checks(const struct budget_check *checks, uint32_t count, struct sheet *sheet)
{
    static const struct field fields[] = {
        {"name", FIELD_LEFT("figure")},
        {"told", FIELD_RIGHT("told", "%.4g", 1)},
        {"by_others", FIELD_RIGHT("by the others", "%.4g", 1)},
        {"apart", FIELD_RIGHT("told is off by %", "%+.1f", 100)},
        {"rounding", FIELD_RIGHT("rounding %", "%.1f", 100)},
        {"fits", FIELD_LEFT("fits")},
    };
    struct arena *arena = sheet_arena(sheet);
    struct sheet *table = sheet_table(sheet, "figures", FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < count; i++) {
        const struct budget_check *check = &checks[i];
        sheet_text(table, NULL, budget_titles[check->quantity]);
        sheet_number_as(table, NULL, check->told,
                        arena_printf(arena, "%s%s", check->is_most ? "at most " : "",
                                     budget_value_text(arena, check->quantity, check->told)));
        sheet_number_as(table, NULL, check->by_others,
                        budget_value_text(arena, check->quantity, check->by_others));
        sheet_number(table, NULL, expm1(check->apart));
        sheet_number(table, NULL, expm1(check->allowed));
        sheet_bool(table, NULL, check->fits);
    }
}

static void add_counted(const struct budget_answer *answer, struct sheet *sheet)
{
    static const struct field fields[] = {
        {"convention", FIELD_LEFT("FLOPs counted as")},
        {"flop_per_token", FIELD_RIGHT("FLOPs a token", "%.4g", 1)},
        {"mfu", FIELD_RIGHT("MFU by the others", "%.1f %%", 100)},
        {"fits", FIELD_LEFT("all fit")},
    };
    struct arena *arena = sheet_arena(sheet);
    struct sheet *table = sheet_table(sheet, "conventions", FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < FLOP_CONVENTION_COUNT_; i++) {
        const struct budget_counted *counted = &answer->counted[i];
        const double flop = counted->budget.value[BUDGET_TOKEN_FLOP];
        sheet_text(table, NULL, flop_convention_names[i]);
        sheet_number_as(table, NULL, flop, flop_text(arena, flop));
        sheet_number(table, NULL, counted->mfu);
        sheet_bool(table, NULL, counted->fits);
    }
}

void audit_add(const struct budget_answer *answer, struct sheet *sheet)
{
    struct budget_check checks[BUDGET_QUANTITIES];
    const uint32_t count = budget_checks(answer->told, checks);
    const char *misfit = budget_misfit(sheet_arena(sheet), checks, count);
    const char *text =
        misfit != NULL ? misfit : "the figures fit together, within what they are rounded by";
    sheet_text(sheet, "answer", text);
    sheet_say(sheet, "%s\n", text);
    add_checks(checks, count, sheet);
    if (answer->counted != NULL) {
        add_counted(answer, sheet);
    }
    add_quantities(answer, sheet);
}
