/* Integers of nanoseconds are printed as microseconds: no digit is lost on the way. */
#include "report/trace/trace_lines.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/gzip.h"
#include "base/json.h"
#include "base/path.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool is_written(const struct trace_lines *lines)
{
    return lines->out != NULL;
}

static void close_event(struct trace_lines *lines)
{
    if (lines->is_open && is_written(lines)) {
        fputs(lines->has_args ? "}}" : "}", lines->out);
    }
    lines->is_open = false;
    lines->has_args = false;
}

static void put_text(struct trace_lines *lines, const char *text)
{
    fputs(json_quoted(lines->scratch, text), lines->out);
    arena_reset(lines->scratch);
}

static void put_microseconds(FILE *out, int64_t ns)
{
    sim_assert(ns >= 0);
    fprintf(out, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
}

static void put_time(FILE *out, const char *key, sim_time ns)
{
    fprintf(out, ",\"%s\":", key);
    put_microseconds(out, ns);
}

/* False: it is only counted. */
static bool open_event(struct trace_lines *lines, char phase, uint32_t process)
{
    close_event(lines);
    lines->is_open = true;
    lines->count++;
    if (is_written(lines)) {
        fprintf(lines->out, "%s\n{\"ph\":\"%c\",\"pid\":%u", lines->count > 1 ? "," : "", phase,
                process);
    }
    return is_written(lines);
}

static void put_lane(FILE *out, struct trace_lane lane)
{
    sim_assert(lane.number > 0 && lane.number < TRACE_LANES_MAX);
    fprintf(out, ",\"tid\":%" PRIu64, (uint64_t)lane.process * TRACE_LANES_MAX + lane.number);
}

static void put_name(struct trace_lines *lines, const char *name)
{
    fputs(",\"name\":", lines->out);
    put_text(lines, name);
}

/* ---- the document --------------------------------------------------------------------------- */

void trace_lines_begin(struct trace_lines *lines, FILE *out)
{
    *lines = (struct trace_lines){.out = out, .scratch = arena_new()};
    if (is_written(lines)) {
        fputs("{\"traceEvents\":[", out);
    }
}

void trace_lines_about(struct trace_lines *lines)
{
    close_event(lines);
    lines->is_open = true;
    lines->has_args = true;
    if (is_written(lines)) {
        fputs("\n],\"displayTimeUnit\":\"ms\",\"otherData\":{\"format\":\"trace events\"",
              lines->out);
    }
}

void trace_lines_end(struct trace_lines *lines)
{
    close_event(lines);
    if (is_written(lines)) {
        fputs("\n", lines->out);
    }
    arena_free(lines->scratch);
}

struct packed {
    struct arena *arena;
    bool (*write)(const void *context, FILE *out);
    const void *context;
};

static bool write_packed(const void *context, FILE *out)
{
    const struct packed *packed = context;
    FILE *stream = gzip_begin(packed->arena, out);
    const bool is_good = packed->write(packed->context, stream);
    return gzip_end(stream) && is_good;
}

static bool ends_in(const char *path, const char *end)
{
    const size_t length = strlen(path);
    return length > strlen(end) && strcmp(path + length - strlen(end), end) == 0;
}

bool trace_lines_file(struct arena *arena, const char *path,
                      bool (*write)(const void *context, FILE *out), const void *context,
                      struct diag *diag)
{
    static const char REMEDY[] = "-o FILE.json.gz writes elsewhere";
    const struct packed packed = {arena, write, context};
    const struct path_content content =
        ends_in(path, ".gz") ? (struct path_content){write_packed, &packed, REMEDY, false}
                             : (struct path_content){write, context, REMEDY, false};
    return path_write_whole(arena, path, &content, diag);
}

/* ---- events --------------------------------------------------------------------------------- */

static void describe(struct trace_lines *lines, uint32_t process, const char *what)
{
    if (open_event(lines, 'M', process)) {
        put_name(lines, what);
    }
}

void trace_process(struct trace_lines *lines, uint32_t process, const char *name, const char *label)
{
    describe(lines, process, "process_name");
    trace_argument_text(lines, "name", name);
    describe(lines, process, "process_sort_index");
    trace_argument_number(lines, "sort_index", process);
    if (label != NULL) {
        describe(lines, process, "process_labels");
        trace_argument_text(lines, "labels", label);
    }
}

static void describe_lane(struct trace_lines *lines, struct trace_lane lane, const char *what)
{
    if (open_event(lines, 'M', lane.process)) {
        put_lane(lines->out, lane);
        put_name(lines, what);
    }
}

void trace_lane_name(struct trace_lines *lines, struct trace_lane lane, const char *name)
{
    describe_lane(lines, lane, "thread_name");
    trace_argument_text(lines, "name", name);
    describe_lane(lines, lane, "thread_sort_index");
    trace_argument_number(lines, "sort_index", lane.number);
}

void trace_slice(struct trace_lines *lines, struct trace_lane lane, const char *name,
                 const char *category, struct trace_span span)
{
    sim_assert(span.end >= span.start);
    if (open_event(lines, 'X', lane.process)) {
        put_lane(lines->out, lane);
        put_time(lines->out, "ts", span.start);
        put_time(lines->out, "dur", span.end - span.start);
        put_name(lines, name);
        fputs(",\"cat\":", lines->out);
        put_text(lines, category);
    }
}

void trace_counter(struct trace_lines *lines, uint32_t process, const char *name, sim_time time,
                   double value)
{
    if (open_event(lines, 'C', process)) {
        put_time(lines->out, "ts", time);
        put_name(lines, name);
    }
    trace_argument_number(lines, "value", value);
}

void trace_instant(struct trace_lines *lines, struct trace_lane lane, const char *name,
                   sim_time time)
{
    if (open_event(lines, 'i', lane.process)) {
        put_lane(lines->out, lane);
        put_time(lines->out, "ts", time);
        put_name(lines, name);
        fputs(",\"s\":\"p\"", lines->out);
    }
}

static void put_end_of_flow(struct trace_lines *lines, char phase, const char *name,
                            struct trace_lane lane, sim_time time)
{
    if (open_event(lines, phase, lane.process)) {
        put_lane(lines->out, lane);
        put_time(lines->out, "ts", time);
        put_name(lines, name);
        fprintf(lines->out, ",\"cat\":\"flow\",\"id\":%u%s", lines->flows,
                phase == 'f' ? ",\"bp\":\"e\"" : "");
    }
}

void trace_flow(struct trace_lines *lines, const char *name, struct trace_lane from,
                sim_time from_time, struct trace_lane to, sim_time to_time)
{
    sim_assert(from_time <= to_time);
    lines->flows++;
    put_end_of_flow(lines, 's', name, from, from_time);
    put_end_of_flow(lines, 'f', name, to, to_time);
}

/* ---- their arguments ------------------------------------------------------------------------ */

static bool open_argument(struct trace_lines *lines, const char *key)
{
    sim_assert(lines->is_open);
    if (is_written(lines)) {
        fprintf(lines->out, "%s\"%s\":", lines->has_args ? "," : ",\"args\":{", key);
    }
    lines->has_args = true;
    return is_written(lines);
}

void trace_argument_text(struct trace_lines *lines, const char *key, const char *value)
{
    if (open_argument(lines, key)) {
        put_text(lines, value);
    }
}

void trace_argument_number(struct trace_lines *lines, const char *key, double value)
{
    static const double WHOLE_MAX = 0x1p53; /* whole numbers below are exact */
    sim_assert(isfinite(value));
    if (open_argument(lines, key)) {
        const bool is_whole = value == floor(value) && fabs(value) < WHOLE_MAX;
        fprintf(lines->out, is_whole ? "%.0f" : "%.6g", value);
    }
}

void trace_argument_time(struct trace_lines *lines, const char *key, int64_t ns)
{
    if (ns > 0 && open_argument(lines, key)) {
        put_microseconds(lines->out, ns);
    }
}
