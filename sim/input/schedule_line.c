/* Two passes. The first looks at each stage alone: is each action there, once, and in an order
 * that its own stage allows? Then whatever deadlocks waits for another stage, or for something
 * later on its own, and the second finds it by executing the orders. Both are linear in the
 * number of actions, but for a factor `stages` in orders that let one stage run at a time.
 */
#include "input/schedule_line.h"

#include "base/arena.h"
#include "base/check.h"

#include <inttypes.h>
#include <string.h>

/* ---- actions ----------------------------------------------------------------------------- */

bool schedule_action_is_forward(const struct schedule_action *action)
{
    return action->operation == SCHEDULE_FORWARD || action->operation == SCHEDULE_PAIR;
}

bool schedule_action_is_backward(const struct schedule_action *action)
{
    return action->operation != SCHEDULE_FORWARD && action->operation != SCHEDULE_WEIGHTS;
}

uint32_t schedule_backward_chunk(const struct schedule_action *action)
{
    return action->operation == SCHEDULE_PAIR ? action->backward_chunk : action->chunk;
}

uint32_t schedule_backward_microbatch(const struct schedule_action *action)
{
    return action->operation == SCHEDULE_PAIR ? action->backward_microbatch : action->microbatch;
}

static const char *word_text(struct arena *arena, const char *word, uint32_t microbatch,
                             uint32_t chunk, uint32_t chunks)
{
    return chunks == 1 ? arena_printf(arena, "%s%" PRIu32, word, microbatch)
                       : arena_printf(arena, "%s%" PRIu32 ".%" PRIu32, word, microbatch, chunk);
}

const char *schedule_action_text(struct arena *arena, const struct schedule_action *action,
                                 uint32_t chunks)
{
    static const char *const words[] = {
        [SCHEDULE_FORWARD] = "F", [SCHEDULE_BACKWARD] = "BW", [SCHEDULE_BACKWARD_INPUT] = "B",
        [SCHEDULE_WEIGHTS] = "W", [SCHEDULE_PAIR] = "F",
    };
    sim_assert(action->operation <= SCHEDULE_PAIR);
    const char *first =
        word_text(arena, words[action->operation], action->microbatch, action->chunk, chunks);
    if (action->operation != SCHEDULE_PAIR) {
        return first;
    }
    return arena_printf(
        arena, "%s+%s", first,
        word_text(arena, "BW", action->backward_microbatch, action->backward_chunk, chunks));
}

/* ---- execution --------------------------------------------------------------------------- */

struct schedule_run schedule_run_start(struct arena *arena, const struct schedule_line *line)
{
    const size_t slots = (size_t)line->stages * line->chunks;
    return (struct schedule_run){
        .line = line,
        .next = arena_array(arena, line->stages, sizeof(uint64_t)),
        .is_done = arena_array(arena, slots * line->microbatches, sizeof(uint8_t)),
    };
}

static uint32_t slot_of(const struct schedule_line *line, uint32_t stage, uint32_t chunk)
{
    return stage * line->chunks + chunk;
}

static uint8_t *done_at(const struct schedule_run *run, uint32_t slot, uint32_t microbatch)
{
    return &run->is_done[(size_t)slot * run->line->microbatches + microbatch];
}

/* What an action waits for, if that is not done yet. */
struct missing {
    bool is_missing;
    uint32_t slot;
    uint32_t microbatch;
    uint8_t what; /* SCHEDULE_DONE_* */
};

static struct missing missing_of(const struct schedule_run *run, uint32_t slot, uint32_t microbatch,
                                 uint8_t what)
{
    const bool is_missing =
        slot != SCHEDULE_NOWHERE && (*done_at(run, slot, microbatch) & what) == 0;
    return (struct missing){is_missing, slot, microbatch, what};
}

