/* What of a user's text may be shown: the one place that says which characters must not reach a
 * terminal or a spreadsheet as they are. A title with an escape sequence could move the cursor or
 * rename the window, one with a mark of direction could show its end before its beginning, and a
 * cell that begins as a formula would be computed.
 *
 * No mark is: the controls of ASCII and Latin-1, the marks that turn the direction of what follows
 * (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), the other ends of a line (U+2028,
 * U+2029), and bytes that are no UTF-8. Reports show '?' in their place, JSON and YAML escape them.
 */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/* Bytes of the UTF-8 character at `text` (it ends with NUL), 0 if there is none. */
size_t printable_width(const char *text);

/* The code point of a character of so many bytes. */
uint32_t printable_code(const char *text, size_t width);

/* The character may be shown. A line's end and a tab may not. */
bool printable_code_is(uint32_t code);
bool printable_is(const char *text, size_t width);

/* The text as one line, or as several whose ends and tabs stay; itself, where nothing is to be
 * changed. */
const char *printable_line(struct arena *arena, const char *text);
const char *printable_lines(struct arena *arena, const char *text);

/* A spreadsheet would read the cell as a formula: it begins with = + - @, a tab or a carriage
 * return, and is neither "-" nor a number, of which one with "%" and one with "+-" and another
 * behind it are, too. */
bool printable_is_formula(const char *text);

/* What such a cell begins with in a CSV file, which a spreadsheet then shows as it is. */
#define PRINTABLE_NO_FORMULA "'"

#endif
