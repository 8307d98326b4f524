/* From a measured run to a factor: which run it is, what it is predicted to take, how much of that
 * error the document shares.
 */
#include "measured/anchoring.h"

#include "base/absent.h"
#include "base/arena.h"
#include "input/doc/text_file.h"
#include "input/doc/text_folder.h"
#include "input/doc/text_source.h"
#include "base/units.h"
#include "input/scenario.h"
#include "input/scenario_load.h"
#include "input/study/anchor.h"
#include "input/study/box.h"
#include "measured/anchor.h"
#include "measured/published/published_columns.h"
#include "measured/published/published_row.h"
#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <inttypes.h>
#include <string.h>

static const double SUSPICIOUS = 1.5; /* measured over predicted, or the other way round */

/* An anchor that is being worked out for a document. */
struct work {
    const struct anchoring *by;
    struct arena *arena;
    struct diag *diag;
    const struct catalogue *catalogue;
    const struct doc_node *node;     /* as written */
    const struct doc_node *plain;    /* the document without it */
    const struct scenario *asked;    /* the document with --set */
    const struct scenario *measured; /* the run that was measured */
    struct anchor anchor;
    bool is_of_box; /* and not of the scenario: of another model it is none */
    bool is_alone;  /* nothing is corrected by it: it is a run that is asked about */
};

static bool refuse(const struct work *work, enum diag_kind kind, const char *what, const char *help)
{
    diag_add(work->diag, kind, &work->node->place, "%s", what);
    diag_help(work->diag, "%s", help);
    return false;
}

/* ---- the document ------------------------------------------------------------------------- */

static const char KEY[] = "anchor";

static bool is_of_anchor(const char *set)
{
    return strncmp(set, KEY, sizeof KEY - 1) == 0 &&
           (set[sizeof KEY - 1] == '.' || set[sizeof KEY - 1] == '=');
}

/* The root with children of its own. */
static struct doc_node *copied(struct arena *arena, const struct doc_node *document)
{
    struct doc_node *copy = arena_alloc(arena, sizeof *copy);
    *copy = *document;
    doc_own_children(arena, copy);
    return copy;
}

static const struct doc_node *without_anchor(struct arena *arena, const struct doc_node *document)
{
    struct doc_node *copy = copied(arena, document);
    doc_drop(copy, KEY);
    return copy;
}

/* --set of all else. */
static const char *const *other_sets(const struct anchoring *anchoring, uint32_t *count)
{
    const char **sets =
        arena_array(anchoring->arena, anchoring->set_count + (size_t)1, sizeof *sets);
    *count = 0;
    for (uint32_t i = 0; i < anchoring->set_count; i++) {
        if (!is_of_anchor(anchoring->sets[i])) {
            sets[(*count)++] = anchoring->sets[i];
        }
    }
    return sets;
}

/* What --set says of it is written into a copy. */
static bool take_sets(const struct anchoring *anchoring, struct doc_node *document)
{
    bool is_good = true;
    for (uint32_t i = 0; i < anchoring->set_count; i++) {
        const char *set = anchoring->sets[i];
        if (!is_of_anchor(set)) {
            continue;
        }
        if (set[sizeof KEY - 1] == '=') {
            diag_add(anchoring->diag, DIAG_USAGE, NULL, "--set %.60s: a whole anchor", set);
            diag_help(anchoring->diag, "give --anchor LOG|FILE.csv:ID|TIME, or set its keys: "
                                       "anchor.weight=1");
            is_good = false;
        } else {
            is_good = doc_set(anchoring->arena, document, set, anchoring->diag) && is_good;
        }
    }
    return is_good;
}

/* ---- what was measured ---------------------------------------------------------------------- */

/* Keys of its layout that are auto are found. */
static const struct scenario *resolve(const struct work *work, const struct doc_node *document,
                                      const char *const *sets, uint32_t count, struct diag *diag)
{
    const struct anchoring *by = work->by;
    return by->hooks->resolve(by->context, document, sets, count, diag);
}

