/* The command `stoker search`: the best layout of a space, with a certificate. It searches
 * (study/search/search), then lets the best be predicted and stored as a sweep's points, and prints
 * these.
 *
 * Ctrl-C is held back while it searches and asked for between batches: what was found is kept and
 * printed.
 */
#include "cli/anchor.h"
#include "cli/lacks.h"
#include "cli/progress.h"
#include "input/scenario.h"
#include "report/against_sheet.h"
#include "cli/study/policies.h"
#include "cli/study/session.h"
#include "report/near.h"
#include "report/points.h"
#include "study/search/search_part.h"
#include "study/search/search_software.h"
#include "study/search/search_space.h"
#include "study/search/search_study.h"

#include "bands/memory_errors.h"
#include "base/absent.h"
#include "base/arena.h"
#include "base/diag.h"
#include "base/host.h"
#include "base/version.h"
#include "base/workers.h"
#include "input/scenario_load.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SEARCH_SCHEMA "stoker.search/1"

/* The last digits of a study's key are of the search; the first, by which it is named, of what was
 * found. */
enum { SEARCH_KEY_AT = 8, SEARCH_KEY_DIGITS = 8 };

enum { TOP_DEFAULT = 10, TOP_MAX = 1000 };

struct searcher {
    struct session session;
    uint32_t by; /* enum search_by, or BY_GOODPUT */
    double gap;
    int64_t top;
    struct search_space space;
    const struct search_require *require;      /* of these; NULL: nothing is required */
    const struct memory_errors *memory_errors; /* NULL: near misses are not looked for */
    struct search_result result;
    const struct search_found *chosen; /* the study's points: of the result, then what it lost */
    uint32_t chosen_count, lost_count;
    struct progress progress;
    double begin_s, host_s;
    struct search_part *parts;   /* [part_count], of those that are there their number is known */
    uint32_t part_count;         /* 0: nothing is joined */
    const struct doc_node *read; /* the file, its anchor worked out */
    const struct doc_node *document; /* the same with --set search.x=y */
    const char *write_found;         /* of a shard; NULL: its usual place */
    struct text_list read_found;     /* parts to be joined */
};

/* What layouts are judged by, and what policies are beside it. */
enum { BY_GOODPUT = SEARCH_BY_COUNT_, BY_COUNT };
static const char *const by_names[BY_COUNT] = {"step", "days", "cost", "energy", "goodput"};

static const struct searcher defaults = {.top = TOP_DEFAULT, .session.options.folds = true};

static const struct command_option own_options[] = {
    {"by", 0, "step|days|cost|energy|goodput",
     "What is to be least (default: step; of policies days), or goodput, of policies, most",
     OPTION_CHOICE(struct searcher, by, by_names, BY_COUNT)},
    {"gap", 0, "PERCENT",
     "End when no layout can be better by more than that, as 1% (default: 0, exact)",
     OPTION_QUANTITY(struct searcher, gap, DIM_FRACTION, 0.0, 1.0)},
    {"top", 0, "N",
     "How many of the best are shown (default: 10); stored with those that nothing beats in "
     "both memory and value",
     OPTION_COUNT(struct searcher, top, 1, TOP_MAX)},
    MANY_OPTIONS(struct searcher, session.many,
                 "Only part K of N of the space, counted from 1, for several machines: what it "
                 "finds goes to the file of --write-found, and --read-found of all parts gives "
                 "the best of all",
                 "families of layouts"),
    {"write-found", 0, "FILE",
     "Of a shard: write what it found, for --read-found (default: "
     "results/search-K-of-N.found)",
     OPTION_TEXT(struct searcher, write_found)},
    {"read-found", 0, "FILE",
     "Take parts from what --write-found wrote, and search the others; may be repeated",
     OPTION_LIST(struct searcher, read_found)},
    {0},
};

/* ---- while it runs --------------------------------------------------------------- */

/* A script that runs in the background ignores it, and so does what it starts. */
static bool heeds_interrupts(void)
{
    struct sigaction action;
    return sigaction(SIGINT, NULL, &action) != 0 || action.sa_handler != SIG_IGN;
}

/* While it is held back an ignored one is pending, too. */
static bool is_interrupted(void)
{
    sigset_t pending;
    return heeds_interrupts() && sigpending(&pending) == 0 && sigismember(&pending, SIGINT) == 1;
}

static bool goes_on(void *context, const struct search_state *state)
{
    struct searcher *searcher = context;
    progress_search(&searcher->progress, state);
    return !is_interrupted();
}

static struct search_request request_of(struct searcher *searcher)
{
    return (struct search_request){
        .space = &searcher->space,
        .by = (enum search_by)searcher->by,
        .gap = searcher->gap,
        .near = searcher->memory_errors != NULL ? searcher->memory_errors->near : 0,
        .jobs = (uint32_t)searcher->session.jobs,
        .shard = searcher->session.many.shard,
        .require = searcher->require,
        .folds = searcher->session.options.folds,
        .goes_on = goes_on,
        .context = searcher,
    };
}

