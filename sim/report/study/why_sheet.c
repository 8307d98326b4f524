/* The answer is made of the first cause and the verdict; what a line has no room for is in the
 * tables below it. */
#include "report/study/why_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "plan/cost.h"
#include "report/numbers.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { CAUSES_SHOWN = 5, FASTER_SHOWN = WHY_FASTER_MAX };
static const double LOST_LEAST = 0.02; /* of the time; less is not told */
/* A trainer's own count is by a convention that gives the same to so much. */
static const double SAME_COUNT = 0.03;

/* What is added and asked everywhere here. */
struct telling {
    const struct why_found *found;
    const struct result *result;
    const struct why_log *log;
    struct sheet *sheet;
    struct arena *arena;
};

/* Of a step so long. */
static double tokens_per_s_per_gpu(const struct telling *telling, double step_s)
{
    return step_s > 0 ? telling->found->tokens_per_gpu / step_s : ABSENT;
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* "59 % longer", "12 % shorter". */
static const char *difference(struct arena *arena, double ratio)
{
    return ratio >= 2   ? arena_printf(arena, "%.1f x as long", ratio)
           : ratio >= 1 ? arena_printf(arena, "%.0f %% longer", 100 * (ratio - 1))
                        : arena_printf(arena, "%.0f %% shorter", 100 * (1 - ratio));
}

static const char *expected_text(const struct telling *telling)
{
    const struct band *band = telling->result->band;
    const double step_s = telling->found->expected_s;
    const bool has_band = band != NULL && band->votes > 0;
    return has_band ? arena_printf(telling->arena, "%s expected (80 %% interval %s to %s)",
                                   number_duration(telling->arena, step_s),
                                   number_duration(telling->arena, step_s * band->low),
                                   number_duration(telling->arena, step_s * band->high))
                    : arena_printf(telling->arena, "%s predicted",
                                   number_duration(telling->arena, step_s));
}

static const char *memory_text(const struct telling *telling)
{
    const struct memory_verdict *memory = &telling->result->step.memory;
    return arena_printf(telling->arena, "%.1f of %.1f GB", memory->worst.total_bytes * 1e-9,
                        memory->limit_bytes * 1e-9);
}

static const char *outside_text(const struct telling *telling)
{
    const struct band *band = telling->result->band;
    return band != NULL && band->unproven_count > 0
               ? sheet_joined(telling->arena, band->unproven, band->unproven_count)
           : band != NULL ? band->reason
                          : "no measured run is like it";
}

static const char *verdict_text(const struct telling *telling)
{
    struct arena *arena = telling->arena;
    const struct why_found *found = telling->found;
    const char *measured = number_duration(arena, telling->log->step_s);
    const double ratio = exp(found->gap);
    switch (found->verdict) {
    case WHY_USUAL:
        return arena_printf(arena, "nothing wrong: this is what such runs get; %s, measured %s",
                            expected_text(telling), measured);
    case WHY_SLOW:
    case WHY_FAST:
        return arena_printf(arena, "%s, measured %s: %s", expected_text(telling), measured,
                            difference(arena, ratio));
    case WHY_OUTSIDE:
        return arena_printf(arena, "outside what was measured (%s): no claim; told %s, measured %s",
                            outside_text(telling), number_duration(arena, found->expected_s),
                            measured);
    case WHY_UNFIT:
        return arena_printf(arena,
                            "as it is told it does not fit (%s), and it ran, %s a step: "
                            "something is on that is not told",
                            memory_text(telling), measured);
    case WHY_MEMORY:
    case WHY_VERDICTS_:
        break;
    }
    return arena_printf(arena, "out of memory; counted are %s, which %s", memory_text(telling),
                        result_memory_verdict(telling->result));
}

static bool has_value(const struct why_cause *cause)
{
    return cause->unit != NULL;
}

/* "12.1 GB/s a NIC where 45 is assumed". */
static const char *value_text(struct arena *arena, const struct why_cause *cause)
{
    return arena_printf(arena, "at %.3g %s, assumed %.3g", cause->value, cause->unit,
                        cause->assumed);
}

static const char *cause_text(const struct telling *telling, const struct why_cause *cause)
{
    struct arena *arena = telling->arena;
    if (has_value(cause)) {
        return arena_printf(arena, "%s (%s)", cause->name, value_text(arena, cause));
    }
    const char *step = number_duration(arena, cause->step_s);
    return is_absent(cause->explains) ? arena_printf(arena, "%s (%s)", cause->name, step)
                                      : arena_printf(arena, "%s (%s, %.0f %% of the gap)",
                                                     cause->name, step, 100 * cause->explains);
}

/* The first that takes no longer for granted than what is there: what to look at. */
static const char *advice_text(const struct telling *telling)
{
    struct arena *arena = telling->arena;
    const struct why_found *found = telling->found;
    const bool has_storage = found->cause_count > 0 && found->causes[0].kind == WHY_STORAGE;
    const char *lead = found->verdict == WHY_OUTSIDE ? "measure first: "
                       : has_storage                 ? "but "
                       : found->verdict == WHY_USUAL ? "what would explain the rest: "
                                                     : "likeliest: ";
    if (found->is_apart) {
        return "no causes are sought where a step is stated, has other jobs beside it, or stages "
               "of "
               "its own";
    }
    if (found->is_too_large) {
        return "its step is too large to be simulated for each cause; `stoker run` says what it "
               "hangs on";
    }
    if (found->verdict == WHY_MEMORY && found->cause_count == 0) {
        return found->faster_count > 0
                   ? arena_printf(arena, "surely fits, and fastest of the usual changes: %s (%s)",
                                  found->faster[0].name,
                                  number_duration(arena, found->faster[0].step_s))
                   : "no usual change of it surely fits";
    }
    if (found->cause_count == 0 && found->is_same) {
        return found->faster_count > 0
                   ? arena_printf(arena, "predicted faster: %s (%s)", found->faster[0].name,
                                  number_duration(arena, found->faster[0].step_s))
                   : "no usual change of it is predicted to be faster";
    }
    if (found->cause_count == 0) {
        return found->verdict == WHY_UNFIT || found->gap > 0
                   ? "no cause that is known here explains it: see data loaders and the host "
                     "between steps"
                   : "no cause that is known here explains it: are batch, GPUs and model those of "
                     "the run?";
    }
    const char *first = cause_text(telling, &found->causes[0]);
    return found->cause_count > 1 && !found->causes[1].is_far
               ? arena_printf(arena, "%s%s; then %s", lead, first, found->causes[1].name)
               : arena_printf(arena, "%s%s", lead, first);
}

/* What the median does not show: "18 % of the time is lost in 6 of 90 steps ..."; NULL: little. */
static const char *stalls_text(const struct telling *telling)
{
    const struct why_log *log = telling->log;
    return log->lost < LOST_LEAST
               ? NULL
               : arena_printf(telling->arena,
                              "besides, %.0f %% of the time is lost in %" PRIu32 " of %" PRIu32
                              " steps that stand out: data, evaluations, checkpoints",
                              100 * log->lost, log->slow, log->steps);
}

static void add_answer(const struct telling *telling)
{
    const char *verdict = verdict_text(telling);
    const char *stalls = stalls_text(telling);
    const char *advice = advice_text(telling);
    advice = stalls != NULL ? arena_printf(telling->arena, "%s; %s", advice, stalls) : advice;
    sheet_text(telling->sheet, "answer", arena_printf(telling->arena, "%s. %s", verdict, advice));
    sheet_text(telling->sheet, "verdict", why_verdict_names[telling->found->verdict]);
    sheet_say(telling->sheet, "%s\n", verdict);
    sheet_say(telling->sheet, "%s\n", advice);
}

/* ---- what it is of --------------------------------------------------------------------------- */

static void add_steps(const struct telling *telling)
{
    struct sheet *sheet = telling->sheet;
    const struct band *band = telling->result->band;
    const struct why_log *log = telling->log;
    const double expected_s = telling->found->expected_s;
    const double measured_s = log->step_s > 0 ? log->step_s : ABSENT;
    const bool has_band = band != NULL && band->votes > 0 && !is_absent(expected_s);
    sheet_text(sheet, "log", log->name);
    sheet_text(sheet, "log_notes", log->notes);
    struct sheet *stalls = sheet_object(sheet, "stalls");
    sheet_integer(stalls, "steps", log->slow);
    sheet_integer(stalls, "of", log->steps);
    sheet_number(stalls, "share_of_time", log->lost);
    sheet_text(sheet, "scenario", telling->found->title);
    sheet_number(sheet, "measured_step_s", measured_s);
    sheet_number(sheet, "expected_step_s", expected_s);
    sheet_number(sheet, "ratio",
                 is_absent(telling->found->gap) ? ABSENT : exp(telling->found->gap));
    struct sheet *interval = sheet_object(sheet, "band");
    sheet_number(interval, "step_p10_s", has_band ? expected_s * band->low : ABSENT);
    sheet_number(interval, "step_p90_s", has_band ? expected_s * band->high : ABSENT);
    sheet_texts(interval, "not_validated", band != NULL ? band->unproven : NULL,
                band != NULL ? band->unproven_count : 0);
    const struct memory_verdict *memory = &telling->result->step.memory;
    struct sheet *room = sheet_object(sheet, "memory");
    sheet_number(room, "peak_bytes", memory->worst.total_bytes);
    sheet_number(room, "limit_bytes", memory->limit_bytes);
    sheet_text(room, "verdict", result_memory_verdict(telling->result));
    sheet_number(sheet, "measured_tokens_per_s_per_gpu",
                 tokens_per_s_per_gpu(telling, log->step_s));
    sheet_number(sheet, "expected_tokens_per_s_per_gpu",
                 is_absent(expected_s) ? ABSENT : tokens_per_s_per_gpu(telling, expected_s));
    sheet_say(sheet, "\n");
    sheet_say(sheet, "%s: %s\n", log->name, telling->found->of);
    if (log->notes[0] != '\0') {
        sheet_say(sheet, "the step is the %s\n", log->notes);
    }
}

/* ---- causes ---------------------------------------------------------------------------------- */

static void add_cause(struct sheet *list, const struct why_cause *cause)
{
    struct sheet *object = sheet_object(list, NULL);
    const bool is_number = has_value(cause);
    sheet_text(object, "name", cause->name);
    sheet_text(object, "kind", why_kind_names[cause->kind]);
    sheet_texts(object, "set", cause->sets, cause->set_count);
    sheet_number(object, "step_s", cause->step_s);
    sheet_number(object, "explains", cause->explains);
    sheet_number(object, "rank", cause->rank);
    sheet_number(object, "assumed", is_number ? cause->assumed : ABSENT);
    sheet_number(object, "value", is_number ? cause->value : ABSENT);
    sheet_number(object, "times", is_number ? cause->times : ABSENT);
    sheet_text(object, "unit", cause->unit);
    sheet_bool(object, "is_far", cause->is_far);
    sheet_text(object, "measure", cause->measure);
}

/* The first few that a machine may have; their numbers. */
static uint32_t choose_causes(const struct why_found *found, uint32_t shown[CAUSES_SHOWN])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < found->cause_count && count < CAUSES_SHOWN; i++) {
        if (!found->causes[i].is_far) {
            shown[count++] = i;
        }
    }
    return count;
}