/* Beside the file that names it, or as it is; NULL with a message. */
static const char *find_file(const struct work *work, const char *name)
{
    const char *path =
        catalogue_path_beside(work->arena, work->catalogue, &work->node->place, name);
    if (text_source_exists(path) || text_folder_is(path)) {
        return path;
    }
    (void)refuse(
        work, DIAG_INPUT, arena_printf(work->arena, "there is no file '%.200s'", name),
        work->is_alone
            ? "it is a log, a row of a table (FILE.csv:ID) or a step (\"4.1 s\"), looked "
              "for in the current directory"
            : "an anchor is a log, FILE.csv:ID or a scenario, looked for beside this file, "
              "then in the current directory");
    return NULL;
}

/* What is wrong with it was told; it is wrong with the anchor. */
static bool tell_cannot_be(const struct work *work, const struct diag *found)
{
    return refuse(work, diag_is_verdict(found) ? DIAG_INFEASIBLE : DIAG_INPUT,
                  "the anchor's own scenario cannot be",
                  "it is this file without --set, or anchor.scenario, with what anchor.set says");
}

/* The file itself was measured, and is what is asked for. */
static bool is_as_asked(const struct work *work)
{
    uint32_t others = 0;
    (void)other_sets(work->by, &others);
    return work->anchor.scenario[0] == '\0' && work->anchor.set == NULL && others == 0 &&
           !work->by->hooks->is_study(work->plain);
}

/* Of another file, or of this one without --set; with anchor.set. */
static bool find_scenario(struct work *work)
{
    struct anchor *anchor = &work->anchor;
    const struct doc_node *document = work->plain;
    if (anchor->set != NULL && anchor->set->kind != DOC_MAPPING) {
        return refuse(work, DIAG_INPUT, "anchor.set holds keys and values",
                      "write it like set: {gpus: 64, cluster.network: 400 Gbps}");
    }
    if (anchor->scenario[0] != '\0') {
        const char *path = find_file(work, anchor->scenario);
        document = path != NULL ? scenario_load_document(work->arena, path, work->diag) : NULL;
        document = document != NULL ? without_anchor(work->arena, document) : NULL;
    }
    if (document == NULL) {
        return false;
    }
    uint32_t count = 0;
    const char **sets = anchor->set != NULL
                            ? work->by->hooks->sets_of(work->arena, document, anchor->set, &count)
                            : NULL;
    work->measured =
        is_as_asked(work) ? work->asked : resolve(work, document, sets, count, work->diag);
    if (work->measured == NULL) {
        return tell_cannot_be(work, work->diag);
    }
    return true;
}

static bool take_step_time(struct work *work, const struct published_table *table, uint32_t row)
{
    if (work->anchor.step_time_s > 0) {
        return true;
    }
    if (published_number(table, row, "measured_step_s", &work->anchor.step_time_s) &&
        work->anchor.step_time_s > 0) {
        return true;
    }
    const struct place place = published_place(table, row, "measured_step_s");
    diag_add(work->diag, DIAG_INPUT, &place, "the anchor '%s' has no measured step",
             work->anchor.run);
    diag_help(work->diag,
              "fill in measured_step_s, or say it: anchor: {run: ..., step_time: 4.1 s}");
    return false;
}

/* "FILE.csv:ID"; false: it is no table. */
static bool split_row(struct arena *arena, const char *run, const char **path, const char **id)
{
    const char *colon = strrchr(run, ':');
    *path = colon != NULL ? arena_strndup(arena, run, (size_t)(colon - run)) : run;
    *id = colon != NULL ? colon + 1 : "";
    return published_is_table(*path);
}

static struct scenario *row_scenario(const struct work *work, const struct published_table *table,
                                     const char *id, uint32_t *row)
{
    const struct published_row of = {work->catalogue, table, id};
    return published_row_scenario(work->arena, &of, row, work->diag);
}