static struct missing first_missing(const struct schedule_run *run, uint32_t stage,
                                    const struct schedule_action *action)
{
    const struct schedule_line *line = run->line;
    struct missing missing = {.is_missing = false};
    if (schedule_action_is_forward(action)) {
        const uint32_t slot = slot_of(line, stage, action->chunk);
        missing =
            missing_of(run, line->slots[slot].previous, action->microbatch, SCHEDULE_DONE_FORWARD);
    }
    if (action->operation == SCHEDULE_FORWARD || missing.is_missing) {
        return missing;
    }
    const uint32_t slot = slot_of(line, stage, schedule_backward_chunk(action));
    const uint32_t microbatch = schedule_backward_microbatch(action);
    const bool is_weights = action->operation == SCHEDULE_WEIGHTS;
    missing = missing_of(run, slot, microbatch,
                         is_weights ? SCHEDULE_DONE_BACKWARD : SCHEDULE_DONE_FORWARD);
    if (is_weights || missing.is_missing) {
        return missing;
    }
    return missing_of(run, line->slots[slot].next, microbatch, SCHEDULE_DONE_BACKWARD);
}

/* What of a backward or of weight gradients is done when the action is. */
static uint8_t backward_bits(const struct schedule_action *action)
{
    switch (action->operation) {
    case SCHEDULE_BACKWARD_INPUT:
        return SCHEDULE_DONE_BACKWARD;
    case SCHEDULE_WEIGHTS:
        return SCHEDULE_DONE_WEIGHTS;
    case SCHEDULE_BACKWARD:
    case SCHEDULE_PAIR:
        return SCHEDULE_DONE_BACKWARD | SCHEDULE_DONE_WEIGHTS;
    default:
        return 0;
    }
}

static void mark_done(const struct schedule_run *run, uint32_t stage,
                      const struct schedule_action *action)
{
    const struct schedule_line *line = run->line;
    if (schedule_action_is_forward(action)) {
        *done_at(run, slot_of(line, stage, action->chunk), action->microbatch) |=
            SCHEDULE_DONE_FORWARD;
    }
    if (action->operation != SCHEDULE_FORWARD) {
        *done_at(run, slot_of(line, stage, schedule_backward_chunk(action)),
                 schedule_backward_microbatch(action)) |= backward_bits(action);
    }
}

const struct schedule_action *schedule_run_step(struct schedule_run *run, uint32_t stage)
{
    const struct schedule_order *order = &run->line->orders[stage];
    if (run->next[stage] == order->count) {
        return NULL;
    }
    const struct schedule_action *action = &order->actions[run->next[stage]];
    if (first_missing(run, stage, action).is_missing) {
        return NULL;
    }
    mark_done(run, stage, action);
    run->next[stage]++;
    run->executed++;
    return action;
}

/* ---- each stage alone -------------------------------------------------------------------- */

static bool set_fault(struct schedule_fault *fault, uint32_t stage, uint64_t position,
                      const char *reason, const char *help)
{
    if (fault != NULL) {
        *fault = (struct schedule_fault){stage, position, reason, help};
    }
    return false;
}

static const char *named(struct arena *arena, const struct schedule_line *line, const char *what,
                         uint32_t microbatch, uint32_t chunk)
{
    return line->chunks == 1
               ? arena_printf(arena, "the %s of microbatch %" PRIu32, what, microbatch)
               : arena_printf(arena, "the %s of microbatch %" PRIu32 " in chunk %" PRIu32, what,
                              microbatch, chunk);
}

struct part {
    uint8_t bits;   /* what is done */
    uint8_t before; /* what must have been */
    uint32_t chunk, microbatch;
    const char *name;
    const char *name_before;
};

/* The forward or the rest of an action; false when it has none. */
static bool part_of(const struct schedule_action *action, bool is_forward, struct part *part)
{
    if (is_forward) {
        *part = (struct part){SCHEDULE_DONE_FORWARD, 0,         action->chunk,
                              action->microbatch,    "forward", NULL};
        return schedule_action_is_forward(action);
    }
    *part = (struct part){backward_bits(action),
                          SCHEDULE_DONE_FORWARD,
                          schedule_backward_chunk(action),
                          schedule_backward_microbatch(action),
                          "backward",
                          "forward"};
    if (action->operation == SCHEDULE_WEIGHTS) {
        part->before = SCHEDULE_DONE_BACKWARD;
        part->name = "weight gradient";
        part->name_before = "backward";
    }
    return action->operation != SCHEDULE_FORWARD;
}

