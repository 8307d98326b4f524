/* The page that a text is written on: how wide it is, and lines that are broken to fit.
 *
 *     struct page page = {.out = stdout, .arena = arena, .width = page_width(stdout)};
 *     page_put(&page, "what is said in pieces, ");
 *     page_put(&page, "a line that may be long\n");
 *     page_end(&page);
 *
 * Widths are in characters, not bytes: every byte of UTF-8 but those that continue one. A line is
 * broken at blanks; what follows stands two characters further in than a line that began with
 * blanks, and at the edge otherwise; a number and its unit are one word. A paragraph, further in
 * than the edge, that was broken for a wider page is put together again first. A word that is
 * longer than the page (a path, a command to be copied) stays whole.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct arena;

/* Where nothing tells the width; and up to what a terminal is used: a longer line is hard to
 * read. */
#define PAGE_WIDTH_USUAL 100
#define PAGE_WIDTH_MAX 120
#define PAGE_WIDTH_MIN 40
#define PAGE_UNBOUND SIZE_MAX

/* Of the terminal that the stream writes to, up to PAGE_WIDTH_MAX; else what $COLUMNS says, if that
 * is a whole number above 0, however much; else PAGE_WIDTH_USUAL. At least PAGE_WIDTH_MIN. */
size_t page_width(FILE *out);

/* Of what is a file that people may also look at: as wide as it comes, where nothing tells the
 * width. */
size_t page_file_width(FILE *out);

size_t page_text_width(const char *text);

struct page {
    FILE *out;
    struct arena *arena;
    size_t width;
    const char *begun; /* of the line that has no end yet; NULL: nothing */
    const char *held;  /* a line too long for the page, which the next may go on with; or NULL */
    bool holds_paragraph;
    bool has_told_width; /* how to see what had no room was said */
};

/* Letters as they are; a line is written when its end comes. */
void page_put(struct page *page, const char *text);

/* What has no end yet. Before something else is written to the stream. */
void page_end(struct page *page);

#endif
