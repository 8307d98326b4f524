/* It lets study/policy search, then prints what was stored, as the search of layouts does.
 */
#include "cli/study/policies.h"

#include "cli/progress.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/host.h"
#include "base/units.h"
#include "base/version.h"
#include "input/doc/doc.h"
#include "report/points.h"
#include "study/policy/policy_study.h"
#include "study/search/search_auto.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define POLICIES_SCHEMA "stoker.policies/1"

enum { PROGRESS_BYTES = 160 };

struct policies {
    struct session session;
    const struct doc_node *document;
    struct study_base base;
    struct policy_space space;
    enum policy_by by;
    uint32_t top;
    struct policy_found found;
    struct policy_point *points; /* of the session's study */
    struct progress progress;
    double host_s;
};

static const char *const by_words[POLICY_BY_COUNT_] = {"days", "cost", "energy", "goodput"};

/* ---- searching --------------------------------------------------------------------------- */

static void show_progress(void *context, uint32_t tried, uint32_t wanted)
{
    struct policies *policies = context;
    char text[PROGRESS_BYTES];
    if (!progress_is_due(&policies->progress)) {
        return;
    }
    snprintf(text, sizeof text, "%" PRIu32 " of %" PRIu32 " policies", tried, wanted);
    progress_show(text);
}

static struct policy_request request_of(struct policies *policies)
{
    return (struct policy_request){
        .document = policies->document,
        .base = &policies->base,
        .space = &policies->space,
        .by = policies->by,
        .folds = policies->session.options.folds,
        .top = policies->top,
        .on_policy = show_progress,
        .context = policies,
    };
}

/* --set of a key that is searched would change nothing. */
static void warn_overridden(const struct policies *policies)
{
    struct diag *diag = policies->session.options.cli->diag;
    for (uint32_t i = 0; i < policies->base.set_count; i++) {
        for (uint32_t a = 0; a < policies->space.axis_count; a++) {
            const char *path = policy_axis_paths[policies->space.axes[a].kind];
            const size_t length = strlen(path);
            const char *set = policies->base.sets[i];
            if (strncmp(set, path, length) == 0 && set[length] == '=') {
                diag_add(diag, DIAG_WARNING, NULL,
                         "--set %s changes only the scenario's own policy: the search itself sets "
                         "'%s'",
                         set, path);
                diag_help(diag, "say --set search.%s", set);
            }
        }
    }
}

static bool read_space(struct policies *policies)
{
    struct cli *cli = policies->session.options.cli;
    struct auto_layout found;
    const struct auto_hook hook = search_auto_hook(&policies->base);
    const struct scenario *scenario =
        auto_layout_resolve(cli->arena, policies->document, &hook, &found, cli->diag);
    policies->base = search_auto_base(cli->arena, &policies->base, &found);
    return scenario != NULL &&
           policy_space_read(cli->arena, policies->document, &policies->space, cli->diag) &&
           policy_check(scenario, policies->by, policies->document, cli->diag);
}

