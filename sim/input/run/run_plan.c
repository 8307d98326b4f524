/* What a key of the plan says by more than a value, and what its keys say together.
 */
#include "input/run/run_plan.h"

#include "input/scenario.h"

#include "base/arena.h"

#include <math.h>
#include <string.h>

const char *const drift_since_names[DRIFT_SINCE_COUNT_] = {"start", "maintenance"};

#define SCHEMA_OBJECT struct run_stage
#include "input/schema/rows.h"

#define SECONDS_MAX 1e9
#define STEPS_MAX 1e12

static const struct schema_row stage_rows[] = {
    {TEXT("name", name, "What reports call it."), .is_optional = true, .note = "its number"},
    {QUANTITY("tokens", tokens, DIM_COUNT, 1.0, 1e18,
              "Tokens that are trained in it, of its steps the last rounded up."),
     .is_required = true},
    {NODE("set", set,
          "Values of keys in this stage: {batch.global: 512, parallel.cp: 16}; of any key but run, "
          "price, jobs and seed."),
     .note = "the scenario as it is"},
    {BOOL("restart", restarts,
          "The job is stopped for it once a checkpoint is durable, and starts anew (run.recovery); "
          "else it goes on in place."),
     .standard = "false", .is_settled = true},
    {QUANTITY("change", change_s, DIM_SECONDS, 0.0, SECONDS_MAX,
              "What passes before its first step, beside a restart: another compilation, hands."),
     .standard = "0 s"},
    {QUANTITY("step_time", step_time_s, DIM_SECONDS, 1e-6, SECONDS_MAX,
              "A measured step of this stage, in the place of the one that is predicted."),
     .is_optional = true, .note = "run.step_time, or predicted"},
};
const struct schema run_stage_keys = SCHEMA_OF("stages", "run.stages.", stage_rows);

/* ---- stages ---------------------------------------------------------------------------------- */

enum { RUN_STAGES_MAX = 100 };

static bool read_stage(const struct schema_reader *reader, const struct doc_node *entry,
                       struct run_stage *stage, uint32_t number)
{
    struct diag *diag = reader->map->diag;
    struct doc_map map;
    if (!doc_map_open(&map, entry, diag)) {
        diag_help(diag, "write it like {tokens: 2.87T, set: {batch.global: 1024}}");
        return false;
    }
    assumptions_take(reader->assumptions, &map, "run.stages");
    schema_read(&run_stage_keys, &map, stage, reader->assumptions);
    if (stage->name == NULL || stage->name[0] == '\0') {
        stage->name = arena_printf(reader->assumptions->arena, "%u", number);
    }
    stage->node = entry;
    const struct doc_node *change = doc_find(entry, "change");
    if (number == 1 && stage->change_s > 0) {
        diag_add(diag, DIAG_INPUT, &change->place, "the first stage changes from nothing");
        diag_help(diag, "what passes before the first step of a run is run.startup");
        map.is_bad = true;
    }
    if (stage->set != NULL && stage->set->kind == DOC_NULL) {
        stage->set = NULL;
    }
    if (stage->set != NULL && stage->set->kind != DOC_MAPPING) {
        diag_add(diag, DIAG_INPUT, &stage->set->place, "set needs keys with values");
        diag_help(diag, "write it like set: {batch.global: 1024, parallel.cp: 16}");
        map.is_bad = true;
    }
    return doc_finish(&map);
}

static bool check_names(const struct run_plan *plan, struct diag *diag)
{
    for (uint32_t i = 1; i < plan->stage_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(plan->stages[i].name, plan->stages[k].name) == 0) {
                return diag_add(diag, DIAG_INPUT, &plan->stages[i].node->place,
                                "stage '%s' is listed twice", plan->stages[i].name);
            }
        }
    }
    return true;
}

/* Of one stage nothing needs to be set apart. */
static bool check_single(const struct run_plan *plan, struct diag *diag)
{
    if (plan->stage_count != 1 ||
        (plan->stages[0].set == NULL && plan->stages[0].step_time_s <= 0)) {
        return true;
    }
    diag_add(diag, DIAG_INPUT, &plan->stages[0].node->place,
             "a single stage sets what the scenario may say itself");
    diag_help(diag, "write its keys into the scenario, or list the stages beside it");
    return false;
}

/* Stated twice, tokens have to agree; else the run has those of its stages. */
static bool settle_tokens(struct scenario *scenario, const struct doc_node *list, struct diag *diag)
{
    double sum = 0;
    for (uint32_t i = 0; i < scenario->plan.stage_count; i++) {
        sum += scenario->plan.stages[i].tokens;
    }
    if (scenario->run_tokens <= 0) {
        scenario->run_tokens = sum;
        return true;
    }
    if (fabs(sum - scenario->run_tokens) <= 1e-9 * sum) {
        return true;
    }
    char text[2][32];
    units_format(sum, DIM_COUNT, 7, text[0], sizeof text[0]);
    units_format(scenario->run_tokens, DIM_COUNT, 7, text[1], sizeof text[1]);
    diag_add(diag, DIAG_INPUT, &list->place, "the stages have %s tokens, the run has %s", text[0],
             text[1]);
    diag_help(diag, "a stage's tokens are those trained in it alone; or leave run.tokens out");
    return false;
}