/* The parts that are there, and those that are not, which are searched here. */
static void search_parts(struct searcher *searcher)
{
    struct arena *arena = searcher->session.options.cli->arena;
    const uint32_t count = searcher->part_count;
    struct search_result *results = arena_array(arena, count, sizeof *results);
    struct search_request request = request_of(searcher);
    for (uint32_t i = 0; i < count; i++) {
        const struct search_part *part = &searcher->parts[i];
        request.shard = (struct shard){i + 1, count};
        if (part->shard.number > 0) {
            results[i] = part->result;
        } else {
            search_run(arena, &request, &results[i]);
        }
    }
    search_join(arena, results, count, searcher->gap, &searcher->result);
}

/* With Ctrl-C held back; one that came is taken. */
static void search(struct searcher *searcher)
{
    const struct search_request request = request_of(searcher);
    sigset_t interrupt;
    sigset_t before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &before);
    searcher->progress = (struct progress){.cli = searcher->session.options.cli,
                                           .unit = search_by_units[searcher->by]};
    searcher->begin_s = host_now_s();
    if (searcher->part_count > 0) {
        search_parts(searcher);
    } else {
        search_run(searcher->session.options.cli->arena, &request, &searcher->result);
    }
    searcher->host_s = host_now_s() - searcher->begin_s;
    if (is_interrupted()) {
        int taken = 0;
        sigwait(&interrupt, &taken);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    progress_end(&searcher->progress);
}

/* ---- what can be wrong ----------------------------------------------------------- */

static bool check_judgement(const struct searcher *searcher)
{
    struct diag *diag = searcher->session.options.cli->diag;
    if (searcher->by == BY_GOODPUT) {
        diag_add(diag, DIAG_INPUT, NULL, "--by goodput is of policies, and this searches layouts");
        diag_help(diag, "a policy is a key of the run: search: {run: {checkpoint: {every: "
                        "1 min..60 min}}}");
        return false;
    }
    return search_check(searcher->space.base, (enum search_by)searcher->by, diag);
}

/* What would be best of what misses nearly, in the help of a message that nothing fits. */
static void help_near(const struct searcher *searcher)
{
    const struct search_near *near = &searcher->result.near;
    struct cli *cli = searcher->session.options.cli;
    if (near->count == 0) {
        return;
    }
    const struct search_found *best = &near->found[0];
    const double limit_bytes = searcher->space.base->gpu.memory_bytes;
    diag_help(cli->diag, "but for memory the best were %s, %.4g %s: %.1f of %.1f GB, over %s",
              search_layout_label(cli->arena, &searcher->space, &best->layout), best->value,
              search_by_units[searcher->by], best->memory_bytes / 1e9, limit_bytes / 1e9,
              near_words(cli->arena, searcher->memory_errors,
                         memory_over(best->memory_bytes, limit_bytes)));
}

/* Nothing was found: stopped too soon, nothing goes together, or nothing fits. */
static bool report_nothing(const struct searcher *searcher)
{
    const struct scenario *base = searcher->space.base;
    const struct search_result *result = &searcher->result;
    struct cli *cli = searcher->session.options.cli;
    struct diag *diag = cli->diag;
    if (result->is_ended) {
        return diag_add(diag, DIAG_FAILURE, NULL,
                        "interrupted before a layout that fits was found");
    }
    if (result->failure != NULL) {
        return diag_add(diag, DIAG_FAILURE, NULL, "no layout was simulated: %s", result->failure);
    }
    if (result->counts.layouts == 0 && result->lacking.layouts > 0) {
        return lacks_refuse(&searcher->session.options, base, searcher->document, &result->lacking);
    }
    if (result->counts.layouts == 0) {
        diag_add(diag, DIAG_INFEASIBLE, NULL,
                 "no layout of the space has sizes that go together on %lld GPUs",
                 (long long)base->gpus);
        diag_help(diag,
                  "widen the axes of search:; degrees must divide the GPUs, and "
                  "data-parallel replicas times batch.micro the batch of %lld",
                  (long long)base->batch.global);
        return false;
    }
    if (result->counts.missed > 0) { /* of parts that others searched */
        return diag_add(diag, DIAG_INFEASIBLE, NULL,
                        "none of %" PRIu64 " layouts that fit meets %s", result->counts.missed,
                        searcher->require->text);
    }
    if (searcher->require != NULL && result->counts.by_bound > 0) {
        return diag_add(diag, DIAG_INFEASIBLE, NULL,
                        "no layout meets %s: all that may fit are left out by their bound",
                        searcher->require->text);
    }
    diag_add(diag, DIAG_INFEASIBLE, NULL, "none of %" PRIu64 " layouts fits into memory%s",
             result->counts.layouts, near_margin_clause(cli->arena, base->memory_margin));
    diag_help(diag, "the nearest is %s: %s",
              search_layout_label(cli->arena, &searcher->space, &result->nearest),
              search_lack(cli->arena, &searcher->space, &result->nearest));
    help_near(searcher);
    return false;
}

