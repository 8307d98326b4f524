/* For each entry a copy of the rules without it, for each table a copy with those rules. */
#include "lab/rules_worth.h"

#include "base/absent.h"
#include "base/arena.h"
#include "measured/published/published_reading.h"
#include "measured/score.h"

#include <math.h>
#include <string.h>

/* ---- entries ------------------------------------------------------------------------------ */

static const char *does_of(struct arena *arena, const struct published_rule *rule)
{
    const char *text = "";
    for (uint32_t i = 0; i < rule->assignment_count; i++) {
        text = arena_printf(arena, "%s%s%s=%s", text, i == 0 ? "" : ", ", rule->assignments[i].key,
                            rule->assignments[i].value);
    }
    return text;
}

static const struct published_rule *entry_of(const struct published_rules *rules, uint32_t number)
{
    return number < rules->blank_count ? &rules->blanks[number]
                                       : &rules->rules[number - rules->blank_count];
}

static const struct published_rule *all_but(struct arena *arena, const struct published_rule *rules,
                                            uint32_t *count, uint32_t number)
{
    struct published_rule *kept = arena_array(arena, *count, sizeof *kept);
    memcpy(kept, rules, number * sizeof *kept);
    *count -= 1;
    memcpy(kept + number, rules + number + 1, (*count - number) * sizeof *kept);
    return kept;
}

static const struct published_rules *without(struct arena *arena,
                                             const struct published_rules *rules, uint32_t number)
{
    struct published_rules *others = arena_alloc(arena, sizeof *others);
    *others = *rules;
    if (number < rules->blank_count) {
        others->blanks = all_but(arena, rules->blanks, &others->blank_count, number);
    } else {
        others->rules =
            all_but(arena, rules->rules, &others->rule_count, number - rules->blank_count);
    }
    return others;
}

/* ---- rows --------------------------------------------------------------------------------- */

struct worth_work {
    struct arena *arena; /* of one entry */
    const struct validate_request *request;
    const struct validated_row *rows;
    uint32_t row_count;
    const bool *fits;          /* [row]; of the entry */
    struct validated_row *now; /* the rows without the entry */
    bool *is_lost;             /* [row] */
    uint32_t number;
};

/* Whether the row is another without the entry; *is_lost: cannot even be made. */
static bool is_changed(const struct worth_work *work, const struct published_table *table,
                       uint32_t row, bool *is_lost)
{
    const struct catalogue *catalogue = work->request->catalogue;
    const struct published_scenario before =
        published_scenario(work->arena, work->rows[row].table, work->rows[row].row, catalogue);
    const struct published_scenario after =
        published_scenario(work->arena, table, work->rows[row].row, catalogue);
    *is_lost = after.skipped != NULL;
    return !*is_lost && !published_is_same(&before, &after);
}

/* The rows of the table to which row `first` belongs. */
static void predict_table(const struct worth_work *work, uint32_t first)
{
    struct published_table table = *work->rows[first].table;
    table.rules = without(work->arena, table.rules, work->number);
    uint32_t *wanted = arena_array(work->arena, work->row_count, sizeof *wanted);
    uint32_t *numbers = arena_array(work->arena, work->row_count, sizeof *numbers);
    uint32_t count = 0;
    for (uint32_t i = first; i < work->row_count; i++) {
        const struct validated_row *row = &work->rows[i];
        if (row->table == work->rows[first].table && work->fits[i] && row->status == ROW_OK &&
            is_changed(work, &table, i, &work->is_lost[i])) {
            wanted[count] = row->row;
            numbers[count++] = i;
        }
    }
    struct validate_request request = *work->request;
    request.rows = wanted;
    request.row_count = count;
    const struct validated_row *found =
        count > 0 ? validate_rows(work->arena, &table, &request) : NULL;
    for (uint32_t i = 0; i < count; i++) {
        work->is_lost[numbers[i]] = found[i].status != ROW_OK;
        work->now[numbers[i]].predicted_s = found[i].predicted_s;
        work->now[numbers[i]].error = found[i].error;
    }
}

