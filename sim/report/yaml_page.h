/* YAML for a page: what is read as the same document, in lines that have room.
 *
 *     struct yaml_page page;
 *     FILE *out = yaml_page_begin(&page, arena, stdout);
 *     fprintf(out, "source: \"%s\"\n", ...);
 *     is_good = yaml_page_end(&page);
 *
 * A value is broken where a reader puts a blank instead of the end of a line: at blanks of a text,
 * in quotes or plain, and behind commas of a list or mapping in brackets. Comments go on in
 * comments. Keys, and words longer than the page, stay whole. Where nothing tells the width
 * (page_file_width), as for a file or a pipe, lines are as long as they come.
 *
 * What is written lies in a temporary file until the end; where there can be none it goes out as it
 * is.
 */
#ifndef REPORT_YAML_PAGE_H
#define REPORT_YAML_PAGE_H

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct arena;

struct yaml_page {
    struct arena *arena;
    FILE *out;
    FILE *draft; /* NULL: `out` itself is written to */
    size_t width;
};

/* Where to write. */
FILE *yaml_page_begin(struct yaml_page *page, struct arena *arena, FILE *out);
/* False: the temporary file did not take all of it (a full disk). */
MUST_USE bool yaml_page_end(struct yaml_page *page);

/* One line, without its end, and what a page of that width makes of it. */
void yaml_page_line(struct arena *arena, const char *line, size_t width, FILE *out);

#endif