static bool find_row(struct work *work, const char *path, const char *id)
{
    if (work->anchor.scenario[0] != '\0' || work->anchor.set != NULL) {
        return refuse(work, DIAG_INPUT, "a row of a table says itself what was measured",
                      "leave out scenario and set, or write step_time in place of run");
    }
    const struct published_table *table =
        published_load_runs(work->arena, path, work->catalogue, work->diag);
    if (table == NULL) {
        return false;
    }
    if (id[0] == '\0' && table->row_count != 1) {
        return refuse(work, DIAG_INPUT,
                      arena_printf(work->arena, "%s is a table of runs", work->anchor.run),
                      "say which: FILE.csv:ID");
    }
    id = id[0] == '\0' ? published_text(table, 0, "id") : id;
    uint32_t row = 0;
    work->measured = row_scenario(work, table, id, &row);
    return work->measured != NULL && take_step_time(work, table, row);
}

/* ---- logs ----------------------------------------------------------------------------------- */

static bool load_log(const struct work *work, const char *path, struct text_file *log)
{
    return work->by->hooks->load_log(work->by->context, path, log);
}

/* False with a message where its sequences are others than the document's. */
static bool check_batch(const struct work *work, int64_t batch)
{
    const int64_t asked = work->asked->batch.global;
    if (batch == 0 || batch == asked || work->anchor.set != NULL) {
        return true;
    }
    const char *help =
        work->is_alone ? arena_printf(work->arena, "say so: --set batch.global=%" PRId64, batch)
                       : arena_printf(work->arena,
                                      "say so: anchor: {run: %s, set: {batch.global: %" PRId64 "}}",
                                      work->anchor.run, batch);
    return refuse(work, DIAG_INPUT,
                  arena_printf(work->arena,
                               "the log's steps are of %" PRId64 " sequences, the scenario's of "
                               "%" PRId64,
                               batch, asked),
                  help);
}

/* What is told of tokens, of the document's batch on its GPUs. */
static double pace_step_s(const struct work *work, const struct anchoring_pace *pace)
{
    const struct scenario *asked = work->asked;
    return pace->step_s > 0 ? pace->step_s
                            : (double)asked->batch.global * (double)asked->batch.sequence_length /
                                  (double)asked->gpus / pace->tokens_per_s_per_gpu;
}

/* A log that tells its step and no more is the document's step, of the document's batch. */
static bool take_step(struct work *work, const struct anchoring_pace *pace)
{
    if (!check_batch(work, pace->batch)) {
        return false;
    }
    if (!(work->anchor.step_time_s > 0)) {
        work->anchor.step_time_s = pace_step_s(work, pace);
    }
    return find_scenario(work);
}

/* The line that `stoker import` writes of it, as a table; NULL with messages. */
static const struct published_table *read_log(struct work *work, const struct text_file *log)
{
    const struct anchoring *by = work->by;
    const char *lines =
        by->hooks->log_lines(by->context, log, work->asked != NULL ? work->asked->gpu.name : NULL);
    if (lines == NULL) {
        return NULL;
    }
    const struct text_file file = {.path = log->path, .text = lines, .length = strlen(lines)};
    const struct published_table *table = published_parse(work->arena, &file, work->diag);
    return table != NULL ? published_check_runs(work->arena, table, work->catalogue, work->diag)
                         : NULL;
}

static bool take_part(const struct work *work, struct doc_node *document, const char *key)
{
    const struct doc_node *part = doc_find(work->asked->document, key);
    return part == NULL || doc_put(work->arena, document, key, part, work->diag);
}

/* What a log does not say is as in the document. */
static bool complete_log(struct work *work, const struct scenario *of_log)
{
    struct doc_node *document = copied(work->arena, of_log->document);
    const bool is_same_framework =
        strcmp(of_log->software.framework, work->asked->software.framework) == 0;
    static const char *const parts[] = {"model",       "cluster",  "gpu",  "library",
                                        "box",         "data",     "slow", "power_cap",
                                        "collectives", "placement"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!take_part(work, document, parts[i])) {
            return false;
        }
    }
    if (is_same_framework) {
        doc_drop(document, "optimizer"); /* no line of a log says what rules of rows fill there */
        if (!take_part(work, document, "software") || !take_part(work, document, "optimizer")) {
            return false;
        }
    }
    work->measured = resolve(work, document, NULL, 0, work->diag);
    return work->measured != NULL;
}

