/* Each point against each other: there are a few dozen at most that somebody reads side by side.
 */
#include "report/ranking.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "report/points.h"
#include "run/duration.h"

#include <math.h>
#include <stdlib.h>

enum aim { AIM_DAYS, AIM_COST, AIM_ENERGY, AIM_COUNT };

struct entry {
    const struct store_row *row;
    const char *label;
    double value[AIM_COUNT];
    double share_of_steps;   /* of its days */
    int64_t rank[AIM_COUNT]; /* from 1; of equals the same */
    double usd_per_million_tokens, kwh_per_million_tokens;
    const char *beaten_by; /* in nothing worse, in something better; NULL: on the front */
};

struct ranking {
    struct entry *entries;
    uint32_t count;
    bool counts[AIM_COUNT]; /* all entries have a value */
    double most;            /* a ratio of equals, of at least 1 */
};

static void collect(struct arena *arena, const struct store_row *rows, uint32_t count,
                    struct ranking *ranking)
{
    *ranking = (struct ranking){.entries = arena_array(arena, count, sizeof *ranking->entries),
                                .counts = {true, true, true}};
    for (uint32_t i = 0; i < count; i++) {
        const struct store_row *row = &rows[i];
        if (!store_row_is_good(row) || is_absent(row->wall_clock_days)) {
            continue;
        }
        ranking->counts[AIM_COST] &= !is_absent(row->cost_usd);
        ranking->entries[ranking->count++] = (struct entry){
            .row = row,
            .label = row->label,
            .value = {row->wall_clock_days, row->cost_usd, row->energy_kwh},
            .share_of_steps = duration_share_of_steps(row->account_s),
            .usd_per_million_tokens = row->usd_per_million_tokens,
            .kwh_per_million_tokens = row->kwh_per_million_tokens,
        };
    }
}

/* By more than the resolution, which is that of steps: of days it is of the part that hangs on
 * them. */
static bool is_less(const struct ranking *ranking, uint32_t aim, const struct entry *one,
                    const struct entry *than)
{
    const double most = aim == AIM_DAYS ? pow(ranking->most, one->share_of_steps) : ranking->most;
    return one->value[aim] * most < than->value[aim];
}

static bool beats(const struct ranking *ranking, const struct entry *one, const struct entry *other)
{
    bool is_better = false;
    for (uint32_t aim = 0; aim < AIM_COUNT; aim++) {
        if (ranking->counts[aim] && is_less(ranking, aim, other, one)) {
            return false;
        }
        is_better |= ranking->counts[aim] && is_less(ranking, aim, one, other);
    }
    return is_better;
}

static void rank(struct ranking *ranking)
{
    for (uint32_t i = 0; i < ranking->count; i++) {
        struct entry *entry = &ranking->entries[i];
        for (uint32_t aim = 0; aim < AIM_COUNT; aim++) {
            entry->rank[aim] = 1;
        }
        for (uint32_t k = 0; k < ranking->count; k++) {
            const struct entry *other = &ranking->entries[k];
            for (uint32_t aim = 0; aim < AIM_COUNT; aim++) {
                entry->rank[aim] += is_less(ranking, aim, other, entry);
            }
            if (entry->beaten_by == NULL && beats(ranking, other, entry)) {
                entry->beaten_by = other->label;
            }
        }
    }
}

/* By days; of equals the one that was there first. */
static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    if (a->rank[AIM_DAYS] != b->rank[AIM_DAYS]) {
        return a->rank[AIM_DAYS] < b->rank[AIM_DAYS] ? -1 : 1;
    }
    return (a->row > b->row) - (a->row < b->row);
}

/* The first that trains other tokens than the first of all; NULL: all train the same. */
static const struct entry *other_tokens(const struct ranking *ranking)
{
    for (uint32_t i = 1; i < ranking->count; i++) {
        const double tokens = ranking->entries[i].row->run_tokens;
        const double first = ranking->entries[0].row->run_tokens;
        if (tokens < first || tokens > first) {
            return &ranking->entries[i];
        }
    }
    return NULL;
}

static const char *tokens_text(struct arena *arena, const struct entry *entry)
{
    char text[32];
    return arena_strdup(arena,
                        units_format(entry->row->run_tokens, DIM_COUNT, 3, text, sizeof text));
}

static void add_cost_rank(struct sheet *in, const char *key, const void *record)
{
    const struct entry *entry = record;
    if (is_absent(entry->value[AIM_COST])) {
        sheet_null_as(in, key, "-");
    } else {
        sheet_integer(in, key, entry->rank[AIM_COST]);
    }
}

static void add_front(struct sheet *in, const char *key, const void *record)
{
    const struct entry *entry = record;
    sheet_text(in, key, entry->beaten_by);
}

static void add_words(struct sheet *in, const char *key, const void *record)
{
    const struct entry *entry = record;
    (void)key;
    sheet_say(in, "%s%s", entry->beaten_by != NULL ? "beaten by " : "on the front",
              entry->beaten_by != NULL ? entry->beaten_by : "");
}

static void add_table(struct sheet *sheet, const struct ranking *ranking)
{
    static const struct field fields[] = {
        {"label", FIELD_AT(struct entry, label), FIELD_LEFT("ranked")},
        {"days_rank", FIELD_AT(struct entry, rank[AIM_DAYS]), FIELD_COUNT("by days")},
        {"cost_rank", FIELD_COUNT("by USD"), .add = add_cost_rank},
        {"energy_rank", FIELD_AT(struct entry, rank[AIM_ENERGY]), FIELD_COUNT("by kWh")},
        {"usd_per_million_tokens", FIELD_AT(struct entry, usd_per_million_tokens),
         FIELD_RIGHT("USD/M tokens", "%.4g", 1), .gives_way = 1},
        {"kwh_per_million_tokens", FIELD_AT(struct entry, kwh_per_million_tokens),
         FIELD_RIGHT("kWh/M tokens", "%.4g", 1), .gives_way = 2},
        {"beaten_by", .add = add_front},
        {NULL, .add = add_words, FIELD_LEFT("days, USD and kWh together")},
    };
    struct sheet *table = sheet_table(sheet, "ranking", FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < ranking->count; i++) {
        sheet_row(table, &ranking->entries[i]);
    }
}

void ranking_add(struct sheet *sheet, const struct store_row *rows, uint32_t count,
                 double resolution)
{
    struct arena *arena = sheet_arena(sheet);
    struct ranking ranking;
    collect(arena, rows, count, &ranking);
    ranking.most = exp(resolution);
    if (ranking.count < 2) {
        return;
    }
    const struct entry *other = other_tokens(&ranking);
    if (other != NULL) {
        sheet_null_as(sheet, "ranking", NULL);
        sheet_say(sheet,
                  "\nNot ranked by days, USD and kWh: %s trains %s tokens, %s trains %s; give both "
                  "the same run.tokens.\n",
                  ranking.entries[0].label, tokens_text(arena, &ranking.entries[0]), other->label,
                  tokens_text(arena, other));
        return;
    }
    rank(&ranking);
    qsort(ranking.entries, ranking.count, sizeof *ranking.entries, compare_entries);
    add_table(sheet, &ranking);
    if (!ranking.counts[AIM_COST]) {
        sheet_say(sheet, "\nThe front is of days and kWh: not all have a price.\n");
    }
}
