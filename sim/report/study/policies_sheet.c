/* The table of policies, and in words how sure the best is. */
#include "report/study/policies_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const by_words[POLICY_BY_COUNT_] = {"days", "cost", "energy", "goodput"};

bool policies_tell_nothing(const struct policy_found *found, const struct doc_node *document,
                           struct diag *diag)
{
    const struct policy *nearest = &found->policies[0];
    const struct doc_node *search = doc_find(document, "search");
    diag_add(diag, DIAG_INFEASIBLE, &search->key_place,
             "none of %" PRIu32 " policies lets the run be done: %s", found->count,
             nearest->reason);
    const struct run_result *run =
        found->named[POLICY_OWN].result != NULL ? &found->named[POLICY_OWN].result->run : NULL;
    char mtbf[32], best[32];
    if (run != NULL && !is_absent(run->mtbf_s) && !is_absent(run->checkpoint_best_s)) {
        diag_help(diag,
                  "something ends it every %s; as the scenario writes checkpoints, one every %s "
                  "would be best: search intervals around that, more spares, or sooner restarts",
                  units_format_duration(run->mtbf_s, mtbf, sizeof mtbf),
                  units_format_duration(run->checkpoint_best_s, best, sizeof best));
    } else {
        diag_help(diag, "search shorter intervals, more spares, or elastic runs");
    }
    return false;
}

/* ---- what is said ------------------------------------------------------------------------- */

static const char *last_word(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL ? dot + 1 : path;
}

static void add_difference(struct sheet *in, const struct policy *policy)
{
    struct sheet *difference = sheet_object(in, "behind_best");
    sheet_number(difference, "mean", policy->behind);
    sheet_number(difference, "error", policy->error);
    sheet_bool(in, "is_tied", policy->is_tied);
}

static void add_document(const struct policies_shown *shown, struct sheet *sheet)
{
    static const struct field counts[] = {
        {"counts.good", FIELD_AT(struct policy_found, good)},
        {"counts.without_progress", FIELD_AT(struct policy_found, without_progress)},
        {"counts.impossible", FIELD_AT(struct policy_found, impossible)},
        {"counts.tied", FIELD_AT(struct policy_found, tied)},
        {"counts.tried", FIELD_AT(struct policy_found, tried)},
        {"histories", FIELD_AT(struct policy_found, histories)},
    };
    const struct policy_found *found = shown->found;
    struct sheet *object = sheet_object(sheet, "policies");
    sheet_text(object, "by", by_words[shown->by]);
    sheet_text(object, "unit", policy_by_units[shown->by]);
    sheet_members(object, FIELD_LIST(counts), found);
    sheet_integer(object, "steps_simulated", (int64_t)found->steps_simulated);
    sheet_number(object, "best", found->policies[0].value);
    sheet_number(object, "host_s", shown->host_s);
    for (uint32_t i = POLICY_YOUNG; i < POLICY_NAMED_COUNT_; i++) {
        sheet_number(object,
                     arena_printf(sheet_arena(sheet), "%s_interval_s", policy_named_names[i]),
                     found->interval_s[i]);
    }
}

static struct sheet *add_table(const struct policies_shown *shown,
                               const struct shown_points *points, struct sheet *sheet)
{
    const struct policy_space *space = shown->space;
    const uint32_t count = space->axis_count + points->columns.count + 4;
    struct field *fields = arena_array(sheet_arena(sheet), count, sizeof *fields);
    struct field *field = fields;
    *field++ = (struct field){FIELD_LEFT("policy")};
    for (uint32_t i = 0; i < space->axis_count; i++) {
        const enum policy_axis_kind kind = space->axes[i].kind;
        *field++ = (struct field){FIELD_COUNT(last_word(policy_axis_paths[kind])),
                                  .csv = kind == POLICY_EVERY ? "every_s" : NULL};
    }
    field = shown_metric_heads(points, field);
    *field++ =
        (struct field){FIELD_RIGHT("behind the best", "%.3f %%", 100), .csv = "behind_best_share"};
    *field++ =
        (struct field){FIELD_RIGHT("2 std. errors", "%.3f %%", 100), .csv = "two_errors_share"};
    *field++ = (struct field){FIELD_LEFT(NULL)};
    return sheet_table(sheet, NULL, fields, count);
}

/* As --set takes it; "7.2 min" where steps are what was tried. */
static void add_value(struct sheet *table, const struct policy *policy, enum policy_axis_kind kind,
                      const char *text)
{
    char duration[32];
    if (kind != POLICY_EVERY || policy->every_s <= 0) {
        sheet_text(table, NULL, text);
    } else if (strstr(text, "step") == NULL) {
        sheet_number_as(table, NULL, policy->every_s, text);
    } else {
        sheet_number_as(table, NULL, policy->every_s,
                        units_format_duration(policy->every_s, duration, sizeof duration));
    }
}

static double share_of_best(const struct policies_shown *shown, double value)
{
    const double best = fabs(shown->found->policies[0].value);
    return is_absent(value) || !(best > 0) ? ABSENT : value / best;
}

static const char *share_text(struct arena *arena, double share)
{
    return is_absent(share) ? NULL : arena_printf(arena, "%.3f %%", 100 * share);
}