/* The step was measured on the box that is asked about, where it was on such a GPU and names no box
 * itself: what the box sets is set there, too. */
static bool share_box(struct work *work)
{
    const struct scenario *asked = work->asked, *measured = work->measured;
    if (asked->box.name == NULL || measured->box.name != NULL ||
        strcmp(asked->gpu.name, measured->gpu.name) != 0) {
        return true;
    }
    struct doc_node *document = copied(work->arena, measured->document);
    const bool is_one_cluster = strcmp(asked->cluster.name, measured->cluster.name) == 0;
    if (!take_part(work, document, "box") || !take_part(work, document, "gpu") ||
        (is_one_cluster && !take_part(work, document, "cluster"))) {
        return false;
    }
    work->measured = resolve(work, document, NULL, 0, work->diag);
    return work->measured != NULL;
}

static bool check_model(const struct work *work, const struct scenario *measured)
{
    const char *other = anchor_other_model(work->arena, &measured->model, &work->asked->model);
    if (other != NULL && work->is_of_box) {
        diag_add(work->diag, DIAG_NOTE, &work->node->place,
                 "the box's step is of another model than %s, so it corrects nothing: %s",
                 work->asked->model.name, other);
        return false;
    }
    return other == NULL ||
           refuse(work, DIAG_INPUT,
                  arena_printf(work->arena, "the %s is of another model than %s: %s",
                               work->is_alone ? "log" : "anchor", work->asked->model.name, other),
                  work->is_alone
                      ? "give the scenario of that run, or --set model=NAME; a log that says all "
                        "arguments of its run may also stand alone"
                      : "a measured step says nothing of another model; anchor a run of the same "
                        "one, or name its model in the scenario");
}

static bool find_log(struct work *work, const char *path)
{
    const struct anchoring *by = work->by;
    struct text_file log;
    struct anchoring_pace pace;
    if (!load_log(work, path, &log)) {
        return false;
    }
    if (by->hooks->log_step(by->context, &log, &pace)) {
        return take_step(work, &pace);
    }
    const struct published_table *table = read_log(work, &log);
    if (table == NULL || !take_step_time(work, table, 0)) {
        return false;
    }
    if (work->anchor.scenario[0] != '\0' || work->anchor.set != NULL) {
        return find_scenario(work);
    }
    uint32_t row = 0;
    const struct scenario *of_log = row_scenario(work, table, published_text(table, 0, "id"), &row);
    return of_log != NULL && check_model(work, of_log) && complete_log(work, of_log);
}

static bool find_run(struct work *work)
{
    const struct anchor *anchor = &work->anchor;
    const char *path, *id;
    if (anchor->run[0] == '\0') {
        return anchor->step_time_s > 0
                   ? find_scenario(work)
                   : refuse(work, DIAG_INPUT, "the anchor has no measured step",
                            "write step_time: 4.1 s, or run: my.log or FILE.csv:ID");
    }
    const bool is_table = split_row(work->arena, anchor->run, &path, &id);
    const char *file = find_file(work, is_table ? path : anchor->run);
    return file != NULL && (is_table ? find_row(work, file, id) : find_log(work, file));
}

/* ---- what it is worth ----------------------------------------------------------------------- */

/* One step, without an anchor. */
static struct anchor_side predict(const struct work *work, const struct scenario *scenario,
                                  struct result *result)
{
    struct scenario *alone = arena_alloc(work->arena, sizeof *alone);
    *alone = *scenario;
    alone->run_tokens = 0;
    alone->anchor = (struct anchor){.run = "", .scenario = ""};
    run_predict(work->arena, alone, &(struct run_request){.folds = work->by->folds}, result);
    const struct step_result *step = &result->step;
    struct anchor_side side = {
        .scenario = alone,
        .launch_share =
            (double)step->gpu_ns[CAUSE_LAUNCH] / ((double)step->step_ns * (double)scenario->gpus),
        .tokens_per_s_per_gpu = step->tokens_per_s_per_gpu,
        .step_s = units_seconds(step->step_ns),
        .burdens = band_burdens_of(result),
    };
    if (scenario->box.name != NULL && result_has_step(result)) {
        struct band_step *shares = arena_alloc(work->arena, sizeof *shares);
        *shares = band_step_of_result(result);
        side.step = shares;
        side.box = BAND_DEVIATIONS * band_traits_of_result(result).box_spread;
    }
    return side;
}

