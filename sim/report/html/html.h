/* A sheet as one page for a browser, whole in one file: it can be mailed.
 *
 *     const struct html_page page = {.title = study->title, .foot = "One file, no requests."};
 *     html_print(sheet, &page, out);
 *
 * Like the other printers (report/sheet.h) it says what the tree says and nothing else. It asks no
 * network and no other file for anything: letters are the reader's own, colours and lines are in
 * the page, and so is the one script, which makes tables sort by a click on a head. Without it all
 * is there but that. What is not there at all: frames, links, pictures that are fetched.
 *
 *     a title, a heading        <h1>, <h2>
 *     the answer                a paragraph that is seen first
 *     what is said              paragraphs, one a line; lists
 *     a table                   <table>; what all rows say alike is said once, below it
 *     a chart                   a row of HTML for each of its rows, with an <svg> of that height
 *     a file, a command         <pre>; a long one with a title is folded
 *
 * Every letter of a user's stays a letter: & < > " ' are escaped wherever they stand, and what may
 * not be shown (base/printable.h) is not. The same sheet twice gives the same bytes.
 *
 * Light or dark is what the reader's system says. On a narrow page (a phone, 390 px) charts put
 * names above their rows, and columns that give way first are left to wider pages; nothing makes
 * the page scroll sideways. On paper it is black on white, folded files stay folded.
 *
 * Charts are drawn here, in per cents of the width, and not by gnuplot, whose SVG has fixed
 * proportions: on a phone its letters are a millimetre high, it carries fonts and ids of its own
 * (of which two pictures in a page have the same), and its colours know no dark page.
 */
#ifndef REPORT_HTML_HTML_H
#define REPORT_HTML_HTML_H

#include "report/sheet.h"

struct html_page {
    const char *title; /* of the window */
    const char *foot;  /* the last line, in grey */
};

void html_print(const struct sheet *sheet, const struct html_page *page, FILE *out);

#endif
