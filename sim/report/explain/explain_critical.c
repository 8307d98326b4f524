/* What the step hangs on: its critical path. */
#include "report/explain/explain_sections.h"

#include "base/arena.h"
#include "report/explain/explain_text.h"
#include "train/critical/critical.h"
#include "train/step.h"

#include <math.h>

static void put_parts(const struct critical *critical, struct sheet *in)
{
    static const struct field fields[] = {
        {"part", FIELD_LEFT("  what the step hangs on"), .before = "  "},
        {"seconds", FIELD_RIGHT("seconds", "%.4f", 1)},
        {"share", FIELD_RIGHT("%", "%.2f", 100)},
    };
    struct sheet *table = sheet_table(in, "critical_path", FIELD_LIST(fields));
    const double whole = (double)critical->length_ns;
    for (uint32_t i = 0; i < critical->count; i++) {
        const double part_ns = (double)critical->parts[i].ns;
        sheet_text(table, NULL, critical_title(sheet_arena(in), &critical->parts[i]));
        sheet_number(table, NULL, part_ns * 1e-9);
        sheet_number(table, NULL, part_ns / whole);
    }
}

/* Of what is too small to be said, to be shown as more than nothing, and to be asked about. */
static const double LEAST_SHARE = 1e-5;
static const double LEAST_SHOWN = 5e-4;
static const double LEAST_DOUBTED = 1e-3;

/* Of a resource: all bytes of messages for a cause together, whichever links they go over. */
static bool is_in_doubt(struct arena *arena, const struct forecast *forecast,
                        const struct critical_part *resource)
{
    struct critical_part *parts = arena_array(arena, forecast->count, sizeof *parts);
    uint32_t count = 0;
    for (uint32_t i = 0; i < forecast->count; i++) {
        const struct critical_part *part = &forecast->parts[i];
        if (part->kind == resource->kind && part->cause == resource->cause) {
            parts[count++] = *part;
        }
    }
    return forecast_in_doubt(forecast, parts, count, 0.01) > FORECAST_DOUBT_MAX;
}

static void put_forecast(const struct forecast *forecast, struct sheet *in)
{
    static const struct field fields[] = {
        {"resource", FIELD_LEFT("  a resource that gets 1 % slower"), .before = "  "},
        {"share", FIELD_RIGHT("step longer by %", "%.3f", 1)},
        {"in_doubt", FIELD_LEFT("in doubt")},
    };
    struct sheet *table = sheet_table(in, "forecast", FIELD_LIST(fields));
    for (uint32_t i = 0; i < forecast->count; i++) {
        const struct critical_part *part = &forecast->parts[i];
        const double share = (double)part->ns / (double)forecast->length_ns;
        if (fabs(share) < LEAST_SHARE) {
            continue;
        }
        sheet_text(table, NULL, critical_title(sheet_arena(in), part));
        const bool is_nothing = share < 0 && share > -LEAST_SHOWN; /* not -0.000 */
        sheet_number_as(table, NULL, share, is_nothing ? "0.000" : NULL);
        if (fabs(share) >= LEAST_DOUBTED) {
            sheet_bool(table, NULL, is_in_doubt(sheet_arena(in), forecast, part));
        } else {
            sheet_null_as(table, NULL, "");
        }
    }
}

/* What a slower resource costs, with all that follows from it. */
static void say_forecast(const struct forecast *forecast, struct sheet *in)
{
    sheet_bool(in, "forecast_holds", forecast->holds);
    sheet_number(in, "forecast_gain", forecast->gain);
    if (!forecast->holds) {
        explain_paragraph(in, 2,
                          "What a slower resource costs cannot be told from this run: where its "
                          "flows share links, a nanosecond more in one place is up to %.2g at the "
                          "end. `stoker whatif` simulates changes.",
                          forecast->gain);
        sheet_say(in, "\n");
        return;
    }
    explain_paragraph(in, 2,
                      "Where flows share links, one chain does not tell what a change costs: who "
                      "comes later leaves others more of the link. With all that follows from it, "
                      "to first order, and without waits after the run. In doubt is what hangs on "
                      "another chain's becoming the longest within 1 %%, or on flows that meet "
                      "within it and did not, or no more: `stoker whatif` simulates it.");
    sheet_say(in, "\n");
    put_forecast(forecast, in);
    sheet_say(in, "\n");
}

void explain_critical(const struct explanation *explanation, struct sheet *in)
{
    const struct step_result *step = &explanation->result->step;
    const struct critical *critical = step->path;
    sheet_text(in, "critical_bound_by", step->bound_by);
    explain_paragraph(
        in, 2,
        "The critical path: the chain of tasks, each of which began when the one "
        "before ended, that is as long as the step. What lies on it is worth making "
        "faster: a resource that is 1 %% faster saves 1 %% of its part, until another "
        "chain is the longest. Causes above are means of all GPUs, who mostly wait "
        "for this chain.");
    if (critical->length_ns > step->step_ns) {
        const int64_t longer_ns = critical->length_ns - step->step_ns;
        explain_paragraph(in, 2,
                          "This one is of a step by itself, which reads its data at once and takes "
                          "%.3g s longer than the one above, whose loaders read ahead.",
                          (double)longer_ns * 1e-9);
    }
    sheet_say(in, "\n");
    put_parts(critical, in);
    sheet_say(in, "\n");
    if (explanation->forecast != NULL) {
        say_forecast(explanation->forecast, in);
    } else {
        explain_paragraph(in, 2,
                          "What a slower resource costs is forecast neither of jobs that share the "
                          "fabric nor of more than %d tasks, where few GPUs are alike.",
                          FORECAST_TASKS_MAX);
        sheet_say(in, "\n");
    }
    explain_paragraph(in, 2, "The step hangs on %s of the critical path.", step->bound_by);
    sheet_say(in, "\n");
}