static bool check_measured(struct work *work, const struct step_result *step)
{
    struct arena *arena = work->arena;
    const double measured_s = work->anchor.step_time_s, predicted_s = work->anchor.predicted_s;
    const double ratio = measured_s / predicted_s;
    if (!step->memory.fits) {
        return refuse(work, DIAG_INFEASIBLE,
                      arena_printf(arena, "the anchor does not fit into memory as predicted: %s",
                                   step->memory_advice),
                      "it ran, so something of it is otherwise than the scenario says: see "
                      "recompute, parallel and batch of the measured run");
    }
    if (step->mfu > ratio) {
        return refuse(work, DIAG_INPUT,
                      arena_printf(arena,
                                   "a step of %.4g s is faster than its GPUs' peak, which would "
                                   "take %.4g s",
                                   measured_s, step->mfu * predicted_s),
                      "the time is of a whole optimizer step with all its microbatches, of as "
                      "many GPUs as the scenario has");
    }
    if (ratio < ANCHOR_FACTOR_LEAST || ratio > ANCHOR_FACTOR_MOST) {
        return refuse(work, DIAG_INPUT,
                      arena_printf(arena, "the anchor's %.4g s are %.3g times the %.4g s predicted",
                                   measured_s, ratio, predicted_s),
                      "that is no error of a level: see its unit, batch, GPUs and layout");
    }
    if (ratio < 1 / SUSPICIOUS || ratio > SUSPICIOUS) {
        diag_add(work->diag, DIAG_WARNING, &work->node->place,
                 "the anchor's %.4g s are %.2f times the %.4g s predicted; no published run is off "
                 "by as much",
                 measured_s, ratio, predicted_s);
        diag_help(work->diag, "see whether its batch, GPUs, layout and recompute are those of the "
                              "measured run");
    }
    return true;
}

static const char *joined(struct arena *arena, const struct anchor_worth *worth)
{
    const char *text = "";
    for (uint32_t i = 0; i < worth->kind_count; i++) {
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "", worth->kinds[i]);
    }
    return text;
}

static void tell_worth(const struct work *work, const struct anchor_worth *worth)
{
    if (worth->weight > 0 || worth->reason[0] != '\0') {
        return;
    }
    diag_add(work->diag, DIAG_WARNING, &work->node->place,
             "the anchor changes nothing: measured runs that differ from one another as it does "
             "from this share no error (%s)",
             joined(work->arena, worth));
    diag_help(work->diag, "anchor a run that is more like it, or take the whole ratio: "
                          "anchor.weight=1");
}

static void weigh(struct work *work, struct anchor_side *measured)
{
    struct anchor *anchor = &work->anchor;
    struct anchor_evidence evidence;
    const char *reason = "";
    struct result asked;
    struct anchor_side side =
        work->measured == work->asked ? *measured : predict(work, work->asked, &asked);
    struct anchor_worth worth = {.weight = anchor->weight};
    if (anchor_evidence_load(work->arena, work->catalogue, &evidence, &reason, work->diag)) {
        measured->alone = anchor_alone(work->arena, &evidence, measured);
        side.alone = anchor_alone(work->arena, &evidence, &side);
        worth = anchor_worth_of(work->arena, &evidence, measured, &side, anchor->weight);
        tell_worth(work, &worth);
    }
    anchor->weight = is_absent(worth.weight) ? 1 : worth.weight;
    anchor->band = worth.spread > 0 ? exp(worth.spread) : 0;
    anchor->votes = worth.votes;
    anchor->factor = pow(anchor->step_time_s / anchor->predicted_s, anchor->weight);
}