/* Of the rows that are scored with and without the entry. */
static double mean_of(const struct worth_work *work, const struct validated_row *rows)
{
    struct validated_row *scored = arena_array(work->arena, work->row_count + 1, sizeof *scored);
    uint32_t count = 0;
    for (uint32_t i = 0; i < work->row_count; i++) {
        if (score_is_scored(&work->rows[i]) && !work->is_lost[i]) {
            scored[count++] = rows[i];
        }
    }
    return count > 0 ? score_rows(work->arena, scored, count).mean : ABSENT;
}

static void weigh(const struct worth_work *work, struct rule_worth *worth)
{
    for (uint32_t i = 0; i < work->row_count; i++) {
        if (i == 0 || work->rows[i].table != work->rows[i - 1].table) {
            predict_table(work, i);
        }
    }
    double moved = 0;
    bool moves_score = false;
    for (uint32_t i = 0; i < work->row_count; i++) {
        const double change = work->now[i].predicted_s / work->rows[i].predicted_s - 1.0;
        worth->lost += work->is_lost[i] ? 1 : 0;
        if (!work->is_lost[i] && fabs(change) > 0) {
            worth->changed++;
            moved += fabs(change);
            moves_score = moves_score || score_is_scored(&work->rows[i]);
        }
    }
    worth->moved = worth->changed > 0 ? moved / worth->changed : ABSENT;
    worth->mean_without =
        moves_score ? mean_of(work, work->now) - mean_of(work, work->rows) : ABSENT;
}

/* Which entries fit each row: [row * count + entry]. */
static const bool *fits_of(struct arena *arena, const struct validated_row *rows,
                           uint32_t row_count, uint32_t count)
{
    bool *fits = arena_array(arena, (size_t)row_count * count, sizeof *fits);
    struct arena *scratch = arena_new();
    for (uint32_t i = 0; i < row_count; i++) {
        const struct published_rules *rules = rows[i].table->rules;
        const struct published_reading *reading =
            published_read(scratch, rows[i].table, rows[i].row, rules);
        bool *own = &fits[(size_t)i * count];
        memcpy(own, reading->blank_fits, rules->blank_count * sizeof *own);
        memcpy(own + rules->blank_count, reading->rule_fits, rules->rule_count * sizeof *own);
        arena_reset(scratch);
    }
    arena_free(scratch);
    return fits;
}

struct rule_worth *rules_worth(struct arena *arena, const struct validated_row *rows,
                               uint32_t row_count, const struct validate_request *request,
                               uint32_t *count)
{
    sim_assert(row_count > 0);
    const struct published_rules *rules = rows[0].table->rules;
    *count = rules->blank_count + rules->rule_count;
    const bool *fits = fits_of(arena, rows, row_count, *count);
    struct rule_worth *worths = arena_array(arena, *count, sizeof *worths);
    for (uint32_t k = 0; k < *count; k++) {
        const struct published_rule *rule = entry_of(rules, k);
        struct rule_worth *worth = &worths[k];
        const char *slash = strrchr(rule->place.file, '/');
        *worth = (struct rule_worth){
            .place = arena_printf(arena, "%s:%u", slash != NULL ? slash + 1 : rule->place.file,
                                  rule->place.line),
            .does = does_of(arena, rule),
            .source = rule->source,
            .moved = ABSENT,
            .mean_without = ABSENT,
        };
        struct arena *scratch = arena_new();
        bool *own = arena_array(scratch, row_count, sizeof *own);
        struct validated_row *now = arena_array(scratch, row_count, sizeof *now);
        memcpy(now, rows, row_count * sizeof *now);
        for (uint32_t i = 0; i < row_count; i++) {
            own[i] = fits[(size_t)i * *count + k];
            worth->rows += own[i] ? 1 : 0;
        }
        const struct worth_work work = {
            .arena = scratch,
            .request = request,
            .rows = rows,
            .row_count = row_count,
            .fits = own,
            .now = now,
            .is_lost = arena_array(scratch, row_count, sizeof(bool)),
            .number = k,
        };
        if (worth->rows > 0 && !published_rule_is_meaning(rule)) {
            weigh(&work, worth);
        }
        arena_free(scratch);
    }
    return worths;
}