static struct search_part_origin origin_of(struct searcher *searcher)
{
    const struct search_request request = request_of(searcher);
    return (struct search_part_origin){
        stoker_build(), search_part_key(searcher->session.options.cli->arena, &request)};
}

static bool take_part(struct searcher *searcher, const struct search_part *part, const char *path)
{
    struct cli *cli = searcher->session.options.cli;
    if (searcher->parts == NULL) {
        searcher->part_count = part->shard.count;
        searcher->parts = arena_array(cli->arena, part->shard.count, sizeof *searcher->parts);
        memset(searcher->parts, 0, part->shard.count * sizeof *searcher->parts);
    }
    if (part->shard.count != searcher->part_count) {
        const struct place place = {.file = path};
        diag_add(cli->diag, DIAG_INPUT, &place,
                 "this part is one of %" PRIu32 ", those before it of %" PRIu32, part->shard.count,
                 searcher->part_count);
        diag_help(cli->diag, "join the shards of one division");
        return false;
    }
    if (part->result.counts.failed == 0) {               /* else it is tried again */
        searcher->parts[part->shard.number - 1] = *part; /* again the same, if it comes twice */
    }
    return true;
}

static bool read_parts(struct searcher *searcher)
{
    struct cli *cli = searcher->session.options.cli;
    const struct search_part_origin origin = origin_of(searcher);
    uint32_t known = 0;
    for (uint32_t i = 0; i < searcher->read_found.count; i++) {
        const char *path = searcher->read_found.items[i];
        struct search_part part;
        if (!search_part_read(cli->arena, path, &origin, &part, cli->diag) ||
            !take_part(searcher, &part, path)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < searcher->part_count; i++) {
        known += searcher->parts[i].shard.number > 0;
    }
    if (known < searcher->part_count) {
        diag_add(cli->diag, DIAG_NOTE, NULL,
                 "%" PRIu32 " of %" PRIu32
                 " parts are in none of the files of --read-found, or had "
                 "lost layouts; they are searched here",
                 searcher->part_count - known, searcher->part_count);
    }
    return true;
}

static bool read_required(struct searcher *searcher)
{
    struct cli *cli = searcher->session.options.cli;
    if (!session_require(&searcher->session, &searcher->document, 1) ||
        !requirements_check_run(&searcher->session.requirements,
                                searcher->space.base->run_tokens > 0, cli->diag)) {
        return false;
    }
    searcher->require = requirements_of_search(&searcher->session.requirements, cli->arena,
                                               search_by_metrics[searcher->by]);
    return true;
}

/* The space, of a scenario whose own layout need not be possible. */
static bool read_space(struct searcher *searcher, struct study_base *study)
{
    struct session *session = &searcher->session;
    const struct options *options = &session->options;
    struct cli *cli = options->cli;
    session->catalogue = options_catalogue(options);
    *study = options_study_base(options, &session->catalogue);
    searcher->memory_errors = memory_errors_open(cli->arena, &session->catalogue, cli->diag);
    if (!search_document(cli->arena, searcher->read, study, &searcher->document, cli->diag)) {
        return false;
    }
    const struct scenario *scenario = search_base(cli->arena, searcher->document, study, cli->diag);
    if (scenario == NULL ||
        !search_space_read(cli->arena, searcher->document, scenario, &searcher->space, cli->diag)) {
        return false;
    }
    if (study->any_software) {
        search_software_lift(&searcher->space);
    }
    return check_judgement(searcher) && read_required(searcher);
}

/* The best; where none meets what is required, those that miss least. */
static const struct search_found *best_of(const struct searcher *searcher, uint32_t *count)
{
    const struct search_result *result = &searcher->result;
    if (result->found_count > 0) {
        return search_choose(searcher->session.options.cli->arena, result, (uint32_t)searcher->top,
                             count);
    }
    *count = result->missed_count < searcher->top ? result->missed_count : (uint32_t)searcher->top;
    return result->missed;
}

/* What was lost has no value, and takes its place behind the others: it may be better than all. */
static void choose(struct searcher *searcher)
{
    const struct search_result *result = &searcher->result;
    struct arena *arena = searcher->session.options.cli->arena;
    const struct search_found *best = best_of(searcher, &searcher->chosen_count);
    struct search_found *all =
        arena_array(arena, searcher->chosen_count + (size_t)result->lost_count + 1, sizeof *all);
    memcpy(all, best, searcher->chosen_count * sizeof *all);
    for (uint32_t i = 0; i < result->lost_count; i++) {
        all[searcher->chosen_count + i] = (struct search_found){
            .layout = result->lost[i], .value = ABSENT, .least = ABSENT, .step_s = ABSENT};
    }
    searcher->chosen = all;
    searcher->lost_count = result->lost_count;
}

/* Near misses change nothing of what fits. */
static void name_study(struct searcher *searcher)
{
    struct search_request request = request_of(searcher);
    request.near = 0;
    const char *key = search_part_key(searcher->session.options.cli->arena, &request);
    memcpy(searcher->session.study.key + SEARCH_KEY_AT, key + SEARCH_KEY_AT, SEARCH_KEY_DIGITS);
}

static bool expand(struct session *session)
{
    struct searcher *searcher = (struct searcher *)session;
    const struct options *options = &session->options;
    struct cli *cli = options->cli;
    struct study_base base;
    if (!read_space(searcher, &base) || !read_parts(searcher) || !session_begin(session)) {
        return false;
    }
    search(searcher);
    const struct search_result *result = &searcher->result;
    if (search_first(result) == NULL) {
        return report_nothing(searcher);
    }
    choose(searcher);
    const uint32_t count = searcher->chosen_count + searcher->lost_count;
    if (!search_study(cli->arena, searcher->document, &base, &searcher->space, searcher->chosen,
                      count, &session->study, cli->diag)) {
        return false;
    }
    for (uint32_t i = searcher->chosen_count; i < count; i++) {
        session->study.points[i].failure = result->failure;
    }
    name_study(searcher);
    return true;
}

/* Of the same search, stored when it had lost layouts: this one stands in its place. */
static void forget_lost(struct session *session)
{
    struct cli *cli = session->options.cli;
    const struct study *study = &session->study;
    uint32_t count = 0;
    const struct store_study_row *rows = store_studies(session->store, cli->arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        const bool is_of_search =
            strcmp(rows[i].kind, study->kind) == 0 &&
            strcmp(rows[i].key + SEARCH_KEY_AT, study->key + SEARCH_KEY_AT) == 0;
        if (is_of_search && rows[i].failed > 0 && strcmp(rows[i].key, study->key) != 0 &&
            store_forget_study(session->store, rows[i].key, cli->diag)) {
            diag_add(cli->diag, DIAG_NOTE, NULL,
                     "study %.8s, of this search when it had lost %lld layout%s, is replaced",
                     rows[i].key, (long long)rows[i].failed, rows[i].failed == 1 ? "" : "s");
        }
    }
}

/* ---- what is said ---------------------------------------------------------------- */

static void add_document(const struct searcher *searcher, struct sheet *sheet)
{
    static const struct field counts[] = {
        {"counts.layouts", FIELD_AT(struct search_result, counts.layouts)},
        {"counts.memory_of_line", FIELD_AT(struct search_result, counts.by_line)},
        {"counts.memory", FIELD_AT(struct search_result, counts.by_memory)},
        {"counts.memory_counted", FIELD_AT(struct search_result, counts.by_count)},
        {"counts.bound", FIELD_AT(struct search_result, counts.by_bound)},
        {"counts.missed", FIELD_AT(struct search_result, counts.missed)},
        {"counts.simulated", FIELD_AT(struct search_result, counts.simulated)},
        {"counts.failed", FIELD_AT(struct search_result, counts.failed)},
        {"counts.lacking", FIELD_AT(struct search_result, lacking.layouts)},
        {"families", FIELD_AT(struct search_result, families)},
    };
    static const struct field near[] = {
        {"near.layouts", FIELD_AT(struct search_result, near.counts.layouts)},
        {"near.memory_counted", FIELD_AT(struct search_result, near.counts.by_count)},
        {"near.bound", FIELD_AT(struct search_result, near.counts.by_bound)},
        {"near.simulated", FIELD_AT(struct search_result, near.counts.simulated)},
        {"near.failed", FIELD_AT(struct search_result, near.counts.failed)},
        {"near.is_certified", FIELD_AT(struct search_result, near.is_certified)},
    };
    const struct search_result *result = &searcher->result;
    struct sheet *object = sheet_object(sheet, "search");
    sheet_text(object, "by", search_by_names[searcher->by]);
    sheet_text(object, "unit", search_by_units[searcher->by]);
    sheet_number(object, "gap_asked", searcher->gap);
    sheet_members(object, FIELD_LIST(counts), result);
    sheet_number(object, "best", result->best);
    sheet_number(object, "least_left", result->least);
    sheet_number(object, "gap", result->gap);
    sheet_bool(object, "is_certified", result->is_certified);
    sheet_bool(object, "is_interrupted", result->is_ended);
    sheet_number(object, "host_s", searcher->host_s);
    sheet_text(object, "left_out",
               search_software_left_out(sheet_arena(sheet), &searcher->space, result));
    sheet_text(object, "fixed", search_space_staying(sheet_arena(sheet), &searcher->space));
    near_add_errors(searcher->memory_errors, object);
    if (searcher->memory_errors != NULL) {
        sheet_members(object, FIELD_LIST(near), result);
    }
}

/* What is left free, and what that costs. */
static void say_margin(const struct searcher *searcher, struct sheet *sheet)
{
    const struct search_result *result = &searcher->result;
    const struct scenario *base = searcher->space.base;
    const double within = search_near_within(&result->near, base->gpu.memory_bytes);
    sheet_number(sheet, "memory_margin", base->memory_margin);
    sheet_number(sheet, "margin_costs", near_margin_costs(result->best, within));
    if (base->memory_margin > 0) {
        sheet_say(sheet, "%.2g %% of a GPU's memory is left free (memory.margin), %s\n",
                  100 * base->memory_margin,
                  near_margin_words(sheet_arena(sheet), result->best, within));
    }
}

/* What misses nearly, and whether the best fits hardly. */
static void add_near(const struct searcher *searcher, struct sheet *sheet)
{
    const struct search_result *result = &searcher->result;
    struct arena *arena = sheet_arena(sheet);
    const double limit_bytes = searcher->space.base->gpu.memory_bytes;
    uint32_t count = 0;
    const struct search_found *chosen = search_choose_near(arena, &result->near, &count);
    struct near_miss *misses = arena_array(arena, count + 1u, sizeof *misses);
    for (uint32_t i = 0; i < count; i++) {
        struct search_sets *sets = arena_alloc(arena, sizeof *sets);
        *sets = search_layout_sets(arena, &chosen[i].layout);
        misses[i] = (struct near_miss){
            .layout = search_layout_label(arena, &searcher->space, &chosen[i].layout),
            .sets = sets->items,
            .set_count = sets->count,
            .value = chosen[i].value,
            .step_s = chosen[i].step_s,
            .gain = result->best / chosen[i].value,
            .memory_bytes = chosen[i].memory_bytes,
            .limit_bytes = limit_bytes,
            .is_certified = result->near.is_certified,
        };
    }
    const double over = memory_over(searcher->chosen[0].memory_bytes, limit_bytes);
    const bool is_near = memory_errors_are_near(searcher->memory_errors, over);
    sheet_bool(sheet, "best_fits_within_memory_error", is_near);
    if (is_near) {
        sheet_say(sheet, "the best fits by %.2g %%, less than the error of memory, %.1f %%\n",
                  -100 * over, 100 * searcher->memory_errors->near);
    }
    say_margin(searcher, sheet);
    near_add(searcher->memory_errors, misses, count, sheet);
}

/* What all the layouts shown have in common, of what was searched. */
static void say_common(const struct searcher *searcher, struct sheet *sheet)
{
    const struct study_point *first = &searcher->session.study.points[0];
    struct arena *arena = searcher->session.options.cli->arena;
    const struct relayout *layout = &searcher->chosen[0].layout;
    const char *text = NULL;
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        bool is_column = search_axis_is_fixed(&searcher->space, (enum search_axis)i);
        for (uint32_t k = 0; k < first->axis_count; k++) {
            is_column = is_column || strcmp(first->axes[k], search_axis_paths[i]) == 0;
        }
        is_column = is_column || search_layout_set(arena, layout, (enum search_axis)i) == NULL;
        if (!is_column) {
            const char *value = search_layout_value(arena, layout, (enum search_axis)i);
            text =
                arena_printf(arena, "%s%s%s %s", text != NULL ? text : "", text != NULL ? ", " : "",
                             search_axis_word(search_axis_paths[i]), value);
        }
    }
    if (text != NULL) {
        sheet_say(sheet, "all: %s\n", text);
    }
}