/* ---- what is written ------------------------------------------------------------------------ */

static bool put_number(const struct work *work, struct doc_node *document, const char *key,
                       double value, const char *unit)
{
    return doc_set(work->arena, document,
                   arena_printf(work->arena, "%s.%s=%.10g%s", KEY, key, value, unit), work->diag);
}

/* The document with all that was found. */
static const struct doc_node *written(const struct work *work)
{
    const struct anchor *anchor = &work->anchor;
    struct arena *arena = work->arena;
    struct doc_node *document = copied(arena, work->plain);
    const bool is_good =
        doc_put(arena, document, KEY, work->node, work->diag) &&
        put_number(work, document, "step_time", anchor->step_time_s, " s") &&
        put_number(work, document, "predicted", anchor->predicted_s, " s") &&
        put_number(work, document, "weight", anchor->weight, "") &&
        put_number(work, document, "factor", anchor->factor, "") &&
        (anchor->band <= 0 || put_number(work, document, "band", anchor->band, "")) &&
        put_number(work, document, "votes", (double)anchor->votes, "");
    return is_good ? document : NULL;
}

static const struct scenario *asked_of(const struct work *work)
{
    const struct anchoring *by = work->by;
    uint32_t count = 0;
    const char *const *sets = other_sets(by, &count);
    const struct scenario *asked = resolve(work, work->plain, sets, count, diag_new(work->arena));
    return asked != NULL ? asked : by->hooks->first_point(by->context, work->plain, sets, count);
}

/* NULL with messages. What is wrong with the document itself is left to who reads it next. */
static const struct doc_node *work_out(const struct anchoring *anchoring,
                                       const struct doc_node *node, const struct doc_node *document,
                                       bool is_of_box)
{
    struct work work = {.by = anchoring,
                        .arena = anchoring->arena,
                        .diag = anchoring->diag,
                        .catalogue = anchoring->catalogue,
                        .node = node,
                        .plain = without_anchor(anchoring->arena, document),
                        .is_of_box = is_of_box};
    if (!anchor_read_node(anchoring->arena, node, &work.anchor, anchoring->diag)) {
        return NULL;
    }
    if (work.anchor.factor > 0) {
        return document;
    }
    work.asked = asked_of(&work);
    if (work.asked == NULL) {
        return work.plain;
    }
    if (!find_run(&work) || !share_box(&work) || !check_model(&work, work.measured)) {
        return is_of_box && diag_exit_status(anchoring->diag) == 0 ? work.plain : NULL;
    }
    struct result measured;
    struct anchor_side side = predict(&work, work.measured, &measured);
    work.anchor.predicted_s = units_seconds(measured.step.step_ns);
    if (!check_measured(&work, &measured.step)) {
        return NULL;
    }
    weigh(&work, &side);
    return written(&work);
}

/* ---- which anchor ------------------------------------------------------------------------- */

/* {KEY: TEXT} */
static struct doc_node *mapping_of(struct arena *arena, const char *key,
                                   const struct doc_node *value)
{
    struct doc_node *child = arena_alloc(arena, sizeof *child);
    struct doc_node *mapping = arena_alloc(arena, sizeof *mapping);
    *child = *value;
    child->key = key;
    child->key_place = value->place;
    child->next = NULL;
    *mapping = (struct doc_node){.kind = DOC_MAPPING, .child = child, .place = value->place};
    return mapping;
}

/* A bare number is a time without its unit. */
static bool is_time(const char *text)
{
    double seconds = 0;
    char unheard[256];
    char *end = NULL;
    (void)strtod(text, &end);
    return (end != text && *end == '\0') ||
           units_parse(text, DIM_SECONDS, &seconds, unheard, sizeof unheard);
}