static void show_causes(const struct telling *telling, const uint32_t *shown, uint32_t count)
{
    const struct why_found *found = telling->found;
    const bool has_gap = !is_absent(found->gap);
    const struct field fields[] = {
        {NULL, FIELD_LEFT(found->verdict == WHY_OUTSIDE ? "to be measured: this would explain it"
                                                        : "cause, the likeliest first")},
        {NULL, FIELD_RIGHT("step", "%.4g", 1)},
        {NULL, FIELD_RIGHT(has_gap ? "explains %" : NULL, "%.0f", 100)},
        {NULL, FIELD_RIGHT("value", "%.3g", 1)},
        {NULL, FIELD_RIGHT("assumed", "%.3g", 1)},
        {NULL, FIELD_LEFT("of")},
    };
    struct sheet *table = sheet_table(telling->sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < count; i++) {
        const struct why_cause *cause = &found->causes[shown[i]];
        const bool is_number = has_value(cause);
        sheet_text(table, NULL,
                   arena_printf(telling->arena, "%" PRIu32 "  %s", i + 1, cause->name));
        sheet_text(table, NULL,
                   is_absent(cause->step_s) ? NULL
                                            : number_duration(telling->arena, cause->step_s));
        sheet_number(table, NULL, cause->explains);
        sheet_number(table, NULL, is_number ? cause->value : ABSENT);
        sheet_number(table, NULL, is_number ? cause->assumed : ABSENT);
        sheet_text(table, NULL,
                   is_number                  ? cause->unit
                   : cause->kind == WHY_STATE ? "a state of the machine"
                                              : "a setting that nobody told");
    }
}

