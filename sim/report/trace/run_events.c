/* A piece is a slice, and a point of the counter; events are counted before they are written. */
#include "report/trace/run_events.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/version.h"
#include "report/trace/trace_lines.h"
#include "run/history/history_seen.h"

enum { PROCESS = 1, LANE_REGIMES = 8 };

/* Of an account; those of steps that count are told together. */
static const struct account_lane {
    uint32_t lane; /* 0: no piece is of it */
    const char *name;
} lanes[ACCOUNT_COUNT_] = {
    [ACCOUNT_USEFUL] = {1, "training"},        [ACCOUNT_LOST] = {2, "lost work"},
    [ACCOUNT_CHECKPOINT] = {3, "checkpoints"}, [ACCOUNT_DETECTION] = {4, "detection"},
    [ACCOUNT_WAITING] = {5, "waiting"},        [ACCOUNT_RECOVERY] = {6, "restarts"},
    [ACCOUNT_PLANNED] = {7, "planned"},
};

struct writer {
    struct trace_lines lines;
    const struct run_events *of;
    sim_time until;
    struct arena *scratch; /* of a name */
};

static const char *class_name(const struct writer *writer, uint32_t class)
{
    const struct history_seen *seen = writer->of->seen;
    return class < seen->class_count ? seen->classes[class].name : NULL;
}

static const char *with(struct arena *arena, const char *text, const char *more)
{
    return text[0] == '\0'   ? more
           : more[0] == '\0' ? text
                             : arena_printf(arena, "%s, %s", text, more);
}

/* "slow: gpu_slow, without 1 replica"; "": as usual. */
static const char *regime_words(struct writer *writer, const struct history_regime *regime)
{
    struct arena *arena = writer->scratch;
    const char *text = "";
    if (regime->stage > 0) {
        text = arena_printf(arena, "stage %u of the run", regime->stage + 1);
    }
    if (regime->slow_class != HISTORY_NO_CLASS) {
        text = with(arena, text,
                    arena_printf(arena, "slow: %s", class_name(writer, regime->slow_class)));
    }
    if (regime->missing > 0) {
        const long long missing = (long long)(regime->missing * writer->of->seen->replicas);
        text = with(arena, text,
                    arena_printf(arena, "without %lld replica%s", missing, missing > 1 ? "s" : ""));
    }
    if (regime->displaced > 0) {
        text = with(arena, text, arena_printf(arena, "%u nodes elsewhere", regime->displaced));
    }
    return text;
}

static struct trace_lane lane_of(uint32_t number)
{
    return (struct trace_lane){PROCESS, number};
}

static void describe(struct writer *writer)
{
    const struct history_seen *seen = writer->of->seen;
    trace_process(&writer->lines, PROCESS,
                  arena_printf(writer->scratch, "history %lld of %lld", (long long)seen->number,
                               (long long)seen->histories),
                  NULL);
    for (uint32_t i = 0; i < ACCOUNT_COUNT_; i++) {
        if (lanes[i].lane > 0) {
            trace_lane_name(&writer->lines, lane_of(lanes[i].lane), lanes[i].name);
        }
    }
    trace_lane_name(&writer->lines, lane_of(LANE_REGIMES), "regimes");
}

static bool is_steps(const struct history_piece *piece)
{
    return piece->first_step >= 0;
}

static void write_steps(struct writer *writer, const struct history_piece *piece)
{
    const struct history_regime *regime = &piece->regime;
    const char *words = regime_words(writer, regime);
    if (regime->flushes > 0) {
        words = with(writer->scratch, words, "beside a flush");
    }
    const struct account_lane *of = &lanes[piece->account];
    trace_slice(&writer->lines, lane_of(of->lane), with(writer->scratch, of->name, words),
                account_names[piece->account], (struct trace_span){piece->start, piece->end});
    trace_argument_number(&writer->lines, "first_step", (double)piece->first_step + 1);
    trace_argument_number(&writer->lines, "steps", (double)piece->steps);
    if (piece->steps > 0) {
        trace_argument_time(&writer->lines, "step_us", (piece->end - piece->start) / piece->steps);
    }
}

static void write_piece(struct writer *writer, const struct history_piece *piece)
{
    sim_assert(lanes[piece->account].lane > 0);
    if (is_steps(piece)) {
        write_steps(writer, piece);
        return;
    }
    const struct account_lane *of = &lanes[piece->account];
    const char *class = class_name(writer, piece->class);
    trace_slice(&writer->lines, lane_of(of->lane),
                class != NULL ? arena_printf(writer->scratch, "%s: %s", of->name, class) : of->name,
                account_names[piece->account], (struct trace_span){piece->start, piece->end});
    if (class != NULL) {
        trace_argument_text(&writer->lines, "failure", class);
    }
}

