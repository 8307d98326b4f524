/* What the computation asks of a row that the store has. */
#include "cli/study/wins.h"

#include "base/absent.h"
#include "base/arena.h"
#include "bands/band.h"
#include "cli/study/against.h"
#include "cli/study/session.h"
#include "report/points.h"
#include "run/draws.h"
#include "run/history/paired.h"
#include "store/store.h"

#include <math.h>

static bool is_held(const struct store_row *row, const struct against *against)
{
    return points_is_good(row) && !is_absent(row->wall_clock_days) &&
           (against->reason_is_same || !is_absent(against->factor));
}

static const char *kinds_of(struct arena *arena, const struct against *against)
{
    const char *text = "";
    for (uint32_t i = 0; i < against->kind_count; i++) {
        text = arena_printf(arena, "%s, %s", text, against->kinds[i]);
    }
    for (uint32_t i = 0; i < against->unmeasured_count; i++) {
        text = arena_printf(arena, "%s, %s", text, against->unmeasured[i]);
    }
    return text;
}

static struct wins_point point_of(const struct session *session, struct arena *arena,
                                  const struct store_row *row, const struct against *against)
{
    const double of_ratio = is_absent(against->factor) ? 0 : log(against->factor) / BAND_DEVIATIONS;
    const char *text = store_histories(session->store, arena, row->key);
    struct wins_point point = {.label = row->label,
                               .days = row->wall_clock_days,
                               .account_s = row->account_s,
                               .cost_usd = row->cost_usd,
                               .step = against->base_step,
                               .ratio = against->per_gpu < 1 ? -of_ratio : of_ratio,
                               .rates = against->rates,
                               .kinds = kinds_of(arena, against)};
    point.times_s = paired_read(arena, text != NULL ? text : "", &point.time_count);
    return point;
}

const struct wins *wins_of(const struct session *session, const struct store_row *base,
                           const struct against *against)
{
    struct arena *arena = session->options.cli->arena;
    struct arena *scratch = arena_new();
    const size_t most = session->row_count + (size_t)1;
    struct wins *wins = arena_array(arena, most, sizeof *wins);
    struct wins *found = arena_array(scratch, most, sizeof *found);
    struct wins_point *points = arena_array(scratch, most, sizeof *points);
    uint32_t count = 0;
    for (uint32_t i = 0; i < session->row_count && points_is_good(base); i++) {
        if (is_held(&session->rows[i], &against[i])) {
            points[count++] = point_of(session, scratch, &session->rows[i], &against[i]);
        }
    }
    wins_of_points(points, count, found);
    uint32_t next = 0;
    for (uint32_t i = 0; i < session->row_count; i++) {
        const struct store_row *row = &session->rows[i];
        const bool is_found = next < count && is_held(row, &against[i]);
        wins[i] =
            is_found ? found[next++] : (struct wins){row->label, ABSENT, ABSENT, ABSENT, ABSENT};
    }
    arena_free(scratch);
    return count >= 2 ? wins : NULL;
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