/* --anchor as a mapping: a time, or what was measured. */
static const struct doc_node *option_node(const struct anchoring *anchoring, const char *name)
{
    struct arena *arena = anchoring->arena;
    const struct doc_node word = {
        .kind = DOC_SCALAR,
        .text = anchoring->option,
        .place = {.file = arena_printf(arena, "%s%s", name, anchoring->option)}};
    return mapping_of(arena, is_time(anchoring->option) ? "step_time" : "run", &word);
}

static bool is_box(const char *set)
{
    return strncmp(set, "box=", 4) == 0;
}

bool anchoring_is_of_box(const char *const *sets, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (is_box(sets[i])) {
            return true;
        }
    }
    return false;
}

/* The step that was measured of the document's box, or of that of --set; NULL: none. What is wrong
 * with the box is left to who resolves the document. */
static const struct doc_node *node_of_box(const struct anchoring *anchoring,
                                          const struct doc_node *document)
{
    struct arena *arena = anchoring->arena;
    struct diag *unheard = diag_new(arena);
    struct doc_node *own = copied(arena, document);
    for (uint32_t i = 0; i < anchoring->set_count; i++) {
        const char *set = anchoring->sets[i];
        if (is_box(set) && !doc_set(arena, own, set, unheard)) {
            return NULL;
        }
    }
    const struct doc_node *reference = doc_find(own, "box");
    const struct doc_node *box =
        reference != NULL ? box_open(arena, anchoring->catalogue, reference, unheard) : NULL;
    return box != NULL ? doc_find(box, KEY) : NULL;
}

/* What a document says of it with --anchor and --set; NULL: nothing. False with messages. */
static bool find_node(const struct anchoring *anchoring, struct doc_node *document,
                      const struct doc_node **node, bool *is_of_box)
{
    const struct doc_node *said =
        anchoring->option != NULL ? option_node(anchoring, "--anchor ") : doc_find(document, KEY);
    *is_of_box = said == NULL;
    said = *is_of_box ? node_of_box(anchoring, document) : said;
    if (said != NULL && said->kind == DOC_SCALAR) {
        said = mapping_of(anchoring->arena, "run", said);
    }
    const bool is_put =
        said == NULL || doc_put(anchoring->arena, document, KEY, said, anchoring->diag);
    const bool is_good = is_put && take_sets(anchoring, document);
    *node = is_good ? doc_find(document, KEY) : NULL;
    return is_good;
}

bool anchoring_put(const struct anchoring *anchoring, const struct doc_node **documents,
                   uint32_t count)
{
    struct arena *arena = anchoring->arena;
    const struct doc_node *common = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (documents[i]->kind != DOC_MAPPING) {
            continue;
        }
        struct doc_node *document = copied(arena, documents[i]);
        const struct doc_node *node = NULL;
        if (common != NULL) {
            if (!doc_put(arena, document, KEY, common, anchoring->diag)) {
                return false;
            }
            documents[i] = document;
            continue;
        }
        bool is_of_box = false;
        if (!find_node(anchoring, document, &node, &is_of_box)) {
            return false;
        }
        if (node == NULL) {
            continue;
        }
        documents[i] = work_out(anchoring, node, document, is_of_box);
        if (documents[i] == NULL) {
            return false;
        }
        common = anchoring->option != NULL ? doc_find(documents[i], KEY) : NULL;
    }
    return true;
}

/* ---- a run that is asked about -------------------------------------------------------------- */

/* With what is set, where it is not the document that has it already. */
static bool apply_sets(struct work *work)
{
    if (work->measured == NULL || work->by->set_count == 0 || work->measured == work->asked) {
        return work->measured != NULL;
    }
    work->measured =
        resolve(work, work->measured->document, work->by->sets, work->by->set_count, work->diag);
    return work->measured != NULL;
}

static bool need_scenario(const struct work *work)
{
    return work->asked != NULL ||
           refuse(
               work, DIAG_USAGE,
               arena_printf(work->arena, "%.200s tells its step and no more", work->by->option),
               "give the scenario of the run behind it; a log that says all arguments of its run "
               "needs none");
}