/* Flushes come and go with checkpoints, drift is in steps' lengths. */
static bool is_same_regime(const struct history_regime *a, const struct history_regime *b)
{
    return a->stage == b->stage && a->slow_class == b->slow_class && a->missing == b->missing &&
           a->displaced == b->displaced;
}

static void write_regime(struct writer *writer, const struct history_piece *first, sim_time end)
{
    const char *words = regime_words(writer, &first->regime);
    trace_slice(&writer->lines, lane_of(LANE_REGIMES), words[0] != '\0' ? words : "usual", "regime",
                (struct trace_span){first->start, end});
}

static void write_regimes(struct writer *writer)
{
    const struct history_seen *seen = writer->of->seen;
    const struct history_piece *first = NULL;
    const struct history_piece *last = NULL;
    for (size_t i = 0; i < seen->count && seen->pieces[i].start < writer->until; i++) {
        const struct history_piece *piece = &seen->pieces[i];
        if (!is_steps(piece)) {
            continue;
        }
        if (first != NULL && !is_same_regime(&first->regime, &piece->regime)) {
            write_regime(writer, first, last->end);
            first = NULL;
        }
        first = first != NULL ? first : piece;
        last = piece;
    }
    if (first != NULL) {
        write_regime(writer, first, last->end);
    }
}

static void write_pieces(struct writer *writer)
{
    const struct history_seen *seen = writer->of->seen;
    sim_time counting = 0;
    for (size_t i = 0; i < seen->count && seen->pieces[i].start < writer->until; i++) {
        const struct history_piece *piece = &seen->pieces[i];
        write_piece(writer, piece);
        counting += piece->account == ACCOUNT_USEFUL ? piece->end - piece->start : 0;
        trace_counter(&writer->lines, PROCESS, "time in steps that count, %", piece->end,
                      100 * (double)counting / (double)piece->end);
        arena_reset(writer->scratch);
    }
}

/* One point for all that happens at an instant. */
static void write_nodes(struct writer *writer)
{
    const struct history_seen *seen = writer->of->seen;
    int64_t up = seen->nodes;
    trace_counter(&writer->lines, PROCESS, "nodes up", 0, (double)up);
    for (size_t i = 0; i < seen->away_count && seen->away[i].when < writer->until; i++) {
        up -= seen->away[i].nodes;
        if (i + 1 == seen->away_count || seen->away[i + 1].when > seen->away[i].when) {
            trace_counter(&writer->lines, PROCESS, "nodes up", seen->away[i].when, (double)up);
        }
    }
}

static void write_about(struct writer *writer)
{
    const struct history_seen *seen = writer->of->seen;
    trace_lines_about(&writer->lines);
    trace_argument_text(&writer->lines, "producer", "stoker");
    trace_argument_text(&writer->lines, "version", stoker_version());
    trace_argument_text(&writer->lines, "scenario", writer->of->title);
    trace_argument_number(&writer->lines, "history", (double)seen->number);
    trace_argument_number(&writer->lines, "histories", (double)seen->histories);
    trace_argument_time(&writer->lines, "end_us", seen->outcome.end);
    trace_argument_time(&writer->lines, "shown_us", writer->until);
}

static uint64_t write_all(const struct run_events *events, sim_time until, FILE *out)
{
    struct writer writer = {.of = events, .until = until, .scratch = arena_new()};
    trace_lines_begin(&writer.lines, out);
    describe(&writer);
    write_regimes(&writer);
    write_pieces(&writer);
    write_nodes(&writer);
    write_about(&writer);
    trace_lines_end(&writer.lines);
    arena_free(writer.scratch);
    return writer.lines.count;
}

/* The begin of a piece, before which there are few enough. */
static sim_time find_until(const struct run_events *events)
{
    const struct history_seen *seen = events->seen;
    sim_time until = seen->until;
    size_t count = seen->count;
    uint64_t written = write_all(events, until, NULL);
    while (written > STEP_EVENTS_MAX) {
        const double share = 0.98 * STEP_EVENTS_MAX / (double)written;
        count = (size_t)(share * (double)count);
        until = seen->pieces[count].start;
        written = write_all(events, until, NULL);
    }
    return until;
}

struct content {
    const struct run_events *events;
    struct run_events_shown *shown;
};

static bool write_content(const void *context, FILE *out)
{
    const struct content *content = context;
    content->shown->events = write_all(content->events, content->shown->until, out);
    return ferror(out) == 0;
}

bool run_events_write(struct arena *arena, const struct run_events *events, const char *path,
                      struct run_events_shown *shown, struct diag *diag)
{
    *shown = (struct run_events_shown){.until = find_until(events)};
    const struct content content = {events, shown};
    return trace_lines_file(arena, path, write_content, &content, diag);
}
