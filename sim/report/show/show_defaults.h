/* The defaults that hold where a file says nothing, and what holds where it says "auto".
 *
 * One table, a row for each key that may be left out; a test reads them back and
 * compares the predictions. Values come from what the readers in input/ have
 * filled in, never from here, so the two cannot disagree.
 */
#ifndef REPORT_SHOW_SHOW_DEFAULTS_H
#define REPORT_SHOW_SHOW_DEFAULTS_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct scenario;

struct show_default {
    const char *path;  /* in the resolved document: "parallel.cp" */
    const char *value; /* YAML that reads back as the same value; NULL: there is none */
    const char *note;  /* where it comes from, or why there is none; "" if it needs no word */
    bool is_written;   /* the file has this key with another value, and this is what holds */
};

/* Of the keys that begin with `prefix`: "" for a scenario, "gpu." for a GPU, of which
 * only scenario->gpu and its mapping in the document are read. */
struct show_default *show_defaults(struct arena *arena, const struct scenario *scenario,
                                   const char *prefix, uint32_t *count);

#endif
