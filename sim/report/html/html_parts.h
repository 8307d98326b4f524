/* Inside the printer of pages: its parts. */
#ifndef REPORT_HTML_HTML_PARTS_H
#define REPORT_HTML_HTML_PARTS_H

#include "report/html/chart.h"
#include "report/sheet_tree.h"

/* What stands in front of all that is said, up to <body>, and behind it, with the script. */
void html_begin(struct arena *arena, const char *title, FILE *out);
void html_end(FILE *out);

/* A user's text, escaped, of characters that may be shown: one line, or several. */
void html_line(struct arena *arena, const char *text, FILE *out);
void html_lines(struct arena *arena, const char *text, FILE *out);

void html_table(const struct sheet *table, FILE *out);
void html_chart(const struct chart *chart, FILE *out);

#endif
