/* Bands, days and draws of points held against one, in the document and below the tables. */
#include "report/against_sheet.h"

#include "bands/band.h"
#include "bands/limits.h"
#include "base/absent.h"
#include "base/arena.h"
#include "report/banded.h"
#include "input/doc/name_table.h"
#include "report/numbers.h"
#include "report/points.h"
#include "run/draws.h"

#include <math.h>

struct candidates against_candidates(struct arena *arena, const struct against_rows *of,
                                     const bool *are_left_out)
{
    struct candidate *items = arena_array(arena, of->count + 1u, sizeof *items);
    struct candidates found = {.items = items};
    for (uint32_t i = 0; i < of->count; i++) {
        const struct store_row *row = &of->rows[i];
        if (store_row_is_good(row) && (are_left_out == NULL || !are_left_out[i])) {
            items[found.count++] =
                (struct candidate){row, of->against[i].resolution, of->against[i].reason_is_same};
        }
    }
    return found;
}

const char *against_range(struct arena *arena, const struct against *against)
{
    return is_absent(against->factor)
               ? NULL
               : arena_printf(arena, "%.2f to %.2f", against->speed_up / against->factor,
                              against->speed_up * against->factor);
}

double against_half(const struct against *against, double value, double base_value)
{
    return !is_absent(against->factor) ? fabs(value) * sinh(log(against->factor))
           : against->reason_is_same   ? fabs(value - base_value)
                                       : ABSENT;
}

double against_base_half(const struct against *against, double value)
{
    return fabs(value) * sinh(BAND_DEVIATIONS * against->base_step);
}

const char *against_base_text(struct arena *arena, const struct against *against, double value)
{
    return banded_or(banded_text(arena, value, against_base_half(against, value)),
                     arena_printf(arena, "%.4g", value));
}

const char *against_base_duration(struct arena *arena, const struct against *against,
                                  double seconds)
{
    return banded_or(banded_duration(arena, seconds, against_base_half(against, seconds)),
                     arena_printf(arena, "%.4g s", seconds));
}

void against_add_range(struct sheet *table, const struct against *against)
{
    sheet_range(table, against->speed_up / against->factor, against->speed_up * against->factor,
                against_range(sheet_arena(table), against));
}

const char *against_told(struct arena *arena, const char *band, const char *verdict)
{
    return band == NULL && verdict == NULL ? ""
           : band == NULL                  ? arena_printf(arena, " (%s)", verdict)
           : verdict == NULL               ? arena_printf(arena, " (80 %% band %s)", band)
                             : arena_printf(arena, " (80 %% band %s, %s)", band, verdict);
}

const char *against_words(struct arena *arena, const struct against *against)
{
    return against_told(arena, against_range(arena, against), against->verdict);
}

/* A column that repeats tokens/s would help nobody. */
static const double SAYS_MORE = 0.01;

bool against_have_days(const struct against *against, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct against *one = &against[i];
        if (!is_absent(one->days) && (one->days_error > 0 || one->histories > 0 ||
                                      fabs(log((1 + one->days) * one->speed_up)) > SAYS_MORE)) {
            return true;
        }
    }
    return false;
}

const char *against_days(struct arena *arena, const struct against *against)
{
    if (is_absent(against->days)) {
        return NULL;
    }
    const double ratio = 1 + against->days;
    const double spread = against->days_spread;
    return is_absent(spread) || !(spread > 0)
               ? arena_printf(arena, "%+.2f %%", 100 * against->days)
               : arena_printf(arena, "%+.2f %%, %+.2f to %+.2f %%", 100 * against->days,
                              100 * (ratio * exp(-spread) - 1), 100 * (ratio * exp(spread) - 1));
}

struct field *against_days_fields(bool has_days, struct field *fields)
{
    *fields++ = (struct field){FIELD_LEFT(has_days ? "days more" : NULL), .csv = "days_more"};
    *fields++ = (struct field){FIELD_RANGE(has_days ? "p10 to p90 of days" : NULL, "days_more"),
                               .is_for_programs = true};
    *fields++ = (struct field){FIELD_LEFT(has_days ? "call" : NULL), .csv = "days_verdict"};
    return fields;
}

