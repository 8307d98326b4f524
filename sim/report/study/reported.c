/* All points are read, and ranked; scenarios, which take the room and the time, are read of those
 * that are told alone.
 */
#include "report/study/reported.h"

#include "base/absent.h"
#include "base/arena.h"
#include "input/doc/doc.h"
#include "input/scenario_load.h"
#include "report/study/report_words.h"
#include "report/winners.h"
#include "store/store_metrics.h"
#include "run/duration.h"
#include "study/against.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS_NAMED = 64 };

/* Points by their value, the best first; ties and points without it as they are. */
struct ranked {
    const struct store_row *row;
    double key; /* the less the better; ABSENT */
};

static int by_key(const void *left, const void *right)
{
    const struct ranked *a = left;
    const struct ranked *b = right;
    if (is_absent(a->key) != is_absent(b->key)) {
        return is_absent(a->key) ? 1 : -1;
    }
    if (!is_absent(a->key) && (a->key < b->key || a->key > b->key)) {
        return a->key < b->key ? -1 : 1;
    }
    return a->row->number < b->row->number ? -1 : 1;
}

/* Of what decides, days: who waits longer pays longer, and a report is asked when it is done. Of
 * offers the price: that they are judged by (study/quote), and their GPUs are not as many. */
static const struct figure_metric *judge_of(struct arena *arena, const char *kind,
                                            const struct ranked *ranked, uint32_t count)
{
    const char *wanted = report_is_of_quote(kind) ? "cost_usd" : "days";
    struct candidate *items = arena_array(arena, count, sizeof *items);
    for (uint32_t i = 0; i < count; i++) {
        items[i] = (struct candidate){.row = ranked[i].row};
    }
    const struct judges judges = judges_of(&(struct candidates){items, count});
    const struct figure_metric *judge = judges.items[0];
    for (uint32_t i = 0; i < judges.count; i++) {
        judge = strcmp(judges.items[i]->name, wanted) == 0 ? judges.items[i] : judge;
    }
    return judge;
}

/* ---- one point ---------------------------------------------------------------------------- */

static struct band_told told_of(const struct scenario *scenario, const struct store_row *row)
{
    const double *s = row->breakdown_s;
    const double links_s = s[CAUSE_EXPOSED_TP] + s[CAUSE_EXPOSED_CP] + s[CAUSE_EXPOSED_EP] +
                           s[CAUSE_EXPOSED_PP] + s[CAUSE_EXPOSED_DP];
    const double all_s = account_sum_s(row->account_s);
    struct band_told told = {
        .scenario = scenario,
        .traits = band_traits_of(scenario),
        .burdens = band_burdens_of_scenario(scenario),
    };
    told.burdens.data_stall = s[CAUSE_DATA_STALL] / row->step_s;
    told.burdens.checkpoint_stall = s[CAUSE_CHECKPOINT_STALL] / row->step_s +
                                    (all_s > 0 ? row->account_s[ACCOUNT_CHECKPOINT] / all_s : 0);
    const struct band_step step = {
        .step_s = row->step_s,
        .launch = s[CAUSE_LAUNCH] / row->step_s,
        .compute = (s[CAUSE_COMPUTE] + s[CAUSE_RECOMPUTE]) / row->step_s,
        .memory = s[CAUSE_OPTIMIZER] / row->step_s,
        .links = links_s / row->step_s,
    };
    band_traits_add_step(&told.traits, &step);
    return told;
}