static const char *as_options(struct arena *arena, const char *const *sets, uint32_t count)
{
    const char *text = "";
    for (uint32_t i = 0; i < count; i++) {
        text = arena_printf(arena, "%s%s--set %s", text, i > 0 ? " " : "", sets[i]);
    }
    return text;
}

/* What to type, or to measure, for each. */
static void say_ways(const struct telling *telling, const uint32_t *shown, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct why_cause *cause = &telling->found->causes[shown[i]];
        const char *way = cause->kind != WHY_FEATURE
                              ? arena_printf(telling->arena, "measure: %s", cause->measure)
                              : as_options(telling->arena, cause->sets, cause->set_count);
        sheet_say(telling->sheet, "%" PRIu32 "  %s\n", i + 1, way);
    }
}

/* Numbers that explain nothing, and those that explain it with a value that nobody has. */
static void say_unmet(const struct telling *telling)
{
    const struct why_found *found = telling->found;
    struct arena *arena = telling->arena;
    const char *text = "", *far = "";
    for (uint32_t i = 0; i < found->unmet_count; i++) {
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "", found->unmet[i].name);
    }
    for (uint32_t i = 0; i < found->cause_count; i++) {
        const struct why_cause *cause = &found->causes[i];
        if (cause->is_far) {
            far = arena_printf(arena, "%s%s%s (%.3g %s)", far, far[0] != '\0' ? ", " : "",
                               cause->name, cause->value, cause->unit);
        }
    }
    if (found->unmet_count > 0) {
        sheet_say(telling->sheet, "no value alone explains it: %s\n", text);
    }
    if (far[0] != '\0') {
        sheet_say(telling->sheet, "only with a value that no such machine has: %s\n", far);
    }
}

