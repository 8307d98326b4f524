/* A draw of all points is a column: points are rows of a table of doubles. */
#include "cli/study/wins.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "lab/band.h"
#include "report/points.h"
#include "run/draws.h"
#include "run/duration.h"
#include "run/history/paired.h"

#include <math.h>

/* What all points have in common. */
struct common {
    double step[DRAWS_COUNT], rates[DRAWS_COUNT];
};

static bool is_held(const struct store_row *row, const struct against *against)
{
    return points_is_good(row) && !is_absent(row->wall_clock_days) &&
           (against->reason_is_same || !is_absent(against->factor));
}

/* Its kinds of difference have a stream of their own. */
static const char *stream_of(struct arena *arena, const struct against *against)
{
    const char *name = "draw of a ratio";
    for (uint32_t i = 0; i < against->kind_count; i++) {
        name = arena_printf(arena, "%s, %s", name, against->kinds[i]);
    }
    for (uint32_t i = 0; i < against->unmeasured_count; i++) {
        name = arena_printf(arena, "%s, %s", name, against->unmeasured[i]);
    }
    return name;
}

/* Days of a point in each draw. */
static void draw_days(const struct session *session, const struct common *common,
                      const struct store_row *row, const struct against *against,
                      double days[DRAWS_COUNT])
{
    struct arena *scratch = arena_new();
    double ratio[DRAWS_COUNT];
    draws_normal(1, stream_of(scratch, against), ratio);
    const char *text = store_histories(session->store, scratch, row->key);
    uint32_t count;
    const double *times_s = paired_read(scratch, text != NULL ? text : "", &count);
    const double of_ratio = is_absent(against->factor) ? 0 : log(against->factor) / BAND_DEVIATIONS;
    const double way = against->per_gpu < 1 ? -1 : 1;
    const double of_failures = duration_share_of_failures(row->account_s);
    for (uint32_t d = 0; d < DRAWS_COUNT; d++) {
        const double longer = exp(against->base_step * common->step[d] + way * of_ratio * ratio[d]);
        const double oftener = exp(against->rates * common->rates[d]);
        const double usual =
            count > 0 ? times_s[d % count] / SECONDS_PER_DAY : row->wall_clock_days;
        days[d] =
            usual * duration_factor(row->account_s, longer) * (1 + of_failures * (oftener - 1));
    }
    arena_free(scratch);
}

/* Of a point whose days are known: nobody pays for the queue. */
static double usd_of(const struct store_row *row, double days)
{
    const double queue = row->account_s[ACCOUNT_QUEUED] / SECONDS_PER_DAY;
    return row->cost_usd * (days - queue) / (row->wall_clock_days - queue);
}

/* Values that differ by less are the same. */
static const double ALIKE = 1e-9;

/* Of all points in one draw, which are `stride` apart. */
static void count_wins(const double *values, uint32_t count, double *shares, double *behind)
{
    double least = HUGE_VAL;
    for (uint32_t i = 0; i < count; i++) {
        least = fmin(least, values[(size_t)i * DRAWS_COUNT]);
    }
    uint32_t winners = 0;
    for (uint32_t i = 0; i < count; i++) {
        winners += values[(size_t)i * DRAWS_COUNT] <= least * (1 + ALIKE);
    }
    for (uint32_t i = 0; i < count; i++) {
        const double more = values[(size_t)i * DRAWS_COUNT] - least;
        shares[i] += more <= least * ALIKE ? 1.0 / winners : 0;
        behind[i] += more <= least * ALIKE ? 0 : more;
    }
}

/* The table of values; what comes of it in the order of its rows. */
struct table {
    uint32_t count;
    uint32_t *rows; /* of the session */
    double *days, *usd;
};

static void sum_up(struct arena *arena, const struct session *session, const struct table *table,
                   struct wins *wins)
{
    bool are_priced = true;
    for (uint32_t i = 0; i < table->count; i++) {
        are_priced = are_priced && !is_absent(session->rows[table->rows[i]].cost_usd);
    }
    double *sums = arena_array(arena, (size_t)table->count * 4, sizeof *sums);
    double *usd_sums = sums + (size_t)table->count * 2;
    for (uint32_t d = 0; d < DRAWS_COUNT; d++) {
        count_wins(table->days + d, table->count, sums, sums + table->count);
        if (are_priced) {
            count_wins(table->usd + d, table->count, usd_sums, usd_sums + table->count);
        }
    }
    for (uint32_t i = 0; i < table->count; i++) {
        struct wins *mine = &wins[table->rows[i]];
        mine->days_share = sums[i] / DRAWS_COUNT;
        mine->days_behind = sums[table->count + i] / DRAWS_COUNT;
        mine->usd_share = are_priced ? usd_sums[i] / DRAWS_COUNT : ABSENT;
        mine->usd_behind = are_priced ? usd_sums[table->count + i] / DRAWS_COUNT : ABSENT;
    }
}

const struct wins *wins_of(const struct session *session, const struct store_row *base,
                           const struct against *against)
{
    struct arena *arena = session->options.cli->arena;
    struct arena *scratch = arena_new();
    const size_t cells = (size_t)session->row_count * DRAWS_COUNT + 1;
    struct common common;
    draws_normal(1, DRAWS_OF_STEP, common.step);
    draws_normal(1, DRAWS_OF_RATES, common.rates);
    struct wins *wins = arena_array(arena, session->row_count + 1u, sizeof *wins);
    struct table table = {.rows = arena_array(scratch, session->row_count + 1u, sizeof *table.rows),
                          .days = arena_array(scratch, cells, sizeof *table.days),
                          .usd = arena_array(scratch, cells, sizeof *table.usd)};
    for (uint32_t i = 0; i < session->row_count; i++) {
        const struct store_row *row = &session->rows[i];
        wins[i] = (struct wins){row->label, ABSENT, ABSENT, ABSENT, ABSENT};
        if (!points_is_good(base) || !is_held(row, &against[i])) {
            continue;
        }
        double *days = table.days + (size_t)table.count * DRAWS_COUNT;
        draw_days(session, &common, row, &against[i], days);
        for (uint32_t d = 0; d < DRAWS_COUNT; d++) {
            table.usd[(size_t)table.count * DRAWS_COUNT + d] = usd_of(row, days[d]);
        }
        table.rows[table.count++] = i;
    }
    sum_up(scratch, session, &table, wins);
    arena_free(scratch);
    return table.count >= 2 ? wins : NULL;
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

void wins_say(struct sheet *sheet, const struct session *session, const struct wins *wins)
{
    bool are_priced = false;
    for (uint32_t i = 0; i < session->row_count; i++) {
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
         FIELD_RIGHT(are_priced ? "behind, USD" : NULL, "%.0f", 1)},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < session->row_count; i++) {
        if (!is_absent(wins[i].days_share)) {
            sheet_row(table, &wins[i]);
        }
    }
    sheet_say(sheet,
              "\nLeast: in so many draws of steps, rates of failures and histories, the same "
              "for all points, it is the best\nof them; behind: what it takes more than the "
              "best of each draw, in the mean.\n");
}