static struct sheet *add_table(const struct session *session, bool has_ratios, struct sheet *sheet)
{
    const struct study_point *first = &session->study.points[0];
    const struct requirements *requirements = &session->requirements;
    const uint32_t count = first->axis_count + session->metrics.count + 4;
    struct field *fields = arena_array(session->options.cli->arena, count, sizeof *fields);
    struct field *field = fields;
    *field++ = (struct field){FIELD_COUNT("rank")};
    for (uint32_t i = 0; i < first->axis_count; i++) {
        *field++ = (struct field){FIELD_COUNT(search_axis_word(first->axes[i]))};
    }
    for (uint32_t i = 0; i < session->metrics.count; i++) {
        *field++ = (struct field){FIELD_COUNT(store_metric_find(session->metrics.items[i])->head)};
    }
    *field++ = (struct field){FIELD_LEFT(has_ratios ? "worse than the best" : NULL)};
    *field++ = (struct field){FIELD_LEFT(required_head(requirements))};
    *field++ = (struct field){FIELD_LEFT("bound by, of the critical path")};
    return sheet_table(sheet, NULL, fields, count);
}

static void add_row(const struct session *session, uint32_t number, const struct against *against,
                    struct sheet *table)
{
    struct arena *arena = session->options.cli->arena;
    const struct store_row *row = &session->rows[number];
    const bool is_good = store_row_is_good(row);
    sheet_text(table, NULL, arena_printf(arena, "%" PRIu32, number + 1));
    for (uint32_t i = 0; i < row->axis_count; i++) {
        sheet_text(table, NULL, row->value_texts[i]);
    }
    for (uint32_t i = 0; i < session->metrics.count; i++) {
        const struct figure_metric *metric = store_metric_find(session->metrics.items[i]);
        sheet_text(table, NULL, is_good ? points_metric(arena, metric, row) : NULL);
    }
    const struct requirements *requirements = &session->requirements;
    sheet_text(table, NULL, against->verdict);
    sheet_text(table, NULL, required_cell(requirements, row, arena));
    sheet_text(table, NULL, is_good ? row->bound_by : points_reason(arena, row));
}