/* What explains any longer step. */
static void add_any(const struct telling *telling)
{
    const struct why_found *found = telling->found;
    struct sheet *list = sheet_array(telling->sheet, "explains_any_gap");
    const char *text = "would explain any longer step:";
    for (uint32_t i = 0; i < found->any_count; i++) {
        const struct why_any *any = &found->any[i];
        struct sheet *object = sheet_object(list, NULL);
        sheet_text(object, "name", any->name);
        sheet_number(object, "value", any->value);
        sheet_text(object, "unit", any->unit);
        sheet_text(object, "measure", any->measure);
        text = arena_printf(telling->arena, "%s%s %s %.3g %s", text, i > 0 ? ";" : "", any->name,
                            any->value, any->unit);
    }
    if (found->any_count > 0) {
        sheet_say(telling->sheet, "%s\n", text);
    }
}

static void add_causes(const struct telling *telling)
{
    const struct why_found *found = telling->found;
    struct sheet *list = sheet_array(telling->sheet, "causes");
    for (uint32_t i = 0; i < found->cause_count; i++) {
        add_cause(list, &found->causes[i]);
    }
    struct sheet *unmet = sheet_array(telling->sheet, "no_value_explains");
    for (uint32_t i = 0; i < found->unmet_count; i++) {
        add_cause(unmet, &found->unmet[i]);
    }
    uint32_t shown[CAUSES_SHOWN] = {0};
    const uint32_t count = choose_causes(found, shown);
    show_causes(telling, shown, count);
    say_ways(telling, shown, count);
    say_unmet(telling);
    add_any(telling);
}