/* Days grow with the step; with failures they have draws of their own, which are not stored. */
static void put_ranges(struct reported_point *point)
{
    static const struct reported_range unknown = {ABSENT, ABSENT};
    const struct store_row *row = point->row;
    const struct band *band = &point->band;
    point->step = point->mfu = point->days = point->usd = unknown;
    if (band->votes == 0) {
        return;
    }
    point->step = (struct reported_range){row->step_s * band->low, row->step_s * band->high};
    point->mfu = (struct reported_range){row->mfu / band->high, row->mfu / band->low};
    if (!is_absent(row->wall_clock_days) && is_absent(row->interruptions)) {
        const double low = duration_factor(row->account_s, band->low);
        const double high = duration_factor(row->account_s, band->high);
        point->days =
            (struct reported_range){row->wall_clock_days * low, row->wall_clock_days * high};
        if (!is_absent(row->cost_usd)) {
            point->usd = (struct reported_range){row->cost_usd * low, row->cost_usd * high};
        }
    }
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* What a reading works on. */
struct reading {
    struct arena *arena;
    const struct reported_asked *asked;
    struct reported *to;
    struct diag *diag;
    struct store_row *shown; /* of the points, in their order: what study/against takes */
    struct study study;      /* of resolved scenarios, by the points' numbers */
};

static const struct scenario *resolve(const struct reading *reading, const struct store_row *row)
{
    struct arena *arena = reading->arena;
    const char *text = store_scenario_text(reading->asked->store, arena, row->key);
    struct diag *own = diag_new(arena);
    const struct doc_node *document =
        text != NULL ? doc_parse(arena, row->key, text, strlen(text), own) : NULL;
    struct study_point *point = &reading->study.points[row->number];
    *point = (struct study_point){.label = row->label, .document = document};
    if (document != NULL) {
        struct catalogue catalogue = *reading->asked->catalogue;
        catalogue.house = NULL; /* what is stored is whole */
        point->scenario = scenario_resolve(arena, document, &catalogue, NULL, 0, own);
    }
    return point->scenario;
}

/* Points whose scenario cannot be read have no bands; study/against says so of each. */
static const struct against *hold(const struct reading *reading, const struct store_row *base)
{
    const struct against_points points = {.study = &reading->study,
                                          .catalogue = reading->asked->catalogue,
                                          .store = reading->asked->store,
                                          .rows = reading->shown,
                                          .count = reading->to->count,
                                          .diag = reading->diag,
                                          .have_failed = true};
    return against_of(reading->arena, &points, base);
}

static void put_points(struct reading *reading)
{
    struct reported *to = reading->to;
    struct band_votes votes;
    const bool has_votes =
        band_load(reading->arena, reading->asked->catalogue, &votes, &to->no_votes, reading->diag);
    to->no_votes = has_votes ? NULL : to->no_votes;
    for (uint32_t i = 0; i < to->count; i++) {
        struct reported_point *point = &to->points[i];
        point->row = &reading->shown[i];
        point->scenario = resolve(reading, point->row);
        point->band = (struct band){.like = "", .reason = "its scenario is not read any more"};
        if (point->scenario != NULL) {
            const struct band_told told = told_of(point->scenario, point->row);
            point->band =
                band_of_told(reading->arena, has_votes ? &votes : NULL, to->no_votes, &told);
        }
        put_ranges(point);
    }
}

static void put_against(struct reading *reading, uint32_t base)
{
    struct reported *to = reading->to;
    to->against = hold(reading, &reading->shown[base]);
    to->of_best = base > 0 ? hold(reading, &reading->shown[0]) : to->against;
    to->best = &to->points[0];
    to->base = &to->points[base];
    to->assumptions = store_assumptions(reading->asked->store, reading->arena, to->best->row->key,
                                        &to->assumption_count);
    to->scenario_text =
        store_scenario_text(reading->asked->store, reading->arena, to->best->row->key);
}

/* The place of the base among the ranked; count: the user names none of them. */
static uint32_t place_of_base(const struct reported_asked *asked, const struct ranked *ranked,
                              uint32_t count)
{
    uint32_t found = count;
    for (uint32_t i = 0; i < count; i++) {
        const bool is_named = asked->base != NULL && strcmp(ranked[i].row->label, asked->base) == 0;
        const bool is_first = asked->base == NULL &&
                              (found == count || ranked[i].row->number < ranked[found].row->number);
        found = is_named || is_first ? i : found;
    }
    return found;
}

static bool tell_base(const struct reading *reading, const struct ranked *ranked, uint32_t count)
{
    const char *labels[LABELS_NAMED];
    const uint32_t named = count < LABELS_NAMED ? count : LABELS_NAMED;
    for (uint32_t i = 0; i < named; i++) {
        labels[i] = ranked[i].row->label;
    }
    diag_add(reading->diag, DIAG_USAGE, NULL,
             "--against: study %.8s has no point '%.60s' with a result", reading->asked->study->key,
             reading->asked->base);
    diag_help_nearest(reading->diag, diag_nearest(reading->asked->base, labels, named),
                      "name one as its table does");
    return false;
}

static void part(struct reading *reading, const struct store_row *rows, uint32_t count,
                 struct ranked *ranked, uint32_t *good)
{
    const struct store_row **lacking = arena_array(reading->arena, count + 1u, sizeof *lacking);
    for (uint32_t i = 0; i < count; i++) {
        if (store_row_is_good(&rows[i])) {
            ranked[(*good)++].row = &rows[i];
        } else {
            lacking[reading->to->lacking_count++] = &rows[i];
        }
    }
    reading->to->lacking = lacking;
}

static void rank(struct reading *reading, struct ranked *ranked, uint32_t count)
{
    const struct figure_metric *judge =
        judge_of(reading->arena, reading->asked->study->kind, ranked, count);
    for (uint32_t i = 0; i < count; i++) {
        const double value = store_metric_value(judge, ranked[i].row);
        ranked[i].key = is_absent(value) || !judge->is_higher_better ? value : -value;
    }
    qsort(ranked, count, sizeof *ranked, by_key);
    reading->to->judge = judge;
}

static uint32_t shown_of(const struct reported_asked *asked, uint32_t count)
{
    const uint32_t most = asked->most > 0        ? asked->most
                          : count > REPORTED_ALL ? REPORTED_BEST
                                                 : REPORTED_ALL;
    return count < most ? count : most;
}

/* The best of them, and behind these the base, where it is not among them. */
static uint32_t choose(struct reading *reading, const struct ranked *ranked, uint32_t count,
                       uint32_t base)
{
    const uint32_t best = shown_of(reading->asked, count);
    const bool is_behind = base >= best;
    reading->to->count = best + (is_behind ? 1 : 0);
    reading->to->left_out = count - reading->to->count;
    reading->to->points =
        arena_array(reading->arena, reading->to->count, sizeof *reading->to->points);
    reading->shown = arena_array(reading->arena, reading->to->count, sizeof *reading->shown);
    for (uint32_t i = 0; i < best; i++) {
        reading->shown[i] = *ranked[i].row;
    }
    if (is_behind) {
        reading->shown[best] = *ranked[base].row;
    }
    return is_behind ? best : base;
}

static bool tell_empty(const struct reported_asked *asked, struct diag *diag)
{
    diag_add(diag, DIAG_FAILURE, NULL, "study %s has no point yet: none of its %lld is stored",
             asked->study->key, (long long)asked->study->point_count);
    diag_help(diag, "the command that stored it goes on where it stopped");
    return false;
}

bool reported_read(struct arena *arena, const struct reported_asked *asked,
                   struct reported *reported, struct diag *diag)
{
    *reported = (struct reported){.study = asked->study};
    struct reading reading = {.arena = arena, .asked = asked, .to = reported, .diag = diag};
    uint32_t count = 0;
    const struct store_row *rows = store_points(asked->store, arena, asked->study->key, &count);
    if (count == 0) {
        return diag_has_error(diag) ? false : tell_empty(asked, diag);
    }
    struct ranked *ranked = arena_array(arena, count, sizeof *ranked);
    uint32_t good = 0;
    part(&reading, rows, count, ranked, &good);
    if (good == 0) {
        return true;
    }
    rank(&reading, ranked, good);
    const uint32_t place = place_of_base(asked, ranked, good);
    if (place == good) {
        return tell_base(&reading, ranked, good);
    }
    const uint32_t base = choose(&reading, ranked, good, place);
    const int64_t last = rows[count - 1].number; /* rows are in the order of their numbers */
    reading.study =
        (struct study){.title = asked->study->title,
                       .kind = asked->study->kind,
                       .points = arena_array(arena, (size_t)last + 1, sizeof *reading.study.points),
                       .count = (uint32_t)last + 1};
    put_points(&reading);
    put_against(&reading, base);
    return !diag_has_error(diag);
}