static void say_counts(const struct searcher *searcher, const char *left_out, struct sheet *sheet)
{
    const struct search_result *result = &searcher->result;
    const struct search_counts *counts = &result->counts;
    const char *missed = searcher->require == NULL
                             ? ""
                             : arena_printf(sheet_arena(sheet), "%" PRIu64 " miss %s, ",
                                            counts->missed, searcher->require->text);
    sheet_say(sheet,
              "\n%" PRIu64 " layouts: %" PRIu64 " do not fit (%" PRIu64 " with their line, %" PRIu64
              " by their own least, %" PRIu64 " as counted), %" PRIu64 " %s, %s%" PRIu64
              " simulated\n%s%s",
              counts->layouts, counts->by_line + counts->by_memory + counts->by_count,
              counts->by_line, counts->by_memory, counts->by_count, counts->by_bound,
              result->is_ended ? "not yet looked at" : "left out by their bound", missed,
              counts->simulated, left_out != NULL ? left_out : "", left_out != NULL ? "\n" : "");
}

/* "space", "part of the space that meets days <= 60". */
static const char *space_text(const struct searcher *searcher, struct arena *arena)
{
    const char *space = searcher->session.many.shard.count > 0 ? "part of the space" : "space";
    return searcher->require == NULL
               ? space
               : arena_printf(arena, "%s that meets %s", space, searcher->require->text);
}