/* ---- layouts --------------------------------------------------------------------------------- */

static void add_faster(const struct telling *telling)
{
    const struct why_found *found = telling->found;
    struct arena *arena = telling->arena;
    const bool wants_room = found->verdict == WHY_MEMORY;
    const bool has_step = !is_absent(found->expected_s) && !wants_room;
    const struct field fields[] = {
        {NULL, FIELD_LEFT(wants_room ? "surely fits"
                          : has_step ? "predicted faster"
                                     : "would fit")},
        {NULL, FIELD_RIGHT("step", "%.4g", 1)},
        {NULL, FIELD_RIGHT(has_step ? "saves %" : NULL, "%.0f", 100)},
    };
    struct sheet *list = sheet_array(telling->sheet, "faster");
    struct sheet *table = sheet_table(telling->sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < found->faster_count; i++) {
        const struct why_faster *one = &found->faster[i];
        const double saves = has_step ? 1 - one->step_s / found->expected_s : ABSENT;
        struct sheet *object = sheet_object(list, NULL);
        sheet_text(object, "name", one->name);
        sheet_texts(object, "set", one->sets, one->set_count);
        sheet_number(object, "step_s", one->step_s);
        sheet_number(object, "saves", saves);
        sheet_text(table, NULL, arena_printf(arena, "%c  %s", 'a' + (int)i, one->name));
        sheet_text(table, NULL, number_duration(arena, one->step_s));
        sheet_number(table, NULL, saves);
    }
    for (uint32_t i = 0; i < found->faster_count; i++) {
        const struct why_faster *one = &found->faster[i];
        const char *sets = as_options(arena, one->sets, one->set_count);
        sheet_say(telling->sheet, "%c  %s\n", 'a' + (int)i, sets);
    }
}

/* ---- MFU ------------------------------------------------------------------------------------- */

struct convention {
    const char *key, *name;
    double flop_per_token;
};

/* Whose count gives what the log says, to SAME_COUNT; NULL: none of these. */
static const char *counted_as(const struct telling *telling, const struct convention *conventions,
                              uint32_t count)
{
    const double tokens = tokens_per_s_per_gpu(telling, telling->log->step_s);
    const char *best = NULL;
    double nearest = SAME_COUNT;
    for (uint32_t i = 0; i < count && !is_absent(tokens); i++) {
        const double off =
            fabs(log(telling->log->flop_per_s / (tokens * conventions[i].flop_per_token)));
        if (off < nearest) {
            nearest = off;
            best = conventions[i].name;
        }
    }
    return best;
}

static void add_row(const struct telling *telling, struct sheet *list, struct sheet *table,
                    const struct convention *row)
{
    const double peak = telling->result->step.peak_flop_per_s;
    const double expected_s = telling->found->expected_s;
    const double measured =
        tokens_per_s_per_gpu(telling, telling->log->step_s) * row->flop_per_token;
    const double expected = is_absent(expected_s)
                                ? ABSENT
                                : tokens_per_s_per_gpu(telling, expected_s) * row->flop_per_token;
    const bool is_measured = telling->log->step_s > 0;
    struct sheet *object = sheet_object(list, NULL);
    sheet_text(object, "convention", row->key);
    sheet_number(object, "flop_per_token", row->flop_per_token);
    sheet_number(object, "expected", is_absent(expected) ? ABSENT : expected / peak);
    sheet_number(object, "measured", is_measured ? measured / peak : ABSENT);
    sheet_text(table, NULL, row->name);
    sheet_number(table, NULL, is_absent(expected) ? ABSENT : expected / peak);
    sheet_number(table, NULL, is_measured ? measured / peak : ABSENT);
    sheet_number(table, NULL, is_measured ? measured : ABSENT);
}