void against_add_days(struct sheet *table, const struct against *against)
{
    const char *text = against_days(sheet_arena(table), against);
    const double ends = is_absent(against->days_spread) ? ABSENT : exp(against->days_spread);
    sheet_number_as(table, NULL, against->days, text);
    sheet_range(table, (1 + against->days) / ends - 1, (1 + against->days) * ends - 1, text);
    sheet_text(table, NULL, against->days_verdict);
}

static void add_range(struct sheet *in, const char *key, double ratio, double factor)
{
    struct sheet *range = sheet_object(in, key);
    sheet_number(range, "p10", ratio / factor);
    sheet_number(range, "p90", ratio * factor);
}

void against_add(struct sheet *object, const struct against *against)
{
    struct sheet *band = sheet_object(object, "band");
    sheet_bool(band, "is_known", !is_absent(against->factor));
    sheet_text(band, "reason", against->reason[0] != '\0' ? against->reason : NULL);
    sheet_number(band, "resolution", against->resolution);
    sheet_text(band, "verdict", against->verdict);
    sheet_text(band, "verdict_per_gpu", against->verdict_per_gpu);
    add_range(band, "speed_up", against->speed_up, against->factor);
    add_range(band, "speed_up_per_gpu", against->per_gpu, against->factor);
    sheet_texts(band, "kinds", against->kinds, against->kind_count);
    sheet_texts(band, "unmeasured", against->unmeasured, against->unmeasured_count);
    sheet_texts(band, "not_validated", against->unproven, against->unproven_count);
    sheet_integer(band, "votes", against->votes);
    struct sheet *days = sheet_object(object, "days");
    sheet_integer(days, "histories", against->histories);
    sheet_number(days, "more", against->days);
    sheet_number(days, "error", against->days_error);
    const double ends = is_absent(against->days_spread) ? ABSENT : exp(against->days_spread);
    sheet_number(days, "p10", (1 + against->days) / ends - 1);
    sheet_number(days, "p90", (1 + against->days) * ends - 1);
    sheet_text(days, "verdict", against->days_verdict);
}

/* Names of all points, each once. */
static const char *gather(struct arena *arena, const struct against *against, uint32_t count,
                          bool are_kinds)
{
    struct name_table names;
    name_table_init(&names, arena);
    for (uint32_t i = 0; i < count; i++) {
        const struct against *one = &against[i];
        const bool is_said =
            !is_absent(one->factor) && (one->votes > 0) == are_kinds && one->unproven_count == 0;
        const char *const *texts = one->unmeasured_count == 0 ? one->kinds : one->unmeasured;
        const uint32_t most = one->unmeasured_count == 0 ? one->kind_count : one->unmeasured_count;
        for (uint32_t k = 0; is_said && k < most; k++) {
            (void)name_table_index(&names, texts[k]);
        }
    }
    return names.count > 0 ? sheet_joined(arena, names.names, names.count) : NULL;
}

/* What is not validated, of all points, each once; NULL: all is. */
static const char *unproven_names(struct arena *arena, const struct against *against,
                                  uint32_t count)
{
    struct name_table names;
    name_table_init(&names, arena);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < against[i].unproven_count; k++) {
            (void)name_table_index(&names, against[i].unproven[k]);
        }
    }
    return names.count > 0 ? sheet_joined(arena, names.names, names.count) : NULL;
}

/* Of the points without a band, the first one's. */
static const char *reason_of(const struct against *against, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (against[i].reason[0] != '\0') {
            return against[i].reason;
        }
    }
    return NULL;
}

static void say_resolution(struct sheet *sheet, const struct against *against, const char *before)
{
    if (against->no_resolution != NULL) {
        sheet_say(sheet, "%sno resolution: %s\n", before, against->no_resolution);
    } else if (against->resolution > 0) {
        sheet_say(sheet,
                  "%sWhere each GPU has routes of its own, what differs by %.2g %% or less is too "
                  "close to call (" LIMITS_FILE ").\n",
                  before, 100 * expm1(against->resolution));
    }
}

/* Of the first point whose profile is of another year. */
static void say_years(struct sheet *sheet, const struct against *against, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && against[i].years == NULL) {
        i++;
    }
    if (i < count) {
        sheet_say(sheet, "\nProfiles of different years: %s.\n", against[i].years);
    }
}