/* Its row, completed by the document where there is one. */
static bool find_whole(struct work *work, const struct text_file *log, const char **notes)
{
    const struct published_table *table = read_log(work, log);
    uint32_t row = 0;
    if (table == NULL || !take_step_time(work, table, 0)) {
        return false;
    }
    *notes = published_text(table, 0, "notes");
    work->measured = row_scenario(work, table, published_text(table, 0, "id"), &row);
    return work->measured != NULL && (work->asked == NULL || (check_model(work, work->measured) &&
                                                              complete_log(work, work->measured)));
}

static bool find_alone(struct work *work, const char **notes)
{
    const struct anchoring *by = work->by;
    const char *path, *id;
    struct text_file log;
    struct anchoring_pace pace;
    if (is_time(by->option)) {
        work->measured = work->asked;
        return need_scenario(work) &&
               anchor_read_node(work->arena, work->node, &work->anchor, work->diag);
    }
    const bool is_table = split_row(work->arena, by->option, &path, &id);
    const char *file = find_file(work, path);
    if (file == NULL || (is_table && find_row(work, file, id))) {
        return file != NULL;
    }
    if (is_table || !load_log(work, file, &log)) {
        return false;
    }
    if (!by->hooks->log_step(by->context, &log, &pace)) {
        return diag_exit_status(work->diag) == 0 && find_whole(work, &log, notes);
    }
    work->measured = work->asked;
    *notes = pace.notes;
    if (!need_scenario(work) || !check_batch(work, pace.batch)) {
        return false;
    }
    work->anchor.step_time_s = pace_step_s(work, &pace);
    return true;
}

/* A log that tells its whole run counts before a scenario beside it: what of that is another. */
static void tell_differences(const struct work *work)
{
    const struct scenario *log = work->measured, *asked = work->asked;
    if (asked == NULL || log == asked) {
        return;
    }
    const struct {
        const char *key;
        int64_t log, asked;
    } rows[] = {
        {"gpus", log->gpus, asked->gpus},
        {"batch.global", log->batch.global, asked->batch.global},
        {"batch.micro", log->batch.micro, asked->batch.micro},
        {"batch.sequence_length", log->batch.sequence_length, asked->batch.sequence_length},
        {"parallel.tp", log->parallel.tp, asked->parallel.tp},
        {"parallel.pp", log->parallel.pp, asked->parallel.pp},
        {"parallel.cp", log->parallel.cp, asked->parallel.cp},
        {"parallel.ep", log->parallel.ep, asked->parallel.ep},
        {"parallel.zero", log->parallel.zero, asked->parallel.zero},
    };
    const char *list = "";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].log != rows[i].asked) {
            list =
                arena_printf(work->arena, "%s%s%s %" PRId64 " (scenario: %" PRId64 ")", list,
                             list[0] != '\0' ? ", " : "", rows[i].key, rows[i].log, rows[i].asked);
        }
    }
    if (list[0] != '\0') {
        diag_add(work->diag, DIAG_WARNING, &work->node->place,
                 "what the log says of its run counts before the scenario: %s", list);
        diag_help(work->diag, "write it into the scenario before what is told of this run is "
                              "tried with it");
    }
}

bool anchoring_run_of(const struct anchoring *anchoring, const struct doc_node *document,
                      struct anchoring_run *run)
{
    struct work work = {.by = anchoring,
                        .arena = anchoring->arena,
                        .diag = anchoring->diag,
                        .catalogue = anchoring->catalogue,
                        .node = option_node(anchoring, ""),
                        .is_alone = true,
                        .anchor = {.run = anchoring->option, .scenario = ""}};
    const char *notes = "";
    if (document != NULL) {
        work.plain = without_anchor(anchoring->arena, document);
        work.asked =
            resolve(&work, work.plain, anchoring->sets, anchoring->set_count, anchoring->diag);
    }
    if ((document != NULL && work.asked == NULL) || !find_alone(&work, &notes) ||
        !apply_sets(&work)) {
        return false;
    }
    tell_differences(&work);
    *run = (struct anchoring_run){work.measured, work.anchor.step_time_s, notes};
    return true;
}
