/* The room report: what is said, drawn and explained.
 *
 * Invariant: What a command says is one tree, printed as text, JSON, CSV or Markdown: none of
 * them has a figure of its own. What it says was computed below, and a printed sum by the
 * function that it is of. What does not exist is "-" or null, never 0, and wins nothing.
 *
 * Lives here: the sheet and its printers, the screen of a run, explanations, pictures, `show`.
 * May come in: base, des, input, plan, hw, train, run, store, bands. To report/study study, too, to
 * report/measured measured: their sheets print what these found, and nothing here includes them.
 *
 * Decided in one place each:
 *     what a table and a JSON document look like                      sheet.c
 *        a table as CSV                                               printers/sheet_csv.c
 *        the unit of a column of USD, GPU-hours, kWh                  printers/sized.c
 *     what a page for a browser looks like                            html/html_page.c
 *     what `run` says                                                 screen.c
 *     which points are best, by what, and which are equal             winners.h
 *     which points a table of a sweep has, in which order             study/listing.c
 *     what is said of what nearly fits                                near.c
 *     how shards run on many machines: Slurm arrays, GNU parallel     shard_script.c
 *     what other simulators read of a step (Chakra)                   trace/chakra.h
 *     what Perfetto shows of one                                      trace/step_events.h
 *        of a run's months                                            trace/run_events.h
 *     which colour a cause has                                        plot/plot_colours.c
 *     how large a page is, and where words stand around a plot        plot/plot_frame.c
 *        its bars                                                     plot/plot_bars.c
 *        its axes                                                     plot/plot_places.c
 *     columns of a pipeline's picture that are seen             picture/plot_pipeline_columns.c
 */

/* A sheet: what a command says, built once as a tree of values, and printed as text or as JSON.
 *
 *     struct sheet *sheet = sheet_new(arena, "stoker.merge/1");
 *     sheet_text(sheet, "db", "results.db");
 *     sheet_say(sheet, "%s holds:\n", "results.db");
 *     struct sheet *table = sheet_table(sheet, "gpus", fields, field_count);
 *     sheet_rows(table, gpus, gpu_count, sizeof *gpus);
 *     sheet_print(sheet, is_json, stdout);
 *
 * JSON has every value that has a key, in SI units and in the order in which they were added; the
 * text has what is said, and tables. A table (base/field.h) is both: an array of objects, of which
 * the text has the fields with a head. What stands in JSON alone is a field without a head, or a
 * value outside of tables; what stands in the text alone is a field or a table without a key, or
 * what is said.
 *
 * A document that is read from top to bottom (report/html, and sheet_print_markdown) has parts
 * more: headings, lists, files and commands as they are, charts. Its text has them, too, but for
 * charts, which show what a table beside them says.
 *
 * The text shows what may be shown of a user's text (base/printable.h), and CSV no cell that a
 * spreadsheet would compute; JSON escapes what is not shown.
 *
 * CSV is for programs: it has the columns of the text, and each number as JSON has it, in as many
 * digits and, where the field has a key or a name for CSV, in SI units under that name; else in the
 * unit of its head, under the head. A range (FIELD_RANGE) is two columns, x_low and x_high; what
 * does not exist is empty.
 *
 * A value that does not exist (ABSENT, or a text that is NULL) is null in JSON and "-" in the text.
 * The sheet copies the texts that are said or shown, and borrows all others.
 */
#ifndef REPORT_SHEET_H
#define REPORT_SHEET_H

#include "base/check.h"
#include "base/field.h"

#include <stdio.h>

struct arena;
struct chart;
struct sheet;

/* The object that is the whole document; `schema` is its first member, NULL for a part that has
 * none. */
struct sheet *sheet_new(struct arena *arena, const char *schema);

/* For texts that are made on the way. */
struct arena *sheet_arena(const struct sheet *sheet);

/* Values. `in` is an object (`key` names the value), an array (`key` is NULL), or a table, where
 * each is the next cell of the row and `key` is NULL: the field has it. */
void sheet_text(struct sheet *in, const char *key, const char *text);
void sheet_texts(struct sheet *in, const char *key, const char *const *texts, size_t count);
void sheet_number(struct sheet *in, const char *key, double number);
void sheet_integer(struct sheet *in, const char *key, int64_t number);
void sheet_bool(struct sheet *in, const char *key, bool is_true);
/* A text of which the text shows less. */
void sheet_text_as(struct sheet *in, const char *key, const char *text, const char *shown);
/* A number that the text shows so, whatever the field's format says: "80 GB". */
void sheet_number_as(struct sheet *in, const char *key, double number, const char *shown);
/* A text, or how a number is shown, that is made when it is printed, so that JSON does not wait for
 * what only people read, nor they for it. The record stays until then. */