void against_say(struct sheet *sheet, const struct against *against, uint32_t count)
{
    struct arena *arena = sheet_arena(sheet);
    const char *kinds = gather(arena, against, count, true);
    const char *unmeasured = gather(arena, against, count, false);
    const char *reason = reason_of(against, count);
    const struct against *least_fine = against_coarsest(against, count);
    const char *not_validated = unproven_names(arena, against, count);
    const bool has_said =
        kinds != NULL || unmeasured != NULL || reason != NULL || not_validated != NULL;
    if (kinds != NULL) {
        sheet_say(sheet, "\nBands of ratios are from measured runs that differ in: %s.\n", kinds);
    }
    if (unmeasured != NULL) {
        sheet_say(sheet,
                  "%sNo measured runs differ in these alone: %s. Bands there take the errors of "
                  "both as independent.\n",
                  kinds == NULL ? "\n" : "", unmeasured);
    }
    if (not_validated != NULL) {
        sheet_say(sheet,
                  "%sNot validated: %s. No verdict is given where one of the two has that: public "
                  "reports were further off than measured runs.\n",
                  kinds == NULL && unmeasured == NULL ? "\n" : "", not_validated);
    }
    if (reason != NULL) {
        sheet_say(sheet, "\nno band: %s\n", reason);
    }
    say_years(sheet, against, count);
    say_resolution(sheet, least_fine, has_said ? "" : "\n");
}

void against_say_days(struct sheet *sheet, const struct against *against, uint32_t count)
{
    bool has_histories = false;
    bool has_said = against_coarsest(against, count)->resolution > 0;
    for (uint32_t i = 0; i < count; i++) {
        has_histories = has_histories || (!is_absent(against[i].days) && against[i].days_error > 0);
        has_said = has_said || !is_absent(against[i].factor) || against[i].reason[0] != '\0';
    }
    sheet_say(sheet,
              "%sDays more are of the days that are printed, queue, start and pauses in them",
              has_said ? "" : "\n");
    sheet_say(sheet, ", with their p10 to p90 by the band%s.\n",
              has_histories ? ", pairs of histories with the same failures, and rates of failures"
                            : "");
}

void wins_add(struct sheet *object, const struct wins *wins)
{
    static const struct field fields[] = {
        {"days_share", FIELD_AT(struct wins, days_share)},
        {"days_behind", FIELD_AT(struct wins, days_behind)},
        {"usd_share", FIELD_AT(struct wins, usd_share)},
        {"usd_behind", FIELD_AT(struct wins, usd_behind)},
    };
    sheet_members(sheet_object(object, "wins"), FIELD_LIST(fields), wins);
}

void wins_say_column(struct sheet *sheet, const char *what)
{
    sheet_say(sheet,
              "\nwins: in what share of %d draws of steps, rates of failures and histories %s.\n",
              DRAWS_COUNT, what);
}

void wins_say(struct sheet *sheet, const struct wins *wins, uint32_t count)
{
    bool are_priced = false;
    for (uint32_t i = 0; i < count; i++) {
        are_priced = are_priced || !is_absent(wins[i].usd_share);
    }
    const char *head = arena_printf(sheet_arena(sheet), "of %d draws", DRAWS_COUNT);
    const struct field fields[] = {
        {NULL, FIELD_AT(struct wins, label), FIELD_LEFT(head)},
        {NULL, FIELD_AT(struct wins, days_share), FIELD_RIGHT("least days, %", "%.0f", 100)},
        {NULL, FIELD_AT(struct wins, days_behind), FIELD_RIGHT("behind, days", "%.2f", 1)},
        {NULL, FIELD_AT(struct wins, usd_share),
         FIELD_RIGHT(are_priced ? "least USD, %" : NULL, "%.0f", 100)},
        {NULL, FIELD_AT(struct wins, usd_behind),
         FIELD_SHOW(are_priced ? "behind, USD" : NULL, number_short)},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < count; i++) {
        if (!is_absent(wins[i].days_share)) {
            sheet_row(table, &wins[i]);
        }
    }
    sheet_say(sheet,
              "\nLeast: in so many draws of steps, rates of failures and histories, the same "
              "for all points, it is the best of them; behind: what it takes more than the "
              "best of each draw, in the mean.\n");
}