/* None makes progress, or none can be. */
static bool report_nothing(const struct policies *policies)
{
    const struct policy_found *found = &policies->found;
    struct diag *diag = policies->session.options.cli->diag;
    const struct policy *nearest = &found->policies[0];
    const struct doc_node *search = doc_find(policies->document, "search");
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

static bool expand(struct session *session)
{
    struct policies *policies = (struct policies *)session;
    struct cli *cli = session->options.cli;
    session->catalogue = options_catalogue(&session->options);
    policies->base = options_study_base(&session->options, &session->catalogue);
    if (!read_space(policies) || !session_begin(session)) {
        return false;
    }
    warn_overridden(policies);
    const struct policy_request request = request_of(policies);
    policies->progress = (struct progress){.cli = cli};
    const double begin_s = host_now_s();
    const bool is_good = policy_search(cli->arena, &request, &policies->found, cli->diag);
    policies->host_s = host_now_s() - begin_s;
    progress_end(&policies->progress);
    if (!is_good) {
        return false;
    }
    if (policies->found.good == 0) {
        return report_nothing(policies);
    }
    return policy_study(cli->arena, &request, &policies->found, &session->study, &policies->points,
                        cli->diag);
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

static void add_document(const struct policies *policies, struct sheet *sheet)
{
    static const struct field counts[] = {
        {"counts.good", FIELD_AT(struct policy_found, good)},
        {"counts.without_progress", FIELD_AT(struct policy_found, without_progress)},
        {"counts.impossible", FIELD_AT(struct policy_found, impossible)},
        {"counts.tied", FIELD_AT(struct policy_found, tied)},
        {"counts.tried", FIELD_AT(struct policy_found, tried)},
        {"histories", FIELD_AT(struct policy_found, histories)},
    };
    const struct policy_found *found = &policies->found;
    struct sheet *object = sheet_object(sheet, "policies");
    sheet_text(object, "by", by_words[policies->by]);
    sheet_text(object, "unit", policy_by_units[policies->by]);
    sheet_members(object, FIELD_LIST(counts), found);
    sheet_integer(object, "steps_simulated", (int64_t)found->steps_simulated);
    sheet_number(object, "best", found->policies[0].value);
    sheet_number(object, "host_s", policies->host_s);
    for (uint32_t i = POLICY_YOUNG; i < POLICY_NAMED_COUNT_; i++) {
        sheet_number(object,
                     arena_printf(sheet_arena(sheet), "%s_interval_s", policy_named_names[i]),
                     found->interval_s[i]);
    }
}

static struct sheet *add_table(const struct policies *policies, struct sheet *sheet)
{
    const struct session *session = &policies->session;
    const struct policy_space *space = &policies->space;
    const uint32_t count = space->axis_count + session->metrics.count + 4;
    struct field *fields = arena_array(session->options.cli->arena, count, sizeof *fields);
    struct field *field = fields;
    *field++ = (struct field){FIELD_LEFT("policy")};
    for (uint32_t i = 0; i < space->axis_count; i++) {
        *field++ = (struct field){FIELD_COUNT(last_word(policy_axis_paths[space->axes[i].kind]))};
    }
    for (uint32_t i = 0; i < session->metrics.count; i++) {
        *field++ = (struct field){FIELD_COUNT(store_metric_find(session->metrics.items[i])->head)};
    }
    *field++ = (struct field){FIELD_COUNT("behind the best")};
    *field++ = (struct field){FIELD_COUNT("2 std. errors")};
    *field++ = (struct field){FIELD_LEFT(NULL)};
    return sheet_table(sheet, NULL, fields, count);
}

/* "41 steps, 7.2 min" where steps are what was tried. */
static const char *value_of(struct arena *arena, const struct policy *policy,
                            enum policy_axis_kind kind, const char *text)
{
    char duration[32];
    if (kind != POLICY_EVERY || policy->every_s <= 0 || strstr(text, "step") == NULL) {
        return text;
    }
    return arena_printf(arena, "%s",
                        units_format_duration(policy->every_s, duration, sizeof duration));
}

static const char *share_of_best(struct arena *arena, const struct policies *policies, double value)
{
    const double best = fabs(policies->found.policies[0].value);
    return is_absent(value) || !(best > 0) ? NULL
                                           : arena_printf(arena, "%.3f %%", 100 * value / best);
}

static void add_row(const struct policies *policies, const struct store_row *row,
                    const struct policy_point *of, struct sheet *table)
{
    static const char *const names[POLICY_NAMED_COUNT_] = {"own", "Young", "Daly", "exact"};
    const struct session *session = &policies->session;
    const struct policy *policy = of->policy;
    struct arena *arena = session->options.cli->arena;
    const bool is_good = store_row_is_good(row);
    sheet_text(table, NULL,
               of->name < POLICY_NAMED_COUNT_ ? names[of->name]
                                              : arena_printf(arena, "%" PRIu32, of->rank));
    for (uint32_t i = 0; i < policies->space.axis_count; i++) {
        sheet_text(table, NULL,
                   value_of(arena, policy, policies->space.axes[i].kind, policy->texts[i]));
    }
    for (uint32_t i = 0; i < session->metrics.count; i++) {
        const struct figure_metric *metric = store_metric_find(session->metrics.items[i]);
        sheet_text(table, NULL, is_good ? points_metric(arena, metric, row) : NULL);
    }
    const bool is_best = policy == &policies->found.policies[0];
    sheet_text(table, NULL,
               is_good && !is_best ? share_of_best(arena, policies, policy->behind) : NULL);
    sheet_text(table, NULL,
               is_good && !is_best ? share_of_best(arena, policies, 2 * policy->error) : NULL);
    sheet_text(table, NULL,
               !is_good          ? points_reason(arena, row)
               : is_best         ? "the best"
               : policy->is_tied ? "as good"
                                 : "");
}

static void say_counts(const struct policies *policies, struct sheet *sheet)
{
    const struct policy_found *found = &policies->found;
    sheet_say(sheet,
              "\n%" PRIu32 " policies were tried by %s, %" PRIu32 " histories each with the same "
              "failures; %" PRIu64 " steps simulated",
              found->tried, by_words[policies->by], found->histories, found->steps_simulated);
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

static void say_range(const struct policies *policies, struct sheet *sheet)
{
    const struct policy *best = &policies->found.policies[0];
    char least[32], most[32];
    if (policies->space.range == NULL) {
        return;
    }
    sheet_say(sheet, "of the intervals tried with the best, from %s to %s are as good\n",
              units_format_duration(best->every_least_s, least, sizeof least),
              units_format_duration(best->every_most_s, most, sizeof most));
}

static void say_gain(const struct policies *policies, struct sheet *sheet)
{
    const struct policy *own = &policies->found.named[POLICY_OWN];
    struct arena *arena = policies->session.options.cli->arena;
    if (own->state != POLICY_GOOD) {
        sheet_say(sheet, "as the scenario has it the run cannot be done: %s\n", own->reason);
        return;
    }
    sheet_say(sheet, "the best gains %s +- %s over the scenario's own%s\n",
              share_of_best(arena, policies, own->behind),
              share_of_best(arena, policies, 2 * own->error),
              own->is_tied ? ": they cannot be told apart" : "");
}

static void say_intervals(const struct policies *policies, struct sheet *sheet)
{
    const struct policy_found *found = &policies->found;
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

static void choose_metrics(struct session *session)
{
    static const char *const usual[] = {"days", "goodput", "cost_usd", "energy_kwh",
                                        "interruptions"};
    if (session->metrics.count > 0) {
        return;
    }
    for (uint32_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        text_list_add(session->options.cli->arena, &session->metrics, usual[i]);
    }
}

static void add(struct session *session, struct sheet *sheet)
{
    const struct policies *policies = (const struct policies *)session;
    choose_metrics(session);
    add_document(policies, sheet);
    struct sheet *points = sheet_array(sheet, "points");
    struct sheet *table = add_table(policies, sheet);
    for (uint32_t i = 0; i < session->row_count; i++) {
        const struct store_row *row = &session->rows[i];
        const struct policy_point *of = &policies->points[row->number];
        const struct study_point *point = &session->study.points[row->number];
        struct sheet *object = points_add(points, row);
        sheet_text(object, "name",
                   of->name < POLICY_NAMED_COUNT_ ? policy_named_names[of->name] : NULL);
        sheet_number(object, "value", of->policy->value);
        sheet_number(object, "every_s", of->policy->every_s);
        add_difference(object, of->policy);
        sheet_texts(object, "set", point->sets, point->set_count);
        add_row(policies, row, of, table);
    }
    say_counts(policies, sheet);
    say_range(policies, sheet);
    say_gain(policies, sheet);
    say_intervals(policies, sheet);
}

int policies_main(struct session *session, const struct doc_node *document, enum policy_by by,
                  uint32_t top)
{
    static const struct session_command command = {POLICIES_SCHEMA, expand, NULL, add};
    const struct options *options = &session->options;
    if (by == POLICY_BY_COUNT_) {
        diag_add(options->cli->diag, DIAG_USAGE, NULL, "--by step: no policy changes the step");
        diag_help(options->cli->diag, "say --by days, cost, energy or goodput");
        return EXIT_USAGE;
    }
    if (!options_refuse(options, "gap", "a search of policies", "leave it out") ||
        !options_refuse(options, "shard slurm parallel write-found read-found",
                        "a search of policies", "it is one process; leave it out")) {
        return EXIT_USAGE;
    }
    struct policies policies = {.session = *session, .document = document, .by = by, .top = top};
    const int status = session_main(&policies.session, &command);
    policy_forget(&policies.found);
    return status;
}