static void say_certificate(const struct searcher *searcher, struct sheet *sheet)
{
    const struct search_result *result = &searcher->result;
    const struct search_counts *counts = &result->counts;
    const char *unit = search_by_units[searcher->by];
    const char *by = search_by_names[searcher->by];
    const char *space = space_text(searcher, sheet_arena(sheet));
    say_counts(searcher, search_software_left_out(sheet_arena(sheet), &searcher->space, result),
               sheet);
    if (result->found_count == 0 && counts->missed > 0) {
        sheet_say(sheet, "%s: no layout that fits into memory meets %s\n",
                  result->is_certified ? "certificate" : "without a certificate",
                  searcher->require->text);
    } else if (result->found_count == 0) {
        sheet_say(sheet, "%s: no layout of this %s fits into memory\n",
                  result->is_certified ? "certificate" : "without a certificate", space);
    } else if (result->is_certified && result->gap <= 0) {
        sheet_say(sheet, "certificate: no layout of this %s has less than %.6g %s (%s)\n", space,
                  result->best, unit, by);
    } else {
        sheet_say(sheet,
                  "%s: no layout of this %s is better than %.6g %s (%s) by more than %.3g %%\n",
                  result->is_certified ? "certificate"
                  : result->is_ended   ? "so far"
                                       : "without a certificate",
                  space, result->best, unit, by, 100 * result->gap);
    }
    const char *staying = search_space_staying(sheet_arena(sheet), &searcher->space);
    if (staying != NULL) {
        sheet_say(sheet, "fixed, as search: names none of them: %s\n", staying);
    }
    if (counts->failed > 0) {
        sheet_say(sheet, "but for %" PRIu64 " that failed, any of which may be better: %s\n",
                  counts->failed, result->failure);
    }
}

/* Each point was simulated twice, here and for the store. */
static void check_points(const struct searcher *searcher)
{
    const struct session *session = &searcher->session;
    for (uint32_t i = 0; i < session->row_count; i++) {
        const struct store_row *row = &session->rows[i];
        const struct search_found *found = &searcher->chosen[row->number];
        sim_assert(!store_row_is_good(row) || is_absent(found->step_s) ||
                   fabs(row->step_s - found->step_s) <= 1e-9 * row->step_s);
    }
}