void run_plan_read_stages(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    struct run_plan *plan = &scenario->plan;
    struct diag *diag = reader->map->diag;
    const struct doc_node *list = doc_take(reader->map, schema_key(row));
    if (list == NULL) {
        return;
    }
    const uint32_t count = list->kind == DOC_SEQUENCE ? doc_child_count(list) : 0;
    if (list->kind != DOC_SEQUENCE || count > RUN_STAGES_MAX) {
        diag_add(diag, DIAG_INPUT, &list->place, "stages must be a list of at most %d",
                 RUN_STAGES_MAX);
        diag_help(diag, "write it like [{tokens: 252M, set: {batch.global: 1024}}, {tokens: 2T}]");
        reader->map->is_bad = true;
        return;
    }
    plan->stages = arena_array(reader->assumptions->arena, count + 1u, sizeof *plan->stages);
    bool is_good = true;
    for (const struct doc_node *entry = list->child; entry != NULL; entry = entry->next) {
        struct run_stage *stage = &plan->stages[plan->stage_count++];
        is_good = read_stage(reader, entry, stage, plan->stage_count) && is_good;
    }
    is_good = is_good && check_names(plan, diag) && check_single(plan, diag) &&
              (count == 0 || settle_tokens(scenario, list, diag));
    reader->map->is_bad = reader->map->is_bad || !is_good;
}

/* ---- pauses ---------------------------------------------------------------------------------- */

/* The number before "steps", where that is what is written; else all of it. */
static const char *steps_text(const char *text, char *number, size_t number_bytes)
{
    const char *unit = strstr(text, "step");
    size_t length = unit != NULL ? (size_t)(unit - text) : 0;
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    const bool is_steps = unit != NULL && (strcmp(unit, "step") == 0 || strcmp(unit, "steps") == 0);
    if (!is_steps || length >= number_bytes) {
        return text;
    }
    memcpy(number, text, length);
    number[length] = '\0';
    return number;
}

/* "1000 steps", or a bare number of them. */
void run_plan_read_evaluation_every(const struct schema_reader *reader,
                                    const struct schema_row *row)
{
    struct doc_map *map = reader->map;
    struct run_evaluation *evaluation = &((struct scenario *)reader->object)->plan.evaluation;
    if (!doc_require(map, schema_key(row))) {
        return;
    }
    struct doc_node count = *doc_take(map, schema_key(row));
    char number[64];
    if (count.kind == DOC_SCALAR) {
        count.text = steps_text(count.text, number, sizeof number);
    }
    if (!doc_node_count(&count, 1, (int64_t)STEPS_MAX, &evaluation->every_steps, map->diag)) {
        diag_help(map->diag, "it is a number of steps, like '1000 steps'");
        map->is_bad = true;
    }
}

bool run_plan_check_first_steps(const struct schema_reader *reader, const struct schema_row *row)
{
    struct run_first_steps *first = &((struct scenario *)reader->object)->plan.first_steps;
    struct diag *diag = reader->map->diag;
    (void)row;
    first->all_s = first->are_slow ? (double)first->count * first->longer_s : 0;
    if (first->all_s <= SECONDS_MAX) {
        return true;
    }
    char text[2][32];
    diag_add(diag, DIAG_INPUT, &doc_find(reader->map->node, "longer")->place,
             "the first steps take %s longer in all; up to %s are simulated",
             units_format_duration(first->all_s, text[0], sizeof text[0]),
             units_format_duration(SECONDS_MAX, text[1], sizeof text[1]));
    diag_help(diag, "run.first_steps.longer is of each of them, and run.first_steps.count is %lld",
              (long long)first->count);
    return false;
}

/* Each window begins after the one before has ended, and leaves what it stops to go back to. */
bool run_plan_check_maintenance(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    struct run_maintenance *plan = &scenario->plan.maintenance;
    struct diag *diag = reader->map->diag;
    (void)row;
    if (!plan->is_enabled) {
        return true;
    }
    const struct doc_node *takes = doc_find(reader->map->node, "takes");
    if (plan->takes_s >= plan->every_s) {
        char text[2][32];
        diag_add(diag, DIAG_INPUT, &takes->place,
                 "maintenance takes %s, which leaves nothing of the %s from one to the next",
                 units_format_duration(plan->takes_s, text[0], sizeof text[0]),
                 units_format_duration(plan->every_s, text[1], sizeof text[1]));
        diag_help(diag, "run.maintenance.every is from the begin of one to the begin of the next");
        return false;
    }
    if (!scenario->checkpoint.is_enabled) {
        diag_add(diag, DIAG_INPUT, &reader->map->node->place,
                 "after maintenance the run has no checkpoint to go on from");
        diag_help(diag, "write run.checkpoint: {every: 30 min}");
        return false;
    }
    return true;
}

bool run_plan_has_restarts(const void *scenario)
{
    const struct scenario *of = scenario;
    return recovery_has_failures(scenario) || of->plan.maintenance.is_enabled ||
           of->plan.stage_count > 0;
}

bool run_plan_evaluates_too_long(const struct run_plan *plan, double step_s)
{
    const struct run_evaluation *evaluation = &plan->evaluation;
    return evaluation->is_enabled && evaluation->takes_s > (double)evaluation->every_steps * step_s;
}

bool run_plan_has_pauses(const struct run_plan *plan)
{
    return plan->evaluation.is_enabled || plan->maintenance.is_enabled || plan->stage_count > 1 ||
           plan->drift.is_enabled;
}
