/* Trace events as JSON, a line each: what Perfetto (ui.perfetto.dev) and chrome://tracing read.
 *
 * The format is Chrome's "Trace Event Format", its object form:
 *
 *     {"traceEvents":[
 *     {"ph":"M","pid":1000,"name":"process_name","args":{"name":"rank 0"}},
 *     {"ph":"X","pid":1000,"tid":100001,"ts":12.345,"dur":3.100,"name":"F0","cat":"forward"},
 *     ...
 *     ],"displayTimeUnit":"ms","otherData":{...}}
 *
 * A *process* is a box of the viewer, a *lane* (thread) a row in it: slices of a lane do not
 * overlap but for those that lie within another (X: begin and length). A *counter* (C) is a curve
 * of its process. A *flow* is an arrow from within one slice (s) to within another (f). `ts` and
 * `dur` are microseconds, to the nanosecond.
 *
 * Lines are written as they come, in no order of time: viewers sort. Lanes have numbers of their
 * own over all processes, and none is 0, which viewers take for an idle machine's.
 *
 *     trace_lines_begin(&lines, out);
 *     trace_slice(&lines, lane, "F0", "forward", span);
 *     trace_argument_number(&lines, "gflop", 12);
 *     trace_lines_end(&lines);
 *
 * With no stream (`out` NULL) events are only counted.
 */
#ifndef REPORT_TRACE_TRACE_LINES_H
#define REPORT_TRACE_TRACE_LINES_H

#include "base/diag.h"
#include "des/event.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct arena;
struct diag;

struct trace_lines {
    FILE *out;              /* NULL: nothing is written */
    struct arena *scratch;  /* owned: of a text that is being quoted */
    uint64_t count;         /* of events so far */
    uint32_t flows;         /* arrows so far */
    bool is_open, has_args; /* an event's line */
};

struct trace_lane {
    uint32_t process, number; /* of the process: 1, 2, ... below TRACE_LANES_MAX */
};
enum { TRACE_LANES_MAX = 100 };

struct trace_span {
    sim_time start, end;
};

/* Before the first event, and behind the last one. What is said of all (otherData) is told between
 * the two of trace_lines_about(). */
void trace_lines_begin(struct trace_lines *lines, FILE *out);
void trace_lines_about(struct trace_lines *lines);
void trace_lines_end(struct trace_lines *lines);

/* A file of them, which `write` writes; packed (base/gzip) if its name ends in .gz. False with a
 * DIAG_FAILURE, and nothing is left behind. */
MUST_USE bool trace_lines_file(struct arena *arena, const char *path,
                               bool (*write)(const void *context, FILE *out), const void *context,
                               struct diag *diag);

/* A process and its place among the others; a lane. `label` NULL: none. */
void trace_process(struct trace_lines *lines, uint32_t process, const char *name,
                   const char *label);
void trace_lane_name(struct trace_lines *lines, struct trace_lane lane, const char *name);

/* Each begins an event, which takes arguments until the next one begins. */
void trace_slice(struct trace_lines *lines, struct trace_lane lane, const char *name,
                 const char *category, struct trace_span span);
void trace_counter(struct trace_lines *lines, uint32_t process, const char *name, sim_time time,
                   double value);
/* At a moment, over all of its process. */
void trace_instant(struct trace_lines *lines, struct trace_lane lane, const char *name,
                   sim_time time);

/* An arrow from within a slice to within another that ends no earlier. */
void trace_flow(struct trace_lines *lines, const char *name, struct trace_lane from,
                sim_time from_time, struct trace_lane to, sim_time to_time);

void trace_argument_text(struct trace_lines *lines, const char *key, const char *value);
void trace_argument_number(struct trace_lines *lines, const char *key, double value);
/* Microseconds, to the nanosecond; 0 is left out. */
void trace_argument_time(struct trace_lines *lines, const char *key, int64_t ns);

#endif