static void add(struct session *session, struct sheet *sheet)
{
    const struct searcher *searcher = (const struct searcher *)session;
    (void)session_choose_metrics(session, USUAL_IN_SWEEP);
    check_points(searcher);
    const struct against *against = session_against(session, &session->rows[0]);
    const bool has_ratios = against_are_known(against, session->row_count);
    add_document(searcher, sheet);
    say_common(searcher, sheet);
    struct sheet *points = sheet_array(sheet, "points");
    struct sheet *table = add_table(session, has_ratios, sheet);
    for (uint32_t i = 0; i < session->row_count; i++) {
        struct sheet *point = points_add(points, &session->rows[i]);
        const struct search_found *found = &searcher->chosen[session->rows[i].number];
        const struct study_point *of = &session->study.points[session->rows[i].number];
        required_add_point(&searcher->session.requirements, point, &session->rows[i]);
        sheet_number(point, "value", found->value);
        sheet_number(point, "least_value", found->least);
        sheet_texts(point, "set", of->sets, of->set_count);
        const bool is_of_top = i < searcher->top && i < searcher->chosen_count;
        sheet_bool(point, "is_of_top", is_of_top);
        against_add(point, &against[i]);
        if (is_of_top) {
            add_row(session, i, &against[i], table);
        }
    }
    say_certificate(searcher, sheet);
    add_near(searcher, sheet);
    if (has_ratios) {
        against_say(sheet, against, session->row_count);
    }
    session_add_required(session, against, sheet);
    if (searcher->result.is_ended) {
        diag_add(session->options.cli->diag, DIAG_FAILURE, NULL,
                 "interrupted: what was found until then is kept");
    }
}

/* ---- many machines ----------------------------------------------------------------- */

static int print_script(struct searcher *searcher)
{
    struct options *options = &searcher->session.options;
    struct arena *arena = options->cli->arena;
    struct study_base base;
    if (!options_refuse(options, "shard write-found read-found", "a script",
                        "leave it out: the script has it for each shard")) {
        return EXIT_USAGE;
    }
    if (!read_space(searcher, &base)) {
        return EXIT_INPUT;
    }
    const struct shard_script script = {
        .piece_count = search_family_count(&searcher->space),
        .pieces = "families of layouts",
        .folder = arena_printf(arena, "%s.search-%.8s", options->db_path, origin_of(searcher).key),
        .suffix = ".found",
        .write = "--write-found=",
        .read = "--read-found=",
        .join = "search",
        .join_words = launch_words(options, " slurm parallel jobs "),
    };
    return launch_print(options, &searcher->session.many, &script,
                        " db no-db top plot output metric json ");
}

/* What a shard says: its own certificate. */
static void print_part(const struct searcher *searcher, const char *path)
{
    const struct options *options = &searcher->session.options;
    struct sheet *sheet = sheet_new(options->cli->arena, SEARCH_SCHEMA);
    const char *shard = shards_text(options->cli->arena, searcher->session.many.shard);
    sheet_text(sheet, "version", stoker_version());
    sheet_text(sheet, "build", stoker_build());
    sheet_text(sheet, "shard", shard);
    sheet_text(sheet, "found", path);
    add_document(searcher, sheet);
    sheet_say(sheet, "part %s of the space: %s\n", shard, path);
    say_certificate(searcher, sheet);
    options_print(options, sheet);
}

static int run_shard(struct searcher *searcher)
{
    const struct options *options = &searcher->session.options;
    struct cli *cli = options->cli;
    struct study_base base;
    const struct shard shard = searcher->session.many.shard;
    const char *path =
        searcher->write_found != NULL
            ? searcher->write_found
            : arena_printf(cli->arena, "results/search-%" PRIu32 "-of-%" PRIu32 ".found",
                           shard.number, shard.count);
    if (!read_space(searcher, &base)) {
        return EXIT_INPUT;
    }
    search(searcher);
    if (searcher->result.is_ended) {
        diag_add(cli->diag, DIAG_FAILURE, NULL, "interrupted: a shard is written when it is done");
        return EXIT_FAILED;
    }
    if (diag_has(cli->diag, DIAG_FAILURE)) {
        diag_add(cli->diag, DIAG_NOTE, NULL,
                 "no part is written: it would lack what could not be read; run it again");
        return EXIT_FAILED;
    }
    const struct search_part part = {shard, searcher->result};
    const struct search_part_origin origin = origin_of(searcher);
    if (!search_part_write(cli->arena, &part, &origin, path, cli->diag)) {
        return EXIT_FAILED;
    }
    print_part(searcher, path);
    return searcher->result.counts.failed > 0 ? EXIT_FAILED_POINTS : 0;
}