typedef const char *sheet_make(struct arena *arena, const void *record);
void sheet_text_of(struct sheet *in, const char *key, sheet_make *make, const void *record);
void sheet_number_of(struct sheet *in, const char *key, double number, sheet_make *show,
                     const void *record);
/* A cell of two numbers, of a field of the kind FIELD_RANGE, and how the text shows them: CSV has
 * each. What does not exist is ABSENT, or NULL. */
void sheet_range(struct sheet *table, double low, double high, const char *shown);
/* NULL, shown so: "none". */
void sheet_null_as(struct sheet *in, const char *key, const char *shown);
/* No value at all: JSON leaves the member out. */
void sheet_nothing(struct sheet *table);

/* The first `width` characters of a text, with an ellipsis where more follow. */
const char *sheet_shortened(struct arena *arena, const char *text, size_t width);
/* "a, b"; "nothing" when there are none. */
const char *sheet_joined(struct arena *arena, const char *const *texts, size_t count);

/* What holds values, in `in`. */
struct sheet *sheet_object(struct sheet *in, const char *key);
struct sheet *sheet_array(struct sheet *in, const char *key);

/* The members of a struct that have a key, added to an object. */
void sheet_members(struct sheet *in, const struct field *fields, uint32_t count,
                   const void *record);

/* Records as an array of objects, in JSON alone. */
void sheet_list(struct sheet *in, const char *key, const struct field *fields, uint32_t field_count,
                const void *records, size_t count, size_t size);

/* A table with the key of its array; NULL: it is in the text alone. Cells are added one by one, row
 * by row, as values are or by sheet_say; or records whole. The fields are copied, so that a head
 * may be given or left out as the case demands. */
struct sheet *sheet_table(struct sheet *in, const char *key, const struct field *fields,
                          uint32_t count);
void sheet_row(struct sheet *table, const void *record);
void sheet_rows(struct sheet *table, const void *records, size_t count, size_t size);
size_t sheet_row_count(const struct sheet *table);
/* A row that names those that follow, in the column of that number; CSV passes over it. */
void sheet_row_caption(struct sheet *table, uint32_t column, const char *caption);
/* Said before the table, which with it is left out of the text when it has no rows. */
void sheet_caption(struct sheet *table, const char *caption);

/* What the command answers, in a sentence or two: the member `answer`, and lines of their own.
 * NULL: nothing. */
void sheet_answer(struct sheet *sheet, const char *text);

/* The text alone: letters as they are, or in a table the next cell. */
void sheet_say(struct sheet *in, const char *format, ...) PRINTF_LIKE(2, 3);

/* The parts of a document: its title; what begins a part; one thing of a list; a file or a command,
 * to the letter, which a title may fold away; and a picture of a table that follows
 * (report/html/chart.h), borrowed. */
void sheet_title(struct sheet *sheet, const char *text);
void sheet_heading(struct sheet *sheet, const char *text);
void sheet_item(struct sheet *sheet, const char *format, ...) PRINTF_LIKE(2, 3);
void sheet_verbatim(struct sheet *sheet, const char *title, const char *text);
void sheet_chart(struct sheet *sheet, const struct chart *chart);

/* The text is fitted to a page of so many characters (report/page.h); else it is as wide as it
 * comes, as a file wants it. */
void sheet_fit(struct sheet *sheet, size_t width);

/* The document; or the text. */
void sheet_print(const struct sheet *sheet, bool is_json, FILE *out);
/* All of the text as Markdown: a user's letters stay letters. */
void sheet_print_markdown(const struct sheet *sheet, FILE *out);
/* Between columns that people read, at least. */
#define SHEET_GAP "  "
/* A table alone: as people read it, as CSV (RFC 4180), or as a table of Markdown. */
enum sheet_style { SHEET_AS_TEXT, SHEET_AS_CSV, SHEET_AS_MARKDOWN, SHEET_STYLE_COUNT_ };
void sheet_print_table(const struct sheet *table, enum sheet_style style, FILE *out);
/* The first table that its text has; NULL: there is none. */
const struct sheet *sheet_first_table(const struct sheet *sheet);
/* The one behind another, likewise. */
const struct sheet *sheet_next_table(const struct sheet *sheet, const struct sheet *table);
/* What a file of it may be called: its array's key or its first column, in small letters, digits
 * and '-'. */
const char *sheet_table_name(const struct sheet *table);
/* The text as comments: tables begin with "#". */
void sheet_print_comments(const struct sheet *sheet, FILE *out);

#endif
