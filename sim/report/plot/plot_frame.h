/* Inside the plots: how a picture is laid out, the same for all of them.
 *
 *     title, bold                        the question
 *     note, grey                         what is fixed, and what is not shown
 *     # key  # key                       where names do not stand beside what they name
 *     y title
 *     |        the plot                  name of a line
 *     +-------------------
 *            x title
 *                          foot          the version, and where the data are
 *
 * Measures are pixels of the SVG. All text is horizontal. Words that do not fit into a line go on
 * in the next one, and end with "…" after the last.
 *
 * ASSUMES: letters of DejaVu Sans are as wide as those of their class (narrow, wide, capitals) in
 * the mean; tests/support/svg-boxes checks pictures with the font's own widths.
 */
#ifndef REPORT_PLOT_PLOT_FRAME_H
#define REPORT_PLOT_PLOT_FRAME_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct plot_page;

enum {
    PLOT_LETTER = 13, /* size of usual text */
    PLOT_TICS = 26,   /* what a line of numbers below an axis takes */
};

struct plot_key {
    const char *text;  /* as gnuplot reads it: 'compute', LINE_TITLE[1] */
    double width;      /* of what that says, plot_text_width */
    const char *style; /* of its mark: "pt 5 lc rgb '#0072B2'" */
};

/* A key with a text of ours, which has no quote in it; and one that is a patch of colour. */
struct plot_key plot_key_of(struct arena *arena, const char *text, const char *style);
struct plot_key plot_key_patch(struct arena *arena, const char *text, const char *colour);

struct plot_frame {
    uint32_t width;                /* of the picture */
    uint32_t plot_height;          /* of the plot alone */
    uint32_t left, right, bottom;  /* margins of the plot: for names of tics and of lines */
    uint32_t above;                /* the plot, for what stands there */
    const char *x_title, *y_title; /* as gnuplot reads them; NULL: none */
    const struct plot_key *keys;
    uint32_t key_count;
};

/* The canvas. Its pixels are those of the SVG, in which text is PLOT_LETTER high: what is
 * narrower has larger text. */
struct plot_size {
    uint32_t width, height; /* 0: as a kind needs */
    double png;             /* its pixels by those of the SVG */
    double lines;           /* their width by the usual one */
};
extern const struct plot_size plot_size_table[]; /* [PLOT_SIZE_COUNT] */

/* How wide the page is: `usual` where it has no size. Of `usual` pixels in a page of that width as
 * many as that makes of this one. */
uint32_t plot_frame_width(const struct plot_page *page, uint32_t usual);
double plot_frame_scaled(const struct plot_page *page, uint32_t usual, double pixels);

/* Sets the page's frame. In a page of a size the plot is as high as what is around it leaves, but
 * not lower than a quarter of the page: then the page grows. */
void plot_frame_set(struct plot_page *page, const struct plot_frame *frame);

/* What stands around a plot: columns of the CSV, of which the first row has the words. */
enum plot_word {
    PLOT_TITLE,
    PLOT_TITLE_2,
    PLOT_NOTE,
    PLOT_NOTE_2,
    PLOT_FOOT,
    PLOT_WORD_COUNT_,
};
extern const char *const plot_word_columns[PLOT_WORD_COUNT_];

/* How many letters a text has. */
uint32_t plot_letters(const char *text);

/* How wide a text is. */
double plot_text_width(const char *text, double size);

/* Breaks a text into lines no wider than `width`; those that it does not need are "". */
void plot_text_wrap(struct arena *arena, const char *text, double width, const char **lines,
                    uint32_t line_count);

/* The words of a page of this frame. */
void plot_frame_words(const struct plot_page *page, const char *words[PLOT_WORD_COUNT_]);

/* The height of the whole picture. */
uint32_t plot_frame_height(const struct plot_page *page);

/* Where the plot begins, from the top. */
uint32_t plot_frame_top(const struct plot_page *page);

/* Margins, and what stands around the plot, as commands. */
void plot_frame_write(const struct plot_page *page);

#endif