static void add_row(const struct policies_shown *shown, const struct shown_points *points,
                    const struct store_row *row, struct sheet *table)
{
    static const char *const names[POLICY_NAMED_COUNT_] = {"own", "Young", "Daly", "exact"};
    const struct policy_point *of = &shown->points[row->number];
    const struct policy *policy = of->policy;
    struct arena *arena = sheet_arena(table);
    const bool is_good = store_row_is_good(row);
    sheet_text(table, NULL,
               of->name < POLICY_NAMED_COUNT_ ? names[of->name]
                                              : arena_printf(arena, "%" PRIu32, of->rank));
    for (uint32_t i = 0; i < shown->space->axis_count; i++) {
        add_value(table, policy, shown->space->axes[i].kind, policy->texts[i]);
    }
    shown_metric_cells(points, row, table);
    const bool is_best = policy == &shown->found->policies[0];
    sheet_number(table, NULL, is_good && !is_best ? share_of_best(shown, policy->behind) : ABSENT);
    sheet_number(table, NULL,
                 is_good && !is_best ? share_of_best(shown, 2 * policy->error) : ABSENT);
    sheet_text(table, NULL,
               !is_good          ? points_reason(arena, row)
               : is_best         ? "the best"
               : policy->is_tied ? "as good"
                                 : "");
}

static void say_counts(const struct policies_shown *shown, struct sheet *sheet)
{
    const struct policy_found *found = shown->found;
    sheet_say(sheet,
              "\n%" PRIu32 " policies were tried by %s, %" PRIu32 " histories each with the same "
              "failures; %" PRIu64 " steps simulated",
              found->tried, by_words[shown->by], found->histories, found->steps_simulated);
    if (found->without_progress > 0) {
        sheet_say(sheet, "; %" PRIu32 " let no run be done", found->without_progress);
    }
    if (found->impossible > 0) {
        sheet_say(sheet, "; %" PRIu32 " are of keys that do not go together", found->impossible);
    }
    sheet_say(sheet, "\n");
    if (found->good > 1) {
        sheet_say(sheet,
                  "%" PRIu32 " of %" PRIu32
                  " cannot be told apart from the best: within 2 standard "
                  "errors of the paired difference\n",
                  found->tied, found->good);
    }
}

static void say_range(const struct policies_shown *shown, struct sheet *sheet)
{
    const struct policy *best = &shown->found->policies[0];
    char least[32], most[32];
    if (shown->space->range == NULL) {
        return;
    }
    sheet_say(sheet, "of the intervals tried with the best, from %s to %s are as good\n",
              units_format_duration(best->every_least_s, least, sizeof least),
              units_format_duration(best->every_most_s, most, sizeof most));
}

static void say_gain(const struct policies_shown *shown, struct sheet *sheet)
{
    const struct policy *own = &shown->found->named[POLICY_OWN];
    struct arena *arena = sheet_arena(sheet);
    if (own->state != POLICY_GOOD) {
        sheet_say(sheet, "as the scenario has it the run cannot be done: %s\n", own->reason);
        return;
    }
    sheet_say(sheet, "the best gains %s +- %s over the scenario's own%s\n",
              share_text(arena, share_of_best(shown, own->behind)),
              share_text(arena, share_of_best(shown, 2 * own->error)),
              own->is_tied ? ": they cannot be told apart" : "");
}

static void say_intervals(const struct policies_shown *shown, struct sheet *sheet)
{
    const struct policy_found *found = shown->found;
    char text[3][32];
    if (found->no_named[POLICY_YOUNG] != NULL) {
        sheet_say(sheet, "no interval by formula: %s\n", found->no_named[POLICY_YOUNG]);
        return;
    }
    const double *s = found->interval_s;
    sheet_say(sheet, "by formula, for one constant rate: Young %s, Daly %s, exact %s\n",
              units_format_duration(s[POLICY_YOUNG], text[0], sizeof text[0]),
              units_format_duration(s[POLICY_DALY], text[1], sizeof text[1]),
              units_format_duration(s[POLICY_EXACT], text[2], sizeof text[2]));
}

struct point_columns policies_columns(struct arena *arena)
{
    static const char *const usual[] = {"days", "goodput", "cost_usd", "energy_kwh",
                                        "interruptions"};
    return points_columns_named(arena, usual, sizeof usual / sizeof *usual);
}

void policies_add(const struct policies_shown *shown, const struct shown_points *points,
                  struct sheet *sheet)
{
    add_document(shown, sheet);
    struct sheet *array = sheet_array(sheet, "points");
    struct sheet *table = add_table(shown, points, sheet);
    for (uint32_t i = 0; i < points->of.count; i++) {
        const struct store_row *row = &points->of.rows[i];
        const struct policy_point *of = &shown->points[row->number];
        const struct study_point *point = &points->study->points[row->number];
        struct sheet *object = points_add(array, row);
        sheet_text(object, "name",
                   of->name < POLICY_NAMED_COUNT_ ? policy_named_names[of->name] : NULL);
        sheet_number(object, "value", of->policy->value);
        sheet_number(object, "every_s", of->policy->every_s);
        add_difference(object, of->policy);
        sheet_texts(object, "set", point->sets, point->set_count);
        add_row(shown, points, row, table);
    }
    say_counts(shown, sheet);
    say_range(shown, sheet);
    say_gain(shown, sheet);
    say_intervals(shown, sheet);
}