static void add_own_count(const struct telling *telling, struct sheet *list, struct sheet *table,
                          const char *as)
{
    const struct why_log *log = telling->log;
    const double peak = telling->result->step.peak_flop_per_s;
    const double mfu = log->mfu > 0 ? log->mfu : log->flop_per_s / peak;
    if (!(mfu > 0)) {
        return;
    }
    struct sheet *object = sheet_object(list, NULL);
    sheet_text(object, "convention", "log");
    sheet_number(object, "measured", mfu);
    sheet_number(object, "flop_per_s", log->flop_per_s > 0 ? log->flop_per_s : ABSENT);
    sheet_text(object, "counted_as", as);
    sheet_text(table, NULL,
               as != NULL ? arena_printf(telling->arena, "the log's own: %s", as)
                          : "the log's own");
    sheet_number(table, NULL, ABSENT);
    sheet_number(table, NULL, mfu);
    sheet_number(table, NULL, log->flop_per_s > 0 ? log->flop_per_s : ABSENT);
}

static void add_mfu(const struct telling *telling)
{
    const struct result *result = telling->result;
    const struct convention rows[] = {
        {"causal", "causal mask (ours)", result_flop_by(result, FLOP_CAUSAL)},
        {"full", "full mask", result->step.flop_per_token_full},
        {"megatron", "Megatron-LM's", result_flop_by(result, FLOP_MEGATRON)},
        {"6nd", "6ND", result_flop_by(result, FLOP_6ND)},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    const struct field fields[] = {
        {NULL, FIELD_LEFT("MFU by convention")},
        {NULL, FIELD_RIGHT("expected %", "%.1f", 100)},
        {NULL, FIELD_RIGHT("measured %", "%.1f", 100)},
        {NULL, FIELD_RIGHT("TFLOP/s", "%.0f", 1e-12)},
    };
    struct sheet *list = sheet_array(telling->sheet, "mfu");
    struct sheet *table = sheet_table(telling->sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < ROWS; i++) {
        add_row(telling, list, table, &rows[i]);
    }
    add_own_count(telling, list, table,
                  telling->log->flop_per_s > 0 ? counted_as(telling, rows, ROWS) : NULL);
}

/* ---- below it all ---------------------------------------------------------------------------- */

static void say_band(const struct telling *telling)
{
    struct arena *arena = telling->arena;
    const struct band *band = telling->result->band;
    if (band == NULL || band->votes == 0) {
        return;
    }
    const char *text =
        band->unproven_count > 0
            ? arena_printf(arena, "not validated: %s; public reports of that were up to %.3g x off",
                           sheet_joined(arena, band->unproven, band->unproven_count),
                           band->reported)
            : arena_printf(
                  arena, "80 %% interval from %" PRIu32 " similar runs of %" PRIu32 " sources (%s)",
                  band->votes, band->sources, band->like);
    for (uint32_t i = 0; i < band->outside_count; i++) {
        text = arena_printf(arena, "%s%s%s", text, i == 0 ? "; extrapolates: " : ", ",
                            band->outside[i]);
    }
    sheet_say(telling->sheet, "\n");
    sheet_say(telling->sheet, "%s\n", text);
}

static void say_next(const struct telling *telling)
{
    const char *file = telling->log->file;
    if (file != NULL) {
        sheet_say(telling->sheet,
                  "next: stoker run %s --set ... as above; stoker search %s; with "
                  "what was measured: stoker calibrate box\n",
                  file, file);
    }
}

void why_add(const struct why_found *found, const struct result *result, const struct why_log *log,
             struct sheet *sheet)
{
    const struct telling telling = {found, result, log, sheet, sheet_arena(sheet)};
    add_answer(&telling);
    add_steps(&telling);
    add_causes(&telling);
    add_faster(&telling);
    if (log->step_s > 0 || !is_absent(found->expected_s)) {
        add_mfu(&telling);
    }
    say_band(&telling);
    say_next(&telling);
}