struct survey {
    struct arena *arena;
    const struct schedule_run *run; /* its is_done is used as a list of what was seen */
    uint32_t stage;
    struct schedule_fault *fault;
};

enum part_fault { PART_IS_GOOD, PART_UNKNOWN, PART_ELSEWHERE, PART_TWICE, PART_TOO_EARLY };

static enum part_fault judge_part(const struct survey *survey, const struct part *part)
{
    const struct schedule_line *line = survey->run->line;
    if (part->chunk >= line->chunks || part->microbatch >= line->microbatches) {
        return PART_UNKNOWN;
    }
    const uint32_t slot = slot_of(line, survey->stage, part->chunk);
    const struct schedule_slot *through = &line->slots[slot];
    if (part->microbatch < through->microbatch_first ||
        part->microbatch >= through->microbatch_end) {
        return PART_ELSEWHERE;
    }
    const uint8_t seen = *done_at(survey->run, slot, part->microbatch);
    if ((seen & part->bits) != 0) {
        return PART_TWICE;
    }
    return (seen & part->before) == part->before ? PART_IS_GOOD : PART_TOO_EARLY;
}

#define ONCE_HELP "F, and either BW or both B and W, once for each microbatch and chunk"

static bool report_part(const struct survey *survey, uint64_t position, const struct part *part,
                        enum part_fault fault)
{
    struct arena *arena = survey->arena;
    const struct schedule_line *line = survey->run->line;
    const char *name = named(arena, line, part->name, part->microbatch, part->chunk);
    const char *reason = NULL;
    const char *help = NULL;
    if (fault == PART_UNKNOWN) {
        reason = arena_printf(arena, "there is no %s", name + strlen("the "));
        help = arena_printf(arena, "microbatches are 0 to %" PRIu32 ", chunks 0 to %" PRIu32,
                            line->microbatches - 1, line->chunks - 1);
    } else if (fault == PART_ELSEWHERE) {
        reason = arena_printf(arena, "%s does not come through here", name);
    } else if (fault == PART_TWICE) {
        reason = arena_printf(arena, "%s comes twice", name);
        help = ONCE_HELP;
    } else {
        reason = arena_printf(arena, "%s comes before its %s", name, part->name_before);
        help = arena_printf(arena, "put it behind %s",
                            named(arena, line, part->name_before, part->microbatch, part->chunk));
    }
    return set_fault(survey->fault, survey->stage, position, reason, help);
}

static bool survey_part(const struct survey *survey, uint64_t position, const struct part *part)
{
    const enum part_fault fault = judge_part(survey, part);
    if (fault != PART_IS_GOOD) {
        return report_part(survey, position, part, fault);
    }
    const uint32_t slot = slot_of(survey->run->line, survey->stage, part->chunk);
    *done_at(survey->run, slot, part->microbatch) |= part->bits;
    return true;
}

static bool survey_order(const struct survey *survey)
{
    const struct schedule_order *order = &survey->run->line->orders[survey->stage];
    for (uint64_t i = 0; i < order->count; i++) {
        struct part part;
        /* The backward of a pair first: it must not need the forward beside it. */
        if (part_of(&order->actions[i], false, &part) && !survey_part(survey, i, &part)) {
            return false;
        }
        if (part_of(&order->actions[i], true, &part) && !survey_part(survey, i, &part)) {
            return false;
        }
    }
    return true;
}

/* The first thing that is missing of a microbatch, or NULL. */
static const char *missing_name(uint8_t seen)
{
    if ((seen & SCHEDULE_DONE_FORWARD) == 0) {
        return "forward";
    }
    if ((seen & SCHEDULE_DONE_BACKWARD) == 0) {
        return "backward";
    }
    return (seen & SCHEDULE_DONE_WEIGHTS) == 0 ? "weight gradient" : NULL;
}

