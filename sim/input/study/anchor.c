/* A word stands for the measured run alone. */
#include "input/study/anchor.h"

#include "base/absent.h"
#include "base/arena.h"

#include <math.h>

#define SCHEMA_OBJECT struct anchor
#include "input/schema/rows.h"

static const double STEP_LEAST_S = 1e-6, STEP_MOST_S = 1e6;

static const struct schema_row rows[] = {
    {TEXT("run", run,
          "What was measured: a log that `stoker import` reads, or FILE.csv:ID, a row of a table "
          "of measured runs."),
     .is_optional = true, .note = "step_time says it"},
    {TEXT("scenario", scenario, "The scenario that was measured."), .is_optional = true,
     .note = "this one, as its file has it"},
    {NODE("set", set, "Keys of it that were otherwise: {gpus: 64}."), .note = "none"},
    {QUANTITY("step_time", step_time_s, DIM_SECONDS, STEP_LEAST_S, STEP_MOST_S,
              "The measured step."),
     .is_optional = true, .note = "the run's"},
    {QUANTITY("predicted", predicted_s, DIM_SECONDS, STEP_LEAST_S, STEP_MOST_S,
              "What the measured run's step is predicted to take."),
     .is_optional = true, .note = "it is worked out"},
    {QUANTITY("weight", weight, DIM_FRACTION, 0.0, 1.0,
              "How much of the anchor's error the predictions share: 1 makes them ratios to it."),
     .is_optional = true, .note = "by measured runs that differ likewise"},
    {QUANTITY("factor", factor, DIM_COUNT, ANCHOR_FACTOR_LEAST, ANCHOR_FACTOR_MOST,
              "By which all steps are multiplied."),
     .is_optional = true, .note = "(step_time / predicted) ^ weight"},
    {QUANTITY("band", band, DIM_COUNT, 1.0, 1e3,
              "Measured steps are expected within this factor, from p10 to p90."),
     .is_optional = true, .note = "by measured runs that differ likewise"},
    {COUNT("votes", votes, 0, 1000000, "Pairs of measured runs that differ likewise."),
     .standard = "0"},
};
const struct schema anchor_keys = SCHEMA_OF("anchor", "anchor.", rows);

double anchor_factor(const struct anchor *anchor)
{
    return anchor->is_given ? anchor->factor : 1.0;
}

bool anchor_read_node(struct arena *arena, const struct doc_node *node, struct anchor *anchor,
                      struct diag *diag)
{
    struct assumptions unheard = {.arena = arena};
    struct doc_map map;
    *anchor = (struct anchor){.is_given = true, .run = "", .scenario = "", .weight = ABSENT};
    if (node->kind == DOC_SCALAR) {
        anchor->run = node->text;
        return true;
    }
    if (!doc_map_open(&map, node, diag)) {
        return false;
    }
    schema_read(&anchor_keys, &map, anchor, &unheard);
    return doc_finish(&map);
}

/* Who changes one of a worked out anchor's numbers would change nothing. */
static bool is_consistent(const struct anchor *anchor)
{
    if (!(anchor->predicted_s > 0) || !(anchor->step_time_s > 0) || is_absent(anchor->weight)) {
        return true;
    }
    const double factor = pow(anchor->step_time_s / anchor->predicted_s, anchor->weight);
    return fabs(factor / anchor->factor - 1) < 1e-6;
}

void anchor_read(const struct schema_reader *reader, const struct schema_row *row)
{
    struct anchor *anchor = (void *)((char *)reader->object + row->offset);
    struct diag *diag = reader->map->diag;
    const struct doc_node *node = doc_take(reader->map, schema_key(row));
    *anchor = (struct anchor){.run = "", .scenario = "", .weight = ABSENT, .factor = 1};
    if (node == NULL) {
        return;
    }
    if (!anchor_read_node(reader->assumptions->arena, node, anchor, diag)) {
        reader->map->is_bad = true;
    } else if (!(anchor->factor > 0)) {
        diag_add(diag, DIAG_INPUT, &node->place, "this anchor is not worked out: it has no factor");
        diag_help(diag, "run, explain, show, compare, sweep, whatif, search and plot work it out; "
                        "else write anchor: {factor: 1.05}");
        reader->map->is_bad = true;
    } else if (!is_consistent(anchor)) {
        diag_add(diag, DIAG_INPUT, &node->place,
                 "anchor.factor is not (step_time / predicted) ^ weight");
        diag_help(diag, "leave out factor, and it is worked out anew; it is one for all points of "
                        "a study");
        reader->map->is_bad = true;
    }
}