static bool check_many(const struct searcher *searcher)
{
    const struct options *options = &searcher->session.options;
    if (searcher->session.many.shard.count > 0) {
        return options_refuse(options, "plot size output metric top db no-db read-found",
                              "a shard, which lacks the other layouts",
                              "ask for it where the shards are joined by --read-found");
    }
    return options_refuse(options, "write-found", "a whole search, which stores the best",
                          "add --shard K/N");
}

/* What is required of a layout is none of a policy's. */
static bool check_policies(const struct searcher *searcher, const struct doc_node *document)
{
    const struct options *options = &searcher->session.options;
    const struct doc_node *required = doc_find(document, "require");
    if (required != NULL) {
        diag_add(options->cli->diag, DIAG_NOTE, &required->key_place,
                 "a search of policies does not look at 'require'");
    }
    return options_refuse(options, "require", "a search of policies",
                          "leave it out; `stoker sweep` looks at what is required");
}

/* A policy, whose search this is not: then its status is set. */
static bool is_of_policies(struct searcher *searcher, int *status)
{
    static const enum policy_by kinds[BY_COUNT] = {
        [SEARCH_BY_STEP] = POLICY_BY_COUNT_, [SEARCH_BY_DAYS] = POLICY_BY_DAYS,
        [SEARCH_BY_COST] = POLICY_BY_COST,   [SEARCH_BY_ENERGY] = POLICY_BY_ENERGY,
        [BY_GOODPUT] = POLICY_BY_GOODPUT,
    };
    const struct options *options = &searcher->session.options;
    struct arena *arena = options->cli->arena;
    struct diag *unheard = diag_new(arena); /* whoever reads it next hears of what is wrong */
    struct study_base base = {.sets = options->sets.items, .set_count = options->sets.count};
    const struct doc_node *document = NULL;
    if (!search_document(arena, searcher->read, &base, &document, unheard) ||
        !policy_is_asked(arena, document)) {
        return false;
    }
    if (!check_policies(searcher, document)) {
        *status = EXIT_USAGE;
        return true;
    }
    const bool is_said = options_given(options, "by");
    *status =
        policies_main(&searcher->session, document, is_said ? kinds[searcher->by] : POLICY_BY_DAYS,
                      (uint32_t)searcher->top);
    return true;
}

static int run(struct options *options)
{
    static const struct session_command command = {SEARCH_SCHEMA, expand, forget_lost, add};
    struct searcher *searcher = (struct searcher *)options;
    int policies_status = 0;
    searcher->read = anchor_load_document(options, options->arguments.items[0]);
    if (searcher->read == NULL) {
        return diag_exit_status(options->cli->diag);
    }
    if (is_of_policies(searcher, &policies_status)) {
        return policies_status;
    }
    if (launch_is_wanted(options)) {
        return print_script(searcher);
    }
    if (!check_many(searcher)) {
        return EXIT_USAGE;
    }
    if (searcher->session.many.shard.count > 0) {
        return run_shard(searcher);
    }
    const int status = session_main(&searcher->session, &command);
    return status == 0 && searcher->result.counts.failed > 0 ? EXIT_FAILED_POINTS : status;
}

const struct command command_search = {
    .name = "search",
    .summary = "the best layout of a space, with a certificate that none is better",
    .arguments = "FILE",
    .about =
        "Looks through all layouts of the scenario's search: (without it all that divide; some "
        "axes, as cp_type, stay unless named, which is said), "
        "leaves out what does not fit into memory and what a lower bound shows to be worse, "
        "simulates the rest best bound first, and ends when nothing left can be better. The "
        "best are stored like points of a sweep. What misses a GPU's memory by less than "
        "predictions of it are off (models/memory.csv) is searched, too, and shown apart where "
        "it would be better. Ctrl-C ends it with what was found. `stoker "
        "help search.parallel` and those of batch, recompute and offload say what it takes. "
        "Where search: names keys of the run, it looks for the best policy instead, of a "
        "layout that stays: how often to write checkpoints, how many spares, waiting or going "
        "on with less (`stoker help search.run`).\v"
        "Examples: stoker search scenarios/quickstart.yaml --gap 1% --set "
        "'search.parallel.pp=[1, 2]'\n"
        "stoker search scenarios/quickstart.yaml --slurm=8 > search.sbatch && sbatch "
        "search.sbatch\n"
        "stoker search scenarios/study-spares.yaml --set search.run.recovery.spares=4..12 "
        "--set 'search.run.checkpoint.every=2 min..60 min'\n"
        "Exit status 1: interrupted; 4: no layout fits; 5: layouts failed, and nothing is "
        "certain of them.",
    .options = {own_options, options_prediction, options_anchor, options_store, options_no_store,
                session_options, requirement_options, options_table, options_general},
    .arguments_min = 1,
    .arguments_max = 1,
    .wanted = "a scenario file",
    .input_size = sizeof(struct searcher),
    .defaults = &defaults,
    .run = run,
};