static bool survey_is_whole(const struct survey *survey)
{
    const struct schedule_line *line = survey->run->line;
    for (uint32_t chunk = 0; chunk < line->chunks; chunk++) {
        const uint32_t slot = slot_of(line, survey->stage, chunk);
        const struct schedule_slot *through = &line->slots[slot];
        for (uint32_t m = through->microbatch_first; m < through->microbatch_end; m++) {
            const char *missing = missing_name(*done_at(survey->run, slot, m));
            if (missing != NULL) {
                const char *name = named(survey->arena, line, missing, m, chunk);
                return set_fault(survey->fault, survey->stage, line->orders[survey->stage].count,
                                 arena_printf(survey->arena, "%s is missing", name), ONCE_HELP);
            }
        }
    }
    return true;
}

/* ---- all stages together ----------------------------------------------------------------- */

#define CYCLE_SHOWN 8

static const char *waits_text(struct arena *arena, const struct schedule_run *run, uint32_t stage,
                              const struct missing *missing)
{
    const struct schedule_line *line = run->line;
    const struct schedule_action awaited = {
        .operation =
            missing->what == SCHEDULE_DONE_FORWARD ? SCHEDULE_FORWARD : SCHEDULE_BACKWARD_INPUT,
        .chunk = (uint16_t)(missing->slot % line->chunks),
        .microbatch = missing->microbatch,
    };
    const struct schedule_action *action = &line->orders[stage].actions[run->next[stage]];
    return arena_printf(arena, "%s of stage %" PRIu32 " waits for %s of stage %" PRIu32,
                        schedule_action_text(arena, action, line->chunks), stage,
                        schedule_action_text(arena, &awaited, line->chunks),
                        missing->slot / line->chunks);
}

static uint32_t waits_for(const struct schedule_run *run, uint32_t stage, struct missing *missing)
{
    const struct schedule_action *action = &run->line->orders[stage].actions[run->next[stage]];
    *missing = first_missing(run, stage, action);
    sim_assert(missing->is_missing);
    return missing->slot / run->line->chunks;
}

/* Each stage that is not through waits for one that is not either: going on from any, a stage
 * comes again, and from there the same ones for ever. */
static bool set_deadlock(struct arena *arena, const struct schedule_run *run,
                         struct schedule_fault *fault)
{
    const struct schedule_line *line = run->line;
    uint32_t stage = 0;
    while (run->next[stage] == line->orders[stage].count) {
        stage++;
    }
    struct missing missing;
    for (uint32_t i = 0; i < line->stages; i++) {
        stage = waits_for(run, stage, &missing);
    }
    const uint32_t start = stage;
    const char *text = "deadlock: ";
    uint32_t length = 0;
    do {
        const uint32_t other = waits_for(run, stage, &missing);
        if (length < CYCLE_SHOWN) {
            text = arena_printf(arena, "%s%s%s", text, length == 0 ? "" : ", ",
                                waits_text(arena, run, stage, &missing));
        }
        length++;
        stage = other;
    } while (stage != start);
    if (length > CYCLE_SHOWN) {
        text = arena_printf(arena, "%s, and %" PRIu32 " more stages up to it", text,
                            length - CYCLE_SHOWN);
    }
    return set_fault(fault, start, run->next[start], text,
                     length == 1 ? "put what it waits for in front of it"
                                 : "let one of these stages do first what the others wait for");
}

static bool executes(struct arena *arena, const struct schedule_line *line,
                     struct schedule_fault *fault)
{
    struct schedule_run run = schedule_run_start(arena, line);
    uint64_t actions = 0;
    for (uint32_t stage = 0; stage < line->stages; stage++) {
        actions += line->orders[stage].count;
    }
    while (run.executed < actions) {
        const uint64_t executed_before = run.executed;
        for (uint32_t stage = 0; stage < line->stages; stage++) {
            while (schedule_run_step(&run, stage) != NULL) {
            }
        }
        if (run.executed == executed_before) {
            return set_deadlock(arena, &run, fault);
        }
    }
    return true;
}

bool schedule_line_check(struct arena *arena, const struct schedule_line *line,
                         struct schedule_fault *fault)
{
    const struct schedule_run seen = schedule_run_start(arena, line);
    for (uint32_t stage = 0; stage < line->stages; stage++) {
        const struct survey survey = {arena, &seen, stage, fault};
        if (!survey_order(&survey) || !survey_is_whole(&survey)) {
            return false;
        }
    }
    return executes(arena, line, fault);
}
